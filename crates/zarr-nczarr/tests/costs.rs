//! Counts the calls of a store that a dataset takes.

mod common;

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex};

use common::{holding, memory, options, registry};
use zarr_core::store::{
    Bytes, ConditionalStore, ListableStore, Payload, ReadableStore, Store, StoreKey, StorePrefix,
    Version, WriteableStore,
};
use zarr_core::{Hierarchy, NodePath, OpenOptions, StoreError};
use zarr_nczarr::cdl::Document;
use zarr_nczarr::{Dataset, NewDataset, narrow_characters};

/// A store that counts how often each key is written.
#[derive(Debug)]
struct Counting {
    store: Arc<dyn Store>,
    written: Mutex<HashMap<String, usize>>,
}

impl Counting {
    fn count(&self, key: &StoreKey) {
        *self.written.lock().unwrap().entry(key.as_str().to_owned()).or_default() += 1;
    }
}

impl Store for Counting {
    fn name(&self) -> String {
        "counting".into()
    }
    fn readable(&self) -> Option<&dyn ReadableStore> {
        self.store.readable()
    }
    fn writeable(&self) -> Option<&dyn WriteableStore> {
        Some(self)
    }
    fn listable(&self) -> Option<&dyn ListableStore> {
        self.store.listable()
    }
    fn conditional(&self) -> Option<&dyn ConditionalStore> {
        Some(self)
    }
}

impl WriteableStore for Counting {
    fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        self.count(key);
        self.store.writeable().unwrap().set(key, value)
    }
    fn erase(&self, key: &StoreKey) -> Result<(), StoreError> {
        self.store.writeable().unwrap().erase(key)
    }
    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        self.store.writeable().unwrap().erase_prefix(prefix)
    }
}

impl ConditionalStore for Counting {
    fn get_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Bytes, Version)>, StoreError> {
        self.store.conditional().unwrap().get_versioned(key, limit)
    }
    fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError> {
        self.count(key);
        self.store.conditional().unwrap().set_if(key, value, was)
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
            let store = Arc::new(Counting { store: memory(), written });
            let dataset = Dataset::create(store.clone(), &new, &options()).unwrap();
            Document::parse(&text).unwrap().write_to(&dataset).unwrap();
            let schema = Dataset::open(store.clone(), &options()).unwrap().schema();
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
        store.writeable().unwrap().erase(&StoreKey::new(name).unwrap()).unwrap();
    }
    assert!(narrow_characters(&root, &options).is_some());
}
