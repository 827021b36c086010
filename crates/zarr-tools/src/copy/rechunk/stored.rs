//! Finds which objects of a source are stored, so that nothing is read where nothing is.

use std::sync::Arc;

use zarr_core::store::{SnapshotOptions, SyncStore};
use zarr_core::{Array, Region, Result};

use super::axis::{Axis, Boxes, ordinals_of};
use crate::errors::at_node;

/// About what a key takes in a listing.
const KEY: u64 = 160;

/// Of more objects than this, the sizes are not looked at one by one.
const MEASURED: usize = 50_000;

/// The objects of an array that are stored.
#[derive(Debug)]
pub(super) struct Stored {
    axes: Vec<Axis>,
    /// A bit for each object, in C order.
    bits: Vec<u64>,
    /// The most bytes that one of them has, if they were looked at.
    pub largest: Option<u64>,
}

impl Stored {
    /// Lists the objects of an array, for regions of one of this shape that begins at `start`; `None` if that would take more than `memory` bytes, or the store is far away or cannot
    /// list.
    pub fn of(array: &Array, start: &[u64], shape: &[u64], memory: u64) -> Result<Option<Stored>> {
        let store = array.hierarchy().store().clone();
        let metadata = array.metadata();
        let (Some(store), Some(grid), None) = (store.as_sync(), &metadata.grid, &metadata.shards)
        else {
            return Ok(None);
        };
        let axes = Axis::all(grid, start, shape);
        let count = axes.iter().fold(1u64, |all, axis| all.saturating_mul(axis.count()));
        if !store.capabilities().list || count == 0 || count.saturating_mul(KEY) > memory {
            return Ok(None);
        }
        let first = array.chunk(&vec![0; axes.len()])?;
        let key = first.key()?;
        let name = metadata.chunk_keys.key(first.indices());
        let Some(prefix) = key.as_str().strip_suffix(&name) else { return Ok(None) };
        let prefix = zarr_core::store::StorePrefix::new(prefix)
            .map_err(|e| at_node(e, array.hierarchy(), array.path()))?;
        let keys = store
            .list_prefix(&prefix)
            .map_err(|e| at_node(e, array.hierarchy(), array.path()))?
            .keys;
        let mut stored = Stored { bits: vec![0; count.div_ceil(64) as usize], axes, largest: None };
        let mut found = Vec::new();
        for key in keys {
            let indices = prefix.strip(&key).and_then(|name| {
                let indices = metadata.chunk_keys.parse(name, stored.axes.len())?;
                stored.axes.iter().zip(indices).map(|(axis, at)| ordinal(axis, at)).collect()
            });
            let indices: Vec<u64> = match indices {
                Some(indices) => indices,
                None => continue,
            };
            let at = stored.bit(&indices);
            stored.bits[at / 64] |= 1 << (at % 64);
            found.push(key);
        }
        if found.len() <= MEASURED {
            stored.largest =
                largest(store, &found).map_err(|e| at_node(e, array.hierarchy(), array.path()))?;
        }
        Ok(Some(stored))
    }

    fn bit(&self, ordinals: &[u64]) -> usize {
        let each = self.axes.iter().zip(ordinals);
        each.fold(0, |at, (axis, &ordinal)| at * axis.count() + ordinal) as usize
    }

    /// Whether an object is stored that has an element of this region.
    pub fn touches(&self, region: &Region) -> bool {
        let ordinals = ordinals_of(&self.axes, region);
        let ones = vec![1; ordinals.len()];
        Boxes::new(ordinals, &ones).any(|found| {
            let at = self.bit(&found.iter().map(|range| range.start).collect::<Vec<_>>());
            self.bits[at / 64] >> (at % 64) & 1 == 1
        })
    }
}

/// The ordinal of the chunk with this index.
fn ordinal(axis: &Axis, index: i64) -> Option<u64> {
    let first = axis.grid.span(axis.axis, 0).index;
    let ordinal = u64::try_from(index.checked_sub(first)?).ok()?;
    (ordinal < axis.count()).then_some(ordinal)
}

/// The size of the largest value.
fn largest(
    store: &Arc<dyn SyncStore>,
    keys: &[zarr_core::store::StoreKey],
) -> Result<Option<u64>, zarr_core::StoreError> {
    let mut largest = None;
    for key in keys {
        let size = store.open(key, SnapshotOptions::default())?.map(|value| value.size());
        largest = largest.max(size);
    }
    Ok(largest)
}
