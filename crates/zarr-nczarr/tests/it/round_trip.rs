//! What is defined and written is read back, in every dialect, profile and store.

use crate::common;
use std::sync::Arc;

use crate::common::{demo, demo_values, document, memory, options, registry, value, write_demo};
use zarr_core::store::Store;
use zarr_core::{Access, Dialect};
use zarr_nczarr::schema::{Filter, Group, Variable};
use zarr_nczarr::{Attribute, Dataset, Dimension, NewDataset, Profile, Type, Values};

/// Checks what a dataset of the worked example says.
fn check(dataset: &Dataset, fixed_time: bool) {
    for (path, _, values) in demo_values() {
        let variable = dataset.variable(path).unwrap();
        assert_eq!(variable.read().unwrap(), values, "{path}");
    }
    let (found, due) = (dataset.schema(), demo());
    assert_eq!(found.attributes, due.attributes);
    let time = found.dimension("/time").unwrap();
    assert_eq!((time.len, time.unlimited), (3, !fixed_time));
    let names = |group: &Group| group.variables.iter().map(|v| v.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&found), names(&due));
    assert_eq!(
        found.variable("/temp").unwrap().attributes,
        due.variable("/temp").unwrap().attributes
    );
    assert_eq!(found.variable("/temp").unwrap().storage.chunks, [2, 2, 2]);
    let temp = &found.variable("/temp").unwrap().storage.filters;
    assert_eq!(*temp, due.variable("/temp").unwrap().storage.filters);
    assert_eq!(found.variable("/g1/id").unwrap().dimensions, ["/g1/station", "/lat"]);
    assert_eq!(found.group("/g1").unwrap().attributes, due.group("/g1").unwrap().attributes);
    assert_eq!(found.variable("/crs").unwrap().dimensions, [""; 0]);
    assert_eq!(found.variable("/code").unwrap().ty, Type::Char);
    assert_eq!(found.variable("/label").unwrap().ty, Type::String);
    assert!(dataset.warnings().is_empty(), "{:?}", dataset.warnings());
}

/// N-003, N-010 … N-012, N-020, N-022, N-036, N-040 … N-043, N-060, N-063: in v2 and v3, in memory, folders, archives and
/// LMDB files.
#[test]
fn the_worked_example_comes_back_from_every_store() {
    let folder = tempfile::tempdir().unwrap();
    let fixed = NewDataset { fixed_strings: true, ..NewDataset::nczarr_v3() };
    for (n, new) in [NewDataset::nczarr_v2(), NewDataset::nczarr_v3(), fixed].iter().enumerate() {
        let places = ["x", "x.zip", "x.lmdb"].map(|name| folder.path().join(format!("{n}{name}")));
        let open = |at: &std::path::Path, access| {
            registry().open_store(&at.display().to_string(), access).unwrap()
        };
        check(&write_demo(memory(), new), false);
        for place in places {
            write_demo(open(&place, Access::ReadWrite), new);
            let dataset = Dataset::open(open(&place, Access::ReadOnly), &options()).unwrap();
            assert_eq!(dataset.profile(), Profile::Nczarr);
            assert_eq!(dataset.dialect(), new.dialect);
            check(&dataset, false);
        }
    }
}

/// N-095, N-096: what plain Zarr cannot say is gone; names and values are not.
#[test]
fn the_pure_profile_keeps_names_and_values() {
    for dialect in [Dialect::V2, Dialect::V3] {
        let store = memory();
        write_demo(store.clone(), &NewDataset::pure(dialect));
        let dataset = Dataset::open(store.clone(), &options()).unwrap();
        assert_eq!(dataset.profile(), Profile::Pure);
        let schema = dataset.schema();
        assert_eq!(schema.variable("/temp").unwrap().dimensions, ["/time", "/lat", "/lon"]);
        assert_eq!(schema.dimension("/time").map(|d| (d.len, d.unlimited)), Some((3, false)));
        // Its scope is its own group (N-092).
        assert_eq!(schema.variable("/g1/id").unwrap().dimensions, ["/g1/station", "/g1/lat"]);
        for (path, _, values) in demo_values() {
            let read = dataset.variable(path).unwrap().read().unwrap();
            // A character is a byte, or a string of one.
            if path != "/code" {
                assert_eq!(read, values, "{dialect} {path}");
            }
        }
        let shared = zarr_nczarr::DatasetOptions { share_dimensions: true, ..options() };
        let dataset = Dataset::open(store.clone(), &shared).unwrap();
        let schema = dataset.schema();
        assert_eq!(schema.variable("/g1/id").unwrap().dimensions, ["/g1/station", "/lat"]);
        let own = store.to_sync().list().unwrap();
        let mut texts = own.iter().filter_map(|key| value(&store, key.as_str()));
        let is_nczarr = |text: Vec<u8>| String::from_utf8_lossy(&text).contains("_nczarr_group");
        assert!(!texts.any(is_nczarr));
    }
}

/// N-090: the drafts, too, have variables with the dimensions that xarray names.
#[test]
fn drafts_are_datasets() {
    let store = memory();
    let dataset = Dataset::create(store.clone(), &NewDataset::pure(Dialect::Draft), &options());
    let root = dataset.unwrap().root();
    root.define_dimension(Dimension::new("x", 3)).unwrap();
    let variable = root.define_variable(&Variable::new("v", Type::Int, ["x"])).unwrap();
    variable.write(vec![1, 2, 3]).unwrap();
    let text = root.define_variable(&Variable::new("s", Type::String, [""; 0])).unwrap();
    text.write(vec!["text".to_owned()]).unwrap();
    let dataset = Dataset::open(store, &options()).unwrap();
    assert_eq!(dataset.dialect(), Dialect::Draft);
    let variable = dataset.variable("v").unwrap();
    assert_eq!(variable.schema().unwrap().dimensions, ["/x"]);
    assert_eq!(variable.read().unwrap(), vec![1, 2, 3].into());
    assert_eq!(dataset.variable("s").unwrap().read().unwrap(), vec!["text".to_owned()].into());
}

/// N-095: a dataset of NCZarr's seen as plain Zarr.
#[test]
fn a_reader_may_look_past_the_documents() {
    let store = memory();
    write_demo(store.clone(), &NewDataset::nczarr_v2());
    let dataset = Dataset::open(store, &options().pure()).unwrap();
    let schema = dataset.schema();
    assert_eq!(dataset.profile(), Profile::Pure);
    assert!(!schema.dimension("/time").unwrap().unlimited);
    assert_eq!(schema.variable("/code").unwrap().ty, Type::String);
    assert_eq!(schema.attribute("level"), Some(&vec![7i32].into()));
    assert_eq!(schema.attribute("_nczarr_group"), None);
}

/// The bytes that netcdf-c stores for the worked example (nczarr.md 14); N-007, N-037.
#[test]
fn documents_and_chunks_are_those_of_netcdf_c() {
    let store = memory();
    write_demo(store.clone(), &NewDataset::nczarr_v2());
    for (key, hex) in [
        ("be/0", "000100020003"),
        ("code/0.0", "616263646500"),
        ("crs/0", "2a000000"),
        ("g1/flags/0", "01ff"),
        ("g1/id/0.0", "010000000000000002000000000000000300000000000000ffffffffffffffff"),
        ("label/0", "6e6f727468000000736f757468776573"),
    ] {
        let found = value(&store, key).unwrap_or_default();
        let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, hex, "{key}");
    }
    assert_eq!(value(&store, "g1/g2/empty/0"), None);
    let time = value(&store, "time/0").unwrap();
    let tail: [u8; 8] = [0, 0, 0, 0, 0, 0, 0x9e, 0x47];
    assert_eq!((time.len(), &time[24..32], &time[4088..]), (4096, &tail[..], &tail[..]));
    let same = |key: &str, member: &str, due: &str| {
        let found = document(&store, key);
        let found = found.as_object().unwrap().get(member).unwrap().to_string();
        assert_eq!(found, due, "{key} {member}");
    };
    same("code/.zarray", "dtype", "\">S1\"");
    same("code/.zarray", "fill_value", "\"\"");
    same("label/.zarray", "dtype", "\"|S8\"");
    same("be/.zarray", "dtype", "\">i2\"");
    same("time/.zarray", "fill_value", "9.969209968386869e+36");
    same("crs/.zarray", "shape", "[1]");
    same("crs/.zattrs", "_ARRAY_DIMENSIONS", "[\"_scalar_\"]");
    let array = r#"{"dimension_references":[],"scalar":1,"storage":"chunked"}"#;
    same("crs/.zattrs", "_nczarr_array", array);
    same("temp/.zarray", "filters", r#"[{"id":"shuffle","elementsize":4}]"#);
    same("temp/.zarray", "compressor", r#"{"id":"zlib","level":4}"#);
    let group = r#"{"dimensions":{"time":{"size":3,"unlimited":1},"lat":2,"lon":3},"arrays":["crs","time","temp","code","label","be"],"groups":["g1"]}"#;
    same(".zattrs", "_nczarr_group", group);
    same(".zattrs", "_nczarr_superblock", r#"{"version":"2.0.0"}"#);
    let provenance =
        concat!("\"version=2,zarr-nczarr=", env!("CARGO_PKG_VERSION"), ",nczarr=2.0.0\"");
    same(".zattrs", "_NCProperties", provenance);
    same(".zattrs", "history", r#"{"step":[1,2]}"#);
    let notes = r#"{"types":{"title":">S1","history":">S1","tags":"|S128","level":"<i1","mask":"<u4","_NCProperties":">S1","_nczarr_group":"|J0","_nczarr_superblock":"|J0","_nczarr_attr":"|J0"}}"#;
    same(".zattrs", "_nczarr_attr", notes);
}

#[test]
fn every_type_and_filter_comes_back() {
    let values: [Values; 12] = [
        vec![-128i8, 127, 0].into(),
        vec![255u8, 0, 1].into(),
        Values::Char(b"a\0z".to_vec()),
        vec![i16::MIN, i16::MAX, 0].into(),
        vec![u16::MAX, 0, 1].into(),
        vec![i32::MIN, i32::MAX, 0].into(),
        vec![u32::MAX, 0, 1].into(),
        vec![i64::MIN, i64::MAX, 0].into(),
        vec![u64::MAX, 0, 1].into(),
        vec![f32::INFINITY, -0.0, 1.5].into(),
        vec![f64::NEG_INFINITY, 1e-300, 0.1].into(),
        vec!["".to_owned(), "é漢".to_owned(), "x".to_owned()].into(),
    ];
    let chains = [
        vec![],
        vec![Filter::Shuffle, Filter::Deflate { level: 3 }, Filter::Fletcher32],
        vec![Filter::Zstd { level: 3 }],
        vec![Filter::Blosc { compressor: "lz4".into(), level: 5, shuffle: 1, block_size: 0 }],
        vec![Filter::Bzip2 { level: 9 }],
        vec![Filter::Fletcher32],
        vec![Filter::Shuffle],
    ];
    for new in [NewDataset::nczarr_v2(), NewDataset::nczarr_v3()] {
        let store: Arc<dyn Store> = memory();
        let dataset = Dataset::create(store.clone(), &new, &options()).unwrap();
        let root = dataset.root();
        root.define_dimension(Dimension::new("x", 3)).unwrap();
        let mut due = Vec::new();
        for (n, chain) in chains.iter().enumerate() {
            for (values, ty) in values.iter().zip(Type::ATOMIC.iter()) {
                let ty = *Type::ATOMIC.iter().find(|t| **t == values.ty()).unwrap_or(ty);
                let name = format!("{}_{n}", ty.name());
                let mut variable = Variable::new(name.as_str(), ty, ["x"]);
                variable.storage.filters = chain.clone();
                variable.storage.default_filters = false;
                variable.storage.endian =
                    (ty.size() > Some(1) && n % 2 == 1).then_some(zarr_nczarr::Endian::Big);
                variable.attributes.push(Attribute::new("of", name.as_str()));
                let variable = root.define_variable(&variable).unwrap();
                variable.write(values.clone()).unwrap();
                due.push((name, values.clone(), chain.clone()));
            }
        }
        let again = Dataset::open(store, &options()).unwrap();
        for (name, values, chain) in due {
            let variable = again.variable(&name).unwrap();
            assert_eq!(variable.read().unwrap(), values, "{name}");
            assert_eq!(variable.schema().unwrap().storage.filters, chain, "{name}");
            assert_eq!(
                variable.schema().unwrap(),
                dataset.variable(&name).unwrap().schema().unwrap()
            );
        }
    }
}

/// N-003: strings of plain v2 are of any length, as xarray writes them, unless a width is said.
#[test]
fn strings_of_plain_v2_have_any_length() {
    let store = common::memory();
    let new = NewDataset::pure(Dialect::V2);
    let dataset = Dataset::create(store.clone(), &new, &common::options()).unwrap();
    dataset.root().define_dimension(Dimension::new("x", 2)).unwrap();
    let texts = vec!["é".repeat(200), String::new()];
    let any = Variable::new("any", Type::String, ["x"]);
    dataset.root().define_variable(&any).unwrap().write(texts.clone()).unwrap();
    let mut wide = Variable::new("wide", Type::String, ["x"]);
    wide.attributes = vec![Attribute::new("_nczarr_maxstrlen", vec![8])];
    assert!(dataset.root().define_variable(&wide).unwrap().write(texts.clone()).is_err());
    let text = |key| common::document(&store, key).to_string();
    assert!(text("any/.zarray").contains(r#""dtype":"|O""#), "{}", text("any/.zarray"));
    assert!(text("any/.zarray").contains("vlen-utf8"), "{}", text("any/.zarray"));
    assert!(text("wide/.zarray").contains(r#""dtype":"|S8""#), "{}", text("wide/.zarray"));
    let read = Dataset::open(store.clone(), &common::options()).unwrap();
    assert_eq!(read.variable("any").unwrap().read().unwrap(), texts.into());
}
