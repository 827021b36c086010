//! Decodes a part of a chunk block by block, where a codec can decode blocks of its bytes on their own.
//!
//! A block passes through a buffer, and blocks that the part does not touch are not decoded.

use std::iter::once;

use super::buffer_pool;
use crate::error::CodecError;
use crate::region::{Region, byte_count};
use crate::view::{View, ViewMut};

/// The bytes of each block of a buffer, but for the last one, which may be shorter; and what decodes the block of a number
/// into memory of exactly its size.
pub type Blocks<'a> = (usize, Box<dyn Fn(usize, &mut [u8]) -> Result<(), CodecError> + 'a>);

/// Decodes the elements in `region` of a chunk of `shape`, which is in C order, into `out`. `None` if there are too few blocks,
/// or one of them is damaged; then `out` has anything.
pub(super) fn decode_blocks(
    (block, decode): &Blocks<'_>,
    shape: &[u64],
    region: &Region,
    out: &mut ViewMut<'_>,
) -> Option<()> {
    if region.is_empty() {
        return None;
    }
    let (&rows, inner) = shape.split_first()?;
    let cell = out.element_size();
    let there = out.shape();
    let (due, across) = region.intervals().split_first()?;
    let row = byte_count(inner, cell)? as usize;
    let size = row.checked_mul(rows as usize)?;
    // Few rows of a transposed piece would be copied element by element.
    let copies_rows = out.is_outermost(0) || block / 16 >= row;
    let room = block.checked_add(row).filter(|&room| copies_rows && *block > 0 && room < size)?;
    let mut buffer = buffer_pool::acquire(room)?;
    // The codec may be anyone's, and need not see what another chunk left there.
    buffer.fill(0);
    // The first `held` bytes of the buffer are the beginning of row `next`.
    let (start, end) = (due.start as usize, due.end as usize);
    let (mut next, mut held) = (start, 0);
    for number in start * row / block..(end * row).div_ceil(*block) {
        let begin = number * block - held;
        let filled = size.min((number + 1) * block) - begin;
        decode(number, &mut buffer[held..filled]).ok()?;
        let whole = ((begin + filled) / row).clamp(next, end);
        let kept = (whole * row - begin).min(filled);
        if whole > next {
            let (rows, to) = ((whole - next) as u64, (next - start) as u64);
            let elements = &buffer[next * row - begin..kept];
            let elements = View::new(elements, &[&[rows], inner].concat(), cell);
            let elements = elements.part(&Region::new(once(0..rows).chain(across.iter().cloned())));
            let all = there[1..].iter().map(|&len| 0..len);
            let to = Region::new(once(to..to + rows).chain(all));
            out.reborrow().part(&to).copy_from(&elements);
        }
        buffer.copy_within(kept..filled, 0);
        (next, held) = (whole, filled - kept);
    }
    buffer_pool::release_vec(buffer);
    Some(())
}
