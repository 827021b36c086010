//! Runs the code that threads and processes share under a model checker, which decides after each step who goes on.
//!
//! The files are those of the library, not copies: they name threads, locks and files by `crate::primitives` and `crate::system`, which are
//! the standard library's there, and here shuttle's, and a model of a file system with `flock` (`system`). Each function of
//! [`PROTOCOLS`] is one execution with what must hold in it; `tests/it/protocols.rs` runs it with many schedules, and `mutations.py` shows
//! that a lock or a wake-up which is taken out of the code is noticed.

// The tests at the foot of the files are the library's.
#![cfg(not(test))]
#![allow(dead_code, unused_imports, reason = "each file is compiled whole, and some of it is used")]

/// For the files below, which use the standard library's, of cells.
macro_rules! thread_local {
    ($($(#[$attribute:meta])* static $name:ident: Cell<$type:ty> = const { Cell::new($first:expr) };)*) => {$(
        $(#[$attribute])*
        static $name: crate::local::Local<$type> = {
            shuttle::thread_local! { static KEY: Cell<$type> = const { Cell::new($first) } }
            crate::local::Local(&KEY)
        };
    )*};
}

mod local;

mod primitives {
    pub use shuttle::sync;

    use sync::{Arc, RwLock};

    /// As the crate `arc-swap` does it, with a lock: what that does without one has its own proofs.
    #[derive(Debug)]
    pub struct ArcSwap<T>(RwLock<Arc<T>>);

    pub type Guard<T> = T;

    impl<T> ArcSwap<T> {
        pub fn from_pointee(value: T) -> Self {
            ArcSwap(RwLock::new(Arc::new(value)))
        }

        pub fn load(&self) -> Guard<Arc<T>> {
            self.0.read().expect("no thread panics").clone()
        }

        pub fn compare_and_swap(&self, current: &Arc<T>, new: Arc<T>) -> Guard<Arc<T>> {
            let mut latest = self.0.write().expect("no thread panics");
            if Arc::ptr_eq(&latest, current) {
                return std::mem::replace(&mut latest, new);
            }
            latest.clone()
        }
    }

    pub mod thread {
        pub use shuttle::thread::*;

        /// One that sleeps lets others go on: schedules that only let it look again and again are none.
        pub fn sleep(_: std::time::Duration) {
            yield_now();
        }
    }
}
mod error {
    pub use zarr_core::{CodecError, StoreError};
}
mod runtime {
    pub use crate::store::pause;
    pub(crate) use crate::tuning;
}
mod limits {
    pub use zarr_core::Limits;
}
mod system {
    pub mod fs;

    /// There are no links in the model.
    pub fn no_follow(_: &mut fs::OpenOptions) {}

    pub fn not_a_link(_: &std::path::Path, error: std::io::Error) -> std::io::Error {
        error
    }
}
#[path = "../../crates/zarr-core/src/runtime/fork.rs"]
mod fork;
#[path = "../../crates/zarr-stores/src/opened.rs"]
mod opened;
#[path = "../../crates/zarr-core/src/sync.rs"]
mod sync;
#[path = "../../crates/zarr-core/src/runtime/tuning.rs"]
mod tuning;

mod codec {
    #[path = "../../../crates/zarr-core/src/codec/budget.rs"]
    mod budget;
    pub mod protocol;
}
mod array {
    #[path = "../../../crates/zarr-core/src/array/key_queue.rs"]
    mod key_queue;
    #[path = "../../../crates/zarr-core/src/array/latest_state.rs"]
    mod latest_state;
    pub mod protocol;
    mod state {
        /// Which document it was made of.
        #[derive(Debug)]
        pub struct ArrayState(pub u64);
    }
}
mod store {
    #[path = "../../../crates/zarr-core/src/store/abandoned.rs"]
    mod abandoned;
    mod block_on;
    #[path = "../../../crates/zarr-core/src/store/process_cas.rs"]
    mod process_cas;
    pub mod protocol;

    pub use block_on::pause;
    pub use zarr_core::store::{
        Capabilities, GetOptions, Got, ListOptions, Listing, Payload, Precondition,
        SnapshotOptions, Store, StoreKey, StorePrefix, SyncSnapshot, SyncStore, Version,
        from_sync_arc,
    };
}
mod filesystem {
    #[path = "../../../crates/zarr-stores/src/filesystem/lock.rs"]
    mod lock;
    #[path = "../../../crates/zarr-stores/src/filesystem/path.rs"]
    mod path;
    pub mod protocol;
    #[path = "../../../crates/zarr-stores/src/filesystem/tidy.rs"]
    mod tidy;
}
mod threads;

/// One execution of a protocol; it panics when a promise is broken.
pub type Protocol = fn();

/// Each protocol and its name.
pub const PROTOCOLS: [(&str, Protocol); 12] = [
    ("threads that wait for a condition are woken", threads::condition),
    ("no process forks while a lock is held", threads::forks),
    ("a thread that waits lets the process fork", threads::fork_while_waiting),
    ("threads share a budget of memory", codec::protocol::budget),
    ("a place in a queue goes to one writer after another", array::protocol::queue),
    ("a place is not lost when writers give up", array::protocol::impatient_queue),
    ("the state of an array never grows older", array::protocol::latest_state),
    ("a dropped change never lands after a later one", store::protocol::abandoned),
    ("compare-and-swap within a process loses no change", store::protocol::process_cas),
    (
        "writers of a folder keep each other out, and no lock file stays",
        filesystem::protocol::writers,
    ),
    ("lock files of a folder come and go", filesystem::protocol::tidy_writers),
    ("what erases a folder keeps writers out", filesystem::protocol::eraser),
];

/// Those of two processes, few enough steps for every schedule.
pub const SMALL_PROTOCOLS: [(&str, Protocol); 3] = [
    ("two writers of a folder", filesystem::protocol::two_writers),
    ("a writer of a folder, and what erases it", filesystem::protocol::writer_and_eraser),
    ("a writer that is killed, and another", filesystem::protocol::killed_writer),
];
