//! Makes a future wait for some time, in any runtime or in none.
//!
//! One thread wakes each future when its time has come. It starts when it is first needed, and again in a forked process.
//! A simulation puts virtual time in place of both ([`VirtualTime`]).

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, Either};

use crate::sync::{self, Condition};

/// What a simulation puts in place of the system's clock and of random numbers, for the futures that one thread polls.
#[derive(Clone, Copy, Debug)]
pub struct VirtualTime {
    /// What time it is.
    pub now: fn() -> Instant,
    /// A future that is ready after some time.
    pub pause: fn(Duration) -> BoxFuture<'static, ()>,
    /// Goes on to when something that waits is woken; called where the thread would sleep.
    pub park: fn(),
    /// A random number.
    pub random: fn() -> u64,
}

thread_local! {
    static VIRTUAL: Cell<Option<VirtualTime>> = const { Cell::new(None) };
}

impl VirtualTime {
    /// Lets this thread live in virtual time, or, with `None`, in the system's again.
    pub fn set(time: Option<VirtualTime>) {
        VIRTUAL.set(time);
    }
}

/// What time it is.
pub(crate) fn instant() -> Instant {
    VIRTUAL.get().map_or_else(Instant::now, |time| (time.now)())
}

/// Sleeps until another thread wakes this one.
pub(super) fn park() {
    VIRTUAL.get().map_or_else(thread::park, |time| (time.park)());
}

/// Waits for a random part of `most`: of many that failed together, few try again together.
pub(crate) async fn pause_up_to(most: Duration) {
    let random = match VIRTUAL.get() {
        Some(time) => (time.random)(),
        None => RandomState::new().hash_one(()),
    };
    pause(most.mul_f64(random as f64 / u64::MAX as f64)).await;
}

/// A future that is ready after `duration`. It needs no runtime.
pub fn pause(duration: Duration) -> impl Future<Output = ()> + Send + Unpin {
    match VIRTUAL.get() {
        Some(time) => Either::Left((time.pause)(duration)),
        None => Either::Right(Pause { until: Instant::now() + duration }),
    }
}

struct Pause {
    until: Instant,
}

impl Future for Pause {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let now = Instant::now();
        if now >= self.until {
            return Poll::Ready(());
        }
        if !Clock::of_this_process().wake(self.until, context.waker()) {
            // No thread could be started to wake it.
            thread::sleep(self.until - now);
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

/// The wakers to wake, soonest first; by number, as wakers have no order.
#[derive(Default)]
struct Due {
    at: BinaryHeap<Reverse<(Instant, u64)>>,
    wakers: HashMap<u64, Waker>,
    count: u64,
}

struct Clock {
    due: Mutex<Due>,
    changed: Condition,
    runs: bool,
}

impl Clock {
    fn of_this_process() -> Arc<Clock> {
        static CLOCKS: Mutex<BTreeMap<u32, Arc<Clock>>> = Mutex::new(BTreeMap::new());
        let mut clocks = sync::lock(&CLOCKS);
        clocks.entry(std::process::id()).or_insert_with(Clock::start).clone()
    }

    fn start() -> Arc<Clock> {
        let (send, receive) = std::sync::mpsc::channel::<Arc<Clock>>();
        let started = super::spawn_thread("zarr-timer", move || {
            if let Ok(clock) = receive.recv() {
                clock.run();
            }
        });
        let runs = started.is_ok();
        let clock = Arc::new(Clock { due: Mutex::default(), changed: Condition::new(), runs });
        let _ = send.send(clock.clone());
        clock
    }

    /// Wakes `waker` at `until`; `false` if there is no thread that can.
    fn wake(&self, until: Instant, waker: &Waker) -> bool {
        if self.runs {
            let mut due = sync::lock(&self.due);
            due.count += 1;
            let number = due.count;
            due.at.push(Reverse((until, number)));
            due.wakers.insert(number, waker.clone());
            self.changed.notify_all();
        }
        self.runs
    }

    fn run(&self) {
        let mut due = sync::lock(&self.due);
        loop {
            let now = Instant::now();
            let next = due.at.peek().map(|Reverse((at, _))| *at);
            match next {
                None => due = self.changed.wait(&self.due, due, None),
                Some(at) if at > now => due = self.changed.wait(&self.due, due, Some(at - now)),
                Some(_) => {
                    let number = due.at.pop().map_or(0, |Reverse((_, number))| number);
                    let waker = due.wakers.remove(&number);
                    // A waker is code of a third party: no lock is held while it runs.
                    drop(due);
                    waker.into_iter().for_each(Waker::wake);
                    due = sync::lock(&self.due);
                }
            }
        }
    }
}
