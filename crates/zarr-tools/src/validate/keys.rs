//! Says of each key what it is: a document, a chunk, or a problem.

use std::collections::{BTreeMap, BTreeSet};

use zarr_core::format::{folders_of_another_format, is_zarr_key, system_part};
use zarr_core::grid::ChunkKeys;
use zarr_core::store::{GetOptions, StoreKey};
use zarr_core::{Dialect, Era, NodePath};

use super::consolidated::Erased;
use super::documents::document_names;
use super::inventory::Inventory;
use super::problem::{Problem, ProblemKind};
use super::tools::Tools;
use super::tree::{FoundArray, Tree};
use super::{Context, Sink, correct};

/// A chunk that is stored inside its array's grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredChunk {
    /// Which of [`Tree::arrays`].
    pub array: u32,
    /// Which of [`Inventory::keys`].
    pub key: usize,
}

/// Reports the keys that should not be there; returns the chunks, by array and in the order of their keys. `copied` has the keys of the
/// documents of which only consolidated copies are left.
pub(super) fn check(
    context: &Context<'_>,
    (inventory, tree): (&Inventory, &Tree),
    tools: &Tools,
    (erased, copied): (&Erased, &BTreeSet<String>),
    sink: &mut Sink<'_>,
) -> Vec<StoredChunk> {
    let documents: BTreeSet<&StoreKey> =
        tree.nodes.values().flat_map(|node| &node.documents).chain(&tree.attributes_only).collect();
    let orphans = BTreeSet::new();
    let (misspelled, others) = (BTreeMap::new(), BTreeMap::new());
    let inner = folders_of_another_format(context.format.dialect(), &inventory.keys);
    let mut judge = Judge {
        context,
        inventory,
        tree,
        tools,
        erased,
        copied,
        documents,
        orphans,
        misspelled,
        others,
        inner,
    };
    let mut chunks = Vec::new();
    for (at, key) in inventory.keys.iter().enumerate() {
        match judge.chunk(key) {
            Verdict::Known => {}
            Verdict::Chunk(array) => chunks.push(StoredChunk { array: array as u32, key: at }),
            Verdict::Problem(problem) => sink.add(problem),
        }
    }
    for (place, (count, example)) in &judge.others {
        sink.add(judge.other_files(place, *count, example));
    }
    for (folder, example) in &judge.orphans {
        sink.add(judge.lost_array(folder, example));
    }
    let with_chunks: BTreeSet<u32> = chunks.iter().map(|chunk: &StoredChunk| chunk.array).collect();
    for (at, problems) in std::mem::take(&mut judge.misspelled) {
        let has_others = with_chunks.contains(&(at as u32));
        match judge.other_separator(&tree.arrays[at], &problems).filter(|_| !has_others) {
            Some(problem) => sink.add(problem),
            None => problems.into_iter().for_each(|problem| sink.add(problem)),
        }
    }
    chunks.sort_by_key(|chunk| (chunk.array, chunk.key));
    chunks
}

enum Verdict {
    /// A document, or anything else that belongs here.
    Known,
    /// A chunk of this array.
    Chunk(usize),
    Problem(Problem),
}

struct Judge<'a> {
    context: &'a Context<'a>,
    inventory: &'a Inventory,
    tree: &'a Tree,
    tools: &'a Tools,
    documents: BTreeSet<&'a StoreKey>,
    erased: &'a Erased,
    /// Documents of which only consolidated copies are left.
    copied: &'a BTreeSet<String>,
    /// Folders of chunks without an array, each with a key.
    orphans: BTreeSet<(String, String)>,
    /// The chunks of each of [`Tree::arrays`] at keys where no reader looks.
    misspelled: BTreeMap<usize, Vec<Problem>>,
    /// Files that are not Zarr's, and folders of such files: how many there are, and one of them.
    others: BTreeMap<String, (u64, &'a StoreKey)>,
    /// The folders of nodes of another format, which have no document of this one.
    inner: BTreeSet<&'a str>,
}

impl<'a> Judge<'a> {
    fn problem(&self, key: &StoreKey, kind: ProblemKind, what: impl Into<String>) -> Problem {
        let path = self.tree.nearest(&*self.context.format, key);
        Problem::new(&path, kind, what).at(key)
    }

    fn chunk(&mut self, key: &'a StoreKey) -> Verdict {
        let text = key.as_str();
        if self.documents.contains(key) || self.is_extra(key) {
            return Verdict::Known;
        }
        let name = text.rsplit('/').next().unwrap_or_default();
        if name == ".zarr-lock" || name.starts_with(".zarr-tmp-") {
            let what = "a writer left it, or is at work";
            return Verdict::Problem(self.problem(key, ProblemKind::Leftover, what));
        }
        if let Some(problem) = self.document(key, name) {
            return Verdict::Problem(problem);
        }
        match self.tree.array_of(key) {
            Some((_, Some(array))) if !self.is_no_chunk(key, array) => self.of_array(key, array),
            // Its document could not be read, which is reported: its chunks cannot be judged.
            Some((_, None)) if is_zarr_key(key) => Verdict::Known,
            _ if self.is_other_file(key) => self.other_file(key),
            // A copy puts chunks first.
            _ if self.tools.is_copied(key) => Verdict::Known,
            _ if is_zarr_key(key) && self.erased.node_of(key).is_some() => {
                let path = self.erased.node_of(key).expect("it was just found");
                let what = "its array was being erased when that was interrupted";
                let problem = Problem::new(path, ProblemKind::InterruptedErase, what).at(key);
                Verdict::Problem(problem.by(self.clause(["F-001", "Z2-021", "row-27"])))
            }
            // What belongs to a node of another format is no chunk that lost its array: its document is reported.
            _ if text.match_indices('/').any(|(at, _)| self.inner.contains(&text[..at])) => {
                Verdict::Known
            }
            _ if is_zarr_key(key) => {
                let folder = orphaned_folder(text);
                if !self.orphans.iter().any(|(known, _)| known == folder) {
                    self.orphans.insert((folder.to_owned(), text.to_owned()));
                }
                let what = "looks like a chunk, but there is no array";
                let clause = self.clause(["F-001", "Z2-021", "row-27"]);
                let problem = self.problem(key, ProblemKind::OrphanedChunk, what).by(clause);
                let (_, document) = self.lost_document(folder);
                Verdict::Problem(if self.copied.contains(&document) {
                    problem.advise(written_back(&document))
                } else {
                    problem
                })
            }
            _ => self.other_file(key),
        }
    }

    /// Whether a key in the folder of an array is a file that is not Zarr's.
    fn is_no_chunk(&self, key: &StoreKey, array: usize) -> bool {
        let array = &self.tree.arrays[array];
        let name = array.prefix.strip(key).unwrap_or_default();
        self.is_other_file(key)
            && !array.metadata.may_have_chunk(name)
            && misspelled(&array.metadata.chunk_keys, name, array.metadata.rank()).is_none()
    }

    fn is_other_file(&self, key: &StoreKey) -> bool {
        !is_zarr_key(key) || system_part(key.as_str()).is_some()
    }

    /// Notes a file: one in the folder of a node by itself, others by the folder that they are in.
    fn other_file(&mut self, key: &'a StoreKey) -> Verdict {
        let text = key.as_str();
        let place = match system_part(text) {
            Some(part) => part.to_owned(),
            None => {
                let node = self.tree.nearest(&*self.context.format, key);
                let prefix = self.context.format.children_prefix(&node);
                let rest = prefix.ok().and_then(|prefix| Some(prefix.strip(key)?.len()));
                let start = text.len() - rest.unwrap_or_default();
                let end = text[start..].find('/').map_or(text.len(), |at| start + at + 1);
                text[..end].to_owned()
            }
        };
        self.others.entry(place).or_insert((0, key)).0 += 1;
        Verdict::Known
    }

    fn other_files(&self, place: &str, count: u64, example: &StoreKey) -> Problem {
        let (place, what) = match (system_part(place), count) {
            (Some(part), _) => {
                let node = self.tree.nearest(&*self.context.format, example);
                let what = "the system's own file, which is not part of the data";
                let problem = Problem::new(&node, ProblemKind::OtherFile, what.to_owned());
                return problem.at(part).advise("no action is needed: copies leave it out");
            }
            (None, 1) => (example.as_str(), "this file is not part of the Zarr data".to_owned()),
            (None, count) => (place, format!("{count} files in it are not part of the Zarr data")),
        };
        let node = self.tree.nearest(&*self.context.format, example);
        Problem::new(&node, ProblemKind::OtherFile, what).at(place)
    }

    fn clause(&self, [v3, v2, draft]: [&'static str; 3]) -> &'static str {
        match self.context.format.dialect() {
            Dialect::V3 => v3,
            Dialect::V2 => v2,
            _ => draft,
        }
    }

    fn stray(&self, key: &StoreKey) -> Problem {
        let what = "looks like a chunk, but not of this array";
        let clause = self.clause(["F-067", "Z2-080", "D-144"]);
        self.problem(key, ProblemKind::StrayKey, what).by(clause)
    }

    /// Whether a key is there for good, though it describes no node: consolidated metadata, documents of netCDF's libraries,
    /// the entry point of a draft and the group that its writers create for consolidated metadata.
    fn is_extra(&self, key: &StoreKey) -> bool {
        let (folder, name) = key.as_str().rsplit_once('/').unwrap_or(("", key.as_str()));
        match self.context.format.dialect() {
            Dialect::V2 => {
                if name == ".zmetadata" {
                    return NodePath::new(folder).is_ok_and(|at| {
                        at == self.context.path
                            || self.tree.nodes.contains_key(&at)
                            || self.tree.implied.contains(&at)
                    });
                }
                name.starts_with(".ncz")
            }
            Dialect::Draft => {
                key.as_str() == "zarr.json" || key.as_str() == "meta/root/consolidated/.zmetadata"
            }
            _ => false,
        }
    }

    /// The problem of a document of another dialect.
    fn document(&self, key: &StoreKey, name: &str) -> Option<Problem> {
        let others = ["zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"];
        if !others.contains(&name)
            || document_names(&*self.context.format).iter().any(|n| n == name)
        {
            return None;
        }
        let dialect = if name == "zarr.json" { "v3" } else { "v2" };
        let here = self.context.format.name();
        let what =
            format!("a document of {dialect} in a hierarchy of {here}, whose readers ignore it");
        let clause = self.clause(["Z2-091", "Z2-091", "D-145"]);
        let advice = if self.context.format.dialect() == Dialect::Draft {
            "erase the document that is out of date".to_owned()
        } else {
            format!(
                "if `zarr migrate` was interrupted, run the same command again; if it is complete, `zarr migrate TARGET --to {here} \
                 --finish` erases the old documents; otherwise, erase the document that is out of date"
            )
        };
        let problem = self.problem(key, ProblemKind::ConflictingDocuments, what);
        Some(problem.by(clause).advise(advice))
    }

    fn of_array(&mut self, key: &StoreKey, at: usize) -> Verdict {
        let array = &self.tree.arrays[at];
        // Which keys are chunks, only who knows the encoding can tell.
        if !array.metadata.chunk_keys.is_known() {
            return Verdict::Known;
        }
        let problem = |kind, what: String, clause| {
            Verdict::Problem(Problem::new(&array.path, kind, what).at(key).by(clause))
        };
        if let Some(indices) = array.indices_of(key) {
            if !array.has_grid() {
                return Verdict::Known;
            }
            if array.inside(&indices).is_none() {
                let shape = &array.metadata.shape;
                let what =
                    format!("chunk {indices:?} is outside the grid of an array of shape {shape:?}");
                let clause = self.clause(["F-063", "Z2-021", "D-180"]);
                return problem(ProblemKind::OutsideGrid, what, clause);
            }
            if let Some(first) = self.first_of_two(array, &indices).filter(|first| first != key) {
                let what =
                    format!("chunk {indices:?} is also stored at `{first}`, which readers use");
                return problem(
                    ProblemKind::StoredTwice,
                    what,
                    self.clause(["F-067", "Z2-020", "D-047"]),
                );
            }
            return Verdict::Chunk(at);
        }
        let name = array.prefix.strip(key).unwrap_or_default();
        let Some(indices) = misspelled(&array.metadata.chunk_keys, name, array.metadata.rank())
        else {
            let mut stray = self.stray(key);
            stray.path = array.path.clone();
            return Verdict::Problem(stray);
        };
        let clause = self.clause(["F-067", "Z2-020", "D-047"]);
        let Some(right) = array.key(&indices) else { return Verdict::Problem(self.stray(key)) };
        if self.inventory.keys.binary_search(&right).is_ok() {
            let what = format!("chunk {indices:?} is also stored at `{right}`, which readers use");
            return problem(ProblemKind::StoredTwice, what, clause);
        }
        let what =
            format!("no reader looks for it here: the key of chunk {indices:?} is `{right}`");
        let problem = Problem::new(&array.path, ProblemKind::MisspelledKey, what).at(key);
        self.misspelled.entry(at).or_default().push(problem.by(clause));
        Verdict::Known
    }

    /// The one problem of an array whose chunks are all at keys of another form than its document says, where exactly one form fits all.
    fn other_separator(&self, array: &FoundArray, misspelled: &[Problem]) -> Option<Problem> {
        let dialect = self.context.format.dialect();
        let v2 = ['.', '/'].map(|separator| ChunkKeys::V2 { separator });
        let default = ['/', '.'].map(|separator| ChunkKeys::Default { separator });
        let forms = match dialect {
            Dialect::V2 => v2.to_vec(),
            Dialect::V3 => [default, v2].concat(),
            _ => return None,
        };
        let names = misspelled.iter().map(|problem| {
            let key = StoreKey::new(problem.key.as_deref()?).ok()?;
            array.prefix.strip(&key).map(str::to_owned)
        });
        let names: Vec<String> = names.collect::<Option<_>>()?;
        let rank = array.metadata.rank();
        let mut fitting = forms.into_iter().filter(|form| {
            names.iter().all(|name| {
                form.parse(name, rank).is_some_and(|indices| array.inside(&indices).is_some())
            })
        });
        let form = fitting.next()?;
        if fitting.next().is_some() {
            return None;
        }
        let key = self.tree.nodes.get(&array.path)?.documents.first()?;
        let limit = self.context.open.options.limits.document;
        let got = self.context.store.get(key, GetOptions::at_most(limit)).ok()??;
        let correction = correct::with_chunk_keys(self.context, &got.bytes?, &form);
        let (right, first) = (array.key(&vec![0; rank])?, names.first()?);
        let line = match dialect {
            Dialect::V2 => format!("`\"dimension_separator\": \"{}\"` belongs", form.separator()),
            _ => "another `chunk_key_encoding` belongs".to_owned(),
        };
        let what = format!(
            "no reader finds its {} chunks: they are at keys such as `{first}` and not such as `{right}`; {line} in the document",
            names.len()
        );
        let problem = Problem::new(&array.path, ProblemKind::ChunkSeparator, what).at(key);
        let clause = self.clause(["F-067", "Z2-020", "D-047"]);
        Some(problem.by(clause).corrected(correction))
    }

    /// The key that readers take, of a chunk that dialects allow at two keys.
    fn first_of_two(&self, array: &FoundArray, indices: &[i64]) -> Option<StoreKey> {
        array.metadata.chunk_keys.other_key(indices)?;
        array.key(indices).filter(|key| self.inventory.keys.binary_search(key).is_ok())
    }

    /// The array that a folder of chunks is of, and the key where its document is missing.
    fn lost_document(&self, folder: &str) -> (NodePath, String) {
        let format = &*self.context.format;
        let is_draft = format.dialect() == Dialect::Draft;
        let data = match format.era() {
            Some(era) if era <= Era::E2 => "data",
            _ => "data/root",
        };
        let path = if is_draft { folder.strip_prefix(data).unwrap_or(folder) } else { folder };
        let path =
            NodePath::new(path.trim_matches('/')).unwrap_or_else(|_| self.context.path.clone());
        let document = format.document_keys(&path).unwrap_or_default();
        let document = document.first().map_or(String::new(), ToString::to_string);
        (path, document)
    }

    /// The problem of chunks in a folder whose array has no document.
    fn lost_array(&self, folder: &str, example: &str) -> Problem {
        let (path, document) = self.lost_document(folder);
        let advice = if self.copied.contains(&document) {
            written_back(&document)
        } else {
            "restore it from a copy, or create the array again with `zarr create --no-purge`, which keeps its chunks \
             (library: `ArrayBuilder::purge(false)`)"
                .to_owned()
        };
        let what = format!("no array's document is here, though chunks are, such as `{example}`");
        let clause = self.clause(["F-001", "Z2-001", "D-142"]);
        let problem = Problem::new(&path, ProblemKind::MissingDocument, what).at(document);
        problem.by(clause).advise(advice)
    }
}

/// What to do about an array's document of which only the consolidated copy is left.
fn written_back(document: &str) -> String {
    format!("`zarr repair --apply` writes `{document}` back from the consolidated metadata")
}

/// The folder that would be an array's, if this is the key of its chunk.
fn orphaned_folder(key: &str) -> &str {
    let mut folder = key;
    while let Some((above, name)) = folder.rsplit_once('/') {
        if !is_part_of_chunk_key(name) {
            return folder;
        }
        folder = above;
        // A key with periods has all indices in its last segment.
        if name.starts_with('c') || name.contains('.') {
            return folder;
        }
    }
    if is_part_of_chunk_key(folder) { "" } else { folder }
}

/// Whether the name may be a part of a chunk's key.
fn is_part_of_chunk_key(name: &str) -> bool {
    let digits = name.strip_prefix('c').unwrap_or(name);
    digits.bytes().all(|byte| byte.is_ascii_digit() || b".-".contains(&byte))
}

/// The indices that a key names in another form than that of its array: other separators, signs, leading zeros, with or
/// without `c`.
fn misspelled(keys: &ChunkKeys, name: &str, rank: usize) -> Option<Vec<i64>> {
    let rest = name.strip_prefix('c').unwrap_or(name);
    let rest =
        rest.strip_prefix(['/', '.', '-', '_']).filter(|_| rest.len() < name.len()).unwrap_or(rest);
    if rank == 0 {
        let is_scalar = rest.is_empty() || rest.bytes().all(|byte| byte == b'0');
        return is_scalar.then(Vec::new);
    }
    let separators = [keys.separator(), '/', '.', '-', '_'];
    separators.iter().find_map(|&separator| {
        let parts: Vec<&str> = rest.split(separator).collect();
        let indices: Option<Vec<i64>> = parts
            .iter()
            .map(|part: &&str| {
                let digits = part.strip_prefix('+').unwrap_or(part);
                let is_number =
                    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
                digits.parse::<i64>().ok().filter(|_| is_number)
            })
            .collect();
        indices.filter(|indices| indices.len() == rank)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_forms_of_a_key_are_recognised() {
        let keys = ChunkKeys::Default { separator: '/' };
        for name in ["c.0.12", "0.12", "0/12", "c/00/12", "c/+0/12", "c0/12", "c0.12"] {
            assert_eq!(misspelled(&keys, name, 2), Some(vec![0, 12]), "{name}");
        }
        for name in ["c/0", "x", "c/0/1/2", "c/0/x", "notes.txt", "c/0/"] {
            assert_eq!(misspelled(&keys, name, 2), None, "{name}");
        }
        assert_eq!(misspelled(&keys, "0", 0), Some(vec![]));
        assert_eq!(misspelled(&keys, "notes", 0), None);
    }

    #[test]
    fn the_folder_of_an_orphaned_chunk_is_that_of_its_array() {
        for (key, folder) in [
            ("a/c/0/1", "a"),
            ("a/0.1", "a"),
            ("a/b/0/1", "a/b"),
            ("data/root/a/c0/1", "data/root/a"),
            ("c/0", ""),
            ("0", ""),
            ("a/c", "a"),
            ("0/0.0", "0"),
        ] {
            assert_eq!(orphaned_folder(key), folder, "{key}");
        }
    }
}
