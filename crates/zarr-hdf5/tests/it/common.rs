//! The files of the tests, and reading them in small blocks.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use zarr_hdf5::{Blocks, Failure, File, Result, complete};

/// A file in memory that is read through blocks of a few bytes, so that every structure is missed and every one lies in several.
pub struct Opened {
    pub blocks: Blocks,
    bytes: Vec<u8>,
    pub file: File,
    pub fetches: usize,
}

impl Opened {
    pub fn new(bytes: Vec<u8>, block_length: u64) -> std::result::Result<Opened, Failure> {
        let mut blocks = Blocks::new(bytes.len() as u64, block_length);
        let file = complete(&mut blocks, |range| Ok(part(&bytes, range)), File::parse)?;
        Ok(Opened { blocks, bytes, file, fetches: 0 })
    }

    /// Runs a step to its end.
    pub fn run<T>(
        &mut self,
        mut step: impl FnMut(&File, &Blocks) -> Result<T>,
    ) -> std::result::Result<T, Failure> {
        let Opened { blocks, bytes, file, fetches } = self;
        let fetch = |range| {
            *fetches += 1;
            Ok(part(bytes, range))
        };
        complete(blocks, fetch, |blocks| step(file, blocks))
    }
}

fn part(bytes: &[u8], range: Range<u64>) -> Vec<u8> {
    bytes[range.start as usize..range.end as usize].to_vec()
}

/// All files with what h5py sees in them. A folder of further ones is taken from `ZARR_HDF5_FILES`.
pub fn files() -> Vec<(PathBuf, Vec<u8>, Json)> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let further = std::env::var_os("ZARR_HDF5_FILES").map(PathBuf::from);
    let mut found = Vec::new();
    for folder in [Some(own), further].into_iter().flatten() {
        for entry in fs::read_dir(&folder).expect("the folder of the files can be read") {
            let path = entry.expect("the folder can be listed").path();
            if path.extension().is_some_and(|extension| extension == "h5") {
                let bytes = fs::read(&path).expect("the file can be read");
                let expected =
                    fs::read(path.with_extension("json")).expect("h5py's view is beside");
                let expected = serde_json::from_slice(&expected).expect("it is JSON");
                found.push((path, bytes, expected));
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(!found.is_empty(), "no files");
    found
}
