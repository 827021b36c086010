//! Unpacks numbers: `stored · scale_factor + add_offset` (CF 8.1).

use zarr_core::{Json, Object};

use super::missing::items;

/// How a stored number becomes the one that it stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    /// `scale_factor`.
    pub scale: f64,
    /// `add_offset`.
    pub offset: f64,
}

impl Default for Affine {
    fn default() -> Affine {
        Affine { scale: 1.0, offset: 0.0 }
    }
}

impl Affine {
    /// What attributes say; what cannot be applied goes to `warnings`.
    pub(crate) fn of(attributes: &Object, warnings: &mut Vec<String>) -> Affine {
        let mut read = |name: &str, usual: f64, fits: fn(f64) -> bool| {
            let Some(json) = attributes.get(name) else { return usual };
            let found = as_f64(json).filter(|&value| value.is_finite() && fits(value));
            found.unwrap_or_else(|| {
                warnings.push(format!(
                    "`{name}` is not applied: {} is not a valid number",
                    json.brief()
                ));
                usual
            })
        };
        Affine {
            scale: read("scale_factor", 1.0, |scale| scale != 0.0),
            offset: read("add_offset", 0.0, |_| true),
        }
    }

    /// Whether numbers stay as they are.
    pub fn is_identity(&self) -> bool {
        self.scale == 1.0 && self.offset == 0.0
    }

    /// The number that a stored one stands for, in two roundings, as NumPy computes it.
    pub fn apply(&self, stored: f64) -> f64 {
        stored * self.scale + self.offset
    }

    /// The stored number that stands for this one; not rounded to the stored type.
    pub fn invert(&self, value: f64) -> f64 {
        (value - self.offset) / self.scale
    }
}

/// A number, or a list of one, as netCDF has them.
pub(crate) fn as_f64(json: &Json) -> Option<f64> {
    match items(json) {
        [Json::Array(_)] => None,
        [one] => one.as_number()?.parse().ok(),
        _ => None,
    }
}
