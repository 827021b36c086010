//! What is stored does not depend on the layout of the caller's memory.
#![cfg(all(feature = "memory", feature = "ndarray", feature = "sharding", feature = "transpose"))]

use ndarray::{Array3, ShapeBuilder, s};
use zarr::store::from_sync;
use zarr::stores::MemoryStore;
use zarr::{Array, Dialect, Element, Hierarchy, NodePath, OpenOptions, Result};

fn array(data_type: &str, codecs: &[&str]) -> Result<Array> {
    let options = OpenOptions::new(zarr::standard()).read_write();
    let format = zarr::format::of_dialect(Dialect::V3);
    let hierarchy = Hierarchy::create(from_sync(MemoryStore::new()), format, &options)?;
    let builder = hierarchy.create_array(&NodePath::new("/a")?).shape(&[4, 5, 6]);
    let mut builder = builder.chunks(&[2, 4, 6]).data_type_named(data_type);
    for codec in codecs {
        builder = builder.codec(zarr::tools::codec(codec)?);
    }
    builder.create()
}

/// All values of the store.
fn stored(array: &Array) -> Vec<(String, Vec<u8>)> {
    let store = array.hierarchy().store();
    let keys = store.to_sync().list().expect("memory lists");
    let get = |key| store.to_sync().value(key).expect("memory reads");
    keys.iter().map(|key| (key.to_string(), get(key).expect("it is there").to_vec())).collect()
}

fn check<T: Element + Clone + Default>(
    data_type: &str,
    codecs: &[&str],
    element: impl Fn(usize) -> T,
) -> Result<()> {
    let at = |(a, b, c): (usize, usize, usize)| element(a * 30 + b * 6 + c);
    let plain = array(data_type, codecs)?;
    plain.write(.., &(0..120).map(&element).collect::<Vec<_>>())?;
    let due = stored(&plain);
    let fortran = Array3::from_shape_fn((4, 5, 6).f(), at);
    // Every second one of a larger array, its axes transposed and one of them backwards.
    let mut large: Array3<T> = Array3::default((12, 10, 4));
    let mut strided = large.slice_mut(s![..;-2, ..;2, ..]);
    strided.swap_axes(0, 2);
    for ((a, b, c), place) in strided.indexed_iter_mut() {
        *place = at((a, b, c));
    }
    for (what, view) in [("fortran", fortran.view()), ("strided", strided.view())] {
        let other = array(data_type, codecs)?;
        other.write_ndarray(.., view)?;
        assert_eq!(stored(&other), due, "{data_type}, {codecs:?}, {what}");
    }
    Ok(())
}

const SHARDS: &str = r#"{"name":"sharding_indexed","configuration":{"chunk_shape":[1,2,3],"codecs":[{"name":"bytes","configuration":{"endian":"big"}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}"#;
const TURN: &str = r#"{"name":"transpose","configuration":{"order":[1,2,0]}}"#;

/// T-47: of every codec that makes bytes of arrays.
#[test]
fn the_same_elements_are_stored_as_the_same_bytes() -> Result<()> {
    check("int32", &[], |n| n as i32)?;
    check("int32", &[TURN], |n| n as i32)?;
    check("int32", &[SHARDS], |n| n as i32)?;
    check("int32", &[TURN, r#"{"name":"bytes","configuration":{"endian":"big"}}"#], |n| n as i32)?;
    #[cfg(feature = "packbits")]
    check("bool", &[r#"{"name":"packbits"}"#], |n| n % 3 == 0)?;
    #[cfg(feature = "vlen-utf8")]
    check("string", &[], |n| "é".repeat(n % 5))?;
    #[cfg(feature = "vlen-utf8")]
    check("string", &[TURN], |n| n.to_string())?;
    #[cfg(feature = "vlen-bytes")]
    check("variable_length_bytes", &[], |n| vec![n as u8; n % 4])
}
