//! Checks that documents survive being read and written again.
//!
//! A case is a whole document, or a list of fragments that are put into a document one by one.

use std::path::Path;
use std::sync::Arc;

use zarr::store::{Payload, Store, StoreKey};
use zarr::{Access, Array, Dialect, Hierarchy, Json, Node, NodePath, Object, OpenOptions};

use crate::Check;
use crate::compare::{equal, parse, same, same_json};

/// Puts the case's document into a store, rewrites it there, writes its array anew elsewhere.
pub fn check(file: &Path, store_path: &str) -> Check {
    let json = read(file)?;
    match store_path.split('/').collect::<Vec<_>>().as_slice() {
        ["v2", "array", _] => rewrite(&[(".zarray", &json)], ".zarray"),
        ["v2", "group", _] => rewrite(&[(".zgroup", &json)], ".zgroup"),
        ["v2", "consolidated", _] => consolidated_v2(&json),
        ["v3", "array" | "group", _] => rewrite(&[("zarr.json", &json)], "zarr.json"),
        ["v3", "consolidated", _] => consolidated_v3(&json),
        ["v3", "codec", name, _] => fragments(&json, |part| with_codec(name, part)),
        ["v3", "chunk_grid", _, _] => fragments(&json, with_grid),
        ["v3", "chunk_key_encoding", _, _] => fragments(&json, |part| {
            base(Json::from("uint8"), Json::from(0u64), 1).with("chunk_key_encoding", part.clone())
        }),
        ["v3", "data_type", name, "fill_values.json"] => {
            let folder = file.parent().unwrap_or(file);
            let data_type = match name {
                &"raw" => Json::from("r32"),
                name => read(&folder.join("data_type.json")).unwrap_or_else(|_| Json::from(*name)),
            };
            fragments(&json, |part| base(data_type.clone(), part.clone(), 1))
        }
        ["v3", "data_type", name, "data_type.json"] => {
            let fill = match name {
                &"struct" => parse(br#"{"x": 0.0, "y": 0.0, "when": 0}"#, "fill value")?,
                _ => Json::from(0u64),
            };
            let document = Json::Object(base(json, fill, 1));
            rewrite(&[("zarr.json", &document)], "zarr.json")
        }
        _ => Err(format!("nobody knows what {store_path} is")),
    }
}

fn read(file: &Path) -> Result<Json, String> {
    let text = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    parse(&text, &file.display().to_string())
}

fn fragments(json: &Json, document: impl Fn(&Json) -> Object) -> Check {
    for (name, part) in json.as_object().ok_or("not an object")?.iter() {
        let document = Json::Object(document(part));
        rewrite(&[("zarr.json", &document)], "zarr.json").map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(())
}

/// A v3 document with axes of 840 elements in chunks of 420, to be changed where a case says more.
fn base(data_type: Json, fill: Json, rank: usize) -> Object {
    let serializer = match data_type.as_str() {
        Some("string") => codec("vlen-utf8", Object::new()),
        Some("bytes") => codec("vlen-bytes", Object::new()),
        _ => codec("bytes", Object::new().with("endian", "little")),
    };
    let all = |len: u64| (0..rank).map(|_| Json::from(len)).collect::<Json>();
    let grid = Object::new().with("name", "regular");
    Object::new()
        .with("zarr_format", 3u64)
        .with("node_type", "array")
        .with("shape", all(840))
        .with("data_type", data_type)
        .with("chunk_grid", grid.with("configuration", Object::new().with("chunk_shape", all(420))))
        .with("chunk_key_encoding", Object::new().with("name", "default"))
        .with("fill_value", fill)
        .with("codecs", vec![serializer])
        .with("attributes", Object::new())
}

fn codec(name: &str, configuration: Object) -> Json {
    Json::Object(Object::new().with("name", name).with("configuration", configuration))
}

fn with_codec(name: &str, part: &Json) -> Object {
    let list = |member: &str| {
        let configuration =
            part.as_object().and_then(|p| p.get("configuration")).and_then(Json::as_object);
        configuration.and_then(|c| c.get(member)).and_then(Json::as_array).map(<[Json]>::to_vec)
    };
    let bytes = codec("bytes", Object::new().with("endian", "little"));
    let names_endian = part.to_string().contains("endian");
    let (data_type, rank, codecs) = match name {
        "bytes" => (if names_endian { "uint16" } else { "uint8" }, 1, vec![part.clone()]),
        "transpose" => ("uint16", list("order").map_or(1, |o| o.len()), vec![part.clone(), bytes]),
        "cast_value" | "scale_offset" => ("float64", 1, vec![part.clone(), bytes]),
        "sharding_indexed" => {
            ("uint16", list("chunk_shape").map_or(1, |s| s.len()), vec![part.clone()])
        }
        _ => ("float32", 1, vec![bytes, part.clone()]),
    };
    let mut document = base(Json::from(data_type), Json::from(0u64), rank).with("codecs", codecs);
    if let Some(inner) = list("chunk_shape") {
        // A shard of two inner chunks along each axis.
        let outer =
            inner.iter().filter_map(Json::as_u64).map(|len| Json::from(2 * len)).collect::<Json>();
        let configuration = Object::new().with("chunk_shape", outer);
        document.insert(
            "chunk_grid",
            Object::new().with("name", "regular").with("configuration", configuration),
        );
    }
    document
}

/// A grid's document, its array as long as the explicit edges reach.
fn with_grid(part: &Json) -> Object {
    let configuration =
        part.as_object().and_then(|p| p.get("configuration")).and_then(Json::as_object);
    let axes = |name| {
        configuration.and_then(|c| c.get(name)).and_then(Json::as_array).map(<[Json]>::to_vec)
    };
    let axes = axes("chunk_shape").or_else(|| axes("chunk_shapes")).unwrap_or_default();
    let length = |axis: &Json| match axis.as_array() {
        Some(edges) => edges.iter().map(edge).sum(),
        None => axis.as_u64().unwrap_or(1),
    };
    let shape: Json = axes.iter().map(length).map(Json::from).collect();
    let base = base(Json::from("uint8"), Json::from(0u64), axes.len());
    base.with("shape", shape).with("chunk_grid", part.clone())
}

fn edge(edge: &Json) -> u64 {
    match edge.as_array() {
        Some(run) => run.iter().filter_map(Json::as_u64).product(),
        None => edge.as_u64().unwrap_or(1),
    }
}

fn store(documents: &[(&str, &Json)]) -> Result<Arc<dyn Store>, String> {
    let store =
        zarr::standard().open_store("memory://", Access::ReadWrite).map_err(|e| e.to_string())?;
    let writeable = store.to_sync();
    for (key, document) in documents {
        let text = document.to_string();
        let key = StoreKey::new(*key).map_err(|e| e.to_string())?;
        writeable.set(&key, Payload::from(text.as_bytes())).map_err(|e| e.to_string())?;
    }
    Ok(store)
}

fn opened(store: &Arc<dyn Store>) -> Result<Hierarchy, String> {
    let options = OpenOptions::new(zarr::standard()).read_write();
    Hierarchy::open(store.clone(), &options).map_err(|e| e.to_string())
}

/// The root node's document survives changes that are taken back, and being written anew.
fn rewrite(documents: &[(&str, &Json)], key: &str) -> Check {
    let store = store(documents)?;
    let hierarchy = opened(&store)?;
    let node = hierarchy.node(NodePath::root()).map_err(|e| e.to_string())?;
    for update in
        [|a: &mut Object| drop(a.insert("added", true)), |a: &mut Object| drop(a.remove("added"))]
    {
        node.update_attributes(update).map_err(|e| e.to_string())?;
    }
    if let Node::Array(array) = &node {
        let shape = array.shape().to_vec();
        let longer: Vec<u64> = shape.iter().map(|len| len + 1).collect();
        if array.chunk_shape().is_some() {
            array.resize(&longer).map_err(|e| e.to_string())?;
            array.resize(&shape).map_err(|e| e.to_string())?;
        }
        let reopened = opened(&store)?.array(NodePath::root()).map_err(|e| e.to_string())?;
        create_again(&reopened)?;
    }
    let (_, before) = documents.iter().find(|(k, _)| *k == key).ok_or("no such document")?;
    let readable = store.to_sync();
    let found = readable
        .value(&StoreKey::new(key).map_err(|e| e.to_string())?)
        .map_err(|e| e.to_string())?;
    let after = parse(&found.ok_or("the document vanished")?, key)?;
    same_json("rewritten document", &plain(&after), &plain(before))
}

/// The document without what may come and go: empty attributes, a cache of other documents.
fn plain(json: &Json) -> Json {
    let mut object = json.as_object().cloned().unwrap_or_default();
    if object.get("attributes").is_some_and(|a| equal(a, &Json::Object(Object::new()))) {
        object.remove("attributes");
    }
    object.remove("consolidated_metadata");
    Json::Object(object)
}

/// An array created from the metadata has the same metadata.
fn create_again(array: &Array) -> Check {
    let hierarchy =
        zarr::create("memory://", array.hierarchy().dialect()).map_err(|e| e.to_string())?;
    let path = NodePath::new("/again").map_err(|e| e.to_string())?;
    let before = array.metadata();
    let created = hierarchy.create_array(&path).from_metadata((*before).clone()).create();
    let created = created.map_err(|e| format!("created again: {e}"))?;
    let after = created.metadata();
    same("shape", &after.shape, &before.shape)
        .and_then(|()| same("data type", after.data_type.to_string(), before.data_type.to_string()))
        .and_then(|()| same("chunk shape", after.chunk_shape(), before.chunk_shape()))
        .and_then(|()| {
            same(
                "chunk keys",
                format!("{:?}", after.chunk_keys),
                format!("{:?}", before.chunk_keys),
            )
        })
        .and_then(|()| {
            same("codecs", format!("{:?}", after.codecs), format!("{:?}", before.codecs))
        })
        .and_then(|()| same("fill value", &after.fill_value, &before.fill_value))
        .and_then(|()| same("dimension names", &after.dimension_names, &before.dimension_names))
        .and_then(|()| same("unknown members", &after.unknown, &before.unknown))
        .and_then(|()| same("attributes", &after.attributes, &before.attributes))
        .map_err(|e| format!("created again: {e}"))
}

/// The documents inside also lie where they belong: consolidated metadata is a copy, and may be ignored.
fn consolidated_v2(json: &Json) -> Check {
    let group = Json::Object(Object::new().with("zarr_format", 2u64));
    let copies = json.as_object().and_then(|j| j.get("metadata")).and_then(Json::as_object);
    let copies = copies.ok_or("no `metadata`")?;
    let mut documents = vec![(".zmetadata", json), (".zgroup", &group)];
    documents.extend(copies.iter().filter(|(key, _)| *key != ".zgroup"));
    check_consolidated(&documents, Dialect::V2)
}

fn consolidated_v3(json: &Json) -> Check {
    let root = Object::new().with("zarr_format", 3u64).with("node_type", "group");
    let root = Json::Object(root.with("consolidated_metadata", json.clone()));
    let copies = json.as_object().and_then(|j| j.get("metadata")).and_then(Json::as_object);
    let copies = copies.ok_or("no `metadata`")?;
    let keys: Vec<String> = copies.iter().map(|(path, _)| format!("{path}/zarr.json")).collect();
    let mut documents = vec![("zarr.json", &root)];
    documents.extend(keys.iter().map(String::as_str).zip(copies.iter().map(|(_, copy)| copy)));
    check_consolidated(&documents, Dialect::V3)
}

fn check_consolidated(documents: &[(&str, &Json)], dialect: Dialect) -> Check {
    let hierarchy = opened(&store(documents)?)?;
    same("dialect", hierarchy.dialect(), dialect)?;
    let tree = hierarchy.tree(NodePath::root()).map_err(|e| e.to_string())?;
    let nodes = documents.iter().filter(|(key, _)| {
        [".zgroup", ".zarray", "zarr.json"].contains(&key.rsplit('/').next().unwrap_or_default())
    });
    same("nodes in the tree", tree.len(), nodes.count())?;
    for child in &tree {
        hierarchy.node(&child.path).map_err(|e| e.to_string())?;
    }
    let root = if dialect == Dialect::V2 { ".zgroup" } else { "zarr.json" };
    rewrite(documents, root)
}
