//! Defines what callers write for a place: a path or a URL.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use zarr_core::{AccessError, Result};

/// A path or a URL: text, such as `"data.zarr/temperature"` or `"s3://bucket/data.zarr"`, or a [`Path`]; a `Url` of the crate `url` with
/// the feature `url`, which those of remote stores bring.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a path or a URL",
    note = "pass a string, a `Path`, or references to them; a `Url` of the crate `url` needs the feature `url` of `zarr`"
)]
pub trait Location {
    /// Its text.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for a path that is not valid UTF-8.
    fn to_url(&self) -> Result<Cow<'_, str>>;
}

impl Location for str {
    fn to_url(&self) -> Result<Cow<'_, str>> {
        Ok(self.into())
    }
}

impl Location for String {
    fn to_url(&self) -> Result<Cow<'_, str>> {
        Ok(self.into())
    }
}

impl Location for Cow<'_, str> {
    fn to_url(&self) -> Result<Cow<'_, str>> {
        Ok((**self).into())
    }
}

impl Location for OsStr {
    fn to_url(&self) -> Result<Cow<'_, str>> {
        match self.to_str() {
            Some(text) => Ok(text.into()),
            None => {
                let why = format!("path {} is not valid UTF-8", self.display());
                Err(AccessError::Argument(why).into())
            }
        }
    }
}

impl Location for OsString {
    fn to_url(&self) -> Result<Cow<'_, str>> {
        self.as_os_str().to_url()
    }
}

impl Location for Path {
    fn to_url(&self) -> Result<Cow<'_, str>> {
        self.as_os_str().to_url()
    }
}

impl Location for PathBuf {
    fn to_url(&self) -> Result<Cow<'_, str>> {
        self.as_os_str().to_url()
    }
}

impl<L: Location + ?Sized> Location for &L {
    fn to_url(&self) -> Result<Cow<'_, str>> {
        (**self).to_url()
    }
}

#[cfg(feature = "url")]
impl Location for url::Url {
    fn to_url(&self) -> Result<Cow<'_, str>> {
        if self.scheme() != "file" {
            return Ok(self.as_str().into());
        }
        let Ok(path) = self.to_file_path() else {
            return Err(AccessError::Argument(format!("{self} is not the URL of a path")).into());
        };
        Ok(path.to_url()?.into_owned().into())
    }
}
