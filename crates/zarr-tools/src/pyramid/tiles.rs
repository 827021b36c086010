//! The geometry of a pyramid: which elements of which level are made together.
//!
//! Each level is cut into tiles of one shape. A tile of level 1 is made of a box of the base, a tile of a further level of whole
//! tiles of the level below it, its children: so the tiles above one another are a tree, and each is made once. Where the lengths
//! let it be, a tile of level 1 covers whole chunks of the base, so that each of those is read once.
//!
//! A *root* is a box of tiles of one level that is made of whole stored objects at that level and at all below it: who makes a root
//! with everything below it shares no object with others.

use std::ops::Range;

use zarr_core::Region;

use super::reduce::{Counts, Fold};

/// One level of a pyramid.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Level {
    /// How many elements of the base one element covers along each axis.
    pub factors: Vec<u64>,
    /// How many elements of the level below.
    pub steps: Vec<u64>,
    pub shape: Vec<u64>,
}

/// The levels of a pyramid above its base, and their tiles.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tiles {
    pub base: Vec<u64>,
    /// Level 1 is the first.
    pub levels: Vec<Level>,
    /// The shape of a tile.
    pub tile: Vec<u64>,
    /// The shape of a root, a multiple of a tile's.
    pub root: Vec<u64>,
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

pub(super) fn lcm(a: u64, b: u64) -> u64 {
    (a / gcd(a, b)).saturating_mul(b)
}

/// The levels that these steps make.
pub(super) fn levels(base: &[u64], steps: &[Vec<u64>]) -> Vec<Level> {
    let mut factors = vec![1; base.len()];
    let mut levels = Vec::new();
    for steps in steps {
        for (factor, step) in factors.iter_mut().zip(steps) {
            *factor *= step;
        }
        let shape = base.iter().zip(&factors).map(|(len, factor)| len.div_ceil(*factor));
        levels.push(Level {
            factors: factors.clone(),
            steps: steps.clone(),
            shape: shape.collect(),
        });
    }
    levels
}

/// What the lengths of tiles depend on.
pub(super) struct Lengths<'a> {
    pub base: &'a [u64],
    pub levels: &'a [Level],
    /// The chunks of the base.
    pub base_chunk: &'a [u64],
    /// The chunks of the levels, and the objects that they are stored in.
    pub chunk: &'a [u64],
    pub object: &'a [u64],
    /// Bytes of an element, and of what a box of the base may have that is read at once.
    pub element: u64,
    pub max_bytes: u64,
}

impl Tiles {
    /// Chooses tiles that cover whole chunks of the base, if those are not too large together; and whether they do.
    pub fn new(lengths: &Lengths<'_>) -> (Tiles, bool) {
        let Lengths { base, levels, base_chunk, chunk, .. } = *lengths;
        let rank = base.len();
        let first = &levels[0];
        // Levels are cut at chunks, and between the blocks of the next level.
        let least: Vec<u64> = (0..rank)
            .map(|axis| levels.iter().fold(chunk[axis], |len, level| lcm(len, level.steps[axis])))
            .collect();
        let mut tile: Vec<u64> = (0..rank)
            .map(|axis| {
                let (len, step) = (first.shape[axis], first.steps[axis]);
                let whole = len.div_ceil(least[axis]).saturating_mul(least[axis]);
                if base_chunk[axis] >= base[axis] {
                    return whole;
                }
                let covered = base_chunk[axis] / gcd(base_chunk[axis], step);
                lcm(least[axis], covered).min(whole)
            })
            .collect();
        let mut is_aligned = true;
        loop {
            let bytes = (0..rank)
                .map(|axis| tile[axis].saturating_mul(first.steps[axis]).min(base[axis]))
                .fold(lengths.element, u64::saturating_mul);
            if bytes <= lengths.max_bytes {
                break;
            }
            let longest = (0..rank).max_by_key(|&axis| tile[axis] / least[axis]);
            let Some(axis) = longest.filter(|&axis| tile[axis] > least[axis]) else { break };
            tile[axis] = least[axis];
            is_aligned = false;
        }
        let root = tile.iter().zip(lengths.object).map(|(&tile, &object)| lcm(tile, object));
        let tiles =
            Tiles { base: base.to_vec(), levels: levels.to_vec(), root: root.collect(), tile };
        (tiles, is_aligned)
    }

    /// How many levels there are above the base.
    pub fn top(&self) -> usize {
        self.levels.len()
    }

    /// The shape of a level; the base is level 0.
    pub fn shape(&self, level: usize) -> &[u64] {
        if level == 0 { &self.base } else { &self.level(level).shape }
    }

    fn level(&self, level: usize) -> &Level {
        &self.levels[level - 1]
    }

    /// How many boxes of a shape a level has along each axis.
    fn counts(&self, level: usize, shape: &[u64]) -> Vec<u64> {
        let lens = &self.level(level).shape;
        lens.iter().zip(shape).map(|(len, of)| len.div_ceil(*of)).collect()
    }

    /// The elements of a tile.
    pub fn region(&self, level: usize, tile: &[u64]) -> Region {
        self.box_of(level, &self.tile, tile)
    }

    fn box_of(&self, level: usize, shape: &[u64], place: &[u64]) -> Region {
        let lens = &self.level(level).shape;
        Region::new((0..lens.len()).map(|axis| {
            let start = place[axis] * shape[axis];
            start..start.saturating_add(shape[axis]).min(lens[axis])
        }))
    }

    /// The elements of the base that a tile covers.
    pub fn base_of_tile(&self, level: usize, tile: &[u64]) -> Region {
        self.base_of(level, &self.region(level, tile))
    }

    fn base_of(&self, level: usize, region: &Region) -> Region {
        let axes = region.intervals().iter().zip(&self.level(level).factors).zip(&self.base);
        Region::new(axes.map(|((range, factor), len)| {
            range.start * factor..range.end.saturating_mul(*factor).min(*len)
        }))
    }

    /// The tiles of the level below that a tile is made of, in C order.
    pub fn children(&self, level: usize, tile: &[u64]) -> Vec<Vec<u64>> {
        let counts = self.counts(level - 1, &self.tile);
        let steps = &self.level(level).steps;
        places((0..tile.len()).map(|axis| {
            let first = tile[axis] * steps[axis];
            first..(first + steps[axis]).min(counts[axis])
        }))
    }

    /// Where the elements of a child go in its parent.
    pub fn fold(&self, level: usize, parent: &Region, child: &Region) -> Fold {
        let steps = &self.level(level).steps;
        let starts = child.intervals().iter().zip(parent.intervals()).zip(steps);
        Fold {
            child: lengths(child),
            steps: steps.iter().map(|&step| step as usize).collect(),
            parent: lengths(parent),
            offset: starts.map(|((c, p), step)| (c.start / step - p.start) as usize).collect(),
        }
    }

    /// How many elements of the base each element of a region covers.
    pub fn base_counts(&self, level: usize, region: &Region) -> Counts {
        let axes = region.intervals().iter().zip(&self.level(level).factors).zip(&self.base);
        let mut counts = Vec::new();
        for ((range, &factor), &len) in axes {
            // The plan has seen that a block has at most 2³¹ elements.
            counts.push(
                range
                    .clone()
                    .map(|at| (((at + 1) * factor).min(len) - at * factor) as u32)
                    .collect(),
            );
        }
        Counts(counts)
    }

    /// How many roots a level has.
    pub fn roots(&self, level: usize) -> u64 {
        self.counts(level, &self.root).iter().fold(1, |all, count| all.saturating_mul(*count))
    }

    /// The tiles of a root, the roots being counted in C order. Tiles of one stored object follow each other, at this level and
    /// below it, where an object is a power of two of tiles long.
    pub fn tiles_of_root(&self, level: usize, root: u64) -> Vec<Vec<u64>> {
        let root = place_of(root, &self.counts(level, &self.root));
        let counts = self.counts(level, &self.tile);
        let mut tiles = places((0..root.len()).map(|axis| {
            let per_root = self.root[axis] / self.tile[axis];
            let first = root[axis] * per_root;
            first..first.saturating_add(per_root).min(counts[axis])
        }));
        let first = tiles.first().cloned().unwrap_or_default();
        tiles.sort_by_cached_key(|tile| z_order(tile, &first));
        tiles
    }

    /// The root that a tile is in.
    pub fn root_of_tile(&self, level: usize, tile: &[u64]) -> u64 {
        let counts = self.counts(level, &self.root);
        let places =
            tile.iter().enumerate().map(|(axis, at)| at * self.tile[axis] / self.root[axis]);
        places.zip(counts).fold(0, |number, (place, count)| number * count + place)
    }

    /// The root of the level `part` in which an element of that level or of one below it is.
    pub fn root_of_element(&self, part: usize, level: usize, element: &[u64]) -> u64 {
        let (factors, of_part) = (&self.level(level).factors, &self.level(part).factors);
        let counts = self.counts(part, &self.root);
        (0..element.len()).fold(0, |number, axis| {
            let in_base = element[axis].saturating_mul(factors[axis]);
            let place = in_base / self.root[axis].saturating_mul(of_part[axis]);
            number * counts[axis] + place
        })
    }

    /// The number of a tile, in C order.
    pub fn number_of_tile(&self, level: usize, tile: &[u64]) -> u64 {
        let counts = self.counts(level, &self.tile);
        tile.iter().zip(counts).fold(0, |number, (place, count)| number * count + place)
    }

    /// The shape of the box of the base that a root covers.
    pub fn base_shape_of_root(&self, level: usize) -> Vec<u64> {
        let factors = &self.level(level).factors;
        let axes = self.root.iter().zip(factors).zip(&self.base);
        axes.map(|((root, factor), len)| root.saturating_mul(*factor).min(*len).max(1)).collect()
    }

    /// Elements of a tile of a level, at most.
    pub fn tile_len(&self, level: usize) -> u64 {
        let lens = self.tile.iter().zip(&self.level(level).shape);
        lens.map(|(tile, len)| *tile.min(len)).fold(1, u64::saturating_mul)
    }

    /// Elements of the base that a tile of level 1 covers, at most.
    pub fn base_len(&self) -> u64 {
        let axes = self.tile.iter().zip(&self.level(1).steps).zip(&self.base);
        axes.map(|((tile, step), len)| tile.saturating_mul(*step).min(*len))
            .fold(1, u64::saturating_mul)
    }
}

/// How many elements a region has along each axis, of a region that fits in memory.
pub(super) fn lengths(region: &Region) -> Vec<usize> {
    region.intervals().iter().map(|range| (range.end - range.start) as usize).collect()
}

/// All places in a box, in C order.
pub(super) fn places(ranges: impl IntoIterator<Item = Range<u64>>) -> Vec<Vec<u64>> {
    let mut places = vec![Vec::new()];
    for range in ranges {
        places = places
            .iter()
            .flat_map(|place| {
                let place = place.clone();
                range.clone().map(move |at| [&place[..], &[at]].concat())
            })
            .collect();
    }
    places
}

/// The bits of a place from `first` on, the highest of all axes first.
fn z_order(place: &[u64], first: &[u64]) -> Vec<bool> {
    let axes = || place.iter().zip(first).map(|(at, first)| at - first);
    let bits = axes().map(|at| u64::BITS - at.leading_zeros()).max().unwrap_or(0);
    // The same number of bits for all: a root has fewer than 2³² tiles along an axis.
    (0..bits.max(32)).rev().flat_map(|bit| axes().map(move |at| at >> bit & 1 == 1)).collect()
}

/// The place of a number in C order.
fn place_of(mut number: u64, counts: &[u64]) -> Vec<u64> {
    let mut place = vec![0; counts.len()];
    for axis in (0..counts.len()).rev() {
        place[axis] = number % counts[axis].max(1);
        number /= counts[axis].max(1);
    }
    place
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Goes through all roots of the level `part`, and of the top, as a build does: each tile has whole blocks, all of them have
    /// everything, and no stored object is in two roots.
    #[test]
    fn each_element_of_each_level_is_made_once() {
        for (base, steps, base_chunk, chunk, object, max_bytes) in [
            (vec![1000, 777], vec![vec![2, 2]; 4], [100, 64], [64, 64], [64, 64], u64::MAX),
            (vec![1000, 777], vec![vec![2, 2]; 4], [100, 64], [64, 64], [256, 128], 40_000),
            (vec![999, 500], vec![vec![3, 2], vec![2, 2]], [50, 500], [25, 60], [25, 60], u64::MAX),
            (vec![7, 130], vec![vec![1, 2]; 3], [1, 32], [1, 16], [2, 32], u64::MAX),
            (vec![64, 64], vec![vec![8, 8], vec![2, 2]], [64, 64], [3, 5], [6, 5], 100),
            (vec![5, 1], vec![vec![2, 1]; 3], [2, 1], [2, 1], [2, 1], u64::MAX),
        ] {
            let levels = levels(&base, &steps);
            let (tiles, is_aligned) = Tiles::new(&Lengths {
                base: &base,
                levels: &levels,
                base_chunk: &base_chunk,
                chunk: &chunk,
                object: &object,
                element: 1,
                max_bytes,
            });
            for part in 1..=tiles.top() {
                let mut made = HashMap::new();
                let mut objects = HashMap::new();
                for root in 0..tiles.roots(part) {
                    for tile in tiles.tiles_of_root(part, root) {
                        assert_eq!(tiles.root_of_tile(part, &tile), root);
                        visit(&tiles, part, &tile, &mut |level, tile| {
                            *made.entry((level, tile.to_vec())).or_insert(0) += 1;
                            let region = tiles.region(level, tile);
                            for axis in 0..2 {
                                assert!(!region.intervals()[axis].is_empty());
                            }
                            let first = region.intervals().iter().zip(&object);
                            let first: Vec<u64> = first.map(|(r, of)| r.start / of).collect();
                            let other = objects.insert((level, first), root);
                            assert!(other.is_none_or(|other| other == root));
                        });
                    }
                }
                assert!(made.values().all(|&count| count == 1));
                for level in 1..=part {
                    let count: u64 = tiles.counts(level, &tiles.tile).iter().product();
                    let made = made.keys().filter(|(of, _)| *of == level).count();
                    assert_eq!(made as u64, count, "{base:?} level {level}");
                }
            }
            let (first, mut read) = (tiles.counts(1, &tiles.tile), HashMap::new());
            for tile in places(first.iter().map(|&count| 0..count)) {
                let base = tiles.base_of_tile(1, &tile);
                let ranges = base.intervals().iter().zip(&base_chunk);
                for chunk in
                    places(ranges.map(|(r, chunk)| r.start / chunk..r.end.div_ceil(*chunk)))
                {
                    *read.entry(chunk).or_insert(0) += 1;
                }
            }
            assert_eq!(read.values().all(|&count| count == 1), is_aligned, "{base:?}");
        }
    }

    fn visit(tiles: &Tiles, level: usize, tile: &[u64], seen: &mut dyn FnMut(usize, &[u64])) {
        seen(level, tile);
        if level == 1 {
            return;
        }
        let region = tiles.region(level, tile);
        let mut covered = 0;
        for child in tiles.children(level, tile) {
            let below = tiles.region(level - 1, &child);
            let fold = tiles.fold(level, &region, &below);
            for axis in 0..2 {
                let blocks = fold.child[axis].div_ceil(fold.steps[axis]);
                assert!(fold.offset[axis] + blocks <= fold.parent[axis]);
                assert_eq!(below.intervals()[axis].start % tiles.levels[level - 1].steps[axis], 0);
            }
            covered += below.element_count().unwrap();
            visit(tiles, level - 1, &child, seen);
        }
        let steps = region.intervals().iter().zip(&tiles.levels[level - 1].steps);
        let lens = steps.zip(&tiles.levels[level - 2].shape);
        let below = lens.map(|((r, step), len)| (r.end * step).min(*len) - r.start * step);
        assert_eq!(covered, below.product::<u64>());
    }
}
