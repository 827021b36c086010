//! Writes files whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Writes a file whole, or leaves the one that was there. What is no file, as `/dev/stdout`, is written to.
#[cfg(feature = "plot")]
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(bytes)?;
    file.persist()
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
