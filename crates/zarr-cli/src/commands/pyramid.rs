//! `zarr pyramid`: adds the levels of lower resolution to images and maps.

use std::io::{self, Write};

use clap::Args;
use zarr::tools::{
    PyramidConvention, PyramidMethod, PyramidOptions, PyramidPlan, PyramidProgress,
    PyramidRounding, plan_pyramid,
};
use zarr::{Array, CancelToken, ErrorKind, Group, Json, Node, Object};

use super::Out;
use super::copy::{part, stop_on_signal};
use crate::failure::Failure;
use crate::human;
use crate::interrupt::STOPPED;
use crate::parse::{self, Shape};
use crate::progress::Progress;
use crate::session::{Session, Target, WriteOptions};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr pyramid cells.ome.zarr --dry-run
  zarr pyramid cells.ome.zarr
  zarr pyramid cells.ome.zarr --method max --levels 5
  zarr pyramid brain.ome.zarr --factor z=2,y=2,x=2 --chunks 1,64,64,64
  zarr pyramid big.ome.zarr --memory 1GiB     after a kill: the same with --resume
  zarr pyramid big.ome.zarr --part 3/8     one of 8 jobs; after all: --finish
  zarr pyramid plate.zarr/A/1/0
  zarr pyramid era5.zarr --convention geo     all variables on its map",
    after_long_help = crate::details("\
TARGET is an OME-Zarr image, 0.4 or 0.5. Each level has half the length of the one before along y and x, and along z once elements
are as far from each other along y and x as along z, until the image is one chunk. Existing levels stay as they are, and
so do all other attributes. The scale of a level is exactly that of the base times the
factor, and its translation is the middle of a block.

The base is read once, and no level is read back. The result is the same, bit for bit, whatever --threads, --memory and --part
are. All chunks are written before the first document, and the image's own document last: if the command is killed, the image does
not list the new levels, and --resume continues. Labels get as many levels as the image, by mode or nearest.

Means are those of elements of the base, not of an intermediate level, and are rounded once, half to even. NaN and elements equal to
the array's attributes _FillValue or missing_value are ignored. For an even number of elements, the median is the smaller of the two
in the middle; if several elements are equally frequent, the mode is the smallest.

With --convention geo, TARGET is a group of variables with dimensions along y and x, or one whose child 0 is such a group. All
variables get the same levels, listed by GeoZarr's conventions (multiscales, spatial and proj 0.1). Each level is a group with the
same arrays: coordinates are means, flags and bools use the mode, and arrays without y and x are copied. Variables that cannot have
levels are named and skipped."))]
pub(crate) struct Pyramid {
    #[command(flatten)]
    target: Target,
    /// Convention of the list of levels: ome (OME-Zarr) or geo (GeoZarr)
    ///
    /// The default is geo if the group already lists levels so, otherwise ome
    #[arg(long, value_name = "CONVENTION", value_parser = str::parse::<PyramidConvention>)]
    convention: Option<PyramidConvention>,
    /// How a block is combined: mean, gaussian, median, mode, nearest, min or max [default: mean]
    ///
    /// The default for bools is mode; nearest takes the first element of each block
    #[arg(long, value_name = "METHOD", value_parser = str::parse::<PyramidMethod>)]
    method: Option<PyramidMethod>,
    /// How many elements become one from level to level, as in 2 or z=2,y=2,x=2
    ///
    /// The default is 2 along y and x, and along z once y and x have reached its spacing
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    factor: Option<Factor>,
    /// How many levels the image is to have, base included [default: until one is a single chunk]
    #[arg(long, value_name = "N", value_parser = levels)]
    levels: Option<usize>,
    /// Chunks of new levels [default: those of the base, if at most 16 MiB]
    #[arg(long, value_name = "SHAPE", value_parser = parse::shape)]
    chunks: Option<Shape>,
    /// The shards of new levels (v3), or none [default: those of the base]
    #[arg(long, value_name = "SHAPE", value_parser = shards)]
    shards: Option<Shape>,
    /// How means of integers are rounded: half-even, half-away (from zero) or toward-zero
    #[arg(long, value_name = "HOW", value_parser = str::parse::<PyramidRounding>, default_value = "half-even")]
    rounding: PyramidRounding,
    /// Make a block NaN if it contains a NaN, instead of ignoring the NaN
    #[arg(long)]
    keep_nan: bool,
    /// Make a mean missing if less than this share of its block is valid, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = parse::number)]
    min_valid: f64,
    /// Leave out the image's labels
    #[arg(long)]
    no_labels: bool,
    /// How much memory may be used, as in 256MiB [default: a quarter of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    memory: Option<u64>,
    /// Continue an unfinished pyramid, if there is one, with its original options
    #[arg(long)]
    resume: bool,
    /// Erase what an unfinished pyramid has written, and start over
    #[arg(long, conflicts_with_all = ["resume", "part", "finish"])]
    restart: bool,
    /// Make one of N parts, I from 1 to N; other processes make the others, at any time
    #[arg(long, value_name = "I/N", value_parser = part, conflicts_with = "finish")]
    part: Option<(u64, u64)>,
    /// Make the levels that span parts, and write the documents
    #[arg(long)]
    finish: bool,
    /// Only print which levels would be made
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    care: WriteOptions,
}

/// How many elements become one.
#[derive(Clone, Debug)]
enum Factor {
    All(u64),
    InOrder(Vec<u64>),
    ByAxis(Vec<(String, u64)>),
}

fn levels(text: &str) -> Result<usize, String> {
    text.trim().parse().map_err(|_| {
        "expected the number of levels including the base, as in 4; without --levels, all are made until one is a single chunk"
            .to_owned()
    })
}

/// `2`, `1,2,2`, or `z=1,y=2,x=2`.
fn factor(text: &str) -> Result<Factor, String> {
    let why = || {
        "expected a number, as in 2, or one for each axis, as in z=1,y=2,x=2 or 1,2,2".to_owned()
    };
    if !text.contains('=') {
        let numbers = text.split(',').map(|number| number.trim().parse().ok());
        return match numbers.collect::<Option<Vec<u64>>>().as_deref() {
            Some([factor]) => Ok(Factor::All(*factor)),
            Some(factors) => Ok(Factor::InOrder(factors.to_vec())),
            None => Err(why()),
        };
    }
    let axes = text.split(',').map(|axis| {
        let (name, factor) = axis.split_once('=')?;
        Some((name.trim().to_owned(), factor.trim().parse().ok()?))
    });
    axes.collect::<Option<Vec<_>>>().map(Factor::ByAxis).ok_or_else(why)
}

/// The factors of an image's axes, which are given in the order of the axes.
fn by_axis(group: &Group, factors: Vec<u64>) -> Result<Vec<(String, u64)>, Failure> {
    let attributes = group.attributes();
    let inner = attributes.get("ome").and_then(Json::as_object).unwrap_or(attributes);
    let image = inner.get("multiscales").and_then(Json::as_array).unwrap_or_default().first();
    let axes = image.and_then(|image| image.as_object()?.get("axes")?.as_array());
    let names = axes
        .unwrap_or_default()
        .iter()
        .map(|axis| axis.as_object()?.get("name")?.as_str().map(str::to_owned));
    let names: Vec<String> = names.collect::<Option<_>>().unwrap_or_default();
    if names.len() != factors.len() {
        let place = human::place(group.hierarchy(), group.path());
        let (given, shown) = (factors.len(), names.join(", "));
        return Err(Failure::Usage(if names.is_empty() {
            format!(
                "{place}: its axes have no names in an order; name them, as in --factor y=2,x=2"
            )
        } else {
            format!("{place}: --factor has {given} numbers, but the image has the axes {shown}")
        }));
    }
    Ok(names.into_iter().zip(factors).collect())
}

/// A shape, or `none`.
fn shards(text: &str) -> Result<Shape, String> {
    if text == "none" { Ok(Shape(Vec::new())) } else { parse::shape(text) }
}

impl Pyramid {
    /// A pyramid that was begun goes on by the options with which it was begun: another method would be passed over.
    fn refuse_other_method(&self, group: &Group, plan: &PyramidPlan) -> Result<(), Failure> {
        let levels = plan.levels();
        let (Some(asked), Some(first)) = (self.method, levels.first()) else { return Ok(()) };
        if levels.iter().any(|level| level.method == asked) {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "{}: the pyramid under way is made by the method `{}`, not `{}`; continue without --method, or start over with --restart",
            human::place(group.hierarchy(), group.path()),
            first.method.name(),
            asked.name()
        )))
    }

    /// That TARGET is an array, and which group is meant.
    fn array_given(&self, session: &Session, array: &Array) -> String {
        let place = human::place(array.hierarchy(), array.path());
        let what = "this is an array; give the group of its image or, for a map, of its dataset";
        let options = session.options().ok();
        let in_above = options.and_then(|options| {
            zarr::tools::hierarchy_above(&array.hierarchy().store().name(), &options)
        });
        let group = match (array.path().parent(), in_above) {
            (Some(_), _) if self.target.path != "/" => Some(self.target.target.clone()),
            (Some(_), _) | (None, Some(_)) => {
                let target = self.target.target.trim_end_matches('/');
                target.rsplit_once('/').map(|(group, _)| group.to_owned())
            }
            (None, None) => None,
        };
        match group {
            Some(group) => format!("{place}: {what}: `zarr pyramid {group}`"),
            None => {
                let target = &self.target.target;
                format!(
                    "{place}: {what}; copy it into a group first: `zarr copy {target} NEW.ome.zarr/0`"
                )
            }
        }
    }

    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let node = if self.dry_run {
            session.open(&self.target)?
        } else {
            session.open_rw(&self.target, &self.care)?
        };
        let group = match node {
            Node::Group(group) => group,
            Node::Array(array) => {
                return Err(Failure::Usage(self.array_given(session, &array)));
            }
        };
        let bar = Progress::of_bytes(0, false);
        let cancel = CancelToken::new();
        let (factor, factors) = match self.factor.clone() {
            Some(Factor::All(factor)) => (Some(factor), Vec::new()),
            Some(Factor::ByAxis(factors)) => (None, factors),
            Some(Factor::InOrder(factors)) => (None, by_axis(&group, factors)?),
            None => (None, Vec::new()),
        };
        let options = PyramidOptions {
            convention: self.convention,
            method: self.method,
            factor,
            factors,
            levels: self.levels,
            chunks: self.chunks.clone().map(|Shape(chunks)| chunks),
            shards: self.shards.clone().map(|Shape(shards)| shards),
            rounding: self.rounding,
            keep_nan: self.keep_nan,
            min_valid: self.min_valid,
            memory: self.memory,
            parts: self.part.map(|(_, parts)| parts),
            resume: self.resume || self.finish,
            restart: self.restart,
            no_labels: self.no_labels,
            cancel: Some(cancel.clone()),
            progress: Some(&|progress: &PyramidProgress| {
                bar.at(progress.bytes_done, progress.bytes_total, progress.path.as_ref());
            }),
        };
        let plan = plan_pyramid(&group, &options)?;
        self.refuse_other_method(&group, &plan)?;
        session.warn(group.hierarchy());
        session.tell_notes(plan.notes());
        if self.dry_run {
            return tell(session, &plan, out);
        }
        stop_on_signal(cancel);
        let made = match self.part {
            Some((part, _)) => plan.run_part(part - 1, &options),
            None if self.finish => plan.finish(&options),
            None => plan.run(&options),
        };
        drop(bar);
        made.map_err(stopped)?;
        let levels = plan.levels().len() as u64;
        if let Some((part, parts)) = self.part {
            session.talk(&format!("part {part}/{parts} is done"));
        } else if levels == 0 {
            session.talk("nothing to do: the image has all its levels; `--levels N` asks for more");
        } else {
            session.talk(&format!("made {}", human::plural(levels, "level")));
        }
        Ok(())
    }
}

/// Says which levels would be made.
fn tell(session: &Session, plan: &PyramidPlan, out: Out<'_>) -> Result<(), Failure> {
    let levels = plan.levels();
    if session.is_json() {
        let levels = levels.iter().map(|level| {
            let shards = level.shards.as_ref().map_or(Json::Null, |shards| Json::from(&shards[..]));
            let object = Object::new()
                .with("path", level.path.as_str())
                .with("shape", &level.shape[..])
                .with("chunks", &level.chunks[..])
                .with("shards", shards)
                .with("factors", &level.factors[..])
                .with("method", level.method.name());
            Json::from(object)
        });
        let levels: Json = levels.collect();
        writeln!(out, "{}", Json::from(Object::new().with("levels", levels)))?;
        return Ok(());
    }
    for level in &levels {
        let shards = match &level.shards {
            Some(shards) => format!(", shards {}", human::shape(shards)),
            None => String::new(),
        };
        writeln!(
            out,
            "{}  {}, chunks {}{shards}, {} of {}",
            level.path,
            human::shape(&level.shape),
            human::shape(&level.chunks),
            level.method.name(),
            human::shape(&level.factors),
        )?;
    }
    if levels.is_empty() {
        writeln!(out, "nothing to do: the image has all its levels; `--levels N` asks for more")?;
    }
    Ok(())
}

/// The failure of a pyramid; one that was stopped says how it goes on.
fn stopped(error: zarr::Error) -> Failure {
    if error.kind() != ErrorKind::Cancelled {
        return error.into();
    }
    let _ = writeln!(io::stderr(), "stopped; continue with --resume");
    Failure::AlreadyReported(STOPPED)
}
