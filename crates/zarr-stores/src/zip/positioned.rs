//! Gives each reader of an archive, and its writer, its own position.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

/// What contains an archive.
pub(super) trait Source: Send + Sync {
    /// How many bytes it has.
    fn size(&self) -> io::Result<u64>;
    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize>;
}

impl Source for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
    fn read_at(&self, buf: &mut [u8], at: u64) -> io::Result<usize> {
        read_at(self, buf, at)
    }
}

/// A place in an archive, which no other use of it moves.
#[derive(Debug)]
pub(super) struct Positioned<S = File> {
    source: Arc<S>,
    at: u64,
}

impl<S> Positioned<S> {
    pub fn new(source: &Arc<S>, at: u64) -> Self {
        Positioned { source: source.clone(), at }
    }

    /// How many bytes precede it.
    pub fn position(&self) -> u64 {
        self.at
    }
}

#[cfg(unix)]
fn read_at(file: &File, buf: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buf, at)
}

#[cfg(unix)]
fn write_at(file: &File, buf: &[u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, buf, at)
}

#[cfg(windows)]
fn read_at(file: &File, buf: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buf, at)
}

#[cfg(windows)]
fn write_at(file: &File, buf: &[u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_write(file, buf, at)
}

impl<S: Source> Read for Positioned<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read_at(buf, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Write for Positioned {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = write_at(&self.source, buf, self.at)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<S: Source> Seek for Positioned<S> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.source.size()?.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::other("a place before the file's beginning"))?;
        Ok(self.at)
    }
}
