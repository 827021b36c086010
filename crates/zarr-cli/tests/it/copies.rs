//! What `zarr copy` and `zarr tree` say of what they leave out or change, and their exit codes.

use std::process::Command;

use crate::common::Folder;
use zarr::Json;
use zarr::store::{StoreKey, SyncStore};
use zarr::stores::ZipStore;

/// Beyond a quarter of the chunks the fill value stays, and the program says so.
#[test]
fn a_missing_value_that_is_not_kept_is_told_and_refused_with_strict() {
    let folder = Folder::new();
    let create = "create a.zarr --format v3 --shape 8 --chunks 1 --dtype int32 --fill 7 --dims x --attr _FillValue=-9";
    assert_eq!(folder.run(create).code, 0);
    let copied = folder.run("copy a.zarr b.zarr --to v2");
    assert_eq!(copied.code, 0, "{}", copied.err);
    let said = "not kept: /: the missing value -9; 8 of 8 chunks were never stored, and readers of v2 mask their fill value 7";
    assert!(copied.err.contains(said), "{}", copied.err);
    let refused = folder.run("copy a.zarr c.zarr --to v2 --strict");
    assert_eq!(refused.code, 4, "{}", refused.err);
    assert!(!folder.path("c.zarr/.zarray").exists());
}

/// Issue 13, point 25.
#[test]
fn a_chunk_shape_of_another_rank_is_an_error() {
    let folder = Folder::new();
    assert_eq!(folder.run("create a.zarr --shape 8,8 --dtype int8").code, 0);
    let refused = folder.run("copy a.zarr b.zarr --chunks 2");
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(
        refused.err.contains("a.zarr: chunks of 1 axis for an array of 2 axes"),
        "{}",
        refused.err
    );
    assert_eq!(folder.run("copy a.zarr b.zarr --chunks 2,2").code, 0);
}

/// Issue 13, point 26.
#[cfg(not(windows))]
#[test]
fn what_is_skipped_is_named() {
    let folder = Folder::new();
    for path in ["/good", "/x:y"] {
        let create = format!("create a.zarr --format v2 --path {path} --shape 2 --dtype int8");
        assert_eq!(folder.run(&create).code, 0);
    }
    let refused = folder.run("copy a.zarr b.zarr --to draft-2020");
    assert!(refused.code != 0 && refused.err.contains("x:y"), "{}", refused.err);
    let copied = folder.run("copy a.zarr b.zarr --to draft-2020 --skip-unsupported");
    assert_eq!(copied.code, 0, "{}", copied.err);
    let lines: Vec<_> = copied.err.lines().filter(|line| line.starts_with("skipped: ")).collect();
    assert_eq!(lines.len(), 1, "{}", copied.err);
    assert!(lines[0].starts_with("skipped: /x:y: "), "{}", copied.err);
    assert_eq!(folder.run("tree b.zarr").text(), "/\n└── good  int8 (2,)\n");
}

/// Folders have no names with a backslash, which zarr-python takes for a slash; other stores may.
#[cfg(not(windows))]
#[test]
fn a_name_with_a_backslash_is_skipped_by_name_on_the_way_into_a_folder() {
    let folder = Folder::new();
    for path in ["/good", "/a\\b"] {
        folder.good(&format!("create a.zip --format v2 --path {path} --shape 2 --dtype int8"));
    }
    let why = folder.bad("copy a.zip b.zarr", 2);
    assert!(why.contains("/a\\b") && why.contains("separates folders"), "{why}");
    assert!(!folder.path("b.zarr/good/.zarray").exists());
    let copied = folder.run("copy a.zip c.zarr --skip-unsupported");
    assert!(copied.code == 0 && copied.err.contains("skipped: /a\\b: "), "{}", copied.err);
    folder.good("get c.zarr --path good");
    folder.good("copy a.zip d.zip");
    folder.good("get d.zip --path /a\\b");
}

/// A name is one line of the tree, whatever characters it has.
#[cfg(not(windows))]
#[test]
fn control_characters_of_names_are_escaped() {
    let folder = Folder::new();
    assert_eq!(folder.run("create a.zarr --format v2 --group").code, 0);
    folder.write("a.zarr/a\nb\u{1b}/.zgroup", r#"{"zarr_format": 2}"#);
    assert_eq!(folder.run("tree a.zarr").text(), "/\n└── a\\nb\\u{1b}\n");
}

/// `tree` names the group that the folder is for other readers, and says that its document is missing.
#[test]
fn a_folder_without_a_document_is_shown_with_a_warning() {
    let folder = Folder::new();
    let create = "create a.zarr --format v2 --path A/1/a --shape 2 --dtype int8";
    assert_eq!(folder.run(create).code, 0);
    std::fs::remove_file(folder.path("a.zarr/A/.zgroup")).unwrap();
    let tree = folder.run("tree a.zarr");
    assert_eq!(tree.text(), "/\n└── A\n    └── 1\n        └── a  int8 (2,)\n");
    assert!(tree.err.contains("warning: /A: has no document"), "{}", tree.err);
    let copied = folder.run("copy a.zarr b.zarr --to v3");
    assert!(
        copied.err.contains("/A: the group has no document; the copy has one"),
        "{}",
        copied.err
    );
    assert!(folder.path("b.zarr/A/zarr.json").exists());
}

/// Issue 13, points 15 and 26: what netCDF has no type or no name for is copied as it is into plain Zarr, and is never lost
/// without a word.
#[cfg(not(windows))]
#[test]
fn arrays_that_netcdf_lacks_are_copied_into_plain_zarr_and_named_for_nczarr() {
    let folder = Folder::new();
    let odd = ["half", "g/.hidden", "-x", "e\u{301}", "-g/v"];
    for from in ["v2", "v3"] {
        let source = format!("{from}.zarr");
        folder.good(&format!(
            "create {source} --group --format {from} --attr CLASS=x --attr _Netcdf4Dimid=1"
        ));
        for (path, shape, dtype, dims) in [
            ("half", "3", "float16", "--dims x"),
            ("scalar", "''", "float16", ""),
            ("g/.hidden", "3", "int32", "--dims x"),
            ("-x", "3", "int32", "--dims=-x"),
            ("e\u{301}", "3", "int32", "--dims x"),
            ("-g/v", "3", "int32", "--dims x"),
            ("temp", "3", "float32", "--dims x"),
        ] {
            folder.good(&format!(
                "create {source} --path=/{path} --format {from} --shape {shape} --dtype {dtype} {dims} --attr k=1"
            ));
        }
        for path in odd {
            let fed = folder.feed(&format!("put {source} --path=/{path}"), b"[1,2,3]");
            assert_eq!((fed.code, &*fed.err), (0, ""), "{path}");
        }
        for to in ["zarr-v2", "zarr-v3"] {
            let target = format!("{from}-{to}");
            folder.good(&format!("copy {source} {target} --to {to}"));
            for path in odd {
                let got = folder.good(&format!("get {target} --path=/{path}"));
                let got = got.text().replace(".0", "").split_whitespace().collect::<String>();
                assert_eq!(got, "[1,2,3]", "{path}");
                let attributes = folder.good(&format!("attrs {target} --path=/{path} --json"));
                assert_eq!(
                    attributes.json().as_object().unwrap().get("k").unwrap().as_i64(),
                    Some(1)
                );
            }
            let info = folder.good(&format!("info {target} --path=/half --json")).json();
            let names = info.as_object().unwrap().get("dimension_names").unwrap();
            assert_eq!(names.to_string(), r#"["x"]"#, "{target}");
            for attribute in ["CLASS", "_Netcdf4Dimid"] {
                assert!(
                    folder.good(&format!("attrs {target}")).text().contains(attribute),
                    "{target}"
                );
            }
            // Without its names xarray opens nothing of the group.
            if (from, to) == ("v3", "zarr-v2") {
                let attributes =
                    std::fs::read_to_string(folder.path(&format!("{target}/scalar/.zattrs")));
                assert!(attributes.unwrap().contains("_ARRAY_DIMENSIONS"), "{target}");
            }
        }
        for to in ["nczarr-v2", "nczarr-v3"] {
            let target = format!("{from}-{to}");
            let why = folder.bad(&format!("copy {source} {target} --to {to}"), 4);
            assert!(why.contains("--skip-unsupported") && why.contains(&source), "{why}");
            assert!(!folder.path(&target).exists(), "{target}");
            let copied =
                folder.run(&format!("copy {source} {target} --to {to} --skip-unsupported"));
            assert_eq!(copied.code, 0, "{}", copied.err);
            let skipped = copied.err.lines().filter_map(|line| line.strip_prefix("skipped: "));
            let skipped: Vec<&str> = skipped.filter_map(|line| line.split(": ").next()).collect();
            assert_eq!(skipped, ["/-g", "/-g/v", "/-x", "/g/.hidden", "/half", "/scalar"]);
            assert!(copied.err.contains("its name becomes `\u{e9}`"), "{}", copied.err);
            let again = format!("copy {source} {target}-2 --to {to} --skip-unsupported --json");
            let lines = folder.run(&again).err;
            assert!(lines.lines().all(|line| Json::parse(line.as_bytes()).is_ok()), "{lines}");
            assert!(lines.contains(r#"{"skipped":"/half: "#), "{lines}");
            folder.good(&format!("get {target} --path=/\u{e9}"));
        }
    }
}

/// An array by itself is the one variable of a dataset.
#[test]
fn an_array_by_itself_that_netcdf_lacks_is_copied_into_plain_zarr() {
    let folder = Folder::new();
    folder.good("create half.zarr --shape 3 --dtype float16 --fill 5");
    folder.good("copy half.zarr copy.zarr --to zarr-v2");
    let got = folder.good("get copy.zarr --path /half");
    assert_eq!(got.text().split_whitespace().collect::<String>(), "[5.0,5.0,5.0]");
    folder.bad("copy half.zarr nc.zarr --to nczarr-v3", 4);
}

/// A broken document stops no copy that leaves it out, and is named.
#[test]
fn a_broken_document_is_an_error_or_skipped_by_name() {
    let folder = Folder::new();
    folder.good("create a.zarr --path good --format v2 --shape 3 --dtype int32");
    folder.write("a.zarr/bad/.zarray", r#"{"zarr_format": 2, "shape": "x"}"#);
    let refused = folder.run("copy a.zarr b.zarr --to zarr-v3");
    assert!(refused.code == 4 && refused.err.contains("/bad"), "{}", refused.err);
    let copied = folder.run("copy a.zarr b.zarr --to zarr-v3 --skip-unsupported");
    assert!(copied.code == 0 && copied.err.contains("skipped: /bad: "), "{}", copied.err);
    folder.good("get b.zarr --path good");
}

/// Final v3 says the kind of a node in its document, so that listings leave out one that is cut off; a copy does not.
#[test]
fn a_document_that_is_cut_off_is_no_reason_to_leave_a_node_behind() {
    let folder = Folder::new();
    folder.good("create a.zarr --path good --shape 3 --dtype int32");
    folder.good("create a.zarr --path g/bad --shape 3 --dtype int32");
    for (cut, broken) in [("g/bad", "/g/bad"), ("g", "/g")] {
        folder.write(&format!("a.zarr/{cut}/zarr.json"), "{\"zarr_format\": 3,");
        let tree = folder.run("tree a.zarr");
        assert!(tree.code == 5 && tree.err.contains(broken), "{}", tree.err);
        let name = broken.rsplit('/').next().unwrap();
        assert!(tree.text().contains(&format!("{name}  (broken)")), "{}", tree.text());
        for (to, code) in [("v3", 5), ("v2", 5), ("nczarr-v3", 4), ("zarr-v2", 4)] {
            let refused = folder.run(&format!("copy a.zarr b.zarr --to {to}"));
            assert!(refused.code == code && refused.err.contains(broken), "{}", refused.err);
            assert!(refused.err.contains("--skip-unsupported"), "{}", refused.err);
            folder.bad("info b.zarr", 3);
            let copied = folder.run(&format!("copy a.zarr b.zarr --to {to} --skip-unsupported"));
            let skipped = format!("skipped: {broken}: ");
            assert!(copied.code == 0 && copied.err.contains(&skipped), "{}", copied.err);
            folder.good("get b.zarr --path good");
            folder.good("rm b.zarr --all");
        }
        assert_eq!(folder.run(&format!("copy a.zarr b.zarr --exclude {cut}")).code, 0);
        folder.good("rm b.zarr --all");
    }
}

/// In an archive the node is copied, and then the old one is erased.
#[test]
fn a_rename_erases_no_node_that_it_cannot_copy() {
    let folder = Folder::new();
    folder.good("create a.zip --path g/bad --shape 3 --dtype int32");
    assert_eq!(folder.feed("put a.zip --path g/bad", b"[1, 2, 3]").code, 0);
    let archive = ZipStore::open(folder.path("a.zip")).unwrap();
    let document = StoreKey::new("g/bad/zarr.json").unwrap();
    archive.set(&document, b"{\"zarr_format\": 3,".as_slice().into()).unwrap();
    drop(archive);
    let refused = folder.run("rename a.zip --path g h");
    assert!(refused.code == 5 && refused.err.contains("/g/bad"), "{}", refused.err);
    let archive = ZipStore::open(folder.path("a.zip")).unwrap();
    assert!(archive.value(&StoreKey::new("g/bad/c/0").unwrap()).unwrap().is_some());
}

/// Each rename takes the consolidated metadata away and makes them anew; one that came between would fail, or bring back what is gone.
#[test]
fn renames_at_the_same_time_wait_for_each_other() {
    const NODES: usize = 6;
    let folder = Folder::new();
    for n in 0..NODES {
        folder.good(&format!("create a.zarr/old{n} --shape 4 --dtype int8"));
    }
    folder.good("consolidate a.zarr");
    for (from, to) in [("old", "new"), ("new", "old")] {
        std::thread::scope(|scope| {
            let renames = (0..NODES).map(|n| {
                let line = format!("rename a.zarr --path {from}{n} {to}{n}");
                scope.spawn(|| {
                    let run = folder.run(&line);
                    (run.code, run.err, line)
                })
            });
            for rename in renames.collect::<Vec<_>>() {
                let (code, error, line) = rename.join().unwrap();
                assert_eq!(code, 0, "{line}: {error}");
            }
        });
        let copies = std::fs::read_to_string(folder.path("a.zarr/zarr.json")).unwrap();
        for n in 0..NODES {
            assert!(copies.contains(&format!("\"{to}{n}\"")), "{to}{n}: {copies}");
            assert!(!copies.contains(&format!("\"{from}{n}\"")), "{from}{n}: {copies}");
        }
        folder.good("validate a.zarr");
    }
}

/// In a folder the node is renamed, and then the consolidated metadata are made anew, which broken documents prevent.
#[test]
fn a_rename_without_consolidated_metadata_at_its_end_says_so() {
    let folder = Folder::new();
    folder.good("create a.zarr --path g/bad --shape 3 --dtype int32");
    folder.good("consolidate a.zarr");
    folder.write("a.zarr/g/bad/zarr.json", "{");
    let renamed = folder.run("rename a.zarr --path g h");
    assert!(renamed.code == 5 && renamed.err.contains("the node was renamed"), "{}", renamed.err);
    assert!(folder.path("a.zarr/h/bad/zarr.json").is_file());
}

/// Other programs write without making the copies anew: what they wrote is copied all the same, and compared.
#[test]
fn what_consolidated_metadata_lack_is_copied() {
    let folder = Folder::new();
    for format in ["v2", "v3"] {
        folder.good(&format!(
            "create s.zarr --path a --format {format} --shape 4 --chunks 2 --dtype int8"
        ));
        folder.good("consolidate s.zarr");
        folder.good(&format!(
            "create t.zarr --path a --format {format} --shape 6 --chunks 2 --dtype int8"
        ));
        assert_eq!(folder.feed("put t.zarr --path a", b"[1, 2, 3, 4, 5, 6]").code, 0);
        // As by a program that knows nothing of the copies.
        for at in ["s.zarr/a", "s.zarr/new"] {
            let mut cp = Command::new("cp");
            let cp = cp.arg("-rT").arg(folder.path("t.zarr/a")).arg(folder.path(at));
            assert!(cp.status().unwrap().success());
        }
        for to in [format, "nczarr-v3", "zarr-v2"] {
            let copied = folder.run(&format!("copy s.zarr c.zarr --to {to}"));
            assert_eq!(copied.code, 0, "{}", copied.err);
            assert!(
                copied.err.contains("/a: its copy in the consolidated metadata differs"),
                "{}",
                copied.err
            );
            for path in ["a", "new"] {
                let got = folder.run(&format!("get c.zarr --path {path}"));
                assert_eq!(got.text().trim(), "[1,2,3,4,5,6]", "{}", got.err);
            }
            folder.good("rm c.zarr --all");
        }
        let sums = ["s.zarr/a", "s.zarr/new"].map(|at| folder.run(&format!("checksum {at}")).out);
        assert_eq!(sums[0], sums[1]);
        // Who asks for them hears what they lack.
        let asked = folder.run("copy s.zarr c.zarr --consolidated");
        assert_eq!(asked.code, 0, "{}", asked.err);
        assert_eq!(asked.code, 0);
        assert_eq!(folder.run("get c.zarr --path a").text().trim(), "[1,2,3,4]");
        assert_eq!(folder.run("diff s.zarr c.zarr").code, 1);
        for store in ["s", "t", "c"] {
            folder.good(&format!("rm {store}.zarr --all"));
        }
    }
}

/// A store may have its documents only in consolidated metadata; of one that has some, the others are named.
#[test]
fn what_only_consolidated_metadata_have_is_copied_or_named() {
    let folder = Folder::new();
    for path in ["a", "b", "c"] {
        folder.good(&format!("create s.zarr --path {path} --format v2 --shape 4 --dtype int8"));
    }
    folder.good("consolidate s.zarr");
    std::fs::remove_file(folder.path("s.zarr/b/.zarray")).unwrap();
    let copied = folder.run("copy s.zarr c.zarr");
    assert!(
        copied.code == 0 && copied.err.contains("/b: skipped: it exists only in the"),
        "{}",
        copied.err
    );
    folder.good("get c.zarr --path a");
    folder.bad("get c.zarr --path b", 3);
    let copied = folder.run("copy s.zarr d.zarr --consolidated");
    assert!(copied.code == 0, "{}", copied.err);
    assert!(
        copied.err.starts_with("warning: /b: its document `b/.zarray` is missing, and only consolidated metadata describe it"),
        "{}",
        copied.err
    );
    folder.good("get d.zarr --path b");
    for path in ["a/.zarray", "c/.zarray", ".zgroup"] {
        std::fs::remove_file(folder.path(&format!("s.zarr/{path}"))).unwrap();
        let to = format!("{}.zarr", path.len());
        let copied = folder.run(&format!("copy s.zarr {to} --overwrite"));
        assert_eq!(copied.code, 0, "{}", copied.err);
    }
    folder.good("get 7.zarr --path b");
}

/// Filters of v2 that work on numbers go before those that work on their bytes, whatever the copy calls them.
#[test]
fn filters_of_v2_keep_their_order() {
    let folder = Folder::new();
    let numbers: Vec<u8> = (0..100i32).flat_map(|n| (n * n).to_le_bytes()).collect();
    for filter in [
        r#"{"id":"delta","dtype":"<i4","astype":"<i4"}"#,
        r#"{"id":"fixedscaleoffset","scale":2,"offset":5,"dtype":"<i4","astype":"<i4"}"#,
        r#"{"id":"shuffle","elementsize":4}"#,
        r#"{"id":"fletcher32"}"#,
    ] {
        folder.write("a.zarr/.zgroup", r#"{"zarr_format":2}"#);
        let array = r#"{"zarr_format":2,"shape":[100],"chunks":[30],"dtype":"<i4","compressor":{"id":"zlib","level":3},"fill_value":0,"order":"C","filters":[FILTER]}"#;
        folder.write("a.zarr/x/.zarray", array.replace("FILTER", filter).as_bytes());
        assert_eq!(folder.feed("put a.zarr --path x --format raw", &numbers).code, 0, "{filter}");
        for to in ["v2", "v3", "zarr-v2", "zarr-v3"] {
            folder.good(&format!("copy a.zarr b.zarr --to {to}"));
            let copied = folder.run("get b.zarr --path x --format raw");
            assert!(copied.out == numbers, "{filter} {to}: {}", copied.err);
            folder.good("validate b.zarr");
            folder.good("rm b.zarr --all");
        }
        folder.good("rm a.zarr --all");
    }
}

/// Of 10¹² chunks of which three are stored, three are read and written, however they are cut and shared out.
#[test]
fn a_huge_array_with_few_chunks_is_copied_at_once() {
    let folder = Folder::new();
    let [rows, columns] = [1u64 << 40, 1 << 20];
    folder
        .good(&format!("create a.zarr --shape {rows},{columns} --chunks 1000,1000 --dtype uint8"));
    let places = [
        "5:7,5:7".to_owned(),
        "123456789999:123456790001,500:502".to_owned(),
        format!("{}:{rows},{}:{columns}", rows - 2, columns - 2),
    ];
    for place in &places {
        let put = folder.feed(&format!("put a.zarr --region {place} --format raw"), &[1, 2, 3, 4]);
        assert_eq!(put.code, 0, "{}", put.err);
    }
    let check = |copied: &str| {
        folder.good(&format!("validate {copied}"));
        for place in &places {
            let read = folder.run(&format!("get {copied} --region {place} --format raw"));
            assert_eq!((read.code, &*read.out), (0, &[1, 2, 3, 4][..]), "{copied}: {}", read.err);
        }
        folder.good(&format!("rm {copied} --all"));
    };
    for how in [
        "",
        "--to v2",
        "--chunks 3000,700",
        "--to v2 --chunks 10,1024 --memory 256MiB",
        "--shards 5000,2000",
    ] {
        folder.good(&format!("copy a.zarr b.zarr --verify {how}"));
        check("b.zarr");
    }
    for part in ["1/3", "3/3", "2/3"] {
        folder.bad("copy a.zarr b.zarr --finish", 2);
        folder.good(&format!("copy a.zarr b.zarr --part {part}"));
    }
    folder.good("copy a.zarr b.zarr --finish");
    check("b.zarr");
    folder.good("copy a.zarr b.zarr --region 6:2000000000,6:");
    let read = folder.run("get b.zarr --region 0:2,0:2 --format raw");
    assert_eq!(read.out, [4, 0, 0, 0]);
}

#[test]
fn raw_bytes_that_few_programs_read_in_v3_are_named() {
    let folder = Folder::new();
    folder.good("create a --format v2 --shape 2 --dtype r24");
    let copied = folder.run("copy a b --to v3");
    assert!(
        copied.code == 0 && copied.err.contains("the v3 type `r24`, which neither zarr-python 3"),
        "{copied:?}"
    );
    folder.good("copy b c --to v3");
}

/// A second document of a node, of another format, is not left out without a word, with what it describes.
#[test]
fn second_documents_of_nodes_are_named() {
    let folder = Folder::new();
    folder.good("create m.zarr/a --shape 3 --dtype int32");
    folder.good("create other.zarr/a --format v2 --shape 3 --dtype int32");
    std::fs::copy(folder.path("other.zarr/a/.zarray"), folder.path("m.zarr/a/.zarray")).unwrap();
    let told = folder.run("copy m.zarr n.zarr");
    assert!(told.err.contains("`a/.zarray`: a second document of a node"), "{}", told.err);
    assert_ne!(folder.run("copy m.zarr o.zarr --strict").code, 0);
}

/// A node that is like the one at the new path is another one all the same, and so is one behind a link.
#[test]
fn a_rename_takes_the_place_of_no_node() {
    let folder = Folder::new();
    folder.good("create r.zarr/a --shape 3 --dtype int32");
    folder.good("create r.zarr/b --shape 3 --dtype int32");
    assert!(folder.bad("rename r.zarr/a b", 2).contains("already exists"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a", folder.path("r.zarr/c")).unwrap();
        folder.bad("rename r.zarr/a c", 2);
    }
    folder.good("info r.zarr/a");
    folder.good("info r.zarr/b");
    folder.good("create z.zip a --shape 3 --dtype int32");
    folder.good("create z.zip b --shape 3 --dtype int32");
    assert!(folder.bad("rename z.zip/a b", 2).contains("already exists"));
    folder.good("info z.zip a");
}
