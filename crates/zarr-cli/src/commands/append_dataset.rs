//! Makes a dataset longer by another one along a dimension: all its variables at once.
//!
//! Elements are written beyond the arrays' ends first, where no reader looks. Then each array gets its new shape, the coordinate of the
//! dimension last: its length says how long the dataset is, so that the same command repairs what a kill left between two documents.
//!
//! A stored chunk at the old end may have elements of both, and another writer may change the old ones. Only a write within the array's
//! shape is guarded against that, so the new elements there follow when the array has its new shape. The coordinate's are written ahead
//! all the same: a dataset must not be longer than its coordinate has values.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::ops::Range;

use zarr::data_type::{DataType, Rounding, Scalar, ScalarValue};
use zarr::{Array, ArrayMetadata, Guard, Json, Node, Object, Region, Selection};
use zarr_plot::meaning::{Calendar, Meaning, Missing, MissingRule};

use super::{rename, resize};
use crate::digits::Digits;
use crate::failure::Failure;
use crate::human;
use crate::interrupt;
use crate::progress::Progress;
use crate::region::PIECE;
use crate::session::{self, Session, Target, WriteOptions};

/// The arrays of a dataset by their paths in it.
type Arrays = BTreeMap<String, Array>;

/// Whether the coordinate of the dimension may go back where the new elements begin.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Order {
    MustContinue,
    Any,
}

/// What becomes of one array.
struct Growth {
    from: Array,
    to: Array,
    axis: usize,
    /// Where the new elements begin.
    start: u64,
    count: u64,
    /// How elements become those of `to`, if they are stored otherwise.
    conversion: Option<Conversion>,
}

impl Growth {
    /// Elements of the other dataset, as they are stored in this one.
    fn read(&self, selection: impl Into<Selection>) -> Result<Vec<u8>, Failure> {
        let elements = self.from.read_bytes(selection)?;
        match &self.conversion {
            None => Ok(elements),
            Some(conversion) => conversion.apply(&elements).map_err(|why| {
                let place = human::place(self.from.hierarchy(), self.from.path());
                Failure::Usage(format!("{place}: {why}"))
            }),
        }
    }

    /// Converts all elements once, so that nothing is written if one of them cannot be, and warns of numbers that are stored rounded.
    fn check(&self, session: &Session) -> Result<(), Failure> {
        let Some(conversion) = &self.conversion else { return Ok(()) };
        let mut rounded = Rounded::default();
        for piece in self.from.pieces(.., PIECE)? {
            let before = self.from.read_bytes(&piece.selection)?;
            let after = self.read(&piece.selection)?;
            rounded.add(conversion, &before, &after);
        }
        if rounded.count > 0 {
            session.warn_about(&self.to, &[rounded.shown(conversion)]);
        }
        Ok(())
    }

    /// Whether the array is the coordinate of the dimension of this name.
    fn is_coordinate(&self, name: &str) -> bool {
        self.to.path().name() == Some(name)
    }
    /// Where the first stored chunk begins that has new elements alone, or the new end.
    fn border(&self) -> u64 {
        let end = self.start + self.count;
        let stored = self.to.shard_shape().or_else(|| self.to.chunk_shape());
        match stored.map(|shape| shape[self.axis]) {
            Some(len) if len > 0 => self.start.next_multiple_of(len).min(end),
            // Chunks of different lengths.
            _ => end,
        }
    }

    fn new_shape(&self) -> Vec<u64> {
        let mut shape = self.to.shape();
        shape[self.axis] = self.start + self.count;
        shape
    }
}

/// Appends the dataset at `source` to that at `target` along the dimension `name`.
pub(super) fn append(
    session: &Session,
    target: &Target,
    source: &str,
    name: &str,
    order: Order,
    care: &WriteOptions,
) -> Result<(), Failure> {
    let from = session.open_whole(&Target::new(source, "/"))?;
    let mut to = session.open_rw_keeping(target, care)?;
    let turn = if care.no_lock { None } else { rename::turn(to.hierarchy())? };
    if turn.is_some() {
        // What was read of it may be from before another program's append.
        to = session.open_rw_keeping(target, care)?;
    }
    let place = human::place(to.hierarchy(), to.path());
    let refuse = |why: String| Failure::Usage(format!("{place}: {why}"));
    refuse_other_image(&from, &to, name).map_err(refuse)?;
    let (sources, targets) = (arrays(&from)?, arrays(&to)?);
    let (new, old) = (paths_along(&sources, name), paths_along(&targets, name));
    if old.is_empty() {
        let known = targets.values().flat_map(|array| names_of(array).into_iter().flatten());
        let known: BTreeSet<String> = known.collect();
        let near = zarr::did_you_mean(name, known.iter().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        let known: Vec<String> = known.into_iter().collect();
        if name.parse::<i64>().is_ok() && !known.is_empty() {
            return Err(refuse(format!(
                "a dataset is appended along a dimension; name it, as in `--axis {}`; dimensions: {}",
                if known.iter().any(|it| it == "time") { "time" } else { &known[0] },
                known.join(", ")
            )));
        }
        if known.is_empty() {
            return Err(refuse(
                "no array has dimension names; append to one array, as in `zarr append DST ARRAY --axis 0`"
                    .into(),
            ));
        }
        return Err(refuse(format!(
            "no array has the dimension `{name}`; the dimensions are {}{near}",
            known.join(", ")
        )));
    }
    if let Some(path) = new.iter().find(|path| !targets.contains_key(*path)) {
        return Err(refuse(format!(
            "{path} of {source} is missing in TARGET, which could not say what its elements before are; leave it out of SRC (`zarr copy \
             {source} PART --select ...` copies the others), or create it in TARGET first, as long as TARGET is along `{name}`"
        )));
    }
    if let Some(path) = old.iter().find(|path| !new.contains(path)) {
        return Err(refuse(format!(
            "{path} has the dimension `{name}`, and {source} has no such array"
        )));
    }
    let count =
        length(&sources, &new, name).map_err(|why| Failure::Usage(format!("{source}: {why}")))?;
    let start = start(&targets, &old, name, count).map_err(refuse)?;
    let mut growths = Vec::new();
    for path in &new {
        let (from, to) = (sources[path].clone(), targets[path].clone());
        growths.push(
            growth((from, &sources), (to, &targets), name, start..start + count)
                .map_err(|why| refuse(format!("{path}: {why}")))?,
        );
    }
    for growth in &growths {
        let whole = session.in_its_hierarchy(target, &growth.to, &session.options()?)?;
        resize::refuse_fixed(session, &whole, &[growth.axis])?;
    }
    for (path, array) in &sources {
        if new.contains(path) {
            continue;
        }
        let Some(there) = targets.get(path) else {
            let why = format!(
                "it is not appended: TARGET has no such array, and it has no dimension `{name}`; `zarr copy` copies it"
            );
            session.warn_about(array, &[why]);
            continue;
        };
        let meanings = (meaning(array, &sources), meaning(there, &targets));
        let conversion = conversion((array, meanings.0), (there, meanings.1));
        let of_array = |why: String| refuse(format!("{path}: {why}"));
        if conversion.map_err(of_array)?.is_some() || !are_equal(array, there)? {
            return Err(refuse(format!(
                "{path} differs from that of {source}, and has no dimension `{name}` along which it could grow, so the two datasets do \
                 not continue each other; `zarr diff` shows the difference, and `zarr copy --sel` cuts SRC to the same places"
            )));
        }
    }
    if count == 0 {
        return Ok(());
    }
    refresh_copies(&to, &growths)?;
    if order == Order::MustContinue
        && let Some(coordinate) = growths.iter().find(|growth| growth.is_coordinate(name))
    {
        refuse_overlap(coordinate)?;
    }
    for growth in &growths {
        growth.check(session)?;
    }
    let command = "the dataset has its old length, or some of its arrays have the new one; run the same command again to complete it";
    interrupt::leaves(session, command);
    let bytes: u64 = growths.iter().map(added_bytes).sum();
    let progress = Progress::of_bytes(bytes, false);
    let mut done = 0;
    for growth in &growths {
        let start = if growth.is_coordinate(name) { growth.start } else { growth.border() };
        write_ahead(growth, start, &mut |bytes| {
            done += bytes;
            progress.done(done);
        })?;
    }
    drop(progress);
    to.hierarchy().flush()?;
    // The coordinate of the dimension is last.
    growths.sort_by_key(|growth| growth.is_coordinate(name));
    for growth in &growths {
        resize::change(&growth.to, &growth.to.shape(), &growth.new_shape())?;
        if !growth.is_coordinate(name) {
            write(growth, &growth.to, growth.start..growth.border(), &mut |_| {})?;
        }
    }
    if let Some(last) = growths.last() {
        resize::publish_lengths(session, target, &last.to, care)?;
    }
    session.warn(to.hierarchy());
    session.talk(&format!(
        "{place}: `{name}` is now {} long, {} more, in {}",
        start + count,
        human::count(count),
        human::plural(growths.len() as u64, "array")
    ));
    Ok(())
}

/// Refuses to append to an image of OME-Zarr what its metadata do not describe: another channel, other places, another size of pixels.
/// Frames of the same image continue it along time.
fn refuse_other_image(from: &Node, to: &Node, name: &str) -> Result<(), String> {
    let (Node::Group(from), Node::Group(to)) = (from, to) else { return Ok(()) };
    let of = |attributes: &Object| {
        let ome = attributes.get("ome").and_then(Json::as_object).unwrap_or(attributes);
        let image = ome.get("multiscales")?.as_array()?.first()?.as_object()?.clone();
        Some((image, ome.get("omero").cloned()))
    };
    let Some((image, omero)) = of(to.attributes()) else { return Ok(()) };
    let names: Vec<Option<&str>> = match image.get("axes").and_then(Json::as_array) {
        Some(axes) => {
            axes.iter().map(|axis| axis.as_str().or_else(|| axis["name"].as_str())).collect()
        }
        None => ["t", "c", "z", "y", "x"].map(Some).to_vec(),
    };
    let Some(at) = names.iter().position(|axis| *axis == Some(name)) else { return Ok(()) };
    let axis_type =
        image.get("axes").and_then(|axes| axes.as_array()?.get(at)?.get("type")?.as_str());
    if axis_type.unwrap_or(name) != "time" && name != "t" {
        return Err(format!(
            "it is an image of OME-Zarr, whose metadata describe each channel and place along `{name}`, so that only frames along time are \
             appended; append to its base, `zarr get SRC/LEVEL --format npy | zarr append TARGET/LEVEL --axis {at} --format npy`, correct the \
             metadata with `zarr attrs`, and make the other levels again"
        ));
    }
    let Some((other, other_omero)) = of(from.attributes()) else {
        return Err("it is an image of OME-Zarr, and SRC is not".into());
    };
    let places = |image: &Object| without_axis(image.get("datasets").unwrap_or(&Json::Null), at);
    for (what, is_same) in [
        ("the axes", image.get("axes") == other.get("axes")),
        ("the scales and translations of its levels", places(&image) == places(&other)),
        ("the channels (`omero`)", omero == other_omero || other_omero.is_none()),
    ] {
        if !is_same {
            return Err(format!(
                "it is an image of OME-Zarr, and {what} of SRC are others; `zarr info` shows both, and `zarr attrs` corrects what is wrong"
            ));
        }
    }
    Ok(())
}

/// Datasets of an image, without what their transformations say along one axis.
fn without_axis(json: &Json, axis: usize) -> Json {
    match json {
        Json::Array(items) => items.iter().map(|item| without_axis(item, axis)).collect(),
        Json::Object(members) => {
            let mut kept = Object::new();
            for (name, value) in members.iter() {
                let along = value.as_array().filter(|_| matches!(name, "scale" | "translation"));
                match along {
                    Some(values) => {
                        let others = values.iter().enumerate().filter(|(at, _)| *at != axis);
                        let others: Vec<Json> = others.map(|(_, value)| value.clone()).collect();
                        kept.insert(name, others);
                    }
                    None => drop(kept.insert(name, without_axis(value, axis))),
                }
            }
            kept.into()
        }
        other => other.clone(),
    }
}

/// Writes consolidated metadata again that have other lengths than the arrays: a kill left them so, between a document and its copy.
fn refresh_copies(to: &Node, growths: &[Growth]) -> Result<(), Failure> {
    let hierarchy = to.hierarchy();
    if !hierarchy.is_consolidated().unwrap_or(false) {
        return Ok(());
    }
    let stale = hierarchy.check_consolidated()?;
    if growths.iter().any(|growth| stale.contains(growth.to.path())) {
        hierarchy.consolidate()?;
    }
    Ok(())
}

/// The paths of the arrays that have a dimension.
fn paths_along(arrays: &Arrays, name: &str) -> Vec<String> {
    let along = arrays.iter().filter(|(_, array)| axis_of(array, name).is_some());
    along.map(|(path, _)| path.clone()).collect()
}

/// The arrays of a group, or of all groups in it, by their paths from it on.
fn arrays(top: &Node) -> Result<Arrays, Failure> {
    if top.as_group().is_none() {
        let place = human::place(top.hierarchy(), top.path());
        return Err(Failure::Usage(format!(
            "{place}: this is an array; a dataset is appended to the group that the array is in: `zarr append GROUP SRC --axis time` \
             extends every array that has the axis"
        )));
    }
    let nodes = top.hierarchy().nodes(top.path())?;
    let arrays = nodes.into_iter().filter_map(|node| node.into_array().ok());
    Ok(arrays.map(|array| (session::from(top.path(), array.path()), array)).collect())
}

fn names_of(array: &Array) -> Vec<Option<String>> {
    array.metadata().dimension_names.clone().unwrap_or_default()
}

/// The axis of an array that has this name.
fn axis_of(array: &Array, name: &str) -> Option<usize> {
    names_of(array).iter().position(|known| known.as_deref() == Some(name))
}

/// The one length of a dimension.
fn length(arrays: &Arrays, of: &[String], name: &str) -> Result<u64, String> {
    let mut found: Option<(u64, &String)> = None;
    for path in of {
        let array = &arrays[path];
        let Some(axis) = axis_of(array, name) else { continue };
        let len = array.shape()[axis];
        match found {
            Some((other, first)) if other != len => {
                return Err(format!("`{name}` is {other} long in {first}, but {len} in {path}"));
            }
            _ => found = Some((len, path)),
        }
    }
    Ok(found.map_or(0, |(len, _)| len))
}

/// Where the new part begins: behind the coordinate of the dimension. Others may be as long as they are to become, after a kill.
fn start(arrays: &Arrays, of: &[String], name: &str, count: u64) -> Result<u64, String> {
    let len = |path: &String| axis_of(&arrays[path], name).map(|axis| arrays[path].shape()[axis]);
    let coordinate = of.iter().find(|path| path.rsplit('/').next() == Some(name));
    let shortest = of.iter().filter_map(len).min();
    let start = coordinate.and_then(len).or(shortest).unwrap_or(0);
    let end = start.checked_add(count).ok_or("the dimension would be too long to count")?;
    for path in of {
        let found = len(path).unwrap_or(start);
        if found != start && found != end {
            return Err(format!(
                "`{name}` is {start} long, but {found} in {path}; make them equal with `zarr resize` first"
            ));
        }
    }
    Ok(start)
}

/// How an array grows, if the other one fits behind it.
fn growth(
    (from, sources): (Array, &Arrays),
    (to, targets): (Array, &Arrays),
    name: &str,
    new: Range<u64>,
) -> Result<Growth, String> {
    if names_of(&from) != names_of(&to) {
        return Err(format!(
            "expected the dimensions ({}), found ({})",
            shown_names(&to),
            shown_names(&from)
        ));
    }
    let axis = axis_of(&to, name).ok_or_else(|| format!("no dimension `{name}`"))?;
    let (found, expected) = (from.shape(), to.shape());
    let differs = (0..expected.len()).find(|&n| n != axis && found[n] != expected[n]);
    if let Some(n) = differs {
        let name = names_of(&to)[n].clone().unwrap_or_else(|| format!("axis {n}"));
        return Err(format!(
            "expected a length of {} along `{name}`, found {}",
            expected[n], found[n]
        ));
    }
    let metadata = to.metadata();
    let reach = metadata.grid.as_ref().and_then(|grid| grid.reach(axis));
    if let Some(reach) = reach.filter(|reach| *reach < new.end) {
        let chunks: Vec<String> = metadata.chunk_extent().iter().map(u64::to_string).collect();
        return Err(format!(
            "the lengths of its chunks are listed one by one, up to {reach} along `{name}`, so it cannot be longer; copy the dataset with \
             chunks of one length: `zarr copy TARGET NEW.zarr --chunks {}={}`, and append to the copy",
            to.path().name().unwrap_or("ARRAY"),
            chunks.join(",")
        ));
    }
    let meanings = (meaning(&from, sources), meaning(&to, targets));
    let conversion = conversion((&from, meanings.0), (&to, meanings.1))?;
    let (start, count) = (new.start, new.end - new.start);
    Ok(Growth { from, to, axis, start, count, conversion })
}

/// The names of an array's dimensions, with commas; `-` for one without a name.
fn shown_names(array: &Array) -> String {
    let names = names_of(array).into_iter();
    names.map(|name| name.unwrap_or_else(|| "-".into())).collect::<Vec<_>>().join(", ")
}

/// How stored numbers of one array become those of another that means the same by others.
struct Conversion {
    from: (Scalar, Meaning),
    to: (Scalar, Meaning),
    /// Whether the same stored number means the same, but that other ones are missing.
    is_same: bool,
    /// The type of the array that grows.
    data_type: String,
}

/// All elements of `times`, which is one of `arrays`, as native bytes of the type of `of_first`, in the units of that array.
pub(super) fn converted(
    times: &Array,
    arrays: &Arrays,
    of_first: &Array,
    arrays_of_first: &Arrays,
) -> zarr::Result<Vec<u8>> {
    let refused = |why: String| {
        let error = zarr::Error::from(zarr::AccessError::Argument(why));
        error.at_store(times.hierarchy().store().name()).at_path(times.path())
    };
    let meanings = (meaning(times, arrays), meaning(of_first, arrays_of_first));
    let conversion = conversion((times, meanings.0), (of_first, meanings.1)).map_err(refused)?;
    let elements = times.read_bytes(..)?;
    match conversion {
        None => Ok(elements),
        Some(conversion) => conversion.apply(&elements).map_err(refused),
    }
}

/// What an array's elements stand for. The bounds of times are times in the same units, which they need not repeat (CF 7.1).
fn meaning(array: &Array, arrays: &Arrays) -> Meaning {
    let mut meaning = Meaning::of(array, MissingRule::Declared);
    if meaning.units.is_some() {
        return meaning;
    }
    let owner = arrays.values().find(|other| {
        let attributes = other.attributes();
        let is_named = |attribute: &str| {
            attributes.get(attribute).and_then(Json::as_str) == array.path().name()
        };
        other.path().parent() == array.path().parent()
            && (is_named("bounds") || is_named("climatology"))
    });
    if let Some(owner) = owner {
        let owner = Meaning::of(owner, MissingRule::Declared);
        meaning.set_units_of(owner, &array.data_type());
    }
    meaning
}

/// `None` if stored elements mean the same.
fn conversion(
    (from, before): (&Array, Meaning),
    (to, after): (&Array, Meaning),
) -> Result<Option<Conversion>, String> {
    let types = (from.data_type(), to.data_type());
    let is_same = types.0 == types.1
        && before.affine == after.affine
        && before.unsigned == after.unsigned
        && before.time == after.time;
    if is_same && is_same_missing(&before.missing, &after.missing) {
        let units = [&before, &after].map(|meaning| meaning.units.clone().unwrap_or_default());
        if before.time.is_none() && units[0] != units[1] {
            return Err(units_differ(&after, &before));
        }
        return Ok(None);
    }
    match (before.time, after.time) {
        (Some(one), Some(other)) if have_same_dates(one.calendar, other.calendar) => {}
        (Some(one), Some(other)) => {
            let (one, other) = (one.calendar.name(), other.calendar.name());
            return Err(format!("expected the calendar `{other}`, found `{one}`"));
        }
        (None, None) if types.0 != types.1 && !(is_number(&types.0) && is_number(&types.1)) => {
            return Err(format!(
                "expected the type {}, found {}; only numbers and times are converted: write the array of SRC as {} first",
                types.1, types.0, types.1
            ));
        }
        (None, None) if before.units == after.units => {}
        _ => return Err(units_differ(&after, &before)),
    }
    let mut before = before;
    // What a range excludes is still there: only a value that is declared to stand for none becomes one.
    (before.missing.valid_min, before.missing.valid_max) = (None, None);
    let scalars = (before.scalar(&types.0), after.scalar(&types.1));
    let (Some(one), Some(other)) = scalars else {
        return Err(format!("{} cannot be converted to {}", types.0, types.1));
    };
    let data_type = types.1.to_string();
    Ok(Some(Conversion { from: (one, before), to: (other, after), is_same, data_type }))
}

/// Whether elements are integers or floats.
fn is_number(data_type: &DataType) -> bool {
    matches!(data_type.scalar(), Some(Scalar::Int(_) | Scalar::Uint(_) | Scalar::Float(_)))
}

/// Why numbers in some units do not continue those in others.
fn units_differ(expected: &Meaning, found: &Meaning) -> String {
    let shown = |meaning: &Meaning| match &meaning.units {
        Some(units) => format!("`{units}`"),
        None => "none".into(),
    };
    let set = expected.units.as_deref().unwrap_or("...");
    format!(
        "expected the units {}, found {}; if they are the same by another name, `zarr attrs SRC/ARRAY --set units='{set}'` says so, otherwise \
         convert the numbers of SRC first",
        shown(expected),
        shown(found)
    )
}

/// Whether dates of one calendar are dates of the other, but for those before [`GREGORIAN_START`].
fn have_same_dates(one: Calendar, other: Calendar) -> bool {
    let are_gregorian =
        |calendar: Calendar| matches!(calendar, Calendar::Standard | Calendar::ProlepticGregorian);
    one == other || (are_gregorian(one) && are_gregorian(other))
}

/// Year, month and day from which on the standard calendar is the Gregorian one.
const GREGORIAN_START: (i64, u8, u8) = (1582, 10, 15);

/// Whether the same stored numbers are missing. NaN is equal to itself here.
fn is_same_missing(one: &Missing, other: &Missing) -> bool {
    limits(one) == limits(other) && keys(one) == keys(other)
}

/// The least and the greatest valid value.
fn limits(missing: &Missing) -> [Option<(bool, u64)>; 2] {
    [missing.valid_min, missing.valid_max].map(|limit| limit.map(ScalarValue::key))
}

/// The values that stand for none.
fn keys(missing: &Missing) -> BTreeSet<(bool, u64)> {
    missing.values().iter().map(|value| value.key()).collect()
}

impl Conversion {
    /// Native elements as native elements.
    fn apply(&self, stored: &[u8]) -> Result<Vec<u8>, String> {
        let ((from, before), (to, after)) = (&self.from, &self.to);
        let mut out = vec![0; stored.len() / from.size() * to.size()];
        let pairs = stored.chunks_exact(from.size()).zip(out.chunks_exact_mut(to.size()));
        for (element, place) in pairs {
            let value = from.load(element);
            let number = before.decode(value);
            // NaN is no number and no date, whether or not it is declared to be missing.
            let is_nan = number.is_some_and(f64::is_nan);
            let is_missing = after.missing.contains(value);
            if self.is_same && (is_nan || is_missing == number.is_none()) {
                place.copy_from_slice(element);
                continue;
            }
            let fitting = match number {
                None => self.missing(),
                Some(_) if is_nan && !matches!(to, Scalar::Float(_)) => self.missing(),
                Some(number) if is_nan => Some(ScalarValue::Float(number)),
                Some(_) if self.is_same => Some(value),
                Some(number) => self.number(value, number)?,
            };
            let rounding = Rounding::NearestEven;
            let bits = fitting.and_then(|value| to.cast(value, rounding, None));
            let bits = bits.ok_or_else(|| match number {
                Some(number) if !number.is_nan() => format!(
                    "{} does not fit in {}, the type of the existing array; rewrite that dataset with a wider type",
                    Digits::All.of_float(number),
                    self.stored_as()
                ),
                _ => format!(
                    "an element is missing, and the array that grows declares no value for that; declare one that it does not use, as in \
                     `zarr attrs ARRAY --set _FillValue={}`",
                    an_extreme(*to)
                ),
            })?;
            to.store(bits, place);
            if let Some(number) = number
                && !is_nan
                && after.missing.contains(to.load(place))
            {
                return Err(self.would_be_missing(number, to.load(place)));
            }
        }
        Ok(out)
    }

    /// Why a number that is there is not appended as one that the target takes for missing.
    fn would_be_missing(&self, number: f64, stored: ScalarValue) -> String {
        let (before, after) = (&self.from.1, &self.to.1);
        let shown = match before.time.and_then(|time| time.date(number)) {
            Some(date) => date.to_string(),
            None => Digits::All.of_float(number),
        };
        let stored = match stored {
            ScalarValue::Integer(stored) => stored.to_string(),
            ScalarValue::Float(stored) => Digits::All.of_float(stored),
        };
        let is_value = after.missing.values().iter().any(|value| match value {
            ScalarValue::Integer(value) => value.to_string() == stored,
            ScalarValue::Float(value) => Digits::All.of_float(*value) == stored,
        });
        let meaning = if is_value { "a missing value there" } else { "out of its valid range" };
        let advice = if is_value {
            "replace it with `zarr put`, or write the dataset that grows anew with another missing value"
        } else {
            "widen `valid_range`, `valid_min` or `valid_max` there with `zarr attrs --set`"
        };
        format!(
            "the value {shown} would be missing: the dataset that grows stores it as {stored}, which is {meaning}; {advice}"
        )
    }

    /// How the array that grows stores numbers.
    fn stored_as(&self) -> String {
        let affine = &self.to.1.affine;
        let packed = if affine.is_identity() {
            ""
        } else if affine.scale == 1.0 {
            " with an `add_offset`"
        } else {
            " with a `scale_factor`"
        };
        format!("{}{packed}", self.data_type)
    }

    /// What stands for a missing element.
    fn missing(&self) -> Option<ScalarValue> {
        let (to, after) = &self.to;
        let declared = after.missing.values().first().copied();
        declared.or_else(|| matches!(to, Scalar::Float(_)).then_some(ScalarValue::Float(f64::NAN)))
    }

    /// The stored number that stands for a number, or for the date that it is.
    fn number(&self, value: ScalarValue, number: f64) -> Result<Option<ScalarValue>, String> {
        let ((_, before), (to, after)) = (&self.from, &self.to);
        let are_plain = before.affine.is_identity() && after.affine.is_identity();
        let wanted = match (before.time, after.time) {
            (Some(one), Some(other)) => {
                let date = match value {
                    ScalarValue::Integer(count) if before.affine.is_identity() => {
                        i64::try_from(count).ok().and_then(|count| one.date_of_integer(count))
                    }
                    _ => one.date(number),
                };
                let date = date.ok_or_else(|| format!("{number} is not a date"))?;
                if one.calendar != other.calendar
                    && (date.year, date.month, date.day) < GREGORIAN_START
                {
                    let (one, other) = (one.calendar.name(), other.calendar.name());
                    return Err(format!(
                        "{date} is another day in the calendar `{other}` than in `{one}`: they agree from 1582-10-15 on"
                    ));
                }
                let wanted = other.number(date).ok_or_else(|| {
                    format!("the calendar of the dataset that grows has no {date}")
                })?;
                // 64-bit floats do not hold all counts of nanoseconds.
                if are_plain
                    && !matches!(to, Scalar::Float(_))
                    && let Some(count) = other.integer(date)
                {
                    return Ok(Some(ScalarValue::Integer(count)));
                }
                let is_whole = after.affine.invert(wanted).fract() == 0.0;
                if !is_whole && !matches!(to, Scalar::Float(_)) {
                    let units = after.units.clone().unwrap_or_default();
                    return Err(format!("{date} is not an integer in `{units}`"));
                }
                wanted
            }
            // As it is, which keeps the sign of zero, too.
            _ if are_plain
                && (matches!(value, ScalarValue::Integer(_)) || matches!(to, Scalar::Float(_))) =>
            {
                return Ok(Some(value));
            }
            _ if are_plain && number.fract() != 0.0 && !matches!(to, Scalar::Float(_)) => {
                let number = Digits::All.of_float(number);
                return Err(format!("{number} is not an integer, and {} is", self.data_type));
            }
            _ => number,
        };
        let stored = after.affine.invert(wanted);
        Ok(Some(match to {
            Scalar::Float(_) => ScalarValue::Float(stored),
            _ if stored.is_finite() => ScalarValue::Integer(stored.round_ties_even() as i128),
            _ => return Ok(None),
        }))
    }
}

/// A value that rarely stands for a number, which every array of this type can store.
fn an_extreme(scalar: Scalar) -> String {
    match scalar {
        Scalar::Int(bits) => (-(1_i128 << (bits - 1))).to_string(),
        Scalar::Uint(bits) => ((1_i128 << bits) - 1).to_string(),
        _ => "NaN".to_owned(),
    }
}

/// Numbers that the type or the scale of the dataset that grows cannot hold exactly.
#[derive(Default)]
struct Rounded {
    count: u64,
    /// The largest error, in the units of the dataset that grows.
    largest: f64,
}

impl Rounded {
    /// An error of less than this part of a number is that of computing with 64-bit floats.
    const EXACT: f64 = 1e-9;

    /// Compares stored elements with what became of them.
    fn add(&mut self, conversion: &Conversion, before: &[u8], after: &[u8]) {
        if conversion.is_same {
            return;
        }
        let ((from, one), (to, other)) = (&conversion.from, &conversion.to);
        let pairs = before.chunks_exact(from.size()).zip(after.chunks_exact(to.size()));
        for (element, stored) in pairs {
            let number = one.decode(from.load(element));
            let (Some(number), Some(found)) = (number, other.decode(to.load(stored))) else {
                continue;
            };
            let error = match (one.time, other.time, from.load(element)) {
                (None, None, ScalarValue::Integer(wanted))
                    if one.affine.is_identity() && other.affine.is_identity() =>
                {
                    // 64-bit floats do not hold all integers of 64 bits.
                    let found = match to.load(stored) {
                        ScalarValue::Integer(found) => found,
                        ScalarValue::Float(found) => found as i128,
                    };
                    (wanted - found).abs() as f64
                }
                (one, other, _) => {
                    let wanted = match (one, other) {
                        (Some(one), Some(other)) => {
                            one.date(number).and_then(|date| other.number(date))
                        }
                        _ => Some(number),
                    };
                    let Some(wanted) = wanted else { continue };
                    let error = (wanted - found).abs();
                    if error > wanted.abs() * Self::EXACT { error } else { 0.0 }
                }
            };
            if error > 0.0 {
                self.count += 1;
                self.largest = self.largest.max(error);
            }
        }
    }

    fn shown(&self, conversion: &Conversion) -> String {
        let units = conversion.to.1.units.clone().unwrap_or_default();
        // Of a time the unit is what precedes `since`.
        let unit = units.split(" since ").next().unwrap_or_default().trim();
        // Two digits tell how much it is.
        let largest = format!("{:.1e}", self.largest).parse().unwrap_or(self.largest);
        let largest = Digits::Short.of_float(largest);
        let by = if unit.is_empty() { largest } else { format!("{largest} {unit}") };
        let numbers = human::plural(self.count, "number");
        let are = if self.count == 1 { "is" } else { "are" };
        let stored_as = conversion.stored_as();
        format!("{numbers} {are} rounded by up to {by}: the array that grows stores {stored_as}")
    }
}

/// A coordinate that grows must go on in its direction: the same month appended twice would otherwise go unnoticed.
fn refuse_overlap(coordinate: &Growth) -> Result<(), Failure> {
    let array = &coordinate.to;
    let meaning = Meaning::of(array, MissingRule::Declared);
    let (Some(scalar), true) = (meaning.scalar(&array.data_type()), array.shape().len() == 1)
    else {
        return Ok(());
    };
    let numbers = |elements: &[u8]| -> Vec<Option<f64>> {
        let stored = elements.chunks_exact(scalar.size());
        stored.map(|element| meaning.decode(scalar.load(element))).collect()
    };
    let end = coordinate.start;
    let old = numbers(&array.read_bytes(Region::new(iter::once(end.saturating_sub(2)..end)))?);
    let new = numbers(&coordinate.read(Region::new(iter::once(0..coordinate.count)))?);
    let (Some(Some(last)), Some(Some(first))) = (old.last(), new.first()) else { return Ok(()) };
    // The direction of the old values, else that of the new ones; a single value behind a single one may lie on either side.
    let direction = step(&old).or(step(new.get(..2).unwrap_or_default()));
    let goes_on = |before: f64, after: f64| match direction {
        Some(step) if step > 0.0 => after > before,
        Some(step) if step < 0.0 => after < before,
        // Values that repeat have no direction.
        Some(_) => true,
        None => after != before,
    };
    let mut before = *last;
    let mut turned = None;
    for value in new.iter().flatten() {
        if !goes_on(before, *value) {
            turned = Some((before, *value));
            break;
        }
        before = *value;
    }
    let Some((before, after)) = turned else { return Ok(()) };
    let shown = |number: f64| match meaning.time.and_then(|time| time.date(number)) {
        Some(date) => date.to_string(),
        None => Digits::Short.of_float(number),
    };
    let place = human::place(array.hierarchy(), array.path());
    // Where the first new value does not go on, the same part may have been appended before.
    let is_at_end = after == *first && before == *last;
    Err(Failure::Usage(if is_at_end {
        format!(
            "{place}: it ends at {}, but the new values begin at {}, so they may have been appended already; `--allow-overlap` appends \
             them anyway",
            shown(before),
            shown(after)
        )
    } else {
        format!(
            "{place}: the new values do not continue in the same direction: {} comes after {}; `--allow-overlap` appends them anyway",
            shown(after),
            shown(before)
        )
    }))
}

/// The distance of two values, none if there are not two.
fn step(values: &[Option<f64>]) -> Option<f64> {
    match values {
        [Some(one), Some(other)] => Some(other - one),
        _ => None,
    }
}

fn added_bytes(growth: &Growth) -> u64 {
    let size = growth.from.data_type().repr().map_or(1, |repr| repr.size() as u64);
    zarr::region::element_count(&growth.from.shape()).unwrap_or(0).saturating_mul(size)
}

/// Writes the new elements from `start` on behind the end of an array, whose document still has the old shape.
fn write_ahead(growth: &Growth, start: u64, done: &mut dyn FnMut(u64)) -> Result<(), Failure> {
    let (hierarchy, path) = (growth.to.hierarchy(), growth.to.path());
    let mut metadata = ArrayMetadata::clone(&growth.to.metadata());
    metadata.shape = growth.new_shape();
    // The guard looks at the document, which has the old shape.
    let longer = hierarchy.array_of_metadata(path, metadata)?;
    let longer = longer.with_options(|options| options.guard = Guard::Off);
    write(growth, &longer, start..growth.start + growth.count, done)
}

/// Writes the elements that become those of `new`, positions along the axis that grows.
fn write(
    growth: &Growth,
    to: &Array,
    new: Range<u64>,
    done: &mut dyn FnMut(u64),
) -> Result<(), Failure> {
    let all = to.shape().into_iter().enumerate();
    let region =
        Region::new(all.map(|(axis, len)| if axis == growth.axis { new.clone() } else { 0..len }));
    let skipped = new.start - growth.start;
    for piece in to.pieces(&region, PIECE)? {
        let ranges = piece.place.intervals().iter().enumerate();
        let from = Region::new(ranges.map(|(axis, range)| {
            let before = if axis == growth.axis { skipped } else { 0 };
            range.start + before..range.end + before
        }));
        let elements = growth.read(&from)?;
        to.write_bytes(&piece.selection, &elements)?;
        done(elements.len() as u64);
    }
    Ok(())
}

/// Whether two arrays have the same elements.
fn are_equal(one: &Array, other: &Array) -> Result<bool, Failure> {
    if one.shape() != other.shape() || one.data_type() != other.data_type() {
        return Ok(false);
    }
    for piece in one.pieces(.., PIECE)? {
        if one.read_bytes(&piece.selection)? != other.read_bytes(&piece.selection)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the word behind the target of `zarr append` is an array elsewhere, and no node of the target.
pub(super) fn is_other_array(session: &Session, target: &Target, word: &str) -> bool {
    session.open(&Target::new(&target.target, word)).is_err()
        && session.open(&Target::new(word, "/")).is_ok_and(|node| node.as_array().is_some())
}

/// Whether the word behind the target of `zarr append` is another dataset, and no node of the target.
pub(super) fn is_source(session: &Session, target: &Target, word: &str) -> bool {
    if session.open(&Target::new(&target.target, word)).is_ok() {
        return false;
    }
    let is_root = [".zarr", ".zip", ".ozx", ".lmdb"].iter().any(|end| word.ends_with(end));
    let opened = session.open(&Target::new(word, "/"));
    is_root || opened.is_ok_and(|node| node.as_group().is_some())
}
