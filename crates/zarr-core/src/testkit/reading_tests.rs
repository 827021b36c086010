//! Stores that read parts of values wrongly, or pin other values than they say: the checks find each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;

use super::shared::verdict;
use super::{check_async_contents, check_async_store, check_contents, check_store};
use crate::error::StoreError;
use crate::store::{
    ByteRange, ConditionalStore, Payload, Pinned, ReadableStore, Store, StoreKey, StorePrefix,
    Version, Versioned, Whole, WriteableStore, aio, check_size,
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
        Version::new(match self.is(Flaw::VersionStays) {
            true => vec![0],
            false => number.to_le_bytes().to_vec(),
        })
    }

    fn held(&self, key: &StoreKey, found: (u64, Bytes)) -> Held {
        Held { store: self.clone(), key: key.clone(), number: found.0, value: found.1 }
    }

    fn change(&self, key: &StoreKey, value: Option<Bytes>) {
        let mut values = self.lock();
        values.0 += 1;
        let number = values.0;
        match value {
            Some(value) => values.1.insert(key.to_string(), (number, value)),
            None => values.1.remove(key.as_str()),
        };
    }
}

/// A value as it was.
struct Held {
    store: Numbered,
    key: StoreKey,
    number: u64,
    value: Bytes,
}

impl Held {
    fn value(&self) -> Bytes {
        let now = self.store.find(&self.key).filter(|_| self.store.is(Flaw::PinIsLive));
        now.map_or_else(|| self.value.clone(), |(_, value)| value)
    }
}

impl Pinned for Held {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        let value = self.value();
        let size = value.len() as u64;
        let slice = |range: &ByteRange| match (self.store.flaw, range) {
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
        match self.store.is(Flaw::PinHasNoSize) {
            true => 0,
            false => self.value.len() as u64,
        }
    }

    fn version(&self) -> Option<Version> {
        Some(self.store.version(self.number))
    }
}

impl Store for Numbered {
    fn name(&self) -> String {
        format!("{:?}", self.flaw)
    }
    fn readable(&self) -> Option<&dyn ReadableStore> {
        Some(self)
    }
    fn writeable(&self) -> Option<&dyn WriteableStore> {
        Some(self)
    }
    fn conditional(&self) -> Option<&dyn ConditionalStore> {
        Some(self)
    }
}

impl ReadableStore for Numbered {
    fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError> {
        Ok(self.find(key).map(|(_, value)| value))
    }

    fn get_at_most(&self, key: &StoreKey, limit: u64) -> Result<Option<Bytes>, StoreError> {
        let Some((_, value)) = self.find(key) else { return Ok(None) };
        let size = value.len() as u64;
        match self.flaw {
            Flaw::CutsAtMost => return Ok(Some(value.slice(..size.min(limit) as usize))),
            Flaw::IgnoresLimit => {}
            _ => check_size(key, size, limit)?,
        }
        Ok(Some(value))
    }

    fn get_partial_values(
        &self,
        key: &StoreKey,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        let Some(found) = self.find(key) else {
            let made_up = self.is(Flaw::LoneRangeOfAbsent) && ranges.len() == 1;
            return Ok(made_up.then(|| vec![Bytes::new()]));
        };
        let size = found.1.len() as u64;
        let meant = |&range: &ByteRange| match (self.flaw, range) {
            _ if ranges.len() > 1 => match self.flaw {
                Flaw::RepeatsFirstRange => ranges[0],
                _ => range,
            },
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
        };
        let meant: Vec<ByteRange> = ranges.iter().map(meant).collect();
        Whole::new(key, found.1).read(&meant).map(Some)
    }

    fn pin(&self, key: &StoreKey) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        let found = match self.find(key) {
            None if self.is(Flaw::PinOfAbsent) => Some((0, Bytes::new())),
            found => found.filter(|_| !self.is(Flaw::PinIsMissing)),
        };
        Ok(found.map(|found| Box::new(self.held(key, found)) as _))
    }

    fn pin_as(
        &self,
        key: &StoreKey,
        version: &Version,
    ) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        let found = self.find(key).filter(|(number, _)| match self.flaw {
            Flaw::PinAsTakesAny => true,
            Flaw::PinAsIsNever => false,
            _ => self.version(*number) == *version,
        });
        Ok(found.map(|found| Box::new(self.held(key, found)) as _))
    }
}

impl WriteableStore for Numbered {
    fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        self.change(key, Some(value.into_bytes()?));
        Ok(())
    }
    fn erase(&self, key: &StoreKey) -> Result<(), StoreError> {
        self.change(key, None);
        Ok(())
    }
    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        self.lock().1.retain(|key, _| !key.starts_with(prefix.as_str()));
        Ok(())
    }
}

impl ConditionalStore for Numbered {
    fn get_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Bytes, Version)>, StoreError> {
        let version = |number: u64| Version::new(number.to_le_bytes().to_vec());
        let size = self.find(key).map_or(0, |(_, value)| value.len() as u64);
        check_size(key, size, limit)?;
        Ok(self.find(key).map(|(number, value)| (value, version(number))))
    }

    fn pin_versioned(&self, key: &StoreKey, limit: u64) -> Result<Option<Versioned>, StoreError> {
        let Some((value, version)) = self.get_versioned(key, limit)? else { return Ok(None) };
        let mut store = self.clone();
        if self.is(Flaw::PinVersionedIsLive) {
            store.flaw = Flaw::PinIsLive;
        }
        let version = match self.is(Flaw::PinVersionedOfAnother) {
            true => Version::new(0u64.to_le_bytes().to_vec()),
            false => version,
        };
        Ok(Some((Box::new(store.held(key, (0, value))), version)))
    }

    fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError> {
        let value = value.map(Payload::into_bytes).transpose()?;
        let mut values = self.lock();
        let number = values.1.get(key.as_str()).map(|(number, _)| *number);
        if number.map(|number| Version::new(number.to_le_bytes().to_vec())).as_ref() != was {
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
}

/// The same map for callers that wait; `pin_for` is its own.
#[derive(Debug)]
struct Waiting {
    flaw: Flaw,
    store: Numbered,
    calm: Arc<dyn aio::Store>,
}

impl Waiting {
    fn over(store: Numbered) -> Arc<dyn aio::Store> {
        let flaw = store.flaw;
        let calm = Numbered { flaw: Flaw::None, ..store.clone() };
        let calm = Arc::new(aio::Ready::new(Arc::new(calm)));
        Arc::new(Waiting { flaw, store, calm })
    }
}

impl aio::Store for Waiting {
    fn name(&self) -> String {
        format!("{:?}", self.flaw)
    }
    fn readable(&self) -> Option<&dyn aio::ReadableStore> {
        Some(self)
    }
    fn writeable(&self) -> Option<&dyn aio::WriteableStore> {
        self.calm.writeable()
    }
    fn conditional(&self) -> Option<&dyn aio::ConditionalStore> {
        self.calm.conditional()
    }
}

#[async_trait]
impl aio::ReadableStore for Waiting {
    async fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError> {
        self.store.get(key)
    }
    async fn get_partial_values(
        &self,
        key: &StoreKey,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        self.store.get_partial_values(key, ranges)
    }
    async fn pin(&self, key: &StoreKey) -> Result<Option<Box<dyn aio::Pinned>>, StoreError> {
        self.pin_for(key, &[]).await
    }
    async fn pin_for(
        &self,
        key: &StoreKey,
        first: &[ByteRange],
    ) -> Result<Option<Box<dyn aio::Pinned>>, StoreError> {
        let found = match self.store.find(key) {
            None if self.flaw == Flaw::PinForOfAbsent && !first.is_empty() => {
                return Ok(Some(Box::new(Whole::new(key, Bytes::new()))));
            }
            None => return Ok(None),
            Some((_, value)) => value,
        };
        let size = found.len() as u64;
        match (self.flaw, first) {
            (Flaw::PinForAnswersWithFirst, &[ByteRange::Suffix(len)]) if len < size => {
                // What came along passes for the whole value.
                Ok(Some(Box::new(Whole::new(key, found.slice((size - len) as usize..)))))
            }
            (Flaw::PinForFailsOutside, &[range]) if range.within(size).is_none() => Ok(None),
            (Flaw::PinForIsLive, _) => {
                let live = Numbered { flaw: Flaw::PinIsLive, ..self.store.clone() };
                let held = live.pin(key)?.expect("it was found");
                Ok(Some(Box::new(Live(held))))
            }
            _ => Ok(Some(Box::new(Whole::new(key, found)))),
        }
    }
}

struct Live(Box<dyn Pinned>);

#[async_trait]
impl aio::Pinned for Live {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        self.0.read(ranges)
    }
    fn size(&self) -> u64 {
        self.0.size()
    }
}

fn blocking(flaw: Flaw) -> Option<String> {
    verdict(|| check_store(|| Arc::new(Numbered::new(flaw))))
}

fn waiting(flaw: Flaw) -> Option<String> {
    verdict(|| check_async_store(|| Waiting::over(Numbered::new(flaw))))
}

fn contents() -> BTreeMap<String, Vec<u8>> {
    BTreeMap::from([("a/b".to_owned(), (0..=99).collect()), ("c".into(), vec![])])
}

#[test]
fn sound_stores_pass() {
    assert_eq!(blocking(Flaw::None), None);
    assert_eq!(waiting(Flaw::None), None);
    let store = Numbered::with(Flaw::None, &contents());
    let calm: Arc<dyn Store> = Arc::new(store.clone());
    assert_eq!(verdict(|| check_contents(&calm, &contents())), None);
    assert_eq!(verdict(|| check_async_contents(&Waiting::over(store), &contents())), None);
}

/// F-111, decision 0108.
#[test]
fn each_wrong_part_and_each_wrong_pin_is_found_and_named() {
    let cases = [
        (Flaw::CutsAtMost, "get_at_most of"),
        (Flaw::IgnoresLimit, "get_at_most of"),
        (Flaw::IgnoresLoneRange, "get_partial_values: from 100 to the end"),
        (Flaw::IgnoresLoneBounded, "get_partial_values: 0 bytes from 0"),
        (Flaw::SuffixIsPrefix, "get_partial_values: the last 33 bytes"),
        (Flaw::ShiftsRanges, "get_partial_values: 50 bytes from 25"),
        (Flaw::CutsLoneRange, "must be an error"),
        (Flaw::RepeatsFirstRange, "get_partial_values: "),
        (Flaw::LoneRangeOfAbsent, "an absent key"),
        (Flaw::PinIgnoresRanges, "pin: from 100 to the end"),
        (Flaw::PinAppendsIntoBuffer, "pin, read_into"),
        (Flaw::PinReadsIntoFromStart, "pin, read_into: the last"),
        (Flaw::PinHasNoSize, "pin: the size of"),
        (Flaw::PinIsMissing, "pin of"),
        (Flaw::PinOfAbsent, "pin of"),
        (Flaw::PinIsLive, "pin: what was pinned is never another value"),
        (Flaw::PinTakesRangesAsTheyAre, "pin: 1 bytes from 100 leaves"),
        (Flaw::PinAsTakesAny, "pin_as: what was pinned is never another value"),
        (Flaw::PinAsIsNever, "pin_as: `k` still is what it was"),
        (Flaw::VersionStays, "pin_as: what was pinned is never another value"),
        (Flaw::PinVersionedIsLive, "pin_versioned: what was pinned is never another value"),
        (Flaw::PinVersionedOfAnother, "pin_versioned: set_if knows the version"),
    ];
    for (flaw, expected) in cases {
        match blocking(flaw) {
            None => panic!("a store passes that is broken by {flaw:?}"),
            Some(said) => assert!(said.contains(expected), "{flaw:?}: {said}"),
        }
    }
}

#[test]
fn a_store_that_cannot_be_written_is_asked_for_lone_ranges_and_pinned() {
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
    ] {
        let store: Arc<dyn Store> = Arc::new(Numbered::with(flaw, &contents()));
        assert!(verdict(|| check_contents(&store, &contents())).is_some(), "{flaw:?} passes");
    }
}

#[test]
fn each_wrong_part_of_an_async_store_is_found() {
    for (flaw, expected) in [
        (Flaw::IgnoresLoneRange, "get_partial_values: "),
        (Flaw::PinForAnswersWithFirst, "pin_for: "),
        (Flaw::PinForFailsOutside, "pin_for: "),
        (Flaw::PinForOfAbsent, "pin_for: "),
        (Flaw::PinForIsLive, "pin_for: what was pinned is never another value"),
    ] {
        let said = waiting(flaw).unwrap_or_else(|| panic!("{flaw:?} passes"));
        assert!(said.contains(expected), "{flaw:?}: {said}");
        if flaw != Flaw::PinForIsLive {
            let store = Waiting::over(Numbered::with(flaw, &contents()));
            let said = verdict(|| check_async_contents(&store, &contents()));
            assert!(said.is_some(), "{flaw:?} passes by its contents");
        }
    }
}
