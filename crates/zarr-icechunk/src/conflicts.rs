//! Finds what two committers changed both, so that a rebase loses nothing of either.

use icechunk::change_set::ChangeSet;
use icechunk::conflicts::detector::ConflictDetector;
use icechunk::conflicts::{Conflict, ConflictResolution, ConflictSolver};
use icechunk::format::transaction_log::TransactionLog;
use icechunk::format::{Path, SnapshotId};
use icechunk::session::{Session, SessionError, SessionErrorKind, SessionResult};
use zarr_core::store::async_trait;
use zarr_core::{Error, StoreError};

use crate::error::failed;
use crate::key::chunk_of;

/// Resolves no conflict: each ends the rebase.
///
/// Icechunk's own detector leaves out three cases in which the later commit would hide or orphan what the earlier one wrote, or be hidden
/// itself; they are conflicts here.
#[derive(Clone, Copy, Debug)]
pub struct RefuseConflicts;

#[async_trait]
impl ConflictSolver for RefuseConflicts {
    async fn solve(
        &self,
        earlier: &TransactionLog,
        earlier_session: &Session,
        changes: ChangeSet,
        base: &Session,
    ) -> SessionResult<ConflictResolution> {
        let more = more_conflicts(earlier, earlier_session, &changes, base).await?;
        let found = ConflictDetector.solve(earlier, earlier_session, changes, base).await?;
        Ok(match found {
            ConflictResolution::Patched(unmodified) if !more.is_empty() => {
                ConflictResolution::Unsolvable { reason: more, unmodified }
            }
            ConflictResolution::Unsolvable { mut reason, unmodified } => {
                reason.extend(more);
                ConflictResolution::Unsolvable { reason, unmodified }
            }
            patched => patched,
        })
    }
}

/// The node at a path, as far as there is one.
async fn node_at(
    session: &Session,
    path: &Path,
) -> SessionResult<Option<icechunk::format::snapshot::NodeSnapshot>> {
    match session.get_node(path).await {
        Ok(node) => Ok(Some(node)),
        Err(SessionError { kind: SessionErrorKind::NodeNotFound { .. }, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The conflicts that [`ConflictDetector`] does not find.
async fn more_conflicts(
    earlier: &TransactionLog,
    earlier_session: &Session,
    changes: &ChangeSet,
    base: &Session,
) -> SessionResult<Vec<Conflict>> {
    let mut conflicts = Vec::new();
    for (path, id) in changes.deleted_groups().chain(changes.deleted_arrays()) {
        // Both replaced the node. That of the earlier commit would stay, hidden behind ours.
        if let Some(node) = node_at(earlier_session, path).await?
            && node.id != *id
        {
            conflicts.push(Conflict::NewNodeConflictsWithExistingNode(path.clone()));
        }
    }
    for (path, id) in changes.deleted_groups() {
        // The earlier commit created a node in a group that we erase.
        for node in earlier_session.list_nodes(path).await? {
            let node = node?;
            let is_new = earlier.array_created(&node.id) || earlier.group_created(&node.id);
            if is_new && node.path != *path && node.path.starts_with(path) {
                let node_id = id.clone();
                conflicts.push(Conflict::DeleteOfUpdatedGroup { path: path.clone(), node_id });
                break;
            }
        }
    }
    for (path, _) in changes.new_nodes() {
        // The earlier commit erased the group in which we create a node.
        for group in path.ancestors().skip(1) {
            let is_ours = changes.get_group(&group).is_some();
            if let Some(node) = node_at(base, &group).await?
                && !is_ours
                && earlier.group_deleted(&node.id)
            {
                conflicts.push(Conflict::ZarrMetadataUpdateOfDeletedGroup(group));
            }
        }
    }
    Ok(conflicts)
}

/// What both did, in words.
fn what_both_did(conflict: &Conflict) -> String {
    match conflict {
        Conflict::ChunkDoubleUpdate { path, chunk_coordinates, .. } => {
            let count = chunk_coordinates.len();
            match chunk_coordinates.iter().min() {
                Some(first) => {
                    let first = chunk_of(path, first);
                    let others = count - 1;
                    let more =
                        if others > 0 { format!(" and {others} others") } else { String::new() };
                    format!("both wrote chunk `{first}`{more}")
                }
                None => format!("both wrote chunks of `{path}`"),
            }
        }
        Conflict::NewNodeConflictsWithExistingNode(path) => format!("both created `{path}`"),
        Conflict::NewNodeInInvalidGroup(path) => {
            format!("`{path}` is an array now, in which this session creates a node")
        }
        Conflict::ZarrMetadataDoubleUpdate(path) => format!("both changed `zarr.json` of `{path}`"),
        Conflict::ZarrMetadataUpdateOfDeletedArray(path)
        | Conflict::ZarrMetadataUpdateOfDeletedGroup(path)
        | Conflict::ChunksUpdatedInDeletedArray { path, .. } => {
            format!("`{path}`, in which this session writes, was erased")
        }
        Conflict::ChunksUpdatedInUpdatedArray { path, .. } => {
            format!("`zarr.json` of `{path}`, of which this session writes chunks, was changed")
        }
        Conflict::DeleteOfUpdatedArray { path, .. }
        | Conflict::DeleteOfUpdatedGroup { path, .. } => {
            format!("`{path}`, which this session erases, was written to")
        }
        Conflict::MoveOperationCannotBeRebased => "a node was moved".into(),
    }
}

/// How many conflicts a message names.
const MAX_NAMED_CONFLICTS: usize = 5;

/// The error of a commit.
pub fn commit_error(error: SessionError, branch: &str, attempts: Option<u16>) -> Error {
    match error.kind {
        SessionErrorKind::Conflict { expected_parent, actual_parent } => {
            lost_race(branch, expected_parent, actual_parent, attempts)
        }
        SessionErrorKind::RebaseFailed { snapshot, conflicts } => {
            let mut named: Vec<String> =
                conflicts.iter().take(MAX_NAMED_CONFLICTS).map(what_both_did).collect();
            if conflicts.len() > MAX_NAMED_CONFLICTS {
                named.push(format!("{} more", conflicts.len() - MAX_NAMED_CONFLICTS));
            }
            let what = format!(
                "cannot commit to branch `{branch}`: this session conflicts with commit {snapshot}: {}",
                named.join("; ")
            );
            Error::from(StoreError::Conflict(what)).with_hint(
                "nothing was committed; make the change again in a new session of the branch",
            )
        }
        SessionErrorKind::NoChangesToCommit => zarr_core::AccessError::Argument(format!(
            "nothing to commit to branch `{branch}`: the session has no changes"
        ))
        .into(),
        kind => failed(SessionError { kind, context: error.context }).into(),
    }
}

/// The error of a committer that was not the first.
fn lost_race(
    branch: &str,
    began: Option<SnapshotId>,
    is_at: Option<SnapshotId>,
    attempts: Option<u16>,
) -> Error {
    let id = |id: Option<SnapshotId>| id.map_or("an unknown commit".into(), |id| id.to_string());
    let what = format!(
        "cannot commit to branch `{branch}`: it is at {} since another commit, and this session began at {}",
        id(is_at),
        id(began)
    );
    let hint = match attempts {
        None => {
            "nothing was committed; `commit_with_rebase` commits the same session if its changes do not conflict with the other's, and \
             names the conflicts otherwise"
                .to_owned()
        }
        Some(attempts) => format!(
            "nothing was committed; others were faster in each of {attempts} attempts: commit again, or allow more"
        ),
    };
    Error::from(StoreError::Conflict(what)).with_hint(hint)
}
