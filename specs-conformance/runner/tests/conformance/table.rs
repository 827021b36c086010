//! Makes the table that says which tests stand for which requirement, and where they run.
//!
//! The requirements are those of the pages in `docs/internals/spec`. A test stands for those that its case's `clause`, its
//! doc comment or its script names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use conformance::requirements::{self, Fulfilment, Requirement, Section};
use conformance::sources;
use libtest_mimic::{Failed, Trial};
use zarr::Object;

use crate::compare::{objects, parse, text};
use crate::waiting::Waiting;

/// The requirements of one page: its name, and its sections.
type List = (String, Vec<Section>);

/// A test, or several that name the same requirements.
struct Named {
    /// Where it is written, from the workspace's folder.
    file: String,
    /// Its name in the file; `None` if it is the file's one.
    name: Option<String>,
    /// The names its cases have when they run; empty for what cannot wait.
    ids: Vec<String>,
    /// What it says about itself.
    text: String,
    /// The command that runs it, if `cargo test` does not.
    command: Option<&'static str>,
}

/// The command that runs the tests of a file, if `cargo test` does not: scripts need other implementations, some tests need servers.
fn command_for(file: &str) -> Option<&'static str> {
    if file.starts_with("specs-conformance/interop/") {
        Some(".ci/run interop")
    } else if file == "crates/zarr-stores/tests/servers.rs" || file.contains("runner/tests/far/") {
        Some(".ci/full servers")
    } else {
        None
    }
}

/// What is known of one requirement.
struct Row<'a> {
    requirement: &'a Requirement,
    tests: Vec<&'a Named>,
    waits_for: BTreeSet<&'a str>,
}

impl Row<'_> {
    fn state(&self) -> String {
        match (self.tests.is_empty(), self.waits_for.is_empty()) {
            (_, false) => {
                let features: Vec<&str> = self.waits_for.iter().copied().collect();
                format!("waits for {}", features.join(", "))
            }
            (true, true) => "**UNTESTED**".into(),
            (false, true) => match self.requirement.fulfilment {
                Fulfilment::Whole => self.place("passes"),
                Fulfilment::InPart => self.place("in part"),
                Fulfilment::Otherwise => self.place("otherwise"),
            },
        }
    }

    /// The state if `cargo test` runs a test of the row, else with the commands that run one.
    fn place(&self, state: &str) -> String {
        let mut commands = BTreeSet::new();
        for test in &self.tests {
            match test.command {
                Some(command) => commands.insert(format!("`{command}`")),
                None => return state.into(),
            };
        }
        format!("{state} in {}", commands.into_iter().collect::<Vec<_>>().join(" and "))
    }

    /// `[file](link): name, name`, for each file.
    fn links(&self) -> String {
        let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for test in &self.tests {
            files.entry(&test.file).or_default().extend(test.name.as_deref());
        }
        let links = files.iter().map(|(file, names)| {
            let short = short(file);
            if names.is_empty() {
                format!("[{short}](../{file})")
            } else {
                format!("[{short}](../{file}): {}", names.join(", "))
            }
        });
        links.collect::<Vec<_>>().join("; ")
    }
}

fn short(file: &str) -> &str {
    let short = file.strip_prefix("crates/").or_else(|| file.strip_prefix("specs-conformance/"));
    let short = short.unwrap_or(file);
    short.strip_prefix("cases/").and_then(|case| case.strip_suffix(".json")).unwrap_or(short)
}

/// Two tests: that the counts of `docs/conformance.md` are right, and that no requirement that needs a test
/// is without one, nor waits although it has one. The first writes the whole table into `target/conformance.md`.
pub fn trials(home: &Path, waiting: &[Waiting]) -> Result<Vec<Trial>, String> {
    let lists = lists(&home.join("../docs/internals/spec"))?;
    let tests = tests(home)?;
    let rows = rows(&lists, &tests, waiting)?;
    let (page, counts) = (page(&lists, &rows), counts(&lists, &rows));
    let summary = home.join("../docs/conformance.md");
    let flaw = |row: &Row<'_>| {
        let Requirement { number, demand, waits_for, .. } = row.requirement;
        match (waits_for, row.tests.is_empty()) {
            (None, true) if row.requirement.needs_a_test() => {
                Some(format!("no test names {number} {demand}"))
            }
            (Some(feature), false) => {
                Some(format!("{number} has a test: strike `(waits for {feature})` from its page"))
            }
            _ => None,
        }
    };
    let flaws: Vec<String> = rows.iter().flatten().flatten().filter_map(flaw).collect();
    Ok(vec![
        Trial::test("requirements/counts", move || {
            let file = target().join("conformance.md");
            fs::write(&file, &page).map_err(|e| format!("{}: {e}", file.display()))?;
            has_lines(&read(&summary)?, &counts)
        }),
        Trial::test("requirements/untested", move || {
            if flaws.is_empty() { Ok(()) } else { Err(flaws.join("\n").into()) }
        }),
    ])
}

/// Cargo's target folder.
fn target() -> PathBuf {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    scratch.parent().unwrap_or(scratch).into()
}

fn has_lines(page: &str, lines: &[String]) -> Result<(), Failed> {
    let missing: Vec<&str> =
        lines.iter().map(|line| &**line).filter(|line| !page.lines().any(|l| l == *line)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("the table of docs/conformance.md lacks:\n{}", missing.join("\n")).into())
}

fn lists(folder: &Path) -> Result<Vec<List>, String> {
    let read = |file: PathBuf| {
        let place = |e: String| format!("{}: {e}", file.display());
        let text = fs::read_to_string(&file).map_err(|e| place(e.to_string()))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, requirements::parse(&text).map_err(place)?))
    };
    let pages = files(folder, "md")?.into_iter().filter(|file| !file.ends_with("README.md"));
    pages.map(read).collect()
}

/// The rows of each section of each list.
fn rows<'a>(
    lists: &'a [List],
    tests: &'a [Named],
    waiting: &'a [Waiting],
) -> Result<Vec<Vec<Vec<Row<'a>>>>, String> {
    let all = || lists.iter().flat_map(|(_, sections)| sections).flat_map(|s| &s.requirements);
    let numbers: Vec<&str> = all().map(|requirement| requirement.number.as_str()).collect();
    let mut of: BTreeMap<&str, Vec<&Named>> = BTreeMap::new();
    for number in &numbers {
        if of.insert(number, Vec::new()).is_some() {
            return Err(format!("two lists have a requirement `{number}`"));
        }
    }
    for test in tests {
        for number in requirements::named(&test.text, &numbers) {
            of.entry(number).or_default().push(test);
        }
    }
    let row = |requirement: &'a Requirement| {
        let tests = of.get(requirement.number.as_str()).cloned().unwrap_or_default();
        let waits = |line: &&Waiting| tests.iter().any(|test| test.ids.contains(&line.id));
        let waits_for = waiting.iter().filter(waits).map(|line| line.feature.as_str());
        let waits_for = waits_for.chain(requirement.waits_for.as_deref()).collect();
        Row { requirement, tests, waits_for }
    };
    let section = |section: &'a Section| section.requirements.iter().map(row).collect();
    Ok(lists.iter().map(|(_, sections)| sections.iter().map(section).collect()).collect())
}

const HEAD: &str = "# Requirements and their tests

`passes`: `cargo test` runs a test of the row; where only another command does, the row names it. `in part`: the row says what of it
is not done. `otherwise`: it says what is done instead. `waits`: one of its cases is in `specs-conformance/waiting.txt`, or its list says so.
DEC is a decision of this project where the text is silent; what has no level needs no test.
";

/// How many requirements of one list need a test, and what came of them.
struct Counts {
    needed: usize,
    pass: usize,
    in_part: usize,
    otherwise: usize,
    waiting: usize,
}

impl Counts {
    fn new(rows: &[Vec<Row<'_>>]) -> Counts {
        let all = || rows.iter().flatten();
        let needed = || all().filter(|row| row.requirement.needs_a_test());
        let done = |state| needed().filter(|row| row.requirement.fulfilment == state).count();
        Counts {
            needed: needed().count(),
            pass: needed().filter(|row| row.state().starts_with("passes")).count(),
            in_part: done(Fulfilment::InPart),
            otherwise: done(Fulfilment::Otherwise),
            waiting: all().filter(|row| !row.waits_for.is_empty()).count(),
        }
    }
}

/// The rows of the table in `docs/conformance.md`.
fn counts(lists: &[List], rows: &[Vec<Vec<Row<'_>>>]) -> Vec<String> {
    let row = |((name, _), rows): (&List, &Vec<Vec<Row<'_>>>)| {
        let Counts { needed, pass, in_part, otherwise, waiting } = Counts::new(rows);
        let list = format!("[{name}](internals/spec/{name}.md)");
        format!("| {list} | {needed} | {pass} | {in_part} | {otherwise} | {waiting} |")
    };
    lists.iter().zip(rows).map(row).collect()
}

fn page(lists: &[List], rows: &[Vec<Vec<Row<'_>>>]) -> String {
    let mut page = HEAD.to_owned();
    for ((name, sections), rows) in lists.iter().zip(rows) {
        let _ = writeln!(page, "\n## [{name}](../docs/internals/spec/{name}.md)");
        for (section, rows) in sections.iter().zip(rows) {
            let _ = writeln!(page, "\n### {}\n", section.title);
            page += "| | level | what it demands | state | tests |\n|---|---|---|---|---|\n";
            for row in rows {
                let Requirement { number, level, demand, .. } = row.requirement;
                let level = level.trim_matches('-');
                let (anchor, demand) = (row.requirement.anchor(), cell(demand));
                let (state, links) = (row.state(), row.links());
                let number = format!("[{number}](../docs/internals/spec/{name}.md#{anchor})");
                let _ = writeln!(page, "| {number} | {level} | {demand} | {state} | {links} |");
            }
        }
    }
    page
}

/// A demand as a cell of a table: `|` would end it.
fn cell(demand: &str) -> String {
    demand.replace("\\|", "|").replace('|', "\\|")
}

/// All tests that can name a requirement, sorted by their files.
fn tests(home: &Path) -> Result<Vec<Named>, String> {
    let top = home.join("..");
    let mut tests = Vec::new();
    for file in files(&home.join("cases"), "json")? {
        let place = below(&top, &file);
        let json = parse(read(&file)?.as_bytes(), &place)?;
        let case = json.as_object().ok_or_else(|| format!("{place}: not an object"))?;
        let id = place.trim_start_matches("specs-conformance/").trim_end_matches(".json");
        tests.extend(of_case(&place, id, case));
    }
    for folder in [top.join("crates"), home.to_path_buf()] {
        for file in files(&folder, "rs")? {
            let place = below(&top, &file);
            tests.extend(sources::tests(&read(&file)?).into_iter().map(|test| Named {
                command: command_for(&place),
                file: place.clone(),
                name: Some(test.name),
                ids: Vec::new(),
                text: test.doc,
            }));
        }
    }
    for file in files(&home.join("interop"), "py")? {
        let (place, text) = (below(&top, &file), read(&file)?);
        let command = command_for(&place);
        tests.push(Named { file: place, name: None, ids: Vec::new(), text, command });
    }
    Ok(tests)
}

/// The case, and each variant that has a clause of its own. The case stands for what it checks itself and
/// for its other variants; for all of them, if nothing else is left.
fn of_case(file: &str, id: &str, case: &Object) -> Vec<Named> {
    let named = |name: Option<&str>, ids, of: &Object| Named {
        file: file.into(),
        name: name.map(str::to_owned),
        ids,
        text: text(of, "clause").unwrap_or_default().into(),
        command: None,
    };
    let mut whole: Vec<String> = case.contains("expect").then(|| id.into()).into_iter().collect();
    let mut tests = Vec::new();
    for variant in objects(case, "variants") {
        let name = text(variant, "id").unwrap_or_default();
        let ids = vec![format!("{id}/{name}")];
        if variant.contains("clause") {
            tests.push(named(Some(name), ids, variant))
        } else {
            whole.extend(ids)
        }
    }
    if whole.is_empty() {
        whole = tests.iter().flat_map(|test| test.ids.clone()).collect();
    }
    tests.push(named(None, whole, case));
    tests
}

pub fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))
}

/// Where a file lies below a folder, with `/` on every system.
pub fn below(top: &Path, file: &Path) -> String {
    let top = fs::canonicalize(top).unwrap_or_else(|_| top.into());
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.into());
    let names = file.strip_prefix(&top).unwrap_or(&file).iter();
    names.map(|name| name.to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// The files below a folder whose names end in this way, sorted.
pub fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let place = |e| format!("{}: {e}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(place)? {
        let path = entry.map_err(place)?.path();
        if path.is_dir() {
            found.extend(files(&path, extension)?);
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
