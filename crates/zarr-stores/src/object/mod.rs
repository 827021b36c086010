//! Keeps keys and values in the buckets of S3, Google Cloud Storage and Azure, and reads them from web servers.
//!
//! One store for all of them, over the crate `object_store`, which signs, sends and parses. This module decides which requests
//! are sent when, how many at a time, and what an answer means. `docs/stores/` has a page for each.

mod answer;
mod attached;
#[cfg(feature = "azure")]
pub(crate) mod azure;
mod connector;
#[cfg(feature = "s3")]
mod credential_process;
mod failure;
#[cfg(feature = "gcs")]
pub(crate) mod gcs;
#[cfg(feature = "http")]
pub(crate) mod http;
#[cfg(feature = "http")]
mod index;
mod limiter;
mod list;
mod pages;
#[cfg(feature = "s3")]
mod profile;
mod read;
mod redirect;
#[cfg(feature = "s3")]
mod region;
mod runtime;
#[cfg(feature = "s3")]
pub(crate) mod s3;
mod service;
mod settings;
mod snapshot;
mod transport;
mod write;

use std::fmt;
use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use object_store::path::Path;
use zarr_core::store::abandoned::{self, AffectedKeys};
use zarr_core::store::{
    Capabilities, GetOptions, Got, ListOptions, Listing, Payload, Precondition, Result, Snapshot,
    SnapshotOptions, Store, StoreKey, StorePrefix, check_size,
};
use zarr_core::{Access, StoreError, sync};

use self::attached::Attached;
use self::connector::{Connector, Counts};
use self::limiter::Limiter;
use self::runtime::Task;
use self::service::{Backend, Location, ServiceInfo};
pub(crate) use self::settings::Settings;
pub use self::settings::web_server;
use self::snapshot::ObjectSnapshot;

/// A bucket of S3, Google Cloud Storage or Azure, below a prefix; or a folder of a web server.
///
/// Its requests are made on threads of the store, so that it works in any runtime and without one.
///
/// ```no_run
/// use zarr_core::Access;
/// use zarr_stores::ObjectStore;
///
/// # fn main() -> Result<(), zarr_core::StoreError> {
/// let options = [("region", "eu-central-1"), ("skip_signature", "true"), ("in_flight", "128")];
/// let store = ObjectStore::open("s3://bucket/data.zarr", Access::ReadOnly, options)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ObjectStore(Arc<Shared>);

struct Shared {
    location: Location,
    access: Access,
    settings: Settings,
    /// What goes with each request to a web server.
    attached: Attached,
    counts: Arc<Counts>,
    /// Whether the server sent a whole value where a part was requested.
    without_ranges: AtomicBool,
    /// The connections of one process.
    connected: Mutex<Option<(u32, Connected)>>,
}

#[derive(Clone)]
struct Connected {
    backend: Backend,
    limiter: Arc<Limiter>,
    #[cfg(feature = "http")]
    index_client: index::IndexClient,
}

/// The store and its connections, for the time of one request.
struct Session {
    shared: Arc<Shared>,
    backend: Backend,
    limiter: Arc<Limiter>,
    #[cfg(feature = "http")]
    index_client: index::IndexClient,
}

impl Deref for Session {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

/// The requests of a store so far.
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
        f.debug_tuple("ObjectStore").field(&self.0.location.name).finish()
    }
}

impl ObjectStore {
    /// The store that a URL names: `s3://`, `s3a://`, `gs://`, `gcs://`, `az://`, `azure://`, `adl://`, `abfs://`,
    /// `abfss://`, `http://` or `https://`, the latter also for what S3 and Azure serve under such names. Nothing is
    /// asked of a server yet.
    ///
    /// Options are those of `object_store`'s builders, by the names that environment variables have (`aws_region` or
    /// `region`, `azure_storage_account_name`, `google_service_account` …), and come before those; and
    /// `in_flight` (requests at a time at most, 256), `read_timeout` (seconds without a byte, 30), `max_retries` (10),
    /// `retry_timeout` (seconds, 180), `max_listed` (bytes of keys in one listing, 4 GiB) and `forbidden_is_absent` (`true` for a bucket that lists nothing to its readers
    /// and therefore answers 403 for absent keys).
    ///
    /// Those of web servers are `header.NAME`, one for each header that goes with every request, such as `header.x-api-key`, and
    /// `bearer_token`. Headers, and the query of the URL, are sent to the scheme, host and port of the URL and nowhere else, and
    /// are never printed. [`zarr_core::OpenOptions::server_option`] gives options to the stores of one server only.
    ///
    /// # Errors
    /// [`StoreError::InvalidUrl`] for another URL, an option that is not known, credentials that cannot be used,
    /// and a store that this build left out.
    pub fn open<K: AsRef<str>, V: Into<String>>(
        url: &str,
        access: Access,
        options: impl IntoIterator<Item = (K, V)>,
    ) -> Result<ObjectStore> {
        let mut settings = Settings::from_options(url, options)?;
        let location = settings::location(url)?;
        let attached = location.attached(url, &mut settings)?;
        let shared = Shared {
            location,
            access,
            settings,
            attached,
            counts: Arc::default(),
            without_ranges: AtomicBool::new(false),
            connected: Mutex::default(),
        };
        let store = ObjectStore(Arc::new(shared));
        // Wrong settings are reported now.
        store.0.connected()?;
        Ok(store)
    }

    /// The store as the library takes it.
    pub fn into_store(self) -> Arc<dyn Store> {
        Arc::new(self)
    }

    /// Its requests so far.
    pub fn traffic(&self) -> Traffic {
        let counts = &self.0.counts;
        Traffic {
            requests: counts.requests.load(Ordering::Relaxed),
            received: counts.received.load(Ordering::Relaxed),
            wasted: counts.wasted.load(Ordering::Relaxed),
        }
    }

    /// Makes a request on a thread for requests, as soon as fewer than the limit are in flight, and after the changes of
    /// dropped calls. If the caller drops the future, the request ends.
    async fn spawn_request<T, F>(
        &self,
        request: impl FnOnce(Session) -> F + Send + 'static,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send,
    {
        abandoned::wait_for(|| self.0.location.name.clone(), &StorePrefix::root()).await;
        let session = self.session()?;
        let task = Task::start(async move {
            let _place = session.limiter.place().await;
            request(session).await
        });
        task?.done().await?
    }

    /// As [`ObjectStore::spawn_request`], for a request that changes keys. If the caller drops the future, a change that has
    /// not begun is not made. One that has begun may have reached the server already: it is finished, and later calls on
    /// these keys wait for it (docs/internals/design/crash-safety.md).
    async fn spawn_change<T, F>(
        &self,
        touched: impl Into<AffectedKeys>,
        change: impl FnOnce(Session) -> F + Send + 'static,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send,
    {
        let touched = touched.into();
        abandoned::wait_for(|| self.0.location.name.clone(), touched.clone()).await;
        let session = self.session()?;
        let (caller, worker) = abandoned::change(|| self.0.location.name.clone(), touched);
        let task = Task::start(async move {
            let _place = session.limiter.place().await;
            let _running = worker.begin()?;
            Some(change(session).await)
        });
        let done = task?.finishing().await?;
        drop(caller);
        done.unwrap_or_else(|| Err(StoreError::Backend("a request was given up".into())))
    }

    fn session(&self) -> Result<Session> {
        let connected = self.0.connected()?;
        Ok(Session {
            shared: self.0.clone(),
            backend: connected.backend,
            limiter: connected.limiter,
            #[cfg(feature = "http")]
            index_client: connected.index_client,
        })
    }

    fn check_writes(&self) -> Result<()> {
        if !self.0.location.service.writes {
            return Err(StoreError::not_capable("write", "writeable"));
        }
        match self.0.access {
            Access::ReadOnly => Err(StoreError::ReadOnly),
            Access::ReadWrite => Ok(()),
        }
    }

    /// Lists everything below a prefix by the indices that a web server gives. Each request takes a place of its own.
    #[cfg(feature = "http")]
    async fn list_below_by_index(&self, prefix: StorePrefix) -> Result<Listing> {
        let session = self.session()?;
        Task::start(async move { session.list_below_by_index(&prefix).await })?.done().await?
    }

    /// Lists one folder by the index that a web server gives.
    #[cfg(feature = "http")]
    async fn list_dir_by_index(&self, prefix: StorePrefix) -> Result<Listing> {
        let session = self.session()?;
        Task::start(async move { session.list_dir_by_index(&prefix).await })?.done().await?
    }
}

impl Shared {
    /// The connections of this process.
    fn connected(&self) -> Result<Connected> {
        let mut connected = sync::lock(&self.connected);
        if let Some((process, connected)) = &*connected
            && *process == std::process::id()
        {
            return Ok(connected.clone());
        }
        let limiter = Arc::new(Limiter::new(self.settings.in_flight, self.counts.clone()));
        let connector = Connector {
            limiter: limiter.clone(),
            max_listed: self.settings.max_listed,
            stall: self.settings.read_timeout,
            counts: self.counts.clone(),
            redirects: self.location.service.redirects,
            attached: self.attached.clone(),
        };
        #[cfg(feature = "http")]
        let index_client = index::IndexClient::new(connector.clone());
        let backend = (self.location.connect)(&self.settings, connector)
            .map_err(|e| StoreError::invalid_url(&self.location.name, failure::settings(&e)))?;
        let made = Connected {
            backend,
            limiter,
            #[cfg(feature = "http")]
            index_client,
        };
        let before = connected.replace((std::process::id(), made.clone()));
        // The threads of a process that forked are not here to close its connections.
        std::mem::forget(before);
        Ok(made)
    }

    /// The path of a key in the bucket, not escaped.
    fn path(&self, key: &str) -> Result<Path> {
        let whole = format!("{}{key}", self.location.prefix);
        let invalid = |why: String| StoreError::InvalidKey { key: key.to_owned(), why };
        let longest = self.location.service.longest_key;
        if whole.len() > longest {
            let why = format!(
                "with its prefix it has {} bytes, more than the limit of {longest}",
                whole.len()
            );
            return Err(invalid(why));
        }
        Path::parse(&whole).map_err(|e| invalid(e.to_string()))
    }

    /// Whether the key is absent; false if the bucket is.
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
        failure::failure(self.location.service, operation, key, error)
    }
}

#[async_trait]
impl Store for ObjectStore {
    fn name(&self) -> String {
        self.0.location.name.clone()
    }

    fn capabilities(&self) -> Capabilities {
        let writes = self.0.location.service.writes;
        let in_flight = self.0.settings.in_flight;
        let all = Capabilities { swap_erase: false, in_flight, ..Capabilities::FULL };
        if writes { all } else { Capabilities { list: false, lists_some: true, ..all.read_only() } }
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.0.settings.public.clone()
    }

    async fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        let (owned, limit) = (key.clone(), how.limit);
        let fetched = self
            .spawn_request(
                move |session: Session| async move { session.whole(&owned, limit).await },
            )
            .await?;
        let Some(fetched) = fetched else { return Ok(None) };
        let version = match fetched.meta.version() {
            None if how.version => {
                let why = io::Error::other("the server does not tell its version");
                return Err(StoreError::io("guard", key)(why));
            }
            version => version.filter(|_| how.version),
        };
        how.answer(key, fetched.bytes, version)
    }

    /// The first reading checks the expected version.
    async fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn Snapshot>>> {
        if how.for_update {
            return Ok(how.in_memory(key, self.get(key, how.to_get()).await?));
        }
        let ranges = !self.0.without_ranges.load(Ordering::Relaxed);
        if let Some(version) = how.expect.filter(|_| ranges) {
            return Ok(Some(Box::new(ObjectSnapshot::expected(self, key, version))));
        }
        let opened = ObjectSnapshot::open(self, key, how.first).await?;
        // From a server without ranges one request brings what all readings need.
        let expected = opened.filter(|value| {
            how.expect.is_none_or(|version| value.version().as_ref() == Some(version))
        });
        let Some(value) = expected else { return Ok(None) };
        check_size(key, value.size(), how.limit)?;
        Ok(Some(Box::new(value)))
    }

    async fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool> {
        self.check_writes()?;
        let owned = key.clone();
        let Some(value) = value else {
            return match only_if {
                Precondition::Always | Precondition::Unchecked => self
                    .spawn_change(
                        key,
                        |session: Session| async move { session.erase(&owned).await },
                    )
                    .await
                    .map(|()| true),
                // Nothing is to be erased, so no condition is needed.
                Precondition::Absent => Ok(self.get(key, GetOptions::default()).await?.is_none()),
                Precondition::Version(_) => {
                    Err(StoreError::not_capable("erase", "able to erase only what is unchanged"))
                }
            };
        };
        let (mode, value) = (write::mode(key, only_if)?, value.into_bytes()?);
        self.spawn_change(key, |session: Session| async move {
            match mode {
                Some(mode) => session.set_if(&owned, value, mode).await,
                None => session.set(&owned, value).await.map(|()| true),
            }
        })
        .await
    }

    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<()> {
        self.check_writes()?;
        let owned = prefix.clone();
        self.spawn_change(
            prefix,
            |session: Session| async move { session.erase_prefix(&owned).await },
        )
        .await
    }

    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        let prefix = prefix.clone();
        // The only service that is not written to is HTTP, whose servers list by pages.
        #[cfg(feature = "http")]
        if !self.0.location.service.writes {
            return self.list_below_by_index(prefix).await;
        }
        self.spawn_request(|session| async move { session.list_below(&prefix).await }).await
    }

    async fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing> {
        let prefix = prefix.clone();
        // The only service that is not written to is HTTP, whose servers list by pages.
        #[cfg(feature = "http")]
        if !self.0.location.service.writes {
            return self.list_dir_by_index(prefix).await;
        }
        self.spawn_request(move |session| async move { session.list_dir(&prefix, how).await }).await
    }
}

/// Opens a store by its URL, with these settings and those of the environment.
pub(crate) fn open(
    url: &str,
    access: Access,
    options: &[(String, String)],
) -> Result<Arc<dyn Store>> {
    let options = options.iter().map(|(name, value)| (name, value));
    Ok(Arc::new(ObjectStore::open(url, access, options)?))
}

#[cfg(test)]
mod tests {
    use futures::stream::BoxStream;
    use object_store::memory::InMemory;
    use object_store::{
        CopyOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, PutMultipartOptions,
        PutOptions, PutPayload, PutResult,
    };
    use zarr_core::store::Version;

    use super::answer::{Answer, Failed};
    use super::connector::Unsure;
    use super::*;

    static SERVICE: ServiceInfo = ServiceInfo {
        bucket: "bucket",
        suffixes: true,
        writes: true,
        redirects: false,
        erases_many: false,
        longest_key: 1024,
        one_request: 1 << 30,
        credentials: "",
    };

    fn store(prefix: &str, service: &'static ServiceInfo) -> Arc<dyn Store> {
        store_in(Arc::new(InMemory::new()), prefix, service)
    }

    fn store_in(backend: Backend, prefix: &str, service: &'static ServiceInfo) -> Arc<dyn Store> {
        let connect = move |_: &Settings, _| Ok(backend.clone());
        let shared = Shared {
            location: Location::new("test://bucket", prefix.into(), service, connect),
            access: Access::ReadWrite,
            settings: Settings::default(),
            attached: Attached::default(),
            counts: Arc::default(),
            without_ranges: AtomicBool::new(false),
            connected: Mutex::default(),
        };
        Arc::new(ObjectStore(Arc::new(shared)))
    }

    #[test]
    fn keeps_what_stores_promise() {
        static NO_SUFFIXES: ServiceInfo = ServiceInfo { suffixes: false, ..SERVICE };
        zarr_testkit::check_store(|| store("", &SERVICE));
        zarr_testkit::check_store(|| store("a prefix/é%20/", &NO_SUFFIXES));
    }

    /// Who set the value that a refused request finds.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum SetBy {
        Itself,
        Another,
        /// The server keeps no metadata.
        Unknown,
    }

    /// The first conditional request sets the value, and then fails as it is told.
    #[derive(Debug)]
    struct Interrupted {
        values: InMemory,
        is_unsure: bool,
        set_by: SetBy,
        requests: AtomicBool,
    }

    impl fmt::Display for Interrupted {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Interrupted")
        }
    }

    #[async_trait]
    impl object_store::ObjectStore for Interrupted {
        async fn put_opts(
            &self,
            path: &Path,
            value: PutPayload,
            options: PutOptions,
        ) -> object_store::Result<PutResult> {
            answer::remember(None);
            if self.requests.swap(true, Ordering::Relaxed) {
                return self.values.put_opts(path, value, options).await;
            }
            let mut attributes = options.attributes.clone();
            match self.set_by {
                SetBy::Itself => assert!(attributes.get(&write::WRITER).is_some()),
                SetBy::Another => drop(attributes.insert(write::WRITER, "another".into())),
                SetBy::Unknown => attributes = Default::default(),
            }
            let kept = PutOptions { attributes, ..PutOptions::default() };
            self.values.put_opts(path, value, kept).await?;
            let unsure = options.extensions.get::<Unsure>().expect("a conditional request");
            unsure.0.store(self.is_unsure, Ordering::Relaxed);
            let code = Some("ConditionalRequestConflict".to_owned());
            let answer = Some(Answer { status: 409, code, ..Answer::default() });
            answer::remember(Some(Failed { answer, for_credentials: false }));
            let (path, source) = (path.to_string(), "conflict".into());
            Err(object_store::Error::AlreadyExists { path, source })
        }
        async fn put_multipart_opts(
            &self,
            path: &Path,
            options: PutMultipartOptions,
        ) -> object_store::Result<Box<dyn MultipartUpload>> {
            self.values.put_multipart_opts(path, options).await
        }
        async fn get_opts(
            &self,
            path: &Path,
            options: object_store::GetOptions,
        ) -> object_store::Result<GetResult> {
            self.values.get_opts(path, options).await
        }
        fn delete_stream(
            &self,
            paths: BoxStream<'static, object_store::Result<Path>>,
        ) -> BoxStream<'static, object_store::Result<Path>> {
            self.values.delete_stream(paths)
        }
        fn list(
            &self,
            prefix: Option<&Path>,
        ) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
            self.values.list(prefix)
        }
        async fn list_with_delimiter(
            &self,
            prefix: Option<&Path>,
        ) -> object_store::Result<ListResult> {
            self.values.list_with_delimiter(prefix).await
        }
        async fn copy_opts(
            &self,
            from: &Path,
            to: &Path,
            options: CopyOptions,
        ) -> object_store::Result<()> {
            self.values.copy_opts(from, to, options).await
        }
    }

    /// A server that refuses two requests because they arrived together kept neither, so that an equal value
    /// is another writer's. Only after a request without an answer may it be the writer's own, and then its metadata tell.
    #[test]
    fn an_equal_value_is_ones_own_only_if_the_own_request_set_it() {
        for (is_unsure, set_by, is_own) in [
            (false, SetBy::Another, false),
            (false, SetBy::Unknown, false),
            (true, SetBy::Another, false),
            (true, SetBy::Itself, true),
            (true, SetBy::Unknown, true),
        ] {
            let requests = AtomicBool::new(false);
            let backend = Interrupted { values: InMemory::new(), is_unsure, set_by, requests };
            let store = store_in(Arc::new(backend), "", &SERVICE).to_sync();
            let key = StoreKey::new("k").expect("a good key");
            let set = store.put(&key, Some(b"5".as_slice().into()), Precondition::Absent);
            assert_eq!(set.expect("it is answered"), is_own, "{is_unsure} {set_by:?}");
        }
    }

    /// A change is guarded by the condition of one request, so it cannot be larger.
    #[test]
    fn a_guarded_change_larger_than_one_request_is_refused() {
        static SMALL: ServiceInfo = ServiceInfo { one_request: 10, ..SERVICE };
        let store = store("", &SMALL).to_sync();
        let key = StoreKey::new("k").expect("a good key");
        let set = |size: usize, was: Option<&Version>| {
            store.put(&key, Some(vec![7; size].into()), Precondition::unchanged(was))
        };
        assert!(set(10, None).expect("it is set"));
        let got = store.get(&key, GetOptions::versioned()).expect("it is read").expect("there");
        let version = got.version.expect("a version");
        let error = set(11, Some(&version)).expect_err("it is too large").to_string();
        assert!(error.contains("it has 11 bytes") && error.contains("at most 10"), "{error}");
        let value = store.value(&key).expect("it is read");
        assert_eq!(value.expect("it is there").len(), 10);
    }
}
