//! How is an archive changed so that it is whole at every moment?

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zarr_core::store::{Payload, StoreKey};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::archive::{Archive, broken};
use super::at::At;
use crate::opened::is_still_at;

/// What is appended to the archive's name.
const PART: &str = ".zarr-part";
const COMPACT: &str = ".zarr-compact";

/// Entries of 4 GiB and more need wider fields.
const WIDE: u64 = u32::MAX as u64;

/// A copy of the archive that is written to, and takes its place when it is finished.
///
/// The system's lock on the copy is the right to write; it goes with the process.
#[derive(Debug)]
pub(super) struct Staging {
    path: PathBuf,
    lock: Arc<File>,
    zip: ZipWriter<At>,
    /// Whether there are bytes in it that no entry has.
    has_gaps: bool,
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// The file beside the archive, created and locked.
fn lock(path: &Path) -> io::Result<File> {
    loop {
        let file =
            File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let why = "another writer has the archive open; one may write at a time";
                return Err(io::Error::new(ErrorKind::WouldBlock, why));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Another writer may have renamed it meanwhile: then it is the archive itself.
        if is_still_at(path, &file)? {
            return Ok(file);
        }
    }
}

impl Staging {
    /// Begins to write to the archive at `path`; and what it holds now, which may be another's since.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] if another writer has begun; whatever the system said.
    pub fn begin(path: &Path, folder: &str) -> io::Result<(Staging, Archive)> {
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        let part = lock(&beside(path, PART))?;
        part.set_len(0)?;
        let (archive, is_there) = match File::open(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                (Archive::empty(part.try_clone()?, folder), false)
            }
            Err(e) => return Err(e),
            Ok(mut file) => {
                part.set_permissions(file.metadata()?.permissions())?;
                // In the kernel, and without moving data where the file system can share it.
                io::copy(&mut file, &mut &part)?;
                (Archive::read(part.try_clone()?, folder)?, true)
            }
        };
        let at = At::new(&archive.file, 0);
        let zip = match is_there {
            true => ZipWriter::new_append(at).map_err(broken)?,
            false => ZipWriter::new(at),
        };
        let staging = Staging { path: path.into(), lock: Arc::new(part), zip, has_gaps: false };
        Ok((staging, archive))
    }

    /// Sets a key's value, all of which is made (`None`: erases it).
    pub fn put(
        &mut self,
        archive: &mut Archive,
        key: &StoreKey,
        value: Option<&Payload<'_>>,
    ) -> io::Result<()> {
        let name = archive.directory.name(key);
        if archive.directory.has(key) {
            self.zip.hide_file(&name).map_err(broken)?;
            archive.directory.note(key, None);
            self.has_gaps = true;
        }
        let Some(value) = value else { return Ok(()) };
        let size =
            value.size().ok_or_else(|| io::Error::other("the value's size cannot be told"))?;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(size >= WIDE)
            .unix_permissions(0o644);
        self.zip.start_file(&*name, options).map_err(broken)?;
        let begins = self.position();
        let mut parts = value.parts();
        let written =
            parts.try_for_each(|part| self.zip.write_all(&part.map_err(io::Error::other)?));
        if let Err(e) = written {
            let _ = self.zip.abort_file();
            return Err(e);
        }
        archive.directory.note(key, Some(begins..begins + size));
        Ok(())
    }

    fn position(&self) -> u64 {
        self.zip.get_ref().map_or(0, At::position)
    }

    /// Puts what was written in the archive's place.
    ///
    /// # Errors
    /// Whatever the system said; then the archive is what it was, and the copy lies beside it.
    pub fn finish(self) -> io::Result<()> {
        let part = beside(&self.path, PART);
        let at = self.zip.finish().map_err(broken)?;
        // The directory may have been longer.
        self.lock.set_len(at.position())?;
        self.lock.sync_data()?;
        if self.has_gaps {
            let compact = beside(&self.path, COMPACT);
            compacted(&self.lock, &compact)?;
            fs::rename(&compact, &self.path)?;
            fs::remove_file(&part)?;
        } else {
            fs::rename(&part, &self.path)?;
        }
        self.lock.unlock()
    }
}

/// Copies the entries of an archive, and no byte between them, into a new one.
fn compacted(from: &Arc<File>, to: &Path) -> io::Result<()> {
    let mut archive = ZipArchive::new(At::new(from, 0)).map_err(broken)?;
    let file =
        Arc::new(File::options().read(true).write(true).create(true).truncate(true).open(to)?);
    file.set_permissions(from.metadata()?.permissions())?;
    let mut zip = ZipWriter::new(At::new(&file, 0));
    for index in 0..archive.len() {
        zip.raw_copy_file(archive.by_index_raw(index).map_err(broken)?).map_err(broken)?;
    }
    zip.finish().map_err(broken)?;
    file.sync_data()
}
