//! Finds the levels of lower resolution of an array on a map: by GeoZarr's `multiscales.layout`, ndpyramid's datasets, a
//! tile matrix set, or EOPF's names of groups.

use zarr_core::{Array, ErrorKind, Json, NodePath, Object, Result};

use super::attributes;
use super::place::Transform;
use crate::meaning::text;

/// How many groups above an array are looked at for the levels that it is one of.
const ABOVE: usize = 3;
/// More levels are left out.
const MAX_LEVELS: usize = 64;
/// What EOPF calls the groups of bands of one resolution.
const EOPF: [&str; 3] = ["r10m", "r20m", "r60m"];

/// One of several sizes of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct MapLevel {
    /// The array's path in its hierarchy.
    pub path: NodePath,
    /// How many times as wide and as high its elements are as those of the level that all are derived from, if that is said.
    pub scale: Option<(f64, f64)>,
    /// Where the level is, if the layout says it.
    pub transform: Option<Transform>,
}

/// The sizes of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct MapLevels {
    /// The group whose attributes list them.
    pub group: NodePath,
    /// The attributes of that group.
    pub(super) attributes: Object,
    /// Each level, in the order of the document.
    pub levels: Vec<MapLevel>,
}

impl MapLevels {
    /// The levels that an array is one of; nothing if it is none of any. The groups above it are opened.
    ///
    /// # Errors
    /// What the store reports.
    pub fn of_array(array: &Array) -> Result<Option<MapLevels>> {
        for group in array.path().ancestors().filter(|path| path != array.path()).take(ABOVE) {
            let Some(inside) = inside(&group, array.path()) else { continue };
            if let Some(attributes) = attributes_of(array, &group)?
                && let Some(levels) = listed(&attributes, &inside)
            {
                let levels = levels
                    .into_iter()
                    .take(MAX_LEVELS)
                    .filter_map(|(asset, scale, transform)| {
                        let path = group.join(&asset).ok()?;
                        Some(MapLevel { path, scale, transform })
                    })
                    .collect();
                return Ok(Some(MapLevels { group, attributes, levels }));
            }
        }
        Ok(eopf(array.path()))
    }

    /// What the layout of a group lists: the path of each level from the group, in the order of the document.
    pub fn of_group(attributes: &Object) -> Vec<String> {
        let assets = match attributes.get("multiscales") {
            Some(Json::Object(multiscales)) => layout(multiscales),
            _ => None,
        };
        assets.unwrap_or_default().into_iter().map(|item| item.asset).collect()
    }
}

/// The path of a level from its group, its scale, its transform.
type Listed = (String, Option<(f64, f64)>, Option<Transform>);

/// The path of a node from a group above it.
fn inside(group: &NodePath, node: &NodePath) -> Option<String> {
    let rest =
        if group.is_root() { node.as_str() } else { node.as_str().strip_prefix(group.as_str())? };
    Some(rest.trim_start_matches('/').to_owned())
}

/// The attributes of a group; nothing if there is none.
pub(super) fn attributes_of(array: &Array, group: &NodePath) -> Result<Option<Object>> {
    match array.hierarchy().group(group) {
        Ok(group) => Ok(Some(group.attributes().clone())),
        Err(error) if error.kind() == ErrorKind::Store => Err(error),
        Err(_) => Ok(None),
    }
}

/// An item of a layout.
struct Item {
    asset: String,
    scale: Option<(f64, f64)>,
    transform: Option<Transform>,
}

fn listed(attributes: &Object, inside: &str) -> Option<Vec<Listed>> {
    let items = match attributes.get("multiscales")? {
        Json::Object(multiscales) => layout(multiscales).or_else(|| matrices(multiscales))?,
        Json::Array(list) => list.iter().find_map(ndpyramid)?,
        _ => return None,
    };
    // What is behind the asset that the array is in: the name of the variable, or nothing.
    let rests = items.iter().filter_map(|item| {
        // The base may be the group itself, which everything is in.
        if item.asset.is_empty() {
            return Some((0, inside));
        }
        let rest = inside.strip_prefix(&item.asset)?;
        let rest = if rest.is_empty() { rest } else { rest.strip_prefix('/')? };
        Some((item.asset.len(), rest))
    });
    let (_, rest) = rests.max_by_key(|(len, _)| *len)?;
    let listed = items.into_iter().map(|item| {
        let is_joined = !item.asset.is_empty() && !rest.is_empty();
        let path = format!("{}{}{rest}", item.asset, if is_joined { "/" } else { "" });
        (path, item.scale, item.transform)
    });
    Some(listed.collect())
}

/// GeoZarr's `layout`. Scales are relative to the level that an item is derived from.
fn layout(multiscales: &Object) -> Option<Vec<Item>> {
    let layout = multiscales.get("layout")?.as_array()?;
    let mut items: Vec<Item> = Vec::new();
    for json in layout.iter().take(MAX_LEVELS) {
        let Some(members) = json.as_object() else { continue };
        let Some(asset) = members.get("asset").and_then(Json::as_str) else { continue };
        let asset = asset.trim_end_matches('/');
        let asset = if asset == "." { "" } else { asset };
        let own = json.get("transform").and_then(|it| it.get("scale")).and_then(scale);
        let base = members.get("derived_from").and_then(Json::as_str);
        let base = base.map(|name| if name == "." { "" } else { name.trim_end_matches('/') });
        let scale = match base {
            None => own.or(Some((1.0, 1.0))),
            Some(name) => {
                let base = items.iter().find(|item| item.asset == name);
                let base = base.and_then(|item| item.scale);
                base.zip(own).map(|(base, own)| (base.0 * own.0, base.1 * own.1))
            }
        };
        let transform = members.get("spatial:transform").or_else(|| members.get("proj:transform"));
        let transform = attributes::numbers::<6>(transform).map(Transform::of_corner);
        items.push(Item { asset: asset.to_owned(), scale, transform });
    }
    (!items.is_empty()).then_some(items)
}

/// The last two numbers, of y and x; the conventions' examples have two, GDAL one for each axis of the array.
fn scale(json: &Json) -> Option<(f64, f64)> {
    let [.., y, x] = json.as_array()? else { return None };
    Some((x.as_f64().filter(is_scale)?, y.as_f64().filter(is_scale)?))
}

/// Whether the number can be a scale.
fn is_scale(&scale: &f64) -> bool {
    scale.is_finite() && scale > 0.0
}

/// A draft's `tile_matrix_set`: groups called as its matrices.
fn matrices(multiscales: &Object) -> Option<Vec<Item>> {
    let set = multiscales.get("tile_matrix_set")?;
    let limits = multiscales.get("tile_matrix_limits").and_then(Json::as_object);
    let names: Vec<String> = match (limits, set.get("tileMatrices").and_then(Json::as_array)) {
        (Some(limits), _) => limits.iter().map(|(name, _)| name.to_owned()).collect(),
        (None, Some(list)) => {
            list.iter().filter_map(|it| it.get("id")?.as_str().map(str::to_owned)).collect()
        }
        _ => return None,
    };
    let items = names.into_iter().take(MAX_LEVELS);
    Some(items.map(|asset| Item { asset, scale: None, transform: None }).collect())
}

/// ndpyramid's `datasets`: groups without axes and transformations of OME.
fn ndpyramid(json: &Json) -> Option<Vec<Item>> {
    let members = json.as_object()?;
    if members.contains("axes") {
        return None;
    }
    let datasets = members.get("datasets")?.as_array()?;
    let items: Vec<Item> = datasets
        .iter()
        .take(MAX_LEVELS)
        .filter_map(|dataset| {
            let asset = text(dataset.as_object()?, "path")?;
            Some(Item { asset, scale: None, transform: None })
        })
        .collect();
    (!items.is_empty()).then_some(items)
}

/// `…/r10m/b02`, `…/r20m/b02`, `…/r60m/b02`: those that are not there are left out when they are opened.
fn eopf(path: &NodePath) -> Option<MapLevels> {
    let (name, group) = (path.name()?, path.parent()?);
    let above = group.parent()?;
    if !EOPF.contains(&group.name()?) {
        return None;
    }
    let levels = EOPF
        .iter()
        .filter_map(|resolution| {
            let path = above.join(&format!("{resolution}/{name}")).ok()?;
            Some(MapLevel { path, scale: None, transform: None })
        })
        .collect();
    Some(MapLevels { group: above, attributes: Object::new(), levels })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str, inside: &str) -> Vec<String> {
        let Json::Object(attributes) = Json::parse(text.as_bytes()).unwrap() else { panic!() };
        let found = listed(&attributes, inside).unwrap_or_default();
        found.into_iter().map(|(path, ..)| path).collect()
    }

    #[test]
    fn levels_are_groups_arrays_or_the_group_itself() {
        let groups = r#"{"multiscales": {"layout": [{"asset": "0"}, {"asset": "1", "derived_from": "0",
            "transform": {"scale": [2.0, 2.0]}}]}}"#;
        assert_eq!(paths(groups, "0/t2m"), ["0/t2m", "1/t2m"]);
        assert_eq!(paths(groups, "1/a/b"), ["0/a/b", "1/a/b"]);
        assert_eq!(paths(groups, "1"), ["0", "1"]);
        assert_eq!(paths(groups, "10/t2m"), [""; 0]);
        // As GDAL: the base is in the group, overviews are in others.
        let gdal = r#"{"multiscales": {"layout": [{"asset": "."}, {"asset": "ovr_2x"}, {"asset": "ovr_4x"}]}}"#;
        assert_eq!(paths(gdal, "b"), ["b", "ovr_2x/b", "ovr_4x/b"]);
        assert_eq!(paths(gdal, "ovr_2x/b"), ["b", "ovr_2x/b", "ovr_4x/b"]);
        let arrays = r#"{"multiscales": {"layout": [{"asset": "b"}, {"asset": "ovr_2x/b"}]}}"#;
        assert_eq!(paths(arrays, "b"), ["b", "ovr_2x/b"]);
    }

    #[test]
    fn ndpyramid_and_tile_matrix_sets_are_read_and_omes_not() {
        let ndpyramid = r#"{"multiscales": [{"datasets": [{"path": "0", "pixels_per_tile": 128, "crs": "EPSG:3857"},
            {"path": "1"}], "type": "reduce"}]}"#;
        assert_eq!(paths(ndpyramid, "1/tas"), ["0/tas", "1/tas"]);
        let matrices =
            r#"{"multiscales": {"tile_matrix_set": {"tileMatrices": [{"id": "0"}, {"id": "1"}]}}}"#;
        assert_eq!(paths(matrices, "1/b"), ["0/b", "1/b"]);
        let limits = r#"{"multiscales": {"tile_matrix_set": "WebMercatorQuad", "tile_matrix_limits": {"3": {}, "4": {}}}}"#;
        assert_eq!(paths(limits, "3/b"), ["3/b", "4/b"]);
        let ome = r#"{"multiscales": [{"axes": [], "datasets": [{"path": "0"}]}]}"#;
        assert_eq!(paths(ome, "0"), [""; 0]);
        for odd in [r#"{"multiscales": 1}"#, "{}", r#"{"multiscales": {"layout": [1, {}]}}"#] {
            assert_eq!(paths(odd, "0"), [""; 0], "{odd}");
        }
    }

    #[test]
    fn scales_are_multiplied_along_what_levels_derive_from() {
        let text = r#"{"layout": [{"asset": "0"},
            {"asset": "1", "derived_from": "0", "transform": {"scale": [1, 2, 3]}},
            {"asset": "2", "derived_from": "1", "transform": {"scale": [2, 2]}, "spatial:transform": [1, 0, 5, 0, -1, 7]},
            {"asset": "3", "derived_from": "x", "transform": {"scale": [2, 2]}}]}"#;
        let Json::Object(members) = Json::parse(text.as_bytes()).unwrap() else { panic!() };
        let items = layout(&members).unwrap();
        let scales: Vec<_> = items.iter().map(|item| item.scale).collect();
        assert_eq!(scales, [Some((1.0, 1.0)), Some((3.0, 2.0)), Some((6.0, 4.0)), None]);
        assert_eq!(items[2].transform.unwrap().c, 5.0);
    }

    #[test]
    fn eopf_names_groups_by_their_resolution() {
        let path = NodePath::new("measurements/reflectance/r20m/b05").unwrap();
        let found = eopf(&path).unwrap();
        let paths: Vec<&str> = found.levels.iter().map(|level| level.path.as_str()).collect();
        let at = |name: &str| format!("/measurements/reflectance/{name}/b05");
        assert_eq!(paths, [at("r10m"), at("r20m"), at("r60m")]);
        assert_eq!(eopf(&NodePath::new("a/b").unwrap()), None);
    }
}
