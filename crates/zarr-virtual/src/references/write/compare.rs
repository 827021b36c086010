//! Checks that files can be joined: all but the joined dimension is the same.

use std::collections::{BTreeMap, BTreeSet};

use zarr_core::codec::CodecSpec;
use zarr_core::data_type::{Repr, Scalar};
use zarr_core::{Array, ArrayMetadata, Json, Result};

use super::axis;
use super::input::Input;
use super::{refused, why_unreadable};

/// Attributes that say what elements mean. All elements of an array have the same.
const MEANING: [&str; 8] = [
    "units",
    "calendar",
    "scale_factor",
    "add_offset",
    "_FillValue",
    "missing_value",
    "_Unsigned",
    "enum_members",
];

/// Members of codecs that only say how well chunks were compressed.
const EFFORT: [&str; 2] = ["level", "clevel"];

/// The most bytes of an array that are compared at a time.
const MAX_COMPARED_BYTES: u64 = 64 << 20;

/// How files are compared.
pub(super) struct How<'a> {
    /// The dimension along which they are joined.
    pub dimension: Option<&'a str>,
    /// Whether elements are compared.
    pub verify: bool,
    /// The paths of arrays whose times are converted.
    pub converted: &'a BTreeSet<String>,
}

/// Checks that `other` has the arrays of `first`, the same but along the joined dimension. Arrays without that dimension have the
/// same elements, which is only checked with `verify`; those whose elements cannot be read are added to `unreadable`.
pub(super) fn check(
    first: &Input,
    other: &Input,
    how: &How<'_>,
    unreadable: &mut BTreeMap<String, String>,
) -> Result<()> {
    let How { dimension, verify, converted } = *how;
    let mut differences = Vec::new();
    for (path, array) in &first.arrays {
        let same = other.array(path)?;
        let axis = match dimension {
            Some(dimension) => axis::position(&array.metadata(), dimension, path)?,
            None => None,
        };
        let has_axis = axis.is_some();
        for difference in self::differences(&array.metadata(), &same.metadata(), axis) {
            if !(difference.is_converted && converted.contains(path)) {
                differences.push((path, has_axis, difference));
            }
        }
    }
    if let Some((path, has_axis, difference)) = differences.first() {
        let what = &difference.what;
        let is_coordinate = dimension
            .filter(|name| axis::is_coordinate(path, &first.arrays[*path].metadata(), name));
        let leave_out = match is_coordinate {
            // Without it, nothing says which dimension the files are joined along.
            Some(name) => format!("`--axis {name} --exclude {path}`"),
            None => format!("`--exclude {path}`"),
        };
        // `zarr append` takes the dataset only if it can convert all of it.
        let can_append = differences.iter().all(|(_, _, difference)| difference.is_converted);
        let are_times = are_times_of_one_calendar(
            &first.arrays[*path].metadata(),
            &other.array(path)?.metadata(),
        );
        let convert = if *has_axis && are_times && difference.is_converted {
            "convert its times to those of the first file with `--decode-times`, or "
        } else {
            ""
        };
        let instead = match dimension {
            Some(name) if *has_axis && can_append => format!(
                ", or copy the first file with `zarr copy`, and append the others with `zarr append --axis {name}`, which converts \
                 times and codecs"
            ),
            _ => String::new(),
        };
        return Err(refused(format!(
            "{path} differs between {} and {}: {what}; {convert}leave it out with {leave_out}{instead}",
            first.name, other.name
        )));
    }
    for (path, array) in &first.arrays {
        let has_axis = match dimension {
            Some(dimension) => axis::position(&array.metadata(), dimension, path)?.is_some(),
            None => false,
        };
        if has_axis || !verify {
            continue;
        }
        match are_equal(array, other.array(path)?) {
            Ok(true) => {}
            Ok(false) => {
                let along = dimension.map_or(String::new(), |name| format!(" without `{name}`"));
                if is_any_coordinate(path, array) {
                    return Err(refused(format!(
                        "{path} differs between {} and {}: the files are on other grids, so their arrays do not continue each other; \
                         `zarr diff` shows the difference",
                        first.name, other.name
                    )));
                }
                return Err(refused(format!(
                    "{path} differs between {} and {}: an array{along} must have the same elements in all files; take those of the \
                     first file with `--no-verify`, or leave it out with `--exclude {path}`",
                    first.name, other.name
                )));
            }
            Err(error) => match why_unreadable(&error) {
                Some(why) => drop(unreadable.insert(path.clone(), why)),
                None => return Err(error),
            },
        }
    }
    Ok(())
}

/// Checks that `other` has the nodes of `first`.
pub(super) fn check_nodes(first: &Input, other: &Input) -> Result<()> {
    let missing = first.arrays.keys().find(|path| !other.arrays.contains_key(*path));
    let missing =
        missing.or_else(|| first.groups.iter().find(|path| !other.groups.contains(*path)));
    match missing {
        None => Ok(()),
        Some(path) => Err(refused(format!(
            "{path} is in {}, and not in {}; leave it out with `--exclude {path}`",
            first.name, other.name
        ))),
    }
}

/// What differs between two arrays.
struct Difference {
    what: String,
    /// Whether `zarr append` converts the second array to the first.
    is_converted: bool,
}

/// What differs between two arrays, apart from their chunks and the length of an axis.
fn differences(a: &ArrayMetadata, b: &ArrayMetadata, axis: Option<usize>) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |what: String, is_converted: bool| found.push(Difference { what, is_converted });
    let lengths = |metadata: &ArrayMetadata| {
        let mut shape = metadata.shape.clone();
        if let Some(length) = axis.and_then(|axis| shape.get_mut(axis)) {
            *length = 0;
        }
        shape
    };
    if lengths(a) != lengths(b) {
        add(format!("shape {:?} and {:?}", a.shape, b.shape), false);
    }
    if a.dimension_names != b.dimension_names {
        add("the names of its dimensions".to_owned(), false);
    }
    let are_times = are_times_of_one_calendar(a, b);
    // By their text, since records are equal however their fields are stored.
    let types = [a, b].map(|metadata| format!("{:?}", metadata.data_type));
    if types[0] != types[1] {
        // A date with a fraction does not fit an integer.
        let is_converted = are_times && (is_float(a) || !is_float(b));
        add(format!("data type {} and {}", a.data_type, b.data_type), is_converted);
    }
    if !a.codecs.iter().map(without_effort).eq(b.codecs.iter().map(without_effort)) {
        let codecs = [a, b].map(|metadata| {
            metadata.codecs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        });
        add(format!("codecs {} and {}", codecs[0], codecs[1]), true);
    }
    if a.fill_value != b.fill_value {
        let [a, b] = [a, b].map(|metadata| metadata.declared_fill.brief());
        add(format!("fill value {a} and {b}"), true);
    }
    if a.chunk_keys != b.chunk_keys || a.shards != b.shards {
        add("the keys of its chunks".to_owned(), true);
    }
    for name in MEANING {
        let values = [a, b].map(|metadata| metadata.attributes.get(name));
        if values[0] != values[1] {
            let is_converted = match name {
                "units" | "calendar" => are_times,
                "enum_members" => false,
                _ => true,
            };
            let [a, b] = values.map(|value| value.map_or("none".to_owned(), Json::brief));
            add(format!("attribute `{name}` is {a} and {b}"), is_converted);
        }
    }
    found
}

/// Whether the elements are floats.
fn is_float(metadata: &ArrayMetadata) -> bool {
    matches!(metadata.data_type.repr(), Some(Repr::Scalar(Scalar::Float(_))))
}

/// The paths of arrays along a dimension whose times count otherwise in one of the files, and of their bounds.
pub(super) fn other_times(inputs: &[Input], dimension: &str) -> Result<BTreeSet<String>> {
    let [first, others @ ..] = inputs else { return Ok(BTreeSet::new()) };
    let mut found = BTreeSet::new();
    for (path, array) in &first.arrays {
        let metadata = array.metadata();
        if axis::position(&metadata, dimension, path)?.is_none() {
            continue;
        }
        let owner = if is_time(&metadata) { Some(path) } else { owner_of_bounds(first, path) };
        let Some(owner) = owner else { continue };
        for other in others {
            let of_first = first.array(owner)?.metadata();
            let Some(of_other) = other.arrays.get(owner) else { continue };
            let is_other_type =
                other.arrays.get(path).is_some_and(|same| same.data_type() != metadata.data_type);
            if have_other_meanings(&of_first, &of_other.metadata()) || is_other_type {
                found.insert(path.clone());
            }
        }
    }
    Ok(found)
}

/// Whether an array has the coordinates of its only dimension.
fn is_any_coordinate(path: &str, array: &Array) -> bool {
    let names = array.dimension_names().unwrap_or_default();
    match &names[..] {
        [Some(name)] => axis::is_coordinate(path, &array.metadata(), name),
        _ => false,
    }
}

/// The arrays with the bounds of excluded times that count otherwise in each file, with the reason to leave them out: nothing would
/// say from which date they count.
pub(super) fn bounds_of_excluded(
    inputs: &[Input],
    excluded: &[String],
) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let [first, others @ ..] = inputs else { return found };
    for text in excluded {
        let path = format!("/{}", text.trim_matches('/'));
        let Some(times) = first.arrays.get(&path) else { continue };
        let metadata = times.metadata();
        let differ = others.iter().filter_map(|other| other.arrays.get(&path));
        let mut differ = differ.map(|same| have_other_meanings(&metadata, &same.metadata()));
        if !differ.any(|differs| differs) {
            continue;
        }
        for bounds in first.arrays.keys() {
            if owner_of_bounds(first, bounds) == Some(&path) {
                let why = format!(
                    "the bounds of {path}, which counts otherwise in each file, and is left out"
                );
                found.insert(bounds.clone(), why);
            }
        }
    }
    found
}

/// The path of the array of times whose bounds an array holds (CF 7.1): they are in its units, which they need not repeat.
fn owner_of_bounds<'a>(input: &'a Input, path: &str) -> Option<&'a String> {
    let (folder, name) = path.rsplit_once('/')?;
    let owner = input.arrays.iter().find(|(owner, array)| {
        let attributes = array.attributes();
        let is_named =
            |attribute: &str| attributes.get(attribute).and_then(Json::as_str) == Some(name);
        owner.rsplit_once('/').is_some_and(|(of_owner, _)| of_owner == folder)
            && (is_named("bounds") || is_named("climatology"))
            && is_time(&array.metadata())
    });
    owner.map(|(owner, _)| owner)
}

/// Whether equal numbers mean something else in two arrays.
pub(super) fn have_other_meanings(a: &ArrayMetadata, b: &ArrayMetadata) -> bool {
    MEANING.iter().any(|name| a.attributes.get(name) != b.attributes.get(name))
}

/// Whether two arrays have numbers that count from a date, in one calendar.
fn are_times_of_one_calendar(a: &ArrayMetadata, b: &ArrayMetadata) -> bool {
    is_time(a) && is_time(b) && calendar(a) == calendar(b)
}

/// An attribute that is a text, in lower case.
fn text(metadata: &ArrayMetadata, name: &str) -> Option<String> {
    metadata.attributes.get(name).and_then(Json::as_str).map(str::to_ascii_lowercase)
}

/// Whether the elements are times.
fn is_time(metadata: &ArrayMetadata) -> bool {
    text(metadata, "units").is_some_and(|units| units.contains(" since "))
}

/// The name of the calendar of times.
fn calendar(metadata: &ArrayMetadata) -> String {
    match text(metadata, "calendar").as_deref() {
        None | Some("gregorian") => "standard".to_owned(),
        Some(name) => name.to_owned(),
    }
}

/// A codec without what readers do not need.
fn without_effort(codec: &CodecSpec) -> CodecSpec {
    let mut codec = codec.clone();
    for member in EFFORT {
        codec.configuration.remove(member);
    }
    codec
}

/// Whether two arrays of one shape have the same elements.
fn are_equal(a: &Array, b: &Array) -> Result<bool> {
    for piece in a.pieces(.., MAX_COMPARED_BYTES)? {
        if a.read_le_bytes(&piece.selection)? != b.read_le_bytes(&piece.selection)? {
            return Ok(false);
        }
    }
    Ok(true)
}
