//! Documents that crash netcdf-c, or that are invalid, give clean errors, and leave the rest readable.

use std::sync::Arc;

use crate::common::{holding, options, value};
use zarr_core::store::Store;
use zarr_core::{ErrorKind, Json};
use zarr_nczarr::schema::Group;
use zarr_nczarr::{Dataset, Lengths, Profile, Type, Values};

const GROUP: &str = r#"{"zarr_format":2}"#;
const ARRAY: &str = r#"{"zarr_format":2,"shape":[2],"dtype":"<i4","chunks":[2],"fill_value":7,"order":"C","compressor":null,"filters":null}"#;
const ROOT: &str = r#"{"_nczarr_group":{"dimensions":{"x":2},"arrays":["good","bad"],"groups":[]},"_nczarr_superblock":{"version":"2.0.0"}}"#;
const GOOD: &str = r#"{"_nczarr_array":{"dimension_references":["/x"],"storage":"chunked"}}"#;

/// A dataset of a good variable and a bad one.
fn with_bad(array: &str, attributes: &str) -> Arc<dyn Store> {
    holding(&[
        (".zgroup", GROUP),
        (".zattrs", ROOT),
        ("good/.zarray", ARRAY),
        ("good/.zattrs", GOOD),
        ("bad/.zarray", array),
        ("bad/.zattrs", attributes),
    ])
}

/// The bad variable is set apart for a reason that holds these words; the good one is read; a strict reader
/// refuses the dataset.
fn only_bad_is_refused(store: &Arc<dyn Store>, words: &str) {
    let dataset = Dataset::open(store.clone(), &options()).unwrap();
    assert_eq!(dataset.variable("good").unwrap().read().unwrap(), vec![7, 7].into(), "{words}");
    let schema = dataset.schema();
    let why = schema.opaque.first().map(|opaque| opaque.why.as_str()).unwrap_or_default();
    assert!(why.contains(words), "`{words}` is not in `{why}`");
    assert_eq!(dataset.variable("bad").unwrap_err().kind(), ErrorKind::Argument);
    let mut strict = options();
    strict.zarr = strict.zarr.strict();
    let error = Dataset::open(store.clone(), &strict).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidMetadata, "{error}");
}

/// N-014: what netcdf-c crashes of, or refuses with the whole dataset.
#[test]
fn references_have_to_lead_somewhere() {
    let with = |references: &str| {
        let attributes = format!(r#"{{"_nczarr_array":{{"dimension_references":{references}}}}}"#);
        with_bad(ARRAY, &attributes)
    };
    only_bad_is_refused(&with(r#"["/none"]"#), "`/none` is not declared");
    only_bad_is_refused(&with(r#"["/g/x"]"#), "is in no group");
    only_bad_is_refused(&with(r#"["x"]"#), "is in no group");
    only_bad_is_refused(&with(r#"["/x","/x"]"#), "2 dimensions are named for 1 axes");
    only_bad_is_refused(&with("[]"), "0 dimensions are named for 1 axes");
    only_bad_is_refused(&with("7"), "a list of names");
    only_bad_is_refused(&with("[7]"), "the full name");
    let long = ARRAY.replace("\"shape\":[2]", "\"shape\":[3]");
    only_bad_is_refused(&with_bad(&long, GOOD), "has length 2, axis 0 of the array 3");
}

/// N-099: broken documents, of which some crash netcdf-c.
#[test]
fn broken_documents_are_refused_by_name() {
    let without = |member: &str| {
        let Json::Object(mut object) = Json::parse(ARRAY.as_bytes()).unwrap() else { panic!() };
        object.remove(member);
        Json::from(object).to_string()
    };
    only_bad_is_refused(&with_bad(&without("order"), GOOD), "order");
    only_bad_is_refused(&with_bad(&without("shape"), GOOD), "shape");
    only_bad_is_refused(
        &with_bad(&ARRAY.replace("\"chunks\":[2]", "\"chunks\":[0]"), GOOD),
        "chunks",
    );
    only_bad_is_refused(&with_bad(&ARRAY.replace("[2],\"fill", "[2,2],\"fill"), GOOD), "chunks");
    only_bad_is_refused(
        &with_bad(&ARRAY.replace("_format\":2", "_format\":3"), GOOD),
        "zarr_format",
    );
    only_bad_is_refused(&with_bad(&ARRAY.replace("\"C\"", "\"D\""), GOOD), "order");
    let separator = ARRAY.replace("\"order\"", "\"dimension_separator\":\"-\",\"order\"");
    only_bad_is_refused(&with_bad(&separator, GOOD), "dimension_separator");
    only_bad_is_refused(&with_bad("{", GOOD), "not JSON");
    only_bad_is_refused(&with_bad(ARRAY, "[]"), ".zattrs");
    let listed = holding(&[
        (".zgroup", GROUP),
        (".zattrs", ROOT),
        ("good/.zarray", ARRAY),
        ("good/.zattrs", GOOD),
    ]);
    only_bad_is_refused(&listed, "is listed, but does not exist");
}

/// N-054: a fill value of another type crashes netcdf-c.
#[test]
fn fill_values_are_of_the_variables_type() {
    for fill in ["\"NaN\"", "[1,2]", "[]", "{}", "99999999999", "1.5"] {
        let attributes = GOOD.replacen('{', &format!("{{\"_FillValue\":{fill},"), 1);
        only_bad_is_refused(&with_bad(ARRAY, &attributes), "_FillValue");
    }
}

/// N-011, N-031, N-032: what the root says wrongly is an error of the dataset's.
#[test]
fn broken_groups_are_refused() {
    for group in [
        r#"{"dimensions":{"x":{"unlimited":1}}}"#,
        r#"{"dimensions":{"x":"2"}}"#,
        r#"{"dimensions":{"a/b":2}}"#,
        r#"{"arrays":7}"#,
        r#"{"groups":["none"]}"#,
        r#"{"groups":["../up"]}"#,
        r#"{"groups":["good"]}"#,
        "[]",
    ] {
        let root =
            format!(r#"{{"_nczarr_group":{group},"_nczarr_superblock":{{"version":"2.0.0"}}}}"#);
        let store = holding(&[(".zgroup", GROUP), (".zattrs", &root), ("good/.zarray", ARRAY)]);
        let error = Dataset::open(store, &options()).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidMetadata, "{group}: {error}");
    }
    // An unknown version is read all the same; one that is no text is none.
    for (version, profile) in [("\"9.0.0\"", Profile::Nczarr), ("9", Profile::Pure)] {
        let root = ROOT.replace("\"2.0.0\"", version);
        let store = holding(&[
            (".zgroup", GROUP),
            (".zattrs", &root),
            ("good/.zarray", ARRAY),
            ("good/.zattrs", GOOD),
        ]);
        assert_eq!(Dataset::open(store, &options()).unwrap().profile(), profile);
    }
}

/// A document that claims much makes nobody allocate it.
#[test]
fn sizes_that_are_claimed_are_not_believed() {
    let root = r#"{"_nczarr_group":{"dimensions":{"t":{"size":1152921504606846976,"unlimited":1}},"arrays":["good"],"groups":[]},"_nczarr_superblock":{"version":"2.0.0"}}"#;
    let attributes = GOOD.replace("/x", "/t");
    let store = holding(&[
        (".zgroup", GROUP),
        (".zattrs", root),
        ("good/.zarray", ARRAY),
        ("good/.zattrs", &attributes),
    ]);
    for lengths in [Lengths::Longest, Lengths::Published] {
        let dataset = Dataset::open(store.clone(), &options().lengths(lengths)).unwrap();
        let error = dataset.variable("good").unwrap().read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    }
    let mut deep = String::from(GROUP);
    let mut documents = vec![(".zgroup".to_owned(), GROUP.to_owned())];
    let mut path = String::new();
    for n in 0..200 {
        let superblock = if n == 0 { r#","_nczarr_superblock":{"version":"2.0.0"}"# } else { "" };
        deep = format!(
            r#"{{"_nczarr_group":{{"dimensions":{{}},"arrays":[],"groups":["g"]}}{superblock}}}"#
        );
        documents.push((format!("{path}.zattrs"), deep.clone()));
        path.push_str("g/");
        documents.push((format!("{path}.zgroup"), GROUP.to_owned()));
    }
    assert!(!deep.is_empty());
    let documents: Vec<(&str, &str)> =
        documents.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
    let error = Dataset::open(holding(&documents), &options()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("nested more than"), "{error}");
}

/// N-004, N-006, N-074: types and codecs that netCDF does not know leave the dataset readable.
#[test]
fn a_variable_that_netcdf_cannot_express_is_set_apart() {
    let of_type = |dtype: &str, fill: &str| {
        let array = ARRAY
            .replace("\"<i4\"", dtype)
            .replace("\"fill_value\":7", &format!("\"fill_value\":{fill}"));
        holding(&[(".zgroup", GROUP), ("good/.zarray", ARRAY), ("odd/.zarray", &array)])
    };
    for (dtype, fill) in [
        ("\"<f2\"", "0"),
        ("\"<M8[ns]\"", "0"),
        ("\"|V3\"", "\"AAAA\""),
        (r#"[["a","<i4"]]"#, "null"),
        ("\"what\"", "0"),
    ] {
        let dataset = Dataset::open(of_type(dtype, fill), &options()).unwrap();
        assert_eq!(dataset.variable("good").unwrap().read().unwrap(), vec![7, 7].into());
        let schema = dataset.schema();
        assert_eq!(schema.opaque.len(), 1, "{dtype}");
        // As a Zarr array it opens all the same, if Zarr has such a type.
        let is_zarr = dtype != "\"what\"";
        assert!(!is_zarr || dataset.hierarchy().array("/odd").is_ok(), "{dtype}");
    }
    for (dtype, fill, ty) in [
        ("\"|b1\"", "true", Type::Bool),
        ("\"<c8\"", "[1.0,2.0]", Type::Complex64),
        ("\"<c16\"", "[1.0,2.0]", Type::Complex128),
        ("\"<U3\"", "\"ab\"", Type::String),
        ("\"|S3\"", "\"YWIA\"", Type::String),
        ("\">S1\"", "\"\"", Type::String),
    ] {
        let dataset = Dataset::open(of_type(dtype, fill), &options()).unwrap();
        let odd = dataset.variable("odd").unwrap();
        assert_eq!(odd.ty().unwrap(), ty, "{dtype}");
        let due: Values = match ty {
            Type::Bool => vec![true; 2].into(),
            Type::Complex64 => vec![[1f32, 2.0]; 2].into(),
            Type::Complex128 => vec![[1f64, 2.0]; 2].into(),
            _ if dtype.contains("S1") => vec![String::new(); 2].into(),
            _ => vec!["ab".to_owned(); 2].into(),
        };
        assert_eq!(odd.read().unwrap(), due, "{dtype}");
    }
    let squeezed =
        ARRAY.replace("\"compressor\":null", "\"compressor\":{\"id\":\"szip\",\"mask\":141}");
    let store = with_bad(&squeezed, GOOD);
    let dataset = Dataset::open(store, &options()).unwrap();
    let bad = dataset.variable("bad").unwrap();
    assert_eq!(bad.shape().unwrap(), [2]);
    let error = bad.read().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("szip"), "{error}");
}

/// N-023, N-092, N-093: names that are no names are passed over, with a word.
#[test]
fn names_of_xarray_are_taken_if_they_are_names() {
    let named = |names: &str| {
        let attributes = format!("{{\"_ARRAY_DIMENSIONS\":{names}}}");
        let store =
            holding(&[(".zgroup", GROUP), ("good/.zarray", ARRAY), ("good/.zattrs", &attributes)]);
        let dataset = Dataset::open(store, &options()).unwrap();
        let dimensions = dataset.schema().variables[0].dimensions.clone();
        (dimensions[0].clone(), dataset.warnings().len())
    };
    assert_eq!(named(r#"["x"]"#), ("/x".into(), 0));
    for odd in [r#"["x","y"]"#, "[]", "\"x\"", "[7]", "[null]", "{}"] {
        assert_eq!(named(odd), ("/_Anonymous_Dim_2".into(), 1), "{odd}");
    }
    assert_eq!(named(r#"["a/b"]"#).0, "/_Anonymous_Dim_2");
    let scalar = ARRAY.replace("[2]", "[]");
    for (names, is_good) in [("[]", true), (r#"["x"]"#, false)] {
        let attributes = format!("{{\"_ARRAY_DIMENSIONS\":{names}}}");
        let store =
            holding(&[(".zgroup", GROUP), ("s/.zarray", &scalar), ("s/.zattrs", &attributes)]);
        let dataset = Dataset::open(store, &options()).unwrap();
        assert_eq!(dataset.variable("s").is_ok(), is_good, "{names}");
    }
    let store = holding(&[(".zarray", ARRAY)]);
    let dataset = Dataset::open(store, &options()).unwrap();
    assert_eq!(
        dataset.schema().variables.len(),
        1,
        "a root array is a group of one variable (N-090)"
    );
}

/// N-044, N-050, N-053: what netcdf-c stores in place of a text is read better than by itself.
#[test]
fn attributes_of_netcdf_c_are_read() {
    let root = ROOT.replacen(
        '{',
        r#"{"n":42,"t":true,"a":[0.,1.],"nan":NaN,"j":{"a":[1, 2]},"f":9.96921e+36,"odd":7,"u":8,"_nczarr_attr":{"types":{"n":">S1","t":">S1","a":">S1","nan":">S1","j":">S1","f":"<f4","odd":"what"}},"#,
        1,
    );
    let store = holding(&[
        (".zgroup", GROUP),
        (".zattrs", &root),
        ("good/.zarray", ARRAY),
        ("good/.zattrs", GOOD),
    ]);
    let dataset = Dataset::open(store, &options()).unwrap();
    let schema = dataset.schema();
    let text = |name: &str| schema.attribute(name).and_then(Values::as_text).map(str::to_owned);
    assert_eq!(text("n").as_deref(), Some("42"));
    assert_eq!(text("t").as_deref(), Some("true"));
    assert_eq!(text("a").as_deref(), Some("[0.0,1.0]"));
    assert_eq!(text("nan").as_deref(), Some("NaN"));
    assert_eq!(text("j").as_deref(), Some(r#"{"a": [1,2]}"#));
    assert_eq!(schema.attribute("f"), Some(&Type::Float.default_fill()));
    assert_eq!(schema.attribute("odd"), Some(&vec![7].into()));
    assert_eq!(schema.attribute("u"), Some(&vec![8].into()));
    assert!(dataset.warnings().iter().any(|warning| warning.what.contains("`what` is unknown")));
}

/// N-080, N-081: what netcdf-c 4.8 to 4.9.2 wrote is read, and not written.
#[test]
fn old_forms_are_read() {
    let u1 = ARRAY.replace("<i4", "<U1").replace("\"fill_value\":7", "\"fill_value\":\"\"");
    let declared = r#"{"dims":{"x":2},"vars":["v"],"groups":[]}"#;
    let capitals = [
        (
            ".zgroup",
            format!(
                r#"{{"zarr_format":2,"_NCZARR_SUPERBLOCK":{{"version":"2.0.0"}},"_NCZARR_GROUP":{declared}}}"#
            ),
        ),
        (
            "v/.zarray",
            u1.replacen('{', r#"{"_NCZARR_ARRAY":{"dimrefs":["/x"],"storage":"chunked"},"#, 1),
        ),
        ("v/.zattrs", r#"{"a":"b","_NCZARR_ATTR":{"types":{"a":"<U1"}}}"#.to_owned()),
    ];
    let of_4_8_0 = [
        (".zgroup", GROUP.to_owned()),
        (".nczarr", r#"{"zarr_format":2,"nczarr_version":"1.0.0"}"#.to_owned()),
        (".nczgroup", declared.to_owned()),
        ("v/.zarray", u1.clone()),
        ("v/.zattrs", r#"{"a":"b"}"#.to_owned()),
        ("v/.nczvar", r#"{"dimrefs":["/x"],"storage":"chunked"}"#.to_owned()),
        ("v/.nczattr", r#"{"types":{"a":"|S1"}}"#.to_owned()),
    ];
    for documents in [&capitals[..], &of_4_8_0[..]] {
        let texts: Vec<(&str, &str)> = documents
            .iter()
            .map(|(key, text)| (*key, text.as_str()))
            .chain([("v/0", "ab")])
            .collect();
        let store = holding(&texts);
        let dataset = Dataset::open(store.clone(), &options().read_write()).unwrap();
        assert_eq!(dataset.profile(), Profile::Legacy);
        let v = dataset.variable("v").unwrap();
        assert_eq!(v.read().unwrap(), Values::Char(b"ab".to_vec()));
        let schema = v.schema().unwrap();
        assert_eq!((schema.dimensions, schema.attributes.len()), (vec!["/x".to_owned()], 1));
        assert_eq!(schema.attributes[0].value, "b".into());
        let before = value(&store, ".zgroup");
        for refused in [
            v.write(Values::Char(b"cd".to_vec())),
            v.set_attribute("x", "y"),
            dataset.root().create_group("g").map(|_| ()),
        ] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::ReadOnly);
        }
        assert_eq!(value(&store, ".zgroup"), before);
    }
}

/// Documents of 2021 have the limit of all documents.
#[test]
fn old_documents_beyond_the_limit_are_refused() {
    let declared = r#"{"dims":{"x":2},"vars":["v"],"groups":[]}"#;
    let documents = [
        (".zgroup", GROUP),
        (".nczarr", r#"{"zarr_format":2,"nczarr_version":"1.0.0"}"#),
        (".nczgroup", declared),
        ("v/.zarray", ARRAY),
        ("v/.nczvar", r#"{"dimrefs":["/x"],"storage":"chunked"}"#),
        ("v/.nczattr", r#"{"types":{}}"#),
    ];
    for large in [".nczgroup", "v/.nczvar", "v/.nczattr"] {
        let padding = " ".repeat(4096);
        let pad = |(key, text): &(&'static str, &str)| {
            if *key == large {
                (*key, format!("{text}{padding}"))
            } else {
                (*key, (*text).to_owned())
            }
        };
        let padded: Vec<(&str, String)> = documents.iter().map(pad).collect();
        let texts: Vec<(&str, &str)> =
            padded.iter().map(|(key, text)| (*key, text.as_str())).collect();
        let store = holding(&texts);
        Dataset::open(store.clone(), &options()).unwrap();
        let mut limited = options();
        limited.zarr.options.limits.document = 1024;
        let why = match Dataset::open(store, &limited) {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Limit, "{large}: {error}");
                error.to_string()
            }
            // A variable is set apart.
            Ok(dataset) => {
                dataset.schema().opaque.first().map(|v| v.why.clone()).unwrap_or_default()
            }
        };
        for part in [large, "more than the limit of 1024"] {
            assert!(why.contains(part), "{large}: {why}");
        }
    }
}

/// N-022, N-033, N-065, N-073: the words of the branch of netcdf-c that writes v3 are read.
#[test]
fn v3_of_netcdf_c_is_read() {
    let array = |data_type: &str, fill: &str, codecs: &str, attributes: &str| {
        format!(
            r#"{{"node_type":"array","zarr_format":3,"data_type":"{data_type}","fill_value":{fill},"shape":[2],"chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2]}}}},"chunk_key_encoding":{{"name":"default","configuration":{{"separator":"."}}}},"dimension_names":["lat"],"codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}{codecs}],"attributes":{attributes}}}"#
        )
    };
    let root = r#"{"node_type":"group","zarr_format":3,"attributes":{"history":{"step":[1,2]},"_nczarr_group":{"dimensions":{"lat":{"size":2,"unlimited":0}},"arrays":["code","label","temp"],"groups":[]},"_nczarr_superblock":{"version":"3.0.0"},"_nczarr_attrs":{"attribute_types":{"history":"json"}}}}"#;
    let of = |kind: &str| {
        format!(
            r#"{{"_nczarr_array":{{"dimension_references":["/lat"],"storage":"chunked","nczarr_type":"{kind}"}}}}"#
        )
    };
    let code = array("uint8", "\"\"", "", &of("char"));
    let label = array("r64", "\"\"", "", &of("string"));
    let codecs = r#",{"name":"shuffle"},{"name":"zlib","configuration":{"level":4}}"#;
    let temp = array("float32", "-9", codecs, "{}");
    let store = holding(&[
        ("zarr.json", root),
        ("code/zarr.json", &code),
        ("label/zarr.json", &label),
        ("label/c.0", "north\0\0\0southwes"),
        ("temp/zarr.json", &temp),
    ]);
    let dataset = Dataset::open(store, &options()).unwrap();
    let read = |name: &str| dataset.variable(name).unwrap().read().unwrap();
    assert_eq!(read("code"), Values::Char(vec![0, 0]));
    assert_eq!(read("label"), vec!["north".to_owned(), "southwes".to_owned()].into());
    assert_eq!(read("temp"), vec![-9f32; 2].into());
    assert_eq!(dataset.variable("temp").unwrap().schema().unwrap().dimensions, ["/lat"]);
    let schema: Arc<Group> = dataset.schema();
    assert_eq!(schema.attribute("history").and_then(Values::as_text), Some(r#"{"step": [1,2]}"#));
    assert!(dataset.warnings().is_empty(), "{:?}", dataset.warnings());
}

/// N-073: chunks of netcdf-c's own through its bare names of codecs. The bytes are those of the worked example.
#[test]
fn chunks_behind_the_bare_names_of_netcdf_c_are_decoded() {
    let temp = r#"{"node_type":"array","zarr_format":3,"data_type":"float32","fill_value":-9,"shape":[2,2,2],"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,2,2]}},"chunk_key_encoding":{"name":"default","configuration":{"separator":"."}},"dimension_names":["t","y","x"],"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"shuffle"},{"name":"zlib","configuration":{"level":4}}],"attributes":{}}"#;
    let group = r#"{"node_type":"group","zarr_format":3,"attributes":{}}"#;
    let store = holding(&[("zarr.json", group), ("temp/zarr.json", temp)]);
    let packed = b"\x78\x5e\x63\x60\x40\x05\x0d\x0c\x0d\x0b\x1e\x30\x28\x18\xd8\x3b\x00\x81\xa3\xa3\x23\x00\x2d\xae\x04\xd3";
    let key = zarr_core::store::StoreKey::new("temp/c.0.0.0").unwrap();
    store.to_sync().set(&key, packed.to_vec().into()).unwrap();
    let dataset = Dataset::open(store, &options()).unwrap();
    let read = dataset.variable("temp").unwrap().read().unwrap();
    assert_eq!(read, vec![1f32, 2.0, 4.0, 5.0, 7.0, 8.0, 10.0, 11.0].into());
}

/// N-101: all documents in the root's, in words that are not JSON; and a v2 dataset that has `.zmetadata` alone.
#[test]
fn documents_may_all_be_in_one() {
    let array = r#"{"node_type":"array","zarr_format":3,"data_type":"int32","fill_value":7,"shape":[2],"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default","configuration":{"separator":"."}},"dimension_names":["x"],"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"attributes":{}}"#;
    let root = r#"{"node_type":"group","zarr_format":3,"attributes":{"_nczarr_group":{"dimensions":{"x":2},"arrays":["v"],"groups":[]},"_nczarr_superblock":{"version":"3.0.0"}}}"#;
    let inline = format!(
        r#"{{"zarr_format":3,"node_type":"group","attributes":{{}},"kind":"inline","must_understand": False,"metadata":{{"zarr.json":{root},"v/zarr.json":{array}}}}}"#
    );
    let store = holding(&[("zarr.json", &inline), ("v/c.0", "\x01\0\0\0\x02\0\0\0")]);
    let dataset = Dataset::open(store, &options()).unwrap();
    assert_eq!(dataset.profile(), Profile::Nczarr);
    assert_eq!(dataset.variable("v").unwrap().read().unwrap(), vec![1, 2].into());
    let copies = format!(
        r#"{{"zarr_consolidated_format":1,"metadata":{{".zgroup":{GROUP},".zattrs":{},"good/.zarray":{ARRAY},"good/.zattrs":{GOOD}}}}}"#,
        ROOT.replace(",\"bad\"", "")
    );
    let dataset = Dataset::open(holding(&[(".zmetadata", &copies)]), &options()).unwrap();
    assert_eq!(dataset.profile(), Profile::Nczarr);
    assert_eq!(dataset.variable("good").unwrap().read().unwrap(), vec![7, 7].into());
}

/// N-007, N-091, N-097, N-098: as plain Zarr says it, also where netcdf-c reads otherwise.
#[test]
fn plain_zarr_is_read_as_it_is_meant() {
    let f = r#"{"zarr_format":2,"shape":[2,3],"dtype":">i2","chunks":[2,3],"fill_value":0,"order":"F","compressor":null,"filters":null}"#;
    let store = holding(&[
        // Attributes of a root without a document of its own.
        (".zattrs", r#"{"title":"x"}"#),
        ("b/.zarray", f),
        ("b/0.0", "\0\0\0\x03\0\x01\0\x04\0\x02\0\x05"),
        ("a/.zarray", ARRAY),
        ("a/0", "short"),
        ("longer/.zarray", ARRAY),
        ("longer/0", "\x01\0\0\0\x02\0\0\0\x03\0\0\0"),
        (
            "packed/.zarray",
            &ARRAY.replace("\"compressor\":null", "\"compressor\":{\"id\":\"zlib\",\"level\":1}"),
        ),
        (".hidden/.zarray", ARRAY),
    ]);
    // Three numbers, which zlib of Python's packed, where two are due.
    let packed = b"\x78\x9c\x63\x64\x60\x60\x60\x02\x62\x66\x20\x06\x00\x00\x34\x00\x07";
    let key = zarr_core::store::StoreKey::new("packed/0").unwrap();
    store.to_sync().set(&key, packed.to_vec().into()).unwrap();
    let dataset = Dataset::open(store, &options()).unwrap();
    let schema = dataset.schema();
    let names: Vec<&str> = schema.variables.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "longer", "packed"]);
    assert_eq!(schema.attribute("title"), Some(&"x".into()));
    let b = dataset.variable("b").unwrap();
    assert_eq!(b.read().unwrap(), vec![0i16, 1, 2, 3, 4, 5].into());
    assert_eq!(b.schema().unwrap().storage.endian, Some(zarr_nczarr::Endian::Big));
    for name in ["a", "longer", "packed"] {
        let error = dataset.variable(name).unwrap().read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptData, "{name}");
    }
    assert!(!dataset.warnings().is_empty());
}
