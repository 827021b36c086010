//! Broken codecs on bytes.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, ThreadId};

use super::*;
use zarr_core::codec::{BytesToBytes, Codec, CodecResult, DecodedSize, Parameters};
use zarr_core::{CodecError, MetadataError};

/// One way to break a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    Rounds,
    LosesLastByte,
    RefusesZeros,
    AcceptsTruncation,
    PadsTruncation,
    IgnoresLimit,
    HoldsTooMuch,
    LiesInEncodedSize,
    RefusesSizeItEncodes,
    PanicsOnGarbage,
    PanicsOnFlip,
    FillsPart,
    RemembersCalls,
    DiffersOnThreads,
    ForgetsKey,
    AddsToWords,
    SpeaksAnother,
    IsSpeechless,
    CannotBeRebuilt,
    TakesUnknown,
    RefusesUnknown,
    PanicsOnWords,
    TakesWrongType,
}

use Flaw::*;

const ALL: [Flaw; 24] = [
    None,
    Rounds,
    LosesLastByte,
    RefusesZeros,
    AcceptsTruncation,
    PadsTruncation,
    IgnoresLimit,
    HoldsTooMuch,
    LiesInEncodedSize,
    RefusesSizeItEncodes,
    PanicsOnGarbage,
    PanicsOnFlip,
    FillsPart,
    RemembersCalls,
    DiffersOnThreads,
    ForgetsKey,
    AddsToWords,
    SpeaksAnother,
    IsSpeechless,
    CannotBeRebuilt,
    TakesUnknown,
    RefusesUnknown,
    PanicsOnWords,
    TakesWrongType,
];

/// A length of four bytes, then each byte, exclusive or with a key.
#[derive(Debug)]
struct Broken {
    flaw: Flaw,
    key: u8,
    calls: AtomicU8,
    home: ThreadId,
}

fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    let flaw = ALL.into_iter().find(|flaw| format!("{flaw:?}") == spec.name);
    let flaw = flaw.expect("the name is a flaw's");
    let mut parameters = Parameters::new(spec);
    let own = parameters.get("key");
    let key = match (flaw, own) {
        (PanicsOnWords, Some(json)) => json.as_i64().expect("a key is a number"),
        (TakesWrongType, Some(json)) => json.as_i64().unwrap_or(7),
        (CannotBeRebuilt, Some(_))
            if spec.dialect == Dialect::V3 && spec.configuration.len() > 1 =>
        {
            return Err(parameters.invalid("key", "is not alone"));
        }
        _ => parameters.integer("key", 0..=255, Some(7))?,
    };
    let more = spec.configuration.len() > 1;
    match (flaw, spec.dialect) {
        (RefusesUnknown, Dialect::V2) if more => {
            return Err(parameters.invalid("?", "is not known"));
        }
        (TakesUnknown | CannotBeRebuilt, _) => {}
        _ => parameters.finish()?,
    }
    let (calls, home) = (AtomicU8::new(0), thread::current().id());
    Ok(Codec::bytes_to_bytes(Broken { flaw, key: key as u8, calls, home }))
}

impl BytesToBytes for Broken {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        let size = decoded.len() as u32;
        let mut key = self.key;
        let mut kept: &[u8] = &decoded;
        match self.flaw {
            RefusesZeros if decoded.iter().all(|&b| b == 0) => {
                return Err(CodecError::corrupt("broken", "zeros"));
            }
            LosesLastByte => kept = &decoded[..decoded.len().saturating_sub(1)],
            RemembersCalls => key ^= self.calls.fetch_add(1, Ordering::Relaxed),
            DiffersOnThreads if thread::current().id() != self.home => key ^= 1,
            _ => {}
        }
        let turn = |&byte: &u8| if self.flaw == Rounds { byte & 0xf0 } else { byte } ^ key;
        Ok(size.to_le_bytes().into_iter().chain(kept.iter().map(turn)).collect())
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let corrupt = || CodecError::corrupt("broken", "cut short");
        let (head, rest) = match (self.flaw, encoded.split_first_chunk::<4>()) {
            (PanicsOnGarbage, _) => (encoded[..4].try_into().expect("four"), &encoded[4..]),
            (_, Some((head, rest))) => (*head, rest),
            (_, Option::None) => return Err(corrupt()),
        };
        let found = u32::from_le_bytes(head) as usize;
        let mut decoded: Vec<u8> = rest.iter().map(|byte| byte ^ self.key).collect();
        match self.flaw {
            LosesLastByte => decoded.resize(found.min(1 << 20), 0),
            AcceptsTruncation if decoded.len() < found => return Ok(decoded.into()),
            PadsTruncation => decoded.resize(size.limit().min(1 << 20) as usize, 0),
            PanicsOnFlip => assert_eq!(decoded.len(), found, "the length is right"),
            HoldsTooMuch => decoded.reserve_exact(3 << 20),
            IgnoresLimit if matches!(size, DecodedSize::AtMost(_)) => return Ok(decoded.into()),
            _ if decoded.len() != found => return Err(corrupt()),
            _ => {}
        }
        size.check("broken", decoded.len() as u64)?;
        Ok(decoded.into())
    }

    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        let decoded = self.decode(encoded, DecodedSize::Exactly(out.len() as u64))?;
        let end = if self.flaw == FillsPart { out.len() / 2 } else { out.len() };
        out[..end].copy_from_slice(&decoded[..end]);
        Ok(())
    }

    fn encoded_size(&self, decoded: u64) -> Result<Option<u64>, CodecError> {
        match self.flaw {
            RefusesSizeItEncodes if decoded == 5 => Err(CodecError::corrupt("broken", "five")),
            LiesInEncodedSize => Ok(decoded.checked_add(5)),
            LosesLastByte | PadsTruncation | AcceptsTruncation => Ok(Option::None),
            _ => Ok(decoded.checked_add(4)),
        }
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        let mut configuration = Object::new().with("key", u64::from(self.key));
        let mut said = dialect;
        match self.flaw {
            IsSpeechless => return Option::None,
            ForgetsKey => configuration = Object::new(),
            AddsToWords => drop(configuration.insert("more", 1u64)),
            CannotBeRebuilt => drop(configuration.insert("more", 1u64)),
            SpeaksAnother => said = Dialect::V3,
            _ => {}
        }
        Some(CodecSpec::new(said, format!("{:?}", self.flaw), configuration))
    }
}

#[test]
fn sound_codecs_pass() {
    let configuration = Object::new().with("key", 9u64);
    for dialect in [Dialect::V3, Dialect::V2, Dialect::Draft] {
        let spec = CodecSpec::new(dialect, "None", configuration.clone());
        assert_eq!(verdict(&spec, build), Option::None);
        check_codec(&knowing("None", build), &spec);
    }
    check_lossy_codec(&knowing("Rounds", build), &CodecSpec::v3("Rounds", configuration));
}

#[test]
fn each_broken_promise_is_found_and_named() {
    let cases = [
        (Rounds, "is the codec lossy?"),
        (LosesLastByte, "gives other bytes"),
        (RefusesZeros, "a chunk of zeros must be encoded"),
        (AcceptsTruncation, "bytes cut to 4 of 52: decode of 4 bytes, Exactly(48), gives 0 bytes"),
        (PadsTruncation, "is the same for AtMost"),
        (IgnoresLimit, "more than the limit of"),
        (HoldsTooMuch, "more than they justify"),
        (LiesInEncodedSize, "encoded_size(48) is 53, but encode gives 52 bytes"),
        (RefusesSizeItEncodes, "encoded_size(5), which encode takes, must not fail"),
        (PanicsOnGarbage, "must not panic"),
        (PanicsOnFlip, "must not panic, but: assertion"),
        (FillsPart, "decode_into and decode agree"),
        (RemembersCalls, "the same bytes every time"),
        (DiffersOnThreads, "every thread that shares a codec"),
        (ForgetsKey, "it encodes and decodes as it did before"),
        (AddsToWords, "building it again from `AddsToWords"),
        (SpeaksAnother, "spelling in v2 gives words of v3"),
        (IsSpeechless, "it has words in some dialect"),
        (CannotBeRebuilt, "building it again"),
        (TakesUnknown, "v3 refuses an unknown parameter (F-017)"),
        (RefusesUnknown, "which is ignored (Z2-061, D-063), must not fail"),
        (PanicsOnWords, "must not panic, but: a key is a number"),
        (TakesWrongType, "parameter `key` is a number, so"),
    ];
    let cases = cases.map(|(flaw, expected)| (format!("{flaw:?}"), expected));
    each_is_found(build, &Object::new().with("key", 9u64), &cases);
}

#[test]
fn a_codec_that_nothing_can_be_done_with_is_told() {
    let spec = CodecSpec::v3("None", Object::new().with("key", "x"));
    let registry = knowing("None", build);
    let told = shared::verdict(|| check_codec(&registry, &spec)).expect("it takes no chunks");
    assert!(told.contains("must be built for some data type and shape"));
}
