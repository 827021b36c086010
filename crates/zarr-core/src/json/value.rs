//! Defines a JSON value.

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
