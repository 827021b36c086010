//! Stores many chunks in one object (F-086 … F-094).
//!
//! A shard is made of inner chunks, each encoded on its own, and an index that tells where each is. Inner
//! chunks of nothing but fill are left out. A part of a shard is read without the rest of it, and
//! changed without decoding the inner chunks that it does not touch.

mod edit;
mod index;
mod read;
mod write;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use zarr_core::codec::{
    ArrayToBytes, ChunkContext, Codec, CodecChain, CodecResult, CodecSpec, EncodedParts,
    Parameters, PartialDecoder, PartialEncoder, Threads, check_missing_inner_chunk, most_encoded,
};
use zarr_core::data_type::{CoreType, FillValue};
use zarr_core::grid::chunk_projections;
use zarr_core::selection::ResolvedSelection;
use zarr_core::var_buffer::{VAR_REF_SIZE, VarBuffer};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, Json, MetadataError, Object, Region, Registry};

use self::edit::ShardEncoder;
use self::index::{Index, IndexForm, Location, entry_of};
use self::read::Shard;
use self::write::ShardWrite;

const CODEC: &str = "sharding_indexed";

/// The sharding codec.
#[derive(Clone, Debug)]
struct Sharding {
    inner_shape: Vec<u64>,
    inner: CodecChain,
    index: IndexForm,
    /// Bytes in an element, as a view shows it.
    cell: usize,
    /// The bytes of the fill value.
    fill: FillValue,
    is_variable: bool,
    configuration: Object,
}

/// Makes the codec.
pub(crate) fn build(
    spec: &CodecSpec,
    context: &ChunkContext,
    registry: &Registry,
) -> Result<Codec, MetadataError> {
    let cell = context.element_size()?;
    let mut parameters = Parameters::new(spec);
    let inner_shape: Option<Vec<u64>> = parameters
        .get("chunk_shape")
        .and_then(Json::as_array)
        .and_then(|lengths| lengths.iter().map(Json::as_u64).collect());
    let inner_shape = inner_shape
        .ok_or_else(|| parameters.invalid("chunk_shape", "expected a list of lengths"))?;
    let codecs = parameters.codecs("codecs")?;
    let index_codecs = parameters.codecs("index_codecs")?;
    let words = [("start", Location::Start), ("end", Location::End)];
    let location = parameters.choice("index_location", &words)?.unwrap_or(Location::End);
    // F-087.
    let counts = counts(&context.shape, &inner_shape).ok_or_else(|| {
        let why = format!("{inner_shape:?} does not divide shards of {:?}", context.shape);
        parameters.invalid("chunk_shape", why)
    })?;
    parameters.finish()?;
    let inner_context = ChunkContext::new(context.data_type.clone(), inner_shape.clone())
        .with_fill(context.fill.clone());
    let inner = CodecChain::build(&codecs, &inner_context, registry)?;
    let index_shape: Vec<u64> = counts.iter().copied().chain([2]).collect();
    let index_context = ChunkContext::new(CoreType::Uint64, index_shape);
    let chain = CodecChain::build(&index_codecs, &index_context, registry)?;
    let index = IndexForm { chain, location };
    if index.size(&counts).is_none() {
        // F-088.
        let why = "the index' size depends on what is in it; choose `bytes` and `crc32c`";
        return Err(MetadataError::invalid("codecs: sharding_indexed: index_codecs", why));
    }
    let is_variable = context.data_type.is_variable();
    Ok(Codec::array_to_bytes(Sharding {
        inner_shape,
        inner,
        index,
        cell,
        fill: context
            .fill
            .clone()
            .unwrap_or_else(|| FillValue::new(vec![0; if is_variable { 0 } else { cell }])),
        is_variable,
        configuration: spec.configuration.clone(),
    }))
}

/// How many inner chunks a shard has along each axis; `None` if they do not fill it.
fn counts(shard: &[u64], inner: &[u64]) -> Option<Vec<u64>> {
    let counts: Option<Vec<u64>> = shard
        .iter()
        .zip(inner)
        .map(|(&shard, &inner)| (inner > 0 && shard.is_multiple_of(inner)).then(|| shard / inner))
        .collect();
    counts.filter(|_| shard.len() == inner.len())
}

impl Sharding {
    fn counts(&self, shape: &[u64]) -> Result<Vec<u64>, CodecError> {
        counts(shape, &self.inner_shape).ok_or_else(|| {
            let why = format!("{:?} does not divide a shard of {shape:?}", self.inner_shape);
            CodecError::corrupt(CODEC, why)
        })
    }

    /// Which bytes of a shard are an entry's inner chunk; `None` if it is not stored.
    ///
    /// # Errors
    /// As [`Index::get`]; [`CodecError::Corrupt`] for more bytes than its elements justify.
    fn range(&self, index: &Index, entry: usize) -> Result<Option<Range<u64>>, CodecError> {
        let range = index.get(entry)?;
        let size = range.as_ref().map_or(0, |range| range.end - range.start);
        let most = self.most(&[]);
        if size > most {
            let place = index.place(entry, &vec![1; self.inner_shape.len()]);
            let indices: Vec<u64> = place.intervals().iter().map(|axis| axis.start).collect();
            let why = format!(
                "inner chunk {indices:?} is said to have {size} bytes, more than the limit of {most}"
            );
            return Err(CodecError::corrupt(CODEC, why));
        }
        Ok(range)
    }

    /// The most bytes that `counts` inner chunks along each axis may have; none: those of one.
    fn most(&self, counts: &[u64]) -> u64 {
        let lengths = self.inner_shape.iter().chain(counts);
        let size = lengths.fold(self.cell as u64, |size, &len| size.saturating_mul(len));
        most_encoded((!self.is_variable).then_some(size))
    }

    /// Bytes of the elements of an inner chunk.
    fn inner_size(&self) -> u64 {
        self.inner_shape.iter().fold(self.cell as u64, |size, &len| size.saturating_mul(len)).max(1)
    }

    /// The threads that encode inner chunks: one if they are only copied.
    fn threads<'a>(&self, threads: Threads<'a>) -> Threads<'a> {
        if self.inner.is_memory() { Threads::ONE } else { threads }
    }

    /// The bytes of the stored index of a shard of `counts` inner chunks.
    ///
    /// # Errors
    /// [`CodecError::Limit`] if that is more than may be held.
    fn index_size(&self, counts: &[u64]) -> Result<u64, CodecError> {
        let (size, limit) = (self.index.size(counts), most_encoded(None));
        size.filter(|size| *size <= limit).ok_or(CodecError::Limit { codec: CODEC, limit })
    }

    /// The cell of an element of fill, in views of this variable-length buffer.
    fn fill_cell(&self) -> Result<Vec<u8>, CodecError> {
        if self.is_variable {
            let content = self.fill.as_bytes().to_vec();
            Ok(VarBuffer::holding(content.into())?.1.as_bytes().to_vec())
        } else {
            Ok(self.fill.as_bytes().to_vec())
        }
    }

    fn is_fill(&self, chunk: &View<'_>) -> bool {
        match chunk.var_buffer() {
            None => chunk.is_all(self.fill.as_bytes()),
            Some(var_buffer) => {
                let elements = var_buffer.elements();
                let cells = chunk.to_bytes();
                cells
                    .chunks_exact(VAR_REF_SIZE)
                    .all(|cell| elements.get(cell) == self.fill.as_bytes())
            }
        }
    }
}

impl ArrayToBytes for Sharding {
    fn check_encodes(&self) -> Result<(), CodecError> {
        self.inner.check_encodes()
    }

    fn encode<'a>(&self, chunk: View<'a>) -> CodecResult<'a> {
        ShardWrite::new(self, chunk, Threads::ONE)?.whole().map(Cow::Owned)
    }

    fn encode_in_parts<'a>(
        &'a self,
        chunk: View<'a>,
        threads: Threads<'a>,
    ) -> Option<EncodedParts<'a>> {
        ShardWrite::new(self, chunk, threads).ok()?.parts()
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let shard = Shard::new(self, shape)?;
        let index = self.index.of_shard(encoded, &shard.counts)?;
        let fill = self.fill_cell()?;
        for tile in chunk_projections(&shard.grid, shape, within) {
            out.reborrow().fill_with(&tile.output, |mut piece| {
                let Some(range) = index.get(entry_of(&tile, &shard.counts))? else {
                    check_missing_inner_chunk(&tile.key_index)?;
                    piece.fill(&fill);
                    return Ok(());
                };
                let place = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
                let bytes = place.and_then(|(start, end)| encoded.get(start..end));
                let bytes = bytes.ok_or_else(|| {
                    let (size, indices) = (encoded.len(), &tile.key_index);
                    let why =
                        format!("inner chunk {indices:?} at {range:?} leaves the {size} bytes");
                    CodecError::corrupt(CODEC, why)
                })?;
                let decoded = shard.decode(bytes, &tile, piece);
                decoded.map_err(|e| e.in_inner_chunk(&tile.key_index))
            })?;
        }
        Ok(())
    }

    fn partial(
        &self,
        shape: &[u64],
        _: &ResolvedSelection,
    ) -> Option<Box<dyn PartialDecoder + '_>> {
        Some(Box::new(Shard::new(self, shape).ok()?))
    }

    fn edit(
        self: Arc<Self>,
        shape: &[u64],
        within: &ResolvedSelection,
        is_stored: bool,
    ) -> Option<Box<dyn PartialEncoder>> {
        Some(Box::new(ShardEncoder::new(self, shape, within, is_stored)?))
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        let mut configuration = self.configuration.clone();
        if !configuration.contains("index_location") {
            configuration.insert("index_location", "end");
        }
        (dialect == Dialect::V3).then(|| CodecSpec::v3(CODEC, configuration))
    }
}
