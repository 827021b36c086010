//! Finds what is wrong with a hierarchy: documents, keys, indices of shards, bytes of chunks.
//!
//! [`validate`] opens no node: it lists the store once, reads each document by its key (`documents`, `consolidated`), says
//! of each key what it is (`keys`), and looks into chunks (`chunks`, `shards`) on several threads (`pool`). So a root that
//! is broken or missing is a problem like any other.
//!
//! ```
//! use zarr_core::{OpenOptions, Registry};
//! use zarr_tools::validate::{Level, ValidateOptions, validate};
//!
//! # fn example(options: &OpenOptions) -> zarr_core::Result<()> {
//! let report = validate("data.zarr", "/", options, &ValidateOptions::new(Level::Data), &mut |problem| {
//!     println!("{} {:?}: {}: {}", problem.path, problem.key, problem.kind, problem.message);
//! })?;
//! assert!(report.is_sound());
//! # Ok(())
//! # }
//! ```

mod chunks;
mod clauses;
mod consolidated;
mod correct;
mod dimensions;
mod documents;
mod duplicates;
mod geo;
mod inventory;
mod keys;
pub(crate) mod leftovers;
mod names;
#[cfg(feature = "nczarr")]
mod netcdf;
mod ome;
mod parallel;
mod problem;
mod references;
mod shards;
mod tools;
mod tree;

use std::io::ErrorKind as IoErrorKind;
use std::sync::Arc;

use zarr_core::format::{Format, is_zarr_key};
use zarr_core::runtime::available_threads;
use zarr_core::store::{Store, SyncStore};
use zarr_core::{
    AccessError, Cause, Consolidated, Error, ErrorKind, Hierarchy, NodePath, OpenOptions, Result,
    StoreError,
};

use self::inventory::Inventory;
pub use self::problem::{Level, Problem, ProblemKind, Report, ValidateOptions, ValidateProgress};
pub use self::references::referenced_variables;

pub(crate) use self::tree::guessed as guessed_format;

/// What the steps of one validation share.
struct Context<'a> {
    store: Arc<dyn SyncStore>,
    format: Arc<dyn Format>,
    open: &'a OpenOptions,
    options: &'a ValidateOptions<'a>,
    path: NodePath,
    /// Whether calls to the store never wait for a network.
    is_local: bool,
    /// Whether the documents are made of a file of another format, as of netCDF: none is stored, and none can be corrected.
    is_made: bool,
    threads: usize,
}

impl Context<'_> {
    fn check_cancelled(&self) -> Result<()> {
        match &self.options.cancel {
            Some(cancel) if cancel.is_cancelled() => Err(AccessError::Cancelled.into()),
            _ => Ok(()),
        }
    }

    fn has(&self, level: Level) -> bool {
        self.options.level >= level
    }
}

/// Takes problems as they are found, and counts them.
struct Sink<'a> {
    found: &'a mut dyn FnMut(&Problem),
    report: Report,
    /// Whether Zarr cannot write what it checks, a file of another format.
    is_foreign: bool,
}

impl Sink<'_> {
    fn add(&mut self, problem: Problem) {
        let problem = if self.is_foreign && problem.remedy().contains("`zarr ") {
            problem.advise("Zarr only reads this file; correct it with the tools of its format")
        } else {
            problem
        };
        if problem.kind.is_note() {
            self.report.notes += 1;
        } else {
            self.report.problems += 1;
            self.report.unreadable += u64::from(problem.kind == ProblemKind::Unreadable);
        }
        (self.found)(&problem);
    }
}

/// Validates the node at `path`, and all below it, in what a path or URL names. Calls `found` with each problem and each
/// note as it is found, in an order that does not depend on threads.
///
/// # Errors
/// [`AccessError::NotFound`] if no Zarr data are there; whatever kept the store from being opened or listed;
/// [`AccessError::Cancelled`].
pub fn validate(
    url: &str,
    path: impl AsRef<str>,
    open: &OpenOptions,
    options: &ValidateOptions<'_>,
    found: &mut dyn FnMut(&Problem),
) -> Result<Report> {
    let open = &as_stored(open);
    let below = path.as_ref().trim_matches('/');
    match located(url, open) {
        Ok((hierarchy, base)) => {
            let path = if below.is_empty() { base } else { base.join(below)? };
            checked(hierarchy.store(), Ok(hierarchy.format().clone()), path, open, options, found)
        }
        Err(error) => match open.store(url) {
            Ok(store) => checked(&store, Err(error), NodePath::new(below)?, open, options, found),
            Err(unopened) => broken_store(&unopened, error, found),
        },
    }
}

/// An archive or a database that is damaged itself is a problem, the only one that can be found.
fn broken_store(
    unopened: &StoreError,
    error: Error,
    found: &mut dyn FnMut(&Problem),
) -> Result<Report> {
    let damage = [IoErrorKind::InvalidData, IoErrorKind::UnexpectedEof];
    match unopened {
        StoreError::Io { source, .. } if damage.contains(&source.kind()) => {
            let mut sink = Sink { found, report: Report::default(), is_foreign: false };
            let what = unopened.to_string();
            sink.add(Problem::new(&NodePath::root(), ProblemKind::Unreadable, what));
            Ok(sink.report)
        }
        _ => Err(error),
    }
}

/// As [`validate`], of a hierarchy that begins at the root of `store`.
///
/// # Errors
/// As [`validate`].
pub fn validate_store(
    store: &Arc<dyn Store>,
    path: impl AsRef<str>,
    open: &OpenOptions,
    options: &ValidateOptions<'_>,
    found: &mut dyn FnMut(&Problem),
) -> Result<Report> {
    let open = &as_stored(open);
    let path = NodePath::new(path.as_ref().trim_matches('/'))?;
    let opened =
        narrowed(open, |open| Ok((Hierarchy::open(store.clone(), open)?, NodePath::root())));
    let opened = opened.map(|(hierarchy, _)| hierarchy.format().clone());
    checked(store, opened, path, open, options, found)
}

/// The hierarchy that a URL names, and the node in it.
fn located(url: &str, open: &OpenOptions) -> Result<(Hierarchy, NodePath)> {
    narrowed(open, |open| Hierarchy::locate(url, open))
}

/// What `locate` finds, its characters in the encoding that netcdf-c wrote (N-081).
fn narrowed(
    open: &OpenOptions,
    locate: impl Fn(&OpenOptions) -> Result<(Hierarchy, NodePath)>,
) -> Result<(Hierarchy, NodePath)> {
    let (hierarchy, path) = locate(open)?;
    #[cfg(feature = "nczarr")]
    if let Ok(node) = hierarchy.node(&path)
        && let Some(open) = zarr_nczarr::narrow_characters(&node, open)
    {
        return locate(&open);
    }
    Ok((hierarchy, path))
}

/// Documents are read where they are stored, and none is refused before it is looked at.
fn as_stored(open: &OpenOptions) -> OpenOptions {
    let mut open = open.clone().consolidated(Consolidated::Ignore);
    open.options.strictness = zarr_core::Strictness::Tolerant;
    open
}

/// Validates what is in `store`, in the format as which it could be opened.
fn checked(
    store: &Arc<dyn Store>,
    opened: Result<Arc<dyn Format>>,
    path: NodePath,
    open: &OpenOptions,
    options: &ValidateOptions<'_>,
    found: &mut dyn FnMut(&Problem),
) -> Result<Report> {
    let capabilities = store.capabilities();
    let name = store.name();
    let of =
        |formats: &[&str]| formats.iter().any(|format| name.starts_with(&format!("{format}::")));
    let is_made = of(&["hdf5", "netcdf3", "n5"]);
    let is_foreign = !capabilities.write && (is_made || of(&["kerchunk", "icechunk"]));
    let mut sink = Sink { found, report: Report::default(), is_foreign };
    let sync = store.to_sync();
    let (format, listed, error) = match opened {
        Ok(format) => (format, None, None),
        Err(error) if !may_be_damage(&error) => return Err(error),
        // Only a listing can show that something is there all the same.
        Err(error) => match Inventory::listed(&*sync, None, &NodePath::root()) {
            Ok(listed) if listed.keys.iter().any(is_zarr_key) || !listed.unreadable.is_empty() => {
                (tree::guessed(&listed.keys), Some(listed), Some(error))
            }
            _ => return Err(error),
        },
    };
    let threads = match (open.options.threads, capabilities.local) {
        (0, true) => available_threads(0),
        (0, false) => capabilities.in_flight.clamp(1, 64),
        (given, _) => given,
    };
    let is_local = capabilities.local;
    let context = Context { store: sync, format, open, options, path, is_local, is_made, threads };
    let mut inventory = match listed {
        Some(listed) => listed.below(&*context.format, &context.path)?,
        None => Inventory::of(&context, capabilities.list || capabilities.lists_some, &mut sink)?,
    };
    sink.report.keys = inventory.keys.len() as u64;
    for (prefix, why) in &inventory.unreadable {
        let folder = NodePath::new(prefix.as_str().trim_matches('/'));
        let is_path = context.format.tree_prefix().is_none();
        let path = folder.ok().filter(|_| is_path).unwrap_or_else(|| context.path.clone());
        let what = format!("{why}; what is below it is not checked");
        sink.add(Problem::new(&path, ProblemKind::Unreadable, what).at(prefix));
    }
    let tools = tools::take(&context, &mut inventory, &mut sink);
    if let Some(error) = error.filter(|_| !tools.is_target(&NodePath::root())) {
        tree::report_root(&context, &inventory, &error, &mut sink);
    }
    let mut tree = documents::check(&context, &inventory, &mut sink)?;
    let consolidated = consolidated::read(&context, &inventory, &tree)?;
    let erased = consolidated::erased(&context, &inventory, &consolidated);
    documents::relations(&context, &tools, &erased, &mut tree, &mut sink);
    let is_empty = tools.is_empty()
        && inventory.unreadable.is_empty()
        && !inventory.keys.iter().any(is_zarr_key);
    if tree.nodes.is_empty() && is_empty {
        return Err(nothing().at_store(store.name()).at_path(&context.path));
    }
    if !inventory.is_listed && context.has(Level::Keys) {
        inventory.ask_for_chunks(&context, &tree, &mut sink)?;
    }
    names::check(&context, &inventory, &tree, &mut sink);
    references::check(&context, &inventory, &tree, &mut sink);
    dimensions::check(&tree, &mut sink);
    ome::check(context.format.dialect(), &tree, &mut sink);
    geo::check(&tree, &mut sink);
    let copied = consolidated::check(&context, &tree, consolidated, &mut sink)?;
    #[cfg(feature = "nczarr")]
    netcdf::check(&context, store, &tree, &mut sink);
    if context.has(Level::Keys) {
        if !options.skip_leftovers {
            let prefix = context.format.children_prefix(&context.path)?;
            let is_apart = context.format.tree_prefix().is_some();
            let prefix = if is_apart { "" } else { prefix.as_str() };
            let left = leftovers::find(&store.name(), prefix, &context.path);
            left.into_iter().for_each(|problem| sink.add(problem));
        }
        duplicates::check(&context, &inventory, &tree, &mut sink);
        let known = (&erased, &copied);
        let stored = keys::check(&context, (&inventory, &tree), &tools, known, &mut sink);
        chunks::check(&context, &inventory, &tree, &stored, &mut sink)?;
    }
    Ok(sink.report)
}

/// Whether an error of opening may come from damaged or missing documents.
fn may_be_damage(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::InvalidMetadata | ErrorKind::CorruptData => true,
        ErrorKind::Unsupported | ErrorKind::Limit => matches!(error.cause(), Cause::Metadata(_)),
        ErrorKind::Store => error.key().is_some_and(is_zarr_key) || names_document(error),
        _ => false,
    }
}

/// Whether a store failed on a document, such as an entry of an archive with a wrong checksum.
fn names_document(error: &Error) -> bool {
    match error.cause() {
        Cause::Store(zarr_core::StoreError::Io { operation, key, .. }) => {
            let key = zarr_core::store::StoreKey::new(key.as_str());
            ["get", "open"].contains(operation) && key.is_ok_and(|key| is_zarr_key(&key))
        }
        _ => false,
    }
}

fn nothing() -> Error {
    let looked_for = "`zarr.json`, `.zarray`, `.zgroup`, chunks".into();
    AccessError::NotFound { looked_for }.into()
}
