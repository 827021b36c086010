//! Prints the first rows of an array, or of each array of a group.

use clap::Args;
use zarr::{Array, Json, Node, Object};

use super::{Out, get};
use crate::failure::Failure;
use crate::human;
use crate::parse;
use crate::region::Elements;
use crate::session::{Session, Target};

/// The most columns of a row.
const MAX_COLUMNS: u64 = 8;

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr head data.zarr
  zarr head data.zarr temperature --rows 3",
    after_long_help = crate::details("\
A row runs along the last axis and has at most 8 elements; rows follow each other along the axis before it. Along all other axes,
the first index is shown. Elements are decoded by the CF conventions, as in `zarr get --cf`, which prints all of them."))]
pub(crate) struct Head {
    #[command(flatten)]
    target: Target,
    /// The number of rows
    #[arg(long, short = 'n', value_name = "N", default_value = "5", allow_hyphen_values = true, value_parser = parse::whole::<u64>)]
    rows: u64,
}

impl Head {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let node = session.open(&self.target)?;
        let (arrays, broken) = match &node {
            Node::Array(array) => {
                let options = session.options()?;
                (vec![session.in_its_hierarchy(&self.target, array, &options)?], Vec::new())
            }
            Node::Group(group) => arrays_of(group)?,
        };
        if session.is_json() {
            let mut object = Object::new();
            for array in &arrays {
                let mut text = Vec::new();
                get::write(array, &first(array, self.rows), get::Format::Json, &mut text)?;
                let value = Json::parse(&text).map_err(|why| Failure::Usage(why.to_string()))?;
                object.insert(name_of(array), value);
            }
            writeln!(out, "{}", Json::from(object))?;
        } else {
            for (n, array) in arrays.iter().enumerate() {
                if n > 0 {
                    writeln!(out)?;
                }
                self.print(session, array, out)?;
            }
        }
        session.end(node.hierarchy().warnings(), broken.into_iter())
    }

    fn print(&self, session: &Session, array: &Array, out: Out<'_>) -> Result<(), Failure> {
        let metadata = array.metadata();
        let names = metadata.dimension_names.clone().unwrap_or_default();
        let axes: Vec<String> = metadata
            .shape
            .iter()
            .enumerate()
            .map(|(n, len)| match names.get(n) {
                Some(Some(name)) => format!("{}: {len}", human::printable(name)),
                _ => len.to_string(),
            })
            .collect();
        let name = human::printable(&name_of(array));
        writeln!(out, "{name}  {} ({})", metadata.data_type, axes.join(", "))?;
        get::write_table(session, array, &first(array, self.rows), out)
    }
}

fn name_of(array: &Array) -> String {
    array.path().name().unwrap_or("/").to_owned()
}

/// The arrays directly below a group, and why others could not be opened.
fn arrays_of(group: &zarr::Group) -> Result<(Vec<Array>, Vec<Failure>), Failure> {
    let (mut arrays, mut broken) = (Vec::new(), Vec::new());
    for child in group.children()? {
        if child.kind == Some(zarr::NodeKind::Array) {
            match group.hierarchy().array(&child.path) {
                Ok(array) => arrays.push(array),
                Err(e) => broken.push(e.into()),
            }
        }
    }
    Ok((arrays, broken))
}

/// The first rows and columns of an array.
fn first(array: &Array, rows: u64) -> Elements {
    let shape = array.shape();
    let rank = shape.len();
    let lengths: Vec<u64> = (0..rank)
        .map(|axis| {
            let most = match rank - axis {
                _ if rank == 1 => rows,
                1 => MAX_COLUMNS,
                2 => rows,
                _ => 1,
            };
            shape[axis].min(most)
        })
        .collect();
    Elements::all(&lengths)
}
