//! Bare `NaN` and `Infinity` among attributes, as Python's writers have them.
//!
//! `bare_floats/v3` was written by zarr-python 3.1.6, `v2` and `draft` by 2.18.7; the first two with consolidated
//! metadata.
#![cfg(feature = "blosc")]

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::{TempDir, tempdir};
use zarr::tools::CopyOptions;
use zarr::{Consolidated, Dialect, Hierarchy, Json, NodePath, OpenOptions};

const DIALECTS: [(&str, Dialect); 3] =
    [("v3", Dialect::V3), ("v2", Dialect::V2), ("draft", Dialect::Draft)];

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (entry, to) = (entry.unwrap().path(), to);
        let to = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy_folder(&entry, &to)
        } else {
            fs::copy(&entry, &to).unwrap();
        }
    }
}

/// A copy of what was written, to be changed.
fn written(name: &str) -> (TempDir, String) {
    let folder = tempdir().unwrap();
    let from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/bare_floats").join(name);
    copy_folder(&from, folder.path());
    let url = folder.path().to_str().unwrap().to_owned();
    (folder, url)
}

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn open(url: &str, options: &OpenOptions) -> zarr::Result<Hierarchy> {
    zarr::locate(url, options).map(|(hierarchy, _)| hierarchy)
}

fn number(text: &str) -> Json {
    Json::Number(text.into())
}

/// Every document below a folder as text.
fn documents(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            found.extend(documents(&path));
        } else if name.starts_with(".z") || name.ends_with(".json") {
            found.extend(fs::read_to_string(&path).ok().filter(|text| !text.is_empty()));
        }
    }
    found
}

/// They are read in every dialect, with a warning, whether or not documents come out of consolidated copies.
#[test]
fn bare_floats_among_attributes_are_read_in_every_dialect() {
    for (name, _) in DIALECTS {
        for consolidated in [Consolidated::IfFound, Consolidated::Ignore, Consolidated::Check] {
            let (_folder, url) = written(name);
            let mut options = OpenOptions::new(zarr::standard());
            options.consolidated = consolidated;
            let hierarchy = open(&url, &options).unwrap();
            let root = hierarchy.root().unwrap();
            assert_eq!(root.attributes().get("missing"), Some(&number("NaN")), "{name}");
            let range = [number("-Infinity"), number("Infinity")];
            assert_eq!(root.attributes().get("range"), Some(&range.to_vec().into()));
            let array = hierarchy.array("/a").unwrap();
            let attributes = array.attributes();
            assert_eq!(attributes.get("valid_min"), Some(&number("-Infinity")), "{name}");
            assert_eq!(attributes.get("text"), Some(&"NaN".into()), "a string stays one");
            assert_eq!(array.read::<f32>(..).unwrap(), [1.0, 2.0, 3.0]);
            let warnings = hierarchy.warnings();
            let told = |warning: &&zarr::Warning| warning.what.contains("bare `NaN`");
            assert!(warnings.iter().filter(told).count() >= 2, "{name}: {warnings:?}");
            if name != "draft" {
                assert_eq!(hierarchy.tree(NodePath::root()).unwrap().len(), 4);
            }
        }
    }
}

#[test]
fn a_strict_reader_refuses_bare_floats() {
    for (name, _) in DIALECTS {
        let (_folder, url) = written(name);
        let read = |url: &str| open(url, &options().strict())?.array("/a");
        let error = read(&url).unwrap_err();
        assert!(error.to_string().contains("bare `NaN`"), "{name}: {error}");
    }
}

/// A change of another attribute, or of the shape, keeps the tokens, in the copies of documents, too.
#[test]
fn documents_that_are_rewritten_keep_bare_floats() {
    for (name, _) in DIALECTS {
        let (folder, url) = written(name);
        let tokens = |text: &str| text.matches(": NaN").count() + text.matches("-Infinity").count();
        let all = |folder: &Path| documents(folder).iter().map(|text| tokens(text)).sum::<usize>();
        let before = all(folder.path());
        let hierarchy = open(&url, &options()).unwrap();
        let array = hierarchy.array("/a").unwrap();
        array.update_attributes(|attributes| drop(attributes.insert("units", "K"))).unwrap();
        array.resize(&[4]).unwrap();
        let root = hierarchy.root().unwrap();
        root.update_attributes(|attributes| drop(attributes.insert("title", "x"))).unwrap();
        drop(hierarchy);
        assert_eq!(all(folder.path()), before, "{name}");
        let hierarchy = open(&url, &options()).unwrap();
        let array = hierarchy.array("/a").unwrap();
        assert_eq!(array.attributes().get("valid_min"), Some(&number("-Infinity")));
        assert_eq!(array.attributes().get("units"), Some(&"K".into()));
        assert_eq!(array.shape(), [4]);
    }
}

/// zarr-python writes the tokens in v2 and v3, and reads no string as a number; readers of a draft may take
/// nothing but JSON.
#[test]
fn copies_keep_bare_floats_but_in_a_draft() {
    for (name, dialect) in DIALECTS {
        for (_, to) in DIALECTS {
            let (_folder, url) = written(name);
            let source = open(&url, &options()).unwrap();
            let node = source.node(NodePath::root()).unwrap();
            let target = tempdir().unwrap();
            let copy = zarr::create(target.path().to_str().unwrap(), to).unwrap();
            let is_kept = to == dialect || to != Dialect::Draft;
            let copied = zarr::tools::copy(&node, &copy, NodePath::root(), &CopyOptions::default());
            let lost = copied.unwrap().not_kept;
            assert_eq!(lost.is_empty(), is_kept, "{name} to {to}: {lost:?}");
            let is_json = |text: &String| Json::parse(text.as_bytes()).is_ok();
            let strict = documents(target.path()).iter().all(is_json);
            assert_eq!(strict, !is_kept, "{name} to {to}");
            let array = copy.array("/a").unwrap();
            let due = if is_kept { number("-Infinity") } else { "-Infinity".into() };
            assert_eq!(array.attributes().get("valid_min"), Some(&due), "{name} to {to}");
        }
    }
}

/// They are tolerated among attributes only: elsewhere in a v3 document bare floats are an error.
#[test]
fn a_bare_float_beside_the_attributes_of_v3_is_refused() {
    let (folder, url) = written("v3");
    let path = folder.path().join("a/zarr.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"zarr_format\": 3", "\"zarr_format\": 3, \"x\": NaN")).unwrap();
    let mut options = options();
    options.consolidated = Consolidated::Ignore;
    let error = open(&url, &options).unwrap().array("/a").unwrap_err();
    assert!(error.to_string().contains("not JSON"), "{error}");
}
