//! What a picture is of: an array with its meaning, its axes, and the image that it is a level of.

use zarr_core::data_type::{DataType, Scalar};
use zarr_core::{Array, NodePath};

use super::{Along, ColorMap, PictureError, View, number};
use crate::meaning::{
    Axis, AxisKind, Image, Images, Meaning, MissingRule, axes_of_image, rises, units_of_numpy,
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
        is_shown.then(|| View::of(&self.axes, self.all(), (None, None), false).ok()).flatten()
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

    /// Whether rows are shown from the last to the first: along y are stored coordinates that are greater the further north
    /// or up one is, and they rise; or such as depth and pressure, and they fall.
    pub fn is_upwards(&self, view: &View) -> bool {
        let Some(y) = view.y else { return false };
        let (axis, along) = (&self.axes[y], &view.along[y]);
        let rises = match axis.kind {
            AxisKind::Y => Some(true),
            _ => rises(axis),
        };
        let (Some(rises), Some(_)) = (rises, axis.array()) else { return false };
        if along.len < 2 {
            return false;
        }
        let at = |n: u64| {
            let found = axis.read(along.at(n)..along.at(n) + 1).ok()??;
            found.numbers.first().copied()
        };
        match (at(0), at(along.len - 1)) {
            (Some(first), Some(last)) if rises => first < last,
            (Some(first), Some(last)) => first > last,
            _ => false,
        }
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
        let group = |path: &NodePath| {
            path.join(&image.levels[*own].path).is_ok_and(|place| &place == self.array.path())
        };
        let Some(group) = self.array.path().ancestors().find(group) else { return Ok(None) };
        let mut best: Option<Array> = None;
        for level in &image.levels {
            let Ok(path) = group.join(&level.path) else { continue };
            let Ok(array) = self.array.hierarchy().array(&path) else { continue };
            let found = array.shape();
            let is_same = |axis: usize| found[axis] == shape[axis];
            if found.len() != shape.len()
                || (0..shape.len()).any(|axis| axis != x && axis != y && !is_same(axis))
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
