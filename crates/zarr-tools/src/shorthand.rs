//! Names codecs as people do, and chooses those of new arrays.

use zarr_core::codec::CodecSpec;
use zarr_core::{Dialect, Hierarchy};

/// The codec that a short text means, as of [`CodecSpec::from_str`](std::str::FromStr): `zstd:3`, `blosc-zstd:5`.
///
/// # Errors
/// As [`CodecSpec::from_str`](std::str::FromStr).
pub fn codec(text: &str) -> zarr_core::Result<CodecSpec> {
    text.parse()
}

/// The codecs of a new array in a hierarchy, if nobody asks for others: what compresses well and fast, and every reader of the
/// dialect knows. In final v3 that is `zstd` of level 3, in v2 `blosc` with `zstd` of level 3 and byte shuffle, in drafts `gzip` of
/// level 5; `gzip` where this build lacks the first, and none if it lacks both. `rank` is the number of axes: zarr-python 2.18
/// reads scalars of a draft only if they are not compressed (draft-v3.md 5, row 9).
pub fn default_codecs(hierarchy: &Hierarchy, rank: usize) -> Vec<CodecSpec> {
    let texts = match hierarchy.dialect() {
        Dialect::V3 => ["zstd:3", "gzip:5"],
        Dialect::V2 => ["blosc-zstd-shuffle:3", "gzip:5"],
        Dialect::Draft if rank == 0 => return Vec::new(),
        _ => ["gzip:5", "gzip:5"],
    };
    texts
        .into_iter()
        .find_map(|text| codec(text).ok().filter(|spec| hierarchy.registry().knows_codec(spec)))
        .into_iter()
        .collect()
}
