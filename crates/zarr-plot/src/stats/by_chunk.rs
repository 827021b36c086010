//! Computes statistics of each stored chunk, and finds those that differ from the others.

use zarr_core::{Array, Json, Object, Region, Result};

use super::along::{CELL, Cell, no_numbers, only_column};
use super::column::{Column, Job, as_f64, dispatch};
use super::json::{float, scalar};
use super::plan::Plan;
use super::scan::{Number, Rule};
use super::tally::Tally;
use super::{Numerical, Part, Request, argument};

/// Modified z-scores above this mean an outlier (Iglewicz and Hoaglin 1993).
const FAR: f64 = 3.5;

/// Statistics of each stored chunk, or shard, in C order.
#[derive(Clone, Debug)]
pub struct ByChunk {
    /// The chunks.
    pub chunks: Vec<Chunk>,
}

/// What is known of one chunk.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Its number along each axis.
    pub index: Vec<u64>,
    /// Of the elements in it that are selected.
    pub cell: Cell,
}

/// A chunk that differs from the others.
#[derive(Clone, Debug)]
pub struct Outlier<'a> {
    /// The chunk.
    pub chunk: &'a Chunk,
    /// Which number is furthest off: `min`, `max`, `mean`, `std`, `missing` or `nan`.
    pub by: &'static str,
    /// How far that is off the median of all chunks: a modified z-score, infinite for an infinite number.
    pub score: f64,
}

/// Computes the statistics of each stored chunk of an array.
///
/// # Errors
/// [`zarr_core::AccessError::Argument`] for elements that are no real numbers, and where the results take more than
/// [`Request::memory`]; as [`super::statistics`].
pub fn statistics_by_chunk(array: &Array, request: &Request<'_>) -> Result<ByChunk> {
    let plan = Plan::of_stored(array, request.axes.clone())?;
    let (column, scalar) = only_column(&plan, request)?;
    let job = ByChunkJob { plan: &plan, column: &column, request };
    dispatch(scalar, job).ok_or_else(|| no_numbers(&plan))?
}

struct ByChunkJob<'a, 'r> {
    plan: &'a Plan,
    column: &'a Column,
    request: &'a Request<'r>,
}

impl Job for ByChunkJob<'_, '_> {
    type Output = Result<ByChunk>;

    fn run<T: Number>(self) -> Result<ByChunk> {
        let ByChunkJob { plan, column, request } = self;
        let meaning = &request.meaning;
        let rule = Rule::<T>::new(&meaning.missing, &plan.cancel);
        let most = request.memory / (CELL + 8 * plan.axes.len() as u64);
        let (mut all, mut is_full): (Vec<(Vec<u64>, Tally)>, _) = (Vec::new(), false);
        Numerical { plan, column, request, meaning, tally: None }.pass(
            || (),
            |(): &mut (), place: &Region, part: Part<'_>| match part {
                Part::Numbers(bytes, present) => {
                    let tally = Tally::of(bytes, present, &rule, |_| Vec::new());
                    Some((plan.chunk_of(place), tally))
                }
                Part::Fill(_) => None,
            },
            |found: Option<(Vec<u64>, Tally)>| {
                let Some((index, tally)) = found else { return };
                // Parts of a shard follow each other, unless a list goes back and forth.
                match all.last_mut() {
                    Some((last, sum)) if *last == index => sum.merge(tally),
                    _ if is_full => {}
                    _ => all.push((index, tally)),
                }
                is_full |= all.len() as u64 > most;
            },
        )?;
        if is_full {
            let memory = request.memory;
            return Err(argument(format!(
                "statistics of more than {most} chunks take more than {memory} bytes of memory"
            )));
        }
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all.dedup_by(|(index, later), (kept, sum)| {
            let is_same = index == kept;
            if is_same {
                sum.merge(later.clone());
            }
            is_same
        });
        Ok(ByChunk {
            chunks: all
                .into_iter()
                .map(|(index, tally)| Chunk {
                    index,
                    cell: Cell::of(&tally, meaning, request.ddof),
                })
                .collect(),
        })
    }
}

impl ByChunk {
    /// The chunks that differ from the others, the furthest off first.
    ///
    /// For each of the numbers a modified z-score (Iglewicz and Hoaglin 1993): the distance from the median, in units of the median
    /// distance, or of the mean one where most chunks are equal. Above 3.5 it is far. An infinite number is, too.
    pub fn outliers(&self) -> Vec<Outlier<'_>> {
        if self.chunks.len() < 2 {
            return Vec::new();
        }
        let mut best: Vec<(f64, &'static str)> = vec![(0.0, ""); self.chunks.len()];
        for (name, measure) in MEASURES {
            let values: Vec<f64> = self.chunks.iter().map(|chunk| measure(&chunk.cell)).collect();
            for (best, score) in best.iter_mut().zip(scores(&values)) {
                if score > best.0 {
                    *best = (score, name);
                }
            }
        }
        let far = self.chunks.iter().zip(best).filter(|(_, (score, _))| *score > FAR);
        let mut found: Vec<Outlier<'_>> =
            far.map(|(chunk, (score, by))| Outlier { chunk, by, score }).collect();
        found.sort_by(|one, other| other.score.total_cmp(&one.score));
        found
    }

    /// `{"chunks": how many, "outliers": [{"chunk", "by", "score", "count", "missing", "nan", "min", "max", "mean", "std"}]}`.
    pub fn to_json(&self) -> Json {
        let outliers: Json = self
            .outliers()
            .iter()
            .map(|Outlier { chunk, by, score }| {
                let Cell { count, missing, nan, min, max, mean, std } = chunk.cell;
                Json::from(
                    Object::new()
                        .with("chunk", &chunk.index[..])
                        .with("by", *by)
                        .with("score", float(*score))
                        .with("count", count)
                        .with("missing", missing)
                        .with("nan", nan)
                        .with("min", min.map_or(Json::Null, scalar))
                        .with("max", max.map_or(Json::Null, scalar))
                        .with("mean", chunk.cell.number(mean))
                        .with("std", chunk.cell.number(std)),
                )
            })
            .collect();
        Object::new().with("chunks", self.chunks.len() as u64).with("outliers", outliers).into()
    }
}

/// A number by which chunks are compared; NaN where a chunk has none.
type Measure = fn(&Cell) -> f64;

const MEASURES: [(&str, Measure); 6] = [
    ("min", |cell| cell.min.map_or(f64::NAN, as_f64)),
    ("max", |cell| cell.max.map_or(f64::NAN, as_f64)),
    ("mean", |cell| cell.mean),
    ("std", |cell| cell.std),
    ("missing", |cell| share(cell.missing, cell)),
    ("nan", |cell| share(cell.nan, cell)),
];

fn share(part: u64, cell: &Cell) -> f64 {
    part as f64 / (cell.count + cell.missing + cell.nan).max(1) as f64
}

/// The modified z-score of each value; 0 where there is none, or where all are equal.
fn scores(values: &[f64]) -> Vec<f64> {
    let mut finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let center = median(&mut finite);
    let mut away: Vec<f64> = finite.iter().map(|value| (value - center).abs()).collect();
    let mean = away.iter().sum::<f64>() / away.len() as f64;
    let middle = median(&mut away);
    let unit = if middle > 0.0 { middle / 0.6745 } else { mean * 1.253_314 };
    values
        .iter()
        .map(|&value| match value {
            value if value.is_infinite() => f64::INFINITY,
            value if value.is_finite() && unit > 0.0 => (value - center).abs() / unit,
            _ => 0.0,
        })
        .collect()
}

/// The median, which sorts the values.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => f64::NAN,
        0 => values[middle - 1] / 2.0 + values[middle] / 2.0,
        _ => values[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: the median is 3, the median distance 1, so 10 is 7 · 0.6745 off.
    #[test]
    fn scores_are_distances_from_the_median() {
        let found = scores(&[1.0, 2.0, 3.0, 4.0, 10.0, f64::NAN, f64::INFINITY]);
        assert!((found[4] - 7.0 * 0.6745).abs() < 1e-12, "{found:?}");
        assert_eq!((found[2], found[5], found[6]), (0.0, 0.0, f64::INFINITY));
        // Most are equal: the mean distance is 1.
        let found = scores(&[0.0, 0.0, 0.0, 0.0, 5.0]);
        assert!((found[4] - 5.0 / 1.253_314).abs() < 1e-12, "{found:?}");
        assert_eq!(scores(&[2.0; 4]), [0.0; 4]);
        assert_eq!(scores(&[f64::NAN; 2]), [0.0; 2]);
        assert!(scores(&[]).is_empty());
    }
}
