//! Reads elements of a variable as a program wants them in its memory.

use zarr::nczarr::{Slab, Values};

use crate::codes::{EBADTYPE, EINTERNAL, ENOMEM, Failure, Result};
use crate::convert::convert;
use crate::index::Variable;
use crate::request::Memory;
use crate::types;

/// The most bytes of elements that are read at a time where they are not read straight into the caller's memory.
const MAX_PART_BYTES: u64 = 64 << 20;

/// Reads a slab of elements of fixed size into memory in C order. Tells whether all numbers are in the range of their type
/// there.
///
/// # Errors
/// What the store or a codec meets; [`ENOMEM`].
pub fn read_into(variable: &Variable, slab: &Slab, memory: Memory, out: &mut [u8]) -> Result<bool> {
    let is_one_part = variable.is_complex && slab.count.last() == Some(&1);
    if memory == Memory::Same && !is_one_part {
        return read_native(variable, slab, out).map(|()| true);
    }
    let element = memory.element_size(variable.ty);
    let mut rest = out;
    let mut is_in_range = true;
    for part in parts(slab, types::size_in_memory(variable.ty)) {
        let (place, behind) = std::mem::take(&mut rest).split_at_mut(count(&part)? * element);
        rest = behind;
        is_in_range &= read_part(variable, &part, memory, place)?;
    }
    Ok(is_in_range)
}

/// The same of a slab that is small enough to be read at a time.
pub fn read_part(variable: &Variable, part: &Slab, memory: Memory, out: &mut [u8]) -> Result<bool> {
    let Memory::Number(asked) = memory else {
        return read_native(variable, part, out).map(|()| true);
    };
    let mut scratch = zeroed(count(part)?, types::size_in_memory(variable.ty))?;
    read_native(variable, part, &mut scratch)?;
    convert(variable.ty, &scratch, asked, out).ok_or_else(|| EBADTYPE.into())
}

/// Reads a slab of elements as they are.
fn read_native(variable: &Variable, slab: &Slab, out: &mut [u8]) -> Result<()> {
    let read = |slab: &Slab, out: &mut [u8]| {
        variable.handle()?.read_slab_into(slab, out).map_err(|e| Failure::in_read(&e))
    };
    if !variable.is_complex {
        return read(slab, out);
    }
    // Along the last dimension are the two parts of one element.
    let mut whole = slab.clone();
    let parts = (whole.start.pop(), whole.count.pop(), whole.stride.pop());
    let (Some(first), Some(part_count), Some(_)) = parts else { return Err(EINTERNAL.into()) };
    if part_count == 2 {
        return read(&whole, out);
    }
    let size = types::size_in_memory(variable.ty);
    let mut scratch = zeroed(count(&whole)?, 2 * size)?;
    read(&whole, &mut scratch)?;
    let skipped = first as usize * size;
    for (pair, place) in scratch.chunks_exact(2 * size).zip(out.chunks_exact_mut(size)) {
        place.copy_from_slice(&pair[skipped..skipped + size]);
    }
    Ok(())
}

/// Reads a slab of texts.
///
/// # Errors
/// As [`read_into`].
pub fn read_texts(variable: &Variable, slab: &Slab) -> Result<Vec<String>> {
    match variable.handle()?.read_slab(slab).map_err(|e| Failure::in_read(&e))? {
        Values::String(texts) => Ok(texts),
        other => Err(Failure::new(EINTERNAL, format!("expected strings, found {}", other.ty()))),
    }
}

/// Memory for so many elements of this size.
///
/// # Errors
/// [`ENOMEM`].
pub fn zeroed(count: usize, element: usize) -> Result<Vec<u8>> {
    let bytes = count.checked_mul(element).ok_or(ENOMEM)?;
    let mut memory = Vec::new();
    memory.try_reserve_exact(bytes).map_err(|_| ENOMEM)?;
    memory.resize(bytes, 0);
    Ok(memory)
}

fn count(slab: &Slab) -> Result<usize> {
    crate::request::element_count(slab)
}

/// A slab in parts of at most [`MAX_PART_BYTES`], which follow each other in C order.
pub fn parts(slab: &Slab, element: usize) -> impl Iterator<Item = Slab> {
    let bytes_behind = |axis: usize| {
        let inside = slab.count[axis + 1..].iter();
        inside.fold(element as u64, |bytes, &count| bytes.saturating_mul(count))
    };
    // Along the axes before `axis` a part has one element, along it `step`, along those behind it all.
    let rank = slab.count.len();
    let axis = (0..rank).find(|&axis| bytes_behind(axis) <= MAX_PART_BYTES);
    let step = axis.map_or(1, |axis| (MAX_PART_BYTES / bytes_behind(axis).max(1)).max(1));
    let mut next = if slab.is_empty() { None } else { Some(vec![0; rank]) };
    let slab = slab.clone();
    std::iter::from_fn(move || {
        let at = next.take()?;
        let mut part = slab.clone();
        let cut = axis.map_or(0, |axis| axis + 1);
        for (axis, &place) in at.iter().enumerate().take(cut) {
            let left = slab.count[axis] - place;
            part.count[axis] = if axis + 1 == cut { step.min(left) } else { 1 };
            part.start[axis] = slab.start[axis] + place * slab.stride[axis];
        }
        next = (0..cut).rev().find_map(|axis| {
            let after = at[axis] + part.count[axis];
            let mut at = at.clone();
            at[axis] = after;
            at[axis + 1..].fill(0);
            (after < slab.count[axis]).then_some(at)
        });
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts cover the slab in C order, and none is too large.
    #[test]
    fn parts_cover_the_slab() {
        let large = MAX_PART_BYTES;
        for (count, parts_expected) in [
            (vec![], 1),
            (vec![0, 5], 0),
            (vec![3, 5], 1),
            (vec![3, 2, large / 8], 6),
            (vec![4, large / 16], 2),
            (vec![2, large / 4], 4),
            (vec![large / 2], 4),
        ] {
            let slab =
                Slab::new(vec![1; count.len()], count.clone()).with_stride(vec![2; count.len()]);
            let found: Vec<Slab> = parts(&slab, 8).collect();
            assert_eq!(found.len(), parts_expected, "{count:?}");
            let mut covered = 0;
            for part in &found {
                let len = part.len().unwrap();
                assert!(len * 8 <= large, "{part:?}");
                let at = part.start.iter().map(|start| (start - 1) / 2);
                let place = at.zip(&count).fold(0, |place, (at, &count)| place * count + at);
                assert_eq!(place, covered);
                covered += len;
            }
            assert_eq!(covered, slab.len().unwrap());
        }
    }
}
