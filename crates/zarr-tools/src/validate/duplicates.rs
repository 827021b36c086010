//! Finds the names that a zip archive's directory has more than once. The store takes the last entry of a name and does not show the others.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;

use super::inventory::Inventory;
use super::problem::{Problem, ProblemKind};
use super::tree::Tree;
use super::{Context, Sink};
use crate::local_path::local_path;

/// The longest end of an archive: its record, a comment, and the records of zip64.
const END: u64 = 22 + 65_535 + 20 + 56;
/// The size of an entry in the directory without its name, its extra fields and its comment.
const ENTRY: usize = 46;

/// Reports the keys whose names the archive has more than once.
pub(super) fn check(
    context: &Context<'_>,
    inventory: &Inventory,
    tree: &Tree,
    sink: &mut Sink<'_>,
) {
    let name = context.store.name();
    let Some(inside) = local_path(&name, "zip://") else {
        if name.starts_with("zip:") {
            let what = "whether the archive has a name twice: its directory is checked only on this machine";
            sink.add(Problem::new(&context.path, ProblemKind::NotChecked, what));
        }
        return;
    };
    let Some(path) = inside.ancestors().find(|at| at.is_file()).map(PathBuf::from) else { return };
    // The store read the same directory when it was opened, and said what is wrong with it.
    let Ok(repeated) = File::open(&path).and_then(repeated) else { return };
    let below = inside.strip_prefix(&path).map(|below| format!("{}/", below.display()));
    let below = below.ok().filter(|below| below != "/").unwrap_or_default();
    for (name, Repeated { count, differ, .. }) in repeated {
        // The hierarchy may be in the archive's only folder.
        let folder = name.split_once('/').map(|(_, rest)| rest);
        let keys = [Some(&*name), folder].into_iter().flatten();
        let mut keys = keys.filter_map(|key| key.strip_prefix(&below));
        let at = keys
            .find_map(|key| inventory.keys.binary_search_by(|there| there.as_str().cmp(key)).ok());
        let Some(at) = at else { continue };
        let how = if differ {
            "different contents, of which the last is the valid one: programs that use another read other data"
        } else {
            "equal contents"
        };
        let what = format!("the archive has {count} entries of this name, with {how}");
        let key = &inventory.keys[at];
        let path = tree.nearest(&*context.format, key);
        sink.add(Problem::new(&path, ProblemKind::DuplicateEntry, what).at(key).by("Z2-081"));
    }
}

/// A name of an archive's directory.
struct Repeated {
    count: u64,
    /// The checksum and the size of the first entry.
    first: [[u8; 4]; 2],
    /// Whether another entry has another checksum or another size.
    differ: bool,
}

/// The names that the directory of an archive has more than once.
fn repeated(mut file: File) -> io::Result<BTreeMap<String, Repeated>> {
    let (start, size) = directory(&mut file)?;
    file.seek(SeekFrom::Start(start))?;
    let mut directory = BufReader::new(file.take(size));
    let mut names: HashMap<String, Repeated> = HashMap::new();
    let mut entry = [0; ENTRY];
    loop {
        match directory.read_exact(&mut entry) {
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => break,
            other => other?,
        }
        if entry[..4] != *b"PK\x01\x02" {
            break;
        }
        let mut name = vec![0; length(&entry, 28) as usize];
        directory.read_exact(&mut name)?;
        io::copy(
            &mut (&mut directory).take(length(&entry, 30) + length(&entry, 32)),
            &mut io::sink(),
        )?;
        let Ok(name) = String::from_utf8(name) else { continue };
        // The stored size, between them, depends on the compression.
        let content = [
            [entry[16], entry[17], entry[18], entry[19]],
            [entry[24], entry[25], entry[26], entry[27]],
        ];
        let found = names.entry(name);
        let found = found.or_insert(Repeated { count: 0, first: content, differ: false });
        found.count += 1;
        found.differ |= found.first != content;
    }
    Ok(names.into_iter().filter(|(_, found)| found.count > 1).collect())
}

/// A number of two bytes, which is the length of something.
fn length(entry: &[u8], at: usize) -> u64 {
    u64::from(u16::from_le_bytes([entry[at], entry[at + 1]]))
}

/// Where the directory of an archive begins, and how many bytes it has.
fn directory(file: &mut File) -> io::Result<(u64, u64)> {
    let size = file.seek(SeekFrom::End(0))?;
    let start = size.saturating_sub(END);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.take(END).read_to_end(&mut tail)?;
    place(&tail, start).ok_or_else(|| ErrorKind::InvalidData.into())
}

/// As [`directory`], of the bytes at the end of an archive, which begin at `start`.
fn place(tail: &[u8], start: u64) -> Option<(u64, u64)> {
    let end = last_signature(tail, b"PK\x05\x06")?;
    // Counts, sizes and offsets that do not fit are in another record before this one.
    let is_wide = number(tail, end + 10, 2)? == 0xffff
        || [12, 16].iter().any(|at| number(tail, end + at, 4) == Some(0xffff_ffff));
    let (end, size) = if is_wide {
        let wide = last_signature(&tail[..end], b"PK\x06\x06")?;
        (wide, number(tail, wide + 40, 8)?)
    } else {
        (end, number(tail, end + 12, 4)?)
    };
    Some(((start + end as u64).checked_sub(size)?, size))
}

/// Where a record begins with this signature, the last one.
fn last_signature(bytes: &[u8], signature: &[u8]) -> Option<usize> {
    bytes.windows(4).rposition(|window| window == signature)
}

/// A number of `len` bytes in little endian, none past the end.
fn number(tail: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = tail.get(at..at + len)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}
