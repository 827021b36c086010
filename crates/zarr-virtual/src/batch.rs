//! Reads ranges of one value together that several callers ask for at the same time.

use std::future::poll_fn;
use std::mem;
use std::ops::Range;
use std::sync::Mutex;
use std::task::Poll;

use futures::channel::oneshot;
use futures::future::join_all;
use zarr_core::store::Bytes;
use zarr_core::sync;

/// Ranges with at most this number of bytes between them are read as one: a request takes longer than these bytes.
const MAX_GAP: u64 = 64 << 10;
/// Ranges are put together into blocks of at most this number of bytes.
const MAX_BLOCK: u64 = 16 << 20;

/// The ranges of a value that wait to be read. The first caller reads those of all who ask before it is polled again, which are
/// those of one selection.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    waiting: Mutex<Vec<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    range: Range<u64>,
    answer: oneshot::Sender<Bytes>,
}

/// Ranges that are read as one, in the order of their beginnings.
#[derive(Debug)]
struct Block {
    range: Range<u64>,
    parts: Vec<Waiting>,
}

impl Batch {
    /// The bytes of these ranges, each `None` if the request that was to bring it failed or was cancelled: then the caller reads
    /// it alone, for an error that is about its own range. `read` reads one range.
    pub async fn read<F: Future<Output = Option<Bytes>>>(
        &self,
        ranges: &[Range<u64>],
        read: impl Fn(Range<u64>) -> F,
    ) -> Vec<Option<Bytes>> {
        let (is_first, answers) = self.wait_for(ranges);
        if is_first {
            let mut turn = Turn { batch: self, has_taken: false };
            yield_once().await;
            let blocks = blocks(turn.take());
            join_all(blocks.into_iter().map(|block| answer(block, &read))).await;
        }
        join_all(answers.into_iter().map(async |answer| answer.await.ok())).await
    }

    /// Adds ranges to those that wait. Whether there were none before, and what brings their bytes.
    fn wait_for(&self, ranges: &[Range<u64>]) -> (bool, Vec<oneshot::Receiver<Bytes>>) {
        let mut waiting = sync::lock(&self.waiting);
        let is_first = waiting.is_empty();
        let answers = ranges
            .iter()
            .map(|range| {
                let (answer, receiver) = oneshot::channel();
                waiting.push(Waiting { range: range.clone(), answer });
                receiver
            })
            .collect();
        (is_first, answers)
    }
}

/// The turn of the caller that reads for the others. If its future is dropped before it has taken their ranges, they are told.
struct Turn<'a> {
    batch: &'a Batch,
    has_taken: bool,
}

impl Turn<'_> {
    fn take(&mut self) -> Vec<Waiting> {
        self.has_taken = true;
        mem::take(&mut *sync::lock(&self.batch.waiting))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.has_taken {
            drop(self.take());
        }
    }
}

/// Lets the other futures of this task be polled first.
async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Ranges in blocks.
fn blocks(mut waiting: Vec<Waiting>) -> Vec<Block> {
    waiting.sort_by_key(|waiting| waiting.range.start);
    let mut blocks: Vec<Block> = Vec::new();
    for part in waiting {
        if let Some(last) = blocks.last_mut() {
            let end = last.range.end.max(part.range.end);
            let is_near = part.range.start.saturating_sub(last.range.end) <= MAX_GAP;
            if is_near && end - last.range.start <= MAX_BLOCK {
                last.range.end = end;
                last.parts.push(part);
                continue;
            }
        }
        blocks.push(Block { range: part.range.clone(), parts: vec![part] });
    }
    blocks
}

/// Reads a block, and gives those who wait for its parts their bytes.
async fn answer<F: Future<Output = Option<Bytes>>>(block: Block, read: impl Fn(Range<u64>) -> F) {
    let start = block.range.start;
    let Some(bytes) = read(block.range).await else { return };
    for Waiting { range, answer } in block.parts {
        let part = (range.start - start) as usize..(range.end - start) as usize;
        if part.end <= bytes.len() {
            // Who asked may have been cancelled meanwhile.
            let _ = answer.send(bytes.slice(part));
        }
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of ranges are what is tested")]
mod tests {
    use std::sync::Arc;

    use futures::FutureExt;
    use futures::future::join;
    use zarr_core::runtime::block_on;

    use super::*;

    fn range(range: Range<u64>) -> Waiting {
        Waiting { range, answer: oneshot::channel().0 }
    }

    fn merged(ranges: impl IntoIterator<Item = Range<u64>>) -> Vec<(Range<u64>, usize)> {
        let blocks = blocks(ranges.into_iter().map(range).collect());
        blocks.into_iter().map(|block| (block.range, block.parts.len())).collect()
    }

    #[test]
    fn near_ranges_become_blocks() {
        assert_eq!(merged([]), []);
        assert_eq!(merged([10..20, 0..5, 20..30]), [(0..30, 3)]);
        // Within each other, equal, empty.
        assert_eq!(merged([0..50, 10..20, 10..20, 30..30]), [(0..50, 4)]);
        let far = 30 + MAX_GAP;
        assert_eq!(merged([0..30, far..far + 1]), [(0..far + 1, 2)]);
        assert_eq!(merged([0..30, far + 1..far + 2]), [(0..30, 1), (far + 1..far + 2, 1)]);
    }

    #[test]
    fn blocks_have_a_limit() {
        const MIB: u64 = 1 << 20;
        let chunks = (0..40).map(|n| n * MIB..(n + 1) * MIB);
        let blocks = merged(chunks);
        assert_eq!(blocks, [(0..16 * MIB, 16), (16 * MIB..32 * MIB, 16), (32 * MIB..40 * MIB, 8)]);
        // A large range is not divided, and nothing is added to it.
        assert_eq!(
            merged([0..20 * MIB, 20 * MIB..20 * MIB + 1, u64::MAX - 1..u64::MAX]),
            [(0..20 * MIB, 1), (20 * MIB..20 * MIB + 1, 1), (u64::MAX - 1..u64::MAX, 1)]
        );
    }

    /// A value whose byte at `n` is `n`, of 200 bytes, and the ranges that were read of it.
    async fn read(asked: &Mutex<Vec<Range<u64>>>, range: Range<u64>) -> Option<Bytes> {
        sync::lock(asked).push(range.clone());
        yield_once().await;
        (range.end <= 200).then(|| (range.start as u8..range.end as u8).collect::<Vec<_>>().into())
    }

    #[test]
    fn those_who_ask_together_share_a_request() {
        let (batch, asked) = (Batch::default(), Mutex::default());
        let both = join(
            batch.read(&[5..7, 100..102], |range| read(&asked, range)),
            batch.read(&[6..9, 0..0], |range| read(&asked, range)),
        );
        let (one, other) = block_on(both);
        assert_eq!(one, [Some(vec![5, 6].into()), Some(vec![100, 101].into())]);
        assert_eq!(other, [Some(vec![6, 7, 8].into()), Some(Bytes::new())]);
        assert_eq!(*sync::lock(&asked), [0..102]);
        // Later ones are read later.
        block_on(batch.read(&[1..2], |range| read(&asked, range)));
        assert_eq!(sync::lock(&asked).len(), 2);
    }

    #[test]
    fn a_failed_request_brings_nobody_anything() {
        let (batch, asked) = (Batch::default(), Mutex::default());
        let both = join(
            batch.read(&[5..7], |range| read(&asked, range)),
            batch.read(&[199..201], |range| read(&asked, range)),
        );
        assert_eq!(block_on(both), (vec![None], vec![None]));
    }

    /// Whoever reads for others may be cancelled at any time; they do not wait for ever.
    #[test]
    fn a_cancelled_reader_leaves_nobody_waiting() {
        for polls in 1..=2 {
            let (batch, asked) = (Arc::new(Batch::default()), Arc::new(Mutex::default()));
            let mut first = Box::pin(batch.read(&[0..1], |range| read(&asked, range)));
            let mut second = Box::pin(batch.read(&[1..2], |range| read(&asked, range)));
            assert!((&mut first).now_or_never().is_none());
            assert!((&mut second).now_or_never().is_none());
            if polls == 2 {
                assert!((&mut first).now_or_never().is_none());
                assert_eq!(*sync::lock(&asked), [0..2]);
            }
            drop(first);
            assert_eq!(block_on(second), [None]);
            let again = block_on(batch.read(&[3..4], |range| read(&asked, range)));
            assert_eq!(again, [Some(vec![3].into())]);
        }
    }
}
