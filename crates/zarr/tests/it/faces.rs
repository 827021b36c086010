//! Blocking and async handles have the same methods, which give the same results and store the same bytes.
#![cfg(all(feature = "filesystem", feature = "ndarray", feature = "sharding"))]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::Path;

use zarr::store::StoreKey;
use zarr::{
    AccessError, ChunkPart, Dialect, NodePath, Object, OpenOptions, Result, StridedBuffer, View,
    ViewMut, ndarray,
};

fn path(text: &str) -> NodePath {
    text.parse().expect("a path")
}

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn longer(old: &[u64]) -> Result<Vec<u64>, AccessError> {
    Ok(old.iter().map(|len| len + 1).collect())
}

/// What the calls of a script gave, each as text without the place of its store.
#[derive(Debug)]
struct Log {
    url: String,
    lines: Vec<String>,
}

impl Log {
    fn note<T: Debug>(&mut self, call: &str, result: Result<T>) {
        let result = match result {
            Ok(value) => format!("{value:?}"),
            Err(e) => format!("{:?}: {e}", e.kind()),
        };
        self.lines.push(format!("{call}: {}", result.replace(&self.url, "URL")));
    }
}

/// A script that calls every method of one face. Macros of the face's module wait for a call (`wait!`) and hand elements
/// to it (`lend!`, `lend_view!`, `strided!`, `read_into!`, `read_view!`).
macro_rules! script {
    () => {
        pub(super) fn script(log: &mut Log, dialect: Dialect) -> Result<()> {
            let (url, options) = (log.url.clone(), options());
            let url = url.as_str();
            macro_rules! note {
                ($call:expr) => {
                    log.note(stringify!($call), Ok($call))
                };
            }
            macro_rules! attempt {
                ($call:expr) => {
                    log.note(stringify!($call), wait!($call))
                };
            }
            // Of handles only what they name is noted.
            macro_rules! refused {
                ($call:expr) => {
                    log.note(stringify!($call), wait!($call).map(drop))
                };
            }

            // Hierarchies.
            let format = options.format(dialect);
            let whole = options.store(&format!("{url}/whole"))?;
            let hierarchy =
                wait!(face::Hierarchy::create(whole.clone(), format.clone(), &options))?;
            note!(wait!(hierarchy.root())?.path());
            refused!(face::Hierarchy::create(whole.clone(), format.clone(), &options));
            note!(wait!(face::Hierarchy::open(whole.clone(), &options))?.dialect());
            let begun = options.store(&format!("{url}/begun"))?;
            let begun = wait!(face::Hierarchy::begin(begun, format.clone(), &options))?;
            refused!(begun.root());
            let known = face::Hierarchy::of_format(whole, format, &options);
            note!(known.format_name());
            note!(known.as_async().format_name());
            note!(known.as_blocking().format_name());
            let at = format!("{url}/data");
            let hierarchy = wait!(face::Hierarchy::open_or_create(&at, dialect, &options))?;
            note!(hierarchy.era());
            note!(hierarchy.store().name());
            note!(hierarchy.options().threads);
            note!(hierarchy.registry().codec_names(dialect).is_empty());

            // Groups.
            let attributes = Object::new().with("n", 1u64);
            note!(hierarchy.check_group(&path("/g"), &attributes));
            let group = wait!(hierarchy.create_group(&path("/g"), attributes.clone()))?;
            refused!(hierarchy.create_group(&path("/g"), attributes));
            note!(group.path());
            note!(group.hierarchy().dialect());
            note!(group.metadata());
            note!(group.attributes());
            note!((group.as_async().path(), group.as_blocking().path()));
            attempt!(group.update_attributes(|attributes| drop(attributes.insert("m", 2u64))));
            refused!(group.create_group("inner"));
            note!(wait!(group.group("inner"))?.path());
            wait!(group.create_array("small").shape(&[2]).data_type_named("u1").create())?;
            refused!(group.create_array("a//b").shape(&[2]).data_type_named("u1").create());
            refused!(group.array("small"));
            refused!(group.node("nothing"));
            attempt!(group.children());
            attempt!(group.tree());
            attempt!(group.tree_text());
            attempt!(hierarchy.tree_and_unreadable("/g"));
            attempt!(hierarchy.children_and_unreadable("/g"));
            attempt!(hierarchy.only_copied_nodes("/"));
            attempt!(group.set_attribute("k", 3u64));
            attempt!(group.refreshed());
            attempt!(wait!(hierarchy.node("/g"))?.set_attribute("l", 4u64));
            note!(wait!(wait!(hierarchy.node("/g"))?.tree_text())?);
            note!(wait!(wait!(hierarchy.node("/g/small"))?.tree_text())?);
            note!(wait!(group.nodes())?.len());
            note!(wait!(group.members())?.len());
            attempt!(group.consolidate());
            attempt!(group.is_consolidated());
            attempt!(group.erase("inner"));
            refused!(hierarchy.group(&path("/g/small")));
            refused!(hierarchy.array(&path("/g")));

            let other = if dialect == Dialect::V2 { Dialect::V3 } else { Dialect::V2 };
            refused!(face::Hierarchy::open_or_create(&at, other, &options));

            refused!(hierarchy.group("g//small"));
            refused!(group.array("../small"));
            refused!(hierarchy.create_array("g//b").shape(&[2]).data_type_named("u1").create());
            note!(wait!(hierarchy.array("g/small"))?.path());

            // Nodes.
            let node = wait!(hierarchy.node(&path("/g/small")))?;
            note!((node.path(), node.kind(), node.hierarchy().dialect(), node.attributes()));
            note!((node.as_array().is_some(), node.as_group().is_some()));
            attempt!(node.update_attributes(|attributes| drop(attributes.insert("k", true))));
            note!(node.clone().into_array()?.shape());
            log.note("into_group", node.into_group().map(drop));

            // Arrays.
            let builder = hierarchy.create_array(&path("/a")).shape(&[4, 6]).chunks(&[2, 2]);
            let builder = builder.data_type_named("<i4").fill_value(7).dimension_names(["y", "x"]);
            let builder = match dialect {
                Dialect::V3 => builder.shards(&[4, 4]),
                _ => builder,
            };
            let array = wait!(builder.create())?;
            note!(hierarchy.check_array(&path("/b"), &array.metadata()));
            note!((array.path(), array.hierarchy().dialect(), array.metadata().shape.clone()));
            note!((array.shape(), array.rank(), array.len(), array.is_empty(), array.data_type()));
            note!((array.dimension_names(), array.fill_value(), array.codecs().len()));
            note!((array.chunk_shape(), array.shard_shape(), array.attributes()));
            note!((array.as_async().shape(), array.as_blocking().shape()));
            let key = match dialect {
                Dialect::V2 => "a/.zarray",
                Dialect::V3 => "a/zarr.json",
                _ => "meta/root/a.array.json",
            };
            let store = hierarchy.store().clone();
            let document = store.to_sync().value(&StoreKey::new(key)?)?.expect("a document");
            let same = face::Array::from_document(store, &path("/a"), &document, &options)?;
            note!((same.shape(), same.chunk_shape()));
            note!(array.with_options(|options| options.threads = 1).shape());
            let elements: Vec<i32> = (0..24).collect();
            let bytes = |count: u8| (0..count).collect::<Vec<u8>>();
            attempt!(array.write(.., lend!(elements)));
            attempt!(array.write(.., lend!(vec![1i32; 3])));
            attempt!(array.write(.., lend!(vec![1u8; 24])));
            attempt!(array.read::<i32>(..));
            attempt!(array.read::<f32>(..));
            attempt!(array.read::<i32>(9..));
            attempt!(array.read_bytes((1, ..)));
            attempt!(array.read_element::<i32>((1, -1)));
            attempt!(array.read_le_bytes((1, ..)));
            attempt!(array.write_bytes((1, ..), lend!(bytes(24))));
            attempt!(array.write_bytes((1, ..), lend!(bytes(23))));
            attempt!(array.write_le_bytes((2, ..), lend!(bytes(24))));
            let out = read_into!(array.read_into((1.., 2), vec![0i32; 3]));
            log.note("read_into", out);
            let out = read_into!(array.read_into((1.., 2), vec![0i32; 4]));
            log.note("read_into", out);
            attempt!(array.read_ndarray::<i32, zarr::ndarray::IxDyn>((..2, 1..3)));
            let transposed = ndarray::Array::from_shape_vec((2, 3), vec![1i32, 2, 3, 4, 5, 6]);
            let transposed = transposed.expect("six elements").reversed_axes();
            attempt!(array.write_ndarray((..3, ..2), lend_view!(transposed.clone())));
            attempt!(array.write_ndarray((..2, ..2), lend_view!(transposed)));
            let part = ndarray::Array::from_iter(0..9i32);
            let part = part.slice_move(ndarray::s![2..8]);
            attempt!(array.write_ndarray((3, ..), lend_view!(part)));
            attempt!(array.write_view((1, ..), strided!(bytes(24), 20, &[6], &[-4])));
            attempt!(array.write_view((1, ..), strided!(bytes(24), 0, &[5], &[4])));
            let out = read_view!(array.read_view((1.., 2), vec![0; 12], 8, &[3], &[-4]));
            log.note("read_view", out);
            let parts = [0, 1].map(|n| ChunkPart {
                chunk: vec![0, n],
                within: (0, ..2).into(),
                place: (2 * n..2 * n + 2).into(),
            });
            let out = read_view!(array.read_chunks_into(&parts, vec![0; 16], 0, &[4], &[4]));
            log.note("read_chunks_into", out);
            attempt!(array.write_fill((3, 2..), &1i32.to_ne_bytes()));
            attempt!(array.fill((2, ..3), 5i32));
            attempt!(array.fill(.., 5i64));
            attempt!(array.write_fill(.., &[1]));
            note!(array.pieces(.., 16)?.count());
            note!(array.write_plan(.., 3)?);
            note!(array.chunks((.., 0))?.count());
            attempt!(array.read::<i32>(..));
            attempt!(array.stored_chunks());
            attempt!(array.stored_size());
            attempt!(array.append(0, lend!(vec![8i32; 12])));
            attempt!(array.append(0, lend!(vec![8i32; 5])));
            attempt!(array.append_view(0, strided!(bytes(24), 0, &[1, 6], &[0, 4])));
            attempt!(array.prepend(0, lend!(vec![8i32; 6])));
            attempt!(array.reshape(longer));
            attempt!(array.resize(&[5, 6]));
            attempt!(array.resize(&[5]));
            attempt!(array.refresh());
            attempt!(array.update_attributes(|attributes| drop(attributes.insert("units", "K"))));
            attempt!(array.set_attribute("title", "t"));
            attempt!(array.rename_dimensions(&["v".into(), "u".into()]));
            attempt!(array.rename_dimensions(&["v".into()]));
            note!((array.attributes(), array.dimension_names()));
            let mut chunk = array.chunk(&[0, 1])?;
            note!((chunk.indices().to_vec(), chunk.region().clone(), chunk.key()?));
            let count = chunk.region().shape().iter().product::<u64>() as usize;
            attempt!(chunk.write(lend!(vec![3i32; count])));
            attempt!(chunk.read::<i32>());
            attempt!(chunk.encoded());
            attempt!(chunk.key_to_write());
            attempt!(chunk.erase());
            attempt!(array.read::<i32>(..));

            // Variable-length elements, and a type of fewer bits than a byte.
            let texts = hierarchy.create_array(&path("/t")).shape(&[3]).data_type_named("string");
            match wait!(texts.create()) {
                Ok(texts) => {
                    attempt!(texts.write(1.., lend!(vec!["x".to_owned(), "yz".to_owned()])));
                    attempt!(texts.read::<String>(..));
                    let stream = wait!(texts.read_bytes(..))?;
                    attempt!(texts.write_bytes(.., lend!(stream)));
                    attempt!(texts.write_bytes(.., lend!(vec![1u8])));
                }
                Err(e) => log.note("texts", Err::<(), _>(e)),
            }
            let narrow = hierarchy.create_array(&path("/n")).shape(&[3]).data_type_named("int4");
            match wait!(narrow.create()) {
                Ok(narrow) => {
                    attempt!(narrow.write_le_bytes(.., lend!(vec![0x0fu8, 1, 7])));
                    attempt!(narrow.read_bytes(..));
                    attempt!(narrow.read_le_bytes(..));
                }
                Err(e) => log.note("narrow", Err::<(), _>(e)),
            }

            // Records.
            let record = r#"[["k", "<i2"], ["xy", "<f4", [2]]]"#;
            let records = hierarchy.create_array(&path("/r")).shape(&[4]).data_type_named(record);
            match wait!(records.create()) {
                Ok(records) => {
                    attempt!(records.write_field("k", 1..3, lend!(vec![5i16, 6])));
                    attempt!(records.write_field("k", 1..3, lend!(vec![5i64, 6])));
                    attempt!(records.write_field("xy", 0, lend!(vec![0.5f32, 1.5])));
                    attempt!(records.write_field_bytes("k", 3.., lend!(bytes(2))));
                    attempt!(records.write_field_bytes("none", 3.., lend!(bytes(2))));
                    attempt!(records.read_field::<i16>("k", ..));
                    attempt!(records.read_field::<f32>("xy", ..));
                    attempt!(records.read_field_bytes("xy", ..2));
                    attempt!(records.read_bytes(..));
                }
                Err(e) => log.note("records", Err::<(), _>(e)),
            }

            // The whole tree.
            attempt!(hierarchy.children(&NodePath::root()));
            attempt!(hierarchy.tree(&NodePath::root()));
            note!(wait!(hierarchy.nodes(&NodePath::root()))?.len());
            attempt!(hierarchy.consolidate());
            attempt!(hierarchy.is_consolidated());
            attempt!(hierarchy.check_consolidated());
            attempt!(hierarchy.remove_consolidated());
            attempt!(hierarchy.foreign_keys(&path("/a")));
            attempt!(hierarchy.chunk_keys(&path("/a"), &array.metadata()));
            note!(hierarchy.format().name());
            note!(hierarchy.check_writeable());
            let metadata = zarr::ArrayMetadata::clone(&array.metadata());
            note!(hierarchy.array_of_metadata(&path("/none"), metadata).map(|it| it.shape()));
            attempt!(hierarchy.interrupted_keys(&path("/gone")));
            attempt!(hierarchy.erase(&path("/g/small")));
            attempt!(hierarchy.erase(&path("/gone")));
            attempt!(hierarchy.flush());
            let (found, inside) = wait!(face::Hierarchy::locate(&format!("{at}/a"), &options))?;
            note!((found.dialect(), inside, found.warnings()));
            note!(wait!(face::Hierarchy::open_node(&format!("{at}/a"), &options))?.path());
            refused!(face::Hierarchy::open_node(&format!("{url}/nothing"), &options));
            note!(wait!(face::open_array(&format!("{at}/a")))?.path());
            note!(wait!(face::open_group(&format!("{at}/g")))?.path());
            refused!(face::open_group(&format!("{at}/a")));
            Ok(())
        }
    };
}

mod blocking {
    use zarr as face;

    use super::*;

    macro_rules! wait {
        ($call:expr) => {
            $call
        };
    }
    macro_rules! lend {
        ($elements:expr) => {
            &$elements
        };
    }
    macro_rules! lend_view {
        ($elements:expr) => {
            $elements.view()
        };
    }
    macro_rules! strided {
        ($memory:expr, $start:expr, $shape:expr, $strides:expr) => {
            View::strided(&$memory, $start, $shape, $strides, 4)?
        };
    }
    macro_rules! read_view {
        ($array:ident.$method:ident($what:expr, $out:expr, $start:expr, $shape:expr, $strides:expr)) => {{
            let mut out = $out;
            let view = ViewMut::strided(&mut out, $start, $shape, $strides, 4)?;
            $array.$method($what, view).map(|read| (out, read))
        }};
    }
    macro_rules! read_into {
        ($array:ident.read_into($selection:expr, $out:expr)) => {{
            let mut out = $out;
            $array.read_into($selection, &mut out).map(|()| out)
        }};
    }
    script!();
}

mod waiting {
    use zarr::aio as face;

    use super::*;

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
    }

    macro_rules! wait {
        ($call:expr) => {
            run($call)
        };
    }
    macro_rules! lend {
        ($elements:expr) => {
            $elements
        };
    }
    macro_rules! lend_view {
        ($elements:expr) => {
            $elements
        };
    }
    macro_rules! strided {
        ($memory:expr, $start:expr, $shape:expr, $strides:expr) => {
            StridedBuffer::new($memory, $start, $shape, $strides, 4)?
        };
    }
    macro_rules! read_view {
        ($array:ident.$method:ident($what:expr, $out:expr, $start:expr, $shape:expr, $strides:expr)) => {{
            let out = StridedBuffer::new($out, $start, $shape, $strides, 4)?;
            let (out, result) = run($array.$method($what, out));
            result.map(|read| (out.into_memory(), read))
        }};
    }
    macro_rules! read_into {
        ($array:ident.read_into($selection:expr, $out:expr)) => {{
            let (out, result) = run($array.read_into($selection, $out));
            result.map(|()| out)
        }};
    }
    script!();
}

/// What is stored below a folder: each file's path and bytes.
fn stored(folder: &Path) -> BTreeSet<(String, Vec<u8>)> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).expect("a folder") {
            let entry = entry.expect("an entry").path();
            if entry.is_dir() {
                folders.push(entry);
            } else {
                let name = entry.strip_prefix(folder).expect("below").display().to_string();
                found.insert((name, std::fs::read(entry).expect("a file")));
            }
        }
    }
    found
}

#[test]
fn both_faces_give_the_same_and_store_the_same() -> Result<()> {
    for dialect in [Dialect::V2, Dialect::V3, Dialect::Draft] {
        let of = |script: fn(&mut Log, Dialect) -> Result<()>| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let url = folder.path().to_str().expect("a plain path").to_owned();
            let mut log = Log { url, lines: Vec::new() };
            script(&mut log, dialect).unwrap_or_else(|e| panic!("{dialect}: {e}: {log:#?}"));
            (log.lines, stored(folder.path()))
        };
        let ((blocking, kept), (waiting, kept_async)) = (of(blocking::script), of(waiting::script));
        for (blocking, waiting) in blocking.iter().zip(&waiting) {
            assert_eq!(blocking, waiting, "{dialect}");
        }
        assert_eq!(blocking.len(), waiting.len(), "{dialect}");
        assert!(kept == kept_async, "{dialect}: what is stored differs");
        assert!(kept.len() > 10, "{dialect}: {}", kept.len());
    }
    Ok(())
}

/// A new method is added to the script.
#[test]
fn the_script_calls_every_method() {
    let script = include_str!("faces.rs");
    let handles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../zarr-core/src/handles/async");
    for file in ["hierarchy.rs", "node.rs", "group.rs", "array.rs", "chunk.rs", "elements.rs"] {
        let source = std::fs::read_to_string(handles.join(file)).expect("the handles' source");
        let heads = source.lines().filter_map(|line| line.trim().strip_prefix("pub "));
        let heads = heads.filter_map(|head| {
            let head = head.strip_prefix("async ").unwrap_or(head).strip_prefix("fn ")?;
            Some(head.split(['(', '<']).next().unwrap_or(head))
        });
        for method in heads {
            let calls = [format!(".{method}("), format!(".{method}::<"), format!("::{method}(")];
            assert!(calls.iter().any(|call| script.contains(call)), "{file}: {method}");
        }
    }
}
