//! Recognizes data of other formats than Zarr, by their first bytes or by the names in a folder.

use zarr_core::store::{
    ByteRange, GetOptions, ListOptions, SnapshotOptions, StoreKey, StorePrefix, SyncStore,
};
use zarr_core::{OpenOptions, StoreError, split_query};

/// The bytes of a file that are looked at: HDF5 may begin behind 2,048 bytes of the user's own.
const HEAD: u64 = 4096;
/// The bytes of copies of documents that are looked at; kerchunk puts its mark at their end.
const COPIES: u64 = 16 << 20;
/// The most folders above that are asked whether they are an N5 container.
const ABOVE: usize = 8;

/// What is at a URL, if it is of a format that is known and not read: `an HDF5 file, as netCDF-4 files are, too`.
pub fn other_format(url: &str, options: &OpenOptions) -> Option<&'static str> {
    // A web server answers for a folder, too, with its own page.
    format_of_file(url, options).or_else(|| of_folder(url, options))
}

/// The format of the file at a URL, if there is one.
pub fn format_of_file(url: &str, options: &OpenOptions) -> Option<&'static str> {
    head(url, options).and_then(|head| of_file(&head))
}

/// The first bytes of the value at a URL, if there is one.
pub fn head(url: &str, options: &OpenOptions) -> Option<Vec<u8>> {
    let (above, name) = parent(url)?;
    let store = options.store(&above).ok()?.to_sync();
    get(&*store, name, HEAD)
}

/// The URL above, and the name in it.
pub fn parent(url: &str) -> Option<(String, &str)> {
    let (place, query) = split_query(url);
    let (above, name) = place.trim_end_matches('/').rsplit_once('/')?;
    let is_place = !above.is_empty() && !above.ends_with(['/', ':']) && !place.contains("::");
    is_place.then(|| (format!("{above}{query}"), name))
}

/// The first `most` bytes of a value, if it is there and can be read.
fn get(store: &dyn SyncStore, key: &str, most: u64) -> Option<Vec<u8>> {
    let key = StoreKey::new(key).ok()?;
    let range = [ByteRange::Bounded { start: 0, len: most }];
    let value = store.open(&key, SnapshotOptions::first(&range)).ok()??;
    match value.read(&range) {
        Ok(parts) => Some(parts.concat()),
        // The value is shorter.
        Err(StoreError::Range { .. }) => {
            Some(store.get(&key, GetOptions::at_most(most)).ok()??.bytes?.to_vec())
        }
        Err(_) => None,
    }
}

fn of_file(head: &[u8]) -> Option<&'static str> {
    let is_hdf5 = [0, 512, 1024, 2048]
        .into_iter()
        .any(|at| head.get(at..).is_some_and(|rest| rest.starts_with(b"\x89HDF\r\n\x1a\n")));
    Some(if is_hdf5 {
        "an HDF5 file, as netCDF-4 files are"
    } else if head.starts_with(b"CDF\x01")
        || head.starts_with(b"CDF\x02")
        || head.starts_with(b"CDF\x05")
    {
        "a netCDF-3 file"
    } else if [b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"].iter().any(|magic| head.starts_with(*magic))
    {
        "a TIFF file"
    } else if head.starts_with(b"\x93NUMPY") {
        "a NumPy file; `zarr put --format npy` writes it into an array"
    } else if head.starts_with(b"PAR1") {
        "a Parquet file"
    } else if head.starts_with(b"GRIB") {
        "a GRIB file"
    } else if head.starts_with(b"SIMPLE  =") {
        "a FITS file"
    } else if is_kerchunk(head) {
        "references of kerchunk to chunks in other files"
    } else {
        return None;
    })
}

/// JSON with the documents of a Zarr hierarchy as members, or as members of `refs`.
fn is_kerchunk(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let documents = [".zgroup\"", ".zarray\"", ".zattrs\"", ".zmetadata\"", "zarr.json\""];
    text.trim_start().starts_with('{') && documents.iter().any(|name| text.contains(name))
}

fn of_folder(url: &str, options: &OpenOptions) -> Option<&'static str> {
    let store = options.store(url).ok()?.to_sync();
    if let Ok(listing) = store.list_dir(&StorePrefix::root(), ListOptions::default()) {
        let has = |name: &str| {
            listing.prefixes.iter().any(|prefix| prefix.as_str() == name)
                || listing.keys.iter().any(|key| key.as_str() == name)
        };
        if has("snapshots/") && (has("refs/") || has("repo")) {
            return Some("an Icechunk repository");
        }
        if has("_delta_log/") {
            return Some("a Delta table");
        }
    }
    let copies = get(&*store, ".zmetadata", COPIES);
    if copies.is_some_and(|copies| String::from_utf8_lossy(&copies).contains("\"record_size\"")) {
        return Some("references of kerchunk, in Parquet, to chunks in other files");
    }
    is_n5(url, options).then_some("an N5 container or a dataset in one")
}

/// Whether a folder, or one above it, says in its `attributes.json` that it is N5's.
fn is_n5(url: &str, options: &OpenOptions) -> bool {
    let mut at = url.to_owned();
    for _ in 0..ABOVE {
        let store = options.store(&at).ok().map(|store| store.to_sync());
        let attributes = store.and_then(|store| get(&*store, "attributes.json", HEAD));
        let text = attributes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let has = |name: &str| text.as_ref().is_some_and(|text| text.contains(name));
        if has("\"n5\"") || (has("\"blockSize\"") && has("\"dimensions\"")) {
            return true;
        }
        match parent(&at) {
            Some((above, _)) => at = above,
            None => break,
        }
    }
    false
}
