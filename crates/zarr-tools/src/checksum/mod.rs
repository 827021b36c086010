//! Computes checksums of what nodes are, whatever their dialects, chunks, codecs and stores.
//!
//! `docs/checksum.md` defines the canonical form to the byte. `logical` tells what of an array counts, `canonical_json` writes
//! it, `blocks` divides the elements and joins hashes, `lines` reads and hashes them.

pub(crate) mod blocks;
pub(crate) mod canonical_json;
pub(crate) mod lines;
pub(crate) mod logical;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};
use zarr_core::runtime::available_threads;
use zarr_core::{
    AccessError, Array, CancelToken, Error, Group, Json, Node, NodeKind, Object, Region, Result,
};

use self::blocks::{Division, Tree};
use self::lines::{Canonical, LineHasher, Pieces, piece_lengths};
use self::logical::Logical;
use crate::copy::holes::touched_blocks;
use crate::ome;
use crate::size::byte_count;
use crate::tree_progress::{TreeProgress, check_size, relative};

/// A SHA-256 hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Digest {
    type Err = AccessError;

    /// Reads 64 hexadecimal digits.
    fn from_str(text: &str) -> Result<Digest, AccessError> {
        let mut bytes = [0; 32];
        let is_hex = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_hex {
            return Err(AccessError::Argument(format!(
                "`{text}` is not a SHA-256 hash in 64 hexadecimal digits"
            )));
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap_or(0);
        }
        Ok(Digest(bytes))
    }
}

/// How checksums are computed.
#[derive(Default)]
pub struct ChecksumOptions<'a> {
    /// About how many bytes of elements are held at once; 0 for 256 MiB. A chunk that is larger is decoded several times.
    pub memory: u64,
    /// Threads that hash; 0 for as many as the machine has. Those that read are of the options of the hierarchy.
    pub threads: usize,
    /// Keeps the hashes of all blocks, in [`Blocks::levels`].
    pub regions: bool,
    /// The most bytes of elements that all arrays may have, stored or not; 0 for 16 TiB. A document can claim any shape.
    pub max_size: u64,
    /// Cancels the call.
    pub cancel: Option<CancelToken>,
    /// Called after each piece of elements and after each node.
    pub progress: Option<&'a (dyn Fn(&TreeProgress) + Sync)>,
}

/// The checksum of a node with all below it.
#[derive(Clone, Debug)]
pub struct Checksum {
    /// That of the whole tree.
    pub digest: Digest,
    /// Each node, sorted by path, the node itself first.
    pub nodes: Vec<NodeChecksum>,
}

/// The checksum of one node in a tree.
#[derive(Clone, Debug)]
pub struct NodeChecksum {
    /// Its path from the node of which the checksum is; `/` for that one.
    pub path: String,
    /// Whether it is a group or an array.
    pub kind: NodeKind,
    /// Its checksum; of a group with all below it.
    pub digest: Digest,
    /// The blocks of an array.
    pub blocks: Option<Blocks>,
    /// The attributes that count, of a group in canonical JSON.
    attributes: String,
}

/// The hashes of an array's logical blocks, joined level by level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The shape of the array.
    pub shape: Vec<u64>,
    /// The shape of a block; one at the end of the array may be shorter.
    pub block_shape: Vec<u64>,
    /// The hashes of blocks in C order, then those of each 256 of them, and so on to the only one of the last level. Without
    /// [`ChecksumOptions::regions`] the level of the blocks is left out.
    pub levels: Vec<Vec<Digest>>,
}

impl Blocks {
    /// Which elements a block has, by its number in C order.
    pub fn region(&self, number: u64) -> zarr_core::Region {
        let size = Division {
            block: self.block_shape.clone(),
            shape: self.shape.clone(),
            counts: self.counts(),
        };
        zarr_core::Region::new(size.intervals(&size.index(number)))
    }

    fn counts(&self) -> Vec<u64> {
        self.shape.iter().zip(&self.block_shape).map(|(len, block)| len.div_ceil(*block)).collect()
    }
}

impl NodeChecksum {
    /// The checksum that this group has if its members have these names and checksums. `None` for an array.
    ///
    /// It tells whether a group differs by itself, or only by what is in it.
    pub fn with_members<'m>(
        &self,
        members: impl IntoIterator<Item = (&'m str, Digest)>,
    ) -> Option<Digest> {
        (self.kind == NodeKind::Group)
            .then(|| group_digest(&self.attributes, &members.into_iter().collect()))
    }
}

const ARRAY_TAG: &str = "zarr.array.1\n";
const GROUP_TAG: &str = "zarr.group.1\n";

/// Computes the checksum of a node with all below it: of what it is, not of how it is stored. Copies in any dialect, with any
/// chunks and codecs, in any store, have the same checksum, unless the copy said that it did not keep something.
///
/// ```
/// # fn main() -> zarr_core::Result<()> {
/// # fn example(node: &zarr_core::Node) -> zarr_core::Result<()> {
/// let checksum = zarr_tools::checksum(node, &Default::default())?;
/// println!("{}", checksum.digest);
/// for node in &checksum.nodes {
///     println!("{}  {}", node.digest, node.path);
/// }
/// # Ok(())
/// # }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// What reading any node or chunk meets; [`AccessError::TooLarge`] for more elements than [`ChecksumOptions::max_size`];
/// [`AccessError::Cancelled`].
pub fn checksum(node: &Node, options: &ChecksumOptions<'_>) -> Result<Checksum> {
    let nodes = crate::tree_progress::open_all(node)?;
    let levels = ome::levels_among(&nodes);
    let logical = nodes
        .iter()
        .map(|node| node.as_array().map(|array| Logical::of(array, levels.contains(array.path()))));
    let logical: Vec<Option<Logical>> = logical.collect();
    let bytes = logical.iter().flatten().map(Logical::size);
    let mut progress = TreeProgress {
        nodes_total: nodes.len() as u64,
        bytes_total: bytes.fold(0, u64::saturating_add),
        ..TreeProgress::default()
    };
    check_size(progress.bytes_total, options.max_size).map_err(|e| e.at_path(node.path()))?;
    let mut done: Vec<NodeChecksum> = Vec::with_capacity(nodes.len());
    // The members of groups whose turn comes later, by the path of the group.
    let mut members: BTreeMap<String, BTreeMap<String, Digest>> = BTreeMap::new();
    for (found, logical) in nodes.iter().zip(&logical).rev() {
        let path = relative(node.path(), found.path());
        progress.path = Some(found.path().clone());
        let checksum = match (found, logical) {
            (Node::Array(array), Some(logical)) => {
                let (digest, blocks) = array_digest(array, logical, options, &mut progress)
                    .map_err(|e| at(e, array))?;
                let kind = NodeKind::Array;
                NodeChecksum { path, kind, digest, blocks: Some(blocks), attributes: String::new() }
            }
            (other, _) => group_checksum(other.as_group(), path, &members),
        };
        if let Some((parent, name)) =
            checksum.path.rsplit_once('/').filter(|(_, name)| !name.is_empty())
        {
            let parent = if parent.is_empty() { "/" } else { parent };
            let name = name.to_owned();
            members.entry(parent.to_owned()).or_default().insert(name, checksum.digest);
        }
        done.push(checksum);
        progress.nodes_done += 1;
        if let Some(call) = options.progress {
            call(&progress);
        }
    }
    done.reverse();
    let Some(first) = done.first() else {
        let looked_for = "the node".to_owned();
        return Err(Error::from(AccessError::NotFound { looked_for }).at_path(node.path()));
    };
    Ok(Checksum { digest: first.digest, nodes: done })
}

fn at(error: Error, array: &Array) -> Error {
    match error.path() {
        Some(_) => error,
        None => error.at_store(array.hierarchy().store().name()).at_path(array.path()),
    }
}

fn group_checksum(
    group: Option<&Group>,
    path: String,
    members: &BTreeMap<String, BTreeMap<String, Digest>>,
) -> NodeChecksum {
    let none = Object::new();
    let attributes = logical::node_attributes(group.map_or(&none, Group::attributes));
    let attributes = canonical_json::text_of(&attributes.into());
    let none = BTreeMap::new();
    let members = members.get(&path).unwrap_or(&none);
    let members = members.iter().map(|(name, digest)| (name.as_str(), *digest)).collect();
    let digest = group_digest(&attributes, &members);
    NodeChecksum { path, kind: NodeKind::Group, digest, blocks: None, attributes }
}

/// The checksum of a group: of its attributes, and of its members' names and checksums.
fn group_digest(attributes: &str, members: &BTreeMap<&str, Digest>) -> Digest {
    let members = members.iter().map(|(name, digest)| {
        let digest = Json::from(digest.to_string());
        ((*name).to_owned(), digest)
    });
    let members = Object::from_iter(members);
    let members = canonical_json::text_of(&members.into());
    let hash = Sha256::new_with_prefix(GROUP_TAG);
    let hash = hash.chain_update(format!("{{\"attributes\":{attributes},\"members\":{members}}}"));
    Digest(hash.finalize().into())
}

fn array_digest(
    array: &Array,
    logical: &Logical,
    options: &ChecksumOptions<'_>,
    progress: &mut TreeProgress,
) -> Result<(Digest, Blocks)> {
    let blocks = hash_blocks(array, logical, options, progress)?;
    let root = blocks.levels.last().and_then(|level| level.first()).copied();
    let root = root.expect("the last level has one hash");
    let hash = Sha256::new_with_prefix(ARRAY_TAG).chain_update(logical.header());
    let hash = hash.chain_update("\n").chain_update(root.0);
    Ok((Digest(hash.finalize().into()), blocks))
}

/// The hashes of the blocks of an array.
fn hash_blocks(
    array: &Array,
    logical: &Logical,
    options: &ChecksumOptions<'_>,
    progress: &mut TreeProgress,
) -> Result<Blocks> {
    let array = array.with_options(|reading| {
        if options.cancel.is_some() {
            reading.cancel.clone_from(&options.cancel);
        }
    });
    let element = logical.element_size();
    let division = Division::new(&logical.shape, element);
    let count = division.count().filter(|_| logical.size() < u64::MAX).ok_or_else(|| {
        let shape = &logical.shape;
        AccessError::Argument(format!(
            "an array of shape {shape:?} has more elements than can be read"
        ))
    })?;
    let chunk = array.chunk_shape().unwrap_or_else(|| array.metadata().chunk_extent());
    let memory = if options.memory == 0 { DEFAULT_MEMORY_BYTES } else { options.memory };
    let lengths = piece_lengths(&division, &chunk, element, memory);
    let hasher = LineHasher::new(&division, available_threads(options.threads));
    let mut tree = Tree::new(count, options.regions);
    // A chunk is decoded for each block in which it lies: that must cost less than to read all blocks.
    let again = byte_count(element, &chunk) / byte_count(element, &division.block).max(1) + 1;
    let touched = touched_blocks(&array, &logical.shape, &division.block, memory)?;
    let touched = touched.filter(|touched| touched.len() as u64 <= count / again / 2);
    if let Some(touched) = &touched {
        let mut fill: HashMap<Vec<u64>, Digest> = HashMap::new();
        for number in 0..count {
            if options.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
                return Err(AccessError::Cancelled.into());
            }
            let block = Region::new(division.intervals(&division.index(number)));
            let shape = block.shape();
            let is_fill = !touched.contains(&number);
            let hash = match fill.get(&shape).filter(|_| is_fill) {
                Some(hash) => *hash,
                None => {
                    let read = if is_fill { Canonical::read_fill } else { Canonical::read };
                    hasher.whole(number, &block, &read(&array, logical, &block)?)?
                }
            };
            tree.add(number, hash);
            progress.bytes_done = progress.bytes_done.saturating_add(byte_count(element, &shape));
            if !is_fill || number % blocks::FAN == 0 {
                options.progress.iter().for_each(|call| call(progress));
            }
            if is_fill {
                fill.entry(shape).or_insert(hash);
            }
        }
    }
    let pieces = Pieces::new(&logical.shape, lengths);
    let count = if touched.is_none() { pieces.count() } else { 0 };
    for piece in (0..count).map(|number| pieces.region(number)) {
        if options.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
            return Err(AccessError::Cancelled.into());
        }
        let elements = Canonical::read(&array, logical, &piece)?;
        hasher.add(&piece, &elements, &mut tree)?;
        let read = piece.element_count().unwrap_or(u64::MAX).saturating_mul(element);
        progress.bytes_done = progress.bytes_done.saturating_add(read);
        if let Some(call) = options.progress {
            call(progress);
        }
    }
    let Division { shape, block: block_shape, .. } = division.clone();
    Ok(Blocks { shape, block_shape, levels: tree.levels() })
}

/// About how many bytes of elements are held at once.
const DEFAULT_MEMORY_BYTES: u64 = 256 << 20;
