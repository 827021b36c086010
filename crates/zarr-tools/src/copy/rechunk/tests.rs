use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use zarr_core::data_type::{Field, Record};
use zarr_core::format::of_dialect;
use zarr_core::store::{Call, ObservedStore, Store, from_sync};
use zarr_core::{CoreType, DataType, Dialect, ErrorKind, Hierarchy, OpenOptions, Registry};
use zarr_stores::{FilesystemStore, MemoryStore};

use super::plan::Spooled;
use super::*;

/// How often each key was put.
type Puts = Arc<Mutex<HashMap<String, u64>>>;

fn hierarchy(store: Arc<dyn Store>) -> Hierarchy {
    let registry = Registry::new().with(zarr_codecs::register);
    let options = OpenOptions::new(registry).read_write().threads(4);
    Hierarchy::create(store, of_dialect(Dialect::V3), &options).unwrap()
}

fn watched() -> (Hierarchy, Puts) {
    let puts = Puts::default();
    let noted = puts.clone();
    let note = move |call: &Call<'_>| {
        if (call.operation.starts_with("put") || call.operation.starts_with("erase"))
            && call.key.contains("/c")
        {
            *noted.lock().unwrap().entry(call.key.to_string()).or_default() += 1;
        }
    };
    let store = ObservedStore::new(from_sync(MemoryStore::new()), note);
    (hierarchy(Arc::new(store)), puts)
}

/// An array to copy, and how it is chunked.
#[derive(Clone, Debug)]
struct Given {
    data_type: &'static str,
    shape: Vec<u64>,
    chunks: Vec<u64>,
    shards: Option<Vec<u64>>,
    codec: Option<&'static str>,
}

impl Given {
    fn create(&self, hierarchy: &Hierarchy) -> Array {
        let mut new = hierarchy.create_array("/a").shape(&self.shape).chunks(&self.chunks);
        if let Some(shards) = &self.shards {
            new = new.shards(shards);
        }
        if let Some(codec) = self.codec {
            new = new.codec(crate::codec(codec).unwrap());
        }
        if self.data_type == "record" {
            let field = |name: &str, of: CoreType| Field::new(name, of.into());
            let fields = [field("a", CoreType::Int16), field("b", CoreType::Float32)];
            let record = Record::new(fields).unwrap();
            return new.data_type(DataType::Record(Arc::new(record))).create().unwrap();
        }
        new.data_type_named(self.data_type).create().unwrap()
    }
}

/// Elements of which some chunks are nothing but fill, and some repeat one element.
fn write(array: &Array, seed: u64) {
    let mut random = seed | 1;
    for chunk in array.chunks(..).unwrap() {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let count = chunk.region().element_count().unwrap();
        if random >> 60 < 4 {
            continue;
        }
        let is_same = random >> 60 < 8;
        let element = |n: u64| if is_same { 7 } else { (n * 31 + random) as u8 };
        let bytes: Vec<u8> = if array.data_type().is_variable() {
            let text = |n: u64| vec![b'a' + element(n) % 26; element(n) as usize % 5];
            let texts = (0..count).map(text);
            texts.flat_map(|t| [&(t.len() as u32).to_le_bytes()[..], &t].concat()).collect()
        } else {
            let size = array.data_type().repr().unwrap().size() as u64;
            (0..count * size).map(|n| element(n / size * 3 + n % size)).collect()
        };
        array.write_bytes(chunk.region(), &bytes).unwrap();
    }
}

#[derive(Clone, Debug)]
struct Case {
    from: Given,
    to: Given,
    /// Where the copy begins in the source.
    start: Vec<u64>,
    way: u64,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let types = ["uint8", "int32", "float64", "string", "record"];
    let axis = (0u64..3, 0u64..20, 1u64..9, 1u64..9, 1u64..4, 1u64..4);
    let axes = prop::collection::vec(axis, 0..4);
    let codec = prop::sample::select(vec![None, Some("gzip:1")]);
    let shards = (any::<bool>(), any::<bool>());
    (
        prop::sample::select(types.to_vec()),
        axes,
        codec.clone(),
        codec,
        shards,
        any::<u64>(),
        any::<u64>(),
    )
        .prop_map(|(data_type, axes, one, other, (from_shards, to_shards), way, seed)| {
            let given = |at: usize, codec, is_sharded: bool| {
                let chunks: Vec<u64> = axes.iter().map(|a| [a.2, a.3][at]).collect();
                let times = axes.iter().map(|a| [a.4, a.5][at]);
                let shards = chunks.iter().zip(times).map(|(chunk, n)| chunk * n).collect();
                // The end of the source is copied, or all of it.
                let shape = axes.iter().map(|a| if at == 0 { a.0 + a.1 } else { a.1 }).collect();
                let shards = is_sharded.then_some(shards);
                Given { data_type, shape, chunks, shards, codec }
            };
            Case {
                from: given(0, one, from_shards),
                to: given(1, other, to_shards),
                start: axes.iter().map(|a| a.0).collect(),
                way,
                seed,
            }
        })
}

/// Some plan, whatever it costs.
fn plan(case: &Case, numbers: &Numbers, element: u64) -> Plan {
    let mut random = case.way;
    let mut next = |end: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % end
    };
    let group: Vec<u64> = numbers.to.iter().map(|_| 1 + next(4)).collect();
    let size = |axes: &[Axis], counts: &[u64]| {
        axes.iter().zip(counts).fold(element, |size, (axis, &count)| size * axis.run(count))
    };
    let ones = vec![1; group.len()];
    let way = if next(2) == 0 || numbers.is_variable() {
        let (workers, threads) = (1 + next(3) as usize, 1 + next(2) as usize);
        Way::Direct { workers, threads, buffer: size(&numbers.to, &group) }
    } else {
        let piece: Vec<u64> = numbers.from.iter().map(|_| 1 + next(3)).collect();
        let object = size(&numbers.to, &ones);
        Way::Spooled(Spooled {
            reading: size(&numbers.from, &piece) + object,
            piece,
            keepers: 1 + next(3) as usize,
            part: object,
            readers: 1 + next(3) as usize,
            writers: 1 + next(3) as usize,
            encoders: 1 + next(2) as usize,
            writing: object * 2,
            overlaps: next(2) == 0,
        })
    };
    Plan { group, way, decodes: 1.0, spool: 0 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    /// Whatever the plan, the copy has the elements of the source, and each object is put at most once.
    #[test]
    fn every_plan_copies_every_element_once(case in case()) {
        let source = case.from.create(&hierarchy(from_sync(MemoryStore::new())));
        write(&source, case.seed);
        let (target, puts) = watched();
        let copy = case.to.create(&target);
        let region = |place: &Region| {
            let axes = place.intervals().iter().zip(&case.start);
            Region::new(axes.map(|(range, start)| range.start + start..range.end + start))
        };
        let select = |place: &Region| Selection::from(region(place));
        let is_box = case.way % 3 > 0;
        let start = is_box.then(|| case.start.clone());
        let source_of = Source { select: &select, start };
        let how = ElementOptions { memory: Some(1 << 30), source: Some(source_of), ..Default::default() };
        let mut rechunk = Rechunk::new(&source, &copy, &how).unwrap();
        let mut given = plan(&case, rechunk.numbers.as_ref().unwrap(), rechunk.element as u64);
        if !is_box && matches!(given.way, Way::Spooled(_)) {
            given = rechunk.plan.clone().unwrap();
        }
        rechunk.plan = Some(given);
        // In one box, or object by object from the last to the first.
        let all = Region::all(&copy.shape());
        let objects: Vec<Region> = objects(&rechunk.numbers.as_ref().unwrap().to, &all).collect();
        let boxes = if case.way % 2 == 0 { vec![all.clone()] } else { objects.iter().rev().cloned().collect() };
        let mut done = 0;
        rechunk.copy(&boxes, &mut |region| {
            done += region.element_count().unwrap();
            Ok(())
        }).unwrap();
        prop_assert_eq!(done, all.element_count().unwrap());
        prop_assert_eq!(copy.read_bytes(&all).unwrap(), source.read_bytes(region(&all)).unwrap());
        let puts = puts.lock().unwrap();
        prop_assert!(puts.values().all(|&count| count == 1), "{:?}", puts);
        prop_assert!(puts.len() <= objects.len());
    }
}

fn slabs(seed: u64) -> (Array, Given) {
    let given = Given {
        data_type: "int32",
        shape: vec![16, 16, 16],
        chunks: vec![1, 16, 16],
        shards: None,
        codec: Some("gzip:1"),
    };
    let source = given.create(&hierarchy(from_sync(MemoryStore::new())));
    write(&source, seed);
    (source, Given { chunks: vec![4, 4, 4], ..given })
}

#[test]
fn objects_that_are_done_are_not_put_again() {
    let (source, given) = slabs(3);
    for way in 0..40 {
        let (target, puts) = watched();
        let copy = given.create(&target);
        let is_done = |object: &Region| object.intervals()[1].start == 4;
        let how = ElementOptions { is_done: Some(&is_done), ..Default::default() };
        let mut rechunk = Rechunk::new(&source, &copy, &how).unwrap();
        let case = Case { from: given.clone(), to: given.clone(), start: vec![], way, seed: 0 };
        rechunk.plan = Some(plan(&case, rechunk.numbers.as_ref().unwrap(), 4));
        rechunk.copy(&[Region::all(&[16; 3])], &mut |_| Ok(())).unwrap();
        let puts = puts.lock().unwrap();
        assert!(
            !puts.is_empty() && puts.keys().all(|key| key.split('/').nth(3) != Some("1")),
            "{puts:?}"
        );
        assert_eq!(
            copy.read_bytes((.., 8.., ..)).unwrap(),
            source.read_bytes((.., 8.., ..)).unwrap()
        );
    }
}

#[test]
fn a_copy_that_is_cancelled_stops() {
    let (source, given) = slabs(5);
    for way in 0..20 {
        let copy = given.create(&hierarchy(from_sync(MemoryStore::new())));
        let (cancel, asked) = (CancelToken::new(), AtomicU64::new(0));
        let is_done = |_: &Region| {
            if asked.fetch_add(1, Ordering::Relaxed) == 5 {
                cancel.cancel();
            }
            false
        };
        let how = ElementOptions {
            cancel: Some(cancel.clone()),
            is_done: Some(&is_done),
            ..Default::default()
        };
        let mut rechunk = Rechunk::new(&source, &copy, &how).unwrap();
        let case = Case { from: given.clone(), to: given.clone(), start: vec![], way, seed: 0 };
        let mut chosen = plan(&case, rechunk.numbers.as_ref().unwrap(), 4);
        chosen.group = vec![1, 1, 1];
        rechunk.plan = Some(chosen);
        let mut done = 0;
        let copied = rechunk.copy(&[Region::all(&[16; 3])], &mut |_| {
            done += 1;
            Ok(())
        });
        let error = copied.unwrap_err();
        assert!(done < 64, "{done}");
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    }
}

/// The same copy needs a temporary file with little memory, none with much, and cannot be with less than an object.
#[test]
fn plans_fit_into_memory() {
    let given = |chunks: [u64; 3]| Given {
        data_type: "float32",
        shape: vec![1280, 2048, 2048],
        chunks: chunks.to_vec(),
        shards: None,
        codec: Some("gzip:1"),
    };
    let plan = |from: [u64; 3], to: [u64; 3], memory: u64| {
        let source = given(from).create(&hierarchy(from_sync(MemoryStore::new())));
        let copy = given(to).create(&hierarchy(from_sync(MemoryStore::new())));
        let how = ElementOptions { memory: Some(memory << 20), ..Default::default() };
        Rechunk::new(&source, &copy, &how).map(|rechunk| rechunk.plan.clone().unwrap())
    };
    let (cubes, slabs) = ([64, 64, 64], [1, 2048, 2048]);
    for (from, to) in [(slabs, cubes), (cubes, slabs)] {
        let small = plan(from, to, 256).unwrap();
        assert!(matches!(small.way, Way::Spooled(_)), "{small:?}");
        assert_eq!(small.spool, 1 << 30, "{small:?}");
        assert!(small.decodes < 1.01);
        let large = plan(from, to, 6 << 10).unwrap();
        assert!(matches!(large.way, Way::Direct { .. }) && large.decodes < 1.01, "{large:?}");
    }
    let same = plan(cubes, cubes, 256).unwrap();
    assert!(matches!(same.way, Way::Direct { .. }) && same.decodes < 1.01, "{same:?}");
    let error = plan(cubes, [512, 512, 512], 256).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains("it takes 1576 MiB"), "{error}");
    assert!(plan(cubes, [512, 512, 512], 1576).is_ok());
}

/// Objects that get smaller share the room of one that does not: two threads encode objects of 64 MiB within 256 MiB.
#[test]
fn large_objects_are_encoded_by_two_threads() {
    let given = |chunks: [u64; 3]| Given {
        data_type: "float32",
        shape: vec![256, 2048, 2048],
        chunks: chunks.to_vec(),
        shards: None,
        codec: Some("gzip:1"),
    };
    let source = given([4, 1024, 1024]).create(&hierarchy(from_sync(MemoryStore::new())));
    let target = hierarchy(from_sync(MemoryStore::new()));
    let copy = given([256, 256, 256]).create(&target);
    let way = |share: u64| {
        let largest = Some((16 * share) << 10);
        let numbers = Numbers::of(
            &source,
            &copy.metadata(),
            &**target.store(),
            Some(&[0; 3]),
            (largest, None),
        );
        let Way::Spooled(how) = numbers.unwrap().plan(256 << 20, 4, 8 << 30).unwrap().way else {
            panic!("it needs no file");
        };
        how
    };
    let how = way(300);
    assert!(how.writers == 2 && how.readers > 1, "{how:?}");
    let encoded = 64 << 20;
    assert!(how.writing * 2 + encoded + (32 << 20) < 256 << 20, "{how:?}");
    assert!(how.reading * how.readers as u64 + (32 << 20) < 256 << 20, "{how:?}");
    // Of objects that do not get smaller there is room for one.
    assert_eq!(way(1024).writers, 1);
}

/// Where there is memory for few shards, all threads encode one; a thread each if there is memory for that.
#[test]
fn large_shards_are_encoded_by_all_threads() {
    let given = |chunks: [u64; 3], shards: Option<[u64; 3]>| Given {
        data_type: "float32",
        shape: vec![256, 2048, 2048],
        chunks: chunks.to_vec(),
        shards: shards.map(|shards| shards.to_vec()),
        codec: Some("gzip:1"),
    };
    let source = given([1, 2048, 2048], None).create(&hierarchy(from_sync(MemoryStore::new())));
    let copy = given([64; 3], Some([256; 3])).create(&hierarchy(from_sync(MemoryStore::new())));
    // It is asked what it can do, and not touched.
    let store = from_sync(FilesystemStore::new("untouched"));
    let way = |memory: u64| {
        let numbers =
            Numbers::of(&source, &copy.metadata(), &*store, Some(&[0; 3]), (None, None)).unwrap();
        let plan = numbers.plan(memory << 20, 4, 8 << 30).unwrap();
        let Way::Spooled(how) = plan.way else { panic!("it needs a file: {plan:?}") };
        how
    };
    let how = way(256);
    assert!(how.writers == 1 && how.encoders > 1, "{how:?}");
    assert!(how.writing + (60 << 20) < 256 << 20, "{how:?}");
    let how = way(600);
    assert!(how.writers * how.encoders >= 3 && how.encoders == 1, "{how:?}");
}

/// An error names memory with which there is a plan, and of far stores, too, which hold some chunks at a time.
#[test]
fn the_memory_that_is_asked_for_is_enough() {
    let far = || watched().0;
    let near = || hierarchy(from_sync(MemoryStore::new()));
    let (slabs, cubes) = ([16, 1024, 1024], [64, 64, 64]);
    for (from, to, chunks) in [(far(), near(), [slabs, cubes]), (near(), far(), [cubes, slabs])] {
        for codec in [None, Some("gzip:1")] {
            let [source, copy] = chunks.map(|chunks| Given {
                data_type: "float32",
                shape: vec![256, 1024, 1024],
                chunks: chunks.to_vec(),
                shards: None,
                codec,
            });
            let source = source.create(&from);
            let metadata = copy.create(&to).metadata();
            let planned = |memory: u64| {
                check_memory(&source, &metadata, &to, Some(&[0; 3]), Some(memory << 20))
            };
            let error = planned(256).unwrap_err().to_string();
            let needed = error.split("it takes ").nth(1).and_then(|rest| rest.split(' ').next());
            let needed: u64 = needed.unwrap().parse().unwrap();
            assert!((257..400).contains(&needed), "{error}");
            planned(needed).unwrap();
            from.erase("/a").unwrap();
            to.erase("/a").unwrap();
        }
    }
}
