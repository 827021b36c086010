//! What the program says of arrays that are maps.
#![cfg(feature = "plot")]

use crate::common::Folder;

/// `d.zarr` with `t` on latitudes 60, 0, -60 and longitudes 0, 90.
fn map() -> Folder {
    let folder = Folder::new();
    folder.good("create d.zarr --path t --shape 3,2 --dtype float32 --dims lat,lon");
    folder.good("create d.zarr --path lat --shape 3 --dtype float64 --dims lat");
    folder.good("create d.zarr --path lon --shape 2 --dtype float64 --dims lon");
    folder.good("attrs d.zarr --path lat --set units=degrees_north");
    folder.good("attrs d.zarr --path lon --set units=degrees_east");
    for (path, json) in [("t", "[[1,3],[10,10],[5,5]]"), ("lat", "[60,0,-60]"), ("lon", "[0,90]")] {
        let put = folder.feed(&format!("put d.zarr --path {path} --format json"), json.as_bytes());
        assert_eq!((put.code, &*put.err), (0, ""));
    }
    folder
}

#[test]
fn info_says_where_an_array_is() {
    let folder = map();
    for target in ["d.zarr --path t", "d.zarr/t"] {
        let found = folder.good(&format!("info {target}"));
        let lines = [
            "crs          OGC:CRS84  from longitude lon, latitude lat",
            "grid         steps of 90 and -60 degrees, north up",
            "bounds       -45 … 135, -90 … 90",
        ];
        assert!(found.text().contains(&lines.join("\n")), "{}", found.text());
        let json = folder.good(&format!("info {target} --json")).json();
        let geography = json.get("geography").unwrap();
        assert_eq!(geography["crs"]["code"].as_str(), Some("OGC:CRS84"));
        assert_eq!(geography["bounds"].to_string(), "[-45.0,-90.0,135.0,90.0]");
        assert_eq!(geography["transform"].to_string(), "[90.0,0.0,-45.0,0.0,-60.0,90.0]");
        assert_eq!(geography["north_up"].as_bool(), Some(true));
    }
    // A coordinate, and an array without any, are no maps.
    assert!(!folder.good("info d.zarr --path lat").text().contains("crs "));
    folder.good("create d.zarr --path plain --shape 3,2 --dtype float32");
    assert!(folder.good("info d.zarr --path plain --json").json().get("geography").is_none());
}

#[test]
fn statistics_are_weighted_by_area() {
    let folder = map();
    let json = folder.good("stats d.zarr --path t --weights area --json").json();
    // Weights 0.5, 1, 0.5: (0.5 · 4 + 20 + 0.5 · 10) / 4.
    let mean = json["weighted"]["mean"].as_f64().unwrap();
    assert!((mean - 6.75).abs() < 1e-12, "{json}");
    assert_eq!(json["mean"].as_f64(), Some(34.0 / 6.0));
    let text = folder.good("stats d.zarr/t --weights area");
    assert!(
        text.text().contains("mean by area   6.75  weights: cosine of the latitude"),
        "{}",
        text.text()
    );
    // For each time: (0.5 · 4 + 10 + 0.5 · 16) / 4, and without the NaN (0 + 2 + 0.5 · 8) / 3.
    folder.good(
        "create d.zarr --path s --shape 2,3,2 --chunks 1,2,2 --dtype float32 --dims time,lat,lon",
    );
    let elements = b"[[[1,3],[5,5],[7,9]],[[0,0],[\"NaN\",2],[4,4]]]";
    assert_eq!(folder.feed("put d.zarr --path s", elements).code, 0);
    let lines = folder.good("stats d.zarr/s --axis time --weights area --format csv");
    let lines: Vec<&str> = lines.text().lines().collect();
    assert_eq!(lines[0], "time,count,missing,nan,min,max,area_mean,area_std");
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
    for (line, start, mean) in [(lines[1], "0,6,0,0,1,9,", 5.0), (lines[2], "1,5,0,1,0,4,", 2.0)] {
        let rest = line.strip_prefix(start).expect(line);
        close(rest.split(',').next().unwrap().parse().unwrap(), mean);
    }
    let json = folder.good("stats d.zarr/s --axis lon,time --weights area --json").json();
    assert_eq!(json["weights"].as_str(), Some("area"));
    // Of each time and longitude: (0.5 · 1 + 5 + 0.5 · 7) / 2 and so on.
    for (n, mean) in [4.5, 5.5, 2.0, 2.0].into_iter().enumerate() {
        close(json["mean"][n].as_f64().unwrap(), mean);
    }
    assert_eq!(json["count"].to_string(), "[3,3,2,3]");
    let refused = folder.bad("stats d.zarr/s --axis lat --weights area", 2);
    assert!(refused.contains("have the same weight"), "{refused}");
    folder.good("create d.zarr --path plain --shape 3,2 --dtype float32");
    let none = folder.run("stats d.zarr --path plain --weights area");
    assert_eq!(none.code, 2);
    assert!(none.err.contains("no latitude axis"), "{}", none.err);
    assert_eq!(folder.run("stats d.zarr --weights area").code, 2);
}
