//! Converts elements of a variable to those of its copy, where they are not the same bytes: texts, and arrays that are
//! shorter than their dimensions.

use zarr_core::data_type::{Repr, unpadded};
use zarr_core::metadata::ArrayMetadata;
use zarr_core::var_buffer::VarStream;
use zarr_core::{AccessError, Array, Region, Result, Selection};

use crate::model::elements::{encode_texts, text_in, utf32};

/// How elements of one array become those of its copy in another dataset.
#[derive(Clone, Debug)]
pub struct Conversion {
    from: Repr,
    to: Repr,
    /// The shape of the copy; a scalar's may be `[1]` on one side.
    shape: Vec<u64>,
    fill: Vec<u8>,
}

impl Conversion {
    /// The conversion from an array to one of this metadata; `None` if the copy has the same bytes at the same places.
    pub fn between(from: &ArrayMetadata, to: &ArrayMetadata) -> Option<Conversion> {
        let (old, new) = (from.data_type.repr()?, to.data_type.repr()?);
        let is_same = old == new || !(is_text(old) || is_text(new)) && old.size() == new.size();
        if is_same && from.shape == to.shape {
            return None;
        }
        let (shape, fill) = (to.shape.clone(), from.fill_bytes());
        Some(Conversion { from: old, to: new, shape, fill })
    }

    /// Reads the elements of a region of the copy, as [`Array::write_bytes`] of the copy takes them. What `from` does not
    /// have is its fill value.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for a text that is wider than the elements of the copy; what reading meets.
    pub fn read(&self, from: &Array, region: &Region) -> Result<Vec<u8>> {
        let at = |e: AccessError| zarr_core::Error::from(e).at_path(from.path());
        let have = from.shape();
        if have.len() != self.shape.len() {
            // The one element of a scalar.
            let bytes = from.read_bytes(Region::new(have.iter().map(|_| 0..1)))?;
            let mut out = Vec::new();
            self.split(&bytes).try_for_each(|element| self.add(&mut out, element)).map_err(at)?;
            return Ok(out);
        }
        let clipped = region.intervals().iter().zip(&have);
        let there = Region::new(clipped.map(|(range, &len)| {
            let start = range.start.min(len);
            start..range.end.clamp(start, len)
        }));
        let is_empty = there.element_count() == Some(0);
        let bytes = if is_empty { Vec::new() } else { from.read_bytes(Selection::from(&there))? };
        if self.from == self.to && there == *region {
            return Ok(bytes);
        }
        let mut elements = self.split(&bytes);
        let mut out = Vec::new();
        let mut place: Vec<u64> = region.intervals().iter().map(|range| range.start).collect();
        for _ in 0..region.element_count().unwrap_or(0) {
            let mut axes = place.iter().zip(there.intervals());
            let is_there = axes.all(|(at, range)| range.contains(at));
            let element = if is_there { elements.next() } else { None };
            self.add(&mut out, element.unwrap_or(&self.fill)).map_err(at)?;
            for (at, range) in place.iter_mut().zip(region.intervals()).rev() {
                *at += 1;
                if *at < range.end {
                    break;
                }
                *at = range.start;
            }
        }
        Ok(out)
    }

    /// The bytes of each element that was read.
    fn split<'b>(&self, bytes: &'b [u8]) -> impl Iterator<Item = &'b [u8]> {
        let (size, mut rest) = (self.from.size(), bytes);
        let mut stream = matches!(self.from, Repr::Variable).then(|| VarStream::new(bytes));
        std::iter::from_fn(move || {
            if let Some(stream) = &mut stream {
                return stream.next();
            }
            let (element, behind) = rest.split_at_checked(size).filter(|_| !rest.is_empty())?;
            rest = behind;
            Some(element)
        })
    }

    /// Adds an element in the form of the copy.
    fn add(&self, out: &mut Vec<u8>, element: &[u8]) -> Result<(), AccessError> {
        match (self.from, self.to) {
            (from, to) if from == to && !matches!(to, Repr::Variable) => {
                out.extend_from_slice(element);
            }
            // Bytes of one width, which need not be UTF-8.
            (Repr::Opaque(_), Repr::Opaque(new)) => {
                let (start, text) = (out.len(), unpadded(element, 1));
                out.extend_from_slice(&text[..text.len().min(new)]);
                out.resize(start + new, 0);
            }
            (from, to) => {
                let text = match from {
                    Repr::Utf32(_) => utf32(element),
                    Repr::Variable => String::from_utf8_lossy(element).into_owned(),
                    _ => String::from_utf8_lossy(text_in(element)).into_owned(),
                };
                if let Repr::Variable = to {
                    let len = u32::try_from(text.len()).unwrap_or(u32::MAX);
                    out.extend_from_slice(&len.to_le_bytes());
                    out.extend_from_slice(text.as_bytes());
                } else {
                    out.extend(encode_texts(&[text], to, false)?);
                }
            }
        }
        Ok(())
    }
}

/// Whether the elements are texts.
fn is_text(repr: Repr) -> bool {
    matches!(repr, Repr::Variable | Repr::Utf32(_))
}
