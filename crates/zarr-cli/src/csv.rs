//! Reads elements out of lines of comma-separated values, as `zarr get --format csv` writes them (RFC 4180).

use zarr::Json;
use zarr::data_type::{DataType, Scalar, TimeKind};

use crate::element;
use crate::human;
use crate::nested::csv_columns;
use crate::record::TextForm;

/// A value between commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub text: String,
    /// Whether it was quoted: `""` is a text without letters, and nothing at all is a missing element.
    pub quoted: bool,
}

impl Cell {
    /// Whether it says that an element is missing.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && !self.quoted
    }
}

/// The elements of a region of `shape`, row by row; of records, behind a line with their columns' names.
pub(crate) fn elements(text: &str, kind: &DataType, shape: &[u64]) -> Result<Vec<u8>, String> {
    let why = "CSV can represent at most two axes longer than 1, or one axis of records; choose a --region";
    let columns = csv_columns(kind, shape).ok_or(why)?;
    let count = zarr::region::element_count(shape).unwrap_or(u64::MAX);
    let mut lines = lines(text)?.into_iter().enumerate();
    let mut cells_due = columns;
    if let Some(header) = kind.header() {
        let names = cells(&header)?;
        cells_due = names.len() as u64;
        let found = lines.next().map(|(_, cells)| cells).unwrap_or_default();
        if found.iter().map(|cell| &cell.text).ne(names.iter().map(|cell| &cell.text)) {
            return Err(format!("line 1: expected the names of the fields, {header}"));
        }
    }
    let rows_due = count.checked_div(columns).unwrap_or(0);
    let (mut out, mut rows) = (Vec::new(), 0);
    for (at, cells) in lines {
        let line = at + 1;
        rows += 1;
        if rows > rows_due {
            return Err(format!(
                "line {line} is one too many; expected {}",
                human::count(rows_due)
            ));
        }
        if cells.len() as u64 != cells_due {
            let found = human::plural(cells.len() as u64, "value");
            let due = human::count(cells_due);
            return Err(format!("line {line} has {found}, expected {due}"));
        }
        let mut rest = &cells[..];
        while !rest.is_empty() {
            let column = cells.len() - rest.len() + 1;
            read_cells(kind, &mut rest, &mut out)
                .map_err(|why| format!("line {line}, value {column}: {why}"))?;
        }
    }
    if rows < rows_due {
        return Err(format!(
            "it ends after {}, expected {}",
            human::plural(rows, "line"),
            human::count(rows_due)
        ));
    }
    Ok(out)
}

/// The texts of the values of a line that this program wrote.
pub(crate) fn cells_of(line: &str) -> Vec<String> {
    let cells = cells(line).unwrap_or_default();
    cells.into_iter().map(|cell| cell.text).collect()
}

fn cells(line: &str) -> Result<Vec<Cell>, String> {
    Ok(lines(line)?.pop().unwrap_or_default())
}

/// The values of each line. A quoted value may hold commas, line ends, and quotes twice.
fn lines(text: &str) -> Result<Vec<Vec<Cell>>, String> {
    let (mut lines, mut line) = (Vec::new(), Vec::new());
    let mut rest = text;
    while !rest.is_empty() {
        let (cell, after) = match rest.strip_prefix('"') {
            Some(inside) => {
                let mut text = String::new();
                let mut inside = inside;
                loop {
                    let end = inside.find('"').ok_or("unterminated `\"`")?;
                    text.push_str(&inside[..end]);
                    inside = &inside[end + 1..];
                    match inside.strip_prefix('"') {
                        Some(after) => (text.push('"'), inside = after).1,
                        None => break,
                    }
                }
                (Cell { text, quoted: true }, inside)
            }
            None => {
                let end = rest.find([',', '\n']).unwrap_or(rest.len());
                let text = rest[..end].strip_suffix('\r').unwrap_or(&rest[..end]).to_owned();
                (Cell { text, quoted: false }, &rest[end..])
            }
        };
        line.push(cell);
        let after =
            after.strip_prefix('\r').filter(|after| after.starts_with('\n')).unwrap_or(after);
        rest = match (after.strip_prefix(','), after.strip_prefix('\n')) {
            (Some(""), _) => {
                line.push(Cell { text: String::new(), quoted: false });
                ""
            }
            (Some(after), _) => after,
            (_, Some(after)) => {
                lines.push(std::mem::take(&mut line));
                after
            }
            _ if after.is_empty() => "",
            _ => {
                return Err(format!(
                    "line {}: unexpected text after a closing `\"`",
                    lines.len() + 1
                ));
            }
        };
        // A line end behind the last comma leaves a value without letters.
        if rest.starts_with('\n') && !line.is_empty() {
            line.push(Cell { text: String::new(), quoted: false });
            lines.push(std::mem::take(&mut line));
            rest = &rest[1..];
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    Ok(lines)
}

/// Appends the element that the next values stand for to `out`, and takes them away.
fn read_cells(data_type: &DataType, cells: &mut &[Cell], out: &mut Vec<u8>) -> Result<(), String> {
    let mut take = |count: usize| {
        let (taken, rest) = cells.split_at_checked(count).ok_or("a value is missing")?;
        *cells = rest;
        Ok::<_, String>(taken)
    };
    match data_type {
        DataType::Optional(optional) if optional.inner().is_optional() => {
            let cell = &take(1)?[0];
            let json =
                if cell.is_empty() { Json::Null } else { Json::parse(cell.text.as_bytes())? };
            data_type.read(&json, out)
        }
        DataType::Optional(optional) => {
            let taken = take(optional.inner().column_count())?;
            if taken.iter().all(Cell::is_empty) {
                return data_type.read(&Json::Null, out);
            }
            out.push(1);
            read_cells(optional.inner(), &mut &*taken, out)
        }
        DataType::Record(record) => record.fields().iter().try_for_each(|field| {
            let count = field.element_count();
            (0..count).try_for_each(|_| read_cells(field.data_type(), cells, out))
        }),
        one => element::read(one, &json_of(one, &take(1)?[0].text)?, out),
    }
}

/// The JSON that says the same as a value of CSV.
fn json_of(data_type: &DataType, text: &str) -> Result<Json, String> {
    match data_type {
        DataType::Extension(_) | DataType::Unknown { .. } => {
            if let Some(plain) = data_type.resolved() {
                return json_of(&plain, text);
            }
        }
        DataType::Json => return Json::parse(text.as_bytes()),
        DataType::List(items) if items.scalar().is_some() => return Json::parse(text.as_bytes()),
        // Other lists are shown as bytes.
        DataType::Bytes | DataType::FixedBytes { .. } | DataType::List(_) => {
            return Ok(element::base64_of_csv(text).unwrap_or_else(|| Json::from(text)));
        }
        _ => {}
    }
    Ok(match data_type.scalar() {
        Some(Scalar::Bool) => match text.trim().to_lowercase().as_str() {
            "true" | "1" => Json::from(true),
            "false" | "0" => Json::from(false),
            _ => Json::from(text),
        },
        Some(Scalar::Int(_) | Scalar::Uint(_) | Scalar::Float(_)) => number(text),
        Some(Scalar::Complex(_)) => {
            let why = || format!("invalid complex number `{text}`: expected one like 1.0-2.0j");
            let parts = text.trim().strip_suffix('j').ok_or_else(why)?;
            let (at, _) = parts
                .char_indices()
                .rfind(|(at, letter)| {
                    let exponent = parts[..*at].ends_with(['e', 'E']);
                    *at > 0 && !exponent && ['+', '-'].contains(letter)
                })
                .ok_or_else(why)?;
            [number(&parts[..at]), number(&parts[at..])].into_iter().collect()
        }
        Some(Scalar::Time(time)) if time.kind == TimeKind::Timedelta => number(text),
        _ => Json::from(text),
    })
}

/// A number as JSON, whatever the case of its words.
fn number(text: &str) -> Json {
    let plain = text.trim();
    let plain = plain.strip_prefix('+').unwrap_or(plain);
    let word = match plain.to_lowercase().as_str() {
        "nan" => "NaN",
        "inf" | "infinity" => "Infinity",
        "-inf" | "-infinity" => "-Infinity",
        _ => return Json::parse(plain.as_bytes()).unwrap_or_else(|_| Json::from(text)),
    };
    Json::from(word)
}

#[cfg(test)]
mod tests {
    use zarr::data_type::CoreType;

    use super::*;

    fn texts(text: &str) -> Vec<Vec<String>> {
        let lines = lines(text).unwrap().into_iter();
        lines.map(|line| line.into_iter().map(|cell| cell.text).collect()).collect()
    }

    #[test]
    fn values_stand_between_commas_and_line_ends() {
        assert_eq!(texts("1,2\n3,4\n"), [["1", "2"], ["3", "4"]]);
        assert_eq!(texts("1,2\r\n3,4"), [["1", "2"], ["3", "4"]]);
        assert_eq!(texts("a\n\nb\n"), [["a"], [""], ["b"]]);
        assert_eq!(texts("a,\n,b\n,"), [["a", ""], ["", "b"], ["", ""]]);
        assert_eq!(texts("\"a,\"\"b\nc\",d\n"), [["a,\"b\nc", "d"]]);
        assert_eq!(texts("\"a\"\r\n\"\"\n"), [["a"], [""]]);
        assert!(texts("").is_empty());
        assert!(lines("\"a").is_err());
        assert!(lines("\"a\"b").is_err());
        let quoted = lines(",\"\"").unwrap().remove(0);
        assert_eq!(quoted.iter().map(Cell::is_empty).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn lines_that_are_wrong_say_where() {
        let why = |text: &str, shape: &[u64]| {
            elements(text, &DataType::from(CoreType::Uint8), shape).unwrap_err()
        };
        assert_eq!(why("1,2\n3,x\n", &[2, 2]), "line 2, value 2: expected an integer, found \"x\"");
        assert_eq!(why("1,2\n3\n", &[2, 2]), "line 2 has 1 value, expected 2");
        assert_eq!(why("1,2\n", &[2, 2]), "it ends after 1 line, expected 2");
        assert_eq!(why("1\n2\n3\n", &[2]), "line 3 is one too many; expected 2");
        assert!(why("1\n", &[2, 2, 2]).contains("at most two axes"));
    }
}
