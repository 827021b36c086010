//! Adapts the number of requests under way, and of those sent again, to what a server answers.
//!
//! More are under way while more of them bring more bytes; fewer when the server refuses some or does not answer. A request
//! that failed is sent again if others succeed, or a few of them each second (docs/internals/design/remote-stores.md).

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::time::timeout;
use zarr_core::sync::lock;

use super::connector::Counts;

/// Requests under way at first, and the fewest that a server's refusals leave.
const AT_FIRST: usize = 64;
const FEWEST: usize = 8;
/// The bytes that one request counts as, beside those that it brings.
const OF_A_REQUEST: u64 = 64 << 10;
/// Throughput grows if it grows by this factor.
const GROWTH: f64 = 1.1;
/// Requests that may be sent again before another succeeds.
const SPARE: usize = 32;
/// The time after which one more may, and after which refusals belong to fewer requests.
const RATE_INTERVAL: Duration = Duration::from_millis(100);
/// Bytes between two ranges that are fetched with them: until some have arrived, at least, and at most.
const GAP: (f64, f64, f64) = ((64 << 10) as f64, (8 << 10) as f64, (256 << 10) as f64);
/// The bytes from which on the time of an answer's body says how fast they arrive.
const MIN_TIMED_BODY_BYTES: usize = 64 << 10;

/// Limits the requests to one server, from all handles of a store.
#[derive(Debug)]
pub(super) struct Limiter {
    counts: Arc<Counts>,
    most: usize,
    places: Semaphore,
    spare: Semaphore,
    state: Mutex<State>,
}

/// About as many requests as are under way at the same time, one after the other, are a window.
#[derive(Debug, Default)]
struct State {
    limit: usize,
    /// Places that are taken beyond the limit.
    surplus: usize,
    /// When the window began, the requests that ended in it, and the bytes received before it.
    begun: Option<Instant>,
    done: usize,
    received: u64,
    /// Whether a request of the window had to wait for a place.
    full: bool,
    /// The limit and the throughput before it was raised.
    before: Option<(usize, f64)>,
    refused: Option<Instant>,
    /// When a request was last allowed to be sent again because time went by.
    allowed: Option<Instant>,
    /// Seconds until an answer begins, and bytes a second of its body; means of about the last eight.
    latency: f64,
    speed: f64,
}

/// The place of one request.
pub(super) struct Place(Arc<Limiter>);

impl Limiter {
    pub fn new(most: usize, counts: Arc<Counts>) -> Limiter {
        let limit = most.min(AT_FIRST);
        let state = State { limit, begun: Some(Instant::now()), ..State::default() };
        let (places, spare) = (Semaphore::new(limit), Semaphore::new(SPARE));
        Limiter { counts, most, places, spare, state: Mutex::new(state) }
    }

    /// Waits for a place among the requests under way.
    pub async fn place(self: &Arc<Self>) -> Place {
        if let Ok(place) = self.places.try_acquire() {
            place.forget();
        } else {
            lock(&self.state).full = true;
            self.places.acquire().await.expect("it is never closed").forget();
        }
        Place(self.clone())
    }

    /// Notes an answer, and the time after which that to a small request began.
    pub fn answered(&self, after: Option<Duration>) {
        if let Some(after) = after {
            mean(&mut lock(&self.state).latency, after.as_secs_f64());
        }
        if self.spare.available_permits() < SPARE {
            self.spare.add_permits(1);
        }
    }

    /// Notes that the body of an answer arrived within this time.
    pub fn received(&self, bytes: usize, within: Duration) {
        if bytes >= MIN_TIMED_BODY_BYTES {
            mean(&mut lock(&self.state).speed, bytes as f64 / within.as_secs_f64().max(1e-6));
        }
    }

    /// How many bytes arrive in the time until an answer begins.
    pub fn gap(&self) -> u64 {
        let state = lock(&self.state);
        let (first, least, most) = GAP;
        let known = state.speed > 0.0 && state.latency > 0.0;
        (if known { (state.latency * state.speed).clamp(least, most) } else { first }) as u64
    }

    /// Notes that the server refused a request because it has too many, or did not answer in time.
    pub fn refused(&self) {
        let mut state = lock(&self.state);
        if since(state.refused) >= RATE_INTERVAL {
            (state.refused, state.before) = (Some(Instant::now()), None);
            let limit = (state.limit / 2).max(FEWEST.min(self.most));
            self.begin(&mut state, limit);
        }
    }

    /// Waits until one more request may be sent again.
    pub async fn retry(&self) {
        loop {
            {
                let mut state = lock(&self.state);
                if since(state.allowed) >= RATE_INTERVAL {
                    state.allowed = Some(Instant::now());
                    self.spare.add_permits(1);
                }
            }
            if let Ok(Ok(allowed)) = timeout(RATE_INTERVAL, self.spare.acquire()).await {
                return allowed.forget();
            }
        }
    }

    /// Begins a window with this limit.
    fn begin(&self, state: &mut State, limit: usize) {
        let (more, less) = (limit.saturating_sub(state.limit), state.limit.saturating_sub(limit));
        let kept = more.min(state.surplus);
        self.places.add_permits(more - kept);
        state.surplus = state.surplus - kept + less - self.places.forget_permits(less);
        (state.limit, state.begun) = (limit, Some(Instant::now()));
        (state.done, state.full) = (0, false);
        state.received = self.counts.received.load(Ordering::Relaxed);
    }

    /// Compares the throughput at the end of a window with the one before.
    fn adapt(&self, state: &mut State) {
        let received = self.counts.received.load(Ordering::Relaxed);
        let work = received.saturating_sub(state.received) + OF_A_REQUEST * state.done as u64;
        let rate = work as f64 / since(state.begun).as_secs_f64().max(1e-6);
        let (full, before) = (state.full, state.before.take());
        let mut limit = state.limit;
        if let Some((fewer, _)) = before.filter(|(_, before)| full && rate < before * GROWTH) {
            limit = fewer;
        } else if full && limit < self.most {
            state.before = Some((limit, rate));
            // After a refusal carefully.
            let more = if state.refused.is_some() { FEWEST } else { limit };
            limit = (limit + more).min(self.most);
        }
        self.begin(state, limit);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        match state.surplus.checked_sub(1) {
            Some(fewer) => state.surplus = fewer,
            None => self.0.places.add_permits(1),
        }
        state.done += 1;
        if state.done >= state.limit {
            self.0.adapt(&mut state);
        }
    }
}

fn since(time: Option<Instant>) -> Duration {
    time.map_or(Duration::MAX, |time| time.elapsed())
}

/// A mean of about the last eight.
fn mean(of: &mut f64, last: f64) {
    *of = if *of == 0.0 { last } else { (*of * 7.0 + last) / 8.0 };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(most: usize) -> Arc<Limiter> {
        Arc::new(Limiter::new(most, Arc::default()))
    }

    fn limit(limiter: &Limiter) -> usize {
        lock(&limiter.state).limit
    }

    /// As many places as can be had without waiting.
    async fn taken(limiter: &Arc<Limiter>) -> Vec<Place> {
        let mut places = Vec::new();
        while let Ok(place) = timeout(Duration::ZERO, limiter.place()).await {
            places.push(place);
        }
        places
    }

    /// A window in which `bytes` arrived within `time`.
    async fn window(limiter: &Arc<Limiter>, bytes: u64, time: Duration) {
        let places = taken(limiter).await;
        lock(&limiter.state).begun = Some(Instant::now() - time);
        limiter.counts.received.fetch_add(bytes, Ordering::Relaxed);
        drop(places);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn more_requests_are_under_way_while_that_brings_more() {
        let (limiter, second) = (limiter(256), Duration::from_secs(1));
        assert_eq!(limiter.places.available_permits(), 64);
        window(&limiter, 64 << 20, second).await;
        assert_eq!(limit(&limiter), 128);
        window(&limiter, 128 << 20, second).await;
        assert_eq!(limit(&limiter), 256);
        // Twice the requests in twice the time bring nothing more.
        window(&limiter, 256 << 20, 2 * second).await;
        assert_eq!((limit(&limiter), limiter.places.available_permits()), (128, 128));
        // Requests that never wait say nothing about the server.
        let few = self::limiter(256);
        for _ in 0..256 {
            drop(few.place().await);
        }
        assert_eq!(limit(&few), 64);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_server_that_refuses_gets_fewer_requests() {
        let limiter = limiter(256);
        let held = taken(&limiter).await;
        limiter.refused();
        limiter.refused();
        assert_eq!(limit(&limiter), 32, "refusals of one moment count once");
        for _ in 0..5 {
            lock(&limiter.state).refused = Some(Instant::now() - 2 * RATE_INTERVAL);
            limiter.refused();
        }
        assert_eq!(limit(&limiter), FEWEST);
        drop(held);
        assert_eq!(limiter.places.available_permits(), FEWEST);
        window(&limiter, 1 << 20, Duration::from_secs(1)).await;
        assert_eq!(limit(&limiter), 2 * FEWEST, "after that it grows slowly");
        assert_eq!(self::limiter(3).state.lock().unwrap().limit, 3);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn requests_are_sent_again_as_others_succeed() {
        let limiter = limiter(256);
        let soon = || timeout(RATE_INTERVAL / 4, limiter.retry());
        lock(&limiter.state).allowed = Some(Instant::now() + Duration::from_secs(3600));
        for _ in 0..SPARE {
            soon().await.expect("some are free");
        }
        assert!(soon().await.is_err());
        limiter.answered(None);
        soon().await.expect("one succeeded");
        assert!(soon().await.is_err());
        lock(&limiter.state).allowed = Some(Instant::now() - RATE_INTERVAL);
        soon().await.expect("time went by");
        (0..100).for_each(|_| limiter.answered(None));
        assert_eq!(limiter.spare.available_permits(), SPARE);
    }

    /// Bytes between two ranges are fetched if they arrive sooner than the answer to another request would begin.
    #[test]
    fn the_gap_is_what_arrives_while_an_answer_is_awaited() {
        let limiter = limiter(256);
        assert_eq!(limiter.gap(), 64 << 10);
        limiter.answered(Some(Duration::from_millis(20)));
        assert_eq!(limiter.gap(), 64 << 10);
        limiter.received(MIN_TIMED_BODY_BYTES - 1, Duration::from_millis(1));
        assert_eq!(limiter.gap(), 64 << 10, "a small body says nothing");
        limiter.received(1_000_000, Duration::from_secs(1));
        assert_eq!(limiter.gap(), 20_000);
        limiter.received(1 << 30, Duration::from_secs(1));
        assert_eq!(limiter.gap(), 256 << 10);
    }
}
