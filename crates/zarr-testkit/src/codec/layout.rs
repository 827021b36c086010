//! Lays out the elements of one chunk in memory in different ways.

use zarr_core::Region;
use zarr_core::var_buffer::VarBuffer;
use zarr_core::view::{View, ViewMut};

fn memory(shape: &[u64], cell: usize) -> Vec<u8> {
    vec![0xa5; shape.iter().product::<u64>() as usize * cell]
}

fn reversed(rank: usize) -> Vec<usize> {
    (0..rank).rev().collect()
}

/// A box two wider on each axis, and the region of `shape` in its middle.
fn wider(shape: &[u64]) -> (Vec<u64>, Region) {
    let place = Region::new(shape.iter().map(|&len| 1..len + 1));
    (shape.iter().map(|&len| len + 2).collect(), place)
}

/// Calls `see` with the same elements in several layouts: in C order, in F order, inside a wider box.
pub(super) fn views(
    elements: &[u8],
    shape: &[u64],
    cell: usize,
    var_buffer: Option<&VarBuffer>,
    mut see: impl FnMut(&str, View<'_>),
) {
    let plain = View::new(elements, shape, cell);
    let order = reversed(shape.len());
    let turned_shape: Vec<u64> = shape.iter().rev().copied().collect();
    let turned = plain.clone().transposed(&order).to_bytes().into_owned();
    let (wide, place) = wider(shape);
    let mut around = memory(&wide, cell);
    ViewMut::new(&mut around, &wide, cell).part(&place).copy_from(&plain);
    let mut see = |how: &str, view: View<'_>| see(how, view.with_var_buffer(var_buffer));
    see("in C order", plain);
    see("in F order", View::new(&turned, &turned_shape, cell).transposed(&order));
    see("inside a wider box", View::new(&around, &wide, cell).part(&place));
}

/// The elements, in C order, that `fill` writes into memory in C order, in F order, and inside a wider box.
pub(super) fn filled(
    shape: &[u64],
    cell: usize,
    var_buffer: Option<&VarBuffer>,
    mut fill: impl FnMut(ViewMut<'_>),
) -> [(&'static str, Vec<u8>); 3] {
    let mut fill = |view: ViewMut<'_>| fill(view.with_var_buffer(var_buffer));
    let mut plain = memory(shape, cell);
    fill(ViewMut::new(&mut plain, shape, cell));
    let order = reversed(shape.len());
    let turned_shape: Vec<u64> = shape.iter().rev().copied().collect();
    let mut turned = memory(shape, cell);
    fill(ViewMut::new(&mut turned, &turned_shape, cell).transposed(&order));
    let turned = View::new(&turned, &turned_shape, cell).transposed(&order).to_bytes().into_owned();
    let (wide, place) = wider(shape);
    let mut around = memory(&wide, cell);
    fill(ViewMut::new(&mut around, &wide, cell).part(&place));
    let inside = View::new(&around, &wide, cell).part(&place).to_bytes().into_owned();
    [("in C order", plain), ("in F order", turned), ("inside a wider box", inside)]
}
