//! What a user reads when something goes wrong: what, where, and what to do.
// A message lists the codecs of the build.
#![cfg(feature = "full")]

use std::sync::Arc;

use zarr::store::{Store, StoreKey, SyncStore, from_sync};
use zarr::stores::MemoryStore;
use zarr::tools::CopyOptions;
use zarr::{Dialect, Error, Hierarchy, NodePath, Object, OpenOptions, Region, Result};

/// The messages, one after the other, each under the name of what was done.
struct Messages(String);

impl Messages {
    fn add<T>(&mut self, what: &str, result: Result<T>) {
        let error = result.err().unwrap_or_else(|| panic!("{what} should fail"));
        self.0.push_str(&format!("## {what} (exit {})\n{error}\n\n", error.kind().exit_code()));
    }
}

fn store(documents: &[(&str, &[u8])]) -> Arc<dyn Store> {
    let store = MemoryStore::new();
    for (key, value) in documents {
        let key = StoreKey::new(*key).expect("a good key");
        store.set(&key, (*value).into()).expect("set");
    }
    from_sync(store)
}

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn root() -> NodePath {
    NodePath::root()
}

/// The first error on the way to the elements of the array at the root.
fn read(documents: &[(&str, &[u8])]) -> Result<Vec<u8>> {
    Hierarchy::open(store(documents), &options())?.array(root())?.read_bytes(..)
}

const V3: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":7,"codecs":[{"name":"bytes"}],"attributes":{}}"#;
const V2: &str = r#"{"zarr_format":2,"shape":[5],"chunks":[2],"dtype":"<i4","compressor":null,"fill_value":7,"order":"C","filters":null}"#;

fn v3(from: &str, to: &str) -> Result<Vec<u8>> {
    assert!(V3.contains(from), "{from}");
    read(&[("zarr.json", V3.replace(from, to).as_bytes())])
}

fn v2(from: &str, to: &str) -> Result<Vec<u8>> {
    assert!(V2.contains(from), "{from}");
    read(&[(".zarray", V2.replace(from, to).as_bytes())])
}

fn chunk(codecs: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    let document = V3.replace(r#"[{"name":"bytes"}]"#, codecs);
    read(&[("zarr.json", document.as_bytes()), ("c/1", bytes)])
}

#[test]
fn messages_say_what_where_and_what_to_do() -> Result<()> {
    let mut all = Messages(String::new());

    all.add("open nothing", Hierarchy::open(store(&[]), &options()));
    all.add("a document that is not JSON", read(&[("zarr.json", b"{\"zarr_format\":3,")]));
    all.add("a document that is a list", read(&[("zarr.json", b"[]")]));
    all.add("a member twice", v3("\"shape\":[4]", "\"shape\":[4],\"shape\":[5]"));
    all.add("no shape", v3("\"shape\":[4],", ""));
    all.add("another format version", v3("\"zarr_format\":3", "\"zarr_format\":9"));
    all.add("a node of no kind", v3("\"node_type\":\"array\"", "\"node_type\":\"table\""));
    all.add("a negative shape", v3("\"shape\":[4]", "\"shape\":[-4]"));
    all.add("chunks of another rank", v3("[2]", "[2,2]"));
    all.add("chunks of no length", v3("[2]", "[0]"));
    all.add("an unknown data type", v3("\"uint8\"", "\"posit8\""));
    all.add("raw bits that are no bytes", v3("\"uint8\"", "\"r12\""));
    all.add(
        "an unknown codec",
        v3("{\"name\":\"bytes\"}", "{\"name\":\"bytes\"},{\"name\":\"sprintz\"}"),
    );
    all.add(
        "codecs in the wrong order",
        v3(
            "{\"name\":\"bytes\"}",
            "{\"name\":\"gzip\",\"configuration\":{\"level\":1}},{\"name\":\"bytes\"}",
        ),
    );
    all.add("no byte order", v3("\"uint8\"", "\"uint16\""));
    all.add(
        "a gzip level",
        v3(
            "{\"name\":\"bytes\"}",
            "{\"name\":\"bytes\"},{\"name\":\"gzip\",\"configuration\":{\"level\":10}}",
        ),
    );
    all.add("an unknown grid", v3("\"regular\"", "\"hexagonal\""));
    all.add("a fill value out of range", v3("\"fill_value\":7", "\"fill_value\":256"));
    all.add("a fill value of no kind", v3("\"fill_value\":7", "\"fill_value\":\"seven\""));
    all.add(
        "a member that must be understood",
        v3("\"shape\":[4]", "\"shape\":[4],\"units\":{\"must_understand\":true}"),
    );
    all.add(
        "dimension names of another rank",
        v3("\"shape\":[4]", "\"shape\":[4],\"dimension_names\":[\"x\",\"y\"]"),
    );
    all.add("a chunk that is too short", chunk(r#"[{"name":"bytes"}]"#, &[1]));
    all.add("an empty chunk", chunk(r#"[{"name":"bytes"}]"#, &[]));
    all.add(
        "garbage for gzip",
        chunk(r#"[{"name":"bytes"},{"name":"gzip","configuration":{"level":1}}]"#, b"garbage"),
    );
    all.add(
        "garbage for zstd",
        chunk(r#"[{"name":"bytes"},{"name":"zstd","configuration":{"level":1}}]"#, b"garbage"),
    );
    all.add(
        "a wrong checksum",
        chunk(r#"[{"name":"bytes"},{"name":"crc32c"}]"#, &[1, 2, 3, 4, 5, 6]),
    );
    all.add("v2: an unknown dtype", v2("<i4", "<q4"));
    all.add("v2: order K", v2("\"C\"", "\"K\""));
    all.add("v2: a separator", v2("\"order\"", "\"dimension_separator\":\"-\",\"order\""));
    all.add("v2: pickled objects", v2("\"filters\":null", "\"filters\":[{\"id\":\"pickle\"}]"));
    all.add(
        "v2: a fill value that is no base64",
        v2(
            "\"<i4\",\"compressor\":null,\"fill_value\":7",
            "\"|S3\",\"compressor\":null,\"fill_value\":\"no!\"",
        ),
    );
    let entry = |format: &str| {
        format!(
            r#"{{"zarr_format":"{format}","metadata_encoding":"https://purl.org/zarr/spec/protocol/core/3.0","metadata_key_suffix":".json","extensions":[]}}"#
        )
    };
    all.add(
        "draft: core 4.0",
        read(&[("zarr.json", entry("https://purl.org/zarr/spec/protocol/core/4.0").as_bytes())]),
    );
    let draft = entry("https://purl.org/zarr/spec/protocol/core/3.0");
    let array = r#"{"shape":[3],"data_type":"<i2","chunk_grid":{"type":"regular","chunk_shape":[2],"separator":"/"},"chunk_memory_layout":"K","fill_value":7,"extensions":[],"attributes":{}}"#;
    all.add(
        "draft: a memory layout",
        read(&[("zarr.json", draft.as_bytes()), ("meta/root.array.json", array.as_bytes())]),
    );

    let hierarchy =
        Hierarchy::create(store(&[]), zarr::format::of_dialect(Dialect::V3), &options())?;
    let a = || "/ocean/temp".parse::<NodePath>().map_err(Error::from);
    let array = hierarchy
        .create_array(&a()?)
        .shape(&[100, 4])
        .chunks(&[10, 4])
        .data_type_named("float32")
        .create()?;
    all.add(
        "create again",
        hierarchy.create_array(&a()?).shape(&[1]).data_type_named("u1").create(),
    );
    all.add("create below an array", hierarchy.create_group("/ocean/temp/x", Object::new()));
    all.add("a reserved name", hierarchy.create_group("/__x", Object::new()));
    all.add("a path that climbs", "/a/../b".parse::<NodePath>().map_err(Error::from));
    all.add(
        "an unknown type",
        hierarchy.create_array("/x").shape(&[1]).data_type_named("int31").create(),
    );
    all.add("no shape said", hierarchy.create_array("/x").data_type_named("int32").create());
    all.add("a region out of bounds", array.read::<f32>((90..110, ..)));
    all.add("a region of another rank", array.read::<f32>((1, 2, 3)));
    all.add("a number out of bounds", array.read::<f32>((.., 100)));
    all.add("a step of 0", array.read::<f32>((zarr::steps(.., 0), ..)));
    all.add("a mask of another length", array.read::<f32>((.., [true, false])));
    let points = zarr::Selection::points([vec![1, 2, 3], vec![1, 2]]);
    all.add("points of different lengths", array.read::<f32>(points));
    all.add("an unknown dimension", array.read::<f32>(zarr::Selection::named("lat", 1)));
    all.add("elements of another type", array.read::<f64>(..));
    all.add("too few elements", array.write((0, ..), &[1.0f32; 3]));
    all.add("no such chunk", array.chunk(&[10, 0]));
    all.add("a group that is an array", hierarchy.group(&a()?));
    all.add("a node that is not there", hierarchy.node("/ocean/salt"));
    all.add("a region too large for memory", {
        let huge = hierarchy
            .create_array("/huge")
            .shape([1u64 << 40, 1 << 40])
            .chunks(&[1, 1])
            .data_type_named("u1")
            .create()?;
        huge.read::<u8>(..)
    });
    let chain = hierarchy
        .create_array("/two")
        .shape(&[4])
        .data_type_named("u1")
        .codec(zarr::tools::codec("gzip")?)
        .codec(zarr::tools::codec("crc32c")?)
        .create()?;
    let draft =
        Hierarchy::create(store(&[]), zarr::format::of_dialect(Dialect::Draft), &options())?;
    let node = hierarchy.node(chain.path())?;
    all.add(
        "two codecs in the draft",
        zarr::tools::copy(&node, &draft, "/two", &CopyOptions::default()),
    );
    all.add("a name that the draft forbids", draft.create_group("/é", Object::new()));
    all.add(
        "attributes that the draft would read as codecs",
        draft.create_array("/a").shape(&[1]).data_type_named("u1").create()?.update_attributes(
            |a| {
                a.insert("filters", zarr::Json::parse(br#"[{"id":"delta"}]"#).expect("JSON"));
            },
        ),
    );
    let read_only =
        Hierarchy::open(hierarchy.store().clone(), &OpenOptions::new(zarr::standard()))?;
    all.add(
        "write through a read-only handle",
        read_only.array(&a()?)?.write(Region::all(&[100, 4]), &[0f32; 400]),
    );
    all.add("a scheme that nobody registered", zarr::open("ftp://example.org/x.zarr"));
    all.add("a codec shorthand", zarr::tools::codec("gzip:fast"));

    assert!(all.0.matches("## ").count() >= 30);
    // zfp is there if another crate of the workspace asked for it.
    insta::assert_snapshot!(all.0.replace("zfp, zfpy, ", ""));
    Ok(())
}
