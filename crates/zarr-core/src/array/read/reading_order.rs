//! Notices reads of one array that follow one another along the first axis.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use crate::control::CancelToken;
use crate::sync::lock;

/// How one array was read last, and how far it is read ahead. Dropped with the last handle of the array, it cancels that.
#[derive(Debug, Default)]
pub(in crate::array) struct ReadingOrder {
    track: Arc<Mutex<Track>>,
    pub dropped: CancelToken,
}

#[derive(Debug, Default)]
struct Track {
    /// The region that was read last.
    last: Vec<Range<u64>>,
    /// The coordinate up to which chunks were requested.
    requested: u64,
    /// The process with a thread that reads ahead. A forked process does not have its parent's.
    reader: Option<u32>,
}

impl Drop for ReadingOrder {
    fn drop(&mut self) {
        self.dropped.cancel();
    }
}

/// The thread that reads ahead of one array: until it is dropped, there is no other.
pub(super) struct AheadReader(Arc<Mutex<Track>>);

impl Drop for AheadReader {
    fn drop(&mut self) {
        lock(&self.0).reader = None;
    }
}

impl ReadingOrder {
    /// Records a read. If it begins where the one before it ended, and is the same along the other axes, those rows that were not requested
    /// yet, and the right to read them, unless another thread has it.
    pub(super) fn follow(
        &self,
        region: &[Range<u64>],
        rows: impl FnOnce() -> Option<Vec<u64>>,
    ) -> Option<(Vec<u64>, AheadReader)> {
        let mut track = lock(&self.track);
        let last = std::mem::replace(&mut track.last, region.to_vec());
        let ((last, before), (first, others)) = (last.split_first()?, region.split_first()?);
        if last.is_empty() || last.end != first.start || before != others {
            track.requested = 0;
        } else if track.reader != Some(std::process::id()) {
            let rows: Vec<_> = rows()
                .unwrap_or_default()
                .into_iter()
                .filter(|row| *row >= track.requested)
                .collect();
            track.requested = rows.last()? + 1;
            track.reader = Some(std::process::id());
            return Some((rows, AheadReader(self.track.clone())));
        }
        None
    }
}
