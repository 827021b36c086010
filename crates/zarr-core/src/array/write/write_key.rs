//! Finds the key at which a chunk is written.

use crate::array::chunk_store::{ChunkStore, max_stored_bytes};
use crate::array::layout::ChunkLayout;
use crate::error::{MetadataError, Result};
use crate::grid::ChunkKeys;
use crate::path::NodePath;
use crate::store::{Bytes, StoreKey};

/// The key at which a chunk is written. A draft's scalar keeps the key that it has; the writer's profile has the key of a
/// new one. If it is stored at both, the one that readers pass over is erased (Q2).
pub(in crate::array) async fn write_key(
    store: ChunkStore<'_>,
    layout: &ChunkLayout,
    indices: &[i64],
    chunk_shape: &[u64],
) -> Result<StoreKey> {
    let key = layout.key(indices);
    layout.index_cache().forget(&key);
    let Some(other) = layout.other_key(indices) else { return Ok(key) };
    let (context, limit) =
        (store.context, max_stored_bytes(layout, store.options, Some(chunk_shape)));
    if context.get_at_most(&key, limit).await?.is_some() {
        let erased = context.writeable()?.erase(&other).await;
        erased.map_err(|e| crate::Error::from(e).at_key(&other))?;
        return Ok(key);
    }
    let to_other =
        matches!(layout.metadata().chunk_keys, ChunkKeys::Draft { scalar_at_c0: true, .. });
    let is_other = context.get_at_most(&other, limit).await?.is_some()
        || to_other && !is_of_plain_text(store).await?;
    Ok(if is_other { other } else { key })
}

/// Whether the hierarchy of a draft is one that this library writes in the plain text of 2020: the root group has no
/// document, which the other form always has, and the array's has its members in another order than zarr-python 2.18
/// gives them, which may leave out the root group as well.
async fn is_of_plain_text(store: ChunkStore<'_>) -> Result<bool> {
    let format = &store.context.format;
    for key in format.document_keys(&NodePath::root())? {
        if document(store, &key).await?.is_some() {
            return Ok(false);
        }
    }
    let Some(key) = format.document_keys(store.path)?.into_iter().next() else {
        return Ok(false);
    };
    let Some(document) = document(store, &key).await? else { return Ok(false) };
    let document = format.encoding().decode(&document).map_err(MetadataError::Json)?.0;
    let first = document.as_object().and_then(|members| members.iter().next());
    Ok(first.is_some_and(|(name, _)| name == "shape"))
}

async fn document(store: ChunkStore<'_>, key: &StoreKey) -> Result<Option<Bytes>> {
    let found = store.context.get_at_most(key, store.options.limits.document).await;
    found.map_err(|e| e.at_key(key))
}
