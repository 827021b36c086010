//! Runs futures in virtual time: when all of them wait, the clock goes on to when the first one is to be woken.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use zarr::runtime::{VirtualTime, block_on};

/// The time of this thread's simulation, and who waits.
#[derive(Default)]
struct World {
    begun: Option<Instant>,
    now: Duration,
    random: u64,
    asleep: BinaryHeap<Reverse<(Duration, u64)>>,
    wakers: HashMap<u64, Waker>,
    sleeps: u64,
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::default();
}

/// The virtual time since the simulation began.
pub fn now() -> Duration {
    WORLD.with_borrow(|world| world.now)
}

/// A random number.
pub fn random() -> u64 {
    // SplitMix64.
    WORLD.with_borrow_mut(|world| {
        world.random = world.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = world.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

/// A random number between 0 and 1.
pub fn chance() -> f64 {
    (random() >> 11) as f64 / (1u64 << 53) as f64
}

/// A random number of the normal distribution.
pub fn normal() -> f64 {
    (-2.0 * (1.0 - chance()).ln()).sqrt() * (std::f64::consts::TAU * chance()).cos()
}

/// A future that is ready at a time.
pub struct Sleep {
    until: Duration,
    number: Option<u64>,
}

/// Waits until a virtual time.
pub fn until(until: Duration) -> Sleep {
    Sleep { until, number: None }
}

/// Waits for some virtual time.
pub fn sleep(duration: Duration) -> Sleep {
    until(now() + duration)
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        WORLD.with_borrow_mut(|world| {
            if world.now >= self.until {
                return Poll::Ready(());
            }
            let until = self.until;
            let number = *self.number.get_or_insert_with(|| {
                world.sleeps += 1;
                world.asleep.push(Reverse((until, world.sleeps)));
                world.sleeps
            });
            world.wakers.insert(number, context.waker().clone());
            Poll::Pending
        })
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            WORLD.with_borrow_mut(|world| world.wakers.remove(&number));
        }
    }
}

/// Goes on to when the next future is to be woken, and wakes it.
fn advance() {
    let waker = WORLD.with_borrow_mut(|world| {
        loop {
            let Reverse((at, number)) = world.asleep.pop()?;
            // A future that was dropped does not wait any more.
            if let Some(waker) = world.wakers.remove(&number) {
                world.now = world.now.max(at);
                return Some(waker);
            }
        }
    });
    waker.expect("what waits is simulated, and so is what it waits for").wake();
}

/// Puts the system's time back.
struct Restore;

impl Drop for Restore {
    fn drop(&mut self) {
        VirtualTime::set(None);
    }
}

/// The result of a future, and how long it took in virtual time. The thread may also call what blocks.
///
/// # Panics
/// If the future waits for something that is not simulated.
pub fn run<T>(seed: u64, future: impl Future<Output = T>) -> (T, Duration) {
    WORLD.set(World { begun: Some(Instant::now()), random: seed, ..World::default() });
    VirtualTime::set(Some(VirtualTime {
        now: || WORLD.with_borrow(|world| world.begun.unwrap_or_else(Instant::now) + world.now),
        pause: |duration| Box::pin(sleep(duration)),
        park: advance,
        random,
    }));
    let _restore = Restore;
    (block_on(future), now())
}
