//! `--no-missing`: a chunk that is not stored is an error for the commands that read elements, and a copy is not finished.

use std::fs;

use crate::common::Folder;
use zarr::Json;

/// An array of v2 of eight numbers in chunks of two, uncompressed.
const ARRAY: &str = r#"{"zarr_format": 2, "shape": [8], "chunks": [2], "dtype": "<i4", "compressor": null, "fill_value": 9, "filters": null, "order": "C"}"#;

/// A group `s` with an array `a` of the numbers 1 to 8, without the chunk of 5 and 6.
fn one_lost() -> Folder {
    let folder = Folder::new();
    folder.write("s/.zgroup", r#"{"zarr_format": 2}"#);
    folder.write("s/a/.zarray", ARRAY);
    for chunk in [0u8, 1, 3] {
        folder.write(&format!("s/a/{chunk}"), numbers(chunk));
    }
    folder
}

fn numbers(chunk: u8) -> [u8; 8] {
    [2 * chunk + 1, 0, 0, 0, 2 * chunk + 2, 0, 0, 0]
}

fn check_told(told: &str, what: &str) {
    assert!(told.contains(what), "{told}, expected {what}");
    assert!(told.contains("leave out --no-missing"), "{told}");
}

const LOST: &str = "/a, chunk (2) at `a/2`: the chunk is not stored";

#[test]
fn commands_that_read_name_the_chunk() {
    let folder = one_lost();
    let commands =
        ["get s --path a", "checksum s", "checksum s --path a --manifest", "stats s --path a"];
    let more = ["stats s --path a --by-chunk", "stats s --path a --histogram 2", "stats s"];
    for command in commands.into_iter().chain(more) {
        folder.good(command);
        check_told(&folder.bad(&format!("{command} --no-missing"), 5), LOST);
    }
    let run = folder.run("get s --path a --json --no-missing");
    let error = Json::parse(run.err.trim().as_bytes()).unwrap();
    let error = error.as_object().unwrap().get("error").unwrap().as_object().unwrap().clone();
    assert_eq!(error.get("kind").and_then(Json::as_str), Some("corrupt_data"));
    assert_eq!(error.get("key").and_then(Json::as_str), Some("a/2"));
    // Only what is read must be there.
    assert_eq!(folder.good("get s --path a --region 2:4 --no-missing").text().trim(), "[3,4]");
    assert_eq!(folder.good("get s --path a --region 4:5").text().trim(), "[9]");
    folder.write("s/a/2", numbers(2));
    for command in commands.into_iter().chain(more) {
        let without = folder.good(command).text().to_owned();
        assert_eq!(folder.good(&format!("{command} --no-missing")).text(), without);
    }
}

#[test]
fn no_copy_is_finished() {
    // As it is stored, encoded again, in other chunks, in shards, a part, and as a netCDF dataset.
    let ways = [
        "",
        "--recode",
        "--codec gzip:1",
        "--chunks 4",
        "--to v3 --chunks 2 --shards 4",
        "--path a --region 2:6",
        "--path a --region 1:6",
        "--to nczarr-v2",
    ];
    for way in ways {
        let folder = one_lost();
        let command = format!("copy s copy {way} --no-missing");
        check_told(&folder.bad(&command, 5), LOST);
        let found = folder.run("get copy --path a");
        let found = if found.code == 0 { folder.run("get copy") } else { found };
        assert_eq!(found.code, 3, "{way}: {}", found.text());
        // What was asked for stays asked for.
        check_told(&folder.bad(&format!("copy s copy {way} --resume"), 5), LOST);
        folder.write("s/a/2", numbers(2));
        // Other chunks are not those with which the copy began.
        let begun = if way.contains("nczarr") { "" } else { "--overwrite" };
        if begun.is_empty() {
            fs::remove_dir_all(folder.path("copy")).unwrap();
        }
        folder.good(&format!("{command} {begun}"));
        let node = if way.contains("--path a") { "copy" } else { "copy --path a" };
        let expected = match way {
            "--path a --region 2:6" => "[3,4,5,6]",
            "--path a --region 1:6" => "[2,3,4,5,6]",
            _ => "[1,2,3,4,5,6,7,8]",
        };
        assert_eq!(folder.good(&format!("get {node}")).text().trim(), expected, "{way}");
    }
}

#[test]
fn shards_without_an_inner_chunk_are_not_copied() {
    let folder = Folder::new();
    folder.write("s/.zgroup", r#"{"zarr_format": 2}"#);
    folder.write("s/a/.zarray", ARRAY);
    // 9 is the fill value, whose inner chunk is left out.
    for chunk in [0u8, 1, 3] {
        folder.write(&format!("s/a/{chunk}"), numbers(chunk));
    }
    folder.write("s/a/2", [9u8, 0, 0, 0, 9, 0, 0, 0]);
    folder.good("copy s sharded --to v3 --chunks 2 --shards 8 --no-missing");
    assert_eq!(folder.good("get sharded --path a").text().trim(), "[1,2,3,4,9,9,7,8]");
    let what = "/a, chunk (0) at `a/c/0`: inner chunk (2) is not stored";
    for way in ["", "--recode", "--chunks 4", "--path a"] {
        let plan = folder.good(&format!("copy sharded copy {way} --dry-run"));
        let as_stored =
            if ["", "--path a"].contains(&way) { "1 array copied as stored" } else { "0 arrays" };
        assert!(plan.text().contains(as_stored), "{way}: {}", plan.text());
        check_told(&folder.bad(&format!("copy sharded copy {way} --no-missing"), 5), what);
        fs::remove_dir_all(folder.path("copy")).unwrap();
    }
    check_told(&folder.bad("get sharded --path a --no-missing", 5), what);
    check_told(&folder.bad("checksum sharded --no-missing", 5), what);
    check_told(&folder.bad("stats sharded --path a --no-missing", 5), what);
    // A part without that inner chunk can be read, and a copy of other shards made.
    folder.good("get sharded --path a --region 0:4 --no-missing");
}

/// What is not stored is looked for also where there are many chunks and few of them are.
#[test]
fn of_very_many_chunks_the_first_missing_one_is_named() {
    let folder = Folder::new();
    let array = ARRAY.replace("[8]", "[1000000000000]").replace("[2]", "[1]");
    folder.write("s/.zarray", array);
    for chunk in [0, 1] {
        folder.write(&format!("s/{chunk}"), [1, 0, 0, 0]);
    }
    let lost = "chunk (2) at `2`: the chunk is not stored";
    for command in ["stats s", "copy s copy", "copy s again --codec gzip:1"] {
        let told = folder.bad(&format!("{command} --no-missing"), 5);
        assert!(told.contains("the chunk is not stored"), "{told}");
    }
    check_told(&folder.bad("copy s third --no-missing", 5), lost);
}
