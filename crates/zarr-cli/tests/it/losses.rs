//! Nothing is lost in silence: each loss of a copy is told, under `--quiet` too, refused by `--strict`, and seen by `diff`.

use crate::common::Folder;

const GROUP: &str = r#"{"zarr_format": 2}"#;

/// A document of an array of v2 without filters.
fn v2(shape: &str, dtype: &str, fill: &str) -> String {
    format!(
        r#"{{"zarr_format": 2, "shape": {shape}, "chunks": {shape}, "dtype": "{dtype}", "compressor": null,
            "fill_value": {fill}, "filters": null, "order": "C"}}"#
    )
}

/// A copy that loses something: `told` says what.
fn check_loss(folder: &Folder, source: &str, to: &str, told: &str) {
    let case = format!("{source} {to}");
    let run = folder.run(&format!("copy {source} {source}-copy {to} --quiet"));
    assert_eq!(run.code, 0, "{case}: {}", run.err);
    let is_told = run.err.lines().any(|line| line.starts_with("not kept: ") && line.contains(told));
    assert!(is_told, "{case}: {}", run.err);
    let why = folder.bad(&format!("copy {source} {source}-strict {to} --strict"), 4);
    assert!(why.contains(told), "{case}: {why}");
    assert!(!folder.path(&format!("{source}-strict")).exists(), "{case}");
    let run = folder.run(&format!("diff {source} {source}-copy"));
    assert_eq!(run.code, 1, "{case}: {}", run.text());
}

#[test]
fn nodes_that_readers_pass_over_are_told() {
    let folder = Folder::new();
    // A name that no key can have.
    folder.write("names/.zgroup", GROUP);
    folder.write("names/a\\b/.zarray", v2("[4]", "<i4", "0"));
    folder.write("names/c/.zarray", v2("[4]", "<i4", "0"));
    check_loss(&folder, "names", "", "`a\\b`");
    // Another dialect's.
    folder.good("create v3 --group");
    folder.write("v3/old/.zarray", v2("[4]", "<i4", "0"));
    folder.write("v3/old/0", [0; 16]);
    folder.write("v3/old/README", "with the array");
    check_loss(&folder, "v3", "", "/old: readers of v3 ignore it");
    assert!(folder.run("tree v3").err.contains("/old: "));
    folder.write("v2/.zgroup", GROUP);
    folder.good("create apart --path new --shape 2 --dtype int8");
    std::fs::rename(folder.path("apart/new"), folder.path("v2/new")).unwrap();
    check_loss(&folder, "v2", "", "/new: readers of v2 ignore it");
    assert!(folder.run("tree v2").err.contains("/new: "));
    // Below an array.
    folder.good("create nested --path a --shape 2 --dtype int8");
    folder.good("create below --path b --shape 2 --dtype int8");
    std::fs::rename(folder.path("below/b"), folder.path("nested/a/b")).unwrap();
    check_loss(&folder, "nested", "", "/a/b: ");
    assert!(folder.run("tree nested").err.contains("/a/b: "));
    folder.write("deep/.zgroup", GROUP);
    folder.write("deep/a/.zarray", v2("[4]", "<i4", "0"));
    folder.write("deep/a/b/.zarray", v2("[4]", "<i4", "0"));
    let told = folder.run("tree deep").err;
    assert!(told.contains("/a/b: is below the array /a; arrays have no members"), "{told}");
    assert!(!told.contains("consolidated"), "{told}");
    // Chunks whose array is lost.
    folder.good("create orphans --group");
    folder.write("orphans/gone/c/0", [1; 4]);
    check_loss(&folder, "orphans", "", "`gone/c/0`");
}

#[test]
fn an_attribute_for_missing_values_is_kept_or_told() {
    let folder = Folder::new();
    let write = |name: &str, dtype: &str, fill: &str, attribute: &str, len: usize| {
        folder.write(&format!("{name}/.zgroup"), GROUP);
        folder.write(&format!("{name}/a/.zarray"), v2("[2]", dtype, fill));
        folder.write(
            &format!("{name}/a/.zattrs"),
            format!(r#"{{"_ARRAY_DIMENSIONS": ["x"], "_FillValue": {attribute}}}"#),
        );
        folder.write(&format!("{name}/a/0"), vec![1; len]);
    };
    // xarray reads any integer there, and masks nothing.
    write("integer", "|u1", "null", "-1", 2);
    folder.good("copy integer integer-copy --to v3");
    let attributes = folder.good("attrs integer-copy --path a --json").json();
    assert_eq!(attributes.as_object().unwrap().get("_FillValue").unwrap().to_string(), "-1");
    folder.good("diff integer integer-copy");
    // It opens no dataset with these.
    for (name, dtype, fill, attribute, len) in [
        ("text", "<f4", "null", r#""none""#, 8),
        ("text-of-integer", "<i2", "null", r#""none""#, 4),
        ("time", "<M8[s]", "null", r#""1970-01-02""#, 16),
        ("bool", "|b1", "null", "3", 2),
        ("other", "<i4", "0", "-9", 8),
    ] {
        write(name, dtype, fill, attribute, len);
        check_loss(&folder, name, "--to v3", "_FillValue");
    }
    // netCDF's missing value of a text.
    write("character", "|S1", "null", r#""x""#, 2);
    check_loss(&folder, "character", "--to zarr-v3", "_FillValue");
    // What says the same is no loss.
    write("same", "<f8", "-9.0", "-9", 16);
    folder.good("copy same same-copy --to v3 --strict");
    folder.good("diff same same-copy");
}

#[test]
fn names_of_dimensions_that_do_not_fit_are_kept_or_told() {
    let folder = Folder::new();
    folder.write("s/.zgroup", GROUP);
    folder.write("s/a/.zarray", v2("[2, 2]", "<i4", "0"));
    folder.write("s/a/.zattrs", r#"{"_ARRAY_DIMENSIONS": ["x"]}"#);
    folder.write("s/a/0.0", [1; 16]);
    folder.good("copy s d --to v3");
    folder.good("diff s d");
    for to in ["zarr-v3", "zarr-v2", "nczarr-v3"] {
        let run = folder.run(&format!("copy s {to} --to {to} --quiet"));
        assert!(run.code == 0 && run.err.contains("`_ARRAY_DIMENSIONS`"), "{to}: {}", run.err);
        assert_ne!(folder.run(&format!("copy s no --to {to} --strict")).code, 0, "{to}");
        assert!(!folder.path("no").exists(), "{to}");
    }
    assert_eq!(folder.run("diff s zarr-v3").code, 1);
}

#[test]
fn both_kinds_of_names_of_dimensions_are_one() {
    let folder = Folder::new();
    folder.good("create s --path a --shape 2,2 --dtype int8 --dims y,x --attr '_ARRAY_DIMENSIONS=[\"y\",\"x\"]'");
    folder.good("copy s d --to v2");
    folder.good("diff s d");
    folder.good("copy d e --to v3");
    folder.good("diff s e");
}

/// zarr-python 3.4 and xarray write bare tokens in both dialects, and read no text as a number.
#[test]
fn numbers_that_json_does_not_have_stay_numbers() {
    let folder = Folder::new();
    let attributes =
        r#"{"_ARRAY_DIMENSIONS":["x"],"missing_value":NaN,"valid_range":[-Infinity,Infinity]}"#;
    folder.write("s/.zgroup", GROUP);
    folder.write("s/.zattrs", r#"{"a":{"b":[NaN]}}"#);
    folder.write("s/a/.zarray", v2("[2]", "<f8", "\"NaN\""));
    folder.write("s/a/.zattrs", attributes);
    folder.write("s/a/0", [0; 16]);
    let stored = |name: &str| {
        let text = std::fs::read_to_string(folder.path(name)).unwrap();
        text.split_whitespace().collect::<String>()
    };
    for (from, to, option) in [("s", "d", "v3"), ("d", "e", "v2"), ("s", "f", "zarr-v3")] {
        let run = folder.run(&format!("copy {from} {to} --to {option}"));
        assert_eq!(run.code, 0, "{option}: {}", run.err);
        assert!(!run.err.contains("not kept"), "{option}: {}", run.err);
        assert_eq!(folder.run(&format!("diff {from} {to}")).code, 0, "{option}");
    }
    for name in ["d/a/zarr.json", "f/a/zarr.json", "e/a/.zattrs"] {
        let text = stored(name);
        assert!(text.contains(r#""missing_value":NaN"#), "{name}: {text}");
        assert!(text.contains(r#""valid_range":[-Infinity,Infinity]"#), "{name}: {text}");
    }
    assert!(stored("d/zarr.json").contains(r#"{"b":[NaN]}"#));
    // The readers of a draft may take nothing but JSON.
    let run = folder.run("copy s g --to draft-2020 --quiet");
    assert!(run.code == 0 && run.err.contains("not kept: /a: bare `NaN`"), "{}", run.err);
    assert_eq!(folder.run("diff s g").code, 1);
}

/// zarr-python 3 registers no such codecs.
#[test]
fn codecs_without_a_reader_in_v3_are_not_written_there() {
    let folder = Folder::new();
    folder.write("s/.zgroup", GROUP);
    let filters = r#""filters": [{"id": "categorize", "labels": ["abc", "de"], "dtype": "<U3", "astype": "|u1"}]"#;
    let document = v2("[4]", "<U3", "\"\"").replace(r#""filters": null"#, filters);
    folder.write("s/fixed/.zarray", document);
    folder.write("s/fixed/0", [1, 2, 0, 1]);
    let document =
        v2("[4]", "|O", "\"\"").replace(r#""filters": null"#, &filters.replace("<U3", "|O"));
    folder.write("s/objects/.zarray", document);
    folder.write("s/objects/0", [1, 2, 0, 1]);
    let document =
        v2("[4]", "|u1", "0").replace(r#""compressor": null"#, r#""compressor": {"id": "base64"}"#);
    folder.write("s/text/.zarray", document);
    folder.write("s/text/0", "AQIDBA==");
    for to in ["v3", "zarr-v3"] {
        let run = folder.run(&format!("copy s {to} --to {to} --strict"));
        assert_eq!(run.code, 0, "{to}: {}", run.err);
        for array in ["fixed", "objects", "text"] {
            let info = folder.good(&format!("info {to} --path {array} --json"));
            let codecs = info.json().as_object().unwrap().get("codecs").unwrap().to_string();
            let is_plain = !codecs.contains("categorize") && !codecs.contains("base64");
            assert!(is_plain, "{to} {array}: {codecs}");
            let get = |of: &str| folder.good(&format!("get {of} --path {array}")).out;
            assert_eq!(get(to), get("s"), "{to} {array}");
        }
        assert_eq!(folder.run(&format!("diff s {to}")).code, 0, "{to}");
    }
}

#[test]
fn nodes_that_only_consolidated_metadata_have_are_told() {
    let folder = Folder::new();
    folder.good("create s --path a --shape 2 --dtype int8");
    folder.good("create s --path b --shape 2 --dtype int8");
    folder.good("create s --path c --shape 2 --dtype int8");
    folder.good("consolidate s");
    std::fs::remove_file(folder.path("s/b/zarr.json")).unwrap();
    for to in ["v3", "zarr-v3"] {
        let run = folder.run(&format!("copy s {to} --to {to} --quiet"));
        assert!(run.code == 0 && run.err.contains("not kept: /b: "), "{to}: {}", run.err);
        folder.bad(&format!("copy s strict --to {to} --strict"), 4);
        assert!(!folder.path("strict").exists(), "{to}");
    }
}

#[test]
fn members_that_no_specification_has_are_kept_or_told() {
    let folder = Folder::new();
    folder.good("create s --path a --shape 2 --dtype int8");
    for name in ["s/zarr.json", "s/a/zarr.json"] {
        let text = std::fs::read_to_string(folder.path(name)).unwrap();
        let member = r#"{"mine": {"must_understand": false, "x": 1},"#;
        folder.write(name, text.replacen('{', member, 1));
    }
    folder.good("copy s d --strict");
    for name in ["d/zarr.json", "d/a/zarr.json"] {
        let text = std::fs::read_to_string(folder.path(name)).unwrap();
        assert!(text.contains("\"mine\""), "{name}: {text}");
    }
    let run = folder.run("copy s e --to v2 --quiet");
    for path in ["/", "/a"] {
        let told = format!("not kept: {path}: members of its document: `mine`\n");
        assert!(run.err.contains(&told), "{}", run.err);
    }
    folder.bad("copy s f --to v2 --strict", 4);
    // Readers of v2 pass over them, so a copy into v2 keeps them; what netCDF's library wrote for itself has no use there.
    folder.good("create t --path a --shape 2 --dtype int8 --format v2");
    for name in ["t/.zgroup", "t/a/.zarray"] {
        let text = std::fs::read_to_string(folder.path(name)).unwrap();
        let members = r#"{"mine": {"x": 1}, "_NCZARR_ARRAY": {"dimrefs": []},"#;
        folder.write(name, text.replacen('{', members, 1));
    }
    for (line, copy) in [("copy t u --strict", "u"), ("copy t v --strict --chunks 1", "v")] {
        folder.good(line);
        for name in [".zgroup", "a/.zarray"] {
            let text = std::fs::read_to_string(folder.path(&format!("{copy}/{name}"))).unwrap();
            assert!(
                text.contains("\"mine\"") && !text.contains("_NCZARR"),
                "{line}: {name}: {text}"
            );
        }
    }
}

/// No copy in v3 has such elements with another codec; what is advised instead does.
#[test]
fn a_codec_that_elements_need_is_not_to_be_replaced() {
    let folder = Folder::new();
    let filters =
        [r#"{"id": "json2"}"#, r#"{"id": "vlen-array", "dtype": "<i4"}"#, r#"{"id": "msgpack2"}"#];
    for (n, filter) in filters.into_iter().enumerate() {
        let place = format!("s{n}");
        folder.write(&format!("{place}/.zgroup"), GROUP);
        folder.write(&format!("{place}/n/.zarray"), v2("[4]", "<i4", "0"));
        let document = v2("[1]", "|O", "null")
            .replace(r#""filters": null"#, &format!(r#""filters": [{filter}]"#));
        folder.write(&format!("{place}/x/.zarray"), document);
        let why = folder.bad(&format!("copy {place} {place}-3 --to v3"), 4);
        assert!(!why.contains("--codec gzip") && !why.contains("other codecs"), "{why}");
        let advice = "copy the array to v2, or leave it out with `--skip-unsupported`";
        assert!(why.contains(advice), "{why}");
        let run = folder.run(&format!("copy {place} {place}-3 --to v3 --skip-unsupported"));
        assert_eq!(run.code, 0, "{}", run.err);
        folder.good(&format!("copy {place} {place}-2 --to v2"));
    }
}
