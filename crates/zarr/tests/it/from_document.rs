//! An array whose document the caller has is opened without a call of its store.
#![cfg(all(feature = "memory", feature = "gzip", feature = "sharding"))]

use std::sync::Arc;

use crate::common::{knowing, path};
use zarr::store::{ObservedStore, Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Array, Dialect, ErrorKind, Hierarchy, Json, OpenOptions};
use zarr_testkit::Counters;

/// A store with an array in it, its path, and its document.
fn stored(dialect: Dialect) -> (Arc<dyn Store>, Array, Vec<u8>) {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let format = zarr::format::of_dialect(dialect);
    let hierarchy = Hierarchy::create(store.clone(), format, &knowing()).unwrap();
    let attributes = zarr::Object::new().with("units", "K");
    let array = hierarchy.create_array(path("/g/a")).shape(&[5, 4]).chunks(&[2, 3]);
    let array = array.data_type_named("<i4").attributes(attributes).create().unwrap();
    array.write(.., &(0..20).collect::<Vec<i32>>()).unwrap();
    let key = match dialect {
        Dialect::V2 => "g/a/.zarray",
        Dialect::V3 => "g/a/zarr.json",
        _ => "meta/root/g/a.array.json",
    };
    let document = store.to_sync().value(&StoreKey::new(key).unwrap()).unwrap().unwrap();
    (store, array, document.to_vec())
}

#[test]
fn arrays_of_every_dialect_open_from_their_documents_without_a_call() {
    for dialect in [Dialect::V2, Dialect::V3, Dialect::Draft] {
        let (store, made, document) = stored(dialect);
        let counts = Counters::default();
        let counted = Arc::new(ObservedStore::new(store, counts.clone()));
        let array = Array::from_document(counted, &path("/g/a"), &document, &knowing()).unwrap();
        assert_eq!(counts.total().calls, 0, "{dialect}");
        assert_eq!((array.shape(), array.hierarchy().dialect()), (vec![5, 4], dialect));
        if dialect != Dialect::V2 {
            assert_eq!(array.attributes(), made.attributes());
        }
        assert_eq!(array.read::<i32>((1, 1..3)).unwrap(), [5, 6]);
        array.write((1, 1..3), &[-5, -6]).unwrap();
        assert_eq!(made.read::<i32>((1, ..)).unwrap(), [4, -5, -6, 7]);
        // What others change meanwhile is seen, as by any handle.
        made.resize(&[1, 4]).unwrap();
        assert_eq!(array.write((4, ..), &[0; 4]).unwrap_err().kind(), ErrorKind::Argument);
        array.refresh().unwrap();
        assert_eq!(array.shape(), [1, 4]);
    }
}

#[test]
fn attributes_may_be_in_a_document_of_v2() {
    let (store, made, document) = stored(Dialect::V2);
    let Json::Object(object) = Json::parse(&document).unwrap() else { panic!("an object") };
    let document = Json::Object(object.with("attributes", made.attributes())).to_string();
    let array =
        Array::from_document(store, &path("/g/a"), document.as_bytes(), &knowing()).unwrap();
    assert_eq!(array.attributes().get("units"), Some(&Json::from("K")));
}

#[test]
fn documents_of_no_array_are_errors() {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let open = |document: &[u8], options: &OpenOptions| {
        Array::from_document(store.clone(), &path("/a"), document, options).unwrap_err()
    };
    let group = br#"{"zarr_format": 3, "node_type": "group"}"#;
    assert_eq!(open(group, &knowing()).kind(), ErrorKind::Argument);
    for broken in [&b"[]"[..], b"{", b"", b"{}", br#"{"zarr_format": 7}"#, br#"{"zarr_format": 2}"#]
    {
        let error = open(broken, &knowing());
        assert_eq!(error.kind(), ErrorKind::InvalidMetadata, "{error}");
        assert!(error.to_string().contains("/a"), "{error}");
    }
    let (_, _, v3) = stored(Dialect::V3);
    assert_eq!(open(&v3, &knowing().dialect(Dialect::V2)).kind(), ErrorKind::InvalidMetadata);
}
