//! Exact statistics of arrays, in little memory.
//!
//! Threads read stored chunks, or parts of shards, one after the other; what is known of each is merged in the order of the chunks, so
//! that any number of threads gives the same bits. Chunks that are not stored are not read: they count as the fill value.
//!
//! ```
//! use zarr_plot::meaning::{Meaning, MissingRule};
//! use zarr_plot::stats::{Request, statistics};
//!
//! # fn example(array: &zarr_core::Array) -> zarr_core::Result<()> {
//! let mut request = Request::new(Meaning::of(array, MissingRule::Declared));
//! request.percentiles = vec![2.0, 98.0];
//! println!("{:#}", statistics(array, &request)?.to_json());
//! # Ok(())
//! # }
//! ```

mod along;
mod by_chunk;
mod column;
mod columns;
mod histogram;
mod json;
mod moments;
mod plan;
mod ranks;
mod sample;
mod scan;
mod tally;
mod texts;
mod weighted;

use std::sync::atomic::{AtomicU64, Ordering};

use zarr_core::data_type::{Scalar, ScalarValue, unpadded};
use zarr_core::runtime::{Parallel, available_threads};
use zarr_core::var_buffer::VarStream;
use zarr_core::{AccessError, Array, Region, Result};

pub use self::along::{AlongAxes, Cell, statistics_along};
pub use self::by_chunk::{ByChunk, Chunk, Outlier, statistics_by_chunk};
use self::column::{Column, Job, Kind, Shorts, as_f64, dispatch};
use self::columns::Sum;
pub use self::histogram::{Bins, Histogram, MOST_BINS};
pub use self::plan::Along;
use self::plan::Plan;
use self::ranks::{Counts, between, numbers_of, position};
use self::scan::{Class, Number, Rule, scan};
use self::tally::{Place, Tally};
pub use self::texts::Texts;
pub use self::weighted::{ByArea, statistics_along_by_area, statistics_by_area};
use crate::meaning::{Affine, Meaning, TimeUnits, units_of_numpy};

/// Which statistics to compute.
#[derive(Clone)]
pub struct Request<'a> {
    /// What is selected along each axis; all, if there is nothing.
    pub axes: Option<Vec<Along>>,
    /// What elements stand for; [`Meaning::raw`] for the stored ones.
    pub meaning: Meaning,
    /// Percentiles, from 0 to 100: exact, with NumPy's method `linear`.
    pub percentiles: Vec<f64>,
    /// A histogram.
    pub histogram: Option<Bins>,
    /// What is taken off the count where the standard deviation divides by it.
    pub ddof: u64,
    /// Whether elements of chunks that are not stored are left out.
    pub written_only: bool,
    /// A share of the chunks that is read, above 0 and up to 1, for an estimate; nothing for all of them.
    pub share: Option<f64>,
    /// Threads; 0 for as many as the machine has.
    pub threads: usize,
    /// Bytes of decoded chunks to hold at once. One chunk may have more.
    pub memory: u64,
    /// Called with the number of elements that are done, and of all, from any thread.
    pub progress: Option<&'a (dyn Fn(u64, u64) + Sync)>,
}

impl std::fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Request { axes, meaning, percentiles, histogram, .. } = self;
        write!(f, "Request({axes:?}, {meaning:?}, {percentiles:?}, {histogram:?})")
    }
}

impl Request<'_> {
    /// The usual statistics of all elements.
    pub fn new(meaning: Meaning) -> Request<'static> {
        Request {
            axes: None,
            meaning,
            percentiles: Vec::new(),
            histogram: None,
            ddof: 0,
            written_only: false,
            share: None,
            threads: 0,
            memory: 1 << 30,
            progress: None,
        }
    }

    /// Threads, so that each has memory for a chunk.
    fn parallel(&self, plan: &Plan) -> Parallel<'static> {
        let chunk = plan.largest_part().max(1);
        let fit = usize::try_from(self.memory / chunk).unwrap_or(usize::MAX);
        let threads = fit.clamp(1, available_threads(self.threads));
        Parallel { name: "zarr-stats", threads, cancel: None }
    }
}

/// What is known of an array's elements.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// How many elements were looked at.
    pub elements: u64,
    /// How many of them are in the chunks that were read, where that was to be a share; all others are what these lead to expect.
    pub sampled: Option<u64>,
    /// One item; of records one for each field, of complex numbers one for each part.
    pub columns: Vec<ColumnStatistics>,
}

/// What is known of numbers or texts at one place of each element.
#[derive(Clone, Debug)]
pub struct ColumnStatistics {
    /// The field's name, or `real`, `imag`; empty, if there is one column.
    pub name: String,
    /// What is known.
    pub found: Found,
}

/// Statistics of numbers, or of texts.
#[derive(Clone, Debug)]
pub enum Found {
    /// Of numbers and times.
    Numbers(Box<Numbers>),
    /// Of texts and bytes.
    Texts(Texts),
}

/// Statistics of numbers and times, unpacked by the meaning that was requested.
///
/// As in NumPy's functions for NaN and in xarray, elements that are NaN or missing are in none of the others. Infinite ones are.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// Valid elements: neither missing nor NaN.
    pub count: u64,
    /// Missing elements. A NaN that is declared to be missing is one of these.
    pub missing: u64,
    /// Other elements that are NaN.
    pub nan: u64,
    /// Valid elements that are infinite.
    pub pos_inf: u64,
    /// Valid elements that are minus infinity.
    pub neg_inf: u64,
    /// Elements in chunks that are not stored, which were not read and count as the fill value.
    pub never_written: u64,
    /// The least valid element, and the coordinates of the first of these.
    pub min: Option<(ScalarValue, Vec<u64>)>,
    /// The greatest.
    pub max: Option<(ScalarValue, Vec<u64>)>,
    /// The mean; NaN of nothing.
    pub mean: f64,
    /// The standard deviation; NaN if there are too few.
    pub std: f64,
    /// The sum: whole numbers that are not unpacked have an exact one.
    pub sum: ScalarValue,
    /// Percentiles, in the order in which they were requested; NaN of nothing.
    pub percentiles: Vec<(f64, f64)>,
    /// The histogram that was requested; nothing, if there is nothing to count.
    pub histogram: Option<Histogram>,
    /// How numbers are times.
    pub time: Option<TimeUnits>,
}

/// Computes the statistics of an array.
///
/// # Errors
/// [`AccessError::Argument`] for an invalid request; as [`Array::read`].
pub fn statistics(array: &Array, request: &Request<'_>) -> Result<Statistics> {
    check(request)?;
    let plan = match request.share {
        Some(share) => Plan::of_share(array, request.axes.clone(), share)?,
        None => Plan::of_stored(array, request.axes.clone())?,
    };
    let columns = column::columns(&plan.data_type, request.meaning.unsigned);
    let has_more = !request.percentiles.is_empty() || request.histogram.is_some();
    if has_more && columns.len() > columns::MAX_TOGETHER {
        return Err(argument(format!(
            "the elements have {} parts; there are no percentiles and no histograms of more than {}",
            columns.len(),
            columns::MAX_TOGETHER
        )));
    }
    let (is_plain, rule) = (columns.len() == 1 && columns[0].name.is_empty(), &request.meaning);
    let mut sums = columns::sums(&plan, &columns, request)?.into_iter();
    let mut found = Vec::new();
    for column in &columns {
        // Attributes speak of numbers, and not of parts of elements.
        let meaning = if is_plain { rule.clone() } else { Meaning::default() };
        let (tally, texts) = match sums.next().flatten() {
            Some(Sum::Tally(tally)) => (Some(tally), None),
            Some(Sum::Texts(texts)) => (None, Some(texts)),
            None => (None, None),
        };
        let one = match column.scalar() {
            Some(scalar) => {
                let job = Numerical { plan: &plan, column, request, meaning: &meaning, tally };
                let numbers = dispatch(scalar, job).ok_or_else(|| {
                    argument(format!(
                        "statistics are not supported for elements of type {}",
                        plan.data_type
                    ))
                })??;
                Found::Numbers(Box::new(numbers))
            }
            None => Found::Texts(match texts {
                Some(texts) => texts,
                None => text_statistics(&plan, column, request)?,
            }),
        };
        found.push(ColumnStatistics { name: column.name.clone(), found: one });
    }
    let sampled = request.share.map(|_| plan.taken());
    Ok(Statistics { elements: plan.count(), sampled, columns: found })
}

fn argument(why: String) -> zarr_core::Error {
    AccessError::Argument(why).into()
}

fn check(request: &Request<'_>) -> Result<()> {
    if let Some(percent) =
        request.percentiles.iter().find(|percent| !(0.0..=100.0).contains(*percent))
    {
        return Err(argument(format!("expected a percentile from 0 to 100, found {percent}")));
    }
    if let Some(share) = request.share.filter(|&share| !(share > 0.0 && share <= 1.0)) {
        return Err(argument(format!("expected a share above 0 and at most 1, found {share}")));
    }
    match &request.histogram {
        Some(Bins::Count(0)) => Err(argument("a histogram needs at least one bin".into())),
        Some(Bins::Count(bins)) if *bins > MOST_BINS => {
            Err(argument(format!("a histogram has at most {MOST_BINS} bins, not {bins}")))
        }
        Some(Bins::Edges(edges))
            if edges.len() < 2 || !edges.windows(2).all(|pair| pair[0] < pair[1]) =>
        {
            Err(argument(
                "the edges of a histogram are two numbers or more, each above the one before"
                    .into(),
            ))
        }
        _ => Ok(()),
    }
}

/// The statistics of one column of numbers.
struct Numerical<'a, 'r> {
    plan: &'a Plan,
    column: &'a Column,
    request: &'a Request<'r>,
    meaning: &'a Meaning,
    /// What is known already.
    tally: Option<Tally>,
}

/// The numbers of a part.
#[derive(Clone, Copy)]
enum Part<'a> {
    /// In native bytes, and which of them are there.
    Numbers(&'a [u8], Option<&'a [bool]>),
    /// As many of the fill value, or none if these are left out.
    Fill(u64),
}

/// What a thread has.
struct Own<X> {
    memory: Vec<u8>,
    extra: X,
}

impl Numerical<'_, '_> {
    /// Goes through all parts once; see [`Parallel::in_order`].
    fn pass<X: Send, P: Send>(
        &self,
        extra: impl Fn() -> X + Sync,
        work: impl Fn(&mut X, &Region, Part<'_>) -> P + Sync,
        mut merge: impl FnMut(P),
    ) -> Result<Vec<X>> {
        let (plan, column, shorts) = (self.plan, self.column, Shorts::of(self.column));
        let (done, all) = (AtomicU64::new(0), plan.count());
        let owned = self.request.parallel(plan).in_order(
            plan.parts()?,
            || Ok(Own { memory: Vec::new(), extra: extra() }),
            |own: &mut Own<X>, place: Region| {
                let count = place.element_count().unwrap_or(u64::MAX);
                plan.check_cancelled()?;
                let is_stored = plan.read(&place, &mut own.memory)?;
                let result = if is_stored {
                    let (bytes, present) = column.gather(&own.memory, plan.element, &shorts);
                    work(&mut own.extra, &place, Part::Numbers(&bytes, present.as_deref()))
                } else {
                    let count = if self.request.written_only { 0 } else { count };
                    let count = count.saturating_mul(column.repeat() as u64);
                    work(&mut own.extra, &place, Part::Fill(count))
                };
                plan.check_cancelled()?;
                if let Some(progress) = self.request.progress {
                    progress(done.fetch_add(count, Ordering::Relaxed) + count, all);
                }
                Ok(result)
            },
            |result| {
                merge(result);
                Ok(())
            },
        )?;
        let mut owned: Vec<X> = owned.into_iter().map(|own| own.extra).collect();
        let absent = plan.absent()?.filter(|_| !self.request.written_only);
        if let (Some((count, place)), Some(own)) = (absent, owned.first_mut()) {
            let count = count.saturating_mul(column.repeat() as u64);
            merge(work(own, &place, Part::Fill(count)));
        }
        Ok(owned)
    }

    /// The fill value of the column; `None` if it is a missing one of nullable elements.
    fn fill<T: Number>(&self) -> Option<T> {
        let fill = self.plan.fill();
        let (bytes, present) =
            self.column.gather(&fill, self.plan.element, &Shorts::of(self.column));
        let is_there = present.is_none_or(|present| present.first() == Some(&true));
        (is_there && bytes.len() >= T::SIZE).then(|| T::load(&bytes[..T::SIZE]))
    }

    fn tally<T: Number>(&self, rule: &Rule<T>) -> Result<Tally> {
        let fill = self.fill::<T>();
        let repeat = self.column.repeat().max(1);
        let mut all = Tally::empty::<T>();
        self.pass(
            || (),
            |(): &mut (), place: &Region, part: Part<'_>| match part {
                Part::Numbers(bytes, present) => Tally::of(bytes, present, rule, |at| {
                    self.plan.coordinates(place, (at / repeat) as u64)
                }),
                Part::Fill(count) => match fill {
                    Some(_) if count == 0 => Tally::empty::<T>(),
                    Some(fill) => {
                        Tally::of_fill(fill, count, rule, self.plan.coordinates(place, 0))
                    }
                    None => Tally { missing: count, never_written: count, ..Tally::empty::<T>() },
                },
            },
            |tally| all.merge(tally),
        )?;
        Ok(all)
    }

    /// Goes through all valid numbers once: each thread has a copy of `counts`, to which it adds them.
    fn count<T: Number, C: Clone + Send + Sync>(
        &self,
        rule: &Rule<T>,
        counts: &C,
        add: impl Fn(&mut C, T, u64) + Sync,
    ) -> Result<Vec<C>> {
        let fill = self.fill::<T>().filter(|&fill| rule.class(fill) == Class::Valid);
        self.pass(
            || counts.clone(),
            |counts: &mut C, _: &Region, part: Part<'_>| match (part, fill) {
                (Part::Numbers(bytes, present), _) => scan(bytes, present, rule, |block| {
                    block.valid.iter().for_each(|&value| add(counts, value, 1));
                }),
                (Part::Fill(count), Some(fill)) => add(counts, fill, count),
                (Part::Fill(_), None) => {}
            },
            |()| (),
        )
    }

    fn percentiles<T: Number>(&self, rule: &Rule<T>, count: u64) -> Result<Vec<(f64, f64)>> {
        let percents = &self.request.percentiles;
        if count == 0 || percents.is_empty() {
            return Ok(percents.iter().map(|&percent| (percent, f64::NAN)).collect());
        }
        let places: Vec<_> = percents.iter().map(|&percent| position(percent, count)).collect();
        let is_falling = self.meaning.affine.scale < 0.0;
        // A negative scale turns the order: the ranks are those from the other end.
        let rank = |rank: u64| if is_falling { count - 1 - rank } else { rank };
        let ranks: Vec<u64> =
            places.iter().flat_map(|&(low, high, _)| [rank(low), rank(high)]).collect();
        let numbers = numbers_of::<T, _>(&ranks, |counts: &Counts| {
            self.count(rule, counts, |counts, value, times| counts.add(value, times))
        })?;
        let numbers: Vec<f64> =
            numbers.iter().map(|number| self.meaning.affine.apply_exact(number.value())).collect();
        let found = places.iter().enumerate().map(|(n, &(_, _, part))| {
            (percents[n], between(numbers[2 * n], numbers[2 * n + 1], part))
        });
        Ok(found.collect())
    }

    fn histogram<T: Number>(&self, rule: &Rule<T>, tally: &Tally) -> Result<Option<Histogram>> {
        let affine = self.meaning.affine;
        let (Some(bins), Some((least, _)), Some((most, _))) =
            (&self.request.histogram, &tally.least, &tally.most)
        else {
            return Ok(None);
        };
        let edges = match bins {
            Bins::Edges(edges) => edges.clone(),
            Bins::Count(bins) => {
                let ends = [affine.apply_exact(*least), affine.apply_exact(*most)];
                let (low, high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
                if !low.is_finite() || !high.is_finite() {
                    let why = format!(
                        "a histogram from {low} to {high} has no bins of equal width; give its edges"
                    );
                    return Err(argument(why));
                }
                histogram::edges(low, high, *bins)
            }
        };
        let mut all = Histogram::empty(edges);
        let parts =
            self.count(rule, &all.clone(), |histogram: &mut Histogram, value: T, times| {
                histogram.add(affine.apply_exact(value.value()), times);
            })?;
        for part in parts {
            all.merge(&part);
        }
        Ok(Some(all))
    }
}

impl Job for Numerical<'_, '_> {
    type Output = Result<Numbers>;

    fn run<T: Number>(self) -> Result<Numbers> {
        let mut missing = self.meaning.missing.clone();
        if let Some(Scalar::Time(_)) = self.column.scalar() {
            missing.add(ScalarValue::Float(f64::NAN));
        }
        let rule = Rule::<T>::new(&missing, &self.plan.cancel);
        let tally = match self.tally.clone() {
            Some(tally) => tally,
            None => self.tally(&rule)?,
        };
        let count = tally.moments.count();
        let percentiles = self.percentiles(&rule, count)?;
        let histogram = self.histogram(&rule, &tally)?;
        let affine = self.meaning.affine;
        let unpack = |place: Option<Place>| place.map(|(value, at)| (unpacked(affine, value), at));
        let (mut min, mut max) = (unpack(tally.least), unpack(tally.most));
        if affine.scale < 0.0 {
            std::mem::swap(&mut min, &mut max);
        }
        let sum = match tally.moments.sum() {
            Ok(exact) if affine.is_identity() => ScalarValue::Integer(exact),
            Ok(exact) => {
                ScalarValue::Float(exact as f64 * affine.scale + count as f64 * affine.offset)
            }
            Err(sum) if affine.is_identity() => ScalarValue::Float(sum),
            Err(sum) => ScalarValue::Float(sum * affine.scale + count as f64 * affine.offset),
        };
        let mean = tally.moments.mean();
        let time = self.column.numpy_time().and_then(units_of_numpy).or(self.meaning.time);
        Ok(Numbers {
            count,
            missing: tally.missing,
            nan: tally.nan,
            pos_inf: if affine.scale < 0.0 { tally.neg_inf } else { tally.pos_inf },
            neg_inf: if affine.scale < 0.0 { tally.pos_inf } else { tally.neg_inf },
            never_written: tally.never_written,
            min,
            max,
            mean: if affine.is_identity() { mean } else { affine.apply(mean) },
            std: tally.moments.std(self.request.ddof) * affine.scale.abs(),
            sum,
            percentiles,
            histogram,
            time,
        })
    }
}

/// The number that a stored one stands for: a whole one stays whole where nothing is unpacked.
fn unpacked(affine: Affine, value: ScalarValue) -> ScalarValue {
    match value {
        value if affine.is_identity() => value,
        value => ScalarValue::Float(affine.apply(as_f64(value))),
    }
}

impl Affine {
    /// As [`Affine::apply`]; minus zero stays where nothing is unpacked.
    fn apply_exact(&self, value: ScalarValue) -> f64 {
        as_f64(unpacked(*self, value))
    }
}

fn text_statistics(plan: &Plan, column: &Column, request: &Request<'_>) -> Result<Texts> {
    let (done, total) = (AtomicU64::new(0), plan.count());
    let is_text =
        matches!(column.kind, Kind::Fixed { is_text: true, .. } | Kind::Variable { is_text: true });
    let work = |memory: &mut Vec<u8>, place: Region| {
        plan.check_cancelled()?;
        let mut texts = Texts::default();
        let count = place.element_count().unwrap_or(0);
        if matches!(column.kind, Kind::Variable { .. }) {
            let bytes = plan.read_variable(&place)?;
            for element in VarStream::new(&bytes) {
                let length = if is_text {
                    String::from_utf8_lossy(element).chars().count()
                } else {
                    element.len()
                };
                texts.add(element, length as u64, 1);
            }
        } else if plan.read(&place, memory)? {
            texts = fixed_texts(column, memory, plan.element);
        } else if !request.written_only {
            texts = texts_of_fill(plan, column, count);
        }
        if let Some(progress) = request.progress {
            progress(done.fetch_add(count, Ordering::Relaxed) + count, total);
        }
        Ok(texts)
    };
    let mut all = Texts::default();
    request.parallel(plan).in_order(
        plan.parts()?,
        || Ok(Vec::new()),
        work,
        |texts| {
            all.merge(texts);
            Ok(())
        },
    )?;
    if let Some((count, place)) = plan.absent()?.filter(|_| !request.written_only) {
        // One stands for all.
        let mut one = work(&mut Vec::new(), place)?;
        for number in [&mut one.count, &mut one.missing, &mut one.empty] {
            *number *= count;
        }
        one.never_written = count;
        all.merge(one);
    }
    Ok(all)
}

/// The texts of a column of one width.
fn fixed_texts(column: &Column, bytes: &[u8], size: usize) -> Texts {
    let mut texts = Texts::default();
    let Kind::Fixed { len, unit, is_text } = column.kind else { return texts };
    let (bytes, present) = column.gather(bytes, size, &Shorts::none());
    for (n, element) in bytes.chunks_exact(len.max(1)).enumerate() {
        if present.as_ref().is_some_and(|present| !present[n]) {
            texts.missing += 1;
            continue;
        }
        let element = if is_text { unpadded(element, unit) } else { element };
        texts.add(element, (element.len() / unit) as u64, 1);
    }
    texts
}

/// The same of `count` elements that were never written: one stands for all.
fn texts_of_fill(plan: &Plan, column: &Column, count: u64) -> Texts {
    let mut texts = fixed_texts(column, &plan.fill(), plan.element);
    for number in [&mut texts.count, &mut texts.missing, &mut texts.empty] {
        *number *= count;
    }
    texts.never_written = count;
    texts
}
