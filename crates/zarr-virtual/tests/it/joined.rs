//! Writes references to files, and compares what is read through them with what netCDF4-python reads.

use std::fs;
use std::path::{Path, PathBuf};

use zarr_core::{
    ArrayBuilder, CoreType, Dialect, Element, Error, ErrorKind, Hierarchy, Json, Node, OpenOptions,
    Result,
};
use zarr_virtual::references::{JoinOptions, Joined, TargetUrls, join};

use crate::common::{check_array, data, expected, open, options};

/// Files in `tests/data/joined`.
fn files(kind: &str, numbers: &[u32]) -> Vec<String> {
    let name = |number| data(&format!("joined/{kind}-{number}.nc")).display().to_string();
    numbers.iter().map(name).collect()
}

fn write(joined: &Joined, path: &Path, style: TargetUrls<'_>) {
    let mut file = fs::File::create(path).unwrap();
    joined.write_json(&joined.target_urls(style).unwrap(), &mut file).unwrap();
}

/// The hierarchy of a reference file in another folder than its targets.
fn opened(path: &Path) -> Hierarchy {
    let allowed: OpenOptions = options().store_option("allow_target", "any");
    open(&path.display().to_string(), &allowed).unwrap()
}

/// Compares all arrays with their descriptions.
fn check_all(hierarchy: &Hierarchy, described: &Json) {
    let mut compared = 0;
    for node in hierarchy.nodes("/").unwrap() {
        let Node::Array(array) = node else { continue };
        let described = &described[array.path().relative()];
        compared += 1;
        match described.get("texts") {
            Some(texts) => {
                let found: Vec<String> = array.read(..).unwrap();
                let found: Json = found.into_iter().map(Json::from).collect();
                assert_eq!(found, *texts, "{}", array.path());
            }
            None => check_array(&array, described),
        }
    }
    assert_eq!(compared, described.as_object().unwrap().len());
}

fn refusal(files: &[String], options_of_join: &JoinOptions) -> Error {
    join(files, &options(), options_of_join).expect_err("refused")
}

#[test]
fn netcdf4_files_are_joined_as_netcdf4_python_reads_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("all.json");
    let files = files("nc4", &[1, 2, 3]);
    for inline in [500, 0] {
        let how = JoinOptions { inline, ..JoinOptions::default() };
        let joined = join(&files, &options(), &how).unwrap();
        assert_eq!(joined.axis.as_deref(), Some("time"));
        assert_eq!((joined.lost.len(), joined.notes.len()), (0, 0));
        assert_eq!(joined.references() > 0, inline == 0);
        write(&joined, &path, TargetUrls::Absolute);
        let hierarchy = opened(&path);
        check_all(&hierarchy, &expected("joined/expected.json")["nc4"]);
        let title = hierarchy.root().unwrap().attributes()["title"].clone();
        assert_eq!(title, "nc4-1.nc");
        let time = hierarchy.array("time").unwrap();
        assert_eq!(time.attributes()["units"], "days since 2001-01-01");
        assert_eq!(time.chunk_shape().unwrap(), [9]);
        // The chunks that no file has have no references.
        assert_eq!(hierarchy.array("temp").unwrap().stored_chunks().unwrap(), 6);
    }
}

#[test]
fn documents_are_written_in_v2() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("all.json");
    let how = JoinOptions { dialect: Some(Dialect::V2), ..JoinOptions::default() };
    for kind in ["nc4", "nc3"] {
        let joined = join(&files(kind, &[1, 2, 3]), &options(), &how).unwrap();
        assert_eq!((joined.lost.len(), joined.notes.len()), (0, 0), "{joined:?}");
        write(&joined, &path, TargetUrls::Absolute);
        let hierarchy = opened(&path);
        assert_eq!(hierarchy.dialect(), Dialect::V2);
        check_all(&hierarchy, &expected("joined/expected.json")[kind]);
        if kind == "nc4" {
            let temp = hierarchy.array("temp").unwrap();
            assert_eq!(temp.metadata().declared_fill, Json::from(-999));
            assert_eq!(temp.dimension_names().unwrap()[0].as_deref(), Some("time"));
            assert!(hierarchy.array("lat").unwrap().metadata().declared_fill.is_null());
        }
    }
}

#[test]
fn netcdf3_files_are_joined_as_netcdf4_python_reads_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("all.json");
    let joined = join(&files("nc3", &[1, 2, 3]), &options(), &JoinOptions::default()).unwrap();
    assert_eq!((joined.axis.as_deref(), joined.references()), (Some("time"), 10));
    write(&joined, &path, TargetUrls::Absolute);
    check_all(&opened(&path), &expected("joined/expected.json")["nc3"]);
}

#[test]
fn references_to_one_file_are_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("one.json");
    for (file, described) in [("classic.nc", "classic.nc"), ("cdf5.nc", "cdf5.nc")] {
        let file = data(file).display().to_string();
        let joined = join(&[file], &options(), &JoinOptions::default()).unwrap();
        assert_eq!(joined.axis, None);
        write(&joined, &path, TargetUrls::Absolute);
        check_all(&opened(&path), &expected("netcdf3.json")[described]["variables"]);
    }
}

/// All generations of HDF5; arrays that cannot be read in place are named, and the others are equal.
#[test]
fn references_to_hdf5_files_are_the_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("one.json");
    let mut lost = 0;
    for name in ["earliest", "v110", "v114", "v200", "netcdf"] {
        let parts = ["..", "zarr-hdf5", "tests", "data", &format!("{name}.h5")];
        let file: PathBuf = [env!("CARGO_MANIFEST_DIR")].iter().chain(&parts).collect();
        let file = file.display().to_string();
        let joined = join(std::slice::from_ref(&file), &options(), &JoinOptions::default());
        let joined = joined.unwrap();
        write(&joined, &path, TargetUrls::Absolute);
        let (source, written) = (open(&file, &options()).unwrap(), opened(&path));
        lost += joined.lost.len();
        let mut compared = 0;
        for node in written.nodes("/").unwrap() {
            let Node::Array(array) = node else { continue };
            let same = source.array(array.path()).unwrap();
            assert_eq!(array.attributes(), same.attributes(), "{name}: {}", array.path());
            // One with 400,000 chunks is compared elsewhere.
            if array.len() < 100_000 {
                let bytes = same.read_le_bytes(..).unwrap();
                assert_eq!(array.read_le_bytes(..).unwrap(), bytes, "{name}: {}", array.path());
            }
            compared += 1;
        }
        assert_eq!(compared, joined.arrays, "{name}");
    }
    assert!(lost > 0);
}

#[test]
fn relative_references_move_with_their_files() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old"), dir.path().join("new"));
    fs::create_dir_all(old.join("data")).unwrap();
    let mut moved = Vec::new();
    for (number, file) in files("nc4", &[1, 2, 3]).iter().enumerate() {
        let copy = old.join(format!("data/{number} é.nc"));
        fs::copy(file, &copy).unwrap();
        moved.push(copy.display().to_string());
    }
    let how = JoinOptions { inline: 0, ..JoinOptions::default() };
    let joined = join(&moved, &options(), &how).unwrap();
    assert!(joined.prefixes_to_allow(&old.join("all.json")).is_empty());
    assert_eq!(joined.prefixes_to_allow(&dir.path().join("in/all.json")).len(), 1);
    write(&joined, &old.join("all.json"), TargetUrls::RelativeTo(&old));
    fs::rename(&old, &new).unwrap();
    let hierarchy = open(&new.join("all.json").display().to_string(), &options()).unwrap();
    check_all(&hierarchy, &expected("joined/expected.json")["nc4"]);
}

/// A file of netCDF-3 with one variable, `v(time, x)`, without coordinates. Element n is n.
fn large_netcdf3(begin: u32, length: u32, width: u32) -> Vec<u8> {
    let mut bytes = b"CDF\x01".to_vec();
    let numbers = |bytes: &mut Vec<u8>, numbers: &[u32]| {
        bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    };
    numbers(&mut bytes, &[0, 10, 2, 4]);
    bytes.extend(b"time");
    numbers(&mut bytes, &[length, 1]);
    bytes.extend(b"x\0\0\0");
    // No attributes, and one variable of int with the two dimensions.
    numbers(&mut bytes, &[width, 0, 0, 11, 1, 1]);
    bytes.extend(b"v\0\0\0");
    numbers(&mut bytes, &[2, 0, 1, 0, 0, 4, length * width * 4]);
    let start = bytes.len() as u32 + 4;
    numbers(&mut bytes, &[start]);
    bytes.extend((begin * width..(begin + length) * width).flat_map(u32::to_be_bytes));
    bytes
}

#[test]
fn uncompressed_chunks_of_other_lengths_are_divided() {
    let dir = tempfile::tempdir().unwrap();
    let (mut files, mut begin) = (Vec::new(), 0);
    for length in [6, 4, 10] {
        let path = dir.path().join(format!("{length}.nc"));
        fs::write(&path, large_netcdf3(begin, length, 20_000)).unwrap();
        files.push(path.display().to_string());
        begin += length;
    }
    let joined = join(&files, &options(), &JoinOptions::default()).unwrap();
    assert_eq!((joined.axis.as_deref(), joined.references()), (Some("time"), 10));
    let path = dir.path().join("all.json");
    write(&joined, &path, TargetUrls::RelativeTo(dir.path()));
    let array = open(&path.display().to_string(), &options()).unwrap().array("v").unwrap();
    assert_eq!(array.chunk_shape().unwrap(), [2, 20_000]);
    let elements: Vec<i32> = array.read(..).unwrap();
    assert!(elements.into_iter().eq(0..400_000));
}

#[test]
fn zarr_hierarchies_are_joined() {
    for dialect in [Dialect::V2, Dialect::V3] {
        let dir = tempfile::tempdir().unwrap();
        let mut files = Vec::new();
        for number in 0..2u64 {
            let url = dir.path().join(format!("{number}.zarr")).display().to_string();
            let store = options().read_write().store(&url).unwrap();
            let format = zarr_core::format::of_dialect(dialect);
            let hierarchy = Hierarchy::create(store, format, &options().read_write()).unwrap();
            let arrays = [
                ("time", vec![4u64], vec![3u64], vec!["time"]),
                ("v", vec![4, 5], vec![2, 3], vec!["time", "x"]),
                ("x", vec![5], vec![5], vec!["x"]),
            ];
            for (name, shape, chunks, dimensions) in arrays {
                let array = hierarchy
                    .create_array(name)
                    .shape(shape)
                    .chunks(chunks)
                    .data_type(zarr_core::CoreType::Int32)
                    .dimension_names(dimensions)
                    .create()
                    .unwrap();
                let begin = if name == "x" { 0 } else { number * array.len() };
                let elements: Vec<i32> = (begin..begin + array.len()).map(|n| n as i32).collect();
                array.write(.., &elements).unwrap();
            }
            hierarchy.consolidate().unwrap();
            files.push(url);
        }
        let joined = join(&files, &options(), &JoinOptions::default()).unwrap();
        let path = dir.path().join("all.json");
        write(&joined, &path, TargetUrls::RelativeTo(dir.path()));
        let hierarchy = open(&path.display().to_string(), &options()).unwrap();
        assert_eq!(hierarchy.dialect(), dialect);
        let elements: Vec<i32> = hierarchy.array("v").unwrap().read(..).unwrap();
        assert!(elements.into_iter().eq(0..40));
        let elements: Vec<i32> = hierarchy.array("time").unwrap().read(..).unwrap();
        assert!(elements.into_iter().eq(0..8));
    }
}

/// V-100: what was written is read and compared before anybody relies on it.
#[test]
fn references_that_lead_elsewhere_are_found_when_they_are_verified() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("all.json");
    for (kind, inline) in [("nc3", 0), ("nc4", 0), ("nc4", 500)] {
        let how = JoinOptions { inline, ..JoinOptions::default() };
        let joined = join(&files(kind, &[1, 2, 3]), &options(), &how).unwrap();
        write(&joined, &path, TargetUrls::Absolute);
        assert!(joined.verify(&path, &options()).unwrap() > 10);
    }
    let joined = join(&files("nc3", &[1, 2]), &options(), &JoinOptions::default()).unwrap();
    write(&joined, &path, TargetUrls::Absolute);
    let right = fs::read_to_string(&path).unwrap();
    let compared = joined.verify(&path, &options()).unwrap();
    let first = right.find("nc3-2.nc\",").unwrap() + "nc3-2.nc\",".len();
    let wrong_offset = format!("{}1{}", &right[..first], &right[first..]);
    let wrong_file = right.replace("nc3-2.nc", "nc3-1.nc");
    let no_chunk = right.lines().filter(|line| !line.contains("nc3-2.nc")).collect::<String>();
    let other_shape = right.replacen("\\\"shape\\\":[", "\\\"shape\\\":[1", 1);
    for (what, text) in [
        ("an offset", wrong_offset),
        ("a file", wrong_file),
        ("chunks", no_chunk),
        ("a shape", other_shape),
    ] {
        assert_ne!(text, right, "{what}");
        fs::write(&path, text).unwrap();
        let error = joined.verify(&path, &options()).expect_err(what).to_string();
        assert!(
            what == "an offset" || error.contains("references that were written are wrong"),
            "{what}: {error}"
        );
    }
    fs::write(&path, right).unwrap();
    assert_eq!(joined.verify(&path, &options()).unwrap(), compared);
}

/// Of an array with many chunks some are compared, in all files.
#[test]
fn many_chunks_are_verified_by_a_sample() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for number in 0..5 {
        let (url, hierarchy) = created(dir.path(), &format!("{number}"));
        let array = hierarchy.create_array("v").shape([100, 2]).chunks([1, 2]).codec("gzip:1");
        let array = array.data_type(CoreType::Int32).dimension_names(["x", "y"]).create().unwrap();
        array.write(.., &(number * 200..number * 200 + 200).collect::<Vec<i32>>()).unwrap();
        files.push(url);
    }
    let how = JoinOptions { axis: Some("x".to_owned()), inline: 0, ..JoinOptions::default() };
    let joined = join(&files, &options(), &how).unwrap();
    let path = dir.path().join("all.json");
    write(&joined, &path, TargetUrls::Absolute);
    // Every eighth, and the last.
    assert_eq!(joined.verify(&path, &options()).unwrap(), 64);
    let right = fs::read_to_string(&path).unwrap();
    fs::write(&path, right.replace("/4/v/c/99/0\"", "/4/v/c/98/0\"")).unwrap();
    let error = joined.verify(&path, &options()).unwrap_err().to_string();
    assert!(error.contains("/v: the elements at"), "{error}");
}

#[test]
fn what_cannot_be_joined_says_why_and_what_to_do() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let nc4 = files("nc4", &[1, 2]);
    let default = JoinOptions::default();
    let with_axis =
        |axis: &str| JoinOptions { axis: Some(axis.to_owned()), ..JoinOptions::default() };
    let error = refusal(&nc4, &with_axis("lat"));
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains("--exclude"), "{error}");
    let error = refusal(&nc4, &with_axis("level")).to_string();
    assert!(error.contains("no array of") && error.contains("`lat`, `lon`"), "{error}");
    let error = refusal(&[nc4[0].clone(), nc4[0].clone()], &default).to_string();
    assert!(error.contains("is named twice"), "{error}");
    let same = dir.path().join("same.nc");
    fs::copy(&nc4[0], &same).unwrap();
    let error = refusal(&[nc4[0].clone(), same.display().to_string()], &default).to_string();
    assert!(error.contains("`--axis`"), "{error}");
    let error = refusal(&[nc4[0].clone(), files("nc3", &[2])[0].clone()], &default).to_string();
    assert!(error.contains("--axis") || error.contains("--exclude"), "{error}");
    let exclude = |path: &str| JoinOptions { exclude: vec![path.to_owned()], ..default.clone() };
    let error = refusal(&nc4, &exclude("nothing")).to_string();
    assert!(error.contains("no file has a node at /nothing"), "{error}");
    let joined = join(&nc4, &options(), &exclude("ocean"))?;
    assert_eq!(joined.arrays, 9);

    // Chunks that do not line up, too large to be inlined.
    let mut long = Vec::new();
    for length in [3, 2] {
        let path = dir.path().join(format!("{length}.nc"));
        fs::write(&path, large_netcdf3(0, 200_000, length)).unwrap();
        long.push(path.display().to_string());
    }
    let in_v2 = JoinOptions { dialect: Some(Dialect::V2), ..JoinOptions::default() };
    let error = refusal(&long, &in_v2).to_string();
    assert!(error.contains("chunks of 200000 × 2, expected 200000 × 3"), "{error}");
    assert!(error.contains("write documents of v3"), "{error}");
    assert!(error.contains("zarr append --axis x") && error.contains("--exclude /v"), "{error}");

    // References of references are not written.
    let error = refusal(&[data("kerchunk.json").display().to_string()], &default).to_string();
    assert!(error.contains("kerchunk::") && error.contains("zarr copy"), "{error}");
    let nothing = dir.path().join("nothing.nc").display().to_string();
    assert_eq!(refusal(&[nothing], &default).kind(), ErrorKind::NotFound);
    Ok(())
}

/// A new hierarchy of v3 in a folder.
fn created(dir: &Path, name: &str) -> (String, Hierarchy) {
    let url = dir.join(name).display().to_string();
    let writing = options().read_write();
    let format = zarr_core::format::of_dialect(Dialect::V3);
    let hierarchy = Hierarchy::create(writing.store(&url).unwrap(), format, &writing).unwrap();
    (url, hierarchy)
}

/// Describes an array otherwise.
type Change = fn(ArrayBuilder) -> ArrayBuilder;

/// A hierarchy with `v(time, x)` of 4 × 6 elements, and `x`, whose elements are counted from a number on.
fn measured(dir: &Path, name: &str, change: Change, first_x: i32) -> String {
    let (url, hierarchy) = created(dir, name);
    let array = hierarchy.create_array("v").shape([4, 6]).chunks([2, 6]);
    let array = array.data_type(CoreType::Int32).dimension_names(["time", "x"]);
    change(array).create().unwrap();
    let array = hierarchy.create_array("x").shape([6]).chunks([6]).data_type(CoreType::Int32);
    let array = array.dimension_names(["x"]).create().unwrap();
    array.write(.., &(first_x..first_x + 6).collect::<Vec<i32>>()).unwrap();
    url
}

/// What one document says of all files must be so in all of them.
#[test]
fn arrays_whose_elements_mean_something_else_are_not_joined() {
    let dir = tempfile::tempdir().unwrap();
    let along_time = JoinOptions { axis: Some("time".to_owned()), ..JoinOptions::default() };
    let plain: Change = |array| array.codec("gzip:1");
    let first = measured(dir.path(), "first", plain, 0);
    let cases: [(&str, Change); 9] = [
        ("shape", |array| array.codec("gzip:1").shape([4, 7])),
        ("the names of its dimensions", |array| {
            array.codec("gzip:1").dimension_names(["time", "y"])
        }),
        ("data type int32 and uint32", |array| array.codec("gzip:1").data_type(CoreType::Uint32)),
        ("codecs", |array| array.codec("gzip:1").codec("crc32c")),
        ("codecs", |array| array.codec("gzip:1").big_endian(true)),
        ("fill value 0 and 7", |array| array.codec("gzip:1").fill_value(7)),
        ("the keys of its chunks", |array| array.codec("gzip:1").separator('.')),
        ("attribute `units` is none and \"K\"", |array| {
            array.codec("gzip:1").attribute("units", "K")
        }),
        ("attribute `scale_factor` is none and 0.5", |array| {
            array.codec("gzip:1").attribute("scale_factor", 0.5)
        }),
    ];
    for (number, (what, change)) in cases.into_iter().enumerate() {
        let other = measured(dir.path(), &format!("other-{number}"), change, 0);
        let error = refusal(&[first.clone(), other], &along_time).to_string();
        assert!(error.contains("/v differs between"), "{what}: {error}");
        assert!(error.contains(what), "{what}: {error}");
    }
    // How well chunks were compressed says nothing of their elements.
    let better = measured(dir.path(), "better", |array| array.codec("gzip:9"), 0);
    join(&[first.clone(), better], &options(), &along_time).unwrap();

    let moved = measured(dir.path(), "moved", plain, 1);
    let error = refusal(&[first.clone(), moved.clone()], &along_time).to_string();
    assert!(error.contains("/x differs between") && error.contains("on other grids"), "{error}");
    let unverified = JoinOptions { verify: false, ..along_time };
    let joined = join(&[first, moved], &options(), &unverified).unwrap();
    let path = dir.path().join("all.json");
    write(&joined, &path, TargetUrls::Absolute);
    let of_first: Vec<i32> = opened(&path).array("x").unwrap().read(..).unwrap();
    assert_eq!(of_first, [0, 1, 2, 3, 4, 5]);
}

/// Hierarchies with an array `v` of these shapes, each in chunks of the shape beside it. Elements count on from one to the next.
fn counted<T: Element>(
    dir: &Path,
    name: &str,
    dimensions: [&str; 2],
    shapes: &[([u64; 2], [u64; 2])],
    (change, element): (Change, impl Fn(u64) -> T),
) -> Vec<String> {
    let mut begin = 0;
    let mut urls = Vec::new();
    for (number, (shape, chunks)) in shapes.iter().enumerate() {
        let (url, hierarchy) = created(dir, &format!("{name}-{number}"));
        let array = hierarchy.create_array("v").shape(*shape).chunks(*chunks);
        let array = array.data_type_of::<T>().dimension_names(dimensions);
        let array = change(array).create().unwrap();
        let elements: Vec<T> = (begin..begin + array.len()).map(&element).collect();
        array.write(.., &elements).unwrap();
        begin += array.len();
        urls.push(url);
    }
    urls
}

/// The elements of `v` in files that were joined along `time`, and how many references there are.
fn joined_elements<T: Element>(files: &[String], path: &Path) -> (Vec<T>, usize) {
    let along_time = JoinOptions { axis: Some("time".to_owned()), ..JoinOptions::default() };
    let joined = join(files, &options(), &along_time).unwrap();
    write(&joined, path, TargetUrls::Absolute);
    (opened(path).array("v").unwrap().read(..).unwrap(), joined.references())
}

#[test]
fn files_that_end_within_a_chunk_are_joined_if_their_chunks_can_be_divided() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("all.json");
    let rows = ["time", "x"];
    let number = |n: u64| n as i32;
    // Six rows in chunks of four: the second chunk has two.
    let shapes = [([6, 50_000], [4, 50_000]), ([4, 50_000], [4, 50_000])];
    let files = counted(dir.path(), "raw", rows, &shapes, (|array| array, number));
    let (elements, references) = joined_elements::<i32>(&files, &path);
    assert!(elements.into_iter().eq(0..500_000));
    assert_eq!(references, 5);
    // With a codec there is nothing to divide.
    let along_time = JoinOptions { axis: Some("time".to_owned()), ..JoinOptions::default() };
    let gzip: Change = |array| array.codec("gzip:1");
    let files = counted(dir.path(), "gzip", rows, &shapes, (gzip, number));
    let error = refusal(&files, &along_time).to_string();
    assert!(error.contains("raw") || error.contains("6 elements in chunks of 4"), "{error}");
    // The last file may end anywhere.
    let files: Vec<String> = files.into_iter().rev().collect();
    let (elements, references) = joined_elements::<i32>(&files, &path);
    assert!(elements.into_iter().eq((300_000..500_000).chain(0..300_000)));
    assert_eq!(references, 3);
}

/// Compressed months of one chunk each: nothing can be divided, and v3 can say how long the chunks are.
#[test]
fn compressed_chunks_of_other_lengths_are_a_rectilinear_grid() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("all.json");
    let gzip: Change = |array| array.codec("gzip:1");
    // The chunk of the last file reaches beyond its end.
    let shapes = [
        ([31, 20_000], [31, 10_000]),
        ([28, 20_000], [28, 10_000]),
        ([0, 20_000], [31, 10_000]),
        ([30, 20_000], [31, 10_000]),
    ];
    let files = counted(dir.path(), "month", ["time", "x"], &shapes, (gzip, |n| n as i32));
    let along_time = JoinOptions { axis: Some("time".to_owned()), ..JoinOptions::default() };
    let joined = join(&files, &options(), &along_time).unwrap();
    write(&joined, &path, TargetUrls::Absolute);
    assert!(joined.notes.iter().any(|note| note.contains("rectilinear")), "{:?}", joined.notes);
    assert_eq!(joined.references(), 6);
    assert!(joined.verify(&path, &options()).unwrap() >= 6);
    let array = opened(&path).array("v").unwrap();
    assert_eq!((array.shape(), array.chunk_shape()), (vec![89, 20_000], None));
    let elements: Vec<i32> = array.read(..).unwrap();
    assert!(elements.into_iter().eq(0..89 * 20_000));

    let in_v2 = JoinOptions { dialect: Some(Dialect::V2), ..along_time.clone() };
    let error = refusal(&files, &in_v2).to_string();
    assert!(error.contains("write documents of v3"), "{error}");
    // The chunk of another file than the last must not reach beyond its end.
    let files: Vec<String> = files.into_iter().rev().collect();
    let error = refusal(&files, &along_time).to_string();
    assert!(error.contains("do not line up") && !error.contains("documents of v3"), "{error}");
}

#[test]
fn chunks_are_divided_along_their_outermost_axis_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("all.json");
    let columns = ["y", "time"];
    let number = |n: u64| n as i64;
    let shapes = |rows| [([2, 60_000], [rows, 60_000]), ([2, 40_000], [rows, 40_000])];
    let expected =
        (0..60_000).chain(120_000..160_000).chain(60_000..120_000).chain(160_000..200_000);
    let files = counted(dir.path(), "one", columns, &shapes(1), (|array| array, number));
    let (elements, references) = joined_elements::<i64>(&files, &path);
    assert!(elements.into_iter().eq(expected.clone()));
    assert_eq!(references, 10);
    // Chunks of several rows stay as they are, and v2 cannot say their lengths.
    let files = counted(dir.path(), "two", columns, &shapes(2), (|array| array, number));
    let (elements, references) = joined_elements::<i64>(&files, &path);
    assert!(elements.into_iter().eq(expected));
    assert_eq!(references, 2);
    let dialect = Some(Dialect::V2);
    let in_v2 = JoinOptions { axis: Some("time".to_owned()), dialect, ..JoinOptions::default() };
    let error = refusal(&files, &in_v2).to_string();
    assert!(error.contains("chunks of 2 × 40000, expected 2 × 60000"), "{error}");
}

/// What is small is written into the reference file, in the order of the joined array.
#[test]
fn small_arrays_are_inlined_along_any_axis() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("all.json");
    let columns = ["y", "time"];
    let shapes = [([2, 3], [2, 3]), ([2, 2], [2, 2])];
    let big: Change = |array| array.big_endian(true).codec("gzip:1");
    let files = counted(dir.path(), "numbers", columns, &shapes, (big, |n| n as f64));
    let (elements, references) = joined_elements::<f64>(&files, &path);
    assert_eq!(elements, [0.0, 1.0, 2.0, 6.0, 7.0, 3.0, 4.0, 5.0, 8.0, 9.0]);
    assert_eq!(references, 0);
    // Texts have no size by which rows are told apart.
    let plain: Change = |array| array;
    let text = |n: u64| "x".repeat(n as usize);
    let files = counted(dir.path(), "texts", columns, &shapes, (plain, text));
    let dialect = Some(Dialect::V2);
    let in_v2 = JoinOptions { axis: Some("time".to_owned()), dialect, ..JoinOptions::default() };
    let error = refusal(&files, &in_v2).to_string();
    assert!(error.contains("its chunks do not line up along `time`"), "{error}");
    let rows = [([3, 2], [3, 2]), ([2, 2], [2, 2])];
    let files = counted(dir.path(), "rows", ["time", "y"], &rows, (plain, text));
    let (elements, references) = joined_elements::<String>(&files, &path);
    assert!(elements.iter().map(String::len).eq(0..10));
    assert_eq!(references, 0);
}

/// h5py stored a chunk of `m` without one of its filters, which is known only when the chunk is looked for.
#[test]
fn an_array_with_a_chunk_that_cannot_be_read_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("all.json");
    let file = |number| data(&format!("joined/skipped-{number}.h5")).display().to_string();
    for (files, good) in
        [(vec![file(1)], vec![10.0, 11.0]), (vec![file(1), file(2)], vec![10.0, 11.0, 20.0, 21.0])]
    {
        let joined = join(&files, &options(), &JoinOptions::default()).unwrap();
        assert_eq!((joined.arrays, joined.lost.len()), (2, 1), "{:?}", joined.lost);
        assert!(joined.lost[0].starts_with("/m: "), "{:?}", joined.lost);
        assert!(joined.lost[0].contains("filter"), "{:?}", joined.lost);
        write(&joined, &path, TargetUrls::Absolute);
        let hierarchy = opened(&path);
        assert_eq!(hierarchy.array("good").unwrap().read::<f64>(..).unwrap(), good);
        assert!(hierarchy.array("m").is_err());
        assert!(!fs::read_to_string(&path).unwrap().contains("\"m/"));
    }
}

/// A hierarchy with a coordinate `time` of the numbers 0 and 1, and `v(time)`.
fn period(dir: &Path, name: &str, units: &str, change: Change) -> String {
    let (url, hierarchy) = created(dir, name);
    let time = hierarchy.create_array("time").shape([2]).chunks([2]).data_type(CoreType::Int32);
    let time = time.dimension_names(["time"]).attribute("units", units).create().unwrap();
    time.write(.., &[0, 1]).unwrap();
    let array = hierarchy.create_array("v").shape([2]).chunks([2]).data_type(CoreType::Int32);
    change(array.dimension_names(["time"])).create().unwrap();
    url
}

#[test]
fn equal_numbers_of_other_units_are_other_times() {
    let dir = tempfile::tempdir().unwrap();
    let first = period(dir.path(), "first", "days since 2000-01-01", |array| array);
    let next = period(dir.path(), "next", "days since 2000-01-03", |array| array);
    let files = [first, next];
    let error = refusal(&files, &JoinOptions::default()).to_string();
    assert!(error.contains("2000-01-01") && error.contains("2000-01-03"), "{error}");
    assert!(error.contains("zarr append --axis time"), "{error}");
    // What the other advice names works.
    assert!(error.contains("`--axis time --exclude /time`"), "{error}");
    let axis = Some("time".to_owned());
    let advised = JoinOptions { axis, exclude: vec!["/time".into()], ..JoinOptions::default() };
    assert_eq!(join(&files, &options(), &advised).unwrap().arrays, 1);
}

#[test]
fn append_is_advised_only_if_it_converts() {
    let dir = tempfile::tempdir().unwrap();
    let first = period(dir.path(), "first", "days since 2000-01-01", |array| array);
    let cases: [(Change, bool); 5] = [
        (|array| array.codec("gzip:1"), true),
        (|array| array.attribute("scale_factor", 0.5), true),
        (|array| array.data_type(CoreType::Float32), false),
        (|array| array.attribute("units", "K"), false),
        (|array| array.codec("gzip:1").attribute("units", "K"), false),
    ];
    for (number, (change, is_converted)) in cases.into_iter().enumerate() {
        let units = "days since 2000-01-03";
        let other = period(dir.path(), &format!("other-{number}"), units, change);
        let error = refusal(&[first.clone(), other], &JoinOptions::default()).to_string();
        assert_eq!(error.contains("zarr append"), is_converted, "{number}: {error}");
        assert!(error.contains("--exclude"), "{number}: {error}");
    }
}
