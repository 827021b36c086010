//! Erases a node.

use clap::Args;
use zarr::stores::FilesystemStore;
use zarr::{Error, ErrorKind, Hierarchy, Warning};

use crate::failure::Failure;
use crate::foreign;
use crate::human;
use crate::interrupt;
use crate::session::{Session, Target, WriteOptions};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr rm data.zarr --path ocean/temperature
  zarr rm data.zarr/ocean
  zarr rm data.zarr --all",
    after_long_help = crate::details("\
There is no confirmation prompt. The same command also removes what an interrupted erase left. A whole hierarchy is only erased
with --all. Files that do not belong to Zarr are kept and listed; --force erases them, too."))]
pub(crate) struct Rm {
    #[command(flatten)]
    target: Target,
    /// Erase the root, and with it the whole hierarchy
    #[arg(long)]
    all: bool,
    /// Also erase files below the node that are not Zarr's
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    care: WriteOptions,
}

impl Rm {
    pub fn run(&self, session: &Session) -> Result<(), Failure> {
        if let Some(store) = self.erase(session)? {
            // Then nothing holds the store open.
            session.flush()?;
            remove_folder(&store);
        }
        Ok(())
    }

    /// Returns the store's name if a whole hierarchy was erased.
    fn erase(&self, session: &Session) -> Result<Option<String>, Failure> {
        session.show_calls();
        let (hierarchy, path) = session.find_in_parent(&self.target, &self.care)?;
        if path.is_root() && !self.all {
            let store = hierarchy.store().name();
            let why = format!(
                "this is the root of {store}; name a node with --path, or erase all of it with --all"
            );
            return Err(Failure::Usage(why));
        }
        let mut interrupted = 0;
        let mut is_only_copied = false;
        let below = match hierarchy.tree(&path) {
            Ok(nodes) => Some(nodes.len() as u64),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                interrupted = hierarchy.interrupted_keys(&path)?.len() as u64;
                is_only_copied = !hierarchy.only_copied_nodes(&path)?.is_empty();
                if interrupted == 0 && !is_only_copied {
                    return Err(e.into());
                }
                None
            }
            // What is broken, or cannot be listed, can be erased all the same.
            Err(_) => None,
        };
        let mentions = zarr::tools::mentions(&hierarchy, &path);
        let foreign = foreign::keys(&hierarchy, &path)?;
        let left = "documents are erased first, so the node may be gone while chunks remain; run the same command again to erase \
                    those";
        interrupt::leaves(session, left);
        hierarchy.erase(&path)?;
        zarr::tools::update_netcdf_lists(&hierarchy, &path, None)?;
        if path.is_root() {
            erase_entry_point(&hierarchy)?;
        }
        if self.force {
            foreign::erase(&hierarchy, &foreign)?;
        } else {
            foreign::tell_kept(session, &path, &foreign);
        }
        let emptied = path.is_root().then(|| hierarchy.store().name());
        session.warn_of_mentions(&hierarchy, &mentions, (&path, None));
        if is_only_copied {
            let keys = match interrupted {
                0 => String::new(),
                keys => format!(", with {}", human::plural(keys, "key")),
            };
            let what =
                format!("it had no document, only consolidated metadata; erased these{keys}");
            session.warn_of(&[Warning { place: path.to_string(), what }]);
            return Ok(emptied);
        }
        if interrupted > 0 {
            let keys = human::plural(interrupted, "key");
            let what = format!("found no document; erased {keys} left by an interrupted erase");
            session.warn_of(&[Warning { place: path.to_string(), what }]);
            return Ok(emptied);
        }
        let nodes = below.map_or(String::new(), |n| format!(" ({})", human::plural(n, "node")));
        session.talk(&format!("erased {path}{nodes} of {}", hierarchy.store().name()));
        Ok(emptied)
    }
}

/// Erases the document that a draft's hierarchy has besides those of its nodes.
fn erase_entry_point(hierarchy: &Hierarchy) -> Result<(), Failure> {
    let entry = zarr::format::of_dialect(hierarchy.dialect()).entry_point().map_err(Error::from)?;
    if hierarchy.store().capabilities().write {
        let store = hierarchy.store().to_sync();
        for (key, _) in entry {
            store.erase(&key).map_err(Error::from)?;
        }
    }
    Ok(())
}

/// Removes the folder of a store, if nothing is left in it. A store does not do it: its root is not its own, and its locks are there
/// until it is closed.
fn remove_folder(name: &str) {
    if !name.starts_with("file://") {
        return;
    }
    let Ok(store) = FilesystemStore::from_url(name) else { return };
    let is_here = std::env::current_dir().is_ok_and(|here| here == store.root());
    // A folder with anything in it stays, and so does a link to one.
    if !is_here && !store.root().is_symlink() {
        drop(std::fs::remove_dir(store.root()));
    }
}
