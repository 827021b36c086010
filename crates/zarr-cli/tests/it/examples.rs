//! Every verb has examples in its help, and they run.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::Folder;
use crate::common::image::image;

/// Verbs whose examples are not run, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("serve", "it serves until it is stopped; its own tests run it"),
    ("completions", "they write into a person's home; tests/it/shells.rs runs the scripts"),
    ("man", "it writes into a person's home; tests/it/shells.rs runs it"),
    ("netcdf-plugin", "it writes into a person's home; tests/it/netcdf_plugin.rs runs it"),
    ("demo", "the step `demo` of CI runs it"),
];

/// Stacks of 64 TiB: no further thread of the program can be started, as under a limit of threads.
const NO_STACK: &str = "70368744177664";

/// The verbs that the help lists, and the hidden one that people run.
fn verbs(folder: &Folder) -> Vec<String> {
    let help = folder.good("--help");
    let (_, list) = help.text().split_once("Commands:\n").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    let first = |line: &str| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned);
    let verbs: Vec<String> =
        list.lines().filter_map(first).filter(|verb| !verb.is_empty()).collect();
    assert!(verbs.len() > 15, "{verbs:?}");
    verbs.into_iter().filter(|verb| verb != "help").chain(["man".into()]).collect()
}

/// The commands below `Examples:`, without remarks behind them.
fn examples(help: &str) -> Vec<String> {
    let Some((_, text)) = help.split_once("\nExamples:\n") else { return Vec::new() };
    let (text, _) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut text = text.split("\\\n");
    let first = text.next().unwrap_or_default().to_owned();
    let text = text.fold(first, |text, more| text + more.trim_start());
    let command = |line: &str| {
        let line = line.trim();
        let end = line.find("          ").or_else(|| line.find("     ")).unwrap_or(line.len());
        line[..end].to_owned()
    };
    // What goes on with a command is deeper than its first line.
    let text = text.lines().filter(|line| line.starts_with("  "));
    text.map(|line| if line.starts_with("      ") { line.to_owned() } else { command(line) })
        .collect()
}

/// The data that examples speak of.
fn prepare(folder: &Folder) {
    let array = |target: &str, path: &str, more: &str| {
        folder.good(&format!("create {target} --path {path} --dtype float32 {more}"));
    };
    let small = "--shape 20,30 --chunks 10,10 --dims lat,lon";
    for target in
        ["data.zarr", "bucket/data.zarr", "bucket/copy.zarr", "model.zarr", "a.zarr", "old.zarr"]
    {
        array(target, "temperature", small);
        array(target, "time", "--shape 20 --chunks 10 --dims time");
        array(target, "ocean/temperature", "--shape 8,180,360 --chunks 1,90,90 --dims t,y,x");
        folder.good(&format!("attrs {target} --path temperature --set units=K"));
    }
    for name in ["t2m", "pr"] {
        array("model.zarr", name, "--shape 20,20,30 --chunks 5,10,10 --dims time,lat,lon");
        array("more.zarr", name, "--shape 20,20,30 --chunks 5,10,10 --dims time,lat,lon");
        array("era5.zarr", name, "--shape 20,20,30 --chunks 5,10,10 --dims time,lat,lon");
    }
    array("more.zarr", "time", "--shape 20 --chunks 10 --dims time");
    array("data.zarr", "table", "--shape 4,5");
    array("data.zarr", "old/x", "--shape 4");
    for target in ["b.zarr", "new.zarr", "slabs.zarr", "extra.zarr", "big.zarr"] {
        array(target, "x", "--shape 20,30 --chunks 10,10");
    }
    array("a.zarr", "x", "--shape 20,30 --chunks 10,10");
    array("old-v2.zarr", "x", "--shape 8 --chunks 4 --format v2");
    array("v2.zarr", "x", "--shape 8 --chunks 4 --format v2");
    array("v3.zarr", "x", "--shape 8 --chunks 4");
    for target in ["cells.ome.zarr", "big.ome.zarr", "plate.zarr/A/1/0"] {
        image(folder, target, &[40, 50], &[8, 8]);
    }
    folder.good(r#"attrs cells.ome.zarr --set ome.omero={"channels":[{"color":"00FF00"}]}"#);
    image(folder, "brain.ome.zarr", &[1, 8, 40, 50], &[1, 4, 8, 8]);
    array("scan.zarr", "0", "--shape 1,2,20,30 --chunks 1,1,20,30");
    let cube = "--path cube --shape 64,64,64 --chunks 1,64,64 --dtype int8";
    folder.good(&format!("create slabs2.zarr {cube}"));
    fs::remove_dir_all(folder.path("slabs.zarr")).unwrap();
    fs::rename(folder.path("slabs2.zarr"), folder.path("slabs.zarr")).unwrap();
    for (name, number) in [("jan.nc", 1), ("feb.nc", 2)] {
        let file = format!(
            "{}/../zarr-virtual/tests/data/joined/nc4-{number}.nc",
            env!("CARGO_MANIFEST_DIR")
        );
        folder.write(name, fs::read(file).unwrap());
    }
    folder.write("far.json", r#"{"get_ms": 80}"#);
    folder.write("table.csv", "1,2,3,4,5\n".repeat(4));
    folder.write(
        "data.cdl",
        "netcdf data {\ndimensions:\n x = 3 ;\nvariables:\n int v(x) ;\ndata:\n v = 1, 2, 3 ;\n}\n",
    );
    let npy = folder.good("get data.zarr --path temperature --format npy");
    folder.write("temperature.npy", npy.out);
    let rows = folder.good("get data.zarr --path temperature --region 0:10,: --format npy");
    folder.write("rows.npy", rows.out);
}

/// An array of time, lat and lon, with coordinates: one a day from 2020, one every four or five degrees.
fn with_coordinates(folder: &Folder) {
    let overwrite = "--overwrite --dtype float32";
    let cube = "--shape 100,20,30 --chunks 50,10,10 --dims time,lat,lon";
    // The coordinates that are there still have another length.
    let created = folder.run(&format!("create data.zarr --path temperature {cube} {overwrite}"));
    assert_eq!(created.code, 0, "{}", created.err);
    for (name, len, step) in [("time", 100, 1), ("lat", 20, 4), ("lon", 30, 5)] {
        let one = format!("--shape {len} --chunks {len} --dims {name} {overwrite}");
        folder.good(&format!("create data.zarr --path {name} {one}"));
        let values: Vec<String> = (0..len).map(|n| (n * step).to_string()).collect();
        let put = folder
            .feed(&format!("put data.zarr/{name}"), format!("[{}]", values.join(",")).as_bytes());
        assert_eq!(put.code, 0, "{}", put.err);
    }
    folder.good("attrs data.zarr/time --set 'units=days since 2020-01-01'");
    folder.good("attrs data.zarr/lat --set units=degrees_north");
}

/// Takes away what examples of a verb make anew.
fn clear(folder: &Folder, verb: &str, example: &str) {
    let words: Vec<&str> = example.split_whitespace().collect();
    let made = match verb {
        "create" => ["data.zarr", "old.zarr"].to_vec(),
        "gen" => words.windows(2).filter(|pair| pair[0] == "-o").map(|pair| pair[1]).collect(),
        "dump" if example.contains("gen") => ["copy.zarr"].to_vec(),
        "copy" if example.contains(" new.zarr --to") => ["new.zarr"].to_vec(),
        "copy" => ["bucket/big.zarr", "week.zarr", "europe.zarr"].to_vec(),
        _ => Vec::new(),
    };
    for name in made {
        let _ = fs::remove_dir_all(folder.path(name));
    }
}

#[test]
fn every_verb_has_examples_that_run() {
    run_examples(None);
}

/// The system may refuse every further thread: the calling one does the work then.
#[test]
fn every_verb_works_without_further_threads() {
    let folder = Folder::new();
    folder.table("t.zarr", "v3");
    let serve = folder.command("serve t.zarr --port 0").env("RUST_MIN_STACK", NO_STACK).output();
    let serve = serve.unwrap();
    let err = String::from_utf8_lossy(&serve.stderr);
    assert!(err.contains("cannot start a thread") && !err.contains("panicked"), "{err}");
    run_examples(Some(NO_STACK));
}

/// The same results come of one thread and of several.
#[test]
fn results_without_further_threads_are_the_same() {
    let folder = Folder::new();
    let numbers: Vec<String> = (0..40_000).map(|n| (n * n % 9973).to_string()).collect();
    let numbers = format!("[{}]", numbers.join(","));
    for (name, shards) in [("a.zarr", "--shards 100,100"), ("b.zarr", "")] {
        let shape = "--path x --shape 200,200 --chunks 20,20";
        folder.good(&format!("create {name} {shape} {shards} --dtype int32"));
        let put = folder.feed(&format!("put {name} --path x"), numbers.as_bytes());
        assert_eq!(put.code, 0, "{}", put.err);
    }
    folder.good("put b.zarr --path x --region 3,4 --value 1");
    let lines = [
        ("checksum a.zarr", 0),
        ("diff a.zarr b.zarr", 1),
        ("stats b.zarr --path x --json", 0),
        ("validate a.zarr", 0),
        ("get b.zarr --path x", 0),
        ("copy b.zarr COPY.zarr --chunks 50,30", 0),
        ("get COPY.zarr --path x", 0),
        ("repair a.zarr", 0),
    ];
    for (line, code) in lines {
        let run = |copy: &str, stack: Option<&str>| {
            let line = format!("{} --threads 4 --quiet", line.replace("COPY", copy));
            let mut command = folder.command(&line);
            stack.map(|stack| command.env("RUST_MIN_STACK", stack));
            let output = command.output().unwrap();
            let err = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{line}: {err}");
            String::from_utf8_lossy(&output.stdout).replace(copy, "COPY")
        };
        assert_eq!(run("one", Some(NO_STACK)), run("several", None), "{line}");
    }
}

fn run_examples(stack: Option<&str>) {
    let bin = Path::new(env!("CARGO_BIN_EXE_zarr")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let base = Folder::new();
    prepare(&base);
    let mut ran = 0;
    for verb in verbs(&base) {
        let help = base.good(&format!("{verb} --help"));
        let examples = examples(help.text());
        assert!(!examples.is_empty(), "{verb} --help has no example");
        if NOT_RUN.iter().any(|(name, _)| *name == verb) {
            continue;
        }
        let folder = Folder::new();
        let copied = Command::new("cp").arg("-R").arg(base.path(".")).arg(folder.path("")).status();
        assert!(copied.unwrap().success());
        if matches!(&*verb, "stats" | "plot" | "ls" | "tune") {
            with_coordinates(&folder);
        }
        for example in examples {
            assert!(
                example.contains(&format!("zarr {verb} ")) || example.ends_with(&verb),
                "{example}"
            );
            clear(&folder, &verb, &example);
            if example.contains("--sel") {
                with_coordinates(&folder);
            }
            // A bucket is a folder here.
            let line = example.replace("s3://bucket/", "bucket/");
            let mut shell = Command::new("sh");
            shell.args(["-c", &line]).current_dir(folder.path("")).env("PATH", &path);
            stack.map(|stack| shell.env("RUST_MIN_STACK", stack));
            let output = shell.stdin(Stdio::null()).output().unwrap();
            let err = String::from_utf8_lossy(&output.stderr);
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 1)), "{line}: {code:?} {err}");
            assert!(!err.contains("error:") && !err.contains("panicked"), "{line}: {err}");
            ran += 1;
        }
    }
    assert!(ran > 50, "{ran} examples ran");
}
