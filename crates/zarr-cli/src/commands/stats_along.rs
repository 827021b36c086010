//! Prints statistics for each coordinate of some axes, and of chunks that differ from the others.

use clap::ValueEnum;
use zarr::data_type::ScalarValue;
use zarr::{Array, Json};
use zarr_plot::meaning::{Axis, Meaning, axes_of};
use zarr_plot::stats::{Along, AlongAxes, ByChunk, Cell};

use super::Out;
use super::stats::{brief, exact, short, table};
use crate::failure::Failure;
use crate::human;
use crate::npy::Header;

/// How the statistics along axes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Csv,
    Npy,
    Json,
}

/// The most outliers that a table has.
const SHOWN: usize = 20;

/// The axes that a list of names or numbers means.
pub(super) fn axes(words: &[String], array: &Array) -> Result<Vec<usize>, Failure> {
    // Images have the names of their axes in the group above.
    let names: Vec<Option<String>> = axes_of(array)?.into_iter().map(|axis| axis.name).collect();
    let rank = array.rank() as i64;
    words
        .iter()
        .map(|word| {
            let named = names.iter().position(|name| name.as_deref() == Some(word.trim()));
            named
                .or_else(|| {
                    let number: i64 = word.trim().parse().ok()?;
                    (-rank..rank).contains(&number).then(|| number.rem_euclid(rank) as usize)
                })
                .ok_or_else(|| {
                    let known: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
                    let known = if known.is_empty() {
                        String::new()
                    } else {
                        format!("{}, or ", known.join(", "))
                    };
                    let place = human::place(array.hierarchy(), array.path());
                    let there = match array.rank() {
                        0 => "the array is one element".to_owned(),
                        rank => format!("expected {known}0 to {}", rank - 1),
                    };
                    Failure::Usage(format!("{place}: there is no axis `{word}`; {there}"))
                })
        })
        .collect()
}

/// The statistics with the names of the axes.
fn json(array: &Array, found: &AlongAxes) -> Json {
    let mut json = found.to_json();
    if let Json::Object(object) = &mut json {
        let names = array.dimension_names().unwrap_or_default();
        let names = found.axes.iter().map(|&axis| match names.get(axis) {
            Some(Some(name)) => Json::from(name.as_str()),
            _ => Json::Null,
        });
        object.insert("names", names.collect::<Json>());
    }
    json
}

/// A line for each coordinate.
pub(super) fn print(
    array: &Array,
    selected: &[Along],
    meaning: &Meaning,
    found: &AlongAxes,
    format: Option<Format>,
    out: Out<'_>,
) -> Result<(), Failure> {
    match format {
        Some(Format::Json) => return Ok(writeln!(out, "{:#}", json(array, found))?),
        Some(Format::Npy) => return npy(found, out),
        _ => {}
    }
    let all = axes_of(array)?;
    let labels: Vec<Vec<String>> = found
        .axes
        .iter()
        .map(|&axis| labels(&all[axis], &selected[axis]))
        .collect::<Result<_, _>>()?;
    if format == Some(Format::Csv) {
        return csv(&all, &labels, meaning, found, out);
    }
    let heading = found
        .axes
        .iter()
        .map(|&axis| all[axis].name.clone().unwrap_or_else(|| format!("axis {axis}")))
        .collect::<Vec<_>>()
        .join(" ");
    let (mean, std) = if found.by_area { ("area mean", "area std") } else { ("mean", "std") };
    let mut rows = vec![
        [&*human::printable(&heading), "count", "missing", "NaN", "min", "max", mean, std, ""]
            .map(str::to_owned),
    ];
    for (n, cell) in found.cells.iter().enumerate() {
        rows.push(row(words(&labels, n).join(" "), cell, meaning));
    }
    table(&rows, out)
}

/// The coordinates of the `n`th cell.
fn words(labels: &[Vec<String>], mut n: usize) -> Vec<&str> {
    let mut words = Vec::new();
    for labels in labels.iter().rev() {
        words.push(labels[n % labels.len().max(1)].as_str());
        n /= labels.len().max(1);
    }
    words.reverse();
    words
}

/// A line for each coordinate behind one with names. Numbers are in full; what there is nothing of is empty.
fn csv(
    all: &[Axis],
    labels: &[Vec<String>],
    meaning: &Meaning,
    found: &AlongAxes,
    out: Out<'_>,
) -> Result<(), Failure> {
    let names = found.axes.iter().map(|&axis| match &all[axis].name {
        Some(name) => csv_text(name),
        None => csv_text(&format!("axis {axis}")),
    });
    let (mean, std) = if found.by_area { ("area_mean", "area_std") } else { ("mean", "std") };
    let columns = ["count", "missing", "nan", "min", "max", mean, std].map(str::to_owned);
    writeln!(out, "{}", names.chain(columns).collect::<Vec<_>>().join(","))?;
    for (n, cell) in found.cells.iter().enumerate() {
        let value = |value: Option<ScalarValue>| {
            value
                .filter(|_| cell.count > 0)
                .map_or_else(String::new, |value| exact(value, meaning.time))
        };
        let std = if cell.count > 0 { cell.std.to_string() } else { String::new() };
        let counts = [cell.count, cell.missing, cell.nan].map(|count| count.to_string());
        let mean = Some(ScalarValue::Float(cell.mean));
        let values = [value(cell.min), value(cell.max), value(mean), std];
        let words = words(labels, n).into_iter().map(csv_text);
        writeln!(out, "{}", words.chain(counts).chain(values).collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}

/// A text in CSV, in quotes where it needs them.
fn csv_text(text: &str) -> String {
    let is_plain = !text.contains([',', '"', '\n', '\r']);
    if is_plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// An array of records; NaN where there is nothing.
fn npy(found: &AlongAxes, out: Out<'_>) -> Result<(), Failure> {
    if std::io::IsTerminal::is_terminal(&std::io::stdout()) {
        let why = "refusing to write binary data to a terminal; redirect the output";
        return Err(Failure::usage(why));
    }
    let fields = [("count", "<u8"), ("missing", "<u8"), ("nan", "<u8")];
    let numbers = ["min", "max", "mean", "std"].map(|name| (name, "<f8"));
    let descr: Json = fields
        .into_iter()
        .chain(numbers)
        .map(|(name, kind)| Json::from_iter([Json::from(name), Json::from(kind)]))
        .collect();
    let header = Header { descr, fortran_order: false, shape: found.shape.clone() };
    out.write_all(&header.to_bytes())?;
    for cell in &found.cells {
        for count in [cell.count, cell.missing, cell.nan] {
            out.write_all(&count.to_le_bytes())?;
        }
        let ends = [as_float(cell.min), as_float(cell.max)];
        let moments = if cell.count > 0 { [cell.mean, cell.std] } else { [f64::NAN; 2] };
        for number in ends.into_iter().chain(moments) {
            out.write_all(&number.to_le_bytes())?;
        }
    }
    Ok(())
}

/// An end as a number, NaN if there is none.
fn as_float(end: Option<ScalarValue>) -> f64 {
    match end {
        Some(ScalarValue::Integer(number)) => number as f64,
        Some(ScalarValue::Float(number)) => number,
        None => f64::NAN,
    }
}

/// A line for each of the chunks that differ most from the others.
pub(super) fn print_outliers(
    found: &ByChunk,
    meaning: &Meaning,
    out: Out<'_>,
) -> Result<(), Failure> {
    let outliers = found.outliers();
    let (all, far) = (found.chunks.len() as u64, outliers.len() as u64);
    match all {
        0 => writeln!(out, "no chunk is stored")?,
        1 => writeln!(out, "only one chunk is stored: there is nothing to compare it with")?,
        _ => writeln!(
            out,
            "{} of {} differ from the others",
            human::count(far),
            human::plural(all, "stored chunk")
        )?,
    }
    if outliers.is_empty() {
        return Ok(());
    }
    let heading = ["chunk", "count", "missing", "NaN", "min", "max", "mean", "std", "differs in"];
    let mut rows = vec![heading.map(str::to_owned)];
    for outlier in outliers.iter().take(SHOWN) {
        let index: Vec<String> = outlier.chunk.index.iter().map(u64::to_string).collect();
        let mut row = row(index.join(","), &outlier.chunk.cell, meaning);
        row[8] = outlier.by.into();
        rows.push(row);
    }
    table(&rows, out)?;
    if outliers.len() > SHOWN {
        writeln!(out, "… and {} more; --json has all", human::count(far - SHOWN as u64))?;
    }
    Ok(())
}

fn row(label: String, cell: &Cell, meaning: &Meaning) -> [String; 9] {
    let end = |end: Option<_>| end.map_or_else(String::new, |value| brief(value, meaning.time));
    let some = |text: String| if cell.count > 0 { text } else { String::new() };
    let mean = ScalarValue::Float(cell.mean);
    [
        label,
        human::count(cell.count),
        human::count(cell.missing),
        human::count(cell.nan),
        end(cell.min),
        end(cell.max),
        some(brief(mean, meaning.time)),
        some(short(cell.std)),
        String::new(),
    ]
}

/// The coordinates at what is selected, else the positions.
fn labels(axis: &Axis, selected: &Along) -> Result<Vec<String>, Failure> {
    let positions: Vec<u64> = (0..selected.len()).map(|n| selected.at(n)).collect();
    let (Some(&first), Some(&last)) = (positions.iter().min(), positions.iter().max()) else {
        return Ok(Vec::new());
    };
    let found = axis.read(first..last + 1)?;
    Ok(positions
        .iter()
        .map(|&at| match &found {
            Some(found) => human::printable(&found.text((at - first) as usize)),
            None => at.to_string(),
        })
        .collect())
}
