//! Writes files whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::Failure;

/// Writes a file whole, or leaves the one that was there. What is no file, as `/dev/stdout`, is written to.
#[cfg(feature = "plot")]
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(bytes)?;
    file.persist()
}

/// Refuses to write to a file that is what a command reads, or is in it: it would be gone.
pub(crate) fn refuse_source(output: &Path, source: &str) -> Result<(), Failure> {
    let (_, place) = source.rsplit_once("::").unwrap_or(("", source));
    // A node of a hierarchy may have been named: the hierarchy is what must stay.
    let (place, _) = zarr::tools::split_at_store(place.strip_prefix("file://").unwrap_or(place));
    let (Ok(file), Ok(place)) = (fs::canonicalize(output), fs::canonicalize(place)) else {
        return Ok(());
    };
    if file.is_file() && file.starts_with(place) {
        let why =
            format!("{} is what is read, or a file in it; give another --output", output.display());
        return Err(Failure::usage(why));
    }
    Ok(())
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
        #[cfg_attr(not(unix), expect(unused_mut, reason = "permissions are Unix's"))]
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
        Ok(WholeFile { place, file: Written::Temporary(file) })
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
