//! The keys and prefixes that a listing found.

use std::time::SystemTime;

use super::{StoreKey, StorePrefix};

/// The keys and prefixes directly below a prefix, both in full (D-137), sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Keys with no further `/`.
    pub keys: Vec<StoreKey>,
    /// Prefixes one level down, with their `/`.
    pub prefixes: Vec<StorePrefix>,
    /// Names as the store has them, of which no key can be made: they have a segment `..`, for example. The caller gets
    /// them for messages, and cannot reach them.
    pub left_out: Vec<String>,
    /// The sizes of the keys' values in bytes, one for each key, where the store's listing has them; else nothing.
    pub sizes: Vec<u64>,
    /// What tells each key's value from another that it had, where the store's listing has it: an ETag, a checksum, a time of change; else
    /// nothing.
    pub versions: Vec<String>,
    /// When each key's value was set last, where the store's listing has it; else nothing.
    pub times: Vec<SystemTime>,
}

impl Listing {
    /// The listing of `prefix`, folded from all the keys below it.
    pub fn fold(prefix: &StorePrefix, keys: impl IntoIterator<Item = StoreKey>) -> Self {
        let keys: Vec<StoreKey> = keys.into_iter().collect();
        Listing::of_names(prefix, keys.iter().map(StoreKey::as_str))
    }

    /// The listing of `prefix`, folded from names below it as the store has them. What no key can say is named.
    pub fn of_names<'a>(prefix: &StorePrefix, names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut listing = Listing::default();
        for name in names {
            let Some(rest) = name.strip_prefix(prefix.as_str()) else { continue };
            match rest.find('/') {
                None => match StoreKey::new(name) {
                    Ok(key) => listing.keys.push(key),
                    Err(_) => listing.left_out.push(name.to_owned()),
                },
                Some(at) => match StorePrefix::new(&name[..=prefix.as_str().len() + at]) {
                    Ok(prefix) => listing.prefixes.push(prefix),
                    Err(_) => listing.left_out.push(name.to_owned()),
                },
            }
        }
        listing.keys.sort();
        listing.prefixes.sort();
        listing.prefixes.dedup();
        listing
    }
}

impl From<Vec<StoreKey>> for Listing {
    fn from(keys: Vec<StoreKey>) -> Self {
        Listing { keys, ..Listing::default() }
    }
}

impl Listing {
    /// The listing of `prefix`, folded from one of all the keys below it.
    #[must_use]
    pub fn folded(self, prefix: &StorePrefix) -> Listing {
        Listing { left_out: self.left_out, ..Listing::fold(prefix, self.keys) }
    }
}
