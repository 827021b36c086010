//! Reads into and writes from memory with any strides, as other languages lend it, whatever the type of the elements.

use std::sync::Arc;

use super::given_elements::Memory;
use super::transfer::Transfer;
use super::{ArrayCore, ArrayState, ChunkLayout};
use crate::data_type::{DataType, Repr};
use crate::error::{AccessError, Result};
use crate::region::Region;
use crate::selection::Selection;
use crate::store::may_block;
use crate::var_buffer::VarBuffer;
use crate::view::strided::StridedBuffer;
use crate::view::{View, ViewMut};

/// Elements of a view that are copied to be checked, at most as many bytes at a time.
const CHECKED: usize = 1 << 20;

impl Memory for StridedBuffer {
    fn view(&self, _: &[u64], _: usize) -> View<'_> {
        StridedBuffer::view(self)
    }
}

/// The same element everywhere.
struct Repeated(Vec<u8>);

impl Memory for Repeated {
    fn view(&self, shape: &[u64], _: usize) -> View<'_> {
        repeated(&self.0, shape).expect("seen before the write began")
    }
}

fn repeated<'a>(element: &'a [u8], shape: &[u64]) -> Result<View<'a>, AccessError> {
    View::strided(element, 0, shape, &vec![0; shape.len()], element.len())
}

/// Native elements to write, in memory of any strides.
pub(crate) enum Strided<'a> {
    /// Lent by a blocking caller.
    Lent(View<'a>),
    /// Handed over by an async caller.
    Owned(StridedBuffer),
}

impl Strided<'_> {
    pub fn view(&self) -> View<'_> {
        match self {
            Strided::Lent(view) => view.clone(),
            Strided::Owned(buffer) => buffer.view(),
        }
    }
}

impl ArrayCore {
    /// What a selection selects, if memory of this shape and element size can hold it.
    fn request_of_view(
        &self,
        selection: Selection,
        shape: &[u64],
        element_size: usize,
    ) -> Result<Transfer> {
        let (layout, selected) = self.prepare(selection)?;
        self.check_element_size(&layout, element_size)?;
        if *selected.shape != *shape {
            let found = selected.shape;
            let why =
                format!("memory of shape {shape:?} does not fit a selection of shape {found:?}");
            return Err(self.at(AccessError::Argument(why)));
        }
        Ok(Transfer::whole(layout, selected.part))
    }

    /// Refuses memory whose elements have another size than the array's, or none that is fixed.
    pub fn check_element_size(&self, layout: &ChunkLayout, found: usize) -> Result<()> {
        let (data_type, size) = (&layout.metadata.data_type, layout.chunks().repr.size());
        let why = if layout.chunks().repr == Repr::Variable {
            format!(
                "elements of type `{data_type}` differ in length and are not in strided memory; read and write them as strings or bytes"
            )
        } else if size != found {
            format!(
                "memory of elements of {found} bytes does not fit elements of type `{data_type}`, which have {size}"
            )
        } else {
            return Ok(());
        };
        Err(self.at(AccessError::Argument(why)))
    }

    /// Reads native elements into memory that the caller lends. Where the store is local, the calling thread must be one that
    /// may block.
    pub async fn read_view(self: &Arc<Self>, selection: Selection, out: ViewMut<'_>) -> Result<()> {
        let transfer = self.request_of_view(selection, &out.shape(), out.element_size())?;
        let out = out.with_axes_of_one(&transfer.part.shape());
        self.read(&transfer, out, None).await
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

    /// Writes native elements, after a look at the array's document.
    pub async fn write_view(
        self: &Arc<Self>,
        selection: Selection,
        elements: Strided<'_>,
    ) -> Result<()> {
        let view = elements.view();
        let transfer = self.request_of_view(selection, &view.shape(), view.element_size())?;
        self.check_view(&transfer.layout.metadata.data_type, &view)?;
        self.check_still_there(&transfer).await?;
        self.write_strided(&transfer, elements).await
    }

    async fn write_strided(
        self: &Arc<Self>,
        transfer: &Transfer,
        elements: Strided<'_>,
    ) -> Result<()> {
        let shape = transfer.part.shape();
        match elements {
            Strided::Lent(view) => self.write(transfer, view.with_axes_of_one(&shape), None).await,
            Strided::Owned(buffer) => {
                let memory = Arc::new(buffer.with_axes_of_one(&shape));
                self.write_owned(transfer, memory, None).await
            }
        }
    }

    /// Refuses native elements that cannot make the array longer along `axis`.
    pub fn check_appended(&self, axis: usize, elements: &View<'_>) -> Result<()> {
        // One state: another thread may change the shape at any time.
        let layout = self.layout()?;
        let (shape, found) = (&layout.metadata.shape, elements.shape());
        let fits = |a: usize| a == axis || shape[a] == found[a];
        if shape.len() != found.len() || !(0..shape.len()).all(fits) {
            let why = format!(
                "memory of shape {found:?} does not fit an array of shape {shape:?} along all axes but {axis}"
            );
            return Err(self.at(AccessError::Argument(why)));
        }
        self.check_element_size(&layout, elements.element_size())?;
        self.check_view(&layout.metadata.data_type, elements)
    }

    /// Writes native elements where an array has just grown.
    pub async fn write_appended(
        self: &Arc<Self>,
        state: &Arc<ArrayState>,
        place: &Region,
        elements: Strided<'_>,
    ) -> Result<()> {
        if place.shape() != elements.view().shape() {
            // Another writer has changed the shape.
            let (expected, found) = (place.element_count(), elements.view().len() as u64);
            let expected = expected.unwrap_or(u64::MAX);
            return Err(self.at(AccessError::Count { expected, found }));
        }
        self.write_strided(&Transfer::whole(state.clone().layout()?, place.into()), elements).await
    }

    /// Writes one element everywhere in a selection, after a look at the array's document.
    pub async fn write_fill(self: &Arc<Self>, selection: Selection, element: &[u8]) -> Result<()> {
        let (layout, selected) = self.prepare(selection)?;
        let (cell, var_buffer) = self.cell(&layout, element)?;
        let transfer = Transfer::whole(layout, selected.part);
        let elements = repeated(&cell, &transfer.part.shape()).map_err(|e| self.at(e))?;
        self.check_still_there(&transfer).await?;
        if may_block() {
            return self.write(&transfer, elements, var_buffer.as_ref()).await;
        }
        self.write_owned(&transfer, Arc::new(Repeated(cell)), var_buffer).await
    }

    /// An element, as views show it.
    fn cell(
        &self,
        layout: &ChunkLayout,
        element: &[u8],
    ) -> Result<(Vec<u8>, Option<Arc<VarBuffer>>)> {
        let data_type = &layout.metadata.data_type;
        if layout.chunks().repr == Repr::Variable {
            data_type.check_element(element).map_err(|e| self.at(e))?;
            let cells = layout.cells_of(std::iter::once(element)).map_err(|e| self.at(e))?;
            return Ok((cells.memory, Some(cells.var_buffer)));
        }
        let (size, found) = (layout.chunks().repr.size(), element.len());
        if found != size {
            let why = format!("an element of type `{data_type}` has {size} bytes, not {found}");
            return Err(self.at(AccessError::Argument(why)));
        }
        self.check_bytes(data_type, element)?;
        Ok((element.to_vec(), None))
    }

    /// Refuses native elements that are none of the type.
    fn check_view(&self, data_type: &DataType, elements: &View<'_>) -> Result<()> {
        if !data_type.needs_check() {
            return Ok(());
        }
        let elements = elements.without_repeats();
        let shape = elements.shape();
        let longest = (0..shape.len()).max_by_key(|&axis| shape[axis]);
        match longest.filter(|&axis| shape[axis] > 1) {
            Some(axis) if elements.len() * elements.element_size() > CHECKED => {
                let middle = shape[axis] / 2;
                [0..middle, middle..shape[axis]].into_iter().try_for_each(|half| {
                    let mut part = Region::all(&shape).intervals().to_vec();
                    part[axis] = half;
                    self.check_view(data_type, &elements.part(&Region::new(part)))
                })
            }
            _ => self.check_bytes(data_type, &elements.to_bytes()),
        }
    }
}
