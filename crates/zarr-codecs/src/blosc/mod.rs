//! How are bytes compressed as a Blosc 1 buffer?
//!
//! A buffer says itself how it was made, so decoding asks nothing of the configuration. Sizes in its
//! header are compared with what is due before anything is allocated (F-085). Nothing may follow the
//! buffer. Snappy inside is decoded, not encoded: C-Blosc's is C++.

mod container;
mod ffi;

use std::borrow::Cow;
use std::ffi::CStr;

use zarr_core::codec::{BytesToBytes, ChunkContext, Codec, CodecSpec, DecodedSize, Parameters};
use zarr_core::{CodecError, Dialect, Json, MetadataError, Object};

use crate::spelling::spelled;
use crate::stream::{room, zeroed};

const CODEC: &str = "blosc";
const HEADER: usize = 16;

/// No buffer holds more than so many bytes in one: at best its blocks are Zstandard.
const BEST_RATIO: u64 = 1 << 15;

/// The compressors, and their names as C takes them.
const COMPRESSORS: [&CStr; 6] = [c"blosclz", c"lz4", c"lz4hc", c"snappy", c"zlib", c"zstd"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shuffle {
    /// Bits of elements of one byte, bytes of others.
    Auto = -1,
    None = 0,
    Bytes = 1,
    Bits = 2,
}

/// The blosc codec.
#[derive(Clone, Copy, Debug)]
struct Blosc {
    compressor: &'static CStr,
    level: u8,
    shuffle: Shuffle,
    type_size: usize,
    block_size: usize,
}

/// Makes the codec. numcodecs' words have defaults and a number for `shuffle`; final v3's own have a
/// word for it, and a `typesize`, without which the size of the array's elements is taken (T-43).
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let own = spec.dialect == Dialect::V3 && spec.name == "blosc";
    let mut parameters = Parameters::new(spec);
    let name = match parameters.string("cname")? {
        None if own => return Err(parameters.wrong("cname", "is missing")),
        name => name.unwrap_or("lz4"),
    };
    let compressor = COMPRESSORS.into_iter().find(|c| c.to_str() == Ok(name));
    let Some(compressor) = compressor else {
        let why = format!("`{name}` is none of blosclz, lz4, lz4hc, snappy, zlib, zstd");
        return Err(parameters.wrong("cname", why));
    };
    let level = parameters.integer("clevel", 0..=9, (!own).then_some(5))? as u8;
    let shuffle = match parameters.get("shuffle") {
        None if own => return Err(parameters.wrong("shuffle", "is missing")),
        None => Some(Shuffle::Bytes),
        Some(Json::String(word)) => match word.as_str() {
            "noshuffle" => Some(Shuffle::None),
            "shuffle" => Some(Shuffle::Bytes),
            "bitshuffle" => Some(Shuffle::Bits),
            // GDAL 3.6 writes its own option into drafts.
            "NONE" if !own => Some(Shuffle::None),
            "BYTE" if !own => Some(Shuffle::Bytes),
            "BIT" if !own => Some(Shuffle::Bits),
            _ => None,
        },
        Some(json) if !own => match json.as_i64() {
            Some(-1) => Some(Shuffle::Auto),
            Some(0) => Some(Shuffle::None),
            Some(1) => Some(Shuffle::Bytes),
            Some(2) => Some(Shuffle::Bits),
            _ => None,
        },
        Some(_) => None,
    };
    let Some(shuffle) = shuffle else {
        let due = match own {
            true => "is `noshuffle`, `shuffle` or `bitshuffle`",
            false => "is -1, 0, 1 or 2",
        };
        return Err(parameters.wrong("shuffle", due));
    };
    let least = i64::from(shuffle != Shuffle::None);
    let type_size = match parameters.get("typesize") {
        None => context.element_size()?,
        Some(_) => match parameters.integer("typesize", least..=i32::MAX.into(), None)? {
            0 => context.element_size()?,
            size => size as usize,
        },
    };
    let block_size = parameters.integer("blocksize", 0..=i32::MAX.into(), Some(0))? as usize;
    parameters.finish()?;
    Ok(Codec::bytes_to_bytes(Blosc {
        compressor,
        level,
        shuffle,
        type_size,
        block_size,
    }))
}

impl Blosc {
    /// The mode that -1 means for these elements.
    fn shuffle(&self) -> Shuffle {
        match (self.shuffle, self.type_size) {
            (Shuffle::Auto, 1) => Shuffle::Bits,
            (Shuffle::Auto, _) => Shuffle::Bytes,
            (mode, _) => mode,
        }
    }
}

impl BytesToBytes for Blosc {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, CodecError> {
        let refuse = |why: String| CodecError::Value { codec: CODEC, why };
        if self.compressor == c"snappy" {
            let why = "snappy is decoded, not encoded; choose another `cname`";
            return Err(refuse(why.into()));
        }
        if decoded.len() > ffi::MAX_SIZE {
            let why = format!("{} bytes are more than a buffer holds", decoded.len());
            return Err(refuse(why));
        }
        let recipe = ffi::Recipe {
            level: self.level,
            shuffle: self.shuffle() as u8,
            type_size: self.type_size,
            block_size: self.block_size,
            compressor: self.compressor,
        };
        let mut out = zeroed(CODEC, (decoded.len() + ffi::OVERHEAD) as u64)?;
        let len = ffi::compress(&recipe, &decoded, &mut out)
            .ok_or_else(|| refuse("C-Blosc refuses these bytes".into()))?;
        out.truncate(len);
        Ok(Cow::Owned(out))
    }

    fn decode<'a>(
        &self,
        encoded: Cow<'a, [u8]>,
        size: DecodedSize,
    ) -> Result<Cow<'a, [u8]>, CodecError> {
        let header = Header::read(&encoded)?;
        size.check(CODEC, header.size as u64)?;
        let mut out = room(CODEC, header.size as u64, encoded.len(), BEST_RATIO)?;
        header.decode(&encoded, &mut out)?;
        Ok(Cow::Owned(out))
    }

    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        let header = Header::read(&encoded)?;
        DecodedSize::Exactly(out.len() as u64).check(CODEC, header.size as u64)?;
        header.decode(&encoded, out)
    }

    fn spelling(&self, dialect: Dialect) -> Option<CodecSpec> {
        let shuffle = match (dialect, self.shuffle()) {
            (Dialect::V3, Shuffle::None) => Json::from("noshuffle"),
            (Dialect::V3, Shuffle::Bits) => Json::from("bitshuffle"),
            (Dialect::V3, _) => Json::from("shuffle"),
            _ => Json::from(self.shuffle as i64),
        };
        let mut configuration = Object::new()
            .with("cname", self.compressor.to_str().ok()?)
            .with("clevel", u64::from(self.level))
            .with("shuffle", shuffle);
        if dialect == Dialect::V3 {
            configuration.insert("typesize", self.type_size as u64);
        }
        configuration.insert("blocksize", self.block_size as u64);
        spelled(dialect, "blosc", "blosc", configuration)
    }
}

/// What stands at the beginning of a buffer.
#[derive(Clone, Copy, Debug)]
struct Header {
    flags: u8,
    type_size: usize,
    /// Bytes of the decoded buffer.
    size: usize,
    block_size: usize,
}

/// The compressor's number in the flags' upper bits.
const SNAPPY: u8 = 2;

impl Header {
    /// The header, if it can be this buffer's.
    fn read(encoded: &[u8]) -> Result<Header, CodecError> {
        let damaged = |why: &str| CodecError::corrupt(CODEC, why);
        let Some(header) = encoded.first_chunk::<HEADER>() else {
            return Err(damaged("the header is cut off"));
        };
        let word = |at: usize| {
            let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
            u32::from_le_bytes(bytes) as usize
        };
        if header[0] != 2 {
            return Err(damaged("this is not a Blosc 1 buffer"));
        }
        if word(12) != encoded.len() {
            let (says, is) = (word(12), encoded.len());
            let why = format!("the header tells of {says} encoded bytes, there are {is}");
            return Err(CodecError::corrupt(CODEC, why));
        }
        let size = ffi::declared_size(encoded);
        Ok(Header {
            flags: header[2],
            type_size: header[3].into(),
            size: size.ok_or_else(|| damaged("the header is damaged"))?,
            block_size: word(8),
        })
    }

    fn byte_shuffled(&self) -> bool {
        self.flags & 1 != 0
    }

    fn stored(&self) -> bool {
        self.flags & 2 != 0
    }

    fn bit_shuffled(&self) -> bool {
        self.flags & 4 != 0
    }

    fn unsplit(&self) -> bool {
        self.flags & 0x10 != 0
    }

    /// Decodes the buffer into `out`, which is as long as the header says.
    fn decode(&self, encoded: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        if self.flags >> 5 == SNAPPY && !self.stored() {
            return container::decode(self, encoded, out, |stream, out| {
                snap::raw::decompress_len(stream).is_ok_and(|len| len == out.len())
                    && snap::raw::Decoder::new().decompress(stream, out).is_ok()
            });
        }
        match ffi::decompress(encoded, out) {
            Some(found) => DecodedSize::Exactly(out.len() as u64).check(CODEC, found as u64),
            None => Err(CodecError::corrupt(CODEC, "the blocks are damaged")),
        }
    }
}
