//! Holds what several codecs share.

#[cfg(any(
    feature = "astype",
    feature = "bitround",
    feature = "delta",
    feature = "fixedscaleoffset",
    feature = "quantize"
))]
pub(crate) mod arithmetic;
pub(crate) mod bounded_read;
#[cfg(any(
    feature = "adler32",
    feature = "crc32",
    feature = "crc32c",
    feature = "fletcher32",
    feature = "jenkins_lookup3"
))]
pub(crate) mod checksum;
#[cfg(any(feature = "gzip", feature = "zlib"))]
pub(crate) mod deflate;
#[cfg(any(feature = "cast_value", feature = "scale_offset"))]
pub(crate) mod elementwise;
#[cfg(any(feature = "gzip", feature = "zlib", feature = "blosc"))]
pub(crate) mod libdeflate;
#[cfg(any(
    feature = "astype",
    feature = "bitround",
    feature = "categorize",
    feature = "delta",
    feature = "fixedscaleoffset",
    feature = "pcodec",
    feature = "quantize",
    feature = "zfp"
))]
pub(crate) mod number;
#[cfg(any(feature = "reshape", feature = "squeeze"))]
pub(crate) mod reshape_common;
#[cfg(any(feature = "shuffle", feature = "blosc"))]
pub(crate) mod shuffle_kernel;
#[cfg(all(target_arch = "x86_64", any(feature = "shuffle", feature = "blosc")))]
mod simd;
pub(crate) mod spelling;
#[cfg(any(
    feature = "astype",
    feature = "bitround",
    feature = "categorize",
    feature = "delta",
    feature = "fixedscaleoffset",
    feature = "packbits",
    feature = "quantize"
))]
pub(crate) mod v3_adapter;
#[cfg(any(feature = "json2", feature = "msgpack2"))]
pub(crate) mod values;
