//! Checks the promises of a codec from an array to an array.

use super::layout::{filled, views};
use super::{Subject, damaged};
use crate::shared::{calm, good};
use zarr_core::codec::{ArrayToArray, ChunkContext};
use zarr_core::view::{View, ViewMut, is_permutation};

/// Encodes and decodes chunks.
pub(super) fn check(subject: &Subject<'_>, codec: &dyn ArrayToArray) {
    let (name, shape, cell) = (subject.name(), &subject.context.shape, subject.element_size());
    let next = next(subject, codec);
    let order = calm(format_args!("{name}: axis_order"), || codec.axis_order());
    if let Some(order) = order {
        let turns = is_permutation(order, shape.len());
        assert!(turns, "{name}: axis_order {order:?} names each axis once");
        let turned: Vec<u64> = order.iter().map(|&axis| shape[axis]).collect();
        let same = next.shape == turned && next.data_type == subject.context.data_type;
        assert!(same, "{name}: encoded tells the shape {turned:?} that axis_order makes");
    }
    for (n, chunk) in subject.elements().iter().enumerate() {
        let Some(encoded) = encode(subject, codec, chunk, &next) else {
            assert!(n > 0, "{name}: a chunk of zeros must be encoded");
            continue;
        };
        if let Some(order) = order {
            let turned = View::new(chunk, shape, cell).transposed(order).to_bytes().into_owned();
            assert!(encoded == turned, "{name}: encode turns the axes as axis_order says");
        }
        let what = format!("{name}: decode of what encode made");
        let all = filled(shape, cell, subject.var_buffer.as_ref(), |out| {
            good(
                calm(format_args!("{what}"), || codec.decode(&encoded, out)),
                format_args!("{what}"),
            );
        });
        for (how, found) in &all {
            let lossy = !subject.exact || subject.said(found) == subject.said(chunk);
            assert!(lossy, "{what} gives other elements {how}; is the codec lossy?");
            let same = subject.said(found) == subject.said(&all[0].1);
            assert!(same, "{what} gives the same elements {how} as in C order");
        }
    }
}

/// Decodes damaged elements and chunks of other shapes.
pub(super) fn check_thoroughly(subject: &Subject<'_>, codec: &dyn ArrayToArray) {
    let (name, shape, cell) = (subject.name(), &subject.context.shape, subject.element_size());
    let next = next(subject, codec);
    for chunk in subject.elements() {
        let Some(encoded) = encode(subject, codec, &chunk, &next) else { continue };
        for (how, damaged) in damaged(&encoded) {
            let mut out = vec![0; chunk.len()];
            let view =
                ViewMut::new(&mut out, shape, cell).with_var_buffer(subject.var_buffer.as_ref());
            let decoded =
                calm(format_args!("{name}: {how}: decode"), || codec.decode(&damaged, view));
            let fits = damaged.len() == encoded.len();
            assert!(
                decoded.is_err() || fits,
                "{name}: {how}: decode must tell that the length is wrong"
            );
        }
    }
    let data_type = subject.context.data_type.clone();
    for other in [vec![], vec![3], vec![u64::MAX; shape.len()], [&shape[..], &[2]].concat()] {
        let what = format!("{name}: encoded for chunks {other:?}");
        let context = ChunkContext::new(data_type.clone(), other);
        let _ = calm(format_args!("{what}"), || codec.encoded(&context));
    }
}

/// Checks the type and shape that the next codec gets.
fn next(subject: &Subject<'_>, codec: &dyn ArrayToArray) -> ChunkContext {
    let name = subject.name();
    let next = calm(format_args!("{name}: encoded"), || codec.encoded(&subject.context));
    good(next, format_args!("{name}: encoded, for the chunks it was built for,"))
}

fn encode(
    subject: &Subject<'_>,
    codec: &dyn ArrayToArray,
    chunk: &[u8],
    next: &ChunkContext,
) -> Option<Vec<u8>> {
    let (name, shape) = (subject.name(), &subject.context.shape);
    let mut first: Option<Option<Vec<u8>>> = None;
    views(chunk, shape, subject.element_size(), subject.var_buffer.as_ref(), |how, view| {
        let encoded =
            calm(format_args!("{name}: encode of elements {how}"), || codec.encode(view).ok());
        let first = first.get_or_insert_with(|| encoded.clone());
        assert!(encoded == *first, "{name}: elements {how} are encoded as those in C order");
    });
    let encoded = first.flatten()?;
    let (found, due) = (encoded.len() as u64, next.size());
    assert!(
        due == Some(found),
        "{name}: encode gives {found} bytes, but what encoded tells has {due:?}"
    );
    Some(encoded)
}
