//! One call that reads: it counts the chunks that are done, looks for the array's document where none of them is stored, and
//! begins to read ahead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;

use super::cells::Cells;
use super::chunk_store::ChunkStore;
use super::element_memory::allocate;
use super::read::{Reader, ReadingOrder, read_ahead};
use super::request::Request;
use super::stale_handle::{check_not_gone, missing_or_gone};
use crate::control::Counter;
use crate::data_type::Repr;
use crate::element::Element;
use crate::error::{MetadataError, Result};
use crate::grid::chunk_projections;
use crate::memory::NewElements;
use crate::var_buffer::{VAR_REF_SIZE, VarBuffer};
use crate::view::ViewMut;
use crate::view::output::Output;

/// What a call that reads needs of its array.
#[derive(Clone, Copy)]
pub(super) struct ReadCall<'a> {
    pub store: ChunkStore<'a>,
    pub order: &'a ReadingOrder,
    /// Whether the store is known to have had the array's document.
    pub was_stored: &'a AtomicBool,
}

impl<'a> ReadCall<'a> {
    /// Reads native elements into memory with any strides that has the shape of the request's part. Where the store is local,
    /// the calling thread must be one that may block.
    pub fn read<'s>(
        self,
        request: &'s Request,
        out: Output<'s>,
        var_buffer: Option<&'s Arc<VarBuffer>>,
    ) -> BoxFuture<'s, Result<()>>
    where
        'a: 's,
    {
        let mut out = out.with_var_buffer(var_buffer.map(|var_buffer| &**var_buffer));
        // Large futures inside are boxed for themselves: this one is made for each read, and small enough for the allocator's cache.
        Box::pin(async move {
            let Request { layout, part, span, .. } = request;
            let counter = Counter::new(&self.store.options.progress, || {
                let grid = &*layout.chunks().grid;
                let shape = &layout.metadata().shape;
                chunk_projections(grid, shape, part).count()
            });
            let (any_found, any_missing) = (AtomicBool::new(false), AtomicBool::new(false));
            let lengths = part.lengths();
            let bytes = lengths.iter().fold(span.size as u64, |n, len| n.saturating_mul(*len));
            let reader = Reader::for_bytes(bytes, self.store, layout, *span, var_buffer);
            let read = reader
                .read(part, &mut out, &|projection, found| {
                    let which = if found { &any_found } else { &any_missing };
                    which.store(true, Ordering::Relaxed);
                    counter.chunk_done(&projection.within, span.size);
                })
                .await;
            if let Err(e) = read {
                return Err(Box::pin(missing_or_gone(self.store, self.was_stored, e)).await);
            }
            if any_missing.into_inner() && !any_found.into_inner() {
                Box::pin(check_not_gone(self.store, self.was_stored)).await?;
            }
            read_ahead(self.store, self.order, layout, part);
            Ok(())
        })
    }

    /// Reads elements of a Rust type into new memory.
    pub async fn read_new<T: Element>(self, request: &Request) -> Result<Vec<T>> {
        if let Some(new_elements) = T::NEW_ELEMENTS
            && request.layout.chunks().repr != Repr::Variable
        {
            return self.fill_new(request, request.allocate::<T, _>(new_elements)?).await;
        }
        let mut elements = request.allocate::<T, _>(T::alloc)?;
        self.read_elements(request, &mut elements).await?;
        Ok(elements)
    }

    async fn fill_new<T>(self, request: &Request, mut elements: NewElements<T>) -> Result<Vec<T>> {
        let out = elements.output(&request.part.lengths(), request.span.size);
        self.read(request, out, None).await?;
        let elements = elements.finish();
        elements.ok_or_else(|| {
            let why = "the chunks of the grid do not cover the region that was read";
            MetadataError::invalid("chunk_grid", why).into()
        })
    }

    /// Reads elements of a Rust type, as many as are selected.
    pub async fn read_elements<T: Element>(self, request: &Request, out: &mut [T]) -> Result<()> {
        if request.layout.chunks().repr == Repr::Variable {
            self.read_cells(request).await?.to_elements(out);
            return Ok(());
        }
        if let Some(memory) = T::memory(out) {
            let out = ViewMut::new(memory, &request.part.lengths(), request.span.size);
            return self.read(request, out.into(), None).await;
        }
        let bytes = self.read_bytes(request).await?;
        let elements = out.iter_mut().zip(bytes.chunks_exact(request.span.size));
        let data_type = request.data_type();
        // Only `String` comes here for such a type: other elements of it have a memory of their own.
        if data_type.is_fixed_text() {
            for (element, bytes) in elements {
                *element = T::from_bytes(data_type.fixed_text(bytes)?.as_bytes());
            }
            return Ok(());
        }
        elements.for_each(|(element, bytes)| *element = T::from_bytes(bytes));
        Ok(())
    }

    /// Reads elements as native bytes; variable-length elements each after their length.
    pub async fn read_bytes(self, request: &Request) -> Result<Vec<u8>> {
        if request.layout.chunks().repr == Repr::Variable {
            return Ok(self.read_cells(request).await?.to_stream());
        }
        let shape = request.part.lengths();
        let size = request.span.size;
        let hint = "read a smaller region";
        let bytes = allocate(&shape, size, "the region", hint, |n| NewElements::new(n * size))?;
        self.fill_new(request, bytes).await
    }

    async fn read_cells(self, request: &Request) -> Result<Cells> {
        let shape = request.part.lengths();
        let mut cells = Cells::unfilled(request.layout.fill_content(), &shape)?;
        let out = ViewMut::new(&mut cells.memory, &shape, VAR_REF_SIZE);
        self.read(request, out.into(), Some(&cells.var_buffer)).await?;
        Ok(cells)
    }
}
