//! Holds variable-length elements in memory.
//!
//! A view shows cells of equal size. The cell of a text says where the text is: in which buffer of a
//! [`VarBuffer`], from which byte, how many bytes. So views of texts are cut, transposed and copied like any others, and
//! a text is never moved. Buffers are added, not taken away, until the variable-length buffer goes as a whole.
//!
//! A buffer is a chunk after its last codec on bytes. So a read holds, until its result is made, every
//! chunk that it touches, decoded and whole, however little of it is asked for: 16 bytes a cell beside them. A
//! write holds a copy of the caller's elements, and one chunk for each thread that merges them.
//! Who reads much reads in pieces.

use std::fmt;
use std::sync::{RwLock, RwLockReadGuard};

use bytemuck::{Pod, Zeroable};
use bytes::Bytes;

use crate::error::CodecError;

/// Bytes of a cell that stands for an element of variable length.
pub const VAR_REF_SIZE: usize = size_of::<VarRef>();

/// Where an element is. All zeros is the empty element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct VarRef {
    /// The first byte, counted from the buffer's.
    offset: u64,
    /// How many bytes.
    len: u32,
    /// Which buffer; 0 is the empty one.
    buffer: u32,
}

impl VarRef {
    /// The cell as a view holds it.
    pub fn as_bytes(&self) -> &[u8] {
        bytemuck::bytes_of(self)
    }
}

/// The buffers that hold elements.
pub struct VarBuffer(RwLock<Vec<Bytes>>);

impl fmt::Debug for VarBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VarBuffer of {} buffers", self.elements().0.len())
    }
}

impl Default for VarBuffer {
    fn default() -> Self {
        VarBuffer(RwLock::new(vec![Bytes::new()]))
    }
}

impl VarBuffer {
    /// A heap that holds nothing but `element`, and that element's cell: the same in every variable-length buffer so made.
    pub fn holding(element: Bytes) -> Result<(VarBuffer, VarRef), CodecError> {
        let var_buffer = VarBuffer::default();
        let reference = match element.len() {
            0 => VarRef::default(),
            len => var_buffer.add(element)?.reference(0, len as u64)?,
        };
        Ok((var_buffer, reference))
    }

    /// A variable-length buffer of the same buffers, not copied: what is added to it goes with it, and the first one's cells
    /// stand for the same elements in both.
    #[must_use]
    pub fn fork(&self) -> VarBuffer {
        VarBuffer(RwLock::new(self.elements().0.clone()))
    }

    /// Adds a buffer, whose elements can be given cells then.
    ///
    /// # Errors
    /// [`CodecError::Limit`] for more than 2³² buffers.
    pub fn add(&self, buffer: Bytes) -> Result<Buffer, CodecError> {
        let mut buffers = self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let limit = CodecError::Limit { codec: "memory", limit: u32::MAX.into() };
        let number = u32::try_from(buffers.len()).map_err(|_| limit)?;
        let len = buffer.len() as u64;
        buffers.push(buffer);
        Ok(Buffer { number, len })
    }

    /// The elements that are there now.
    pub fn elements(&self) -> Elements<'_> {
        Elements(self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

/// A buffer of a variable-length buffer.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    number: u32,
    len: u64,
}

impl Buffer {
    /// The cell of the element in these bytes of the buffer.
    ///
    /// # Errors
    /// [`CodecError::Limit`] for an element of 4 GiB and more, or one that leaves the buffer.
    pub fn reference(&self, offset: u64, len: u64) -> Result<VarRef, CodecError> {
        let limit = CodecError::Limit { codec: "memory", limit: u32::MAX.into() };
        let inside = offset.checked_add(len).is_some_and(|end| end <= self.len);
        match (inside, u32::try_from(len)) {
            (true, Ok(0)) => Ok(VarRef::default()),
            (true, Ok(len)) => Ok(VarRef { offset, len, buffer: self.number }),
            _ => Err(limit),
        }
    }
}

/// The elements of a variable-length buffer, to which no other thread adds.
pub struct Elements<'a>(RwLockReadGuard<'a, Vec<Bytes>>);

impl Elements<'_> {
    /// Whether cells, one after the other, stand for equal elements.
    pub fn equal(&self, some: &[u8], others: &[u8]) -> bool {
        let pairs = some.chunks_exact(VAR_REF_SIZE).zip(others.chunks_exact(VAR_REF_SIZE));
        some.len() == others.len() && pairs.into_iter().all(|(a, b)| self.get(a) == self.get(b))
    }

    /// The element that a cell stands for; empty for a cell of another variable-length buffer.
    pub fn get(&self, reference: &[u8]) -> &[u8] {
        let reference: VarRef = match reference.len() {
            VAR_REF_SIZE => bytemuck::pod_read_unaligned(reference),
            _ => VarRef::default(),
        };
        let end = reference.offset.saturating_add(reference.len.into());
        let buffer = self.0.get(reference.buffer as usize);
        let range = usize::try_from(reference.offset).ok().zip(usize::try_from(end).ok());
        let element = buffer.zip(range).and_then(|(buffer, (from, to))| buffer.get(from..to));
        element.unwrap_or_default()
    }
}

/// The variable-length elements of a stream, each after its length in four bytes, little-endian: the form in which handles read
/// and write such elements as bytes. It ends before an element that is cut off.
///
/// ```
/// use zarr_core::var_buffer::VarStream;
///
/// let mut bytes = Vec::new();
/// VarStream::push(&mut bytes, b"ab");
/// VarStream::push(&mut bytes, b"");
/// assert_eq!(bytes, b"\x02\0\0\0ab\0\0\0\0");
/// assert!(VarStream::new(&bytes).eq([&b"ab"[..], b""]));
/// ```
#[derive(Clone, Debug)]
pub struct VarStream<'a> {
    rest: &'a [u8],
}

impl<'a> VarStream<'a> {
    /// How many bytes a length has.
    pub const LENGTH_BYTES: usize = size_of::<u32>();

    /// The elements of these bytes.
    pub fn new(bytes: &'a [u8]) -> VarStream<'a> {
        VarStream { rest: bytes }
    }

    /// The bytes that are left: none after the last element, unless it was cut off.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Appends an element to a stream.
    ///
    /// # Panics
    /// If it is longer than 4 GiB, which no element of an array is.
    pub fn push(bytes: &mut Vec<u8>, element: &[u8]) {
        let length = u32::try_from(element.len()).expect("an element has less than 4 GiB");
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(element);
    }
}

impl<'a> Iterator for VarStream<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, after) = self.rest.split_first_chunk()?;
        let (element, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        self.rest = after;
        Some(element)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_ends_before_an_element_that_is_cut_off() {
        let bytes = [1, 0, 0, 0, 7, 0, 0, 0, 0, 2, 0, 0, 0, 8];
        let mut stream = VarStream::new(&bytes);
        assert_eq!(stream.next(), Some(&[7][..]));
        assert_eq!(stream.next(), Some(&[][..]));
        assert_eq!((stream.next(), stream.rest()), (None, &bytes[9..]));
        assert_eq!(VarStream::new(&bytes[..2]).next(), None);
        assert_eq!(VarStream::new(&[255; 4]).next(), None);
    }

    #[test]
    fn cells_stand_for_elements() {
        let (var_buffer, fill) = VarBuffer::holding(Bytes::from_static(b"fill")).unwrap();
        let buffer = var_buffer.add(Bytes::from_static(b"onetwo")).unwrap();
        let (one, two) = (buffer.reference(0, 3).unwrap(), buffer.reference(3, 3).unwrap());
        let elements = var_buffer.elements();
        assert_eq!(elements.get(fill.as_bytes()), b"fill");
        assert_eq!(elements.get(one.as_bytes()), b"one");
        assert_eq!(elements.get(two.as_bytes()), b"two");
        assert_eq!(elements.get(&[0; VAR_REF_SIZE]), b"");
        assert_eq!(elements.get(&[0xff; VAR_REF_SIZE]), b"");
        assert!(buffer.reference(4, 3).is_err());
        assert!(buffer.reference(u64::MAX, 2).is_err());
        assert_eq!(VarBuffer::holding(Bytes::new()).unwrap().1, VarRef::default());
    }

    /// Any sixteen bytes are a cell; what is none of this variable-length buffer's is the empty element.
    #[test]
    fn cells_of_nowhere_are_empty_elements() {
        let var_buffer = VarBuffer::default();
        let buffer = var_buffer.add(Bytes::from_static(b"abc")).unwrap();
        let good =
            *buffer.reference(1, 2).unwrap().as_bytes().first_chunk::<VAR_REF_SIZE>().unwrap();
        for at in 0..VAR_REF_SIZE {
            for flip in [0x01, 0x02, 0x80, 0xff] {
                let mut reference = good;
                reference[at] ^= flip;
                assert!(var_buffer.elements().get(&reference).len() <= 3);
            }
        }
        assert_eq!(var_buffer.elements().get(&good[1..]), b"");
        assert_eq!(var_buffer.elements().get(&[]), b"");
    }

    #[test]
    fn a_fork_leaves_the_first_buffer_as_it_is() {
        let (var_buffer, fill) = VarBuffer::holding(Bytes::from_static(b"fill")).unwrap();
        let old = var_buffer.add(Bytes::from_static(b"old")).unwrap().reference(0, 3).unwrap();
        let fork = var_buffer.fork();
        let new = fork.add(Bytes::from_static(b"new")).unwrap().reference(0, 3).unwrap();
        let (first, second) = (var_buffer.elements(), fork.elements());
        assert_eq!(second.get(fill.as_bytes()), b"fill");
        assert_eq!(second.get(old.as_bytes()), first.get(old.as_bytes()));
        assert_eq!(
            (second.get(new.as_bytes()), first.get(new.as_bytes())),
            (&b"new"[..], &b""[..])
        );
    }

    #[test]
    fn elements_are_compared_wherever_they_lie() {
        let var_buffer = VarBuffer::default();
        let buffer = var_buffer.add(Bytes::from_static(b"abab")).unwrap();
        let cells =
            [(0, 2), (2, 2), (1, 2), (4, 0), (0, 0)].map(|(at, len)| buffer.reference(at, len));
        let [a, b, c, d, e] = cells.map(|reference| reference.unwrap().as_bytes().to_vec());
        let elements = var_buffer.elements();
        assert!(elements.equal(&[a.clone(), d].concat(), &[b.clone(), e].concat()));
        assert!(!elements.equal(&a, &c));
        assert!(!elements.equal(&a, &[a.clone(), b].concat()));
        assert!(elements.equal(&[], &[]));
    }

    #[test]
    fn threads_add_to_one_buffer() {
        let var_buffer = VarBuffer::default();
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                let var_buffer = &var_buffer;
                scope.spawn(move || {
                    for n in 0..50u8 {
                        let reference = var_buffer
                            .add(vec![thread, n].into())
                            .unwrap()
                            .reference(0, 2)
                            .unwrap();
                        assert_eq!(var_buffer.elements().get(reference.as_bytes()), [thread, n]);
                    }
                });
            }
        });
    }
}
