//! Says of a vertical axis which way is up.

use zarr_core::Object;

use super::{Axis, AxisKind, text};

/// Units of pressure, which is less the higher one is (CF 4.3.1).
const PRESSURES: [&str; 12] = [
    "Pa",
    "hPa",
    "kPa",
    "dbar",
    "bar",
    "mbar",
    "millibar",
    "millibars",
    "decibar",
    "pascal",
    "atm",
    "atmosphere",
];

/// Whether greater coordinates along an axis are higher up: by CF's `positive`, else by units of pressure, else by the
/// standard name. Nothing if it is no vertical axis, or if nothing says it.
pub(crate) fn rises(axis: &Axis) -> Option<bool> {
    if axis.kind != AxisKind::Z {
        return None;
    }
    of_attributes(&axis.array()?.attributes())
}

fn of_attributes(attributes: &Object) -> Option<bool> {
    match text(attributes, "positive").map(|text| text.to_ascii_lowercase()).as_deref() {
        Some("up") => return Some(true),
        Some("down") => return Some(false),
        _ => {}
    }
    if text(attributes, "units").is_some_and(|units| PRESSURES.contains(&units.as_str())) {
        return Some(false);
    }
    match text(attributes, "standard_name")?.as_str() {
        "height"
        | "altitude"
        | "height_above_mean_sea_level"
        | "height_above_reference_ellipsoid" => Some(true),
        "depth"
        | "depth_below_geoid"
        | "depth_below_sea_floor"
        | "air_pressure"
        | "sea_water_pressure" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positive_wins_then_pressure_then_the_standard_name() {
        let rises = |pairs: &[(&str, &str)]| {
            let add = |object: Object, (name, value): &(&str, &str)| object.with(*name, *value);
            of_attributes(&pairs.iter().fold(Object::new(), add))
        };
        assert_eq!(rises(&[("positive", "up"), ("units", "hPa")]), Some(true));
        assert_eq!(rises(&[("positive", "Down")]), Some(false));
        assert_eq!(rises(&[("units", "hPa")]), Some(false));
        assert_eq!(rises(&[("units", "m"), ("standard_name", "altitude")]), Some(true));
        assert_eq!(rises(&[("units", "m"), ("standard_name", "depth")]), Some(false));
        assert_eq!(rises(&[("units", "m")]), None);
    }
}
