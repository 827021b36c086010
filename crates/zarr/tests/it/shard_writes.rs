//! What a change of a part of a shard costs, and what it leaves unchanged.
#![cfg(all(feature = "filesystem", feature = "memory", feature = "sharding"))]

use std::borrow::Cow;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zarr::codec::{BytesToBytes, Codec, CodecSpec, DecodedSize, Names};
use zarr::format::of_dialect;
use zarr::store::{Store, StoreKey, from_sync};
use zarr::stores::{FilesystemStore, MemoryStore};
use zarr::{
    Array, CodecError, Dialect, ErrorKind, Hierarchy, NodePath, Object, OpenOptions, Result,
};
use zarr_testkit::{peak_memory, run_test_again};

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
    let builder = hierarchy.create_array(path()).shape(&[shape]).chunks(&[shape]);
    builder.data_type_named("uint8").codec(zarr::tools::codec(&codec)?).create()
}

fn stored(hierarchy: &Hierarchy) -> Vec<u8> {
    let key = StoreKey::new("a/c/0").unwrap();
    hierarchy.store().to_sync().value(&key).unwrap().unwrap().to_vec()
}

fn store(hierarchy: &Hierarchy, entries: &[(u64, u64)], data: &[u8]) {
    let entries = entries.iter().flat_map(|(at, len)| [at.to_le_bytes(), len.to_le_bytes()]);
    let shard = [data, &entries.collect::<Vec<_>>().concat()].concat();
    let key = StoreKey::new("a/c/0").unwrap();
    hierarchy.store().to_sync().set(&key, (&shard[..]).into()).unwrap();
}

/// A shard that is to be kept though nothing but fill is in it has its index, not nothing.
#[test]
fn a_shard_of_fill_that_is_kept_can_be_read() -> Result<()> {
    for location in ["start", "end"] {
        let mut options = options();
        options.options.keep_fill_chunks = true;
        let hierarchy = create(from_sync(MemoryStore::new()), &options);
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
    let hierarchy = create(from_sync(MemoryStore::new()), &options());
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
    let hierarchy = create(from_sync(MemoryStore::new()), &options());
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
    let hierarchy = create(from_sync(MemoryStore::new()), &options());
    let array = shard_of(&hierarchy, 1 << 50, 1, "end")?;
    assert_eq!(array.read::<u8>(7)?, [0]);
    assert!(array.write(7, &[1u8]).is_err());
    store(&hierarchy, &[(0, 1)], &[1]);
    assert_eq!(array.read::<u8>(7).unwrap_err().kind(), ErrorKind::Limit);
    assert!(array.write(7, &[1u8]).is_err());
    Ok(())
}

const COUNTING: &str = "https://example.org/zarr/codec/counting/1.0";
const REFUSING: &str = "https://example.org/zarr/codec/refusing/1.0";
static ENCODED: AtomicU64 = AtomicU64::new(0);
static DECODED: AtomicU64 = AtomicU64::new(0);

/// Bytes as they are; either chunks are counted, or such as hold 255 are refused.
#[derive(Debug)]
struct Watching {
    name: String,
}

impl BytesToBytes for Watching {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, CodecError> {
        if self.name == COUNTING {
            ENCODED.fetch_add(1, Ordering::Relaxed);
        } else if decoded.contains(&255) {
            let why = "255 is one too many".into();
            return Err(CodecError::Corrupt { codec: "refusing", why });
        }
        Ok(decoded)
    }

    fn decode<'a>(
        &self,
        encoded: Cow<'a, [u8]>,
        size: DecodedSize,
    ) -> Result<Cow<'a, [u8]>, CodecError> {
        if self.name == COUNTING {
            DECODED.fetch_add(1, Ordering::Relaxed);
        }
        size.check("watching", encoded.len() as u64)?;
        Ok(encoded)
    }

    fn to_metadata(&self, _: Dialect) -> Option<CodecSpec> {
        Some(CodecSpec::v3(&self.name, Object::new()))
    }
}

/// Two shards of bytes, each 8 inner chunks of 2, through this codec.
fn watched(store: Arc<dyn Store>, codec: &str) -> Result<Array> {
    const NAMES: Names = Names { v3: &[COUNTING, REFUSING], v2: &[], draft: &[] };
    let registry = zarr::standard().with(|registry| {
        registry.codec(&NAMES, |spec, _| {
            Ok(Codec::bytes_to_bytes(Watching { name: spec.name.clone() }))
        });
    });
    let hierarchy = create(store, &OpenOptions::new(registry).read_write());
    let builder = hierarchy.create_array(path()).shape(&[32]).chunks(&[2]).shards(&[16]);
    builder.data_type_named("uint8").codec(zarr::tools::codec(codec)?).create()
}

/// Only inner chunks of which some is left are decoded, and only those that change are encoded.
#[test]
fn what_a_change_does_not_touch_is_neither_decoded_nor_encoded() -> Result<()> {
    let array = watched(from_sync(MemoryStore::new()), COUNTING)?;
    let counts = || (ENCODED.swap(0, Ordering::Relaxed), DECODED.swap(0, Ordering::Relaxed));
    array.write(.., &[1u8; 32])?;
    assert_eq!(counts(), (16, 0));
    array.write(7, &[2u8])?;
    assert_eq!(counts(), (1, 1), "one element");
    array.write(4..8, &[3u8; 4])?;
    assert_eq!(counts(), (2, 0), "two inner chunks");
    array.write(5..9, &[4u8; 4])?;
    assert_eq!(counts(), (3, 2), "one inner chunk and two in part");
    array.write(13..20, &[0u8; 7])?;
    assert_eq!(counts(), (1, 1), "three inner chunks become fill");
    array.write(12..14, &[0u8; 2])?;
    assert_eq!(counts(), (0, 0), "fill is not encoded");
    array.read::<u8>(3..7)?;
    assert_eq!(counts(), (0, 3));
    Ok(())
}

/// A codec that stops in the middle of a shard: it is named, and the shard is as it was.
#[test]
fn a_shard_that_cannot_be_made_is_not_begun() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let stores: [Arc<dyn Store>; 2] =
        [from_sync(MemoryStore::new()), from_sync(FilesystemStore::new(folder.path()))];
    for store in stores {
        let array = watched(store.clone(), REFUSING)?;
        array.write(.., &[1u8; 32])?;
        let keys = || store.to_sync().list().unwrap();
        let before = keys();
        let mut elements = [2u8; 32];
        elements[11] = 255;
        let refused = array.write(.., &elements).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::CorruptData, "{refused}");
        let due = ": /a, chunk (0) at `a/c/0`: refusing: 255 is one too many";
        assert!(refused.to_string().ends_with(due), "{refused}");
        assert_eq!(array.read::<u8>(..16)?, [1; 16]);
        assert_eq!(keys(), before);
    }
    let left = fs::read_dir(folder.path().join("a/c")).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(left.filter(|name| name != ".zarr-lock").all(|name| ["0", "1"].contains(&&name[..])));
    Ok(())
}

const FOLDER: &str = "ZARR_TEST_LARGE_SHARD";
const MIB: u64 = 1 << 20;
const LARGE_SHARD_BYTES: u64 = 128 * MIB;

/// Does `work` in a process of its own, in which this test is called again, on what lies in `folder`.
fn alone(test: &str, folder: &Path, work: impl FnOnce(Array)) {
    if env::var_os(FOLDER).is_some() {
        let store = from_sync(FilesystemStore::new(folder));
        work(Hierarchy::open(store, &options()).unwrap().array(path()).unwrap());
        return;
    }
    run_test_again(module_path!(), test, [(FOLDER, folder)]);
}

/// A folder with an array of one large shard of inner chunks of 1 MiB; the parent's, or in a child as it is.
fn large() -> (PathBuf, Option<(tempfile::TempDir, Hierarchy)>) {
    if let Some(folder) = env::var_os(FOLDER) {
        return (folder.into(), None);
    }
    let folder = tempfile::tempdir().unwrap();
    let hierarchy = create(from_sync(FilesystemStore::new(folder.path())), &options());
    shard_of(&hierarchy, LARGE_SHARD_BYTES, MIB, "end").unwrap();
    (folder.path().to_owned(), Some((folder, hierarchy)))
}

fn many() -> Vec<u8> {
    let mut elements = (1..=255).collect::<Vec<u8>>().repeat(LARGE_SHARD_BYTES as usize / 255 + 1);
    elements.truncate(LARGE_SHARD_BYTES as usize);
    elements
}

/// Does `work`, and checks that the process did not hold 24 MiB more for it than ever before.
fn sparingly(work: impl FnOnce()) {
    let before = peak_memory();
    work();
    let grown = peak_memory().zip(before).map_or(0, |(after, before)| after - before);
    assert!(grown < 24 * MIB, "the peak grew by {} MiB", grown / MIB);
}

/// A large shard of which one inner chunk changes is rewritten without being held, let alone decoded: in a
/// process of its own, whose peak tells. So is a first inner chunk written into a shard that is not there.
#[test]
fn a_large_shard_is_changed_without_being_held() {
    let (folder, parent) = large();
    let change = || {
        alone("a_large_shard_is_changed_without_being_held", &folder, |array| {
            sparingly(|| array.write(100 * MIB..100 * MIB + 10, &[9u8; 10]).unwrap());
        });
    };
    change();
    let Some((_folder, hierarchy)) = parent else { return };
    let array = hierarchy.array(path()).unwrap();
    let check = || {
        let found = array.read::<u8>(100 * MIB - 1..100 * MIB + 11).unwrap();
        assert_eq!(found[1..11], [9; 10]);
    };
    check();
    array.write(.., &many()).unwrap();
    let old = stored(&hierarchy);
    change();
    check();
    let new = stored(&hierarchy);
    let (from, to) = (100 * MIB as usize, 101 * MIB as usize);
    assert!(new[..from] == old[..from] && new[to..] == old[to..], "the rest is as it was");
}

/// A large shard is written out of the caller's memory, with little more of its own.
#[test]
fn a_large_shard_is_written_without_being_held_twice() {
    let (folder, parent) = large();
    let elements = many();
    alone("a_large_shard_is_written_without_being_held_twice", &folder, |array| {
        sparingly(|| array.write(.., &elements).unwrap());
    });
    let Some((_folder, hierarchy)) = parent else { return };
    let shard = stored(&hierarchy);
    assert!(shard[..elements.len()] == elements[..], "inner chunks follow each other");
    let array = hierarchy.array(path()).unwrap();
    assert_eq!(array.read::<u8>(5 * MIB..5 * MIB + 9).unwrap()[..], elements[5 << 20..][..9]);
}
