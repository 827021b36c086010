//! Chunks, shards and codecs of a copy that are given by the names of arrays and dimensions, or as sizes.
#![cfg(all(feature = "memory", feature = "gzip", feature = "zstd", feature = "sharding"))]

use std::sync::Arc;

use zarr::format::of_dialect;
use zarr::store::{Store, from_sync};
use zarr::stores::MemoryStore;
use zarr::tools::{CodecRule, CopyOptions, Plan, ShapeRule};
use zarr::{Array, Dialect, ErrorKind, Hierarchy, Node, OpenOptions};

fn begun(dialect: Dialect) -> Hierarchy {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let options = OpenOptions::new(zarr::standard()).read_write();
    Hierarchy::create(store, of_dialect(dialect), &options).unwrap()
}

/// Path, dimensions, shape, chunks.
type Described = (&'static str, &'static [&'static str], &'static [u64], &'static [u64]);

/// The arrays of the hierarchy, in the order of their paths.
const ARRAYS: [Described; 8] = [
    ("/deep/depth", &["depth"], &[6], &[6]),
    ("/deep/t2m", &["time", "depth"], &[40, 6], &[10, 3]),
    ("/lat", &["lat"], &[20], &[20]),
    ("/lon", &["lon"], &[30], &[30]),
    ("/mask", &["lat", "lon"], &[20, 30], &[20, 30]),
    ("/pr", &["time", "lat", "lon"], &[40, 20, 30], &[10, 10, 10]),
    ("/t2m", &["time", "lat", "lon"], &[40, 20, 30], &[10, 10, 10]),
    ("/time", &["time"], &[40], &[8]),
];

/// As a model writes it: variables of time, lat and lon with their coordinates, and a group with more.
fn climate(dialect: Dialect) -> Hierarchy {
    let hierarchy = begun(dialect);
    hierarchy.create_group("/deep", zarr::Object::new()).unwrap();
    for (path, dimensions, shape, chunks) in ARRAYS {
        let builder = hierarchy.create_array(path).shape(shape).chunks(chunks);
        let builder = builder.data_type_named("<i4").dimension_names(dimensions.iter().copied());
        let array = builder.codec(zarr::tools::codec("gzip:1").unwrap()).create().unwrap();
        let count: u64 = shape.iter().product();
        let elements: Vec<u8> = (1..=count as u32).flat_map(u32::to_le_bytes).collect();
        array.write_le_bytes(.., &elements).unwrap();
    }
    hierarchy
}

fn dimension(name: &str, len: u64) -> ShapeRule {
    ShapeRule::Dimension { name: name.into(), len }
}

fn array_shape(array: &str, shape: &[u64]) -> ShapeRule {
    ShapeRule::Array { array: array.into(), shape: shape.to_vec() }
}

fn array_dimension(array: &str, dimension: &str, len: u64) -> ShapeRule {
    ShapeRule::ArrayDimension { array: array.into(), dimension: dimension.into(), len }
}

fn chunked(rules: &[ShapeRule]) -> CopyOptions<'static> {
    CopyOptions { chunk_rules: rules.to_vec(), ..CopyOptions::default() }
}

fn planned(source: &Hierarchy, options: &CopyOptions<'_>) -> zarr::Result<Plan> {
    let root = source.node("/").unwrap();
    zarr::tools::plan_copy(&root, &begun(source.dialect()), "/", options)
}

/// Copies all, and checks that elements are kept, that these arrays have these chunks and all others their own, and that only
/// the changed ones are encoded again.
#[track_caller]
fn check(dialect: Dialect, options: &CopyOptions<'_>, changed: &[(&str, &[u64])]) -> Hierarchy {
    let (source, target) = (climate(dialect), begun(dialect));
    let root = source.node("/").unwrap();
    let plan = zarr::tools::plan_copy(&root, &target, "/", options).unwrap();
    let mut recoded: Vec<String> = plan.recoded().map(|(path, _)| path.to_string()).collect();
    recoded.sort();
    let names: Vec<&str> = changed.iter().map(|(path, _)| *path).collect();
    assert_eq!(recoded, names, "{:?}", options.chunk_rules);
    zarr::tools::copy(&root, &target, "/", options).unwrap();
    for (path, _, _, chunks) in ARRAYS {
        let (from, to) = (source.array(path).unwrap(), target.array(path).unwrap());
        let due = changed.iter().find(|(it, _)| *it == path).map_or(chunks, |(_, due)| due);
        assert_eq!(to.metadata().inner_chunk_shape().as_deref(), Some(due), "{path}");
        assert_eq!(to.read_bytes(..).unwrap(), from.read_bytes(..).unwrap(), "{path}");
        assert_eq!(to.metadata().dimension_names, from.metadata().dimension_names, "{path}");
    }
    target
}

#[test]
fn a_dimension_gets_its_length_in_all_arrays_but_coordinates() {
    for dialect in [Dialect::V3, Dialect::V2] {
        check(
            dialect,
            &chunked(&[dimension("time", 20), dimension("lat", 5)]),
            &[
                ("/deep/t2m", &[20, 3]),
                ("/mask", &[5, 30]),
                ("/pr", &[20, 5, 10]),
                ("/t2m", &[20, 5, 10]),
            ],
        );
    }
}

#[test]
fn a_coordinate_is_changed_if_it_is_named_itself() {
    let rules = [array_dimension("time", "time", 40)];
    check(Dialect::V3, &chunked(&rules), &[("/time", &[40])]);
    check(Dialect::V3, &chunked(&[array_shape("/time", &[40])]), &[("/time", &[40])]);
    // A shape for all arrays of one axis is one for coordinates, too.
    let plain = CopyOptions { chunks: Some(vec![40]), ..CopyOptions::default() };
    let all: [(&str, &[u64]); 4] =
        [("/deep/depth", &[40]), ("/lat", &[40]), ("/lon", &[40]), ("/time", &[40])];
    check(Dialect::V3, &plain, &all);
    check(Dialect::V3, &chunked(&[ShapeRule::Shape(vec![40])]), &all);
}

#[test]
fn a_coordinate_that_keeps_its_chunks_is_told() {
    let source = climate(Dialect::V3);
    let plan = planned(&source, &chunked(&[dimension("time", 20)])).unwrap();
    let said = "/time: the coordinate keeps its chunks; `--chunks time:time=20` gives it others"
        .to_owned();
    assert_eq!(plan.notes(), [said]);
    let named = chunked(&[dimension("time", 20), array_dimension("time", "time", 20)]);
    assert_eq!(planned(&source, &named).unwrap().notes(), [] as [String; 0]);
    // It has them already.
    let same = chunked(&[dimension("time", 8)]);
    assert_eq!(planned(&source, &same).unwrap().notes(), [] as [String; 0]);
}

#[test]
fn the_most_specific_rule_counts_whatever_the_order() {
    let mut rules = vec![
        ShapeRule::Size(1 << 20),
        ShapeRule::Shape(vec![40, 20, 30]),
        dimension("time", 20),
        array_shape("t2m", &[5, 5, 5]),
        array_shape("/deep/t2m", &[40, 6]),
        array_dimension("t2m", "time", 4),
        array_dimension("/t2m", "lat", 2),
    ];
    for _ in 0..2 {
        check(
            Dialect::V3,
            &chunked(&rules),
            &[("/deep/t2m", &[4, 6]), ("/pr", &[20, 20, 30]), ("/t2m", &[4, 2, 5])],
        );
        rules.reverse();
    }
}

#[test]
fn a_name_means_all_arrays_of_that_name_and_a_path_one() {
    let both = chunked(&[array_dimension("t2m", "time", 40)]);
    check(Dialect::V3, &both, &[("/deep/t2m", &[40, 3]), ("/t2m", &[40, 10, 10])]);
    let one = chunked(&[array_dimension("deep/t2m", "time", 40)]);
    check(Dialect::V3, &one, &[("/deep/t2m", &[40, 3])]);
}

#[test]
fn a_size_keeps_the_aspect_and_leaves_coordinates() {
    // 2,000 elements: 10 × 10 × 10 becomes 12 × 12 × 12; one chunk of 600 is enough as it is, though as a cube.
    check(
        Dialect::V3,
        &chunked(&[ShapeRule::Size(8_000)]),
        &[("/deep/t2m", &[40, 6]), ("/pr", &[12, 12, 12]), ("/t2m", &[12, 12, 12])],
    );
    // A given length stays, and the others share what is left: 2,000 / 40 = 50.
    let rules = [
        ShapeRule::ArraySize { array: "/t2m".into(), bytes: 8_000 },
        array_dimension("t2m", "time", 40),
    ];
    check(Dialect::V3, &chunked(&rules), &[("/deep/t2m", &[40, 3]), ("/t2m", &[40, 7, 7])]);
}

#[test]
fn a_name_of_one_array_without_names_of_axes_is_found() {
    let (source, target) = (begun(Dialect::V3), begun(Dialect::V3));
    source.create_array("/x").shape(&[8]).chunks(&[2]).data_type_named("<i4").create().unwrap();
    let root = source.node("/").unwrap();
    zarr::tools::copy(&root, &target, "/", &chunked(&[dimension("x", 4)])).unwrap();
    assert_eq!(target.array("/x").unwrap().chunk_shape(), Some(vec![4]));
}

#[test]
fn mistakes_are_named_before_anything_is_written() {
    let source = climate(Dialect::V3);
    let cases: [(&[ShapeRule], &str); 9] = [
        (
            &[dimension("tme", 3)],
            "chunks: no array or dimension below / is named `tme`; did you mean `time`?",
        ),
        (&[array_shape("t3m", &[1, 1, 1])], "no array below / is named `t3m`; did you mean `t2m`?"),
        (&[array_shape("xyzzy", &[1])], "there are `deep/depth`, `deep/t2m`, `depth`, `lat`"),
        (
            &[array_dimension("mask", "time", 3)],
            "array `mask` has no dimension `time`, but `lat`, `lon`",
        ),
        (&[array_shape("mask", &[1])], "chunks of 1 axis for /mask, which has 2 axes"),
        (&[dimension("mask", 1)], "chunks of 1 axis for /mask, which has 2 axes"),
        (&[ShapeRule::Shape(vec![1; 5])], "chunks (1, 1, 1, 1, 1): no array has 5 axes"),
        (
            &[dimension("time", 3), dimension("time", 4)],
            "two different chunks along `time` are given for /deep/t2m",
        ),
        (&[dimension("time", 0)], "/deep/t2m: invalid chunk length 0; the minimum is 1"),
    ];
    for (rules, why) in cases {
        let e = planned(&source, &chunked(rules)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Argument, "{e}");
        assert!(e.to_string().contains(why), "{e}\n{why}");
    }
    // A rule for what is not copied is a mistake, too.
    let options =
        CopyOptions { exclude: vec!["pr".into()], ..chunked(&[array_dimension("pr", "lat", 2)]) };
    let e = planned(&source, &options).unwrap_err();
    assert!(e.to_string().contains("no array below / is named `pr`"), "{e}");
}

#[test]
fn an_array_that_keeps_its_chunks_is_copied_undecoded() {
    let (source, target) = (climate(Dialect::V3), begun(Dialect::V3));
    let key = |array: &Array| array.chunk(&[0, 0]).unwrap().key().unwrap();
    let mask = source.array("/mask").unwrap();
    let store = source.store().to_sync();
    let broken = Some(b"no such chunk"[..].into());
    store.put(&key(&mask), broken, zarr::store::Precondition::Always).unwrap();
    let options = chunked(&[dimension("time", 20)]);
    zarr::tools::copy(&source.node("/").unwrap(), &target, "/", &options).unwrap();
    let copied = target.store().to_sync().value(&key(&target.array("/mask").unwrap())).unwrap();
    assert_eq!(copied.as_deref(), Some(&b"no such chunk"[..]));
}

fn shards(hierarchy: &Hierarchy, path: &str) -> Option<Vec<u64>> {
    hierarchy.array(path).unwrap().metadata().shard_shape()
}

#[test]
fn shards_by_name_are_built_on_the_chunks() {
    let options = CopyOptions {
        shard_rules: vec![dimension("time", 40), array_shape("pr", &[20, 20, 30])],
        ..chunked(&[array_dimension("/t2m", "lat", 5)])
    };
    let target = check(
        Dialect::V3,
        &options,
        &[("/deep/t2m", &[10, 3]), ("/pr", &[10, 10, 10]), ("/t2m", &[10, 5, 10])],
    );
    assert_eq!(shards(&target, "/t2m"), Some(vec![40, 5, 10]));
    assert_eq!(shards(&target, "/pr"), Some(vec![20, 20, 30]));
    assert_eq!(shards(&target, "/mask"), None);
    // 10 × 10 × 10 of 4 bytes: eight chunks are 32 kB.
    let sized = CopyOptions {
        shard_rules: vec![ShapeRule::ArraySize { array: "pr".into(), bytes: 35_000 }],
        ..CopyOptions::default()
    };
    let target = check(Dialect::V3, &sized, &[("/pr", &[10, 10, 10])]);
    assert_eq!(shards(&target, "/pr"), Some(vec![20, 20, 20]));
    let uneven = CopyOptions {
        shard_rules: vec![array_dimension("pr", "time", 15)],
        ..CopyOptions::default()
    };
    let e = planned(&climate(Dialect::V3), &uneven).unwrap_err();
    assert!(e.to_string().contains("is not a multiple of the chunk shape"), "{e}");
}

/// What is not named keeps its shards; so does what only gets other codecs.
#[test]
fn shards_that_no_rule_is_about_stay() {
    let sharded = begun(Dialect::V3);
    let options = CopyOptions {
        shard_rules: vec![ShapeRule::Shape(vec![20, 20, 30])],
        ..CopyOptions::default()
    };
    zarr::tools::copy(&climate(Dialect::V3).node("/").unwrap(), &sharded, "/", &options).unwrap();
    let copied = |options: &CopyOptions<'_>| {
        let target = begun(Dialect::V3);
        let root = sharded.node("/").unwrap();
        let plan = zarr::tools::plan_copy(&root, &target, "/", options).unwrap();
        zarr::tools::copy(&root, &target, "/", options).unwrap();
        let recoded: Vec<String> = plan.recoded().map(|(path, _)| path.to_string()).collect();
        (target, recoded, plan.notes().to_vec())
    };
    let (target, recoded, _) = copied(&chunked(&[array_dimension("/t2m", "time", 5)]));
    assert_eq!(recoded, ["/t2m"]);
    assert_eq!(shards(&target, "/t2m"), Some(vec![20, 20, 30]));
    assert_eq!(shards(&target, "/pr"), Some(vec![20, 20, 30]));
    assert_eq!(target.array("/t2m").unwrap().metadata().inner_chunk_shape(), Some(vec![5, 10, 10]));

    let (target, recoded, notes) = copied(&chunked(&[array_dimension("/t2m", "time", 7)]));
    assert_eq!((shards(&target, "/t2m"), recoded), (None, vec!["/t2m".to_owned()]));
    let said =
        "/t2m: its shards of (20, 20, 30) are not made of whole chunks of the copy, which has none";
    assert!(notes[0].starts_with(said), "{notes:?}");

    let codec = CodecRule { array: "/t2m".into(), codecs: vec!["zstd:1".into()] };
    let options = CopyOptions { codec_rules: vec![codec], ..CopyOptions::default() };
    let (target, recoded, _) = copied(&options);
    assert_eq!(
        (shards(&target, "/t2m"), recoded),
        (Some(vec![20, 20, 30]), vec!["/t2m".to_owned()])
    );
}

#[test]
fn codecs_by_name_count_more_than_those_for_all() {
    let rule = |array: &str, codecs: &[&str]| CodecRule {
        array: array.into(),
        codecs: codecs.iter().map(|&text| text.to_owned()).collect(),
    };
    let options = CopyOptions {
        codecs: Some(vec!["gzip:1".into()]),
        codec_rules: vec![rule("t2m", &["zstd:3"]), rule("/t2m", &[])],
        ..CopyOptions::default()
    };
    let target = check(Dialect::V3, &options, &[("/deep/t2m", &[10, 3]), ("/t2m", &[10, 10, 10])]);
    let codecs = |path: &str| -> Vec<String> {
        let metadata = target.array(path).unwrap().metadata();
        metadata.codecs.iter().map(|codec| codec.name.clone()).collect()
    };
    assert_eq!(codecs("/deep/t2m"), ["bytes", "zstd"]);
    assert_eq!(codecs("/t2m"), ["bytes"]);
    assert_eq!(codecs("/pr"), ["bytes", "gzip"]);
    let unknown = CopyOptions { codec_rules: vec![rule("pt", &[])], ..CopyOptions::default() };
    let e = planned(&climate(Dialect::V3), &unknown).unwrap_err();
    assert!(e.to_string().contains("codecs: no array below / is named `pt`"), "{e}");
}

/// The rules are part of what was asked: a copy goes on with them, and with no others.
#[test]
fn a_copy_goes_on_with_the_rules_with_which_it_was_begun() {
    let (source, target) = (climate(Dialect::V3), begun(Dialect::V3));
    let root = source.node("/").unwrap();
    let codec = CodecRule { array: "pr".into(), codecs: vec!["zstd:1".into()] };
    let asked = CopyOptions {
        shard_rules: vec![array_shape("pr", &[40, 20, 30])],
        codec_rules: vec![codec],
        parts: Some(2),
        ..chunked(&[dimension("time", 20), ShapeRule::Size(1_000), array_shape("pr", &[5, 5, 5])])
    };
    zarr::tools::plan_copy(&root, &target, "/", &asked).unwrap().begin(&target, &asked).unwrap();
    let other = CopyOptions { resume: true, ..chunked(&[dimension("time", 10)]) };
    let e = zarr::tools::copy(&root, &target, "/", &other).unwrap_err();
    assert!(
        e.to_string().contains("the unfinished copy here is a different one: its `chunk_rules`"),
        "{e}"
    );
    let same = CopyOptions { resume: true, ..CopyOptions::default() };
    zarr::tools::copy(&root, &target, "/", &same).unwrap();
    let pr = target.array("/pr").unwrap();
    assert_eq!(pr.metadata().inner_chunk_shape(), Some(vec![5, 5, 5]));
    assert_eq!(pr.metadata().shard_shape(), Some(vec![40, 20, 30]));
    assert_eq!(pr.read_bytes(..).unwrap(), source.array("/pr").unwrap().read_bytes(..).unwrap());
}

#[test]
fn a_single_array_is_called_by_its_name() {
    let (source, target) = (climate(Dialect::V3), begun(Dialect::V3));
    let t2m = Node::Array(source.array("/deep/t2m").unwrap());
    zarr::tools::copy(&t2m, &target, "/a", &chunked(&[array_dimension("t2m", "depth", 2)]))
        .unwrap();
    assert_eq!(target.array("/a").unwrap().chunk_shape(), Some(vec![10, 2]));
}
