//! Checks that a codec parses, refuses and writes its metadata as it should.

use super::Subject;
use crate::shared::{DIALECTS, calm, contents, good, junk};
use zarr_core::codec::{Codec, CodecSpec};
use zarr_core::data_type::Endian;
use zarr_core::{Dialect, Json};

/// Checks every dialect that the codec has metadata in. Returns for each whether the metadata build a codec for such chunks, as
/// they must in the dialect that the codec was built from.
pub(super) fn check(subject: &Subject<'_>, codec: &Codec) -> Vec<(Dialect, Result<(), String>)> {
    let (mut specs, mut built) = (vec![subject.spec.clone()], Vec::new());
    for dialect in DIALECTS {
        let name = subject.name();
        let spec =
            calm(format_args!("{name}: spelling in {dialect}"), || codec.to_metadata(dialect));
        let Some(spec) = spec else { continue };
        let found = spec.dialect;
        assert!(found == dialect, "{name}: spelling in {dialect} gives words of {found}");
        let again = rebuilt(subject, codec, &spec).map_err(|error| error.to_string());
        let own = dialect == subject.spec.dialect;
        if again.is_ok() || own {
            good(again.clone(), format_args!("{name}: building it again from `{spec}`"));
            specs.push(spec);
        }
        built.push((dialect, again));
    }
    assert!(!built.is_empty(), "{}: it has words in some dialect", subject.name());
    for spec in specs {
        unknown_members(subject, &spec);
        wrong_types(subject, &spec);
    }
    built
}

/// Checks that metadata which the codec wrote build the same codec, if they build one.
fn rebuilt(
    subject: &Subject<'_>,
    codec: &Codec,
    spec: &CodecSpec,
) -> Result<(), zarr_core::MetadataError> {
    let name = format!("{}: spelled `{spec}` in {}", subject.name(), spec.dialect);
    // A codec on bytes in v2 may not fit such chunks as a codec on arrays.
    let again = subject.build(spec)?;
    let written = again.to_metadata(spec.dialect);
    let shown = written.as_ref().map_or("nothing".into(), CodecSpec::to_string);
    assert!(written.as_ref() == Some(spec), "{name}: built again, it is spelled `{shown}`");

    // A codec on bytes may have a byte order; one on arrays gets native elements.
    let kinds_differ = std::mem::discriminant(codec) != std::mem::discriminant(&again);
    let same = are_alike(subject, [codec, &again], Endian::Little)
        || kinds_differ && are_alike(subject, [codec, &again], Endian::Big);
    assert!(same, "{name}: built again, it encodes and decodes as it did before");
    if let (Codec::BytesToBytes(codec), Codec::BytesToBytes(again)) = (codec, &again) {
        // Long enough that two levels of compression give different bytes.
        for bytes in contents(20_000) {
            let encoded = codec.encode(bytes.as_slice().into()).ok();
            let same = encoded == again.encode(bytes.as_slice().into()).ok();
            assert!(same, "{name}: built again, it encodes as it did before");
        }
    }
    Ok(())
}

/// Whether two codecs encode all chunks to the same bytes, and decode them to the same elements.
fn are_alike(subject: &Subject<'_>, [codec, again]: [&Codec; 2], order: Endian) -> bool {
    subject.elements().iter().all(|chunk| {
        let encoded = subject.encode(codec, chunk, order);
        let decoded = encoded.as_ref().map(|e| subject.decode(codec, e, order));
        encoded == subject.encode(again, chunk, order)
            && decoded == encoded.as_ref().map(|e| subject.decode(again, e, order))
    })
}

/// Checks that unknown parameters are refused in v3, and ignored elsewhere (F-017, Z2-061, D-063).
fn unknown_members(subject: &Subject<'_>, spec: &CodecSpec) {
    let mut more = spec.clone();
    more.configuration.insert("no such parameter", 1u64);
    let built = subject.build(&more);
    let dialect = spec.dialect;
    match dialect {
        Dialect::V3 => {
            assert!(built.is_err(), "`{more}`: v3 refuses an unknown parameter (F-017)");
        }
        _ => {
            let what = "an unknown parameter, which is ignored (Z2-061, D-063),";
            let built = good(built, format_args!("`{more}`: {what}"));
            let plain = subject.build(spec).ok().and_then(|codec| codec.to_metadata(dialect));
            let same = built.to_metadata(dialect) == plain;
            assert!(same, "`{more}`: an unknown parameter in {dialect} changes nothing");
        }
    }
}

/// Checks that parameters of a wrong type are refused, and that other damage does not panic.
fn wrong_types(subject: &Subject<'_>, spec: &CodecSpec) {
    for (member, value) in spec.configuration.iter() {
        for junk in junk() {
            let mut wrong = spec.clone();
            wrong.configuration.insert(member, junk.clone());
            let built = subject.build(&wrong);
            let never = matches!(
                (value, &junk),
                (Json::Number(_), Json::Bool(_) | Json::Array(_) | Json::Object(_))
                    | (Json::String(_) | Json::Bool(_), Json::Array(_) | Json::Object(_))
                    | (Json::Array(_), Json::Bool(_) | Json::Number(_) | Json::Object(_))
                    | (Json::Object(_), Json::Bool(_) | Json::Number(_))
            );
            let (dialect, kind) = (spec.dialect, value.kind());
            assert!(
                built.is_err() || !never,
                "`{}`: parameter `{member}` is {kind}, so {} must be refused in {dialect}",
                spec,
                junk.brief()
            );
        }
    }
}
