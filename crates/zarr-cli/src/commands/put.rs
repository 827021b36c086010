//! Writes elements into an array.

use std::io::{self, Read};

use clap::{Args, ValueEnum};
use zarr::data_type::{ByteSwap, DataType, Endian};
use zarr::{Array, Cause, CodecError, Json, Selection};

use crate::csv;
use crate::element;
use crate::failure::Failure;
use crate::human;
use crate::interrupt;
use crate::nested;
use crate::npy::{self, Header, Trouble};
use crate::parse;
use crate::progress::Progress;
use crate::region::{Elements, PIECE, SelectionArgs};
use crate::session::{Session, Target, WriteOptions};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr put data.zarr --path temperature --format npy < temperature.npy
  echo '[[1,2],[3,4]]' | zarr put data.zarr/table --region 0:2,0:2
  zarr put data.zarr/table --format csv < table.csv
  zarr put data.zarr/table --region 0:2,: --value NaN
  zarr get a.zarr/x --format raw | zarr put b.zarr/x --format raw",
    after_long_help = crate::details("\
Formats are raw, npy, json and csv, as in `zarr get`; json can also be one flat list in C order. Lines of csv are rows; for
records, the first line has the names of the fields; NaN, inf and True are also accepted. A NumPy file must have the array's type,
in either byte order, and the region's shape; axes of length 1 may be missing. A time is a date, or an integer number of the type's
steps since 1970. A record is an object with all its fields; null is a missing element, if elements can be missing. Integers may
have a fraction of zeros or an exponent, as in 1e18; they are converted exactly, or refused. In csv, {\"base64\":\"…\"} stands for
bytes if the type is bytes.

Regions are those of `zarr get`. If the same element is given several times, as in [3,3], the last value is kept.

Input with too few or too many elements is refused; if it is larger than 64 MiB, part of it may already have been written.
Partial writes of chunks are merged with what other programs write at the same time."))]
pub(crate) struct Put {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    which: SelectionArgs,
    /// Format of standard input
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    format: Format,
    /// Set all elements to this value, JSON or text, instead of reading standard input
    #[arg(long, value_name = "VALUE", conflicts_with = "format", allow_hyphen_values = true)]
    value: Option<String>,
    #[command(flatten)]
    care: WriteOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Raw,
    Npy,
    Json,
    Csv,
}

/// Where elements come from, unless an option has them.
pub(crate) const STDIN: &str = "standard input";

/// Elements as they come in, in native C order unless said otherwise.
struct Input<'a> {
    from: &'a mut dyn Read,
    /// What is read, and for which array, for messages.
    what: String,
    /// What makes little-endian elements of those that come, if they are others.
    swap: Option<ByteSwap>,
    /// Bytes that were due so far, for messages.
    total: u64,
    read: u64,
}

/// A list in JSON that has one element many times.
struct Repeated {
    element: Vec<u8>,
    /// How many elements are not begun.
    left: u64,
    /// What is read next.
    next: Vec<u8>,
    at: usize,
    is_closed: bool,
}

impl Repeated {
    fn new(element: &Json, count: u64) -> Repeated {
        let element = element.to_string().into_bytes();
        Repeated { element, left: count, next: b"[".to_vec(), at: 0, is_closed: false }
    }
}

impl Read for Repeated {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        /// About how many bytes are made at a time.
        const FILL_BLOCK_BYTES: usize = 1 << 14;
        if self.at == self.next.len() {
            (self.at, self.next) = (0, Vec::new());
            while self.left > 0 && self.next.len() < FILL_BLOCK_BYTES {
                self.left -= 1;
                self.next.extend_from_slice(&self.element);
                if self.left > 0 {
                    self.next.push(b',');
                }
            }
            if self.left == 0 && !self.is_closed {
                self.is_closed = true;
                self.next.push(b']');
            }
        }
        let count = out.len().min(self.next.len() - self.at);
        out[..count].copy_from_slice(&self.next[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

impl Put {
    pub fn run(&self, session: &Session) -> Result<(), Failure> {
        let array = session.open_rw(&self.target, &self.care)?.into_array()?;
        let elements = self.which.of_target(session, &self.target, &array)?;
        let attributes = array.attributes();
        let packing: Vec<&str> = ["scale_factor", "add_offset"]
            .into_iter()
            .filter(|name| attributes.contains(name))
            .collect();
        if !packing.is_empty() {
            let what = format!(
                "the array has `{}`: numbers are stored as they are given, and readers unpack them into others",
                packing.join("` and `")
            );
            // One number is typed by a person; a list may come from `zarr get`, which does not unpack either.
            match self.value {
                Some(_) => session.warn_about(&array, &[what]),
                None => session.talk(&what),
            }
        }
        let left = "what has been written stays, except in an archive; run the same command again to write all of it";
        interrupt::leaves(session, left);
        let result = match &self.value {
            None => write(&array, &elements, self.format, (STDIN, &mut io::stdin().lock())),
            Some(value) => {
                let value = parse::json_or_text(value);
                let value = value.map_err(|why| Failure::usage(format!("--value: {why}")))?;
                let count = elements.count();
                let count = count.ok_or_else(|| Failure::usage("the region is too large"))?;
                let mut list = Repeated::new(&value, count);
                write(&array, &elements, Format::Json, ("--value", &mut list))
            }
        };
        if result.is_ok()
            && let Ok(whole) = session.in_its_hierarchy(&self.target, &array, &session.options()?)
            && super::resize::is_base_of_image(&whole)
        {
            let what = "it is the base of an image, and the smaller levels still show the old elements: erase them with `zarr rm`, take them out \
                        of the image's metadata with the command that `zarr rm` prints, and make them again with `zarr pyramid`";
            session.warn_about(&array, &[what.to_owned()]);
        }
        session.warn(array.hierarchy());
        result
    }
}

/// Writes the elements that `input` holds.
pub(crate) fn write(
    array: &Array,
    region: &Elements,
    format: Format,
    (source, input): (&str, &mut dyn Read),
) -> Result<(), Failure> {
    let data_type = array.data_type();
    let Some(kind) = data_type.resolved() else {
        // Says what is not supported.
        array.write_le_bytes(region, &[])?;
        return Ok(());
    };
    let item = element::size(&kind) as u64;
    let total = region.count().and_then(|n| n.checked_mul(item));
    let total = total.ok_or_else(|| Failure::usage("the region is too large"))?;
    let name = match format {
        Format::Raw => "raw elements",
        Format::Npy => "a NumPy file",
        Format::Json => "JSON",
        Format::Csv => "CSV",
    };
    let place = human::place(array.hierarchy(), array.path());
    let what = match source {
        STDIN => format!("{place}: {STDIN}, read as {name}"),
        source => format!("{place}: {source}"),
    };
    let mut start = Vec::new();
    if matches!(format, Format::Json | Format::Csv) {
        (&mut *input)
            .take(npy::MAGIC.len() as u64)
            .read_to_end(&mut start)
            .map_err(Failure::input)?;
    }
    if start == npy::MAGIC {
        return Err(Failure::Usage(format!("{what}, is a NumPy file; pass `--format npy`")));
    }
    let mut input = start.as_slice().chain(input);
    let mut input = Input { from: &mut input, what, swap: None, total, read: 0 };
    match (&kind, format) {
        (one, Format::Raw) if one.is_variable() => {
            let mut stream = Vec::new();
            input.from.read_to_end(&mut stream).map_err(Failure::input)?;
            return input.write(array, region, &stream);
        }
        (one, Format::Npy) if one.is_variable() => {
            let why = format!(
                "the .npy format cannot represent the type `{data_type}`; use --format json"
            );
            return Err(Failure::Usage(why));
        }
        // The length of the text is unknown.
        (one, Format::Json | Format::Csv) if one.is_variable() => {
            input.total = u64::MAX;
        }
        _ => {}
    }
    match format {
        Format::Raw => input.stream(array, region, item),
        Format::Json => input.lists(array, region, kind),
        Format::Csv => input.lines(array, region, &kind),
        Format::Npy => {
            let header = Header::read(input.from).map_err(|trouble| match trouble {
                Trouble::Format(why) => input.wrong(format!("is not a NumPy file: {why}")),
                Trouble::Io(e) => Failure::input(e),
            })?;
            let swap = check(&header, array, region).map_err(|why| input.wrong(why))?;
            input.swap = Some(swap);
            let long = header.shape.iter().filter(|&&len| len > 1).count();
            if header.fortran_order && long > 1 {
                input.transposed(array, region, item)
            } else {
                input.stream(array, region, item)
            }
        }
    }
}

/// Whether a NumPy file holds what the array needs, and what makes its elements little-endian.
fn check(header: &Header, array: &Array, region: &Elements) -> Result<ByteSwap, String> {
    let data_type = array.data_type();
    let due = npy::descr(&data_type);
    let parsed = DataType::from_numpy_descr(&header.descr).ok();
    let same = parsed.filter(|parsed| Some(&parsed.data_type) == data_type.resolved().as_ref());
    let swap = match (due, same) {
        (Some(_), Some(parsed)) => {
            let stored = parsed.endian.unwrap_or(Endian::Little);
            ByteSwap::between(&parsed.data_type, stored, Endian::Little)
        }
        (Some(due), None) => {
            let (found, due) = (human::python(&header.descr), human::python(&due));
            let why = format!(
                "holds `{}`, the array `{}` ({data_type}); convert it first, in NumPy \
                 with `x.astype({due})`",
                found.trim_matches('\''),
                due.trim_matches('\'')
            );
            return Err(why);
        }
        (None, _) => {
            return Err(format!("cannot represent the type `{data_type}`; use --format raw"));
        }
    };
    let shape = region.shape();
    if header.shape != shape && without_ones(&header.shape) != without_ones(&shape) {
        let why = format!(
            "has the shape {}, expected that of the region, {}",
            human::shape(&header.shape),
            human::shape(&shape)
        );
        return Err(why);
    }
    Ok(swap)
}

/// A shape without the axes of length 1.
fn without_ones(shape: &[u64]) -> Vec<u64> {
    shape.iter().copied().filter(|&len| len != 1).collect()
}

impl Input<'_> {
    fn wrong(&self, why: impl std::fmt::Display) -> Failure {
        Failure::Usage(format!("{}, {why}", self.what))
    }

    /// Of input that is read, and says what the array cannot hold.
    fn invalid(&self, why: impl std::fmt::Display) -> Failure {
        Failure::Usage(format!("{}: {why}", self.what))
    }

    /// Writes elements. Those that are none of the array's type are the input's fault: nothing that is stored is corrupt.
    fn write(
        &self,
        array: &Array,
        selection: impl Into<Selection>,
        elements: &[u8],
    ) -> Result<(), Failure> {
        array.write_le_bytes(selection, elements).map_err(|e| match e.cause() {
            Cause::Codec(CodecError::Corrupt { why, .. })
                if e.chunk().is_none() && e.key().is_none() =>
            {
                self.invalid(why)
            }
            _ => e.into(),
        })
    }

    /// The next `size` bytes, in memory that grows as they come.
    fn take(&mut self, size: u64) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        self.from.take(size).read_to_end(&mut bytes).map_err(Failure::input)?;
        self.read += bytes.len() as u64;
        if (bytes.len() as u64) < size {
            let (found, due) = (human::plural(self.read, "byte"), human::count(self.total));
            let why = format!("ends after {found} of elements, expected {due}");
            return Err(self.wrong(why));
        }
        if let Some(swap) = &self.swap {
            swap.apply(&mut bytes);
        }
        Ok(bytes)
    }

    /// Refuses a byte too many.
    fn end(&mut self) -> Result<(), Failure> {
        match self.from.take(1).read_to_end(&mut Vec::new()).map_err(Failure::input)? {
            0 => Ok(()),
            _ => {
                let due = human::plural(self.total, "byte");
                Err(self.wrong(format!("continues after the {due} of elements of the region")))
            }
        }
    }

    /// Writes elements in C order, piece by piece. The last is written when the input has ended.
    fn stream(&mut self, array: &Array, region: &Elements, item: u64) -> Result<(), Failure> {
        let progress = Progress::of_bytes(self.total, self.total <= PIECE);
        let mut pieces = array.pieces(region, PIECE)?.in_c_order().peekable();
        if pieces.peek().is_none() {
            self.end()?;
            self.write(array, region, &[])?;
        }
        while let Some(piece) = pieces.next() {
            let size = piece.element_count().unwrap_or(u64::MAX).saturating_mul(item);
            let bytes = self.take(size)?;
            if pieces.peek().is_none() {
                self.end()?;
            }
            self.write(array, &piece.selection, &bytes)?;
            progress.done(self.read);
        }
        Ok(())
    }

    /// Writes elements in Fortran order, which must be held all at once.
    fn transposed(&mut self, array: &Array, region: &Elements, item: u64) -> Result<(), Failure> {
        let bytes = self.take(self.total)?;
        self.end()?;
        self.write(array, region, &to_c_order(&bytes, &region.shape(), item as usize))
    }

    /// All of a text of elements of a region of `shape`.
    fn text(&mut self, shape: &[u64]) -> Result<Vec<u8>, Failure> {
        // No element needs more text than this, unless it was written with many spaces.
        let limit = self.total.saturating_mul(32).saturating_add(1 << 20);
        let mut text = Vec::new();
        self.from.take(limit).read_to_end(&mut text).map_err(Failure::input)?;
        if text.len() as u64 == limit {
            let shape = human::shape(shape);
            return Err(self.wrong(format!("is too long for a region of shape {shape}")));
        }
        Ok(text)
    }

    /// Writes elements out of CSV, whose text must be held all at once.
    fn lines(&mut self, array: &Array, region: &Elements, kind: &DataType) -> Result<(), Failure> {
        let shape = region.shape();
        let text = String::from_utf8(self.text(&shape)?)
            .map_err(|_| self.wrong("is not text in UTF-8"))?;
        let elements = csv::elements(text.strip_prefix('\u{feff}').unwrap_or(&text), kind, &shape)
            .map_err(|why| self.invalid(why))?;
        array.write_le_bytes(region, &elements)?;
        Ok(())
    }

    /// Writes elements out of JSON, whose text must be held all at once.
    fn lists(&mut self, array: &Array, region: &Elements, kind: DataType) -> Result<(), Failure> {
        let shape = region.shape();
        let text = self.text(&shape)?;
        let (json, _) =
            Json::parse_tolerant(&text).map_err(|why| self.wrong(nested::no_json(&text, &why)))?;
        drop(text);
        let elements = nested::elements(&json, kind, &shape).map_err(|why| self.invalid(why))?;
        array.write_le_bytes(region, &elements)?;
        Ok(())
    }
}

/// Elements in C order, out of elements in Fortran order.
fn to_c_order(bytes: &[u8], shape: &[u64], item: usize) -> Vec<u8> {
    let shape: Vec<usize> = shape.iter().map(|&len| len as usize).collect();
    let strides: Vec<usize> = shape
        .iter()
        .scan(item, |stride, &len| {
            let own = *stride;
            *stride *= len;
            Some(own)
        })
        .collect();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = vec![0; shape.len()];
    let mut at = 0;
    while out.len() < bytes.len() {
        out.extend_from_slice(&bytes[at..at + item]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_order_is_turned() {
        let fortran = [0, 3, 1, 4, 2, 5];
        assert_eq!(to_c_order(&fortran, &[2, 3], 1), [0, 1, 2, 3, 4, 5]);
        let wide = [0, 0, 2, 2, 1, 1, 3, 3];
        assert_eq!(to_c_order(&wide, &[2, 2], 2), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert!(to_c_order(&[], &[2, 0], 4).is_empty());
    }
}
