//! Queues the writers of this process that lost several attempts at a key (docs/internals/design/concurrency.md).

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::time::Duration;

use futures::channel::oneshot;
use futures::future::{Either, select};

use crate::primitives::sync::Mutex;
use crate::runtime::pause;
use crate::store::StoreKey;
use crate::sync::lock;

/// The right of one writer to try next, among those of this process that lost several attempts at a key. The queue makes
/// attempts succeed; only the compare-and-swap makes them correct.
pub(super) struct QueuePlace(u64);

/// The writers that wait, by the hash of process, store and key. A key whose place is taken has an entry.
type KeyQueue = BTreeMap<u64, VecDeque<oneshot::Sender<QueuePlace>>>;

static QUEUE: Mutex<KeyQueue> = Mutex::new(BTreeMap::new());

impl QueuePlace {
    /// Waits for the place, at most `patience` for each writer before this one; then `None`: the writer tries without.
    pub async fn acquire(store: &str, key: &StoreKey, patience: Duration) -> Option<QueuePlace> {
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
    use crate::runtime::block_on;

    const LONG: Duration = Duration::from_secs(3600);

    /// A writer that stopped waiting does not hold up those behind it.
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
