//! Changes the value of a key without losing the change of another writer.
//!
//! A writer gets the value, works out the new one, and sets that if the key still has the version that it got; else it
//! starts again (docs/internals/design/concurrency.md). No lock is held in between. After some lost attempts the writers
//! of this process, blocking and async, queue at the key. Each waits for a bounded time, so that no deadlock is possible.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;

use crate::array::key_queue::QueuePlace;
use crate::codec::SplicePart;
use crate::context::StoreContext;
use crate::error::{AccessError, CodecError, Result, StoreError};
use crate::options::Guard;
use crate::runtime::{instant, pause_up_to};
use crate::store::{
    ByteRange, InMemorySnapshot, Payload, Precondition, Snapshot, SnapshotOptions, StoreKey,
    check_size,
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

impl Edited {
    /// The parts, those copied out of `old`, one after the other. A local store copies while it writes; for others the bytes are fetched.
    pub async fn spliced(parts: Vec<SplicePart>, old: Option<Arc<dyn Snapshot>>) -> Result<Edited> {
        let mut value = Payload::default();
        let mut kept: Vec<ByteRange> = Vec::new();
        for part in &parts {
            if let SplicePart::Copied(range) = part {
                kept.push(range.clone().into());
            }
        }
        let old = if kept.is_empty() { None } else { old };
        let Some(old) = old else {
            for part in parts {
                if let SplicePart::New(bytes) = part {
                    value = value.and(bytes);
                }
            }
            return Ok(Edited::Set(value));
        };
        let size = old.size();
        let taken = kept.iter().try_fold(0u64, |taken, range| {
            let range = range.within(size)?;
            taken.checked_add(range.end - range.start)
        });
        if taken.is_none_or(|taken| taken > size) {
            let why = format!("its inner chunks overlap, or extend beyond its {size} bytes");
            return Err(CodecError::corrupt("codecs", why).into());
        }
        let blocking = old.as_sync();
        let fetched = match &blocking {
            Some(_) => Vec::new(),
            None => old.read(&kept).await?,
        };
        let mut fetched = fetched.into_iter();
        for part in parts {
            value = match (part, &blocking) {
                (SplicePart::New(bytes), _) => value.and(bytes),
                (SplicePart::Copied(range), Some(old)) => value.and_kept(old, range),
                (SplicePart::Copied(_), None) => {
                    value.and_shared(fetched.next().unwrap_or_default())
                }
            };
        }
        Ok(Edited::Set(value))
    }
}

/// Attempts that a writer may lose before it queues.
pub(crate) const ATTEMPTS_WITHOUT_QUEUE: u32 = 3;
/// Attempts after which a change of a chunk or a document is given up: another writer was faster each time.
pub(crate) const MAX_ATTEMPTS: u32 = 100_000;
/// After a lost attempt at a remote store, the next one begins after a random time, of up to twice as long for each further
/// loss, and at most this many times as long as an attempt.
const MAX_PAUSE_FACTOR: u32 = 32;
/// A queueing writer waits as long as its slowest attempt took, and this much longer, for each writer before it.
const EXTRA_WAIT_PER_WRITER: Duration = Duration::from_millis(50);

/// Changes a document, the value of `key`. With the guard on, `edit` may be called several times, each time with
/// the current value.
pub(crate) fn update<'a>(
    context: &'a StoreContext,
    key: &'a StoreKey,
    edit: &'a mut (dyn FnMut(Option<&Bytes>) -> Result<Edited> + Send),
) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move {
        let edit = &Mutex::new(edit);
        let limit = context.options.limits.document;
        let swapped = compare_and_swap(
            context,
            context.options.guard,
            key,
            limit,
            |old| async move {
                let old = whole(old.as_deref()).await?;
                let mut edit = lock(edit);
                edit(old.as_ref())
            },
            MAX_ATTEMPTS,
        );
        unless_given_up(swapped.await?)
    })
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
    let capabilities = context.store.capabilities();
    if !capabilities.swap {
        return Err(StoreError::not_capable("guard a change", "conditional").into());
    }
    let options = SnapshotOptions { limit, ..SnapshotOptions::for_update() };
    let mut slowest = Duration::ZERO;
    let mut place = None;
    for attempt in 0..attempts {
        if attempt >= ATTEMPTS_WITHOUT_QUEUE && place.is_none() {
            place =
                QueuePlace::acquire(&context.store.name(), key, slowest + EXTRA_WAIT_PER_WRITER)
                    .await;
        }
        let begin = instant();
        // The store keeps the version for as long as the snapshot exists.
        let old: Option<Arc<dyn Snapshot>> = context.store.open(key, options).await?.map(Arc::from);
        let was = old.as_ref().map(|old| old.version().ok_or_else(no_version)).transpose()?;
        let unchanged = Precondition::unchanged(was.as_ref());
        // Without a condition only documents: such a store gets a chunk of fill in place of an erased one.
        let to_erase = if capabilities.swap_erase { unchanged } else { Precondition::Always };
        let done = match edit(old.clone()).await? {
            Edited::Set(value) => writeable.put(key, Some(value), unchanged).await?,
            Edited::Erase if was.is_none() => true,
            Edited::Erase => writeable.put(key, None, to_erase).await?,
            Edited::Keep => true,
        };
        drop(old);
        if done {
            return Ok(true);
        }
        slowest = slowest.max(instant() - begin);
        if !capabilities.local {
            pause_up_to(slowest * 2u32.saturating_pow(attempt).min(MAX_PAUSE_FACTOR)).await;
        }
    }
    Ok(false)
}

/// The bytes of a value.
pub(crate) async fn whole(value: Option<&dyn Snapshot>) -> Result<Option<Bytes>> {
    let Some(value) = value else { return Ok(None) };
    Ok(value.read(&[ByteRange::ALL]).await?.pop())
}

fn no_version() -> StoreError {
    StoreError::Backend("the store compares and swaps, but returned no version of a value".into())
}
