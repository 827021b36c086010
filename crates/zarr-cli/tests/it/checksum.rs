//! `zarr checksum` and `zarr diff` tell whether two places hold equal data, and where they differ.

use crate::common::{FORMATS, Folder};

const CDL: &str = r#"netcdf model {
dimensions: time = 4 ; x = 3 ; len = 5 ;
variables:
  double time(time) ; time:units = "days since 2000-01-01" ;
  short temp(time, x) ; temp:_FillValue = -9s ; temp:scale_factor = 0.5 ; temp:one = 1. ;
  char name(x, len) ;
  string text(x) ;
  byte small(x) ;
  float plain(x) ;
  :title = "a model" ; :version = 3 ;
group: deep { variables: int scalar ; scalar:note = "m" ; data: scalar = 5 ; }
data:
  time = 0, 1, 2, 3 ; temp = 1, 2, 3, 4, -9, 6, 7, 8, 9, 10, 11, 12 ;
  name = "abc", "def", "ghijk" ; text = "a", "bb", "" ; small = 1, 2, 3 ; plain = 1, 2, 3 ;
}
"#;

fn checksum(folder: &Folder, target: &str) -> String {
    let run = folder.run(&format!("checksum {target}"));
    assert_eq!(run.code, 0, "{target}: {}", run.err);
    let line = run.text().trim_end();
    let (hex, path) = line.split_once("  ").unwrap();
    assert_eq!((hex.len(), path), (64, "/"), "{line}");
    hex.to_owned()
}

/// A dataset of netCDF has one checksum in NCZarr of v2 and v3, in plain Zarr, and in copies of those as plain Zarr.
#[test]
fn a_netcdf_dataset_has_one_checksum_in_all_its_forms() {
    let folder = Folder::new();
    folder.write("model.cdl", CDL);
    folder.good("gen model.cdl -o model.zarr --format nczarr-v3");
    let expected = checksum(&folder, "model.zarr");
    for from in ["model.zarr", "to-nczarr-v2"] {
        for to in ["nczarr-v2", "nczarr-v3", "zarr-v2", "zarr-v3", "v2", "v3", "draft-2020"] {
            let name =
                if from == "model.zarr" { format!("to-{to}") } else { format!("again-{to}") };
            // The drafts have no shuffle.
            let codec = if to == "draft-2020" { "--codec gzip:5" } else { "" };
            let run = folder.run(&format!("copy {from} {name} --to {to} {codec}"));
            assert_eq!(run.code, 0, "{name}: {}", run.err);
            assert_eq!(checksum(&folder, &name), expected, "{name}: {}", run.err);
            let run = folder.run(&format!("diff {from} {name}"));
            assert_eq!((run.code, run.text()), (0, ""), "{name}: {}", run.err);
        }
    }
}

#[test]
fn a_manifest_tells_which_nodes_are_not_as_they_were() {
    let folder = Folder::new();
    for (n, format) in FORMATS.into_iter().enumerate() {
        let target = format!("data{n}.zarr");
        folder.table(&target, format);
        folder.good(&format!("create {target} --path g/b --shape 3 --chunks 2 --dtype bool"));
        folder.good(&format!("create {target} --path g/c --shape 3 --chunks 2 --dtype int8"));
        let manifest = folder.good(&format!("checksum {target} --manifest"));
        let paths: Vec<_> = manifest.text().lines().map(|line| &line[66..]).collect();
        assert_eq!(paths, ["/", "/a", "/g", "/g/b", "/g/c"]);
        folder.write("manifest", &manifest.out);
        assert_eq!(folder.good(&format!("checksum {target} --check manifest")).text(), "");
        folder.feed(&format!("put {target} --path a --region 0,0"), b"[77]");
        folder.good(&format!("rm {target} --path g/b"));
        folder.good(&format!("create {target} --path g/d --shape 3 --chunks 2 --dtype int8"));
        let run = folder.run(&format!("checksum {target} --check manifest"));
        assert_eq!(run.code, 1);
        // `/` and `/g` have the same attributes; only what is in them differs.
        assert_eq!(run.text(), "differs: /a\nmissing: /g/b\nnew: /g/d\n");
        let run = folder.run(&format!("checksum {target} --check manifest --json"));
        let text = run.json().to_string();
        let expected = r#"{"equal":false,"differs":["/a"],"missing":["/g/b"],"new":["/g/d"]}"#;
        assert_eq!((run.code, &*text), (1, expected));
    }
    // The line of one node, and a file that is no manifest.
    let line = folder.good("checksum data0.zarr --path g").out;
    assert!(line.ends_with(b"  /g\n"));
    folder.write("line", &line);
    folder.good("checksum data0.zarr --path g --check line");
    folder.good("attrs data0.zarr --path g --set x=1");
    assert_eq!(folder.run("checksum data0.zarr --path g --check line").text(), "differs: /g\n");
    folder.write("none", "nonsense\n");
    assert!(folder.bad("checksum data0.zarr --check none", 2).contains("line 1"));
    folder.bad("checksum data0.zarr --check nowhere", 2);
}

#[test]
fn checksums_and_regions_are_printed_as_json() {
    let folder = Folder::new();
    folder.table("data.zarr", "v3");
    let hex = checksum(&folder, "data.zarr");
    let json = folder.good("checksum data.zarr --json").json().to_string();
    assert_eq!(json, format!(r#"{{"path":"/","node_type":"group","checksum":"{hex}"}}"#));
    let regions = folder.good("checksum data.zarr --path a --regions");
    let lines: Vec<_> = regions.text().lines().map(|line| &line[66..]).collect();
    assert_eq!(lines, ["/a  level 1, 0", "/a  (0..4, 0..5)"]);
    let json = folder.good("checksum data.zarr --path a --regions=0 --json").json();
    let array = json.as_object().unwrap().get("arrays").unwrap().as_array().unwrap()[0].to_string();
    assert!(array.contains(r#""block_shape":[4,8],"levels":[{"level":0,"hashes":[""#), "{array}");
}

#[test]
fn differences_are_told_with_their_places() {
    let folder = Folder::new();
    folder.table("a.zarr", "v3");
    folder.good("copy a.zarr b.zarr --to v2 --chunks 4,1 --codec none");
    let run = folder.good("diff a.zarr b.zarr");
    assert_eq!(run.text(), "");
    assert_eq!(
        folder.good("diff a.zarr b.zarr --json").json().to_string(),
        r#"{"equal":true,"compared":2,"nodes":[]}"#
    );
    folder.feed("put b.zarr --path a --region 1:3,4", b"[[12],[7]]");
    folder.good("attrs b.zarr --path a --set units=K");
    folder.good("create b.zarr --path c --group");
    let run = folder.run("diff a.zarr b.zarr");
    assert_eq!((run.code, &*run.err), (1, "2 nodes differ\n"));
    let expected = "\
/a
  attribute units: absent and \"K\"
  2 of 20 elements differ; largest difference 8; largest relative difference 53.333 %
  in (1..3, 4..5)
  at (1, 4): 10 and 12
  at (2, 4): 15 and 7
/c
  only in B: a group
";
    assert_eq!(run.text(), expected);
    let json =
        folder.run("diff a.zarr b.zarr --json --path a --ignore attributes").json().to_string();
    let expected = r#"{"equal":false,"compared":1,"nodes":[{"path":"/a","changes":[],"elements":{"compared":20,"different":2,"max_absolute":8,"max_relative":0.5333333333333333,"regions":[[[1,3],[4,5]]],"more_regions":false,"places":[{"index":[1,4],"first":"10","second":"12"},{"index":[2,4],"first":"15","second":"7"}],"fields":{}}}]}"#;
    assert_eq!(json, expected);
    let equal = "diff a.zarr b.zarr --path a --ignore attributes";
    assert_eq!(folder.run(&format!("{equal} --tolerance 7.9")).code, 1);
    assert_eq!(folder.run(&format!("{equal} --tolerance 8")).code, 0);
    assert_eq!(folder.run(&format!("{equal} --rtol 0.54")).code, 0);
    assert_eq!(folder.run(&format!("{equal} --metadata")).code, 0);
    let layout = folder.run(&format!("{equal} --metadata --layout"));
    assert!(layout.text().contains("chunks: [2,3] and [4,1]"), "{}", layout.text());
    assert!(layout.text().contains("format: \"v3\" and \"v2\""), "{}", layout.text());
    folder.bad(&format!("{equal} --tolerance -1"), 2);
    folder.bad("diff a.zarr nowhere.zarr", 3);
}

#[test]
fn arrays_of_other_shapes_and_types_are_compared_where_they_can_be() {
    let folder = Folder::new();
    folder.table("a.zarr", "v3");
    folder.good("create b.zarr --path /a --shape 4,6 --chunks 4,6 --dtype float64");
    let rows: Vec<String> = (0..4)
        .map(|y| {
            format!("[{},{},{},{},{},0]", 5 * y + 1, 5 * y + 2, 5 * y + 3, 5 * y + 4, 5 * y + 5)
        })
        .collect();
    folder.feed("put b.zarr --path a", format!("[{}]", rows.join(",")).as_bytes());
    let run = folder.run("diff a.zarr b.zarr");
    let expected = "\
/a
  data type: \"int32\" and \"float64\"
  shape: [4,5] and [4,6]
  elements are not compared: the shapes differ
";
    assert_eq!((run.code, run.text()), (1, expected));
    let run = folder.run("diff a.zarr b.zarr --common");
    assert!(!run.text().contains("elements"), "{}", run.text());
    folder.feed("put b.zarr --path a --region 3,0", b"[16.5]");
    let run = folder.run("diff a.zarr b.zarr --common");
    assert!(
        run.text().contains("1 of 20 elements differ; largest difference 0.5"),
        "{}",
        run.text()
    );
    assert!(run.text().contains("at (3, 0): 16 and 16.5"), "{}", run.text());
}

#[test]
fn texts_and_fields_of_records_are_compared() {
    let folder = Folder::new();
    for name in ["a.zarr", "b.zarr"] {
        folder.good(&format!("create {name} --path t --shape 3 --chunks 2 --dtype string"));
        folder.good(&format!("create {name} --path u --shape 2 --chunks 2 --dtype <U4"));
        folder.good(&format!("create {name} --path r --shape 2 --chunks 2 --dtype '[[\"n\",\"<i8\"],[\"x\",\"<f4\"]]'"));
        folder.feed(&format!("put {name} --path t"), b"[\"one\",\"two\",\"three\"]");
    }
    folder.good("diff a.zarr b.zarr");
    folder.feed("put b.zarr --path t --region 1", b"[\"zwei\"]");
    folder.feed("put b.zarr --path u --region 0", b"[\"\xc3\xa9\"]");
    folder.feed("put b.zarr --path r --region 1", b"[{\"n\":9223372036854775807,\"x\":0.0}]");
    let run = folder.run("diff a.zarr b.zarr");
    let expected = "\
/r
  1 of 2 elements differ; largest difference 9223372036854775807; largest relative difference 100.000 %
  field n: 1
  in (1..2)
  at (1,).n: 0 and 9223372036854775807
/t
  1 of 3 elements differ
  in (1..2)
  at (1,): \"two\" and \"zwei\"
/u
  1 of 2 elements differ
  in (0..1)
  at (0,): \"\" and \"é\"
";
    assert_eq!((run.code, run.text()), (1, expected));
}

/// Texts are equal whatever room they have, and integers differ by their last digit, however long they are.
#[test]
fn texts_of_other_lengths_and_long_integers_are_compared() {
    let folder = Folder::new();
    for (name, data_type) in [("a.zarr", "<U4"), ("b.zarr", "<U9"), ("c.zarr", "string")] {
        folder.good(&format!("create {name}/t --shape 2 --dtype {data_type}"));
        folder.feed(&format!("put {name}/t"), b"[\"one\",\"\"]");
    }
    for name in ["b.zarr", "c.zarr"] {
        let told = folder.run(&format!("diff a.zarr {name}"));
        assert!(!told.text().contains("elements"), "{name}: {}", told.text());
    }
    folder.feed("put c.zarr/t --region 1", b"[\"two\"]");
    let told = folder.run("diff a.zarr c.zarr");
    assert!(told.text().contains("at (1,): \"\" and \"two\""), "{}", told.text());
    folder.good("create d.zarr/t --shape 1 --dtype int8 --attr n=100000000000000000000001");
    folder.good("create e.zarr/t --shape 1 --dtype int8 --attr n=100000000000000000000002");
    let told = folder.run("diff d.zarr e.zarr");
    assert_eq!(told.code, 1, "{}", told.text());
    assert!(told.text().contains("100000000000000000000002"), "{}", told.text());
}

/// Of chunks that are not stored, only those near a stored one are asked for, however many there are.
#[test]
fn a_hundred_million_chunks_that_are_not_stored_are_compared() {
    let folder = Folder::new();
    for name in ["a.zarr", "b.zarr"] {
        folder
            .good(&format!("create {name} --shape 1000000000 --chunks 10 --dtype int16 --fill 3"));
        folder.feed(&format!("put {name} --region 999999999"), b"[5]");
    }
    folder.good("diff a.zarr b.zarr");
    assert_eq!(checksum(&folder, "a.zarr"), checksum(&folder, "b.zarr"));
    folder.good("create c.zarr --shape 1000000000 --chunks 10 --dtype int16 --fill 4");
    let told = folder.run("diff a.zarr c.zarr");
    assert!(
        told.text().contains("1,000,000,000 of 1,000,000,000 elements differ"),
        "{}",
        told.text()
    );
    folder.feed("put b.zarr --region 77", b"[5]");
    assert_ne!(checksum(&folder, "a.zarr"), checksum(&folder, "b.zarr"));
}

#[test]
fn long_answers_are_cut() {
    let folder = Folder::new();
    folder.table("a.zarr", "v3");
    folder.table("b.zarr", "v2");
    folder.feed("put b.zarr --path a", format!("[{}]", vec!["0"; 20].join(",")).as_bytes());
    for n in 0..30 {
        folder.good(&format!("attrs b.zarr --path a --set x{n}=1"));
    }
    let run = folder.run("diff a.zarr b.zarr --limit 2");
    assert_eq!(run.text().lines().count(), 8, "{}", run.text());
    assert!(run.text().contains("  and 28 more differences\n"), "{}", run.text());
}

/// A document can claim any shape, and elements that were never stored are read, too.
#[test]
fn a_shape_without_end_is_refused_at_once() {
    let folder = Folder::new();
    for name in ["a.zarr", "b.zarr"] {
        let shape = "--shape 100000000,10000000 --chunks 1000,1000 --dtype float64";
        folder.good(&format!("create {name} --path big {shape}"));
        folder.good(&format!("create {name} --path small --shape 300 --chunks 100 --dtype int64"));
    }
    for line in ["checksum a.zarr", "checksum a.zarr --manifest", "diff a.zarr b.zarr"] {
        let err = folder.bad(line, 5);
        assert!(err.contains("8000000000002400 bytes") && err.contains("--max-size"), "{err}");
    }
    // What has an end is read, and metadata are compared.
    folder.good("checksum a.zarr --path small");
    folder.good("diff a.zarr b.zarr --path small");
    folder.good("diff a.zarr b.zarr --metadata");
    // The limit is the caller's.
    let err = folder.bad("checksum a.zarr --path small --max-size 2KiB", 5);
    assert!(err.contains("2400 bytes"), "{err}");
    folder.bad("diff a.zarr b.zarr --path small --max-size 2399", 5);
    folder.good("checksum a.zarr --path small --max-size 2400");
    folder.good("diff a.zarr b.zarr --path small --max-size 2400");
}

/// Two far copies of 1 GiB of elements that differ in one are compared as docs/comparing.md says: what one side sends is counted.
#[test]
fn far_copies_are_compared_by_kilobytes() {
    let folder = Folder::new();
    // Each side has its own dialect and chunks.
    folder.good("create here.zarr --path t --shape 8192,32768 --chunks 512,4096 --dtype float32 --codec gzip");
    folder.good(
        "create far.zarr --path t --shape 8192,32768 --chunks 300,5000 --dtype float32 --as v2",
    );
    for at in ["0,0", "4000,20000", "8191,32767"] {
        folder.feed(&format!("put here.zarr --path t --region {at}"), b"[1.5]");
        folder.feed(&format!("put far.zarr --path t --region {at}"), b"[1.5]");
    }
    folder.feed("put far.zarr --path t --region 5000,7", b"[0.25]");
    let mut sent = 0;
    let mut lines = |asked: &str, from: usize, count: usize| -> [Vec<String>; 2] {
        let of = |target: &str| -> Vec<String> {
            let run = folder.good(&format!("checksum {target} --path t {asked}"));
            run.text().lines().skip(from).take(count).map(str::to_owned).collect()
        };
        let both = [of("here.zarr"), of("far.zarr")];
        sent += both[1].iter().map(|line| line.len() + 1).sum::<usize>();
        both
    };
    let differ = |[here, far]: &[Vec<String>; 2]| -> Vec<usize> {
        assert_eq!(here.len(), far.len());
        (0..here.len()).filter(|&n| here[n] != far[n]).collect()
    };
    assert_eq!(differ(&lines("", 0, 1)), [0]);
    // Four groups of 256 blocks, of which one differs; then the blocks of that one.
    let groups = lines("--regions=1", 0, usize::MAX);
    assert_eq!(groups[0].len(), 4);
    let [group] = differ(&groups)[..] else { panic!("{groups:?}") };
    let blocks = lines("--regions=0", 256 * group, 256);
    assert_eq!(blocks[0].len(), 256);
    let [block] = differ(&blocks)[..] else { panic!("{blocks:?}") };
    assert!(blocks[1][block].ends_with("  /t  (4608..5120, 0..512)"), "{}", blocks[1][block]);
    println!("regions: the far side of 1 GiB sent {sent} bytes");
    assert!(sent < 32 << 10, "{sent} bytes");
}

#[test]
fn a_small_difference_is_not_shown_as_none() {
    let folder = Folder::new();
    for (name, value) in [("a.zarr", 1.0f64), ("b.zarr", 1.0 + 1e-9)] {
        folder.good(&format!("create {name} --shape 1 --dtype float64"));
        let put = folder.feed(&format!("put {name} --format raw"), &value.to_le_bytes());
        assert_eq!(put.code, 0);
    }
    let run = folder.run("diff a.zarr b.zarr");
    assert!(
        run.code == 1 && run.text().contains("; largest relative difference 1.0e-7 %"),
        "{}",
        run.text()
    );
}

/// Blocks of which nothing is stored have one hash, which is computed once: the checksum is that of an array of which all is stored.
#[test]
fn what_is_not_stored_counts_and_costs_nothing() {
    let folder = Folder::new();
    let create = |name: &str, more: &str| {
        folder.good(&format!("create {name} --shape 12000,12001 --dtype uint8 {more}"));
    };
    create("sparse.zarr", "--chunks 500,700 --fill 7");
    // An array of shards is read from its first block to its last.
    create("shards.zarr", "--chunks 500,700 --shards 1000,1400 --fill 7");
    for name in ["sparse.zarr", "shards.zarr"] {
        for at in ["1024,2047", "11999,12000"] {
            folder.feed(&format!("put {name} --region {at}"), b"[[1]]");
        }
    }
    assert_eq!(checksum(&folder, "sparse.zarr"), checksum(&folder, "shards.zarr"));
    folder.good("diff sparse.zarr shards.zarr --memory 8000000");
    folder.good("copy sparse.zarr changed.zarr");
    folder.feed("put changed.zarr --region 5000,5000", b"[[3]]");
    assert_ne!(checksum(&folder, "sparse.zarr"), checksum(&folder, "changed.zarr"));
    let run = folder.run("diff sparse.zarr changed.zarr --memory 1000000");
    assert!(run.text().contains("\n  1 of 144,012,000 elements differ"), "{}", run.text());
    for fill in [7, 8] {
        folder.good(&format!(
            "create fill{fill}.zarr --shape 1000,1000 --chunks 50,50 --dtype uint8 --fill {fill}"
        ));
    }
    let run = folder.run("diff fill7.zarr fill8.zarr --memory 10000");
    assert!(run.text().contains("\n  1,000,000 of 1,000,000 elements differ"), "{}", run.text());
    for name in ["huge.zarr", "twin.zarr"] {
        folder
            .good(&format!("create {name} --shape 300000,300000 --chunks 1000,1000 --dtype uint8"));
        folder.feed(&format!("put {name} --region 299999,299999"), b"[[1]]");
    }
    assert_eq!(checksum(&folder, "huge.zarr"), checksum(&folder, "twin.zarr"));
    folder.good("diff huge.zarr twin.zarr");
}
