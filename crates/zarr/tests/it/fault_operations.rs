//! After a call of the system has failed within any operation, every element that the operation did not touch is there,
//! no wrong value is read, and the operation succeeds when it is tried again.
//!
//! A child process runs each operation with `fail_calls.c` between it and the system, and looks with the handle that
//! failed; after each fault it asks the parent, which looks with a new handle. A sample of the faults runs by
//! default; `ZARR_FAULTS=all` or `ZARR_TEST_ALL=1` runs all of them. `faults.rs` does the same for writes.

#![cfg(all(
    target_os = "linux",
    feature = "filesystem",
    feature = "zip",
    feature = "lmdb",
    feature = "sharding",
    feature = "nczarr"
))]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::injected::{ERRORS, KINDS, Kind, injector, is_whole};
use zarr::nczarr::schema::{Group, Variable};
use zarr::nczarr::{Dataset, DatasetOptions, Dimension, Lengths, NewDataset, Slab, Type, Values};
use zarr::tools::CopyOptions;
use zarr::{Dialect, Hierarchy, Json, Node, NodePath, OpenOptions, Registry, Result};
use zarr_example_extension::OffsetGrid;
use zarr_testkit::test_name;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Append,
    Shrink,
    Grow,
    Prepend,
    Overwrite,
    EraseArray,
    EraseGroup,
    EraseChunk,
    Attributes,
    Consolidate,
    Copy,
    Records,
}

use Operation::*;

const OPERATIONS: [Operation; 12] = [
    Append,
    Shrink,
    Grow,
    Prepend,
    Overwrite,
    EraseArray,
    EraseGroup,
    EraseChunk,
    Attributes,
    Consolidate,
    Copy,
    Records,
];

/// What an operation met.
type Outcome = std::result::Result<(), String>;

/// The shape and the elements of each array, and the attribute `n` of `/a` as an array of its own.
type Seen = BTreeMap<String, (Vec<u64>, Vec<i32>)>;

/// The elements that a shortened array has left behind its end.
const LEFT: i32 = 999;

fn known() -> Registry {
    zarr::standard().with(zarr_example_extension::register)
}

fn options() -> OpenOptions {
    OpenOptions::new(known()).read_write()
}

fn path(text: &str) -> NodePath {
    text.parse().expect("a good path")
}

fn numbers(from: i32, len: u64) -> Vec<i32> {
    (from..).take(len as usize).collect()
}

/// What is there before the operation.
fn make(kind: Kind, operation: Operation, within: &Path) -> Result<()> {
    if operation == Records {
        return make_records(kind, within);
    }
    let hierarchy = zarr::create_with(&kind.url(within, "x"), Dialect::V3, &options())?;
    let array = |at: &str, len: u64| {
        let array = hierarchy.create_array(path(at)).shape(&[len]).data_type_named("int32");
        let array = array.fill_value(-1i64);
        match kind {
            Kind::Shards => array.chunks(&[2]).shards(&[4]),
            _ => array.chunks(&[4]),
        }
    };
    let mut attributes = zarr::Object::new();
    attributes.insert("n", 1u64);
    let a = array("/a", 10).attributes(attributes).create()?;
    a.write(.., &numbers(1, 10))?;
    array("/g/c", 6).create()?.write(.., &numbers(51, 6))?;
    let p = hierarchy.create_array(path("/p")).shape(&[10]).data_type_named("int32");
    let grid = Arc::new(OffsetGrid::new(&[4], &[0], &[10])?);
    p.grid(grid).fill_value(-1i64).create()?.write(.., &numbers(71, 10))?;
    hierarchy.consolidate()?;
    // Another library may leave what it cuts off.
    let mut keeping = options();
    keeping.options.keep_cut_off = true;
    a.resize(&[16])?;
    a.write(10..16, &[LEFT; 6])?;
    hierarchy.flush()?;
    drop((a, hierarchy));
    let hierarchy = zarr::open_with(&kind.url(within, "x"), &keeping)?.hierarchy().clone();
    hierarchy.array(path("/a"))?.resize(&[10])?;
    hierarchy.flush()
}

/// Two records.
fn make_records(kind: Kind, within: &Path) -> Result<()> {
    let url = kind.url(within, "x");
    let store = options().store(&url)?;
    let dataset = Dataset::create(store, &NewDataset::nczarr_v3(), &DatasetOptions::new(known()))?;
    let mut root = Group::new("");
    root.dimensions = vec![Dimension::unlimited("t"), Dimension::new("x", 2)];
    root.variables = vec![
        Variable::new("time", Type::Int, ["t"]),
        Variable::new("value", Type::Int, ["t", "x"]),
    ];
    dataset.define(&root)?;
    append_record(&dataset, 1)?;
    append_record(&dataset, 2)?;
    dataset.consolidate()?;
    dataset.flush()
}

fn append_record(dataset: &Dataset, n: i32) -> Result<u64> {
    dataset.append("/t", 1, |start| {
        let value = dataset.variable("value")?;
        value.write_slab(&Slab::new([start, 0], [1, 2]), vec![10 * n, 10 * n + 1])?;
        dataset.variable("time")?.write_slab(&Slab::new([start], [1]), vec![n])
    })
}

fn open_dataset(url: &str, lengths: Lengths) -> Result<Dataset> {
    let options = DatasetOptions::new(known()).read_write().lengths(lengths);
    Dataset::open(OpenOptions::new(known()).read_write().store(url)?, &options)
}

/// The handles of a process.
enum Handle {
    Hierarchy(Hierarchy, Option<zarr::Array>, Option<zarr::Array>),
    Dataset(Dataset),
}

impl Handle {
    fn open(kind: Kind, operation: Operation, within: &Path) -> Result<Handle> {
        let url = kind.url(within, "x");
        if operation == Records {
            return Ok(Handle::Dataset(open_dataset(&url, Lengths::Longest)?));
        }
        let hierarchy = zarr::open_with(&url, &options())?.hierarchy().clone();
        let array = |at: &str| match hierarchy.array(path(at)) {
            Err(e) if e.kind() == zarr::ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        };
        let (a, p) = (array("/a")?, array("/p")?);
        Ok(Handle::Hierarchy(hierarchy, a, p))
    }

    /// The operation, and the flush that makes it last.
    fn operate(&self, kind: Kind, operation: Operation, within: &Path, copy: &str) -> Result<()> {
        let (hierarchy, a, p) = match self {
            Handle::Dataset(dataset) => {
                dataset.refresh()?;
                append_record(dataset, 3)?;
                return dataset.flush();
            }
            Handle::Hierarchy(hierarchy, a, p) => (hierarchy, a, p),
        };
        let a = || match a {
            Some(a) => Ok(a.clone()),
            None => hierarchy.array(path("/a")),
        };
        match operation {
            Append => drop(a()?.append(0, &numbers(101, 7))?),
            Shrink => a()?.resize(&[3])?,
            Grow => a()?.resize(&[17])?,
            Prepend => p.as_ref().expect("nothing erases it").prepend(0, &numbers(201, 6))?,
            Overwrite => drop(
                hierarchy
                    .create_array(path("/a"))
                    .shape(&[20])
                    .chunks(&[4])
                    .data_type_named("int32")
                    .fill_value(-2i64)
                    .overwrite(true)
                    .create()?,
            ),
            EraseArray => hierarchy.erase(path("/a"))?,
            EraseGroup => hierarchy.erase(path("/g"))?,
            EraseChunk => a()?.chunk(&[1])?.erase()?,
            Attributes => {
                a()?.update_attributes(|attributes| drop(attributes.insert("n", 2u64)))?;
            }
            Consolidate => drop(hierarchy.consolidate()?),
            Copy => {
                let target = zarr::create_with(&kind.url(within, copy), Dialect::V3, &options())?;
                let root = hierarchy.node(NodePath::root())?;
                zarr::tools::copy(&root, &target, NodePath::root(), &CopyOptions::default())?;
            }
            Records => unreachable!("a dataset is no hierarchy"),
        }
        hierarchy.flush()
    }

    /// What these handles see.
    fn look(&self) -> Result<Seen> {
        match self {
            Handle::Dataset(dataset) => {
                dataset.refresh()?;
                look_at_records(dataset)
            }
            Handle::Hierarchy(hierarchy, a, p) => {
                let mut seen = look_at(hierarchy)?;
                for (name, array) in [("/a", a), ("/p", p)] {
                    let Some(array) = array else { continue };
                    // A handle reads what it knows of, as long as there is an array.
                    if seen.contains_key(name) {
                        array.refresh()?;
                        seen.insert(name.into(), (array.shape(), array.read(..)?));
                    }
                }
                Ok(seen)
            }
        }
    }
}

fn look_at(hierarchy: &Hierarchy) -> Result<Seen> {
    let mut seen = Seen::new();
    for node in hierarchy.nodes(NodePath::root())? {
        let Node::Array(array) = node else { continue };
        if let Some(n) = array.attributes().get("n").and_then(Json::as_u64) {
            seen.insert(format!("{}@n", array.path()), (Vec::new(), vec![n as i32]));
        }
        seen.insert(array.path().to_string(), (array.shape(), array.read(..)?));
    }
    Ok(seen)
}

fn look_at_records(dataset: &Dataset) -> Result<Seen> {
    let mut seen = Seen::new();
    for name in ["time", "value"] {
        let variable = dataset.variable(name)?;
        let Values::Int(values) = variable.read()? else { panic!("{name} has integers") };
        seen.insert(name.into(), (variable.shape()?, values));
    }
    Ok(seen)
}

/// What new handles see.
fn look_anew(kind: Kind, operation: Operation, within: &Path) -> Result<Seen> {
    let url = kind.url(within, "x");
    if operation == Records {
        let told = open_dataset(&url, Lengths::Published)?;
        let len = told.dimension("/t")?.len;
        let mut seen = look_at_records(&open_dataset(&url, Lengths::Longest)?)?;
        seen.insert("told".into(), (vec![len], look_at_records(&told)?["time"].1.clone()));
        return Ok(seen);
    }
    let reading = OpenOptions::new(known());
    let mut seen = look_at(zarr::open_with(&url, &reading)?.hierarchy())?;
    let unconsolidated = reading.clone().consolidated(zarr::Consolidated::Ignore);
    let live = look_at(zarr::open_with(&url, &unconsolidated)?.hierarchy())?;
    assert_eq!(seen, live, "the consolidated copies say otherwise than the documents");
    for (name, copy) in [("y", "copy"), ("z", "again")] {
        match zarr::open_with(&kind.url(within, name), &reading) {
            Err(e) if e.kind() == zarr::ErrorKind::NotFound => {}
            copied => {
                let copied = look_at(copied?.hierarchy())?;
                seen.extend(
                    copied.into_iter().map(|(path, array)| (format!("{copy}:{path}"), array)),
                );
            }
        }
    }
    Ok(seen)
}

fn before(operation: Operation) -> Seen {
    let array = |from, len| (vec![len], numbers(from, len));
    let all = match operation {
        Records => vec![
            ("told", array(1, 2)),
            ("time", array(1, 2)),
            ("value", (vec![2, 2], vec![10, 11, 20, 21])),
        ],
        _ => vec![
            ("/a", array(1, 10)),
            ("/a@n", (Vec::new(), vec![1])),
            ("/g/c", array(51, 6)),
            ("/p", array(71, 10)),
        ],
    };
    all.into_iter().map(|(name, array)| (name.to_owned(), array)).collect()
}

/// What the operation makes of it.
fn after(operation: Operation) -> Seen {
    let mut seen = before(operation);
    let mut set = |name: &str, parts: &[&[i32]]| {
        let elements = parts.concat();
        seen.insert(name.into(), (vec![elements.len() as u64], elements));
    };
    match operation {
        Append => set("/a", &[&numbers(1, 10), &numbers(101, 7)]),
        Shrink => set("/a", &[&numbers(1, 3)]),
        Grow => set("/a", &[&numbers(1, 10), &[-1; 7]]),
        Prepend => set("/p", &[&numbers(201, 6), &numbers(71, 10)]),
        Overwrite => {
            set("/a", &[&[-2; 20]]);
            seen.remove("/a@n");
        }
        EraseArray => seen.retain(|name, _| !name.starts_with("/a")),
        EraseGroup => seen.retain(|name, _| name != "/g/c"),
        EraseChunk => set("/a", &[&numbers(1, 4), &[-1; 4], &numbers(9, 2)]),
        Attributes => drop(seen.insert("/a@n".into(), (Vec::new(), vec![2]))),
        Consolidate => {}
        Copy => {
            let copies = before(operation).into_iter();
            seen.extend(copies.map(|(name, array)| (format!("copy:{name}"), array)));
        }
        Records => {
            set("told", &[&numbers(1, 3)]);
            set("time", &[&numbers(1, 3)]);
            seen.insert("value".into(), (vec![3, 2], vec![10, 11, 20, 21, 30, 31]));
        }
    }
    seen
}

/// What may be seen of a part that was added: the elements that were there, and among the new ones fill, if `error` says so.
fn is_grown(seen: &[i32], old: &[i32], new: &[i32], before: bool, error: &str) -> bool {
    let (added, kept) = if before {
        seen.split_at(seen.len().saturating_sub(old.len()))
    } else {
        let (kept, added) = seen.split_at(old.len().min(seen.len()));
        (added, kept)
    };
    let fill = added.iter().zip(new).any(|(seen, new)| seen != new);
    kept == old
        && (added.is_empty() || added.len() == new.len())
        && added.iter().zip(new).all(|(seen, new)| seen == new || *seen == -1)
        && (!fill || error.contains("read as the fill value"))
}

/// Whether this may be seen after the operation.
fn judge(operation: Operation, seen: &Seen, outcome: &Outcome, is_anew: bool) -> Outcome {
    let (before, after) = (before(operation), after(operation));
    let wrong = |name: &str| {
        let (is, was) = (seen.get(name), before.get(name));
        Err(format!("{name} is {is:?} and was {was:?}, after {outcome:?}"))
    };
    let names = before.keys().chain(after.keys()).chain(seen.keys());
    for name in names {
        // A handle says nothing of what others are told, and does not look at the copy.
        if !is_anew && (name == "told" || name.starts_with("copy:")) {
            continue;
        }
        let (is, was, due) = (seen.get(name), before.get(name), after.get(name));
        let Err(error) = outcome else { if is == due { continue } else { return wrong(name) } };
        if is == was || is == due {
            continue;
        }
        let may_be = match (operation, name.as_str(), is) {
            (Append, "/a", Some((_, is))) => {
                is_grown(is, &numbers(1, 10), &numbers(101, 7), false, error)
            }
            (Prepend, "/p", Some((_, is))) => {
                is_grown(is, &numbers(71, 10), &numbers(201, 6), true, error)
            }
            (Overwrite, "/a" | "/a@n", None) => true,
            (Copy, _, Some(_)) => name.starts_with("copy:"),
            (Records, "time" | "value", Some((_, is))) => {
                let (was, due) = (&was.expect("before").1, &due.expect("after").1);
                let no_value = i32::MIN + 1;
                let mut places = is.iter().zip(due).enumerate();
                is.len() == due.len()
                    && places.all(|(at, (is, due))| is == due || at >= was.len() && *is == no_value)
            }
            _ => false,
        };
        if !may_be {
            return wrong(name);
        }
    }
    Ok(())
}

/// Whether this is seen after the operation was tried again: what a second one makes of what the first one left.
fn judge_again(operation: Operation, seen: &Seen, first: &Outcome) -> Outcome {
    let mut due = match first {
        Ok(()) => after(operation),
        Err(_) => after_again(operation),
    };
    let mut seen = seen.clone();
    seen.retain(|name, _| !name.starts_with("copy:"));
    due.retain(|name, _| !name.starts_with("copy:"));
    // The first may have left its place.
    let len = |seen: &Seen, name: &str| seen.get(name).map_or(0, |(_, elements)| elements.len());
    let more = |name: &str| len(&seen, name).checked_sub(len(&due, name));
    match (operation, more("/a"), more("/p"), more("time")) {
        (Append, Some(7), ..) => drop(seen.get_mut("/a").expect("there").1.drain(10..17)),
        (Prepend, _, Some(6), _) => drop(seen.get_mut("/p").expect("there").1.drain(6..12)),
        (Records, .., Some(1)) => {
            for (name, place) in [("time", 2..3), ("value", 4..6), ("told", 2..3)] {
                if let Some((shape, elements)) = seen.get_mut(name) {
                    elements.drain(place);
                    shape[0] -= 1;
                }
            }
        }
        _ => {}
    }
    if matches!(operation, Append | Prepend) {
        for (shape, elements) in seen.values_mut().filter(|(shape, _)| shape.len() == 1) {
            shape[0] = elements.len() as u64;
        }
    }
    if !seen.contains_key("told") {
        due.remove("told");
    }
    if seen == due { Ok(()) } else { Err(format!("the second time: {seen:?}, not {due:?}")) }
}

fn after_again(operation: Operation) -> Seen {
    let mut seen = after(operation);
    let mut fill = |name: &str, begin: &[i32], len: usize| {
        let elements = [begin, &vec![-1; len - begin.len()]].concat();
        seen.insert(name.into(), (vec![len as u64], elements));
    };
    match operation {
        Shrink => fill("/a", &[1, 2, 3], 17),
        EraseArray => fill("/a", &[], 20),
        EraseGroup => fill("/g/c", &[], 20),
        Copy => {
            let copies = before(operation).into_iter();
            seen.extend(copies.map(|(name, array)| (format!("again:{name}"), array)));
        }
        _ => {}
    }
    seen
}

impl Handle {
    /// The operation a second time, and what brings to light what the first one should have forgotten.
    fn operate_again(&self, kind: Kind, operation: Operation, within: &Path) -> Result<()> {
        match self.operate(kind, operation, within, "z") {
            // The first time it got that far.
            Err(e)
                if matches!(operation, EraseArray | EraseGroup)
                    && e.kind() == zarr::ErrorKind::NotFound => {}
            done => done?,
        }
        let Handle::Hierarchy(hierarchy, a, _) = self else { return Ok(()) };
        let create = |at: &str| {
            let array = hierarchy.create_array(path(at)).shape(&[20]).data_type_named("int32");
            array.chunks(&[4]).fill_value(-1i64).create()
        };
        match operation {
            Shrink => a.as_ref().expect("it is there").resize(&[17])?,
            EraseArray => drop(create("/a")?),
            EraseGroup => drop(create("/g/c")?),
            _ => return Ok(()),
        }
        hierarchy.flush()
    }
}

/// A kind of call, which of them fails, with what error, and whether all that follow fail, too.
type Fault<'a> = (&'a str, usize, i32, bool);

/// Tells `fail_calls.c` to let calls fail from now on.
fn arm((call, at, errno, always): Fault<'_>) {
    let order = format!("/fail_calls/{call}/{at}/{errno}/{}", u8::from(always));
    let error = fs::create_dir(order).expect_err("the order is taken");
    assert_eq!(error.kind(), ErrorKind::NotFound, "`fail_calls.c` is not there");
}

/// Lets no call fail any more; whether one did.
fn disarm() -> bool {
    let error = fs::create_dir("/fail_calls/off").expect_err("the order is taken");
    error.kind() == ErrorKind::AlreadyExists
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Files that are no key's.
fn left_over(folder: &Path, found: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string().expect("a name");
        if entry.file_type()?.is_dir() {
            left_over(&entry.path(), found)?;
        } else if [".zarr-", "-part", "-compact"].iter().any(|part| name.contains(part)) {
            found.push(name);
        }
    }
    Ok(())
}

/// Asks the parent what it sees.
fn ask(operation: Operation, is_again: bool, within: &Path, outcome: &Outcome) -> Outcome {
    let at = OPERATIONS.iter().position(|other| *other == operation).expect("one of them");
    let outcome = match outcome {
        Ok(()) => "ok".to_owned(),
        Err(e) => format!("error {}", e.replace(['\n', '\t'], " ")),
    };
    println!("ask\t{at}\t{}\t{}\t{outcome}", u8::from(is_again), within.display());
    io::stdout().flush().expect("the parent listens");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).expect("the parent answers");
    match answer.trim_end() {
        "ok" => Ok(()),
        other => Err(format!("in another process: {other}")),
    }
}

/// The parent's answer.
fn answer(kind: Kind, question: &str) -> Option<Outcome> {
    // The test's name may stand before it.
    let (_, question) = question.split_once("ask\t")?;
    let mut parts = question.split('\t');
    let mut part = || parts.next().expect("a part of the question");
    let operation = OPERATIONS[part().parse::<usize>().expect("a number")];
    let (is_again, within, outcome) = (part() == "1", part(), part());
    let outcome = match outcome.strip_prefix("error ") {
        Some(error) => Err(error.to_owned()),
        None => Ok(()),
    };
    Some(match (look_anew(kind, operation, Path::new(within)), is_again) {
        (Err(e), _) => Err(format!("{e}, after {outcome:?}")),
        (Ok(seen), false) => judge(operation, &seen, &outcome, true),
        (Ok(seen), true) => judge_again(operation, &seen, &outcome),
    })
}

/// One operation with one fault; whether the fault struck.
fn run(
    kind: Kind,
    operation: Operation,
    fault: Fault<'_>,
    within: &Path,
) -> std::result::Result<bool, (bool, String)> {
    let mut struck = false;
    match try_one(kind, operation, fault, within, &mut struck) {
        Ok(()) => Ok(struck),
        Err(e) => Err((struck, e)),
    }
}

fn try_one(
    kind: Kind,
    operation: Operation,
    fault: Fault<'_>,
    within: &Path,
    struck: &mut bool,
) -> Outcome {
    let said = |what: &'static str| move |e: zarr::Error| format!("{what}: {e}");
    let handle = Handle::open(kind, operation, within).map_err(said("at first"))?;
    arm(fault);
    let outcome = handle.operate(kind, operation, within, "y").map_err(|e| e.to_string());
    let during = handle.look();
    *struck = disarm() || fault.0 == "size" && outcome.is_err();
    if let Ok(seen) = during {
        judge(operation, &seen, &outcome, false).map_err(|e| format!("during the fault: {e}"))?;
    }
    match handle.look() {
        Ok(seen) => judge(operation, &seen, &outcome, false)?,
        // Such a handle is of no more use.
        Err(_) if kind == Kind::Zip && outcome.is_err() => {}
        Err(e) if kind == Kind::Lmdb && e.to_string().contains("MDB_PANIC") => {}
        Err(e) => return Err(format!("the same handle: {e}, after {outcome:?}")),
    }
    ask(operation, false, within, &outcome)?;
    let mut handle = Some(handle);
    if outcome.is_err() {
        let again = handle.as_ref().expect("open").operate_again(kind, operation, within);
        match again {
            Ok(()) => {}
            Err(_) if matches!(kind, Kind::Zip | Kind::Lmdb) => {
                handle = None;
                let anew = Handle::open(kind, operation, within).map_err(said("opened anew"))?;
                anew.operate_again(kind, operation, within).map_err(said("tried anew"))?;
            }
            Err(e) => return Err(format!("tried again: {e}, after {outcome:?}")),
        }
    }
    drop(handle);
    ask(operation, true, within, &outcome)?;
    let mut left = Vec::new();
    left_over(within, &mut left).map_err(|e| e.to_string())?;
    // What could not be removed stays; the handle of the copy ended while the fault lasted.
    let may_stay = ["unlink", "lock"].contains(&fault.0) || operation == Copy && fault.3;
    if left.is_empty() || may_stay {
        Ok(())
    } else {
        Err(format!("{left:?} are left, after {outcome:?}"))
    }
}

/// Which n is next.
fn next(n: usize) -> usize {
    if is_whole() { n + 1 } else { 4 * n + 1 }
}

/// The child's part.
fn run_all(kind: Kind, within: &Path) {
    let (mut struck, mut wrong) = (0, Vec::new());
    let mut calls: Vec<(&str, i32, bool)> = Vec::new();
    for call in KINDS {
        let errors =
            ERRORS.iter().filter(|(errno, _)| *errno != -1 || ["write", "read"].contains(&call));
        calls.extend(errors.map(|&(errno, always)| (call, errno, always)));
    }
    calls.push(("size", 0, true));
    for operation in OPERATIONS {
        let template = within.join(format!("{operation:?}"));
        fs::create_dir(&template).expect("a folder");
        make(kind, operation, &template).expect("no fault yet");
        for (at, &(call, errno, always)) in calls.iter().enumerate() {
            // Each operation and each kind of store has other faults.
            let which = at + operation as usize + 5 * kind as usize;
            if !is_whole() && !which.is_multiple_of(6) {
                continue;
            }
            let mut n = 1;
            loop {
                let data = within.join("data");
                copy_folder(&template, &data).expect("no fault yet");
                let fault = (call, n, errno, always);
                let done = run(kind, operation, fault, &data);
                disarm();
                let goes_on = match done {
                    Ok(strikes) => strikes,
                    Err((strikes, e)) => {
                        wrong.push(format!("{kind:?} {operation:?} {fault:?}: {e}"));
                        strikes
                    }
                };
                fs::remove_dir_all(&data).expect("no fault any more");
                if !goes_on || n > 4000 {
                    break;
                }
                struck += 1;
                // LMDB's files are large from the start.
                n = if (call, kind) == ("size", Kind::Lmdb) { n + 32 } else { next(n) };
            }
        }
        fs::remove_dir_all(&template).expect("no fault any more");
    }
    println!("struck {struck}");
    assert!(wrong.is_empty(), "{} faults did harm:\n{}", wrong.len(), wrong.join("\n"));
}

fn sweep(test: &str, kind: Kind) {
    if let Some(within) = env::var_os("ZARR_FAULTS_IN") {
        return run_all(kind, Path::new(&within));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(env::current_exe().expect("this program"))
        .args([&*test_name(module_path!(), test), "--exact", "--nocapture", "--test-threads=1"])
        .env("ZARR_FAULTS_IN", folder.path())
        .env("FAIL_DIR", folder.path())
        .env("LD_PRELOAD", injector())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(fs::File::create(folder.path().join("said")).expect("a file"))
        .spawn()
        .expect("a child");
    let mut answers = child.stdin.take().expect("a pipe");
    let mut struck = 0;
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
        let line = line.expect("the child's words");
        if let Some(outcome) = answer(kind, &line) {
            let words = outcome.err().map_or("ok".into(), |e| e.replace('\n', " "));
            writeln!(answers, "{words}").expect("the child listens");
        }
        if let Some(number) = line.strip_prefix("struck ") {
            struck = number.parse().expect("a number");
        }
    }
    let status = child.wait().expect("a child");
    let said = fs::read_to_string(folder.path().join("said")).expect("a file");
    assert!(status.success(), "{said}");
    assert_eq!(said, "", "a library prints nothing");
    eprintln!("{kind:?}: {struck} faults struck");
    let least = if is_whole() { 50 } else { 25 };
    assert!(struck > least, "only {struck} faults struck");
}

#[test]
fn folders_lose_nothing() {
    sweep("folders_lose_nothing", Kind::Folder);
}

#[test]
fn shards_lose_nothing() {
    sweep("shards_lose_nothing", Kind::Shards);
}

#[test]
fn archives_lose_nothing() {
    sweep("archives_lose_nothing", Kind::Zip);
}

#[test]
fn lmdb_files_lose_nothing() {
    sweep("lmdb_files_lose_nothing", Kind::Lmdb);
}
