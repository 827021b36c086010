//! CDL texts, and datasets of NCZarr.

use zarr::nczarr::cdl::{Document, Printing};
use zarr::nczarr::schema::{Group, Variable};
use zarr::nczarr::{Dataset, DatasetOptions, NewDataset, Type};

use crate::driver::{note, noted};
use crate::input;

/// Elements of a dataset beyond which only its definitions are printed, and of a chunk beyond which it is not written.
const MOST_ELEMENTS: u64 = 10_000;

fn elements(root: &Group, group: &Group) -> u64 {
    let shapes = group.variables.iter().map(|variable| {
        let dimensions = variable.dimensions.iter().map(|path| root.dimension(path));
        dimensions.map(|dimension| dimension.map_or(0, |dimension| dimension.len))
    });
    let own = shapes.map(|shape| shape.fold(1, u64::saturating_mul));
    own.chain(group.groups.iter().map(|group| elements(root, group))).fold(0, u64::saturating_add)
}

/// Whether each variable of the tree is one that `holds` is true of.
fn all_variables(group: &Group, holds: &impl Fn(&Variable) -> bool) -> bool {
    group.variables.iter().all(holds)
        && group.groups.iter().all(|group| all_variables(group, holds))
}

/// Whether NULs at the end of a row of characters are read as they were: they are not printed (N-063), and rows that are too short get the fill
/// value.
fn fills_with_nul(variable: &Variable) -> bool {
    variable.ty != Type::Char || variable.attribute("_FillValue").is_none()
}

/// Whether a chunk of the variable is small.
fn has_small_chunks(variable: &Variable) -> bool {
    let chunks = variable.storage.chunks.iter();
    chunks.copied().fold(1, u64::saturating_mul) <= MOST_ELEMENTS
}

fn printing(root: &Group) -> Printing {
    Printing { header_only: elements(root, root) > MOST_ELEMENTS, ..Printing::default() }
}

/// The lines of a header, each up to what it says of the number of records.
fn without_counts(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.split(" = UNLIMITED ; // (").next().unwrap_or(line)).collect()
}

/// A CDL text: what is printed of it is printed the same when it is read again; and it is made a dataset.
pub fn cdl(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some(document) = noted(Document::parse(text)) else { return };
    let printing = printing(&document.root);
    let mut printed = Vec::new();
    document.print(&printing, &mut printed).expect("memory takes it");
    let printed = String::from_utf8(printed).expect("CDL is text");
    // Names that netCDF does not allow are not read again.
    if let Ok(again) = Document::parse(&printed) {
        let mut twice = Vec::new();
        again.print(&printing, &mut twice).expect("memory takes it");
        let third = String::from_utf8(twice).expect("CDL is text");
        if printing.header_only {
            // How many records there are is known by the data.
            assert_eq!(without_counts(&third), without_counts(&printed));
        } else if all_variables(&document.root, &fills_with_nul) {
            assert_eq!(third, printed);
        }
    }
    if printing.header_only || !all_variables(&document.root, &has_small_chunks) {
        return;
    }
    let options = DatasetOptions::of(input::options().read_write());
    let store = input::store(&[]);
    let Ok(dataset) = Dataset::create(store.clone(), &NewDataset::nczarr_v3(), &options) else {
        return;
    };
    if document.write_to(&dataset).is_ok() {
        Dataset::open(store, &options).expect("what was written is read");
    }
}

/// Documents of a dataset; an input of one file is `.zattrs` of the root.
pub fn nczarr(data: &[u8]) {
    let mut files = input::files(data, ".zattrs");
    let has = |name: &str| files.iter().any(|(key, _)| *key == name);
    if !has(".zgroup") && !has("zarr.json") && !has(".zarray") {
        files.push((".zgroup", br#"{"zarr_format":2}"#));
    }
    let store = input::store(&files);
    let options = DatasetOptions::of(input::options());
    let Some(dataset) = noted(Dataset::open(store.clone(), &options)) else { return };
    let schema = dataset.schema();
    dataset.warnings().iter().for_each(note);
    schema.opaque.iter().for_each(|opaque| note(&opaque.why));
    let mut out = Vec::new();
    let printing = printing(&schema);
    let _ = dataset.print_cdl::<Box<dyn std::error::Error>>("x", &printing, &mut out);
    std::str::from_utf8(&out).expect("CDL is text");
    let _ = dataset.plan_copy(&NewDataset::nczarr_v3()).map(|plan| plan.lost);
    let strict = DatasetOptions::of(input::options().strict());
    let _ = Dataset::open(store, &strict);
}
