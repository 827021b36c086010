//! Reads which cases wait, and for what.

use std::fs;
use std::path::Path;

/// A line of `waiting.txt`.
pub struct Waiting {
    /// The case's id.
    pub id: String,
    /// What it waits for.
    pub feature: String,
}

/// The lines of `waiting.txt`: a case's id, blanks, what it waits for. `#` begins a comment.
pub fn read(path: &Path) -> Result<Vec<Waiting>, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parse = |line: &str| match line.split_once(char::is_whitespace) {
        Some((id, feature)) => Ok(Waiting { id: id.into(), feature: feature.trim().into() }),
        None => Err(format!("{}: `{line}` does not say what it waits for", path.display())),
    };
    lines.map(parse).collect()
}

/// What is wrong with the list itself: ids that no case has, but for those of families that are absent, and ids given twice.
pub fn flaws(waiting: &[Waiting], ids: &[&str], is_absent: impl Fn(&str) -> bool) -> Vec<String> {
    let mut flaws = Vec::new();
    for (n, line) in waiting.iter().enumerate() {
        if !ids.contains(&line.id.as_str()) && !is_absent(&line.id) {
            flaws.push(format!("no case is called `{}`", line.id));
        }
        if waiting[..n].iter().any(|other| other.id == line.id) {
            flaws.push(format!("`{}` is listed twice", line.id));
        }
    }
    flaws
}
