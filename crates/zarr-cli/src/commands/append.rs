//! Makes an array longer and writes elements there.

use std::io::{self, Cursor, Read};

use clap::Args;
use zarr::{AccessError, Array, DataType, Json};

#[cfg(feature = "plot")]
use super::append_dataset;
use super::put::{self, Format};
use super::resize;
use crate::element;
use crate::failure::Failure;
use crate::human;
use crate::interrupt;
use crate::nested;
use crate::npy::{self, Header, Trouble};
use crate::region::Elements;
use crate::session::{Session, Target, WriteOptions};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr append data.zarr --path temperature --axis 0 --format npy < rows.npy
  echo '[[1,2,3,4,5]]' | zarr append data.zarr/table --axis 0
  zarr get data.zarr/temperature --region 0:10,: --format raw \\
      | zarr append data.zarr/temperature --axis 0 --format raw
  zarr append model.zarr more.zarr --axis time",
    after_long_help = crate::details("\
If SRC is a group, it is a dataset: each array with the dimension --axis grows by the array of that name in SRC, as with xarray's
`append_dim`; times are converted to the units of TARGET, packed numbers to its scale. A coordinate must continue TARGET's in the
same direction, unless you add --allow-overlap. Arrays without the dimension must be equal. Elements are first written beyond the
old ends, and the coordinate of the dimension gets its new length last. If the command is killed, arrays can have different
lengths: run the same command again, which completes it. In the meantime, other programs may write to the old elements, except
those of the coordinate, but must not append or resize; on a local disk, a second append of a dataset waits for the first.

Formats are those of `zarr put`. The input determines how far the array grows; along all other axes, it has the array's
lengths. Space is reserved first, so that programs that append at the same time each get their own rows. If the input is
invalid, the array gets its old shape back, unless others have appended since. Only NumPy files are streamed; input
in other formats is held in memory. If a dimension of the same name in the same group has another length afterwards, the command
names the arrays."))]
pub(crate) struct Append {
    #[command(flatten)]
    target: Target,
    /// Number of the axis, from 0, or from the end if negative; or its name
    #[arg(long, value_name = "N|NAME", default_value = "0", allow_negative_numbers = true)]
    axis: String,
    /// Format of standard input
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    format: Format,
    /// Append the dataset at SRC to the dataset at TARGET; SRC may also follow TARGET
    #[cfg(feature = "plot")]
    #[arg(long, value_name = "SRC", conflicts_with = "format")]
    from: Option<String>,
    /// With a dataset as SRC: append it even if its coordinate begins before the end of TARGET's
    #[cfg(feature = "plot")]
    #[arg(long, conflicts_with = "format")]
    allow_overlap: bool,
    #[command(flatten)]
    care: WriteOptions,
}

impl Append {
    pub fn run(&self, session: &Session) -> Result<(), Failure> {
        #[cfg(feature = "plot")]
        {
            let word = Some(self.target.path.as_str()).filter(|path| *path != "/");
            if let Some(source) = &self.from {
                return self.append_dataset(session, &self.target, source);
            }
            if let Some(word) = word
                && append_dataset::is_source(session, &self.target, word)
            {
                let target = Target::new(&self.target.target, "/");
                return self.append_dataset(session, &target, word);
            }
            if let Some(word) = word
                && append_dataset::is_other_array(session, &self.target, word)
            {
                let (target, axis) = (&self.target.target, &self.axis);
                return Err(Failure::Usage(format!(
                    "{word} is an array, not a dataset; append it with `zarr get {word} --format npy | zarr append {target} --axis {axis} --format npy`"
                )));
            }
        }
        let node = session.open_rw(&self.target, &self.care)?;
        if node.as_group().is_some() {
            let target = &self.target.target;
            return Err(Failure::Usage(format!(
                "{} is a group: name the array to append to, as in `zarr append {target} --path ARRAY --axis 0`, or the dataset to append, as \
                 in `zarr append {target} MORE.zarr --axis time`",
                human::place(node.hierarchy(), node.path())
            )));
        }
        let array = node.into_array()?;
        let place = human::place(array.hierarchy(), array.path());
        let axis = self.axis(&array).map_err(|why| Failure::Usage(format!("{place}: {why}")))?;
        let mut stdin = io::stdin().lock();
        let (count, mut input) =
            measured(&array, axis, self.format, &mut stdin).map_err(|trouble| match trouble {
                Trouble::Format(why) => {
                    let why = why.strip_prefix("it ").unwrap_or(&why);
                    Failure::Usage(format!("{place}: standard input {why}"))
                }
                Trouble::Io(e) => Failure::input(e),
            })?;
        if count == 0 {
            return Ok(());
        }
        let whole = session.in_its_hierarchy(&self.target, &array, &session.options()?)?;
        resize::refuse_fixed(session, &whole, &[axis])?;
        let left = "the array may already be longer (see `zarr info`), and elements that were not stored read as the fill \
                    value; `zarr resize` restores the old shape";
        interrupt::leaves(session, left);
        let old = array.reshape(|old: &[u64]| {
            let mut shape = old.to_vec();
            shape[axis] = old[axis].checked_add(count).ok_or_else(|| {
                AccessError::Argument(format!("axis {axis} would be too long to count"))
            })?;
            Ok(shape)
        })?;
        let mut grown = old.clone();
        grown[axis] += count;
        let added = Elements::slab(&grown, axis, old[axis]);
        if let Err(failure) = put::write(&array, &added, self.format, (put::STDIN, &mut *input)) {
            if resize::change(&array, &grown, &old).is_err() {
                let (start, end) = (old[axis], grown[axis]);
                session.warn_of(&[zarr::Warning {
                    place,
                    what: format!(
                        "axis {axis} keeps the new part {start}:{end}, because another program has changed the shape since; \
                         elements that were not stored there read as the fill value"
                    ),
                }]);
            }
            return Err(failure);
        }
        resize::publish_lengths(session, &self.target, &array, &self.care)?;
        session.warn(array.hierarchy());
        resize::tell_others(session, &whole, &grown, &[axis], resize::CHANGE_OTHERS);
        let (from, to) = (human::shape(&old), human::shape(&grown));
        session.talk(&format!("{place}: {from} became {to}"));
        Ok(())
    }

    #[cfg(feature = "plot")]
    fn append_dataset(
        &self,
        session: &Session,
        target: &Target,
        source: &str,
    ) -> Result<(), Failure> {
        let order = if self.allow_overlap {
            append_dataset::Order::Any
        } else {
            append_dataset::Order::MustContinue
        };
        append_dataset::append(session, target, source, &self.axis, order, &self.care)
    }

    fn axis(&self, array: &Array) -> Result<usize, String> {
        let metadata = array.metadata();
        let rank = metadata.shape.len();
        if let Ok(axis) = self.axis.parse::<i64>() {
            let from_end = usize::try_from(axis.unsigned_abs()).ok().filter(|_| axis < 0);
            let axis = match from_end {
                Some(back) => rank.checked_sub(back),
                None => usize::try_from(axis).ok(),
            };
            return axis.filter(|&axis| axis < rank).ok_or_else(|| {
                let axes = if rank == 1 { "axis" } else { "axes" };
                format!("there is no axis {}; the array has {rank} {axes}", self.axis)
            });
        }
        let names: Vec<&str> = metadata
            .dimension_names
            .iter()
            .flatten()
            .map(|name| name.as_deref().unwrap_or_default())
            .collect();
        names.iter().position(|name| *name == self.axis).ok_or_else(|| {
            let near = zarr::did_you_mean(
                &self.axis,
                names.iter().copied().filter(|name| !name.is_empty()),
            );
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            let known = names.iter().copied().filter(|name| !name.is_empty());
            let known = match known.collect::<Vec<_>>().join(", ") {
                known if known.is_empty() => {
                    format!("its axes have no names; give 0 to {}", rank.saturating_sub(1))
                }
                known => format!("axes: {known}"),
            };
            format!("there is no axis `{}`; {known}{near}", self.axis)
        })
    }
}

/// How much longer the array gets by the input, and the input, whole.
fn measured<'a>(
    array: &Array,
    axis: usize,
    format: Format,
    input: &'a mut dyn Read,
) -> Result<(u64, Box<dyn Read + 'a>), Trouble> {
    let shape = array.shape();
    if format == Format::Npy {
        let header = Header::read(input)?;
        let count = match header.shape.len() {
            rank if rank == shape.len() => header.shape[axis],
            // One slice, without its axis.
            rank if rank + 1 == shape.len() => 1,
            _ => {
                let (found, shape) = (human::shape(&header.shape), human::shape(&shape));
                return Err(Trouble::Format(format!(
                    "has the shape {found}, the array in TARGET {shape}"
                )));
            }
        };
        return Ok((count, Box::new(Cursor::new(header.to_bytes()).chain(input))));
    }
    let others = shape.iter().enumerate().filter(|(other, _)| *other != axis);
    let others: Vec<u64> = others.map(|(_, &len)| len).collect();
    let slice = match zarr::region::element_count(&others) {
        Some(0) => return Err(uncounted("the array has another axis of length 0")),
        Some(slice) => slice,
        None => {
            let why = "along the other axes the array has more elements than 64 bits count";
            return Err(uncounted(why));
        }
    };
    let mut text = Vec::new();
    input.read_to_end(&mut text).map_err(Trouble::Io)?;
    if format != Format::Raw && text.starts_with(npy::MAGIC) {
        return Err(Trouble::Format("is a NumPy file; pass `--format npy`".into()));
    }
    let found = match (format, array.data_type().resolved()) {
        (Format::Raw, Some(kind)) if kind.is_variable() => {
            return Err(Trouble::Format(
                "cannot be counted: elements of variable length; use --format json".into(),
            ));
        }
        (Format::Raw, Some(kind)) => {
            (text.len() as u64).div_ceil(element::size(&kind).max(1) as u64)
        }
        (Format::Csv, kind) => {
            let lines = String::from_utf8_lossy(&text)
                .lines()
                .filter(|line| !line.trim().is_empty())
                .count() as u64;
            let is_record = matches!(kind, Some(DataType::Record(_)));
            let columns = if shape.len() > 1 { shape[shape.len() - 1] } else { 1 };
            // Appended columns are as many as a line has.
            if axis + 1 == shape.len() && axis > 0 {
                let first = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
                (first.iter().filter(|&&byte| byte == b',').count() as u64 + 1) * lines
            } else {
                lines.saturating_sub(u64::from(is_record)).saturating_mul(columns)
            }
        }
        _ => {
            let (json, _) = Json::parse_tolerant(&text)
                .map_err(|why| Trouble::Format(nested::no_json(&text, &why)))?;
            let nested = shape.len() > 1 && matches!(json.as_array(), Some([Json::Array(_), ..]));
            let mut list = &json;
            for _ in 0..if nested { axis } else { 0 } {
                list = list.as_array().and_then(|list| list.first()).unwrap_or(&Json::Null);
            }
            let len = list.as_array().map_or(1, <[Json]>::len) as u64;
            if nested { len.saturating_mul(slice) } else { len }
        }
    };
    Ok((found.div_ceil(slice), Box::new(Cursor::new(text))))
}

/// The error of an input of which the elements cannot be counted.
fn uncounted(why: &str) -> Trouble {
    Trouble::Format(format!("cannot be counted: {why}"))
}
