//! Defines the members of a JSON object, in order, and finds one by its name.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, OnceLock};

use super::value::Json;

/// The members of a JSON object, in the document's order, no name twice.
///
/// Two objects are equal when they hold equal members, in whatever order.
///
/// A member is found, set and removed in the same time however many there are. A clone shares the members until one of
/// the two changes.
#[derive(Clone, Default)]
pub struct Object(Arc<Members>);

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        self.len() == other.len() && self.iter().all(|(name, value)| other.get(name) == Some(value))
    }
}

impl Eq for Object {}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Object {
    /// An object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of member `name`.
    pub fn get(&self, name: &str) -> Option<&Json> {
        let (_, value) = self.0.places[self.0.find(name)?].as_ref()?;
        Some(value)
    }

    /// Whether there is a member `name`.
    pub fn contains(&self, name: &str) -> bool {
        self.0.find(name).is_some()
    }

    /// Sets member `name`; a member that was there keeps its place. Returns the old value.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Json>) -> Option<Json> {
        Arc::make_mut(&mut self.0).insert(name.into(), value.into())
    }

    /// The same object with member `name` set.
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Json>) -> Self {
        self.insert(name, value);
        self
    }

    /// An extension as final v3 has it: its `name`, and its `configuration`.
    pub(crate) fn extension(name: &str, configuration: Object) -> Object {
        Object::new().with("name", name).with("configuration", configuration)
    }

    /// The same with the configuration left out if it is empty; not of numcodecs' codecs, of which zarr-python requires one.
    pub(crate) fn named(name: &str, configuration: Object) -> Object {
        if configuration.is_empty() && !name.starts_with("numcodecs.") {
            return Object::new().with("name", name);
        }
        Object::extension(name, configuration)
    }

    /// Removes member `name` and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        let place = self.0.find(name)?;
        Arc::make_mut(&mut self.0).remove(place)
    }

    /// The members, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.places.iter().flatten().map(|(name, value)| (name.as_str(), value))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.places.len() - self.0.empty
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The object of these members, and the names that occur twice: the last member of a name is kept, at the place of
    /// the first.
    pub(super) fn of(mut members: Vec<(String, Json)>) -> (Object, Vec<String>) {
        members.shrink_to_fit();
        let (members, duplicates) = if are_distinct(&members) {
            (members, Vec::new())
        } else {
            without_duplicates(members)
        };
        let places = members.into_iter().map(Some).collect();
        (Object(Arc::new(Members { places, ..Members::default() })), duplicates)
    }
}

/// The value of member `name`; `null` if there is none, as in `serde_json`.
impl std::ops::Index<&str> for Object {
    type Output = Json;

    fn index(&self, name: &str) -> &Json {
        self.get(name).unwrap_or(&Json::Null)
    }
}

impl<N: Into<String>, V: Into<Json>, const M: usize> From<[(N, V); M]> for Object {
    fn from(members: [(N, V); M]) -> Object {
        members.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
    }
}

/// The members of a JSON object of `serde_json`.
///
/// # Errors
/// [`AccessError::Argument`](crate::AccessError::Argument) for a value that is no object.
impl TryFrom<serde_json::Value> for Object {
    type Error = crate::AccessError;

    fn try_from(value: serde_json::Value) -> Result<Object, crate::AccessError> {
        match Json::from(value) {
            Json::Object(object) => Ok(object),
            other => Err(crate::AccessError::Argument(format!(
                "attributes are a JSON object, not {}",
                other.kind()
            ))),
        }
    }
}

impl From<serde_json::Map<String, serde_json::Value>> for Object {
    fn from(members: serde_json::Map<String, serde_json::Value>) -> Object {
        members.into_iter().map(|(name, value)| (name, value.into())).collect()
    }
}

impl From<Object> for serde_json::Map<String, serde_json::Value> {
    fn from(object: Object) -> serde_json::Map<String, serde_json::Value> {
        object.into_iter().map(|(name, value)| (name, value.into())).collect()
    }
}

impl FromIterator<(String, Json)> for Object {
    /// Of members with one name the last holds, at the place of the first.
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(members: I) -> Self {
        Object::of(members.into_iter().collect()).0
    }
}

impl IntoIterator for Object {
    type Item = (String, Json);
    type IntoIter = std::iter::Flatten<std::vec::IntoIter<Option<(String, Json)>>>;
    fn into_iter(self) -> Self::IntoIter {
        Arc::unwrap_or_clone(self.0).places.into_iter().flatten()
    }
}

impl<'a> IntoIterator for &'a Object {
    type Item = (&'a str, &'a Json);
    type IntoIter = std::iter::Map<
        std::iter::Flatten<std::slice::Iter<'a, Option<(String, Json)>>>,
        fn(&'a (String, Json)) -> (&'a str, &'a Json),
    >;
    fn into_iter(self) -> Self::IntoIter {
        self.0.places.iter().flatten().map(|(name, value)| (name.as_str(), value))
    }
}

#[derive(Default)]
struct Members {
    /// The members in order. The place of a member that was removed stays empty, until half of the places are: to close
    /// each gap at once would move all members behind it for each that goes.
    places: Vec<Option<(String, Json)>>,
    /// How many places are empty.
    empty: usize,
    /// Where the members of a large object are; made when the first one is looked up. In a box, since most objects have none.
    index: OnceLock<Box<Index>>,
}

impl Clone for Members {
    fn clone(&self) -> Members {
        let places = self.places.iter().filter(|place| place.is_some()).cloned().collect();
        Members { places, ..Members::default() }
    }
}

impl Members {
    /// With fewer places, comparing the names is faster than hashing one.
    const MIN_INDEXED: usize = 32;

    fn find(&self, name: &str) -> Option<usize> {
        let is_named =
            |place: &Option<(String, Json)>| matches!(place, Some((it, _)) if it == name);
        if self.places.len() < Members::MIN_INDEXED {
            return self.places.iter().position(is_named);
        }
        let index = self.index.get_or_init(|| Box::new(Index::new(&self.places)));
        index.find(name).filter(|&place| is_named(&self.places[place]))
    }

    fn insert(&mut self, name: String, value: Json) -> Option<Json> {
        if let Some(place) = self.find(&name) {
            return self.places[place].replace((name, value)).map(|(_, old)| old);
        }
        if self.index.get_mut().is_some_and(|index| !index.add(&name, self.places.len())) {
            self.index.take();
        }
        self.places.push(Some((name, value)));
        None
    }

    fn remove(&mut self, place: usize) -> Option<Json> {
        let (name, value) = self.places[place].take()?;
        self.empty += 1;
        if self.empty * 2 > self.places.len() {
            self.places.retain(Option::is_some);
            self.empty = 0;
            self.index.take();
        } else if let Some(index) = self.index.get_mut() {
            index.remove(&name);
        }
        Some(value)
    }
}

/// The places of members by the hashes of their names, no hash twice. The names themselves would double the memory.
struct Index {
    state: RandomState,
    places: HashMap<u64, usize>,
}

impl Index {
    fn new(places: &[Option<(String, Json)>]) -> Index {
        // Two of 2^32 names have the same hash by chance; with other random keys they have not.
        loop {
            let places_by_hash = HashMap::with_capacity(places.len());
            let mut index = Index { state: RandomState::new(), places: places_by_hash };
            let mut named = places.iter().enumerate();
            let is_distinct = named.all(|(place, member)| match member {
                Some((name, _)) => index.add(name, place),
                None => true,
            });
            if is_distinct {
                return index;
            }
        }
    }

    /// The place of the member of this name, or of another one that has the same hash.
    fn find(&self, name: &str) -> Option<usize> {
        self.places.get(&self.state.hash_one(name)).copied()
    }

    /// Adds a member; `false` if another one has the same hash.
    fn add(&mut self, name: &str, place: usize) -> bool {
        self.places.insert(self.state.hash_one(name), place).is_none()
    }

    fn remove(&mut self, name: &str) {
        self.places.remove(&self.state.hash_one(name));
    }
}

/// Whether no name occurs twice; may be `false` although none does.
fn are_distinct(members: &[(String, Json)]) -> bool {
    /// From this number of members on, hashing the names is faster than comparing each with each.
    const MIN_HASHED: usize = 16;
    if members.len() < MIN_HASHED {
        return members
            .iter()
            .enumerate()
            .all(|(n, (name, _))| members[..n].iter().all(|(before, _)| before != name));
    }
    let state = RandomState::new();
    let mut hashes: Vec<u64> = members.iter().map(|(name, _)| state.hash_one(name)).collect();
    hashes.sort_unstable();
    hashes.windows(2).all(|pair| pair[0] != pair[1])
}

fn without_duplicates(all: Vec<(String, Json)>) -> (Vec<(String, Json)>, Vec<String>) {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut members = Vec::<(String, Json)>::new();
    let mut duplicates = Vec::new();
    for (name, value) in all {
        match places.get(&name) {
            Some(&place) => {
                members[place].1 = value;
                duplicates.push(name);
            }
            None => {
                places.insert(name.clone(), members.len());
                members.push((name, value));
            }
        }
    }
    (members, duplicates)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn debug_shows_members_only() {
        let object = Object::new().with("units", "K").with("valid", true);
        assert_eq!(format!("{object:?}"), r#"{"units": String("K"), "valid": Bool(true)}"#);
    }

    #[derive(Clone, Debug)]
    enum Change {
        Insert(u8, i64),
        Remove(u8),
        Clone,
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            4 => (any::<u8>(), any::<i64>()).prop_map(|(name, value)| Change::Insert(name, value)),
            3 => any::<u8>().prop_map(Change::Remove),
            1 => Just(Change::Clone),
        ]
    }

    proptest! {
        /// Small and large objects hold what a list of their members holds.
        #[test]
        fn members_are_those_of_a_list(
            spread in 1u8..=255,
            changes in proptest::collection::vec(change(), 0..600),
        ) {
            let (mut object, mut list) = (Object::new(), Vec::<(String, Json)>::new());
            for change in changes {
                match change {
                    Change::Insert(name, value) => {
                        let (name, value) = (format!("m{}", name % spread), Json::from(value));
                        let old = object.insert(name.clone(), value.clone());
                        match list.iter_mut().find(|(known, _)| *known == name) {
                            Some((_, known)) => {
                                prop_assert_eq!(old, Some(std::mem::replace(known, value)));
                            }
                            None => {
                                prop_assert_eq!(old, None);
                                list.push((name, value));
                            }
                        }
                    }
                    Change::Remove(name) => {
                        let name = format!("m{}", name % spread);
                        let at = list.iter().position(|(known, _)| *known == name);
                        prop_assert_eq!(object.remove(&name), at.map(|at| list.remove(at).1));
                    }
                    Change::Clone => object = object.clone(),
                }
                prop_assert_eq!(object.len(), list.len());
            }
            for name in 0..=255 {
                let name = format!("m{name}");
                let known = list.iter().find(|(known, _)| *known == name);
                prop_assert_eq!(object.get(&name), known.map(|(_, value)| value));
            }
            prop_assert_eq!(&list.iter().cloned().rev().collect::<Object>(), &object);
            prop_assert_eq!(object.into_iter().collect::<Vec<_>>(), list);
        }
    }
}
