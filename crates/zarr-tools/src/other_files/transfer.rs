//! Copies and compares files that are not Zarr's, byte for byte, without holding large ones.

use std::sync::Arc;

use zarr_core::store::{
    ByteRange, GetOptions, Payload, SnapshotOptions, StoreKey, SyncSnapshot, SyncStore,
};
use zarr_core::{Error, Result};

/// How many bytes are compared at a time.
const STEP: u64 = 4 << 20;

fn at(store: &dyn SyncStore, key: &StoreKey) -> impl Fn(zarr_core::StoreError) -> Error {
    move |e| Error::from(e).at_store(store.name()).at_key(key)
}

/// Whether a key has a value.
pub(crate) fn is_stored(store: &dyn SyncStore, key: &StoreKey) -> Result<bool> {
    Ok(store.open(key, SnapshotOptions::default()).map_err(at(store, key))?.is_some())
}

/// Copies a value; `false` if there is none. Its parts are read while they are written, where both stores can.
pub(crate) fn copy_file(
    (from, key): (&dyn SyncStore, &StoreKey),
    (to, target): (&dyn SyncStore, &StoreKey),
) -> Result<bool> {
    let value = from.open(key, SnapshotOptions::default()).map_err(at(from, key))?;
    let Some(value) = value else { return Ok(false) };
    if to.capabilities().streams {
        // The size of some is known after a read.
        value.read(&[]).map_err(at(from, key))?;
        let value: Arc<dyn SyncSnapshot> = value.into();
        let payload = Payload::default().and_kept(&value, 0..value.size());
        to.set(target, payload).map_err(at(to, target))?;
        return Ok(true);
    }
    drop(value);
    let got = from.get(key, GetOptions::default()).map_err(at(from, key))?;
    let Some(got) = got else { return Ok(false) };
    let payload = Payload::default().and_shared(got.bytes.unwrap_or_default());
    to.set(target, payload).map_err(at(to, target))?;
    Ok(true)
}

/// Whether two values are equal; one that is absent is equal to none.
pub(crate) fn are_equal(
    (one, key): (&dyn SyncStore, &StoreKey),
    (other, other_key): (&dyn SyncStore, &StoreKey),
) -> Result<bool> {
    let open = |store: &dyn SyncStore, key: &StoreKey| {
        store.open(key, SnapshotOptions::default()).map_err(at(store, key))
    };
    let (Some(a), Some(b)) = (open(one, key)?, open(other, other_key)?) else { return Ok(false) };
    // The size of some is known after a read.
    a.read(&[]).map_err(at(one, key))?;
    b.read(&[]).map_err(at(other, other_key))?;
    let size = a.size();
    if size != b.size() {
        return Ok(false);
    }
    for start in (0..size).step_by(STEP as usize) {
        let range = [ByteRange::Bounded { start, len: STEP.min(size - start) }];
        if a.read(&range).map_err(at(one, key))? != b.read(&range).map_err(at(other, other_key))? {
            return Ok(false);
        }
    }
    Ok(true)
}
