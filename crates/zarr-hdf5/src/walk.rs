//! A walk over all objects of a file.

use std::collections::{HashMap, VecDeque};

use crate::Blocks;
use crate::error::{Error, Fault, Result};
use crate::messages::link::{Link, Target};
use crate::object::{File, ObjectKind};

/// How deep groups may lie within each other.
const MAX_DEPTH: usize = 64;
/// How many objects a walk finds at most.
const MAX_OBJECTS: usize = 1_000_000;

/// An object, at the first path that leads to it. Groups come before what is in them; the first path is the shortest one.
#[derive(Clone, Debug)]
pub struct Found {
    /// The path from the root: `/`, `/group/name`.
    pub path: String,
    /// Its address.
    pub address: u64,
    /// What it is, or why it cannot be read.
    pub kind: std::result::Result<ObjectKind, Error>,
    /// The links of a group.
    pub links: Vec<Link>,
}

/// The walk. It keeps its place when bytes are missing.
#[derive(Clone, Debug)]
pub struct Walk {
    waiting: VecDeque<(String, u64, usize)>,
    paths: HashMap<u64, String>,
    /// The bytes of headers and links that were read.
    read_bytes: u64,
}

impl Walk {
    /// A walk that begins at the root.
    pub fn new(file: &File) -> Walk {
        let root = file.root();
        Walk {
            waiting: VecDeque::from([("/".to_owned(), root, 0)]),
            paths: HashMap::from([(root, "/".to_owned())]),
            read_bytes: 0,
        }
    }

    /// The next object, or `None` at the end. An object that several hard links lead to comes once.
    ///
    /// # Errors
    /// Missing bytes only, or a limit that was reached; an object that cannot be read says so itself.
    pub fn next(&mut self, file: &File, blocks: &Blocks) -> Result<Option<Found>> {
        let Some((path, address, depth)) = self.waiting.front().cloned() else { return Ok(None) };
        let read = file.object(blocks, address).and_then(|object| {
            let links = match object.kind {
                ObjectKind::Group => file.links(blocks, &object)?,
                _ => Vec::new(),
            };
            Ok((object.kind, links, object.header_bytes()))
        });
        let found = match read {
            Ok((kind, links, header_bytes)) => {
                self.read_bytes += header_bytes + links.len() as u64;
                Found { path, address, kind: Ok(kind), links }
            }
            Err(Fault::Error(error)) => {
                let error = error.at_path(&path);
                Found { path, address, kind: Err(error), links: Vec::new() }
            }
            Err(missing) => return Err(missing),
        };
        self.waiting.pop_front();
        // Objects do not overlap; else reading them all would be quadratic work.
        if self.read_bytes > blocks.file_length() {
            let place = crate::error::Place::new("object header", address);
            return Err(place.damaged("the objects together are longer than the file"));
        }
        for link in &found.links {
            let Target::Hard(target) = link.target else { continue };
            if self.paths.contains_key(&target) || link.name.is_empty() {
                continue;
            }
            let path = join(&found.path, &link.name);
            let place = crate::error::Place::new("object header", target);
            if depth >= MAX_DEPTH {
                let limit = place.limit(format!("groups are nested more than {MAX_DEPTH} deep"));
                return Err(limit.at_path(&path));
            }
            if self.paths.len() >= MAX_OBJECTS {
                let limit = place.limit(format!("the file has more than {MAX_OBJECTS} objects"));
                return Err(limit.at_path(&path));
            }
            self.paths.insert(target, path.clone());
            self.waiting.push_back((path, target, depth + 1));
        }
        Ok(Some(found))
    }

    /// The first path to each object that was found: what a reference to its address leads to.
    pub fn paths(&self) -> &HashMap<u64, String> {
        &self.paths
    }
}

/// A name within a group at a path.
pub fn join(group: &str, name: &str) -> String {
    if group == "/" { format!("/{name}") } else { format!("{group}/{name}") }
}
