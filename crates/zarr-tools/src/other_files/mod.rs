//! Finds the files among the nodes of a hierarchy that are not Zarr's. They belong to the data, as a table in Parquet or the
//! metadata of a microscope do: they are copied and compared with the nodes (docs/internals/design/copies.md).
//!
//! Each node is listed by itself, so that a file has the node in whose folder it is, and that nothing is listed of nodes that
//! nobody asks for. What is no file of that kind is named: what no key can say, nodes that readers of the dialect pass over, links
//! that lead out of the hierarchy; and, apart from these, what is no part of the data.

mod links;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use zarr_core::format::{Format, is_document_name, is_zarr_key, system_part};
use zarr_core::metadata::ArrayMetadata;
use zarr_core::store::{ListOptions, Listing, StoreKey, StorePrefix, SyncStore};
use zarr_core::{Dialect, Error, ErrorKind, Node, NodePath, Result, StoreError, Warning};

pub(crate) use self::links::Links;
use crate::copy::has_unknown_keys;
use crate::tree_progress::nodes_and_broken;

/// The most chunks of an array of a web server all of whose folders are looked through: each is a request.
const MAX_CHUNKS_BY_INDEX: u64 = 100_000;

/// A file that is not Zarr's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherFile {
    pub key: StoreKey,
    /// Its path from the node that is looked at, whatever the dialect.
    pub name: String,
    /// The node in whose folder it is.
    pub owner: NodePath,
}

/// What is among the nodes of a hierarchy besides what describes and holds them.
#[derive(Clone, Debug, Default)]
pub(crate) struct OtherFiles {
    /// Sorted by name.
    pub files: Vec<OtherFile>,
    /// Nodes that readers of this dialect pass over: the path of each, and why.
    pub hidden: Vec<(String, String)>,
    /// What else is a part of the data and cannot be read as such, each with its place.
    pub lost: Vec<String>,
    /// What is no part of the data, each with its place.
    pub left_out: Vec<String>,
    /// That nodes have second documents, of another dialect.
    pub second: Option<String>,
    /// Whether the store cannot list, so that nothing is known.
    pub is_unknown: bool,
    /// Whether the store may hide files, as web servers do in their indices.
    pub is_partial: bool,
}

/// Which nodes are looked at.
pub(crate) struct Wanted<'a> {
    /// The node that is looked at with all below it; names of files begin there.
    pub base: &'a Node,
    /// All nodes that are known there.
    pub known: &'a [Node],
    /// Nodes that are there, though they cannot be opened.
    pub broken: &'a [NodePath],
    /// Those whose files are looked for.
    pub nodes: &'a HashSet<NodePath>,
    /// Of an array that may have more chunks, only the upper folder is listed.
    pub max_chunks: u64,
}

/// The files among the wanted nodes.
///
/// # Errors
/// What listing meets.
pub(crate) fn find(wanted: &Wanted<'_>) -> Result<OtherFiles> {
    let hierarchy = wanted.base.hierarchy();
    let store = hierarchy.store().to_sync();
    let capabilities = store.capabilities();
    if !capabilities.list && !capabilities.lists_some {
        return Ok(OtherFiles { is_unknown: true, ..OtherFiles::default() });
    }
    let format = hierarchy.format().clone();
    let mut walk = Walk {
        wanted,
        format: &*format,
        links: Links::of(&store.name()),
        store: store.clone(),
        folders: HashMap::new(),
        above: HashSet::new(),
        below_arrays: HashMap::new(),
        files: BTreeMap::new(),
        seen: BTreeSet::new(),
        second: (0, None),
        found: OtherFiles::default(),
    };
    match walk.run() {
        // Servers that refuse a listing, and web servers without an index, let their values be read all the same.
        Err(e) if is_refusal(&e) || e.kind() == ErrorKind::NotCapable => {
            Ok(OtherFiles { is_unknown: true, ..OtherFiles::default() })
        }
        Err(e) => Err(e),
        Ok(()) => {
            let Walk { files, second, mut found, .. } = walk;
            if let (count, Some(example)) = second {
                let here = format.name();
                found.second = Some(match count {
                    1 => format!(
                        "`{example}`: a second document of a node, which readers of {here} ignore"
                    ),
                    _ => format!(
                        "{count} second documents of nodes, such as `{example}`, which readers of {here} ignore"
                    ),
                });
            }
            found.is_partial = capabilities.lists_some;
            found.files = files.into_values().collect();
            Ok(found)
        }
    }
}

/// Whether a store far away refuses listings to this caller.
pub(crate) fn is_refusal(error: &Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, Unsupported};
    match error.cause() {
        zarr_core::Cause::Store(StoreError::Io { source, .. }) => {
            let is_local = error.store().is_some_and(|name| name.starts_with("file://"));
            !is_local && [PermissionDenied, Unsupported].contains(&source.kind())
        }
        _ => false,
    }
}

/// The key of a file in another hierarchy: below the node at `at`. In a draft, documents and chunks are apart; files that lie
/// directly in the root stay there, and others are among the chunks.
///
/// # Errors
/// For a name that makes no key.
pub(crate) fn key_in(format: &dyn Format, at: &NodePath, name: &str) -> Result<StoreKey> {
    let is_at_top = at.is_root() && !name.contains('/');
    if format.dialect() == Dialect::Draft && is_at_top {
        return Ok(StoreKey::new(name)?);
    }
    let prefix = match format.dialect() {
        Dialect::Draft => format.chunk_prefix(at)?,
        _ => format.children_prefix(at)?,
    };
    Ok(prefix.key(name)?)
}

/// The folder of a known node.
struct Folder {
    path: NodePath,
    array: Option<Arc<ArrayMetadata>>,
}

struct Walk<'a> {
    wanted: &'a Wanted<'a>,
    format: &'a dyn Format,
    links: Option<Links>,
    store: Arc<dyn SyncStore>,
    /// The folders of all known nodes, by their prefixes.
    folders: HashMap<String, Folder>,
    /// The prefixes above those.
    above: HashSet<String>,
    /// The children that arrays of drafts may have, by the prefix of the array.
    below_arrays: HashMap<String, Vec<(StorePrefix, NodePath)>>,
    /// By name.
    files: BTreeMap<String, OtherFile>,
    /// Links and folders that are told already.
    seen: BTreeSet<String>,
    /// Documents of another dialect beside those of known nodes: how many, and the first of them.
    second: (u64, Option<String>),
    found: OtherFiles,
}

impl Walk<'_> {
    fn run(&mut self) -> Result<()> {
        let arrays = self
            .wanted
            .known
            .iter()
            .map(|node| (node.path().clone(), node.as_array().map(zarr_core::Array::metadata)));
        let broken = self.wanted.broken.iter().map(|path| (path.clone(), None));
        for (path, array) in arrays.chain(broken) {
            for prefix in [self.format.chunk_prefix(&path)?, self.format.children_prefix(&path)?] {
                let text = prefix.as_str();
                let ends = text.trim_end_matches('/').match_indices('/');
                self.above.extend(ends.map(|(at, _)| text[..=at].to_owned()));
                if self.format.dialect() == Dialect::Draft
                    && let Some(parent) = text.trim_end_matches('/').rfind('/')
                {
                    let below = self.below_arrays.entry(text[..=parent].to_owned()).or_default();
                    below.push((prefix.clone(), path.clone()));
                }
                let folder = Folder { path: path.clone(), array: array.clone() };
                self.folders.insert(text.to_owned(), folder);
            }
        }
        let base = self.wanted.base.path().clone();
        let is_draft = self.format.dialect() == Dialect::Draft;
        let starts = if is_draft && base.is_root() {
            vec![StorePrefix::root()]
        } else {
            let mut prefixes =
                vec![self.format.chunk_prefix(&base)?, self.format.children_prefix(&base)?];
            prefixes.dedup();
            prefixes
        };
        for start in starts {
            self.node(&start, &base)?;
        }
        Ok(())
    }

    fn list(&self, prefix: &StorePrefix, deep: bool) -> Result<Listing> {
        let listed = if deep {
            self.store.list_prefix(prefix)
        } else {
            self.store.list_dir(prefix, ListOptions::CANDIDATES)
        };
        listed.map_err(|e| Error::from(e).at_store(self.store.name()))
    }

    /// Looks through the folder of a node, or one above the folders of nodes, and through all below it.
    fn node(&mut self, prefix: &StorePrefix, owner: &NodePath) -> Result<()> {
        let mut folders = vec![(prefix.clone(), owner.clone())];
        while let Some((prefix, owner)) = folders.pop() {
            let is_wanted = self.wanted.nodes.contains(&owner);
            let array = self.folders.get(prefix.as_str()).and_then(|it| it.array.clone());
            if let Some(array) = array {
                if is_wanted {
                    self.array(&prefix, &owner, &array)?;
                }
                let below = self.below_arrays.get(prefix.as_str()).cloned();
                folders.extend(below.into_iter().flatten());
                continue;
            }
            let listing = self.list(&prefix, false)?;
            if is_wanted {
                self.unnamed(&listing);
                self.dangling(&prefix, &owner, false);
                self.keys(&listing.keys, &prefix, &owner);
            }
            for below in listing.prefixes {
                let text = below.as_str();
                if let Some(folder) = self.folders.get(text) {
                    folders.push((below.clone(), folder.path.clone()));
                } else if self.above.contains(text) {
                    folders.push((below, owner.clone()));
                } else if is_wanted {
                    self.subtree(&below, &owner)?;
                }
            }
        }
        Ok(())
    }

    /// Looks through all that is stored below an array.
    fn array(
        &mut self,
        prefix: &StorePrefix,
        owner: &NodePath,
        array: &ArrayMetadata,
    ) -> Result<()> {
        let count =
            array.grid.as_deref().and_then(|grid| zarr_core::grid::chunk_count(grid, &array.shape));
        let mut max_chunks = self.wanted.max_chunks;
        if self.store.capabilities().lists_some {
            max_chunks = max_chunks.min(MAX_CHUNKS_BY_INDEX);
        }
        let is_deep = count.is_some_and(|count| count <= max_chunks);
        let mut listing = self.list(prefix, is_deep)?;
        if has_unknown_keys(array) {
            // All that is there may be chunks.
            self.unnamed(&listing);
            self.dangling(prefix, owner, false);
            return Ok(());
        }
        for below in &listing.prefixes {
            let name = below.as_str().trim_end_matches('/');
            // Folders of chunks are called as chunks may be.
            if !StoreKey::new(name).is_ok_and(|key| is_zarr_key(&key)) {
                self.subtree(below, owner)?;
            }
        }
        self.unnamed(&listing);
        self.dangling(prefix, owner, false);
        // A key of a chunk is one whatever lies beside it.
        listing
            .keys
            .retain(|key| !prefix.strip(key).is_some_and(|name| array.may_have_chunk(name)));
        self.keys(&listing.keys, prefix, owner);
        Ok(())
    }

    /// Looks through a folder in which no node is known.
    fn subtree(&mut self, prefix: &StorePrefix, owner: &NodePath) -> Result<()> {
        let text = prefix.as_str().trim_end_matches('/');
        if let Some(part) = system_part(text) {
            self.leave_out(part);
            return Ok(());
        }
        if self.is_unkept(text) {
            return Ok(());
        }
        let listing = self.list(prefix, true)?;
        self.unnamed(&listing);
        self.dangling(prefix, owner, true);
        self.keys(&listing.keys, prefix, owner);
        Ok(())
    }

    /// Says of each key below a prefix what it is.
    fn keys(&mut self, keys: &[StoreKey], prefix: &StorePrefix, owner: &NodePath) {
        let own = self.folders.get(prefix.as_str()).map(|folder| folder.path.clone());
        let hidden = self.hidden_nodes(keys, prefix, own.is_some());
        let (mut orphans, mut orphan) = (0, None);
        for key in keys {
            let text = key.as_str();
            if let Some(part) = system_part(text) {
                self.leave_out(part);
                continue;
            }
            let folder = text.rfind('/').map_or("", |at| &text[..=at]);
            // Of sorted folders of which none is in another.
            let before = hidden.partition_point(|hidden| hidden.as_str() <= folder);
            if hidden[..before].last().is_some_and(|hidden| folder.starts_with(hidden.as_str())) {
                continue;
            }
            let name = text.rsplit('/').next().unwrap_or_default();
            if is_document_name(name) {
                let is_own =
                    own.is_some() && folder == prefix.as_str() || self.folders.contains_key(folder);
                let of_other = match self.format.dialect() {
                    Dialect::V3 => [".zarray", ".zgroup"].contains(&name),
                    Dialect::V2 => name == "zarr.json",
                    _ => false,
                };
                if is_own && of_other {
                    self.second.0 += 1;
                    self.second.1.get_or_insert_with(|| text.to_owned());
                }
                continue;
            }
            if is_zarr_key(key) {
                // What looks like a chunk of another shape in the folder of an array is of no use to anybody.
                let is_in_array =
                    self.folders.get(prefix.as_str()).is_some_and(|it| it.array.is_some());
                if !is_in_array && !self.is_draft_document(key) {
                    orphans += 1;
                    orphan.get_or_insert(key);
                }
                continue;
            }
            if !self.is_unkept(text) {
                self.add(key, owner);
            }
        }
        if let Some(example) = orphan {
            let keys = match orphans {
                1 => format!("`{example}` looks like a chunk"),
                count => format!("{count} keys look like chunks, such as `{example}`"),
            };
            let folder = prefix.as_str().trim_end_matches('/');
            self.found.lost.push(format!("/{folder}: {keys}, and no array is there"));
        }
    }

    /// Whether this is a document of a draft, whose nodes are known by other keys.
    fn is_draft_document(&self, key: &StoreKey) -> bool {
        self.format.dialect() == Dialect::Draft && key.as_str().starts_with("meta/")
    }

    /// The folders of nodes that readers of this dialect pass over, each of which is told: nodes of another dialect, nodes
    /// below arrays, and what has a name that no node may have.
    fn hidden_nodes(
        &mut self,
        keys: &[StoreKey],
        prefix: &StorePrefix,
        is_node: bool,
    ) -> Vec<String> {
        let mut hidden: BTreeMap<String, &StoreKey> = BTreeMap::new();
        for key in keys {
            let (folder, name) = key.as_str().rsplit_once('/').unwrap_or(("", key.as_str()));
            let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
            let makes_node = ["zarr.json", ".zarray", ".zgroup"].contains(&name);
            let is_own = is_node && folder == prefix.as_str() || self.folders.contains_key(&folder);
            if makes_node && !is_own && system_part(&folder).is_none() && !folder.is_empty() {
                hidden.entry(folder).or_insert(key);
            }
        }
        let mut top: Vec<String> = Vec::new();
        // Outer folders sort before inner ones.
        for (folder, key) in hidden {
            if top.last().is_some_and(|above| folder.starts_with(above.as_str())) {
                continue;
            }
            let name = key.as_str().rsplit('/').next().unwrap_or_default();
            let dialect = if name == "zarr.json" { "v3" } else { "v2" };
            let at = folder.trim_end_matches('/');
            let here = self.format.name();
            let why = if dialect == self.format.dialect().name() {
                let is_in_array =
                    self.folders.get(prefix.as_str()).is_some_and(|it| it.array.is_some());
                if is_in_array || NodePath::new(at).is_ok_and(|at| self.is_reserved(&at)) {
                    format!("readers look for no node there, but `{key}` describes one")
                } else if let Some(array) = self.array_above(at) {
                    format!("is below the array {array}; arrays have no members")
                } else {
                    let hierarchy = self.wanted.base.hierarchy();
                    let what = match hierarchy.is_consolidated() {
                        Ok(true) => "the consolidated metadata do not name it",
                        _ => "no listing of nodes names it",
                    };
                    format!("{what}, but `{key}` describes it")
                }
            } else {
                format!("readers of {here} ignore it, because `{key}` is a document of {dialect}")
            };
            self.found.hidden.push((format!("/{at}"), why));
            top.push(folder);
        }
        top
    }

    /// The array in whose folder, or below it, a folder is.
    fn array_above(&self, folder: &str) -> Option<&NodePath> {
        let mut above = folder.match_indices('/').map(|(at, _)| &folder[..=at]);
        above.find_map(|above| {
            let node = self.folders.get(above).filter(|node| node.array.is_some())?;
            Some(&node.path)
        })
    }

    /// Whether no node may have the name.
    fn is_reserved(&self, path: &NodePath) -> bool {
        path.names().any(|name| self.format.check_name(name).is_err())
    }

    /// Names what no key can say.
    fn unnamed(&mut self, listing: &Listing) {
        for name in &listing.left_out {
            if system_part(name).is_none() && self.seen.insert(name.clone()) {
                self.found.lost.push(format!("`{name}`: no key can have this name"));
            }
        }
    }

    fn leave_out(&mut self, part: &str) {
        if self.seen.insert(part.to_owned()) {
            self.found.left_out.push(format!("`{part}` is not part of the data"));
        }
    }

    /// Whether copies do not take a key along, since a link on the way leads out of the hierarchy or it is no file; told once.
    fn is_unkept(&mut self, key: &str) -> bool {
        let Some(links) = &mut self.links else { return false };
        let Some(unkept) = links.unkept(key) else { return false };
        if self.seen.insert(unkept.key) {
            self.found.lost.push(unkept.message);
        }
        true
    }

    /// Names links to nothing, which no listing has.
    fn dangling(&mut self, prefix: &StorePrefix, owner: &NodePath, deep: bool) {
        let Some(links) = &self.links else { return };
        let array = self.folders.get(prefix.as_str()).and_then(|folder| folder.array.clone());
        for key in links.dangling(prefix.as_str(), deep) {
            let name = key.strip_prefix(prefix.as_str()).unwrap_or(&key);
            let is_chunk = array.as_ref().is_some_and(|array| array.may_have_chunk(name));
            let is_zarrs = StoreKey::new(&*key).is_ok_and(|key| is_zarr_key(&key));
            if !is_chunk
                && !is_zarrs
                && system_part(&key).is_none()
                && self.seen.insert(key.clone())
            {
                self.found.lost.push(format!("`{key}`, in {owner}, is a link to nothing"));
            }
        }
    }

    fn add(&mut self, key: &StoreKey, owner: &NodePath) {
        let base = self.wanted.base.path();
        let prefixes = [self.format.chunk_prefix(base), self.format.children_prefix(base)];
        let below = prefixes.iter().flatten().find_map(|prefix| prefix.strip(key));
        let name = below.unwrap_or(key.as_str()).to_owned();
        let file = OtherFile { key: key.clone(), name: name.clone(), owner: owner.clone() };
        if let Some(there) = self.files.get(&name) {
            if there.key == *key {
                return;
            }
            let what = format!("`{key}`: a file `{}` has the same place in a copy", there.key);
            self.found.lost.push(what);
            return;
        }
        self.files.insert(name, file);
    }
}

/// The nodes below a node that readers pass over without a word: those of another dialect, and those below arrays. Looks at
/// stores of this machine only, where a listing of each node costs nothing.
///
/// # Errors
/// What listing meets.
pub fn hidden_nodes(base: &Node) -> Result<Vec<Warning>> {
    let hierarchy = base.hierarchy();
    if !hierarchy.store().capabilities().local || !hierarchy.format().groups_are_explicit() {
        return Ok(Vec::new());
    }
    let (known, broken) = match base {
        Node::Array(_) => (vec![base.clone()], Vec::new()),
        Node::Group(_) => nodes_and_broken(base)?,
    };
    let broken: Vec<NodePath> = broken.into_iter().map(|(path, _)| path).collect();
    let nodes = known.iter().map(|node| node.path().clone()).collect();
    let wanted = Wanted { base, known: &known, broken: &broken, nodes: &nodes, max_chunks: 0 };
    let hidden = find(&wanted)?.hidden.into_iter();
    Ok(hidden.map(|(place, what)| Warning { place, what }).collect())
}
