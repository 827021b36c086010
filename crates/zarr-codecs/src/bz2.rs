//! Compresses bytes as bzip2 streams.
//!
//! Decoding takes any number of streams one after another, as `bzip2` does, and nothing else after
//! them.

use std::borrow::Cow;
use std::io::Write;

use bzip2::Compression;
use bzip2::bufread::MultiBzDecoder;
use bzip2::write::BzEncoder;
use zarr_core::codec::{
    BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Parameters,
};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use crate::util::bounded_read::{read_all, read_into};
use crate::util::metadata::in_every_dialect;

const CODEC: &str = "bz2";

/// The bz2 codec.
#[derive(Clone, Copy, Debug)]
struct Bz2 {
    level: u32,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let level = parameters.integer("level", 1..=9, Some(1))? as u32;
    parameters.finish()?;
    Ok(Codec::bytes_to_bytes(Bz2 { level }))
}

impl BytesToBytes for Bz2 {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        let mut writer = BzEncoder::new(Vec::new(), Compression::new(self.level));
        let written = writer.write_all(&decoded).and_then(|()| writer.finish());
        written.map(Cow::Owned).map_err(|e| CodecError::corrupt(CODEC, e))
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        read_all(CODEC, MultiBzDecoder::new(&encoded[..]), size).map(Cow::Owned)
    }

    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        read_into(CODEC, MultiBzDecoder::new(&encoded[..]), out)
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        let configuration = Object::new().with("level", u64::from(self.level));
        in_every_dialect(dialect, "numcodecs.bz2", "bz2", configuration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{behaves, build, decode, digest, encode, hex, metadata, refusal};

    fn bz2() -> std::sync::Arc<dyn BytesToBytes> {
        build(Dialect::V2, "bz2", "{}")
    }

    #[test]
    fn it_behaves() {
        behaves(&*bz2());
    }

    /// zarr-python 2.18 (draft-v3.md 3.1) and 2.18.7, zarrs' compatibility data, z5py 2.
    #[test]
    fn it_reads_what_others_wrote() {
        let numbers =
            "425a6831314159265359de59115b00000240007c0020002183419a02e04b8bb9229c28486f2c88ad80";
        assert_eq!(decode(&*bz2(), &hex(numbers), 8), hex("0100020003000400"));
        let python = "425a6833314159265359b275f60200005b4fe0c0c0005c446429cf2fbb14b43040c21000082000488a6868
            343434d1a06234d34004694000000000d064efd57cc180480424cf4e52d3518c239ed421fbc30cd2a4ad7a00e0d7
            20635ae7091d979efc49520004024d4640963008cc003f177245385090b275f602";
        assert_eq!(digest(&decode(&*bz2(), &hex(python), 512)), 0x859f_1ad1_cb84_6c72);
        let zarrs =
            "425a6839314159265359b9b0de3800000046f840001044444044444005540055400554200021948c262300
            4c0a68d00680004100a08077da54b678d73fdfa1194e95b5f1fe75bd100f05dc914e14242e6c378e00";
        assert_eq!(digest(&decode(&*bz2(), &hex(zarrs), 100)), 0x0817_3026_bbb8_f067);
        let z5 = "425a6835314159265359cb0e9c15000064fc00c2a7b68cfe6b4e4894c000082000488a7ea993469a69a1a68d
            341a0341a9189a0d0c8c988321a09097bd7674154949829400b166632e2bda70d74d3939fa3e0886bb0de31e48d4
            74589fb31e427e7a3e98040013f177245385090cb0e9c150";
        assert_eq!(digest(&decode(&*bz2(), &hex(z5), 512)), 0x6717_9919_bbfb_f267);
    }

    #[test]
    fn streams_follow_each_other() {
        let two = [encode(&*bz2(), b"abc"), encode(&*bz2(), b"defgh")].concat();
        assert_eq!(decode(&*bz2(), &two, 8), b"abcdefgh");
    }

    /// bzip2 makes megabytes from a few bytes; only as many are made as are due.
    #[test]
    fn a_bomb_does_not_go_off() {
        let bomb = encode(&*build(Dialect::V2, "bz2", r#"{"level":9}"#), &vec![0; 1 << 24]);
        assert!(bomb.len() < 200);
        for size in [DecodedSize::Exactly(64), DecodedSize::AtMost(64)] {
            assert!(bz2().decode(Cow::Borrowed(&bomb), size).is_err());
        }
        assert_eq!(decode(&*bz2(), &bomb, 1 << 24).len(), 1 << 24);
    }

    #[test]
    fn words_are_checked_and_spelled() {
        refusal(Dialect::V2, "bz2", r#"{"level":0}"#);
        refusal(Dialect::V2, "bz2", r#"{"level":10}"#);
        assert_eq!(
            metadata(&*bz2()).map(Option::unwrap),
            [
                r#"numcodecs.bz2 {"level":1}"#,
                r#"bz2 {"level":1}"#,
                r#"https://purl.org/zarr/spec/codec/bz2/1.0 {"level":1}"#
            ]
        );
    }
}
