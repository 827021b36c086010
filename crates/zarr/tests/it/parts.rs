//! A part read or written by itself equals that part of the whole, whatever codecs are around it.
#![cfg(all(
    feature = "memory",
    feature = "gzip",
    feature = "blosc",
    feature = "sharding",
    feature = "crc32c"
))]

use zarr::store::from_sync;
use zarr::stores::MemoryStore;
use zarr::{Array, Dialect, Hierarchy, NodePath, OpenOptions, Region, Result};

fn array(data_type: &str, shape: &[u64], chunks: &[u64], codecs: &[String]) -> Result<Array> {
    let options = OpenOptions::new(zarr::standard()).read_write();
    let format = zarr::format::of_dialect(Dialect::V3);
    let hierarchy = Hierarchy::create(from_sync(MemoryStore::new()), format, &options)?;
    let mut builder = hierarchy.create_array(&NodePath::new("/a")?).shape(shape).chunks(chunks);
    for codec in codecs {
        builder = builder.codec(zarr::tools::codec(codec)?);
    }
    builder.data_type_named(data_type).create()
}

/// Bytes that can be made shorter, and such as cannot.
fn mixed(len: usize) -> Vec<u8> {
    let noise = |n: usize| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8;
    (0..len).map(|n| if n % 300 < 150 { (n / 7) as u8 } else { noise(n) }).collect()
}

/// T-44: every shuffle, compressor and size of elements, also one that does not divide the length.
#[test]
fn parts_of_blosc_chunks() -> Result<()> {
    for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"] {
        for shuffle in ["noshuffle", "shuffle", "bitshuffle"] {
            for size in [1, 2, 3, 4, 8, 16] {
                let codec = format!(
                    r#"{{"name":"blosc","configuration":{{"cname":"{cname}","clevel":5,"shuffle":"{shuffle}","typesize":{size},"blocksize":256}}}}"#
                );
                let array = array("uint8", &[1003], &[1003], &[codec])?;
                let mut whole = mixed(1003);
                array.write(.., &whole)?;
                for (from, to) in [(0, 1), (255, 258), (1, 1003), (500, 501), (1002, 1003)] {
                    let part = array.read::<u8>(from as u64..to as u64)?;
                    assert_eq!(part, whole[from..to], "{cname}, {shuffle}, {size}: {from}..{to}");
                }
                whole[255..258].fill(9);
                array.write(255..258, &[9u8; 3])?;
                assert_eq!(array.read::<u8>(..)?, whole, "{cname}, {shuffle}, {size}");
            }
        }
    }
    Ok(())
}

fn shard(inner: &str, codecs: &str) -> String {
    format!(
        r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":[{inner}],"codecs":[{codecs}],
        "index_codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}},{{"name":"crc32c"}}]}}}}"#
    )
}

/// T-08, T-09, T-10, F-094: what stands around, before and inside shards is minded when an element is read or
/// written by itself.
#[test]
fn single_elements_of_shards_in_other_codecs() -> Result<()> {
    let bytes = r#"{"name":"bytes","configuration":{"endian":"big"}}"#;
    let turn = r#"{"name":"transpose","configuration":{"order":[2,0,1]}}"#.to_owned();
    let nested = shard("2,2,3", &shard("1,2,3", bytes));
    let gzip = r#"{"name":"gzip","configuration":{"level":1}}"#.to_owned();
    let zipped = shard("2,2,3", &format!("{bytes},{gzip}"));
    let crc32c = r#"{"name":"crc32c"}"#.to_owned();
    for codecs in [
        vec![shard("1,2,3", bytes)],
        vec![shard("1,2,3", bytes), gzip.clone()],
        vec![zipped.clone(), gzip.clone(), crc32c.clone()],
        vec![turn.clone(), shard("2,1,3", bytes)],
        vec![turn.clone(), shard("2,1,3", bytes), gzip.clone()],
        vec![turn.clone(), shard("4,2,6", &format!("{turn},{bytes}"))],
        vec![nested.clone()],
        vec![nested, crc32c],
    ] {
        let what = format!("{codecs:?}");
        let array = array("uint16", &[2, 6, 4], &[2, 6, 4], &codecs);
        // Some of them divide the turned axes alone.
        let array = match array {
            Ok(array) => array,
            Err(_) => self::array("uint16", &[4, 6, 6], &[4, 6, 6], &codecs)?,
        };
        let shape = array.shape();
        let count = shape.iter().product::<u64>();
        let mut whole: Vec<u16> = (1..=count as u16).collect();
        array.write(.., &whole)?;
        for at in (0..count).step_by(5) {
            let place = [at / (shape[1] * shape[2]), at / shape[2] % shape[1], at % shape[2]];
            let one = Region::new(place.map(|n| n..n + 1));
            assert_eq!(array.read::<u16>(&one)?, [whole[at as usize]], "{what}, {place:?}");
            whole[at as usize] = 1000 + at as u16;
            array.write(&one, &[1000 + at as u16])?;
        }
        assert_eq!(array.read::<u16>(..)?, whole, "{what}");
    }
    Ok(())
}
