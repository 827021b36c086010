//! Filters that zarr-python hid in a draft array's attributes are codecs or attributes, as the caller says, and
//! never one and then the other (Q5).
#![cfg(all(feature = "memory", feature = "shuffle"))]

use std::sync::Arc;

use zarr::format::{Draft, of_dialect};
use zarr::store::{Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::tools::CopyOptions;
use zarr::{Dialect, ErrorKind, Hierarchy, Json, NodePath, Object, OpenOptions, Result};

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn path(text: &str) -> NodePath {
    NodePath::new(text).expect("a good path")
}

fn begun(dialect: Dialect) -> Hierarchy {
    zarr::create("memory://", dialect).expect("a new hierarchy")
}

const CORE: &str = "https://purl.org/zarr/spec/protocol/core/3.0";
const FILTERS: &str = r#"[{"id":"shuffle","elementsize":4}]"#;

/// A draft's hierarchy with the array `/a`, its elements [1, 2, 0] behind a filter, [513, 0, 0] without.
fn hierarchy(extensions: &str, attributes: &str, options: &OpenOptions) -> Hierarchy {
    let entry = format!(
        r#"{{"zarr_format":"{CORE}","metadata_encoding":"{CORE}","metadata_key_suffix":".json","extensions":[]}}"#
    );
    let array = format!(
        r#"{{"shape":[3],"data_type":"<i4","chunk_grid":{{"type":"regular","chunk_shape":[2],"separator":"/"}},"chunk_memory_layout":"C","fill_value":0,"extensions":{extensions},"attributes":{attributes}}}"#
    );
    let values: [(&str, &[u8]); 3] = [
        ("zarr.json", entry.as_bytes()),
        ("meta/root/a.array.json", array.as_bytes()),
        ("data/root/a/c0", &[1, 2, 0, 0, 0, 0, 0, 0]),
    ];
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    for (key, value) in values {
        let key = StoreKey::new(key).expect("a key");
        store.to_sync().set(&key, value.into()).expect("set");
    }
    Hierarchy::open(store, options).expect("opened")
}

fn copied(from: &Hierarchy, to: &Hierarchy) -> Result<()> {
    zarr::tools::copy(&from.node(path("/a"))?, to, path("/a"), &CopyOptions::default()).map(drop)
}

/// Q5: filters that are taken for attributes must not become filters again in the copy.
#[test]
fn what_was_read_as_an_attribute_is_never_written_as_filters() -> Result<()> {
    let attributes = format!(r#"{{"filters":{FILTERS},"x":1.0}}"#);
    let mut plain = options();
    plain.options.ignore_hidden_filters = true;
    let array = hierarchy("[]", &attributes, &options()).array(path("/a"))?;
    assert_eq!(array.read::<i32>(..)?, [1, 2, 0]);
    assert_eq!(array.attributes().len(), 1);
    let ignoring = hierarchy("[]", &attributes, &plain);
    let array = ignoring.array(path("/a"))?;
    assert_eq!(array.read::<i32>(..)?, [513, 0, 0]);
    assert_eq!(array.attributes().len(), 2);
    // Other attributes may be changed; the filters stay as they are.
    array.update_attributes(|a| drop(a.insert("y", 2u64)))?;
    let again = Hierarchy::open(ignoring.store().clone(), &options())?.array(path("/a"))?;
    assert_eq!(again.read::<i32>(..)?, [1, 2, 0]);
    assert_eq!(again.attributes().len(), 2);
    for format in [of_dialect(Dialect::Draft), Arc::new(Draft::new().plain_text())] {
        let to = Hierarchy::create(from_sync(MemoryStore::new()), format, &plain)?;
        let error = copied(&ignoring, &to).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        assert!(error.to_string().contains("`filters`"), "{error}");
    }
    for dialect in [Dialect::V2, Dialect::V3] {
        let to = begun(dialect);
        copied(&ignoring, &to)?;
        let copy = to.array(path("/a"))?;
        assert_eq!(copy.read::<i32>(..)?, [513, 0, 0]);
        let kept = copy.attributes().get("filters").map(Json::to_string);
        assert_eq!(kept.as_deref(), Some(FILTERS), "{dialect}");
    }
    Ok(())
}

/// Q5: an attribute of the user's that has the filters' name is refused, not dropped for them.
#[test]
fn an_attribute_of_the_filters_name_is_never_lost() -> Result<()> {
    let filters = format!(
        r#"[{{"extension":"http://purl.org/zarr/spec/protocol/extensions/filters/1.0","must_understand":true,"configuration":{FILTERS}}}]"#
    );
    let from = hierarchy(&filters, r#"{"filters":"text"}"#, &options());
    assert_eq!(from.array(path("/a"))?.read::<i32>(..)?, [1, 2, 0]);
    let error = copied(&from, &begun(Dialect::Draft)).unwrap_err();
    assert!(error.to_string().contains("an attribute `filters` besides filters"), "{error}");
    for dialect in [Dialect::V2, Dialect::V3] {
        let to = begun(dialect);
        copied(&from, &to)?;
        let copy = to.array(path("/a"))?;
        assert_eq!(copy.read::<i32>(..)?, [1, 2, 0]);
        assert_eq!(copy.attributes().get("filters"), Some(&Json::from("text")));
    }
    let hidden = hierarchy("[]", &format!(r#"{{"filters":{FILTERS}}}"#), &options());
    let array = hidden.array(path("/a"))?;
    for text in [r#""text""#, FILTERS] {
        let json = Json::parse(text.as_bytes()).expect("JSON");
        let error = array.update_attributes(|a| drop(a.insert("filters", json.clone())));
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Argument);
    }
    // A group has no codecs, so that there the name is as good as any.
    let json = Json::parse(FILTERS.as_bytes()).expect("JSON");
    hidden.create_group(path("/g"), Object::new().with("filters", json.clone()))?;
    assert_eq!(hidden.group(path("/g"))?.attributes().get("filters"), Some(&json));
    Ok(())
}

/// Q5: whoever changes attributes at the same time loses neither a change nor the filters.
#[test]
fn filters_survive_changes_of_attributes_side_by_side() -> Result<()> {
    const THREADS: usize = 8;
    const EACH: usize = 20;
    let hidden = hierarchy("[]", &format!(r#"{{"filters":{FILTERS},"x":1.50}}"#), &options());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let array = hidden.array(path("/a")).expect("opened");
            scope.spawn(move || {
                for n in 0..EACH {
                    let name = format!("k{thread}-{n}");
                    array.update_attributes(|a| drop(a.insert(&*name, n as u64))).expect("changed");
                }
            });
        }
    });
    let array = Hierarchy::open(hidden.store().clone(), &options())?.array(path("/a"))?;
    assert_eq!(array.read::<i32>(..)?, [1, 2, 0]);
    assert_eq!(array.attributes().len(), THREADS * EACH + 1);
    assert_eq!(array.attributes().get("x").map(Json::to_string).as_deref(), Some("1.50"));
    Ok(())
}
