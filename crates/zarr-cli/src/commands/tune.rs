//! `zarr tune`: measures which chunks, shards and codecs suit an array and the way it is read.

use std::fs;

use clap::Args;
use zarr::tools::tune::{
    Candidate, ReadPattern, Reader, Service, TuneOptions, TuneProgress, TuneReport, tune,
};
use zarr::{Array, Json, Node, Object};

use super::Out;
use crate::failure::Failure;
use crate::human;
use crate::json::or_null;
use crate::parse::{self, Written};
use crate::progress::Progress;
use crate::session::{Session, Target};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr tune data.zarr --path temperature
  zarr tune data.zarr/temperature --read 'time=:,lat=1,lon=1 @3' --read map \\
      --store s3
  zarr tune data.zarr/temperature --read tile:256 \\
      --readers zarr-python,tensorstore
  zarr tune data.zarr/temperature --lossy --store far.json --json",
    after_long_help = crate::details("\
A read is a box at a random place: `time=:,lat=1,lon=1` is all of time at one place. Axes that are not named are read whole;
`@3` makes a read count three times. Presets: map (a plane), series (all of time at a place), tile:512 (a part of a plane);
without --read all three.

A sample of the array is encoded and decoded with each layout on this machine: sizes are estimated from that, with the interval
that holds them in 95 of 100 samples. Times are modelled: they follow from the numbers of requests and bytes by a model of the
store, which is printed, with --json as a FILE has it, and the measured speed of decoding. A FILE for --store has such a model with other numbers.

Line 0 is the array as it is. The others are Pareto-optimal in bytes, time, read requests and write requests. One is
recommended, marked with `*`, with the `zarr copy` command that makes it; none is recommended if no layout gains 10 % of time
and bytes together. Without --readers, all implementations of docs/interop.md can read the recommended layout."))]
pub(crate) struct Tune {
    #[command(flatten)]
    target: Target,
    /// How the array is read: map, series, tile:SIDE, or AXIS=LENGTH,…; can be repeated
    ///
    /// `:` is a whole axis; a length for each axis works, too. `@N` makes a read as frequent as N others. The default is map,
    /// series and tile:512
    #[arg(long, value_name = "READ", allow_hyphen_values = true)]
    read: Vec<String>,
    /// The store that it is to be read from: s3, disk, or a FILE with a model
    ///
    /// --json prints such a model as `store`. The default is disk for a local TARGET, otherwise s3
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// The format of the copy: v3, v2 or draft-2020 [default: that of TARGET]
    #[arg(long, value_name = "FORMAT", value_parser = parse::written)]
    to: Option<Written>,
    /// Also try to round floats to the bits that carry information
    ///
    /// The size of the error is reported
    #[arg(long)]
    lossy: bool,
    /// Only layouts that all of these read: zarr-python, tensorstore, zarrs, zarrita, gdal
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = str::parse::<Reader>)]
    readers: Vec<Reader>,
    /// How much memory may be used, as in 256MiB [default: a quarter of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    memory: Option<u64>,
}

/// The column of the table that names readers.
const READ_BY: usize = 11;

/// The most bytes of a file with a model of a store.
const MAX_MODEL_BYTES: u64 = 64 << 10;

impl Tune {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let array = match session.open(&self.target)? {
            Node::Array(array) => array,
            Node::Group(group) => {
                let place = human::place(group.hierarchy(), group.path());
                let why = "this is a group, and one array is measured at a time; name it with --path; `zarr tree` lists the arrays";
                return Err(Failure::Usage(format!("{place}: {why}")));
            }
        };
        let names = array.dimension_names().unwrap_or_default();
        let reads = self.read.iter().map(|text| ReadPattern::parse(text, &array.shape(), &names));
        let reads = reads.collect::<Result<Vec<_>, _>>()?;
        let bar = Progress::of_values(false);
        let options = TuneOptions {
            reads,
            service: self.service(&array)?,
            dialect: self.to.map(|written| written.dialect),
            readers: self.readers.clone(),
            lossy: self.lossy,
            memory: self.memory,
            threads: session.threads(),
            progress: Some(&|progress: &TuneProgress| bar.at(progress.done, progress.total, None)),
            ..TuneOptions::default()
        };
        let report = tune(&array, &options)?;
        drop(bar);
        session.warn(array.hierarchy());
        if session.is_json() {
            writeln!(out, "{}", self.json(&report))?;
            return Ok(());
        }
        self.print(&report, out)?;
        Ok(())
    }

    fn service(&self, array: &Array) -> Result<Service, Failure> {
        let Some(name) = &self.store else {
            let is_local = array.hierarchy().store().capabilities().local;
            return Ok(if is_local { Service::DISK } else { Service::S3 });
        };
        if let Some(service) = Service::named(name) {
            return Ok(service);
        }
        let unreadable = |why: String| {
            Failure::Usage(format!(
                "--store {name}: {why}; expected s3, disk, or a file with a model; s3 is for all object stores"
            ))
        };
        let size = fs::metadata(name).map_err(|e| unreadable(e.to_string()))?.len();
        if size > MAX_MODEL_BYTES {
            return Err(unreadable(format!(
                "the file has {size} bytes, a model at most {MAX_MODEL_BYTES}"
            )));
        }
        let text = fs::read(name).map_err(|e| unreadable(e.to_string()))?;
        Ok(Service::from_json(&text)?)
    }

    /// The line that makes a copy with a layout.
    fn copy_line(&self, candidate: &Candidate) -> String {
        let mut words = vec![
            "zarr".to_owned(),
            "copy".into(),
            human::shell_word(&self.target.target),
            "DST".into(),
        ];
        if self.target.path != "/" {
            words.extend(["--path".to_owned(), human::shell_word(&self.target.path)]);
        }
        words.extend(candidate.copy_arguments.iter().map(|word| human::shell_word(word)));
        words.join(" ")
    }

    fn print(&self, report: &TuneReport, out: Out<'_>) -> Result<(), Failure> {
        let sample = &report.sample;
        let what = if sample.is_whole {
            format!("all {} of the array", human::size(sample.array_bytes))
        } else {
            format!(
                "{} of the array's {} at {}",
                human::size(sample.bytes),
                human::size(sample.array_bytes),
                human::plural(sample.boxes, "place")
            )
        };
        writeln!(out, "sampled {what}; sizes are estimated, times are modelled")?;
        writeln!(out)?;
        let header = [
            "",
            "chunks",
            "shards",
            "codecs",
            "bytes",
            "objects",
            "time",
            "requests",
            "decoded/s",
            "$/1M reads",
            "$ writing",
            "read by",
        ];
        let mut rows = vec![header.map(str::to_owned)];
        let all = std::iter::once(&report.now).chain(&report.candidates);
        rows.extend(all.enumerate().map(|(number, it)| {
            let mark = if number > 0 && report.advised == Some(number - 1) { "*" } else { "" };
            let mut row = row(&format!("{number}{mark}"), it);
            if number == 0 {
                // Who reads the array as it is was not looked into.
                row[READ_BY] = "(the array as it is)".into();
            }
            row
        }));
        let widths: Vec<usize> = (0..header.len())
            .map(|column| human::column_width(rows.iter().map(|row| &row[column])))
            .collect();
        for row in &rows {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| human::left(cell, width));
            let line = cells.collect::<Vec<_>>().join("  ");
            writeln!(out, "{}", line.trim_end())?;
        }
        writeln!(out)?;
        for (number, read) in report.patterns.iter().enumerate() {
            let now = &report.now.reads[number];
            let of_now = format!("{} in {}", requests(now.count.requests), time(now.seconds));
            let then = report.advised().map(|it| &it.reads[number]);
            let then = then.map_or(String::new(), |it| {
                format!(", then {} in {}", requests(it.count.requests), time(it.seconds))
            });
            let weight =
                if read.weight == 1.0 { String::new() } else { format!(" @{}", read.weight) };
            let shape = human::shape(&read.lengths);
            writeln!(out, "read {}{weight}, {shape}: now {of_now}{then}", read.name)?;
        }
        writeln!(out, "model of the store, {}", report.service.describe())?;
        for note in &report.notes {
            writeln!(out, "note: {note}")?;
        }
        writeln!(out)?;
        match (report.advised, report.advised()) {
            (Some(number), Some(advised)) => {
                writeln!(out, "advised: layout {}; {}", number + 1, report.reason)?;
                if let Some(lossy) = &advised.lossy {
                    writeln!(
                        out,
                        "rounded to {} bits of the mantissa: a relative error of at most {:.2e}; in the sample at most {:.2e}, absolute {:.2e}",
                        lossy.keepbits,
                        lossy.relative_bound,
                        lossy.relative_error,
                        lossy.absolute_error
                    )?;
                }
                writeln!(out, "{}", self.copy_line(advised))?;
            }
            _ => writeln!(out, "keep the present layout: {}", report.reason)?,
        }
        Ok(())
    }

    fn json(&self, report: &TuneReport) -> Json {
        let patterns = report.patterns.iter().map(|read| {
            let object = Object::new()
                .with("name", &read.name[..])
                .with("lengths", &read.lengths[..])
                .with("weight", Json::float(read.weight));
            Json::from(object)
        });
        let sample = Object::new()
            .with("whole", report.sample.is_whole)
            .with("boxes", report.sample.boxes)
            .with("bytes", report.sample.bytes)
            .with("array_bytes", report.sample.array_bytes)
            .with("present", Json::float(report.sample.present));
        let advised = report.advised.map_or(Json::Null, |number| Json::from(number as u64 + 1));
        let candidates = report.candidates.iter().map(|it| self.candidate(it, false));
        let notes: Json = report.notes.iter().map(|note| Json::from(&note[..])).collect();
        let object = Object::new()
            .with("reads", patterns.collect::<Json>())
            .with("store", report.service.to_json())
            .with("threads", report.threads as u64)
            .with("sample", sample)
            .with("now", self.candidate(&report.now, true))
            .with("candidates", candidates.collect::<Json>())
            .with("advised", advised)
            .with("reason", &report.reason[..])
            .with("notes", notes);
        object.into()
    }

    /// A layout with what was measured and modelled of it.
    fn candidate(&self, it: &Candidate, is_now: bool) -> Json {
        let readers: Json = it.readers.iter().map(|reader| Json::from(reader.name())).collect();
        let codecs: Json = it.codecs.iter().map(|codec| Json::from(&codec[..])).collect();
        let reads = it.reads.iter().map(|read| {
            Json::from(
                Object::new()
                    .with("objects", Json::float(read.count.objects))
                    .with("requests", Json::float(read.count.requests))
                    .with("chunks", Json::float(read.count.chunks))
                    .with("bytes", Json::float(read.count.bytes))
                    .with("seconds", Json::float(read.seconds))
                    .with("price", Json::float(read.price)),
            )
        });
        let mut object = Object::new()
            .with("chunks", &it.chunks[..])
            .with("shards", or_null(it.shards.as_deref()))
            .with("codecs", codecs)
            .with("stored_bytes", it.stored_bytes)
            .with("stored_interval", &[it.stored_interval.0, it.stored_interval.1][..])
            .with("objects", it.objects)
            .with("list_requests", it.list_requests)
            .with("writer_memory", it.writer_memory)
            .with("encode_bytes_per_second", Json::float(it.encode_speed))
            .with("decode_bytes_per_second", Json::float(it.decode_speed))
            .with("measured_chunks", it.measured_chunks)
            .with("seconds", Json::float(it.seconds))
            .with("read_price", Json::float(it.read_price))
            .with("write_price", Json::float(it.write_price))
            .with("reads", reads.collect::<Json>());
        if !is_now {
            object.insert("readers", readers);
            object.insert("copy", self.copy_line(it));
        }
        if let Some(lossy) = &it.lossy {
            let lossy = Object::new()
                .with("keepbits", lossy.keepbits)
                .with("relative_bound", Json::float(lossy.relative_bound))
                .with("relative_error", Json::float(lossy.relative_error))
                .with("absolute_error", Json::float(lossy.absolute_error));
            object.insert("lossy", lossy);
        }
        Json::from(object)
    }
}

/// A line of the table.
fn row(number: &str, it: &Candidate) -> [String; 12] {
    let (low, high) = it.stored_interval;
    let half = (high.saturating_sub(low)) as f64 / 2.0 / it.stored_bytes.max(1) as f64 * 100.0;
    let interval = if half < 0.05 { String::new() } else { format!(" ±{half:.1}%") };
    let all: f64 = it.reads.iter().map(|read| read.share * read.count.requests).sum();
    [
        number.to_owned(),
        shape(&it.chunks),
        it.shards.as_deref().map_or_else(|| "-".to_owned(), shape),
        it.codecs.iter().map(|codec| codec_label(codec)).collect::<Vec<_>>().join("+"),
        format!("{}{interval}", human::size(it.stored_bytes)),
        human::count(it.objects),
        time(it.seconds),
        format!("{all:.1}"),
        human::size(it.decode_speed as u64),
        price(it.read_price * 1e6),
        price(it.write_price),
        it.readers.iter().map(|reader| reader.name()).collect::<Vec<_>>().join(" "),
    ]
}

/// A price in dollars.
fn price(dollars: f64) -> String {
    match dollars {
        0.0 => "0".to_owned(),
        dollars if dollars < 0.01 => format!("{dollars:.1e}"),
        dollars => format!("{dollars:.2}"),
    }
}

/// `1×720×1440`.
fn shape(lengths: &[u64]) -> String {
    if lengths.is_empty() {
        return "()".to_owned();
    }
    lengths.iter().map(u64::to_string).collect::<Vec<_>>().join("×")
}

/// A codec in a table: its name and its level.
fn codec_label(text: &str) -> String {
    let (name, rest) = match text.strip_prefix('{') {
        None => text.split_once(' ').unwrap_or((text, "")),
        Some(_) => ("", text),
    };
    let Ok(json) = Json::parse(rest.as_bytes()) else { return name.to_owned() };
    let configuration = json.get("configuration").unwrap_or(&json);
    let name = json.get("name").and_then(Json::as_str).unwrap_or(name);
    let name = name.strip_prefix("numcodecs.").unwrap_or(name);
    let word = |member: &str| configuration.get(member).and_then(Json::as_str);
    let inner = [word("cname"), word("shuffle")].into_iter().flatten();
    let name = [name].into_iter().chain(inner).collect::<Vec<_>>().join("-");
    let level =
        ["level", "clevel", "keepbits"].into_iter().find_map(|member| configuration.get(member));
    match level {
        Some(level) => format!("{name}:{}", level.brief()),
        None => name,
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 0.9995 => format!("{:.1} ms", s * 1e3),
        s if s < 100.0 => format!("{s:.2} s"),
        s => format!("{s:.0} s"),
    }
}

fn requests(count: f64) -> String {
    if count == 1.0 { "1 request".to_owned() } else { format!("{count:.1} requests") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_are_named_in_short() {
        for (text, label) in [
            ("zstd:3", "zstd:3"),
            (r#"zstd {"level":3,"checksum":false}"#, "zstd:3"),
            (r#"bytes {"endian":"little"}"#, "bytes"),
            (r#"blosc {"cname":"lz4","clevel":5,"shuffle":"shuffle"}"#, "blosc-lz4-shuffle:5"),
            (r#"{"name":"numcodecs.bitround","configuration":{"keepbits":7}}"#, "bitround:7"),
            ("crc32c", "crc32c"),
        ] {
            assert_eq!(codec_label(text), label);
        }
    }

    #[test]
    fn times_are_short() {
        assert_eq!(time(0.000_25), "250 µs");
        assert_eq!(time(0.0125), "12.5 ms");
        assert_eq!(time(1.234), "1.23 s");
        assert_eq!(time(250.0), "250 s");
    }
}
