//! Reads what other implementations wrote, and checks that invalid data are refused.
//!
//! Each case of `families/` and of `cases/` becomes a test of its name. What a case waits for is said
//! in `waiting.txt`; a waiting case that passes fails the run, so that the list can only shrink.
//!
//! A program of its own: its tests are made when it runs, one for each case.

#![forbid(unsafe_code)]

mod cited;
mod codecs;
mod compare;
mod documents;
mod family;
mod far;
mod keys;
mod malformed;
mod memory;
mod netcdf;
mod node;
#[path = "../far/servers.rs"]
mod servers;
mod steps;
mod table;
mod vector;
mod waiting;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// What a case came to: nothing to say, or what differs.
type Check = Result<(), String>;

/// One case, not run yet.
struct Case {
    id: String,
    run: Box<dyn FnOnce() -> Check + Send>,
    /// Why it cannot be run here.
    ignored: Option<String>,
}

impl Case {
    fn new(id: impl Into<String>, run: impl FnOnce() -> Check + Send + 'static) -> Case {
        Case { id: id.into(), run: Box::new(run), ignored: None }
    }

    fn ignored(id: impl Into<String>, reason: String) -> Case {
        Case { id: id.into(), run: Box::new(|| Ok(())), ignored: Some(reason) }
    }
}

fn main() -> ExitCode {
    if let Some(code) = memory::as_probe() {
        return code;
    }
    let arguments = Arguments::from_args();
    match all(&home()) {
        Ok((trials, scratch)) => {
            if let Some(sampled) = far::sampled() {
                eprintln!("{sampled}");
            }
            let conclusion = libtest_mimic::run(&arguments, trials);
            drop(scratch);
            conclusion.exit_code()
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The folder `specs-conformance`.
fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn all(home: &Path) -> Result<(Vec<Trial>, tempfile::TempDir), String> {
    let scratch = tempfile::tempdir().map_err(|e| format!("no scratch folder: {e}"))?;
    let mut cases = family::cases(&home.join("families"), scratch.path())?;
    cases.extend(family::peers(home, scratch.path())?);
    cases.extend(vector::cases(&home.join("cases"))?);
    let waiting = waiting::read(&home.join("waiting.txt"))?;
    let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    // A family that is not here has no cases that could be named.
    let is_absent = |id: &str| {
        let family = id.split('/').next();
        cases.iter().any(|case| case.ignored.is_some() && Some(&*case.id) == family)
    };
    let flaws = waiting::flaws(&waiting, &ids, is_absent);
    let mut trials = vec![Trial::test("waiting.txt", move || {
        if flaws.is_empty() { Ok(()) } else { Err(flaws.join("\n").into()) }
    })];
    trials.extend(table::trials(home, &waiting)?);
    trials.extend(cited::trials(home)?);
    trials.push(codecs::trial(home));
    trials.extend(far::without_servers());
    for case in cases {
        if let Some(reason) = case.ignored {
            let ignored = move || Ok(Completion::ignored_with(reason));
            trials.push(Trial::ignorable_test(case.id, ignored));
            continue;
        }
        // What waits at home waits everywhere.
        let far = case.id.strip_prefix("through/").and_then(|rest| rest.split_once('/'));
        let id = far.map_or(&*case.id, |(_, id)| id);
        let feature = waiting.iter().find(|w| w.id == id).map(|w| w.feature.clone());
        trials.push(Trial::ignorable_test(case.id, move || judge(case.run, feature)));
    }
    Ok((trials, scratch))
}

/// Runs a case; a panic is never right, whether the case waits or not.
fn judge(
    run: Box<dyn FnOnce() -> Check + Send>,
    waits_for: Option<String>,
) -> Result<Completion, Failed> {
    let outcome = catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&s| s.to_owned()));
        Failed::from(format!("panicked: {}", text.unwrap_or_default()))
    })?;
    match (outcome, waits_for) {
        (Ok(()), None) => Ok(Completion::Completed),
        (Ok(()), Some(_)) => Err("passes by now; strike it from waiting.txt".into()),
        (Err(message), None) => Err(message.into()),
        (Err(_), Some(feature)) => Ok(Completion::ignored_with(format!("waits for {feature}"))),
    }
}
