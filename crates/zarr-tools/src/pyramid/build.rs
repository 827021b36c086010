//! Makes the chunks of the levels of one image.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use zarr_core::{Array, Error, MetadataError, Region, Result};

use super::journal::Handover;
use super::reduce::{Reducer, advance};
use super::sample::Sample;
use super::tiles::{Tiles, lengths, places};

/// An image whose levels are about to be made.
pub(super) struct Image<'a> {
    pub tiles: &'a Tiles,
    pub base: Array,
    /// The arrays of the levels from level 1 on; nothing is written to one that is there already.
    pub levels: Vec<Option<Array>>,
    /// The level whose tiles are handed over.
    pub part_level: usize,
    pub handover: Handover<'a>,
    /// Hears how many elements of the base were read.
    pub read: &'a (dyn Fn(u64) + Sync),
}

/// Makes the levels of an image, root by root.
pub(super) trait Make: Sync {
    /// Makes a root of the part level and all below it. Returns how many stored objects that gives: those that have something else
    /// than the fill value.
    fn make_part(&self, root: u64) -> Result<u64>;

    /// Makes a root of the top level from what the parts have handed over.
    fn make_top(&self, root: u64) -> Result<()>;
}

/// The levels of one image, whose elements are made of blocks.
pub(super) struct Build<'a, R: Reducer> {
    pub image: Image<'a>,
    pub reducer: R,
    /// The roots of the part level below which something is stored; `None` if all may have something.
    pub stored: Option<BTreeSet<u64>>,
    /// The fill value of the base.
    pub fill: R::Element,
}

/// Where a tile's elements come from.
#[derive(Clone, Copy, PartialEq)]
enum Origin {
    Base,
    Handover,
}

impl<R: Reducer> Make for Build<'_, R> {
    fn make_part(&self, root: u64) -> Result<u64> {
        let Image { tiles, part_level, .. } = self.image;
        let mut objects = Objects::default();
        for tile in tiles.tiles_of_root(part_level, root) {
            let made = self.make(part_level, &tile, Origin::Base, &mut objects)?;
            if part_level < tiles.top()
                && let Some(made) = made
            {
                let number = tiles.number_of_tile(part_level, &tile);
                self.image.handover.put(number, self.reducer.to_bytes(&made))?;
            }
        }
        debug_assert!(objects.unfinished.is_empty(), "all tiles of an object are in one root");
        Ok(objects.stored)
    }

    fn make_top(&self, root: u64) -> Result<()> {
        let Image { tiles, .. } = self.image;
        let mut objects = Objects::default();
        for tile in tiles.tiles_of_root(tiles.top(), root) {
            self.make(tiles.top(), &tile, Origin::Handover, &mut objects)?;
        }
        debug_assert!(objects.unfinished.is_empty(), "all tiles of an object are in one root");
        Ok(())
    }
}

impl<R: Reducer> Build<'_, R> {
    /// Makes a tile and all below it that is not handed over. `None` if nothing is stored there.
    fn make(
        &self,
        level: usize,
        tile: &[u64],
        from: Origin,
        objects: &mut Objects<R::Element>,
    ) -> Result<Option<R::Tile>> {
        if from == Origin::Handover && level == self.image.part_level {
            return self.handed_over(tile);
        }
        let region = self.image.tiles.region(level, tile);
        let len = lengths(&region).iter().product();
        let made = if level == 1 {
            let base = self.image.tiles.base_of_tile(1, tile);
            let elements: Vec<R::Element> = self.image.base.read(&base)?;
            let mut made = self.reducer.empty(len);
            self.reducer.add_base(&elements, &self.image.tiles.fold(1, &region, &base), &mut made);
            (self.image.read)(elements.len() as u64);
            made
        } else {
            // Children before the first of which something is stored have nothing but the fill value.
            let (mut made, mut absent) = (None, Vec::new());
            for child in self.image.tiles.children(level, tile) {
                let below = self.image.tiles.region(level - 1, &child);
                let child = self.make(level - 1, &child, from, objects)?;
                if child.is_none() && made.is_none() {
                    absent.push(below);
                    continue;
                }
                let made = made.get_or_insert_with(|| self.reducer.empty(len));
                for region_of_absent in absent.drain(..) {
                    self.add_fill(level, &region, &region_of_absent, made);
                }
                match child {
                    Some(child) => {
                        self.reducer.add(
                            &child,
                            &self.image.tiles.fold(level, &region, &below),
                            made,
                        );
                    }
                    None => self.add_fill(level, &region, &below, made),
                }
            }
            let Some(made) = made else {
                if let Some(array) = &self.image.levels[level - 1] {
                    objects.write((level, array), &region, None, self.fill)?;
                }
                return Ok(None);
            };
            made
        };
        if let Some(array) = &self.image.levels[level - 1] {
            let counts = self.image.tiles.base_counts(level, &region);
            let elements = self.reducer.elements(&made, &counts);
            objects.write((level, array), &region, Some(&elements), self.fill)?;
        }
        Ok(Some(made))
    }

    /// Adds a child of nothing but the fill value.
    fn add_fill(&self, level: usize, region: &Region, below: &Region, made: &mut R::Tile) {
        let child = self.reducer.filled(self.fill, &self.image.tiles.base_counts(level - 1, below));
        self.reducer.add(&child, &self.image.tiles.fold(level, region, below), made);
    }

    /// What a tile of the part level has handed over.
    fn handed_over(&self, tile: &[u64]) -> Result<Option<R::Tile>> {
        let root = self.image.tiles.root_of_tile(self.image.part_level, tile);
        if self.stored.as_ref().is_some_and(|stored| !stored.contains(&root)) {
            return Ok(None);
        }
        let region = self.image.tiles.region(self.image.part_level, tile);
        let len = lengths(&region).iter().product();
        let number = self.image.tiles.number_of_tile(self.image.part_level, tile);
        // A sum has at most 16 bytes, and a count 4.
        let bytes = self.image.handover.get(number, len as u64 * 20)?;
        let made = bytes.and_then(|bytes| self.reducer.tile_of_bytes(&bytes, len));
        made.map(Some).ok_or_else(|| {
            let why = format!("tile {number} of level {} is not in the journal", self.image.part_level);
            Error::from(MetadataError::invalid("pyramid", why)).with_hint(
                "the image has been changed since;  start over with `--restart` (library: `PyramidOptions::restart`)",
            )
        })
    }
}

/// The stored objects of a root while they are made.
pub(super) struct Objects<T> {
    /// Those of which some elements are made, by level and place.
    unfinished: HashMap<(usize, Vec<u64>), Object<T>>,
    /// How many were written that have something else than the fill value.
    pub stored: u64,
}

/// A stored object of which some elements are made.
struct Object<T> {
    region: Region,
    elements: Vec<T>,
    /// How many elements are not made.
    left: usize,
    /// Whether any were made, and not only passed over.
    is_written: bool,
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Objects { unfinished: HashMap::new(), stored: 0 }
    }
}

impl<T: Sample> Objects<T> {
    /// Writes the elements of a tile, or keeps those that belong to objects of which more is to come. `None` are elements of
    /// nothing but the fill value, which need not be written.
    pub fn write(
        &mut self,
        (level, array): (usize, &Array),
        region: &Region,
        elements: Option<&[T]>,
        fill: T,
    ) -> Result<()> {
        let (shape, object) = (array.shape(), array.metadata().chunk_extent());
        let ranges = || region.intervals().iter().zip(&object);
        let mut ends = ranges().zip(&shape);
        let is_whole = ends.all(|((range, object), len)| {
            let is_end = range.end.is_multiple_of(*object) || range.end == *len;
            range.start.is_multiple_of(*object) && is_end
        });
        let objects = places(ranges().map(|(r, object)| r.start / object..r.end.div_ceil(*object)));
        let region_of = |place: &[u64]| {
            let axes = place.iter().zip(&object).zip(&shape);
            Region::new(axes.map(|((at, len), end)| at * len..((at + 1) * len).min(*end)))
        };
        if is_whole {
            let Some(elements) = elements else { return Ok(()) };
            let stored =
                objects.iter().filter(|place| has_other(elements, region, &region_of(place), fill));
            self.stored += stored.count() as u64;
            return array.write(region, elements);
        }
        for place in objects {
            let region_of_object = region_of(&place);
            let key = (level, place);
            let unfinished = self.unfinished.entry(key.clone()).or_insert_with(|| {
                let region = region_of_object;
                let left = lengths(&region).iter().product();
                Object { elements: vec![fill; left], region, left, is_written: false }
            });
            let part = common(region, &unfinished.region);
            if let Some(elements) = elements {
                unfinished.is_written = true;
                let to = (&mut unfinished.elements[..], &unfinished.region);
                copy_box((elements, region), to, &part);
            }
            unfinished.left -= lengths(&part).iter().product::<usize>();
            if unfinished.left == 0
                && let Some(object) = self.unfinished.remove(&key)
                && object.is_written
            {
                let Object { elements, region, .. } = &object;
                self.stored += u64::from(has_other(elements, region, region, fill));
                array.write(&object.region, &object.elements)?;
            }
        }
        Ok(())
    }
}

/// Whether some element of a part of a region has other bits than the fill value.
fn has_other<T: Sample>(elements: &[T], region: &Region, part: &Region, fill: T) -> bool {
    let (part_lens, outer) = (lengths(part), part.rank() - 1);
    if part_lens.contains(&0) {
        return false;
    }
    let mut at = vec![0; outer];
    loop {
        let start = row_start(region, part, &at);
        let row = &elements[start..start + part_lens[outer]];
        if row.iter().any(|element| element.order(&fill) != Ordering::Equal) {
            return true;
        }
        if !advance(&mut at, &part_lens[..outer]) {
            return false;
        }
    }
}

/// The elements that two regions have in common.
pub(super) fn common(a: &Region, b: &Region) -> Region {
    let axes = a.intervals().iter().zip(b.intervals());
    Region::new(axes.map(|(a, b)| a.start.max(b.start)..a.end.min(b.end)))
}

/// Copies the elements of a part of two boxes from one to the other.
pub(super) fn copy_box<T: Copy>(
    (from, from_region): (&[T], &Region),
    (to, to_region): (&mut [T], &Region),
    part: &Region,
) {
    let (part_lens, outer) = (lengths(part), part.rank() - 1);
    if part_lens.contains(&0) {
        return;
    }
    let row = part_lens[outer];
    let mut at = vec![0; outer];
    loop {
        let (source, target) = (row_start(from_region, part, &at), row_start(to_region, part, &at));
        to[target..target + row].copy_from_slice(&from[source..source + row]);
        if !advance(&mut at, &part_lens[..outer]) {
            return;
        }
    }
}

/// Where a row of a part begins among the elements of a region.
fn row_start(region: &Region, part: &Region, at: &[usize]) -> usize {
    let axes = part.intervals().iter().zip(region.intervals()).enumerate();
    axes.fold(0, |place, (axis, (part, all))| {
        let before = (part.start - all.start) as usize + at.get(axis).unwrap_or(&0);
        place * (all.end - all.start) as usize + before
    })
}
