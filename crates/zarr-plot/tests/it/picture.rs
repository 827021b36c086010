//! What pictures show of arrays: which elements, in which order, and how few chunks are read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use zarr_core::{Array, CoreType, Dialect, Hierarchy, Json, OpenOptions, Registry};
use zarr_plot::meaning::{Meaning, MissingRule, axes_of};
use zarr_plot::picture::{Along, PictureError, Plane, Reduce, Subject, View, bytes_to_read, slice};

fn hierarchy() -> Hierarchy {
    let registry = Registry::new().with(zarr_codecs::register).with(zarr_stores::register);
    let options = OpenOptions::new(Arc::new(registry)).read_write();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("memory://picture-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    Hierarchy::open_or_create(&name, Dialect::V3, &options).unwrap()
}

fn array(kind: CoreType, shape: &[u64], chunks: &[u64], names: &[&str], attributes: &str) -> Array {
    let Json::Object(attributes) = Json::parse(attributes.as_bytes()).unwrap() else { panic!() };
    let hierarchy = hierarchy();
    let array = hierarchy.create_array("/a").shape(shape).chunks(chunks).data_type(kind);
    array.dimension_names(names.iter().copied()).attributes(attributes).create().unwrap()
}

fn view(array: &Array) -> View {
    let all = array.shape().iter().map(|&len| Along::all(len)).collect();
    View::of(&axes_of(array).unwrap(), all, (None, None), false).unwrap()
}

fn shown(array: &Array, view: &View, at_most: Option<(u64, u64)>, reduce: Option<Reduce>) -> Plane {
    slice(array, &Meaning::of(array, MissingRule::Declared), view, at_most, reduce).unwrap()
}

#[test]
fn the_axes_are_those_that_have_the_names_else_the_last_two() {
    for (names, found) in [
        (&["lat", "time", "lon"][..], (Some(2), Some(0))),
        (&["lon", "lat", "time"], (Some(0), Some(1))),
        (&["a", "b", "c0"], (Some(2), Some(1))),
        (&["time", "lat", "station"], (Some(2), Some(1))),
        (&["x", "station", "time"], (Some(0), Some(2))),
        (&["y", "x", "band"], (Some(1), Some(0))),
    ] {
        let array = array(CoreType::Uint8, &[2, 3, 4], &[2, 3, 4], names, "{}");
        let view = view(&array);
        assert_eq!((view.x, view.y), found, "{names:?}");
    }
}

#[test]
fn one_axis_is_a_line_and_a_fixed_one_is_not_shown() {
    let line = array(CoreType::Uint8, &[5], &[5], &["t"], "{}");
    assert_eq!((view(&line).x, view(&line).y), (Some(0), None));
    let cube = array(CoreType::Uint8, &[2, 3, 4], &[2, 3, 4], &["time", "lat", "lon"], "{}");
    let axes = axes_of(&cube).unwrap();
    let fixed = vec![Along::all(2), Along::one(1), Along::all(4)];
    let at = View::of(&axes, fixed.clone(), (None, None), false).unwrap();
    assert_eq!((at.x, at.y, at.unchosen().count()), (Some(2), Some(0), 0));
    let at =
        View::of(&axes, vec![Along::one(1), Along::one(1), Along::all(4)], (None, None), false)
            .unwrap();
    assert!(at.is_line());
    assert!(View::of(&axes, fixed.clone(), (Some(1), Some(1)), false).is_err());
    assert!(View::of(&axes, fixed, (Some(3), None), false).is_err());
    let scalar = array(CoreType::Float64, &[], &[], &[], "{}");
    scalar.write((), &[2.5]).unwrap();
    assert_eq!(shown(&scalar, &view(&scalar), None, None).values, [2.5]);
}

#[test]
fn rows_and_columns_are_where_the_view_says() {
    let cube = array(CoreType::Int32, &[2, 3, 4], &[1, 2, 3], &["a", "b", "c0"], "{}");
    cube.write(.., &(0..24).collect::<Vec<i32>>()).unwrap();
    let axes = axes_of(&cube).unwrap();
    let all = || vec![Along::one(1), Along::all(3), Along { start: 3, step: -2, len: 2 }];
    let plane = shown(&cube, &View::of(&axes, all(), (None, None), false).unwrap(), None, None);
    assert_eq!((plane.width, plane.height), (2, 3));
    assert_eq!(plane.values, [15.0, 13.0, 19.0, 17.0, 23.0, 21.0]);
    let across = View::of(&axes, all(), (Some(1), Some(2)), false).unwrap();
    let plane = shown(&cube, &across, None, None);
    assert_eq!((plane.width, plane.height), (3, 2));
    assert_eq!(plane.values, [15.0, 19.0, 23.0, 13.0, 17.0, 21.0]);
}

#[test]
fn values_are_decoded_and_missing_ones_are_nan() {
    let packed = array(
        CoreType::Int16,
        &[2, 2],
        &[2, 2],
        &["y", "x"],
        r#"{"_FillValue": -1, "scale_factor": 0.5, "add_offset": 1}"#,
    );
    packed.write(.., &[0i16, 2, -1, 4]).unwrap();
    let values = shown(&packed, &view(&packed), None, None).values;
    assert_eq!((&values[..2], values[2].is_nan(), values[3]), (&[1.0, 2.0][..], true, 3.0));
    let raw = slice(&packed, &Meaning::raw(&packed), &view(&packed), None, None).unwrap();
    assert_eq!((raw.values, raw.is_single), (vec![0.0, 2.0, -1.0, 4.0], true));
}

#[test]
fn blocks_become_means_or_their_middle() {
    let array = array(CoreType::Float32, &[4, 5], &[2, 2], &["y", "x"], "{}");
    let mut values: Vec<f32> = (0..20).map(|n| n as f32).collect();
    values[0] = f32::NAN;
    array.write(.., &values).unwrap();
    let view = view(&array);
    let mean = shown(&array, &view, Some((3, 2)), None);
    assert_eq!((mean.width, mean.height, mean.block), (3, 2, (2, 2)));
    assert_eq!(mean.values, [4.0, 5.0, 6.5, 13.0, 15.0, 16.5]);
    let nearest = shown(&array, &view, Some((3, 2)), Some(Reduce::Nearest));
    assert_eq!(nearest.values, [5.0, 7.0, 9.0, 15.0, 17.0, 19.0]);
    // Each pixel in a chunk for itself: the chunks between are not read.
    assert_eq!(bytes_to_read(&array, &view, Some((1, 1)), None), Some(16));
    assert_eq!(bytes_to_read(&array, &view, Some((1, 1)), Some(Reduce::Mean)), Some(96));
}

#[test]
fn empty_and_endless_arrays_are_no_trouble() {
    let empty = array(CoreType::Uint8, &[0, 4], &[1, 4], &["y", "x"], "{}");
    let plane = shown(&empty, &view(&empty), None, None);
    assert_eq!((plane.width, plane.height, plane.values.len()), (4, 0, 0));
    let endless = array(CoreType::Float64, &[1 << 40, 1 << 40], &[4096, 4096], &["y", "x"], "{}");
    let plane = shown(&endless, &view(&endless), Some((8, 8)), None);
    assert_eq!((plane.width, plane.height), (8, 8));
    let all = slice(&endless, &Meaning::raw(&endless), &view(&endless), None, None);
    assert!(matches!(all, Err(PictureError::Refused(why)) if why.contains("too large")));
    let long = array(CoreType::Float64, &[1, u64::MAX], &[1, 4096], &["y", "x"], "{}");
    assert_eq!(shown(&long, &view(&long), Some((100, 100)), None).values.len(), 100);
}

#[test]
fn what_is_no_number_is_refused() {
    let complex = array(CoreType::Complex64, &[2, 2], &[2, 2], &["y", "x"], "{}");
    let why = slice(&complex, &Meaning::raw(&complex), &view(&complex), None, None)
        .unwrap_err()
        .to_string();
    assert!(why.contains("elements of complex64 are not real numbers"), "{why}");
}

/// Rows are turned where greater coordinates are higher up, by CF's `positive` or by units of pressure.
#[test]
fn what_is_above_is_drawn_above() {
    let hierarchy = hierarchy();
    let axis = |name: &str, values: &[f64], attributes: &str| {
        let Json::Object(attributes) = Json::parse(attributes.as_bytes()).unwrap() else {
            panic!()
        };
        let len = values.len() as u64;
        let array = hierarchy.create_array(format!("/{name}")).shape(&[len]).chunks(&[len]);
        let array = array.data_type(CoreType::Float64).dimension_names([name]);
        array.attributes(attributes).create().unwrap().write(.., values).unwrap();
    };
    axis("lat", &[10.0, 20.0], r#"{"units": "degrees_north"}"#);
    axis("plev", &[1000.0, 500.0], r#"{"units": "hPa"}"#);
    axis("depth", &[0.0, 100.0], r#"{"units": "m", "positive": "down"}"#);
    axis("height", &[0.0, 100.0], r#"{"units": "m", "positive": "up"}"#);
    axis("lev", &[0.0, 100.0], r#"{"axis": "Z"}"#);
    for (name, is_upwards) in
        [("lat", true), ("plev", true), ("depth", false), ("height", true), ("lev", false)]
    {
        let array = hierarchy.create_array(format!("/of_{name}")).shape(&[2, 3]).chunks(&[2, 3]);
        let array = array.data_type(CoreType::Uint8).dimension_names([name, "station"]);
        let subject = Subject::of(array.create().unwrap(), false).unwrap();
        assert_eq!(subject.is_upwards(&view(&subject.array)), is_upwards, "{name}");
    }
}
