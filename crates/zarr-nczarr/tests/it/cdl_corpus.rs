//! The corpus of specs-conformance/cdl: each CDL file beside what netCDF's own ncdump wrote of the file that ncgen made
//! of it.
#![cfg(feature = "cdl")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::thread;

use crate::common::{options, registry};
use zarr_core::Access;
use zarr_nczarr::cdl::{Document, Printing, Provenance};
use zarr_nczarr::{Dataset, NewDataset};

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

/// N-120 to N-122; the witness is ncdump 4.9.0, on HDF5.
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

/// What Zarr says otherwise than HDF5: the name of a text, what ncdump wrote, and what is printed of a dataset.
///
/// A text that is a JSON object or array is kept as JSON, whose spaces are its writer's (N-043).
const OTHERWISE: [(&str, &str, &str); 2] = [
    ("attribute_text", r#"{\"a\": [1, 2]}"#, r#"{\"a\": [1,2]}"#),
    ("demo", r#"{\"step\": [1, 2]}"#, r#"{\"step\": [1,2]}"#),
];

/// The CDL of a dataset that was made of a text, in its own store.
fn through_a_dataset(
    name: &str,
    cdl: &str,
    new: &NewDataset,
    place: &str,
    special: bool,
) -> String {
    let open = |access| registry().open_store(place, access).unwrap();
    let dataset = Dataset::create(open(Access::ReadWrite), new, &options()).unwrap();
    let document = Document::parse(cdl).unwrap();
    document.write_to(&dataset).unwrap_or_else(|error| panic!("{name}: {error}"));
    dataset.flush().unwrap();
    drop(dataset);
    let dataset = Dataset::open(open(Access::ReadOnly), &options()).unwrap();
    assert!(dataset.warnings().is_empty(), "{name}: {:?}", dataset.warnings());
    let mut printed = Vec::new();
    let specials = special.then(|| Provenance::of(&dataset).unwrap());
    let printing = Printing { specials, ..Printing::default() };
    dataset.print_cdl::<Box<dyn std::error::Error>>(name, &printing, &mut printed).unwrap();
    String::from_utf8(printed).unwrap()
}

/// N-003, N-010 to N-012, N-020, N-022, N-040 to N-043, N-045, N-046, N-060, N-063: in v2 and v3, in a folder, an archive
/// and an LMDB file.
#[test]
fn datasets_print_the_text_that_they_were_made_of() {
    let mut corpus = corpus();
    for (name, ncdump, ours) in OTHERWISE {
        let (_, dumped) = corpus.get_mut(name).unwrap();
        assert!(dumped.contains(ncdump), "{name}");
        *dumped = dumped.replace(ncdump, ours);
    }
    let formats = [("v2", NewDataset::nczarr_v2()), ("v3", NewDataset::nczarr_v3())];
    let wrong_of = |format: &str, new: &NewDataset, kind: &str| {
        let folder = tempfile::tempdir().unwrap();
        let wrong = |(name, (cdl, dumped)): (&String, &(String, String))| {
            let place = folder.path().join(format!("{name}{kind}"));
            let found = through_a_dataset(name, cdl, new, place.to_str().unwrap(), false);
            let difference = difference(&found, dumped)?;
            Some(format!("{name} in {format}{kind}: {difference}\n"))
        };
        corpus.iter().filter_map(wrong).collect::<String>()
    };
    // Most of it is waiting for disks.
    let wrong: String = thread::scope(|scope| {
        let kinds =
            formats.iter().flat_map(|format| ["", ".zip", ".lmdb"].map(|kind| (format, kind)));
        let wrong_of = &wrong_of;
        let running: Vec<_> = kinds
            .map(|((format, new), kind)| scope.spawn(move || wrong_of(format, new, kind)))
            .collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{wrong}");
}

/// N-007, N-070, N-123: what special attributes say of a dataset makes one like it.
#[test]
fn storage_comes_back() {
    let (cdl, _) = &corpus()["storage"];
    // HDF5 has these filters only as plugins.
    let filters =
        "int packed(x) ; packed:_Filter = \"307,9\" ; int dense(x) ; dense:_Filter = \"32015,3\" ;
        int blocks(x) ; blocks:_Filter = \"32001,0,0,4,0,5,1,1\" ; data:";
    let storage = cdl.replacen("data:", filters, 1);
    for (format, new) in [("v2", NewDataset::nczarr_v2()), ("v3", NewDataset::nczarr_v3())] {
        let folder = tempfile::tempdir().unwrap();
        let place = |name| folder.path().join(name).display().to_string();
        let once = through_a_dataset("storage", &storage, &new, &place("once"), true);
        for line in [
            "chunked:_ChunkSizes = 3, 4 ;",
            "deflated:_DeflateLevel = 5 ;",
            "shuffled:_Shuffle = \"true\" ;",
            "summed:_Fletcher32 = \"true\" ;",
            "big:_Endianness = \"big\" ;",
            "little:_Endianness = \"little\" ;",
            "packed:_Filter = \"307,9\" ;",
            "dense:_Filter = \"32015,3\" ;",
            "blocks:_Filter = \"32001,0,0,0,0,5,1,1\" ;",
            ":_IsNetcdf4 = 1 ;",
        ] {
            assert!(once.contains(&format!("\t\t{line}\n")), "{line} is not in {format}: {once}");
        }
        let again = through_a_dataset("storage", &once, &new, &place("again"), true);
        assert_eq!(difference(&again, &once), None, "{format}");
    }
}
