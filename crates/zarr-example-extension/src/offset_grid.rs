//! A chunk grid: lets an array grow before its first element, too.
//!
//! `{"chunk_shape": [4, 5], "origin": [-3, 0]}`. Equal chunks form a lattice that reaches to both sides
//! without end; `origin` is where on it the array's first element lies. The element of a coordinate is
//! stored in the chunk of index `floor((origin + coordinate) / chunk length)`, which may be negative. To
//! prepend elements takes as many from `origin`, and no stored element moves.

use std::sync::Arc;

use zarr_core::grid::{ChunkExtent, ChunkGrid};
use zarr_core::{Dialect, Json, MetadataError, Object};

/// The grid's name in final v3 and in the drafts.
pub const URI: &str = "https://example.org/zarr/chunk-grid/offset/1.0";

/// A grid of equal chunks that need not begin where the array does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetGrid {
    chunk_shape: Vec<u64>,
    origin: Vec<i64>,
}

impl OffsetGrid {
    /// A grid of chunks of this shape, for an array of that one whose first element is at `origin`.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] when ranks differ, a chunk has no extent, or indices would not fit 64 bits.
    pub fn new(
        chunk_shape: &[u64],
        origin: &[i64],
        shape: &[u64],
    ) -> Result<OffsetGrid, MetadataError> {
        let wrong = |why: &str| Err(MetadataError::invalid("chunk_grid", why));
        if chunk_shape.len() != shape.len() || origin.len() != shape.len() {
            return wrong("`chunk_shape` and `origin` have one number for each axis of the array");
        }
        if chunk_shape.iter().any(|&len| len == 0 || i64::try_from(len).is_err()) {
            return wrong("a chunk length is at least 1 and fits 63 bits");
        }
        if origin.iter().zip(shape).any(|(&at, &len)| at.checked_add_unsigned(len).is_none()) {
            return wrong("the array ends beyond what 63 bits can count");
        }
        Ok(OffsetGrid { chunk_shape: chunk_shape.to_vec(), origin: origin.to_vec() })
    }

    /// The index of the axis' first chunk, and how many of its elements precede the array.
    fn first(&self, axis: usize) -> (i64, u64) {
        let (at, len) = (self.origin[axis], self.chunk_shape[axis] as i64);
        (at.div_euclid(len), at.rem_euclid(len) as u64)
    }
}

/// Makes the grid from its configuration.
///
/// # Errors
/// As [`OffsetGrid::new`]; when a member is missing or no list of whole numbers.
pub fn build(configuration: &Object, shape: &[u64]) -> Result<Arc<dyn ChunkGrid>, MetadataError> {
    let chunk_shape: Option<Vec<u64>> =
        numbers(configuration, "chunk_shape")?.iter().map(Json::as_u64).collect();
    let origin: Option<Vec<i64>> =
        numbers(configuration, "origin")?.iter().map(Json::as_i64).collect();
    let (Some(chunk_shape), Some(origin)) = (chunk_shape, origin) else {
        let why = "`chunk_shape` and `origin` are lists of integers";
        return Err(MetadataError::invalid("chunk_grid", why));
    };
    Ok(Arc::new(OffsetGrid::new(&chunk_shape, &origin, shape)?))
}

/// A member of the configuration that is a list.
fn numbers<'a>(
    configuration: &'a Object,
    member: &'static str,
) -> Result<&'a [Json], MetadataError> {
    configuration.get(member).and_then(Json::as_array).ok_or(MetadataError::Missing(member))
}

impl ChunkGrid for OffsetGrid {
    fn rank(&self) -> usize {
        self.chunk_shape.len()
    }

    fn count(&self, axis: usize, len: u64) -> u64 {
        len.checked_sub(1).map_or(0, |last| self.locate(axis, last) + 1)
    }

    fn span(&self, axis: usize, ordinal: u64) -> ChunkExtent {
        let ((index, before), stored) = (self.first(axis), self.chunk_shape[axis]);
        let index = index.saturating_add_unsigned(ordinal);
        match ordinal {
            0 => ChunkExtent { index, before, start: 0, len: stored - before, stored },
            _ => {
                let start = ordinal.saturating_mul(stored).saturating_sub(before);
                ChunkExtent { index, before: 0, start, len: stored, stored }
            }
        }
    }

    fn locate(&self, axis: usize, coordinate: u64) -> u64 {
        coordinate.saturating_add(self.first(axis).1) / self.chunk_shape[axis]
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        Some(self.chunk_shape.clone())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<Json> {
        let origin: Json = self.origin.iter().copied().map(Json::from).collect();
        let configuration =
            Object::new().with("chunk_shape", &self.chunk_shape[..]).with("origin", origin);
        let named = match dialect {
            Dialect::V3 => Object::new().with("name", URI),
            Dialect::Draft => Object::new().with("extension", URI).with("type", "offset"),
            _ => return None,
        };
        Some(named.with("configuration", configuration).into())
    }

    fn grown_before(&self, axis: usize, count: u64) -> Option<Arc<dyn ChunkGrid>> {
        let mut grown = self.clone();
        grown.origin[axis] = grown.origin[axis].checked_sub_unsigned(count)?;
        Some(Arc::new(grown))
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::Region;
    use zarr_core::grid::{chunk_count, chunk_projections};

    use super::*;

    /// Every coordinate's chunk index and place in it, out of spans, compared with the lattice.
    #[test]
    fn spans_follow_from_the_lattice() {
        for origin in [-9, -8, -5, -1, 0, 1, 3, 4, 7] {
            for len in 0..14u64 {
                let grid = OffsetGrid::new(&[4], &[origin], &[len]).unwrap();
                let mut coordinate = 0;
                for ordinal in 0..grid.count(0, len) {
                    let span = grid.span(0, ordinal);
                    assert_eq!((span.start, span.stored), (coordinate, 4));
                    assert_eq!(span.before + span.len, 4);
                    for at in 0..span.len.min(len - coordinate) {
                        assert_eq!(grid.locate(0, coordinate), ordinal);
                        let lattice = origin + coordinate as i64;
                        assert_eq!(lattice.div_euclid(4), span.index);
                        assert_eq!(lattice.rem_euclid(4) as u64, span.before + at);
                        coordinate += 1;
                    }
                }
                assert_eq!(coordinate, len, "every coordinate lies in a chunk");
            }
        }
    }

    #[test]
    fn growing_before_moves_no_stored_element() {
        let place = |grid: &dyn ChunkGrid, len: u64, coordinate: u64| {
            let region = Region::new(std::iter::once(coordinate..coordinate + 1));
            let tile = chunk_projections(grid, &[len], &region).next().unwrap();
            (tile.key_index, tile.within.bounds().intervals()[0].start)
        };
        let grid = OffsetGrid::new(&[3], &[1], &[5]).unwrap();
        for more in 0..8 {
            let grown = grid.grown_before(0, more).unwrap();
            for coordinate in 0..5 {
                let was = place(&grid, 5, coordinate);
                assert_eq!(place(&*grown, 5 + more, coordinate + more), was);
            }
        }
        let grown = grid.grown_before(0, 5).unwrap();
        assert_eq!(place(&*grown, 10, 0), (vec![-2], 2));
        assert_eq!(chunk_count(&*grown, &[10]), Some(4));
        let edge = OffsetGrid::new(&[1], &[i64::MIN + 1], &[0]).unwrap();
        assert!(edge.grown_before(0, 1).is_some() && edge.grown_before(0, 2).is_none());
    }

    #[test]
    fn words_are_checked_and_said_again() {
        let parse = |text: &str| Json::parse(text.as_bytes()).unwrap();
        let made = |text: &str| build(parse(text).as_object().unwrap(), &[9, 9]);
        let grid = made(r#"{"chunk_shape":[4,5],"origin":[-3,0]}"#).unwrap();
        let v3 = grid.to_metadata(Dialect::V3).unwrap().to_string();
        assert!(v3.ends_with(r#"1.0","configuration":{"chunk_shape":[4,5],"origin":[-3,0]}}"#));
        let draft = grid.to_metadata(Dialect::Draft).unwrap().to_string();
        assert!(draft.contains(r#""type":"offset","configuration":{"#));
        assert!(grid.to_metadata(Dialect::V2).is_none());
        for wrong in [
            r#"{"chunk_shape":[4,5]}"#,
            r#"{"origin":[0,0]}"#,
            r#"{"chunk_shape":[4],"origin":[0,0]}"#,
            r#"{"chunk_shape":[4,5],"origin":[0]}"#,
            r#"{"chunk_shape":[4,0],"origin":[0,0]}"#,
            r#"{"chunk_shape":[4,9223372036854775808],"origin":[0,0]}"#,
            r#"{"chunk_shape":[4,5],"origin":[0.5,0]}"#,
            r#"{"chunk_shape":[4,5],"origin":[9223372036854775807,0]}"#,
        ] {
            assert!(made(wrong).is_err(), "{wrong}");
        }
    }
}
