//! Opens, makes and describes netCDF datasets.

use std::collections::HashSet;

use zarr::nczarr::schema::Variable;
use zarr::nczarr::{CopyTarget, Dataset, DatasetOptions, NcUrl, NewDataset, Profile};
use zarr::tools::Plan;
use zarr::{ErrorKind, Hierarchy, Json, Node, Object, OpenOptions};

use crate::failure::Failure;
use crate::session::{Session, Target, WriteOptions};

/// What is to be made where `target` means: what was asked for, unless the URL says otherwise; else what the URL
/// says, as netCDF's library takes it; else NCZarr in v3.
pub(super) fn new_dataset(target: &str, asked: Option<&NewDataset>) -> Result<NewDataset, Failure> {
    let url = zarr::tools::dataset_url(target)?;
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
                "the mode after `#` and the option name different formats; give only one of them";
            Err(Failure::Usage(format!("{target}: {why}")))
        }
        _ => Ok(said),
    }
}

/// The URL of a new dataset.
fn url_of_new(target: &str, asked: Option<&NewDataset>) -> Result<NcUrl, Failure> {
    Ok(zarr::tools::dataset_url(target)?.for_new(&new_dataset(target, asked)?))
}

/// Refuses a new dataset whose name says that it is a file of another format, unless the mode in its URL says what it is.
fn check_name(target: &str, options: &OpenOptions) -> Result<(), Failure> {
    let url = zarr::tools::absolute_url(target);
    if target.contains("#mode=") {
        return Ok(());
    }
    match Hierarchy::locate(&url, options) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(zarr::tools::refuse_other_name(&url)?),
        // Something is there.
        _ => Ok(()),
    }
}

/// The dataset that TARGET means, for reading.
pub(super) fn open(session: &Session, target: &Target) -> Result<Dataset, Failure> {
    let mut url = zarr::tools::dataset_url(&target.target)?;
    let inside = target.path.trim_matches('/');
    if !inside.is_empty() {
        url.store = zarr::url_below(&url.store, inside);
    }
    Ok(url.open(&DatasetOptions::of(session.options()?))?)
}

/// A new dataset where `target` means, with nothing in it.
pub(super) fn create(
    session: &Session,
    target: &str,
    asked: Option<&NewDataset>,
    care: &WriteOptions,
) -> Result<Dataset, Failure> {
    let options = session.writing(care)?;
    check_name(target, &options)?;
    let url = url_of_new(target, asked)?;
    let dataset = url.create(&DatasetOptions::of(options))?;
    session.written(&dataset.hierarchy());
    Ok(dataset)
}

/// Takes a new dataset back: half of one looks like a whole one that holds fill.
pub(super) fn take_back(dataset: &Dataset) {
    // The first failure is reported.
    let _ = dataset.hierarchy().erase(zarr::NodePath::root());
}

/// The dataset that a copy is made of, which is to become `new`.
pub(super) fn source(
    session: &Session,
    source: &str,
    new: &NewDataset,
) -> Result<Dataset, Failure> {
    let url = zarr::tools::dataset_url(source)?;
    let dataset = url.open(&dataset_options(new.profile, session.options()?))?;
    match session.whole_to_copy(&dataset.hierarchy(), dataset.root_path())? {
        Some(zarr) => Ok(url.open(&dataset_options(new.profile, zarr))?),
        None => Ok(dataset),
    }
}

/// How a netCDF file is opened: NCZarr has all that it says.
fn dataset_options(profile: Profile, zarr: OpenOptions) -> DatasetOptions {
    match profile {
        Profile::Nczarr => DatasetOptions::of(zarr).file_types(),
        _ => DatasetOptions::of(zarr),
    }
}

/// Where a copy is made that becomes what [`create`] would create.
pub(super) fn copy_target(
    session: &Session,
    target: &str,
    new: &NewDataset,
    care: &WriteOptions,
) -> Result<CopyTarget, Failure> {
    let options = session.writing(care)?;
    check_name(target, &options)?;
    let url = url_of_new(target, Some(new))?;
    let target = url.copy_target(&DatasetOptions::of(options))?;
    session.written(target.hierarchy());
    Ok(target)
}

/// What the copy to `target` that is under way is to be, if it is a netCDF dataset.
pub(super) fn under_way(session: &Session, target: &str) -> Option<NewDataset> {
    let options = DatasetOptions::of(session.options().ok()?);
    zarr::tools::dataset_under_way(target, &options)
}

/// Says on standard error what a tolerant reader overlooked, but for what the plan of a copy says better.
pub(super) fn warn(session: &Session, from: &Dataset, plan: &Plan) {
    let root = from.root_path();
    let paths: HashSet<String> = plan
        .paths()
        .iter()
        .map(|path| format!("{}{path}", root.as_str().trim_end_matches('/')))
        .collect();
    // `/a/b: why`; a name may have a colon, too.
    let skipped: HashSet<&str> = plan
        .skipped()
        .iter()
        .flat_map(|skipped| skipped.match_indices(": ").map(|(end, _)| &skipped[..end]))
        .collect();
    let mut warnings = from.warnings();
    warnings.retain(|warning| {
        let is_attribute = warning.what.starts_with("attribute `");
        let is_node = ["is not a variable: ", "is not shown: "];
        let is_node = is_node.iter().any(|begin| warning.what.starts_with(begin));
        let is_copied =
            is_node && (paths.contains(&warning.place) || skipped.contains(warning.place.as_str()));
        !(is_attribute && warning.what.contains("` is not shown: ") || is_copied)
    });
    session.warn_of(&warnings);
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
    let names = dataset.variable(path).and_then(|variable| variable.schema()).ok()?.dimensions;
    let names: Vec<&str> = names.iter().filter_map(|name| name.rsplit('/').next()).collect();
    (!names.is_empty()).then(|| format!("({})", names.join(", ")))
}
