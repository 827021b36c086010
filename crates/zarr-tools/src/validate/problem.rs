//! Says what validation found, and where.

use std::fmt;
use std::str::FromStr;

use zarr_core::store::Bytes;
use zarr_core::{CancelToken, Json, NodePath, Object};

/// How deep to look; each level includes those before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The documents: each one, and how they agree with each other.
    Meta,
    /// Also every key of the store, by one listing.
    Keys,
    /// Also the size of each chunk that is not compressed, and the index of each shard.
    Index,
    /// Also each chunk and each inner chunk, decoded.
    #[default]
    Data,
}

impl Level {
    /// `meta`, `keys`, `index` or `data`.
    pub fn name(self) -> &'static str {
        ["meta", "keys", "index", "data"][self as usize]
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let all = [Level::Meta, Level::Keys, Level::Index, Level::Data];
        let found = all.into_iter().find(|level| level.name() == name);
        found.ok_or_else(|| format!("unknown level `{name}`; expected meta, keys, index or data"))
    }
}

/// Defines [`ProblemKind`]: the name of each kind, its level, its severity, and what to do about it.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident, $name:literal, $level:ident, $severity:ident, $remedy:literal;)*) => {
        /// What is wrong. Each kind has a name that stays the same.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ProblemKind {
            $($(#[$doc])* $kind,)*
        }

        impl ProblemKind {
            /// Every kind.
            pub const ALL: &'static [ProblemKind] = &[$(ProblemKind::$kind,)*];

            /// Its name for programs: `stray_key`.
            pub fn name(self) -> &'static str {
                match self { $(ProblemKind::$kind => $name,)* }
            }

            /// The first level that finds it.
            pub fn level(self) -> Level {
                match self { $(ProblemKind::$kind => Level::$level,)* }
            }

            /// Whether it is no fault of the data, only something that a reader may need to know.
            pub fn is_note(self) -> bool {
                match self { $(ProblemKind::$kind => kinds!(@$severity),)* }
            }

            /// What to do about it, where [`Problem::remedy`] says nothing else.
            pub fn remedy(self) -> &'static str {
                match self { $(ProblemKind::$kind => $remedy,)* }
            }
        }
    };
    (@problem) => { false };
    (@note) => { true };
}

kinds! {
    /// A document that is no JSON: cut short, damaged, empty.
    UnreadableDocument, "unreadable_document", Meta, problem,
        "restore it from a copy; `zarr repair` takes it from consolidated metadata, if they have it";
    /// A document that no reader can read, since it breaks its specification.
    InvalidDocument, "invalid_document", Meta, problem,
        "correct the member that is named";
    /// A document that tolerant readers read, though it breaks its specification.
    DeviatingDocument, "deviating_document", Meta, problem,
        "this library accepts it as it is, but strict readers may not: correct it, an attribute with `zarr attrs --set`";
    /// A node that has no document, though others are below it, or an entry point that is not there.
    MissingDocument, "missing_document", Meta, problem,
        "restore it from a copy, or create the node again";
    /// A document of attributes where no node is.
    OrphanedDocument, "orphaned_document", Meta, problem,
        "restore the document of its node, or move it to the quarantine with `zarr repair --orphans --apply`";
    /// Documents of two kinds, or of two dialects, at one node.
    ConflictingDocuments, "conflicting_documents", Meta, problem,
        "erase the document that is out of date";
    /// A node below an array.
    ArrayInsideArray, "array_inside_array", Meta, problem,
        "move the inner node with `zarr rename`, or erase it with `zarr rm`";
    /// A name that no node and no key may have.
    InvalidName, "invalid_name", Meta, problem,
        "rename it with the tools of the store";
    /// Siblings whose names differ in upper and lower case only.
    CaseCollision, "case_collision", Meta, problem,
        "rename one of them before the data are copied to a disk that ignores case";
    /// Consolidated metadata that cannot be read.
    ConsolidatedInvalid, "consolidated_invalid", Meta, problem,
        "run `zarr consolidate`";
    /// Consolidated metadata without a document that is there.
    ConsolidatedMissing, "consolidated_missing", Meta, problem,
        "run `zarr consolidate`";
    /// Consolidated metadata of a document that is not there.
    ConsolidatedExtra, "consolidated_extra", Meta, problem,
        "`zarr repair --apply` writes the document; if its node was erased on purpose, `zarr rm` takes the copy away, too";
    /// Consolidated metadata that differ from the document.
    ConsolidatedDiffers, "consolidated_differs", Meta, problem,
        "run `zarr consolidate`";
    /// Names of dimensions that are not as many as the axes.
    DimensionNames, "dimension_names", Meta, problem,
        "set as many names as the array has axes with `zarr attrs --set`";
    /// Dimensions of NCZarr that disagree with the arrays.
    NczarrDimensions, "nczarr_dimensions", Meta, problem,
        "set the dimension, or the shape, that is wrong";
    /// Other metadata of NCZarr that are wrong, such as a variable that is listed and not there.
    NczarrMetadata, "nczarr_metadata", Meta, problem,
        "correct the attribute that is named, with `zarr attrs --set`";
    /// Metadata of OME-Zarr in a place, or of a version, that readers do not look for.
    OmeVersion, "ome_version", Meta, problem,
        "`zarr copy` and `zarr migrate` convert between 0.4 in v2 and 0.5 in v3; correct the attribute with `zarr attrs --set`";
    /// An OME-Zarr image whose axes, levels or transformations break its specification.
    OmeImage, "ome_image", Meta, problem,
        "correct `multiscales` with `zarr attrs --set`";
    /// Channels of an OME-Zarr image that break its specification.
    OmeChannels, "ome_channels", Meta, problem,
        "correct `omero` with `zarr attrs --set`";
    /// Labels of an OME-Zarr image that break its specification.
    OmeLabels, "ome_labels", Meta, problem,
        "correct `labels` or `image-label` with `zarr attrs --set`; `zarr pyramid` adds levels";
    /// An OME-Zarr plate, well or collection that breaks its specification.
    OmePlate, "ome_plate", Meta, problem,
        "correct `plate` or `well` with `zarr attrs --set`";
    /// A list of conventions that is invalid, or does not agree with a node's attributes.
    GeoConvention, "geo_convention", Meta, problem,
        "correct `zarr_conventions` with `zarr attrs --set`";
    /// A reference system or a place of GeoZarr that breaks its convention.
    GeoSpatial, "geo_spatial", Meta, problem,
        "correct the attribute that is named with `zarr attrs --set`";
    /// Levels of GeoZarr that break their convention.
    GeoLevels, "geo_levels", Meta, problem,
        "correct `multiscales` with `zarr attrs --set`";
    /// A copy that has not ended.
    CopyUnderWay, "copy_under_way", Meta, problem,
        "continue with `zarr copy ... --resume`; if its journal is broken, erase the target with `zarr rm`, which takes `--all` for a whole hierarchy, and copy again";
    /// A run of `zarrkit.dask.store` that has not ended.
    RunUnderWay, "run_under_way", Meta, problem,
        "continue with `zarrkit.dask.store(..., resume=True)`, or start it again";
    /// A key that looks like a chunk's in the folder of an array, and is none of its chunks.
    StrayKey, "stray_key", Keys, problem,
        "move it elsewhere, or to the quarantine with `zarr repair --apply`";
    /// A key that looks like a chunk's, where no array is.
    OrphanedChunk, "orphaned_chunk", Keys, problem,
        "restore the document of its array, or move it to the quarantine with `zarr repair --orphans --apply`";
    /// What an erase left that was interrupted: consolidated metadata say that it had begun.
    InterruptedErase, "interrupted_erase", Keys, problem,
        "erase it again with `zarr rm`; `zarr repair --apply` moves chunks that are left to the quarantine";
    /// An array whose chunks are stored at keys in another form than its document says: no reader finds them.
    ChunkSeparator, "chunk_separator", Keys, problem,
        "correct the document as it says";
    /// A chunk outside the grid of its array.
    OutsideGrid, "outside_grid", Keys, problem,
        "restore the shape, or move it to the quarantine with `zarr repair --apply`";
    /// An unfinished file or a lock that a writer left.
    Leftover, "leftover", Keys, problem,
        "`zarr repair --apply` erases a lock now, and an unfinished file once it is an hour old; if no writer is at work, you can erase it yourself";
    /// A chunk whose key is written in a form that no reader looks for.
    MisspelledKey, "misspelled_key", Keys, problem,
        "rename it to the key that is named";
    /// A chunk that is stored twice, at keys of different forms.
    StoredTwice, "stored_twice", Keys, problem,
        "move the one that no reader looks for to the quarantine with `zarr repair --apply`";
    /// A value without bytes, where none can be.
    EmptyValue, "empty_value", Keys, problem,
        "restore it from a copy; `zarr repair --apply` moves it to the quarantine; the chunk then reads as the fill value";
    /// A chunk that was never written, or is lost.
    MissingChunk, "missing_chunk", Keys, problem,
        "restore it from a copy, if it was written";
    /// A chunk or shard of another size than its elements need.
    WrongSize, "wrong_size", Index, problem,
        "restore it from a copy; `zarr repair --apply` moves it to the quarantine; the chunk then reads as the fill value";
    /// An index of a shard that is damaged, or that points outside the shard.
    ShardIndex, "shard_index", Index, problem,
        "restore the shard from a copy, or let `zarr repair --apply` look for its inner chunks";
    /// Inner chunks that share bytes.
    ShardOverlap, "shard_overlap", Index, problem,
        "compare the inner chunks that are named with another copy; `zarr repair --apply` leaves them out";
    /// A chunk with zeros behind what its codec wrote, which tolerant readers pass over.
    PaddedChunk, "padded_chunk", Data, problem,
        "strict readers may refuse it: `zarr repair --apply` writes it without the zeros";
    /// Bytes that do not decode: cut short, too long, a wrong checksum, elements that are none of their type.
    Undecodable, "undecodable", Data, problem,
        "restore it from a copy; `zarr repair --apply` moves it to the quarantine; its elements then read as the fill value";
    /// A value, or a folder, that the store could not read: it may not be read, a link leads to nothing, a request failed.
    Unreadable, "unreadable", Meta, problem,
        "see the store's message: permit reading, fetch the target of the link, or restore it from a copy";
    /// A name that an archive has more than once.
    DuplicateEntry, "duplicate_entry", Keys, note,
        "rewrite the archive with `zarr copy`, which writes each name once";
    /// Bytes of a shard to which its index does not refer.
    ShardGap, "shard_gap", Index, note,
        "no action is needed; rewriting the shard removes them";
    /// An array of which most chunks are stored, and a few are not.
    PartlyWritten, "partly_written", Keys, note,
        "if every chunk was written, some are lost: `zarr validate --expect-complete` lists those that are not stored";
    /// Something that could not be checked.
    NotChecked, "not_checked", Meta, note,
        "check it with a build, or a store, that can";
    /// A file that is not Zarr's, or a folder of such files: a part of the data all the same.
    OtherFile, "other_file", Keys, note,
        "no action is needed: `zarr copy` copies it, too, and `zarr rm` keeps it";
    /// What `zarr repair` put aside.
    Quarantined, "quarantined", Keys, note,
        "`zarr repair --restore --apply` moves them back; if you do not need them, erase the folder";
    /// A dimension of a group that has several lengths.
    DimensionLengths, "dimension_lengths", Meta, note,
        "xarray and netCDF open the group only when each dimension has one length: `zarr append` or `zarr resize` the arrays \
         that differ if you want to open it with them";
    /// What the specification of OME-Zarr recommends, and is otherwise.
    OmeAdvice, "ome_advice", Meta, note,
        "most readers show the image anyway; correct the attribute with `zarr attrs --set`";
    /// What the conventions of GeoZarr recommend, and is otherwise.
    GeoAdvice, "geo_advice", Meta, note,
        "readers that know a convention by its uuid read it anyway; correct the attribute with `zarr attrs --set`";
    /// The attribute `_FillValue` of an array of v3 in a form that xarray does not take.
    FillAttribute, "fill_attribute", Meta, note,
        "xarray opens the array only when the value has the form that it expects: `zarr attrs --set _FillValue=VALUE` writes a number in \
         this form";
    /// An attribute that names a variable that is not there.
    DanglingReference, "dangling_reference", Meta, note,
        "correct the attribute, or copy the variable";
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something wrong, or a note.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The node, or the group below which the key is.
    pub path: NodePath,
    /// The key in the store; a name as the store has it, where no key can be made of that.
    pub key: Option<String>,
    /// What is wrong.
    pub kind: ProblemKind,
    /// What is wrong with it, in a sentence.
    pub message: String,
    /// The clause of the specification, as in `docs/internals/spec`: `F-063`.
    pub clause: Option<&'static str>,
    /// What to do about this one, if not what its kind says.
    advice: Option<Box<str>>,
    /// The document that is right.
    pub(crate) correction: Option<Box<Correction>>,
}

/// A document that is right, in the place of one that is wrong or missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Correction {
    /// What stands there; `None` if nothing does.
    pub wrong: Option<Bytes>,
    pub right: Bytes,
}

impl Problem {
    /// A problem at a node.
    pub(crate) fn new(path: &NodePath, kind: ProblemKind, message: impl Into<String>) -> Problem {
        Problem {
            path: path.clone(),
            key: None,
            kind,
            message: message.into(),
            clause: None,
            advice: None,
            correction: None,
        }
    }

    /// The same problem, at this key.
    pub(crate) fn at(mut self, key: impl ToString) -> Problem {
        self.key = Some(key.to_string());
        self
    }

    /// The same problem, with the clause that it breaks.
    pub(super) fn by(mut self, clause: impl Into<Option<&'static str>>) -> Problem {
        self.clause = clause.into();
        self
    }

    /// The same problem, with what to do about this one.
    pub(super) fn advise(mut self, advice: impl Into<String>) -> Problem {
        self.advice = Some(advice.into().into());
        self
    }

    /// The same problem, with the document that is right, if there is one, which `zarr repair` writes.
    pub(super) fn corrected(mut self, correction: Option<Correction>) -> Problem {
        if correction.is_some() {
            self.advice = Some(match self.kind {
                ProblemKind::MissingDocument => "`zarr repair --apply` writes it".into(),
                _ => "`zarr repair --apply` corrects it, and keeps the old one".into(),
            });
            self.correction = correction.map(Box::new);
        }
        self
    }

    /// What to do about it.
    pub fn remedy(&self) -> &str {
        self.advice.as_deref().unwrap_or_else(|| self.kind.remedy())
    }

    /// The problem as an object: `path`, `key` (null, if it has none), `kind`, `message`, `clause` (null, if it has none),
    /// `level`, `remedy`.
    pub fn to_json(&self) -> Json {
        let object = Object::new()
            .with("path", self.path.as_str())
            .with("key", optional_text(self.key.as_deref()))
            .with("kind", self.kind.name())
            .with("message", self.message.as_str())
            .with("clause", optional_text(self.clause))
            .with("level", self.kind.level().name())
            .with("remedy", self.remedy());
        Json::from(object)
    }
}

/// A text in JSON, null if there is none.
fn optional_text(text: Option<&str>) -> Json {
    text.map_or(Json::Null, Json::from)
}

/// How to validate.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ValidateOptions<'a> {
    /// How deep to look.
    pub level: Level,
    /// Whether a chunk that is not stored is a problem.
    pub expect_complete: bool,
    /// Called from time to time, by any thread.
    pub progress: Option<&'a (dyn Fn(&ValidateProgress) + Sync)>,
    /// Cancels the call.
    pub cancel: Option<CancelToken>,
    /// Whether files that no store lists are looked for, too.
    pub(crate) skip_leftovers: bool,
}

impl<'a> ValidateOptions<'a> {
    /// Looks as deep as this.
    pub fn new(level: Level) -> Self {
        ValidateOptions { level, ..Self::default() }
    }

    /// Takes a chunk that is not stored for a problem.
    #[must_use]
    pub fn expect_complete(mut self, expect: bool) -> Self {
        self.expect_complete = expect;
        self
    }

    /// Looks at what the store lists only.
    pub(crate) fn without_leftovers(mut self) -> Self {
        self.skip_leftovers = true;
        self
    }

    /// Calls this from time to time.
    #[must_use]
    pub fn progress(mut self, progress: &'a (dyn Fn(&ValidateProgress) + Sync)) -> Self {
        self.progress = Some(progress);
        self
    }
}

/// How far a validation has come.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ValidateProgress {
    /// Values that were looked at.
    pub done: u64,
    /// Values that will be looked at, as far as that is known.
    pub total: u64,
}

/// What was checked, and how much was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// How many problems were found.
    pub problems: u64,
    /// How many of them are values or folders that could not be read, so that what is in them is not checked.
    pub unreadable: u64,
    /// How many notes.
    pub notes: u64,
    /// How many nodes were checked.
    pub nodes: u64,
    /// How many keys were listed.
    pub keys: u64,
    /// How many chunks, or shards, were looked into.
    pub chunks: u64,
    /// How many inner chunks of shards.
    pub inner_chunks: u64,
    /// How many bytes of chunks were read.
    pub bytes: u64,
}

impl Report {
    /// Whether no problem was found.
    pub fn is_sound(&self) -> bool {
        self.problems == 0
    }

    /// The counts as an object.
    pub fn to_json(&self) -> Json {
        let object = Object::new()
            .with("nodes", self.nodes)
            .with("keys", self.keys)
            .with("chunks", self.chunks)
            .with("inner_chunks", self.inner_chunks)
            .with("bytes", self.bytes);
        Json::from(object)
    }
}
