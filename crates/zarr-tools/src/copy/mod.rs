//! Copies groups and arrays from one hierarchy into another, whatever their dialects.
//!
//! [`plan_copy`] describes every node as metadata of the target (`plan`, `describe`), so that everything that can be refused
//! is refused before anything is written. The plan is put in the target's store as the journal of the copy (`journal`). Then
//! all chunks are copied, part by part (`run`, `elements`), and the documents are written last (`finish`): no reader finds a
//! node before its chunks are there. [`copy`] does all of that. Copies to netCDF datasets (`netcdf`) have the same plan; only
//! their documents are made by other rules.

mod as_stored;
mod by_name;
mod check;
mod choose;
mod content;
mod describe;
mod elements;
mod file_dimensions;
mod files;
mod finish;
pub(crate) mod holes;
mod in_place;
mod journal;
mod json;
mod layout_change;
mod memory;
#[cfg(feature = "nczarr")]
mod netcdf;
#[cfg(not(feature = "nczarr"))]
#[path = "without_netcdf.rs"]
mod netcdf;
mod node_copy;
mod plan;
mod rechunk;
mod run;
mod same_place;
mod split;
mod under_way;
mod undo;

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

#[cfg(doc)]
use zarr_core::{AccessError, MetadataError, missing_value};
use zarr_core::{
    AxisSelection, CancelToken, Dialect, Hierarchy, Json, MissingChunks, Node, NodePath, Object,
    Result,
};

pub(crate) use self::as_stored::has_unknown_keys;
pub use self::as_stored::stored_difference;
pub use self::by_name::{CodecRule, ShapeRule, WHOLE_AXIS};
pub(crate) use self::check::Neighbours;
pub use self::choose::is_included;
pub use self::describe::metadata_like;
pub(crate) use self::in_place::{InPlace, in_place};
pub(crate) use self::journal::put_new;
pub use self::layout_change::{ChunkLayout, LayoutChange};
pub(crate) use self::memory::default_memory;
#[cfg(feature = "nczarr")]
pub use self::netcdf::{copy_dataset, plan_dataset};
pub(crate) use self::node_copy::{NETCDF_GROUP, NETCDF_LISTS};
pub use self::node_copy::{NodeCopy, node_copy};
pub(crate) use self::plan::parsed_documents;
pub use self::plan::{Plan, plan_copy};
pub(crate) use self::rechunk::{Buffers, Workers};
use self::run::Begun;
pub use self::same_place::is_in_places;
pub(crate) use self::same_place::{Local, places_meet};
pub use self::split::Part;
pub(crate) use self::under_way::Plans;
pub use self::under_way::{CopyUnderWay, copies_under_way};
pub(crate) use self::undo::is_as_planned;
pub use self::undo::{UndoneCopy, undo_copies};

/// What may be different in the copy.
#[derive(Clone, Default)]
pub struct CopyOptions<'a> {
    /// Another chunk shape, for arrays of that rank; others keep theirs. An error if no array has that rank.
    pub chunks: Option<Vec<u64>>,
    /// Shards of this shape, for arrays of that rank that are copied into final v3. An error if no array has that rank.
    pub shards: Option<Vec<u64>>,
    /// Other codecs, as [`crate::codec()`] reads them; an empty list for none.
    pub codecs: Option<Vec<String>>,
    /// Other chunks, by the names of arrays and dimensions or as sizes. They count more than `chunks`, which is one of them
    /// for all arrays of a rank. An error if an array or dimension is unknown.
    pub chunk_rules: Vec<ShapeRule>,
    /// Other shards, as `chunk_rules`. An array without shards has those of one chunk before lengths of single dimensions
    /// are given. Shards that no rule is about stay, if they are made of whole chunks of the copy; `chunks` leaves them out.
    pub shard_rules: Vec<ShapeRule>,
    /// Other codecs of single arrays.
    pub codec_rules: Vec<CodecRule>,
    /// Refuses to copy what cannot be kept, in place of naming it in [`Progress::not_kept`].
    pub strict: bool,
    /// Leaves out the nodes that cannot be represented in the target or whose documents are broken, with all below them,
    /// and names them in [`Progress::skipped`].
    pub skip_unsupported: bool,
    /// Copies only the nodes at these paths of the source; the target has the groups above them.
    pub only: Option<HashSet<NodePath>>,
    /// About how many bytes the whole process may have while elements are copied; `None` for a quarter of the machine's
    /// memory. An array that needs more is refused before it is written; elements of variable length are taken to have
    /// 256 bytes each. Where chunks of the source would be decoded many times otherwise, the copy takes a temporary file.
    pub memory: Option<u64>,
    /// Copies only the nodes whose path, from the copied node on, one of these patterns matches, or that are below such a
    /// node; and the groups above them. `*` is any part of one name, `**` any part of the path, `?` one character.
    pub include: Vec<String>,
    /// Leaves out the nodes whose path one of these patterns matches, with all below them; also files that are not Zarr's.
    pub exclude: Vec<String>,
    /// Copies only the arrays of these names or paths, and the groups above them.
    pub select: Vec<String>,
    /// Copies a part of these arrays, axis by axis; of others all. The copy has the shape of the part.
    pub regions: BTreeMap<NodePath, Vec<Steps>>,
    /// Erases what is at the place of the copy, once the copy is planned and nothing of it was refused. A kill in between
    /// leaves what an interrupted erase leaves: no document of a node that has lost chunks. It erases nothing that is not
    /// Zarr's.
    pub overwrite: bool,
    /// Goes on with the copy that is under way, if one is: options that have their default here are those with which it was
    /// begun, others must be equal. Without it, and without `parts`, a copy under way is an error.
    pub resume: bool,
    /// Whether each chunk is read back, and compared with the source, before its part counts as done.
    pub verify: Verify,
    /// Encodes all chunks again. Without it, those of arrays whose copy has the same element type, chunks and codecs are copied
    /// as they are stored.
    pub recode: bool,
    /// Keeps the keys of v2 in copies of its arrays to final v3, which has the key encoding `v2` for them. Without it the copy
    /// has the default keys of final v3, which more readers know.
    pub keep_keys: bool,
    /// Leaves the metadata of OME-Zarr images as they are. Without it those of 0.4 in v2 become those of 0.5 in v3, and back,
    /// since readers look for each version in its own place.
    pub keep_attributes: bool,
    /// What is done about chunks, and inner chunks of shards, that the source does not store. With [`MissingChunks::Error`] the copy fails
    /// before its documents are written; shards that are copied as they are stored are decoded for that. The default follows the options
    /// with which the source was opened.
    pub missing: MissingChunks,
    /// Leaves out the files among the nodes that are not Zarr's, and names them in [`Progress::notes`].
    pub no_extra_files: bool,
    /// The file of the digests that the source's chunks are checked against, which the journal notes. The source is opened with them by the
    /// caller ([`ChunkManifest::checked`](crate::ChunkManifest::checked)); [`Plan::manifest`] tells those who resume the copy.
    pub manifest: Option<String>,
    /// Cuts the copy into this number of parts; about one for 64 chunks if `None`. See [`Plan::run`].
    pub parts: Option<u64>,
    /// Cancels the copy, from another thread: it stops between two chunks.
    pub cancel: Option<CancelToken>,
    /// Called after each block of elements.
    pub progress: Option<&'a (dyn Fn(&Progress) + Sync)>,
}

/// How a copy is compared with its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Not at all.
    #[default]
    No,
    /// Chunks that are copied as they are stored by their bytes, others by their elements.
    Stored,
    /// All chunks by their elements: this finds chunks that were damaged in the source already, and decodes each chunk of both.
    Elements,
}

/// The selected coordinates along one axis: `len` of them from `start` on, each `step` further than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The first coordinate.
    pub start: u64,
    /// How far from one to the next; negative for backwards.
    pub step: i64,
    /// How many.
    pub len: u64,
}

impl Steps {
    /// The coordinate at a position.
    pub(crate) fn at(self, position: u64) -> Option<u64> {
        let offset = i128::from(self.step) * i128::from(position);
        u64::try_from(i128::from(self.start).checked_add(offset)?).ok()
    }

    /// Whether an axis of this length has all of them.
    fn is_within(self, len: u64) -> bool {
        let has = |position| self.at(position).is_some_and(|at| at < len);
        self.step != 0 && (self.len == 0 || has(0) && has(self.len - 1))
    }

    /// Those at some positions, of which there are any.
    fn part(self, positions: &Range<u64>) -> AxisSelection {
        let ends = [positions.start, positions.end.saturating_sub(1)].map(|at| self.at(at));
        let [first, last] = ends.map(Option::unwrap_or_default);
        zarr_core::steps(first.min(last)..=first.max(last), self.step)
    }
}

impl CopyOptions<'_> {
    /// Whether the options choose among the nodes.
    fn filters(&self) -> bool {
        !(self.include.is_empty() && self.exclude.is_empty() && self.select.is_empty())
    }
}

/// How far a copy has come.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The array that is being copied.
    pub path: Option<NodePath>,
    /// Nodes that are done.
    pub nodes_done: u64,
    /// Nodes in all.
    pub nodes_total: u64,
    /// Files that are not Zarr's and are copied as they are.
    pub files: u64,
    /// Bytes of elements that are done.
    pub bytes_done: u64,
    /// Bytes of elements in all.
    pub bytes_total: u64,
    /// Bytes of the temporary file that the copy of this array needs at most; 0 if it needs none. See
    /// [`CopyOptions::memory`].
    pub spool: u64,
    /// What the copy does not keep, each with its place.
    pub not_kept: Vec<String>,
    /// Nodes that the copy leaves out, each with the reason.
    pub skipped: Vec<String>,
    /// What the copy says otherwise than the source, with nothing lost, each with its place.
    pub notes: Vec<String>,
}

/// Copies a node with all below it to `at` in another hierarchy, in that one's dialect. Returns what was
/// copied.
///
/// Everything that can be refused is refused before the first element is written: a node that is there
/// already, an array that the dialect cannot say. Documents are written after all chunks: a copy that fails, or is killed,
/// is not taken for a complete one, and [`CopyOptions::resume`] goes on with it. Arrays whose axes have names keep the missing value that netCDF and
/// xarray see (see [`missing_value`]). Files among the nodes that are not Zarr's are copied as they are. Where groups of the source have consolidated metadata, their copies have them,
/// too.
///
/// # Errors
/// [`AccessError::Exists`]; [`MetadataError::CannotRepresent`] naming the obstacle; [`AccessError::Argument`] for a chunk
/// shape that fits no array; what either store meets.
pub fn copy(
    source: &Node,
    target: &Hierarchy,
    at: impl AsRef<str>,
    options: &CopyOptions<'_>,
) -> Result<Progress> {
    plan_copy(source, target, at, options)?.copy(source.hierarchy(), target, options)
}

impl Plan {
    /// Does all that was planned: puts the plan in the target, copies the chunks of all parts, and writes the documents.
    /// `source` and the options are those of the planning.
    ///
    /// # Errors
    /// As [`copy`]; what is copied so far stays.
    pub fn copy(
        &self,
        source: &Hierarchy,
        target: &Hierarchy,
        options: &CopyOptions<'_>,
    ) -> Result<Progress> {
        self.copy_to_the_end(source, target, options).map_err(|e| {
            let under_way = matches!(Plan::under_way(target, &self.at), Ok(Some(_)));
            if !under_way || e.hint().is_some_and(|hint| hint.contains("--resume")) {
                return e;
            }
            let hint = e.hint().map_or_else(String::new, |hint| format!("{hint}; "));
            e.with_hint(format!(
                "{hint}what has been copied stays; continue with `--resume` (library: `CopyOptions::resume`)"
            ))
        })
    }

    /// Does all that was planned. Its errors do not say yet how to go on.
    fn copy_to_the_end(
        &self,
        source: &Hierarchy,
        target: &Hierarchy,
        options: &CopyOptions<'_>,
    ) -> Result<Progress> {
        let Begun { plan, is_new, erased } = self.begun(target, options)?;
        let all: Vec<usize> = (0..plan.parts().len()).collect();
        let mut progress = self.progress();
        progress.notes.extend(erased);
        plan.run_parts((&all, is_new), source, target, options, &mut progress)?;
        let finished = plan.finish(target)?;
        progress.not_kept.extend(finished.not_kept);
        progress.nodes_done = finished.nodes_done;
        report(options, &progress);
        Ok(progress)
    }
}

fn report(options: &CopyOptions<'_>, progress: &Progress) {
    if let Some(call) = options.progress {
        call(progress);
    }
}

/// A node's attributes in the words of the target: bare `NaN` and `Infinity` stay numbers in v2 and v3, as zarr-python and
/// xarray write them and read them again. In another dialect's draft they are strings, since its readers may take nothing
/// but JSON (docs/internals/design/documents.md).
fn attributes_for(attributes: Object, from: Dialect, target: &Hierarchy) -> Object {
    if from == target.dialect() || target.dialect() != Dialect::Draft {
        return attributes;
    }
    standard(attributes)
}

/// Attributes that any reader of JSON takes: bare `NaN` and `Infinity` become strings.
fn standard(attributes: Object) -> Object {
    match Json::from(attributes).into_standard() {
        Json::Object(attributes) => attributes,
        _ => unreachable!("an object stays one"),
    }
}
