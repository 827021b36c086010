//! `zarr copy` with chunks, shards and codecs by the names of arrays and dimensions.

use crate::common::Folder;

/// Makes `a.zarr`: variables of time, lat and lon, a coordinate, and a group with one more.
fn climate(folder: &Folder) {
    let list = |count: u64| {
        let list: Vec<String> = (1..=count).map(|n| n.to_string()).collect();
        format!("[{}]", list.join(","))
    };
    let arrays = [
        ("t2m", "40,20,30", "10,10,10", "time,lat,lon", 24_000),
        ("pr", "40,20,30", "10,10,10", "time,lat,lon", 24_000),
        ("time", "40", "8", "time", 40),
        ("deep/t2m", "40,6", "10,3", "time,depth", 240),
    ];
    for (path, shape, chunks, dimensions, count) in arrays {
        folder.good(&format!(
            "create a.zarr --path {path} --shape {shape} --chunks {chunks} --dims {dimensions} --dtype int32 --codec gzip:1"
        ));
        let put = folder.feed(&format!("put a.zarr --path {path}"), list(count).as_bytes());
        assert_eq!(put.code, 0, "{}", put.err);
    }
}

fn has_same_elements(folder: &Folder) {
    for path in ["t2m", "pr", "time", "deep/t2m"] {
        let elements =
            |url: &str| folder.good(&format!("get {url} --path {path} --format raw")).out;
        assert_eq!(elements("a.zarr"), elements("b.zarr"), "{path}");
    }
}

fn chunks(folder: &Folder, path: &str) -> String {
    let json = folder.good(&format!("info b.zarr --path {path} --json")).json();
    json.as_object().unwrap().get("chunk_shape").unwrap().to_string()
}

#[test]
fn dimensions_arrays_and_sizes_may_be_given_together() {
    let folder = Folder::new();
    climate(&folder);
    let options =
        "--chunks time=20,lat=5 --chunks pr=40,4,4 --chunks /t2m:lon=30 --chunks deep/t2m=1kB";
    let dry = folder.run(&format!("copy a.zarr b.zarr {options} --dry-run"));
    assert_eq!(dry.code, 0, "{}", dry.err);
    assert!(dry.text().contains("1 array copied as stored, 3 encoded again"), "{}", dry.text());
    let reads = "element 1 → 1, time 4 → 2, lat 2 → 4, lon 3 → 1, time × lat 8 → 8, time × lon 12 → 2, lat × lon 6 → 4";
    let lines = format!("    chunks (10, 10, 10) → (20, 5, 30)\n    chunks to read: {reads}\n");
    assert!(dry.text().contains(&lines), "{}", dry.text());
    assert_eq!(dry.text().matches("chunks to read").count(), 3, "{}", dry.text());
    let json =
        folder.run(&format!("copy a.zarr b.zarr {options} --shards pr=40,20,32 --dry-run --json"));
    let said = r#""chunks":[[10,10,10],[40,4,4]],"shards":[null,[40,20,32]],"reads":{"element":[1,1],"time":[4,1],"lat":[2,5],"#;
    assert!(json.text().contains(said), "{}", json.text());
    let copied = folder.run(&format!("copy a.zarr b.zarr {options}"));
    assert_eq!(copied.code, 0, "{}", copied.err);
    let said = "/time: the coordinate keeps its chunks; `--chunks time:time=20` gives it others";
    assert!(copied.err.contains(said), "{}", copied.err);
    assert_eq!(chunks(&folder, "t2m"), "[20,5,30]");
    assert_eq!(chunks(&folder, "pr"), "[40,4,4]");
    assert_eq!(chunks(&folder, "time"), "[8]");
    assert_eq!(chunks(&folder, "deep/t2m"), "[40,6]");
    has_same_elements(&folder);
}

#[test]
fn shards_and_codecs_may_be_given_for_one_array() {
    let folder = Folder::new();
    climate(&folder);
    folder.good(
        "copy a.zarr b.zarr --shards pr=20,20,30 --codec pr:zstd:3 --codec deep/t2m:none --quiet",
    );
    let info = |path: &str| folder.good(&format!("info b.zarr --path {path}")).text().to_owned();
    assert!(info("pr").contains("zstd") && info("pr").contains("20 × 20 × 30"), "{}", info("pr"));
    assert!(!info("deep/t2m").contains("gzip"), "{}", info("deep/t2m"));
    assert!(info("t2m").contains("gzip") && !info("t2m").contains("zstd"), "{}", info("t2m"));
    has_same_elements(&folder);
}

#[test]
fn unknown_names_are_usage_errors_that_say_what_there_is() {
    let folder = Folder::new();
    climate(&folder);
    let said = |options: &str| folder.bad(&format!("copy a.zarr b.zarr {options}"), 2);
    let err = said("--chunks tme=3");
    assert!(
        err.contains("chunks: no array or dimension below / is named `tme`; did you mean `time`?"),
        "{err}"
    );
    let err = said("--shards t2n:time=3");
    assert!(err.contains("shards: no array below / is named `t2n`; did you mean `t2m`?"), "{err}");
    let err = said("--codec t2n:zstd:3");
    assert!(err.contains("`t2n` names no array"), "{err}");
    let err = said("--chunks a=b");
    assert!(err.contains("time=100,lat=50"), "{err}");
    assert!(!folder.path("b.zarr").exists());
}

/// netCDF datasets take chunks and codecs, too; their chunks end with dimensions that are not unlimited.
#[test]
fn netcdf_datasets_take_chunks_and_codecs_by_name() {
    let folder = Folder::new();
    climate(&folder);
    for (to, deep) in [("nczarr-v2", "[40,3]"), ("nczarr-v3", "[40,3]"), ("zarr-v3", "[64,3]")] {
        let options = "--chunks time=64 --chunks pr=40,4,4 --chunks /t2m:time=20 --codec pr:gzip:1 --codec deep/t2m:none";
        let copied = folder.run(&format!("copy a.zarr b.zarr --to {to} {options} --overwrite"));
        assert_eq!(copied.code, 0, "{to}: {}", copied.err);
        let is_cut = copied.err.contains("/deep/t2m: chunks become [40, 3], not [64, 3]");
        assert_eq!(is_cut, to != "zarr-v3", "{}", copied.err);
        assert_eq!(chunks(&folder, "t2m"), "[20,10,10]", "{to}");
        assert_eq!(chunks(&folder, "pr"), "[40,4,4]", "{to}");
        assert_eq!(chunks(&folder, "time"), "[8]", "{to}");
        assert_eq!(chunks(&folder, "deep/t2m"), deep, "{to}");
        let codecs =
            |path: &str| folder.good(&format!("info b.zarr --path {path}")).text().to_owned();
        assert_eq!(codecs("pr").contains("zlib"), to == "nczarr-v2", "{}", codecs("pr"));
        assert!(!codecs("deep/t2m").contains("gzip") && !codecs("deep/t2m").contains("zlib"));
        has_same_elements(&folder);
        folder.good("rm b.zarr --all");
    }
    let err = folder.bad("copy a.zarr b.zarr --to nczarr-v2 --codec pr:lz4", 4);
    assert!(err.contains("codec `numcodecs.lz4` of /pr"), "{err}");
    let err = folder.bad("copy a.zarr b.zarr --to nczarr-v3 --chunks tme=4", 2);
    assert!(err.contains("did you mean `time`"), "{err}");
    let err = folder.bad("copy a.zarr b.zarr --to nczarr-v3 --chunks 1,1,1,1,1", 2);
    assert!(err.contains("no array has 5 axes"), "{err}");
}

/// netCDF has no such floats; plain Zarr has them all the same, with what is given for them.
#[test]
fn arrays_that_netcdf_has_not_take_chunks_and_codecs_too() {
    let folder = Folder::new();
    for (path, ty) in [("half", "float16"), ("whole", "float32")] {
        folder.good(&format!(
            "create a.zarr --path {path} --shape 6 --chunks 2 --dims x --dtype {ty} --codec zstd:1"
        ));
    }
    let options = "--chunks x=3 --chunks whole:x=6 --codec half:gzip:1";
    folder.good(&format!("copy a.zarr b.zarr --to zarr-v3 {options} --quiet"));
    assert_eq!((chunks(&folder, "half"), chunks(&folder, "whole")), ("[3]".into(), "[6]".into()));
    let codecs = |path: &str| folder.good(&format!("info b.zarr --path {path}")).text().to_owned();
    assert!(codecs("half").contains("gzip") && codecs("whole").contains("zstd"));
}

/// `-1` is a whole axis, of shards in whole chunks; `none` leaves shards out.
#[test]
fn whole_axes_and_no_shards() {
    let folder = Folder::new();
    let sharded = "--shape 10,7 --chunks 2,3 --shards 4,6 --dtype int16 --dims y,x";
    folder.good(&format!("create s --path a {sharded}"));
    folder.good(&format!("create s --path b {sharded}"));
    let layouts = |options: &str| {
        let plan = folder.good(&format!("copy s t --dry-run --json {options}"));
        let text = plan.json().as_object().unwrap().get("layouts").unwrap().to_string();
        text.replace(' ', "")
    };
    let said = layouts("--chunks -1,3 --shards none");
    assert!(said.contains("[10,3]"), "{said}");
    folder.good("copy s all --chunks y=-1 --shards y=-1,x=-1");
    let info = |target: &str| folder.good(&format!("info {target} --json")).text().to_owned();
    let all = info("all/a").replace(' ', "");
    assert!(all.contains("[10,3]") && all.contains("[10,9]"), "{all}");
    folder.good("copy s none --shards none");
    for array in ["a", "b"] {
        let none = info(&format!("none/{array}")).replace(' ', "");
        assert!(none.contains("[2,3]") && !none.contains("sharding_indexed"), "{none}");
    }
    folder.good("copy s one --shards a=none");
    assert!(!info("one/a").contains("sharding_indexed"));
    assert!(info("one/b").contains("sharding_indexed"));
    folder.good("copy s kept --shards none --shards b=4,6");
    assert!(!info("kept/a").contains("sharding_indexed"));
    assert!(info("kept/b").contains("sharding_indexed"));
    for target in ["all", "none", "one", "kept"] {
        folder.good(&format!("diff s {target}"));
    }
    // The journal has it, too.
    folder.good("copy s parts --shards none --chunks y=-1 --part 1/2");
    folder.good("copy s parts --part 2/2");
    folder.good("copy s parts --finish");
    let parts = info("parts/a").replace(' ', "");
    assert!(parts.contains("[10,3]") && !parts.contains("sharding_indexed"), "{parts}");
    assert!(folder.bad("copy s x --chunks none", 2).contains("-1 is a whole axis"));
}
