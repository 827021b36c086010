//! Reads the words of the command line.

use zarr::nczarr::NewDataset;
use zarr::{Dialect, Era, Json};

/// A whole number that the option's type can hold.
pub(crate) fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("expected a whole number, as in 8".into());
    }
    let number = text.parse::<u64>().ok().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| format!("too large: expected at most {}", largest::<T>()))
}

/// The largest number of an unsigned type.
fn largest<T>() -> u64 {
    u64::MAX >> (64 - 8 * size_of::<T>())
}

/// A number with or without a fraction.
pub(crate) fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "expected a number, as in 0.5".to_owned())
}

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
        _ => return Err("expected one of v2, v3, draft-2020, draft-2020-text".into()),
    };
    Ok(Written { dialect, plain_draft })
}

/// `v2` or `v3`, whose hierarchies can be migrated to each other.
pub(crate) fn migrated(text: &str) -> Result<Dialect, String> {
    match text {
        "v2" | "2" => Ok(Dialect::V2),
        "v3" | "3" => Ok(Dialect::V3),
        _ => Err("expected v3 or v2".into()),
    }
}

/// What a copy is to be: a hierarchy in a format, or a netCDF dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CopyTo {
    Zarr(Written),
    NetCdf(NewDataset),
}

/// As [`written`], or as [`new_dataset`].
pub(crate) fn copy_to(text: &str) -> Result<CopyTo, String> {
    let is_of_ome = ["ome", "ngff"].iter().any(|word| text.to_lowercase().contains(word));
    let version = text.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    match version {
        "0.4" if version == text || is_of_ome => {
            return Err("images of OME-Zarr 0.4 are in v2; write `--to v2`".into());
        }
        "0.5" if version == text || is_of_ome => {
            return Err("images of OME-Zarr 0.5 are in v3; write `--to v3`".into());
        }
        _ => {}
    }
    let new = new_dataset(text).map(CopyTo::NetCdf);
    new.or_else(|why| match written(text) {
        Ok(written) => Ok(CopyTo::Zarr(written)),
        Err(e) => Err(format!("{e}; or, as a netCDF dataset, {why}")),
    })
}

/// `nczarr-v2`, `nczarr-v3`, `zarr-v2`, `zarr-v3`.
pub(crate) fn new_dataset(text: &str) -> Result<NewDataset, String> {
    NewDataset::named(text).ok_or_else(|| "nczarr-v2, nczarr-v3, zarr-v2, zarr-v3".into())
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
                "expected one of v2, v3, draft-2020, draft-2020-text, draft-2019, or a draft's era E0 … E4"
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
    lengths.map(Shape).ok_or_else(|| "expected integers separated by commas, as in 100,200".into())
}

/// `268435456`, `256MiB`, `2GiB`, `1.5 TB`: whole bytes, or with a unit.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let at = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1u64 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(NO_SIZE.to_owned()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(unit).ok_or_else(|| NO_SIZE.to_owned());
    }
    let bytes = number.parse::<f64>().map_err(|_| NO_SIZE)? * unit as f64;
    if unit == 1 || !(0.0..1e18).contains(&bytes) {
        return Err(NO_SIZE.to_owned());
    }
    Ok(bytes as u64)
}

/// What a size must be.
const NO_SIZE: &str = "expected a number with a unit, as in 256MiB, 2GiB or 500MB";

/// JSON, or else the text itself as a string. JSON that nests too deep for a document is neither; nor is what begins as a list, an object
/// or a string in quotes, and is not JSON: it was meant as one.
pub(crate) fn json_or_text(text: &str) -> Result<Json, String> {
    match Json::parse(text.as_bytes()) {
        Err(why) if why.starts_with("nests deeper") => Err(format!("the value {why}")),
        Err(why) if text.starts_with(['[', '{', '"']) => Err(format!(
            "the value `{text}` begins as JSON, but is not ({why}); put text in quotes, as in '\"[text\"'"
        )),
        parsed => Ok(parsed.unwrap_or_else(|_| Json::from(text))),
    }
}

/// `key=value`, the value as [`json_or_text`].
pub(crate) fn member(text: &str) -> Result<(String, Json), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), json_or_text(value)?)),
        _ => Err("expected KEY=VALUE, as in units=kelvin or limits=[0,10]".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn numbers_are_whole_and_fit_their_type() {
        assert_eq!(whole::<u16>("65535"), Ok(65535));
        assert_eq!(whole::<u64>("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(whole::<u16>("65536"), Err("too large: expected at most 65535".into()));
        assert_eq!(
            whole::<u8>("99999999999999999999"),
            Err("too large: expected at most 255".into())
        );
        for text in ["", "-1", "+1", "1.5", "1e3", "four", "0x10"] {
            assert_eq!(
                whole::<usize>(text),
                Err("expected a whole number, as in 8".into()),
                "{text}"
            );
        }
        assert_eq!(number("-1e3"), Ok(-1000.0));
        assert!(number("half").is_err() && number("").is_err());
    }

    #[test]
    fn sizes_have_units() {
        let sizes = [
            ("0", 0),
            ("4096", 4096),
            ("256MiB", 256 << 20),
            ("256 mib", 256 << 20),
            ("2G", 2 << 30),
            ("1.5GiB", 3 << 29),
            ("500MB", 500_000_000),
        ];
        for (text, bytes) in sizes {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "-1", "1.5", "1..5G", "2XB", "99999999999T", "1e3"] {
            assert!(size(text).is_err(), "{text}");
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
        let deep = format!("a={}1{}", "[".repeat(500), "]".repeat(500));
        assert_eq!(member(&deep), Err("the value nests deeper than 128 levels".into()));
        for broken in ["a=[1,2", "a={\"b\": 1", "a=\"text"] {
            assert!(member(broken).unwrap_err().contains("begins as JSON"), "{broken}");
        }
        assert_eq!(member("a=\"[1,2\"").unwrap().1, Json::from("[1,2"));
    }
}
