//! Counts the calls of a store that a dataset takes.
#![cfg(feature = "cdl")]

mod common;

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex};

use common::{holding, memory, options, registry};
use zarr_core::store::{Capabilities, Payload, Precondition, StoreKey, SyncStore, from_sync_arc};
use zarr_core::{Hierarchy, NodePath, OpenOptions, StoreError};
use zarr_nczarr::cdl::Document;
use zarr_nczarr::{Dataset, NewDataset, narrow_characters};

/// A store that counts how often each key is written.
#[derive(Debug)]
struct Counting {
    store: Arc<dyn SyncStore>,
    written: Mutex<HashMap<String, usize>>,
}

impl Counting {
    fn count(&self, key: &StoreKey) {
        *self.written.lock().unwrap().entry(key.as_str().to_owned()).or_default() += 1;
    }
}

impl SyncStore for Counting {
    zarr_testkit::forward_calls!(store: get open erase_prefix list_prefix list_dir);

    fn name(&self) -> String {
        "counting".into()
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { create: false, ..self.store.capabilities() }
    }
    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        if value.is_some() {
            self.count(key);
        }
        self.store.put(key, value, only_if)
    }
}

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
            let written = Mutex::default();
            let store = Arc::new(Counting { store: memory().to_sync(), written });
            let dataset = Dataset::create(from_sync_arc(store.clone()), &new, &options()).unwrap();
            Document::parse(&text).unwrap().write_to(&dataset).unwrap();
            let schema = Dataset::open(from_sync_arc(store.clone()), &options()).unwrap().schema();
            assert_eq!((schema.variables.len(), schema.groups.len()), (count, count));
            let most = store.written.lock().unwrap().values().copied().max().unwrap();
            let all: usize = store.written.lock().unwrap().values().sum();
            (most, all)
        });
        let [(most, few), (still, many)] = written;
        assert_eq!(most, still, "{written:?}");
        assert!(most <= 6, "{written:?}");
        assert!(many <= 8 * few, "{written:?}");
    }
}

/// Decision 0142: the attributes of a root group may be large, and are read and held once.
#[test]
fn a_root_group_is_not_read_again_to_see_who_wrote_it() {
    let attributes = r#"{"_NCProperties":"version=2,netcdf=4.8.1,hdf5=1.12.2"}"#;
    let store = holding(&[(".zgroup", r#"{"zarr_format":2}"#), (".zattrs", attributes)]);
    let options = OpenOptions::new(registry());
    let hierarchy = Hierarchy::open(store.clone(), &options).unwrap();
    let root = hierarchy.node(&NodePath::root()).unwrap();
    for name in [".zgroup", ".zattrs"] {
        store.to_sync().erase(&StoreKey::new(name).unwrap()).unwrap();
    }
    assert!(narrow_characters(&root, &options).is_some());
}
