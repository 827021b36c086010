//! Copies and compares stored values, byte for byte, without holding large ones.

use std::borrow::Cow;
use std::iter;
use std::mem;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

#[cfg(doc)]
use zarr_core::AccessError;
use zarr_core::runtime::available_threads;
use zarr_core::store::{
    ByteRange, Payload, Precondition, SnapshotOptions, StoreKey, SyncSnapshot, SyncStore,
};
use zarr_core::sync::{Condition, lock};
use zarr_core::{CancelToken, CodecError, Error, Result, StoreError};

use crate::copy::{Buffers, Workers};

/// A value of at most this number of bytes is held on its way; a larger one goes through in pieces.
const MAX_HELD: u64 = 4 << 20;
/// The same for a file: the system copies a larger one into another file without a detour through our memory.
const MAX_HELD_OF_FILE: u64 = 32 << 10;
/// How many bytes of a larger value are read at a time, where each read is a request.
const PIECE: u64 = 8 << 20;
/// More threads than these do not make a disk faster.
const MAX_LOCAL_THREADS: usize = 4;
/// How many values are set together, in a store that sets several faster than one by one.
const SET_TOGETHER: usize = 16;
/// Values up to this size are set together.
const MAX_SET_TOGETHER: usize = 64 << 10;
/// The calling thread hears of values that are copied once they have this number of bytes, or at the end of a batch.
const MIN_TOLD_TOGETHER: u64 = 4 << 20;
/// How often a value is read again after another writer replaced it meanwhile.
const MAX_ATTEMPTS: u32 = 5;

/// A key in a store.
pub(crate) type Value<'a> = (&'a dyn SyncStore, &'a StoreKey);

fn at((store, key): Value<'_>) -> impl Fn(StoreError) -> Error {
    move |e| Error::from(e).at_store(store.name()).at_key(key)
}

/// Bytes of large values that are held at the same time: what several uploads in parts need to fill a fast line.
const MAX_ROOM: u64 = 256 << 20;

/// Memory for large values, which a store that does not stream holds as a whole while it sets them.
pub(crate) struct Room {
    all: u64,
    used: Mutex<u64>,
    freed: Condition,
}

impl Room {
    /// Room in half of the memory that a process may take.
    pub fn of_memory(memory: u64) -> Room {
        Room { all: (memory / 2).min(MAX_ROOM), used: Mutex::default(), freed: Condition::new() }
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

/// Where a value is, and where it goes.
pub(crate) struct Place {
    /// The keys that it may have, the usual one first.
    pub from: Vec<StoreKey>,
    pub to: StoreKey,
}

/// Copies many values from one store into another.
pub(crate) struct Transfer {
    pub from: Arc<dyn SyncStore>,
    pub to: Arc<dyn SyncStore>,
    pub cancel: Option<CancelToken>,
    /// Whether each value is read back and compared.
    pub verify: bool,
    /// Whether others may write to the target who compare and swap.
    pub guarded: bool,
    /// What the user does after a value was read back otherwise.
    pub again: &'static str,
    /// For large values that the target's store holds as a whole.
    pub room: Room,
}

impl Transfer {
    /// Copies the values of these items, several at the same time. Calls `done` on this thread with the index of each item
    /// and the size of its value, which is `None` if the source does not have it.
    ///
    /// # Errors
    /// What either store meets; [`AccessError::Cancelled`]; [`CodecError::Corrupt`] if a value is read back otherwise than it was written.
    pub fn copy_all<T: Sync>(
        &self,
        items: &[T],
        place: impl Fn(&T) -> Result<Place> + Sync,
        done: &mut dyn FnMut(usize, Option<u64>) -> Result<()>,
    ) -> Result<()> {
        // Few items are shared out among all threads: they may be large.
        let share = items.len().div_ceil(self.threads()).max(1);
        let together = if self.to.capabilities().set_all { SET_TOGETHER.min(share) } else { 1 };
        self.for_each(
            items.len().div_ceil(together),
            |batch, tell| {
                let first = batch * together;
                let items = &items[first..items.len().min(first + together)];
                let places = items.iter().map(&place).collect::<Result<Vec<_>>>()?;
                // To wake the calling thread for each small value takes a good part of the time of its copy.
                let mut copied = Vec::new();
                let mut bytes = 0;
                let all_copied = self.copy_some(&places, &mut |index, size| {
                    copied.push((first + index, size));
                    bytes += size.unwrap_or(0);
                    if bytes < MIN_TOLD_TOGETHER {
                        return Ok(());
                    }
                    bytes = 0;
                    tell(mem::take(&mut copied))
                });
                if !copied.is_empty() {
                    tell(copied)?;
                }
                all_copied
            },
            &mut |copied: &Vec<_>| copied.iter().try_for_each(|&(index, size)| done(index, size)),
        )
    }

    /// Calls `work` with each number below `count`, as many at the same time as suit both stores.
    ///
    /// # Errors
    /// The first that `work` or `done` meets; [`AccessError::Cancelled`].
    pub fn for_each<D: Send>(
        &self,
        count: usize,
        work: impl Fn(usize, &mut dyn FnMut(D) -> Result<()>) -> Result<()> + Sync,
        done: &mut dyn FnMut(&D) -> Result<()>,
    ) -> Result<()> {
        let workers = Workers {
            count: self.threads().min(count),
            buffer: 0,
            buffers: &Buffers::default(),
            cancel: self.cancel.as_ref(),
            stop: None,
        };
        workers.run(0..count, |_, number, tell| work(number, tell), done)
    }

    /// How many values are on their way at the same time.
    fn threads(&self) -> usize {
        let stores = [&self.from, &self.to].map(|store| store.capabilities());
        let remote = stores.iter().filter(|it| !it.local).map(|it| it.in_flight).max();
        match remote {
            Some(in_flight) => in_flight,
            None => available_threads(0).min(MAX_LOCAL_THREADS),
        }
    }

    /// Copies neighbours: small ones are set together, in stores that are faster so.
    fn copy_some(
        &self,
        places: &[Place],
        tell: &mut dyn FnMut(usize, Option<u64>) -> Result<()>,
    ) -> Result<()> {
        let mut small: Vec<(usize, Vec<u8>)> = Vec::new();
        for (index, place) in places.iter().enumerate() {
            let begun = if places.len() > 1 { self.begin(place)? } else { None };
            let size = match begun {
                Some(Begun::Held(bytes)) if bytes.len() <= MAX_SET_TOGETHER => {
                    small.push((index, bytes));
                    continue;
                }
                Some(begun) => self.finish(place, begun)?,
                None => self.copy_one(place)?,
            };
            if self.verify && size.is_some() {
                self.check(place)?;
            }
            tell(index, size)?;
        }
        let values: Vec<(StoreKey, &[u8])> =
            small.iter().map(|(index, bytes)| (places[*index].to.clone(), &bytes[..])).collect();
        let set = self.to.set_all(&values, self.guarded);
        set.map_err(|e| at((&*self.to, &values[e.at].0))(e.error))?;
        for (index, bytes) in &small {
            if self.verify {
                self.check(&places[*index])?;
            }
            tell(*index, Some(bytes.len() as u64))?;
        }
        Ok(())
    }

    /// Begins to read the value at the usual key; `None` if it is absent, or another writer replaced it meanwhile, after which
    /// [`Transfer::copy_one`] tries again.
    fn begin(&self, place: &Place) -> Result<Option<Begun>> {
        let Some(key) = place.from.first() else { return Ok(None) };
        match begin((&*self.from, key)) {
            Err(e) if is_change(&e) => Ok(None),
            begun => begun,
        }
    }

    /// Copies a value from the usual key that has begun to be read.
    fn finish(&self, place: &Place, begun: Begun) -> Result<Option<u64>> {
        let Some(key) = place.from.first() else { return Ok(None) };
        let (from, to) = ((&*self.from, key), (&*self.to, &place.to));
        match put_begun(from, to, begun, Precondition::always(self.guarded), &self.room) {
            Err(e) if is_change(&e) => self.copy_one(place),
            put => put.map(Some),
        }
    }

    /// Copies one value; returns how large it is, or `None` if the source does not have it.
    fn copy_one(&self, place: &Place) -> Result<Option<u64>> {
        let only_if = Precondition::always(self.guarded);
        for key in &place.from {
            let (from, to) = ((&*self.from, key), (&*self.to, &place.to));
            let copied = copy_value(from, to, only_if, &self.room)?;
            if copied.is_some() {
                return Ok(copied);
            }
        }
        Ok(None)
    }

    /// Compares a value in the target with that of the source. One that differs is erased.
    ///
    /// # Errors
    /// As [`Transfer::copy_all`].
    pub fn check(&self, place: &Place) -> Result<()> {
        let to = (&*self.to, &place.to);
        for key in &place.from {
            if are_equal((&*self.from, key), to)? {
                return Ok(());
            }
        }
        self.to.erase(&place.to).map_err(at(to))?;
        let why = "the object, read back, differs from the source".into();
        let error = Error::from(CodecError::Corrupt { codec: "copy", why });
        let hint = format!("the object was erased; {}", self.again);
        Err(error.at_store(self.to.name()).at_key(&place.to).with_hint(hint))
    }
}

/// Whether a key has a value.
pub(crate) fn is_stored(store: &dyn SyncStore, key: &StoreKey) -> Result<bool> {
    Ok(store.open(key, SnapshotOptions::default()).map_err(at((store, key)))?.is_some())
}

/// The size of a value, and when it was set, as far as its store tells; `None` if there is none.
pub(crate) fn size_and_time(value: Value<'_>) -> Result<Option<(u64, Option<SystemTime>)>> {
    let opened = value.0.open(value.1, SnapshotOptions::default()).map_err(at(value))?;
    let Some(opened) = opened else { return Ok(None) };
    let size = size_of(&*opened).map_err(at(value))?;
    Ok(Some((size, opened.modified())))
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
    match begin(from)? {
        Some(begun) => put_begun(from, to, begun, only_if, room).map(Some),
        None => Ok(None),
    }
}

/// A value that has begun to be read.
enum Begun {
    /// All of it.
    Held(Vec<u8>),
    /// A larger one, and its size.
    Opened(Arc<dyn SyncSnapshot>, u64),
}

/// Begins to read a value; `None` if there is none. A remote store is asked for as many bytes as are held, which are all of a
/// small value: it would begin to send all of a large one, were it asked for the value.
fn begin(from: Value<'_>) -> Result<Option<Begun>> {
    let held = [ByteRange::Bounded { start: 0, len: MAX_HELD }];
    let first: &[ByteRange] = if from.0.capabilities().local { &[] } else { &held };
    let options = SnapshotOptions { first, ..SnapshotOptions::default() };
    let opened = from.0.open(from.1, options).map_err(at(from))?;
    let Some(opened) = opened else { return Ok(None) };
    let value: Arc<dyn SyncSnapshot> = Arc::from(opened);
    let size = size_of(&*value).map_err(at(from))?;
    let max_held = if value.file().is_some() { MAX_HELD_OF_FILE } else { MAX_HELD };
    if size <= max_held {
        return Ok(Some(Begun::Held(read(&*value, 0..size).map_err(at(from))?)));
    }
    Ok(Some(Begun::Opened(value, size)))
}

/// Stores a value that has begun to be read; returns its size.
fn put_begun(
    from: Value<'_>,
    to: Value<'_>,
    begun: Begun,
    only_if: Precondition<'_>,
    room: &Room,
) -> Result<u64> {
    let (value, size) = match begun {
        Begun::Held(bytes) => {
            put(to, Payload::new(&bytes), only_if)?;
            return Ok(bytes.len() as u64);
        }
        Begun::Opened(value, size) => (value, size),
    };
    let payload = if from.0.capabilities().local {
        Payload::default().and_kept(&value, 0..size)
    } else {
        Payload::default().and_made(move || {
            let value = value.clone();
            pieces(size).map(move |range| read(&*value, range).map(Cow::Owned))
        })
    };
    if to.0.capabilities().streams {
        put(to, payload, only_if)?;
    } else {
        room.hold(size, || put(to, payload, only_if))?;
    }
    Ok(size)
}

fn put(to: Value<'_>, payload: Payload<'_>, only_if: Precondition<'_>) -> Result<()> {
    to.0.put(to.1, Some(payload), only_if).map(drop).map_err(at(to))
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

/// The ranges in which a value is read. The first is what [`begin`] asks a remote store for.
fn pieces(size: u64) -> impl Iterator<Item = Range<u64>> {
    let first = size.min(MAX_HELD);
    let starts = (first..size).step_by(PIECE as usize);
    iter::once(0..first).chain(starts.map(move |start| start..size.min(start + PIECE)))
}

fn read(value: &dyn SyncSnapshot, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
    let (start, len) = (range.start, range.end - range.start);
    // Of a remote store these are the very bytes that came.
    let read = value.read(&[ByteRange::Bounded { start, len }])?.pop();
    Ok(Vec::from(read.unwrap_or_default()))
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
