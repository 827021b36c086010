//! Opens and closes files, and tells their format.

use std::ffi::c_int;

use super::guarded;
use super::pointers::{Model, Out, Text, Unused};
use crate::codes::{ENOPAR, EPERM, Failure, NOERR};
use crate::index::File;
use crate::open_files;

const NC_WRITE: c_int = 0x1;
const NC_MPIIO: c_int = 0x2000;
const NC_NETCDF4: c_int = 0x1000;
/// What `inq_format` calls the data model. A number of `inq_format_extended` there would end `ncdump -s`.
const NC_FORMAT_NETCDF4: c_int = 3;

/// `NC_INMEMORY` is no hindrance: the path counts, and not the bytes.
pub extern "C" fn open(
    path: Text,
    mode: c_int,
    _: c_int,
    _: Out<usize>,
    _: Unused,
    table: Model,
    ncid: c_int,
) -> c_int {
    guarded(|| {
        let path = path.get()?;
        if mode & NC_MPIIO != 0 {
            return Err(Failure::new(ENOPAR, format!("{path}: Zarr data are not opened with MPI")));
        }
        if mode & NC_WRITE != 0 {
            let why = "Zarr data are read-only to netCDF's programs; open them for reading";
            return Err(Failure::new(EPERM, format!("{path}: {why}")));
        }
        open_files::insert(ncid, File::open(&path, table.get(), open_files::registry())?);
        Ok(())
    })
}

pub extern "C" fn close(ncid: c_int, _: Unused) -> c_int {
    guarded(|| open_files::remove(ncid))
}

pub extern "C" fn abort(ncid: c_int) -> c_int {
    guarded(|| open_files::remove(ncid))
}

pub extern "C" fn sync(_: c_int) -> c_int {
    NOERR
}

pub extern "C" fn show_metadata(_: c_int) -> c_int {
    NOERR
}

pub extern "C" fn inq_format(ncid: c_int, format: Out<c_int>) -> c_int {
    guarded(|| {
        open_files::get(ncid)?;
        format.put(NC_FORMAT_NETCDF4);
        Ok(())
    })
}

pub extern "C" fn inq_format_extended(ncid: c_int, format: Out<c_int>, mode: Out<c_int>) -> c_int {
    guarded(|| {
        let (file, _) = open_files::get(ncid)?;
        format.put(file.model);
        mode.put(NC_NETCDF4);
        Ok(())
    })
}
