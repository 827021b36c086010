//! Compares a store with what its writer, and those who read it again, say of it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use flate2::Crc;
use zarr::store::{Store, StoreKey};
use zarr::{
    Array, Dialect, Hierarchy, Json, Node, NodeKind, NodePath, Object, OpenOptions, Region,
};

use crate::compare::{hex, names, numbers, objects, parse, same, same_json, sha256, text, unhex};
use crate::{Check, servers};

/// Everything that a case expects of the store that a URL names.
pub fn check_store(store: &str, case: &Object, format: &str) -> Check {
    let nodes = expected_nodes(case);
    if nodes.is_empty() {
        return check_entries(store, case);
    }
    check_keys(store, case)?;
    let hierarchy = root(store);
    if let Some(hierarchy) = &hierarchy
        && hierarchy.store().capabilities().list
    {
        check_tree(hierarchy, &nodes)?;
    }
    for node in &nodes {
        let path = text(node, "path").unwrap_or_default();
        check_node(store, hierarchy.as_ref(), node, case, format)
            .map_err(|e| format!("/{path}: {e}"))?;
    }
    Ok(())
}

/// The nodes a case lists. Where a draft's root is an array, its generator lists an implicit group, too.
fn expected_nodes(case: &Object) -> Vec<&Object> {
    let nodes = objects(case, "nodes");
    let is_array = |node: &Object| text(node, "type") == Some("array");
    let root_is_array = nodes.iter().any(|n| is_array(n) && text(n, "path") == Some(""));
    nodes
        .into_iter()
        .filter(|n| is_array(n) || !(root_is_array && n.contains("implicit")))
        .collect()
}

/// The hierarchy at the store's root, unless the store is a folder of separate hierarchies.
fn root(store: &str) -> Option<Hierarchy> {
    let (hierarchy, path) = zarr::locate(store, &options(None)).ok()?;
    path.is_root().then_some(hierarchy)
}

fn options(dialect: Option<Dialect>) -> OpenOptions {
    let options = OpenOptions::new(servers::registry());
    match dialect {
        Some(dialect) => options.dialect(dialect),
        None => options,
    }
}

fn opened(store: &str) -> Result<Arc<dyn Store>, String> {
    servers::registry().open_store(store, zarr::Access::ReadOnly).map_err(|e| e.to_string())
}

/// An archive that holds no hierarchy has the entries that its directory tells of.
fn check_entries(store: &str, case: &Object) -> Check {
    let entries = objects(case, "entries");
    if entries.is_empty() {
        return Err("nothing of it can be compared yet".into());
    }
    let opened = opened(store)?;
    let readable = opened.to_sync();
    let number = |entry: &Object, name: &str| entry.get(name).and_then(Json::as_u64);
    let mut names = Vec::new();
    for entry in entries {
        let name = text(entry, "name").unwrap_or_default();
        if name.ends_with('/') {
            continue;
        }
        let key = StoreKey::new(name).map_err(|e| e.to_string())?;
        let value = readable.value(&key).map_err(|e| e.to_string())?;
        let value = value.ok_or_else(|| format!("no entry `{name}`"))?;
        same(name, Some(value.len() as u64), number(entry, "size"))?;
        let mut crc = Crc::new();
        crc.update(&value);
        same(name, Some(u64::from(crc.sum())), number(entry, "crc"))?;
        names.push(key);
    }
    names.sort();
    let listable = opened.to_sync();
    same("keys", listable.list().map_err(|e| e.to_string())?, names)
}

/// The store lists the keys that its writer left, no more and no fewer.
pub fn check_keys(store: &str, case: &Object) -> Check {
    let Some(expected) = case.get("keys").and_then(Json::as_array) else {
        return Ok(());
    };
    // Of other stores than folders nobody wrote them down, but what files they are.
    if case.contains("store") {
        return Ok(());
    }
    let opened = opened(store)?;
    // Who serves the web lists nothing.
    if !opened.capabilities().list {
        return Ok(());
    }
    let listable = opened.to_sync();
    let found = listable.list().map_err(|e| e.to_string())?;
    let mut found: Vec<&str> = found.iter().map(|key| key.as_str()).collect();
    let mut expected: Vec<&str> = expected.iter().filter_map(Json::as_str).collect();
    found.sort_unstable();
    expected.sort_unstable();
    same("keys", found, expected)
}

fn check_tree(hierarchy: &Hierarchy, nodes: &[&Object]) -> Check {
    let tree = hierarchy.tree(NodePath::root()).map_err(|e| format!("tree: {e}"))?;
    for node in nodes {
        let path = path_of(node)?;
        // What lies below a folder without a document is found by its path alone (F-113, Z2-005).
        if path.ancestors().any(|above| hierarchy.node(&above).is_err()) {
            continue;
        }
        let child = tree.iter().find(|child| child.path == path);
        let child = child.ok_or_else(|| format!("the tree lacks {path}"))?;
        same(&format!("the tree's kind of {path}"), child.kind, Some(kind_of(node)))?;
        if let Some(implicit) = node.get("implicit").and_then(Json::as_bool) {
            same(&format!("whether {path} is implicit"), child.implicit, implicit)?;
        }
    }
    Ok(())
}

fn path_of(node: &Object) -> Result<NodePath, String> {
    NodePath::new(text(node, "path").unwrap_or_default()).map_err(|e| e.to_string())
}

fn kind_of(node: &Object) -> NodeKind {
    match text(node, "type") {
        Some("group") => NodeKind::Group,
        _ => NodeKind::Array,
    }
}

fn check_node(
    store: &str,
    hierarchy: Option<&Hierarchy>,
    node: &Object,
    case: &Object,
    format: &str,
) -> Check {
    let path = path_of(node)?;
    // A folder may hold the same array twice, once for each format.
    let dialect = match node.get("zarr_format").and_then(Json::as_u64) {
        Some(2) => Some(Dialect::V2),
        Some(3) => Some(Dialect::V3),
        _ => None,
    };
    let url = format!("{store}/{}", path.relative());
    let url = url.trim_end_matches('/');
    let opened = zarr::open_with(url, &options(dialect)).map_err(|e| e.to_string())?;
    same("kind", opened.kind(), kind_of(node))?;
    let twins = objects(case, "nodes").iter().filter(|n| path_of(n).as_ref() == Ok(&path)).count();
    if let (Some(hierarchy), 1) = (hierarchy, twins) {
        let inside = hierarchy.node(&path).map_err(|e| format!("from the root: {e}"))?;
        same("kind from the root", inside.kind(), kind_of(node))?;
    }
    check_attributes(&opened, node, case, format)?;
    match opened {
        Node::Array(array) => check_array(&array, node, format),
        Node::Group(_) => Ok(()),
    }
}

fn check_attributes(opened: &Node, node: &Object, case: &Object, format: &str) -> Check {
    let Some(expected) = node.get("attributes").filter(|_| !node.contains("attributes_see")) else {
        return Ok(());
    };
    let mut found = opened.attributes().clone();
    // The 2020 draft's zarr-python keeps filters among the attributes, and hides them.
    let hidden =
        format == "v3-draft-2020" && !expected.as_object().is_some_and(|e| e.contains("filters"));
    if hidden {
        found.remove("filters");
    }
    if case.contains("attributes_note") {
        // GDAL adds attributes of its own.
        let expected = expected.as_object().cloned().unwrap_or_default();
        found = found.into_iter().filter(|(name, _)| expected.contains(name)).collect();
    }
    same_json("attributes", &Json::Object(found), expected)
}

fn check_array(array: &Array, node: &Object, format: &str) -> Check {
    let shape = numbers(node, "shape").ok_or("the case gives no shape")?;
    same("shape", array.shape().to_vec(), shape.clone())?;
    if let Some(expected) = chunk_shape(node) {
        same("chunk shape", array.metadata().chunk_shape(), Some(expected))?;
    }
    let metadata = array.metadata();
    if let Some(expected) = node.get("dimension_names").and_then(names) {
        same("dimension names", metadata.dimension_names.clone(), Some(expected))?;
    }
    check_data_type(&metadata.declared_type, node, format)?;
    if node.get("fill_null").and_then(Json::as_bool) == Some(true) {
        same("fill value", metadata.fill_value.clone(), None)?;
    } else if let Some(expected) = text(node, "fill_le_hex").filter(|_| says_fill(node)) {
        let found = metadata.fill_value.as_ref().map(|fill| {
            let bytes = fill.as_bytes();
            let length = (bytes.len() as u32).to_le_bytes();
            // An element of any length stands after its length.
            let length = if metadata.data_type.is_variable() { &length[..] } else { &[] };
            hex(&[length, bytes].concat())
        });
        same("fill value", found.as_deref(), Some(expected))?;
    }
    check_elements(array, node, &shape)
}

/// Whether the fill value given is the document's: a `lossy` writer may have put another one there.
/// Fill values are compared in native order, as the cases have them.
fn says_fill(node: &Object) -> bool {
    !node.contains("lossy") && cfg!(target_endian = "little")
}

fn chunk_shape(node: &Object) -> Option<Vec<u64>> {
    let regular = || {
        let grid = node.get("chunk_grid")?.as_object()?;
        numbers(grid.get("configuration")?.as_object()?, "chunk_shape")
    };
    numbers(node, "chunk_shape").or_else(regular)
}

/// The type is the one that the case names, where it names it in the document's words.
fn check_data_type(declared: &Json, node: &Object, format: &str) -> Check {
    let Some(expected) = node.get("data_type") else {
        return Ok(());
    };
    match (format, expected) {
        ("v3-draft-2020", Json::String(expected)) => {
            // The case spells NumPy's way, the draft without the bar.
            let plain = expected.rsplit(' ').next().unwrap_or_default();
            let plain = plain.strip_prefix('|').unwrap_or(plain);
            match declared {
                Json::String(found) => {
                    same("data type", found.as_str(), if plain == "b1" { "bool" } else { plain })
                }
                _ => Ok(()),
            }
        }
        // Some cases have the fields of a record as Python prints them.
        (_, Json::String(printed)) if printed.starts_with("[['") => {
            let fields = parse(printed.replace('\'', "\"").as_bytes(), "data type")?;
            same_json("data type", declared, &fields)
        }
        _ => same_json("data type", declared, expected),
    }
}

fn check_elements(array: &Array, node: &Object, shape: &[u64]) -> Check {
    let whole = array.read_le_bytes(..);
    if let Some(why) = text(node, "must_fail") {
        return match whole {
            Ok(_) => Err(format!("was read: {why}")),
            Err(error) if error.to_string().contains("pickle") => Ok(()),
            Err(error) => Err(format!("the refusal does not name the codec: {error}")),
        };
    }
    let Some(expected) = text(node, "sha256") else {
        // Without values either, all that can be asked is that the elements do no harm.
        return match node.get("values").and_then(Json::as_array) {
            Some(values) => check_values(&whole.map_err(|e| e.to_string())?, values),
            None => Ok(()),
        };
    };
    let whole = whole.map_err(|e| e.to_string())?;
    if let Some(size) = node.get("n_bytes").and_then(Json::as_u64) {
        same("size in bytes", whole.len() as u64, size)?;
    }
    check_samples(array, node)?;
    same("sha256", sha256(&whole).as_str(), expected)?;
    let count = shape.iter().product::<u64>() as usize;
    let elements = if array.data_type().is_variable() {
        lengthy(&whole)?
    } else {
        whole.chunks(whole.len().max(1).div_ceil(count.max(1))).map(<[u8]>::to_vec).collect()
    };
    check_part(array, shape, &elements, expected)
}

/// Elements of any length, each with its length before it.
fn lengthy(mut stream: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut elements = Vec::new();
    while let Some((length, rest)) = stream.split_first_chunk::<4>() {
        let end = 4 + u32::from_le_bytes(*length) as usize;
        elements.push(stream.get(..end).ok_or("an element ends too early")?.to_vec());
        stream = &rest[end - 4..];
    }
    Ok(elements)
}

/// Values that a case tells as JSON: a list of numbers for an array of 32-bit integers, else the value that
/// the element's text is.
fn check_values(whole: &[u8], values: &[Json]) -> Check {
    let elements = lengthy(whole)?;
    same("number of elements", elements.len(), values.len())?;
    for (element, expected) in elements.iter().zip(values) {
        let element = &element[4..];
        let numbers = expected.as_array().and_then(|list| list.iter().map(Json::as_i64).collect());
        let numbers: Option<Vec<i64>> = numbers.filter(|_| element.len().is_multiple_of(4));
        let found: Vec<i64> = element
            .chunks_exact(4)
            .map(|n| i32::from_le_bytes([n[0], n[1], n[2], n[3]]).into())
            .collect();
        if numbers.as_deref() != Some(&found[..]) {
            same_json("a value", &parse(element, "an element")?, expected)?;
        }
    }
    Ok(())
}

fn check_samples(array: &Array, node: &Object) -> Check {
    for sample in objects(node, "samples") {
        let index = numbers(sample, "index").ok_or("a sample without an index")?;
        let expected = unhex(text(sample, "le_hex").unwrap_or_default())?;
        let one = Region::new(index.iter().map(|&at| at..at + 1));
        let found = array.read_le_bytes(&one).map_err(|e| format!("element {index:?}: {e}"))?;
        same(&format!("element {index:?}"), hex(&found), hex(&expected))?;
    }
    Ok(())
}

/// A part of the array, chosen by the hash, is the slice of the whole.
fn check_part(array: &Array, shape: &[u64], whole: &[Vec<u8>], seed: &str) -> Check {
    if shape.contains(&0) {
        return Ok(());
    }
    let part: Vec<Range<u64>> = (0..shape.len())
        .map(|axis| {
            let mut hasher = DefaultHasher::new();
            (seed, axis).hash(&mut hasher);
            let (draw, len) = (hasher.finish(), shape[axis]);
            let start = draw % len;
            start..start + 1 + (draw >> 32) % (len - start)
        })
        .collect();
    let found = array.read_le_bytes(part.as_slice()).map_err(|e| format!("{part:?}: {e}"))?;
    if found == slice(whole, shape, &part) {
        Ok(())
    } else {
        Err(format!("{part:?} differs from the slice of the whole"))
    }
}

/// The elements of `part` out of all elements of an array of `shape`, in C order.
fn slice(whole: &[Vec<u8>], shape: &[u64], part: &[Range<u64>]) -> Vec<u8> {
    let Some((range, inner)) = part.split_first() else {
        return whole.concat();
    };
    let step = shape[1..].iter().product::<u64>() as usize;
    let rows = whole.chunks_exact(step).skip(range.start as usize);
    rows.take((range.end - range.start) as usize)
        .flat_map(|row| slice(row, &shape[1..], inner))
        .collect()
}
