//! Lets a codec encode parts of one chunk at the same time.

use std::sync::OnceLock;

use crate::error::CodecError;
use crate::options::Options;

/// The threads that may encode parts of one chunk.
#[derive(Clone, Copy)]
pub struct Threads<'a> {
    /// How many there are.
    pub count: usize,
    /// Whose they are.
    pub options: Option<&'a Options>,
    /// Calls a function with each number below one; with fewer if the caller cancels.
    pub each: fn(Option<&Options>, usize, &(dyn Fn(usize) + Sync)),
}

impl Threads<'_> {
    /// The calling thread.
    pub const ONE: Threads<'static> =
        Threads { count: 1, options: None, each: |_, count, work| (0..count).for_each(work) };

    /// The results of `work` for each number below `count`, in order.
    pub fn map<T: Send + Sync>(
        self,
        count: usize,
        work: impl Fn(usize) -> Result<T, CodecError> + Sync,
    ) -> Vec<Result<T, CodecError>> {
        if self.count == 1 || count == 1 {
            return (0..count).map(work).collect();
        }
        let done: Vec<_> = (0..count).map(|_| OnceLock::new()).collect();
        (self.each)(self.options, count, &|n| _ = done[n].set(work(n)));
        done.into_iter()
            .map(|done| match done.into_inner() {
                Some(done) => done,
                None => Err(CodecError::corrupt("codecs", "the caller cancelled")),
            })
            .collect()
    }
}
