//! Names of values: CF's `flag_values`, `flag_masks` and `flag_meanings` (CF 3.5).

use zarr_core::{Json, Object};

use super::missing::items;
use super::ome::color;
use super::text;

/// Of more flags only these are read.
const MAX_FLAGS: usize = 1 << 12;

/// What single values, or bits of values, are called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flags(Vec<Flag>);

/// A value with a name.
#[derive(Clone, Debug, PartialEq)]
struct Flag {
    name: String,
    /// The value; `None` where bits alone have names.
    value: Option<i64>,
    /// The bits of an element that are compared.
    mask: Option<i64>,
    color: Option<[u8; 3]>,
}

impl Flags {
    /// What attributes say; none, if their lists are of different lengths.
    pub(crate) fn of(attributes: &Object) -> Flags {
        let Some(meanings) = text(attributes, "flag_meanings") else { return Flags::default() };
        let names: Vec<&str> = meanings.split_ascii_whitespace().take(MAX_FLAGS).collect();
        let (values, masks) = (
            integers(attributes, "flag_values", names.len()),
            integers(attributes, "flag_masks", names.len()),
        );
        if values.is_none() && masks.is_none() {
            return Flags::default();
        }
        // Not of CF, but of many maps of land cover.
        let colors: Vec<_> = text(attributes, "flag_colors")
            .map(|text| text.split_ascii_whitespace().map(color).collect())
            .unwrap_or_default();
        let flags = names.iter().enumerate().map(|(n, name)| Flag {
            name: (*name).to_owned(),
            value: values.as_ref().map(|values| values[n]),
            mask: masks.as_ref().map(|masks| masks[n]),
            color: colors.get(n).copied().flatten(),
        });
        Flags(flags.collect())
    }

    /// Whether no value has a name.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of a value as it is stored: of one that is a sum of bits, several, separated by commas.
    pub fn name(&self, value: f64) -> Option<String> {
        if value.fract() != 0.0 || value.abs() >= 2.0_f64.powi(63) {
            return None;
        }
        let value = value as i64;
        let names: Vec<&str> = self
            .0
            .iter()
            .filter(|flag| match (flag.value, flag.mask) {
                (Some(own), Some(mask)) => value & mask == own,
                (Some(own), None) => value == own,
                (None, Some(mask)) => value & mask != 0,
                (None, None) => false,
            })
            .map(|flag| flag.name.as_str())
            .collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Each value that has a name, that name, and its colour if one is given; nothing, where names are those of bits.
    pub fn categories(&self) -> impl Iterator<Item = (f64, &str, Option<[u8; 3]>)> {
        self.0.iter().filter_map(|flag| {
            let value = flag.value.filter(|_| flag.mask.is_none())?;
            Some((value as f64, flag.name.as_str(), flag.color))
        })
    }
}

/// An attribute that is a list of so many integers.
fn integers(attributes: &Object, name: &str, count: usize) -> Option<Vec<i64>> {
    let list: Option<Vec<i64>> = match attributes.get(name)? {
        Json::String(text) => text
            .split([' ', ','])
            .filter(|part| !part.is_empty())
            .map(|part| part.trim_end_matches(['b', 's']).parse().ok())
            .collect(),
        json => items(json).iter().map(integer).collect(),
    };
    list.filter(|list| list.len() == count)
}

/// A number without a fraction.
fn integer(json: &Json) -> Option<i64> {
    let text = json.as_number()?;
    if let Ok(number) = text.parse::<i64>() {
        return Some(number);
    }
    // netCDF's attributes in JSON lose their type: 3.0 is the number 3, too.
    let number = text.parse::<f64>().ok()?;
    (number.fract() == 0.0).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(text: &str) -> Flags {
        let Json::Object(attributes) = Json::parse(text.as_bytes()).unwrap() else { panic!() };
        Flags::of(&attributes)
    }

    #[test]
    fn values_have_names() {
        let found = flags(
            r##"{"flag_values": [0, 10, 20.0], "flag_meanings": "no_data  crops forest",
            "flag_colors": "#000000 #ffff64"}"##,
        );
        assert_eq!(found.name(20.0).as_deref(), Some("forest"));
        assert_eq!((found.name(5.0), found.name(f64::NAN), found.name(0.5)), (None, None, None));
        let categories: Vec<_> = found.categories().collect();
        assert_eq!(categories[1], (10.0, "crops", Some([255, 255, 100])));
        assert_eq!(categories[2], (20.0, "forest", None));
        let text = flags(r#"{"flag_values": "1b, 2b", "flag_meanings": "a b"}"#);
        assert_eq!(text.name(2.0).as_deref(), Some("b"));
    }

    /// The example of CF 3.5, and one with masks alone.
    #[test]
    fn bits_have_names() {
        let both = flags(
            r#"{"flag_masks": [1, 2, 12, 12, 12], "flag_values": [1, 2, 4, 8, 12],
            "flag_meanings": "low_battery hardware_fault offline_mode calibration_mode maintenance_mode"}"#,
        );
        assert_eq!(both.name(13.0).as_deref(), Some("low_battery, maintenance_mode"));
        assert_eq!(both.categories().count(), 0);
        let masks = flags(r#"{"flag_masks": [1, 2], "flag_meanings": "a b"}"#);
        assert_eq!(masks.name(3.0).as_deref(), Some("a, b"));
        assert_eq!(masks.name(0.0), None);
    }

    #[test]
    fn lists_that_do_not_fit_are_left_out() {
        for text in [
            r#"{"flag_values": [1, 2], "flag_meanings": "a"}"#,
            r#"{"flag_meanings": "a b"}"#,
            r#"{"flag_values": [1, "x"], "flag_meanings": "a b"}"#,
            r#"{"flag_values": [1], "flag_meanings": 5}"#,
        ] {
            assert!(flags(text).is_empty(), "{text}");
        }
    }
}
