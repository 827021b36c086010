//! Cuts the bytes of an input into the parts that a target needs.

use std::sync::Arc;

use zarr::store::{Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Limits, OpenOptions};

/// The line that begins a file in an input of several.
const MARK: &[u8] = b"=== ";

/// Keys and values: each begins after a line `=== KEY`; what comes before the first such line has the key `first`.
pub fn files<'a>(data: &'a [u8], first: &'a str) -> Vec<(&'a str, &'a [u8])> {
    let mut files = Vec::new();
    let (mut key, mut start, mut at) = (first, 0, 0);
    while at < data.len() {
        let is_mark = data[at..].starts_with(MARK) && (at == 0 || data[at - 1] == b'\n');
        if is_mark && let Some(length) = data[at..].iter().position(|&byte| byte == b'\n') {
            let end = at + length;
            if at > 0 {
                files.push((key, &data[start..(at - 1).max(start)]));
            }
            key = std::str::from_utf8(&data[at + MARK.len()..end]).unwrap_or(first);
            (start, at) = (end + 1, end + 1);
        } else {
            at += 1;
        }
    }
    files.push((key, data.get(start..).unwrap_or_default()));
    files
}

/// The input that [`files`] cuts into these.
pub fn joined<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut data = Vec::new();
    for (key, value) in files {
        data.extend_from_slice(MARK);
        data.extend_from_slice(key.as_bytes());
        data.push(b'\n');
        data.extend_from_slice(value);
        data.push(b'\n');
    }
    data.pop();
    data
}

/// A store in memory with these files; a key that no store takes is left out.
pub fn store(files: &[(&str, &[u8])]) -> Arc<dyn Store> {
    let store = from_sync(MemoryStore::new());
    let writer = store.to_sync();
    for (key, value) in files {
        if let Ok(key) = StoreKey::new(*key) {
            writer.set(&key, value.to_vec().into()).expect("memory takes every value");
        }
    }
    store
}

/// One thread, everything known, and at most 1 MiB of a document and 8 MiB of a chunk.
pub fn options() -> OpenOptions {
    let limits = Limits { document: 1 << 20, rank: 64, new_rank: 64, decoded: 8 << 20 };
    OpenOptions::new(zarr::standard()).threads(1).limits(limits)
}

/// Numbers and lists that a target takes from the front of an input; zeros once it has ended.
pub struct Choices<'a>(pub &'a [u8]);

impl<'a> Choices<'a> {
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        u64::from(self.byte()) % end
    }

    /// One of these.
    pub fn pick<'b, T>(&mut self, from: &'b [T]) -> &'b T {
        &from[usize::from(self.byte()) % from.len()]
    }

    /// What is before the next line break, as text.
    pub fn line(&mut self) -> &'a str {
        let end = self.0.iter().position(|&byte| byte == b'\n').unwrap_or(self.0.len());
        let (line, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or_default();
        std::str::from_utf8(line).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_cut_and_joined() {
        let of = |text: &'static str| files(text.as_bytes(), "a");
        assert_eq!(of("x"), [("a", &b"x"[..])]);
        assert_eq!(of(""), [("a", &b""[..])]);
        let two = [("b", &b"x\n"[..]), ("c/d", &b""[..])];
        assert_eq!(files(&joined(two), "a"), two);
        assert_eq!(of("=== b\n=== c\n"), [("b", &b""[..]), ("c", &b""[..])]);
        assert_eq!(of("x=== b\n"), [("a", &b"x=== b\n"[..])]);
        assert_eq!(of("x\n=== b\ny"), [("a", &b"x"[..]), ("b", &b"y"[..])]);
    }
}
