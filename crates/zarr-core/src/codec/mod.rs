//! Defines the codec traits: how a chunk becomes bytes, and bytes a chunk.
//!
//! A codec is a pure function on bytes: it never sees a store. Three kinds follow each other in a
//! [`CodecChain`]: array to array, array to bytes, bytes to bytes (F-070). v2 and the drafts know only the
//! last kind; their filters and compressor come after an implied `bytes` (decision 0114).

pub(crate) mod budget;
mod chain;
mod convert;
mod partial;
pub mod scratch;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

pub use self::budget::most_encoded;
pub use self::chain::CodecChain;
pub use self::convert::convert_codecs;
pub use self::partial::{
    ChunkIndex, EncodedParts, PartialDecoder, PartialEncoder, PartialRead, PartialWrite, Splice,
    SplicePart,
};

use crate::data_type::{DataType, FillValue};
use crate::dialect::Dialect;
use crate::error::{CodecError, MetadataError, Unsupported};
use crate::json::{Json, Object};
use crate::region::Region;
use crate::selection::ResolvedSelection;
use crate::view::{View, ViewMut};

/// A codec as a document names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecSpec {
    /// Whose words these are.
    pub dialect: Dialect,
    /// Its name: a v3 name, a v2 `id`, a draft's URI.
    pub name: String,
    /// Its parameters. In v2 they stand beside the `id`.
    pub configuration: Object,
}

impl CodecSpec {
    /// A codec in a dialect's words.
    pub fn new(dialect: Dialect, name: impl Into<String>, configuration: Object) -> Self {
        CodecSpec { dialect, name: name.into(), configuration }
    }

    /// A codec in final v3's words, the model's own.
    pub fn v3(name: impl Into<String>, configuration: Object) -> Self {
        CodecSpec::new(Dialect::V3, name, configuration)
    }
}

impl CodecSpec {
    /// A codec as final v3 writes one: a name, or an object with one; `None` for anything else.
    pub fn from_v3(json: &Json) -> Option<Self> {
        if let Json::String(name) = json {
            return Some(CodecSpec::v3(name.clone(), Object::new()));
        }
        let object = json.as_object()?;
        let configuration = match object.get("configuration") {
            None => Object::new(),
            Some(configuration) => configuration.as_object()?.clone(),
        };
        Some(CodecSpec::v3(object.get("name")?.as_str()?, configuration))
    }
}

impl fmt::Display for CodecSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.configuration.is_empty() {
            write!(f, "{}", self.name)
        } else {
            write!(f, "{} {}", self.name, crate::json::Json::from(self.configuration.clone()))
        }
    }
}

/// The names of one codec in every dialect.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Names in final v3; the first is written.
    pub v3: &'static [&'static str],
    /// The `id` in v2.
    pub v2: &'static [&'static str],
    /// The last part of the URI in the drafts: `gzip` of `https://purl.org/zarr/spec/codec/gzip/1.0`.
    /// A name with a `:` is a whole URI of its own.
    pub draft: &'static [&'static str],
}

impl Names {
    /// The codec in a dialect's words: under the first of its names there, with this configuration; `None`
    /// if it has no name there. All that most codecs need for their `spelling`.
    ///
    /// ```
    /// use zarr_core::codec::Names;
    /// use zarr_core::{Dialect, Object};
    ///
    /// const NAMES: Names = Names { v3: &["numcodecs.lzf", "lzf"], v2: &[], draft: &["lzf"] };
    /// let name = |dialect| Some(NAMES.to_metadata(dialect, Object::new())?.name);
    /// assert_eq!(name(Dialect::V3).as_deref(), Some("numcodecs.lzf"));
    /// assert_eq!(name(Dialect::V2), None);
    /// assert_eq!(name(Dialect::Draft).as_deref(), Some("https://purl.org/zarr/spec/codec/lzf/1.0"));
    /// ```
    pub fn to_metadata(&self, dialect: Dialect, configuration: Object) -> Option<CodecSpec> {
        let name = match dialect {
            Dialect::V3 => (*self.v3.first()?).to_owned(),
            Dialect::V2 => (*self.v2.first()?).to_owned(),
            Dialect::Draft => match *self.draft.first()? {
                uri if uri.contains(':') => uri.to_owned(),
                name => format!("https://purl.org/zarr/spec/codec/{name}/1.0"),
            },
        };
        Some(CodecSpec::new(dialect, name, configuration))
    }
}

/// What a codec is told about the chunks it will see when it is made.
///
/// A codec on arrays sees native elements. One on bytes sees elements least significant byte first; those
/// in the other order are raw bytes to it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChunkContext {
    /// The type of the chunk's elements at this place of the chain.
    pub data_type: DataType,
    /// The shape of a chunk at this place of the chain. Edge chunks of other grids may differ.
    pub shape: Vec<u64>,
    /// The bytes of the fill value, where the elements are still those of the array.
    pub fill: Option<FillValue>,
}

impl ChunkContext {
    /// Chunks of this type and shape, their fill value not known.
    pub fn new(data_type: impl Into<DataType>, shape: impl Into<Vec<u64>>) -> Self {
        ChunkContext { data_type: data_type.into(), shape: shape.into(), fill: None }
    }

    /// The same chunks, with this fill value.
    #[must_use]
    pub fn with_fill(mut self, fill: Option<FillValue>) -> Self {
        self.fill = fill;
        self
    }

    /// Bytes in an element.
    ///
    /// # Errors
    /// [`MetadataError::Unsupported`] when the data type is unknown here.
    pub fn element_size(&self) -> Result<usize, MetadataError> {
        self.data_type.repr().map(|r| r.size()).ok_or_else(|| {
            let name = self.data_type.to_string();
            Unsupported { what: "data type", name, hint: "register an extension for it".into() }
                .into()
        })
    }

    /// Axes of a chunk.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Bytes of a chunk; `None` if they cannot be counted.
    pub fn size(&self) -> Option<u64> {
        let element = self.data_type.repr()?.size() as u64;
        crate::region::element_count(&self.shape)?.checked_mul(element)
    }
}

/// How many bytes decoding may give. The caller always knows at least a limit (decision 0113).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodedSize {
    /// Exactly so many; anything else is damage.
    Exactly(u64),
    /// At most so many.
    AtMost(u64),
}

impl DecodedSize {
    /// The most that may come out.
    pub fn limit(self) -> u64 {
        match self {
            DecodedSize::Exactly(n) | DecodedSize::AtMost(n) => n,
        }
    }

    /// The limit for decoding `encoded` bytes when nothing else is known: 1000 times as many, between
    /// 64 MiB and 2 GiB.
    pub fn unknown(encoded: usize) -> DecodedSize {
        DecodedSize::AtMost((encoded as u64).saturating_mul(1000).clamp(64 << 20, 2 << 30))
    }

    /// As many as are tried first when nothing else is known: 32 times as many, and at least 1 MiB.
    pub(crate) fn few(encoded: usize) -> u64 {
        let few = (encoded as u64).saturating_mul(32).max(1 << 20);
        few.min(Self::unknown(encoded).limit())
    }

    /// Whether `found` bytes are what was due.
    ///
    /// # Errors
    /// [`CodecError::Length`] or [`CodecError::Limit`].
    pub fn check(self, codec: &'static str, found: u64) -> Result<(), CodecError> {
        match self {
            DecodedSize::Exactly(expected) if found != expected => {
                Err(CodecError::Length { codec, expected, found })
            }
            DecodedSize::AtMost(limit) if found > limit => Err(CodecError::Limit { codec, limit }),
            _ => Ok(()),
        }
    }
}

/// A codec from bytes to bytes.
pub trait BytesToBytes: fmt::Debug + Send + Sync {
    /// Encodes bytes. What need not change may stay borrowed.
    ///
    /// # Errors
    /// When these bytes cannot be encoded.
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, CodecError>;

    /// Decodes bytes into as many as `size` says, and never holds more than that and a buffer.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`], [`CodecError::Length`], [`CodecError::Limit`].
    fn decode<'a>(
        &self,
        encoded: Cow<'a, [u8]>,
        size: DecodedSize,
    ) -> Result<Cow<'a, [u8]>, CodecError>;

    /// Decodes bytes straight into `out`, which they must fill exactly.
    ///
    /// # Errors
    /// As [`BytesToBytes::decode`].
    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        let decoded = self.decode(encoded, DecodedSize::Exactly(out.len() as u64))?;
        out.copy_from_slice(&decoded);
        Ok(())
    }

    /// How many bytes encoding so many gives, if that does not depend on the bytes.
    ///
    /// # Errors
    /// [`CodecError::Length`] when so many bytes cannot be encoded at all.
    fn encoded_size(&self, decoded: u64) -> Result<Option<u64>, CodecError> {
        let _ = decoded;
        Ok(None)
    }

    /// Makes sure that this build encodes at all: there are codecs that are only decoded.
    ///
    /// # Errors
    /// [`CodecError::Value`] saying what to choose instead.
    fn check_encodes(&self) -> Result<(), CodecError> {
        Ok(())
    }

    /// What the next codec sees when this one sees `decoded`: the same, unless this one changes elements
    /// (Z2-060).
    fn encoded(&self, decoded: &ChunkContext) -> ChunkContext {
        decoded.clone()
    }

    /// The codec in a dialect's words; `None` if that has none.
    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec>;
}

/// A codec from an array to bytes.
pub trait ArrayToBytes: fmt::Debug + Send + Sync {
    /// Encodes a chunk of native elements.
    ///
    /// # Errors
    /// When these elements cannot be encoded.
    fn encode<'a>(&self, chunk: View<'a>) -> Result<Cow<'a, [u8]>, CodecError>;

    /// What [`ArrayToBytes::encode`] gives, part after part, each made when it is asked for; `None` if all is
    /// made at once.
    fn encode_in_parts<'a>(&'a self, chunk: View<'a>) -> Option<EncodedParts<'a>> {
        let _ = chunk;
        None
    }

    /// Decodes the part `within` of a chunk of `shape` elements into `out`, as native elements.
    ///
    /// `out` has the shape of `within`; it may have any strides.
    ///
    /// # Errors
    /// [`CodecError::Length`] if the chunk is not as long as its shape says.
    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        out: ViewMut<'_>,
    ) -> Result<(), CodecError>;

    /// How the part `within` of an encoded chunk is read segment by segment; `None` if it takes all bytes at once.
    fn partial(
        &self,
        shape: &[u64],
        within: &ResolvedSelection,
    ) -> Option<Box<dyn PartialDecoder + '_>> {
        let _ = (shape, within);
        None
    }

    /// How elements are merged into the part `within` of an encoded chunk, where that takes less than decoding and
    /// encoding all of it; `None` if it does not. `is_stored` says whether there is a chunk: one that is not stored is
    /// all fill.
    fn edit(
        self: Arc<Self>,
        shape: &[u64],
        within: &ResolvedSelection,
        is_stored: bool,
    ) -> Option<Box<dyn PartialEncoder>> {
        let _ = (shape, within, is_stored);
        None
    }

    /// How many bytes a chunk of this shape has when encoded, if that does not depend on its elements.
    fn encoded_size(&self, shape: &[u64]) -> Option<u64> {
        let _ = shape;
        None
    }

    /// Makes sure that this build encodes at all: there are codecs that are only decoded.
    ///
    /// # Errors
    /// [`CodecError::Value`] saying what to choose instead.
    fn check_encodes(&self) -> Result<(), CodecError> {
        Ok(())
    }

    /// Whether encoded bytes are the native elements in C order, so that an earlier step may decode
    /// straight into the caller's memory.
    fn is_memory(&self) -> bool {
        false
    }

    /// The codec in a dialect's words; `None` if that has none.
    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec>;
}

/// A codec from an array to an array.
pub trait ArrayToArray: fmt::Debug + Send + Sync {
    /// What the next codec sees when this one sees `decoded`.
    ///
    /// # Errors
    /// When such chunks cannot be encoded.
    fn encoded(&self, decoded: &ChunkContext) -> Result<ChunkContext, MetadataError>;

    /// If all the codec does is turn the axes: out axis `i` is in axis `order[i]`. Then neither
    /// [`ArrayToArray::encode`] nor [`ArrayToArray::decode`] is called.
    fn axis_order(&self) -> Option<&[usize]> {
        None
    }

    /// Encodes a chunk; the result is in C order, in the encoded type and shape.
    ///
    /// # Errors
    /// When these elements cannot be encoded.
    fn encode(&self, chunk: View<'_>) -> Result<Vec<u8>, CodecError>;

    /// Decodes a whole chunk, `encoded` in C order, into `out`.
    ///
    /// # Errors
    /// When these elements cannot be decoded.
    fn decode(&self, encoded: &[u8], out: ViewMut<'_>) -> Result<(), CodecError>;

    /// The codec in a dialect's words; `None` if that has none.
    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec>;
}

/// A codec of any of the three kinds.
#[derive(Clone, Debug)]
pub enum Codec {
    /// From an array to an array.
    ArrayToArray(Arc<dyn ArrayToArray>),
    /// From an array to bytes.
    ArrayToBytes(Arc<dyn ArrayToBytes>),
    /// From bytes to bytes.
    BytesToBytes(Arc<dyn BytesToBytes>),
}

impl Codec {
    /// A codec from bytes to bytes.
    pub fn bytes_to_bytes(codec: impl BytesToBytes + 'static) -> Codec {
        Codec::BytesToBytes(Arc::new(codec))
    }

    /// A codec from an array to bytes.
    pub fn array_to_bytes(codec: impl ArrayToBytes + 'static) -> Codec {
        Codec::ArrayToBytes(Arc::new(codec))
    }

    /// A codec from an array to an array.
    pub fn array_to_array(codec: impl ArrayToArray + 'static) -> Codec {
        Codec::ArrayToArray(Arc::new(codec))
    }

    /// The codec in a dialect's words; `None` if that has none.
    pub fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        match self {
            Codec::ArrayToArray(codec) => codec.to_metadata(dialect),
            Codec::ArrayToBytes(codec) => codec.to_metadata(dialect),
            Codec::BytesToBytes(codec) => codec.to_metadata(dialect),
        }
    }
}

/// Makes a codec from its words, for chunks as the context says.
///
/// A v2 or draft dialect asks for a codec from bytes to bytes, even where final v3 has one on arrays.
pub type BuildCodec = fn(&CodecSpec, &ChunkContext) -> Result<Codec, MetadataError>;

/// Makes a codec that other codecs are part of, as [`BuildCodec`] makes others.
pub type BuildNesting =
    fn(&CodecSpec, &ChunkContext, &crate::Registry) -> Result<Codec, MetadataError>;

/// Reads a codec's parameters, each once; what is left over is unknown.
///
/// Unknown parameters are an error in final v3 (F-017) and ignored in v2 and the drafts (Z2-061, D-063).
#[derive(Debug)]
pub struct Parameters<'a> {
    spec: &'a CodecSpec,
    read: Vec<&'static str>,
}

impl<'a> Parameters<'a> {
    /// The parameters of `spec`.
    pub fn new(spec: &'a CodecSpec) -> Self {
        Parameters { spec, read: Vec::new() }
    }

    /// The parameter as it stands, if it is there and not null.
    pub fn get(&mut self, name: &'static str) -> Option<&'a crate::json::Json> {
        self.read.push(name);
        self.spec.configuration.get(name).filter(|v| **v != crate::json::Json::Null)
    }

    /// An error about parameter `name`.
    pub fn wrong(&self, name: &str, why: impl Into<String>) -> MetadataError {
        MetadataError::invalid(format!("codecs: {}: {name}", self.spec.name), why)
    }

    /// An integer in `range`; `default` if it is not there, an error if there is none.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`].
    pub fn integer(
        &mut self,
        name: &'static str,
        range: std::ops::RangeInclusive<i64>,
        default: Option<i64>,
    ) -> Result<i64, MetadataError> {
        match (self.get(name), default) {
            (Some(json), _) => json.as_i64().filter(|v| range.contains(v)).ok_or_else(|| {
                self.wrong(
                    name,
                    format!(
                        "{} is not an integer in {}..={}",
                        json.brief(),
                        range.start(),
                        range.end()
                    ),
                )
            }),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(self.wrong(name, "is missing")),
        }
    }

    /// A boolean; `default` if it is not there.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`].
    pub fn boolean(&mut self, name: &'static str, default: bool) -> Result<bool, MetadataError> {
        match self.get(name) {
            None => Ok(default),
            Some(json) => json.as_bool().ok_or_else(|| self.wrong(name, "is `true` or `false`")),
        }
    }

    /// A string; `None` if it is not there.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`].
    pub fn string(&mut self, name: &'static str) -> Result<Option<&'a str>, MetadataError> {
        match self.get(name) {
            None => Ok(None),
            Some(json) => json.as_str().map(Some).ok_or_else(|| self.wrong(name, "is a string")),
        }
    }

    /// A list of codecs, as final v3 writes them, for a codec that others are part of.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`], also if it is not there.
    pub fn codecs(&mut self, name: &'static str) -> Result<Vec<CodecSpec>, MetadataError> {
        let list = self.get(name).and_then(Json::as_array);
        let list = list.ok_or_else(|| self.wrong(name, "a list of codecs is due"))?;
        let codecs: Option<Vec<CodecSpec>> = list.iter().map(CodecSpec::from_v3).collect();
        codecs.ok_or_else(|| self.wrong(name, "each is a name, or an object with one"))
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] naming a parameter that nobody read, in final v3.
    pub fn finish(self) -> Result<(), MetadataError> {
        let unknown = self.spec.configuration.iter().find(|(name, _)| !self.read.contains(name));
        match unknown {
            // A stray `id` stands in what zarr-python writes for `numcodecs.*` (F-104).
            Some((name, _)) if self.spec.dialect == Dialect::V3 && name != "id" => {
                Err(self.wrong(name, "is not a parameter of this codec"))
            }
            _ => Ok(()),
        }
    }
}
