//! The calls of handles that read and write elements.
//!
//! Blocking and async handles call the same methods. They differ in who owns the elements: a blocking caller lends its
//! memory, an async one hands it over, so that a dropped future needs nothing of its caller's. Elements to write are a
//! [`Cow`], borrowed or owned.

use std::borrow::Cow;
use std::sync::Arc;

use super::array_core::ArrayCore;
use super::chunk_parts::{ChunkPart, read_chunk_parts};
use super::chunk_store::ChunkStore;
use super::request::{
    Input, RepeatedElement, Request, Strided, check_element_size, check_values, check_view,
    fixed_text_memory,
};
use super::stale_handle::check_still_there;
use super::write::Writer;
use crate::data_type::{ByteSwap, DataType, Endian, Origin};
use crate::element::Element;
use crate::error::{AccessError, Result};
use crate::region::element_count;
use crate::runtime::pool;
use crate::selection::Selection;
use crate::view::ViewMut;
use crate::view::strided::StridedBuffer;

impl ArrayCore {
    /// Reads elements, or one field of them.
    pub async fn read_vec<T: Element>(
        self: &Arc<Self>,
        field: Option<&str>,
        selection: Selection,
    ) -> Result<Vec<T>> {
        let request = Request::of_type::<T>(self.layout()?, selection, field);
        self.read_request(request.map_err(|e| self.at(e))?).await
    }

    async fn read_request<T: Element>(self: &Arc<Self>, request: Request) -> Result<Vec<T>> {
        if self.chunk_store().is_read_in_place() {
            return self.read_call().read_new(&request).await.map_err(|e| self.at(e));
        }
        let read =
            self.on_reader(move |core| async move { core.read_call().read_new(&request).await });
        Box::pin(read).await?.map_err(|e| self.at(e))
    }

    /// Reads elements into memory that a blocking caller lends.
    pub async fn read_into<T: Element>(
        self: &Arc<Self>,
        selection: Selection,
        out: &mut [T],
    ) -> Result<()> {
        let request = Request::of_count::<T>(self.layout()?, selection, out.len());
        let request = request.map_err(|e| self.at(e))?;
        self.read_call().read_elements(&request, out).await.map_err(|e| self.at(e))
    }

    /// Reads elements into memory that an async caller hands over, and gets back, whatever happens.
    pub async fn read_owned<T: Element>(
        self: &Arc<Self>,
        selection: Selection,
        out: Vec<T>,
    ) -> (Vec<T>, Result<()>) {
        let request =
            self.layout().and_then(|layout| Request::of_count::<T>(layout, selection, out.len()));
        match request {
            Ok(request) => self.read_to_owned(request, out).await,
            Err(e) => (out, Err(self.at(e))),
        }
    }

    async fn read_to_owned<T: Element>(
        self: &Arc<Self>,
        request: Request,
        mut out: Vec<T>,
    ) -> (Vec<T>, Result<()>) {
        if self.chunk_store().is_read_in_place() {
            let result = self.read_call().read_elements(&request, &mut out).await;
            return (out, result.map_err(|e| self.at(e)));
        }
        let read = self.on_reader(move |core| async move {
            let result = core.read_call().read_elements(&request, &mut out).await;
            (out, result.map_err(|e| core.at(e)))
        });
        Box::pin(read).await.unwrap_or_else(|e| (Vec::new(), Err(e)))
    }

    /// Reads elements, or one field of them, as native bytes.
    pub async fn read_native(
        self: &Arc<Self>,
        field: Option<&str>,
        selection: Selection,
    ) -> Result<Vec<u8>> {
        let request = Request::of_field(self.layout()?, selection, field);
        let request = request.map_err(|e| self.at(e))?;
        let read =
            self.on_reader(move |core| async move { core.read_call().read_bytes(&request).await });
        read.await?.map_err(|e| self.at(e))
    }

    /// Reads elements as little-endian bytes. Above an integer of fewer bits than its byte are zeros (F-053).
    pub async fn read_little_endian(self: &Arc<Self>, selection: Selection) -> Result<Vec<u8>> {
        let mut bytes = self.read_native(None, selection).await?;
        let data_type = &self.state().metadata.data_type;
        swap_to_little_endian(data_type, &mut bytes);
        match data_type.stored_mask() {
            0xff => {}
            mask => bytes.iter_mut().for_each(|byte| *byte &= mask),
        }
        Ok(bytes)
    }

    /// Reads the only element of a selection.
    pub async fn read_element<T: Element>(self: &Arc<Self>, selection: Selection) -> Result<T> {
        let request = Request::of_type::<T>(self.layout()?, selection, None);
        let request = request.map_err(|e| self.at(e))?;
        let count = element_count(&request.shape);
        if count != Some(1) {
            let count = count.map_or("more than 2^64".to_owned(), |count| count.to_string());
            let why = format!(
                "the selection has {count} elements, expected 1; select one with a number for each axis, or call `read`"
            );
            return Err(self.at(AccessError::Argument(why)));
        }
        let elements = self.read_request(request).await?;
        Ok(elements.into_iter().next().expect("one element is selected"))
    }

    /// Reads elements as an array of the selection's shape.
    #[cfg(feature = "ndarray")]
    pub async fn read_ndarray<T: Element, D: ndarray::Dimension>(
        self: &Arc<Self>,
        selection: Selection,
    ) -> Result<ndarray::Array<T, D>> {
        let request = Request::of_type::<T>(self.layout()?, selection, None);
        let request = request.map_err(|e| self.at(e))?;
        let shape: Vec<usize> = request.shape.iter().map(|&n| n as usize).collect();
        if let Some(wanted) = D::NDIM.filter(|&wanted| wanted != shape.len()) {
            let why = format!(
                "the selection has shape {shape:?}, an `Ix{wanted}` has {}; a range such as `3..4` keeps an axis, a number removes it",
                crate::region::axes(wanted)
            );
            return Err(self.at(AccessError::Argument(why)));
        }
        let elements = self.read_request(request).await?;
        let array = ndarray::ArrayD::from_shape_vec(shape, elements)
            .expect("as many elements as are selected");
        Ok(array.into_dimensionality().expect("the number of axes was checked"))
    }

    /// Reads native elements into memory that the caller lends. Where the store is local, the calling thread must be one that
    /// may block.
    pub async fn read_view(self: &Arc<Self>, selection: Selection, out: ViewMut<'_>) -> Result<()> {
        let layout = self.layout()?;
        let shape = out.shape();
        let request = Request::of_memory(layout, selection, &shape, out.element_size());
        let request = request.map_err(|e| self.at(e))?;
        let out = out.with_axes_of_one(&request.part.shape());
        self.read_call().read(&request, out.into(), None).await.map_err(|e| self.at(e))
    }

    /// Reads native elements into memory that the caller hands over, and gets back, whatever happens.
    pub async fn read_view_owned(
        self: &Arc<Self>,
        selection: Selection,
        mut out: StridedBuffer,
    ) -> (StridedBuffer, Result<()>) {
        let read = self.on_reader(move |core| async move {
            let result = match out.view_mut() {
                Ok(view) => core.read_view(selection, view).await,
                Err(e) => Err(core.at(e)),
            };
            (out, result)
        });
        read.await.unwrap_or_else(|e| (StridedBuffer::default(), Err(e)))
    }

    /// Reads parts of chunks to their places in `out`; returns for each part whether its chunk is stored.
    pub async fn read_chunk_parts(
        self: &Arc<Self>,
        parts: &[ChunkPart],
        out: ViewMut<'_>,
    ) -> Result<Vec<bool>> {
        let layout = self.layout()?;
        check_element_size(&layout, out.element_size()).map_err(|e| self.at(e))?;
        read_chunk_parts(self.read_call(), &layout, parts, out).await.map_err(|e| self.at(e))
    }

    /// The same for memory that the caller hands over, and gets back, whatever happens.
    pub async fn read_chunk_parts_owned(
        self: &Arc<Self>,
        parts: &[ChunkPart],
        mut out: StridedBuffer,
    ) -> (StridedBuffer, Result<Vec<bool>>) {
        let parts = parts.to_vec();
        let read = self.on_reader(move |core| async move {
            let result = match out.view_mut() {
                Ok(view) => core.read_chunk_parts(&parts, view).await,
                Err(e) => Err(core.at(e)),
            };
            (out, result)
        });
        read.await.unwrap_or_else(|e| (StridedBuffer::default(), Err(e)))
    }

    /// The result of `work`, on the calling thread if it reads, else on a thread that may block. If the future is dropped, the
    /// work begins no further chunk.
    async fn on_reader<T: Send + 'static, F: Future<Output = T>>(
        self: &Arc<Self>,
        work: impl FnOnce(Arc<ArrayCore>) -> F + Send + 'static,
    ) -> Result<T> {
        let core = self.clone();
        if self.chunk_store().is_read_in_place() {
            return Ok(work(core).await);
        }
        // Boxed: the future of work in place stays small.
        Box::pin(pool::off_thread(&self.options, move || work(core))).await
    }

    /// Writes elements, or one field of them, after a look at the array's document.
    pub async fn write_typed<T: Element>(
        self: &Arc<Self>,
        field: Option<&str>,
        selection: Selection,
        elements: Cow<'_, [T]>,
    ) -> Result<()> {
        let request = Request::of_type::<T>(self.layout()?, selection, field);
        let request = request.map_err(|e| self.at(e))?;
        check_values(request.data_type(), &elements).map_err(|e| self.at(e))?;
        request.check_count(elements.len()).map_err(|e| self.at(e))?;
        check_request(self.chunk_store(), &request).await?;
        let input = Input::from_elements(&request, elements).map_err(|e| self.at(e))?;
        write(self.chunk_store(), &request, input).await
    }

    /// Writes elements from an array of `shape`, which must be the selection's.
    #[cfg(feature = "ndarray")]
    pub async fn write_shaped<T: Element>(
        self: &Arc<Self>,
        selection: Selection,
        shape: &[u64],
        elements: Cow<'_, [T]>,
    ) -> Result<()> {
        let selected = self.prepare(&selection)?.1.shape;
        if shape != &selected[..] {
            let why =
                format!("an array of shape {shape:?} does not fill a selection of {selected:?}");
            return Err(self.at(AccessError::Argument(why)));
        }
        self.write_typed(None, selection, elements).await
    }

    /// Writes elements, or one field of them, from native bytes, after a look at the array's document.
    pub async fn write_native(
        self: &Arc<Self>,
        field: Option<&str>,
        selection: Selection,
        bytes: Cow<'_, [u8]>,
    ) -> Result<()> {
        let request = Request::of_field(self.layout()?, selection, field);
        let request = request.map_err(|e| self.at(e))?;
        let input = Input::from_bytes(&request, bytes).map_err(|e| self.at(e))?;
        check_request(self.chunk_store(), &request).await?;
        write(self.chunk_store(), &request, input).await
    }

    /// Writes elements from little-endian bytes.
    pub async fn write_little_endian(
        self: &Arc<Self>,
        selection: Selection,
        bytes: Cow<'_, [u8]>,
    ) -> Result<()> {
        let data_type = self.state().metadata.data_type.clone();
        let is_narrow = data_type.stored_mask() != 0xff;
        if Endian::NATIVE == Endian::Little && !is_narrow {
            return self.write_native(None, selection, bytes).await;
        }
        let is_lent = matches!(bytes, Cow::Borrowed(_));
        let mut native = bytes.into_owned();
        swap_to_little_endian(&data_type, &mut native);
        if is_narrow {
            data_type.check(&mut native, Origin::Store).map_err(|e| self.at(e))?;
        }
        let native = if is_lent { Cow::Borrowed(&native[..]) } else { Cow::Owned(native) };
        self.write_native(None, selection, native).await
    }

    /// Writes native elements, after a look at the array's document.
    pub async fn write_view(
        self: &Arc<Self>,
        selection: Selection,
        elements: Strided<'_>,
    ) -> Result<()> {
        let view = elements.view();
        let layout = self.layout()?;
        let shape = view.shape();
        let request = Request::of_memory(layout, selection, &shape, view.element_size());
        let request = request.map_err(|e| self.at(e))?;
        check_view(request.data_type(), &view).map_err(|e| self.at(e))?;
        check_request(self.chunk_store(), &request).await?;
        drop(view);
        write(self.chunk_store(), &request, Input::from_strided(&request, elements)).await
    }

    /// Writes one value everywhere in a selection.
    pub async fn fill<T: Element>(self: &Arc<Self>, selection: Selection, value: T) -> Result<()> {
        let request = Request::of_type::<T>(self.layout()?, selection, None);
        let request = request.map_err(|e| self.at(e))?;
        let value = std::slice::from_ref(&value);
        check_values(request.data_type(), value).map_err(|e| self.at(e))?;
        let bytes = match T::as_memory(value) {
            Some(memory) => memory,
            None if request.data_type().is_fixed_text() => {
                fixed_text_memory(request.data_type(), value).map_err(|e| self.at(e))?.into()
            }
            None => value[0].as_bytes().into(),
        };
        self.write_repeated(&request, &bytes).await
    }

    /// Writes one element everywhere in a selection, after a look at the array's document.
    pub async fn write_fill(self: &Arc<Self>, selection: Selection, element: &[u8]) -> Result<()> {
        let request = Request::new(self.layout()?, selection).map_err(|e| self.at(e))?;
        self.write_repeated(&request, element).await
    }

    async fn write_repeated(self: &Arc<Self>, request: &Request, element: &[u8]) -> Result<()> {
        let element = RepeatedElement::new(&request.layout, element).map_err(|e| self.at(e))?;
        check_request(self.chunk_store(), request).await?;
        let input = Input::from_repeated(request, &element).map_err(|e| self.at(e))?;
        write(self.chunk_store(), request, input).await
    }
}

/// Refuses to write what is not part of the array any more.
async fn check_request(store: ChunkStore<'_>, request: &Request) -> Result<()> {
    let checked = check_still_there(store, &request.layout, &request.part).await;
    checked.map_err(|e| store.with_context(e))
}

pub(super) async fn write(
    store: ChunkStore<'_>,
    request: &Request,
    input: Input<'_>,
) -> Result<()> {
    let Request { layout, part, span, .. } = request;
    let writer = Writer::new(store, layout, *span, input.var_buffer.as_ref());
    let written = writer.write(part, input.write_input(request)).await;
    written.map_err(|e| store.with_context(e))
}

/// Makes little-endian bytes of native ones, and the reverse.
fn swap_to_little_endian(data_type: &DataType, bytes: &mut [u8]) {
    if Endian::NATIVE == Endian::Big {
        ByteSwap::of_all(data_type).apply(bytes);
    }
}
