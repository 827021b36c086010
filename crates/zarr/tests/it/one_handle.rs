//! Threads that share the handle of an array never make it forget what one of them has learned.
//!
//! A store holds one thread back after it has read, or swapped, a document, while another one goes on.
#![cfg(feature = "memory")]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use zarr::store::{GetOptions, Got, Payload, Precondition, StoreKey, SyncStore, from_sync_arc};
use zarr::stores::MemoryStore;
use zarr::{Array, Dialect, Hierarchy, OpenOptions, Result, StoreError, aio};

#[derive(Clone, Copy, Debug, PartialEq)]
enum After {
    Read,
    Swap,
}

/// Whom to hold back: after what, where that is told, and where the leave to go on comes from.
type Hold = (After, Sender<()>, Receiver<()>);

/// Memory that holds back the next caller that has read, or swapped, a document.
#[derive(Debug, Default)]
struct Held {
    memory: MemoryStore,
    next: Mutex<Option<Hold>>,
}

impl Held {
    fn hold(&self, done: After, key: &StoreKey) {
        let mut next = self.next.lock().unwrap();
        let ends = ["zarr.json", ".zarray", ".array.json", ".zattrs"];
        // The two documents of v2 are read at once, and one reader is held back once.
        let ends = if done == After::Read { &ends[..3] } else { &ends };
        let is_document = ends.iter().any(|end| key.as_str().ends_with(end));
        if is_document && next.as_ref().is_some_and(|(after, ..)| *after == done) {
            let (_, reached, go) = next.take().unwrap();
            drop(next);
            reached.send(()).unwrap();
            go.recv().unwrap();
        }
    }
}

impl SyncStore for Held {
    zarr_testkit::forward_calls!(memory: capabilities create erase_prefix list_prefix list_dir);

    fn name(&self) -> String {
        "held".into()
    }
    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        let is_read = !how.version;
        let value = self.memory.get(key, how);
        if is_read {
            self.hold(After::Read, key);
        }
        value
    }
    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        let done = self.memory.put(key, value, only_if);
        if only_if.compares() {
            self.hold(After::Swap, key);
        }
        done
    }
}

const DIALECTS: [Dialect; 3] = [Dialect::V2, Dialect::V3, Dialect::Draft];

/// What a thread does with the handle.
#[derive(Clone, Copy, Debug)]
enum Act {
    Refresh,
    /// A reshape that leaves the shape as it is found.
    Look,
    Append,
    Shrink,
    Attribute(&'static str),
}

/// Two handles of an array of three elements: they know nothing of each other.
struct Begun {
    store: Arc<Held>,
    array: Array,
    waiting: aio::Array,
}

impl Begun {
    fn new(dialect: Dialect) -> Result<Begun> {
        let store = Arc::new(Held::default());
        let options = OpenOptions::new(zarr::standard()).read_write();
        let hierarchy =
            Hierarchy::create(from_sync_arc(store.clone()), options.format(dialect), &options)?;
        let array = hierarchy.create_array("/a").shape(&[3]).chunks(&[2]);
        let array = array.data_type_named("u1").create()?;
        array.write(.., &[1u8, 2, 3])?;
        let waiting = array.hierarchy().as_async();
        let waiting = block_on(waiting.array(array.path()))?;
        Ok(Begun { store, array, waiting })
    }

    /// Acts with the one handle or with the other.
    fn act(&self, is_waiting: bool, act: Act) {
        let (array, waiting) = (&self.array, &self.waiting);
        let done = match (act, is_waiting) {
            (Act::Refresh, false) => array.refresh(),
            (Act::Refresh, true) => block_on(waiting.refresh()),
            (Act::Look, false) => array.reshape(|old| Ok(old.to_vec())).map(drop),
            (Act::Look, true) => block_on(waiting.reshape(|old| Ok(old.to_vec()))).map(drop),
            (Act::Append, false) => array.append(0, &[7u8; 2]).map(drop),
            (Act::Append, true) => block_on(waiting.append(0, vec![7u8; 2])).map(drop),
            (Act::Shrink, false) => array.resize(&[1]),
            (Act::Shrink, true) => block_on(waiting.resize(&[1])),
            (Act::Attribute(name), false) => {
                array.update_attributes(|attributes| drop(attributes.insert(name, 1u64))).map(drop)
            }
            (Act::Attribute(name), true) => block_on(
                waiting.update_attributes(|attributes| drop(attributes.insert(name, 1u64))),
            )
            .map(drop),
        };
        // A test that waits for a caller that was never held back ends.
        self.store.next.lock().unwrap().take();
        done.unwrap_or_else(|e| panic!("{act:?}: {e}"));
    }

    /// The next caller that has done that is held back: it sends, and waits for an answer.
    fn hold(&self, after: After) -> (Receiver<()>, Sender<()>) {
        let ((reached, is_reached), (go, gone)) = (channel(), channel());
        *self.store.next.lock().unwrap() = Some((after, reached, gone));
        (is_reached, go)
    }

    /// The handle knows the array as it is.
    fn check(&self, is_waiting: bool, what: &str) {
        let options = OpenOptions::new(zarr::standard());
        let now = Hierarchy::open(from_sync_arc(self.store.clone()), &options).unwrap();
        let now = now.array(self.array.path()).unwrap();
        let known = if is_waiting { self.waiting.metadata() } else { self.array.metadata() };
        assert_eq!(known.shape, now.shape(), "{what}");
        assert_eq!(known.attributes, now.metadata().attributes, "{what}");
        let elements = if is_waiting {
            block_on(self.waiting.read::<u8>(..)).unwrap()
        } else {
            self.array.read::<u8>(..).unwrap()
        };
        assert_eq!(elements, now.read::<u8>(..).unwrap(), "{what}");
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Whatever one thread has read or swapped first, and tells last, the handle keeps what is newer.
#[test]
fn a_thread_that_is_held_back_takes_nothing_back() -> Result<()> {
    let all = [Act::Refresh, Act::Look, Act::Append, Act::Shrink, Act::Attribute("second")];
    for dialect in DIALECTS {
        for is_waiting in [false, true] {
            for (after, first) in [
                (After::Read, Act::Refresh),
                (After::Read, Act::Look),
                (After::Read, Act::Append),
                (After::Swap, Act::Append),
                (After::Swap, Act::Shrink),
                (After::Swap, Act::Attribute("first")),
            ] {
                for meanwhile in all {
                    let begun = Begun::new(dialect)?;
                    thread::scope(|scope| {
                        let (reached, go) = begun.hold(after);
                        let held = scope.spawn(|| begun.act(is_waiting, first));
                        reached.recv().unwrap();
                        begun.act(is_waiting, meanwhile);
                        go.send(()).unwrap();
                        held.join().unwrap();
                    });
                    let what = format!(
                        "{dialect}, waiting: {is_waiting}: {first:?} held after its {after:?}, {meanwhile:?}"
                    );
                    begun.check(is_waiting, &what);
                }
            }
        }
    }
    Ok(())
}

/// What a thread has read and could not tell, because an older reading was told meanwhile, is read again.
#[test]
fn a_refresh_that_returns_has_told_the_handle() -> Result<()> {
    for dialect in DIALECTS {
        for is_waiting in [false, true] {
            let begun = Begun::new(dialect)?;
            thread::scope(|scope| {
                let (reached, old) = begun.hold(After::Read);
                let older = scope.spawn(|| begun.act(is_waiting, Act::Refresh));
                reached.recv().unwrap();
                begun.act(!is_waiting, Act::Append);
                let (reached, new) = begun.hold(After::Read);
                let newer = scope.spawn(|| begun.act(is_waiting, Act::Refresh));
                reached.recv().unwrap();
                old.send(()).unwrap();
                older.join().unwrap();
                new.send(()).unwrap();
                newer.join().unwrap();
            });
            begun.check(is_waiting, &format!("{dialect}, waiting: {is_waiting}"));
        }
    }
    Ok(())
}
