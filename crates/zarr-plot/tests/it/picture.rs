//! What pictures show of arrays: which elements, in which order, and how few chunks are read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use zarr_core::{Array, CoreType, Dialect, Hierarchy, Json, OpenOptions, Registry};
use zarr_plot::meaning::{Meaning, MissingRule, axes_of};
use zarr_plot::picture::{
    Along, ChannelChoice, Ends, Legend, Overlay, PictureError, Plane, Reduce, Style, Subject, View,
    bytes_to_read, slice,
};

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
        (&["time", "plev", "lat"], (Some(2), Some(1))),
        (&["lon", "depth", "time"], (Some(0), Some(2))),
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

/// An image of OME-Zarr at the root, and its array.
fn image(names: &[&str], shape: &[u64], metadata: &str) -> Array {
    let axis = |name: &&str| match *name {
        "t" => r#"{"name": "t", "type": "time"}"#.to_owned(),
        "c" => r#"{"name": "c", "type": "channel"}"#.to_owned(),
        name => format!(r#"{{"name": "{name}", "type": "space", "unit": "micrometer"}}"#),
    };
    let axes: Vec<String> = names.iter().map(axis).collect();
    // Elements are four times as long along z.
    let scale: Vec<&str> =
        names.iter().map(|name| if *name == "z" { "2" } else { "0.5" }).collect();
    let text = format!(
        r#"{{"ome": {{"version": "0.5", {metadata} "multiscales": [{{"axes": [{}], "datasets": [{{"path": "0",
            "coordinateTransformations": [{{"type": "scale", "scale": [{}]}}]}}]}}]}}}}"#,
        axes.join(","),
        scale.join(",")
    );
    let Json::Object(attributes) = Json::parse(text.as_bytes()).unwrap() else { panic!() };
    let hierarchy = hierarchy();
    hierarchy.create_group("/", attributes).unwrap();
    let array = hierarchy.create_array("/0").shape(shape).chunks(shape);
    array.data_type(CoreType::Uint16).dimension_names(names.iter().copied()).create().unwrap()
}

fn first(subject: &Subject) -> View {
    subject.first().unwrap()
}

#[test]
fn an_image_opens_where_it_says_else_in_the_middle_of_z() {
    let axes = ["t", "c", "z", "y", "x"];
    let rdefs = r#""omero": {"rdefs": {"defaultT": 2, "defaultZ": 4}},"#;
    let at = |metadata: &str| {
        let subject = Subject::of(image(&axes, &[3, 2, 5, 2, 2], metadata), false).unwrap();
        let view = first(&subject);
        (view.along[0].start, view.along[2].start, view.along[1].len)
    };
    assert_eq!(at(rdefs), (2, 4, 2));
    assert_eq!(at(""), (0, 2, 2));
    // What lies beyond the axis is its end.
    assert_eq!(at(r#""omero": {"rdefs": {"defaultT": 9, "defaultZ": 99}},"#), (2, 4, 2));
    let array = array(CoreType::Uint8, &[5, 2, 2], &[5, 2, 2], &["depth", "y", "x"], "{}");
    assert_eq!(first(&Subject::of(array, false).unwrap()).along[0], Along::all(5));
}

#[test]
fn channels_have_windows_that_can_be_chosen() {
    let omero = r#""omero": {"channels": [{"label": "a", "color": "FF0000", "window": {"start": 0, "end": 100}},
        {"label": "b", "color": "00FF00"}]},"#;
    let array = image(&["c", "y", "x"], &[2, 1, 2], omero);
    array.write(.., &[50u16, 200, 0, 10]).unwrap();
    let subject = Subject::of(array, false).unwrap();
    let view = first(&subject);
    let shown = |style: &Style| subject.show(&view, style, None).unwrap().raster.rgba;
    // The window of the second is computed.
    assert_eq!(shown(&Style::default()), [128, 0, 0, 255, 255, 255, 0, 255]);
    let choices =
        vec![ChannelChoice::window("a=0:200").unwrap(), ChannelChoice::window("1=0:20").unwrap()];
    let chosen = Style { choices, ..Style::default() };
    assert_eq!(shown(&chosen), [64, 0, 0, 255, 255, 128, 0, 255]);
    let channels = Some(vec!["b".parse().unwrap()]);
    assert_eq!(shown(&Style { channels, ..chosen }), [0, 0, 0, 255, 0, 128, 0, 255]);
    let unknown =
        Style { choices: vec![ChannelChoice::window("x=0:1").unwrap()], ..Style::default() };
    let why = subject.show(&view, &unknown, None).unwrap_err().to_string();
    assert_eq!(why, "no channel `x`; expected 0 to 1, with the labels `a`, `b`");
    // Alone, by a colour map, it keeps what the image declares.
    let style = Style { map: Some("gray".parse().unwrap()), ..Style::default() };
    let alone = subject.show(&view.at(0, 0), &style, None).unwrap();
    let Legend::Values(stretch, _) = alone.legend else { panic!() };
    assert_eq!((stretch.low, stretch.high), (0.0, 100.0));
    let ends = Some(Ends::Full);
    let full = subject.show(&view.at(0, 0), &Style { ends, ..style }, None).unwrap();
    let Legend::Values(stretch, _) = full.legend else { panic!() };
    assert_eq!((stretch.low, stretch.high), (50.0, 200.0));
}

#[test]
fn labels_are_shown_over_an_image() {
    let image = image(
        &["c", "y", "x"],
        &[1, 1, 3],
        r#""omero": {"channels": [{"window": {"start": 0, "end": 255}}]},"#,
    );
    image.write(.., &[100u16, 100, 100]).unwrap();
    let Json::Object(list) = Json::parse(br#"{"ome": {"labels": ["cells", "gone"]}}"#).unwrap()
    else {
        panic!()
    };
    let text = br#"{"ome": {"image-label": {"colors": [{"label-value": 7, "rgba": [200, 200, 200, 255]}]}, "multiscales": [{
        "axes": [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}], "datasets": [{"path": "0"}]}]}}"#;
    let Json::Object(attributes) = Json::parse(text).unwrap() else { panic!() };
    let hierarchy = image.hierarchy();
    hierarchy.create_group("/labels", list).unwrap();
    hierarchy.create_group("/labels/cells", attributes).unwrap();
    let labels = hierarchy.create_array("/labels/cells/0").shape(&[1, 3]).chunks(&[1, 3]);
    labels.data_type(CoreType::Int32).create().unwrap().write(.., &[0i32, 7, 0]).unwrap();
    let subject = Subject::of(image.clone(), false).unwrap();
    let labels = Box::new(subject.labels("cells").unwrap());
    assert!(labels.is_labels());
    let style = Style { overlay: Some(Overlay { labels, opacity: 0.5 }), ..Style::default() };
    let raster = subject.show(&first(&subject), &style, None).unwrap().raster;
    assert_eq!(raster.rgba, [100, 100, 100, 255, 150, 150, 150, 255, 100, 100, 100, 255]);
    let why = subject.labels("gone").unwrap_err().to_string();
    assert_eq!(why, "there are no labels `gone`; there are cells");
}

#[test]
fn equal_units_have_equal_scale() {
    let subject = Subject::of(image(&["z", "y", "x"], &[4, 8, 8], ""), false).unwrap();
    let section = View::of(&subject.axes, subject.all(), (Some(2), Some(0)), true).unwrap();
    assert_eq!(subject.aspect(&section), Some(4.0));
    assert_eq!(subject.aspect(&first(&subject)), Some(1.0));
    let mixed = array(CoreType::Uint8, &[4, 8], &[4, 8], &["time", "x"], "{}");
    let mixed = Subject::of(mixed, false).unwrap();
    assert_eq!(mixed.aspect(&first(&mixed)), None);
}

/// An array of two axes whose first one has these coordinates and attributes.
fn profile(name: &str, coordinates: &[f64], attributes: &str) -> Subject {
    let hierarchy = hierarchy();
    let Json::Object(attributes) = Json::parse(attributes.as_bytes()).unwrap() else { panic!() };
    let len = coordinates.len() as u64;
    let axis = hierarchy.create_array(&format!("/{name}")).shape(&[len]).chunks(&[len]);
    let axis = axis.data_type(CoreType::Float64).dimension_names([name]).attributes(attributes);
    axis.create().unwrap().write(.., coordinates).unwrap();
    let array = hierarchy.create_array("/a").shape(&[len, 3]).chunks(&[len, 3]);
    let array = array.data_type(CoreType::Uint8).dimension_names([name, "x"]).create().unwrap();
    Subject::of(array, false).unwrap()
}

#[test]
fn what_is_up_is_above() {
    let falling = [1000.0, 500.0, 100.0];
    let rising = [10.0, 100.0, 500.0];
    for (name, coordinates, attributes, is_upwards) in [
        ("plev", falling, r#"{"positive": "down"}"#, true),
        ("plev", rising, r#"{"positive": "down"}"#, false),
        ("isobaric", falling, r#"{"units": "hPa"}"#, true),
        ("isobaric", rising, r#"{"units": "millibars"}"#, false),
        ("height", rising, r#"{"positive": "up"}"#, true),
        ("sigma", rising, r#"{"positive": "UP"}"#, true),
        ("depth", rising, r#"{"standard_name": "depth"}"#, false),
        ("depth", falling, r#"{"standard_name": "depth"}"#, true),
        // Nothing says what is up.
        ("lev", rising, "{}", false),
        ("lev", falling, "{}", false),
        ("lat", rising, "{}", true),
        ("lat", falling, "{}", false),
    ] {
        let subject = profile(name, &coordinates, attributes);
        assert_eq!(subject.is_upwards(&first(&subject)), is_upwards, "{name} {attributes}");
    }
}

#[test]
fn integers_with_names_are_shown_in_a_colour_each() {
    let flags = r##"{"flag_values": [0, 5], "flag_meanings": "water land", "flag_colors": "#0000ff #00ff00"}"##;
    let land = array(CoreType::Uint8, &[1, 3], &[1, 3], &["y", "x"], flags);
    land.write(.., &[0u8, 5, 0]).unwrap();
    let subject = Subject::of(land, false).unwrap();
    let shown = subject.show(&first(&subject), &Style::default(), None).unwrap();
    assert_eq!(shown.raster.rgba, [0, 0, 255, 255, 0, 255, 0, 255, 0, 0, 255, 255]);
    let Legend::Channels(names) = shown.legend else { panic!() };
    assert_eq!(names, [("water".into(), [0, 0, 255]), ("land".into(), [0, 255, 0])]);
    let map = Some("viridis".parse().unwrap());
    let shown = subject.show(&first(&subject), &Style { map, ..Style::default() }, None).unwrap();
    assert!(matches!(shown.legend, Legend::Values(..)));
    // A number with names for some of its values is a number.
    let float = array(CoreType::Float32, &[1, 3], &[1, 3], &["y", "x"], flags);
    assert!(!Subject::of(float, false).unwrap().is_labels());
}

#[test]
fn coasts_are_drawn_on_maps_only() {
    let hierarchy = hierarchy();
    let axis = |name: &str, values: &[f64], units: &str| {
        let Json::Object(attributes) =
            Json::parse(format!(r#"{{"units": "{units}"}}"#).as_bytes()).unwrap()
        else {
            panic!()
        };
        let len = values.len() as u64;
        let array = hierarchy.create_array(&format!("/{name}")).shape(&[len]).chunks(&[len]);
        let array =
            array.data_type(CoreType::Float64).dimension_names([name]).attributes(attributes);
        array.create().unwrap().write(.., values).unwrap();
    };
    axis("lat", &[-60.0, 0.0, 60.0], "degrees_north");
    axis("lon", &[0.0, 90.0, 180.0, 270.0], "degrees_east");
    let array =
        hierarchy.create_array("/a").shape(&[3, 4]).chunks(&[3, 4]).data_type(CoreType::Uint8);
    let subject =
        Subject::of(array.dimension_names(["lat", "lon"]).create().unwrap(), false).unwrap();
    let style = |has_coast| Style { has_coast, ..Style::default() };
    let (plain, with) = (style(false), style(true));
    let svg = |style: &Style| {
        subject.figure(&first(&subject), style, true, None).unwrap().to_svg().unwrap().len()
    };
    assert!(svg(&with) > svg(&plain) + 10_000);
    let other = array_of_rows();
    let why = other.figure(&first(&other), &with, false, None).unwrap_err().to_string();
    assert_eq!(why, "--coast needs longitude across and latitude down");
}

fn array_of_rows() -> Subject {
    Subject::of(array(CoreType::Uint8, &[2, 2], &[2, 2], &["y", "x"], "{}"), false).unwrap()
}

#[test]
fn what_is_no_number_is_refused() {
    let complex = array(CoreType::Complex64, &[2, 2], &[2, 2], &["y", "x"], "{}");
    let why = slice(&complex, &Meaning::raw(&complex), &view(&complex), None, None)
        .unwrap_err()
        .to_string();
    assert!(why.contains("cannot draw elements of type complex64, only real numbers"), "{why}");
}
