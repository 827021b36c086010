//! Gathers the bytes of elements by significance, so that they compress better.
//!
//! numcodecs' `shuffle`: all first bytes, all second bytes, and so on; bytes after the last whole
//! element stay behind. An `elementsize` of 0, which netcdf-c writes, or none at all means the size of
//! the array's elements (v2.md 7). netcdf-c's texts are an exception: they are `char*` to it, of 8 bytes.

use std::borrow::Cow;

use zarr_core::codec::{
    BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Parameters,
};
use zarr_core::data_type::DataType;
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use crate::util::metadata::numcodecs;
use crate::util::shuffle_kernel::{gather, scatter};
use zarr_core::codec::buffer_pool::zeroed;

const CODEC: &str = "shuffle";

/// Bytes of an element of netcdf-c's type of texts, however long they are.
const NETCDF_TEXT: usize = 8;

/// The shuffle codec.
#[derive(Clone, Copy, Debug)]
struct Shuffle {
    element: usize,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let is_said = parameters.get("elementsize").is_some();
    let element = match parameters.integer("elementsize", 0..=i32::MAX.into(), Some(0))? {
        // Only netcdf-c writes 0. One byte is a character, which is no text to it.
        0 if is_said && spec.dialect == Dialect::V2 && is_text(context) => NETCDF_TEXT,
        0 => context.element_size()?,
        size => size as usize,
    };
    parameters.finish()?;
    Ok(Codec::bytes_to_bytes(Shuffle { element }))
}

/// Whether elements are texts of a fixed number of bytes, more than one.
fn is_text(context: &ChunkContext) -> bool {
    matches!(context.data_type, DataType::FixedBytes { len } if len > 1)
}

impl BytesToBytes for Shuffle {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        if self.element <= 1 {
            return Ok(decoded);
        }
        let mut out = zeroed(CODEC, decoded.len() as u64)?;
        gather(self.element, &decoded, &mut out);
        Ok(Cow::Owned(out))
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        size.check(CODEC, encoded.len() as u64)?;
        if self.element <= 1 {
            return Ok(encoded);
        }
        let mut out = zeroed(CODEC, encoded.len() as u64)?;
        scatter(self.element, &encoded, &mut out);
        Ok(Cow::Owned(out))
    }

    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        DecodedSize::Exactly(out.len() as u64).check(CODEC, encoded.len() as u64)?;
        scatter(self.element.max(1), &encoded, out);
        Ok(())
    }

    fn encoded_size(&self, decoded: u64) -> Result<Option<u64>, CodecError> {
        Ok(Some(decoded))
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        let configuration = Object::new().with("elementsize", self.element as u64);
        numcodecs(dialect, CODEC, configuration)
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::data_type::CoreType;

    use super::*;
    use crate::testing::{
        behaves, build, build_on, bytes_to_bytes, context, decode, encode, hex, metadata, refusal,
    };

    fn shuffle(element: i32) -> std::sync::Arc<dyn BytesToBytes> {
        build(Dialect::V2, "shuffle", &format!("{{\"elementsize\":{element}}}"))
    }

    #[test]
    fn it_behaves() {
        for element in [1, 2, 3, 4, 8, 16, 100_000] {
            behaves(&*shuffle(element));
        }
    }

    /// Z2-063 before zlib; the last bytes of no whole element stay.
    #[test]
    fn bytes_are_gathered() {
        let numbers = hex("00000000 01000000 01000000 01000000");
        let gathered = hex("00010101 00000000 00000000 00000000");
        assert_eq!(encode(&*shuffle(4), &numbers), gathered);
        assert_eq!(decode(&*shuffle(4), &gathered, 16), numbers);
        assert_eq!(encode(&*shuffle(2), b"abcde"), b"acbde");
        assert_eq!(encode(&*shuffle(1), b"abcde"), b"abcde");
    }

    /// netcdf-c writes 0 for the size of the array's elements.
    #[test]
    fn no_size_is_the_size_of_an_element() {
        for configuration in ["{}", r#"{"elementsize":0}"#] {
            for (core, size) in [(CoreType::Int16, 2), (CoreType::Float64, 8)] {
                let context = context(core, &[4]);
                let built = build_on(Dialect::V2, "shuffle", configuration, &context);
                let codec = bytes_to_bytes(built);
                assert_eq!(
                    codec.to_metadata(Dialect::V2).unwrap().to_string(),
                    format!("shuffle {{\"elementsize\":{size}}}")
                );
            }
        }
    }

    /// netcdf-c 4.10.1 shuffles its texts as elements of 8 bytes, and writes 0; characters it leaves.
    #[test]
    fn netcdf_texts_have_eight_bytes() {
        let built = |configuration, len| {
            let context = ChunkContext::new(DataType::FixedBytes { len }, [4]);
            let codec = bytes_to_bytes(build_on(Dialect::V2, "shuffle", configuration, &context));
            codec.to_metadata(Dialect::V2).unwrap().to_string()
        };
        for (configuration, len, size) in [
            (r#"{"elementsize":0}"#, 128, 8),
            (r#"{"elementsize":0}"#, 3, 8),
            (r#"{"elementsize":0}"#, 1, 1),
            (r#"{"elementsize":1}"#, 128, 1),
            ("{}", 128, 128),
        ] {
            let due = format!("shuffle {{\"elementsize\":{size}}}");
            assert_eq!(built(configuration, len), due, "{configuration} |S{len}");
        }
    }

    #[test]
    fn words_are_checked_and_spelled() {
        refusal(Dialect::V2, "shuffle", r#"{"elementsize":-1}"#);
        assert_eq!(
            metadata(&*shuffle(4)),
            [
                Some(r#"numcodecs.shuffle {"elementsize":4}"#.into()),
                Some(r#"shuffle {"elementsize":4}"#.into()),
                None
            ]
        );
    }
}
