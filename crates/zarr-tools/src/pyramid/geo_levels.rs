//! Writes what the levels of a map have beside the arrays that are made as images: groups, coordinates, the arrays that are the same
//! at all levels, and the layout that lists the levels.

use std::sync::Arc;

use zarr_core::grid::RegularGrid;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{
    AccessError, Array, CoreType, Error, ErrorKind, Group, Guard, Hierarchy, Json, Node, NodePath,
    Object, Result, Scalar, missing_value,
};

use super::PyramidMethod;
use super::geo::{Map, Role, name_of, path_in, resampling};
use super::geo_place::{self, Affine, Coarser};
use super::plan::{PyramidPlan, argument};
use crate::shorthand::default_codecs;

/// Coordinates are one chunk, up to this number of them.
const MAX_CHUNK: u64 = 1 << 20;
/// The attribute in which a node declares its conventions.
const CONVENTIONS: &str = "zarr_conventions";

/// The levels of a map.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlannedMap {
    /// The names of the dimensions of y and of x.
    pub dimensions: [String; 2],
    /// How many levels there are already, with the base.
    pub existing: usize,
    /// All levels, the base first.
    pub levels: Vec<PlannedMapLevel>,
    /// How the levels of most variables are made.
    pub method: PyramidMethod,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlannedMapLevel {
    /// As [`super::geo::MapLevel::asset`].
    pub asset: String,
    /// How many elements of the base one of it covers along y and x.
    pub factors: [u64; 2],
}

/// A convention, as version 0.1 of its schema wants it to be declared.
struct Convention {
    uuid: &'static str,
    name: &'static str,
    description: &'static str,
}

const MULTISCALES: Convention = Convention {
    uuid: "d35379db-88df-4056-af3a-620245f8e347",
    name: "multiscales",
    description: "Multiscale layout of zarr datasets",
};
const SPATIAL: Convention = Convention {
    uuid: "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4",
    name: "spatial",
    description: "Spatial coordinate information",
};
const PROJ: Convention = Convention {
    uuid: "f17cb550-5864-4468-aeb7-f3180cfb622f",
    name: "proj",
    description: "Coordinate reference system information for geospatial data",
};

impl Convention {
    /// Declares it in the attributes of a node, if they do not yet. By its uuid: URLs are those of a version.
    fn declare(&self, attributes: &mut Object) {
        let mut list = match attributes.get(CONVENTIONS) {
            None => Vec::new(),
            Some(Json::Array(list)) => list.clone(),
            // `zarr validate` says what is wrong with it.
            Some(_) => return,
        };
        if list.iter().any(|entry| self.is(entry)) {
            return;
        }
        let Convention { uuid, name, description } = self;
        let at = "https://raw.githubusercontent.com/zarr-conventions";
        let entry = Object::new()
            .with("schema_url", format!("{at}/{name}/refs/tags/v0.1/schema.json"))
            .with(
                "spec_url",
                format!("https://github.com/zarr-conventions/{name}/blob/v0.1/README.md"),
            )
            .with("uuid", *uuid)
            .with("name", *name)
            .with("description", *description);
        list.push(entry.into());
        attributes.insert(CONVENTIONS, list);
    }

    fn is(&self, entry: &Json) -> bool {
        entry.get("uuid").and_then(Json::as_str) == Some(self.uuid)
    }
}

impl PlannedMap {
    pub fn to_json(&self) -> Json {
        let levels = self.levels.iter().map(|level| {
            let level = Object::new().with("asset", &*level.asset).with("factors", level.factors);
            Json::from(level)
        });
        Object::new()
            .with("dimensions", self.dimensions.clone())
            .with("existing", self.existing)
            .with("levels", levels.collect::<Json>())
            .with("method", self.method.name())
            .into()
    }

    /// The map that [`PlannedMap::to_json`] wrote.
    pub fn from_json(json: &Json) -> Option<PlannedMap> {
        let [y, x] = json.get("dimensions")?.as_array()? else { return None };
        let levels = json.get("levels")?.as_array()?.iter().map(|level| {
            let [y, x] = level.get("factors")?.as_array()? else { return None };
            let factors = [y.as_u64()?, x.as_u64()?];
            let asset = level.get("asset")?.as_str()?.to_owned();
            (!factors.contains(&0)).then_some(PlannedMapLevel { asset, factors })
        });
        let levels: Vec<PlannedMapLevel> = levels.collect::<Option<_>>()?;
        let existing = usize::try_from(json.get("existing")?.as_u64()?).ok()?;
        (1..=levels.len()).contains(&existing).then_some(PlannedMap {
            dimensions: [y.as_str()?.to_owned(), x.as_str()?.to_owned()],
            existing,
            levels,
            method: json.get("method")?.as_str()?.parse().ok()?,
        })
    }

    /// Whether a map lists the levels that there were, or all, if an earlier call was killed after it had listed them.
    fn is_listed_by(&self, map: &Map) -> bool {
        let count = map.levels.len();
        let listed = map.levels.iter().map(|level| &level.asset);
        [self.existing, self.levels.len()].contains(&count)
            && listed.eq(self.levels[..count].iter().map(|level| &level.asset))
    }

    fn new_levels(&self) -> &[PlannedMapLevel] {
        &self.levels[self.existing..]
    }

    fn coarser(&self, map: &Map, level: &PlannedMapLevel) -> Coarser {
        Coarser {
            lengths: map.lengths,
            factors: level.factors,
            is_node: map.is_node,
            is_first: self.method == PyramidMethod::Nearest,
        }
    }
}

/// An array of a level that is not made as an image.
pub(super) struct Beside<'a> {
    pub path: NodePath,
    pub metadata: ArrayMetadata,
    from: &'a Array,
    role: Role,
    factors: [u64; 2],
}

/// The map that a plan is of, as it is stored now.
///
/// # Errors
/// [`AccessError::Argument`] if it is another one.
pub(super) fn map_of(plan: &PyramidPlan, planned: &PlannedMap) -> Result<(Group, Map)> {
    let group = plan.hierarchy.group(&plan.path)?;
    if let Some(map) = Map::of(&group)?
        && map.dimensions == planned.dimensions
        && planned.is_listed_by(&map)
    {
        return Ok((group, map));
    }
    let why = "the group is no longer the map for which the pyramid was begun";
    Err(argument(&plan.hierarchy, &plan.path, why)
        .with_hint("undo what was changed, or erase the journal below `.zarr-copy`"))
}

/// The arrays that new levels get beside those that are made as images.
pub(super) fn beside<'a>(
    group: &Group,
    map: &'a Map,
    planned: &PlannedMap,
) -> Result<Vec<Beside<'a>>> {
    let mut found = Vec::new();
    for level in planned.new_levels() {
        for array in &map.arrays {
            let role = map.role(array);
            if role == Role::Variable || map.obstacle(array, role).is_some() {
                continue;
            }
            let path = group.path().join(&path_in(&level.asset, name_of(array)))?;
            let metadata = metadata_in(array, role, &planned.coarser(map, level))?;
            found.push(Beside { path, metadata, from: array, role, factors: level.factors });
        }
    }
    Ok(found)
}

/// Whether all arrays and groups of the levels can be created.
pub(super) fn check(group: &Group, map: &Map, plan: &PyramidPlan) -> Result<()> {
    let Some(planned) = &plan.map else { return Ok(()) };
    for array in beside(group, map, planned)? {
        group.hierarchy().check_array(&array.path, &array.metadata)?;
    }
    let place = map.place(group)?;
    for level in planned.new_levels() {
        let path = group.path().join(&level.asset)?;
        let attributes = attributes_in(map, planned, level, place);
        group.hierarchy().check_group(&path, &attributes)?;
    }
    Ok(())
}

/// The metadata that an array of the base has in a level.
fn metadata_in(array: &Array, role: Role, coarser: &Coarser) -> Result<ArrayMetadata> {
    let mut metadata = (*array.metadata()).clone();
    let mut shape = metadata.shape.clone();
    match role {
        Role::Coordinates(axis) | Role::Bounds(axis) => shape[0] = coarser.lengths()[axis],
        Role::Same | Role::Variable => {
            coarser.change(&mut metadata.attributes);
            return Ok(metadata);
        }
    }
    let chunk: Vec<u64> = shape.iter().map(|&len| len.clamp(1, MAX_CHUNK)).collect();
    let is_whole = matches!(metadata.data_type.scalar(), Some(Scalar::Int(_) | Scalar::Uint(_)));
    if matches!(role, Role::Coordinates(_)) && is_whole && !coarser.is_first {
        // The mean of 0 and 1 is no integer.
        let mut doubles = ArrayMetadata::new(&shape, CoreType::Float64.into(), &chunk)?;
        doubles.codecs.extend(default_codecs(array.hierarchy(), 1));
        doubles.chunk_keys = metadata.chunk_keys;
        doubles.dimension_names = metadata.dimension_names;
        doubles.attributes = metadata.attributes;
        for name in ["_FillValue", "missing_value"] {
            doubles.attributes.remove(name);
        }
        let dialect = array.hierarchy().dialect();
        if missing_value::is_fill_value(dialect) {
            // No coordinate is missing.
            doubles.fill_value = None;
        }
        return Ok(doubles.converted_to(dialect, array.hierarchy().registry())?);
    }
    metadata = metadata.unsharded();
    metadata.grid = Some(Arc::new(RegularGrid::new(&chunk, &shape)?));
    metadata.shape = shape;
    Ok(metadata)
}

/// Writes the chunks of the arrays beside, of which there are no documents yet.
pub(super) fn write_chunks(
    hierarchy: &Hierarchy,
    arrays: &[Beside<'_>],
    planned: &PlannedMap,
) -> Result<()> {
    for beside in arrays {
        let array = hierarchy.array_of_metadata(&beside.path, beside.metadata.clone())?;
        let array = array.with_options(|options| options.guard = Guard::Off);
        let is_first = planned.method == PyramidMethod::Nearest;
        match beside.role {
            Role::Coordinates(axis) => {
                let factor = factor_of(beside.factors[axis]);
                let numbers = geo_place::numbers(beside.from)?;
                let coarser = geo_place::coarser_coordinates(&numbers, factor, is_first);
                geo_place::write_numbers(&array, &coarser)?;
            }
            Role::Bounds(axis) => {
                let factor = factor_of(beside.factors[axis]);
                let numbers = geo_place::numbers(beside.from)?;
                geo_place::write_numbers(&array, &geo_place::coarser_bounds(&numbers, factor))?;
            }
            Role::Same | Role::Variable => copy_chunks(beside.from, &array)?,
        }
    }
    Ok(())
}

/// A factor as the length of a block of numbers in memory.
fn factor_of(factor: u64) -> usize {
    usize::try_from(factor).unwrap_or(usize::MAX / 2)
}

/// Copies the chunks of an array as they are stored to one with the same metadata.
fn copy_chunks(from: &Array, to: &Array) -> Result<()> {
    let store = to.hierarchy().store().to_sync();
    for (chunk, copy) in from.chunks(..)?.zip(to.chunks(..)?) {
        let Some(bytes) = chunk.encoded()? else { continue };
        let key = copy.key()?;
        let set = store.set(&key, (&bytes[..]).into());
        set.map_err(|e| Error::from(e).at_store(store.name()).at_key(&key))?;
    }
    Ok(())
}

/// Creates the groups of the new levels. One that an earlier call has created gets what it lacks.
pub(super) fn create_groups(group: &Group, map: &Map, planned: &PlannedMap) -> Result<()> {
    let place = map.place(group)?;
    for level in planned.new_levels() {
        let path = group.path().join(&level.asset)?;
        let attributes = attributes_in(map, planned, level, place);
        let found = match group.hierarchy().node(&path) {
            // One without a document is made explicit.
            Ok(Node::Group(found)) if !found.metadata().implicit => found,
            Ok(Node::Array(_)) => {
                let error = Error::from(AccessError::Exists("an array"));
                let error = error.at_store(group.hierarchy().store().name()).at_path(&path);
                return Err(error.with_hint("a level belongs there; move or erase it"));
            }
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {
                group.hierarchy().create_group(&path, attributes)?;
                continue;
            }
        };
        found.update_attributes(|theirs| {
            for (name, value) in attributes.iter() {
                if !theirs.contains(name) {
                    theirs.insert(name, value.clone());
                }
            }
        })?;
    }
    Ok(())
}

/// The attributes of the group of a level: those of the base's group, but for the levels of that, and where the level is.
fn attributes_in(
    map: &Map,
    planned: &PlannedMap,
    level: &PlannedMapLevel,
    place: Option<Affine>,
) -> Object {
    let mut attributes = map.base.attributes().clone();
    attributes.remove("multiscales");
    if let Some(Json::Array(list)) = attributes.get(CONVENTIONS) {
        let list: Vec<Json> = list.iter().filter(|entry| !MULTISCALES.is(entry)).cloned().collect();
        attributes.insert(CONVENTIONS, list);
    }
    let coarser = planned.coarser(map, level);
    attributes.remove("spatial:transform");
    attributes.remove("spatial:bbox");
    let place = place.map(|place| coarser.transform(place));
    set_place(&mut attributes, map, coarser.lengths(), place);
    SPATIAL.declare(&mut attributes);
    set_projection(&mut attributes, map);
    attributes
}

/// Says where the arrays of a group are.
fn set_place(attributes: &mut Object, map: &Map, lengths: [u64; 2], place: Option<Affine>) {
    attributes.insert("spatial:dimensions", map.dimensions.clone());
    attributes.insert("spatial:shape", lengths);
    if let Some(place) = place {
        attributes.insert("spatial:transform", place);
        attributes.insert("spatial:bbox", geo_place::extent(place, lengths, map.is_node));
        if map.is_node {
            attributes.insert("spatial:registration", "node");
        }
    }
}

/// Says the reference system of the arrays of a group, if it does not yet and one is known.
fn set_projection(attributes: &mut Object, map: &Map) {
    if geo_place::projection(attributes).is_none()
        && let Some((name, value)) = map.projection()
    {
        attributes.insert(name, value);
    }
    if geo_place::projection(attributes).is_some() {
        PROJ.declare(attributes);
    }
}

/// Lists the new levels in the attributes of the group of the map.
pub(super) fn list_levels(group: &Group, map: &Map, planned: &PlannedMap) -> Result<()> {
    let place = map.place(group)?;
    let items = items(map, planned, place);
    group.update_attributes(|attributes| {
        let mut multiscales =
            attributes.get("multiscales").and_then(Json::as_object).cloned().unwrap_or_default();
        let layout = multiscales.get("layout").and_then(Json::as_array).unwrap_or_default();
        let mut layout = layout.to_vec();
        // Those that are listed stay as they are.
        let first = if layout.is_empty() { 0 } else { planned.existing };
        for (level, item) in planned.levels.iter().zip(&items).skip(first) {
            if !layout.iter().any(|listed| listed["asset"] == *asset_name(level)) {
                layout.push(item.clone());
            }
        }
        multiscales.insert("layout", layout);
        if !multiscales.contains("resampling_method") {
            multiscales.insert("resampling_method", resampling(planned.method));
        }
        attributes.insert("multiscales", multiscales);
        MULTISCALES.declare(attributes);
        let mut of_base = Object::new();
        set_place(&mut of_base, map, map.lengths, place);
        if !map.levels[0].asset.is_empty() {
            // Its own children are levels: a shape and a transform would be of one of them.
            of_base.remove("spatial:shape");
            of_base.remove("spatial:transform");
        }
        for (name, value) in of_base.iter() {
            if !attributes.contains(name) {
                attributes.insert(name, value.clone());
            }
        }
        SPATIAL.declare(attributes);
        set_projection(attributes, map);
    })?;
    Ok(())
}

/// The items of the layout, of all levels.
fn items(map: &Map, planned: &PlannedMap, place: Option<Affine>) -> Vec<Json> {
    let mut items: Vec<Json> = Vec::new();
    for (n, level) in planned.levels.iter().enumerate() {
        let coarser = planned.coarser(map, level);
        let mut item = Object::new().with("asset", asset_name(level));
        let mut steps = [1.0, 1.0];
        if let Some(before) = n.checked_sub(1).map(|n| &planned.levels[n]) {
            item.insert("derived_from", asset_name(before));
            steps = [0, 1].map(|at| level.factors[at] as f64 / before.factors[at] as f64);
        }
        // Outer corners stay where they are. The middle of the first element is that of its block, in elements of the level before.
        let translation = if map.is_node && !coarser.is_first {
            steps.map(|step| (step - 1.0) / 2.0)
        } else {
            [0.0, 0.0]
        };
        let transform = Object::new().with("scale", steps).with("translation", translation);
        item.insert("transform", transform);
        item.insert("spatial:shape", coarser.lengths());
        if let Some(place) = place {
            item.insert("spatial:transform", coarser.transform(place));
        }
        if n > 0 {
            item.insert("resampling_method", resampling(planned.method));
        }
        items.push(item.into());
    }
    items
}

/// What a layout calls a level; the group itself as GDAL does.
fn asset_name(level: &PlannedMapLevel) -> &str {
    if level.asset.is_empty() { "." } else { &level.asset }
}
