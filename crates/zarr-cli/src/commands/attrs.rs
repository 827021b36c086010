//! Shows and changes a node's attributes.

use clap::Args;
use zarr::{Json, Node, Object};

use super::Out;
use crate::digits::Digits;
use crate::failure::Failure;
use crate::human;
use crate::interrupt;
use crate::parse;
use crate::session::{Session, Target, WriteOptions};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr attrs data.zarr/temperature
  zarr attrs data.zarr temperature units
  zarr attrs data.zarr --path temperature --set units=kelvin \\
      --set 'valid_range=[0,400]'
  zarr attrs data.zarr --path temperature --delete units --json",
    after_long_help = crate::details("\
A value is JSON, otherwise a string. With KEY, the exit code is 1 if the attribute does not exist.
Numbers on a terminal have at most 8 significant digits; in a pipe and with --json they are as stored.
Changes apply to the latest attributes, so that concurrent changes are not lost. After a change only
--json prints the attributes."))]
pub(crate) struct Attrs {
    /// Path or URL of a hierarchy, or of a node inside
    #[arg(value_name = "TARGET")]
    target: String,
    /// Path of the node, relative to the one that TARGET names; if no KEY follows, it may be the KEY
    #[arg(value_name = "PATH")]
    first: Option<String>,
    /// Show only this attribute
    #[arg(value_name = "KEY", conflicts_with_all = ["path", "set", "delete"])]
    second: Option<String>,
    /// The same as PATH; then what follows TARGET is the KEY
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Set an attribute; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse::member)]
    set: Vec<(String, Json)>,
    /// Delete an attribute; can be repeated
    #[arg(long, value_name = "KEY", alias = "unset", alias = "remove")]
    delete: Vec<String>,
    #[command(flatten)]
    care: WriteOptions,
}

/// That a node has no attribute of this name, and which one may be meant.
fn no_attribute(attributes: &Object, key: &str) -> String {
    let near = zarr::did_you_mean(key, attributes.iter().map(|(name, _)| name));
    let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    format!("no attribute `{key}`{near}")
}

impl Attrs {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let changes = !self.set.is_empty() || !self.delete.is_empty();
        if changes {
            return self.change(session, out);
        }
        let (node, key) = self.node_and_key(session)?;
        let attributes = node.attributes();
        session.warn(node.hierarchy());
        match key {
            None => show(&attributes, session.is_json(), out),
            Some(key) => {
                let value = attributes.get(key).ok_or_else(|| {
                    let place = human::place(node.hierarchy(), node.path());
                    Failure::NoSuch(format!("{place}: {}", no_attribute(&attributes, key)))
                })?;
                show_value(value, session.is_json(), out)
            }
        }
    }

    /// The node whose attributes are shown, and which of them. A single word behind TARGET is a key if the node there has it, or
    /// if there is no such node below.
    fn node_and_key(&self, session: &Session) -> Result<(Node, Option<&str>), Failure> {
        let words = [self.first.as_deref(), self.second.as_deref()];
        if let Some(text) = words.into_iter().flatten().find(|word| word.contains('=')) {
            return Err(Failure::Usage(format!("to set an attribute, give `--set {text}`")));
        }
        let open = |path: &str| session.open(&Target::new(&self.target, path));
        match (&self.path, words) {
            (Some(path), [key, _]) => Ok((open(path)?, key)),
            (None, [Some(path), Some(key)]) => Ok((open(path)?, Some(key))),
            (None, [Some(word), None]) => {
                let node = open("/")?;
                if !node.attributes().contains(word)
                    && let Ok(below) = open(word)
                {
                    return Ok((below, None));
                }
                Ok((node, Some(word)))
            }
            (None, _) => Ok((open("/")?, None)),
        }
    }

    fn change(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        interrupt::leaves(
            session,
            "either all of the change was made or none of it; `zarr attrs` shows which",
        );
        if let (Some(_), Some(key)) = (&self.path, &self.first) {
            let why = format!("unexpected `{key}`: --set and --delete take no KEY");
            return Err(Failure::Usage(why));
        }
        let path = self.path.as_ref().or(self.first.as_ref()).map_or("/", String::as_str);
        let node = session.open_rw(&Target::new(&self.target, path), &self.care)?;
        let there = node.attributes();
        if let Some(key) = self.delete.iter().find(|key| !there.contains(key)) {
            return Err(Failure::NoSuch(format!(
                "{}: {}",
                human::place(node.hierarchy(), node.path()),
                no_attribute(&there, key)
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
        value => writeln!(out, "{}", Digits::of_output().of_json(value))?,
    }
    Ok(())
}
