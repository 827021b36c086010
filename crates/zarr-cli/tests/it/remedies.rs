//! What `zarr validate` advises mends what it found: each kind of damage is made, the advice followed, and the data looked at again.

use std::fs;

use crate::common::Folder;
use zarr::Json;
use zarr::tools::ProblemKind;

/// An array of v2 of four numbers, uncompressed.
const V2: &str = r#"{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "compressor": null, "fill_value": 0, "filters": null, "order": "C"}"#;
const V3: &str = r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "float32", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {}}"#;
const GROUP: &str = r#"{"zarr_format": 2}"#;
const GROUP_V3: &str = r#"{"zarr_format": 3, "node_type": "group"}"#;

/// A hierarchy of v2 with the arrays `/a` and `/g/b`.
fn v2(folder: &Folder) {
    folder.write("s/.zgroup", GROUP);
    folder.write("s/g/.zgroup", GROUP);
    for array in ["s/a", "s/g/b"] {
        folder.write(&format!("{array}/.zarray"), V2);
        folder.write(&format!("{array}/0"), [1, 0, 0, 0, 2, 0, 0, 0]);
        folder.write(&format!("{array}/1"), [3, 0, 0, 0, 4, 0, 0, 0]);
    }
}

/// The same of v3.
fn v3(folder: &Folder) {
    folder.write("s/zarr.json", GROUP_V3);
    folder.write("s/g/zarr.json", GROUP_V3);
    for array in ["s/a", "s/g/b"] {
        folder.write(&format!("{array}/zarr.json"), V3);
        folder.write(&format!("{array}/c/0"), [0u8, 0, 128, 63, 0, 0, 0, 64]);
        folder.write(&format!("{array}/c/1"), [0u8, 0, 64, 64, 0, 0, 128, 64]);
    }
}

fn changed(folder: &Folder, at: &str, from: &str, to: &str) {
    let text = fs::read_to_string(folder.path(at)).unwrap();
    assert!(text.contains(from), "{at}: {text}");
    folder.write(at, text.replacen(from, to, 1));
}

/// The kinds of what is found, and the remedies.
fn found(folder: &Folder, extra: &str) -> Vec<(String, String)> {
    let report = folder.run(&format!("validate s --json {extra}")).json();
    let report = report.as_object().unwrap();
    let all = ["problems", "notes"]
        .into_iter()
        .flat_map(|list| report.get(list).and_then(Json::as_array).unwrap_or_default().to_vec());
    all.map(|problem| {
        let member = |name: &str| {
            let problem = problem.as_object().unwrap();
            problem.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
        };
        (member("kind"), member("remedy"))
    })
    .collect()
}

/// A kind of damage.
struct Damage {
    kind: ProblemKind,
    make: fn(&Folder),
    /// What the remedy says.
    advice: &'static str,
    /// How it is followed.
    remedy: fn(&Folder),
}

/// The program ends well, whatever it warns of.
fn fine(folder: &Folder, line: &str) {
    let run = folder.run(line);
    assert_eq!(run.code, 0, "{line}: {}", run.err);
}

fn repair(folder: &Folder) {
    fine(folder, "repair s --apply");
}

fn consolidate(folder: &Folder) {
    fine(folder, "consolidate s");
}

fn all() -> Vec<Damage> {
    use ProblemKind::*;
    let damage = |kind, make, advice, remedy| Damage { kind, make, advice, remedy };
    vec![
        damage(
            DeviatingDocument,
            |folder| {
                v3(folder);
                changed(folder, "s/a/zarr.json", r#""fill_value": 0"#, r#""fill_value": "0""#);
            },
            "`zarr repair --apply` corrects it",
            repair,
        ),
        damage(
            DeviatingDocument,
            |folder| {
                v2(folder);
                changed(folder, "s/a/.zarray", r#""fill_value": 0"#, r#""fill_value": "0""#);
            },
            "`zarr repair --apply` corrects it",
            repair,
        ),
        // A bare NaN of an attribute is a number for some readers, which no other writing keeps.
        damage(
            DeviatingDocument,
            |folder| {
                v2(folder);
                folder.write("s/a/.zattrs", r#"{"missing_value": NaN}"#);
            },
            "`zarr attrs --set`",
            |folder| {
                fine(folder, r#"attrs s --path a --set 'missing_value="NaN"'"#);
            },
        ),
        damage(
            DeviatingDocument,
            |folder| {
                v3(folder);
                changed(
                    folder,
                    "s/a/zarr.json",
                    r#""attributes": {}"#,
                    r#""attributes": {"n": NaN}"#,
                );
            },
            "`zarr attrs --set`",
            |folder| {
                fine(folder, r#"attrs s --path a --set 'n="NaN"'"#);
            },
        ),
        damage(
            MissingDocument,
            |folder| {
                v2(folder);
                fs::remove_file(folder.path("s/g/.zgroup")).unwrap();
            },
            "`zarr repair --apply` writes it",
            repair,
        ),
        damage(
            MissingDocument,
            |folder| {
                v3(folder);
                fs::remove_file(folder.path("s/g/zarr.json")).unwrap();
            },
            "`zarr repair --apply` writes it",
            repair,
        ),
        damage(
            OrphanedDocument,
            |folder| {
                v2(folder);
                folder.write("s/x/.zattrs", r#"{"a": 1}"#);
            },
            "`zarr repair --orphans --apply`",
            |folder| {
                fine(folder, "repair s --orphans --apply");
            },
        ),
        damage(
            ConflictingDocuments,
            |folder| {
                v2(folder);
                folder.write("s/a/.zgroup", GROUP);
            },
            "erase the document that is out of date",
            |folder| fs::remove_file(folder.path("s/a/.zgroup")).unwrap(),
        ),
        damage(
            ArrayInsideArray,
            |folder| {
                v2(folder);
                folder.write("s/a/inner/.zarray", V2);
            },
            "`zarr rename`",
            |folder| {
                fine(folder, "rename s --path a/inner moved");
            },
        ),
        damage(
            ArrayInsideArray,
            |folder| {
                v3(folder);
                folder.write("s/a/inner/zarr.json", V3);
            },
            "`zarr rm`",
            |folder| {
                fine(folder, "rm s --path a/inner");
            },
        ),
        damage(
            ConsolidatedInvalid,
            |folder| {
                v2(folder);
                folder.write("s/.zmetadata", "{");
            },
            "`zarr consolidate`",
            consolidate,
        ),
        damage(
            ConsolidatedMissing,
            |folder| {
                v3(folder);
                fine(folder, "consolidate s");
                folder.write("s/new/zarr.json", V3);
            },
            "`zarr consolidate`",
            consolidate,
        ),
        damage(
            ConsolidatedMissing,
            |folder| {
                v2(folder);
                fine(folder, "consolidate s/g");
                folder.write("s/g/new/.zarray", V2);
            },
            "--path g`",
            |folder| {
                fine(folder, "consolidate s --path g");
            },
        ),
        damage(
            ConsolidatedDiffers,
            |folder| {
                v3(folder);
                fine(folder, "consolidate s --path g");
                fine(folder, "consolidate s");
                changed(folder, "s/g/b/zarr.json", "[4]", "[3]");
            },
            "`zarr consolidate`",
            |folder| {
                fine(folder, "consolidate s --path g");
                fine(folder, "consolidate s");
            },
        ),
        damage(
            ConsolidatedExtra,
            |folder| {
                v2(folder);
                fine(folder, "consolidate s");
                fs::remove_file(folder.path("s/a/.zarray")).unwrap();
            },
            "`zarr repair --apply` writes the document",
            repair,
        ),
        damage(
            ConsolidatedExtra,
            |folder| {
                v3(folder);
                fine(folder, "consolidate s");
                fs::remove_dir_all(folder.path("s/a")).unwrap();
            },
            "`zarr rm` takes the copy away",
            |folder| {
                fine(folder, "rm s --path a");
            },
        ),
        damage(
            DimensionNames,
            |folder| {
                v2(folder);
                folder.write("s/a/.zattrs", r#"{"_ARRAY_DIMENSIONS": ["x", "y"]}"#);
            },
            "`zarr attrs --set`",
            |folder| {
                fine(folder, r#"attrs s --path a --set '_ARRAY_DIMENSIONS=["x"]'"#);
            },
        ),
        damage(
            StrayKey,
            |folder| {
                v2(folder);
                folder.write("s/a/0.1.2", "x");
            },
            "`zarr repair --apply`",
            repair,
        ),
        damage(
            OrphanedChunk,
            |folder| {
                v2(folder);
                folder.write("s/x/0.0", "x");
            },
            "`zarr repair --orphans --apply`",
            |folder| {
                fine(folder, "repair s --orphans --apply");
            },
        ),
        damage(
            OutsideGrid,
            |folder| {
                v2(folder);
                folder.write("s/a/7", "x");
            },
            "`zarr repair --apply`",
            repair,
        ),
        damage(
            MisspelledKey,
            |folder| {
                v2(folder);
                fs::rename(folder.path("s/a/1"), folder.path("s/a/01")).unwrap();
            },
            "rename it to the key that is named",
            |folder| fs::rename(folder.path("s/a/01"), folder.path("s/a/1")).unwrap(),
        ),
        damage(
            ChunkSeparator,
            |folder| {
                v2(folder);
                nested(folder);
            },
            "`zarr repair --apply` corrects it",
            repair,
        ),
        damage(
            StoredTwice,
            |folder| {
                v2(folder);
                folder.write("s/a/01", "x");
            },
            "`zarr repair --apply`",
            repair,
        ),
        damage(
            EmptyValue,
            |folder| {
                v2(folder);
                folder.write("s/a/1", "");
            },
            "`zarr repair --apply`",
            repair,
        ),
        damage(
            WrongSize,
            |folder| {
                v2(folder);
                folder.write("s/a/1", "abc");
            },
            "`zarr repair --apply`",
            repair,
        ),
        damage(
            DimensionLengths,
            |folder| {
                v2(folder);
                folder.write("s/a/.zattrs", r#"{"_ARRAY_DIMENSIONS": ["t"]}"#);
                folder.write("s/t/.zarray", V2.replace("[4]", "[3]"));
                folder.write("s/t/.zattrs", r#"{"_ARRAY_DIMENSIONS": ["t"]}"#);
            },
            "`zarr resize`",
            |folder| {
                fine(folder, "resize s --path t --shape 4");
            },
        ),
        damage(
            Quarantined,
            |folder| {
                v2(folder);
                folder.write("s/a/7", "x");
                fine(folder, "repair s --apply");
            },
            "`zarr repair --restore --apply`",
            |folder| {
                fine(folder, "repair s --restore --apply");
            },
        ),
    ]
}

/// An array of two axes whose chunks are at `0/0`, as nested stores of zarr-python 2 put them without a word in the document.
fn nested(folder: &Folder) {
    folder.write("s/n/.zarray", V2.replace("[4]", "[2, 2]").replace("[2],", "[1, 2],"));
    folder.write("s/n/0/0", [1, 0, 0, 0, 2, 0, 0, 0]);
    folder.write("s/n/1/0", [3, 0, 0, 0, 4, 0, 0, 0]);
}

#[test]
fn every_remedy_mends() {
    let mut wrong = Vec::new();
    for (n, Damage { kind, make, advice, remedy }) in all().into_iter().enumerate() {
        let folder = Folder::new();
        make(&folder);
        let before = found(&folder, "");
        let of_kind: Vec<_> = before.iter().filter(|(found, _)| found == kind.name()).collect();
        let is_advised = of_kind.iter().all(|(_, remedy)| remedy.contains(advice));
        if of_kind.is_empty() || !is_advised {
            wrong.push(format!("{n}, {kind}, before: {before:?}"));
            continue;
        }
        if std::panic::catch_unwind(|| remedy(&folder)).is_err() {
            wrong.push(format!("{n}, {kind}: the remedy fails"));
            continue;
        }
        let after = found(&folder, "");
        let is_left = after.iter().any(|(found, _)| found == kind.name());
        // What was moved away is a note, and what was moved back is the damage that was there.
        let is_known =
            |(kind, _): &&(String, String)| ["quarantined", "outside_grid"].contains(&&**kind);
        if is_left || !after.iter().all(|found| is_known(&found)) {
            wrong.push(format!("{n}, {kind}, after: {after:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A chunk that is found again is read.
#[test]
fn chunks_at_keys_of_another_form_are_found_after_the_repair() {
    let folder = Folder::new();
    folder.write("s/.zgroup", GROUP);
    nested(&folder);
    let problem = folder.run("validate s -q");
    assert!(
        problem.text().contains("s/n/.zarray") || problem.text().contains("n/.zarray"),
        "{problem:?}"
    );
    assert!(problem.text().contains(r#""dimension_separator": "/""#), "{problem:?}");
    assert_eq!(problem.text().lines().count(), 1, "{problem:?}");
    assert_eq!(folder.good("get s --path n").text().trim(), "[[0,0],[0,0]]");
    folder.good("repair s --apply");
    assert_eq!(folder.good("get s --path n").text().trim(), "[[1,2],[3,4]]");
}

/// Nothing that a reader of another program may take is moved away.
#[test]
fn a_repair_moves_no_document_away_that_others_may_read() {
    for (from, to) in [
        (r#""fill_value": 0"#, r#""fill_value": NaN"#),
        (r#""zarr_format": 3"#, r#""zarr_format": "3""#),
        (r#""data_type": "float32""#, r#""data_type": "float32", "data_type": "float32""#),
        (r#""chunk_shape": [2]"#, r#""chunk_shape": [0]"#),
    ] {
        let folder = Folder::new();
        v3(&folder);
        changed(&folder, "s/a/zarr.json", from, to);
        let before = found(&folder, "");
        folder.run("repair s --apply");
        let after = fs::read_to_string(folder.path("s/a/zarr.json")).expect("it is there");
        let is_sound = found(&folder, "-q").is_empty();
        assert!(is_sound || after.contains(to), "{to}: {before:?} {after}");
        if to.contains("NaN") || to.contains("\"3\"") {
            assert!(is_sound, "{to}: {:?}", found(&folder, ""));
            assert_eq!(folder.good("get s --path a").text().trim(), "[1.0,2.0,3.0,4.0]", "{to}");
        }
    }
    let folder = Folder::new();
    v2(&folder);
    changed(&folder, "s/a/.zarray", r#""zarr_format": 2"#, r#""zarr_format": "2""#);
    folder.run("repair s --apply");
    assert!(found(&folder, "-q").is_empty(), "{:?}", found(&folder, ""));
    assert_eq!(folder.good("get s --path a").text().trim(), "[1,2,3,4]");
}

/// Neither separators nor names of axes are in `multiscales`. What is advised mends them.
#[test]
fn the_arrays_of_an_image_are_mended_by_copies() {
    let axes = r#"[{"name":"y","type":"space"},{"name":"x","type":"space"}]"#;
    let scale = r#"[{"type":"scale","scale":[1,1]}]"#;
    let image = |version: &str| {
        let datasets = format!(r#"[{{"path":"0","coordinateTransformations":{scale}}}]"#);
        format!(r#"{{"axes":{axes},"datasets":{datasets}{version}}}"#)
    };
    let folder = Folder::new();
    folder.write("s/.zgroup", r#"{"zarr_format":2}"#);
    let old = format!(r#"{{"multiscales":[{}]}}"#, image(r#","version":"0.4""#));
    folder.write("s/.zattrs", old);
    folder.write("s/0/.zarray", V2.replace("[4]", "[4, 4]").replace("[2]", "[2, 2]"));
    let advised = found(&folder, "");
    assert!(
        advised.len() == 1
            && advised[0].1.contains("zarr copy --to v3")
            && !advised[0].1.contains("attrs"),
        "{advised:?}"
    );
    let run = |line: &str| assert_eq!(folder.run(line).code, 0, "{line}");
    run("copy s s3 --to v3");
    run("rm s --all");
    run("copy s3 s --to v2");
    assert_eq!(found(&folder, ""), []);
    run("rm s --all");
    let new = format!(r#"{{"ome":{{"version":"0.5","multiscales":[{}]}}}}"#, image(""));
    let group = format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{new}}}"#);
    folder.write("s/zarr.json", group);
    folder.good("create s --path 0 --shape 4,4 --chunks 2,2 --dtype uint8");
    let advised = found(&folder, "");
    assert!(
        advised.len() == 1 && advised[0].1.contains("to v2") && !advised[0].1.contains("attrs"),
        "{advised:?}"
    );
    run("copy s s2 --to v2");
    run("rm s --all");
    run("copy s2 s --to v3");
    assert_eq!(found(&folder, ""), []);
}
