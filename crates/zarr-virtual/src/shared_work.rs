//! Lets readers that want the same at the same time share the work: opening a target, reading an index.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt, Shared, WeakShared};
use zarr_core::store::Result;
use zarr_core::{StoreError, sync};

use crate::shared_error::repeated;

/// Work that is begun and whose result somebody waits for. It goes on when any of them is polled, and ends with the last of them.
type Work<T> = BoxFuture<'static, Result<T, Arc<StoreError>>>;

/// Work that is under way, by what it is for. Results are not kept.
pub(crate) struct SharedWork<K, T: Clone>(Mutex<HashMap<K, WeakShared<Work<T>>>>);

impl<K, T: Clone> Default for SharedWork<K, T> {
    fn default() -> Self {
        SharedWork(Mutex::default())
    }
}

impl<K, T: Clone> fmt::Debug for SharedWork<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedWork").finish_non_exhaustive()
    }
}

impl<K: Eq + Hash, T: Clone + 'static> SharedWork<K, T> {
    /// The result of the work for `key`, which is begun unless it is under way.
    ///
    /// # Errors
    /// That of the work, for each who waited.
    pub async fn result(
        &self,
        key: K,
        begin: impl FnOnce() -> BoxFuture<'static, Result<T>>,
    ) -> Result<T> {
        self.work(key, begin).await.map_err(|error| repeated(&error))
    }

    fn work(
        &self,
        key: K,
        begin: impl FnOnce() -> BoxFuture<'static, Result<T>>,
    ) -> Shared<Work<T>> {
        let mut all = sync::lock(&self.0);
        let under_way = all.get(&key).and_then(WeakShared::upgrade);
        if let Some(work) = under_way.filter(|work| work.peek().is_none()) {
            return work;
        }
        all.retain(|_, work| work.upgrade().is_some());
        let begun = begin();
        let work = async move { begun.await.map_err(Arc::new) }.boxed().shared();
        if let Some(weak) = work.downgrade() {
            all.insert(key, weak);
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::channel::oneshot;
    use futures::future::join_all;
    use zarr_core::runtime::block_on;

    use super::*;
    use crate::gather::yield_once;

    #[test]
    fn work_is_done_once_for_all_who_wait_and_again_for_those_after() {
        let (count, work) = (Arc::new(AtomicUsize::new(0)), SharedWork::default());
        let begin = || {
            let count = count.clone();
            async move {
                yield_once().await;
                Ok(count.fetch_add(1, Ordering::Relaxed))
            }
            .boxed()
        };
        let both = block_on(join_all([work.result("a", begin), work.result("a", begin)]));
        assert!(both.iter().all(|result| matches!(result, Ok(0))), "{both:?}");
        assert_eq!(block_on(work.result("a", begin)).unwrap(), 1);
        assert_eq!(block_on(work.result("b", begin)).unwrap(), 2);
        let fail = || async { Err(StoreError::ReadOnly) }.boxed();
        let failed = block_on(join_all([work.result("a", fail), work.result("a", fail)]));
        assert!(failed.iter().all(Result::is_err), "{failed:?}");
    }

    /// Nobody else would drive it.
    #[test]
    fn work_goes_on_when_who_began_it_is_dropped_and_ends_with_the_last() {
        let work = SharedWork::default();
        let (send, receive) = oneshot::channel();
        let begin = || async { Ok(receive.await.unwrap_or(0)) }.boxed();
        let mut first = work.result("a", begin).boxed();
        let mut second = work.result("a", || async { Ok(7) }.boxed()).boxed();
        assert!((&mut first).now_or_never().is_none());
        assert!((&mut second).now_or_never().is_none());
        drop(first);
        send.send(5).unwrap();
        assert_eq!(block_on(second).unwrap(), 5);

        let (send, receive) = oneshot::channel::<i32>();
        let begin = || async { Ok(receive.await.unwrap_or(0)) }.boxed();
        let mut only = work.result("a", begin).boxed();
        assert!((&mut only).now_or_never().is_none());
        drop(only);
        assert!(send.is_canceled());
    }
}
