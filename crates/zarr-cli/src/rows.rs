//! Writes elements in rows with names and coordinates: as CSV, or as a table for people.

use std::io::{self, Write};

use zarr::Array;
use zarr::data_type::{DataType, Scalar};

use crate::csv;
use crate::digits::Digits;
use crate::element::{Style, say_text};
use crate::failure::Failure;
use crate::human;
use crate::record::TextForm;
use crate::region::Elements;

/// The most elements of a table, whose columns are as wide as the widest cell.
pub(crate) const MAX_IN_TABLE: u64 = 1_000_000;

/// What stands beside and above the elements.
pub(crate) struct Labels {
    /// The name of each axis along which rows follow each other, and the coordinates there.
    rows: Vec<(String, Vec<String>)>,
    /// The coordinates along the last axis, if each row has all of these.
    columns: Option<Vec<String>>,
    /// The name of the array.
    name: String,
}

impl Labels {
    /// Those of the selected elements: coordinates where an axis has some, else positions. Axes of length 1 have none.
    pub fn of(array: &Array, elements: &Elements, digits: Digits) -> Result<Labels, Failure> {
        let shape = elements.shape();
        let long: Vec<usize> = (0..shape.len()).filter(|&axis| shape[axis] != 1).collect();
        let mut found = axis_labels(array, elements, &long, digits)?;
        let is_record = array.data_type().header().is_some();
        let columns = if found.len() > 1 && !is_record { found.pop() } else { None };
        let name = array.path().name().unwrap_or("value").to_owned();
        Ok(Labels { rows: found, columns: columns.map(|(_, labels)| labels), name })
    }

    /// The elements in a row.
    fn per_row(&self) -> u64 {
        self.columns.as_ref().map_or(1, |columns| columns.len() as u64)
    }

    /// The first row.
    fn heading(&self, kind: &DataType) -> Vec<String> {
        let mut heading: Vec<String> = self.rows.iter().map(|(name, _)| name.clone()).collect();
        match (&self.columns, kind.header()) {
            (Some(columns), _) => heading.extend(columns.iter().cloned()),
            (None, Some(fields)) => heading.extend(csv::cells_of(&fields)),
            (None, None) => heading.push(self.name.clone()),
        }
        heading
    }

    /// What stands before a row.
    fn before(&self, row: u64) -> Vec<String> {
        let (mut rest, mut labels) = (row, Vec::new());
        for (_, of_axis) in self.rows.iter().rev() {
            let len = of_axis.len().max(1) as u64;
            labels.push(of_axis.get((rest % len) as usize).cloned().unwrap_or_default());
            rest /= len;
        }
        labels.reverse();
        labels
    }
}

/// The name and the coordinates of each of these axes.
#[cfg(feature = "plot")]
fn axis_labels(
    array: &Array,
    elements: &Elements,
    long: &[usize],
    digits: Digits,
) -> Result<Vec<(String, Vec<String>)>, Failure> {
    let axes = zarr_plot::meaning::axes_of(array)?;
    let mut found = Vec::with_capacity(long.len());
    for &axis in long {
        let positions = elements.positions(axis);
        let name = axes[axis].name.clone().unwrap_or_else(|| format!("axis {axis}"));
        let range = match (positions.iter().min(), positions.iter().max()) {
            (Some(&first), Some(&last)) => first..last + 1,
            _ => 0..0,
        };
        let coordinates = axes[axis].read(range.clone())?;
        let labels = positions.iter().map(|at| match &coordinates {
            Some(found) => {
                let text = found.text((at - range.start) as usize);
                if found.texts.is_some() { text } else { digits.of_text(&text).into_owned() }
            }
            None => at.to_string(),
        });
        found.push((name, labels.collect()));
    }
    Ok(found)
}

#[cfg(not(feature = "plot"))]
fn axis_labels(
    array: &Array,
    elements: &Elements,
    long: &[usize],
    _: Digits,
) -> Result<Vec<(String, Vec<String>)>, Failure> {
    let names = array.metadata().dimension_names.clone().unwrap_or_default();
    Ok(long
        .iter()
        .map(|&axis| {
            let name = names.get(axis).cloned().flatten();
            let name = name.unwrap_or_else(|| format!("axis {axis}"));
            (name, elements.positions(axis).iter().map(u64::to_string).collect())
        })
        .collect())
}

/// Rows, written as elements come in; those of a table when all are there.
pub(crate) struct Rows {
    kind: DataType,
    labels: Labels,
    /// How many digits a table shows; `None` for CSV.
    table: Option<Digits>,
    row: Vec<String>,
    done: u64,
    /// Of a table.
    waiting: Vec<Vec<String>>,
}

impl Rows {
    pub fn new(kind: DataType, labels: Labels, table: Option<Digits>) -> Rows {
        Rows { kind, labels, table, row: Vec::new(), done: 0, waiting: Vec::new() }
    }

    /// Writes the elements that come next.
    pub fn push(&mut self, elements: &[u8], out: &mut dyn Write) -> io::Result<()> {
        let mut text = String::new();
        if self.done == 0 {
            let heading = self.quoted(self.labels.heading(&self.kind));
            self.end_row(heading, &mut text);
        }
        let per_row = self.labels.per_row();
        let kind = self.kind.clone();
        for element in kind.split(elements) {
            if self.done.is_multiple_of(per_row) {
                self.row = self.quoted(self.labels.before(self.done / per_row));
            }
            let mut cell = String::new();
            kind.write_text(element, Style::Csv, &mut cell);
            if self.table.is_none() {
                self.row.push(cell);
            } else if kind.header().is_some() {
                self.row.extend(csv::cells_of(&cell));
            } else {
                self.row.push(csv::cells_of(&cell).pop().unwrap_or_default());
            }
            self.done += 1;
            if self.done.is_multiple_of(per_row) {
                let row = std::mem::take(&mut self.row);
                self.end_row(row, &mut text);
            }
        }
        out.write_all(text.as_bytes())
    }

    /// Names and coordinates as cells: in CSV those with commas are quoted.
    fn quoted(&self, texts: Vec<String>) -> Vec<String> {
        if self.table.is_some() {
            return texts;
        }
        texts
            .into_iter()
            .map(|text| {
                let mut cell = String::new();
                say_text(&text, Style::Csv, &mut cell);
                cell
            })
            .collect()
    }

    /// Writes a row, or keeps it for the table.
    fn end_row(&mut self, row: Vec<String>, text: &mut String) {
        let Some(digits) = self.table else {
            text.push_str(&row.join(","));
            text.push('\n');
            return;
        };
        let labels = self.labels.rows.len();
        let is_heading = self.waiting.is_empty();
        let shown = row.into_iter().enumerate().map(|(n, cell)| {
            let is_number = n >= labels && !is_heading && has_floats(&self.kind);
            let cell = if is_number { digits.of_text(&cell).into_owned() } else { cell };
            human::printable(&cell)
        });
        let shown = shown.collect();
        self.waiting.push(shown);
    }

    /// Writes the table.
    pub fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        let columns = self.waiting.first().map_or(0, Vec::len);
        let widths: Vec<usize> = (0..columns)
            .map(|n| human::column_width(self.waiting.iter().filter_map(|row| row.get(n))))
            .collect();
        for row in &self.waiting {
            let cells = row.iter().enumerate();
            let cells =
                cells.map(|(n, cell)| human::right(cell, widths.get(n).copied().unwrap_or(0)));
            writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// Whether the numbers of elements are floats: integers and texts are shown as they are.
fn has_floats(kind: &DataType) -> bool {
    match kind {
        DataType::Optional(optional) => has_floats(optional.inner()),
        DataType::Record(_) => true,
        other => matches!(other.scalar(), Some(Scalar::Float(_))),
    }
}
