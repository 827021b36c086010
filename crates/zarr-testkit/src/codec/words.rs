//! Checks that a codec's metadata are read, refused and written as they should be.

use super::Subject;
use crate::shared::{DIALECTS, calm, contents, good, junk};
use zarr_core::codec::{Codec, CodecSpec};
use zarr_core::data_type::Endian;
use zarr_core::{Dialect, Json};

/// In every dialect that the codec has words in; gives whether they make a codec for such chunks, as they
/// must in the dialect that the codec was built from.
pub(super) fn check(subject: &Subject<'_>, codec: &Codec) -> Vec<(Dialect, Result<(), String>)> {
    let (mut spoken, mut built) = (vec![subject.spec.clone()], Vec::new());
    for dialect in DIALECTS {
        let name = subject.name();
        let words =
            calm(format_args!("{name}: spelling in {dialect}"), || codec.to_metadata(dialect));
        let Some(words) = words else { continue };
        let found = words.dialect;
        assert!(found == dialect, "{name}: spelling in {dialect} gives words of {found}");
        let again = spelled(subject, codec, &words).map_err(|error| error.to_string());
        let own = dialect == subject.spec.dialect;
        if again.is_ok() || own {
            good(again.clone(), format_args!("{name}: building it again from `{words}`"));
            spoken.push(words);
        }
        built.push((dialect, again));
    }
    assert!(!built.is_empty(), "{}: it has words in some dialect", subject.name());
    for words in spoken {
        unknown_members(subject, &words);
        wrong_types(subject, &words);
    }
    built
}

/// Words that the codec itself chose make the same codec again, if they make one.
fn spelled(
    subject: &Subject<'_>,
    codec: &Codec,
    words: &CodecSpec,
) -> Result<(), zarr_core::MetadataError> {
    let name = format!("{}: spelled `{words}` in {}", subject.name(), words.dialect);
    // One that lies flat in v2 may not fit such chunks as a codec on arrays.
    let again = subject.build(words)?;
    let spelling = again.to_metadata(words.dialect);
    let shown = spelling.as_ref().map_or("nothing".into(), CodecSpec::to_string);
    assert!(spelling.as_ref() == Some(words), "{name}: built again, it is spelled `{shown}`");

    let chunks = subject.elements();
    let like = |order: Endian| {
        chunks.iter().all(|chunk| {
            let encoded = subject.encode(codec, chunk, order);
            let decoded = |by| encoded.as_ref().map(|e| subject.decode(by, e, order));
            encoded == subject.encode(&again, chunk, order) && decoded(codec) == decoded(&again)
        })
    };
    // A codec on bytes may have a byte order of its own, where one on arrays sees native elements.
    let kinds_differ = std::mem::discriminant(codec) != std::mem::discriminant(&again);
    let same = like(Endian::Little) || kinds_differ && like(Endian::Big);
    assert!(same, "{name}: built again, it encodes and decodes as it did before");
    if let (Codec::BytesToBytes(codec), Codec::BytesToBytes(again)) = (codec, &again) {
        // Long enough to tell one level of compression from another.
        for bytes in contents(20_000) {
            let encode = |codec: &dyn zarr_core::codec::BytesToBytes| {
                codec.encode(bytes.as_slice().into()).ok().map(std::borrow::Cow::into_owned)
            };
            let same = encode(&**codec) == encode(&**again);
            assert!(same, "{name}: built again, it encodes as it did before");
        }
    }
    Ok(())
}

/// Checks that unknown parameters are refused in v3, and ignored elsewhere (F-017, Z2-061, D-063).
fn unknown_members(subject: &Subject<'_>, words: &CodecSpec) {
    let mut more = words.clone();
    more.configuration.insert("no such parameter", 1u64);
    let built = subject.build(&more);
    let dialect = words.dialect;
    match dialect {
        Dialect::V3 => {
            assert!(built.is_err(), "`{more}`: v3 refuses an unknown parameter (F-017)");
        }
        _ => {
            let what = "an unknown parameter, which is ignored (Z2-061, D-063),";
            let built = good(built, format_args!("`{more}`: {what}"));
            let plain = subject.build(words).ok().and_then(|codec| codec.to_metadata(dialect));
            let same = built.to_metadata(dialect) == plain;
            assert!(same, "`{more}`: an unknown parameter in {dialect} changes nothing");
        }
    }
}

/// Parameters of a wrong type are refused, and whatever else is there does not panic.
fn wrong_types(subject: &Subject<'_>, words: &CodecSpec) {
    for (member, value) in words.configuration.iter() {
        for junk in junk() {
            let mut wrong = words.clone();
            wrong.configuration.insert(member, junk.clone());
            let built = subject.build(&wrong);
            let never = matches!(
                (value, &junk),
                (Json::Number(_), Json::Bool(_) | Json::Array(_) | Json::Object(_))
                    | (Json::String(_) | Json::Bool(_), Json::Array(_) | Json::Object(_))
                    | (Json::Array(_), Json::Bool(_) | Json::Number(_) | Json::Object(_))
                    | (Json::Object(_), Json::Bool(_) | Json::Number(_))
            );
            let (dialect, kind) = (words.dialect, value.kind());
            assert!(
                built.is_err() || !never,
                "`{}`: parameter `{member}` is {kind}, so {} must be refused in {dialect}",
                words,
                junk.brief()
            );
        }
    }
}
