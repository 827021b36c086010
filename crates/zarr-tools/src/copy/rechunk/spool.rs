//! Keeps the elements of some target objects in temporary files, until all of each are there.
//!
//! Each source chunk is decoded once. What of it belongs to one target object is written to that object's place in a
//! file, one piece after the other; then each object is read in one go. Pieces that repeat one element take no room.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use zarr_core::sync::lock;
use zarr_core::{Error, Region, Result, StoreError, View, ViewMut};

use super::axis::{common, inside};

/// Bytes that are read from the file at a time.
pub(super) const STEP: usize = 2 << 20;
/// How many files there are. A system lets one thread at a time write to a file.
const FILES: usize = 8;

/// Pieces of one object that belong to a source piece of this number.
#[derive(Clone, Copy, Debug)]
struct Record {
    piece: u64,
    what: Kept,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// All elements.
    All,
    /// One element, which is repeated.
    One,
    /// Nothing: all elements are fill.
    Fill,
}

/// One object: how many bytes of its place in the file are used, and by what.
#[derive(Debug, Default)]
struct Slot {
    used: u64,
    records: Vec<Record>,
}

/// Temporary files that are gone when the process ends.
#[derive(Debug)]
pub(super) struct Spool {
    files: Vec<TemporaryFile>,
    /// Bytes of each object's place.
    slot: u64,
    slots: Vec<Mutex<Slot>>,
    element: usize,
    fill: Vec<u8>,
}

impl Spool {
    /// Files in a folder for objects of at most `slot` bytes, of elements of `element` bytes.
    pub fn new(folder: &Path, slot: u64, element: usize, fill: Vec<u8>) -> Result<Spool> {
        let files = (0..FILES).map(|_| TemporaryFile::new(folder)).collect::<Result<_>>()?;
        Ok(Spool { files, slot, slots: Vec::new(), element, fill })
    }

    /// Forgets all elements; there is room for `objects` objects then.
    pub fn clear(&mut self, objects: usize) {
        self.slots.truncate(objects);
        for slot in &self.slots {
            let mut slot = lock(slot);
            slot.used = 0;
            slot.records.clear();
        }
        self.slots.resize_with(objects, Mutex::default);
    }

    /// Keeps the elements of one object that source piece `piece` has. They are gathered in `scratch`, which has room for
    /// them.
    pub fn keep(
        &self,
        object: usize,
        piece: u64,
        part: &View<'_>,
        scratch: &mut [u8],
    ) -> Result<()> {
        let scratch = &mut scratch[..part.len() * self.element];
        let is_fill = part.is_all(&self.fill);
        let (what, bytes) = if is_fill {
            (Kept::Fill, &scratch[..0])
        } else {
            let mut gathered = ViewMut::new(scratch, &part.shape(), self.element);
            gathered.copy_from(part);
            let first = &scratch[..self.element];
            if View::new(scratch, &part.shape(), self.element).is_all(first) {
                (Kept::One, first)
            } else {
                (Kept::All, &*scratch)
            }
        };
        let at = {
            let mut slot = lock(&self.slots[object]);
            slot.records.push(Record { piece, what });
            slot.used += bytes.len() as u64;
            slot.used - bytes.len() as u64
        };
        let (file, place) = self.place(object);
        file.write(place + at, bytes)
    }

    /// Where an object's bytes are.
    fn place(&self, object: usize) -> (&TemporaryFile, u64) {
        (&self.files[object % FILES], (object / FILES) as u64 * self.slot)
    }

    /// Reads all elements of an object into `out`, which has the shape of its `region`. `place` tells the region of a
    /// source piece by its number. `false`, and nothing is read, if the object has nothing but fill.
    pub fn read(
        &self,
        object: usize,
        region: &Region,
        place: impl Fn(u64) -> Region,
        mut out: ViewMut<'_>,
        scratch: &mut [u8],
    ) -> Result<bool> {
        let slot = lock(&self.slots[object]);
        if slot.records.iter().all(|record| record.what == Kept::Fill) {
            return Ok(false);
        }
        let parts =
            slot.records.iter().map(|record| (common(&place(record.piece), region), record));
        let parts: Vec<(Region, &Record)> = parts.collect();
        let found = parts.iter().filter(|part| part.1.what != Kept::Fill);
        let found = found.map(|(part, _)| part.element_count().unwrap_or(0)).sum::<u64>();
        if Some(found) != region.element_count() {
            out.fill(&self.fill);
        }
        let (file, mut at) = self.place(object);
        let mut rest = &parts[..];
        while !rest.is_empty() {
            // As many parts as there is room for.
            let (mut count, mut total) = (0, 0);
            for part in rest {
                let size = self.kept_size(part);
                if count > 0 && total + size > scratch.len() {
                    break;
                }
                (count, total) = (count + 1, total + size);
            }
            let bytes = &mut scratch[..total];
            file.read(at, bytes)?;
            let mut bytes = &*bytes;
            for part in &rest[..count] {
                let (own, others) = bytes.split_at(self.kept_size(part));
                bytes = others;
                let mut out = out.reborrow().part(&inside(&part.0, region));
                match part.1.what {
                    Kept::All => out.copy_from(&View::new(own, &part.0.shape(), self.element)),
                    Kept::One => out.fill(own),
                    Kept::Fill => {}
                }
            }
            at += total as u64;
            rest = &rest[count..];
        }
        Ok(true)
    }

    /// The bytes that are kept of a part.
    fn kept_size(&self, (part, record): &(Region, &Record)) -> usize {
        let count = match record.what {
            Kept::All => part.element_count().unwrap_or(0) as usize,
            Kept::One => 1,
            Kept::Fill => 0,
        };
        count * self.element
    }
}

/// A file without a name where the system has such; else one that is removed with this.
#[derive(Debug)]
struct TemporaryFile {
    file: File,
    path: PathBuf,
    #[cfg(not(unix))]
    position: Mutex<()>,
}

impl TemporaryFile {
    fn new(folder: &Path) -> Result<TemporaryFile> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        loop {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".zarr-spool-{}-{count}-{now:x}", std::process::id());
            let path = folder.join(name);
            match options.open(&path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(failed("make", &path, e)),
                Ok(file) => {
                    // The open file stays until it is closed, whatever ends this process.
                    #[cfg(unix)]
                    std::fs::remove_file(&path).map_err(|e| failed("remove", &path, e))?;
                    return Ok(TemporaryFile {
                        file,
                        path,
                        #[cfg(not(unix))]
                        position: Mutex::default(),
                    });
                }
            }
        }
    }

    #[cfg(unix)]
    fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        let written = std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, at);
        written.map_err(|e| failed("write", &self.path, e))
    }

    #[cfg(unix)]
    fn read(&self, at: u64, bytes: &mut [u8]) -> Result<()> {
        let read = std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, at);
        read.map_err(|e| failed("read", &self.path, e))
    }

    #[cfg(not(unix))]
    fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        use std::io::{Seek, SeekFrom, Write};
        let (_one, mut file) = (lock(&self.position), &self.file);
        let written = file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes));
        written.map_err(|e| failed("write", &self.path, e))
    }

    #[cfg(not(unix))]
    fn read(&self, at: u64, bytes: &mut [u8]) -> Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        let (_one, mut file) = (lock(&self.position), &self.file);
        let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(bytes));
        read.map_err(|e| failed("read", &self.path, e))
    }
}

#[cfg(not(unix))]
impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn failed(what: &str, path: &Path, error: io::Error) -> Error {
    let why = format!("cannot {what} the temporary file {}: {error}", path.display());
    Error::from(StoreError::Backend(why.into()))
        .with_hint("name a folder with room for it in TMPDIR, or give the copy more memory")
}
