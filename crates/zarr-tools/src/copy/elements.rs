//! Copies the elements of an array, and counts those that were never stored.

use zarr_core::grid::Pieces;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{Array, ErrorKind, Region, Result};

use super::netcdf::Conversion;
use super::rechunk::{Done, ElementOptions, Rechunk, Source};
use super::run::source_of;
use super::{CopyOptions, Progress, Steps};

/// Which elements of an array are copied.
pub(super) struct ElementChoice<'a> {
    /// Whether objects of nothing but the source's fill value are not written.
    pub leaves_holes: bool,
    /// The selected elements of the source; all, if there are none.
    pub region: Option<&'a [Steps]>,
    /// How elements become those of the copy, if they are not the same.
    pub conversion: Option<&'a Conversion>,
    /// Whether an object of the target is there already, and is left out.
    pub is_done: &'a (dyn Fn(&Region) -> bool + Sync),
}

/// Where the first of the selected elements is in the source, if they are a box.
pub(super) fn box_start(steps: &[Steps]) -> Option<Vec<u64>> {
    let is_box = steps.iter().all(|steps| steps.step == 1);
    is_box.then(|| steps.iter().map(|steps| steps.start).collect())
}

/// Copies boxes of whole objects of the target. Calls `done` for each box of objects that is stored, or is a hole, but not
/// for those that were there.
pub(super) fn copy_elements(
    (from, to): (&Array, &Array),
    boxes: &[Region],
    which: &ElementChoice<'_>,
    (options, progress): (&CopyOptions<'_>, &mut Progress),
    done: &mut dyn FnMut(&Region, &mut Progress) -> Result<()>,
) -> Result<()> {
    let select = |region: &Region| source_of(region, which.region);
    let source = match (which.conversion, which.region) {
        (Some(_), _) => Some(Source { select: &select, start: None }),
        (None, steps) => steps.map(|steps| Source { select: &select, start: box_start(steps) }),
    };
    let convert = which
        .conversion
        .map(|conversion| |from: &Array, region: &Region| conversion.read(from, region));
    let how = ElementOptions {
        memory: options.memory,
        leaves_holes: which.leaves_holes,
        cancel: options.cancel.clone(),
        is_done: Some(which.is_done),
        source,
        convert: convert.as_ref().map(|convert| convert as _),
        ..ElementOptions::default()
    };
    let rechunk = Rechunk::new(from, to, &how)?;
    progress.spool = rechunk.spool();
    let done: Done<'_> = &mut |region: &Region| done(region, progress);
    rechunk.copy(boxes, done)
}

/// Whether an array's bytes, as they are read, are nothing but this element.
pub(super) fn is_all(element: &[u8], bytes: &[u8], is_variable: bool) -> bool {
    let length = (element.len() as u32).to_le_bytes();
    let element = if is_variable { [&length, element].concat() } else { element.to_vec() };
    element.is_empty() || bytes.chunks(element.len()).all(|one| one == element)
}

/// How many chunks of an array hold its fill value because they were never stored.
pub(super) struct Holes {
    /// How many; a lower bound, where there are many.
    pub count: u64,
    /// How many chunks it has.
    pub total: u64,
    /// Whether a copy may write them: at most a quarter of all, or a single one (docs/internals/design/missing-data.md).
    pub few: bool,
}

/// Counts the chunks that were never stored: by one listing, if each has its own key and the store lists; else by
/// reading them until there are too many.
pub(super) fn holes(array: &Array) -> Result<Holes> {
    let metadata = array.metadata();
    let flat = ArrayMetadata::clone(&metadata).unsharded();
    let Some(grid) = &flat.grid else { return Ok(Holes { count: 0, total: 0, few: true }) };
    let counts = (0..flat.rank()).map(|axis| grid.count(axis, flat.shape[axis]));
    let total = counts.fold(1u64, |all, count| all.saturating_mul(count));
    let is_flat = flat.codecs == metadata.codecs && metadata.shards.is_none();
    if is_flat {
        match array.stored_chunks() {
            Ok(stored) => {
                let count = total.saturating_sub(stored);
                return Ok(Holes { count, total, few: are_few(count, total) });
            }
            Err(e) if e.kind() == ErrorKind::NotCapable => {}
            Err(e) => return Err(e),
        }
    }
    let (mut count, fill) = (0, metadata.fill_bytes());
    for chunk in Pieces::of_shape(grid.clone(), &flat.shape, 1, 0) {
        let bytes = array.read_bytes(&chunk.selection)?;
        count += u64::from(is_all(&fill, &bytes, metadata.data_type.is_variable()));
        if !are_few(count, total) {
            break;
        }
    }
    Ok(Holes { count, total, few: are_few(count, total) })
}

/// Whether so few of the chunks are missing that a copy does not ask for each of them.
fn are_few(count: u64, total: u64) -> bool {
    count <= 1 || count <= total / 4
}
