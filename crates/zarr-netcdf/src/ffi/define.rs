//! Defines and renames dimensions, variables and groups, and chooses how variables are stored.

use std::ffi::{c_int, c_uint};

use zarr::nczarr::Filter;
use zarr::nczarr::schema::Endian;

use super::attributes::given;
use super::guarded;
use super::pointers::{Input, Lengths, List, Out, Text, int};
use crate::codes::{EINVAL, EMAXDIMS, Result};
use crate::define::{FillMode, MAX_RANK};
use crate::open_files::{self, group_id};
use crate::request::Memory;

const NC_FILL: c_int = 0;
const NC_NOFILL: c_int = 0x100;
const NC_CHUNKED: c_int = 0;
const NC_CONTIGUOUS: c_int = 1;
const NC_COMPACT: c_int = 2;

/// Definitions may follow at any time; what is written yet stays as it is.
pub extern "C" fn redef(ncid: c_int) -> c_int {
    guarded(|| open_files::change(ncid, |_, _| Ok(())))
}

pub extern "C" fn _enddef(ncid: c_int, _: usize, _: usize, _: usize, _: usize) -> c_int {
    guarded(|| open_files::change(ncid, |file, _| file.store()))
}

pub extern "C" fn set_fill(ncid: c_int, mode: c_int, old: Out<c_int>) -> c_int {
    guarded(|| {
        let fills = match mode {
            NC_FILL => true,
            NC_NOFILL => false,
            _ => return Err(EINVAL.into()),
        };
        let before =
            open_files::change(ncid, |file, _| Ok(std::mem::replace(&mut file.fills, fills)))?;
        old.put(if before { NC_FILL } else { NC_NOFILL });
        Ok(())
    })
}

pub extern "C" fn def_dim(ncid: c_int, name: Text, len: usize, id: Out<c_int>) -> c_int {
    guarded(|| {
        let name = name.get()?;
        let define =
            |file: &mut crate::index::File, place| file.define_dimension(place, &name, len);
        id.put(int(open_files::change(ncid, define)?));
        Ok(())
    })
}

pub extern "C" fn rename_dim(ncid: c_int, id: c_int, to: Text) -> c_int {
    guarded(|| {
        let to = to.get()?;
        open_files::change(ncid, |file, _| file.rename_dimension(id, &to))
    })
}

pub extern "C" fn def_var(
    ncid: c_int,
    name: Text,
    ty: c_int,
    rank: c_int,
    dimensions: List<c_int>,
    id: Out<c_int>,
) -> c_int {
    guarded(|| {
        let name = name.get()?;
        let rank = usize::try_from(rank).map_err(|_| EINVAL)?;
        if rank > MAX_RANK {
            return Err(EMAXDIMS.into());
        }
        let dimensions = match dimensions.get(rank) {
            Some(dimensions) => dimensions,
            None if rank == 0 => Vec::new(),
            None => return Err(EINVAL.into()),
        };
        let defined = open_files::change(ncid, |file, place| {
            file.define_variable(place, &name, ty, &dimensions)
        })?;
        id.put(int(defined));
        Ok(())
    })
}

pub extern "C" fn rename_var(ncid: c_int, id: c_int, to: Text) -> c_int {
    guarded(|| {
        let to = to.get()?;
        open_files::change(ncid, |file, place| file.rename_variable(place, id, &to))
    })
}

pub extern "C" fn def_grp(ncid: c_int, name: Text, id: Out<c_int>) -> c_int {
    guarded(|| {
        let name = name.get()?;
        let place = open_files::change(ncid, |file, place| file.define_group(place, &name))?;
        id.put(group_id(ncid, place));
        Ok(())
    })
}

pub extern "C" fn rename_grp(ncid: c_int, to: Text) -> c_int {
    guarded(|| {
        let to = to.get()?;
        open_files::change(ncid, |file, place| file.rename_group(place, &to))
    })
}

/// `no_fill` leaves elements unfilled that are never written; else `value`, if there is one, fills them.
pub extern "C" fn def_var_fill(ncid: c_int, id: c_int, no_fill: c_int, value: Input) -> c_int {
    guarded(|| {
        open_files::change(ncid, |file, place| {
            let ty = file.group(place)?.variable(id)?.ty;
            let fill = if no_fill != 0 {
                FillMode::None
            } else if value.is_null() {
                FillMode::Default
            } else {
                FillMode::With(given(ty, Memory::new(ty, 0)?, 1, value)?.0)
            };
            file.choose_fill(place, id, fill)
        })
    })
}

pub extern "C" fn def_var_deflate(
    ncid: c_int,
    id: c_int,
    shuffle: c_int,
    deflate: c_int,
    level: c_int,
) -> c_int {
    guarded(|| {
        open_files::change(ncid, |file, place| {
            if deflate != 0 {
                let level = u8::try_from(level).ok().filter(|level| *level <= 9).ok_or(EINVAL)?;
                file.choose_filter(place, id, Filter::Deflate { level })?;
            }
            choose_or_drop(file, place, id, Filter::Shuffle, shuffle != 0)
        })
    })
}

pub extern "C" fn def_var_fletcher32(ncid: c_int, id: c_int, checksum: c_int) -> c_int {
    guarded(|| {
        open_files::change(ncid, |file, place| {
            choose_or_drop(file, place, id, Filter::Fletcher32, checksum != 0)
        })
    })
}

fn choose_or_drop(
    file: &mut crate::index::File,
    place: usize,
    id: c_int,
    filter: Filter,
    is_chosen: bool,
) -> Result<()> {
    if is_chosen {
        file.choose_filter(place, id, filter)
    } else {
        file.drop_filter(place, id, &filter)
    }
}

pub extern "C" fn def_var_chunking(ncid: c_int, id: c_int, storage: c_int, lens: Lengths) -> c_int {
    guarded(|| {
        open_files::change(ncid, |file, place| {
            let rank = file.group(place)?.variable(id)?.dimensions.len();
            let lens = match storage {
                NC_CHUNKED => lens.get(rank).filter(|_| rank > 0),
                NC_CONTIGUOUS | NC_COMPACT => None,
                _ => return Err(EINVAL.into()),
            };
            match lens {
                // Without lengths they are chosen by the shape.
                None if storage == NC_CHUNKED => Ok(()),
                lens => file.choose_chunks(place, id, lens.as_deref()),
            }
        })
    })
}

pub extern "C" fn def_var_endian(ncid: c_int, id: c_int, endian: c_int) -> c_int {
    guarded(|| {
        let endian = match endian {
            0 => None,
            1 => Some(Endian::Little),
            2 => Some(Endian::Big),
            _ => return Err(EINVAL.into()),
        };
        open_files::change(ncid, |file, place| file.choose_endian(place, id, endian))
    })
}

pub extern "C" fn def_var_filter(
    ncid: c_int,
    id: c_int,
    filter: c_uint,
    count: usize,
    parameters: List<c_uint>,
) -> c_int {
    guarded(|| {
        // No filter has as many.
        let parameters = parameters.get(count.min(MAX_PARAMETERS)).unwrap_or_default();
        open_files::change(ncid, |file, place| {
            file.choose_hdf5_filter(place, id, filter, &parameters)
        })
    })
}

/// The most parameters of a filter that are looked at.
const MAX_PARAMETERS: usize = 64;
