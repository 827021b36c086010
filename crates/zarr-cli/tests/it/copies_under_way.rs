//! Copies under way: what they are asked for and say, and how they are gone on with or undone.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::Folder;
use crate::common::copied::source;
use zarr::{Json, OpenOptions};
use zarr_testkit::sample;

fn start(folder: &Folder, line: &str) -> Child {
    folder.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills the program once at most `left` files are in `folder`. Whether it ended by itself.
fn kill_when_left(mut child: Child, folder: &Path, left: usize) -> bool {
    while files(folder) > left {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return true;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap().success()
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

/// What is asked for, what is refused, and what is said.
#[test]
fn options_choose_what_is_copied() {
    let folder = Folder::new();
    source(&folder, 600);
    let told = folder.good("copy a.zarr b.zarr --select small --dry-run --json").json();
    let told = told.as_object().unwrap();
    assert_eq!(told.get("nodes").and_then(Json::as_u64), Some(3));
    assert_eq!(told.get("chunks").and_then(Json::as_u64), Some(5));
    assert_eq!(told.get("bytes").and_then(Json::as_u64), Some(36));
    assert!(!folder.path("b.zarr").exists(), "a dry run writes nothing");
    folder.good("copy a.zarr b.zarr --exclude big");
    assert_eq!(folder.good("tree b.zarr").text(), "/\n└── g\n    └── small  int32 (9,)\n");
    let refused = folder.bad("copy a.zarr b.zarr", 2);
    assert!(refused.contains("--overwrite"), "{refused}");
    folder.good("copy a.zarr b.zarr --overwrite --include 'g/*'");
    folder.good("copy a.zarr c.zarr --path g/small --region 1:8:3");
    assert_eq!(folder.good("get c.zarr").text(), "[2,5,8]\n");
    folder.good("copy a.zarr d.zarr --path g/small --region ::-2");
    assert_eq!(folder.good("get d.zarr").text(), "[9,7,5,3,1]\n");
    assert!(
        folder
            .bad("copy a.zarr e.zarr --region 1:2", 2)
            .contains("--region applies to a single array")
    );
    folder.good("copy a.zarr f.zarr --region small=4:6 --region big=598:,::20");
    assert_eq!(folder.good("get f.zarr --path g/small").text(), "[5,6]\n");
    let part = "[[23921,23941],[23961,23981]]\n";
    assert_eq!(folder.good("get f.zarr --path big").text(), part);
    // A path counts more than a name, and twice the same is a mistake.
    folder.good("copy a.zarr i.zarr --region g/small=-2: --region small=:3 --include g");
    assert_eq!(folder.good("get i.zarr --path g/small").text(), "[8,9]\n");
    let twice = "copy a.zarr j.zarr --region small=-2: --region small=:3";
    assert!(folder.bad(twice, 2).contains("/g/small: --region: two regions"), "{twice}");
    assert!(folder.bad("copy a.zarr j.zarr --region /small=1:2", 2).contains("names no array"));
    folder.good("copy a.zarr h.zarr --region g/small=-2: --select big,small");
    assert_eq!(folder.good("get h.zarr --path g/small").text(), "[8,9]\n");
    assert!(folder.good("info h.zarr --path big").text().contains("600 × 40"));
    assert!(folder.bad("copy a.zarr e.zarr --region smal=1:2", 2).contains("names no array"));
    assert!(folder.bad("copy a.zarr e.zarr --select smal", 2).contains("matches no node"));
    for (options, why) in [
        ("--include small", "did you mean `g/small`?"),
        ("--include g/small --exclude g", "other options leave out"),
        ("--include big --include g --exclude 'g/*' --select small", "other options leave out"),
        ("--exclude '**'", "all nodes below / are left out"),
    ] {
        let err = folder.bad(&format!("copy a.zarr e.zarr {options}"), 2);
        assert!(err.contains(why), "{options}: {err}");
    }
    assert!(folder.bad("copy a.zarr e.zarr --finish", 2).contains("no copy to"));
    assert!(folder.bad("copy a.zarr e.zarr --part 9/8", 2).contains("I/N"));
    assert!(!folder.path("e.zarr").exists());
}

/// A copy does not overwrite its source, whatever it is called.
#[test]
fn a_source_is_not_overwritten_by_its_copy() {
    let folder = Folder::new();
    let all = source(&folder, 20);
    std::os::unix::fs::symlink(folder.path("a.zarr"), folder.path("link.zarr")).unwrap();
    std::fs::create_dir(folder.path("deep")).unwrap();
    std::os::unix::fs::symlink(folder.path("."), folder.path("deep/up")).unwrap();
    let url = |scheme: &str, name: &str| format!("{scheme}://{}", folder.path(name).display());
    let (zip, lmdb) = (url("zip", "a.zip"), url("lmdb", "a.mdb"));
    folder.good(&format!("copy a.zarr {zip}"));
    folder.good(&format!("copy a.zarr {lmdb}"));
    std::fs::create_dir(folder.path("link.mdb")).unwrap();
    for (name, link) in [("a.zip", "link.zip"), ("a.mdb/data.mdb", "link.mdb/data.mdb")] {
        std::fs::hard_link(folder.path(name), folder.path(link)).unwrap();
    }
    folder.good("copy a.zarr b.zarr");
    let refused = [
        "a.zarr a.zarr",
        "a.zarr ./a.zarr/",
        "a.zarr link.zarr",
        "link.zarr a.zarr",
        "a.zarr/g a.zarr",
        "a.zarr a.zarr --at /g --path /g",
        "a.zarr a.zarr/g --include big",
        "a.zarr a.zarr --chunks 7,40 --include big",
        &format!("{zip} {zip}"),
        &format!("{lmdb} {lmdb}"),
        "a.zarr deep/up/a.zarr",
        "deep/up/a.zarr/g a.zarr",
        "deep/up/a.zarr a.zarr/h/i",
        &format!("a.zarr {}", url("file", "deep/up/deep/up/a.zarr")),
        &format!("{zip} {}", url("zip", "link.zip")),
        &format!("{lmdb} {}", url("lmdb", "deep/up/link.mdb")),
        &format!("{lmdb}/g {lmdb}"),
        "a.zarr a.zarr --to nczarr-v3",
    ];
    for places in refused {
        for option in ["--dry-run", ""] {
            let err = folder.bad(&format!("copy {places} --overwrite {option}"), 2);
            assert!(err.contains("would erase") || err.contains("zarr rm"), "{places}: {err}");
        }
        assert_eq!(folder.run("diff a.zarr b.zarr").code, 0, "{places}");
    }
    for copy in [zip, lmdb] {
        assert_eq!(folder.run(&format!("diff {copy} b.zarr")).code, 0, "{copy}");
    }
    // Neighbours may be overwritten, and what only begins with the same name.
    folder.good("copy a.zarr a.zarr2");
    folder.good("copy a.zarr a.zarr2 --overwrite");
    folder.good("copy a.zarr/g a.zarr/h");
    folder.good("copy a.zarr/g a.zarr/h --overwrite");
    assert!(folder.good("get a.zarr2 --path big").text() == all);
}

/// A folder that is mounted at a second place is the same one.
#[test]
fn a_source_is_not_overwritten_through_a_mount() {
    let folder = Folder::new();
    source(&folder, 20);
    folder.good("copy a.zarr b.zarr");
    std::fs::create_dir(folder.path("mount")).unwrap();
    let mounted = |what: &str, places: &str| {
        let zarr = env!("CARGO_BIN_EXE_zarr");
        let script =
            format!("mount --bind {what} mount || exit 77; {zarr} copy {places} --overwrite");
        let ran = std::process::Command::new("unshare")
            .args(["-m", "sh", "-c", &script])
            .current_dir(folder.path("."))
            .output();
        ran.map_or(77, |ran| ran.status.code().unwrap_or(0))
    };
    if mounted("a.zarr", "a.zarr mount/new") == 77 {
        zarr_testkit::skipped("copies under way", "this system lets the test mount nothing");
        return;
    }
    for (what, places) in [
        ("a.zarr", "a.zarr mount"),
        ("a.zarr", "mount a.zarr"),
        ("a.zarr/g", "a.zarr mount"),
        ("a.zarr/g", "mount/small a.zarr"),
        (".", "a.zarr mount/a.zarr/new"),
    ] {
        assert_eq!(mounted(what, places), 2, "{what}: {places}");
        assert_eq!(folder.run("diff a.zarr b.zarr").code, 0, "{places}");
    }
    assert_eq!(mounted("b.zarr", "a.zarr mount"), 0);
    assert_eq!(folder.run("diff a.zarr b.zarr").code, 0);
}

/// Copies to netCDF datasets have a journal, parts and a dry run as others have; what goes on needs no format.
#[test]
fn netcdf_datasets_are_copied_in_parts_and_anew() {
    let folder = Folder::new();
    let all = source(&folder, 600);
    folder.good("create a.zarr --path texts --shape 3 --chunks 2 --dtype string");
    let put = folder.feed("put a.zarr --path texts", b"[\"one\",\"\",\"drei\"]");
    assert_eq!(put.code, 0, "{}", put.err);
    let told = folder.good("copy a.zarr b.zarr --to nczarr-v2 --dry-run --json").json();
    let told = told.as_object().unwrap();
    assert_eq!(told.get("chunks").and_then(Json::as_u64), Some(607));
    assert_eq!(told.get("nodes").and_then(Json::as_u64), Some(5));
    assert!(!folder.path("b.zarr").exists(), "a dry run writes nothing");
    for part in [2, 3] {
        folder.good(&format!("copy a.zarr b.zarr --to nczarr-v2 --part {part}/3"));
    }
    assert!(!folder.path("b.zarr/.zgroup").exists() && folder.path("b.zarr/.zarr-copy").exists());
    assert!(folder.bad("info b.zarr", 3).contains("copy under way, 66 % done"));
    assert!(folder.bad("dump b.zarr", 3).contains("copy under way"));
    assert!(folder.bad("copy a.zarr b.zarr --finish", 2).contains("not all parts are done: 1/3"));
    assert!(folder.bad("copy a.zarr b.zarr --to nczarr-v2", 2).contains("--resume"));
    let other = folder.bad("copy a.zarr b.zarr --to nczarr-v3 --resume", 2);
    assert!(other.contains("its format is v2"), "{other}");
    let plain = folder.bad("copy a.zarr b.zarr --to v2 --resume", 2);
    assert!(plain.contains("its `netcdf` is"), "{plain}");
    folder.good("copy a.zarr b.zarr --part 1/3 --verify --memory 64MiB");
    folder.good("copy a.zarr b.zarr --finish");
    assert!(!folder.path("b.zarr/.zarr-copy").exists());
    assert!(folder.good("get b.zarr --path big").text() == all);
    assert_eq!(folder.good("get b.zarr --path texts").text(), "[\"one\",\"\",\"drei\"]\n");
    assert!(folder.good("dump -h b.zarr").text().contains("string texts("));
    // Nothing is overwritten unless that is asked for, and nothing of another dialect at all.
    assert!(folder.bad("copy a.zarr b.zarr --to nczarr-v2", 2).contains("already exists"));
    assert!(folder.bad("copy a.zarr b.zarr --to nczarr-v3 --overwrite", 2).contains("zarr rm"));
    folder.good("copy a.zarr b.zarr --to nczarr-v2 --overwrite --verify");
    assert!(folder.good("get b.zarr --path big").text() == all);
    assert!(folder.bad("copy a.zarr c.zarr --to nczarr-v2 --memory 1KiB", 2).contains("memory"));
    assert!(
        folder
            .bad("copy a.zarr c.zarr --to nczarr-v2 --select big", 2)
            .contains("cannot be used with netCDF")
    );
    assert!(!folder.path("c.zarr").exists());
    // An archive of NCZarr has its keys in a folder.
    let archive = "'d.zip#mode=nczarr,zip'";
    folder.good(&format!("copy a.zarr {archive} --to nczarr-v2 --part 1/2"));
    let told = folder.bad(&format!("info {archive}"), 3);
    assert!(told.contains("copy under way, 50 % done"), "{told}");
    folder.good(&format!("copy a.zarr {archive} --resume --verify"));
    assert!(folder.good("get d.zip --path big").text() == all);
}

/// SIGINT stops between two chunks, and the program says how to go on.
#[test]
fn a_copy_that_is_interrupted_says_how_it_is_resumed() {
    let folder = Folder::new();
    let all = source(&folder, 600);
    // A draft has an implicit root as soon as it has a chunk.
    interrupt(&folder, &all, "", "big/c");
    interrupt(&folder, &all, "--to draft-2020", "data/root/big");
}

/// Interrupts a copy once it has put a chunk into `chunks`, and goes on with it.
fn interrupt(folder: &Folder, all: &str, options: &str, chunks: &str) {
    for attempt in 0..8 {
        let target = format!("s{}{attempt}.zarr", options.len());
        let child = folder.command(&format!("copy a.zarr {target} {options}")).spawn().unwrap();
        let journal = folder.path(&target).join(chunks);
        let begun = Instant::now();
        while !journal.exists() && begun.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(1));
        }
        let signal =
            std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(signal.is_ok());
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        if output.status.success() {
            continue;
        }
        assert_eq!(output.status.code(), Some(130), "{err}");
        assert!(err.starts_with("stopped: ") && err.contains("resume with `zarr copy "), "{err}");
        folder.good(&format!("copy a.zarr {target} --resume"));
        assert!(folder.good(&format!("get {target} --path big")).text() == all);
        return;
    }
    panic!("each copy was done before the signal came");
}

/// Who looks at the hierarchy that a copy is made in is told of it.
#[test]
fn a_copy_under_way_below_a_root_is_told() {
    let folder = Folder::new();
    source(&folder, 600);
    folder.good("create b.zarr --path old --shape 4 --chunks 2 --dtype int32");
    folder.good("copy a.zarr b.zarr --at p/new --part 2/4");
    let due = format!(
        "zarr copy file://{} file://{}/p/new --resume",
        folder.path("a.zarr").display(),
        folder.path("b.zarr").display()
    );
    let info = folder.good("info b.zarr");
    let line = format!("copy         /p/new: copy under way, 25 % done; resume with `{due}`\n");
    assert!(info.text().ends_with(&line), "{} {line}", info.text());
    let tree = folder.run("tree b.zarr");
    let line = format!("warning: /p/new: copy under way, 25 % done; resume with `{due}`\n");
    assert_eq!((tree.code, tree.err), (0, line));
    for command in ["info", "tree"] {
        let json = folder.good(&format!("{command} b.zarr --json")).json();
        let copies = json.as_object().unwrap().get("copies_under_way").unwrap().to_string();
        assert_eq!(copies, format!(r#"[{{"path":"/p/new","percent":25,"resume":"{due}"}}]"#));
    }
    assert!(!folder.good("info b.zarr --path old").text().contains("under way"));
    // The command is one that can be typed.
    folder.good(due.strip_prefix("zarr ").unwrap());
    assert!(!folder.good("info b.zarr").text().contains("under way"));
}

/// Undoing erases what the copy wrote, and no other byte; a copy without its source stays, and one that is undone halfway is
/// gone on with.
#[test]
fn copies_that_were_cut_off_are_undone() {
    let folder = Folder::new();
    source(&folder, 600);
    let at = |name: &str| folder.path(name).display().to_string();
    for (url, to, path) in [
        (at("t"), "", "/p/q/new"),
        (at("v2"), "--to v2", "/p/new"),
        (at("nc"), "--to nczarr-v2", "/"),
        (format!("zip://{}", at("t.zip")), "", "/new"),
        (format!("lmdb://{}", at("t.mdb")), "", "/new"),
        (format!("lmdb://{}", at("whole.mdb")), "", "/"),
    ] {
        let run = |line: String| {
            let run = folder.run(&line);
            (run.code, run.text().to_owned(), run.err)
        };
        let values = || -> BTreeMap<String, Vec<u8>> {
            let Ok(store) = OpenOptions::new(zarr::standard()).store(&url) else {
                return BTreeMap::new();
            };
            let store = store.to_sync();
            let value = |key: zarr::store::StoreKey| {
                (key.to_string(), store.value(&key).unwrap().unwrap().to_vec())
            };
            store.list().unwrap_or_default().into_iter().map(value).collect()
        };
        if path != "/" {
            // Neighbours, which stay.
            let format = if to.is_empty() { "v3" } else { "v2" };
            folder.good(&format!(
                "create {url} --format {format} --path old --shape 4 --chunks 2 --dtype int32"
            ));
            assert_eq!(folder.feed(&format!("put {url} --path old"), b"[1,2,3,4]").code, 0);
            folder.good(&format!("consolidate {url}"));
        }
        let before = values();
        let at = if path == "/" { String::new() } else { format!("--at {path}") };
        let part = |n: u32| folder.good(&format!("copy a.zarr/g {url} {at} {to} --part {n}/4"));
        part(2);
        part(4);
        let begun = values();
        assert!(begun.len() > before.len() + 3, "{url}: {}", begun.len());
        let (code, told, err) = run(format!("repair {url} --undo-copies"));
        assert!(
            code == 1 && told.contains("would be undone") && err.contains("--apply"),
            "{told}{err}"
        );
        assert!(told.contains(" chunks and 0 documents"), "{told}");
        assert_eq!(values(), begun, "a dry run writes nothing");
        // What is copied may be the only copy.
        std::fs::rename(folder.path("a.zarr"), folder.path("gone")).unwrap();
        let (code, told, _) = run(format!("repair {url} --undo-copies --apply"));
        assert!(code == 1 && told.contains("may be the only copy"), "{told}");
        assert_eq!(values(), begun);
        std::fs::rename(folder.path("gone"), folder.path("a.zarr")).unwrap();
        // In another node of the hierarchy no copy is under way.
        if path != "/" {
            let other = folder.good(&format!("repair {url} --path old --undo-copies --apply"));
            assert_eq!(other.text(), "no copy is under way\n");
        }
        let json = folder.good(&format!("repair {url} --undo-copies --apply --json")).json();
        assert!(json.to_string().contains("\"is_undone\":true"), "{json}");
        assert!(values() == before, "{url}: {:?}", values().keys());
        // All parts are done, and all documents are written: only the journal is left.
        (1..=4).for_each(|n| drop(part(n)));
        let store = OpenOptions::new(zarr::standard()).read_write().store(&url).unwrap().to_sync();
        let plan = values().into_iter().find(|(key, _)| key.ends_with("plan.json")).unwrap().1;
        let plan = Json::parse(&plan).unwrap();
        let documents = plan.as_object().unwrap().get("documents").unwrap().as_array().unwrap();
        let text = |json: &Json, member| {
            json.as_object().unwrap().get(member).unwrap().as_str().unwrap().to_owned()
        };
        for document in documents {
            let key = zarr::store::StoreKey::new(text(document, "key")).unwrap();
            store.set(&key, text(document, "text").as_bytes().into()).unwrap();
        }
        store.flush().unwrap();
        drop(store);
        // One document that another program has changed: the node is in use.
        let key = text(&documents[0], "key");
        let changed =
            text(&documents[0], "text").replacen('{', "{ ", 1).replacen(" ", " \"mine\": 1,", 1);
        let put = |text: &str| {
            let store =
                OpenOptions::new(zarr::standard()).read_write().store(&url).unwrap().to_sync();
            store
                .set(&zarr::store::StoreKey::new(key.clone()).unwrap(), text.as_bytes().into())
                .unwrap();
            store.flush().unwrap();
        };
        put(&changed);
        let full = values();
        let (code, told, err) = run(format!("repair {url} --undo-copies --apply"));
        assert!(code == 1 && told.contains("another program has changed"), "{told}{err}");
        assert_eq!(values(), full);
        put(&text(&documents[0], "text"));
        let (code, told, err) = run(format!("repair {url} --undo-copies --apply --trace"));
        assert!(
            code == 0 && told.contains("5 chunks and ") && told.contains("is undone"),
            "{told}{err}"
        );
        // A copy that is resumed when this was killed trusts no mark of a part of which chunks are erased.
        let erased = |what: &str| {
            let is_erased = |line: &str| line.starts_with("trace: ") && line.contains("erase");
            err.lines().position(|line| is_erased(line) && line.contains(what))
        };
        let chunk = if to.is_empty() { "small/c/0" } else { "small/0" };
        let order = [erased(&key), erased("/done/"), erased(chunk), erased("plan.json")];
        assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{order:?} {err}");
        // Values are long.
        let (after, names) = (values(), |of: &std::collections::BTreeMap<String, Vec<u8>>| {
            of.keys().cloned().collect::<Vec<_>>()
        });
        assert_eq!(names(&after), names(&before), "{url}");
        for (key, value) in &before {
            let other = String::from_utf8_lossy(&after[key]);
            assert_eq!(other, String::from_utf8_lossy(value), "{url}: {key}");
        }
    }
}

/// An undoing that is killed is ended by the next one, or the copy is gone on with: marks of parts whose chunks are erased are
/// not trusted.
#[test]
fn undoing_may_be_killed() {
    let folder = Folder::new();
    let all = source(&folder, 600);
    let undo = |target: &str| format!("repair {target} --undo-copies --apply");
    let copied = |target: &str| {
        folder.good(&format!("copy a.zarr {target} --part 1/2"));
        folder.good(&format!("copy a.zarr {target} --part 2/2"));
    };
    let mut cut_off = 0;
    for attempt in 0..20 {
        let target = format!("u{attempt}.zarr");
        copied(&target);
        let place = folder.path(&target).join("big/c");
        let left = [599, 400, 200][attempt % 3];
        if kill_when_left(start(&folder, &undo(&target)), &place, left) {
            continue;
        }
        let chunks = files(&place);
        let is_under_way = folder.bad(&format!("info {target}"), 3).contains("copy under way");
        assert!(is_under_way || chunks == 0, "{chunks} chunks are left without a journal");
        if !is_under_way {
            continue;
        }
        cut_off += u32::from((1..600).contains(&chunks));
        if attempt % 2 == 0 {
            folder.good(&undo(&target));
            assert_eq!(files(&folder.path(&target)), 0);
        } else {
            folder.good(&format!("copy a.zarr {target} --resume"));
            assert!(folder.good(&format!("get {target} --path big")).text() == all);
        }
        // One that is undone, and one that is gone on with; or one more.
        if cut_off == sample(2, 3) {
            break;
        }
    }
    println!("kills: undoings of copies: {cut_off} cut off between two chunks");
    assert!(cut_off > 0, "no undoing was killed between two chunks");
}

/// What was copied before its source changed is not mixed with what is copied after.
#[test]
fn a_copy_of_a_source_that_was_written_is_not_resumed() {
    let folder = Folder::new();
    let chunks = sample(120, 600);
    source(&folder, chunks);
    let at = |name: &str| folder.path(name).display().to_string();
    let sources = [
        at("s.zarr"),
        format!("zip://{}", at("s.zip")),
        format!("lmdb://{}", at("s.mdb")),
        format!("zip://{}/in/it", at("t.zip")),
    ];
    for url in &sources {
        // Chunks that are not compressed keep their sizes.
        folder.good(&format!("copy a.zarr {url} --codec none"));
        let begin = |to: &str| folder.good(&format!("copy {url} {to} --part 1/4"));
        let equal = |to: &str| folder.good(&format!("diff {url} {to}"));
        begin("b.zarr");
        folder.good(&format!("copy {url} b.zarr --resume"));
        equal("b.zarr");
        folder.good("rm b.zarr --all");
        begin("b.zarr");
        let put = format!("put {url} --path big --region {},0:2", chunks - 1);
        assert_eq!(folder.feed(&put, b"[-1,-2]").code, 0, "{put}");
        for how in ["--resume", "--part 2/4"] {
            let refused = folder.bad(&format!("copy {url} b.zarr {how}"), 2);
            let why = "chunks of the source have been written since it began";
            assert!(refused.contains(why) && refused.contains("--overwrite"), "{url}: {refused}");
        }
        folder.good(&format!("copy {url} b.zarr --overwrite"));
        equal("b.zarr");
        folder.good("rm b.zarr --all");
    }
    // The copy changes the archive of its source, but none of the source's chunks.
    for url in [format!("zip://{}", at("same.zip")), format!("lmdb://{}", at("same.mdb"))] {
        folder.good(&format!("copy a.zarr {url} --at from"));
        folder.good(&format!("copy {url} {url} --path from --at to --part 1/4"));
        folder.good(&format!("copy {url} {url} --path from --at to --resume"));
        folder.good(&format!("diff {url}/from {url}/to"));
    }
}

/// What another program creates at the place of a copy is not taken for the copy.
#[test]
fn a_copy_beside_which_another_program_wrote_is_refused() {
    let folder = Folder::new();
    source(&folder, 600);
    folder.good("copy a.zarr/g/small b.zarr --part 1/4");
    std::fs::write(folder.path("b.zarr/zarr.json"), br#"{"zarr_format":3,"node_type":"group"}"#)
        .unwrap();
    let refused = folder.bad("copy a.zarr/g/small b.zarr --resume", 2);
    assert!(refused.contains("another program created it"), "{refused}");
    assert!(refused.contains("start over with `--overwrite`"), "{refused}");
    folder.good("copy a.zarr/g/small b.zarr --overwrite");
    folder.good("diff a.zarr/g/small b.zarr");
}
