//! Finds the dimensions of a netCDF file that no variable has: they are in no document, and in no copy to plain Zarr.

use std::collections::HashSet;

use zarr_core::store::{GetOptions, StoreKey};
use zarr_core::{Error, Hierarchy, Json, MetadataError, Node, NodePath, Result};

/// The key beside a group's document that names its dimensions, in the stores of netCDF files (`zarr-virtual`).
const FILE_TYPES: &str = "netcdf_types.json";

/// The dimensions that the groups among `nodes` define, and that no array of `all` in such a group or below it has, by
/// their full names. None of any other store than that of a netCDF file.
///
/// # Errors
/// What reading them meets.
pub(super) fn unused_dimensions<'a>(
    source: &Hierarchy,
    nodes: impl Iterator<Item = &'a Node>,
    all: &[Node],
) -> Result<Vec<String>> {
    let name = source.store().name();
    if !["hdf5::", "netcdf3::"].iter().any(|scheme| name.contains(scheme)) {
        return Ok(Vec::new());
    }
    let mut used: HashSet<(NodePath, String)> = HashSet::new();
    for array in all.iter().filter_map(Node::as_array) {
        let names = array.dimension_names().unwrap_or_default();
        for name in names.into_iter().flatten() {
            let groups = array.path().ancestors();
            used.extend(groups.map(|group| (group, name.clone())));
        }
    }
    let mut unused = Vec::new();
    for group in nodes.filter_map(Node::as_group) {
        for name in dimensions(source, group.path())? {
            let entry = (group.path().clone(), name);
            if !used.contains(&entry) {
                let (group, name) = entry;
                unused.push(format!("{}/{name}", group.as_str().trim_end_matches('/')));
            }
        }
    }
    Ok(unused)
}

/// The names of the dimensions that a group of a netCDF file defines.
fn dimensions(source: &Hierarchy, group: &NodePath) -> Result<Vec<String>> {
    let key = format!("{}/{FILE_TYPES}", group.relative());
    let key = StoreKey::new(key.trim_start_matches('/'))?;
    let at = |e: Error| e.at_store(source.store().name()).at_path(group).at_key(&key);
    let limit = source.options().limits.document;
    let got = source.store().to_sync().get(&key, GetOptions::at_most(limit));
    let Some(bytes) = got.map_err(|e| at(e.into()))?.and_then(|got| got.bytes) else {
        return Ok(Vec::new());
    };
    let json = Json::parse(&bytes).map_err(|e| at(MetadataError::Json(e).into()))?;
    let listed = json.as_object().and_then(|types| types.get("dimensions")?.as_array());
    let names = listed.unwrap_or_default().iter();
    Ok(names.filter_map(|it| Some(it.as_object()?.get("name")?.as_str()?.to_owned())).collect())
}

/// What a copy to plain Zarr does not keep of such a dimension.
pub(super) fn not_kept(dimension: &str) -> String {
    format!("{dimension}: no variable has this dimension, and plain Zarr cannot record it")
}
