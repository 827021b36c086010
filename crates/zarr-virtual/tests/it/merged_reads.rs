//! V-005: ranges of several keys in one remote target are read together.

use std::sync::Arc;

use zarr_core::store::{
    Bytes, Capabilities, Listing, ObservedStore, Result, Store, StoreKey, StorePrefix, async_trait,
    from_sync,
};
use zarr_core::{Array, Hierarchy, NodePath};
use zarr_testkit::{Counters, Remote};
use zarr_virtual::{Reference, ReferenceStore, Source, Target, capabilities_over};

use crate::common::options;

const CHUNKS: u64 = 1000;
const CHUNK_BYTES: u64 = 100;

/// An array whose chunks are in one target, `distance` bytes from each other.
#[derive(Debug)]
struct Chunks {
    target: Target,
    distance: u64,
}

#[async_trait]
impl Source for Chunks {
    fn name(&self) -> String {
        "chunks::".into()
    }

    fn capabilities(&self) -> Capabilities {
        capabilities_over(self.target.store().capabilities())
    }

    async fn find(&self, key: &StoreKey) -> Result<Option<Reference>> {
        if key.as_str() == "zarr.json" {
            let document = format!(
                r#"{{"zarr_format": 3, "node_type": "array", "shape": [{}], "data_type": "uint8", "fill_value": 0,
                "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [{CHUNK_BYTES}]}}}},
                "chunk_key_encoding": {{"name": "default"}}, "codecs": [{{"name": "bytes"}}]}}"#,
                CHUNKS * CHUNK_BYTES
            );
            return Ok(Some(Reference::Inline(document.into())));
        }
        let Some(number) = key.as_str().strip_prefix("c/").and_then(|n| n.parse::<u64>().ok())
        else {
            return Ok(None);
        };
        let (target, offset) = (self.target.clone(), number * self.distance);
        Ok(Some(Reference::Part { target, offset, length: CHUNK_BYTES }))
    }

    async fn list_dir(&self, _: &StorePrefix) -> Result<Listing> {
        Ok(Listing::default())
    }
}

/// The array over a remote target of `size` bytes, whose byte `n` is `n % 251`, and what counts the requests for the target.
fn array(size: u64, distance: u64) -> (Array, Counters) {
    let key = StoreKey::new("target").unwrap();
    let store: Arc<dyn Store> = from_sync(zarr_stores::MemoryStore::new());
    let bytes: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
    store.to_sync().set(&key, Bytes::from(bytes).into()).unwrap();
    let counters = Counters::default();
    let store = ObservedStore::new(Arc::new(Remote(store)), counters.clone());
    let source = Chunks { target: Target::new(Arc::new(store), key), distance };
    let hierarchy = Hierarchy::open(ReferenceStore::over(source), &options()).unwrap();
    (hierarchy.array(NodePath::root()).unwrap(), counters)
}

fn expected(distance: u64) -> Vec<u8> {
    let chunks = (0..CHUNKS).map(|number| number * distance);
    chunks.flat_map(|start| start..start + CHUNK_BYTES).map(|n| (n % 251) as u8).collect()
}

#[test]
fn near_chunks_share_requests_and_far_ones_do_not() {
    // Beside each other, with a gap that is read along, and with one that is not.
    for (distance, max_requests) in [(100, 100), (5_000, 100), (70_000, 1_000)] {
        let (array, counters) = array(CHUNKS * distance, distance);
        assert!(array.read::<u8>(..).unwrap() == expected(distance));
        let requests = counters.total().calls;
        assert!(0 < requests && requests <= max_requests, "{distance} bytes apart: {counters}");
        assert!(distance < 70_000 || requests == CHUNKS, "{counters}");
    }
}

/// V-004: a chunk beyond the end of the target is an error of its own; it does not harm those that it was read with.
#[test]
fn a_chunk_beyond_the_end_is_an_error_of_its_own() {
    let (array, _) = array(CHUNKS * 200 - 150, 200);
    let all_but_last = (CHUNKS - 1) * CHUNK_BYTES;
    let read = array.read::<u8>(..all_but_last).unwrap();
    assert!(read == expected(200)[..all_but_last as usize]);
    let error = array.read::<u8>(..).unwrap_err().to_string();
    assert!(error.contains("it has 199850 bytes"), "{error}");
}
