//! `zarr checksum`: prints and verifies checksums of what nodes are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use clap::Args;
use zarr::tools::{Blocks, ChecksumOptions, ChunkManifest, Digest, NodeChecksum, TreeProgress};
use zarr::{Json, Node, Object};

use super::Out;
use crate::failure::Failure;
use crate::human;
use crate::parse;
use crate::progress::Progress;
use crate::session::{NoMissing, Session, Target};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr checksum data.zarr
  zarr checksum data.zarr --manifest > data.sha256
  zarr checksum s3://bucket/copy.zarr --check data.sha256
  zarr checksum data.zarr --manifest --chunks > chunks.sha256
  zarr checksum data.zarr --path ocean/temperature --regions=1",
    after_long_help = crate::details("\
Prints `HEX  PATH`, a SHA-256 of attributes, types, shapes, dimension names and elements; that of a group covers its whole tree.
Two places with equal checksums hold equal data; docs/checksum.md defines it. Paths begin at TARGET's node.

--check compares with such lines, names each node that differs, is missing or is new, and exits with 1 if there is one.
--regions prints hashes of blocks of at most 1 MiB of an array (level 0), of groups of 256 blocks (level 1), and so on: to compare
two remote copies, start at the highest level."))]
pub(crate) struct Checksum {
    #[command(flatten)]
    target: Target,
    /// Print a line for each node, sorted by path
    #[arg(long, conflicts_with_all = ["check", "regions"])]
    manifest: bool,
    /// Also print the SHA-256 and the key of each stored chunk or shard
    ///
    /// With --manifest, `zarr validate` and `zarr copy` compare chunks with these lines
    #[arg(long, requires = "manifest")]
    chunks: bool,
    /// Compare with the lines of FILE, - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "regions")]
    check: Option<String>,
    /// Print hashes of blocks of arrays: all levels, or one
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true)]
    regions: Option<Option<usize>>,
    /// Maximum number of bytes of elements to hold at once, as in 1GiB [default: 256MiB]
    #[arg(long, value_name = "SIZE", default_value = "0", hide_default_value = true, value_parser = parse::size)]
    memory: u64,
    /// Maximum number of bytes of elements to read, stored or not, as in 50TiB [default: 16TiB]
    #[arg(long, value_name = "SIZE", default_value = "0", hide_default_value = true, value_parser = parse::size)]
    max_size: u64,
    #[command(flatten)]
    missing_chunks: NoMissing,
}

impl Checksum {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let manifest = self.check.as_deref().map(read_manifest).transpose()?;
        session.refuse_missing(self.missing_chunks);
        let node = session.open_whole(&self.target)?;
        let bar = Progress::of_bytes(0, session.is_json());
        let options = ChecksumOptions {
            memory: self.memory,
            max_size: self.max_size,
            threads: session.threads(),
            regions: self.regions.is_some(),
            cancel: None,
            progress: Some(&|progress: &TreeProgress| {
                bar.at(progress.bytes_done, progress.bytes_total, progress.path.as_ref());
            }),
        };
        let checksum = zarr::tools::checksum(&node, &options);
        drop(bar);
        session.warn(node.hierarchy());
        let nodes: Vec<(String, NodeChecksum)> = checksum?
            .nodes
            .into_iter()
            .map(|node| (from_target(&self.target.path, &node.path), node))
            .collect();
        if let Some(manifest) = manifest {
            return check(&nodes, &manifest, session.is_json(), out);
        }
        match (&self.regions, session.is_json()) {
            (Some(level), false) => print_regions(&nodes, *level, out),
            (Some(level), true) => {
                let list = nodes.iter().filter_map(|(path, node)| regions_json(path, node, *level));
                let list: Json = list.collect();
                Ok(writeln!(out, "{:#}", Json::from(Object::new().with("arrays", list)))?)
            }
            (None, json) => {
                let chunks = if self.chunks {
                    ChunkManifest::of_node(&node)?
                } else {
                    ChunkManifest::default()
                };
                self.print(&nodes, &chunks, json, out)
            }
        }
    }

    fn print(
        &self,
        nodes: &[(String, NodeChecksum)],
        chunks: &ChunkManifest,
        json: bool,
        out: Out<'_>,
    ) -> Result<(), Failure> {
        let shown = if self.manifest { nodes } else { &nodes[..nodes.len().min(1)] };
        if !json {
            for (path, node) in shown {
                writeln!(out, "{}  {}", node.digest, escaped(path))?;
            }
            for (key, digest) in chunks.iter() {
                writeln!(out, "{digest}  {}", escaped(key.as_str()))?;
            }
            return Ok(());
        }
        let Some(first) = nodes.first() else { return Ok(()) };
        let mut object = node_json(first);
        if self.manifest {
            object
                .insert("nodes", nodes.iter().map(|node| node_json(node).into()).collect::<Json>());
        }
        if self.chunks {
            let chunks = chunks.iter().map(|(key, digest)| {
                Json::from(
                    Object::new().with("key", key.as_str()).with("sha256", digest.to_string()),
                )
            });
            object.insert("chunks", chunks.collect::<Json>());
        }
        Ok(writeln!(out, "{:#}", Json::from(object))?)
    }
}

/// The checksum of a node.
fn node_json((path, node): &(String, NodeChecksum)) -> Object {
    Object::new()
        .with("path", path.as_str())
        .with("node_type", node.kind.name())
        .with("checksum", node.digest.to_string())
}

/// The path of a node from TARGET's, where --path led to its base.
pub(super) fn from_target(base: &str, path: &str) -> String {
    let whole = format!("/{}/{}", base.trim_matches('/'), path.trim_matches('/'));
    let names: Vec<&str> = whole.split('/').filter(|name| !name.is_empty()).collect();
    format!("/{}", names.join("/"))
}

/// A path on one line: a backslash and control characters are escaped as in JSON.
fn escaped(path: &str) -> String {
    let text = Json::from(path).to_string();
    text[1..text.len() - 1].replace("\\\"", "\"")
}

/// The lines of a manifest: checksums by path.
type Manifest = BTreeMap<String, Digest>;

/// The stored chunks of a manifest.
pub(super) fn read_chunks(file: &str) -> Result<ChunkManifest, Failure> {
    let option = "--manifest";
    ChunkManifest::parse(&read_text(option, file)?).map_err(|e| wrong(option, file, &e))
}

// Digests that stored chunks are checked against when they are read.
#[derive(Clone, Debug, Args)]
pub(crate) struct Checked {
    /// Check each chunk that is read against the lines of FILE, as `zarr checksum --manifest --chunks` prints for TARGET
    #[arg(long, value_name = "FILE")]
    manifest: Option<String>,
}

impl Checked {
    /// Refuses to write to the file with the digests.
    pub fn refuse_manifest(&self, output: &Path) -> Result<(), Failure> {
        let Some(file) = self.manifest.as_deref().filter(|file| *file != "-") else {
            return Ok(());
        };
        match (fs::canonicalize(file), fs::canonicalize(output)) {
            (Ok(file), Ok(output)) if file == output => {
                let file = file.display();
                Err(Failure::Usage(format!(
                    "{file} is the file of --manifest; choose another --output"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Opens a node whose chunks are checked, if a manifest was given.
    pub fn open(&self, session: &Session, target: &Target) -> Result<Node, Failure> {
        let manifest = self.manifest.as_deref().map(read_chunks).transpose()?.map(Arc::new);
        session.check_against(manifest.clone());
        let node = session.open(target)?;
        if let Some(manifest) = manifest {
            manifest.check_keys(&node)?;
        }
        Ok(node)
    }
}

/// The nodes of a manifest.
fn read_manifest(file: &str) -> Result<Manifest, Failure> {
    let option = "--check";
    let lines = zarr::tools::manifest_lines(&read_text(option, file)?);
    let mut manifest = lines.map_err(|e| wrong(option, file, &e))?;
    // Keys of chunks have no slash before them.
    manifest.retain(|path, _| path.starts_with('/'));
    if manifest.is_empty() {
        return Err(Failure::Usage(format!("--check {file}: the file is empty")));
    }
    Ok(manifest)
}

fn read_text(option: &str, file: &str) -> Result<String, Failure> {
    match file {
        "-" => io::read_to_string(io::stdin()).map_err(Failure::input),
        file => fs::read_to_string(file)
            .map_err(|e| Failure::Usage(format!("{option} {file}: cannot be read: {e}"))),
    }
}

fn wrong(option: &str, file: &str, error: &zarr::Error) -> Failure {
    Failure::Usage(format!("{option} {file}: {}", error.cause()))
}

/// Compares what is there with a manifest.
fn check(
    nodes: &[(String, NodeChecksum)],
    manifest: &Manifest,
    json: bool,
    out: Out<'_>,
) -> Result<(), Failure> {
    let found: BTreeSet<&str> = nodes.iter().map(|(path, _)| path.as_str()).collect();
    // A manifest of one line is a checksum of the whole tree.
    let is_whole = manifest.len() == 1;
    let differs: Vec<&str> = nodes
        .iter()
        .filter(|(path, node)| {
            let expected = manifest.get(path);
            expected.is_some_and(|expected| *expected != node.digest)
                && (is_whole || differs_itself(path, node, manifest))
        })
        .map(|(path, _)| path.as_str())
        .collect();
    let missing: Vec<&str> =
        manifest.keys().map(String::as_str).filter(|path| !found.contains(path)).collect();
    let new: Vec<&str> =
        found.iter().copied().filter(|path| !is_whole && !manifest.contains_key(*path)).collect();
    let kinds = [("differs", &differs), ("missing", &missing), ("new", &new)];
    let count: usize = kinds.iter().map(|(_, paths)| paths.len()).sum();
    if json {
        let mut object = Object::new().with("equal", count == 0);
        for (kind, paths) in kinds {
            object.insert(kind, paths.iter().map(|path| Json::from(*path)).collect::<Json>());
        }
        writeln!(out, "{:#}", Json::from(object))?;
    } else {
        for (kind, paths) in kinds {
            for path in paths {
                writeln!(out, "{kind}: {}", escaped(path))?;
            }
        }
    }
    match count as u64 {
        0 => Ok(()),
        n => Err(Failure::No(format!(
            "mismatches: {} of the manifest's {}",
            human::count(n),
            human::plural(manifest.len() as u64, "node")
        ))),
    }
}

/// Whether a node differs from the manifest by itself: a group whose attributes and names are the same does not, whatever is
/// in it.
fn differs_itself(path: &str, node: &NodeChecksum, manifest: &Manifest) -> bool {
    let prefix = format!("{}/", path.trim_end_matches('/'));
    let members = manifest.iter().filter_map(|(member, digest)| {
        let name = member.strip_prefix(&prefix)?;
        (!name.is_empty() && !name.contains('/')).then_some((name, *digest))
    });
    node.with_members(members) != manifest.get(path).copied()
}

fn print_regions(
    nodes: &[(String, NodeChecksum)],
    level: Option<usize>,
    out: Out<'_>,
) -> Result<(), Failure> {
    for (path, node) in nodes {
        let Some(blocks) = &node.blocks else { continue };
        for (n, hashes) in levels(blocks, level) {
            for (at, hash) in hashes.iter().enumerate() {
                let place = match n {
                    0 => blocks.region(at as u64).to_string(),
                    n => format!("level {n}, {at}"),
                };
                writeln!(out, "{hash}  {}  {place}", escaped(path))?;
            }
        }
    }
    Ok(())
}

fn regions_json(path: &str, node: &NodeChecksum, level: Option<usize>) -> Option<Json> {
    let blocks = node.blocks.as_ref()?;
    let levels: Json = levels(blocks, level)
        .map(|(n, level)| {
            let hashes: Json = level.iter().map(|hash| Json::from(hash.to_string())).collect();
            Json::from(Object::new().with("level", n as u64).with("hashes", hashes))
        })
        .collect();
    let object = Object::new()
        .with("path", path)
        .with("checksum", node.digest.to_string())
        .with("shape", Json::from(&blocks.shape[..]))
        .with("block_shape", Json::from(&blocks.block_shape[..]))
        .with("levels", levels);
    Some(object.into())
}

/// The levels that were asked for, the root first.
fn levels(blocks: &Blocks, asked: Option<usize>) -> impl Iterator<Item = (usize, &[Digest])> {
    let all = blocks.levels.iter().enumerate().rev();
    all.filter(move |(n, _)| asked.is_none_or(|asked| asked == *n))
        .map(|(n, level)| (n, &level[..]))
}
