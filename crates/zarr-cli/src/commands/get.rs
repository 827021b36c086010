//! Prints elements of an array.

use std::io::{self, BufWriter, IsTerminal};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use zarr::data_type::DataType;
use zarr::{Array, Selection};

use super::Out;
use super::checksum::Checked;
use crate::decoded::Decoded;
use crate::digits::Digits;
use crate::element::{self, Style};
use crate::failure::Failure;
use crate::human;
use crate::image::Image;
use crate::nested::{Lines, Lists};
use crate::npy::{self, Header};
use crate::progress::Progress;
use crate::region::{Elements, PIECE, SelectionArgs};
use crate::rows::{Labels, MAX_IN_TABLE, Rows};
use crate::session::{NoMissing, Session, Target};
use crate::summary::Summary;
use crate::whole_file::{WholeFile, refuse_source};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr get data.zarr --path temperature --region 0:4,2:7
  zarr get data.zarr/temperature --region 0,: --format csv > first-row.csv
  zarr get data.zarr/temperature --region ::-1,[0,5,-1]
  zarr get data.zarr/temperature --by-name lat=3:9,lon=::2
  zarr get data.zarr --path temperature --cf --sel time=2020-03-01,lat=40:60
  zarr get data.zarr/temperature --sel time=2020-03-01 --format table
  zarr get data.zarr/temperature -o temperature.npy
  zarr get data.zarr/temperature --format raw | sha256sum
  zarr get scan.zarr/0 --region 0,0,:,: -o plane.tif",
    after_long_help = crate::details("\
A region is start:stop or start:stop:step for each axis, as in NumPy, without the stop itself; each part can be omitted, and
... selects all of the axes that are not listed. Negative numbers count from the end of the axis, a negative step goes
backwards. [1,5,9] is a list of indices in any order. A single number n means n:n+1 and keeps the axis, so 0,: of a table is a
table with one row. A region outside the array is an error. --by-name takes the same by dimension name. --sel takes coordinates:
a range including both ends, or the coordinate at a number or a date, or the nearest at most half a step away; --nearest accepts
any distance. 2020-03 is all of March, and 2020-03:2020-05 includes all of May. Longitudes wrap around: -10 is 350, and 350:10
crosses the meridian.

Formats, all in C order:
  json  nested lists. Integers are exact, floats the shortest text that reads back the same, with
        \"NaN\", \"Infinity\" and \"-Infinity\" as strings; complex numbers are [real, imaginary]. Bytes of
        fixed length are text if they are UTF-8, else {\"base64\": text}; raw bytes are base64. Times are
        dates with the precision of their unit, \"2020-12-31T23:59:59\"; durations are integer counts of
        their unit; \"NaT\" is a missing time. Records are objects of their fields. A missing element is
        null; a present element whose value can itself be null is a list of one.
  jsonl one element per line, as in json.
  csv   one line per row, for at most two axes longer than 1; complex numbers as 1.0-2.0j. Records, for one
        axis, one per line, after a line with the names of the fields. Missing elements are empty. Bytes
        that are not UTF-8 are the text {\"base64\":\"…\"}, as in json, and so are bytes that are such a text.
        With --header the first line has names, and each line begins with the coordinates of its row.
  table names, coordinates and elements in columns, for people: floats with at most 8 significant digits.
  raw   little-endian elements one after another; bool 0 or 1; text as UTF-32. With nullable
        types, a byte precedes each element: 1 if it is present, or 0 followed by zeros.
  npy   a NumPy file, version 1.0, little-endian.
  png   an image of the elements as they are: bool is black and white, uint8 and uint16 are grey; if the last of
        three axes has 3 or 4 elements, these are red, green, blue and opacity. For other numbers, use zarr plot.
  tiff  an image of any numbers as they are, not compressed; with more than two axes, one page per plane. Colours as
        in png; above 4 GiB a BigTIFF. Axes of length 1 are ignored, also in png.
  summary  as json, but of more than 1,000 elements only the first and the last three along each axis, with
        ... between, as NumPy prints them, and floats with at most 8 significant digits, or with those of scale_factor
        with --cf. This is the default on a terminal; in a pipe or a file it is complete json with all digits.

In csv, missing elements are empty; if elements can be missing, empty strings are \"\"."))]
pub(crate) struct Get {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    which: SelectionArgs,
    /// Decode elements by the CF conventions: scaled, missing ones as null, times as dates
    ///
    /// They are unpacked with scale_factor and add_offset. In raw, npy and tiff, numbers are float64, and missing ones are NaN. Times are
    /// numbers there, too, except in npy: they are datetime64 if NumPy has their calendar
    #[cfg(feature = "plot")]
    #[arg(long)]
    cf: bool,
    /// Output format [default: from the extension of --output; otherwise json]
    ///
    /// On a terminal, more than 1,000 elements are summarized by default
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Write to a file: .npy, .csv, .txt, .json, .jsonl, .tif, .png or .raw
    ///
    /// The file appears when it is complete. Any other name needs --format; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// With csv, print a line of names, and coordinates at the start of each line
    ///
    /// More than two axes can then be longer than 1. A table always has both
    #[arg(long)]
    header: bool,
    #[command(flatten)]
    missing_chunks: NoMissing,
    #[command(flatten)]
    checked: Checked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Raw,
    Json,
    Jsonl,
    Npy,
    Csv,
    Table,
    #[cfg(feature = "plot")]
    Png,
    Tiff,
    Summary,
}

/// The most elements that are written at once: nobody waits for so many, and no disk holds them.
const MAX_PRINTED: u64 = 1 << 48;

impl Format {
    /// The format of a file by its name.
    fn of_file(path: &Path) -> Result<Format, Failure> {
        let end = path.extension().map(|end| end.to_string_lossy().to_lowercase());
        match end.as_deref() {
            Some("npy") => Ok(Format::Npy),
            Some("csv") => Ok(Format::Csv),
            Some("json") => Ok(Format::Json),
            Some("jsonl" | "ndjson") => Ok(Format::Jsonl),
            Some("tif" | "tiff") => Ok(Format::Tiff),
            Some("raw" | "bin") => Ok(Format::Raw),
            Some("txt") => Ok(Format::Table),
            #[cfg(feature = "plot")]
            Some("png") => Ok(Format::Png),
            #[cfg(feature = "plot")]
            Some("nc" | "nc4") => Err(Failure::Usage(format!(
                "{}: elements are not written as netCDF; `zarr copy SOURCE part.zarr --sel time=2023-01` writes a part of a dataset, and \
                 xarray makes a netCDF file of it: `open_zarr` reads it, `to_netcdf` writes it",
                path.display()
            ))),
            _ => Err(Failure::Usage(format!(
                "{}: unknown extension; use .npy, .csv, .json, .tif{} or .raw, or pass --format",
                path.display(),
                if cfg!(feature = "plot") { ", .png" } else { "" },
            ))),
        }
    }

    /// Whether it is made of bytes, and no text.
    pub fn is_binary(self) -> bool {
        match self {
            Format::Raw | Format::Npy | Format::Tiff => true,
            #[cfg(feature = "plot")]
            Format::Png => true,
            _ => false,
        }
    }
}

impl Get {
    /// Whether elements are decoded.
    fn is_decoded(&self) -> bool {
        #[cfg(feature = "plot")]
        return self.cf;
        #[cfg(not(feature = "plot"))]
        false
    }

    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let path = match &self.output {
            Some(path) if path.as_os_str() != "-" => path,
            _ => return self.print(session, out),
        };
        let format = self.format.map_or_else(|| Format::of_file(path), Ok)?;
        let failed = |e| Failure::Stream("cannot write the file of --output", e);
        let file = WholeFile::create(path).map_err(failed)?;
        let mut file = BufWriter::with_capacity(1 << 16, file);
        self.write(session, format, &mut file).map_err(|failure| match failure {
            // The other end of a pipe may be gone, but a file's disk is full.
            Failure::Stream(_, e) => failed(e),
            failure => failure,
        })?;
        file.into_inner().map_err(|e| failed(e.into_error()))?.persist().map_err(failed)
    }

    fn print(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let is_terminal = io::stdout().is_terminal();
        let format = self.format.unwrap_or(if is_terminal && !session.is_json() {
            Format::Summary
        } else {
            Format::Json
        });
        if format.is_binary() && is_terminal {
            let why =
                "refusing to write binary data to a terminal; give -o FILE, or redirect the output";
            return Err(Failure::usage(why));
        }
        self.write(session, format, out)
    }

    fn write(&self, session: &Session, format: Format, out: Out<'_>) -> Result<(), Failure> {
        session.refuse_missing(self.missing_chunks);
        if self.header && !matches!(format, Format::Csv | Format::Table) {
            return Err(Failure::usage(
                "--header is for --format csv; a table always has a header",
            ));
        }
        let node = self.checked.open(session, &self.target)?;
        if let Some(output) = &self.output {
            refuse_source(output, node.hierarchy().store())?;
            self.checked.refuse_manifest(output)?;
        }
        let array = node.into_array()?;
        let elements = self.which.of_target(session, &self.target, &array)?;
        let (decoded, warnings) =
            if self.is_decoded() { Decoded::of(&array, format) } else { (None, Vec::new()) };
        session.warn_about(&array, &warnings);
        // A person may take packed numbers for values; a program gets what it asks for without a word.
        let is_read = matches!(format, Format::Summary | Format::Table);
        let is_packed = ["scale_factor", "add_offset"]
            .iter()
            .any(|name| array.metadata().attributes.contains(name));
        if is_read && is_packed && !self.is_decoded() {
            let what = "these are packed numbers as they are stored; --cf unpacks them";
            session.warn_about(&array, &[what.to_owned()]);
        }
        if elements.count().is_none_or(|count| count > MAX_PRINTED) {
            let count = elements.count().map_or("more than 2^64".into(), |count| count.to_string());
            let why = format!(
                "{count} elements are above the limit `MAX_PRINTED` of {MAX_PRINTED}; choose a --region"
            );
            // A terminal shows a few of however many.
            if format != Format::Summary {
                return Err(Failure::Usage(why));
            }
        }
        let summary = Summary::of(&elements).filter(|_| format == Format::Summary);
        let result = match (summary, array.data_type().resolved()) {
            (Some(summary), Some(kind)) => {
                summarise(&array, &summary, &kind, decoded.as_ref(), out)
            }
            _ if self.header || format == Format::Table => {
                let whole = session.in_its_hierarchy(&self.target, &array, &session.options()?)?;
                write_rows(&whole, &elements, format, decoded.as_ref(), out)
            }
            _ => write_decoded(&array, &elements, format, decoded.as_ref(), out),
        };
        session.warn(array.hierarchy());
        result
    }
}

/// What is made of elements as they come.
enum Writer {
    Bytes { header: Vec<u8> },
    Image(Box<Image>),
    Lists(Lists),
    Lines(Lines),
    Rows(Rows),
}

impl Writer {
    fn new(data_type: DataType, shape: &[u64], format: Format) -> Result<Option<Writer>, Failure> {
        // Without a kind, reading says what is not supported.
        let Some(kind) = data_type.resolved() else {
            return Ok(None);
        };
        let writer = match format {
            Format::Raw => Writer::Bytes { header: Vec::new() },
            Format::Npy => {
                let Some(descr) = npy::descr(&data_type) else {
                    let why = format!(
                        "the .npy format cannot represent the type `{data_type}`; use --format raw"
                    );
                    return Err(Failure::Usage(why));
                };
                let header = Header { descr, fortran_order: false, shape: shape.to_vec() };
                Writer::Bytes { header: header.to_bytes() }
            }
            #[cfg(feature = "plot")]
            Format::Png => Writer::image(Image::png(&data_type, shape))?,
            Format::Tiff => Writer::image(Image::tiff(&data_type, shape))?,
            Format::Json | Format::Summary => Writer::Lists(Lists::new(kind, shape)),
            // Its labels are read first.
            Format::Table => return Ok(None),
            Format::Jsonl => Writer::Lines(Lines::of_json(kind)),
            Format::Csv => Writer::Lines(Lines::of_csv(kind, shape).ok_or_else(|| {
                let rank = shape.iter().filter(|&&len| len != 1).count();
                let (columns, advice) = match data_type {
                    DataType::Record(_) => ("fields", "choose a --region with at most one such axis"),
                    _ => (
                        "columns",
                        "--header writes all of them, each line with its coordinates; or choose a region with at most two such axes",
                    ),
                };
                let are =
                    if shape.contains(&0) { "are not of length 1" } else { "are longer than 1" };
                Failure::Usage(format!(
                    "csv has lines of {columns}, but {rank} axes {are}; {advice}, or another --format"
                ))
            })?),
        };
        Ok(Some(writer))
    }

    /// Writes the elements that come next. The header comes with the first, when reading has begun well.
    fn push(&mut self, elements: &[u8], out: Out<'_>) -> io::Result<()> {
        match self {
            Writer::Bytes { header } => {
                out.write_all(&std::mem::take(header))?;
                out.write_all(elements)
            }
            Writer::Image(image) => image.push(elements, out),
            Writer::Lists(lists) => lists.push(elements, out),
            Writer::Lines(lines) => lines.push(elements, out),
            Writer::Rows(rows) => rows.push(elements, out),
        }
    }

    fn image(image: Result<Image, String>) -> Result<Writer, Failure> {
        image.map(|image| Writer::Image(Box::new(image))).map_err(Failure::Usage)
    }
}

/// Writes the first and the last elements along each axis; no others are read.
fn summarise(
    array: &Array,
    summary: &Summary,
    kind: &DataType,
    decoded: Option<&Decoded>,
    out: Out<'_>,
) -> Result<(), Failure> {
    let bytes = array.read_le_bytes(&summary.shown)?;
    let digits = shown_digits(decoded);
    let Some(decoded) = decoded else { return Ok(summary.write(kind, &bytes, digits, out)?) };
    Ok(summary.write(&decoded.data_type(kind), &decoded.apply(&bytes), digits, out)?)
}

/// How many digits of the elements a person is shown.
fn shown_digits(decoded: Option<&Decoded>) -> Digits {
    decoded.map_or(Digits::Short, |decoded| decoded.digits(Digits::Short))
}

/// Writes elements, all of them.
pub(crate) fn write(
    array: &Array,
    elements: &Elements,
    format: Format,
    out: Out<'_>,
) -> Result<(), Failure> {
    write_decoded(array, elements, format, None, out)
}

/// Writes all elements of an array as JSON, in a line.
pub(super) fn write_all(array: &Array, out: Out<'_>) -> Result<(), Failure> {
    write_decoded(array, &Elements::all(&array.shape()), Format::Json, None, out)
}

/// Writes elements, all of them, as others if they are decoded.
fn write_decoded(
    array: &Array,
    elements: &Elements,
    format: Format,
    decoded: Option<&Decoded>,
    out: Out<'_>,
) -> Result<(), Failure> {
    let shape = elements.shape();
    let data_type = array.data_type();
    let shown = decoded.map_or(data_type.clone(), |decoded| decoded.data_type(&data_type));
    let Some(writer) = Writer::new(shown, &shape, format)? else {
        let probe = array.read_le_bytes(&Elements::none(shape.len()));
        let why = "elements of a type that is not known were read";
        return Err(probe.err().map_or_else(|| Failure::usage(why), Failure::from));
    };
    let mut writer = match writer {
        Writer::Lists(lists) if format == Format::Summary => {
            Writer::Lists(lists.in_style(Style::Shown(shown_digits(decoded))))
        }
        writer => writer,
    };
    fill(&mut writer, array, elements, decoded, out)?;
    if let Writer::Image(image) = writer {
        image.finish(out)?;
    } else if matches!(format, Format::Json | Format::Summary) {
        if elements.is_empty() {
            let why = "the region has no elements, and too many empty lists to print";
            let lists = Lists::empty(&shape).ok_or_else(|| Failure::usage(why))?;
            write!(out, "{lists}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes elements as a table, of what CF says they stand for.
pub(super) fn write_table(
    session: &Session,
    array: &Array,
    elements: &Elements,
    out: Out<'_>,
) -> Result<(), Failure> {
    let (decoded, warnings) = Decoded::of(array, Format::Table);
    session.warn_about(array, &warnings);
    write_rows(array, elements, Format::Table, decoded.as_ref(), out)
}

/// Writes elements in rows with their names and coordinates.
fn write_rows(
    array: &Array,
    elements: &Elements,
    format: Format,
    decoded: Option<&Decoded>,
    out: Out<'_>,
) -> Result<(), Failure> {
    let is_table = format == Format::Table;
    if is_table && elements.count().is_none_or(|count| count > MAX_IN_TABLE) {
        let why = format!(
            "a table has at most {} elements; choose a --region, or --format csv --header",
            human::count(MAX_IN_TABLE)
        );
        return Err(Failure::Usage(why));
    }
    let data_type = array.data_type();
    let shown = decoded.map_or(data_type.clone(), |decoded| decoded.data_type(&data_type));
    let Some(kind) = shown.resolved() else {
        // Reading says what is not supported.
        array.read_le_bytes(&Elements::none(array.rank()))?;
        return Err(Failure::usage("elements of a type that is not known were read"));
    };
    let digits = if is_table { Digits::Short } else { Digits::All };
    let labels = Labels::of(array, elements, digits)?;
    let rows = Rows::new(kind, labels, is_table.then(|| shown_digits(decoded)));
    let mut writer = Writer::Rows(rows);
    fill(&mut writer, array, elements, decoded, out)?;
    if let Writer::Rows(rows) = writer
        && is_table
    {
        rows.finish(out)?;
    }
    Ok(())
}

/// Reads elements piece by piece, and hands them on.
fn fill(
    writer: &mut Writer,
    array: &Array,
    elements: &Elements,
    decoded: Option<&Decoded>,
    out: Out<'_>,
) -> Result<(), Failure> {
    let read = |elements: Selection| -> zarr::Result<Vec<u8>> {
        let stored = array.read_le_bytes(elements)?;
        Ok(match decoded {
            Some(decoded) => decoded.apply(&stored),
            None => stored,
        })
    };
    let metadata = array.metadata();
    let item = metadata.data_type.resolved().map_or(1, |kind| element::size(&kind) as u64);
    let total = elements.count().unwrap_or(u64::MAX).saturating_mul(item);
    let progress = Progress::of_bytes(total, total <= PIECE || io::stdout().is_terminal());
    let mut done = 0;
    if elements.is_empty() {
        writer.push(&read(elements.into())?, out)?;
    }
    for piece in array.pieces(elements, PIECE)?.in_c_order() {
        writer.push(&read(piece.selection.clone())?, out)?;
        done += piece.element_count().unwrap_or(0) * item;
        progress.done(done);
    }
    Ok(())
}
