//! `zarr TARGET`, without a command: what the target is, and what is in it.

use clap::Args;

use super::Out;
use super::info::Info;
use super::tree::Tree;
use crate::failure::Failure;
use crate::session::{Session, Target};

#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    target: Target,
}

impl Show {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        Info::new(&self.target).run(session, out)?;
        if session.open(&self.target)?.as_group().is_none() {
            return Ok(());
        }
        if !session.is_json() {
            writeln!(out)?;
        }
        Tree::new(&self.target).run(session, out)
    }
}
