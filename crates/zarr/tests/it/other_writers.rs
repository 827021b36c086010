//! What other writers wrote wrong and somebody's data have is read with a warning, named by `validate`, and written right by
//! `repair`. The documents and chunks are those of the writers that are named, where one is.

#![cfg(all(
    feature = "memory",
    feature = "filesystem",
    feature = "zip",
    feature = "lmdb",
    feature = "sharding",
    feature = "gzip",
    feature = "zstd"
))]

use crate::repairs::{Place, set};
use zarr::data_type::NumpyTime;
use zarr::tools::repair::{RepairAction, RepairOptions, RepairStep, StepState};
use zarr::tools::{CopyOptions, ProblemKind};
use zarr::{Array, ErrorKind, OpenOptions, Strictness};

/// A hierarchy of another writer's.
struct Case {
    what: &'static str,
    /// Documents as text, other values in hexadecimal digits.
    values: Vec<(&'static str, String)>,
    array: &'static str,
    elements: fn(&Array) -> zarr::Result<String>,
    expected: &'static str,
    /// What a problem says.
    problem: &'static str,
}

fn int32(array: &Array) -> zarr::Result<String> {
    Ok(format!("{:?}", array.read::<i32>(..)?))
}

fn int16(array: &Array) -> zarr::Result<String> {
    Ok(format!("{:?}", array.read::<i16>(..)?))
}

fn float64(array: &Array) -> zarr::Result<String> {
    Ok(format!("{:?}", array.read::<f64>(..)?))
}

fn times(array: &Array) -> zarr::Result<String> {
    Ok(format!("{:?}", array.read::<i64>(..)?))
}

fn texts(array: &Array) -> zarr::Result<String> {
    Ok(format!("{:?}", array.read::<String>(..)?))
}

fn stream(array: &Array) -> zarr::Result<String> {
    Ok(format!("{:?}", array.read::<Vec<u8>>(..)?))
}

fn records(array: &Array) -> zarr::Result<String> {
    let a = array.read_field::<u32>("a", ..)?;
    let b = array.read_field::<u8>("b", ..)?;
    Ok(format!("{a:?} {b:?}"))
}

const V2: &str = r#"{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "compressor": null, "fill_value": 0, "filters": null, "order": "C"}"#;
const V3: &str = r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "float64", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": 7.0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {}}"#;
const I4: &str = "0100000002000000";
const F8: &str = "000000000000f03f0000000000000040";

/// A document with some of its text replaced.
fn with(document: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(document.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{text} has no {old}");
        text.replacen(old, new, 1)
    })
}

fn v2(what: &'static str, changes: &[(&str, &str)], problem: &'static str) -> Case {
    let values = vec![("a/.zarray", with(V2, changes)), ("a/0", I4.into())];
    let values = [vec![(".zgroup", r#"{"zarr_format": 2}"#.into())], values].concat();
    let expected = "[1, 2, 0, 0]";
    Case { what, values, array: "/a", elements: int32, expected, problem }
}

fn v3(what: &'static str, changes: &[(&str, &str)], problem: &'static str) -> Case {
    let values = vec![("zarr.json", with(V3, changes)), ("c/0", F8.into())];
    let expected = "[1.0, 2.0, 0.0, 0.0]";
    Case { what, values, array: "/", elements: float64, expected, problem }
}

/// GDAL 3.9.3, `FORMAT=ZARR_V3`: three rows of four numbers in chunks of two by three.
fn gdal(what: &'static str, codecs: &str, chunks: [&str; 4], problem: &'static str) -> Case {
    let group = r#"{"zarr_format": 3,"node_type": "group","attributes": {}}"#.into();
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[3,4],"data_type":"int16","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2,3]}}}},"chunk_key_encoding":{{"name":"default","configuration":{{"separator":"\/"}}}},"fill_value":null,{codecs}"attributes":{{}},"dimension_names":["Y","X"]}}"#
    );
    let keys = ["r/c/0/0", "r/c/0/1", "r/c/1/0", "r/c/1/1"];
    let mut values = vec![("zarr.json", group), ("r/zarr.json", document)];
    values.extend(keys.into_iter().zip(chunks.map(str::to_owned)));
    let expected = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]";
    Case { what, values, array: "/r", elements: int16, expected, problem }
}

/// zarr-python 3.0.5, three elements in chunks of two.
fn zarr_python_30(dtype: &str, filter: &str, chunks: [&str; 2]) -> Vec<(&'static str, String)> {
    let document = format!(
        r#"{{"shape": [3],"chunks": [2],"fill_value": null,"order": "C","filters": [{{"id": "{filter}"}}],"dimension_separator": ".","compressor": null,"zarr_format": 2,"dtype": "{dtype}"}}"#
    );
    let mut values = vec![(".zarray", document), (".zattrs", "{}".into())];
    values.extend(["0", "1"].into_iter().zip(chunks.map(str::to_owned)));
    values
}

/// zarr-python 2.18, which takes any object for the fill value of texts and bytes.
fn objects(filter: &str, fill: &str) -> Vec<(&'static str, String)> {
    let mut values = zarr_python_30(
        "|O",
        filter,
        ["02000000050000006e6f646531010000006e", "0200000001000000780100000078"],
    );
    values[0].1 = with(&values[0].1, &[("e\": null", &format!("e\": {fill}"))]);
    values
}

fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case {
            values: vec![
                (".zgroup", r#"{"zarr_format": "2"}"#.into()),
                ("a/.zgroup", r#"{"zarr_format": "2"}"#.into()),
                ("a/1/.zarray", V2.into()),
                ("a/1/0", I4.into()),
            ],
            array: "/a/1",
            ..v2("webknossos", &[], "is not the integer 2")
        },
        v2("a format in text", &[("2,", "\"2\",")], "is not the integer 2"),
        v2("Rarr", &[("[4]", "4"), ("[2]", "2")], "a number is read as a list of one axis"),
        v2("no compressor", &[("\"compressor\": null, ", "")], "`compressor` is missing"),
        Case {
            expected: "[1, 2, -32767, -32767]",
            ..v2("netcdf-c 4.8", &[("e\": 0", "e\": [-32767]")], "a list of one is read as")
        },
        v2("a bool for a number", &[("e\": 0", "e\": false")], "`false` is read as zero"),
        v2("a text for a number", &[("e\": 0", "e\": \"0\"")], "a number is written as a string"),
        Case {
            values: vec![
                (".zarray", with(V2, &[("<i4", "<f8"), ("e\": 0", "e\": false")])),
                ("0", F8.into()),
            ],
            array: "/",
            elements: float64,
            expected: "[1.0, 2.0, 0.0, 0.0]",
            ..v2("a bool for a float", &[], "`false` is read as zero")
        },
        Case {
            values: vec![
                (".zarray", V2.into()),
                (".zattrs", r#"{"source": "caf\udce9.nc", "units": "m"}"#.into()),
                ("0", I4.into()),
            ],
            array: "/",
            ..v2("half of a surrogate pair", &[], "half of a surrogate pair")
        },
        // zarr-python 3.0.5, a structure of NumPy's with `align=True`.
        Case {
            values: vec![
                (".zarray", r#"{"shape": [2],"chunks": [2],"fill_value": "AAAAAAAAAAA=","order": "C","filters": null,"dimension_separator": ".","compressor": {"id": "zstd","level": 0},"zarr_format": 2,"dtype": [["a","<u4"],["b","|u1"],["","|V3"]]}"#.into()),
                (".zattrs", "{}".into()),
                ("0", "28b52ffd2010810000070000000800f03f090000000a000040".into()),
            ],
            array: "/",
            elements: records,
            expected: "[7, 9] [8, 10]",
            ..v2("padding", &[], "taken as `f2`")
        },
        Case {
            values: zarr_python_30(
                "<U6",
                "vlen-utf8",
                ["02000000050000006e6f646531010000006e", "0200000002000000c3a900000000"],
            ),
            array: "/",
            elements: texts,
            expected: r#"["node1", "n", "é"]"#,
            ..v2("texts of zarr-python 3.0", &[], "that `vlen-utf8` stores")
        },
        Case {
            values: zarr_python_30(
                "|S6",
                "vlen-bytes",
                ["02000000050000006e6f646531010000006e", "020000000300000078007900000000"],
            ),
            array: "/",
            elements: stream,
            expected: "[[110, 111, 100, 101, 49], [110], [120, 0, 121]]",
            ..v2("bytes of zarr-python 3.0", &[], "that `vlen-bytes` stores")
        },
        Case {
            values: objects("vlen-utf8", "-1"),
            array: "/",
            elements: texts,
            expected: r#"["node1", "n", "x"]"#,
            ..v2("a number for a text", &[], "-1 is not of the array's type")
        },
        Case {
            values: objects("vlen-utf8", "false"),
            array: "/",
            elements: texts,
            expected: r#"["node1", "n", "x"]"#,
            ..v2("a bool for a text", &[], "false is not of the array's type")
        },
        Case {
            values: objects("vlen-bytes", "\"NaN\""),
            array: "/",
            elements: stream,
            expected: "[[110, 111, 100, 101, 49], [110], [120]]",
            ..v2("NaN for bytes", &[], "is not of the array's type")
        },
        v3("a format in text", &[("3,", "\"3\","), ("7.0", "0.0")], "is not the integer 3"),
        v3("a number for a shape", &[("[4]", "4"), ("[2]", "2"), ("7.0", "0.0")], "a list of one axis"),
        v3("zero as text", &[("7.0", "\"0\"")], "a number is written as a string"),
        v3("a bool for zero", &[("7.0", "false")], "`false` is read as zero"),
        v3("null for zero", &[("7.0", "null")], "null is read as zero"),
        v3("zero in a list", &[("7.0", "[0.0]")], "a list of one is read as"),
        Case {
            expected: "[1.0, 2.0, NaN, NaN]",
            ..v3("bare NaN", &[("7.0", "NaN")], "bare `NaN`")
        },
        v3(
            "half of a surrogate pair",
            &[("7.0", "0.0"), ("s\": {}", r#"s": {"source": "caf\udce9.nc"}"#)],
            "half of a surrogate pair",
        ),
        gdal(
            "GDAL without codecs",
            "",
            [
                "000001000200040005000600",
                "030000000000070000000000",
                "080009000a00000000000000",
                "0b0000000000000000000000",
            ],
            "no codec makes bytes",
        ),
        gdal(
            "GDAL with gzip",
            r#""codecs":[{"name":"gzip","configuration":{"level":6}}],"#,
            [
                "1f8b080000000000000363606064606260616065606300008ebf272c0c000000",
                "1f8b0800000000000003636600017630090027244e110c000000",
                "1f8b0800000000000003e360e064e06280000093870c100c000000",
                "1f8b0800000000000003e3664000006162470a0c000000",
            ],
            "no codec makes bytes",
        ),
        gdal(
            "GDAL in columns",
            r#""codecs":[{"name":"transpose","configuration":{"order":"F"}},{"name":"gzip","configuration":{"level":6}}],"#,
            [
                "1f8b0800000000000003636060616064606560626063000035980a120c000000",
                "1f8b080000000000000363666067800100e60f97ee0c000000",
                "1f8b0800000000000003e3606060e004622e200600de4b2b0d0c000000",
                "1f8b0800000000000003e3664000006162470a0c000000",
            ],
            "a letter is read as the list of axes",
        ),
    ];
    let date = r#"{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<M8[s]", "compressor": null, "fill_value": "1970-01-01T00:00:05", "filters": null, "order": "C"}"#;
    cases.push(Case {
        values: vec![(".zarray", date.into()), ("0", "01000000000000000200000000000000".into())],
        array: "/",
        elements: times,
        expected: "[1, 2, 5, 5]",
        ..v2("a date for a count", &[], "is read as a count of time")
    });
    cases
}

fn bytes(name: &str, text: &str) -> Vec<u8> {
    if name.contains("zarr.json") || name.rsplit('/').next().is_some_and(|n| n.starts_with(".z")) {
        return text.as_bytes().to_vec();
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

fn place_of(values: &[(&'static str, String)]) -> Place {
    let place = Place::new("memory");
    place.change(|store| {
        for (name, text) in values {
            set(store, name, &bytes(name, text));
        }
    });
    place
}

fn open(place: &Place, strictness: Strictness) -> zarr::Result<zarr::Hierarchy> {
    let mut options = OpenOptions::new(zarr::standard()).read_write();
    options.options.strictness = strictness;
    zarr::Hierarchy::open(place.store(), &options)
}

fn elements(place: &Place, case: &Case, strictness: Strictness) -> zarr::Result<String> {
    (case.elements)(&open(place, strictness)?.array(case.array)?)
}

#[test]
fn it_is_read_with_a_warning_named_and_written_right() -> zarr::Result<()> {
    for case in cases() {
        let what = case.what;
        let place = place_of(&case.values);
        let hierarchy = open(&place, Strictness::Tolerant)?;
        let array = hierarchy.array(case.array).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!((case.elements)(&array)?, case.expected, "{what}");
        let _ = hierarchy.nodes("/")?;
        let warnings = hierarchy.warnings();
        assert!(warnings.iter().any(|w| w.what.contains(case.problem)), "{what}: {warnings:?}");
        let strict = elements(&place, &case, Strictness::Strict);
        let is_of_document = matches!(
            strict.as_ref().map_err(zarr::Error::kind),
            Err(ErrorKind::InvalidMetadata | ErrorKind::Unsupported)
        );
        assert!(is_of_document || what == "webknossos", "{what}: {strict:?}");

        let problems = place.problems();
        assert!(problems.iter().any(|p| p.message.contains(case.problem)), "{what}: {problems:?}");
        let deviates = |kind| kind == ProblemKind::DeviatingDocument;
        assert!(problems.iter().all(|p| deviates(p.kind)), "{what}: {problems:?}");

        let (report, steps) = place.repair(&RepairOptions::new().apply(true));
        assert!(report.is_sound(), "{what}: {report:?} {steps:?}");
        let is_correction = |step: &RepairStep| step.action == RepairAction::CorrectDocument;
        assert!(steps.iter().all(is_correction), "{what}: {steps:?}");
        assert!(place.problems().is_empty(), "{what}: {:?}", place.problems());
        assert_eq!(elements(&place, &case, Strictness::Strict)?, case.expected, "{what}");
    }
    Ok(())
}

/// A part can be written, the attributes set and the shape changed, as of any other array.
#[test]
fn such_arrays_are_written_and_copied() -> zarr::Result<()> {
    for case in cases() {
        let what = case.what;
        let place = place_of(&case.values);
        let hierarchy = open(&place, Strictness::Tolerant)?;
        let array = hierarchy.array(case.array)?;
        let set = array.update_attributes(|attributes| {
            attributes.insert("units", "K");
        });
        set.unwrap_or_else(|e| panic!("{what}: {e}"));
        let shape = array.shape();
        let mut longer = shape.clone();
        longer[0] += 1;
        array.resize(&longer).unwrap_or_else(|e| panic!("{what}: {e}"));
        array.resize(&shape)?;
        assert_eq!(elements(&place, &case, Strictness::Tolerant)?, case.expected, "{what}");

        let target = Place::new("memory");
        let dialect = hierarchy.dialect();
        let copy = zarr::create_with(&target.url, dialect, &crate::repairs::options())?;
        let from = hierarchy.node(zarr::NodePath::root())?;
        zarr::tools::copy(&from, &copy, zarr::NodePath::root(), &CopyOptions::default())
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(elements(&target, &case, Strictness::Strict)?, case.expected, "{what}");
    }
    Ok(())
}

/// zarr-python 3.0.5 wrote `NaN` as it stands into the copies; the document itself is sound.
#[test]
fn bare_nan_in_copies_of_final_v3_hides_no_array() -> zarr::Result<()> {
    let array = |fill: &str| {
        format!(
            r#"{{"shape": [3],"data_type": "float64","chunk_grid": {{"name": "regular","configuration": {{"chunk_shape": [2]}}}},"chunk_key_encoding": {{"name": "default","configuration": {{"separator": "/"}}}},"fill_value": {fill},"codecs": [{{"name": "bytes","configuration": {{"endian": "little"}}}},{{"name": "zstd","configuration": {{"level": 0,"checksum": false}}}}],"attributes": {{}},"zarr_format": 3,"node_type": "array","storage_transformers": []}}"#
        )
    };
    let group = format!(
        r#"{{"attributes": {{}},"zarr_format": 3,"consolidated_metadata": {{"kind": "inline","must_understand": false,"metadata": {{"f": {}}}}},"node_type": "group"}}"#,
        array("NaN")
    );
    let sound = array("\"NaN\"");
    let chunk = "28b52ffd2010810000000000000000f03f0000000000000040";
    let values =
        vec![("zarr.json", group), ("f/zarr.json", sound.clone()), ("f/c/0", chunk.to_owned())];
    let place = place_of(&values);
    let read = |strictness| {
        let hierarchy = open(&place, strictness)?;
        assert_eq!(hierarchy.nodes("/")?.len(), 2);
        float64(&hierarchy.array("/f")?)
    };
    assert_eq!(read(Strictness::Tolerant)?, "[1.0, 2.0, NaN]");
    let problems = place.problems();
    let is_of_copies = |p: &zarr::tools::Problem| {
        p.key.as_deref() == Some("zarr.json") || p.kind == ProblemKind::ConsolidatedDiffers
    };
    assert!(problems.iter().all(is_of_copies), "{problems:?}");
    assert!(problems.iter().any(|p| p.message.starts_with("the copy of `f`: `fill_value`: bare")));
    let (report, steps) = place.repair(&RepairOptions::new().apply(true));
    assert!(report.is_sound(), "{report:?} {steps:?}");
    assert_eq!(read(Strictness::Strict)?, "[1.0, 2.0, NaN]");
    assert_eq!(place.values()["f/zarr.json"], sound.as_bytes());
    let root = String::from_utf8(place.values()["zarr.json"].clone()).unwrap();
    assert!(root.contains(r#""fill_value": "NaN""#), "{root}");
    Ok(())
}

/// Where nothing can be told to be meant, nothing is guessed.
#[test]
fn what_could_mean_several_things_is_refused() {
    let refused = [
        with(V2, &[("[4]", "[4, 4]"), ("[2]", "2")]),
        with(V2, &[("e\": 0", "e\": [1, 2]")]),
        with(V2, &[("e\": 0", "e\": [[1]]")]),
        with(V2, &[("e\": 0", "e\": \"x\"")]),
        with(V2, &[("2,", "\"3\",")]),
        with(V2, &[("<i4", "<M8[s]"), ("e\": 0", "e\": \"yesterday\"")]),
        with(V2, &[("<i4", "<U4"), ("\"filters\": null", r#""filters": [{"id": "vlen-bytes"}]"#)]),
    ];
    for document in refused {
        let place = place_of(&[(".zarray", document.clone()), ("0", I4.into())]);
        let read = open(&place, Strictness::Tolerant)
            .and_then(|hierarchy| hierarchy.array("/")?.read_bytes(..));
        assert!(read.is_err(), "{document}");
    }
    for (old, new) in [
        (
            r#""codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]"#,
            r#""codecs": [{"name": "zork"}]"#,
        ),
        ("7.0", "[1.0, 2.0]"),
        ("7.0", "\"x\""),
        ("\"fill_value\": 7.0, ", ""),
    ] {
        let place = place_of(&[("zarr.json", with(V3, &[(old, new)])), ("c/0", F8.into())]);
        let read = open(&place, Strictness::Tolerant)
            .and_then(|hierarchy| hierarchy.array("/")?.read_bytes(..));
        assert!(read.is_err(), "{new}");
    }
}

/// Z2-023: as zarr-python reads them; a copy into final v3 says so.
#[test]
fn times_without_a_fill_value_are_no_times() -> zarr::Result<()> {
    for dtype in ["<M8[s]", "<m8[s]", ">M8[D]"] {
        let document = with(V2, &[("<i4", dtype), ("e\": 0", "e\": null")]);
        let place = place_of(&[(".zarray", document)]);
        let nat = format!("{:?}", [NumpyTime::NAT; 4]);
        let hierarchy = open(&place, Strictness::Strict)?;
        assert_eq!(times(&hierarchy.array("/")?)?, nat, "{dtype}");
        let target = Place::new("memory");
        let copy = zarr::create_with(&target.url, zarr::Dialect::V3, &crate::repairs::options())?;
        let from = hierarchy.node(zarr::NodePath::root())?;
        zarr::tools::copy(&from, &copy, zarr::NodePath::root(), &CopyOptions::default())?;
        assert_eq!(times(&open(&target, Strictness::Strict)?.array("/")?)?, nat, "{dtype}");
    }
    Ok(())
}

/// gzip and Python pass over zeros behind the last member; a strict reader may not.
#[test]
fn zeros_behind_a_gzip_chunk_are_taken_away() -> zarr::Result<()> {
    let document =
        with(V2, &[("\"compressor\": null", r#""compressor": {"id": "gzip", "level": 1}"#)]);
    let place = place_of(&[(".zarray", document)]);
    let array = open(&place, Strictness::Tolerant)?.array("/")?;
    array.write(.., &[1, 2, 3, 4])?;
    let sound = place.values();
    place.change(|store| {
        crate::repairs::edit(store, "0", |chunk| chunk.extend([0; 100]));
    });
    assert_eq!(int32(&array)?, "[1, 2, 3, 4]");
    let problems = place.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].kind, ProblemKind::PaddedChunk);
    assert!(problems[0].message.starts_with("100 zero bytes"), "{problems:?}");
    let (report, steps) = place.repair(&RepairOptions::new().apply(true));
    assert!(report.is_sound() && steps[0].state == StepState::Done, "{steps:?}");
    assert_eq!(place.values()["0"], sound["0"]);
    Ok(())
}
