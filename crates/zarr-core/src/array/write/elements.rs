//! Has the elements that a caller gives for chunks: in its own memory, or shared with the threads of the pool.

use std::sync::Arc;

use crate::array::layout::FieldBytes;
use crate::error::Result;
use crate::grid::ChunkProjection;
use crate::options::Options;
use crate::runtime::pool;
use crate::var_buffer::VarBuffer;
use crate::view::View;

/// Elements that are written to one chunk, or to several.
pub(super) enum Elements<'a> {
    /// Lent by a caller that may block: its own thread encodes them.
    Lent(View<'a>),
    /// Shared with the threads of the pool, which encode them.
    Shared(SharedElements),
}

/// Native elements of the shape of a part, in memory that goes to other threads.
#[derive(Clone)]
pub(super) struct SharedElements {
    pub memory: Arc<dyn Memory>,
    pub var_buffer: Option<Arc<VarBuffer>>,
    pub shape: Vec<u64>,
    pub span: FieldBytes,
    /// Whether no other chunk is written by the same call.
    pub is_alone: bool,
}

impl SharedElements {
    /// The result of `work` on the elements of a chunk.
    fn lend<T>(&self, projection: &ChunkProjection, work: impl FnOnce(View<'_>) -> T) -> T {
        let all = self.memory.view(&self.shape, self.span.size);
        let all = all.with_var_buffer(self.var_buffer.as_deref());
        let mut copy = Vec::new();
        work(all.select(&projection.output, &mut copy))
    }
}

/// Memory of native elements.
pub(in crate::array) trait Memory: Send + Sync {
    /// The elements, of this shape and size.
    fn view(&self, shape: &[u64], size: usize) -> View<'_>;
}

impl Memory for Vec<u8> {
    fn view(&self, shape: &[u64], size: usize) -> View<'_> {
        View::new(self, shape, size)
    }
}

impl Elements<'_> {
    /// The result of `work` on the elements of a chunk, on the thread that encodes them.
    pub async fn encode<T: Send + 'static>(
        &self,
        options: &Options,
        projection: &Arc<ChunkProjection>,
        work: impl FnOnce(View<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match self {
            Elements::Lent(elements) => work(elements.clone()),
            Elements::Shared(shared) => {
                let shared = shared.clone();
                let projection = projection.clone();
                if shared.is_alone {
                    // All threads of the pool may encode parts of it.
                    return pool::spawn_blocking(move || shared.lend(&projection, work)).await;
                }
                pool::on_pool(options, move || shared.lend(&projection, work)).await
            }
        }
    }
}
