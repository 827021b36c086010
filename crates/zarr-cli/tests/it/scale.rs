//! The work of the program grows with what it is given, and not with the square of it: what a document
//! lists four times as much of takes about four times as long.
//!
//! Processor time is compared, not the time that passes, and the ratio of two runs, not a limit of one.

#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::fs;
use std::io::{Cursor, Write as _};
use std::process::Stdio;

use zarr_testkit::{run_test_again, sample};

use crate::common::Folder;

/// Makes the hierarchy `name` with so many members of a kind.
type Make = fn(folder: &Folder, name: &str, count: usize);

/// What a document or a folder can have many of.
const KINDS: &[(&str, Make)] = &[
    ("attributes_v3", |folder, name, count| {
        folder.write(
            &format!("{name}/zarr.json"),
            v3(&format!("\"attributes\":{{{}}}", attributes(count))),
        );
        folder.write(&format!("{name}/c/0"), [0; 64]);
    }),
    ("attributes_v2", |folder, name, count| {
        folder.write(&format!("{name}/.zarray"), v2(8, "\"<f8\"", ""));
        folder.write(&format!("{name}/.zattrs"), format!("{{{}}}", attributes(count)));
    }),
    ("attributes_of_a_draft", |folder, name, count| {
        draft(folder, name, "");
        let array = format!("\"extensions\":[],\"attributes\":{{{}}}", attributes(count));
        folder.write(&format!("{name}/meta/root/a.array.json"), draft_array(&array));
    }),
    ("attributes_of_nczarr", |folder, name, count| {
        let types = list(count, |n| format!("\"k{n}\":\"<i4\""));
        let notes = format!("\"_nczarr_attr\":{{\"types\":{{{types}}}}},{}", attributes(count));
        let group = r#"{"dims":{"x":8},"vars":["a"],"groups":[]}"#;
        nczarr(folder, name, group, &notes);
        folder.write(&format!("{name}/a/.zarray"), v2(8, "\"<f8\"", ""));
        let array = r#""_nczarr_array":{"dimrefs":["/x"],"storage":"chunked"}"#;
        folder.write(&format!("{name}/a/.zattrs"), format!("{{{array},{notes}}}"));
    }),
    ("bare_nan_attributes", |folder, name, count| {
        folder.write(&format!("{name}/.zarray"), v2(8, "\"<f8\"", ""));
        let all = list(count, |n| format!("\"k{n}\":NaN"));
        folder.write(&format!("{name}/.zattrs"), format!("{{{all}}}"));
    }),
    ("names_twice", |folder, name, count| {
        folder.write(&format!("{name}/.zarray"), v2(8, "\"<f8\"", ""));
        let all = list(count / 2, |n| format!("\"k{n}\":1,\"k{n}\":2"));
        folder.write(&format!("{name}/.zattrs"), format!("{{{all}}}"));
    }),
    ("missing_values", |folder, name, count| {
        let values = list(count, |n| format!("{n}.5"));
        let text = v3(&format!("\"attributes\":{{\"missing_value\":[{values}]}}"));
        folder.write(&format!("{name}/zarr.json"), text.replace("[8]", "[4096]"));
        folder.write(&format!("{name}/c/0"), [0; 8 * 4096]);
    }),
    ("missing_values_that_are_none", |folder, name, count| {
        let values = list(count, |n| format!("\"x{n}\""));
        let text = v3(&format!("\"attributes\":{{\"missing_value\":[{values}]}}"));
        folder.write(&format!("{name}/zarr.json"), text);
    }),
    ("flags", |folder, name, count| {
        let values = list(count, |n| n.to_string());
        let words: Vec<String> = (0..count).map(|n| format!("m{n}")).collect();
        let words = words.join(" ");
        let text = format!(
            "\"attributes\":{{\"flag_values\":[{values}],\"flag_meanings\":\"{words}\",\"coordinates\":\"{words}\",\"valid_range\":[{values}],\"_FillValue\":[{values}]}}"
        );
        folder.write(&format!("{name}/zarr.json"), v3(&text));
    }),
    ("fields_v2", |folder, name, count| {
        let fields = list(count, |n| format!("[\"f{n}\",\"|i1\"]"));
        folder.write(&format!("{name}/.zarray"), v2(1, &format!("[{fields}]"), ""));
        folder.write(&format!("{name}/0"), vec![1; count]);
    }),
    ("fields_v3", |folder, name, count| {
        let fields = list(count, |n| format!("{{\"name\":\"f{n}\",\"data_type\":\"int8\"}}"));
        let data_type =
            format!("{{\"name\":\"struct\",\"configuration\":{{\"fields\":[{fields}]}}}}");
        let fill = format!("{{{}}}", list(count, |n| format!("\"f{n}\":0")));
        let text = v3("\"attributes\":{}").replace("\"float64\"", &data_type);
        folder.write(
            &format!("{name}/zarr.json"),
            text.replace("_value\":0", &format!("_value\":{fill}")).replace("[8]", "[1]"),
        );
        folder.write(&format!("{name}/c/0"), vec![1; count]);
    }),
    ("copies_v2", |folder, name, count| {
        let array = v2(8, "\"<f8\"", "");
        let all = list(count / 8, |n| {
            format!(
                "\"n{n}/.zarray\":{array},\"n{n}/.zattrs\":{{\"_ARRAY_DIMENSIONS\":[\"d{n}\"]}}"
            )
        });
        let text =
            format!("{{\"zarr_consolidated_format\":1,\"metadata\":{{\".zgroup\":{G2},{all}}}}}");
        folder.write(&format!("{name}/.zmetadata"), text);
        folder.write(&format!("{name}/.zgroup"), G2);
    }),
    ("copies_v3", |folder, name, count| {
        let all = list(count / 8, |n| {
            format!(
                "\"n{n}\":{}",
                v3(&format!("\"attributes\":{{}},\"dimension_names\":[\"d{n}\"]"))
            )
        });
        folder.write(&format!("{name}/zarr.json"), inline(&all));
    }),
    ("copies_of_groups", |folder, name, count| {
        let all = list(count / 4, |n| format!("\"n{n}\":{G3}"));
        folder.write(&format!("{name}/zarr.json"), inline(&all));
    }),
    ("copies_without_groups_above", |folder, name, count| {
        let all = list(count / 4, |n| format!("\"n{n}/m/o\":{G3}"));
        folder.write(&format!("{name}/zarr.json"), inline(&all));
    }),
    ("broken_copies", |folder, name, count| {
        let all = list(count / 4, |n| format!("\"n{n}/.zarray\":{{\"zarr_format\":2}}"));
        let text =
            format!("{{\"zarr_consolidated_format\":1,\"metadata\":{{\".zgroup\":{G2},{all}}}}}");
        folder.write(&format!("{name}/.zmetadata"), text);
        folder.write(&format!("{name}/.zgroup"), G2);
    }),
    ("children", |folder, name, count| {
        folder.write(&format!("{name}/zarr.json"), G3);
        for n in 0..count / 16 {
            let names = format!("\"attributes\":{{}},\"dimension_names\":[\"d{n}\"]");
            folder.write(&format!("{name}/n{n}/zarr.json"), v3(&names));
        }
    }),
    ("broken_children", |folder, name, count| {
        folder.write(&format!("{name}/zarr.json"), G3);
        (0..count / 16).for_each(|n| folder.write(&format!("{name}/n{n}/zarr.json"), "{"));
    }),
    ("children_without_groups_above", |folder, name, count| {
        folder.write(&format!("{name}/zarr.json"), G3);
        (0..count / 16).for_each(|n| folder.write(&format!("{name}/n{n}/m/zarr.json"), G3));
    }),
    ("chunks_without_arrays", |folder, name, count| {
        folder.write(&format!("{name}/.zgroup"), G2);
        for n in 0..count / 16 {
            folder.write(&format!("{name}/n{n}/.zattrs"), "{}");
            folder.write(&format!("{name}/n{n}/0"), "x");
        }
    }),
    ("links", |folder, name, count| {
        folder.write(&format!("{name}/zarr.json"), G3);
        folder.write(&format!("{name}/real/zarr.json"), v3("\"attributes\":{}"));
        for n in 0..count / 16 {
            std::os::unix::fs::symlink("real", folder.path(&format!("{name}/l{n}"))).unwrap();
        }
    }),
    ("other_files", |folder, name, count| {
        folder.write(&format!("{name}/zarr.json"), v3("\"attributes\":{}"));
        for n in 0..count / 16 {
            folder.write(&format!("{name}/s{n}.txt"), "x");
            folder.write(&format!("{name}/d{n}/x.txt"), "x");
        }
    }),
    ("chunks", |folder, name, count| {
        let count = count / 8;
        folder.write(&format!("{name}/zarr.json"), bytes_in_chunks(count));
        (0..count).for_each(|n| folder.write(&format!("{name}/c/{n}"), [1]));
    }),
    ("chunks_that_do_not_decode", |folder, name, count| {
        let count = count / 8;
        folder.write(&format!("{name}/zarr.json"), bytes_in_chunks(count));
        (0..count).for_each(|n| folder.write(&format!("{name}/c/{n}"), []));
    }),
    ("chunks_that_are_absent", |folder, name, count| {
        folder.write(&format!("{name}/zarr.json"), bytes_in_chunks(count));
    }),
    ("inner_chunks", |folder, name, count| shard(folder, name, count, |n| (n, 1))),
    ("inner_chunks_in_one_place", |folder, name, count| shard(folder, name, count, |_| (0, 1))),
    ("inner_chunks_that_overlap", |folder, name, count| {
        shard(folder, name, count, |n| (n / 2 * 2, 2));
    }),
    ("edges_of_chunks", |folder, name, count| {
        let edges = list(count / 2, |_| "1,2".into());
        let grid = format!(
            "\"rectilinear\",\"configuration\":{{\"kind\":\"inline\",\"chunk_shapes\":[[{edges}]]}}"
        );
        let shape = format!("\"shape\":[{}]", count / 2 * 3);
        let text =
            v3("\"attributes\":{}").replace("\"shape\":[8]", &shape).replace("float64", "uint8");
        folder.write(&format!("{name}/zarr.json"), text.replace(REGULAR, &grid));
    }),
    ("runs_of_edges", |folder, name, count| {
        let edges = list(count / 2, |_| "[1,1],[2,2]".into());
        let grid = format!(
            "\"rectilinear\",\"configuration\":{{\"kind\":\"inline\",\"chunk_shapes\":[[{edges}]]}}"
        );
        let shape = format!("\"shape\":[{}]", count / 2 * 5);
        let text =
            v3("\"attributes\":{}").replace("\"shape\":[8]", &shape).replace("float64", "uint8");
        folder.write(&format!("{name}/zarr.json"), text.replace(REGULAR, &grid));
    }),
    ("unknown_members", |folder, name, count| {
        let all = list(count, |n| format!("\"u{n}\":{{\"must_understand\":false}}"));
        folder.write(&format!("{name}/zarr.json"), v3(&format!("\"attributes\":{{}},{all}")));
    }),
    ("unknown_members_v2", |folder, name, count| {
        let all = list(count, |n| format!(",\"u{n}\":1"));
        folder.write(&format!("{name}/.zarray"), v2(8, "\"<f8\"", &all[..]).replace(",,", ","));
    }),
    ("members_that_must_be_understood", |folder, name, count| {
        let all = list(count, |n| format!("\"u{n}\":{{}}"));
        folder.write(&format!("{name}/zarr.json"), v3(&format!("\"attributes\":{{}},{all}")));
    }),
    ("lists_and_objects", |folder, name, count| {
        let one = format!("{}{}", "[".repeat(100), "]".repeat(100));
        let (deep, wide) =
            (list(count / 50, |_| one.clone()), list(count, |n| format!("{{\"a\":[{n}]}}")));
        folder.write(
            &format!("{name}/zarr.json"),
            v3(&format!("\"attributes\":{{\"a\":[{deep}],\"b\":[{wide}]}}")),
        );
    }),
    ("levels", |folder, name, count| {
        let deep = format!("{}{}", "[".repeat(count), "]".repeat(count));
        folder
            .write(&format!("{name}/zarr.json"), v3(&format!("\"attributes\":{{}},\"x\":{deep}")));
    }),
    ("codecs", |folder, name, count| {
        let all = list(count, |_| "{\"name\":\"crc32c\"}".into());
        let text = v3("\"attributes\":{}").replace("}}],", &format!("}}}},{all}],"));
        folder.write(&format!("{name}/zarr.json"), text);
    }),
    ("unknown_codecs", |folder, name, count| {
        let all = list(count, |n| format!("{{\"name\":\"q{n}\"}}"));
        let text = v3("\"attributes\":{}").replace("}}],", &format!("}}}},{all}],"));
        folder.write(&format!("{name}/zarr.json"), text);
    }),
    ("filters", |folder, name, count| {
        let all = list(count, |_| "{\"id\":\"shuffle\",\"elementsize\":8}".into());
        let text =
            v2(8, "\"<f8\"", "").replace("\"filters\":null", &format!("\"filters\":[{all}]"));
        folder.write(&format!("{name}/.zarray"), text);
    }),
    ("storage_transformers", |folder, name, count| {
        let all = list(count, |n| format!("{{\"name\":\"t{n}\"}}"));
        folder.write(
            &format!("{name}/zarr.json"),
            v3(&format!("\"attributes\":{{}},\"storage_transformers\":[{all}]")),
        );
    }),
    ("axes", |folder, name, count| {
        // Readers take up to 1,024.
        let count = count / 40;
        let ones = list(count, |_| "1".into());
        let names = list(count, |n| format!("\"d{n}\""));
        let text = v3(&format!("\"attributes\":{{}},\"dimension_names\":[{names}]"))
            .replace("[8]", &format!("[{ones}]"));
        folder.write(&format!("{name}/zarr.json"), text);
    }),
    ("too_many_axes", |folder, name, count| {
        let ones = list(count, |_| "1".into());
        folder.write(
            &format!("{name}/zarr.json"),
            v3("\"attributes\":{}").replace("[8]", &format!("[{ones}]")),
        );
    }),
    ("names_of_axes", |folder, name, count| {
        let names = list(count, |n| format!("\"d{n}\""));
        folder.write(&format!("{name}/.zarray"), v2(8, "\"<f8\"", ""));
        folder.write(&format!("{name}/.zattrs"), format!("{{\"_ARRAY_DIMENSIONS\":[{names}]}}"));
    }),
    ("extensions", |folder, name, count| {
        let all = list(count, |n| {
            format!("{{\"extension\":\"https://x/{n}\",\"must_understand\":false}}")
        });
        draft(folder, name, &all);
        folder.write(
            &format!("{name}/meta/root/a.array.json"),
            draft_array(&format!("\"extensions\":[{all}],\"attributes\":{{}}")),
        );
    }),
    ("labels", |folder, name, count| {
        let labels = list(count, |n| format!("\"l{n}\""));
        let filter = format!(
            "{{\"id\":\"categorize\",\"labels\":[{labels}],\"dtype\":\"<U8\",\"astype\":\"<u4\"}}"
        );
        let text =
            v2(1024, "\"<U8\"", "").replace("\"filters\":null", &format!("\"filters\":[{filter}]"));
        folder.write(&format!("{name}/.zarray"), text.replace("_value\":0", "_value\":\"\""));
        let codes = (0..1024).flat_map(|n| u32::to_le_bytes((count - n % count) as u32));
        folder.write(&format!("{name}/0"), codes.collect::<Vec<u8>>());
    }),
    ("images", |folder, name, count| {
        let scale = r#""coordinateTransformations":[{"type":"scale","scale":[1.0]}]"#;
        let many = list(count / 4, |n| {
            format!(
                "{{\"name\":\"m{n}\",\"axes\":[{{\"name\":\"x\",\"type\":\"space\"}}],\"datasets\":[{{\"path\":\"0\",{scale}}}]}}"
            )
        });
        let axes = list(count / 4, |n| format!("{{\"name\":\"a{n}\",\"type\":\"space\"}}"));
        let levels = list(count / 4, |n| format!("{{\"path\":\"{n}\",{scale}}}"));
        let channels = list(count / 4, |n| {
            format!(
                "{{\"label\":\"c{n}\",\"color\":\"FF0000\",\"active\":true,\"window\":{{\"start\":0,\"end\":1}}}}"
            )
        });
        let ome = format!(
            "{{\"ome\":{{\"version\":\"0.5\",\"multiscales\":[{many},{{\"axes\":[{axes}],\"datasets\":[{levels}]}}],\"omero\":{{\"channels\":[{channels}]}}}}}}"
        );
        folder.write(&format!("{name}/zarr.json"), G3.replace("{}", &ome));
        folder.write(&format!("{name}/0/zarr.json"), v3("\"attributes\":{}"));
    }),
    ("dimensions_of_nczarr", |folder, name, count| {
        let dimensions = list(count, |n| format!("\"d{n}\":8"));
        let group = format!("{{\"dims\":{{{dimensions}}},\"vars\":[\"v\"],\"groups\":[]}}");
        nczarr(folder, name, &group, "\"a\":1");
        folder.write(&format!("{name}/v/.zarray"), v2(8, "\"<f8\"", ""));
        let array = format!(
            "{{\"_nczarr_array\":{{\"dimrefs\":[\"/d{}\"],\"storage\":\"chunked\"}}}}",
            count - 1
        );
        folder.write(&format!("{name}/v/.zattrs"), array);
    }),
    ("variables_of_nczarr", |folder, name, count| {
        let count = count / 32;
        let dimensions = list(count, |n| format!("\"d{n}\":8"));
        let variables = list(count, |n| format!("\"v{n}\""));
        let group = format!("{{\"dims\":{{{dimensions}}},\"vars\":[{variables}],\"groups\":[]}}");
        nczarr(folder, name, &group, "\"a\":1");
        for n in 0..count {
            folder.write(&format!("{name}/v{n}/.zarray"), v2(8, "\"<f8\"", ""));
            let array = format!(
                "{{\"_nczarr_array\":{{\"dimrefs\":[\"/d{n}\"],\"storage\":\"chunked\"}}}}"
            );
            folder.write(&format!("{name}/v{n}/.zattrs"), array);
        }
    }),
    ("names_of_nczarr_that_are_absent", |folder, name, count| {
        let variables = list(count, |n| format!("\"v{n}\""));
        nczarr(
            folder,
            name,
            &format!("{{\"dims\":{{}},\"vars\":[{variables}],\"groups\":[]}}"),
            "\"a\":1",
        );
    }),
    ("entries_of_an_archive", |folder, name, count| {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let stored = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored);
        let mut add = |name: &str, bytes: &[u8]| {
            zip.start_file(name, stored).unwrap();
            zip.write_all(bytes).unwrap();
        };
        add("zarr.json", G3.as_bytes());
        add("a/zarr.json", bytes_in_chunks(count / 4).as_bytes());
        for n in 0..count / 4 {
            add(&format!("a/c/{n}"), &[1]);
            add(&format!("s{n}.txt"), b"x");
        }
        (0..count / 16).for_each(|n| add(&format!("n{n}/zarr.json"), G3.as_bytes()));
        folder.write(name, zip.finish().unwrap().into_inner());
    }),
];

/// What is done with each of them: `U` is the hierarchy, `V` a new place. Those that change something work on a copy.
const VERBS: &[&str] = &[
    "info U",
    "info U --json",
    "ls U -l",
    "tree U",
    "tree U --json",
    "attrs U",
    "dump U -h",
    "dump U --json",
    "stats U",
    "stats U --json",
    "plot U --json",
    "get U",
    "get U --json",
    "checksum U",
    "diff U U",
    "validate U",
    "validate U --json",
    "repair U",
    "copy U V",
    "copy U V --to v2",
    "copy U V --to v3",
    "copy U V --to draft-2020",
    "copy U V --to nczarr-v2",
    "copy U V --to nczarr-v3",
    "copy U V --dry-run --json",
    "consolidate W",
    "attrs W --set zz=1",
    "attrs W --delete k1",
    "rename W --path n1 n1x",
    "resize W --shape 9",
    "create W --path q/r --shape 4 --dtype int8",
    "rm W --path n1 --force",
    "repair W --apply",
];

/// Members of the smaller and the larger of two runs.
const COUNTS: [usize; 2] = [8_000, 32_000];

/// Four times as much may take so many times as long: what is quadratic takes 16 times as long.
const MAX_RATIO: f64 = 8.0;
/// Seconds below which the ratio says nothing.
const MIN_SECONDS: f64 = 1.0;

/// What has been quadratic, on fewer members.
const SAMPLE: &[(&str, &str)] = &[
    ("attributes_v3", "diff U U"),
    ("attributes_v3", "attrs W --set zz=1"),
    ("attributes_of_nczarr", "info U"),
    ("missing_values", "stats U"),
    ("fields_v3", "stats U"),
    ("copies_v2", "dump U -h"),
    ("unknown_members", "copy U V"),
    ("variables_of_nczarr", "tree U"),
];

#[test]
fn work_grows_with_the_number_of_members() {
    const CHILD: &str = "ZARR_TEST_SCALE_CHILD";
    // Of the children of this process alone: other tests have children, too.
    if std::env::var_os(CHILD).is_none() {
        run_test_again(module_path!(), "work_grows_with_the_number_of_members", [(CHILD, "1")]);
        return;
    }
    let folder = Folder::new();
    let is_all = sample(false, true);
    let counts = if is_all { COUNTS } else { COUNTS.map(|count| count / 2) };
    let mut bad = String::new();
    for (kind, make) in KINDS {
        let is_asked = |verb: &&&str| is_all || SAMPLE.contains(&(*kind, **verb));
        let verbs: Vec<&&str> = VERBS.iter().filter(is_asked).collect();
        if verbs.is_empty() {
            continue;
        }
        let ending = if *kind == "entries_of_an_archive" { "zip" } else { "zarr" };
        let names = counts.map(|count| format!("{kind}-{count}.{ending}"));
        for (name, count) in names.iter().zip(counts) {
            make(&folder, name, count);
        }
        for verb in verbs {
            let seconds = names.each_ref().map(|name| cost(&folder, verb, name));
            let is_bad = seconds[1] > MIN_SECONDS && seconds[1] > MAX_RATIO * seconds[0].max(0.02);
            if is_bad {
                writeln!(bad, "{kind}: {verb}: {} → {} s", seconds[0], seconds[1]).unwrap();
            }
        }
        names.iter().for_each(|name| remove(&folder, name));
    }
    assert!(bad.is_empty(), "with four times as many members:\n{bad}");
}

/// Seconds of processor time that a verb takes.
fn cost(folder: &Folder, verb: &str, name: &str) -> f64 {
    let copied = format!("copied-{name}");
    if verb.split(' ').any(|word| word == "W") {
        let copied = std::process::Command::new("cp")
            .args(["-a", name, &copied])
            .current_dir(folder.path(""))
            .status();
        assert!(copied.unwrap().success());
    }
    let words = verb.split(' ').map(|word| match word {
        "U" => name,
        "V" => "v.zarr",
        "W" => &copied,
        word => word,
    });
    let line = words.collect::<Vec<_>>().join(" ");
    let before = seconds_of_children();
    let mut command = folder.command(&line);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    let after = seconds_of_children();
    // Many of the documents are refused, each with its code.
    assert!(status.code().is_some_and(|code| code <= 5), "{line}: {status}");
    remove(folder, "v.zarr");
    remove(folder, &copied);
    after - before
}

/// Seconds of processor time of the children that this process has waited for.
fn seconds_of_children() -> f64 {
    /// The system counts in hundredths of a second, whatever its timer does.
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // Behind the name, which may have blanks, the fields begin with the third.
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks = |field: usize| fields[field - 3].parse::<f64>().unwrap();
    (ticks(16) + ticks(17)) / TICKS
}

fn remove(folder: &Folder, name: &str) {
    let path = folder.path(name);
    if path.is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else if path.exists() {
        fs::remove_file(path).unwrap();
    }
}

const G2: &str = r#"{"zarr_format":2}"#;
const G3: &str = r#"{"zarr_format":3,"node_type":"group","attributes":{}}"#;
const REGULAR: &str = r#""regular","configuration":{"chunk_shape":[8]}"#;

fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(",")
}

fn attributes(count: usize) -> String {
    list(count, |n| format!("\"k{n}\":{n}"))
}

/// An array of eight numbers with further members.
fn v3(members: &str) -> String {
    format!(
        "{{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[8],\"data_type\":\"float64\",\"chunk_grid\":{{\"name\":{REGULAR}}},\"chunk_key_encoding\":{{\"name\":\"default\"}},\"fill_value\":0,\"codecs\":[{{\"name\":\"bytes\",\"configuration\":{{\"endian\":\"little\"}}}}],{members}}}"
    )
}

fn v2(len: usize, dtype: &str, members: &str) -> String {
    format!(
        "{{\"zarr_format\":2,\"shape\":[{len}],\"chunks\":[{len}],\"dtype\":{dtype},\"fill_value\":0,\"compressor\":null,\"filters\":null,\"order\":\"C\"{members}}}"
    )
}

/// An array of bytes, each in a chunk of its own.
fn bytes_in_chunks(count: usize) -> String {
    let text = v3("\"attributes\":{}").replace("\"shape\":[8]", &format!("\"shape\":[{count}]"));
    text.replace("[8]", "[1]").replace("float64", "uint8")
}

/// A group with consolidated metadata.
fn inline(all: &str) -> String {
    let copies =
        format!("{{\"kind\":\"inline\",\"must_understand\":false,\"metadata\":{{{all}}}}}");
    G3.replace("{}", &format!("{{}},\"consolidated_metadata\":{copies}"))
}

/// One shard of one-byte inner chunks, whose places are given.
fn shard(folder: &Folder, name: &str, count: usize, place: fn(u64) -> (u64, u64)) {
    let codec = r#"{"name":"sharding_indexed","configuration":{"chunk_shape":[1],"codecs":[{"name":"bytes"}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_location":"end"}}"#;
    let text =
        v3("\"attributes\":{}").replace("float64", "uint8").replace("[8]", &format!("[{count}]"));
    let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    folder.write(&format!("{name}/zarr.json"), text.replacen(bytes, codec, 1));
    let mut value = vec![1; count];
    for n in 0..count as u64 {
        let (offset, length) = place(n);
        value.extend(offset.to_le_bytes());
        value.extend(length.to_le_bytes());
    }
    folder.write(&format!("{name}/c/0"), value);
}

const DRAFT: &str = "https://purl.org/zarr/spec/protocol/core/3.0";

fn draft(folder: &Folder, name: &str, extensions: &str) {
    let text = format!(
        "{{\"zarr_format\":\"{DRAFT}\",\"metadata_encoding\":\"{DRAFT}\",\"metadata_key_suffix\":\".json\",\"extensions\":[{extensions}]}}"
    );
    folder.write(&format!("{name}/zarr.json"), text);
}

fn draft_array(members: &str) -> String {
    format!(
        "{{\"shape\":[8],\"data_type\":\"<f8\",\"chunk_grid\":{{\"type\":\"regular\",\"chunk_shape\":[8],\"separator\":\"/\"}},\"chunk_memory_layout\":\"C\",\"fill_value\":0,{members}}}"
    )
}

fn nczarr(folder: &Folder, name: &str, group: &str, attributes: &str) {
    folder.write(&format!("{name}/.zgroup"), G2);
    let superblock = r#""_nczarr_superblock":{"version":"2.0.0"}"#;
    let text = format!("{{{superblock},\"_nczarr_group\":{group},{attributes}}}");
    folder.write(&format!("{name}/.zattrs"), text);
}
