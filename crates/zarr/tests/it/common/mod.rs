//! A hierarchy in memory, and a registry that knows the example's extensions.

#![cfg(feature = "memory")]
#![allow(dead_code, reason = "each test file uses its own part")]

pub mod harm;
pub mod selections;

use std::sync::Arc;

use zarr::grid::ChunkGrid;
use zarr::store::{Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Dialect, Hierarchy, Json, NodePath, OpenOptions, Registry};
use zarr_example_extension::OffsetGrid;

pub const DIALECTS: [Dialect; 2] = [Dialect::V3, Dialect::Draft];

pub fn known() -> Registry {
    zarr::standard().with(zarr_example_extension::register)
}

pub fn knowing() -> OpenOptions {
    OpenOptions::new(known()).read_write()
}

pub fn path(text: &str) -> NodePath {
    NodePath::new(text).expect("a good path")
}

/// A new hierarchy in memory, and its store.
pub fn hierarchy(dialect: Dialect) -> (Arc<dyn Store>, Hierarchy) {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let format = zarr::format::of_dialect(dialect);
    let hierarchy = Hierarchy::create(store.clone(), format, &knowing()).expect("a new hierarchy");
    (store, hierarchy)
}

pub fn offset(chunks: &[u64], origin: &[i64], shape: &[u64]) -> Arc<dyn ChunkGrid> {
    Arc::new(OffsetGrid::new(chunks, origin, shape).expect("a good grid"))
}

pub fn keys(store: &Arc<dyn Store>) -> Vec<String> {
    let keys = store.to_sync().list().expect("memory lists");
    keys.iter().map(ToString::to_string).collect()
}

pub fn document(store: &Arc<dyn Store>, key: &str) -> Json {
    let key = StoreKey::new(key).expect("a good key");
    let bytes = store.to_sync().value(&key).expect("readable").expect("there");
    Json::parse(&bytes).expect("a document")
}
