//! A disk that loses power: which states it may hold after the calls of a log, if it keeps only what it has to keep.
//!
//! A file has the content of its last synchronisation, or what was written since, or nothing of that, or the beginning of it, or zeros or
//! old blocks of its length. Of a file that was synchronised, and written to in place since, each block of each later write is there or is
//! not, by itself: what the disk had of other blocks stays. A name in a folder has its target of the folder's last synchronisation, or any that it got since; each name
//! by itself. That is what POSIX allows; file systems with a journal allow less.

#![cfg(all(
    target_os = "linux",
    feature = "filesystem",
    feature = "zip",
    feature = "lmdb",
    feature = "sharding",
    feature = "crc32c"
))]
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::Path;

use crate::changes::Random;
use crate::traced::Event;

/// A folder or a file, by its number on this disk.
type Id = usize;

#[derive(Clone, Debug)]
enum Node {
    Folder(BTreeMap<String, Name>),
    File(File),
}

#[derive(Clone, Debug, Default)]
struct File {
    now: Vec<u8>,
    synced: Vec<u8>,
    is_dirty: bool,
    /// What was written since the last synchronisation: where, and what.
    pending: Vec<(usize, Vec<u8>)>,
}

/// What a disk writes as a whole.
const BLOCK: usize = 4096;

/// A name in a folder: its targets since the folder was synchronised, the first of which the disk has.
#[derive(Clone, Debug)]
struct Name(Vec<Option<Id>>);

impl Name {
    fn now(&self) -> Option<Id> {
        self.0.last().copied().flatten()
    }
}

/// What reaches the disk of what it does not have to keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Nothing.
    All,
    /// All names, and no content: a rename that overtakes the data.
    Content,
    /// Some names, and some content.
    Some,
}

#[derive(Clone, Debug)]
pub struct Disk {
    nodes: Vec<Node>,
    files: HashMap<u64, Id>,
}

impl Disk {
    /// An empty folder, which the disk has.
    pub fn new() -> Disk {
        Disk { nodes: vec![Node::Folder(BTreeMap::new())], files: HashMap::new() }
    }

    fn folder(&mut self, id: Id) -> &mut BTreeMap<String, Name> {
        match &mut self.nodes[id] {
            Node::Folder(names) => names,
            Node::File(_) => panic!("a file is used as a folder"),
        }
    }

    /// What the system shows at a path.
    fn at(&self, path: &str) -> Option<Id> {
        path.split('/').filter(|name| !name.is_empty()).try_fold(0, |id, name| {
            match &self.nodes[id] {
                Node::Folder(names) => names.get(name)?.now(),
                Node::File(_) => None,
            }
        })
    }

    fn set(&mut self, path: &str, id: Option<Id>) {
        let (above, name) = path.rsplit_once('/').expect("an absolute path");
        let above = self.at(above).expect("its folder was made");
        self.folder(above).entry(name.into()).or_insert_with(|| Name(vec![None])).0.push(id);
    }

    fn add(&mut self, path: &str, node: Node) -> Id {
        self.nodes.push(node);
        let id = self.nodes.len() - 1;
        self.set(path, Some(id));
        id
    }

    fn file(&mut self, inode: u64) -> &mut File {
        match &mut self.nodes[self.files[&inode]] {
            Node::File(file) => {
                file.is_dirty = true;
                file
            }
            Node::Folder(_) => panic!("a folder is written to"),
        }
    }

    /// Follows a call.
    pub fn follow(&mut self, event: &Event) {
        match event {
            Event::Mkdir(path) => drop(self.add(path, Node::Folder(BTreeMap::new()))),
            Event::Create(path, inode) => {
                let id = self.add(path, Node::File(File::default()));
                self.files.insert(*inode, id);
            }
            Event::Unlink(path) | Event::Rmdir(path) => self.set(path, None),
            Event::Rename(from, to) => {
                let id = self.at(from);
                self.set(from, None);
                self.set(to, id);
            }
            Event::Write(inode, at, data) => {
                let file = self.file(*inode);
                put(&mut file.now, *at, data);
                file.pending.push((*at, data.clone()));
            }
            Event::Truncate(inode, size) => self.file(*inode).now.resize(*size, 0),
            Event::Sync(path, inode) => self.sync(path, *inode),
            Event::Note(_) => {}
        }
    }

    /// The system writes all that it keeps, as it does from time to time.
    pub fn write_back(&mut self) {
        (0..self.nodes.len()).for_each(|id| self.sync_node(id));
    }

    fn sync(&mut self, path: &str, inode: u64) {
        let id = match self.at(path) {
            Some(id) if matches!(self.nodes[id], Node::Folder(_)) => id,
            _ => self.files[&inode],
        };
        self.sync_node(id);
    }

    fn sync_node(&mut self, id: Id) {
        match &mut self.nodes[id] {
            Node::Folder(names) => {
                names.values_mut().for_each(|name| name.0 = vec![name.now()]);
                names.retain(|_, name| name.now().is_some());
            }
            Node::File(file) => {
                file.synced.clone_from(&file.now);
                file.pending.clear();
                file.is_dirty = false;
            }
        }
    }

    /// Makes a state that the disk may hold after a power failure now.
    pub fn cut(&self, loss: Loss, random: &mut Random, to: &Path) -> io::Result<()> {
        self.cut_folder(0, loss, random, to)
    }

    fn cut_folder(&self, id: Id, loss: Loss, random: &mut Random, to: &Path) -> io::Result<()> {
        fs::create_dir_all(to)?;
        let Node::Folder(names) = &self.nodes[id] else { return Ok(()) };
        for (name, targets) in names {
            let target = match loss {
                Loss::All => targets.0[0],
                Loss::Content => targets.now(),
                Loss::Some => targets.0[random.below(targets.0.len() as u64) as usize],
            };
            let (Some(target), path) = (target, to.join(name)) else { continue };
            match &self.nodes[target] {
                Node::Folder(_) => self.cut_folder(target, loss, random, &path)?,
                Node::File(file) => {
                    let kept =
                        if file.is_dirty { torn(file, loss, random) } else { file.now.clone() };
                    fs::write(path, kept)?;
                }
            }
        }
        Ok(())
    }
}

/// Puts bytes into a file, which becomes as long as they need.
fn put(content: &mut Vec<u8>, at: usize, data: &[u8]) {
    let end = at + data.len();
    content.resize(content.len().max(end), 0);
    content[at..end].copy_from_slice(data);
}

/// What a file holds that was written to since it was synchronised.
fn torn(File { now, synced, pending, .. }: &File, loss: Loss, random: &mut Random) -> Vec<u8> {
    if loss != Loss::Some {
        return synced.clone();
    }
    if !synced.is_empty() {
        let (mut kept, most) = (synced.clone(), random.below(5));
        for (at, data) in pending {
            for (n, block) in data.chunks(BLOCK).enumerate() {
                if random.below(4) < most {
                    put(&mut kept, at + n * BLOCK, block);
                }
            }
        }
        return kept;
    }
    match random.below(5) {
        0 => synced.clone(),
        1 => now[..random.below(now.len() as u64 + 1) as usize].to_vec(),
        2 => vec![0; now.len()],
        // What was in these blocks before.
        3 => vec![0x5a; now.len()],
        _ => now.clone(),
    }
}
