//! Says what is where no Zarr data was found: nothing, another format, other names.

use std::path::{Path, PathBuf};

use zarr::store::{GetOptions, ListOptions, Listing, StoreKey, StorePrefix, SyncStore};
use zarr::{
    Consolidated, Error, ErrorKind, Hierarchy, Node, NodePath, OpenOptions, did_you_mean,
    split_query,
};

use crate::failure::Failure;
use crate::human;
use crate::session::Session;
use zarr::tools::other_format::{head, other_format, parent};

/// At most this many names are listed.
const LISTED: usize = 10;
/// The most folders that are searched for Zarr data.
const LOOKED_INTO: usize = 50;
/// The most folders above that are asked whether they are part of a hierarchy.
const ABOVE: usize = 16;

/// The failure of a command that found nothing, with what is there instead.
pub(crate) fn explain(error: Error, session: &Session, verb: &str) -> Failure {
    let options = session.options().map(OpenOptions::any_dialect);
    let Ok(options) = options else { return Failure::Zarr(error) };
    // Copies of documents that were asked for are not looked for elsewhere.
    if matches!(options.consolidated, Consolidated::Use | Consolidated::At(_)) {
        return Failure::Zarr(error);
    }
    // The query of a web address may be secret, and is not in the error.
    let url = error.store().filter(|url| split_query(url).1.is_empty());
    let found = url.and_then(|url| match error.path() {
        Some(path) => in_hierarchy(url, path, &options, verb)
            .map(|why| (why, ErrorKind::NotFound))
            .or_else(|| other(url, &options)),
        None => at_url(url, &options, verb),
    });
    match found {
        Some((why, kind)) => Failure::Absent { error: Box::new(error), why, kind },
        None => Failure::Zarr(error),
    }
}

/// That there is data of another format.
fn other(url: &str, options: &OpenOptions) -> Option<(String, ErrorKind)> {
    let format = other_format(url, options)?;
    let advice = if format.contains("netCDF") { conversion(url) } else { String::new() };
    Some((format!("this is not Zarr data, but {format}{advice}"), ErrorKind::Unsupported))
}

/// What makes Zarr of a netCDF file on this machine.
fn conversion(url: &str) -> String {
    let path = url.strip_prefix("file://").unwrap_or(url);
    if path.contains(['\'', '"', '\\', '`', '$']) || path.contains("://") {
        return "; convert it with xarray: `open_dataset` reads it, `to_zarr` writes it".into();
    }
    let zarr = Path::new(path).with_extension("zarr");
    format!(
        "; convert it with xarray: `python -c \"import xarray; xarray.open_dataset('{path}').to_zarr('{}')\"`",
        zarr.display()
    )
}

/// What there is instead of the node at `path`, if it is indeed not there.
fn in_hierarchy(url: &str, path: &NodePath, options: &OpenOptions, verb: &str) -> Option<String> {
    let (hierarchy, base) = zarr::locate(url, options).ok()?;
    match hierarchy.node(path) {
        Err(e) if base.is_root() && e.kind() == ErrorKind::NotFound => {
            no_node(&hierarchy, path, verb)
        }
        _ => None,
    }
}

/// What to write for what was meant to be no path: coordinates, or the file of the output.
fn advice_on_name(name: &str, verb: &str) -> String {
    let is_number = name.parse::<f64>().is_ok();
    match verb {
        "put" if is_number => return format!("; to write one value, pass `--value {name}`"),
        "head" if is_number => return format!("; did you mean `-n {name}`?"),
        _ if HAVE_REGIONS.contains(&verb) && is_region(name) => {
            return format!("; did you mean `--region {name}`?");
        }
        _ => {}
    }
    if name.contains('=') {
        return "; join coordinates with commas, as in `--sel lat=50,lon=10`".into();
    }
    let end = Path::new(name).extension().and_then(|end| end.to_str()).unwrap_or_default();
    match end {
        "csv" | "npy" | "json" if matches!(verb, "put" | "append") => {
            format!("; `zarr {verb}` reads a file from standard input: `--format {end} < {name}`")
        }
        "csv" | "npy" | "json" => {
            format!(
                "; to write a file, pass `--output {name}`; `zarr put` reads one from standard input: `--format {end} < {name}`"
            )
        }
        "png" | "svg" | "jsonl" | "tif" | "tiff" if matches!(verb, "put" | "append") => {
            format!("; `zarr {verb}` reads no .{end} files: its --format is raw, npy, json or csv")
        }
        "png" | "svg" | "jsonl" | "tif" | "tiff" => {
            format!("; to write a file, pass `--output {name}`")
        }
        "pdf" | "eps" | "jpg" | "jpeg" | "gif" | "webp" | "html" if verb == "plot" => {
            let stem = Path::new(name).with_extension("");
            let stem = stem.display();
            format!("; pictures are .png or .svg; pass `-o {stem}.png` or `-o {stem}.svg`")
        }
        _ => String::new(),
    }
}

/// Commands with `--region`.
const HAVE_REGIONS: [&str; 5] = ["get", "put", "stats", "plot", "copy"];

/// Whether a text is meant to be a region: `0,:,:`, `3:5`, `...,-1`.
fn is_region(text: &str) -> bool {
    let is_of_region = |c: char| c.is_ascii_digit() || ":,.-[] ".contains(c);
    text.contains([':', ',']) && text.chars().all(is_of_region) || text.parse::<i64>().is_ok()
}

/// What to write for a node that is indexed as in Python: `temperature[0,:,:]`.
fn advice_on_index(hierarchy: &Hierarchy, path: &NodePath, verb: &str) -> Option<String> {
    let (node, region) = path.name()?.strip_suffix(']')?.split_once('[')?;
    let node = path.parent()?.child(node).ok()?;
    let is_meant = HAVE_REGIONS.contains(&verb) && hierarchy.node(&node).is_ok();
    is_meant.then(|| format!("; did you mean `{node}` with `--region {region}`?"))
}

/// What is wrong with the path of a node that is not there.
fn no_node(hierarchy: &Hierarchy, path: &NodePath, verb: &str) -> Option<String> {
    let mut above = path.parent()?;
    let node = loop {
        match hierarchy.node(&above) {
            Ok(node) => break node,
            Err(e) if e.kind() == ErrorKind::NotFound => above = above.parent()?,
            Err(_) => return None,
        }
    };
    let group = match node {
        Node::Array(_) => {
            let advice = advice_on_name(path.name().unwrap_or_default(), verb);
            return Some(format!(
                "there is no node {path}: {above} is an array and has no children{advice}"
            ));
        }
        Node::Group(group) => group,
    };
    let Ok(children) = group.children() else {
        return Some(format!("there is no node {path}; the group {above} is there"));
    };
    let names: Vec<&str> = children.iter().filter_map(|child| child.path.name()).collect();
    let rest: Vec<&str> = path.names().skip(above.names().count()).collect();
    let near = rest.first().and_then(|name| {
        let near = above.child(did_you_mean(name, names.iter().copied())?).ok()?;
        let whole = near.join(&rest[1..].join("/")).ok()?;
        // The rest of the path may be there, too.
        Some(if hierarchy.node(&whole).is_ok() { whole } else { near })
    });
    let meant = near.or_else(|| elsewhere(hierarchy, path));
    let has =
        if names.is_empty() { "has no nodes".to_owned() } else { format!("has {}", list(&names)) };
    let advice = match place_of_its_own(path) {
        Some(place) => format!(
            "; {place} is a separate hierarchy, but the second argument is the path of a node in TARGET: run the command once for each place, or compare the two with `zarr diff`"
        ),
        None => advice_on_index(hierarchy, path, verb).unwrap_or_else(|| meaning(meant.as_ref())),
    };
    Some(format!("there is no node {path}; {above} {has}{advice}"))
}

/// The file or folder that the path of a node names as it was probably typed.
fn place_of_its_own(path: &NodePath) -> Option<&str> {
    let texts = [path.relative(), path.as_str()];
    texts.into_iter().find(|text| text.contains('.') && Path::new(text).exists())
}

/// A node of the same name in another group, where looking at all nodes costs little.
fn elsewhere(hierarchy: &Hierarchy, path: &NodePath) -> Option<NodePath> {
    if !hierarchy.store().name().starts_with("file:") {
        return None;
    }
    let nodes = hierarchy.tree(NodePath::root()).ok()?;
    nodes.into_iter().map(|child| child.path).find(|node| node.name() == path.name())
}

/// The URL that was typed with one slash too few, and so became a path below the present folder.
fn url_with_both_slashes(url: &str) -> Option<String> {
    let path = url.strip_prefix("file://").unwrap_or(url);
    let here = std::env::current_dir().ok()?;
    zarr::tools::meant_url(Path::new(path).strip_prefix(here).ok()?.to_str()?)
}

/// What is at a URL where no hierarchy is, and what kind of failure that makes.
fn at_url(url: &str, options: &OpenOptions, verb: &str) -> Option<(String, ErrorKind)> {
    if let Ok((found, _)) = zarr::locate(url, options) {
        let format = found.format_name();
        let why = format!(
            "the hierarchy is in {format}, not in the format given with --as; leave out --as to read it"
        );
        return Some((why, ErrorKind::NotFound));
    }
    if let Some(other) = other(url, options) {
        return Some(other);
    }
    let meant = url_with_both_slashes(url);
    let name = url.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_port = verb == "serve" && name.parse::<u16>().is_ok();
    let why = match above(url, options, verb) {
        _ if is_port => format!("there is no such folder; did you mean `--port {name}`?"),
        _ if meant.is_some() => format!("did you mean `{}`?", meant.unwrap_or_default()),
        Some(why) => why,
        None => match local(url) {
            Some(path) => on_disk(&path, url, options),
            None => in_folder(url, &*options.store(url).ok()?.to_sync())?,
        },
    };
    Some((why, ErrorKind::NotFound))
}

/// What is wrong with a URL inside a hierarchy: the topmost one above it.
fn above(url: &str, options: &OpenOptions, verb: &str) -> Option<String> {
    let (mut base, mut names) = (url.to_owned(), Vec::new());
    let mut found = None;
    for _ in 0..ABOVE {
        let Some((above, name)) = parent(&base) else { break };
        names.insert(0, name.to_owned());
        base = above;
        match zarr::locate(&base, options) {
            Ok((hierarchy, path)) => {
                let path = path.join(&names.join("/")).ok()?;
                found = Some((hierarchy, path));
            }
            Err(_) if found.is_some() => break,
            Err(_) => {}
        }
    }
    let (hierarchy, path) = found?;
    let why = no_node(&hierarchy, &path, verb)?;
    Some(format!("in the hierarchy {} {why}", hierarchy.store().name()))
}

/// The path of a URL on this machine.
fn local(url: &str) -> Option<PathBuf> {
    match url.split_once("://") {
        None => Some(url.into()),
        Some(("file", path)) => Some(path.into()),
        Some(_) => None,
    }
}

fn on_disk(path: &Path, url: &str, options: &OpenOptions) -> String {
    if path.is_file() {
        let is_zip = head(url, options).is_some_and(|head| head.starts_with(b"PK"));
        let archive = options.store(url).ok().filter(|_| is_zip);
        let inside = archive.and_then(|store| in_folder(url, &*store.to_sync()));
        return inside.unwrap_or_else(|| "this is a file, not a Zarr hierarchy".into());
    }
    if path.is_dir() {
        let store = options.store(url).ok();
        let inside = store.and_then(|store| in_folder(url, &*store.to_sync()));
        return inside.unwrap_or_else(|| "the folder holds no Zarr data".into());
    }
    if path.exists() {
        return "this is neither a file nor a folder".into();
    }
    let mut above = path.parent();
    let mut name = path.file_name();
    while let Some(folder) = above.filter(|folder| !folder.is_dir()) {
        (name, above) = (folder.file_name(), folder.parent());
    }
    let mut why = "there is no such file or folder".to_owned();
    if let (Some(folder), Some(name)) = (above, name) {
        let entries = folder.read_dir().into_iter().flatten().flatten();
        let names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        let names = names.iter().map(String::as_str).filter(|name| !is_temporary(name));
        let near = did_you_mean(&name.to_string_lossy(), names);
        let near = near.map(|near| folder.join(near).display().to_string());
        why =
            format!("{why}; the nearest folder is {}{}", folder.display(), meaning(near.as_ref()));
    }
    why
}

/// Whether a file is one that the library has made for itself: part of an archive that is being written, a lock.
fn is_temporary(name: &str) -> bool {
    let ends = [".zarr-part", ".zarr-compact", ".zarr-lock"];
    name.starts_with(".zarr-") || ends.iter().any(|end| name.ends_with(end))
}

/// What a folder or an archive without a hierarchy at its root holds; `None` if it cannot be listed.
fn in_folder(url: &str, store: &dyn SyncStore) -> Option<String> {
    let listing = store.list_dir(&StorePrefix::root(), ListOptions::default()).ok()?;
    let Listing { keys, prefixes, .. } = &listing;
    let names: Vec<&str> =
        keys.iter().map(StoreKey::as_str).chain(prefixes.iter().map(StorePrefix::as_str)).collect();
    if names.is_empty() {
        return Some(match local(url) {
            Some(path) if path.is_file() => "the archive is empty".into(),
            Some(_) => "the folder is empty".into(),
            None => "there is nothing in it".into(),
        });
    }
    let documents = ["zarr.json", ".zgroup", ".zarray", ".zmetadata"];
    let most = zarr::Limits::default().document;
    let mut looked_into = prefixes.iter().take(LOOKED_INTO);
    let zarr = looked_into.find(|prefix| {
        documents
            .iter()
            .filter_map(|name| prefix.key(name).ok())
            .any(|key| store.get(&key, GetOptions::at_most(most)).is_ok_and(|got| got.is_some()))
    });
    let meant = zarr.map(|prefix| {
        format!("{}/{}", url.trim_end_matches('/'), prefix.as_str().trim_end_matches('/'))
    });
    Some(format!(
        "no Zarr data found, only {}; looked for `zarr.json`, `.zgroup`, `.zarray`{}",
        list(&names),
        meaning(meant.as_ref())
    ))
}

/// Names, not too many of them.
fn list(names: &[&str]) -> String {
    let listed: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(LISTED) {
        0 => listed.join(", "),
        more => format!("{} and {} more", listed.join(", "), human::count(more as u64)),
    }
}

fn meaning(name: Option<&impl std::fmt::Display>) -> String {
    name.map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}
