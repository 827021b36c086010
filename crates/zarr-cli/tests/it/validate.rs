//! `zarr validate`: what it prints, and how it ends.

use std::fs;

use crate::common::{FORMATS, Folder, Run};

/// The kind and the key of each problem.
fn problems(run: &Run) -> Vec<(String, String)> {
    let json = run.json();
    let problems = json.as_object().unwrap().get("problems").unwrap().as_array().unwrap().to_vec();
    let member = |problem: &zarr::Json, name: &str| {
        let member = problem.as_object().unwrap().get(name).unwrap();
        member.as_str().unwrap_or_default().to_owned()
    };
    problems.iter().map(|problem| (member(problem, "kind"), member(problem, "key"))).collect()
}

fn pair(kind: &str, key: &str) -> (String, String) {
    (kind.to_owned(), key.to_owned())
}

#[test]
fn a_sound_hierarchy_ends_with_0_and_a_damaged_chunk_with_1() {
    let folder = Folder::new();
    for (format, chunk) in [("v3", "a/c/0/1"), ("v2", "a/0.1"), ("draft-2020", "data/root/a/c0/1")]
    {
        folder.table(format, format);
        let text = folder.good(&format!("validate {format}"));
        assert!(text.text().starts_with("no problems found: checked"), "{}", text.text());
        let run = folder.good(&format!("validate {format} --json --expect-complete"));
        assert_eq!(problems(&run), []);

        let path = folder.path(format).join(chunk);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        let run = folder.run(&format!("validate {format} --json"));
        assert_eq!((run.code, &*run.err), (1, ""));
        assert_eq!(problems(&run), [pair("undecodable", chunk)]);
        let run = folder.run(&format!("validate {format}"));
        assert_eq!(run.code, 1);
        assert!(run.text().starts_with(&format!("/a, `{chunk}`: undecodable: ")), "{}", run.text());
        assert!(run.err.starts_with("1 problem in "), "{}", run.err);
        // The keys are as they should be.
        folder.good(&format!("validate {format} --level index"));

        fs::remove_file(&path).unwrap();
        let run = folder.run(&format!("validate {format} --json --expect-complete --level keys"));
        assert_eq!(problems(&run), [pair("missing_chunk", chunk)]);
        // A hint, and no problem.
        let run = folder.good(&format!("validate {format}"));
        assert!(run.text().contains("partly_written"), "{}", run.text());
        let says = "1 of 4 chunks is not stored; it reads as the fill value";
        assert!(run.text().contains(says), "{}", run.text());
    }
}

#[test]
fn keys_that_should_not_be_there_are_named() {
    let folder = Folder::new();
    let cases = [
        ("v3", "a/c/0/0", ["a/c/2/0", "a/c.0.0", "a/c/7/7/7", "b/c/0"]),
        ("v2", "a/0.0", ["a/2.0", "a/0/0", "a/7.7.7", "b/0"]),
        (
            "draft-2020",
            "data/root/a/c0/0",
            ["data/root/a/c2/0", "data/root/a/c00/0", "data/root/a/c7/7/7", "data/root/b/c0"],
        ),
    ];
    for (format, chunk, strays) in cases {
        folder.table(format, format);
        let whole = fs::read(folder.path(format).join(chunk)).unwrap();
        for stray in strays {
            folder.write(&format!("{format}/{stray}"), &whole);
        }
        let run = folder.run(&format!("validate {format} --json --level keys"));
        let found = problems(&run);
        let kinds = ["outside_grid", "stored_twice", "stray_key", "orphaned_chunk"];
        for (kind, key) in kinds.into_iter().zip(strays) {
            assert!(found.contains(&pair(kind, key)), "{format} {key}: {found:?}");
        }
        // And the document of the array that is not there.
        assert_eq!(found.len(), 5, "{found:?}");
    }
}

/// A lost document leaves all chunks of its array without one.
#[test]
fn few_chunks_of_a_lost_array_are_listed_and_the_rest_are_counted() {
    let folder = Folder::new();
    folder.good("create l.zarr/a --shape 40 --chunks 4 --dtype uint8 --fill 7");
    let values: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    assert_eq!(folder.feed("put l.zarr/a", format!("[{}]", values.join(",")).as_bytes()).code, 0);
    fs::remove_file(folder.path("l.zarr/a/zarr.json")).unwrap();
    for verb in ["validate", "repair"] {
        let run = folder.run(&format!("{verb} l.zarr"));
        assert_eq!(run.code, 1);
        assert_eq!(run.text().matches("looks like a chunk").count(), 3, "{}", run.text());
        assert!(run.text().contains("orphaned_chunk: 7 more keys look like"), "{}", run.text());
        assert!(run.err.contains("11 "), "{}", run.err);
        let all = folder.run(&format!("{verb} l.zarr --json"));
        assert_eq!(all.text().matches("orphaned_chunk").count(), 10, "{}", all.text());
    }
}

#[test]
fn a_broken_or_missing_root_is_a_problem_and_nothing_at_all_is_3() {
    let folder = Folder::new();
    for (format, root) in [("v3", "zarr.json"), ("v2", ".zgroup"), ("draft-2020", "zarr.json")] {
        folder.table(format, format);
        let path = folder.path(format).join(root);
        fs::write(&path, b"{\"zarr_for").unwrap();
        let run = folder.run(&format!("validate {format} --json"));
        assert_eq!((run.code, problems(&run)), (1, vec![pair("unreadable_document", root)]));
        fs::remove_file(&path).unwrap();
        let run = folder.run(&format!("validate {format} --json"));
        assert_eq!((run.code, problems(&run)), (1, vec![pair("missing_document", root)]));
    }
    folder.bad("validate nowhere", 3);
    folder.write("plain/notes.txt", "no Zarr");
    folder.bad("validate plain", 3);
    folder.bad("validate v3 --level deep", 2);
    assert_eq!(FORMATS.len(), 3);
}

#[test]
fn what_writers_left_and_copies_under_way_are_named() {
    let folder = Folder::new();
    for (format, chunks) in [("v3", "b/c/0/0"), ("v2", "b/0.0"), ("draft-2020", "data/root/b/c0/0")]
    {
        folder.table(format, format);
        folder.write(&format!("{format}/a/.zarr-tmp-0123456789abcdef"), "half a value");
        folder.write(&format!("{format}/.zarr-lock"), "");
        let run = folder.run(&format!("validate {format} --json"));
        let left = [".zarr-lock", "a/.zarr-tmp-0123456789abcdef"];
        assert_eq!(problems(&run), left.map(|key| pair("leftover", key)), "{format}");
        for key in left {
            fs::remove_file(folder.path(format).join(key)).unwrap();
        }

        // Its chunks are there before its document.
        let plan = ".zarr-copy/0123456789abcdef/plan.json";
        folder.write(&format!("{format}/{plan}"), r#"{"target": {"path": "/b"}, "parts": [1, 2]}"#);
        folder.write(&format!("{format}/{chunks}"), "half a chunk");
        let run = folder.run(&format!("validate {format} --json"));
        assert_eq!(problems(&run), [pair("copy_under_way", plan)], "{format}");
        folder.write(&format!("{format}/.zarr-quarantine/a/x"), "aside");

        // The list of a run of zarrkit is beside the chunks of its array.
        let run_list = chunks.replace("b/c/0/0", "a").replace("b/c0/0", "a").replace("b/0.0", "a");
        let run_list = format!("{run_list}/.zarrkit-run");
        for part in 0..3 {
            folder.write(&format!("{format}/{run_list}/0123456789abcdef/{part}"), "{}");
        }
        let run = folder.run(&format!("validate {format} --json"));
        let expected = [pair("copy_under_way", plan), pair("run_under_way", &run_list)];
        let mut found = problems(&run);
        found.sort();
        assert_eq!(found, expected, "{format}");
        let run = folder.run(&format!("validate {format}"));
        assert!(run.text().contains("/a, "), "{}", run.text());
        assert!(run.text().contains("3 of its parts are done"), "{}", run.text());
        assert!(
            run.text().contains("note: /, `.zarr-quarantine`: quarantined: holds 1 value that"),
            "{}",
            run.text()
        );
    }
}

#[test]
fn consolidated_metadata_that_differ_are_named() {
    let folder = Folder::new();
    for (format, document) in [("v3", "a/zarr.json"), ("v2", "a/.zarray")] {
        folder.table(format, format);
        folder.good(&format!("consolidate {format}"));
        folder.good(&format!("validate {format}"));
        let path = folder.path(format).join(document);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("5\n", "6\n")).unwrap();
        let run = folder.run(&format!("validate {format} --json"));
        assert_eq!(problems(&run), [pair("consolidated_differs", document)], "{format}");
        fs::remove_file(&path).unwrap();
        let run = folder.run(&format!("validate {format} --json --level meta"));
        assert!(problems(&run).contains(&pair("consolidated_extra", document)), "{format}");
        fs::write(&path, &text).unwrap();
        let name = document.replace("a/", "b/");
        folder.write(&format!("{format}/{name}"), &text);
        let run = folder.run(&format!("validate {format} --json --level meta"));
        assert_eq!(problems(&run), [pair("consolidated_missing", &name)], "{format}");
    }
}

/// A shard of two inner chunks of two bytes, with this before its index, which has an offset and a length for each.
fn shard(folder: &Folder, name: &str, chunks: &[u8], index: [[u64; 2]; 2]) {
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":[{"name":"bytes"}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"end"}}]}"#;
    folder.write(&format!("{name}/zarr.json"), document);
    let index = index.as_flattened().iter().flat_map(|number| number.to_le_bytes());
    folder.write(&format!("{name}/c/0"), [chunks, &index.collect::<Vec<u8>>()].concat());
}

/// The same in a draft's object, as the sharding storage transformer of zarr-python 2.13 has it.
fn draft_shard(folder: &Folder, name: &str, chunks: &[u8], index: [[u64; 2]; 2]) {
    let entry = r#"{"zarr_format":"https://purl.org/zarr/spec/protocol/core/3.0","metadata_encoding":"https://purl.org/zarr/spec/protocol/core/3.0","metadata_key_suffix":".json","extensions":[]}"#;
    folder.write(&format!("{name}/zarr.json"), entry);
    let document = r#"{"shape":[4],"data_type":"u1","chunk_grid":{"type":"regular","chunk_shape":[2],"separator":"/"},"chunk_memory_layout":"C","fill_value":0,"extensions":[],"attributes":{},"storage_transformers":[{"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0","type":"indexed","configuration":{"chunks_per_shard":[2]}}]}"#;
    folder.write(&format!("{name}/meta/root/a.array.json"), document);
    let index = index.as_flattened().iter().flat_map(|number| number.to_le_bytes());
    let bytes = [chunks, &index.collect::<Vec<u8>>()].concat();
    folder.write(&format!("{name}/data/root/a/c0"), bytes);
}

#[test]
fn bytes_of_a_shard_that_two_entries_have_or_none_are_named() {
    let folder = Folder::new();
    const ABSENT: [u64; 2] = [u64::MAX; 2];
    let overlap = |what: &'static str| Some(("shard_overlap", what));
    let gap = |what: &'static str| Some(("shard_gap", what));
    let first = "inner chunk [0] and inner chunk [1] share bytes";
    let cases: [(&[u8], [[u64; 2]; 2], _); 11] = [
        (b"abcd", [[0, 2], [2, 2]], None),
        (b"cdab", [[2, 2], [0, 2]], None),
        (b"ab", [[0, 2], ABSENT], None),
        // Writers may store equal inner chunks once.
        (b"ab", [[0, 2], [0, 2]], None),
        (b"abc", [[0, 2], [1, 2]], overlap(first)),
        // Of different lengths, one within the other.
        (b"abcd", [[0, 4], [1, 2]], overlap(first)),
        (b"abc", [[0, 2], [2, 2]], overlap("inner chunk [1] and the index share bytes")),
        (b"xabcd", [[1, 2], [3, 2]], gap("does not refer to 1 of 37 bytes")),
        (b"abxxcd", [[0, 2], [4, 2]], gap("does not refer to 2 of 38 bytes")),
        (b"abcdxxx", [[0, 2], [2, 2]], gap("does not refer to 3 of 39 bytes")),
        (b"abcd", [ABSENT, [2, 2]], gap("does not refer to 2 of 36 bytes")),
    ];
    for (n, (chunks, index, expected)) in cases.into_iter().enumerate() {
        shard(&folder, &format!("v3-{n}"), chunks, index);
        draft_shard(&folder, &format!("draft-{n}"), chunks, index);
        for (name, key) in [("v3", "c/0"), ("draft", "data/root/a/c0")] {
            let run = folder.run(&format!("validate {name}-{n} --level index"));
            let text = run.text();
            let case = format!("{name}, {chunks:?} {index:?}: {text}");
            let Some((kind, what)) = expected else {
                assert_eq!((run.code, text.contains("shard_")), (0, false), "{case}");
                continue;
            };
            // Of a draft, an entry that reaches into the index is a broken one.
            if name == "draft" && what.contains("and the index") {
                assert!(run.code == 1 && text.contains("shard_index"), "{case}");
                continue;
            }
            assert_eq!(run.code, i32::from(kind == "shard_overlap"), "{case}");
            let told = text.lines().filter(|line| line.contains(kind)).collect::<Vec<_>>();
            let [told] = &told[..] else { panic!("{case}") };
            assert!(told.contains(&format!("`{key}`")) && told.contains(what), "{case}");
            assert_eq!(told.starts_with("note: "), kind == "shard_gap", "{case}");
            // Bytes that two inner chunks have are referred to, though the second ends before the first does.
            assert_eq!(text.contains("shard_gap"), kind == "shard_gap", "{case}");
        }
    }
}

#[test]
fn damage_to_an_archive_is_a_problem() {
    let folder = Folder::new();
    folder.table("a.zip", "v3");
    folder.good("validate a.zip --expect-complete");
    let path = folder.path("a.zip");
    let whole = fs::read(&path).unwrap();
    // Of a value of the archive: its checksum tells.
    let name = b"a/c/0/1";
    let at = whole.windows(name.len()).position(|window| window == name).unwrap();
    let mut flipped = whole.clone();
    flipped[at + name.len() + 20] ^= 4;
    fs::write(&path, flipped).unwrap();
    let run = folder.run("validate a.zip --json");
    assert_eq!((run.code, problems(&run)), (5, vec![pair("unreadable", "a/c/0/1")]));
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let run = folder.run("validate a.zip --json");
    assert_eq!((run.code, problems(&run)), (5, vec![pair("unreadable", "")]));
}

/// A dataset of NCZarr, and a text of its documents replaced.
fn netcdf(folder: &Folder, format: &str, document: &str, [from, to]: [&str; 2]) -> Vec<String> {
    let text =
        "netcdf m { dimensions: x = 3 ; y = 2 ; variables: int a(y, x) ; data: a = 1,2,3,4,5,6 ; }";
    folder.write("m.cdl", text);
    drop(fs::remove_dir_all(folder.path(format)));
    folder.good(&format!("gen m.cdl -o {format} --format {format}"));
    folder.good(&format!("validate {format}"));
    let path = folder.path(format).join(document);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches(from).count(), 1, "{text}");
    fs::write(&path, text.replace(from, to)).unwrap();
    let run = folder.run(&format!("validate {format} --level meta"));
    assert_eq!(run.code, 1, "{format}, {document}: {from} as {to}: {}", run.text());
    run.text().lines().map(str::to_owned).collect()
}

/// N-014, N-032: what only the documents of NCZarr say.
#[test]
fn documents_of_nczarr_that_disagree_are_named() {
    let folder = Folder::new();
    let v2 = ("nczarr-v2", "a/.zattrs", "a/.zarray", ".zattrs");
    let v3 = ("nczarr-v3", "a/zarr.json", "a/zarr.json", "zarr.json");
    for (format, references, shape, root) in [v2, v3] {
        let sizes = if root == ".zattrs" {
            ["\"x\": 3", "\"x\": 4"]
        } else {
            ["\"size\": 3", "\"size\": 4"]
        };
        let dimensions = [
            // The dimension is longer than the array; the array is shorter; a dimension that is nowhere; one too few.
            (root, sizes),
            (shape, ["\"shape\": [2, 3]", "\"shape\": [2, 2]"]),
            (references, ["\"/y\", \"/x\"", "\"/y\", \"/z\""]),
            (references, ["\"/y\", \"/x\"", "\"/y\""]),
        ];
        for (document, change) in dimensions {
            let found = netcdf(&folder, format, document, change);
            let told =
                |line: &String| line.contains(": nczarr_dimensions: ") && line.contains("[N-014]");
            assert!(found.len() == 1 && told(&found[0]), "{format} {change:?}: {found:#?}");
            assert!(found[0].starts_with("/a, `a/"), "{found:#?}");
        }
        let found =
            netcdf(&folder, format, root, ["\"arrays\": [\"a\"]", "\"arrays\": [\"a\", \"b\"]"]);
        let told = |line: &String| line.contains(": nczarr_metadata: ") && line.contains("[N-032]");
        assert!(found.len() == 1 && told(&found[0]), "{format}: {found:#?}");
        assert!(found[0].contains("/b"), "{found:#?}");
    }
}

/// CF 2.7: a name is looked for in the array's group and in those above.
#[test]
fn attributes_that_name_no_variable_are_noted() {
    let folder = Folder::new();
    for format in FORMATS {
        let attributes = if format == "v2" {
            "g/t/.zattrs"
        } else if format == "v3" {
            "g/t/zarr.json"
        } else {
            "meta/root/g/t.array.json"
        };
        for path in ["lat", "g/lon", "g/deep/crs", "g/t"] {
            folder.good(&format!(
                "create {format} --path {path} --shape 2 --chunks 2 --dtype int8 --format {format}"
            ));
        }
        let sound = [
            "coordinates=\"lat lon\"",
            "bounds=\"/lat\"",
            "grid_mapping=\"deep/crs\"",
            "ancillary_variables=[1]",
            "cell_measures=\"area: lon\"",
            "formula_terms=\"a: lat b: /g/lon\"",
            "note=\"nothing\"",
        ];
        let set = |all: &[&str]| {
            for one in all {
                folder.good(&format!("attrs {format} --path g/t --set '{one}'"));
            }
            let run = folder.good(&format!("validate {format} --level meta"));
            run.text()
                .lines()
                .filter(|line| line.starts_with("note: "))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(set(&sound), [""; 0], "{format}");
        let dangling = [
            ("coordinates=\"lat height lon\"", "`coordinates` names `height`", "[CF 5]"),
            ("bounds=\"lon_bnds\"", "`bounds` names `lon_bnds`", "[CF 7.1]"),
            // A group is no variable, nor is one of another group.
            ("grid_mapping=\"deep: lat crs: lon\"", "`grid_mapping` names `crs`", "[CF 5.6]"),
            (
                "ancillary_variables=\"lat /g/deep\"",
                "`ancillary_variables` names `/g/deep`",
                "[CF 3.4]",
            ),
            ("cell_measures=\"area: cells\"", "`cell_measures` names `cells`", "[CF 7.2]"),
            ("formula_terms=\"a: lat b: ps\"", "`formula_terms` names `ps`", "[CF 4.3.3]"),
        ];
        for (change, told, clause) in dangling {
            let notes = set(&[change]);
            let starts = format!("note: /g/t, `{attributes}`: dangling_reference: ");
            let is_told = |line: &&String| {
                line.starts_with(&starts) && line.contains(told) && line.contains(clause)
            };
            assert!(notes.iter().any(|line| is_told(&line)), "{format} {change}: {notes:#?}");
        }
        // Twice in one attribute, for `deep` and `crs`.
        assert_eq!(set(&[]).len(), dangling.len() + 1, "{format}");
        // A variable in another file, and a part of a hierarchy.
        folder.good(&format!("attrs {format} --set 'external_variables=\"cells more\"'"));
        assert_eq!(set(&[]).len(), dangling.len(), "{format}");
        assert!(!folder.good(&format!("validate {format} --path g")).text().contains("dangling"));
    }
}

/// Z2-081: of entries with one name the last counts, and the others are not lost on readers of the archive alone.
#[test]
fn names_that_an_archive_has_twice_are_noted() {
    let folder = Folder::new();
    folder.table("a.zip", "v3");
    folder.good("validate a.zip --expect-complete");
    let path = folder.path("a.zip");
    let whole = fs::read(&path).unwrap();
    // One entry gets the name of another, beside its value and in the directory.
    let rename = |from: &[u8], to: &[u8]| -> Vec<u8> {
        let mut bytes = whole.clone();
        let places: Vec<usize> =
            (0..bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
        assert_eq!(places.len(), 2);
        places.iter().for_each(|&at| bytes[at..at + to.len()].copy_from_slice(to));
        bytes
    };
    fs::write(&path, rename(b"a/c/0/1", b"a/c/0/0")).unwrap();
    let run = folder.good("validate a.zip --json");
    let notes = run.text().split_once("\"notes\"").unwrap().1;
    for told in [
        "\"key\":\"a/c/0/0\",\"kind\":\"duplicate_entry\"",
        "2 entries of this name, with different contents",
        "Z2-081",
    ] {
        assert!(notes.contains(told), "{told}: {notes}");
    }
    assert_eq!(problems(&run), []);
    let run = folder.good("validate a.zip --level meta");
    assert!(!run.text().contains("duplicate_entry"), "{}", run.text());
    // A part of the archive that has none.
    let run = folder.good("copy a.zip b.zip");
    assert_eq!(run.text(), "");
    assert!(!folder.good("validate b.zip").text().contains("duplicate_entry"));
}

/// All problems of one lost document that has a consolidated copy say the same.
#[test]
fn a_lost_document_with_a_copy_has_one_remedy() {
    let folder = Folder::new();
    for (format, document) in [("v3", "g/x/zarr.json"), ("v2", "g/x/.zarray")] {
        let name = format!("{format}.zarr");
        folder.good(&format!("create {name}/g/x --format {format} --shape 2 --dtype uint8"));
        folder.good(&format!("put {name} g/x --value 3"));
        folder.good(&format!("consolidate {name}"));
        std::fs::remove_file(folder.path(&name).join(document)).unwrap();
        let found = folder.run(&format!("validate {name}"));
        let problems: Vec<&str> = found.text().lines().collect();
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(
            problems.iter().all(|line| line.contains("`zarr repair --apply` writes")),
            "{problems:?}"
        );
        folder.good(&format!("repair {name} --apply"));
        folder.good(&format!("validate {name}"));
        // Without a copy there is nothing to write.
        folder.good(&format!("consolidate {name} --remove"));
        std::fs::remove_file(folder.path(&name).join(document)).unwrap();
        let found = folder.run(&format!("validate {name}"));
        assert!(!found.text().contains("`zarr repair --apply` writes"), "{}", found.text());
    }
}
