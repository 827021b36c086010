//! Finds the value of a key in an archive, and reads it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufReader, Read};
use std::ops::{Bound, Range};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use zarr_core::StoreError;
use zarr_core::store::{
    ByteRange, InMemorySnapshot, Listing, Result, StoreKey, StorePrefix, SyncSnapshot, Version,
};
use zip::read::{ZipArchiveMetadata, ZipFileEntry, ZipReadOptions};
use zip::{CompressionMethod, ZipArchive, result::ZipError};

use super::positioned::{Positioned, Source};

/// Values that inflate to more than this, and more than [`FOLD`] times their stored size, are refused
/// where no reader said how many bytes to expect.
const MAX_UNEXPECTED_BYTES: u64 = 64 << 20;
const FOLD: u64 = 200;

/// Bytes by which a small value may be longer as it is stored.
const LONGER: u64 = 64 << 10;
/// Bytes that are allocated before they are read.
const RESERVED: u64 = 16 << 20;

/// The size of a local header without its name and its extra fields, and of the fields that most have.
const HEADER: u64 = 30;
const EXTRA: u64 = 64;

/// The documents that tell a hierarchy's root, in any dialect.
const DOCUMENTS: [&str; 5] = ["zarr.json", ".zgroup", ".zarray", ".zmetadata", ".zattrs"];

/// The keys in an archive, those below one folder of it.
#[derive(Debug)]
pub(super) struct Directory {
    /// Which folder of the archive has the keys: empty, or ending in `/`.
    pub folder: Box<str>,
    locations: BTreeMap<Box<str>, EntryLocation>,
    /// The names of entries that no key can say.
    unusable: BTreeSet<Box<str>>,
    /// By the name that counts, the names of entries that begin with `/` or `./` and are read as that.
    renamed: BTreeMap<Box<str>, Vec<Box<str>>>,
    /// What a reader should know of those, as far as there are few.
    warnings: Vec<String>,
    /// The first entry whose name has `\` for `/`, and how many there are: see [`with_slashes`].
    backslashes: Option<(Box<str>, usize)>,
    /// The comment of the archive.
    pub comment: Box<[u8]>,
    /// Where the archive's directory begins, behind all entries; `None` if an entry follows it.
    pub start: Option<u64>,
    /// Tells it from all others, of other processes, too; its contents are never overwritten.
    number: u64,
}

/// A file and what is in it.
#[derive(Debug)]
pub(super) struct Archive {
    pub file: Arc<File>,
    pub directory: Directory,
}

impl Archive {
    /// See [`Directory::read`].
    pub fn read(file: File, folder: &str) -> io::Result<Self> {
        let file = Arc::new(file);
        Ok(Archive { directory: Directory::read(&file, folder)?, file })
    }

    /// An archive without entries.
    pub fn empty(file: File, folder: &str) -> Self {
        Archive { file: Arc::new(file), directory: Directory::empty(folder) }
    }

    pub fn find(&self, key: &StoreKey) -> Option<Value<File>> {
        self.directory.find(&self.file, key)
    }
}

/// Where a value is stored.
#[derive(Clone, Debug)]
pub(super) enum EntryLocation {
    /// An entry of an archive that was there.
    Entry(Arc<ZipArchiveMetadata>, usize),
    /// Plain bytes that this process wrote.
    Plain(Range<u64>),
}

/// A value in an archive.
pub(super) struct Value<S> {
    source: Arc<S>,
    location: EntryLocation,
    number: u64,
}

/// An error of `zip` as one of input.
pub(super) fn broken(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        ZipError::InvalidArchive(why) => damaged(format!(
            "zip: {why}: the archive is damaged or truncated; get it again, or let `zip -FF` rebuild its directory"
        )),
        other => damaged(format!("zip: {other}")),
    }
}

pub(super) fn damaged(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

impl Directory {
    /// The directory of the archive in `source`, its keys those below `folder` of the hierarchy in it. That is in the one folder
    /// with a root's document, as netCDF writes it, unless the archive's top has one (N-114); if nothing lies
    /// below `folder` there, `folder` counts from the top.
    ///
    /// Of entries with one name the last counts (Z2-081). `./a` and `/a` are read as `a` if there is no entry of that name.
    /// Names with `\` are read as [`with_slashes`] has them.
    pub fn read<S: Source>(source: &Arc<S>, folder: &str) -> io::Result<Self> {
        let buffered = BufReader::with_capacity(1 << 16, Positioned::new(source, 0));
        let archive = ZipArchive::new(buffered).map_err(broken)?;
        let mut start = Some(archive.central_directory_start());
        let entries = archive.metadata();
        let (mut locations, mut unusable) = (BTreeMap::new(), BTreeSet::new());
        let mut prefixed = Vec::new();
        // By the name that counts, the stored name and the number of entries with `\`.
        let mut turned: BTreeMap<Box<str>, (Box<str>, usize)> = BTreeMap::new();
        let mut backslashes: Option<(Box<str>, usize)> = None;
        for index in 0..entries.len() {
            let entry = entries.entry(index).map_err(broken)?;
            start = start.filter(|&start| entry.header_start() < start);
            let name = entry.name().map_err(broken)?;
            if !entry.is_file() {
                continue;
            }
            if let Some(with_slashes) = with_slashes(&name) {
                backslashes.get_or_insert_with(|| (Box::from(&*name), 0)).1 += 1;
                if StoreKey::new(&*with_slashes).is_ok() {
                    turned.insert(with_slashes.into(), (name.into(), index));
                } else if StoreKey::new(without_prefix(&with_slashes)).is_ok() {
                    prefixed.push((index, with_slashes.into()));
                } else {
                    unusable.insert(name.into());
                }
            } else if StoreKey::new(&*name).is_ok() {
                locations.insert(name.into(), EntryLocation::Entry(entries.clone(), index));
            } else if StoreKey::new(without_prefix(&name)).is_ok() {
                prefixed.push((index, Box::from(&*name)));
            } else {
                unusable.insert(name.into());
            }
        }
        for (key, (name, index)) in turned {
            if locations.contains_key(&key) {
                return Err(damaged(format!(
                    "zip: the entries `{name}` and `{key}` have the same name, since `\\` is read as `/`: remove one of them"
                )));
            }
            locations.insert(key, EntryLocation::Entry(entries.clone(), index));
        }
        let mut read =
            Directory { locations, unusable, backslashes, start, ..Directory::empty("") };
        read.comment = archive.comment().into();
        read.add_prefixed(prefixed, &entries);
        let inside = format!("{}{folder}", root_folder(&read.locations));
        let is_there = |prefix: &str| read.locations.keys().any(|name| name.starts_with(prefix));
        let folder = if !is_there(&inside) && is_there(folder) { folder } else { &inside };
        read.folder = folder.into();
        Ok(read)
    }

    /// Adds entries whose names begin with `/` or `./`, each with its number, in their order.
    fn add_prefixed(
        &mut self,
        prefixed: Vec<(usize, Box<str>)>,
        entries: &Arc<ZipArchiveMetadata>,
    ) {
        let count = prefixed.len();
        // Before any of them is added: a name without a prefix counts, wherever it stands.
        let exact = prefixed
            .iter()
            .map(|(_, name)| self.locations.contains_key(without_prefix(name)))
            .collect::<Vec<bool>>();
        for ((index, name), is_exact) in prefixed.into_iter().zip(exact) {
            let key = without_prefix(&name);
            let others = self.renamed.entry(key.into()).or_default();
            if self.warnings.len() < MAX_WARNINGS {
                self.warnings.push(if is_exact {
                    format!("the archive's entry `{name}` is passed over, since `{key}` is there, too")
                } else if others.is_empty() {
                    format!("the archive's entry `{name}` is read as `{key}`; other readers may not find it")
                } else {
                    format!("the archive's entry `{name}` is read as `{key}`, in place of one before it")
                });
            }
            if !is_exact {
                let location = EntryLocation::Entry(entries.clone(), index);
                self.locations.insert(key.into(), location);
            }
            others.push(name);
        }
        if count > MAX_WARNINGS {
            let more = count - MAX_WARNINGS;
            self.warnings
                .push(format!("{more} more of the archive's entries begin with `/` or `./`"));
        }
    }

    /// The directory of an archive without entries.
    pub fn empty(folder: impl Into<Box<str>>) -> Self {
        let number = RandomState::new().build_hasher().finish();
        let (locations, unusable) = (BTreeMap::new(), BTreeSet::new());
        Directory {
            folder: folder.into(),
            locations,
            unusable,
            renamed: BTreeMap::new(),
            warnings: Vec::new(),
            backslashes: None,
            comment: Box::default(),
            start: Some(0),
            number,
        }
    }

    /// What a reader of the archive with this name should know of it.
    pub fn warnings(&self, archive: &str) -> Vec<String> {
        let backslashes = self.backslashes.iter().map(|(name, count)| {
            let (entries, have) = if *count == 1 { ("entry", "has") } else { ("entries", "have") };
            format!(
                "{archive}: {count} {entries}, such as `{name}`, {have} `\\` in the name, as some Windows programs write it; \
                 it is read as `/`, and the archive is read-only: `zarr copy` makes one that can be written"
            )
        });
        backslashes.chain(self.warnings.iter().cloned()).collect()
    }

    /// Whether entries have names that only a reader can turn into keys: what replaced one would not take its place for
    /// other readers.
    pub fn is_read_only(&self) -> bool {
        self.backslashes.is_some()
    }

    /// The name of a key's entry.
    pub fn name(&self, key: &StoreKey) -> String {
        format!("{}{key}", self.folder)
    }

    pub fn find<S>(&self, source: &Arc<S>, key: &StoreKey) -> Option<Value<S>> {
        let location = self.locations.get(&*self.name(key))?.clone();
        Some(Value { source: source.clone(), location, number: self.number })
    }

    /// The keys that begin with `prefix`, in order, and where their values are.
    pub fn below(&self, prefix: &str, most: usize) -> Vec<(StoreKey, &EntryLocation)> {
        let prefix = format!("{}{prefix}", self.folder);
        let from = (Bound::Included(&*prefix), Bound::Unbounded);
        let entries = self.locations.range::<str, _>(from);
        let entries = entries.take_while(|(name, _)| name.starts_with(&*prefix));
        let found = entries.filter_map(|(name, location)| {
            let key = StoreKey::new(&name[self.folder.len()..]).ok()?;
            Some((key, location))
        });
        found.take(most).collect()
    }

    /// The keys that begin with `prefix`, up to `most`, and the names that no key can say.
    pub fn listing(&self, prefix: &StorePrefix, most: usize) -> Listing {
        let names = self.unusable.iter().filter_map(|name| name.strip_prefix(&*self.folder));
        let left_out = names.filter(|name| name.starts_with(prefix.as_str())).map(String::from);
        let (keys, locations): (_, Vec<_>) = self.below(prefix.as_str(), most).into_iter().unzip();
        let sizes = locations.iter().map(|location| location.size()).collect::<io::Result<_>>();
        let (sizes, left_out) = (sizes.unwrap_or_default(), left_out.collect());
        // What an archive holds at last has checksums in its directory.
        let versions = locations
            .iter()
            .map(|location| match location.found() {
                Ok(Found::Entry(entry)) => Some(entry.crc32().to_string()),
                _ => None,
            })
            .collect::<Option<_>>()
            .unwrap_or_default();
        Listing { keys, sizes, left_out, versions, ..Listing::default() }
    }

    /// What lies directly below a prefix; with a limit of 1 the first of it.
    pub fn folder_listing(&self, prefix: &StorePrefix, limit: Option<usize>) -> Listing {
        let one = limit.filter(|&limit| limit == 1).unwrap_or(usize::MAX);
        let Listing { keys, left_out, .. } = self.listing(prefix, one);
        let names = keys.iter().map(StoreKey::as_str).chain(left_out.iter().map(String::as_str));
        Listing::of_names(prefix, names)
    }

    /// Notes where a key's value lies now; tells whether it had one before.
    pub fn note(&mut self, key: &StoreKey, range: Option<Range<u64>>) -> bool {
        let name = self.name(key);
        match range {
            Some(range) => {
                self.locations.insert(name.into(), EntryLocation::Plain(range)).is_some()
            }
            None => self.locations.remove(&*name).is_some(),
        }
    }

    pub fn has(&self, key: &StoreKey) -> bool {
        self.locations.contains_key(&*self.name(key))
    }

    /// The value of an entry at the top of the archive, whichever folder has the keys.
    pub fn find_at_top<S>(&self, source: &Arc<S>, name: &str) -> Option<Value<S>> {
        let location = self.locations.get(name)?.clone();
        Some(Value { source: source.clone(), location, number: self.number })
    }

    /// Takes out a key's value; returns the names of all entries that are read as the key, none of which may stay.
    pub fn take_out(&mut self, key: &StoreKey) -> io::Result<Vec<String>> {
        let name = self.name(key);
        let renamed = self.renamed.remove(&*name).unwrap_or_default();
        let mut names: Vec<String> = renamed.into_iter().map(String::from).collect();
        if let Some(location) = self.locations.remove(&*name) {
            let is_renamed = match location.found()? {
                Found::Plain(_) => false,
                Found::Entry(entry) => *entry.name().map_err(broken)? != *name,
            };
            if !is_renamed {
                names.push(name);
            }
        }
        Ok(names)
    }
}

/// The most entries of which a reader is told, each by its name.
const MAX_WARNINGS: usize = 20;

/// The name that some programs on Windows write with `\`, with `/`; `None` for another name. As `unzip` does, only a name without
/// any `/` is taken for one: elsewhere `\` is a letter like others.
fn with_slashes(name: &str) -> Option<String> {
    (name.contains('\\') && !name.contains('/')).then(|| name.replace('\\', "/"))
}

/// The name of an entry without what some programs begin it with: `/`, `./`.
fn without_prefix(name: &str) -> &str {
    let mut rest = name;
    while let Some(shorter) = rest.strip_prefix('/').or_else(|| rest.strip_prefix("./")) {
        rest = shorter;
    }
    rest
}

/// The only folder with a root's document, if the top has none.
fn root_folder(locations: &BTreeMap<Box<str>, EntryLocation>) -> Box<str> {
    if DOCUMENTS.iter().any(|document| locations.contains_key(*document)) {
        return "".into();
    }
    let folders = locations.keys().filter_map(|name| {
        let (folder, rest) = name.split_once('/')?;
        DOCUMENTS.contains(&rest).then(|| format!("{folder}/"))
    });
    let mut folders: Vec<String> = folders.collect();
    folders.dedup();
    match <[String; 1]>::try_from(folders) {
        Ok([folder]) => folder.into(),
        Err(_) => "".into(),
    }
}

/// Where the bytes of a value are, as far as the directory of the archive knows.
enum Found<'a> {
    Plain(&'a Range<u64>),
    Entry(ZipFileEntry<'a>),
}

impl EntryLocation {
    fn found(&self) -> io::Result<Found<'_>> {
        match self {
            EntryLocation::Plain(range) => Ok(Found::Plain(range)),
            EntryLocation::Entry(entries, index) => {
                entries.entry(*index).map(Found::Entry).map_err(broken)
            }
        }
    }

    /// The value's size in bytes, as the archive specifies it.
    pub fn size(&self) -> io::Result<u64> {
        Ok(match self.found()? {
            Found::Plain(range) => range.end - range.start,
            Found::Entry(entry) => entry.size(),
        })
    }
}

impl<S: Source> Value<S> {
    /// The value's size in bytes, as the archive specifies it.
    pub fn size(&self) -> io::Result<u64> {
        self.location.size()
    }

    /// What distinguishes the value from all others that its key had or will have.
    pub fn version(&self) -> Version {
        Version::of_mark(match &self.location {
            EntryLocation::Plain(range) => [self.number, 0, range.start, range.end],
            EntryLocation::Entry(_, index) => [self.number, 1, *index as u64, 0],
        })
    }

    /// The whole value; its checksum is compared, if it has one.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let size = self.size()?;
        if let Found::Entry(entry) = self.location.found()? {
            let stored = entry.compressed_size();
            if size > MAX_UNEXPECTED_BYTES && size / FOLD > stored {
                return Err(damaged(format!(
                    "zip: {stored} bytes inflate to {size}, which is treated as an attack"
                )));
            }
        }
        let mut value = Vec::new();
        // At most [`RESERVED`] bytes are allocated for a stated size, and more as bytes arrive: the source's own size may be
        // what a server claims, or that of a file with holes (docs/internals/design/limits.md).
        value.reserve_exact(size.min(self.source.size()?).min(RESERVED) as usize);
        self.each(|source| source.read_to_end(&mut value).map(drop))?;
        Ok(value)
    }

    /// Fills `out`, which has the value's size.
    pub fn read_into(&self, out: &mut [u8]) -> io::Result<()> {
        self.each(|source| {
            source.read_exact(out)?;
            // Only the end of an entry compares its checksum.
            match source.read(&mut [0])? {
                0 => Ok(()),
                _ => Err(damaged("zip: longer than it says")),
            }
        })
    }

    /// Lets `read` read the value from its beginning to its end, and no further.
    fn each(&self, read: impl FnOnce(&mut dyn Read) -> io::Result<()>) -> io::Result<()> {
        match self.location.found()? {
            Found::Plain(range) => {
                read(&mut Positioned::new(&self.source, range.start).take(range.end - range.start))
            }
            Found::Entry(entry) => {
                let most = entry.size().saturating_add(1);
                let mut at = BufReader::new(Positioned::new(&self.source, 0));
                let opened = entry.with_reader(&mut at, ZipReadOptions::new()).map_err(broken)?;
                read(&mut opened.take(most))
            }
        }
    }

    /// Whether the value is stored as it is, and need not be inflated.
    pub fn is_plain(&self) -> io::Result<bool> {
        Ok(match self.location.found()? {
            Found::Plain(_) => true,
            Found::Entry(entry) => {
                entry.compression() == CompressionMethod::Stored && !entry.encrypted()
            }
        })
    }

    /// The range of the value, if it is stored as it is; `None` if it must be inflated.
    pub fn plain(&self) -> io::Result<Option<Range<u64>>> {
        let entry = match self.location.found()? {
            Found::Plain(range) => return Ok(Some(range.clone())),
            Found::Entry(_) if !self.is_plain()? => return Ok(None),
            Found::Entry(entry) => entry,
        };
        // The local header may be longer than the directory's, and only it specifies by how much.
        let mut header = [0; HEADER as usize];
        Positioned::new(&self.source, entry.header_start()).read_exact(&mut header)?;
        if header[..4] != *b"PK\x03\x04" {
            return Err(damaged("zip: no entry where the directory has one"));
        }
        let start = entry.header_start() + HEADER + length(&header, 26) + length(&header, 28);
        let end = start.checked_add(entry.size());
        match end.filter(|&end| self.source.size().is_ok_and(|size| end <= size)) {
            Some(end) => Ok(Some(start..end)),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// The range of the value's header, and where the value begins if that header is as long as the directory lets expect.
    pub fn header(&self) -> io::Result<(Range<u64>, u64)> {
        let entry = match self.location.found()? {
            Found::Plain(range) => return Ok((range.start..range.start, range.start)),
            Found::Entry(entry) => entry,
        };
        let (start, size) = (entry.header_start(), self.source.size()?);
        let likely = start.saturating_add(HEADER + entry.name_raw().len() as u64);
        Ok((start..likely.saturating_add(EXTRA).min(size).max(start), likely))
    }

    /// The range of all that is needed to read the value, as far as the directory knows.
    pub fn span(&self) -> io::Result<Range<u64>> {
        let stored = match self.location.found()? {
            Found::Plain(range) => range.end - range.start,
            Found::Entry(entry) => {
                // No compression makes bytes much longer, so that a reader's limit bounds what is fetched, too. Where
                // more is needed, the reading requests it piece by piece.
                let size = entry.size();
                let longest = size.saturating_add(size / 8).saturating_add(LONGER);
                entry.compressed_size().min(longest)
            }
        };
        let (header, _) = self.header()?;
        let end = header.end.saturating_add(stored).min(self.source.size()?);
        Ok(header.start..end.max(header.start))
    }
}

/// A number of two bytes, which is the length of something.
fn length(header: &[u8], at: usize) -> u64 {
    u64::from(u16::from_le_bytes([header[at], header[at + 1]]))
}

impl<S: Source + 'static> Value<S> {
    /// Opens the value to read parts of it: from the file if it is stored there as it is; else it is inflated once some of it is
    /// read.
    pub fn open(self, key: &StoreKey) -> io::Result<Box<dyn SyncSnapshot>> {
        let (range, size, key) = (self.plain()?, self.size()?, key.clone());
        Ok(Box::new(OpenedValue { value: self, range, size, key, whole: OnceLock::new() }))
    }
}

/// A value, and where it is in the archive, if it is stored there as it is.
struct OpenedValue<S> {
    value: Value<S>,
    range: Option<Range<u64>>,
    size: u64,
    key: StoreKey,
    /// What was inflated.
    whole: OnceLock<InMemorySnapshot>,
}

impl<S: Source> SyncSnapshot for OpenedValue<S> {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let failed = || StoreError::io("get", &self.key);
        let Some(place) = &self.range else {
            if self.whole.get().is_none() && !ranges.is_empty() {
                let whole = self.value.read().map_err(failed())?;
                let _ = self.whole.set(InMemorySnapshot::new(&self.key, whole.into()));
            }
            return self.whole.get().map_or(Ok(Vec::new()), |whole| whole.read(ranges));
        };
        ranges
            .iter()
            .map(|range| {
                let range = range.resolve(&self.key, self.size)?;
                let mut bytes = vec![0; (range.end - range.start) as usize];
                let mut at = Positioned::new(&self.value.source, place.start + range.start);
                at.read_exact(&mut bytes).map_err(failed())?;
                Ok(Bytes::from(bytes))
            })
            .collect()
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn version(&self) -> Option<Version> {
        Some(self.value.version())
    }
}
