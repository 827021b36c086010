//! The corpus of specs-conformance/cdl: each CDL file beside what netCDF's own ncdump wrote of the file that ncgen made
//! of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use zarr_nczarr::cdl::{Document, Printing};

/// The texts by name, and what ncdump wrote.
fn corpus() -> BTreeMap<String, (String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../specs-conformance/cdl");
    let mut corpus = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "cdl") {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let dumped = fs::read_to_string(path.with_extension("ncdump")).unwrap();
            corpus.insert(name, (fs::read_to_string(path).unwrap(), dumped));
        }
    }
    corpus
}

fn printed(name: &str, cdl: &str) -> String {
    let document = Document::parse(cdl).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut printed = Vec::new();
    document.print(&Printing::default(), &mut printed).unwrap();
    String::from_utf8(printed).unwrap()
}

/// The first line where the texts differ.
fn difference(found: &str, wanted: &str) -> Option<String> {
    let lines = found.lines().map(Some).chain([None]);
    let pairs = lines.zip(wanted.lines().map(Some).chain([None])).enumerate();
    let mut pairs = pairs.filter(|(_, (found, wanted))| found != wanted);
    pairs.next().map(|(at, (found, wanted))| format!("line {}: {found:?}, not {wanted:?}", at + 1))
}

/// N-120 to N-123; the witness is ncdump 4.9.0, on HDF5.
#[test]
fn ncdump_writes_the_same() {
    let corpus = corpus();
    assert!(corpus.len() >= 40, "{}", corpus.len());
    let mut wrong = Vec::new();
    for (name, (cdl, dumped)) in &corpus {
        if let Some(difference) = difference(&printed(name, cdl), dumped) {
            wrong.push(format!("{name}: {difference}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_printed_is_read_as_the_same() {
    for (name, (cdl, _)) in corpus() {
        let once = printed(&name, &cdl);
        assert_eq!(difference(&printed(&name, &once), &once), None, "{name}");
    }
}
