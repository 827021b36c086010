//! Nodes are listed with what they take.

use crate::common::Folder;

fn filled() -> Folder {
    let folder = Folder::new();
    folder.good("create d.zarr --path small --shape 4,6 --chunks 2,3 --dtype int16");
    folder.good("create d.zarr --path deep/large --shape 100 --chunks 10 --dtype float64");
    folder.good("create d.zarr --path deep/text --shape 3 --dtype string");
    let put = folder.feed("put d.zarr --path small --region :2,: --format raw", &[1; 24]);
    assert_eq!((put.code, &*put.err), (0, ""));
    let put = folder.feed("put d.zarr --path deep/large --format raw", &[2; 800]);
    assert_eq!((put.code, &*put.err), (0, ""));
    folder
}

#[test]
fn names_are_listed_and_groups_end_in_a_slash() {
    let folder = filled();
    assert_eq!(folder.good("ls d.zarr").text(), "deep/\nsmall\n");
    assert_eq!(folder.good("ls -R d.zarr").text(), "deep/\ndeep/large\ndeep/text\nsmall\n");
    assert_eq!(folder.good("ls d.zarr --path small").text(), "small\n");
    assert_eq!(folder.good("ls d.zarr/small").text(), "d.zarr/small\n");
    assert_eq!(folder.good("ls -S -R d.zarr").text(), "deep/large\nsmall\ndeep/text\ndeep/\n");
    folder.bad("ls nowhere.zarr", 3);
    assert!(folder.good("ls --help").text().contains("zarr ls -lhRS"));
}

#[test]
fn the_long_form_counts_chunks_and_bytes() {
    let folder = filled();
    let json = folder.good("ls -l -R d.zarr --json").json();
    let nodes = json.as_object().unwrap().get("nodes").unwrap().as_array().unwrap();
    let of = |name: &str, member: &str| {
        let named = |node: &&zarr::Json| {
            node.as_object().unwrap().get("name").unwrap().as_str() == Some(name)
        };
        let node = nodes.iter().find(named).unwrap().as_object().unwrap();
        node.get(member).unwrap().to_string()
    };
    assert_eq!(of("small", "stored_chunks"), "2");
    assert_eq!(of("small", "chunk_count"), "4");
    assert_eq!(of("small", "bytes"), "48");
    assert_eq!(of("small", "shape"), "[4,6]");
    assert_eq!(of("deep/large", "stored_chunks"), "10");
    assert_eq!(of("deep/text", "bytes"), "null");
    assert_eq!(of("deep", "node_type"), "\"group\"");
    let size: u64 = ["c/0/0", "c/0/1"]
        .iter()
        .map(|key| std::fs::metadata(folder.path(&format!("d.zarr/small/{key}"))).unwrap().len())
        .sum();
    assert_eq!(of("small", "stored_bytes"), size.to_string());
    let text = folder.good("ls -lh d.zarr").text().to_owned();
    let line = text.lines().last().unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[..4], ["array", "int16", "4×6", "2×3"], "{text}");
    assert_eq!(words[words.len() - 2..], ["2/4", "small"], "{text}");
    // A pipe gets names only if it asks for them.
    assert!(!text.contains("kind"), "{text}");
    let named = folder.good("ls -lh --header d.zarr").text().to_owned();
    let heading: Vec<&str> = named.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(
        heading,
        ["kind", "type", "shape", "chunks", "stored", "ratio", "written", "name"],
        "{named}"
    );
    assert_eq!(named.lines().count(), text.lines().count() + 1);
    folder.bad("ls --header d.zarr", 2);
}

#[test]
fn archives_and_lmdb_have_the_same_sizes_as_a_folder() {
    let folder = filled();
    let sizes = |target: &str| {
        let json = folder.good(&format!("ls -lR {target} --json")).json();
        let nodes = json.as_object().unwrap().get("nodes").unwrap().as_array().unwrap();
        let of = |node: &zarr::Json, member: &str| {
            node.as_object().unwrap().get(member).map(ToString::to_string)
        };
        let each = |node: &zarr::Json| {
            ["name", "stored_bytes", "stored_chunks"].map(|member| of(node, member))
        };
        nodes.iter().map(each).collect::<Vec<_>>()
    };
    for target in ["d.zarr.zip", "d.lmdb"] {
        folder.good(&format!("copy d.zarr {target}"));
        assert_eq!(sizes(target), sizes("d.zarr"), "{target}");
    }
}

/// In every dialect, also where the document alone would tell the kind of the node.
#[test]
fn a_broken_node_is_an_error_and_the_others_are_shown() {
    for (dialect, document) in
        [("v3", "bad/zarr.json"), ("v2", "bad/.zarray"), ("draft-2020", "meta/root/bad.array.json")]
    {
        let folder = Folder::new();
        for name in ["bad", "good"] {
            folder.good(&format!(
                "create d.zarr --path {name} --format {dialect} --shape 3 --dtype int32"
            ));
        }
        folder.write(&format!("d.zarr/{document}"), "{");
        for verb in [
            "ls",
            "ls -l",
            "ls -R",
            "ls --json",
            "stats",
            "stats --json",
            "dump",
            "dump -h",
            "tree",
        ] {
            let run = folder.run(&format!("{verb} d.zarr"));
            assert_eq!(run.code, 5, "{dialect} {verb}: {}", run.err);
            assert_eq!(run.err.lines().count(), 1, "{dialect} {verb}: {}", run.err);
            assert!(run.err.contains("/bad"), "{dialect} {verb}: {}", run.err);
            assert!(run.err.contains("EOF while"), "{dialect} {verb}: {}", run.err);
            assert!(run.text().contains("good"), "{dialect} {verb}: {}", run.text());
            let is_named = run.text().contains("bad");
            assert_eq!(is_named, verb.starts_with("ls") || verb == "tree", "{dialect} {verb}");
        }
    }
}

/// Also where a key tells that it is a group; what lies below it is shown all the same.
#[test]
fn a_broken_group_is_an_error_and_what_is_below_it_is_shown() {
    for (dialect, document) in [("v2", "bad/.zgroup"), ("draft-2020", "meta/root/bad.group.json")] {
        let folder = Folder::new();
        for path in ["bad/deep", "good/deep"] {
            folder.good(&format!(
                "create d.zarr --path {path} --format {dialect} --shape 3 --dtype int32"
            ));
        }
        folder.write(&format!("d.zarr/{document}"), "{");
        for verb in ["ls", "ls -l", "ls -R", "ls --json", "stats", "tree", "tree --json"] {
            let run = folder.run(&format!("{verb} d.zarr"));
            assert_eq!(run.code, 5, "{dialect} {verb}: {}", run.err);
            assert_eq!(run.err.lines().count(), 1, "{dialect} {verb}: {}", run.err);
            assert!(run.err.contains("/bad"), "{dialect} {verb}: {}", run.err);
            assert!(run.err.contains("EOF while"), "{dialect} {verb}: {}", run.err);
            let text = run.text();
            let shown = text.matches("deep").count();
            let below = if verb.starts_with("ls") && verb != "ls -R" { 0 } else { 2 };
            assert_eq!(shown, below, "{dialect} {verb}: {text}");
        }
        let tree = folder.run("tree d.zarr").text().to_owned();
        assert!(tree.starts_with("/\n├── bad  (broken)\n│   └── deep "), "{dialect}: {tree}");
    }
}

/// Without consolidated metadata, the listings of `zarr serve` name the nodes and the keys: those of what is stored, and of the same as v3.
/// A netCDF file has a store of its own, which is found by its first bytes.
#[cfg(feature = "serve")]
#[test]
fn a_netcdf_file_is_served() {
    use zarr_serve::{ServeOptions, Server, Targets, TargetsOptions};

    let folder = Folder::new();
    let bytes = b"CDF\x01\0\0\0\0\0\0\0\x0a\0\0\0\x01\0\0\0\x01x\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\
        \0\0\0\x0b\0\0\0\x01\0\0\0\x01v\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\x08\
        \0\0\0\x50\0\x0a\0\x14\0\x1e\x80\x01";
    std::fs::write(folder.path("depths.nc"), bytes).unwrap();
    assert_eq!(folder.good("get depths.nc/v").text(), "[10,20,30]\n");
    let open = zarr::OpenOptions::new(zarr::standard());
    let options = TargetsOptions { open, ..TargetsOptions::default() };
    let targets = Targets::open(&[folder.path("depths.nc").display().to_string()], &options);
    let options = ServeOptions { port: Some(0), ..ServeOptions::default() };
    let server = Server::new(targets.unwrap(), options).unwrap();
    let address = server.address().unwrap();
    std::thread::spawn(move || server.run(std::future::pending(), std::future::pending()));
    let get = folder.good(&format!("get http://{address}/depths.nc/v"));
    assert_eq!(get.text(), "[10,20,30]\n");
}

#[cfg(feature = "serve")]
#[test]
fn what_is_served_is_listed_copied_and_validated() {
    use zarr_serve::{ServeOptions, Server, Targets, TargetsOptions};

    let folder = filled();
    folder.good("copy d.zarr old.zarr --to v2");
    let open = zarr::OpenOptions::new(zarr::standard());
    let options = TargetsOptions { open, ..TargetsOptions::default() };
    let targets = ["d.zarr", "old.zarr"].map(|name| folder.path(name).display().to_string());
    let targets = Targets::open(&targets, &options).unwrap();
    let options = ServeOptions { port: Some(0), ..ServeOptions::default() };
    let server = Server::new(targets, options).unwrap();
    let address = server.address().unwrap();
    std::thread::spawn(move || server.run(std::future::pending(), std::future::pending()));
    for (n, path) in ["d.zarr", "old.zarr", "v3/old.zarr"].into_iter().enumerate() {
        let url = format!("http://{address}/{path}");
        let names = folder.good(&format!("ls -R {url}")).text().to_owned();
        assert_eq!(names, "deep/\ndeep/large\ndeep/text\nsmall\n", "{url}");
        let tree = folder.good(&format!("tree {url}")).text().to_owned();
        assert!(tree.contains("large") && tree.contains("text"), "{tree}");
        folder.good(&format!("validate {url}"));
        // An index may hide files, of which the copy says so.
        let copied = folder.run(&format!("copy {url} copy-{n}.zarr --verify"));
        assert_eq!(copied.code, 0, "{}", copied.err);
        let is_note = |line: &str| line.contains("it may hide others");
        assert!(copied.err.lines().all(is_note), "{}", copied.err);
        folder.good(&format!("diff d.zarr copy-{n}.zarr"));
    }
    let error = folder.bad(&format!("ls http://{address}/d.zarr/nothing"), 3);
    assert!(error.contains("small"), "{error}");
}
