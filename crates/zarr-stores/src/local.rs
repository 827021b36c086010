//! Options of the stores on a disk, by their names.

use zarr_core::StoreError;
use zarr_core::store::Result;

/// How a store on a disk is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalOptions {
    /// Whether writers of a folder take the system's locks.
    pub locking: bool,
    /// Whether each write waits until the disk has it.
    pub sync: bool,
}

impl Default for LocalOptions {
    fn default() -> Self {
        LocalOptions { locking: true, sync: false }
    }
}

impl LocalOptions {
    /// # Errors
    /// [`StoreError::InvalidUrl`] for an option that these stores do not have, or a value that is neither `true` nor `false`.
    pub fn parse(url: &str, options: &[(String, String)]) -> Result<Self> {
        let mut parsed = LocalOptions::default();
        for (name, value) in options {
            let place = match name.to_ascii_lowercase().as_str() {
                "locking" => &mut parsed.locking,
                "sync" => &mut parsed.sync,
                _ => {
                    return Err(StoreError::invalid_url(
                        url,
                        format!(
                            "stores on a disk take the options `locking` and `sync`, but `{name}` was given"
                        ),
                    ));
                }
            };
            // A value is not printed: it may be a secret in the wrong place.
            *place = value.parse().map_err(|_| {
                StoreError::invalid_url(url, format!("option `{name}` must be `true` or `false`"))
            })?;
        }
        Ok(parsed)
    }

    /// Those that are not as they are by default, as data.
    #[cfg(any(feature = "filesystem", feature = "lmdb"))]
    pub fn public(self) -> Vec<(String, String)> {
        let all = [("locking", self.locking, true), ("sync", self.sync, false)];
        let set = all.into_iter().filter(|(_, is, default)| is != default);
        set.map(|(name, is, _)| (name.to_owned(), is.to_string())).collect()
    }
}
