//! Shows and changes a node's attributes.

use clap::Args;
use zarr::{Json, Object};

use super::Out;
use crate::failure::Failure;
use crate::human;
use crate::interrupt;
use crate::parse;
use crate::session::{Care, Session, Target};

/// Show or change the attributes of a node
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zarr attrs data.zarr/temperature
  zarr attrs data.zarr/temperature units
  zarr attrs data.zarr --path temperature --set units=kelvin --set 'valid_range=[0,400]'
  zarr attrs data.zarr --path temperature --delete units --json

A value is JSON; what is no JSON is text. Asked for one KEY, the exit code is 1 if there is none.
Changes are laid over what the attributes are by then, so that nobody's are lost. After a change only
--json prints the attributes.")]
pub(crate) struct Attrs {
    #[command(flatten)]
    target: Target,
    /// Show only this attribute
    #[arg(value_name = "KEY", conflicts_with_all = ["set", "delete"])]
    key: Option<String>,
    /// Set an attribute; may be given again
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse::member)]
    set: Vec<(String, Json)>,
    /// Delete an attribute; may be given again
    #[arg(long, value_name = "KEY")]
    delete: Vec<String>,
    #[command(flatten)]
    care: Care,
}

impl Attrs {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let changes = !self.set.is_empty() || !self.delete.is_empty();
        if changes {
            return self.change(session, out);
        }
        let node = session.open(&self.target)?;
        let attributes = node.attributes();
        session.warn(node.hierarchy());
        match &self.key {
            None => show(&attributes, session.is_json(), out),
            Some(key) => {
                let why = || {
                    Failure::No(format!(
                        "{}: no attribute `{key}`",
                        human::place(node.hierarchy(), node.path())
                    ))
                };
                show_value(attributes.get(key).ok_or_else(why)?, session.is_json(), out)
            }
        }
    }

    fn change(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        interrupt::leaves(
            session,
            "the attributes have all of the change or nothing of it, as `zarr attrs` says",
        );
        let node = session.open_rw(&self.target, &self.care)?;
        let there = node.attributes();
        if let Some(key) = self.delete.iter().find(|key| !there.contains(key)) {
            return Err(Failure::No(format!(
                "{}: no attribute `{key}` to delete",
                human::place(node.hierarchy(), node.path())
            )));
        }
        let after = node.update_attributes(|attributes| {
            for key in &self.delete {
                attributes.remove(key);
            }
            for (key, value) in &self.set {
                attributes.insert(key, value.clone());
            }
        })?;
        session.warn(node.hierarchy());
        if session.is_json() { show(&after, true, out) } else { Ok(()) }
    }
}

fn show(attributes: &Object, json: bool, out: Out<'_>) -> Result<(), Failure> {
    if json {
        let standard = Json::from(attributes.clone()).into_standard();
        return Ok(writeln!(out, "{standard:#}")?);
    }
    for (key, value) in attributes.iter() {
        write!(out, "{key}: ")?;
        show_value(value, json, out)?;
    }
    Ok(())
}

fn show_value(value: &Json, json: bool, out: Out<'_>) -> Result<(), Failure> {
    match value {
        Json::String(text) if !json => writeln!(out, "{text}")?,
        value if json => writeln!(out, "{}", value.clone().into_standard())?,
        value => writeln!(out, "{value}")?,
    }
    Ok(())
}
