//! Writes statistics as JSON.
//!
//! Numbers that JSON does not have are the texts `"NaN"`, `"Infinity"` and `"-Infinity"`, moments are the texts of dates, and what
//! there is nothing of is null.

use zarr_core::data_type::ScalarValue;
use zarr_core::{Json, Number, Object};

use super::column::as_f64;
use super::{Found, Histogram, Numbers, Statistics, Texts};
use crate::meaning::TimeUnits;

impl Statistics {
    /// All of them: the members of the only column; of several, an object of them by their names in the member `fields`.
    pub fn to_json(&self) -> Json {
        let mut object = Object::new().with("elements", self.elements);
        if let Some(sampled) = self.sampled {
            object = object.with("estimated", true).with("sampled", sampled);
        }
        match &self.columns[..] {
            [one] if one.name.is_empty() => one.found.members(object).into(),
            columns => {
                let mut fields = Object::new();
                for column in columns {
                    fields.insert(column.name.clone(), column.found.members(Object::new()));
                }
                object.with("fields", fields).into()
            }
        }
    }
}

impl Found {
    fn members(&self, object: Object) -> Object {
        match self {
            Found::Numbers(numbers) => numbers.members(object),
            Found::Texts(texts) => texts.members(object),
        }
    }
}

impl Numbers {
    fn members(&self, object: Object) -> Object {
        let mut object = object
            .with("count", self.count)
            .with("missing", self.missing)
            .with("nan", self.nan)
            .with("pos_inf", self.pos_inf)
            .with("neg_inf", self.neg_inf)
            .with("never_written", self.never_written)
            .with("min", self.end(&self.min))
            .with("max", self.end(&self.max))
            .with("mean", self.if_some(self.value(ScalarValue::Float(self.mean))))
            .with("std", self.if_some(float(self.std)));
        if self.time.is_none() {
            object.insert("sum", scalar(self.sum));
        }
        object = object.with("min_at", place(&self.min)).with("max_at", place(&self.max));
        if !self.percentiles.is_empty() {
            let mut found = Object::new();
            for &(percent, number) in &self.percentiles {
                found.insert(
                    format!("{percent}"),
                    self.if_some(self.value(ScalarValue::Float(number))),
                );
            }
            object.insert("percentiles", found);
        }
        if let Some(histogram) = &self.histogram {
            object.insert("histogram", histogram.to_json());
        }
        object
    }

    /// A value in JSON, as a moment where the elements are times.
    fn value(&self, value: ScalarValue) -> Json {
        match self.time {
            Some(time) => moment(time, value),
            None => scalar(value),
        }
    }

    /// The value of an end, null if there is none.
    fn end(&self, end: &Option<(ScalarValue, Vec<u64>)>) -> Json {
        end.as_ref().map_or(Json::Null, |(number, _)| self.value(*number))
    }

    /// What only some elements have, null if there are none.
    fn if_some(&self, json: Json) -> Json {
        if self.count > 0 { json } else { Json::Null }
    }
}

/// The place of an end, null if there is none.
fn place(end: &Option<(ScalarValue, Vec<u64>)>) -> Json {
    end.as_ref().map_or(Json::Null, |(_, place)| Json::from(&place[..]))
}

impl Histogram {
    /// `{"edges": […], "counts": […]}`.
    pub fn to_json(&self) -> Json {
        let edges: Json = self.edges.iter().map(|&edge| float(edge)).collect();
        Object::new().with("edges", edges).with("counts", &self.counts[..]).into()
    }
}

impl Texts {
    fn members(&self, object: Object) -> Object {
        object
            .with("count", self.count)
            .with("missing", self.missing)
            .with("empty", self.empty)
            .with("never_written", self.never_written)
            .with("min_length", self.min_length.map_or(Json::Null, Json::from))
            .with("max_length", self.max_length.map_or(Json::Null, Json::from))
            .with("distinct", self.distinct().map_or(Json::Null, Json::from))
    }
}

/// A number, as JSON or as text.
pub(crate) fn float(value: f64) -> Json {
    let text = if value.is_nan() {
        "NaN"
    } else if value == f64::INFINITY {
        "Infinity"
    } else if value == f64::NEG_INFINITY {
        "-Infinity"
    } else {
        return Json::Number(Number::from(format!("{value:?}")));
    };
    text.into()
}

pub(crate) fn scalar(value: ScalarValue) -> Json {
    match value {
        ScalarValue::Integer(value) => Json::Number(Number::from(value.to_string())),
        ScalarValue::Float(value) => float(value),
    }
}

/// A moment as a text; a number that is too far off stays one.
fn moment(time: TimeUnits, value: ScalarValue) -> Json {
    let date = match value {
        ScalarValue::Integer(count) => {
            i64::try_from(count).ok().and_then(|count| time.date_of_integer(count))
        }
        ScalarValue::Float(_) => time.date(as_f64(value)),
    };
    date.map_or_else(|| scalar(value), |date| format!("{date:#}").into())
}
