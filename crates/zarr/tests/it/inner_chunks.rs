//! The inner chunks of a shard do not disturb each other, whatever encodes them.
#![cfg(all(
    feature = "memory",
    feature = "filesystem",
    feature = "sharding",
    feature = "gzip",
    feature = "zstd",
    feature = "vlen-utf8"
))]

use std::sync::Arc;

use zarr::store::{Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Array, Dialect, Hierarchy, NodePath, OpenOptions, Result};
use zarr_testkit::record;

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn hierarchy(store: &Arc<dyn Store>, options: &OpenOptions) -> Result<Hierarchy> {
    Hierarchy::create(store.clone(), zarr::format::of_dialect(Dialect::V3), options)
}

fn path() -> NodePath {
    NodePath::new("/a").expect("a good path")
}

fn memory() -> Arc<dyn Store> {
    from_sync(MemoryStore::new())
}

/// Shards of `count` inner chunks of `inner` bytes each.
fn bytes(store: &Arc<dyn Store>, inner: u64, count: u64, codec: &str) -> Result<Array> {
    let hierarchy = hierarchy(store, &options())?;
    let builder = hierarchy.create_array(path()).shape(&[inner * count]).chunks(&[inner]);
    let builder = builder.shards(&[inner * count]).data_type_named("uint8");
    builder.codec(zarr::tools::codec(codec)?).create()
}

fn stored(store: &Arc<dyn Store>) -> Vec<u8> {
    let key = StoreKey::new("a/c/0").expect("a good key");
    let value = store.to_sync().value(&key).expect("memory reads");
    value.expect("it is stored").to_vec()
}

/// Bytes that no codec makes shorter.
fn noise(len: u64, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..len).map(|_| next()).collect()
}

/// T-06: noise is longer encoded than not, for all lengths and levels.
#[test]
fn noise_fits_into_shards() -> Result<()> {
    let mut codecs: Vec<String> = (0..10).map(|level| format!("gzip:{level}")).collect();
    codecs.extend(["zstd:1", "zstd:22"].map(str::to_owned));
    #[cfg(feature = "zlib")]
    codecs.extend((0..10).map(|level| format!("zlib:{level}")));
    #[cfg(feature = "bz2")]
    codecs.extend((1..10).map(|level| format!("bz2:{level}")));
    for codec in codecs {
        for inner in [1, 15, (16 << 10) - 1, 16 << 10, (16 << 10) + 1, 64 << 10] {
            let store = memory();
            let array = bytes(&store, inner, 2, &codec)?;
            let mut elements = noise(2 * inner, inner);
            array.write(.., &elements)?;
            assert!(array.read::<u8>(..)? == elements, "{codec}, {inner}");
            elements[inner as usize..].copy_from_slice(&noise(inner, inner + 7));
            array.write(inner..2 * inner, &elements[inner as usize..])?;
            assert!(array.read::<u8>(..)? == elements, "{codec}, {inner}, one chunk anew");
        }
    }
    Ok(())
}

/// A shard of 4 inner chunks of 4 numbers, by zarr-python 3.1.6: frames of zstd one after the other, the second
/// chunk empty.
const FRAMES: &str = "28b52ffd2010810000000000000100000002000000030000\
    0028b52ffd201055000020070000000100738e0828b52ffd2010810000010000000200000003000000000000400000\
    0000000000001900000000000000ffffffffffffffffffffffffffffffff1900000000000000130000000000\
    00002c000000000000001900000000000000aaaaf7f6";

fn unhex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16);
    digits.chunks(2).map(|two| pair(two).expect("digits")).collect()
}

/// T-07: a frame is decoded from its own bytes; those behind it are another's.
#[test]
fn frames_are_decoded_one_by_one() -> Result<()> {
    let (store, calls) = record(memory(), |call| {
        let is_read = matches!(call.operation, "get" | "open" | "read");
        (is_read && call.key == "a/c/0").then_some(call.bytes)
    });
    let hierarchy = hierarchy(&store, &options())?;
    let builder = hierarchy.create_array(path()).shape(&[16]).chunks(&[4]).shards(&[16]);
    let array = builder.data_type_named("int32").codec(zarr::tools::codec("zstd:0")?).create()?;
    let key = StoreKey::new("a/c/0")?;
    store.to_sync().set(&key, unhex(FRAMES).into())?;
    for (chunk, elements, bytes) in [
        (3, [1, 2, 3, 1 << 30], vec![68, 25]),
        (2, [7; 4], vec![19]),
        (1, [0; 4], vec![]),
        (0, [0, 1, 2, 3], vec![25]),
    ] {
        assert_eq!(array.read::<i32>(4 * chunk..4 * chunk + 4)?, elements);
        assert_eq!(calls.take(), bytes);
    }
    let whole = [0, 1, 2, 3, 0, 0, 0, 0, 7, 7, 7, 7, 1, 2, 3, 1 << 30];
    assert_eq!(array.read::<i32>(..)?, whole);
    array.write(8..9, &[8])?;
    assert_eq!(array.read::<i32>(7..10)?, [0, 8, 7]);
    assert_eq!(array.read::<i32>(12..16)?, [1, 2, 3, 1 << 30]);
    Ok(())
}

/// T-15: what is shorter than before is as long as if the longer had never been.
#[test]
fn a_shorter_value_leaves_no_tail() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let url = folder.path().display().to_string();
    let on_disk = zarr::standard().open_store(&url, zarr::Access::ReadWrite)?;
    for (store, fresh) in [(memory(), memory()), (on_disk, memory())] {
        let (long, short) = (noise(4096, 1), vec![3u8; 2048]);
        let array = bytes(&store, 2048, 2, "gzip:6")?;
        array.write(.., &long)?;
        let before = stored(&store).len();
        // One inner chunk, and then the other, which leaves nothing of the noise.
        array.write(0..2048, &short)?;
        assert!(stored(&store).len() < before - 1900);
        array.write(2048..4096, &short)?;
        let other = bytes(&fresh, 2048, 2, "gzip:6")?;
        other.write(0..2048, &short)?;
        other.write(2048..4096, &short)?;
        assert_eq!(stored(&store), stored(&fresh));
        assert_eq!(array.read::<u8>(..)?, [3; 4096]);
    }
    Ok(())
}

/// T-12, T-66: texts in nested shards, some inner chunks and whole shards missing: each element read by itself is
/// that of the whole, whether or not indices are remembered, and once more when they are.
#[test]
fn memory_of_indices_changes_nothing() -> Result<()> {
    let nested = r#"{"name":"sharding_indexed","configuration":{"chunk_shape":[4],
        "codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":[{"name":"vlen-utf8"},{"name":"gzip","configuration":{"level":1}}],
        "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}],
        "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"start"}}"#;
    for memory_of_indices in [Some(0), Some(100), None] {
        let mut options = options();
        options.options.index_memory = memory_of_indices;
        let store = memory();
        let builder = hierarchy(&store, &options)?;
        let builder = builder.create_array(path()).shape(&[24]).chunks(&[8]).fill_value("é");
        let array =
            builder.data_type_named("string").codec(zarr::tools::codec(nested)?).create()?;
        let mut whole = vec!["é".to_owned(); 24];
        // The second shard stays away, and of the others some inner shards and chunks.
        for at in [0u64, 1, 7, 18] {
            whole[at as usize] = "日本".repeat(at as usize);
            array.write(at, &whole[at as usize..=at as usize])?;
        }
        for _ in 0..2 {
            assert_eq!(array.read::<String>(..)?, whole);
            for at in 0..24 {
                assert_eq!(array.read::<String>(at)?, [whole[at as usize].clone()]);
                let end = (at + 2).min(24);
                let two = array.read::<String>(at..end)?;
                assert_eq!(two, whole[at as usize..end as usize]);
            }
        }
        array.write(1, &["new".to_owned()])?;
        assert_eq!(array.read::<String>(0..3)?, ["".to_owned(), "new".into(), "é".into()]);
    }
    Ok(())
}

/// T-13: a whole shard, picked in another order and some of it twice, comes in that order.
#[test]
fn what_is_picked_comes_as_it_is_picked() -> Result<()> {
    let builder = hierarchy(&memory(), &options())?.create_array(path()).shape(&[4, 4]);
    let builder = builder.chunks(&[2, 2]).shards(&[4, 4]).data_type_named("uint8");
    let array = builder.create()?;
    let elements: Vec<u8> = (0..16).collect();
    array.write(.., &elements)?;
    let picked = [3u64, 1, 1, 0];
    let list = || picked.to_vec();
    let row = |row: &u64| (4 * *row as u8..).take(4);
    let rows: Vec<u8> = picked.iter().flat_map(row).collect();
    assert_eq!(array.read::<u8>((list(), ..))?, rows);
    let columns: Vec<u8> = (0..4).flat_map(|r| picked.map(|column| 4 * r + column as u8)).collect();
    assert_eq!(array.read::<u8>((.., list()))?, columns);
    let both: Vec<u8> =
        picked.iter().flat_map(|row| picked.map(|column| (4 * row + column) as u8)).collect();
    assert_eq!(array.read::<u8>((list(), list()))?, both);
    Ok(())
}
