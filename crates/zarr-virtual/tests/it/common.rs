//! Shares the files of `tests/data`, and how elements are compared.

use std::path::PathBuf;

use zarr_core::{Array, Hierarchy, Json, OpenOptions, Registry};

/// A file in `tests/data`.
pub fn data(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "data", name].iter().collect()
}

/// A JSON file in `tests/data`.
pub fn expected(name: &str) -> Json {
    Json::parse(&std::fs::read(data(name)).unwrap()).unwrap()
}

/// Everything that a program knows that has this crate.
pub fn registry() -> Registry {
    Registry::new()
        .with(zarr_codecs::register)
        .with(zarr_stores::register)
        .with(zarr_virtual::register)
}

pub fn options() -> OpenOptions {
    OpenOptions::new(registry())
}

/// The hierarchy at a URL.
pub fn open(url: &str, options: &OpenOptions) -> zarr_core::Result<Hierarchy> {
    Hierarchy::locate(url, options).map(|(hierarchy, _)| hierarchy)
}

/// The elements as the scripts of `tests/data` write them.
pub fn elements(array: &Array) -> String {
    let bytes = array.read_le_bytes(..).unwrap();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares the shape and the elements of an array with `shape` and `values` of a description.
pub fn check_array(array: &Array, described: &Json) {
    let shape: Vec<u64> =
        described["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    assert_eq!(array.shape(), shape, "{}", array.path());
    assert_eq!(elements(array), described["values"].as_str().unwrap(), "{}", array.path());
}

/// Numbers that look like chance, the same in each run.
pub struct Noise(pub u64);

impl Noise {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((self.0 >> 33) as usize) % end
    }
}
