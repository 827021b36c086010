//! Keeps the lists that NCZarr groups have of their nodes, where a node is renamed or erased as one of plain Zarr. netCDF's library opens
//! no dataset with a list that names a node which is not there.

use zarr_core::{Hierarchy, Json, NodePath, Object, Result};

use crate::copy::{NETCDF_GROUP, NETCDF_LISTS};

/// Takes a node that is no longer at `old` out of the list of the group that it was in, and puts it into that of the group where it
/// is `new`. Groups without such lists are left as they are.
///
/// # Errors
/// What the store reports.
pub fn update_netcdf_lists(
    hierarchy: &Hierarchy,
    old: &NodePath,
    new: Option<&NodePath>,
) -> Result<()> {
    let Some((above, name)) = parts(old) else { return Ok(()) };
    let mut list = None;
    let renamed = new.and_then(parts).filter(|(group, _)| *group == above);
    change(hierarchy, &above, &mut |lists| {
        for member in NETCDF_LISTS {
            let Some(Json::Array(names)) = lists.get(member).cloned() else { continue };
            let is_old = |found: &Json| found.as_str() == Some(&name);
            if !names.iter().any(is_old) {
                continue;
            }
            list = Some(member);
            let names = names.into_iter().filter_map(|found| match &renamed {
                _ if !is_old(&found) => Some(found),
                Some((_, new)) => Some(Json::from(new.as_str())),
                None => None,
            });
            let names: Vec<Json> = names.collect();
            lists.insert(member, names);
        }
    })?;
    let (Some(list), Some((above, name)), None) = (list, new.and_then(parts), renamed) else {
        return Ok(());
    };
    change(hierarchy, &above, &mut |lists| {
        let mut names: Vec<Json> =
            lists.get(list).and_then(Json::as_array).unwrap_or_default().to_vec();
        names.push(Json::from(name.as_str()));
        lists.insert(list, names);
    })
}

/// The group that a node is in, and the name of the node.
fn parts(path: &NodePath) -> Option<(NodePath, String)> {
    Some((path.parent()?, path.name()?.to_owned()))
}

/// Changes the lists of a group that has some.
fn change(
    hierarchy: &Hierarchy,
    path: &NodePath,
    change: &mut (dyn FnMut(&mut Object) + Send),
) -> Result<()> {
    let Ok(group) = hierarchy.group(path) else { return Ok(()) };
    if !matches!(group.attributes().get(NETCDF_GROUP), Some(Json::Object(_))) {
        return Ok(());
    }
    group.update_attributes(|attributes| {
        if let Some(Json::Object(lists)) = attributes.get(NETCDF_GROUP).cloned() {
            let mut lists = lists;
            change(&mut lists);
            attributes.insert(NETCDF_GROUP, lists);
        }
    })?;
    Ok(())
}
