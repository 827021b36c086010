//! Checks that everything that comments, pages and cases cite exists in `docs/internals/spec` or `docs/internals/design`.

use std::fs;
use std::path::{Path, PathBuf};

use conformance::citations::{Known, comment};
use libtest_mimic::Trial;

use crate::table::{below, files, read};

/// One test: it names each line that cites what does not exist.
pub fn trials(home: &Path) -> Result<Vec<Trial>, String> {
    let top = home.join("..");
    let known = known(&top)?;
    let mut missing = Vec::new();
    for file in cited_in(&top)? {
        let (place, text) = (below(&top, &file), read(&file)?);
        for (number, line) in text.lines().enumerate() {
            let extension = file.extension().and_then(|e| e.to_str()).unwrap_or_default();
            let found = known.missing(citing(extension, line));
            missing.extend(found.iter().map(|what| format!("{place}:{}: {what}", number + 1)));
        }
    }
    Ok(vec![Trial::test("citations", move || {
        if missing.is_empty() {
            Ok(())
        } else {
            let head = "what is cited here is neither an anchor of docs/internals/spec nor a page of docs/internals/design:";
            Err(format!("{head}\n{}", missing.join("\n")).into())
        }
    })])
}

/// The part of a line that may cite.
fn citing<'l>(extension: &str, line: &'l str) -> &'l str {
    match extension {
        "rs" => comment(line),
        "json" if !line.trim_start().starts_with("\"clause\"") => "",
        _ => line,
    }
}

fn known(top: &Path) -> Result<Known, String> {
    let mut known = Known::default();
    for page in files(&top.join("docs/internals/spec"), "md")? {
        known.add_page(&page.file_stem().unwrap_or_default().to_string_lossy(), &read(&page)?);
    }
    for page in files(&top.join("docs/internals/design"), "md")? {
        known.add_note(&page.file_stem().unwrap_or_default().to_string_lossy());
    }
    Ok(known)
}

/// Sources, pages, cases and scripts.
fn cited_in(top: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let folders = [
        ("crates", &["rs", "md"][..]),
        ("docs", &["md"]),
        ("specs-conformance/cases", &["json"]),
        ("specs-conformance/interop", &["py"]),
        ("specs-conformance/runner", &["rs"]),
    ];
    for (folder, extensions) in folders {
        for extension in extensions {
            found.extend(files(&top.join(folder), extension)?);
        }
    }
    for file in fs::read_dir(top).map_err(|e| e.to_string())? {
        let file = file.map_err(|e| e.to_string())?.path();
        found.extend((file.extension().is_some_and(|e| e == "md")).then_some(file));
    }
    found.push(top.join("specs-conformance/README.md"));
    found.retain(|file| !file.ends_with("runner/src/citations.rs"));
    Ok(found)
}
