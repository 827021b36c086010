//! Prints a variable's elements in lines.

use std::io::{self, Write};

use zarr_core::data_type::unpadded;

use super::escape::{self, Script};
use super::printf_g::{Precision, push_number};
use crate::model::schema::Variable;
use crate::{Type, Values};

/// Beyond this many characters a line goes on in the next, by default.
pub(super) const LINE: usize = 80;

/// Writes the elements of one variable as they come, in C order, as `ncdump` does.
///
/// A row is the last axis. Braces stand around the records of unlimited axes but the first.
pub struct Rows<'a> {
    out: &'a mut dyn Write,
    /// Blanks before a line, by the depth of the group.
    indent: usize,
    /// Where the line is, as `ncdump` counts: texts of type `char` are not.
    at: usize,
    width: usize,
    shape: Vec<u64>,
    unlimited: Vec<bool>,
    /// Where the next element is.
    index: Vec<u64>,
    fill: Option<Values>,
    precision: Precision,
    /// NULs that are written if more comes in their row.
    nuls: u64,
    text: String,
}

/// What is printed in place of an element.
#[derive(Clone, Debug, PartialEq)]
pub enum TextForm {
    /// The element.
    Itself,
    /// `_`.
    Missing,
    /// A number, as of type `double`.
    Number(f64),
    /// A text, in quotes.
    Text(String),
}

/// Says what is printed in place of one of the values, by its position among them.
pub type Show = Box<dyn Fn(&Values, usize) -> TextForm>;

/// What a variable's lines depend on.
pub(super) struct Frame {
    pub indent: usize,
    pub width: usize,
    pub shape: Vec<u64>,
    pub unlimited: Vec<bool>,
    pub precision: Precision,
}

impl<'a> Rows<'a> {
    /// Writes what precedes the elements. No length of the frame's shape is 0.
    pub(super) fn begin(
        out: &'a mut dyn Write,
        variable: &Variable,
        frame: Frame,
    ) -> io::Result<Rows<'a>> {
        let Frame { indent, width, shape, unlimited, precision } = frame;
        write!(out, "\n{:indent$} {} =", "", escape::name(&variable.name))?;
        let at = match shape.len() {
            0 | 1 => {
                write!(out, " ")?;
                variable.name.len() + 4 + indent
            }
            _ => {
                write!(out, "\n  ")?;
                2 + indent
            }
        };
        let declared = variable.attribute("_FillValue");
        let declared = declared.filter(|fill| fill.ty() == variable.ty && fill.len() == 1).cloned();
        // What bytes mean is not known, so that none is taken for fill undeclared.
        let known = !matches!(variable.ty, Type::Byte | Type::Ubyte) && variable.ty.is_atomic();
        let fill = declared.or_else(|| known.then(|| variable.ty.default_fill()));
        let index = vec![0; shape.len()];
        let text = String::new();
        Ok(Rows { out, indent, at, width, shape, unlimited, index, fill, precision, nuls: 0, text })
    }

    /// Writes the elements that come next.
    pub fn push(&mut self, values: &Values) -> io::Result<()> {
        self.push_shown(values, None)
    }

    /// Writes what `show` says in place of the elements that come next. Those that are fill are `_`, and characters themselves.
    pub(super) fn push_shown(&mut self, values: &Values, show: Option<&Show>) -> io::Result<()> {
        if let Values::Char(bytes) = values {
            return self.push_text(bytes);
        }
        for at in 0..values.len() {
            self.begin_row()?;
            self.text.clear();
            let fill = self.fill.as_ref().is_some_and(|fill| is_fill(values, at, fill));
            let shown = if fill {
                TextForm::Missing
            } else {
                show.map_or(TextForm::Itself, |show| show(values, at))
            };
            match shown {
                TextForm::Missing => self.text.push('_'),
                TextForm::Itself => push_element(&mut self.text, values, at, self.precision),
                TextForm::Number(number) => {
                    push_number(&mut self.text, number, self.precision.double, false);
                }
                TextForm::Text(text) => push_quoted(&mut self.text, text.as_bytes()),
            }
            if self.is_last_of_row() {
                self.end_row()?;
            } else {
                self.text.push_str(", ");
                self.put()?;
                self.step();
            }
        }
        Ok(())
    }

    /// Writes characters: a row of them is one text, without NULs at its end.
    fn push_text(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let rank = self.shape.len();
            let column = self.index.last().copied().unwrap_or(0);
            let row = self.shape.last().copied().unwrap_or(1);
            self.begin_row()?;
            if column == 0 {
                write!(self.out, "\"")?;
                self.nuls = 0;
            }
            let len = usize::try_from(row - column).map_or(rest.len(), |left| left.min(rest.len()));
            let (now, later) = rest.split_at(len);
            rest = later;
            let text = unpadded(now, 1);
            if !text.is_empty() {
                for _ in 0..std::mem::take(&mut self.nuls) {
                    write!(self.out, "\\000")?;
                }
                self.write_text(text)?;
            }
            self.nuls += (len - text.len()) as u64;
            self.text.clear();
            if let Some(column) = self.index.last_mut() {
                *column += len as u64 - 1;
            }
            if self.is_last_of_row() {
                write!(self.out, "\"")?;
                self.end_row()?;
            } else if rank > 0 {
                self.step();
            }
        }
        Ok(())
    }

    fn write_text(&mut self, bytes: &[u8]) -> io::Result<()> {
        // Of a variable with one axis, a text may be in parts; of others, a part would be a row.
        let parts = self.shape.len() <= 1;
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.text.clear();
            escape::push_text(&mut self.text, line, Script::Ascii);
            self.out.write_all(self.text.as_bytes())?;
            if parts && line.ends_with(b"\n") {
                write!(self.out, "\",\n    \"")?;
            }
        }
        Ok(())
    }

    fn is_last_of_row(&self) -> bool {
        match (self.index.last(), self.shape.last()) {
            (Some(index), Some(len)) => index + 1 >= *len,
            _ => true,
        }
    }

    /// Opens the braces of records that begin with this element.
    fn begin_row(&mut self) -> io::Result<()> {
        if self.index.last().is_none_or(|&column| column > 0) {
            return Ok(());
        }
        let rank = self.shape.len();
        for axis in 1..rank {
            if self.unlimited[axis] && self.index[axis..rank - 1].iter().all(|&index| index == 0) {
                self.text.clear();
                self.text.push('{');
                self.put()?;
            }
        }
        Ok(())
    }

    /// Writes what is in `text`, the braces of records that end with this element, and what follows a row.
    fn end_row(&mut self) -> io::Result<()> {
        let rank = self.shape.len();
        let outer = 0..rank.saturating_sub(1);
        let is_last = |axis: usize| self.index[axis] + 1 >= self.shape[axis];
        for axis in 1..rank {
            if self.unlimited[axis] && (axis..rank - 1).all(is_last) {
                self.text.push('}');
            }
        }
        let last = outer.clone().all(is_last);
        self.put()?;
        self.text.clear();
        if last {
            return writeln!(self.out, " ;");
        }
        self.text.push_str(",\n");
        self.put()?;
        self.text.clear();
        self.text.push_str("  ");
        self.put()?;
        self.step();
        Ok(())
    }

    /// To the next element.
    fn step(&mut self) {
        for (index, &len) in self.index.iter_mut().zip(&self.shape).rev() {
            *index += 1;
            if *index < len {
                return;
            }
            *index = 0;
        }
    }

    /// Writes `text`, on the next line if this one would be too long.
    fn put(&mut self) -> io::Result<()> {
        let (text, len) = (&self.text, self.text.len());
        if len + self.at > self.width.saturating_sub(2) && len > 2 {
            let indent = self.indent;
            write!(self.out, "\n{:indent$}    ", "")?;
            self.at = 4 + indent;
        }
        self.out.write_all(text.as_bytes())?;
        self.at = if text.ends_with('\n') { self.indent } else { self.at + len };
        Ok(())
    }
}

/// Appends one element, without a suffix.
fn push_element(written: &mut String, values: &Values, at: usize, precision: Precision) {
    use std::fmt::Write;
    macro_rules! integer {
        ($values:expr) => {{
            let _ = write!(written, "{}", $values[at]);
        }};
    }
    match values {
        Values::Byte(values) => integer!(values),
        Values::Ubyte(values) => integer!(values),
        Values::Short(values) => integer!(values),
        Values::Ushort(values) => integer!(values),
        Values::Int(values) => integer!(values),
        Values::Uint(values) => integer!(values),
        Values::Int64(values) => integer!(values),
        Values::Uint64(values) => integer!(values),
        Values::Float(values) => push_float(written, values[at], precision),
        Values::Double(values) => push_number(written, values[at], precision.double, false),
        Values::String(values) => push_quoted(written, values[at].as_bytes()),
        Values::Char(values) => push_quoted(written, &values[at..=at]),
        Values::Bool(values) => written.push_str(if values[at] { "TRUE" } else { "FALSE" }),
        Values::Complex64(values) => push_pair(written, values[at], |written, part| {
            push_float(written, part, precision);
        }),
        Values::Complex128(values) => push_pair(written, values[at], |written, part| {
            push_number(written, part, precision.double, false);
        }),
    }
}

/// Infinity and what is no number tell that they are floats.
fn push_float(written: &mut String, value: f32, precision: Precision) {
    push_number(written, value.into(), precision.float, false);
    if !value.is_finite() {
        written.push('f');
    }
}

fn push_pair<T>(written: &mut String, [real, imaginary]: [T; 2], push: impl Fn(&mut String, T)) {
    written.push('{');
    push(written, real);
    written.push_str(", ");
    push(written, imaginary);
    written.push('}');
}

fn push_quoted(written: &mut String, text: &[u8]) {
    written.push('"');
    escape::push_text(written, text, Script::Unicode);
    written.push('"');
}

/// Appends the values of an attribute, with the suffixes that tell their type.
pub(super) fn push_attribute(written: &mut String, values: &Values, precision: Precision) {
    if let Values::Char(text) = values {
        return push_quoted(written, unpadded(text, 1));
    }
    if values.is_empty() {
        return written.push_str("\"\"");
    }
    for at in 0..values.len() {
        if at > 0 {
            written.push_str(", ");
        }
        match values {
            Values::Float(values) => push_number(written, values[at].into(), precision.float, true),
            Values::Double(values) => push_number(written, values[at], precision.double, true),
            values => push_element(written, values, at, precision),
        }
        written.push_str(escape::suffix(values.ty()));
    }
}

/// Whether an element is fill: floats nearly the same are, too.
fn is_fill(values: &Values, at: usize, fill: &Values) -> bool {
    macro_rules! near {
        ($value:expr, $fill:expr, $epsilon:expr) => {{
            let (value, fill) = ($value, $fill);
            if (value > 0.0) != (fill > 0.0) {
                false
            } else if value.is_finite() && fill.is_finite() {
                (fill - value).abs() <= ($epsilon * value).abs()
            } else {
                (value.is_nan() && fill.is_nan()) || (value.is_infinite() && fill.is_infinite())
            }
        }};
    }
    match (values, fill) {
        (Values::Byte(values), Values::Byte(fill)) => values[at] == fill[0],
        (Values::Ubyte(values), Values::Ubyte(fill)) => values[at] == fill[0],
        (Values::Short(values), Values::Short(fill)) => values[at] == fill[0],
        (Values::Ushort(values), Values::Ushort(fill)) => values[at] == fill[0],
        (Values::Int(values), Values::Int(fill)) => values[at] == fill[0],
        (Values::Uint(values), Values::Uint(fill)) => values[at] == fill[0],
        (Values::Int64(values), Values::Int64(fill)) => values[at] == fill[0],
        (Values::Uint64(values), Values::Uint64(fill)) => values[at] == fill[0],
        (Values::Float(values), Values::Float(fill)) => near!(values[at], fill[0], f32::EPSILON),
        (Values::Double(values), Values::Double(fill)) => near!(values[at], fill[0], f64::EPSILON),
        (Values::String(values), Values::String(fill)) => values[at] == fill[0],
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(variable: &Variable, shape: &[u64], values: &Values, piece: usize) -> String {
        let mut out = Vec::new();
        let frame = Frame {
            indent: 2,
            width: 20,
            shape: shape.to_vec(),
            unlimited: vec![true; shape.len()],
            precision: Precision::default(),
        };
        let mut rows = Rows::begin(&mut out, variable, frame).unwrap();
        let mut rest = values.clone();
        while !rest.is_empty() {
            let later = rest.split_off(piece.min(rest.len()));
            rows.push(&rest).unwrap();
            rest = later;
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_do_not_depend_on_the_pieces_that_come() {
        let text = Values::Char(b"ab\0\0\0c\0\0\n\0d\0\0\0\0\0\0\0\0\xff\0\0\0\0".to_vec());
        let numbers = Values::Double((0..24).map(|n| f64::from(n) / 7.0).collect());
        for (values, ty) in [(text, Type::Char), (numbers, Type::Double)] {
            let variable = Variable::new("v", ty, [""; 0]);
            for shape in [vec![24], vec![4, 6], vec![2, 3, 4], vec![24, 1]] {
                let whole = printed(&variable, &shape, &values, 24);
                for piece in [1, 2, 5, 7] {
                    assert_eq!(
                        printed(&variable, &shape, &values, piece),
                        whole,
                        "{shape:?} by {piece}"
                    );
                }
            }
        }
        let variable = Variable::new("v", Type::Char, [""; 0]);
        let rows = printed(&variable, &[2, 4], &Values::Char(b"a\0b\0\0\0\0\0".to_vec()), 3);
        assert_eq!(rows, "\n   v =\n  {\"a\\000b\"},\n  {\"\"} ;\n");
    }
}
