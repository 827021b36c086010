//! Stores texts as the numbers of their labels.
//!
//! numcodecs' `categorize`: the first label is 1, the next 2; 0 is a text that is no label, and comes back
//! empty (v2.md 7). Texts are `U` or `S` of fixed length, or objects (Z2-040).

use std::borrow::Cow;
use std::collections::HashMap;

use zarr_core::codec::{
    ArrayToBytes, BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize,
    Parameters,
};
use zarr_core::data_type::{CoreType, DataType, Endian, Repr, Scalar, ScalarValue};
use zarr_core::region::byte_count;
use zarr_core::var_buffer::VAR_REF_SIZE;
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, Json, MetadataError, Object, Region};

use crate::util::number::{Native, NumberType, with_scalar};
use crate::util::v3_adapter::{Flat, in_dialect};
use zarr_core::codec::buffer_pool::zeroed;

const CODEC: &str = "categorize";

/// The texts of an array, as numcodecs' `dtype` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Texts {
    /// `U`: a number of code points.
    Utf32(usize, Endian),
    /// `S`: a number of bytes.
    Bytes(usize),
    /// `O`.
    Objects,
}

impl Texts {
    fn parse(dtype: &str) -> Option<Texts> {
        let (order, rest) = dtype.split_at_checked(1)?;
        let (kind, len) = rest.split_at_checked(1)?;
        let endian = if order == ">" { Endian::Big } else { Endian::Little };
        match (order, kind) {
            ("|", "O") if rest == "O" => Some(Texts::Objects),
            ("<" | ">", "U") => Some(Texts::Utf32(length(len)?, endian)),
            ("|", "S") => Some(Texts::Bytes(length(len)?)),
            _ => None,
        }
    }

    fn dtype(self, dialect: Dialect) -> String {
        match self {
            // On arrays elements are native; see `arithmetic`.
            Texts::Utf32(len, _) if dialect == Dialect::V3 => format!("<U{len}"),
            Texts::Utf32(len, endian) => format!("{}U{len}", endian.mark()),
            Texts::Bytes(len) => format!("|S{len}"),
            Texts::Objects => "|O".into(),
        }
    }

    /// Bytes of an element.
    fn size(self) -> usize {
        match self {
            Texts::Utf32(len, _) => 4 * len,
            Texts::Bytes(len) => len,
            Texts::Objects => VAR_REF_SIZE,
        }
    }

    /// A label as an element, as long as it is.
    fn element(self, label: &str) -> Vec<u8> {
        match self {
            Texts::Utf32(_, Endian::Little) => {
                label.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect()
            }
            Texts::Utf32(_, Endian::Big) => {
                label.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect()
            }
            Texts::Bytes(_) | Texts::Objects => label.into(),
        }
    }
}

/// The length of a text, in characters.
fn length(digits: &str) -> Option<usize> {
    digits.parse().ok().filter(|len| (1..=1 << 26).contains(len))
}

/// The categorize codec.
#[derive(Clone, Debug)]
struct Categorize {
    texts: Texts,
    labels: Vec<String>,
    codes: NumberType,
    /// The code of each element that is a label; of equal ones the last has it.
    code_of: HashMap<Vec<u8>, u64>,
    /// What each code stands for, from 0.
    elements: Vec<Vec<u8>>,
}

/// Whether codes up to `most` are numbers of this type.
fn has_codes(codes: NumberType, most: usize) -> bool {
    match codes.core.scalar() {
        Scalar::Int(bits) => most >> (bits - 1).min(63) == 0,
        Scalar::Uint(bits) => most >> bits.min(63) == 0,
        Scalar::Float(format) => most <= 1 << (format.mantissa_bits() + 1),
        _ => false,
    }
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let is_flat = spec.dialect != Dialect::V3;
    let texts = match (parameters.string("dtype")?, context.data_type.repr()) {
        (Some(dtype), _) => Texts::parse(dtype),
        (None, Some(Repr::Utf32(len))) => Some(Texts::Utf32(len, Endian::Little)),
        _ => None,
    };
    let texts = match texts {
        Some(Texts::Utf32(len, _)) if !is_flat => Texts::Utf32(len, Endian::NATIVE),
        Some(texts) => texts,
        None => {
            return Err(
                parameters.invalid("dtype", "is not a type of strings, such as `<U5` or `|O`")
            );
        }
    };
    let fits = match texts {
        Texts::Objects => context.data_type == DataType::String,
        _ => is_flat || context.element_size()? == texts.size(),
    };
    if !fits || texts == Texts::Objects && !is_flat {
        let why =
            format!("`{}` are not elements of `{}`", texts.dtype(spec.dialect), context.data_type);
        return Err(parameters.invalid("dtype", why));
    }
    let codes = NumberType::read(&mut parameters, "astype")?;
    let mut codes = codes.or(NumberType::native(CoreType::Uint8)).expect("bytes are numbers");
    if !is_flat {
        codes.endian = Endian::NATIVE;
    }
    let labels = parameters.get("labels").and_then(Json::as_array);
    let labels = labels.and_then(|list| {
        list.iter().map(|json| json.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    });
    let Some(labels) = labels else {
        return Err(parameters.invalid("labels", "is not a list of strings"));
    };
    if !has_codes(codes, labels.len()) {
        let why = format!("has no number for each of {} labels", labels.len());
        return Err(parameters.invalid("astype", why));
    }
    parameters.finish()?;
    let codec = Categorize::new(texts, labels, codes);
    match texts {
        Texts::Objects => Ok(Codec::array_to_bytes(codec)),
        _ => Ok(in_dialect(codec, spec.dialect)),
    }
}

impl Categorize {
    fn new(texts: Texts, labels: Vec<String>, codes: NumberType) -> Self {
        let mut elements = vec![texts.element("")];
        elements.extend(labels.iter().map(|label| texts.element(label)));
        let (mut code_of, mut code_of_cut) = (HashMap::new(), HashMap::new());
        for (code, element) in elements.iter_mut().enumerate() {
            let mut fits = true;
            if texts != Texts::Objects {
                // NumPy pads an element with NULs, and cuts off what has no room.
                let whole = element.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                fits = whole <= texts.size();
                element.resize(texts.size(), 0);
            }
            if code > 0 && fits {
                code_of.insert(element.clone(), code as u64);
            } else if code > 0 {
                code_of_cut.insert(element.clone(), code as u64);
            }
        }
        // What is left of a label that was cut has its code, where no label is that text: else a chunk that is read and
        // written again would lose it.
        for (element, code) in code_of_cut {
            code_of.entry(element).or_insert(code);
        }
        Categorize { texts, labels, codes, code_of, elements }
    }

    /// The codes of elements.
    fn look_up<'a>(&self, elements: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<u8> {
        let mut out = vec![0; elements.len() * self.codes.size()];
        with_scalar!(self.codes.core, T => {
            for (element, out) in elements.zip(out.chunks_exact_mut(T::SIZE)) {
                let code = self.code_of.get(element).copied().unwrap_or(0);
                T::of(ScalarValue::Integer(code.into())).store(out);
            }
        });
        self.codes.byteswap(&mut out);
        out
    }

    /// Calls `see` with each code, as a place in `elements`.
    fn each_code(&self, encoded: &[u8], mut see: impl FnMut(usize)) -> Result<(), CodecError> {
        let mut turned = Cow::Borrowed(encoded);
        if self.codes.endian != Endian::NATIVE {
            self.codes.byteswap(turned.to_mut());
        }
        let known = self.elements.len();
        with_scalar!(self.codes.core, T => {
            for code in turned.chunks_exact(T::SIZE) {
                let place = match T::load(code).number() {
                    ScalarValue::Integer(code) => usize::try_from(code).ok(),
                    ScalarValue::Float(code) if code.fract() == 0.0 && code >= 0.0 => Some(code as usize),
                    ScalarValue::Float(_) => None,
                };
                match place.filter(|&place| place < known) {
                    Some(place) => see(place),
                    None => {
                        let why = format!("{:?} is the code of no label", T::load(code).number());
                        return Err(CodecError::corrupt(CODEC, why));
                    }
                }
            }
        });
        Ok(())
    }

    fn configuration(&self, dialect: Dialect) -> Object {
        let labels: Vec<Json> = self.labels.iter().map(|label| label.as_str().into()).collect();
        let endian = if dialect == Dialect::V3 { Endian::Little } else { self.codes.endian };
        Object::new()
            .with("labels", Json::Array(labels))
            .with("dtype", self.texts.dtype(dialect))
            .with("astype", self.codes.core.typestr(endian))
    }
}

impl Flat for Categorize {
    const CODEC: &'static str = CODEC;
}

impl BytesToBytes for Categorize {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        BytesToBytes::encoded_size(self, decoded.len() as u64)?;
        Ok(Cow::Owned(self.look_up(decoded.chunks_exact(self.texts.size()))))
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let cell = self.texts.size();
        let len = self.codes.count(CODEC, encoded.len() as u64)?.saturating_mul(cell as u64);
        size.check(CODEC, len)?;
        let mut out = zeroed(CODEC, len)?;
        let mut rest = &mut out[..];
        self.each_code(&encoded, |place| {
            if let Some(element) = rest.split_off_mut(..cell) {
                element.copy_from_slice(&self.elements[place]);
            }
        })?;
        Ok(Cow::Owned(out))
    }

    fn encoded_size(&self, decoded: u64) -> Result<Option<u64>, CodecError> {
        let size = self.texts.size() as u64;
        let whole = decoded / size;
        match decoded % size {
            0 => Ok(whole.checked_mul(self.codes.size() as u64)),
            _ => Err(CodecError::Length { codec: CODEC, expected: whole * size, found: decoded }),
        }
    }

    fn encoded(&self, decoded: &ChunkContext) -> ChunkContext {
        ChunkContext::new(self.codes.data_type(), decoded.shape.clone())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        crate::util::metadata::numcodecs(dialect, CODEC, self.configuration(dialect))
    }
}

impl ArrayToBytes for Categorize {
    fn encode<'a>(&self, chunk: View<'a>) -> CodecResult<'a> {
        let var_buffer = chunk
            .var_buffer()
            .ok_or_else(|| CodecError::corrupt(CODEC, "these are not strings"))?;
        let elements = var_buffer.elements();
        let cells = chunk.to_bytes();
        Ok(Cow::Owned(
            self.look_up(cells.chunks_exact(VAR_REF_SIZE).map(|cell| elements.get(cell))),
        ))
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let var_buffer =
            out.var_buffer().ok_or_else(|| CodecError::corrupt(CODEC, "these are not strings"))?;
        let expected = ArrayToBytes::encoded_size(self, shape).unwrap_or(u64::MAX);
        DecodedSize::Exactly(expected).check(CODEC, encoded.len() as u64)?;
        let buffer = var_buffer.add(self.elements.concat().into())?;
        let mut start = 0;
        let places = self.elements.iter().map(|element| {
            let len = element.len() as u64;
            let cell = buffer.reference(start, len);
            start += len;
            cell
        });
        let places = places.collect::<Result<Vec<_>, _>>()?;
        let mut cells = zeroed(
            CODEC,
            self.codes.count(CODEC, encoded.len() as u64)?.saturating_mul(VAR_REF_SIZE as u64),
        )?;
        let mut rest = &mut cells[..];
        self.each_code(encoded, |code| {
            if let Some(cell) = rest.split_off_mut(..VAR_REF_SIZE) {
                cell.copy_from_slice(places[code].as_bytes());
            }
        })?;
        out.copy_from(&View::new(&cells, shape, VAR_REF_SIZE).part(within));
        Ok(())
    }

    fn encoded_size(&self, shape: &[u64]) -> Option<u64> {
        byte_count(shape, self.codes.size())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        (dialect == Dialect::V2)
            .then(|| CodecSpec::new(dialect, CODEC, self.configuration(dialect)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zarr_core::data_type::DataType;
    use zarr_core::var_buffer::VarBuffer;

    use super::*;
    use crate::testing::{
        build, build_on, decode, encode, heeds_sizes, hex, metadata, refusal, survives_damage,
    };

    fn flat(labels: &str, dtype: &str, astype: &str) -> Arc<dyn BytesToBytes> {
        let configuration =
            format!(r#"{{"labels":{labels},"dtype":"{dtype}","astype":"{astype}"}}"#);
        build(Dialect::V2, CODEC, &configuration)
    }

    const THREE: &str = r#"["a","bb","漢🎉"]"#;

    /// Of two code points: a, bb, zz, nothing, 漢🎉, ab.
    const TEXTS: &str = "6100000000000000 6200000062000000 7a0000007a000000 0000000000000000
        226f000089f30100 6100000062000000";

    fn turned(texts: &str) -> Vec<u8> {
        hex(texts).chunks(4).flat_map(|unit| unit.iter().rev().copied()).collect()
    }

    /// numcodecs 0.15.2 and 0.16.6.
    #[test]
    fn codes_are_numcodecs() {
        let known = "6100000000000000 6200000062000000 0000000000000000 0000000000000000
            226f000089f30100 0000000000000000";
        let codec = flat(THREE, "<U2", "|u1");
        assert_eq!(encode(&*codec, &hex(TEXTS)), hex("010200000300"));
        assert_eq!(decode(&*codec, &hex("010200000300"), 48), hex(known));
        let codec = flat(THREE, ">U2", "<u2");
        assert_eq!(encode(&*codec, &turned(TEXTS)), hex("010002000000000003000000"));
        assert_eq!(decode(&*codec, &hex("010002000000000003000000"), 48), turned(known));
        let first =
            |labels: &str, astype: &str| encode(&*flat(labels, "<U2", astype), &hex(&TEXTS[..16]));
        assert_eq!(first(r#"["a"]"#, "<f4"), hex("0000803f"));
        assert_eq!(first(r#"["a","b"]"#, ">i4"), hex("00000001"));
        // Of equal labels the last counts, and nothing is a text like others.
        assert_eq!(first(r#"["","a","a"]"#, "|i1"), [3]);
        let codec = flat(r#"["","a","a"]"#, "<U2", "|i1");
        assert_eq!(encode(&*codec, &[0; 8]), [1]);
    }

    /// numcodecs reads such a label cut, and stores what is left of it as no label at all: read and written again, it
    /// would be lost.
    #[test]
    fn a_label_that_was_cut_keeps_its_code() {
        let codec = flat(r#"["abc","a"]"#, "<U2", "|u1");
        let texts = decode(&*codec, &[1, 2, 0], 24);
        assert_eq!(texts[..8], hex("6100000062000000"));
        assert_eq!(encode(&*codec, &texts), [1, 2, 0]);
        // A label that is such a text comes first.
        let codec = flat(r#"["ab","abc"]"#, "<U2", "|u1");
        assert_eq!(encode(&*codec, &texts[..8]), [1]);
    }

    #[test]
    fn bytes_are_texts_too() {
        let codec = flat(r#"["ab","c"]"#, "|S3", "|u1");
        assert_eq!(encode(&*codec, b"ab\0c\0\0\0\0\0abc"), [1, 2, 0, 0]);
        assert_eq!(decode(&*codec, &[2, 0, 1], 9), b"c\0\0\0\0\0ab\0");
    }

    /// numcodecs makes nothing of such a code; but nobody with these labels wrote it.
    #[test]
    fn a_code_of_no_label_is_damage() {
        for (astype, code) in
            [("|u1", "04"), ("|i1", "ff"), ("<f4", "0000003f"), ("<f4", "0000c07f")]
        {
            let codec = flat(THREE, "<U2", astype);
            let result = codec.decode(hex(code).into(), DecodedSize::Exactly(8));
            assert!(matches!(result, Err(CodecError::Corrupt { .. })), "{astype} {result:?}");
        }
    }

    #[test]
    fn it_behaves() {
        for (dtype, astype) in [("<U2", "|u1"), (">U2", ">i4"), ("<U2", "<f8")] {
            let codec = flat(THREE, dtype, astype);
            let texts = match dtype {
                "<U2" => hex(&TEXTS[..34].repeat(20)),
                _ => turned(&TEXTS[..34].repeat(20)),
            };
            let codes = encode(&*codec, &texts);
            assert_eq!(decode(&*codec, &codes, texts.len() as u64), texts);
            assert_eq!(codec.encoded_size(texts.len() as u64).unwrap(), Some(codes.len() as u64));
            heeds_sizes(&*codec, &texts);
            survives_damage(&*codec, &texts);
            assert!(matches!(codec.encoded_size(9), Err(CodecError::Length { .. })));
            assert!(codec.encode((&[0; 9][..]).into()).is_err());
        }
    }

    /// Z2-040, numcodecs 0.15.2 and 0.16.6.
    #[test]
    fn objects_are_texts_of_any_length() {
        let data_type = DataType::String;
        let context = ChunkContext::new(data_type, vec![2, 3]);
        let configuration = format!(r#"{{"labels":{THREE},"dtype":"|O","astype":"|u1"}}"#);
        let built = build_on(Dialect::V2, CODEC, &configuration, &context);
        let Ok(Codec::ArrayToBytes(codec)) = built else { panic!("{built:?}") };
        let var_buffer = VarBuffer::default();
        let texts = ["a", "bb", "zz", "", "漢🎉", "ab"];
        let cells: Vec<u8> = texts
            .iter()
            .flat_map(|text| {
                let buffer = var_buffer.add(text.as_bytes().to_vec().into()).unwrap();
                buffer.reference(0, text.len() as u64).unwrap().as_bytes().to_vec()
            })
            .collect();
        let view = View::new(&cells, &[2, 3], VAR_REF_SIZE).with_var_buffer(Some(&var_buffer));
        assert_eq!(*codec.encode(view).unwrap(), hex("010200000300"));

        let (mut cells, column) = (vec![0; 2 * VAR_REF_SIZE], Region::new([0..2, 1..2]));
        let mut read = |encoded: &str| {
            let out =
                ViewMut::new(&mut cells, &[2, 1], VAR_REF_SIZE).with_var_buffer(Some(&var_buffer));
            codec.decode_into(&hex(encoded), &[2, 3], &column, out)
        };
        assert!(matches!(read("0102000003"), Err(CodecError::Length { .. })));
        assert!(matches!(read("010200000309"), Err(CodecError::Corrupt { .. })));
        read("010200000300").unwrap();
        let elements = var_buffer.elements();
        let found: Vec<&[u8]> = cells.chunks(VAR_REF_SIZE).map(|cell| elements.get(cell)).collect();
        assert_eq!(found, ["bb".as_bytes(), "漢🎉".as_bytes()]);
        let metadata = codec.to_metadata(Dialect::V2).unwrap();
        assert_eq!(Json::from(metadata.configuration).to_string(), configuration);
        assert!(codec.to_metadata(Dialect::V3).is_none());
    }

    /// A codec on arrays in final v3, where no other library has it.
    #[test]
    fn arrays_become_numbers() {
        let data_type = DataType::FixedUtf32 { len: 2 };
        let context = ChunkContext::new(data_type, vec![6]);
        let configuration = format!(r#"{{"labels":{THREE},"dtype":"<U2","astype":"<u2"}}"#);
        let built = build_on(Dialect::V3, "numcodecs.categorize", &configuration, &context);
        let Ok(Codec::ArrayToArray(codec)) = built else { panic!("{built:?}") };
        assert_eq!(codec.encoded(&context).unwrap().data_type.to_string(), "uint16");
        let texts: Vec<u8> = if cfg!(target_endian = "big") { turned(TEXTS) } else { hex(TEXTS) };
        let codes: Vec<u8> = [1u16, 2, 0, 0, 3, 0].iter().flat_map(|x| x.to_ne_bytes()).collect();
        assert_eq!(codec.encode(View::new(&texts, &[6], 8)).unwrap(), codes);
        let metadata = Json::from(codec.to_metadata(Dialect::V3).unwrap().configuration);
        assert_eq!(metadata.to_string(), configuration);
        let other = configuration.replace("<U2", "<U3");
        assert!(build_on(Dialect::V3, "numcodecs.categorize", &other, &context).is_err());
    }

    #[test]
    fn words_are_checked_and_spelled() {
        let many: Vec<String> = (0..256).map(|i| format!("\"{i}\"")).collect();
        let many = format!(r#"{{"labels":[{}],"dtype":"<U3"}}"#, many.join(","));
        for bad in [
            r#"{"labels":["a"]}"#,
            r#"{"dtype":"<U2"}"#,
            r#"{"labels":"a","dtype":"<U2"}"#,
            r#"{"labels":["a",1],"dtype":"<U2"}"#,
            r#"{"labels":["a"],"dtype":"<i4"}"#,
            r#"{"labels":["a"],"dtype":"<U0"}"#,
            r#"{"labels":["a"],"dtype":"<U99999999999"}"#,
            r#"{"labels":["a"],"dtype":"|O"}"#,
            r#"{"labels":["a"],"dtype":"<U2","astype":"|S1"}"#,
            &many,
        ] {
            refusal(Dialect::V2, CODEC, bad);
        }
        let wide = many.replace("\"<U3\"", "\"<U3\",\"astype\":\"<u2\"");
        build(Dialect::V2, CODEC, &wide);
        assert_eq!(
            metadata(&*flat(r#"["a"]"#, ">U2", ">i2")),
            [
                Some(
                    r#"numcodecs.categorize {"labels":["a"],"dtype":"<U2","astype":"<i2"}"#.into()
                ),
                Some(r#"categorize {"labels":["a"],"dtype":">U2","astype":">i2"}"#.into()),
                None
            ]
        );
    }
}
