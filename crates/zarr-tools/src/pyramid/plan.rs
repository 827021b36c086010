//! Plans a pyramid: which levels an image gets, and how they are made.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use zarr_core::data_type::{DataType, Scalar};
use zarr_core::grid::{RegularGrid, default_chunk_shape_named};
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{
    AccessError, Array, Dialect, Error, ErrorKind, Group, Hierarchy, Json, Node, NodePath, Object,
    OpenOptions, Result,
};

use super::gaussian::MAX_FACTOR;
use super::geo::{Map, OnMap};
use super::geo_levels::PlannedMap;
use super::geo_place::Coarser;
use super::image::{self, Image, NewLevels, next_path};
use super::journal::Journal;
use super::tiles::{Lengths, Tiles, levels};
use super::{PyramidConvention, PyramidMethod, PyramidOptions, PyramidRounding, geo_plan};
use crate::size::byte_count;
use crate::target::hierarchy_above;

/// The most elements of the base that one element of a level may cover: so many 32-bit integers are added up in 64 bits.
const MAX_BLOCK: u64 = 1 << 31;
/// The most elements of a level that one of the next may cover.
const MAX_STEP: u64 = 1 << 16;
/// The most tiles that share stored objects.
const MAX_TILES: u64 = 1 << 20;
/// The most levels of one image.
const MAX_LEVELS: usize = 32;
/// Levels have the chunks of the base, up to this size.
const MAX_CHUNK: u64 = 16 << 20;
/// The base is read in boxes of at most this size, where its chunks let it be.
const MAX_BOX: u64 = 64 << 20;
/// A pyramid has about this many parts at least, if the base is large.
const MIN_PARTS: u64 = 64;
/// What parts hand on stays in memory, up to this size.
const MAX_IN_MEMORY: u64 = 32 << 20;

/// A pyramid, planned. Nothing is written yet.
#[derive(Clone, Debug)]
pub struct PyramidPlan {
    pub(super) hierarchy: Hierarchy,
    /// The image's group.
    pub(super) path: NodePath,
    /// What no other pyramid has: a time and a process.
    pub(super) begun: String,
    /// The image, and then its labels; or the variables of a map.
    pub(super) images: Vec<PlannedImage>,
    /// The levels of the map, if it is one.
    pub(super) map: Option<PlannedMap>,
    pub(super) notes: Vec<String>,
}

/// An image that gets levels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlannedImage {
    pub group: NodePath,
    /// What is known of it if it is a variable on a map.
    pub map: Option<OnMap>,
    /// The path of the base, from the group on.
    pub base: String,
    pub base_shape: Vec<u64>,
    /// The base's data type, and its fill value in memory.
    pub base_type: String,
    pub base_fill: Vec<u8>,
    pub method: PyramidMethod,
    pub rounding: PyramidRounding,
    pub keep_nan: bool,
    pub min_valid: f64,
    /// The levels above the base, those included that are there already.
    pub levels: Vec<PlannedLevel>,
    pub tile: Vec<u64>,
    pub root: Vec<u64>,
    /// The level at which it is cut into parts.
    pub part_level: usize,
    /// Whether what parts hand on goes through the journal.
    pub is_journaled: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlannedLevel {
    /// From the group on; `None` for a level that is there.
    pub path: Option<String>,
    pub steps: Vec<u64>,
    pub chunk: Vec<u64>,
    pub shard: Option<Vec<u64>>,
}

/// A level that an image is to get.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PyramidLevel {
    /// The array.
    pub path: NodePath,
    /// How many elements it has along each axis.
    pub shape: Vec<u64>,
    /// Its chunks; in a shard, the inner ones.
    pub chunks: Vec<u64>,
    /// Its shards, if it has any.
    pub shards: Option<Vec<u64>>,
    /// How many elements of the base one of it covers along each axis.
    pub factors: Vec<u64>,
    /// How it is made.
    pub method: PyramidMethod,
}

/// Plans the levels that an OME-Zarr image and its labels lack, or the variables of a map ([`PyramidConvention`]). A plan without
/// levels says that nothing is to be done.
///
/// # Errors
/// [`AccessError::Argument`] if the group is no image or no map, if options do not fit it, or if a pyramid of it is under way and
/// neither [`PyramidOptions::resume`] nor [`PyramidOptions::restart`] is set; [`AccessError::Exists`] if a node is where a level is
/// to be; what the store reports.
///
/// ```no_run
/// # use zarr_core::{Hierarchy, OpenOptions};
/// # use zarr_tools::{PyramidOptions, plan_pyramid};
/// # fn example(open: &OpenOptions) -> zarr_core::Result<()> {
/// let image = Hierarchy::open_node("cells.ome.zarr", open)?.into_group()?;
/// let plan = plan_pyramid(&image, &PyramidOptions::default())?;
/// plan.run(&PyramidOptions::default())
/// # }
/// ```
pub fn plan_pyramid(group: &Group, options: &PyramidOptions<'_>) -> Result<PyramidPlan> {
    let (hierarchy, path) = (group.hierarchy(), group.path());
    let journal = Journal::new(hierarchy, path)?;
    if let Some(json) = journal.plan()?.filter(|_| !options.restart) {
        if !options.resume && options.parts.is_none() {
            let why = "a pyramid of this image is under way";
            return Err(argument(hierarchy, path, why).with_hint(
                "continue with `--resume` (library: `PyramidOptions::resume`), or start over with `--restart`",
            ));
        }
        let plan = PyramidPlan::from_json(hierarchy, path, &json);
        let plan = plan.ok_or_else(|| journal.broken("it is not a plan of a pyramid"))?;
        plan.check_bases()?;
        return Ok(plan);
    }
    let mut plan = PyramidPlan {
        hierarchy: hierarchy.clone(),
        path: path.clone(),
        begun: begun(),
        images: Vec::new(),
        map: None,
        notes: Vec::new(),
    };
    let convention = match options.convention {
        Some(convention) => convention,
        None if Map::is_listed(group.attributes()) => PyramidConvention::Geo,
        None => PyramidConvention::Ome,
    };
    match convention {
        PyramidConvention::Ome => plan.add_image(group, options)?,
        PyramidConvention::Geo => geo_plan::add_map(&mut plan, group, options)?,
    }
    plan.check_places()?;
    Ok(plan)
}

pub(super) fn argument(hierarchy: &Hierarchy, path: &NodePath, why: impl Into<String>) -> Error {
    let error = Error::from(AccessError::Argument(why.into()));
    error.at_store(hierarchy.store().name()).at_path(path)
}

/// The error of a group that is no image, which names images below it.
fn not_an_image(group: &Group) -> Error {
    let error = argument(group.hierarchy(), group.path(), "this group is not an OME-Zarr image");
    let images = group.nodes().unwrap_or_default().into_iter().filter_map(|node| {
        let group = node.into_group().ok()?;
        Image::of(&group).ok()?.map(|_| group.path().to_string())
    });
    let names: Vec<String> = images.take(5).collect();
    if names.is_empty() {
        let map = Map::of(group).is_ok_and(|map| map.is_some()).then(|| {
            "it has variables on a map: add levels to these with `--convention geo` (library: `PyramidOptions::convention`)".to_owned()
        });
        let image = new_image(group).map(|attribute| {
            let place = group.hierarchy().store().name();
            let path = if group.path().is_root() { "" } else { group.path().as_str() };
            let place = place.strip_prefix("file://").unwrap_or(&place);
            format!(
                "to make it an image, describe it with the size of its pixels as the scale: `zarr attrs {place}{path} --set '{attribute}'`"
            )
        });
        let hint = match (image, map) {
            (Some(image), Some(map)) => format!("{image}; or, if {map}"),
            (Some(hint), None) | (None, Some(hint)) => hint,
            (None, None) => {
                "its attributes must have `multiscales` with `datasets` and `axes`".into()
            }
        };
        return error.with_hint(hint);
    }
    error.with_hint(format!("choose an image below it: {}", names.join(", ")))
}

/// The attribute that makes a group an OME-Zarr image of its first array whose axes are those of images (0.4 and 0.5,
/// "multiscales"), as `NAME=JSON`.
fn new_image(group: &Group) -> Option<String> {
    let array = group.members().ok()?.into_iter().find_map(|node| {
        let array = node.into_array().ok()?;
        let names = array.metadata().dimension_names.clone()?;
        let names: Option<Vec<String>> = names.into_iter().collect();
        let names = names?;
        let is_plane = names.ends_with(&["y".into(), "x".into()]);
        // In the order that OME-Zarr wants.
        let mut rest = ["t", "c", "z", "y", "x"].into_iter();
        let are_axes = names.iter().all(|name| rest.any(|axis| axis == name));
        (is_plane && are_axes).then(|| (array.path().name().unwrap_or_default().to_owned(), names))
    })?;
    let (path, names) = array;
    let axes: Json = names
        .iter()
        .map(|name| {
            let kind = match name.as_str() {
                "t" => "time",
                "c" => "channel",
                _ => "space",
            };
            Json::from(Object::new().with("name", name.as_str()).with("type", kind))
        })
        .collect();
    let scale: Json = names.iter().map(|_| Json::from(1u64)).collect();
    let scale = Object::new().with("type", "scale").with("scale", scale);
    let dataset = Object::new()
        .with("path", path)
        .with("coordinateTransformations", Json::Array(vec![scale.into()]));
    let image =
        Object::new().with("axes", axes).with("datasets", Json::Array(vec![dataset.into()]));
    Some(match group.hierarchy().dialect() {
        Dialect::V3 => {
            let images = Json::Array(vec![image.into()]);
            let ome = Object::new().with("version", "0.5").with("multiscales", images);
            format!("ome={}", Json::from(ome))
        }
        _ => {
            let images = Json::Array(vec![image.with("version", "0.4").into()]);
            format!("multiscales={images}")
        }
    })
}

/// What no other pyramid has.
fn begun() -> String {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", time.as_nanos(), std::process::id())
}

fn open_base(group: &Group, image: &Image) -> Result<Array> {
    let base = group.array(&image.datasets[0].path)?;
    if base.rank() != image.axes.len() {
        let why = format!("the array has {} axes, the image {}", base.rank(), image.axes.len());
        return Err(argument(base.hierarchy(), base.path(), why));
    }
    Ok(base)
}

/// Whether an image is one of labels: it says so, or the group above lists it (OME-Zarr 0.4 and 0.5, "labels").
fn is_label(group: &Group) -> bool {
    if image::is_label(group.attributes()) {
        return true;
    }
    let hierarchy = group.hierarchy();
    let (hierarchy, path) = if group.path().is_root() {
        // A group that was opened by its own path is the root of its hierarchy.
        let mut options = OpenOptions::new(hierarchy.registry().clone());
        options.options = hierarchy.options().clone();
        match hierarchy_above(&hierarchy.store().name(), &options) {
            Some(found) => found,
            None => return false,
        }
    } else {
        (hierarchy.clone(), group.path().clone())
    };
    let above = path.parent().and_then(|above| hierarchy.group(&above).ok());
    let names = above.map(|above| Image::labels(above.attributes())).unwrap_or_default();
    names.iter().any(|name| path.name() == Some(name))
}

/// How the levels of labels are made: elements are names of objects, of which no mean can be taken.
fn label_method(
    group: &Group,
    image: &Image,
    options: &PyramidOptions<'_>,
) -> Result<PyramidMethod> {
    let is_mean = |method: &PyramidMethod| {
        matches!(method, PyramidMethod::Mean | PyramidMethod::Gaussian | PyramidMethod::Median)
    };
    match options.method {
        Some(method) if is_mean(&method) => {
            let why = format!(
                "this is an image of labels: the method `{}` would make labels that do not exist",
                method.name()
            );
            let error = argument(group.hierarchy(), group.path(), why);
            Err(error.with_hint("use `mode`, which is the default, or `nearest`"))
        }
        Some(method) => Ok(method),
        None => Ok(image.method.filter(|method| !is_mean(method)).unwrap_or(PyramidMethod::Mode)),
    }
}

/// The groups of the labels of an image.
fn labels(group: &Group) -> Result<Vec<Group>> {
    let labels = match group.node("labels") {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Ok(Node::Array(_)) => return Ok(Vec::new()),
        Ok(Node::Group(labels)) => labels,
        Err(e) => return Err(e),
    };
    Image::labels(labels.attributes()).iter().map(|name| labels.group(name)).collect()
}

/// How many elements of the base one of each level covers, of all levels that an image is to have above its base.
pub(super) fn wanted_levels(
    group: &Group,
    image: &Image,
    base: &Array,
    options: &PyramidOptions<'_>,
) -> Result<Vec<Vec<u64>>> {
    let fail = |why: String| argument(group.hierarchy(), group.path(), why);
    let mut wanted = existing_levels(group, image, base)?;
    let (shape, rank) = (base.shape(), base.rank());
    let chunk = level_chunk(base, options)?;
    for (name, factor) in &options.factors {
        if !image.axes.iter().any(|axis| axis.name == *name) {
            let names: Vec<&str> = image.axes.iter().map(|axis| &*axis.name).collect();
            return Err(fail(format!("unknown axis `{name}`; the image has {}", names.join(", "))));
        }
        if *factor > 1 && image.axes.iter().any(|axis| axis.name == *name && axis.is_channel) {
            return Err(fail(format!(
                "`{name}` is the axis of the channels, which are not joined: each level has all of them"
            )));
        }
        if *factor == 0 {
            return Err(fail(format!("the factor of axis `{name}` is 0; the minimum is 1")));
        }
    }
    if options.factor == Some(0) {
        return Err(fail("the factor is 0; the minimum is 2".into()));
    }
    if options.levels.is_some_and(|levels| levels == 0 || levels > MAX_LEVELS) {
        return Err(fail(format!("expected 1 to {MAX_LEVELS} levels")));
    }
    let mut factors = wanted.last().cloned().unwrap_or_else(|| vec![1; rank]);
    loop {
        let len = |axis: usize| shape[axis].div_ceil(factors[axis]);
        let steps: Vec<u64> = (0..rank)
            .map(|axis| match len(axis) {
                0 | 1 => 1,
                _ => step(image, &factors, axis, options),
            })
            .collect();
        let shortens = |axis: &usize| steps[*axis] > 1;
        let is_enough = match options.levels {
            Some(levels) => wanted.len() + 1 >= levels,
            None => {
                // Planes that are chunks of their own do not count.
                let mut counted = (0..rank).filter(|axis| shortens(axis) && chunk[*axis] > 1);
                wanted.len() + 1 >= MAX_LEVELS || counted.all(|axis| len(axis) <= chunk[axis])
            }
        };
        if is_enough || !(0..rank).any(|axis| shortens(&axis)) {
            return Ok(wanted);
        }
        for (factor, step) in factors.iter_mut().zip(&steps) {
            *factor = factor.saturating_mul(*step);
        }
        let block = factors.iter().fold(1, |all: u64, factor| all.saturating_mul(*factor));
        if block > MAX_BLOCK {
            let why = "an element of a level would cover more than 2³¹ elements of the base";
            return Err(fail(format!("level {}: {why}; ask for fewer levels", wanted.len() + 1)));
        }
        wanted.push(factors.clone());
    }
}

/// How many elements of a level with these factors become one of the next one.
fn step(image: &Image, factors: &[u64], axis: usize, options: &PyramidOptions<'_>) -> u64 {
    if !options.factors.is_empty() {
        let name = &image.axes[axis].name;
        let given = options.factors.iter().rev().find(|(of, _)| of == name);
        return given.map_or(1, |(_, factor)| *factor);
    }
    let space: Vec<usize> = (0..factors.len()).filter(|&at| image.axes[at].is_space).collect();
    let Some(place) = space.iter().rev().position(|&at| at == axis) else { return 1 };
    let factor = options.factor.unwrap_or(2);
    if place < 2 {
        return factor;
    }
    let spacing = |axis: usize| image.datasets[0].scale[axis] * factors[axis] as f64;
    let joins = space.iter().rev().take(2).all(|&other| {
        image.axes[other].unit == image.axes[axis].unit && spacing(other) >= spacing(axis) * 0.999
    });
    if place == 2 && joins { factor } else { 1 }
}

/// The error for a level that the metadata of an image list and that is gone: how it is taken out of them.
fn missing_level(group: &Group, level: &str) -> Error {
    let nested = if group.attributes().contains("ome") { "ome." } else { "" };
    let why = format!(
        "the image lists the level `{level}`, which is not there; take it out with `zarr attrs IMAGE --delete \
         {nested}multiscales.0.datasets.path={level}`"
    );
    argument(group.hierarchy(), group.path(), why)
}

/// The factors of the levels that an image has above its base.
pub(super) fn existing_levels(group: &Group, image: &Image, base: &Array) -> Result<Vec<Vec<u64>>> {
    let shape = base.shape();
    let mut found = Vec::new();
    for dataset in &image.datasets[1..] {
        let array = match group.array(&dataset.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(missing_level(group, &dataset.path));
            }
            found => found?,
        };
        let lens = array.shape();
        let factors = (0..shape.len()).map(|axis| {
            let (len, of_level) = (shape[axis], lens[axis]);
            let by_scale = dataset.scale[axis] / image.datasets[0].scale[axis];
            let by_shape = len as f64 / of_level.max(1) as f64;
            // As this tool, tensorstore and GDAL have it, or as ome-zarr and ngff-zarr.
            [by_scale, by_shape].map(|factor| factor.round() as u64).into_iter().find(|factor| {
                *factor > 0 && (len.div_ceil(*factor) == of_level || len / factor == of_level)
            })
        });
        let has_rank = lens.len() == shape.len();
        let factors: Option<Vec<u64>> = if has_rank { factors.collect() } else { None };
        let factors = factors.filter(|factors| {
            let last: Option<&Vec<u64>> = found.last();
            last.is_none_or(|last| last.iter().zip(factors).all(|(last, factor)| last <= factor))
        });
        found.push(factors.ok_or_else(|| {
            let why = format!("the level has shape {lens:?}, which is not the base's {shape:?} divided by integers");
            argument(group.hierarchy(), array.path(), why)
        })?);
    }
    Ok(found)
}

/// The paths of the levels that an image lacks of so many above its base.
fn next_paths(image: &Image, wanted: usize) -> Vec<String> {
    let mut paths = Vec::new();
    let mut last = image.datasets[image.datasets.len() - 1].path.clone();
    for _ in image.datasets.len() - 1..wanted {
        last = next_path(&last);
        paths.push(last.clone());
    }
    paths
}

/// The factors of the levels of an image, along the axes of its labels.
pub(super) fn along_axes(image: &Image, factors: &[Vec<u64>], labels: &Image) -> Vec<Vec<u64>> {
    factors
        .iter()
        .map(|factors| {
            let along = labels.axes.iter().map(|label| {
                let axis = image.axes.iter().position(|axis| axis.name == label.name);
                axis.map_or(1, |axis| factors[axis])
            });
            along.collect()
        })
        .collect()
}

/// The chunks of new levels.
fn level_chunk(base: &Array, options: &PyramidOptions<'_>) -> Result<Vec<u64>> {
    let metadata = base.metadata();
    if let Some(chunks) = &options.chunks {
        if chunks.len() != base.rank() || chunks.contains(&0) {
            let why =
                format!("chunks {chunks:?} are not a length for each of {} axes", base.rank());
            return Err(argument(base.hierarchy(), base.path(), why));
        }
        return Ok(chunks.clone());
    }
    let element = metadata.data_type.repr().map_or(1, |repr| repr.size() as u64);
    let kept = metadata.inner_chunk_shape().filter(|chunk| {
        chunk.iter().fold(element, |size, len| size.saturating_mul(*len)) <= MAX_CHUNK
    });
    let names = metadata.dimension_names.clone().unwrap_or_default();
    Ok(kept.unwrap_or_else(|| default_chunk_shape_named(&metadata.shape, element, &names)))
}

/// How the levels of an image are made.
pub(super) fn method_of(
    base: &Array,
    image: &Image,
    options: &PyramidOptions<'_>,
) -> PyramidMethod {
    let default = match base.data_type().scalar() {
        Some(Scalar::Bool) => PyramidMethod::Mode,
        _ => PyramidMethod::Mean,
    };
    options.method.or(image.method).unwrap_or(default)
}

/// Why no levels can be made of an array by this method, if so.
pub(super) fn type_problem(base: &Array, method: PyramidMethod) -> Option<String> {
    let data_type = base.data_type();
    let is_number = match (&data_type, data_type.scalar()) {
        (DataType::Core(_), Some(Scalar::Int(64) | Scalar::Uint(64))) => {
            method != PyramidMethod::Gaussian
        }
        (DataType::Core(_), Some(Scalar::Int(bits) | Scalar::Uint(bits))) => bits >= 8,
        (DataType::Core(_), Some(Scalar::Float(format))) => [4, 8].contains(&format.size()),
        (DataType::Core(_), Some(Scalar::Bool)) => {
            ![PyramidMethod::Mean, PyramidMethod::Gaussian].contains(&method)
        }
        _ => false,
    };
    if is_number {
        return None;
    }
    Some(match data_type.scalar() {
        Some(Scalar::Bool) => "bools have no mean".to_owned(),
        _ => format!(
            "levels of elements of type `{data_type}` by the method `{}` are not supported",
            method.name()
        ),
    })
}

/// Whether levels can be made of elements of this type, by this method.
fn check_type(base: &Array, method: PyramidMethod) -> Result<()> {
    let Some(why) = type_problem(base, method) else { return Ok(()) };
    let error = argument(base.hierarchy(), base.path(), why);
    Err(error.with_hint(
        "supported are integers, float32 and float64, and bools by `--method mode`, `min`, `max`, `median` or `nearest`",
    ))
}

impl PyramidPlan {
    /// Adds the levels that an OME-Zarr image and its labels lack.
    fn add_image(&mut self, group: &Group, options: &PyramidOptions<'_>) -> Result<()> {
        let image = Image::of(group)?.ok_or_else(|| not_an_image(group))?;
        let base = open_base(group, &image)?;
        let of_labels;
        let options = if is_label(group) {
            of_labels = PyramidOptions {
                method: Some(label_method(group, &image, options)?),
                ..options.clone()
            };
            &of_labels
        } else {
            options
        };
        let wanted = wanted_levels(group, &image, &base, options)?;
        let paths = next_paths(&image, wanted.len());
        if let Some(planned) = self.image(group, &image, &base, &wanted, paths, options)? {
            self.images.push(planned);
        }
        if options.no_labels {
            return Ok(());
        }
        for label in labels(group)? {
            let Some(of_label) = Image::of(&label)? else { continue };
            let base = open_base(&label, &of_label)?;
            let wanted = along_axes(&image, &wanted, &of_label);
            let options = PyramidOptions {
                method: options
                    .method
                    .filter(|&it| it == PyramidMethod::Nearest)
                    .or(Some(PyramidMethod::Mode)),
                chunks: None,
                shards: options.shards.clone().filter(Vec::is_empty),
                ..options.clone()
            };
            let paths = next_paths(&of_label, wanted.len());
            if let Some(planned) = self.image(&label, &of_label, &base, &wanted, paths, &options)? {
                self.images.push(planned);
            }
        }
        Ok(())
    }

    /// Plans the levels that an image lacks of those that are wanted, at these paths; `None` if it has all.
    pub(super) fn image(
        &mut self,
        group: &Group,
        image: &Image,
        base: &Array,
        wanted: &[Vec<u64>],
        paths: Vec<String>,
        options: &PyramidOptions<'_>,
    ) -> Result<Option<PlannedImage>> {
        let there = existing_levels(group, image, base)?;
        if wanted.len() <= there.len() {
            return Ok(None);
        }
        let method = method_of(base, image, options);
        check_type(base, method)?;
        let fail = |why: String| argument(group.hierarchy(), base.path(), why);
        let metadata = base.metadata();
        if group.hierarchy().dialect() == Dialect::Draft {
            return Err(fail("levels are added in v2 and v3 only".into()));
        }
        if base.is_empty() {
            return Err(fail("the array has no elements".into()));
        }
        if !(0.0..=1.0).contains(&options.min_valid) {
            return Err(fail(
                "the minimum share of valid elements must be a number from 0 to 1".into(),
            ));
        }
        let chunk = level_chunk(base, options)?;
        let shard = match &options.shards {
            Some(shards) if shards.is_empty() => None,
            Some(shards) if shards.len() != base.rank() || shards.contains(&0) => {
                let why =
                    format!("shards {shards:?} are not a length for each of {} axes", base.rank());
                return Err(fail(why));
            }
            Some(shards) => Some(shards.clone()),
            None => metadata.shard_shape(),
        };
        // Levels that are there are stages on the way to the new ones, if whole blocks of one make each of the next.
        let mut stages: Vec<(Option<String>, &Vec<u64>)> = Vec::new();
        let first_new = &wanted[there.len()];
        for factors in wanted[..there.len()].iter().filter(|factors| divides(factors, first_new)) {
            if stages.last().is_none_or(|(_, before)| divides(before, factors)) {
                stages.push((None, factors));
            }
        }
        for (path, factors) in paths.into_iter().zip(&wanted[there.len()..]) {
            if stages.last().is_some_and(|(_, before)| !divides(before, factors)) {
                return Err(fail(format!(
                    "{factors:?} are not multiples of the previous level's factors"
                )));
            }
            stages.push((Some(path), factors));
        }
        let mut before = vec![1; base.rank()];
        let mut levels_planned = Vec::new();
        for (path, factors) in stages {
            let steps = factors.iter().zip(&before).map(|(factor, before)| factor / before);
            let lens = base.shape().into_iter().zip(factors).map(|(len, by)| len.div_ceil(*by));
            let lens: Vec<u64> = lens.collect();
            let of_level: Vec<u64> =
                chunk.iter().zip(&lens).map(|(chunk, len)| *chunk.min(len)).collect();
            let of_shard = shard.as_ref().map(|shard| {
                let axes = shard.iter().zip(&lens).zip(&of_level);
                axes.map(|((shard, len), chunk)| shard.min(len).div_ceil(*chunk) * chunk).collect()
            });
            levels_planned.push(PlannedLevel {
                path,
                steps: steps.collect(),
                chunk: of_level,
                shard: of_shard,
            });
            before.clone_from(factors);
        }
        let steps: Vec<Vec<u64>> = levels_planned.iter().map(|level| level.steps.clone()).collect();
        let too_wide = steps.iter().find(|steps| {
            steps.iter().fold(1, |all: u64, step| all.saturating_mul(*step)) > MAX_STEP
        });
        if let Some(steps) = too_wide {
            let why = format!("an element of a level would cover {steps:?} of the level before");
            return Err(fail(format!(
                "{why}, more than {MAX_STEP} elements; choose smaller factors"
            )));
        }
        let widest = steps.iter().flatten().copied().max().unwrap_or(1);
        if method == PyramidMethod::Gaussian && widest > MAX_FACTOR {
            let why = format!(
                "a Gaussian over {widest} elements is too wide; the widest is over {MAX_FACTOR}"
            );
            return Err(fail(why));
        }
        let geometry = levels(&base.shape(), &steps);
        let element = metadata.data_type.repr().map_or(1, |repr| repr.size() as u64);
        let object = shard.as_ref().map(|shard| {
            shard.iter().zip(&chunk).map(|(shard, chunk)| shard.div_ceil(*chunk) * chunk).collect()
        });
        let base_chunk = metadata.inner_chunk_shape().unwrap_or_else(|| metadata.chunk_extent());
        let (tiles, is_aligned) = Tiles::new(&Lengths {
            base: &base.shape(),
            levels: &geometry,
            base_chunk: &base_chunk,
            chunk: &chunk,
            object: &object.unwrap_or_else(|| chunk.clone()),
            element,
            max_bytes: MAX_BOX.max(options.memory.unwrap_or(0) / 16),
        });
        if !is_aligned {
            self.notes.push(format!(
                "{}: chunks of {base_chunk:?} are read more than once, since levels have chunks of {chunk:?}; `--chunks` of about their \
                 length avoid that",
                base.path()
            ));
        }
        let mut planned = PlannedImage {
            group: group.path().clone(),
            map: image.map,
            base: image.datasets[0].path.clone(),
            base_shape: base.shape(),
            base_type: base.data_type().to_string(),
            base_fill: metadata.fill_bytes().to_vec(),
            method,
            rounding: options.rounding,
            keep_nan: options.keep_nan,
            min_valid: options.min_valid,
            levels: levels_planned,
            part_level: 1,
            is_journaled: false,
            tile: tiles.tile.clone(),
            root: tiles.root.clone(),
        };
        planned.choose_parts(&tiles, element, options.parts);
        planned.check_memory(base, options.memory)?;
        for level in &planned.levels {
            if level.path.is_some() {
                let path = planned.path_of(level)?;
                group.hierarchy().check_array(&path, &planned.metadata(base, image, level)?)?;
            }
        }
        Ok(Some(planned))
    }

    /// Refuses levels whose places are taken.
    fn check_places(&self) -> Result<()> {
        let mut seen = HashSet::new();
        for (path, _) in self.new_arrays()? {
            let is_there = match self.hierarchy.node(&path) {
                Err(e) if e.kind() == ErrorKind::NotFound => false,
                found => found.map(|_| true)?,
            };
            if is_there || !seen.insert(path.clone()) {
                let error = Error::from(AccessError::Exists("a node"));
                let error = error.at_store(self.hierarchy.store().name()).at_path(&path);
                return Err(error.with_hint(
                    "a level belongs there, and the image does not list it; move or erase it",
                ));
            }
        }
        Ok(())
    }

    /// Whether the bases are those that were planned for.
    fn check_bases(&self) -> Result<()> {
        for image in &self.images {
            let base = self.hierarchy.group(&image.group)?.array(&image.base)?;
            let (shape, data_type) = (base.shape(), base.data_type().to_string());
            let why = if shape != image.base_shape {
                let then = &image.base_shape;
                format!(
                    "the array has shape {shape:?}, and had {then:?} when the pyramid was begun"
                )
            } else if data_type != image.base_type {
                let then = &image.base_type;
                format!(
                    "the array has data type `{data_type}`, and had `{then}` when the pyramid was begun"
                )
            } else if base.metadata().fill_bytes()[..] != image.base_fill[..] {
                "the fill value of the array has changed since the pyramid was begun".to_owned()
            } else {
                continue;
            };
            return Err(argument(&self.hierarchy, base.path(), why)
                .with_hint("start over with `--restart`"));
        }
        Ok(())
    }

    /// The levels that are to be made, image by image.
    pub fn levels(&self) -> Vec<PyramidLevel> {
        let mut found = Vec::new();
        for image in &self.images {
            for (level, geometry) in image.levels.iter().zip(image.tiles().levels) {
                let Some(Ok(path)) = level.path.as_ref().map(|_| image.path_of(level)) else {
                    continue;
                };
                found.push(PyramidLevel {
                    path,
                    shape: geometry.shape,
                    chunks: level.chunk.clone(),
                    shards: level.shard.clone(),
                    factors: geometry.factors,
                    method: image.method,
                });
            }
        }
        found
    }

    /// What a person should know of it.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(super) fn to_json(&self) -> Json {
        let object = Object::new()
            .with("zarr_pyramid", 1u64)
            .with("path", self.path.as_str())
            .with("begun", &*self.begun)
            .with("images", self.images.iter().map(PlannedImage::to_json).collect::<Json>());
        match &self.map {
            Some(map) => object.with("map", map.to_json()).into(),
            None => object.into(),
        }
    }

    pub(super) fn from_json(
        hierarchy: &Hierarchy,
        path: &NodePath,
        json: &Json,
    ) -> Option<PyramidPlan> {
        if json.get("zarr_pyramid")?.as_u64()? != 1 || json.get("path")?.as_str()? != path.as_str()
        {
            return None;
        }
        let images = json.get("images")?.as_array()?.iter().map(PlannedImage::from_json);
        let images: Vec<PlannedImage> = images.collect::<Option<_>>()?;
        let map = match json.get("map") {
            Some(map) => Some(PlannedMap::from_json(map)?),
            None => None,
        };
        if images.iter().any(|image| image.map.is_some() != map.is_some()) {
            return None;
        }
        Some(PyramidPlan {
            hierarchy: hierarchy.clone(),
            path: path.clone(),
            begun: json.get("begun")?.as_str()?.to_owned(),
            images,
            map,
            notes: Vec::new(),
        })
    }
}

/// Whether each number of `b` is a multiple of that of `a`.
fn divides(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).all(|(a, b)| b.is_multiple_of(*a))
}

impl PlannedImage {
    pub fn tiles(&self) -> Tiles {
        let steps: Vec<Vec<u64>> = self.levels.iter().map(|level| level.steps.clone()).collect();
        Tiles {
            base: self.base_shape.clone(),
            levels: levels(&self.base_shape, &steps),
            tile: self.tile.clone(),
            root: self.root.clone(),
        }
    }

    /// The path of a level that is to be made.
    pub fn path_of(&self, level: &PlannedLevel) -> Result<NodePath> {
        Ok(self.group.join(level.path.as_deref().unwrap_or_default())?)
    }

    /// The metadata of a level: those of the base in another shape, and other chunks.
    pub fn metadata(
        &self,
        base: &Array,
        image: &Image,
        level: &PlannedLevel,
    ) -> Result<ArrayMetadata> {
        let at = self.levels.iter().position(|other| other == level).unwrap_or(0);
        let tiles = self.tiles();
        let geometry = &tiles.levels[at];
        let mut metadata = (*base.metadata()).clone().unsharded();
        metadata.shape.clone_from(&geometry.shape);
        if let Some(OnMap { plane: Some((y, x)), is_node }) = self.map {
            let coarser = Coarser {
                lengths: [self.base_shape[y], self.base_shape[x]],
                factors: [geometry.factors[y], geometry.factors[x]],
                is_node,
                is_first: self.method == PyramidMethod::Nearest,
            };
            coarser.change(&mut metadata.attributes);
        }
        metadata.grid = Some(Arc::new(RegularGrid::new(&level.chunk, &metadata.shape)?));
        if base.hierarchy().dialect() == Dialect::V3 && metadata.dimension_names.is_none() {
            let names = image.axes.iter().map(|axis| Some(axis.name.clone()));
            metadata.dimension_names = Some(names.collect());
        }
        match &level.shard {
            Some(shard) => Ok(metadata.sharded(shard)?),
            None => Ok(metadata),
        }
    }

    /// What is added to the image's attributes.
    pub fn new_levels(&self) -> NewLevels {
        let levels = self.levels.iter().zip(self.tiles().levels);
        let levels = levels.filter_map(|(level, at)| Some((level.path.clone()?, at.factors)));
        NewLevels {
            method: self.method,
            rounding: (self.method == PyramidMethod::Mean).then(|| self.rounding.name()),
            levels: levels.collect(),
        }
    }

    /// Bytes that a tile hands on for each element.
    fn handed_on(&self, element: u64) -> u64 {
        match self.method {
            // A sum and a count.
            PyramidMethod::Mean if element == 8 => 20,
            PyramidMethod::Mean => 12,
            PyramidMethod::Gaussian => 8,
            _ => element,
        }
    }

    /// Chooses the level at which the work is cut into parts: the highest that has enough of them, since what lower ones hand on is
    /// more.
    fn choose_parts(&mut self, tiles: &Tiles, element: u64, parts: Option<u64>) {
        let enough = parts.unwrap_or(1).saturating_mul(4).max(MIN_PARTS);
        let all = 1..=tiles.top();
        let many = all.clone().rev().find(|&level| tiles.roots(level) >= enough);
        self.part_level = many
            .or_else(|| {
                all.clone().find(|&level| self.handed_on_of(tiles, element, level) <= MAX_IN_MEMORY)
            })
            .unwrap_or(tiles.top());
        let fits = self.handed_on_of(tiles, element, self.part_level) <= MAX_IN_MEMORY;
        self.is_journaled = self.part_level < tiles.top() && (parts.is_some() || !fits);
    }

    /// The bytes that are handed on of a whole level.
    fn handed_on_of(&self, tiles: &Tiles, element: u64, level: usize) -> u64 {
        byte_count(self.handed_on(element), &tiles.levels[level - 1].shape)
    }

    /// The bytes that a thread needs which makes tiles of the levels up to one, from those of another on: the box of the base, and at
    /// each level what the tile hands on, its elements, and a stored object that is being filled.
    fn bytes_per_thread(&self, element: u64, range: std::ops::RangeInclusive<usize>) -> u64 {
        let tiles = self.tiles();
        range.fold(0, |sum: u64, level| {
            let mut tile = tiles.tile_len(level).saturating_mul(self.handed_on(element) + element);
            if self.method == PyramidMethod::Gaussian {
                // The elements below it, and those that are weighted along one axis.
                let below = tiles.levels[level - 1].steps.iter();
                let below =
                    below.fold(tiles.tile_len(level), |len, step| len.saturating_mul(*step));
                tile = tile.saturating_add(below.saturating_mul(32));
            }
            let planned = &self.levels[level - 1];
            let object = planned.shard.as_ref().unwrap_or(&planned.chunk);
            let object = object.iter().fold(element, |size, len| size.saturating_mul(*len));
            sum.saturating_add(tile).saturating_add(object)
        })
    }

    /// How many threads may work, within a bound on memory.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if one needs more.
    pub fn check_memory(&self, base: &Array, memory: Option<u64>) -> Result<usize> {
        let memory = memory.unwrap_or_else(crate::copy::default_memory);
        let element = base.data_type().repr().map_or(1, |repr| repr.size() as u64);
        let of_base = self.tiles().base_len().saturating_mul(element);
        let one = self.bytes_per_thread(element, 1..=self.part_level).saturating_add(of_base);
        let top = self.bytes_per_thread(element, self.part_level..=self.levels.len());
        let handed_on = if self.is_journaled { 0 } else { MAX_IN_MEMORY.min(memory / 4) };
        let needed = one.max(top).saturating_add(handed_on);
        if needed > memory {
            let why = format!("the levels need {needed} bytes of memory, and {memory} are given");
            return Err(argument(base.hierarchy(), base.path(), why).with_hint(
                "give more with `--memory` (library: `PyramidOptions::memory`), or smaller chunks and shards with `--chunks` and \
                 `--shards`",
            ));
        }
        Ok(usize::try_from((memory - handed_on) / one.max(1)).unwrap_or(usize::MAX).max(1))
    }

    fn to_json(&self) -> Json {
        let levels = self.levels.iter().map(|level| {
            let level = Object::new()
                .with("path", level.path.as_ref().map_or(Json::Null, Json::from))
                .with("steps", &level.steps[..])
                .with("chunk", &level.chunk[..])
                .with("shard", level.shard.as_ref().map_or(Json::Null, |it| Json::from(&it[..])));
            Json::from(level)
        });
        let object = Object::new()
            .with("group", self.group.as_str())
            .with("base", &*self.base)
            .with("base_shape", &self.base_shape[..])
            .with("base_type", &*self.base_type)
            .with(
                "base_fill",
                self.base_fill.iter().map(|&it| Json::from(u64::from(it))).collect::<Json>(),
            )
            .with("method", self.method.name())
            .with("rounding", self.rounding.name())
            .with("keep_nan", self.keep_nan)
            .with("min_valid", self.min_valid)
            .with("levels", levels.collect::<Json>())
            .with("tile", &self.tile[..])
            .with("root", &self.root[..])
            .with("part_level", self.part_level as u64)
            .with("is_journaled", self.is_journaled);
        match &self.map {
            Some(map) => object.with("map", map.to_json()).into(),
            None => object.into(),
        }
    }

    fn from_json(json: &Json) -> Option<PlannedImage> {
        let text = |name| json.get(name)?.as_str();
        let planned = PlannedImage {
            group: NodePath::new(text("group")?).ok()?,
            map: match json.get("map") {
                Some(map) => Some(OnMap::from_json(map)?),
                None => None,
            },
            base: text("base")?.to_owned(),
            base_shape: lengths(json.get("base_shape")?)?,
            base_type: text("base_type")?.to_owned(),
            base_fill: json
                .get("base_fill")?
                .as_array()?
                .iter()
                .map(|byte| u8::try_from(byte.as_u64()?).ok())
                .collect::<Option<_>>()?,
            method: text("method")?.parse().ok()?,
            rounding: text("rounding")?.parse().ok()?,
            keep_nan: json.get("keep_nan")?.as_bool()?,
            min_valid: json.get("min_valid")?.as_f64()?,
            levels: json
                .get("levels")?
                .as_array()?
                .iter()
                .map(|json| {
                    let shard = json.get("shard")?;
                    Some(PlannedLevel {
                        path: json.get("path")?.as_str().map(str::to_owned),
                        steps: lengths(json.get("steps")?)?,
                        chunk: lengths(json.get("chunk")?)?,
                        shard: if shard.is_null() { None } else { Some(lengths(shard)?) },
                    })
                })
                .collect::<Option<_>>()?,
            tile: lengths(json.get("tile")?)?,
            root: lengths(json.get("root")?)?,
            part_level: usize::try_from(json.get("part_level")?.as_u64()?).ok()?,
            is_journaled: json.get("is_journaled")?.as_bool()?,
        };
        planned.is_sound().then_some(planned)
    }

    /// Whether the lengths fit each other as those of a plan do: a build relies on it.
    fn is_sound(&self) -> bool {
        let rank = self.base_shape.len();
        let has_rank = |lens: &[u64]| lens.len() == rank;
        if let Some(OnMap { plane: Some((y, x)), .. }) = self.map
            && (y >= rank || x >= rank)
        {
            return false;
        }
        let have_rank = self.levels.iter().all(|level| {
            let shard = level.shard.as_ref();
            has_rank(&level.steps) && has_rank(&level.chunk) && shard.is_none_or(|it| has_rank(it))
        });
        let is_whole = have_rank && has_rank(&self.tile) && has_rank(&self.root) && rank > 0;
        let parts = 1..=self.levels.len().min(MAX_LEVELS);
        if !is_whole || !parts.contains(&self.part_level) {
            return false;
        }
        let block = product(self.levels.iter().flat_map(|level| level.steps.iter().copied()));
        let ratios = self.root.iter().zip(&self.tile);
        let tiles_of_root = product(ratios.clone().map(|(root, tile)| root / tile));
        let is_cut = ratios.clone().all(|(root, tile)| root.is_multiple_of(*tile));
        if block > MAX_BLOCK || !is_cut || tiles_of_root > MAX_TILES {
            return false;
        }
        let geometry = self.tiles();
        self.levels.iter().enumerate().all(|(at, level)| {
            let object = level.shard.as_ref().unwrap_or(&level.chunk);
            let (below, shape) = (geometry.shape(at), geometry.shape(at + 1));
            product(level.steps.iter().copied()) <= MAX_STEP
                && (0..rank).all(|axis| {
                    let (tile, root) = (self.tile[axis], self.root[axis]);
                    let has_blocks =
                        at == 0 || tile.is_multiple_of(level.steps[axis]) || tile >= below[axis];
                    has_blocks && (root.is_multiple_of(object[axis]) || root >= shape[axis])
                })
        })
    }
}

/// Lengths of axes, none of them 0.
fn lengths(json: &Json) -> Option<Vec<u64>> {
    json.as_array()?.iter().map(|it| it.as_u64().filter(|&len| len > 0)).collect()
}

/// The product of lengths that come from a journal.
fn product(lengths: impl Iterator<Item = u64>) -> u64 {
    lengths.fold(1, u64::saturating_mul)
}
