//! Opens, makes and describes netCDF datasets.

use zarr::nczarr::schema::{Group, Variable};
use zarr::nczarr::{Dataset, DatasetOptions, NcUrl, NewDataset, Other, Profile, Storage};
use zarr::{CopyOptions, Error, ErrorKind, Hierarchy, Json, MetadataError, Node, NodePath, Object};

use crate::failure::Failure;
use crate::human;
use crate::progress::Progress;
use crate::session::{self, Care, Session, Target};

/// The dataset that a URL or path means.
fn url_of(text: &str) -> Result<NcUrl, Failure> {
    Ok(match session::netcdf_url(text)? {
        Some(url) => url,
        None => {
            let plain = NcUrl::parse("/").map_err(Error::from)?;
            NcUrl { store: session::url(text), ..plain }
        }
    })
}

/// What is to be made where `target` means: what was asked for, unless the URL says otherwise; else what the URL
/// says, as netCDF's library takes it; else NCZarr in v3.
fn new_dataset(target: &str, asked: Option<&NewDataset>) -> Result<NewDataset, Failure> {
    let url = url_of(target)?;
    let usual = match url.profile {
        Some(_) => NewDataset::nczarr_v2(),
        None => NewDataset::nczarr_v3(),
    };
    let usual = asked.cloned().unwrap_or(usual);
    let said = NewDataset {
        profile: url.profile.unwrap_or(usual.profile),
        dialect: url.dialect.unwrap_or(usual.dialect),
        ..usual.clone()
    };
    match asked {
        Some(asked) if *asked != said => {
            let why =
                "the mode behind `#` asks for another format than the option; say one of them";
            Err(Failure::Usage(format!("{target}: {why}")))
        }
        _ => Ok(said),
    }
}

/// The dataset that TARGET means, for reading.
pub(super) fn open(session: &Session, target: &Target) -> Result<Dataset, Failure> {
    let mut url = url_of(&target.target)?;
    let inside = target.path.trim_matches('/');
    if !inside.is_empty() {
        url.store = format!("{}/{inside}", url.store.trim_end_matches('/'));
    }
    Ok(url.open(&DatasetOptions::of(session.options()?))?)
}

/// A new dataset where `target` means, with nothing in it.
pub(super) fn create(
    session: &Session,
    target: &str,
    asked: Option<&NewDataset>,
    care: &Care,
) -> Result<Dataset, Failure> {
    let (mut url, new) = (url_of(target)?, new_dataset(target, asked)?);
    (url.profile, url.dialect) = (Some(new.profile), Some(new.dialect));
    if url.storage.is_none() && url.store.ends_with(".zip") {
        url.storage = Some(Storage::Zip);
    }
    let dataset = url.create(&DatasetOptions::of(session.writing(care)?))?;
    session.written(&dataset.hierarchy());
    Ok(dataset)
}

/// Takes a new dataset back: half of one looks like a whole one that holds fill.
pub(super) fn take_back(dataset: &Dataset) {
    // The first failure is reported.
    let _ = dataset.hierarchy().erase(zarr::NodePath::root());
}

/// Copies the dataset that `source` means to `target`, as `new`. Nodes that netCDF cannot represent are copied as they are
/// into plain Zarr; into NCZarr they are left out, if the user asks for that.
pub(super) fn copy(
    session: &Session,
    (source, target): (&str, &str),
    new: &NewDataset,
    skip_unsupported: bool,
    care: &Care,
) -> Result<(), Failure> {
    new_dataset(target, Some(new))?;
    let from = url_of(source)?.open(&DatasetOptions::of(session.options()?))?;
    let mut plan = from.plan_copy(new)?;
    let (arrays, skipped) = others(&from, std::mem::take(&mut plan.others), new);
    // Of these the copy says more: nodes that are no variables, and attributes.
    let is_other = |place: &str| {
        let skipped = skipped.iter().map(|(path, _)| path);
        arrays.iter().chain(skipped).any(|path| path.as_str() == place)
    };
    let mut warnings = from.warnings();
    warnings.retain(|warning| {
        let is_attribute = warning.what.starts_with("attribute `");
        let is_node = ["is no variable: ", "is not shown: "];
        let is_node = is_node.iter().any(|begin| warning.what.starts_with(begin));
        !(is_attribute && warning.what.contains("` is not shown: ")
            || is_node && is_other(&warning.place))
    });
    session.warn_of(&warnings);
    if let (false, Some((path, why))) = (skip_unsupported, skipped.first()) {
        return Err(left_behind(&from, path, why, skipped.len() - 1, new));
    }
    let mut skipped: Vec<String> =
        skipped.iter().map(|(path, why)| format!("{path}: {why}")).collect();
    if session.is_strict()
        && let Some(what) = plan.lost.first()
    {
        let hint = "copy without `--strict` to leave such things behind".into();
        let what = format!("all of it: {what}");
        return Err(
            Error::from(MetadataError::CannotRepresent { format: "the copy", what, hint }).into()
        );
    }
    let to = create(session, target, Some(new), care)?;
    let options = CopyOptions {
        strict: session.is_strict(),
        skip_unsupported,
        only: Some(arrays.iter().cloned().collect()),
        ..CopyOptions::default()
    };
    let bar = Progress::of_bytes(plan.bytes, false);
    let copied = from.copy_to(&to, &plan, &|path, done| {
        bar.done(done);
        bar.message(path);
    });
    drop(bar);
    let copied = copied.and_then(|()| {
        if arrays.is_empty() {
            Ok(zarr::Progress::default())
        } else {
            copy_others(&from, &to, &arrays, options)
        }
    });
    let copied = copied.inspect_err(|_| take_back(&to))?;
    skipped.extend(copied.skipped);
    session.tell_notes(&copied.notes);
    session.tell_lost(&plan.lost);
    session.tell_lost(&copied.not_kept);
    session.tell_skipped(&skipped);
    session.talk(&format!(
        "copied {}, {}, to {} as {} in {}",
        human::plural(count(&plan.schema) + arrays.len() as u64, "variable"),
        human::size(plan.bytes.saturating_add(copied.bytes_done)),
        session::url(target),
        match new.profile {
            Profile::Pure => "plain Zarr",
            _ => "NCZarr",
        },
        new.dialect,
    ));
    Ok(())
}

/// Of the nodes that no copy by netCDF has, those that plain Zarr can have, and the others, each with the reason.
fn others(
    from: &Dataset,
    all: Vec<Other>,
    new: &NewDataset,
) -> (Vec<NodePath>, Vec<(NodePath, String)>) {
    let (mut arrays, mut skipped) = (Vec::new(), Vec::new());
    for Other { path, why } in all {
        match from.hierarchy().node(&path) {
            Err(e) if e.kind() == ErrorKind::InvalidMetadata => skipped.push((path, why)),
            _ if new.profile == Profile::Pure => arrays.push(path),
            _ => skipped.push((path, why)),
        }
    }
    (arrays, skipped)
}

/// Copies nodes as those that they are, into the groups that a copy has already.
fn copy_others(
    from: &Dataset,
    to: &Dataset,
    nodes: &[NodePath],
    mut options: CopyOptions<'_>,
) -> zarr::Result<zarr::Progress> {
    let base = from.hierarchy().node(from.root_path())?;
    let at = match (&base, nodes) {
        // An array that the dataset takes for the one variable of a group.
        (Node::Array(_), [variable]) => {
            options.only = None;
            variable
        }
        _ => to.root_path(),
    };
    zarr::copy(&base, &to.hierarchy(), at, &options)
}

/// Refuses a copy that would lose a node.
fn left_behind(
    from: &Dataset,
    path: &NodePath,
    why: &str,
    more: usize,
    new: &NewDataset,
) -> Failure {
    let more = match more {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let hint = match new.profile {
        Profile::Pure => "leave such nodes out, each named, with `--skip-unsupported`",
        _ => {
            "copy to `zarr-v2` or `zarr-v3`, or leave such nodes out, each named, with `--skip-unsupported`"
        }
    };
    let what = format!("the whole of it: {why}{more}");
    let error = MetadataError::CannotRepresent { format: "the copy", what, hint: hint.into() };
    Error::from(error).at_store(from.hierarchy().store().name()).at_path(path).into()
}

fn count(group: &Group) -> u64 {
    group.variables.len() as u64 + group.groups.iter().map(count).sum::<u64>()
}

/// The dataset of NCZarr's that a node is part of, if it is.
pub(super) fn dataset_of(hierarchy: &Hierarchy, options: DatasetOptions) -> Option<Dataset> {
    if !Dataset::is_nczarr(hierarchy) {
        return None;
    }
    Dataset::open(hierarchy.store().clone(), &options).ok()
}

/// As [`dataset_of`], for a node that was opened: its root is read again only if the node is not the root.
pub(super) fn dataset_with(node: &Node, options: DatasetOptions) -> Option<Dataset> {
    if node.path().is_root() && !Dataset::begins_at(node) {
        None
    } else {
        dataset_of(node.hierarchy(), options)
    }
}

/// What netCDF sees in a node: a label and a text, line by line.
pub(super) fn lines(dataset: &Dataset, node: &Node) -> Vec<(&'static str, String)> {
    let schema = dataset.schema();
    let path = node.path().as_str();
    let profile = format!("{} profile", dataset.profile().name());
    match node {
        Node::Array(_) => {
            let variable = schema.variable(path).map(declaration);
            let text = variable.unwrap_or_else(|| "no variable".into());
            vec![("netCDF", format!("{text}, {profile}"))]
        }
        Node::Group(_) => {
            let mut lines = vec![("netCDF", profile)];
            let group = schema.group(path);
            for (n, dimension) in group.iter().flat_map(|g| &g.dimensions).enumerate() {
                let grows = if dimension.unlimited { ", unlimited" } else { "" };
                let text = format!("{} = {}{grows}", dimension.name, dimension.len);
                lines.push((if n == 0 { "dimensions" } else { "" }, text));
            }
            lines
        }
    }
}

/// `float temp(time, lat)`.
fn declaration(variable: &Variable) -> String {
    let names: Vec<&str> = variable.dimensions.iter().map(|name| name.as_str()).collect();
    let axes = if names.is_empty() { String::new() } else { format!("({})", names.join(", ")) };
    format!("{} {}{axes}", variable.ty, variable.name)
}

/// The same as members of JSON.
pub(super) fn members(dataset: &Dataset, node: &Node) -> Json {
    let schema = dataset.schema();
    let path = node.path().as_str();
    let object = Object::new().with("profile", dataset.profile().name());
    let object = match node {
        Node::Array(_) => match schema.variable(path) {
            None => object.with("type", Json::Null),
            Some(variable) => {
                let names: Json =
                    variable.dimensions.iter().map(|n| Json::from(n.as_str())).collect();
                object.with("type", variable.ty.name()).with("dimensions", names)
            }
        },
        Node::Group(_) => {
            let dimensions = schema.group(path).into_iter().flat_map(|group| &group.dimensions);
            let dimensions: Json = dimensions
                .map(|dimension| {
                    Json::from(
                        Object::new()
                            .with("name", dimension.name.as_str())
                            .with("length", dimension.len)
                            .with("unlimited", dimension.unlimited),
                    )
                })
                .collect();
            object.with("dimensions", dimensions)
        }
    };
    object.into()
}

/// The names of a variable's dimensions, for a tree.
pub(super) fn axes(dataset: &Dataset, path: &str) -> Option<String> {
    let schema = dataset.schema();
    let names = &schema.variable(path)?.dimensions;
    let names: Vec<&str> = names.iter().filter_map(|name| name.rsplit('/').next()).collect();
    (!names.is_empty()).then(|| format!("({})", names.join(", ")))
}
