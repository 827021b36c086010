//! Copies and compares stored values, byte for byte, without holding large ones.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use zarr_core::store::{
    ByteRange, GetOptions, Payload, Precondition, SnapshotOptions, StoreKey, SyncSnapshot,
    SyncStore, Target,
};
use zarr_core::sync::{Condition, lock};
use zarr_core::{Error, Result, StoreError};

/// A value of at most this number of bytes is held on its way; a larger one goes through in pieces.
const MAX_HELD: u64 = 4 << 20;
/// How many bytes of a larger value are read at a time, where each read is a request.
const PIECE: u64 = 8 << 20;
/// How often a value is read again after another writer replaced it meanwhile.
const MAX_ATTEMPTS: u32 = 5;

/// A key in a store.
pub(crate) type Value<'a> = (&'a dyn SyncStore, &'a StoreKey);

fn at((store, key): Value<'_>) -> impl Fn(StoreError) -> Error {
    move |e| Error::from(e).at_store(store.name()).at_key(key)
}

/// Memory for large values, which a store that does not stream holds as a whole while it sets them.
pub(crate) struct Room {
    all: u64,
    used: Mutex<u64>,
    freed: Condition,
}

impl Room {
    pub fn new(all: u64) -> Room {
        Room { all, used: Mutex::default(), freed: Condition::new() }
    }

    /// Does what holds this number of bytes, once there is room for them. A value that is larger than all of it goes alone.
    fn hold<R>(&self, bytes: u64, work: impl FnOnce() -> R) -> R {
        let mut used = lock(&self.used);
        while *used > 0 && *used + bytes > self.all {
            used = self.freed.wait(&self.used, used, None);
        }
        *used += bytes;
        drop(used);
        let _held = Held { room: self, bytes };
        work()
    }
}

/// Gives the room back, also when the work panics.
struct Held<'a> {
    room: &'a Room,
    bytes: u64,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *lock(&self.room.used) -= self.bytes;
        self.room.freed.notify_all();
    }
}

/// Whether a key has a value.
pub(crate) fn is_stored(store: &dyn SyncStore, key: &StoreKey) -> Result<bool> {
    Ok(store.open(key, SnapshotOptions::default()).map_err(at((store, key)))?.is_some())
}

/// Copies one version of a value; returns its size, or `None` if there is none. If another writer replaces the value
/// meanwhile, the new one is copied instead.
pub(crate) fn copy_value(
    from: Value<'_>,
    to: Value<'_>,
    only_if: Precondition<'_>,
    room: &Room,
) -> Result<Option<u64>> {
    let mut attempt = 1;
    loop {
        match copy_version(from, to, only_if, room) {
            Err(e) if attempt < MAX_ATTEMPTS && is_change(&e) => attempt += 1,
            copied => return copied,
        }
    }
}

/// Copies the version of a value that is there now.
fn copy_version(
    from: Value<'_>,
    to: Value<'_>,
    only_if: Precondition<'_>,
    room: &Room,
) -> Result<Option<u64>> {
    let put = |payload| to.0.put(to.1, Some(payload), only_if).map(drop).map_err(at(to));
    let mut held = Vec::new();
    let how = GetOptions { limit: MAX_HELD, into: Target::Vec(&mut held), version: false };
    match from.0.get(from.1, how) {
        Ok(None) => return Ok(None),
        Ok(Some(_)) => {
            put(Payload::new(&held[..]))?;
            return Ok(Some(held.len() as u64));
        }
        Err(StoreError::TooLarge { .. }) => {}
        Err(e) => return Err(at(from)(e)),
    }
    let opened = from.0.open(from.1, SnapshotOptions::default()).map_err(at(from))?;
    let Some(opened) = opened else { return Ok(None) };
    let value: Arc<dyn SyncSnapshot> = Arc::from(opened);
    let size = size_of(&*value).map_err(at(from))?;
    let payload = if from.0.capabilities().local {
        Payload::default().and_kept(&value, 0..size)
    } else {
        Payload::default().and_made(move || {
            let value = value.clone();
            pieces(size).map(move |range| read(&*value, range).map(Cow::Owned))
        })
    };
    if to.0.capabilities().streams {
        put(payload)?;
    } else {
        room.hold(size, || put(payload))?;
    }
    Ok(Some(size))
}

/// Whether two values are equal; one that is absent is equal to none.
pub(crate) fn are_equal(one: Value<'_>, other: Value<'_>) -> Result<bool> {
    let open =
        |value: Value<'_>| value.0.open(value.1, SnapshotOptions::default()).map_err(at(value));
    let (Some(a), Some(b)) = (open(one)?, open(other)?) else { return Ok(false) };
    let size = size_of(&*a).map_err(at(one))?;
    if size != size_of(&*b).map_err(at(other))? {
        return Ok(false);
    }
    for range in pieces(size) {
        let piece = read(&*a, range.clone()).map_err(at(one))?;
        if piece != read(&*b, range).map_err(at(other))? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn size_of(value: &dyn SyncSnapshot) -> Result<u64, StoreError> {
    // Some stores know the size only after a read, be it of nothing.
    value.read(&[])?;
    Ok(value.size())
}

fn pieces(size: u64) -> impl Iterator<Item = Range<u64>> {
    let starts = (0..size.div_ceil(PIECE)).map(|n| n * PIECE);
    starts.map(move |start| start..size.min(start + PIECE))
}

fn read(value: &dyn SyncSnapshot, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    let (start, len) = (range.start, range.end - range.start);
    value.read_into(ByteRange::Bounded { start, len }, &mut bytes)?;
    Ok(bytes)
}

/// Whether a value was replaced while it was read; a store that was writing it may have wrapped that in an error of its own.
fn is_change(error: &Error) -> bool {
    let zarr_core::Cause::Store(error) = error.cause() else { return false };
    match error {
        StoreError::Changed { .. } => true,
        StoreError::Io { source, .. } => source
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<StoreError>())
            .is_some_and(|inner| matches!(inner, StoreError::Changed { .. })),
        _ => false,
    }
}
