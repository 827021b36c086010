//! Makes the documents of a copy in memory, so that they can be written after the elements.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex};

use zarr_core::store::{
    Bytes, Capabilities, GetOptions, Got, Listing, Payload, Precondition, Store, StoreKey,
    StorePrefix, SyncStore, from_sync,
};
use zarr_core::{Hierarchy, Json, NodePath, Object, Result, StoreError, sync};

use crate::edit::copy::plan::{Plan, Verbatim};
use crate::edit::create::{NewDataset, Prepared};
use crate::handles::dataset::Dataset;
use crate::model::name::{composed, full_name};
use crate::model::options::DatasetOptions;
use crate::model::schema::Group;

/// Where a copy of a dataset is made, and what it is to be.
#[derive(Clone, Debug)]
pub struct CopyTarget {
    new: NewDataset,
    hierarchy: Hierarchy,
    options: DatasetOptions,
    /// Whether the copy has consolidated metadata even if its source has none.
    pub is_consolidated: bool,
}

impl CopyTarget {
    /// A place at a store's root. Nothing is read or written.
    ///
    /// # Errors
    /// As [`Dataset::create`], but for a dataset that is there.
    pub fn new(
        store: Arc<dyn Store>,
        new: &NewDataset,
        options: &DatasetOptions,
    ) -> Result<CopyTarget> {
        let Prepared { options, conventions, format } = new.prepared(options)?;
        let hierarchy = Hierarchy::of_format(store, format, &options.hierarchy(&conventions));
        Ok(CopyTarget { new: new.clone(), hierarchy, options, is_consolidated: false })
    }

    /// What the copy is to be.
    pub fn new_dataset(&self) -> &NewDataset {
        &self.new
    }

    /// The hierarchy that the copy is going to be, which need not have documents yet.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// What the documents of a copy depend on, besides those of the source.
    pub fn to_json(&self) -> Json {
        Object::new()
            .with("dialect", self.new.dialect.name())
            .with("profile", self.new.profile.name())
            .with("fixed_strings", self.new.fixed_strings)
            .with("xarray", self.options.xarray)
            .with("consolidated", self.is_consolidated)
            .into()
    }
}

/// The documents of a copy that is not made yet.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Each with the path of its node in the copy; those that make a node of a path after its others.
    pub documents: Vec<(NodePath, StoreKey, Bytes)>,
    /// The groups of the source that are copied, but for its root.
    pub groups: Vec<NodePath>,
    /// The variables that are copied.
    pub variables: Vec<DraftVariable>,
}

/// A variable that is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftVariable {
    /// Its array in the source's hierarchy.
    pub from: NodePath,
    /// Its array in the copy.
    pub to: NodePath,
    /// Whether chunks of nothing but the source's fill value need not be stored: they read as the same in the copy.
    pub leaves_holes: bool,
}

impl Dataset {
    /// The documents of the copy by this plan, none of which is written.
    ///
    /// # Errors
    /// As those of definition.
    pub fn draft_copy(&self, plan: &Plan, target: &CopyTarget) -> Result<Draft> {
        let name = target.hierarchy.store().name();
        let memory = from_sync(Documents { name, map: Mutex::default() });
        let to = Dataset::create(memory.clone(), &target.new, &target.options)?;
        to.define(&plan.schema)?;
        for Verbatim { path, kind, attributes } in &plan.verbatim {
            to.change_attributes(path, *kind, |node_attributes| {
                attributes.iter().for_each(|(name, json)| node_attributes.keep(name, json));
                Ok(())
            })?;
        }
        let (hierarchy, store) = (to.hierarchy(), memory.to_sync());
        let mut draft = Draft { documents: Vec::new(), groups: Vec::new(), variables: Vec::new() };
        for child in hierarchy.tree(NodePath::root())? {
            let mut found = Vec::new();
            for key in hierarchy.format().document_keys(&child.path)? {
                if let Some(value) = store.value(&key)? {
                    found.push((child.path.clone(), key, value));
                }
            }
            // A document of attributes makes no node.
            found.sort_by_key(|(_, key, _)| !key.as_str().ends_with(".zattrs"));
            draft.documents.extend(found);
        }
        self.gather_copied(plan, &plan.schema, "/", &to, &mut draft)?;
        Ok(draft)
    }

    fn gather_copied(
        &self,
        plan: &Plan,
        group: &Group,
        path: &str,
        to: &Dataset,
        draft: &mut Draft,
    ) -> Result<()> {
        for variable in &group.variables {
            let path = full_name(path, &variable.name);
            draft.variables.push(DraftVariable {
                from: self.variable(&path)?.array()?.path().clone(),
                to: to.node_path(&composed(&path))?,
                leaves_holes: plan.sparse.contains(&path),
            });
        }
        for below in &group.groups {
            let path = full_name(path, &below.name);
            draft.groups.push(self.node_path(&path)?);
            self.gather_copied(plan, below, &path, to, draft)?;
        }
        Ok(())
    }
}

/// Documents that are not written yet, under the name of the store that they are for, which errors give.
#[derive(Debug)]
struct Documents {
    name: String,
    map: Mutex<BTreeMap<String, (StoreKey, Bytes)>>,
}

impl SyncStore for Documents {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { write: true, ..Capabilities::READ_ONLY }
    }

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        let Some((_, value)) = sync::lock(&self.map).get(key.as_str()).cloned() else {
            return Ok(None);
        };
        how.answer(key, value, None)
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        _: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        match value.map(Payload::into_bytes).transpose()? {
            Some(value) => {
                let name = key.as_str().to_owned();
                sync::lock(&self.map).insert(name, (key.clone(), value))
            }
            None => sync::lock(&self.map).remove(key.as_str()),
        };
        Ok(true)
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let map = sync::lock(&self.map);
        // Keys are in their order: those with the prefix stand together.
        let from = Bound::Included(prefix.as_str());
        let after = map.range::<str, _>((from, Bound::Unbounded)).map(|(_, (key, _))| key);
        let keys = after.take_while(|key| prefix.strip(key).is_some()).cloned().collect();
        Ok(Listing { keys, ..Listing::default() })
    }
}
