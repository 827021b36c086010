//! What does changing a part of a shard cost, and what does it leave alone?

use std::env;
use std::fs;
use std::process::Command;
use std::sync::Arc;

use zarr::format::of_dialect;
use zarr::store::{Store, StoreKey};
use zarr::stores::{FilesystemStore, MemoryStore};
use zarr::{Array, Dialect, ErrorKind, Hierarchy, NodePath, OpenOptions, Result};

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn path() -> NodePath {
    NodePath::new("/a").unwrap()
}

fn create(store: Arc<dyn Store>, options: &OpenOptions) -> Hierarchy {
    Hierarchy::create(store, of_dialect(Dialect::V3), options).unwrap()
}

/// One shard of bytes, its index without a checksum, at this place.
fn shard_of(hierarchy: &Hierarchy, shape: u64, inner: u64, location: &str) -> Result<Array> {
    let codec = format!(
        r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":[{inner}],
        "codecs":[{{"name":"bytes"}}],"index_location":"{location}",
        "index_codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}]}}}}"#
    );
    let builder = hierarchy.create_array(&path()).shape(&[shape]).chunks(&[shape]);
    builder.data_type_named("uint8").codec(zarr::codec(&codec)?).create()
}

fn stored(hierarchy: &Hierarchy) -> Vec<u8> {
    let key = StoreKey::new("a/c/0").unwrap();
    hierarchy.store().readable().unwrap().get(&key).unwrap().unwrap().to_vec()
}

fn store(hierarchy: &Hierarchy, entries: &[(u64, u64)], data: &[u8]) {
    let entries = entries.iter().flat_map(|(at, len)| [at.to_le_bytes(), len.to_le_bytes()]);
    let shard = [data, &entries.collect::<Vec<_>>().concat()].concat();
    let key = StoreKey::new("a/c/0").unwrap();
    hierarchy.store().writeable().unwrap().set(&key, (&shard[..]).into()).unwrap();
}

/// A shard that is to be kept though nothing but fill is in it has its index, not nothing.
#[test]
fn a_shard_of_fill_that_is_kept_can_be_read() -> Result<()> {
    for location in ["start", "end"] {
        let mut options = options();
        options.options.keep_fill_chunks = true;
        let hierarchy = create(Arc::new(MemoryStore::new()), &options);
        let array = shard_of(&hierarchy, 8, 2, location)?;
        array.write(3, &[5u8])?;
        array.write(3, &[0u8])?;
        assert_eq!(stored(&hierarchy), [0xff; 64]);
        assert_eq!(array.read::<u8>(..)?, [0; 8]);
        assert_eq!(array.read::<u8>(3)?, [0]);
    }
    Ok(())
}

/// F-090: inner chunks that share bytes go on sharing them; gaps are closed.
#[test]
fn shared_bytes_stay_shared() -> Result<()> {
    let hierarchy = create(Arc::new(MemoryStore::new()), &options());
    let array = shard_of(&hierarchy, 8, 2, "end")?;
    store(&hierarchy, &[(2, 2), (2, 2), (6, 2), (2, 2)], &[99, 99, 1, 2, 99, 99, 3, 4]);
    assert_eq!(array.read::<u8>(..)?, [1, 2, 1, 2, 3, 4, 1, 2]);
    array.write(5, &[7u8])?;
    assert_eq!(array.read::<u8>(..)?, [1, 2, 1, 2, 3, 7, 1, 2]);
    assert_eq!(stored(&hierarchy)[..4], [1, 2, 3, 7]);
    assert_eq!(stored(&hierarchy).len(), 4 + 64);
    Ok(())
}

/// Entries cannot make a small object grow into a large one.
#[test]
fn entries_that_overlap_are_not_written_out() -> Result<()> {
    let hierarchy = create(Arc::new(MemoryStore::new()), &options());
    let array = shard_of(&hierarchy, 200, 2, "end")?;
    let entries: Vec<(u64, u64)> = (0..100).map(|n| (n, 1500)).collect();
    store(&hierarchy, &entries, &[1; 10]);
    let refused = array.write(0, &[1u8]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::CorruptData, "{refused}");
    store(&hierarchy, &[(1 << 40, 2); 100], &[1; 10]);
    let refused = array.write(0..2, &[1u8; 2]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::CorruptData, "{refused}");
    Ok(())
}

/// An index that the document says to be immense is an error, not memory.
#[test]
fn an_immense_index_is_refused() -> Result<()> {
    let hierarchy = create(Arc::new(MemoryStore::new()), &options());
    let array = shard_of(&hierarchy, 1 << 50, 1, "end")?;
    assert_eq!(array.read::<u8>(7)?, [0]);
    assert!(array.write(7, &[1u8]).is_err());
    store(&hierarchy, &[(0, 1)], &[1]);
    assert_eq!(array.read::<u8>(7).unwrap_err().kind(), ErrorKind::CorruptData);
    assert!(array.write(7, &[1u8]).is_err());
    Ok(())
}

const FOLDER: &str = "ZARR_TEST_LARGE_SHARD";
const MIB: u64 = 1 << 20;
const LARGE: u64 = 256 * MIB;

/// The most memory this process ever held, in bytes.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// A shard of 256 MiB of which one inner chunk changes is rewritten without being held, let alone decoded: in
/// a process of its own, whose peak tells. So is a first inner chunk written into a shard that is not there.
#[test]
fn a_large_shard_is_changed_without_being_held() {
    let Some(before) = peak() else { return };
    if let Some(folder) = env::var_os(FOLDER) {
        let hierarchy =
            Hierarchy::open(Arc::new(FilesystemStore::new(folder)), &options()).unwrap();
        let array = hierarchy.array(&path()).unwrap();
        array.write(100 * MIB..100 * MIB + 10, &[9u8; 10]).unwrap();
        let grown = peak().unwrap() - before;
        assert!(grown < 24 * MIB, "the peak grew by {} MiB", grown / MIB);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hierarchy = create(Arc::new(FilesystemStore::new(folder.path())), &options());
    let array = shard_of(&hierarchy, LARGE, MIB, "end").unwrap();
    let change = || {
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["a_large_shard_is_changed_without_being_held", "--exact", "--nocapture"]);
        assert!(child.env(FOLDER, folder.path()).status().unwrap().success());
        assert_eq!(array.read::<u8>(100 * MIB - 1..100 * MIB + 11).unwrap()[1..11], [9; 10]);
    };
    change();
    let elements = (1..=255).collect::<Vec<u8>>().repeat(LARGE as usize / 255 + 1);
    let elements = &elements[..LARGE as usize];
    array.write(.., elements).unwrap();
    let old = stored(&hierarchy);
    change();
    let new = stored(&hierarchy);
    let (from, to) = (100 * MIB as usize, 101 * MIB as usize);
    assert!(new[..from] == old[..from] && new[to..] == old[to..], "the rest is as it was");
}
