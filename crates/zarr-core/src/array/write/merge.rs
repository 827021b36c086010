//! Decides whether a write needs the stored chunk, and merges elements into it.

use std::borrow::Cow;
use std::sync::Arc;

use super::elements::Elements;
use super::encode::{encode, pad_edge_chunk};
use super::swap::{Edited, whole};
use crate::array::chunk_store::{ChunkStore, decode_limited, read_error};
use crate::array::element_memory::zeroed;
use crate::array::encode_threads::encode_threads;
use crate::array::layout::{ChunkLayout, FieldBytes};
use crate::codec::{PartialWrite, SplicePart};
use crate::error::Result;
use crate::grid::ChunkProjection;
use crate::options::{Guard, Options};
use crate::selection::ResolvedSelection;
use crate::store::{Bytes, Capabilities, Snapshot};
use crate::var_buffer::VarBuffer;
use crate::view::{View, ViewMut};

/// Whether a chunk may not be set without a look at the stored one, since some of its elements are to stay. An edge chunk is
/// such: another writer may have made the array longer, and put elements where this handle sees only overhang. So is one of
/// which one field of records is written.
pub(super) fn needs_stored_chunk(
    projection: &ChunkProjection,
    span: FieldBytes,
    guard: Guard,
) -> bool {
    let covers = projection.covers_stored_chunk() || projection.whole && guard == Guard::Off;
    !(span.is_whole() && covers)
}

/// Whether a chunk can be erased without loss of what another writer did concurrently
/// (docs/internals/design/concurrency.md).
pub(super) fn can_erase(store: ChunkStore<'_>) -> bool {
    let Capabilities { swap, swap_erase, .. } = store.store().capabilities();
    store.options.guard == Guard::Off || !swap || swap_erase
}

/// Whether a chunk is stored although a part made it all fill.
fn keeps_fill(store: ChunkStore<'_>, layout: &ChunkLayout) -> bool {
    store.options.keep_fill_chunks || layout.metadata().fill_value.is_none() || !can_erase(store)
}

/// The bytes of a stored chunk that a change needs.
enum ExistingChunk {
    /// All of it; `None` if it is not stored.
    Whole(Option<Bytes>),
    /// Only those that the codecs need.
    Parts(PartialWrite),
}

/// The stored chunk with elements merged into the `span` of each.
pub(super) async fn merge(
    store: ChunkStore<'_>,
    layout: &ChunkLayout,
    projection: &Arc<ChunkProjection>,
    span: FieldBytes,
    elements: &Elements<'_>,
    old: Option<Arc<dyn Snapshot>>,
) -> Result<Edited> {
    let options = store.options;
    options.check_cancelled()?;
    let existing = existing_chunk(layout, options, projection, span, old.as_deref()).await?;
    let keep_fill = keeps_fill(store, layout);
    let layout = layout.clone();
    let owned_options = options.clone();
    let here = projection.clone();
    let merged = elements.encode(options, projection, move |part| {
        decode_limited(&owned_options, || {
            merge_into_chunk(&layout, &owned_options, &here, span, existing, &part, keep_fill)
        })
    });
    let edited = match merged.await? {
        Some(parts) => Edited::spliced(parts, old).await?,
        None => Edited::Erase,
    };
    options.check_cancelled()?;
    Ok(edited)
}

/// The bytes of a stored chunk that are needed to merge a part into the `span` of each element.
async fn existing_chunk(
    layout: &ChunkLayout,
    options: &Options,
    projection: &ChunkProjection,
    span: FieldBytes,
    old: Option<&dyn Snapshot>,
) -> Result<ExistingChunk> {
    let chain = &layout.chunks().chain;
    let shape = &projection.chunk_shape;
    if span.is_whole()
        && let Some(mut write) =
            decode_limited(options, || chain.edit(shape, &projection.within, old.is_some()))
    {
        while let needs @ [_, ..] = &write.needs()[..] {
            let bytes = match old {
                Some(old) => old.read(needs).await.map_err(read_error)?,
                None => Vec::new(),
            };
            decode_limited(options, || write.supply(bytes))?;
        }
        return Ok(ExistingChunk::Parts(write));
    }
    whole(old).await.map(ExistingChunk::Whole)
}

/// The parts of a chunk with `part` merged into it, into the `span` of each element; `None` if the chunk need not be stored.
fn merge_into_chunk(
    layout: &ChunkLayout,
    options: &Options,
    projection: &ChunkProjection,
    span: FieldBytes,
    existing: ExistingChunk,
    part: &View<'_>,
    keep_fill: bool,
) -> Result<Option<Vec<SplicePart>>> {
    let shape = &projection.chunk_shape;
    let size = layout.chunks().repr.size();
    // The old elements are in a variable-length buffer that is dropped after this attempt.
    let var_buffer = part.var_buffer().map(VarBuffer::fork);
    let var_buffer = var_buffer.as_ref();
    let old = match existing {
        ExistingChunk::Parts(write) => {
            let part = part.clone().with_var_buffer(var_buffer);
            let splice = write.apply(&part, encode_threads(options, part.size()))?;
            let is_erased = splice.is_fill && !keep_fill;
            return Ok((!is_erased).then_some(splice.parts));
        }
        ExistingChunk::Whole(old) => old,
    };
    let chunk = match old {
        None => pad_edge_chunk(layout, projection, part, span)?,
        Some(old) => {
            let mut chunk = zeroed(shape, size, "a chunk")?;
            let mut view = ViewMut::new(&mut chunk, shape, size).with_var_buffer(var_buffer);
            let old = Cow::Borrowed(&old[..]);
            let all = ResolvedSelection::all(shape);
            layout.chunks().chain.decode_into(old, shape, &all, view.reborrow())?;
            view.span(span.offset, span.size).scatter(&projection.within, part);
            chunk
        }
    };
    let view = View::new(&chunk, shape, size).with_var_buffer(var_buffer);
    if !keep_fill && layout.is_fill(&view) {
        return Ok(None);
    }
    Ok(Some(vec![SplicePart::New(encode(options, layout, view)?.into_owned())]))
}
