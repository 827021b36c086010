//! A gridded time series: one process appends hour after hour, another reads beside it and sees whole hours alone.
//! netCDF's own programs open the dataset, too.

use std::process::Command;

use zarr::nczarr::schema::{Filter, Variable};
use zarr::nczarr::{Dataset, DatasetOptions, Dimension, Lengths, NewDataset, Slab, Type};

const HOURS: u64 = 24;
const GRID: [u64; 2] = [18, 36];

/// The field of an hour: a warm belt that goes around.
fn field(hour: f64) -> Vec<f32> {
    let cell = |n: u64| {
        let (lat, lon) = ((n / GRID[1]) as f64 * 10.0 - 85.0, (n % GRID[1]) as f64 * 10.0);
        (270.0 + 25.0 * lat.to_radians().cos() + 5.0 * (lon + 15.0 * hour).to_radians().cos())
            as f32
    };
    (0..GRID[0] * GRID[1]).map(cell).collect()
}

fn write(path: &str) -> zarr::Result<()> {
    let store = zarr::standard().open_store(path, zarr::Access::ReadWrite)?;
    let options = DatasetOptions::new(zarr::standard());
    let dataset = Dataset::create(store, &NewDataset::nczarr_v2(), &options)?;
    let root = dataset.root();
    root.set_attribute("Conventions", "CF-1.11")?;
    root.define_dimension(Dimension::unlimited("time"))?;
    root.define_dimension(Dimension::new("lat", GRID[0]))?;
    root.define_dimension(Dimension::new("lon", GRID[1]))?;
    let time = root.define_variable(&Variable::new("time", Type::Double, ["time"]))?;
    time.set_attribute("units", "hours since 2026-01-01")?;
    let mut air = Variable::new("air", Type::Float, ["time", "lat", "lon"]);
    air.storage.filters = vec![Filter::Shuffle, Filter::Deflate { level: 1 }];
    let air = root.define_variable(&air)?;
    let reader =
        Command::new(std::env::current_exe().expect("a program")).args([path, "read"]).spawn();
    for hour in 0..HOURS {
        dataset.append("/time", 1, |start| {
            let record = Slab::new([start, 0, 0], [1, GRID[0], GRID[1]]);
            air.write_slab(&record, field(hour as f64))?;
            time.write_slab(&Slab::new([start], [1]), vec![hour as f64])
        })?;
    }
    assert!(reader.and_then(|mut reader| reader.wait()).expect("a reader").success());
    Ok(())
}

fn read(path: &str) -> zarr::Result<()> {
    let options = DatasetOptions::new(zarr::standard()).lengths(Lengths::Published);
    let dataset = Dataset::locate(path, &options)?;
    let (time, air, mut seen) = (dataset.variable("time")?, dataset.variable("air")?, 0);
    while seen < HOURS {
        dataset.refresh()?;
        let there = dataset.dimension("/time")?.len;
        for hour in seen..there {
            let record = air.read_slab(&Slab::new([hour, 0, 0], [1, GRID[0], GRID[1]]))?;
            let at = time.read_slab(&Slab::new([hour], [1]))?;
            assert_eq!((record, at), (field(hour as f64).into(), vec![hour as f64].into()));
        }
        seen = there;
    }
    println!("the reader saw {seen} whole hours");
    Ok(())
}

fn main() -> zarr::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [path, _read] => read(path),
        [path] => write(path),
        _ => {
            let folder = tempfile::tempdir().expect("a folder");
            write(&folder.path().join("air.zarr").display().to_string())
        }
    }
}
