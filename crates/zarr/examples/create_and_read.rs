//! Creates an array in a temporary folder, writes a part, reads a row.

fn main() -> zarr::Result<()> {
    let path = std::env::temp_dir().join(format!("zarr-example-{}.zarr", std::process::id()));
    let array = zarr::create_array(path.join("temperature"))?
        .shape([365, 180, 360])
        .chunks([1, 90, 90])
        .data_type(zarr::DataType::Float32)
        .fill_value("NaN")
        .codec("zstd:3")
        .dimension_names(["day", "lat", "lon"])
        .create()?;
    array.write((0, 10..12, ..), &vec![21.5f32; 2 * 360])?;

    let array = zarr::open(&path)?.into_group()?.array("temperature")?;
    let row = array.read::<f32>((0, 10, ..))?;
    println!("day 0, row 10: {} elements, the first is {}", row.len(), row[0]);
    zarr::open_rw(&path)?.hierarchy().erase("/")?;
    Ok(())
}
