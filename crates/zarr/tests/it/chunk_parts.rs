//! Parts of chunks are read to their places, and chunks that are not stored are told, by both faces, from local and remote
//! stores.
#![cfg(all(
    feature = "memory",
    feature = "gzip",
    feature = "sharding",
    feature = "transpose",
    feature = "reshape",
    feature = "vlen-utf8"
))]

use crate::common;
use std::sync::Arc;

use crate::common::knowing;
use crate::common::selections::case;
use proptest::prelude::*;
use zarr::store::{Store, from_sync};
use zarr::stores::MemoryStore;
use zarr::{
    Array, AxisSelection, ChunkPart, ErrorKind, Hierarchy, Selection, StridedBuffer, ViewMut, steps,
};
use zarr_testkit::Remote;

const SIZE: usize = 4;

/// Parts of chunks one below the other, in an output of this shape, which has `expected` then.
struct Batch {
    parts: Vec<ChunkPart>,
    shape: Vec<u64>,
    expected: Vec<u8>,
    stored: Vec<bool>,
}

/// Bytes that no read writes.
const UNTOUCHED: [u8; SIZE] = [0xEE; SIZE];

/// Batches of some parts; `scattered` ones have some places that are no boxes.
fn batch(array: &Array, seeds: &[u64], scattered: bool) -> Batch {
    let mut seeds = seeds.iter().copied().cycle();
    let mut seeds = move || seeds.next().expect("there are some");
    let all: Vec<_> = array.chunks(..).expect("chunks").collect();
    // Where chunks begin along each axis: their order is their number.
    let begins = |axis: usize| {
        let begin = all.iter().map(|chunk| chunk.region().intervals()[axis].start);
        begin.collect::<std::collections::BTreeSet<u64>>().into_iter().collect::<Vec<u64>>()
    };
    let begins: Vec<Vec<u64>> = (0..array.rank()).map(begins).collect();
    let chunks: Vec<_> = all.iter().filter(|_| seeds() % 4 > 0).collect();
    let rank = array.rank();
    let (mut parts, mut placed, mut stored) = (Vec::new(), Vec::new(), Vec::new());
    let (mut shape, mut from) = (vec![0u64; rank], 0);
    for chunk in &chunks {
        let lens = chunk.region().shape();
        let (mut within, mut coordinates) = (Vec::<AxisSelection>::new(), Vec::new());
        for &len in &lens {
            let start = seeds() % len;
            let end = start + 1 + seeds() % (len - start);
            let step = (seeds() % 3) as i64 + 1;
            let along: Vec<u64> = if seeds() % 2 == 0 {
                within.push(steps(start..end, -step));
                (start..end).rev().step_by(step as usize).collect()
            } else {
                within.push(steps(start..end, step));
                (start..end).step_by(step as usize).collect()
            };
            coordinates.push(along);
        }
        let counts: Vec<u64> = coordinates.iter().map(|along| along.len() as u64).collect();
        let mut place: Vec<AxisSelection> = counts.iter().map(|&n| (0..n).into()).collect();
        let rows = counts.first().copied().unwrap_or(1);
        if let Some(first) = place.first_mut() {
            *first = (from..from + rows).into();
            if scattered && seeds() % 2 == 0 {
                *first = (from..from + rows).collect::<Vec<u64>>().into();
            }
        }
        let elements = array.read_bytes(chunk.region().clone()).expect("read");
        let mut at = vec![0usize; rank];
        for _ in 0..counts.iter().product::<u64>() {
            let index = (0..rank).fold(0, |index, axis| {
                index * lens[axis] as usize + coordinates[axis][at[axis]] as usize
            });
            let mut to: Vec<u64> = at.iter().map(|&n| n as u64).collect();
            if let Some(first) = to.first_mut() {
                *first += from;
            }
            placed.push((to, elements[index * SIZE..][..SIZE].to_vec()));
            for axis in (0..rank).rev() {
                at[axis] += 1;
                if at[axis] < counts[axis] as usize {
                    break;
                }
                at[axis] = 0;
            }
        }
        for (len, count) in shape.iter_mut().zip(&counts) {
            *len = (*len).max(*count);
        }
        from += rows;
        let starts = chunk.region().intervals().iter().zip(&begins);
        let numbers = starts.map(|(r, begins)| begins.partition_point(|&at| at < r.start) as u64);
        parts.push(ChunkPart {
            chunk: numbers.collect(),
            within: Selection::outer(within),
            place: Selection::outer(place),
        });
        stored.push(chunk.encoded().expect("read").is_some());
    }
    if let Some(first) = shape.first_mut() {
        *first = from + 1;
    }
    let mut expected = UNTOUCHED.repeat(shape.iter().product::<u64>() as usize);
    for (to, element) in placed {
        let at = to.iter().zip(&shape).fold(0, |at, (c, len)| at * len + c) as usize;
        expected[at * SIZE..][..SIZE].copy_from_slice(&element);
    }
    Batch { parts, shape, expected, stored }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

fn strides(shape: &[u64]) -> Vec<isize> {
    // Fortran's order.
    let step = |step: &mut isize, &len: &u64| Some(std::mem::replace(step, *step * len as isize));
    shape.iter().scan(SIZE as isize, step).collect()
}

proptest! {
    #[test]
    fn parts_of_chunks_are_read_to_their_places(
        case in case(),
        seeds in prop::collection::vec(0u64..1000, 1..30),
        scattered in any::<bool>(),
        erased in any::<u64>(),
    ) {
        let local: Arc<dyn Store> = from_sync(MemoryStore::new());
        let array = case.create(local.clone(), ">i4");
        let count = array.shape().iter().product::<u64>() as i32;
        array.write(.., &(1..=count).collect::<Vec<i32>>()).expect("written");
        for (n, mut chunk) in array.chunks(..).expect("chunks").enumerate() {
            if erased >> (n % 64) & 1 == 1 {
                chunk.erase().expect("erased");
            }
        }
        let Batch { parts, shape, expected, stored } = batch(&array, &seeds, scattered);
        let remote: Arc<dyn Store> = Arc::new(Remote(local.clone()));
        for store in [local, remote] {
            let hierarchy = Hierarchy::open(store, &knowing().threads(3)).expect("a hierarchy");
            let array = hierarchy.array(array.path()).expect("an array");
            let mut memory = UNTOUCHED.repeat(expected.len() / SIZE);
            let out = ViewMut::new(&mut memory, &shape, SIZE);
            prop_assert_eq!(&array.read_chunks_into(&parts, out).expect("read"), &stored);
            prop_assert_eq!(&memory, &expected);
            let memory = UNTOUCHED.repeat(expected.len() / SIZE);
            let out = StridedBuffer::new(memory, 0, &shape, &strides(&shape), SIZE).expect("fits");
            let (out, read) = wait(array.as_async().read_chunks_into(&parts, out));
            prop_assert_eq!(&read.expect("read"), &stored);
            prop_assert_eq!(&out.view().to_bytes()[..], &expected[..]);
        }
    }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let (_, hierarchy) = common::hierarchy(zarr::Dialect::V3);
    let array = hierarchy.create_array(common::path("/a")).shape(&[5, 4]).chunks(&[3, 4]);
    let array = array.data_type_named("int32").create().unwrap();
    let mut memory = [0; 80];
    let mut refused = |chunk: [u64; 2], within: Selection, place: Selection, size: usize| {
        let parts = [ChunkPart { chunk: chunk.to_vec(), within, place }];
        let out = ViewMut::strided(&mut memory, 0, &[5, 2], &[16, 8], size).unwrap();
        let error = array.read_chunks_into(&parts, out).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        error.to_string()
    };
    let text = refused([2, 0], (0, 0).into(), (0, 0).into(), 4);
    assert!(text.contains("there is no chunk [2, 0]"), "{text}");
    // The last chunk has two rows in the array.
    let text = refused([1, 0], (0..3, 0).into(), (0..3, 0).into(), 4);
    assert!(text.contains("region 0..3 exceeds axis 0, which has length 2"), "{text}");
    let text = refused([0, 0], (0..2, 0).into(), (0..3, 0).into(), 4);
    assert!(text.contains("elements of shape [2] do not fit a region of shape [3]"), "{text}");
    refused([0, 0], (0, 0).into(), (0, 2).into(), 4);
    let text = refused([0, 0], (0, 0).into(), (0, 0).into(), 8);
    assert!(text.contains("elements of 8 bytes does not fit elements of type `int32`"), "{text}");
}
