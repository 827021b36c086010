//! Keeps keys and values in the buckets of S3, Google Cloud Storage and Azure, and reads them from web servers.
//!
//! One store for all of them, over the crate `object_store`: it signs, sends and parses; what is asked when, how
//! much at a time, and what an answer means is decided here. `docs/stores/` has a page for each.

mod answer;
#[cfg(feature = "azure")]
pub(crate) mod azure;
mod connector;
mod failure;
#[cfg(feature = "gcs")]
pub(crate) mod gcs;
#[cfg(feature = "http")]
pub(crate) mod http;
mod list;
mod pages;
mod pinned;
#[cfg(feature = "s3")]
mod profile;
mod read;
mod redirect;
mod runtime;
#[cfg(feature = "s3")]
pub(crate) mod s3;
mod settings;
mod transport;
mod write;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use object_store::path::Path;
use tokio::sync::Semaphore;
use zarr_core::store::aio::{
    ConditionalStore, ListableStore, ReadableStore, Store, WriteableStore,
};
use zarr_core::store::begun::{self, Touched};
use zarr_core::store::{self, Blocking, StoreKey, StorePrefix};
use zarr_core::{Access, StoreError};

use self::connector::{Connector, Counts};
use self::runtime::Task;
pub(crate) use self::settings::Settings;

type Backend = Arc<dyn object_store::ObjectStore>;

/// What one kind of server can do, and how people speak of it.
#[derive(Debug)]
pub(crate) struct Facts {
    /// What holds the keys: a bucket, a container.
    bucket: &'static str,
    /// Whether it gives the last bytes of a value without knowing its size.
    suffixes: bool,
    /// Whether keys can be set, erased and listed.
    writes: bool,
    /// Whether its redirects are followed (decision 0143).
    redirects: bool,
    /// Whether keys are erased many at a time, with a request that knows no absent ones.
    erases_many: bool,
    /// The longest key in bytes.
    longest_key: usize,
    /// The largest value that one request can carry.
    one_request: u64,
    /// What to do about credentials that are refused.
    credentials: &'static str,
}

/// Where a store is, and how its server is reached.
pub(crate) struct Place {
    /// Its URL, without secrets.
    name: String,
    /// What comes before each key: nothing, or a path with its `/`.
    prefix: String,
    facts: &'static Facts,
    make: Box<dyn Fn(Connector) -> object_store::Result<Backend> + Send + Sync>,
}

/// A bucket of S3, Google Cloud Storage or Azure, below a prefix; or a folder of a web server.
///
/// It is async: [`Store`] is [`zarr_core::store::aio::Store`]. Its requests run on separate threads, so that
/// it works in any runtime and without one. [`ObjectStore::into_blocking`] makes it one for callers that block.
///
/// ```no_run
/// use zarr_core::Access;
/// use zarr_stores::ObjectStore;
///
/// # fn main() -> Result<(), zarr_core::StoreError> {
/// let options = [("region", "eu-central-1"), ("skip_signature", "true"), ("in_flight", "128")];
/// let store = ObjectStore::open("s3://bucket/data.zarr", Access::ReadOnly, options)?;
/// let store = store.into_blocking();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ObjectStore(Arc<Shared>);

struct Shared {
    place: Place,
    access: Access,
    settings: Settings,
    counts: Arc<Counts>,
    /// Whether the server was seen to give whole values where a part was asked for.
    without_ranges: AtomicBool,
    /// The connections of one process.
    connected: Mutex<Option<(u32, Connected)>>,
}

#[derive(Clone)]
struct Connected {
    backend: Backend,
    permits: Arc<Semaphore>,
}

/// What a store has asked for so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests sent, retries among them.
    pub requests: u64,
    /// Bytes of values received.
    pub received: u64,
    /// Those of them that were not requested: gaps between ranges that were fetched with one request.
    pub wasted: u64,
}

impl fmt::Debug for ObjectStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ObjectStore").field(&self.0.place.name).finish()
    }
}

impl ObjectStore {
    /// The store that a URL names: `s3://`, `s3a://`, `gs://`, `gcs://`, `az://`, `azure://`, `adl://`, `abfs://`,
    /// `abfss://`, `http://` or `https://`, the latter also for what S3 and Azure serve under such names. Nothing is
    /// asked of a server yet.
    ///
    /// Options are those of `object_store`'s builders, by the names that environment variables have (`aws_region` or
    /// `region`, `azure_storage_account_name`, `google_service_account` …), and come before those; and
    /// `in_flight` (requests at a time, 64), `read_timeout` (seconds without a byte, 30), `max_retries` (10),
    /// `retry_timeout` (seconds, 180), `max_listed` (bytes of keys in one listing, 4 GiB) and `forbidden_is_absent` (`true` for a bucket that lists nothing to its readers
    /// and therefore answers 403 for absent keys).
    ///
    /// # Errors
    /// [`StoreError::InvalidUrl`] for another URL, an option that is not known, credentials that cannot be used,
    /// and a store that this build left out.
    pub fn open<K: AsRef<str>, V: Into<String>>(
        url: &str,
        access: Access,
        options: impl IntoIterator<Item = (K, V)>,
    ) -> Result<ObjectStore, StoreError> {
        let settings = Settings::from_options(url, options)?;
        let place = settings::place(url, &settings)?;
        let shared = Shared {
            place,
            access,
            settings,
            counts: Arc::default(),
            without_ranges: AtomicBool::new(false),
            connected: Mutex::default(),
        };
        let store = ObjectStore(Arc::new(shared));
        // Wrong settings are reported now.
        store.0.connected()?;
        Ok(store)
    }

    /// The store for callers that block: their threads sleep while it works, wherever they are.
    pub fn into_blocking(self) -> Arc<dyn store::Store> {
        Arc::new(Blocking::new(Arc::new(self)))
    }

    /// What it has asked for so far.
    pub fn traffic(&self) -> Traffic {
        let counts = &self.0.counts;
        Traffic {
            requests: counts.requests.load(Ordering::Relaxed),
            received: counts.received.load(Ordering::Relaxed),
            wasted: counts.wasted.load(Ordering::Relaxed),
        }
    }

    /// Does some work with the server where requests go on, as soon as there are not too many; after what
    /// dropped calls are still changing there. If the caller goes away, the work ends.
    async fn ask<T, F>(
        &self,
        work: impl FnOnce(Arc<Shared>, Backend) -> F + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        begun::settled(|| self.0.place.name.clone(), &StorePrefix::root()).await;
        let Connected { backend, permits } = self.0.connected()?;
        let shared = self.0.clone();
        let task = Task::start(async move {
            let permit = permits.acquire_owned().await;
            let done = work(shared, backend).await;
            drop(permit);
            done
        });
        task?.done().await?
    }

    /// As [`ObjectStore::ask`], of work that changes keys. If the caller goes away, a change that has not begun is
    /// not made. One that has begun may be with the server already: it is finished, and later calls on these keys
    /// wait for it (decision 0141).
    async fn change<T, F>(
        &self,
        touched: impl Into<Touched>,
        work: impl FnOnce(Arc<Shared>, Backend) -> F + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let touched = touched.into();
        begun::settled(|| self.0.place.name.clone(), touched.clone()).await;
        let Connected { backend, permits } = self.0.connected()?;
        let shared = self.0.clone();
        let (caller, worker) = begun::change(|| self.0.place.name.clone(), touched);
        let task = Task::start(async move {
            let permit = permits.acquire_owned().await;
            let running = worker.begin()?;
            let done = work(shared, backend).await;
            drop((running, permit));
            Some(done)
        });
        let done = task?.finishing().await?;
        drop(caller);
        done.unwrap_or_else(|| Err(StoreError::Backend("a request was given up".into())))
    }

    fn writeable_place(&self) -> Result<(), StoreError> {
        match self.0.access {
            Access::ReadOnly => Err(StoreError::ReadOnly),
            Access::ReadWrite => Ok(()),
        }
    }
}

impl Shared {
    /// The connections of this process.
    fn connected(&self) -> Result<Connected, StoreError> {
        let mut connected = self.connected.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((process, connected)) = &*connected
            && *process == std::process::id()
        {
            return Ok(connected.clone());
        }
        let connector = Connector {
            max_listed: self.settings.max_listed,
            stall: self.settings.read_timeout,
            counts: self.counts.clone(),
            redirects: self.place.facts.redirects,
        };
        let backend = (self.place.make)(connector).map_err(|e| StoreError::InvalidUrl {
            url: self.place.name.clone(),
            why: failure::settings(&e),
        })?;
        let permits = Arc::new(Semaphore::new(self.settings.in_flight));
        let made = Connected { backend, permits };
        let before = connected.replace((std::process::id(), made.clone()));
        // The threads of a process that forked are not here to close its connections.
        std::mem::forget(before);
        Ok(made)
    }

    /// The path of a key in the bucket, not escaped.
    fn path(&self, key: &str) -> Result<Path, StoreError> {
        let whole = format!("{}{key}", self.place.prefix);
        let invalid = |why: String| StoreError::InvalidKey { key: key.to_owned(), why };
        let longest = self.place.facts.longest_key;
        if whole.len() > longest {
            let why = format!("with its prefix it has {} bytes of at most {longest}", whole.len());
            return Err(invalid(why));
        }
        Path::parse(&whole).map_err(|e| invalid(e.to_string()))
    }

    /// Whether the key is absent, and not the bucket.
    fn is_absence(&self, error: &object_store::Error) -> bool {
        let forbidden = matches!(error, object_store::Error::PermissionDenied { .. });
        failure::is_absence(error) || (forbidden && self.settings.forbidden_is_absent)
    }

    fn failure(
        &self,
        operation: &'static str,
        key: &str,
        error: &object_store::Error,
    ) -> StoreError {
        failure::failure(self.place.facts, operation, key, error)
    }
}

impl Store for ObjectStore {
    fn name(&self) -> String {
        self.0.place.name.clone()
    }
    fn readable(&self) -> Option<&dyn ReadableStore> {
        Some(self)
    }
    fn writeable(&self) -> Option<&dyn WriteableStore> {
        self.0.place.facts.writes.then_some(self as _)
    }
    fn listable(&self) -> Option<&dyn ListableStore> {
        self.0.place.facts.writes.then_some(self as _)
    }
    fn conditional(&self) -> Option<&dyn ConditionalStore> {
        self.0.place.facts.writes.then_some(self as _)
    }
    fn in_flight(&self) -> usize {
        self.0.settings.in_flight
    }
}

/// Opens a store by its URL, its settings taken from the environment.
pub(crate) fn open(url: &str, access: Access) -> Result<Arc<dyn store::Store>, StoreError> {
    Ok(ObjectStore::open(url, access, [("", ""); 0])?.into_blocking())
}

/// A key as the server has it.
fn key_of(prefix: &str, path: &Path) -> Option<Result<StoreKey, StoreError>> {
    path.as_ref().strip_prefix(prefix).map(StoreKey::new)
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;
    use zarr_core::testkit;

    use super::*;

    static FACTS: Facts = Facts {
        bucket: "bucket",
        suffixes: true,
        writes: true,
        redirects: false,
        erases_many: false,
        longest_key: 1024,
        one_request: 1 << 30,
        credentials: "",
    };

    fn store(prefix: &str, facts: &'static Facts) -> Arc<dyn Store> {
        let backend: Backend = Arc::new(InMemory::new());
        let place = Place {
            name: "test://bucket".into(),
            prefix: prefix.into(),
            facts,
            make: Box::new(move |_| Ok(backend.clone())),
        };
        let shared = Shared {
            place,
            access: Access::ReadWrite,
            settings: Settings::default(),
            counts: Arc::default(),
            without_ranges: AtomicBool::new(false),
            connected: Mutex::default(),
        };
        Arc::new(ObjectStore(Arc::new(shared)))
    }

    #[test]
    fn keeps_what_stores_promise() {
        static NO_SUFFIXES: Facts = Facts { suffixes: false, ..FACTS };
        testkit::check_async_store(|| store("", &FACTS));
        testkit::check_async_store(|| store("a prefix/é%20/", &NO_SUFFIXES));
    }

    /// A change is guarded by the condition of one request, so it cannot be larger.
    #[test]
    fn a_guarded_change_larger_than_one_request_is_refused() {
        static SMALL: Facts = Facts { one_request: 10, ..FACTS };
        let store: Arc<dyn store::Store> = Arc::new(Blocking::new(store("", &SMALL)));
        let key = StoreKey::new("k").expect("a good key");
        let conditional = store.conditional().expect("it compares and swaps");
        let set = |size: usize, was: Option<&store::Version>| {
            conditional.set_if(&key, Some(vec![7; size].into()), was)
        };
        assert!(set(10, None).expect("it is set"));
        let (_, version) =
            conditional.get_versioned(&key, u64::MAX).expect("it is read").expect("there");
        let error = set(11, Some(&version)).expect_err("it is too large").to_string();
        assert!(error.contains("it has 11 bytes") && error.contains("at most 10"), "{error}");
        let value = store.readable().expect("it can be read").get(&key).expect("it is read");
        assert_eq!(value.expect("it is there").len(), 10);
    }
}
