//! Plans the levels of a map: of all variables on its plane, with the same factors.

#[cfg(doc)]
use zarr_core::AccessError;
use zarr_core::{Array, Error, ErrorKind, Group, Result};

use super::geo::{Map, Role, is_categorical, name_of, path_in};
use super::geo_levels::{self, PlannedMap, PlannedMapLevel};
use super::image::Image;
use super::plan::{
    PyramidPlan, along_axes, argument, existing_levels, method_of, type_problem, wanted_levels,
};
use super::{PyramidMethod, PyramidOptions};

/// A variable whose levels are to be made.
struct Variable<'a> {
    array: &'a Array,
    image: Image,
    options: PyramidOptions<'a>,
}

/// Adds to a plan the levels that the variables of a map lack. What no levels can be made of is noted, and left out.
///
/// # Errors
/// [`AccessError::Argument`] if the group is no map, if no variable can have levels, or if options do not fit; what the store reports.
pub(super) fn add_map(
    plan: &mut PyramidPlan,
    group: &Group,
    options: &PyramidOptions<'_>,
) -> Result<()> {
    let map = Map::of(group)?.ok_or_else(|| not_a_map(group))?;
    check_options(group, &map, options)?;
    let mut left_out = Vec::new();
    let mut variables = Vec::new();
    for array in &map.arrays {
        let why = match map.role(array) {
            Role::Variable => match variable(group, &map, array, options)? {
                Ok(variable) => {
                    variables.push(variable);
                    None
                }
                Err(why) => Some(why),
            },
            role => map.obstacle(array, role),
        };
        if let Some(why) = why {
            left_out.push(format!("{}: left out of the levels: {why}", array.path()));
        }
    }
    // The variable that gets most levels says how many there are.
    let mut reference: Option<(&Image, Vec<Vec<u64>>)> = None;
    for variable in &variables {
        if !is_on_plane(&variable.image) {
            continue;
        }
        let Variable { array, image, options } = variable;
        let wanted = wanted_levels(group, image, array, options)?;
        if reference.as_ref().is_none_or(|(_, most)| most.len() < wanted.len()) {
            reference = Some((image, wanted));
        }
    }
    let Some((reference, wanted)) = reference else {
        let why = format!("no variable can have levels: {}", left_out.join("; "));
        return Err(argument(group.hierarchy(), group.path(), why));
    };
    plan.notes.append(&mut left_out);
    let factors: Vec<[u64; 2]> =
        wanted.iter().map(|factors| factors_of(&map, reference, factors)).collect();
    let levels = levels(&map, &factors);
    for variable in &variables {
        let Variable { array, image, options } = variable;
        let wanted = along_axes(reference, &wanted, image);
        let assets = levels.iter().skip(map.levels.len());
        let paths = assets.map(|level| path_in(&level.asset, name_of(array))).collect();
        if let Some(planned) = plan.image(group, image, array, &wanted, paths, options)? {
            plan.images.push(planned);
        }
    }
    if plan.images.is_empty() {
        return Ok(());
    }
    let method = options.method.or(map.method).unwrap_or(PyramidMethod::Mean);
    let existing = map.levels.len();
    plan.map = Some(PlannedMap { dimensions: map.dimensions.clone(), existing, levels, method });
    geo_levels::check(group, &map, plan)
}

/// The error of a group that is no map.
fn not_a_map(group: &Group) -> Error {
    let why = "no variable of this group, or of its child `0`, has dimensions of y and x";
    argument(group.hierarchy(), group.path(), why).with_hint(
        "dimensions are known by the attributes `axis`, `standard_name` or `units` of their coordinates, by names such as lat and \
         lon, or by the attribute `spatial:dimensions` of the group: `zarr attrs DATASET --set 'spatial:dimensions=[\"rows\", \"columns\"]'`",
    )
}

/// Refuses options that fit no variable.
fn check_options(group: &Group, map: &Map, options: &PyramidOptions<'_>) -> Result<()> {
    let [y, x] = &map.dimensions;
    if let Some((name, _)) = options.factors.iter().find(|(name, _)| name != y && name != x) {
        let why = format!("unknown axis `{name}`; levels of this map are made along {y} and {x}");
        return Err(argument(group.hierarchy(), group.path(), why));
    }
    let variables = || map.arrays.iter().filter(|array| map.role(array) == Role::Variable);
    for (what, shape) in [("chunks", &options.chunks), ("shards", &options.shards)] {
        let Some(shape) = shape.as_ref().filter(|shape| !shape.is_empty()) else { continue };
        if !variables().any(|array| array.rank() == shape.len()) {
            let why = format!("no variable has {} axes, as the {what} {shape:?} have", shape.len());
            return Err(argument(group.hierarchy(), group.path(), why));
        }
    }
    Ok(())
}

/// A variable with the options for it, or why it can have no levels.
fn variable<'a>(
    group: &Group,
    map: &Map,
    array: &'a Array,
    options: &PyramidOptions<'a>,
) -> Result<std::result::Result<Variable<'a>, String>> {
    let image = map.image(array);
    let nearest = options.method.filter(|&method| method == PyramidMethod::Nearest);
    let method = if is_categorical(array) {
        nearest.or(Some(PyramidMethod::Mode))
    } else if map.is_auxiliary(array) {
        nearest.or(Some(PyramidMethod::Mean))
    } else {
        options.method
    };
    let rank = array.rank();
    let options = PyramidOptions {
        method,
        chunks: options.chunks.clone().filter(|chunks| chunks.len() == rank),
        shards: options.shards.clone().filter(|shards| shards.is_empty() || shards.len() == rank),
        ..options.clone()
    };
    if array.is_empty() {
        return Ok(Err("it has no elements".to_owned()));
    }
    if let Some(lack) = array.metadata().unsupported.first() {
        return Ok(Err(format!("unknown {} `{}`", lack.what, lack.name)));
    }
    if let Some(why) = type_problem(array, method_of(array, &image, &options)) {
        return Ok(Err(why));
    }
    // It may have been left out of the levels that are there.
    match existing_levels(group, &image, array) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Ok(Err("it is not in the levels that are there".to_owned()))
        }
        Err(error) => Err(error),
        Ok(_) => Ok(Ok(Variable { array, image, options })),
    }
}

fn is_on_plane(image: &Image) -> bool {
    image.map.is_some_and(|map| map.plane.is_some())
}

/// The factors along y and x, of those along the axes of a variable that has both.
fn factors_of(map: &Map, image: &Image, factors: &[u64]) -> [u64; 2] {
    [0, 1].map(|at| {
        let axis = image.axes.iter().position(|axis| axis.name == map.dimensions[at]);
        axis.map_or(1, |axis| factors[axis])
    })
}

/// The levels that there are, the base first, and the new ones, of which these are the factors above the base.
fn levels(map: &Map, factors: &[[u64; 2]]) -> Vec<PlannedMapLevel> {
    let base = PlannedMapLevel { asset: map.levels[0].asset.clone(), factors: [1, 1] };
    let mut levels = vec![base];
    for (n, &factors) in factors.iter().enumerate() {
        let asset = match map.levels.get(n + 1) {
            Some(level) => level.asset.clone(),
            None => Map::next_asset(&levels[n].asset, factors),
        };
        levels.push(PlannedMapLevel { asset, factors });
    }
    levels
}
