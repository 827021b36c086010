//! `zarr diff`: compares two nodes with all below them.

use clap::{Args, ValueEnum};
use zarr::data_type::ScalarValue;
use zarr::tools::{Change, DiffOptions, ElementsDiff, NodeDiff, TreeProgress};
use zarr::{Json, Node, Object};

use super::Out;
use super::checksum::from_target;
use crate::failure::Failure;
use crate::human;
use crate::parse;
use crate::progress::Progress;
use crate::session::{Session, Target};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr diff old.zarr new.zarr
  zarr diff model.zarr s3://bucket/copy.zarr --path ocean --tolerance 1e-6
  zarr diff a.zarr b.zarr --ignore attributes --json
  zarr diff v2.zarr v3.zarr --layout --metadata",
    after_long_help = crate::details("\
Exit code: 0 equal, 1 different. Compares everything that `zarr checksum` covers, and files that are not Zarr's, byte for byte;
chunks, codecs and formats only with --layout. Numbers are equal if they differ by at most --tolerance, or by at most --rtol
times the larger one; integers are compared exactly. NaN equals NaN, and 0 equals -0, except with --bits. Elements of arrays of
different shapes are compared only with --common, where both arrays have elements."))]
pub(crate) struct Diff {
    /// Path or URL of the first node
    #[arg(value_name = "A")]
    first: String,
    /// Path or URL of the second node
    #[arg(value_name = "B")]
    second: String,
    /// Path of the node to compare, relative to those that A and B name
    #[arg(value_name = "PATH", conflicts_with = "path")]
    node: Option<String>,
    /// The same as PATH
    #[arg(long, value_name = "PATH", default_value = "/", hide_default_value = true)]
    path: String,
    /// Absolute tolerance for numbers
    #[arg(long, value_name = "ABS", default_value_t = 0.0, hide_default_value = true, allow_hyphen_values = true, value_parser = tolerance)]
    tolerance: f64,
    /// Relative tolerance for numbers, as a fraction of the larger one
    #[arg(long, value_name = "REL", default_value_t = 0.0, hide_default_value = true, allow_hyphen_values = true, value_parser = tolerance)]
    rtol: f64,
    /// Compare elements bit by bit
    #[arg(long, conflicts_with_all = ["tolerance", "rtol"])]
    bits: bool,
    /// What to ignore; can be repeated
    #[arg(long, value_name = "WHAT")]
    ignore: Vec<Ignored>,
    /// Also report differences in chunks, shards, codecs, fill values and formats
    #[arg(long)]
    layout: bool,
    /// Do not compare elements
    #[arg(long)]
    metadata: bool,
    /// For arrays of different shapes, compare the elements that both have
    #[arg(long)]
    common: bool,
    /// Maximum number of nodes to print, and of attributes, regions and elements for each [default: 10]
    #[arg(long, value_name = "N", default_value = "10", hide_default_value = true, value_parser = parse::whole::<usize>)]
    limit: usize,
    /// Maximum number of bytes of elements to hold at once, as in 1GiB [default: 256MiB]
    #[arg(long, value_name = "SIZE", default_value = "0", hide_default_value = true, value_parser = parse::size)]
    memory: u64,
    /// Maximum number of bytes of elements to read, stored or not, as in 50TiB [default: 16TiB]
    #[arg(long, value_name = "SIZE", default_value = "0", hide_default_value = true, value_parser = parse::size)]
    max_size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Ignored {
    /// Attributes of groups and arrays
    Attributes,
    /// The missing values of arrays
    Fill,
    /// The names of dimensions
    Dimensions,
    /// Files that are not Zarr's
    Files,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| *number >= 0.0 && number.is_finite());
    number.ok_or_else(|| "expected a number of at least 0".to_owned())
}

impl Diff {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let (first, second) = (self.open(session, &self.first)?, self.open(session, &self.second)?);
        let bar = Progress::of_bytes(0, session.is_json());
        let options = DiffOptions {
            absolute: self.tolerance,
            relative: self.rtol,
            bits: self.bits,
            ignore_attributes: self.ignore.contains(&Ignored::Attributes),
            ignore_fill: self.ignore.contains(&Ignored::Fill),
            ignore_dimensions: self.ignore.contains(&Ignored::Dimensions),
            ignore_files: self.ignore.contains(&Ignored::Files),
            layout: self.layout,
            only_metadata: self.metadata,
            common: self.common,
            places: self.limit,
            memory: self.memory,
            max_size: self.max_size,
            threads: session.threads(),
            cancel: None,
            progress: Some(&|progress: &TreeProgress| {
                bar.at(progress.bytes_done, progress.bytes_total, progress.path.as_ref());
            }),
        };
        let diff = zarr::tools::diff(&first, &second, &options);
        drop(bar);
        session.warn(first.hierarchy());
        session.warn(second.hierarchy());
        let diff = diff?;
        if session.is_json() {
            let nodes: Json = diff.nodes.iter().map(|node| self.json(node)).collect();
            let object = Object::new()
                .with("equal", diff.is_equal())
                .with("compared", diff.compared)
                .with("nodes", nodes);
            writeln!(out, "{:#}", Json::from(object).into_standard())?;
        } else {
            for node in diff.nodes.iter().take(self.limit) {
                self.print(node, out)?;
            }
            more(diff.nodes.len(), self.limit, "node", "", out)?;
        }
        match diff.nodes.len() as u64 {
            0 => Ok(()),
            1 => Err(Failure::No("1 node differs".to_owned())),
            n => Err(Failure::No(format!("{} differ", human::plural(n, "node")))),
        }
    }

    /// Opens the node that is compared, of one of the two targets.
    fn open(&self, session: &Session, target: &str) -> Result<Node, Failure> {
        let path = self.node.as_ref().unwrap_or(&self.path);
        session.open_whole(&Target::new(target, path))
    }

    fn print(&self, node: &NodeDiff, out: Out<'_>) -> Result<(), Failure> {
        writeln!(out, "{}", human::printable(&from_target(&self.path, &node.path)))?;
        for change in node.changes.iter().take(self.limit) {
            writeln!(out, "  {}", human::printable(&line(change)))?;
        }
        more(node.changes.len(), self.limit, "difference", "  ", out)?;
        let Some(elements) = &node.elements else { return Ok(()) };
        let of = human::plural(elements.compared, "element");
        let mut numbers = String::new();
        if let Some(absolute) = elements.max_absolute {
            numbers += &format!("; largest difference {absolute}");
        }
        if let Some(relative) = elements.max_relative {
            let percent = relative * 100.0;
            numbers += &if percent > 0.0 && percent < 0.0005 {
                format!("; largest relative difference {percent:.1e} %")
            } else {
                format!("; largest relative difference {percent:.3} %")
            };
        }
        writeln!(out, "  {} of {of} differ{numbers}", human::count(elements.different))?;
        for (field, count) in elements.fields.iter().take(self.limit) {
            writeln!(out, "  field {}: {}", human::printable(field), human::count(*count))?;
        }
        more(elements.fields.len(), self.limit, "field", "  ", out)?;
        for region in elements.regions.iter().take(self.limit) {
            writeln!(out, "  in {region}")?;
        }
        if elements.more_regions {
            writeln!(out, "  and in many more regions")?;
        } else {
            more(elements.regions.len(), self.limit, "region", "  ", out)?;
        }
        for place in &elements.places {
            let field = if place.field.is_empty() { "" } else { "." };
            let (index, name) = (human::shape(&place.index), &place.field);
            let text = format!("at {index}{field}{name}: {} and {}", place.first, place.second);
            writeln!(out, "  {}", human::printable(&text))?;
        }
        Ok(())
    }

    fn json(&self, node: &NodeDiff) -> Json {
        let changes: Json = node.changes.iter().map(change_json).collect();
        let mut object = Object::new()
            .with("path", from_target(&self.path, &node.path))
            .with("changes", changes);
        if let Some(elements) = &node.elements {
            object.insert("elements", elements_json(elements));
        }
        object.into()
    }
}

/// Prints how many more there are.
fn more(count: usize, limit: usize, noun: &str, indent: &str, out: Out<'_>) -> Result<(), Failure> {
    match count.saturating_sub(limit) as u64 {
        0 => Ok(()),
        n => Ok(writeln!(out, "{indent}and {}", human::plural(n, &format!("more {noun}")))?),
    }
}

fn line(change: &Change) -> String {
    match change {
        Change::OnlyInFirst(kind) => format!("only in A: {}", kind.phrase()),
        Change::OnlyInSecond(kind) => format!("only in B: {}", kind.phrase()),
        Change::Kind(a, b) => format!("{} in A, {} in B", a.phrase(), b.phrase()),
        Change::Attribute { name, first, second } => {
            format!("attribute {name}: {} and {}", value_text(first), value_text(second))
        }
        Change::Property { name, first, second } => {
            format!("{name}: {} and {}", first.brief(), second.brief())
        }
        Change::NotCompared(why) => format!("elements are not compared: {why}"),
        Change::File { name, in_first: true, in_second: true } => format!("file {name} differs"),
        Change::File { name, in_first: true, .. } => format!("only in A: the file {name}"),
        Change::File { name, .. } => format!("only in B: the file {name}"),
        Change::Unread { what, in_first: true } => format!("only in A, and not read: {what}"),
        Change::Unread { what, .. } => format!("only in B, and not read: {what}"),
        other => format!("{other:?}"),
    }
}

/// A value of an attribute, or that there is none.
fn value_text(json: &Option<Json>) -> String {
    json.as_ref().map_or("absent".to_owned(), Json::brief)
}

fn change_json(change: &Change) -> Json {
    let object = match change {
        Change::OnlyInFirst(node) => of_kind("only_in_first").with("node_type", node.name()),
        Change::OnlyInSecond(node) => of_kind("only_in_second").with("node_type", node.name()),
        Change::Kind(a, b) => of_kind("node_type").with("first", a.name()).with("second", b.name()),
        Change::Attribute { name, first, second } => {
            let mut object = of_kind("attribute").with("name", name.as_str());
            // One that is not there has no member: it may be null.
            for (member, value) in [("first", first), ("second", second)] {
                if let Some(value) = value {
                    object.insert(member, value.clone().into_standard());
                }
            }
            object
        }
        Change::Property { name, first, second } => of_kind(&name.replace(' ', "_"))
            .with("first", first.clone())
            .with("second", second.clone()),
        Change::NotCompared(why) => of_kind("not_compared").with("message", *why),
        Change::File { name, in_first, in_second } => of_kind("file")
            .with("name", name.as_str())
            .with("in_first", *in_first)
            .with("in_second", *in_second),
        Change::Unread { what, in_first } => {
            of_kind("unread").with("message", what.as_str()).with("in_first", *in_first)
        }
        other => of_kind("other").with("message", format!("{other:?}")),
    };
    object.into()
}

/// The object of a difference of this kind.
fn of_kind(kind: &str) -> Object {
    Object::new().with("kind", kind)
}

fn region_json(region: &zarr::Region) -> Json {
    region.intervals().iter().map(|range| Json::from(&[range.start, range.end][..])).collect()
}

fn place_json(place: &zarr::tools::Place) -> Json {
    let mut object = Object::new().with("index", Json::from(&place.index[..]));
    if !place.field.is_empty() {
        object.insert("field", place.field.as_str());
    }
    Json::from(object.with("first", place.first.as_str()).with("second", place.second.as_str()))
}

fn elements_json(elements: &ElementsDiff) -> Json {
    let max_absolute = match &elements.max_absolute {
        Some(ScalarValue::Integer(value)) => Json::Number(value.to_string().into()),
        Some(ScalarValue::Float(value)) => Json::from(*value),
        None => Json::Null,
    };
    let fields = elements.fields.iter().map(|(name, count)| (name.clone(), Json::from(*count)));
    let object = Object::new()
        .with("compared", elements.compared)
        .with("different", elements.different)
        .with("max_absolute", max_absolute)
        .with("max_relative", elements.max_relative.map_or(Json::Null, Json::from))
        .with("regions", elements.regions.iter().map(region_json).collect::<Json>())
        .with("more_regions", elements.more_regions)
        .with("places", elements.places.iter().map(place_json).collect::<Json>())
        .with("fields", fields.collect::<Object>());
    object.into()
}
