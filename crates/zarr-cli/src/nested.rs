//! Makes nested lists or lines of elements in C order, and elements of lists.

use std::io::{self, Write};

use zarr::Json;
use zarr::data_type::DataType;

use crate::element::Style;
use crate::human;
use crate::record::TextForm;

/// Bytes of the pieces that text is handed on in, about.
const PIECE: usize = 1 << 16;

/// Nested lists of JSON, written as elements come in.
pub(crate) struct Lists {
    kind: DataType,
    style: Style,
    /// Elements of one list at each depth.
    sizes: Vec<u64>,
    done: u64,
}

impl Lists {
    /// Lists of `shape`, which must have elements whose count fits 64 bits.
    pub fn new(kind: impl Into<DataType>, shape: &[u64]) -> Lists {
        let mut sizes: Vec<u64> = shape
            .iter()
            .rev()
            .scan(1u64, |size, &len| {
                *size = size.saturating_mul(len);
                Some(*size)
            })
            .collect();
        sizes.reverse();
        Lists { kind: kind.into(), style: Style::Json, sizes, done: 0 }
    }

    /// The same lists, with their elements in this style.
    pub fn in_style(self, style: Style) -> Lists {
        Lists { style, ..self }
    }

    /// Writes the elements that come next.
    pub fn push(&mut self, elements: &[u8], out: &mut dyn Write) -> io::Result<()> {
        let mut text = String::new();
        for element in self.kind.split(elements) {
            if self.done > 0 {
                text.push(',');
            }
            let ends = |at: u64| self.sizes.iter().filter(move |&&size| at.is_multiple_of(size));
            text.extend(ends(self.done).map(|_| '['));
            self.kind.write_text(element, self.style, &mut text);
            self.done += 1;
            text.extend(ends(self.done).map(|_| ']'));
            if text.len() >= PIECE {
                out.write_all(text.as_bytes())?;
                text.clear();
            }
        }
        out.write_all(text.as_bytes())
    }

    /// The lists of a shape without elements; `None` if there are too many to read.
    pub fn empty(shape: &[u64]) -> Option<Json> {
        let outer = shape.iter().position(|&len| len == 0)?;
        let count = shape[..outer].iter().try_fold(1u64, |n, &len| n.checked_mul(len));
        count.filter(|&count| count <= 100_000)?;
        let nothing = Json::Array(Vec::new());
        Some(
            shape[..outer]
                .iter()
                .rev()
                .fold(nothing, |inner, &len| (0..len).map(|_| inner.clone()).collect()),
        )
    }
}

/// Lines of elements, written as they come in.
pub(crate) struct Lines {
    kind: DataType,
    style: Style,
    columns: u64,
    done: u64,
}

impl Lines {
    /// One element a line, in JSON.
    pub fn of_json(kind: impl Into<DataType>) -> Lines {
        Lines { kind: kind.into(), style: Style::Json, columns: 1, done: 0 }
    }

    /// Comma-separated values for a shape of at most two axes longer than 1: a column, or rows. `None` for
    /// others. Records have a line each, and one axis.
    pub fn of_csv(kind: impl Into<DataType>, shape: &[u64]) -> Option<Lines> {
        let kind = kind.into();
        let columns = csv_columns(&kind, shape)?;
        Some(Lines { kind, style: Style::Csv, columns, done: 0 })
    }

    /// Writes the elements that come next.
    pub fn push(&mut self, elements: &[u8], out: &mut dyn Write) -> io::Result<()> {
        let mut text = String::new();
        let begins = self.style == Style::Csv && self.done == 0;
        if let Some(header) = self.kind.header().filter(|_| begins) {
            text = header + "\n";
        }
        for element in self.kind.split(elements) {
            self.kind.write_text(element, self.style, &mut text);
            self.done += 1;
            let ends = self.done.is_multiple_of(self.columns);
            text.push(if ends { '\n' } else { ',' });
            if text.len() >= PIECE {
                out.write_all(text.as_bytes())?;
                text.clear();
            }
        }
        out.write_all(text.as_bytes())
    }
}

/// How many elements a line of CSV has: rows for at most two axes longer than 1, else `None`. Records have a line
/// each, and one axis.
pub(crate) fn csv_columns(kind: &DataType, shape: &[u64]) -> Option<u64> {
    let long: Vec<u64> = shape.iter().copied().filter(|&len| len != 1).collect();
    if kind.header().is_some() {
        return (long.len() <= 1).then_some(1);
    }
    match (shape, &long[..]) {
        ([] | [_], _) => Some(1),
        ([_, columns], _) => Some(*columns),
        (_, [] | [_]) => Some(1),
        (_, [_, columns]) => Some(*columns),
        _ => None,
    }
}

/// The message for input that the JSON reader refuses: "is not JSON …", "nests deeper than …". Numbers with commas between them
/// are taken for CSV.
pub(crate) fn no_json(text: &[u8], why: &str) -> String {
    let is_property = ["not ", "empty; "].iter().any(|start| why.starts_with(start));
    let what = if is_property { format!("is {why}") } else { why.to_owned() };
    let is_csv = text.contains(&b',')
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b" \t\r\n,+-.".contains(byte));
    if is_csv {
        format!("{what}; values with commas between them are read with `--format csv`")
    } else {
        what
    }
}

/// The elements of nested lists of `shape`, or of one flat list of as many, in C order.
pub(crate) fn elements(
    json: &Json,
    kind: impl Into<DataType>,
    shape: &[u64],
) -> Result<Vec<u8>, String> {
    let (kind, mut out) = (kind.into(), Vec::new());
    let Err(why) = walk(json, &kind, shape, &mut Vec::new(), &mut out) else {
        return Ok(out);
    };
    let count = zarr::region::element_count(shape).unwrap_or(u64::MAX);
    let items = json.as_array().unwrap_or_default();
    // Lists among the items are not flat, unless lists are what elements look like.
    let flat = kind.is_list() || !items.iter().any(|item| matches!(item, Json::Array(_)));
    if shape.len() == 1 || items.is_empty() || items.len() as u64 != count || !flat {
        return Err(why);
    }
    out.clear();
    for (at, item) in items.iter().enumerate() {
        kind.read(item, &mut out).map_err(|why| format!("item {at}: {why}"))?;
    }
    Ok(out)
}

fn walk(
    json: &Json,
    kind: &DataType,
    shape: &[u64],
    at: &mut Vec<usize>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let Some((&len, inner)) = shape.split_first() else {
        return kind.read(json, out).map_err(|why| format!("{}{why}", place(at)));
    };
    let Json::Array(items) = json else {
        return Err(format!("{}expected a list, found {}", place(at), json.brief()));
    };
    if items.len() as u64 != len {
        let (found, elements) = (items.len(), human::plural(len, "element"));
        return Err(format!("{}expected a list of {elements}, found {found}", place(at)));
    }
    for (n, item) in items.iter().enumerate() {
        at.push(n);
        walk(item, kind, inner, at, out)?;
        at.pop();
    }
    Ok(())
}

/// Where an item is in nested lists, before what is wrong with it.
fn place(at: &[usize]) -> String {
    match at {
        [] => String::new(),
        at => format!("at {at:?}: "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zarr::data_type::CoreType;

    fn lists(shape: &[u64], elements: &[u8]) -> String {
        let mut out = Vec::new();
        let mut lists = Lists::new(DataType::from(CoreType::Uint8), shape);
        for piece in elements.chunks(2) {
            lists.push(piece, &mut out).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lists_nest_as_deep_as_the_shape() {
        assert_eq!(lists(&[], &[7]), "7");
        assert_eq!(lists(&[3], &[1, 2, 3]), "[1,2,3]");
        assert_eq!(lists(&[2, 3], &[1, 2, 3, 4, 5, 6]), "[[1,2,3],[4,5,6]]");
        assert_eq!(lists(&[1, 1, 2], &[1, 2]), "[[[1,2]]]");
        assert_eq!(lists(&[2, 1], &[1, 2]), "[[1],[2]]");
        assert_eq!(Lists::empty(&[0]).unwrap().to_string(), "[]");
        assert_eq!(Lists::empty(&[2, 0, 9]).unwrap().to_string(), "[[],[]]");
        assert_eq!(Lists::empty(&[1 << 60, 0]), None);
    }

    #[test]
    fn lines_are_rows() {
        let lines = |shape: &[u64]| {
            let mut out = Vec::new();
            Lines::of_csv(DataType::from(CoreType::Uint8), shape)?
                .push(&[1, 2, 3, 4], &mut out)
                .unwrap();
            String::from_utf8(out).ok()
        };
        assert_eq!(lines(&[4]).unwrap(), "1\n2\n3\n4\n");
        assert_eq!(lines(&[2, 2]).unwrap(), "1,2\n3,4\n");
        assert_eq!(lines(&[1, 4]).unwrap(), "1,2,3,4\n");
        assert_eq!(lines(&[2, 1, 2]).unwrap(), "1,2\n3,4\n");
        assert_eq!(lines(&[2, 2, 2]), None);
    }

    #[test]
    fn lists_are_read_nested_or_flat() {
        let read = |text: &str, kind: CoreType, shape: &[u64]| {
            elements(&Json::parse(text.as_bytes()).unwrap(), DataType::from(kind), shape)
        };
        let byte = CoreType::Uint8;
        assert_eq!(read("[[1,2],[3,4]]", byte, &[2, 2]).unwrap(), [1, 2, 3, 4]);
        assert_eq!(read("[1,2,3,4]", byte, &[2, 2]).unwrap(), [1, 2, 3, 4]);
        assert_eq!(read("5", byte, &[]).unwrap(), [5]);
        assert_eq!(read("[5]", byte, &[]).unwrap(), [5]);
        assert!(read("[[],[]]", byte, &[2, 0]).unwrap().is_empty());
        let complex = CoreType::Complex64;
        assert_eq!(read("[[1,2],[3,4]]", complex, &[2]).unwrap().len(), 16);
        assert_eq!(read("[[1,2],[3,4]]", complex, &[1, 2]).unwrap().len(), 16);
        assert_eq!(read("[[[1,2]],[[3,4]]]", complex, &[2, 1]).unwrap().len(), 16);
        assert_eq!(read("[1,2]", complex, &[]).unwrap().len(), 8);
        let why = |text: &str, shape: &[u64]| read(text, byte, shape).unwrap_err();
        assert_eq!(why("[1,2]", &[3]), "expected a list of 3 elements, found 2");
        assert_eq!(why("[[1,2],[3]]", &[2, 2]), "at [1]: expected a list of 2 elements, found 1");
        assert_eq!(why("[[1,2],[3,-1]]", &[2, 2]), "at [1, 1]: -1 does not fit a uint8");
        assert_eq!(why("[1,2,3,-4]", &[2, 2]), "item 3: -4 does not fit a uint8");
        assert_eq!(why("7", &[1]), "expected a list, found 7");
    }
}
