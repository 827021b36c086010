//! The commands, one file each.

mod append;
#[cfg(feature = "plot")]
mod append_dataset;
mod attrs;
mod checksum;
mod completions;
mod consolidate;
mod contents;
mod copy;
mod create;
#[cfg(feature = "plot")]
mod cut;
mod demo;
mod diff;
mod doctor;
mod dump;
mod dump_json;
mod generate;
#[cfg(feature = "plot")]
mod geography;
pub(crate) mod get;
mod head;
mod info;
mod ls;
mod manual;
mod migrate;
mod netcdf;
mod netcdf_plugin;
#[cfg(feature = "plot")]
mod plot;
#[cfg(feature = "plot")]
mod plot_json;
pub(crate) mod put;
mod pyramid;
mod refs;
mod rename;
mod repair;
mod resize;
mod rm;
#[cfg(feature = "serve")]
mod serve;
mod show;
#[cfg(feature = "plot")]
mod stats;
#[cfg(feature = "plot")]
mod stats_along;

mod sync;
mod tree;
mod tune;
mod validate;

use std::io::Write;

use clap::Subcommand;

use crate::failure::Failure;
use crate::session::Session;

/// Where commands write what was asked for.
pub(crate) type Out<'a> = &'a mut dyn Write;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Describe a group or an array: shape, chunks, type, codecs, attributes
    Info(info::Info),
    /// List groups and arrays: with -l kind, type, shape, chunks, stored bytes and how many chunks are written
    #[command(visible_alias = "list")]
    Ls(ls::Ls),
    /// Draw the groups and arrays below a node
    Tree(tree::Tree),
    /// Write elements of an array to standard output or to a file
    #[command(visible_alias = "cat")]
    Get(get::Get),
    /// Print the first rows of an array, or of each array of a group
    Head(head::Head),
    /// Show an array as a picture, a line or a histogram
    #[cfg(feature = "plot")]
    #[command(visible_alias = "preview")]
    Plot(plot::Plot),
    /// Write elements from standard input, or one value, into an array
    Put(put::Put),
    /// Create an array or a group, and the hierarchy around it if there is none
    Create(create::Create),
    /// Show or change the attributes of a node
    Attrs(attrs::Attrs),
    /// Change the shape of an array
    Resize(resize::Resize),
    /// Append elements from standard input to an array along an axis, or a dataset to a dataset
    Append(append::Append),
    /// Move a node, with everything below it, to another path in its hierarchy
    #[command(visible_alias = "mv")]
    Rename(rename::Rename),
    /// Copy an array, or a group and everything below it, to a new place, in any format
    #[command(visible_aliases = ["cp", "convert"])]
    Copy(copy::Copy),
    /// Update a copy: copy only the stored objects that differ from its source
    Sync(sync::Sync),
    /// Add missing levels of lower resolution to an OME-Zarr image and its labels, or to the variables of a map
    Pyramid(pyramid::Pyramid),
    /// Measure which chunks, shards and codecs suit an array and the way it is read; nothing is written
    Tune(tune::Tune),
    /// Convert a hierarchy's metadata to another format (v2 to v3, v3 to v2) without touching its chunks
    Migrate(migrate::Migrate),
    /// Write references to the chunks of netCDF and HDF5 files, which are then read as one Zarr hierarchy
    Refs(refs::Refs),
    /// Print a dataset as CDL, the text form of netCDF
    Dump(dump::Dump),
    /// Create a dataset from CDL, the text form of netCDF
    Gen(generate::Generate),
    /// Copy all documents into a single one, so that readers need only one request
    Consolidate(consolidate::Consolidate),
    /// Print a checksum of a node and everything below it, independent of format, chunks, codecs and store
    Checksum(checksum::Checksum),
    /// Compare two nodes and everything below them, whatever their formats, chunks, codecs and stores
    Diff(diff::Diff),
    /// Erase a node with everything below it
    Rm(rm::Rm),
    /// Serve hierarchies over HTTP, read-only: their keys, a v3 view, and a page
    #[cfg(feature = "serve")]
    Serve(serve::Serve),
    /// Compute count, min, max, mean and standard deviation of an array, percentiles, a histogram
    #[cfg(feature = "plot")]
    Stats(stats::Stats),
    /// Find what is wrong: documents, keys, indices of shards, chunks that do not decode
    Validate(validate::Validate),
    /// Repair what validate finds; without --apply, only say what would be done
    Repair(repair::Repair),
    /// Convert a real image from v2 to the draft of 2020 to v3, prove that nothing changed, read a part of a shard, measure
    Demo(demo::Demo),
    /// Print what this build supports, its limits, and which settings and credentials it finds (never their values)
    Doctor(doctor::Doctor),
    /// Print or install the lines in ~/.ncrc that let netCDF programs open Zarr data
    NetcdfPlugin(netcdf_plugin::NetcdfPlugin),
    /// Print a script that lets a shell complete verbs, options, and the nodes of --path
    Completions(completions::Completions),
    /// What `zarr TARGET` does.
    /// Describe a node, and show the tree of nodes below it
    #[command(name = "__show", hide = true, override_usage = "zarr <TARGET> [PATH]")]
    Show(show::Show),
    /// Print the nodes of a command line's target that begin with a text, for shells
    #[command(name = "__nodes", hide = true)]
    Nodes(completions::Nodes),
    /// Write the manual pages zarr.1, zarr-get.1, … into a folder
    #[command(hide = true)]
    Man(manual::Manual),
}

pub(crate) fn run(command: &Command, session: &Session, out: Out<'_>) -> Result<(), Failure> {
    match command {
        Command::Info(info) => info.run(session, out),
        Command::Ls(ls) => ls.run(session, out),
        Command::Tree(tree) => tree.run(session, out),
        Command::Get(get) => get.run(session, out),
        Command::Head(head) => head.run(session, out),
        #[cfg(feature = "plot")]
        Command::Plot(plot) => plot.run(session, out),
        Command::Put(put) => put.run(session),
        Command::Create(create) => create.run(session),
        Command::Attrs(attrs) => attrs.run(session, out),
        Command::Resize(resize) => resize.run(session),
        Command::Append(append) => append.run(session),
        Command::Rename(rename) => rename.run(session),
        Command::Copy(copy) => copy.run(session, out),
        Command::Sync(sync) => sync.run(session, out),
        Command::Pyramid(pyramid) => pyramid.run(session, out),
        Command::Tune(tune) => tune.run(session, out),
        Command::Migrate(migrate) => migrate.run(session, out),
        Command::Refs(refs) => refs.run(session, out),
        Command::Dump(dump) => dump.run(session, out),
        Command::Gen(generate) => generate.run(session),
        Command::Checksum(checksum) => checksum.run(session, out),
        Command::Diff(diff) => diff.run(session, out),
        Command::Consolidate(consolidate) => consolidate.run(session, out),
        Command::Rm(rm) => rm.run(session),
        #[cfg(feature = "serve")]
        Command::Serve(serve) => serve.run(session, out),
        #[cfg(feature = "plot")]
        Command::Stats(stats) => stats.run(session, out),
        Command::Validate(validate) => validate.run(session, out),
        Command::Repair(repair) => repair.run(session, out),
        Command::Demo(demo) => demo.run(session, out),
        Command::Doctor(doctor) => doctor.run(session, out),
        Command::NetcdfPlugin(plugin) => plugin.run(session, out),
        Command::Completions(completions) => completions.run(out),
        Command::Show(show) => show.run(session, out),
        Command::Nodes(nodes) => nodes.run(session, out),
        Command::Man(manual) => manual.run(session),
    }
}
