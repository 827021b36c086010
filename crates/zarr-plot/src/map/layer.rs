//! An array on Earth with its levels of lower resolution, of which tiles are made.

use zarr_core::{Array, ErrorKind, NodePath};

use super::places::Places;
use super::read::{self, Axes};
use super::resample;
use super::{MapError, TILE_SIZE, Tile, TileMatrixSet};
use crate::meaning::geo::{Georeference, Line, MapLevels, Place, Projection};
use crate::meaning::text;
use crate::picture::{Ends, Plane, Stretch, Subject};

/// More levels are not opened.
const MAX_LEVELS: usize = 64;
/// Bytes of decoded chunks that are read for one tile, or for the range of a layer.
const MAX_DECODED_BYTES: u64 = 64 << 20;
/// How far the edges of a level may be from those of the first one, in elements of the level.
const MAX_EDGE_DISTANCE: f64 = 2.0;

/// How elements become pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resampling {
    /// The element that the middle of the pixel is in.
    #[default]
    Nearest,
    /// The mean of the four around the middle of the pixel, by their distances; of a projection such as UTM the nearest, where
    /// pixels are twice as large as elements.
    Bilinear,
    /// The mean of the elements whose middles are in the pixel.
    Mean,
}

/// What is to be in a tile.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Which one.
    pub tile: Tile,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// How elements become pixels.
    pub resampling: Resampling,
    /// A position on each axis of the array; those of x and y do not count.
    pub positions: Vec<u64>,
}

impl Wanted {
    /// The usual pixels of a tile.
    pub fn new(tile: Tile, positions: Vec<u64>) -> Wanted {
        let resampling = Resampling::Nearest;
        Wanted { tile, width: TILE_SIZE, height: TILE_SIZE, resampling, positions }
    }
}

/// One size of the array.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub array: Array,
    pub axes: Axes,
    pub place: Place,
}

impl Level {
    /// Columns and rows.
    fn size(&self) -> (u64, u64) {
        let shape = self.array.shape();
        (shape[self.axes.x], shape[self.axes.y])
    }
}

/// An array, its place on Earth, and its levels.
#[derive(Clone, Debug)]
pub struct Layer {
    subject: Subject,
    projection: Projection,
    /// The one with most elements first.
    levels: Vec<Level>,
    /// The group of the OME image that it is a level of.
    image: Option<NodePath>,
    /// What was found that a person should know.
    pub notes: Vec<String>,
}

impl Layer {
    /// Looks at an array, at the groups above it and at its coordinates, and opens its levels.
    ///
    /// # Errors
    /// [`MapError::Refused`] if it is not said where the array is on Earth, or if its projection is not computed here; what the
    /// store reports.
    pub fn open(array: Array) -> Result<Layer, MapError> {
        refuse_meshes(&array)?;
        let subject = Subject::of(array, false)?;
        let found = Georeference::of(&subject.array, &subject.axes)?;
        let path = subject.array.path();
        let Some(crs) = &found.crs else {
            return Err(MapError::Refused(format!(
                "{path} has no coordinate reference system: it needs `proj:code`, a CF grid mapping, or coordinates with the units degrees_east and degrees_north"
            )));
        };
        if let Projection::Other(name) = &crs.projection {
            return Err(MapError::Refused(format!(
                "{path} is in {}, found in {}; tiles are made of longitude and latitude, Web Mercator and transverse Mercator (UTM), and not of {name}",
                crs.title(),
                crs.source
            )));
        }
        let Some((x, y, place)) = found.place else {
            return Err(MapError::Refused(format!(
                "the position of {path} in {} is unknown: it needs `spatial:transform`, a `GeoTransform`, or coordinates of x and y that rise or fall",
                crs.title()
            )));
        };
        if subject.meaning.scalar(&subject.array.data_type()).is_none() {
            return Err(MapError::Refused(format!(
                "{path} has elements of type {}, which are not real numbers",
                subject.array.data_type()
            )));
        }
        let projection = crs.projection.clone();
        let first = Level { array: subject.array.clone(), axes: Axes { x, y }, place };
        let levels = levels(&subject, first)?;
        let image = image_group(&subject);
        Ok(Layer { subject, projection, levels, image, notes: found.notes })
    }

    /// The array, its meaning and its axes.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The axes of x and y.
    pub fn plane(&self) -> (usize, usize) {
        (self.levels[0].axes.x, self.levels[0].axes.y)
    }

    /// How many levels there are.
    pub fn level_count(&self) -> usize {
        self.levels.len()
    }

    /// West, south, east and north in degrees; all longitudes for what crosses 180°.
    pub fn bounds(&self) -> [f64; 4] {
        let [west, south, east, north] = match &self.projection {
            Projection::Geographic => self.levels[0].place.bounds(),
            projection => {
                let [left, bottom, right, top] = self.levels[0].place.bounds();
                // Edges bend: points along them are looked at, too.
                const STEPS: u32 = 16;
                let mut bounds =
                    [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
                for (across, down) in (0..=STEPS).flat_map(|a| (0..=STEPS).map(move |b| (a, b))) {
                    let across = f64::from(across) / f64::from(STEPS);
                    let down = f64::from(down) / f64::from(STEPS);
                    let x = left + (right - left) * across;
                    let y = bottom + (top - bottom) * down;
                    let Some((longitude, latitude)) = projection.inverse(x, y) else { continue };
                    bounds[0] = bounds[0].min(longitude);
                    bounds[1] = bounds[1].min(latitude);
                    bounds[2] = bounds[2].max(longitude);
                    bounds[3] = bounds[3].max(latitude);
                }
                bounds
            }
        };
        // Longitudes from 0 to 360, or from 200 to 300, are those from -180 on.
        let turns = ((west + 180.0) / 360.0).floor() * 360.0;
        let (west, east) = (west - turns, east - turns);
        let (west, east) = if east <= 180.0 { (west, east) } else { (-180.0, 180.0) };
        [west, south.max(-90.0), east, north.min(90.0)]
    }

    /// The first and the last zoom that show more than the ones beyond: the whole array on about one tile, and an element
    /// on about one pixel.
    pub fn zooms(&self, set: TileMatrixSet) -> (u8, u8) {
        let [west, south, east, north] = self.bounds();
        let (columns, rows) = self.levels[0].size();
        // Degrees of an element; those along y are shorter on Web Mercator, by the cosine of the latitude.
        let element =
            ((east - west) / columns.max(1) as f64).min((north - south) / rows.max(1) as f64);
        let extent = (east - west).max(north - south);
        let last =
            (0..set.max_zoom()).find(|&zoom| degrees_per_pixel(set, zoom) <= element * 1.000_001);
        let last = last.unwrap_or(set.max_zoom());
        let first = (0..last)
            .rev()
            .find(|&zoom| degrees_per_pixel(set, zoom) * 256.0 >= extent)
            .unwrap_or(0);
        (first, last)
    }

    /// The values of a tile, NaN where there is none; nothing if the array is elsewhere. `prepare` is given each array
    /// before it is read, and may set its options.
    ///
    /// # Errors
    /// [`MapError::TooLarge`] for a tile that needs more than 64 MiB of decoded chunks; what reading fails with.
    pub fn tile(
        &self,
        wanted: &Wanted,
        prepare: &dyn Fn(&Array) -> Array,
    ) -> Result<Option<Plane>, MapError> {
        let Some(level) = self.level_of(wanted) else { return Ok(None) };
        let places = Places::of(wanted, &self.projection, &level.place);
        let array = prepare(&level.array);
        let source = read::Source {
            array: &array,
            meaning: &self.subject.meaning,
            axes: level.axes,
            positions: &wanted.positions,
            most_decoded: MAX_DECODED_BYTES,
            image: self.image.as_ref(),
        };
        resample::resample(&source, &places, wanted, &level.place, &self.projection)
    }

    /// The coarsest level whose elements are not larger than the pixels of a tile; nothing if the tile is elsewhere.
    fn level_of(&self, wanted: &Wanted) -> Option<&Level> {
        let first = &self.levels[0];
        let (across, down) =
            Places::of(wanted, &self.projection, &first.place).elements_per_pixel()?;
        let (width, height) = first.place.size_of_element();
        // Rounding must not choose a level.
        let (most_wide, most_high) = (width * across * 1.000_001, height * down * 1.000_001);
        let coarsest = self.levels.iter().rev().find(|level| {
            let (width, height) = level.place.size_of_element();
            width <= most_wide && height <= most_high
        });
        Some(coarsest.unwrap_or(first))
    }

    /// The range of colours of a plane, from a sample of its coarsest level: the same for all tiles.
    ///
    /// # Errors
    /// What reading fails with.
    pub fn range(
        &self,
        positions: &[u64],
        ends: Ends,
        prepare: &dyn Fn(&Array) -> Array,
    ) -> Result<Option<Stretch>, MapError> {
        let level = self.levels.last().unwrap_or(&self.levels[0]);
        let array = prepare(&level.array);
        let source = read::Source {
            array: &array,
            meaning: &self.subject.meaning,
            axes: level.axes,
            positions,
            most_decoded: MAX_DECODED_BYTES,
            image: self.image.as_ref(),
        };
        let (columns, rows) = source.sample();
        let values = source.read(&columns, &rows)?;
        let plane = Plane::of(columns.len(), values);
        Ok(Stretch::of(&plane, ends, false, None)?)
    }
}

/// How wide a pixel of a zoom is, in degrees.
fn degrees_per_pixel(set: TileMatrixSet, zoom: u8) -> f64 {
    match set {
        TileMatrixSet::WebMercatorQuad => 360.0 / (256.0 * (1_u64 << zoom) as f64),
        TileMatrixSet::WorldCrs84Quad => set.cell_size(zoom),
    }
}

/// Refuses grids on which tiles cannot be made, by their names.
fn refuse_meshes(array: &Array) -> Result<(), MapError> {
    let attributes = array.attributes();
    let path = array.path();
    if let Some(mesh) = text(&attributes, "mesh") {
        return Err(MapError::Refused(format!(
            "{path} is on the unstructured mesh `{mesh}` (UGRID), of which no tiles are made"
        )));
    }
    let named = text(&attributes, "coordinates").unwrap_or_default();
    for name in named.split_whitespace().take(16) {
        let place = array.path().parent().and_then(|group| group.child(name).ok());
        let Some(place) = place else { continue };
        let found = match array.hierarchy().array(&place) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::Store => return Err(error.into()),
            Err(_) => continue,
        };
        let units = text(&found.attributes(), "units").unwrap_or_default();
        let is_latitude = units.starts_with("degree") && units.to_ascii_lowercase().contains('n');
        let has_regular = text(&attributes, "grid_mapping").is_some();
        if found.rank() == 2 && is_latitude && !has_regular {
            return Err(MapError::Refused(format!(
                "{path} is on a curvilinear grid, whose latitudes are in {place}; regrid it to make tiles of it"
            )));
        }
    }
    Ok(())
}

/// The levels of an array, from the one with most elements to the one with fewest.
fn levels(subject: &Subject, base: Level) -> Result<Vec<Level>, MapError> {
    let mut found = vec![base.clone()];
    for (path, scale, transform) in listed(subject, &base)? {
        if &path == subject.array.path() {
            continue;
        }
        let array = match subject.array.hierarchy().array(&path) {
            Ok(array) => array,
            Err(error) if error.kind() == ErrorKind::Store => return Err(error.into()),
            // `zarr validate` says what is listed and missing.
            Err(_) => continue,
        };
        if let Some(level) = level(subject, &base, array, scale, transform)? {
            found.push(level);
        }
    }
    found.sort_by_key(|level| {
        let (columns, rows) = level.size();
        std::cmp::Reverse(columns.saturating_mul(rows))
    });
    Ok(found)
}

/// Path, scale relative to the given array, and transform of each level, of GeoZarr or of OME.
type Listed = (NodePath, Option<(f64, f64)>, Option<crate::meaning::geo::Transform>);

fn listed(subject: &Subject, base: &Level) -> Result<Vec<Listed>, MapError> {
    let array = &subject.array;
    if let Some(found) = MapLevels::of_array(array)? {
        let own = found.levels.iter().find(|level| &level.path == array.path());
        let own = own.and_then(|level| level.scale).unwrap_or((1.0, 1.0));
        let levels = found.levels.iter().take(MAX_LEVELS).map(|level| {
            let scale = level.scale.map(|(x, y)| (x / own.0, y / own.1));
            (level.path.clone(), scale, level.transform)
        });
        return Ok(levels.collect());
    }
    let (Some((image, own)), Some(group)) = (&subject.image, image_group(subject)) else {
        return Ok(Vec::new());
    };
    let own = &image.levels[*own];
    let levels = image.levels.iter().take(MAX_LEVELS).filter_map(|level| {
        let across = ratio(&level.scale, &own.scale, base.axes.x);
        let scale = across.zip(ratio(&level.scale, &own.scale, base.axes.y));
        Some((group.join(&level.path).ok()?, scale, None))
    });
    Ok(levels.collect())
}

/// How many times larger the scale of a level is along an axis.
fn ratio(level: &[f64], own: &[f64], axis: usize) -> Option<f64> {
    Some(level.get(axis)? / own.get(axis)?)
}

/// The group of the OME image that an array is a level of.
fn image_group(subject: &Subject) -> Option<NodePath> {
    let (image, own) = subject.image.as_ref()?;
    let (path, own) = (subject.array.path(), &image.levels[*own].path);
    path.ancestors().find(|group| group.join(own).is_ok_and(|place| &place == path))
}

/// An array as a level of another; nothing if it is none that can take its place.
fn level(
    subject: &Subject,
    base: &Level,
    array: Array,
    scale: Option<(f64, f64)>,
    transform: Option<crate::meaning::geo::Transform>,
) -> Result<Option<Level>, MapError> {
    let (axes, shape) = (base.axes, array.shape());
    let of_base = subject.array.shape();
    if shape.len() != of_base.len() {
        return Ok(None);
    }
    let mut others = (0..shape.len()).filter(|&axis| axis != axes.x && axis != axes.y);
    if others.any(|axis| shape[axis] != of_base[axis])
        || shape[axes.x] == 0
        || shape[axes.y] == 0
        || array.data_type().scalar() != subject.array.data_type().scalar()
    {
        return Ok(None);
    }
    let size = (shape[axes.x], shape[axes.y]);
    let mut place = transform.and_then(|transform| Place::of_transform(transform, size));
    if place.is_none() {
        // An image of OME has its place from the base: attributes of its levels are copies of the base's.
        let of_level = match &subject.image {
            Some(_) => None,
            None => {
                let axes = crate::meaning::axes_of(&array)?;
                Georeference::of(&array, &axes)?.place
            }
        };
        place = of_level.filter(|(x, y, _)| (*x, *y) == (axes.x, axes.y)).map(|(.., place)| place);
    }
    let place = place.filter(|place| covers_the_same(place, &base.place, size));
    let place = place.or_else(|| derived(&base.place, base.size(), size, scale));
    Ok(place.map(|place| Level { array, axes, place }))
}

/// Whether the edges of a level are where those of the base are, but for elements that are cut.
fn covers_the_same(level: &Place, base: &Place, (columns, rows): (u64, u64)) -> bool {
    let (found, expected) = (level.bounds(), base.bounds());
    let across = (expected[2] - expected[0]) / columns as f64;
    let down = (expected[3] - expected[1]) / rows as f64;
    let is_near =
        |n: usize, step: f64| (found[n] - expected[n]).abs() <= MAX_EDGE_DISTANCE * step.abs();
    is_near(0, across) && is_near(2, across) && is_near(1, down) && is_near(3, down)
}

/// Where a level is whose elements are made of those of the base from the first corner on.
fn derived(
    base: &Place,
    (columns, rows): (u64, u64),
    size: (u64, u64),
    scale: Option<(f64, f64)>,
) -> Option<Place> {
    let (across, down) = scale.unwrap_or_else(|| (factor(columns, size.0), factor(rows, size.1)));
    match base {
        Place::Rotated { transform, .. } => {
            Place::of_transform(transform.scaled(across, down), size)
        }
        Place::Lines { x, y } => {
            let (x, y) = (coarser(x, across, size.0)?, coarser(y, down, size.1)?);
            Some(Place::Lines { x, y })
        }
    }
}

/// How many times longer an axis is than that of a level: a whole factor of which the last element is made of fewer, or the
/// quotient of the lengths.
fn factor(len: u64, of_level: u64) -> f64 {
    let whole = (len as f64 / of_level as f64).round().max(1.0);
    if (len as f64 / whole).ceil() == of_level as f64 {
        whole
    } else {
        len as f64 / of_level as f64
    }
}

fn coarser(line: &Line, factor: f64, len: u64) -> Option<Line> {
    match line {
        Line::Even { first, step, .. } => {
            Some(Line::Even { first: *first, step: step * factor, len })
        }
        Line::Edges(edges) => {
            let whole = (factor.fract() == 0.0 && factor >= 1.0).then_some(factor as usize)?;
            let last = *edges.last()?;
            let edges: Vec<f64> =
                (0..=len).map(|n| edges.get(n as usize * whole).copied().unwrap_or(last)).collect();
            // More elements than the base has edges for would have no width.
            edges.windows(2).all(|pair| pair[0] != pair[1]).then_some(Line::Edges(edges))
        }
    }
}
