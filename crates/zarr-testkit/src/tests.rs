//! The checks find each broken store by the promise that it breaks.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use bytes::Bytes;

use super::{check_contents, check_store, check_store_folding_case};
use zarr_core::StoreError;
use zarr_core::store::{
    ByteRange, Capabilities, GetOptions, Got, InMemorySnapshot, ListOptions, Listing, NotSet,
    Payload, Precondition, SnapshotOptions, Store, StoreKey, StorePrefix, SyncSnapshot, SyncStore,
    Target, Version, from_sync,
};

/// One way to break a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    NotConditional,
    NotWriteable,
    EmptyIsAbsent,
    AbsentIsEmpty,
    KeepsTail,
    DropsLastPart,
    KeepsWhatWasMade,
    MakesWhileLocked,
    AppendsIntoBuffer,
    DecodesKeys,
    FoldsCase,
    FailsToEraseAbsent,
    EraseTakesAllBelow,
    ErasesByString,
    ErasesOneLevel,
    ErasesKeyOfPrefix,
    ListsUnsorted,
    ListsByString,
    ListsRelative,
    ListsTwice,
    MakesUpKeys,
    HidesPrefixes,
    SuffixPastStart,
    CutsRanges,
    RangesOfAbsent,
    SetsInTwoSteps,
    ErasesBeforeSetting,
    UnguardedDoesNothing,
    IgnoresVersions,
    IgnoresVersionedLimit,
    VersionIsLength,
    CreatesOverOthers,
    CannotEraseIf,
    ComparesTooEarly,
    LeavesOutTheLast,
    CreatesOverValues,
    CreatesOverEmpty,
    CreatesBesideOthers,
    KeepsLeftovers,
    ErasesBeforeRefusing,
    CreatesInTwoSteps,
}

/// How long a flaw lasts, so that other threads notice it on a busy machine, too.
const WINDOW: Duration = Duration::from_micros(200);

#[derive(Debug)]
struct Broken {
    flaw: Flaw,
    map: Mutex<BTreeMap<String, Vec<u8>>>,
}

type Map = BTreeMap<String, Vec<u8>>;

impl Broken {
    fn make(flaw: Flaw) -> Arc<dyn Store> {
        let map = Mutex::default();
        from_sync(Broken { flaw, map })
    }

    fn is(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    fn map(&self) -> MutexGuard<'_, Map> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spelled(&self, key: &StoreKey) -> String {
        match self.flaw {
            Flaw::FoldsCase => key.as_str().to_lowercase(),
            Flaw::DecodesKeys => key.as_str().replace("%20", " "),
            _ => key.to_string(),
        }
    }

    fn version(&self, value: &[u8]) -> Version {
        if self.is(Flaw::VersionIsLength) {
            Version::new(vec![value.len() as u8])
        } else {
            Version::of_content(Bytes::copy_from_slice(value))
        }
    }
}

/// A snapshot that resolves ranges wrongly.
struct Wrong {
    flaw: Flaw,
    whole: InMemorySnapshot,
}

impl SyncSnapshot for Wrong {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        let size = self.size();
        let instead = |&range: &ByteRange| match (self.flaw, range) {
            (Flaw::SuffixPastStart, ByteRange::Suffix(len)) if len > size => {
                ByteRange::From(size + 1)
            }
            (Flaw::CutsRanges, ByteRange::Bounded { start, len }) if start <= size => {
                ByteRange::Bounded { start, len: len.min(size - start) }
            }
            _ => range,
        };
        SyncSnapshot::read(&self.whole, &ranges.iter().map(instead).collect::<Vec<_>>())
    }
    fn size(&self) -> u64 {
        SyncSnapshot::size(&self.whole)
    }
    fn version(&self) -> Option<Version> {
        SyncSnapshot::version(&self.whole)
    }
}

impl SyncStore for Broken {
    fn name(&self) -> String {
        format!("{:?}", self.flaw)
    }

    fn capabilities(&self) -> Capabilities {
        let swap = !self.is(Flaw::NotConditional);
        let write = !self.is(Flaw::NotWriteable);
        Capabilities { swap, create: swap, write, local: true, ..Capabilities::FULL }
    }

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        let value = self.map().get(&self.spelled(key)).cloned();
        let value = match self.flaw {
            Flaw::EmptyIsAbsent => value.filter(|value| !value.is_empty()),
            Flaw::AbsentIsEmpty => Some(value.unwrap_or_default()),
            _ => value,
        };
        let Some(value) = value else { return Ok(None) };
        let version = self.version(&value);
        match how.into {
            Target::Vec(buf) if self.is(Flaw::AppendsIntoBuffer) => {
                buf.extend_from_slice(&value);
                Ok(Some(Got { size: value.len() as u64, bytes: None, version: None }))
            }
            into => {
                let loose = how.version && self.is(Flaw::IgnoresVersionedLimit);
                let limit = if loose { u64::MAX } else { how.limit };
                GetOptions { into, limit, ..how }.answer(key, value, Some(version))
            }
        }
    }

    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>, StoreError> {
        let got = match self.get(key, how.to_get())? {
            None if self.is(Flaw::RangesOfAbsent) && !how.first.is_empty() => {
                Some(Got { size: 0, bytes: None, version: None })
            }
            got => got,
        };
        let whole = how.in_memory(key, got);
        Ok(whole.map(|whole| Box::new(Wrong { flaw: self.flaw, whole }) as _))
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        match (only_if, value) {
            (Precondition::Unchecked, _) if self.is(Flaw::UnguardedDoesNothing) => Ok(true),
            (Precondition::Absent, value) => self.set_if(key, value, None),
            (Precondition::Version(was), value) => self.set_if(key, value, Some(was)),
            (_, Some(value)) => self.set_now(key, &value).map(|()| true),
            (_, None) => self.erase_now(key).map(|()| true),
        }
    }

    fn set_all(&self, values: &[(StoreKey, &[u8])], _: bool) -> Result<(), NotSet> {
        let left_out = usize::from(self.is(Flaw::LeavesOutTheLast));
        for (at, (key, value)) in values.iter().enumerate().take(values.len() - left_out) {
            self.set_now(key, &Payload::new(*value)).map_err(|error| NotSet { at, error })?;
        }
        Ok(())
    }

    fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>, StoreError> {
        let value = value.into_bytes()?.to_vec();
        let mut map = self.map();
        let is_there = |map: &Map, key: &StoreKey| match self.flaw {
            Flaw::CreatesOverEmpty => map.get(key.as_str()).is_some_and(|value| !value.is_empty()),
            _ => map.contains_key(key.as_str()),
        };
        let own = Some(key).filter(|_| !self.is(Flaw::CreatesOverValues));
        let others: &[StoreKey] = if self.is(Flaw::CreatesBesideOthers) { &[] } else { absent };
        let there = own.into_iter().chain(others).find(|key| is_there(&map, key));
        let erases = there.is_none() || self.is(Flaw::ErasesBeforeRefusing);
        if erases && !self.is(Flaw::KeepsLeftovers) {
            map.retain(|key, _| leftovers.iter().all(|left| left.as_str() != key));
        }
        if let Some(there) = there {
            return Ok(Some(there.clone()));
        }
        if self.is(Flaw::CreatesInTwoSteps) {
            drop(map);
            thread::sleep(WINDOW);
            map = self.map();
        }
        map.insert(key.to_string(), value);
        Ok(None)
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        let prefix = prefix.as_str();
        let stem = prefix.trim_end_matches('/');
        self.map().retain(|key, _| match self.flaw {
            Flaw::ErasesByString => !key.starts_with(stem),
            Flaw::ErasesKeyOfPrefix => !key.starts_with(prefix) && key != stem,
            Flaw::ErasesOneLevel => key.strip_prefix(prefix).is_none_or(|rest| rest.contains('/')),
            _ => !key.starts_with(prefix),
        });
        Ok(())
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let prefix = prefix.as_str();
        let mut names: Vec<String> = self.map().keys().cloned().collect();
        match self.flaw {
            Flaw::ListsByString => {
                names.retain(|name| name.starts_with(prefix.trim_end_matches('/')));
            }
            _ => names.retain(|name| name.starts_with(prefix)),
        }
        match self.flaw {
            Flaw::ListsUnsorted => names.reverse(),
            Flaw::ListsRelative => names.iter_mut().for_each(|name| {
                name.drain(..prefix.len());
            }),
            Flaw::ListsTwice => names = names.iter().flat_map(|n| [n.clone(), n.clone()]).collect(),
            Flaw::MakesUpKeys => names.push(format!("{prefix}~")),
            _ => {}
        }
        Ok(names.into_iter().map(StoreKey::new).collect::<Result<Vec<_>, _>>()?.into())
    }

    fn list_dir(&self, prefix: &StorePrefix, _: ListOptions) -> Result<Listing, StoreError> {
        let mut listing = self.list_prefix(prefix)?.folded(prefix);
        if self.is(Flaw::HidesPrefixes) {
            listing.prefixes.retain(|prefix| !prefix.as_str().ends_with("f/"));
        }
        Ok(listing)
    }
}

impl Broken {
    fn set_now(&self, key: &StoreKey, value: &Payload<'_>) -> Result<(), StoreError> {
        let parts = value.parts().map(|part| part.map(|part| part.to_vec()));
        let parts = parts.take_while(|part| part.is_ok() || !self.is(Flaw::KeepsWhatWasMade));
        let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
        if self.is(Flaw::DropsLastPart) && parts.len() > 1 {
            let filled = parts.iter().rposition(|part| !part.is_empty());
            parts.truncate(filled.unwrap_or_default());
        }
        let mut value = parts.concat();
        let key = self.spelled(key);
        match self.flaw {
            Flaw::KeepsTail => {
                let old = self.map().get(&key).cloned().unwrap_or_default();
                value.extend(old.into_iter().skip(value.len()));
            }
            Flaw::SetsInTwoSteps => {
                let half = value[..value.len() / 2].to_vec();
                self.map().insert(key.clone(), half);
                thread::sleep(WINDOW);
            }
            Flaw::ErasesBeforeSetting => {
                self.map().remove(&key);
                thread::sleep(WINDOW);
            }
            _ => {}
        }
        self.map().insert(key, value);
        Ok(())
    }

    fn erase_now(&self, key: &StoreKey) -> Result<(), StoreError> {
        let erased = self.map().remove(&self.spelled(key));
        if self.is(Flaw::EraseTakesAllBelow) {
            let below = format!("{key}/");
            self.map().retain(|key, _| !key.starts_with(&below));
        }
        if self.is(Flaw::FailsToEraseAbsent) && erased.is_none() {
            Err(StoreError::Backend("no such key".into()))
        } else {
            Ok(())
        }
    }

    fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError> {
        let made = |value: Payload<'_>| value.into_bytes().map(|bytes| bytes.to_vec());
        let (value, mut map) = if self.is(Flaw::MakesWhileLocked) {
            let map = self.map();
            (value.map(made).transpose()?, map)
        } else {
            (value.map(made).transpose()?, self.map())
        };
        let is = map.get(key.as_str()).map(|value| self.version(value));
        let same = match self.flaw {
            Flaw::IgnoresVersions => is.is_some() == was.is_some(),
            Flaw::CreatesOverOthers => was.is_none() || is.as_ref() == was,
            _ => is.as_ref() == was,
        };
        if !same {
            return Ok(false);
        }
        if self.is(Flaw::ComparesTooEarly) {
            drop(map);
            thread::sleep(std::time::Duration::from_micros(50));
            map = self.map();
        }
        match value {
            Some(value) => {
                map.insert(key.to_string(), value);
            }
            None if self.is(Flaw::CannotEraseIf) => {}
            None => {
                map.remove(key.as_str());
            }
        }
        Ok(true)
    }
}

/// The message of the check that fails for a store with this flaw; `None` if it passes.
fn verdict(flaw: Flaw) -> Option<String> {
    let checked = catch_unwind(AssertUnwindSafe(|| check_store(|| Broken::make(flaw))));
    let panic = checked.err()?;
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
}

#[test]
fn sound_stores_pass() {
    assert_eq!(verdict(Flaw::None), None);
    assert_eq!(verdict(Flaw::NotConditional), None);
    check_store_folding_case(|| Broken::make(Flaw::FoldsCase));
}

#[test]
fn each_broken_promise_is_found_and_named() {
    let cases = [
        (Flaw::NotWriteable, "not readable and writeable"),
        (Flaw::EmptyIsAbsent, "an empty value is not an absent one"),
        (Flaw::AbsentIsEmpty, "an absent key has no value"),
        (Flaw::KeepsTail, "a short value replaces all of a long one"),
        (Flaw::DropsLastPart, "the parts of a payload follow each other"),
        (Flaw::KeepsWhatWasMade, "set of a value that cannot be made must be an error"),
        (Flaw::MakesWhileLocked, "other keys can be set while parts of a payload are made"),
        (Flaw::AppendsIntoBuffer, "get into a buffer of"),
        (Flaw::DecodesKeys, "each key has a value of its own"),
        (Flaw::FoldsCase, "keys tell upper from lower case"),
        (Flaw::FailsToEraseAbsent, "erase of an absent key"),
        (Flaw::EraseTakesAllBelow, "erase takes one key"),
        (Flaw::ErasesByString, "is not the beginning of `data/xy/`"),
        (Flaw::ErasesOneLevel, "erase_prefix erases at every depth"),
        (Flaw::ErasesKeyOfPrefix, "the key `k` does not begin with `k/`"),
        (Flaw::ListsUnsorted, "sorted"),
        (Flaw::ListsByString, "list_prefix of `a/"),
        (Flaw::ListsRelative, "list_prefix of `a/`"),
        (Flaw::ListsTwice, "names keys twice"),
        (Flaw::MakesUpKeys, "list"),
        (Flaw::HidesPrefixes, "list_dir of `a/`"),
        (Flaw::SuffixPastStart, "open for ranges must not fail"),
        (Flaw::CutsRanges, "must be an error"),
        (Flaw::RangesOfAbsent, "an absent key"),
        (Flaw::SetsInTwoSteps, "a mixture of two values"),
        (Flaw::ErasesBeforeSetting, "absent while it was replaced"),
        (Flaw::UnguardedDoesNothing, "an unchecked put sets"),
        (Flaw::IgnoresVersions, "must not set what changed"),
        (Flaw::IgnoresVersionedLimit, "refuses a value that is larger"),
        (Flaw::VersionIsLength, "another value of the same length"),
        (Flaw::CreatesOverOthers, "must not create what is there"),
        (Flaw::CannotEraseIf, "what set_if erased is absent"),
        (Flaw::ComparesTooEarly, "updates were lost"),
        (Flaw::LeavesOutTheLast, "set_all sets all values"),
        (Flaw::CreatesOverValues, "create returns the key that is there"),
        (Flaw::CreatesOverEmpty, "create returns the key that is there"),
        (Flaw::CreatesBesideOthers, "create returns the other key that is there"),
        (Flaw::KeepsLeftovers, "create erases the leftovers"),
        (Flaw::ErasesBeforeRefusing, "create that is refused erases nothing"),
        (Flaw::CreatesInTwoSteps, "one must succeed"),
    ];
    for (flaw, expected) in cases {
        match verdict(flaw) {
            None => panic!("a store passes that is broken by {flaw:?}"),
            Some(said) => assert!(said.contains(expected), "{flaw:?}: {said}"),
        }
    }
}

#[test]
fn stores_that_cannot_be_written_are_checked_by_their_contents() {
    let contents = BTreeMap::from([("a/b".to_owned(), b"v".to_vec()), ("c".into(), vec![])]);
    let check = |flaw, map: Map| {
        let map = Mutex::new(map);
        let store = from_sync(Broken { flaw, map });
        catch_unwind(AssertUnwindSafe(|| check_contents(&store, &contents))).is_ok()
    };
    assert!(check(Flaw::NotWriteable, contents.clone()));
    assert!(!check(Flaw::EmptyIsAbsent, contents.clone()));
    assert!(!check(Flaw::NotWriteable, Map::new()));
}
