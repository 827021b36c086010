//! Writes files whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Writes a file whole, or leaves the one that was there. What is no file, as `/dev/stdout`, is written to.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if place.metadata().is_ok_and(|place| !place.is_file()) {
        return fs::write(place, bytes);
    }
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    #[cfg_attr(not(unix), expect(unused_mut, reason = "permissions are Unix's"))]
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    file.persist(place)?;
    Ok(())
}
