//! Writes files whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use tempfile::NamedTempFile;
use zarr::format::is_zarr_key;
use zarr::store::{Store, StoreKey};

use crate::failure::Failure;

/// Writes a file whole, or leaves the one that was there. What is no file, as `/dev/stdout`, is written to.
#[cfg(feature = "plot")]
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(bytes)?;
    file.persist()
}

/// Refuses to write to a file that a command reads, or that is in what it reads, be it by references: it would be gone. Refuses a
/// new file there whose name says that it is Zarr's.
pub(crate) fn refuse_source(output: &Path, source: &Arc<dyn Store>) -> Result<(), Failure> {
    if !may_harm(output) {
        return Ok(());
    }
    let places = source.to_sync().places();
    let places = places.map_err(|error| zarr::Error::from(error).at_store(source.name()))?;
    refuse_places(output, &places)
}

/// As [`refuse_source`], for the places that a command reads from.
pub(crate) fn refuse_places(output: &Path, places: &[String]) -> Result<(), Failure> {
    if !may_harm(output) || !zarr::tools::is_in_places(output, places) {
        return Ok(());
    }
    let file = output.display();
    Err(Failure::Usage(if output.exists() {
        format!("{file} is the input, or a file in it; choose another --output")
    } else {
        format!("{file} would become part of the hierarchy that is read; choose another --output")
    }))
}

/// Whether a file may be one that is read: it is there, or readers of Zarr look for its name. It costs less to ask for that than for the
/// places that references lead to.
pub(crate) fn may_harm(output: &Path) -> bool {
    if output.exists() {
        return output.is_file();
    }
    // The folders above tell whether it may be a chunk or a document of a draft.
    let names = output.components().filter_map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let names: Vec<&str> = names.collect();
    StoreKey::new(names.join("/")).is_ok_and(|key| is_zarr_key(&key))
}

/// A file under way, which takes its name once it is whole.
pub(crate) struct WholeFile {
    place: PathBuf,
    file: Written,
}

enum Written {
    Temporary(NamedTempFile),
    /// A device or a pipe has no other file in its place.
    Device(fs::File),
}

impl WholeFile {
    pub fn create(path: &Path) -> io::Result<WholeFile> {
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if place.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if place.metadata().is_ok_and(|place| !place.is_file()) {
            let device = fs::OpenOptions::new().write(true).open(&place)?;
            return Ok(WholeFile { place, file: Written::Device(device) });
        }
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.exists()) {
            // The error of a temporary file names that file, which nobody asked for.
            let why = format!("there is no folder {}; create it first", folder.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, why));
        }
        #[cfg_attr(not(unix), expect(unused_mut, reason = "permissions are Unix's"))]
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
        Ok(WholeFile { place, file: Written::Temporary(file) })
    }

    /// Where the bytes that were written are until the file gets its name; `None` of a device or a pipe.
    pub fn temporary_path(&self) -> Option<&Path> {
        match &self.file {
            Written::Temporary(file) => Some(file.path()),
            Written::Device(_) => None,
        }
    }

    /// Gives the file its name. One that is dropped before leaves nothing.
    pub fn persist(self) -> io::Result<()> {
        match self.file {
            Written::Temporary(file) => drop(file.persist(self.place)?),
            Written::Device(mut device) => device.flush()?,
        }
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Written::Temporary(file) => file.write(bytes),
            Written::Device(device) => device.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.file {
            Written::Temporary(file) => file.flush(),
            Written::Device(device) => device.flush(),
        }
    }
}
