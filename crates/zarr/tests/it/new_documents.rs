//! The documents of new nodes are written so that others can read them.
#![cfg(all(
    feature = "memory",
    feature = "gzip",
    feature = "zstd",
    feature = "blosc",
    feature = "sharding"
))]

use std::sync::Arc;

use zarr::store::{Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::tools::CopyOptions;
use zarr::{
    ArrayBuilder, Dialect, ErrorKind, Hierarchy, Json, NodePath, Object, OpenOptions, Result,
};

fn path(text: &str) -> NodePath {
    NodePath::new(text).expect("a good path")
}

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).expect("JSON")
}

fn hierarchy(dialect: Dialect) -> Result<(Arc<dyn Store>, Hierarchy)> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let options = OpenOptions::new(zarr::standard()).read_write();
    let format = zarr::format::of_dialect(dialect);
    Ok((store.clone(), Hierarchy::create(store, format, &options)?))
}

fn text(store: &Arc<dyn Store>, key: &str) -> String {
    let key = StoreKey::new(key).expect("a good key");
    let value = store.to_sync().value(&key).expect("memory reads");
    String::from_utf8(value.expect("it is there").to_vec()).expect("UTF-8")
}

fn document(store: &Arc<dyn Store>, key: &str) -> Object {
    json(&text(store, key)).as_object().expect("an object").clone()
}

/// The member of a new array's document, as JSON without blanks.
fn member(
    dialect: Dialect,
    name: &str,
    build: impl FnOnce(ArrayBuilder) -> ArrayBuilder,
) -> Result<Option<String>> {
    let (store, hierarchy) = hierarchy(dialect)?;
    build(hierarchy.create_array(path("/a")).shape(&[4]).chunks(&[2])).create()?;
    let key = if dialect == Dialect::V3 { "a/zarr.json" } else { "a/.zarray" };
    Ok(document(&store, key).get(name).map(ToString::to_string))
}

/// T-02, F-015, F-018, F-083, F-085, F-086: codecs, grids and key encodings are objects with every parameter that
/// some reader demands; a data type without parameters is a plain string.
#[test]
fn extensions_are_objects() -> Result<()> {
    let (store, hierarchy) = hierarchy(Dialect::V3)?;
    let builder = hierarchy.create_array(path("/a")).shape(&[8, 8]).chunks(&[2, 2]);
    let builder = builder.shards(&[4, 4]).data_type_named("int16").f_order(true);
    let builder =
        builder.codec(zarr::tools::codec("blosc-zstd")?).codec(zarr::tools::codec("gzip:1")?);
    builder.codec(zarr::tools::codec("zstd:3")?).codec(zarr::tools::codec("crc32c")?).create()?;
    let document = document(&store, "a/zarr.json");
    assert_eq!(document.get("data_type"), Some(&Json::from("int16")));
    for name in ["chunk_grid", "chunk_key_encoding"] {
        let extension = document.get(name).and_then(Json::as_object).expect(name);
        assert!(extension.contains("name") && extension.contains("configuration"), "{name}");
    }
    let keys = document.get("chunk_key_encoding").expect("there").to_string();
    assert_eq!(keys, r#"{"name":"default","configuration":{"separator":"/"}}"#);
    let mut found = Vec::new();
    let mut lists = vec![document.get("codecs").expect("codecs").clone()];
    while let Some(list) = lists.pop() {
        for codec in list.as_array().expect("a list") {
            let codec = codec.as_object().expect("a codec is an object");
            assert!(!codec.contains("must_understand"), "{codec:?}");
            found.push(codec.get("name").and_then(Json::as_str).expect("a name").to_owned());
            let configuration = codec.get("configuration").and_then(Json::as_object);
            let has = |name: &str| configuration.is_some_and(|all| all.contains(name));
            let due: &[&str] = match found.last().expect("one").as_str() {
                "blosc" => &["cname", "clevel", "shuffle", "typesize", "blocksize"],
                "zstd" => &["level", "checksum"],
                "gzip" => &["level"],
                "bytes" => &["endian"],
                "transpose" => &["order"],
                "sharding_indexed" => &["chunk_shape", "codecs", "index_codecs", "index_location"],
                _ => &[],
            };
            assert!(due.iter().all(|name| has(name)), "{codec:?}");
            for inner in ["codecs", "index_codecs"] {
                lists.extend(configuration.and_then(|all| all.get(inner)).cloned());
            }
        }
    }
    found.sort();
    let all = [
        "blosc",
        "bytes",
        "bytes",
        "crc32c",
        "crc32c",
        "gzip",
        "sharding_indexed",
        "transpose",
        "zstd",
    ];
    assert_eq!(found, all);
    Ok(())
}

/// F-010, F-011, F-013, T-30, T-34, T-41: what may be absent is absent, or has a value; nothing is null.
#[test]
fn nothing_is_null() -> Result<()> {
    let (store, hierarchy) = hierarchy(Dialect::V3)?;
    hierarchy.create_group(path("/g"), Object::new())?;
    hierarchy.create_array(path("/g/a")).shape(&[4]).data_type_named("u1").create()?;
    for key in ["zarr.json", "g/zarr.json", "g/a/zarr.json"] {
        assert!(!text(&store, key).contains("null"), "{key}");
    }
    hierarchy.consolidate()?;
    assert!(!text(&store, "zarr.json").contains("null"));
    let array = document(&store, "g/a/zarr.json");
    assert!(array.get("attributes").is_none_or(|a| a.as_object().is_some()));
    assert!(array.get("storage_transformers").is_none_or(|t| t.as_array().is_some()));
    assert!(!array.contains("dimension_names"));
    Ok(())
}

/// T-41, F-010: a name that two axes have is written if somebody wants it, and whoever does is told.
#[test]
fn axes_of_one_name_are_told_of() -> Result<()> {
    let names = |names: [&str; 2]| names.map(|name| Some(name.to_owned())).to_vec();
    for (named, told) in [(["x", "x"], true), (["x", "y"], false), (["", ""], false)] {
        let (store, hierarchy) = hierarchy(Dialect::V3)?;
        let builder = hierarchy.create_array(path("/a")).shape(&[2, 2]);
        builder.data_type_named("u1").dimension_names(names(named)).create()?;
        let written = document(&store, "a/zarr.json").get("dimension_names").cloned();
        assert_eq!(
            written.expect("names").to_string(),
            format!("[\"{}\",\"{}\"]", named[0], named[1])
        );
        let warnings = hierarchy.warnings();
        assert_eq!(
            warnings.iter().any(|w| w.what.contains("duplicate dimension name")),
            told,
            "{warnings:?}"
        );
    }
    Ok(())
}

/// T-22, F-033, Z2-050: a fraction of zero that others wrote for an integer is read, and not written again.
#[test]
fn integers_lose_their_fraction() -> Result<()> {
    let v3 = r#"{"zarr_format":3,"node_type":"array","shape":[2],"data_type":"int16","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default"},"fill_value":7.0,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#;
    let v2 = r#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<i2","compressor":null,"fill_value":7.0,"order":"C","filters":null}"#;
    for (dialect, name, written) in [(Dialect::V3, "zarr.json", v3), (Dialect::V2, ".zarray", v2)] {
        let key = StoreKey::new(format!("a/{name}"))?;
        let (store, hierarchy) = hierarchy(dialect)?;
        store.to_sync().set(&key, written.as_bytes().into())?;
        let node = hierarchy.node(path("/a"))?;
        zarr::tools::copy(&node, &hierarchy, path("/b"), &CopyOptions::default())?;
        assert_eq!(hierarchy.array(path("/b"))?.read::<i16>(..)?, [7, 7]);
        let copy = document(&store, &format!("b/{name}"));
        assert_eq!(
            copy.get("fill_value").map(ToString::to_string).as_deref(),
            Some("7"),
            "{dialect}"
        );
    }
    Ok(())
}

/// What v2 has no words for is not written as something else.
const REFUSED: &str = "";

/// T-16, F-033, F-034, F-036, Z2-051: integers have no fraction, floats the digits that read back, NaN
/// its name.
#[test]
fn fill_values_are_written_strictly() -> Result<()> {
    for (data_type, given, v3, v2) in [
        ("uint64", "18446744073709551615", "18446744073709551615", "18446744073709551615"),
        ("int64", "-9223372036854775808", "-9223372036854775808", "-9223372036854775808"),
        ("float64", "-0.0", "-0.0", "-0.0"),
        ("float64", "5e-324", "5e-324", "5e-324"),
        ("float64", r#""NaN""#, r#""NaN""#, r#""NaN""#),
        ("float64", r#""-Infinity""#, r#""-Infinity""#, r#""-Infinity""#),
        ("float32", r#""0x7fc00001""#, r#""0x7fc00001""#, REFUSED),
        ("bool", "true", "true", "true"),
        ("complex64", r#"["NaN","Infinity"]"#, r#"["NaN","Infinity"]"#, r#"["NaN","Infinity"]"#),
    ] {
        for (dialect, due) in [(Dialect::V3, v3), (Dialect::V2, v2)] {
            let fill = json(given);
            let build = |builder: ArrayBuilder| builder.data_type_named(data_type).fill_value(fill);
            match member(dialect, "fill_value", build) {
                Ok(found) => {
                    assert_eq!(found.as_deref(), Some(due), "{dialect}: {data_type} {given}")
                }
                Err(error) => assert!(due == REFUSED, "{error}"),
            }
        }
    }
    // Z2-051: one tenth of 32 bits, as numpy widens it.
    let tenth = json("0.1");
    let build = |b: ArrayBuilder| b.data_type_named("float32").fill_value(tenth);
    assert_eq!(member(Dialect::V2, "fill_value", build)?.as_deref(), Some("0.10000000149011612"));
    Ok(())
}

/// Z2-030: the forms that zarr-python 3 reads, and no others.
#[test]
fn data_types_have_their_canonical_form() -> Result<()> {
    for (given, written) in [
        ("bool", "|b1"),
        ("int8", "|i1"),
        ("uint8", "|u1"),
        (">i1", "|i1"),
        ("int16", "<i2"),
        (">i4", ">i4"),
        ("uint64", "<u8"),
        ("float16", "<f2"),
        (">f8", ">f8"),
        ("complex64", "<c8"),
        (">c16", ">c16"),
        ("|S3", "|S3"),
        ("<U2", "<U2"),
        (">U2", ">U2"),
        ("|V3", "|V3"),
        ("<M8[25s]", "<M8[25s]"),
        (">m8[D]", ">m8[D]"),
    ] {
        let found = member(Dialect::V2, "dtype", |b| b.data_type_named(given))?;
        assert_eq!(found, Some(format!("\"{written}\"")), "{given}");
    }
    let records = r#"[["x",">i4"],["y","|i1"]]"#;
    let found = member(Dialect::V2, "dtype", |b| b.data_type_named(records))?;
    assert_eq!(found.as_deref(), Some(records));
    Ok(())
}

/// F-004, F-005: whoever asks for the other kind is told which it is; and which member is missing.
#[test]
fn errors_name_the_kind_and_the_member() -> Result<()> {
    for dialect in [Dialect::V3, Dialect::V2, Dialect::Draft] {
        let (_, hierarchy) = hierarchy(dialect)?;
        hierarchy.create_group(path("/g"), Object::new())?;
        hierarchy.create_array(path("/a")).shape(&[4]).data_type_named("u1").create()?;
        let error = hierarchy.array(path("/g")).expect_err("a group").to_string();
        assert!(error.contains("/g") && error.contains("group"), "{error}");
        let error = hierarchy.group(path("/a")).expect_err("an array").to_string();
        assert!(error.contains("/a") && error.contains("array"), "{error}");
    }
    let (store, hierarchy) = hierarchy(Dialect::V3)?;
    hierarchy.create_array(path("/a")).shape(&[4]).data_type_named("u1").create()?;
    let whole = document(&store, "a/zarr.json");
    for name in ["shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value"] {
        let mut without = whole.clone();
        without.remove(name);
        let key = StoreKey::new("a/zarr.json")?;
        let value = Json::Object(without).to_string();
        store.to_sync().set(&key, value.as_bytes().into())?;
        let error = hierarchy.array(path("/a")).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::InvalidMetadata);
        assert!(error.to_string().contains(name), "{error}");
    }
    Ok(())
}

/// F-115, Z2-091, F-009: what conventions keep among the attributes goes through every change and copy to the
/// letter; `_ARRAY_DIMENSIONS` of v2 are the names of axes elsewhere, and stay, too.
#[test]
fn attributes_of_conventions_stay() -> Result<()> {
    let kept = r#"{"multiscales":[{"version":"0.4","axes":["y","x"]}],"ome":{"version":"0.5"},"zarr_conventions":[{"uuid":"x"}],"proj:code":"EPSG:4326","units":"m","valid_range":[-1e2,1.50],"scale_factor":0.10}"#;
    let attributes = json(kept).as_object().expect("an object").clone();
    let (_, first) = hierarchy(Dialect::V2)?;
    let names = vec![Some("y".to_owned()), Some("x".to_owned())];
    let builder = first.create_array(path("/a")).shape(&[2, 3]).data_type_named("float64");
    let builder = builder.fill_value(json("1.5")).attributes(attributes);
    let array = builder.dimension_names(names.clone()).create()?;
    array.update_attributes(|attributes| drop(attributes.insert("added", true)))?;
    array.resize(&[3, 3])?;
    let dimensions = Json::from(vec![Json::from("y"), Json::from("x")]);
    let mut from = first;
    for dialect in [Dialect::V3, Dialect::Draft, Dialect::V2, Dialect::V3] {
        let (_, target) = hierarchy(dialect)?;
        zarr::tools::copy(&from.node(path("/a"))?, &target, path("/a"), &CopyOptions::default())?;
        let copy = target.array(path("/a"))?;
        assert_eq!(copy.metadata().dimension_names, Some(names.clone()), "{dialect}");
        let mut found = copy.attributes();
        assert_eq!(found.remove("added"), Some(Json::from(true)), "{dialect}");
        // Final v3 has a member of its own for the names.
        let due = (dialect != Dialect::V3).then(|| dimensions.clone());
        assert_eq!(found.remove("_ARRAY_DIMENSIONS"), due, "{dialect}");
        // What v2 says by its fill value, v3 says by an attribute, as xarray spells it.
        let missing = found.remove("_FillValue");
        assert!(
            dialect != Dialect::V3 || missing == Some(Json::from("AAAAAAAA+D8=")),
            "{missing:?}"
        );
        assert_eq!(Json::Object(found).to_string(), kept, "{dialect}");
        assert_eq!(copy.read::<f64>((0, 0))?, [1.5], "{dialect}");
        from = target;
    }
    Ok(())
}

/// T-19, F-036, T-40: a change of the attributes leaves the payload of a NaN, and so does a copy.
#[test]
fn the_payload_of_a_nan_stays() -> Result<()> {
    let (store, hierarchy) = hierarchy(Dialect::V3)?;
    let fill = Json::from("0x7fc00001");
    let builder = hierarchy.create_array(path("/a")).shape(&[2]).data_type_named("float32");
    let array = builder.fill_value(fill.clone()).create()?;
    array.update_attributes(|attributes| drop(attributes.insert("added", true)))?;
    array.resize(&[3])?;
    zarr::tools::copy(
        &hierarchy.node(path("/a"))?,
        &hierarchy,
        path("/b"),
        &CopyOptions::default(),
    )?;
    for key in ["a/zarr.json", "b/zarr.json"] {
        assert_eq!(document(&store, key).get("fill_value"), Some(&fill), "{key}");
    }
    let found = hierarchy.array(path("/b"))?.read::<f32>(..)?;
    assert!(found.iter().all(|value| value.to_bits() == 0x7fc0_0001), "{found:?}");
    Ok(())
}

/// Z2-062, T-02: readers look for a compressor in the last slot, so a filter that is the only codec stands among the
/// filters; a compressor that is the only codec does not.
#[cfg(feature = "full")]
#[test]
fn a_lone_filter_is_no_compressor() -> Result<()> {
    let codecs = [
        ("delta", "int32"),
        ("shuffle:4", "int32"),
        (r#"{"id":"packbits"}"#, "bool"),
        (
            r#"{"id":"fixedscaleoffset","offset":0,"scale":10,"dtype":"<f8","astype":"<i2"}"#,
            "float64",
        ),
        (r#"{"id":"quantize","digits":2,"dtype":"<f8"}"#, "float64"),
        (r#"{"id":"bitround","keepbits":9}"#, "float64"),
        (r#"{"id":"astype","encode_dtype":"<f4","decode_dtype":"<f8"}"#, "float64"),
        (r#"{"id":"categorize","labels":["a"],"dtype":"<U1","astype":"|u1"}"#, "<U1"),
    ];
    let spec = |text: &str| -> Result<_> {
        let Ok(Json::Object(mut object)) = Json::parse(text.as_bytes()) else {
            return zarr::tools::codec(text);
        };
        let id = object.remove("id").and_then(|id| id.as_str().map(str::to_owned));
        Ok(zarr::codec::CodecSpec::new(Dialect::V2, id.expect("an id"), object))
    };
    for (text, data_type) in codecs {
        let build = |name| {
            let codec = spec(text)?;
            member(Dialect::V2, name, |array| array.data_type_named(data_type).codec(codec))
        };
        assert_eq!(build("compressor")?.as_deref(), Some("null"), "{text}");
        let filters = build("filters")?.expect("a list of filters");
        let id = text.split([':', '"']).find(|word| word.len() > 3).expect("a name");
        assert!(filters.starts_with("[{") && filters.contains(id), "{text}: {filters}");
    }
    for name in ["gzip:1", "zlib:1", "zstd:1", "blosc-lz4-shuffle:5", "lz4", "bz2:1", "lzma"] {
        let build = |member_name| {
            let codec = zarr::tools::codec(name)?;
            member(Dialect::V2, member_name, |array| array.data_type_named("int32").codec(codec))
        };
        assert_eq!(build("filters")?.as_deref(), Some("null"), "{name}");
        assert!(build("compressor")?.is_some_and(|json| json.starts_with('{')), "{name}");
    }
    Ok(())
}

/// F-104, T-02: zarr-python demands a configuration of its own codecs, even of those that have no parameters.
#[cfg(feature = "full")]
#[test]
fn numcodecs_codecs_always_have_a_configuration() -> Result<()> {
    for name in ["crc32", "adler32", "fletcher32", "jenkins_lookup3", "lz4", "zlib:1", "shuffle:4"]
    {
        let codec = zarr::tools::codec(name)?;
        let build = |array: ArrayBuilder| array.data_type_named("int32").codec(codec);
        let codecs = json(&member(Dialect::V3, "codecs", build)?.expect("codecs"));
        let mut named = 0;
        for codec in codecs.as_array().expect("a list") {
            let codec = codec.as_object().expect("an object");
            if codec.get("name").and_then(Json::as_str).is_some_and(|n| n.starts_with("numcodecs."))
            {
                named += 1;
                assert!(
                    codec.get("configuration").is_some_and(|c| c.as_object().is_some()),
                    "{name}"
                );
            }
        }
        assert_eq!(named, 1, "{name}");
    }
    Ok(())
}

/// F-013, F-014: what a document said of the nodes below it, in a member that readers may pass over, is not said of a
/// node that is created like it.
#[test]
fn stale_consolidated_metadata_are_not_copied_into_new_documents() -> Result<()> {
    let inline = r#""consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{"gone":{"zarr_format":3,"node_type":"group"}}}"#;
    let (store, hierarchy) = hierarchy(Dialect::V3)?;
    hierarchy.create_group(path("/g"), Object::new())?;
    let array = hierarchy.create_array(path("/g/a")).shape(&[2]).chunks(&[2]);
    array.data_type_named("int16").create()?.write(.., &[1i16, 2])?;
    for at in ["g/zarr.json", "g/a/zarr.json"] {
        let with_copy = text(&store, at).replacen('{', &format!("{{{inline},"), 1);
        let at = StoreKey::new(at).expect("a good key");
        store.to_sync().set(&at, with_copy.into_bytes().into())?;
    }
    let source = Hierarchy::open(store, &OpenOptions::new(zarr::standard()))?;
    for (from, to, documents) in
        [("/g", "/", ["zarr.json", "a/zarr.json"]), ("/g", "/h", ["h/zarr.json", "h/a/zarr.json"])]
    {
        let (copied, target) = self::hierarchy(Dialect::V3)?;
        let node = source.node(path(from))?;
        zarr::tools::copy(&node, &target, path(to), &CopyOptions::default())?;
        assert_eq!(
            target.array(path(&format!("{to}/a").replace("//", "/")))?.read::<i16>(..)?,
            [1, 2]
        );
        for at in documents {
            assert!(!text(&copied, at).contains("gone"), "{at}: {}", text(&copied, at));
        }
    }
    Ok(())
}
