//! Calls LMDB through the crate `heed`; no other file knows of it.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::mem::ManuallyDrop;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use heed::types::{Bytes, DecodeIgnore};
use heed::{CommitOrAbort, Database, EnvFlags, EnvOpenOptions, MdbError, RoTxn, RwTxn, WithoutTls};
use zarr_core::store::Payload;
use zarr_core::sync;

use crate::opened::{check_links, is_absence, make_folder, sync_folder};

/// An error of LMDB or the system.
pub(super) type Failed = heed::Error;

/// How large the map is at first, at least. It is address space, not memory or disk; on Windows it is disk.
const MAP: usize = if cfg!(all(unix, target_pointer_width = "64")) { 16 << 30 } else { 64 << 20 };

/// How long a writer that needs a larger map waits for the read transactions of snapshots.
const SNAPSHOTS_TIMEOUT: Duration = Duration::from_secs(5);

/// The number of "input/output error" on Unix.
const EIO: i32 = 5;

/// How many bytes a page has at least; a file has two or more.
const SMALLEST_PAGE: u64 = 4096;

/// What every LMDB file has after the 16 bytes that each of its pages begins with, in the byte order of the machine.
const MAGIC: u32 = 0xBEEF_C0DE;

/// How many readers all processes together may have at one time.
const READERS: u32 = 1024;

/// An open file. A process opens each once, however many handles it has (LMDB forbids more).
pub(super) struct Env {
    /// Only the process that opened it closes it.
    env: ManuallyDrop<heed::Env<WithoutTls>>,
    process: u32,
    /// The file, and which one it was when it was opened.
    file: PathBuf,
    identity: [u64; 2],
    keys: Database<'static, Bytes, Bytes>,
    /// Held shared by transactions while they begin or last, and exclusively while the map grows.
    gate: RwLock<()>,
    /// The number of read transactions that last beyond the gate.
    open_transactions: AtomicUsize,
}

/// Files that are open, each with the process that opened it.
type OpenFiles = HashMap<PathBuf, (u32, Weak<Env>)>;

/// A read transaction: the values that the file held when it began.
pub(super) struct ReadTransaction {
    /// Ends before it is counted no more, and only in the process that began it: it has a place among that one's readers.
    txn: ManuallyDrop<Mutex<RoTxn<'static, WithoutTls>>>,
    env: CountedEnv,
}

/// The environment of a read transaction, which counts it.
struct CountedEnv(Arc<Env>);

/// The keys and values that a transaction reads.
pub(super) struct KeysView<'t> {
    keys: &'t Database<'static, Bytes, Bytes>,
    txn: &'t RoTxn<'t>,
}

/// What the one writer reads and changes, all of it or nothing.
pub(super) struct Change<'t, 'e> {
    keys: &'t Database<'static, Bytes, Bytes>,
    txn: &'t mut RwTxn<'e>,
}

fn failed(error: heed::Error) -> io::Error {
    match error {
        heed::Error::Io(error) => error,
        heed::Error::Mdb(MdbError::Invalid) => {
            io::Error::new(ErrorKind::InvalidData, "this is not an LMDB file")
        }
        heed::Error::Mdb(MdbError::Corrupted | MdbError::PageNotFound) => {
            io::Error::new(ErrorKind::InvalidData, "the LMDB file is damaged")
        }
        heed::Error::Mdb(MdbError::BadValSize) => {
            io::Error::new(ErrorKind::InvalidInput, "LMDB's keys have at most 511 bytes")
        }
        other => io::Error::other(format!("LMDB: {other}")),
    }
}

impl Env {
    /// The file `path`, or `data.mdb` in the folder `path`; made if it is not there.
    pub fn open(path: &Path, in_folder: bool, map: Option<usize>) -> io::Result<Arc<Env>> {
        static OPEN: Mutex<Option<OpenFiles>> = Mutex::new(None);
        let process = process::id();
        let above = if in_folder { Some(path) } else { path.parent() };
        // LMDB would make a file where a link leads.
        check_links(path, path)?;
        above.map_or(Ok(()), |above| make_folder(above, true))?;
        let path = if in_folder || path.exists() { path.canonicalize()? } else { path.to_owned() };
        let mut open = sync::lock(&OPEN);
        let open = open.get_or_insert_default();
        open.retain(|_, (opener, env)| *opener != process || env.strong_count() > 0);
        let known = open.get(&path);
        if let Some(env) = known.and_then(|(_, env)| env.upgrade()) {
            env.check_process()?;
            env.check_file()?;
            return Ok(env);
        }
        // What the parent had open stays open here, also when no handle is left.
        let is_parents = known.is_some();
        let file = data_file(&path, in_folder);
        let is_new = !is_begun(&file)?;
        let env = Env::open_new(&path, in_folder, map, is_parents).inspect_err(|_| {
            // LMDB refuses a file whose first two pages were cut short, as on a full disk.
            let size = fs::metadata(&file).map_or(0, |metadata| metadata.len());
            if is_new && (1..2 * SMALLEST_PAGE).contains(&size) {
                let _ =
                    fs::File::options().write(true).open(&file).and_then(|file| file.set_len(0));
            }
        });
        let env = Arc::new(env?);
        open.insert(path.canonicalize()?, (process, Arc::downgrade(&env)));
        Ok(env)
    }

    fn open_new(
        path: &Path,
        in_folder: bool,
        map: Option<usize>,
        is_parents: bool,
    ) -> io::Result<Env> {
        let mut flags = EnvFlags::NO_META_SYNC | EnvFlags::NO_READ_AHEAD;
        if !in_folder {
            flags |= EnvFlags::NO_SUB_DIR;
        }
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        let file = data_file(path, in_folder);
        let is = fs::metadata(&file).map_or(0, |metadata| metadata.len());
        let roomy =
            usize::try_from(is.saturating_mul(4)).unwrap_or(MAP).next_multiple_of(MAP).max(MAP);
        let map = map.unwrap_or(roomy);
        options.map_size(map).max_readers(READERS);
        make_files(path, in_folder)?;
        let mut tries = 0;
        let env = loop {
            // SAFETY: the flags are none that take LMDB's own locks or checks away. The file may be changed by
            // LMDB only while it is open, which is for its users to keep to, as the documentation says.
            let opened = unsafe { options.flags(flags).open(path) };
            match opened {
                Err(heed::Error::EnvAlreadyOpened) if is_parents => return Err(forked_off()),
                // A handle of this process is just being closed.
                Err(heed::Error::EnvAlreadyOpened) if tries < 100 => {
                    thread::sleep(Duration::from_millis(10));
                }
                Err(heed::Error::Io(e)) if tries < 100 && is_read_only(&e) => {
                    flags |= EnvFlags::READ_ONLY;
                    tries = 99;
                }
                opened => break opened.map_err(|e| not_mapped(e, map))?,
            }
            tries += 1;
        };
        let _ = env.clear_stale_readers();
        let keys = env
            .read_txn()
            .and_then(|txn| {
                env.open_databases_and_commit(txn, |opener, txn| {
                    opener.open_database(txn, None).map(CommitOrAbort::<_, ()>::Commit)
                })
            })
            .map_err(failed)?;
        let keys = keys.commit().flatten().expect("the database without a name is always there");
        let (env, process) = (ManuallyDrop::new(env), process::id());
        Ok(Env {
            env,
            process,
            identity: identity(&file)?,
            file,
            keys,
            gate: RwLock::new(()),
            open_transactions: AtomicUsize::new(0),
        })
    }

    /// An error in a process that was forked off: LMDB takes its readers and writers for those of its parent.
    fn check_process(&self) -> io::Result<()> {
        if self.process == process::id() { Ok(()) } else { Err(forked_off()) }
    }

    /// An error if the file was deleted or replaced since it was opened: LMDB would go on with the old one, which no other process finds.
    fn check_file(&self) -> io::Result<()> {
        if identity(&self.file).is_ok_and(|found| found == self.identity) {
            return Ok(());
        }
        Err(io::Error::other(
            "the LMDB file was deleted or replaced while this process had it open: close every store of the old file, then open the new \
             one; what was written to the old file is lost",
        ))
    }

    /// Lets `ask` read in one transaction.
    pub fn read<T>(&self, mut ask: impl FnMut(KeysView<'_>) -> Result<T, Failed>) -> io::Result<T> {
        self.with_growing_map(|| {
            let txn = self.env.read_txn()?;
            ask(KeysView { keys: &self.keys, txn: &txn })
        })
    }

    /// Begins a read transaction that lasts as long as the result.
    pub fn begin_read(self: &Arc<Self>) -> io::Result<ReadTransaction> {
        self.with_growing_map(|| {
            let txn = heed::Env::clone(&self.env).static_read_txn()?;
            self.open_transactions.fetch_add(1, Ordering::AcqRel);
            Ok(ReadTransaction {
                txn: ManuallyDrop::new(Mutex::new(txn)),
                env: CountedEnv(self.clone()),
            })
        })
    }

    /// Makes `change`, all of it or nothing; it may be called again, after nothing was changed.
    pub fn write<T>(
        &self,
        mut change: impl FnMut(Change<'_, '_>) -> Result<T, Failed>,
    ) -> io::Result<T> {
        let written = self.with_growing_map(|| {
            let mut txn = self.env.write_txn()?;
            self.check_file()?;
            let done = change(Change { keys: &self.keys, txn: &mut txn })?;
            txn.commit()?;
            Ok(done)
        });
        written.map_err(|e| self.cause(e))
    }

    /// Why a write failed: LMDB says "input/output error" of a write that the system cut short, as it does on a full disk.
    fn cause(&self, error: io::Error) -> io::Error {
        if !cfg!(unix) || error.raw_os_error() != Some(EIO) {
            return error;
        }
        let folder = self.env.path().parent().filter(|_| self.env.path().is_file());
        no_space(folder.unwrap_or(self.env.path())).unwrap_or(error)
    }

    /// Waits until the disk has what was written.
    pub fn sync(&self) -> io::Result<()> {
        self.check_process()?;
        self.env.force_sync().map_err(failed)
    }

    /// Runs a transaction, and again with a larger map while the map is too small.
    fn with_growing_map<T>(
        &self,
        mut transact: impl FnMut() -> Result<T, Failed>,
    ) -> io::Result<T> {
        self.check_process()?;
        loop {
            let shared = sync::read(&self.gate);
            let was = self.env.info().map_size;
            let grown = match transact() {
                // Zero is the size that another process gave it.
                Err(heed::Error::Mdb(MdbError::MapResized)) => 0,
                Err(heed::Error::Mdb(MdbError::MapFull)) => was.saturating_mul(2),
                done => return done.map_err(failed),
            };
            drop(shared);
            let _alone = sync::write(&self.gate);
            let give_up = Instant::now() + SNAPSHOTS_TIMEOUT;
            while self.open_transactions.load(Ordering::Acquire) > 0 {
                if Instant::now() > give_up {
                    return Err(io::Error::other(format!(
                        "LMDB: the map of {was} bytes is full, and cannot grow while values are being read; \
                         open the file with a larger one"
                    )));
                }
                thread::sleep(Duration::from_millis(1));
            }
            if self.env.info().map_size == was {
                // SAFETY: every transaction of this process holds the gate or is counted, so there is none now.
                unsafe { self.env.resize(grown) }.map_err(|e| not_mapped(e, grown))?;
            }
        }
    }
}

pub(super) fn data_file(path: &Path, in_folder: bool) -> PathBuf {
    if in_folder { path.join("data.mdb") } else { path.to_owned() }
}

/// Whether a file has what LMDB begins one with; not if it is empty, or not there.
///
/// # Errors
/// Another program's file, which LMDB would put its lock file beside.
pub(super) fn is_begun(file: &Path) -> io::Result<bool> {
    let mut begin = Vec::new();
    match fs::metadata(file) {
        Ok(found) if !found.is_file() => return Ok(false),
        Ok(_) => {}
        Err(e) if is_absence(&e) => {
            return check_links(file.parent().unwrap_or(file), file).map(|()| false);
        }
        Err(e) => return Err(e),
    }
    fs::File::open(file)?.take(20).read_to_end(&mut begin)?;
    match begin.last_chunk() {
        None if begin.is_empty() => Ok(false),
        Some(magic) if begin.len() == 20 && u32::from_ne_bytes(*magic) == MAGIC => Ok(true),
        _ => Err(io::Error::new(ErrorKind::InvalidData, "this is not an LMDB file")),
    }
}

/// Which file is at a path, among all that are there.
#[cfg(unix)]
fn identity(file: &Path) -> io::Result<[u64; 2]> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(file).map(|found| [found.dev(), found.ino()])
}

/// A file that is open cannot be removed here.
#[cfg(not(unix))]
fn identity(file: &Path) -> io::Result<[u64; 2]> {
    fs::metadata(file).map(|_| [0, 0])
}

/// Makes the files of an LMDB file that are not there, so that the process's umask decides who may use them. LMDB makes
/// them only for their owner.
fn make_files(path: &Path, in_folder: bool) -> io::Result<()> {
    let files = if in_folder {
        [path.join("data.mdb"), path.join("lock.mdb")]
    } else {
        let mut lock = path.to_owned().into_os_string();
        lock.push("-lock");
        [path.to_owned(), lock.into()]
    };
    // LMDB itself would follow it.
    if files[1].is_symlink() {
        return Err(crate::system::not_a_link(&files[1], io::ErrorKind::InvalidInput.into()));
    }
    // Where that fails, LMDB will say why; a file system that is read-only needs none.
    let mut is_any_new = false;
    for file in &files {
        is_any_new |= fs::File::options().write(true).create_new(true).open(file).is_ok();
    }
    reserve_lock(&files[1])?;
    if !is_any_new {
        return Ok(());
    }
    // Their names outlast a power failure.
    files[0].parent().map_or(Ok(()), sync_folder)
}

/// Takes the place on the disk that LMDB's lock file needs. LMDB maps it, and writing to a page of a map for which the disk has no room ends the
/// process. What the file holds stays.
///
/// # Errors
/// That of a full disk. Where the file system cannot reserve, nothing happens.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn reserve_lock(lock: &Path) -> io::Result<()> {
    use rustix::fs::FallocateFlags;
    // A line of 64 bytes for each reader, and a few for what they share.
    const LOCK_BYTES: u64 = 64 * (READERS as u64 + 8);
    let Ok(file) = fs::File::options().write(true).open(lock) else { return Ok(()) };
    if file.metadata()?.len() > 0 {
        return Ok(());
    }
    let reserved = rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, LOCK_BYTES);
    match reserved.map_err(io::Error::from) {
        Err(e) if matches!(e.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => Err(e),
        _ => Ok(()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
fn reserve_lock(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The error of a process that was forked off and uses a file that its parent opened.
fn forked_off() -> io::Error {
    io::Error::other(
        "another process opened this LMDB file, and this one was forked from it: only the process that opened an LMDB \
         file may use it; start another program, or open the file in the forked process alone",
    )
}

/// Names the size of a map that the system refused.
fn not_mapped(error: heed::Error, map: usize) -> io::Error {
    match error {
        heed::Error::Io(e) if e.kind() == ErrorKind::OutOfMemory => io::Error::new(
            ErrorKind::OutOfMemory,
            format!(
                "LMDB: the system refused {map} bytes of address space for the map ({e}); open the file with \
                 another `LmdbStore::map_size`, or raise the limit of the process (`ulimit -v`)"
            ),
        ),
        other => failed(other),
    }
}

/// The system's error if `folder` takes no more bytes.
fn no_space(folder: &Path) -> Option<io::Error> {
    let path = folder.join(format!(".zarr-tmp-{:016x}", process::id()));
    let mut file = fs::File::options().write(true).create_new(true).open(&path).ok()?;
    // Less than the smallest LMDB file, so that no limit to the size of files strikes here first.
    let written = file.write_all(&[0; 4096]);
    let _ = fs::remove_file(&path);
    written.err().filter(|e| matches!(e.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

impl ReadTransaction {
    /// Lets `ask` read.
    pub fn read<T>(&self, ask: impl FnOnce(KeysView<'_>) -> Result<T, Failed>) -> io::Result<T> {
        self.env.0.check_process()?;
        let txn = sync::lock(&self.txn);
        ask(KeysView { keys: &self.env.0.keys, txn: &txn }).map_err(failed)
    }

    /// The number of the transaction, different from every other of this file.
    pub fn number(&self) -> u64 {
        sync::lock(&self.txn).id() as u64
    }
}

impl Drop for ReadTransaction {
    fn drop(&mut self) {
        if self.env.0.process == process::id() {
            // SAFETY: it is dropped only here, and nothing uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.txn) };
        }
    }
}

impl Drop for Env {
    fn drop(&mut self) {
        if self.process == process::id() {
            // SAFETY: it is dropped only here, and nothing uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.env) };
        }
    }
}

impl Drop for CountedEnv {
    fn drop(&mut self) {
        self.0.open_transactions.fetch_sub(1, Ordering::AcqRel);
    }
}

impl KeysView<'_> {
    pub fn get(&self, key: &str) -> Result<Option<&[u8]>, Failed> {
        self.keys.get(self.txn, key.as_bytes())
    }

    /// The first key after `from`, or that one itself if `or_at` and it is there.
    pub fn key_after(&self, from: &[u8], or_at: bool) -> Result<Option<&[u8]>, Failed> {
        let keys = self.keys.remap_data_type::<DecodeIgnore>();
        let found = match (from, or_at) {
            (b"", _) => keys.first(self.txn),
            (from, true) => keys.get_greater_than_or_equal_to(self.txn, from),
            (from, false) => keys.get_greater_than(self.txn, from),
        };
        Ok(found?.map(|(key, ())| key))
    }

    /// Every key that begins with `prefix`, in order.
    pub fn below(&self, prefix: &str) -> Result<Vec<Vec<u8>>, Failed> {
        let keys = self.keys.remap_data_type::<DecodeIgnore>();
        match prefix {
            "" => keys.iter(self.txn)?.map(owned_key).collect(),
            prefix => keys.prefix_iter(self.txn, prefix.as_bytes())?.map(owned_key).collect(),
        }
    }
}

/// The key of an entry of which the value was not read.
fn owned_key(entry: Result<(&[u8], ()), Failed>) -> Result<Vec<u8>, Failed> {
    entry.map(|(key, ())| key.to_vec())
}

impl Change<'_, '_> {
    pub fn get(&self, key: &str) -> Result<Option<&[u8]>, Failed> {
        self.keys.get(self.txn, key.as_bytes())
    }

    /// Sets a key's value, all of which is made.
    pub fn put(&mut self, key: &str, value: &Payload<'_>) -> Result<(), Failed> {
        let size = value.size().and_then(|size| usize::try_from(size).ok());
        let size = size.ok_or_else(|| io::Error::other("the value's size cannot be told"))?;
        self.keys.put_reserved(self.txn, key.as_bytes(), size, |space| {
            let mut parts = value.parts();
            parts.try_for_each(|part| space.write_all(&part.map_err(io::Error::other)?))
        })
    }

    pub fn delete(&mut self, key: &str) -> Result<(), Failed> {
        self.keys.delete(self.txn, key.as_bytes()).map(drop)
    }

    pub fn delete_below(&mut self, prefix: &str) -> Result<(), Failed> {
        if prefix.is_empty() {
            return self.keys.clear(self.txn);
        }
        // A prefix ends in `/`; the byte after that one ends the range.
        let end = format!("{}0", prefix.trim_end_matches('/'));
        let range = (Bound::Included(prefix.as_bytes()), Bound::Excluded(end.as_bytes()));
        self.keys.delete_range(self.txn, &range).map(drop)
    }
}
