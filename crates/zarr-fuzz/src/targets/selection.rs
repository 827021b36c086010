//! Selections: what an array gives is what a plain model of the selection gives.

use zarr::{Array, AxisSelection, Selection};

use super::codecs::Case;
use super::documents;
use crate::input::Choices;

/// Two axes' selections, points, a mask, or blocks, each number from a byte.
pub fn selection(data: &[u8]) {
    let mut choices = Choices(data);
    let kind = choices.byte();
    let array = array(kind >> 4);
    let shape = array.shape();
    let whole: Vec<u8> = (0..array.len()).map(|n| n as u8).collect();
    array.write(.., &whole).expect("memory takes it");
    let (selection, coordinates) = match kind % 4 {
        0 | 3 => {
            let axes: Vec<AxisSelection> =
                shape.iter().map(|&len| axis(&mut choices, len)).collect();
            let along = axes.iter().zip(&shape).map(|(axis, &len)| coordinates_of(axis, len));
            let coordinates = along.collect::<Option<Vec<_>>>().map(|axes| product(&axes));
            (Selection::outer(axes), coordinates)
        }
        1 => {
            let count = choices.below(9);
            let point: Vec<Vec<u64>> =
                shape.iter().map(|_| (0..count).map(|_| number(&mut choices)).collect()).collect();
            let inside = point.iter().zip(&shape).all(|(axis, len)| axis.iter().all(|n| n < len));
            let points =
                (0..count as usize).map(|n| point.iter().map(|axis| axis[n]).collect()).collect();
            (Selection::points(point), inside.then_some(points))
        }
        _ => {
            let mask: Vec<bool> = whole.iter().map(|_| choices.byte() & 1 == 1).collect();
            let all = product(&shape.iter().map(|&len| (0..len).collect()).collect::<Vec<_>>());
            let chosen = all.into_iter().zip(&mask).filter(|(_, is)| **is).map(|(point, _)| point);
            let chosen = chosen.collect();
            (Selection::mask(&shape, mask), Some(chosen))
        }
    };
    let read = array.read::<u8>(selection.clone());
    let Some(coordinates) = coordinates else {
        read.expect_err("a selection leaves the array");
        array.write(selection, &[0]).expect_err("a selection leaves the array");
        return;
    };
    let place =
        |point: &Vec<u64>| point.iter().zip(&shape).fold(0, |at, (n, len)| at * len + n) as usize;
    let model: Vec<u8> = coordinates.iter().map(|point| whole[place(point)]).collect();
    assert_eq!(read.expect("it is within the array"), model, "{selection:?}");
    // What is written more than once holds the last.
    let mut after = whole;
    let written: Vec<u8> = (0..coordinates.len()).map(|n| 100 + (n % 100) as u8).collect();
    for (point, &value) in coordinates.iter().zip(&written) {
        after[place(point)] = value;
    }
    array.write(selection.clone(), &written).expect("it is within the array");
    assert_eq!(array.read::<u8>(..).expect("it is read"), after, "{selection:?}");
}

fn array(kind: u8) -> Array {
    thread_local! {
        static ARRAYS: Vec<Array> = ["[2,3]", "[7,5]", "[1,2]"].map(|chunks| {
            let document = Case::v3(r#"["bytes"]"#, r#""uint8""#, "0", "[7,5]").document();
            let document = document.replace(r#""chunk_shape":[7,5]"#, &format!("\"chunk_shape\":{chunks}"));
            documents::array("zarr.json", &document).expect("it opens")
        }).into();
    }
    ARRAYS.with(|arrays| arrays[usize::from(kind) % arrays.len()].clone())
}

/// Mostly a small number, rarely a huge one.
fn number(choices: &mut Choices<'_>) -> u64 {
    match choices.byte() {
        255 => u64::MAX,
        254 => 1 << 63,
        byte => u64::from(byte) % 9,
    }
}

fn axis(choices: &mut Choices<'_>, len: u64) -> AxisSelection {
    match choices.below(5) {
        0 => AxisSelection::Index(number(choices)),
        1 => AxisSelection::List((0..choices.below(6)).map(|_| number(choices)).collect()),
        2 => {
            let off = choices.byte() == 255;
            AxisSelection::Mask(
                (0..len + u64::from(off)).map(|_| choices.byte() & 1 == 1).collect(),
            )
        }
        _ => {
            let which = choices.byte();
            let (start, stop) = (number(choices), number(choices));
            let step = match choices.byte() {
                255 => i64::MIN,
                254 => i64::MAX,
                byte => i64::from(byte) % 7 - 3,
            };
            AxisSelection::Steps {
                start: (which & 1 == 1).then_some(start),
                stop: (which & 2 == 2).then_some(stop),
                step,
            }
        }
    }
}

/// The coordinates that a selection has along an axis; `None` if it cannot be.
fn coordinates_of(axis: &AxisSelection, len: u64) -> Option<Vec<u64>> {
    let list = match axis {
        AxisSelection::Index(n) => vec![*n],
        AxisSelection::List(list) => list.clone(),
        AxisSelection::Mask(mask) if mask.len() as u64 == len => {
            mask.iter().zip(0..).filter(|(is, _)| **is).map(|(_, n)| n).collect()
        }
        // None are made here that count from the end.
        AxisSelection::Mask(_) | AxisSelection::Relative(_) => return None,
        AxisSelection::Steps { start, stop, step } => {
            let (start, stop) = (start.unwrap_or(0), stop.unwrap_or(len));
            if start > len || stop > len || start > stop || *step == 0 {
                return None;
            }
            let by = usize::try_from(step.unsigned_abs()).unwrap_or(usize::MAX);
            if *step < 0 {
                (start..stop).rev().step_by(by).collect()
            } else {
                (start..stop).step_by(by).collect()
            }
        }
    };
    list.iter().all(|&n| n < len).then_some(list)
}

fn product(axes: &[Vec<u64>]) -> Vec<Vec<u64>> {
    axes.iter().fold(vec![Vec::new()], |points, axis| {
        let longer = points.into_iter().flat_map(|point: Vec<u64>| {
            axis.iter().map(move |&n| [&point[..], &[n]].concat()).collect::<Vec<_>>()
        });
        longer.collect()
    })
}
