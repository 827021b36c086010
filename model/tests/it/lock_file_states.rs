//! Every state that two or three processes can reach with the lock files of a folder, one system call a step.
//!
//! Writers make the folder, open `.zarr-lock`, lock it, look whether it is still there, change keys, unlock, and tidy: open, try the lock,
//! look again, unlink. An eraser unlinks the file under its lock and removes the folder. Any one of them may be killed at any step. In no
//! state are two at the keys of which one needs them for itself; from none is there no way on; and once all have ended no lock file is
//! there, but for one that a killed process left, which the next writer removes. Without one of the rules a state is found that breaks that.
//!
//! `protocols.rs` runs the code itself, whose steps these are, with fewer schedules.

use std::collections::HashSet;

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    /// Changes keys under a shared lock.
    Shared,
    /// Compares and swaps under an exclusive one.
    Exclusive,
    Eraser,
}

/// The rules of the protocol; each can be left out.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Who has a lock looks whether its file is still there.
    look_after_lock: bool,
    /// Who tidies locks first.
    lock_to_tidy: bool,
    /// And looks whether the file that it locked is still there.
    look_to_tidy: bool,
    /// An eraser holds the lock while it unlinks.
    lock_to_erase: bool,
    tidy: bool,
}

const RULES: Rules = Rules {
    look_after_lock: true,
    lock_to_tidy: true,
    look_to_tidy: true,
    lock_to_erase: true,
    tidy: true,
};

/// The next step of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Step {
    MakeFolder,
    Open,
    Lock,
    Look,
    AtKeys,
    Leave,
    Unlock,
    TidyOpen,
    TidyLock,
    TidyLook,
    TidyUnlink,
    TidyClose,
    EraseUnlink,
    EraseFolder,
    Done,
    Killed,
}

use Step::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Process {
    step: Step,
    /// The lock file that it has open.
    file: Option<u8>,
    /// Its lock: 1 shared, 2 exclusive.
    lock: u8,
    rounds: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    folder: bool,
    /// The file that is called `.zarr-lock`.
    name: Option<u8>,
    processes: Vec<Process>,
    /// How many processes may still be killed.
    kills: u8,
}

impl State {
    /// Files get the smallest numbers, so that states that differ in nothing else are one.
    fn numbered(mut self) -> State {
        let mut known: Vec<u8> = Vec::new();
        let mut number = |file: &mut Option<u8>| {
            if let Some(file) = file {
                let at = known.iter().position(|known| known == file).unwrap_or_else(|| {
                    known.push(*file);
                    known.len() - 1
                });
                *file = at as u8;
            }
        };
        number(&mut self.name);
        self.processes.iter_mut().for_each(|process| number(&mut process.file));
        self
    }

    fn new_file(&self) -> u8 {
        let used = |file: &u8| {
            self.name == Some(*file) || self.processes.iter().any(|p| p.file == Some(*file))
        };
        (0..).find(|file| !used(file)).expect("there are few")
    }

    /// Whether another process holds a lock of the same file that this one excludes.
    fn is_locked(&self, n: usize, lock: u8) -> bool {
        let file = self.processes[n].file;
        let conflicts = |(other, process): (usize, &Process)| {
            other != n
                && process.file == file
                && process.lock > 0
                && (lock == 2 || process.lock == 2)
        };
        self.processes.iter().enumerate().any(conflicts)
    }

    /// The state after the next step of process `n`; `None` if it has to wait.
    fn step(&self, n: usize, role: Role, rules: Rules) -> Option<State> {
        let mut next = self.clone();
        let is_there = self.processes[n].file == self.name;
        let own = &mut next.processes[n];
        let lock = if role == Role::Shared { 1 } else { 2 };
        let close = |own: &mut Process, step: Step| {
            (own.file, own.lock, own.step) = (None, 0, step);
        };
        match own.step {
            Done | Killed => return None,
            MakeFolder => {
                own.step = Open;
                next.folder = true;
            }
            Open if !self.folder => own.step = if role == Role::Eraser { Done } else { MakeFolder },
            Open => {
                let file = self.name.unwrap_or_else(|| self.new_file());
                (own.file, own.step) = (Some(file), Lock);
                next.name = Some(file);
            }
            Lock if role == Role::Eraser && !rules.lock_to_erase => own.step = Look,
            Lock if self.is_locked(n, lock) => return None,
            Lock => (own.lock, own.step) = (lock, Look),
            Look if !is_there && rules.look_after_lock => close(own, Open),
            Look => own.step = AtKeys,
            AtKeys => own.step = Leave,
            Leave => own.step = if role == Role::Eraser { EraseUnlink } else { Unlock },
            EraseUnlink => {
                own.step = EraseFolder;
                next.name = None;
            }
            EraseFolder => {
                close(own, Done);
                next.folder = self.name.is_some();
            }
            Unlock => {
                own.rounds -= 1;
                let then = match (rules.tidy, own.rounds) {
                    (true, _) => TidyOpen,
                    (false, 0) => Done,
                    (false, _) => MakeFolder,
                };
                close(own, then);
            }
            TidyOpen => match self.name {
                Some(file) => (own.file, own.step) = (Some(file), TidyLock),
                None => own.step = TidyClose,
            },
            TidyLock if !rules.lock_to_tidy => own.step = TidyLook,
            TidyLock if self.is_locked(n, 2) => own.step = TidyClose,
            TidyLock => (own.lock, own.step) = (2, TidyLook),
            TidyLook if !is_there && rules.look_to_tidy => own.step = TidyClose,
            TidyLook => own.step = TidyUnlink,
            TidyUnlink => {
                own.step = TidyClose;
                next.name = None;
            }
            TidyClose => close(own, if own.rounds > 0 { MakeFolder } else { Done }),
        }
        Some(next.numbered())
    }

    /// What is wrong with this state.
    fn flaw(&self, roles: &[Role]) -> Option<String> {
        // Who has unlinked the lock file does nothing more at the keys.
        let inside = |n: &usize| matches!(self.processes[*n].step, Leave | EraseUnlink);
        let inside: Vec<usize> = (0..roles.len()).filter(inside).collect();
        let is_alone = inside.iter().all(|n| roles[*n] == Role::Shared) || inside.len() < 2;
        (!is_alone).then(|| format!("{inside:?} are at the keys"))
    }
}

/// How many states there are; or what is wrong with one of them.
fn explore(roles: &[Role], rounds: u8, kills: u8, rules: Rules) -> Result<usize, String> {
    let process = |role: &Role| {
        let step = if *role == Role::Eraser { Open } else { MakeFolder };
        Process { step, file: None, lock: 0, rounds }
    };
    let processes = roles.iter().map(process).collect();
    let first = State { folder: true, name: None, processes, kills };
    let (mut seen, mut open) = (HashSet::from([first.clone()]), vec![first]);
    while let Some(state) = open.pop() {
        let told = |why: &str| Err(format!("{why}: {state:?}"));
        if let Some(flaw) = state.flaw(roles) {
            return told(&flaw);
        }
        let mut next: Vec<State> =
            (0..roles.len()).filter_map(|n| state.step(n, roles[n], rules)).collect();
        let has_ended = |process: &Process| matches!(process.step, Done | Killed);
        if next.is_empty() && !state.processes.iter().all(has_ended) {
            return told("there is no way on");
        }
        if next.is_empty() && state.name.is_some() {
            let is_killed = state.processes.iter().any(|process| process.step == Killed);
            if !is_killed {
                return told("a lock file stays");
            }
            let mut last = State { processes: vec![process(&Role::Exclusive)], ..state.clone() };
            while let Some(after) = last.step(0, Role::Exclusive, rules) {
                last = after;
            }
            if last.name.is_some() || last.processes[0].step != Done {
                return told("the next writer leaves the lock file of a killed one");
            }
        }
        if state.kills > 0 {
            for n in (0..roles.len()).filter(|n| !has_ended(&state.processes[*n])) {
                let mut killed = state.clone();
                killed.kills -= 1;
                let dead = Process { step: Killed, file: None, lock: 0, rounds: 0 };
                killed.processes[n] = dead;
                next.push(killed.numbered());
            }
        }
        for state in next {
            if seen.insert(state.clone()) {
                open.push(state);
            }
        }
    }
    Ok(seen.len())
}

use Role::{Eraser, Exclusive, Shared};

/// Processes, changes of each writer, and how many are killed.
const CASES: [(&[Role], u8, u8); 6] = [
    (&[Exclusive, Exclusive], 2, 1),
    (&[Shared, Eraser], 2, 1),
    (&[Exclusive, Exclusive, Exclusive], 2, 1),
    (&[Exclusive, Shared, Shared], 2, 1),
    (&[Exclusive, Shared, Eraser], 2, 1),
    (&[Exclusive, Exclusive, Eraser], 2, 1),
];

#[test]
fn no_state_breaks_a_promise() {
    for (roles, rounds, kills) in CASES {
        let states =
            explore(roles, rounds, kills, RULES).unwrap_or_else(|e| panic!("{roles:?}: {e}"));
        println!(
            "model: lock files: {roles:?}, {rounds} changes each, {kills} killed: all {states} states"
        );
    }
}

#[test]
fn each_rule_is_needed() {
    for (what, rules) in [
        ("at the keys", Rules { look_after_lock: false, ..RULES }),
        ("at the keys", Rules { lock_to_tidy: false, ..RULES }),
        ("at the keys", Rules { look_to_tidy: false, ..RULES }),
        ("at the keys", Rules { lock_to_erase: false, ..RULES }),
        ("a lock file stays", Rules { tidy: false, ..RULES }),
    ] {
        let found: Vec<String> = CASES
            .iter()
            .filter_map(|(roles, rounds, _)| explore(roles, *rounds, 0, rules).err())
            .collect();
        assert!(found.iter().any(|found| found.contains(what)), "{rules:?}: {found:?}");
    }
}
