//! A site's own program knows the site's extensions.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use crate::common::{Folder, Run};
use zarr::data_type::CoreType;
use zarr::{Dialect, OpenOptions};
use zarr_example_extension::{OffsetGrid, run_length};

/// Runs the example `site`, which is built with the tests of this crate.
fn site(folder: &Folder, line: &str) -> Run {
    let built = Path::new(env!("CARGO_BIN_EXE_zarr")).with_file_name("examples").join("site");
    let built = built.with_extension(std::env::consts::EXE_EXTENSION);
    assert!(built.exists(), "build it with `cargo build -p zarr-cli --example site`");
    let mut command = Command::new(built);
    let output =
        command.current_dir(folder.path("")).args(line.split_whitespace()).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(!err.contains("panicked"), "{err}");
    Run { code: output.status.code().unwrap_or(-1), out: output.stdout, err }
}

fn good(folder: &Folder, line: &str) -> String {
    let run = site(folder, line);
    assert_eq!((run.code, &*run.err), (0, ""), "site {line}");
    run.text().to_owned()
}

#[test]
fn what_the_site_writes_only_the_site_reads() {
    let folder = Folder::new();
    let array = "--shape 4 --dtype int16 --fill 5";
    good(&folder, &format!("create x.zarr --path a {array} --codec {}", run_length::URI));
    assert_eq!(good(&folder, "get x.zarr/a"), "[5,5,5,5]\n");
    good(&folder, "copy x.zarr pack://y.pack");
    assert_eq!(good(&folder, "get pack://y.pack --path a"), "[5,5,5,5]\n");
    let info = folder.good("info x.zarr/a").text().to_owned();
    assert!(info.contains("unsupported  codec `https://example.org/"), "{info}");
    assert!(folder.bad("get x.zarr/a", 4).contains("run-length"));
    assert!(folder.bad("tree pack://y.pack", 2).contains("no store is registered for `pack://`"));
}

#[test]
fn arrays_with_chunks_of_negative_index_are_shown() {
    let folder = Folder::new();
    for dialect in [Dialect::V3, Dialect::Draft] {
        let name = format!("{dialect}.zarr");
        let place = folder.path(&name);
        let options = OpenOptions::new(zarr::standard().with(zarr_example_extension::register));
        let hierarchy = zarr::create_with(place.to_str().unwrap(), dialect, &options).unwrap();
        let grid = OffsetGrid::new(&[4], &[0], &[5]).unwrap();
        let array = hierarchy.create_array("/a").shape(&[5]);
        let array = array.data_type(CoreType::Int32).grid(Arc::new(grid)).create().unwrap();
        array.write(.., &[1i32, 2, 3, 4, 5]).unwrap();
        array.prepend(0, &[-1i32, 0]).unwrap();
        assert_eq!(good(&folder, &format!("tree {name}")), "/\n└── a  int32 (7,)\n");
        let info = good(&folder, &format!("info {name} --path a"));
        assert!(info.contains("chunks       4: 3 chunks of 16 B"), "{info}");
        assert_eq!(good(&folder, &format!("get {name} --path a")), "[-1,0,1,2,3,4,5]\n");
        good(&folder, &format!("copy {name} copy-{name} --to v2"));
        assert_eq!(folder.good(&format!("get copy-{name} --path a")).text(), "[-1,0,1,2,3,4,5]\n");
        let info = folder.good(&format!("info {name} --path a")).text().to_owned();
        assert!(info.contains("unsupported  chunk grid `https://example.org/"), "{info}");
        assert!(folder.good(&format!("tree {name}")).text().contains("── a"));
        assert!(folder.bad(&format!("get {name} --path a"), 4).contains("chunk grid"));
        good(&folder, &format!("rm {name} --path a"));
        assert_eq!(good(&folder, &format!("tree {name}")), "/\n");
    }
}
