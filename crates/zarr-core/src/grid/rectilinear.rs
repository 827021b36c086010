//! A grid whose chunks have different lengths along an axis (F-064).
//!
//! Lengths stay in runs: a document may say that an axis has a million million chunks.

use super::{ChunkExtent, ChunkGrid};
use crate::dialect::Dialect;
use crate::error::MetadataError;
use crate::json::{Json, Object};

/// A grid whose chunks may differ in length along each axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RectilinearGrid {
    axes: Vec<Axis>,
}

/// The chunks of one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Axis {
    /// Equal ones, as many as the array needs.
    Equal(u64),
    /// Runs of equal ones.
    Runs(Vec<Run>),
}

/// Equal chunks that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    len: u64,
    count: u64,
    /// The first chunk's ordinal.
    ordinal: u64,
    /// The first chunk's first coordinate.
    start: u64,
}

impl Run {
    fn end(&self) -> Option<u64> {
        self.start.checked_add(self.len.checked_mul(self.count)?)
    }
}

const TOO_MANY: &str = "its chunks reach further than 64 bits can count";

fn invalid(why: impl Into<String>) -> MetadataError {
    MetadataError::invalid("chunk_grid: chunk_shapes", why)
}

impl Axis {
    fn parse(json: &Json, len: u64) -> Result<Axis, MetadataError> {
        if let Some(equal) = json.as_u64() {
            let is_good = equal > 0;
            return if is_good {
                Ok(Axis::Equal(equal))
            } else {
                Err(invalid("a chunk has length 0"))
            };
        }
        let items = json.as_array().filter(|items| !items.is_empty());
        let items = items.ok_or_else(|| {
            invalid(format!("{} is neither a length nor a list of lengths", json.brief()))
        })?;
        let mut runs: Vec<Run> = Vec::new();
        let (mut ordinal, mut start) = (0u64, 0u64);
        for item in items {
            let (run, count) = match item.as_array() {
                None => (item.as_u64(), Some(1)),
                Some([len, count]) => (len.as_u64(), count.as_u64()),
                Some(_) => (None, None),
            };
            let (Some(len @ 1..), Some(count @ 1..)) = (run, count) else {
                let why = format!(
                    "expected a length of at least 1 or `[length, count]`, found {}",
                    item.brief()
                );
                return Err(invalid(why));
            };
            let Some(ends) = ordinal.checked_add(count) else { return Err(invalid(TOO_MANY)) };
            match runs.last_mut().filter(|last| last.len == len) {
                // The count of a run is at most that of all chunks.
                Some(last) => last.count += count,
                None => runs.push(Run { len, count, ordinal, start }),
            }
            let Some(end) = runs.last().and_then(Run::end) else { return Err(invalid(TOO_MANY)) };
            ordinal = ends;
            start = end;
        }
        if start < len {
            Err(invalid(format!("chunks end at {start}, the axis has length {len}")))
        } else {
            Ok(Axis::Runs(runs))
        }
    }

    fn run_of(runs: &[Run], is_before: impl Fn(&Run) -> bool) -> Run {
        let after = runs.partition_point(is_before);
        runs[after.saturating_sub(1)]
    }

    fn to_json(&self) -> Json {
        match self {
            Axis::Equal(len) => Json::from(*len),
            Axis::Runs(runs) => runs
                .iter()
                .flat_map(|run| match run.count {
                    // A pair is shorter than three lengths, as zarr-python has it.
                    count @ 1..=2 => vec![Json::from(run.len); count as usize],
                    count => vec![Json::from(&[run.len, count][..])],
                })
                .collect(),
        }
    }
}

impl RectilinearGrid {
    /// The grid that `chunk_shapes` describes, for an array of this shape: for each axis one length, or a
    /// list of lengths and `[length, count]` runs.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] when the axes are not as many, a length is 0, or chunks do not reach the
    /// array's end.
    pub fn new(chunk_shapes: &[Json], shape: &[u64]) -> Result<Self, MetadataError> {
        if chunk_shapes.len() != shape.len() {
            let (found, due) = (chunk_shapes.len(), shape.len());
            return Err(invalid(format!("found {found} axes, the array has {due}")));
        }
        let axes = chunk_shapes.iter().zip(shape).map(|(json, &len)| Axis::parse(json, len));
        Ok(RectilinearGrid { axes: axes.collect::<Result<_, _>>()? })
    }

    /// The grid of a configuration: `kind`, and `chunk_shapes`.
    ///
    /// # Errors
    /// As [`RectilinearGrid::new`]; for another kind than `inline`.
    pub fn from_configuration(
        configuration: &Object,
        shape: &[u64],
    ) -> Result<Self, MetadataError> {
        if configuration.get("kind").and_then(Json::as_str) != Some("inline") {
            return Err(MetadataError::invalid("chunk_grid: kind", "it is not `inline`"));
        }
        let shapes = configuration.get("chunk_shapes").and_then(Json::as_array);
        Self::new(shapes.ok_or_else(|| invalid("expected a list of axes"))?, shape)
    }
}

impl ChunkGrid for RectilinearGrid {
    fn rank(&self) -> usize {
        self.axes.len()
    }

    fn count(&self, axis: usize, len: u64) -> u64 {
        match len {
            0 => 0,
            len => self.locate(axis, len - 1) + 1,
        }
    }

    fn span(&self, axis: usize, ordinal: u64) -> ChunkExtent {
        let (start, len) = match &self.axes[axis] {
            Axis::Equal(len) => (ordinal.saturating_mul(*len), *len),
            Axis::Runs(runs) => {
                let run = Axis::run_of(runs, |run| run.ordinal <= ordinal);
                let steps = (ordinal - run.ordinal).saturating_mul(run.len);
                (run.start.saturating_add(steps), run.len)
            }
        };
        ChunkExtent { index: ordinal as i64, before: 0, start, len, stored: len }
    }

    fn locate(&self, axis: usize, coordinate: u64) -> u64 {
        match &self.axes[axis] {
            Axis::Equal(len) => coordinate / len,
            Axis::Runs(runs) => {
                let run = Axis::run_of(runs, |run| run.start <= coordinate);
                run.ordinal + (coordinate - run.start) / run.len
            }
        }
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        let lengths = self.axes.iter().map(|axis| match axis {
            Axis::Equal(len) => Some(*len),
            Axis::Runs(runs) => match runs[..] {
                [run] => Some(run.len),
                _ => None,
            },
        });
        lengths.collect()
    }

    fn reach(&self, axis: usize) -> Option<u64> {
        match &self.axes[axis] {
            Axis::Equal(_) => None,
            Axis::Runs(runs) => runs.last().and_then(Run::end),
        }
    }

    fn stored_lengths(&self, axis: usize) -> Vec<u64> {
        let mut lengths: Vec<u64> = match &self.axes[axis] {
            Axis::Equal(len) => vec![*len],
            Axis::Runs(runs) => runs.iter().map(|run| run.len).collect(),
        };
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<Json> {
        let shapes: Json = self.axes.iter().map(Axis::to_json).collect();
        let configuration = Object::new().with("kind", "inline").with("chunk_shapes", shapes);
        (dialect == Dialect::V3).then(|| Object::extension("rectilinear", configuration).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(axis: &str, len: u64) -> Result<RectilinearGrid, MetadataError> {
        let json = Json::parse(axis.as_bytes()).unwrap();
        RectilinearGrid::new(&[json], &[len])
    }

    fn lengths(axis: &str, len: u64) -> Vec<u64> {
        let grid = grid(axis, len).unwrap();
        (0..grid.count(0, len)).map(|ordinal| grid.span(0, ordinal).len).collect()
    }

    /// F-064: the expansions of an axis of length 6.
    #[test]
    fn lengths_are_told_in_many_ways() {
        assert_eq!(lengths("4", 6), [4, 4]);
        assert_eq!(lengths("[1,2,3]", 6), [1, 2, 3]);
        assert_eq!(lengths("[[4,2]]", 6), [4, 4]);
        assert_eq!(lengths("[[1,3],3]", 6), [1, 1, 1, 3]);
        assert_eq!(lengths("[4,4,4]", 6), [4, 4]);
        assert_eq!(lengths("[1,[1,1000000000000]]", 6), [1; 6]);
        for bad in
            ["0", "[]", "[0]", "[[4,0]]", "[[0,4]]", "[1,2]", "\"4\"", "[[1,2,3]]", "-1", "[1.5]"]
        {
            assert!(grid(bad, 6).is_err(), "{bad}");
        }
        assert!(grid("[[18446744073709551615,2]]", 6).is_err());
        assert!(grid("[[1,18446744073709551615],1]", 6).is_err());
    }

    /// F-064: edges [16,10]×[24,14], (20,15) is in chunk (1,0) at (4,15).
    #[test]
    fn coordinates_are_found_in_their_runs() {
        let axes: Vec<Json> =
            ["[16,10]", "[24,14]"].map(|text| Json::parse(text.as_bytes()).unwrap()).to_vec();
        let grid = RectilinearGrid::new(&axes, &[26, 38]).unwrap();
        assert_eq!((grid.locate(0, 20), grid.locate(1, 15)), (1, 0));
        assert_eq!((20 - grid.span(0, 1).start, 15 - grid.span(1, 0).start), (4, 15));
        assert_eq!(grid.reach(0), Some(26));
        assert_eq!(grid.chunk_shape(), None);
    }

    /// F-064: written in runs where that is shorter.
    #[test]
    fn runs_are_written_as_runs() {
        let axis = |text: &str| grid(text, 6).unwrap().axes[0].to_json().to_string();
        assert_eq!(axis("[2,2,2,1]"), "[[2,3],1]");
        assert_eq!(axis("[2,2,1,1]"), "[2,2,1,1]");
        assert_eq!(axis("3"), "3");
    }
}
