//! JSON, data types, fill values, URLs, options, keys and paths.

use zarr::data_type::{DataType, Endian};
use zarr::store::{StoreKey, StorePrefix};
use zarr::stores::ObjectStore;
use zarr::{Access, Dialect, Json, NodePath};

use crate::driver::{note, noted};
use crate::input::Choices;

/// JSON: what is written of a value is read as the same value.
pub fn json(data: &[u8]) {
    let tolerant = Json::parse_tolerant(data);
    if let Some(value) = noted(Json::parse(data)) {
        let text = value.to_string();
        let again = Json::parse(text.as_bytes()).expect("what was written is read");
        assert_eq!(again, value);
        assert_eq!(again.to_string(), text);
        assert!(tolerant.is_ok(), "the tolerant reader takes what the strict one takes");
    }
    if let Ok((value, _)) = tolerant {
        let text = value.to_string();
        let (again, _) = Json::parse_tolerant(text.as_bytes()).expect("what was written is read");
        assert_eq!(again, value);
    }
}

/// Data types: a byte for the dialect, and JSON. What is written of a type is the same type.
pub fn data_type(data: &[u8]) {
    let mut choices = Choices(data);
    let dialect = *choices.pick(&[Dialect::V3, Dialect::V2, Dialect::Draft]);
    let Ok(json) = Json::parse(choices.0) else { return };
    let registry = zarr::standard();
    if let Some(parsed) = noted(registry.parse_data_type(&json, dialect)) {
        written_again(&parsed.data_type, dialect);
    }
    let Some(parsed) = noted(DataType::from_numpy_descr(&json)) else { return };
    for endian in [Endian::Little, Endian::Big] {
        let Some(descr) = parsed.data_type.numpy_descr(endian) else { continue };
        let again = DataType::from_numpy_descr(&descr)
            .unwrap_or_else(|e| panic!("{descr} was written, and is not read: {e}"));
        assert_eq!(again.data_type, parsed.data_type, "{descr}");
    }
}

fn written_again(data_type: &DataType, dialect: Dialect) {
    let _ = (data_type.to_string(), data_type.repr(), data_type.resolved());
    for endian in [Endian::Little, Endian::Big] {
        let Some(json) = data_type.to_metadata(dialect, endian) else { continue };
        let again = zarr::standard().parse_data_type(&json, dialect);
        let again = again.unwrap_or_else(|e| panic!("{json} was written, and is not read: {e}"));
        assert_eq!(&again.data_type, data_type, "{json}");
    }
}

/// A word that stands for a secret. No error and no name shows it.
pub const SECRET: &str = "S3cr3tW0rd";

/// URLs of stores and datasets, and options of stores: a line with the URL, in which `*` stands for a secret behind a user, and
/// lines with names of options and values.
pub fn url(data: &[u8]) {
    let mut choices = Choices(data);
    let line = choices.line();
    let _ = zarr::nczarr::NcUrl::parse(line);
    if let Ok(key) = StoreKey::new(line) {
        assert!(!key.as_str().split('/').any(|part| matches!(part, "" | "." | "..")), "{line}");
    }
    let _ = StorePrefix::new(line);
    if let Ok(path) = NodePath::new(line) {
        assert!(path.names().all(|name| !matches!(name, "" | "." | "..")), "{line}");
        assert_eq!(NodePath::new(path.as_str()).expect("it is a path"), path);
    }
    let Some((scheme, rest)) = line.split_once("://") else { return };
    let rest = rest.replace('@', "");
    let url = format!("{scheme}://user:{SECRET}@{rest}");
    let mut options = Vec::new();
    while !choices.0.is_empty() {
        let (name, value) = choices.line().split_once('=').unwrap_or_default();
        let value = if value.is_empty() { SECRET } else { value };
        // What these are set to is no secret, and is shown.
        if !name.is_empty() && (value != SECRET || is_secret(name)) {
            options.push((name.to_owned(), value.to_owned()));
        }
    }
    let opened = ObjectStore::open(&url, Access::ReadOnly, options.clone());
    let said = match opened {
        Ok(store) => {
            let shown = format!("{store:?}");
            let store = store.into_store();
            format!("{shown} {} {:?}", store.name(), store.public_options())
        }
        Err(error) => {
            note(&error);
            format!("{error} {error:?}")
        }
    };
    assert!(!said.contains(SECRET), "a secret is shown: {said}");
}

fn is_secret(name: &str) -> bool {
    ["key", "token", "secret", "password", "sas", "credential"]
        .iter()
        .any(|word| name.contains(word))
}
