//! Pyramids of maps: levels of all variables, coordinates and metadata are what GeoZarr's conventions and plain computations say.

use std::collections::BTreeMap;

use zarr_core::format::of_dialect;
use zarr_core::store::from_sync;
use zarr_core::{
    Array, CoreType, Dialect, Element, ErrorKind, Group, Hierarchy, Json, Object, OpenOptions,
    Registry,
};
use zarr_stores::MemoryStore;
use zarr_tools::validate::{Level, ValidateOptions, validate_store};
use zarr_tools::{PyramidConvention, PyramidMethod, PyramidOptions, plan_pyramid};

fn options() -> OpenOptions {
    OpenOptions::new(Registry::new().with(zarr_codecs::register)).read_write().threads(2)
}

fn object(text: &str) -> Object {
    match Json::parse(text.as_bytes()).unwrap() {
        Json::Object(object) => object,
        other => panic!("{other}"),
    }
}

fn variable<T: Element>(
    hierarchy: &Hierarchy,
    path: &str,
    dimensions: &[(&str, u64)],
    attributes: &str,
    elements: &[T],
) {
    let shape: Vec<u64> = dimensions.iter().map(|(_, len)| *len).collect();
    let chunks: Vec<u64> = shape.iter().map(|&len| len.min(4)).collect();
    let array = hierarchy.create_array(path).shape(&shape).chunks(&chunks).data_type_of::<T>();
    let array = array.dimension_names(dimensions.iter().map(|(name, _)| *name));
    let array = match hierarchy.dialect() {
        Dialect::V3 => array,
        _ => array.undefined_fill(),
    };
    array.attributes(object(attributes)).create().unwrap().write(.., elements).unwrap();
}

const ROWS: u64 = 9;
const COLUMNS: u64 = 16;

fn temperature(time: u64, row: u64, column: u64) -> f32 {
    // A quarter of the elements is missing, and one block of two by two altogether.
    if (row * 5 + column * 3).is_multiple_of(4) || row / 2 == 1 && column / 2 == 1 {
        return f32::NAN;
    }
    (time * 1000 + row * 20 + column) as f32 / 4.0
}

/// A dataset in latitudes and longitudes as models write it, in the group `at`.
fn dataset(dialect: Dialect, at: &str) -> Hierarchy {
    let store = from_sync(MemoryStore::new());
    let hierarchy = Hierarchy::create(store, of_dialect(dialect), &options()).unwrap();
    if at != "/" {
        hierarchy.create_group(at, Object::new()).unwrap();
    }
    let base = hierarchy.group(at).unwrap();
    base.update_attributes(|all| drop(all.insert("title", "weather"))).unwrap();
    let path = |name: &str| format!("{}/{name}", at.trim_end_matches('/'));
    let (time, lat, lon) = (("time", 2), ("lat", ROWS), ("lon", COLUMNS));
    let mut elements = Vec::new();
    for n in 0..2 * ROWS * COLUMNS {
        elements.push(temperature(n / (ROWS * COLUMNS), n / COLUMNS % ROWS, n % COLUMNS));
    }
    let attributes = r#"{"units": "K", "grid_mapping": "crs"}"#;
    variable(&hierarchy, &path("t2m"), &[time, lat, lon], attributes, &elements);
    let zones: Vec<u8> = (0..ROWS * COLUMNS).map(|n| (n % COLUMNS / 3) as u8).collect();
    let attributes = r#"{"flag_values": [0, 1, 2, 3, 4, 5], "flag_meanings": "a b c d e f"}"#;
    variable(&hierarchy, &path("zone"), &[lat, lon], attributes, &zones);
    let means: Vec<f64> = (0..2 * ROWS).map(|n| n as f64).collect();
    variable(&hierarchy, &path("zonal"), &[time, lat], "{}", &means);
    let latitudes: Vec<f64> = (0..ROWS).map(|n| 40.0 - 10.0 * n as f64).collect();
    let attributes = r#"{"units": "degrees_north", "bounds": "lat_bnds"}"#;
    variable(&hierarchy, &path("lat"), &[lat], attributes, &latitudes);
    let bounds: Vec<f64> = latitudes.iter().flat_map(|it| [it + 5.0, it - 5.0]).collect();
    variable(&hierarchy, &path("lat_bnds"), &[lat, ("nv", 2)], "{}", &bounds);
    let longitudes: Vec<i32> = (0..COLUMNS as i32).map(|n| n * 5).collect();
    variable(&hierarchy, &path("lon"), &[lon], r#"{"units": "degrees_east"}"#, &longitudes);
    variable(
        &hierarchy,
        &path("time"),
        &[time],
        r#"{"units": "days since 2020-01-01"}"#,
        &[3i64, 4],
    );
    let crs = r#"{"grid_mapping_name": "latitude_longitude", "crs_wkt": "GEOGCRS[\"WGS 84\",ID[\"EPSG\",4326]]",
        "GeoTransform": "-2.5 5 0 45 0 -10"}"#;
    variable(&hierarchy, &path("crs"), &[], crs, &[0i32]);
    hierarchy
}

fn geo() -> PyramidOptions<'static> {
    PyramidOptions { convention: Some(PyramidConvention::Geo), ..PyramidOptions::default() }
}

fn run(group: &Group, options: &PyramidOptions<'_>) {
    plan_pyramid(group, options).unwrap().run(options).unwrap();
}

fn read<T: Element>(hierarchy: &Hierarchy, path: &str) -> Vec<T> {
    hierarchy.array(path).unwrap().read::<T>(..).unwrap()
}

/// The mean of the elements that are there in the block of a level, of the base and not of the level before.
fn mean(time: u64, row: u64, column: u64, factor: u64) -> f32 {
    let (mut sum, mut count) = (0.0, 0.0);
    for row in row * factor..((row + 1) * factor).min(ROWS) {
        for column in column * factor..((column + 1) * factor).min(COLUMNS) {
            let element = temperature(time, row, column);
            if !element.is_nan() {
                sum += f64::from(element);
                count += 1.0;
            }
        }
    }
    (sum / count) as f32
}

/// What `validate` finds in the metadata.
fn problems(hierarchy: &Hierarchy) -> Vec<String> {
    let mut found = Vec::new();
    let how = ValidateOptions::new(Level::Meta);
    validate_store(hierarchy.store(), "/", &options(), &how, &mut |problem| {
        found.push(format!("{problem:?}"));
    })
    .unwrap();
    found
}

#[test]
fn levels_have_all_arrays_of_the_base() {
    for (at, base, assets) in [("/", ".", ["ovr_2x", "ovr_4x"]), ("/0", "0", ["1", "2"])] {
        for dialect in [Dialect::V3, Dialect::V2] {
            let hierarchy = dataset(dialect, at);
            let root = hierarchy.root().unwrap();
            run(&root, &geo());
            for (asset, factor) in assets.into_iter().zip([2, 4]) {
                let (rows, columns) = (ROWS.div_ceil(factor), COLUMNS.div_ceil(factor));
                let array = hierarchy.array(format!("{asset}/t2m")).unwrap();
                assert_eq!(array.shape(), [2, rows, columns]);
                assert_eq!(array.attributes().get("units"), Some(&"K".into()));
                let mut expected = Vec::new();
                for n in 0..2 * rows * columns {
                    let (row, column) = (n / columns % rows, n % columns);
                    expected.push(mean(n / (rows * columns), row, column, factor));
                }
                let found: Vec<f32> = array.read(..).unwrap();
                assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{asset} {dialect}");
                let zones: Vec<u8> = read(&hierarchy, &format!("{asset}/zone"));
                assert_eq!(zones.len() as u64, rows * columns);
                assert!(zones.iter().all(|&zone| zone <= 5));
                let zonal = hierarchy.array(format!("{asset}/zonal")).unwrap();
                assert_eq!(zonal.shape(), [2, rows]);
                assert_eq!(read::<i64>(&hierarchy, &format!("{asset}/time")), [3, 4]);
                let group = hierarchy.group(asset).unwrap();
                assert_eq!(group.attributes().get("title"), Some(&"weather".into()));
                assert_eq!(group.attributes().get("multiscales"), None);
                let crs = hierarchy.array(format!("{asset}/crs")).unwrap().attributes();
                let expected = format!("-2.5 {} 0 45 0 {}", 5 * factor, -10 * factor as i64);
                assert_eq!(crs.get("GeoTransform"), Some(&Json::from(expected)));
            }
            let [first, second] = assets;
            // Columns 0, 1 and 2 are in zone 0; of two zones that are as frequent, the lesser is taken.
            let zones: Vec<u8> = read(&hierarchy, &format!("{first}/zone"));
            assert_eq!(zones[..8], [0, 0, 1, 2, 2, 3, 4, 4]);
            let latitudes: Vec<f64> = read(&hierarchy, &format!("{first}/lat"));
            assert_eq!(latitudes, [35.0, 15.0, -5.0, -25.0, -40.0]);
            let bounds: Vec<f64> = read(&hierarchy, &format!("{second}/lat_bnds"));
            assert_eq!(bounds, [45.0, 5.0, 5.0, -35.0, -35.0, -45.0]);
            // Means of integers are none.
            let longitudes: Vec<f64> = read(&hierarchy, &format!("{first}/lon"));
            assert_eq!(longitudes, [2.5, 12.5, 22.5, 32.5, 42.5, 52.5, 62.5, 72.5]);
            let names = hierarchy.array(format!("{first}/lon")).unwrap().dimension_names();
            assert_eq!(names, Some(vec![Some("lon".to_owned())]));
            let multiscales = hierarchy.root().unwrap().attributes().get("multiscales").cloned();
            let expected = format!(
                r#"{{"layout":[{{"asset":"{base}","transform":{{"scale":[1.0,1.0],"translation":[0.0,0.0]}},"spatial:shape":[9,16],"spatial:transform":[5.0,0.0,-2.5,0.0,-10.0,45.0]}},{{"asset":"{first}","derived_from":"{base}","transform":{{"scale":[2.0,2.0],"translation":[0.0,0.0]}},"spatial:shape":[5,8],"spatial:transform":[10.0,0.0,-2.5,0.0,-20.0,45.0],"resampling_method":"average"}},{{"asset":"{second}","derived_from":"{first}","transform":{{"scale":[2.0,2.0],"translation":[0.0,0.0]}},"spatial:shape":[3,4],"spatial:transform":[20.0,0.0,-2.5,0.0,-40.0,45.0],"resampling_method":"average"}}],"resampling_method":"average"}}"#
            );
            assert_eq!(multiscales.unwrap().to_string(), expected);
            for group in ["/", first] {
                let attributes = hierarchy.group(group).unwrap().attributes().clone();
                assert_eq!(attributes.get("proj:code"), Some(&"EPSG:4326".into()));
                let dimensions = attributes.get("spatial:dimensions").unwrap();
                assert_eq!(dimensions.to_string(), r#"["lat","lon"]"#);
            }
            assert_eq!(problems(&hierarchy), [""; 0], "{at} {dialect}");
        }
    }
}

/// All values that are stored, but for times and processes.
fn stored(hierarchy: &Hierarchy) -> BTreeMap<String, Vec<u8>> {
    let store = hierarchy.store().to_sync();
    let keys = store.list().unwrap().into_iter();
    keys.map(|key| (key.to_string(), store.value(&key).unwrap().unwrap().to_vec())).collect()
}

#[test]
fn parts_and_further_levels_are_those_of_the_whole() {
    let whole = dataset(Dialect::V3, "/0");
    run(&whole.root().unwrap(), &geo());
    let parts = dataset(Dialect::V3, "/0");
    let options = PyramidOptions { parts: Some(3), ..geo() };
    let root = parts.root().unwrap();
    for part in [2, 0] {
        plan_pyramid(&root, &options).unwrap().run_part(part, &options).unwrap();
    }
    let early = plan_pyramid(&root, &options).unwrap().finish(&options).unwrap_err();
    assert!(early.to_string().contains("unfinished levels below"), "{early}");
    assert_eq!(parts.root().unwrap().attributes().get("multiscales"), None);
    assert_eq!(parts.node("1").unwrap_err().kind(), ErrorKind::NotFound);
    plan_pyramid(&root, &options).unwrap().run_part(1, &options).unwrap();
    plan_pyramid(&root, &options).unwrap().finish(&options).unwrap();
    assert!(stored(&parts) == stored(&whole));

    // The group lists its levels now, so that nothing need be said of them.
    let steps = dataset(Dialect::V3, "/0");
    run(&steps.root().unwrap(), &PyramidOptions { levels: Some(2), ..geo() });
    assert_eq!(steps.node("2").unwrap_err().kind(), ErrorKind::NotFound);
    run(&steps.root().unwrap(), &PyramidOptions::default());
    assert!(stored(&steps) == stored(&whole));
    let plan = plan_pyramid(&steps.root().unwrap(), &PyramidOptions::default()).unwrap();
    assert!(plan.levels().is_empty());
}

#[test]
fn fill_values_of_variables_in_v2_are_missing() {
    let store = from_sync(MemoryStore::new());
    let hierarchy = Hierarchy::create(store, of_dialect(Dialect::V2), &options()).unwrap();
    let array = hierarchy.create_array("a").shape([4, 4]).chunks([2, 2]).data_type(CoreType::Int16);
    let array = array.dimension_names(["y", "x"]).fill_value(-1i64).create().unwrap();
    array.write(.., &[1i16, -1, 4, 8, -1, 3, 12, -1, -1, -1, 5, 5, -1, -1, 5, 5]).unwrap();
    run(&hierarchy.root().unwrap(), &geo());
    assert_eq!(read::<i16>(&hierarchy, "ovr_2x/a"), [2, 8, -1, 5]);
    let flags = hierarchy.array("ovr_2x/a").unwrap();
    assert_eq!(flags.fill_value(), array.fill_value());
}

/// Nodes are in the middle of what they stand for, and the first element of a block where it is.
#[test]
fn registration_moves_the_first_node() {
    for (method, corner, translation) in [
        (PyramidMethod::Mean, [0.5, 9.5], "[0.5,0.5]"),
        (PyramidMethod::Nearest, [0.0, 10.0], "[0.0,0.0]"),
    ] {
        let store = from_sync(MemoryStore::new());
        let hierarchy = Hierarchy::create(store, of_dialect(Dialect::V3), &options()).unwrap();
        let attributes = r#"{"zarr_conventions": [{"uuid": "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4"}],
            "spatial:dimensions": ["row", "column"], "spatial:registration": "node", "spatial:shape": [8, 6],
            "spatial:transform": [1, 0, 0, 0, -1, 10], "spatial:bbox": [0, 3, 5, 10]}"#;
        let elements: Vec<u16> = (0..48).collect();
        variable(&hierarchy, "dem", &[("row", 8), ("column", 6)], attributes, &elements);
        run(
            &hierarchy.root().unwrap(),
            &PyramidOptions { method: Some(method), levels: Some(2), ..geo() },
        );
        let found = hierarchy.array("ovr_2x/dem").unwrap().attributes();
        let [x, y] = corner;
        let text = |name: &str| found.get(name).unwrap().to_string();
        assert_eq!(text("spatial:shape"), "[4,3]");
        assert_eq!(text("spatial:transform"), format!("[2.0,0.0,{x:?},0.0,-2.0,{y:?}]"));
        assert_eq!(text("spatial:bbox"), format!("[{x:?},{:?},{:?},{y:?}]", y - 6.0, x + 4.0));
        let root = hierarchy.root().unwrap();
        let layout = &root.attributes().get("multiscales").unwrap()["layout"];
        assert_eq!(layout[1]["transform"]["translation"].to_string(), translation);
        assert_eq!(problems(&hierarchy), [""; 0]);
    }
}

#[test]
fn what_has_no_levels_is_noted_or_refused() {
    let hierarchy = dataset(Dialect::V3, "/");
    let root = hierarchy.root().unwrap();
    let elements: Vec<String> = (0..ROWS * COLUMNS).map(|n| n.to_string()).collect();
    variable(&hierarchy, "names", &[("lat", ROWS), ("lon", COLUMNS)], "{}", &elements);
    let error = plan_pyramid(&root, &PyramidOptions::default()).unwrap_err();
    assert!(error.hint().is_some_and(|hint| hint.contains("--convention geo")), "{error}");
    let plan = plan_pyramid(&root, &geo()).unwrap();
    assert!(
        plan.notes().iter().any(|note| note.starts_with("/names: left out")),
        "{:?}",
        plan.notes()
    );
    plan.run(&geo()).unwrap();
    assert_eq!(hierarchy.node("ovr_2x/names").unwrap_err().kind(), ErrorKind::NotFound);
    let wrong =
        |options: PyramidOptions<'_>| plan_pyramid(&root, &options).unwrap_err().to_string();
    let factors = vec![("time".to_owned(), 2)];
    assert!(wrong(PyramidOptions { factors, ..geo() }).contains("along lat and lon"));
    let chunks = Some(vec![1, 2, 3, 4]);
    assert!(wrong(PyramidOptions { chunks, ..geo() }).contains("no variable has 4 axes"));

    let taken = dataset(Dialect::V3, "/");
    variable(&taken, "ovr_4x/lat", &[("lat", 1)], "{}", &[1.0f64]);
    let error = plan_pyramid(&taken.root().unwrap(), &geo()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exists, "{error}");

    let store = from_sync(MemoryStore::new());
    let none = Hierarchy::create(store, of_dialect(Dialect::V3), &options()).unwrap();
    variable(&none, "a", &[("p", 4), ("q", 4)], "{}", &[0u8; 16]);
    let error = plan_pyramid(&none.root().unwrap(), &geo()).unwrap_err();
    assert!(error.to_string().contains("dimensions of y and x"), "{error}");
    // What the hint advises.
    none.root().unwrap().set_attribute("spatial:dimensions", ["p", "q"]).unwrap();
    run(&none.root().unwrap(), &PyramidOptions { levels: Some(2), ..geo() });
    assert_eq!(none.array("ovr_2x/a").unwrap().shape(), [2, 2]);
}

/// Signed bytes that stand for unsigned ones, with a range of valid values in either form, have the levels of unsigned bytes.
#[test]
fn unsigned_numbers_in_signed_bytes_and_ranges_of_valid_values() {
    let values = [250, 100, 10, 20, 100, 50, 30, 40, 201, 255, 0, 1, 202, 203, 2, 3];
    let signed = values.map(|value: u8| value.cast_signed());
    let axes = [("y", 4), ("x", 4)];
    // 250 is not valid, nor is any of the third block: what stands for it is not valid, either.
    for (method, expected) in [
        (PyramidMethod::Mean, [83, 25, 201, 2]),
        (PyramidMethod::Max, [100, 40, 201, 3]),
        (PyramidMethod::Min, [50, 10, 201, 0]),
        (PyramidMethod::Median, [100, 20, 201, 1]),
        (PyramidMethod::Nearest, [250, 10, 201, 0]),
    ] {
        let store = from_sync(MemoryStore::new());
        let hierarchy = Hierarchy::create(store, of_dialect(Dialect::V3), &options()).unwrap();
        variable(&hierarchy, "own", &axes, r#"{"valid_range": [0, 200]}"#, &values);
        for (name, range) in [("wide", "[0, 200]"), ("same", "[0, -56]")] {
            let attributes = format!(r#"{{"_Unsigned": "true", "valid_range": {range}}}"#);
            variable(&hierarchy, name, &axes, &attributes, &signed);
        }
        let root = hierarchy.root().unwrap();
        run(&root, &PyramidOptions { method: Some(method), levels: Some(2), ..geo() });
        let own: Array = hierarchy.array("ovr_2x/own").unwrap();
        assert_eq!(own.read::<u8>(..).unwrap(), expected, "{method:?}");
        for name in ["wide", "same"] {
            let found: Array = hierarchy.array(format!("ovr_2x/{name}")).unwrap();
            let found = found.read::<i8>(..).unwrap();
            let found: Vec<u8> = found.into_iter().map(i8::cast_unsigned).collect();
            assert_eq!(found, expected, "{name}, {method:?}");
        }
    }
}

/// Flags stand for kinds of things, of which there is no mean.
#[test]
fn flags_are_not_averaged() {
    let kinds = [1u8, 9, 2, 2, 9, 9, 2, 1, 1, 1, 9, 9, 1, 2, 9, 1];
    for attributes in [
        r#"{"flag_values": [1, 2, 9]}"#,
        r#"{"flag_masks": [1, 8]}"#,
        r#"{"flag_meanings": "a b"}"#,
    ] {
        for method in [None, Some(PyramidMethod::Mean), Some(PyramidMethod::Max)] {
            let store = from_sync(MemoryStore::new());
            let hierarchy = Hierarchy::create(store, of_dialect(Dialect::V3), &options()).unwrap();
            variable(&hierarchy, "kind", &[("y", 4), ("x", 4)], attributes, &kinds);
            let root = hierarchy.root().unwrap();
            run(&root, &PyramidOptions { method, levels: Some(2), ..geo() });
            let found = read::<u8>(&hierarchy, "ovr_2x/kind");
            assert_eq!(found, [9, 2, 1, 9], "{attributes}, {method:?}");
        }
    }
}
