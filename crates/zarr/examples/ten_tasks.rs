//! Ten small tasks, as they are first typed. They run in a temporary folder.

use ndarray::{Array2, Array3, Ix1, Ix2, s};
use zarr::{DataType, ndarray};

type AnyError = Box<dyn std::error::Error>;

fn main() -> Result<(), AnyError> {
    let folder = std::env::temp_dir().join(format!("zarr-ten-tasks-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    std::env::set_current_dir(&folder)?;
    create_and_write_an_array()?;
    read_a_region()?;
    attributes()?;
    list_children()?;
    compress()?;
    negative_indices()?;
    append()?;
    read_one_element()?;
    draw_a_tree()?;
    println!(
        "{:?}",
        open_over_http("http://127.0.0.1:9/data.zarr/temperature").unwrap_err().kind()
    );
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

/// 1. Create an array, and write an `ndarray` array to it.
fn create_and_write_an_array() -> Result<(), AnyError> {
    let days = Array3::<f32>::from_shape_fn((4, 6, 8), |(t, y, x)| (t * 100 + y * 10 + x) as f32);
    let array = zarr::create_array("data.zarr/temperature")?
        .shape(days.shape())
        .chunks([1, 6, 8])
        .data_type(DataType::Float32)
        .codec("zstd:3")
        .dimension_names(["time", "lat", "lon"])
        .attribute("units", "K")
        .create()?;
    array.write_ndarray(.., &days)?;
    println!("{array:?}");
    Ok(())
}

/// 2. Open an array, and read a region of it.
fn read_a_region() -> Result<(), AnyError> {
    let array = zarr::open_array("data.zarr/temperature")?;
    let table: Array2<f32> = array.read_ndarray((2, 1..3, ..))?;
    assert_eq!(table, array.read_ndarray::<f32, Ix2>(s![2, 1..3, ..])?);
    assert_eq!((table.dim(), table[[0, 7]]), ((2, 8), 217.0));
    Ok(())
}

/// 3. Set and get attributes.
fn attributes() -> Result<(), AnyError> {
    let array = zarr::open_rw("data.zarr/temperature")?.into_array()?;
    array.set_attribute("valid_range", [180.0, 340.0])?;
    let attributes = zarr::open_array("data.zarr/temperature")?.attributes();
    assert_eq!(attributes["units"], "K");
    assert_eq!(attributes["valid_range"][1].as_f64(), Some(340.0));
    assert!(attributes["absent"].is_null());
    let value = serde_json::Value::from(attributes);
    assert_eq!(value["units"], serde_json::json!("K"));
    array.set_attribute("source", serde_json::json!({ "model": "ERA5", "version": 2 }))?;
    Ok(())
}

/// 4. List what is in a group.
fn list_children() -> Result<(), AnyError> {
    zarr::create_group("data.zarr/ocean")?;
    for node in zarr::open_group("data.zarr")?.members()? {
        println!("{} is a {:?}", node.path(), node.kind());
    }
    Ok(())
}

/// 5. Compress: a codec by its name and level, or several of them.
fn compress() -> Result<(), AnyError> {
    let array = zarr::create_array("data.zarr/ocean/depth")?
        .shape((100, 100))
        .data_type_of::<i16>()
        .codec("shuffle")
        .codec("zstd:9")
        .create()?;
    array.write(.., &vec![7i16; 10_000])?;
    assert!(array.stored_size()?.bytes < 1000);
    Ok(())
}

/// 6. Open over HTTP, or from a bucket: the feature `http`, `s3`, `gcs` or `azure`.
fn open_over_http(url: &str) -> zarr::Result<Vec<f32>> {
    zarr::open_array(url)?.read((0, 0, ..))
}

/// 7. Count from an axis' end.
fn negative_indices() -> Result<(), AnyError> {
    let array = zarr::open_array("data.zarr/temperature")?;
    let last: Vec<f32> = array.read((-1, -2.., 0))?;
    assert_eq!(last, [340.0, 350.0]);
    let backwards = array.read_ndarray::<f32, Ix1>(s![0, 0, ..;-1])?;
    assert_eq!(backwards[0], 7.0);
    Ok(())
}

/// 8. Append along an axis.
fn append() -> Result<(), AnyError> {
    let array = zarr::open_rw("data.zarr/temperature")?.into_array()?;
    let start = array.append(0, &[0f32; 6 * 8])?;
    assert_eq!((start, array.shape()), (4, vec![5, 6, 8]));
    Ok(())
}

/// 9. Read one element.
fn read_one_element() -> Result<(), AnyError> {
    let array = zarr::open_array("data.zarr/temperature")?;
    let (time, lat, lon) = (3usize, 2usize, 1usize);
    let element: f32 = array.read_element((time, lat, lon))?;
    assert_eq!(element, 321.0);
    Ok(())
}

/// 10. Draw a hierarchy as a tree.
fn draw_a_tree() -> Result<(), AnyError> {
    println!("{}", zarr::open_group("data.zarr")?.tree_text()?);
    Ok(())
}
