//! N5: folders with `attributes.json`, and blocks in files whose paths are their indices.
//!
//! Keys of chunks are N5's own paths, and axes are in N5's order, the first fastest. [`Axes::Reversed`] turns them to the
//! order of C, as zarr-python and z5py show them; then the parts of keys are turned, too (V-070 … V-073).

mod document;
pub(crate) mod lz4_block;
mod scales;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use zarr_core::store::{
    Bytes, Capabilities, GetOptions, ListOptions, Listing, Result, Store, StoreKey, StorePrefix,
    async_trait,
};
use zarr_core::{Json, Object, StoreError, sync};

use self::document::{array_document, dimension_names, group_document, is_level_name, rank};
use crate::source::{Reference, Source, capabilities_over};
use crate::target::Target;

/// The name of N5's documents.
pub(crate) const ATTRIBUTES: &str = "attributes.json";
const DOCUMENT: &str = "zarr.json";
/// The most bytes of a document.
pub(crate) const MAX_DOCUMENT: u64 = 16 << 20;
/// The most nodes whose documents are kept.
const MAX_NODES: usize = 10_000;
/// The most parts of a path that may be the indices of a block.
const MAX_RANK: usize = 64;

/// The order of the axes of arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axes {
    /// As N5 has them: x, y, z.
    #[default]
    AsStored,
    /// The other way round: z, y, x.
    Reversed,
}

/// A container of N5, or a node in one.
#[derive(Debug)]
pub struct N5 {
    store: Arc<dyn Store>,
    axes: Axes,
    /// The attributes of the nodes that were looked at; `None` where there are none.
    nodes: Mutex<HashMap<StorePrefix, Option<Object>>>,
}

/// Whether these are the attributes of N5's root, or of a dataset.
pub(crate) fn is_of_n5(attributes: &Object) -> bool {
    attributes.contains("n5") || is_dataset(attributes)
}

fn is_dataset(attributes: &Object) -> bool {
    ["dimensions", "blockSize", "dataType"].iter().all(|name| attributes.contains(name))
}

/// Whether a name is the index of a block.
fn is_index(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// The prefix above, and the last name; `None` for the root.
fn split_prefix(prefix: &StorePrefix) -> Option<(StorePrefix, &str)> {
    let inner = prefix.as_str().strip_suffix('/')?;
    let at = inner.rfind('/').map_or(0, |at| at + 1);
    let above = StorePrefix::new(&inner[..at]).ok()?;
    Some((above, &inner[at..]))
}

impl N5 {
    /// The nodes in a store.
    pub fn new(store: Arc<dyn Store>, axes: Axes) -> N5 {
        N5 { store, axes, nodes: Mutex::default() }
    }

    /// The attributes of the node at `prefix`, if it has any.
    async fn attributes(&self, prefix: &StorePrefix) -> Result<Option<Object>> {
        let found = self.attributes_or_damage(prefix).await?;
        found.map_err(|why| StoreError::Backend(format!("`{prefix}{ATTRIBUTES}`: {why}").into()))
    }

    /// The same, and what is wrong with them if they are not an object.
    async fn attributes_or_damage(
        &self,
        prefix: &StorePrefix,
    ) -> Result<Result<Option<Object>, String>> {
        if let Some(known) = sync::lock(&self.nodes).get(prefix) {
            return Ok(Ok(known.clone()));
        }
        let key = prefix.key(ATTRIBUTES)?;
        let got = self.store.get(&key, GetOptions::at_most(MAX_DOCUMENT)).await?;
        let attributes = match got.and_then(|got| got.bytes) {
            None => None,
            Some(text) => match Json::parse_tolerant(&text) {
                Ok((Json::Object(object), _)) => Some(object),
                Ok((other, _)) => {
                    return Ok(Err(format!("expected an object, found {}", other.kind())));
                }
                Err(why) => return Ok(Err(why)),
            },
        };
        let mut nodes = sync::lock(&self.nodes);
        if nodes.len() >= MAX_NODES {
            nodes.clear();
        }
        nodes.insert(prefix.clone(), attributes.clone());
        Ok(Ok(attributes))
    }

    /// The dataset that `prefix` is, or that it is a folder of blocks of, with the number of names from there.
    async fn dataset(&self, prefix: &StorePrefix) -> Result<Option<(StorePrefix, Object, usize)>> {
        let mut at = prefix.clone();
        for depth in 0..=MAX_RANK {
            match self.attributes(&at).await? {
                Some(attributes) if is_dataset(&attributes) => {
                    return Ok(Some((at, attributes, depth)));
                }
                Some(_) => return Ok(None),
                None => {}
            }
            match split_prefix(&at) {
                Some((above, name)) if is_index(name) => at = above,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The document of the node at `prefix`, if there is a node.
    async fn document(&self, prefix: &StorePrefix) -> Result<Option<Bytes>> {
        if let Some(attributes) = self.attributes(prefix).await? {
            if !is_dataset(&attributes) {
                let ome = self.image(prefix, &attributes).await?;
                return Ok(Some(group_document(&attributes, ome)));
            }
            let names = self.axis_names(prefix, &attributes).await?;
            let document = array_document(&attributes, self.axes, names);
            return document.map(Some).map_err(|why| {
                StoreError::Backend(format!("`{prefix}{ATTRIBUTES}`: {why}").into())
            });
        }
        // A folder without attributes is a group, unless it holds blocks.
        let is_group = prefix.as_str().is_empty()
            || (self.dataset(prefix).await?.is_none() && self.has_members(prefix).await?);
        if !is_group {
            return Ok(None);
        }
        let attributes = Object::new();
        let ome = self.image(prefix, &attributes).await?;
        Ok(Some(group_document(&attributes, ome)))
    }

    /// The names of the axes of a dataset: of a level `s0`, `s1`, … also those that its group gives.
    async fn axis_names(
        &self,
        prefix: &StorePrefix,
        attributes: &Object,
    ) -> Result<Option<Vec<String>>> {
        let own = rank(attributes).and_then(|rank| dimension_names(attributes, rank, self.axes));
        match split_prefix(prefix) {
            Some((above, name)) if own.is_none() && is_level_name(name) => {
                let group = self.attributes_or_damage(&above).await?.unwrap_or_default();
                Ok(scales::axes_of_level(attributes, group.as_ref(), self.axes))
            }
            _ => Ok(own),
        }
    }

    /// What OME-Zarr says of a group with levels `s0`, `s1`, …; `None` if it has none.
    async fn image(&self, prefix: &StorePrefix, attributes: &Object) -> Result<Option<Object>> {
        // A root is hardly ever an image, and asking a remote store costs a request each time it is opened.
        let is_asked = scales::has_hint(attributes)
            || !prefix.as_str().is_empty()
            || self.store.capabilities().local;
        if !is_asked {
            return Ok(None);
        }
        let mut levels = Vec::new();
        while levels.len() < scales::MAX_LEVELS {
            let level = StorePrefix::new(&format!("{prefix}s{}/", levels.len()))?;
            // What is wrong with a level is said when that is opened.
            match self.attributes_or_damage(&level).await? {
                Ok(Some(attributes)) if is_dataset(&attributes) => levels.push(attributes),
                _ => break,
            }
        }
        if levels.is_empty() {
            return Ok(None);
        }
        let above = match split_prefix(prefix) {
            Some((above, _)) => self.attributes_or_damage(&above).await?.unwrap_or_default(),
            None => None,
        };
        Ok(scales::ome(&levels, [Some(attributes), above.as_ref()], self.axes))
    }

    /// Whether anything is below `prefix`; not known where the store does not list.
    async fn has_members(&self, prefix: &StorePrefix) -> Result<bool> {
        let Capabilities { list, lists_some, .. } = self.store.capabilities();
        if !list && !lists_some {
            return Ok(false);
        }
        match self.store.list_dir(prefix, ListOptions::at_most(1)).await {
            Ok(listing) => Ok(!listing.prefixes.is_empty() || !listing.keys.is_empty()),
            Err(StoreError::NotCapable { .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// N5's key of a chunk; `None` for a key that is no chunk's.
    async fn block_key(&self, key: &StoreKey) -> Result<Option<StoreKey>> {
        let name = key.as_str().rsplit('/').next().unwrap_or_default();
        if !is_index(name) {
            return Ok(None);
        }
        if self.axes == Axes::AsStored {
            return Ok(Some(key.clone()));
        }
        let Some((dataset, attributes, depth)) = self.dataset(&key.parent()).await? else {
            return Ok(None);
        };
        if rank(&attributes) != Some(depth + 1) {
            return Ok(None);
        }
        let indices = dataset.strip(key).unwrap_or_default();
        Ok(Some(dataset.key(&reversed(indices))?))
    }

    /// The listing of a folder in a dataset whose keys are turned.
    async fn reversed_listing(
        &self,
        dataset: &StorePrefix,
        attributes: &Object,
        prefix: &StorePrefix,
    ) -> Result<Listing> {
        let rank = rank(attributes).unwrap_or(0);
        let all = self.store.list_prefix(dataset).await?;
        let blocks = all.keys.iter().filter_map(|key| dataset.strip(key));
        let names = blocks
            .filter(|rest| rest.split('/').all(is_index) && rest.split('/').count() == rank)
            .map(|rest| format!("{dataset}{}", reversed(rest)));
        let mut names: Vec<String> = names.collect();
        names.push(format!("{dataset}{DOCUMENT}"));
        Ok(Listing::of_names(prefix, names.iter().map(String::as_str)))
    }
}

/// The parts of a path in the other order.
fn reversed(path: &str) -> String {
    path.rsplit('/').collect::<Vec<_>>().join("/")
}

#[async_trait]
impl Source for N5 {
    fn name(&self) -> String {
        let link = if self.axes == Axes::Reversed { "n5://axes=reversed" } else { "n5" };
        format!("{link}::{}", self.store.name())
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.store.public_options()
    }

    async fn places(&self) -> Result<Vec<String>> {
        self.store.places().await
    }

    fn capabilities(&self) -> Capabilities {
        let store = self.store.capabilities();
        let Capabilities { list, lists_some, .. } = store;
        Capabilities { list, lists_some, ..capabilities_over(store) }
    }

    async fn find(&self, key: &StoreKey) -> Result<Option<Reference>> {
        let prefix = key.parent();
        if prefix.strip(key) == Some(DOCUMENT) {
            return Ok(self.document(&prefix).await?.map(Reference::Inline));
        }
        let Some(block) = self.block_key(key).await? else { return Ok(None) };
        let target = Target::new(self.store.clone(), block);
        Ok(Some(Reference::Whole { target, may_be_absent: true }))
    }

    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing> {
        let dataset = self.dataset(prefix).await?;
        if let (Axes::Reversed, Some((dataset, attributes, _))) = (self.axes, &dataset) {
            return self.reversed_listing(dataset, attributes, prefix).await;
        }
        let mut listing = self.store.list_dir(prefix, ListOptions::default()).await?;
        let has_attributes = listing.keys.iter().any(|key| prefix.strip(key) == Some(ATTRIBUTES));
        let is_group = dataset.is_none() && !listing.prefixes.is_empty();
        let is_node = has_attributes || prefix.as_str().is_empty() || is_group;
        let mut keys: Vec<StoreKey> = listing
            .keys
            .into_iter()
            .filter(|key| {
                let name = prefix.strip(key).unwrap_or_default();
                dataset.is_some() && is_index(name)
            })
            .collect();
        if is_node {
            keys.push(prefix.key(DOCUMENT)?);
        }
        keys.sort();
        listing.keys = keys;
        // They are of other keys now.
        (listing.sizes, listing.versions, listing.times) = Default::default();
        Ok(listing)
    }
}
