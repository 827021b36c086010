//! Finds symbolic links on the way to a value of a folder. What is reached through one is read, and never moved, mended or erased by a
//! tool: whoever placed the link would decide which files of its user that are (docs/internals/design/stores.md).

use crate::local_path::local_path;

/// The link on the way to a key: a folder above it, or its file; `None` if there is none. A link that the store's root is was
/// named by the caller, and does not count. Other stores have no links.
pub(crate) fn link_on_the_way(store: &str, key: &str) -> Option<String> {
    let mut place = local_path(store, "file://")?;
    for (at, segment) in key.split('/').enumerate().filter(|(_, segment)| !segment.is_empty()) {
        place.push(segment);
        if place.is_symlink() {
            return Some(key.split('/').take(at + 1).collect::<Vec<_>>().join("/"));
        }
    }
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_counts_from_the_root_down() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("x");
        fs::create_dir_all(folder.path().join("real/a")).unwrap();
        symlink("real", &root).unwrap();
        symlink("/nowhere", root.join("a/up")).unwrap();
        let store = format!("file://{}", root.display());
        assert_eq!(link_on_the_way(&store, "a/b/0"), None);
        assert_eq!(link_on_the_way(&store, "a/up/b/0").as_deref(), Some("a/up"));
        assert_eq!(link_on_the_way(&store, "a/up").as_deref(), Some("a/up"));
        assert_eq!(link_on_the_way("s3://bucket/x", "a/up"), None);
    }
}
