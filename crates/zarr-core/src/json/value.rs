//! Defines a JSON value, and the members of an object in order.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::number::Number;

/// A JSON value whose numbers are kept as text and whose objects keep their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as its text in the document; also a bare `NaN`, `Infinity` or `-Infinity`, which a tolerant
    /// reader takes for one.
    Number(Number),
    /// A string, unescaped.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Object),
}

impl Json {
    /// Whether a bare `NaN`, `Infinity` or `-Infinity`, which JSON does not have, is in it.
    pub fn has_bare_floats(&self) -> bool {
        match self {
            Json::Number(number) => number.is_bare_float(),
            Json::Array(items) => items.iter().any(Json::has_bare_floats),
            Json::Object(object) => object.iter().any(|(_, value)| value.has_bare_floats()),
            _ => false,
        }
    }

    /// Whether arrays and objects nest at most this many levels in it.
    pub(crate) fn nests_within(&self, levels: usize) -> bool {
        let is_within = |item: &Json| levels > 0 && item.nests_within(levels - 1);
        match self {
            Json::Array(items) => items.iter().all(is_within),
            Json::Object(object) => object.iter().all(|(_, item)| is_within(item)),
            _ => true,
        }
    }

    /// The same value as any reader of JSON takes it: bare `NaN`, `Infinity` and `-Infinity` become strings.
    #[must_use]
    pub fn into_standard(self) -> Json {
        if !self.has_bare_floats() {
            return self;
        }
        match self {
            Json::Number(number) => Json::from(&*number),
            Json::Array(items) => items.into_iter().map(Json::into_standard).collect(),
            Json::Object(object) => object
                .into_iter()
                .map(|(name, value)| (name, value.into_standard()))
                .collect::<Object>()
                .into(),
            other => other,
        }
    }

    /// The text of the string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// The members, if it is an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Json::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The items, if it is an array.
    pub fn as_array(&self) -> Option<&[Json]> {
        match self {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }

    /// `true` or `false`, if it is one of them.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Json::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The text of the number, if it is one.
    pub fn as_number(&self) -> Option<&str> {
        match self {
            Json::Number(text) => Some(text),
            _ => None,
        }
    }

    /// A whole number at least 0 that fits 64 bits, written without fraction or exponent.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.parse().ok()
    }

    /// A whole number that fits 64 bits, written without fraction or exponent.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.parse().ok()
    }

    /// What kind of JSON value it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::String(_) => "a string",
            Json::Array(_) => "an array",
            Json::Object(_) => "an object",
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::String(text.to_owned())
    }
}
impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::String(text)
    }
}
impl From<bool> for Json {
    fn from(value: bool) -> Json {
        Json::Bool(value)
    }
}
impl From<Object> for Json {
    fn from(object: Object) -> Json {
        Json::Object(object)
    }
}
impl From<Vec<Json>> for Json {
    fn from(items: Vec<Json>) -> Json {
        Json::Array(items)
    }
}
impl From<u64> for Json {
    fn from(value: u64) -> Json {
        Json::Number(value.to_string().into())
    }
}
impl From<i64> for Json {
    fn from(value: i64) -> Json {
        Json::Number(value.to_string().into())
    }
}
impl From<i32> for Json {
    fn from(value: i32) -> Json {
        i64::from(value).into()
    }
}
/// Numbers that JSON cannot represent are strings, as in documents of every dialect: `NaN`, `Infinity`, `-Infinity`.
impl From<f64> for Json {
    fn from(value: f64) -> Json {
        if value.is_finite() {
            return Json::Number(format!("{value:?}").into());
        }
        let special = if value > 0.0 { "Infinity" } else { "-Infinity" };
        Json::from(if value.is_nan() { "NaN" } else { special })
    }
}
impl From<&[u64]> for Json {
    fn from(values: &[u64]) -> Json {
        values.iter().copied().map(Json::from).collect()
    }
}

impl FromIterator<Json> for Json {
    fn from_iter<I: IntoIterator<Item = Json>>(items: I) -> Json {
        Json::Array(items.into_iter().collect())
    }
}

/// The members of a JSON object, in the document's order, no name twice.
///
/// Two objects are equal when they hold equal members, in whatever order.
///
/// A clone shares the members until one of the two changes.
#[derive(Clone, Debug, Default)]
pub struct Object(Arc<Vec<(String, Json)>>);

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        if self.len() != other.len() {
            return false;
        }
        if self.len() < MANY {
            return self.iter().all(|(name, value)| other.get(name) == Some(value));
        }
        let others: HashMap<&str, &Json> = other.iter().collect();
        self.iter().all(|(name, value)| others.get(name) == Some(&value))
    }
}

impl Eq for Object {}

impl Object {
    /// An object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of member `name`.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// Whether there is a member `name`.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets member `name`; a member that was there keeps its place. Returns the old value.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Json>) -> Option<Json> {
        let (name, value) = (name.into(), value.into());
        let members = Arc::make_mut(&mut self.0);
        match members.iter_mut().find(|(n, _)| *n == name) {
            Some((_, old)) => Some(std::mem::replace(old, value)),
            None => {
                members.push((name, value));
                None
            }
        }
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
        let at = self.0.iter().position(|(n, _)| n == name)?;
        Some(Arc::make_mut(&mut self.0).remove(at).1)
    }

    /// The members, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(n, v)| (n.as_str(), v))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// From this number of members on, names are looked up.
const MANY: usize = 16;

impl Object {
    /// The object of these members, and the names that occur twice: the last member of a name is kept, at the place of
    /// the first.
    pub(super) fn of(mut members: Vec<(String, Json)>) -> (Object, Vec<String>) {
        members.shrink_to_fit();
        if are_distinct(&members) {
            (Object(Arc::new(members)), Vec::new())
        } else {
            without_duplicates(members)
        }
    }
}

/// Whether no name occurs twice; may be `false` although none does.
fn are_distinct(members: &[(String, Json)]) -> bool {
    if members.len() < MANY {
        let before = |n: usize| members[..n].iter().map(|(name, _)| name);
        return (0..members.len()).all(|n| !before(n).any(|name| *name == members[n].0));
    }
    let state = RandomState::new();
    let mut hashes: Vec<u64> = members.iter().map(|(name, _)| state.hash_one(name)).collect();
    hashes.sort_unstable();
    hashes.windows(2).all(|pair| pair[0] != pair[1])
}

fn without_duplicates(all: Vec<(String, Json)>) -> (Object, Vec<String>) {
    let mut places: HashMap<String, usize> = HashMap::new();
    let (mut members, mut duplicates) = (Vec::<(String, Json)>::new(), Vec::new());
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
    (Object(Arc::new(members)), duplicates)
}

impl FromIterator<(String, Json)> for Object {
    /// Of members with one name the last holds, at the place of the first.
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(members: I) -> Self {
        Object::of(members.into_iter().collect()).0
    }
}

impl IntoIterator for Object {
    type Item = (String, Json);
    type IntoIter = std::vec::IntoIter<(String, Json)>;
    fn into_iter(self) -> Self::IntoIter {
        Arc::unwrap_or_clone(self.0).into_iter()
    }
}
