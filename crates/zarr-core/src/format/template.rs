//! Parses documents that differ in nothing but their attributes, as those of one model's variables do, only once.

use std::sync::Mutex;

use crate::json::Json;
use crate::metadata::ArrayMetadata;
use crate::sync::lock;

/// How many documents are kept.
const MAX_TEMPLATES: usize = 8;

/// The documents of some arrays that were read lately, the newest first; and how many since were like none of them.
#[derive(Debug, Default)]
pub(crate) struct Templates(Mutex<(Vec<Template>, u32)>);

/// An array's document without its attributes: the text before and after them.
#[derive(Debug)]
struct Template {
    before: Vec<u8>,
    after: Vec<u8>,
    metadata: ArrayMetadata,
}

impl Templates {
    /// The metadata of a document that is like one that is kept.
    pub fn metadata(&self, document: &[u8]) -> Option<ArrayMetadata> {
        let found = {
            let (kept, missed) = &mut *lock(&self.0);
            let found = kept.iter().find_map(|template| {
                let rest = document.strip_prefix(&template.before[..])?;
                Some((rest.strip_suffix(&template.after[..])?, template.metadata.clone()))
            });
            *missed = if found.is_some() { 0 } else { missed.saturating_add(1) };
            found?
        };
        // One value of JSON where another was: the whole is JSON again, and no other member of it changed.
        match Json::parse_member(found.0)? {
            Json::Object(attributes) => Some(ArrayMetadata { attributes, ..found.1 }),
            _ => None,
        }
    }

    /// Keeps a document that was parsed. Where hardly any is like another, hardly any is kept.
    pub fn keep(&self, document: &[u8], metadata: &ArrayMetadata) {
        let (kept, missed) = &mut *lock(&self.0);
        if missed.is_power_of_two()
            && let Some((before, after)) = Json::around(document, "attributes")
        {
            kept.truncate(MAX_TEMPLATES - 1);
            let (before, after) = (before.to_vec(), after.to_vec());
            kept.insert(0, Template { before, after, metadata: metadata.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::dialect::Strictness;
    use crate::format::{Format, Reading, V3};
    use crate::metadata::NodeMetadata;
    use crate::path::NodePath;
    use crate::registry::Registry;
    use crate::store::StoreKey;

    /// What is read of a document, and the warnings; with all that a plain reading says.
    fn read(document: &str, templates: Option<&Templates>) -> String {
        let registry = Registry::new();
        let mut reading = Reading::new(&registry, Strictness::Tolerant);
        reading.templates = templates;
        let found = vec![(StoreKey::new("zarr.json").unwrap(), Bytes::from(document.to_owned()))];
        let node = V3.parse(&NodePath::root(), &found, &mut reading);
        if let Ok(Some(NodeMetadata::Array(array))) = &node {
            assert!(array.grid.is_some());
        }
        format!("{node:?} {:?}", reading.warnings)
    }

    fn document(attributes: &str) -> String {
        format!(
            r#"{{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8", "attributes":{attributes},
            "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [2]}}}}, "fill_value": 0,
            "chunk_key_encoding": {{"name": "default"}}, "codecs": [{{"name": "bytes"}}], "dimension_names": ["\u00e9"]}}"#
        )
    }

    #[test]
    fn documents_with_other_attributes_are_read_as_without_templates() {
        let deep = |levels| format!("{{\"a\": {}{}}}", "[".repeat(levels), "]".repeat(levels));
        let attributes = [
            "{}",
            r#" {"units": "K", "attributes": {"é": [1.50, 1e400, "\ud83d\ude00"]}} "#,
            // What follows or is in the value must not pass for other members.
            r#"{}, "fill_value": 7"#,
            r#"{}, "dimension_names": ["other"]"#,
            r#"{}, "attributes": {}"#,
            r#"{} "#,
            r#"{"#,
            "",
            "null",
            "[]",
            r#"{"a": 1, "a": 2}"#,
            r#"{"a": NaN}"#,
            r#"{"a": "\ud800"}"#,
            r#"{"a": 01}"#,
            &deep(126),
            &deep(127),
            &deep(128),
        ];
        for first in attributes {
            let templates = Templates::default();
            let _ = read(&document(first), Some(&templates));
            for second in attributes {
                let (plain, kept) =
                    (read(&document(second), None), read(&document(second), Some(&templates)));
                assert_eq!(plain, kept, "{first} before {second}");
            }
        }
        let (templates, other) = (Templates::default(), document("{}").replace("[4]", "[6]"));
        for document in [document("{}"), other, document(r#"{"a": 1}"#)] {
            assert_eq!(read(&document, None), read(&document, Some(&templates)));
        }
    }

    #[test]
    fn few_documents_are_kept_where_none_is_like_another() {
        let templates = Templates::default();
        let numbered = |n: u32| document("{}").replace("[4]", &format!("[{n}]"));
        let mut kept = Vec::new();
        for n in 1..=1000 {
            let _ = read(&numbered(n), Some(&templates));
            if templates.metadata(numbered(n).as_bytes()).is_some() {
                kept.push(n);
            }
            // As if that had not been asked.
            lock(&templates.0).1 = n;
        }
        assert_eq!(kept, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
        assert_eq!(lock(&templates.0).0.len(), MAX_TEMPLATES);
        let known = templates.metadata(numbered(512).as_bytes()).map(|array| array.shape);
        assert_eq!(known, Some(vec![512]));
    }
}
