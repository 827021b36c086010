//! Checks that a codec keeps what the traits of [`zarr_core::codec`] promise.

mod array_to_array;
mod array_to_bytes;
mod bytes_to_bytes;
mod layout;
mod metadata;

use std::borrow::Cow;
use std::thread;

use super::shared::{calm, elements, good, long_elements, spread, stream};
use zarr_core::codec::{ChunkContext, Codec, CodecSpec, DecodedSize};
use zarr_core::data_type::{CoreType, DataType, Endian, FloatFormat};
use zarr_core::var_buffer::{VAR_REF_SIZE, VarBuffer};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, Region, Registry};

/// Checks every promise of a codec in `registry`, of any of the three kinds: it decodes what it encoded to the same bits, in
/// parts too; its sizes are true; damaged bytes give an error or the expected number of bytes, never a panic or more than the
/// limit; it parses, refuses and writes metadata as it should in each dialect that it has metadata in; threads may share it.
///
/// The codec is built for every data type of the core and several shapes of chunks. Those that it refuses are skipped; it must
/// accept at least one.
///
/// # Panics
/// At the first broken promise, naming it.
pub fn check_codec(registry: &Registry, spec: &CodecSpec) {
    check_all(registry, spec, true);
}

/// As [`check_codec`], for a lossy codec. Its own tests check how much it loses; this checks that it decodes the same number of
/// bytes, and always the same ones.
///
/// # Panics
/// As [`check_codec`].
pub fn check_lossy_codec(registry: &Registry, spec: &CodecSpec) {
    check_all(registry, spec, false);
}

/// As [`check_codec`], only for chunks of this data type and shape, which the codec must accept. Codecs of variable-length
/// elements are checked with this.
///
/// # Panics
/// As [`check_codec`].
pub fn check_codec_on(registry: &Registry, spec: &CodecSpec, context: &ChunkContext) {
    check_one(registry, spec, context, true);
}

/// As [`check_lossy_codec`], only for chunks of this data type and shape, which the codec must accept.
///
/// # Panics
/// As [`check_codec`].
pub fn check_lossy_codec_on(registry: &Registry, spec: &CodecSpec, context: &ChunkContext) {
    check_one(registry, spec, context, false);
}

const SHAPES: [&[u64]; 7] = [&[4, 3], &[3, 2, 4], &[2, 1, 3, 2], &[7], &[1], &[], &[0]];

fn check_one(registry: &Registry, spec: &CodecSpec, context: &ChunkContext, exact: bool) {
    let subject = Subject::new(registry, spec, context.clone(), exact);
    let codec = good(subject.build(spec), format_args!("{spec}: building it"));
    good(subject.takes(&codec), format_args!("{}: encoded_size of a chunk", subject.name()));
    subject.check(&codec);
    for (dialect, refusal) in subject.check_thoroughly(&codec) {
        good(refusal, format_args!("{}: building it again in {dialect}", subject.name()));
    }
}

fn check_all(registry: &Registry, spec: &CodecSpec, exact: bool) {
    let mut types: Vec<DataType> = CoreType::ALL.map(DataType::from).into();
    types.push(DataType::Raw { size: 3 });
    types.extend([DataType::IntBits(4), DataType::ComplexMinifloat(FloatFormat::BFLOAT16)]);
    let (mut taken, mut refusal) = (false, None);
    // For each dialect, whether the codec's metadata built a codec for some chunks.
    let mut again: Vec<(Dialect, Result<(), String>)> = Vec::new();
    let mut sizes = Vec::new();
    for data_type in types {
        let mut thoroughly = true;
        for shape in SHAPES {
            let context = ChunkContext::new(data_type.clone(), shape.to_vec());
            let subject = Subject::new(registry, spec, context, exact);
            let built = subject.build(spec).map_err(|error| error.to_string());
            let codec = match built.and_then(|codec| subject.takes(&codec).map(|()| codec)) {
                Ok(codec) => codec,
                Err(error) => {
                    refusal = Some(error);
                    continue;
                }
            };
            taken = true;
            subject.check(&codec);
            // A codec on bytes gets only the size of a type.
            let flat = matches!(codec, Codec::BytesToBytes(_));
            if thoroughly && !(flat && sizes.contains(&subject.element_size())) {
                sizes.push(subject.element_size());
                again.extend(subject.check_thoroughly(&codec));
            }
            thoroughly = false;
        }
    }
    if let (false, Some(error)) = (taken, refusal) {
        panic!("{spec}: it must be built for some data type and shape, but: {error}");
    }
    for (dialect, built) in &again {
        let some = again.iter().any(|(other, built)| other == dialect && built.is_ok());
        let why = built.as_ref().err().map(String::as_str).unwrap_or_default();
        assert!(
            some,
            "{spec}: building it again from its words in {dialect} must not fail, but: {why}"
        );
    }
}

/// A codec that is checked, and its chunks.
struct Subject<'a> {
    registry: &'a Registry,
    spec: &'a CodecSpec,
    context: ChunkContext,
    exact: bool,
    /// The buffer of variable-length elements.
    var_buffer: Option<VarBuffer>,
}

impl<'a> Subject<'a> {
    fn new(
        registry: &'a Registry,
        spec: &'a CodecSpec,
        context: ChunkContext,
        exact: bool,
    ) -> Subject<'a> {
        let var_buffer = context.data_type.is_variable().then(VarBuffer::default);
        Subject { registry, spec, context, exact, var_buffer }
    }

    fn build(&self, spec: &CodecSpec) -> Result<Codec, zarr_core::MetadataError> {
        let what = format_args!("{spec}: building it for {}", self.chunks());
        calm(what, || self.registry.build_codec(spec, &self.context))
    }

    /// For messages.
    fn chunks(&self) -> String {
        format!("chunks {:?} of {}", self.context.shape, self.context.data_type)
    }

    /// For messages.
    fn name(&self) -> String {
        format!("{} for {}", self.spec, self.chunks())
    }

    fn element_size(&self) -> usize {
        good(self.context.element_size(), format_args!("the size of an element"))
    }

    /// Bytes of a chunk.
    fn size(&self) -> usize {
        let size = self.context.size().and_then(|size| usize::try_from(size).ok());
        size.unwrap_or_else(|| panic!("{}: a chunk fits memory", self.name()))
    }

    /// Chunks of native elements, zeros first; of references, if elements are variable-length.
    fn elements(&self) -> Vec<Vec<u8>> {
        let count = self.size() / self.element_size();
        match &self.var_buffer {
            None => elements(&self.context.data_type, count),
            Some(var_buffer) => long_elements(&self.context.data_type, count)
                .iter()
                .map(|chunk| {
                    good(cells(var_buffer, chunk), format_args!("elements in a var_buffer"))
                })
                .collect(),
        }
    }

    /// The bytes of native elements: references to equal elements may differ.
    fn said(&self, elements: &[u8]) -> Vec<u8> {
        match &self.var_buffer {
            None => elements.to_vec(),
            Some(var_buffer) => {
                let held = var_buffer.elements();
                stream(elements.chunks_exact(VAR_REF_SIZE).map(|cell| held.get(cell)))
            }
        }
    }

    fn check(&self, codec: &Codec) {
        match codec {
            Codec::BytesToBytes(codec) => bytes_to_bytes::check(self, &**codec),
            Codec::ArrayToBytes(codec) => array_to_bytes::check(self, &**codec),
            Codec::ArrayToArray(codec) => array_to_array::check(self, &**codec),
        }
    }

    /// Whether a chunk has a size that the codec can encode.
    fn takes(&self, codec: &Codec) -> Result<(), String> {
        match codec {
            Codec::BytesToBytes(codec) => {
                let what = format_args!("{}: encoded_size", self.name());
                let size = calm(what, || codec.encoded_size(self.size() as u64));
                size.map(drop).map_err(|error| error.to_string())
            }
            _ => Ok(()),
        }
    }

    /// Returns for each dialect that the codec has metadata in, whether they build a codec for such chunks.
    fn check_thoroughly(&self, codec: &Codec) -> Vec<(Dialect, Result<(), String>)> {
        match codec {
            Codec::BytesToBytes(codec) => bytes_to_bytes::check_thoroughly(self, &**codec),
            Codec::ArrayToBytes(codec) => array_to_bytes::check_thoroughly(self, &**codec),
            Codec::ArrayToArray(codec) => array_to_array::check_thoroughly(self, &**codec),
        }
        self.check_threads(codec);
        metadata::check(self, codec)
    }

    /// Checks that one codec does the same on every thread.
    fn check_threads(&self, codec: &Codec) {
        let chunks = self.elements();
        let due: Vec<_> = chunks.iter().map(|chunk| self.turn(codec, chunk)).collect();
        thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| self.check_turns(codec, &chunks, &due))).collect();
            for thread in threads {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
    }

    /// Checks many times that the codec gives the same again.
    fn check_turns(&self, codec: &Codec, chunks: &[Vec<u8>], due: &[Turn]) {
        for _ in 0..8 {
            for (chunk, due) in chunks.iter().zip(due) {
                let what = "every thread that shares a codec gets the same bytes";
                assert!(self.turn(codec, chunk) == *due, "{}: {what}", self.name());
            }
        }
    }

    /// Encodes a chunk, and decodes it again.
    fn turn(&self, codec: &Codec, chunk: &[u8]) -> Turn {
        let encoded = self.encode(codec, chunk, Endian::Little);
        let decoded = encoded.clone().map(|e| self.decode(codec, &e, Endian::Little));
        (encoded, decoded)
    }

    /// Encodes a chunk of native elements with a codec of any kind, into bytes of this order.
    fn encode(&self, codec: &Codec, chunk: &[u8], order: Endian) -> Option<Vec<u8>> {
        let view = View::new(chunk, &self.context.shape, self.element_size());
        let view = view.with_var_buffer(self.var_buffer.as_ref());
        calm(format_args!("{}: encode", self.name()), || match codec {
            Codec::BytesToBytes(codec) => {
                let chunk = turned(&self.context.data_type, chunk, order);
                codec.encode(Cow::Owned(chunk)).ok().map(Cow::into_owned)
            }
            Codec::ArrayToBytes(codec) => codec.encode(view).ok().map(Cow::into_owned),
            Codec::ArrayToArray(codec) => {
                let next = codec.encoded(&self.context).ok()?;
                Some(turned(&next.data_type, &codec.encode(view).ok()?, order))
            }
        })
    }

    /// Decodes a chunk from bytes of this order, into native elements.
    fn decode(&self, codec: &Codec, encoded: &[u8], order: Endian) -> Option<Vec<u8>> {
        let (shape, size) = (&self.context.shape, self.size());
        let mut out = vec![0xa5; size];
        let view = ViewMut::new(&mut out, shape, self.element_size())
            .with_var_buffer(self.var_buffer.as_ref());
        let decoded = calm(format_args!("{}: decode", self.name()), || match codec {
            Codec::BytesToBytes(codec) => {
                let due = DecodedSize::Exactly(size as u64);
                let decoded = codec.decode(Cow::Borrowed(encoded), due).ok()?;
                Some(turned(&self.context.data_type, &decoded, order))
            }
            Codec::ArrayToBytes(codec) => {
                let all = Region::all(shape);
                codec.decode_into(encoded, shape, &all, view).ok().map(|()| Vec::new())
            }
            Codec::ArrayToArray(codec) => {
                let next = codec.encoded(&self.context).ok()?;
                let encoded = turned(&next.data_type, encoded, order);
                codec.decode(&encoded, view).ok().map(|()| Vec::new())
            }
        })?;
        Some(if matches!(codec, Codec::BytesToBytes(_)) { decoded } else { self.said(&out) })
    }
}

/// An encoded chunk, and what it is decoded to.
type Turn = (Option<Vec<u8>>, Option<Option<Vec<u8>>>);

/// The references of variable-length elements.
fn cells(var_buffer: &VarBuffer, elements: &[Vec<u8>]) -> Result<Vec<u8>, CodecError> {
    let buffer = var_buffer.add(elements.concat().into())?;
    let (mut cells, mut at) = (Vec::new(), 0);
    for element in elements {
        cells.extend_from_slice(buffer.reference(at, element.len() as u64)?.as_bytes());
        at += element.len() as u64;
    }
    Ok(cells)
}

/// Converts elements between native byte order and this one.
fn turned(data_type: &DataType, elements: &[u8], order: Endian) -> Vec<u8> {
    let mut elements = elements.to_vec();
    let unit = data_type.repr().map_or(1, |repr| repr.swap_unit());
    if order != Endian::NATIVE && unit > 1 {
        elements.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
    }
    elements
}

/// Bytes damaged in several ways, each with its description: cut short, made longer, flipped.
fn damaged(encoded: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> {
    let len = encoded.len();
    let cuts = spread(len, 64)
        .into_iter()
        .map(move |at| (format!("bytes cut to {at} of {len}"), encoded[..at].to_vec()));
    let tails = [&[0][..], b"\x01", b"\xff\xff\xff\xff\xff\xff\xff\xff", &[0x1f; 100]];
    let longer = tails.into_iter().map(move |tail| {
        (format!("{len} bytes and {} more", tail.len()), [encoded, tail].concat())
    });
    let flips = spread(len, 64).into_iter().flat_map(move |at| {
        [0x01, 0x10, 0x80, 0xff].map(|flip| {
            let mut flipped = encoded.to_vec();
            flipped[at] ^= flip;
            (format!("{len} bytes, that at {at} flipped by {flip:#04x}"), flipped)
        })
    });
    cuts.chain(longer).chain(flips)
}

#[cfg(test)]
mod tests;
