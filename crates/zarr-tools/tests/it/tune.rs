//! Advice on layouts: the sizes that it predicts are those of whole copies, its requests those of a counting store.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use zarr_core::format::of_dialect;
use zarr_core::store::{
    ByteRange, Call, ObservedStore, Observer, Store, async_trait, coalesce, from_sync,
};
use zarr_core::{
    Array, Dialect, ErrorKind, Hierarchy, Node, OpenOptions, Region, Registry, StoreError,
};
use zarr_stores::MemoryStore;
use zarr_tools::tune::{Candidate, ReadPattern, Reader, Service, TuneOptions, stored_layout, tune};
use zarr_tools::{CopyOptions, copy};

fn open_options() -> OpenOptions {
    OpenOptions::new(Registry::new().with(zarr_codecs::register)).read_write().threads(2)
}

fn hierarchy(store: Arc<dyn Store>, dialect: Dialect) -> Hierarchy {
    Hierarchy::create(store, of_dialect(dialect), &open_options()).unwrap()
}

fn memory(dialect: Dialect) -> Hierarchy {
    hierarchy(from_sync(MemoryStore::new()), dialect)
}

/// Numbers without a pattern.
fn noise(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// A field over time that is smooth in space, with noise.
fn field(shape: &[u64]) -> Vec<f32> {
    let [times, rows, columns] = *shape else { unreachable!("three axes") };
    let mut random = noise(7);
    let mut values = Vec::new();
    for t in 0..times {
        for y in 0..rows {
            for x in 0..columns {
                let (t, y, x) = (t as f32 / 9.0, y as f32 / 30.0, x as f32 / 40.0);
                let noise = (random() >> 40) as f32 / (1u64 << 24) as f32;
                values.push(280.0 + 10.0 * (y + t).sin() * x.cos() + 0.05 * noise);
            }
        }
    }
    values
}

fn field_array(hierarchy: &Hierarchy, shape: &[u64], chunks: &[u64]) -> Array {
    let array = hierarchy.create_array("/t2m").shape(shape).chunks(chunks).data_type_of::<f32>();
    let array = array.dimension_names(["time", "lat", "lon"]).codec("gzip:1").create().unwrap();
    array.write(.., &field(shape)).unwrap();
    array
}

/// Counts requests as a store of objects bills them: ranges that lie close together are one.
#[derive(Clone, Default)]
struct Requests(Arc<Mutex<u64>>);

#[async_trait]
impl Observer for Requests {
    async fn after(&self, call: &Call<'_>) -> Result<(), StoreError> {
        if !call.key.contains("/c/") {
            return Ok(());
        }
        let bounded = call.ranges.iter().filter_map(|range| match range {
            ByteRange::Bounded { start, len } => Some(*start..start + len),
            _ => None,
        });
        let bounded: Vec<Range<u64>> = bounded.collect();
        let others = call.ranges.len() - bounded.len();
        let ranges = coalesce(bounded, Service::S3.gap).len() + others;
        *self.0.lock().unwrap() += ranges.max(1) as u64;
        Ok(())
    }

    fn is_remote(&self) -> bool {
        true
    }
}

/// The requests of a read by a reader that knows nothing yet.
fn counted(store: &Arc<dyn Store>, place: &[Range<u64>]) -> u64 {
    let requests = Requests::default();
    let observed: Arc<dyn Store> = Arc::new(ObservedStore::new(store.clone(), requests.clone()));
    let array = Hierarchy::open(observed, &open_options()).unwrap().array("/t2m").unwrap();
    array.read_bytes(Region::new(place.iter().cloned())).unwrap();
    *requests.0.lock().unwrap()
}

#[test]
fn requests_are_those_of_a_counting_store() {
    // Chunks that are no smaller than the gap, and much smaller; shards that are small, that are large, and that reach beyond the array.
    type Case = (&'static [u64], &'static [u64], Option<&'static [u64]>);
    let cases: [Case; 7] = [
        (&[40, 60, 80], &[10, 20, 30], None),
        (&[40, 60, 80], &[5, 10, 10], Some(&[20, 40, 40])),
        (&[41, 61, 81], &[5, 10, 10], Some(&[20, 40, 40])),
        (&[64, 128, 128], &[16, 32, 64], Some(&[32, 128, 128])),
        (&[64, 192, 192], &[16, 64, 64], Some(&[64, 192, 192])),
        (&[80, 192, 192], &[8, 64, 64], Some(&[80, 192, 192])),
        (&[30, 30, 30], &[1, 30, 30], Some(&[30, 30, 30])),
    ];
    for (shape, chunks, shards) in cases {
        let store = from_sync(MemoryStore::new());
        let array = hierarchy(store.clone(), Dialect::V3).create_array("/t2m");
        let mut array = array.shape(shape).chunks(chunks).data_type_of::<u32>().codec("gzip:1");
        if let Some(shards) = shards {
            array = array.shards(shards);
        }
        let array = array.create().unwrap();
        let mut random = noise(3);
        let elements: Vec<u32> = (0..array.len()).map(|_| random() as u32).collect();
        array.write(.., &elements).unwrap();
        let layout = stored_layout(&array, array.stored_size().unwrap().bytes).unwrap();
        for text in [":,1,1", "1,:,:", ":,:,1", "7,9,11", "1,1,1", "20,30,:", ":,:,:", "1,25,:"] {
            let read = ReadPattern::parse(text, shape, &[]).unwrap();
            let places = read.places(shape, 6, 11);
            let mut sum = 0.0;
            for place in &places {
                let expected = layout.count(place, &Service::S3).requests;
                let found = counted(&store, place);
                assert_eq!(
                    expected, found as f64,
                    "{shape:?} {chunks:?} {shards:?} {text} {place:?}"
                );
                sum += expected;
            }
            let mean = layout.expect(&read, &Service::S3).requests;
            if places.len() == 1 {
                assert_eq!(mean, sum, "{shape:?} {chunks:?} {shards:?} {text}");
            }
        }
    }
}

/// Bytes that a copy with this layout stores, and its objects.
fn copied(array: &Array, candidate: &Candidate) -> (u64, u64) {
    let target = memory(Dialect::V3);
    let options = CopyOptions {
        chunks: Some(candidate.chunks.clone()),
        shards: candidate.shards.clone(),
        codecs: Some(candidate.codecs.clone()),
        ..CopyOptions::default()
    };
    let node = Node::Array(array.clone());
    copy(&node, &target, "/copy", &options).unwrap();
    let copy = target.array("/copy").unwrap();
    assert_eq!(copy.chunk_shape(), Some(candidate.chunks.clone()));
    assert_eq!(copy.shard_shape(), candidate.shards);
    let size = copy.stored_size().unwrap();
    (size.bytes, copy.stored_chunks().unwrap())
}

#[test]
fn predicted_sizes_are_those_of_copies() {
    let source = memory(Dialect::V3);
    // 5.5 MiB: of 4 MiB of memory 1 MiB is the sample's.
    let array = field_array(&source, &[60, 120, 200], &[1, 120, 200]);
    for memory in [4 << 20, 1 << 30] {
        let options = TuneOptions { memory: Some(memory), ..TuneOptions::default() };
        let report = tune(&array, &options).unwrap();
        assert_eq!(report.sample.is_whole, memory > 4 << 20);
        assert!(report.candidates.len() >= 2 && report.candidates.len() <= 8);
        let now = array.stored_size().unwrap().bytes;
        assert!((report.now.stored_bytes as f64 / now as f64 - 1.0).abs() < 0.05);
        for candidate in &report.candidates {
            let (bytes, objects) = copied(&array, candidate);
            let off = candidate.stored_bytes as f64 / bytes as f64 - 1.0;
            // A box of the small sample holds no chunk of 1 MiB; the report says so.
            let most = if candidate.is_cut { 0.15 } else { 0.05 };
            assert!(off.abs() < most, "{off}: {candidate:?}");
            assert_eq!(candidate.objects, objects, "{candidate:?}");
            let (low, high) = candidate.stored_interval;
            assert!(low <= candidate.stored_bytes && candidate.stored_bytes <= high);
        }
    }
}

#[test]
fn advice_follows_the_reads_and_ends_with_its_own_layout() {
    let source = memory(Dialect::V3);
    let array = field_array(&source, &[200, 60, 80], &[1, 60, 80]);
    let names = array.dimension_names().unwrap();
    let series = ReadPattern::parse("series", &array.shape(), &names).unwrap();
    // So far that the speed of this machine does not count.
    let far = Service::from_json(br#"{"get_ms": 100000}"#).unwrap();
    let options = TuneOptions { reads: vec![series], service: far, ..TuneOptions::default() };
    let report = tune(&array, &options).unwrap();
    assert_eq!(report.now.reads[0].count.requests, 200.0);
    let advised = report.advised().expect("a series from maps can be much faster");
    assert!(advised.reads[0].count.requests <= 4.0, "{advised:?}");
    assert!(advised.seconds < report.now.seconds / 2.0);
    for reader in [Reader::ZarrPython, Reader::Tensorstore, Reader::Zarrs, Reader::Zarrita] {
        assert!(advised.readers.contains(&reader));
    }
    // The copy has no better layout than its own.
    let target = memory(Dialect::V3);
    let copy_options = CopyOptions {
        chunks: Some(advised.chunks.clone()),
        shards: advised.shards.clone(),
        codecs: Some(advised.codecs.clone()),
        ..CopyOptions::default()
    };
    copy(&Node::Array(array), &target, "/t2m", &copy_options).unwrap();
    let report = tune(&target.array("/t2m").unwrap(), &options).unwrap();
    assert!(report.advised.is_none(), "{}", report.reason);
    assert!(report.reason.starts_with("no other layout saves 10 %"), "{}", report.reason);
}

#[test]
fn arguments_of_the_copy_say_all_that_changes() {
    let source = memory(Dialect::V2);
    let array = field_array(&source, &[100, 60, 80], &[1, 60, 80]);
    let to_v3 = TuneOptions { dialect: Some(Dialect::V3), ..TuneOptions::default() };
    for candidate in tune(&array, &to_v3).unwrap().candidates {
        let words = candidate.copy_arguments.join(" ");
        assert!(words.starts_with("--to v3 --chunks "), "{words}");
        assert!(words.contains(" --codec "), "{words}");
        assert_eq!(words.contains("--shards"), candidate.shards.is_some());
    }
    let report = tune(&array, &TuneOptions::default()).unwrap();
    assert!(report.candidates.iter().all(|it| it.shards.is_none()), "v2 has no shards");
    // Of shards, what has none says so.
    let shards = memory(Dialect::V3);
    let copy_options = CopyOptions {
        chunks: Some(vec![10, 60, 80]),
        shards: Some(vec![100, 60, 80]),
        ..CopyOptions::default()
    };
    copy(&Node::Array(array), &shards, "/t2m", &copy_options).unwrap();
    let report = tune(&shards.array("/t2m").unwrap(), &TuneOptions::default()).unwrap();
    assert_eq!(report.now.shards, Some(vec![100, 60, 80]));
    let plain = report.candidates.iter().find(|it| it.shards.is_none());
    let words = plain.expect("one without shards").copy_arguments.join(" ");
    assert!(words.contains("--shards none"), "{words}");
}

#[test]
fn readers_leave_out_what_they_do_not_read() {
    let source = memory(Dialect::V3);
    let array = field_array(&source, &[50, 60, 80], &[1, 60, 80]);
    let readers = vec![Reader::Tensorstore];
    let report = tune(&array, &TuneOptions { readers, ..TuneOptions::default() }).unwrap();
    assert!(report.candidates.iter().all(|it| it.readers.contains(&Reader::Tensorstore)));
    let readers = vec![Reader::Gdal];
    let error = tune(&array, &TuneOptions { readers, ..TuneOptions::default() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains("known to be read by gdal"), "{error}");
}

#[test]
fn rounding_is_tried_only_if_allowed_and_says_its_error() {
    let source = memory(Dialect::V3);
    let array = field_array(&source, &[50, 60, 80], &[10, 60, 80]);
    let exact = tune(&array, &TuneOptions::default()).unwrap();
    assert!(exact.candidates.iter().all(|it| it.lossy.is_none()));
    let readers = vec![Reader::ZarrPython];
    let options = TuneOptions { lossy: true, readers, ..TuneOptions::default() };
    let report = tune(&array, &options).unwrap();
    let rounded: Vec<&Candidate> =
        report.candidates.iter().filter(|it| it.lossy.is_some()).collect();
    assert!(!rounded.is_empty(), "{:?}", report.notes);
    for candidate in rounded {
        let lossy = candidate.lossy.unwrap();
        assert!(
            lossy.relative_error > 0.0 && lossy.relative_error <= lossy.relative_bound,
            "{lossy:?}"
        );
        assert!(
            candidate.stored_bytes
                < exact.candidates.iter().map(|it| it.stored_bytes).min().unwrap()
        );
    }
    // Not of coordinates, nor of integers.
    for (name, dimension) in [("lat", "lat"), ("n", "x")] {
        let array = source.create_array(format!("/{name}")).shape([2000u64]).chunks([500u64]);
        let array =
            if name == "lat" { array.data_type_of::<f64>() } else { array.data_type_of::<i64>() };
        let array = array.dimension_names([dimension]).create().unwrap();
        let elements: Vec<u8> = (0..2000i64).flat_map(|n| (n as f64).sin().to_ne_bytes()).collect();
        array.write_bytes(.., &elements).unwrap();
        let report = tune(&array, &TuneOptions { lossy: true, ..TuneOptions::default() }).unwrap();
        assert!(report.candidates.iter().all(|it| it.lossy.is_none()));
        assert!(
            report.notes.iter().any(|note| note.starts_with("not rounded: ")),
            "{:?}",
            report.notes
        );
    }
}

#[test]
fn missing_chunks_are_not_counted_as_stored() {
    let source = memory(Dialect::V3);
    let array = source.create_array("/a").shape([64u64, 64, 64]).chunks([16u64, 64, 64]);
    let array = array.data_type_of::<u32>().codec("gzip:1").create().unwrap();
    let mut random = noise(5);
    let elements: Vec<u32> = (0..16 * 64 * 64).map(|_| random() as u32 & 0xffff).collect();
    array.write((0..16, .., ..), &elements).unwrap();
    let report = tune(&array, &TuneOptions::default()).unwrap();
    assert_eq!(report.now.objects, 1);
    assert_eq!(report.now.stored_bytes, array.stored_size().unwrap().bytes);
    let array = source.create_array("/empty").shape([64u64]).chunks([16u64]).data_type_of::<u32>();
    let array = array.create().unwrap();
    let report = tune(&array, &TuneOptions::default()).unwrap();
    assert_eq!((report.now.objects, report.now.stored_bytes), (0, 0));
    assert!(report.advised.is_none());
}

#[test]
fn other_elements_than_numbers_are_measured() {
    let source = memory(Dialect::V3);
    let texts = source.create_array("/texts").shape([3000u64]).chunks([100u64]);
    let texts = texts.data_type("string").create().unwrap();
    let words: Vec<String> = (0..3000).map(|n| format!("station {}", n * 7 % 300)).collect();
    texts.write(.., &words).unwrap();
    let report = tune(&texts, &TuneOptions::default()).unwrap();
    let stored = texts.stored_size().unwrap().bytes;
    assert!((report.now.stored_bytes as f64 / stored as f64 - 1.0).abs() < 0.05, "{report:?}");
    for candidate in &report.candidates {
        let (bytes, _) = copied(&texts, candidate);
        assert!((candidate.stored_bytes as f64 / bytes as f64 - 1.0).abs() < 0.05);
    }
    let scalar =
        source.create_array("/scalar").shape([0u64; 0]).data_type_of::<f64>().create().unwrap();
    scalar.write(.., &[1.5f64]).unwrap();
    assert!(tune(&scalar, &TuneOptions::default()).unwrap().advised.is_none());
    let bools = source.create_array("/bools").shape([100u64, 100]).data_type_of::<bool>();
    let bools = bools.chunks([10u64, 100]).create().unwrap();
    let elements: Vec<bool> = (0..10_000).map(|n| n % 7 < 3).collect();
    bools.write(.., &elements).unwrap();
    assert!(!tune(&bools, &TuneOptions::default()).unwrap().candidates.is_empty());
}

/// A few bytes less are no gain, many chunks fewer are.
#[test]
fn small_arrays_get_sane_advice() {
    let source = memory(Dialect::V3);
    let array = |name: &str, shape: &[u64], chunks: &[u64]| {
        let array = source.create_array(format!("/{name}")).shape(shape).chunks(chunks);
        let array = array.data_type_of::<f32>().codec("gzip:1").create().unwrap();
        let elements: Vec<f32> = (0..array.len()).map(|n| (n as f32 / 10.0).cos()).collect();
        array.write(.., &elements).unwrap();
        array
    };
    // So far that the speed of this machine does not count.
    let far = Service::from_json(br#"{"get_ms": 100000}"#).unwrap();
    let options = TuneOptions { service: far, ..TuneOptions::default() };
    for (name, shape, chunks) in [
        ("one", &[1][..], &[1][..]),
        ("row", &[500], &[500]),
        ("unit", &[1, 1, 20, 30], &[1, 1, 20, 30]),
        ("larger", &[20, 30], &[64, 64]),
    ] {
        let report = tune(&array(name, shape, chunks), &options).unwrap();
        assert!(report.advised.is_none(), "{name}: {}", report.reason);
        assert!(report.reason.contains("4 KiB"), "{name}: {}", report.reason);
    }
    for (name, shape, chunks) in
        [("many", &[1000][..], &[1][..]), ("planes", &[9, 20, 30], &[1, 20, 30])]
    {
        let array = array(name, shape, chunks);
        let report = tune(&array, &options).unwrap();
        let advised = report.advised().expect("one chunk is better than many");
        assert_eq!((&advised.chunks[..], &advised.shards), (shape, &None), "{name}");
        let (bytes, objects) = copied(&array, advised);
        assert_eq!((advised.stored_bytes, advised.objects), (bytes, objects), "{name}");
    }
}

#[test]
fn rejects_what_cannot_be_advised_on() {
    let source = memory(Dialect::V3);
    let empty =
        source.create_array("/empty").shape([0u64, 3]).data_type_of::<u8>().create().unwrap();
    let error = tune(&empty, &TuneOptions::default()).unwrap_err();
    assert!(error.to_string().contains("no elements to sample"), "{error}");
    let array = source.create_array("/a").shape([10u64]).data_type_of::<u8>().create().unwrap();
    let read = ReadPattern { name: "x".into(), lengths: vec![1, 1], weight: 1.0 };
    let error =
        tune(&array, &TuneOptions { reads: vec![read], ..TuneOptions::default() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
}
