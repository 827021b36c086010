//! What may a caller choose?

use std::fmt;
use std::sync::Arc;

use crate::dialect::{Dialect, Strictness};
use crate::error::StoreError;
use crate::registry::{Access, Registry};
use crate::store::Store;

/// Whether writers of different parts of one chunk, or of one document, wait for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Guard {
    /// Nothing is lost: a part is laid over what is there now, and again if that changed meanwhile.
    #[default]
    On,
    /// The caller promises that nobody else writes the same chunks; saves a lock and a comparison.
    Off,
}

/// How arrays are read and written.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads that read, write and (de)compress chunks; 0 for as many as the machine has.
    pub threads: usize,
    /// Whether parts are guarded against other writers.
    pub guard: Guard,
    /// Whether chunks that hold nothing but the fill value are stored; else their keys are erased.
    pub keep_fill_chunks: bool,
    /// Whether shrinking an array keeps what was cut off inside edge chunks and outside the grid
    /// (D-180); else it is truly forgotten.
    pub keep_cut_off: bool,
    /// How closely documents are held to their specification.
    pub strictness: Strictness,
    /// A pool of the caller's own, in place of `threads`.
    #[cfg(feature = "rayon")]
    pub pool: Option<Arc<rayon::ThreadPool>>,
}

type Wrap = Arc<dyn Fn(Arc<dyn Store>) -> Arc<dyn Store> + Send + Sync>;

/// How a hierarchy is opened.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// What the handles may do.
    pub access: Access,
    /// The dialect, if the caller knows better than detection.
    pub dialect: Option<Dialect>,
    /// How arrays are read and written.
    pub options: Options,
    /// Names and what they make.
    pub registry: Arc<Registry>,
    wrap: Option<Wrap>,
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
    /// Read-only, every dialect, all threads, knowing what `registry` knows.
    pub fn new(registry: impl Into<Arc<Registry>>) -> Self {
        OpenOptions { registry: registry.into(), ..Self::default() }
    }

    /// Handles may write, too.
    #[must_use]
    pub fn read_write(mut self) -> Self {
        self.access = Access::ReadWrite;
        self
    }

    /// Takes the documents for this dialect's.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Lets the documents tell their dialect.
    #[must_use]
    pub fn any_dialect(mut self) -> Self {
        self.dialect = None;
        self
    }

    /// Refuses what only a tolerant reader takes.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.options.strictness = Strictness::Strict;
        self
    }

    /// Uses so many threads; 0 for as many as the machine has.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = threads;
        self
    }

    /// Turns the guard on or off.
    #[must_use]
    pub fn guard(mut self, guard: Guard) -> Self {
        self.options.guard = guard;
        self
    }

    /// Puts a store of the caller's around each store that is opened: to log, to count, to slow down.
    #[must_use]
    pub fn wrap(
        mut self,
        wrap: impl Fn(Arc<dyn Store>) -> Arc<dyn Store> + Send + Sync + 'static,
    ) -> Self {
        self.wrap = Some(Arc::new(wrap));
        self
    }

    /// The store that a URL names, wrapped.
    ///
    /// # Errors
    /// As [`Registry::open_store`].
    pub fn store(&self, url: &str) -> Result<Arc<dyn Store>, StoreError> {
        let store = self.registry.open_store(url, self.access)?;
        Ok(match &self.wrap {
            Some(wrap) => wrap(store),
            None => store,
        })
    }
}
