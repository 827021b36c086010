//! Writes a record, or an element that may be missing, in JSON and CSV, and reads it back.
//!
//! In JSON a record is an object with its fields, each written as an element of its type, in nested lists
//! where it has a shape. In CSV each value has its own column, named in a first line: `e.x` is the
//! field `x` of the field `e`, `q.0.1` one of a field's several values.
//!
//! In JSON a missing element is `null`, in CSV nothing. A present one is written as any element of
//! its type; where that could be `null` itself, as a list of one, `[null]`.

use std::collections::HashSet;

use zarr::Json;
use zarr::data_type::{DataType, Field, Leaf, Scalar};
use zarr::var_buffer::VarStream;

use crate::element::{self, Style, say_text};

/// How the program shows elements of a type: one value, a record of several, or one that may be missing.
pub(crate) trait TextForm {
    /// The elements of a stream, one by one.
    fn split<'a>(&self, stream: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + use<'a, Self>;

    /// The names of a record's columns as a line of CSV; `None` if an element is one value.
    fn header(&self) -> Option<String>;

    fn is_optional(&self) -> bool;

    /// Whether an element is written as a list.
    fn is_list(&self) -> bool;

    /// How many columns of CSV an element has.
    fn column_count(&self) -> usize;

    /// Appends an element, of exactly its type's bytes, to `out`.
    fn write_text(&self, element: &[u8], style: Style, out: &mut String);

    /// Appends the bytes of the element that `json` stands for to `out`, or says why it stands for none.
    fn read(&self, json: &Json, out: &mut Vec<u8>) -> Result<(), String>;
}

impl TextForm for DataType {
    fn split<'a>(&self, stream: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (mut rest, fixed) = (stream, element::size(self));
        let is_long = self.is_variable();
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let size = if is_long {
                let mut elements = VarStream::new(rest);
                elements.next()?;
                rest.len() - elements.rest().len()
            } else {
                fixed
            };
            let (element, after) = rest.split_at_checked(size)?;
            rest = after;
            Some(element)
        })
    }

    fn header(&self) -> Option<String> {
        match self {
            DataType::Record(_) => Some(columns(self).join(",")),
            // Nested ones are written as JSON.
            DataType::Optional(optional) => {
                optional.inner().header().filter(|_| !optional.inner().is_optional())
            }
            _ => None,
        }
    }

    fn is_optional(&self) -> bool {
        matches!(self, DataType::Optional(_))
    }

    fn is_list(&self) -> bool {
        match self {
            DataType::Json | DataType::List(_) => true,
            DataType::Optional(optional) => {
                optional.inner().is_optional() || optional.inner().is_list()
            }
            other => matches!(other.scalar(), Some(Scalar::Complex(_))),
        }
    }

    fn column_count(&self) -> usize {
        self.leaves().iter().map(Leaf::value_count).sum()
    }

    fn write_text(&self, element: &[u8], style: Style, out: &mut String) {
        let record = match self {
            DataType::Record(record) => record,
            DataType::Optional(optional) => {
                return say_optional(optional.inner(), element, style, out);
            }
            one => return element::write(one, element, style, out),
        };
        for (n, field) in record.fields().iter().enumerate() {
            match style {
                Style::Json | Style::Shown(_) => {
                    out.push(if n == 0 { '{' } else { ',' });
                    out.push_str(&Json::from(field.name()).to_string());
                    out.push(':');
                }
                Style::Csv if n > 0 => out.push(','),
                Style::Csv => {}
            }
            let own = &element[field.offset()..field.offset() + field.size()];
            say_field(field, field.shape(), own, style, out);
        }
        if !style.is_csv() {
            out.push('}');
        }
    }

    fn read(&self, json: &Json, out: &mut Vec<u8>) -> Result<(), String> {
        let record = match self {
            DataType::Record(record) => record,
            DataType::Optional(optional) => return read_optional(optional.inner(), json, out),
            one => return element::read(one, json, out),
        };
        let Some(object) = json.as_object() else {
            return Err(format!("expected an object of fields, found {}", json.brief()));
        };
        for field in record.fields() {
            let name = field.name();
            let value = object.get(name).ok_or_else(|| format!("field `{name}` is missing"))?;
            let done = read_field(field, field.shape(), value, out);
            done.map_err(|why| format!("field `{name}`: {why}"))?;
        }
        if object.len() == record.fields().len() {
            return Ok(());
        }
        let known: HashSet<&str> = record.fields().iter().map(Field::name).collect();
        match object.iter().find(|(name, _)| !known.contains(name)) {
            Some((name, _)) => Err(format!("the array has no field `{name}`")),
            None => Ok(()),
        }
    }
}

/// The names of the columns of a type's elements. One column holds a value that may be missing, and JSON of those inside
/// one another.
fn columns(data_type: &DataType) -> Vec<String> {
    let mut columns = Vec::new();
    for leaf in data_type.leaves() {
        let names = leaf.values().map(|value| (value.offset, name(leaf.fields(), &value.items)));
        columns.extend(names);
    }
    // The fields of several records alternate.
    columns.sort_by_key(|(offset, _)| *offset);
    columns.into_iter().map(|(_, name)| name).collect()
}

/// The name of a value's column, in quotes where CSV needs them.
fn name(fields: &[&Field], items: &[usize]) -> String {
    let mut names = Vec::new();
    for (field, &item) in fields.iter().zip(items) {
        names.push(field.name().to_owned());
        let mut lens = field.element_count();
        for &len in field.shape() {
            lens /= len as usize;
            names.push((item / lens % len as usize).to_string());
        }
    }
    let path = names.join(".");
    if path.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", path.replace('"', "\"\""))
    } else {
        path
    }
}

fn say_field(field: &Field, shape: &[u64], bytes: &[u8], style: Style, out: &mut String) {
    let Some((&len, inner)) = shape.split_first() else {
        return field.data_type().write_text(bytes, style, out);
    };
    for (n, bytes) in bytes.chunks_exact(bytes.len() / len.max(1) as usize).enumerate() {
        match (n, style) {
            (0, Style::Json | Style::Shown(_)) => out.push('['),
            (0, Style::Csv) => {}
            _ => out.push(','),
        }
        say_field(field, inner, bytes, style, out);
    }
    if !style.is_csv() {
        out.push(']');
    }
}

fn read_field(field: &Field, shape: &[u64], json: &Json, out: &mut Vec<u8>) -> Result<(), String> {
    let Some((&len, inner)) = shape.split_first() else {
        return field.data_type().read(json, out);
    };
    let items = json.as_array().filter(|items| items.len() as u64 == len);
    let items = items.ok_or_else(|| format!("expected a list of {len}, found {}", json.brief()))?;
    items.iter().try_for_each(|item| read_field(field, inner, item, out))
}

/// Appends an element behind the byte that says whether it is there.
fn say_optional(inner_type: &DataType, element: &[u8], style: Style, out: &mut String) {
    match (element.split_first(), style) {
        (Some((1.., inner)), _) if !inner_type.is_optional() => {
            let before = out.len();
            inner_type.write_text(inner, style, out);
            // Nothing at all is a missing element.
            if style == Style::Csv && out.len() == before {
                out.push_str("\"\"");
            }
        }
        (Some((1.., inner)), Style::Json | Style::Shown(_)) => {
            out.push('[');
            inner_type.write_text(inner, style, out);
            out.push(']');
        }
        (Some((1.., inner)), Style::Csv) => {
            let mut text = String::from("[");
            inner_type.write_text(inner, Style::Json, &mut text);
            say_text(&(text + "]"), style, out);
        }
        (_, Style::Json | Style::Shown(_)) => out.push_str("null"),
        // Each column is empty.
        (_, Style::Csv) => {
            out.extend((1..inner_type.column_count()).map(|_| ','));
        }
    }
}

fn read_optional(inner_type: &DataType, json: &Json, out: &mut Vec<u8>) -> Result<(), String> {
    let inner = match json {
        Json::Null => {
            out.resize(out.len() + 1 + element::size(inner_type), 0);
            return Ok(());
        }
        Json::Array(items) if inner_type.is_optional() && items.len() == 1 => &items[0],
        _ if inner_type.is_optional() => {
            let due = "null or a list of one value";
            return Err(format!("expected {due}, found {}", json.brief()));
        }
        json => json,
    };
    out.push(1);
    inner_type.read(inner, out)
}

#[cfg(test)]
mod tests {
    use zarr::data_type::{CoreType, Optional};

    use super::*;

    fn optional(inner: DataType) -> DataType {
        Optional::new(inner).unwrap().into()
    }
    use zarr::{Dialect, Registry};

    fn item(metadata: &str) -> DataType {
        let json = Json::parse(metadata.as_bytes()).unwrap();
        Registry::new().parse_data_type(&json, Dialect::V2).unwrap().data_type
    }

    #[test]
    fn records_are_objects_of_their_fields() {
        let item =
            item(r#"[["a","<i2"],["e",[["x","|S2"],["y, z","<f4"]]],["q",[["n","|u1"]],[2,1]]]"#);
        let text = r#"{"a":-2,"e":{"x":"é","y, z":"NaN"},"q":[[{"n":7}],[{"n":8}]]}"#;
        let mut bytes = Vec::new();
        item.read(&Json::parse(text.as_bytes()).unwrap(), &mut bytes).unwrap();
        assert_eq!(bytes, b"\xfe\xff\xc3\xa9\x00\x00\xc0\x7f\x07\x08");
        assert_eq!(bytes.len(), element::size(&item));
        let text_of = |style| {
            let mut out = String::new();
            item.write_text(&bytes, style, &mut out);
            out
        };
        assert_eq!(text_of(Style::Json), text);
        assert_eq!(text_of(Style::Csv), "-2,é,NaN,7,8");
        assert_eq!(item.header().unwrap(), r#"a,e.x,"e.y, z",q.0.0.n,q.1.0.n"#);
        assert_eq!(DataType::from(CoreType::Bool).header(), None);
        let several = self::item(r#"[["q",[["n","|u1"],["m","|u1",[2]]],[2]]]"#);
        assert_eq!(several.header().unwrap(), "q.0.n,q.0.m.0,q.0.m.1,q.1.n,q.1.m.0,q.1.m.1");
        assert_eq!(several.column_count(), 6);
    }

    #[test]
    fn what_is_missing_is_null_and_what_is_there_never_is() {
        let number = optional(CoreType::Int16.into());
        let nested = optional(number.clone());
        let record = optional(item(r#"[["a","|u1"],["b","|u1"]]"#));
        for (item, json, bytes, csv) in [
            (&number, "null", &[0, 0, 0][..], ""),
            (&number, "-2", &[1, 0xfe, 0xff], "-2"),
            (&nested, "null", &[0, 0, 0, 0], ""),
            (&nested, "[null]", &[1, 0, 0, 0], "[null]"),
            (&nested, "[7]", &[1, 1, 7, 0], "[7]"),
            (&record, "null", &[0, 0, 0], ","),
            (&record, r#"{"a":1,"b":2}"#, &[1, 1, 2], "1,2"),
        ] {
            let mut found = Vec::new();
            item.read(&Json::parse(json.as_bytes()).unwrap(), &mut found).unwrap();
            assert_eq!((&*found, found.len()), (bytes, element::size(item)), "{json}");
            for (style, text) in [(Style::Json, json), (Style::Csv, csv)] {
                let mut out = String::new();
                item.write_text(bytes, style, &mut out);
                assert_eq!(out, text);
            }
        }
        assert_eq!((number.header(), nested.header()), (None, None));
        assert_eq!(record.header().as_deref(), Some("a,b"));
        for wrong in ["7", "[]", "[1,2]", "[[7]]"] {
            let json = Json::parse(wrong.as_bytes()).unwrap();
            assert!(nested.read(&json, &mut Vec::new()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_no_record_says_why() {
        let item = item(r#"[["a","|i1"],["q","|u1",2]]"#);
        let why = |text: &str| {
            item.read(&Json::parse(text.as_bytes()).unwrap(), &mut Vec::new()).unwrap_err()
        };
        assert_eq!(why("[1,[2,3]]"), "expected an object of fields, found [1,[2,3]]");
        assert_eq!(why(r#"{"a":1}"#), "field `q` is missing");
        assert_eq!(why(r#"{"a":1,"q":[2,3],"b":0}"#), "the array has no field `b`");
        assert_eq!(why(r#"{"a":128,"q":[2,3]}"#), "field `a`: 128 does not fit an int8");
        assert_eq!(why(r#"{"a":1,"q":[2]}"#), "field `q`: expected a list of 2, found [2]");
    }
}
