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
pub(crate) enum Command {
    Info(info::Info),
    #[command(visible_alias = "list")]
    Ls(ls::Ls),
    Tree(tree::Tree),
    #[command(visible_alias = "cat")]
    Get(get::Get),
    Head(head::Head),
    #[cfg(feature = "plot")]
    #[command(visible_alias = "preview")]
    Plot(plot::Plot),
    Put(put::Put),
    Create(create::Create),
    Attrs(attrs::Attrs),
    Resize(resize::Resize),
    Append(append::Append),
    #[command(visible_alias = "mv")]
    Rename(rename::Rename),
    #[command(visible_aliases = ["cp", "convert"])]
    Copy(copy::Copy),
    Sync(sync::Sync),
    Pyramid(pyramid::Pyramid),
    Tune(tune::Tune),
    Migrate(migrate::Migrate),
    Refs(refs::Refs),
    Dump(dump::Dump),
    Gen(generate::Generate),
    Consolidate(consolidate::Consolidate),
    Checksum(checksum::Checksum),
    Diff(diff::Diff),
    Rm(rm::Rm),
    #[cfg(feature = "serve")]
    Serve(serve::Serve),
    #[cfg(feature = "plot")]
    Stats(stats::Stats),
    Validate(validate::Validate),
    Repair(repair::Repair),
    Demo(demo::Demo),
    Doctor(doctor::Doctor),
    NetcdfPlugin(netcdf_plugin::NetcdfPlugin),
    Completions(completions::Completions),
    /// What `zarr TARGET` does.
    #[command(name = "__show", hide = true)]
    Show(show::Show),
    #[command(name = "__nodes", hide = true)]
    Nodes(completions::Nodes),
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
