//! Chooses how an array is shown at first: a picture, a line or a table, along which axes.

use zarr::data_type::{DataType, Scalar};
use zarr::{Array, Json, Object};
use zarr_plot::meaning::{Axis, AxisKind, Image, Meaning};

use super::plane::is_numeric;

/// Axes up to this length may be the channels of a colour picture.
const MOST_CHANNELS: u64 = 4;

/// How an array is shown.
pub(crate) struct Shown {
    kind: &'static str,
    x: usize,
    y: usize,
    channels: Option<usize>,
    is_colour: bool,
    is_label: bool,
    is_gray: bool,
    is_equal: bool,
    is_difference: bool,
}

impl Shown {
    /// What fits the array's axes and type.
    pub fn of(array: &Array, meaning: &Meaning, axes: &[Axis], image: Option<&Image>) -> Shown {
        let shape = array.shape();
        let rank = shape.len();
        let find = |kind: AxisKind| {
            (0..rank).find(|&n| axes.get(n).is_some_and(|axis| axis.kind == kind) && shape[n] > 1)
        };
        let channel =
            (0..rank).find(|&n| axes.get(n).is_some_and(|axis| axis.kind == AxisKind::Channel));
        let bytes = matches!(array.data_type(), DataType::Core(_))
            && matches!(array.data_type().scalar(), Some(Scalar::Uint(8 | 16)));
        let has_channels = image.is_some_and(|image| !image.channels.is_empty());
        // An axis of three or four at the end of a picture of bytes is one of colours, whatever its name.
        let last = rank
            .checked_sub(1)
            .filter(|&last| (3..=MOST_CHANNELS).contains(&shape[last]) && rank >= 3 && bytes);
        let last = last.filter(|&last| {
            axes.get(last)
                .is_some_and(|axis| matches!(axis.kind, AxisKind::Channel) || axis.name.is_none())
        });
        let channel = channel.filter(|&channel| shape[channel] > 1).or(last);
        let is_colour = !has_channels
            && bytes
            && channel.is_some_and(|channel| (3..=MOST_CHANNELS).contains(&shape[channel]));
        let long: Vec<usize> = (0..rank).filter(|&n| shape[n] > 1 && Some(n) != channel).collect();
        let (x, y) = match (find(AxisKind::X), find(AxisKind::Y)) {
            (Some(x), Some(y)) => (Some(x), Some(y)),
            (x, y) => {
                let taken = |n: &&usize| Some(**n) != x && Some(**n) != y;
                let mut rest = long.iter().rev().filter(taken);
                let x = x.or_else(|| rest.next().copied());
                (x, y.or_else(|| rest.next().copied()))
            }
        };
        let kind = match (x, y) {
            _ if shape.contains(&0) || !is_numeric(array, meaning) => "none",
            (Some(_), Some(_)) => "picture",
            (Some(_), None) | (None, Some(_)) => "line",
            (None, None) if rank > 0 && channel.is_some() => "line",
            (None, None) => "none",
        };
        let plane = [x, y].map(|axis| {
            axis.and_then(|axis| axes.get(axis)).map_or(AxisKind::Other, |axis| axis.kind)
        });
        let is_line = kind == "line";
        let words = [meaning.title.as_deref(), array.path().name()]
            .map(|text| text.unwrap_or_default().to_lowercase());
        Shown {
            kind,
            x: x.or(y).or(channel).unwrap_or(0),
            y: y.unwrap_or(0),
            channels: channel.filter(|_| !is_line && (is_colour || has_channels)),
            is_colour,
            is_label: image.is_some_and(|image| image.is_label),
            is_gray: image.is_some() || bytes,
            is_equal: !plane.iter().any(|kind| matches!(kind, AxisKind::Time | AxisKind::Z))
                || image.is_some(),
            is_difference: words.iter().any(|text| {
                ["anomaly", "difference", "bias", "increment"]
                    .iter()
                    .any(|word| text.contains(word))
            }),
        }
    }

    /// As members of JSON: `{"kind", "x", "y", "equal", "map", …}`.
    pub fn members(&self, data_type: &DataType) -> Object {
        let map = match () {
            () if self.is_difference => "RdBu_r",
            () if self.is_gray => "gray",
            () => "viridis",
        };
        let channels = self.channels.map_or(Json::Null, |axis| Json::from(axis as u64));
        let rgb_range = matches!(data_type.scalar(), Some(Scalar::Uint(8)))
            .then(|| Json::from(vec![Json::from(0u64), Json::from(255u64)]));
        Object::new()
            .with("kind", self.kind)
            .with("x", self.x as u64)
            .with("y", self.y as u64)
            .with("channel_axis", channels)
            .with("rgb", self.is_colour && self.channels.is_some())
            .with("rgb_range", rgb_range.unwrap_or(Json::Null))
            .with("labels", self.is_label)
            .with("equal", self.is_equal)
            .with("map", map)
            .with("centre", self.is_difference)
    }
}
