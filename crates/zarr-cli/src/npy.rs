//! Reads and writes the beginning of NumPy's file format.
//!
//! A magic string, a version, and a Python dictionary with `descr`, `fortran_order` and `shape`; then
//! the elements. NumPy Enhancement Proposal 1.

use std::io::{self, Read};

use zarr::Json;
use zarr::data_type::{DataType, Endian};

pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header that is read, in bytes: NumPy itself stops at 10,000 unless told to trust.
const MAX_HEADER: usize = 1 << 16;

/// What a file says before its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The type of an element, with its byte order: `<i4`, or a list of fields.
    pub descr: Json,
    /// Whether elements are in Fortran order, the first axis fastest.
    pub fortran_order: bool,
    /// How many elements along each axis.
    pub shape: Vec<u64>,
}

/// Why a file's beginning could not be read.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// It is no NumPy file, or one that is not understood here.
    Format(String),
    /// Reading failed.
    Io(io::Error),
}

/// The little-endian `descr` of a data type; `None` if no NumPy file can hold its elements.
pub(crate) fn descr(data_type: &DataType) -> Option<Json> {
    fn is_held(data_type: &DataType) -> bool {
        match data_type {
            // Objects would be pickled, and NumPy's files do not name the types of `ml_dtypes`.
            DataType::IntBits(_) | DataType::UintBits(_) | DataType::Minifloat(_) => false,
            DataType::Record(record) => record.fields().iter().all(|f| is_held(f.data_type())),
            other => !other.is_variable(),
        }
    }
    data_type.resolved().filter(is_held)?.numpy_descr(Endian::Little)
}

impl Header {
    /// The header as bytes, padded so that elements begin at a multiple of 64.
    pub fn to_bytes(&self) -> Vec<u8> {
        let order = if self.fortran_order { "True" } else { "False" };
        let shape = crate::human::shape(&self.shape);
        let dictionary = format!(
            "{{'descr': {}, 'fortran_order': {order}, 'shape': {shape}, }}",
            crate::human::python(&self.descr)
        );
        // Version 1.0 counts the dictionary with 16 bits, which only a thousand axes would exceed.
        // Only version 3.0 has names of fields beyond Latin-1.
        let wide = dictionary.len() + 128 > usize::from(u16::MAX) || !dictionary.is_ascii();
        let before = MAGIC.len() + 2 + if wide { 4 } else { 2 };
        let total = (before + dictionary.len() + 1).next_multiple_of(64);
        let len = total - before;
        let mut bytes = MAGIC.to_vec();
        if wide {
            bytes.extend([if dictionary.is_ascii() { 2 } else { 3 }, 0]);
            bytes.extend((len as u32).to_le_bytes());
        } else {
            bytes.extend([1, 0]);
            bytes.extend((len as u16).to_le_bytes());
        }
        bytes.extend(dictionary.as_bytes());
        bytes.resize(total - 1, b' ');
        bytes.push(b'\n');
        bytes
    }

    /// Reads a header of version 1, 2 or 3, and not a byte more.
    pub fn read(input: &mut dyn Read) -> Result<Header, Trouble> {
        let mut start = [0; 8];
        exactly(input, &mut start)?;
        if start[..6] != *MAGIC {
            return Err(format("it does not begin with the signature of a NumPy file"));
        }
        let len = match start[6] {
            1 => {
                let mut len = [0; 2];
                exactly(input, &mut len)?;
                usize::from(u16::from_le_bytes(len))
            }
            2 | 3 => {
                let mut len = [0; 4];
                exactly(input, &mut len)?;
                usize::try_from(u32::from_le_bytes(len)).unwrap_or(usize::MAX)
            }
            version => {
                return Err(format(format!("version {version} of the format is not known")));
            }
        };
        if len > MAX_HEADER {
            return Err(format(format!(
                "its header claims {len} bytes; the limit is {MAX_HEADER}"
            )));
        }
        let mut text = vec![0; len];
        exactly(input, &mut text)?;
        let text = match String::from_utf8(text) {
            Ok(text) => text,
            // Before version 3 headers were Latin-1.
            Err(e) if start[6] < 3 => e.into_bytes().into_iter().map(char::from).collect(),
            Err(_) => return Err(format("its header is not text")),
        };
        Dictionary(&text).header().map_err(|why| format(format!("its header {why}")))
    }
}

fn format(why: impl Into<String>) -> Trouble {
    Trouble::Format(why.into())
}

fn exactly(input: &mut dyn Read, bytes: &mut [u8]) -> Result<(), Trouble> {
    input.read_exact(bytes).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => format("it ends within the header of a NumPy file"),
        _ => Trouble::Io(e),
    })
}

/// The rest of the text of a Python dictionary.
struct Dictionary<'a>(&'a str);

impl<'a> Dictionary<'a> {
    fn header(mut self) -> Result<Header, String> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.expect('{')?;
        while !self.take('}') {
            let key = self.string()?;
            self.expect(':')?;
            match key {
                "descr" => descr = Some(self.descr(0)?),
                "fortran_order" => fortran_order = Some(self.boolean()?),
                "shape" => shape = Some(self.shape()?),
                key => return Err(format!("has an unknown member `{}`", key.escape_debug())),
            }
            if !self.take(',') {
                self.expect('}')?;
                break;
            }
        }
        match (descr, fortran_order, shape, self.0.trim().is_empty()) {
            (Some(descr), Some(fortran_order), Some(shape), true) => {
                Ok(Header { descr, fortran_order, shape })
            }
            (_, _, _, false) => Err("goes on after its dictionary".into()),
            _ => Err("lacks one of descr, fortran_order and shape".into()),
        }
    }

    fn take(&mut self, what: char) -> bool {
        self.0 = self.0.trim_start();
        let rest = self.0.strip_prefix(what);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, what: char) -> Result<(), String> {
        if self.take(what) { Ok(()) } else { Err(format!("lacks a `{what}`")) }
    }

    fn string(&mut self) -> Result<&'a str, String> {
        self.0 = self.0.trim_start();
        let rest: &'a str = self.0;
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let inner = quote.and_then(|quote| rest[1..].split_once(quote));
        let (text, rest) = inner.ok_or("lacks a quoted text")?;
        self.0 = rest;
        Ok(text)
    }

    /// A type, or a list of fields: `(name, type)` or `(name, type, shape)`.
    fn descr(&mut self, depth: usize) -> Result<Json, String> {
        if !self.take('[') {
            return self.string().map(Json::from);
        }
        if depth == 16 {
            return Err("nests records too deep".into());
        }
        let mut fields = Vec::new();
        while !self.take(']') {
            self.expect('(')?;
            let mut field = vec![Json::from(self.name()?)];
            self.expect(',')?;
            field.push(self.descr(depth + 1)?);
            if !self.take(')') {
                self.expect(',')?;
                if !self.take(')') {
                    field.push(Json::from(&self.shape()?[..]));
                    self.take(',');
                    self.expect(')')?;
                }
            }
            fields.push(Json::Array(field));
            if !self.take(',') {
                self.expect(']')?;
                break;
            }
        }
        Ok(Json::Array(fields))
    }

    /// A quoted text, in which backslashes escape only quotes and backslashes.
    fn name(&mut self) -> Result<String, String> {
        self.0 = self.0.trim_start();
        let mut rest = self.0.chars();
        let quote = rest.next().filter(|c| matches!(c, '\'' | '"'));
        let quote = quote.ok_or("lacks the quoted name of a field")?;
        let mut name = String::new();
        loop {
            match rest.next() {
                Some(c) if c == quote => break,
                Some('\\') => match rest.next() {
                    Some(c @ ('\\' | '\'' | '"')) => name.push(c),
                    _ => return Err("has a name with an escape that is not understood here".into()),
                },
                Some(c) => name.push(c),
                None => return Err("lacks the end of a field's name".into()),
            }
        }
        self.0 = rest.as_str();
        Ok(name)
    }

    fn boolean(&mut self) -> Result<bool, String> {
        self.0 = self.0.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.0.strip_prefix(word) {
                self.0 = rest;
                return Ok(value);
            }
        }
        Err("lacks True or False".into())
    }

    fn shape(&mut self) -> Result<Vec<u64>, String> {
        let mut shape = Vec::new();
        self.expect('(')?;
        while !self.take(')') {
            self.0 = self.0.trim_start();
            let end = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
            let len = self.0[..end].parse().map_err(|_| "has an invalid shape".to_owned())?;
            shape.push(len);
            // Python 2 wrote long integers as `3L`.
            self.0 = self.0[end..].strip_prefix('L').unwrap_or(&self.0[end..]);
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(descr: &str, fortran_order: bool, shape: &[u64]) -> Header {
        Header { descr: Json::from(descr), fortran_order, shape: shape.to_vec() }
    }

    #[test]
    fn headers_read_back() {
        for shape in [&[][..], &[3], &[3, 4], &[0, 1 << 60]] {
            for fortran_order in [false, true] {
                let header = header("<U5", fortran_order, shape);
                let bytes = header.to_bytes();
                assert!(bytes.len().is_multiple_of(64));
                assert_eq!(Header::read(&mut &bytes[..]).unwrap(), header);
            }
        }
        let deep = header("<i4", false, &[1; 30_000]);
        let bytes = deep.to_bytes();
        assert_eq!(bytes[6], 2);
        assert!(bytes.len().is_multiple_of(64));
    }

    /// The bytes that `numpy.save` of NumPy 1.24 wrote for `numpy.zeros((2, 3), '<i4')`.
    #[test]
    fn headers_are_those_of_numpy() {
        let mut expected = b"\x93NUMPY\x01\x00v\x00".to_vec();
        expected.extend(b"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }");
        expected.resize(127, b' ');
        expected.push(b'\n');
        assert_eq!(header("<i4", false, &[2, 3]).to_bytes(), expected);
    }

    fn read(version: u8, text: &str) -> Result<Header, String> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((text.len() as u16).to_le_bytes()),
            _ => bytes.extend((text.len() as u32).to_le_bytes()),
        }
        bytes.extend(text.as_bytes());
        Header::read(&mut &bytes[..]).map_err(|e| match e {
            Trouble::Format(why) => why,
            Trouble::Io(e) => panic!("{e}"),
        })
    }

    #[test]
    fn other_spellings_are_read() {
        let expected = header(">f8", true, &[3, 4]);
        for text in [
            "{'descr': '>f8', 'fortran_order': True, 'shape': (3, 4), }   \n",
            "{\"shape\":(3L,4L),\"fortran_order\":True,\"descr\":\">f8\"}",
        ] {
            for version in [1, 2, 3] {
                assert_eq!(read(version, text).unwrap(), expected);
            }
        }
    }

    /// What `numpy.save` of NumPy 2.4 writes for such a type.
    #[test]
    fn records_are_lists_of_fields() {
        let words = r#"[["a","<i4"],["q",">f8",[2,3]],["e",[["x","|S2"],["it's","<U3",[1]]]]]"#;
        let descr = Json::parse(words.as_bytes()).unwrap();
        let text =
            "[('a', '<i4'), ('q', '>f8', (2, 3)), ('e', [('x', '|S2'), (\"it's\", '<U3', (1,))])]";
        let numpy = format!("{{'descr': {text}, 'fortran_order': False, 'shape': (7,), }}\n");
        assert_eq!(
            read(1, &numpy).unwrap(),
            Header { descr, fortran_order: false, shape: vec![7] }
        );
        let ours = Header::read(&mut &read(1, &numpy).unwrap().to_bytes()[..]).unwrap();
        assert_eq!(ours, read(1, &numpy).unwrap());
        let accent = "{'descr': [('\u{e9}', '<i4')], 'fortran_order': False, 'shape': (), }\n";
        let mut latin = MAGIC.to_vec();
        latin.extend([1, 0, accent.chars().count() as u8, 0]);
        latin.extend(accent.chars().map(|c| c as u8));
        assert_eq!(Header::read(&mut &latin[..]).unwrap(), read(3, accent).unwrap());
        assert_eq!(read(3, accent).unwrap().to_bytes()[6], 3);
    }

    #[test]
    fn what_is_no_header_is_an_error() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr': '<i4'}",
            "{'descr': [('a', '<i4'], 'fortran_order': False, 'shape': ()}",
            "{'descr': [(('title', 'a'), '<i4')], 'fortran_order': False, 'shape': ()}",
            "{'descr': [('a', '<i4', 2)], 'fortran_order': False, 'shape': ()}",
            "{'descr': [('a\\x41', '<i4')], 'fortran_order': False, 'shape': ()}",
            "{'descr': '<i4', 'fortran_order': 0, 'shape': ()}",
            "{'descr': '<i4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            "{'descr': '<i4', 'fortran_order': False, 'shape': (1 2)}",
            "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)} x",
            "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
            "{'descr: <i4",
            "é",
        ] {
            assert!(read(1, text).is_err(), "{text}");
        }
        assert!(read(9, "").unwrap_err().contains("version 9"));
        let claim = b"\x93NUMPY\x02\x00\xff\xff\xff\xff";
        assert!(matches!(Header::read(&mut &claim[..]), Err(Trouble::Format(_))));
        assert!(matches!(Header::read(&mut &b"PK"[..]), Err(Trouble::Format(_))));
    }
}
