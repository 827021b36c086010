//! A thread that refreshes a dataset undoes no change that another one made concurrently.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::{memory, options};
use zarr_core::StoreError;
use zarr_core::store::{GetOptions, Got, StoreKey, SyncStore, from_sync_arc};
use zarr_nczarr::schema::{Group, Variable};
use zarr_nczarr::{Dataset, Dimension, NewDataset, Slab, Type};

/// A store that holds back the next caller that has read the document of `last`.
#[derive(Debug)]
struct Held {
    store: Arc<dyn SyncStore>,
    next: Mutex<Option<(Sender<()>, Receiver<()>)>>,
}

impl SyncStore for Held {
    zarr_testkit::forward_calls!(store: capabilities put create erase_prefix list_prefix list_dir);

    fn name(&self) -> String {
        "held".into()
    }
    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        let is_read = !how.version;
        let value = self.store.get(key, how);
        let is_last = is_read && ["last/.zarray", "last/zarr.json"].contains(&key.as_str());
        let held = if is_last { self.next.lock().unwrap().take() } else { None };
        if let Some((reached, go)) = held {
            reached.send(()).unwrap();
            go.recv().unwrap();
        }
        value
    }
}

fn schema() -> Group {
    let mut root = Group::new("");
    root.dimensions = vec![Dimension::unlimited("t")];
    root.variables = ["first", "last"].map(|name| Variable::new(name, Type::Int, ["t"])).to_vec();
    root
}

#[test]
fn a_refresh_beside_an_append_keeps_what_was_appended() {
    for new in [NewDataset::nczarr_v2(), NewDataset::nczarr_v3()] {
        let held = Arc::new(Held { store: memory().to_sync(), next: Mutex::default() });
        let dataset = Dataset::create(from_sync_arc(held.clone()), &new, &options()).unwrap();
        dataset.define(&schema()).unwrap();
        let append = |value: i32| {
            let append = dataset.append("/t", 1, |start| {
                let slab = Slab::new([start], [1]);
                ["first", "last"]
                    .iter()
                    .try_for_each(|name| dataset.variable(name)?.write_slab(&slab, vec![value]))
            });
            append.unwrap()
        };
        append(1);
        thread::scope(|scope| {
            let ((reached, is_reached), (go, gone)) = (channel(), channel());
            *held.next.lock().unwrap() = Some((reached, gone));
            let refreshing = scope.spawn(|| {
                let done = dataset.refresh();
                held.next.lock().unwrap().take();
                done
            });
            is_reached.recv().unwrap();
            assert_eq!(append(2), 1);
            go.send(()).unwrap();
            refreshing.join().unwrap().unwrap();
        });
        assert_eq!(dataset.dimension("/t").unwrap().len, 2);
        for name in ["first", "last"] {
            let variable = dataset.variable(name).unwrap();
            assert_eq!(variable.read().unwrap(), vec![1, 2].into());
            assert_eq!(variable.array().unwrap().shape(), [2]);
        }
    }
}

/// The same while records are being written: the refresh ends before their length is published.
#[test]
fn a_refresh_within_an_append_hides_no_record() {
    for new in [NewDataset::nczarr_v2(), NewDataset::nczarr_v3()] {
        let held = Arc::new(Held { store: memory().to_sync(), next: Mutex::default() });
        let dataset = Dataset::create(from_sync_arc(held.clone()), &new, &options()).unwrap();
        dataset.define(&schema()).unwrap();
        let write = |value| {
            let variable = dataset.variable("last").unwrap();
            variable.write_slab(&Slab::new([value], [1]), vec![value as i32]).unwrap();
        };
        write(0);
        // The write holds the handle that was known before it grew, and the refresh reads before it grows.
        let (handle, grown) = (dataset.variable("last").unwrap().array().unwrap(), 2);
        thread::scope(|scope| {
            let ((reached, is_reached), (go, gone)) = (channel(), channel());
            *held.next.lock().unwrap() = Some((reached, gone));
            let refreshing = scope.spawn(|| dataset.refresh());
            is_reached.recv().unwrap();
            handle.resize(&[grown]).unwrap();
            handle.write(1..2, &[1i32]).unwrap();
            go.send(()).unwrap();
            refreshing.join().unwrap().unwrap();
        });
        // Now the new handle is behind; what makes the dimension longer makes it look again.
        dataset.variable("first").unwrap().write_slab(&Slab::new([1], [1]), vec![1]).unwrap();
        assert_eq!(dataset.variable("last").unwrap().read().unwrap(), vec![0, 1].into());
    }
}
