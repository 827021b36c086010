//! Copies the first chunks of a read that the source keeps decoded, before the pool reads the rest.

use std::iter::Peekable;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::source::{ChunkDone, ChunkSource};
use crate::array::layout::FieldBytes;
use crate::error::{Error, Result};
use crate::grid::ChunkProjection;
use crate::options::Options;
use crate::runtime::pool::{self, Work};
use crate::sync::{into_inner, lock};
use crate::view::output::Output;

/// Another thread helps for each this many bytes: to copy them takes about as long as to wake it.
const BYTES_WORTH_A_THREAD: u64 = 1 << 18;

/// Another thread helps for each this many chunks: for each the store is asked whether it is unchanged.
const CHUNKS_WORTH_A_THREAD: u64 = 32;

/// Groups of pieces that are left: those that were begun, and those to come.
type Left<P, I> = Mutex<(Vec<Peekable<P>>, I)>;

/// What threads share that copy chunks.
struct DecodedCopy<'a> {
    options: &'a Options,
    source: &'a dyn ChunkSource,
    span: FieldBytes,
    done: &'a ChunkDone<'a>,
    /// Whether a chunk was met that is not kept.
    missed: AtomicBool,
    failed: Mutex<Option<Error>>,
}

/// Copies the first pieces whose chunks `source` keeps decoded: the calling thread, and others where they are many. Returns the
/// pieces that are left, and the work on them.
pub(super) fn copy_decoded<'m, P>(
    options: &Options,
    source: &dyn ChunkSource,
    span: FieldBytes,
    done: &ChunkDone<'_>,
    mut work: Work,
    groups: impl Iterator<Item = Peekable<P>> + Send,
) -> Result<(Work, impl Iterator<Item = Peekable<P>> + Send)>
where
    P: Iterator<Item = (ChunkProjection, Output<'m>)> + Send,
{
    let left = Mutex::new((Vec::new(), groups));
    let failed = Mutex::new(None);
    let copy = DecodedCopy { options, source, span, done, missed: AtomicBool::new(false), failed };
    let copied = copy.copy(&left, 1)?;
    if !copy.missed.load(Relaxed) {
        let bytes = work.total.saturating_sub(copied);
        let chunks = bytes / copied.max(1);
        let others = (bytes / BYTES_WORTH_A_THREAD).max(chunks / CHUNKS_WORTH_A_THREAD);
        let is_copied = pool::together(options, others as usize, || copy.copy_all(&left));
        if let Some(error) = into_inner(copy.failed) {
            return Err(error);
        }
        // No thread of the pool is woken for nothing.
        work.many &= !is_copied || copy.missed.into_inner();
    }
    let (begun, groups) = into_inner(left);
    Ok((work, begun.into_iter().chain(groups)))
}

impl DecodedCopy<'_> {
    /// Copies pieces until one is not kept decoded, at most `max` of them. Returns how many bytes it copied.
    fn copy<'m, P: Iterator<Item = (ChunkProjection, Output<'m>)>>(
        &self,
        left: &Left<P, impl Iterator<Item = Peekable<P>>>,
        max: usize,
    ) -> Result<u64> {
        let mut count = 0;
        let mut bytes = 0;
        while let Some(mut group) = next_group(left) {
            while let Some((projection, out)) = group.peek_mut() {
                self.options.check_cancelled()?;
                let is_over = count == max || self.missed.load(Relaxed);
                if is_over || !self.source.copy_decoded(projection, self.span, out)? {
                    self.missed.fetch_or(!is_over, Relaxed);
                    lock(left).0.push(group);
                    return Ok(bytes);
                }
                count += 1;
                bytes += out.size();
                (self.done)(projection, true);
                group.next();
            }
        }
        Ok(bytes)
    }

    /// The same, of all pieces; other threads stop after an error.
    fn copy_all<'m, P: Iterator<Item = (ChunkProjection, Output<'m>)>>(
        &self,
        left: &Left<P, impl Iterator<Item = Peekable<P>>>,
    ) {
        if let Err(error) = self.copy(left, usize::MAX) {
            self.missed.store(true, Relaxed);
            *lock(&self.failed) = Some(error);
        }
    }
}

fn next_group<P: Iterator>(
    left: &Left<P, impl Iterator<Item = Peekable<P>>>,
) -> Option<Peekable<P>> {
    let mut left = lock(left);
    let begun = left.0.pop();
    begun.or_else(|| left.1.next())
}
