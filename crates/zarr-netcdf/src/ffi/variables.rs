//! Tells what variables there are, and how they are stored.

use std::ffi::{c_int, c_uint};

use zarr::nczarr::{Filter, Values};

use super::guarded;
use super::pointers::{Data, NameOut, Out, Text, int};
use crate::codes::{ENOFILTER, NOERR};
use crate::filters;
use crate::open_files;

/// How full a cache must be before netcdf-c empties it; its own default.
const CACHE_PREEMPTION: f32 = 0.75;
/// How many chunks a cache is told to have places for; its own default.
const CACHE_PLACES: usize = 4133;

pub extern "C" fn inq_varid(ncid: c_int, name: Text, id: Out<c_int>) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        id.put(int(file.group(place)?.variable_named(&name.get()?)?));
        Ok(())
    })
}

pub extern "C" fn inq_varids(ncid: c_int, count: Out<c_int>, ids: Out<c_int>) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let found = file.group(place)?.variables.len();
        count.put(int(found));
        ids.put_all((0..found).map(int));
        Ok(())
    })
}

/// `inq_var_all`: all that there is to say of a variable.
pub type InqVarAll = extern "C" fn(
    ncid: c_int,
    id: c_int,
    name: NameOut,
    ty: Out<c_int>,
    dimension_count: Out<c_int>,
    dimensions: Out<c_int>,
    attribute_count: Out<c_int>,
    is_shuffled: Out<c_int>,
    is_deflated: Out<c_int>,
    deflate_level: Out<c_int>,
    has_checksum: Out<c_int>,
    is_contiguous: Out<c_int>,
    chunks: Out<usize>,
    is_without_fill: Out<c_int>,
    fill: Data,
    endian: Out<c_int>,
    filter: Out<c_uint>,
    parameter_count: Out<usize>,
    parameters: Out<c_uint>,
) -> c_int;

pub extern "C" fn inq_var_all(
    ncid: c_int,
    id: c_int,
    name: NameOut,
    ty: Out<c_int>,
    dimension_count: Out<c_int>,
    dimensions: Out<c_int>,
    attribute_count: Out<c_int>,
    is_shuffled: Out<c_int>,
    is_deflated: Out<c_int>,
    deflate_level: Out<c_int>,
    has_checksum: Out<c_int>,
    is_contiguous: Out<c_int>,
    chunks: Out<usize>,
    is_without_fill: Out<c_int>,
    fill: Data,
    endian: Out<c_int>,
    filter: Out<c_uint>,
    parameter_count: Out<usize>,
    parameters: Out<c_uint>,
) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let variable = file.group(place)?.variable(id)?;
        name.put(&variable.name);
        ty.put(variable.type_id());
        dimension_count.put(int(variable.dimensions.len()));
        dimensions.put_all(variable.dimensions.iter().copied().map(int));
        attribute_count.put(int(variable.attributes.list.len()));
        is_shuffled.put(c_int::from(variable.has_filter(&Filter::Shuffle)));
        let level = variable.deflate_level();
        is_deflated.put(c_int::from(level.is_some()));
        if let Some(level) = level {
            deflate_level.put(c_int::from(level));
        }
        has_checksum.put(c_int::from(variable.has_filter(&Filter::Fletcher32)));
        let lens = file.chunks(variable);
        is_contiguous.put(c_int::from(lens.is_none()));
        if let Some(lens) = lens {
            chunks.put_all(lens);
        }
        is_without_fill.put(c_int::from(variable.is_without_fill()));
        endian.put(variable.endian());
        // What programs asked for that knew one filter at most.
        if let Some((first, values)) = file.filters(variable).first() {
            filter.put(*first);
            parameter_count.put(values.len());
            parameters.put_all(values.iter().copied());
        } else {
            filter.put(0);
            parameter_count.put(0);
        }
        if !fill.is_null() {
            // Last, so that after an error nothing of it is allocated.
            match variable.fill() {
                Values::String(texts) => {
                    fill.put_texts(texts.get(..1).unwrap_or_default(), |_| 0)?
                }
                value => fill.put_at(0, &value.to_ne_bytes()),
            }
        }
        Ok(())
    })
}

pub extern "C" fn var_par_access(_: c_int, _: c_int, _: c_int) -> c_int {
    NOERR
}

pub extern "C" fn set_var_chunk_cache(_: c_int, _: c_int, _: usize, _: usize, _: f32) -> c_int {
    NOERR
}

/// The cache is the dataset's, and not the variable's.
pub extern "C" fn get_var_chunk_cache(
    ncid: c_int,
    id: c_int,
    size: Out<usize>,
    places: Out<usize>,
    preemption: Out<f32>,
) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        file.group(place)?.variable(id)?;
        size.put(usize::try_from(file.cache_bytes).unwrap_or(usize::MAX));
        places.put(CACHE_PLACES);
        preemption.put(CACHE_PREEMPTION);
        Ok(())
    })
}

pub extern "C" fn inq_var_filter_ids(
    ncid: c_int,
    id: c_int,
    count: Out<usize>,
    ids: Out<c_uint>,
) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let variable = file.group(place)?.variable(id)?;
        let all = file.filters(variable);
        count.put(all.len());
        ids.put_all(all.iter().map(|(filter, _)| *filter));
        Ok(())
    })
}

pub extern "C" fn inq_var_filter_info(
    ncid: c_int,
    id: c_int,
    filter: c_uint,
    count: Out<usize>,
    parameters: Out<c_uint>,
) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let variable = file.group(place)?.variable(id)?;
        let found = file.filters(variable).into_iter().find(|(other, _)| *other == filter);
        let (_, values) = found.ok_or(ENOFILTER)?;
        count.put(values.len());
        parameters.put_all(values);
        Ok(())
    })
}

/// Numbers are not rounded before they are stored.
pub extern "C" fn inq_var_quantize(
    ncid: c_int,
    id: c_int,
    mode: Out<c_int>,
    digits: Out<c_int>,
) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        file.group(place)?.variable(id)?;
        mode.put(0);
        digits.put(0);
        Ok(())
    })
}

/// Whether variables are written with the filter of this number.
pub extern "C" fn inq_filter_avail(_: c_int, filter: c_uint) -> c_int {
    if filters::WRITTEN.contains(&filter) { NOERR } else { ENOFILTER }
}
