//! Does the program know netCDF datasets?

mod common;

use common::Folder;

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
    let run = folder.run("copy m.zarr nc.zarr --to nczarr-v2");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("not kept: /half: "), "{}", run.err);
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
    let run = folder.run("copy m.zarr nc.zarr --to nczarr-v2 --chunks 1,1");
    assert_eq!(run.code, 2);
    let run = folder.run("copy m.zarr m.zarr --to nczarr-v2");
    assert_eq!(run.code, 2, "{}", run.err);
    assert!(run.err.contains("is there already"), "{}", run.err);
    assert_eq!(folder.run("copy none.zarr nc.zarr --to nczarr-v3").code, 3);
}
