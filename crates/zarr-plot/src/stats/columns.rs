//! Sums up many columns of records in one pass.
//!
//! Each column alone would read all elements again: a document can declare as many fields as it has bytes to name them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use zarr_core::data_type::{FloatFormat, Scalar, ScalarValue};
use zarr_core::{Region, Result};

use super::column::{Column, Job, Kind, Shorts, dispatch};
use super::plan::Plan;
use super::scan::{Number, Rule};
use super::tally::Tally;
use super::texts::Texts;
use super::{Request, fixed_texts, texts_of_fill};
use crate::meaning::Missing;

/// How many columns are summed up in one pass: what is known of each waits in memory until the parts before are done.
pub(super) const MAX_TOGETHER: usize = 2_048;

/// What is known of a column.
pub(super) enum Sum {
    Tally(Tally),
    Texts(Texts),
}

impl Sum {
    fn merge(&mut self, other: Sum) {
        match (self, other) {
            (Sum::Tally(sum), Sum::Tally(other)) => sum.merge(other),
            (Sum::Texts(sum), Sum::Texts(other)) => sum.merge(other),
            _ => {}
        }
    }
}

/// The sums of all columns; nothing of one that stands alone, and of one whose elements are of variable length.
pub(super) fn sums(
    plan: &Plan,
    columns: &[Column],
    request: &Request<'_>,
) -> Result<Vec<Option<Sum>>> {
    if columns.len() < 2 {
        return Ok(columns.iter().map(|_| None).collect());
    }
    let mut tables: HashMap<FloatFormat, Shorts> = HashMap::new();
    let mut all = Vec::with_capacity(columns.len());
    for columns in columns.chunks(MAX_TOGETHER) {
        let columns: Vec<_> = columns
            .iter()
            .map(|column| {
                let shorts = match column.scalar() {
                    Some(Scalar::Float(format)) if format.bits() <= 16 => {
                        tables.entry(format).or_insert_with(|| Shorts::of(column)).clone()
                    }
                    _ => Shorts::none(),
                };
                (column, shorts)
            })
            .collect();
        all.extend(one_pass(plan, &columns, request)?);
    }
    Ok(all)
}

fn one_pass(
    plan: &Plan,
    columns: &[(&Column, Shorts)],
    request: &Request<'_>,
) -> Result<Vec<Option<Sum>>> {
    let (done, total, fill) = (AtomicU64::new(0), plan.count(), plan.fill());
    let of_part = |place: &Region, part: Part<'_>| -> Result<Vec<Option<Sum>>> {
        columns
            .iter()
            .map(|(column, shorts)| {
                let of_column = OfColumn { plan, column, shorts, place, part, fill: &fill };
                let sum = match (column.scalar(), &column.kind, part) {
                    (Some(scalar), ..) => dispatch(scalar, of_column).map(Sum::Tally),
                    (None, Kind::Fixed { .. }, Part::Stored(bytes)) => {
                        Some(Sum::Texts(fixed_texts(column, bytes, plan.element)))
                    }
                    (None, Kind::Fixed { .. }, Part::Fill(0)) => Some(Sum::Texts(Texts::default())),
                    (None, Kind::Fixed { .. }, Part::Fill(count)) => {
                        Some(Sum::Texts(texts_of_fill(plan, column, count)))
                    }
                    (None, ..) => None,
                };
                plan.check_cancelled()?;
                Ok(sum)
            })
            .collect()
    };
    let mut all: Vec<Option<Sum>> = Vec::new();
    let mut merge = |sums: Vec<Option<Sum>>| {
        if all.is_empty() {
            all = sums;
            return;
        }
        for (sum, other) in all.iter_mut().zip(sums) {
            if let (Some(sum), Some(other)) = (sum, other) {
                sum.merge(other);
            }
        }
    };
    request.parallel(plan).in_order(
        plan.parts()?,
        || Ok(Vec::new()),
        |memory: &mut Vec<u8>, place: Region| {
            let count = place.element_count().unwrap_or(u64::MAX);
            let sums = if plan.read(&place, memory)? {
                of_part(&place, Part::Stored(memory))?
            } else {
                of_part(&place, Part::Fill(if request.written_only { 0 } else { count }))?
            };
            if let Some(progress) = request.progress {
                progress(done.fetch_add(count, Ordering::Relaxed) + count, total);
            }
            Ok(sums)
        },
        |sums| {
            merge(sums);
            Ok(())
        },
    )?;
    let absent = plan.absent()?.filter(|_| !request.written_only);
    match absent {
        Some((count, place)) => merge(of_part(&place, Part::Fill(count))?),
        None => merge(of_part(&Region::new([]), Part::Fill(0))?),
    }
    Ok(all)
}

/// The elements of a part.
#[derive(Clone, Copy)]
enum Part<'a> {
    /// All bytes of the elements.
    Stored(&'a [u8]),
    /// As many elements of the fill value.
    Fill(u64),
}

/// A column of a part.
struct OfColumn<'a> {
    plan: &'a Plan,
    column: &'a Column,
    shorts: &'a Shorts,
    place: &'a Region,
    part: Part<'a>,
    fill: &'a [u8],
}

impl Job for OfColumn<'_> {
    type Output = Tally;

    fn run<T: Number>(self) -> Tally {
        let OfColumn { plan, column, shorts, place, part, fill } = self;
        let mut missing = Missing::default();
        if let Some(Scalar::Time(_)) = column.scalar() {
            missing.add(ScalarValue::Float(f64::NAN));
        }
        let rule = Rule::<T>::new(&missing, &plan.cancel);
        let repeat = column.repeat().max(1);
        match part {
            Part::Stored(bytes) => {
                let (bytes, present) = column.gather(bytes, plan.element, shorts);
                Tally::of(&bytes, present.as_deref(), &rule, |at| {
                    plan.coordinates(place, (at / repeat) as u64)
                })
            }
            Part::Fill(0) => Tally::empty::<T>(),
            Part::Fill(count) => {
                let count = count.saturating_mul(column.repeat() as u64);
                let (bytes, present) = column.gather(fill, plan.element, shorts);
                let is_there = present.is_none_or(|present| present.first() == Some(&true));
                if is_there && bytes.len() >= T::SIZE {
                    let fill = T::load(&bytes[..T::SIZE]);
                    Tally::of_fill(fill, count, &rule, plan.coordinates(place, 0))
                } else {
                    Tally { missing: count, never_written: count, ..Tally::empty::<T>() }
                }
            }
        }
    }
}
