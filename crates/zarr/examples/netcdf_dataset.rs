//! A gridded time series: one process appends hour after hour, another reads beside it and sees whole hours alone.

use zarr::nczarr::schema::{Filter, Variable};
use zarr::nczarr::{Dataset, DatasetOptions, Dimension, Lengths, NcUrl, Slab, Type};

const HOURS: u64 = 24;
const GRID: [u64; 2] = [18, 36];

fn field(hour: u64) -> (Slab, Vec<f32>) {
    let cells = (0..GRID[0] * GRID[1]).map(|cell| 250.0 + hour as f32 + cell as f32 / 10.0);
    (Slab::new([hour, 0, 0], [1, GRID[0], GRID[1]]), cells.collect())
}

fn write(path: &str) -> zarr::Result<()> {
    let url = NcUrl::parse(&format!("{path}#mode=nczarr,file"))?;
    let dataset = url.create(&DatasetOptions::new(zarr::standard()))?;
    let root = dataset.root();
    root.define_dimension(Dimension::unlimited("time"))?;
    root.define_dimension(Dimension::new("lat", GRID[0]))?;
    root.define_dimension(Dimension::new("lon", GRID[1]))?;
    let time = root.define_variable(&Variable::new("time", Type::Double, ["time"]))?;
    time.set_attribute("units", "hours since 2026-01-01")?;
    let mut air = Variable::new("air", Type::Float, ["time", "lat", "lon"]);
    air.storage.filters = vec![Filter::Shuffle, Filter::Deflate { level: 1 }];
    let air = root.define_variable(&air)?;
    let program = std::env::current_exe().expect("a program");
    let reader = std::process::Command::new(program).arg(path).spawn();
    for _ in 0..HOURS {
        dataset.append("/time", 1, |hour| {
            let (record, cells) = field(hour);
            air.write_slab(&record, cells)?;
            time.write_slab(&Slab::new([hour], [1]), vec![hour as f64])
        })?;
    }
    assert!(reader.and_then(|mut reader| reader.wait()).expect("a reader").success());
    Ok(())
}

fn read(path: &str) -> zarr::Result<()> {
    let options = DatasetOptions::new(zarr::standard()).lengths(Lengths::Published);
    let dataset = Dataset::locate(path, &options)?;
    let (air, mut seen) = (dataset.variable("air")?, 0);
    while seen < HOURS {
        dataset.refresh()?;
        while seen < dataset.dimension("/time")?.len {
            let (record, cells) = field(seen);
            assert_eq!(air.read_slab(&record)?, cells.into());
            seen += 1;
        }
    }
    println!("the reader saw {seen} whole hours");
    Ok(())
}

fn main() -> zarr::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let new = folder.path().join("air.zarr");
    std::env::args().nth(1).map_or_else(|| write(&new.to_string_lossy()), |path| read(&path))
}
