//! Creates datasets, and erases them where a program says so.

use std::ffi::c_int;
use std::path::Path;
use std::sync::Arc;

use zarr::nczarr::{DatasetOptions, NcUrl, NewDataset, Profile, schema};
use zarr::{Dialect, ErrorKind, Hierarchy, Registry};

use crate::codes::{EEXIST, EINVAL, Failure, Result};
use crate::index::File;
use crate::load::open_options;
use crate::location::{locate, names_document, shard_bytes, word};

impl File {
    /// Creates the dataset that a program's path or URL means: NCZarr of v3, unless its fragment asks for something else.
    /// What is there is replaced if `clobbers`, and if it is Zarr data that are called by their folder.
    ///
    /// # Errors
    /// [`EEXIST`] for something that is there and stays; [`EINVAL`] for modes that mean nothing; what the store meets.
    pub fn create(
        typed: &str,
        clobbers: bool,
        model: c_int,
        registry: Arc<Registry>,
    ) -> Result<File> {
        let location = locate(typed)?;
        let url = NcUrl::parse(&location.url).map_err(|e| Failure::at_open(&e.into()))?;
        let options = DatasetOptions::of(open_options(registry));
        let new = match word(&location.url, "format") {
            Some(name) => NewDataset::named(name).ok_or_else(|| {
                let why = "expected nczarr-v3, nczarr-v2, zarr-v3 or zarr-v2";
                Failure::new(EINVAL, format!("{typed}: unknown format `{name}`; {why}"))
            })?,
            None => NewDataset {
                dialect: url.dialect.unwrap_or(Dialect::V3),
                profile: url.profile.unwrap_or(Profile::Nczarr),
                fixed_strings: false,
            },
        };
        let shard_bytes = shard_bytes(typed, &location.url, new.dialect)?;
        let wanted = url.clone().for_new(&new);
        let there = Erased::find(&url, &options)?;
        let exists = |why: &str| Failure::new(EEXIST, format!("{typed}: {why}"));
        match there {
            Some(_) if !clobbers => return Err(exists("Zarr data already exist here")),
            // netCDF4-python creates what is a URL in the modes `a` and `r+`, too: it asks for a file of that name.
            Some(_) if names_document(typed) => {
                let why = "this is a document of Zarr data; to change them, open it by its path without `file://`, and to replace them, \
                           create the folder";
                return Err(exists(why));
            }
            Some(there) => there.erase()?,
            None if is_file(&url.store) => {
                return Err(exists("the file has no Zarr data; it is not replaced"));
            }
            None => {}
        }
        let dataset = wanted.create(&options).map_err(|e| match e.kind() {
            ErrorKind::Exists => Failure::new(EEXIST, e.to_string()),
            ErrorKind::Argument => Failure::new(EINVAL, e.to_string()),
            _ => Failure::in_write(&e),
        })?;
        let mut file = File::of(dataset, typed, model)?;
        (file.is_writable, file.is_new) = (true, true);
        file.shard_bytes = shard_bytes;
        Ok(file)
    }

    /// Forgets what is pending; erases a dataset that this handle has created and nothing was stored in.
    pub fn abort(&self) -> Result<()> {
        if !self.is_new {
            return Ok(());
        }
        // Variables are another writer's: this handle has stored none.
        self.dataset.refresh().map_err(|e| Failure::in_read(&e))?;
        if has_variables(&self.dataset.schema()) {
            return Ok(());
        }
        let erased = self.dataset.hierarchy().erase(self.dataset.root_path());
        erased.map_err(|e| Failure::in_write(&e))
    }
}

fn has_variables(group: &schema::Group) -> bool {
    let is_empty = group.variables.is_empty() && group.opaque.is_empty();
    !is_empty || group.groups.iter().any(has_variables)
}

fn is_file(store: &str) -> bool {
    Path::new(store.strip_prefix("file://").unwrap_or(store)).is_file()
}

/// Zarr data that are about to be erased.
struct Erased {
    hierarchy: Hierarchy,
    path: zarr::NodePath,
}

impl Erased {
    /// What is at a URL, in whatever dialect.
    fn find(url: &NcUrl, options: &DatasetOptions) -> Result<Option<Erased>> {
        let url = NcUrl { dialect: None, profile: None, ..url.clone() };
        let options = options.zarr.clone().read_write();
        let found = url
            .hierarchy(&options)
            .and_then(|(location, options)| Hierarchy::locate(&location, &options));
        match found {
            Ok((hierarchy, path)) => Ok(Some(Erased { hierarchy, path })),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Failure::at_open(&e)),
        }
    }

    fn erase(&self) -> Result<()> {
        self.hierarchy.erase(&self.path).map_err(|e| Failure::in_write(&e))?;
        self.hierarchy.flush().map_err(|e| Failure::in_write(&e))
    }
}
