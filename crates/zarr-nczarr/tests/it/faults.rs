//! A writer that is cut short leaves a dataset that opens; concurrent writers and readers agree.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

use crate::common::{memory, options};
use zarr_core::StoreError;
use zarr_core::store::{
    Capabilities, Payload, Precondition, Store, StoreKey, StorePrefix, SyncStore, from_sync_arc,
};
use zarr_nczarr::schema::{Group, Variable};
use zarr_nczarr::{Dataset, Dimension, Lengths, NewDataset, Slab, Type, Values};

/// A store that fails after `left` changes.
#[derive(Debug)]
struct CutShort {
    store: Arc<dyn SyncStore>,
    left: AtomicI64,
}

impl CutShort {
    fn change(&self, key: &str) -> Result<(), StoreError> {
        if self.left.fetch_sub(1, Ordering::SeqCst) > 0 {
            Ok(())
        } else {
            let source = io::Error::from(io::ErrorKind::StorageFull);
            Err(StoreError::Io { operation: "set", key: key.to_owned(), source })
        }
    }
}

impl SyncStore for CutShort {
    zarr_testkit::forward_calls!(store: get open list_prefix list_dir);

    fn name(&self) -> String {
        "cut short".into()
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { create: false, ..self.store.capabilities() }
    }
    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        self.change(key.as_str())?;
        self.store.put(key, value, only_if)
    }
    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        self.change(prefix.as_str())?;
        self.store.erase_prefix(prefix)
    }
}

/// Two records of two variables, one of them in a group below.
fn schema() -> Group {
    let mut root = Group::new("");
    root.dimensions = vec![Dimension::unlimited("t"), Dimension::new("x", 2)];
    root.variables = vec![
        Variable::new("time", Type::Double, ["t"]),
        Variable::new("value", Type::Int, ["t", "x"]),
    ];
    let mut below = Group::new("g");
    below.variables = vec![Variable::new("more", Type::Short, ["t"])];
    root.groups = vec![below];
    root
}

fn record(dataset: &Dataset, n: u64) -> zarr_core::Result<u64> {
    dataset.append("/t", 1, |start| {
        let of = |path: &str| dataset.variable(path);
        of("value")?.write_slab(&Slab::new([start, 0], [1, 2]), vec![n as i32; 2])?;
        of("/g/more")?.write_slab(&Slab::new([start], [1]), vec![n as i16])?;
        of("time")?.write_slab(&Slab::new([start], [1]), vec![n as f64])
    })
}

fn reopened(store: &Arc<dyn Store>, lengths: Lengths) -> Dataset {
    Dataset::open(store.clone(), &options().lengths(lengths)).unwrap()
}

/// N-013: wherever growing is cut short, the dataset opens with its old records, and a reader of the published length sees only
/// whole records.
#[test]
fn a_fault_in_the_middle_of_growing_leaves_a_dataset() {
    for new in [NewDataset::nczarr_v2(), NewDataset::nczarr_v3()] {
        let mut changes = 0;
        loop {
            let store = memory();
            let cut = Arc::new(CutShort { store: store.to_sync(), left: AtomicI64::new(i64::MAX) });
            let dataset = Dataset::create(from_sync_arc(cut.clone()), &new, &options()).unwrap();
            dataset.define(&schema()).unwrap();
            record(&dataset, 10).unwrap();
            record(&dataset, 11).unwrap();
            cut.left.store(changes, Ordering::SeqCst);
            let done = record(&dataset, 12).is_ok();
            let told = reopened(&store, Lengths::Published);
            let records = told.dimension("/t").unwrap().len;
            assert_eq!(records, if done { 3 } else { 2 }, "after {changes} changes");
            let due: Vec<f64> = (0..records).map(|n| (10 + n) as f64).collect();
            assert_eq!(told.variable("time").unwrap().read().unwrap(), due.into());
            let longest = reopened(&store, Lengths::Longest);
            assert!(longest.warnings().is_empty(), "{:?}", longest.warnings());
            for path in ["time", "value", "/g/more"] {
                let (a, b) = (told.variable(path).unwrap(), longest.variable(path).unwrap());
                let (told, all) = (a.read().unwrap(), b.read().unwrap());
                assert!(all.len() >= told.len() && b.shape().unwrap()[0] >= 2, "{path}");
            }
            // The next writer continues after the record that was begun.
            let next = Dataset::open(store.clone(), &options().read_write()).unwrap();
            let start = record(&next, 13).unwrap();
            assert!((2..=3).contains(&start));
            let time = next.variable("time").unwrap().read().unwrap();
            assert!(matches!(time, Values::Double(list) if list[start as usize] == 13.0));
            if done {
                break;
            }
            changes += 1;
        }
        assert!(changes >= 7, "three arrays, three chunks, a group: {changes}");
    }
}

/// N-014, N-032: nor does a definition that is cut short.
#[test]
fn a_fault_in_a_definition_leaves_a_dataset() {
    let mut changes = 0;
    loop {
        let store = memory();
        let cut = Arc::new(CutShort { store: store.to_sync(), left: AtomicI64::new(i64::MAX) });
        let dataset =
            Dataset::create(from_sync_arc(cut.clone()), &NewDataset::nczarr_v2(), &options())
                .unwrap();
        dataset.define(&schema()).unwrap();
        record(&dataset, 1).unwrap();
        cut.left.store(changes, Ordering::SeqCst);
        let root = dataset.root();
        let all = || {
            root.rename_dimension("x", "y")?;
            root.define_variable(&Variable::new("new", Type::Int, ["t", "y"]))?;
            root.rename("value", "values")?;
            root.rename("g", "h")?;
            root.delete("time")
        };
        let done = all().is_ok();
        let read = reopened(&store, Lengths::Longest);
        assert!(read.warnings().is_empty(), "after {changes} changes: {:?}", read.warnings());
        let schema = read.schema();
        let name = if schema.variable("values").is_some() { "values" } else { "value" };
        assert_eq!(read.variable(name).unwrap().read().unwrap(), vec![1, 1].into());
        if done {
            break;
        }
        changes += 1;
    }
    assert!(changes > 10);
}

/// Several threads append, each record at its own index, while others read.
#[test]
fn threads_append_and_read_at_once() {
    let store = memory();
    let dataset = Dataset::create(store.clone(), &NewDataset::nczarr_v2(), &options()).unwrap();
    dataset.define(&schema()).unwrap();
    thread::scope(|scope| {
        for writer in 0..3 {
            let dataset = &dataset;
            scope.spawn(move || {
                for n in 0..5 {
                    record(dataset, 10 * writer + n).unwrap();
                }
            });
        }
        // Another process' handle.
        let (store, other) = (store.clone(), options().read_write());
        scope.spawn(move || {
            let dataset = Dataset::open(store, &other).unwrap();
            for n in 0..5 {
                dataset.refresh().unwrap();
                record(&dataset, 30 + n).unwrap();
            }
        });
        let dataset = &dataset;
        scope.spawn(move || {
            for _ in 0..20 {
                let value = dataset.variable("value").unwrap();
                let shape = value.shape().unwrap();
                assert_eq!(value.read_slab(&Slab::all(&shape)).unwrap().len() as u64, 2 * shape[0]);
            }
        });
    });
    let read = reopened(&store, Lengths::Published);
    assert_eq!(read.dimension("/t").unwrap().len, 20);
    let Values::Double(mut time) = read.variable("time").unwrap().read().unwrap() else { panic!() };
    let Values::Int(value) = read.variable("value").unwrap().read().unwrap() else { panic!() };
    for (time, value) in time.iter().zip(value.chunks(2)) {
        assert_eq!(value, [*time as i32; 2], "a record is of one writer");
    }
    time.sort_by(f64::total_cmp);
    let due: Vec<f64> = (0..4).flat_map(|w| (0..5).map(move |n| f64::from(10 * w + n))).collect();
    assert_eq!(time, due, "no record is lost");
}

/// Two handles define at once: nothing of either is lost.
#[test]
fn threads_define_at_once() {
    let store = memory();
    Dataset::create(store.clone(), &NewDataset::nczarr_v3(), &options()).unwrap();
    thread::scope(|scope| {
        for writer in 0..4 {
            let store = store.clone();
            scope.spawn(move || {
                let dataset = Dataset::open(store, &options().read_write()).unwrap();
                for n in 0..5 {
                    let name = format!("w{writer}_{n}");
                    let root = dataset.root();
                    root.define_dimension(Dimension::new(name.as_str(), 2)).unwrap();
                    root.define_variable(&Variable::new(name.as_str(), Type::Int, [name.as_str()]))
                        .unwrap();
                    root.set_attribute(&name, vec![n]).unwrap();
                }
            });
        }
    });
    let schema = reopened(&store, Lengths::Longest).schema();
    assert_eq!(schema.variables.len(), 20);
    assert_eq!((schema.dimensions.len(), schema.attributes.len()), (20, 20));
}
