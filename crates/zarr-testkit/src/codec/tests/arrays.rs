//! Broken codecs on arrays.

use std::borrow::Cow;

use super::*;
use crate::bytes::Bytes;
use zarr_core::codec::{ArrayToArray, ArrayToBytes, Codec, CodecResult, EncodedParts, Threads};
use zarr_core::region::element_count;
use zarr_core::var_buffer::VAR_REF_SIZE;
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, MetadataError, Region};

/// One way to break a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    IgnoresStrides,
    DecodesFirstPart,
    IgnoresTarget,
    LosesLast,
    LiesInSize,
    OmitsPart,
    ClaimsMemory,
    TakesShort,
    PanicsOnShort,
    PanicsOnHuge,
    LiesInOrder,
    NoOrder,
    LiesInShape,
}

use Flaw::*;

const ALL: [Flaw; 14] = [
    None,
    IgnoresStrides,
    DecodesFirstPart,
    IgnoresTarget,
    LosesLast,
    LiesInSize,
    OmitsPart,
    ClaimsMemory,
    TakesShort,
    PanicsOnShort,
    PanicsOnHuge,
    LiesInOrder,
    NoOrder,
    LiesInShape,
];

fn flaw_of(spec: &CodecSpec) -> Flaw {
    let flaw = ALL.into_iter().find(|flaw| format!("{flaw:?}") == spec.name);
    flaw.expect("the name is a flaw's")
}

/// The elements of a view in the order of memory, for any strides.
fn elements(flaw: Flaw, chunk: &View<'_>) -> Vec<u8> {
    let mut bytes = chunk.to_bytes().into_owned();
    match flaw {
        IgnoresStrides if chunk.as_bytes().is_none() => bytes.reverse(),
        LosesLast => drop(bytes.last_mut().map(|last| *last = 0)),
        _ => {}
    }
    bytes
}

/// Elements, most significant byte first.
#[derive(Debug)]
struct Stored {
    flaw: Flaw,
    inner: Bytes,
}

fn build_stored(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let inner = Bytes::new(spec, context)?;
    Ok(Codec::array_to_bytes(Stored { flaw: flaw_of(spec), inner }))
}

impl ArrayToBytes for Stored {
    fn encode<'a>(&self, chunk: View<'a>) -> CodecResult<'a> {
        let (shape, cell) = (chunk.shape(), chunk.element_size());
        let elements = elements(self.flaw, &chunk);
        let encoded = self.inner.encode(View::new(&elements, &shape, cell))?;
        Ok(Cow::Owned(encoded.into_owned()))
    }

    fn encode_in_parts<'a>(&'a self, chunk: View<'a>, _: Threads<'a>) -> Option<EncodedParts<'a>> {
        let whole = self.encode(chunk).ok()?.into_owned();
        let middle = whole.len() / 2;
        let (first, second) = (whole[..middle].to_vec(), whole[middle..].to_vec());
        let parts = if self.flaw == OmitsPart { vec![first] } else { vec![first, second] };
        Some(Box::new(parts.into_iter().map(|part| Ok(part.into()))))
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let mut encoded = encoded.to_vec();
        let mut within = within.clone();
        match self.flaw {
            TakesShort => {
                encoded.resize(self.inner.encoded_size(shape).unwrap_or(0).min(99) as usize, 0)
            }
            PanicsOnShort => drop(encoded[..48].to_vec()),
            PanicsOnHuge => assert!(element_count(shape).is_some(), "countable"),
            DecodesFirstPart => within = Region::new(within.shape().iter().map(|&len| 0..len)),
            IgnoresTarget if out.as_bytes_mut().is_none() => return Ok(()),
            _ => {}
        }
        self.inner.decode_into(&encoded, shape, &within, out)
    }

    fn encoded_size(&self, shape: &[u64]) -> Option<u64> {
        let size = self.inner.encoded_size(shape);
        if self.flaw == LiesInSize { size.map(|size| size + 1) } else { size }
    }

    fn is_memory(&self) -> bool {
        self.flaw == ClaimsMemory
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        let spec = self.inner.to_metadata(dialect)?;
        Some(CodecSpec { name: format!("{:?}", self.flaw), ..spec })
    }
}

/// The axes in reverse order.
#[derive(Debug)]
struct Turned {
    flaw: Flaw,
    order: Vec<usize>,
}

fn build_turned(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    zarr_core::codec::Parameters::new(spec).finish()?;
    let (flaw, rank) = (flaw_of(spec), context.rank());
    let order = (0..rank).rev().collect();
    Ok(Codec::array_to_array(Turned { flaw, order }))
}

impl ArrayToArray for Turned {
    fn encoded(&self, decoded: &ChunkContext) -> Result<ChunkContext, MetadataError> {
        let mut shape: Vec<u64> = decoded.shape.iter().rev().copied().collect();
        match self.flaw {
            LiesInShape => shape.push(2),
            PanicsOnHuge => assert!(element_count(&shape).is_some(), "countable"),
            _ => {}
        }
        Ok(ChunkContext::new(decoded.data_type.clone(), shape))
    }

    fn axis_order(&self) -> Option<&[usize]> {
        match self.flaw {
            LiesInOrder => Some(&[0, 1]),
            NoOrder | LiesInShape | IgnoresTarget => Option::None,
            _ => Some(&self.order),
        }
    }

    fn encode(&self, chunk: View<'_>) -> Result<Vec<u8>, CodecError> {
        let flawed = self.flaw == IgnoresStrides && chunk.as_bytes().is_none();
        let mut bytes = chunk.transposed(&self.order).to_bytes().into_owned();
        match self.flaw {
            _ if flawed => bytes.reverse(),
            LosesLast => drop(bytes.pop()),
            _ => {}
        }
        Ok(bytes)
    }

    fn decode(&self, encoded: &[u8], mut out: ViewMut<'_>) -> Result<(), CodecError> {
        let size = out.len() * out.element_size();
        if self.flaw == IgnoresTarget && out.as_bytes_mut().is_none() {
            return Ok(());
        }
        let mut encoded = encoded.to_vec();
        match self.flaw {
            TakesShort => encoded.resize(size, 0),
            PanicsOnShort => drop(encoded[..size].to_vec()),
            _ => {}
        }
        if encoded.len() != size {
            return Err(CodecError::corrupt("broken", "another length"));
        }
        let cell = out.element_size();
        let mut turned = out.transposed(&self.order);
        let shape = turned.shape();
        turned.copy_from(&View::new(&encoded, &shape, cell));
        Ok(())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        let name = format!("{:?}", self.flaw);
        (dialect == Dialect::V3).then(|| CodecSpec::v3(name, Object::new()))
    }
}

#[test]
fn sound_codecs_pass() {
    for endian in ["big", "little"] {
        let spec = CodecSpec::v3("None", Object::new().with("endian", endian));
        check_codec(&knowing("None", build_stored), &spec);
    }
    for name in ["None", "NoOrder"] {
        check_codec(&knowing(name, build_turned), &CodecSpec::v3(name, Object::new()));
    }
}

#[test]
fn each_broken_promise_of_a_codec_to_bytes_is_found() {
    let cases = [
        (IgnoresStrides, "elements in F order are encoded as those in C order"),
        (DecodesFirstPart, "decodes as that part of the whole"),
        (IgnoresTarget, "gives the same elements in F order as in C order"),
        (LosesLast, "gives other elements"),
        (LiesInSize, "encoded_size is 49, but encode gives 48 bytes"),
        (OmitsPart, "encode_in_parts gives what encode gives of elements in C order"),
        (ClaimsMemory, "encoded bytes are not the native elements"),
        (TakesShort, "it decodes, though encoded_size([4, 3]) is another"),
        (PanicsOnShort, "must not panic"),
        (PanicsOnHuge, "must not panic"),
    ];
    let cases = cases.map(|(flaw, expected)| (format!("{flaw:?}"), expected));
    let other = if cfg!(target_endian = "big") { "little" } else { "big" };
    each_is_found(build_stored, &Object::new().with("endian", other), &cases);
}

#[test]
fn each_broken_promise_of_a_codec_on_arrays_is_found() {
    let cases = [
        (IgnoresStrides, "elements in F order are encoded as those in C order"),
        (IgnoresTarget, "gives other elements in F order"),
        (LosesLast, "encode gives 47 bytes, but what encoded tells has Some(48)"),
        (TakesShort, "decode must tell that the length is wrong"),
        (PanicsOnShort, "must not panic"),
        (PanicsOnHuge, "must not panic, but: countable"),
        (LiesInOrder, "encoded tells the shape [4, 3] that axis_order makes"),
        (LiesInShape, "what encoded tells has Some(96)"),
    ];
    let cases = cases.map(|(flaw, expected)| (format!("{flaw:?}"), expected));
    each_is_found(build_turned, &Object::new(), &cases);
}

/// Variable-length elements, each after its length: the right way, and several wrong ones.
#[derive(Debug)]
struct Framed(&'static str);

fn build_framed(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    let known = ["good", "by-cell", "loses-last", "trusts-length", "in-no-var_buffer", "half"];
    let flaw = known.into_iter().find(|name| *name == spec.name).expect("a known flaw");
    Ok(Codec::array_to_bytes(Framed(flaw)))
}

impl ArrayToBytes for Framed {
    fn encode<'a>(&self, chunk: View<'a>) -> CodecResult<'a> {
        let cells = chunk.to_bytes();
        if self.0 == "by-cell" {
            return Ok(cells);
        }
        let var_buffer = chunk.var_buffer().expect("the kit gives a var_buffer").elements();
        let mut elements: Vec<&[u8]> =
            cells.chunks_exact(VAR_REF_SIZE).map(|c| var_buffer.get(c)).collect();
        if let (Some(last), "loses-last") = (elements.last_mut(), self.0) {
            *last = b"";
        }
        Ok(Cow::Owned(crate::shared::stream(elements)))
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let corrupt = || CodecError::corrupt("framed", "it is damaged");
        let own = zarr_core::var_buffer::VarBuffer::default();
        let var_buffer = if self.0 == "in-no-var_buffer" {
            &own
        } else {
            out.var_buffer().expect("the kit gives a var_buffer")
        };
        let count = element_count(shape).filter(|&n| n < 1000).ok_or_else(corrupt)? as usize;
        let buffer = var_buffer.add(encoded.to_vec().into())?;
        let (mut cells, mut at) = (Vec::new(), 0);
        for _ in 0..count {
            let len = encoded.get(at..at + 4).ok_or_else(corrupt)?;
            let len = u32::from_le_bytes([len[0], len[1], len[2], len[3]]) as usize;
            at += 4;
            if self.0 == "trusts-length" {
                let _ = &encoded[at..at + len];
            }
            let kept = if self.0 == "half" { len / 2 } else { len };
            cells.extend_from_slice(buffer.reference(at as u64, kept as u64)?.as_bytes());
            at += len;
        }
        out.copy_from(&View::new(&cells, shape, VAR_REF_SIZE).part(within));
        if at == encoded.len() { Ok(()) } else { Err(corrupt()) }
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        (dialect == Dialect::V2).then(|| CodecSpec::new(dialect, self.0, Object::new()))
    }
}

#[test]
fn codecs_of_elements_of_any_length_are_checked() {
    let text = DataType::String;
    let said = |flaw: &str, shape: &[u64]| {
        let registry = knowing(flaw, build_framed);
        let context = ChunkContext::new(text.clone(), shape.to_vec());
        let spec = CodecSpec::new(Dialect::V2, flaw, Object::new());
        shared::verdict(|| check_codec_on(&registry, &spec, &context)).unwrap_or_default()
    };
    for shape in [&[4, 3][..], &[5], &[], &[0]] {
        assert_eq!(said("good", shape), "");
    }
    for (flaw, expected) in [
        ("by-cell", "decode_into of the part"),
        ("loses-last", "is the codec lossy?"),
        ("half", "is the codec lossy?"),
        ("in-no-var_buffer", "is the codec lossy?"),
        ("trusts-length", "must not panic"),
    ] {
        let said = said(flaw, &[4, 3]);
        assert!(said.contains(expected), "{flaw}: {said}");
    }
}
