//! How many requests the first element of each format takes (V-110), and how much memory references take (V-025).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use zarr_core::Hierarchy;
use zarr_core::runtime::block_on;
use zarr_core::store::{ObservedStore, Store, StoreKey};
use zarr_testkit::{Counters, Latency, Remote};
use zarr_virtual::hdf5::Hdf5;
use zarr_virtual::icechunk::{Icechunk, IcechunkOptions, Wanted};
use zarr_virtual::n5::{Axes, N5};
use zarr_virtual::netcdf3::Netcdf3;
use zarr_virtual::parquet::{ParquetOptions, ParquetReferences};
use zarr_virtual::reach::Reach;
use zarr_virtual::references::{ReferenceOptions, References};
use zarr_virtual::{OpenTargetStore, ReferenceStore, Source, Target};

use crate::common::{data, options, registry};

/// A folder as a remote store, whose requests are counted.
fn remote(folder: &Path, counters: &Counters) -> Arc<dyn Store> {
    let local = options().store(folder.to_str().unwrap()).unwrap();
    Arc::new(ObservedStore::new(Arc::new(Remote(local)), counters.clone()))
}

/// How many requests opening a format and reading the first element of an array take.
fn requests<S: Source>(array: &str, open: impl AsyncFnOnce(&Counters) -> S) -> u64 {
    let counters = Counters::default();
    let source = block_on(open(&counters));
    let hierarchy = Hierarchy::open(ReferenceStore::over(source), &options()).unwrap();
    let array = hierarchy.array(array).unwrap();
    let first: Vec<std::ops::Range<u64>> = array.shape().iter().map(|_| 0..1).collect();
    array.read_bytes(&zarr_core::Region::new(first)).unwrap();
    // A read beyond the end of a file fails here. A server answers it with what there is, and the read after it needs no request.
    let total = counters.total();
    total.calls - total.failed
}

fn file(folder: &Path, name: &str, counters: &Counters) -> Target {
    Target::new(remote(folder, counters), StoreKey::new(name).unwrap())
}

/// Finds every target in the folder of the test data.
fn targets(counters: &Counters) -> OpenTargetStore {
    let store = remote(&data(""), counters);
    Arc::new(move |_| Ok(store.clone()))
}

fn reach() -> Reach {
    Reach::new("s3://bucket/kerchunk.json", None, []).unwrap()
}

#[test]
fn the_first_element_of_a_netcdf_3_file_takes_2_requests() {
    let count = requests("fixed_i2", async |counters: &Counters| {
        Netcdf3::open(file(&data(""), "classic.nc", counters)).await.unwrap()
    });
    assert_eq!(count, 2);
}

#[test]
fn the_first_element_of_an_hdf5_file_takes_3_requests() {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "data", "joined"].iter().collect();
    let count = requests("temp", async |counters: &Counters| {
        Hdf5::open(file(&folder, "nc4-1.nc", counters), registry()).await.unwrap()
    });
    // V-110 allows 4: this file is shorter than what is fetched first.
    assert_eq!(count, 3);
}

#[test]
fn the_first_element_of_references_takes_2_requests() {
    let count = requests("fixed_i2", async |counters: &Counters| {
        let options = ReferenceOptions { reach: reach(), ..ReferenceOptions::default() };
        let refs = file(&data(""), "kerchunk.json", counters);
        References::open(&refs, options, targets(counters)).await.unwrap()
    });
    assert_eq!(count, 2);
}

#[test]
fn the_first_element_of_references_in_parquet_takes_3_requests() {
    let count = requests("fixed_i2", async |counters: &Counters| {
        let options = ParquetOptions {
            name: String::new(),
            options: Vec::new(),
            target: None,
            reach: reach(),
        };
        let refs = remote(&data("kerchunk.parq"), counters);
        ParquetReferences::open(refs, options, targets(counters)).await.unwrap()
    });
    assert_eq!(count, 3);
}

#[test]
fn the_first_element_of_n5_takes_3_requests() {
    let count = requests("u2", async |counters: &Counters| {
        N5::new(remote(&data("zarr2.n5"), counters), Axes::AsStored)
    });
    assert_eq!(count, 3);
}

#[test]
fn the_first_element_of_an_icechunk_repository_takes_4_requests() {
    // Version 1 looks for the file of version 2, and whether the branch was deleted.
    for (repository, expected) in [("ice2", 4), ("ice1", 6)] {
        let count = requests("a/large", async |counters: &Counters| {
            let options = IcechunkOptions {
                link: String::new(),
                options: Vec::new(),
                wanted: Wanted::Branch("main".into()),
                reach: reach(),
                containers: Default::default(),
            };
            let store = remote(&data(repository), counters);
            Icechunk::open(store, options, targets(counters)).await.unwrap()
        });
        assert_eq!(count, expected, "{repository}");
    }
}

/// Readers of many chunks that need the same index at the same time read it once.
#[test]
fn readers_at_the_same_time_read_an_index_once() {
    let counters = Counters::default();
    let options_of_parquet =
        ParquetOptions { name: String::new(), options: Vec::new(), target: None, reach: reach() };
    // Answers that take some time.
    let latency = Latency { request: Duration::from_millis(5), ..Latency::default() };
    let refs = ObservedStore::new(remote(&data("kerchunk.parq"), &counters), latency);
    let parquet = ParquetReferences::open(Arc::new(refs), options_of_parquet, targets(&counters));
    let store = ReferenceStore::over(block_on(parquet).unwrap());
    counters.take();
    // The first three of the four records are in one file of references.
    let keys = ["record_i4/0.0", "record_i4/1.0", "record_i4/2.0"];
    let keys = keys.map(|key| StoreKey::new(key).unwrap());
    let reads = keys.iter().map(|key| store.get(key, Default::default()));
    for got in block_on(futures::future::join_all(reads)) {
        assert_eq!(got.unwrap().unwrap().size, 12);
    }
    // One of the file with the rows, one of the three records.
    assert_eq!(counters.total().calls, 2, "{counters}");
}

#[cfg(target_os = "linux")]
const REFS: &str = "ZARR_TEST_MANY_REFERENCES";

/// The child's part: opens the references that the parent wrote, reads one, and tells by how much the peak of its memory grew.
#[cfg(target_os = "linux")]
#[test]
fn child() {
    let Some(path) = std::env::var_os(REFS) else { return };
    let open = |path: &Path| options().store(&format!("kerchunk::{}", path.display())).unwrap();
    // The code that reads is counted, too, when it first runs.
    open(&data("kerchunk.json"));
    let before = zarr_testkit::peak_memory().expect("Linux tells");
    let store = open(Path::new(&path)).to_sync();
    let grown = zarr_testkit::peak_memory().expect("Linux tells") - before;
    let key = StoreKey::new("temperature/c/12/34/5").unwrap();
    assert_eq!(store.value(&key).unwrap().unwrap().len(), 7);
    println!("grown {grown}");
}

/// V-025: 10^6 references in 100 MB of JSON take at most 400 MB.
#[cfg(target_os = "linux")]
#[test]
fn references_take_at_most_four_times_their_size() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("a-folder-of-an-archive-with-a-long-name");
    std::fs::create_dir(&folder).unwrap();
    let count: u64 = zarr_testkit::sample(200_000, 1_000_000);
    let mut text = String::from("{\"version\":1,\"refs\":{\".zgroup\":\"{\\\"zarr_format\\\":2}\"");
    for n in 0..count {
        let (file, offset) = (n / 1000, n % 1000 * 123_456);
        let name = format!("a-folder-of-an-archive-with-a-long-name/temperature_{file:06}.nc");
        let (z, y, x) = (n / 1000, n / 10 % 100, n % 10);
        let key = format!("temperature/c/{z}/{y}/{x}");
        write!(text, ",\"{key}\":[\"{name}\",{offset},7]").unwrap();
    }
    text.push_str("}}");
    let path = dir.path().join("refs.json");
    std::fs::write(&path, &text).unwrap();
    std::fs::write(folder.join("temperature_000012.nc"), vec![0; 345 * 123_456 + 7]).unwrap();
    let output =
        zarr_testkit::test_command(module_path!(), "child").env(REFS, &path).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let grown = told.lines().find_map(|line| line.split_once("grown ")?.1.parse::<usize>().ok());
    let grown = grown.unwrap_or_else(|| panic!("the child ended with {}: {told}", output.status));
    let size = text.len();
    assert!(grown < 4 * size, "{} MiB of {} MiB", grown >> 20, size >> 20);
}
