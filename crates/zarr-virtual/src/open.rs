//! Opens the stores that URLs such as `netcdf3::s3://bucket/x.nc` name, and finds files of these formats without such a URL.

use std::sync::Arc;

use zarr_core::registry::{OpenToRecognize, Recognized};
use zarr_core::store::{Result, Store};
use zarr_core::{Access, Registry, StoreError};

use crate::location::split_file;
use crate::target::Target;

#[cfg(feature = "n5")]
const N5_OPTIONS: &[&str] = &["axes"];
#[cfg(feature = "references")]
const REFERENCE_OPTIONS: &[&str] = &["allow_target", "root", "target"];

#[cfg(feature = "icechunk")]
const ICECHUNK_OPTIONS: &[&str] = &["allow_target", "branch", "container", "snapshot", "tag"];

/// Options of a store, by name.
type Options = [(String, String)];

/// Adds the formats of this build to what a program knows: URLs with `kerchunk::`, `n5::`, `netcdf3::`, and what is found
/// where no Zarr data are.
pub fn register(registry: &mut Registry) {
    #[cfg(feature = "references")]
    registry.chain_with_options("kerchunk", REFERENCE_OPTIONS, open_references);
    #[cfg(not(feature = "references"))]
    registry.chain_left_out("kerchunk", "references");
    #[cfg(feature = "n5")]
    registry.chain_with_options("n5", N5_OPTIONS, open_n5);
    #[cfg(not(feature = "n5"))]
    registry.chain_left_out("n5", "n5");
    #[cfg(feature = "netcdf3")]
    registry.chain_with_options("netcdf3", &[], open_netcdf3);
    #[cfg(not(feature = "netcdf3"))]
    registry.chain_left_out("netcdf3", "netcdf3");
    #[cfg(feature = "hdf5")]
    registry.chain_with_options("hdf5", &[], open_hdf5);
    #[cfg(not(feature = "hdf5"))]
    registry.chain_left_out("hdf5", "hdf5");
    #[cfg(feature = "icechunk")]
    registry.chain_with_options("icechunk", ICECHUNK_OPTIONS, open_icechunk);
    #[cfg(not(feature = "icechunk"))]
    registry.chain_left_out("icechunk", "icechunk");
    registry.recognizer(recognize);
}

/// The options in a link, `n5://axes=reversed`, and those that were given otherwise; those of the link count.
pub(crate) fn options_of(
    link: &str,
    given: &Options,
    known: &[&str],
) -> Result<Vec<(String, String)>> {
    let mut options = given.to_vec();
    let in_link = link.split_once("://").map_or("", |(_, options)| options);
    for option in in_link.split(',').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').ok_or_else(|| {
            StoreError::invalid_url(link, format!("`{option}`: options are written `name=value`"))
        })?;
        if !known.contains(&name) {
            let known = known.join("`, `");
            return Err(StoreError::invalid_url(
                link,
                format!("unknown option `{name}`; expected one of `{known}`"),
            ));
        }
        options.retain(|(other, _)| other != name);
        options.push((name.to_owned(), value.to_owned()));
    }
    Ok(options)
}

/// The value of an option.
#[cfg(any(feature = "references", feature = "n5", feature = "icechunk"))]
pub(crate) fn option<'o>(options: &'o Options, name: &str) -> Option<&'o str> {
    options.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Refuses writing, before any request.
pub(crate) fn check_reading(link: &str, url: &str, access: Access) -> Result<()> {
    match access {
        Access::ReadOnly => Ok(()),
        Access::ReadWrite => {
            let why = format!(
                "it is read-only; copy it with `zarr copy {url} NEW.zarr`, and write to the copy"
            );
            Err(StoreError::invalid_url(&format!("{link}::{url}"), why))
        }
    }
}

/// The file that a URL names, as a value of the store that it is in.
#[cfg(any(feature = "references", feature = "netcdf3", feature = "hdf5"))]
pub(crate) fn file(url: &str, registry: &Registry) -> Result<Target> {
    let (store, key) = split_file(url)?;
    Ok(Target::new(registry.open_store(&store, Access::ReadOnly)?, key))
}

#[cfg(feature = "netcdf3")]
fn open_netcdf3(
    link: &str,
    url: &str,
    access: Access,
    registry: &Registry,
    options: &Options,
) -> Result<Arc<dyn Store>> {
    check_reading(link, url, access)?;
    options_of(link, options, &[])?;
    let file = file(url, registry)?;
    let source = zarr_core::runtime::block_on(crate::netcdf3::Netcdf3::open(file))?;
    Ok(crate::ReferenceStore::over(source))
}

#[cfg(feature = "hdf5")]
fn open_hdf5(
    link: &str,
    url: &str,
    access: Access,
    registry: &Registry,
    options: &Options,
) -> Result<Arc<dyn Store>> {
    check_reading(link, url, access)?;
    options_of(link, options, &[])?;
    let file = file(url, registry)?;
    let source = crate::hdf5::Hdf5::open(file, registry.clone());
    Ok(crate::ReferenceStore::over(zarr_core::runtime::block_on(source)?))
}

#[cfg(feature = "n5")]
fn open_n5(
    link: &str,
    url: &str,
    access: Access,
    registry: &Registry,
    options: &Options,
) -> Result<Arc<dyn Store>> {
    check_reading(link, url, access)?;
    let options = options_of(link, options, N5_OPTIONS)?;
    let axes = match option(&options, "axes") {
        None | Some("n5") => crate::n5::Axes::AsStored,
        Some("reversed") => crate::n5::Axes::Reversed,
        Some(other) => {
            let why = format!("invalid option `axes={other}`; expected `n5` or `reversed`");
            return Err(StoreError::invalid_url(&format!("{link}::{url}"), why));
        }
    };
    let store = registry.open_store(url, Access::ReadOnly)?;
    Ok(crate::ReferenceStore::over(crate::n5::N5::new(store, axes)))
}

#[cfg(feature = "references")]
fn open_references(
    link: &str,
    url: &str,
    access: Access,
    registry: &Registry,
    options: &Options,
) -> Result<Arc<dyn Store>> {
    use crate::reach::Reach;
    use crate::references::{ReferenceOptions, References};

    check_reading(link, url, access)?;
    let options = options_of(link, options, REFERENCE_OPTIONS)?;
    #[cfg(feature = "references-parquet")]
    if !url.ends_with(".json")
        && let Some(store) = open_parquet((link, url), registry, &options)?
    {
        return Ok(store);
    }
    let file = file(url, registry)?;
    let root = option(&options, "root");
    let allowed = option(&options, "allow_target").unwrap_or_default();
    let reach = Reach::new(&file.name(), root, allowed.lines())
        .map_err(|why| StoreError::invalid_url(&format!("{link}::{url}"), why))?;
    let target = option(&options, "target").map(str::to_owned);
    let name = format!("kerchunk::{}", file.name());
    let options = ReferenceOptions { name, options, target, reach };
    let source = References::open(&file, options, crate::targets::opener(registry));
    Ok(crate::ReferenceStore::over(zarr_core::runtime::block_on(source)?))
}

/// References in Parquet, if there is a folder with documents at a URL.
#[cfg(feature = "references-parquet")]
fn open_parquet(
    (link, url): (&str, &str),
    registry: &Registry,
    options: &Options,
) -> Result<Option<Arc<dyn Store>>> {
    use crate::parquet::{ParquetOptions, ParquetReferences};
    use crate::reach::Reach;

    if !is_parquet(url, &|url| registry.open_store(url, Access::ReadOnly)) {
        return Ok(None);
    }
    let store = registry.open_store(url, Access::ReadOnly)?;
    let allowed = option(options, "allow_target").unwrap_or_default();
    // The folder is what a file is in JSON: relative references begin beside it.
    let reach = Reach::new(&store.name(), option(options, "root"), allowed.lines())
        .map_err(|why| StoreError::invalid_url(&format!("{link}::{url}"), why))?;
    let name = format!("kerchunk::{}", store.name());
    let target = option(options, "target").map(str::to_owned);
    let options = ParquetOptions { name, options: options.to_vec(), target, reach };
    let source = ParquetReferences::open(store, options, crate::targets::opener(registry));
    Ok(Some(crate::ReferenceStore::over(zarr_core::runtime::block_on(source)?)))
}

/// Whether a folder has the documents of references in Parquet.
#[cfg(feature = "references-parquet")]
fn is_parquet(url: &str, open: OpenToRecognize<'_>) -> bool {
    let (Ok(store), Ok(key)) =
        (open(url), zarr_core::store::StoreKey::new(crate::parquet::DOCUMENTS))
    else {
        return false;
    };
    let text = zarr_core::runtime::block_on(Target::new(store, key).head(MAX_PARQUET_DOCUMENTS));
    text.is_ok_and(|text| String::from_utf8_lossy(&text).contains("\"record_size\""))
}

/// The bytes of documents that are looked at; the mark of references in Parquet may be at their end.
#[cfg(feature = "references-parquet")]
const MAX_PARQUET_DOCUMENTS: u64 = 16 << 20;

#[cfg(feature = "icechunk")]
fn open_icechunk(
    link: &str,
    url: &str,
    access: Access,
    registry: &Registry,
    options: &Options,
) -> Result<Arc<dyn Store>> {
    use crate::icechunk::{Icechunk, IcechunkOptions, Wanted};
    use crate::reach::Reach;

    check_reading(link, url, access)?;
    let options = options_of(link, options, ICECHUNK_OPTIONS)?;
    let invalid = |why: &str| StoreError::invalid_url(&format!("{link}::{url}"), why);
    let named = |name: &str| option(&options, name).map(str::to_owned);
    let wanted = match (named("branch"), named("tag"), named("snapshot")) {
        (None, None, None) => Wanted::Branch("main".into()),
        (Some(branch), None, None) => Wanted::Branch(branch),
        (None, Some(tag), None) => Wanted::Tag(tag),
        (None, None, Some(id)) => Wanted::Snapshot(id),
        _ => return Err(invalid("give one of `branch`, `tag` and `snapshot`")),
    };
    let mut containers = std::collections::BTreeMap::new();
    for line in named("container").unwrap_or_default().lines().filter(|line| !line.is_empty()) {
        let (name, url) = line
            .split_once('=')
            .ok_or_else(|| invalid("the option `container` is `NAME=URL`, a line for each"))?;
        containers.insert(name.to_owned(), url.to_owned());
    }
    let store = registry.open_store(url, Access::ReadOnly)?;
    // Who names a container allows what is in it.
    let allowed = option(&options, "allow_target").unwrap_or_default().lines();
    let allowed = allowed.chain(containers.values().map(String::as_str));
    // References begin with a scheme; those to the repository's own folder are allowed.
    let inside = format!("{}/{}", store.name().trim_end_matches('/'), crate::icechunk::REPOSITORY);
    let reach = Reach::new(&inside, None, allowed).map_err(|why| invalid(&why))?;
    let link = match &wanted {
        Wanted::Branch(branch) => format!("icechunk://branch={branch}"),
        Wanted::Tag(tag) => format!("icechunk://tag={tag}"),
        Wanted::Snapshot(id) => format!("icechunk://snapshot={id}"),
    };
    let options = IcechunkOptions { link, options, wanted, reach, containers };
    let source = Icechunk::open(store, options, crate::targets::opener(registry));
    Ok(crate::ReferenceStore::over(zarr_core::runtime::block_on(source)?))
}

/// The bytes of a file that are looked at.
const HEAD: u64 = 4096;

/// Finds a file of one of this build's formats at a URL, or a node of N5.
pub(crate) fn recognize(url: &str, open: OpenToRecognize<'_>) -> Option<Recognized> {
    let in_file = head(url, open).and_then(|head| format_of_file(&head));
    let (what, link) = in_file.or_else(|| format_of_folder(url, open))?;
    Some(Recognized { what, url: format!("{link}::{url}") })
}

/// The first bytes of the file at a URL, if there is one.
fn head(url: &str, open: OpenToRecognize<'_>) -> Option<Vec<u8>> {
    let (store, key) = split_file(url).ok()?;
    let file = Target::new(open(&store).ok()?, key);
    Some(zarr_core::runtime::block_on(file.head(HEAD)).ok()?.to_vec())
}

fn format_of_file(head: &[u8]) -> Option<(&'static str, &'static str)> {
    #[cfg(feature = "netcdf3")]
    if [b"CDF\x01", b"CDF\x02", b"CDF\x05"].iter().any(|magic| head.starts_with(*magic)) {
        return Some(("a netCDF-3 file", "netcdf3"));
    }
    #[cfg(feature = "hdf5")]
    if is_hdf5(head) {
        return Some(("an HDF5 or netCDF-4 file", "hdf5"));
    }
    #[cfg(feature = "references")]
    if is_kerchunk(head) {
        return Some(("a file with references of kerchunk", "kerchunk"));
    }
    let _ = head;
    None
}

/// HDF5's signature at the beginning, or after a user block of 512, 1024 or 2048 bytes.
#[cfg(feature = "hdf5")]
fn is_hdf5(head: &[u8]) -> bool {
    let starts = [0, 512, 1024, 2048];
    starts
        .iter()
        .any(|start| head.get(*start..).is_some_and(|h| h.starts_with(&zarr_hdf5::SIGNATURE)))
}

/// JSON with the documents of a Zarr hierarchy as members, or as members of `refs`.
#[cfg(feature = "references")]
fn is_kerchunk(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let documents = [".zgroup\"", ".zarray\"", ".zattrs\"", ".zmetadata\"", "zarr.json\""];
    text.trim_start().starts_with('{') && documents.iter().any(|name| text.contains(name))
}

fn format_of_folder(url: &str, open: OpenToRecognize<'_>) -> Option<(&'static str, &'static str)> {
    #[cfg(feature = "icechunk")]
    if is_icechunk(url, open) {
        return Some(("an Icechunk repository", "icechunk"));
    }
    #[cfg(feature = "references-parquet")]
    if is_parquet(url, open) {
        return Some(("references of kerchunk in Parquet", "kerchunk"));
    }
    #[cfg(feature = "n5")]
    {
        let key = zarr_core::store::StoreKey::new(crate::n5::ATTRIBUTES).ok()?;
        let attributes = Target::new(open(url).ok()?, key);
        let text = zarr_core::runtime::block_on(attributes.head(crate::n5::MAX_DOCUMENT)).ok()?;
        let (json, _) = zarr_core::Json::parse_tolerant(&text).ok()?;
        if crate::n5::is_of_n5(json.as_object()?) {
            return Some(("an N5 container or a dataset in one", "n5"));
        }
    }
    #[cfg(not(feature = "n5"))]
    let _ = (url, open);
    None
}

/// Whether a folder has the file of a repository, or that of the branch `main` of one of version 1.
#[cfg(feature = "icechunk")]
fn is_icechunk(url: &str, open: OpenToRecognize<'_>) -> bool {
    let Ok(store) = open(url) else { return false };
    head_of(&store, crate::icechunk::REPOSITORY)
        .is_some_and(|head| crate::icechunk::file::is_icechunk(&head))
        || head_of(&store, "refs/branch.main/ref.json")
            .is_some_and(|head| String::from_utf8_lossy(&head).contains("\"snapshot\""))
}

/// The first bytes of a value.
#[cfg(feature = "icechunk")]
fn head_of(store: &Arc<dyn Store>, key: &str) -> Option<zarr_core::store::Bytes> {
    let file = Target::new(store.clone(), zarr_core::store::StoreKey::new(key).ok()?);
    zarr_core::runtime::block_on(file.head(HEAD)).ok()
}

#[cfg(all(test, any(feature = "references", feature = "n5", feature = "icechunk")))]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_link_replace_those_given() {
        let given = [("axes".to_owned(), "n5".to_owned())];
        let options = options_of("n5://axes=reversed", &given, &["axes"]).unwrap();
        assert_eq!(option(&options, "axes"), Some("reversed"));
        assert_eq!(options_of("n5", &given, &["axes"]).unwrap(), given);
        for wrong in ["n5://axes", "n5://axis=x"] {
            assert!(options_of(wrong, &[], &["axes"]).is_err(), "{wrong}");
        }
    }
}
