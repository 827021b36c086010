//! Compares Icechunk repositories of both versions with what icechunk reads.

use zarr_core::{Json, Node};

use crate::common::{Noise, check_array, data, expected, open, options};

const REPOSITORIES: [&str; 2] = ["ice1", "ice2"];

#[test]
fn every_branch_tag_and_snapshot_is_as_icechunk_reads_it() {
    let all = expected("icechunk.json");
    for repository in REPOSITORIES {
        for (wanted, described) in all[repository].as_object().unwrap().iter() {
            let url = format!("icechunk://{wanted}::{}", data(repository).display());
            let hierarchy = open(&url, &options()).unwrap();
            let described = described.as_object().unwrap();
            for (path, described) in described.iter() {
                check_array(&hierarchy.array(path).unwrap(), described);
            }
            assert_eq!(described.len(), 3);
        }
    }
}

#[test]
fn a_repository_is_found_by_its_files() {
    for repository in REPOSITORIES {
        let hierarchy = open(&data(repository).display().to_string(), &options()).unwrap();
        let root = hierarchy.root().unwrap();
        assert_eq!(root.attributes()["title"], Json::from("Icechunk"));
        let names: Vec<String> =
            root.members().unwrap().iter().map(|node| node.path().as_str().to_owned()).collect();
        assert_eq!(names, ["/a", "/scalar"]);
        let Node::Group(a) = hierarchy.node("/a").unwrap() else { panic!("a group") };
        assert_eq!(a.members().unwrap().len(), 2);
        let small = hierarchy.array("a/small").unwrap();
        assert_eq!(small.stored_chunks().unwrap(), 6);
        let inside = data(repository).join("a/small").display().to_string();
        assert!(zarr_core::Hierarchy::open_node(&inside, &options()).unwrap().into_array().is_ok());
    }
}

#[test]
fn what_is_not_there_is_named() {
    for (wanted, why) in [
        ("branch=x", "no branch `x`"),
        ("tag=x", "no tag `x`"),
        ("snapshot=x", "x"),
        ("commit=x", "unknown option `commit`"),
    ] {
        for repository in REPOSITORIES {
            let url = format!("icechunk://{wanted}::{}", data(repository).display());
            let error = open(&url, &options()).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}

/// V-122.
#[test]
fn damaged_files_never_panic() {
    let dir = tempfile::tempdir().unwrap();
    let mut noise = Noise(3);
    for repository in REPOSITORIES {
        for folder in ["snapshots", "manifests", ""] {
            let from = data(repository).join(folder);
            for entry in std::fs::read_dir(&from).unwrap().map(Result::unwrap) {
                if !entry.path().is_file() {
                    continue;
                }
                let whole = std::fs::read(entry.path()).unwrap();
                let buffer = match whole.get(38) {
                    Some(1) => zstd::decode_all(&whole[39..]).unwrap(),
                    _ => whole.get(39..).unwrap_or_default().to_vec(),
                };
                for round in 0..15 {
                    let mut damaged = [&whole[..38], &[0], &buffer].concat();
                    for _ in 0..[1, 2, 20][round % 3] {
                        let at = 39 + noise.below(buffer.len());
                        damaged[at] = [0, 1, 0xff, noise.below(256) as u8][noise.below(4)];
                    }
                    let copy = dir.path().join(format!("{repository}{round}"));
                    copy_folder(&data(repository), &copy);
                    std::fs::write(copy.join(folder).join(entry.file_name()), &damaged).unwrap();
                    for wanted in ["branch=main", "tag=v1"] {
                        let url = format!("icechunk://{wanted}::{}", copy.display());
                        let Ok(hierarchy) = open(&url, &options()) else { continue };
                        for path in ["a/small", "a/large", "scalar"] {
                            let Ok(array) = hierarchy.array(path) else { continue };
                            if array.len() < 1 << 20 {
                                let _ = (array.read_le_bytes(..), array.stored_chunks());
                            }
                        }
                    }
                    std::fs::remove_dir_all(&copy).unwrap();
                }
            }
        }
    }
}

fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Whoever erases a file asks first whether something reads from it.
#[test]
fn places_are_the_repository_and_the_files_of_virtual_chunks() {
    let url = data("ice-virtual").display().to_string();
    let store = options().store(&format!("icechunk::{url}")).unwrap();
    let places = store.to_sync().places().unwrap();
    assert!(places[0].ends_with("/ice-virtual"), "{places:?}");
    assert_eq!(places[1..], ["file:///data/virtual.bin"]);
}

/// V-077: the location `vcc://NAME/PATH`, in a manifest that is otherwise icechunk's own.
#[test]
fn virtual_chunks_in_containers_are_read_where_the_user_says() {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("repository");
    copy_folder(&data("ice-virtual"), &copy);
    let manifest = std::fs::read_dir(copy.join("manifests")).unwrap().next().unwrap().unwrap();
    let whole = std::fs::read(manifest.path()).unwrap();
    let mut buffer = zstd::decode_all(&whole[39..]).unwrap();
    let (old, new) = (b"file:///data/virtual.bin", b"vcc://era5/a/virtual.bin");
    let at = buffer.windows(old.len()).position(|window| window == old).unwrap();
    buffer[at..at + new.len()].copy_from_slice(new);
    std::fs::write(manifest.path(), [&whole[..38], &[0], &buffer].concat()).unwrap();
    std::fs::create_dir_all(dir.path().join("era5/a")).unwrap();
    let values: Vec<u8> = (1..=4i32).flat_map(i32::to_le_bytes).collect();
    std::fs::write(dir.path().join("era5/a/virtual.bin"), values).unwrap();

    let url = copy.display().to_string();
    let error = open(&url, &options()).unwrap().array("v").unwrap().read::<i32>(..).unwrap_err();
    assert_eq!(error.kind(), zarr_core::ErrorKind::Argument);
    assert!(error.to_string().contains("container=era5=URL"), "{error}");
    let container = dir.path().join("era5").display().to_string();
    let named = options().store_option("container", format!("era5={container}\nother=s3://b"));
    let link = format!("icechunk://container=era5={container}::{url}");
    for (url, options) in [(url, named), (link, options())] {
        let array = open(&url, &options).unwrap().array("v").unwrap();
        assert_eq!(array.read::<i32>(..).unwrap()[..4], [1, 2, 3, 4]);
    }
}
