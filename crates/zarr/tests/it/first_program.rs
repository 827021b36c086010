//! What a first program says, as the documentation does not ask for it: each spelling gives the right values.
#![cfg(all(feature = "filesystem", feature = "ndarray", feature = "zstd"))]

use std::borrow::Cow;
use std::path::Path;

use ndarray::{Array2, Ix1, Ix2, IxDyn, s};
use serde_json::json;
use zarr::codec::CodecSpec;
use zarr::{Array, DataType, Dialect, Json, Location, Object, Result, Selection, ToShape};

/// An array of 4 x 6 elements, of which each is 10 times its row and its column.
fn table(folder: &Path) -> Result<Array> {
    let array = zarr::create_array(folder.join("data.zarr/group/table"))?
        .shape([4, 6])
        .chunks((2, 3))
        .data_type(DataType::Float32)
        .codec("zstd:3")
        .attribute("units", "K")
        .dimension_names(["y", "x"])
        .create()?;
    array.write_ndarray(.., Array2::from_shape_fn((4, 6), |(y, x)| (10 * y + x) as f32))?;
    Ok(array)
}

#[test]
fn a_new_array_begins_its_hierarchy_where_the_program_does() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let array = table(folder.path())?;
    assert_eq!(array.path().as_str(), "/group/table");
    let root = zarr::open_group(folder.path().join("data.zarr"))?;
    let paths: Vec<String> = root.nodes()?.iter().map(|node| node.path().to_string()).collect();
    assert_eq!(paths, ["/", "/group", "/group/table"]);
    // The next one is part of the same hierarchy.
    let url = folder.path().join("data.zarr/more").display().to_string();
    assert_eq!(zarr::create_group(&url)?.path().as_str(), "/more");
    let refused = zarr::create(url + "/inner", Dialect::V3).expect_err("a node, not a hierarchy");
    assert!(refused.to_string().contains("`more/inner` is a node of the hierarchy"), "{refused}");
    // A hierarchy whose name is not that of a store begins where it is asked for, as does one that is there.
    let plain = folder.path().join("plain/inner");
    zarr::create(&plain, Dialect::V3)?.create_group("/", Object::new())?;
    assert!(plain.join("zarr.json").exists());
    zarr::create(folder.path().join("data.zarr/group"), Dialect::V3)?;
    Ok(())
}

/// Nothing is there before the first node, which may be the root.
#[test]
fn an_empty_hierarchy_of_any_dialect_is_its_root_group() -> Result<()> {
    for dialect in [Dialect::V2, Dialect::V3, Dialect::Draft] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("two.zarr");
        let hierarchy = zarr::create(&path, dialect)?;
        if dialect != Dialect::Draft {
            assert!(!path.exists());
            hierarchy.create_group("/", Object::new())?;
        }
        hierarchy.root()?.set_attribute("title", "two")?;
        let array =
            zarr::create_array(path.join("x"))?.shape([4]).data_type(zarr::DataType::Float32);
        assert_eq!(array.create()?.hierarchy().dialect(), dialect);
        // The same again is the hierarchy that is there.
        assert_eq!(zarr::create(&path, dialect)?.nodes("/")?.len(), 2);
        let group = zarr::open_group(&path)?;
        assert_eq!(group.attributes()["title"], "two");
    }
    Ok(())
}

#[test]
fn a_group_is_refreshed() -> Result<()> {
    let hierarchy = zarr::create("memory://first-refreshed", Dialect::V2)?;
    let group = hierarchy.create_group("g", Object::new())?;
    group.set_attribute("a", 1)?;
    assert!(group.attributes().is_empty());
    assert_eq!(group.refreshed()?.attributes()["a"].as_i64(), Some(1));
    Ok(())
}

#[test]
fn texts_of_fixed_length_are_strings() -> Result<()> {
    let hierarchy = zarr::create("memory://first-fixed-text", Dialect::V2)?;
    let texts = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    for (name, most) in [("<U5", "U5"), (">U5", "U5"), ("|S5", "|S5")] {
        let names = hierarchy.create_array(name).shape([3]).chunks([2]).data_type_named(name);
        let names = names.create()?;
        names.write(0..2, &texts(&["tas", "groß"]))?;
        let read: Vec<String> = names.read(..)?;
        assert_eq!(read, ["tas", "groß", ""]);
        names.fill(1.., "pr".to_owned())?;
        assert_eq!(names.read::<String>(1..)?, ["pr", "pr"]);
        names.append(0, &texts(&["uas"]))?;
        assert_eq!(names.read_element::<String>(-1)?, "uas");
        let mut again = texts(&["", ""]);
        names.read_into(2.., &mut again)?;
        assert_eq!(again, ["pr", "uas"]);
        let long = names.write(0..1, &texts(&["temperature"])).expect_err("too long");
        assert!(long.message().contains(&format!("`{most}` has room for 5")), "{long}");
        let refused = names.read::<f32>(..).expect_err("no numbers");
        assert!(refused.hint().is_some_and(|hint| hint.contains("`String`")), "{refused}");
    }
    let latin = hierarchy.create_array("latin").shape([1]).data_type_named("|S2").create()?;
    latin.write(.., &[*b"\xe4o"])?;
    let refused = latin.read::<String>(..).expect_err("not UTF-8");
    assert!(refused.message().contains("read it as `[u8; 2]`"), "{refused}");
    Ok(())
}

#[test]
fn points_have_coordinates_of_any_integers() -> Result<()> {
    let hierarchy = zarr::create("memory://first-points", Dialect::V3)?;
    let table = hierarchy.create_array("table").shape([3, 4]).chunks([2, 2]);
    let table = table.data_type(DataType::Int32).create()?;
    table.write(.., &(0..12).collect::<Vec<i32>>())?;
    let rows: Vec<usize> = vec![2, 0];
    assert_eq!(table.read::<i32>(Selection::points([&rows, &vec![1, 3]]))?, [9, 3]);
    assert_eq!(table.read::<i32>(Selection::points([[-1, 0], [1, -2]]))?, [9, 2]);
    let outside = table.read::<i32>(Selection::points([[0], [-5]])).expect_err("4 columns");
    assert!(
        outside.message().ends_with("index -5 is out of bounds for axis 1, which has length 4")
    );
    Ok(())
}

#[test]
fn paths_are_texts_and_paths_of_any_kind() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    table(folder.path())?;
    let path = folder.path().join("data.zarr/group/table");
    let text = path.to_str().expect("it is UTF-8").to_owned();
    let shape = |location: &dyn Fn() -> Result<Array>| location().map(|array| array.shape());
    for opened in [
        shape(&|| zarr::open_array(&path)),
        shape(&|| zarr::open_array(path.as_path())),
        shape(&|| zarr::open_array(path.clone())),
        shape(&|| zarr::open_array(&text)),
        shape(&|| zarr::open_array(text.clone())),
        shape(&|| zarr::open_array(text.as_str())),
        shape(&|| zarr::open_array(Cow::from(&text))),
        shape(&|| zarr::open_array(path.as_os_str())),
        shape(&|| zarr::open_array(format!("file://{text}"))),
    ] {
        assert_eq!(opened?, [4, 6]);
    }
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let not_text = std::ffi::OsStr::from_bytes(b"a\xffb");
        let error = not_text.to_url().expect_err("no text").to_string();
        assert!(error.contains("is not valid UTF-8"), "{error}");
    }
    Ok(())
}

#[test]
fn shapes_are_of_any_integers() {
    let shapes: [&dyn ToShape; 9] = [
        &[2, 3],
        &[2u64, 3],
        &&[2usize, 3][..],
        &Vec::from([2u8, 3]),
        &&[2i64, 3],
        &(2, 3),
        &(2usize, 3u64),
        &ndarray::Array2::<u8>::zeros((2, 3)).shape().to_vec(),
        &[2i16, 3],
    ];
    for shape in shapes {
        assert_eq!(shape.to_shape().expect("a shape"), [2, 3]);
    }
    assert_eq!(7.to_shape().expect("one axis"), [7]);
    assert!(().to_shape().expect("no axis").is_empty());
    let error = [2, -3].to_shape().expect_err("negative").to_string();
    assert_eq!(error, "axis 1 has length -3; the minimum is 0");
}

#[test]
fn selections_are_of_any_integers() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let array = table(folder.path())?;
    let (row, from, to) = (1usize, 2i64, 4u32);
    assert_eq!(array.read::<f32>((row, 2..4))?, [12.0, 13.0]);
    assert_eq!(array.read::<f32>((1, from..4))?, [12.0, 13.0]);
    assert_eq!(array.read::<f32>((1u8, ..to))?, [10.0, 11.0, 12.0, 13.0]);
    assert_eq!(array.read::<f32>((-1, -2..))?, [34.0, 35.0]);
    assert_eq!(array.read::<f32>((.., -1))?, [5.0, 15.0, 25.0, 35.0]);
    assert_eq!(array.read::<f32>(([-1, 0], [0usize, 5]))?, [30.0, 35.0, 0.0, 5.0]);
    assert_eq!(array.read::<f32>(s![-1, ..;-2])?, [35.0, 33.0, 31.0]);
    assert_eq!(array.read_element::<f32>((3, -1))?, 35.0);
    array.write((-1, ..), &[9f32; 6])?;
    assert_eq!(array.read::<f32>(s![3, ..])?, [9.0; 6]);
    Ok(())
}

#[test]
fn ndarray_arrays_have_the_axes_that_are_asked_for() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let array = table(folder.path())?;
    let part: Array2<f32> = array.read_ndarray((1..3, 4..))?;
    assert_eq!(part, ndarray::array![[14.0, 15.0], [24.0, 25.0]]);
    assert_eq!(array.read_ndarray::<f32, Ix1>((2, ..2))?, ndarray::array![20.0, 21.0]);
    assert_eq!(array.read_ndarray::<f32, IxDyn>(..)?.shape(), [4, 6]);
    let error = array.read_ndarray::<f32, Ix2>((2, ..)).expect_err("one axis").to_string();
    assert!(error.contains("the selection has shape [6], an `Ix2` has 2 axes"), "{error}");
    // Arrays, references to them and views of them, in any order in memory.
    let turned = Array2::from_shape_fn((6, 4), |(x, y)| (x + 100 * y) as f32);
    array.write_ndarray(.., turned.t())?;
    assert_eq!(array.read_element::<f32>((2, 1))?, 201.0);
    array
        .write_ndarray(
            ..,
            &part
                .broadcast((2, 2, 2))
                .expect("repeated")
                .into_owned()
                .into_shape_with_order((4, 2))
                .expect("8"),
        )
        .expect_err("another shape");
    array.write_ndarray((..2, ..2), &part)?;
    assert_eq!(array.read::<f32>((..2, ..2))?, [14.0, 15.0, 24.0, 25.0]);
    Ok(())
}

#[test]
fn attributes_are_read_and_set_as_json() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let array = table(folder.path())?;
    array.set_attribute("range", [1.5, 2.0])?;
    array.set_attribute("model", json!({ "name": "ERA5", "steps": [1, 2] }))?;
    array.set_attribute("missing", f64::NAN)?;
    array.set_attribute("levels", vec![1u8, 2])?;
    array.set_attribute("comment", None::<String>)?;
    let attributes = zarr::open_array(folder.path().join("data.zarr/group/table"))?.attributes();
    assert_eq!(attributes["units"], "K");
    assert_eq!(attributes["units"].as_f64(), None);
    assert_eq!(attributes["range"][0].as_f64(), Some(1.5));
    assert!(attributes["missing"].as_f64().is_some_and(f64::is_nan));
    assert_eq!(attributes["model"]["steps"][1].as_u64(), Some(2));
    assert!(attributes["comment"].is_null() && attributes["absent"]["deeper"][3].is_null());
    let value = serde_json::Value::from(attributes.clone());
    assert_eq!(value["model"], json!({ "name": "ERA5", "steps": [1, 2] }));
    assert_eq!(Object::try_from(value).expect("an object"), attributes);
    let error = Object::try_from(json!([1])).expect_err("no object").to_string();
    assert_eq!(error, "attributes are a JSON object, not an array");
    let members: serde_json::Map<String, serde_json::Value> = attributes.clone().into();
    assert_eq!(Object::from(members), attributes);
    let serialized = serde_json::to_value(&attributes).expect("JSON");
    assert_eq!(serialized, serde_json::Value::from(attributes.clone()));
    assert_eq!(attributes.to_string(), Json::from(attributes.clone()).to_string());
    let names: Vec<&str> = (&attributes).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["units", "range", "model", "missing", "levels", "comment"]);
    let group = zarr::open_rw(folder.path().join("data.zarr/group"))?.into_group()?;
    group.set_attribute("title", "sea")?;
    let again = zarr::open_group(folder.path().join("data.zarr/group"))?;
    assert_eq!(again.attributes()["title"], "sea");
    Ok(())
}

#[test]
fn new_attributes_are_any_that_become_an_object() -> Result<()> {
    let hierarchy = zarr::create("memory://first-attributes", Dialect::V3)?;
    let new = |name: &str| hierarchy.create_array(name).shape(4).data_type_of::<u8>();
    let expected = json!({ "units": "K", "levels": [1, 2] });
    let object = Object::try_from(expected.clone()).expect("an object");
    let list = [("units", Json::from("K")), ("levels", Json::from([1, 2]))];
    for array in [
        new("a").attributes(expected.clone()).create()?,
        new("b").attributes(object).create()?,
        new("c").attributes(list).create()?,
        new("d").attributes(json!({ "units": "K" })).attribute("levels", [1, 2]).create()?,
    ] {
        assert_eq!(serde_json::Value::from(array.attributes()), expected);
    }
    let refused = new("e").attributes(json!("K")).attribute("n", 1).create();
    let error = refused.expect_err("no object").to_string();
    assert!(error.contains("attributes are a JSON object, not a string"), "{error}");
    Ok(())
}

#[test]
fn one_value_fills_a_selection() -> Result<()> {
    let hierarchy = zarr::create("memory://first-fill", Dialect::V3)?;
    let numbers = hierarchy.create_array("n").shape([4, 6]).chunks([3, 4]).data_type("float32");
    let numbers = numbers.create()?;
    numbers.fill((1..3, -1), 2.5f32)?;
    assert_eq!(numbers.read::<f32>((.., 5))?, [0.0, 2.5, 2.5, 0.0]);
    let error = numbers.fill(.., 1u8).expect_err("another type").to_string();
    assert!(error.contains("elements are `float32`, not `u8`"), "{error}");
    let texts = hierarchy.create_array("t").shape(3).data_type_of::<String>().create()?;
    texts.fill(1.., "sea".to_owned())?;
    assert_eq!(texts.read::<String>(..)?, ["", "sea", "sea"]);
    let flags = hierarchy.create_array("f").shape(3).data_type_of::<bool>().create()?;
    flags.fill(..2, true)?;
    assert_eq!(flags.read::<bool>(..)?, [true, true, false]);
    Ok(())
}

#[cfg(feature = "url")]
#[test]
fn urls_are_places() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a b.zarr/x");
    let url = url::Url::from_file_path(&path).expect("an absolute path");
    zarr::create_array(&url)?.shape(3).data_type_of::<u8>().create()?;
    assert_eq!(zarr::open_array(url)?.shape(), [3]);
    assert!(path.join("zarr.json").exists());
    let remote = url::Url::parse("https://data.example/d.zarr?token=1").expect("a URL");
    assert_eq!(remote.to_url()?, "https://data.example/d.zarr?token=1");
    Ok(())
}

#[test]
fn json_of_serde_comes_and_goes() {
    let text = r#"{"b":[1,-2,18446744073709551615,2.5,1e+300,true,null,"t"],"a":{}}"#;
    let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let ours = Json::from(value.clone());
    assert_eq!(ours.to_string(), text);
    assert_eq!(serde_json::Value::from(ours), value);
    let long = Json::parse(b"[0.1000000000000000055511151231257827, 1e999]");
    let long = serde_json::Value::from(long.expect("JSON"));
    assert_eq!(long, json!([0.1, "1e999"]));
}

#[test]
fn types_and_codecs_are_named_as_they_are_spelled() -> Result<()> {
    let hierarchy = zarr::create("memory://first-types", Dialect::V3)?;
    let of = |name: &str| hierarchy.create_array(name).shape(4);
    assert_eq!(of("a").data_type("int16").create()?.data_type(), DataType::Int16);
    assert_eq!(of("b").data_type_of::<u8>().create()?.data_type(), DataType::Uint8);
    assert_eq!(of("c").data_type_of::<String>().create()?.data_type(), DataType::String);
    assert_eq!(of("d").data_type_of::<bool>().create()?.data_type(), DataType::Bool);
    assert_eq!(
        of("e").data_type(zarr::CoreType::Float64).create()?.data_type().to_string(),
        "float64"
    );
    let raw = of("f").data_type_of::<[u8; 3]>().create()?;
    assert_eq!(raw.data_type(), DataType::Raw { size: 3 });
    let codec = |array: &Array| array.codecs().last().expect("a codec").to_string();
    let by_text = of("g").data_type(DataType::Int8).codec("gzip:9").create()?;
    let spec: CodecSpec = "gzip:9".parse()?;
    let by_spec = of("h").data_type(DataType::Int8).codec(&spec).create()?;
    assert_eq!((codec(&by_text), codec(&by_spec)), (spec.to_string(), spec.to_string()));
    // `none` is what the program's `--codec` takes.
    let plain = of("i").data_type(DataType::Int8).codec("none").create()?;
    assert_eq!(codec(&plain), "bytes");
    Ok(())
}

#[test]
fn handles_are_shown_in_a_line_and_hierarchies_as_trees() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let array = table(folder.path())?;
    let url = format!("file://{}/data.zarr", folder.path().display());
    let shown = format!("{array:?}").replace(&url, "URL");
    assert_eq!(shown, "Array(URL /group/table, float32, shape [4, 6], chunks [2, 3])");
    let root = zarr::open_group(folder.path().join("data.zarr"))?;
    assert_eq!(format!("{root:?}").replace(&url, "URL"), "Group(URL)");
    assert_eq!(format!("{:?}", root.hierarchy()).replace(&url, "URL"), "Hierarchy v3(URL)");
    let expected = "\
/
└── group
    └── table  float32 [4, 6] (y, x)
";
    assert_eq!(root.tree_text()?, expected);
    assert_eq!(zarr::open(folder.path().join("data.zarr"))?.tree_text()?, expected);
    let table = zarr::open(folder.path().join("data.zarr/group/table"))?.tree_text()?;
    assert_eq!(table, "/  float32 [4, 6] (y, x)\n");
    assert_eq!(root.group("group")?.tree_text()?, "/\n└── table  float32 [4, 6] (y, x)\n");
    Ok(())
}
