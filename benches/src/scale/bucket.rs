//! A store that is a model: keys are made when they are requested, values that are set are kept.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::channel::oneshot;
use zarr::StoreError;
use zarr::store::{
    Bytes, Capabilities, GetOptions, Got, ListOptions, Listing, Payload, Precondition, Snapshot,
    SnapshotOptions, Store, StoreKey, StorePrefix, Version, async_trait,
};

use super::clock::{self, sleep, until};
use super::service::{self, Bill, Kind, Service};

type Result<T> = std::result::Result<T, StoreError>;

/// Keys that are in a bucket without being stored.
pub trait Made: Send + Sync {
    /// The value of a key.
    fn value(&self, key: &str) -> Option<Bytes>;

    /// The keys and the prefixes directly below a prefix, in full, sorted.
    fn below(&self, prefix: &str) -> (Vec<String>, Vec<String>);

    /// Whether a value that is set is kept; else it is forgotten at once.
    fn keeps(&self, _key: &str) -> bool {
        true
    }
}

/// No keys.
pub struct Nothing;

impl Made for Nothing {
    fn value(&self, _: &str) -> Option<Bytes> {
        None
    }
    fn below(&self, _: &str) -> (Vec<String>, Vec<String>) {
        Default::default()
    }
}

/// Values, each with the number of its setting, which is its version.
type Values = BTreeMap<String, (Bytes, u64)>;

#[derive(Default)]
struct State {
    values: Values,
    sets: u64,
    bill: Bill,
    /// The second in which requests are counted, and how many read and how many write.
    second: (u64, [u32; 2]),
}

/// What all clients see.
pub struct Bucket {
    service: Service,
    made: Box<dyn Made>,
    state: Mutex<State>,
}

impl Bucket {
    /// A bucket of a service that has some keys.
    pub fn new(service: Service, made: impl Made + 'static) -> Arc<Bucket> {
        Arc::new(Bucket { service, made: Box::new(made), state: Mutex::default() })
    }

    /// A client of the bucket. Clients of one name are the threads of one process, others are machines.
    pub fn client(self: &Arc<Bucket>, name: &str) -> Arc<dyn Store> {
        let free = Mutex::new((self.service.in_flight, VecDeque::new()));
        let (bucket, link) = (self.clone(), Mutex::default());
        Arc::new(Client { bucket, name: format!("model://{name}"), link, free })
    }

    /// What was requested so far.
    pub fn bill(&self) -> Bill {
        self.state().bill
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn value(&self, key: &StoreKey) -> Option<(Bytes, u64)> {
        let stored = self.state().values.get(key.as_str()).cloned();
        stored.or_else(|| self.made.value(key.as_str()).map(|value| (value, 0)))
    }

    /// Counts a request that arrives; `false` if its prefix has too many.
    fn admits(&self, kind: Kind) -> bool {
        let (service, mut state) = (&self.service, self.state());
        let (count, price, at, most) = match kind {
            Kind::Get => (&mut state.bill.gets, service.read_price, 0, service.reads),
            Kind::Put => (&mut state.bill.puts, service.write_price, 1, service.writes),
            Kind::List => (&mut state.bill.lists, service.write_price, 0, service.reads),
        };
        *count += 1;
        state.bill.price += price;
        let second = clock::now().as_secs();
        if state.second.0 != second {
            state.second = (second, [0, 0]);
        }
        state.second.1[at] += 1;
        let admits = state.second.1[at] <= most;
        state.bill.refused += u64::from(!admits);
        admits
    }
}

/// A machine that uses a bucket.
struct Client {
    bucket: Arc<Bucket>,
    name: String,
    /// Until when its network is busy.
    link: Mutex<Duration>,
    /// How many requests it may begin, and what waits to begin one.
    free: Mutex<(usize, VecDeque<oneshot::Sender<()>>)>,
}

/// The right to have a request under way.
struct Permit<'a>(&'a Client);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut free = self.0.free.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(next) = free.1.pop_front() {
            if next.send(()).is_ok() {
                return;
            }
        }
        free.0 += 1;
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Client {
    async fn permit(&self) -> Permit<'_> {
        let waits = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            match free.0.checked_sub(1) {
                Some(left) => {
                    free.0 = left;
                    None
                }
                None => {
                    let (send, receive) = oneshot::channel();
                    free.1.push_back(send);
                    Some(receive)
                }
            }
        };
        if let Some(waits) = waits {
            // It is given on, never dropped.
            let _ = waits.await;
        }
        Permit(self)
    }

    /// Waits until some bytes have gone through the network of this machine, and through a connection.
    async fn transfer(&self, bytes: u64) {
        let service = &self.bucket.service;
        let free = {
            let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
            let takes = Duration::from_secs_f64(bytes as f64 / service.client_bandwidth);
            *link = clock::now().max(*link) + takes;
            *link
        };
        let takes = Duration::from_secs_f64(bytes as f64 / service.request_bandwidth);
        until(free.max(clock::now() + takes)).await;
    }

    /// Sends a request until the bucket takes it; `work` is what the bucket does then. The times between tries are those of the
    /// library's client: random, up to twice the one before, at most five seconds.
    async fn request<T>(&self, kind: Kind, sent: u64, work: impl FnOnce() -> T) -> Result<T> {
        let service = self.bucket.service;
        let mut backoff: f64 = 0.1;
        for attempt in 0..=service.retries {
            let takes = service::time(&service, kind);
            sleep(takes / 2).await;
            if sent > 0 {
                self.transfer(sent).await;
            }
            let is_admitted = self.bucket.admits(kind);
            let fails = is_admitted && clock::chance() < service.failures;
            {
                let mut state = self.bucket.state();
                state.bill.sent += sent;
                state.bill.failed += u64::from(fails);
            }
            if is_admitted && !fails {
                let done = work();
                sleep(takes / 2).await;
                return Ok(done);
            }
            sleep(takes / 2).await;
            if attempt < service.retries {
                sleep(Duration::from_secs_f64(backoff)).await;
                backoff = (0.1 + clock::chance() * (2.0 * backoff - 0.1)).min(5.0);
            }
        }
        let why = io::Error::other("the bucket refuses more requests of this prefix");
        Err(StoreError::Io { operation: "request", key: self.name.clone(), source: why })
    }

    async fn received(&self, bytes: u64) {
        self.bucket.state().bill.received += bytes;
        if bytes > 0 {
            self.transfer(bytes).await;
        }
    }

    /// Lists page by page.
    async fn pages(&self, mut keys: usize) -> Result<()> {
        let _permit = self.permit().await;
        loop {
            self.request(Kind::List, 0, || ()).await?;
            match keys.checked_sub(self.bucket.service.page) {
                Some(left @ 1..) => keys = left,
                _ => return Ok(()),
            }
        }
    }

    fn listing(&self, prefix: &StorePrefix) -> Result<Listing> {
        let (keys, prefixes) = self.bucket.made.below(prefix.as_str());
        let mut keys: BTreeSet<String> = keys.into_iter().collect();
        let mut prefixes: BTreeSet<String> = prefixes.into_iter().collect();
        for key in self.bucket.state().values.range(prefix.as_str().to_owned()..) {
            let Some(rest) = key.0.strip_prefix(prefix.as_str()) else { break };
            match rest.find('/') {
                Some(at) => prefixes.insert(format!("{prefix}{}", &rest[..=at])),
                None => keys.insert(key.0.clone()),
            };
        }
        let keys = keys.into_iter().map(StoreKey::new).collect::<Result<_>>()?;
        let prefixes = prefixes.into_iter().map(StorePrefix::new).collect::<Result<_>>()?;
        Ok(Listing { keys, prefixes, ..Listing::default() })
    }
}

fn version(set: u64) -> Version {
    Version::new(set.to_le_bytes().to_vec())
}

#[async_trait]
impl Store for Client {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn capabilities(&self) -> Capabilities {
        let in_flight = self.bucket.service.in_flight;
        Capabilities { in_flight, swap_erase: false, ..Capabilities::FULL }
    }

    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        let _permit = self.permit().await;
        let found = self.request(Kind::Get, 0, || self.bucket.value(key)).await?;
        let Some((value, set)) = found else { return Ok(None) };
        self.received((value.len() as u64).min(how.limit)).await;
        how.answer(key, value, Some(version(set)))
    }

    async fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>> {
        Ok(how.in_memory(key, self.get(key, how.to_get()).await?))
    }

    async fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool> {
        let value = value.map(Payload::into_bytes).transpose()?;
        let size = value.as_ref().map_or(0, Bytes::len) as u64;
        let change = || {
            let is = only_if.compares().then(|| self.bucket.value(key)).flatten();
            let mut state = self.bucket.state();
            if !only_if.holds(is.map(|(_, set)| version(set)).as_ref()) {
                state.bill.lost += 1;
                return false;
            }
            state.sets += 1;
            let set = state.sets;
            match value.filter(|_| self.bucket.made.keeps(key.as_str())) {
                Some(value) => state.values.insert(key.as_str().to_owned(), (value, set)),
                None => state.values.remove(key.as_str()),
            };
            true
        };
        let _permit = self.permit().await;
        self.request(Kind::Put, size, change).await
    }

    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<()> {
        for key in self.list_prefix(prefix).await?.keys {
            self.put(&key, None, Precondition::Always).await?;
        }
        Ok(())
    }

    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        let (mut open, mut keys) = (vec![prefix.clone()], Vec::new());
        while let Some(prefix) = open.pop() {
            let listing = self.listing(&prefix)?;
            keys.extend(listing.keys);
            open.extend(listing.prefixes);
        }
        keys.sort();
        self.pages(keys.len()).await?;
        Ok(keys.into())
    }

    async fn list_dir(&self, prefix: &StorePrefix, _: ListOptions) -> Result<Listing> {
        let listing = self.listing(prefix)?;
        self.pages(listing.keys.len() + listing.prefixes.len()).await?;
        Ok(listing)
    }
}
