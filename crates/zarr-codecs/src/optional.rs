//! Stores a chunk of nullable elements.
//!
//! zarrs' `zarrs.optional`, `optional` before it was named so: two sizes of eight bytes each, little-endian,
//! then two parts of these sizes. The first bytes are a chunk of bools, the mask of what is there; the second the
//! elements that are there, in C order along one axis, or nothing if there are none. Each part has codecs of
//! its own.

use std::borrow::Cow;

use zarr_core::codec::{
    ArrayToBytes, ChunkContext, Codec, CodecChain, CodecResult, CodecSpec, Parameters,
};
use zarr_core::data_type::{CoreType, DataType};
use zarr_core::region::element_count;
use zarr_core::selection::ResolvedSelection;
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, MetadataError, Object, Region, Registry};

use zarr_core::codec::buffer_pool::zeroed;

const CODEC: &str = "zarrs.optional";

/// Bytes of each of the two sizes that stand first.
const SIZE: usize = size_of::<u64>();

/// The optional codec.
#[derive(Clone, Debug)]
struct Optional {
    mask: CodecChain,
    data: CodecChain,
    /// Bytes in an element, with the one that says whether it is there.
    cell: usize,
    configuration: Object,
}

/// Makes the codec.
pub(crate) fn build(
    spec: &CodecSpec,
    context: &ChunkContext,
    registry: &Registry,
) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let mask_codecs = parameters.codecs("mask_codecs")?;
    let data_codecs = parameters.codecs("data_codecs")?;
    let DataType::Optional(optional) = &context.data_type else {
        let why = format!(
            "elements of `{}` are all there; the type is to be optional",
            context.data_type
        );
        return Err(parameters.invalid("data type", why));
    };
    parameters.finish()?;
    let mask = ChunkContext::new(CoreType::Bool, context.shape.clone());
    // As many as there can be.
    let most = element_count(&context.shape).unwrap_or(u64::MAX);
    let data = ChunkContext::new(optional.inner().clone(), [most]);
    Ok(Codec::array_to_bytes(Optional {
        mask: CodecChain::build(&mask_codecs, &mask, registry)?,
        data: CodecChain::build(&data_codecs, &data, registry)?,
        cell: optional.size(),
        configuration: spec.configuration.clone(),
    }))
}

/// The mask's bytes and those of the elements.
fn split(encoded: &[u8]) -> Result<(&[u8], &[u8]), CodecError> {
    let parts = size_at(encoded, 0).zip(size_at(encoded, SIZE)).and_then(|(mask, data)| {
        let (first, second) = encoded[2 * SIZE..].split_at_checked(mask)?;
        (second.len() == data).then_some((first, second))
    });
    parts.ok_or_else(|| {
        let len = encoded.len();
        let why =
            format!("the sizes of its two parts, eight bytes each, are not those of {len} bytes");
        CodecError::corrupt(CODEC, why)
    })
}

/// The size at a place.
fn size_at(encoded: &[u8], at: usize) -> Option<usize> {
    let bytes = encoded.get(at..)?.first_chunk::<SIZE>()?;
    usize::try_from(u64::from_le_bytes(*bytes)).ok()
}

impl Optional {
    /// What is there along one axis, out of the elements of a chunk.
    fn present(&self, chunk: &View<'_>) -> Vec<u8> {
        let cells = chunk.to_bytes();
        let mut present = Vec::new();
        for element in cells.chunks_exact(self.cell).filter(|element| element[0] != 0) {
            present.extend_from_slice(&element[1..]);
        }
        present
    }

    fn decode_mask(&self, encoded: &[u8], shape: &[u64]) -> Result<Vec<u8>, CodecError> {
        check_size(self.mask.encoded_size(shape), encoded)?;
        let mut mask = zeroed(CODEC, element_count(shape).unwrap_or(u64::MAX))?;
        let out = ViewMut::new(&mut mask, shape, 1);
        self.mask.decode_into(
            Cow::Borrowed(encoded),
            shape,
            &ResolvedSelection::all(shape),
            out,
        )?;
        Ok(mask)
    }

    fn decode_data(&self, encoded: &[u8], count: u64) -> Result<Vec<u8>, CodecError> {
        if count == 0 {
            check_size(Some(0), encoded)?;
            return Ok(Vec::new());
        }
        let shape = [count];
        check_size(self.data.encoded_size(&shape), encoded)?;
        let size = self.cell - 1;
        let mut data = zeroed(CODEC, count.saturating_mul(size as u64))?;
        let out = ViewMut::new(&mut data, &shape, size);
        self.data.decode_into(
            Cow::Borrowed(encoded),
            &shape,
            &ResolvedSelection::all(&shape),
            out,
        )?;
        Ok(data)
    }

    /// Lays what is there among what is missing.
    fn lay(&self, mask: &[u8], data: &[u8], out: &mut [u8]) {
        let mut data = data.chunks_exact(self.cell - 1);
        for (element, &flag) in out.chunks_exact_mut(self.cell).zip(mask) {
            element[0] = flag;
            match (flag != 0).then(|| data.next()).flatten() {
                Some(inner) => element[1..].copy_from_slice(inner),
                None => element[1..].fill(0),
            }
        }
    }
}

/// No memory is taken before encoded bytes are known to be as many as expected.
fn check_size(expected: Option<u64>, encoded: &[u8]) -> Result<(), CodecError> {
    let found = encoded.len() as u64;
    match expected {
        Some(expected) if expected != found => {
            Err(CodecError::Length { codec: CODEC, expected, found })
        }
        _ => Ok(()),
    }
}

impl ArrayToBytes for Optional {
    fn check_encodes(&self) -> Result<(), CodecError> {
        self.mask.check_encodes()?;
        self.data.check_encodes()
    }

    fn encode<'a>(&self, chunk: View<'a>) -> CodecResult<'a> {
        let mask = self.mask.encode(chunk.span(0, 1))?;
        let present = self.present(&chunk);
        let size = self.cell - 1;
        let data = match present.len() / size {
            0 => Cow::default(),
            count => self.data.encode(View::new(&present, &[count as u64], size))?,
        };
        let sizes = [&mask, &data].map(|part| (part.len() as u64).to_le_bytes());
        Ok(Cow::Owned([&sizes[0], &sizes[1], &mask[..], &data[..]].concat()))
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let (mask, data) = split(encoded)?;
        let mask = self.decode_mask(mask, shape)?;
        let count = mask.iter().filter(|&&flag| flag != 0).count() as u64;
        let data = self.decode_data(data, count)?;
        if within.is_all(shape)
            && let Some(memory) = out.as_bytes_mut()
        {
            self.lay(&mask, &data, memory);
            return Ok(());
        }
        let mut elements = zeroed(CODEC, (mask.len() as u64).saturating_mul(self.cell as u64))?;
        self.lay(&mask, &data, &mut elements);
        out.copy_from(&View::new(&elements, shape, self.cell).part(within));
        Ok(())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        (dialect == Dialect::V3).then(|| CodecSpec::v3(CODEC, self.configuration.clone()))
    }
}
