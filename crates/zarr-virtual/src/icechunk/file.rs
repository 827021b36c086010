//! Reads the files of an Icechunk repository: their header, and what they hold (V-074).

use std::collections::BTreeMap;
use std::io::Read;

use zarr_core::store::Bytes;

use super::flatbuffer::Table;

const MAGIC: &[u8; 12] = b"ICE\xf0\x9f\xa7\x8aCHUNK";
/// The magic, the name of the writer, the version, the kind and the compression.
const HEADER: usize = 39;
/// The latest version of the specification that is read.
const MAX_VERSION: u8 = 2;
/// The most bytes that a file decompresses to.
const MAX_DECOMPRESSED: u64 = 512 << 20;
/// The most bytes of a location.
const MAX_LOCATION: usize = 64 << 10;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Snapshot = 1,
    Manifest = 2,
    Repository = 6,
}

/// Whether a file begins as one of Icechunk's.
pub(crate) fn is_icechunk(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// The buffer in a file of this kind.
///
/// # Errors
/// A sentence that says what is wrong.
pub(super) fn decode(file: &[u8], kind: Kind) -> Result<Bytes, String> {
    let Some((header, body)) = file.split_at_checked(HEADER) else {
        return Err(format!("{} bytes are too short for the header of a file", file.len()));
    };
    if !is_icechunk(header) {
        return Err("it does not begin with the signature of an Icechunk file".into());
    }
    let (version, found, compression) = (header[36], header[37], header[38]);
    if version == 0 || version > MAX_VERSION {
        return Err(format!("version {version} of Icechunk, expected at most {MAX_VERSION}"));
    }
    if found != kind as u8 {
        return Err(format!("a file of type {found}, expected {} ({kind:?})", kind as u8));
    }
    match compression {
        0 => Ok(Bytes::copy_from_slice(body)),
        1 => {
            let decoder =
                zstd::stream::read::Decoder::with_buffer(body).map_err(|e| format!("zstd: {e}"))?;
            let mut buffer = Vec::new();
            decoder
                .take(MAX_DECOMPRESSED + 1)
                .read_to_end(&mut buffer)
                .map_err(|e| format!("zstd: {e}"))?;
            if buffer.len() as u64 > MAX_DECOMPRESSED {
                return Err(format!("it has more than {MAX_DECOMPRESSED} bytes"));
            }
            Ok(buffer.into())
        }
        other => Err(format!("compression {other} is not known")),
    }
}

/// The name of a file in the repository, as text in Crockford's base 32.
pub(super) fn name(id: &[u8]) -> String {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let (mut text, mut pending, mut bits) = (String::new(), 0u32, 0);
    for byte in id {
        pending = (pending << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(char::from(DIGITS[(pending >> bits) as usize & 31]));
        }
        pending &= (1 << bits) - 1;
    }
    if bits > 0 {
        text.push(char::from(DIGITS[(pending << (5 - bits)) as usize & 31]));
    }
    text
}

/// Where a repository's file `repo` says that a branch, a tag or a snapshot is.
pub(super) fn snapshot_in_repository(buffer: &[u8], wanted: &Wanted) -> Result<String, String> {
    let repository = Table::root(buffer)?;
    if repository.table(5)?.u8(0)? == 2 {
        return Err("the repository's status is offline".into());
    }
    let snapshots = repository.vector(4, 4)?;
    let (field, what, named) = match wanted {
        Wanted::Snapshot(id) => {
            for index in 0..snapshots.len {
                if name(&snapshots.table(index)?.id::<12>(0)?) == *id {
                    return Ok(id.clone());
                }
            }
            return Err(format!("it has no snapshot `{id}`"));
        }
        Wanted::Branch(named) => (2, "branch", named),
        Wanted::Tag(named) => (1, "tag", named),
    };
    let refs = repository.vector(field, 4)?;
    let mut known = Vec::new();
    for index in 0..refs.len {
        let reference = refs.table(index)?;
        let found = reference.text(0)?;
        if found == named {
            let at = reference.u32(1)? as usize;
            if at >= snapshots.len {
                return Err(format!("{what} `{named}` is snapshot {at} of {}", snapshots.len));
            }
            return Ok(name(&snapshots.table(at)?.id::<12>(0)?));
        }
        if known.len() < 10 {
            known.push(format!("`{found}`"));
        }
    }
    Err(format!("it has no {what} `{named}`; expected one of {}", known.join(", ")))
}

/// What of a repository is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The newest snapshot of a branch.
    Branch(String),
    /// The snapshot of a tag.
    Tag(String),
    /// The snapshot of this identifier.
    Snapshot(String),
}

/// A node of a snapshot.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub path: String,
    pub id: [u8; 8],
    /// `zarr.json`.
    pub document: Bytes,
    /// Of an array; `None` for a group.
    pub manifests: Option<Vec<ManifestRef>>,
}

/// A manifest that has chunks of an array.
#[derive(Clone, Debug)]
pub(super) struct ManifestRef {
    pub id: [u8; 12],
    /// For each axis the first index, and one past the last.
    extents: Vec<(u32, u32)>,
}

impl ManifestRef {
    /// Whether the manifest may have a chunk.
    pub fn covers(&self, indices: &[u32]) -> bool {
        self.extents.len() == indices.len()
            && indices
                .iter()
                .zip(&self.extents)
                .all(|(index, (from, to))| (*from..*to).contains(index))
    }
}

/// The nodes of a snapshot, in its order.
pub(super) fn nodes(buffer: &Bytes) -> Result<Vec<Node>, String> {
    let snapshot = Table::root(buffer)?;
    let list = snapshot.vector(2, 4)?;
    let mut nodes = Vec::new();
    for index in 0..list.len {
        let node = list.table(index)?;
        let manifests = match node.u8(3)? {
            1 => Some(manifests(&node.table(4)?)?),
            2 => None,
            other => return Err(format!("a node of kind {other}")),
        };
        let path = node.text(1)?.trim_matches('/').to_owned();
        let document = buffer.slice_ref(node.bytes(2)?);
        nodes.push(Node { path, id: node.id(0)?, document, manifests });
    }
    Ok(nodes)
}

fn manifests(array: &Table<'_>) -> Result<Vec<ManifestRef>, String> {
    let list = array.vector(2, 4)?;
    let mut manifests = Vec::new();
    for index in 0..list.len {
        let reference = list.table(index)?;
        // Each is a pair of numbers.
        let extents = reference.vector(1, 8)?;
        let numbers: Vec<u32> = extents.pairs().collect();
        let extents = numbers.as_chunks::<2>().0.iter().map(|[from, to]| (*from, *to)).collect();
        manifests.push(ManifestRef { id: reference.id(0)?, extents });
    }
    Ok(manifests)
}

/// Where a chunk is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    Inline(Bytes),
    /// In a file of the repository.
    Native {
        id: [u8; 12],
        offset: u64,
        length: u64,
    },
    /// In another file.
    Virtual {
        location: String,
        offset: u64,
        length: u64,
        check: Check,
    },
}

/// What a target must be for a reference to it to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Check {
    pub etag: Option<String>,
    /// Seconds since 1970.
    pub last_modified: Option<u32>,
}

/// The references of an array in a manifest, sorted by their indices; none if the manifest has none of it.
fn refs<'b>(
    manifest: &Table<'b>,
    node: &[u8; 8],
) -> Result<Option<super::flatbuffer::Vector<'b>>, String> {
    let arrays = manifest.vector(1, 4)?;
    let (mut low, mut high) = (0, arrays.len);
    while low < high {
        let middle = low + (high - low) / 2;
        let array = arrays.table(middle)?;
        match array.id::<8>(0)?.cmp(node) {
            std::cmp::Ordering::Equal => return array.vector(1, 4).map(Some),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Ok(None)
}

/// The chunk of an array with these indices, if a manifest has it.
pub(super) fn find_chunk(
    buffer: &Bytes,
    node: &[u8; 8],
    indices: &[u32],
) -> Result<Option<Chunk>, String> {
    let manifest = Table::root(buffer)?;
    let Some(refs) = refs(&manifest, node)? else { return Ok(None) };
    let (mut low, mut high) = (0, refs.len);
    while low < high {
        let middle = low + (high - low) / 2;
        let reference = refs.table(middle)?;
        let found = reference.vector(0, 4)?.u32s();
        match found.cmp(indices.iter().copied()) {
            std::cmp::Ordering::Equal => return chunk(buffer, &manifest, &reference).map(Some),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Ok(None)
}

/// Calls `visit` with the indices of each chunk of an array in a manifest.
pub(super) fn for_each_chunk(
    buffer: &Bytes,
    node: &[u8; 8],
    mut visit: impl FnMut(Vec<u32>),
) -> Result<(), String> {
    let manifest = Table::root(buffer)?;
    let Some(refs) = refs(&manifest, node)? else { return Ok(()) };
    for index in 0..refs.len {
        visit(refs.table(index)?.vector(0, 4)?.u32s().collect());
    }
    Ok(())
}

/// Adds the files outside the repository that chunks of an array in a manifest are in. `key` is kept with those that are new.
pub(super) fn add_locations(
    buffer: &Bytes,
    node: &[u8; 8],
    key: &str,
    locations: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    let manifest = Table::root(buffer)?;
    let Some(refs) = refs(&manifest, node)? else { return Ok(()) };
    for index in 0..refs.len {
        if let Chunk::Virtual { location, .. } = chunk(buffer, &manifest, &refs.table(index)?)? {
            locations.entry(location).or_insert_with(|| key.to_owned());
        }
    }
    Ok(())
}

fn chunk(buffer: &Bytes, manifest: &Table<'_>, reference: &Table<'_>) -> Result<Chunk, String> {
    if reference.has(1) {
        return Ok(Chunk::Inline(buffer.slice_ref(reference.bytes(1)?)));
    }
    let (offset, length) = (reference.u64(2)?, reference.u64(3)?);
    if reference.has(4) {
        return Ok(Chunk::Native { id: reference.id(4)?, offset, length });
    }
    let location = if reference.has(5) {
        reference.text(5)?.to_owned()
    } else if reference.has(8) {
        decompressed_location(reference.bytes(8)?, manifest.bytes(2)?)?
    } else {
        return Err("a chunk that is neither inline nor in a file".into());
    };
    let etag = if reference.has(6) { Some(reference.text(6)?.to_owned()) } else { None };
    let last_modified = Some(reference.u32(7)?).filter(|seconds| *seconds > 0);
    Ok(Chunk::Virtual { location, offset, length, check: Check { etag, last_modified } })
}

fn decompressed_location(compressed: &[u8], dictionary: &[u8]) -> Result<String, String> {
    let mut decompressor = zstd::bulk::Decompressor::with_dictionary(dictionary)
        .map_err(|e| format!("a compressed location: {e}"))?;
    let location = decompressor
        .decompress(compressed, MAX_LOCATION)
        .map_err(|e| format!("a compressed location: {e}"))?;
    String::from_utf8(location).map_err(|_| "a location that is not UTF-8".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first snapshot of each repository, whose name is fixed.
    #[test]
    fn names_are_in_base_32() {
        let id = [0x0b, 0x1c, 0xc8, 0xd6, 0x78, 0x75, 0x80, 0xf0, 0xe3, 0x3a, 0x65, 0x34];
        assert_eq!(name(&id), "1CECHNKREP0F1RSTCMT0");
    }
}
