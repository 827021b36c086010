//! Writes a record, or an element that may be missing, in JSON and CSV, and reads it back.
//!
//! In JSON a record is an object with its fields, each said as an element of its type, in nested lists
//! where it has a shape. In CSV each value has a column of its own, named in a first line: `e.x` is the
//! field `x` of the field `e`, `q.0.1` one of a field's several values.
//!
//! In JSON a missing element is `null`, in CSV nothing. One that is there is said as any other is; where that
//! could be `null` itself, as a list of one, `[null]`.

use zarr::Json;
use zarr::data_type::{DataType, Scalar};

use crate::element::{self, LENGTH, Style, say_text};

/// What an element is: one value, a record of several, or one that may be missing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    /// A value of a type of the library.
    One(DataType),
    Record(Vec<Part>),
    Optional(Box<Item>),
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    name: String,
    shape: Vec<u64>,
    item: Item,
    /// Bytes of all that it holds.
    size: usize,
}

impl From<DataType> for Item {
    fn from(data_type: DataType) -> Self {
        Item::One(data_type)
    }
}

impl Item {
    /// What elements of a type are; `None` if the type is unknown.
    pub fn of(data_type: &DataType) -> Option<Item> {
        let record = match data_type.resolved()? {
            DataType::Record(record) => record,
            DataType::Optional(optional) => {
                return Item::of(optional.inner()).map(|item| Item::Optional(Box::new(item)));
            }
            one => return Some(Item::One(one)),
        };
        let part = |field: &zarr::data_type::Field| {
            let item = Item::of(field.data_type())?;
            let (name, shape) = (field.name().to_owned(), field.shape().to_vec());
            Some(Part { name, shape, item, size: field.size() })
        };
        record.fields().iter().map(part).collect::<Option<_>>().map(Item::Record)
    }

    /// The elements of a stream, one by one.
    pub fn split<'a>(&self, stream: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (mut rest, fixed) = (stream, self.size());
        let is_long = matches!(self, Item::One(one) if one.is_variable());
        std::iter::from_fn(move || {
            let size = match rest.first_chunk::<LENGTH>() {
                _ if rest.is_empty() => return None,
                Some(length) if is_long => LENGTH + u32::from_le_bytes(*length) as usize,
                _ => fixed,
            };
            let (element, after) = rest.split_at_checked(size)?;
            rest = after;
            Some(element)
        })
    }

    /// Bytes in an element; about as many, if it has any length.
    pub fn size(&self) -> usize {
        match self {
            Item::One(one) => element::size(one),
            Item::Record(parts) => parts.iter().map(|part| part.size).sum(),
            Item::Optional(item) => 1 + item.size(),
        }
    }

    /// The names of a record's columns as a line of CSV; `None` if an element is one value.
    pub fn header(&self) -> Option<String> {
        let mut names = Vec::new();
        match self {
            Item::One(_) => return None,
            // Those inside one another are said in JSON.
            Item::Optional(item) => return item.header().filter(|_| !item.is_optional()),
            item => item.name_columns("", &mut names),
        }
        Some(names.join(","))
    }

    pub fn is_optional(&self) -> bool {
        matches!(self, Item::Optional(_))
    }

    /// Whether an element is said as a list.
    pub fn is_list(&self) -> bool {
        match self {
            Item::One(DataType::Json | DataType::List(_)) => true,
            Item::One(one) => matches!(one.scalar(), Some(Scalar::Complex(_))),
            Item::Record(_) => false,
            Item::Optional(item) => item.is_optional() || item.is_list(),
        }
    }

    /// How many columns of CSV an element has.
    pub fn column_count(&self) -> usize {
        let mut names = Vec::new();
        self.name_columns("", &mut names);
        names.len()
    }

    fn name_columns(&self, path: &str, names: &mut Vec<String>) {
        let Item::Record(parts) = self else {
            // One column holds a value that may be missing, and JSON of those inside one another.
            names.push(match path.contains([',', '"', '\n', '\r']) {
                true => format!("\"{}\"", path.replace('"', "\"\"")),
                false => path.to_owned(),
            });
            return;
        };
        for part in parts {
            let path = match path {
                "" => part.name.clone(),
                outer => format!("{outer}.{}", part.name),
            };
            part.name_items(&part.shape, &path, names);
        }
    }

    /// Appends an element, of exactly [`Item::size`] bytes, to `out`.
    pub fn say(&self, element: &[u8], style: Style, out: &mut String) {
        let parts = match self {
            Item::One(one) => return element::write(one, element, style, out),
            Item::Optional(item) => return item.say_optional(element, style, out),
            Item::Record(parts) => parts,
        };
        let mut rest = element;
        for (n, part) in parts.iter().enumerate() {
            let (own, after) = rest.split_at(part.size);
            rest = after;
            match style {
                Style::Json => {
                    out.push(if n == 0 { '{' } else { ',' });
                    out.push_str(&Json::from(part.name.as_str()).to_string());
                    out.push(':');
                }
                Style::Csv if n > 0 => out.push(','),
                Style::Csv => {}
            }
            part.say(&part.shape, own, style, out);
        }
        if style == Style::Json {
            out.push('}');
        }
    }

    /// Appends an element of this kind behind the byte that says whether it is there.
    fn say_optional(&self, element: &[u8], style: Style, out: &mut String) {
        match (element.split_first(), style) {
            (Some((1.., inner)), _) if !self.is_optional() => {
                let before = out.len();
                self.say(inner, style, out);
                // Nothing at all is a missing element.
                if style == Style::Csv && out.len() == before {
                    out.push_str("\"\"");
                }
            }
            (Some((1.., inner)), Style::Json) => {
                out.push('[');
                self.say(inner, style, out);
                out.push(']');
            }
            (Some((1.., inner)), Style::Csv) => {
                let mut text = String::from("[");
                self.say(inner, Style::Json, &mut text);
                say_text(&(text + "]"), style, out);
            }
            (_, Style::Json) => out.push_str("null"),
            // Each column is empty.
            (_, Style::Csv) => {
                out.extend((1..self.column_count()).map(|_| ','));
            }
        }
    }

    fn read_optional(&self, json: &Json, out: &mut Vec<u8>) -> Result<(), String> {
        let inner = match json {
            Json::Null => {
                out.resize(out.len() + 1 + self.size(), 0);
                return Ok(());
            }
            Json::Array(items) if self.is_optional() && items.len() == 1 => &items[0],
            _ if self.is_optional() => {
                let due = "null or a list of one value";
                return Err(format!("{} stands where {due} is due", json.brief()));
            }
            json => json,
        };
        out.push(1);
        self.read(inner, out)
    }

    /// Appends the bytes of the element that `json` means to `out`, or says why it means none.
    pub fn read(&self, json: &Json, out: &mut Vec<u8>) -> Result<(), String> {
        let parts = match self {
            Item::One(one) => return element::read(one, json, out),
            Item::Optional(item) => return item.read_optional(json, out),
            Item::Record(parts) => parts,
        };
        let Some(object) = json.as_object() else {
            return Err(format!("{} stands where an object of fields is due", json.brief()));
        };
        for part in parts {
            let name = &part.name;
            let value = object.get(name).ok_or_else(|| format!("field `{name}` is missing"))?;
            part.read(&part.shape, value, out).map_err(|why| format!("field `{name}`: {why}"))?;
        }
        match object.iter().find(|(name, _)| parts.iter().all(|part| part.name != *name)) {
            Some((name, _)) => Err(format!("field `{name}` is none of the array's")),
            None => Ok(()),
        }
    }
}

impl Part {
    /// How many elements of its type it holds.
    pub fn count(&self) -> u64 {
        self.shape.iter().product()
    }

    pub fn item(&self) -> &Item {
        &self.item
    }

    fn name_items(&self, shape: &[u64], path: &str, names: &mut Vec<String>) {
        match shape.split_first() {
            None => self.item.name_columns(path, names),
            Some((&len, inner)) => {
                (0..len).for_each(|n| self.name_items(inner, &format!("{path}.{n}"), names));
            }
        }
    }

    fn say(&self, shape: &[u64], bytes: &[u8], style: Style, out: &mut String) {
        let Some((&len, inner)) = shape.split_first() else {
            return self.item.say(bytes, style, out);
        };
        for (n, bytes) in bytes.chunks_exact(bytes.len() / len.max(1) as usize).enumerate() {
            match (n, style) {
                (0, Style::Json) => out.push('['),
                (0, Style::Csv) => {}
                _ => out.push(','),
            }
            self.say(inner, bytes, style, out);
        }
        if style == Style::Json {
            out.push(']');
        }
    }

    fn read(&self, shape: &[u64], json: &Json, out: &mut Vec<u8>) -> Result<(), String> {
        let Some((&len, inner)) = shape.split_first() else {
            return self.item.read(json, out);
        };
        let items = json.as_array().filter(|items| items.len() as u64 == len);
        let items =
            items.ok_or_else(|| format!("{} stands where a list of {len} is due", json.brief()))?;
        items.iter().try_for_each(|item| self.read(inner, item, out))
    }
}

#[cfg(test)]
mod tests {
    use zarr::data_type::CoreType;

    use super::*;
    use zarr::{Dialect, Registry};

    fn item(words: &str) -> Item {
        let json = Json::parse(words.as_bytes()).unwrap();
        Item::of(&Registry::new().parse_data_type(&json, Dialect::V2).unwrap().data_type).unwrap()
    }

    #[test]
    fn records_are_objects_of_their_fields() {
        let item =
            item(r#"[["a","<i2"],["e",[["x","|S2"],["y, z","<f4"]]],["q",[["n","|u1"]],[2,1]]]"#);
        let text = r#"{"a":-2,"e":{"x":"é","y, z":"NaN"},"q":[[{"n":7}],[{"n":8}]]}"#;
        let mut bytes = Vec::new();
        item.read(&Json::parse(text.as_bytes()).unwrap(), &mut bytes).unwrap();
        assert_eq!(bytes, b"\xfe\xff\xc3\xa9\x00\x00\xc0\x7f\x07\x08");
        assert_eq!(bytes.len(), item.size());
        let said = |style| {
            let mut out = String::new();
            item.say(&bytes, style, &mut out);
            out
        };
        assert_eq!(said(Style::Json), text);
        assert_eq!(said(Style::Csv), "-2,é,NaN,7,8");
        assert_eq!(item.header().unwrap(), r#"a,e.x,"e.y, z",q.0.0.n,q.1.0.n"#);
        assert_eq!(Item::from(DataType::from(CoreType::Bool)).header(), None);
    }

    #[test]
    fn what_is_missing_is_null_and_what_is_there_never_is() {
        let number = Item::Optional(Box::new(DataType::from(CoreType::Int16).into()));
        let nested = Item::Optional(Box::new(number.clone()));
        let record = Item::Optional(Box::new(item(r#"[["a","|u1"],["b","|u1"]]"#)));
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
            assert_eq!((&*found, found.len()), (bytes, item.size()), "{json}");
            for (style, text) in [(Style::Json, json), (Style::Csv, csv)] {
                let mut out = String::new();
                item.say(bytes, style, &mut out);
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
        assert_eq!(why("[1,[2,3]]"), "[1,[2,3]] stands where an object of fields is due");
        assert_eq!(why(r#"{"a":1}"#), "field `q` is missing");
        assert_eq!(why(r#"{"a":1,"q":[2,3],"b":0}"#), "field `b` is none of the array's");
        assert_eq!(why(r#"{"a":128,"q":[2,3]}"#), "field `a`: 128 does not fit an int8");
        assert_eq!(why(r#"{"a":1,"q":[2]}"#), "field `q`: [2] stands where a list of 2 is due");
    }
}
