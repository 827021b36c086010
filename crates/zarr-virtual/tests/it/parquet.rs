//! Reads references that kerchunk wrote in Parquet, in files of three rows.

use zarr_core::Node;

use crate::common::{Noise, check_array, data, expected, open, options};

#[test]
fn every_array_is_as_the_file_that_references_lead_to() {
    let described = expected("netcdf3.json");
    for url in [
        data("kerchunk.parq").display().to_string(),
        format!("kerchunk::{}", data("kerchunk.parq").display()),
    ] {
        let hierarchy = open(&url, &options()).unwrap();
        let children = hierarchy.root().unwrap().members().unwrap();
        assert!(children.len() >= 14, "{}", children.len());
        for node in children {
            let Node::Array(array) = node else { panic!("an array") };
            let name = array.path().name().unwrap();
            if name != "record_i2" {
                check_array(&array, &described["classic.nc"]["variables"][name]);
            }
        }
        // One of its chunks has no reference.
        let array = hierarchy.array("record_i2").unwrap();
        let values = array.read::<i16>(..).unwrap();
        let whole = open(&data("classic.nc").display().to_string(), &options()).unwrap();
        let mut expected = whole.array("record_i2").unwrap().read::<i16>(..).unwrap();
        let fill = array
            .fill_value()
            .map_or(0, |fill| i16::from_ne_bytes(fill.as_bytes().try_into().unwrap()));
        expected[3..6].fill(fill);
        assert_eq!(values, expected);
    }
}

/// V-122.
#[test]
fn damaged_files_never_panic() {
    let dir = tempfile::tempdir().unwrap();
    let array = dir.path().join("a");
    std::fs::create_dir(&array).unwrap();
    let documents = r#"{"metadata": {".zgroup": {"zarr_format": 2}, "a/.zarray": {"zarr_format": 2, "shape": [6], "chunks": [2],
        "dtype": "|i1", "fill_value": 0, "order": "C", "compressor": null, "filters": null}}, "record_size": 3}"#;
    std::fs::write(dir.path().join(".zmetadata"), documents).unwrap();
    let whole = std::fs::read(data("kerchunk.parq").join("record_i4/refs.0.parq")).unwrap();
    let mut noise = Noise(11);
    for round in 0..1500 {
        let mut damaged = whole.clone();
        for _ in 0..[1, 2, 20][round % 3] {
            let at = noise.below(damaged.len());
            damaged[at] = [0, 1, 0xff, noise.below(256) as u8][noise.below(4)];
        }
        std::fs::write(array.join("refs.0.parq"), &damaged).unwrap();
        let url = format!("kerchunk::{}", dir.path().display());
        let _ = open(&url, &options()).unwrap().array("a").unwrap().read::<i8>(..);
    }
}

/// Whoever erases a file asks first whether something reads from it.
#[test]
fn places_are_the_folder_and_the_files_that_its_rows_name() {
    let url = format!("kerchunk::{}", data("kerchunk.parq").display());
    let places = options().store(&url).unwrap().to_sync().places().unwrap();
    assert_eq!(places.len(), 2, "{places:?}");
    assert!(places[0].ends_with("/kerchunk.parq"), "{places:?}");
    assert!(places[1].ends_with("/classic.nc"), "{places:?}");
}
