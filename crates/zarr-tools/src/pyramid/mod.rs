//! Adds the levels of lower resolution to images: to OME-Zarr images of 0.4 and 0.5 and to their labels, and to maps, in GeoZarr's words.
//!
//! [`plan_pyramid`] chooses the levels from the image's metadata (`image`), and how they are cut into tiles (`tiles`), so that all that
//! can be refused is refused before anything is written (`plan`). The variables of a map are images of the same levels (`geo`,
//! `geo_plan`); what levels have beside them is written at the end (`geo_levels`, `geo_place`). Then each part, a tree of tiles over a box of the base, is made in
//! one go from the bottom up (`build`, `reduce`): the base is read once, and no level is read back. The documents of the levels are
//! written last, and the image's own after those (`run`): a pyramid that was killed is not taken for a finished one, and goes on from
//! its journal (`journal`).

mod build;
mod gaussian;
mod geo;
mod geo_levels;
mod geo_place;
mod geo_plan;
mod image;
mod journal;
mod plan;
mod reduce;
mod run;
mod sample;
mod tiles;

use std::str::FromStr;

use zarr_core::{CancelToken, NodePath};

pub(crate) use self::journal::{PLAN, PYRAMID};
pub use self::plan::{PyramidLevel, PyramidPlan, plan_pyramid};

/// How the elements of a block become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PyramidMethod {
    /// The mean of the elements of the base, rounded once.
    Mean,
    /// The least element.
    Min,
    /// The greatest element.
    Max,
    /// The median of the level before; of an even number of elements the lesser of the two in the middle.
    Median,
    /// The most frequent element of the level before; of several, the least.
    Mode,
    /// The first element.
    Nearest,
    /// A Gaussian over the level before, around the middle of the block: its variance is (k² - 1) / (8 ln 2) elements for a factor k.
    /// It reads chunks at the borders of tiles more than once.
    Gaussian,
}

impl PyramidMethod {
    const ALL: [PyramidMethod; 7] = [
        PyramidMethod::Mean,
        PyramidMethod::Min,
        PyramidMethod::Max,
        PyramidMethod::Median,
        PyramidMethod::Mode,
        PyramidMethod::Nearest,
        PyramidMethod::Gaussian,
    ];

    /// `mean`, `min`, `max`, `median`, `mode`, `nearest` or `gaussian`.
    pub fn name(self) -> &'static str {
        match self {
            PyramidMethod::Mean => "mean",
            PyramidMethod::Min => "min",
            PyramidMethod::Max => "max",
            PyramidMethod::Median => "median",
            PyramidMethod::Mode => "mode",
            PyramidMethod::Nearest => "nearest",
            PyramidMethod::Gaussian => "gaussian",
        }
    }
}

impl FromStr for PyramidMethod {
    type Err = String;

    /// The method of a name.
    ///
    /// # Errors
    /// If there is none of the name.
    fn from_str(name: &str) -> Result<PyramidMethod, String> {
        PyramidMethod::ALL.into_iter().find(|method| method.name() == name).ok_or_else(|| {
            let names = PyramidMethod::ALL.map(PyramidMethod::name).join(", ");
            format!("unknown method `{name}`; expected one of {names}")
        })
    }
}

/// How means of integers are rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PyramidRounding {
    /// To the nearest integer; halves to the even one.
    #[default]
    HalfEven,
    /// To the nearest integer; halves away from zero.
    HalfAway,
    /// Toward zero.
    TowardZero,
}

impl PyramidRounding {
    const ALL: [PyramidRounding; 3] =
        [PyramidRounding::HalfEven, PyramidRounding::HalfAway, PyramidRounding::TowardZero];

    /// `half-even`, `half-away` or `toward-zero`.
    pub fn name(self) -> &'static str {
        match self {
            PyramidRounding::HalfEven => "half-even",
            PyramidRounding::HalfAway => "half-away",
            PyramidRounding::TowardZero => "toward-zero",
        }
    }
}

impl FromStr for PyramidRounding {
    type Err = String;

    /// The rounding of a name.
    ///
    /// # Errors
    /// If there is none of the name.
    fn from_str(name: &str) -> Result<PyramidRounding, String> {
        PyramidRounding::ALL.into_iter().find(|rounding| rounding.name() == name).ok_or_else(|| {
            let names = PyramidRounding::ALL.map(PyramidRounding::name).join(", ");
            format!("unknown rounding `{name}`; expected one of {names}")
        })
    }
}

/// In whose words the levels are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PyramidConvention {
    /// OME-Zarr's: the levels of one image and of its labels.
    Ome,
    /// GeoZarr's `multiscales`, `spatial` and `proj` 0.1: the levels of all variables of a group on one plane of y and x. Each level
    /// is a group with the same arrays: coordinates of y and x are means, and arrays without y and x are copied. The base is the
    /// group itself, whose levels are `ovr_2x`, `ovr_4x` and so on, or its child `0`, whose levels are `1`, `2`.
    Geo,
}

impl PyramidConvention {
    const ALL: [PyramidConvention; 2] = [PyramidConvention::Ome, PyramidConvention::Geo];

    /// `ome` or `geo`.
    pub fn name(self) -> &'static str {
        match self {
            PyramidConvention::Ome => "ome",
            PyramidConvention::Geo => "geo",
        }
    }
}

impl FromStr for PyramidConvention {
    type Err = String;

    /// The convention of a name.
    ///
    /// # Errors
    /// If there is none of the name.
    fn from_str(name: &str) -> Result<PyramidConvention, String> {
        let found = PyramidConvention::ALL.into_iter().find(|convention| convention.name() == name);
        found.ok_or_else(|| format!("unknown convention `{name}`; expected ome or geo"))
    }
}

/// How a pyramid is made.
#[derive(Clone, Default)]
pub struct PyramidOptions<'a> {
    /// `None` for GeoZarr's if the group lists levels in its words, else OME-Zarr's.
    pub convention: Option<PyramidConvention>,
    /// `None` for the one by which the levels that are there were made, if the image names it; else for the mean, or for the mode if
    /// elements are bools. Labels, and bools and flags on maps, have the mode, or the nearest if that is asked for.
    pub method: Option<PyramidMethod>,
    /// How many elements become one from level to level; `None` for 2. Along the last two axes of space, and along the third once
    /// elements are as far from each other along those two as along it.
    pub factor: Option<u64>,
    /// In place of `factor`, how many become one along each axis, by the axes' names; 1 along those that are not named.
    pub factors: Vec<(String, u64)>,
    /// How many levels the image has at the end, the base being one. `None` for as many as make the last one a single chunk along the
    /// axes that get shorter.
    pub levels: Option<usize>,
    /// The chunks of new levels; `None` for those of the base, unless they have more than 16 MiB. Labels keep theirs, and so do
    /// variables of maps with another number of axes.
    pub chunks: Option<Vec<u64>>,
    /// The shards of new levels, in v3; `None` for those of the base, an empty list for none.
    pub shards: Option<Vec<u64>>,
    /// How means of integers are rounded.
    pub rounding: PyramidRounding,
    /// Whether a NaN makes the mean, median, least and greatest element of its block NaN. Without it NaN is left out, as are elements
    /// that are equal to the array's attributes `_FillValue` or `missing_value`, or out of the range of `valid_min`, `valid_max` or
    /// `valid_range`.
    pub keep_nan: bool,
    /// A mean is missing where a smaller share of the block's elements is there, from 0 to 1.
    pub min_valid: f64,
    /// About how many bytes the whole process may have; `None` for a quarter of the machine's memory. With little of it fewer threads
    /// work; if one needs more, the pyramid is refused before anything is written.
    pub memory: Option<u64>,
    /// Whether parts are made by several processes, of this number; see [`PyramidPlan::run_part`].
    pub parts: Option<u64>,
    /// Goes on with the pyramid that is under way, if one is, as it was planned then: the other options are not looked at.
    pub resume: bool,
    /// Erases what a pyramid that is under way has written, and begins anew.
    pub restart: bool,
    /// Leaves out the image's labels.
    pub no_labels: bool,
    /// Cancels the work, from another thread: it stops between two chunks.
    pub cancel: Option<CancelToken>,
    /// Called after each box of the base.
    pub progress: Option<&'a (dyn Fn(&PyramidProgress) + Sync)>,
}

/// How far a pyramid has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PyramidProgress {
    /// The group of the image, or of the labels.
    pub path: Option<NodePath>,
    /// Bytes of elements of bases that are done.
    pub bytes_done: u64,
    /// Bytes of elements of bases in all.
    pub bytes_total: u64,
}
