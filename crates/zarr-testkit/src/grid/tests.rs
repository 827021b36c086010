//! The checks find each broken grid by the promise that it breaks.

use std::sync::Arc;

use super::check_grid;
use crate::shared::verdict;
use zarr_core::grid::{ChunkExtent, ChunkGrid, RegularGrid};
use zarr_core::{Dialect, Json, MetadataError, Object, Registry};

/// One way to break a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    Overlaps,
    LeavesGap,
    EndsEarly,
    CountsTooMany,
    LocatesNext,
    SkipsIndex,
    StoresTooLittle,
    ReachesBackTwice,
    PanicsAtMost,
    HangsAtMost,
    LiesInShape,
    OtherRank,
    ForgetsOrigin,
    IsSpeechless,
    IsNotRegistered,
    GrowsByMoving,
    GrowsByOne,
}

use Flaw::*;

const ALL: [Flaw; 18] = [
    None,
    Overlaps,
    LeavesGap,
    EndsEarly,
    CountsTooMany,
    LocatesNext,
    SkipsIndex,
    StoresTooLittle,
    ReachesBackTwice,
    PanicsAtMost,
    HangsAtMost,
    LiesInShape,
    OtherRank,
    ForgetsOrigin,
    IsSpeechless,
    IsNotRegistered,
    GrowsByMoving,
    GrowsByOne,
];

const URI: &str = "https://example.org/shifted";

/// Equal chunks, the first of which begins `before` elements ahead of the array.
#[derive(Clone, Debug)]
struct Broken {
    flaw: Flaw,
    chunk: u64,
    /// For each axis.
    before: Vec<u64>,
    /// The index of the first chunk, for each axis.
    first: Vec<i64>,
}

impl Broken {
    fn make(flaw: Flaw, rank: usize) -> Arc<dyn ChunkGrid> {
        Arc::new(Broken { flaw, chunk: 4, before: vec![1; rank], first: vec![0; rank] })
    }
}

fn build(configuration: &Object, shape: &[u64]) -> Result<Arc<dyn ChunkGrid>, MetadataError> {
    let name = configuration.get("flaw").and_then(Json::as_str);
    let flaw = ALL.into_iter().find(|flaw| name == Some(&format!("{flaw:?}")));
    let flaw = flaw.ok_or(MetadataError::Missing("flaw"))?;
    let list = |name: &str| configuration.get(name).and_then(Json::as_array).unwrap_or_default();
    let mut before: Vec<u64> = list("before").iter().filter_map(Json::as_u64).collect();
    let mut first: Vec<i64> = list("first").iter().filter_map(Json::as_i64).collect();
    before.resize(shape.len(), 0);
    first.resize(shape.len(), 0);
    Ok(Arc::new(Broken { flaw, chunk: 4, before, first }))
}

impl ChunkGrid for Broken {
    fn rank(&self) -> usize {
        self.before.len() + usize::from(self.flaw == OtherRank)
    }

    fn count(&self, axis: usize, len: u64) -> u64 {
        match self.flaw {
            PanicsAtMost if len > 0 => {
                len.checked_add(self.before[axis]).expect("small").div_ceil(self.chunk)
            }
            HangsAtMost if len > 1 << 60 => loop {
                std::thread::park();
            },
            EndsEarly if len > 9 => 2,
            CountsTooMany => len.div_ceil(self.chunk) + 1,
            _ if len == 0 => 0,
            _ => self.locate(axis, len - 1) + 1,
        }
    }

    fn span(&self, axis: usize, ordinal: u64) -> ChunkExtent {
        let (chunk, reach) = (self.chunk, self.before[axis]);
        let step = if self.flaw == LeavesGap { chunk + 1 } else { chunk };
        let step = if self.flaw == Overlaps { chunk - 1 } else { step };
        let start = ordinal.saturating_mul(step).saturating_sub(reach);
        let before = if ordinal == 0 || self.flaw == ReachesBackTwice { reach } else { 0 };
        let stride = if self.flaw == SkipsIndex { 2 } else { 1 };
        ChunkExtent {
            index: (ordinal as i64).saturating_mul(stride).saturating_add(self.first[axis]),
            before,
            start,
            len: if ordinal == 0 { chunk - reach } else { chunk },
            stored: if self.flaw == StoresTooLittle {
                chunk - 1
            } else {
                chunk + before - if ordinal == 0 { reach } else { 0 }
            },
        }
    }

    fn locate(&self, axis: usize, coordinate: u64) -> u64 {
        let shift = u64::from(self.flaw == LocatesNext && coordinate == 8);
        coordinate.saturating_add(self.before[axis] + shift) / self.chunk
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        let len = self.chunk + u64::from(self.flaw == LiesInShape);
        Some(vec![len; self.before.len()])
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<Json> {
        let before: Vec<u64> = match self.flaw {
            ForgetsOrigin => vec![0; self.before.len()],
            _ => self.before.clone(),
        };
        let first: Json = self.first.iter().map(|n| Json::Number(n.to_string().into())).collect();
        let configuration = Object::new()
            .with("flaw", format!("{:?}", self.flaw))
            .with("before", &before[..])
            .with("first", first);
        let name = if self.flaw == IsNotRegistered { "https://example.org/other" } else { URI };
        let metadata = match dialect {
            _ if self.flaw == IsSpeechless => return Option::None,
            Dialect::V3 => Object::new().with("name", name),
            Dialect::Draft => Object::new().with("extension", name).with("type", "shifted"),
            _ => return Option::None,
        };
        Some(metadata.with("configuration", configuration).into())
    }

    fn grown_before(&self, axis: usize, count: u64) -> Option<Arc<dyn ChunkGrid>> {
        let mut grown = self.clone();
        // Elements before the first whole chunk are not moved.
        let before = (i128::from(self.before[axis]) - i128::from(count)).rem_euclid(4) as u64;
        let chunks = (count.checked_add(before)? - self.before[axis]) / self.chunk;
        grown.before[axis] = before;
        grown.first[axis] = self.first[axis].checked_sub(i64::try_from(chunks).ok()?)?;
        match self.flaw {
            GrowsByMoving => grown.first[axis] = self.first[axis],
            GrowsByOne => grown.before[axis] = (before + 1) % 4,
            _ => {}
        }
        Some(Arc::new(grown))
    }
}

fn registry() -> Registry {
    Registry::new().with(|registry| registry.grid(URI, build))
}

#[test]
fn sound_grids_pass() {
    for shape in [&[][..], &[0], &[1], &[3], &[13], &[9, 10], &[5, 1, 7]] {
        check_grid(&registry(), &Broken::make(None, shape.len()), shape);
    }
}

#[test]
fn regular_grids_pass() -> Result<(), MetadataError> {
    let cases: [(&[u64], &[u64]); 9] = [
        (&[], &[]),
        (&[1], &[0]),
        (&[1], &[5]),
        (&[7], &[7]),
        (&[100], &[7]),
        (&[1 << 40], &[0]),
        (&[4, 3], &[10, 11]),
        (&[1, 5, 2], &[4, 6, 5]),
        (&[300], &[1000]),
    ];
    for (chunks, shape) in cases {
        let grid: Arc<dyn ChunkGrid> = Arc::new(RegularGrid::new(chunks, shape)?);
        check_grid(&Registry::new(), &grid, shape);
    }
    Ok(())
}

#[test]
fn each_broken_promise_is_found_and_named() {
    let cases = [
        (Overlaps, "overlaps the one before it"),
        (LeavesGap, "leaves a gap after the one before it"),
        (EndsEarly, "and leave the rest out"),
        (CountsTooMany, "begins inside the array, or is not counted"),
        (LocatesNext, "holds 8, but locate says chunk"),
        (SkipsIndex, "has an index that is not one more than 0"),
        (StoresTooLittle, "stores at least what lies before it"),
        (ReachesBackTwice, "which only the first chunk may"),
        (PanicsAtMost, "must not panic, but: small"),
        (HangsAtMost, "must not go on for"),
        (LiesInShape, "chunk_shape is [5, 5], but axis 0 has"),
        (OtherRank, "rank is 3 for an array of 2 axes"),
        (ForgetsOrigin, "built again from its words in v3"),
        (IsSpeechless, "it has words in v3 or in the drafts"),
        (IsNotRegistered, "names no grid that the registry knows"),
        (GrowsByMoving, "element 0 lay at"),
        (GrowsByOne, "element 0 lay at"),
    ];
    for (flaw, expected) in cases {
        let grid = Broken::make(flaw, 2);
        match verdict(|| check_grid(&registry(), &grid, &[13, 10])) {
            Option::None => panic!("a grid passes that is broken by {flaw:?}"),
            Some(said) => assert!(said.contains(expected), "{flaw:?}: {said}"),
        }
    }
    let long = verdict(|| check_grid(&registry(), &Broken::make(None, 1), &[u64::MAX]));
    assert!(long.is_some_and(|said| said.contains("at most 1048576 elements")));
}
