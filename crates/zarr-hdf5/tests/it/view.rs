//! How files look as Zarr.

use serde_json::Value as Json;
use zarr_hdf5::zarr_view::{EntryKind, Location, Tree};
use zarr_hdf5::{Blocks, Storage};

use crate::common::files;

/// The blocks and the tree of a file.
fn open(bytes: &[u8]) -> (Blocks, Tree) {
    let blocks = Blocks::whole(bytes.to_vec());
    let file = zarr_hdf5::File::parse(&blocks).expect("it is HDF5");
    (blocks, Tree::new(file))
}

/// The paths of all groups and arrays, and of what is left out.
fn paths(blocks: &Blocks, tree: &mut Tree) -> Vec<(String, EntryKind)> {
    let mut found = vec![("/".to_owned(), EntryKind::Group)];
    let mut next = 0;
    while let Some((path, kind)) = found.get(next).cloned() {
        next += 1;
        if kind == EntryKind::Group {
            for entry in tree.children(blocks, &path).expect("it is read").expect("it is a group") {
                found.push((zarr_hdf5::walk::join(&path, &entry.name), entry.kind));
            }
        }
    }
    found
}

fn by_name(name: &str) -> (Vec<u8>, Json) {
    let found = files().into_iter().find(|(path, ..)| path.file_stem().is_some_and(|n| n == name));
    let (_, bytes, json) = found.expect("there is such a file");
    (bytes, json)
}

#[test]
fn netcdf_variables_have_netcdf_dimensions() {
    let (bytes, expected) = by_name("netcdf");
    let (blocks, mut tree) = open(&bytes);
    let mut variables = serde_json::Map::new();
    for (path, kind) in paths(&blocks, &mut tree) {
        if kind == EntryKind::Array {
            let array = tree.array(&blocks, &path).expect("it is read");
            let names: Vec<Json> =
                array.dimension_names.iter().map(|n| serde_json::json!(n)).collect();
            variables.insert(path, serde_json::json!([names, array.grid.shape]));
        }
    }
    assert_eq!(Json::Object(variables), expected["variables"]);
}

#[test]
fn every_document_is_json() {
    for (path, bytes, _) in files() {
        let (blocks, mut tree) = open(&bytes);
        let mut arrays = 0;
        for (name, kind) in paths(&blocks, &mut tree) {
            let document = match kind {
                EntryKind::Group => {
                    let attributes = tree.group(&blocks, &name).expect("it is read");
                    zarr_hdf5::zarr_view::group_document(attributes)
                }
                EntryKind::Array => {
                    arrays += 1;
                    tree.array(&blocks, &name).expect("it is read").document()
                }
                EntryKind::LeftOut(_) | EntryKind::Dimension => continue,
                EntryKind::Damaged(error) => panic!("{}: {error}", path.display()),
            };
            // Python's tokens in attributes are no JSON.
            let document = document.replace("NaN", "null").replace("Infinity", "null");
            let parsed: Result<Json, _> = serde_json::from_str(&document);
            assert!(parsed.is_ok(), "{} {name}: {document}", path.display());
        }
        assert!(arrays > 0 || path.to_string_lossy().contains("groups"), "{}", path.display());
    }
}

#[test]
fn located_chunks_are_those_of_the_index() {
    for name in ["earliest", "v110", "v114", "v200"] {
        let (bytes, _) = by_name(name);
        let (blocks, mut tree) = open(&bytes);
        for path in ["/layouts/sparse", "/layouts/both", "/layouts/columns", "/filters/edges"] {
            let array = tree.array(&blocks, path).expect("it is read");
            let Storage::Chunked(storage) = &array.dataset.storage else { panic!("it has chunks") };
            let counts = array.grid.counts();
            for row in 0..counts[0] {
                for column in 0..counts[1] {
                    let stored =
                        tree.file().chunk(&blocks, storage, &[row, column]).expect("it is read");
                    let located =
                        array.locate(tree.file(), &blocks, &[row, column]).expect("it is read");
                    match (stored, located) {
                        (None, Location::Absent) => {}
                        (
                            Some(chunk),
                            Location::Range { offset, length }
                            | Location::Skipped { offset, length, .. },
                        ) => assert_eq!((chunk.address, chunk.length), (offset, length)),
                        (stored, located) => panic!("{path}: {stored:?}, {located:?}"),
                    }
                }
            }
        }
    }
}

#[test]
fn second_names_are_found_and_circles_are_not() {
    let (bytes, _) = by_name("v110");
    let (blocks, mut tree) = open(&bytes);
    let mut kind = |path: &str| tree.kind(&blocks, path).expect("it is read");
    assert_eq!(kind("/links/soft"), Some(EntryKind::Group));
    assert_eq!(kind("/links/soft/c"), Some(EntryKind::Group));
    assert_eq!(kind("/links/absolute"), Some(EntryKind::Array));
    assert_eq!(kind("/links/second"), Some(EntryKind::Group));
    assert_eq!(kind("/links/dangling"), None);
    assert_eq!(kind("/links/external"), None);
    assert_eq!(kind("/links/a/b/up"), None);
    assert_eq!(kind("/links/日本 é"), Some(EntryKind::Array));
}
