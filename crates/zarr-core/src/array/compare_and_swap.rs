//! Changes the value of a key without losing the change of another writer.
//!
//! A writer gets the value, works out the new one, and sets that if the key still has the version that it got; else it
//! starts again (decision 0104). No lock is held in between. After some lost attempts the writers of this process, blocking
//! and async, queue at the key. Each waits for a bounded time, so that no deadlock is possible.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::channel::oneshot;
use futures::future::{Either, select};

use crate::context::StoreContext;
use crate::error::{AccessError, Result, StoreError};
use crate::options::Guard;
use crate::store::{
    ByteRange, InMemorySnapshot, Payload, Precondition, Snapshot, SnapshotOptions, StoreKey,
    check_size, pause,
};
use crate::sync::lock;

/// What a change makes of a value.
pub(crate) enum Edited {
    /// The new value.
    Set(Payload<'static>),
    Erase,
    /// The value stays as it is.
    Keep,
}

/// Attempts that a writer may lose before it queues.
pub(crate) const ATTEMPTS_WITHOUT_QUEUE: u32 = 3;
/// Attempts after which a change of a chunk or a document is given up: another writer was faster each time.
pub(crate) const MAX_ATTEMPTS: u32 = 100_000;
/// A queueing writer waits as long as its slowest attempt took, and this much longer, for each writer before it.
const PATIENCE: Duration = Duration::from_millis(50);

/// Changes a document, the value of `key`. With the guard on, `edit` may be called several times, each time with
/// the current value.
pub(crate) async fn update(
    context: &StoreContext,
    key: &StoreKey,
    edit: impl FnMut(Option<&Bytes>) -> Result<Edited>,
) -> Result<()> {
    let edit = &Mutex::new(edit);
    let edit = |old: Option<Arc<dyn Snapshot>>| async move {
        let old = whole(old.as_deref()).await?;
        let mut edit = lock(edit);
        edit(old.as_ref())
    };
    let limit = context.options.limits.document;
    unless_given_up(
        compare_and_swap(context, context.options.guard, key, limit, edit, MAX_ATTEMPTS).await?,
    )
}

/// An error unless a change was made within [`MAX_ATTEMPTS`].
pub(crate) fn unless_given_up(is_done: bool) -> Result<()> {
    if is_done { Ok(()) } else { Err(AccessError::Conflict { attempts: MAX_ATTEMPTS }.into()) }
}

/// Changes the value of `key`, which has at most `limit` bytes. With the guard on, `edit` may be called several times, each
/// time with the current value. `false`: another writer was faster in each of `attempts`.
pub(crate) async fn compare_and_swap<F: Future<Output = Result<Edited>>>(
    context: &StoreContext,
    guard: Guard,
    key: &StoreKey,
    limit: u64,
    mut edit: impl FnMut(Option<Arc<dyn Snapshot>>) -> F,
    attempts: u32,
) -> Result<bool> {
    let writeable = context.writeable()?;
    if guard == Guard::Off {
        let readable = context.store.readable()?;
        let old: Option<Arc<dyn Snapshot>> = if context.store.as_sync().is_none() {
            // One request gets all of it.
            let old = readable.get_at_most(key, limit).await?;
            old.map(|old| Arc::new(InMemorySnapshot::new(key, old)) as _)
        } else {
            readable.open(key, SnapshotOptions::default()).await?.map(Arc::from)
        };
        check_size(key, old.as_ref().map_or(0, |old| old.size()), limit)?;
        return Ok(match edit(old).await? {
            Edited::Set(value) => writeable.put(key, Some(value), Precondition::Unchecked).await?,
            Edited::Erase => writeable.put(key, None, Precondition::Unchecked).await?,
            Edited::Keep => true,
        });
    }
    if !context.store.capabilities().swap {
        return Err(StoreError::not_capable("guard a change", "conditional").into());
    }
    let how = SnapshotOptions { limit, ..SnapshotOptions::for_update() };
    let mut slowest = Duration::ZERO;
    for attempt in 0..attempts {
        let place = if attempt < ATTEMPTS_WITHOUT_QUEUE {
            None
        } else {
            QueuePlace::acquire(&context.store.name(), key, slowest + PATIENCE).await
        };
        let begin = Instant::now();
        // The store keeps the version for as long as the snapshot exists.
        let old: Option<Arc<dyn Snapshot>> = context.store.open(key, how).await?.map(Arc::from);
        let was = old.as_ref().map(|old| old.version().ok_or_else(no_version)).transpose()?;
        let unchanged = Precondition::unchanged(was.as_ref());
        let done = match edit(old.clone()).await? {
            Edited::Set(value) => writeable.put(key, Some(value), unchanged).await?,
            Edited::Erase if was.is_none() => true,
            // Only documents: such a store gets a chunk of fill in place of an erased one.
            Edited::Erase if !context.store.capabilities().swap_erase => {
                writeable.put(key, None, Precondition::Always).await?
            }
            Edited::Erase => writeable.put(key, None, unchanged).await?,
            Edited::Keep => true,
        };
        drop((old, place));
        if done {
            return Ok(true);
        }
        slowest = slowest.max(begin.elapsed());
    }
    Ok(false)
}

/// The bytes of a value.
pub(crate) async fn whole(value: Option<&dyn Snapshot>) -> Result<Option<Bytes>> {
    match value {
        None => Ok(None),
        Some(value) => Ok(value.read(&[ByteRange::ALL]).await?.pop()),
    }
}

fn no_version() -> StoreError {
    StoreError::Backend("the store compares and swaps, but returned no version of a value".into())
}

/// The right of one writer to try next, among those of this process that lost several attempts at a key. The queue makes
/// attempts succeed; only the compare-and-swap makes them correct.
struct QueuePlace(u64);

/// The writers that wait, by the hash of process, store and key. A key whose place is taken has an entry.
type KeyQueue = BTreeMap<u64, VecDeque<oneshot::Sender<QueuePlace>>>;

static QUEUE: Mutex<KeyQueue> = Mutex::new(BTreeMap::new());

impl QueuePlace {
    /// Waits for the place, at most `patience` for each writer before this one; then `None`: the writer tries without.
    async fn acquire(store: &str, key: &StoreKey, patience: Duration) -> Option<QueuePlace> {
        // A forked process has none of its parent's writers.
        let key = (std::process::id(), store, key.as_str());
        let id = BuildHasherDefault::<DefaultHasher>::default().hash_one(key);
        let (place, ahead) = {
            let mut queue = lock(&QUEUE);
            let Some(waiting) = queue.get_mut(&id) else {
                queue.insert(id, VecDeque::new());
                return Some(QueuePlace(id));
            };
            waiting.retain(|writer| !writer.is_canceled());
            let (send, receive) = oneshot::channel();
            waiting.push_back(send);
            (receive, waiting.len() as u32)
        };
        match select(place, pause(patience.saturating_mul(ahead))).await {
            Either::Left((place, _)) => place.ok(),
            Either::Right(_) => None,
        }
    }
}

impl Drop for QueuePlace {
    /// Gives the place to the next writer that still waits.
    fn drop(&mut self) {
        loop {
            let next = {
                let mut queue = lock(&QUEUE);
                let next = queue.get_mut(&self.0).and_then(VecDeque::pop_front);
                if next.is_none() {
                    queue.remove(&self.0);
                }
                next
            };
            // Without the lock: a waker is code of a third party.
            match next.map(|next| next.send(QueuePlace(self.0))) {
                None | Some(Ok(())) => return,
                // That writer no longer waits.
                Some(Err(place)) => std::mem::forget(place),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::store::block_on;

    const LONG: Duration = Duration::from_secs(3600);

    /// Decision 0104.
    #[test]
    fn a_place_goes_to_the_first_writer_that_still_waits() {
        let key = StoreKey::new("place").unwrap();
        let acquire = || Box::pin(QueuePlace::acquire("test://queue", &key, LONG));
        let held = block_on(acquire()).expect("no writer is before this one");
        let (mut dropped, mut second, mut third) = (acquire(), acquire(), acquire());
        for waiting in [&mut dropped, &mut second, &mut third] {
            assert!(waiting.now_or_never().is_none());
        }
        drop(dropped);
        drop(held);
        assert!((&mut third).now_or_never().is_none(), "the second is before it");
        let place = second.now_or_never().flatten().expect("it is the first that waits");
        drop(place);
        // A place that arrived and was not taken goes to the next writer.
        drop(third);
        assert!(acquire().now_or_never().flatten().is_some());
    }

    #[test]
    fn a_writer_does_not_wait_for_ever() {
        let key = StoreKey::new("patience").unwrap();
        let held = block_on(QueuePlace::acquire("test://queue", &key, LONG));
        assert!(held.is_some());
        let tired = QueuePlace::acquire("test://queue", &key, Duration::from_millis(1));
        assert!(block_on(tired).is_none());
    }
}
