//! Has the elements that a caller gives for chunks: in its own memory, or shared with the threads of the pool.

use std::borrow::Cow;
use std::sync::Arc;

use super::{ArrayCore, FieldBytes, executor};
use crate::element::Element;
use crate::error::Result;
use crate::grid::ChunkProjection;
use crate::var_buffer::VarBuffer;
use crate::view::View;

/// Elements that are written to one chunk, or to several.
pub(super) enum Elements<'a> {
    /// Lent by a caller that may block: its own thread encodes them.
    Lent(View<'a>),
    /// Shared with the threads of the pool, which encode them.
    Shared(Shared),
}

/// Native elements of the shape of a part, in memory that goes to other threads.
#[derive(Clone)]
pub(super) struct Shared {
    pub memory: Arc<dyn Memory>,
    pub var_buffer: Option<Arc<VarBuffer>>,
    pub shape: Vec<u64>,
    pub span: FieldBytes,
    /// Whether no other chunk is written by the same call.
    pub is_alone: bool,
}

/// Memory of native elements.
pub(super) trait Memory: Send + Sync {
    /// The elements, of this shape and size.
    fn view(&self, shape: &[u64], size: usize) -> View<'_>;
}

impl Memory for Vec<u8> {
    fn view(&self, shape: &[u64], size: usize) -> View<'_> {
        View::new(self, shape, size)
    }
}

/// Elements whose Rust type has the memory of native elements.
pub(super) struct Typed<T>(pub Vec<T>);

impl<T: Element> Memory for Typed<T> {
    fn view(&self, shape: &[u64], size: usize) -> View<'_> {
        match T::as_memory(&self.0) {
            Some(Cow::Borrowed(bytes)) => View::new(bytes, shape, size),
            _ => View::new(&[], &[0], size),
        }
    }
}

impl Elements<'_> {
    /// The result of `work` on the elements of a chunk, on the thread that encodes them.
    pub async fn encode<T: Send + 'static>(
        &self,
        core: &ArrayCore,
        tile: &Arc<ChunkProjection>,
        work: impl FnOnce(View<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match self {
            Elements::Lent(elements) => work(elements.clone()),
            Elements::Shared(shared) => {
                let (shared, tile) = (shared.clone(), tile.clone());
                let work = move || {
                    let all = shared.memory.view(&shared.shape, shared.span.size);
                    let mut copy = Vec::new();
                    let all = all.with_var_buffer(shared.var_buffer.as_deref());
                    work(all.select(&tile.output, &mut copy))
                };
                if shared.is_alone {
                    // All threads of the pool may encode parts of it.
                    return executor::elsewhere(work).await;
                }
                executor::on_pool(&core.options, work).await
            }
        }
    }
}
