//! Parses the URLs of datasets as netCDF's users type them (N-112, N-114).
//!
//! `file:///data/x#mode=nczarr,file`: the store's URL, and behind `#` how it is to be understood.

use std::path::Path;
use std::sync::Arc;

use zarr_core::store::{ListOptions, Store, StorePrefix, SyncStore};
use zarr_core::{AccessError, Consolidated, Dialect, OpenOptions, Registry, Result, StoreError};

use crate::edit::copy::draft::CopyTarget;
use crate::edit::create::NewDataset;
use crate::handles::dataset::Dataset;
use crate::model::options::{DatasetOptions, Profile};

/// A URL, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NcUrl {
    /// The URL or path of the store, without what follows `#`.
    pub store: String,
    /// Which profile is asked for: `nczarr`, or `zarr` and what implies it.
    pub profile: Option<Profile>,
    /// What the store is, if that is given: `file`, `zip` or `s3`.
    pub storage: Option<Storage>,
    /// The dialect of new documents, if `v2` or `v3` is given.
    pub dialect: Option<Dialect>,
    /// Whether xarray's `_ARRAY_DIMENSIONS` are read and written: not with `noxarray`.
    pub xarray: bool,
    /// Whether copies of all documents are read or made, if that is given: `consolidated`, `zmetadata`, `nozmetadata`.
    pub consolidated: Option<bool>,
    /// Conventions that mean nothing here.
    pub unknown: Vec<String>,
}

/// What a store is, as netCDF names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A folder.
    File,
    /// A zip archive.
    Zip,
    /// An object store that speaks S3.
    S3,
}

impl NcUrl {
    /// Takes a URL apart. Modes are in any order and case, twice or not, as `mode=nczarr,file` or bare, as
    /// `#nczarr`.
    ///
    /// # Errors
    /// [`StoreError::InvalidUrl`] for an empty one, and for `mode=bytes`, which means a file of another format.
    pub fn parse(url: &str) -> Result<NcUrl, StoreError> {
        let (store, fragment) = url.split_once('#').unwrap_or((url, ""));
        let mut parsed = NcUrl {
            // `file://relative`, which netCDF takes for a path.
            store: match store.strip_prefix("file://") {
                Some(path) if !path.starts_with('/') => path.to_owned(),
                _ => store.to_owned(),
            },
            profile: None,
            storage: None,
            dialect: None,
            xarray: true,
            consolidated: None,
            unknown: Vec::new(),
        };
        if parsed.store.is_empty() {
            return Err(StoreError::invalid_url(url, "it is empty"));
        }
        let mut nczarr = false;
        for part in fragment.split('&').filter(|part| !part.is_empty()) {
            let modes = match part.split_once('=') {
                Some(("mode", modes)) => modes,
                // Credentials, logging: what is the store's own business.
                Some(_) => continue,
                None => part,
            };
            for mode in modes.split(',').map(str::trim).filter(|mode| !mode.is_empty()) {
                match mode.to_ascii_lowercase().as_str() {
                    "nczarr" => nczarr = true,
                    "zarr" | "xarray" => parsed.profile = Some(Profile::Pure),
                    "noxarray" => parsed.xarray = false,
                    "file" => parsed.storage = Some(Storage::File),
                    "zip" => parsed.storage = Some(Storage::Zip),
                    "s3" | "gs3" => parsed.storage = Some(Storage::S3),
                    "consolidated" | "zmetadata" => parsed.consolidated = Some(true),
                    "nozmetadata" => parsed.consolidated = Some(false),
                    "v2" => parsed.dialect = Some(Dialect::V2),
                    "v3" => parsed.dialect = Some(Dialect::V3),
                    "bytes" => {
                        return Err(StoreError::invalid_url(
                            url,
                            "`mode=bytes` means a netCDF file read over HTTP, not Zarr",
                        ));
                    }
                    other => parsed.unknown.push(other.to_owned()),
                }
            }
        }
        // With both, the plain form is asked for; `noxarray` by itself asks for it, too, as netCDF's library takes it.
        if parsed.profile.is_none() && nczarr {
            parsed.profile = Some(Profile::Nczarr);
        }
        if parsed.profile.is_none() && !parsed.xarray {
            parsed.profile = Some(Profile::Pure);
        }
        Ok(parsed)
    }

    /// The URL by which the registry finds the store. A new archive of NCZarr that is named as one, by its whole
    /// path, has all keys in a folder of the same name, as netCDF's library needs it.
    fn location(&self, begun: bool) -> String {
        let path = self.store.trim_end_matches('/');
        if self.storage != Some(Storage::Zip) {
            return self.store.clone();
        }
        let plain = path.strip_prefix("file://").unwrap_or(path);
        let is_named =
            plain.strip_suffix(".zip").map(|stem| stem.rsplit('/').next().unwrap_or(stem));
        match (is_named, plain.starts_with('/')) {
            // The scheme of archives needs a whole path.
            (Some(name), true) if begun && self.profile == Some(Profile::Nczarr) => {
                format!("zip://{plain}/{name}")
            }
            (None, true) => format!("zip://{plain}"),
            _ => path.to_owned(),
        }
    }

    fn options(&self, options: &DatasetOptions) -> DatasetOptions {
        let mut options = options.clone();
        options.pure |= self.profile == Some(Profile::Pure);
        options.xarray &= self.xarray;
        if let Some(dialect) = self.dialect {
            options.zarr = options.zarr.dialect(dialect);
        }
        match self.consolidated {
            Some(true) => options.zarr.consolidated = Consolidated::IfFound,
            Some(false) => options.zarr.consolidated = Consolidated::Ignore,
            None => {}
        }
        options
    }

    /// Opens the dataset; what the modes leave open follows from the dataset itself.
    ///
    /// # Errors
    /// As [`Dataset::locate`]: [`AccessError::NotFound`] if nothing is there, or nothing of Zarr.
    pub fn open(&self, options: &DatasetOptions) -> Result<Dataset> {
        let options = self.options(options);
        Dataset::locate(&self.located(&options)?, &options)
    }

    /// The URL and the options by which Zarr finds and opens the hierarchy below.
    ///
    /// # Errors
    /// When the store cannot be listed.
    pub fn hierarchy(&self, options: &OpenOptions) -> Result<(String, OpenOptions)> {
        let options = self.options(&DatasetOptions::of(options.clone()));
        Ok((self.located(&options)?, options.zarr))
    }

    /// Where the dataset lies, in an archive maybe in a folder.
    fn located(&self, options: &DatasetOptions) -> Result<String> {
        let location = self.location(false);
        let path = Path::new(location.strip_prefix("file://").unwrap_or(&location));
        let is_named = |end: &str| location.ends_with(end);
        // A file that is named otherwise is an archive by its first bytes, or nothing that opens.
        let is_archive =
            is_named(".zip") || path.is_file() && ![".lmdb", ".mdb"].map(is_named).contains(&true);
        let zip = self.storage == Some(Storage::Zip) || is_archive;
        Ok(match zip.then(|| folder_in(&location, options)).transpose()?.flatten() {
            Some(folder) => format!("{location}/{folder}"),
            None => location,
        })
    }

    /// Creates a dataset, in v2 if no dialect is given.
    ///
    /// # Errors
    /// As [`Dataset::create`]: [`AccessError::Exists`] if one is there; [`AccessError::Argument`] if the modes say neither
    /// `nczarr` nor `zarr`, or something unknown.
    pub fn create(&self, options: &DatasetOptions) -> Result<Dataset> {
        let (store, new, options) = self.begun(options)?;
        let dataset = Dataset::create(store, &new, &options)?;
        if self.consolidated == Some(true) {
            // From now on, changes of documents change the copies, too.
            dataset.consolidate()?;
        }
        Ok(dataset)
    }

    /// Where a copy is made that becomes the dataset which [`NcUrl::create`] would create. Nothing is written.
    ///
    /// # Errors
    /// As [`NcUrl::create`], but for a dataset that is there.
    pub fn copy_target(&self, options: &DatasetOptions) -> Result<CopyTarget> {
        let (store, new, options) = self.begun(options)?;
        let mut target = CopyTarget::new(store, &new, &options)?;
        target.is_consolidated = self.consolidated == Some(true);
        Ok(target)
    }

    /// The URL with what is to be made there; an archive that is not named as one is one if its name ends in `.zip`.
    #[must_use]
    pub fn for_new(mut self, new: &NewDataset) -> NcUrl {
        (self.profile, self.dialect) = (Some(new.profile), Some(new.dialect));
        if self.storage.is_none() && [".zip", ".ozx"].iter().any(|end| self.store.ends_with(end)) {
            self.storage = Some(Storage::Zip);
        }
        self
    }

    /// The URL by which the registry finds the store of a new dataset.
    pub fn location_of_new(&self) -> String {
        self.location(true)
    }

    /// The store of a new dataset, and what it is to be.
    fn begun(
        &self,
        options: &DatasetOptions,
    ) -> Result<(Arc<dyn Store>, NewDataset, DatasetOptions)> {
        if let Some(word) = self.unknown.first() {
            let why = format!("unknown mode `{word}`");
            return Err(AccessError::Argument(why).into());
        }
        let Some(profile) = self.profile else {
            let why = "the mode says neither `nczarr` nor `zarr`; add `#mode=nczarr,file`";
            return Err(AccessError::Argument(why.into()).into());
        };
        let dialect = self.dialect.unwrap_or(Dialect::V2);
        let new = NewDataset { dialect, profile, fixed_strings: false };
        let mut options = self.options(options).read_write();
        options.zarr = options.zarr.any_dialect();
        let store = options.zarr.store(&self.location(true))?;
        Ok((store, new, options))
    }
}

/// The one folder of an archive that holds a dataset, as netCDF's library writes it, unless the archive itself is one
/// (N-114).
fn folder_in(location: &str, options: &DatasetOptions) -> Result<Option<String>> {
    let Ok(store) = options.zarr.store(location) else { return Ok(None) };
    if !store.capabilities().list {
        return Ok(None);
    }
    let store = store.to_sync();
    let root = StorePrefix::root();
    if has_document(&*store, &root)? {
        return Ok(None);
    }
    let mut found = Vec::new();
    for folder in store.list_dir(&root, ListOptions::default())?.prefixes {
        if has_document(&*store, &folder)? {
            found.push(folder.as_str().trim_end_matches('/').to_owned());
        }
    }
    Ok(if found.len() == 1 { found.pop() } else { None })
}

/// Whether a folder has a document of a root. A copy under way has a journal, and no document yet.
fn has_document(store: &dyn SyncStore, prefix: &StorePrefix) -> Result<bool> {
    const DOCUMENTS: [&str; 5] = ["zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"];
    let listing = store.list_dir(prefix, ListOptions::default())?;
    let mut names = listing.keys.iter().filter_map(|key| prefix.strip(key));
    let journal = format!("{}.zarr-copy/", prefix.as_str());
    let has_journal = listing.prefixes.iter().any(|found| found.as_str() == journal);
    Ok(has_journal || names.any(|name| DOCUMENTS.contains(&name)))
}

/// Opens the dataset that a URL means as netCDF's users type it: `file:///x#mode=nczarr,file`, `x.zip#mode=zarr,zip`,
/// or any path or URL.
///
/// # Errors
/// As [`NcUrl::parse`] and [`NcUrl::open`].
pub fn open_url(url: &str, registry: impl Into<std::sync::Arc<Registry>>) -> Result<Dataset> {
    NcUrl::parse(url)?.open(&DatasetOptions::new(registry))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N-112.
    #[test]
    fn modes_are_told_in_any_order() {
        let parsed = |url: &str| NcUrl::parse(url).unwrap();
        let url = parsed("file:///x#mode=nczarr,file");
        assert_eq!((url.store.as_str(), url.profile), ("file:///x", Some(Profile::Nczarr)));
        assert_eq!(url.storage, Some(Storage::File));
        for text in ["/x#mode=zip,Zarr", "/x#zarr&mode=zip", "/x#mode=zarr&mode=zip,zip,zarr"] {
            let url = parsed(text);
            assert_eq!((url.profile, url.storage), (Some(Profile::Pure), Some(Storage::Zip)));
        }
        let url = parsed("s3://bucket/key#mode=nczarr,s3,v3&aws.profile=none&log");
        assert_eq!((url.dialect, url.storage), (Some(Dialect::V3), Some(Storage::S3)));
        assert_eq!(url.unknown, ["log"]);
        assert_eq!(parsed("file://rel/x#nczarr").store, "rel/x");
        let url = parsed("/x#mode=nczarr,noxarray,consolidated");
        assert_eq!((url.profile, url.xarray), (Some(Profile::Nczarr), false));
        assert_eq!(url.consolidated, Some(true));
        assert_eq!(parsed("/x#noxarray").profile, Some(Profile::Pure));
        assert_eq!(parsed("/x").profile, None);
        assert!(NcUrl::parse("").is_err() && NcUrl::parse("#mode=nczarr").is_err());
        assert!(NcUrl::parse("http://h/x.nc#mode=bytes").is_err());
    }

    /// N-114.
    #[test]
    fn archives_of_nczarr_have_a_folder() {
        let location = |url: &str, begun| NcUrl::parse(url).unwrap().location(begun);
        assert_eq!(location("file:///p/x.zip#mode=nczarr,zip", true), "zip:///p/x.zip/x");
        assert_eq!(location("file:///p/x.zip#mode=nczarr,zip", false), "file:///p/x.zip");
        assert_eq!(location("/p/x.zip#mode=zarr,zip", true), "/p/x.zip");
        assert_eq!(location("/p/x#mode=zarr,zip", false), "zip:///p/x");
        assert_eq!(location("file:///p/x#mode=nczarr,file", true), "file:///p/x");
    }
}
