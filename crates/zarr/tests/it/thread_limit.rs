//! A process that gets no more threads: what needs one is an error, and everything else is done by the caller's. Nothing panics.

#![cfg(all(feature = "http", feature = "s3", feature = "filesystem", feature = "sharding"))]

use zarr::{Dialect, NodePath, OpenOptions, Result};
use zarr_testkit::run_test_again;

const CHILD: &str = "ZARR_TEST_WITHOUT_THREADS";

/// Stacks of 64 TiB: no thread of the child can be started, as under a limit of threads.
const NO_STACK: &str = "70368744177664";

#[test]
fn a_process_without_threads_reads_and_writes_and_tells_what_it_cannot() {
    if let Ok(folder) = std::env::var(CHILD) {
        return without_threads(&folder).expect("it works without threads");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let name = "a_process_without_threads_reads_and_writes_and_tells_what_it_cannot";
    let variables = [(CHILD, folder.path().as_os_str()), ("RUST_MIN_STACK", NO_STACK.as_ref())];
    let said = run_test_again(module_path!(), name, variables);
    assert!(!said.contains("panicked"), "{said}");
}

fn without_threads(folder: &str) -> Result<()> {
    std::thread::Builder::new().spawn(|| ()).expect_err("there are threads");
    let url = format!("{folder}/x.zarr");
    let options = OpenOptions::new(zarr::standard()).read_write().threads(8);
    let hierarchy = zarr::create_with(&url, Dialect::V3, &options)?;
    let array = hierarchy.create_array(&NodePath::new("/a")?).shape(&[4000]).chunks(&[10]);
    let array = array.shards(&[1000]).data_type_named("uint16").create()?;
    let elements: Vec<u16> = (0..4000).collect();
    array.write(.., &elements)?;
    array.write(7..9, &[7u16, 8])?;
    assert_eq!(array.read::<u16>(..)?, elements);
    let url = format!("{url}/a");
    let array = zarr::runtime::block_on(zarr::aio::open(&url))?.into_array()?;
    assert_eq!(zarr::runtime::block_on(array.read::<u16>(..))?, elements);
    // Twice: a failed start is not remembered as one that succeeded.
    for url in
        ["http://127.0.0.1:1/x", "http://localhost:1/x", "s3://bucket/x", "http://127.0.0.1:1/x"]
    {
        let error = zarr::open(url).map(drop).expect_err("it needs a thread").to_string();
        assert!(error.contains("cannot start `a thread for requests`"), "{error}");
    }
    Ok(())
}
