//! Creates, opens, synchronizes and closes files, and tells their format.

use std::ffi::c_int;

use super::guarded;
use super::pointers::{Model, Out, Text, Unused};
use crate::codes::{EDISKLESS, ENOPAR, Failure, NOERR, Result};
use crate::index::File;
use crate::open_files;

const NC_WRITE: c_int = 0x1;
const NC_NOCLOBBER: c_int = 0x4;
const NC_DISKLESS: c_int = 0x8;
const NC_INMEMORY: c_int = 0x8000;
const NC_MPIIO: c_int = 0x2000;
const NC_NETCDF4: c_int = 0x1000;
/// What `inq_format` calls the data model. A number of `inq_format_extended` there would end `ncdump -s`.
const NC_FORMAT_NETCDF4: c_int = 3;

fn check_serial(path: &str, mode: c_int) -> Result<()> {
    if mode & NC_MPIIO == 0 {
        return Ok(());
    }
    Err(Failure::new(ENOPAR, format!("{path}: Zarr data are not opened with MPI")))
}

/// What is there is replaced, if it is Zarr data, unless the mode has `NC_NOCLOBBER`.
pub extern "C" fn create(
    path: Text,
    mode: c_int,
    _: usize,
    _: c_int,
    _: Out<usize>,
    _: Unused,
    table: Model,
    ncid: c_int,
) -> c_int {
    guarded(|| {
        let path = path.get()?;
        check_serial(&path, mode)?;
        if mode & (NC_DISKLESS | NC_INMEMORY) != 0 {
            let why = "Zarr data are not created in memory";
            return Err(Failure::new(EDISKLESS, format!("{path}: {why}")));
        }
        let clobbers = mode & NC_NOCLOBBER == 0;
        let file = File::create(&path, clobbers, table.get(), open_files::registry())?;
        open_files::insert(ncid, file);
        Ok(())
    })
}

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
        check_serial(&path, mode)?;
        let is_writable = mode & NC_WRITE != 0;
        let file = File::open(&path, is_writable, table.get(), open_files::registry())?;
        open_files::insert(ncid, file);
        Ok(())
    })
}

fn flush(ncid: c_int) -> Result<()> {
    open_files::write_gathered(ncid)?;
    open_files::change(ncid, |file, _| file.flush())
}

/// Stores what is pending. After an error the file stays open, so that its program may try again or abort.
pub extern "C" fn close(ncid: c_int, _: Unused) -> c_int {
    guarded(|| {
        if open_files::get(ncid)?.0.is_writable {
            flush(ncid)?;
        }
        open_files::remove(ncid)
    })
}

pub extern "C" fn abort(ncid: c_int) -> c_int {
    guarded(|| {
        let (file, _) = open_files::get(ncid)?;
        // Elements were written by calls that succeeded; only definitions are taken back.
        let written = open_files::write_gathered(ncid);
        open_files::remove(ncid)?;
        file.abort().and(written)
    })
}

/// Puts what was written where others see it; who only reads sees how long unlimited dimensions are by now.
pub extern "C" fn sync(ncid: c_int) -> c_int {
    guarded(|| {
        if open_files::get(ncid)?.0.is_writable {
            return flush(ncid);
        }
        open_files::refresh(ncid)
    })
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
