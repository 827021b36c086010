//! A model of a file system with `flock`: names, files that outlast their names while they are open, and locks of opened files.
//!
//! Every call is one step. A lock belongs to the opened file, and goes when that is closed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use shuttle::sync::{Condvar, Mutex, MutexGuard};

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    Folder,
    File(u64),
}

#[derive(Debug)]
struct Kernel {
    names: BTreeMap<PathBuf, Node>,
    /// File, opened file, and whether the lock is exclusive.
    locks: Vec<(u64, u64, bool)>,
    last: u64,
}

static KERNEL: Mutex<Kernel> =
    Mutex::new(Kernel { names: BTreeMap::new(), locks: Vec::new(), last: 0 });
static UNLOCKED: Condvar = Condvar::new();

fn kernel() -> MutexGuard<'static, Kernel> {
    KERNEL.lock().expect("no call panics")
}

impl Kernel {
    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn find(&self, path: &Path) -> io::Result<Node> {
        self.names.get(path).copied().ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Takes a lock in place of the one that the opened file has; whether that is possible.
    fn take(&mut self, file: &File, exclusive: bool) -> bool {
        let conflicts = |&(inode, handle, other): &(u64, u64, bool)| {
            inode == file.inode && handle != file.handle && (exclusive || other)
        };
        if self.locks.iter().any(conflicts) {
            return false;
        }
        self.locks.retain(|(_, handle, _)| *handle != file.handle);
        self.locks.push((file.inode, file.handle, exclusive));
        true
    }
}

/// An empty file system.
pub fn reset() {
    *kernel() = Kernel { names: BTreeMap::new(), locks: Vec::new(), last: 0 };
}

/// All names.
pub fn names() -> Vec<PathBuf> {
    kernel().names.keys().cloned().collect()
}

/// A file at a path, whatever it holds.
pub fn write(path: &Path) {
    let mut kernel = kernel();
    let inode = kernel.number();
    kernel.names.insert(path.into(), Node::File(inode));
}

pub fn create_dir_all(path: &Path) -> io::Result<()> {
    let mut kernel = kernel();
    for folder in path.ancestors() {
        kernel.names.insert(folder.into(), Node::Folder);
    }
    Ok(())
}

pub fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let mut kernel = kernel();
    match kernel.find(path.as_ref())? {
        Node::Folder => Err(ErrorKind::IsADirectory.into()),
        Node::File(_) => {
            kernel.names.remove(path.as_ref());
            Ok(())
        }
    }
}

pub fn remove_dir(path: &Path) -> io::Result<()> {
    let mut kernel = kernel();
    if kernel.names.keys().any(|name| name.parent() == Some(path)) {
        return Err(ErrorKind::DirectoryNotEmpty.into());
    }
    kernel.names.remove(path).map(drop).ok_or_else(|| ErrorKind::NotFound.into())
}

pub fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    Ok(Metadata(kernel().find(path.as_ref())?))
}

pub fn read_dir(path: &Path) -> io::Result<std::vec::IntoIter<io::Result<DirEntry>>> {
    let kernel = kernel();
    kernel.find(path)?;
    let inner = kernel.names.iter().filter(|(name, _)| name.parent() == Some(path));
    let entries: Vec<_> =
        inner.map(|(name, node)| Ok(DirEntry(name.clone(), Metadata(*node)))).collect();
    Ok(entries.into_iter())
}

#[derive(Debug)]
pub struct DirEntry(PathBuf, Metadata);

impl DirEntry {
    pub fn file_name(&self) -> OsString {
        self.0.file_name().unwrap_or_default().into()
    }

    pub fn path(&self) -> PathBuf {
        self.0.clone()
    }

    pub fn metadata(&self) -> io::Result<Metadata> {
        Ok(self.1)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Metadata(Node);

impl Metadata {
    pub fn is_file(&self) -> bool {
        self.0 != Node::Folder
    }

    pub fn dev(&self) -> u64 {
        0
    }

    pub fn ino(&self) -> u64 {
        match self.0 {
            Node::Folder => 0,
            Node::File(inode) => inode,
        }
    }

    pub fn modified(&self) -> io::Result<SystemTime> {
        Ok(SystemTime::now())
    }
}

/// An opened file.
#[derive(Debug)]
pub struct File {
    inode: u64,
    handle: u64,
}

#[derive(Debug)]
pub enum TryLockError {
    Error(io::Error),
    WouldBlock,
}

impl File {
    pub fn options() -> OpenOptions {
        OpenOptions { create: false }
    }

    pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
        File::options().open(path)
    }

    pub fn metadata(&self) -> io::Result<Metadata> {
        Ok(Metadata(Node::File(self.inode)))
    }

    pub fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }

    fn wait_for_lock(&self, exclusive: bool) -> io::Result<()> {
        let mut kernel = kernel();
        while !kernel.take(self, exclusive) {
            kernel = UNLOCKED.wait(kernel).expect("no call panics");
        }
        Ok(())
    }

    pub fn lock(&self) -> io::Result<()> {
        self.wait_for_lock(true)
    }

    pub fn lock_shared(&self) -> io::Result<()> {
        self.wait_for_lock(false)
    }

    pub fn try_lock(&self) -> Result<(), TryLockError> {
        if kernel().take(self, true) { Ok(()) } else { Err(TryLockError::WouldBlock) }
    }

    pub fn unlock(&self) -> io::Result<()> {
        kernel().locks.retain(|(_, handle, _)| *handle != self.handle);
        UNLOCKED.notify_all();
        Ok(())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = self.unlock();
    }
}

#[derive(Debug)]
pub struct OpenOptions {
    create: bool,
}

impl OpenOptions {
    pub fn read(&mut self, _: bool) -> &mut Self {
        self
    }

    pub fn write(&mut self, _: bool) -> &mut Self {
        self
    }

    pub fn truncate(&mut self, _: bool) -> &mut Self {
        self
    }

    pub fn create(&mut self, create: bool) -> &mut Self {
        self.create = create;
        self
    }

    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let (path, mut kernel) = (path.as_ref(), kernel());
        let above = path.parent().map(|above| kernel.find(above));
        if !matches!(above, Some(Ok(Node::Folder))) {
            return Err(ErrorKind::NotFound.into());
        }
        let handle = kernel.number();
        let inode = match kernel.find(path) {
            Ok(Node::File(inode)) => inode,
            Ok(Node::Folder) => return Err(ErrorKind::IsADirectory.into()),
            Err(e) if !self.create => return Err(e),
            Err(_) => {
                let inode = kernel.number();
                kernel.names.insert(path.into(), Node::File(inode));
                inode
            }
        };
        Ok(File { inode, handle })
    }
}
