//! Draws tiles and legends.

use zarr_plot::map::{Tile, Wanted};
use zarr_plot::meaning::AxisKind;
use zarr_plot::picture::{ColorMap, Ends, Plane, Raster, Stretch};

use super::{Refusal, Request, parameters, prepared};
use crate::Answer;

/// Bytes that a pixel takes while a tile is made: its place, its value, its colour, encoded; of colours three or four values.
const BYTES_PER_PIXEL: u64 = 80;
/// Bytes of elements that are averaged together at most.
const BYTES_OF_MEANS: u64 = 128 << 20;
/// How long a tile may be shown before it is asked for anew.
const LIFETIME: &str = "max-age=60";

/// What the colours of a layer say.
struct Colors {
    stretch: Option<Stretch>,
    map: ColorMap,
}

impl Request<'_> {
    /// The positions along the axis of colours, if the array is an image of red, green and blue.
    fn color_axis(&self) -> Option<usize> {
        let subject = self.layer.subject();
        let (x, y) = self.layer.plane();
        let axis = (0..subject.axes.len()).find(|&n| {
            let axis = &subject.axes[n];
            n != x && n != y && axis.kind == AxisKind::Channel && matches!(axis.len, 3 | 4)
        })?;
        let name = subject.axes[axis].name.as_deref();
        let is_selected = self.question.query.iter().any(|(key, value)| {
            Some(key.as_str()) == name
                || (key == "sel" && value.split_once('=').map(|(axis, _)| axis) == name)
        });
        let has_map = parameters::color_map(self.question).is_ok_and(|map| map.is_some());
        (!is_selected && !has_map).then_some(axis)
    }

    fn is_labels(&self) -> bool {
        self.layer.subject().image.as_ref().is_some_and(|(image, _)| image.is_label)
    }

    /// The range and the colours that the parameters ask for, or else those that all tiles of the layer have.
    fn colors(&self) -> Result<Colors, Refusal> {
        let subject = self.layer.subject();
        let map = parameters::color_map(self.question)?;
        if let Some((low, high)) = parameters::range(self.question)? {
            let is_signed = low < 0.0 && high > 0.0;
            let map = map.unwrap_or_else(|| subject.color_map(is_signed));
            return Ok(Colors { stretch: Some(Stretch::between(low, high)), map });
        }
        let path = format!("{}{}", self.served.name(), subject.array.path());
        let stretch = self.targets.layers.range(&path, &self.positions, || {
            self.layer.range(&self.positions, Ends::default(), &|array: &zarr::Array| {
                prepared(self.question, self.targets, &self.served, array)
            })
        });
        let stretch = stretch.map_err(Refusal::of_map)?;
        let is_signed = stretch.is_some_and(|stretch| stretch.low < 0.0 && stretch.high > 0.0);
        // Colours that part at 0 have it in their middle.
        let stretch = stretch.map(|stretch| {
            let most = stretch.low.abs().max(stretch.high.abs());
            let is_centred = is_signed && map.is_none();
            let (low, high) = if is_centred { (-most, most) } else { (stretch.low, stretch.high) };
            Stretch::between(low, high)
        });
        Ok(Colors { stretch, map: map.unwrap_or_else(|| subject.color_map(is_signed)) })
    }

    /// The range of colours, if they have one.
    pub fn range(&self) -> Result<Option<(f64, f64)>, Refusal> {
        let is_color = self.color_axis().is_some() && self.has_bytes();
        if is_color || self.is_labels() {
            return parameters::range(self.question);
        }
        Ok(self.colors()?.stretch.map(|stretch| (stretch.low, stretch.high)))
    }

    fn has_bytes(&self) -> bool {
        let subject = self.layer.subject();
        subject.array.data_type().scalar() == Some(zarr::data_type::Scalar::Uint(8))
            && subject.meaning.affine.is_identity()
    }
}

/// A tile as PNG: transparent where nothing is, and where elements are missing.
pub(super) fn tile(request: &Request<'_>, tile: Tile) -> Result<Answer, Refusal> {
    parameters::check_format(request.question)?;
    let (width, height) = parameters::size(request.question)?;
    let resampling = parameters::resampling(request.question)?;
    let pixels = u64::from(width) * u64::from(height);
    request.question.reserve(pixels * BYTES_PER_PIXEL)?;
    if resampling == zarr_plot::map::Resampling::Mean {
        request.question.reserve(request.question.share(BYTES_OF_MEANS, 8))?;
    }
    let read = |positions: Vec<u64>| -> Result<Option<Plane>, Refusal> {
        let wanted = Wanted { tile, width, height, resampling, positions };
        let made = request.layer.tile(&wanted, &|array: &zarr::Array| {
            prepared(request.question, request.targets, &request.served, array)
        });
        made.map_err(Refusal::of_map)
    };
    let raster = if let Some(axis) = request.color_axis() {
        let mut planes = Vec::new();
        for n in 0..request.layer.subject().axes[axis].len {
            let mut positions = request.positions.clone();
            positions[axis] = n;
            planes.extend(read(positions)?);
        }
        if planes.is_empty() {
            None
        } else {
            let stretch = match parameters::range(request.question)? {
                None if request.has_bytes() => None,
                _ => request.colors()?.stretch.or(Some(Stretch::between(0.0, 1.0))),
            };
            Some(
                Raster::of_colors(&planes, stretch.as_ref())
                    .map_err(|e| Refusal::Wrong(e.to_string()))?,
            )
        }
    } else {
        match read(request.positions.clone())? {
            None => None,
            Some(plane) if request.is_labels() => {
                let colors = request.layer.subject().label_colors();
                Some(Raster::of_labels(&plane, &colors))
            }
            Some(plane) => {
                let colors = request.colors()?;
                Some(Raster::of_values(&plane, colors.stretch.as_ref(), colors.map))
            }
        }
    };
    let raster = raster.unwrap_or_else(|| Raster::filled(width as usize, height as usize, [0; 4]));
    let bytes = raster.to_png().map_err(|error| Refusal::Wrong(error.to_string()))?;
    Ok(image(bytes))
}

/// The colour bar of a layer as PNG.
pub(super) fn legend(request: &Request<'_>) -> Result<Answer, Refusal> {
    parameters::check_format(request.question)?;
    let colors = request.colors()?;
    let Some(stretch) = colors.stretch else {
        let why = "the layer has no values, and so no legend".to_owned();
        return Err(Refusal::Unprocessable(why));
    };
    let scene = request.layer.subject().legend(&stretch, colors.map);
    let bytes = scene.to_png().map_err(|error| Refusal::Wrong(error.to_string()))?;
    Ok(image(bytes))
}

fn image(bytes: Vec<u8>) -> Answer {
    let mut answer = Answer::new("image/png", bytes);
    answer.headers.push(("cache-control", LIFETIME.to_owned()));
    answer
}
