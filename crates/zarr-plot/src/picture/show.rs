//! Chooses how the elements of a view become colours: by a colour map, as labels, as colours, as channels.

use super::{
    Along, ColorMap, Ends, PictureError, Plane, Raster, Reduce, Stretch, Subject, View, slice,
};
use crate::meaning::{AxisKind, Channel, Missing};

/// How elements are shown. What is not said follows from the data.
#[derive(Clone, Debug, Default)]
pub struct Style {
    /// Which values have the first and the last colour.
    pub ends: Option<Ends>,
    /// The colours.
    pub map: Option<ColorMap>,
    /// Whether colours follow logarithms.
    pub is_log: bool,
    /// The value in the middle.
    pub center: Option<f64>,
    /// Whether elements are labels.
    pub is_labels: bool,
    /// Which positions along the axis of channels are red, green, blue, and opacity.
    pub rgb: Option<Vec<u64>>,
    /// How blocks of elements become pixels.
    pub reduce: Option<Reduce>,
}

/// What is shown.
#[derive(Clone, Debug)]
pub struct Rendering {
    /// Its pixels.
    pub raster: Raster,
    /// How many elements each pixel stands for, across and down.
    pub block: (u64, u64),
    /// What its colours say.
    pub legend: Legend,
    /// Whether some of it is missing.
    pub has_missing: bool,
}

/// What colours say.
#[derive(Clone, Debug)]
pub enum Legend {
    /// Nothing but themselves.
    None,
    /// That there are none.
    NoValues,
    /// Values.
    Values(Stretch, ColorMap),
    /// Channels: their names and colours.
    Channels(Vec<(String, [u8; 3])>),
}

/// The most channels that are added up.
const MOST_CHANNELS: u64 = 32;

impl Subject {
    /// Shows a view, in at most `at_most` pixels across and down.
    ///
    /// # Errors
    /// As [`slice()`]; and colours of positions that are not there.
    pub fn show(
        &self,
        view: &View,
        style: &Style,
        at_most: Option<(u64, u64)>,
    ) -> Result<Rendering, PictureError> {
        let is_labels =
            style.is_labels || self.image.as_ref().is_some_and(|(image, _)| image.is_label);
        // The mean of two labels is none.
        let reduce = if is_labels { Some(Reduce::Nearest) } else { style.reduce };
        let read = |view: &View| slice(&self.array, &self.meaning, view, at_most, reduce);
        // Bytes are colours as they are: a fill value of 0, which xarray takes for missing in v2, is black.
        let mut colors = self.meaning.clone();
        if self.has_colors_as_bytes() {
            colors.missing = Missing::default();
        }
        let read_color = |view: &View| slice(&self.array, &colors, view, at_most, reduce);
        let channels = self.channel_axis(view);
        if let Some(rgb) = &style.rgb {
            let axis = self.axis_of_colors(view, channels)?;
            let planes = self.planes(view, axis, rgb, read_color)?;
            return self.colors(&planes, style);
        }
        let is_plain = style.map.is_none() && !is_labels;
        if let Some(axis) = channels.filter(|_| is_plain) {
            let along = &view.along[axis];
            if let Some(found) = self.image_channels(axis, along) {
                return channels_shown(&found, style, |n| read(&view.at(axis, n)));
            }
            if matches!(along.len, 3 | 4) && along.len == self.axes[axis].len {
                let all: Vec<u64> = (0..along.len).collect();
                let planes = self.planes(view, axis, &all, read_color)?;
                return self.colors(&planes, style);
            }
        }
        let plane = read(view)?;
        let has_missing = plane.values.iter().any(|value| value.is_nan());
        if is_labels {
            let raster = Raster::of_labels(&plane);
            return Ok(Rendering {
                raster,
                block: plane.block,
                legend: Legend::None,
                has_missing: false,
            });
        }
        let (stretch, map) = scale(&plane, style, self)?;
        let raster = Raster::of_values(&plane, stretch.as_ref(), map);
        let legend = stretch.map_or(Legend::NoValues, |stretch| Legend::Values(stretch, map));
        Ok(Rendering { raster, block: plane.block, legend, has_missing })
    }

    /// The axis of channels, if it goes neither across nor down.
    pub fn channel_axis(&self, view: &View) -> Option<usize> {
        let is_free = |axis: &usize| Some(*axis) != view.x && Some(*axis) != view.y;
        (0..self.axes.len()).filter(is_free).find(|&axis| self.axes[axis].kind == AxisKind::Channel)
    }

    /// Whether every position along the axis of channels is shown at once, and none is to be chosen.
    pub fn shows_channels(&self, view: &View, style: &Style) -> bool {
        let Some(axis) = self.channel_axis(view) else { return style.rgb.is_some() };
        let along = &view.along[axis];
        let is_plain = style.map.is_none() && !style.is_labels;
        style.rgb.is_some()
            || is_plain
                && (self.image_channels(axis, along).is_some()
                    || matches!(along.len, 3 | 4) && along.len == self.axes[axis].len)
    }

    /// What OME says of the positions along the axis of channels, if it says something of each.
    fn image_channels(&self, axis: usize, along: &Along) -> Option<Vec<Channel>> {
        let (image, _) = self.image.as_ref()?;
        let is_whole = image.channels.len() as u64 == self.axes[axis].len;
        (is_whole && (1..=MOST_CHANNELS).contains(&along.len))
            .then(|| (0..along.len).map(|n| image.channels[along.at(n) as usize].clone()).collect())
    }

    fn axis_of_colors(&self, view: &View, channels: Option<usize>) -> Result<usize, PictureError> {
        let mut others = view.unchosen();
        match (channels, others.next(), others.next()) {
            (Some(axis), ..) | (None, Some(axis), None) => Ok(axis),
            _ => Err(PictureError::Refused(
                "it is not clear which axis has the colours; fix the others by a region".into(),
            )),
        }
    }

    fn planes(
        &self,
        view: &View,
        axis: usize,
        positions: &[u64],
        read: impl Fn(&View) -> Result<Plane, PictureError>,
    ) -> Result<Vec<Plane>, PictureError> {
        let len = view.along[axis].len;
        if !matches!(positions.len(), 3 | 4) {
            return Err(PictureError::Refused(
                "colours are three positions, red, green and blue, or four with opacity".into(),
            ));
        }
        let plane = |&n: &u64| {
            if n >= len {
                return Err(PictureError::Refused(format!(
                    "there is no colour {n}: axis {axis} has {len} positions"
                )));
            }
            read(&view.at(axis, n))
        };
        positions.iter().map(plane).collect()
    }

    /// Whether the elements are bytes, from 0 to 255, with no other meaning.
    fn has_colors_as_bytes(&self) -> bool {
        self.array.data_type().scalar() == Some(zarr_core::Scalar::Uint(8))
            && self.meaning.affine.is_identity()
    }

    /// Bytes are colours as they are; other values are stretched, all by the same ends.
    fn colors(&self, planes: &[Plane], style: &Style) -> Result<Rendering, PictureError> {
        let stretch = if self.has_colors_as_bytes() && style.ends.is_none() {
            None
        } else {
            let first = planes.first().map_or(1, |plane| plane.width);
            // A fourth plane is opacity, and has its own ends.
            let all: Vec<f64> =
                planes.iter().take(3).flat_map(|plane| plane.values.iter().copied()).collect();
            let is_unit = planes
                .iter()
                .flat_map(|plane| &plane.values)
                .all(|value| !(*value < 0.0 || *value > 1.0));
            let found = match style.ends {
                None if is_unit => Some(Stretch::between(0.0, 1.0)),
                ends => Stretch::of(
                    &Plane::of(first, all),
                    ends.unwrap_or_default(),
                    style.is_log,
                    None,
                )?,
            };
            // Of nothing, everything is missing.
            Some(found.unwrap_or(Stretch::between(0.0, 1.0)))
        };
        let raster = Raster::of_colors(planes, stretch.as_ref())?;
        let pixels = planes.first().map_or(0, |plane| plane.values.len());
        let has_missing =
            (0..pixels).any(|n| planes.iter().take(3).all(|plane| plane.values[n].is_nan()));
        let block = planes.first().map_or((1, 1), |plane| plane.block);
        Ok(Rendering { raster, block, legend: Legend::None, has_missing })
    }
}

fn channels_shown(
    channels: &[Channel],
    style: &Style,
    read: impl Fn(u64) -> Result<Plane, PictureError>,
) -> Result<Rendering, PictureError> {
    let is_any_active = channels.iter().any(|channel| channel.active);
    let mut found = Vec::new();
    for (n, channel) in
        channels.iter().enumerate().filter(|(_, channel)| channel.active || !is_any_active)
    {
        let plane = read(n as u64)?;
        let window = channel
            .window
            .filter(|(low, high)| low < high)
            .map(|(low, high)| Ends::Limits(low, high));
        let ends = style.ends.or(window).unwrap_or_default();
        let stretch = Stretch::of(&plane, ends, style.is_log, None)?;
        found.push((plane, stretch, channel));
    }
    let raster = Raster::of_channels(&found)?;
    let name = |n: usize, channel: &Channel| {
        channel.label.clone().unwrap_or_else(|| format!("channel {n}"))
    };
    let names = found
        .iter()
        .enumerate()
        .map(|(n, (_, _, channel))| (name(n, channel), channel.color))
        .collect();
    let block = found.first().map_or((1, 1), |(plane, ..)| plane.block);
    Ok(Rendering { raster, block, legend: Legend::Channels(names), has_missing: false })
}

/// The ends and the colours of a plane. Values on both sides of 0 get colours that part there, 0 in the middle.
pub(crate) fn scale(
    plane: &Plane,
    style: &Style,
    subject: &Subject,
) -> Result<(Option<Stretch>, ColorMap), PictureError> {
    let ends = style.ends.unwrap_or_default();
    let stretch = Stretch::of(plane, ends, style.is_log, style.center)?;
    let is_signed = stretch.is_some_and(|stretch| stretch.low < 0.0 && stretch.high > 0.0);
    let map = style.map.unwrap_or(subject.color_map(is_signed));
    if is_signed
        && style.map.is_none()
        && style.center.is_none()
        && !matches!(ends, Ends::Limits(..))
    {
        return Ok((Stretch::of(plane, ends, false, Some(0.0))?, map));
    }
    Ok((stretch, map))
}
