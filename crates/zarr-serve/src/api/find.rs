//! Finds nodes by a part of their names.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};

use zarr::sync::lock;
use zarr::{CancelToken, Json, NodeKind, NodePath, Object};

use super::{Answered, Refusal};
use crate::{Answer, Question, Served, Targets};

/// The most nodes in an answer.
const MOST_FOUND: usize = 200;
/// The most nodes of a hierarchy that are looked at, and the most bytes of their paths.
const MOST_NODES: usize = 50_000;
const MOST_BYTES: usize = 8 << 20;
/// Of how many hierarchies the nodes are remembered, and about how many bytes of them.
const MOST_HIERARCHIES: usize = 1_000;
const MOST_KEPT: usize = 32 << 20;
/// Bytes that a node takes besides its path.
const PER_NODE: usize = 64;
/// How long an answer looks at nodes.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a whole list of nodes is used at least, and how many times as long as it took to make it.
const FRESH: Duration = Duration::from_secs(1);
const FRESHNESS_FACTOR: u32 = 10;
/// How often what waits for another answer's list looks whether its client is still there.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The nodes of hierarchies, by their names, as far as they were listed.
#[derive(Debug, Default)]
pub(crate) struct KnownNodes(Mutex<HashMap<String, Arc<Mutex<Nodes>>>>);

impl KnownNodes {
    fn of(&self, name: &str) -> Arc<Mutex<Nodes>> {
        let mut all = lock(&self.0);
        if !all.contains_key(name) {
            // What an answer is adding to counts for the next one.
            let sizes = all.values().map(|nodes| nodes.try_lock().map_or(0, |nodes| nodes.size()));
            let is_too_large = sizes.sum::<usize>() > MOST_KEPT;
            if all.len() >= MOST_HIERARCHIES || is_too_large {
                all.clear();
            }
        }
        all.entry(name.to_owned()).or_default().clone()
    }
}

/// The nodes of a hierarchy. An answer that is cut short leaves the rest to the next one.
#[derive(Debug, Default)]
struct Nodes {
    listed: Vec<(NodePath, NodeKind)>,
    bytes: usize,
    /// Groups whose children are not in the list yet.
    waiting: VecDeque<NodePath>,
    /// When the last of it was read, and how long all took.
    read: Option<Instant>,
    took: Duration,
    /// Whether something could not be listed, or was too much.
    is_partial: bool,
}

impl Nodes {
    fn size(&self) -> usize {
        self.bytes + self.listed.len() * PER_NODE
    }

    fn is_stale(&self) -> bool {
        let lasts = FRESH.max(self.took * FRESHNESS_FACTOR);
        self.read.is_none_or(|read| read.elapsed() > lasts)
    }

    /// Lists what is missing, until the end, `until`, or `cancel`.
    fn fill(
        &mut self,
        served: &Served,
        until: Instant,
        cancel: &CancelToken,
    ) -> Result<(), Refusal> {
        if self.is_stale() {
            *self = Nodes { waiting: [NodePath::root()].into(), ..Nodes::default() };
        }
        let (began, hierarchy) = (Instant::now(), served.hierarchy()?);
        self.read = Some(began);
        while !cancel.is_cancelled() && Instant::now() < until {
            let Some(path) = self.waiting.pop_front() else { break };
            let Ok((children, unreadable)) = hierarchy.children_and_unreadable(&path) else {
                // What cannot be listed or is broken is not looked into.
                self.is_partial = true;
                continue;
            };
            self.is_partial |= !unreadable.is_empty();
            let mut kinds = Vec::new();
            for child in children.iter().take(MOST_NODES - self.listed.len()) {
                let kind = child.kind.unwrap_or_else(|| {
                    hierarchy.node(&child.path).map_or(NodeKind::Group, |node| node.kind())
                });
                kinds.push(kind);
                if cancel.is_cancelled() {
                    // The next answer begins with this group.
                    self.waiting.push_front(path);
                    return Ok(());
                }
            }
            self.is_partial |= kinds.len() < children.len();
            for (child, kind) in children.into_iter().zip(kinds) {
                // An array has no children.
                if kind == NodeKind::Group {
                    self.waiting.push_back(child.path.clone());
                }
                self.bytes += child.path.as_str().len();
                self.listed.push((child.path, kind));
            }
            if self.listed.len() >= MOST_NODES || self.bytes >= MOST_BYTES {
                self.is_partial |= !self.waiting.is_empty();
                self.waiting.clear();
            }
        }
        self.took += began.elapsed();
        self.read = Some(Instant::now());
        Ok(())
    }
}

/// `{"nodes": [{"path", "kind"}], "complete"}`: nodes of all hierarchies whose names have a text in them, in any case of letters.
///
/// Parameter: `text`.
pub(crate) fn find(question: &Question, targets: &Targets) -> Answered {
    let text = question.get("text").unwrap_or_default().trim().to_lowercase();
    if text.is_empty() {
        return Err(Refusal::wrong("the parameter `text` is missing"));
    }
    let until = Instant::now() + SEARCH_TIMEOUT;
    let (mut found, mut complete) = (Vec::new(), true);
    'all: for served in targets.list()? {
        let place = targets.nodes.of(served.name());
        let Some(mut nodes) = turn(&place, until, &question.cancel) else {
            complete = false;
            break;
        };
        nodes.fill(&served, until, &question.cancel)?;
        complete &= nodes.waiting.is_empty() && !nodes.is_partial;
        for (path, kind) in &nodes.listed {
            if !path.name().unwrap_or_default().to_lowercase().contains(&text) {
                continue;
            }
            if found.len() >= MOST_FOUND {
                complete = false;
                break 'all;
            }
            let path = format!("{}{path}", served.name());
            found.push(Json::from(Object::new().with("path", path).with("kind", kind.name())));
        }
    }
    Ok(Answer::json(Object::new().with("nodes", found).with("complete", complete)))
}

/// The list, once no other answer adds to it; nothing if that takes too long, or the client has gone.
fn turn<'n>(
    place: &'n Mutex<Nodes>,
    until: Instant,
    cancel: &CancelToken,
) -> Option<std::sync::MutexGuard<'n, Nodes>> {
    loop {
        match place.try_lock() {
            Ok(nodes) => return Some(nodes),
            Err(TryLockError::Poisoned(nodes)) => return Some(nodes.into_inner()),
            Err(TryLockError::WouldBlock) => {}
        }
        if cancel.is_cancelled() || Instant::now() >= until {
            return None;
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
}
