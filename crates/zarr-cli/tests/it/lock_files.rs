//! No command leaves a lock file in a folder that it wrote to: other libraries list these folders.

use std::fs;
use std::path::Path;

use crate::common::{FORMATS, Folder};

fn lock_files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(lock_files(&path));
        } else if path.to_string_lossy().contains(".zarr-") {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn no_command_leaves_a_lock_file() {
    let folder = Folder::new();
    let is_clean = |command: &str| {
        assert_eq!(lock_files(&folder.path(".")), [""; 0], "after `{command}`");
    };
    for (n, format) in FORMATS.iter().enumerate() {
        let create = format!(
            "create {n}.zarr --path g/a --format {format} --shape 4,4 --chunks 2,2 --dtype int16"
        );
        folder.good(&create);
        is_clean(&create);
        folder.feed(&format!("put {n}.zarr --path g/a --region 0:2,0:3"), b"[[1,2,3],[4,5,6]]");
        is_clean("put");
        let copy = format!("copy {n}.zarr {n}-copy.zarr");
        assert_eq!(folder.run(&copy).code, 0, "{copy}");
        is_clean(&copy);
        for rest in
            ["attrs N.zarr --path g/a --set k=1", "consolidate N.zarr", "rm N.zarr --path g/a"]
        {
            let command = rest.replace('N', &n.to_string());
            folder.run(&command);
            is_clean(&command);
        }
    }
}
