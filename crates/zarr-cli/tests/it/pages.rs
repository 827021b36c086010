//! The pages say what the program does: console blocks run, and each verb is on its page.
//!
//! `UPDATE=1 cargo test -p zarr-cli --test it pages::` writes what they say into the pages. In what is expected, `…` at the end of
//! a line is any rest of it, and a line that is only `…` any lines. A command that ends with another exit code than the page says is
//! an error then, too: what a full disk makes it say is not for a page.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::Folder;

const TOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn updates() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// All Markdown pages for readers.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![PathBuf::from(TOP).join("README.md")];
    let mut folders = vec![PathBuf::from(TOP).join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// A command of a block, with the lines that it is said to print.
struct Step {
    command: String,
    printed: Vec<String>,
}

fn steps(block: &[&str]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut goes_on = false;
    for line in block {
        match steps.last_mut() {
            Some(step) if goes_on => step.command += &format!("\n{line}"),
            last => match (line.strip_prefix("$ "), last) {
                (Some(command), _) => {
                    steps.push(Step { command: command.to_owned(), printed: Vec::new() });
                }
                (None, Some(step)) => step.printed.push((*line).to_owned()),
                (None, None) => panic!("a console block begins with `$ `, not with `{line}`"),
            },
        }
        goes_on = line.ends_with('\\') && steps.last().is_some_and(|step| step.printed.is_empty());
    }
    steps
}

/// What a command prints, on both streams, with its exit code if it is not 0.
fn run(folder: &Folder, command: &str) -> Vec<String> {
    let bin = Path::new(env!("CARGO_BIN_EXE_zarr")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    // All in one order, as on a terminal.
    shell.args(["-c", &format!("exec 2>&1\n{command}")]).current_dir(folder.path(""));
    shell
        .env("PATH", path)
        .env("LC_ALL", "C.UTF-8")
        .env("TMPDIR", folder.path(""))
        .stdin(Stdio::null());
    let output = shell.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("panicked"), "{command}: {text}");
    let home = folder.path("").to_string_lossy().trim_end_matches('/').to_owned();
    let text = text.replace(&home, "/data");
    let mut lines: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
    if !output.status.success() {
        lines.push(format!("(exit code {})", output.status.code().unwrap_or(-1)));
    }
    lines
}

/// Writes a page, whole or not at all.
fn write(page: &Path, text: &str) {
    let part = page.with_extension("part");
    fs::write(&part, text).unwrap();
    fs::rename(part, page).unwrap();
}

/// The line that tells the exit code, if it is not 0.
fn exit_code(lines: &[String]) -> Option<&str> {
    lines.last().map(String::as_str).filter(|line| line.starts_with("(exit code "))
}

/// What is to be in the page behind a command; nothing, if it has ended in another way.
fn update<'a>(printed: &'a [String], found: &'a [String]) -> Option<&'a [String]> {
    if agrees(printed, found) {
        return Some(printed);
    }
    (exit_code(printed) == exit_code(found)).then_some(found)
}

fn agrees(due: &[String], found: &[String]) -> bool {
    match due {
        [] => found.is_empty(),
        [any, rest @ ..] if any == "…" => (0..=found.len()).any(|n| agrees(rest, &found[n..])),
        [line, rest @ ..] => found.split_first().is_some_and(|(first, others)| {
            let same = match line.strip_suffix('…') {
                Some(begin) => first.starts_with(begin),
                None => first == line,
            };
            same && agrees(rest, others)
        }),
    }
}

#[test]
fn console_blocks_print_what_they_say() {
    let (mut ran, mut wrong, mut ended) = (0, Vec::new(), Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        if !text.contains("```console\n") {
            continue;
        }
        let folder = Folder::new();
        let (mut after, mut rest) = (String::new(), text.as_str());
        while let Some((before, block)) = rest.split_once("```console\n") {
            let (block, end) = block.split_once("```").unwrap();
            after += &format!("{before}```console\n");
            for Step { command, printed } in steps(&block.lines().collect::<Vec<_>>()) {
                ran += 1;
                let found = run(&folder, &command);
                let said = || format!("{}: $ {command}\n{}", page.display(), found.join("\n"));
                if !agrees(&printed, &found) {
                    wrong.push(said());
                }
                let lines = update(&printed, &found).unwrap_or_else(|| {
                    ended.push(said());
                    &printed
                });
                after += &format!("$ {command}\n");
                for line in lines {
                    after += &format!("{line}\n");
                }
            }
            after += "```";
            rest = end;
        }
        if updates() {
            write(&page, &(after + rest));
        }
    }
    assert!(ended.is_empty(), "another exit code than the page says:\n{}", ended.join("\n\n"));
    assert!(wrong.is_empty() || updates(), "{}\nUPDATE=1 writes it", wrong.join("\n\n"));
    assert!(ran > 40, "{ran} commands ran");
}

/// The site has a page for each verb that `zarr --help` lists, made from its help (`.ci/site`).
#[test]
fn every_verb_has_help_and_a_line_on_its_page() {
    let folder = Folder::new();
    let whole = folder.good("--help").text().to_owned();
    let (_, list) = whole.split_once("Commands:\n").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    // A line that begins further to the right is the rest of a long one.
    let names = list.lines().filter_map(|line| line.strip_prefix("  "));
    let verbs = names.filter(|line| !line.starts_with(' '));
    let mut verbs: Vec<(&str, &str)> = verbs.filter_map(|line| line.split_once(' ')).collect();
    verbs.retain(|(verb, _)| *verb != "help");
    for (verb, what) in &verbs {
        let help = folder.good(&format!("{verb} --help")).text().to_owned();
        // The list may be folded elsewhere.
        let begin: String = what.trim().chars().take(30).collect();
        assert!(
            help.starts_with(&begin),
            "{verb} is `{begin}…` in the list, but its help is: {help}"
        );
        assert!(help.contains(&format!("\nUsage: zarr {verb}")), "{verb}: {help}");
        let has_source = help.contains("///") || help.contains("\\n");
        assert!(!has_source, "{verb}: the help shows marks of its source: {help}");
    }
    let page = fs::read_to_string(Path::new(TOP).join("docs/verbs.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut listed: Vec<&str> = rows.collect();
    let mut verbs: Vec<&str> = verbs.into_iter().map(|(verb, _)| verb).collect();
    verbs.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, verbs, "the verbs of docs/verbs.md are not those of the help");
}

#[test]
fn a_command_that_ended_otherwise_changes_no_page() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (full, old) = (lines("error: no space left\n(exit code 5)"), lines("a\nb"));
    assert_eq!(update(&old, &full), None);
    assert_eq!(update(&full, &old), None);
    assert_eq!(update(&old, &lines("a\nc")), Some(&lines("a\nc")[..]));
    assert_eq!(update(&lines("a\n…"), &old), Some(&lines("a\n…")[..]));
    let other = lines("error: other\n(exit code 5)");
    assert_eq!(update(&full, &other), Some(&other[..]));
}
