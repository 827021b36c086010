//! Makes the elements of a level from those of the level below it, tile by tile.
//!
//! Means are made of sums over the elements of the base, which each level hands on to the next one, and are rounded where a
//! level is written and nowhere else. The other methods take one of the elements of the level before. The elements of a block
//! are always looked at in C order: the result depends neither on tiles nor on threads.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::sample::{Sample, Sum};
use super::{PyramidMethod, PyramidRounding};

/// Where the elements of a child tile go in its parent. The child begins at a block, so each block is in one child.
pub(super) struct Fold {
    /// The shape of the child.
    pub child: Vec<usize>,
    /// How many elements of the child one of the parent covers along each axis.
    pub steps: Vec<usize>,
    /// The shape of the parent.
    pub parent: Vec<usize>,
    /// The element of the parent that the child's first one belongs to.
    pub offset: Vec<usize>,
}

impl Fold {
    /// How many elements a row of the child has, how many of them are one of the parent, and how many of the parent those are.
    fn row(&self) -> (usize, usize, usize) {
        let last = self.child.len() - 1;
        let (len, step) = (self.child[last], self.steps[last]);
        (len, step, len.div_ceil(step))
    }

    /// Calls `visit` for each row of the child, in C order, with the places of its first element in the child and of that one's
    /// block in the parent.
    fn rows(&self, mut visit: impl FnMut(usize, usize)) {
        let outer = self.child.len() - 1;
        if self.child.contains(&0) {
            return;
        }
        let mut at = vec![0; outer];
        let mut row = 0;
        loop {
            let place = at.iter().enumerate().fold(0, |place, (axis, at)| {
                place * self.parent[axis] + self.offset[axis] + at / self.steps[axis]
            });
            visit(row, place * self.parent[outer] + self.offset[outer]);
            row += self.child[outer];
            if !advance(&mut at, &self.child[..outer]) {
                return;
            }
        }
    }

    /// Calls `visit` for each row of blocks, with the places in the child of the first elements of the block's rows, in C order,
    /// and the place of the first block in the parent.
    fn rows_of_blocks(&self, mut visit: impl FnMut(&[usize], usize)) {
        let outer = self.child.len() - 1;
        if self.child.contains(&0) {
            return;
        }
        let counts: Vec<usize> =
            (0..outer).map(|axis| self.child[axis].div_ceil(self.steps[axis])).collect();
        let mut block = vec![0; outer];
        let mut starts = Vec::new();
        loop {
            starts.clear();
            starts.push(0);
            let mut place = 0;
            for (axis, &block) in block.iter().enumerate() {
                place = place * self.parent[axis] + self.offset[axis] + block;
                let first = block * self.steps[axis];
                let end = (first + self.steps[axis]).min(self.child[axis]);
                let rows = starts.iter().flat_map(|&start| {
                    (first..end).map(move |coordinate| start * self.child[axis] + coordinate)
                });
                starts = rows.collect();
            }
            starts.iter_mut().for_each(|start| *start *= self.child[outer]);
            visit(&starts, place * self.parent[outer] + self.offset[outer]);
            if !advance(&mut block, &counts) {
                return;
            }
        }
    }
}

/// The next coordinates in C order; `false` after the last.
pub(super) fn advance(at: &mut [usize], counts: &[usize]) -> bool {
    for axis in (0..at.len()).rev() {
        at[axis] += 1;
        if at[axis] < counts[axis] {
            return true;
        }
        at[axis] = 0;
    }
    false
}

/// How many elements of the base each element of a tile stands for: the product over its axes.
pub(super) struct Counts(pub Vec<Vec<u32>>);

impl Counts {
    /// Calls `visit` with each count, in C order.
    fn for_each(&self, mut visit: impl FnMut(u32)) {
        let (Some(last), outer) = (self.0.last(), self.0.len().saturating_sub(1)) else { return };
        let lens: Vec<usize> = self.0[..outer].iter().map(Vec::len).collect();
        if lens.contains(&0) {
            return;
        }
        let mut at = vec![0; outer];
        loop {
            let of_row: u32 = at.iter().zip(&self.0).map(|(&at, counts)| counts[at]).product();
            last.iter().for_each(|count| visit(of_row * count));
            if !advance(&mut at, &lens) {
                return;
            }
        }
    }
}

/// Which elements are missing, and are left out.
#[derive(Clone, Debug)]
pub(super) struct Missing<T> {
    pub values: Vec<T>,
    /// Whether NaN is one of them.
    pub nan: bool,
    /// Less is missing.
    pub valid_min: Option<T>,
    /// More is missing.
    pub valid_max: Option<T>,
    /// What stands for a block of which nothing is there.
    pub written: T,
}

impl<T: Sample> Missing<T> {
    /// Whether what stands for nothing has the bits of this element.
    pub fn is_written_as(&self, element: T) -> bool {
        self.written.order(&element) == Ordering::Equal
    }

    #[inline]
    pub fn has(&self, element: T) -> bool {
        self.nan && element.is_nan()
            || self.values.iter().any(|value| value.order(&element) == Ordering::Equal)
            || self.valid_min.is_some_and(|least| element.is_less(least))
            || self.valid_max.is_some_and(|most| most.is_less(element))
    }
}

/// A way to make levels of elements of one type.
pub(super) trait Reducer: Sync {
    type Element: Sample;
    /// What a tile of a level hands on to the next level.
    type Tile: Send;

    /// A tile of so many elements, to which nothing was added.
    fn empty(&self, len: usize) -> Self::Tile;

    /// Adds a part of the base.
    fn add_base(&self, base: &[Self::Element], fold: &Fold, into: &mut Self::Tile);

    /// Adds a tile of the level below.
    fn add(&self, child: &Self::Tile, fold: &Fold, into: &mut Self::Tile);

    /// A tile over a base of nothing but `fill`.
    fn filled(&self, fill: Self::Element, counts: &Counts) -> Self::Tile;

    /// The elements of the level.
    fn elements<'a>(&self, tile: &'a Self::Tile, counts: &Counts) -> Cow<'a, [Self::Element]>;

    fn to_bytes(&self, tile: &Self::Tile) -> Vec<u8>;

    /// The tile of `len` elements that [`Reducer::to_bytes`] wrote; `None` if the bytes are none.
    fn tile_of_bytes(&self, bytes: &[u8], len: usize) -> Option<Self::Tile>;
}

/// Means.
pub(super) struct Mean<T> {
    pub missing: Option<Missing<T>>,
    pub rounding: PyramidRounding,
    /// Where a smaller share of a block is there, the mean is missing.
    pub min_valid: f64,
}

/// Sums over elements of the base, and how many were added to each, if some may be missing.
pub(super) struct Sums<S> {
    sums: Vec<S>,
    counts: Vec<u32>,
}

/// Adds the elements of a row, `step` of them to each sum.
#[inline]
fn add_row<S: Copy, V: Copy>(into: &mut [S], row: &[V], step: usize, add: impl Fn(&mut S, V)) {
    match step {
        1 => into.iter_mut().zip(row).for_each(|(sum, &value)| add(sum, value)),
        2 => {
            let pairs = row.chunks_exact(2);
            if let ([value], Some(last)) = (pairs.remainder(), into.get_mut(row.len() / 2)) {
                add(last, *value);
            }
            for (sum, pair) in into.iter_mut().zip(pairs) {
                add(sum, pair[0]);
                add(sum, pair[1]);
            }
        }
        step => {
            for (sum, block) in into.iter_mut().zip(row.chunks(step)) {
                block.iter().for_each(|&value| add(sum, value));
            }
        }
    }
}

impl<T: Sample> Reducer for Mean<T> {
    type Element = T;
    type Tile = Sums<T::Sum>;

    fn empty(&self, len: usize) -> Self::Tile {
        let counts = if self.missing.is_some() { vec![0; len] } else { Vec::new() };
        Sums { sums: vec![T::Sum::default(); len], counts }
    }

    fn add_base(&self, base: &[T], fold: &Fold, into: &mut Self::Tile) {
        let (len, step, blocks) = fold.row();
        let Sums { sums, counts } = into;
        fold.rows(|from, to| {
            let (row, sums) = (&base[from..from + len], &mut sums[to..to + blocks]);
            let Some(missing) = &self.missing else {
                return add_row(sums, row, step, |sum, value| *sum += value.to_sum());
            };
            add_row(sums, row, step, |sum, value| {
                if !missing.has(value) {
                    *sum += value.to_sum();
                }
            });
            add_row(&mut counts[to..to + blocks], row, step, |count, value| {
                *count += u32::from(!missing.has(value));
            });
        });
    }

    fn add(&self, child: &Self::Tile, fold: &Fold, into: &mut Self::Tile) {
        let (len, step, blocks) = fold.row();
        fold.rows(|from, to| {
            let row = &child.sums[from..from + len];
            add_row(&mut into.sums[to..to + blocks], row, step, |sum, value| *sum += value);
            if self.missing.is_some() {
                let row = &child.counts[from..from + len];
                add_row(&mut into.counts[to..to + blocks], row, step, |sum, value| *sum += value);
            }
        });
    }

    fn filled(&self, fill: T, counts: &Counts) -> Self::Tile {
        let mut tile = Sums { sums: Vec::new(), counts: Vec::new() };
        let is_missing = self.missing.as_ref().map(|missing| missing.has(fill));
        counts.for_each(|count| {
            let count = if is_missing == Some(true) { 0 } else { count };
            tile.sums.push(if count == 0 { T::Sum::default() } else { fill.times(count) });
            if is_missing.is_some() {
                tile.counts.push(count);
            }
        });
        tile
    }

    fn elements<'a>(&self, tile: &'a Self::Tile, counts: &Counts) -> Cow<'a, [T]> {
        let mut elements = Vec::with_capacity(tile.sums.len());
        let mut sums = tile.sums.iter();
        counts.for_each(|all| {
            let Some(&sum) = sums.next() else { return };
            elements.push(match (&self.missing, tile.counts.get(elements.len())) {
                (Some(missing), Some(&count)) => {
                    let is_enough = f64::from(count) >= self.min_valid * f64::from(all);
                    if count > 0 && is_enough {
                        T::mean(sum, count, self.rounding)
                    } else {
                        missing.written
                    }
                }
                _ => T::mean(sum, all, self.rounding),
            });
        });
        elements.into()
    }

    fn to_bytes(&self, tile: &Self::Tile) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(tile.sums.len() * T::Sum::SIZE + tile.counts.len() * 4);
        tile.sums.iter().for_each(|sum| sum.put(&mut bytes));
        tile.counts.iter().for_each(|count| bytes.extend_from_slice(&count.to_le_bytes()));
        bytes
    }

    fn tile_of_bytes(&self, bytes: &[u8], len: usize) -> Option<Self::Tile> {
        let has_counts = self.missing.is_some();
        let (sums, counts) = bytes.split_at_checked(len * T::Sum::SIZE)?;
        if counts.len() != if has_counts { 4 * len } else { 0 } {
            return None;
        }
        Some(Sums {
            sums: sums.chunks_exact(T::Sum::SIZE).map(T::Sum::get).collect(),
            counts: counts
                .chunks_exact(4)
                .map(|bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes")))
                .collect(),
        })
    }
}

/// Methods whose result is one of the elements.
pub(super) struct Pick<T> {
    pub method: PyramidMethod,
    pub missing: Option<Missing<T>>,
}

impl<T: Sample> Pick<T> {
    /// The element that stands for a block, which has some.
    fn pick(&self, block: &mut Vec<T>) -> T {
        if self.method == PyramidMethod::Nearest {
            return block[0];
        }
        if let Some(missing) = &self.missing {
            block.retain(|&element| !missing.has(element));
            if block.is_empty() {
                return missing.written;
            }
        }
        // A NaN that counts spoils what is computed.
        if self.method != PyramidMethod::Mode
            && let Some(&nan) = block.iter().find(|element| element.is_nan())
        {
            return nan;
        }
        match self.method {
            PyramidMethod::Min => *block.iter().min_by(|a, b| a.order(b)).expect("it has some"),
            PyramidMethod::Max => *block.iter().max_by(|a, b| a.order(b)).expect("it has some"),
            PyramidMethod::Median => {
                let middle = (block.len() - 1) / 2;
                *block.select_nth_unstable_by(middle, T::order).1
            }
            _ => most_frequent(block),
        }
    }
}

/// The most frequent element; of several, the least.
fn most_frequent<T: Sample>(block: &mut [T]) -> T {
    if block.iter().all(|element| element.order(&block[0]) == Ordering::Equal) {
        return block[0];
    }
    block.sort_unstable_by(T::order);
    let (mut found, mut most) = (block[0], 0);
    for run in block.chunk_by(|a, b| a.order(b) == Ordering::Equal) {
        if run.len() > most {
            (found, most) = (run[0], run.len());
        }
    }
    found
}

impl<T: Sample> Reducer for Pick<T> {
    type Element = T;
    type Tile = Vec<T>;

    fn empty(&self, len: usize) -> Vec<T> {
        vec![T::default(); len]
    }

    fn add_base(&self, base: &[T], fold: &Fold, into: &mut Vec<T>) {
        let (len, step, blocks) = fold.row();
        let mut block = Vec::new();
        fold.rows_of_blocks(|rows, to| {
            for (n, place) in into[to..to + blocks].iter_mut().enumerate() {
                let (first, end) = (n * step, (n * step + step).min(len));
                block.clear();
                for row in rows {
                    block.extend_from_slice(&base[row + first..row + end]);
                }
                *place = self.pick(&mut block);
            }
        });
    }

    fn add(&self, child: &Vec<T>, fold: &Fold, into: &mut Vec<T>) {
        self.add_base(child, fold, into);
    }

    fn filled(&self, fill: T, counts: &Counts) -> Vec<T> {
        let element = self.pick(&mut vec![fill]);
        vec![element; counts.0.iter().map(Vec::len).product()]
    }

    fn elements<'a>(&self, tile: &'a Vec<T>, _: &Counts) -> Cow<'a, [T]> {
        tile.into()
    }

    fn to_bytes(&self, tile: &Vec<T>) -> Vec<u8> {
        T::as_memory(tile).unwrap_or_default().into_owned()
    }

    fn tile_of_bytes(&self, bytes: &[u8], len: usize) -> Option<Vec<T>> {
        let is_whole = bytes.len() == len * T::SIZE;
        is_whole.then(|| bytes.chunks_exact(T::SIZE).map(T::from_bytes).collect())
    }
}
