//! The program knows netCDF datasets.

use crate::common::Folder;

/// A dataset of plain Zarr, as xarray writes them.
fn plain(folder: &Folder) {
    folder.good("create m.zarr --format v3 --group --path /g");
    let options = "--path /g/t --shape 2,3 --chunks 1,3 --dtype float32 --codec gzip:1";
    folder.good(&format!("create m.zarr {options} --dims time,x"));
    folder.good("attrs m.zarr --path /g/t --set units=K");
    folder.good("create m.zarr --path /half --shape 2 --dtype float16");
}

fn text_of(folder: &Folder, name: &str) -> String {
    std::fs::read_to_string(folder.path(name)).unwrap()
}

/// Dimensions, types and attributes go along; what cannot be kept is told, and refused with `--strict`.
#[test]
fn copy_makes_netcdf_datasets() {
    let folder = Folder::new();
    plain(&folder);
    let run = folder.run("copy m.zarr nc.zarr --to nczarr-v2 --skip-unsupported");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.starts_with("skipped: /half: "), "{}", run.err);
    let text = folder.good("info nc.zarr --path /g/t");
    let line = "netCDF       float t(/g/time, /g/x), nczarr profile";
    assert!(text.text().contains(line), "{}", text.text());
    let text = folder.good("info nc.zarr --path /g");
    assert!(text.text().contains("dimensions   time = 2\n             x = 3\n"), "{}", text.text());
    assert!(folder.good("tree nc.zarr").text().contains("t  float32 (2, 3) (time, x)"));
    assert!(text_of(&folder, "nc.zarr/g/t/.zarray").contains("\"id\": \"zlib\""));
    let netcdf = folder.good("info nc.zarr --path /g/t --json").json();
    let netcdf = netcdf.as_object().unwrap().get("netcdf").unwrap().to_string();
    assert_eq!(netcdf, r#"{"profile":"nczarr","type":"float","dimensions":["/g/time","/g/x"]}"#);
    // The URLs of netCDF's users, and back to plain Zarr.
    folder.good("copy 'nc.zarr#mode=nczarr,file' 'nc.zip#mode=nczarr,zip' --to nczarr-v3");
    let run = folder.good("copy nc.zip back.zarr --to zarr-v3");
    assert!(run.out.is_empty());
    let same = |path: &str| folder.good(&format!("get {path} --path /g/t --format raw")).out;
    assert_eq!(same("back.zarr"), same("m.zarr"));
}

#[test]
fn copy_refuses_before_it_writes() {
    let folder = Folder::new();
    plain(&folder);
    let run = folder.run("copy m.zarr nc.zarr --to nczarr-v2 --strict");
    assert_eq!(run.code, 4, "{}", run.err);
    assert!(run.err.contains("/half"), "{}", run.err);
    assert!(!folder.path("nc.zarr").exists());
    let run = folder.run("copy m.zarr nc.zarr --to nczarr-v2 --shards 2,3");
    assert_eq!(run.code, 2);
    let run = folder.run("copy m.zarr m.zarr --to nczarr-v2 --skip-unsupported");
    assert_eq!(run.code, 2, "{}", run.err);
    assert!(run.err.contains("already exists"), "{}", run.err);
    assert_eq!(folder.run("copy none.zarr nc.zarr --to nczarr-v3").code, 3);
}

/// N-112: what is made of a text is what the mode says, and every reading command takes a URL with one.
#[test]
fn modes_say_what_is_made_and_read() {
    let folder = Folder::new();
    let cdl =
        "netcdf d {\ndimensions:\n\tx = 2 ;\nvariables:\n\tshort v(x) ;\ndata:\n\n v = 1, 2 ;\n}\n";
    std::fs::write(folder.path("d.cdl"), cdl).unwrap();
    for (name, mode, document, holds) in [
        ("a", "mode=nczarr,file", ".zattrs", "_nczarr_superblock"),
        ("b", "nczarr&mode=v3", "zarr.json", "\"3.0.0\""),
        ("c", "zarr", "v/.zattrs", "_ARRAY_DIMENSIONS"),
        ("d", "mode=zarr,v3", "v/zarr.json", "dimension_names"),
        ("e", "mode=nczarr,consolidated", ".zmetadata", "_nczarr_superblock"),
    ] {
        let url = format!("{name}#{mode}");
        folder.good(&format!("gen d.cdl -o {name}#{mode}"));
        assert!(text_of(&folder, &format!("{name}/{document}")).contains(holds), "{url}");
        assert_eq!(folder.good(&format!("dump -n d {url}")).text(), cdl, "{url}");
        assert_eq!(folder.good(&format!("get {url} --path v")).text(), "[1,2]\n");
        assert!(folder.good(&format!("tree {url}")).text().contains("v  int16 (2,)"), "{url}");
        assert!(folder.good(&format!("info {url} --path v")).text().contains("shape"), "{url}");
    }
    // Without the names of dimensions (N-096).
    folder.good("gen d.cdl -o f#mode=zarr,noxarray");
    assert!(folder.path("f/v/.zarray").exists() && !folder.path("f/v/.zattrs").exists());
    assert!(folder.good("dump -h c#noxarray").text().contains("v(_Anonymous_Dim_2)"));
    assert!(folder.good("dump -h a#mode=nczarr,noxarray").text().contains("v(x)"));
    folder.good("gen d.cdl -o g.zip#mode=nczarr,zip");
    assert_eq!(folder.good("get g.zip#mode=nczarr,zip --path v").text(), "[1,2]\n");
    for wrong in
        ["gen d.cdl -o h#mode=zarr --format nczarr-v3", "copy a h#mode=zarr --to nczarr-v2"]
    {
        assert_eq!(folder.run(wrong).code, 2, "{wrong}");
    }
    assert_eq!(folder.run("gen d.cdl -o h#mode=nczarr,what").code, 2);
    assert_eq!(folder.run("gen d.cdl -o a#mode=nczarr").code, 2);
    assert_eq!(folder.run("dump none#mode=nczarr").code, 3);
}

/// N-081: characters of netcdf-c 4.8 and 4.9.0, which say `<U1` and have one byte each, are read as plain Zarr, too. The
/// documents are those that 4.9.0 wrote, as NCZarr and as plain Zarr.
#[test]
fn characters_of_old_netcdf_are_read_and_copied() {
    let folder = Folder::new();
    let array = |more: &str| {
        format!(
            r#"{{"zarr_format": 2, "shape": [2, 3], "dtype": "<U1", "chunks": [2, 3], "fill_value": "", "order": "C", "compressor": null, "filters": null{more}}}"#
        )
    };
    let said = r#", "_NCZARR_ARRAY": {"dimrefs": ["/lat","/lon"], "storage": "chunked"}"#;
    let root = r#"{"zarr_format": 2, "_NCZARR_SUPERBLOCK": {"version": "2.0.0"}, "_NCZARR_GROUP": {"dims": {"lat": 2, "lon": 3}, "vars": ["code"], "groups": []}}"#;
    let writer = r#"{"_NCProperties": "version=2,netcdf=4.9.0,nczarr=2.0.0"}"#;
    for (name, root, more) in [("old", root, said), ("plain", r#"{"zarr_format": 2}"#, "")] {
        std::fs::create_dir_all(folder.path(&format!("{name}/code"))).unwrap();
        folder.write(&format!("{name}/.zgroup"), root);
        folder.write(&format!("{name}/.zattrs"), writer);
        folder.write(&format!("{name}/code/.zarray"), array(more));
        folder.write(&format!("{name}/code/0.0"), "abcde\0");
        let read = folder.good(&format!("get {name} --path code")).text().to_owned();
        if name == "old" {
            // By itself the array tells only what its own document says.
            folder.good(&format!("get {name}/code --region 0,0"));
        }
        assert!(read.contains('a') && read.contains('e'), "{name}: {read}");
        let info = folder.good(&format!("info {name} --path code --stored")).text().to_owned();
        assert!(info.contains("|S1") || info.contains(">S1"), "{info}");
        for to in ["v2", "nczarr-v2", "nczarr-v3"] {
            folder.good(&format!("copy {name} {name}-{to} --to {to}"));
            let copied = folder.good(&format!("dump {name}-{to}")).text().to_owned();
            assert!(copied.contains('a') && copied.contains('e'), "{name} {to}: {copied}");
        }
        let again = folder.good(&format!("get {name}-v2 --path code")).text().to_owned();
        assert_eq!(again, read, "{name}");
    }
}

/// A netCDF file of `tests/data/netcdf`.
fn file(folder: &Folder, name: &str) {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/netcdf");
    folder.write(name, std::fs::read(format!("{data}/{name}")).unwrap());
}

/// What netCDF says of a file, and its documents in Zarr do not, is in a copy that has words for it. The files are netCDF4-python's.
#[test]
fn a_netcdf_file_keeps_its_unlimited_dimensions_and_types_as_nczarr() {
    let folder = Folder::new();
    for name in ["4.nc", "3.nc"] {
        file(&folder, name);
        for to in ["nczarr-v2", "nczarr-v3"] {
            let copy = format!("{name}-{to}");
            let run = folder.run(&format!("copy {name} {copy} --to {to}"));
            assert_eq!(run.code, 0, "{copy}: {}", run.err);
            assert!(!run.err.contains("not kept"), "{copy}: {}", run.err);
            // A bare NaN stays in v3, with a warning.
            let cdl = folder.run(&format!("dump {copy}")).text().to_owned();
            for line in [
                "t = UNLIMITED ; // (2 currently)",
                "c = 3 ;",
                "x:valid_min = 0.1f ;",
                "x:flag = 3b ;",
                "x:missing_value = NaNf ;",
                "x:units = \"m\" ;",
                "char name(t, c) ;",
                ":level = 7s ;",
                "x = 1, 2 ;",
                "\"abc\",",
                "\"de\" ;",
            ] {
                assert!(cdl.contains(line), "{copy}: {line} in {cdl}");
            }
        }
        let document = text_of(&folder, &format!("{name}-nczarr-v2/name/.zarray"));
        assert!(document.contains("\">S1\""), "{document}");
        // An unlimited dimension grows.
        folder.good(&format!("copy {name}-nczarr-v2 more --to nczarr-v2"));
        folder.good(&format!("append {name}-nczarr-v2 more --axis t"));
        let grown = folder.good(&format!("get {name}-nczarr-v2/x")).text().to_owned();
        assert_eq!(grown, "[1.0,2.0,1.0,2.0]\n", "{name}");
        folder.good("rm more --all");
    }
}

/// Dimensions that no variable has are in a copy to NCZarr, and named where other copies do not have them.
#[test]
fn dimensions_of_a_netcdf_file_that_no_variable_has_are_kept_or_named() {
    let folder = Folder::new();
    for (name, unused) in [
        ("unused-4.nc", &["/spare", "/records", "/g/inner"][..]),
        ("unused-3.nc", &["/spare", "/records"]),
    ] {
        file(&folder, name);
        for to in ["nczarr-v2", "nczarr-v3"] {
            let run = folder.run(&format!("copy {name} {name}-{to} --to {to} --strict"));
            assert_eq!(run.code, 0, "{name} {to}: {}", run.err);
            let cdl = folder.good(&format!("dump {name}-{to}")).text().to_owned();
            let inner = name.contains('4').then_some("inner = 4 ;");
            let lines = ["x = 3 ;", "spare = 2 ;", "records = UNLIMITED ; // (0 currently)"];
            for line in lines.into_iter().chain(inner) {
                assert_eq!(cdl.matches(line).count(), 1, "{name} {to}: {line} in {cdl}");
            }
        }
        for to in ["v2", "v3", "draft-2020", "zarr-v2", "zarr-v3"] {
            let copy = format!("{name}-{to}");
            let run = folder.run(&format!("copy {name} {copy} --to {to}"));
            assert_eq!(run.code, 0, "{copy}: {}", run.err);
            let told: Vec<&str> = run
                .err
                .lines()
                .filter(|line| line.contains("no variable has this dimension"))
                .collect();
            assert_eq!(told.len(), unused.len(), "{copy}: {}", run.err);
            for dimension in unused {
                let start = format!("not kept: {dimension}: ");
                assert!(told.iter().any(|line| line.starts_with(&start)), "{copy}: {}", run.err);
            }
            folder.bad(&format!("copy {name} {copy}-strict --to {to} --strict"), 4);
        }
    }
}

/// The documents of a file are made for it: of a sound one nothing is wrong, and nothing is advised that a file cannot have.
#[test]
fn a_sound_netcdf_file_has_no_problems() {
    let folder = Folder::new();
    for name in ["4.nc", "3.nc"] {
        file(&folder, name);
        let run = folder.run(&format!("validate {name}"));
        assert_eq!(run.code, 0, "{name}: {}{}", run.text(), run.err);
        assert!(run.text().contains("no problems found"), "{name}: {}", run.text());
        let tree = folder.run(&format!("tree {name}"));
        assert!(!tree.err.contains("left out"), "{name}: {}", tree.err);
    }
}

const CDL: &[u8] = b"netcdf x { dimensions: t = UNLIMITED ; x = 3 ; n = 2 ;
variables: float a(t, x) ; char name(n) ; string text(n) ; int scalar ; short as_said(x) ; as_said:_DeflateLevel = 1 ;
    short plain(x) ; plain:_Storage = \"chunked\" ;
data: a = 1, 2, 3, 4, 5, 6 ; name = \"ab\" ; text = \"k\", \"l\" ; scalar = 7 ; as_said = 1, 2, 3 ; plain = 1, 2, 3 ; }";

/// The codecs of a variable, as `info --json` names them.
fn codecs(folder: &Folder, array: &str) -> String {
    let info = folder.good(&format!("info {array} --json")).json();
    info.as_object().unwrap().get("codecs").unwrap().to_string()
}

/// Variables are compressed where the CDL does not say how: as netCDF's programs do, or in plain Zarr as its other writers do.
#[test]
fn new_variables_are_compressed() {
    let folder = Folder::new();
    let generate = |options: &str| {
        let run = folder.feed(&format!("gen -o {options}"), CDL);
        assert_eq!(run.code, 0, "{options}: {}", run.err);
    };
    for (format, of_a, of_text) in [
        ("nczarr-v3", &["numcodecs.shuffle", "numcodecs.zlib", "4"][..], &["numcodecs.zlib"][..]),
        ("nczarr-v2", &["shuffle", "zlib", "4"], &["zlib"]),
        ("zarr-v3", &["zstd", "3"], &["zstd"]),
        ("zarr-v2", &["blosc", "zstd", "3"], &["blosc"]),
    ] {
        generate(&format!("{format}.zarr --format {format}"));
        let a = codecs(&folder, &format!("{format}.zarr/a"));
        assert!(of_a.iter().all(|part| a.contains(part)), "{format}: {a}");
        let text = codecs(&folder, &format!("{format}.zarr/text"));
        assert!(of_text.iter().all(|part| text.contains(part)), "{format}: {text}");
        assert!(!text.contains("shuffle\"") || format == "zarr-v2", "{format}: {text}");
        let all = ["zlib", "zstd", "blosc", "shuffle"];
        for name in ["scalar", "plain"] {
            let found = codecs(&folder, &format!("{format}.zarr/{name}"));
            assert!(!all.iter().any(|codec| found.contains(codec)), "{format}: {name}: {found}");
        }
        let as_said = codecs(&folder, &format!("{format}.zarr/as_said"));
        assert!(as_said.contains("zlib") && as_said.contains('1'), "{format}: {as_said}");
        let dump = folder.good(&format!("dump {format}.zarr")).text().to_owned();
        assert!(dump.contains("4, 5, 6 ;") && dump.contains("\"k\", \"l\""), "{format}: {dump}");
    }
    generate("none.zarr --codec none");
    let none = codecs(&folder, "none.zarr/a");
    assert!(!none.contains("zlib") && !none.contains("shuffle"), "{none}");
    generate("chosen.zarr --codec shuffle:4 --codec zstd:9 --format nczarr-v2");
    let chosen = codecs(&folder, "chosen.zarr/a");
    assert!(chosen.contains("zstd") && chosen.contains('9'), "{chosen}");
    let refused = folder.feed("gen -o no.zarr --codec lz4 --format nczarr-v2", CDL);
    assert!(refused.code == 4 && refused.err.contains("netCDF's filters are"), "{}", refused.err);
    assert!(!folder.path("no.zarr").exists());
}

/// netcdf-c opens no dataset whose group lists an array that does not exist (N-032).
#[test]
fn a_selection_of_a_dataset_lists_what_it_has() {
    let folder = Folder::new();
    for format in ["nczarr-v3", "nczarr-v2"] {
        let run = folder.feed(&format!("gen -o {format}.zarr --format {format}"), CDL);
        assert_eq!(run.code, 0, "{}", run.err);
        folder.good(&format!("copy {format}.zarr {format}-a.zarr --select a,name"));
        let dump = folder.run(&format!("dump -h {format}-a.zarr"));
        assert_eq!((dump.code, &dump.err[..]), (0, ""), "{format}");
        assert!(dump.text().contains("float a(t, x)") && !dump.text().contains("scalar"));
    }
}
