//! Each rule of GeoZarr's conventions finds what breaks it, and valid metadata break none.
//!
//! zarr-cm 0.5.0 accepts the valid attributes. Of the broken ones it refuses those of GEO-1, GEO-6, GEO-11, GEO-12 and GEO-14, and
//! those of GEO-7 to GEO-9 and GEO-13 whose form is wrong; it does not compare attributes with the nodes, nor with each other.

use std::collections::BTreeSet;
use std::sync::Arc;

use zarr_core::format::of_dialect;
use zarr_core::store::{Store, from_sync};
use zarr_core::{Dialect, Hierarchy, Json, OpenOptions, Registry};
use zarr_stores::MemoryStore;
use zarr_tools::validate::{Level, ValidateOptions, validate_store};

const ENTRIES: &str = r#""zarr_conventions":[
    {"schema_url":"https://raw.githubusercontent.com/zarr-conventions/multiscales/refs/tags/v0.1/schema.json",
     "spec_url":"https://github.com/zarr-conventions/multiscales/blob/v0.1/README.md",
     "uuid":"d35379db-88df-4056-af3a-620245f8e347","name":"multiscales","description":"Multiscale layout of zarr datasets"},
    {"schema_url":"https://raw.githubusercontent.com/zarr-conventions/spatial/refs/tags/v0.1/schema.json",
     "spec_url":"https://github.com/zarr-conventions/spatial/blob/v0.1/README.md",
     "uuid":"689b58e2-cf7b-45e0-9fff-9cfc0883d6b4","name":"spatial","description":"Spatial coordinate information"},
    {"schema_url":"https://raw.githubusercontent.com/zarr-conventions/proj/refs/tags/v0.1/schema.json",
     "spec_url":"https://github.com/zarr-conventions/proj/blob/v0.1/README.md",
     "uuid":"f17cb550-5864-4468-aeb7-f3180cfb622f","name":"proj","description":"Coordinate reference system information for geospatial data"}]"#;
const GROUP: &str = r#""proj:code":"EPSG:32632","spatial:dimensions":["y","x"],
    "multiscales":{"layout":[
    {"asset":"0","spatial:shape":[8,8],"spatial:transform":[10,0,500000,0,-10,4600080]},
    {"asset":"1","derived_from":"0","transform":{"scale":[2.0,2.0],"translation":[0.0,0.0]},
     "spatial:shape":[4,4],"spatial:transform":[20,0,500000,0,-20,4600080]}],"resampling_method":"average"}"#;
const ARRAY: &str = r#""zarr_conventions":[{"uuid":"689b58e2-cf7b-45e0-9fff-9cfc0883d6b4"},
    {"uuid":"f17cb550-5864-4468-aeb7-f3180cfb622f"}],
    "proj:code":"EPSG:32632","spatial:dimensions":["y","x"],"spatial:shape":[8,8],
    "spatial:transform":[10,0,500000,0,-10,4600080],"spatial:bbox":[500000,4600000,500080,4600080],
    "spatial:registration":"pixel""#;

fn options() -> OpenOptions {
    OpenOptions::new(Registry::new().with(zarr_codecs::register)).read_write()
}

/// A group with two levels, whose attributes an edit has changed.
fn hierarchy(dialect: Dialect, edit: &dyn Fn(&str) -> String) -> Arc<dyn Store> {
    let store = from_sync(MemoryStore::new());
    let hierarchy = Hierarchy::create(store.clone(), of_dialect(dialect), &options()).unwrap();
    let attributes = |text: String| match Json::parse(format!("{{{text}}}").as_bytes()).unwrap() {
        Json::Object(object) => object,
        other => panic!("{other}"),
    };
    for (path, len, text) in [("/0/b", 8, edit(ARRAY)), ("/1/b", 4, String::new())] {
        let array = hierarchy.create_array(path).shape(&[2, len, len]).data_type_named("uint8");
        let array = array.dimension_names(["band", "y", "x"]).attributes(attributes(text));
        array.create().unwrap();
    }
    let of_group = attributes(edit(&format!("{ENTRIES},{GROUP}")));
    hierarchy.group("/").unwrap().update_attributes(|it| *it = of_group.clone()).unwrap();
    store
}

fn clauses(store: &Arc<dyn Store>) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    let how = ValidateOptions::new(Level::Meta);
    validate_store(store, "/", &options(), &how, &mut |problem| {
        assert!(problem.kind.name().starts_with("geo_"), "{problem:?}");
        found.insert(problem.clause.unwrap());
    })
    .unwrap();
    found
}

#[test]
fn valid_metadata_break_no_rule() {
    for dialect in [Dialect::V3, Dialect::V2] {
        let store = hierarchy(dialect, &str::to_owned);
        assert_eq!(clauses(&store), BTreeSet::new(), "{dialect}");
    }
    // As GDAL: the group itself is the base, scales have a number for each axis, and `proj` is in the layout only.
    let gdal = |text: &str| {
        text.replace(r#""asset":"0""#, r#""asset":".""#)
            .replace(r#""derived_from":"0""#, r#""derived_from":".""#)
            .replace("[2.0,2.0]", "[1.0,2.0,2.0]")
    };
    assert_eq!(clauses(&hierarchy(Dialect::V3, &gdal)), BTreeSet::new());
    // Nodes, not pixels, of which there is one more than there are steps.
    let nodes = |text: &str| {
        text.replace(r#""pixel""#, r#""node""#)
            .replace("4600000,500080,4600080]", "4600010,500070,4600080]")
    };
    assert_eq!(clauses(&hierarchy(Dialect::V3, &nodes)), BTreeSet::new());
}

#[test]
fn each_rule_finds_what_breaks_it() {
    for (old, new, clause) in [
        (r#""zarr_conventions":[{"#, r#""zarr_conventions":[7,{"#, "GEO-1"),
        (r#""zarr_conventions":[{"#, r#""zarr_conventions":[{"name":"x"},{"#, "GEO-1"),
        (r#""name":"proj","#, r#""name":"proj","version":"0.1","#, "GEO-2"),
        (r#"{"uuid":"689b58e2-cf7b-45e0-9fff-9cfc0883d6b4"},"#, "", "GEO-3"),
        (
            r#","proj:code":"EPSG:32632","spatial:dimensions":["y","x"],
    "multiscales""#,
            r#","spatial:dimensions":["y","x"],
    "multiscales""#,
            "GEO-4",
        ),
        ("proj/refs/tags/v0.1/schema", "proj/refs/tags/v1/schema", "GEO-5"),
        (r#""proj:code":"EPSG:32632""#, r#""proj:code":null"#, "GEO-6"),
        (r#""proj:code":"EPSG:32632""#, r#""proj:code":"32632""#, "GEO-6"),
        (r#""proj:code":"EPSG:32632""#, r#""proj:wkt2":{}"#, "GEO-6"),
        (r#""proj:code":"EPSG:32632""#, r#""proj:projjson":"EPSG:32632""#, "GEO-6"),
        (r#""spatial:dimensions":["y","x"],"spatial:shape""#, r#""spatial:shape""#, "GEO-7"),
        (r#"["y","x"],"spatial:shape""#, r#"["lat","lon"],"spatial:shape""#, "GEO-7"),
        (r#"["y","x"],"spatial:shape""#, r#"["x"],"spatial:shape""#, "GEO-7"),
        (
            "[10,0,500000,0,-10,4600080],\"spatial:bbox\"",
            "[10,0,500000,0,-10],\"spatial:bbox\"",
            "GEO-8",
        ),
        (
            "[10,0,500000,0,-10,4600080],\"spatial:bbox\"",
            "[10,0,500000,0,0,4600080],\"spatial:bbox\"",
            "GEO-8",
        ),
        ("[8,8],\n    \"spatial:transform\"", "[8,9],\n    \"spatial:transform\"", "GEO-9"),
        ("[8,8],\n    \"spatial:transform\"", "[8,0],\n    \"spatial:transform\"", "GEO-9"),
        ("[500000,4600000,500080,4600080]", "[500000,4600000,500070,4600080]", "GEO-10"),
        ("[500000,4600000,500080,4600080]", "[500000,4600080,500080,4600000]", "GEO-10"),
        (r#""pixel""#, r#""middle""#, "GEO-11"),
        (
            r#""layout":[
    {"asset""#,
            r#""layout":[],"other":[
    {"asset""#,
            "GEO-12",
        ),
        (r#"{"asset":"0","#, r#"{"path":"0","#, "GEO-12"),
        (r#"{"asset":"0","#, r#"{"asset":"7","#, "GEO-13"),
        (r#"{"asset":"0","#, r#"{"asset":"../0","#, "GEO-13"),
        (
            r#""derived_from":"0","transform":{"scale":[2.0,2.0],"translation":[0.0,0.0]},"#,
            r#""derived_from":"0","#,
            "GEO-14",
        ),
        ("[2.0,2.0]", "[2.0]", "GEO-15"),
        ("[2.0,2.0]", "[2.0,-2.0]", "GEO-15"),
        ("[20,0,500000,0,-20,4600080]", "[20,0,500000,0,-21,4600080]", "GEO-16"),
    ] {
        let is_there = std::cell::Cell::new(false);
        let edit = |text: &str| {
            is_there.set(is_there.get() || text.contains(old));
            text.replacen(old, new, 1)
        };
        let store = hierarchy(Dialect::V3, &edit);
        assert!(is_there.get(), "{old}");
        assert!(
            clauses(&store).contains(clause),
            "{clause}: {old} -> {new}: {:?}",
            clauses(&store)
        );
    }
}
