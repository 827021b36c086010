//! Migrations write documents of another dialect and touch no chunk; a kill leaves a readable hierarchy, and can be gone on with.
#![cfg(all(feature = "memory", feature = "gzip", feature = "zlib"))]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zarr::format::of_dialect;
use zarr::store::{Call, ObservedStore, Observer, Request, Store, async_trait, from_sync};
use zarr::stores::MemoryStore;
use zarr::tools::{MigrateOptions, Migration, plan_migration};
use zarr::{Dialect, ErrorKind, Hierarchy, Node, OpenOptions, StoreError};

fn writing() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

/// A hierarchy of v2 with groups, names of axes, attributes, chunks that are missing, and consolidated metadata.
fn source() -> (Arc<dyn Store>, Hierarchy) {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let hierarchy = Hierarchy::create(store.clone(), of_dialect(Dialect::V2), &writing()).unwrap();
    hierarchy.root().unwrap().update_attributes(|all| drop(all.insert("n", 1u64))).unwrap();
    for (at, names, codec) in [("/a", &["y", "x"], "gzip:1"), ("/g/h/b", &["t", "x"], "zlib:1")] {
        let builder = hierarchy.create_array(at).shape(&[40, 30]).chunks(&[10, 10]);
        let builder = builder.data_type_named(">i4").dimension_names(*names);
        let array = builder.codec(zarr::tools::codec(codec).unwrap()).create().unwrap();
        array.write((0..25, ..), &(1..=25 * 30).collect::<Vec<i32>>()).unwrap();
    }
    hierarchy.create_array("/g/s").shape(()).chunks(()).data_type_named("<f8").create().unwrap();
    hierarchy.array("/g/s").unwrap().write(.., &[2.5f64]).unwrap();
    hierarchy.consolidate().unwrap();
    (store, hierarchy)
}

fn elements(hierarchy: &Hierarchy) -> BTreeMap<String, Vec<u8>> {
    let nodes = hierarchy.nodes("/").unwrap();
    let arrays = nodes.into_iter().filter_map(|node| match node {
        Node::Array(array) => Some(array),
        Node::Group(_) => None,
    });
    arrays.map(|array| (array.path().to_string(), array.read_bytes(..).unwrap())).collect()
}

fn values(store: &Arc<dyn Store>) -> BTreeMap<String, Vec<u8>> {
    let store = store.to_sync();
    let keys = store.list().unwrap();
    let value = |key: &zarr::store::StoreKey| store.value(key).unwrap().unwrap().to_vec();
    keys.iter().map(|key| (key.to_string(), value(key))).collect()
}

fn is_document(key: &str) -> bool {
    [".json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"].iter().any(|end| key.ends_with(end))
}

fn chunks(store: &Arc<dyn Store>) -> BTreeMap<String, Vec<u8>> {
    values(store).into_iter().filter(|(key, _)| !is_document(key)).collect()
}

fn open(store: &Arc<dyn Store>, dialect: Option<Dialect>) -> Hierarchy {
    Hierarchy::open(store.clone(), &with_dialect(dialect)).unwrap()
}

fn with_dialect(dialect: Option<Dialect>) -> OpenOptions {
    let mut options = writing();
    options.dialect = dialect;
    options
}

fn planned(store: &Arc<dyn Store>, from: Dialect, to: Dialect) -> zarr::Result<Migration> {
    let hierarchy = Hierarchy::open(store.clone(), &with_dialect(Some(from)))?;
    plan_migration(&hierarchy, to, &MigrateOptions::default())
}

#[test]
fn v2_becomes_v3_and_v2_again_and_no_chunk_is_touched() {
    let (store, hierarchy) = source();
    let (before, all) = (values(&store), elements(&hierarchy));
    let migration = planned(&store, Dialect::V2, Dialect::V3).unwrap();
    assert_eq!(migration.nodes(), 6);
    assert_eq!(values(&store), before, "a plan writes nothing");
    migration.write().unwrap();
    for (key, value) in &before {
        assert_eq!(values(&store).get(key), Some(value), "{key}");
    }
    let new = open(&store, None);
    assert_eq!(new.dialect(), Dialect::V3);
    assert!(new.is_consolidated().unwrap());
    assert_eq!(elements(&new), all);
    assert_eq!(elements(&open(&store, Some(Dialect::V2))), all);
    let names = new.array("/a").unwrap().dimension_names().unwrap();
    assert_eq!(names, [Some("y".into()), Some("x".into())]);
    assert_eq!(new.root().unwrap().attributes().get("n"), Some(&1u64.into()));

    planned(&store, Dialect::V2, Dialect::V3).unwrap().remove_old().unwrap();
    assert!(values(&store).keys().all(|key| !is_document(key) || key.ends_with("zarr.json")));
    assert_eq!(elements(&open(&store, None)), all);

    // And back: the keys are still those of v2.
    planned(&store, Dialect::V3, Dialect::V2).unwrap().write().unwrap();
    planned(&store, Dialect::V3, Dialect::V2).unwrap().remove_old().unwrap();
    let back = open(&store, None);
    assert_eq!(back.dialect(), Dialect::V2);
    assert_eq!(elements(&back), all);
    assert_eq!(chunks(&store), before.into_iter().filter(|(key, _)| !is_document(key)).collect());
}

/// Lets the first changes of a store through, and then fails all, as if the process had been killed.
#[derive(Debug)]
struct Killed(AtomicU64);

#[async_trait]
impl Observer for Killed {
    async fn before(&self, request: &Request<'_>) -> Result<(), StoreError> {
        let is_read =
            ["get", "open", "list_prefix", "list_dir", "link"].contains(&request.operation);
        let one_less = |left: u64| left.checked_sub(1);
        if !is_read && self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_err() {
            let dead = std::io::Error::other("the process is dead");
            return Err(StoreError::io("set", request.key)(dead));
        }
        Ok(())
    }

    async fn after(&self, _: &Call<'_>) -> Result<(), StoreError> {
        Ok(())
    }
}

#[test]
fn a_kill_at_any_change_leaves_a_readable_hierarchy_and_is_gone_on_with() {
    let mut finished = [false; 2];
    for removes in [false, true] {
        for changes in 0.. {
            let (store, hierarchy) = source();
            let all = elements(&hierarchy);
            if removes {
                planned(&store, Dialect::V2, Dialect::V3).unwrap().write().unwrap();
            }
            let killed = Killed(AtomicU64::new(changes));
            let dying: Arc<dyn Store> = Arc::new(ObservedStore::new(store.clone(), killed));
            let migration = planned(&dying, Dialect::V2, Dialect::V3).unwrap();
            let done = if removes { migration.remove_old() } else { migration.write().map(drop) };
            // Whatever a reader takes the hierarchy for, it is whole.
            assert_eq!(elements(&open(&store, None)), all, "after {changes} changes");
            if removes && done.is_err() {
                // The old documents are partly gone: the new ones hold.
                assert_eq!(open(&store, None).dialect(), Dialect::V3);
            }
            if !removes {
                planned(&store, Dialect::V2, Dialect::V3).unwrap().write().unwrap();
                assert_eq!(elements(&open(&store, None)), all, "after {changes} changes");
            }
            if done.is_ok() {
                finished[usize::from(removes)] = true;
                break;
            }
            assert!(changes < 100);
        }
    }
    assert_eq!(finished, [true; 2]);
}

fn set(store: &Arc<dyn Store>, key: &str, value: &[u8]) {
    let key = zarr::store::StoreKey::new(key).unwrap();
    store.to_sync().set(&key, value.into()).unwrap();
}

#[test]
fn what_needs_other_chunks_is_refused_by_name_before_anything_is_written() {
    // In v3 the fill value is a value; readers of v2 take it for a missing one.
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    set(&store, "zarr.json", br#"{"zarr_format":3,"node_type":"group"}"#);
    let document = br#"{"zarr_format":3,"node_type":"array","shape":[8],"data_type":"float64",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
        "chunk_key_encoding":{"name":"v2","configuration":{"separator":"."}},"fill_value":7.0,
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"dimension_names":["x"]}"#;
    set(&store, "f/zarr.json", document);
    let hierarchy = open(&store, None);
    let filled = hierarchy.array("/f").unwrap();
    filled.write(0..6, &[1.0; 6]).unwrap();
    let before = values(&store);
    let refused = planned(&store, Dialect::V3, Dialect::V2).expect_err("it is refused");
    assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
    assert!(refused.to_string().contains("/f: 1 chunk"), "{refused}");
    assert_eq!(values(&store), before);

    let options = MigrateOptions { keep_fill: true, ..MigrateOptions::default() };
    let migration = plan_migration(&hierarchy, Dialect::V2, &options).unwrap();
    assert!(migration.notes().iter().any(|note| note.starts_with("/f: ")));
    migration.write().unwrap();
    let copy = open(&store, Some(Dialect::V2)).array("/f").unwrap();
    assert_eq!(copy.read::<f64>(..).unwrap(), filled.read::<f64>(..).unwrap());

    // Keys of v3 are none of v2.
    let v3: Arc<dyn Store> = from_sync(MemoryStore::new());
    let hierarchy = Hierarchy::create(v3.clone(), of_dialect(Dialect::V3), &writing()).unwrap();
    let builder = hierarchy.create_array("/a").shape(&[4]).chunks(&[2]).data_type_named("int8");
    builder.create().unwrap();
    let refused = planned(&v3, Dialect::V3, Dialect::V2).expect_err("it is refused");
    assert!(refused.to_string().contains("/a: its chunks would need other keys"), "{refused}");
}

/// A node that only the consolidated metadata describe is not dropped in silence.
#[test]
fn a_node_without_its_own_document_is_refused() {
    let (store, _) = source();
    let key = zarr::store::StoreKey::new("a/.zarray").unwrap();
    store.to_sync().erase(&key).unwrap();
    let refused = planned(&store, Dialect::V2, Dialect::V3).expect_err("it is refused");
    assert_eq!(refused.path().map(ToString::to_string).as_deref(), Some("/a"), "{refused}");
    assert!(refused.hint().is_some_and(|hint| hint.contains("zarr repair")), "{refused}");
}

/// Documents that were changed after a migration are not erased with the old ones.
#[test]
fn finishing_refuses_documents_that_differ() {
    let (store, hierarchy) = source();
    planned(&store, Dialect::V2, Dialect::V3).unwrap().write().unwrap();
    let array = hierarchy.array("/a").unwrap();
    array.update_attributes(|all| drop(all.insert("late", 1u64))).unwrap();
    let before = values(&store);
    let refused = planned(&store, Dialect::V2, Dialect::V3).unwrap().remove_old().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Exists, "{refused}");
    let hint = refused.hint().unwrap_or_default();
    assert!(hint.contains("`a/zarr.json` (attribute `late`);"), "{hint}");
    assert_eq!(values(&store), before);
}

/// Attributes that were set after a migration stay, if the caller says that the new documents are right.
#[test]
fn finishing_keeps_changes_of_new_documents_if_asked_to() {
    let (store, old) = source();
    let mut options = MigrateOptions::default();
    plan_migration(&old, Dialect::V3, &options).unwrap().write().unwrap();
    let new = open(&store, Some(Dialect::V3));
    new.array("/a").unwrap().update_attributes(|all| drop(all.insert("late", 1u64))).unwrap();
    options.keep_changes = true;
    let migration = plan_migration(&old, Dialect::V3, &options).unwrap();

    // A new document that no reader can open is not left alone.
    let before = values(&store);
    set(&store, "a/zarr.json", br#"{"zarr_format": 3, "node_type": "array"}"#);
    let refused = migration.remove_old().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidMetadata, "{refused}");
    set(&store, "a/zarr.json", &before["a/zarr.json"]);
    assert_eq!(values(&store), before);

    migration.remove_old().unwrap();
    assert!(!values(&store).keys().any(|key| key.contains(".z")), "{:?}", values(&store).keys());
    let array = open(&store, None).array("/a").unwrap();
    assert_eq!(array.attributes().get("late"), Some(&1u64.into()));
}

/// What the new documents cannot have is named, since the old ones are going to be erased.
#[test]
fn losses_are_named_and_netcdf_datasets_refused() {
    let (store, _) = source();
    let group = br#"{"zarr_format": 2, "note": "of another program"}"#;
    set(&store, "g/.zgroup", group);
    set(&store, "a/inner/.zarray", &values(&store)["a/.zarray"].clone());
    let migration = planned(&store, Dialect::V2, Dialect::V3).unwrap();
    let is_named = |what: &str| migration.not_kept().iter().any(|lost| lost.contains(what));
    assert!(is_named("/g: members of its document: `note`"), "{:?}", migration.not_kept());
    assert!(is_named("/a/inner"), "{:?}", migration.not_kept());

    set(&store, ".nczarr", br#"{"zarr_format": 2, "nczarr_version": "1.0.0"}"#);
    let refused = planned(&store, Dialect::V2, Dialect::V3).expect_err("it is refused");
    assert!(refused.hint().is_some_and(|hint| hint.contains("--to nczarr-v3")), "{refused}");
}
