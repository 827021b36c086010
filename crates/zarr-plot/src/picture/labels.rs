//! Gives labels and named values their colours.

use std::collections::HashMap;

use super::label_color;
use crate::meaning::Meaning;

/// The colour of the value 0 if it has a name: neutral, as it mostly is for nothing.
const ZERO: [u8; 3] = [160; 3];

/// Colours of single values.
#[derive(Clone, Debug, Default)]
pub struct LabelColors(HashMap<u64, [u8; 4]>);

impl LabelColors {
    /// Those that an image of labels declares; all other labels have colours of ours, 0 has none.
    pub fn of_labels(declared: &[(f64, [u8; 4])]) -> LabelColors {
        LabelColors(declared.iter().map(|&(label, color)| (key(label), color)).collect())
    }

    /// Those of values that have names: the colours that attributes give, else ours.
    pub fn of_flags(meaning: &Meaning) -> LabelColors {
        let colors = meaning.flags.categories().map(|(value, _, given)| {
            let own = if value == 0.0 { ZERO } else { label_color(value) };
            let [r, g, b] = given.unwrap_or(own);
            (key(value), [r, g, b, 255])
        });
        LabelColors(colors.collect())
    }

    /// The colour of a value, transparent for 0, for what is missing, and where the image says so.
    pub fn color(&self, value: f64) -> [u8; 4] {
        match self.0.get(&key(value)) {
            _ if value.is_nan() => [0; 4],
            Some(color) => *color,
            None if value == 0.0 => [0; 4],
            None => {
                let [r, g, b] = label_color(value);
                [r, g, b, 255]
            }
        }
    }

    /// The values that have colours of their own, in ascending order, and these.
    pub fn own(&self) -> Vec<(f64, [u8; 4])> {
        let mut own: Vec<_> =
            self.0.iter().map(|(&bits, &color)| (f64::from_bits(bits), color)).collect();
        own.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        own
    }
}

/// Equal for 0 and -0.
fn key(value: f64) -> u64 {
    (value + 0.0).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_colours_come_first() {
        let colors = LabelColors::of_labels(&[(0.0, [1, 2, 3, 4]), (7.0, [9, 8, 7, 255])]);
        assert_eq!(colors.color(-0.0), [1, 2, 3, 4]);
        assert_eq!(colors.color(7.0), [9, 8, 7, 255]);
        assert_eq!(colors.color(8.0)[..3], label_color(8.0));
        assert_eq!(colors.color(f64::NAN), [0; 4]);
        assert_eq!(LabelColors::default().color(0.0), [0; 4]);
    }
}
