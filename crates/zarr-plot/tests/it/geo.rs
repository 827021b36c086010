//! Where on Earth arrays are, by the attributes of CF, GeoZarr, GDAL and EOPF; and tiles of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use zarr_core::{Array, CoreType, Dialect, Hierarchy, Json, Object, OpenOptions, Registry};
use zarr_plot::map::{Layer, MapError, Resampling, Tile, TileMatrixSet, Wanted};
use zarr_plot::meaning::geo::{Georeference, Line, Place, Projection};
use zarr_plot::meaning::{Affine, AxisKind, Meaning, MissingRule, axes_of};
use zarr_plot::picture::Ends;
use zarr_plot::stats::{Along, Request, statistics, statistics_by_area};

fn hierarchy() -> Hierarchy {
    let registry = Registry::new().with(zarr_codecs::register).with(zarr_stores::register);
    let options = OpenOptions::new(Arc::new(registry)).read_write();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("memory://geo-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    Hierarchy::open_or_create(&name, Dialect::V3, &options).unwrap()
}

fn object(text: &str) -> Object {
    match Json::parse(text.as_bytes()).unwrap() {
        Json::Object(object) => object,
        other => panic!("{other}"),
    }
}

fn array(
    hierarchy: &Hierarchy,
    path: &str,
    shape: &[u64],
    names: &[&str],
    attributes: &str,
) -> Array {
    let array =
        hierarchy.create_array(path).shape(shape).chunks(shape).data_type(CoreType::Float32);
    let array = array.dimension_names(names.iter().copied()).attributes(object(attributes));
    array.create().unwrap()
}

/// A coordinate variable from `first` on.
fn coordinate(hierarchy: &Hierarchy, name: &str, values: &[f64], attributes: &str) {
    let len = values.len() as u64;
    let path = format!("/{name}");
    let last = name.rsplit('/').next().unwrap();
    let array =
        hierarchy.create_array(path).shape(&[len]).chunks(&[len]).data_type(CoreType::Float64);
    let array = array.dimension_names([last]).attributes(object(attributes)).create().unwrap();
    array.write(.., values).unwrap();
}

fn steps(first: f64, step: f64, len: usize) -> Vec<f64> {
    (0..len).map(|n| first + step * n as f64).collect()
}

const EAST: &str = r#"{"units": "degrees_east"}"#;
const NORTH: &str = r#"{"units": "degrees_north"}"#;

fn found(array: &Array) -> Georeference {
    Georeference::of(array, &axes_of(array).unwrap()).unwrap()
}

fn code_and_source(array: &Array) -> Option<(String, String)> {
    let crs = found(array).crs?;
    Some((crs.title(), crs.source))
}

#[test]
fn the_reference_system_is_found_in_a_fixed_order() {
    let hierarchy = hierarchy();
    hierarchy
        .create_group("/", object(r#"{"other_metadata": {"horizontal_CRS_code": "EPSG:32633"}}"#))
        .unwrap();
    hierarchy.create_group("/g", object(r#"{"proj:code": "EPSG:32632"}"#)).unwrap();
    hierarchy.create_group("/g/deeper", Object::new()).unwrap();
    let mapping = r#"{"grid_mapping_name": "transverse_mercator", "crs_wkt": "PROJCRS[\"WGS 84 / UTM zone 31N\",ID[\"EPSG\",32631]]"}"#;
    array(&hierarchy, "/g/crs", &[], &[], mapping);
    let all = r#"{"proj:code": "EPSG:3857", "grid_mapping": "crs", "_CRS": {"url": "http://www.opengis.net/def/crs/EPSG/0/26711"}}"#;
    let own = array(&hierarchy, "/g/own", &[2, 2], &["y", "x"], all);
    let expected = |code: &str, source: &str| Some((code.to_owned(), source.to_owned()));
    assert_eq!(code_and_source(&own), expected("EPSG:3857", "`proj:code` of /g/own"));
    let child = array(&hierarchy, "/g/child", &[2, 2], &["y", "x"], r#"{"grid_mapping": "crs"}"#);
    assert_eq!(code_and_source(&child), expected("EPSG:32632", "`proj:code` of /g"));
    // Attributes of `proj:` are those of direct children only; grid mappings have a scope.
    let deeper =
        array(&hierarchy, "/g/deeper/a", &[2, 2], &["y", "x"], r#"{"grid_mapping": "crs: x y"}"#);
    let utm = "EPSG:32631, WGS 84 / UTM zone 31N";
    assert_eq!(code_and_source(&deeper), expected(utm, "`crs_wkt` of /g/crs"));
    let gdal = r#"{"_CRS": {"url": "http://www.opengis.net/def/crs/EPSG/0/26711"}}"#;
    let gdal = array(&hierarchy, "/g/deeper/b", &[2, 2], &["y", "x"], gdal);
    assert_eq!(code_and_source(&gdal), expected("EPSG:26711", "`_CRS` of /g/deeper/b"));
    let eopf = array(&hierarchy, "/g/deeper/c", &[2, 2], &["y", "x"], "{}");
    let source = "`other_metadata.horizontal_CRS_code` of /";
    assert_eq!(code_and_source(&eopf), expected("EPSG:32633", source));
}

#[test]
fn a_mapping_that_nothing_names_is_taken_with_a_note_and_a_missing_one_noted() {
    let hierarchy = hierarchy();
    array(&hierarchy, "/spatial_ref", &[], &[], r#"{"spatial_ref": "EPSG:32632"}"#);
    let beside = array(&hierarchy, "/a", &[2, 2], &["y", "x"], "{}");
    let georeference = found(&beside);
    assert_eq!(georeference.crs.unwrap().code.as_deref(), Some("EPSG:32632"));
    assert!(georeference.notes[0].contains("/spatial_ref"), "{:?}", georeference.notes);
    let other = array(&hierarchy, "/b", &[2, 2], &["y", "x"], r#"{"grid_mapping": "nothing"}"#);
    let georeference = found(&other);
    assert_eq!(georeference.crs, None);
    assert_eq!(georeference.notes, ["the grid mapping `nothing` is missing"]);
}

#[test]
fn degrees_are_told_by_their_units_and_never_by_their_size() {
    let hierarchy = hierarchy();
    coordinate(&hierarchy, "lon", &steps(-179.5, 1.0, 360), EAST);
    coordinate(&hierarchy, "lat", &steps(89.5, -1.0, 180), NORTH);
    let named = array(&hierarchy, "/a", &[180, 360], &["lat", "lon"], "{}");
    let georeference = found(&named);
    assert_eq!(georeference.crs.as_ref().unwrap().code.as_deref(), Some("OGC:CRS84"));
    let (x, y, place) = georeference.place.unwrap();
    assert_eq!(
        (x, y, place.bounds(), place.is_north_up()),
        (1, 0, [-180.0, -90.0, 180.0, 90.0], true)
    );
    assert_eq!(place.transform().unwrap().numbers(), [1.0, 0.0, -180.0, 0.0, -1.0, 90.0]);
    coordinate(&hierarchy, "x", &steps(-179.5, 1.0, 360), "{}");
    coordinate(&hierarchy, "y", &steps(89.5, -1.0, 180), "{}");
    let unnamed = array(&hierarchy, "/b", &[180, 360], &["y", "x"], "{}");
    assert_eq!(found(&unnamed).crs, None);
    // Those of a rotated pole are no longitudes.
    let rotated = r#"{"units": "degrees", "standard_name": "grid_longitude"}"#;
    coordinate(&hierarchy, "rlon", &steps(-10.0, 1.0, 20), rotated);
    coordinate(&hierarchy, "rlat", &steps(-10.0, 1.0, 20), &rotated.replace("long", "lat"));
    let turned = array(&hierarchy, "/c", &[20, 20], &["rlat", "rlon"], "{}");
    assert_eq!(found(&turned).crs, None);
}

#[test]
fn places_are_declared_or_follow_from_coordinates() {
    let hierarchy = hierarchy();
    let mapping = r#"{"spatial_ref": "EPSG:32632", "GeoTransform": "399960 10 0 4700040 0 -10"}"#;
    array(&hierarchy, "/crs", &[], &[], mapping);
    // Kilometres of a projection are metres.
    coordinate(
        &hierarchy,
        "x",
        &steps(0.5, 1.0, 4),
        r#"{"units": "km", "standard_name": "projection_x_coordinate"}"#,
    );
    coordinate(
        &hierarchy,
        "y",
        &steps(3.5, -1.0, 4),
        r#"{"units": "km", "standard_name": "projection_y_coordinate"}"#,
    );
    let by_mapping =
        array(&hierarchy, "/a", &[3, 4, 4], &["band", "y", "x"], r#"{"grid_mapping": "crs"}"#);
    let (x, y, place) = found(&by_mapping).place.unwrap();
    assert_eq!((x, y, place.transform().unwrap().c), (2, 1, 399_960.0));
    let by_coordinates =
        array(&hierarchy, "/b", &[4, 4], &["y", "x"], r#"{"proj:code": "EPSG:32632"}"#);
    let (.., place) = found(&by_coordinates).place.unwrap();
    assert_eq!(place.bounds(), [0.0, 0.0, 4_000.0, 4_000.0]);
    // The names of `spatial:dimensions` are those of y and x, wherever these axes are.
    let spatial = r#"{"proj:code": "EPSG:32632", "spatial:dimensions": ["row", "column"],
        "spatial:transform": [2, 0, 10, 0, -2, 20]}"#;
    let spatial = array(&hierarchy, "/c", &[5, 3, 4], &["column", "time", "row"], spatial);
    let (x, y, place) = found(&spatial).place.unwrap();
    assert_eq!((x, y, place.bounds()), (0, 2, [10.0, 12.0, 20.0, 20.0]));
}

#[test]
fn gaussian_latitudes_have_edges() {
    let hierarchy = hierarchy();
    coordinate(&hierarchy, "lon", &steps(0.0, 90.0, 4), EAST);
    coordinate(&hierarchy, "lat", &[85.0, 40.0, -10.0, -80.0], NORTH);
    let gaussian = array(&hierarchy, "/a", &[4, 4], &["lat", "lon"], "{}");
    let (.., place) = found(&gaussian).place.unwrap();
    let Place::Lines { y: Line::Edges(edges), .. } = &place else { panic!("{place:?}") };
    assert_eq!(edges[1..4], [62.5, 15.0, -45.0]);
    assert_eq!(place.transform(), None);
}

/// `(values * weights).sum() / weights.sum()` in NumPy, and the root of the weighted mean of squares.
#[test]
fn means_by_area_are_those_of_weighted_rows() {
    let hierarchy = hierarchy();
    coordinate(&hierarchy, "lat", &[60.0, 0.0, -60.0], NORTH);
    coordinate(&hierarchy, "lon", &[0.0, 90.0], EAST);
    let array = array(&hierarchy, "/a", &[3, 2], &["lat", "lon"], r#"{"_FillValue": -1}"#);
    array.write(.., &[1.0_f32, 3.0, 10.0, f32::NAN, 5.0, -1.0]).unwrap();
    let request = Request::new(Meaning::of(&array, MissingRule::Declared));
    let by_area = |request: &Request<'_>| {
        statistics_by_area(&array, request, &axes_of(&array).unwrap()).unwrap()
    };
    let found = by_area(&request);
    // Weights 0.5, 0.5, 1, 0.5 of 1, 3, 10, 5.
    let mean = (0.5 + 1.5 + 10.0 + 2.5) / 2.5;
    assert!((found.mean - mean).abs() < 1e-12, "{found:?}");
    let squares: f64 = [(0.5, 1.0), (0.5, 3.0), (1.0, 10.0), (0.5, 5.0)]
        .map(|(weight, value): (f64, f64)| weight * (value - mean).powi(2))
        .iter()
        .sum();
    assert!((found.std - (squares / 2.5).sqrt()).abs() < 1e-12, "{found:?}");
    assert_eq!((found.axis, found.bounds.clone()), (0, None));
    // A selection has the weights of its rows, the count and the others stay.
    let axes = vec![Along::List(vec![2, 1]), Along::range(0..2)];
    let selected = by_area(&Request { axes: Some(axes), ..request.clone() });
    assert!((selected.mean - (2.5 + 10.0) / 1.5).abs() < 1e-12, "{selected:?}");
    assert_eq!(statistics(&array, &request).unwrap().elements, 6);
    // Bounds: zones from 30 to 90 degrees have half a sphere's quarter.
    let latitude = hierarchy.array("/lat").unwrap();
    latitude.update_attributes(|attributes| drop(attributes.insert("bounds", "lat_bnds"))).unwrap();
    let bounds = hierarchy.create_array("/lat_bnds").shape(&[3, 2]).chunks(&[3, 2]);
    let bounds = bounds.data_type(CoreType::Float64).create().unwrap();
    bounds.write((.., ..), &[90.0, 30.0, 30.0, -30.0, -30.0, -90.0]).unwrap();
    let found = by_area(&request);
    assert!((found.mean - mean).abs() < 1e-12, "0.5, 1, 0.5, too: {found:?}");
    assert_eq!(found.bounds.unwrap().as_str(), "/lat_bnds");
}

#[test]
fn rows_of_unknown_area_are_not_left_out_of_means() {
    let hierarchy = hierarchy();
    coordinate(&hierarchy, "lat", &[60.0, f64::NAN, 1e20, 90.0], NORTH);
    let array = array(&hierarchy, "/a", &[4], &["lat"], r#"{"_FillValue": -1}"#);
    array.write(.., &[1.0_f32, 3.0, -1.0, 2.0]).unwrap();
    let axes = axes_of(&array).unwrap();
    let request = Request::new(Meaning::of(&array, MissingRule::Declared));
    let error = statistics_by_area(&array, &request, &axes).unwrap_err().to_string();
    assert!(error.contains("latitude at position 1"), "{error}");
    // A row without elements needs no area.
    let others = vec![Along::List(vec![0, 2, 3])];
    let found = statistics_by_area(&array, &Request { axes: Some(others), ..request }, &axes);
    assert!((found.unwrap().mean - 1.0).abs() < 1e-6);
}

fn same(array: &Array) -> Array {
    array.clone()
}

/// A map of the world in steps of `step` degrees, each element `1000 · row + column`.
fn world(hierarchy: &Hierarchy, path: &str, first_longitude: f64, step: f64) -> Array {
    let group = path.rsplit_once('/').unwrap().0.trim_start_matches('/').to_owned();
    let at =
        |name: &str| if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") };
    let (columns, rows) = ((360.0 / step) as usize, (180.0 / step) as usize);
    coordinate(hierarchy, &at("lon"), &steps(first_longitude, step, columns), EAST);
    coordinate(hierarchy, &at("lat"), &steps(90.0 - step / 2.0, -step, rows), NORTH);
    let array = array(hierarchy, path, &[rows as u64, columns as u64], &["lat", "lon"], "{}");
    let values: Vec<f32> = (0..rows)
        .flat_map(|row| (0..columns).map(move |column| (1_000 * row + column) as f32))
        .collect();
    array.write((.., ..), &values).unwrap();
    array
}

#[test]
fn aligned_tiles_have_the_elements_themselves() {
    let hierarchy = hierarchy();
    // As many elements as the first matrix of WorldCRS84Quad has pixels, in tiles of 64.
    let array = world(&hierarchy, "/a", -180.0 + 360.0 / 256.0, 360.0 / 128.0);
    let layer = Layer::open(array).unwrap();
    for column in 0..2 {
        let tile = Tile::new(TileMatrixSet::WorldCrs84Quad, 0, column, 0).unwrap();
        for resampling in [Resampling::Nearest, Resampling::Bilinear, Resampling::Mean] {
            let wanted =
                Wanted { width: 64, height: 64, resampling, ..Wanted::new(tile, vec![0, 0]) };
            let plane = layer.tile(&wanted, &same).unwrap().unwrap();
            for row in 0..64 {
                for at in 0..64 {
                    let expected = (1_000 * row + at + 64 * column as usize) as f64;
                    let found = plane.values[row * 64 + at];
                    assert!((found - expected).abs() < 1e-6, "{resampling:?} {row} {at}: {found}");
                }
            }
        }
    }
}

/// The same world from 0 to 360, from 90 to 450, and backwards has the same tiles.
#[test]
fn longitudes_may_begin_anywhere() {
    let hierarchy = hierarchy();
    let step = 10.0;
    let mut tiles: Vec<Vec<f64>> = Vec::new();
    for (n, first) in [-175.0, 5.0, 95.0].into_iter().enumerate() {
        let array = world(&hierarchy, &format!("/g{n}/a"), first, step);
        // The element says its longitude.
        let longitudes = steps(first, step, 36);
        let turned = |longitude: f64| ((longitude + 180.0).rem_euclid(360.0) - 180.0) as f32;
        let values: Vec<f32> =
            (0..18).flat_map(|_| longitudes.iter().map(|&it| turned(it))).collect();
        array.write((.., ..), &values).unwrap();
        let layer = Layer::open(array).unwrap();
        for resampling in [Resampling::Nearest, Resampling::Mean] {
            let tile = Tile::new(TileMatrixSet::WebMercatorQuad, 0, 0, 0).unwrap();
            let wanted =
                Wanted { width: 72, height: 4, resampling, ..Wanted::new(tile, vec![0, 0]) };
            tiles.push(layer.tile(&wanted, &same).unwrap().unwrap().values);
        }
        assert_eq!(layer.bounds(), [-180.0, -90.0, 180.0, 90.0]);
    }
    let expected: Vec<f64> = (0..72).map(|n| (f64::from(n) * 5.0 - 177.5) / 10.0).collect();
    let expected: Vec<f64> = expected.into_iter().map(|it| it.floor() * 10.0 + 5.0).collect();
    for tile in &tiles {
        assert_eq!(tile[..72], expected, "{tile:?}");
    }
}

/// The values of the row of the equator, two pixels for each of 36 columns.
fn equator(array: &Array) -> Vec<f64> {
    let layer = Layer::open(array.clone()).unwrap();
    let tile = Tile::new(TileMatrixSet::WebMercatorQuad, 0, 0, 0).unwrap();
    let wanted = Wanted { width: 72, height: 4, ..Wanted::new(tile, vec![0, 0]) };
    layer.tile(&wanted, &same).unwrap().unwrap().values[72..144].to_vec()
}

/// `spatial:transform` has the corner of the first element, or of `node` its middle: half a step further in. Axes without arrays of
/// coordinates have those of the middles, for plots, the page and `--sel`.
#[test]
fn nodes_are_in_the_middle_of_elements() {
    let hierarchy = hierarchy();
    let values: Vec<f32> = (0..18 * 36).map(|n| (n % 36) as f32).collect();
    let map = |name: &str, attributes: &str| {
        let found = array(&hierarchy, name, &[18, 36], &["row", "column"], attributes);
        found.write((.., ..), &values).unwrap();
        found
    };
    let attributes = |registration: &str, transform: &str| {
        format!(
            r#"{{"proj:code": "EPSG:4326", "spatial:dimensions": ["row", "column"], "spatial:registration": "{registration}", "spatial:transform": {transform}}}"#
        )
    };
    let pixel = map("/pixel", &attributes("pixel", "[10, 0, -180, 0, -10, 90]"));
    let node = map("/node", &attributes("node", "[10, 0, -175, 0, -10, 85]"));
    for array in [&pixel, &node] {
        let axes = axes_of(array).unwrap();
        let [down, across] = &axes[..] else { panic!("{axes:?}") };
        assert_eq!((across.kind, down.kind), (AxisKind::X, AxisKind::Y));
        assert_eq!(across.affine(), Some(Affine { scale: 10.0, offset: -175.0 }));
        assert_eq!(down.affine(), Some(Affine { scale: -10.0, offset: 85.0 }));
        assert_eq!(across.units.as_deref(), Some("degrees_east"));
        assert!(!down.is_upwards(0, 17));
        let expected: Vec<f64> = (0..72).map(|n| f64::from(n / 2)).collect();
        assert_eq!(equator(array), expected);
    }
    // The same numbers as of corners are half a step to the right, and down.
    let shifted = map("/shifted", &attributes("node", "[10, 0, -180, 0, -10, 90]"));
    let expected: Vec<f64> = (0..72).map(|n| f64::from((n + 1) / 2 % 36)).collect();
    assert_eq!(equator(&shifted), expected);
    // From south to north.
    let rising = map("/rising", &attributes("pixel", "[10, 0, -180, 0, 10, -90]"));
    assert!(axes_of(&rising).unwrap()[0].is_upwards(0, 17));
    // The group may say it, of all its arrays; another length is none of these.
    let of_group = attributes("node", "[10, 0, -175, 0, -10, 85]");
    hierarchy.create_group("/g", object(&of_group)).unwrap();
    let inside = array(&hierarchy, "/g/a", &[2, 18, 36], &["time", "row", "column"], "{}");
    assert_eq!(axes_of(&inside).unwrap()[2].affine(), Some(Affine { scale: 10.0, offset: -175.0 }));
    assert!(!axes_of(&inside).unwrap()[0].has_coordinates());
}

/// Velocities of a staggered grid are on the edges of the cells of the others: their coordinates say so.
#[test]
fn staggered_grids_are_half_a_step_apart() {
    let hierarchy = hierarchy();
    let cells = world(&hierarchy, "/cells/a", -175.0, 10.0);
    let edges = world(&hierarchy, "/edges/a", -170.0, 10.0);
    let of_cells: Vec<f64> = equator(&cells).iter().map(|value| value % 1_000.0).collect();
    let of_edges: Vec<f64> = equator(&edges).iter().map(|value| value % 1_000.0).collect();
    assert_eq!(of_cells[..4], [0.0, 0.0, 1.0, 1.0]);
    assert_eq!(of_edges[..4], [35.0, 0.0, 0.0, 1.0]);
}

#[test]
fn the_coarsest_level_that_is_fine_enough_is_read() {
    let hierarchy = hierarchy();
    let layout = r#"{"zarr_conventions": [{"uuid": "d35379db-88df-4056-af3a-620245f8e347"}],
        "multiscales": {"layout": [{"asset": "0"}, {"asset": "1", "derived_from": "0", "transform": {"scale": [2.0, 2.0]}},
        {"asset": "2", "derived_from": "1", "transform": {"scale": [2.0, 2.0]}}]}}"#;
    hierarchy.create_group("/", object(layout)).unwrap();
    let mut first = None;
    for level in 0..3 {
        let step = f64::from(1 << level);
        let array = world(&hierarchy, &format!("/{level}/a"), -180.0 + step / 2.0, step);
        let shape = array.shape();
        array.write((.., ..), &vec![level as f32; (shape[0] * shape[1]) as usize]).unwrap();
        first.get_or_insert(array);
    }
    let layer = Layer::open(first.unwrap()).unwrap();
    assert_eq!(layer.level_count(), 3);
    let level = |width: u32, zoom: u64| {
        let tile = Tile::new(TileMatrixSet::WorldCrs84Quad, zoom, 0, 0).unwrap();
        let wanted = Wanted { width, height: width, ..Wanted::new(tile, vec![0, 0]) };
        layer.tile(&wanted, &same).unwrap().unwrap().values[0]
    };
    // A tile has 180 degrees: 45 pixels of 4 degrees.
    assert_eq!(
        [level(30, 0), level(45, 0), level(46, 0), level(90, 0), level(91, 0), level(256, 0)],
        [2.0, 2.0, 1.0, 1.0, 0.0, 0.0]
    );
    assert_eq!(level(45, 1), 1.0);
    assert_eq!(layer.range(&[0, 0], Ends::Full, &same).unwrap().unwrap().high, 2.0);
    assert_eq!(layer.zooms(TileMatrixSet::WebMercatorQuad), (0, 1));
}

#[test]
fn utm_is_where_it_is() {
    let hierarchy = hierarchy();
    // 64 km around Munich's Frauenkirche, which is at (691 607, 5 334 760) in zone 32.
    let attributes =
        r#"{"proj:code": "EPSG:32632", "spatial:transform": [1000, 0, 659607, 0, -1000, 5366760]}"#;
    let array = array(&hierarchy, "/a", &[64, 64], &["y", "x"], attributes);
    let values: Vec<f32> = (0..64 * 64).map(|n| n as f32).collect();
    array.write((.., ..), &values).unwrap();
    let layer = Layer::open(array).unwrap();
    let [west, south, east, north] = layer.bounds();
    assert!(
        west < 11.575 && east > 11.575 && south < 48.138 && north > 48.138,
        "{:?}",
        layer.bounds()
    );
    // The tile of zoom 12 that 11.575° E, 48.138° N is in: x = 2179, y = 1421.
    let tile = Tile::new(TileMatrixSet::WebMercatorQuad, 12, 2179, 1421).unwrap();
    for resampling in [Resampling::Nearest, Resampling::Bilinear, Resampling::Mean] {
        let wanted = Wanted { resampling, ..Wanted::new(tile, vec![0, 0]) };
        let plane = layer.tile(&wanted, &same).unwrap().unwrap();
        // The pixel of that point.
        let longitude = (11.575_f64 + 180.0) / 360.0 * 4096.0 - 2179.0;
        let latitude = 48.138_f64.to_radians();
        let y = (1.0 - latitude.tan().asinh() / std::f64::consts::PI) / 2.0 * 4096.0 - 1421.0;
        assert!((0.0..1.0).contains(&longitude) && (0.0..1.0).contains(&y), "{longitude} {y}");
        let (column, row) = ((longitude * 256.0) as usize, (y * 256.0) as usize);
        let value = plane.values[row * 256 + column];
        // The corner between rows 31 and 32 and columns 31 and 32, whose elements are from 2,015 to 2,080.
        assert!((value - 2_047.5).abs() < 40.0, "{resampling:?}: {value}");
    }
    let away = Tile::new(TileMatrixSet::WebMercatorQuad, 12, 0, 0).unwrap();
    assert!(layer.tile(&Wanted::new(away, vec![0, 0]), &same).unwrap().is_none());
}

#[test]
fn what_is_no_map_is_refused_by_name() {
    let hierarchy = hierarchy();
    array(&hierarchy, "/lat", &[4, 4], &["j", "i"], NORTH);
    array(
        &hierarchy,
        "/stereographic",
        &[],
        &[],
        r#"{"grid_mapping_name": "polar_stereographic"}"#,
    );
    array(&hierarchy, "/healpix", &[], &[], r#"{"grid_mapping_name": "healpix"}"#);
    for (name, attributes, word) in [
        ("/a", "{}", "coordinate reference system"),
        ("/b", r#"{"coordinates": "lat lon"}"#, "curvilinear"),
        ("/c", r#"{"mesh": "mesh2d", "location": "face"}"#, "UGRID"),
        ("/d", r#"{"grid_mapping": "stereographic"}"#, "polar_stereographic"),
        ("/e", r#"{"grid_mapping": "healpix"}"#, "healpix"),
        ("/f", r#"{"proj:code": "EPSG:4326"}"#, "spatial:transform"),
    ] {
        let array = array(&hierarchy, name, &[4, 4], &["j", "i"], attributes);
        match Layer::open(array) {
            Err(MapError::Refused(why)) => assert!(why.contains(word), "{name}: {why}"),
            other => panic!("{name}: {other:?}"),
        }
    }
    let text = array(&hierarchy, "/g", &[4, 4], &["y", "x"], r#"{"proj:code": "EPSG:3413"}"#);
    assert_eq!(found(&text).crs.unwrap().projection, Projection::Other("EPSG:3413".into()));
}

#[test]
fn tiles_of_very_many_chunks_are_refused_with_the_remedy() {
    let hierarchy = hierarchy();
    let attributes =
        r#"{"proj:code": "EPSG:4326", "spatial:transform": [0.001, 0, -180, 0, -0.001, 90]}"#;
    let array = hierarchy.create_array("/a").shape(&[180_000, 360_000]).chunks(&[1_000, 1_000]);
    let array = array.data_type(CoreType::Float32).dimension_names(["y", "x"]);
    let array = array.attributes(object(attributes)).create().unwrap();
    let layer = Layer::open(array).unwrap();
    let of_zoom = |zoom: u64, resampling: Resampling| {
        let tile = Tile::new(TileMatrixSet::WebMercatorQuad, zoom, 0, 0).unwrap();
        layer.tile(&Wanted { resampling, ..Wanted::new(tile, vec![0, 0]) }, &same)
    };
    for (zoom, resampling) in
        [(0, Resampling::Nearest), (2, Resampling::Mean), (3, Resampling::Bilinear)]
    {
        match of_zoom(zoom, resampling) {
            Err(MapError::TooLarge(why)) => {
                assert!(why.contains("`zarr pyramid SOURCE/ --convention geo`"), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(of_zoom(9, Resampling::Nearest).unwrap().is_some());
    // The sample of the range is bounded, too.
    assert!(layer.range(&[0, 0], Ends::default(), &same).is_ok());
}

/// GDAL's tiles, which gdal_tiles/make.py makes: of the middles of pixels that are next to the edge of an element, rounding may choose
/// the other one.
#[test]
fn tiles_are_those_of_gdal() {
    let hierarchy = hierarchy();
    let world = r#"{"proj:code": "OGC:CRS84", "spatial:transform": [5, 0, -180, 0, -5, 90]}"#;
    let world = array(&hierarchy, "/world", &[36, 72], &["y", "x"], world);
    let utm =
        r#"{"proj:code": "EPSG:32632", "spatial:transform": [1000, 0, 600000, 0, -1000, 5400000]}"#;
    let steps = array(&hierarchy, "/steps", &[100, 100], &["y", "x"], utm);
    let slope = array(&hierarchy, "/slope", &[100, 100], &["y", "x"], utm);
    for (array, element) in [
        (&world, (|row, column| (7 * row + 3 * column) % 251) as fn(u32, u32) -> u32),
        (&steps, |row, column| (7 * row + 3 * column) % 251),
        (&slope, |row, column| row + column),
    ] {
        let (rows, columns) = (array.shape()[0] as u32, array.shape()[1] as u32);
        let row = |row| (0..columns).map(move |column| element(row, column) as f32);
        let values: Vec<f32> = (0..rows).flat_map(row).collect();
        array.write((.., ..), &values).unwrap();
    }
    let tile = |array: &Array, (zoom, column, row): (u64, u64, u64), resampling: Resampling| {
        let tile = Tile::new(TileMatrixSet::WebMercatorQuad, zoom, column, row).unwrap();
        let wanted = Wanted { width: 64, height: 64, resampling, ..Wanted::new(tile, vec![0, 0]) };
        Layer::open(array.clone()).unwrap().tile(&wanted, &same).unwrap().unwrap().values
    };
    for (array, place, expected) in [
        (&world, (1, 1, 0), &include_bytes!("gdal_tiles/world-1-1-0.u1")[..]),
        (&steps, (8, 135, 88), include_bytes!("gdal_tiles/utm-8-135-88.u1")),
    ] {
        let found = tile(array, place, Resampling::Nearest);
        let found: Vec<u8> =
            found.iter().map(|it| if it.is_nan() { 255 } else { *it as u8 }).collect();
        let differ = found.iter().zip(expected).filter(|(a, b)| a != b).count();
        assert!(differ <= 4096 / 200, "{place:?}: {differ} of 4096 pixels differ");
    }
    let expected = include_bytes!("gdal_tiles/utm-10-543-355.f4").as_chunks::<4>().0;
    let found = tile(&slope, (10, 543, 355), Resampling::Bilinear);
    for (n, (found, expected)) in found.iter().zip(expected).enumerate() {
        let expected = f64::from(f32::from_le_bytes(*expected));
        assert!((found - expected).abs() < 0.3, "pixel {n}: {found}, GDAL has {expected}");
    }
}
