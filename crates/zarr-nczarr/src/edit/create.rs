//! Creates a dataset.

use std::sync::{Arc, OnceLock};

use zarr_core::store::Store;
use zarr_core::{AccessError, Dialect, Hierarchy, Json, NodePath, Object, Result};

use crate::documents::format::NcFormat;
use crate::documents::node_attributes::NodeAttributes;
use crate::documents::node_documents::GroupDocument;
use crate::handles::dataset::Dataset;
use crate::model::options::{Conventions, DatasetOptions, Profile};

/// What a new dataset is kept as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDataset {
    /// The dialect of its documents.
    pub dialect: Dialect,
    /// How it says what plain Zarr does not: [`Profile::Nczarr`] or [`Profile::Pure`].
    pub profile: Profile,
    /// Whether strings in v3 are of a fixed width, as those of v2 are, for netcdf-c's branch that reads v3; other
    /// readers need them of variable length (N-065).
    pub fixed_strings: bool,
}

impl NewDataset {
    /// NCZarr in v2, which netcdf-c opens.
    pub fn nczarr_v2() -> Self {
        NewDataset { dialect: Dialect::V2, profile: Profile::Nczarr, fixed_strings: false }
    }

    /// NCZarr in v3.
    pub fn nczarr_v3() -> Self {
        NewDataset { dialect: Dialect::V3, profile: Profile::Nczarr, fixed_strings: false }
    }

    /// Plain Zarr, of which the names of dimensions are all that is netCDF's.
    pub fn pure(dialect: Dialect) -> Self {
        NewDataset { dialect, profile: Profile::Pure, fixed_strings: false }
    }

    /// What a name asks for: `nczarr-v2` or `nczarr`, `nczarr-v3`, `zarr-v2`, `zarr-v3`.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "nczarr-v2" | "nczarr" => NewDataset::nczarr_v2(),
            "nczarr-v3" => NewDataset::nczarr_v3(),
            "zarr-v2" => NewDataset::pure(Dialect::V2),
            "zarr-v3" => NewDataset::pure(Dialect::V3),
            _ => return None,
        })
    }

    /// The number of the format, as the superblock has it.
    fn version(&self) -> &'static str {
        if self.dialect == Dialect::V3 { "3.0.0" } else { "2.0.0" }
    }

    /// The root group's attributes, before anybody has set one (N-031, N-037, N-096).
    fn root(&self) -> Object {
        let nczarr = self.profile == Profile::Nczarr;
        let version = self.version();
        let provenance = format!(
            "version=2,zarr-nczarr={}{}",
            env!("CARGO_PKG_VERSION"),
            if nczarr { format!(",nczarr={version}") } else { String::new() }
        );
        let mut own = Object::new().with("_NCProperties", provenance);
        if nczarr {
            let superblock: Json = Object::new().with("version", version).into();
            own.insert("_nczarr_group", GroupDocument::default().to_json(self.dialect));
            own.insert("_nczarr_superblock", superblock);
        }
        NodeAttributes::with_own(own).into_object(self.dialect, nczarr)
    }

    /// How the documents of such a dataset are written.
    ///
    /// # Errors
    /// As [`Dataset::create`], for a profile that is not written.
    pub(crate) fn prepared(&self, options: &DatasetOptions) -> Result<Prepared> {
        let profiles = [Profile::Nczarr, Profile::Pure];
        let in_draft = self.dialect == Dialect::Draft && self.profile == Profile::Nczarr;
        if in_draft || !profiles.contains(&self.profile) {
            let why = format!(
                "no dataset of profile `{}` is written in {}; choose `nczarr` in v2 or v3, or `pure`",
                self.profile.name(),
                self.dialect
            );
            return Err(AccessError::Argument(why).into());
        }
        let mut options = options.clone().read_write();
        options.pure |= self.profile == Profile::Pure;
        options.fixed_strings |= self.fixed_strings;
        options.zarr = options.zarr.any_dialect();
        let conventions = Conventions { nczarr: self.profile == Profile::Nczarr, narrow_u1: false };
        let conventions = Arc::new(OnceLock::from(conventions));
        let inner = options.zarr.format(self.dialect);
        let format = Arc::new(NcFormat { inner, conventions: conventions.clone() });
        Ok(Prepared { options, conventions, format })
    }
}

/// How the documents of a new dataset are written.
pub(crate) struct Prepared {
    pub options: DatasetOptions,
    pub conventions: Arc<OnceLock<Conventions>>,
    pub format: Arc<NcFormat>,
}

impl Dataset {
    /// A new dataset at a store's root, with nothing in it.
    ///
    /// # Errors
    /// [`AccessError::Exists`] if something of Zarr is there; [`AccessError::Argument`] for NCZarr in a draft, and for
    /// the legacy profile.
    pub fn create(
        store: Arc<dyn Store>,
        new: &NewDataset,
        options: &DatasetOptions,
    ) -> Result<Dataset> {
        let Prepared { options, conventions, format } = new.prepared(options)?;
        let root = NodePath::root();
        let hierarchy = Hierarchy::begin(store, format, &options.hierarchy(&conventions))?;
        match new.dialect {
            // A draft's hierarchy begins with its root group.
            Dialect::Draft => {
                hierarchy.root()?.update_attributes(|attributes| *attributes = new.root())?;
            }
            _ => {
                hierarchy.create_group(&root, new.root())?;
            }
        }
        Dataset::of(hierarchy, root, &options, &conventions)
    }

    /// Makes copies of all documents, so that a reader needs no others; see
    /// [`zarr_core::Hierarchy::consolidate`] (N-100).
    ///
    /// # Errors
    /// As [`zarr_core::Hierarchy::consolidate`].
    pub fn consolidate(&self) -> Result<usize> {
        self.hierarchy().consolidate()
    }
}
