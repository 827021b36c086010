//! Tools over whole Zarr hierarchies, whatever their dialects and stores.
//!
//! - [`copy()`] copies and converts groups and arrays.
//! - [`plan_migration`] migrates a hierarchy between v2 and v3 by its documents alone.
//! - [`plan_sync`] makes an existing copy equal to its source by stored bytes.
//! - [`validate()`](validate()) finds what is wrong with a hierarchy.
//! - [`repair()`] repairs what that finds, and never destroys the only copy of a byte.
//! - [`plan_pyramid`] adds levels of lower resolution to images and maps.
//! - [`tune`](tune::tune) measures which chunks, shards and codecs suit an array and the way it is read.
//! - [`checksum()`] computes a checksum of what a node is, however it is stored.
//! - [`ChunkManifest`] has the digests of stored chunks, against which they are checked when they are read.
//! - [`diff()`] compares two nodes with all below them: metadata and elements.
//! - [`find_node`] and [`new_place`] find what a path or URL that a person wrote refers to.
//! - [`codec()`] parses the short text by which people name a codec.
//!
//! The crate `zarr` has all of this under the same names.

#![forbid(unsafe_code)]

mod checksum;
mod copy;
mod diff;
mod errors;
mod links;
mod local_path;
mod manifest;
mod mentions;
mod migrate;
mod netcdf_lists;
mod ome;
mod other_files;
#[doc(hidden)]
pub mod other_format;
mod pyramid;
pub mod repair;
mod shorthand;
mod size;
mod sync;
mod target;
mod transfer;
mod tree_progress;
pub mod tune;
pub mod validate;

pub use checksum::{Blocks, Checksum, ChecksumOptions, Digest, NodeChecksum, checksum};
pub use copy::{
    ChunkLayout, CodecRule, CopyOptions, CopyUnderWay, LayoutChange, NodeCopy, Part, Plan,
    Progress, ShapeRule, Steps, UndoneCopy, Verify, WHOLE_AXIS, copies_under_way, copy,
    is_in_places, is_included, metadata_like, node_copy, plan_copy, stored_difference, undo_copies,
};
#[cfg(feature = "nczarr")]
pub use copy::{copy_dataset, plan_dataset};
pub use diff::{Change, Diff, DiffOptions, ElementsDiff, NodeDiff, Place, diff};
pub use manifest::{ChunkManifest, manifest_lines};
pub use mentions::{Mention, mentions};
pub use migrate::{
    MigrateOptions, Migration, open_for_migration, plan_migration, plan_migration_into,
    plan_rest_of_removal,
};
pub use netcdf_lists::update_netcdf_lists;
pub use ome::image_axes;
pub use other_files::hidden_nodes;
pub use pyramid::{
    PyramidConvention, PyramidLevel, PyramidMethod, PyramidOptions, PyramidPlan, PyramidProgress,
    PyramidRounding, plan_pyramid,
};
pub use repair::{
    RepairAction, RepairOptions, RepairReport, RepairStep, Restored, StepState, repair, restore,
};
pub use shorthand::{codec, default_codecs};
pub use sync::{SyncCompare, SyncOptions, SyncPlan, SyncProgress, Synced, plan_sync};
pub use target::{
    NewPlace, WithoutCopies, absolute_url, copy_place, copy_place_in, find_node, hierarchy_above,
    meant_url, new_place, new_place_in, path_below, refuse_other_name, split_at_store,
    without_copies,
};
#[cfg(feature = "nczarr")]
pub use target::{dataset_under_way, dataset_url, netcdf_url};
pub use tree_progress::{Listed, TreeProgress, children_and_broken, tree_and_broken};
pub use validate::{
    Level, Problem, ProblemKind, Report, ValidateOptions, ValidateProgress, referenced_variables,
    validate,
};
