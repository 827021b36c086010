//! Syncs copy what differs and nothing else, delete only what they are told to, and go on after a kill.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

use zarr::store::{SnapshotOptions, StoreKey, SyncSnapshot, SyncStore, from_sync, from_sync_arc};
use zarr::tools::SyncOptions;

use crate::common::killed::kills;
use crate::common::stores::stores;
use crate::common::{FORMATS, Folder};
use crate::server::Server;

/// The files of a folder by their names, without what stores and tools put there.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(at: &Path, root: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(at).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if name.split('/').any(|part| part.starts_with(".zarr-")) {
                continue;
            }
            if path.is_dir() {
                walk(&path, root, found);
            } else {
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, root, &mut found);
    found
}

fn is_equal(folder: &Folder, a: &str, b: &str) -> bool {
    files(&folder.path(a)) == files(&folder.path(b))
}

/// Sets the times of all files back, so that what is written from now on is newer than any of them. The time of a file's inode
/// cannot be set: for that the clock has to go on by a tick.
fn age(root: &Path) {
    for name in files(root).keys() {
        let file = fs::File::options().append(true).open(root.join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(100)).unwrap();
    }
    let now = SystemTime::now();
    while SystemTime::now() < now + Duration::from_millis(30) {
        thread::yield_now();
    }
}

/// What a dry run counts.
fn counts(folder: &Folder, line: &str) -> BTreeMap<String, String> {
    let run = folder.run(&format!("sync {line} --dry-run --json"));
    assert_eq!(run.code, 0, "{}", run.err);
    let json = run.json();
    let members = json.as_object().unwrap().iter();
    members.map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

#[test]
fn only_what_differs_is_copied() {
    for format in FORMATS {
        let folder = Folder::new();
        folder.table("s", format);
        folder.write("s/README.md", "about");
        age(&folder.path("s"));
        folder.good("sync s t");
        assert!(is_equal(&folder, "s", "t"), "{format}");
        assert!(!folder.path("t/.zarr-copy").exists(), "{format}");
        let unchanged = counts(&folder, "s t");
        assert_eq!((&*unchanged["copy"], &*unchanged["bytes"]), ("0", "0"), "{format}");
        // Of a copy that the program made, too.
        folder.good("copy s u");
        assert_eq!(counts(&folder, "s u")["copy"], "0", "{format}");
        let put = folder.feed("put s --path a --region 0,0", b"[[77]]");
        assert_eq!(put.code, 0, "{}", put.err);
        assert_eq!(counts(&folder, "s t")["copy"], "1", "{format}");
        folder.good("sync s t --verify");
        folder.good("sync s u --checksum");
        assert!(is_equal(&folder, "s", "t") && is_equal(&folder, "s", "u"), "{format}");
        // Attributes are in a document, which is written as a whole.
        folder.good("attrs s --path a --set units=K");
        let changed = counts(&folder, "s t");
        assert_eq!((&*changed["copy"], &*changed["documents"]), ("1", "1"), "{format}");
        folder.good("sync s t");
        assert!(is_equal(&folder, "s", "t"), "{format}");
    }
}

/// What came from elsewhere with an old time is newer than the copy all the same.
#[cfg(unix)]
#[test]
fn a_restored_file_with_an_old_time_is_copied() {
    let folder = Folder::new();
    folder.table("s", "v2");
    folder.good("sync s t");
    let chunk = folder.path("s/a/0.0");
    let size = fs::metadata(&chunk).unwrap().len() as usize;
    age(&folder.path("t"));
    fs::write(&chunk, vec![7; size]).unwrap();
    let file = fs::File::options().append(true).open(&chunk).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
    folder.good("sync s t");
    assert!(is_equal(&folder, "s", "t"));
}

#[test]
fn changes_of_the_target_are_found_by_checksum_only() {
    let folder = Folder::new();
    folder.table("s", "v3");
    age(&folder.path("s"));
    folder.good("sync s t");
    let chunk = folder.path("t/a/c/0/0");
    let size = fs::metadata(&chunk).unwrap().len() as usize;
    fs::write(&chunk, vec![7; size]).unwrap();
    assert_eq!(counts(&folder, "s t")["copy"], "0");
    assert_eq!(counts(&folder, "s t --checksum")["copy"], "1");
    fs::write(&chunk, "short").unwrap();
    assert_eq!(counts(&folder, "s t --size-only")["copy"], "1");
    folder.good("sync s t");
    assert!(is_equal(&folder, "s", "t"));
}

#[test]
fn nothing_is_deleted_without_being_asked_and_listed() {
    for format in FORMATS {
        let folder = Folder::new();
        folder.table("s", format);
        folder.good(&format!("create s --path b --shape 2 --dtype int8 --format {format}"));
        folder.good("sync s t");
        folder.write("t/notes.txt", "of the target");
        folder.write("t/.git/config", "of version control");
        folder.good("rm s --path b");
        let run = folder.run("sync s t");
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(run.err.starts_with("not deleted: "), "{}", run.err);
        assert!(folder.path("t/notes.txt").exists());
        let run = folder.good("sync s t --delete --dry-run");
        assert!(run.text().contains("delete notes.txt\n"), "{}", run.text());
        assert!(folder.path("t/notes.txt").exists());
        let kept = counts(&folder, "s t --delete --no-extra-files");
        assert!(!kept["delete"].contains("notes"), "{kept:?}");
        let run = folder.good("sync s t --delete");
        assert!(run.text().contains("delete notes.txt\n"), "{}", run.text());
        assert!(!run.text().contains(".git"), "{}", run.text());
        assert_eq!(fs::read(folder.path("t/.git/config")).unwrap(), b"of version control");
        fs::remove_dir_all(folder.path("t/.git")).unwrap();
        assert!(is_equal(&folder, "s", "t"), "{format}");
    }
}

#[test]
fn files_that_are_not_zarrs_are_left_out_and_named() {
    let folder = Folder::new();
    folder.table("s", "v3");
    folder.write("s/a/notes.txt", "of the array");
    let run = folder.run("sync s t --no-extra-files");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("left out: `a/notes.txt`"), "{}", run.err);
    assert!(!folder.path("t/a/notes.txt").exists());
    assert!(folder.path("t/a/c/0/0").exists());
}

/// Nothing that is no copy is replaced, and no place is synced with itself.
#[test]
fn targets_that_are_no_copies_are_refused() {
    let folder = Folder::new();
    folder.table("s", "v3");
    folder.good("create other --path /x --shape 2 --dtype int8");
    folder.good("create like --path /a --shape 4,5 --chunks 2,2 --dtype int32");
    folder.good("create group --path /a/b --shape 4 --dtype int32");
    folder.table("old", "v2");
    folder.write("files/report.txt", "text");
    folder.good("copy s under --part 1/2");
    for (target, why) in [
        ("other", "not a copy"),
        ("like", "/a: other chunks"),
        ("group", "an array in one, a group in the other"),
        ("old", "stored bytes of one format are not valid in the other"),
        ("files", "not a copy"),
        ("under", "a copy to this place is under way"),
        ("s", "or one is inside the other"),
        ("s/a", "or one is inside the other"),
        ("s/new", "or one is inside the other"),
        ("none/../s", "or one is inside the other"),
        ("s/a.zip", "or one is inside the other"),
    ] {
        fs::create_dir_all(folder.path("none")).unwrap();
        let before = files(&folder.path(target));
        let err = folder.bad(&format!("sync s {target} --delete"), 2);
        assert!(err.contains(why), "{target}: {err}");
        assert_eq!(files(&folder.path(target)), before, "{target}");
    }
    let err = folder.bad("sync s/a s --delete", 2);
    assert!(err.contains("or one is inside the other"), "{err}");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.path("s"), folder.path("link")).unwrap();
        let err = folder.bad("sync s link --delete", 2);
        assert!(err.contains("or one is inside the other"), "{err}");
        let err = folder.bad("sync link/a s", 2);
        assert!(err.contains("or one is inside the other"), "{err}");
    }
}

/// A cut of a hierarchy, synced onto the whole one, would erase the rest: the two were probably swapped.
#[test]
fn a_longer_target_is_refused_unless_deleting_is_asked_for() {
    for dialect in ["v3", "v2"] {
        let folder = Folder::new();
        folder.table("whole", dialect);
        folder.good("copy whole cut --region a=0:2,:");
        let before = files(&folder.path("whole"));
        let err = folder.bad("sync cut whole", 2);
        assert!(
            err.contains("/a: longer than in the source: its shape is [4, 5], the source's [2, 5]"),
            "{err}"
        );
        assert!(err.contains("were SOURCE and TARGET swapped?"), "{err}");
        assert_eq!(files(&folder.path("whole")), before);
        folder.good("sync cut whole --delete");
        folder.good("diff cut whole");
        // An array that has grown is what syncs are for.
        folder.good("resize cut --path a --shape 6,5");
        folder.good("sync cut whole");
        folder.good("diff cut whole");
    }
}

/// Deleting does not reach through links, and links that lead out of the source are not followed for other files.
#[cfg(unix)]
#[test]
fn links_lead_to_nothing_that_is_deleted() {
    let folder = Folder::new();
    folder.table("s", "v2");
    folder.good("sync s t");
    folder.write("elsewhere/0.0", "precious");
    folder.write("elsewhere/more.txt", "precious");
    let link = |from: &str, to: &str| {
        std::os::unix::fs::symlink(folder.path(from), folder.path(to)).unwrap();
    };
    link("elsewhere", "t/linked");
    let run = folder.run("sync s t --delete");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("behind a link"), "{}", run.err);
    assert_eq!(fs::read(folder.path("elsewhere/0.0")).unwrap(), b"precious");
    link("elsewhere", "s/data");
    let run = folder.run("sync s u");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.err.contains("not kept: `s/data`") || run.err.contains("`data` is a link"),
        "{}",
        run.err
    );
    assert!(!folder.path("u/data/more.txt").exists());
}

#[test]
fn every_store_is_a_source_and_a_target() {
    let folder = Folder::new();
    folder.table("s", "v3");
    folder.write("s/README.md", "about");
    age(&folder.path("s"));
    for store in stores(&folder) {
        let there = (store.url)(0);
        let (code, _, err) = store.run(&folder, &format!("sync s {there} --verify"));
        assert_eq!(code, 0, "{}: {err}", store.name);
        let (code, out, err) = store.run(&folder, &format!("sync s {there} --checksum --dry-run"));
        assert_eq!((code, out.starts_with("0 objects")), (0, true), "{}: {out}{err}", store.name);
        let back = format!("back-{}", store.name);
        let (code, _, err) = store.run(&folder, &format!("sync {there} {back}"));
        assert_eq!(code, 0, "{}: {err}", store.name);
        assert!(is_equal(&folder, "s", &back), "{}", store.name);
        let (code, out, err) = store.run(&folder, &format!("sync {there} {back} --dry-run"));
        assert_eq!((code, out.starts_with("0 objects")), (0, true), "{}: {out}{err}", store.name);
        folder.write(&format!("{back}/gone.txt"), "not in the source");
        let (code, out, err) = store.run(&folder, &format!("sync {back} {there}"));
        assert_eq!(code, 0, "{}: {out}{err}", store.name);
        let (code, out, err) = store.run(&folder, &format!("sync s {there} --delete"));
        assert_eq!((code, &*out), (0, "delete gone.txt\n"), "{}: {err}", store.name);
        assert!(!store.keys(&there).contains("gone.txt"), "{}", store.name);
        store.erase(&there);
    }
}

/// A killed sync leaves the hierarchy of before or that of now, each node whole, and the same command ends it.
#[test]
fn killed_syncs_leave_a_readable_copy_and_go_on() {
    let folder = Folder::new();
    let build = |target: &str, value: u32, len: usize| {
        let options = "--chunks 4 --dtype int32 --codec none";
        for (path, len) in [("g/a", len), ("b", 8)] {
            folder.good(&format!("create {target} --path {path} --shape {len} {options}"));
            let list = format!("{:?}", vec![value; len]);
            let put = folder.feed(&format!("put {target} --path {path}"), list.as_bytes());
            assert_eq!((put.code, &*put.err), (0, ""));
        }
        for n in 0..12 {
            folder.good(&format!(
                "create {target} --path g/more{n} --shape {len} --chunks 4 --dtype int8"
            ));
        }
    };
    build("old", 1, 40);
    folder.good("create old --path only-old --shape 4 --chunks 4 --dtype int8");
    // Every third begins with nothing.
    let runs = kills().max(60) as usize;
    for n in (0..runs).filter(|n| n % 3 > 0) {
        folder.good(&format!("copy old t{n}"));
    }
    folder.good("copy old whole");
    build("new", 2, 80);
    let changes = {
        let run = folder.run("sync new whole --delete --trace");
        assert_eq!(run.code, 0, "{}", run.err);
        run.err.lines().filter(|line| line.starts_with("trace: put")).count()
    };
    assert!(changes > 20, "{changes}");
    let (mut old, mut now) = (0, 0);
    for n in 0..runs {
        let target = format!("t{n}");
        let mut child =
            folder.command(&format!("sync new {target} --delete --trace")).spawn().unwrap();
        let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
        let mut puts = lines.map_while(Result::ok).filter(|line| line.starts_with("trace: put"));
        let stop = 1 + n * changes / runs;
        let _ = puts.by_ref().take(stop).count();
        // Also between two changes.
        thread::sleep(Duration::from_micros(300 * (n as u64 % 4)));
        child.kill().unwrap();
        puts.for_each(drop);
        child.wait().unwrap();
        let run = folder.run(&format!("info {target} --path g/a --json"));
        if run.code == 0 {
            let text = run.text().to_owned();
            assert!(text.contains("[40]") || text.contains("[80]"), "{text}");
            let run = folder.run(&format!("get {target} --path g/a --json"));
            assert_eq!(run.code, 0, "{}", run.err);
            if text.contains("[80]") {
                now += 1;
                assert!(!run.text().contains('1') && !run.text().contains('0'), "{}", run.text());
            } else {
                old += 1;
            }
        } else {
            assert_eq!((run.code, n % 3), (3, 0), "{}", run.err);
        }
        folder.good(&format!("sync new {target} --delete"));
        assert!(is_equal(&folder, "new", &target), "{target}");
        let mark = format!("{target}/.zarr-copy/af63a24c860189fe/sync.json");
        assert!(!folder.path(&mark).exists());
    }
    assert!(old > 0 && now > 0, "{old} {now}");
    println!(
        "kills: syncs: {runs} killed and continued, {old} with the old array, {now} with the new one"
    );
}

/// What others change in the source between the listing and the end is named, and the next sync copies it.
#[test]
fn changes_of_the_source_meanwhile_are_named() {
    let folder = Folder::new();
    folder.table("s", "v2");
    let options = zarr::OpenOptions::new(zarr::standard()).read_write();
    let path = |name: &str| folder.path(name).display().to_string();
    let source = zarr::tools::find_node(&path("s"), "/", &options).unwrap();
    let place =
        zarr::tools::copy_place((&path("t"), "/"), None, zarr::Dialect::V2, &options).unwrap();
    let sync = SyncOptions::default();
    let plan = || zarr::tools::plan_sync(&source, &place.hierarchy, &place.path, &sync).unwrap();
    let planned = plan();
    folder.write("s/a/0.0", "a chunk of another size");
    folder.write("s/a/9.9", "new");
    fs::remove_file(folder.path("s/a/1.1")).unwrap();
    folder.write("s/a/.zattrs", r#"{"later": true}"#);
    let synced = planned.run(&sync).unwrap();
    assert_eq!(synced.changed, ["a/.zattrs", "a/0.0", "a/1.1", "a/9.9"]);
    // The documents are those of the listing.
    assert!(!folder.path("t/a/.zattrs").exists());
    assert_eq!(plan().run(&sync).unwrap().changed, [""; 0]);
    assert!(is_equal(&folder, "s", "t"));
}

/// Documents say what all else means: they are compared by their bytes, whatever their times are.
#[test]
fn a_document_that_was_changed_in_the_target_is_found_without_checksums() {
    let folder = Folder::new();
    folder.good("create s --format v2 --path a --shape 2 --dtype int8 --attr units=m");
    folder.good("sync s t");
    let place = folder.path("t/a/.zattrs");
    let text = fs::read_to_string(&place).unwrap();
    let other = text.replace("\"m\"", "\"K\"");
    assert!(other != text && other.len() == text.len());
    fs::write(&place, other).unwrap();
    folder.good("sync s t");
    assert_eq!(fs::read_to_string(&place).unwrap(), text);
}

/// A source of which one value is absent once, as while a writer erases it and sets it again.
#[derive(Debug)]
struct Flickering {
    inner: Arc<dyn SyncStore>,
    absent: Mutex<Option<StoreKey>>,
}

impl SyncStore for Flickering {
    zarr_testkit::forward_calls!(inner: name capabilities get put create erase_prefix list_prefix list_dir link flush);

    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>, zarr::StoreError> {
        if self.absent.lock().unwrap().take_if(|absent| absent == key).is_some() {
            return Ok(None);
        }
        self.inner.open(key, how)
    }
}

/// A chunk that was absent when it was to be copied is missing in the target, though a listing shows it before and after.
#[test]
fn a_value_that_is_absent_for_a_moment_is_named() {
    let options = zarr::OpenOptions::new(zarr::standard()).read_write();
    let memory = || from_sync(zarr::stores::MemoryStore::new());
    let inner = memory();
    let format = || zarr::format::of_dialect(zarr::Dialect::V3);
    let made = zarr::Hierarchy::create(inner.clone(), format(), &options).unwrap();
    let array = made.create_array("/a").shape(&[4]).chunks(&[2]).data_type_named("int8");
    array.create().unwrap().write(.., &[1i8, 2, 3, 4]).unwrap();
    let key = StoreKey::new("a/c/1").unwrap();
    let flickering = Arc::new(Flickering { inner: inner.to_sync(), absent: Mutex::new(None) });
    let source = zarr::Hierarchy::open(from_sync_arc(flickering.clone()), &options).unwrap();
    let target = zarr::Hierarchy::of_format(memory(), format(), &options);
    let root = zarr::NodePath::root();
    let sync = SyncOptions::default();
    let plan =
        || zarr::tools::plan_sync(&source.node("/").unwrap(), &target, &root, &sync).unwrap();
    let planned = plan();
    *flickering.absent.lock().unwrap() = Some(key);
    assert_eq!(planned.run(&sync).unwrap().changed, ["a/c/1"]);
    assert_eq!(plan().run(&sync).unwrap().changed, [""; 0]);
    assert_eq!(target.array("/a").unwrap().read::<i8>(..).unwrap(), [1, 2, 3, 4]);
}

/// Deletions that are cut off leave no array that has lost chunks, and no node without the group above it.
#[test]
fn documents_are_deleted_before_chunks_and_inner_ones_before_outer_ones() {
    let folder = Folder::new();
    folder.good("create s --format v2 --path keep --shape 2 --dtype int8");
    folder.good("copy s t");
    folder.good("create t --path g --group");
    folder.good("create t --path g/h --group");
    folder.good("create t --path g/h/a --shape 2 --dtype int8 --attr units=m");
    assert_eq!(folder.feed("put t/g/h/a", b"[1,2]").code, 0);
    let options = zarr::OpenOptions::new(zarr::standard()).read_write();
    let path = |name: &str| folder.path(name).display().to_string();
    let source = zarr::tools::find_node(&path("s"), "/", &options).unwrap();
    let target = zarr::Hierarchy::open_or_create(&path("t"), zarr::Dialect::V2, &options).unwrap();
    let sync = SyncOptions { delete: true, ..SyncOptions::default() };
    let root = zarr::NodePath::root();
    let plan = zarr::tools::plan_sync(&source, &target, &root, &sync).unwrap();
    let names: Vec<&str> = plan.deleted_names().collect();
    let expected = ["g/h/a/.zarray", "g/h/a/.zattrs", "g/h/.zgroup", "g/.zgroup", "g/h/a/0"];
    assert_eq!(names, expected);
    plan.run(&sync).unwrap();
    assert!(is_equal(&folder, "s", "t"));
}

/// A target that has no room leaves the old document, and the sync goes on when it has.
#[cfg(target_os = "linux")]
#[test]
fn a_target_that_fails_in_the_middle_keeps_its_old_document() {
    let folder = Folder::new();
    folder.table("s", "v2");
    folder.good("sync s t");
    let old = fs::read(folder.path("t/a/.zarray")).unwrap();
    folder.good("resize s --path a --shape 8,5");
    let list = format!("{:?}", vec![vec![99; 5]; 8]);
    assert_eq!(folder.feed("put s --path a", list.as_bytes()).code, 0);
    // No chunk of this name can be written: a folder is in its place, with something in it.
    folder.write("t/a/3.1/in-the-way", "");
    let err = folder.bad("sync s t", 5);
    assert!(err.contains("a/3.1"), "{err}");
    assert_eq!(fs::read(folder.path("t/a/.zarray")).unwrap(), old);
    assert!(folder.path("t/.zarr-copy").exists());
    fs::remove_dir_all(folder.path("t/a/3.1")).unwrap();
    folder.good("sync s t");
    assert!(is_equal(&folder, "s", "t"));
    assert!(!folder.path("t/.zarr-copy").exists());
}

/// A sync that another source began is not taken over.
#[test]
fn a_sync_from_another_source_is_refused() {
    let folder = Folder::new();
    folder.table("s", "v3");
    folder.table("other", "v3");
    let mark = r#"{"zarr_sync":1,"source":{"store":"file:///elsewhere","path":"/"}}"#;
    folder.good("sync s t");
    folder.write("t/.zarr-copy/af63a24c860189fe/sync.json", mark);
    let err = folder.bad("sync s t", 2);
    assert!(err.contains("a sync from file:///elsewhere"), "{err}");
}

/// A web server that gives indices as Apache does, which hides some names, and sends what a folder of the test has.
fn web_server(folder: &Folder, name: &str) -> Server {
    let server = Server::start();
    for (key, value) in files(&folder.path(name)) {
        server.set(&format!("data/{key}"), &value);
    }
    let keys = server.clone();
    server.manners(|manners| {
        manners.instead = Some(Arc::new(move |request, stream| {
            let at = &request.path;
            if !(at.is_empty() || at.ends_with('/')) {
                return None;
            }
            let mut entries = std::collections::BTreeSet::new();
            for key in keys.keys() {
                let Some(rest) = key.strip_prefix(at.as_str()) else { continue };
                let entry = rest.split_inclusive('/').next().unwrap_or_default();
                if !entry.starts_with(['.', 'R']) {
                    entries.insert(format!("<a href=\"{entry}\">{entry}</a>"));
                }
            }
            let links: String = entries.into_iter().collect();
            let body = format!("<html><head><title>Index of /{at}</title></head>{links}</html>");
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: ";
            Some(write!(stream, "{head}{}\r\n\r\n{body}", body.len()).is_ok())
        }));
    });
    server
}

/// The test's server says that values were set in January 2026, one second after the other.
fn set_times(root: &Path, seconds_of_2026: u64) {
    let begin = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_571_200);
    for name in files(root).keys() {
        let file = fs::File::options().append(true).open(root.join(name)).unwrap();
        file.set_modified(begin + Duration::from_secs(seconds_of_2026)).unwrap();
    }
}

#[test]
fn a_web_server_is_a_source() {
    for format in ["v2", "v3"] {
        let folder = Folder::new();
        folder.table("s", format);
        folder.write("s/notes.txt", "of the folder");
        folder.write("s/README.md", "hidden by the server");
        let server = web_server(&folder, "s");
        let url = server.url("data");
        let new = counts(&folder, &format!("{url} t"));
        assert!(new["unknown_sizes"] != "0", "{format}: {new:?}");
        folder.good(&format!("sync {url} t"));
        // What an index hides is not known of before it is in the target.
        folder.write("t/README.md", "hidden by the server");
        assert!(is_equal(&folder, "s", "t"), "{format}");

        // Sizes and times are asked for: no value is read but documents.
        set_times(&folder.path("t"), 600);
        server.asked();
        let unchanged = counts(&folder, &format!("{url} t --delete"));
        assert_eq!((&*unchanged["copy"], &*unchanged["delete"]), ("0", "[]"), "{format}");
        let chunk = if format == "v2" { "a/0.0" } else { "a/c/0/0" };
        let (asked, _) = server.asked();
        assert!(asked.contains(&format!("HEAD data/{chunk}")), "{asked:?}");
        assert!(!asked.iter().any(|it| it.starts_with(&format!("GET data/{chunk}"))), "{asked:?}");

        // A chunk of the same size that was set later is seen, and one of another size.
        let old = server.value(&format!("data/{chunk}")).unwrap();
        (0..700).for_each(|n| server.set("elsewhere", &[n as u8]));
        server.set(&format!("data/{chunk}"), &vec![7; old.len()]);
        server.set("data/notes.txt", b"longer than it was before");
        let changed = counts(&folder, &format!("{url} t"));
        assert_eq!((&*changed["copy"], &*changed["unknown_sizes"]), ("2", "0"), "{format}");
        assert_eq!(counts(&folder, &format!("{url} t --size-only"))["copy"], "1", "{format}");
        folder.good(&format!("sync {url} t"));
        assert_eq!(fs::read(folder.path(&format!("t/{chunk}"))).unwrap(), vec![7; old.len()]);

        // What the server hides is not deleted, what it lacks is.
        server.forget("data/notes.txt");
        let run = folder.good(&format!("sync {url} t --delete"));
        assert_eq!(run.text(), "delete notes.txt\n", "{format}");
        assert!(folder.path("t/README.md").exists(), "{format}");
        server.set("data/README.md", b"changed, and hidden as before");
        folder.good(&format!("sync {url} t"));
        let read_me = fs::read(folder.path("t/README.md")).unwrap();
        assert_eq!(read_me, b"changed, and hidden as before", "{format}");
    }
}

/// Copies of web servers take the files that an index names.
#[test]
fn a_copy_of_a_web_server_takes_its_files() {
    let folder = Folder::new();
    folder.table("s", "v3");
    folder.write("s/notes.txt", "of the folder");
    folder.write("s/a/deep/notes.txt", "of the array");
    folder.write("s/README.md", "hidden by the server");
    let server = web_server(&folder, "s");
    let run = folder.run(&format!("copy {} t", server.url("data")));
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("may hide others"), "{}", run.err);
    fs::remove_file(folder.path("s/README.md")).unwrap();
    assert!(is_equal(&folder, "s", "t"));
    // A hidden file is no difference, if it has the same bytes.
    folder.write("t/README.md", "hidden by the server");
    folder.good(&format!("diff {} t", server.url("data")));
    folder.write("t/README.md", "otherwise");
    let run = folder.run(&format!("diff {} t", server.url("data")));
    assert!(run.code == 1 && run.text().contains("README.md"), "{}", run.text());
}

/// A server without indices says what to do instead, which works.
#[test]
fn a_web_server_without_indices_is_copied_from() {
    let folder = Folder::new();
    folder.table("s", "v3");
    folder.good("consolidate s");
    let server = web_server(&folder, "s");
    server.manners(|manners| manners.instead = None);
    let url = server.url("data");
    let err = folder.bad(&format!("sync {url} t"), 2);
    assert!(err.contains("gives no index of its folders"), "{err}");
    assert!(err.contains("copy with `zarr copy`"), "{err}");
    assert!(!folder.path("t").exists());
    let run = folder.run(&format!("copy {url} t"));
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("cannot list its keys"), "{}", run.err);
    assert!(is_equal(&folder, "s", "t"));
}

/// A sync makes an archive of OME-Zarr as a copy does: in v3 alone, documents first.
#[test]
fn an_ozx_is_a_target() {
    let folder = Folder::new();
    folder.table("s", "v3");
    folder.table("old", "v2");
    folder.write("s/OME/METADATA.ome.xml", "<OME/>");
    age(&folder.path("s"));
    folder.good("sync s t.ozx");
    folder.good("copy s copied.ozx");
    folder.good("diff s t.ozx");
    let bytes = |name: &str| fs::read(folder.path(name)).unwrap();
    let at = |archive: &[u8], text: &str| {
        archive.windows(text.len()).position(|part| part == text.as_bytes())
    };
    for name in ["t.ozx", "copied.ozx"] {
        let archive = bytes(name);
        assert!(at(&archive, r#""jsonFirst":true"#).is_some(), "{name}");
        assert!(at(&archive, "a/zarr.json") < at(&archive, "a/c/0/0"), "{name}");
        assert!(at(&archive, ".zarr-copy").is_none(), "{name}");
    }
    let put = folder.feed("put s --path a --region 0,0", b"[[77]]");
    assert_eq!(put.code, 0, "{}", put.err);
    folder.good("sync s t.ozx");
    folder.good("diff s t.ozx");
    assert!(at(&bytes("t.ozx"), r#""jsonFirst":true"#).is_some());
    let err = folder.bad("sync old new.ozx", 2);
    assert!(err.contains("TARGET is in v3 but SOURCE is in v2"), "{err}");
    assert!(err.contains("`zarr copy` converts"), "{err}");
    assert!(!folder.path("new.ozx").exists());
    folder.good("copy old new.ozx");
}
