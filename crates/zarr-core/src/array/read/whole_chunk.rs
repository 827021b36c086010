//! Fetches all bytes of a chunk: from its one key, from one of two, or out of an object that it shares with others.

use bytes::Bytes;

use super::storage_transformer::Shard;
use crate::array::chunk_store::{ChunkStore, max_stored_bytes};
use crate::array::layout::ChunkLayout;
use crate::error::{Error, Result};
use crate::store::StoreKey;

/// Fetches an encoded chunk, of `shape` if that is known, from the key at which it is stored.
pub(super) async fn fetch_whole(
    store: ChunkStore<'_>,
    layout: &ChunkLayout,
    indices: &[i64],
    shape: Option<&[u64]>,
) -> Result<Option<(StoreKey, Bytes)>> {
    let readable = store.store().readable()?;
    let limit = max_stored_bytes(layout, store.options, shape);
    if let Some(per_shard) = &layout.metadata().shards {
        let shard = Shard::new(indices, per_shard);
        let key = layout.key(&shard.indices);
        let at_chunk = |e: Error| e.at_chunk(indices).at_key(&key);
        let object = readable.get_at_most(&key, limit).await.map_err(|e| at_chunk(e.into()))?;
        let Some(object) = object else { return Ok(None) };
        let chunk = shard.chunk(&object).map_err(|e| at_chunk(e.into()))?;
        return Ok(chunk.map(|bytes| (key, bytes)));
    }
    let (first, other) = (layout.key(indices), layout.other_key(indices));
    for key in [Some(&first), other.as_ref()].into_iter().flatten() {
        let at_chunk = |e: Error| e.at_chunk(indices).at_key(key);
        let found = readable.get_at_most(key, limit).await.map_err(|e| at_chunk(e.into()))?;
        let Some(bytes) = found else { continue };
        if let (Some(other), true) = (&other, *key == first) {
            warn_if_stored_twice(store, key, other).await.map_err(at_chunk)?;
        }
        return Ok(Some((key.clone(), bytes)));
    }
    Ok(None)
}

/// Warns if a chunk that is stored at `key` is stored at `other`, too (V07c).
async fn warn_if_stored_twice(
    store: ChunkStore<'_>,
    key: &StoreKey,
    other: &StoreKey,
) -> Result<()> {
    if store.context.size(other).await?.is_some() {
        let warning =
            format!("the same chunk is stored at `{key}` and at `{other}`; using the first");
        store.context.warn(store.path.as_str(), vec![warning]);
    }
    Ok(())
}
