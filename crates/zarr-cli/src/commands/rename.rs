//! Gives a node another path in its hierarchy.

use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};

use clap::Args;
use zarr::stores::FilesystemStore;
use zarr::tools::{CopyOptions, Verify};
use zarr::{
    AccessError, Array, Cause, Dialect, Error, ErrorKind, Hierarchy, Node, NodePath, Object,
};

use crate::failure::Failure;
use crate::foreign;
use crate::human;
use crate::interrupt;
use crate::progress::Progress;
use crate::session::{Session, Target, WriteOptions};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr rename data.zarr/temperature temperature_2m
  zarr rename data.zarr --path time coordinates/time",
    after_long_help = crate::details("\
In a folder, a node of v2 or v3 is a folder itself, and is renamed in one step. In archives, LMDB files, buckets and drafts, the
node is copied, each chunk is read back and compared, and then the old node is erased; if the copy cannot keep something, the
command fails. Files that are not Zarr's are moved, too. The old node is complete until the new one is. If the command is killed,
run it again to continue; where both nodes are complete then, it says how to go on. Missing groups above NEW are created, and
consolidated metadata are updated. No other program may write to the node at the same time."))]
pub(crate) struct Rename {
    /// Path or URL of a hierarchy, or of a node inside
    #[arg(value_name = "TARGET")]
    target: String,
    /// Path of the node, relative to the one that TARGET names [default: TARGET itself]
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// The node's new path, which begins at the group above TARGET; with --path, at TARGET
    ///
    /// It may also begin with the path of the hierarchy, as TARGET does: `zarr rename data.zarr/a data.zarr/b`
    #[arg(value_name = "NEW")]
    new: String,
    #[command(flatten)]
    care: WriteOptions,
}

impl Rename {
    /// The hierarchy, and the node's old and new path in it.
    fn paths(&self, session: &Session) -> Result<(Hierarchy, NodePath, NodePath), Failure> {
        self.refuse_other_hierarchy()?;
        let Some(path) = &self.path else {
            let target = Target::new(&self.target, "/");
            let (mut hierarchy, mut old) = session.find_in_parent(&target, &self.care)?;
            // Each group of v2 and v3 can be opened as a hierarchy. The outermost may have consolidated metadata that name the node.
            let options = session.writing(&self.care)?;
            while let Some((above, path)) =
                zarr::tools::hierarchy_above(&hierarchy.store().name(), &options)
            {
                let path = zarr::tools::path_below(&path, old.as_str())?;
                if above.dialect() != hierarchy.dialect() || above.node(&path).is_err() {
                    break;
                }
                (hierarchy, old) = (above, path);
            }
            session.written(&hierarchy);
            if let Some(new) = self.new_in_store(&old) {
                let new = zarr::tools::path_below(&NodePath::root(), &new)?;
                return Ok((hierarchy, old, new));
            }
            // As in a shell, a path that begins with a slash begins at the root.
            let above = if self.new.starts_with('/') { None } else { old.parent() };
            let above = above.unwrap_or_else(NodePath::root);
            if let (Some(group), Some((first, rest))) = (above.name(), self.new.split_once('/'))
                && group == first
                && hierarchy.node(&above.join(first)?).is_err()
            {
                return Err(Failure::Usage(format!(
                    "NEW is counted from {above}, so that the node would be moved to {above}/{}; did you mean `{rest}`, or `/{}` from the root?",
                    self.new, self.new
                )));
            }
            let new = zarr::tools::path_below(&above, &self.new)?;
            return Ok((hierarchy, old, new));
        };
        let options = session.writing(&self.care)?;
        let (hierarchy, base) = zarr::locate(&zarr::tools::absolute_url(&self.target), &options)?;
        session.written(&hierarchy);
        let old = zarr::tools::path_below(&base, path)?;
        let new = zarr::tools::path_below(&base, &self.new)?;
        Ok((hierarchy, old, new))
    }

    /// Refuses a NEW that is in another hierarchy: it would be taken for a path in this one.
    fn refuse_other_hierarchy(&self) -> Result<(), Failure> {
        let (target, _) = zarr::tools::split_at_store(&self.target);
        let (new, inside) = zarr::tools::split_at_store(&self.new);
        let names_a_store = !inside.is_empty() || new.contains("://");
        if !names_a_store || zarr::tools::absolute_url(target) == zarr::tools::absolute_url(new) {
            return Ok(());
        }
        let old = match &self.path {
            Some(path) => {
                format!("{}/{}", self.target.trim_end_matches('/'), path.trim_matches('/'))
            }
            None => self.target.clone(),
        };
        Err(Failure::Usage(format!(
            "NEW is a path in the hierarchy of TARGET, and {} is in another; to move a node there, run `zarr copy {} {}`, then `zarr rm {}`",
            self.new, old, self.new, old
        )))
    }

    /// The new path from the root of the hierarchy, if NEW begins with the place of the hierarchy, as it does for `mv`:
    /// `zarr rename data.zarr/a data.zarr/b`.
    fn new_in_store(&self, old: &NodePath) -> Option<String> {
        let place = self.target.trim_end_matches('/').strip_suffix(old.as_str())?;
        [place.to_owned(), zarr::tools::absolute_url(place)]
            .iter()
            .find_map(|place| self.new.strip_prefix(place.as_str())?.strip_prefix('/'))
            .map(str::to_owned)
    }

    pub fn run(&self, session: &Session) -> Result<(), Failure> {
        let (mut hierarchy, mut old, mut new) = self.paths(session)?;
        let turn = if self.care.no_lock { None } else { turn(&hierarchy)? };
        if turn.is_some() {
            // What was read of the hierarchy may be from before another rename.
            (hierarchy, old, new) = self.paths(session)?;
        }
        if old.is_root() || new.is_root() || new.is_within(&old) {
            let why = if old.is_root() {
                "TARGET is the root of a hierarchy, which has no name of its own; to give the whole hierarchy another name, rename its folder or file with `mv`".to_owned()
            } else if new.is_root() {
                "the root cannot be the new path; `zarr copy` makes a hierarchy of a node"
                    .to_owned()
            } else if new == old {
                let group = old.parent().unwrap_or_else(NodePath::root);
                format!(
                    "{old} already has this path, as NEW begins at {group}; to move it to another group, name the hierarchy as TARGET and pass --path {}",
                    old.relative()
                )
            } else {
                format!("{new} is inside {old}; choose a path outside")
            };
            return Err(Failure::Usage(why));
        }
        for name in new.names() {
            hierarchy
                .format()
                .check_name(name)
                .map_err(|e| Error::from(e).at_store(hierarchy.store().name()).at_path(&new))?;
        }
        let node =
            hierarchy.node(&old).map_err(|error| left_over(error, &hierarchy, &old, &new))?;
        refuse_links_above(&hierarchy, &[&old, &new])?;
        refuse_only_copied(&hierarchy, &old)?;
        let mentions = zarr::tools::mentions(&hierarchy, &old);
        let left = "the old or the new node is complete; run the same command again to continue, or to see what is left to do. \
                    Consolidated metadata may be missing: `zarr consolidate` writes them again";
        if let Some(folders) = Folders::of(&hierarchy, &old, &new)? {
            refuse_taken(&hierarchy, &old, &new)?;
            interrupt::leaves(session, left);
            folders.rename(&hierarchy, &new, self.care.sync)?;
        } else {
            refuse_taken(&hierarchy, &old, &new)?;
            interrupt::leaves(session, left);
            copy(&node, &hierarchy, &new)?;
            erase_old(session, &hierarchy, &old)?;
        }
        zarr::tools::update_netcdf_lists(&hierarchy, &old, Some(&new))?;
        session.talk(&format!("{old} of {} is now {new}", hierarchy.store().name()));
        if let Node::Array(array) = &node {
            tell_dimension(session, array, &old, &new);
        }
        session.warn_of_mentions(&hierarchy, &mentions, (&old, Some(&new)));
        Ok(())
    }
}

/// Waits for other renames, and appends of datasets, in the same folder or archive, and lets others wait until the file is dropped; `None`
/// where nobody has to wait. Between the removal of consolidated metadata and their return, another rename would miss nodes, or bring back the copies of a
/// node that is gone; in an archive, its copy would begin beside that of another one.
pub(super) fn turn(hierarchy: &Hierarchy) -> Result<Option<File>, Failure> {
    let name = hierarchy.store().name();
    let folder = match name.split_once("://") {
        Some(("file", _)) => name,
        // An archive is replaced by a new one: what stays is the folder that it is in.
        Some(("zip", path)) => {
            let (folder, _) = path.rsplit_once('/').unwrap_or((".", path));
            format!("file://{folder}")
        }
        _ => return Ok(None),
    };
    let store = FilesystemStore::from_url(&folder).map_err(Error::from)?;
    // Not every system opens folders, and not every file system has locks.
    let folder = File::open(store.root()).ok();
    Ok(folder.filter(|folder| folder.lock().is_ok()))
}

/// Says that a coordinate's dimension keeps its name: under another one, the array is no longer the coordinate of it.
fn tell_dimension(session: &Session, array: &Array, old: &NodePath, new: &NodePath) {
    let names = array.metadata().dimension_names.clone().unwrap_or_default();
    let [Some(name)] = &names[..] else { return };
    if old.name() == Some(name) && new.name() != Some(name) {
        session.tell_notes(&[format!(
            "the dimension is still called `{name}`, here and in other arrays that have it: {new} is no longer its coordinate"
        )]);
    }
}

/// No folder above the node, where it is and where it is to be, may be a link: a renaming moves or erases nothing behind one
/// (docs/internals/design/stores.md).
fn refuse_links_above(hierarchy: &Hierarchy, paths: &[&NodePath]) -> Result<(), Failure> {
    let name = hierarchy.store().name();
    if !name.starts_with("file://") {
        return Ok(());
    }
    let root = FilesystemStore::from_url(&name).map_err(Error::from)?;
    for path in paths {
        let (_, prefixes) = hierarchy.format().erasure(path).map_err(Error::from)?;
        for prefix in prefixes {
            let mut folder = root.root().to_owned();
            let names: Vec<&str> = prefix.as_str().trim_end_matches('/').split('/').collect();
            for name in &names[..names.len() - 1] {
                folder.push(name);
                if folder.is_symlink() {
                    return Err(Failure::Usage(format!(
                        "{}: it is reached through the symbolic link {}; rename the node where the link leads",
                        human::place(hierarchy, path),
                        folder.display()
                    )));
                }
            }
        }
    }
    Ok(())
}

/// Nodes that only consolidated metadata describe would not be renamed, and what describes them would be lost.
fn refuse_only_copied(hierarchy: &Hierarchy, old: &NodePath) -> Result<(), Failure> {
    let found = hierarchy.only_copied_nodes(old)?;
    let Some(first) = found.first() else { return Ok(()) };
    let nodes = match found.len() {
        1 => format!("{first} has"),
        count => format!("{count} nodes, such as {first}, have"),
    };
    let place = human::place(hierarchy, old);
    Err(Failure::Usage(format!(
        "{place}: {nodes} no document, only consolidated metadata: `zarr repair --apply` writes such documents; then rename"
    )))
}

/// Nothing may be at the new path, but for a copy under way, which goes on.
fn refuse_taken(hierarchy: &Hierarchy, old: &NodePath, new: &NodePath) -> Result<(), Failure> {
    if let Some(array) =
        new.ancestors().find(|above| above != new && hierarchy.array(above).is_ok())
    {
        let place = human::place(hierarchy, new);
        return Err(Failure::Usage(format!(
            "{place}: {array} is an array, and has no nodes below it"
        )));
    }
    match hierarchy.node(new) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e.into()),
        Ok(node) => {
            let kind = if matches!(node, Node::Array(_)) { "an array" } else { "a group" };
            let hint = format!(
                "choose another path; if a rename was interrupted, compare both with `zarr diff`, then erase {old} with \
                 `zarr rm`"
            );
            let taken = Error::from(AccessError::Exists(kind)).at_store(hierarchy.store().name());
            Err(taken.at_path(new).with_hint(hint).into())
        }
    }
}

/// The error that there is no node; where an interrupted renaming has left chunks of it, what to do with them.
fn left_over(error: Error, hierarchy: &Hierarchy, old: &NodePath, new: &NodePath) -> Failure {
    let is_left = error.kind() == ErrorKind::NotFound
        && hierarchy.node(new).is_ok()
        && hierarchy.interrupted_keys(old).is_ok_and(|keys| !keys.is_empty());
    if !is_left {
        return error.into();
    }
    let place = human::place(hierarchy, old);
    Failure::No(format!(
        "{place}: found chunks without a document, and {new} exists; if a rename was interrupted, `zarr rm` of {old} \
         erases what it left"
    ))
}

/// The folder of a node, and the one that it becomes.
struct Folders {
    from: PathBuf,
    to: PathBuf,
}

impl Folders {
    /// None if the node is not one folder of this machine, or if a group on the way has consolidated metadata, which
    /// would have to change in the same moment.
    fn of(
        hierarchy: &Hierarchy,
        old: &NodePath,
        new: &NodePath,
    ) -> Result<Option<Folders>, Failure> {
        let name = hierarchy.store().name();
        if hierarchy.dialect() == Dialect::Draft || !name.starts_with("file://") {
            return Ok(None);
        }
        for above in old.ancestors().chain(new.ancestors()) {
            if above.is_root() || above == *old || above == *new {
                continue;
            }
            if let Ok(Node::Group(group)) = hierarchy.node(&above)
                && group.is_consolidated()?
            {
                return Ok(None);
            }
        }
        let store = FilesystemStore::from_url(&name).map_err(Error::from)?;
        let folder =
            |path: &NodePath| path.names().fold(store.root().to_owned(), |f, name| f.join(name));
        let (from, to) = (folder(old), folder(new));
        // What is at the new path without being a node may be chunks, which the renamed node must not get; a copy under way
        // is gone on with.
        let is_plain = from.is_dir() && fs::symlink_metadata(&to).is_err();
        Ok(is_plain.then_some(Folders { from, to }))
    }

    fn rename(&self, hierarchy: &Hierarchy, new: &NodePath, sync: bool) -> Result<(), Failure> {
        let above = new.parent().unwrap_or_else(NodePath::root);
        if matches!(hierarchy.node(&above), Err(e) if e.kind() == ErrorKind::NotFound) {
            hierarchy.create_group(&above, Object::new())?;
        }
        // Groups above, if any, are there, and no array is one of them.
        hierarchy.group(&above)?;
        let link = self.link()?;
        // Copies of documents that say where the node was would hide that it is gone.
        let is_consolidated = hierarchy.is_consolidated()?;
        if is_consolidated {
            hierarchy.remove_consolidated()?;
        }
        let renamed = match &link {
            None => fs::rename(&self.from, &self.to),
            Some(target) => move_link(&self.from, &self.to, target),
        };
        let renamed = renamed.map_err(|e| {
            Failure::Stream("cannot rename the folder of the node; nothing has moved", e)
        });
        let consolidated = if is_consolidated { hierarchy.consolidate().map(drop) } else { Ok(()) };
        renamed?;
        let hint = "the node was renamed, but there are no consolidated metadata now: repair what is broken, then run `zarr \
                    consolidate`";
        consolidated.map_err(|e| e.with_hint(hint))?;
        if sync {
            for folder in [&self.from, &self.to].iter().filter_map(|path| path.parent()) {
                sync_folder(folder).map_err(|e| Failure::Stream("cannot sync a folder", e))?;
            }
        }
        Ok(())
    }
}

impl Folders {
    /// Where the link that the node's folder is has to lead in its new place; `None` for a folder, and for a link that leads to the same
    /// place from there. Refuses a folder in which a relative link leads out of it, to another place from there.
    fn link(&self) -> Result<Option<PathBuf>, Failure> {
        let failed = |e| Failure::Stream("cannot read the symbolic links of the node", e);
        let (from, to) = (parent(&self.from), parent(&self.to));
        if from == to {
            return Ok(None);
        }
        if !self.from.is_symlink() {
            return match leading_out(&self.from, 0).map_err(failed)? {
                None => Ok(None),
                Some(link) => Err(Failure::Usage(format!(
                    "{} is a relative symbolic link that leads out of the node, and would lead elsewhere from its new path; make it \
                     absolute, or make a copy with `zarr copy`, then erase the node with `zarr rm`",
                    link.display()
                ))),
            };
        }
        let target = fs::read_link(&self.from).map_err(failed)?;
        if target.is_absolute() {
            return Ok(None);
        }
        let (from, to) = (from.canonicalize(), to.canonicalize());
        let (from, to) = (from.map_err(failed)?, to.map_err(failed)?);
        let rewritten = relative(&from.join(&target), &to);
        let found = to.join(&rewritten).canonicalize().map_err(failed)?;
        let due = self.from.canonicalize().map_err(failed)?;
        if found != due {
            return Err(Failure::Usage(format!(
                "{} is a relative symbolic link to {}, which cannot be reached by a relative path from the new place; make it absolute",
                self.from.display(),
                target.display()
            )));
        }
        Ok(Some(rewritten))
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// The path of `place` from the folder `from`, both absolute; `..` in it is taken for the folder above.
fn relative(place: &Path, from: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in place.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    let common = plain.components().zip(from.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(plain.components().skip(common)).collect()
}

/// A relative link in a folder, or below, that leads out of the folder that is `depth` levels above it.
fn leading_out(folder: &Path, depth: usize) -> std::io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if let Some(link) = leading_out(&entry.path(), depth + 1)? {
                return Ok(Some(link));
            }
        } else if kind.is_symlink() {
            let (mut at, mut is_out) = (depth, false);
            let target = fs::read_link(entry.path())?;
            for part in target.components() {
                match part {
                    Component::ParentDir if at == 0 => is_out = true,
                    Component::ParentDir => at -= 1,
                    Component::Normal(_) => at += 1,
                    _ => {}
                }
            }
            if is_out && !target.is_absolute() {
                return Ok(Some(entry.path()));
            }
        }
    }
    Ok(None)
}

/// Moves a link, which leads to `target` from its new place.
#[cfg(unix)]
fn move_link(from: &Path, to: &Path, target: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, to)?;
    fs::remove_file(from).inspect_err(|_| {
        let _ = fs::remove_file(to);
    })
}

#[cfg(not(unix))]
fn move_link(_: &Path, _: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::Error::other("the node is a relative symbolic link; make it absolute"))
}

fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if cfg!(unix) { fs::File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Copies the node, and erases the old one when all chunks of the new one were read back.
fn copy(node: &Node, hierarchy: &Hierarchy, new: &NodePath) -> Result<(), Failure> {
    let bar = Progress::of_bytes(0, false);
    let options = CopyOptions {
        strict: true,
        resume: true,
        verify: Verify::Stored,
        progress: Some(&|progress: &zarr::tools::Progress| {
            bar.at(progress.bytes_done, progress.bytes_total, progress.path.as_ref());
        }),
        ..CopyOptions::default()
    };
    let copied = zarr::tools::copy(node, hierarchy, new, &options);
    copied.map_err(|e| match e.cause() {
        Cause::Access(AccessError::ChunksWithoutArray { .. }) => e.with_hint(
            "restore the document of the array, move the files away, erase them with `zarr rm`, or choose another path",
        ),
        _ => e,
    })?;
    hierarchy.flush()?;
    Ok(())
}

/// Erases the node of which there is a copy.
fn erase_old(session: &Session, hierarchy: &Hierarchy, old: &NodePath) -> Result<(), Failure> {
    // Files that are not Zarr's go first, while the old node tells what they belong to. What the copy leaves out stays.
    let mut files = foreign::keys(hierarchy, old)?;
    files.retain(|key| {
        // Nor does a copy take what looks like a chunk, but is no array's.
        zarr::format::system_part(key.as_str()).is_none() && !zarr::format::is_zarr_key(key)
    });
    foreign::erase(hierarchy, &files)?;
    hierarchy.erase(old)?;
    foreign::tell_kept(session, old, &foreign::keys(hierarchy, old)?);
    Ok(())
}
