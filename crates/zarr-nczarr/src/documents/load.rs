//! Loads the definitions of a dataset from its documents.
//!
//! Groups first, then variables, since a variable may refer to dimensions of any group above. A variable that
//! cannot be one is set apart; the others are read all the same.

use std::collections::HashMap;
use std::sync::Arc;

use zarr_core::metadata::ArrayMetadata;
use zarr_core::store::{GetOptions, StoreKey};
use zarr_core::{
    Array, Dialect, Error, ErrorKind, Hierarchy, Json, MetadataError, Node, NodeKind, NodePath,
    Object, Result, StoreError, Strictness, Warning,
};

use crate::documents::filter;
use crate::documents::infer;
use crate::documents::node_attributes::NodeAttributes;
use crate::documents::node_documents::{ArrayDocument, GroupDocument, Sources};
use crate::model::attribute;
use crate::model::elements;
use crate::model::name::{check_name, full_name, is_hidden};
use crate::model::options::{Conventions, DatasetOptions, Lengths, Profile};
use crate::model::schema::{Attribute, Dimension, Group, Opaque, Storage, Variable};
use crate::model::types::Type;
use crate::model::values::{Values, is_identical};

/// Why some attributes are not shown.
const HIDDEN: &str = "netCDF's library has another use for its name; `zarr attrs` prints it";

/// Groups deeper than this are refused.
const MAX_DEPTH: usize = 128;

/// A dataset as it was when its documents were read, or last changed through one of its handles.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub hierarchy: Hierarchy,
    pub profile: Profile,
    pub root: Arc<Group>,
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
struct FoundArray {
    array: Array,
    document: Option<ArrayDocument>,
    notes: Vec<(String, String)>,
}

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
        let mut root = match self.root_array()? {
            Some(root) => root,
            None => self.group("/", 0)?,
        };
        let found = std::mem::take(&mut self.found);
        self.lengthen(&mut root, &found);
        let mut arrays = HashMap::new();
        for Found { group, name, node } in found {
            let path = full_name(&group, &name);
            let built = match node {
                Ok(found) => self
                    .variable(&mut root, &group, &name, &found)
                    .map(|(variable, fill)| (variable, Entry { array: found.array, fill })),
                Err(error) => Err(error),
            };
            let Some(here) = root.group_mut(&group) else { continue };
            match built {
                Ok((variable, entry)) => {
                    here.variables.push(variable);
                    arrays.insert(path, entry);
                }
                Err(error) if self.is_passed_over(&error) => {
                    self.warn(&path, vec![format!("is no variable: {error}")]);
                    here.opaque.push(Opaque { name, why: error.to_string() });
                }
                Err(error) => return Err(error),
            }
        }
        let mut warnings = self.hierarchy.warnings();
        warnings.extend(self.warnings);
        let hierarchy = self.hierarchy.clone();
        Ok(Snapshot { hierarchy, profile: self.profile, root: Arc::new(root), arrays, warnings })
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
    fn warn_of_hidden(&mut self, place: &str, attributes: &Object) {
        let hidden = attributes.iter().map(|(name, _)| name);
        let hidden = hidden.filter(|name| self.profile == Profile::Pure && is_hidden(name));
        let what = |name| format!("attribute `{name}` is not shown: {HIDDEN}");
        self.warn(place, hidden.map(what).collect());
    }

    fn warn(&mut self, place: &str, what: Vec<String>) {
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
        let name = self.base.name().or(store.trim_end_matches('/').rsplit('/').next());
        let name = name.and_then(|name| name.split('.').next()).unwrap_or_default();
        let name = if check_name(name).is_ok() { name } else { "data" }.to_owned();
        let node = Ok(FoundArray { array, document: None, notes: Vec::new() });
        self.found.push(Found { group: "/".into(), name, node });
        Ok(Some(Group::new("")))
    }

    /// The group at `path`, with all below it but the variables, which are gathered.
    fn group(&mut self, path: &str, depth: usize) -> Result<Group> {
        let at = self.node_path(path)?;
        if depth > MAX_DEPTH {
            let why = format!("groups are nested deeper than {MAX_DEPTH}");
            return Err(Error::from(MetadataError::invalid(GROUPS, why)).at_path(&at));
        }
        let node = self.hierarchy.group(&at).map_err(|e| match e.kind() {
            ErrorKind::NotFound | ErrorKind::Argument if depth > 0 => {
                let why = format!("`{path}` is listed, and is no group");
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
        let notes = if self.profile == Profile::Pure { Vec::new() } else { sources.notes() };
        let mut group = Group::new(path.rsplit('/').next().unwrap_or_default());
        let node_attributes = NodeAttributes::read(&metadata.attributes, &notes);
        let (attributes, troubles) = node_attributes.attributes(self.profile == Profile::Legacy);
        self.warn(path, troubles);
        self.warn_of_hidden(path, &metadata.attributes);
        group.attributes = attributes;
        let declared = match declared {
            Some(declared) => declared,
            None => self.listed(path, &at)?,
        };
        self.declare(path, &at, &mut group, declared.dimensions)?;
        for name in declared.arrays {
            let full = full_name(path, &name);
            let node = self.array(&at, &name);
            if let Err(error) = &node
                && !self.is_passed_over(error)
            {
                return node.map(|_| group);
            }
            if self.found.iter().any(|found| found.group == path && found.name == name) {
                self.warn(&full, vec!["is listed twice".into()]);
                continue;
            }
            self.found.push(Found { group: path.to_owned(), name, node });
        }
        for name in declared.groups {
            check_listed(&at, &name)?;
            if group.groups.iter().any(|other| other.name == name) {
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
            self.warn(path, vec!["`_nczarr_group` is missing; what lies there is listed".into()]);
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
                let why = format!("`{name}` is listed, and is not there");
                Error::from(MetadataError::invalid(GROUPS, why)).at_path(&path)
            }
            _ => e,
        })?;
        if self.profile == Profile::Pure {
            return Ok(FoundArray { array, document: None, notes: Vec::new() });
        }
        let old = self.old(&path, &[".nczvar", ".nczarray", ".nczattr", ".nczattrs"])?;
        let metadata = array.metadata();
        let sources =
            Sources { attributes: &metadata.attributes, members: &metadata.unknown, old: &old };
        let document = sources.array().map_err(|e| Error::from(e).at_path(&path))?;
        let notes = sources.notes();
        Ok(FoundArray { array, document, notes })
    }

    /// Unlimited dimensions are as long as the longest of their arrays: one may have grown before its group
    /// was written (N-013).
    fn lengthen(&self, root: &mut Group, found: &[Found]) {
        if self.options.lengths == Lengths::Published {
            return;
        }
        for found in found {
            let Ok(FoundArray { array, document: Some(document), .. }) = &found.node else {
                continue;
            };
            for (reference, len) in document.references.iter().zip(array.shape()) {
                let (group, name) = reference.rsplit_once('/').unwrap_or(("", reference));
                let group = root.group_mut(group);
                let dimension =
                    group.and_then(|g| g.dimensions.iter_mut().find(|d| d.name == name));
                if let Some(dimension) = dimension.filter(|d| d.unlimited && !document.scalar) {
                    dimension.len = dimension.len.max(len);
                }
            }
        }
    }

    /// The variable that an array is.
    fn variable(
        &mut self,
        root: &mut Group,
        group: &str,
        name: &str,
        FoundArray { array, document, notes }: &FoundArray,
    ) -> Result<(Variable, Values)> {
        let metadata = array.metadata();
        let path = array.path();
        let at = |e: MetadataError| Error::from(e).at_path(path);
        let alias = document.as_ref().and_then(|document| document.alias);
        let ty = elements::type_of(&metadata, alias, self.conventions).map_err(|why| {
            let unsupported = zarr_core::Unsupported {
                what: "data type",
                name: metadata.data_type.to_string(),
                hint: why,
            };
            at(unsupported.into())
        })?;
        let dimensions = match document {
            Some(document) => references(root, document, &metadata).map_err(at)?,
            None => self.inferred(root, group, name, &metadata).map_err(at)?,
        };
        let node_attributes = NodeAttributes::read(&metadata.attributes, notes);
        let (mut attributes, mut troubles) =
            node_attributes.attributes(self.profile == Profile::Legacy);
        // The fill value is read below, in the variable's type.
        troubles.retain(|trouble| !trouble.starts_with("attribute `_FillValue` "));
        self.warn(&full_name(group, name), troubles);
        self.warn_of_hidden(&full_name(group, name), &metadata.attributes);
        let fill = elements::fill(&metadata, ty);
        let declared = node_attributes.json("_FillValue");
        if declared.is_some() && !metadata.attributes.contains("_FillValue") {
            set(&mut attributes, "_FillValue", Some(fill.clone()));
        } else if let Some(json) = declared {
            match attribute::fill_from_json(json, ty) {
                Ok(value) => set(&mut attributes, "_FillValue", Some(value)),
                Err(why) if self.profile == Profile::Pure => {
                    self.warn(
                        &full_name(group, name),
                        vec![format!("`_FillValue`: {why}; left out")],
                    );
                    set(&mut attributes, "_FillValue", None);
                }
                Err(why) => return Err(at(MetadataError::invalid("_FillValue", why))),
            }
        }
        // N-054, decision 0136: the fill value is the missing value, but for final v3, which knows it from the attribute.
        let dialect = self.hierarchy.dialect();
        let masks_fill =
            dialect != Dialect::V3 && metadata.fill_value.is_some() && ty != Type::Bool;
        // netCDF has no fill value for complex numbers, which readers would mask without a word.
        let is_usual = ty.is_atomic() && is_identical(&fill, &ty.default_fill());
        if masks_fill && declared.is_none() && !is_usual {
            attributes.push(Attribute { name: "_FillValue".into(), value: fill.clone() });
        } else if masks_fill && declared.is_some() && self.profile == Profile::Pure {
            // As xarray has it.
            set(&mut attributes, "_FillValue", Some(fill.clone()));
        }
        let masked = attributes.iter().find(|attribute| attribute.name == "_FillValue");
        let masked = masked.map_or_else(|| ty.default_fill(), |masked| masked.value.clone());
        // An attribute without a note tells xarray the default fill value; it is none of netCDF's.
        let is_hint = dialect == Dialect::V3
            && self.profile != Profile::Pure
            && declared.is_some()
            && !notes.iter().any(|(noted, _)| noted == "_FillValue")
            && is_identical(&masked, &fill)
            && is_identical(&masked, &ty.default_fill());
        if is_hint {
            set(&mut attributes, "_FillValue", None);
        }
        let differs = is_hint || (dialect == Dialect::V3 && !is_identical(&masked, &fill));
        let is_scalar = dimensions.is_empty();
        // Only Zarr knows shards.
        let flat = ArrayMetadata::clone(&metadata).unsharded();
        let storage = Storage {
            chunks: flat.chunk_shape().filter(|_| !is_scalar).unwrap_or_default(),
            contiguous: false,
            endian: metadata.data_type.has_byte_order().then(|| metadata.endian()),
            filters: filter::of(&flat),
            no_fill: metadata.fill_value.is_none(),
            unwritten: differs.then(|| fill.clone()),
            text: None,
        };
        Ok((Variable { name: name.to_owned(), ty, dimensions, attributes, storage }, fill))
    }

    /// The dimensions of an array without a document of netCDF.
    fn inferred(
        &mut self,
        root: &mut Group,
        group: &str,
        name: &str,
        metadata: &ArrayMetadata,
    ) -> Result<Vec<String>, MetadataError> {
        let xarray = self.options.xarray;
        let names = metadata.attributes.get("_ARRAY_DIMENSIONS").and_then(Json::as_array);
        if metadata.rank() == 0 {
            // A scalar has no dimensions; names other than `_scalar_` contradict its shape (N-023).
            return match names.filter(|names| !names.is_empty() && xarray) {
                None => Ok(Vec::new()),
                Some([Json::String(name)]) if name == "_scalar_" => Ok(Vec::new()),
                Some(_) => {
                    let why = "is empty, and `_ARRAY_DIMENSIONS` names dimensions";
                    Err(MetadataError::invalid("shape", why))
                }
            };
        }
        if xarray && infer::is_scalar_of_length_1(metadata) {
            return Ok(Vec::new());
        }
        let mut troubles = Vec::new();
        let names = infer::names(metadata, self.hierarchy.dialect(), xarray, &mut troubles);
        let share = self.options.share_dimensions || self.profile != Profile::Pure;
        let dimensions =
            infer::dimensions(root, group, &names, &metadata.shape, share, &mut troubles);
        let strict = self.options.zarr.options.strictness == Strictness::Strict;
        if let (true, Some(what)) = (strict, troubles.first()) {
            return Err(MetadataError::invalid("_ARRAY_DIMENSIONS", what.clone()));
        }
        self.warn(&full_name(group, name), troubles);
        Ok(dimensions)
    }
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

/// N-014: every reference names a dimension of the axis' length.
fn references(
    root: &Group,
    document: &ArrayDocument,
    metadata: &ArrayMetadata,
) -> Result<Vec<String>, MetadataError> {
    let wrong = |why: String| MetadataError::invalid("_nczarr_array", why);
    if document.scalar {
        return if metadata.shape.contains(&0) {
            Err(wrong(format!("a scalar has one element; the shape is {:?}", metadata.shape)))
        } else {
            Ok(Vec::new())
        };
    }
    let (named, rank) = (document.references.len(), metadata.rank());
    if named != rank {
        return Err(wrong(format!("{named} dimensions are named for {rank} axes")));
    }
    for (axis, reference) in document.references.iter().enumerate() {
        let group = reference.rsplit_once('/').map_or("", |(group, _)| group);
        if !reference.starts_with('/') || root.group(group).is_none() {
            return Err(wrong(format!("dimension `{reference}` lies in no group")));
        }
        let Some(dimension) = root.dimension(reference) else {
            return Err(wrong(format!("dimension `{reference}` is not declared")));
        };
        let len = metadata.shape[axis];
        if !dimension.unlimited && dimension.len != len {
            let due = dimension.len;
            return Err(wrong(format!(
                "dimension `{reference}` has length {due}, axis {axis} of the array {len}"
            )));
        }
    }
    // As the groups write them.
    let canonical = |name: &String| root.dimension_path(name).unwrap_or_else(|| name.clone());
    Ok(document.references.iter().map(canonical).collect())
}

/// Sets or takes away an attribute.
fn set(attributes: &mut Vec<Attribute>, name: &str, value: Option<Values>) {
    match value {
        None => attributes.retain(|attribute| attribute.name != name),
        Some(value) => {
            if let Some(found) = attributes.iter_mut().find(|attribute| attribute.name == name) {
                found.value = value;
            }
        }
    }
}

/// What the root's attributes tell of who wrote the dataset: whether netcdf-c did before it knew `>S1` (N-081).
pub(crate) fn is_narrow_u1(attributes: &Object) -> bool {
    let provenance = attributes.get("_NCProperties").and_then(Json::as_str).unwrap_or_default();
    let version = provenance.split("netcdf=").nth(1).unwrap_or_default();
    version.starts_with("4.8.") || version.starts_with("4.9.0")
}
