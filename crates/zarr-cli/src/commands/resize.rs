//! Gives an array another shape.

use clap::Args;
use zarr::nczarr::{Dataset, DatasetOptions};
use zarr::{Array, Json, Node, NodePath};

use crate::failure::Failure;
use crate::human;
use crate::interrupt;
use crate::parse::{self, Shape};
use crate::session::{Session, Target, WriteOptions};

/// The most arrays that are named because they do not fit.
const MOST_TOLD: usize = 5;

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr resize data.zarr --path temperature --shape 40,30
  zarr resize data.zarr/temperature --shape 20,10",
    after_long_help = crate::details("\
Chunks stay where they are. Added elements read as the fill value; removed ones are erased, also inside chunks at the edge.
If a dimension of the same name in the same group has another length afterwards, the command names the arrays. In a NCZarr
dataset, only unlimited dimensions can change: those of fixed length belong to all variables.
If another program appends at the same time, it loses nothing: the command fails if the shape has changed since the command read
it."))]
pub(crate) struct Resize {
    #[command(flatten)]
    target: Target,
    /// The new length of each axis, as in 100,200
    #[arg(long, value_name = "N,N,…", allow_hyphen_values = true, value_parser = parse::shape)]
    shape: Shape,
    #[command(flatten)]
    care: WriteOptions,
}

impl Resize {
    pub fn run(&self, session: &Session) -> Result<(), Failure> {
        session.show_calls();
        let array = session.open_rw(&self.target, &self.care)?.into_array()?;
        let left = "the array has its old or its new shape (see `zarr info`), and chunks outside a smaller shape may remain, which \
                    readers ignore; it can be resized again";
        interrupt::leaves(session, left);
        let Shape(shape) = &self.shape;
        let old = array.shape();
        let place = human::place(array.hierarchy(), array.path());
        if shape.len() != old.len() {
            let new = human::plural(shape.len() as u64, "length");
            let axes = if old.len() == 1 { "axis" } else { "axes" };
            let why = format!(
                "--shape has {new}, the array has {} {axes}; give one length for each axis",
                old.len()
            );
            return Err(Failure::Usage(format!("{place}: {why}")));
        }
        let whole = session.in_its_hierarchy(&self.target, &array, &session.options()?)?;
        let changed: Vec<usize> = (0..old.len()).filter(|&axis| old[axis] != shape[axis]).collect();
        refuse_fixed(session, &whole, &changed)?;
        change(&array, &old, shape)?;
        publish_lengths(session, &self.target, &array, &self.care)?;
        session.warn(array.hierarchy());
        tell_others(session, &whole, shape, &changed, CHANGE_OTHERS);
        session.talk(&format!("{place}: {} became {}", human::shape(&old), human::shape(shape)));
        Ok(())
    }
}

/// Changes the shape from `old`, and from no other, to `new`.
pub(super) fn change(array: &Array, old: &[u64], new: &[u64]) -> Result<(), Failure> {
    array.reshape(|now| {
        if now == old {
            return Ok(new.to_vec());
        }
        let now = human::shape(now);
        Err(zarr::AccessError::Argument(format!(
            "another program changed the array's shape to {now}; check it, then repeat the command"
        )))
    })?;
    Ok(())
}

/// An error if one of these axes is a dimension of a NCZarr dataset that has a fixed length.
pub(super) fn refuse_fixed(
    session: &Session,
    array: &Array,
    axes: &[usize],
) -> Result<(), Failure> {
    let hierarchy = array.hierarchy();
    if axes.is_empty() || !Dataset::is_nczarr(hierarchy) {
        return Ok(());
    }
    let options = DatasetOptions::of(session.options()?);
    let dataset = Dataset::open(hierarchy.store().clone(), &options)?;
    // An array that is no variable has no dimensions.
    match dataset.variable(array.path().as_str()) {
        Ok(variable) => Ok(variable.check_unlimited(axes)?),
        Err(_) => Ok(()),
    }
}

/// Has the groups of a NCZarr dataset say the new length of its dimensions; says which variables still have another one.
pub(super) fn publish_lengths(
    session: &Session,
    target: &Target,
    array: &Array,
    care: &WriteOptions,
) -> Result<(), Failure> {
    // An archive is written when it is flushed, and has one writer at a time.
    array.hierarchy().flush()?;
    let options = session.writing(care)?;
    let array = session.in_its_hierarchy(target, array, &options)?;
    let hierarchy = array.hierarchy();
    if !Dataset::is_nczarr(hierarchy) {
        return Ok(());
    }
    let dataset = Dataset::open(hierarchy.store().clone(), &DatasetOptions::of(options))?;
    let Ok(variable) = dataset.variable(array.path().as_str()) else { return Ok(()) };
    for name in variable.publish_lengths()? {
        session.warn_of(&[zarr::Warning {
            place: human::place(hierarchy, array.path()),
            what: format!(
                "netCDF opens the dataset only when all variables with the dimension `{name}` have the same length: give the others that length, \
                 too, with `zarr append` or `zarr resize`"
            ),
        }]);
    }
    Ok(())
}

/// What to do about the other arrays with a dimension whose length was changed.
pub(super) const CHANGE_OTHERS: &str = "`zarr append` or `zarr resize` the others, too";

/// Says which other arrays of the group have another length along dimensions of the same names: xarray and netCDF need them equal.
pub(super) fn tell_others(
    session: &Session,
    array: &Array,
    shape: &[u64],
    axes: &[usize],
    advice: &str,
) {
    if !levels_beside(array).is_empty() {
        session.warn_about(
            array,
            &["it is a level of an image, and the other levels still show the old extent: erase the smaller ones with `zarr rm`, \
               and make them again with `zarr pyramid`"
                .to_owned()],
        );
        return;
    }
    let names = names_of(array);
    if !axes.iter().any(|&axis| matches!(names.get(axis), Some(Some(_)))) {
        return;
    }
    let group = array.path().parent().and_then(|group| array.hierarchy().group(&group).ok());
    let others = group.and_then(|group| group.members().ok()).unwrap_or_default();
    let others = others.into_iter().filter_map(|node| match node {
        Node::Array(array) => Some(array),
        Node::Group(_) => None,
    });
    let others: Vec<_> = others.map(|other| (names_of(&other), other)).collect();
    let mut notes = Vec::new();
    for &axis in axes {
        let Some(Some(name)) = names.get(axis) else { continue };
        let found: Vec<String> = others
            .iter()
            .filter_map(|(names, other)| {
                let at = names.iter().position(|known| known.as_deref() == Some(&**name))?;
                let len = *other.shape().get(at)?;
                (other.path() != array.path() && len != shape[axis])
                    .then(|| format!("{len} in {}", other.path()))
            })
            .collect();
        if !found.is_empty() {
            let more = found.len().saturating_sub(MOST_TOLD);
            let more = if more == 0 { String::new() } else { format!(" and {more} more arrays") };
            let found = found.into_iter().take(MOST_TOLD).collect::<Vec<_>>().join(", ");
            let len = shape[axis];
            notes.push(format!(
                "dimension `{name}` is {len} long here, but {found}{more}: xarray and netCDF need one length; {advice}"
            ));
        }
    }
    session.warn_about(array, &notes);
}

/// Whether an array is the first of several levels of an OME-Zarr image.
pub(super) fn is_base_of_image(array: &Array) -> bool {
    levels_beside(array).first() == Some(array.path())
}

/// The levels of the OME-Zarr image of which an array is one of several; none of another array.
pub(super) fn levels_beside(array: &Array) -> Vec<NodePath> {
    let Some(parent) = array.path().parent() else { return Vec::new() };
    let Ok(group) = array.hierarchy().group(&parent) else { return Vec::new() };
    let attributes = group.attributes();
    let of_v3 = attributes.get("ome").and_then(Json::as_object);
    let multiscales = of_v3.and_then(|ome| ome.get("multiscales"));
    let multiscales = multiscales.or(attributes.get("multiscales")).and_then(Json::as_array);
    let images = multiscales.into_iter().flatten().map(|image| -> Vec<NodePath> {
        let datasets = image.as_object().and_then(|image| image.get("datasets"));
        let datasets = datasets.and_then(Json::as_array).unwrap_or_default();
        let paths = datasets.iter().filter_map(|level| level.as_object()?.get("path")?.as_str());
        paths.filter_map(|path| parent.join(path).ok()).collect()
    });
    let mut images = images.filter(|levels| levels.len() > 1 && levels.contains(array.path()));
    images.next().unwrap_or_default()
}

/// The names of an array's dimensions; without names, none.
fn names_of(array: &Array) -> Vec<Option<String>> {
    array.metadata().dimension_names.clone().unwrap_or_default()
}
