//! Each command does what it says.

use std::fs;

use crate::common::{FORMATS, Folder};

#[test]
fn info_is_pleasant_to_read() {
    let folder = Folder::new();
    folder.good(
        "create d.zarr --path ocean/t --format v2 --shape 365,180,360 --chunks 1,90,90 --dtype float32 \
         --fill NaN --codec zlib:3 --dims time,lat,lon --attr 'long_name=sea surface' --order F",
    );
    let text = folder.good("info d.zarr --path ocean/t").text().to_owned();
    let (heading, rest) = text.split_once('\n').unwrap();
    assert!(heading.starts_with("/ocean/t: array in v2, file://"), "{heading}");
    let expected = "\
shape        365 × 180 × 360
dimensions   time, lat, lon
type         float32, spelled \"<f4\"
size         90.2 MiB, 23,652,000 elements
chunks       1 × 90 × 90: 2,920 chunks of 31.6 KiB
codecs       transpose {\"order\":[2,1,0]}
             bytes {\"endian\":\"little\"}
             zlib {\"level\":3}
fill value   NaN
attributes   long_name: sea surface
             _ARRAY_DIMENSIONS: [\"time\",\"lat\",\"lon\"]
stored       no chunk; every element reads as the fill value
";
    assert_eq!(rest, expected);
    let group = folder.good("info d.zarr --path ocean").text().to_owned();
    let dataset = "\ndimensions   time: 365, lat: 180, lon: 360\n\
                   variables    t  (time, lat, lon)  float32  sea surface\n";
    assert!(group.ends_with(dataset), "{group}");
    assert!(folder.good("info d.zarr").text().ends_with("\nchildren     ocean/\n"));
}

/// T-55: keys that their writer spelled otherwise are no chunks, which would go unseen: everything reads as fill.
#[test]
fn info_counts_what_is_stored() {
    let none = "stored       no chunk; every element reads as the fill value\n";
    let folder = Folder::new();
    for (n, format) in FORMATS.iter().enumerate() {
        folder.good(&format!(
            "create d{n}.zarr --path a --format {format} --shape 4,4 --chunks 2,2 --dtype int16 --separator /"
        ));
        let info = format!("info d{n}.zarr --path a --stored");
        assert!(folder.good(&info).text().ends_with(none), "{format}");
        let chunks =
            ["a", "a", "data/root/a"].map(|below| folder.path(&format!("d{n}.zarr/{below}")));
        fs::create_dir_all(&chunks[n]).unwrap();
        for key in ["0.0", "c0.0", "c.1.1", "-0", "00", "c/0.0", "2/0"] {
            fs::create_dir_all(chunks[n].join(key).parent().unwrap()).unwrap();
            fs::write(chunks[n].join(key), [1; 8]).unwrap();
        }
        assert!(folder.good(&info).text().ends_with(none), "{format}");
        let one = ["c/1/0", "1/0", "c1/0"][n];
        fs::create_dir_all(chunks[n].join(one).parent().unwrap()).unwrap();
        fs::write(chunks[n].join(one), [1; 8]).unwrap();
        assert!(
            folder
                .good(&info)
                .text()
                .ends_with("\nstored       1 of 4 chunks, 8 B of 32 B (4.0×)\n"),
            "{format}"
        );
        let json = folder.good(&format!("{info} --json")).json();
        let stored = json.as_object().unwrap().get("stored_chunks").unwrap().to_string();
        assert_eq!(stored, "1", "{format}");
        let bytes = json.as_object().unwrap().get("stored_bytes").unwrap().to_string();
        assert_eq!(bytes, "8", "{format}");
    }
}

/// Issue 13, point 26: the words of `create`.
#[test]
fn info_tells_shards_and_chunks_apart() {
    let folder = Folder::new();
    folder.good(
        "create s.zarr --shape 100,200 --shards 50,100 --chunks 10,20 --dtype int16 --codec gzip",
    );
    let put = folder.feed("put s.zarr --region :50,: --format raw", &[1; 50 * 200 * 2]);
    assert_eq!((put.code, &*put.err), (0, ""));
    let text = folder.good("info s.zarr --stored").text().to_owned();
    let grid = "\
shards       50 × 100: 4 shards of 9.8 KiB
chunks       10 × 20: 100 chunks of 400 B
";
    assert!(text.contains(grid), "{text}");
    let size: u64 = ["0/0", "0/1"]
        .iter()
        .map(|key| fs::metadata(folder.path(&format!("s.zarr/c/{key}"))).unwrap().len())
        .sum();
    let stored = format!(
        "2 of 4 shards, {:.1} KiB of 39.1 KiB ({:.1}×)\n",
        size as f64 / 1024.0,
        40_000.0 / size as f64
    );
    assert!(text.ends_with(&format!("\nstored       {stored}")), "{text}: {stored}");
    let json = folder.good("info s.zarr --json --stored").json();
    let member = |name: &str| json.as_object().unwrap().get(name).unwrap().to_string();
    assert_eq!(
        (member("shard_shape"), member("chunk_shape")),
        ("[50,100]".into(), "[10,20]".into())
    );
    assert_eq!((member("shard_count"), member("chunk_count")), ("4".into(), "100".into()));
    assert_eq!((member("stored_chunks"), member("stored_bytes")), ("2".into(), size.to_string()));
    folder.good("create t.zarr --shape 4 --dtype int8");
    let json = folder.good("info t.zarr --json").json();
    assert_eq!(json.as_object().unwrap().get("shard_shape").unwrap().to_string(), "null");
    assert!(!folder.good("info t.zarr").text().contains("shards"));
}

#[test]
fn info_shows_what_is_not_supported() {
    let folder = Folder::new();
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[2],"data_type":"int8",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":0,
        "codecs":[{"name":"bytes"},{"name":"zork","configuration":{"a":1}}]}"#;
    folder.write("x.zarr/zarr.json", document);
    assert!(
        folder.good("info x.zarr").text().contains("unsupported  codec `zork` is not supported")
    );
    let json = folder.good("info x.zarr --json").json();
    let lacks = json.as_object().unwrap().get("unsupported").unwrap().to_string();
    assert!(lacks.starts_with(r#"[{"what":"codec","name":"zork""#), "{lacks}");
    for format in ["raw", "json", "npy", "csv"] {
        let run = folder.run(&format!("get x.zarr --format {format}"));
        assert_eq!((run.code, &run.out[..]), (4, &b""[..]));
        assert!(run.err.contains("zork"), "{}", run.err);
    }
}

#[test]
fn create_minds_what_is_there() {
    let folder = Folder::new();
    for format in FORMATS {
        let create = format!("create {format} --path a --shape 2 --dtype int8");
        folder.good(&format!("{create} --format {format}"));
        assert!(folder.bad(&create, 2).contains("already exists"));
        assert_eq!(folder.feed(&format!("put {format}/a"), b"[1,2]").code, 0);
        folder.good(&format!("{create} --overwrite --fill 3"));
        assert_eq!(folder.good(&format!("get {format}/a")).text(), "[3,3]\n");
        folder.good(&format!("create {format} --path g --group --attr a=1"));
        assert_eq!(folder.good(&format!("attrs {format}/g")).text(), "a: 1\n");
        assert!(
            folder.bad(&format!("create {format} --path g --group"), 2).contains("already exists")
        );
        folder.good(&format!("create {format} --path g --group --overwrite"));
        assert_eq!(folder.good(&format!("attrs {format}/g")).text(), "");
        let other = if format == "v3" { "v2" } else { "v3" };
        let why = folder.bad(&format!("create {format} --path z --group --format {other}"), 2);
        assert!(why.contains(&format!("holds a hierarchy in {format}")), "{why}");
        folder.good(&format!("create root-{format} --format {format} --group --attr a=1"));
        assert_eq!(folder.good(&format!("attrs root-{format} a")).text(), "1\n");
        folder.good(&format!(
            "create one-{format} --format {format} --shape 2 --dtype '>f4' --path /"
        ));
        assert_eq!(folder.good(&format!("tree one-{format}")).text(), "/  float32 (2,)\n");
    }
}

/// No array is one chunk of 74.5 GiB because nobody said how to cut it.
#[test]
fn chunks_that_are_not_given_have_about_a_mebibyte() {
    let folder = Folder::new();
    for format in FORMATS {
        for (n, (options, chunks)) in [
            ("--shape 100000,100000 --dtype float64", "[256,512]"),
            ("--shape 300,200 --dtype float32", "[300,200]"),
            ("--shape 0,720,1440 --dtype float32", "[64,64,64]"),
            ("--shape '' --dtype int8", "[]"),
            ("--shape 10000000 --dtype '|S1000000'", "[1]"),
        ]
        .into_iter()
        .enumerate()
        {
            folder.good(&format!("create {format} --path a{n} --format {format} {options}"));
            let json = folder.good(&format!("info {format}/a{n} --json")).json();
            let found = json.as_object().unwrap().get("chunk_shape").unwrap().to_string();
            assert_eq!(found, chunks, "{format}: {options}");
        }
    }
    // Elements of any length are counted by their cells in memory.
    folder.good("create v3 --path texts --shape 1000000 --dtype string");
    assert!(folder.good("info v3/texts").text().contains("65,536: 16 chunks"));
    folder.good("create v3 --path sharded --shape 9000,9000 --shards 3000,3000 --dtype int16");
    let document = fs::read_to_string(folder.path("v3/sharded/zarr.json")).unwrap();
    let document: String = document.split_whitespace().collect();
    assert!(document.contains(r#""chunk_shape":[750,750]"#), "{document}");
}

#[test]
fn create_that_fails_leaves_nothing() {
    let folder = Folder::new();
    for format in FORMATS {
        let begin = format!("create {format} --format {format} --shape 2");
        folder.bad(&format!("{begin} --dtype int7"), 2);
        folder.bad(&format!("{begin} --dtype int8 --fill 200"), 2);
        folder.bad(&format!("{begin} --dtype int8 --chunks 1,1"), 2);
        folder.bad(&format!("{begin} --dtype int8 --codec zork"), 4);
        folder.bad(&format!("info {format}"), 3);
        folder.good(&format!("{begin} --dtype int8"));
    }
}

#[test]
fn a_group_and_an_array_do_not_meet_at_one_path() {
    let folder = Folder::new();
    for format in FORMATS {
        folder.good(&format!("create {format} --path a --format {format} --shape 2 --dtype int8"));
        folder.good(&format!("create {format} --path g --group"));
        folder.bad(&format!("create {format} --path a --group"), 2);
        folder.bad(&format!("create {format} --path g --shape 2 --dtype int8"), 2);
        folder.good(&format!("create {format} --path g --shape 2 --dtype int8 --overwrite"));
    }
}

#[test]
fn attrs_are_shown_set_and_deleted() {
    let folder = Folder::new();
    for format in FORMATS {
        folder.table(format, format);
        let attrs = format!("attrs {format} --path a");
        assert_eq!(folder.good(&attrs).text(), "");
        folder.good(&format!(
            "{attrs} --set units=K --set 'range=[0, 1.50]' --set 'o={{\"x\":null}}'"
        ));
        assert_eq!(folder.good(&attrs).text(), "units: K\nrange: [0,1.50]\no: {\"x\":null}\n");
        assert_eq!(folder.good(&format!("attrs {format}/a units")).text(), "K\n");
        assert_eq!(folder.good(&format!("attrs {format}/a units --json")).text(), "\"K\"\n");
        let after = folder.good(&format!("{attrs} --delete o --delete units --json"));
        assert_eq!(after.text(), "{\n  \"range\": [0, 1.50]\n}\n");
        assert_eq!(folder.run(&format!("{attrs} --delete units")).code, 1);
        assert_eq!(folder.run(&format!("attrs {format}/a units")).code, 1);
        assert_eq!(folder.good(&format!("get {format}/a --region 0,0")).text(), "[[1]]\n");
    }
}

#[test]
fn copy_overwrites_nothing() {
    let folder = Folder::new();
    folder.table("a.zarr", "v2");
    folder.good("copy a.zarr b.zarr");
    assert!(folder.bad("copy a.zarr b.zarr", 2).contains("already exists; choose another DST"));
    assert!(folder.bad("copy a.zarr b.zarr --path a --at a", 2).contains("choose another DST"));
    folder.good("copy a.zarr b.zarr --path a --at more/a");
    folder.good("copy a.zarr/a b.zarr/again");
    assert_eq!(
        folder.good("tree b.zarr").text(),
        "/\n├── a      int32 (4, 5)\n├── again  int32 (4, 5)\n└── more\n    └── a  int32 (4, 5)\n"
    );
    assert!(folder.bad("copy a.zarr b.zarr/c --to v3", 2).contains("holds a hierarchy in v2"));
    folder.good("copy a.zarr plain.zarr --to v3 --codec none");
    assert!(!folder.good("info plain.zarr/a --json").text().contains("gzip"));
    folder.bad("copy nothing.zarr c.zarr", 3);
    assert!(!folder.path("c.zarr").exists());
}

/// The draft has one compressor, and no words for two codecs.
#[test]
fn copy_that_cannot_be_leaves_nothing() {
    let folder = Folder::new();
    folder.good("create a.zarr --shape 2,2 --dtype int32 --codec zlib --codec gzip");
    let why = folder.bad("copy a.zarr b.zarr --to draft-2020", 4);
    assert!(why.contains("more than one compressor"), "{why}");
    folder.bad("info b.zarr", 3);
    folder.good("copy a.zarr b.zarr --to draft-2020 --codec gzip");
}

#[test]
fn rm_erases_nodes_and_keeps_the_root() {
    let folder = Folder::new();
    for format in FORMATS {
        folder.table(format, format);
        folder.good(&format!("create {format}/g --group"));
        folder.good(&format!("create {format}/g/b --shape 2 --dtype int8"));
        assert!(folder.bad(&format!("rm {format}"), 2).contains("--all"));
        folder.bad(&format!("rm {format} --path nothing"), 3);
        folder.good(&format!("rm {format}/g/b"));
        assert_eq!(
            folder.good(&format!("tree {format}")).text(),
            "/\n├── a  int32 (4, 5)\n└── g\n"
        );
        folder.good(&format!("rm {format} --path /g"));
        folder.good(&format!("rm {format}/a"));
        assert_eq!(folder.good(&format!("tree {format}")).text(), "/\n");
        folder.good(&format!("rm {format} --all"));
        folder.bad(&format!("info {format}"), 3);
    }
}

#[test]
fn trace_tells_of_store_calls() {
    let folder = Folder::new();
    folder.table("t.zarr", "v3");
    let run = folder.run("get t.zarr/a --region 0,0 --trace");
    assert_eq!((run.code, run.text()), (0, "[[1]]\n"));
    assert!(run.err.lines().all(|line| line.starts_with("trace: ")), "{}", run.err);
    assert!(run.err.contains(" c/0/0: "), "{}", run.err);
    assert!(!run.err.contains(" c/1/"), "{}", run.err);
}

#[test]
fn detection_can_be_overridden() {
    let folder = Folder::new();
    folder.good("create t.zarr --format v3 --group --attr is=v3");
    folder.write("t.zarr/.zgroup", r#"{"zarr_format":2}"#);
    folder.write("t.zarr/.zattrs", r#"{"is":"v2"}"#);
    let run = folder.run("attrs t.zarr is");
    assert_eq!((run.code, run.text()), (0, "v3\n"));
    assert!(run.err.starts_with("warning: "), "{}", run.err);
    assert_eq!(folder.good("attrs t.zarr is --as v2").text(), "v2\n");
    folder.bad("info t.zarr --as draft-2020", 3);
}

#[test]
fn strict_refuses_what_is_tolerated() {
    let folder = Folder::new();
    folder.good("create t.zarr --format v2 --shape 2 --dtype float64");
    let document = fs::read_to_string(folder.path("t.zarr/.zarray")).unwrap();
    let document = document.replace("\"fill_value\": 0.0", "\"fill_value\": NaN");
    assert!(document.contains("NaN"), "{document}");
    folder.write("t.zarr/.zarray", document);
    let run = folder.run("get t.zarr");
    assert_eq!((run.code, run.text()), (0, "[\"NaN\",\"NaN\"]\n"));
    assert!(run.err.starts_with("warning: "), "{}", run.err);
    folder.bad("get t.zarr --strict", 5);
}

#[test]
fn demo_needs_nothing_and_proves_it() {
    let folder = Folder::new();
    let text = folder.good("demo --into 'my demo'").text().to_owned();
    assert!(text.contains("└── astronaut  uint8 (300, 300, 3) (y, x, channel)\n"), "{text}");
    let hash = "b7888957bf0a7ca150a1dc1d8159c5a474ad55e2322bea62cb1d1a505ff351f3";
    assert_eq!(text.matches(&format!("sha256 {hash} same\n")).count(), 3);
    assert!(text.contains("Equal, and equal to what zarr-python read."));
    // What it says to try next works.
    let next: Vec<&str> = text.lines().filter(|line| line.starts_with("  ")).collect();
    let get = next.iter().find(|line| line.contains("--format csv")).unwrap();
    let (_, words) = get.split_once(" get ").unwrap();
    let csv = folder.good(&format!("get {words}"));
    assert_eq!(csv.text().lines().count(), 6);
    assert!(folder.bad("demo --into 'my demo'", 2).contains("is not empty"));
}

/// F-014, Z2-072: copies are made, kept true, checked and taken away.
#[test]
fn consolidate_makes_copies_and_checks_them() {
    let folder = Folder::new();
    for format in ["v2", "v3", "draft-2020"] {
        let (name, document) = match format {
            "v2" => ("v2.zarr", "v2.zarr/a/.zarray"),
            "v3" => ("v3.zarr", "v3.zarr/a/zarr.json"),
            _ => ("draft.zarr", "draft.zarr/meta/root/a.array.json"),
        };
        folder.table(name, format);
        folder.bad(&format!("consolidate {name} --check"), 3);
        folder.good(&format!("consolidate {name}"));
        folder.good(&format!("consolidate {name} --check"));
        folder.good(&format!("attrs {name} --path /a --set k=1"));
        // By its own path, too.
        folder.good(&format!("attrs {name}/a --set k=2"));
        assert_eq!(folder.good(&format!("attrs {name} --path /a")).text(), "k: 2\n");
        assert_eq!(folder.good(&format!("attrs {name} --path /a --consolidated")).text(), "k: 2\n");
        folder.good(&format!("consolidate {name} --check"));
        // Another program writes the document alone.
        let text = std::fs::read_to_string(folder.path(document)).unwrap();
        folder.write(document, text.replace("gzip", "gzop").replace('5', "6"));
        let run = folder.run(&format!("consolidate {name} --check"));
        assert_eq!((run.code, run.text()), (1, "/a\n"), "{}", run.err);
        assert!(run.err.contains("out of date for 1 node"), "{}", run.err);
        let run = folder.run(&format!("info {name} --path /a --no-consolidated"));
        assert_eq!(run.err.contains("consolidate again"), run.code == 0, "{}", run.err);
        folder.write(document, text);
        folder.good(&format!("consolidate {name} --remove"));
        folder.bad(&format!("info {name} --consolidated"), 3);
    }
    folder.bad("consolidate v3.zarr --check --remove", 2);
    folder.bad("consolidate nowhere.zarr", 3);
}

/// What an interrupted erase left goes by the same command, which says what it erased.
#[test]
fn an_interrupted_rm_can_be_repeated() {
    let folder = Folder::new();
    for (format, document) in
        [("v3", "a/zarr.json"), ("v2", "a/.zarray"), ("draft-2020", "meta/root/a.array.json")]
    {
        folder.good(&format!("create {format} --format {format} --group"));
        for again in [format!("rm {format}/a"), format!("rm {format} --path a")] {
            let create =
                format!("create {format}/a --format {format} --shape 2 --dtype uint8 --chunks 1");
            folder.good(&create);
            assert_eq!(folder.feed(&format!("put {format}/a"), b"[8,9]").code, 0);
            std::fs::remove_file(folder.path(format).join(document)).expect("it was there");
            let told = folder.run(&again);
            assert_eq!(told.code, 0, "{}", told.err);
            assert!(
                told.err.contains("erased 2 keys left by an interrupted erase"),
                "{}",
                told.err
            );
            folder.bad(&again, 3);
            // The next array shows nothing of it.
            folder.good(&create);
            assert_eq!(folder.good(&format!("get {format}/a")).text(), "[0,0]\n");
            folder.good(&format!("rm {format} --path a"));
        }
    }
    // Of a whole hierarchy its own document went first.
    folder.good("create whole --shape 2 --dtype uint8 --chunks 1");
    assert_eq!(folder.feed("put whole", b"[8,9]").code, 0);
    std::fs::remove_file(folder.path("whole").join("zarr.json")).expect("it was there");
    folder.bad("rm whole", 2);
    let told = folder.run("rm whole --all");
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.err.contains("erased 2 keys left by an interrupted erase"), "{}", told.err);
    folder.bad("rm whole --all", 3);
}

/// The folder of a whole hierarchy goes with it, unless anything is left in it.
#[test]
fn a_hierarchy_is_erased_with_its_folder() {
    let folder = Folder::new();
    for (format, name) in [("v3", "a.zarr"), ("v2", "b.zarr"), ("draft-2020", "c.zarr")] {
        folder.good(&format!("create {name}/g/x --format {format} --shape 2 --dtype uint8"));
        folder.good(&format!("put {name} g/x --value 3"));
        folder.good(&format!("rm {name} --all"));
        assert!(!folder.path(name).exists(), "{name}");
        folder.good(&format!("create {name}/g/x --format {format} --shape 2 --dtype uint8"));
        folder.write(&format!("{name}/notes.txt"), "mine");
        folder.run(&format!("rm {name} --all"));
        assert!(folder.path(&format!("{name}/notes.txt")).exists(), "{name}");
    }
    // The folder that one is in stays.
    folder.good("create here.zarr/x --shape 2 --dtype uint8");
    let mut inside = folder.command("rm . --all");
    assert!(inside.current_dir(folder.path("here.zarr")).status().unwrap().success());
    assert!(folder.path("here.zarr").exists());
}

/// Names in the metadata of images and in CF attributes that a rename or an erase leaves behind are told, with commands that mend
/// them.
#[test]
fn names_of_what_is_gone_are_told_with_what_corrects_them() {
    let folder = Folder::new();
    let ome = r#"{"version":"0.5","multiscales":[{"axes":[{"name":"y","type":"space"},{"name":"x","type":"space"}],"datasets":[
        {"path":"0","coordinateTransformations":[{"type":"scale","scale":[1,1]}]},
        {"path":"1","coordinateTransformations":[{"type":"scale","scale":[2,2]}]}]}]}"#;
    let set = |target: &str, attribute: String| {
        let status = folder.command(&format!("attrs {target} --set")).arg(attribute).status();
        assert!(status.unwrap().success());
    };
    folder.good("create i.zarr --group");
    set("i.zarr", format!("ome={ome}"));
    folder.good("create i.zarr/0 --shape 8,8 --dtype uint8 --dims y,x");
    folder.good("create i.zarr/1 --shape 4,4 --dtype uint8 --dims y,x");
    folder.good("validate i.zarr");
    let advised = |said: &str| {
        let (_, command) = said.split_once("`zarr ").expect(said);
        command.split_once('`').expect(said).0.to_owned()
    };
    let told = folder.run("rename i.zarr/0 full");
    assert!(
        told.err.contains("`ome.multiscales.0.datasets.0.path` still names `0`"),
        "{}",
        told.err
    );
    folder.run("validate i.zarr");
    assert_ne!(folder.run("validate i.zarr").code, 0);
    folder.good(&advised(&told.err));
    folder.good("validate i.zarr");
    // As a shell takes it.
    let told = folder.run("rename i.zarr/full 'full size'");
    folder.good(&advised(&told.err));
    folder.good("validate i.zarr");
    let told = folder.run("rename i.zarr --path 'full size' full");
    folder.good(&advised(&told.err));
    let told = folder.run("rm i.zarr/1");
    folder.good(&advised(&told.err));
    folder.good("validate i.zarr");
    let names = folder.good("attrs i.zarr ome.multiscales.0.datasets.0.path");
    assert_eq!(names.text(), "full\n");
    // Advice that is followed later takes out what it names.
    let levels = ["full", "1", "2"].map(|path| {
        format!(
            r#"{{"path":"{path}","coordinateTransformations":[{{"type":"scale","scale":[1,1]}}]}}"#
        )
    });
    set("i.zarr", format!("ome.multiscales.0.datasets=[{}]", levels.join(",")));
    for level in ["1", "2"] {
        folder.good(&format!("create i.zarr/{level} --shape 4,4 --dtype uint8 --dims y,x"));
    }
    let [first, second] = ["1", "2"].map(|level| folder.run(&format!("rm i.zarr/{level}")).err);
    folder.good(&advised(&first));
    folder.good(&advised(&second));
    let left = folder.good("attrs i.zarr ome.multiscales.0.datasets --json");
    assert!(
        left.text().contains("full") && !left.text().contains(r#""path": "1""#),
        "{}",
        left.text()
    );
    folder.good("validate i.zarr");

    folder.good("create d.zarr/t --shape 2,3 --dtype float32 --dims y,x");
    folder.good("create d.zarr/lat --shape 2,3 --dtype float32 --dims y,x");
    set("d.zarr/t", "coordinates=lat lon".into());
    let told = folder.run("rename d.zarr/lat latitude");
    assert!(told.err.contains("/t: `coordinates` still names `lat`"), "{}", told.err);
    // Nothing names this one.
    folder.good("rename d.zarr/t u");
}

/// A new array with another length of a dimension is made, and xarray's trouble with it foretold.
#[test]
fn a_new_array_with_another_length_of_a_dimension_is_told() {
    let folder = Folder::new();
    folder.good("create d.zarr/t --shape 6,4 --dtype float32 --dims time,lat");
    folder.good("create d.zarr/time --shape 6 --dtype float64 --dims time");
    let told = folder.run("create d.zarr/lat --shape 5 --dtype float64 --dims lat");
    assert!(told.err.contains("dimension `lat` is 5 long here, but 4 in /t"), "{}", told.err);
    let told = folder.run("create d.zarr/u --shape 9,2 --dtype float32 --dims time,other");
    assert!(told.err.contains("dimension `time` is 9 long here, but 6 in /time"), "{}", told.err);
    folder.good("create d.zarr/v --shape 6,2 --dtype float32 --dims time,other");
}

/// What is below an array are its chunks, and no node that an erase has left.
#[test]
fn nothing_below_an_array_is_erased() {
    let folder = Folder::new();
    for (name, options, below) in [
        ("a.zarr", "", &["c", "c/0", "c/0/1"][..]),
        ("b.zarr", "--format v2 --separator /", &["0", "0/1"]),
        ("c.zarr", "--format draft-2020", &["c0", "c0/1"]),
        ("d.zip", "", &["c", "c/0"]),
    ] {
        let create = format!("create {name} x --shape 4,4 --chunks 2,2 --dtype int32 {options}");
        folder.good(&create);
        folder.good(&format!("put {name} x --value 7"));
        for consolidated in [false, true] {
            if consolidated && !name.starts_with('c') {
                folder.good(&format!("consolidate {name}"));
            }
            for path in below {
                assert_ne!(folder.run(&format!("rm {name} --path x/{path}")).code, 0, "{path}");
                assert_ne!(folder.run(&format!("rm {name}/x/{path}")).code, 0, "{path}");
                let overwrite = format!("create {name} --path x/{path} --group --overwrite");
                assert_ne!(folder.run(&overwrite).code, 0, "{path}");
                let elements = folder.good(&format!("get {name} x --format csv"));
                assert_eq!(elements.text(), "7,7,7,7\n".repeat(4), "{name} {path}");
            }
        }
    }
}

/// Attributes that were text are not turned into numbers without a word, and a member that OME-Zarr 0.5 has in `ome` is not set beside it.
#[test]
fn attributes_keep_their_meaning_or_it_is_told() {
    let folder = Folder::new();
    folder.good("create d.zarr/t --shape 2 --dtype float32 --attr units=K");
    let told = folder.run("attrs d.zarr/t --set units=1");
    assert!(told.err.contains("`units` was text and becomes a number"), "{}", told.err);
    folder.good("create i.zarr --group --attr ome={\"omero\":{\"channels\":[{\"label\":\"a\"}]}}");
    let told = folder.bad("attrs i.zarr --set omero.channels.0.label=b", 1);
    assert!(told.contains("did you mean `ome.omero.channels.0.label`?"), "{told}");
    folder.good("attrs i.zarr --set ome.omero.channels.0.label=b");
    assert_eq!(folder.good("attrs i.zarr ome.omero.channels.0.label").text(), "b\n");
}

/// xarray opens an array of v3 only with `_FillValue` in its own form (base64 of a double).
#[test]
fn fill_attributes_are_written_as_xarray_takes_them() {
    let folder = Folder::new();
    folder.good("create d.zarr/t --shape 2 --dtype float32 --dims x --attr _FillValue=-999");
    let expected = "AAAAAAA4j8A=\n";
    assert_eq!(folder.good("attrs d.zarr/t _FillValue").text(), expected);
    folder.good("attrs d.zarr/t --delete _FillValue");
    folder.good("attrs d.zarr/t --set _FillValue=-999");
    assert_eq!(folder.good("attrs d.zarr/t _FillValue").text(), expected);
    folder.good("create d.zarr/n --shape 2 --dtype int16 --dims x --attr _FillValue=-999");
    assert_eq!(folder.good("attrs d.zarr/n _FillValue").text(), "-999\n");
    folder.good("create v2.zarr/t --format v2 --shape 2 --dtype float32 --attr _FillValue=-999");
    assert_eq!(folder.good("attrs v2.zarr/t _FillValue").text(), "-999\n");
    assert!(!folder.good("validate d.zarr").text().contains("fill_attribute"));
    // Another program wrote it as a number.
    let document = folder.path("d.zarr/t/zarr.json");
    let text = std::fs::read_to_string(&document).unwrap();
    std::fs::write(&document, text.replace("\"AAAAAAA4j8A=\"", "-999.0")).unwrap();
    let found = folder.good("validate d.zarr");
    assert!(found.text().contains("note: /t, `t/zarr.json`: fill_attribute: "), "{}", found.text());
}

/// Numbers that are put into an array of packed ones are told to be stored as they are.
#[test]
fn packed_arrays_say_that_numbers_are_not_packed() {
    let folder = Folder::new();
    folder.good("create d.zarr/t --shape 2 --dtype int16 --dims x --attr scale_factor=0.5");
    let told = folder.run("put d.zarr/t --value 290");
    assert!(told.code == 0 && told.err.contains("`scale_factor`"), "{}", told.err);
    let told = folder.feed("put d.zarr/t", b"[1, 2]");
    assert!(told.code == 0 && told.err.is_empty(), "{}", told.err);
}

/// The root's document is written back as that of a group: nodes are below it.
#[test]
fn a_lost_root_is_repaired() {
    let folder = Folder::new();
    folder.good("create r.zarr/t --shape 4 --dtype float32");
    std::fs::remove_file(folder.path("r.zarr/zarr.json")).unwrap();
    assert!(folder.run("validate r.zarr").text().contains("`zarr repair --apply` writes it"));
    folder.good("repair r.zarr --apply");
    folder.good("validate r.zarr");
    assert_eq!(folder.good("ls r.zarr").text(), "t\n");
}

/// A hierarchy of the other format inside a group is not its own: other readers pass over it.
#[test]
fn hierarchies_of_another_format_inside_stay() {
    for (outer, inner) in [("v2", "v3"), ("v3", "v2")] {
        let folder = Folder::new();
        let create = |path: &str, format: &str| {
            folder.good(&format!(
                "create {path} --format {format} --shape 4 --chunks 2 --dtype int8"
            ));
            folder.feed(&format!("put {path}"), b"[1,2,3,4]");
        };
        create("x.zarr/g/a", outer);
        create("in.zarr/b", inner);
        fs::rename(folder.path("in.zarr"), folder.path("x.zarr/g/in")).unwrap();
        folder.run("repair x.zarr --orphans --apply");
        assert_eq!(folder.good("get x.zarr/g/in/b").text(), "[1,2,3,4]\n", "{outer}");
        let told = folder.run("rm x.zarr/g");
        assert_eq!(told.code, 0, "{}", told.err);
        assert!(told.err.contains("in/b"), "{outer}: {}", told.err);
        assert_eq!(folder.good("get x.zarr/g/in/b").text(), "[1,2,3,4]\n", "{outer}");
        folder.bad("info x.zarr/g/a", 3);
    }
}
