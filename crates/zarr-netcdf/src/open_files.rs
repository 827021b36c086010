//! The files that are open in this process, by the numbers that netcdf-c gives them.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use zarr::{Registry, sync};

use crate::codes::{EBADID, Result};
use crate::gathered::{Gathered, Key};
use crate::index::File;

static FILES: RwLock<Option<HashMap<u16, Arc<OpenFile>>>> = RwLock::new(None);

/// A file as it is now. Calls that only ask share it; one that changes it waits for no reader: those keep what they have.
struct OpenFile {
    now: RwLock<Arc<File>>,
    gathered: Mutex<Gathered>,
}

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
    let file = OpenFile { now: RwLock::new(Arc::new(file)), gathered: Mutex::default() };
    sync::write(&FILES).get_or_insert_default().insert(parts(ncid).0, Arc::new(file));
}

fn find(ncid: c_int) -> Result<Arc<OpenFile>> {
    let files = sync::read(&FILES);
    let found = files.as_ref().and_then(|files| files.get(&parts(ncid).0));
    found.cloned().ok_or_else(|| EBADID.into())
}

/// The file and the group of a number. Whoever reads from it needs no lock, and may go on while another thread changes or
/// closes it.
///
/// # Errors
/// [`EBADID`].
pub fn get(ncid: c_int) -> Result<(Arc<File>, usize)> {
    let file = sync::read(&find(ncid)?.now).clone();
    let place = parts(ncid).1;
    file.group(place)?;
    Ok((file, place))
}

/// The same, once the variable of this number is stored, so that it has elements.
///
/// # Errors
/// [`EBADID`], `ENOTVAR`; what [`File::store`] meets.
pub fn get_stored(ncid: c_int, variable: c_int) -> Result<(Arc<File>, usize)> {
    let (file, place) = get(ncid)?;
    if file.group(place)?.variable(variable)?.handle.is_some() {
        return Ok((file, place));
    }
    drop(file);
    change(ncid, |file, _| file.store())?;
    get(ncid)
}

/// Has `change` change a file that was opened for that, at the group of the number.
///
/// # Errors
/// [`EBADID`]; `EPERM`; those of `change`, which may have done a part.
pub fn change<T>(ncid: c_int, change: impl FnOnce(&mut File, usize) -> Result<T>) -> Result<T> {
    let file = find(ncid)?;
    let place = parts(ncid).1;
    let mut now = sync::write(&file.now);
    now.group(place)?;
    now.check_writable()?;
    change(Arc::make_mut(&mut now), place)
}

/// Calls `use_them` with a file and its elements that are not written yet.
///
/// # Errors
/// [`EBADID`]; those of `use_them`.
pub fn with_gathered<T>(
    ncid: c_int,
    use_them: impl FnOnce(&File, &mut Gathered) -> Result<T>,
) -> Result<T> {
    let found = find(ncid)?;
    let mut gathered = sync::lock(&found.gathered);
    // Behind the lock, so that the file knows all variables of which there are elements.
    let file = sync::read(&found.now).clone();
    use_them(&file, &mut gathered)
}

/// Writes the elements of a file that are not written yet.
///
/// # Errors
/// [`EBADID`]; what the store meets.
pub fn write_gathered(ncid: c_int) -> Result<()> {
    with_gathered(ncid, |file, gathered| gathered.write_all(file))
}

/// The same of one variable.
///
/// # Errors
/// As [`write_gathered`].
pub fn write_gathered_of(ncid: c_int, variable: Key) -> Result<()> {
    with_gathered(ncid, |file, gathered| gathered.write_out(file, variable))
}

/// Reads the lengths of a file's unlimited dimensions again.
///
/// # Errors
/// [`EBADID`]; what the store meets.
pub fn refresh(ncid: c_int) -> Result<()> {
    Arc::make_mut(&mut sync::write(&find(ncid)?.now)).refresh_lengths()
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
