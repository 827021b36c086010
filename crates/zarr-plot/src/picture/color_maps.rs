//! Has the colour maps: tables of 256 colours, the same for the program and the page.
//!
//! The tables are matplotlib's, each part rounded to eight bits (`np.round(cmap(i / 255) * 255)`); of
//! twilight_shifted, which has 510, the 256 of its `resampled(256)`. Its authors gave viridis and its kin to
//! the public (CC0), turbo is by Google (Apache-2.0), RdBu and BrBG by Cynthia Brewer (Apache-2.0), coolwarm by Kenneth Moreland.

use std::str::FromStr;

use zarr_core::{Json, Object, did_you_mean};

use super::PictureError;

/// A table of 256 colours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ColorMap {
    name: &'static str,
    table: &'static [u8],
}

const SIZE: usize = 3 * 256;
static TABLES: &[u8] = include_bytes!("color_maps.bin");
const NAMES: [&str; TABLES.len() / SIZE] = [
    "viridis",
    "magma",
    "inferno",
    "plasma",
    "cividis",
    "turbo",
    "gray",
    "RdBu_r",
    "twilight_shifted",
    "RdBu",
    "coolwarm",
    "BrBG",
];

impl ColorMap {
    /// For numbers of one kind: perceptually uniform.
    pub const VIRIDIS: ColorMap = ColorMap::of(0);
    /// From black to white.
    pub const GRAY: ColorMap = ColorMap::of(6);
    /// For numbers on both sides of a middle: from blue over white to red.
    pub const RD_BU_R: ColorMap = ColorMap::of(7);

    const fn of(n: usize) -> ColorMap {
        let table = TABLES.split_at(n * SIZE).1.split_at(SIZE).0;
        ColorMap { name: NAMES[n], table }
    }

    /// Every map, the usual one first.
    pub fn all() -> impl Iterator<Item = ColorMap> {
        (0..NAMES.len()).map(ColorMap::of)
    }

    /// Its name in matplotlib.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Red, green and blue of one of its colours.
    pub fn color(self, index: u8) -> [u8; 3] {
        let at = 3 * usize::from(index);
        [self.table[at], self.table[at + 1], self.table[at + 2]]
    }

    /// Every map by its name, as 1,536 hexadecimal digits: six for each colour.
    pub fn json() -> Object {
        ColorMap::all().fold(Object::new(), |object, map| {
            let hex: String = map.table.iter().map(|part| format!("{part:02x}")).collect();
            object.with(map.name, Json::from(hex))
        })
    }
}

impl std::fmt::Debug for ColorMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl FromStr for ColorMap {
    type Err = PictureError;

    fn from_str(text: &str) -> Result<ColorMap, PictureError> {
        let found = ColorMap::all().find(|map| map.name.eq_ignore_ascii_case(text));
        found.ok_or_else(|| {
            let hint = match did_you_mean(text, NAMES) {
                Some(near) => format!("; did you mean `{near}`?"),
                None => format!("; expected one of {}", NAMES.join(", ")),
            };
            PictureError::Refused(format!("unknown colour map `{text}`{hint}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ends are those that matplotlib's `viridis(0)` and `viridis(255)`, … say, in 8 bits.
    #[test]
    fn maps_begin_and_end_as_matplotlibs() {
        let ends = |name: &str| {
            let map: ColorMap = name.parse().unwrap();
            (map.color(0), map.color(255))
        };
        assert_eq!(ends("viridis"), ([68, 1, 84], [253, 231, 37]));
        assert_eq!(ends("gray"), ([0; 3], [255; 3]));
        assert_eq!(ends("twilight_shifted"), ([48, 20, 55], [47, 20, 54]));
        assert_eq!(ends("rdbu_r"), ([5, 48, 97], [103, 0, 31]));
        assert_eq!(ends("RdBu"), ([103, 0, 31], [5, 48, 97]));
        assert_eq!(ends("coolwarm"), ([59, 76, 192], [180, 4, 38]));
        assert_eq!(ends("BrBG"), ([84, 48, 5], [0, 60, 48]));
        assert_eq!(ColorMap::all().count(), 12);
        assert_eq!(ColorMap::json().get("viridis").unwrap().as_str().unwrap().len(), 1536);
    }

    #[test]
    fn a_map_that_is_not_there_has_a_hint() {
        let why = "viridiss".parse::<ColorMap>().unwrap_err().to_string();
        assert!(why.contains("did you mean `viridis`?"), "{why}");
        assert!("zz".parse::<ColorMap>().unwrap_err().to_string().contains("magma"));
    }
}
