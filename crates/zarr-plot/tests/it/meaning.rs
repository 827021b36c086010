//! What arrays with attributes of CF, NCZarr and OME stand for.

use std::sync::Arc;

use zarr_core::data_type::ScalarValue::{Float, Integer};
use zarr_core::{Array, CoreType, Dialect, Hierarchy, Json, Object, OpenOptions, Registry};
use zarr_plot::meaning::{AxisKind, Image, Meaning, MissingRule, axes_of};

fn hierarchy(dialect: Dialect) -> Hierarchy {
    let registry = Registry::new().with(zarr_codecs::register).with(zarr_stores::register);
    let options = OpenOptions::new(Arc::new(registry)).read_write();
    let name = format!("memory://meaning-{dialect:?}-{:?}", std::thread::current().id());
    let hierarchy = Hierarchy::open_or_create(&name, dialect, &options).unwrap();
    hierarchy.root().or_else(|_| hierarchy.create_group("/", Object::new())).unwrap();
    hierarchy
}

fn attributes(text: &str) -> Object {
    match Json::parse(text.as_bytes()).unwrap() {
        Json::Object(object) => object,
        other => panic!("{other}"),
    }
}

fn array(hierarchy: &Hierarchy, path: &str, kind: CoreType, shape: &[u64], text: &str) -> Array {
    let found = attributes(text);
    let builder = hierarchy.create_array(path).shape(shape).chunks(shape).data_type(kind);
    builder.attributes(found).create().unwrap()
}

#[test]
fn packed_values_are_decoded_and_missing_ones_found_in_the_packed_type() {
    let hierarchy = hierarchy(Dialect::V3);
    let packed = array(
        &hierarchy,
        "/packed",
        CoreType::Int16,
        &[4],
        r#"{"_FillValue": -99, "missing_value": [-98.0, 1.5], "valid_range": [-1000, 500], "scale_factor": 0.5,
            "add_offset": [10], "units": "K", "long_name": "Temperature"}"#,
    );
    let meaning = Meaning::of(&packed, MissingRule::Declared);
    assert_eq!(meaning.missing.values(), [Integer(-99), Integer(-98)]);
    assert_eq!(meaning.decode(Integer(-99)), None);
    assert_eq!(meaning.decode(Integer(501)), None);
    assert_eq!(meaning.decode(Integer(-1001)), None);
    assert_eq!(meaning.decode(Integer(500)), Some(260.0));
    assert_eq!(meaning.decode(Integer(0)), Some(10.0));
    assert_eq!(meaning.title.as_deref(), Some("Temperature"));
    assert_eq!(meaning.warnings, ["`missing_value` is not applied: 1.5 is not of type int16"]);
    let odd = r#"{"valid_range": [0, 1, 2], "valid_min": -5}"#;
    let odd = array(&hierarchy, "/odd", CoreType::Int16, &[4], odd);
    let found = Meaning::of(&odd, MissingRule::Declared);
    assert_eq!(found.warnings, ["`valid_range` is not applied: [0,1,2] is not a list of two"]);
    assert_eq!((found.decode(Integer(-6)), found.decode(Integer(9))), (None, Some(9.0)));
    let reversed =
        array(&hierarchy, "/reversed", CoreType::Int16, &[4], r#"{"valid_range": [9, -9]}"#);
    let found = Meaning::of(&reversed, MissingRule::Declared);
    assert_eq!(found.decode(Integer(0)), Some(0.0));
    assert_eq!(
        found.warnings,
        ["the range of valid values is not applied: it goes from 9 down to -9"]
    );
    assert!(Meaning::of(&packed, MissingRule::None).missing.is_empty());
    let with_fill = Meaning::of(&packed, MissingRule::Fill);
    assert!(with_fill.missing.contains(Integer(0)));
}

#[test]
fn unsigned_bytes_need_the_word_true() {
    let hierarchy = hierarchy(Dialect::V3);
    for (word, unsigned, missing) in [("true", true, 255), ("false", false, -1)] {
        let text = format!(r#"{{"_Unsigned": "{word}", "_FillValue": -1}}"#);
        let array = array(&hierarchy, &format!("/{word}"), CoreType::Int8, &[4], &text);
        let meaning = Meaning::of(&array, MissingRule::Declared);
        assert_eq!(meaning.unsigned, unsigned);
        assert_eq!(meaning.missing.values(), [Integer(missing)]);
    }
}

/// In v2 the fill value of a variable is missing, in final v3 only the attribute says so.
#[test]
fn a_fill_value_is_missing_where_netcdf_takes_it_for_that() {
    for (dialect, names, missing) in [
        (Dialect::V2, true, vec![Float(0.0)]),
        (Dialect::V2, false, vec![]),
        (Dialect::V3, true, vec![]),
    ] {
        let hierarchy = hierarchy(dialect);
        let path = format!("/{names}");
        let mut builder =
            hierarchy.create_array(&path).shape(&[4]).chunks(&[4]).data_type(CoreType::Float32);
        if names {
            builder = builder.dimension_names(["x"]);
        }
        let array = builder.create().unwrap();
        let found = Meaning::of(&array, MissingRule::Declared).missing.values().to_vec();
        assert_eq!(found, missing, "{dialect:?} {names}");
        let found = Meaning::of(&array, MissingRule::Fill).missing.values().to_vec();
        assert_eq!(found, [Float(0.0)], "{dialect:?} {names}");
    }
}

#[test]
fn axes_have_the_coordinates_of_variables() {
    let hierarchy = hierarchy(Dialect::V3);
    let root = hierarchy.root().unwrap();
    let time = r#"{"units": "days since 2000-01-01", "calendar": "noleap"}"#;
    let time = array(&hierarchy, "/time", CoreType::Int32, &[3], time);
    time.write(.., &[0i32, 58, 59]).unwrap();
    let lat = r#"{"units": "degrees_north", "long_name": "Latitude"}"#;
    let lat = array(&hierarchy, "/inner/lat", CoreType::Float64, &[2], lat);
    lat.write(.., &[-45.0, 45.0]).unwrap();
    let names = ["time", "lat", "x"];
    let data = root.create_array("inner/data").shape(&[3, 2, 5]).chunks(&[3, 2, 5]);
    let data = data.data_type(CoreType::Int8).dimension_names(names).create().unwrap();
    let axes = axes_of(&data).unwrap();
    let kinds: Vec<_> = axes.iter().map(|axis| axis.kind).collect();
    assert_eq!(kinds, [AxisKind::Time, AxisKind::Y, AxisKind::X]);
    assert_eq!(axes[1].title.as_deref(), Some("Latitude"));
    let found = axes[0].read(1..3).unwrap().unwrap();
    assert_eq!([found.text(0), found.text(1)], ["2000-02-28", "2000-03-01"]);
    assert_eq!(axes[1].read(0..2).unwrap().unwrap().numbers, [-45.0, 45.0]);
    assert!(!axes[2].has_coordinates());
    assert!(axes[2].read(0..5).unwrap().is_none());
}

#[test]
fn levels_of_an_image_have_its_axes() {
    let hierarchy = hierarchy(Dialect::V3);
    let image = r#"{"ome": {"version": "0.5", "multiscales": [{"axes": [
        {"name": "c", "type": "channel"}, {"name": "y", "type": "space", "unit": "micrometer"}], "datasets": [
        {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 0.5]}]},
        {"path": "s/1", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]}],
        "omero": {"channels": [{"color": "00ff00", "window": {"start": 1, "end": 9}}]}}}"#;
    hierarchy.create_group("/image", attributes(image)).unwrap();
    let level = array(&hierarchy, "/image/s/1", CoreType::Uint8, &[1, 4], "{}");
    let (image, place) = Image::of_array(&level).unwrap().unwrap();
    assert_eq!((place, image.channels[0].window), (1, Some((1.0, 9.0))));
    let axes = axes_of(&level).unwrap();
    assert_eq!(axes[1].units.as_deref(), Some("micrometer"));
    assert_eq!(axes[1].read(1..3).unwrap().unwrap().numbers, [1.0, 2.0]);
    assert!(!axes[0].has_coordinates());
    let other = array(&hierarchy, "/image/other", CoreType::Uint8, &[4], "{}");
    assert!(Image::of_array(&other).unwrap().is_none());
}
