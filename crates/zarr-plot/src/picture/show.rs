//! Chooses how the elements of a view become colours: by a colour map, as labels, as colours, as channels.

use super::channels::{self, AUTOMATIC, ShownChannel};
use super::{
    Along, ChannelChoice, ChannelName, ColorMap, Ends, PictureError, Plane, Raster, Reduce,
    Stretch, Subject, View, slice,
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
    /// The channels to show; by default, the active ones.
    pub channels: Option<Vec<ChannelName>>,
    /// Windows and colours of channels.
    pub choices: Vec<ChannelChoice>,
    /// Labels over the picture.
    pub overlay: Option<Overlay>,
    /// Whether coasts are drawn on maps.
    pub has_coast: bool,
}

/// The default opacity of labels over an image.
pub const USUAL_OPACITY: f64 = 0.5;

/// Labels that are shown over an image.
#[derive(Clone, Debug)]
pub struct Overlay {
    /// The labels: an array that has an axis for each axis of the image but channels, in the same order and as long or of length 1.
    pub labels: Box<Subject>,
    /// Of what is opaque, from 0 to 1.
    pub opacity: f64,
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
        let mut shown = self.show_alone(view, style, at_most)?;
        if let Some(Overlay { labels, opacity }) = &style.overlay {
            let over = labels.view_over(self, view)?;
            let smaller = at_most.map(|size| labels.smaller(&over, size)).transpose()?.flatten();
            let (labels, over) =
                smaller.as_ref().map_or((&**labels, &over), |(labels, over)| (labels, over));
            let reduce = Some(Reduce::Nearest);
            let plane = slice(&labels.array, &labels.meaning, over, at_most, reduce)?;
            let over = Raster::of_labels(&plane, &labels.label_colors());
            // A smaller level of the image may have been chosen.
            let over = over.resized(shown.raster.width, shown.raster.height);
            shown.raster.overlay(&over, *opacity)?;
        }
        Ok(shown)
    }

    /// The view of labels that lies over one of an image: the same positions along axes of the same names, scaled where the labels
    /// are of another level.
    ///
    /// # Errors
    /// Labels with other axes than the image, or of another size where a part of it is shown.
    pub fn view_over(&self, image: &Subject, view: &View) -> Result<View, PictureError> {
        let mut along = Vec::with_capacity(self.axes.len());
        let mut found = View { along: Vec::new(), x: None, y: None };
        for (n, axis) in self.axes.iter().enumerate() {
            let Some(of_image) = image.axes.iter().position(|other| other.name == axis.name) else {
                return Err(self.has_other_axes());
            };
            let (own, len) = (view.along[of_image], image.axes[of_image].len);
            let is_shown = [view.x, view.y].contains(&Some(of_image));
            along.push(match axis.len {
                _ if axis.len == len => own,
                1 if !is_shown => Along::one(0),
                _ if own == Along::all(len) => Along::all(axis.len),
                _ if !is_shown && len > 0 => {
                    Along::one((own.start * axis.len / len).min(axis.len - 1))
                }
                _ => return Err(self.has_other_axes()),
            });
            if view.x == Some(of_image) {
                found.x = Some(n);
            }
            if view.y == Some(of_image) {
                found.y = Some(n);
            }
        }
        if (found.x.is_some(), found.y.is_some()) != (view.x.is_some(), view.y.is_some()) {
            return Err(self.has_other_axes());
        }
        Ok(View { along, ..found })
    }

    /// The error of labels that do not lie over an image.
    fn has_other_axes(&self) -> PictureError {
        PictureError::Refused(format!(
            "the labels {} have other axes than the image",
            self.array.path()
        ))
    }

    fn show_alone(
        &self,
        view: &View,
        style: &Style,
        at_most: Option<(u64, u64)>,
    ) -> Result<Rendering, PictureError> {
        let is_labels = style.is_labels || style.map.is_none() && self.is_labels();
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
            if let Some(found) = self.image_channels(axis, view, style)? {
                return channels_shown(&found, style, |n| read(&view.at(axis, n)));
            }
            if self.is_rgb(view) {
                let all: Vec<u64> = (0..along.len).collect();
                let planes = self.planes(view, axis, &all, read_color)?;
                return self.colors(&planes, style);
            }
        }
        let plane = read(view)?;
        let has_missing = plane.values.iter().any(|value| value.is_nan());
        if is_labels {
            let colors = self.label_colors();
            let raster = Raster::of_labels(&plane, &colors);
            let names: Vec<(String, [u8; 3])> = self
                .meaning
                .flags
                .categories()
                .map(|(value, name, _)| {
                    let [r, g, b, _] = colors.color(value);
                    (name.to_owned(), [r, g, b])
                })
                .collect();
            let legend = if names.is_empty() { Legend::None } else { Legend::Channels(names) };
            return Ok(Rendering { raster, block: plane.block, legend, has_missing: false });
        }
        let (stretch, map) = scale(&plane, style, self, self.declared_window(view))?;
        let raster = Raster::of_values(&plane, stretch.as_ref(), map);
        let legend = stretch.map_or(Legend::NoValues, |stretch| Legend::Values(stretch, map));
        Ok(Rendering { raster, block: plane.block, legend, has_missing })
    }

    /// The windows in which a view is shown where nothing else is asked for: the number of each channel that is shown, and its ends; of a
    /// view without channels its ends, with the number 0. None of labels, of colours as they are, and of what has no two values.
    ///
    /// # Errors
    /// As [`Subject::show`].
    pub fn windows(
        &self,
        view: &View,
        at_most: Option<(u64, u64)>,
    ) -> Result<Vec<(usize, f64, f64)>, PictureError> {
        let style = Style::default();
        if self.is_labels() || self.is_rgb(view) {
            return Ok(Vec::new());
        }
        let read = |view: &View| slice(&self.array, &self.meaning, view, at_most, None);
        let mut found = Vec::new();
        match self.channel_axis(view) {
            Some(axis) if self.shows_channels(view, &style) => {
                for shown in self.image_channels(axis, view, &style)?.unwrap_or_default() {
                    let plane = read(&view.at(axis, shown.position as u64))?;
                    let stretch = channel_stretch(&plane, &shown.channel, None, &style)?;
                    found.extend(stretch.map(|stretch| (shown.number, stretch.low, stretch.high)));
                }
            }
            _ => {
                let (stretch, _) = scale(&read(view)?, &style, self, self.declared_window(view))?;
                found.extend(stretch.map(|stretch| (0, stretch.low, stretch.high)));
            }
        }
        found.retain(|(_, low, high)| low < high);
        Ok(found)
    }

    /// The axis of channels, if it goes neither across nor down.
    pub fn channel_axis(&self, view: &View) -> Option<usize> {
        (0..self.axes.len())
            .filter(|axis| Some(*axis) != view.x && Some(*axis) != view.y)
            .find(|&axis| self.axes[axis].kind == AxisKind::Channel)
    }

    /// Whether every position along the axis of channels is shown at once, and none is to be chosen.
    pub fn shows_channels(&self, view: &View, style: &Style) -> bool {
        let Some(axis) = self.channel_axis(view) else { return style.rgb.is_some() };
        let along = &view.along[axis];
        let is_plain = style.map.is_none() && !style.is_labels && !self.is_labels();
        style.rgb.is_some()
            || is_plain
                && (self.is_rgb(view)
                    || self.image.is_some() && (1..=MOST_CHANNELS).contains(&along.len))
    }

    /// Whether the channels of a view are red, green and blue, as they are: three or four of an array that is no image of OME-Zarr, or
    /// is one of bytes that does not describe its channels.
    pub fn is_rgb(&self, view: &View) -> bool {
        let Some(axis) = self.channel_axis(view) else { return false };
        let len = self.axes[axis].len;
        let is_undescribed = self.image.as_ref().is_none_or(|(image, _)| {
            image.channels.len() as u64 != len && self.has_colors_as_bytes()
        });
        matches!(len, 3 | 4) && view.along[axis].len == len && is_undescribed
    }

    /// The channels of an image that are shown.
    fn image_channels(
        &self,
        axis: usize,
        view: &View,
        style: &Style,
    ) -> Result<Option<Vec<ShownChannel>>, PictureError> {
        let along = &view.along[axis];
        let Some((image, _)) = &self.image else { return Ok(None) };
        if !(1..=MOST_CHANNELS).contains(&along.len) || self.is_rgb(view) {
            return Ok(None);
        }
        let all = image.channels_along(self.axes[axis].len);
        let selected: Vec<usize> = (0..along.len).map(|n| along.at(n) as usize).collect();
        if selected.iter().any(|&n| n >= all.len()) {
            return Ok(None);
        }
        channels::shown(&all, &selected, style.channels.as_deref(), &style.choices).map(Some)
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
                "--rgb takes three positions, red, green and blue, or four with opacity".into(),
            ));
        }
        positions
            .iter()
            .map(|&n| {
                if n >= len {
                    return Err(PictureError::Refused(format!(
                        "there is no colour {n}: axis {axis} has {len} positions"
                    )));
                }
                read(&view.at(axis, n))
            })
            .collect()
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
    channels: &[ShownChannel],
    style: &Style,
    read: impl Fn(u64) -> Result<Plane, PictureError>,
) -> Result<Rendering, PictureError> {
    let mut found = Vec::new();
    let mut names = Vec::new();
    for ShownChannel { position, number, channel, window } in channels {
        let plane = read(*position as u64)?;
        let stretch = channel_stretch(&plane, channel, *window, style)?;
        let name = channel.label.clone().unwrap_or_else(|| format!("channel {number}"));
        names.push((name, channel.color));
        found.push((plane, stretch, channel.clone()));
    }
    let raster = Raster::of_channels(&found)?;
    let block = found.first().map_or((1, 1), |(plane, ..)| plane.block);
    Ok(Rendering { raster, block, legend: Legend::Channels(names), has_missing: false })
}

/// The window of a channel: the chosen one, else the declared one, else of most of its values.
fn channel_stretch(
    plane: &Plane,
    channel: &Channel,
    chosen: Option<Ends>,
    style: &Style,
) -> Result<Option<Stretch>, PictureError> {
    let declared = channel.window.map(|(low, high)| Ends::Limits(low, high));
    let ends = chosen.or(style.ends).or(declared).unwrap_or(AUTOMATIC);
    Stretch::of(plane, ends, style.is_log, None)
}

/// The ends and the colours of a plane. Values on both sides of 0 get colours that part there, 0 in the middle.
pub(crate) fn scale(
    plane: &Plane,
    style: &Style,
    subject: &Subject,
    declared: Option<(f64, f64)>,
) -> Result<(Option<Stretch>, ColorMap), PictureError> {
    let declared = declared.map(|(low, high)| Ends::Limits(low, high));
    let ends = style.ends.or(declared).unwrap_or_default();
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
