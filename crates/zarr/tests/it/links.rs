//! Erasing a node that is a symbolic link removes the link; what is behind it stays.
#![cfg(all(unix, feature = "filesystem"))]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use zarr::{Dialect, Result};

const DIALECTS: [Dialect; 3] = [Dialect::V2, Dialect::V3, Dialect::Draft];

/// An array `a` in a hierarchy at `path`.
fn make(path: &Path, dialect: Dialect, value: i32) -> Result<()> {
    let hierarchy = zarr::create(path.to_str().expect("a plain path"), dialect)?;
    let array = hierarchy.create_array("/a").shape(&[4]).chunks(&[2]);
    array.data_type_named("int32").create()?.write(.., &[value; 4])
}

/// Every file below a folder, and what it holds.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false if path.ends_with(".zarr-lock") => {}
            false => drop(found.insert(path.clone(), fs::read(&path).expect("a file"))),
        }
    }
    found
}

/// A hierarchy whose array `a` lies elsewhere, and what lies there.
struct Linked {
    _within: tempfile::TempDir,
    path: PathBuf,
    outside: PathBuf,
    behind: BTreeMap<PathBuf, Vec<u8>>,
}

impl Linked {
    /// With links in place of the folders that hold the array.
    fn node(dialect: Dialect) -> Result<Self> {
        let linked = Linked::new(dialect)?;
        make(&linked.path, dialect, 2)?;
        let folders: &[&str] = match dialect {
            Dialect::Draft => &["data/root/a"],
            _ => &["a"],
        };
        for folder in folders {
            fs::remove_dir_all(linked.path.join(folder)).expect("a folder");
            symlink(linked.outside.join(folder), linked.path.join(folder)).expect("a link");
        }
        Ok(linked)
    }

    /// With a link in place of the whole hierarchy.
    fn root(dialect: Dialect) -> Result<Self> {
        let linked = Linked::new(dialect)?;
        symlink(&linked.outside, &linked.path).expect("a link");
        Ok(linked)
    }

    fn new(dialect: Dialect) -> Result<Self> {
        let within = tempfile::tempdir().expect("a folder");
        let (path, outside) = (within.path().join("x.zarr"), within.path().join("outside.zarr"));
        make(&outside, dialect, 1)?;
        let behind = files(&outside);
        assert!(behind.len() > 2);
        Ok(Linked { _within: within, path, outside, behind })
    }

    fn url(&self) -> &str {
        self.path.to_str().expect("a plain path")
    }

    fn is_kept(&self) -> bool {
        files(&self.outside) == self.behind
    }
}

#[test]
fn erasing_a_linked_array_keeps_what_is_behind_it() -> Result<()> {
    for dialect in DIALECTS {
        let linked = Linked::node(dialect)?;
        let group = zarr::open_rw(linked.url())?.into_group()?;
        assert_eq!(group.array("a")?.read::<i32>(..)?, [1; 4], "reading follows the link");
        group.erase("a")?;
        assert!(linked.is_kept(), "{dialect:?}");
        assert!(zarr::open(linked.url())?.into_group()?.array("a").is_err());
        assert!(files(&linked.path).keys().all(|key| !key.ends_with("a")), "{dialect:?}");
        for link in ["a", "data/root/a"] {
            assert!(!linked.path.join(link).is_symlink(), "{dialect:?}");
        }
    }
    Ok(())
}

#[test]
fn creating_over_a_linked_array_keeps_what_is_behind_it() -> Result<()> {
    for dialect in DIALECTS {
        let linked = Linked::node(dialect)?;
        let hierarchy = zarr::open_rw(linked.url())?.hierarchy().clone();
        let array = hierarchy.create_array("/a").shape(&[4]).chunks(&[2]);
        let array = array.data_type_named("int32").overwrite(true).create()?;
        array.write(.., &[3; 4])?;
        assert!(linked.is_kept(), "{dialect:?}");
        assert_eq!(array.read::<i32>(..)?, [3; 4]);
        for link in ["a", "data/root/a"] {
            assert!(!linked.path.join(link).is_symlink(), "{dialect:?}");
        }
    }
    Ok(())
}

#[test]
fn erasing_a_group_removes_the_links_in_it() -> Result<()> {
    for dialect in DIALECTS {
        let linked = Linked::new(dialect)?;
        let hierarchy = zarr::create(linked.url(), dialect)?;
        hierarchy.create_group("/g", zarr::Object::default())?;
        let link = match dialect {
            Dialect::Draft => linked.path.join("data/root/g/a"),
            _ => linked.path.join("g/a"),
        };
        fs::create_dir_all(link.parent().expect("a folder")).expect("a folder");
        symlink(&linked.outside, &link).expect("a link");
        hierarchy.erase("/g")?;
        assert!(linked.is_kept() && !link.is_symlink(), "{dialect:?}");
    }
    Ok(())
}

#[test]
fn erasing_a_hierarchy_that_is_a_link_keeps_what_is_behind_it() -> Result<()> {
    for dialect in DIALECTS {
        let linked = Linked::root(dialect)?;
        let hierarchy = zarr::open_rw(linked.url())?.hierarchy().clone();
        hierarchy.erase("/")?;
        assert!(linked.is_kept(), "{dialect:?}");
        assert!(!linked.path.is_symlink() && !linked.path.exists(), "{dialect:?}");
    }
    Ok(())
}

#[test]
fn creating_over_a_hierarchy_that_is_a_link_keeps_what_is_behind_it() -> Result<()> {
    for dialect in DIALECTS {
        let linked = Linked::root(dialect)?;
        let hierarchy = zarr::open_rw(linked.url())?.hierarchy().clone();
        let array = hierarchy.create_array("/").shape(&[4]).chunks(&[2]);
        array.data_type_named("int32").overwrite(true).create()?.write(.., &[3; 4])?;
        assert!(linked.is_kept() && !linked.path.is_symlink(), "{dialect:?}");
        let array = zarr::open(linked.url())?.into_array()?;
        assert_eq!(array.read::<i32>(..)?, [3; 4], "{dialect:?}");
    }
    Ok(())
}

/// The same where nothing is a link: a draft's own document stays where it is.
#[test]
fn creating_over_the_root_of_a_hierarchy_is_as_before() -> Result<()> {
    for dialect in DIALECTS {
        let linked = Linked::new(dialect)?;
        for value in [3, 4] {
            let url = linked.outside.to_str().expect("a plain path");
            let hierarchy = zarr::open_rw(url)?.hierarchy().clone();
            let array = hierarchy.create_array("/").shape(&[4]).chunks(&[2]);
            let array = array.data_type_named("int32").overwrite(true).create()?;
            array.write(.., &[value; 4])?;
            assert_eq!(zarr::open(url)?.into_array()?.read::<i32>(..)?, [value; 4], "{dialect:?}");
        }
    }
    Ok(())
}

/// What an interrupted erase left is erased by its keys; links among them go as links.
#[test]
fn erasing_what_was_left_removes_the_links_in_it() -> Result<()> {
    for dialect in DIALECTS {
        let linked = Linked::new(dialect)?;
        let hierarchy = zarr::create(linked.url(), dialect)?;
        let group = match dialect {
            Dialect::Draft => linked.path.join("data/root/g"),
            _ => linked.path.join("g"),
        };
        let behind = match dialect {
            Dialect::Draft => linked.outside.join("data/root/a"),
            _ => linked.outside.join("a"),
        };
        fs::create_dir_all(group.join("b")).expect("a folder");
        fs::write(group.join("b/0.0"), "left").expect("a file");
        symlink(&behind, group.join("c")).expect("a link");
        // Whether the group counts as one, or as what was left of it.
        let _ = hierarchy.erase("/g");
        assert!(linked.is_kept(), "{dialect:?}");
    }
    Ok(())
}

/// Chunks that lie where a new array is to be are erased; what is behind a link is not.
#[test]
fn creating_where_old_chunks_lie_behind_a_link_keeps_them() -> Result<()> {
    for dialect in DIALECTS {
        // The chunks of the whole array, and only the inner folder of its chunks.
        for inner in [false, true] {
            let linked = Linked::new(dialect)?;
            let hierarchy = zarr::create(linked.url(), dialect)?;
            let (old, place) = match dialect {
                Dialect::Draft => ("data/root/a", "data/root/a"),
                _ => ("a", "a"),
            };
            for document in ["zarr.json", ".zarray", ".zattrs"] {
                let _ = fs::remove_file(linked.outside.join(old).join(document));
            }
            let behind = files(&linked.outside);
            let (old, place) = (linked.outside.join(old), linked.path.join(place));
            if inner && old.join("c").exists() {
                fs::create_dir_all(&place).expect("a folder");
                symlink(old.join("c"), place.join("c")).expect("a link");
            } else {
                fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
                symlink(&old, &place).expect("a link");
            }
            let array = hierarchy.create_array("/a").shape(&[4]).chunks(&[2]);
            match array.data_type_named("int32").purge(true).create() {
                Ok(array) => {
                    assert_eq!(array.read::<i32>(..)?, [0; 4], "{dialect:?}");
                    array.write(.., &[3; 4])?;
                }
                Err(e) => assert!(format!("{e:?}").contains("symbolic link"), "{e:?}"),
            }
            assert_eq!(files(&linked.outside), behind, "{dialect:?}");
        }
    }
    Ok(())
}

/// Whoever placed the link would decide what is erased: the node is erased where the link leads, by its own name.
#[test]
fn a_node_below_a_link_is_not_erased_through_it() -> Result<()> {
    for dialect in DIALECTS {
        let linked = Linked::new(dialect)?;
        let hierarchy = zarr::create(linked.url(), dialect)?;
        let links: &[(&str, &str)] = match dialect {
            Dialect::Draft => &[("meta/root/up", "meta/root"), ("data/root/up", "data/root")],
            _ => &[("up", "")],
        };
        for (link, to) in links {
            let link = linked.path.join(link);
            fs::create_dir_all(link.parent().expect("a folder")).expect("a folder");
            symlink(linked.outside.join(to), link).expect("a link");
        }
        assert_eq!(hierarchy.array("/up/a")?.read::<i32>(..)?, [1; 4], "reading follows the link");
        let error = hierarchy.erase("/up/a").expect_err("an error").to_string();
        assert!(error.contains("reached through the symbolic link"), "{dialect:?}: {error}");
        let array = hierarchy.create_array("/up/a").shape(&[4]).chunks(&[2]);
        let error = array.data_type_named("int32").overwrite(true).create().expect_err("an error");
        assert!(error.to_string().contains("reached through the symbolic link"), "{error}");
        assert!(linked.is_kept(), "{dialect:?}");
    }
    Ok(())
}

/// Changing an array through a link is no erasing of a node: what is written, and a chunk that became all fill, is
/// written and erased behind the link.
#[test]
fn writing_through_a_link_changes_what_is_behind_it() -> Result<()> {
    for dialect in DIALECTS {
        let linked = Linked::node(dialect)?;
        let array = zarr::open_rw(linked.url())?.into_group()?.array("a")?;
        array.write(0..2, &[0, 0])?;
        array.write(2..4, &[5, 0])?;
        let behind = linked.outside.to_str().expect("a plain path");
        let behind = zarr::open(behind)?.into_group()?.array("a")?;
        assert_eq!(behind.read::<i32>(..)?, [0, 0, 5, 0], "{dialect:?}");
        assert!(!linked.is_kept());
    }
    Ok(())
}
