//! Says what a repair does, and how each step of it ended.

use zarr_core::{CancelToken, Json, NodePath, Object};

use crate::validate::{Level, Problem, ProblemKind, ValidateProgress};

/// What a repair does about a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RepairAction {
    /// Puts the document of consolidated metadata in the place of one that is lost or broken; creates that of a group that has none.
    RestoreDocument,
    /// Writes a document right that breaks its specification, and that describes the same node then.
    CorrectDocument,
    /// Writes a chunk without the zeros that follow what its codec wrote.
    Rewrite,
    /// Writes a shard anew, of the inner chunks that are sound.
    MendShard,
    /// Moves a value to `.zarr-quarantine`.
    Quarantine,
    /// Makes consolidated metadata anew.
    Consolidate,
    /// Lets the store remove what writers left.
    RemoveLeftover,
    /// Nothing: a person has to decide.
    ByHand,
}

impl RepairAction {
    /// Its name for programs: `mend_shard`.
    pub fn name(self) -> &'static str {
        match self {
            RepairAction::RestoreDocument => "restore_document",
            RepairAction::CorrectDocument => "correct_document",
            RepairAction::Rewrite => "rewrite",
            RepairAction::MendShard => "mend_shard",
            RepairAction::Quarantine => "quarantine",
            RepairAction::Consolidate => "consolidate",
            RepairAction::RemoveLeftover => "remove_leftover",
            RepairAction::ByHand => "by_hand",
        }
    }
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StepState {
    /// It would be made with [`RepairOptions::apply`].
    Planned,
    /// It was made.
    Done,
    /// Another program mended or changed the value first; nothing was changed.
    Overtaken,
    /// It could not be made; nothing was lost.
    Failed,
    /// It has to be made by hand.
    ByHand,
}

impl StepState {
    /// Its name for programs: `done`.
    pub fn name(self) -> &'static str {
        match self {
            StepState::Planned => "planned",
            StepState::Done => "done",
            StepState::Overtaken => "overtaken",
            StepState::Failed => "failed",
            StepState::ByHand => "by_hand",
        }
    }
}

/// One step of a repair.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RepairStep {
    /// The node, or the group below which the key is.
    pub path: NodePath,
    /// The key of which something is wrong, if it is one key.
    pub key: Option<String>,
    /// What is wrong.
    pub problem: ProblemKind,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What is done about it.
    pub action: RepairAction,
    /// What is or was done about it, in a sentence.
    pub what: String,
    /// How it ended.
    pub state: StepState,
}

impl RepairStep {
    pub(super) fn of(problem: &Problem, action: RepairAction, what: impl Into<String>) -> Self {
        let state = match action {
            RepairAction::ByHand => StepState::ByHand,
            _ => StepState::Planned,
        };
        RepairStep {
            path: problem.path.clone(),
            key: problem.key.clone(),
            problem: problem.kind,
            message: problem.message.clone(),
            action,
            what: what.into(),
            state,
        }
    }

    pub(super) fn ended(mut self, state: StepState, what: impl Into<String>) -> Self {
        (self.state, self.what) = (state, what.into());
        self
    }

    /// The step as an object: `path`, `key` (null, if it has none), `problem`, `message`, `action`, `what`, `state`.
    pub fn to_json(&self) -> Json {
        let key = self.key.as_deref().map_or(Json::Null, Json::from);
        let object = Object::new()
            .with("path", self.path.as_str())
            .with("key", key)
            .with("problem", self.problem.name())
            .with("message", self.message.as_str())
            .with("action", self.action.name())
            .with("what", self.what.as_str())
            .with("state", self.state.name());
        Json::from(object)
    }
}

/// How to repair.
#[derive(Clone)]
#[non_exhaustive]
pub struct RepairOptions<'a> {
    /// How deep to look for damage.
    pub level: Level,
    /// Whether the steps are made; else they are only planned.
    pub apply: bool,
    /// Whether chunks and attributes without a node are moved away, too. They may be all that is left of a node that lost its document.
    pub orphans: bool,
    /// Problems that are passed over.
    pub skip: Vec<ProblemKind>,
    /// Called from time to time while damage is looked for.
    pub progress: Option<&'a (dyn Fn(&ValidateProgress) + Sync)>,
    /// Cancels the call between two steps.
    pub cancel: Option<CancelToken>,
}

impl Default for RepairOptions<'_> {
    fn default() -> Self {
        let (apply, orphans) = (false, false);
        let (skip, progress, cancel) = (Vec::new(), None, None);
        RepairOptions { level: Level::Data, apply, orphans, skip, progress, cancel }
    }
}

impl<'a> RepairOptions<'a> {
    /// A plan for all damage that can be found.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks as deep as this.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// Makes the steps.
    #[must_use]
    pub fn apply(mut self, apply: bool) -> Self {
        self.apply = apply;
        self
    }

    /// Moves chunks and attributes without a node away, too.
    #[must_use]
    pub fn orphans(mut self, orphans: bool) -> Self {
        self.orphans = orphans;
        self
    }

    /// Passes over problems of these kinds.
    #[must_use]
    pub fn skip(mut self, kinds: impl IntoIterator<Item = ProblemKind>) -> Self {
        self.skip.extend(kinds);
        self
    }

    /// Calls this from time to time while damage is looked for.
    #[must_use]
    pub fn progress(mut self, progress: &'a (dyn Fn(&ValidateProgress) + Sync)) -> Self {
        self.progress = Some(progress);
        self
    }
}

/// How many steps there were, and how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairReport {
    /// Steps in all.
    pub steps: u64,
    /// Steps that were made.
    pub done: u64,
    /// Steps that another program made unnecessary.
    pub overtaken: u64,
    /// Steps that are planned, failed, or have to be made by hand.
    pub left: u64,
    /// Problems that a last look at documents and keys found, after steps were made; they may be new: chunks whose document was moved away.
    pub found_after: u64,
}

impl RepairReport {
    pub(super) fn count(&mut self, step: &RepairStep) {
        self.steps += 1;
        match step.state {
            StepState::Done => self.done += 1,
            StepState::Overtaken => self.overtaken += 1,
            _ => self.left += 1,
        }
    }

    /// Whether nothing is left to do.
    pub fn is_sound(&self) -> bool {
        self.left == 0 && self.found_after == 0
    }

    /// The counts as an object.
    pub fn to_json(&self) -> Json {
        let object = Object::new()
            .with("steps", self.steps)
            .with("done", self.done)
            .with("overtaken", self.overtaken)
            .with("left", self.left)
            .with("found_after", self.found_after);
        Json::from(object)
    }
}
