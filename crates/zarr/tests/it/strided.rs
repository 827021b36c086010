//! Memory with any strides is read into and written from as plain memory is: every kind of array, selection and type, by
//! both faces, from local and remote stores.
#![cfg(all(
    feature = "memory",
    feature = "gzip",
    feature = "sharding",
    feature = "transpose",
    feature = "reshape",
    feature = "vlen-utf8"
))]

use std::sync::Arc;

use crate::common::selections::{Meant, case, meant, seeds};
use crate::common::{knowing, path};
use proptest::prelude::*;
use zarr::store::{Store, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Array, Dialect, ErrorKind, Hierarchy, Selection, StridedBuffer, View, ViewMut};
use zarr_testkit::{Remote, sample};

/// Memory for elements, with gaps between them, in any order of axes and along them.
#[derive(Clone, Debug)]
struct Layout {
    len: usize,
    start: usize,
    strides: Vec<isize>,
}

impl Layout {
    fn new(shape: &[u64], size: usize, seeds: &[u64]) -> Layout {
        let mut seeds = seeds.iter().copied().cycle();
        let mut seeds = move || seeds.next().expect("there are some");
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        for last in (1..axes.len()).rev() {
            axes.swap(last, seeds() as usize % (last + 1));
        }
        let mut strides = vec![0; shape.len()];
        let (mut step, mut start) = (size, seeds() as usize % 5);
        for axis in axes {
            let (len, stride) = (shape[axis] as usize, step + seeds() as usize % 3);
            let reversed = seeds() % 2 == 0;
            strides[axis] = if reversed { -(stride as isize) } else { stride as isize };
            start += if reversed { len.saturating_sub(1) * stride } else { 0 };
            step = stride * len.max(1);
        }
        Layout { len: start + step + 5, start, strides }
    }

    /// The places of all elements in C order.
    fn places(&self, shape: &[u64]) -> Vec<usize> {
        shape.iter().zip(&self.strides).fold(vec![self.start], |places, (&len, &stride)| {
            let along =
                |at: usize| (0..len as isize).map(move |n| at.wrapping_add_signed(n * stride));
            places.into_iter().flat_map(along).collect()
        })
    }

    /// Elements in C order, where they are in this layout.
    fn spread(&self, elements: &[u8], shape: &[u64], size: usize) -> Vec<u8> {
        let mut memory = vec![0xEE; self.len];
        for (at, element) in self.places(shape).into_iter().zip(elements.chunks_exact(size)) {
            memory[at..at + size].copy_from_slice(element);
        }
        memory
    }
}

/// A data type, the size of its elements, and bytes of some.
const TYPES: [(&str, usize); 7] =
    [("<i4", 4), (">i2", 2), ("|b1", 1), (">f8", 8), ("<u8", 8), ("|u1", 1), ("<i8", 8)];

fn elements(name: &str, size: usize, count: usize, seed: u64) -> Vec<u8> {
    let byte = |n: usize| (n as u64 * 7 + seed + n as u64 / 11) as u8;
    let bytes = (0..count * size).map(byte);
    if name == "|b1" { bytes.map(|byte| byte % 2).collect() } else { bytes.collect() }
}

/// The same array by handles of the two faces on two kinds of stores.
fn ways(store: &Arc<dyn Store>, array: &Array) -> Vec<(&'static str, Array)> {
    let opened = |store: &Arc<dyn Store>| {
        let hierarchy = Hierarchy::open(store.clone(), &knowing().threads(3)).expect("a hierarchy");
        hierarchy.array(array.path()).expect("an array")
    };
    vec![
        ("local", opened(store)),
        ("remote", opened(&(Arc::new(Remote(store.clone())) as Arc<dyn Store>))),
    ]
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

fn read(
    array: &Array,
    by_async: bool,
    selection: Selection,
    memory: Vec<u8>,
    layout: &Layout,
    shape: &[u64],
    size: usize,
) -> Vec<u8> {
    let (start, strides) = (layout.start, &layout.strides);
    if by_async {
        let out = StridedBuffer::new(memory, start, shape, strides, size).expect("a layout");
        let (out, read) = wait(array.as_async().read_view(selection, out));
        read.expect("read");
        return out.into_memory();
    }
    let mut memory = memory;
    let out = ViewMut::strided(&mut memory, start, shape, strides, size).expect("a layout");
    array.read_view(selection, out).expect("read");
    memory
}

fn write(
    array: &Array,
    by_async: bool,
    selection: Selection,
    memory: Vec<u8>,
    layout: &Layout,
    shape: &[u64],
    size: usize,
) {
    let (start, strides) = (layout.start, &layout.strides);
    if by_async {
        let from = StridedBuffer::new(memory, start, shape, strides, size).expect("a layout");
        wait(array.as_async().write_view(selection, from)).expect("written");
    } else {
        let from = View::strided(&memory, start, shape, strides, size).expect("a layout");
        array.write_view(selection, from).expect("written");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sample(48, 256)))]

    #[test]
    fn strided_memory_is_read_and_written_as_plain_memory_is(
        case in case(),
        which in 0..TYPES.len(),
        selections in seeds(),
        layouts in prop::collection::vec(0u64..1000, 1..20),
    ) {
        let (name, size) = TYPES[which];
        let store: Arc<dyn Store> = from_sync(MemoryStore::new());
        let array = case.create(store.clone(), name);
        let count = array.shape().iter().product::<u64>() as usize;
        array.write_bytes(.., &elements(name, size, count, 1)).expect("written");
        for seeds in selections {
            let Meant { selection, shape, coordinates } = meant(&array, seeds.clone());
            let layout = Layout::new(&shape, size, &layouts);
            for (n, (store, array)) in ways(&store, &array).into_iter().enumerate() {
                for by_async in [false, true] {
                    let expected = array.read_bytes(selection.clone()).expect("read");
                    let memory = vec![0xEE; layout.len];
                    let found =
                        read(&array, by_async, selection.clone(), memory, &layout, &shape, size);
                    // Bytes between the elements are not touched.
                    let expected = layout.spread(&expected, &shape, size);
                    prop_assert_eq!(found, expected, "{}, async: {}", store, by_async);

                    let seed = n as u64 * 2 + u64::from(by_async) + 2;
                    let new = elements(name, size, coordinates.len(), seed);
                    let mut due = array.read_bytes(..).expect("read");
                    let all = array.shape();
                    for (at, element) in coordinates.iter().zip(new.chunks_exact(size)) {
                        let at = at.iter().zip(&all).fold(0, |at, (c, len)| at * len + c) as usize;
                        due[at * size..][..size].copy_from_slice(element);
                    }
                    let memory = layout.spread(&new, &shape, size);
                    write(&array, by_async, selection.clone(), memory, &layout, &shape, size);
                    let found = array.read_bytes(..).expect("read");
                    prop_assert_eq!(found, due, "{}, async: {}", store, by_async);
                }
            }
        }
    }

    #[test]
    fn a_fill_writes_what_an_array_of_one_element_writes(
        case in case(),
        which in 0..TYPES.len(),
        selections in seeds(),
        zero in any::<bool>(),
    ) {
        let (name, size) = TYPES[which];
        let [one, other]: [Arc<dyn Store>; 2] = [0; 2].map(|_| from_sync(MemoryStore::new()) as _);
        let arrays = [&one, &other].map(|store| case.create(store.clone(), name));
        let count = arrays[0].shape().iter().product::<u64>() as usize;
        for array in &arrays {
            array.write_bytes(.., &elements(name, size, count, 1)).expect("written");
        }
        for (n, seeds) in selections.into_iter().enumerate() {
            let Meant { selection, coordinates, .. } = meant(&arrays[0], seeds);
            let element = if zero { vec![0; size] } else { elements(name, size, 1, n as u64) };
            arrays[0].write_bytes(selection.clone(), &element.repeat(coordinates.len())).expect("written");
            for (way, array) in ways(&other, &arrays[1]) {
                if n % 2 == 0 {
                    array.write_fill(selection.clone(), &element).expect("written");
                } else {
                    let array = array.as_async();
                    wait(array.write_fill(selection.clone(), &element)).expect("written");
                }
                prop_assert_eq!(array.read_bytes(..).expect("read"), arrays[0].read_bytes(..).expect("read"), "{}", way);
            }
            let keys = |store: &Arc<dyn Store>| store.to_sync().list().expect("memory lists");
            prop_assert_eq!(keys(&one), keys(&other));
        }
    }
}

fn small(data_type: &str) -> Array {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let format = zarr::format::of_dialect(Dialect::V3);
    let hierarchy = Hierarchy::create(store, format, &knowing()).expect("a new hierarchy");
    let array = hierarchy.create_array(path("/a")).shape(&[4, 6]).chunks(&[3, 4]);
    array.data_type_named(data_type).create().expect("created")
}

#[test]
fn memory_that_does_not_fit_is_refused_with_both_shapes() {
    let (array, mut memory) = (small("int32"), vec![0; 96]);
    let mut refused = |shape: &[u64], strides: &[isize], size: usize| {
        let out = ViewMut::strided(&mut memory, 0, shape, strides, size).unwrap();
        let read = array.read_view((0..2, 1), out).unwrap_err();
        let view = View::strided(&memory, 0, shape, strides, size).unwrap();
        let written = array.write_view((0..2, 1), view).unwrap_err();
        assert_eq!((read.kind(), read.to_string()), (ErrorKind::Argument, written.to_string()));
        read.to_string()
    };
    let shape = refused(&[2, 1], &[4, 4], 4);
    assert!(shape.ends_with("memory of shape [2, 1] does not fit a selection of shape [2]"));
    let size = refused(&[2], &[8], 8);
    let why = "memory of elements of 8 bytes does not fit elements of type `int32`, which have 4";
    assert!(size.ends_with(why), "{size}");
    let element = array.write_fill(.., &[0; 3]).unwrap_err();
    assert!(element.to_string().ends_with("an element of type `int32` has 4 bytes, not 3"));
    let overlapping = StridedBuffer::new(vec![0; 4], 0, &[2], &[0], 4).unwrap();
    let array = array.as_async();
    let (back, read) = wait(array.read_view((0..2, 1), overlapping.clone()));
    assert_eq!((read.unwrap_err().kind(), back.into_memory()), (ErrorKind::Argument, vec![0; 4]));
    wait(array.write_view((0..2, 1), overlapping)).unwrap();
}

#[test]
fn elements_of_any_length_are_filled_but_not_strided() {
    let array = small("string");
    let mut memory = vec![0; 24 * 16];
    let out = ViewMut::new(&mut memory, &[4, 6], 16);
    let refused = array.read_view(.., out).unwrap_err();
    assert!(refused.to_string().contains("read and write them as strings or bytes"), "{refused}");
    assert!(array.write_view(.., View::new(&memory, &[4, 6], 16)).is_err());
    array.write_fill((1..4, 2..), "zürich".as_bytes()).unwrap();
    assert_eq!(array.read::<String>((0..2, 2)).unwrap(), ["", "zürich"]);
    wait(array.as_async().write_fill(.., b"all")).unwrap();
    assert_eq!(array.read::<String>(..).unwrap(), ["all"; 24]);
    array.write_fill(.., b"").unwrap();
    assert_eq!(array.stored_chunks().unwrap(), 0);
    assert!(array.write_fill(.., &[0xFF]).is_err());
}

#[test]
fn bytes_that_are_no_elements_are_refused_wherever_they_are() {
    let array = small("bool");
    let mut memory = vec![1; 100];
    memory[97] = 2;
    let view = View::strided(&memory, 97, &[4, 6], &[-24, -4], 1).unwrap();
    let refused = array.write_view(.., view).unwrap_err();
    assert!(refused.to_string().contains("a bool is stored as 2"), "{refused}");
    assert!(array.write_fill(.., &[2]).is_err());
    assert_eq!(array.stored_chunks().unwrap(), 0);
    array.write_view(.., View::strided(&memory, 0, &[4, 6], &[24, 4], 1).unwrap()).unwrap();
    assert_eq!(array.read::<bool>(..).unwrap(), [true; 24]);
}

/// In a process that other tests do not share: the peak of its memory tells.
#[test]
fn selections_of_many_gib_are_filled_in_little_memory() {
    const CHILD: &str = "ZARR_TEST_STRIDED_FILL";
    if std::env::var_os(CHILD).is_none() {
        let test = "selections_of_many_gib_are_filled_in_little_memory";
        zarr_testkit::run_test_again(module_path!(), test, [(CHILD, "1")]);
        return;
    }
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let format = zarr::format::of_dialect(Dialect::V3);
    let hierarchy = Hierarchy::create(store, format, &knowing()).expect("a new hierarchy");
    // 256 GiB in four chunks.
    let (shape, chunks) = ([1 << 20, 1 << 15], [1 << 18, 1 << 15]);
    let builder = hierarchy.create_array(path("/a")).shape(&shape).chunks(&chunks);
    let array = builder.data_type_named("float64").create().expect("created");
    array.write_fill(.., &0f64.to_ne_bytes()).unwrap();
    wait(array.as_async().write_fill(.., &0f64.to_ne_bytes())).unwrap();
    assert_eq!(array.stored_chunks().unwrap(), 0);
    let peak = || zarr_testkit::peak_memory().unwrap_or(0);
    let before = peak();
    let zero = View::strided(&[0; 8], 0, &shape, &[0, 0], 8).unwrap();
    array.write_view(.., zero).unwrap();
    assert_eq!(array.stored_chunks().unwrap(), 0);
    assert!(peak() - before < 64 << 20, "{} bytes more", peak() - before);
}

#[test]
fn strided_memory_is_appended() {
    for axis in 0..2 {
        let array = small("int32");
        array.write(.., &(0..24).collect::<Vec<i32>>()).unwrap();
        let mut shape = array.shape();
        shape[axis] = 3;
        // Transposed, and from the last element on.
        let count = (shape[0] * shape[1]) as isize;
        let memory: Vec<u8> = (0..count as i32).flat_map(|n| (-n).to_ne_bytes()).collect();
        let (start, strides) = (count as usize * 4 - 4, [-4, -4 * shape[0] as isize]);
        let view = View::strided(&memory, start, &shape, &strides, 4).unwrap();
        let expected = view.to_bytes().into_owned();
        let begin = array.shape()[axis];
        assert_eq!(array.append_view(axis, view).unwrap(), begin);
        let buffer = StridedBuffer::new(memory.clone(), start, &shape, &strides, 4).unwrap();
        assert_eq!(wait(array.as_async().append_view(axis, buffer)).unwrap(), begin + 3);
        array.refresh().unwrap();
        for from in [begin, begin + 3] {
            let mut region = array.shape().iter().map(|&len| 0..len).collect::<Vec<_>>();
            region[axis] = from..from + 3;
            assert_eq!(array.read_bytes(zarr::Region::new(region)).unwrap(), expected);
        }
        let before = array.shape();
        for (shape, strides, size) in
            [(&[3, 5][..], &[4, 4][..], 4), (&[3], &[4], 4), (&shape[..], &[0, 0], 8)]
        {
            let view = View::strided(&memory, 0, shape, strides, size).unwrap();
            let refused = array.append_view(axis, view).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Argument, "{refused}");
        }
        assert!(
            array.append_view(2, View::strided(&memory, 0, &before, &[0, 0], 4).unwrap()).is_err()
        );
        assert_eq!(array.shape(), before);
    }
}

#[test]
fn threads_append_views_through_one_handle() {
    let array = small("int32");
    let [rows, columns] = array.shape()[..] else { panic!("it has two axes") };
    let memory = vec![7; 4 * columns as usize];
    let append = || {
        for _ in 0..100 {
            let view = View::strided(&memory, 0, &[1, columns], &[0, 4], 4).unwrap();
            array.append_view(0, view).unwrap();
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(append))));
    assert_eq!(array.shape(), [rows + 400, columns]);
    let appended = array.read_bytes((rows.., ..)).unwrap();
    assert!(appended.iter().all(|&byte| byte == 7), "an append is lost");
}

#[test]
fn members_are_opened_with_one_look_at_each_document() {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let format = zarr::format::of_dialect(Dialect::V3);
    let hierarchy = Hierarchy::create(store.clone(), format, &knowing()).expect("a new hierarchy");
    for name in ["/g/b", "/g/a", "/g/sub/deep"] {
        let array = hierarchy.create_array(path(name)).shape(&[4, 6]).chunks(&[3, 4]);
        array.data_type_named("int16").create().expect("created");
    }
    let counts = zarr_testkit::Counters::default();
    let counted = Arc::new(zarr::store::ObservedStore::new(store, counts.clone()));
    let group = Hierarchy::open(counted, &knowing()).unwrap().group(path("/g")).unwrap();
    counts.take();
    let members = group.members().unwrap();
    let told: Vec<String> = members
        .iter()
        .map(|node| match node {
            zarr::Node::Array(array) => {
                format!("{} {} {:?}", array.path(), array.data_type(), array.shape())
            }
            zarr::Node::Group(group) => format!("{}", group.path()),
        })
        .collect();
    assert_eq!(told, ["/g/a int16 [4, 6]", "/g/b int16 [4, 6]", "/g/sub"]);
    assert_eq!(counts.of("get").calls, 3, "{counts}");
    assert_eq!(wait(group.as_async().members()).unwrap().len(), 3);
}
