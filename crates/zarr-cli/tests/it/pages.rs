//! The pages say what the program does: console blocks run, and the pages of verbs are their help.
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

#[test]
fn the_pages_of_verbs_are_their_help() {
    let folder = Folder::new();
    let help = |words: &str| {
        let text = folder.good(words).text().trim_end().to_owned();
        // What a build was made with is not part of the reference.
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    };
    let whole = help("--help");
    let (_, list) = whole.split_once("Commands:\n").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    let mut index =
        "# Verbs\n\nMade from the program's own help, which CI compares.\n\n".to_owned();
    let mut due = Vec::new();
    let mut verbs: Vec<(String, String)> = Vec::new();
    for line in list.lines() {
        match line.strip_prefix("  ").filter(|line| !line.starts_with(' ')) {
            Some(line) => {
                let (verb, what) = line.split_once(' ').unwrap();
                verbs.push((verb.to_owned(), what.trim().to_owned()));
            }
            // The rest of a long line.
            None => verbs.last_mut().unwrap().1 += &format!(" {}", line.trim()),
        }
    }
    verbs.retain(|(verb, _)| verb != "help");
    for (verb, what) in &verbs {
        index += &format!("- [zarr {verb}]({verb}.md): {what}\n");
        let page = format!("# zarr {verb}\n\n```text\n{}\n```\n", help(&format!("{verb} --help")));
        due.push((format!("{verb}.md"), page));
    }
    due.push(("README.md".into(), format!("{index}\n```text\n{whole}\n```\n")));
    let home = Path::new(TOP).join("docs/verbs");
    if updates() {
        for (name, page) in &due {
            write(&home.join(name), page);
        }
        for entry in fs::read_dir(&home).unwrap().map(Result::unwrap) {
            if !due.iter().any(|(name, _)| entry.file_name() == **name) {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }
    let mut there: Vec<String> = fs::read_dir(&home)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut names: Vec<&str> = due.iter().map(|(name, _)| &**name).collect();
    there.sort();
    names.sort_unstable();
    assert_eq!(there, names, "UPDATE=1 writes the pages");
    for (name, page) in &due {
        let found = fs::read_to_string(home.join(name)).unwrap();
        assert_eq!(found, *page, "docs/verbs/{name} is behind; UPDATE=1 writes it");
    }
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
