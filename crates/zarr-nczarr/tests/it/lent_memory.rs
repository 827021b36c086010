//! Slabs read into memory of the caller's have the elements of slabs that are read otherwise.

use zarr_core::ErrorKind;
use zarr_nczarr::schema::Variable;
use zarr_nczarr::{Dataset, Dimension, NewDataset, Slab, Type, Values};

use crate::common::{memory, options};

fn dataset() -> Dataset {
    let dataset = Dataset::create(memory(), &NewDataset::nczarr_v3(), &options()).unwrap();
    let root = dataset.root();
    root.define_dimension(Dimension::unlimited("t")).unwrap();
    root.define_dimension(Dimension::new("x", 5)).unwrap();
    let mut long = Variable::new("long", Type::Double, ["/t", "/x"]);
    long.storage.chunks = vec![2, 3];
    let long = root.define_variable(&long).unwrap();
    long.append((0..20).map(f64::from).collect::<Vec<f64>>()).unwrap();
    // Shorter than the dimension: what is missing is the fill value.
    let mut short = Variable::new("short", Type::Short, ["/t", "/x"]);
    short.storage.chunks = vec![2, 2];
    let short = root.define_variable(&short).unwrap();
    short.write_slab(&Slab::new([0, 0], [2, 5]), (0..10).collect::<Vec<i16>>()).unwrap();
    let empty = root.define_variable(&Variable::new("empty", Type::Char, ["/t"])).unwrap();
    assert_eq!(empty.shape().unwrap(), [4]);
    let scalar = root.define_variable(&Variable::new("scalar", Type::Uint64, [""; 0])).unwrap();
    scalar.write(vec![u64::MAX]).unwrap();
    root.define_variable(&Variable::new("text", Type::String, ["/x"])).unwrap();
    dataset
}

#[test]
fn lent_memory_gets_the_same_elements() {
    let dataset = dataset();
    for (name, slabs) in [
        (
            "/long",
            vec![
                Slab::all(&[4, 5]),
                Slab::new([1, 2], [2, 2]),
                Slab::new([0, 1], [2, 2]).with_stride([3, 3]),
                Slab::new([4, 0], [0, 5]),
            ],
        ),
        (
            "/short",
            vec![
                Slab::all(&[4, 5]),
                Slab::new([1, 1], [3, 3]),
                Slab::new([0, 0], [2, 3]).with_stride([3, 2]),
                Slab::new([2, 0], [2, 5]),
            ],
        ),
        ("/empty", vec![Slab::all(&[4])]),
        ("/scalar", vec![Slab::all(&[])]),
    ] {
        let variable = dataset.variable(name).unwrap();
        for slab in slabs {
            let expected: Values = variable.read_slab(&slab).unwrap();
            let mut memory = vec![0xa5; expected.to_ne_bytes().len()];
            variable.read_slab_into(&slab, &mut memory).unwrap();
            assert_eq!(memory, expected.to_ne_bytes(), "{name} {slab:?}");
        }
    }
}

#[test]
fn lent_memory_is_written() {
    let dataset = dataset();
    let bytes = |values: Values| values.to_ne_bytes();
    let long = dataset.variable("/long").unwrap();
    // Every second row from the last on: the dimension grows.
    let slab = Slab::new([3, 1], [2, 2]).with_stride([2, 3]);
    long.write_slab_from(&slab, &bytes(vec![-1.0, -2.0, -3.0, -4.0].into())).unwrap();
    assert_eq!(dataset.dimension("/t").unwrap().len, 6);
    let Values::Double(all) = long.read().unwrap() else { panic!("a double") };
    assert_eq!(all[15..20], [15.0, -1.0, 17.0, 18.0, -2.0]);
    assert_eq!((all[26], all[29]), (-3.0, -4.0));
    let empty = dataset.variable("/empty").unwrap();
    empty.write_slab_from(&Slab::new([1], [2]), b"ab").unwrap();
    assert_eq!(empty.read_slab(&Slab::new([1], [2])).unwrap(), Values::text("ab"));
    let scalar = dataset.variable("/scalar").unwrap();
    scalar.write_slab_from(&Slab::all(&[]), &bytes(vec![7u64].into())).unwrap();
    assert_eq!(scalar.read().unwrap(), vec![7u64].into());
    let kind = |name: &str, slab: &Slab, size: usize| {
        let variable = dataset.variable(name).unwrap();
        variable.write_slab_from(slab, &vec![0; size]).unwrap_err().kind()
    };
    for size in [0, 15, 17, 24] {
        assert_eq!(kind("/long", &Slab::new([0, 0], [1, 2]), size), ErrorKind::Argument);
    }
    assert_eq!(kind("/long", &Slab::new([0, 4], [1, 2]), 16), ErrorKind::Argument);
    assert_eq!(kind("/text", &Slab::all(&[5]), 40), ErrorKind::Argument);
    assert_eq!(dataset.dimension("/t").unwrap().len, 6);
}

#[test]
fn memory_must_have_exactly_the_size() {
    let dataset = dataset();
    let long = dataset.variable("/long").unwrap();
    let kind = |slab: &Slab, size: usize| {
        long.read_slab_into(slab, &mut vec![0; size]).unwrap_err().kind()
    };
    let all = Slab::all(&[4, 5]);
    for size in [0, 159, 161, 168] {
        assert_eq!(kind(&all, size), ErrorKind::Argument);
    }
    assert_eq!(kind(&Slab::new([0, 0], [5, 5]), 200), ErrorKind::Argument);
    let text = dataset.variable("/text").unwrap();
    let error = text.read_slab_into(&Slab::all(&[5]), &mut [0; 40]).unwrap_err();
    assert!(error.to_string().contains("read_slab"), "{error}");
}
