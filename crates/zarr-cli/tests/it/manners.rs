//! The program behaves well at the command line and in pipes.

use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::Folder;
use zarr::Json;

#[test]
fn exit_codes_tell_the_kind() {
    let folder = Folder::new();
    folder.table("t.zarr", "v3");
    // 2: a usage error.
    for line in [
        "",
        "zork",
        "get",
        "get t.zarr/a --format zork",
        "get t.zarr/a --region 0",
        "get t.zarr/a --region 0,9",
        "get t.zarr/a --region -5,0",
        "get t.zarr/a --region 0:4:0,0",
        "get t.zarr/a --region [0,4],0",
        "get t.zarr/a --by-name lat=0",
        "get t.zarr/a --by-name lat=0 --region 0,0",
        "get t.zarr/a --region '' --json --format csv",
        "get t.zarr",
        "get t.zarr --path ../a",
        "info t.zarr --as v9",
        "info zork://host/x",
        "create n.zarr",
        "create n.zarr --shape 2",
        "create n.zarr --shape x --dtype int8",
        "create n.zarr --shape 2 --dtype int8 --group",
        "create n.zarr --shape 2 --dtype int8 --codec gzip:x",
        "create n.zarr --shape 2 --dtype int8 --attr x",
        "attrs t.zarr --set x",
        "attrs t.zarr x y --set x=1",
        "copy t.zarr",
        "rm t.zarr",
    ] {
        folder.bad(line, 2);
    }
    assert!(!folder.path("n.zarr/zarr.json").exists());
    // 3: nothing is there.
    for line in [
        "info n.zarr",
        "tree t.zarr --path x",
        "get t.zarr/x",
        "attrs t.zarr --path a/b",
        "rm t.zarr/x",
    ] {
        folder.bad(line, 3);
    }
    // 5: corrupt.
    folder.write("t.zarr/a/c/0/0", b"no gzip stream");
    let why = folder.bad("get t.zarr/a", 5);
    assert!(why.contains("chunk (0, 0)") && why.contains("gzip"), "{why}");
    folder.write("t.zarr/a/zarr.json", b"{");
    // 0: help.
    for line in ["--help", "-h", "--version", "help", "get --help", "help create", "demo -h"] {
        let run = folder.good(line);
        assert!(!run.out.is_empty());
    }
}

#[test]
fn quiet_verbose_and_color_are_obeyed() {
    let folder = Folder::new();
    folder.table("t.zarr", "v2");
    // What only a tolerant reader takes, and so a warning.
    folder.good("create b.zarr --format v3 --group");
    folder.write("b.zarr/.zgroup", r#"{"zarr_format":2}"#);
    let warned = folder.run("attrs b.zarr").err;
    assert!(warned.starts_with("warning: "), "{warned}");
    folder.good("attrs b.zarr --quiet");
    let coloured = folder.run("attrs b.zarr --color always").err;
    assert_eq!(coloured.replace("\u{1b}[1;33mwarning\u{1b}[0m", "warning"), warned);
    let error = folder.bad("info t.zarr --path absent --color=always", 3);
    assert!(error.starts_with("\u{1b}[1;31merror\u{1b}[0m: store "), "{error}");
    assert!(folder.bad("info --bogus --color always", 2).contains("\u{1b}["));
    assert!(!folder.bad("info --bogus --color never", 2).contains("\u{1b}["));

    let verbose = folder.run("get t.zarr/a --verbose");
    let calls: Vec<&str> = verbose.err.trim().split(", ").collect();
    assert!(calls[0].ends_with(" store calls") && calls[1].ends_with(" read"), "{}", verbose.err);
    assert_eq!(folder.run("create t.zarr --path g --group --verbose").err.lines().count(), 2);
    let both = folder.run("get t.zarr/a --verbose --trace").err;
    assert!(both.starts_with("trace: ") && both.contains(" store calls, "), "{both}");
    folder.bad("info t.zarr --quiet --verbose", 2);
}

/// zarr-python 3 installs a script `zarr`, which hides the program.
#[cfg(unix)]
#[test]
fn the_doctor_says_which_zarr_comes_first() {
    let folder = Folder::new();
    folder.write("bin/zarr", "#!/usr/bin/python3\n");
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_zarr")).parent().unwrap();
    let doctor = |program: &str, folders: &[&std::path::Path]| {
        let mut command = std::process::Command::new(program);
        command.arg("doctor").env("PATH", std::env::join_paths(folders).unwrap());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let text = doctor(env!("CARGO_BIN_EXE_zarr"), &[&folder.path("bin"), own]);
    assert!(text.contains("bin/zarr: a script of another package, such as zarr-python"), "{text}");
    assert!(text.contains("zarrkit: of the same installation\n"), "{text}");
    let text = doctor(env!("CARGO_BIN_EXE_zarrkit"), &[own, &folder.path("bin")]);
    assert!(text.contains("zarr: of the same installation\n"), "{text}");
    assert!(text.contains("zarrkit: this program\n"), "{text}");
    let text = doctor(env!("CARGO_BIN_EXE_zarr"), &[&folder.path("")]);
    assert!(text.contains("  zarrkit            not found\n"), "{text}");
}

#[test]
fn the_doctor_names_credentials_without_their_values() {
    let folder = Folder::new();
    folder.write("home/.aws/credentials", "[default]\n");
    let doctor = |more: &str| {
        let mut command = folder.command(&format!("doctor {more}"));
        command.env_clear().env("HOME", folder.path("home"));
        command
            .env("AWS_SECRET_ACCESS_KEY", "wJalr")
            .env("NO_COLOR", "1")
            .env("AZURE_X_KEY", "qq secret")
            .env("AWS_REGION", "r");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let json = Json::parse(doctor("--json").as_bytes()).unwrap();
    let member = |json: &Json, name: &str| json.as_object().unwrap().get(name).unwrap().clone();
    let found = |kind: &str| member(&member(&json, "credentials"), kind).to_string();
    let s3 = found("s3");
    assert!(
        s3.contains("\"AWS_SECRET_ACCESS_KEY\"") && s3.contains("/home/.aws/credentials\""),
        "{s3}"
    );
    assert!(found("azure").contains("AZURE_X_KEY") && found("gcs") == "[]");
    let settings = member(&json, "settings").to_string();
    assert!(settings.contains("NO_COLOR") && settings.contains("a setting of s3"), "{settings}");
    assert!(member(&json, "stores").to_string().contains("\"s3\""));
    let text = doctor("");
    for (word, is_there) in
        [("AWS_SECRET_ACCESS_KEY", true), ("blosc", true), ("wJalr", false), ("qq secret", false)]
    {
        assert_eq!(text.contains(word), is_there, "{word}: {text}");
    }
}

#[test]
fn a_broken_node_does_not_hide_the_others() {
    let folder = Folder::new();
    folder.table("t.zarr", "draft-2020");
    folder.write("t.zarr/meta/root/b.array.json", b"{}");
    let run = folder.run("tree t.zarr");
    assert_eq!((run.code, run.text()), (5, "/\n├── a  int32 (4, 5)\n└── b  (broken)\n"));
    assert!(
        run.err.starts_with("error: store ") && run.err.contains(": /b at `meta/"),
        "{}",
        run.err
    );
    let json = folder.run("tree t.zarr --json");
    assert!(json.text().contains("\"error\": "));
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let folder = Folder::new();
    folder.good("create t.zarr --shape 400,1000000 --chunks 10,100000 --dtype uint8 --fill 1");
    for format in ["raw", "json", "npy", "csv"] {
        let line = format!("get t.zarr --format {format}");
        let mut child = folder.command(&line).spawn().unwrap();
        let mut some = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut some).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{format}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{format}");
    }
    for line in ["tree t.zarr", "info t.zarr --json", "--help"] {
        let mut child = folder.command(line).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]), "{line}");
    }
}

#[test]
fn large_arrays_go_in_pieces() {
    let folder = Folder::new();
    folder.good(
        "create a.zarr --shape 90,1000,1000 --chunks 7,1000,1000 --dtype uint8 --codec zstd:1",
    );
    folder
        .good("create b.zarr --shape 90,1000,1000 --chunks 11,500,1000 --dtype uint8 --format v2");
    let mut elements = vec![0; 90_000_000];
    elements[69_999_999] = 1;
    elements[89_999_999] = 2;
    let put = folder.feed("put a.zarr --format raw", &elements);
    assert_eq!((put.code, &*put.err), (0, ""));
    let mut get = folder.command("get a.zarr --format npy").spawn().unwrap();
    let put = folder
        .command("put b.zarr --format npy")
        .stdin(Stdio::from(get.stdout.take().unwrap()))
        .output()
        .unwrap();
    assert!(get.wait().unwrap().success());
    assert_eq!((put.status.code(), &put.stderr[..]), (Some(0), &b""[..]));
    assert!(folder.good("get b.zarr --format raw").out == elements);
    let short = folder.feed("put b.zarr --format raw", &elements[1..]);
    assert_eq!(short.code, 2);
    assert!(short.err.contains("ends after 89,999,999 bytes"), "{}", short.err);
}

#[test]
fn talk_stays_out_of_pipes() {
    let folder = Folder::new();
    folder.table("t.zarr", "v2");
    for line in ["copy t.zarr u.zarr --to v3", "create u.zarr --path x --group", "rm u.zarr/x"] {
        let run = folder.good(line);
        assert_eq!(run.out, b"", "{line}");
    }
}

/// Issue 13, point 26.
#[test]
fn errors_are_json_if_asked() {
    let folder = Folder::new();
    folder.table("t.zarr", "v3");
    folder.write("a.tif", b"II*\0 rest");
    let said = |line: &str, code: i32| {
        let why = folder.bad(line, code);
        let json =
            zarr::Json::parse(why.as_bytes()).unwrap_or_else(|e| panic!("{line}: {e}: {why}"));
        let error = json.as_object().and_then(|json| json.get("error")).cloned();
        let error = error.unwrap_or_else(|| panic!("{line}: {why}"));
        let member = |name: &str| error.as_object().unwrap().get(name).map(ToString::to_string);
        assert_eq!(member("exit_code").unwrap(), code.to_string(), "{line}");
        assert!(member("message").is_some_and(|message| message.len() > 10), "{line}");
        (member("kind").unwrap(), member("store"), member("path"), member("chunk"))
    };
    let kind = |line: &str, code: i32| said(line, code).0;
    assert_eq!(kind("info no.zarr --json", 3), r#""not_found""#);
    assert_eq!(kind("tree a.tif --json", 4), r#""unsupported""#);
    assert_eq!(kind("get t.zarr/a --json --region 9,9", 2), r#""argument""#);
    assert_eq!(kind("get t.zarr --json", 2), r#""argument""#);
    assert_eq!(kind("create t.zarr --path a --shape 2 --dtype int8 --json", 2), r#""exists""#);
    assert_eq!(kind("rm t.zarr --json", 2), r#""argument""#);
    assert_eq!(kind("attrs t.zarr/a units --json", 1), r#""no""#);
    assert_eq!(kind("info --json --zork", 2), r#""argument""#);
    assert_eq!(kind("zork --json", 2), r#""argument""#);
    folder.write("t.zarr/a/c/0/0", b"no gzip stream");
    let (kind, store, path, chunk) = said("get t.zarr --path a --json", 5);
    assert_eq!(kind, r#""corrupt_data""#);
    assert!(store.unwrap().ends_with("t.zarr\""));
    assert_eq!((path.as_deref(), chunk.as_deref()), (Some("\"/a\""), Some("[0,0]")));
    // A node that is broken, and a warning, are one line each.
    folder.write("t.zarr/b/zarr.json", b"{}");
    let run = folder.run("tree t.zarr --json");
    for line in run.err.lines() {
        zarr::Json::parse(line.as_bytes()).unwrap_or_else(|e| panic!("{e}: {line}"));
    }
    assert!(!run.err.is_empty());
}

/// Issue 13, point 26: the store and the whole path, in the words of the program.
#[test]
fn errors_name_the_store_and_the_path_and_the_options_of_the_program() {
    let folder = Folder::new();
    folder.table("t.zarr", "v3");
    let store = format!("store file://{}", folder.path("t.zarr").display());
    for line in [
        "get t.zarr --path a --region 9,9",
        "get t.zarr --path a --by-name lat=1",
        "put t.zarr --path a --region 9,9",
        "create t.zarr --path a/b --group",
        "create t.zarr --path a --shape 2 --dtype int8",
        "create t.zarr --path a --shape 2 --dtype int31",
    ] {
        let why = folder.bad(line, 2);
        assert!(why.contains(&format!("{store}: /a")), "{line}: {why}");
    }
    let why = folder.bad("get t.zarr/a --region 9,9", 2);
    assert!(why.contains(&format!("{store}/a: region")), "{why}");
    let why = folder.bad("create t.zarr --path a --shape 2 --dtype int8", 2);
    assert!(why.contains("already exists") && why.contains("--overwrite"), "{why}");
    let why = folder.bad("create n.zarr --shape 2 --dtype floatt32", 2);
    assert!(why.contains("did you mean `float32`?"), "{why}");
    let why = folder.bad("create n.zarr --shape 2 --dtype float", 2);
    assert!(why.contains("did you mean `float64`?"), "{why}");
    let why = folder.bad("create n.zarr --shape 2 --dtype int8 --codec gzipp", 4);
    assert!(why.contains("did you mean `gzip`?"), "{why}");
    folder.write("file", "");
    let why = folder.bad("create file/x --group", 5);
    assert!(why.contains("`zarr.json`: Not a directory") && !why.contains("set_if"), "{why}");
}

/// A bar needs no thread of its own: the system may refuse one (issue 13, point 24). Stacks of 64 TiB: no thread can be started.
#[cfg(target_os = "linux")]
#[test]
fn a_bar_is_drawn_on_a_terminal_without_a_thread() {
    let folder = Folder::new();
    folder.good("create t.zarr --shape 9000,10000 --chunks 900,10000 --dtype uint8");
    folder.write("elements", vec![1; 90_000_000]);
    let line = format!("{} put t.zarr --format raw < elements", env!("CARGO_BIN_EXE_zarr"));
    for stack in [None, Some("70368744177664")] {
        let mut typed = Command::new("script");
        typed.args(["-qec", &line, "/dev/null"]).current_dir(folder.path(""));
        stack.map(|stack| typed.env("RUST_MIN_STACK", stack));
        let run = typed.output().unwrap();
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && !said.contains("panicked"), "{said}");
        assert!(said.contains("MiB/85.83 MiB"), "{said}");
    }
    assert_eq!(folder.good("get t.zarr --region 8999,9998: --format json").text(), "[[1,1]]\n");
}

/// Verbs whose end is not known tell how often they asked stores, on terminals only.
#[cfg(target_os = "linux")]
#[test]
fn long_verbs_show_on_a_terminal_that_they_work() {
    let folder = Folder::new();
    for name in ["a", "b"] {
        let create = "--shape 400,4 --chunks 4,4 --dtype int16";
        folder.good(&format!("create t.zarr --path {name} {create}"));
        let list: Vec<String> = (0..1600).map(|n| n.to_string()).collect();
        let put = folder
            .feed(&format!("put t.zarr --path {name}"), format!("[{}]", list.join(",")).as_bytes());
        assert_eq!(put.code, 0, "{}", put.err);
    }
    for n in 0..60 {
        folder.good(&format!("create t.zarr --path g/a{n} --shape 1 --dtype int8"));
    }
    let on_terminal = |line: &str| {
        let line = format!("{} {line}", env!("CARGO_BIN_EXE_zarr"));
        let mut typed = Command::new("script");
        typed.args(["-qec", &line, "/dev/null"]).current_dir(folder.path(""));
        let run = typed.env("TERM", "xterm").output().unwrap();
        assert!(run.status.success(), "{line}");
        String::from_utf8(run.stdout).unwrap()
    };
    for line in [
        "ls -lR t.zarr",
        "tree t.zarr",
        "dump t.zarr",
        "consolidate t.zarr",
        "consolidate t.zarr --check",
        "plot t.zarr/a --reduce mean -o a.png",
        "plot t.zarr/a --reduce mean",
        "resize t.zarr/b --shape 2,2",
    ] {
        // First in a pipe, where nothing is said.
        let piped = if line.starts_with("resize") {
            String::new()
        } else {
            folder.good(line).text().to_owned()
        };
        let shown = on_terminal(line);
        assert!(shown.contains(" store calls, ") && shown.contains(" read, "), "{line}: {shown}");
        // What is printed is whole, and begins on a line without the bar.
        if !piped.is_empty() && !line.starts_with("plot") && !line.starts_with("ls") {
            let printed = piped.replace('\n', "\r\n");
            assert!(shown.ends_with(&format!("\u{1b}[2K{printed}")), "{line}: {shown:?}");
        }
        assert!(!on_terminal(&format!("--quiet {line}")).contains("calls to"), "{line}");
    }
}

/// Issue 13, point 26.
#[test]
fn messages_count_as_english_does_and_say_why() {
    let folder = Folder::new();
    for (line, why) in [
        (
            "create t.zarr --shape 2,2 --chunks 2 --dtype int8",
            "chunks have 1 axis, the array has 2",
        ),
        (
            "create t.zarr --shape 2 --chunks 2,2 --dtype int8",
            "chunks have 2 axes, the array has 1",
        ),
        (
            "create t.zarr --path /a//b --group",
            "`/a//b` is not a path: a name between two `/` is empty; write one `/`",
        ),
        ("create t.zarr --path ../b --group", "`..` is not a node name; paths begin at the root"),
    ] {
        let said = folder.bad(line, 2);
        assert!(said.contains(why), "{line}: {said}");
    }
    folder.good("create t.zarr --path a --shape 1,2 --dtype int8");
    for (format, input, why) in [
        ("csv", "1\n", "CSV: line 1 has 1 value, expected 2"),
        ("json", "[1", "JSON, is not JSON: "),
        ("json", "[1,2,3]", "JSON: "),
        ("raw", "1", "raw elements, ends after 1 byte of elements, expected 2"),
        ("npy", "1", "a NumPy file, is not a NumPy file: "),
    ] {
        let run = folder.feed(&format!("put t.zarr --path a --format {format}"), input.as_bytes());
        assert_eq!(run.code, 2, "{}", run.err);
        let why = format!("t.zarr: /a: standard input, read as {why}");
        assert!(run.err.contains(&why), "{}", run.err);
    }
}

#[cfg(unix)]
#[test]
fn a_write_that_is_interrupted_says_what_it_leaves() {
    let folder = Folder::new();
    folder.table("t.zarr", "v3");
    for (more, begins) in [("", "stopped: what has been written"), ("--json", r#"{"error":"#)] {
        // It waits for its input, and gets a signal.
        let mut put = folder.command(&format!("put t.zarr/a --verbose {more}"));
        let mut put = put.stdin(Stdio::piped()).spawn().unwrap();
        let (input, mut err) = (put.stdin.take(), put.stderr.take().unwrap());
        thread::sleep(Duration::from_millis(500));
        let id = put.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        assert_eq!(put.wait().unwrap().code(), Some(130));
        drop(input);
        let mut text = String::new();
        err.read_to_string(&mut text).unwrap();
        assert!(text.starts_with(begins) && text.contains("the same command"), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_no_text_is_named() {
    use std::os::unix::ffi::OsStrExt;

    let folder = Folder::new();
    let name = std::ffi::OsStr::from_bytes(b"a\xffb.zarr");
    for more in ["", "--json"] {
        let run = folder.command(&format!("info {more}")).arg(name).output().unwrap();
        let said = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(2));
        let n = if more.is_empty() { 2 } else { 3 };
        let due = format!("argument {n}, \"a\\xFFb.zarr\" is not UTF-8; create a symbolic link");
        let due =
            if more.is_empty() { due } else { due.replace('\\', "\\\\").replace('"', "\\\"") };
        assert!(said.contains(&due), "{said}");
    }
}

/// A full disk takes no help either.
#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_an_error() {
    let folder = Folder::new();
    for line in ["--help", "get --help", "--version"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run = folder.command(line).stdout(full).output().unwrap();
        assert_eq!(run.status.code(), Some(5), "{line}");
        assert!(String::from_utf8_lossy(&run.stderr).contains("cannot write"), "{line}");
    }
}
