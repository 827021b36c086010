//! CDL that netCDF's own programs wrote, in specs-conformance/families: read and written again, it is the same. The runner of
//! specs-conformance asks the same of what netcdf-c's tests hold.
#![cfg(feature = "cdl")]

use std::fs;
use std::path::PathBuf;

use zarr_core::Json;
use zarr_nczarr::cdl::{Document, Printing};

fn family() -> Json {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../specs-conformance/families/nczarr-v2.cdl.json");
    Json::parse(&fs::read(path).unwrap()).unwrap()
}

/// The texts that ncdump wrote, by case, and the CDL that the dataset was made of.
fn stored() -> Vec<(String, String, Option<String>)> {
    let mut texts = Vec::new();
    let text = |case: &Json, key: &str| {
        let text = case
            .as_object()
            .and_then(|case| case.get(key))
            .and_then(Json::as_str)
            .unwrap_or_default();
        Some(text.to_owned()).filter(|text| !text.is_empty())
    };
    for (name, case) in family().as_object().unwrap().iter() {
        for key in ["cdl", "cdl_special"] {
            texts.extend(text(case, key).map(|cdl| (format!("{name} {key}"), cdl, None)));
        }
        if let Some(twin) = text(case, "cdl_of_hdf5_twin") {
            texts.push((format!("{name} twin"), twin, text(case, "source_cdl")));
        }
    }
    texts
}

/// What ncdump would write of the dataset that `cdl` makes: its header only, and with special attributes, if `like` is
/// so.
fn printed(cdl: &str, like: &str) -> String {
    let document = Document::parse(cdl).unwrap_or_else(|error| panic!("{error}\n{cdl}"));
    let specials = like.contains(":_Storage = ").then(|| document.provenance.clone());
    let header_only = !like.contains("\ndata:\n");
    let printing = Printing { header_only, specials, ..Printing::default() };
    let mut printed = Vec::new();
    document.print(&printing, &mut printed).unwrap();
    String::from_utf8(printed).unwrap()
}

/// That both are the same; if not, the first line where they differ.
fn assert_same(found: &str, wanted: &str, what: &str) {
    for (number, (found, wanted)) in found.lines().zip(wanted.lines()).enumerate() {
        assert_eq!(found, wanted, "{what}, line {}", number + 1);
    }
    assert_eq!(found.len(), wanted.len(), "{what}");
}

/// N-120 to N-123.
#[test]
fn what_ncdump_wrote_is_written_again() {
    let stored = stored();
    assert!(stored.len() >= 10, "{}", stored.len());
    for (name, cdl, source) in stored {
        assert_same(&printed(&cdl, &cdl), &cdl, &name);
        if let Some(source) = source {
            assert_same(&printed(&source, &cdl), &cdl, &format!("{name}, from its source"));
        }
    }
}
