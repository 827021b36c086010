//! The checks find each broken store by the promise that it breaks.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use bytes::Bytes;

use super::{check_contents, check_store, check_store_folding_case};
use crate::error::StoreError;
use crate::store::{
    ByteRange, ConditionalStore, ListableStore, Listing, Payload, ReadableStore, Store, StoreKey,
    StorePrefix, Version, WriteableStore,
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
}

/// How long a flaw shows, so that others see it on a busy machine, too.
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
        Arc::new(Broken { flaw, map })
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
        match self.is(Flaw::VersionIsLength) {
            true => Version::new(vec![value.len() as u8]),
            false => Version::of_content(Bytes::copy_from_slice(value)),
        }
    }
}

impl Store for Broken {
    fn name(&self) -> String {
        format!("{:?}", self.flaw)
    }
    fn readable(&self) -> Option<&dyn ReadableStore> {
        Some(self)
    }
    fn writeable(&self) -> Option<&dyn WriteableStore> {
        (!self.is(Flaw::NotWriteable)).then_some(self)
    }
    fn listable(&self) -> Option<&dyn ListableStore> {
        Some(self)
    }
    fn conditional(&self) -> Option<&dyn ConditionalStore> {
        (!self.is(Flaw::NotConditional)).then_some(self)
    }
}

impl ReadableStore for Broken {
    fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError> {
        let value = self.map().get(&self.spelled(key)).cloned();
        Ok(match self.flaw {
            Flaw::EmptyIsAbsent => value.filter(|value| !value.is_empty()),
            Flaw::AbsentIsEmpty => Some(value.unwrap_or_default()),
            _ => value,
        }
        .map(Bytes::from))
    }

    fn get_partial_values(
        &self,
        key: &StoreKey,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        let Some(value) = self.get(key)? else {
            return Ok(self.is(Flaw::RangesOfAbsent).then(Vec::new));
        };
        let size = value.len() as u64;
        let slice = |&range: &ByteRange| {
            let range = match (self.flaw, range) {
                (Flaw::SuffixPastStart, ByteRange::Suffix(len)) if len > size => {
                    ByteRange::From(size + 1)
                }
                (Flaw::CutsRanges, ByteRange::Bounded { start, len }) if start <= size => {
                    let len = len.min(size - start);
                    ByteRange::Bounded { start, len }
                }
                _ => range,
            };
            let range = range.resolve(key, size)?;
            Ok(value.slice(range.start as usize..range.end as usize))
        };
        ranges.iter().map(slice).collect::<Result<_, _>>().map(Some)
    }

    fn get_into(&self, key: &StoreKey, limit: u64, buf: &mut Vec<u8>) -> Result<bool, StoreError> {
        let value = self.get_at_most(key, limit)?;
        if !self.is(Flaw::AppendsIntoBuffer) {
            buf.clear();
        }
        buf.extend_from_slice(value.as_deref().unwrap_or_default());
        Ok(value.is_some())
    }
}

impl WriteableStore for Broken {
    fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
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

    fn erase(&self, key: &StoreKey) -> Result<(), StoreError> {
        let erased = self.map().remove(&self.spelled(key));
        if self.is(Flaw::EraseTakesAllBelow) {
            let below = format!("{key}/");
            self.map().retain(|key, _| !key.starts_with(&below));
        }
        match self.is(Flaw::FailsToEraseAbsent) && erased.is_none() {
            true => Err(StoreError::Backend("no such key".into())),
            false => Ok(()),
        }
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

    fn set_unguarded(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        match self.is(Flaw::UnguardedDoesNothing) {
            true => Ok(()),
            false => self.set(key, value),
        }
    }
}

impl ListableStore for Broken {
    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError> {
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
        names.into_iter().map(StoreKey::new).collect()
    }

    fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let mut listing = Listing::fold(prefix, self.list_prefix(prefix)?);
        if self.is(Flaw::HidesPrefixes) {
            listing.prefixes.retain(|prefix| !prefix.as_str().ends_with("f/"));
        }
        Ok(listing)
    }
}

impl ConditionalStore for Broken {
    fn get_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Bytes, Version)>, StoreError> {
        let limit = if self.flaw == Flaw::IgnoresVersionedLimit { u64::MAX } else { limit };
        let value = self.get_at_most(key, limit)?;
        Ok(value.map(|value| (value.clone(), self.version(&value))))
    }

    fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError> {
        let mut map = self.map();
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
                map.insert(key.to_string(), value.into_bytes()?.to_vec());
            }
            None if self.is(Flaw::CannotEraseIf) => {}
            None => {
                map.remove(key.as_str());
            }
        }
        Ok(true)
    }
}

/// What the checks have to say about a store with this flaw; `None` if they pass it.
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
        (Flaw::AppendsIntoBuffer, "get_into of"),
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
        (Flaw::SuffixPastStart, "get_partial_values must not fail"),
        (Flaw::CutsRanges, "must be an error"),
        (Flaw::RangesOfAbsent, "an absent key"),
        (Flaw::SetsInTwoSteps, "a mixture of two values"),
        (Flaw::ErasesBeforeSetting, "absent while it was replaced"),
        (Flaw::UnguardedDoesNothing, "set_unguarded sets"),
        (Flaw::IgnoresVersions, "must not set what changed"),
        (Flaw::IgnoresVersionedLimit, "get_versioned refuses a value that is larger"),
        (Flaw::VersionIsLength, "another value of the same length"),
        (Flaw::CreatesOverOthers, "must not create what is there"),
        (Flaw::CannotEraseIf, "what set_if erased is absent"),
        (Flaw::ComparesTooEarly, "updates were lost"),
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
        let store: Arc<dyn Store> = Arc::new(Broken { flaw, map });
        catch_unwind(AssertUnwindSafe(|| check_contents(&store, &contents))).is_ok()
    };
    assert!(check(Flaw::NotWriteable, contents.clone()));
    assert!(!check(Flaw::EmptyIsAbsent, contents.clone()));
    assert!(!check(Flaw::NotWriteable, Map::new()));
}
