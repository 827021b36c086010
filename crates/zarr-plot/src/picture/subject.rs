//! What a picture is of: an array with its meaning, its axes, and the image that it is a level of.

use zarr_core::Array;
use zarr_core::data_type::{DataType, Scalar};

use super::cells::shape_of_cells;
use super::{Along, ColorMap, LabelColors, PictureError, View, number};
use crate::meaning::{
    Axis, AxisKind, Image, Images, Meaning, MissingRule, axes_of_image, label_images,
    units_of_numpy,
};

/// The last axis of bytes, if it has no name and three or four positions, is one of colours.
fn mark_colours(array: &Array, axes: &mut [Axis]) {
    let is_bytes = matches!(array.data_type(), DataType::Core(_))
        && matches!(array.data_type().scalar(), Some(Scalar::Uint(8 | 16)));
    let rank = axes.len();
    if let Some(last) = axes.last_mut()
        && rank >= 3
        && is_bytes
        && last.name.is_none()
        && last.kind == AxisKind::Other
        && matches!(last.len, 3 | 4)
    {
        last.kind = AxisKind::Channel;
    }
}

/// An array that is shown.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its elements.
    pub array: Array,
    /// What they stand for.
    pub meaning: Meaning,
    /// Its axes.
    pub axes: Vec<Axis>,
    /// The image that it is a level of, and which.
    pub image: Option<(Image, usize)>,
}

impl Subject {
    /// Looks at an array's attributes, at the variables with its coordinates, and at the groups above. With `is_raw`, elements
    /// stand for themselves.
    ///
    /// # Errors
    /// What the store reports.
    pub fn of(array: Array, is_raw: bool) -> Result<Subject, PictureError> {
        Subject::of_one(array, is_raw, &mut Images::default())
    }

    /// As [`Subject::of`], for one of several arrays of a hierarchy.
    ///
    /// # Errors
    /// As [`Subject::of`].
    pub fn of_one(
        array: Array,
        is_raw: bool,
        images: &mut Images,
    ) -> Result<Subject, PictureError> {
        let meaning =
            if is_raw { Meaning::raw(&array) } else { Meaning::of(&array, MissingRule::Declared) };
        // NumPy's moments need no units.
        let numpy = match array.data_type() {
            DataType::Time(time) => units_of_numpy(time),
            _ => None,
        };
        let meaning = Meaning { time: numpy.or(meaning.time), ..meaning };
        let image = images.of_array(&array)?;
        let mut axes = axes_of_image(&array, image.as_ref())?;
        mark_colours(&array, &mut axes);
        Ok(Subject { array, meaning, axes, image })
    }

    /// A value with few digits, or the moment that it is.
    pub fn text(&self, value: f64) -> String {
        let date = self.meaning.time.and_then(|time| time.date(value));
        date.map_or_else(|| number(value), |date| date.to_string())
    }

    /// How all of the array is shown at first: by the program, and by the page. Nothing for an array that has no elements, only one, or
    /// such as pictures are not made of.
    pub fn first(&self) -> Option<View> {
        let is_shown = self.meaning.scalar(&self.array.data_type()).is_some()
            && self.axes.iter().all(|axis| axis.len > 0)
            && self.axes.iter().any(|axis| axis.len > 1);
        if !is_shown {
            return None;
        }
        let view = View::of(&self.axes, self.all(), (None, None), false).ok()?;
        Some(self.at_usual_positions(view))
    }

    /// All elements.
    pub fn all(&self) -> Vec<Along> {
        self.axes.iter().map(|axis| Along::all(axis.len)).collect()
    }

    /// The name in the node's path; of a root that of its store.
    pub fn name(&self) -> String {
        match self.array.path().name() {
            Some(name) => name.to_owned(),
            None => {
                let store = self.array.hierarchy().store().name();
                let (place, _) = zarr_core::split_query(&store);
                place.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()
            }
        }
    }

    /// The labels of this name over the image that it is a level of: their level that is as large as this one, else their largest.
    ///
    /// # Errors
    /// An array that is no image, labels that are not there, and what the store reports.
    pub fn labels(&self, name: &str) -> Result<Subject, PictureError> {
        let group = self.image.as_ref().and_then(|(image, own)| {
            self.array.path().ancestors().find(|path| {
                path.join(&image.levels[*own].path).is_ok_and(|place| &place == self.array.path())
            })
        });
        let hierarchy = self.array.hierarchy();
        let group = group.map(|path| hierarchy.group(&path)).transpose()?;
        let Some(group) = group else {
            return Err(PictureError::Refused(
                "labels can be shown only over OME-Zarr images, and this array is not one".into(),
            ));
        };
        let found = label_images(&group)?;
        let Some((_, labels)) = found.iter().find(|(known, _)| known == name) else {
            let known: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
            let known = if known.is_empty() {
                "the image has none".to_owned()
            } else {
                format!("there are {}", known.join(", "))
            };
            return Err(PictureError::Refused(format!("there are no labels `{name}`; {known}")));
        };
        let mut best: Option<Array> = None;
        for level in
            Image::of_group(labels).first().map(|image| &image.levels[..]).unwrap_or_default()
        {
            let Ok(path) = labels.path().join(&level.path) else { continue };
            let array = hierarchy.array(&path)?;
            if best.is_none() || last_two(&array.shape()) == last_two(&self.array.shape()) {
                best = Some(array);
            }
        }
        match best {
            Some(array) => Subject::of(array, false),
            None => Err(PictureError::Refused(format!("the labels `{name}` have no levels"))),
        }
    }

    /// What to write above its picture.
    pub fn title(&self) -> String {
        if let Some(title) = &self.meaning.title {
            return title.clone();
        }
        match &self.image {
            Some((image, _)) => image.name.clone().unwrap_or_else(|| self.name()),
            None => self.name(),
        }
    }

    /// Whether rows are shown from the last to the first: north or what CF calls up is above.
    pub fn is_upwards(&self, view: &View) -> bool {
        let Some(y) = view.y else { return false };
        let along = &view.along[y];
        along.len > 1 && self.axes[y].is_upwards(along.at(0), along.at(along.len - 1))
    }

    /// How high an element of a view is if it is as wide as 1; `None` unless both axes have even coordinates in the same units, both
    /// are lengths, or both are axes of space of an image without units. On a map of longitude and latitude, elements get narrower by
    /// the cosine of the latitude in the middle.
    pub fn aspect(&self, view: &View) -> Option<f64> {
        // Coordinates that cannot be read leave the elements as their steps are.
        if let Ok(Some(width)) = shape_of_cells(&self.axes, view) {
            return Some(1.0 / width);
        }
        let (x, y) = (&self.axes[view.x?], &self.axes[view.y?]);
        let is_same = match (x.unit_of_length(), y.unit_of_length()) {
            (Some(_), Some(_)) => true,
            (None, None) if x.units.is_none() && y.units.is_none() => {
                self.image.is_some() && x.kind.is_space() && y.kind.is_space()
            }
            (None, None) => x.is_angle() && y.is_angle() || x.units == y.units,
            _ => false,
        };
        if !is_same || x.kind == AxisKind::Time {
            return None;
        }
        let aspect = step_length(y, &view.along[view.y?])? / step_length(x, &view.along[view.x?])?;
        (aspect.is_finite() && aspect > 0.0).then_some(aspect)
    }

    /// A view whose axes that go neither across nor down are at the position that is shown first, where all of them are selected: of
    /// an image what OME says, else the middle of z. Axes of channels are left as they are.
    pub fn at_usual_positions(&self, view: View) -> View {
        let Some((image, level)) = &self.image else { return view };
        let mut found = view.clone();
        for n in view.unchosen().filter(|&n| view.along[n] == Along::all(self.axes[n].len)) {
            let len = self.axes[n].len;
            // Positions are those of the largest level.
            let scale = |level: usize| image.levels.get(level)?.scale.get(n).copied();
            let by = scale(0).zip(scale(*level)).map_or(1.0, |(first, own)| first / own);
            let at = |position: u64| (position as f64 * by) as u64;
            let position = match self.axes[n].kind {
                AxisKind::Z => image.default_z.map_or(len / 2, at),
                AxisKind::Time => image.default_t.map_or(0, at),
                _ => continue,
            };
            found.along[n] = Along::one(position.min(len.saturating_sub(1)));
        }
        found
    }

    /// The value limits that an image declares for the only channel of a view.
    pub fn declared_window(&self, view: &View) -> Option<(f64, f64)> {
        let (image, _) = self.image.as_ref()?;
        let n = match self.channel_axis(view) {
            Some(axis) if image.channels.len() as u64 == self.axes[axis].len => {
                view.along[axis].start
            }
            None if image.channels.len() == 1 => 0,
            _ => return None,
        };
        image.channels.get(n as usize)?.window
    }

    /// The colours of labels, or of values that have names; none of its own for an array of neither.
    pub fn label_colors(&self) -> LabelColors {
        let image = self.image.as_ref().map(|(image, _)| image);
        match image.filter(|image| image.is_label) {
            Some(image) => LabelColors::of_labels(&image.label_colors),
            None => LabelColors::of_flags(&self.meaning),
        }
    }

    /// Whether elements are shown as labels where nothing else is asked for: they are labels of an image, or integers that have
    /// names.
    pub fn is_labels(&self) -> bool {
        let is_integer =
            matches!(self.array.data_type().scalar(), Some(Scalar::Int(_) | Scalar::Uint(_)));
        self.image.as_ref().is_some_and(|(image, _)| image.is_label)
            || is_integer
                && self.meaning.affine.is_identity()
                && self.meaning.flags.categories().next().is_some()
    }

    /// The colours where none are asked for: of values on both sides of 0 those that part there, of an image black to white.
    pub fn color_map(&self, is_signed: bool) -> ColorMap {
        match &self.image {
            _ if is_signed => ColorMap::RD_BU_R,
            Some((image, _)) if !image.is_label => ColorMap::GRAY,
            _ => ColorMap::VIRIDIS,
        }
    }

    /// The smallest level of its image that still has the pixels of a picture of this size, and the same view of it; `None` if that
    /// is the array itself, or if the view has only a part of the planes.
    ///
    /// # Errors
    /// What the store reports. Levels that are not there are left out.
    pub fn smaller(
        &self,
        view: &View,
        (width, height): (u64, u64),
    ) -> Result<Option<(Subject, View)>, PictureError> {
        let (Some((image, own)), Some(x), Some(y)) = (&self.image, view.x, view.y) else {
            return Ok(None);
        };
        if view.along[x] != Along::all(self.axes[x].len)
            || view.along[y] != Along::all(self.axes[y].len)
        {
            return Ok(None);
        }
        let shape = self.array.shape();
        let group = self.array.path().ancestors().find(|path| {
            path.join(&image.levels[*own].path).is_ok_and(|place| &place == self.array.path())
        });
        let Some(group) = group else { return Ok(None) };
        let mut best: Option<Array> = None;
        for level in &image.levels {
            let Ok(path) = group.join(&level.path) else { continue };
            let Ok(array) = self.array.hierarchy().array(&path) else { continue };
            let found = array.shape();
            if found.len() != shape.len()
                || (0..shape.len()).any(|axis| axis != x && axis != y && found[axis] != shape[axis])
            {
                continue;
            }
            let least = best.as_ref().map_or(shape[x].saturating_mul(shape[y]), |best| {
                let shape = best.shape();
                shape[x].saturating_mul(shape[y])
            });
            if found[x] >= width && found[y] >= height && found[x].saturating_mul(found[y]) < least
            {
                best = Some(array);
            }
        }
        let Some(array) = best else { return Ok(None) };
        let subject = Subject::of(array, false)?;
        let mut view = view.clone();
        for axis in [x, y] {
            view.along[axis] = Along::all(subject.axes[axis].len);
        }
        let subject = Subject { meaning: self.meaning.clone(), ..subject };
        Ok(Some((subject, view)))
    }
}

/// The lengths of the last two axes.
fn last_two(shape: &[u64]) -> &[u64] {
    &shape[shape.len().saturating_sub(2)..]
}

/// How far elements that are shown lie apart along an axis, in metres where its unit is known.
fn step_length(axis: &Axis, along: &Along) -> Option<f64> {
    let unit = axis.unit_of_length().unwrap_or(1.0);
    Some((axis.even()?.scale * along.step as f64 * unit).abs())
}
