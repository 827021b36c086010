//! Guesses which file was meant where no Zarr data was found.

use std::path::Path;

use zarr_core::{AccessError, Cause, Error, did_you_mean};

/// The most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 1000;

/// The same error; if nothing is at a path of this machine, and the folder above has a name like the one that was asked for, with a hint.
pub(crate) fn with_near_name(error: Error, url: &str) -> Error {
    let is_absent = matches!(error.cause(), Cause::Access(AccessError::NotFound { .. }));
    if !is_absent || error.hint().is_some() {
        return error;
    }
    let path = match url.split_once("://") {
        None => url,
        Some(("file", path)) => path,
        Some(_) => return error,
    };
    match near_path(Path::new(path)) {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

/// A path like this one that is there: the first component that is not there is replaced.
fn near_path(path: &Path) -> Option<String> {
    let mut above = path.parent()?;
    let mut name = path.file_name()?;
    while !folder(above).is_dir() {
        (name, above) = (above.file_name()?, above.parent()?);
    }
    if above.join(name).exists() {
        return None;
    }
    let entries = folder(above).read_dir().ok()?.take(MAX_ENTRIES).flatten();
    let names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let shown = names.iter().map(String::as_str).filter(|name| !name.starts_with('.'));
    let near = above.join(did_you_mean(&name.to_string_lossy(), shown)?);
    let rest = path.strip_prefix(above.join(name)).ok()?;
    let whole = near.join(rest);
    // The rest of the path may be wrong, too.
    let meant = if rest.as_os_str().is_empty() || !whole.exists() { near } else { whole };
    Some(meant.display().to_string())
}

/// The folder that a parent is: that of `a.zarr` is the current one.
fn folder(parent: &Path) -> &Path {
    if parent.as_os_str().is_empty() { Path::new(".") } else { parent }
}
