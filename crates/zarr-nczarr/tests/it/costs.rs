//! Counts the calls of a store that a dataset takes.
#![cfg(feature = "cdl")]

use std::collections::HashMap;
use std::fmt::Write;

use crate::common::{holding, memory, options, registry};
use zarr_core::store::StoreKey;
use zarr_core::{Hierarchy, NodePath, OpenOptions};
use zarr_nczarr::cdl::Document;
use zarr_nczarr::{Dataset, NewDataset, narrow_characters};
use zarr_testkit::record;

/// The variables and groups of a text are listed in few writes of a document, however many there are.
#[test]
fn a_text_is_made_in_time_proportional_to_its_variables() {
    for new in [NewDataset::nczarr_v2(), NewDataset::nczarr_v3()] {
        let written = [8, 64].map(|count| {
            let mut text = "netcdf x {\ndimensions: t = UNLIMITED ; ".to_owned();
            for n in 0..count {
                let _ = write!(text, "d{n} = 2 ; ");
            }
            text.push_str("\nvariables: ");
            for n in 0..count {
                let _ = write!(text, "int v{n}(t, d{n}) ; v{n}:a = {n} ; ");
            }
            text.push_str("\ndata: ");
            for n in 0..count {
                let _ = write!(text, "v{n} = 1, 2, 3, 4 ; ");
            }
            for n in 0..count {
                let _ = write!(text, "\ngroup: g{n} {{ variables: int v ; data: v = 1 ; }}");
            }
            text.push_str("\n}");
            let (store, written) = record(memory(), |call| {
                let is_set = call.operation.starts_with("put") || call.operation == "create";
                (is_set && call.bytes > 0).then(|| call.key.to_owned())
            });
            let dataset = Dataset::create(store.clone(), &new, &options()).unwrap();
            Document::parse(&text).unwrap().write_to(&dataset).unwrap();
            let schema = Dataset::open(store, &options()).unwrap().schema();
            assert_eq!((schema.variables.len(), schema.groups.len()), (count, count));
            let written = written.take();
            let mut by_key: HashMap<&str, usize> = HashMap::new();
            written.iter().for_each(|key| *by_key.entry(key).or_default() += 1);
            (by_key.into_values().max().unwrap(), written.len())
        });
        let [(most, few), (still, many)] = written;
        assert_eq!(most, still, "{written:?}");
        assert!(most <= 6, "{written:?}");
        assert!(many <= 8 * few, "{written:?}");
    }
}

/// The attributes of a root group may be large, and are read and held once.
#[test]
fn a_root_group_is_not_read_again_to_see_who_wrote_it() {
    let attributes = r#"{"_NCProperties":"version=2,netcdf=4.8.1,hdf5=1.12.2"}"#;
    let store = holding(&[(".zgroup", r#"{"zarr_format":2}"#), (".zattrs", attributes)]);
    let options = OpenOptions::new(registry());
    let hierarchy = Hierarchy::open(store.clone(), &options).unwrap();
    let root = hierarchy.node(NodePath::root()).unwrap();
    for name in [".zgroup", ".zattrs"] {
        store.to_sync().erase(&StoreKey::new(name).unwrap()).unwrap();
    }
    assert!(narrow_characters(&root, &options).is_some());
}
