//! Completions work in the shells that are here, and manual pages in `man`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::Folder;

/// A program with this folder's `zarr` first in its path; `None`, and CI names it, where the program is not installed.
fn other(program: &str, folder: &Folder, args: &[&str]) -> Option<Output> {
    let bin = Path::new(env!("CARGO_BIN_EXE_zarr")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(program);
    command.args(args).current_dir(folder.path("")).env("PATH", path).env("LC_ALL", "C.UTF-8");
    match command.output() {
        Ok(output) => Some(output),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            zarr_testkit::skipped("shells", &format!("{program} is not installed"));
            None
        }
        Err(e) => panic!("{program}: {e}"),
    }
}

/// What the program printed, which said nothing on standard error.
fn printed(output: &Output) -> &str {
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && err.is_empty(), "{:?}: {err}", output.status);
    std::str::from_utf8(&output.stdout).unwrap()
}

/// A hierarchy with the nodes `a`, `ocean/temperature` and `ocean/two words`, and the scripts of all shells.
fn prepared() -> Folder {
    let folder = Folder::new();
    folder.table("my.zarr", "v3");
    folder.table("data", "v2");
    folder.good("create data --path ocean --group");
    for name in ["temperature", "two words"] {
        folder.good(&format!("create data --path 'ocean/{name}' --shape 4 --dtype int8"));
    }
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = folder.good(&format!("completions {shell}"));
        folder.write(&format!("zarr.{shell}"), script.out);
    }
    folder
}

/// What bash completes at the end of a line.
const BASH: &str = r#"
source zarr.bash
complete -p zarr >/dev/null || exit 1
function=$(complete -p zarr | sed 's/.*-F \([^ ]*\).*/\1/')
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
"$function" zarr "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

#[test]
fn bash_completes_verbs_options_and_nodes() {
    let folder = prepared();
    let Some(checked) = other("bash", &folder, &["-n", "zarr.bash"]) else { return };
    assert_eq!(printed(&checked), "");
    let complete = |words: &[&str]| {
        let output = other("bash", &folder, &[&["-c", BASH, "bash"], words].concat()).unwrap();
        printed(&output).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(complete(&["zarr", "valid"]), ["validate"]);
    assert_eq!(complete(&["zarr", "get", "data", "--regi"]), ["--region"]);
    assert_eq!(complete(&["zarr", "get", "--format", "np"]), ["npy"]);
    assert!(!complete(&["zarr", ""]).iter().any(|verb| verb == "__nodes" || verb == "man"));
    assert_eq!(complete(&["zarr", "get", "data", "--path", ""]), ["a", "ocean/"]);
    assert_eq!(complete(&["zarr", "get", "data", "--path", "oc"]), ["ocean/"]);
    let below = complete(&["zarr", "get", "--format", "npy", "data", "--path", "/ocean/t"]);
    assert_eq!(below, ["/ocean/temperature", "/ocean/two\\ words"]);
    assert_eq!(complete(&["zarr", "info", "my.zarr", "--path", "=", "a"]), ["a"]);
    assert_eq!(complete(&["zarr", "info", "absent.zarr", "--path", "a"]), [""]);
}

#[test]
fn zsh_takes_the_script() {
    let folder = prepared();
    let Some(checked) = other("zsh", &folder, &["-n", "zarr.zsh"]) else { return };
    assert_eq!(printed(&checked), "");
    let script = fs::read_to_string(folder.path("zarr.zsh")).unwrap();
    assert!(script.starts_with("#compdef zarr\n"));
    assert!(script.contains(":PATH:_zarr_nodes"));
    // As a completion begins, with `compadd` in the place of zsh's own.
    let call = r#"
        source zarr.zsh 2>/dev/null
        compadd() { shift 3; print -l -- "$@" }
        words=(get data --path oc) CURRENT=4 PREFIX=oc
        _zarr_nodes"#;
    let output = other("zsh", &folder, &["-fc", &format!("compdef() {{ }}\n{call}")]).unwrap();
    assert_eq!(printed(&output), "ocean/\n");
}

#[test]
fn fish_completes_nodes() {
    let folder = prepared();
    let Some(checked) = other("fish", &folder, &["--no-execute", "zarr.fish"]) else { return };
    assert_eq!(printed(&checked), "");
    let complete = |line: &str| {
        let script = format!("source zarr.fish; complete -C '{line}'");
        let output = other("fish", &folder, &["--no-config", "-c", &script]).unwrap();
        printed(&output).to_owned()
    };
    assert!(complete("zarr valid").starts_with("validate\t"));
    assert_eq!(complete("zarr get data --path oc"), "ocean/\n");
    assert_eq!(complete("zarr get data --path ocean/te"), "ocean/temperature\n");
}

/// PowerShell is on no machine that runs this: what its script asks for is tried, not the script.
#[test]
fn powershell_asks_for_nodes_before_all_else() {
    let folder = prepared();
    let script = fs::read_to_string(folder.path("zarr.powershell")).unwrap();
    let (block, rest) =
        script.split_once("param($wordToComplete, $commandAst, $cursorPosition)\n").unwrap();
    assert!(block.starts_with("\nusing namespace System.Management.Automation\n"), "{block}");
    let nodes = rest.find("__nodes \"--begin=$begin\" '--' @before").expect("it asks for nodes");
    assert!(rest.find("$completions = ").unwrap() > nodes);
    assert_eq!(script.matches("__nodes").count(), 1);
    for (open, close) in [('{', '}'), ('(', ')'), ('[', ']')] {
        let head = &rest[..rest.find("$commandElements = ").unwrap()];
        assert_eq!(head.matches(open).count(), head.matches(close).count(), "{open}");
    }
    let asked = folder.good("__nodes --begin=oc -- get data --path");
    assert_eq!(asked.text(), "ocean/\n");
    assert_eq!(folder.good("__nodes --begin= -- get data --path").text(), "a\nocean/\n");
}

#[test]
fn manual_pages_are_clean() {
    let folder = Folder::new();
    folder.good("man pages");
    let mut pages: Vec<_> =
        fs::read_dir(folder.path("pages")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    let names: Vec<_> =
        pages.iter().map(|page| page.file_name().unwrap().to_str().unwrap()).collect();
    assert!(names.contains(&"zarr.1") && names.contains(&"zarr-get.1"), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("__nodes")));
    for page in &pages {
        let path = page.to_str().unwrap();
        let args = ["--warnings", "-E", "UTF-8", "-l", "-P", "cat", path];
        let Some(shown) = other("man", &folder, &args) else { return };
        let text = printed(&shown);
        if path.ends_with("zarr-get.1") {
            assert!(
                text.contains("zarr get data.zarr --path temperature --region 0:4,2:7\n"),
                "{text}"
            );
        }
    }
}
