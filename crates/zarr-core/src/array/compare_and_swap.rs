//! Changes the value of a key without losing the work of another writer.
//!
//! Get, change, set if it still is what was got; else again (decision 0104). Nothing is locked while
//! a change is worked out. After some lost attempts writers of this process take turns at the key, each
//! waiting a bounded time, so nothing can deadlock.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::context::StoreContext;
use crate::error::{AccessError, Result, StoreError};
use crate::options::Guard;
use crate::store::{
    ByteRange, InMemorySnapshot, Payload, Precondition, Snapshot, SnapshotOptions, StoreKey,
    check_size,
};
use crate::sync::{Condition, lock};

/// What a change makes of a value.
pub(crate) enum Edited {
    /// It becomes this.
    Set(Payload<'static>),
    /// It is erased.
    Erase,
    /// It stays.
    Keep,
}

/// Attempts that may be lost before a writer waits for its turn.
pub(crate) const ATTEMPTS_WITHOUT_TURN: u32 = 3;
/// Attempts after which a change of a chunk or a document is given up: before each, another writer was faster.
pub(crate) const MAX_ATTEMPTS: u32 = 100_000;
const LONGEST_TURN: Duration = Duration::from_millis(50);

/// Changes a document, the value of `key`. With the guard on, `edit` may be called several times, each time with
/// what the value is by then.
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
    if is_done { Ok(()) } else { Err(AccessError::Conflict { rounds: MAX_ATTEMPTS }.into()) }
}

/// As [`update`], of a value of at most `limit` bytes, but `edit` may wait, and it gives up with `false` after so many
/// attempts.
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
            // All of it comes in one request.
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
    for attempt in 0..attempts {
        // Async callers must not block; their attempts succeed by chance.
        let turns = attempt >= ATTEMPTS_WITHOUT_TURN && context.store.runs_in_place();
        let turn = turns.then(|| Turn::take(&context.store.name(), key));
        // The snapshot keeps its version until that is compared.
        let old: Option<Arc<dyn Snapshot>> = context.store.open(key, how).await?.map(Arc::from);
        let was = old.as_ref().map(|old| old.version().ok_or_else(no_version)).transpose()?;
        let unchanged = Precondition::unchanged(was.as_ref());
        let done = match edit(old.clone()).await? {
            Edited::Set(value) => writeable.put(key, Some(value), unchanged).await?,
            Edited::Erase if was.is_none() => true,
            // Documents alone; a chunk is stored as fill there.
            Edited::Erase if !context.store.capabilities().swap_erase => {
                writeable.put(key, None, Precondition::Always).await?
            }
            Edited::Erase => writeable.put(key, None, unchanged).await?,
            Edited::Keep => true,
        };
        drop((old, turn));
        if done {
            return Ok(true);
        }
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

/// One writer's turn at a key, among those of this process that lost several attempts. Merely a
/// courtesy: it makes attempts succeed, the compare-and-swap makes them right.
struct Turn(u64);

/// Keys at which it is a writer's turn.
static TAKEN: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());
static FREED: Condition = Condition::new();

impl Turn {
    /// Waits for the turn, but not for ever: a turn that does not come is not waited for.
    fn take(store: &str, key: &StoreKey) -> Option<Turn> {
        // A process that was forked off has none of the writers.
        let key = (std::process::id(), store, key.as_str());
        let id = BuildHasherDefault::<DefaultHasher>::default().hash_one(key);
        let give_up = Instant::now() + LONGEST_TURN;
        let mut taken = lock(&TAKEN);
        while !taken.insert(id) {
            let left = give_up.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            taken = FREED.wait(&TAKEN, taken, Some(left));
        }
        Some(Turn(id))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        lock(&TAKEN).remove(&self.0);
        FREED.notify_all();
    }
}
