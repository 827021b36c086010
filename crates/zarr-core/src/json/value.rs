//! Defines a JSON value.

use std::ops::Index;

use serde::{Serialize, Serializer};

use super::number::Number;
use super::object::Object;

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
        match (self, levels.checked_sub(1)) {
            (Json::Array(items), Some(inner)) => items.iter().all(|item| item.nests_within(inner)),
            (Json::Object(object), Some(inner)) => {
                object.iter().all(|(_, item)| item.nests_within(inner))
            }
            (Json::Array(items), None) => items.is_empty(),
            (Json::Object(object), None) => object.is_empty(),
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

    /// The number as a float; also a text that stands for one in documents, `NaN`, `Infinity` or `-Infinity`.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Json::Number(number) => number.parse().ok(),
            Json::String(text) => match text.as_str() {
                "NaN" => Some(f64::NAN),
                "Infinity" => Some(f64::INFINITY),
                "-Infinity" => Some(f64::NEG_INFINITY),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        *self == Json::Null
    }

    /// The member of this name of an object; `None` if there is none, or this is no object.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.as_object()?.get(name)
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
impl From<()> for Json {
    fn from((): ()) -> Json {
        Json::Null
    }
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl From<$integer> for Json {
            fn from(value: $integer) -> Json {
                Json::Number(value.to_string().into())
            }
        }
    )*};
}

integers! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize }

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or(Json::Null, Into::into)
    }
}
impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(items: Vec<T>) -> Json {
        items.into_iter().map(Into::into).collect()
    }
}
impl<T: Into<Json>, const N: usize> From<[T; N]> for Json {
    fn from(items: [T; N]) -> Json {
        items.into_iter().map(Into::into).collect()
    }
}
impl<T: Clone + Into<Json>> From<&[T]> for Json {
    fn from(items: &[T]) -> Json {
        items.iter().cloned().map(Into::into).collect()
    }
}
impl From<&String> for Json {
    fn from(text: &String) -> Json {
        Json::String(text.clone())
    }
}
impl From<&Json> for Json {
    fn from(value: &Json) -> Json {
        value.clone()
    }
}
/// As [`Json::from`] of the shortest decimal fraction that is this float.
impl From<f32> for Json {
    fn from(value: f32) -> Json {
        if value.is_finite() {
            Json::Number(format!("{value:?}").into())
        } else {
            f64::from(value).into()
        }
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
impl Json {
    /// A number as an element of an array of JSON values: what JSON cannot represent is a bare `NaN`, `Infinity` or
    /// `-Infinity`, as Python writes it.
    pub fn float(value: f64) -> Json {
        match Json::from(value) {
            Json::String(special) => Json::Number(special.into()),
            finite => finite,
        }
    }
}

impl FromIterator<Json> for Json {
    fn from_iter<I: IntoIterator<Item = Json>>(items: I) -> Json {
        Json::Array(items.into_iter().collect())
    }
}

/// Member `name` of an object; `null` if there is none, or the value is no object, as in `serde_json`.
impl Index<&str> for Json {
    type Output = Json;

    fn index(&self, name: &str) -> &Json {
        self.get(name).unwrap_or(&Json::Null)
    }
}

/// Item `place` of an array; `null` if there is none, or the value is no array, as in `serde_json`.
impl Index<usize> for Json {
    type Output = Json;

    fn index(&self, place: usize) -> &Json {
        self.as_array().and_then(|items| items.get(place)).unwrap_or(&Json::Null)
    }
}

impl PartialEq<str> for Json {
    fn eq(&self, text: &str) -> bool {
        self.as_str() == Some(text)
    }
}
impl PartialEq<&str> for Json {
    fn eq(&self, text: &&str) -> bool {
        self.as_str() == Some(*text)
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Json {
        match value {
            serde_json::Value::Null => Json::Null,
            serde_json::Value::Bool(value) => Json::Bool(value),
            serde_json::Value::Number(number) => Json::Number(number.to_string().into()),
            serde_json::Value::String(text) => Json::String(text),
            serde_json::Value::Array(items) => items.into_iter().map(Json::from).collect(),
            serde_json::Value::Object(members) => {
                let members = members.into_iter().map(|(name, value)| (name, Json::from(value)));
                Json::Object(members.collect())
            }
        }
    }
}

/// A number of more digits than `serde_json` keeps becomes the nearest float; a bare `NaN`, `Infinity` or `-Infinity`, and a number
/// beyond all floats, its text.
impl From<Json> for serde_json::Value {
    fn from(value: Json) -> serde_json::Value {
        match value {
            Json::Null => serde_json::Value::Null,
            Json::Bool(value) => value.into(),
            Json::Number(number) => {
                serde_json::from_str(&number).unwrap_or_else(|_| (&*number).into())
            }
            Json::String(text) => text.into(),
            Json::Array(items) => items.into_iter().map(serde_json::Value::from).collect(),
            Json::Object(members) => members.into(),
        }
    }
}

impl From<Object> for serde_json::Value {
    fn from(object: Object) -> serde_json::Value {
        serde_json::Value::Object(object.into())
    }
}

/// As the `serde_json::Value` that it becomes.
impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::Value::from(self.clone()).serialize(serializer)
    }
}

/// As the `serde_json::Value` that it becomes.
impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::Value::from(self.clone()).serialize(serializer)
    }
}
