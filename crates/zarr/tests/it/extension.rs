//! A third party's extensions work like what is built in, and without them the rest does.
#![cfg(all(feature = "filesystem", feature = "memory", feature = "gzip"))]

use crate::common;
use std::sync::Arc;

use crate::common::{DIALECTS, document, hierarchy, keys, knowing, known, offset, path};
use zarr::codec::CodecSpec;
use zarr::data_type::{CoreType, DataType, Endian, ExtensionType, FillValue, ParsedType, Repr};
use zarr::format::Draft;
use zarr::store::{Payload, Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::tools::CopyOptions;
use zarr::{
    Array, ArrayBuilder, CodecError, Dialect, ErrorKind, Hierarchy, Json, MetadataError, NodePath,
    Object, OpenOptions, Result,
};
use zarr_example_extension::{Cbor, FixedPoint, morton, run_length, unit};

/// Arrays of each part and one of all, by name, each of shape 5 × 7.
fn arrays(hierarchy: &Hierarchy) -> Vec<(&'static str, ArrayBuilder)> {
    let new = |name: &str| {
        let array = hierarchy.create_array(path(name)).shape(&[5, 7]).chunks(&[2, 3]);
        array.fill_value("7").attributes(Object::new().with("name", name))
    };
    let run_length = || CodecSpec::v3(run_length::URI, Object::new());
    let morton = || CodecSpec::v3(morton::URI, Object::new());
    let fixed_point = || FixedPoint::new(8).expect("8 bits");
    let grid = || offset(&[2, 3], &[-3, 4], &[5, 7]);
    let number = |array: ArrayBuilder| array.data_type(CoreType::Int32).fill_value(7i64);
    vec![
        ("codec", number(new("codec")).codec(run_length())),
        ("data type", new("type").data_type(fixed_point())),
        ("chunk grid", number(new("grid")).grid(grid())),
        ("memory layout", number(new("layout")).codec(morton())),
        (
            "all",
            new("all").data_type(fixed_point()).grid(grid()).codec(morton()).codec(run_length()),
        ),
    ]
}

#[test]
fn each_part_writes_and_reads_in_v3_and_the_draft() -> Result<()> {
    for dialect in DIALECTS {
        let (store, hierarchy) = hierarchy(dialect);
        for (what, builder) in arrays(&hierarchy) {
            let array = builder.create()?;
            let fill = if array.data_type() == CoreType::Int32.into() { 7 } else { 7 << 8 };
            assert_eq!(array.read::<i32>(..)?, [fill; 35], "{what}");
            let mut expected: Vec<i32> = (0..35).collect();
            array.write(.., &expected)?;
            array.write((1..4, 2..6), &[fill; 12])?;
            for (at, element) in expected.iter_mut().enumerate() {
                if (1..4).contains(&(at / 7)) && (2..6).contains(&(at % 7)) {
                    *element = fill;
                }
            }
            let again = Hierarchy::open(store.clone(), &knowing())?.array(array.path())?;
            for array in [array, again] {
                assert_eq!(array.read::<i32>(..)?, expected, "{what} in {dialect}");
                assert_eq!(array.read::<i32>((2, 4..7))?, expected[18..21]);
            }
        }
    }
    Ok(())
}

#[test]
fn what_is_not_registered_is_told_and_its_metadata_shown() -> Result<()> {
    for dialect in DIALECTS {
        let (store, hierarchy) = hierarchy(dialect);
        let mut created = Vec::new();
        for (what, builder) in arrays(&hierarchy) {
            let array = builder.create()?;
            array.write(.., &(0..35).collect::<Vec<i32>>())?;
            created.push((what, array.path().clone()));
        }
        let unknowing = Hierarchy::open(store, &OpenOptions::new(zarr::standard()))?;
        assert_eq!(unknowing.tree(NodePath::root())?.len(), 6);
        for (what, path) in created {
            let array = unknowing.array(&path)?;
            assert_eq!(array.shape(), [5, 7]);
            assert_eq!(array.attributes().get("name"), Some(&Json::from(path.name().unwrap())));
            if what == "data type" && dialect == Dialect::Draft {
                // The fallback is read, and the fill value is the fallback's, too.
                assert_eq!(array.read::<i32>(..)?, (0..35).collect::<Vec<i32>>());
                assert_eq!(array.metadata().fill_bytes(), (7i32 << 8).to_ne_bytes());
                assert!(unknowing.warnings().iter().any(|w| w.what.contains("read as `int32`")));
                continue;
            }
            let error = array.read_bytes(..).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            let text = error.to_string();
            assert!(text.contains("https://example.org/zarr/"), "{text}");
            let part = match what {
                "memory layout" if dialect == Dialect::V3 => "codec",
                "all" => "data type",
                part => part,
            };
            // A fallback of the type leaves the grid as the first obstacle.
            let grid = text.contains("chunk grid");
            assert!(text.contains(part) || what == "all" && grid, "{what}: {text}");
        }
    }
    Ok(())
}

#[test]
fn conversions_keep_all_values_in_each_direction() -> Result<()> {
    for (from, to) in [(Dialect::V3, Dialect::Draft), (Dialect::Draft, Dialect::V3)] {
        let ((_a, source), (store, target)) = (hierarchy(from), hierarchy(to));
        let mut created = Vec::new();
        for (what, builder) in arrays(&source) {
            let array = builder.create()?;
            let elements: Vec<i32> = (0..35).map(|n| n * 1000 - 9000).collect();
            array.write((0..4, ..), &elements[..28])?;
            created.push((what, array));
        }
        let all = source.node(NodePath::root())?;
        zarr::tools::copy(&all, &target, NodePath::root(), &CopyOptions::default())?;
        let again = Hierarchy::open(store, &knowing())?;
        for (what, array) in created {
            let copy = again.array(array.path())?;
            assert_eq!(copy.read::<i32>(..)?, array.read::<i32>(..)?, "{what} from {from} to {to}");
            assert_eq!(copy.data_type(), array.data_type(), "{what}");
            assert_eq!(copy.metadata().fill_value, array.metadata().fill_value, "{what}");
            let grid = |array: &Array| array.metadata().grid.as_ref()?.to_metadata(Dialect::V3);
            assert_eq!(grid(&copy), grid(&array), "{what}");
        }
    }
    Ok(())
}

#[test]
fn v2_takes_the_codec_and_equal_chunks_and_refuses_the_rest() -> Result<()> {
    let ((_a, source), (_b, target)) = (hierarchy(Dialect::V3), hierarchy(Dialect::V2));
    for (what, builder) in arrays(&source) {
        let array = builder.create()?;
        array.write(.., &(0..35).collect::<Vec<i32>>())?;
        let node = source.node(array.path())?;
        let copied = zarr::tools::copy(&node, &target, array.path(), &CopyOptions::default());
        match what {
            "codec" | "chunk grid" => {
                copied?;
                let copy = target.array(array.path())?;
                assert_eq!(copy.read::<i32>(..)?, array.read::<i32>(..)?, "{what}");
            }
            _ => assert_eq!(copied.unwrap_err().kind(), ErrorKind::Unsupported, "{what}"),
        }
    }
    Ok(())
}

#[test]
fn copies_go_between_grids() -> Result<()> {
    let (_a, source) = hierarchy(Dialect::V3);
    let (_b, target) = hierarchy(Dialect::Draft);
    let array = source.create_array(path("/a")).shape(&[9, 8]).data_type(CoreType::Int32);
    let array = array.grid(offset(&[4, 3], &[-5, 2], &[9, 8])).create()?;
    let elements: Vec<i32> = (0..72).collect();
    array.write(.., &elements)?;
    let regular = CopyOptions { chunks: Some(vec![5, 5]), ..CopyOptions::default() };
    zarr::tools::copy(&source.node(path("/a"))?, &target, path("/r"), &regular)?;
    let copy = target.array(path("/r"))?;
    assert_eq!(copy.read::<i32>(..)?, elements);
    assert_eq!(copy.chunk_shape(), Some(vec![5, 5]));
    let mut metadata = (*copy.metadata()).clone();
    metadata.grid = Some(offset(&[2, 7], &[1, -1], &[9, 8]));
    let back = source.create_array(path("/b")).from_metadata(metadata).create()?;
    back.write(.., &copy.read::<i32>(..)?)?;
    assert_eq!(source.array(path("/b"))?.read::<i32>(..)?, elements);
    Ok(())
}

#[test]
fn a_hierarchy_in_cbor_is_like_one_in_json() -> Result<()> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let format = Arc::new(Draft::new().encoded(Arc::new(Cbor)));
    let hierarchy = Hierarchy::create(store.clone(), format, &knowing())?;
    for (what, builder) in arrays(&hierarchy) {
        let array = builder.create()?;
        array.write((0..2, ..), &(0..14).collect::<Vec<i32>>())?;
        array.resize(&[6, 7])?;
        let big = Json::Number("18446744073709551615".into());
        array.update_attributes(|attributes| drop(attributes.insert("big", big.clone())))?;
        let again = Hierarchy::open(store.clone(), &knowing())?.array(array.path())?;
        assert_eq!(again.read::<i32>((0..2, ..))?, (0..14).collect::<Vec<i32>>(), "{what}");
        assert_eq!(again.shape(), [6, 7]);
        assert_eq!(again.attributes().get("big"), Some(&big));
        let huge = Json::Number("18446744073709551616".into());
        let refused = array.update_attributes(|a| drop(a.insert("huge", huge.clone())));
        assert!(refused.unwrap_err().to_string().contains("beyond 64 bits"));
        assert_eq!(array.attributes().get("huge"), None);
    }
    hierarchy.create_group(path("/g/h"), Object::new().with("x", 1u64))?;
    let names: Vec<String> = keys(&store).into_iter().filter(|k| k.starts_with("meta")).collect();
    assert!(names.iter().all(|key| key.ends_with(".cbor")), "{names:?}");
    assert_eq!(hierarchy.tree(NodePath::root())?.len(), 8);

    let unknown = Hierarchy::open(store, &OpenOptions::new(zarr::standard())).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Unsupported);
    assert!(unknown.to_string().contains("metadata encoding `https://example.org/zarr/metadata"));

    let (_b, target) = common::hierarchy(Dialect::V3);
    let all = hierarchy.node(NodePath::root())?;
    zarr::tools::copy(&all, &target, NodePath::root(), &CopyOptions::default())?;
    let copy = target.array(path("/all"))?;
    assert_eq!(copy.read::<i32>(..)?, hierarchy.array(path("/all"))?.read::<i32>(..)?);
    Ok(())
}

#[test]
fn an_extension_that_must_be_understood_is() -> Result<()> {
    let (store, hierarchy) = hierarchy(Dialect::Draft);
    hierarchy.create_array(path("/a")).shape(&[2]).data_type(CoreType::Int8).create()?;
    let key = StoreKey::new("meta/root/a.array.json").expect("a good key");
    let plain = document(&store, key.as_str()).to_string();
    let with = |extension: String| {
        let text = plain.replace("\"extensions\":[]", &format!("\"extensions\":[{extension}]"));
        store.to_sync().set(&key, Payload::from(text.as_bytes()))
    };
    let unit = |must: bool, rest: &str| {
        format!(r#"{{"extension":"{}","must_understand":{must}{rest}}}"#, unit::URI)
    };
    for must in [true, false] {
        with(unit(must, r#","configuration":{"unit":"K"}"#)).expect("memory takes it");
        let array = Hierarchy::open(store.clone(), &knowing())?.array(path("/a"))?;
        assert_eq!(array.read::<i8>(..)?, [0, 0]);
        assert_eq!(array.attributes().get("units"), Some(&Json::from("K")));
        let options = OpenOptions::new(zarr::standard());
        let array = Hierarchy::open(store.clone(), &options)?.array(path("/a"))?;
        assert_eq!(array.read::<i8>(..).is_err(), must);
        with(unit(must, "")).expect("memory takes it");
        let error = Hierarchy::open(store.clone(), &knowing())?.array(path("/a")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidMetadata);
    }
    Ok(())
}

#[test]
fn a_pack_is_one_file() -> Result<()> {
    for dialect in [Dialect::V2, Dialect::V3, Dialect::Draft] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("pack://{}", folder.path().join("x.pack").display());
        let hierarchy = zarr::create_with(&url, dialect, &knowing())?;
        let array = hierarchy.create_array(path("/g/a")).shape(&[40, 40]).chunks(&[7, 9]);
        let array =
            array.data_type(CoreType::Float64).codec(zarr::tools::codec("gzip:1")?).create()?;
        let elements: Vec<f64> = (0..1600).map(f64::from).collect();
        array.write(.., &elements)?;
        array.append(0, &elements[..40])?;
        drop((array, hierarchy));
        let node = zarr::open_with(&format!("{url}/g/a"), &knowing());
        let array = match dialect {
            // Only a draft's entry point tells where a hierarchy with such a node begins.
            Dialect::Draft => node?.into_array()?,
            _ => zarr::open_with(&url, &knowing())?.into_group()?.array("g/a")?,
        };
        assert_eq!(array.read::<f64>((..40, ..))?, elements);
        assert_eq!(array.read::<f64>((40, ..))?, elements[..40]);
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 1);
    }
    Ok(())
}

#[test]
fn a_uri_is_a_name_of_a_codec() -> Result<()> {
    let spec = zarr::tools::codec(run_length::URI)?;
    assert_eq!(spec, CodecSpec::v3(run_length::URI, Object::new()));
    let spec = zarr::tools::codec("https://example.org:80/x:5")?;
    assert_eq!(spec.to_string(), r#"https://example.org:80/x {"level":5}"#);
    assert!(zarr::tools::codec("gzip:x").is_err());
    let whole =
        zarr::tools::codec(r#"{"name":"https://example.org/x","configuration":{"a":[1]}}"#)?;
    assert_eq!(whole.to_string(), r#"https://example.org/x {"a":[1]}"#);
    assert_eq!(zarr::tools::codec(r#"{"name":"gzip"}"#)?, CodecSpec::v3("gzip", Object::new()));
    for wrong in ["{", "{}", r#"{"name":1}"#, r#"{"name":"gzip","configuration":5}"#] {
        assert_eq!(zarr::tools::codec(wrong).unwrap_err().kind(), ErrorKind::Argument, "{wrong}");
    }
    Ok(())
}

#[test]
fn elements_of_an_extension_are_those_of_its_representation() -> Result<()> {
    let (_store, hierarchy) = hierarchy(Dialect::V3);
    let eight: DataType = FixedPoint::new(8).expect("8 bits").into();
    let array = hierarchy.create_array(path("/a")).shape(&[2]).data_type(eight).create()?;
    array.write(.., &[384i32, -1])?;
    assert_eq!(array.read::<i32>(..)?, [384, -1]);
    assert_eq!(array.read::<f32>(..).unwrap_err().kind(), ErrorKind::Argument);
    let name = r#"{"name":"https://example.org/zarr/data-type/fixed-point/1.0","configuration":{"fraction_bits":3}}"#;
    let named = hierarchy.create_array(path("/b")).shape(&[2]).data_type_named(name);
    assert_eq!(named.fill_value("0.125").create()?.read::<i32>(..)?, [1, 1]);
    let wrong = hierarchy.create_array(path("/c")).shape(&[2]).data_type_named(name);
    assert!(wrong.fill_value("0.1").create().is_err());
    Ok(())
}

/// A data type of odd numbers.
#[derive(Debug)]
struct Odd;

impl std::fmt::Display for Odd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("odd")
    }
}

impl ExtensionType for Odd {
    fn to_metadata(&self, _: Dialect, _: Endian) -> Option<Json> {
        Some(Object::new().with("name", "https://example.org/odd").into())
    }
    fn repr(&self) -> Repr {
        CoreType::Int8.repr()
    }
    fn fill_value_from_json(&self, _: &Json, _: Dialect) -> Result<FillValue, MetadataError> {
        Ok(FillValue::new([1]))
    }
    fn fill_value_to_json(&self, _: &FillValue, _: Dialect) -> Result<Json, MetadataError> {
        Ok(Json::from(1u64))
    }
    fn needs_check(&self) -> bool {
        true
    }
    fn check(&self, elements: &[u8]) -> Result<(), CodecError> {
        if elements.iter().all(|element| element % 2 == 1) {
            Ok(())
        } else {
            Err(CodecError::corrupt("odd", "an element is even"))
        }
    }
}

#[test]
fn elements_that_are_none_of_the_type_are_not_written() -> Result<()> {
    let registry = known().with(|registry| {
        registry.data_type(|json, _| {
            let name = json.as_object()?.get("name")?.as_str()?;
            let data_type = DataType::Extension(Arc::new(Odd));
            (name == "https://example.org/odd")
                .then_some(Ok(ParsedType { data_type, endian: None }))
        });
    });
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let options = OpenOptions::new(registry).read_write();
    let format = zarr::format::of_dialect(Dialect::V3);
    let hierarchy = Hierarchy::create(store, format, &options)?;
    let odd = hierarchy.create_array(path("/a")).shape(&[2]).fill_value(1i64);
    let odd = odd.data_type(DataType::Extension(Arc::new(Odd)));
    let array = odd.grid(offset(&[2], &[0], &[2])).create()?;
    array.write(.., &[3i8, 5])?;
    assert!(array.write(.., &[3i8, 4]).is_err());
    assert!(array.write_bytes(.., &[3, 4]).is_err());
    assert!(array.append(0, &[4i8]).is_err());
    assert!(array.prepend(0, &[4i8]).is_err());
    assert_eq!(array.read::<i8>(..)?, [3, 5]);
    Ok(())
}

/// D-104.
#[test]
fn a_grid_is_handed_its_own_parameters_alone() -> Result<()> {
    const URI: &str = "https://example.org/zarr/chunk-grid/strict/1.0";
    let registry = zarr::standard().with(|registry| {
        registry.grid(URI, |configuration, shape| {
            let members: Vec<_> = configuration.iter().map(|(member, _)| member).collect();
            assert_eq!(members, ["step"]);
            Ok(Arc::new(zarr::grid::RegularGrid::new(&[1], shape)?))
        });
    });
    for place in [r#""step":1,"separator":"/""#, r#""separator":"/","configuration":{"step":1}"#] {
        let (store, hierarchy) = hierarchy(Dialect::Draft);
        let array = hierarchy.create_array(path("/a")).shape(&[2]).data_type(CoreType::Int8);
        array.create()?;
        let mut document = document(&store, "meta/root/a.array.json").as_object().cloned().unwrap();
        let grid = format!(r#"{{"extension":"{URI}","type":"strict",{place}}}"#);
        document.insert("chunk_grid", Json::parse(grid.as_bytes()).expect("JSON"));
        let key = StoreKey::new("meta/root/a.array.json").expect("a good key");
        let text = Json::from(document).to_string();
        store.to_sync().set(&key, text.into_bytes().into())?;
        let options = OpenOptions::new(registry.clone());
        let array = Hierarchy::open(store, &options)?.array(path("/a"))?;
        assert_eq!(array.chunk_shape(), Some(vec![1]));
    }
    Ok(())
}

fn plain() -> OpenOptions {
    OpenOptions::new(zarr::standard())
}

/// Chunks with names such as `n3x4`.
#[derive(Debug)]
struct Named;

impl zarr::grid::ChunkKeyEncoding for Named {
    fn key(&self, indices: &[i64]) -> String {
        let indices: Vec<String> = indices.iter().map(ToString::to_string).collect();
        format!("n{}", indices.join("x"))
    }

    fn parse(&self, key: &str, _: usize) -> Option<Vec<i64>> {
        let indices: Vec<i64> = key
            .strip_prefix('n')?
            .split('x')
            .map(|part| part.parse().ok())
            .collect::<Option<_>>()?;
        (self.key(&indices) == key).then_some(indices)
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<Json> {
        (dialect == Dialect::V3).then(|| Object::new().with("name", "example.named").into())
    }
}

const V3_ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":0,"codecs":[{"name":"bytes"}],"attributes":{"a":1}}"#;

fn stored(document: &str, chunk: &str) -> Arc<dyn Store> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    for (key, value) in [("zarr.json", document.as_bytes()), (chunk, &[1, 2])] {
        let key = StoreKey::new(key).expect("a good key");
        store.to_sync().set(&key, Payload::new(value)).expect("set");
    }
    store
}

#[test]
fn chunk_keys_are_a_third_partys() -> Result<()> {
    let document = V3_ARRAY.replace(
        r#"{"name":"default","configuration":{"separator":"/"}}"#,
        r#"{"name":"example.named"}"#,
    );
    let store = stored(&document, "n1");
    let unknown = Hierarchy::open(store.clone(), &plain())?.array("/")?;
    let error = unknown.read::<u8>(..).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert_eq!(unknown.shape(), [4]);

    let mut registry = zarr::standard();
    registry.key_encoding("example.named", |_| Ok(zarr::grid::ChunkKeys::registered(Named)));
    let knowing = OpenOptions::new(registry).read_write();
    let hierarchy = Hierarchy::open(store.clone(), &knowing)?;
    let array = hierarchy.array("/")?;
    assert_eq!(array.read::<u8>(..)?, [0, 0, 1, 2]);
    array.write(1..3, &[8u8, 9])?;
    assert_eq!(keys(&store), ["n0", "n1", "zarr.json"]);
    array.resize(&[2])?;
    assert_eq!(keys(&store), ["n0", "zarr.json"]);
    // A copy keeps them where it can.
    let target: Arc<dyn Store> = from_sync(MemoryStore::new());
    let copy = Hierarchy::create(target.clone(), zarr::format::of_dialect(Dialect::V3), &knowing)?;
    zarr::tools::copy(&hierarchy.node("/")?, &copy, "/a", &CopyOptions::default())?;
    assert_eq!(copy.array("/a")?.read::<u8>(..)?, [0, 8]);
    assert!(keys(&target).contains(&"a/n0".to_owned()), "{:?}", keys(&target));
    Ok(())
}

/// A transformer says what the stored objects are in words that are known.
#[test]
fn storage_transformers_are_a_third_partys() -> Result<()> {
    let document = V3_ARRAY.replace(
        "\"fill_value\"",
        "\"storage_transformers\":[{\"name\":\"example.flat\"}],\"fill_value\"",
    );
    let store = stored(&document, "1");
    let unknown = Hierarchy::open(store.clone(), &plain())?.array("/")?;
    assert_eq!(unknown.read::<u8>(..).unwrap_err().kind(), ErrorKind::Unsupported);
    let mut registry = zarr::standard();
    registry.storage_transformer("example.flat", |_, array| {
        array.chunk_keys = zarr::grid::ChunkKeys::V2 { separator: '.' };
        Ok(())
    });
    let array = Hierarchy::open(store, &OpenOptions::new(registry))?.array("/")?;
    assert_eq!(array.read::<u8>(..)?, [0, 0, 1, 2]);
    Ok(())
}

/// A member that is not understood may change what the others mean.
#[test]
fn an_unknown_member_of_a_configuration_leaves_the_metadata_alone_readable() -> Result<()> {
    let changes = [
        (r#""chunk_shape":[2]"#, r#""chunk_shape":[2],"encoded_chunk_shapes":[[1,3]]"#),
        (r#""separator":"/""#, r#""separator":"/","prefix":"x""#),
        (r#"{"name":"bytes"}"#, r#"{"name":"bytes","configuration":{"padding":3}}"#),
        (r#""data_type":"uint8""#, r#""data_type":{"name":"uint8","configuration":{"bias":3}}"#),
        (
            r#""data_type":"uint8""#,
            r#""data_type":{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1,"zone":"UTC"}}"#,
        ),
    ];
    for (old, new) in changes {
        let document = V3_ARRAY.replace(old, new);
        assert_ne!(document, V3_ARRAY, "{old}");
        let store = stored(&document, "c/1");
        let before = keys(&store);
        let array = Hierarchy::open(store.clone(), &plain().read_write())?.array("/")?;
        assert_eq!((array.shape(), array.attributes().len()), (vec![4], 1), "{new}");
        for error in [array.read_bytes(..).unwrap_err(), array.write(1..2, &[7u8]).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{new}: {error}");
        }
        assert_eq!(keys(&store), before);
        let chunk = StoreKey::new("c/1").expect("a good key");
        assert_eq!(store.to_sync().value(&chunk).expect("read").as_deref(), Some(&[1, 2][..]));

        // It is not damaged.
        let (mut problems, mut notes) = (Vec::new(), Vec::new());
        let how = zarr::tools::validate::ValidateOptions::new(zarr::tools::Level::Data);
        let mut found = |problem: &zarr::tools::validate::Problem| {
            let list = if problem.kind.is_note() { &mut notes } else { &mut problems };
            list.push(problem.message.clone());
        };
        zarr::tools::validate::validate_store(&store, "/", &plain(), &how, &mut found)?;
        assert!(problems.is_empty(), "{new}: {problems:?}");
        assert!(notes.iter().any(|note| note.contains("is not supported")), "{new}: {notes:?}");
    }
    Ok(())
}
