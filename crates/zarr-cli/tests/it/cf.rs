//! Elements are decoded as CF says, and selected by coordinates.
#![cfg(feature = "plot")]

use crate::common::Folder;

fn dataset(folder: &Folder) {
    folder.good("create d.zarr --path t --shape 3,4 --dtype int16 --dims time,lat");
    folder.good("create d.zarr --path time --shape 3 --dtype int32 --dims time");
    folder.good("create d.zarr --path lat --shape 4 --dtype float64 --dims lat");
    let put = |path: &str, json: &str| {
        let put = folder.feed(&format!("put d.zarr --path {path} --format json"), json.as_bytes());
        assert_eq!((put.code, &*put.err), (0, ""));
    };
    put("t", "[[0,1,2,3],[10,-9,12,13],[20,21,22,23]]");
    put("time", "[0,58,59]");
    put("lat", "[60,30,0,-30]");
    for attribute in ["scale_factor 0.5", "add_offset 100", "_FillValue -9"] {
        let (name, value) = attribute.split_once(' ').unwrap();
        folder.good(&format!("attrs d.zarr --path t --set {name}={value}"));
    }
    folder.good("attrs d.zarr --path time --set calendar=\"noleap\"");
    let run = folder
        .command("attrs d.zarr --path time --set")
        .arg("units=\"days since 2000-01-01\"")
        .output();
    assert!(run.unwrap().status.success());
}

#[test]
fn elements_are_unpacked_and_missing_ones_are_null() {
    let folder = Folder::new();
    dataset(&folder);
    let got = folder.good("get d.zarr --path t --cf --region 1:2,:").text().to_owned();
    assert_eq!(got, "[[105.0,null,106.0,106.5]]\n");
    assert_eq!(folder.good("get d.zarr --path t --region 1:2,:").text(), "[[10,-9,12,13]]\n");
    let csv = folder.good("get d.zarr --path t --cf --region 1:2,: --format csv").text().to_owned();
    assert_eq!(csv, "105.0,,106.0,106.5\n");
    let raw = folder.run("get d.zarr --path t --cf --region 1:2,1:3 --format raw");
    let numbers: Vec<f64> =
        raw.out.chunks(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap())).collect();
    assert!(numbers[0].is_nan() && numbers[1] == 106.0, "{numbers:?}");
    let dates = "[\"2000-01-01T00:00:00\",\"2000-02-28T00:00:00\",\"2000-03-01T00:00:00\"]\n";
    assert_eq!(folder.good("get d.zarr --path time --cf").text(), dates);
    assert_eq!(folder.good("get d.zarr --path lat --cf").text(), "[60.0,30.0,0.0,-30.0]\n");
}

/// The moments are as xarray decodes the same counts.
#[test]
fn times_in_numpy_files_are_moments_where_numpy_has_the_calendar() {
    let folder = Folder::new();
    folder.good("create d.zarr --path t --shape 4 --dtype float64 --dims t");
    folder.feed("put d.zarr --path t --format json", b"[0.5,59,-1,1e300]");
    folder.good("attrs d.zarr --path t --set _FillValue=-1");
    folder.good("create d.zarr --path ns --shape 2 --dtype int64 --dims n");
    folder.feed("put d.zarr --path ns --format json", b"[0,1]");
    let set = |path: &str, value: &str| {
        let line = format!("attrs d.zarr --path {path} --set");
        assert!(folder.command(&line).arg(value).output().unwrap().status.success());
    };
    set("t", "units=\"days since 2000-01-01\"");
    set("ns", "units=\"nanoseconds since 1970-01-01T00:00:01\"");
    let counts = |path: &str, descr: &str| -> Vec<i64> {
        let run = folder.good(&format!("get d.zarr --path {path} --cf --format npy"));
        let header = String::from_utf8_lossy(&run.out[10..128]).into_owned();
        assert!(header.contains(&format!("'descr': '{descr}'")), "{header}");
        let elements = run.out[128..].chunks_exact(8);
        elements.map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap())).collect()
    };
    // 2000-01-01T12, 2000-02-29, what is missing, and what is further off than any date.
    let days = [946_728_000_000_000, 951_782_400_000_000, i64::MIN, i64::MIN];
    assert_eq!(counts("t", "<M8[us]"), days);
    assert_eq!(counts("ns", "<M8[ns]"), [1_000_000_000, 1_000_000_001]);
    set("t", "calendar=\"360_day\"");
    let run = folder.run("get d.zarr --path t --cf --format npy");
    assert!(
        run.code == 0 && run.err.contains("NumPy does not have the calendar `360_day`"),
        "{}",
        run.err
    );
    assert!(String::from_utf8_lossy(&run.out[10..128]).contains("'descr': '<f8'"));
}

/// The times are as ncdump 4.9.0 prints them with `-t`.
#[test]
fn dump_prints_what_elements_stand_for() {
    let folder = Folder::new();
    let text = r#"netcdf a { dimensions: time = 6 ; n = 3 ; r = 2 ;
        variables: double time(time) ; time:units = "days since 2000-01-01" ; time:calendar = "noleap" ; time:_FillValue = -1. ;
        int h(n) ; h:units = "hours since 1999-12-31 12:30:15" ;
        short p(r, n) ; p:scale_factor = 0.5 ; p:add_offset = 100. ; p:_FillValue = -9s ; p:valid_max = 100s ;
        byte u(n) ; u:_Unsigned = "true" ; byte raw(n) ; float f(n) ; f:missing_value = 7.f ; char c(n) ;
        data: time = 0, 58, 59, -1, 0.5, 0.520833333333333333 ; h = 0, 12, 13 ; p = 1, -9, 3, 0, 101, -32767 ;
        u = -1, 1, -128 ; raw = -1, 1, -128 ; f = 1.25, 7, NaN ; c = "abc" ; }"#;
    folder.write("a.cdl", text);
    folder.good("gen a.cdl -o a.zarr");
    let data = |options: &str| {
        let text = folder.good(&format!("dump {options} a.zarr")).text().to_owned();
        text.split_once("data:\n\n").unwrap().1.to_owned()
    };
    let times = " time = \"2000-01-01\", \"2000-02-28\", \"2000-03-01\", _, \"2000-01-01 12\", \n    \"2000-01-01 12:30\" ;\n\n \
                 h = \"1999-12-31 12:30:15\", \"2000-01-01 00:30:15\", \"2000-01-01 01:30:15\" ;\n\n";
    let stored = " p =\n  1, _, 3,\n  0, 101, -32767 ;\n\n u = -1, 1, -128 ;\n\n raw = -1, 1, -128 ;\n\n f = 1.25, 7, NaNf ;\n\n c = \"abc\" ;\n}\n";
    let decoded = " p =\n  100.5, _, 101.5,\n  100, _, -16283.5 ;\n\n u = 255, 1, 128 ;\n\n raw = -1, 1, -128 ;\n\n f = 1.25, _, NaNf ;\n\n c = \"abc\" ;\n}\n";
    assert_eq!(data("-t"), format!("{times}{stored}"));
    assert_eq!(data("--cf"), format!("{times}{decoded}"));
    assert_eq!(data("-t --cf"), data("--cf"));
    assert!(
        data("").starts_with(" time = 0, 58, 59, _, 0.5, 0.520833333333333 ;\n\n h = 0, 12, 13 ;")
    );
    assert!(data("").ends_with(stored));
    assert_eq!(folder.good("dump -h --cf a.zarr").text(), folder.good("dump -h a.zarr").text());
}

#[test]
fn coordinates_select_elements() {
    let folder = Folder::new();
    dataset(&folder);
    let get =
        |sel: &str| folder.feed(&format!("get d.zarr --path t --sel {sel}"), b"").text().to_owned();
    assert_eq!(get("time=2000-02:2000-03,lat=0:45"), "[[-9,12],[21,22]]\n");
    assert_eq!(get("time=2000-03-01T06:00,lat=-40"), "[[23]]\n");
    assert_eq!(get("time=2000-03-01,lat=-1000 --nearest"), "[[23]]\n");
    assert_eq!(get("time=2000-03-01T12:00,lat=39 --tolerance 12h"), get("time=2000-03-01,lat=30"));
    let without = folder.bad("get d.zarr --path t --nearest", 2);
    assert!(without.contains("--sel"), "{without}");
    // An array that is named in TARGET has the coordinates of its hierarchy, too.
    let by_itself = folder.good("get d.zarr/t --sel lat=60").text().to_owned();
    assert_eq!(by_itself, get("lat=60"));
    let by_itself = folder.good("stats d.zarr/t --sel lat=60 --json").json();
    let json = folder.good("stats d.zarr --path t --sel lat=60 --json").json();
    let mean = |json: &zarr::Json| json.as_object().unwrap().get("mean").unwrap().to_string();
    assert_eq!(mean(&by_itself), mean(&json));
    assert_eq!(json.as_object().unwrap().get("max").unwrap().to_string(), "110.0");
    // What was taken is told by every verb, and what is there is not.
    for verb in ["get", "stats", "plot"] {
        let told = |sel: &str| folder.feed(&format!("{verb} d.zarr --path t --sel {sel}"), b"").err;
        let near = "/t: no coordinate equals lat=50; using the nearest, 60\n";
        assert!(told("lat=50").ends_with(near), "{verb}: {}", told("lat=50"));
        assert!(!told("lat=60").contains("nearest"), "{verb}: {}", told("lat=60"));
    }
    for (sel, why) in [
        ("lat=70:80", "coordinates go from 60 to -30"),
        ("lat=-46", "`-46` is out of range; coordinates go from 60 to -30; --nearest takes -30"),
        (
            "lat=50 --tolerance 9",
            "no coordinate is within the tolerance of `50`; the nearest is 60",
        ),
        ("time=2000-03-01T13:00 --tolerance 12h", "the nearest is 2000-03-01"),
        ("lat=50 --tolerance far", "expected a number in the coordinates' units"),
        ("depth=1", "axes: time, lat"),
        ("lat", "expected name=coordinate"),
        ("lat=1,lat=2", "duplicate name"),
        ("time=soon", "2020-03:2020-05"),
    ] {
        let told = folder.bad(&format!("get d.zarr --path t --sel {sel}"), 2);
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn statistics_of_a_group_are_a_line_for_each_array() {
    let folder = Folder::new();
    dataset(&folder);
    let text = folder.good("stats d.zarr").text().to_owned();
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0][..4], ["array", "count", "missing", "NaN"]);
    assert_eq!(lines[1], ["/lat", "4", "0", "0", "-30", "60", "15", "33.541"]);
    assert_eq!(lines[2], ["/t", "11", "1", "0", "100", "111.5", "105.773", "4.30308"]);
    assert_eq!(lines[3][4..6], ["2000-01-01", "2000-03-01"]);
    let json = folder.good("stats d.zarr --json").json();
    assert_eq!(json.as_array().unwrap().len(), 3);
    let one = folder.good("stats d.zarr --path t --percentile 50 --histogram 2").text().to_owned();
    assert!(
        one.contains("\nmin            100  at 0,0\n") && one.contains("\n50 %           106\n"),
        "{one}"
    );
    assert!(one.contains("███"), "{one}");
    folder.bad("stats d.zarr --path t --percentile 101", 2);
    folder.bad("stats d.zarr --path t --histogram x", 2);
    folder.bad("stats d.zarr --path none", 3);
}

/// Stored numbers that look like decoded ones come with a word about it.
#[test]
fn what_is_not_decoded_is_told() {
    let folder = Folder::new();
    folder.good("create m.zarr --path t --shape 2 --dtype float64");
    assert_eq!(folder.feed("put m.zarr --path t", b"[1,14.5]").code, 0);
    let set = |name: &str, value: &str| {
        let text = format!("{name}=\"{value}\"");
        let run = folder.command("attrs m.zarr --path t --set").arg(text).output().unwrap();
        assert!(run.status.success());
    };
    set("units", "months since 2000-01-01");
    let why = "/t: `months since 2000-01-01` is not decoded: months and years differ in length";
    for line in ["get m.zarr --path t --cf", "dump m.zarr --cf"] {
        let run = folder.run(line);
        assert!(run.code == 0 && run.err.contains(why), "{line}: {}", run.err);
    }
    assert_eq!(folder.run("get m.zarr --path t --cf").text(), "[1.0,14.5]\n");
    folder.good("get m.zarr --path t");
    set("calendar", "360_day");
    let dates = folder.good("get m.zarr --path t --cf").text().to_owned();
    assert_eq!(dates, "[\"2000-02-01T00:00:00\",\"2001-03-16T00:00:00\"]\n");
}
