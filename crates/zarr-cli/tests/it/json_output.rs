//! Standard output of every verb is JSON with `--json`, whatever the documents and elements are.

use zarr::Json;

use crate::common::Folder;

/// What reads of a hierarchy print. `U` is the hierarchy, `A` an array in it.
const VERBS: &[&str] = &[
    "info U",
    "info A",
    "ls U",
    "ls U -l",
    "tree U",
    "attrs A",
    "dump U",
    "dump U -h",
    "dump U -c",
    "stats A",
    "stats U",
    "plot A",
    "plot U",
    "tune A",
    "get A",
    "head A",
    "head U",
    "checksum U",
    "diff U U",
    "diff U other",
    "validate U",
    "repair U",
    "copy U new --dry-run",
    "refs U -o refs.json",
    "consolidate U --check",
    "doctor",
];

#[test]
fn every_verb_prints_json_of_every_kind_of_value() {
    let folder = Folder::new();
    let odd = r#"{"nan":NaN,"list":[1,-Infinity,{"deep":Infinity}],"big":18446744073709551617,"text":"a\"\u0007b","none":null,"missing_value":[NaN,1e400]}"#;
    let v2 = |dtype: &str, fill: &str| {
        format!(
            r#"{{"zarr_format":2,"shape":[2,2],"chunks":[2,2],"dtype":{dtype},"fill_value":{fill},"compressor":null,"filters":null,"order":"C"}}"#
        )
    };
    folder.write("other/.zgroup", r#"{"zarr_format":2}"#);
    folder.write("other/a/.zarray", v2("\"<f8\"", "1.5"));
    let mut stores = Vec::new();
    for (n, (dtype, fill)) in [
        ("\"<f8\"", "NaN"),
        ("\"<f4\"", "-Infinity"),
        ("\"<f2\"", "\"NaN\""),
        ("\"<c16\"", "[NaN,Infinity]"),
        ("\"<i4\"", "3"),
        ("\"<M8[ns]\"", "\"NaT\""),
        ("\"|b1\"", "false"),
        ("\"|S3\"", "\"\""),
        ("\"<U3\"", "\"\""),
        (r#"[["a","<f8"],["b","|i1"]]"#, "null"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("v2-{n}");
        folder.write(&format!("{name}/.zgroup"), r#"{"zarr_format":2}"#);
        folder.write(&format!("{name}/.zattrs"), odd);
        folder.write(&format!("{name}/a/.zarray"), v2(dtype, fill));
        folder.write(&format!("{name}/a/.zattrs"), odd);
        stores.push(name);
    }
    for (format, dtype, values) in [
        ("v3", "float64", "[1,\"NaN\",\"Infinity\",-0.0]"),
        ("v3", "float16", "[1,\"NaN\",\"-Infinity\",2]"),
        ("v3", "complex64", "[[1,\"NaN\"],[2,3],[\"Infinity\",0],[0,0]]"),
        ("v3", "string", "[\"a\\\"\\n\",\"\",\"\u{1f600}\",\"x\"]"),
        ("v3", "bool", "[true,false,true,true]"),
        ("v3", "uint64", "[18446744073709551615,1,2,3]"),
        ("draft-2020", "float32", "[1,\"NaN\",\"Infinity\",2]"),
        ("nczarr-v2", "float64", "[1,\"NaN\",\"Infinity\",2]"),
        ("nczarr-v3", "float64", "[1,\"NaN\",\"Infinity\",2]"),
    ] {
        let name = format!("{format}-{dtype}");
        let plain = if format.starts_with("nczarr") { "v3" } else { format };
        let made = if plain == format { name.clone() } else { format!("{name}-plain") };
        folder.good(&format!(
            "create {made} --path a --shape 4 --dtype {dtype} --format {plain} --dims x"
        ));
        let put = folder.feed(&format!("put {made}/a"), values.as_bytes());
        assert_eq!(put.code, 0, "{made}: {}", put.err);
        let set = folder.run(&format!("attrs {made}/a --set missing_value=[1,2] --set units=K"));
        assert_eq!(set.code, 0, "{made}: {}", set.err);
        if made != name {
            let copy = folder.run(&format!("copy {made} {name} --to {format}"));
            assert_eq!(copy.code, 0, "{name}: {}", copy.err);
        }
        stores.push(name);
    }
    for store in stores {
        for verb in VERBS {
            let words = verb.split(' ').map(|word| match word {
                "U" => store.clone(),
                "A" => format!("{store}/a"),
                word => word.to_owned(),
            });
            let line = format!("{} --json", words.collect::<Vec<_>>().join(" "));
            let run = folder.run(&line);
            // What is refused, such as a picture of texts, prints nothing.
            assert!(run.code <= 1 || !run.err.is_empty(), "{line}: {run:?}");
            if run.code <= 1 || !run.out.is_empty() {
                let parsed = Json::parse(&run.out);
                assert!(parsed.is_ok(), "{line}: {parsed:?}: {}", run.text());
            }
            for line in run.err.lines() {
                assert!(Json::parse(line.as_bytes()).is_ok(), "{verb} of {store}: {line}");
            }
        }
    }
}

#[test]
fn a_dump_as_json_has_what_cdl_has() {
    let folder = Folder::new();
    let cdl = "netcdf d { dimensions: t = UNLIMITED ; x = 2 ; variables: float a(t, x) ; a:units = \"K\" ; short x(x) ; x:r = 1s, 2s ; :title = \"T\" ; data: a = 1, 2, 3, NaN ; x = 5, 6 ; group: g { variables: double b ; data: b = 7 ; } }";
    let made = folder.feed("gen -o d.zarr", cdl.as_bytes());
    assert_eq!(made.code, 0, "{}", made.err);
    let json = folder.good("dump d.zarr --json").json();
    let expected = r#"{"name":"d","dimensions":{"t":{"length":2,"unlimited":true},"x":{"length":2,"unlimited":false}},"attributes":{"title":{"type":"char","value":"T"}},"variables":{"a":{"type":"float","dimensions":["/t","/x"],"attributes":{"units":{"type":"char","value":"K"}},"data":[[1.0,2.0],[3.0,"NaN"]]},"x":{"type":"short","dimensions":["/x"],"attributes":{"r":{"type":"short","value":[1,2]}},"data":[5,6]}},"groups":{"g":{"dimensions":{},"attributes":{},"variables":{"b":{"type":"double","dimensions":[],"attributes":{},"data":7.0}},"groups":{}}}}"#;
    assert_eq!(json.to_string(), expected);
    let data = |line: &str| folder.good(line).text().matches("\"data\"").count();
    assert_eq!(data("dump d.zarr --json -h"), 0);
    assert_eq!(data("dump d.zarr --json -c"), 1);
    assert_eq!(data("dump d.zarr --json -v a,b"), 2);
    assert_eq!(data("dump d.zarr --json -g g"), 1);
}

#[test]
fn a_plot_as_json_has_the_values_that_a_picture_shows() {
    let folder = Folder::new();
    folder.good("create p.zarr --path a --shape 2,3 --dtype int16 --dims y,x");
    folder.feed("put p.zarr/a", b"[[1,2,3],[4,5,6]]");
    folder.good("attrs p.zarr/a --set scale_factor=0.5 --set missing_value=6");
    let json = folder.good("plot p.zarr/a --json").json();
    let object = json.as_object().unwrap();
    assert_eq!(object.get("values").unwrap().to_string(), r#"[[0.5,1.0,1.5],[2.0,2.5,"NaN"]]"#);
    let x = r#"{"axis":1,"name":"x","start":0,"step":1,"len":3,"block":1}"#;
    assert_eq!(object.get("x").unwrap().to_string(), x);
    let json = folder.good("plot p.zarr --json").json();
    let arrays = json.as_object().unwrap().get("arrays").unwrap().as_array().unwrap();
    assert_eq!(arrays.len(), 1);
    folder.bad("plot p.zarr/a --json -o p.png", 2);
    assert!(!folder.path("p.png").exists());
}
