//! Prints statistics for each coordinate of some axes.

use zarr::{Array, Json};
use zarr_plot::meaning::{Axis, Meaning, axes_of};
use zarr_plot::stats::{Along, AlongAxes, Cell};

use super::Out;
use super::stats::{brief, short, table};
use crate::failure::Failure;
use crate::human;

/// The axes that a list of names or numbers means.
pub(super) fn axes(words: &[String], array: &Array) -> Result<Vec<usize>, Failure> {
    let names = array.dimension_names().unwrap_or_default();
    let axis = |word: &String| {
        let named = names.iter().position(|name| name.as_deref() == Some(word.trim()));
        let numbered = || word.trim().parse().ok().filter(|&axis: &usize| axis < array.rank());
        named.or_else(numbered).ok_or_else(|| {
            let known: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
            let known =
                if known.is_empty() { String::new() } else { format!("{}, or ", known.join(", ")) };
            let place = human::place(array.hierarchy(), array.path());
            let most = array.rank().saturating_sub(1);
            Failure::Usage(format!(
                "{place}: there is no axis `{word}`; there are {known}0 to {most}"
            ))
        })
    };
    words.iter().map(axis).collect()
}

/// The statistics with the names of the axes.
pub(super) fn json(array: &Array, found: &AlongAxes) -> Json {
    let mut json = found.to_json();
    if let Json::Object(object) = &mut json {
        let names = array.dimension_names().unwrap_or_default();
        let name = |&axis: &usize| match names.get(axis) {
            Some(Some(name)) => name.as_str().into(),
            _ => Json::Null,
        };
        object.insert("names", found.axes.iter().map(name).collect::<Json>());
    }
    json
}

/// A line for each coordinate.
pub(super) fn print(
    array: &Array,
    selected: &[Along],
    meaning: &Meaning,
    found: &AlongAxes,
    out: Out<'_>,
) -> Result<(), Failure> {
    let all = axes_of(array)?;
    let labels: Vec<Vec<String>> = found
        .axes
        .iter()
        .map(|&axis| labels(&all[axis], &selected[axis]))
        .collect::<Result<_, _>>()?;
    let title = |&axis: &usize| all[axis].name.clone().unwrap_or_else(|| format!("axis {axis}"));
    let heading = found.axes.iter().map(title).collect::<Vec<_>>().join(" ");
    let mut rows = vec![
        [&*human::printable(&heading), "count", "missing", "NaN", "min", "max", "mean", "std", ""]
            .map(str::to_owned),
    ];
    for (n, cell) in found.cells.iter().enumerate() {
        let (mut rest, mut words) = (n, Vec::new());
        for labels in labels.iter().rev() {
            words.push(labels[rest % labels.len().max(1)].as_str());
            rest /= labels.len().max(1);
        }
        words.reverse();
        rows.push(row(words.join(" "), cell, meaning));
    }
    table(&rows, out)
}

fn row(label: String, cell: &Cell, meaning: &Meaning) -> [String; 9] {
    let end = |end: Option<_>| end.map_or_else(String::new, |value| brief(value, meaning.time));
    let some = |text: String| if cell.count > 0 { text } else { String::new() };
    let mean = zarr::data_type::ScalarValue::Float(cell.mean);
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
    let label = |&at: &u64| match &found {
        Some(found) => human::printable(&found.text((at - first) as usize)),
        None => at.to_string(),
    };
    Ok(positions.iter().map(label).collect())
}
