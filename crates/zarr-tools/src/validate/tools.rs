//! Finds the folders of tools: journals of copies and lists of runs under way, and what repairs put aside.

use std::collections::BTreeMap;

use zarr_core::format::{CopyHead, is_tool_key};
use zarr_core::store::{GetOptions, StoreKey, StorePrefix};
use zarr_core::{Json, NodePath};

use super::inventory::Inventory;
use super::problem::{Problem, ProblemKind};
use super::{Context, Sink};
use crate::pyramid::{PLAN, PYRAMID};

/// The folder of journals, that of what was put aside, and that of the lists of `zarrkit.dask.store`.
const COPY: &str = ".zarr-copy";
const QUARANTINE: &str = ".zarr-quarantine";
const RUN: &str = ".zarrkit-run";

/// What tools keep in the store.
#[derive(Debug, Default)]
pub(super) struct Tools {
    /// Where copies under way lead.
    targets: Vec<NodePath>,
    /// The prefixes of their chunks.
    prefixes: Vec<StorePrefix>,
    is_any: bool,
}

impl Tools {
    pub fn is_empty(&self) -> bool {
        !self.is_any
    }

    /// Whether a copy is under way to a node, or above or below it.
    pub fn is_target(&self, path: &NodePath) -> bool {
        self.targets.iter().any(|target| path.is_within(target) || target.is_within(path))
    }

    /// Whether a copy under way may have written a key.
    pub fn is_copied(&self, key: &StoreKey) -> bool {
        self.prefixes.iter().any(|prefix| prefix.strip(key).is_some())
    }
}

/// Takes the keys of tools out of the inventory, and reports copies under way and what was put aside.
pub(super) fn take(context: &Context<'_>, inventory: &mut Inventory, sink: &mut Sink<'_>) -> Tools {
    let mut tools = Tools::default();
    // How many parts of each journal are done.
    let mut journals: BTreeMap<String, u64> = BTreeMap::new();
    let mut aside: BTreeMap<String, u64> = BTreeMap::new();
    let mut runs: BTreeMap<String, u64> = BTreeMap::new();
    inventory.keys.retain(|key| {
        if !is_tool_key(key) {
            return true;
        }
        tools.is_any = true;
        let names: Vec<&str> = key.as_str().split('/').collect();
        let at = names.iter().position(|name| [COPY, QUARANTINE, RUN].contains(name)).unwrap_or(0);
        let folder = names[..=at].join("/");
        if names[at] == QUARANTINE {
            let is_record = names.get(at + 1).is_some_and(|name| *name == ".records");
            *aside.entry(folder).or_default() += u64::from(!is_record);
        } else if names[at] == RUN {
            *runs.entry(folder).or_default() += 1;
        } else if let Some(id) = names.get(at + 1) {
            let is_done = names.get(at + 2).is_some_and(|name| *name == "done");
            *journals.entry(format!("{folder}/{id}")).or_default() += u64::from(is_done);
        }
        false
    });
    for (folder, count) in aside {
        let values = if count == 1 { "value" } else { "values" };
        let what = format!("holds {count} {values} that `zarr repair` moved here");
        sink.add(Problem::new(&context.path, ProblemKind::Quarantined, what).at(folder));
    }
    for (folder, done) in runs {
        let what =
            format!("an unfinished run that writes to this array: {done} of its parts are done");
        let path = run_target(context, &folder);
        sink.add(Problem::new(&path, ProblemKind::RunUnderWay, what).at(folder));
    }
    for (journal, done) in journals {
        if journal.rsplit('/').next().is_some_and(|id| id.starts_with(PYRAMID)) {
            let image = pyramid_image(context, &journal).unwrap_or_else(NodePath::root);
            let what =
                "an unfinished pyramid: levels are still being added to this image".to_owned();
            let advice =
                "continue with `zarr pyramid ... --resume`, or start over with `--restart`";
            let problem = Problem::new(&image, ProblemKind::CopyUnderWay, what).advise(advice);
            sink.add(problem.at(format!("{journal}/{PLAN}")));
            tools.prefixes.extend(context.format.children_prefix(&image));
            continue;
        }
        let plan = plan(context, &journal);
        let above = journal.rsplit_once(COPY).map_or("", |(above, _)| above.trim_matches('/'));
        let target = plan.as_ref().map_or_else(NodePath::root, |plan| plan.at.clone());
        let base = NodePath::new(above).unwrap_or_else(|_| NodePath::root());
        let target = base.join(target.as_str().trim_matches('/')).unwrap_or(base);
        let what = match plan.map(|plan| plan.parts) {
            None => "the journal of a copy that cannot be read".to_owned(),
            Some(0) => "an unfinished copy to here".to_owned(),
            Some(parts) => {
                format!("an unfinished copy to here: {done} of {parts} parts are done")
            }
        };
        let problem = Problem::new(&target, ProblemKind::CopyUnderWay, what);
        sink.add(problem.at(format!("{journal}/plan.json")));
        let format = &*context.format;
        let prefixes = [format.chunk_prefix(&target), format.children_prefix(&target)];
        tools.prefixes.extend(prefixes.into_iter().flatten());
        tools.targets.push(target);
    }
    tools
}

/// The array to which a run writes, whose list is in this folder beside the chunks.
fn run_target(context: &Context<'_>, folder: &str) -> NodePath {
    let root = NodePath::root();
    let prefix = context.format.chunk_prefix(&root).unwrap_or_else(|_| StorePrefix::root());
    let below = folder.strip_prefix(prefix.as_str()).unwrap_or(folder);
    let above = below.strip_suffix(RUN).unwrap_or(below);
    NodePath::new(above.trim_matches('/')).unwrap_or(root)
}

/// The image that a pyramid under way adds levels to.
fn pyramid_image(context: &Context<'_>, journal: &str) -> Option<NodePath> {
    let limit = context.open.options.limits.document;
    let key = StoreKey::new(format!("{journal}/{PLAN}")).ok()?;
    let bytes = context.store.get(&key, GetOptions::at_most(limit)).ok()??.bytes?;
    NodePath::new(Json::parse(&bytes).ok()?.get("path")?.as_str()?).ok()
}

/// The plan of a copy, as its journal has it.
fn plan(context: &Context<'_>, journal: &str) -> Option<CopyHead> {
    let key = StoreKey::new(format!("{journal}/plan.json")).ok()?;
    let limit = context.open.options.limits.document;
    let got = context.store.get(&key, GetOptions::at_most(limit)).ok()??;
    CopyHead::parse(&got.bytes?)
}
