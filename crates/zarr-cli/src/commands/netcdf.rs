//! Opens, makes and describes netCDF datasets.

use zarr::nczarr::schema::{Group, Variable};
use zarr::nczarr::{Dataset, DatasetOptions, NcUrl, NewDataset, Profile, Storage};
use zarr::{Error, Hierarchy, Json, MetadataError, Node, Object};

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
    let _ = dataset.hierarchy().erase(&zarr::NodePath::root());
}

/// Copies the dataset that `source` means to `target`, as `new`.
pub(super) fn copy(
    session: &Session,
    (source, target): (&str, &str),
    new: &NewDataset,
    care: &Care,
) -> Result<(), Failure> {
    new_dataset(target, Some(new))?;
    let from = url_of(source)?.open(&DatasetOptions::of(session.options()?))?;
    let plan = from.plan_copy(new)?;
    session.warn_of(&from.warnings());
    if session.is_strict()
        && let Some(what) = plan.lost.first()
    {
        let hint = "copy without `--strict` to leave such things behind".into();
        let what = format!("all of it: {what}");
        return Err(
            Error::from(MetadataError::CannotSpell { format: "the copy", what, hint }).into()
        );
    }
    let to = create(session, target, Some(new), care)?;
    let bar = Progress::of_bytes(plan.bytes, false);
    let copied = from.copy_to(&to, &plan, &|path, done| {
        bar.done(done);
        bar.message(path.to_owned());
    });
    drop(bar);
    if let Err(e) = copied {
        take_back(&to);
        return Err(e.into());
    }
    session.tell_lost(&plan.lost);
    session.talk(&format!(
        "copied {}, {}, to {} as {} in {}",
        human::plural(count(&plan.schema), "variable"),
        human::size(plan.bytes),
        session::url(target),
        match new.profile {
            Profile::Pure => "plain Zarr",
            _ => "NCZarr",
        },
        new.dialect,
    ));
    Ok(())
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
    match node.path().is_root() && !Dataset::begins_at(node) {
        true => None,
        false => dataset_of(node.hierarchy(), options),
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
