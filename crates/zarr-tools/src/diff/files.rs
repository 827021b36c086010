//! Compares the files among the nodes of two trees that are not Zarr's, and what no reader finds.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use zarr_core::{Node, Result};

use super::{Change, DiffOptions};
use crate::other_files::{self, OtherFile, OtherFiles, Wanted, key_in};
use crate::transfer::{are_equal, is_stored};
use crate::tree_progress::relative;

/// Of an array that may have more chunks, only the upper folder is looked through for files.
const MAX_CHUNKS: u64 = 1 << 20;

/// The differences, by the names in the path of the node in whose folder the file is. None, if one of the stores cannot list.
pub(super) fn compare(
    tops: [&Node; 2],
    nodes: &[Vec<Node>; 2],
    options: &DiffOptions<'_>,
) -> Result<BTreeMap<Vec<String>, Vec<Change>>> {
    let (first, second) = (find(tops[0], &nodes[0])?, find(tops[1], &nodes[1])?);
    let mut changes: BTreeMap<Vec<String>, Vec<Change>> = BTreeMap::new();
    if first.is_unknown || second.is_unknown {
        return Ok(changes);
    }
    let [a, b] = [&first, &second].map(|found| {
        found.files.iter().map(|file| (&*file.name, file)).collect::<BTreeMap<_, _>>()
    });
    let stores = tops.map(|top| top.hierarchy().store().to_sync());
    let names: BTreeSet<&str> = a.keys().chain(b.keys()).copied().collect();
    for name in names {
        let (mut one, mut other) = (a.get(name).copied(), b.get(name).copied());
        let place = match (one, other) {
            (Some(file), _) => place(tops[0], file),
            (_, Some(file)) => place(tops[1], file),
            (None, None) => continue,
        };
        let (hidden_in_a, hidden_in_b);
        if first.is_partial && one.is_none() {
            hidden_in_a = hidden_file(tops[0], other)?;
            one = hidden_in_a.as_ref();
        }
        if second.is_partial && other.is_none() {
            hidden_in_b = hidden_file(tops[1], one)?;
            other = hidden_in_b.as_ref();
        }
        if let (Some(one), Some(other)) = (one, other)
            && (options.only_metadata
                || are_equal((&*stores[0], &one.key), (&*stores[1], &other.key))?)
        {
            continue;
        }
        changes.entry(place).or_default().push(Change::File {
            name: name.to_owned(),
            in_first: one.is_some(),
            in_second: other.is_some(),
        });
    }
    let [a, b] = [first, second].map(unread);
    for (these, others, in_first) in [(&a, &b, true), (&b, &a, false)] {
        for what in these.difference(others) {
            let change = Change::Unread { what: what.clone(), in_first };
            changes.entry(Vec::new()).or_default().push(change);
        }
    }
    Ok(changes)
}

/// Finds the files below a node that are of none of its nodes.
fn find(top: &Node, nodes: &[Node]) -> Result<other_files::OtherFiles> {
    let wanted: HashSet<_> = nodes.iter().map(|node| node.path().clone()).collect();
    other_files::find(&Wanted {
        base: top,
        known: nodes,
        broken: &[],
        nodes: &wanted,
        max_chunks: MAX_CHUNKS,
    })
}

/// A file that an index does not name, though it is there: it has the name of one in the other tree.
fn hidden_file(top: &Node, known: Option<&OtherFile>) -> Result<Option<OtherFile>> {
    let Some(known) = known else { return Ok(None) };
    let hierarchy = top.hierarchy();
    let Ok(key) = key_in(&**hierarchy.format(), top.path(), &known.name) else { return Ok(None) };
    if !is_stored(&*hierarchy.store().to_sync(), &key)? {
        return Ok(None);
    }
    Ok(Some(OtherFile { key, ..known.clone() }))
}

/// The names in the path of the node in whose folder a file is, from the node that is compared.
fn place(top: &Node, file: &OtherFile) -> Vec<String> {
    let path = relative(top.path(), &file.owner);
    path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn unread(found: OtherFiles) -> BTreeSet<String> {
    let hidden = found.hidden.into_iter().map(|(path, why)| format!("{path}: {why}"));
    hidden.chain(found.lost).collect()
}
