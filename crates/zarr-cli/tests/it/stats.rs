//! Statistics along axes are files, some chunks are an estimate, and chunks that differ are found.
#![cfg(feature = "plot")]

use crate::common::Folder;
use zarr::Json;

fn put(folder: &Folder, path: &str, json: &str) {
    let put = folder.feed(&format!("put d.zarr --path {path} --format json"), json.as_bytes());
    assert_eq!((put.code, &*put.err), (0, ""));
}

fn member(json: &Json, name: &str) -> String {
    json.as_object().unwrap().get(name).map_or("absent".into(), ToString::to_string)
}

#[test]
fn statistics_along_axes_are_written_as_csv_npy_and_json() {
    let folder = Folder::new();
    folder.good("create d.zarr --path t --shape 2,3 --dtype int16 --dims time,lat");
    folder.good("create d.zarr --path time --shape 2 --dtype int32 --dims time");
    put(&folder, "t", "[[1,2,3],[-9,-9,-9]]");
    put(&folder, "time", "[0,59]");
    folder.good("attrs d.zarr --path t --set _FillValue=-9");
    let mut units = folder.command("attrs d.zarr --path time --set");
    assert!(units.arg("units=\"days since 2000-01-01\"").output().unwrap().status.success());
    let of = |options: &str| folder.good(&format!("stats d.zarr --path t --axis {options}"));
    assert_eq!(
        of("time --format csv").text(),
        "time,count,missing,nan,min,max,mean,std\n\
         2000-01-01,3,0,0,1,3,2,0.816496580927726\n2000-02-29,0,3,0,,,,\n"
    );
    assert_eq!(of("time --format json").text(), of("time --json").text());
    let npy = of("0 --format npy").out.clone();
    let header = std::str::from_utf8(&npy[10..npy.len() - 2 * 56]).unwrap();
    assert!(header.contains("('count', '<u8')") && header.contains("'shape': (2,)"), "{header}");
    let cells = &npy[npy.len() - 2 * 56..];
    let count = |at: usize| u64::from_le_bytes(cells[at..at + 8].try_into().unwrap());
    let number = |at: usize| f64::from_le_bytes(cells[at..at + 8].try_into().unwrap());
    assert_eq!((count(0), count(64), number(24), number(40)), (3, 3, 1.0, 2.0));
    assert!(number(56 + 24).is_nan() && number(56 + 40).is_nan());
    folder.bad("stats d.zarr --path t --format csv", 2);
    // An axis of length 0 has no lines.
    folder.good("create d.zarr --path none --shape 0,3 --chunks 1,3 --dtype float32");
    let none = folder.good("stats d.zarr --path none --axis 0 --format csv").text().to_owned();
    assert_eq!(none, "axis 0,count,missing,nan,min,max,mean,std\n");
    let text = folder.bad("stats d.zarr --path none --axis 2 --format csv", 2);
    assert!(text.contains("there is no axis"), "{text}");
}

#[test]
fn a_share_of_the_chunks_is_an_estimate_that_says_so() {
    let folder = Folder::new();
    folder.good("create d.zarr --path a --shape 1000 --chunks 10 --dtype int32");
    let all: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
    put(&folder, "a", &format!("[{}]", all.join(",")));
    let json = folder.good("stats d.zarr --path a --quick=10 --json").json();
    assert_eq!(
        (member(&json, "estimated"), member(&json, "sampled")),
        ("true".into(), "100".into())
    );
    assert_eq!((member(&json, "count"), member(&json, "elements")), ("100".into(), "1000".into()));
    let mean: f64 = member(&json, "mean").parse().unwrap();
    // One chunk of each tenth of the array is read.
    assert!((mean - 499.5).abs() < 50.0, "{mean}");
    let text = folder.good("stats d.zarr --path a --quick=10 --percentile 50").text().to_owned();
    assert!(text.contains("estimated from 10 % of the elements"), "{text}");
    let whole = folder.good("stats d.zarr --path a --quick=100 --json").json();
    let exact = folder.good("stats d.zarr --path a --json").json();
    assert_eq!(member(&whole, "mean"), member(&exact, "mean"));
    assert_eq!(member(&exact, "estimated"), "absent");
    assert_eq!(
        member(&folder.good("stats d.zarr --path a --quick --json").json(), "sampled"),
        "50"
    );
    let group = folder.good("stats d.zarr --quick").text().to_owned();
    assert!(group.contains("estimated from about 5 %"), "{group}");
    for share in ["0", "101", "NaN", "-1", "x"] {
        folder.bad(&format!("stats d.zarr --path a --quick={share}"), 2);
    }
    folder.bad("stats d.zarr --path a --quick --axis 0", 2);
    // What has few chunks, one, or none, is read all the same.
    for (name, shape, chunks) in [("few", "5", "2"), ("none", "0", "1"), ("scalar", "", "")] {
        let mut create = folder.command("create d.zarr --dtype float64 --path");
        create.args([name, "--shape", shape]);
        let made = if chunks.is_empty() { &mut create } else { create.args(["--chunks", chunks]) };
        assert!(made.output().unwrap().status.success(), "{name}");
        let json = folder.good(&format!("stats d.zarr --path {name} --quick --json")).json();
        assert_eq!(member(&json, "estimated"), "true");
    }
    assert_eq!(
        member(&folder.good("stats d.zarr --path scalar --quick --json").json(), "count"),
        "1"
    );
}

#[test]
fn chunks_that_differ_from_the_others_are_found() {
    let folder = Folder::new();
    folder.good("create d.zarr --path a --shape 20,10 --chunks 1,5 --dtype float32");
    let row = |n: usize| {
        let each = |k: usize| match (n, k) {
            (7, 6) => "1e30".to_owned(),
            (3, 1) => "\"NaN\"".to_owned(),
            _ => format!("{}", (n * 13 + k * 7) % 11),
        };
        format!("[{}]", (0..10).map(each).collect::<Vec<_>>().join(","))
    };
    put(&folder, "a", &format!("[{}]", (0..20).map(row).collect::<Vec<_>>().join(",")));
    let json = folder.good("stats d.zarr --path a --by-chunk --json").json();
    assert_eq!(member(&json, "chunks"), "40");
    let outliers = json.as_object().unwrap().get("outliers").unwrap().as_array().unwrap();
    assert_eq!(member(&outliers[0], "chunk"), "[7,1]");
    assert!(outliers.iter().any(|one| {
        (member(one, "chunk"), member(one, "by"), member(one, "nan"))
            == ("[3,0]".into(), "\"nan\"".into(), "1".into())
    }));
    let text = folder.good("stats d.zarr --path a --by-chunk").text().to_owned();
    assert!(text.starts_with("2 of 40 stored chunks differ from the others\n"), "{text}");
    // Chunks that were never written are in none of it; nor is there one in an array without elements, or of NaN alone.
    folder.good("create d.zarr --path empty --shape 20 --chunks 5 --dtype float32");
    folder.good("create d.zarr --path none --shape 0 --chunks 1 --dtype float32");
    folder.good("create d.zarr --path nan --shape 4 --chunks 2 --dtype float32");
    put(&folder, "nan", "[\"NaN\",\"NaN\",\"NaN\",\"NaN\"]");
    for (name, start) in [
        ("empty", "no chunk is stored\n"),
        ("none", "no chunk is stored\n"),
        ("nan", "0 of 2 stored chunks differ"),
    ] {
        let text = folder.good(&format!("stats d.zarr --path {name} --by-chunk")).text().to_owned();
        assert!(text.starts_with(start), "{text}");
    }
    folder.good("create d.zarr --path text --shape 4 --dtype string");
    let text = folder.bad("stats d.zarr --path text --by-chunk", 2);
    assert!(text.contains("have no statistics along axes or by chunk"), "{text}");
    let text = folder.bad("stats d.zarr --path a --by-chunk --memory 1000", 2);
    assert!(text.contains("of memory"), "{text}");
    folder.bad("stats d.zarr --by-chunk", 2);
}

/// What a person reads: the target's name, one element, and numbers with no digits that a double does not have.
#[test]
fn statistics_name_what_they_are_of() {
    let folder = Folder::new();
    folder.good("create d.zarr --path one --shape '' --dtype float64 --fill 2.5");
    folder.good("create d.zarr --path large --shape 2 --dtype float64");
    put(&folder, "large", "[-1e30,2]");
    let text = folder.good("stats d.zarr/one").text().to_owned();
    assert!(text.starts_with("d.zarr/one: float64 of one element\n"), "{text}");
    assert!(text.contains("min            2.5\n"), "{text}");
    let text = folder.good("stats d.zarr --path large").text().to_owned();
    assert!(text.starts_with("/large: float64 of 2\n"), "{text}");
    assert!(text.contains("min            -1e30  at 0\n"), "{text}");
    let store = format!("store file://{}: /", folder.path("d.zarr").display());
    put(&folder, "large", "[\"Infinity\",2]");
    folder.good("create d.zarr --path complex --shape 2 --dtype complex64");
    for (line, why) in [
        ("--path one --axis 0", "one: there is no axis `0`; the array is one element"),
        ("--path large --histogram 3", "large: a histogram from 2 to inf has no bins"),
        ("--path complex --axis 0", "complex: elements of type complex64 have no statistics"),
    ] {
        let said = folder.bad(&format!("stats d.zarr {line}"), 2);
        assert!(said.starts_with(&format!("error: {store}{why}")), "{line}: {said}");
    }
}

/// As xarray's `sel`: what is chosen along an axis counts for the arrays that have it.
#[test]
fn of_a_group_coordinates_choose_from_the_arrays_that_have_the_axis() {
    let folder = Folder::new();
    folder.good("create d.zarr --path t --shape 3,2 --dtype int32 --dims time,lat");
    folder.good("create d.zarr --path time --shape 3 --dtype int32 --dims time");
    folder.good("create d.zarr --path area --shape 2 --dtype int32 --dims lat");
    put(&folder, "t", "[[1,2],[3,4],[5,6]]");
    put(&folder, "time", "[10,20,30]");
    put(&folder, "area", "[7,9]");
    for option in ["--sel time=20:30", "--by-name time=1:3"] {
        let run = folder.good(&format!("stats d.zarr {option} --json"));
        let json = Json::parse(run.text().as_bytes()).unwrap();
        let counts = |json: &Json| (member(json, "path"), member(json, "count"));
        let found: Vec<_> = json.as_array().unwrap().iter().map(counts).collect();
        let wanted = [("area", "2"), ("t", "4"), ("time", "2")];
        let wanted = wanted.map(|(path, count)| (format!("\"/{path}\""), count.to_owned()));
        assert_eq!(found, wanted, "{option}");
    }
    let run = folder.run("stats d.zarr --sel tine=20");
    assert!(run.code == 2 && run.err.contains("no array has an axis"), "{}", run.err);
}

/// Coordinates and names of axes are found however the array is named.
#[test]
fn axes_are_named_and_counted_from_either_end() {
    let folder = Folder::new();
    folder.good("create t.zarr/time --shape 2 --dtype int32 --dims time");
    let mut units = folder.command("attrs t.zarr/time --set");
    assert!(units.arg("units=days since 2020-01-01").status().unwrap().success());
    folder.good("put t.zarr/time --value 1");
    folder.good("create t.zarr/a --shape 2,3 --dtype int32 --dims time,x");
    folder.good("put t.zarr/a --value 4");
    let by_path = folder.good("stats t.zarr --path a --axis time");
    assert!(by_path.text().contains("2020-01-02"), "{}", by_path.text());
    assert_eq!(folder.good("stats t.zarr/a --axis time").text(), by_path.text());
    assert_eq!(folder.good("stats t.zarr/a --axis -2").text(), by_path.text());
    let said = folder.bad("stats t.zarr/a --axis -3", 2);
    assert!(said.contains("there is no axis `-3`"), "{said}");
    let said = folder.bad("stats t.zarr/a --percentile abc", 2);
    assert!(said.contains("expected a number from 0 to 100, found `abc`"), "{said}");
}
