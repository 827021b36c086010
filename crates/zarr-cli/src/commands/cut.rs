//! Cuts a dataset by coordinates: which arrays are copied, and which part of each.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use zarr::nczarr::Dataset;
use zarr::tools::Steps;
use zarr::{Array, Node, NodePath};
use zarr_plot::meaning::{Axis, Reach, axes_of};
use zarr_plot::stats::Along;

use crate::digits::Digits;
use crate::failure::Failure;
use crate::human;
use crate::region::{Elements, items, two_selections};
use crate::session::{Session, Target};

/// The arrays that are chosen, and those that they need: coordinates of their dimensions, and what their attributes name.
pub(super) fn with_coordinates(arrays: &[Array], chosen: BTreeSet<NodePath>) -> BTreeSet<NodePath> {
    let by_path: BTreeMap<&NodePath, &Array> =
        arrays.iter().map(|array| (array.path(), array)).collect();
    let mut found = chosen.clone();
    let mut waiting: Vec<NodePath> = chosen.into_iter().collect();
    while let Some(path) = waiting.pop() {
        let Some(array) = by_path.get(&path) else { continue };
        for name in named(array) {
            // In the group of the array, or in one above (CF 2.7).
            let mut group = array.path().parent();
            while let Some(above) = group {
                let place = above.join(&name).ok().filter(|place| by_path.contains_key(place));
                if let Some(place) = place {
                    if found.insert(place.clone()) {
                        waiting.push(place);
                    }
                    break;
                }
                group = above.parent();
            }
        }
    }
    found
}

/// The names of the variables that an array needs.
fn named(array: &Array) -> Vec<String> {
    let metadata = array.metadata();
    let mut names: Vec<String> =
        metadata.dimension_names.iter().flatten().flatten().cloned().collect();
    let referenced = zarr::tools::referenced_variables(&metadata.attributes);
    names.extend(referenced.into_iter().map(|(_, name)| name));
    names
}

/// What a part of an axis is selected by.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    Coordinates(Reach),
    Positions,
}

/// What of each array is copied, of those that have an axis that `text` names: `time=2023-01:2023-07,lat=40:60`, or by positions
/// `time=0:7,lat=-10:`.
pub(super) fn regions(
    session: &Session,
    (target, source): (&Target, &Node),
    arrays: &[Array],
    text: &str,
    by: By,
) -> Result<BTreeMap<NodePath, Vec<Steps>>, Failure> {
    let place = human::place(source.hierarchy(), source.path());
    let refuse = |why: String| Failure::Usage(format!("{place}: `{text}`: {why}"));
    let mut wanted: Vec<(&str, &str)> = Vec::new();
    for item in items(text).map_err(refuse)? {
        let Some((name, selected)) = item.split_once('=') else {
            return Err(refuse(format!(
                "expected {}, found `{item}`",
                match by {
                    By::Coordinates(_) => "name=coordinates, as in lat=40:60",
                    By::Positions => "name=positions, as in lat=0:10",
                }
            )));
        };
        let name = name.trim();
        if wanted.iter().any(|(other, _)| *other == name) {
            return Err(refuse(format!("duplicate dimension `{name}`")));
        }
        wanted.push((name, selected.trim()));
    }
    // The length of each dimension, and where it was found.
    let mut of_length: HashMap<&str, (NodePath, u64)> = HashMap::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    // The coordinates of a dimension are looked through once for all arrays that share them.
    let mut chosen: HashMap<(String, NodePath), Steps> = HashMap::new();
    let mut regions = BTreeMap::new();
    // What is wrong with an axis of one position, which can only be kept: if no array can be cut along it, that is the error.
    let mut kept_whole: Option<Failure> = None;
    if source.as_group().is_some() && Dataset::is_nczarr(source.hierarchy()) {
        return Err(refuse(
            "a dataset of NCZarr cannot be cut; first copy it to plain Zarr, as with `zarr copy SRC DST --to zarr-v3`, and cut that copy"
                .to_owned(),
        ));
    }
    let mut all_axes = Vec::with_capacity(arrays.len());
    let mut longest: HashMap<String, u64> = HashMap::new();
    for array in arrays {
        // An array that is the target itself has its coordinates in the groups above.
        let located = session.in_its_hierarchy(target, array, &session.options()?)?;
        let axes = axes_of(&located)?;
        for axis in &axes {
            let name = axis.name.clone().unwrap_or_default();
            let len = longest.entry(name).or_default();
            *len = axis.len.max(*len);
        }
        all_axes.push((located, axes));
    }
    for (array, (located, axes)) in arrays.iter().zip(all_axes) {
        known.extend(axes.iter().filter_map(|axis| axis.name.clone()));
        let mut region: Vec<Steps> =
            axes.iter().map(|axis| Steps { start: 0, step: 1, len: axis.len }).collect();
        let mut is_cut = false;
        for (n, axis) in axes.iter().enumerate() {
            let name = axis.name.as_deref().unwrap_or_default();
            let Some((name, selected)) = wanted.iter().find(|(wanted, _)| *wanted == name) else {
                continue;
            };
            // Labels of an image have a channel of their own.
            let reach = match by {
                By::Coordinates(reach) if axis.len == 1 && !axis.is_selectable() => {
                    let refused = select(session, &located, axis, selected, reach).err();
                    kept_whole = kept_whole.or(refused);
                    continue;
                }
                By::Coordinates(reach) => reach,
                // Kept whole, if it is longer elsewhere.
                By::Positions
                    if axis.len == 1 && longest.get(*name).is_some_and(|&len| len > 1) =>
                {
                    continue;
                }
                By::Positions => {
                    if let Some((first, len)) =
                        of_length.insert(name, (located.path().clone(), axis.len))
                        && len != axis.len
                    {
                        return Err(refuse(format!(
                            "`{name}` is {len} long in {first}, but {} in {}: the same positions are different parts; select by coordinates \
                             with --sel, or give each array its own --region",
                            axis.len,
                            located.path()
                        )));
                    }
                    seen.insert(name);
                    is_cut = true;
                    region[n] = positions(&located, axis, selected)?;
                    continue;
                }
            };
            seen.insert(name);
            is_cut = true;
            let whose = axis.array().map_or(located.path(), |array| array.path()).clone();
            let key = ((*name).to_owned(), whose);
            if !chosen.contains_key(&key) {
                let steps = select(session, &located, axis, selected, reach)?;
                chosen.insert(key.clone(), steps);
            }
            region[n] = chosen[&key];
        }
        if is_cut {
            regions.insert(array.path().clone(), region);
        }
    }
    if let Some((name, _)) = wanted.iter().find(|(name, _)| !seen.contains(name)) {
        if let Some(refused) = kept_whole {
            return Err(refused);
        }
        let near = zarr::did_you_mean(name, known.iter().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let known = if known.is_empty() {
            "the axes have no names; select with --region".to_owned()
        } else {
            format!("dimensions: {}", known.join(", "))
        };
        return Err(refuse(format!("no dimension `{name}`; {known}{near}")));
    }
    Ok(regions)
}

/// What positions select along one axis of an array.
fn positions(array: &Array, axis: &Axis, selected: &str) -> Result<Steps, Failure> {
    let refuse = |why: &str| {
        let name = axis.name.as_deref().unwrap_or_default();
        let place = human::place(array.hierarchy(), array.path());
        Failure::Usage(format!("{place}: `{name}={selected}`: {why}"))
    };
    let elements =
        Elements::of_region(Some(selected), &[axis.len]).map_err(|why| refuse(&why.to_string()))?;
    let steps = elements.steps().and_then(|steps| steps.first().copied());
    steps.ok_or_else(|| refuse("a copy takes one range of positions, as in 0:10, 4 or ::2"))
}

/// What is selected along one axis of an array. Says which coordinate is taken for one that is not there.
fn select(
    session: &Session,
    array: &Array,
    axis: &Axis,
    selected: &str,
    reach: Reach,
) -> Result<Steps, Failure> {
    let place = human::place(array.hierarchy(), array.path());
    let (along, taken) = axis.select(selected, reach).map_err(|e| match e.kind() {
        zarr::ErrorKind::Argument => Failure::Usage(format!("{}: {}", place, e.message())),
        _ => Failure::from(e),
    })?;
    let name = axis.name.as_deref().unwrap_or_default();
    if let Some(taken) = taken {
        let taken = Digits::Short.of_text(&taken);
        let what = format!("no coordinate equals {name}={selected}; using the nearest, {taken}");
        session.warn_about(array, &[what]);
    }
    match along {
        Along::Steps { start, step, len } => Ok(Steps { start, step, len }),
        Along::List(list) => {
            let advice = match two_selections(axis, &list)? {
                Some([one, other]) => format!(
                    "copy {one} and {other} to two places, and join them with `zarr append --axis {name} --allow-overlap`"
                ),
                None => "copy each part to a place of its own".to_owned(),
            };
            Err(Failure::Usage(format!(
                "{place}: `{name}={selected}` selects several parts of the axis, but a copy takes one; {advice}"
            )))
        }
    }
}
