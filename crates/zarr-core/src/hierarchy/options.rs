//! The options of opening and creating.

use std::fmt;
use std::sync::Arc;

use crate::dialect::{Dialect, Era, Strictness};
use crate::error::StoreError;
use crate::format::{Draft, Format, of_dialect};
use crate::limits::Limits;
use crate::options::{Guard, MissingChunks, Options};
use crate::registry::{Access, Registry, ServerOption};
use crate::store::{Store, StoreKey};
use crate::web_address::web_server;

/// Whether readers read documents from their consolidated copies (draft-v3.md 3.4, Z2-070, F-014).
///
/// Copies may be out of date where other programs write: few refresh them. Writers never read a document from its copy. If
/// a hierarchy has copies, they change a document and its copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Consolidated {
    /// If v2 or v3 has copies. Broken ones give a warning, and are not used. Those of a draft are not looked for.
    #[default]
    IfFound,
    /// Never, but a warning names each node that is read and whose copy differs.
    Check,
    /// Never.
    Ignore,
    /// Always; they must be at the key where writers of the format put them.
    Use,
    /// Always; they must be at this key.
    At(StoreKey),
}

type Wrap = Arc<dyn Fn(Arc<dyn Store>) -> Arc<dyn Store> + Send + Sync>;
type WrapFormat = Arc<dyn Fn(Arc<dyn Format>) -> Arc<dyn Format> + Send + Sync>;

/// How a hierarchy is opened.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// What the handles may do.
    pub access: Access,
    /// The dialect; `None` to detect it.
    pub dialect: Option<Dialect>,
    /// Which of the drafts; `None` to detect it.
    pub era: Option<Era>,
    /// Whether writers follow the text of a draft where it differs from what zarr-python 2.18 opens; see
    /// [`crate::format::Draft::plain_text`].
    pub plain_draft: bool,
    /// Whether documents are read from consolidated copies.
    pub consolidated: Consolidated,
    /// How arrays are read and written.
    pub options: Options,
    /// The data types, codecs and stores that are known.
    pub registry: Arc<Registry>,
    /// For the store: names and values, which may be secret.
    store_options: Vec<(String, String)>,
    server_options: Vec<ServerOption>,
    wrap: Option<Wrap>,
    wrap_format: Option<WrapFormat>,
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenOptions")
            .field("access", &self.access)
            .field("dialect", &self.dialect)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl OpenOptions {
    /// Read-only, every dialect, all threads, with this registry.
    pub fn new(registry: impl Into<Arc<Registry>>) -> Self {
        OpenOptions { registry: registry.into(), ..Self::default() }
    }

    /// Handles may write, too.
    #[must_use]
    pub fn read_write(mut self) -> OpenOptions {
        self.access = Access::ReadWrite;
        self
    }

    /// Handles may not write.
    #[must_use]
    pub fn read_only(mut self) -> OpenOptions {
        self.access = Access::ReadOnly;
        self
    }

    /// Reads the documents as this dialect's.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> OpenOptions {
        self.dialect = Some(dialect);
        self
    }

    /// Detects the dialect.
    #[must_use]
    pub fn any_dialect(mut self) -> OpenOptions {
        self.dialect = None;
        self.era = None;
        self
    }

    /// Reads the documents as this draft's.
    #[must_use]
    pub fn era(mut self, era: Era) -> OpenOptions {
        self.dialect = Some(Dialect::Draft);
        self.era = Some(era);
        self
    }

    /// Writes drafts according to their text, whether or not zarr-python 2.18 opens that.
    #[must_use]
    pub fn plain_draft(mut self) -> OpenOptions {
        self.plain_draft = true;
        self
    }

    /// The format in which a dialect is written.
    pub fn format(&self, dialect: Dialect) -> Arc<dyn Format> {
        match (dialect, self.plain_draft) {
            (Dialect::Draft, true) => Arc::new(Draft::new().plain_text()),
            _ => of_dialect(dialect),
        }
    }

    /// Sets whether documents are read from consolidated copies. Requiring those is for reading only.
    #[must_use]
    pub fn consolidated(mut self, consolidated: Consolidated) -> OpenOptions {
        self.consolidated = consolidated;
        self
    }

    /// Refuses what only a tolerant reader accepts.
    #[must_use]
    pub fn strict(mut self) -> OpenOptions {
        self.options.strictness = Strictness::Strict;
        self
    }

    /// Uses this number of threads; 0 for as many as the machine has.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> OpenOptions {
        self.options.threads = threads;
        self
    }

    /// Limits the memory that documents and chunks may need.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> OpenOptions {
        self.options.limits = limits;
        self
    }

    /// Keeps decoded chunks, of at most this many bytes, for all handles of the hierarchy: see [`Options::chunk_cache`].
    #[must_use]
    pub fn chunk_cache(mut self, bytes: u64) -> OpenOptions {
        self.options.chunk_cache = bytes;
        self
    }

    /// Reads this number of rows of chunks ahead, into the cache of decoded chunks: see [`Options::read_ahead`].
    #[must_use]
    pub fn read_ahead(mut self, rows: usize) -> OpenOptions {
        self.options.read_ahead = rows;
        self
    }

    /// Sets what a read does where a chunk is not stored: see [`MissingChunks`].
    ///
    /// ```
    /// use zarr_core::{MissingChunks, OpenOptions};
    ///
    /// let options = OpenOptions::default().missing(MissingChunks::Error);
    /// assert_eq!(options.options.missing, MissingChunks::Error);
    /// ```
    #[must_use]
    pub fn missing(mut self, missing: MissingChunks) -> OpenOptions {
        self.options.missing = missing;
        self
    }

    /// Turns the guard on or off.
    #[must_use]
    pub fn guard(mut self, guard: Guard) -> OpenOptions {
        self.options.guard = guard;
        self
    }

    /// Sets an option of the store that is opened, such as `region` or `endpoint` of an object store; the page of the
    /// store lists them. A later value for the same name replaces an earlier one. Values are never printed.
    ///
    /// ```
    /// # use zarr_core::OpenOptions;
    /// let options = OpenOptions::default().store_option("region", "eu-central-1");
    /// assert!(!format!("{options:?}").contains("eu-central-1"));
    /// ```
    #[must_use]
    pub fn store_option(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> OpenOptions {
        let name = name.into();
        self.store_options.retain(|(known, _)| *known != name);
        self.store_options.push((name, value.into()));
        self
    }

    /// As [`OpenOptions::store_option`], for the stores of one web server: those whose URLs have the scheme, the host and the
    /// port of `server`, such as `https://data.example`. It replaces what all stores are given by that name.
    ///
    /// ```
    /// # use zarr_core::OpenOptions;
    /// let token = "the secret";
    /// let options =
    ///     OpenOptions::default().server_option("https://data.example", "bearer_token", token);
    /// assert!(!format!("{options:?}").contains(token));
    /// ```
    #[must_use]
    pub fn server_option(
        mut self,
        server: &str,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> OpenOptions {
        // What is no address is that of no store.
        let server = web_server(server).unwrap_or_default();
        let name = name.into();
        let value = value.into();
        self.server_options.retain(|known| known.server != server || known.name != name);
        self.server_options.push(ServerOption { server, name, value });
        self
    }

    /// Wraps each store that is opened: to log, to count, to delay.
    #[must_use]
    pub fn wrap(
        mut self,
        wrap: impl Fn(Arc<dyn Store>) -> Arc<dyn Store> + Send + Sync + 'static,
    ) -> OpenOptions {
        self.wrap = Some(Arc::new(wrap));
        self
    }

    /// Wraps the format that is detected, for a profile that keeps its own members in the documents of v2 and v3.
    #[must_use]
    pub fn wrap_format(
        mut self,
        wrap: impl Fn(Arc<dyn Format>) -> Arc<dyn Format> + Send + Sync + 'static,
    ) -> OpenOptions {
        self.wrap_format = Some(Arc::new(wrap));
        self
    }

    /// A format that was detected, wrapped.
    pub(crate) fn wrapped(&self, format: Arc<dyn Format>) -> Arc<dyn Format> {
        match &self.wrap_format {
            Some(wrap) => wrap(format),
            None => format,
        }
    }

    /// The store that a URL names, wrapped.
    ///
    /// # Errors
    /// As [`Registry::open_store`].
    pub fn store(&self, url: &str) -> Result<Arc<dyn Store>, StoreError> {
        let store = if self.store_options.is_empty() && self.server_options.is_empty() {
            self.registry.open_store(url, self.access)?
        } else {
            let registry =
                self.registry.with_store_options(&self.store_options, &self.server_options);
            registry.open_store(url, self.access)?
        };
        Ok(match &self.wrap {
            Some(wrap) => wrap(store),
            None => store,
        })
    }
}
