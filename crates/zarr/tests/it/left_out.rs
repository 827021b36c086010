//! Errors name the feature that this build left out.
//!
//! Builds with fewer features say more here: `cargo test -p zarrkit --no-default-features --test it left_out::`.

use zarr::codec::{ChunkContext, CodecSpec};
use zarr::data_type::CoreType;
use zarr::{Dialect, ErrorKind, Object};

/// The features of this crate that bring a codec, with the codec's names in v3, v2 and the drafts.
const CODECS: [(&str, bool, [&str; 3]); 7] = [
    ("gzip", cfg!(feature = "gzip"), ["gzip", "gzip", "gzip"]),
    ("zlib", cfg!(feature = "zlib"), ["numcodecs.zlib", "zlib", "zlib"]),
    ("zstd", cfg!(feature = "zstd"), ["zstd", "zstd", "zstd"]),
    ("blosc", cfg!(feature = "blosc"), ["blosc", "blosc", "blosc"]),
    ("lz4", cfg!(feature = "lz4"), ["numcodecs.lz4", "lz4", "lz4"]),
    ("bz2", cfg!(feature = "bz2"), ["numcodecs.bz2", "bz2", "bz2"]),
    ("lzma", cfg!(feature = "lzma"), ["numcodecs.lzma", "lzma", "lzma"]),
];

#[test]
fn a_url_of_a_store_that_was_left_out_names_the_feature() {
    let stores = [
        ("memory://", "memory", cfg!(feature = "memory")),
        ("file:///no/such/place", "filesystem", cfg!(feature = "filesystem")),
        ("/no/such/place", "filesystem", cfg!(feature = "filesystem")),
    ];
    for (url, feature, is_here) in stores {
        let error = zarr::open(url).expect_err("nothing is there");
        let told = error.to_string().contains(&format!("enable the feature `{feature}`"));
        // What this crate lacks, another of the same build may have asked for.
        assert!(told || error.kind() == ErrorKind::NotFound, "{error}");
        assert!(!(told && is_here), "{error}");
    }
}

#[test]
fn a_codec_that_was_left_out_names_the_feature() {
    let registry = zarr::standard();
    let context = ChunkContext::new(CoreType::Int32, vec![2]);
    for (feature, is_here, [v3, v2, draft]) in CODECS {
        let uri = format!("https://purl.org/zarr/spec/codec/{draft}/1.0");
        for (dialect, name) in
            [(Dialect::V3, v3), (Dialect::V2, v2), (Dialect::Draft, uri.as_str())]
        {
            let spec = CodecSpec::new(dialect, name, Object::new());
            if registry.knows_codec(&spec) {
                continue;
            }
            let said = registry.build_codec(&spec, &context).expect_err(name).to_string();
            assert!(said.contains(&format!("enable the feature `{feature}`")), "{said}");
            assert!(!is_here, "{said}");
        }
    }
}

/// Planned is not left out.
#[test]
fn a_codec_that_nobody_wrote_yet_is_unknown() {
    let context = ChunkContext::new(CoreType::Int32, vec![2]);
    let spec = CodecSpec::v3("no_such_codec", Object::new());
    let said = zarr::standard().build_codec(&spec, &context).expect_err("unknown").to_string();
    assert!(said.contains("register an extension for others"), "{said}");
}
