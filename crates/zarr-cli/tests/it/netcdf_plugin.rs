//! The lines of `.ncrc` that load the plug-in: printed, written, checked, taken away.

use std::fs;
use std::process::Stdio;

use zarr::Json;

use crate::common::{Folder, Run};

/// A folder with a library, a resource file of somebody else's lines, and no `ncdump` on its path.
fn prepared() -> Folder {
    let folder = Folder::new();
    folder.write("lib/libzarr_netcdf.so", "a library");
    folder.write("ncrc", OTHERS);
    folder
}

const OTHERS: &str =
    "# mine\nHTTP.TIMEOUT=10\nNETCDF.UDF2.LIBRARY=/opt/other.so\nNETCDF.UDF2.MAGIC=GRIB\n";

fn run(folder: &Folder, line: &str) -> Run {
    let mut command = folder.command(&format!("netcdf-plugin {line}"));
    command.env("NCRCENV_RC", folder.path("ncrc")).env("PATH", "").stdin(Stdio::null());
    let output = command.output().unwrap();
    let code = output.status.code().unwrap();
    Run { code, out: output.stdout, err: String::from_utf8(output.stderr).unwrap() }
}

#[test]
fn the_lines_are_printed_written_and_taken_away() {
    let folder = prepared();
    let library = folder.path("lib/libzarr_netcdf.so");
    let option = format!("--library {}", library.display());
    let printed = run(&folder, &option);
    let lines: Vec<&str> = printed.text().lines().collect();
    assert_eq!(lines.len(), 6, "{}", printed.err);
    assert_eq!(lines[0], format!("NETCDF.UDF0.LIBRARY={}", library.display()));
    assert_eq!(lines[1..3], ["NETCDF.UDF0.INIT=zarr_netcdf_udf0", "NETCDF.UDF0.MAGIC={"]);
    assert_eq!(lines[4..], ["NETCDF.UDF1.INIT=zarr_netcdf_udf1", "NETCDF.UDF1.MAGIC=PK"]);
    assert_eq!(fs::read_to_string(folder.path("ncrc")).unwrap(), OTHERS, "nothing is written");
    for _ in 0..2 {
        assert_eq!(run(&folder, &format!("--install {option}")).code, 0);
        let text = fs::read_to_string(folder.path("ncrc")).unwrap();
        assert!(text.ends_with(OTHERS) && text.contains(lines[5]), "{text}");
        assert_eq!(text.matches("UDF0.LIBRARY").count(), 1);
    }
    let check = run(&folder, "--check");
    assert_eq!((check.code, &*check.err), (0, ""));
    assert_eq!(run(&folder, "--remove").code, 0);
    assert_eq!(fs::read_to_string(folder.path("ncrc")).unwrap(), OTHERS);
    let check = run(&folder, "--check");
    assert_eq!(check.code, 1);
    assert!(check.err.contains("--install"), "{}", check.err);
}

#[test]
fn the_check_says_what_to_type() {
    let folder = prepared();
    let option = format!("--library {}", folder.path("lib/libzarr_netcdf.so").display());
    run(&folder, &format!("--install {option}"));
    folder.good("create data.zarr/t --shape 2 --dtype int8");
    folder.good("create data.zip/t --shape 2 --dtype int8");
    folder.good("copy data.zarr old.zarr --to v2");
    for (target, typed) in [
        ("data.zarr", "data.zarr/zarr.json"),
        ("data.zarr/", "data.zarr/zarr.json"),
        ("old.zarr", "old.zarr/.zgroup"),
        ("data.zip", "data.zip"),
    ] {
        let run = run(&folder, &format!("--check {target} --json"));
        let json = run.json();
        let found = json.as_object().unwrap().get("type").and_then(Json::as_str);
        assert_eq!((run.code, found), (0, Some(typed)), "{target}: {}", run.err);
    }
    assert_eq!(run(&folder, "--check nothing.zarr").code, 3);
    // The library is gone.
    fs::remove_file(folder.path("lib/libzarr_netcdf.so")).unwrap();
    assert_eq!(run(&folder, "--check").code, 1);
}

#[test]
fn what_cannot_work_is_refused() {
    let folder = prepared();
    folder.write("a folder/libzarr_netcdf.so", "a library");
    let blank = folder.path("a folder/libzarr_netcdf.so");
    let refused = run(&folder, &format!("--install --library '{}'", blank.display()));
    assert!(refused.code == 2 && refused.err.contains("spaces"), "{}", refused.err);
    let library = folder.path("lib/libzarr_netcdf.so");
    for slots in ["2,1", "1,1", "1,10", "1"] {
        let refused = run(&folder, &format!("--slots {slots} --library {}", library.display()));
        assert_eq!(refused.code, 2, "{slots}: {}", refused.err);
    }
    assert_eq!(run(&folder, "--install --library nothing.so").code, 2);
    assert_eq!(fs::read_to_string(folder.path("ncrc")).unwrap(), OTHERS);
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_is_run_with_the_plugin() {
    let folder = prepared();
    folder.write("odd:name/libzarr_netcdf.so", "a library");
    let library = folder.path("lib/libzarr_netcdf.so");
    let library = library.display();
    // The options behind the program are its own.
    let script = "echo $LD_PRELOAD $ZARR_NETCDF_REGISTER $1; exit 7";
    let line = format!("--library {library} --exec /bin/sh -c '{script}' --help --install");
    let ran = run(&folder, &line);
    assert_eq!((ran.code, ran.text()), (7, format!("{library} 1 --install\n").as_str()));
    let absent = run(&folder, &format!("--library {library} --exec no-such-program"));
    assert!(absent.code == 2 && absent.err.contains("no-such-program"), "{}", absent.err);
    let colon = folder.path("odd:name/libzarr_netcdf.so");
    let refused = run(&folder, &format!("--library {} --exec /bin/true", colon.display()));
    assert!(refused.code == 2 && refused.err.contains("colon"), "{}", refused.err);
    assert_eq!(fs::read_to_string(folder.path("ncrc")).unwrap(), OTHERS);
}
