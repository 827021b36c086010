//! Sends a chunk of the view: stored bytes where they are v3's, else the chunk encoded anew.

use std::sync::Arc;

use hyper::header::{HeaderName, HeaderValue};
use zarr::store::{Bytes, StoreKey};
use zarr::{ErrorKind, Result};

use super::recode::{WHAT, size};
use super::{ShownArray, View};
use crate::Served;
use crate::budget::Reserved;
use crate::http::{Asking, Content, Value, blocking, raw_value, tag_of_bytes};

/// Says how a chunk of the view was made: `stored` or `recoded`.
const MADE: HeaderName = HeaderName::from_static("x-zarr-view");

impl View {
    /// A chunk; nothing if it is not stored, so that it reads as the fill value.
    ///
    /// # Errors
    /// What kept it from being read, decoded or encoded.
    pub async fn chunk(
        self: &Arc<Self>,
        served: &Served,
        array: &Arc<ShownArray>,
        indices: &[u64],
        asking: &Asking<'_>,
    ) -> Result<Option<Value>> {
        let chunk = match array.source.chunk(indices) {
            Ok(chunk) => chunk,
            // It is outside the grid.
            Err(e) if e.kind() == ErrorKind::Argument => return Ok(None),
            Err(e) => return Err(e),
        };
        if !array.is_stored {
            return self.recoded(served, array, indices).await;
        }
        let stored = if array.source.metadata().shards.is_some() {
            // One object has several chunks.
            let most = size(array).saturating_mul(2);
            let mut memory = self.memory.reserve(most, WHAT).await?;
            let bytes = blocking(move || chunk.encoded()).await?;
            bytes.map(|bytes| {
                memory.shrink(bytes.len() as u64);
                made_here(bytes, memory)
            })
        } else {
            let store = served.store();
            let key = chunk.key()?;
            match raw_value(&*store, &key, asking).await? {
                Some(value) => Some(value),
                None => match other_key(array, &key, chunk.indices())? {
                    Some(key) => raw_value(&*store, &key, asking).await?,
                    None => None,
                },
            }
        };
        match stored {
            Some(mut value) => {
                value.content_type = "application/octet-stream";
                value.headers.push((MADE, HeaderValue::from_static("stored")));
                Ok(Some(value))
            }
            None if array.fills_holes => self.recoded(served, array, indices).await,
            None => Ok(None),
        }
    }

    async fn recoded(
        self: &Arc<Self>,
        served: &Served,
        array: &Arc<ShownArray>,
        indices: &[u64],
    ) -> Result<Option<Value>> {
        let made = self.recode(served, array, indices).await?;
        Ok(made.map(|(bytes, memory)| Value {
            headers: vec![(MADE, HeaderValue::from_static("recoded"))],
            ..made_here(bytes, memory)
        }))
    }
}

/// A chunk that is in memory.
fn made_here(bytes: Bytes, held: Reserved) -> Value {
    Value {
        size: bytes.len() as u64,
        tag: Some(tag_of_bytes(&bytes)),
        content_type: "application/octet-stream",
        piece: 0,
        content: Content::Memory(bytes),
        headers: Vec::new(),
        held,
    }
}

/// Where else a draft's chunk may be.
fn other_key(array: &ShownArray, key: &StoreKey, indices: &[i64]) -> Result<Option<StoreKey>> {
    let metadata = array.source.metadata();
    let (own, other) = (metadata.chunk_keys.key(indices), metadata.chunk_keys.other_key(indices));
    let prefix = key.as_str().strip_suffix(own.as_str());
    Ok(match (prefix, other) {
        (Some(prefix), Some(other)) => Some(StoreKey::new(format!("{prefix}{other}"))?),
        _ => None,
    })
}
