//! Compresses blocks of 4ⁿ numbers of an array, exactly or to a given error, rate or precision.
//!
//! Two codecs share zfp's streams. `zfp` is registered for final v3 and writes no header: the chunk's shape, its data
//! type and the configuration say how to read one (F-101). `zfpy` is numcodecs' and begins each stream with zfp's own
//! header (F-104).

mod mode;

use std::borrow::Cow;

use half::f16;
use zarr_core::codec::{
    ArrayToBytes, BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize,
    Parameters,
};
use zarr_core::data_type::{CoreType, ScalarValue};
use zarr_core::region::{byte_count, element_count};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, MetadataError, Object, Region};
use zfp_rs::{
    ZFP_HEADER_MAX_BITS, ZfpBitStream, ZfpConfig, ZfpField, ZfpFieldMut, ZfpHeaderMask, ZfpScalar,
    ZfpScalarType,
};

use self::mode::Mode;
use crate::util::metadata::numcodecs;
use crate::util::number::{Native, NumberType, with_scalar};

const ZFP: &str = "zfp";
const ZFPY: &str = "zfpy";

/// The codecs `zfp` and `zfpy`.
#[derive(Clone, Debug)]
struct Zfp {
    codec: &'static str,
    numbers: NumberType,
    /// A chunk's shape, which flat bytes do not tell.
    shape: Vec<u64>,
    mode: Mode,
    configuration: Object,
}

/// Makes the codec: from arrays to bytes in final v3; in v2 and the drafts `zfpy` is a codec on flat bytes.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let with_header = spec.name.contains(ZFPY);
    let codec = if with_header { ZFPY } else { ZFP };
    let mut parameters = Parameters::new(spec);
    let numbers = NumberType::of(spec, context).filter(|numbers| match numbers.core {
        CoreType::Int32 | CoreType::Int64 | CoreType::Float32 | CoreType::Float64 => true,
        CoreType::Float16 => false,
        _ => !with_header,
    });
    let Some(numbers) = numbers else {
        let known = if with_header {
            "int32, int64, float32 and float64"
        } else {
            "integers of 8 to 64 bits, float32 and float64"
        };
        let why = format!("`{}` is not a type that {codec} encodes: {known}", context.data_type);
        return Err(parameters.invalid("data type", why));
    };
    if zfp_shape(codec, &context.shape).is_none() {
        let why = format!("{:?} has more than 4 axes that zfp would have to see", context.shape);
        return Err(parameters.invalid("chunk shape", why));
    }
    let mode =
        if with_header { Mode::of_zfpy(&mut parameters) } else { Mode::of_zfp(&mut parameters) }?;
    let axes = zfp_shape(codec, &context.shape).map_or(1, |axes| axes.len());
    if let Err(error) = mode.config(scalar_type(numbers.core), axes) {
        return Err(parameters.invalid("mode", error));
    }
    parameters.finish()?;
    let configuration = spec.configuration.clone();
    let zfp = Zfp { codec, numbers, shape: context.shape.clone(), mode, configuration };
    Ok(match spec.dialect {
        Dialect::V3 => Codec::array_to_bytes(zfp),
        _ => Codec::bytes_to_bytes(zfp),
    })
}

/// A chunk's lengths as zfp takes them, or `None` if they are too many: one to four, those of length 1 left out only
/// where there are more (the registry's text of `zfp`). `zfpy` leaves none out.
fn zfp_shape(codec: &str, shape: &[u64]) -> Option<Vec<usize>> {
    let axes = match shape.len() {
        0 => vec![1],
        1..=4 => lengths(shape.iter().copied())?,
        _ if codec == ZFPY => return None,
        _ => match lengths(shape.iter().copied().filter(|length| *length != 1))? {
            axes if axes.is_empty() => vec![1],
            axes => axes,
        },
    };
    (axes.len() <= 4).then_some(axes)
}

/// The lengths, if memory can hold such a chunk.
fn lengths(shape: impl Iterator<Item = u64>) -> Option<Vec<usize>> {
    shape.map(|length| usize::try_from(length).ok()).collect()
}

/// Lengths as zfp-rs takes them: the axis whose elements are neighbours first, zeros behind the last one.
fn extents(axes: &[usize]) -> [usize; 4] {
    let mut extents = [0; 4];
    extents.iter_mut().zip(axes.iter().rev()).for_each(|(extent, length)| *extent = *length);
    extents
}

/// A number that zfp encodes as a scalar: integers of fewer bits fill a wider one's upper bits, as zfp's own functions do it.
trait Number: Native {
    type Scalar: ZfpScalar;
    /// `None` if it would come back as another number.
    fn widen(self) -> Option<Self::Scalar>;
    /// What lossy modes moved beyond the type's limits becomes the limit.
    fn narrow(scalar: Self::Scalar) -> Self;
}

macro_rules! numbers {
    ($($T:ty as $Scalar:ty: $widen:expr, $narrow:expr;)*) => {$(
        impl Number for $T {
            type Scalar = $Scalar;
            fn widen(self) -> Option<$Scalar> {
                let widen: fn($T) -> Option<$Scalar> = $widen;
                widen(self)
            }
            fn narrow(scalar: $Scalar) -> $T {
                let narrow: fn($Scalar) -> $T = $narrow;
                narrow(scalar)
            }
        }
    )*};
}

numbers! {
    i8 as i32: |n| Some(i32::from(n) << 23), |n| (n >> 23).clamp(-0x80, 0x7f) as i8;
    u8 as i32: |n| Some((i32::from(n) - 0x80) << 23), |n| ((n >> 23) + 0x80).clamp(0, 0xff) as u8;
    i16 as i32: |n| Some(i32::from(n) << 15), |n| (n >> 15).clamp(-0x8000, 0x7fff) as i16;
    u16 as i32: |n| Some((i32::from(n) - 0x8000) << 15), |n| ((n >> 15) + 0x8000).clamp(0, 0xffff) as u16;
    i32 as i32: Some, |n| n;
    u32 as i32: |n| i32::try_from(n).ok(), |n| n.max(0) as u32;
    i64 as i64: Some, |n| n;
    u64 as i64: |n| i64::try_from(n).ok(), |n| n.max(0) as u64;
    // `build` refuses it.
    f16 as f32: |_| None, f16::from_f32;
    f32 as f32: Some, |n| n;
    f64 as f64: Some, |n| n;
}

/// The type of the scalars that zfp encodes these numbers as.
fn scalar_type(core: CoreType) -> ZfpScalarType {
    with_scalar!(core, T => <T as Number>::Scalar::SCALAR_TYPE)
}

impl Zfp {
    fn refused(&self, error: impl std::fmt::Display) -> CodecError {
        CodecError::Value { codec: self.codec, why: error.to_string() }
    }

    fn corrupt(&self, error: impl std::fmt::Display) -> CodecError {
        CodecError::corrupt(self.codec, error)
    }

    /// The stream of native numbers in C order.
    fn compress(&self, native: &[u8], shape: &[u64]) -> Result<Vec<u8>, CodecError> {
        let axes = zfp_shape(self.codec, shape);
        let axes = axes.ok_or_else(|| self.refused(format!("{shape:?} has too many axes")))?;
        if native.is_empty() {
            return Ok(Vec::new());
        }
        with_scalar!(self.numbers.core, T => self.encode_numbers::<T>(native, &axes))
    }

    fn encode_numbers<T: Number>(
        &self,
        native: &[u8],
        axes: &[usize],
    ) -> Result<Vec<u8>, CodecError> {
        let numbers = native.chunks_exact(T::SIZE).map(T::load);
        let mut floats = numbers.clone().filter_map(|n| match n.number() {
            ScalarValue::Float(value) => Some(value),
            ScalarValue::Integer(_) => None,
        });
        if self.mode != Mode::Reversible && floats.any(|value| !value.is_finite()) {
            let why = "NaN and infinity are kept by the mode `reversible` alone, in others they \
                       damage their neighbours";
            return Err(self.refused(why));
        }
        let Some(scalars) = numbers.map(T::widen).collect::<Option<Vec<_>>>() else {
            let core = self.numbers.core.name();
            return Err(self.refused(format!("{core} numbers with the highest bit set do not fit")));
        };
        let kind = T::Scalar::SCALAR_TYPE;
        let config = self.mode.config(kind, axes.len()).map_err(|e| self.refused(e))?;
        let field = ZfpField::new(&scalars, extents(axes)).map_err(|e| self.refused(e))?;
        let most = config.maximum_size(kind, extents(axes));
        let most = most.ok_or_else(|| self.refused("the chunk is too large"))?;
        let mut stream = ZfpBitStream::new(most).map_err(|e| self.refused(e))?;
        if self.codec == ZFPY {
            stream
                .write_header(&config, &field.metadata(), ZfpHeaderMask::FULL)
                .map_err(|e| self.refused(e))?;
        }
        stream.compress(&config, &field).map_err(|e| self.refused(e))?;
        stream.into_bytes().map_err(|e| self.refused(e))
    }

    /// Native numbers of a stream, in C order. `shape` is the chunk's; `None` if only the stream's header knows it.
    fn decompress(
        &self,
        encoded: &[u8],
        shape: Option<&[u64]>,
        size: DecodedSize,
    ) -> Result<Vec<u8>, CodecError> {
        if encoded.is_empty() {
            size.check(self.codec, 0)?;
            return Ok(Vec::new());
        }
        let mut stream = ZfpBitStream::from_bytes(encoded).map_err(|e| self.corrupt(e))?;
        let kind = scalar_type(self.numbers.core);
        let (dims, config) = if self.codec == ZFPY {
            self.header(&mut stream, encoded.len(), kind)?
        } else {
            let axes = shape.and_then(|shape| zfp_shape(ZFP, shape));
            let axes = axes.ok_or_else(|| self.corrupt("the chunk's shape is not zfp's"))?;
            let config = self.mode.config(kind, axes.len()).map_err(|e| self.corrupt(e))?;
            (extents(&axes), config)
        };
        let mut lengths = dims.iter().filter(|length| **length != 0);
        let count = lengths.try_fold(1usize, |count, length| count.checked_mul(*length));
        let found = count.and_then(|count| count.checked_mul(self.numbers.size()));
        size.check(self.codec, found.map_or(u64::MAX, |found| found as u64))?;
        let count = count.unwrap_or(0);
        with_scalar!(self.numbers.core, T => self.decode_numbers::<T>(stream, config, dims, count))
    }

    /// What zfpy's header says: lengths and mode.
    fn header(
        &self,
        stream: &mut ZfpBitStream,
        encoded: usize,
        kind: ZfpScalarType,
    ) -> Result<([usize; 4], ZfpConfig), CodecError> {
        let header = stream.read_header(ZfpHeaderMask::FULL).map_err(|e| self.corrupt(e))?;
        let whole = header.bits_read <= encoded.saturating_mul(8);
        let (Some(metadata), Some(config), true) = (header.metadata, header.config, whole) else {
            return Err(self.corrupt(format!("a header has up to {ZFP_HEADER_MAX_BITS} bits")));
        };
        if metadata.scalar_type != kind {
            let (found, expected) = (metadata.scalar_type, kind);
            return Err(self.corrupt(format!("the stream holds {found:?}, not {expected:?}")));
        }
        Ok((metadata.dims, config))
    }

    fn decode_numbers<T: Number>(
        &self,
        mut stream: ZfpBitStream,
        config: ZfpConfig,
        dims: [usize; 4],
        count: usize,
    ) -> Result<Vec<u8>, CodecError> {
        let mut scalars = Vec::new();
        scalars.try_reserve_exact(count).map_err(|e| self.corrupt(e))?;
        scalars.resize(count, T::Scalar::default());
        let mut field = ZfpFieldMut::new(&mut scalars, dims).map_err(|e| self.corrupt(e))?;
        stream.decompress(&config, &mut field).map_err(|e| self.corrupt(e))?;
        let mut out = vec![0; count * T::SIZE];
        let numbers = scalars.into_iter().map(T::narrow);
        numbers.zip(out.chunks_exact_mut(T::SIZE)).for_each(|(number, out)| number.store(out));
        Ok(out)
    }

    fn metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        if self.codec == ZFP {
            return (dialect == Dialect::V3)
                .then(|| CodecSpec::v3(ZFP, self.configuration.clone()));
        }
        let (mode, name) = match self.mode {
            Mode::Rate(_) => (2u64, "rate"),
            Mode::Precision(_) => (3, "precision"),
            _ => (4, "tolerance"),
        };
        let value = |parameter| match self.configuration.get(parameter) {
            Some(value) if parameter == name => value.clone(),
            _ => (-1i64).into(),
        };
        let mut configuration = Object::new().with("mode", mode);
        if dialect == Dialect::V2 {
            let used = Object::new().with(name, value(name));
            configuration = configuration.with("compression_kwargs", used);
            for parameter in ["tolerance", "rate", "precision"] {
                configuration = configuration.with(parameter, value(parameter));
            }
        } else {
            configuration = configuration.with(name, value(name));
        }
        numcodecs(dialect, ZFPY, configuration)
    }
}

impl BytesToBytes for Zfp {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        let count = self.numbers.count(self.codec, decoded.len() as u64)?;
        let mut native = decoded.into_owned();
        self.numbers.byteswap(&mut native);
        // The shape is not that of a chunk that another codec cut to another length.
        if element_count(&self.shape) == Some(count) {
            self.compress(&native, &self.shape)
        } else {
            self.compress(&native, &[count])
        }
        .map(Cow::Owned)
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let mut native = self.decompress(&encoded, None, size)?;
        self.numbers.byteswap(&mut native);
        Ok(Cow::Owned(native))
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        self.metadata(dialect)
    }
}

impl ArrayToBytes for Zfp {
    fn encode<'a>(&self, chunk: View<'a>) -> CodecResult<'a> {
        self.compress(&chunk.to_bytes(), &chunk.shape()).map(Cow::Owned)
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let size = byte_count(shape, self.numbers.size()).unwrap_or(u64::MAX);
        let numbers = self.decompress(encoded, Some(shape), DecodedSize::Exactly(size))?;
        out.copy_from(&View::new(&numbers, shape, self.numbers.size()).part(within));
        Ok(())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        self.metadata(dialect)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing::{build_on, bytes_to_bytes, context, hex};

    fn on_arrays(
        name: &str,
        core: CoreType,
        shape: &[u64],
        configuration: &str,
    ) -> Result<Arc<dyn ArrayToBytes>, MetadataError> {
        match build_on(Dialect::V3, name, configuration, &context(core, shape))? {
            Codec::ArrayToBytes(codec) => Ok(codec),
            other => panic!("{other:?}"),
        }
    }

    fn decoded(
        codec: &dyn ArrayToBytes,
        encoded: &[u8],
        core: CoreType,
        shape: &[u64],
    ) -> Result<Vec<u8>, CodecError> {
        let size = core.repr().size();
        let mut out = vec![0xa5; element_count(shape).unwrap() as usize * size];
        let view = ViewMut::new(&mut out, shape, size);
        codec.decode_into(encoded, shape, &Region::all(shape), view).map(|()| out)
    }

    /// Type, shape, configurations of `zfp` and `zfpy`, streams of both, numbers.
    type Stream = (
        CoreType,
        &'static [u64],
        &'static str,
        &'static str,
        &'static str,
        &'static str,
        &'static str,
    );

    /// What zfpy 1.0.1 (libzfp 1.0.1) wrote with and without its header, and what it decodes them to.
    const STREAMS: [Stream; 5] = [
        (
            CoreType::Float32,
            &[4, 5],
            r#"{"mode":"fixed_accuracy","tolerance":0.05}"#,
            r#"{"mode":4,"tolerance":0.05}"#,
            "0d49a5b4420c6c1297c4e160403e9c879882a60029540211080042a110000000",
            "7a667005460000300000e0ca0d49a5b4420c6c1297c4e160403e9c879882a60029540211080042a1100000000000
             0000",
            "0000903b00c0bf3e00d0bd3f001855400060bd4000061441002a5541000f91410071bd4100c0ef4180fe13428015
             334280205542801f7a42000a9142c07da6424070bd42c0dcd54240c3ef4200920543",
        ),
        (
            CoreType::Float64,
            &[3, 3],
            r#"{"mode":"fixed_rate","rate":10.5}"#,
            r#"{"mode":2,"rate":10.5}"#,
            "ff47301ec518050105115214c57c9f75af71e70c00000000",
            "7a667005270000200000700aff47301ec518050105115214c57c9f75af71e70c0000000000000000",
            "000000000000303f0000000000eeea3f00000000002aed3f000000000038c23f00000000005ee8bf00000000009a
             eebf0000000000ccd1bf000000000016e53f0000000000a2ef3f",
        ),
        (
            CoreType::Float32,
            &[2, 2, 2],
            r#"{"mode":"fixed_precision","precision":12}"#,
            r#"{"mode":3,"precision":12}"#,
            "01710000e00202001e00800006000500a04000800100007000600000000c00000000000100010080000140000028
             30002000000000000000",
            "7a6670051a0010001000b08001710000e00202001e00800006000500a04000800100007000600000000c00000000
             000100010080000140000028300020000000",
            "0000803f00000a3f0000d6be00007dbf000027bf0000923e0000763f0000423f",
        ),
        (
            CoreType::Int64,
            &[6],
            r#"{"mode":"reversible"}"#,
            r#"{"mode":4,"tolerance":-1}"#,
            "330000a0004980240882240182006806000053167562512747471773624147064106000000000000",
            "7a6670055100000000000088330000a00049802408822401820068060000531675625127474717736241470641060
             000",
            "00000000000000000010a5d4e800000000204aa9d10100000030ef7dba02000000409452a3030000005039278c04
             0000",
        ),
        (
            CoreType::Int32,
            &[1, 2, 4, 2],
            r#"{"mode":"reversible"}"#,
            r#"{"mode":5}"#,
            "1f000040840144006a4009200c000308",
            "7a6670051c000310000000881f000040840144006a4009200c00030800000000",
            "f9fffffffcffffffffffffff0200000005000000080000000b0000000e0000001100000014000000170000001a00
             00001d000000200000002300000026000000",
        ),
    ];

    /// F-101, F-104.
    #[test]
    fn streams_of_zfpy_are_read_and_written_alike() {
        for (core, shape, zfp, zfpy, bare, headed, numbers) in STREAMS {
            let (bare, headed, numbers) = (hex(bare), hex(headed), hex(numbers));
            let zfp = on_arrays("zfp", core, shape, zfp).unwrap();
            let flat = |dialect, name| {
                bytes_to_bytes(build_on(dialect, name, zfpy, &context(core, shape)))
            };
            let uri = "https://purl.org/zarr/spec/codec/zfpy/1.0";
            let (flat, of_draft) = (flat(Dialect::V2, "zfpy"), flat(Dialect::Draft, uri));
            let zfpy = on_arrays("numcodecs.zfpy", core, shape, zfpy).unwrap();
            assert_eq!(decoded(&*zfp, &bare, core, shape).unwrap(), numbers, "{core:?}");
            assert_eq!(decoded(&*zfpy, &headed, core, shape).unwrap(), numbers, "{core:?}");
            let size = DecodedSize::Exactly(numbers.len() as u64);
            assert_eq!(flat.decode(Cow::Borrowed(&headed), size).unwrap()[..], numbers);
            assert_eq!(of_draft.decode(Cow::Borrowed(&headed), size).unwrap()[..], numbers);
            // Numbers that were rounded once are rounded to themselves, in the modes that are exact or relative.
            let view = || View::new(&numbers, shape, core.repr().size());
            let again = decoded(&*zfp, &zfp.encode(view()).unwrap(), core, shape).unwrap();
            let headed_again = zfpy.encode(view()).unwrap();
            assert_eq!(decoded(&*zfpy, &headed_again, core, shape).unwrap(), again);
            assert_eq!(flat.encode(Cow::Borrowed(&numbers)).unwrap(), headed_again);
            if zfp.to_metadata(Dialect::V3).unwrap().to_string().contains("reversible") {
                assert_eq!(zfp.encode(view()).unwrap()[..], bare);
                assert_eq!(headed_again[..], headed);
                assert_eq!(again, numbers);
            }
        }
    }

    /// Small integers fill the upper bits of a wider one (F-101, and zfp's own functions for them).
    #[test]
    fn every_type_comes_back_when_nothing_is_given_up() {
        for core in CoreType::ALL {
            let size = core.repr().size();
            let numbers: Vec<u8> = (0..24 * size).map(|i| (i * 37 % 101) as u8).collect();
            for shape in [&[24][..], &[4, 6], &[2, 3, 4], &[1, 2, 3, 4], &[2, 1, 3, 1, 4, 1]] {
                let built = on_arrays("zfp", core, shape, r#"{"mode":"reversible"}"#);
                let no_number = matches!(
                    core,
                    CoreType::Bool | CoreType::Float16 | CoreType::Complex64 | CoreType::Complex128
                );
                assert_eq!(built.is_err(), no_number, "{core:?}");
                let Ok(codec) = built else { continue };
                let encoded = codec.encode(View::new(&numbers, shape, size)).unwrap();
                assert_eq!(decoded(&*codec, &encoded, core, shape).unwrap(), numbers, "{core:?}");
                let mut part = vec![0; size];
                let within = Region::new(shape.iter().map(|length| length - 1..*length));
                let view = ViewMut::new(&mut part, &vec![1; shape.len()], size);
                codec.decode_into(&encoded, shape, &within, view).unwrap();
                assert_eq!(part, numbers[23 * size..]);
            }
        }
        // Rank 0 is one number on one axis.
        let codec = on_arrays("zfp", CoreType::Float64, &[], r#"{"mode":"reversible"}"#).unwrap();
        let number = 1.5f64.to_ne_bytes();
        let one = codec.encode(View::new(&number, &[], 8)).unwrap();
        assert_eq!(decoded(&*codec, &one, CoreType::Float64, &[]).unwrap(), number);
    }

    #[test]
    fn what_zfp_cannot_hold_is_refused_instead_of_changed() {
        let accuracy = r#"{"mode":"fixed_accuracy","tolerance":0.5}"#;
        let large = on_arrays("zfp", CoreType::Uint32, &[1], r#"{"mode":"reversible"}"#).unwrap();
        let error = large.encode(View::new(&[0, 0, 0, 0x80], &[1], 4)).unwrap_err().to_string();
        assert!(error.contains("uint32"), "{error}");
        for number in [f32::NAN, f32::INFINITY] {
            let number = number.to_ne_bytes();
            let lossy = on_arrays("zfp", CoreType::Float32, &[1], accuracy).unwrap();
            let error = lossy.encode(View::new(&number, &[1], 4)).unwrap_err().to_string();
            assert!(error.contains("reversible"), "{error}");
            let exact = on_arrays("zfp", CoreType::Float32, &[1], r#"{"mode":"reversible"}"#);
            let exact = exact.unwrap();
            let encoded = exact.encode(View::new(&number, &[1], 4)).unwrap();
            assert_eq!(decoded(&*exact, &encoded, CoreType::Float32, &[1]).unwrap(), number);
        }
    }

    #[test]
    fn damaged_streams_are_errors_or_other_numbers() {
        let (core, shape, zfp, zfpy, bare, headed, numbers) = STREAMS[0];
        let (bare, headed) = (hex(bare), hex(headed));
        let zfp = on_arrays("zfp", core, shape, zfp).unwrap();
        let flat = bytes_to_bytes(build_on(Dialect::V2, "zfpy", zfpy, &context(core, shape)));
        // A stream without its second half, and one of another shape or type.
        assert!(decoded(&*zfp, &bare[..8], core, shape).is_err());
        assert!(decoded(&*zfp, &[], core, shape).is_err());
        for other in [&[5, 4, 1][..], &[4, 6]] {
            let codec = on_arrays("numcodecs.zfpy", core, other, zfpy).unwrap();
            let error = decoded(&*codec, &headed, core, other);
            assert_eq!(error.is_err(), other == [4, 6], "{other:?}");
        }
        let typed = on_arrays("numcodecs.zfpy", CoreType::Int32, shape, zfpy).unwrap();
        let error = decoded(&*typed, &headed, CoreType::Int32, shape).unwrap_err().to_string();
        assert!(error.contains("F32"), "{error}");
        // zfp has no checksum. Builds of it that write bytes, not words of 8, end streams anywhere, so a cut inside
        // the last word cannot be told from one of theirs.
        let numbers = hex(numbers);
        let size = DecodedSize::Exactly(numbers.len() as u64);
        for len in 0..headed.len() {
            let cut = flat.decode(Cow::Borrowed(&headed[..len]), size);
            assert!(cut.is_err() || len % 8 != 0 || headed[len..].iter().all(|b| *b == 0), "{len}");
            for bit in 0..8 {
                let mut damaged = headed.clone();
                damaged[len] ^= 1 << bit;
                if let Ok(found) = flat.decode(Cow::Borrowed(&damaged), size) {
                    assert_eq!(found.len(), numbers.len());
                }
            }
        }
        // A header of 2⁴⁸ numbers asks for no memory.
        let mut absurd = headed.clone();
        absurd[4..12].fill(0xff);
        absurd[4] = 0x01;
        for size in [DecodedSize::Exactly(80), DecodedSize::AtMost(1 << 20)] {
            assert!(flat.decode(Cow::Borrowed(&absurd), size).is_err());
        }
    }

    #[test]
    fn configurations_are_checked_and_spelled() {
        for bad in [
            "{}",
            r#"{"mode":"fast"}"#,
            r#"{"mode":4}"#,
            r#"{"mode":"fixed_rate"}"#,
            r#"{"mode":"fixed_rate","rate":-1}"#,
            r#"{"mode":"fixed_accuracy","tolerance":"0.1"}"#,
            r#"{"mode":"fixed_precision","precision":-1}"#,
            r#"{"mode":"expert","minbits":9,"maxbits":8,"maxprec":64,"minexp":0}"#,
            r#"{"mode":"expert","minbits":4000000000,"maxbits":4000000000,"maxprec":64,"minexp":0}"#,
            r#"{"mode":"reversible","more":1}"#,
        ] {
            assert!(on_arrays("zfp", CoreType::Float32, &[4], bad).is_err(), "{bad}");
        }
        let exact = r#"{"mode":"reversible"}"#;
        assert!(on_arrays("zfp", CoreType::Float32, &[2, 2, 2, 2, 2], exact).is_err());
        assert!(on_arrays("zfpy", CoreType::Float32, &[2, 1, 2, 1, 2], r#"{"mode":5}"#).is_err());
        assert!(on_arrays("zfpy", CoreType::Int16, &[4], r#"{"mode":5}"#).is_err());
        let expert = r#"{"mode":"expert","minbits":1,"maxbits":13,"maxprec":19,"minexp":-2}"#;
        let expert = on_arrays("zarrs.zfp", CoreType::Float32, &[4], expert).unwrap();
        assert_eq!(expert.to_metadata(Dialect::V2), None);
        let v2 = r#"{"mode":4,"compression_kwargs":{"tolerance":0.01},"tolerance":0.01,"rate":-1,
            "precision":-1}"#;
        let codec = build_on(Dialect::V2, "zfpy", v2, &context(CoreType::Float32, &[4])).unwrap();
        let metadata = |dialect| codec.to_metadata(dialect).unwrap().to_string();
        assert_eq!(metadata(Dialect::V3), r#"numcodecs.zfpy {"mode":4,"tolerance":0.01}"#);
        assert_eq!(metadata(Dialect::V2), format!("zfpy {}", v2.replace(['\n', ' '], "")));
    }
}
