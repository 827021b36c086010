//! Reads references: those of kerchunk, and written ones that are wrong or lead astray.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
#[cfg(unix)]
use std::{thread, time::Duration};

use zarr_core::store::{
    Bytes, Capabilities, Listing, Result, Store, StoreKey, StorePrefix, async_trait,
};
use zarr_core::{ErrorKind, Node, StoreError};
use zarr_virtual::{Made, Reference, ReferenceStore, Source, Target};

use crate::common::{check_array, data, expected, open, options};

fn store(path: &Path, allowed: &str) -> Arc<dyn Store> {
    let options = options().store_option("allow_target", allowed);
    options.store(&format!("kerchunk::{}", path.display())).unwrap()
}

fn value(store: &Arc<dyn Store>, key: &str) -> Result<Option<Bytes>, StoreError> {
    store.to_sync().value(&StoreKey::new(key).unwrap())
}

#[test]
fn what_kerchunk_wrote_reads_as_the_file_itself() {
    let url = data("kerchunk.json").display().to_string();
    let described = expected("netcdf3.json");
    let hierarchy = open(&url, &options()).unwrap();
    let children = hierarchy.root().unwrap().members().unwrap();
    assert!(children.len() >= 10);
    for node in children {
        let Node::Array(array) = node else { panic!("an array") };
        check_array(&array, &described["classic.nc"]["variables"][array.path().name().unwrap()]);
    }
}

/// Every reading of a store, over each kind of reference.
#[test]
fn values_keep_what_the_traits_of_stores_promise() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("target"), "0123456789abcdefghij").unwrap();
    fs::create_dir(dir.path().join("sub")).unwrap();
    fs::write(dir.path().join("sub/a b"), "other").unwrap();
    let refs = r#"{"inline": "text", "encoded": "base64:AAEC", "a/part": ["target", 2, 10], "a/b/whole": ["sub/a b"],
        "a/empty": ["target", 5, 0], "a-b": ["target", 0, 20], "object": {"x": 1}}"#;
    let path = dir.path().join("refs.json");
    fs::write(&path, refs).unwrap();
    let expected = [
        ("inline", "text"),
        ("encoded", "\0\u{1}\u{2}"),
        ("a/part", "23456789ab"),
        ("a/b/whole", "other"),
        ("a/empty", ""),
        ("a-b", "0123456789abcdefghij"),
        ("object", r#"{"x": 1}"#),
    ];
    let contents: BTreeMap<String, Vec<u8>> =
        expected.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let store = store(&path, "");
    assert!(store.capabilities().local && !store.capabilities().write);
    zarr_testkit::check_contents(&store, &contents);
}

/// V-003, V-004.
#[test]
fn a_target_that_is_absent_or_too_short_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("target"), [7; 20]).unwrap();
    let refs = r#"{"good": ["target", 0, 20], "short": ["target", 18, 10], "absent": ["nothing", 0, 1], "gone": ["nothing"],
        "beyond": ["target", 18446744073709551615, 2]}"#;
    let path = dir.path().join("refs.json");
    fs::write(&path, refs).unwrap();
    let store = store(&path, "");
    for (key, why) in [
        ("short", "20 bytes"),
        ("absent", "not found, but references point to it"),
        ("gone", "not found, but references point to it"),
        ("beyond", "2^64"),
    ] {
        let error = value(&store, key).unwrap_err().to_string();
        assert!(error.contains(why), "{key}: {error}");
    }
    assert_eq!(value(&store, "good").unwrap().unwrap().len(), 20);
    assert_eq!(value(&store, "no").unwrap(), None);
}

/// V-006: a file that takes the target's place is never read beside it.
#[cfg(unix)]
#[test]
fn another_file_in_the_place_of_a_target_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("target");
    fs::write(&target, "old bytes").unwrap();
    let path = dir.path().join("refs.json");
    fs::write(&path, r#"{"first": ["target", 0, 3], "second": ["target", 4, 5]}"#).unwrap();
    // A file that was just written has no version yet: its time may not have moved on before it is changed.
    let folder = options().store(dir.path().to_str().unwrap()).unwrap();
    let key = StoreKey::new("target").unwrap();
    let has_version = || {
        let opened =
            folder.to_sync().open(&key, zarr_core::store::SnapshotOptions::default()).unwrap();
        opened.unwrap().version().is_some()
    };
    while !has_version() {
        thread::sleep(Duration::from_millis(10));
    }
    let pinned = store(&path, "");
    assert_eq!(value(&pinned, "first").unwrap().unwrap(), "old");
    fs::write(dir.path().join("new"), "new bytes").unwrap();
    fs::rename(dir.path().join("new"), &target).unwrap();
    for key in ["second", "first"] {
        let error = value(&pinned, key).unwrap_err();
        assert!(matches!(error, StoreError::Changed { .. }), "{key}: {error}");
        assert!(error.to_string().contains("target"), "{error}");
    }
    // Opened again, it is the new one.
    assert_eq!(value(&store(&path, ""), "first").unwrap().unwrap(), "new");
    fs::remove_file(&target).unwrap();
    let error = value(&pinned, "second").unwrap_err();
    assert!(matches!(error, StoreError::Changed { .. }), "{error}");
}

/// V-045.
#[test]
fn references_do_not_lead_out_of_their_folder() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("in");
    fs::create_dir(&inner).unwrap();
    fs::write(dir.path().join("out"), "secret").unwrap();
    let refs = r#"{"version": 1, "templates": {"up": "..", "etc": "file:///etc"}, "refs": {
        "a": ["../out", 0, 6], "b": ["{{up}}/out", 0, 6], "c": ["{{etc}}/passwd", 0, 6], "d": ["/etc/passwd"],
        "e": ["http://169.254.169.254/latest"], "f": ["s3://other/x", 0, 1], "g": ["zip::../out", 0, 1]}}"#;
    let path = inner.join("refs.json");
    fs::write(&path, refs).unwrap();
    let refused = store(&path, "");
    for key in ["a", "b", "c", "d", "e", "f", "g"] {
        let error = value(&refused, key).unwrap_err();
        assert!(matches!(error, StoreError::TargetRefused { .. }), "{key}: {error}");
        assert_eq!(zarr_core::Error::from(error).kind(), ErrorKind::Argument);
    }
    let error = value(&refused, "a").unwrap_err().to_string();
    assert!(
        error.contains("--allow-target file:///") && error.contains("`../` (1 file)"),
        "{error}"
    );
    let allowed = store(&path, &dir.path().display().to_string());
    assert_eq!(value(&allowed, "a").unwrap().unwrap(), "secret");
    assert_eq!(value(&allowed, "b").unwrap().unwrap(), "secret");
    assert!(value(&allowed, "c").is_err());
    assert!(value(&store(&path, "any"), "d").unwrap().is_some() || cfg!(windows));
}

#[test]
fn a_file_that_is_no_references_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("refs.json");
    for (text, why) in [
        ("{", "not JSON"),
        (r#"{"version": 3}"#, "version 3"),
        (r#"{".zgroup": ["x", -1, 2]}"#, "`.zgroup`"),
    ] {
        fs::write(&path, text).unwrap();
        let error =
            options().store(&format!("kerchunk::{}", path.display())).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// Keys whose values are made.
#[derive(Debug)]
struct Doubled(Target);

#[async_trait]
impl Source for Doubled {
    fn name(&self) -> String {
        "doubled::".into()
    }

    fn capabilities(&self) -> Capabilities {
        zarr_virtual::capabilities_over(self.0.store().capabilities())
    }

    async fn find(&self, key: &StoreKey) -> Result<Option<Reference>> {
        let make = |parts: Vec<Bytes>| Ok(Bytes::from(parts.concat().repeat(2)));
        let parts = vec![(self.0.clone(), 1..3), (self.0.clone(), 0..1)];
        let made = Made { parts, make: Arc::new(make) };
        Ok((key.as_str() == "made").then_some(Reference::Made(made)))
    }

    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing> {
        Ok(Listing::of_names(prefix, ["made"]))
    }
}

#[test]
fn values_are_made_of_parts() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("t"), "abc").unwrap();
    let folder = options().store(&dir.path().display().to_string()).unwrap();
    let store = ReferenceStore::over(Doubled(Target::new(folder, StoreKey::new("t").unwrap())));
    let contents = BTreeMap::from([("made".to_owned(), b"bcabca".to_vec())]);
    zarr_testkit::check_contents(&store, &contents);
    assert!(
        store
            .to_sync()
            .get(&StoreKey::new("made").unwrap(), zarr_core::store::GetOptions::at_most(2))
            .is_err()
    );
}

/// Whoever erases a file asks first whether something leads to it, be it with permission or without.
#[test]
fn places_are_the_file_and_what_its_references_lead_to() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().canonicalize().unwrap();
    let path = folder.join("refs.json");
    let refs = r#"{"version": 1, "refs": {"a": ["in", 0, 1], "b": ["sub/in"], "c": ["../out"], "d": "text"}}"#;
    fs::write(&path, refs).unwrap();
    let places = store(&path, "").to_sync().places().unwrap();
    let ends: Vec<&str> = places.iter().map(|place| place.split_once("://").unwrap().1).collect();
    let expected = ["refs.json", "in", "sub/in"].map(|name| folder.join(name));
    let outside = folder.parent().unwrap().join("out");
    let expected = expected.iter().chain([&outside]).map(|path| path.to_str().unwrap());
    assert!(ends.iter().copied().eq(expected), "{ends:?}");
    let file = data("classic.nc").display().to_string();
    let places = options().store(&format!("netcdf3::{file}")).unwrap().to_sync().places().unwrap();
    assert!(places.len() == 1 && places[0].starts_with("file://"), "{places:?}");
}

/// V-010: a server names them when it starts.
#[test]
fn references_that_may_not_be_followed_are_named_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("in");
    fs::create_dir(&inner).unwrap();
    let refs = r#"{"a/0": ["../out/x", 0, 6], "a/1": ["../out/y"], "b/0": ["in"], "c/0": ["s3://other/deep/x"], "d": "text",
        "e/0": ["pack://x"], "f/0": ["absent"]}"#;
    let path = inner.join("refs.json");
    fs::write(&path, refs).unwrap();
    let refused = |allowed: &str| {
        let errors = store(&path, allowed).to_sync().refused_targets().unwrap();
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let found = refused("");
    assert_eq!(found.len(), 3, "{found:?}");
    for (error, (key, hint)) in found.iter().zip([
        ("`a/0` refers to `../out/x`", "/out`, the option"),
        ("`c/0` refers to", "--allow-target s3://other/deep`"),
        ("`e/0` refers to", "pack://"),
    ]) {
        assert!(error.contains(key) && error.contains(hint), "{error}");
    }
    assert_eq!(refused(&format!("{}\ns3://other", dir.path().display())).len(), 1);
    let url = format!("icechunk::{}", data("ice-virtual").display());
    let found = options().store(&url).unwrap().to_sync().refused_targets().unwrap();
    assert!(found.len() == 1 && found[0].to_string().contains("file:///data"), "{found:?}");
    let url = format!("kerchunk::{}", data("kerchunk.parq").display());
    assert!(options().store(&url).unwrap().to_sync().refused_targets().unwrap().is_empty());
}
