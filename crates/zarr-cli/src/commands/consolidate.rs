//! Makes copies of all documents in one, checks and removes them.

use clap::Args;
use zarr::{Group, Node};

use super::Out;
use crate::failure::Failure;
use crate::human;
use crate::interrupt;
use crate::session::{Session, Target, WriteOptions};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr consolidate data.zarr
  zarr consolidate data.zarr --check
  zarr consolidate data.zarr --remove
  zarr consolidate data.zarr --path ocean     for readers that open the group alone",
    after_long_help = crate::details("\
The copies are in .zmetadata (v2), in the root group's zarr.json (v3), or in meta/root/consolidated/.zmetadata (drafts).
This program updates them when it changes documents; few others do. --check exits with 1 if they are out of date. If a document
exists only as a copy, the copy is neither replaced nor removed: first run `zarr repair --apply`, which writes the document."))]
pub(crate) struct Consolidate {
    #[command(flatten)]
    target: Target,
    /// List the nodes whose copies differ from their documents
    #[arg(long, conflicts_with = "remove")]
    check: bool,
    /// Remove the copies
    #[arg(long)]
    remove: bool,
    #[command(flatten)]
    care: WriteOptions,
}

impl Consolidate {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        session.show_calls();
        if self.check {
            let node = session.open(&self.target)?;
            let differing = match group(&node) {
                Some(group) => group.check_consolidated()?,
                None => node.hierarchy().check_consolidated()?,
            };
            for path in &differing {
                writeln!(out, "{path}")?;
            }
            return match differing.len() as u64 {
                0 => Ok(()),
                n => {
                    let nodes = human::plural(n, "node");
                    let why = format!("consolidated metadata are out of date for {nodes}");
                    Err(Failure::No(why))
                }
            };
        }
        interrupt::leaves(
            session,
            "the consolidated metadata are either the old or the new ones; run the same command again",
        );
        let node = session.open_rw(&self.target, &self.care)?;
        if node.as_array().is_some() && !node.path().is_root() {
            return Err(Failure::Usage(format!(
                "{}: this is an array, and only groups have consolidated metadata: name a group, or the hierarchy",
                human::place(node.hierarchy(), node.path())
            )));
        }
        let hierarchy = node.hierarchy();
        if self.remove {
            let there = match group(&node) {
                Some(group) => group.remove_consolidated()?,
                None => hierarchy.remove_consolidated()?,
            };
            session.talk(if there {
                "removed the consolidated metadata"
            } else {
                "there are no consolidated metadata"
            });
        } else {
            let nodes = match group(&node) {
                Some(group) => group.consolidate()?,
                None => hierarchy.consolidate()?,
            };
            let nodes = human::plural(nodes as u64, "node");
            session
                .talk(&format!("consolidated {nodes} of {}", human::place(hierarchy, node.path())));
        }
        Ok(())
    }
}

/// The group below the root that is meant, if it is one.
fn group(node: &Node) -> Option<&Group> {
    node.as_group().filter(|group| !group.path().is_root())
}
