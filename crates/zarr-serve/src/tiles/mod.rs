//! Answers below `/tiles/`: tiles of maps, and the documents by which programs find them. docs/serving.md lists them.
//!
//! Paths are those of XYZ, TileJSON and OGC API - Tiles; parameters those of titiler and of xpublish.

mod documents;
mod known;
mod parameters;
mod path;
mod render;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use zarr::{Array, Error, Node};
use zarr_plot::map::{Layer, MapError, Tile};

pub(crate) use self::known::KnownLayers;
use self::path::Asked;
use crate::{Answer, Question, Served, Targets};

/// Why there is no answer.
enum Refusal {
    /// It cannot be asked so.
    Wrong(String),
    /// There is no such tile, or no such node.
    Absent(String),
    /// The array is no map that tiles are made of, or the tile takes too much.
    Unprocessable(String),
    /// What reading failed with.
    Failed(Box<Error>),
}

impl<E: Into<Error>> From<E> for Refusal {
    fn from(error: E) -> Refusal {
        Refusal::Failed(Box::new(error.into()))
    }
}

impl Refusal {
    fn wrong(why: impl Into<String>) -> Refusal {
        Refusal::Wrong(why.into())
    }

    fn of_map(error: MapError) -> Refusal {
        match error {
            MapError::Read(error) => error.into(),
            MapError::Refused(why) | MapError::TooLarge(why) => Refusal::Unprocessable(why),
        }
    }

    fn answer(&self) -> Answer {
        match self {
            Refusal::Wrong(why) => Answer::refusal(400, "argument", why),
            Refusal::Absent(why) => Answer::refusal(404, "not_found", why),
            Refusal::Unprocessable(why) => Answer::refusal(422, "unsupported", why),
            Refusal::Failed(error) => Answer::of_error(error),
        }
    }
}

/// What is asked for, and what it is of.
struct Request<'a> {
    question: &'a Question,
    targets: &'a Targets,
    served: Arc<Served>,
    /// The path of the node as it was asked for, `x.zarr/t2m`.
    node: &'a str,
    layer: Arc<Layer>,
    /// A position on each axis of the array.
    positions: Vec<u64>,
}

/// The answer to a question below `/tiles/`. It may block; see [`crate::api::answer`].
pub(crate) fn answer(question: &Question, targets: &Targets) -> Answer {
    answered(question, targets).unwrap_or_else(|refusal| refusal.answer())
}

fn answered(question: &Question, targets: &Targets) -> Result<Answer, Refusal> {
    let (node, asked) = path::parse(&question.path).map_err(Refusal::Absent)?;
    match asked {
        Asked::Conformance => return Ok(documents::conformance()),
        Asked::Sets => return Ok(documents::sets(&at(question, node))),
        Asked::Set(set) => return Ok(documents::set(set)),
        _ => {}
    }
    let (served, path, array) = array(question, targets, node)?;
    let layer =
        targets.layers.layer(&path, || Layer::open(prepared(question, targets, &served, &array)));
    let layer = layer.map_err(Refusal::of_map)?;
    let positions = parameters::positions(question, &layer)?;
    let request = Request { question, targets, served, node, layer, positions };
    match asked {
        Asked::Tile { set, zoom, column, row } => {
            let Some(tile) = Tile::new(set, zoom, column, row) else {
                let why = format!("{} has no tile {zoom}/{row}/{column}", set.id());
                return Err(Refusal::Absent(why));
            };
            render::tile(&request, tile)
        }
        Asked::Legend => render::legend(&request),
        Asked::TileJson => documents::tilejson(&request),
        Asked::Tileset(set) => documents::tileset(&request, set),
        _ => documents::landing(&request),
    }
}

/// The URL of a node below `/tiles/`, without a `/` at its end.
fn at(question: &Question, node: &str) -> String {
    let path: Vec<String> = node.split('/').map(crate::encoded).collect();
    format!("{}tiles/{}", question.base, path.join("/"))
}

/// The array that a path names, or a parameter `variable` in the group that it names; and its hierarchy and its own path.
fn array(
    question: &Question,
    targets: &Targets,
    path: &str,
) -> Result<(Arc<Served>, String, Array), Refusal> {
    let found = targets.find(path)?.ok_or_else(|| {
        Refusal::Absent(format!("nothing is at `{path}`; /-/targets lists what is served"))
    })?;
    let (served, inside) = found;
    let variable = ["variable", "variables"].into_iter().find_map(|name| question.get(name));
    let node = served.node(format!("/{inside}"))?;
    let array = match (node, variable) {
        (Node::Array(array), _) => array,
        (Node::Group(group), Some(name)) => {
            let place = group.path().join(name.trim_matches('/'))?;
            served.node(place.as_str())?.into_array()?
        }
        (Node::Group(group), None) => {
            let children = group.children().unwrap_or_default();
            let names: Vec<&str> =
                children.iter().filter_map(|it| it.path.name()).take(20).collect();
            let why = format!(
                "`{path}` is a group; name one of its arrays by `variable=`: {}",
                names.join(", ")
            );
            return Err(Refusal::Wrong(why));
        }
    };
    let own = format!("{}{}", served.name(), array.path());
    Ok((served, own, array))
}

/// An array whose reads end when the question is cancelled, and whose decoded chunks are kept for the next answers.
fn prepared(question: &Question, targets: &Targets, served: &Arc<Served>, array: &Array) -> Array {
    let kept = targets.warm.array(served, array);
    kept.with_options(|options| options.cancel = Some(question.cancel.clone()))
}
