//! The checks find each store that reads wrong parts of values, or whose snapshots are of other versions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::shared::verdict;
use super::{check_contents, check_store};
use zarr_core::StoreError;
use zarr_core::store::{
    ByteRange, Capabilities, GetOptions, Got, Payload, Precondition, SnapshotOptions, StoreKey,
    StorePrefix, SyncSnapshot, SyncStore, Version, check_size, from_sync,
};

/// One way to break a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    CutsAtMost,
    IgnoresLimit,
    IgnoresLoneRange,
    IgnoresLoneBounded,
    SuffixIsPrefix,
    ShiftsRanges,
    CutsLoneRange,
    RepeatsFirstRange,
    LoneRangeOfAbsent,
    PinIgnoresRanges,
    PinAppendsIntoBuffer,
    PinReadsIntoFromStart,
    PinHasNoSize,
    PinIsMissing,
    PinOfAbsent,
    PinIsLive,
    PinTakesRangesAsTheyAre,
    PinAsTakesAny,
    PinAsIsNever,
    VersionStays,
    PinVersionedIsLive,
    PinVersionedOfAnother,
    PinForAnswersWithFirst,
    PinForFailsOutside,
    PinForOfAbsent,
    PinForIsLive,
}

type Values = BTreeMap<String, (u64, Bytes)>;

/// A map with numbered versions.
#[derive(Clone, Debug)]
struct Numbered {
    flaw: Flaw,
    values: Arc<Mutex<(u64, Values)>>,
}

impl Numbered {
    fn new(flaw: Flaw) -> Self {
        Numbered { flaw, values: Arc::default() }
    }

    fn with(flaw: Flaw, contents: &BTreeMap<String, Vec<u8>>) -> Self {
        let store = Numbered::new(flaw);
        for (name, value) in contents {
            let key = StoreKey::new(name).unwrap();
            store.set(&key, Payload::new(value.clone())).unwrap();
        }
        store
    }

    fn is(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    fn lock(&self) -> MutexGuard<'_, (u64, Values)> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, key: &StoreKey) -> Option<(u64, Bytes)> {
        self.lock().1.get(key.as_str()).cloned()
    }

    fn version(&self, number: u64) -> Version {
        Version::new(if self.is(Flaw::VersionStays) {
            vec![0]
        } else {
            number.to_le_bytes().to_vec()
        })
    }
}

/// A version of a value.
struct Held {
    store: Numbered,
    key: StoreKey,
    value: Bytes,
    /// The number of ranges that it was opened with.
    first: usize,
    version: Version,
}

impl Held {
    fn value(&self) -> Bytes {
        let now = self.store.find(&self.key).filter(|_| self.store.is(Flaw::PinIsLive));
        now.map_or_else(|| self.value.clone(), |(_, value)| value)
    }

    /// The range that is read in place of `range`.
    fn instead(&self, ranges: &[ByteRange], range: ByteRange) -> ByteRange {
        let size = self.value.len() as u64;
        match (self.store.flaw, range) {
            (Flaw::RepeatsFirstRange, _) if ranges.len() > 1 => ranges[0],
            _ if ranges.len() > 1 => range,
            (Flaw::IgnoresLoneRange, _) => ByteRange::ALL,
            (Flaw::IgnoresLoneBounded, ByteRange::Bounded { .. }) => ByteRange::ALL,
            (Flaw::SuffixIsPrefix, ByteRange::Suffix(len)) if len <= size => {
                ByteRange::Bounded { start: 0, len }
            }
            (Flaw::ShiftsRanges, ByteRange::Bounded { start, len }) if start + 1 + len <= size => {
                ByteRange::Bounded { start: start + 1, len }
            }
            (Flaw::CutsLoneRange, ByteRange::Bounded { start, len }) if start <= size => {
                ByteRange::Bounded { start, len: len.min(size - start) }
            }
            _ => range,
        }
    }
}

impl SyncSnapshot for Held {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        let value = self.value();
        let size = value.len() as u64;
        let slice = |range: &ByteRange| match (self.store.flaw, range) {
            _ if self.first > 0 => {
                let range = self.instead(ranges, *range).resolve(&self.key, size)?;
                Ok(value.slice(range.start as usize..range.end as usize))
            }
            (Flaw::PinIgnoresRanges, _) => Ok(value.clone()),
            (Flaw::PinTakesRangesAsTheyAre, ByteRange::Bounded { start, len })
                if *start <= size =>
            {
                let end = size.min(start.saturating_add(*len));
                Ok(value.slice(*start as usize..end as usize))
            }
            _ => {
                let range = range.resolve(&self.key, size)?;
                Ok(value.slice(range.start as usize..range.end as usize))
            }
        };
        ranges.iter().map(slice).collect()
    }

    fn read_into(&self, range: ByteRange, buf: &mut Vec<u8>) -> Result<(), StoreError> {
        let range = match (self.store.flaw, range) {
            (Flaw::PinReadsIntoFromStart, ByteRange::Suffix(len)) if len <= self.size() => {
                ByteRange::Bounded { start: 0, len }
            }
            _ => range,
        };
        let read = self.read(&[range])?.concat();
        if !self.store.is(Flaw::PinAppendsIntoBuffer) {
            buf.clear();
        }
        buf.extend(read);
        Ok(())
    }

    fn size(&self) -> u64 {
        if self.store.is(Flaw::PinHasNoSize) { 0 } else { self.value.len() as u64 }
    }

    fn version(&self) -> Option<Version> {
        Some(self.version.clone())
    }
}

fn numbered(number: u64) -> Version {
    Version::new(number.to_le_bytes().to_vec())
}

impl SyncStore for Numbered {
    fn name(&self) -> String {
        format!("{:?}", self.flaw)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { list: false, local: true, ..Capabilities::FULL }
    }

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        let Some((number, value)) = self.find(key) else { return Ok(None) };
        let (size, limit) = (value.len() as u64, how.limit);
        let (value, how) = match self.flaw {
            Flaw::CutsAtMost if size > limit => (value.slice(..limit as usize), how),
            Flaw::IgnoresLimit => (value, GetOptions { limit: u64::MAX, ..how }),
            _ => (value, how),
        };
        how.answer(key, value, Some(numbered(number)))
    }

    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>, StoreError> {
        let held = |store: &Numbered, value: Bytes, version| {
            let (store, key, first) = (store.clone(), key.clone(), how.first.len());
            Ok(Some(Box::new(Held { store, key, value, first, version }) as _))
        };
        let is_plain = !how.for_update && how.expect.is_none();
        let absent_is_found = match self.flaw {
            Flaw::PinOfAbsent => is_plain && how.first.is_empty(),
            Flaw::LoneRangeOfAbsent => how.first.len() == 1,
            Flaw::PinForOfAbsent => !how.first.is_empty(),
            _ => false,
        };
        let Some((number, value)) =
            self.find(key).or_else(|| absent_is_found.then(|| (0, Bytes::new())))
        else {
            return Ok(None);
        };
        let size = value.len() as u64;
        check_size(key, size, how.limit)?;
        let flawed = |flaw| Numbered { flaw, ..self.clone() };
        match (self.flaw, how.first) {
            (Flaw::PinVersionedIsLive, _) if how.for_update => {
                held(&flawed(Flaw::PinIsLive), value, numbered(number))
            }
            (Flaw::PinVersionedOfAnother, _) if how.for_update => held(self, value, numbered(0)),
            _ if how.for_update => held(&flawed(Flaw::None), value, numbered(number)),
            (Flaw::PinAsTakesAny, _) => held(self, value, self.version(number)),
            (Flaw::PinAsIsNever, _) if how.expect.is_some() => Ok(None),
            _ if how.expect.is_some_and(|version| *version != self.version(number)) => Ok(None),
            (Flaw::PinIsMissing, []) if is_plain => Ok(None),
            (Flaw::PinForAnswersWithFirst, &[ByteRange::Suffix(len)]) if len < size => {
                // The first ranges are taken for the whole value.
                let tail = value.slice((size - len) as usize..);
                held(self, tail, self.version(number))
            }
            (Flaw::PinForFailsOutside, &[range]) if range.within(size).is_none() => Ok(None),
            (Flaw::PinForIsLive, [_, ..]) => {
                held(&flawed(Flaw::PinIsLive), value, self.version(number))
            }
            _ => held(self, value, self.version(number)),
        }
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        let value = value.map(Payload::into_bytes).transpose()?;
        let mut values = self.lock();
        let is = values.1.get(key.as_str()).map(|(number, _)| numbered(*number));
        if !only_if.holds(is.as_ref()) {
            return Ok(false);
        }
        values.0 += 1;
        let number = values.0;
        match value {
            Some(value) => values.1.insert(key.to_string(), (number, value)),
            None => values.1.remove(key.as_str()),
        };
        Ok(true)
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        self.lock().1.retain(|key, _| !key.starts_with(prefix.as_str()));
        Ok(())
    }
}

fn checked(flaw: Flaw) -> Option<String> {
    verdict(|| check_store(|| from_sync(Numbered::new(flaw))))
}

fn contents() -> BTreeMap<String, Vec<u8>> {
    BTreeMap::from([("a/b".to_owned(), (0..=99).collect()), ("c".into(), vec![])])
}

#[test]
fn sound_stores_pass() {
    assert_eq!(checked(Flaw::None), None);
    let store = from_sync(Numbered::with(Flaw::None, &contents()));
    assert_eq!(verdict(|| check_contents(&store, &contents())), None);
}

/// F-111.
#[test]
fn each_wrong_part_and_each_wrong_snapshot_is_found_and_named() {
    let cases = [
        (Flaw::CutsAtMost, "get at most of"),
        (Flaw::IgnoresLimit, "get at most of"),
        (Flaw::IgnoresLoneRange, "open for ranges: from 100 to the end"),
        (Flaw::IgnoresLoneBounded, "open for ranges: 0 bytes from 0"),
        (Flaw::SuffixIsPrefix, "open for ranges: the last 33 bytes"),
        (Flaw::ShiftsRanges, "open for ranges: 50 bytes from 25"),
        (Flaw::CutsLoneRange, "must be an error"),
        (Flaw::RepeatsFirstRange, "open for ranges: "),
        (Flaw::LoneRangeOfAbsent, "an absent key"),
        (Flaw::PinIgnoresRanges, "open: from 100 to the end"),
        (Flaw::PinAppendsIntoBuffer, "open, read_into"),
        (Flaw::PinReadsIntoFromStart, "open, read_into: the last"),
        (Flaw::PinHasNoSize, "open: the size of"),
        (Flaw::PinIsMissing, "open of"),
        (Flaw::PinOfAbsent, "open of"),
        (Flaw::PinIsLive, "open: a snapshot is never of another value"),
        (Flaw::PinTakesRangesAsTheyAre, "open: 1 bytes from 100 leaves"),
        (Flaw::PinAsTakesAny, "open of a version: a snapshot is never of another value"),
        (Flaw::PinAsIsNever, "open of a version: `k` still is what it was"),
        (Flaw::VersionStays, "open of a version: a snapshot is never of another value"),
        (Flaw::PinVersionedIsLive, "open for an update: a snapshot is never of another value"),
        (Flaw::PinVersionedOfAnother, "open for an update: put accepts the version"),
        (Flaw::PinForAnswersWithFirst, "open ahead: "),
        (Flaw::PinForFailsOutside, "open for ranges: "),
        (Flaw::PinForOfAbsent, "an absent key"),
        (Flaw::PinForIsLive, "open ahead: a snapshot is never of another value"),
    ];
    for (flaw, expected) in cases {
        match checked(flaw) {
            None => panic!("a store passes that is broken by {flaw:?}"),
            Some(said) => assert!(said.contains(expected), "{flaw:?}: {said}"),
        }
    }
}

#[test]
fn a_store_that_cannot_be_written_is_checked_by_its_contents() {
    for flaw in [
        Flaw::IgnoresLoneRange,
        Flaw::IgnoresLoneBounded,
        Flaw::SuffixIsPrefix,
        Flaw::ShiftsRanges,
        Flaw::CutsLoneRange,
        Flaw::RepeatsFirstRange,
        Flaw::LoneRangeOfAbsent,
        Flaw::PinIgnoresRanges,
        Flaw::PinAppendsIntoBuffer,
        Flaw::PinHasNoSize,
        Flaw::PinIsMissing,
        Flaw::PinOfAbsent,
        Flaw::PinAsIsNever,
        Flaw::PinForAnswersWithFirst,
        Flaw::PinForFailsOutside,
        Flaw::PinForOfAbsent,
    ] {
        let store = from_sync(Numbered::with(flaw, &contents()));
        assert!(verdict(|| check_contents(&store, &contents())).is_some(), "{flaw:?} passes");
    }
}
