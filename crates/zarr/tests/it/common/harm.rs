//! Damages documents, and does with them what a reader would do.

use std::sync::Arc;

use proptest::prelude::*;
use zarr::store::Store;
use zarr::tools::CopyOptions;
use zarr::{Dialect, Hierarchy, Node, NodePath, OpenOptions, Region};

/// Something done to the bytes of a document.
#[derive(Clone, Debug)]
pub enum Harm {
    /// The value of the nth place where one stands is another.
    Value(usize, String),
    /// The nth member of the outermost object stands twice.
    Twice(usize, String),
    /// The document ends here.
    Cut(usize),
    /// This byte stands there.
    Byte(usize, u8),
}

/// The spans of all values in a JSON text.
fn values(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let (mut spans, mut open, mut at) = (Vec::new(), Vec::new(), 0);
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => open.push(at),
            b'}' | b']' => spans.extend(open.pop().map(|start| (start, at + 1))),
            b'"' => {
                let start = at;
                at += 1;
                while bytes.get(at).is_some_and(|&byte| byte != b'"') {
                    at += 1;
                }
                if bytes.get(at + 1) != Some(&b':') {
                    spans.push((start, (at + 1).min(bytes.len())));
                }
            }
            b':' | b',' => {}
            _ => {
                let start = at;
                while bytes.get(at + 1).is_some_and(|byte| !b",]}".contains(byte)) {
                    at += 1;
                }
                spans.push((start, at + 1));
            }
        }
        at += 1;
    }
    spans
}

/// The document after that.
pub fn harmed(document: &[u8], harm: &Harm) -> Vec<u8> {
    let mut bytes = document.to_vec();
    match (harm, std::str::from_utf8(document)) {
        (Harm::Value(n, value), Ok(text)) => {
            let spans = values(text);
            if !spans.is_empty() {
                let (start, end) = spans[n % spans.len()];
                bytes.splice(start..end, value.bytes());
            }
        }
        (Harm::Twice(n, value), Ok(text)) => {
            let names =
                ["shape", "data_type", "chunk_grid", "fill_value", "zarr_format", "attributes"];
            let member = format!("\"{}\":{value},", names[n % names.len()]);
            if text.starts_with('{') {
                bytes.splice(1..1, member.bytes());
            }
        }
        (Harm::Cut(at), _) => bytes.truncate(at % (document.len() + 1)),
        (Harm::Byte(at, byte), _) if !bytes.is_empty() => {
            let at = at % bytes.len();
            bytes[at] = *byte;
        }
        _ => {}
    }
    bytes
}

/// One of these values, or deep nesting.
pub fn value(values: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![
        12 => prop::sample::select(values.to_vec()).prop_map(str::to_owned),
        1 => (1usize..200).prop_map(|n| format!("{}{}", "[".repeat(n), "]".repeat(n))),
        1 => Just(format!("{}1{}", "{\"a\":".repeat(3000), "}".repeat(3000))),
    ]
}

/// Values are of these.
pub fn harm(values: &'static [&'static str]) -> impl Strategy<Value = Harm> {
    prop_oneof![
        8 => (any::<usize>(), value(values)).prop_map(|(n, value)| Harm::Value(n, value)),
        2 => (any::<usize>(), value(values)).prop_map(|(n, value)| Harm::Twice(n, value)),
        1 => any::<usize>().prop_map(Harm::Cut),
        1 => (any::<usize>(), any::<u8>()).prop_map(|(n, byte)| Harm::Byte(n, byte)),
    ]
}

/// All that a reader does; the answers do not matter.
pub fn read_all(store: Arc<dyn Store>, options: &OpenOptions) {
    let Ok(hierarchy) = Hierarchy::open(store, options) else { return };
    let root = NodePath::root();
    let _ = hierarchy.children(&root);
    let tree = hierarchy.tree(&root).unwrap_or_default();
    for child in &tree {
        let _ = hierarchy.children(&child.path);
        let Ok(Node::Array(array)) = hierarchy.node(&child.path) else { continue };
        let shape = array.shape();
        let corner = Region::new(shape.iter().map(|&len| 0..len.min(3)));
        let _ = array.read_le_bytes(&corner);
        let far = Region::new(shape.iter().map(|&len| len.saturating_sub(2)..len));
        let _ = array.read_le_bytes(&far);
        // A copy has chunks as large as the document says, which is no hurry's business.
        let counts = [shape, array.metadata().chunk_shape().unwrap_or_default()];
        let small = counts
            .iter()
            .all(|shape| zarr::region::element_count(shape).is_some_and(|count| count < 1000));
        let memory = zarr::create("memory://", Dialect::V3).expect("created");
        if small && array.data_type().repr().is_none_or(|repr| repr.size() < 1000) {
            let node = Node::Array(array);
            let _ = zarr::tools::copy(&node, &memory, "/a", &CopyOptions::default());
        }
    }
}
