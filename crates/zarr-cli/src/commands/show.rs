//! `zarr TARGET`, without a command: what the target is, and what is in it.

use clap::Args;
use zarr::{Json, Object};

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
        let is_group = session.open(&self.target)?.as_group().is_some();
        if session.is_json() && is_group {
            return self.run_json(session, out);
        }
        Info::new(&self.target).run(session, out)?;
        if !is_group {
            return Ok(());
        }
        writeln!(out)?;
        Tree::new(&self.target).run(session, out)
    }

    /// What is told of a group and of what is in it, as one object.
    fn run_json(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let (mut info, mut tree) = (Vec::new(), Vec::new());
        Info::new(&self.target).run(session, &mut info)?;
        // A broken node fails it after it is drawn.
        let ended = Tree::new(&self.target).run(session, &mut tree);
        let mut members = Object::new();
        for text in [info, tree] {
            if let Ok(Json::Object(object)) = Json::parse(&text) {
                for (name, value) in object {
                    members.insert(name, value);
                }
            }
        }
        writeln!(out, "{:#}", Json::from(members))?;
        ended
    }
}
