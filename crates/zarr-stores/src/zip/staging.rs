//! Changes an archive so that it is whole at every moment.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

use zarr_core::store::{Payload, StoreKey};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::archive::{Archive, broken, damaged};
use super::output::Output;
use super::positioned::Positioned;
use super::single_file::{self, SingleFile};
use crate::opened::{is_still_at, make_folder, sync_folder};
use crate::system::{no_follow, not_a_link};

/// What is appended to the archive's name.
const PART: &str = ".zarr-part";
const COMPACT: &str = ".zarr-compact";

/// Entries of 4 GiB and more need wider fields.
const WIDE: u64 = u32::MAX as u64;

/// A copy of the archive that is written to, and takes its place when it is finished.
///
/// Dropped before that, or after a failure, it goes, and the archive stays what it was.
#[derive(Debug)]
pub(super) struct Staging {
    path: PathBuf,
    /// `None` once it is finished. Goes before the part: a `ZipWriter` writes when it is dropped.
    zip: Option<ZipWriter<Output>>,
    /// What `zip` writes to.
    output: Output,
    /// Whether there are bytes in it that no entry has.
    has_gaps: bool,
    /// Whether a change began and did not end well.
    is_damaged: bool,
    part: PartFile,
}

/// The file beside the archive. The system's lock on it is the right to write; it goes with the process.
#[derive(Debug)]
struct PartFile {
    path: PathBuf,
    file: Arc<File>,
    process: u32,
    is_in_place: bool,
}

impl Drop for PartFile {
    fn drop(&mut self) {
        // A process that was forked off does not touch its parent's file and its parent's lock.
        if self.process == process::id() {
            if !self.is_in_place {
                // While it is locked, so that it is no other writer's. One that cannot be removed is overwritten by the next writer.
                let _ = fs::remove_file(&self.path);
            }
            let _ = self.file.unlock();
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.output.stop();
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// The file beside the archive at `path`, created and locked.
fn lock(path: &Path) -> io::Result<PartFile> {
    let path = beside(path, PART);
    loop {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        // The archive's folder may be another's, who must not decide where we write.
        no_follow(&mut options);
        let file = options.open(&path).map_err(|e| not_a_link(&path, e))?;
        if is_ours(&path, &file)? {
            let file = Arc::new(file);
            return Ok(PartFile { path, file, process: process::id(), is_in_place: false });
        }
    }
}

/// Takes the lock of the opened part file. `false` if another writer renamed or removed the file since it was
/// opened: then it may be the archive itself, and must not be written to.
fn is_ours(path: &Path, file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => is_still_at(path, file),
        Err(TryLockError::WouldBlock) => {
            let why = "another writer has the archive open; one may write at a time";
            Err(io::Error::new(ErrorKind::WouldBlock, why))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

impl Staging {
    /// Begins to write to the archive at `path`; and what it holds now, which may be another's since.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] if another writer has begun; whatever the system said. No file is left then.
    pub fn begin(path: &Path, folder: &str) -> io::Result<(Staging, Archive)> {
        if let Some(above) = path.parent() {
            make_folder(above, true)?;
        }
        let part = lock(path)?;
        // What a killed writer left.
        let _ = fs::remove_file(beside(path, COMPACT));
        part.file.set_len(0)?;
        let (archive, is_there) = match File::open(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                (Archive::empty(part.file.try_clone()?, folder), false)
            }
            Err(e) => return Err(e),
            Ok(mut file) => {
                part.file.set_permissions(file.metadata()?.permissions())?;
                // In the kernel, and without moving data where the file system can share it.
                io::copy(&mut file, &mut &*part.file)?;
                (Archive::read(part.file.try_clone()?, folder)?, true)
            }
        };
        let mut output = Output::new(&archive.file);
        let zip = if is_there {
            ZipWriter::new_append(output.clone()).map_err(broken)?
        } else {
            ZipWriter::new(output.clone())
        };
        let staging = Staging {
            path: path.into(),
            zip: Some(zip),
            output: output.clone(),
            has_gaps: false,
            is_damaged: false,
            part,
        };
        // The next directory is written where this one begins, and nothing of this one stays behind it.
        let start = archive.directory.start.ok_or_else(|| {
            damaged(
                "zip: an entry lies behind the directory; copy the archive, and write to the copy",
            )
        })?;
        output.seek(SeekFrom::Start(start))?;
        staging.part.file.set_len(start)?;
        Ok((staging, archive))
    }

    /// Sets a key's value, all of which is made (`None`: erases it).
    ///
    /// # Errors
    /// What the system or the value said. Then the copy is damaged, and can only be dropped.
    pub fn put(
        &mut self,
        archive: &mut Archive,
        key: &StoreKey,
        value: Option<&Payload<'_>>,
    ) -> io::Result<()> {
        self.is_damaged = true;
        let zip = self.zip.as_mut().expect("only `finish` takes it out");
        let name = archive.directory.name(key);
        for old in archive.directory.take_out(key)? {
            zip.hide_file(&old).map_err(broken)?;
            self.has_gaps = true;
        }
        if let Some(value) = value {
            let size =
                value.size().ok_or_else(|| io::Error::other("the value's size cannot be told"))?;
            zip.start_file(&*name, options(size)).map_err(broken)?;
            let begins = self.output.position();
            for part in value.parts() {
                zip.write_all(&part.map_err(io::Error::other)?)?;
                self.output.check()?;
            }
            archive.directory.note(key, Some(begins..begins + size));
        }
        self.output.check()?;
        self.is_damaged = false;
        Ok(())
    }

    /// Whether a change failed half-way: then it can only be dropped.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// Puts what was written in the archive's place, with the comment and the order of a single-file OME-Zarr if it is to be one.
    ///
    /// # Errors
    /// Whatever the system said. The archive is what it was, and the copy is gone; only if the last step failed, which
    /// makes the new name outlast a power failure, the archive is the new one.
    pub fn finish(mut self, single_file: &SingleFile) -> io::Result<()> {
        let mut zip = self.zip.take().expect("only this takes it out");
        if let Some(comment) = single_file.comment() {
            zip.set_raw_comment(comment.into()).map_err(broken)?;
        }
        zip.finish().map_err(broken)?;
        self.output.check()?;
        self.part.file.sync_data()?;
        let is_ordered = match single_file {
            SingleFile::Ordered { .. } => single_file::is_ordered(&archive_in(&self.part.file)?),
            SingleFile::No | SingleFile::NoMore { .. } => true,
        };
        if self.has_gaps || !is_ordered {
            let compact = beside(&self.path, COMPACT);
            let moved = compacted(&self.part.file, &compact, single_file)
                .and_then(|()| fs::rename(&compact, &self.path));
            if moved.is_err() {
                let _ = fs::remove_file(&compact);
            }
            moved?;
        } else {
            fs::rename(&self.part.path, &self.path)?;
            self.part.is_in_place = true;
        }
        match self.path.parent() {
            Some(folder) => sync_folder(folder),
            None => Ok(()),
        }
    }
}

/// How an entry of `size` bytes is written.
fn options(size: u64) -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .large_file(size >= WIDE)
        .unix_permissions(0o644)
}

/// The archive in a file.
fn archive_in(file: &Arc<File>) -> io::Result<ZipArchive<BufReader<Positioned>>> {
    let buffered = BufReader::with_capacity(1 << 16, Positioned::new(file, 0));
    ZipArchive::new(buffered).map_err(broken)
}

/// Copies the entries of an archive, and no byte between them, into a new one, with its comment.
fn compacted(from: &Arc<File>, to: &Path, single_file: &SingleFile) -> io::Result<()> {
    let mut archive = archive_in(from)?;
    let order = match single_file {
        SingleFile::Ordered { .. } => single_file::order(&archive),
        SingleFile::No | SingleFile::NoMore { .. } => (0..archive.len()).collect(),
    };
    // What a killed writer left was removed; whatever is here now is another's.
    let file = Arc::new(File::options().read(true).write(true).create_new(true).open(to)?);
    file.set_permissions(from.metadata()?.permissions())?;
    let output = Output::new(&file);
    let mut zip = ZipWriter::new(output.clone());
    zip.set_raw_comment(archive.comment().into()).map_err(broken)?;
    let copied = order.into_iter().try_for_each(|index| {
        zip.raw_copy_file(archive.by_index_raw(index).map_err(broken)?).map_err(broken)?;
        output.check()
    });
    if copied.is_err() {
        output.stop();
    }
    copied?;
    zip.finish().map_err(broken)?;
    output.check()?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// The sizes in a header of the first zip have 32 bits; a value that needs more has a field of zip64 beside them.
    #[test]
    fn a_value_of_four_gibibytes_gets_the_fields_of_zip64() {
        for (size, is_wide) in [(0, false), (WIDE - 1, false), (WIDE, true), (WIDE + 1, true)] {
            let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
            zip.start_file("k", options(size)).unwrap();
            let header = zip.finish().unwrap().into_inner();
            assert_eq!(header[..4], *b"PK\x03\x04");
            let extra = u16::from_le_bytes([header[28], header[29]]);
            assert_eq!(extra > 0, is_wide, "{size}");
            if is_wide {
                // The field's number, after the name of one letter.
                assert_eq!(header[31..33], [1, 0]);
            }
        }
    }

    /// Between opening and locking, another writer may have renamed the part file: it is the archive then.
    #[cfg(unix)]
    #[test]
    fn the_lock_of_a_renamed_part_file_is_no_right_to_write() {
        let folder = tempfile::tempdir().unwrap();
        let (part, archive) = (folder.path().join("x.zip.zarr-part"), folder.path().join("x.zip"));
        let opened = File::create(&part).unwrap();
        fs::rename(&part, &archive).unwrap();
        assert!(!is_ours(&part, &opened).unwrap());
        // Nor if there is a new one in its place.
        let newer = File::create(&part).unwrap();
        assert!(!is_ours(&part, &opened).unwrap());
        assert!(is_ours(&part, &newer).unwrap());
    }
}
