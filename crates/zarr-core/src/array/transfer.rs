//! Checks what a caller reads or writes, allocates the output, and has chunks read or written.
//!
//! Blocking and async handles call the same methods. They differ in who owns the elements: a blocking caller lends its
//! memory, an async one hands it over, so that a dropped future needs nothing of its caller's. Elements to write are a
//! [`Cow`], borrowed or owned.

use std::borrow::Cow;
use std::sync::Arc;

use super::executor::Work;
use super::select::work;
use super::{ArrayCore, ArrayState, ChunkLayout, FieldBytes};
use crate::data_type::{ByteSwap, DataType, Endian, Field, Origin, Repr};
use crate::element::Element;
use crate::error::{AccessError, Result};
use crate::grid::{ChunkProjection, chunk_projections};
use crate::region::{ByAxis, Region, element_count};
use crate::selection::{ResolvedSelection, Selection};
use crate::var_buffer::VarBuffer;
use crate::view::View;

/// What one call reads or writes: these bytes of each element in a part of an array.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub layout: ChunkLayout,
    pub part: ResolvedSelection,
    pub span: FieldBytes,
}

impl Transfer {
    /// All bytes of each element.
    pub fn whole(layout: ChunkLayout, part: ResolvedSelection) -> Transfer {
        let span = layout.span();
        Transfer { layout, part, span }
    }

    /// The chunks that are touched.
    pub fn chunks(&self) -> impl Iterator<Item = ChunkProjection> + Send {
        chunk_projections(&*self.layout.chunks().grid, &self.layout.metadata.shape, &self.part)
    }

    /// How much work they are.
    pub fn work(&self) -> Work {
        work(&*self.layout.chunks().grid, &self.part, self.span.element)
    }
}

/// A transfer and the elements that its caller has or gets.
struct Request {
    transfer: Transfer,
    /// The shape of the selection; of a field that has a shape, followed by that one.
    shape: ByAxis<u64>,
    field: Option<Field>,
}

impl Request {
    fn data_type(&self) -> &DataType {
        let all = &self.transfer.layout.metadata.data_type;
        self.field.as_ref().map_or(all, Field::data_type)
    }
}

impl ArrayCore {
    fn request(&self, field: Option<&str>, selection: Selection) -> Result<Request> {
        let (layout, selected) = self.prepare(selection)?;
        let (mut shape, mut transfer) = (selected.shape, Transfer::whole(layout, selected.part));
        let field = field.map(|path| self.field(&transfer.layout, path)).transpose()?;
        let field = field.map(|(field, bytes)| {
            shape.extend_from_slice(field.shape());
            transfer.span = bytes;
            field
        });
        Ok(Request { transfer, shape, field })
    }

    /// The same, refusing elements of another type.
    fn request_of<T: Element>(&self, field: Option<&str>, selection: Selection) -> Result<Request> {
        let request = self.request(field, selection)?;
        match (field, &request.field) {
            (Some(path), Some(field)) => self.check_field_type::<T>(field, path)?,
            _ => self.check_type::<T>(&request.transfer.layout)?,
        }
        Ok(request)
    }

    /// The same, of exactly `count` elements.
    fn request_for<T: Element>(
        &self,
        field: Option<&str>,
        selection: Selection,
        count: usize,
    ) -> Result<Request> {
        let request = self.request_of::<T>(field, selection)?;
        self.check_count(&request.shape, count)?;
        Ok(request)
    }

    /// Reads elements, or one field of them.
    pub async fn read_vec<T: Element>(
        self: &Arc<Self>,
        field: Option<&str>,
        selection: Selection,
    ) -> Result<Vec<T>> {
        let request = self.request_of::<T>(field, selection)?;
        self.read_request(request).await
    }

    async fn read_request<T: Element>(self: &Arc<Self>, request: Request) -> Result<Vec<T>> {
        let elements = self.alloc_output::<T>(&request.shape)?;
        let (elements, result) = self.read_elements(request.transfer, elements).await;
        result.map(|()| elements)
    }

    /// Reads elements into memory that a blocking caller lends.
    pub async fn read_into<T: Element>(
        self: &Arc<Self>,
        selection: Selection,
        out: &mut [T],
    ) -> Result<()> {
        let request = self.request_for::<T>(None, selection, out.len())?;
        self.read_lent(&request.transfer, out).await
    }

    /// Reads elements into memory that an async caller hands over, and gets back, whatever happens.
    pub async fn read_owned<T: Element>(
        self: &Arc<Self>,
        selection: Selection,
        out: Vec<T>,
    ) -> (Vec<T>, Result<()>) {
        match self.request_for::<T>(None, selection, out.len()) {
            Ok(request) => self.read_elements(request.transfer, out).await,
            Err(e) => (out, Err(e)),
        }
    }

    /// Reads elements, or one field of them, as native bytes.
    pub async fn read_native(
        self: &Arc<Self>,
        field: Option<&str>,
        selection: Selection,
    ) -> Result<Vec<u8>> {
        self.read_bytes(self.request(field, selection)?.transfer).await
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
        let request = self.request_of::<T>(None, selection)?;
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
        let request = self.request_of::<T>(None, selection)?;
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

    /// Writes elements, or one field of them, after a look at the array's document.
    pub async fn write_typed<T: Element>(
        self: &Arc<Self>,
        field: Option<&str>,
        selection: Selection,
        elements: Cow<'_, [T]>,
    ) -> Result<()> {
        let request = self.request_of::<T>(field, selection)?;
        self.check_values(request.data_type(), &elements)?;
        self.check_count(&request.shape, elements.len())?;
        self.check_still_there(&request.transfer).await?;
        self.write_input(&request.transfer, elements).await
    }

    async fn write_input<T: Element>(
        self: &Arc<Self>,
        transfer: &Transfer,
        elements: Cow<'_, [T]>,
    ) -> Result<()> {
        match elements {
            Cow::Borrowed(elements) => self.write_lent(transfer, elements).await,
            Cow::Owned(elements) => self.write_async(transfer, elements).await,
        }
    }

    /// Writes elements where an array has just grown.
    pub async fn write_grown<T: Element>(
        self: &Arc<Self>,
        state: &Arc<ArrayState>,
        place: &Region,
        elements: Cow<'_, [T]>,
    ) -> Result<()> {
        self.write_input(&Transfer::whole(state.clone().layout()?, place.into()), elements).await
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
        let request = self.request(field, selection)?;
        let Transfer { layout, part, span } = &request.transfer;
        if layout.chunks().repr == Repr::Variable {
            let count = element_count(&request.shape).unwrap_or(u64::MAX);
            let cells = layout.cells_of_stream(&bytes, count).map_err(|e| self.at(e))?;
            let memory = match bytes {
                Cow::Borrowed(_) => Cow::Borrowed(&cells.memory[..]),
                Cow::Owned(_) => Cow::Owned(cells.memory),
            };
            return self.write_memory(&request.transfer, memory, Some(cells.var_buffer)).await;
        }
        let size = span.size;
        let given = bytes.len();
        let count = given.checked_div(size).filter(|_| given.is_multiple_of(size));
        let count = count.ok_or_else(|| {
            let what =
                format!("{given} bytes are not a multiple of {size}, the size of an element");
            self.at(AccessError::Argument(what))
        })?;
        self.check_count(&part.shape(), count)?;
        self.check_bytes(request.data_type(), &bytes)?;
        self.write_memory(&request.transfer, bytes, None).await
    }

    async fn write_memory(
        self: &Arc<Self>,
        transfer: &Transfer,
        memory: Cow<'_, [u8]>,
        var_buffer: Option<Arc<VarBuffer>>,
    ) -> Result<()> {
        self.check_still_there(transfer).await?;
        match memory {
            Cow::Borrowed(memory) => {
                let elements = View::new(memory, &transfer.part.shape(), transfer.span.size);
                self.write(transfer, elements, var_buffer.as_ref()).await
            }
            Cow::Owned(memory) => self.write_owned(transfer, Arc::new(memory), var_buffer).await,
        }
    }

    /// Writes elements from little-endian bytes.
    pub async fn write_little_endian(
        self: &Arc<Self>,
        selection: Selection,
        bytes: Cow<'_, [u8]>,
    ) -> Result<()> {
        let data_type = self.state().metadata.data_type.clone();
        let narrow = data_type.stored_mask() != 0xff;
        if Endian::NATIVE == Endian::Little && !narrow {
            return self.write_native(None, selection, bytes).await;
        }
        let is_lent = matches!(bytes, Cow::Borrowed(_));
        let mut native = bytes.into_owned();
        swap_to_little_endian(&data_type, &mut native);
        if narrow {
            data_type.check(&mut native, Origin::Store).map_err(|e| self.at(e))?;
        }
        let native = if is_lent { Cow::Borrowed(&native[..]) } else { Cow::Owned(native) };
        self.write_native(None, selection, native).await
    }
}

/// Makes little-endian bytes of native ones, and the reverse.
fn swap_to_little_endian(data_type: &DataType, bytes: &mut [u8]) {
    if Endian::NATIVE == Endian::Big {
        ByteSwap::of_all(data_type).apply(bytes);
    }
}
