//! Lets as many threads encode objects at a time as there is memory for what they make.
//!
//! How small objects become is not known before some are encoded: until then each may be as large as its elements. Later ones may be a quarter
//! larger, for their size, than the largest so far.

use std::sync::Mutex;

use zarr_core::sync::{Condition, lock};

/// How much larger than the largest so far the next may be.
const MORE: f64 = 1.25;

/// Memory for encoded objects.
#[derive(Debug)]
pub(super) struct EncodedRoom {
    /// Bytes of an object's elements, and of all room.
    object: u64,
    all: u64,
    state: Mutex<State>,
    freed: Condition,
}

#[derive(Debug, Default)]
struct State {
    used: u64,
    /// Bytes of the largest encoded object so far.
    largest: Option<u64>,
}

impl EncodedRoom {
    pub fn new(object: u64, all: u64) -> EncodedRoom {
        EncodedRoom { object, all, state: Mutex::default(), freed: Condition::new() }
    }

    /// Does the work that encodes an object, once there is room for it; `size` tells afterwards how large it became, if that is known.
    pub fn encode<R>(&self, work: impl FnOnce() -> R, size: impl FnOnce() -> Option<u64>) -> R {
        let mut state = lock(&self.state);
        let taken = loop {
            let needs = self.needs(&state);
            if state.used == 0 || state.used + needs <= self.all {
                state.used += needs;
                break needs;
            }
            state = self.freed.wait(&self.state, state, None);
        };
        drop(state);
        // Gives the room back when the work panics, too.
        let _taken = Taken { room: self, bytes: taken };
        let done = work();
        let size = size();
        let mut state = lock(&self.state);
        state.largest = state.largest.max(size);
        done
    }

    fn needs(&self, state: &State) -> u64 {
        state
            .largest
            .map_or(self.object, |largest| ((largest as f64 * MORE) as u64).min(self.object))
    }
}

struct Taken<'a> {
    room: &'a EncodedRoom,
    bytes: u64,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        lock(&self.room.state).used -= self.bytes;
        self.room.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// The most objects that are encoded at a time, each of which becomes `size` bytes.
    fn most(size: u64, after: usize) -> u64 {
        let room = EncodedRoom::new(100, 160);
        (0..after).for_each(|_| room.encode(|| (), || Some(size)));
        let (now, most) = (AtomicU64::new(0), AtomicU64::new(0));
        let work = || {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(20));
            now.fetch_sub(1, Ordering::SeqCst);
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| room.encode(work, || None));
            }
        });
        most.into_inner()
    }

    #[test]
    fn what_is_encoded_has_room() {
        assert_eq!(most(0, 0), 1, "nothing is known yet");
        assert_eq!(most(100, 1), 1);
        assert_eq!(most(60, 1), 2);
        assert_eq!(most(20, 2), 4);
    }
}
