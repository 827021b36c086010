//! The stores of Zarr: each keeps bytes under keys.
//!
//! - [`FilesystemStore`] (feature `filesystem`): a folder; keys are files.
//! - [`MemoryStore`] (feature `memory`): a map in this process.
//! - [`ZipStore`] (feature `zip`): an archive; keys are its entries. [`RemoteZipStore`]: one that is a value of another store.
//! - [`LmdbStore`] (feature `lmdb`): an LMDB file; keys are its main database's.
//! - `ObjectStore` (features `s3`, `gcs`, `azure`, `http`): a bucket, or a folder of a web server.
//! - [`log`], [`ObservedStore`]: any store, which reports every call on it. The crate `zarr-testkit` has observers that count
//!   calls, delay them and let them fail.
//! - [`PrefixStore`], [`ReadOnlyStore`] (feature `wrappers`): a part of any store; any store, not to be changed.
//! - [`CacheStore`] (feature `cache`): any store; some of its values are kept in memory ([`ByteCache`]) or in a folder
//!   ([`CacheFolder`]).
//!
//! [`register`] adds the URL schemes of this build's stores to a [`Registry`].
//!
//! ```
//! use zarr_core::{Access, Registry};
//!
//! # fn main() -> Result<(), zarr_core::StoreError> {
//! # #[cfg(feature = "memory")] {
//! use zarr_core::store::{Payload, StoreKey};
//!
//! let registry = Registry::new().with(zarr_stores::register);
//! // A store is async; `to_sync` gives its blocking calls.
//! let store = registry.open_store("memory://", Access::ReadWrite)?.to_sync();
//! let key = StoreKey::new("zarr.json")?;
//! store.set(&key, Payload::from(b"{}".as_slice()))?;
//! assert_eq!(store.value(&key)?.as_deref(), Some(b"{}".as_slice()));
//! # }
//! # Ok(())
//! # }
//! ```

#![deny(unsafe_code)]

#[cfg(feature = "filesystem")]
mod filesystem;
#[cfg(feature = "lmdb")]
mod lmdb;
#[cfg(any(feature = "filesystem", feature = "zip", feature = "lmdb"))]
mod local;
#[cfg(feature = "memory")]
mod memory;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]
mod object;
#[cfg(any(feature = "filesystem", feature = "zip", feature = "lmdb"))]
mod opened;
#[cfg(any(
    feature = "filesystem",
    feature = "zip",
    feature = "lmdb",
    feature = "s3",
    feature = "azure",
    feature = "http"
))]
mod percent;
#[cfg(any(feature = "filesystem", feature = "zip", feature = "lmdb"))]
mod url;
/// The system's files; `model/` compiles the code of locks over a model of them instead.
#[cfg(any(feature = "filesystem", feature = "zip", feature = "lmdb"))]
mod system {
    pub(crate) use std::fs;

    /// Has a file of our own opened, and not what a link in its place leads to.
    #[cfg(any(feature = "filesystem", feature = "zip"))]
    #[cfg_attr(not(unix), expect(unused_variables, reason = "the flag is Unix's"))]
    pub(crate) fn no_follow(options: &mut fs::OpenOptions) {
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NOFOLLOW);
    }

    /// An error that says what to do, where a file of our own could not be opened since a link is in its place.
    pub(crate) fn not_a_link(path: &std::path::Path, error: std::io::Error) -> std::io::Error {
        if !path.is_symlink() {
            return error;
        }
        let why = format!(
            "{} is a symbolic link, but this file must not be one; remove the link",
            path.display()
        );
        std::io::Error::new(std::io::ErrorKind::InvalidInput, why)
    }
}
mod wrap;
#[cfg(feature = "zip")]
mod zip;

#[cfg(feature = "filesystem")]
pub use filesystem::{FilesystemStore, open_file};
#[cfg(feature = "lmdb")]
pub use lmdb::LmdbStore;
#[cfg(feature = "memory")]
pub use memory::MemoryStore;
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]
pub use object::{ObjectStore, Traffic, web_server};
#[cfg(feature = "cache")]
pub use wrap::{ByteCache, CacheFolder, CacheStore};
pub use wrap::{Call, ObservedStore, Observer, Outcome, Request, log};
#[cfg(feature = "wrappers")]
pub use wrap::{PrefixStore, ReadOnlyStore};
use zarr_core::Registry;
#[cfg(feature = "zip")]
pub use zip::{RemoteZipStore, ZipStore};

/// The error for a store that this build left out.
#[cfg(not(all(feature = "zip", any(feature = "lmdb", not(feature = "filesystem")))))]
fn left_out(url: &str, feature: &str) -> zarr_core::StoreError {
    let why = format!(
        "that kind of store was left out of this build; enable the feature `{feature}` of `zarr`"
    );
    zarr_core::StoreError::invalid_url(url, why)
}

/// One row for each store with URLs: its feature and module, how it is registered, and its scheme.
macro_rules! stores {
    ($($feature:literal $module:ident $add:ident: $scheme:literal;)*) => {
        /// Every row, whether this build has the store or not.
        #[cfg(test)]
        const ROWS: &[(&str, &str)] = &[$(($feature, $scheme)),*];

        /// Registers the URL schemes of the stores that this build has, and those of the others, so that an
        /// error can say which feature brings them.
        ///
        /// A text without a scheme is a path, and opened as `file`.
        pub fn register(registry: &mut Registry) {
            $(
                #[cfg(feature = $feature)]
                registry.$add($scheme, $module::open);
                #[cfg(not(feature = $feature))]
                registry.scheme_left_out($scheme, $feature);
            )*
            #[cfg(feature = "zip")]
            registry.chain("zip", zip::open_chain);
            #[cfg(not(feature = "zip"))]
            registry.chain("zip", |link, url, _, _| Err(left_out(&format!("{link}::{url}"), "zip")));
        }
    };
}

stores! {
    "filesystem" filesystem scheme_with_options: "file";
    "memory" memory scheme: "memory";
    "zip" zip scheme_with_options: "zip";
    "lmdb" lmdb scheme_with_options: "lmdb";
    "s3" object scheme_with_options: "s3";
    "s3" object scheme_with_options: "s3a";
    "gcs" object scheme_with_options: "gs";
    "gcs" object scheme_with_options: "gcs";
    "azure" object scheme_with_options: "az";
    "azure" object scheme_with_options: "azure";
    "azure" object scheme_with_options: "adl";
    "azure" object scheme_with_options: "abfs";
    "azure" object scheme_with_options: "abfss";
    "http" object scheme_with_options: "http";
    "http" object scheme_with_options: "https";
}

#[cfg(test)]
mod tests {
    use zarr_core::Access;

    use super::*;

    /// A store of another build is told by the feature that brings it, never as unknown.
    #[test]
    fn every_scheme_is_known_or_names_its_feature() {
        let registry = Registry::new().with(register);
        for (feature, scheme) in ROWS {
            let is_here = match *scheme {
                "file" => cfg!(feature = "filesystem"),
                "memory" => cfg!(feature = "memory"),
                "zip" => cfg!(feature = "zip"),
                "lmdb" => cfg!(feature = "lmdb"),
                "s3" | "s3a" => cfg!(feature = "s3"),
                "gs" | "gcs" => cfg!(feature = "gcs"),
                "az" | "azure" | "adl" | "abfs" | "abfss" => cfg!(feature = "azure"),
                "http" | "https" => cfg!(feature = "http"),
                other => panic!("whether `{other}` is here nobody knows"),
            };
            let url = format!("{scheme}://");
            let said = registry.open_store(&url, Access::ReadOnly).err().map(|e| e.to_string());
            let told = said.is_some_and(|said| {
                said.ends_with(&format!("enable the feature `{feature}` of `zarr`"))
            });
            assert_eq!(told, !is_here, "{scheme}");
        }
        let path = registry.open_store("some/path.zarr", Access::ReadOnly);
        assert!(
            cfg!(feature = "filesystem")
                || path.is_err_and(|e| e.to_string().contains("`filesystem`"))
        );
    }
}
