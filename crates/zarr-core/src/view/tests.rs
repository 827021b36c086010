#![allow(clippy::single_range_in_vec_init, reason = "a region of one axis")]
#![allow(clippy::needless_range_loop, reason = "axes are numbers here")]

use proptest::prelude::*;

use super::*;

fn numbers(n: u8) -> Vec<u8> {
    (0..n).collect()
}

#[test]
fn permuted_views_read_in_the_new_order() {
    let memory = numbers(24);
    let view = View::new(&memory, &[2, 3, 4], 1).transposed(&[2, 0, 1]);
    assert_eq!(
        view.to_bytes()[..],
        [0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23]
    );
}

#[test]
fn parts_and_pieces_are_where_they_should_be() {
    let mut memory = vec![0; 12];
    let whole = ViewMut::new(&mut memory, &[3, 4], 1);
    let (mut top, rest) = whole.split_at(0, 1);
    let (_, mut right) = rest.split_at(1, 3);
    top.fill(&[1]);
    right.fill(&[2]);
    assert_eq!(memory, [1, 1, 1, 1, 0, 0, 0, 2, 0, 0, 0, 2]);
    let part = View::new(&memory, &[3, 4], 1).part(&Region::new([0..2, 2..4]));
    assert_eq!(part.to_bytes()[..], [1, 1, 0, 2]);
}

#[test]
fn spans_are_the_same_bytes_of_every_cell() {
    let mut memory = numbers(24);
    let view = View::new(&memory, &[2, 3], 4).transposed(&[1, 0]);
    assert_eq!(view.span(1, 2).to_bytes()[..], [1, 2, 13, 14, 5, 6, 17, 18, 9, 10, 21, 22]);
    assert_eq!(view.span(0, 4).to_bytes(), view.to_bytes());
    assert_eq!(view.part(&Region::new([2..3, 1..2])).span(3, 1).as_bytes(), Some(&[23][..]));
    let part = Region::new([0..2, 1..2]);
    let mut spans = ViewMut::new(&mut memory, &[2, 3], 4).part(&part).span(2, 2);
    assert!(spans.as_bytes_mut().is_none());
    spans.fill(&[98, 99]);
    spans.split_at(0, 1).1.copy_from(&View::new(&[77, 78], &[1, 1], 2));
    assert_eq!(memory[4..8], [4, 5, 98, 99]);
    assert_eq!(memory[16..20], [16, 17, 77, 78]);
    assert!(View::new(&[], &[0, 2], 4).span(3, 1).to_bytes().is_empty());
}

#[test]
#[should_panic(expected = "a span lies inside an element")]
fn a_span_beyond_its_element_is_a_broken_promise() {
    let _ = View::new(&[0; 8], &[2], 4).span(3, usize::MAX);
}

#[test]
fn copies_turn_bytes_round_in_units() {
    let from = numbers(8);
    let mut to = vec![0; 8];
    ViewMut::new(&mut to, &[1], 8).copy_swapped(&View::new(&from, &[1], 8), 4);
    assert_eq!(to, [3, 2, 1, 0, 7, 6, 5, 4]);
}

#[test]
fn sameness_is_bit_by_bit() {
    let zeros: Vec<u8> = [0.0f32, -0.0].iter().flat_map(|v| v.to_ne_bytes()).collect();
    let view = View::new(&zeros, &[2], 4);
    assert!(!view.is_all(&0.0f32.to_ne_bytes()));
    assert!(view.part(&Region::new([0..1])).is_all(&0.0f32.to_ne_bytes()));
    assert!(View::new(&[], &[0], 4).is_all(&[1, 2, 3, 4]));
    assert!(View::new(&[1, 2, 1, 2, 1, 2], &[3], 2).is_all(&[1, 2]));
    assert!(!View::new(&[1, 2, 1, 2, 1, 3], &[3], 2).is_all(&[1, 2]));
}

#[test]
fn empty_and_scalar_views_work() {
    let mut none: Vec<u8> = vec![];
    let view = ViewMut::new(&mut none, &[0, 3], 2);
    let (a, b) = view.split_at(1, 3);
    assert!(a.is_empty() && b.is_empty());
    let mut one = vec![7];
    let mut scalar = ViewMut::new(&mut one, &[], 1);
    assert_eq!(scalar.as_bytes_mut(), Some(&mut [7][..]));
}

fn index(shape: &[u64], mut at: u64) -> Vec<u64> {
    let mut index = vec![0; shape.len()];
    for axis in (0..shape.len()).rev() {
        index[axis] = at % shape[axis];
        at /= shape[axis];
    }
    index
}

proptest! {
    /// Copying a permuted part equals picking its elements one by one.
    #[test]
    fn a_strided_copy_equals_picking_cells(
        shape in prop_oneof![
            prop::collection::vec(1u64..5, 1..5),
            prop::collection::vec(1u64..50, 2..4),
        ],
        seed in any::<u64>(),
        (cell, unit) in prop::sample::select(vec![
            (1usize, 1usize), (2, 1), (3, 1), (4, 1), (8, 1), (12, 1), (2, 2), (4, 4), (8, 4), (8, 8), (16, 8), (6, 3),
        ]),
    ) {
        let rank = shape.len();
        let mut order: Vec<usize> = (0..rank).collect();
        let mut s = seed;
        for i in (1..rank).rev() {
            order.swap(i, (s % (i as u64 + 1)) as usize);
            s /= 7;
        }
        let count: u64 = shape.iter().product();
        let memory: Vec<u8> = (0..count as usize * cell).map(|i| (i * 31 % 251) as u8).collect();
        let region = Region::new(shape.iter().enumerate().map(|(a, &n)| {
            let start = (seed >> (a * 3)) % n;
            start..start + 1 + (seed >> (a * 5)) % (n - start)
        }));
        let whole = View::new(&memory, &shape, cell);
        let source = whole.part(&region).transposed(&order);
        let mut got = vec![0; source.len() * cell];
        ViewMut::new(&mut got, &source.shape(), cell).copy_swapped(&source, unit);
        let part = region.shape();
        let turned: Vec<u64> = order.iter().map(|&a| part[a]).collect();
        let mut want = Vec::new();
        for at in 0..turned.iter().product() {
            let i = index(&turned, at);
            let mut flat = 0;
            for axis in 0..rank {
                let here = order.iter().position(|&a| a == axis).unwrap();
                flat = flat * shape[axis] + region.intervals()[axis].start + i[here];
            }
            want.extend_from_slice(&memory[flat as usize * cell..][..cell]);
        }
        want.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
        prop_assert_eq!(&got, &want);
        // And back to where they came from.
        let mut back = memory.clone();
        back.fill(0);
        let mut there = ViewMut::new(&mut back, &shape, cell).part(&region).transposed(&order);
        there.copy_swapped(&View::new(&got, &source.shape(), cell), unit);
        prop_assert_eq!(there.as_view().to_bytes(), source.to_bytes());
    }
}

/// What is cut, turned, split or lent of a view shows elements of the same variable-length buffer.
#[test]
fn every_piece_of_a_view_keeps_its_buffer() {
    use crate::var_buffer::{VAR_REF_SIZE, VarBuffer};
    let var_buffer = VarBuffer::default();
    let text = |text: &'static str| {
        let buffer = var_buffer.add(text.as_bytes().into()).unwrap();
        buffer.reference(0, text.len() as u64).unwrap().as_bytes().to_vec()
    };
    let cells = ["a", "bb", "ccc", "", "é", "f"].map(text).concat();
    let texts = |view: &View<'_>| -> Vec<String> {
        let elements = view.var_buffer().expect("it has a var_buffer").elements();
        let cells = view.to_bytes();
        let text = |cell: &[u8]| String::from_utf8(elements.get(cell).to_vec()).unwrap();
        cells.chunks_exact(VAR_REF_SIZE).map(text).collect()
    };
    let view = View::new(&cells, &[2, 3], VAR_REF_SIZE).with_var_buffer(Some(&var_buffer));
    let right = Region::new([0..2, 1..3]);
    assert_eq!(texts(&view.clone().transposed(&[1, 0])), ["a", "", "bb", "é", "ccc", "f"]);
    assert_eq!(texts(&view.part(&right)), ["bb", "ccc", "é", "f"]);

    let mut target = vec![0; cells.len()];
    let mut whole =
        ViewMut::new(&mut target, &[2, 3], VAR_REF_SIZE).with_var_buffer(Some(&var_buffer));
    whole.reborrow().transposed(&[1, 0]).copy_from(&view.clone().transposed(&[1, 0]));
    assert_eq!(texts(&whole.as_view()), texts(&view));
    assert_eq!(texts(&whole.reborrow().part(&right).as_view()), ["bb", "ccc", "é", "f"]);
    let (mut left, right) = whole.split_at(1, 2);
    left.fill(&text("x"));
    assert_eq!(texts(&left.as_view()), ["x"; 4]);
    assert_eq!(texts(&right.as_view()), ["ccc", "f"]);
    assert!(left.with_var_buffer(None).var_buffer().is_none());
}

/// Pieces of a view, and the variable-length buffer beside them, go to threads of their own.
#[test]
fn threads_fill_pieces_out_of_one_buffer() {
    use crate::var_buffer::{VAR_REF_SIZE, VarBuffer};
    let var_buffer = VarBuffer::default();
    let mut target = vec![0; 64 * VAR_REF_SIZE];
    let whole = ViewMut::new(&mut target, &[64], VAR_REF_SIZE).with_var_buffer(Some(&var_buffer));
    let (first, second) = whole.split_at(0, 32);
    std::thread::scope(|scope| {
        for (name, mut piece) in [("first", first), ("second", second)] {
            scope.spawn(move || {
                let var_buffer = piece.var_buffer().expect("it has a var_buffer");
                let buffer = var_buffer.add(name.as_bytes().into()).unwrap();
                piece.fill(buffer.reference(0, name.len() as u64).unwrap().as_bytes());
            });
        }
    });
    let elements = var_buffer.elements();
    let found: Vec<&[u8]> =
        target.chunks_exact(VAR_REF_SIZE).map(|cell| elements.get(cell)).collect();
    assert_eq!(found, [vec![&b"first"[..]; 32], vec![&b"second"[..]; 32]].concat());
}
