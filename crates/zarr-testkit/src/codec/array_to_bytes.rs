//! Checks the promises of a codec from an array to bytes.

use std::borrow::Cow;

use super::layout::{filled, views};
use super::{Subject, damaged};
use crate::shared::{calm, good};
use zarr_core::codec::{ArrayToBytes, Threads};
use zarr_core::var_buffer::VarBuffer;
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Options, Region};

/// Encodes chunks, and decodes them whole and in parts.
pub(super) fn check(subject: &Subject<'_>, codec: &dyn ArrayToBytes) {
    let (name, shape, cell) = (subject.name(), &subject.context.shape, subject.element_size());
    for (n, chunk) in subject.elements().iter().enumerate() {
        let Some(encoded) = encode(subject, codec, chunk) else {
            assert!(n > 0, "{name}: a chunk of zeros must be encoded");
            continue;
        };
        let whole = decode(subject, codec, &encoded, &Region::all(shape));
        assert!(
            !subject.exact || subject.said(&whole) == subject.said(chunk),
            "{name}: decode of what encode made gives other elements; is the codec lossy?"
        );
        for within in parts(shape) {
            let found = decode(subject, codec, &encoded, &within);
            let due = View::new(&whole, shape, cell).part(&within).to_bytes();
            let same = subject.said(&found) == subject.said(&due);
            assert!(same, "{name}: the part {within} decodes as that part of the whole");
        }
    }
}

/// Decodes damaged bytes, and with shapes that are not the chunk's.
pub(super) fn check_thoroughly(subject: &Subject<'_>, codec: &dyn ArrayToBytes) {
    let shape = &subject.context.shape;
    for chunk in subject.elements() {
        let Some(encoded) = encode(subject, codec, &chunk) else { continue };
        for (how, damaged) in damaged(&encoded) {
            let name = format!("{}: {how}", subject.name());
            let due = codec.encoded_size(shape).is_some_and(|due| due != damaged.len() as u64);
            for within in [Region::all(shape), Region::new(shape.iter().map(|&len| 0..len.min(1)))]
            {
                let decoded = decode_into(&name, codec, &damaged, shape, &within, subject);
                assert!(
                    decoded.is_err() || !due,
                    "{name}: it decodes, though encoded_size({shape:?}) is another"
                );
            }
        }
        let nothing = Region::new(shape.iter().map(|_| 0..0));
        for wrong in [vec![u64::MAX; shape.len()], vec![1 << 31; shape.len()]] {
            let name = format!("{}: a chunk of shape {wrong:?}", subject.name());
            if !shape.is_empty() {
                let _ = decode_into(&name, codec, &encoded, &wrong, &nothing, subject);
            }
            calm(format_args!("{name}: encoded_size"), || codec.encoded_size(&wrong));
        }
    }
}

fn encode(subject: &Subject<'_>, codec: &dyn ArrayToBytes, chunk: &[u8]) -> Option<Vec<u8>> {
    let (name, shape) = (subject.name(), &subject.context.shape);
    let mut first: Option<Option<Vec<u8>>> = None;
    views(chunk, shape, subject.element_size(), subject.var_buffer.as_ref(), |how, view| {
        let encoded = calm(format_args!("{name}: encode of elements {how}"), || {
            codec.encode(view.clone()).ok().map(Cow::into_owned)
        });
        for threads in [Threads::ONE, Threads { count: 3, options: None, each: in_reverse }] {
            let what = format_args!("{name}: encode_in_parts of elements {how}");
            let parts = calm(what, || {
                let parts: Option<Result<Vec<_>, _>> =
                    codec.encode_in_parts(view.clone(), threads).map(Iterator::collect);
                parts.map(|parts| parts.ok().map(|parts| parts.concat()))
            });
            let same = parts.is_none_or(|parts| parts == encoded);
            assert!(same, "{name}: encode_in_parts gives what encode gives of elements {how}");
        }
        let first = first.get_or_insert_with(|| encoded.clone());
        assert!(encoded == *first, "{name}: elements {how} are encoded as those in C order");
    });
    let encoded = first.flatten()?;
    let found = encoded.len() as u64;
    let size = calm(format_args!("{name}: encoded_size"), || codec.encoded_size(shape));
    if let Some(size) = size {
        assert!(size == found, "{name}: encoded_size is {size}, but encode gives {found} bytes");
    }
    let memory = !codec.is_memory() || encoded == chunk;
    assert!(memory, "{name}: is_memory, but encoded bytes are not the native elements");
    Some(encoded)
}

/// What is made at the same time is made in any order.
fn in_reverse(_: Option<&Options>, count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).rev().for_each(work);
}

/// Decodes a part into memory of several layouts.
fn decode(
    subject: &Subject<'_>,
    codec: &dyn ArrayToBytes,
    encoded: &[u8],
    within: &Region,
) -> Vec<u8> {
    let (name, shape) = (subject.name(), &subject.context.shape);
    let what = format!("{name}: decode_into of the part {within}");
    let all = filled(&within.shape(), subject.element_size(), subject.var_buffer.as_ref(), |out| {
        let decoded =
            calm(format_args!("{what}"), || codec.decode_into(encoded, shape, within, out));
        good(decoded, format_args!("{what}"));
    });
    for (how, found) in &all[1..] {
        let same = subject.said(found) == subject.said(&all[0].1);
        assert!(same, "{what} gives the same elements {how} as in C order");
    }
    let [(_, first), ..] = all;
    first
}

fn decode_into(
    name: &str,
    codec: &dyn ArrayToBytes,
    encoded: &[u8],
    shape: &[u64],
    within: &Region,
    subject: &Subject<'_>,
) -> Result<(), CodecError> {
    let cell = subject.element_size();
    let mut out = vec![0; within.shape().iter().product::<u64>() as usize * cell];
    // Elements that a damaged chunk added are dropped with this copy.
    let var_buffer = subject.var_buffer.as_ref().map(VarBuffer::fork);
    let view = ViewMut::new(&mut out, &within.shape(), cell).with_var_buffer(var_buffer.as_ref());
    calm(format_args!("{name}: decode_into"), || codec.decode_into(encoded, shape, within, view))
}

/// Some parts of a chunk: none of it, one element, slices, the middle.
fn parts(shape: &[u64]) -> Vec<Region> {
    let mut parts = vec![
        Region::new(shape.iter().map(|&len| 0..len.min(1))),
        Region::new(shape.iter().map(|&len| len.saturating_sub(1)..len)),
        Region::new(shape.iter().map(|&len| len.min(1)..len)),
    ];
    for axis in 0..shape.len() {
        let len = shape[axis];
        parts.extend([0, len / 2, len].map(|position| slice(shape, axis, position)));
    }
    parts
}

/// All elements at one position along an axis, or none behind its end.
fn slice(shape: &[u64], axis: usize, position: u64) -> Region {
    let intervals = shape.iter().enumerate().map(|(other, &len)| {
        if other == axis { position.min(len)..(position + 1).min(len) } else { 0..len }
    });
    Region::new(intervals)
}
