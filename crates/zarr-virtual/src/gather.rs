//! Gathers the ranges that several readers want of one target at the same time, and reads neighbours together (V-005).
//!
//! A reader of many chunks is many futures that one task polls. The first that is polled opens a batch, and each yields once
//! before it goes on: until then the others that the task polls in the same round have joined. Whoever is polled again first
//! closes the batch and cuts it into blocks of neighbours. Nothing waits for a clock, so a range that is alone costs one more
//! poll.
//!
//! A block is a shared future. No task of its own runs it: each reader that waits for it polls it, so that a reader that is
//! dropped stops none of the others, and a block that nobody waits for any more is not read.

use std::future::poll_fn;
use std::mem;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use futures::channel::oneshot;
use futures::future::{BoxFuture, FutureExt, Shared};
use zarr_core::store::Bytes;
use zarr_core::{StoreError, sync};

/// The most bytes that are fetched for nothing between two ranges: about as many as arrive while a server begins to answer.
const MAX_GAP: u64 = 64 << 10;
/// The most bytes of a block of several ranges. Blocks are read at the same time, and the memory of one is free once its last
/// reader is done.
const MAX_BLOCK: u64 = 16 << 20;

/// Bytes of a target, each piece with its offset, in order.
pub(crate) type Pieces = Vec<(u64, Bytes)>;

/// What comes of a block: `None` if the target ends before one of its ranges does.
pub(crate) type BlockResult = Result<Option<Arc<Pieces>>, Arc<StoreError>>;

/// Neighbouring ranges that are read with one call, whoever waits for them.
pub(crate) type Block = Shared<BoxFuture<'static, BlockResult>>;

/// The batch that readers of a target join now.
#[derive(Default)]
pub(crate) struct Gathering(Mutex<Vec<Member>>);

/// A reader in a batch.
struct Member {
    ranges: Vec<Range<u64>>,
    /// Closed when the reader is dropped.
    share: oneshot::Sender<Share>,
}

/// What a reader gets of a batch.
pub(crate) enum Share {
    /// No other reader joined: it reads its ranges itself.
    Alone,
    /// The blocks that its ranges are in. Each range is in one of them.
    Blocks(Vec<Block>),
}

impl Gathering {
    /// The share of a reader of these ranges, which joins the open batch. `read` makes the reading of neighbouring ranges, which
    /// are in order and do not touch each other.
    pub async fn join(
        &self,
        ranges: &[Range<u64>],
        read: impl Fn(Vec<Range<u64>>) -> BoxFuture<'static, BlockResult>,
    ) -> Share {
        let (share, receiver) = oneshot::channel();
        sync::lock(&self.0).push(Member { ranges: ranges.to_vec(), share });
        yield_once().await;
        // The batch may be closed already. Then this closes the next one early, which is never wrong.
        let members = mem::take(&mut *sync::lock(&self.0));
        share_out(members, read);
        receiver.await.unwrap_or(Share::Alone)
    }
}

/// Lets the task poll what else it has.
pub(crate) async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Cuts a batch into blocks, and gives each member those that it needs.
fn share_out(
    mut members: Vec<Member>,
    read: impl Fn(Vec<Range<u64>>) -> BoxFuture<'static, BlockResult>,
) {
    members.retain(|member| !member.share.is_canceled());
    if members.len() < 2 {
        for member in members {
            // It fails for a reader that was dropped, which needs nothing.
            let _ = member.share.send(Share::Alone);
        }
        return;
    }
    let mut wanted: Vec<(Range<u64>, usize)> = Vec::new();
    for (number, member) in members.iter().enumerate() {
        wanted.extend(member.ranges.iter().map(|range| (range.clone(), number)));
    }
    wanted.sort_by_key(|(range, _)| (range.start, range.end));
    let mut shares: Vec<Vec<Block>> = members.iter().map(|_| Vec::new()).collect();
    let mut rest = wanted.as_slice();
    while !rest.is_empty() {
        let (block, behind) = rest.split_at(length_of_block(rest));
        rest = behind;
        let ranges = block.iter().map(|(range, _)| range.clone()).collect();
        let shared = read(zarr_core::store::coalesce(ranges, 0)).shared();
        let mut readers: Vec<usize> = block.iter().map(|(_, number)| *number).collect();
        readers.sort_unstable();
        readers.dedup();
        for number in readers {
            shares[number].push(shared.clone());
        }
    }
    for (member, blocks) in members.into_iter().zip(shares) {
        let _ = member.share.send(Share::Blocks(blocks));
    }
}

/// How many of the ranges, which are sorted, are read together with the first one.
fn length_of_block(ranges: &[(Range<u64>, usize)]) -> usize {
    let Some((first, _)) = ranges.first() else { return 0 };
    let mut end = first.end;
    let is_in_block = |(range, _): &&(Range<u64>, usize)| {
        let longer = end.max(range.end);
        let is_near = range.start <= end.saturating_add(MAX_GAP);
        let fits = longer == end || longer - first.start <= MAX_BLOCK;
        if is_near && fits {
            end = longer;
        }
        is_near && fits
    };
    ranges.iter().take_while(is_in_block).count()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::channel::oneshot::Canceled;
    use futures::future::{Either, join_all, select};
    use zarr_core::runtime::block_on;
    use zarr_core::store::slice;

    use super::*;

    fn blocks(ranges: &[Range<u64>]) -> Vec<usize> {
        let mut sorted: Vec<(Range<u64>, usize)> =
            ranges.iter().map(|range| (range.clone(), 0)).collect();
        sorted.sort_by_key(|(range, _)| (range.start, range.end));
        let mut rest = sorted.as_slice();
        let mut lengths = Vec::new();
        while !rest.is_empty() {
            let length = length_of_block(rest);
            lengths.push(length);
            rest = &rest[length..];
        }
        lengths
    }

    #[test]
    fn blocks_have_small_gaps_and_a_limited_size() {
        assert_eq!(blocks(&[10..20, 0..10, 5..12]), [3]);
        assert_eq!(blocks(&[0..10, 10 + MAX_GAP..20 + MAX_GAP]), [2]);
        assert_eq!(blocks(&[0..10, 11 + MAX_GAP..20 + MAX_GAP]), [1, 1]);
        assert_eq!(blocks(&[0..MAX_BLOCK, MAX_BLOCK..MAX_BLOCK + 1]), [1, 1]);
        assert_eq!(blocks(&[0..MAX_BLOCK - 1, MAX_BLOCK - 1..MAX_BLOCK]), [2]);
        // What is in a large range already is no further request.
        assert_eq!(blocks(&[0..2 * MAX_BLOCK, 5..6, 7..7]), [3]);
        assert_eq!(blocks(&[5..5, 5..5]), [2]);
        assert_eq!(blocks(&[u64::MAX - 1..u64::MAX, u64::MAX..u64::MAX]), [2]);
    }

    /// Memory that counts itself.
    struct Counted(Vec<u8>, Arc<AtomicUsize>);

    impl Counted {
        fn bytes(len: usize, count: &Arc<AtomicUsize>) -> Bytes {
            count.fetch_add(1, Ordering::Relaxed);
            Bytes::from_owner(Counted(vec![7; len], count.clone()))
        }
    }

    impl AsRef<[u8]> for Counted {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            self.1.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The memory of a block is free when its readers are done, also while readers of other blocks still wait.
    #[test]
    fn the_memory_of_a_block_is_given_back_when_its_readers_are_done() {
        let (gathering, count) = (Gathering::default(), Arc::new(AtomicUsize::new(0)));
        let (release, wait) = oneshot::channel::<()>();
        let wait = wait.shared();
        let read = |ranges: Vec<Range<u64>>| {
            let (count, wait) = (count.clone(), wait.clone());
            async move {
                if ranges[0].start > 0 {
                    let _: Result<(), Canceled> = wait.await;
                }
                let len = (ranges[0].end - ranges[0].start) as usize;
                Ok(Some(Arc::new(vec![(ranges[0].start, Counted::bytes(len, &count))])))
            }
            .boxed()
        };
        let reader = |range: Range<u64>| {
            let (gathering, read) = (&gathering, &read);
            async move {
                let Share::Blocks(blocks) =
                    gathering.join(std::slice::from_ref(&range), read).await
                else {
                    panic!("others joined");
                };
                let pieces = blocks[0].clone().await.unwrap().unwrap();
                drop(blocks);
                slice(&pieces, &range).unwrap().len()
            }
        };
        let far = MAX_GAP * 100;
        let near = join_all([reader(0..5), reader(5..10)]);
        let others = join_all([reader(far..far + 5), reader(far + 5..far + 10)]);
        let (near, others) = (Box::pin(near), Box::pin(others));
        let Either::Left((sizes, others)) = block_on(select(near, others)) else {
            panic!("the others wait");
        };
        assert_eq!((sizes, count.load(Ordering::Relaxed)), (vec![5, 5], 0));
        release.send(()).unwrap();
        assert_eq!(block_on(others), [5, 5]);
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }

    /// What only dropped readers wanted is not read.
    #[test]
    fn a_batch_has_no_ranges_of_readers_that_were_dropped() {
        let (gathering, asked) = (Gathering::default(), Mutex::new(Vec::new()));
        let read = |ranges: Vec<Range<u64>>| {
            sync::lock(&asked).push(ranges);
            async { Ok(None) }.boxed()
        };
        let mut members: Vec<_> = (0..4)
            .map(|n| Box::pin(gathering.join(std::slice::from_ref(&RANGES[n]), &read)))
            .collect();
        for member in &mut members {
            assert!(member.now_or_never().is_none());
        }
        drop(members.remove(1));
        drop(members.remove(0));
        let shares = block_on(join_all(members));
        assert!(
            shares.iter().all(|share| matches!(share, Share::Blocks(blocks) if blocks.len() == 1))
        );
        let last = RANGES[2].start..RANGES[3].end;
        assert_eq!(*sync::lock(&asked), [vec![last]]);
        // Who is left alone reads alone.
        let mut first = Box::pin(gathering.join(&RANGES[..1], &read));
        let mut second = Box::pin(gathering.join(&RANGES[1..2], &read));
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        drop(first);
        assert!(matches!(block_on(second), Share::Alone));
    }

    const RANGES: [Range<u64>; 4] = [0..10, 10..20, 20..30, 30..40];
}
