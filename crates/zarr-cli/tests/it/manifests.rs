//! Manifests of stored chunks: what was lost, cut short, swapped or put back is an error when it is read.

use std::fs;

use crate::common::Folder;

/// An array of eight numbers in four chunks, which no codec protects.
const ARRAY: &str = r#"{"zarr_format": 2, "shape": [8], "chunks": [2], "dtype": "<i4", "compressor": null, "fill_value": 0, "filters": null, "order": "C"}"#;

fn sound() -> Folder {
    let folder = Folder::new();
    folder.write("s/.zgroup", r#"{"zarr_format": 2}"#);
    folder.write("s/a/.zarray", ARRAY);
    for chunk in 0..4u8 {
        folder.write(&format!("s/a/{chunk}"), [2 * chunk + 1, 0, 0, 0, 2 * chunk + 2, 0, 0, 0]);
    }
    let manifest = folder.good("checksum s --manifest --chunks").text().to_owned();
    folder.write("m", manifest);
    folder
}

#[test]
fn a_manifest_has_a_line_for_each_chunk() {
    let folder = sound();
    let text = fs::read_to_string(folder.path("m")).unwrap();
    let lines: Vec<(&str, &str)> =
        text.lines().map(|line| line.split_once("  ").unwrap()).collect();
    let names: Vec<&str> = lines.iter().map(|(_, name)| *name).collect();
    assert_eq!(names, ["/", "/a", "a/0", "a/1", "a/2", "a/3"]);
    // As `printf '\1\0\0\0\2\0\0\0' | sha256sum` prints it.
    assert_eq!(lines[2].0, "34fb5c825de7ca4aea6e712f19d439c1da0c92c37b423936c5f618545ca4fa1f");
    // The lines of nodes are what they were.
    let without = folder.good("checksum s --manifest").text().to_owned();
    assert!(text.starts_with(&without));
    folder.good("checksum s --check m");
    let json = folder.good("checksum s --manifest --chunks --json").json();
    let chunks = json.as_object().unwrap().get("chunks").unwrap().as_array().unwrap().to_vec();
    assert_eq!(chunks.len(), 4);
    assert_eq!(chunks[0].as_object().unwrap().get("key").unwrap().as_str(), Some("a/0"));
    folder.good("validate s --manifest m");
    folder.good("copy s copy --manifest m");
    folder.good("copy s again --codec gzip:1 --manifest m --verify");
    folder.good("validate copy --manifest m");
    // The copy's chunks are others.
    assert!(folder.bad("validate again --manifest m", 5).contains("could not be read"));
    folder.write("none", without);
    assert!(folder.bad("validate s --manifest none", 2).contains("has no lines for chunks"));
}

/// Each damage decodes well: only the manifest tells.
#[test]
fn what_is_not_as_it_was_is_an_error() {
    type Harm = fn(&Folder);
    let other = "the stored chunk is not the one of the manifest";
    let harms: [(&str, &str, Harm); 4] = [
        ("lost", "a/2`: manifest: the chunk is in the manifest and not stored", |folder| {
            fs::remove_file(folder.path("s/a/2")).unwrap();
        }),
        ("swapped", other, |folder| {
            let [one, two] = ["s/a/1", "s/a/2"].map(|name| fs::read(folder.path(name)).unwrap());
            folder.write("s/a/1", two);
            folder.write("s/a/2", one);
        }),
        ("stale", other, |folder| folder.write("s/a/2", [9u8; 8])),
        ("cut short", other, |folder| folder.write("s/a/2", [5u8, 0, 0, 0])),
    ];
    for (harm, told, make) in harms {
        let folder = sound();
        make(&folder);
        if harm != "cut short" {
            folder.good("validate s");
            folder.good("copy s unchecked");
        }
        let run = folder.run("validate s --manifest m");
        assert_eq!(run.code, 5, "{harm}: {}", run.text());
        let all = format!("{}{}", run.text(), run.err);
        assert!(all.contains(told), "{harm}: {all}");
        for way in ["", "--codec gzip:1", "--chunks 4", "--to nczarr-v2"] {
            let error = folder.bad(&format!("copy s copy {way} --manifest m"), 5);
            assert!(error.contains(told), "{harm}, {way}: {error}");
            assert!(error.contains("copy it again from its source"), "{harm}, {way}: {error}");
            folder.bad("get copy --path a", 3);
            _ = fs::remove_dir_all(folder.path("copy"));
        }
    }
    // A chunk that is stored and not in the manifest.
    let folder = sound();
    let text = fs::read_to_string(folder.path("m")).unwrap();
    let fewer: Vec<&str> = text.lines().filter(|line| !line.ends_with("a/3")).collect();
    folder.write("m", fewer.join("\n"));
    let error = folder.bad("copy s copy --manifest m", 5);
    assert!(
        error.contains("`a/3`: manifest: the chunk is stored and not in the manifest"),
        "{error}"
    );
}

/// `get` and `stats` check what they read.
#[test]
fn values_and_statistics_are_of_checked_chunks() {
    let folder = sound();
    let plain = folder.good("get s --path a").text().to_owned();
    assert_eq!(folder.good("get s --path a --manifest m").text(), plain);
    let plain = folder.good("stats s --path a --json").text().to_owned();
    assert_eq!(folder.good("stats s --path a --json --manifest m").text(), plain);
    folder.write("s/a/2", [9, 0, 0, 0, 9, 0, 0, 0]);
    for line in ["get s --path a --manifest m", "stats s --path a --manifest m"] {
        let err = folder.bad(line, 5);
        assert!(err.contains("the stored chunk is not the one of the manifest"), "{line}: {err}");
    }
    // Other chunks are read.
    folder.good("get s --path a --region 0:4 --manifest m");
    fs::remove_file(folder.path("s/a/2")).unwrap();
    let err = folder.bad("get s --path a --region 0:4 --manifest m", 5);
    assert!(err.contains("in the manifest and not stored"), "{err}");
    let err = folder.bad("get s --path a --manifest none", 2);
    assert!(err.contains("--manifest"), "{err}");
}

/// The journal of a copy notes the manifest, and whoever goes on checks against it.
#[test]
fn a_resumed_copy_checks_against_the_manifest_of_its_beginning() {
    let folder = sound();
    folder.write("elsewhere/m", fs::read(folder.path("m")).unwrap());
    folder.good("copy s t --manifest m --part 1/2");
    let set = |bytes: [u8; 8]| {
        let chunk = folder.path("s/a/3");
        let time = fs::metadata(&chunk).unwrap().modified().unwrap();
        fs::write(&chunk, bytes).unwrap();
        fs::File::options().append(true).open(&chunk).unwrap().set_modified(time).unwrap();
    };
    // Only the manifest tells: size and time are the same.
    set([9, 0, 0, 0, 9, 0, 0, 0]);
    for line in ["copy s t --part 2/2", "copy s t --part 2/2 --manifest elsewhere/m"] {
        let err = folder.bad(line, 5);
        assert!(err.contains("the stored chunk is not the one of the manifest"), "{line}: {err}");
    }
    set([7, 0, 0, 0, 8, 0, 0, 0]);
    fs::rename(folder.path("m"), folder.path("m2")).unwrap();
    let err = folder.bad("copy s t --part 2/2", 2);
    assert!(err.contains("--manifest"), "{err}");
    folder.good("copy s t --part 2/2 --manifest m2");
    folder.good("copy s t --finish --manifest m2");
    folder.good("diff s t");
}
