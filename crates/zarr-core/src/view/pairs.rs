//! Pairs the elements of a part in memory of the whole with those in memory of the part.

use super::window::{Window, merged, steps};
use crate::selection::{AxisIndices, Elements, ResolvedSelection};

/// Calls `visit` with byte offsets in a window on a whole, and in one on memory of a part of it, of runs of elements that
/// are contiguous in both, and with the run's length in bytes. Of two runs that begin at the
/// same element of the whole, the one that is later in the part's C order comes later.
pub(super) fn pairs(
    part: &ResolvedSelection,
    whole: &Window,
    alone: &Window,
    visit: &mut impl FnMut(isize, isize, usize),
) {
    let shape: Vec<u64> = alone.shape.iter().map(|&n| n as u64).collect();
    assert_eq!(part.shape(), shape, "a part's memory has the part's shape");
    assert_eq!(part.rank(), whole.shape.len(), "a part has the rank of the whole");
    assert_eq!(whole.element_size, alone.element_size, "a part has the elements of the whole");
    if alone.len() == 0 {
        return;
    }
    let within = |axis: usize, at: u64| {
        assert!(at < whole.shape[axis] as u64, "a part lies inside the whole");
        at as isize
    };
    let mut start = 0;
    // Axes with equal steps are walked as those of windows; along others every element has its own jump.
    let (mut lens, mut strides) = (Vec::new(), [Vec::new(), Vec::new()]);
    let mut jumps: Vec<Vec<[isize; 2]>> = Vec::new();
    part.by_axis().enumerate().for_each(|(axis, picks)| match &picks {
        AxisIndices::Steps { step, len, .. } => {
            let (first, _) = (within(axis, picks.at(0)), within(axis, picks.at(len - 1)));
            start += first * whole.strides[axis];
            lens.push(*len as usize);
            // One element needs no stride, and its step may be anything.
            strides[0].push(if *len > 1 { whole.strides[axis] * *step as isize } else { 0 });
            strides[1].push(alone.strides[axis]);
        }
        AxisIndices::List(list) => {
            let of_list = list.iter().enumerate().map(|(n, &at)| {
                [within(axis, at) * whole.strides[axis], n as isize * alone.strides[axis]]
            });
            jumps.push(of_list.collect());
        }
    });
    if let Elements::Points { coordinates, count } = part.elements() {
        let of_points = (0..*count as usize).map(|n| {
            let axes = coordinates.iter().enumerate();
            let at = axes.map(|(axis, list)| within(axis, list[n]) * whole.strides[axis]).sum();
            [at, n as isize * alone.strides[0]]
        });
        jumps.push(of_points.collect());
    }
    let strides = [&strides[0][..], &strides[1][..]];
    let (axes, run) = merged(&lens, strides, whole.element_size);
    visit_sums(&jumps, [start, 0], &mut |at| {
        steps(&axes, at, run, &mut |[w, a], run| {
            visit(w, a, run);
            true
        });
    });
}

/// Calls `visit` with every sum of one of each of the jumps, in C order.
fn visit_sums(jumps: &[Vec<[isize; 2]>], at: [isize; 2], visit: &mut impl FnMut([isize; 2])) {
    match jumps.split_first() {
        None => visit(at),
        Some((first, inner)) => {
            for jump in first {
                visit_sums(inner, [at[0] + jump[0], at[1] + jump[1]], visit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::view::{View, ViewMut};

    /// A part of a box of this shape, and the coordinates it means; told without any of its own means.
    fn part(shape: &[u64], seeds: &[u64]) -> (ResolvedSelection, Vec<Vec<u64>>) {
        let mut seeds = seeds.iter().cycle().copied();
        let mut next = move || seeds.next().expect("there are some");
        if next().is_multiple_of(3) {
            let count = next() % 9;
            let points: Vec<Vec<u64>> =
                (0..count).map(|_| shape.iter().map(|len| next() % len).collect()).collect();
            let along = |axis: usize| points.iter().map(|point| point[axis]).collect();
            let coordinates = (0..shape.len()).map(along).collect();
            return (ResolvedSelection::points(coordinates, count), points);
        }
        let mut axis = |&len: &u64| match next() % 3 {
            0 => AxisIndices::List((0..next() % 6).map(|_| next() % len).collect()),
            1 => AxisIndices::range(next() % len, 1),
            _ => {
                let (step, back) = (next() % 3 + 1, next().is_multiple_of(2));
                let count = len.div_ceil(step);
                let start = if back { (count - 1) * step } else { 0 };
                let step = step as i64;
                AxisIndices::Steps { start, step: if back { -step } else { step }, len: count }
            }
        };
        let picks: Vec<AxisIndices> = shape.iter().map(&mut axis).collect();
        let product = picks.iter().fold(vec![Vec::new()], |some, picks| {
            let longer = |start: &Vec<u64>| {
                let start = start.clone();
                picks.iter().map(move |at| [&start[..], &[at]].concat()).collect::<Vec<_>>()
            };
            some.iter().flat_map(longer).collect()
        });
        (ResolvedSelection::outer(picks.into_iter()), product)
    }

    proptest! {
            #[test]
            fn parts_go_out_and_in_as_memory_has_them(
                shape in prop::collection::vec(1u64..6, 1..4),
                seeds in prop::collection::vec(0u64..1000, 1..20),
                turn in any::<bool>(),
            ) {
                let order: Vec<usize> = if turn {
    (0..shape.len()).rev().collect()
    } else {
    (0..shape.len()).collect()
    };
                let turned: Vec<u64> = order.iter().map(|&a| shape[a]).collect();
                let count: u64 = shape.iter().product();
                let memory: Vec<u8> = (0..count).flat_map(|n| (n as u16).to_ne_bytes()).collect();
                let (part, coordinates) = part(&turned, &seeds);
                prop_assert_eq!(part.shape().iter().product::<u64>(), coordinates.len() as u64);
                let at = |coordinates: &Vec<u64>| {
                    let mut own = vec![0; shape.len()];
                    order.iter().zip(coordinates).for_each(|(&axis, &at)| own[axis] = at);
                    own.iter().zip(&shape).fold(0, |at, (c, len)| at * len + c) as usize * 2
                };

                let whole = View::new(&memory, &shape, 2).transposed(&order);
                let mut alone = vec![0; coordinates.len() * 2];
                ViewMut::new(&mut alone, &part.shape(), 2).gather(&part, &whole);
                let due = coordinates.iter().flat_map(|c| memory[at(c)..at(c) + 2].to_vec());
                prop_assert_eq!(&alone, &due.collect::<Vec<u8>>());

                let new: Vec<u8> =
                    (0..coordinates.len()).flat_map(|n| (1000 + n as u16).to_ne_bytes()).collect();
                let mut found = memory.clone();
                let mut view = ViewMut::new(&mut found, &shape, 2).transposed(&order);
                view.scatter(&part, &View::new(&new, &part.shape(), 2));
                let mut due = memory.clone();
                for (n, c) in coordinates.iter().enumerate() {
                    due[at(c)..at(c) + 2].copy_from_slice(&new[2 * n..2 * n + 2]);
                }
                prop_assert_eq!(found, due);
            }
        }

    #[test]
    #[should_panic(expected = "a part lies inside the whole")]
    fn what_leaves_the_whole_is_not_touched() {
        let picks = vec![AxisIndices::Steps { start: 1, step: 2, len: 2 }];
        let mut out = [0; 2];
        ViewMut::new(&mut out, &[2], 1)
            .gather(&ResolvedSelection::outer(picks.into_iter()), &View::new(&[0; 3], &[3], 1));
    }
}
