//! Validates every store as others wrote it.

use std::fs;
use std::path::Path;

use zarr::OpenOptions;
use zarr::tools::validate::{Level, Problem, ValidateOptions, validate};

use crate::stores::Fixture;

/// A problem that is there, with the reason.
struct Known {
    case: String,
    kind: String,
    key: String,
    is_used: bool,
}

/// Reports what is found and not listed in `validate.txt`, and what is listed and not found.
pub fn check(home: &Path, fixtures: &[Fixture]) -> Result<(), String> {
    let mut known = known(&home.join("validate.txt"))?;
    let mut flaws = Vec::new();
    for fixture in fixtures {
        match problems(fixture) {
            Err(e) => flaws.push(format!("{}: {e}", fixture.id)),
            Ok(found) => {
                for problem in found {
                    let key = problem.key.as_deref().unwrap_or_default();
                    let mut is_known = false;
                    for known in &mut known {
                        let is_same = matches(&known.case, &fixture.id)
                            && known.kind == problem.kind.name()
                            && matches(&known.key, key);
                        known.is_used |= is_same;
                        is_known |= is_same;
                    }
                    if !is_known {
                        flaws.push(format!("{}: {problem:?}", fixture.id));
                    }
                }
            }
        }
    }
    for known in known.iter().filter(|known| !known.is_used) {
        let family = known.case.split('/').next().unwrap_or_default();
        if fixtures.iter().any(|fixture| fixture.id.starts_with(&format!("{family}/"))) {
            flaws.push(format!("validate.txt: nothing needs {} {}", known.case, known.kind));
        }
    }
    println!("{} stores are as they were written", fixtures.len());
    if flaws.is_empty() { Ok(()) } else { Err(flaws.join("\n")) }
}

fn problems(fixture: &Fixture) -> Result<Vec<Problem>, String> {
    let options = OpenOptions::new(zarr::standard()).threads(2);
    let how = ValidateOptions::new(Level::Data);
    let url = fixture.path.display().to_string();
    let mut found = Vec::new();
    let report = validate(&url, "/", &options, &how, &mut |problem| {
        if !problem.kind.is_note() {
            found.push(problem.clone());
        }
    });
    report.map(|_| found).map_err(|e| e.to_string())
}

fn known(list: &Path) -> Result<Vec<Known>, String> {
    let text = fs::read_to_string(list).map_err(|e| format!("{}: {e}", list.display()))?;
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parse = |line: &str| {
        let mut parts = line.splitn(4, ' ').map(str::to_owned);
        let known = (parts.next(), parts.next(), parts.next());
        match (known, parts.next()) {
            ((Some(case), Some(kind), Some(key)), Some(_)) => {
                Ok(Known { case, kind, key, is_used: false })
            }
            _ => Err(format!("{}: `{line}` has no reason", list.display())),
        }
    };
    lines.map(parse).collect()
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => pattern == text,
    }
}
