//! Tells what groups and dimensions there are.

use std::ffi::c_int;

use super::guarded;
use super::pointers::{NameOut, Out, Text, int};
use crate::codes::ENOGRP;
use crate::open_files::{self, group_id};

pub extern "C" fn inq(
    ncid: c_int,
    dimension_count: Out<c_int>,
    variable_count: Out<c_int>,
    attribute_count: Out<c_int>,
    unlimited: Out<c_int>,
) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let group = file.group(place)?;
        dimension_count.put(int(group.dimensions.len()));
        variable_count.put(int(group.variables.len()));
        attribute_count.put(int(group.attributes.list.len()));
        unlimited.put(file.unlimited(place).map_or(-1, int));
        Ok(())
    })
}

pub extern "C" fn inq_dimid(ncid: c_int, name: Text, id: Out<c_int>) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        id.put(int(file.dimension_named(place, &name.get()?)?));
        Ok(())
    })
}

pub extern "C" fn inq_dim(ncid: c_int, id: c_int, name: NameOut, len: Out<usize>) -> c_int {
    guarded(|| {
        let (file, _) = open_files::get(ncid)?;
        let dimension = file.dimension(id)?;
        name.put(&dimension.name);
        len.put(dimension.len);
        Ok(())
    })
}

pub extern "C" fn inq_unlimdim(ncid: c_int, id: Out<c_int>) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        id.put(file.unlimited(place).map_or(-1, int));
        Ok(())
    })
}

/// The unlimited dimensions of the group itself: ncdump looks for each of them among the group's own.
pub extern "C" fn inq_unlimdims(ncid: c_int, count: Out<c_int>, ids: Out<c_int>) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let group = file.group(place)?;
        count.put(int(file.own_unlimited(group).count()));
        ids.put_all(file.own_unlimited(group).map(int));
        Ok(())
    })
}

pub extern "C" fn inq_dimids(
    ncid: c_int,
    count: Out<c_int>,
    ids: Out<c_int>,
    with_parents: c_int,
) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let groups = if with_parents == 0 { 1 } else { usize::MAX };
        let groups = file.and_above(place).take(groups);
        let mut found: Vec<usize> =
            groups.flat_map(|group| group.dimensions.iter().copied()).collect();
        found.sort_unstable();
        count.put(int(found.len()));
        ids.put_all(found.into_iter().map(int));
        Ok(())
    })
}

/// The group of this name in another; of no name the root, which ncdump asks for.
pub extern "C" fn inq_ncid(ncid: c_int, name: Text, id: Out<c_int>) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let found = if name.is_null() {
            0
        } else {
            file.group(place)?.child(&name.get()?).ok_or(ENOGRP)?
        };
        id.put(group_id(ncid, found));
        Ok(())
    })
}

pub extern "C" fn inq_grps(ncid: c_int, count: Out<c_int>, ids: Out<c_int>) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let children = &file.group(place)?.children;
        count.put(int(children.len()));
        ids.put_all(children.iter().map(|&child| group_id(ncid, child)));
        Ok(())
    })
}

pub extern "C" fn inq_grpname(ncid: c_int, name: NameOut) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        name.put(&file.group(place)?.name);
        Ok(())
    })
}

pub extern "C" fn inq_grpname_full(ncid: c_int, len: Out<usize>, name: NameOut) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let full_name = &file.group(place)?.full_name;
        len.put(full_name.len());
        name.put(full_name);
        Ok(())
    })
}

pub extern "C" fn inq_grp_parent(ncid: c_int, id: Out<c_int>) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let parent = file.group(place)?.parent.ok_or(ENOGRP)?;
        id.put(group_id(ncid, parent));
        Ok(())
    })
}

pub extern "C" fn inq_grp_full_ncid(ncid: c_int, path: Text, id: Out<c_int>) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let found = file.group_at(place, &path.get()?).ok_or(ENOGRP)?;
        id.put(group_id(ncid, found));
        Ok(())
    })
}
