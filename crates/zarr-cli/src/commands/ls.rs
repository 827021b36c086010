//! Lists nodes with what they take.

use std::io::{self, IsTerminal};

use clap::{ArgAction, Args};
use zarr::grid::chunk_count;
use zarr::tools::Listed;
use zarr::{
    Array, ArrayMetadata, Error, ErrorKind, Json, Node, NodeKind, NodePath, Object, StoredSize,
};

use super::Out;
use crate::failure::Failure;
use crate::human;
use crate::json::or_null;
use crate::session::{self, Session, Target};

#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    before_help = "\
Examples:
  zarr ls data.zarr
  zarr ls -l data.zarr
  zarr ls -lhRS s3://bucket/data.zarr
  zarr ls -lR --json data.zarr",
    after_long_help = crate::details("\
The columns of -l are: kind; data type; shape; chunk shape, and after a / shard shape; stored bytes; compression ratio; stored
chunks (or shards) out of all; name. --header prints their names, which is the default on a terminal.

Sizes come from one listing of each array's chunks. In buckets, zip archives and LMDB the listing includes them; in a folder, the
size of each file is read.")
)]
pub(crate) struct Ls {
    /// Print kind, type, shape, chunks and stored size of each node
    #[arg(short = 'l', long)]
    long: bool,
    /// Print sizes such as 3.4 MiB
    #[arg(short = 'h', long)]
    human_readable: bool,
    /// List all nodes below the node, recursively
    #[arg(short = 'R', long)]
    recursive: bool,
    /// List the largest first
    #[arg(short = 'S', long)]
    by_size: bool,
    /// With -l, first print the names of the columns [default on a terminal]
    #[arg(long, requires = "long")]
    header: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
    #[command(flatten)]
    target: Target,
}

/// The names of the columns of -l.
const HEADING: [&str; 8] =
    ["kind", "type", "shape", "chunks", "stored", "ratio", "written", "name"];

/// A node as it is listed.
struct Entry {
    name: String,
    /// `None` if its document is broken and does not tell.
    kind: Option<NodeKind>,
    array: Option<Measured>,
    failed: Option<Error>,
}

/// An array, and what it takes.
struct Measured {
    array: Array,
    /// Nothing, where it was not looked for, or the store cannot list.
    stored: Option<StoredSize>,
}

impl Ls {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        session.show_calls();
        let node = session.open(&self.target)?;
        let mut entries = self.entries(&node)?;
        if self.by_size {
            entries.sort_by_key(|entry| {
                let stored = entry.array.as_ref().and_then(|array| array.stored);
                std::cmp::Reverse(stored.map(|stored| stored.bytes))
            });
        }
        if session.is_json() {
            let list: Json = entries.iter().map(|entry| self.members(entry)).collect();
            writeln!(out, "{:#}", Json::from(Object::new().with("nodes", list)))?;
        } else if self.long {
            let mut rows: Vec<Vec<String>> = entries.iter().map(|entry| self.row(entry)).collect();
            if !rows.is_empty() && (self.header || io::stdout().is_terminal()) {
                rows.insert(0, HEADING.map(str::to_owned).to_vec());
            }
            table(&rows, out)?;
        } else {
            for entry in &entries {
                writeln!(out, "{}", shown(entry))?;
            }
        }
        session.warn_of_unnamed(&node);
        let failed = entries.into_iter().filter_map(|entry| entry.failed);
        session.end(node.hierarchy().warnings(), failed.map(Failure::from))
    }

    fn entries(&self, node: &Node) -> Result<Vec<Entry>, Failure> {
        if let Node::Array(array) = node {
            let name = array.path().name().unwrap_or(&self.target.target).to_owned();
            return Ok(vec![self.entry(name, Some(NodeKind::Array), Ok(array.clone()))]);
        }
        let Listed { nodes: children, broken, .. } = if self.recursive {
            zarr::tools::tree_and_broken(node)?
        } else {
            zarr::tools::children_and_broken(node)?
        };
        let mut entries: Vec<Entry> = children
            .into_iter()
            .filter_map(|child| {
                let is_top = &child.path == node.path();
                let name = name_of(node.path(), &child.path);
                let node = match child.kind {
                    Some(NodeKind::Group) => None,
                    Some(NodeKind::Array) => {
                        Some(node.hierarchy().array(&child.path).map(Node::Array))
                    }
                    // Its document tells no kind: opening it says why.
                    None => Some(node.hierarchy().node(&child.path)),
                };
                let kind = Some(child.kind.unwrap_or(NodeKind::Group));
                match node {
                    Some(Ok(Node::Array(array))) => {
                        Some(self.entry(name, Some(NodeKind::Array), Ok(array)))
                    }
                    Some(Err(e)) => Some(self.entry(name, kind, Err(e))),
                    _ => (!is_top).then(|| Entry { name, kind, array: None, failed: None }),
                }
            })
            .collect();
        for (path, error) in broken {
            entries.push(self.entry(name_of(node.path(), &path), None, Err(error)));
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn entry(&self, name: String, kind: Option<NodeKind>, array: zarr::Result<Array>) -> Entry {
        let mut entry = Entry { name, kind, array: None, failed: None };
        let array = match array {
            Ok(array) => array,
            Err(e) => return Entry { failed: Some(e), ..entry },
        };
        let found = (self.long || self.by_size).then(|| array.stored_size());
        let stored = match found.transpose() {
            Ok(stored) => stored,
            // A store that cannot list has arrays all the same.
            Err(e) => {
                entry.failed = Some(e).filter(|e| e.kind() != ErrorKind::NotCapable);
                None
            }
        };
        entry.array = Some(Measured { array, stored });
        entry
    }

    fn size(&self, bytes: u64) -> String {
        if self.human_readable { human::size(bytes) } else { bytes.to_string() }
    }

    /// The columns of -l.
    fn row(&self, entry: &Entry) -> Vec<String> {
        let mut row = vec![entry.kind.map_or("?", NodeKind::name).to_owned()];
        match &entry.array {
            None if entry.kind == Some(NodeKind::Group) => row.resize(7, String::new()),
            None => row.resize(7, "?".into()),
            Some(Measured { array, stored }) => {
                let metadata = array.metadata();
                row.push(human::printable(&metadata.data_type.to_string()));
                row.push(by(&metadata.shape));
                let chunks = array.chunk_shape().map_or("-".into(), |chunks| by(&chunks));
                row.push(match array.shard_shape() {
                    Some(shards) => format!("{chunks}/{}", by(&shards)),
                    None => chunks,
                });
                let Some(stored) = stored else {
                    row.resize(7, "-".into());
                    row.push(shown(entry));
                    return row;
                };
                row.push(self.size(stored.bytes));
                let ratio = ratio(array, *stored);
                row.push(ratio.map_or("-".into(), |ratio| format!("{ratio:.1}×")));
                row.push(match objects(&metadata) {
                    Some(all) => format!("{}/{all}", stored.chunks),
                    None => stored.chunks.to_string(),
                });
            }
        }
        row.push(shown(entry));
        row
    }

    fn members(&self, entry: &Entry) -> Json {
        let kind = entry.kind.map_or(Json::Null, |kind| kind.name().into());
        let mut object = Object::new().with("name", entry.name.as_str()).with("node_type", kind);
        if let Some(Measured { array, stored }) = &entry.array {
            let metadata = array.metadata();
            object = object
                .with("path", array.path().as_str())
                .with("data_type", metadata.data_type.to_string())
                .with("shape", &metadata.shape[..])
                .with("chunk_shape", or_null(array.chunk_shape().as_deref()))
                .with("shard_shape", or_null(array.shard_shape().as_deref()));
            if self.long || self.by_size {
                let ratio = stored.and_then(|stored| ratio(array, stored));
                let ratio = ratio.map_or(Json::Null, |r| Json::Number(format!("{r:.3}").into()));
                object = object
                    .with("bytes", or_null(size(&metadata)))
                    .with("stored_bytes", or_null(stored.map(|stored| stored.bytes)))
                    .with("storage_ratio", ratio)
                    .with("stored_chunks", or_null(stored.map(|stored| stored.chunks)))
                    .with("chunk_count", or_null(objects(&metadata)));
            }
        }
        if let Some(error) = &entry.failed {
            object.insert("error", error.to_string());
        }
        object.into()
    }
}

/// A node's path from the one that is listed.
fn name_of(top: &NodePath, path: &NodePath) -> String {
    let name = session::from(top, path);
    name.trim_start_matches('/').to_owned()
}

/// A group's name ends in a slash.
fn shown(entry: &Entry) -> String {
    let slash = if entry.kind == Some(NodeKind::Group) { "/" } else { "" };
    format!("{}{slash}", human::printable(&entry.name))
}

/// `120×73×144`; `scalar`.
fn by(shape: &[u64]) -> String {
    if shape.is_empty() {
        return "scalar".into();
    }
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join("×")
}

/// How many bytes all elements have.
pub(super) fn size(metadata: &ArrayMetadata) -> Option<u64> {
    let repr = metadata.data_type.repr().filter(|_| !metadata.data_type.is_variable())?;
    zarr::region::element_count(&metadata.shape)?.checked_mul(repr.size() as u64)
}

/// How many times the bytes of all elements are the stored ones.
pub(super) fn ratio(array: &Array, stored: StoredSize) -> Option<f64> {
    let size = size(&array.metadata())?;
    (stored.bytes > 0).then(|| size as f64 / stored.bytes as f64)
}

/// How many chunks, or shards, could be stored; nothing where the drafts' shards are not counted so.
pub(super) fn objects(metadata: &ArrayMetadata) -> Option<u64> {
    let grid = metadata.grid.as_ref().filter(|_| metadata.shards.is_none())?;
    chunk_count(&**grid, &metadata.shape)
}

/// Words to the left, numbers to the right, the last as it is.
fn table(rows: &[Vec<String>], out: Out<'_>) -> Result<(), Failure> {
    let widths: Vec<usize> =
        (0..7).map(|n: usize| human::column_width(rows.iter().map(|row| &row[n]))).collect();
    for row in rows {
        let cells: Vec<String> = (0..7)
            .map(|n: usize| match n {
                4.. => human::right(&row[n], widths[n]),
                _ => human::left(&row[n], widths[n]),
            })
            .collect();
        writeln!(out, "{}  {}", cells.join("  "), row[7])?;
    }
    Ok(())
}
