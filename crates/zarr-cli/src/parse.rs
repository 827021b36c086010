//! What do words on the command line mean?

use zarr::{Dialect, Era, Json, Region};

/// A format to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub dialect: Dialect,
    /// The draft's plain text, without regard for zarr-python 2.18.
    pub plain_draft: bool,
}

impl From<Dialect> for Written {
    fn from(dialect: Dialect) -> Self {
        Written { dialect, plain_draft: false }
    }
}

/// `v2`, `v3`, `draft-2020`, `draft-2020-text`.
pub(crate) fn written(text: &str) -> Result<Written, String> {
    let (dialect, plain_draft) = match text {
        "v2" | "2" => (Dialect::V2, false),
        "v3" | "3" => (Dialect::V3, false),
        "draft-2020" | "draft" => (Dialect::Draft, false),
        "draft-2020-text" => (Dialect::Draft, true),
        _ => return Err("a format is one of v2, v3, draft-2020, draft-2020-text".into()),
    };
    Ok(Written { dialect, plain_draft })
}

/// A format that a reader is sure of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadAs {
    pub dialect: Dialect,
    pub era: Option<Era>,
    /// What is written there is the draft's plain text.
    pub plain_draft: bool,
}

/// `v2`, `v3`, `draft-2020`, `draft-2020-text`, `draft-2019`, or a draft's era `E0` … `E4`.
pub(crate) fn read_as(text: &str) -> Result<ReadAs, String> {
    let (dialect, era) = match text {
        "draft-2020-text" => (Dialect::Draft, Some(Era::E4)),
        "v2" | "2" => (Dialect::V2, None),
        "v3" | "3" => (Dialect::V3, None),
        "draft" => (Dialect::Draft, None),
        text => {
            let era = text.parse();
            (Dialect::Draft, Some(era.map_err(|_| {
                "a format is one of v2, v3, draft-2020, draft-2020-text, draft-2019, or a draft's era E0 … E4"
            })?))
        }
    };
    Ok(ReadAs { dialect, era, plain_draft: text == "draft-2020-text" })
}

/// The lengths of axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape(pub Vec<u64>);

/// `100,200`; brackets round it and spaces are forgiven; nothing at all is the shape of a scalar.
pub(crate) fn shape(text: &str) -> Result<Shape, String> {
    let inner = text.trim();
    let inner = inner
        .strip_prefix('(')
        .and_then(|t| t.strip_suffix(')'))
        .or_else(|| inner.strip_prefix('[').and_then(|t| t.strip_suffix(']')))
        .unwrap_or(inner)
        .trim();
    if inner.is_empty() {
        return Ok(Shape(Vec::new()));
    }
    let lengths = inner.strip_suffix(',').unwrap_or(inner).split(',');
    let lengths: Option<Vec<u64>> = lengths.map(|len| len.trim().parse().ok()).collect();
    lengths
        .map(Shape)
        .ok_or_else(|| "a shape is whole numbers with commas between, as in 100,200".into())
}

/// One axis of a region as typed: from where to where, each side may be left to the array.
type Interval = (Option<u64>, Option<u64>);

/// The intervals of `0:4, 2:7`, one per axis: `start:stop` without the stop itself, either side may be
/// left out, `n` alone is `n:n+1`, nothing or `:` is the whole axis.
fn intervals(text: &str) -> Result<Vec<Interval>, String> {
    let bad = |part: &str, why: &str| {
        format!("region `{text}`: `{part}` {why}; write it as in 0:4,2:7 or 3,: or ,:10")
    };
    let number = |part: &str, digits: &str| match digits.trim() {
        "" => Ok(None),
        digits if digits.starts_with('-') => {
            Err(bad(part, "counts from the end, which regions do not"))
        }
        digits => match digits.parse() {
            Ok(n) => Ok(Some(n)),
            Err(_) => Err(bad(part, "is no `start:stop` of whole numbers")),
        },
    };
    let one = |part: &str| match part.split(':').collect::<Vec<_>>()[..] {
        [only] => match number(part, only)? {
            None => Ok((None, None)),
            Some(n) if n == u64::MAX => Err(bad(part, "is too large")),
            Some(n) => Ok((Some(n), Some(n + 1))),
        },
        [start, stop] => match (number(part, start)?, number(part, stop)?) {
            (Some(start), Some(stop)) if start > stop => Err(bad(part, "ends before it begins")),
            interval => Ok(interval),
        },
        _ => Err(bad(part, "has a step, which regions do not have")),
    };
    text.split(',').map(|part| one(part.trim())).collect()
}

/// The region of an array of `shape` that `text` means; all of it for `None`.
pub(crate) fn region(text: Option<&str>, shape: &[u64]) -> Result<Region, String> {
    let Some(text) = text else {
        return Ok(Region::all(shape));
    };
    if text.trim().is_empty() && shape.is_empty() {
        return Ok(Region::all(shape));
    }
    let intervals = intervals(text)?;
    if intervals.len() != shape.len() {
        let (found, rank) = (intervals.len(), shape.len());
        return Err(format!("region `{text}` has {found} axes, the array has {rank}"));
    }
    for (axis, ((start, stop), &len)) in intervals.iter().zip(shape).enumerate() {
        if start.is_some_and(|start| start > len) || stop.is_some_and(|stop| stop > len) {
            return Err(format!("region `{text}` exceeds axis {axis}, which has length {len}"));
        }
    }
    let ends = intervals.into_iter().zip(shape);
    Ok(Region::new(ends.map(|((start, stop), &len)| start.unwrap_or(0)..stop.unwrap_or(len))))
}

/// JSON, or else the text itself as a string.
pub(crate) fn json_or_text(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap_or_else(|_| Json::from(text))
}

/// `key=value`, the value as [`json_or_text`].
pub(crate) fn member(text: &str) -> Result<(String, Json), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), json_or_text(value))),
        _ => Err("an attribute is set as in units=kelvin or limits=[0,10]".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_start_and_stop_per_axis() {
        let of = |text: &str, shape: &[u64]| region(Some(text), shape).unwrap().to_string();
        assert_eq!(of("0:4,2:7", &[5, 9]), "(0..4, 2..7)");
        assert_eq!(of(" 1 : 4 , 2 ", &[5, 9]), "(1..4, 2..3)");
        assert_eq!(of(":,:3", &[5, 9]), "(0..5, 0..3)");
        assert_eq!(of(",8:", &[5, 9]), "(0..5, 8..9)");
        assert_eq!(of("4:4", &[5]), "(4..4)");
        assert_eq!(of("", &[5]), "(0..5)");
        assert_eq!(of("", &[]), "()");
        assert_eq!(region(None, &[2, 3]).unwrap().to_string(), "(0..2, 0..3)");
    }

    #[test]
    fn regions_that_are_none_say_why() {
        let why = |text: &str| region(Some(text), &[5, 9]).unwrap_err();
        assert!(why("0:4").contains("has 1 axes, the array has 2"));
        assert!(why("0:6,0").contains("exceeds axis 0, which has length 5"));
        assert!(why("6:,0").contains("exceeds axis 0"));
        assert!(why("-1,0").contains("counts from the end"));
        assert!(why("0:4:2,0").contains("step"));
        assert!(why("4:2,0").contains("ends before it begins"));
        assert!(why("a,0").contains("whole numbers"));
        assert!(why("99999999999999999999,0").contains("whole numbers"));
        assert!(why("18446744073709551615,0").contains("too large"));
        assert!(region(Some("0"), &[]).is_err());
    }

    #[test]
    fn shapes_forgive_brackets() {
        for text in ["100,200", "(100, 200)", "[100,200]", " 100 ,200,"] {
            assert_eq!(shape(text).unwrap(), Shape(vec![100, 200]), "{text}");
        }
        assert_eq!(shape("()").unwrap(), Shape(vec![]));
        assert_eq!(shape("").unwrap(), Shape(vec![]));
        for text in ["1,,2", "-1", "1x2", "1.5", "(1,2", ","] {
            assert!(shape(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_are_json_or_text() {
        assert_eq!(member("a=[1,2]").unwrap().1.to_string(), "[1,2]");
        assert_eq!(member("a=two words").unwrap().1, Json::from("two words"));
        assert_eq!(member("a=b=c").unwrap(), ("a".into(), Json::from("b=c")));
        assert_eq!(member("a=").unwrap().1, Json::from(""));
        assert!(member("=1").is_err());
        assert!(member("a").is_err());
    }
}
