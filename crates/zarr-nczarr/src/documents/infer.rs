//! Infers the dimensions of an array that refers to none (N-092 … N-094).

use zarr_core::metadata::ArrayMetadata;
use zarr_core::{Dialect, Json};

use crate::model::name::{check_name, full_name};
use crate::model::root::Root;
use crate::model::schema::Dimension;

/// What netCDF's library calls dimensions without a name (N-092).
pub(crate) fn anonymous(len: u64) -> String {
    format!("_Anonymous_Dim_{len}")
}

/// The axes' names as the document has them; `None` for an axis without one that can be used. What breaks the
/// rules of xarray gives a warning, and is ignored (N-093).
pub(crate) fn names(
    metadata: &ArrayMetadata,
    dialect: Dialect,
    xarray: bool,
    troubles: &mut Vec<String>,
) -> Vec<Option<String>> {
    let rank = metadata.rank();
    if dialect == Dialect::V3
        && let Some(names) = &metadata.dimension_names
    {
        return names.iter().map(|name| name.clone().filter(|name| usable(name))).collect();
    }
    let nameless = vec![None; rank];
    let Some(json) = metadata.attributes.get("_ARRAY_DIMENSIONS").filter(|_| xarray) else {
        return nameless;
    };
    let names = json.as_array().and_then(|items| {
        let names = items.iter().map(|item| {
            let name = item.as_str()?;
            Some(usable(name).then(|| name.to_owned()))
        });
        names.collect::<Option<Vec<_>>>()
    });
    let names = names.filter(|names| names.len() == rank);
    names.unwrap_or_else(|| {
        let what = "is not a list of one name for each axis; ignored";
        troubles.push(format!("`_ARRAY_DIMENSIONS` {} {what}", json.brief()));
        nameless
    })
}

/// Whether netCDF allows the name.
fn usable(name: &str) -> bool {
    check_name(name).is_ok()
}

/// Whether an array is a scalar in netCDF's eyes though it has an axis: netcdf-c 4.9.0 writes one of length 1,
/// and an empty list of names.
pub(crate) fn is_scalar_of_length_1(metadata: &ArrayMetadata) -> bool {
    let names = metadata.attributes.get("_ARRAY_DIMENSIONS").and_then(Json::as_array);
    metadata.shape == [1] && names.is_some_and(<[Json]>::is_empty)
}

/// Finds or makes the dimensions of an array of `shape` in the group at `path`, and returns their full names.
///
/// With `share`, a dimension of the same name and length in a group above is taken.
pub(crate) fn dimensions(
    root: &mut Root,
    path: &str,
    names: &[Option<String>],
    shape: &[u64],
    share: bool,
    troubles: &mut Vec<String>,
) -> Vec<String> {
    // N-094: one name cannot have two lengths; the later array goes without names.
    let axes = || names.iter().zip(shape);
    let mut clash = axes().enumerate().filter_map(|(axis, (name, &len))| {
        let name = name.as_ref()?;
        let before = axes().take(axis).find(|(other, _)| other.as_ref() == Some(name));
        let there =
            root.own_dimension(path, name).cloned().filter(|dimension| !dimension.unlimited);
        let other = before.map(|(_, &len)| len).or(there.map(|dimension| dimension.len))?;
        (other != len).then(|| format!("dimension `{name}` has length {other}, and here {len}"))
    });
    let clash = clash.next();
    let nameless = vec![None; names.len()];
    let names = match &clash {
        Some(what) => {
            troubles.push(format!("{what}; its dimensions go without names"));
            &nameless[..]
        }
        None => names,
    };
    let found = names.iter().zip(shape).map(|(name, &len)| {
        let Some(name) = name else {
            let name = anonymous(len);
            if root.own_dimension("", &name).is_none() {
                root.add_dimension("", Dimension::new(&name, len));
            }
            return full_name("/", &name);
        };
        if share && root.own_dimension(path, name).is_none() {
            let above = ancestors(path).find(|above| {
                let there = root.dimension(&full_name(above, name));
                there.is_some_and(|dimension| dimension.len == len || dimension.unlimited)
            });
            if let Some(above) = above {
                return full_name(above, name);
            }
        }
        if root.own_dimension(path, name).is_none() {
            root.add_dimension(path, Dimension::new(name, len));
        }
        full_name(path, name)
    });
    found.collect()
}

/// The groups above the one at `path`, the nearest first.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    fn above(path: &str) -> Option<&str> {
        match path.rfind('/')? {
            _ if path == "/" => None,
            0 => Some("/"),
            at => Some(&path[..at]),
        }
    }
    std::iter::successors(above(path), |path| above(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::Group;

    fn some(names: &[&str]) -> Vec<Option<String>> {
        names.iter().map(|name| Some((*name).to_owned())).collect()
    }

    /// N-092, N-094.
    #[test]
    fn dimensions_are_found_or_made() {
        let mut root = Group::new("");
        root.groups.push(Group::new("g"));
        let mut root = Root::new(root);
        let mut troubles = Vec::new();
        let mut infer =
            |root: &mut Root, path: &str, names: &[Option<String>], shape: &[u64], share| {
                dimensions(root, path, names, shape, share, &mut troubles)
            };
        assert_eq!(infer(&mut root, "/", &some(&["y", "x"]), &[2, 3], false), ["/y", "/x"]);
        assert_eq!(infer(&mut root, "/g", &some(&["x"]), &[3], false), ["/g/x"]);
        let none = [None, None];
        let names = infer(&mut root, "/g", &none, &[8, 8], false);
        assert_eq!(names, ["/_Anonymous_Dim_8", "/_Anonymous_Dim_8"]);
        // The same name, another length.
        let names = infer(&mut root, "/", &some(&["y", "x"]), &[2, 4], false);
        assert_eq!(names, ["/_Anonymous_Dim_2", "/_Anonymous_Dim_4"]);
        let names = infer(&mut root, "/", &some(&["n", "n"]), &[2, 4], false);
        assert_eq!(names, ["/_Anonymous_Dim_2", "/_Anonymous_Dim_4"]);
        assert_eq!(infer(&mut root, "/g", &some(&["y"]), &[2], true), ["/y"]);
        assert_eq!(infer(&mut root, "/g", &some(&["y"]), &[5], true), ["/g/y"]);
        assert_eq!(troubles.len(), 2);
        assert_eq!(root.dimension("/g/x"), Some(&Dimension::new("x", 3)));
    }

    #[test]
    fn groups_above_are_named_from_the_nearest() {
        assert_eq!(ancestors("/a/b/c").collect::<Vec<_>>(), ["/a/b", "/a", "/"]);
        assert_eq!(ancestors("/a").collect::<Vec<_>>(), ["/"]);
        assert_eq!(ancestors("/").count(), 0);
    }
}
