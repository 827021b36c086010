//! Encodes a chunk of nothing but fill, for stores that replace a value on a condition but cannot erase one so.

use std::sync::{Arc, Mutex};

use zarr_core::store::{
    Capabilities, GetOptions, Got, Payload, Precondition, Result, SnapshotOptions, StoreKey,
    SyncSnapshot, SyncStore, from_sync,
};
use zarr_core::sync::lock;
use zarr_core::{Guard, Hierarchy, NodePath, OpenOptions, Region};

/// The largest chunk that is made, in elements' bytes.
const MAX_FILL_CHUNK_BYTES: u64 = 256 << 20;

/// A key and its value.
type Entry = (StoreKey, Vec<u8>);

/// Takes the one value that is put.
#[derive(Clone, Debug, Default)]
struct Taken(Arc<Mutex<Option<Entry>>>);

impl SyncStore for Taken {
    fn name(&self) -> String {
        "memory://fill".into()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { list: false, ..Capabilities::FULL }
    }

    fn get(&self, _: &StoreKey, _: GetOptions<'_>) -> Result<Option<Got>> {
        Ok(None)
    }

    fn open(&self, _: &StoreKey, _: SnapshotOptions<'_>) -> Result<Option<Box<dyn SyncSnapshot>>> {
        Ok(None)
    }

    fn put(&self, key: &StoreKey, value: Option<Payload<'_>>, _: Precondition<'_>) -> Result<bool> {
        let Some(value) = value else { return Ok(true) };
        let mut bytes = Vec::new();
        for part in value.parts() {
            bytes.extend_from_slice(&part?);
        }
        *lock(&self.0) = Some((key.clone(), bytes));
        Ok(true)
    }
}

/// The bytes of the chunk at `key` of the array at `path`, if all its elements were fill; `None` if they cannot be made.
pub(super) fn fill_chunk(
    hierarchy: &Hierarchy,
    path: &NodePath,
    key: &StoreKey,
    open: &OpenOptions,
) -> Option<Vec<u8>> {
    let metadata = hierarchy.array(path).ok()?.metadata();
    let size = metadata.data_type.repr()?.size() as u64;
    let name = hierarchy.format().chunk_prefix(path).ok()?.strip(key)?.to_owned();
    let indices = metadata.chunk_keys.parse(&name, metadata.rank())?;
    let grid = metadata.grid.as_ref()?;
    let axes = indices.iter().zip(&metadata.shape).enumerate().map(|(axis, (&index, &len))| {
        let span = grid.span(axis, u64::try_from(index).ok()?);
        let is_inside = span.index == index && span.start < len;
        is_inside.then(|| span.start..span.start.saturating_add(span.len).min(len))
    });
    let region = Region::new(axes.collect::<Option<Vec<_>>>()?);
    let bytes =
        region.element_count()?.checked_mul(size).filter(|&bytes| bytes <= MAX_FILL_CHUNK_BYTES)?;
    let fill = metadata.fill_bytes();
    let elements = fill.repeat((bytes as usize).checked_div(fill.len())?);
    let taken = Taken::default();
    let target = Hierarchy::of_format(from_sync(taken.clone()), hierarchy.format().clone(), open);
    let array = target.array_of_metadata(path, metadata.as_ref().clone()).ok()?;
    let array = array.with_options(|options| {
        options.guard = Guard::Off;
        options.keep_fill_chunks = true;
    });
    array.write_bytes(region, &elements).ok()?;
    let (at, bytes) = lock(&taken.0).take()?;
    (at == *key).then_some(bytes)
}
