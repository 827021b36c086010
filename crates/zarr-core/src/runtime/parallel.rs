//! Shares work among threads: the one place where these crates start them.
//!
//! Each thread is counted for forks ([`fork`](super::fork)). Where the system refuses a thread, fewer do the work, at last the
//! calling one alone. A panic of a thread becomes one of the caller.

use std::collections::BTreeMap;
use std::io;
use std::iter::Fuse;
use std::panic::resume_unwind;
use std::sync::{Mutex, mpsc};
use std::thread::{self, Builder, JoinHandle, Scope, ScopedJoinHandle};

use super::fork::guard_thread;
use super::tuning::MAX_WAITING_RESULTS;
use crate::control::CancelToken;
use crate::error::{Error, Result};
use crate::sync::{Condition, into_inner, lock};

/// How many threads the machine runs at the same time; or `asked`, if that is not 0.
pub fn available_threads(asked: usize) -> usize {
    match asked {
        0 => thread::available_parallelism().map_or(1, usize::from),
        asked => asked,
    }
}

/// Starts a thread that lasts as long as its work.
///
/// # Errors
/// The system refuses a further thread.
pub fn spawn_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.into()).spawn(guard_thread(work))
}

/// Starts a thread of a scope.
pub(super) fn spawn_scoped<'s, T: Send + 's>(
    scope: &'s Scope<'s, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 's,
) -> io::Result<ScopedJoinHandle<'s, T>> {
    Builder::new().name(name.into()).spawn_scoped(scope, guard_thread(work))
}

/// The results of `here`, on this thread, and of `there`, on another at the same time; if the system starts none, on this one
/// afterwards.
pub fn join<A, B: Send>(
    name: &str,
    here: impl FnOnce() -> A,
    there: impl FnOnce() -> B + Send,
) -> (A, B) {
    // A thread that does not start drops what it was given: the work stays here until it is taken.
    let work = Mutex::new(Some(there));
    thread::scope(|scope| {
        let other = spawn_scoped(scope, name, || {
            let there = lock(&work).take().expect("only this thread takes it");
            there()
        });
        let here = here();
        let there = match other {
            Ok(other) => joined(other),
            Err(_) => {
                let there = lock(&work).take().expect("no thread was started to take it");
                there()
            }
        };
        (here, there)
    })
}

/// Calls `work` on this thread and on up to `others` more at the same time; its calls share what is to do. Returns when all have
/// ended.
pub fn run_together(name: &str, others: usize, work: impl Fn() + Sync) {
    thread::scope(|scope| {
        for _ in 0..others {
            if spawn_scoped(scope, name, &work).is_err() {
                break;
            }
        }
        work();
    });
}

/// How items are worked on by several threads.
#[derive(Clone, Copy, Debug)]
pub struct Parallel<'a> {
    /// What the names of the threads begin with.
    pub name: &'a str,
    /// How many threads work at the same time; with one, it is the calling thread.
    pub threads: usize,
    /// Ends the work before the next item.
    pub cancel: Option<&'a CancelToken>,
}

/// The items that are left, and how far the work is.
struct Queue<I> {
    items: Fuse<I>,
    /// How many items threads have taken.
    taken: u64,
    /// How many results the caller has got, where they come in order.
    delivered: u64,
    /// No further item is taken.
    is_stopped: bool,
    failed: Option<Error>,
}

struct Shared<I> {
    queue: Mutex<Queue<I>>,
    changed: Condition,
    /// How many items may be taken before the first of them is delivered.
    max_ahead: u64,
}

impl<T, I: Iterator<Item = T>> Shared<I> {
    /// The next item and its number; waits for earlier results to be delivered.
    fn next(&self) -> Option<(u64, T)> {
        let mut queue = lock(&self.queue);
        while !queue.is_stopped && queue.taken - queue.delivered >= self.max_ahead {
            queue = self.changed.wait(&self.queue, queue, None);
        }
        if queue.is_stopped {
            return None;
        }
        let item = queue.items.next()?;
        queue.taken += 1;
        Some((queue.taken - 1, item))
    }

    /// Lets threads take further items, since the results of the first `delivered` ones have been used.
    fn delivered(&self, delivered: u64) {
        let mut queue = lock(&self.queue);
        let was_full = queue.taken - queue.delivered >= self.max_ahead;
        queue.delivered = delivered;
        drop(queue);
        if was_full {
            self.changed.notify_all();
        }
    }

    fn stop(&self) {
        lock(&self.queue).is_stopped = true;
        self.changed.notify_all();
    }

    fn fail(&self, error: Error) {
        lock(&self.queue).failed.get_or_insert(error);
        self.stop();
    }
}

/// Ends the work if a thread panics: others may wait for the result of its item.
struct StopOnPanic<'a, T, I: Iterator<Item = T>>(&'a Shared<I>);

impl<T, I: Iterator<Item = T>> Drop for StopOnPanic<'_, T, I> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

impl Parallel<'_> {
    /// The results of `work` for all items, in their order.
    ///
    /// # Errors
    /// The first of `work`, after which no further item is begun; the caller cancelled.
    pub fn map<T: Send, R: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        work: impl Fn(T) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let mut results = Vec::new();
        self.in_order(
            items,
            || Ok(()),
            |(), item| work(item),
            |result| {
                results.push(result);
                Ok(())
            },
        )?;
        Ok(results)
    }

    /// The results of work that cannot fail, in the order of the items. Nobody cancels it.
    pub fn each<T: Send, R: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        work: impl Fn(T) -> R + Sync,
    ) -> Vec<R> {
        let results = Parallel { cancel: None, ..*self }.map(items, |item| Ok(work(item)));
        results.expect("nothing fails")
    }

    /// Calls `work` for each item on one of the threads, each of which has what `own` makes, and `deliver` with the results, in the
    /// order of the items, on the calling thread. Returns what the threads had, in no order.
    ///
    /// # Errors
    /// The first of `own`, `work` and `deliver`, after which no further item is begun; the caller cancelled.
    pub fn in_order<T: Send, S: Send, R: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        own: impl Fn() -> Result<S> + Sync,
        work: impl Fn(&mut S, T) -> Result<R> + Sync,
        mut deliver: impl FnMut(R) -> Result<()>,
    ) -> Result<Vec<S>> {
        let mut early = BTreeMap::new();
        let mut next = 0;
        self.run(
            items,
            MAX_WAITING_RESULTS,
            own,
            |own, item, tell| tell(work(own, item)?),
            |number, result, shared| {
                early.insert(number, result);
                while let Some(result) = early.remove(&next) {
                    deliver(result)?;
                    next += 1;
                }
                shared(next);
                Ok(())
            },
        )
    }

    /// Calls `work` for each item on one of the threads, each of which has what `own` makes, and `deliver` on the calling thread
    /// with whatever `work` tells, as it comes. Also after an error, what was told is delivered. Returns what the threads had, in no
    /// order.
    ///
    /// # Errors
    /// The first of `own`, `work` and `deliver`, after which no further item is begun; the caller cancelled.
    pub fn as_done<T: Send, S: Send, D: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        own: impl Fn() -> Result<S> + Sync,
        work: impl Fn(&mut S, T, &mut dyn FnMut(D) -> Result<()>) -> Result<()> + Sync,
        mut deliver: impl FnMut(D) -> Result<()>,
    ) -> Result<Vec<S>> {
        self.run(items, u64::MAX, own, work, |_, told, _| deliver(told))
    }

    /// As [`Parallel::as_done`]; `deliver` gets the number of the item, too, and what it calls with the number of results that
    /// have been used.
    fn run<T: Send, S: Send, D: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        max_ahead: u64,
        own: impl Fn() -> Result<S> + Sync,
        work: impl Fn(&mut S, T, &mut dyn FnMut(D) -> Result<()>) -> Result<()> + Sync,
        mut deliver: impl FnMut(u64, D, &dyn Fn(u64)) -> Result<()>,
    ) -> Result<Vec<S>> {
        let most = items.size_hint().1.unwrap_or(usize::MAX);
        let threads = self.threads.min(most);
        let items = items.fuse();
        let queue = Queue { items, taken: 0, delivered: 0, is_stopped: false, failed: None };
        let shared = Shared { queue: Mutex::new(queue), changed: Condition::new(), max_ahead };
        let mut all_own = Vec::new();
        let is_started = threads > 1
            && thread::scope(|scope| {
                let _stop = StopOnPanic(&shared);
                let (send, receive) = mpsc::channel();
                let mut started = Vec::new();
                for number in 0..threads {
                    let name = format!("{}-{number}", self.name);
                    let send = send.clone();
                    let shared = &shared;
                    let own = &own;
                    let work = &work;
                    let thread =
                        spawn_scoped(scope, &name, move || self.work_off(shared, send, own, work));
                    match thread {
                        Ok(thread) => started.push(thread),
                        Err(_) => break,
                    }
                }
                drop(send);
                for (number, told) in receive {
                    if let Err(error) = deliver(number, told, &|done| shared.delivered(done)) {
                        shared.fail(error);
                    }
                }
                let is_started = !started.is_empty();
                all_own.extend(started.into_iter().filter_map(joined));
                is_started
            });
        if !is_started {
            let mut mine = own()?;
            while let Some((number, item)) = shared.next() {
                self.check_cancelled()?;
                work(&mut mine, item, &mut |told| {
                    deliver(number, told, &|done| shared.delivered(done))
                })?;
            }
            all_own.push(mine);
        }
        into_inner(shared.queue).failed.map_or(Ok(all_own), Err)
    }

    /// What one thread does: takes items until there are none, and sends what the work tells. Returns what the thread had, if it
    /// got that.
    fn work_off<T, S, D>(
        &self,
        shared: &Shared<impl Iterator<Item = T>>,
        send: mpsc::Sender<(u64, D)>,
        own: impl Fn() -> Result<S>,
        work: impl Fn(&mut S, T, &mut dyn FnMut(D) -> Result<()>) -> Result<()>,
    ) -> Option<S> {
        let _stop = StopOnPanic(shared);
        let mut mine = match own() {
            Ok(mine) => mine,
            Err(error) => {
                shared.fail(error);
                return None;
            }
        };
        while let Some((number, item)) = shared.next() {
            let done = self.check_cancelled().and_then(|()| {
                work(&mut mine, item, &mut |told| {
                    // The calling thread may have failed, and no longer listen.
                    let _ = send.send((number, told));
                    Ok(())
                })
            });
            if let Err(error) = done {
                shared.fail(error);
            }
        }
        Some(mine)
    }

    fn check_cancelled(&self) -> Result<()> {
        self.cancel.map_or(Ok(()), CancelToken::check)
    }
}

/// What a thread returned; a panic goes on here.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::error::AccessError;

    fn parallel(threads: usize) -> Parallel<'static> {
        Parallel { name: "test", threads, cancel: None }
    }

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for threads in [1, 2, 7] {
            let mut results = Vec::new();
            let own = parallel(threads).in_order(
                0..1_000u64,
                || Ok(0),
                |own, n| {
                    *own += 1;
                    if n % 97 == 0 {
                        thread::yield_now();
                    }
                    Ok(n * n)
                },
                |square| {
                    results.push(square);
                    Ok(())
                },
            );
            assert_eq!(own.unwrap().iter().sum::<u64>(), 1_000);
            assert_eq!(results, (0..1_000).map(|n| n * n).collect::<Vec<u64>>());
        }
    }

    /// One slow item holds up the others only when many results wait for its own.
    #[test]
    fn few_results_wait_for_the_one_before_them() {
        let begun = AtomicUsize::new(0);
        let work = |n: u64| {
            begun.fetch_add(1, Ordering::SeqCst);
            while n == 0 && begun.load(Ordering::SeqCst) < MAX_WAITING_RESULTS as usize {
                thread::yield_now();
            }
            if n == 0 {
                thread::sleep(std::time::Duration::from_millis(20));
                assert_eq!(begun.load(Ordering::SeqCst), MAX_WAITING_RESULTS as usize);
            }
            Ok(n)
        };
        let all = parallel(2).map(0..2_000, work).unwrap();
        assert_eq!(all, (0..2_000).collect::<Vec<u64>>());
    }

    #[test]
    fn the_first_error_ends_all() {
        for threads in [1, 3] {
            let work = |n: u64| match n {
                5 => Err(AccessError::Cancelled.into()),
                n => Ok(n),
            };
            assert!(parallel(threads).map(0.., work).is_err());
            let mut delivered = 0;
            let deliver = |n| {
                delivered += 1;
                if n == 5 { Err(AccessError::Cancelled.into()) } else { Ok(()) }
            };
            let ended = parallel(threads).in_order(0.., || Ok(()), |(), n: u64| Ok(n), deliver);
            assert!(ended.is_err());
            assert_eq!(delivered, 6);
            assert!(
                parallel(threads).in_order(0.., || work(5), |_, n: u64| Ok(n), |_| Ok(())).is_err()
            );
        }
    }

    #[test]
    fn what_was_done_is_told_also_after_an_error() {
        for threads in [1, 3] {
            let mut told = Vec::new();
            let result = parallel(threads).as_done(
                0..9u64,
                || Ok(()),
                |(), n, tell| {
                    tell(n)?;
                    if n == 4 { Err(AccessError::Cancelled.into()) } else { tell(n) }
                },
                |n| {
                    told.push(n);
                    Ok(())
                },
            );
            assert!(result.is_err());
            told.sort_unstable();
            assert!(told.starts_with(&[0, 0, 1, 1, 2, 2, 3, 3, 4]), "{told:?}");
        }
    }

    #[test]
    fn a_cancelled_caller_waits_for_no_further_item() {
        for threads in [1, 3] {
            let cancel = CancelToken::new();
            let work = |n: u64| {
                if n == 2 {
                    cancel.cancel();
                }
                Ok(n)
            };
            let parallel = Parallel { cancel: Some(&cancel), ..parallel(threads) };
            assert!(parallel.map(0.., work).is_err());
        }
    }

    #[test]
    fn a_panic_becomes_one_of_the_caller() {
        for threads in [1, 3] {
            let work = |n: u64| {
                assert_ne!(n, 3, "as it should");
                Ok(n)
            };
            let run = || parallel(threads).map(0..100_000, work);
            let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("it panics");
            let message = panic.downcast_ref::<String>().expect("a message");
            assert!(message.contains("as it should"), "{message}");
        }
    }

    #[test]
    fn two_work_at_the_same_time() {
        let (send, receive) = mpsc::channel();
        let here = || receive.recv().unwrap();
        assert_eq!(join("test", here, move || send.send(7).is_ok()), (7, true));
        let calls = AtomicUsize::new(0);
        run_together("test", 2, || {
            calls.fetch_add(1, Ordering::SeqCst);
            while calls.load(Ordering::SeqCst) < 3 {
                thread::yield_now();
            }
        });
        assert_eq!(calls.into_inner(), 3);
    }
}
