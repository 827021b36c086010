//! What one call reads or writes: a selection of an array, and the caller's memory for it, checked against each other.
//!
//! There is one kind of request, whether its elements have a Rust type or are bytes, whether memory is in C order or has
//! strides, and whether it is lent or handed over: a [`Request`] has what is selected, an [`Input`] what is written, and what is
//! read goes to a [`ViewMut`](crate::view::ViewMut).

use std::borrow::Cow;
use std::sync::Arc;

use super::cells::Cells;
use super::element_memory::allocate;
use super::layout::{ChunkLayout, FieldBytes};
use super::write::{Memory, WriteInput};
use crate::data_type::{DataType, Field, Origin, Repr};
use crate::element::Element;
use crate::error::{AccessError, Result};
use crate::region::{ByAxis, Region, element_count};
use crate::runtime::may_block;
use crate::selection::{ResolvedSelection, Selection};
use crate::var_buffer::VarBuffer;
use crate::view::View;
use crate::view::strided::StridedBuffer;

/// Elements of a view that are copied to be checked, at most as many bytes at a time.
const MAX_BYTES_CHECKED_AT_ONCE: usize = 1 << 20;

/// What one call reads or writes: these bytes of each element in a part of an array.
#[derive(Debug)]
pub(super) struct Request {
    pub layout: ChunkLayout,
    pub part: ResolvedSelection,
    pub span: FieldBytes,
    /// The shape of the selection; of a field that has a shape, followed by that one.
    pub shape: ByAxis<u64>,
    field: Option<Field>,
}

impl Request {
    /// What a selection selects.
    #[inline]
    pub fn new(layout: ChunkLayout, selection: Selection) -> Result<Request> {
        let selected = selection.of(layout.metadata())?;
        let span = layout.span();
        Ok(Request { layout, part: selected.part, span, shape: selected.shape, field: None })
    }

    /// A region of the array.
    pub fn from_region(layout: ChunkLayout, region: &Region) -> Request {
        let span = layout.span();
        Request { layout, part: region.into(), span, shape: region.lengths(), field: None }
    }

    /// What a selection selects, and of each record only the field at `path`, if there is one.
    #[inline]
    pub fn of_field(
        layout: ChunkLayout,
        selection: Selection,
        path: Option<&str>,
    ) -> Result<Request> {
        let mut request = Request::new(layout, selection)?;
        if let Some(path) = path {
            let (field, span) = find_field(&request.layout, path)?;
            request.shape.extend_from_slice(field.shape());
            (request.span, request.field) = (span, Some(field));
        }
        Ok(request)
    }

    /// The same, for elements of a Rust type.
    pub fn of_type<T: Element>(
        layout: ChunkLayout,
        selection: Selection,
        path: Option<&str>,
    ) -> Result<Request> {
        let request = Request::of_field(layout, selection, path)?;
        let data_type = request.data_type();
        if T::is(data_type) {
            return Ok(request);
        }
        let array = match path {
            Some(path) => format!("the field `{path}` of type `{data_type}`"),
            None => data_type.to_string(),
        };
        Err(AccessError::ElementType { array, asked: T::NAME }.into())
    }

    /// What a selection selects, for memory of this number of elements of a Rust type.
    pub fn of_count<T: Element>(
        layout: ChunkLayout,
        selection: Selection,
        count: usize,
    ) -> Result<Request> {
        let request = Request::of_type::<T>(layout, selection, None)?;
        request.check_count(count)?;
        Ok(request)
    }

    /// What a selection selects, for memory of this shape and element size.
    pub fn of_memory(
        layout: ChunkLayout,
        selection: Selection,
        shape: &[u64],
        element_size: usize,
    ) -> Result<Request> {
        let request = Request::new(layout, selection)?;
        check_element_size(&request.layout, element_size)?;
        if *request.shape != *shape {
            let found = &request.shape;
            let why =
                format!("memory of shape {shape:?} does not fit a selection of shape {found:?}");
            return Err(AccessError::Argument(why).into());
        }
        Ok(request)
    }

    /// The type of what is read or written of each element.
    pub fn data_type(&self) -> &DataType {
        let element = &self.layout.metadata().data_type;
        self.field.as_ref().map_or(element, Field::data_type)
    }

    /// Refuses memory of more or fewer elements than are selected.
    pub fn check_count(&self, found: usize) -> Result<()> {
        check_count(&self.shape, found)
    }

    /// What `allocate_elements` returns for the number of elements of a Rust type.
    pub fn allocate<T, M>(
        &self,
        allocate_elements: impl FnOnce(usize) -> Option<M>,
    ) -> Result<M, AccessError> {
        let hint = "read a smaller region";
        allocate(&self.shape, size_of::<T>(), "the region", hint, allocate_elements)
    }
}

/// Refuses more or fewer elements than a selection of this shape has.
fn check_count(shape: &[u64], found: usize) -> Result<()> {
    let expected = element_count(shape).unwrap_or(u64::MAX);
    if expected == found as u64 {
        Ok(())
    } else {
        Err(AccessError::Count { expected, found: found as u64 }.into())
    }
}

/// The field of records that a path names, and its bytes.
fn find_field(layout: &ChunkLayout, path: &str) -> Result<(Field, FieldBytes), AccessError> {
    let element = layout.span().element;
    let DataType::Record(record) = &layout.metadata().data_type else {
        let data_type = &layout.metadata().data_type;
        let why = format!("elements are `{data_type}` and have no fields");
        return Err(AccessError::Argument(why));
    };
    let Some(field) = record.field(path) else {
        let why = format!("there is no field `{path}` in `{record}`");
        return Err(AccessError::Argument(why));
    };
    let span = FieldBytes { offset: field.offset(), size: field.size(), element };
    Ok((field, span))
}

/// Refuses memory whose elements have another size than the array's, or none that is fixed.
pub(super) fn check_element_size(layout: &ChunkLayout, found: usize) -> Result<(), AccessError> {
    let data_type = &layout.metadata().data_type;
    let repr = layout.chunks().repr;
    let size = repr.size();
    if repr == Repr::Variable {
        let why = format!(
            "elements of type `{data_type}` differ in length and are not in strided memory; read and write them as strings or bytes"
        );
        return Err(AccessError::Argument(why));
    }
    if size != found {
        let why = format!(
            "memory of elements of {found} bytes does not fit elements of type `{data_type}`, which have {size}"
        );
        return Err(AccessError::Argument(why));
    }
    Ok(())
}

/// Refuses elements that cannot be: a Rust struct has bytes where a record has bools or text, and an
/// extension's type may need more than its representation.
pub(super) fn check_values<T: Element>(data_type: &DataType, elements: &[T]) -> Result<()> {
    match (data_type, T::as_memory(elements)) {
        (DataType::Extension(extension), Some(memory)) if extension.needs_check() => {
            Ok(extension.check(&memory)?)
        }
        // Rust's `bool` is always valid.
        (DataType::Core(_), Some(_)) => Ok(()),
        (data_type, Some(memory)) => check_bytes(data_type, &memory),
        (data_type, None) if data_type.is_fixed_text() => {
            fixed_text_memory(data_type, elements).map(drop)
        }
        (data_type, None) => {
            for element in elements {
                data_type.check_element(element.as_bytes())?;
            }
            Ok(())
        }
    }
}

/// The native memory of texts of fixed length.
pub(super) fn fixed_text_memory<T: Element>(data_type: &DataType, texts: &[T]) -> Result<Vec<u8>> {
    let mut memory = Vec::new();
    for text in texts {
        data_type.push_fixed_text(&String::from_utf8_lossy(text.as_bytes()), &mut memory)?;
    }
    Ok(memory)
}

/// Refuses native bytes that are no elements of the type.
fn check_bytes(data_type: &DataType, bytes: &[u8]) -> Result<()> {
    if data_type.needs_check() {
        data_type.check(&mut bytes.to_vec(), Origin::Caller)?;
    }
    Ok(())
}

/// Refuses native elements that are none of the type.
pub(super) fn check_view(data_type: &DataType, elements: &View<'_>) -> Result<()> {
    if !data_type.needs_check() {
        return Ok(());
    }
    let elements = elements.without_repeats();
    let shape = elements.shape();
    let longest = (0..shape.len()).max_by_key(|&axis| shape[axis]);
    match longest.filter(|&axis| shape[axis] > 1) {
        Some(axis) if elements.len() * elements.element_size() > MAX_BYTES_CHECKED_AT_ONCE => {
            let middle = shape[axis] / 2;
            for half in [0..middle, middle..shape[axis]] {
                let mut part = Region::all(&shape).intervals().to_vec();
                part[axis] = half;
                check_view(data_type, &elements.part(&Region::new(part)))?;
            }
            Ok(())
        }
        _ => check_bytes(data_type, &elements.to_bytes()),
    }
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

/// The elements that a call writes.
pub(super) struct Input<'a> {
    memory: InputMemory<'a>,
    /// Where elements of variable length are.
    pub var_buffer: Option<Arc<VarBuffer>>,
}

enum InputMemory<'a> {
    /// Lent, in C order.
    Lent(Cow<'a, [u8]>),
    /// Lent, with any strides.
    LentView(View<'a>),
    /// Handed over.
    Owned(Arc<dyn Memory>),
}

impl<'a> Input<'a> {
    /// Elements of a Rust type, which fit the request and are valid for its type.
    pub fn from_elements<T: Element>(
        request: &Request,
        elements: Cow<'a, [T]>,
    ) -> Result<Input<'a>> {
        let elements = match elements {
            Cow::Borrowed(elements) => match T::as_memory(elements) {
                Some(memory) => return Ok(InputMemory::Lent(memory).into()),
                None => Cow::Borrowed(elements),
            },
            Cow::Owned(elements) => match T::as_memory(&elements) {
                Some(Cow::Owned(memory)) => {
                    return Ok(InputMemory::Owned(Arc::new(memory)).into());
                }
                Some(Cow::Borrowed(_)) => {
                    return Ok(InputMemory::Owned(Arc::new(TypedMemory(elements))).into());
                }
                None => Cow::Owned(elements),
            },
        };
        if request.data_type().is_fixed_text() {
            let memory = fixed_text_memory(request.data_type(), &elements)?;
            return Ok(match elements {
                Cow::Borrowed(_) => InputMemory::Lent(memory.into()).into(),
                Cow::Owned(_) => InputMemory::Owned(Arc::new(memory)).into(),
            });
        }
        let contents = elements.iter().map(T::as_bytes);
        let cells = Cells::from_elements(request.layout.fill_content(), contents)?;
        Ok(Input::from_cells(cells, matches!(elements, Cow::Borrowed(_))))
    }

    /// Native bytes, which are checked: of elements of variable length each after its length.
    pub fn from_bytes(request: &Request, bytes: Cow<'a, [u8]>) -> Result<Input<'a>> {
        let layout = &request.layout;
        let size = request.span.size;
        let data_type = request.data_type();
        let is_lent = matches!(bytes, Cow::Borrowed(_));
        if layout.chunks().repr == Repr::Variable {
            let count = element_count(&request.shape).unwrap_or(u64::MAX);
            let fill = layout.fill_content();
            let element_type = &layout.metadata().data_type;
            let cells = Cells::from_stream(fill, element_type, &bytes, count)?;
            return Ok(Input::from_cells(cells, is_lent));
        }
        let given = bytes.len();
        let Some(count) = given.checked_div(size).filter(|_| given.is_multiple_of(size)) else {
            let why = format!("{given} bytes are not a multiple of {size}, the size of an element");
            return Err(AccessError::Argument(why).into());
        };
        check_count(&request.part.shape(), count)?;
        check_bytes(data_type, &bytes)?;
        let memory = match bytes {
            Cow::Borrowed(_) => InputMemory::Lent(bytes),
            Cow::Owned(bytes) => InputMemory::Owned(Arc::new(bytes)),
        };
        Ok(memory.into())
    }

    /// Native elements in memory of any strides, which fit the request and are valid for its type.
    pub fn from_strided(request: &Request, elements: Strided<'a>) -> Input<'a> {
        let shape = request.part.shape();
        let memory = match elements {
            Strided::Lent(view) => InputMemory::LentView(view.with_axes_of_one(&shape)),
            Strided::Owned(buffer) => InputMemory::Owned(Arc::new(buffer.with_axes_of_one(&shape))),
        };
        memory.into()
    }

    fn from_cells(cells: Cells, is_lent: bool) -> Input<'a> {
        let memory = if is_lent {
            InputMemory::Lent(Cow::Owned(cells.memory))
        } else {
            InputMemory::Owned(Arc::new(cells.memory))
        };
        Input { memory, var_buffer: Some(cells.var_buffer) }
    }

    /// The same element everywhere.
    pub fn from_repeated(request: &Request, element: &'a RepeatedElement) -> Result<Input<'a>> {
        let elements = repeated(&element.memory, &request.part.shape())?;
        let memory = if may_block() {
            InputMemory::LentView(elements)
        } else {
            InputMemory::Owned(Arc::new(RepeatedMemory(element.memory.clone())))
        };
        Ok(Input { memory, var_buffer: element.var_buffer.clone() })
    }

    /// The elements, as a writer takes them.
    pub fn write_input<'s>(&'s self, request: &Request) -> WriteInput<'s> {
        match &self.memory {
            InputMemory::Lent(bytes) => {
                let shape = request.part.lengths();
                let size = request.span.size;
                WriteInput::Lent(View::new(bytes, &shape, size))
            }
            InputMemory::LentView(view) => WriteInput::Lent(view.clone()),
            InputMemory::Owned(memory) => WriteInput::Owned(memory.clone()),
        }
    }
}

impl<'a> From<InputMemory<'a>> for Input<'a> {
    fn from(memory: InputMemory<'a>) -> Input<'a> {
        Input { memory, var_buffer: None }
    }
}

/// Elements whose Rust type has the memory of native elements.
struct TypedMemory<T>(Vec<T>);

impl<T: Element> Memory for TypedMemory<T> {
    fn view(&self, shape: &[u64], size: usize) -> View<'_> {
        match T::as_memory(&self.0) {
            Some(Cow::Borrowed(bytes)) => View::new(bytes, shape, size),
            _ => View::new(&[], &[0], size),
        }
    }
}

impl Memory for StridedBuffer {
    fn view(&self, _: &[u64], _: usize) -> View<'_> {
        StridedBuffer::view(self)
    }
}

/// An element that is written everywhere in a selection, as views show it.
pub(super) struct RepeatedElement {
    memory: Vec<u8>,
    var_buffer: Option<Arc<VarBuffer>>,
}

impl RepeatedElement {
    /// A native element, which is checked.
    pub fn new(layout: &ChunkLayout, element: &[u8]) -> Result<RepeatedElement> {
        let data_type = &layout.metadata().data_type;
        if layout.chunks().repr == Repr::Variable {
            data_type.check_element(element)?;
            let cells = Cells::from_elements(layout.fill_content(), std::iter::once(element))?;
            return Ok(RepeatedElement {
                memory: cells.memory,
                var_buffer: Some(cells.var_buffer),
            });
        }
        let size = layout.chunks().repr.size();
        let found = element.len();
        if found != size {
            let why = format!("an element of type `{data_type}` has {size} bytes, not {found}");
            return Err(AccessError::Argument(why).into());
        }
        check_bytes(data_type, element)?;
        Ok(RepeatedElement { memory: element.to_vec(), var_buffer: None })
    }
}

struct RepeatedMemory(Vec<u8>);

impl Memory for RepeatedMemory {
    fn view(&self, shape: &[u64], _: usize) -> View<'_> {
        repeated(&self.0, shape).expect("seen before the write began")
    }
}

fn repeated<'a>(element: &'a [u8], shape: &[u64]) -> Result<View<'a>, AccessError> {
    View::strided(element, 0, shape, &vec![0; shape.len()], element.len())
}
