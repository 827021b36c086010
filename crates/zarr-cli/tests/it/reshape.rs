//! `resize`, `append` and `rename`: what they do, and that nothing is lost where they cannot.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::common::{FORMATS, Folder};

fn get(folder: &Folder, target: &str) -> String {
    folder.good(&format!("get {target}")).text().to_owned()
}

fn fed(folder: &Folder, line: &str, input: &[u8]) {
    let run = folder.feed(line, input);
    assert_eq!((run.code, &*run.err), (0, ""), "zarr {line}");
}

#[test]
fn a_shape_of_another_rank_says_how_many_axes_there_are() {
    let folder = Folder::new();
    folder.table("t.zarr", "v3");
    let why = folder.bad("resize t.zarr --path a --shape 3", 2);
    assert!(
        why.ends_with(
            "/a: --shape has 1 length, the array has 2 axes; give one length for each axis\n"
        ),
        "{why}"
    );
}

#[test]
fn a_resized_array_has_its_elements_and_no_revived_ones() {
    for format in FORMATS {
        let folder = Folder::new();
        folder.table("t.zarr", format);
        folder.good("resize t.zarr --path a --shape 2,4");
        assert_eq!(get(&folder, "t.zarr/a"), "[[1,2,3,4],[6,7,8,9]]\n");
        folder.good("resize t.zarr/a --shape 3,5");
        assert_eq!(get(&folder, "t.zarr/a"), "[[1,2,3,4,0],[6,7,8,9,0],[0,0,0,0,0]]\n");
        assert!(folder.bad("resize t.zarr/a --shape 3", 2).contains("/a"));
        folder.bad("resize t.zarr/absent --shape 3", 3);
        folder.bad("resize t.zarr --shape 3", 2);
    }
}

#[test]
fn what_is_appended_is_at_the_end_in_every_format() {
    for format in FORMATS {
        let folder = Folder::new();
        folder.table("t.zarr", format);
        let rows = folder.good("get t.zarr/a --region 0:2,: --format npy").out;
        fed(&folder, "append t.zarr --path a --axis 0 --format npy", &rows);
        fed(&folder, "append t.zarr/a --axis 0", b"[[21,22,23,24,25]]");
        fed(&folder, "append t.zarr/a", b"[26,27,28,29,30]");
        fed(&folder, "append t.zarr/a --axis -2 --format csv", b"31,32,33,34,35\n36,37,38,39,40\n");
        let raw: Vec<u8> = (41..46i32).flat_map(i32::to_le_bytes).collect();
        fed(&folder, "append t.zarr/a --axis 0 --format raw", &raw);
        let rows = folder.good("get t.zarr/a --region 3:,:").text().to_owned();
        let due = "[[16,17,18,19,20],[1,2,3,4,5],[6,7,8,9,10],[21,22,23,24,25],[26,27,28,29,30],\
                   [31,32,33,34,35],[36,37,38,39,40],[41,42,43,44,45]]\n";
        assert_eq!(rows, due);
        // Columns.
        folder.good("resize t.zarr/a --shape 2,2");
        fed(&folder, "append t.zarr/a --axis 1", b"[[1,2],[3,4]]");
        fed(&folder, "append t.zarr/a --axis 1 --format csv", b"5,6\n7,8\n");
        let columns = folder.feed("append t.zarr/a --axis 1 --format csv", b"9,10\n11\n");
        assert_eq!(columns.code, 2, "{}", columns.err);
        assert_eq!(get(&folder, "t.zarr/a"), "[[1,2,1,2,5,6],[6,7,3,4,7,8]]\n");
        fed(&folder, "append t.zarr/a", b"[]");
    }
}

#[test]
fn input_that_cannot_be_taken_leaves_the_shape() {
    let folder = Folder::new();
    folder.good("create t.zarr --path a --shape 2,3 --chunks 2,2 --dtype int16 --dims time,lat");
    let before = folder.good("info t.zarr/a --json").out;
    let floats = folder.good("create f.zarr --shape 2,3 --dtype float64").out;
    assert!(floats.is_empty());
    let npy = folder.good("get f.zarr --format npy").out;
    let cut = &npy[..npy.len() - 8];
    let long = [&npy[..], &[0; 8]].concat();
    let cases: [(&str, &[u8]); 9] = [
        ("--axis 0 --format npy", &npy),
        ("--axis 0 --format npy", cut),
        ("--axis 0 --format npy", &long),
        ("--axis 0 --format npy", b"no file"),
        ("--axis 0", b"[[1,2],[3,4]]"),
        ("--axis 0", b"[[1,2,\"x\"]]"),
        ("--axis 0 --format raw", &[0; 7]),
        ("--axis 0 --format csv", b"1,2\n"),
        ("--axis 5", b"[1]"),
    ];
    for (options, input) in cases {
        let run = folder.feed(&format!("append t.zarr/a {options}"), input);
        assert_eq!(run.code, 2, "{options}: {}", run.err);
        assert!(run.err.contains("/a: "), "{options}: {}", run.err);
        assert_eq!(folder.good("info t.zarr/a --json").out, before, "{options}");
    }
    let named = folder.feed("append t.zarr/a --axis tmie", b"[1]");
    assert!(
        named.err.contains("there is no axis `tmie`; axes: time, lat; did you mean `time`?"),
        "{}",
        named.err
    );
    fed(&folder, "append t.zarr/a --axis lat", b"[[7],[8]]");
    assert_eq!(get(&folder, "t.zarr/a"), "[[0,0,0,7],[0,0,0,8]]\n");
}

#[test]
fn programs_that_append_at_once_all_arrive() {
    let folder = Folder::new();
    folder.good("create t.zarr --path a --shape 0 --chunks 7 --dtype int32");
    thread::scope(|scope| {
        for n in 1..=8 {
            let folder = &folder;
            scope.spawn(move || {
                let list = format!("[{}]", vec![n.to_string(); 5].join(","));
                fed(folder, "append t.zarr/a", list.as_bytes());
            });
        }
    });
    let json = folder.good("get t.zarr/a").json();
    let elements: Vec<u64> = json.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    assert_eq!(elements.len(), 40);
    for n in 1..=8 {
        assert_eq!(elements.iter().filter(|&&found| found == n).count(), 5, "{elements:?}");
    }
    assert!(elements.chunks(5).all(|five| five.iter().all(|n| *n == five[0])), "{elements:?}");
}

#[test]
fn a_renamed_node_is_all_there() {
    let cases = FORMATS.map(|format| (format, "t.zarr"));
    let others = [("v3", "t.zip"), ("v2", "t.zip"), ("v3", "t.lmdb")];
    for (format, target) in cases.into_iter().chain(others) {
        let folder = Folder::new();
        folder.table(target, format);
        folder.good(&format!("attrs {target} --path a --set units=K"));
        folder.good(&format!("create {target} --path g/h --group --attr n=1"));
        folder.good(&format!("consolidate {target}"));
        let sums =
            |path: &str| folder.good(&format!("checksum {target} --path {path}")).text().to_owned();
        let digest = |text: &str| text.split_whitespace().next().unwrap().to_owned();
        let before = digest(&sums("a"));
        folder.good(&format!("rename {target} --path a g/deep/b"));
        assert_eq!(digest(&sums("g/deep/b")), before, "{format} {target}");
        folder.bad(&format!("info {target} --path a"), 3);
        // A group with what is below; to a name that is free again.
        folder.good(&format!("rename {target} --path g a"));
        assert_eq!(digest(&sums("a/deep/b")), before);
        assert_eq!(folder.good(&format!("attrs {target} --path a/h n")).text(), "1\n");
        folder.good(&format!("consolidate {target} --check"));
        folder.good(&format!("info {target} --consolidated"));
        folder.good(&format!("validate {target}"));
    }
}

/// Where a group on the way has copies of documents, they follow; nodes that only the copies describe are not lost.
#[test]
fn copies_of_documents_below_the_root_follow_a_renamed_node() {
    for (format, document) in [("v2", ".zarray"), ("v3", "zarr.json")] {
        let folder = Folder::new();
        for node in ["p/g/h", "p/other", "q"] {
            folder.good(&format!(
                "create s.zarr --path {node} --shape 2 --dtype int8 --format {format}"
            ));
        }
        folder.good("consolidate s.zarr --path p");
        for (old, new) in [("p/g", "p/k"), ("p/other", "other"), ("q", "p/q")] {
            folder.good(&format!("rename s.zarr --path {old} {new}"));
            folder.good("consolidate s.zarr --path p --check");
        }
        let tree = folder.good("tree s.zarr/p --consolidated").text().to_owned();
        assert!(tree.contains("h  ") && tree.contains("q  "), "{tree}");
        fs::remove_file(folder.path(&format!("s.zarr/p/k/h/{document}"))).unwrap();
        let refused = folder.bad("rename s.zarr --path p/k p/g", 2);
        assert!(refused.contains("/p/k/h has no document"), "{refused}");
        // What the message advises.
        folder.run("repair s.zarr --apply");
        folder.good("rename s.zarr --path p/k p/g");
        folder.good("info s.zarr --path p/g/h");
        folder.good("consolidate s.zarr --path p --check");
    }
}

#[test]
fn a_node_that_is_copied_is_read_back_before_the_old_one_is_erased() {
    let folder = Folder::new();
    folder.table("t.zip", "v3");
    let trace = folder.run("rename t.zip --path a b --trace").err;
    let at = |begin: &str| trace.find(begin).unwrap_or_else(|| panic!("no `{begin}` in {trace}"));
    let erased = at("trace: erase a/zarr.json");
    for chunk in ["0/0", "0/1", "1/0", "1/1"] {
        assert!(at(&format!("trace: read b/c/{chunk} (")) < erased, "{chunk}");
    }
    let flushed = at("trace: flush /");
    assert!(at("trace: put_if b/zarr.json") < flushed && flushed < erased, "{trace}");
}

/// Of two that give different nodes the same path at the same time, one does, and the other node stays where it is.
#[test]
fn two_renames_to_one_path_lose_neither_node() {
    for target in ["t.zarr", "t.zip"] {
        let folder = Folder::new();
        folder.table(target, "v3");
        folder.good(&format!("create {target} --path b --shape 3 --dtype int32"));
        fed(&folder, &format!("put {target} --path b"), b"[7,8,9]");
        let sum = |path: &str| {
            let run = folder.run(&format!("checksum {target} --path {path}"));
            (run.code == 0).then(|| run.text().split_whitespace().next().unwrap().to_owned())
        };
        let (a, b) = (sum("a"), sum("b"));
        let start = |old: &str| {
            let mut command = folder.command(&format!("rename {target} --path {old} c"));
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let mut both = [start("a"), start("b")];
        let codes = both.each_mut().map(|child| child.wait().unwrap().code());
        let moved = codes.map(|code| code == Some(0));
        match moved {
            [true, false] => assert_eq!((sum("a"), sum("b"), sum("c")), (None, b, a)),
            [false, true] => assert_eq!((sum("a"), sum("b"), sum("c")), (a, None, b)),
            _ => panic!("{target}: {codes:?}"),
        }
        folder.good(&format!("validate {target}"));
    }
}

/// As people type it for `mv`.
#[test]
fn the_new_path_may_begin_with_the_hierarchy() {
    let folder = Folder::new();
    folder.table("t.zarr", "v3");
    folder.good("create t.zarr/g/h --group");
    folder.good("rename t.zarr/a t.zarr/g/b");
    folder.good("info t.zarr/g/b");
    let whole = folder.path("t.zarr");
    folder.good(&format!("mv t.zarr/g/b {}/g/h/c", whole.display()));
    folder.good("info t.zarr/g/h/c");
    folder.good(&format!("rename {0}/g/h/c {0}/c", whole.display()));
    folder.good("rename t.zarr/c d");
    folder.good("info t.zarr/d");
    // A place of its own is no path in this hierarchy.
    let said = folder.bad("rename t.zarr/d other.zarr/d", 2);
    assert!(
        said.contains("run `zarr copy t.zarr/d other.zarr/d`, then `zarr rm t.zarr/d`"),
        "{said}"
    );
    let said = folder.bad("rename t.zarr --path d other.zarr/d", 2);
    assert!(said.contains("then `zarr rm t.zarr/d`"), "{said}");
    let said = folder.bad("rename t.zarr/d t.zarr/d", 2);
    assert!(said.contains("/d already has this path"), "{said}");
}

/// The dimension of a coordinate keeps its name in all arrays that have it.
#[test]
fn a_renamed_coordinate_is_said_to_be_none_any_more() {
    let folder = Folder::new();
    folder.good("create d.zarr/time --shape 3 --dtype int32 --dims time");
    folder.good("create d.zarr/t2m --shape 3 --dtype int32 --dims time");
    let run = folder.run("rename d.zarr/time when");
    assert_eq!(run.code, 0);
    assert!(run.err.contains("the dimension is still called `time`"), "{}", run.err);
    folder.good("rename d.zarr/t2m t");
}

#[test]
fn a_renaming_that_cannot_be_changes_nothing() {
    let folder = Folder::new();
    for format in FORMATS {
        let target = format!("{format}.zarr");
        folder.table(&target, format);
        folder.good(&format!("create {target} --path g/b --shape 2 --dtype int8"));
        folder.write(&format!("{target}/g/notes.txt"), "mine");
        let tree = |folder: &Folder| folder.good(&format!("tree {target}")).text().to_owned();
        let before = tree(&folder);
        for (options, code) in [
            ("--path / x", 2),
            ("--path g g/c", 2),
            ("--path a a", 2),
            ("--path a g/b", 2),
            ("--path absent x", 3),
            ("--path g a/x", 2),
            ("--path a ../x", 2),
            ("--path a /", 2),
            ("--path a .zarr-lock", 2),
            ("--path a __x", if format == "v3" { 2 } else { 0 }),
        ] {
            if code == 0 {
                continue;
            }
            let said = folder.bad(&format!("rename {target} {options}"), code);
            assert!(said.starts_with("error: "), "{said}");
            assert_eq!(tree(&folder), before, "{options}");
        }
    }
}

#[test]
fn a_renaming_that_is_killed_loses_nothing() {
    let folder = Folder::new();
    let target = "k.zarr";
    let array = "--shape 300,100 --chunks 4,25 --dtype int32 --format draft-2020";
    folder.good(&format!("create {target} --path a {array}"));
    let list: Vec<String> = (0..30_000).map(|n| n.to_string()).collect();
    fed(&folder, &format!("put {target}/a"), format!("[{}]", list.join(",")).as_bytes());
    let sum = |path: &str| {
        let run = folder.run(&format!("checksum {target} --path {path}"));
        (run.code == 0).then(|| run.text().split_whitespace().next().unwrap().to_owned())
    };
    let due = sum("a");
    let (mut old, mut new) = ("a", "b");
    for delay in [5, 10, 20, 40, 80, 160, 320, 640] {
        let mut child = folder
            .command(&format!("rename {target} --path {old} {new}"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(delay));
        let _ = child.kill();
        child.wait().unwrap();
        let (at_old, at_new) = (sum(old), sum(new));
        assert!(at_old == due || at_new == due, "after {delay} ms");
        if at_new.is_none() {
            continue;
        }
        // The new one is whole: what is left of the old one goes.
        assert_eq!(at_new, due, "after {delay} ms");
        folder.run(&format!("rm {target} --path {old}"));
        std::mem::swap(&mut old, &mut new);
    }
    let again = folder.run(&format!("rename {target} --path {old} {new}"));
    assert_eq!((again.code, sum(new)), (0, due), "{}", again.err);
    assert_eq!(sum(old), None);
}

/// A NCZarr dataset keeps its fixed dimensions; of an unlimited one, and of plain Zarr, the arrays that no longer fit are named.
#[test]
fn dimensions_that_others_share_are_told_or_refused() {
    let folder = Folder::new();
    let cdl = "netcdf n { dimensions: t = UNLIMITED; x = 2; variables: double t(t); int v(t, x); data: t = 1, 2; v = 1, 2, 3, 4; }";
    folder.write("n.cdl", cdl);
    for format in ["nczarr-v2", "nczarr-v3"] {
        let target = format!("{format}.zarr");
        folder.good(&format!("gen n.cdl -o {target} --format {format}"));
        for place in [format!("{target} --path v"), format!("{target}/v")] {
            let why = folder.bad(&format!("resize {place} --shape 2,3"), 2);
            assert!(why.contains("the dimension `x` has the fixed length 2"), "{why}");
            let refused = folder.feed(&format!("append {place} --axis 1"), b"[[9],[9]]");
            assert!(refused.code == 2 && refused.err.contains("fixed length"), "{}", refused.err);
        }
        let grown = folder.feed(&format!("resize {target}/v --shape 4,2"), b"");
        assert!(
            grown.err.contains("/v: dimension `t` is 4 long here, but 2 in /t"),
            "{}",
            grown.err
        );
        // netCDF's library opens no dataset whose group says another length.
        let due = "netCDF opens the dataset only when all variables with the dimension `t`";
        assert!(grown.err.contains(due), "{}", grown.err);
        let says = |len: u64| {
            let documents =
                [".zgroup", ".zattrs", "zarr.json"].map(|name| target.clone() + "/" + name);
            let text: String = documents
                .iter()
                .filter_map(|at| std::fs::read_to_string(folder.path(at)).ok())
                .collect();
            let text = text.replace([' ', '\n'], "");
            text.contains(&format!("\"t\":{{\"size\":{len},\"unlimited\":1}}"))
        };
        assert!(says(2) && !says(4), "{target}");
        fed(&folder, &format!("append {target}/t"), b"[3,4]");
        assert!(says(4) && !says(2), "{target}");
        let at_first = folder.feed(&format!("append {target}/v"), b"[[5,6]]");
        assert!(at_first.code == 0 && at_first.err.contains("is 5 long here, but 4 in /t"));
        assert!(folder.good(&format!("dump -h {target}")).text().contains("(5 currently)"));
        folder.good(&format!("resize {target}/v --shape 4,2"));
        let shorter = folder.run(&format!("resize {target}/t --shape 3"));
        assert!(shorter.code == 0 && shorter.err.contains(due), "{}", shorter.err);
        folder.good(&format!("resize {target}/v --shape 3,2"));
        assert!(says(3), "{target}");
    }
    // An archive has one writer at a time, and shows what was written when that has ended.
    folder.good("gen n.cdl -o n.zip --format nczarr-v2");
    let grown = folder.feed("append n.zip/t", b"[3]");
    assert!(grown.code == 0 && grown.err.contains("/t: netCDF opens"), "{}", grown.err);
    fed(&folder, "append n.zip/v", b"[[5,6]]");
    folder.good("copy n.zip z.zarr");
    let text = std::fs::read_to_string(folder.path("z.zarr/.zattrs")).unwrap();
    assert!(text.replace([' ', '\n'], "").contains(r#""t":{"size":3,"unlimited":1}"#), "{text}");
    for (name, len) in [("x", 3), ("a", 3), ("b", 5)] {
        let line = format!("create p.zarr --path {name} --shape {len} --dtype int8 --dims x");
        assert_eq!(folder.run(&line).code, 0);
    }
    let grown = folder.feed("resize p.zarr --path a --shape 5", b"");
    assert!(
        grown.err.contains("/a: dimension `x` is 5 long here, but 3 in /x: xarray"),
        "{}",
        grown.err
    );
    // The array of the coordinates itself: what it no longer fits is named.
    let grown = folder.feed("append p.zarr --path x", b"[9]");
    assert!(
        grown.err.contains("/x: dimension `x` is 4 long here, but 5 in /a, 5 in /b: xarray"),
        "{}",
        grown.err
    );
}
