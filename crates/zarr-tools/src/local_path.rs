//! Finds the path in the name of a store on this machine.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

/// The path in the name of a store whose URL begins with `scheme`, which ends in `://`; `None` for any other store.
pub(crate) fn local_path(store: &str, scheme: &str) -> Option<PathBuf> {
    let path = percent_decode_str(store.strip_prefix(scheme)?).decode_utf8().ok()?;
    Some(PathBuf::from(if cfg!(windows) { without_root(&path) } else { &path }))
}

/// The path of Windows in the path of a URL: `C:/x` in `/C:/x`.
fn without_root(path: &str) -> &str {
    let rest = path.strip_prefix('/').filter(|rest| rest.as_bytes().get(1) == Some(&b':'));
    rest.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn finds_the_path_of_a_local_store() {
        let found = local_path("file:///data/a%20b.zarr", "file://");
        assert_eq!(found.as_deref(), Some(Path::new("/data/a b.zarr")));
        assert_eq!(local_path("s3://bucket/x", "file://"), None);
    }

    #[test]
    fn a_drive_of_windows_is_no_folder_of_the_root() {
        for (url, path) in [("/C:/x", "C:/x"), ("/data/x", "/data/x"), ("//host/x", "//host/x")] {
            assert_eq!(without_root(url), path);
        }
    }
}
