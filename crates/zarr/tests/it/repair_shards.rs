//! What `repair` finds in damaged shards that other implementations wrote: nested ones, and those whose index is lost.

#![cfg(all(
    feature = "memory",
    feature = "filesystem",
    feature = "zip",
    feature = "lmdb",
    feature = "sharding"
))]

use std::io::Read;
use std::path::PathBuf;

use crate::repairs::{Place, Values, set};
use flate2::read::GzDecoder;
use zarr::codec::CodecSpec;
use zarr::tools::repair::RepairOptions;
use zarr::{Dialect, Object};
use zarr_testkit::sample;

/// Bytes of an index's checksum.
const CHECKSUM: usize = 4;

/// The keys and values of a store that is in the archive of a family.
fn fixture(family: &str, store: &str) -> Values {
    let archive = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../specs-conformance/families/{family}.tar.gz"));
    let archive = std::fs::File::open(archive).expect("a family");
    let mut values = Values::new();
    for entry in tar::Archive::new(GzDecoder::new(archive)).entries().expect("an archive") {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("a path").display().to_string();
        let within = path.trim_start_matches("./").strip_prefix(store);
        let Some(key) = within.and_then(|path| path.strip_prefix('/')) else { continue };
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("read");
        if entry.header().entry_type().is_file() {
            values.insert(key.to_owned(), bytes);
        }
    }
    assert!(!values.is_empty(), "{family}/{store}");
    values
}

fn place_of(values: &Values) -> Place {
    let place = Place::new("memory");
    place.change(|store| values.iter().for_each(|(key, bytes)| set(store, key, bytes)));
    place
}

/// The array of a fixture, and its elements in bytes.
fn elements(place: &Place) -> Vec<u8> {
    let node = zarr::open(&place.url).expect("opened");
    let array = match node.into_array() {
        Ok(array) => array,
        Err(_) => {
            let group = zarr::open_group(&place.url).expect("opened");
            group.array("arr").expect("an array")
        }
    };
    array.read_bytes(..).expect("read")
}

/// Repairs a store of which the shard at `key` has these bytes; its elements, or `None` if nothing is wrong with it.
fn repaired(sound: &Values, key: &str, bytes: &[u8], what: &str) -> Option<(Vec<u8>, Values)> {
    let place = place_of(sound);
    place.change(|store| set(store, key, bytes));
    if place.problems().is_empty() {
        return None;
    }
    let (report, steps) = place.repair(&RepairOptions::new().apply(true));
    assert!(report.is_sound(), "{what}: {steps:?}");
    let values = place.values();
    let kept = values.get(&format!(".zarr-quarantine/{key}"));
    assert_eq!(kept.map(Vec::as_slice), Some(bytes), "{what}: the old bytes are lost");
    assert!(place.problems().is_empty(), "{what}: {:?}", place.problems());
    Some((elements(&place), values))
}

/// Of a shard in a shard no more is lost than the innermost chunk that is damaged; nothing where only an index is.
#[test]
fn shards_in_shards_lose_one_innermost_chunk() {
    let fixtures = [
        ("v3-zarr-python", "shard-nested", "arr/c/0/0"),
        ("v3-zarrs", "shard-nested", "arr/c/0/0"),
        ("v3-tensorstore", "shard-nested", "c/0/0"),
    ];
    for (family, store, key) in fixtures {
        let sound = fixture(family, store);
        let was = elements(&place_of(&sound));
        let size = if family == "v3-tensorstore" { 4 } else { 2 };
        let (mut whole, mut without, mut rounds) = (0, 0, 0);
        for at in (0..sound[key].len()).step_by(sample(43, 9)) {
            let mut bytes = sound[key].clone();
            bytes[at] ^= 0x55;
            let what = format!("{family}, byte {at} of {}", bytes.len());
            let Some((is, _)) = repaired(&sound, key, &bytes, &what) else { continue };
            rounds += 1;
            let pairs = is.chunks(size).zip(was.chunks(size));
            let lost: Vec<_> = pairs.filter(|(is, was)| is != was).collect();
            assert!(lost.iter().all(|(is, _)| is.iter().all(|&byte| byte == 0)), "{what}");
            assert!(lost.len() <= 8, "{what}: {} elements are lost", lost.len());
            if lost.is_empty() { whole += 1 } else { without += 1 }
        }
        let least = sample(4, 20);
        assert!(whole > least && without > least, "{family}: {whole} and {without} of {rounds}");
    }
}

/// Where an index is overwritten, but for its checksum, inner chunks that say how long they are are found, and the checksum proves whose each is.
#[test]
fn inner_chunks_are_found_by_their_lengths() {
    let fixtures = [
        ("v3-zarr-python", "shard-transpose-inside", "arr/c/0/0", 4),
        ("v3-zarrs", "shard-transpose-inside", "arr/c/0/0", 4),
        ("v3-zarr-python", "shard-transpose-inside", "arr/c/1/1", 4),
        ("v3-zarr-python", "shard-string", "arr/c/0", 3),
        ("v3-zarrs", "shard-string", "arr/c/1", 3),
    ];
    for (family, store, key, count) in fixtures {
        found_by_lengths(
            &fixture(family, store),
            key,
            count,
            13,
            &format!("{family} {store} {key}"),
        );
    }
}

/// Every codec whose format has an end is known by it, whatever is in front of it and behind.
#[test]
fn inner_chunks_of_every_codec_with_an_end_are_found() {
    let chains: [&[&str]; 12] = [
        &["gzip"],
        &["gzip", "crc32c"],
        &["zstd", "numcodecs.fletcher32"],
        &["blosc", "numcodecs.crc32"],
        &["numcodecs.shuffle", "numcodecs.zlib"],
        &["numcodecs.lz4"],
        &["numcodecs.bz2"],
        &["numcodecs.lzma"],
        &["gzip", "zstd"],
        &["zstd", "gzip", "numcodecs.adler32"],
        &["crc32c"],
        &[],
    ];
    for (chain, data_type) in chains.iter().flat_map(|it| [(it, "int16"), (it, "string")]) {
        if data_type == "string" && chain.contains(&"numcodecs.shuffle") {
            continue;
        }
        let place = Place::new("memory");
        let hierarchy = zarr::create(&place.url, Dialect::V3).expect("made");
        let array = hierarchy.create_array("/arr").shape(&[16, 12]).chunks(&[4, 4]);
        let array = array.shards(&[8, 12]).data_type_named(data_type);
        let codec = |name: &&str| match zarr::tools::codec(name) {
            Ok(spec) => spec,
            Err(_) => CodecSpec::v3(*name, Object::new().with("level", 1u64)),
        };
        let array = chain.iter().map(codec).fold(array, |array, codec| array.codec(codec));
        let array = array.create().expect("an array");
        if data_type == "string" {
            let all: Vec<String> = (0..192).map(|n| format!("{}", n * n)).collect();
            array.write(.., &all).expect("written");
        } else {
            let all: Vec<i16> = (1..=192).map(|n| n % 13 * n % 251).collect();
            array.write(.., &all).expect("written");
        }
        found_by_lengths(&place.values(), "arr/c/0/0", 6, 79, &format!("{data_type} {chain:?}"));
    }
}

/// Overwrites the index of a shard, and cuts it.
fn found_by_lengths(sound: &Values, key: &str, count: usize, step: usize, name: &str) {
    let was = elements(&place_of(sound));
    let size = sound[key].len();
    let index = size - CHECKSUM - 16 * count;
    for byte in [0, 0x20, 0xff] {
        let mut bytes = sound[key].clone();
        bytes[index..size - CHECKSUM].fill(byte);
        let what = format!("{name}, an index of {byte:#x}");
        let (is, values) = repaired(sound, key, &bytes, &what).expect("damaged");
        assert!(is == was, "{what}");
        assert_eq!(values[key], sound[key], "{what}");
    }
    // A shard that lost its last bytes: as long as the last offset is there, the rest of the index is known.
    for cut in
        (1..=CHECKSUM + 16).step_by(step.div_ceil(13)).chain((CHECKSUM + 17..=size).step_by(step))
    {
        let what = format!("{name}, cut by {cut}");
        let Some((is, values)) = repaired(sound, key, &sound[key][..size - cut], &what) else {
            continue;
        };
        if cut <= CHECKSUM + 8 {
            assert!(is == was, "{what}");
            assert_eq!(values[key], sound[key], "{what}");
        } else if values.contains_key(key) {
            // Whose the rest is may be known; then it is right.
            assert!(is == was, "{what}");
        }
    }
}
