//! netCDF-3: the classic format, its variant with 64-bit offsets, and CDF-5 (V-060 … V-062).
//!
//! A file is a group of arrays. The values of a variable are one chunk, or some if they are many; of a variable with
//! records each record is a chunk.

mod document;
mod header;

use std::collections::BTreeMap;

use zarr_core::StoreError;
use zarr_core::store::{Bytes, Capabilities, Listing, Result, StoreKey, StorePrefix, async_trait};

use self::document::{
    Layout, array_document, group_document, layout, netcdf_dimensions, netcdf_types,
};
use self::header::{Fault, Header, parse};
use crate::source::{NETCDF_TYPES, Reference, Source, capabilities_over};
use crate::target::Target;

/// The bytes that are fetched first; most headers are shorter.
const HEAD: u64 = 64 << 10;
/// The most bytes of a header.
const MAX_HEADER: u64 = 256 << 20;
const DOCUMENT: &str = "zarr.json";

/// A netCDF-3 file.
#[derive(Debug)]
pub struct Netcdf3 {
    file: Target,
    group: Bytes,
    /// What netCDF knows of the group besides.
    types: Bytes,
    variables: BTreeMap<String, Array>,
    warnings: Vec<String>,
}

/// A variable as an array.
#[derive(Debug)]
struct Array {
    document: Bytes,
    /// What netCDF knows besides.
    types: Bytes,
    layout: Layout,
}

impl Netcdf3 {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// [`StoreError::Backend`] saying what is wrong with the file, and where.
    pub async fn open(file: Target) -> Result<Netcdf3> {
        let header = read_header(&file).await?;
        let records = match header.records {
            Some(records) => records,
            None => {
                let count = header.record_count(file.size().await?);
                count.ok_or_else(|| damaged(&file, "records beyond 2^64 bytes".into()))?
            }
        };
        let (mut variables, mut warnings) = (BTreeMap::new(), Vec::new());
        for variable in &header.variables {
            if !is_node_name(&variable.name) {
                let name = variable.name.escape_debug();
                warnings.push(format!("skipped variable `{name}`: it is not a valid node name"));
                continue;
            }
            let layout = layout(&header, variable, records).ok_or_else(|| {
                damaged(&file, format!("variable `{}` reaches beyond 2^64 bytes", variable.name))
            })?;
            let document = array_document(&header, variable, &layout);
            let dimensions = variable.dimensions.iter().map(|at| &header.dimensions[*at]);
            let unlimited = dimensions.map(|dimension| dimension.length.is_none()).collect();
            let types = netcdf_types(&variable.attributes, unlimited, None);
            let array = Array { document, types, layout };
            if variables.insert(variable.name.clone(), array).is_some() {
                return Err(damaged(&file, format!("two variables are named `{}`", variable.name)));
            }
        }
        let group = group_document(&header.attributes);
        let dimensions = netcdf_dimensions(&header.dimensions, records);
        let types = netcdf_types(&header.attributes, Vec::new(), Some(dimensions));
        Ok(Netcdf3 { file, group, types, variables, warnings })
    }
}

/// The header, of which as much is fetched as it has.
async fn read_header(file: &Target) -> Result<Header> {
    let mut bytes = file.head(HEAD).await?;
    loop {
        let needed = match parse(&bytes) {
            Ok(header) => return Ok(header),
            Err(Fault::Needs(needed)) => needed,
            Err(fault) => return Err(damaged(file, fault.to_string())),
        };
        let size = file.size().await?;
        let end = needed.max((bytes.len() as u64).saturating_mul(2)).min(size);
        if needed > size {
            let why = format!("its header needs {needed} bytes, and the file has {size}");
            return Err(damaged(file, why));
        }
        if needed > MAX_HEADER {
            let why = format!("its header has more than the limit of {MAX_HEADER} bytes");
            return Err(damaged(file, why));
        }
        let end = end.min(MAX_HEADER);
        let read = file.read(std::slice::from_ref(&(0..end))).await?;
        bytes = read.into_iter().next().unwrap_or_default();
    }
}

/// The error of a file that is not as its header says.
fn damaged(file: &Target, why: String) -> StoreError {
    StoreError::Backend(format!("{}: {why}", file.name()).into())
}

/// Whether a node can be called that.
fn is_node_name(name: &str) -> bool {
    !name.contains('/') && StoreKey::new(name).is_ok() && name != DOCUMENT
}

#[async_trait]
impl Source for Netcdf3 {
    fn name(&self) -> String {
        format!("netcdf3::{}", self.file.name())
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.file.store().public_options()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    async fn places(&self) -> Result<Vec<String>> {
        Ok(vec![self.file.name()])
    }

    fn capabilities(&self) -> Capabilities {
        capabilities_over(self.file.store().capabilities())
    }

    async fn find(&self, key: &StoreKey) -> Result<Option<Reference>> {
        let key = key.as_str();
        if key == DOCUMENT {
            return Ok(Some(Reference::Inline(self.group.clone())));
        }
        if key == NETCDF_TYPES {
            return Ok(Some(Reference::Inline(self.types.clone())));
        }
        let Some((name, rest)) = key.split_once('/') else { return Ok(None) };
        let Some(array) = self.variables.get(name) else { return Ok(None) };
        if rest == DOCUMENT {
            return Ok(Some(Reference::Inline(array.document.clone())));
        }
        if rest == NETCDF_TYPES {
            return Ok(Some(Reference::Inline(array.types.clone())));
        }
        let Some((offset, length)) = array.layout.chunk(rest) else { return Ok(None) };
        Ok(Some(Reference::Part { target: self.file.clone(), offset, length }))
    }

    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing> {
        let folder = prefix.as_str();
        if folder.is_empty() {
            let names = self.variables.keys().map(|name| format!("{name}/{DOCUMENT}"));
            let names: Vec<String> = names.chain([DOCUMENT.to_owned()]).collect();
            return Ok(Listing::of_names(prefix, names.iter().map(String::as_str)));
        }
        let name = folder.split('/').next().unwrap_or_default();
        let Some(array) = self.variables.get(name) else { return Ok(Listing::default()) };
        let below = &folder[name.len() + 1..];
        let mut names: Vec<String> = array.layout.names_below(below);
        if below.is_empty() {
            names.push(DOCUMENT.into());
        }
        let names: Vec<String> = names.iter().map(|rest| format!("{folder}{rest}")).collect();
        Ok(Listing::of_names(prefix, names.iter().map(String::as_str)))
    }
}
