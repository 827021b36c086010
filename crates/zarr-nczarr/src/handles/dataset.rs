//! Opens a dataset, and holds what its handle knows.

use std::sync::{Arc, Mutex, OnceLock, RwLock};

use zarr_core::GroupMetadata;
use zarr_core::store::Store;
use zarr_core::sync;
use zarr_core::{
    AccessError, Dialect, Error, ErrorKind, Hierarchy, Node, NodePath, OpenOptions, Result, Warning,
};

use crate::documents::inline;
use crate::documents::load::{Loader, Snapshot, is_narrow_u1, old_documents};
use crate::documents::node_documents::Sources;
use crate::handles::group::Group;
use crate::handles::variable::Variable;
use crate::model::name::{is_same, normal};
use crate::model::options::{Conventions, DatasetOptions, Profile};
use crate::model::schema;

/// How often documents are read again beside threads that change some, before those wait.
const READINGS: u32 = 3;

/// A dataset: groups of dimensions, variables and attributes in a store.
///
/// A handle is cheap to clone and free to go to other threads; all handles of one dataset share what they
/// know. What it says is as it was when it was opened, or last changed through one of its handles;
/// [`Dataset::refresh`] looks again.
#[derive(Clone, Debug)]
pub struct Dataset {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    /// The node that is the root group.
    pub base: NodePath,
    pub options: DatasetOptions,
    pub conventions: Conventions,
    state: RwLock<Arc<Snapshot>>,
    /// Held while definitions are changed, so that no change of this process is overlooked.
    changing: Mutex<()>,
}

impl Dataset {
    /// The dataset at a store's root.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] if nothing of Zarr is there; for documents that are broken.
    pub fn open(store: Arc<dyn Store>, options: &DatasetOptions) -> Result<Dataset> {
        match Self::open_plainly(store.clone(), options) {
            Err(e) if may_be_inline(&e) => {
                match inline::store(&store, &options.zarr.options.limits)? {
                    Some(store) => Self::open_plainly(store, options),
                    None => Err(e),
                }
            }
            other => other,
        }
    }

    fn open_plainly(store: Arc<dyn Store>, options: &DatasetOptions) -> Result<Dataset> {
        let conventions = Arc::default();
        let hierarchy = Hierarchy::open(store, &options.hierarchy(&conventions))?;
        Self::of(hierarchy, NodePath::root(), options, &conventions)
    }

    /// The dataset at a path or URL of a store, or of a group inside a hierarchy.
    ///
    /// # Errors
    /// As [`Dataset::open`].
    pub fn locate(url: &str, options: &DatasetOptions) -> Result<Dataset> {
        let conventions = Arc::default();
        let located = Hierarchy::locate(url, &options.hierarchy(&conventions));
        match located.and_then(|(hierarchy, base)| Self::of(hierarchy, base, options, &conventions))
        {
            Err(e) if may_be_inline(&e) => {
                let store = options.zarr.store(url).ok();
                let limits = &options.zarr.options.limits;
                match store.map(|store| inline::store(&store, limits)).transpose()?.flatten() {
                    Some(store) => Self::open_plainly(store, options),
                    None => Err(e),
                }
            }
            other => other,
        }
    }

    /// The dataset whose root is the node at `base`.
    pub(crate) fn of(
        hierarchy: Hierarchy,
        base: NodePath,
        options: &DatasetOptions,
        conventions: &OnceLock<Conventions>,
    ) -> Result<Dataset> {
        let (profile, detected) = detect(&hierarchy, &base, options)?;
        // Another thread may have set it already; it is the same dataset.
        let conventions = *conventions.get_or_init(|| detected);
        let options = options.clone();
        let snapshot = Loader::new(&hierarchy, &base, profile, conventions, &options).load()?;
        let state = RwLock::new(Arc::new(snapshot));
        let inner = Inner { base, options, conventions, state, changing: Mutex::default() };
        Ok(Dataset { inner: Arc::new(inner) })
    }

    /// Reads the documents again: others may have changed them.
    ///
    /// # Errors
    /// As [`Dataset::open`].
    pub fn refresh(&self) -> Result<()> {
        // What was read before a change of this process does not take the place of what that change told.
        for _ in 0..READINGS {
            let old = self.snapshot();
            let new = self.reloaded(&old)?;
            let _changing = self.changing();
            if Arc::ptr_eq(&old, &self.snapshot()) {
                self.replace(new);
                return Ok(());
            }
        }
        let _changing = self.changing();
        self.replace(self.reloaded(&self.snapshot())?);
        Ok(())
    }

    fn reloaded(&self, old: &Snapshot) -> Result<Snapshot> {
        let inner = &self.inner;
        let conventions = Arc::new(OnceLock::from(inner.conventions));
        // Documents may come out of copies, which are read when the hierarchy is opened.
        let options = inner.options.hierarchy(&conventions);
        let hierarchy = Hierarchy::open(old.hierarchy.store().clone(), &options)?;
        Loader::new(&hierarchy, &inner.base, old.profile, inner.conventions, &inner.options).load()
    }

    /// Whether a dataset of NCZarr's begins at the root of this hierarchy: by a look only at its root.
    pub fn is_nczarr(hierarchy: &Hierarchy) -> bool {
        let options = DatasetOptions::of(OpenOptions::new(hierarchy.registry().clone()));
        let detected = detect(hierarchy, &NodePath::root(), &options);
        detected.is_ok_and(|(profile, _)| profile != Profile::Pure)
    }

    /// As [`Dataset::is_nczarr`], of the root that `node` is, which was read already. Only a group of v2
    /// takes a request, for the document of 4.8.0.
    pub fn begins_at(node: &Node) -> bool {
        let Node::Group(group) = node else { return false };
        let options = DatasetOptions::of(OpenOptions::new(node.hierarchy().registry().clone()));
        let detected = detect_in(node.hierarchy(), node.path(), group.metadata(), &options);
        detected.is_ok_and(|(profile, _)| profile != Profile::Pure)
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        sync::read(&self.inner.state).clone()
    }

    pub(crate) fn replace(&self, snapshot: Snapshot) {
        *sync::write(&self.inner.state) = Arc::new(snapshot);
    }

    /// Held while definitions are changed.
    pub(crate) fn changing(&self) -> sync::MutexGuard<'_, ()> {
        sync::lock(&self.inner.changing)
    }

    /// How it says what plain Zarr does not.
    pub fn profile(&self) -> Profile {
        self.snapshot().profile
    }

    /// The dialect of its documents.
    pub fn dialect(&self) -> Dialect {
        self.snapshot().hierarchy.dialect()
    }

    /// The hierarchy that holds it.
    pub fn hierarchy(&self) -> Hierarchy {
        self.snapshot().hierarchy.clone()
    }

    /// Where its root group is in that hierarchy.
    pub fn root_path(&self) -> &NodePath {
        &self.inner.base
    }

    /// What it defines, all of it, as one value.
    pub fn schema(&self) -> Arc<schema::Group> {
        self.snapshot().root.shared()
    }

    /// What tolerant reading has overlooked so far.
    pub fn warnings(&self) -> Vec<Warning> {
        self.snapshot().warnings.clone()
    }

    /// The root group.
    pub fn root(&self) -> Group {
        Group::new(self.clone(), "/".into())
    }

    /// The group at `path`, such as `/g1/g2`.
    ///
    /// # Errors
    /// [`AccessError::NotFound`].
    pub fn group(&self, path: &str) -> Result<Group> {
        match self.snapshot().root.group_path(path) {
            Some(path) => Ok(Group::new(self.clone(), normal(&path))),
            None => Err(self.absent("group", &normal(path))),
        }
    }

    /// The variable at `path`, such as `/g1/id`.
    ///
    /// # Errors
    /// [`AccessError::NotFound`]; [`AccessError::Argument`] for an array that is no variable, saying why.
    pub fn variable(&self, path: &str) -> Result<Variable> {
        let path = normal(path);
        let snapshot = self.snapshot();
        if let Some(path) = snapshot.root.variable_path(&path) {
            return Ok(Variable::new(self.clone(), path));
        }
        let (group, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let opaque = snapshot.root.group(group).and_then(|group| {
            let opaque = group.opaque.iter().find(|opaque| is_same(&opaque.name, name));
            opaque.map(|opaque| &opaque.why)
        });
        match opaque {
            Some(why) => {
                let why = format!("`{path}` is not a variable: {why}");
                Err(self.at(AccessError::Argument(why).into()))
            }
            None => Err(self.absent("variable", &path)),
        }
    }

    /// The dimension of this full name, such as `/g1/station`.
    ///
    /// # Errors
    /// [`AccessError::NotFound`].
    pub fn dimension(&self, path: &str) -> Result<schema::Dimension> {
        let found = self.snapshot().root.dimension(path).cloned();
        found.ok_or_else(|| self.absent("dimension", path))
    }

    pub(crate) fn absent(&self, what: &str, path: &str) -> Error {
        let looked_for = format!("{what} `{path}`");
        self.at(AccessError::NotFound { looked_for }.into())
    }

    /// The error, at this dataset.
    pub(crate) fn at(&self, error: Error) -> Error {
        error.at_store(self.snapshot().hierarchy.store().name())
    }

    /// Puts what was written where other readers find it, for stores that gather it until then, such as zip
    /// archives.
    ///
    /// # Errors
    /// When the store failed.
    pub fn flush(&self) -> Result<()> {
        self.hierarchy().flush()
    }
}

/// Whether documents that are all in one could be the reason.
fn may_be_inline(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidMetadata | ErrorKind::Unsupported)
}

/// The profile, and how documents are to be understood, by the node that is the root.
fn detect(
    hierarchy: &Hierarchy,
    base: &NodePath,
    options: &DatasetOptions,
) -> Result<(Profile, Conventions)> {
    match hierarchy.node(base)? {
        Node::Group(group) => detect_in(hierarchy, base, group.metadata(), options),
        Node::Array(_) => Ok((Profile::Pure, Conventions::default())),
    }
}

/// The same, by what the root's documents say.
fn detect_in(
    hierarchy: &Hierarchy,
    base: &NodePath,
    root: &GroupMetadata,
    options: &DatasetOptions,
) -> Result<(Profile, Conventions)> {
    let narrow_u1 = is_narrow_u1(&root.attributes);
    let pure = (Profile::Pure, Conventions { nczarr: false, narrow_u1 });
    if options.pure {
        return Ok(pure);
    }
    let sources = |old| Sources { attributes: &root.attributes, members: &root.unknown, old };
    let found = match sources(&[]).superblock() {
        Some(found) => Some(found),
        None => sources(&old_documents(hierarchy, base, &[".nczarr"])?).superblock(),
    };
    Ok(match found {
        None => pure,
        Some((_, true)) => (Profile::Nczarr, Conventions { nczarr: true, narrow_u1: false }),
        Some((_, false)) => (Profile::Legacy, Conventions { nczarr: true, narrow_u1: true }),
    })
}
