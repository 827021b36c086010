//! `zarr tune` advises on layouts, and the line that it prints makes one.

use crate::common::Folder;

/// A field of floats over time, stored map by map.
fn field(folder: &Folder, target: &str, format: &str) {
    let layout =
        "--path t2m --shape 200,30,40 --chunks 1,30,40 --dims time,lat,lon --dtype float32";
    folder.good(&format!("create {target} {layout} --format {format}"));
    let value = |n: u32| {
        let (t, y, x) = (n / 1200, n / 40 % 30, n % 40);
        let value = 280.0 + (t as f32 / 20.0).sin() * y as f32 + (x as f32 / 9.0).cos();
        value.to_le_bytes()
    };
    let bytes: Vec<u8> = (0..200 * 30 * 40).flat_map(value).collect();
    let put = folder.feed(&format!("put {target}/t2m --format raw"), &bytes);
    assert_eq!(put.code, 0, "{}", put.err);
}

#[test]
fn the_line_of_the_copy_makes_the_advised_layout() {
    let folder = Folder::new();
    for format in ["v3", "v2"] {
        let target = format!("{format}.zarr");
        field(&folder, &target, format);
        let line = format!("tune {target} --path t2m --read 'time=:,lat=1,lon=1 @3' --store s3");
        let report = folder.good(&format!("{line} --json")).json();
        let number = report["advised"].as_u64().expect("a series from maps can be much faster");
        let advised = &report["candidates"][number as usize - 1];
        assert!(advised["reads"][0]["requests"].as_f64().unwrap() < 20.0);
        assert_eq!(report["now"]["reads"][0]["requests"].as_f64(), Some(200.0));
        assert_eq!(report["reads"][0]["weight"].as_f64(), Some(3.0));
        let copy = advised["copy"].as_str().unwrap();
        let told = folder.good(&line);
        // Speeds are measured anew: another layout may be as good now.
        let last = told.text().trim_end().lines().last().unwrap();
        assert!(
            last.starts_with(&format!("zarr copy {target} DST --path t2m --chunks ")),
            "{last}"
        );
        let copy =
            copy.strip_prefix("zarr ").unwrap().replace(" DST ", &format!(" {format}-copy.zarr "));
        folder.good(&copy);
        let info = folder.good(&format!("info {format}-copy.zarr --json")).json();
        assert_eq!(info["chunk_shape"], advised["chunks"]);
        assert_eq!(info["shard_shape"], advised["shards"]);
        folder.good(&format!("diff {target}/t2m {format}-copy.zarr"));
    }
}

#[test]
fn every_candidate_can_be_copied() {
    let folder = Folder::new();
    field(&folder, "a.zarr", "v2");
    let report = folder.good("tune a.zarr/t2m --to v3 --lossy --json").json();
    let candidates = report["candidates"].as_array().unwrap();
    assert!(!candidates.is_empty() && candidates.len() <= 8);
    for (number, candidate) in candidates.iter().enumerate() {
        let copy = candidate["copy"].as_str().unwrap();
        assert!(copy.starts_with("zarr copy a.zarr/t2m DST --to v3 --chunks "), "{copy}");
        let copy = copy.strip_prefix("zarr ").unwrap();
        folder.good(&copy.replace(" DST ", &format!(" {number}.zarr ")));
        let info = folder.good(&format!("info {number}.zarr --json")).json();
        assert_eq!(info["format"], "v3");
        assert_eq!(info["chunk_shape"], candidate["chunks"]);
    }
}

#[test]
fn the_model_of_a_store_is_printed_and_read() {
    let folder = Folder::new();
    field(&folder, "a.zarr", "v3");
    let report = folder.good("tune a.zarr/t2m --read series --json").json();
    assert_eq!(report["store"]["like"], "disk");
    folder.write("far.json", r#"{"like": "s3", "get_ms": 200}"#);
    let far = folder.good("tune a.zarr/t2m --read series --store far.json --json").json();
    assert_eq!(far["store"]["get_ms"].as_u64(), Some(200));
    assert!(far["now"]["seconds"].as_f64() > report["now"]["seconds"].as_f64());
    folder.write("printed.json", far["store"].to_string());
    let again = folder.good("tune a.zarr/t2m --read series --store printed.json --json").json();
    assert_eq!(again["store"], far["store"]);
    // What has no limit is told by no number.
    assert!(report["store"]["reads_per_second"].is_null(), "{}", report["store"]);
    let run = folder.good("tune a.zarr/t2m --read series");
    let told = run.text();
    assert!(told.contains("model of the store, like disk: 0.1 ms until a read"), "{told}");
    assert!(!told.contains("4294967295"), "{told}");
    assert!(told.contains(" of the array"), "{told}");
    let present = told.lines().find(|line| line.starts_with("0 ")).unwrap();
    assert!(present.ends_with("(the array as it is)"), "{present}");
}

#[test]
fn rejects_what_is_no_question() {
    let folder = Folder::new();
    folder.good("create a.zarr --path x --shape 4,5 --chunks 2,3 --dtype int32");
    let why = folder.bad("tune a.zarr/x --read depth=1", 2);
    assert!(why.contains("unknown axis `depth`"), "{why}");
    let why = folder.bad("tune a.zarr/x --store tape", 2);
    assert!(why.contains("expected s3, disk, or a file with a model"), "{why}");
    folder.write("broken.json", r#"{"get_ms": "soon"}"#);
    let why = folder.bad("tune a.zarr/x --store broken.json", 2);
    assert!(why.contains("`get_ms` is \"soon\", expected a number"), "{why}");
    let why = folder.bad("tune a.zarr/x --readers vizarr", 2);
    assert!(why.contains("unknown reader `vizarr`"), "{why}");
    let why = folder.bad("tune a.zarr", 2);
    assert!(why.contains("this is a group, and one array is measured at a time"), "{why}");
}
