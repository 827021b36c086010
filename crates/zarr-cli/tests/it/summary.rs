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

/// What the program prints on a terminal: `script` of util-linux, an essential package of Debian, is one.
#[cfg(target_os = "linux")]
fn typed(folder: &Folder, line: &str) -> String {
    let line = format!("{} {line}", env!("CARGO_BIN_EXE_zarr"));
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(folder.path(""));
    let run = script.output().unwrap();
    assert!(run.status.success(), "{line}: {}", String::from_utf8_lossy(&run.stdout));
    String::from_utf8(run.stdout).unwrap().replace("\r\n", "\n")
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_a_large_array_is_summarised_unless_a_format_is_given() {
    let folder = Folder::new();
    table(&folder);
    assert_eq!(typed(&folder, "get t.zarr"), SUMMARY);
    for line in ["get t.zarr --format json", "get t.zarr --json"] {
        assert_eq!(typed(&folder, line).matches("[0,1,2,3,4,5,6,7,8,9]").count(), 200);
    }
}

/// 17 digits where NumPy prints 8 hide the number.
#[cfg(target_os = "linux")]
#[test]
fn numbers_have_8_digits_on_a_terminal_and_all_in_pipes_and_json() {
    let folder = Folder::new();
    let attributes = "--attr 'scale=0.30000000000000004' --attr 'range=[273.14999999999998,1e300]'";
    folder.good(&format!("create f.zarr --shape 3 --dtype float64 {attributes}"));
    let all = "[0.30000000000000004,273.14999999999998,1234567890123.0]";
    folder.feed("put f.zarr", all.as_bytes());
    let all = "[0.30000000000000004,273.15,1234567890123.0]\n";
    assert_eq!(typed(&folder, "get f.zarr"), "[0.3,273.15,1234567890123.0]\n");
    for format in ["", "--format json", "--json"] {
        assert_eq!(folder.good(&format!("get f.zarr {format}")).text(), all);
    }
    assert_eq!(typed(&folder, "get f.zarr --format json"), all);
    assert_eq!(typed(&folder, "attrs f.zarr"), "scale: 0.3\nrange: [273.15,1e300]\n");
    assert!(typed(&folder, "info f.zarr").contains("scale: 0.3\n"));
    for line in ["attrs f.zarr", "info f.zarr", "attrs f.zarr --json"] {
        assert!(folder.good(line).text().contains("0.30000000000000004"), "{line}");
    }
}

/// Packed numbers have the decimals of their scale.
#[cfg(all(target_os = "linux", feature = "plot"))]
#[test]
fn unpacked_numbers_have_the_digits_of_their_scale_on_a_terminal() {
    let folder = Folder::new();
    let packed = "--attr scale_factor=0.01 --attr add_offset=273.15";
    folder.good(&format!("create p.zarr --shape 2000 --dtype int16 {packed}"));
    let list: Vec<String> = (0..2000).map(|n| (n * 7).to_string()).collect();
    folder.feed("put p.zarr", format!("[{}]", list.join(",")).as_bytes());
    let shown = "[273.15, 273.22, 273.29, ..., 412.94, 413.01, 413.08]\n";
    assert_eq!(typed(&folder, "get p.zarr --cf"), shown);
    let piped = folder.good("get p.zarr --cf --region 1:4").text().to_owned();
    assert_eq!(piped, "[273.21999999999997,273.28999999999996,273.35999999999996]\n");
    let stats = typed(&folder, "stats p.zarr");
    assert!(
        stats.contains("min            273.15  at 0\nmax            413.08  at 1999\n"),
        "{stats}"
    );
    assert!(stats.contains("mean           343.115\n"), "{stats}");
    assert!(folder.good("stats p.zarr --json").text().contains("\"max\": 413.08"));
}
