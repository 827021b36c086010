//! Broken CDL: an error that says where, and never a panic or an endless loop.
#![cfg(feature = "cdl")]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use proptest::prelude::*;
use zarr_nczarr::cdl::{CdlError, Document, Printing};
use zarr_nczarr::schema::Group;
use zarr_testkit::sample;

/// The texts that others wrote.
static CORPUS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../specs-conformance/cdl");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.is_file()).collect();
    paths.sort();
    let texts = paths.iter().filter(|path| path.extension().is_some_and(|end| end == "cdl"));
    texts.map(|path| fs::read_to_string(path).unwrap()).collect()
});

/// How many elements all variables of a group and below have.
fn elements(root: &Group, group: &Group) -> u64 {
    let len = |path: &String| root.dimension(path).map_or(0, |dimension| dimension.len);
    let shapes = group.variables.iter().map(|variable| variable.dimensions.iter().map(len));
    let own = shapes.map(|shape| shape.fold(1, u64::saturating_mul));
    own.chain(group.groups.iter().map(|group| elements(root, group))).fold(0, u64::saturating_add)
}

/// Reads a text, and if it is CDL, writes and reads it again.
fn look_at(text: &str) -> Result<(), CdlError> {
    let document = Document::parse(text)?;
    let printing = Printing {
        header_only: elements(&document.root, &document.root) > 10_000,
        ..Printing::default()
    };
    let mut printed = Vec::new();
    document.print(&printing, &mut printed).unwrap();
    // Names that netCDF does not allow may not come back.
    let _ = Document::parse(&String::from_utf8(printed).unwrap());
    Ok(())
}

/// What is put into a text in one place.
fn splinter() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~\n]{0,3}",
        "\\PC{0,2}",
        prop::sample::select(vec![
            "{",
            "}",
            "{{{{",
            "(",
            ")",
            ";",
            ",",
            ":",
            "=",
            "\"",
            "'",
            "\\",
            "/",
            "//",
            "/*",
            "*/",
            "_",
            "-",
            "1e999",
            "99999999999999999999",
            "UNLIMITED",
            "group: g {",
            "data:",
            "types:",
            "variables:",
            "dimensions:",
            "netcdf",
            "NaN",
            "\\%0",
            "\\x",
            "\\777",
            "0x",
            "string",
            "char",
            "18446744073709551615",
            "x = 9223372036854775807 ;",
        ])
        .prop_map(String::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sample(400, 2000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_texts_are_read_or_refused(
        which in any::<prop::sample::Index>(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..12, splinter()), 1..4),
    ) {
        let mut text: Vec<char> = which.get(&CORPUS).chars().collect();
        for (at, len, splinter) in cuts {
            let at = at.index(text.len() + 1);
            let end = (at + len).min(text.len());
            text.splice(at..end, splinter.chars());
        }
        let text: String = text.into_iter().collect();
        if let Err(error) = look_at(&text) {
            let lines = text.lines().count();
            prop_assert!((1..=lines + 1).contains(&error.line), "{error}");
            prop_assert!(error.column >= 1 && !error.why.is_empty());
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "netcdf [a-z{}();:=,\"'\\\\/*0-9 _.+-]{0,80}") {
        let _ = look_at(&text);
    }
}

#[test]
fn texts_that_end_early_are_refused() {
    for (n, text) in CORPUS.iter().enumerate() {
        let whole = text.trim_end();
        let ends = (sample(n % 7, 0)..whole.len()).step_by(sample(7, 1));
        for end in ends.filter(|&end| whole.is_char_boundary(end)) {
            assert!(Document::parse(&whole[..end]).is_err(), "{}", &whole[..end]);
        }
    }
}

#[test]
fn depth_and_size_have_limits() {
    let deep = format!("netcdf x {}", "{ group: g ".repeat(100_000));
    assert!(Document::parse(&deep).unwrap_err().why.contains("deep"));
    let axes = "x, ".repeat(5_000);
    let wide = format!("netcdf x {{ dimensions: x = 2 ; variables: int v({axes} x) ; }}");
    assert!(Document::parse(&wide).unwrap_err().why.contains("1024 dimensions"));
    let large = "netcdf x { dimensions: x = 9223372036854775807 ; variables: int v(x, x) ; }";
    assert!(Document::parse(large).unwrap_err().why.contains("more elements than can be counted"));
    let braces = format!(
        "netcdf x {{ dimensions: t = UNLIMITED ; variables: int v(t) ; data: v = {} ; }}",
        "{".repeat(1_000_000)
    );
    assert!(Document::parse(&braces).unwrap_err().why.contains("braces"));
}

/// What each message is about, and where it points.
#[test]
fn errors_say_where_and_what_to_do() {
    let head = "netcdf x { dimensions: n = 2, t = UNLIMITED ; variables: int v(n) ; float w(t, n) ; char c(n, n) ; int y(n, t) ;";
    let cases = [
        ("data: v = 1, 2, 3 ; }", "remove some"),
        ("data: v = 1 2 ; }", "expected `,` or the end of the values"),
        ("data: v = {1, 2} ; }", "remove them"),
        ("data: y = 1, 2 ; }", "write `{` before the first value"),
        ("data: y = {{1}} ; }", "more braces"),
        ("data: v = 1.5, 2 ; }", "expected an integer"),
        ("data: v = 5000000000 ; }", "use a wider type"),
        ("data: v = \"1\" ; }", "remove the quotes"),
        ("data: v = 1, 2 }", "`}`"),
        ("data: v = 1 ; v = 2 ; }", "duplicate data of `v`"),
        ("data: q = 1 ; }", "declare it in `variables:`"),
        ("data: c = \"abc\", \"d\" ; }", "characters"),
        ("int v ; }", "choose another name"),
        ("int q(m) ; }", "declare it in `dimensions:`"),
        ("foo q ; }", "unknown type `foo`"),
        ("v:a = 1, \"b\" ; }", "make two attributes"),
        ("v:a = _ ; }", "write the value"),
        ("v:_ChunkSizes = 1, 2 ; }", "needs 1 lengths"),
        ("v:_DeflateLevel = 11 ; }", "0 to 9"),
        ("v:_Filter = \"5\" ; }", "not known"),
        ("v:_Shuffle = \"maybe\" ; }", "\"true\" or \"false\""),
        ("v:_FillValue = \"NaN\" ; }", "expected an integer"),
        ("v:_FillValue = \"none\" ; }", "remove the quotes"),
        ("v:_FillValue = NaN ; }", "expected an integer"),
        ("v:_FillValue = 1, 2 ; }", "one value"),
        ("q:a = 1 ; }", "neither a variable"),
        ("string v:a = ; }", "at least one value"),
        ("types: byte enum e {a = 1} ; }", "not kept in Zarr"),
        ("types: int(*) vlen_t ; }", "not kept in Zarr"),
        ("types: compound p { int x ; } ; }", "not kept in Zarr"),
        ("types: opaque(4) o ; }", "not kept in Zarr"),
        ("} }", "expected the end of the text"),
        ("dimensions: n = 3 ; }", "duplicate dimension"),
        ("dimensions: q = -3 ; }", "invalid dimension length"),
        ("dimensions: 7d = 3 ; }", "expected "),
        ("int a\\/b ; }", "invalid netCDF name"),
        (":_nczarr_group = 1 ; }", "choose another name"),
        ("v:_Codecs = \"x\" ; }", "a list of codecs in JSON"),
        ("group: v { } }", "choose another name"),
        ("group: g { variables: int q(/g/n) ; } }", "declare it in `dimensions:`"),
        (":a = 'ab' ; }", "use double quotes"),
        (":a = \"\\400\" ; }", "three octal digits"),
        (":a = 12x ; }", "no suffix"),
        (":a = \"b ; }", "close it with"),
        ("/* }", "close it with `*/`"),
        ("", "close it with `}`"),
    ];
    for (rest, why) in cases {
        let text = format!("{head}\n{rest}");
        let error = Document::parse(&text).map(|_| ()).unwrap_err();
        assert!(error.why.contains(why), "{rest}: {error}");
        assert_eq!(error.line, 2, "{rest}: {error}");
    }
    assert!(
        Document::parse("")
            .unwrap_err()
            .to_string()
            .starts_with("line 1, column 1: a CDL text begins with")
    );
    assert!(Document::parse("netcdf x").unwrap_err().why.contains("netcdf NAME {"));
}
