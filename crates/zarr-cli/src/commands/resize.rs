//! Gives an array another shape.

use clap::Args;
use zarr::Array;

use crate::failure::Failure;
use crate::human;
use crate::interrupt;
use crate::parse::{self, Shape};
use crate::session::{Care, Session, Target};

/// Give an array another shape
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zarr resize data.zarr --path temperature --shape 40,30
  zarr resize data.zarr/temperature --shape 20,10

Chunks stay where they are. What is added reads as the fill value; what is cut off is erased, inside chunks at the edge, too.
Another program that appends at the same time loses nothing: the command is an error if the shape has changed since it
looked.")]
pub(crate) struct Resize {
    #[command(flatten)]
    target: Target,
    /// The new length of each axis, as in 100,200
    #[arg(long, value_name = "N,N,…", value_parser = parse::shape)]
    shape: Shape,
    #[command(flatten)]
    care: Care,
}

impl Resize {
    pub fn run(&self, session: &Session) -> Result<(), Failure> {
        session.show_calls();
        let array = session.open_rw(&self.target, &self.care)?.into_array()?;
        let left = "the array has its old shape or the new one, as `zarr info` says; of a smaller one, chunks that are cut off \
                    may be left, which no reader sees; the array can be resized again";
        interrupt::leaves(session, left);
        let Shape(shape) = &self.shape;
        let old = array.shape();
        let place = human::place(array.hierarchy(), array.path());
        if shape.len() != old.len() {
            let new = human::plural(shape.len() as u64, "length");
            let axes = if old.len() == 1 { "axis" } else { "axes" };
            let why = format!("--shape has {new}, the array has {} {axes}", old.len());
            return Err(Failure::Usage(format!("{place}: {why}")));
        }
        change(&array, &old, shape)?;
        session.warn(array.hierarchy());
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
            "another program has given the array the shape {now}; look again, then repeat the command"
        )))
    })?;
    Ok(())
}
