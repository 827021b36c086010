//! Runs the codecs of an array one after the other, and decodes whole chunks and parts.

use std::borrow::Cow;
use std::sync::Arc;

use super::blocks::decode_blocks;
use super::convert::{BYTES, add_byte_order};
use super::{
    ArrayToArray, ArrayToBytes, BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec,
    DecodedSize, EncodedParts, PartialRead, PartialWrite, Threads, budget, buffer_pool,
};
use crate::data_type::{CoreType, Origin};
use crate::dialect::Dialect;
use crate::error::{CodecError, MetadataError};
use crate::region::byte_count;
use crate::registry::Registry;
use crate::selection::ResolvedSelection;
use crate::view::{View, ViewMut};

/// The codecs of an array, checked against each other when the array is opened (F-070, F-071).
#[derive(Clone, Debug)]
pub struct CodecChain {
    /// Array to array, each with what it sees when encoding.
    arrays: Vec<(Arc<dyn ArrayToArray>, ChunkContext)>,
    serializer: Arc<dyn ArrayToBytes>,
    bytes: Vec<Arc<dyn BytesToBytes>>,
    /// What the serializer sees.
    inner: ChunkContext,
    /// Where the elements come from that are decoded.
    from: Origin,
}

/// The most codecs of a chain, each of which holds a shape (docs/internals/design/limits.md).
const MAX_CODECS: usize = 256;

/// The most axes that codecs make, where the array has fewer.
const MAX_AXES_OF_CODECS: usize = 1024;

impl CodecChain {
    /// Builds and checks the chain that `specs` name, for chunks as `context` says.
    ///
    /// # Errors
    /// [`MetadataError::Unsupported`] for a codec that is not known here, [`MetadataError::Invalid`]
    /// for an invalid chain.
    pub fn build(
        specs: &[CodecSpec],
        context: &ChunkContext,
        registry: &Registry,
    ) -> Result<CodecChain, MetadataError> {
        context.element_size()?;
        if specs.len() > MAX_CODECS {
            let why = format!("{} codecs; a chain has at most {MAX_CODECS}", specs.len());
            return Err(MetadataError::invalid("codecs", why));
        }
        let most_axes = context.shape.len().max(MAX_AXES_OF_CODECS);
        // The chunk before the codecs on arrays, and before those on bytes.
        let mut inner = context.clone();
        let mut after = context.clone();
        let mut arrays = Vec::new();
        let mut serializer = None;
        let mut bytes = Vec::new();
        let one_byte = !context.data_type.has_byte_order();
        for spec in specs {
            let widened = one_byte && !arrays.is_empty();
            let mut spec = Cow::Borrowed(spec);
            if widened && spec.name == BYTES {
                add_byte_order(spec.to_mut());
            }
            let here = if serializer.is_some() { &after } else { &inner };
            match registry.build_codec(&spec, here)? {
                Codec::ArrayToArray(codec) => {
                    if serializer.is_some() {
                        return Err(refused(
                            &spec,
                            "expects an array, but follows a codec that produces bytes",
                        ));
                    }
                    let next = codec.encoded(&inner)?;
                    if next.shape.len() > most_axes {
                        let why = format!(
                            "produces {} axes, more than the limit of {most_axes}",
                            next.shape.len()
                        );
                        return Err(refused(&spec, &why));
                    }
                    after = next.clone();
                    arrays.push((codec, std::mem::replace(&mut inner, next)));
                }
                Codec::ArrayToBytes(codec) => {
                    // The codecs after it see bytes, if elements are variable-length or nullable.
                    if !inner.data_type.is_stored_whole() {
                        after.data_type = CoreType::Uint8.into();
                    }
                    let endian = spec.configuration.get("endian").and_then(|json| json.as_str());
                    if endian == Some("big") {
                        after.data_type = after.data_type.in_other_order();
                    }
                    if serializer.replace(codec).is_some() {
                        return Err(refused(
                            &spec,
                            "is a second codec that turns arrays into bytes; a chain has exactly one",
                        ));
                    }
                }
                Codec::BytesToBytes(codec) => {
                    if serializer.is_none() {
                        let why = "works on bytes, but comes before the codec that turns arrays into bytes";
                        return Err(refused(&spec, why));
                    }
                    after = codec.encoded(&after);
                    bytes.push(codec);
                }
            }
        }
        let Some(serializer) = serializer else {
            let why = "no codec turns arrays into bytes, as `bytes` does";
            return Err(MetadataError::invalid("codecs", why));
        };
        let chain = CodecChain { arrays, serializer, bytes, inner, from: Origin::Store };
        if context.size().is_some() {
            // A length that cannot pass through the filters is an error now, not at the first chunk.
            chain
                .sizes(&chain.inner.shape)
                .map_err(|e| MetadataError::invalid("codecs", e.to_string()))?;
        }
        Ok(chain)
    }

    /// The same chain, letting bools be any non-zero byte (D-031, Z2-030).
    #[must_use]
    pub fn accept_nonzero_bools(mut self, accept: bool) -> Self {
        self.from = if accept { Origin::LenientStore } else { Origin::Store };
        self
    }

    /// Whether an encoded chunk is the native elements in C order, as memory holds them.
    pub fn is_memory(&self) -> bool {
        self.arrays.is_empty() && self.bytes.is_empty() && self.serializer.is_memory()
    }

    /// Makes sure that every codec encodes, not only decodes, and takes chunks of this size.
    ///
    /// # Errors
    /// That of the codec which does not; [`CodecError::Value`] for chunks of too many bytes.
    pub fn check_encodes(&self) -> Result<(), CodecError> {
        self.serializer.check_encodes()?;
        let sizes = self.sizes(&self.inner.shape)?;
        for (codec, size) in self.bytes.iter().zip(sizes) {
            codec.check_encodes()?;
            if let (Some(most), Some(size)) = (codec.most_decoded(), size)
                && size > most
            {
                let named = codec
                    .to_metadata(Dialect::V3)
                    .map_or(String::new(), |spec| format!(" of the codec `{}`", spec.name));
                let why = format!(
                    "a chunk of {size} bytes is above the limit{named}, {most} bytes; choose smaller chunks"
                );
                return Err(CodecError::Value { codec: "codecs", why });
            }
        }
        Ok(())
    }

    /// The size of a chunk in bytes, if all of it is decoded for each part.
    pub(crate) fn decoded_at_once(&self) -> Option<u64> {
        if self.bytes.is_empty() || !self.inner.data_type.is_stored_whole() {
            return None;
        }
        self.inner.size()
    }

    /// Encodes a chunk of native elements.
    ///
    /// # Errors
    /// The codec's that cannot encode it.
    pub fn encode<'a>(&self, chunk: View<'a>) -> CodecResult<'a> {
        self.encode_from(0, chunk)
    }

    fn encode_from<'a>(&self, step: usize, chunk: View<'a>) -> CodecResult<'a> {
        let Some((codec, context)) = self.arrays.get(step) else {
            let bytes = self.serializer.encode(chunk)?;
            return self.bytes.iter().try_fold(bytes, |bytes, codec| codec.encode(bytes));
        };
        if let Some(order) = codec.axis_order() {
            return self.encode_from(step + 1, chunk.transposed(order));
        }
        let next = next_context(&**codec, context, &chunk.shape())?;
        let var_buffer = chunk.var_buffer();
        let encoded = codec.encode(chunk)?;
        let view = View::new(&encoded, &next.shape, cell_of(&next)).with_var_buffer(var_buffer);
        self.encode_from(step + 1, view).map(|bytes| Cow::Owned(bytes.into_owned()))
    }

    /// See [`ArrayToBytes::encode_in_parts`].
    pub fn encode_in_parts<'a>(
        &'a self,
        chunk: View<'a>,
        threads: Threads<'a>,
    ) -> Option<EncodedParts<'a>> {
        if !self.bytes.is_empty() {
            return None;
        }
        let mut transposed = chunk;
        for (codec, _) in &self.arrays {
            transposed = transposed.transposed(codec.axis_order()?);
        }
        self.serializer.encode_in_parts(transposed, threads)
    }

    /// How the part `within` of a chunk is read segment by segment; `None` if it takes all bytes at once.
    pub fn partial(&self, shape: &[u64], within: &ResolvedSelection) -> Option<PartialRead<'_>> {
        if !self.bytes.is_empty() {
            return None;
        }
        if self.arrays.is_empty() {
            let decoder = self.serializer.partial(shape, within)?;
            return Some(PartialRead::new(decoder, shape.to_vec(), within.clone(), Vec::new()));
        }
        let (shape, within, orders) = self.transposed(shape, within)?;
        let decoder = self.serializer.partial(&shape, &within)?;
        Some(PartialRead::new(decoder, shape, within, orders))
    }

    /// How elements are merged into the part `within` of a chunk without decoding all of it; `None` if it takes
    /// that; see [`ArrayToBytes::edit`].
    pub fn edit(
        &self,
        shape: &[u64],
        within: &ResolvedSelection,
        is_stored: bool,
    ) -> Option<PartialWrite> {
        if !self.bytes.is_empty() {
            return None;
        }
        let (shape, within, orders) = self.transposed(shape, within)?;
        let encoder = self.serializer.clone().edit(&shape, &within, is_stored)?;
        Some(PartialWrite::new(encoder, orders))
    }

    /// The shape and the part as the serializer sees them, and how the part's own axes are transposed on the
    /// way; `None` if more than that happens there.
    fn transposed(
        &self,
        shape: &[u64],
        within: &ResolvedSelection,
    ) -> Option<(Vec<u64>, ResolvedSelection, Vec<Vec<usize>>)> {
        let mut shape = shape.to_vec();
        let mut within = within.clone();
        let mut orders = Vec::new();
        for (codec, _) in &self.arrays {
            let order = codec.axis_order()?;
            shape = order.iter().map(|&a| shape[a]).collect();
            within = within.transposed(order);
            orders.extend(within.has_axes().then(|| order.to_vec()));
        }
        Some((shape, within, orders))
    }

    /// Decodes the part `within` of a chunk of `shape` elements into `out`, as native elements.
    ///
    /// `out` has the part's own shape; it may have any strides.
    ///
    /// # Errors
    /// The codec's that cannot decode it, [`CodecError::Length`] if the chunk has another size.
    pub fn decode_into(
        &self,
        encoded: Cow<'_, [u8]>,
        shape: &[u64],
        within: &ResolvedSelection,
        out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        self.decode_from(0, encoded, shape, within, out)
    }

    fn decode_from(
        &self,
        step: usize,
        encoded: Cow<'_, [u8]>,
        shape: &[u64],
        within: &ResolvedSelection,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let Some((codec, context)) = self.arrays.get(step) else {
            return self.decode_bytes(encoded, shape, within, out);
        };
        if let Some(order) = codec.axis_order() {
            let shape: Vec<u64> = order.iter().map(|&a| shape[a]).collect();
            let out = if within.has_axes() { out.transposed(order) } else { out };
            return self.decode_from(step + 1, encoded, &shape, &within.transposed(order), out);
        }
        let next = next_context(&**codec, context, shape)?;
        let _taken = budget::take(next.size().unwrap_or(u64::MAX))?;
        let mut scratch = buffer_pool::zeroed("codecs", next.size())?;
        let var_buffer = out.var_buffer();
        let whole =
            ViewMut::new(&mut scratch, &next.shape, cell_of(&next)).with_var_buffer(var_buffer);
        self.decode_from(
            step + 1,
            encoded,
            &next.shape,
            &ResolvedSelection::all(&next.shape),
            whole,
        )?;
        if within.is_all(shape) {
            return codec.decode(&scratch, out);
        }
        let here = ChunkContext::new(context.data_type.clone(), shape.to_vec());
        let mut decoded = buffer_pool::zeroed("codecs", here.size())?;
        codec.decode(&scratch, ViewMut::new(&mut decoded, shape, cell_of(&here)))?;
        out.gather(within, &View::new(&decoded, shape, cell_of(&here)));
        Ok(())
    }

    /// Decodes the bytes of the codecs on bytes. Where only decoding tells how many bytes come out, they are first assumed to
    /// be few, so that threads need not wait for the memory that the most would take.
    fn decode_bytes(
        &self,
        encoded: Cow<'_, [u8]>,
        shape: &[u64],
        within: &ResolvedSelection,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let sizes = self.sizes(shape)?;
        let few = DecodedSize::few(encoded.len());
        let is_unknown = sizes[..self.bytes.len()].contains(&None);
        let most = DecodedSize::unknown(encoded.len()).limit().min(budget::limit());
        if let (Cow::Borrowed(encoded), true) = (&encoded, is_unknown && few < most) {
            let encoded = Cow::Borrowed(*encoded);
            match self.decode_sized(encoded, (&sizes, few), shape, within, out.reborrow()) {
                Err(CodecError::Limit { .. }) => {}
                decoded => return decoded,
            }
        }
        self.decode_sized(encoded, (&sizes, most), shape, within, out)
    }

    /// As [`CodecChain::decode_bytes`]; each step returns as many bytes as is known, or `most`.
    fn decode_sized(
        &self,
        mut encoded: Cow<'_, [u8]>,
        (sizes, most): (&[Option<u64>], u64),
        shape: &[u64],
        within: &ResolvedSelection,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        // Decoding into the caller's memory takes no other memory.
        let direct = self.serializer.is_memory() && within.is_all(shape);
        let direct = direct && !self.bytes.is_empty() && out.as_bytes_mut().is_some();
        let taken = sizes[..self.bytes.len()].iter().skip(usize::from(direct));
        let taken: Vec<u64> = taken.map(|size| size.unwrap_or(most)).collect();
        let limit = budget::limit();
        if taken.iter().any(|&size| size > limit) {
            return Err(CodecError::Limit { codec: "codecs", limit });
        }
        let all = taken.iter().fold(0, |sum: u64, &size| sum.saturating_add(size));
        let _taken = budget::take(all.min(limit))?;
        for (step, codec) in self.bytes.iter().enumerate().skip(1).rev() {
            let size = due(sizes[step], most, &encoded);
            encoded = codec.decode(encoded, size)?;
        }
        if let Some(first) = self.bytes.first() {
            if direct && let Some(memory) = out.as_bytes_mut() {
                first.decode_into(encoded, memory)?;
                return self.check(&mut out);
            }
            let size = due(sizes[0], most, &encoded);
            if let (true, Some(region)) = (self.serializer.is_memory(), within.as_region()) {
                if let Some(blocks) = first.blocks(&encoded, size)
                    && decode_blocks(&blocks, shape, region, &mut out).is_some()
                {
                    return self.check(&mut out);
                }
                let start = region.start_of(shape);
                if let Some(needed) = self.serializer.encoded_size(&start)
                    && let Some(decoded) = first.decode_start(&encoded, size, needed as usize)
                {
                    let needed = &decoded[..needed as usize];
                    self.serializer.decode_into(needed, &start, region, out.reborrow())?;
                    buffer_pool::release_vec(decoded);
                    return self.check(&mut out);
                }
            }
            encoded = first.decode(encoded, size)?;
        }
        self.decode_selection(&encoded, sizes[0], shape, within, out.reborrow())?;
        buffer_pool::release(encoded);
        self.check(&mut out)
    }

    /// The serializer's decoding of a part, which is to have been `due` bytes long.
    fn decode_selection(
        &self,
        encoded: &[u8],
        due: Option<u64>,
        shape: &[u64],
        within: &ResolvedSelection,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        if let Some(region) = within.as_region() {
            return self.serializer.decode_into(encoded, shape, region, out);
        }
        // No memory is taken for the box round the elements before the chunk is known to have that size.
        if let Some(expected) = due.filter(|&due| due != encoded.len() as u64) {
            let found = encoded.len() as u64;
            return Err(CodecError::Length { codec: "codecs", expected, found });
        }
        let cell = out.element_size();
        if self.serializer.is_memory() {
            out.gather(within, &View::new(encoded, shape, cell));
            return Ok(());
        }
        let bounds = within.bounds();
        let (inside, shape_inside) = (
            within.moved(|axis, at| at.wrapping_sub(bounds.intervals()[axis].start)),
            bounds.shape(),
        );
        let mut memory = buffer_pool::zeroed("codecs", byte_count(&shape_inside, cell))?;
        let view = ViewMut::new(&mut memory, &shape_inside, cell).with_var_buffer(out.var_buffer());
        self.serializer.decode_into(encoded, shape, &bounds, view)?;
        out.gather(&inside, &View::new(&memory, &shape_inside, cell));
        Ok(())
    }

    /// Makes sure that decoded elements are ones of their type.
    pub(crate) fn check(&self, out: &mut ViewMut<'_>) -> Result<(), CodecError> {
        let data_type = &self.inner.data_type;
        if !data_type.needs_check() {
            return Ok(());
        }
        if let Some(memory) = out.as_bytes_mut() {
            return data_type.check(memory, self.from);
        }
        let mut elements = out.as_view().to_bytes().into_owned();
        data_type.check(&mut elements, self.from)?;
        let shape = out.shape();
        out.copy_from(&View::new(&elements, &shape, cell_of(&self.inner)));
        Ok(())
    }

    /// The size before each bytes codec, and after the last: `None` where it depends on the bytes.
    fn sizes(&self, shape: &[u64]) -> Result<Vec<Option<u64>>, CodecError> {
        let mut sizes = vec![self.serializer.encoded_size(shape)];
        for codec in &self.bytes {
            let size = match sizes.last().copied().flatten() {
                Some(size) => codec.encoded_size(size)?,
                None => None,
            };
            sizes.push(size);
        }
        Ok(sizes)
    }

    /// How many zero bytes at the end of an encoded chunk of this shape its last codec passes over.
    pub fn padding(&self, encoded: &[u8], shape: &[u64]) -> usize {
        let Some(last) = self.bytes.last() else { return 0 };
        let sizes = self.sizes(shape).unwrap_or_default();
        let decoded = sizes.get(self.bytes.len() - 1).copied().flatten();
        last.padding(encoded, decoded)
    }

    /// The size of an encoded chunk of this shape, if it does not depend on its elements.
    pub fn encoded_size(&self, shape: &[u64]) -> Option<u64> {
        let mut shape = shape.to_vec();
        for (codec, context) in &self.arrays {
            shape = next_context(&**codec, context, &shape).ok()?.shape;
        }
        let size = self.serializer.encoded_size(&shape)?;
        self.bytes.iter().try_fold(size, |size, codec| codec.encoded_size(size).ok()?)
    }

    /// The same, of chunks whose axes are transposed at most and that are not compressed: cheap enough for each chunk.
    pub(crate) fn plain_size(&self, shape: &[u64]) -> Option<u64> {
        let is_transposed = self.arrays.iter().all(|(codec, _)| codec.axis_order().is_some());
        if !is_transposed || !self.bytes.is_empty() {
            return None;
        }
        self.serializer.encoded_size(shape)
    }

    /// The error for such a chunk of another size.
    pub(crate) fn wrong_plain_size(&self, expected: u64, found: u64) -> CodecError {
        CodecError::Length { codec: BYTES, expected, found }
    }
}

/// The error for a codec that has no place in its chain.
fn refused(spec: &CodecSpec, why: &str) -> MetadataError {
    MetadataError::invalid("codecs", format!("`{}` {why}", spec.name))
}

/// How many bytes a codec is to decode: as many as is known, or at most `most` and, where the encoded bytes are more, those.
fn due(known: Option<u64>, most: u64, encoded: &[u8]) -> DecodedSize {
    match known {
        Some(size) => DecodedSize::Exactly(size),
        None => DecodedSize::AtMost(most.max(encoded.len() as u64).min(budget::limit())),
    }
}

fn next_context(
    codec: &dyn ArrayToArray,
    context: &ChunkContext,
    shape: &[u64],
) -> Result<ChunkContext, CodecError> {
    let here = ChunkContext::new(context.data_type.clone(), shape.to_vec());
    codec.encoded(&here).map_err(|e| CodecError::corrupt("codecs", e))
}

fn cell_of(context: &ChunkContext) -> usize {
    context.data_type.repr().map_or(1, |r| r.size())
}
