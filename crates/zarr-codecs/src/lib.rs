//! The codecs of Zarr.
//!
//! Each codec is one file behind one feature of the same name. [`register`] adds those of this build
//! to a [`Registry`], and the names of the others, so that an error can name the feature that a codec needs.
//!
//! ```
//! use zarr_core::codec::{ChunkContext, CodecSpec};
//! use zarr_core::data_type::CoreType;
//! use zarr_core::{Object, Registry};
//!
//! let registry = Registry::new().with(zarr_codecs::register);
//! let spec = CodecSpec::v3("gzip", Object::new().with("level", 5u64));
//! let context = ChunkContext::new(CoreType::Int32, vec![10, 10]);
//! match registry.build_codec(&spec, &context) {
//!     Ok(codec) => println!("{codec:?}"),
//!     // "codec `gzip` is not supported; it was left out of this build; enable the feature `gzip` ..."
//!     Err(error) => println!("{error}"),
//! }
//! ```

#[cfg(feature = "adler32")]
mod adler32;
#[cfg(feature = "astype")]
mod astype;
#[cfg(feature = "base64")]
mod base64;
#[cfg(feature = "bitround")]
mod bitround;
#[cfg(feature = "blosc")]
mod blosc;
#[cfg(feature = "bytes")]
mod bytes;
#[cfg(feature = "bz2")]
mod bz2;
#[cfg(feature = "cast_value")]
mod cast_value;
#[cfg(feature = "categorize")]
mod categorize;
#[cfg(feature = "conditional")]
mod conditional;
#[cfg(feature = "crc32")]
mod crc32;
#[cfg(feature = "crc32c")]
mod crc32c;
#[cfg(feature = "delta")]
mod delta;
#[cfg(feature = "fixedscaleoffset")]
mod fixedscaleoffset;
#[cfg(feature = "fletcher32")]
mod fletcher32;
#[cfg(feature = "gzip")]
mod gzip;
#[cfg(feature = "jenkins_lookup3")]
mod jenkins_lookup3;
#[cfg(feature = "json2")]
mod json2;
#[cfg(feature = "lz4")]
mod lz4;
#[cfg(feature = "lzma")]
mod lzma;
#[cfg(feature = "msgpack2")]
mod msgpack2;
#[cfg(feature = "n5_default")]
mod n5_default;
#[cfg(feature = "optional")]
mod optional;
#[cfg(feature = "packbits")]
mod packbits;
#[cfg(feature = "pcodec")]
mod pcodec;
#[cfg(feature = "quantize")]
mod quantize;
#[cfg(feature = "reshape")]
mod reshape;
#[cfg(feature = "scale_offset")]
mod scale_offset;
#[cfg(feature = "sharding")]
mod sharding;
#[cfg(feature = "shuffle")]
mod shuffle;
#[cfg(feature = "squeeze")]
mod squeeze;
#[cfg(feature = "transpose")]
mod transpose;
mod util;
#[cfg(any(feature = "vlen-utf8", feature = "vlen-bytes", feature = "vlen-array"))]
mod vlen;
#[cfg(feature = "zfp")]
mod zfp;
#[cfg(feature = "zlib")]
mod zlib;
#[cfg(feature = "zstd")]
mod zstd;
#[cfg(any(feature = "zstd", feature = "blosc"))]
mod zstd_decoder;

#[cfg(all(test, feature = "blosc", feature = "bytes", feature = "transpose", feature = "zstd"))]
mod part_tests;
#[cfg(test)]
mod testing;

use zarr_core::Registry;
use zarr_core::codec::Names;

/// One row for each codec: its feature and module, and its names in final v3 (the first is written),
/// in v2 and in the drafts (the last part of the URI). Those that other codecs or data types are part of
/// are made by the registry's other method.
macro_rules! codecs {
    ($($method:ident {
        $($feature:literal $module:ident: $v3:expr, $v2:expr, $draft:expr;)*
    })*) => {
        /// Every row, whether this build has the codec or not.
        #[cfg(test)]
        const ROWS: &[(&str, Names)] = &[
            $($(($feature, Names { v3: &$v3, v2: &$v2, draft: &$draft }),)*)*
        ];

        /// Makes every codec of this build known to `registry`, and the names of the others.
        pub fn register(registry: &mut Registry) {
            $($({
                const NAMES: Names = Names { v3: &$v3, v2: &$v2, draft: &$draft };
                #[cfg(feature = $feature)]
                registry.$method(&NAMES, $module::build);
                #[cfg(not(feature = $feature))]
                registry.codec_left_out(&NAMES, $feature);
            })*)*
        }
    };
}

codecs! {
    codec {
        // `endian` is an older name that zarrs still reads (F-080).
        "bytes" bytes: ["bytes", "endian"], [], [];
        "transpose" transpose: ["transpose"], [], [];
        "reshape" reshape: ["reshape"], [], [];
        "squeeze" squeeze: ["zarrs.squeeze"], [], [];
        "gzip" gzip: ["gzip", "numcodecs.gzip"], ["gzip"], ["gzip"];
        "zlib" zlib: ["numcodecs.zlib", "zlib"], ["zlib"], ["zlib"];
        "zstd" zstd: ["zstd", "numcodecs.zstd"], ["zstd"], ["zstd"];
        "blosc" blosc: ["blosc", "numcodecs.blosc"], ["blosc"], ["blosc"];
        "lz4" lz4: ["numcodecs.lz4", "lz4"], ["lz4"], ["lz4"];
        "bz2" bz2: ["numcodecs.bz2", "bz2"], ["bz2"], ["bz2"];
        "lzma" lzma: ["numcodecs.lzma", "lzma"], ["lzma"], ["lzma"];
        "crc32c" crc32c: ["crc32c", "numcodecs.crc32c"], ["crc32c"], ["crc32c"];
        "crc32" crc32: ["numcodecs.crc32", "crc32"], ["crc32"], ["crc32"];
        "adler32" adler32: ["numcodecs.adler32", "adler32"], ["adler32"], ["adler32"];
        "fletcher32" fletcher32: ["numcodecs.fletcher32", "fletcher32"], ["fletcher32"], ["fletcher32"];
        "jenkins_lookup3" jenkins_lookup3: ["numcodecs.jenkins_lookup3", "jenkins_lookup3"],
            ["jenkins_lookup3"], ["jenkins_lookup3"];
        "base64" base64: ["numcodecs.base64", "base64"], ["base64"], ["base64"];
        "shuffle" shuffle: ["numcodecs.shuffle", "shuffle"], ["shuffle"], ["shuffle"];
        "delta" delta: ["numcodecs.delta", "delta"], ["delta"], ["delta"];
        "vlen-utf8" vlen: ["vlen-utf8"], ["vlen-utf8"], [];
        "vlen-bytes" vlen: ["vlen-bytes"], ["vlen-bytes"], [];
        "vlen-array" vlen: [], ["vlen-array"], [];
        "json2" json2: [], ["json2", "json"], [];
        "msgpack2" msgpack2: [], ["msgpack2", "msgpack"], [];
        "fixedscaleoffset" fixedscaleoffset: ["numcodecs.fixedscaleoffset", "fixedscaleoffset"],
            ["fixedscaleoffset"], ["fixedscaleoffset"];
        "quantize" quantize: ["numcodecs.quantize", "quantize"], ["quantize"], ["quantize"];
        "bitround" bitround: ["bitround", "numcodecs.bitround"], ["bitround"], ["bitround"];
        "astype" astype: ["numcodecs.astype", "astype"], ["astype"], ["astype"];
        // The two names are two codecs (F-098).
        "packbits" packbits: ["packbits", "numcodecs.packbits"], ["packbits"], ["packbits"];
        "categorize" categorize: ["numcodecs.categorize", "categorize"], ["categorize"], ["categorize"];
        "pcodec" pcodec: ["numcodecs.pcodec", "pcodec"], ["pcodec"], ["pcodec"];
        "scale_offset" scale_offset: ["scale_offset"], [], [];
        "zfp" zfp: ["zfp", "zarrs.zfp"], [], [];
        // Streams with a header, numcodecs' (F-104).
        "zfp" zfp: ["numcodecs.zfpy", "zfpy"], ["zfpy"], ["zfpy"];
    }
    container_codec {
        "sharding" sharding: ["sharding_indexed"], [], [];
        "cast_value" cast_value: ["cast_value"], [], [];
        "optional" optional: ["zarrs.optional", "optional"], [], [];
        "conditional" conditional: ["conditional"], [], [];
        "n5_default" n5_default: ["n5_default"], [], [];
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::Dialect;

    use super::*;
    use crate::testing::{DIALECTS, refusal};

    fn registry() -> Registry {
        Registry::new().with(register)
    }

    /// A codec of another build is told by the feature that brings it, never as unknown.
    #[test]
    fn every_name_is_known_or_names_its_feature() {
        let registry = registry();
        for (feature, names) in ROWS {
            for (dialect, names) in DIALECTS.into_iter().zip([names.v3, names.v2, names.draft]) {
                for name in names {
                    if registry.codec_names(dialect).contains(name) {
                        continue;
                    }
                    let hint = format!("enable the feature `{feature}` of `zarr`");
                    let error = refusal(dialect, name, "{}");
                    assert!(error.ends_with(&hint), "{error}");
                }
            }
        }
    }

    /// F-104: numcodecs' codecs have zarr-python's spelling, the bare one, and their `id`.
    #[test]
    fn numcodecs_names_stand_beside_the_bare_ones() {
        for (_, names) in ROWS.iter().filter(|(_, names)| !names.draft.is_empty()) {
            let id = names.draft[0];
            assert!(names.v3.contains(&id));
            assert!(names.v3.contains(&format!("numcodecs.{id}").as_str()));
            assert_eq!((names.v2, names.draft), (&[id][..], &[id][..]));
        }
    }

    /// Pickled objects run code.
    #[test]
    fn pickle_is_refused() {
        assert!(refusal(Dialect::V2, "pickle", "{}").contains("are refused"));
    }
}
