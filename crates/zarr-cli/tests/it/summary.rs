//! Large arrays are summarised on a terminal, as NumPy does, and whole in a pipe (issue 13, point 26).

use std::process::Command;

use crate::common::Folder;

const SUMMARY: &str = "\
[[0, 1, 2, ..., 7, 8, 9],
 [0, 1, 2, ..., 7, 8, 9],
 [0, 1, 2, ..., 7, 8, 9],
 ...,
 [0, 1, 2, ..., 7, 8, 9],
 [0, 1, 2, ..., 7, 8, 9],
 [0, 1, 2, ..., 7, 8, 9]]
";

fn table(folder: &Folder) {
    folder.good("create t.zarr --shape 200,10 --chunks 10,10 --dtype uint8");
    let row = (0..10u8).collect::<Vec<_>>();
    let put = folder.feed("put t.zarr --format raw", &row.repeat(200));
    assert_eq!((put.code, &*put.err), (0, ""));
}

#[test]
fn a_summary_has_the_first_and_the_last_along_each_axis_and_reads_no_others() {
    let folder = Folder::new();
    table(&folder);
    assert_eq!(folder.good("get t.zarr --format summary").text(), SUMMARY);
    // Damage in the middle is not seen, and small regions are whole.
    std::fs::write(folder.path("t.zarr/c/9/0"), b"short").unwrap();
    assert_eq!(folder.good("get t.zarr --format summary").text(), SUMMARY);
    assert_eq!(
        folder.good("get t.zarr --region 0:2,:3 --format summary").text(),
        "[[0,1,2],[0,1,2]]\n"
    );
    folder.bad("get t.zarr", 5);
}

#[test]
fn in_a_pipe_nothing_is_left_out() {
    let folder = Folder::new();
    table(&folder);
    for line in ["get t.zarr", "get t.zarr --json", "get t.zarr --format json"] {
        let text = folder.good(line).text().to_owned();
        assert_eq!(text.matches("[0,1,2,3,4,5,6,7,8,9]").count(), 200, "{line}");
    }
}

/// `script` of util-linux, an essential package of Debian, is a terminal.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_a_large_array_is_summarised_unless_a_format_is_given() {
    let folder = Folder::new();
    table(&folder);
    let typed = |options: &str| {
        let program = env!("CARGO_BIN_EXE_zarr");
        let line = format!("{program} get {} {options}", folder.path("t.zarr").display());
        let run = Command::new("script").args(["-qec", &line, "/dev/null"]).output().unwrap();
        String::from_utf8(run.stdout).unwrap().replace("\r\n", "\n")
    };
    assert_eq!(typed(""), SUMMARY);
    assert_eq!(typed("--format json").matches("[0,1,2,3,4,5,6,7,8,9]").count(), 200);
    assert_eq!(typed("--json").matches("[0,1,2,3,4,5,6,7,8,9]").count(), 200);
}
