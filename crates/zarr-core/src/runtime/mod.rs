//! Threads and time: what runs the library's work, and what a process that forks must wait for.
//!
//! - [`block_on`] waits for a future; [`spawn_blocking`] makes a blocking call for a caller that must not block.
//! - [`Parallel`] shares work among threads that last as long as the call; [`join`], [`run_together`] and [`spawn_thread`]
//!   are its small relatives. [`Workers`] are threads that last longer. No other code of these crates starts threads.
//! - The pool (`pool.rs`) decodes and encodes chunks. It belongs to the options, or to this library.
//! - [`pause`] waits for some time. [`VirtualTime`] lets a simulation put its own time in place of the system's.
//! - [`fork`] makes a process wait with forking until no thread holds a lock.

mod block_on;
pub mod fork;
mod io_threads;
mod parallel;
pub(crate) mod pool;
mod timer;
pub(crate) mod tuning;

pub use self::block_on::block_on;
pub(crate) use self::block_on::spawn_future;
pub(crate) use self::io_threads::may_block;
pub use self::io_threads::{Workers, spawn_blocking};
pub use self::parallel::{Parallel, available_threads, join, run_together, spawn_thread};
pub use self::timer::{VirtualTime, pause};
pub(crate) use self::timer::{instant, pause_up_to};
