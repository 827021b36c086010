//! The metadata of OME-Zarr images change their version with the dialect: 0.4 in v2, 0.5 in v3. ome-zarr-models accepts both in
//! `specs-conformance/interop/ome_zarr_copies.py`.
#![cfg(all(feature = "memory", feature = "gzip"))]

use std::sync::Arc;

use zarr::format::of_dialect;
use zarr::store::{Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::tools::{CopyOptions, DiffOptions, MigrateOptions, plan_copy, plan_migration};
use zarr::{Dialect, ErrorKind, Hierarchy, Json, Node, Object, OpenOptions};

fn writing(dialect: Option<Dialect>) -> OpenOptions {
    let mut options = OpenOptions::new(zarr::standard()).read_write();
    options.dialect = dialect;
    options
}

fn object(text: &str) -> Object {
    Json::parse(text.as_bytes()).unwrap().as_object().cloned().unwrap()
}

const IMAGE: &str = r#"{"multiscales": [{"version": "0.4", "axes": [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}],
    "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]},
        {"path": "deep/1", "coordinateTransformations": [{"type": "scale", "scale": [2, 2]}]}]}], "operator": "me"}"#;
const NESTED: &str = r#"{"operator": "me", "ome": {"version": "0.5",
    "multiscales": [{"axes": [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}],
    "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]},
        {"path": "deep/1", "coordinateTransformations": [{"type": "scale", "scale": [2, 2]}]}]}]}}"#;

/// An image of 0.4 at `/well/0` of a hierarchy of v2, as writers make it that name no dimensions.
fn source() -> (Arc<dyn Store>, Hierarchy) {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let options = writing(Some(Dialect::V2));
    let hierarchy = Hierarchy::create(store.clone(), of_dialect(Dialect::V2), &options).unwrap();
    for (path, len) in [("/well/0/0", 8), ("/well/0/deep/1", 4)] {
        let builder = hierarchy.create_array(path).shape(&[len, len]).chunks(&[4, 4]);
        let array = builder.data_type_named("<u2").separator('/').create().unwrap();
        let elements: Vec<u16> = (1..=(len * len) as u16).collect();
        array.write(.., &elements).unwrap();
    }
    let well = object(r#"{"well": {"images": [{"path": "0"}], "version": "0.4"}}"#);
    hierarchy.group("/well").unwrap().update_attributes(|all| *all = well.clone()).unwrap();
    let image = object(IMAGE);
    hierarchy.group("/well/0").unwrap().update_attributes(|all| *all = image.clone()).unwrap();
    hierarchy.consolidate().unwrap();
    (store, hierarchy)
}

fn target(dialect: Dialect) -> (Arc<dyn Store>, Hierarchy) {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let options = writing(Some(dialect));
    (store.clone(), Hierarchy::of_format(store, of_dialect(dialect), &options))
}

fn root(hierarchy: &Hierarchy) -> Node {
    hierarchy.node("/").unwrap()
}

/// The members of a JSON document.
fn document(store: &Arc<dyn Store>, key: &str) -> Object {
    let value = store.to_sync().value(&StoreKey::new(key).unwrap()).unwrap();
    let value = value.unwrap_or_else(|| panic!("no {key}"));
    Json::parse(&value).unwrap().as_object().cloned().unwrap()
}

fn attributes(hierarchy: &Hierarchy, path: &str) -> Object {
    hierarchy.node(path).unwrap().attributes()
}

#[test]
fn a_copy_has_the_version_for_its_dialect_and_a_copy_back_is_equal() {
    let (_, old) = source();
    let (store, new) = target(Dialect::V3);
    let told = zarr::tools::copy(&root(&old), &new, "/", &CopyOptions::default()).unwrap();
    assert!(told.not_kept.is_empty(), "{:?}", told.not_kept);
    let [converted] = &told.notes[..] else { panic!("{:?}", told.notes) };
    assert!(converted.contains("from 0.4 to 0.5 in 2 groups (/well, /well/0)"), "{converted}");
    assert!(converted.contains("the dimensions of 2 arrays"), "{converted}");
    assert_eq!(attributes(&new, "/well/0"), object(NESTED));
    for path in ["/well/0/0", "/well/0/deep/1"] {
        let names = new.array(path).unwrap().metadata().dimension_names.clone().unwrap();
        assert_eq!(names, ["y", "x"].map(|name| Some(name.to_owned())), "{path}");
    }
    // Consolidated metadata say the same.
    let document = document(&store, "zarr.json");
    let members = document.get("consolidated_metadata").and_then(Json::as_object).unwrap();
    let members = members.get("metadata").and_then(Json::as_object).unwrap();
    let image = members.get("well/0").and_then(Json::as_object).unwrap();
    assert_eq!(image.get("attributes").and_then(Json::as_object), Some(&object(NESTED)));

    let (_, back) = target(Dialect::V2);
    zarr::tools::copy(&root(&new), &back, "/", &CopyOptions::default()).unwrap();
    for path in ["/well", "/well/0"] {
        assert_eq!(attributes(&back, path), attributes(&old, path), "{path}");
    }
    for (one, other) in [(&old, &new), (&new, &old), (&new, &back)] {
        let diff = zarr::tools::diff(&root(one), &root(other), &DiffOptions::default()).unwrap();
        assert!(diff.is_equal(), "{diff:?}");
    }
    // Another channel name is still a difference.
    let image = back.group("/well/0").unwrap();
    image.update_attributes(|all| drop(all.insert("operator", "you"))).unwrap();
    let diff = zarr::tools::diff(&root(&new), &root(&back), &DiffOptions::default()).unwrap();
    assert_eq!(diff.nodes.len(), 1, "{diff:?}");
}

#[test]
fn an_image_that_is_copied_alone_or_level_by_level_is_converted() {
    let (_, old) = source();
    let (_, new) = target(Dialect::V3);
    zarr::tools::copy(&old.node("/well/0").unwrap(), &new, "/", &CopyOptions::default()).unwrap();
    assert_eq!(attributes(&new, "/"), object(NESTED));
    // The groups above the array name its axes.
    let (_, level) = target(Dialect::V3);
    let options = CopyOptions::default();
    let told =
        zarr::tools::copy(&old.node("/well/0/deep/1").unwrap(), &level, "/a", &options).unwrap();
    assert!(told.notes[0].contains("1 array (/well/0/deep/1)"), "{:?}", told.notes);
    assert!(level.array("/a").unwrap().metadata().dimension_names.is_some());
    let only = CopyOptions { select: vec!["0".into()], ..CopyOptions::default() };
    let (_, some) = target(Dialect::V3);
    zarr::tools::copy(&root(&old), &some, "/", &only).unwrap();
    assert!(some.array("/well/0/0").unwrap().metadata().dimension_names.is_some());
}

#[test]
fn attributes_are_kept_on_request_and_a_copy_under_way_remembers_it() {
    let (_, old) = source();
    let (_, new) = target(Dialect::V3);
    let keep = CopyOptions { keep_attributes: true, parts: Some(2), ..CopyOptions::default() };
    let plan = plan_copy(&root(&old), &new, "/", &keep).unwrap().begin(&new, &keep).unwrap();
    plan.run(&[0], &old, &new, &keep).unwrap();
    let resumed = CopyOptions { resume: true, ..CopyOptions::default() };
    let told = zarr::tools::copy(&root(&old), &new, "/", &resumed).unwrap();
    assert!(told.notes.is_empty(), "{:?}", told.notes);
    assert_eq!(attributes(&new, "/well/0"), object(IMAGE));
    assert_eq!(new.array("/well/0/0").unwrap().metadata().dimension_names, None);
    let diff = zarr::tools::diff(&root(&old), &root(&new), &DiffOptions::default()).unwrap();
    assert!(diff.is_equal(), "{diff:?}");
}

#[test]
fn a_migration_converts_there_and_back() {
    let (store, old) = source();
    let before = (document(&store, "well/.zattrs"), document(&store, "well/0/.zattrs"));
    let plan = |from: Dialect, to: Dialect, keep_attributes: bool| {
        let hierarchy = Hierarchy::open(store.clone(), &writing(Some(from))).unwrap();
        // Names of axes make readers mask the fill value 0 in v2.
        let options = MigrateOptions { keep_attributes, keep_fill: true, ..Default::default() };
        plan_migration(&hierarchy, to, &options).unwrap()
    };
    assert!(plan(Dialect::V2, Dialect::V3, true).notes().is_empty());
    let migration = plan(Dialect::V2, Dialect::V3, false);
    assert!(
        migration.notes()[0].contains("from 0.4 to 0.5 in 2 groups"),
        "{:?}",
        migration.notes()
    );
    migration.write().unwrap();
    let new = Hierarchy::open(store.clone(), &writing(Some(Dialect::V3))).unwrap();
    assert_eq!(attributes(&new, "/well/0"), object(NESTED));
    let diff = zarr::tools::diff(&root(&old), &root(&new), &DiffOptions::default()).unwrap();
    assert!(diff.is_equal(), "{diff:?}");
    // The old documents go only if the new ones are those of the same migration.
    let refused = plan(Dialect::V2, Dialect::V3, true).remove_old().expect_err("it is refused");
    assert_eq!(refused.kind(), ErrorKind::Exists, "{refused}");
    plan(Dialect::V2, Dialect::V3, false).remove_old().unwrap();
    let back = plan(Dialect::V3, Dialect::V2, false);
    back.write().unwrap();
    plan(Dialect::V3, Dialect::V2, false).remove_old().unwrap();
    let after = (document(&store, "well/.zattrs"), document(&store, "well/0/.zattrs"));
    assert_eq!(after, before);
}
