//! Checks that the hierarchies written out in `cases/` mean what the specifications say.
//!
//! The form of a case is described in `specs-conformance/README.md`.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use zarr::store::{Payload, Store, StoreKey};
use zarr::{
    Access, Array, Consolidated, Dialect, Era, ErrorKind, Hierarchy, Json, Node, NodePath, Object,
    OpenOptions,
};

use crate::compare::{hex, names, numbers, objects, parse, same, same_json, text, unhex};
use crate::{Case, Check, steps};

/// The cases of every file below `folder`, each with its variants.
pub fn cases(folder: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for path in crate::table::files(folder, "json")? {
        let place = path.display().to_string();
        let text = fs::read(&path).map_err(|e| format!("{place}: {e}"))?;
        let Json::Object(case) = parse(&text, &place)? else {
            return Err(format!("{place}: not an object"));
        };
        let name = path.strip_prefix(folder).unwrap_or(&path).with_extension("");
        let name = format!("cases/{}", name.display());
        for variant in objects(&case, "variants") {
            let id = format!("{name}/{}", crate::compare::text(variant, "id").unwrap_or_default());
            let case = vary(&case, variant).map_err(|e| format!("{id}: {e}"))?;
            cases.push(Case::new(id, move || check(&case)));
        }
        if case.contains("expect") {
            cases.push(Case::new(name, move || check(&case)));
        }
    }
    Ok(cases)
}

/// The variant as a case of its own: on the case's store, changed as the variant's `store`, `set` and
/// `remove` say.
fn vary(case: &Object, variant: &Object) -> Result<Object, String> {
    let mut varied = Object::new();
    let mut store = case.get("store").and_then(Json::as_object).cloned().unwrap_or_default();
    for (name, value) in variant.iter() {
        match name {
            "store" => {
                for (key, value) in value.as_object().into_iter().flat_map(Object::iter) {
                    match value {
                        Json::Null => drop(store.remove(key)),
                        value => drop(store.insert(key, value.clone())),
                    }
                }
            }
            "set" | "remove" => {}
            _ => drop(varied.insert(name, value.clone())),
        }
    }
    for (place, value) in
        variant.get("set").and_then(Json::as_object).into_iter().flat_map(Object::iter)
    {
        change(&mut store, place, Some(value))?;
    }
    for place in variant.get("remove").and_then(Json::as_array).unwrap_or_default() {
        change(&mut store, place.as_str().unwrap_or_default(), None)?;
    }
    varied.insert("store", store);
    Ok(varied)
}

/// Sets or removes the member at `KEY#/NAME/NAME` of a document of the store.
fn change(store: &mut Object, place: &str, value: Option<&Json>) -> Result<(), String> {
    let (key, members) = place.split_once("#/").ok_or_else(|| format!("`{place}` has no `#/`"))?;
    let document = store.get(key).and_then(Json::as_object).and_then(|d| d.get("json"));
    let document = document.ok_or_else(|| format!("`{key}` is no document"))?;
    let names: Vec<&str> = members.split('/').collect();
    let changed = changed(document, &names, value);
    store.insert(key, Object::new().with("json", changed));
    Ok(())
}

fn changed(json: &Json, names: &[&str], value: Option<&Json>) -> Json {
    let mut object = json.as_object().cloned().unwrap_or_default();
    match (names, value) {
        ([name], Some(value)) => drop(object.insert(*name, value.clone())),
        ([name], None) => drop(object.remove(name)),
        ([name, rest @ ..], value) => {
            let inner = changed(object.get(name).unwrap_or(&Json::Null), rest, value);
            object.insert(*name, inner);
        }
        ([], _) => {}
    }
    Json::Object(object)
}

fn check(case: &Object) -> Check {
    let store = filled(case.get("store").and_then(Json::as_object))?;
    let options = options(case)?;
    if let Some(expect) = case.get("expect").and_then(Json::as_object) {
        check_expect(&store, &options, expect)?;
    }
    for step in objects(case, "steps") {
        steps::take(&store, &options, step)
            .map_err(|e| format!("step {}: {e}", Json::Object(step.clone())))?;
    }
    match case.get("after").and_then(Json::as_object) {
        Some(after) => {
            check_expect(&store, &options, after).map_err(|e| format!("after the steps: {e}"))
        }
        None => Ok(()),
    }
}

/// A store in memory that holds what the case says.
fn filled(values: Option<&Object>) -> Result<Arc<dyn Store>, String> {
    let store =
        zarr::standard().open_store("memory://", Access::ReadWrite).map_err(|e| e.to_string())?;
    let writeable = store.to_sync();
    for (key, value) in values.into_iter().flat_map(Object::iter) {
        let key = StoreKey::new(key).map_err(|e| e.to_string())?;
        let bytes = bytes_of(value).map_err(|e| format!("{key}: {e}"))?;
        writeable.set(&key, Payload::from(bytes.as_slice())).map_err(|e| e.to_string())?;
    }
    Ok(store)
}

/// A value of the store: `{"json": …}`, `{"hex": …}` or `{"text": …}`.
fn bytes_of(value: &Json) -> Result<Vec<u8>, String> {
    let value = value.as_object().ok_or("a value is an object")?;
    match (value.get("json"), text(value, "hex"), text(value, "text")) {
        (Some(json), None, None) => Ok(json.to_string().into_bytes()),
        (None, Some(digits), None) => unhex(digits),
        (None, None, Some(text)) => Ok(text.as_bytes().to_vec()),
        _ => Err("a value says one of `json`, `hex`, `text`".into()),
    }
}

fn options(case: &Object) -> Result<OpenOptions, String> {
    let mut registry = zarr::standard();
    if case.get("extensions").and_then(Json::as_bool) == Some(true) {
        registry = registry.with(zarr_example_extension::register);
    }
    let mut options = OpenOptions::new(registry).read_write();
    if text(case, "reading") == Some("strict") {
        options = options.strict();
    }
    let is = |member: &str| case.get(member).and_then(Json::as_bool) == Some(true);
    options.options.ignore_hidden_filters = is("ignore_hidden_filters");
    options.plain_draft = is("plain_draft");
    if let Some(key) = text(case, "consolidated") {
        // A consolidated copy is for reading.
        options.access = zarr::Access::ReadOnly;
        options = options.consolidated(match key {
            "" => Consolidated::Use,
            key => Consolidated::At(StoreKey::new(key).map_err(|e| e.to_string())?),
        });
    }
    if let Some(era) = text(case, "era") {
        options = options.era(era.parse()?);
    }
    match text(case, "dialect") {
        None => Ok(options),
        Some("v2") => Ok(options.dialect(Dialect::V2)),
        Some("v3") => Ok(options.dialect(Dialect::V3)),
        Some("draft-2020") => Ok(options.dialect(Dialect::Draft)),
        Some(other) => Err(format!("no dialect is called `{other}`")),
    }
}

fn check_expect(store: &Arc<dyn Store>, options: &OpenOptions, expect: &Object) -> Check {
    check_store(store, expect)?;
    let opened = Hierarchy::open(store.clone(), options);
    let hierarchy = match (opened, text(expect, "error")) {
        (Ok(hierarchy), None) => hierarchy,
        (Ok(_), Some(kind)) => return Err(format!("opened, where {kind} is due")),
        (Err(error), Some(kind)) => return expect_error(kind, &error),
        // What is wrong with the root's document may come out here already.
        (Err(error), None) => {
            return match objects(expect, "nodes")
                .iter()
                .map(|node| text(node, "error"))
                .collect::<Option<Vec<_>>>()
            {
                Some(kinds) if !kinds.is_empty() => {
                    kinds.into_iter().try_for_each(|kind| expect_error(kind, &error))
                }
                _ => Err(error.to_string()),
            };
        }
    };
    if let Some(format) = text(expect, "format") {
        same("format", hierarchy.format_name(), format)?;
    }
    if let Some(era) = text(expect, "era") {
        same("era", hierarchy.era().map(Era::name), Some(era))?;
    }
    for node in objects(expect, "nodes") {
        let path = text(node, "path").unwrap_or_default();
        check_node(&hierarchy, node).map_err(|e| format!("{path}: {e}"))?;
    }
    for path in expect.get("absent").and_then(Json::as_array).unwrap_or_default() {
        match hierarchy.node(&node_path(path.as_str())?) {
            Ok(_) => return Err(format!("{path} is there")),
            Err(error) => expect_error("not-found", &error)?,
        }
    }
    if let Some(expected) = expect.get("tree").and_then(Json::as_array) {
        let tree = hierarchy.tree(NodePath::root()).map_err(|e| format!("tree: {e}"))?;
        let found: Vec<&str> = tree.iter().map(|child| child.path.as_str()).collect();
        same("tree", found, expected.iter().filter_map(Json::as_str).collect())?;
    }
    match expect.get("warnings").and_then(Json::as_bool) {
        Some(expected) => {
            same("whether there are warnings", !hierarchy.warnings().is_empty(), expected)
        }
        None => Ok(()),
    }
}

/// The keys of the store, and the values of some.
fn check_store(store: &Arc<dyn Store>, expect: &Object) -> Check {
    if let Some(expected) = expect.get("keys").and_then(Json::as_array) {
        let listable = store.to_sync();
        let found = listable.list().map_err(|e| e.to_string())?;
        let found: Vec<&str> = found.iter().map(|key| key.as_str()).collect();
        same("keys", found, expected.iter().filter_map(Json::as_str).collect())?;
    }
    for (key, value) in
        expect.get("store").and_then(Json::as_object).into_iter().flat_map(Object::iter)
    {
        let readable = store.to_sync();
        let found = readable
            .value(&StoreKey::new(key).map_err(|e| e.to_string())?)
            .map_err(|e| e.to_string())?;
        let json = value.as_object().and_then(|value| value.get("json"));
        match (found, json) {
            (Some(found), Some(json)) => same_json(key, &parse(&found, key)?, json)?,
            (Some(found), None) => same(key, hex(&found), hex(&bytes_of(value)?))?,
            (None, _) => return Err(format!("`{key}` is not there")),
        }
    }
    Ok(())
}

fn check_node(hierarchy: &Hierarchy, expect: &Object) -> Check {
    let path = node_path(text(expect, "path"))?;
    let node = match (hierarchy.node(&path), text(expect, "error")) {
        (Ok(node), None) => node,
        (Ok(_), Some(kind)) => return Err(format!("opened, where {kind} is due")),
        (Err(error), Some(kind)) => return expect_error(kind, &error),
        (Err(error), None) => return Err(error.to_string()),
    };
    if let Some(kind) = text(expect, "kind") {
        same("kind", node.kind().name(), kind)?;
    }
    if let Some(attributes) = expect.get("attributes") {
        same_json("attributes", &Json::Object(node.attributes()), attributes)?;
    }
    match node {
        Node::Array(array) => check_array(&array, expect),
        Node::Group(group) => match expect.get("implicit").and_then(Json::as_bool) {
            Some(implicit) => same("implicit", group.metadata().implicit, implicit),
            None => Ok(()),
        },
    }
}

fn check_array(array: &Array, expect: &Object) -> Check {
    let metadata = array.metadata();
    if let Some(shape) = numbers(expect, "shape") {
        same("shape", array.shape().to_vec(), shape)?;
    }
    if let Some(shape) = numbers(expect, "chunk_shape") {
        same("chunk shape", array.metadata().chunk_shape(), Some(shape))?;
    }
    if let Some(data_type) = text(expect, "data_type") {
        same("data type", metadata.data_type.to_string().as_str(), data_type)?;
    }
    if let Some(expected) = expect.get("dimension_names") {
        same("dimension names", metadata.dimension_names.clone(), names(expected))?;
    }
    if let Some(expected) = expect.get("fill_le_hex").filter(|_| cfg!(target_endian = "little")) {
        let found = metadata.fill_value.as_ref().map(|fill| hex(fill.as_bytes()));
        same("fill value", found.as_deref(), expected.as_str())?;
    }
    match (text(expect, "le_hex"), text(expect, "read_error")) {
        (Some(expected), _) => {
            let found = array.read_le_bytes(..).map_err(|e| e.to_string())?;
            same("elements", hex(&found), hex(&unhex(expected)?))
        }
        (None, Some(kind)) => match array.read_le_bytes(..) {
            Ok(_) => Err(format!("was read, where {kind} is due")),
            Err(error) => expect_error(kind, &error),
        },
        (None, None) => Ok(()),
    }
}

/// The path that a case gives.
pub fn node_path(path: Option<&str>) -> Result<NodePath, String> {
    NodePath::new(path.unwrap_or_default()).map_err(|e| e.to_string())
}

/// Fails unless the error is of this kind, or `any` is asked for.
pub fn expect_error(kind: &str, error: &zarr::Error) -> Check {
    let found = match error.kind() {
        ErrorKind::Argument => "argument",
        ErrorKind::NotCapable => "not-capable",
        ErrorKind::ReadOnly => "read-only",
        ErrorKind::Exists => "exists",
        ErrorKind::NotFound => "not-found",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::InvalidMetadata => "invalid-metadata",
        ErrorKind::CorruptData => "corrupt-data",
        ErrorKind::Store => "store",
        ErrorKind::Limit => "limit",
        ErrorKind::Conflict => "conflict",
        _ => "unknown",
    };
    if kind == "any" || kind == found {
        Ok(())
    } else {
        Err(format!("{kind} is due, found {found}: {error}"))
    }
}
