//! Ends what a dropped call has begun before a later call on the same keys (docs/internals/design/crash-safety.md).
//!
//! A change that another thread makes has two halves: the caller's future holds a [`Caller`], the thread that does
//! the work a [`Worker`]. A future that is dropped before the work begins cancels it. Dropped later, it notes the
//! keys here; [`wait_for`] lets every later call on one of them wait until the work has ended. Keys are known by the
//! store's name, so that all handles of one store in this process wait for one another.

use std::cell::Cell;

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::Shared;

use super::{StoreKey, StorePrefix};
use crate::primitives::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::primitives::sync::{Arc, Mutex};
use crate::sync::lock;

/// The keys of a store that a call reads or changes.
#[derive(Clone, Debug)]
pub enum AffectedKeys {
    /// One key.
    Key(StoreKey),
    /// Every key below a prefix.
    Below(StorePrefix),
}

impl From<&StoreKey> for AffectedKeys {
    fn from(key: &StoreKey) -> Self {
        AffectedKeys::Key(key.clone())
    }
}

impl From<&StorePrefix> for AffectedKeys {
    fn from(prefix: &StorePrefix) -> Self {
        AffectedKeys::Below(prefix.clone())
    }
}

/// The same with the store's name before it: `file:///x.zarr` and `a/c/0` are where `file:///x.zarr/a` and `c/0` are.
#[derive(Debug)]
struct KeysOfStore {
    text: String,
    is_prefix: bool,
}

impl KeysOfStore {
    fn new(store: &str, keys: &AffectedKeys) -> KeysOfStore {
        let (key, is_prefix) = match keys {
            AffectedKeys::Key(key) => (key.as_str(), false),
            AffectedKeys::Below(prefix) => (prefix.as_str(), true),
        };
        KeysOfStore { text: format!("{}/{key}", store.trim_end_matches('/')), is_prefix }
    }

    fn overlaps(&self, other: &KeysOfStore) -> bool {
        self.text == other.text
            || self.is_prefix && other.text.starts_with(&self.text)
            || other.is_prefix && self.text.starts_with(&other.text)
    }
}

/// Work that goes on although its caller is gone.
#[derive(Debug)]
struct Abandoned {
    id: u64,
    /// A forked process has its parent's notes, and not the threads that do the work.
    process: u32,
    keys_of_store: KeysOfStore,
    ended: Shared<oneshot::Receiver<()>>,
}

static ABANDONED: Mutex<Vec<Abandoned>> = Mutex::new(Vec::new());
/// How many there are: calls look at this first, and almost always it is 0.
static COUNT: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug)]
enum Stage {
    /// The work has not begun.
    Waiting,
    /// The work is being done, and has ended when this is ready.
    Running(Shared<oneshot::Receiver<()>>),
    /// The caller went away before the work began: it is not done.
    Cancelled,
    /// The caller went away while the work was being done.
    Abandoned(u64),
    Ended,
}

/// The caller's half of a change: held by its future.
pub struct Caller<N: Fn() -> String> {
    stage: Arc<Mutex<Stage>>,
    store: N,
    keys: AffectedKeys,
}

/// The half of a change that goes to the thread that makes it.
#[derive(Debug)]
pub struct Worker(Arc<Mutex<Stage>>);

/// Work that is being done; dropped when it has ended.
#[derive(Debug)]
pub struct Running {
    stage: Arc<Mutex<Stage>>,
    /// Its end wakes all who wait.
    _end: oneshot::Sender<()>,
}

/// The two halves of a change of `keys` in the store of this name.
pub fn change<N: Fn() -> String>(store: N, keys: impl Into<AffectedKeys>) -> (Caller<N>, Worker) {
    let stage = Arc::new(Mutex::new(Stage::Waiting));
    (Caller { stage: stage.clone(), store, keys: keys.into() }, Worker(stage))
}

thread_local! {
    /// Whether this thread is doing such work: what that asks of stores further in must not wait for itself.
    static IS_WORKING: Cell<bool> = const { Cell::new(false) };
}

impl Running {
    /// Does the work on this thread.
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        /// Restores the earlier value, also if the work panics.
        struct Before(bool);
        impl Drop for Before {
            fn drop(&mut self) {
                IS_WORKING.set(self.0);
            }
        }
        let _before = Before(IS_WORKING.replace(true));
        work()
    }
}

impl Worker {
    /// Begins the work; `None` if its caller is gone, and it must not be done.
    pub fn begin(self) -> Option<Running> {
        let mut stage = lock(&self.0);
        if !matches!(*stage, Stage::Waiting) {
            return None;
        }
        let (end, ended) = oneshot::channel();
        *stage = Stage::Running(ended.shared());
        drop(stage);
        Some(Running { stage: self.0, _end: end })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let stage = std::mem::replace(&mut *lock(&self.stage), Stage::Ended);
        if let Stage::Abandoned(id) = stage {
            let mut all = lock(&ABANDONED);
            all.retain(|work| work.id != id);
            COUNT.store(all.len(), Ordering::SeqCst);
        }
    }
}

impl<N: Fn() -> String> Drop for Caller<N> {
    fn drop(&mut self) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        match &mut *lock(&self.stage) {
            stage @ Stage::Waiting => {
                *stage = Stage::Cancelled;
                return;
            }
            Stage::Running(_) => {}
            Stage::Cancelled | Stage::Abandoned(_) | Stage::Ended => return,
        }
        // The store is asked for its name while no lock is held.
        let keys_of_store = KeysOfStore::new(&(self.store)(), &self.keys);
        let mut stage = lock(&self.stage);
        if let Stage::Running(ended) = &*stage {
            let id = NEXT.fetch_add(1, Ordering::Relaxed);
            let ended = ended.clone();
            let mut all = lock(&ABANDONED);
            all.push(Abandoned { id, process: std::process::id(), keys_of_store, ended });
            COUNT.store(all.len(), Ordering::SeqCst);
            *stage = Stage::Abandoned(id);
        }
    }
}

/// Whether any dropped call is still changing keys that this thread would wait for.
pub fn is_any() -> bool {
    COUNT.load(Ordering::SeqCst) != 0 && !IS_WORKING.get()
}

/// Waits until no dropped call is still changing `keys` of the store of this name.
pub async fn wait_for(store: impl Fn() -> String, keys: impl Into<AffectedKeys>) {
    if !is_any() {
        return;
    }
    let wanted = KeysOfStore::new(&store(), &keys.into());
    let process = std::process::id();
    let met: Vec<_> = lock(&ABANDONED)
        .iter()
        .filter(|work| work.process == process && work.keys_of_store.overlaps(&wanted))
        .map(|work| work.ended.clone())
        .collect();
    // Those that are dropped from now on are not earlier than this call.
    for ended in met {
        let _ = ended.await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::block_on as wait;

    fn key(text: &str) -> AffectedKeys {
        AffectedKeys::Key(StoreKey::new(text).unwrap())
    }

    fn below(text: &str) -> AffectedKeys {
        AffectedKeys::Below(StorePrefix::new(text).unwrap())
    }

    fn is_settled(store: &str, keys: AffectedKeys) -> bool {
        wait_for(|| store.to_owned(), keys).now_or_never().is_some()
    }

    #[test]
    fn dropped_work_that_has_not_begun_is_not_done() {
        let (caller, worker) = change(|| "test://a".to_owned(), key("k"));
        drop(caller);
        assert!(worker.begin().is_none());
        assert!(is_settled("test://a", key("k")));
    }

    #[test]
    fn later_calls_on_the_same_keys_wait_for_dropped_work_that_has_begun() {
        let store = || "test://b/x".to_owned();
        let (caller, worker) = change(store, key("a/0"));
        let running = worker.begin().expect("nobody cancelled it");
        assert!(is_settled("test://b/x", key("a/0")), "its caller is still there");
        drop(caller);
        for met in [key("a/0"), below("a/"), below("")] {
            assert!(!is_settled("test://b/x", met));
        }
        assert!(!is_settled("test://b/x/a", key("0")), "the same key of a narrower store");
        for other in [key("a/1"), key("a"), below("b/")] {
            assert!(is_settled("test://b/x", other));
        }
        assert!(is_settled("test://c/x", key("a/0")));
        let waiting = std::thread::spawn(move || wait(wait_for(store, key("a/0"))));
        drop(running);
        waiting.join().expect("it is woken");
        assert!(is_settled("test://b/x", below("")));
    }

    #[test]
    fn work_does_not_wait_for_itself() {
        let store = || "test://e".to_owned();
        let (caller, worker) = change(store, key("k"));
        let running = worker.begin().expect("nobody cancelled it");
        drop(caller);
        assert!(running.run(|| is_settled("test://e", key("k"))));
    }

    #[test]
    fn keys_below_an_erased_prefix_wait() {
        let (caller, worker) = change(|| "test://d".to_owned(), below("a/"));
        let running = worker.begin().expect("nobody cancelled it");
        drop(caller);
        assert!(!is_settled("test://d", key("a/b/c")));
        assert!(!is_settled("test://d", below("a/b/")));
        assert!(is_settled("test://d", key("ab")));
        drop(running);
        assert!(is_settled("test://d", key("a/b/c")));
    }
}
