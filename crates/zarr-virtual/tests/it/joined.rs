//! Writes references to files, and compares what is read through them with what netCDF4-python reads.

use std::fs;
use std::path::{Path, PathBuf};

use zarr_core::{Dialect, Error, ErrorKind, Hierarchy, Json, Node, OpenOptions, Result};
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
    let error = refusal(&long, &default).to_string();
    assert!(error.contains("chunks of 200000 × 2, expected 200000 × 3"), "{error}");
    assert!(error.contains("zarr append --axis x") && error.contains("--exclude /v"), "{error}");

    // References of references are not written.
    let error = refusal(&[data("kerchunk.json").display().to_string()], &default).to_string();
    assert!(error.contains("kerchunk::") && error.contains("zarr copy"), "{error}");
    let nothing = dir.path().join("nothing.nc").display().to_string();
    assert_eq!(refusal(&[nothing], &default).kind(), ErrorKind::NotFound);
    Ok(())
}
