//! Damages a store in memory, one object at a time, and looks whether validation finds it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zarr::store::{Payload, Store, StoreKey, SyncStore};
use zarr::stores::MemoryStore;
use zarr::tools::validate::{Level, Problem, ProblemKind, ValidateOptions, validate_store};
use zarr::{Hierarchy, Json, Node, NodePath, OpenOptions};

use crate::stores::in_memory;

/// What one kind of damage came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// How many objects were damaged so.
    pub tried: u64,
    /// Found at their keys.
    pub found: u64,
    /// Every element and attribute reads as before: there is nothing to find.
    pub harmless: u64,
    /// Noted only: bytes at the end of a shard to which its index does not refer, as rewriting leaves them.
    pub noted: u64,
    /// Nothing in the store tells: no checksum, no second copy, no rule is broken.
    pub unprotected: u64,
    /// No build decodes them: pickled objects, for example.
    pub not_decoded: u64,
}

/// Counts by the kind of damage, and what was missed.
#[derive(Debug, Default)]
pub struct Outcome {
    pub counts: BTreeMap<&'static str, Count>,
    pub missed: Vec<String>,
}

/// How a damaged object must be reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    /// A new problem at its key, or every element reads as before.
    Found,
    /// It may be that nothing in the store tells.
    Unprotected,
}

/// A store in memory, and what is found in it undamaged.
pub struct Patient {
    id: String,
    values: Vec<(StoreKey, Vec<u8>)>,
    memory: Arc<MemoryStore>,
    store: Arc<dyn Store>,
    known: BTreeSet<(ProblemKind, Option<String>, String)>,
    /// Arrays that this build cannot decode.
    not_decoded: Vec<NodePath>,
    content: Option<Content>,
    pub outcome: Outcome,
}

/// What readers see: the nodes, their attributes and elements.
type Content = Vec<(NodePath, String, Vec<u8>)>;

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).threads(1)
}

fn found_in(store: &Arc<dyn Store>) -> Vec<Problem> {
    let how = ValidateOptions::new(Level::Data).expect_complete(true);
    let mut found = Vec::new();
    let report = validate_store(store, "/", &options(), &how, &mut |problem| {
        found.push(problem.clone());
    });
    // An error tells as well, but nothing of the place.
    drop(report);
    found
}

fn content(store: &Arc<dyn Store>) -> Option<Content> {
    let hierarchy = Hierarchy::open(store.clone(), &options()).ok()?;
    let nodes = hierarchy.nodes(NodePath::root()).ok()?;
    let read = |node: Node| {
        let attributes = Json::from(node.attributes()).to_string();
        Some(match &node {
            Node::Group(_) => (node.path().clone(), attributes, Vec::new()),
            Node::Array(array) => {
                let metadata = array.metadata();
                let described = format!(
                    "{attributes} {:?} {:?} {:?}",
                    metadata.shape, metadata.data_type, metadata.fill_value
                );
                (node.path().clone(), described, array.read_le_bytes(..).ok()?)
            }
        })
    };
    nodes.into_iter().map(read).collect()
}

impl Patient {
    pub fn new(id: &str, values: Vec<(StoreKey, Vec<u8>)>) -> Patient {
        let (memory, store) = in_memory(&values);
        let found = found_in(&store);
        let is_not_decoded = |problem: &&Problem| problem.kind == ProblemKind::NotChecked;
        let not_decoded = found.iter().filter(is_not_decoded).map(|p| p.path.clone()).collect();
        let known = found.into_iter().map(identity).collect();
        let content = content(&store);
        let outcome = Outcome::default();
        Patient { id: id.to_owned(), values, memory, store, known, not_decoded, content, outcome }
    }

    /// Does all damages to all objects.
    pub fn examine(&mut self, flips: usize) {
        for at in 0..self.values.len() {
            let (key, bytes) = self.values[at].clone();
            // What does not belong here is reported as it is.
            let is_stray = |(kind, at, _): &(ProblemKind, Option<String>, String)| {
                let is_conflict = *kind == ProblemKind::ConflictingDocuments;
                at.as_deref() == Some(key.as_str()) && (is_conflict || !is_document(key.as_str()))
            };
            if self.known.iter().any(is_stray) {
                continue;
            }
            if is_document(key.as_str()) {
                self.damage_document(&key, &bytes, flips);
            } else {
                self.damage_chunk(&key, &bytes, flips);
            }
        }
        self.exchange();
        self.strays();
    }

    fn damage_chunk(&mut self, key: &StoreKey, bytes: &[u8], flips: usize) {
        if bytes.is_empty() {
            return;
        }
        let protected = self.protection(key);
        let set = |bytes: Vec<u8>| vec![(key.clone(), Some(bytes))];
        let last = bytes.len() - 1;
        let mut cuts = BTreeSet::from([last, bytes.len() / 2]);
        cuts.remove(&0);
        for cut in cuts {
            self.try_one("chunk cut short", key, set(bytes[..cut].to_vec()), Expect::Found);
        }
        self.try_one("chunk emptied", key, set(Vec::new()), Expect::Found);
        let longer = [bytes, b"\0".as_slice()].concat();
        self.try_one("chunk lengthened", key, set(longer), Expect::Found);
        self.try_one("chunk removed", key, vec![(key.clone(), None)], Expect::Found);
        for at in places(bytes.len(), flips) {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 1 << (at % 8);
            let is_protected = match protected {
                Protection::All => true,
                Protection::Last(n) => at + n >= bytes.len(),
                Protection::None => false,
            };
            let (what, expect) = if is_protected {
                ("chunk with a checksum flipped", Expect::Found)
            } else {
                ("chunk without a checksum flipped", Expect::Unprotected)
            };
            self.try_one(what, key, set(flipped), expect);
        }
    }

    fn damage_document(&mut self, key: &StoreKey, bytes: &[u8], flips: usize) {
        let set = |bytes: Vec<u8>| vec![(key.clone(), Some(bytes))];
        let text = bytes.trim_ascii_end();
        if text.is_empty() {
            return;
        }
        for cut in BTreeSet::from([text.len() - 1, text.len() / 2]) {
            self.try_one("document cut short", key, set(text[..cut].to_vec()), Expect::Found);
        }
        self.try_one("document emptied", key, set(Vec::new()), Expect::Found);
        let longer = [bytes, b"}".as_slice()].concat();
        self.try_one("document lengthened", key, set(longer), Expect::Found);
        let expect = if self.is_optional(key) { Expect::Unprotected } else { Expect::Found };
        self.try_one("document removed", key, vec![(key.clone(), None)], expect);
        for at in places(bytes.len(), flips) {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 1 << (at % 8);
            self.try_one("document flipped", key, set(flipped), Expect::Unprotected);
        }
    }

    /// Exchanges neighbours: two chunks of one array, the documents of two nodes.
    fn exchange(&mut self) {
        let folder = |key: &StoreKey| key.parent().as_str().to_owned();
        let name = |key: &StoreKey| key.as_str().rsplit('/').next().unwrap_or_default().to_owned();
        for at in 1..self.values.len() {
            let ((one, first), (other, second)) = (&self.values[at - 1], &self.values[at]);
            let are_documents = [one, other].map(|key| is_document(key.as_str()));
            let related = match are_documents {
                [false, false] => folder(one) == folder(other),
                _ => false,
            };
            if related && first != second {
                let change =
                    vec![(one.clone(), Some(second.clone())), (other.clone(), Some(first.clone()))];
                let (what, expect) = if first.len() == second.len() {
                    ("chunks exchanged, equally long", Expect::Unprotected)
                } else {
                    ("chunks exchanged, of different length", Expect::Unprotected)
                };
                let key = one.clone();
                self.try_one(what, &key, change, expect);
            }
        }
        let documents: Vec<usize> =
            (0..self.values.len()).filter(|&at| is_document(self.values[at].0.as_str())).collect();
        for pair in documents.windows(2) {
            let ((one, first), (other, second)) = (&self.values[pair[0]], &self.values[pair[1]]);
            let ends = |key: &StoreKey| name(key).split_once('.').map(|(_, end)| end.to_owned());
            if first != second && ends(one) == ends(other) {
                let change =
                    vec![(one.clone(), Some(second.clone())), (other.clone(), Some(first.clone()))];
                let key = one.clone();
                self.try_one("documents exchanged", &key, change, Expect::Unprotected);
            }
        }
    }

    /// Puts keys where none belong.
    fn strays(&mut self) {
        let mut strays: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        strays.insert("notes.txt".into(), b"notes".to_vec());
        let Ok(hierarchy) = Hierarchy::open(self.store.clone(), &options()) else { return };
        for node in hierarchy.nodes(NodePath::root()).unwrap_or_default() {
            let Node::Array(array) = node else { continue };
            let metadata = array.metadata();
            let keys = metadata.chunk_keys.clone();
            let first: Vec<i64> = vec![0; metadata.rank()];
            let Some((key, bytes)) = self.values.iter().find(|(key, _)| {
                let at = array.chunk(&vec![0; metadata.rank()]).and_then(|chunk| chunk.key());
                at.is_ok_and(|at| at == *key)
            }) else {
                continue;
            };
            let Some(prefix) = key.as_str().strip_suffix(&keys.key(&first)) else { continue };
            strays.insert(format!("{key}.bak"), bytes.clone());
            strays.insert(format!("{prefix}notes"), bytes.clone());
            strays.insert(format!("{prefix}nosuch/{}", keys.key(&first)), bytes.clone());
            if let (Some(&len), Some(grid)) = (metadata.shape.first(), &metadata.grid) {
                let mut outside = first.clone();
                outside[0] = grid.span(0, grid.count(0, len).saturating_sub(1)).index + 1;
                strays.insert(format!("{prefix}{}", keys.key(&outside)), bytes.clone());
            }
            if metadata.rank() > 1 {
                let other = if keys.separator() == '/' { '.' } else { '/' };
                let twice = keys.with_separator(other).key(&first);
                strays.insert(format!("{prefix}{twice}"), bytes.clone());
            }
        }
        for (name, bytes) in strays {
            let Ok(key) = StoreKey::new(name) else { continue };
            if self.values.iter().all(|(there, _)| *there != key) {
                self.try_one(
                    "stray put there",
                    &key,
                    vec![(key.clone(), Some(bytes))],
                    Expect::Found,
                );
            }
        }
    }

    /// Makes a change, looks whether it is found at `key`, and undoes it.
    fn try_one(
        &mut self,
        what: &'static str,
        key: &StoreKey,
        change: Vec<(StoreKey, Option<Vec<u8>>)>,
        expect: Expect,
    ) {
        let set = |key: &StoreKey, value: Option<&[u8]>| match value {
            Some(value) => self.memory.set(key, Payload::from(value)).expect("memory takes values"),
            None => self.memory.erase(key).expect("memory erases"),
        };
        change.iter().for_each(|(key, value)| set(key, value.as_deref()));
        let found = found_in(&self.store);
        let fresh: Vec<&Problem> =
            found.iter().filter(|p| !self.known.contains(&identity((*p).clone()))).collect();
        let at = |problem: &&&Problem| problem.key.as_deref() == Some(key.as_str());
        let exchanged = change.len() > 1;
        let (notes, fresh): (Vec<&Problem>, Vec<_>) =
            fresh.into_iter().partition(|problem| problem.kind.is_note());
        // A file that is not Zarr's belongs to the data; others beside it are noted together.
        let is_other_file = |problem: &&Problem| {
            problem.kind == ProblemKind::OtherFile
                && problem.key.as_deref().is_some_and(|place| key.as_str().starts_with(place))
        };
        let is_noted = match what {
            "chunk lengthened" => notes.iter().any(|p| at(&p)),
            "stray put there" => notes.iter().any(is_other_file),
            _ => false,
        };
        // Which document was removed, its array's or its group's, its chunks do not tell.
        let is_lost = |problem: &Problem| {
            let kinds = [
                ProblemKind::MissingDocument,
                ProblemKind::OrphanedDocument,
                ProblemKind::NczarrMetadata,
            ];
            what == "document removed" && kinds.contains(&problem.kind)
        };
        let is_found = if exchanged {
            !fresh.is_empty()
        } else {
            fresh.iter().any(|problem| at(&problem) || is_lost(problem))
        };
        let text = format!("/{key}");
        let is_not_decoded = self
            .not_decoded
            .iter()
            .any(|path| text.starts_with(&format!("{}/", path.as_str().trim_end_matches('/'))));
        // Streams of zfp end with padding, and some writers leave bytes behind them (T-52).
        let is_padding = what.starts_with("chunk") && self.is_padded(key);
        let may_be =
            what.contains("flipped") || what.contains("removed") || exchanged || is_padding;
        let is_harmless = !is_found && may_be && content(&self.store) == self.content;
        for (key, _) in &change {
            let before = self.values.iter().find(|(known, _)| known == key);
            set(key, before.map(|(_, bytes)| &bytes[..]));
        }
        let count = self.outcome.counts.entry(what).or_default();
        count.tried += 1;
        match (is_found, is_harmless, expect) {
            (true, ..) => count.found += 1,
            (_, true, _) => count.harmless += 1,
            (_, _, Expect::Unprotected) => count.unprotected += 1,
            _ if is_noted => count.noted += 1,
            _ if is_not_decoded && !is_document(key.as_str()) => count.not_decoded += 1,
            _ => {
                let fresh: Vec<String> =
                    fresh.iter().map(|p| format!("{} at {:?}", p.kind, p.key)).collect();
                self.outcome.missed.push(format!("{}: {what} at `{key}`: {fresh:?}", self.id));
            }
        }
    }

    /// Whether the hierarchy is whole without a document: attributes, copies of others, a draft's group, and a node with
    /// nothing below it of which nothing else tells.
    fn is_optional(&self, key: &StoreKey) -> bool {
        let text = key.as_str();
        let (folder, name) = text.rsplit_once('/').unwrap_or(("", text));
        let consolidated = self.values.iter().any(|(other, bytes)| {
            let is_copy = other.as_str().ends_with(".zmetadata");
            other != key && (is_copy || has_copy(other.as_str(), bytes, folder))
        });
        if name == ".zmetadata" || name.starts_with(".ncz") {
            return true;
        }
        if text.starts_with("meta/") && name.contains(".group") {
            return !consolidated;
        }
        let below = match text.strip_prefix("meta/root") {
            Some(rest) => {
                let path = rest.split(".array").next().unwrap_or_default().trim_matches('/');
                format!("data/root/{path}")
            }
            None if folder.is_empty() => String::new(),
            None => format!("{folder}/"),
        };
        let others = [".zattrs", ".zmetadata"];
        let is_needed = self.values.iter().any(|(other, _)| {
            let is_below = other.as_str().starts_with(&below) && other != key;
            is_below && !others.iter().any(|name| other.as_str() == format!("{below}{name}"))
        });
        !consolidated && (name == ".zattrs" || !is_needed)
    }

    /// Whether the chunks of an array are streams of zfp.
    fn is_padded(&self, key: &StoreKey) -> bool {
        self.document_of(key).is_some_and(|json| json.to_string().contains("zfp"))
    }

    /// Which bytes of a chunk a checksum covers, as the document of its array says.
    fn protection(&self, key: &StoreKey) -> Protection {
        self.document_of(key).map_or(Protection::None, |json| protection_of(&json))
    }

    /// The document of the array to which a chunk belongs.
    fn document_of(&self, key: &StoreKey) -> Option<Json> {
        let mut folder = key.as_str();
        while let Some((above, _)) =
            folder.rsplit_once('/').or((!folder.is_empty()).then_some(("", "")))
        {
            folder = above;
            let draft = folder.strip_prefix("data/root").or(folder.strip_prefix("data"));
            let join = |name: &str| {
                if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
            };
            let candidates = [
                join("zarr.json"),
                join(".zarray"),
                draft.map_or(String::new(), |path| format!("meta/root{path}.array.json")),
                draft.map_or(String::new(), |path| format!("meta/root{path}.array")),
            ];
            let document =
                self.values.iter().find(|(key, _)| candidates.contains(&key.to_string()));
            if let Some((_, bytes)) = document
                && let Ok((json, _)) = Json::parse_tolerant(bytes)
                && json.as_object().is_some_and(|object| object.contains("shape"))
            {
                return Some(json);
            }
        }
        None
    }
}

/// Whether the document of a group has a copy of the document of the node in `folder`.
fn has_copy(key: &str, document: &[u8], folder: &str) -> bool {
    let Ok((json, _)) = Json::parse_tolerant(document) else { return false };
    let member = |json: &Json, name| json.as_object().and_then(|object| object.get(name).cloned());
    let copies = member(&json, "consolidated_metadata").and_then(|all| member(&all, "metadata"));
    let group = key.rsplit_once('/').map_or("", |(group, _)| group);
    let path = folder.strip_prefix(group).unwrap_or(folder).trim_start_matches('/');
    copies.is_some_and(|copies| copies.as_object().is_some_and(|object| object.contains(path)))
}

/// Which bytes of a chunk a checksum covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protection {
    All,
    /// The last bytes: the checksum of a shard's index.
    Last(usize),
    None,
}

/// Codecs whose bytes have a checksum.
const CHECKSUMS: [&str; 10] = [
    "crc32c",
    "crc32",
    "adler32",
    "fletcher32",
    "jenkins_lookup3",
    "gzip",
    "zlib",
    "bz2",
    "lzma",
    "xz",
];

fn protection_of(json: &Json) -> Protection {
    let text = json.to_string().to_lowercase();
    let is_sharded = text.contains("\"sharding_indexed\"");
    // What follows `index_codecs` is about the index only.
    let mut without_index = text.clone();
    while let Some(at) = without_index.find("\"index_codecs\"") {
        let rest = &without_index[at..];
        let end = rest.find(']').map_or(rest.len(), |end| end + 1);
        without_index.replace_range(at..at + end, "");
    }
    let has_checksum = CHECKSUMS.iter().any(|name| {
        let forms = [
            format!("\"name\":\"{name}\""),
            format!("\"name\":\"numcodecs.{name}\""),
            format!("\"id\":\"{name}\""),
            format!("codec/{name}/"),
        ];
        forms.iter().any(|form| without_index.contains(form.as_str()))
    });
    let is_framed = without_index.contains("zstd") && without_index.contains("\"checksum\":true");
    match (has_checksum || is_framed, is_sharded) {
        (true, false) => Protection::All,
        // Bytes between inner chunks are of no chunk; the rest decides.
        (_, true)
            if text.contains("\"crc32c\"") && !text.contains("\"index_location\":\"start\"") =>
        {
            Protection::Last(20)
        }
        _ => Protection::None,
    }
}

fn is_document(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or_default();
    let names = ["zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"];
    names.contains(&name) || key.starts_with("meta/") || name.starts_with(".ncz")
}

fn identity(problem: Problem) -> (ProblemKind, Option<String>, String) {
    (problem.kind, problem.key, problem.message)
}

/// At most `count` places of `len` bytes: the first, the last, and others spread between.
fn places(len: usize, count: usize) -> BTreeSet<usize> {
    let spread = (0..count).map(|n| n * len.saturating_sub(1) / count.max(2).saturating_sub(1));
    spread.map(|at| at.min(len - 1)).collect()
}
