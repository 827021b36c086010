//! A codec of one's own: the bits of each byte, turned round.

use std::borrow::Cow;

use zarr::codec::{BytesToBytes, ChunkContext, Codec, CodecSpec, DecodedSize, Names, Parameters};
use zarr::{CodecError, Dialect, MetadataError, Object, OpenOptions};

const URI: &str = "https://example.org/zarr/codec/turned-bits/1.0";
const NAMES: Names = Names { v3: &[URI], v2: &["example.turned-bits"], draft: &[URI] };

#[derive(Debug)]
struct TurnedBits;

fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    Parameters::new(spec).finish()?;
    Ok(Codec::bytes_to_bytes(TurnedBits))
}

impl BytesToBytes for TurnedBits {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, CodecError> {
        Ok(decoded.iter().map(|byte| byte.reverse_bits()).collect())
    }

    fn decode<'a>(
        &self,
        encoded: Cow<'a, [u8]>,
        size: DecodedSize,
    ) -> Result<Cow<'a, [u8]>, CodecError> {
        size.check("turned-bits", encoded.len() as u64)?;
        self.encode(encoded)
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        NAMES.to_metadata(dialect, Object::new())
    }
}

fn main() -> zarr::Result<()> {
    let registry = zarr::standard().with(|registry| registry.codec(&NAMES, build));
    let options = OpenOptions::new(registry);
    let hierarchy = zarr::create_with("memory://custom_codec", Dialect::V3, &options)?;
    let array = hierarchy
        .create_array("/a")
        .shape(&[4])
        .data_type_named("uint8")
        .codec(zarr::tools::codec(URI)?)
        .create()?;
    array.write(.., &[1u8, 2, 3, 255])?;
    println!("read: {:?}", array.read::<u8>(..)?);

    let stranger = zarr::open("memory://custom_codec")?.into_group()?.array("a")?;
    println!("without the codec: {}", stranger.read::<u8>(..).unwrap_err());
    Ok(())
}
