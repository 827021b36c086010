//! Changes whose callers are gone, and compare-and-swap within a process.

use std::sync::Arc;

use bytes::Bytes;
use shuttle::future::block_on;
use shuttle::sync::Mutex;
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::thread;

use super::abandoned::{AffectedKeys, change, wait_for};
use super::process_cas::guarded;
use super::{
    Capabilities, GetOptions, Got, Payload, Precondition, Store, StoreKey, SyncStore, Version,
    from_sync_arc,
};
use crate::error::StoreError;

fn key() -> StoreKey {
    StoreKey::new("k").expect("a key")
}

fn name() -> String {
    "test://model".to_owned()
}

/// A caller begins a change, drops it, and changes the same key again: the later change lands last. A third one, on another thread, ends,
/// too.
pub fn abandoned() {
    let value = Arc::new(AtomicU64::new(0));
    let (caller, worker) = change(name, AffectedKeys::Key(key()));
    let working = thread::spawn({
        let value = value.clone();
        move || {
            if let Some(running) = worker.begin() {
                running.run(|| {
                    thread::yield_now();
                    value.store(1, Ordering::SeqCst);
                });
            }
        }
    });
    thread::yield_now();
    drop(caller);
    let other = thread::spawn(|| block_on(wait_for(name, &key())));
    block_on(wait_for(name, &key()));
    value.store(2, Ordering::SeqCst);
    other.join().expect("it is woken");
    working.join().expect("it ends");
    assert_eq!(value.load(Ordering::SeqCst), 2, "the dropped change landed last");
}

/// A store of one value, without a guard.
#[derive(Debug)]
struct Plain(Mutex<u64>);

impl SyncStore for Plain {
    fn name(&self) -> String {
        name()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { swap: false, swap_erase: false, create: false, ..Capabilities::FULL }
    }

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        let value = *self.0.lock().expect("no thread panicked");
        how.answer(key, Bytes::from(value.to_string()), None)
    }

    fn put(
        &self,
        _: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        assert_eq!(only_if, Precondition::Always, "it compares nothing");
        let value = value.map(|value| value.into_bytes()).transpose()?.unwrap_or_default();
        let text = String::from_utf8_lossy(&value);
        *self.0.lock().expect("no thread panicked") = text.parse().expect("a number");
        Ok(true)
    }
}

/// Threads with handles of their store add to a number by compare-and-swap.
pub fn process_cas() {
    let plain: Arc<dyn SyncStore> = Arc::new(Plain(Mutex::new(0)));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let store = guarded(from_sync_arc(plain.clone()));
            let store = store.as_sync().expect("it blocks").clone();
            thread::spawn(move || {
                let mut added = 0;
                while added < 2 {
                    let how = GetOptions { version: true, ..GetOptions::default() };
                    let got = store.get(&key(), how).expect("it reads").expect("a value");
                    let number: u64 = String::from_utf8_lossy(&got.bytes.expect("the value"))
                        .parse()
                        .expect("a number");
                    let more = (number + 1).to_string();
                    let version = got.version.expect("its content");
                    let only_if = Precondition::Version(&version);
                    let value = Payload::new(more.as_bytes());
                    added += u64::from(store.put(&key(), Some(value), only_if).expect("it writes"));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
    let value = plain.value(&key()).expect("it reads").expect("a value");
    assert_eq!(&value[..], b"4", "a change is lost");
}
