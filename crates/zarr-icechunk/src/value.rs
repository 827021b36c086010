//! What keys have in a session, and reading it.

use std::ops::Range;
use std::sync::Arc;

use icechunk::asset_manager::AssetManager;
use icechunk::format::manifest::ChunkPayload;
use icechunk::format::snapshot::{NodeData, NodeSnapshot};
use icechunk::format::{ByteRange as IcechunkRange, ChunkIndices, Path};
use icechunk::session::{Session, SessionError, SessionErrorKind, get_chunk};
use tokio::sync::RwLock;
use zarr_core::StoreError;
use zarr_core::store::{ByteRange, Bytes, Result, Snapshot, StoreKey, Version, async_trait};

use crate::error::failed;
use crate::key::Key;
use crate::runtime::run;

/// What a key has.
#[derive(Clone, Debug)]
pub enum Value {
    Document(Bytes),
    Chunk { path: Path, indices: ChunkIndices, payload: ChunkPayload },
}

impl Value {
    pub fn size(&self) -> u64 {
        match self {
            Value::Document(bytes) => bytes.len() as u64,
            Value::Chunk { payload, .. } => payload.length(),
        }
    }

    /// What tells it from other values: its bytes where they are at hand, otherwise where they are. Each chunk that is written gets an
    /// identifier of its own. The mark tells the two apart.
    pub fn version(&self) -> Version {
        match self {
            Value::Document(bytes) | Value::Chunk { payload: ChunkPayload::Inline(bytes), .. } => {
                Version::of_content(bytes.clone())
            }
            Value::Chunk { payload, .. } => {
                Version::new(format!("{payload:?}").into_bytes()).marked([1, 0, 0, 0])
            }
        }
    }
}

/// The node at a path; `None` if there is none.
pub async fn node_at(session: &Session, path: &Path) -> Result<Option<NodeSnapshot>> {
    match session.get_node(path).await {
        Ok(node) => Ok(Some(node)),
        Err(SessionError { kind: SessionErrorKind::NodeNotFound { .. }, .. }) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// What a key has in a session.
pub async fn find(session: &Session, key: &Key) -> Result<Option<Value>> {
    match key {
        Key::Document(path) => {
            let node = node_at(session, path).await?;
            Ok(node.map(|node| Value::Document(node.user_data)))
        }
        Key::Chunk(path, indices) => {
            // Icechunk compares only as many indices as it is given.
            let node = node_at(session, path).await?;
            if node.and_then(|node| rank(&node)) != Some(indices.0.len()) {
                return Ok(None);
            }
            let payload = session.get_chunk_ref(path, indices).await.map_err(failed)?;
            Ok(payload.map(|payload| Value::Chunk {
                path: path.clone(),
                indices: indices.clone(),
                payload,
            }))
        }
    }
}

/// How many axes a node has, if it is an array.
pub fn rank(node: &NodeSnapshot) -> Option<usize> {
    match &node.node_data {
        NodeData::Array { shape, .. } => Some(shape.len()),
        NodeData::Group => None,
    }
}

/// Reads the values of a session.
#[derive(Clone)]
pub struct Reader {
    pub session: Arc<RwLock<Session>>,
    pub assets: Arc<AssetManager>,
}

impl Reader {
    /// Bytes of a value that was found. `None` if it is a virtual chunk that was replaced since.
    pub async fn read(&self, value: &Value, range: Range<u64>) -> Result<Option<Bytes>> {
        let slice = |bytes: &Bytes| {
            let (start, end) = (range.start as usize, range.end as usize);
            bytes.get(start..end).map(|_| bytes.slice(start..end))
        };
        let (path, indices, payload) = match value {
            Value::Document(bytes) => return Ok(slice(bytes)),
            Value::Chunk { path, indices, payload } => (path, indices, payload),
        };
        if range.is_empty() {
            return Ok(Some(Bytes::new()));
        }
        match payload {
            ChunkPayload::Inline(bytes) => Ok(slice(bytes)),
            ChunkPayload::Ref(chunk) => {
                let range = chunk.offset + range.start..chunk.offset + range.end;
                // The name of the array and the indices are for the repository's statistics.
                let array = path.as_str().trim_start_matches('/');
                let read = self.assets.fetch_chunk(array, &indices.0, &chunk.id, &range).await;
                read.map(Some).map_err(failed)
            }
            // Only the session knows what virtual chunks may lead to.
            _ => {
                let session = self.session.read().await;
                if session.get_chunk_ref(path, indices).await.map_err(failed)?.as_ref()
                    != Some(payload)
                {
                    return Ok(None);
                }
                let range = IcechunkRange::Bounded(range);
                let reader = session.get_chunk_reader(path, indices, &range).await;
                get_chunk(reader.map_err(failed)?).await.map_err(failed)
            }
        }
    }
}

/// A value that was opened. Chunks are never changed in place, so it stays what it was, except of virtual chunks, which are compared.
pub struct OpenValue {
    pub key: StoreKey,
    pub reader: Reader,
    pub value: Value,
}

#[async_trait]
impl Snapshot for OpenValue {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let size = self.value.size();
        let ranges: Vec<_> =
            ranges.iter().map(|range| range.resolve(&self.key, size)).collect::<Result<_>>()?;
        let (reader, value, key) = (self.reader.clone(), self.value.clone(), self.key.to_string());
        run(async move {
            let parts = ranges.into_iter().map(|range| reader.read(&value, range));
            let parts = futures::future::try_join_all(parts).await?.into_iter();
            parts.collect::<Option<Vec<_>>>().ok_or(StoreError::Changed { key })
        })
        .await?
    }

    fn size(&self) -> u64 {
        self.value.size()
    }

    fn version(&self) -> Option<Version> {
        Some(self.value.version())
    }
}
