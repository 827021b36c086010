//! Says how the elements of arrays are distributed.

use clap::{Args, ValueEnum};
use zarr::data_type::ScalarValue;
use zarr::tools::Listed;
use zarr::{Array, Dialect, ErrorKind, Json, Node, NodeKind, NodePath, Object};
use zarr_plot::meaning::{Meaning, MissingRule, TimeUnits, axes_of};
use zarr_plot::stats::{
    Bins, ByArea, Found, Histogram, Numbers, Request, Statistics, Texts, statistics,
    statistics_along, statistics_along_by_area, statistics_by_area, statistics_by_chunk,
};

use super::checksum::Checked;
use super::{Out, stats_along};
use crate::digits::Digits;
use crate::failure::Failure;
use crate::human;
use crate::parse;
use crate::progress::Progress;
use crate::region::SelectionArgs;
use crate::session::{self, NoMissing, Session, Target};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr stats data.zarr --path temperature
  zarr stats data.zarr/temperature --percentile 2,50,98 --histogram 10
  zarr stats data.zarr/temperature --by-name time=0:12 --json
  zarr stats data.zarr --path temperature --sel time=2020-03:2020-05,lat=40:60
  zarr stats data.zarr --path temperature --axis time
  zarr stats data.zarr --path temperature --axis time,lat \\
      --format npy > by-time-and-lat.npy
  zarr stats data.zarr --path temperature --quick=1 --percentile 2,98
  zarr stats data.zarr --path temperature --by-chunk
  zarr stats data.zarr --path temperature --weights area --axis time
  zarr stats data.zarr",
    after_long_help = crate::details("\
All elements are read, chunk by chunk, and the results are exact; they are the same for any number of threads.
Values are decoded by the CF conventions: unpacked by scale_factor and add_offset, times as dates, without missing values
(_FillValue, missing_value, valid_min, valid_max, valid_range; the fill value of a netCDF variable in v2 and the drafts).
--raw uses elements as stored.
On a terminal, numbers have at most 8 significant digits; in a pipe, a file and --json they have all.

`count` is the number of valid elements, which are neither missing nor NaN. All other results are computed from valid
elements, as in NumPy's functions for NaN and in xarray; infinite elements are valid. A NaN that is declared to be missing
counts as missing. Chunks that were never written are not read: their elements count as the fill value; --written excludes
them. For a group, one line per array is printed; --by-name and --sel apply to arrays that have these axes, and all elements of
other arrays count. docs/stats.md describes the JSON."))]
pub(crate) struct Stats {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    which: SelectionArgs,
    /// Percentiles, from 0 to 100: exact, as NumPy's method `linear`
    ///
    /// Integers and floats of 32 bits are read twice more, of 64 bits four times
    #[arg(long, value_name = "P,…", value_delimiter = ',', value_parser = percentile)]
    percentile: Vec<f64>,
    /// A histogram with this number of bins, or with these edges
    ///
    /// This reads the elements once more
    #[arg(long, value_name = "BINS|EDGE,…", value_parser = bins)]
    histogram: Option<Bins>,
    /// A line for each coordinate of these axes, over all of the others
    ///
    /// Axes are names of dimensions, or numbers from 0, negative ones from the end
    #[arg(long, value_name = "AXIS,…", value_delimiter = ',', allow_hyphen_values = true, conflicts_with_all = ["percentile", "histogram"])]
    axis: Vec<String>,
    /// Format of the lines of --axis [default: a table]
    ///
    /// csv has all digits; npy is an array of records, with counts in uint64 and everything else in float64
    #[arg(long, value_name = "FORMAT", requires = "axis")]
    format: Option<stats_along::Format>,
    /// Estimate from this percentage of the chunks [default without a value: 5]
    #[arg(
        long,
        value_name = "PERCENT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "5",
        value_parser = percent,
        conflicts_with_all = ["axis", "written", "by_chunk"]
    )]
    quick: Option<f64>,
    /// Also print the mean and standard deviation weighted by area on Earth; with --axis time, for each time
    ///
    /// The weight of an element is the area of its cell: by the bounds of the latitude (CF) if there are any, otherwise by
    /// its cosine. Without --axis this reads the elements once more
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["by_chunk", "quick"])]
    weights: Option<Weights>,
    /// Compute statistics of each stored chunk or shard
    ///
    /// Those that differ from the others are printed
    #[arg(long, conflicts_with_all = ["percentile", "histogram", "axis"])]
    by_chunk: bool,
    /// Use elements as stored: nothing is unpacked or treated as missing
    #[arg(long)]
    raw: bool,
    /// What counts as missing: what the dataset declares, or the array's fill value, too
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "declared",
        hide_default_value = true,
        conflicts_with = "raw"
    )]
    missing: Missing,
    /// Delta degrees of freedom of the standard deviation, as in NumPy: 1 divides by the count less one
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse::whole::<u64>)]
    ddof: u64,
    /// Exclude elements of chunks that were never written
    #[arg(long, conflicts_with = "no_missing")]
    written: bool,
    #[command(flatten)]
    missing_chunks: NoMissing,
    #[command(flatten)]
    checked: Checked,
    /// Maximum size of decoded chunks held at once, as in 512MiB [default: 1GiB]
    ///
    /// A single chunk may exceed it
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    memory: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Weights {
    /// Areas of cells between meridians and parallels
    Area,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Missing {
    /// What attributes and the dialect say
    Declared,
    /// The fill value, too
    Fill,
}

fn bins(text: &str) -> Result<Bins, String> {
    if text.contains(',') {
        return text
            .split(',')
            .map(|text: &str| {
                text.trim().parse::<f64>().map_err(|_| format!("`{text}` is not a number"))
            })
            .collect::<Result<_, _>>()
            .map(Bins::Edges);
    }
    text.parse().map(Bins::Count).map_err(|_| {
        format!(
            "invalid bins `{text}`: expected a number, as in 10, or a list of edges, as in 0,1,5"
        )
    })
}

fn percentile(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| format!("expected a number from 0 to 100, found `{text}`"))
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse();
    number.ok().filter(|&number: &f64| number > 0.0 && number <= 100.0).ok_or_else(|| {
        format!("invalid percentage `{text}`: expected a number above 0 and up to 100")
    })
}

impl Stats {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        session.refuse_missing(self.missing_chunks);
        let node = self.checked.open(session, &self.target)?;
        match &node {
            Node::Array(array) if !self.axis.is_empty() => self.along(session, array, out)?,
            Node::Array(array) if self.by_chunk => self.chunks(session, array, out)?,
            Node::Array(array) => {
                let (meaning, found) = self.of(session, array, &self.which)?;
                let by_area = self.by_area(session, array)?;
                if session.is_json() {
                    let path = array.path().as_str();
                    let mut json = self.json(path, array, &meaning, &found);
                    if let (Some(by_area), Json::Object(members)) = (&by_area, &mut json) {
                        members.insert("weighted", by_area.to_json());
                    }
                    writeln!(out, "{json:#}")?;
                } else {
                    self.describe(array, &meaning, &found, out)?;
                    if let Some(by_area) = &by_area {
                        describe_by_area(by_area, out)?;
                    }
                }
            }
            Node::Group(_) if !self.axis.is_empty() => {
                return Err(Failure::usage("--axis is for one array; name it with --path"));
            }
            Node::Group(_) if self.weights.is_some() => {
                return Err(Failure::usage("--weights is for one array; name it with --path"));
            }
            Node::Group(_) if self.by_chunk => {
                return Err(Failure::usage("--by-chunk is for one array; name it with --path"));
            }
            Node::Group(_) => return self.all(session, &node, out),
        }
        session.warn(node.hierarchy());
        Ok(())
    }

    /// One line an array.
    fn all(&self, session: &Session, top: &Node, out: Out<'_>) -> Result<(), Failure> {
        let Listed { nodes: children, broken, .. } = zarr::tools::tree_and_broken(top)?;
        let paths: Vec<&NodePath> = children
            .iter()
            .filter(|child| child.kind == Some(NodeKind::Array))
            .map(|child| &child.path)
            .collect();
        let (mut rows, mut list) = (Vec::new(), Vec::new());
        let mut failed: Vec<Failure> = broken.into_iter().map(|(_, e)| e.into()).collect();
        let (mut is_named, mut has_arrays) = (false, false);
        for path in paths {
            let name = session::from(top.path(), path);
            let found = top.hierarchy().array(path).map_err(Failure::from).and_then(|array| {
                has_arrays = true;
                let which = self.which.by_axes_of(&array)?;
                is_named |= which.is_some();
                let found = self.of(session, &array, &which.unwrap_or_default())?;
                Ok((array, found))
            });
            match found {
                Ok((array, (meaning, found))) if session.is_json() => {
                    list.push(self.json(&name, &array, &meaning, &found));
                }
                Ok((_, (meaning, found))) => rows.extend(row(&name, &meaning, &found)),
                Err(failure) => failed.push(failure),
            }
        }
        if has_arrays && !is_named && failed.is_empty() {
            return Err(Failure::usage("no array has an axis that --by-name or --sel names"));
        }
        if session.is_json() {
            writeln!(out, "{:#}", list.into_iter().collect::<Json>())?;
        } else if !rows.is_empty() {
            let heading = ["array", "count", "missing", "NaN", "min", "max", "mean", "std", ""];
            rows.insert(0, heading.map(str::to_owned));
            table(&rows, out)?;
            if let Some(percent) = self.quick {
                writeln!(
                    out,
                    "estimated from about {percent} % of the chunks, at least one of each array"
                )?;
            }
        }
        session.end(top.hierarchy().warnings(), failed.into_iter())
    }

    /// Statistics for each coordinate of some axes.
    fn along(&self, session: &Session, array: &Array, out: Out<'_>) -> Result<(), Failure> {
        // Coordinates are in the groups above, also where the array itself is named.
        let array = &session.in_its_hierarchy(&self.target, array, &session.options()?)?;
        let axes = stats_along::axes(&self.axis, array)?;
        let (meaning, found) = self.with_request(session, array, &self.which, |request| {
            if self.weights.is_some() {
                statistics_along_by_area(array, request, &axes, &axes_of(array)?)
            } else {
                statistics_along(array, request, &axes)
            }
        })?;
        let format = self.format.or(session.is_json().then_some(stats_along::Format::Json));
        let selected = self.which.of_target(session, &self.target, array)?.along();
        stats_along::print(array, &selected, &meaning, &found, format, out)
    }

    /// Statistics of each chunk, of which those are printed that differ from the others.
    fn chunks(&self, session: &Session, array: &Array, out: Out<'_>) -> Result<(), Failure> {
        let (meaning, found) = self.with_request(session, array, &self.which, |request| {
            statistics_by_chunk(array, request)
        })?;
        if session.is_json() {
            return Ok(writeln!(out, "{:#}", found.to_json())?);
        }
        stats_along::print_outliers(&found, &meaning, out)
    }

    /// Mean and standard deviation by the areas of cells, if they are asked for.
    fn by_area(&self, session: &Session, array: &Array) -> Result<Option<ByArea>, Failure> {
        if self.weights.is_none() {
            return Ok(None);
        }
        // Coordinates are in the groups above, also where the array itself is named.
        let array = &session.in_its_hierarchy(&self.target, array, &session.options()?)?;
        let axes = axes_of(array)?;
        let (_, found) = self.with_request(session, array, &self.which, |request| {
            statistics_by_area(array, request, &axes)
        })?;
        Ok(Some(found))
    }

    fn of(
        &self,
        session: &Session,
        array: &Array,
        which: &SelectionArgs,
    ) -> Result<(Meaning, Statistics), Failure> {
        self.with_request(session, array, which, |request| statistics(array, request))
    }

    /// What the elements mean, and what `find` finds by the options.
    fn with_request<T>(
        &self,
        session: &Session,
        array: &Array,
        which: &SelectionArgs,
        find: impl FnOnce(&Request<'_>) -> zarr::Result<T>,
    ) -> Result<(Meaning, T), Failure> {
        let rule = match self.missing {
            Missing::Declared => MissingRule::Declared,
            Missing::Fill => MissingRule::Fill,
        };
        let meaning = if self.raw {
            Meaning::raw(array)
        } else if array.hierarchy().dialect() == Dialect::V3 {
            Meaning::of(array, rule)
        } else {
            // The groups above tell whether its fill value stands for missing elements.
            let options = session.options()?;
            Meaning::of(&session.in_its_hierarchy(&self.target, array, &options)?, rule)
        };
        session.warn_about(array, &meaning.warnings);
        let size = array.data_type().repr().map_or(1, |repr| repr.size() as u64);
        let progress = Progress::of_bytes(0, false);
        let report = |done: u64, all: u64| {
            progress.at(done.saturating_mul(size), all.saturating_mul(size), Some(array.path()));
        };
        let mut request = Request::new(meaning.clone());
        request.axes = Some(which.of_target(session, &self.target, array)?.along());
        request.percentiles = self.percentile.clone();
        request.histogram = self.histogram.clone();
        request.ddof = self.ddof;
        request.written_only = self.written;
        request.share = self.quick.map(|percent| percent / 100.0);
        request.threads = array.hierarchy().options().threads;
        request.memory = self.memory.unwrap_or(request.memory);
        request.progress = Some(&report);
        let found = find(&request).map_err(|error| match error.store() {
            // Of statistics, not of the array: the error does not know it.
            None if error.kind() == ErrorKind::Argument => {
                let place = human::place(array.hierarchy(), array.path());
                Failure::Usage(format!("{place}: {error}"))
            }
            _ => error.into(),
        })?;
        Ok((meaning, found))
    }

    /// The statistics as JSON, with what the array is.
    fn json(&self, path: &str, array: &Array, meaning: &Meaning, found: &Statistics) -> Json {
        let metadata = array.metadata();
        let mut object = Object::new()
            .with("path", path)
            .with("data_type", metadata.data_type.to_string())
            .with("shape", &metadata.shape[..])
            .with("units", meaning.units.as_deref().map_or(Json::Null, Json::from))
            .with("raw", self.raw)
            .with("ddof", self.ddof);
        if let Json::Object(members) = found.to_json() {
            for (name, value) in members.iter() {
                object.insert(name, value.clone());
            }
        }
        object.into()
    }

    fn describe(
        &self,
        array: &Array,
        meaning: &Meaning,
        found: &Statistics,
        out: Out<'_>,
    ) -> Result<(), Failure> {
        let metadata = array.metadata();
        let shape: Vec<String> = metadata.shape.iter().map(|&len| human::count(len)).collect();
        let shape = if shape.is_empty() { "one element".into() } else { shape.join(" × ") };
        // Of a hierarchy that is one array, TARGET says more than `/`.
        let name = match array.path() {
            path if path.is_root() => human::printable(&self.target.target),
            path => path.to_string(),
        };
        writeln!(out, "{name}: {} of {shape}{}", metadata.data_type, units_of(meaning))?;
        if let Some(sampled) = found.sampled {
            writeln!(out, "{}", estimated(sampled, found.elements))?;
        }
        let digits = Digits::of_output();
        let affine = meaning.affine;
        let ends =
            digits.unpacked((!affine.is_identity()).then_some((affine.scale, affine.offset)));
        for column in &found.columns {
            if !column.name.is_empty() {
                writeln!(out, "\n{}", column.name)?;
            }
            match &column.found {
                Found::Numbers(numbers) => describe_numbers(numbers, digits, ends, out)?,
                Found::Texts(texts) => describe_texts(texts, out)?,
            }
        }
        Ok(())
    }
}

/// Says of how many elements an estimate is.
fn estimated(sampled: u64, of: u64) -> String {
    let percent = sampled as f64 / of.max(1) as f64 * 100.0;
    format!("estimated from {} % of the elements, in whole chunks", short(percent))
}

fn units_of(meaning: &Meaning) -> String {
    let title = meaning.title.iter().map(|title| format!(", {}", human::printable(title)));
    let units = meaning.units.iter().map(|units| format!(", {}", human::printable(units)));
    title.chain(units).collect()
}

fn line(out: Out<'_>, label: &str, text: impl std::fmt::Display) -> Result<(), Failure> {
    Ok(writeln!(out, "{label:<14} {text}")?)
}

/// `digits` are those of all numbers, and `ends` those of elements: a mean has others.
fn describe_numbers(
    numbers: &Numbers,
    digits: Digits,
    ends: Digits,
    out: Out<'_>,
) -> Result<(), Failure> {
    line(out, "count", human::count(numbers.count))?;
    line(out, "missing", human::count(numbers.missing))?;
    line(out, "NaN", human::count(numbers.nan))?;
    for (label, count) in [
        ("+inf", numbers.pos_inf),
        ("-inf", numbers.neg_inf),
        ("never written", numbers.never_written),
    ] {
        if count > 0 {
            line(out, label, human::count(count))?;
        }
    }
    line(out, "min", end_with_place(&numbers.min, numbers.time, ends))?;
    line(out, "max", end_with_place(&numbers.max, numbers.time, ends))?;
    if numbers.count == 0 {
        return Ok(());
    }
    line(out, "mean", shown(ScalarValue::Float(numbers.mean), numbers.time, digits))?;
    let std = numbers.std;
    match numbers.time {
        Some(time) => line(out, "std", format!("{} days", short(std * time.seconds() / 86_400.0)))?,
        None => line(out, "std", short(std))?,
    }
    if numbers.time.is_none() {
        line(out, "sum", shown(numbers.sum, None, digits))?;
    }
    for &(percent, number) in &numbers.percentiles {
        let number = shown(ScalarValue::Float(number), numbers.time, digits);
        line(out, &format!("{percent} %"), number)?;
    }
    if let Some(histogram) = &numbers.histogram {
        draw(histogram, numbers.time, out)?;
    }
    Ok(())
}

/// The value of an end, with its place.
fn end_with_place(
    end: &Option<(ScalarValue, Vec<u64>)>,
    time: Option<TimeUnits>,
    digits: Digits,
) -> String {
    let Some((value, place)) = end else { return "no values".to_owned() };
    let value = shown(*value, time, digits);
    let place: Vec<String> = place.iter().map(u64::to_string).collect();
    if place.is_empty() { value } else { format!("{value}  at {}", place.join(",")) }
}

/// Two more lines below those of numbers, and what the weights are of.
fn describe_by_area(found: &ByArea, out: Out<'_>) -> Result<(), Failure> {
    let of = match &found.bounds {
        Some(path) => format!("areas between the latitudes in {path}"),
        None => "cosine of the latitude".to_owned(),
    };
    line(
        out,
        "mean by area",
        format!("{}  weights: {}", number(found.mean), human::printable(&of)),
    )?;
    line(out, "std by area", number(found.std))
}

/// A number, or that there are no values.
fn number(value: f64) -> String {
    if value.is_nan() { "no values".to_owned() } else { short(value) }
}

fn describe_texts(texts: &Texts, out: Out<'_>) -> Result<(), Failure> {
    line(out, "count", human::count(texts.count))?;
    line(out, "missing", human::count(texts.missing))?;
    line(out, "empty", human::count(texts.empty))?;
    if texts.never_written > 0 {
        line(out, "never written", human::count(texts.never_written))?;
    }
    if let (Some(least), Some(most)) = (texts.min_length, texts.max_length) {
        line(out, "lengths", format!("{} to {}", human::count(least), human::count(most)))?;
    }
    line(out, "different", texts.distinct().map_or("many".into(), human::count))
}

/// A bar for each bin; of more than 40 as many neighbours together as are needed.
fn draw(histogram: &Histogram, time: Option<TimeUnits>, out: Out<'_>) -> Result<(), Failure> {
    const BARS: usize = 40;
    const WIDTH: u64 = 40;
    let together = histogram.counts.len().div_ceil(BARS).max(1);
    let bars: Vec<(usize, u64)> = histogram
        .counts
        .chunks(together)
        .enumerate()
        .map(|(n, counts)| (n * together, counts.iter().sum()))
        .collect();
    let most = bars.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    // A label has as many digits as tell neighbours apart; --json has all.
    let edge = |n: usize| {
        let edge = histogram.edges[n.min(histogram.counts.len())];
        let short = format!("{edge:.6e}").parse().unwrap_or(edge);
        exact(ScalarValue::Float(if time.is_some() { edge } else { short }), time)
    };
    let labels: Vec<String> =
        bars.iter().map(|(n, _)| edge(*n)).chain([edge(usize::MAX)]).collect();
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    writeln!(out)?;
    for ((_, count), ends) in bars.iter().zip(labels.windows(2)) {
        // Eighths of a character, at least one where there is something.
        let eighths = (u128::from(*count) * u128::from(WIDTH) * 8 / u128::from(most)) as u64;
        let eighths = eighths.max(u64::from(*count > 0));
        let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][(eighths % 8) as usize];
        let bar = format!("{}{part}", "█".repeat((eighths / 8) as usize));
        writeln!(out, "{:>width$} … {:<width$} {bar} {}", ends[0], ends[1], human::count(*count))?;
    }
    Ok(())
}

/// A row of the table of a group for each column of an array.
fn row(name: &str, meaning: &Meaning, found: &Statistics) -> Vec<[String; 9]> {
    found
        .columns
        .iter()
        .map(|column| {
            let dot = if column.name.is_empty() { "" } else { "." };
            let name = format!("{}{dot}{}", human::printable(name), human::printable(&column.name));
            let units = meaning.units.as_deref().map(human::printable).unwrap_or_default();
            let none = String::new;
            match &column.found {
                Found::Numbers(numbers) => {
                    let some = |text: String| if numbers.count == 0 { none() } else { text };
                    [
                        name,
                        human::count(numbers.count),
                        human::count(numbers.missing),
                        human::count(numbers.nan),
                        brief_end(&numbers.min, numbers.time),
                        brief_end(&numbers.max, numbers.time),
                        some(brief(ScalarValue::Float(numbers.mean), numbers.time)),
                        some(short(numbers.std)),
                        if numbers.time.is_some() { none() } else { units },
                    ]
                }
                Found::Texts(texts) => {
                    let count = human::count(texts.count);
                    let missing = human::count(texts.missing);
                    [name, count, missing, none(), none(), none(), none(), none(), none()]
                }
            }
        })
        .collect()
}

/// The value of an end, nothing if there is none.
fn brief_end(end: &Option<(ScalarValue, Vec<u64>)>, time: Option<TimeUnits>) -> String {
    end.as_ref().map_or_else(String::new, |(value, _)| brief(*value, time))
}

/// Columns: the first to the left, numbers to the right, the last as it is.
pub(super) fn table(rows: &[[String; 9]], out: Out<'_>) -> Result<(), Failure> {
    let widths: Vec<usize> =
        (0..9).map(|n: usize| human::column_width(rows.iter().map(|row| &row[n]))).collect();
    for row in rows {
        let mut text = human::left(&row[0], widths[0]);
        for n in 1..8 {
            text.push_str("  ");
            text.push_str(&human::right(&row[n], widths[n]));
        }
        let text = format!("{text}  {}", row[8]);
        writeln!(out, "{}", text.trim_end())?;
    }
    Ok(())
}

/// A number in full, or the moment that it is.
pub(super) fn exact(value: ScalarValue, time: Option<TimeUnits>) -> String {
    shown(value, time, Digits::All)
}

/// A number with these digits, or the moment that it is.
fn shown(value: ScalarValue, time: Option<TimeUnits>, digits: Digits) -> String {
    match (value, time) {
        (ScalarValue::Integer(count), Some(time)) => i64::try_from(count)
            .ok()
            .and_then(|count| time.date_of_integer(count))
            .map_or_else(|| count.to_string(), |date| date.to_string()),
        (ScalarValue::Float(number), Some(time)) => {
            time.date(number).map_or_else(|| short(number), |date| date.to_string())
        }
        (ScalarValue::Integer(value), None) => value.to_string(),
        (ScalarValue::Float(value), None) => digits.of_float(value),
    }
}

/// As [`exact`], with few digits.
pub(super) fn brief(value: ScalarValue, time: Option<TimeUnits>) -> String {
    match (value, time) {
        (ScalarValue::Float(value), None) => short(value),
        (value, time) => exact(value, time),
    }
}

/// A number with six digits that count.
pub(super) fn short(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-4..1e9).contains(&size) {
        return format!("{value:.5e}");
    }
    let digits = (5 - size.log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (-273.149_99, "-273.15"),
            (123_456.7, "123457"),
            (1e-7, "1.00000e-7"),
            (f64::NAN, "NaN"),
            (1e12, "1.00000e12"),
        ] {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn bins_are_a_number_or_edges() {
        assert_eq!(bins("10"), Ok(Bins::Count(10)));
        assert_eq!(bins("0, 1.5,2"), Ok(Bins::Edges(vec![0.0, 1.5, 2.0])));
        assert!(bins("x").is_err() && bins("1,x").is_err() && bins("-1").is_err());
    }
}
