//! Decodes a chunk and encodes it as v3.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use zarr::store::{Bytes, SnapshotOptions};
use zarr::{AccessError, CancelToken, Guard, Result};

use super::cache::CacheKey;
use super::node::rules;
use super::{ShownArray, View};
use crate::Served;
use crate::budget::Reserved;
use crate::http::{Cancels, tag_of_version};

/// How many times the bytes of its elements a chunk takes to be recoded: stored, decoded, transposed, encoded.
const COPIES: u64 = 4;
/// Bytes that an element of variable length is taken to have.
const VARIABLE: u64 = 256;
/// What an error says of a chunk that finds no memory.
pub(super) const WHAT: &str = "the chunk";

impl View {
    /// The bytes of a chunk in v3, and their memory; nothing if all of it is the fill value.
    ///
    /// # Errors
    /// What kept it from being read, decoded or encoded.
    pub(super) async fn recode(
        self: &Arc<Self>,
        served: &Served,
        array: &Arc<ShownArray>,
        indices: &[u64],
    ) -> Result<Option<(Bytes, Reserved)>> {
        let sources = sources(served, array, indices).await?;
        let key = sources.map(|sources| CacheKey {
            name: served.name().to_owned(),
            array: array.source.path().clone(),
            chunk: indices.to_vec(),
            sources,
            described: described(array),
        });
        if let Some(known) = key.as_ref().and_then(|key| self.cache.get(key)) {
            return self.held(known).await;
        }
        let cancel = CancelToken::new();
        let _cancels = Cancels(cancel.clone());
        let (of_call, of_chunk, options) =
            (array.clone(), indices.to_vec(), served.options().clone());
        let most = size(array).saturating_mul(COPIES);
        let memory = async || self.memory.reserve(most, WHAT).await;
        let (view, of_cache) = (self.clone(), key.clone());
        let working = self.workers.run(memory, move |mut memory: Reserved| {
            // Another request may have made it in the meantime.
            let known = of_cache.as_ref().and_then(|key| view.cache.get(key));
            let made = match known {
                Some(known) => Ok(known),
                None => {
                    view.metrics.recoded.fetch_add(1, Ordering::Relaxed);
                    made(&of_call, &of_chunk, &rules(&options), &cancel)
                }
            };
            memory.shrink(made.as_ref().ok().and_then(Option::as_ref).map_or(0, Bytes::len) as u64);
            made.map(|made| (made, memory))
        });
        let made = working.await?;
        let (made, memory) = made.ok_or(AccessError::Cancelled)??;
        if let Some(key) = key {
            self.cache.put(key, made.clone());
        }
        Ok(made.map(|made| (made, memory)))
    }

    /// A chunk of the cache, and memory for it: the cache may drop it before it is sent.
    async fn held(&self, known: Option<Bytes>) -> Result<Option<(Bytes, Reserved)>> {
        let Some(bytes) = known else { return Ok(None) };
        let memory = self.memory.reserve(bytes.len() as u64, WHAT).await?;
        Ok(Some((bytes, memory)))
    }
}

/// Reads a chunk of v3 from the source, and encodes it.
fn made(
    array: &ShownArray,
    indices: &[u64],
    rules: &zarr::Hierarchy,
    cancel: &CancelToken,
) -> Result<Option<Bytes>> {
    let source = array.source.with_options(|options| {
        options.cancel = Some(cancel.clone());
        options.threads = 1;
    });
    let target = rules.array_of_metadata(source.path(), array.metadata.clone())?;
    let target = target.with_options(|options| {
        options.cancel = Some(cancel.clone());
        options.threads = 1;
        options.guard = Guard::Off;
    });
    let chunk = target.chunk(indices)?;
    let elements = source.read_bytes(chunk.region())?;
    target.write_bytes(chunk.region(), &elements)?;
    chunk.encoded()
}

/// Bytes of the elements of a chunk.
pub(super) fn size(array: &ShownArray) -> u64 {
    let metadata = &array.metadata;
    let element = match metadata.data_type.repr() {
        Some(repr) if !metadata.data_type.is_variable() => repr.size() as u64,
        _ => VARIABLE,
    };
    let elements = zarr::region::element_count(&metadata.chunk_extent()).unwrap_or(u64::MAX);
    // Of the source whole chunks are decoded.
    let of_source =
        zarr::region::element_count(&array.source.metadata().chunk_extent()).unwrap_or(u64::MAX);
    elements.max(of_source).saturating_mul(element)
}

/// The tags of the objects of which a chunk is made; nothing if a store cannot tell versions apart, so that nothing can be kept.
async fn sources(
    served: &Served,
    array: &ShownArray,
    indices: &[u64],
) -> Result<Option<Vec<Option<String>>>> {
    let stored = array.source.metadata();
    if stored.shards.is_some() || stored.chunk_keys.other_key(&vec![0; stored.rank()]).is_some() {
        // An object has several chunks, or a chunk several keys.
        return Ok(None);
    }
    let target =
        rules(served.options()).array_of_metadata(array.source.path(), array.metadata.clone())?;
    let region = target.chunk(indices)?.region().clone();
    let mut tags = Vec::new();
    let keys: Result<Vec<_>> = array.source.chunks(&region)?.map(|chunk| chunk.key()).collect();
    for key in keys? {
        let opened = served.store().open(&key, SnapshotOptions::default()).await?;
        let Some(opened) = opened else {
            tags.push(None);
            continue;
        };
        if opened.version().is_none() {
            opened.read(&[]).await?;
        }
        match opened.version() {
            Some(version) => tags.push(Some(tag_of_version(&version))),
            None => return Ok(None),
        }
    }
    Ok(Some(tags))
}

/// A hash of how the elements are stored, and how they are to be.
fn described(array: &ShownArray) -> u64 {
    let mut hasher = DefaultHasher::new();
    array.document.hash(&mut hasher);
    let stored = array.source.metadata();
    format!("{:?} {:?} {:?} {:?}", stored.data_type, stored.codecs, stored.grid, stored.fill_value)
        .hash(&mut hasher);
    hasher.finish()
}
