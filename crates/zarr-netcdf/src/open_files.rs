//! The files that are open in this process, by the numbers that netcdf-c gives them.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Arc, OnceLock, RwLock};

use zarr::{Registry, sync};

use crate::codes::{EBADID, Result};
use crate::index::File;

static FILES: RwLock<Option<HashMap<u16, Arc<File>>>> = RwLock::new(None);

/// The upper half of a number says which file, the lower which group.
fn parts(ncid: c_int) -> (u16, usize) {
    let bits = ncid.cast_unsigned();
    ((bits >> 16) as u16, (bits & 0xffff) as usize)
}

/// The number of a group of the file that `ncid` is of.
pub fn group_id(ncid: c_int, place: usize) -> c_int {
    let file = ncid.cast_unsigned() & 0xffff_0000;
    // A file has at most 65,536 groups.
    (file | (place as u32 & 0xffff)).cast_signed()
}

/// Keeps a file that was opened under the number of its root.
pub fn insert(ncid: c_int, file: File) {
    sync::write(&FILES).get_or_insert_default().insert(parts(ncid).0, Arc::new(file));
}

/// The file and the group of a number. Whoever reads from it needs no lock, and may go on while another thread closes it.
///
/// # Errors
/// [`EBADID`].
pub fn get(ncid: c_int) -> Result<(Arc<File>, usize)> {
    let (number, place) = parts(ncid);
    let files = sync::read(&FILES);
    let file = files.as_ref().and_then(|files| files.get(&number)).cloned().ok_or(EBADID)?;
    file.group(place)?;
    Ok((file, place))
}

/// Forgets a file.
///
/// # Errors
/// [`EBADID`].
pub fn remove(ncid: c_int) -> Result<()> {
    let removed = sync::write(&FILES).as_mut().and_then(|files| files.remove(&parts(ncid).0));
    removed.map(drop).ok_or_else(|| EBADID.into())
}

/// The codecs and stores of this build.
pub fn registry() -> Arc<Registry> {
    static REGISTRY: OnceLock<Arc<Registry>> = OnceLock::new();
    REGISTRY.get_or_init(|| Arc::new(zarr::standard())).clone()
}
