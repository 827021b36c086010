//! Finds what a path or URL that a person wrote refers to: a node to be read, or the place of a new one.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use zarr_core::runtime::Parallel;
use zarr_core::store::{SnapshotOptions, Store, StoreKey};
use zarr_core::{
    AccessError, Cause, Consolidated, Dialect, Error, ErrorKind, Hierarchy, Node, NodePath,
    OpenOptions, Result, StoreError, split_query, url_below,
};

use crate::Plan;
use crate::other_format::{format_of_file, head};

/// The most folders above a URL that are asked whether they are a hierarchy.
const MAX_FOLDERS_ABOVE: usize = 8;

/// Values of which a folder has one where a hierarchy begins in it: of Zarr, N5 and Icechunk. To ask for these is cheap, while
/// whoever looks for a hierarchy in a folder without them lists it, and a bucket or a home may have any number of other members.
const SIGNS: [&str; 8] = [
    "zarr.json",
    ".zgroup",
    ".zmetadata",
    ".zarray",
    ".zattrs",
    "attributes.json",
    "repo",
    "refs/branch.main/ref.json",
];

/// Where a new node is to be.
#[derive(Clone, Debug)]
pub struct NewPlace {
    /// The hierarchy that it is to be part of.
    pub hierarchy: Hierarchy,
    /// Its path.
    pub path: NodePath,
    /// Whether the hierarchy was begun for it.
    pub begun: bool,
}

/// A path as the library takes it. A relative one becomes absolute, since a draft's nodes are found by looking at the
/// folders above; one with `..` becomes that of the folder which that is, so that the hierarchy above is found. URLs stay as
/// they are.
pub fn absolute_url(target: &str) -> String {
    if let Some((link, rest)) = target.split_once("::")
        && (link == "zip" || link.starts_with("zip://"))
    {
        return format!("{link}::{}", absolute_url(rest));
    }
    if target.is_empty() || target.contains("://") {
        return target.to_owned();
    }
    let absolute = std::path::absolute(target).ok().map(without_parents);
    let absolute = absolute.and_then(|path| path.into_os_string().into_string().ok());
    absolute.unwrap_or_else(|| target.to_owned())
}

/// A path without `..`, if the folders before each are there: links are followed as the system does it.
fn without_parents(path: PathBuf) -> PathBuf {
    let parts: Vec<Component<'_>> = path.components().collect();
    let Some(last) = parts.iter().rposition(|part| *part == Component::ParentDir) else {
        return path;
    };
    match parts[..=last].iter().collect::<PathBuf>().canonicalize() {
        Ok(folder) => parts[last + 1..].iter().fold(folder, |folder, part| folder.join(part)),
        Err(_) => path,
    }
}

/// The path of `relative`, which may begin with a `/`, from `node`.
///
/// # Errors
/// [`AccessError::Argument`] for text that is no path.
pub fn path_below(node: &NodePath, relative: &str) -> Result<NodePath> {
    let relative = relative.strip_prefix('/').unwrap_or(relative);
    match relative {
        "" => Ok(node.clone()),
        relative if node.is_root() => Ok(NodePath::new(&format!("/{relative}"))?),
        relative => Ok(NodePath::new(&format!("{node}/{relative}"))?),
    }
}

/// What a path or URL is as netCDF's users write it, `x#mode=nczarr,file` or `x#nczarr`, if it is that: other paths may
/// have a `#`, too.
///
/// # Errors
/// For a mode that is not known.
#[cfg(feature = "nczarr")]
pub fn netcdf_url(target: &str) -> Result<Option<zarr_nczarr::NcUrl>> {
    let url = absolute_url(target);
    let fragment = url.split_once('#').map_or("", |(_, fragment)| fragment);
    let has_word = fragment.split('&').any(|part| !part.is_empty() && !part.contains('='));
    let has_mode = fragment.split('&').any(|part| part.starts_with("mode="));
    match zarr_nczarr::NcUrl::parse(&url) {
        Err(e) if has_mode => Err(e.into()),
        Ok(parsed) if has_mode => Ok(Some(parsed)),
        Ok(parsed) if parsed.unknown.is_empty() && has_word => Ok(Some(parsed)),
        _ => Ok(None),
    }
}

/// The dataset that a path or URL means, whether or not it is one of netCDF's URLs.
///
/// # Errors
/// As [`netcdf_url`].
#[cfg(feature = "nczarr")]
pub fn dataset_url(target: &str) -> Result<zarr_nczarr::NcUrl> {
    if let Some(url) = netcdf_url(target)? {
        return Ok(url);
    }
    let plain = zarr_nczarr::NcUrl::parse("/")?;
    Ok(zarr_nczarr::NcUrl { store: absolute_url(target), ..plain })
}

/// What the copy to `target` that is under way is to be, if it is a netCDF dataset.
#[cfg(feature = "nczarr")]
pub fn dataset_under_way(
    target: &str,
    options: &zarr_nczarr::DatasetOptions,
) -> Option<zarr_nczarr::NewDataset> {
    use zarr_nczarr::{CopyTarget, NewDataset};
    // An archive of NCZarr has a folder in it.
    [NewDataset::nczarr_v3(), NewDataset::pure(Dialect::V3)].into_iter().find_map(|new| {
        let mut url = dataset_url(target).ok()?;
        (url.profile, url.dialect) = (None, None);
        let location = url.for_new(&new).location_of_new();
        let store = options.zarr.store(&location).ok()?;
        let target = CopyTarget::new(store, &new, options).ok()?;
        let plan = Plan::under_way(target.hierarchy(), &NodePath::root()).ok()??;
        plan.new_dataset()
    })
}

/// The node at `path` from the one that a path or URL names. URLs of netCDF are taken, and the characters of its strings are
/// read in the encoding that their writer used.
///
/// # Errors
/// As [`Hierarchy::open_node`].
pub fn find_node(target: &str, path: &str, options: &OpenOptions) -> Result<Node> {
    #[cfg(feature = "nczarr")]
    {
        let node = find_plainly(target, path, options)?;
        match zarr_nczarr::narrow_characters(&node, options) {
            Some(options) => {
                // Its documents may be large, and are not held twice.
                drop(node);
                find_plainly(target, path, &options)
            }
            None => Ok(node),
        }
    }
    #[cfg(not(feature = "nczarr"))]
    find_plainly(target, path, options)
}

/// How a hierarchy is read without its consolidated copies.
#[derive(Clone, Debug)]
pub struct WithoutCopies {
    /// The options to open it with.
    pub options: OpenOptions,
    /// The nodes that only the copies have, which are left out.
    pub only_copied: Vec<NodePath>,
}

/// How to open a hierarchy again so that all that is there is read: consolidated copies of other programs are often out of
/// date. `None` if it was opened without them, or with them by the user's wish; if its store does not list; and if the copies
/// are all that there is at `path` and below.
///
/// # Errors
/// What listing the nodes meets.
pub fn without_copies(
    opened: &Hierarchy,
    path: &NodePath,
    options: &OpenOptions,
) -> Result<Option<WithoutCopies>> {
    let may = options.consolidated == Consolidated::IfFound
        && opened.dialect() != Dialect::Draft
        && opened.store().capabilities().list;
    if !may || !opened.is_consolidated()? {
        return Ok(None);
    }
    let mut options = options.clone();
    options.consolidated = Consolidated::Check;
    let copied = paths_below(opened, path)?;
    let there =
        Hierarchy::open(opened.store().clone(), &options).and_then(|live| paths_below(&live, path));
    let there = match there {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        there => there?,
    };
    let only_copied: Vec<_> = copied.difference(&there).cloned().collect();
    let is_all = !only_copied.is_empty() && only_copied.len() + 1 >= copied.len();
    Ok((!is_all).then_some(WithoutCopies { options, only_copied }))
}

/// The paths of a node and all below it.
fn paths_below(hierarchy: &Hierarchy, path: &NodePath) -> Result<BTreeSet<NodePath>> {
    Ok(hierarchy.tree(path)?.into_iter().map(|child| child.path).collect())
}

fn find_plainly(target: &str, path: &str, options: &OpenOptions) -> Result<Node> {
    #[cfg(feature = "nczarr")]
    let (url, options) = match netcdf_url(target)? {
        Some(url) => url.hierarchy(options)?,
        None => (absolute_url(target), options.clone()),
    };
    #[cfg(not(feature = "nczarr"))]
    let (url, options) = (absolute_url(target), options.clone());
    let options = &options;
    if path.trim_matches('/').is_empty() {
        return Hierarchy::open_node(&url, options);
    }
    let (hierarchy, at) = match Hierarchy::locate(&url, options) {
        // A folder without documents that holds a node with one: v2 and v3 nodes need no parents.
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let inner = url_below(&url, path_below(&NodePath::root(), path)?.as_str());
            return match Hierarchy::locate(&inner, options) {
                Ok((hierarchy, path)) => hierarchy.node(&path),
                Err(_) => Err(e),
            };
        }
        found => found?,
    };
    hierarchy.node(path_below(&at, path)?)
}

/// The place of a node to be created at `path` from `target`: in the hierarchy at `target` or above it; else in a new one, of
/// `dialect` or else of `default`, which begins at the first name in `target` that ends as those of stores do, `.zarr` or `.zip`, or
/// else at its end.
///
/// # Errors
/// [`AccessError::Argument`] if the hierarchy that is there has another dialect than `dialect`, if a file of another
/// format is there, for a new hierarchy whose name ends as those of another format, and for one in an archive `.ozx` in another
/// dialect than final v3; as [`Hierarchy::open_or_create`].
pub fn new_place(
    (target, path): (&str, &str),
    dialect: Option<Dialect>,
    default: Dialect,
    options: &OpenOptions,
) -> Result<NewPlace> {
    refuse_half_url(target)?;
    let url = absolute_url(target);
    let found = match Hierarchy::locate(&url, options) {
        Ok(found) => Some(found),
        Err(e) if is_absent(&e) => hierarchy_above_absent(&url, options),
        Err(e) => return Err(e),
    };
    let Some((hierarchy, at)) = found else {
        let (url, inside) = split_at_store(&url);
        refuse_other_format(url, options)?;
        let (dialect, default) = dialect_of_new(url, dialect, default)?;
        let path = path_below(&path_below(&NodePath::root(), inside)?, path)?;
        let hierarchy = Hierarchy::open_or_create(url, dialect.unwrap_or(default), options)?;
        return Ok(NewPlace { hierarchy, path, begun: true });
    };
    check_dialect(&hierarchy, dialect)?;
    let path = path_below(&at, path)?;
    Ok(NewPlace { hierarchy, path, begun: false })
}

/// The place of a node to be created at `path` in a store: in the hierarchy that it holds; else in a new one, of `dialect` or else of
/// `default`.
///
/// # Errors
/// [`AccessError::Argument`] if the hierarchy that is there has another dialect than `dialect`; as [`Hierarchy::open`] and
/// [`Hierarchy::begin`].
pub fn new_place_in(
    store: Arc<dyn Store>,
    path: &str,
    dialect: Option<Dialect>,
    default: Dialect,
    options: &OpenOptions,
) -> Result<NewPlace> {
    let path = path_below(&NodePath::root(), path)?;
    let (hierarchy, begun) = match Hierarchy::open(store.clone(), options) {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let format = options.format(dialect.unwrap_or(default));
            match Hierarchy::begin(store.clone(), format, options) {
                // Another writer began it at the same time.
                Err(e) if e.kind() == ErrorKind::Exists => {
                    (Hierarchy::open(store, options)?, false)
                }
                begun => (begun?, true),
            }
        }
        found => (found?, false),
    };
    check_dialect(&hierarchy, dialect)?;
    Ok(NewPlace { hierarchy, path, begun })
}

/// Refuses a hierarchy of another dialect than the one that is asked for.
fn check_dialect(hierarchy: &Hierarchy, dialect: Option<Dialect>) -> Result<()> {
    match dialect {
        Some(dialect) if dialect != hierarchy.dialect() => {
            let (store, format) = (hierarchy.store().name(), hierarchy.format_name());
            let why = format!(
                "{store} holds a hierarchy in {format}, which cannot contain nodes in {dialect}; choose another place, or erase this one first"
            );
            Err(AccessError::Argument(why).into())
        }
        _ => Ok(()),
    }
}

/// The place of a copy, as [`new_place`]; a new hierarchy is not begun. Of a copy under way it is the place where its journal
/// is, in the format of the copy if no dialect is given.
///
/// # Errors
/// As [`new_place`].
pub fn copy_place(
    (target, path): (&str, &str),
    dialect: Option<Dialect>,
    default: Dialect,
    options: &OpenOptions,
) -> Result<NewPlace> {
    refuse_half_url(target)?;
    let url = absolute_url(target);
    let absent = match Hierarchy::locate(&url, options) {
        Err(e) if is_absent(&e) => Some(e),
        _ => None,
    };
    let is_new = absent.is_some() && hierarchy_above_absent(&url, options).is_none();
    let Some(absent) = absent.filter(|_| is_new) else {
        return new_place((target, path), dialect, default, options);
    };
    let (url, at) = match (absent.store(), absent.path()) {
        (Some(store), Some(at)) if absent.hint_id() == Some("resume_copy") => {
            (store.to_owned(), at.clone())
        }
        _ => {
            let (store, inside) = split_at_store(&url);
            (store.to_owned(), path_below(&NodePath::root(), inside)?)
        }
    };
    refuse_other_format(&url, options)?;
    let (dialect, default) = dialect_of_new(&url, dialect, default)?;
    let path = path_below(&at, path)?;
    let store = options.store(&url).map_err(|e| Error::from(e).at_store(&url))?;
    new_copy_place(store, path, dialect, default, options)
}

/// The place of a copy in a store, as [`copy_place`]: in the hierarchy that the store holds; else in a new one at its root, which is not
/// begun.
///
/// # Errors
/// As [`new_place_in`].
pub fn copy_place_in(
    store: Arc<dyn Store>,
    path: &str,
    dialect: Option<Dialect>,
    default: Dialect,
    options: &OpenOptions,
) -> Result<NewPlace> {
    let path = path_below(&NodePath::root(), path)?;
    match Hierarchy::open(store.clone(), options) {
        Err(e) if is_absent(&e) => new_copy_place(store, path, dialect, default, options),
        found => {
            let hierarchy = found?;
            check_dialect(&hierarchy, dialect)?;
            Ok(NewPlace { hierarchy, path, begun: false })
        }
    }
}

/// The place of a copy in a store without a hierarchy: without `dialect` in the format of the copy that is under way there, if one is.
fn new_copy_place(
    store: Arc<dyn Store>,
    path: NodePath,
    dialect: Option<Dialect>,
    default: Dialect,
    options: &OpenOptions,
) -> Result<NewPlace> {
    let hierarchy = |dialect| Hierarchy::of_format(store.clone(), options.format(dialect), options);
    let mut format = dialect.unwrap_or(default);
    if dialect.is_none()
        && let Some(plan) = Plan::under_way(&hierarchy(format), &path)?
    {
        let dialects = [Dialect::V3, Dialect::V2, Dialect::Draft];
        format = dialects
            .into_iter()
            .find(|it| hierarchy(*it).format_name() == plan.format_name())
            .unwrap_or(format);
    }
    Ok(NewPlace { hierarchy: hierarchy(format), path, begun: true })
}

/// Whether an error says that no hierarchy is at a place. Data of another format may be there: of those that are files, what is
/// created is refused, and in a folder of such it is told.
fn is_absent(error: &Error) -> bool {
    let is_other = matches!(error.cause(), Cause::Access(AccessError::OtherFormat { .. }));
    is_other || error.kind() == ErrorKind::NotFound
}

/// A URL as that of a store and a path in it: the store ends with the first component whose name looks like that of one, `.zarr` or
/// `.zip`. The path is empty if there is no such component.
pub fn split_at_store(url: &str) -> (&str, &str) {
    if url.contains("::") {
        return (url, "");
    }
    let begin = url.find("://").map_or(0, |at| at + 3);
    let mut at = begin;
    for component in url[begin..].split_inclusive('/') {
        at += component.len();
        if ends_as_store(component.trim_end_matches('/')) {
            return (url[..at].trim_end_matches('/'), url[at..].trim_matches('/'));
        }
    }
    (url, "")
}

/// The URL that is meant by one whose scheme lacks a slash, as in `s3:/bucket/x.zarr`.
pub fn meant_url(target: &str) -> Option<String> {
    let (scheme, rest) = target.split_once(":/")?;
    let is_scheme = REMOTE_SCHEMES.contains(&scheme.to_ascii_lowercase().as_str());
    (is_scheme && !rest.starts_with('/')).then(|| format!("{scheme}://{rest}"))
}

/// Schemes of stores on other machines, which nobody has as the name of a folder.
const REMOTE_SCHEMES: [&str; 9] =
    ["s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "http", "https"];

/// Refuses to write where a URL is meant that lacks a slash: it would be a folder of this machine.
fn refuse_half_url(target: &str) -> Result<()> {
    let Some(meant) = meant_url(target) else { return Ok(()) };
    let why = format!("invalid URL `{target}`; did you mean `{meant}`?");
    Err(AccessError::Argument(why).into())
}

/// Whether a name looks like that of a store.
fn ends_as_store(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let ends = [".zarr", ".zarr3", ".zip", ".ozx", ".lmdb", ".mdb", ".n5"];
    ends.iter().any(|end| name.ends_with(end) && name.len() > end.len())
}

/// How names of files in other formats end, and what these are.
const OTHER_NAMES: [(&[&str], &str); 9] = [
    (&["nc", "nc4"], "netCDF"),
    (&["h5", "hdf5", "he5"], "HDF5"),
    (&["tif", "tiff"], "TIFF"),
    (&["grib", "grib2", "grb", "grb2"], "GRIB"),
    (&["npy", "npz"], "NumPy"),
    (&["csv"], "CSV"),
    (&["png"], "PNG"),
    (&["json", "jsonl"], "JSON"),
    (&["parquet"], "Parquet"),
];

/// Those of them that `zarr get` writes.
const OUTPUT_NAMES: [&str; 7] = ["npy", "csv", "png", "json", "jsonl", "tif", "tiff"];

/// Refuses a new hierarchy whose name says that it is something else: no program would open it under that name. In a folder that is true
/// of a new folder above it, too, unless the hierarchy's own name ends as one does: `new.h5/x` would be a folder `new.h5`.
///
/// # Errors
/// [`AccessError::Argument`].
pub fn refuse_other_name(url: &str) -> Result<()> {
    let url = url.trim_end_matches('/');
    let name = url.rsplit('/').next().unwrap_or_default();
    if name.split_once('#').is_some_and(|(_, fragment)| fragment.starts_with("mode=")) {
        let why = "this is a URL of a netCDF dataset, which would become a folder of this name";
        let hint = "`zarr gen` makes such a dataset, and `zarr copy` with `--to nczarr-v2` or `--to nczarr-v3` copies to one";
        return Err(Error::from(AccessError::Argument(why.into())).at_store(url).with_hint(hint));
    }
    let mut new_names = vec![name];
    let is_local = !url.contains("://") || url.starts_with("file://");
    if is_local && split_at_store(url).0 == url && !ends_as_store(name) {
        let place = Path::new(url.strip_prefix("file://").unwrap_or(url));
        let new_folders = place.ancestors().skip(1).take_while(|above| !above.exists());
        new_names.extend(new_folders.filter_map(|above| above.file_name()?.to_str()));
    }
    let Some((name, format)) = new_names.into_iter().find_map(other_format) else { return Ok(()) };
    let (stem, end) = name.rsplit_once('.').unwrap_or((name, ""));
    let why = format!("a name that ends in `.{end}` is for {format}, but the output is Zarr");
    let mut hint = format!("name it `{stem}.zarr`, or `{stem}.zip` for a single file");
    if format == "netCDF" {
        hint.push_str(&format!("; a netCDF dataset in Zarr may be `{name}#mode=nczarr,file`"));
    }
    if OUTPUT_NAMES.iter().any(|name| name.eq_ignore_ascii_case(end)) {
        hint.push_str(&format!("; `zarr get ARRAY --output {name}` writes {format}"));
    }
    Err(Error::from(AccessError::Argument(why)).at_store(url).with_hint(hint))
}

/// The name and what it is the name of, if it ends as a file in another format does.
fn other_format(name: &str) -> Option<(&str, &'static str)> {
    let (stem, end) = name.rsplit_once('.')?;
    let ends_so = |ends: &[&str]| ends.iter().any(|it| it.eq_ignore_ascii_case(end));
    let (_, format) = OTHER_NAMES.iter().find(|(ends, _)| ends_so(ends))?;
    (!stem.is_empty()).then_some((name, *format))
}

/// The dialect of a new hierarchy that was asked for, and the one by default. A single-file OME-Zarr has final v3.
fn dialect_of_new(
    url: &str,
    dialect: Option<Dialect>,
    default: Dialect,
) -> Result<(Option<Dialect>, Dialect)> {
    let (scheme, way) = url.split_once("://").unwrap_or(("", url));
    let mut names = way.trim_end_matches('/').split('/');
    if !names.any(|name| name.to_ascii_lowercase().ends_with(".ozx")) {
        return Ok((dialect, default));
    }
    if !scheme.is_empty() && !matches!(scheme, "file" | "zip") {
        // In other stores it is a prefix like any other.
        return Ok((dialect, default));
    }
    match dialect {
        None | Some(Dialect::V3) => Ok((dialect, Dialect::V3)),
        Some(other) => {
            let why = format!("an archive `.ozx` holds OME-Zarr in v3, not {}", other.name());
            let hint = "leave the format out, or end the archive's name in `.zip`";
            Err(Error::from(AccessError::Argument(why)).at_store(url).with_hint(hint))
        }
    }
}

fn refuse_other_format(url: &str, options: &OpenOptions) -> Result<()> {
    match format_of_file(url, options).or_else(|| other_archive(url, options)) {
        Some(format) => {
            let why = format!("this is {format}; choose another place");
            Err(Error::from(AccessError::Argument(why)).at_store(url))
        }
        None if is_plain_file(url) => {
            let why = "this is a file without Zarr data; choose another place";
            Err(Error::from(AccessError::Argument(why.into())).at_store(url))
        }
        None => refuse_other_name(url),
    }
}

/// Whether a file of this machine is there, whose name is not that of an archive.
fn is_plain_file(url: &str) -> bool {
    let path = Path::new(url.strip_prefix("file://").unwrap_or(url));
    let is_local = !url.contains("://") || url.starts_with("file://");
    is_local && !ends_as_store(url) && path.is_file()
}

/// A file that is an archive, though it is not named so: a document of an office program, or a package.
fn other_archive(url: &str, options: &OpenOptions) -> Option<&'static str> {
    let name = url.trim_end_matches('/').to_ascii_lowercase();
    let is_named = [".zip", ".ozx"].iter().any(|end| name.ends_with(end));
    (!is_named && head(url, options).is_some_and(|head| head.starts_with(b"PK\x03\x04")))
        .then_some("a file in the form of a zip archive, without Zarr data")
}

/// The hierarchy above a URL, and the path of the URL in it. One of the drafts of May 2019, whose documents have any names, is not
/// looked for: [`Hierarchy::locate`] finds it.
pub fn hierarchy_above(url: &str, options: &OpenOptions) -> Option<(Hierarchy, NodePath)> {
    find_above(url, options, &|above| has_sign(above, options).unwrap_or(true))
}

/// The hierarchy of any dialect above a URL without a node, and the path of the URL in it.
fn hierarchy_above_absent(url: &str, options: &OpenOptions) -> Option<(Hierarchy, NodePath)> {
    find_above(url, options, &|_| true)
}

/// The first hierarchy above a URL, of the folders that are to be looked at.
fn find_above(
    url: &str,
    options: &OpenOptions,
    is_looked_at: &dyn Fn(&str) -> bool,
) -> Option<(Hierarchy, NodePath)> {
    let mut names: Vec<&str> = Vec::new();
    let (place, query) = split_query(url);
    let mut base = place.trim_end_matches('/');
    while names.len() < MAX_FOLDERS_ABOVE {
        let (above, name) = base.rsplit_once('/')?;
        if above.is_empty() || above.ends_with(['/', ':']) {
            return None;
        }
        names.insert(0, name);
        let url = format!("{above}{query}");
        if !is_looked_at(&url) {
            base = above;
            continue;
        }
        match Hierarchy::locate(&url, options) {
            Ok((hierarchy, path)) => {
                let path = path_below(&path, &names.join("/")).ok()?;
                return Some((hierarchy, path));
            }
            Err(e) if e.kind() == ErrorKind::NotFound => base = above,
            Err(_) => return None,
        }
    }
    None
}

/// Whether a folder has one of [`SIGNS`]; an error for what cannot be asked, such as a file, which may be data of another format.
fn has_sign(url: &str, options: &OpenOptions) -> Result<bool> {
    let store = options.clone().read_only().store(url)?.to_sync();
    let keys = SIGNS.iter().map(|key| StoreKey::new(*key)).collect::<Result<Vec<_>, _>>()?;
    // Each request to a server takes its time.
    let threads = if store.capabilities().local { 1 } else { keys.len() };
    let parallel = Parallel { name: "zarr-locate", threads, cancel: None };
    let found = parallel.each(0..keys.len(), |n| -> Result<bool, StoreError> {
        Ok(store.open(&keys[n], SnapshotOptions::default())?.is_some())
    });
    let found = found.into_iter().collect::<Result<Vec<bool>, _>>()?;
    Ok(found.contains(&true))
}

impl NewPlace {
    /// After a failure: takes back the documents with which a hierarchy was begun, so that the next try
    /// does not find them. Chunks and nodes are left as they are.
    pub fn take_back(&self) {
        let root = NodePath::root();
        let nodes = self.hierarchy.tree(&root);
        let is_only_root = nodes.is_ok_and(|nodes| nodes.len() <= 1);
        let group = self.hierarchy.root();
        let is_untouched = group.is_ok_and(|group| group.attributes().is_empty());
        let store = self.hierarchy.store();
        if !(self.begun && is_only_root && is_untouched && store.capabilities().write) {
            return;
        }
        let store = store.to_sync();
        let format = zarr_core::format::of_dialect(self.hierarchy.dialect());
        let keys = format.document_keys(&root).unwrap_or_default();
        let entry = format.entry_point().unwrap_or_default();
        for key in keys.into_iter().chain(entry.into_iter().map(|(key, _)| key)) {
            // The first failure is reported.
            let _ = store.erase(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_formats_and_of_single_file_ome_zarr() {
        for good in [
            "/data/x.zarr",
            "/data/x.nc/inner.zarr",
            "s3://b.h5/nc",
            "a.zarr/x.h5/y",
            "s3://b/nc",
            "x",
            "/data/.nc.zarr",
        ] {
            assert!(refuse_other_name(good).is_ok(), "{good}");
        }
        for (bad, hint) in [
            ("/data/x.nc", "`x.nc#mode=nczarr,file`"),
            ("/data/x.NC4/", "`x.zarr`"),
            ("s3://b/x.h5", "`x.zip`"),
            ("x.hdf5", "`x.zarr`"),
            ("x.y.tif", "`x.y.zarr`"),
            ("x.tiff", "`x.zarr`"),
            ("x.grib", "`x.zarr`"),
            ("new.h5/x", "`new.zarr`"),
            ("file:///data/new.nc/a/b", "`new.zarr`"),
            ("x.npy", "`zarr get ARRAY --output x.npy` writes NumPy"),
            ("/data/x.zarr#mode=nczarr,file", "`--to nczarr-v2`"),
        ] {
            let error = refuse_other_name(bad).expect_err(bad);
            assert!(error.hint().is_some_and(|it| it.contains(hint)), "{error}");
        }
        let of = |url: &str, dialect| dialect_of_new(url, dialect, Dialect::V2).ok();
        assert_eq!(of("/data/x.zarr", None), Some((None, Dialect::V2)));
        for archive in ["/data/x.ozx", "file:///data/x.OZX/", "zip:///data/x.ozx"] {
            assert_eq!(of(archive, None), Some((None, Dialect::V3)), "{archive}");
            assert_eq!(of(archive, Some(Dialect::V2)), None, "{archive}");
        }
    }

    #[test]
    fn a_new_hierarchy_begins_at_the_first_name_of_a_store() {
        for (url, store, inside) in [
            ("/data/new.zarr/ocean/t", "/data/new.zarr", "ocean/t"),
            ("/data/new.zarr", "/data/new.zarr", ""),
            ("/data/New.ZIP/t/", "/data/New.ZIP", "t"),
            ("/data/image.ome.zarr/0", "/data/image.ome.zarr", "0"),
            ("/data/a.ozx/b.zarr", "/data/a.ozx", "b.zarr"),
            ("s3://bucket/x.zarr/g", "s3://bucket/x.zarr", "g"),
            ("s3://bucket.zarr/g", "s3://bucket.zarr", "g"),
            ("/data/plain/t", "/data/plain/t", ""),
            ("/data/.zarr/t", "/data/.zarr/t", ""),
            ("zip::s3://bucket/x.zip/t", "zip::s3://bucket/x.zip/t", ""),
        ] {
            assert_eq!(split_at_store(url), (store, inside), "{url}");
        }
    }

    #[test]
    fn paths_are_from_the_node_that_target_means() {
        let path = |text: &str| NodePath::new(text).unwrap();
        let node = path("/a/b");
        for (relative, expected) in
            [("/", "/a/b"), ("", "/a/b"), ("/c", "/a/b/c"), ("c/d/", "/a/b/c/d")]
        {
            assert_eq!(path_below(&node, relative).unwrap(), path(expected), "{relative}");
        }
        assert_eq!(path_below(&NodePath::root(), "c").unwrap(), path("/c"));
        for bad in ["//", "//c", "../c", "c//d"] {
            assert!(path_below(&node, bad).is_err(), "{bad}");
        }
    }
}
