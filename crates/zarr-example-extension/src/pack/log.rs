//! Reads the records of a file into a map, and appends to it.
//!
//! A crash leaves at worst a record that is cut short or does not match its checksum, at the end: it never
//! was. Anywhere else that is damage, and an error.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use zarr_core::store::{Bytes, Version};

use super::record;

/// Where a value is in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    at: u64,
    size: u64,
}

impl Value {
    /// The file only grows: no two values share a place.
    pub fn version(self) -> Version {
        Version::new(self.at.to_le_bytes().to_vec())
    }
}

/// The file, and what its records come to.
#[derive(Debug, Default)]
pub(super) struct Log {
    file: Option<File>,
    values: BTreeMap<String, Value>,
    /// Where the next record goes.
    end: u64,
    writing: bool,
}

impl Log {
    /// Reads the records of a file; one that is not there has none.
    pub fn open(path: &Path) -> io::Result<Log> {
        match File::open(path) {
            Ok(file) => Log::of(file),
            Err(e)
                if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&e.kind()) =>
            {
                Ok(Log::default())
            }
            Err(e) => Err(e),
        }
    }

    fn of(file: File) -> io::Result<Log> {
        let mut log = Log::default();
        let left = file.metadata()?.len();
        let mut reader = BufReader::new(&file);
        while let Some((key, value, size)) = record::read(&mut reader, left - log.end, log.end)? {
            log.end += size;
            log.note(key, value.map(|size| Value { at: log.end - size, size }));
        }
        log.file = Some(file);
        Ok(log)
    }

    fn note(&mut self, key: String, value: Option<Value>) {
        match value {
            Some(value) => drop(self.values.insert(key, value)),
            None => drop(self.values.remove(&key)),
        }
    }

    /// Makes sure that this process, and no other, may append. Another one may have done so before.
    pub fn begin_writing(&mut self, path: &Path) -> io::Result<()> {
        if !self.writing {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
            file.try_lock()?;
            let log = Log::of(file)?;
            *self = Log { writing: true, ..log };
            self.cut()?;
        }
        Ok(())
    }

    /// Cuts off the bytes behind the last record.
    fn cut(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.set_len(self.end))
    }

    /// Appends records, all of them or none.
    pub fn append(&mut self, records: &[(&str, Option<Bytes>)]) -> io::Result<()> {
        let (mut bytes, mut noted) = (Vec::new(), Vec::new());
        for (key, value) in records {
            let at = self.end + record::write(key, value.as_deref(), &mut bytes);
            noted.push((*key, value.as_ref().map(|value| Value { at, size: value.len() as u64 })));
        }
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let written = file.seek(SeekFrom::Start(self.end)).and_then(|_| file.write_all(&bytes));
        if let Err(e) = written {
            // What it left is no record, whether or not it can be cut off now.
            let _ = self.cut();
            return Err(e);
        }
        self.end += bytes.len() as u64;
        noted.into_iter().for_each(|(key, value)| self.note(key.to_owned(), value));
        Ok(())
    }

    /// Where the value of a key lies.
    pub fn value(&self, key: &str) -> Option<Value> {
        self.values.get(key).copied()
    }

    /// The bytes of a value.
    pub fn read(&mut self, value: Value) -> io::Result<Vec<u8>> {
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        file.seek(SeekFrom::Start(value.at))?;
        let mut bytes = vec![0; value.size as usize];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// The keys that begin with `prefix`, sorted.
    pub fn below(&self, prefix: &str) -> Vec<String> {
        let from = self.values.range(prefix.to_owned()..).map(|(key, _)| key);
        from.take_while(|key| key.starts_with(prefix)).cloned().collect()
    }
}
