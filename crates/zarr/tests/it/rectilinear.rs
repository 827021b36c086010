//! Arrays whose chunks have different lengths are like any others.
#![cfg(all(feature = "memory", feature = "gzip", feature = "sharding", feature = "transpose"))]

use std::sync::Arc;

use proptest::prelude::*;
use zarr::format::of_dialect;
use zarr::grid::RectilinearGrid;
use zarr::store::from_sync;
use zarr::stores::MemoryStore;
use zarr::tools::CopyOptions;
use zarr::{Array, Dialect, ErrorKind, Hierarchy, Json, NodePath, OpenOptions, Region, Result};

fn hierarchy(dialect: Dialect) -> Result<Hierarchy> {
    let options = OpenOptions::new(zarr::standard()).read_write();
    Hierarchy::create(from_sync(MemoryStore::new()), of_dialect(dialect), &options)
}

fn path() -> NodePath {
    NodePath::new("/a").expect("a good path")
}

/// An array of 16-bit integers with these chunks along each axis.
fn array(axes: &[&str], shape: &[u64], codecs: &[&str]) -> Result<Array> {
    let axes: Vec<Json> =
        axes.iter().map(|text| Json::parse(text.as_bytes()).expect("JSON")).collect();
    let grid = Arc::new(RectilinearGrid::new(&axes, shape)?);
    let hierarchy = hierarchy(Dialect::V3)?;
    let builder = hierarchy.create_array(path()).shape(shape).grid(grid);
    let mut builder = builder.data_type_named("int16").fill_value(7u64);
    for codec in codecs {
        builder = builder.codec(zarr::tools::codec(codec)?);
    }
    builder.create()
}

const TURN: &str = r#"{"name":"transpose","configuration":{"order":[1,0]}}"#;

fn shards(inner: &str) -> String {
    format!(
        r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":[{inner}],"codecs":[{{"name":"bytes","configuration":{{"endian":"big"}}}}],
        "index_codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}]}}}}"#
    )
}

/// F-064: a shard's inner chunks divide every shard, not the first alone.
#[test]
fn inner_chunks_divide_every_shard() -> Result<()> {
    let good = array(&["[4,2,[6,2]]"], &[16], &[&shards("2")])?;
    let elements: Vec<i16> = (0..16).collect();
    good.write(.., &elements)?;
    good.write(5, &[50i16])?;
    assert_eq!(good.read::<i16>(3..8)?, [3, 4, 50, 6, 7]);
    for (axis, inner) in [("[4,3]", "2"), ("[2,[4,2],3]", "2"), ("[6,4]", "3"), ("[3,4]", "2")] {
        let refused = array(&[axis], &[7], &[&shards(inner)]).map(drop).expect_err(axis);
        assert!(
            matches!(refused.kind(), ErrorKind::Argument | ErrorKind::InvalidMetadata),
            "{refused}"
        );
    }
    Ok(())
}

/// F-064: a million million chunks cost no more than one.
#[test]
fn runs_are_never_written_out() -> Result<()> {
    let array = array(&["[1,[2,1000000000000]]", "3"], &[1_000_000_000_001u64, 3], &[])?;
    array.write((1_000_000_000_000u64, 0..3), &[1i16, 2, 3])?;
    assert_eq!(array.read::<i16>((999_999_999_999..1_000_000_000_001u64, 1..3))?, [7, 7, 2, 3]);
    array.resize(&[1_000_000_000_000u64, 3])?;
    array.resize(&[2_000_000_000_001u64, 3])?;
    assert_eq!(array.read::<i16>((1_000_000_000_000u64, 0))?, [7]);
    assert!(array.resize(&[2_000_000_000_002u64, 3]).is_err(), "the grid ends there");
    Ok(())
}

/// F-064: no other dialect has such grids; a copy into one needs chunks of one shape.
#[test]
fn other_dialects_have_none() -> Result<()> {
    let array = array(&["[1,2,3]"], &[6], &[])?;
    let elements = [1i16, 2, 3, 4, 5, 6];
    array.write(.., &elements)?;
    let node = array.hierarchy().node(path())?;
    for dialect in [Dialect::V2, Dialect::Draft] {
        let target = hierarchy(dialect)?;
        let refused = zarr::tools::copy(&node, &target, path(), &CopyOptions::default());
        assert_eq!(refused.expect_err("no words").kind(), ErrorKind::Unsupported, "{dialect}");
        let options = CopyOptions { chunks: Some(vec![4]), ..CopyOptions::default() };
        zarr::tools::copy(&node, &target, path(), &options)?;
        assert_eq!(target.array(path())?.read::<i16>(..)?, elements, "{dialect}");
    }
    let target = hierarchy(Dialect::V3)?;
    zarr::tools::copy(&node, &target, path(), &CopyOptions::default())?;
    assert_eq!(target.array(path())?.chunk_shape(), None);
    assert_eq!(target.array(path())?.read::<i16>(..)?, elements);
    Ok(())
}

fn within(len: u64) -> impl Strategy<Value = std::ops::Range<u64>> {
    (0..len).prop_flat_map(move |start| (Just(start), start + 1..=len)).prop_map(|(a, b)| a..b)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// F-064: any sequence of writes equals plain memory, through any codecs.
    #[test]
    fn chunks_of_any_length_are_plain_memory(
        codecs in prop::sample::select(vec![vec![], vec!["gzip:1".to_owned()], vec![TURN.into()], vec![TURN.into(), shards("2,1")], vec![shards("1,2")]]),
        steps in prop::collection::vec((within(9), within(12), 0i16..9), 1..6),
    ) {
        let codecs: Vec<&str> = codecs.iter().map(String::as_str).collect();
        let array = array(&["[1,3,[5,2]]", "[[2,2],8]"], &[9, 12], &codecs).unwrap();
        let mut model = vec![7i16; 108];
        for (rows, columns, value) in steps {
            let region = Region::new([rows.clone(), columns.clone()]);
            let count = region.element_count().unwrap() as usize;
            array.write(&region, &vec![value; count]).unwrap();
            for row in rows.clone() {
                let row = row as usize * 12;
                model[row + columns.start as usize..row + columns.end as usize].fill(value);
            }
            let part = array.read::<i16>(&region).unwrap();
            prop_assert_eq!(part, vec![value; count]);
        }
        prop_assert_eq!(array.read::<i16>(..).unwrap(), model);
    }
}
