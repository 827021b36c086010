//! Loads the definitions of a dataset from its documents.
//!
//! Groups first, then variables, since a variable may refer to dimensions of any group above. A variable that
//! cannot be one is set apart; the others are read all the same.

use std::collections::{HashMap, HashSet};

use zarr_core::store::{GetOptions, StoreKey};
use zarr_core::{
    Array, Dialect, Error, ErrorKind, Hierarchy, Json, MetadataError, Node, NodeKind, NodePath,
    Object, Result, StoreError, Strictness, Warning,
};

use crate::documents::node_attributes::NodeAttributes;
use crate::documents::node_documents::{ArrayDocument, GroupDocument, Sources};
use crate::model::name::{check_name, full_name, is_hidden};
use crate::model::options::{Conventions, DatasetOptions, Lengths, Profile};
use crate::model::root::Root;
use crate::model::schema::{Dimension, Group, Opaque};
use crate::model::values::Values;

/// Why some attributes are not shown.
const HIDDEN: &str = "netCDF's library has another use for its name; `zarr attrs` prints it";

/// Groups deeper than this are refused.
const MAX_DEPTH: usize = 128;

/// A dataset as it was when its documents were read, or last changed through one of its handles.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub hierarchy: Hierarchy,
    pub profile: Profile,
    pub root: Root,
    /// The arrays of the variables, by full name.
    pub arrays: HashMap<String, Entry>,
    pub warnings: Vec<Warning>,
}

/// The array behind a variable.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub array: Array,
    pub fill: Values,
}

/// Where documents are read from, and how they are understood.
pub(crate) struct Loader<'a> {
    pub hierarchy: &'a Hierarchy,
    /// The node that is the root group.
    pub base: &'a NodePath,
    pub profile: Profile,
    pub conventions: Conventions,
    pub options: &'a DatasetOptions,
    found: Vec<Found>,
    warnings: Vec<Warning>,
}

/// An array, not looked at closely yet.
struct Found {
    group: String,
    name: String,
    node: Result<FoundArray>,
}

/// An array, and what netCDF's documents say of it.
pub(super) struct FoundArray {
    pub array: Array,
    pub document: Option<ArrayDocument>,
    pub notes: Vec<(String, String)>,
    /// Of a netCDF file: which axes are unlimited.
    pub file: Option<FileTypes>,
}

/// What a netCDF file says of a node besides its document.
#[derive(Default)]
pub(super) struct FileTypes {
    /// The types of attributes, by name.
    notes: Vec<(String, String)>,
    /// Which axes are unlimited.
    unlimited: Vec<bool>,
    /// Those of a group, as far as a variable can have them: no other document names one that no variable has.
    dimensions: Vec<Dimension>,
}

/// The key beside a node's document that has it, in the stores of netCDF files (`zarr-virtual`).
const FILE_TYPES: &str = "netcdf_types.json";

impl<'a> Loader<'a> {
    pub fn new(
        hierarchy: &'a Hierarchy,
        base: &'a NodePath,
        profile: Profile,
        conventions: Conventions,
        options: &'a DatasetOptions,
    ) -> Self {
        let (found, warnings) = (Vec::new(), Vec::new());
        Loader { hierarchy, base, profile, conventions, options, found, warnings }
    }

    /// Reads all documents.
    pub fn load(mut self) -> Result<Snapshot> {
        let root = match self.root_array()? {
            Some(root) => root,
            None => self.group("/", 0)?,
        };
        let mut root = Root::new(root);
        let found = std::mem::take(&mut self.found);
        self.lengthen(&mut root, &found);
        let (mut arrays, mut unlimited) = (HashMap::new(), Vec::new());
        for Found { group, name, mut node } in found {
            let path = full_name(&group, &name);
            let file = node.as_mut().ok().and_then(|found| found.file.take());
            let is_file = file.is_some();
            let axes = file.map(|file| file.unlimited).unwrap_or_default();
            let built = match node {
                Ok(found) => self
                    .variable(&mut root, &group, &name, &found, is_file)
                    .map(|(variable, fill)| (variable, Entry { array: found.array, fill })),
                Err(error) => Err(error),
            };
            match built {
                Ok((variable, entry)) => {
                    let dimensions = variable.dimensions.iter().zip(axes);
                    unlimited.extend(dimensions.filter(|it| it.1).map(|it| it.0.clone()));
                    root.add_variable(&group, variable);
                    arrays.insert(path, entry);
                }
                Err(error) if self.is_passed_over(&error) => {
                    self.warn(&path, vec![format!("is not a variable: {error}")]);
                    if let Some(here) = root.group_mut(&group) {
                        here.opaque.push(Opaque { name, why: error.to_string() });
                    }
                }
                Err(error) => return Err(error),
            }
        }
        // All variables of a dimension are as long as it is in a file: the documents have checked it.
        unlimited.iter().for_each(|path| root.make_unlimited(path));
        let mut warnings = self.hierarchy.warnings();
        warnings.extend(self.warnings);
        let hierarchy = self.hierarchy.clone();
        Ok(Snapshot { hierarchy, profile: self.profile, root, arrays, warnings })
    }

    /// Whether a variable with this trouble is set apart, and the rest read.
    fn is_passed_over(&self, error: &Error) -> bool {
        let is_its_own = matches!(
            error.kind(),
            ErrorKind::InvalidMetadata
                | ErrorKind::Unsupported
                | ErrorKind::NotFound
                | ErrorKind::Argument
                | ErrorKind::Limit
        );
        let unknown = error.kind() == ErrorKind::Unsupported;
        is_its_own && (unknown || self.options.zarr.options.strictness == Strictness::Tolerant)
    }

    /// Warns of attributes of plain Zarr that no listing shows (N-055).
    pub(super) fn warn_of_hidden(&mut self, place: &str, attributes: &Object) {
        let hidden = attributes.iter().map(|(name, _)| name);
        let hidden = hidden.filter(|name| self.profile == Profile::Pure && is_hidden(name));
        let warnings = hidden.map(|name| format!("attribute `{name}` is not shown: {HIDDEN}"));
        self.warn(place, warnings.collect());
    }

    pub(super) fn warn(&mut self, place: &str, what: Vec<String>) {
        let warnings = what.into_iter().map(|what| Warning { place: place.to_owned(), what });
        self.warnings.extend(warnings);
    }

    /// Where the node is that is called so here.
    fn node_path(&self, path: &str) -> Result<NodePath> {
        Ok(self.base.join(path.trim_start_matches('/'))?)
    }

    /// The documents of 4.8.0 beside a node's own, if that wrote the dataset.
    fn old(&self, path: &NodePath, names: &[&'static str]) -> Result<Vec<(&'static str, Json)>> {
        if self.profile != Profile::Legacy {
            return Ok(Vec::new());
        }
        old_documents(self.hierarchy, path, names)
    }

    /// A root that is an array: a group of one variable, named after the store (N-090).
    fn root_array(&mut self) -> Result<Option<Group>> {
        let Ok(Node::Array(array)) = self.hierarchy.node(self.base) else { return Ok(None) };
        let store = self.hierarchy.store().name();
        let (place, _) = zarr_core::split_query(&store);
        let name = self.base.name().or(place.trim_end_matches('/').rsplit('/').next());
        let name = name.and_then(|name| name.split('.').next()).unwrap_or_default();
        let name = if check_name(name).is_ok() { name } else { "data" }.to_owned();
        let node = Ok(FoundArray { array, document: None, notes: Vec::new(), file: None });
        self.found.push(Found { group: "/".into(), name, node });
        Ok(Some(Group::new("")))
    }

    /// The group at `path`, with all below it but the variables, which are gathered.
    fn group(&mut self, path: &str, depth: usize) -> Result<Group> {
        let at = self.node_path(path)?;
        if depth > MAX_DEPTH {
            let why = format!("groups are nested more than {MAX_DEPTH} deep");
            return Err(Error::from(MetadataError::invalid(GROUPS, why)).at_path(&at));
        }
        let node = self.hierarchy.group(&at).map_err(|e| match e.kind() {
            ErrorKind::NotFound | ErrorKind::Argument if depth > 0 => {
                let why = format!("`{path}` is listed, but is not a group");
                Error::from(MetadataError::invalid(GROUPS, why)).at_path(&at)
            }
            _ => e,
        })?;
        let old = self.old(&at, &[".nczgroup", ".nczattr", ".nczattrs"])?;
        let metadata = node.metadata();
        let sources =
            Sources { attributes: &metadata.attributes, members: &metadata.unknown, old: &old };
        let declared = match self.profile {
            Profile::Pure => None,
            _ => sources.group().map_err(|e| Error::from(e).at_path(&at))?,
        };
        let file = match self.profile {
            Profile::Pure => self.file_types(&at)?.unwrap_or_default(),
            _ => FileTypes { notes: sources.notes(), ..FileTypes::default() },
        };
        let mut group = Group::new(path.rsplit('/').next().unwrap_or_default());
        let node_attributes = NodeAttributes::read(&metadata.attributes, &file.notes);
        let (attributes, troubles) = node_attributes.attributes(self.profile == Profile::Legacy);
        self.warn(path, troubles);
        self.warn_of_hidden(path, &metadata.attributes);
        group.attributes = attributes;
        let declared = match declared {
            Some(declared) => declared,
            None => self.listed(path, &at)?,
        };
        group.dimensions = file.dimensions;
        self.declare(path, &at, &mut group, declared.dimensions)?;
        let mut listed = HashSet::new();
        for name in declared.arrays {
            let full = full_name(path, &name);
            let node = self.array(&at, &name);
            if let Err(error) = &node
                && !self.is_passed_over(error)
            {
                return node.map(|_| group);
            }
            if !listed.insert(name.clone()) {
                self.warn(&full, vec!["is listed twice".into()]);
                continue;
            }
            self.found.push(Found { group: path.to_owned(), name, node });
        }
        listed.clear();
        for name in declared.groups {
            check_listed(&at, &name)?;
            if !listed.insert(name.clone()) {
                continue;
            }
            let below = self.group(&full_name(path, &name), depth + 1)?;
            group.groups.push(below);
        }
        Ok(group)
    }

    /// Puts the declared dimensions into the group.
    fn declare(
        &mut self,
        path: &str,
        at: &NodePath,
        group: &mut Group,
        dimensions: Vec<Dimension>,
    ) -> Result<()> {
        for dimension in dimensions {
            if let Err(e) = check_name(&dimension.name) {
                let strict = self.options.zarr.options.strictness == Strictness::Strict;
                let why = MetadataError::invalid(GROUPS, e.to_string());
                if strict || dimension.name.contains('/') || dimension.name.is_empty() {
                    return Err(Error::from(why).at_path(at));
                }
                self.warn(path, vec![e.to_string()]);
            }
            group.dimensions.push(dimension);
        }
        Ok(())
    }

    /// What a listing shows of a group that declares nothing (N-091).
    fn listed(&mut self, path: &str, at: &NodePath) -> Result<GroupDocument> {
        if self.profile != Profile::Pure {
            self.warn(
                path,
                vec!["`_nczarr_group` is missing; listing the stored nodes instead".into()],
            );
        }
        let mut declared = GroupDocument::default();
        let children = self.hierarchy.children(at)?;
        let (hidden, mut named): (Vec<_>, Vec<(&str, Option<NodeKind>)>) = children
            .iter()
            .filter_map(|child| Some((child.path.name()?, child.kind)))
            .partition(|(name, _)| name.starts_with('.'));
        for (name, _) in hidden {
            let what = "is not shown: a netCDF name begins with no period";
            self.warn(&full_name(path, name), vec![what.into()]);
        }
        named.sort_unstable_by_key(|(name, _)| *name);
        for (name, kind) in named {
            match kind {
                Some(NodeKind::Group) => declared.groups.push(name.to_owned()),
                _ => declared.arrays.push(name.to_owned()),
            }
        }
        Ok(declared)
    }

    /// The array `name` in the group at `at`, and its document.
    fn array(&self, at: &NodePath, name: &str) -> Result<FoundArray> {
        check_listed(at, name)?;
        let path = at.child(name)?;
        let array = self.hierarchy.array(&path).map_err(|e| match e.kind() {
            ErrorKind::NotFound => {
                let why = format!("`{name}` is listed, but does not exist");
                Error::from(MetadataError::invalid(GROUPS, why)).at_path(&path)
            }
            _ => e,
        })?;
        if self.profile == Profile::Pure {
            let mut file = self.file_types(&path)?;
            let notes = file.as_mut().map(|file| std::mem::take(&mut file.notes));
            let notes = notes.unwrap_or_default();
            return Ok(FoundArray { array, document: None, notes, file });
        }
        let old = self.old(&path, &[".nczvar", ".nczarray", ".nczattr", ".nczattrs"])?;
        let metadata = array.metadata();
        let sources =
            Sources { attributes: &metadata.attributes, members: &metadata.unknown, old: &old };
        let document = sources.array().map_err(|e| Error::from(e).at_path(&path))?;
        let notes = sources.notes();
        Ok(FoundArray { array, document, notes, file: None })
    }

    /// What a netCDF file says of the node at `path` besides its document; `None` of any other store.
    fn file_types(&self, path: &NodePath) -> Result<Option<FileTypes>> {
        let store = self.hierarchy.store();
        let is_file = ["hdf5::", "netcdf3::"].iter().any(|name| store.name().contains(name));
        if !self.options.file_types || !is_file {
            return Ok(None);
        }
        let key = format!("{}/{FILE_TYPES}", path.relative());
        let key = StoreKey::new(key.trim_start_matches('/'))?;
        let limit = self.hierarchy.options().limits.document;
        let got = store.to_sync().get(&key, GetOptions::at_most(limit));
        let got = got.map_err(|e| Error::from(e).at_path(path).at_key(&key))?;
        let Some(bytes) = got.and_then(|got| got.bytes) else { return Ok(None) };
        let json = Json::parse(&bytes).map_err(MetadataError::Json)?;
        let member = |name: &str| json.as_object().and_then(|object| object.get(name));
        let types = member("attributes").and_then(Json::as_object);
        let types = types.into_iter().flat_map(|types| types.iter());
        let notes = types.filter_map(|(name, ty)| Some((name.to_owned(), ty.as_str()?.to_owned())));
        let axes = member("unlimited").and_then(Json::as_array).unwrap_or_default();
        let unlimited = axes.iter().map(|axis| axis.as_bool() == Some(true)).collect();
        let dimensions = member("dimensions").and_then(Json::as_array).unwrap_or_default();
        let dimensions = dimensions.iter().filter_map(file_dimension).collect();
        Ok(Some(FileTypes { notes: notes.collect(), unlimited, dimensions }))
    }

    /// Unlimited dimensions are as long as the longest of their arrays: one may have grown before its group
    /// was written (N-013).
    fn lengthen(&self, root: &mut Root, found: &[Found]) {
        if self.options.lengths == Lengths::Published {
            return;
        }
        for found in found {
            let Ok(FoundArray { array, document: Some(document), .. }) = &found.node else {
                continue;
            };
            for (reference, len) in document.references.iter().zip(array.shape()) {
                let (group, name) = reference.rsplit_once('/').unwrap_or(("", reference));
                if !document.scalar {
                    root.lengthen(group, name, len);
                }
            }
        }
    }
}

/// A dimension as the store of a netCDF file has it; `None` if no variable can have it by its name.
fn file_dimension(json: &Json) -> Option<Dimension> {
    let json = json.as_object()?;
    let name = json.get("name")?.as_str().filter(|name| check_name(name).is_ok())?.to_owned();
    let (len, unlimited) = (json.get("size")?.as_u64()?, json.get("unlimited")?.as_bool()?);
    Some(Dimension { name, len, unlimited })
}

const GROUPS: &str = "_nczarr_group";

/// Checks a name that a document lists.
fn check_listed(at: &NodePath, name: &str) -> Result<()> {
    at.child(name)
        .map(|_| ())
        .map_err(|e| Error::from(MetadataError::invalid(GROUPS, e.to_string())).at_path(at))
}

/// The documents of 4.8.0 that are stored beside a node's own.
pub(crate) fn old_documents(
    hierarchy: &Hierarchy,
    path: &NodePath,
    names: &[&'static str],
) -> Result<Vec<(&'static str, Json)>> {
    if !hierarchy.store().capabilities().read {
        return Ok(Vec::new());
    }
    let store = hierarchy.store().to_sync();
    let mut found = Vec::new();
    for name in names.iter().filter(|_| hierarchy.dialect() == Dialect::V2) {
        let key = format!("{}/{name}", path.relative());
        let key = StoreKey::new(key.trim_start_matches('/'))?;
        let limit = hierarchy.options().limits.document;
        let at = |e: Error| e.at_path(path).at_key(&key);
        let got = store.get(&key, GetOptions::at_most(limit)).map_err(|e| match e {
            StoreError::TooLarge { .. } => {
                at(e.into()).with_hint("raise `Limits::document` if you trust this data")
            }
            e => at(e.into()),
        })?;
        if let Some(bytes) = got.and_then(|got| got.bytes) {
            let json = Json::parse(&bytes).map_err(MetadataError::Json);
            found.push((*name, json.map_err(|e| at(e.into()))?));
        }
    }
    Ok(found)
}

/// What the root's attributes tell of who wrote the dataset: whether netcdf-c did before it knew `>S1` (N-081).
pub(crate) fn is_narrow_u1(attributes: &Object) -> bool {
    let provenance = attributes.get("_NCProperties").and_then(Json::as_str).unwrap_or_default();
    let version = provenance.split("netcdf=").nth(1).unwrap_or_default();
    version.starts_with("4.8.") || version.starts_with("4.9.0")
}
