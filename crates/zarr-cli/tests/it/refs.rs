//! `zarr refs` writes references to files, which are then read as one hierarchy.

use std::fs;

use crate::common::Folder;

/// A folder with the months of a dataset, which netCDF4-python wrote.
fn months() -> Folder {
    let folder = Folder::new();
    for (name, number) in [("jan.nc", 1), ("feb.nc", 2), ("mar.nc", 3)] {
        let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../zarr-virtual/tests/data/joined");
        folder.write(name, fs::read(format!("{data}/nc4-{number}.nc")).unwrap());
    }
    folder
}

#[test]
fn months_are_read_as_one_hierarchy() {
    let folder = months();
    let summary = folder.good("refs jan.nc feb.nc mar.nc -o all.json --inline 0 --json").json();
    assert_eq!((&summary["axis"], &summary["arrays"]), (&"time".into(), &10u64.into()));
    assert!(summary["references"].as_u64().unwrap() > 10);
    assert_eq!(summary["allow_target"].to_string(), "[]");
    assert!(summary["compared_chunks"].as_u64().unwrap() > 10);
    assert_eq!(
        folder.good("get all.json/time").text().trim(),
        "[0.0,1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0]"
    );
    // What is joined by a copy, which decodes and encodes, is the same.
    folder.good("copy jan.nc all.zarr");
    for month in ["feb.nc", "mar.nc"] {
        folder.good(&format!("append all.zarr {month} --axis time"));
    }
    for array in ["time", "temp", "time_bnds", "note", "ocean/salt", "station_name"] {
        folder.good(&format!("diff all.zarr/{array} all.json/{array}"));
    }
}

#[test]
fn references_to_one_file_are_the_file() {
    let folder = months();
    folder.good("refs jan.nc -o jan.json");
    folder.good("diff jan.nc jan.json");
    let text = folder.good("refs jan.nc -o -").text().to_owned();
    assert_eq!(text, fs::read_to_string(folder.path("jan.json")).unwrap());
    assert!(text.starts_with("{\"version\":1,\"refs\":{\n\"zarr.json\":"), "{text}");
    assert!(!text.contains("jan.nc\",") || text.contains("/jan.nc\","));
}

#[test]
fn relative_references_and_those_into_other_folders() {
    let folder = months();
    fs::create_dir(folder.path("refs")).unwrap();
    let relative = "refs jan.nc feb.nc -o refs/all.json --relative --inline 0";
    let summary = folder.good(&format!("{relative} --json")).json();
    assert!(fs::read_to_string(folder.path("refs/all.json")).unwrap().contains("[\"../jan.nc\","));
    // The targets are not below the folder of the reference file.
    let why = folder.bad("get refs/all.json/temp", 2);
    assert!(why.contains("--allow-target"), "{why}");
    let prefix = summary["allow_target"][0].as_str().unwrap().to_owned();
    folder.good(&format!("get refs/all.json/temp --allow-target {prefix}"));
    let why = folder.bad("refs jan.nc -o - --relative", 2);
    assert!(why.contains("-o FILE"), "{why}");
}

#[test]
fn what_cannot_be_joined_leaves_no_file() {
    let folder = months();
    let why = folder.bad("refs jan.nc feb.nc -o all.json --axis lat", 2);
    assert!(why.contains("jan.nc and feb.nc"), "{why}");
    fs::copy(folder.path("jan.nc"), folder.path("same.nc")).unwrap();
    let why = folder.bad("refs jan.nc same.nc -o all.json", 2);
    assert!(why.contains("--axis"), "{why}");
    folder.bad("refs jan.nc nothing.nc -o all.json", 3);
    assert!(!folder.path("all.json").exists());
    folder.good("refs jan.nc feb.nc -o all.json --exclude note --exclude ocean");
    folder.bad("get all.json/note", 3);
}

/// A file that is there is replaced only if the user says so, and a source never, however it is named.
#[test]
fn nothing_is_overwritten_unasked() {
    let folder = months();
    let january = fs::read(folder.path("jan.nc")).unwrap();
    let named = format!("hdf5::file://{}", folder.path("jan.nc").display());
    for source in ["jan.nc", "./jan.nc", &named] {
        for option in ["", " --overwrite"] {
            let why = folder.bad(&format!("refs {source} -o jan.nc{option}"), 2);
            assert!(why.contains("jan.nc is the input"), "{why}");
        }
    }
    folder.bad("get jan.nc/time -o jan.nc --format raw", 2);
    let why = folder.bad("refs jan.nc -o feb.nc", 2);
    assert!(why.contains("feb.nc exists; add --overwrite"), "{why}");
    assert!(fs::read(folder.path("jan.nc")).unwrap() == january);

    folder.good("copy jan.nc jan.zarr");
    let document = folder.path("jan.zarr/zarr.json");
    let before = fs::read(&document).unwrap();
    folder.bad("refs jan.zarr -o jan.zarr/zarr.json --overwrite", 2);
    folder.bad("get jan.zarr/time -o jan.zarr/zarr.json", 2);
    assert!(fs::read(&document).unwrap() == before);

    folder.good("refs jan.nc -o all.json");
    folder.bad("refs feb.nc -o all.json", 2);
    folder.good("refs feb.nc -o all.json --overwrite");
    folder.good("diff feb.nc all.json");
}

/// Whoever requests them would get an error, and the reason is known now.
#[test]
fn a_server_names_references_that_may_not_be_followed_when_it_starts() {
    let folder = months();
    fs::create_dir(folder.path("refs")).unwrap();
    folder.good("refs jan.nc -o refs/jan.json --relative --no-verify");
    let why = folder.bad("serve refs/jan.json --strict", 2);
    assert!(why.contains("../jan.nc") && why.contains("--allow-target file:///"), "{why}");
}

/// Nothing disappears without a word.
#[test]
fn arrays_that_cannot_be_read_in_place_are_named() {
    let folder = Folder::new();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../zarr-hdf5/tests/data/v110.h5");
    folder.write("v110.h5", fs::read(data).unwrap());
    let run = folder.run("refs v110.h5 -o refs.json --quiet");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("not kept: /") && run.err.contains("is not supported"), "{}", run.err);
    fs::remove_file(folder.path("refs.json")).unwrap();
    let why = folder.bad("refs v110.h5 -o refs.json --strict", 4);
    assert!(why.contains("the reference file cannot represent"), "{why}");
    assert!(!folder.path("refs.json").exists());
    let (_, named) = run.err.split_once("not kept: ").unwrap();
    let (path, _) = named.split_once(':').unwrap();
    let run = folder.run(&format!("refs v110.h5 -o refs.json --exclude {path}"));
    assert!(run.code == 0 && !run.err.contains(&format!("{path}:")), "{}", run.err);
}

/// To erase what references lead to would erase what is copied.
#[test]
fn a_copy_never_erases_what_its_references_lead_to() {
    let folder = Folder::new();
    folder.good("create a.zarr/y --shape 400 --chunks 200 --dtype int32 --codec none");
    let numbers: Vec<String> = (0..400).map(|number| number.to_string()).collect();
    folder.feed("put a.zarr/y", format!("[{}]", numbers.join(",")).as_bytes());
    let before = folder.good("get a.zarr/y").out;
    folder.good("refs a.zarr -o a.json");
    for place in ["a.zarr", "a.zarr/y"] {
        let node = if place == "a.zarr" { "a.json" } else { "a.json/y" };
        let why = folder.bad(&format!("copy {node} {place} --overwrite"), 2);
        assert!(why.contains("contains its source"), "{why}");
    }
    // That they may not be read is found out when it is too late.
    fs::create_dir(folder.path("refs")).unwrap();
    folder.good("refs a.zarr -o refs/a.json");
    let why = folder.bad("copy refs/a.json a.zarr --overwrite", 2);
    assert!(why.contains("contains its source"), "{why}");
    let why = folder.bad("sync a.json a.zarr --delete", 2);
    assert!(why.contains("SOURCE and TARGET are the same"), "{why}");
    assert!(folder.good("get a.zarr/y").out == before);
    // Elsewhere there is nothing to lose.
    folder.good("copy a.json b.zarr");
    folder.good("copy a.json b.zarr --overwrite");
    folder.good("diff a.zarr b.zarr");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a.zarr", folder.path("link.zarr")).unwrap();
        let why = folder.bad("copy a.json link.zarr --overwrite", 2);
        assert!(why.contains("contains its source"), "{why}");
    }
}

/// Readers would take the file for the document or the chunk that has its name.
#[test]
fn a_new_file_never_takes_the_name_of_a_document_of_its_source() {
    let folder = Folder::new();
    folder.table("a.zarr", "v2");
    let before = folder.good("get a.zarr/a").out;
    for name in ["a.zarr/a/zarr.json", "a.zarr/a/9.9", "a.zarr/zarr.json"] {
        for line in ["refs a.zarr -o", "get a.zarr/a --format raw -o"] {
            let why = folder.bad(&format!("{line} {name}"), 2);
            assert!(why.contains("part of the hierarchy"), "{line} {name}: {why}");
        }
        assert!(!folder.path(name).exists());
    }
    // A hierarchy may be called anything.
    fs::rename(folder.path("a.zarr"), folder.path("plain")).unwrap();
    folder.bad("get plain/a --format raw -o plain/zarr.json", 2);
    fs::rename(folder.path("plain"), folder.path("a.zarr")).unwrap();
    folder.good("refs a.zarr -o a.zarr/refs.json");
    assert!(folder.good("get a.zarr/a").out == before);
}

/// Each month counts from its own first day, in its own type; the bounds of its times have no units of their own (CF 7.1).
#[test]
fn times_of_other_dates_are_converted() {
    let folder = Folder::new();
    for (name, units, times, bounds) in [
        ("jan", "days since 2001-01-01", "0, 1", "0, 1, 1, 2"),
        ("feb", "hours since 2001-02-01", "0, 36", "0, 24, 24, 48"),
    ] {
        let dataset = format!(
            "netcdf {name} {{ dimensions: time = 2 ; bnds = 2 ; variables: double time(time) ; time:units = \"{units}\" ; \
             time:bounds = \"time_bnds\" ; double time_bnds(time, bnds) ; float t(time) ; \
             data: time = {times} ; time_bnds = {bounds} ; t = 1, 2 ; }}"
        );
        folder.write(&format!("{name}.cdl"), dataset);
        folder.good(&format!("gen {name}.cdl -o {name}.zarr --format zarr-v3"));
    }
    let why = folder.bad("refs jan.zarr feb.zarr -o all.json", 2);
    assert!(why.contains("--decode-times"), "{why}");
    folder.good("refs jan.zarr feb.zarr -o all.json --decode-times");
    assert_eq!(folder.good("get all.json/time").text().trim(), "[0.0,1.0,31.0,32.5]");
    assert_eq!(
        folder.good("get all.json/time_bnds").text().trim(),
        "[[0.0,1.0],[1.0,2.0],[31.0,32.0],[32.0,33.0]]"
    );
    folder.good("copy jan.zarr all.zarr");
    folder.good("append all.zarr feb.zarr --axis time");
    folder.good("diff all.zarr all.json");
}

/// A month in one chunk, with a coordinate whose numbers begin at `first`.
fn month(folder: &Folder, name: &str, days: u32, first: u32) {
    folder.good(&format!(
        "create {name}/t --shape {days},200000 --chunks {days},200000 --dims time,x --dtype float64 --codec zstd:3 --fill 7"
    ));
    folder.good(&format!("create {name}/time --shape {days} --dims time --dtype int32"));
    let days: Vec<String> = (first..first + days).map(|day| day.to_string()).collect();
    folder.feed(&format!("put {name}/time"), format!("[{}]", days.join(",")).as_bytes());
    folder.good(&format!("create {name}/x --shape 4 --dims x2 --dtype int32"));
}

#[test]
fn months_of_one_chunk_each_are_joined_and_what_follows_from_that_is_told() {
    let folder = Folder::new();
    month(&folder, "jan.zarr", 3, 0);
    month(&folder, "feb.zarr", 2, 3);
    let refs = folder.run("refs jan.zarr feb.zarr -o all.json --axis time");
    assert!(refs.code == 0 && refs.err.contains("rectilinear"), "{}", refs.err);
    assert_eq!(folder.good("get all.json/time").text().trim(), "[0,1,2,3,4]");
    // The wrong order, and a file twice.
    let back = folder.run("refs feb.zarr jan.zarr -o back.json --axis time");
    assert!(back.err.contains("/time: it goes back where jan.zarr begins"), "{}", back.err);
    let twice = folder.bad("refs jan.zarr ./jan.zarr -o twice.json --axis time", 2);
    assert!(twice.contains("named twice"), "{twice}");
    // What a copy of it has, and how it becomes usual.
    let copy = folder.run("copy all.json all.zarr");
    assert!(
        copy.code == 0 && copy.err.contains("`--chunks` gives them one length"),
        "{}",
        copy.err
    );
    let why = folder.bad("copy all.json v2.zarr --to v2", 4);
    assert!(why.contains("as in `--chunks time=30`"), "{why}");
    let copy = folder.run("copy all.json v2.zarr --to v2 --chunks time=3");
    assert_eq!(copy.code, 0, "{}", copy.err);
    assert!(folder.good("info v2.zarr/t").text().contains("3 × 200,000"));
    // Nothing grows if one of the arrays cannot.
    month(&folder, "mar.zarr", 1, 5);
    let before = folder.good("checksum all.zarr").text().to_owned();
    let why = folder.bad("append all.zarr mar.zarr --axis time", 2);
    assert!(why.contains("zarr copy TARGET NEW.zarr --chunks t=3,200000"), "{why}");
    assert_eq!(folder.good("checksum all.zarr").text(), before);
    folder.good("validate all.zarr");
}

#[test]
fn bounds_of_times_that_are_left_out_are_left_out_and_other_grids_are_refused() {
    let folder = Folder::new();
    for (name, units, lat) in [
        ("jan", "days since 2001-01-01", "10, 20"),
        ("feb", "days since 2001-02-01", "10, 20"),
        ("mar", "days since 2001-01-01", "20, 10"),
    ] {
        let dataset = format!(
            "netcdf {name} {{ dimensions: time = 2 ; bnds = 2 ; lat = 2 ; variables: double time(time) ; time:units = \"{units}\" ; \
             time:bounds = \"time_bnds\" ; double time_bnds(time, bnds) ; double lat(lat) ; float t(time, lat) ; \
             data: time = 0, 1 ; time_bnds = 0, 1, 1, 2 ; lat = {lat} ; t = 1, 2, 3, 4 ; }}"
        );
        folder.write(&format!("{name}.cdl"), dataset);
        folder.good(&format!("gen {name}.cdl -o {name}.zarr --format zarr-v3"));
    }
    let refs = folder.run("refs jan.zarr feb.zarr -o all.json --axis time --exclude /time");
    assert_eq!(refs.code, 0, "{}", refs.err);
    assert!(refs.err.contains("/time_bnds: the bounds of /time"), "{}", refs.err);
    folder.bad("get all.json/time_bnds", 3);
    folder.good("get all.json/t");
    let why = folder.bad("refs jan.zarr mar.zarr -o grids.json --axis time", 2);
    assert!(why.contains("the files are on other grids") && !why.contains("no-verify"), "{why}");
}
