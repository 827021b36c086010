//! The checks find each broken data type by the promise that it breaks.

use std::fmt;
use std::sync::Arc;

use super::{check_data_type, check_data_types_differ};
use crate::shared::verdict;
use zarr_core::data_type::{
    CoreType, DataType, Endian, ExtensionType, FillValue, ParsedType, Repr, Scalar,
};
use zarr_core::registry::BuildDataType;
use zarr_core::{CodecError, Dialect, Json, MetadataError, Object, Registry};

/// One way to break a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    HasNoSize,
    HasHugeSize,
    IsNamedAsAnother,
    ForgetsUnit,
    ForgetsOrder,
    SaysOrderInV3,
    IsSpeechless,
    TakesCoreWords,
    PanicsOnWords,
    TrustsWords,
    FillIsShort,
    FillLosesBits,
    FillPanics,
    FillTakesNull,
    CannotSayZero,
    RefusesZeros,
    ChecksInSecret,
    SmallFallback,
    TurnedFallback,
}

use Flaw::*;

/// A length in some unit: `<i8[m]`, `length` with a unit.
#[derive(Clone, Debug)]
struct Length {
    flaw: Flaw,
    unit: String,
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.flaw {
            IsNamedAsAnother => f.write_str("int64"),
            _ => write!(f, "length[{}]", self.unit),
        }
    }
}

impl ExtensionType for Length {
    fn to_metadata(&self, dialect: Dialect, endian: Endian) -> Option<Json> {
        let unit = if self.flaw == ForgetsUnit { "m" } else { &self.unit };
        let mark = if self.flaw == ForgetsOrder { '<' } else { endian.mark() };
        let configuration = Object::new().with("unit", unit);
        let (_, fallback) = match self.flaw {
            IsSpeechless => return Option::None,
            SmallFallback => (mark, "<i4".to_owned()),
            TurnedFallback => (mark, "<i8".to_owned()),
            _ => (mark, format!("{mark}i8")),
        };
        Some(match dialect {
            Dialect::V2 => Json::from(format!("{mark}i8[{unit}]")),
            Dialect::V3 => {
                let name =
                    if self.flaw == SaysOrderInV3 { mark.to_string() } else { String::new() };
                let name = format!("{name}length");
                Object::new().with("name", name).with("configuration", configuration).into()
            }
            _ => Object::new()
                .with("extension", "https://example.org/length")
                .with("type", format!("{mark}i8[{unit}]"))
                .with("fallback", fallback)
                .into(),
        })
    }

    fn repr(&self) -> Repr {
        match (self.flaw, self.unit.len()) {
            (HasNoSize, _) => Repr::Opaque(0),
            (HasHugeSize, _) => Scalar::Int(1 << 30).into(),
            (TrustsWords, len) => Repr::Opaque(if len > 8 { 1 << 30 } else { 8 }),
            _ => Scalar::Int(64).into(),
        }
    }

    fn fill_value_from_json(&self, json: &Json, _: Dialect) -> Result<FillValue, MetadataError> {
        let value = match (self.flaw, json) {
            (FillTakesNull, Json::Null) => Some(0),
            (FillPanics, Json::String(text)) => Some(text.parse().expect("digits")),
            _ => json.as_i64(),
        };
        let value = value.ok_or_else(|| MetadataError::invalid("fill_value", "is a number"))?;
        Ok(match self.flaw {
            FillIsShort => FillValue::new((value as i32).to_ne_bytes()),
            _ => FillValue::new(value.to_ne_bytes()),
        })
    }

    fn fill_value_to_json(&self, value: &FillValue, _: Dialect) -> Result<Json, MetadataError> {
        let bytes: [u8; 8] = value.as_bytes().try_into().unwrap_or_default();
        let value = i64::from_ne_bytes(bytes);
        match (self.flaw, value) {
            (CannotSayZero, 0) => Err(MetadataError::invalid("fill_value", "zero")),
            (FillLosesBits, value) => Ok(Json::Number((value & !1).to_string().into())),
            (_, value) => Ok(Json::Number(value.to_string().into())),
        }
    }

    fn needs_check(&self) -> bool {
        self.flaw == RefusesZeros
    }

    fn check(&self, elements: &[u8]) -> Result<(), CodecError> {
        let zeros = !elements.is_empty() && elements.iter().all(|&byte| byte == 0);
        let refused = match self.flaw {
            RefusesZeros => zeros,
            ChecksInSecret => elements.contains(&0xff),
            _ => false,
        };
        if refused { Err(CodecError::corrupt("bytes", "not such elements")) } else { Ok(()) }
    }
}

fn parse(flaw: Flaw, json: &Json, dialect: Dialect) -> Option<Result<ParsedType, MetadataError>> {
    let text = match dialect {
        Dialect::V2 => json.as_str(),
        Dialect::V3 => json.as_object()?.get("name")?.as_str(),
        _ => json.as_object()?.get("type")?.as_str(),
    }?;
    if flaw == TakesCoreWords && dialect == Dialect::V2 && text == "<f4" {
        return Some(Err(MetadataError::invalid("dtype", "is not a length")));
    }
    let (mark, rest) = match text.strip_prefix(['<', '>']) {
        Some(rest) => (text.chars().next(), rest),
        Option::None => (Option::None, text),
    };
    let wrong = |why: &str| Some(Err(MetadataError::invalid("data_type", why)));
    let unit = match dialect {
        Dialect::V3 if rest == "length" => {
            let unit =
                json.as_object()?.get("configuration").and_then(|c| c.as_object()?.get("unit"));
            match (flaw, unit.and_then(Json::as_str)) {
                (_, Some(unit)) => unit,
                (PanicsOnWords, Option::None) => panic!("no unit"),
                (_, Option::None) => return wrong("has a unit"),
            }
        }
        Dialect::V3 => return Option::None,
        _ => rest.strip_prefix("i8[")?.strip_suffix(']')?,
    };
    let known = flaw == TrustsWords || ["m", "km", "mi"].contains(&unit);
    if !known {
        return wrong("has no such unit");
    }
    let endian = match (dialect, mark) {
        (Dialect::V3, _) => Option::None,
        (_, Some('>')) => Some(Endian::Big),
        _ => Some(Endian::Little),
    };
    let length = Length { flaw, unit: unit.to_owned() };
    Some(Ok(ParsedType { data_type: DataType::Extension(Arc::new(length)), endian }))
}

/// One function for each flaw, since a registry takes functions without a state.
macro_rules! builders {
    ($($flaw:ident),* $(,)?) => {
        const BUILDERS: &[(Flaw, BuildDataType)] = &[
            $(($flaw, |json, dialect| parse($flaw, json, dialect))),*
        ];
    };
}

builders!(
    None,
    HasNoSize,
    HasHugeSize,
    IsNamedAsAnother,
    ForgetsUnit,
    ForgetsOrder,
    SaysOrderInV3,
    IsSpeechless,
    TakesCoreWords,
    PanicsOnWords,
    TrustsWords,
    FillIsShort,
    FillLosesBits,
    FillPanics,
    FillTakesNull,
    CannotSayZero,
    RefusesZeros,
    ChecksInSecret,
    SmallFallback,
    TurnedFallback,
);

fn registry(flaw: Flaw) -> Registry {
    let build = BUILDERS.iter().find(|(other, _)| *other == flaw).map(|(_, build)| *build);
    Registry::new().with(|registry| registry.data_type(build.expect("every flaw has a row")))
}

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).expect("the tests' words are JSON")
}

fn check(flaw: Flaw) -> Option<String> {
    let fills = [json("7"), json("-9223372036854775808")];
    verdict(|| check_data_type(&registry(flaw), Dialect::V2, &"<i8[km]".into(), &fills))
}

#[test]
fn sound_types_pass() {
    assert_eq!(check(None), Option::None);
    let v3 = json(r#"{"name":"length","configuration":{"unit":"mi"}}"#);
    check_data_type(&registry(None), Dialect::V3, &v3, &[json("3")]);
    let units = ["<i8[m]", "<i8[km]", "<i8", "<f4", "|V8"].map(Json::from);
    check_data_types_differ(&registry(None), Dialect::V2, &units);
}

/// Every type of the core, in every dialect.
#[test]
fn the_types_of_the_core_pass() {
    for core in CoreType::ALL {
        let fills: &[&str] = match core.scalar() {
            Scalar::Bool => &["true", "false"],
            Scalar::Int(_) => &["-1", "127"],
            Scalar::Uint(_) => &["255"],
            Scalar::Float(_) => &["0.5", "-0.0", "\"NaN\"", "\"-Infinity\"", "1e-4"],
            _ => &["[1.5,\"NaN\"]", "[0,-1]"],
        };
        let fills: Vec<Json> = fills.iter().map(|text| json(text)).collect();
        for dialect in [Dialect::V3, Dialect::V2, Dialect::Draft] {
            let metadata = core.to_metadata(dialect, Endian::Big).expect("every dialect knows it");
            check_data_type(&Registry::new(), dialect, &metadata, &fills);
        }
    }
    let names = CoreType::ALL.map(|core| Json::from(core.name()));
    check_data_types_differ(&Registry::new(), Dialect::V3, &names);
}

#[test]
fn raw_bytes_and_fixed_strings_pass() {
    let check = |dialect, metadata: &str, fills: &[&str]| {
        let fills: Vec<Json> = fills.iter().map(|text| json(text)).collect();
        check_data_type(&Registry::new(), dialect, &json(metadata), &fills);
    };
    check(Dialect::V3, "\"r8\"", &["[255]"]);
    check(Dialect::V3, "\"r24\"", &["[1,2,3]"]);
    check(Dialect::V2, "\"|V16\"", &["\"AAECAwQFBgcICQoLDA0ODw==\""]);
    check(Dialect::Draft, "\"r40\"", &["\"0x0102030405\""]);
    check(Dialect::V2, "\"|S3\"", &["\"YWJj\"", "\"\""]);
    check(Dialect::V2, "\"<U2\"", &["\"é\"", "\"\""]);
    check(Dialect::V2, "\">U5\"", &["\"日本\""]);
    let bytes = r#"{"name":"null_terminated_bytes","configuration":{"length_bytes":5}}"#;
    check(Dialect::V3, bytes, &["\"YWI=\""]);
    let text = r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":8}}"#;
    check(Dialect::V3, text, &["\"ab\""]);
    let metadata = ["|S1", "|S2", "<U1", "<U2", "|V1", "|V2", "|u1"].map(Json::from);
    check_data_types_differ(&Registry::new(), Dialect::V2, &metadata);
}

#[test]
fn each_broken_promise_is_found_and_named() {
    let cases = [
        (HasNoSize, "an element has 1 to 16777216 bytes"),
        (HasHugeSize, "an element has 1 to 16777216 bytes"),
        (IsNamedAsAnother, "Display tells it from the other type `int64`"),
        (ForgetsUnit, "reads it again as `length[m]`"),
        (ForgetsOrder, "read again, the byte order is Some(Little)"),
        (SaysOrderInV3, "v3 says no byte order in the type"),
        (IsSpeechless, "it has words in the dialect that it was read in"),
        (TakesCoreWords, "\"<f4\" of v2 still means `float32`"),
        (PanicsOnWords, "must not panic, but: no unit"),
        (TrustsWords, "makes elements of Some(Opaque(1073741824))"),
        (FillIsShort, "has 4 bytes, an element has 8"),
        (FillLosesBits, "is read again as"),
        (FillPanics, "must not panic, but: digits"),
        (FillTakesNull, "null is no fill value in v3"),
        (CannotSayZero, "the fill value of zero bytes in v3 must not fail"),
        (RefusesZeros, "check takes zeros"),
        (ChecksInSecret, "though needs_check says it does not look"),
        (SmallFallback, "has the fallback `int32`, whose elements are not as large"),
        (TurnedFallback, "has a fallback `int64` of another byte order"),
    ];
    for (flaw, expected) in cases {
        match check(flaw) {
            Option::None => panic!("a data type passes that is broken by {flaw:?}"),
            Some(said) => assert!(said.contains(expected), "{flaw:?}: {said}"),
        }
    }
    let differ = |flaw| {
        let metadata = ["<i8[m]", "<i8[km]"].map(Json::from);
        verdict(|| check_data_types_differ(&registry(flaw), Dialect::V2, &metadata))
    };
    assert!(differ(IsNamedAsAnother).is_some_and(|said| said.contains("Display tells them apart")));
    assert!(differ(ForgetsUnit).is_some_and(|said| said.contains("v3 spells them differently")));
    let unknown = verdict(|| check_data_type(&Registry::new(), Dialect::V2, &"<i8[s]".into(), &[]));
    assert!(unknown.is_some_and(|said| said.contains("it is known in v2")));
}
