//! Compares netCDF-3 files with what netCDF4-python reads.

use std::collections::BTreeSet;

use zarr_core::store::StoreKey;
use zarr_core::{Array, Json, Node};

use crate::common::{Noise, check_array, data, expected, open, options};

const FILES: [&str; 6] = [
    "classic.nc",
    "offset64.nc",
    "cdf5.nc",
    "alone_classic.nc",
    "alone_offset64.nc",
    "alone_cdf5.nc",
];

fn arrays(url: &str) -> Vec<Array> {
    let children = open(url, &options()).unwrap().root().unwrap().members().unwrap();
    let array = |node| match node {
        Node::Array(array) => array,
        Node::Group(group) => panic!("{} is a group", group.path()),
    };
    children.into_iter().map(array).collect()
}

#[test]
fn every_variable_is_as_netcdf_reads_it() {
    let all = expected("netcdf3.json");
    for file in FILES {
        let described = &all[file]["variables"];
        let path = data(file);
        for url in [path.display().to_string(), format!("netcdf3::{}", path.display())] {
            let arrays = arrays(&url);
            assert_eq!(arrays.len(), described.as_object().unwrap().len());
            for array in arrays {
                let described = &described[array.path().name().unwrap()];
                check_array(&array, described);
                let names = array.dimension_names().unwrap_or_default();
                let names: Json = names.into_iter().flatten().map(Json::from).collect();
                assert_eq!(names, described["dimensions"], "{file} {}", array.path());
            }
        }
    }
}

#[test]
fn attributes_keep_their_values() {
    let hierarchy = open(&data("cdf5.nc").display().to_string(), &options()).unwrap();
    let root = hierarchy.root().unwrap();
    let attributes = root.attributes();
    assert_eq!(attributes["title"], "Zeit und Größe");
    assert_eq!(attributes["number"].as_i64(), Some(-5));
    assert_eq!(attributes["numbers"][2].as_f64(), Some(1e300));
    let masked = hierarchy.array("masked").unwrap();
    assert_eq!(masked.fill_value().unwrap().as_bytes(), (-999.5f32).to_ne_bytes());
    // xarray's form: a double in base64.
    assert_eq!(masked.attributes()["_FillValue"], "AAAAAAA8j8A=");
    assert_eq!(masked.attributes()["missing_value"].to_string(), "NaN");
}

/// V-062: where chunks lie.
#[test]
fn records_are_padded_unless_their_variable_is_alone() {
    let url = format!("netcdf3::{}", data("classic.nc").display());
    let store = options().store(&url).unwrap().to_sync();
    let all = store.list().unwrap();
    assert!(all.contains(&StoreKey::new("record_i1/c/3/0").unwrap()));
    assert_eq!(all.iter().filter(|key| key.as_str().starts_with("record_i2/c/")).count(), 4);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    for key in &all {
        assert!(store.value(key).unwrap().is_some(), "{key}");
    }
    for absent in ["record_i1/c/4/0", "record_i1/c/00/0", "record_i1/c/0", "x/zarr.json", "c/0"] {
        assert_eq!(store.value(&StoreKey::new(absent).unwrap()).unwrap(), None, "{absent}");
    }
}

#[test]
fn writing_is_refused_and_says_how_to_copy() {
    let error =
        open(&data("classic.nc").display().to_string(), &options().read_write()).unwrap_err();
    assert!(error.to_string().contains("zarr copy"), "{error}");
    assert_eq!(error.kind(), zarr_core::ErrorKind::ReadOnly);
    let url = format!("netcdf3::{}", data("classic.nc").display());
    assert!(options().read_write().store(&url).unwrap_err().to_string().contains("zarr copy"));
}

#[test]
fn a_file_that_ends_too_early_is_an_error_where_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let whole = std::fs::read(data("classic.nc")).unwrap();
    let path = dir.path().join("x.nc");
    std::fs::write(&path, &whole[..whole.len() - 100]).unwrap();
    let url = path.display().to_string();
    let broken = arrays(&url).into_iter().filter_map(|array| array.read_le_bytes(..).err());
    let messages: Vec<String> = broken.map(|e| e.to_string()).collect();
    assert!(!messages.is_empty());
    assert!(messages.iter().all(|message| message.contains("bytes at offset")), "{messages:?}");
}

/// V-122.
#[test]
fn damaged_files_never_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.nc");
    let url = format!("netcdf3::{}", path.display());
    let mut noise = Noise(7);
    for file in FILES {
        let whole = std::fs::read(data(file)).unwrap();
        for round in 0..300 {
            let mut damaged = whole.clone();
            for _ in 0..[2, 20, 200][round % 3] {
                let at = noise.below(if round % 2 == 0 {
                    damaged.len().min(200)
                } else {
                    damaged.len()
                });
                damaged[at] = [0, 1, 0xff, noise.below(256) as u8][noise.below(4)];
            }
            damaged.truncate(
                noise.below(damaged.len()).max(damaged.len() - noise.below(300).min(damaged.len())),
            );
            std::fs::write(&path, &damaged).unwrap();
            let Ok(hierarchy) = open(&url, &options()) else { continue };
            let Ok(children) = hierarchy.root().and_then(|group| group.members()) else { continue };
            for node in children {
                if let Node::Array(array) = node
                    && array.len() < 1 << 20
                {
                    let _ = array.read_le_bytes(..);
                }
            }
        }
    }
}
