//! Stores JSON values as text (Z2-042).
//!
//! The text is one list, as [`crate::util::values`] says. Python's bare `NaN` and `Infinity` are kept as they stand.

use std::borrow::Cow;

use zarr_core::codec::{ArrayToBytes, ChunkContext, Codec, CodecResult, CodecSpec, Parameters};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, Json, MetadataError, Object, Region};

use crate::util::values::Values;

/// The codecs `json2` and `json`.
#[derive(Clone, Debug)]
struct Json2 {
    values: Values,
    /// How the text was made, which does not matter to who reads it.
    configuration: Object,
}

const SWITCHES: [&str; 6] =
    ["strict", "skipkeys", "sort_keys", "ensure_ascii", "allow_nan", "check_circular"];

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    Values::check(spec, context)?;
    let mut parameters = Parameters::new(spec);
    for switch in SWITCHES {
        parameters.boolean(switch, false)?;
    }
    if let Some(encoding) = parameters.string("encoding")?
        && !["utf-8", "utf8", "ascii"].contains(&encoding.to_ascii_lowercase().as_str())
    {
        return Err(parameters.invalid("encoding", format!("`{encoding}` is not UTF-8")));
    }
    if !matches!(parameters.get("indent"), None | Some(Json::Number(_) | Json::String(_))) {
        return Err(parameters.invalid("indent", "is a number or a text"));
    }
    let is_wrong = parameters.get("separators").is_some_and(|json| match json.as_array() {
        Some(texts) => texts.len() != 2 || !texts.iter().all(|text| text.as_str().is_some()),
        None => true,
    });
    if is_wrong {
        return Err(parameters.invalid("separators", "is a list of two texts"));
    }
    parameters.finish()?;
    let others = ["encoding", "indent", "separators"];
    let configuration = Values::said(spec, &[&SWITCHES[..], &others].concat());
    let values = match spec.name.as_str() {
        "json" => Values { codec: "json", has_shape: false },
        _ => Values { codec: "json2", has_shape: true },
    };
    Ok(Codec::array_to_bytes(Json2 { values, configuration }))
}

impl ArrayToBytes for Json2 {
    fn encode<'a>(&self, chunk: View<'a>) -> CodecResult<'a> {
        let list = self.values.list(&chunk)?;
        Ok(Cow::Owned(Json::Array(list).to_string().into_bytes()))
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        // A chunk that is written again must not lose anything.
        let list = Json::parse_element(encoded)
            .map_err(|why| CodecError::corrupt(self.values.codec, why))?;
        self.values.lay(&list, shape, within, &mut out)
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        (dialect == Dialect::V2)
            .then(|| CodecSpec::new(dialect, self.values.codec, self.configuration.clone()))
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::data_type::{CoreType, DataType};

    use super::*;
    use crate::testing::{Long, build_on, context};

    fn values(shape: &[u64]) -> Long {
        Long::new(DataType::Json, "json2", "{}", shape)
    }

    fn stands_for(codec: &Long, text: &str, elements: &[&str]) {
        let encoded = codec.encode(elements).unwrap();
        assert_eq!(String::from_utf8_lossy(&encoded), text);
        let expected: Vec<&[u8]> = elements.iter().map(|element| element.as_bytes()).collect();
        assert_eq!(codec.decode(text.as_bytes()).unwrap(), expected);
        codec.survives_damage(&encoded);
    }

    /// Z2-042; the text is numcodecs'.
    #[test]
    fn a_chunk_is_a_list_with_its_type_and_shape() {
        stands_for(&values(&[2]), r#"["a","b","|O",[2]]"#, &[r#""a""#, r#""b""#]);
        let text = r#"[{"a":[1,2.5]},null,[],"|O",[3]]"#;
        stands_for(&values(&[3]), text, &[r#"{"a":[1,2.5]}"#, "null", "[]"]);
        stands_for(&values(&[0]), r#"["|O",[0]]"#, &[]);
    }

    /// Z2-042: `numpy.tolist` nests a level for each axis; the text is numcodecs'.
    #[test]
    fn axes_are_nested_lists() {
        stands_for(&values(&[2, 2]), r#"[[1,2],[3,4],"|O",[2,2]]"#, &["1", "2", "3", "4"]);
        stands_for(&values(&[1, 2, 1]), r#"[[[1],[[2]]],"|O",[1,2,1]]"#, &["1", "[2]"]);
        stands_for(&values(&[]), r#"["x","|O",[]]"#, &[r#""x""#]);
    }

    #[test]
    fn another_shape_of_as_many_elements_keeps_their_order() {
        let flat = values(&[2, 2]).decode(br#"[1,2,3,4,"|O",[4]]"#).unwrap();
        assert_eq!(flat, [b"1", b"2", b"3", b"4"]);
        let transposed = values(&[3, 2]).decode(br#"[[1,2,3],[4,5,6],"|O",[2,3]]"#).unwrap();
        assert_eq!(transposed.concat(), b"123456");
    }

    /// Z2-042: version 1.
    #[test]
    fn the_first_version_has_no_shape() {
        let old = |shape: &[u64]| Long::new(DataType::Json, "json", "{}", shape);
        stands_for(&old(&[2]), r#"["a",["b"],"|O"]"#, &[r#""a""#, r#"["b"]"#]);
        stands_for(&old(&[2, 1]), r#"[["a"],["b"],"|O"]"#, &[r#""a""#, r#""b""#]);
        assert_eq!(old(&[2, 1]).decode(br#"[[1,2],3,"|O"]"#).unwrap(), [&b"[1,2]"[..], b"3"]);
        assert!(old(&[2]).decode(br#"["a","b","|O",[2]]"#).is_err());
    }

    #[test]
    fn what_nobody_wrote_is_null() {
        let encoded = values(&[2]).encode(&["", "1"]).unwrap();
        assert_eq!(encoded, br#"[null,1,"|O",[2]]"#);
    }

    #[test]
    fn what_python_alone_reads_is_read() {
        let text = r#"[NaN,"\u00e9" , -Infinity,"|O", [3] ]"#;
        let found = values(&[3]).decode(text.as_bytes()).unwrap();
        assert_eq!(found, [&b"NaN"[..], "\"é\"".as_bytes(), b"-Infinity"]);
        let again = values(&[2]).encode(&["NaN", r#"{"a":[-Infinity,"NaN"]}"#]).unwrap();
        assert_eq!(again, br#"[NaN,{"a":[-Infinity,"NaN"]},"|O",[2]]"#);
    }

    #[test]
    fn damage_is_told() {
        let why = |text: &str| values(&[2]).damage(text.as_bytes());
        assert_eq!(why(r#"{"a":1}"#), "it is not a list");
        assert_eq!(why("[]"), "the list does not end in a data type and a shape");
        assert_eq!(why(r#"[1,2,"<U1",[2]]"#), "expected elements of |O, found \"<U1\"");
        assert_eq!(why(r#"[1,2,"|O",[3]]"#), "elements of shape [3] are stored, expected 2");
        assert_eq!(why(r#"[1,"|O",[2]]"#), "the lists do not have the shape [2]");
        assert_eq!(why(r#"[[1],2,"|O",[2,1]]"#), "the lists do not have the shape [2, 1]");
        assert_eq!(why(r#"[1,2,"|O",[-2]]"#), "invalid shape [-2]");
        assert!(why("[1,2,\"|O\",[2]").contains("not JSON"));
        // It could not be written again as it stands.
        assert!(why(r#"["\ud83d",2,"|O",[2]]"#).contains("surrogate"));
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert!(values(&[1]).decode(format!(r#"[{deep},"|O",[1]]"#).as_bytes()).is_err());
        let zeros = r#"["|O",[0,18446744073709551615]]"#;
        assert!(why(zeros).contains("expected 2"));
    }

    #[test]
    fn no_value_is_written_that_cannot_be_read_again() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        let codec = values(&[1]);
        let deepest = nested(Json::MAX_DEPTH);
        assert_eq!(
            codec.decode(&codec.encode(&[&deepest]).unwrap()).unwrap(),
            [deepest.as_bytes()]
        );
        let error = codec.encode(&[&nested(Json::MAX_DEPTH + 1)]).unwrap_err();
        assert!(error.to_string().contains("more than 128 levels"), "{error}");
        assert!(values(&[1, 1]).encode(&[&deepest]).is_err());
        assert!(codec.encode(&["no JSON"]).is_err());
    }

    #[test]
    fn other_types_and_encodings_are_refused() {
        let error = build_on(Dialect::V2, "json2", "{}", &context(CoreType::Int8, &[1]));
        assert!(error.unwrap_err().to_string().contains("is stored otherwise"));
        let json = DataType::Json;
        let context = ChunkContext::new(json, vec![1]);
        let error = build_on(Dialect::V2, "json2", r#"{"encoding":"utf-16"}"#, &context);
        assert!(error.unwrap_err().to_string().contains("`utf-16` is not UTF-8"));
    }
}
