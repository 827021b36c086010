//! Takes locks. A thread that panicked while it held one leaves nothing half done behind it: what the locks of
//! these crates guard is changed in one step. Each lock is counted while it is held, so that a process can fork when no
//! thread holds one ([`crate::fork`]).

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::fork::Hold;
pub use crate::fork::hold;
use crate::primitives::sync::{self, Mutex, PoisonError, RwLock};
use crate::primitives::thread::{self, Thread};

/// A lock that is held.
#[derive(Debug)]
pub struct Locked<G> {
    // Dropped first.
    guard: G,
    _hold: Hold,
}

/// A mutex that is held.
pub type MutexGuard<'a, T> = Locked<sync::MutexGuard<'a, T>>;
/// A lock that is held for reading.
pub type RwLockReadGuard<'a, T> = Locked<sync::RwLockReadGuard<'a, T>>;
/// A lock that is held for writing.
pub type RwLockWriteGuard<'a, T> = Locked<sync::RwLockWriteGuard<'a, T>>;

impl<G: Deref> Deref for Locked<G> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut> DerefMut for Locked<G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}

/// Locks a mutex.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    let _hold = hold();
    Locked { guard: lock_uncounted(mutex), _hold }
}

/// Locks a mutex that its threads hold while they wait, and that a forked process does not use.
pub fn lock_uncounted<T: ?Sized>(mutex: &Mutex<T>) -> sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a mutex guarded.
pub fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for reading.
pub fn read<T: ?Sized>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    let _hold = hold();
    Locked { guard: lock.read().unwrap_or_else(PoisonError::into_inner), _hold }
}

/// Locks for writing.
pub fn write<T: ?Sized>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    let _hold = hold();
    Locked { guard: lock.write().unwrap_or_else(PoisonError::into_inner), _hold }
}

/// What threads wait for while they leave a mutex to others. A thread that wakes takes it as any other does, so that no
/// process forks in between.
#[derive(Debug, Default)]
pub struct Condition(Mutex<Vec<Thread>>);

impl Condition {
    /// One that no thread waits for.
    pub const fn new() -> Condition {
        Condition(Mutex::new(Vec::new()))
    }

    /// Waits until another thread calls [`Condition::notify_all`], or for `limit`; perhaps not so long. `locked` is the
    /// lock of `mutex`.
    pub fn wait<'a, T>(
        &self,
        mutex: &'a Mutex<T>,
        locked: MutexGuard<'a, T>,
        limit: Option<Duration>,
    ) -> MutexGuard<'a, T> {
        lock(&self.0).push(thread::current());
        drop(locked);
        match limit {
            Some(limit) => thread::park_timeout(limit),
            None => thread::park(),
        }
        lock(mutex)
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        let waiting = std::mem::take(&mut *lock(&self.0));
        waiting.iter().for_each(Thread::unpark);
    }
}
