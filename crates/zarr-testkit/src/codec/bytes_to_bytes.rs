//! Checks the promises of a codec on bytes.

use std::borrow::Cow;

use super::{Subject, damaged, turned};
use crate::shared::{calm, contents, good};
use zarr_core::codec::{BytesToBytes, DecodedSize};
use zarr_core::data_type::Endian;

/// The bytes that an allocation may have beyond those it needs.
const BUFFER: usize = 1 << 20;

/// Checks the codec on chunks of the subject's size.
pub(super) fn check(subject: &Subject<'_>, codec: &dyn BytesToBytes) {
    for (n, chunk) in subject.elements().iter().enumerate() {
        let stored = turned(&subject.context.data_type, chunk, Endian::Little);
        let encoded = round_trip(subject, codec, &stored);
        let name = subject.name();
        assert!(n > 0 || encoded.is_some(), "{name}: a chunk of zeros must be encoded");
    }
}

/// Checks the codec on bytes of many sizes, with wrong sizes, and on damaged bytes.
pub(super) fn check_thoroughly(subject: &Subject<'_>, codec: &dyn BytesToBytes) {
    for len in [0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 127, 128, 1001, 4096, 65_537] {
        for decoded in contents(len) {
            round_trip(subject, codec, &decoded);
        }
    }
    let mut chunks = subject.elements();
    chunks.extend(contents(400));
    chunks.push(vec![0; 1 << 18]);
    for decoded in chunks {
        let Some(encoded) = encode(subject, codec, &decoded) else { continue };
        sizes(subject, codec, &encoded, decoded.len() as u64);
        if decoded.len() < 1 << 18 {
            damage(subject, codec, &encoded, decoded.len());
        }
    }
}

/// The encoded bytes; `None` if these cannot be encoded, which is no broken promise.
fn encode(subject: &Subject<'_>, codec: &dyn BytesToBytes, decoded: &[u8]) -> Option<Vec<u8>> {
    let (name, len) = (subject.name(), decoded.len() as u64);
    let encoded = calm(format_args!("{name}: encode of {len} bytes"), || {
        codec.encode(Cow::Borrowed(decoded)).map(Cow::into_owned)
    });
    let encoded = encoded.ok()?;
    let again = calm(format_args!("{name}: encode of {len} bytes"), || {
        codec.encode(Cow::Owned(decoded.to_vec())).map(Cow::into_owned)
    });
    let same = again.is_ok_and(|again| again == encoded);
    assert!(same, "{name}: encode of the same {len} bytes gives the same bytes every time");
    let size = calm(format_args!("{name}: encoded_size({len})"), || codec.encoded_size(len));
    let size = good(size, format_args!("{name}: encoded_size({len}), which encode takes,"));
    if let Some(size) = size {
        let found = encoded.len() as u64;
        assert!(
            size == found,
            "{name}: encoded_size({len}) is {size}, but encode gives {found} bytes"
        );
    }
    Some(encoded)
}

fn round_trip(subject: &Subject<'_>, codec: &dyn BytesToBytes, decoded: &[u8]) -> Option<Vec<u8>> {
    let encoded = encode(subject, codec, decoded)?;
    let (name, len) = (subject.name(), decoded.len());
    let exactly = DecodedSize::Exactly(len as u64);
    let what = format!("{name}: decode of what encode made of {len} bytes");
    let first = good(decode(&name, codec, &encoded, exactly), format_args!("{what}"));
    assert!(first.len() == len, "{what} gives {} bytes", first.len());
    assert!(!subject.exact || first == decoded, "{what} gives other bytes; is the codec lossy?");
    for limit in [len as u64, len as u64 + 1, 1 << 40] {
        let size = DecodedSize::AtMost(limit);
        let found = good(decode(&name, codec, &encoded, size), format_args!("{what}, {size:?},"));
        assert!(found == first, "{what} is the same for {size:?} as for {exactly:?}");
    }
    let mut out = vec![0xa5; len];
    let into = calm(format_args!("{what} by decode_into"), || {
        codec.decode_into(Cow::Borrowed(&encoded), &mut out)
    });
    good(into, format_args!("{what} by decode_into"));
    assert!(out == first, "{what}: decode_into and decode agree");
    Some(encoded)
}

/// Decodes, and checks that the result holds not too much memory.
fn decode(
    name: &str,
    codec: &dyn BytesToBytes,
    encoded: &[u8],
    size: DecodedSize,
) -> Result<Vec<u8>, zarr_core::CodecError> {
    let what = format!("{name}: decode of {} bytes, {size:?},", encoded.len());
    let decoded = calm(format_args!("{what}"), || codec.decode(Cow::Borrowed(encoded), size))?;
    let found = decoded.len() as u64;
    match size {
        DecodedSize::Exactly(due) => assert!(found == due, "{what} gives {found} bytes, not {due}"),
        DecodedSize::AtMost(limit) => {
            assert!(found <= limit, "{what} gives {found} bytes, more than the limit of {limit}");
        }
    }
    if let Cow::Owned(vec) = &decoded {
        let (len, held) = (vec.len(), vec.capacity());
        let most = len.saturating_mul(2) + BUFFER;
        assert!(held <= most, "{what} holds {held} bytes for {len}: more than they justify");
    }
    Ok(decoded.into_owned())
}

/// Checks that wrong sizes are errors, absurd ones too.
fn sizes(subject: &Subject<'_>, codec: &dyn BytesToBytes, encoded: &[u8], len: u64) {
    let name = subject.name();
    for wrong in [0, 1, len / 2, len.wrapping_sub(1), len + 1, len * 2 + 7, 1 << 42, u64::MAX] {
        if wrong == len {
            continue;
        }
        let size = DecodedSize::Exactly(wrong);
        let found = decode(&name, codec, encoded, size);
        assert!(found.is_err(), "{name}: {len} bytes must not decode, {size:?}");
        if wrong < 1 << 22 {
            let mut out = vec![0; wrong as usize];
            let into = calm(format_args!("{name}: decode_into {wrong} bytes, not {len},"), || {
                codec.decode_into(Cow::Borrowed(encoded), &mut out)
            });
            assert!(into.is_err(), "{name}: {len} bytes must not decode into {wrong}");
        }
        let size = DecodedSize::AtMost(wrong);
        let found = decode(&name, codec, encoded, size);
        assert!(
            found.is_ok() == (wrong > len),
            "{name}: {len} bytes decode, {size:?}, only if more"
        );
        let size =
            calm(format_args!("{name}: encoded_size({wrong})"), || codec.encoded_size(wrong));
        drop(size);
    }
}

/// Checks that damaged bytes give an error, or the expected number of bytes.
fn damage(subject: &Subject<'_>, codec: &dyn BytesToBytes, encoded: &[u8], len: usize) {
    let due = codec.encoded_size(len as u64).ok().flatten();
    for (how, damaged) in damaged(encoded) {
        let name = format!("{}: {how}", subject.name());
        let exactly = decode(&name, codec, &damaged, DecodedSize::Exactly(len as u64));
        let mut out = vec![0xa5; len];
        let into = calm(format_args!("{name}: decode_into"), || {
            codec.decode_into(Cow::Borrowed(&damaged), &mut out)
        });
        assert!(into.is_ok() == exactly.is_ok(), "{name}: decode_into and decode agree on damage");
        if let Ok(exactly) = exactly {
            assert!(out == exactly, "{name}: decode_into and decode agree on damaged bytes");
            let found = damaged.len() as u64;
            let fits = due.is_none_or(|due| due == found);
            assert!(fits, "{name}: it decodes, though encoded_size({len}) is {due:?}");
        }
        for limit in [0, len as u64 / 2, len as u64 * 2] {
            let _ = decode(&name, codec, &damaged, DecodedSize::AtMost(limit));
        }
    }
}
