//! Reads netCDF's own documents in every form, and writes them in one (N-030 … N-036, N-080).
//!
//! They are attributes, or members of `.zgroup` and `.zarray`, or separate keys; in small letters or in
//! capitals. What is written is of one form.

use zarr_core::{Dialect, Json, MetadataError, Object};

use crate::model::schema::Dimension;
use crate::model::types::Type;

/// Where a node may have netCDF's documents.
pub(crate) struct Sources<'a> {
    pub attributes: &'a Object,
    /// Members of `.zgroup` or `.zarray` that Zarr does not know.
    pub members: &'a Object,
    /// The documents of 4.8.0: a name such as `.nczgroup`, and what it holds.
    pub old: &'a [(&'static str, Json)],
}

impl Sources<'_> {
    /// The document of this name, in small letters: the newest form that is there.
    fn find(&self, name: &str) -> Option<&Json> {
        let capitals = name.to_uppercase();
        let places = [self.attributes, self.members];
        let mut found =
            [name, &capitals].into_iter().flat_map(|name| places.map(|at| at.get(name)));
        found.find_map(|json| json)
    }

    fn old(&self, names: &[&str]) -> Option<&Json> {
        self.old.iter().find(|(name, _)| names.contains(name)).map(|(_, json)| json)
    }

    /// The version that the superblock says, if there is one (N-031), and whether it stands where netcdf-c writes it.
    pub fn superblock(&self) -> Option<(String, bool)> {
        if let Some(version) = self.find("_nczarr_superblock").and_then(version) {
            let current = self.attributes.contains("_nczarr_superblock");
            return Some((version, current));
        }
        let old = self.old(&[".nczarr"])?.as_object()?.get("nczarr_version")?;
        Some((old.as_str()?.to_owned(), false))
    }

    /// What the group declares; `None` if it has no such document.
    pub fn group(&self) -> Result<Option<GroupDocument>, MetadataError> {
        let found = self.find("_nczarr_group").or_else(|| self.old(&[".nczgroup"]));
        found.map(GroupDocument::parse).transpose()
    }

    /// The document of the array; `None` if it has no such document.
    pub fn array(&self) -> Result<Option<ArrayDocument>, MetadataError> {
        let found = self.find("_nczarr_array").or_else(|| self.old(&[".nczvar", ".nczarray"]));
        found.map(ArrayDocument::parse).transpose()
    }

    /// The type notes of attributes.
    pub fn notes(&self) -> Vec<(String, String)> {
        let found = self
            .find("_nczarr_attrs")
            .or_else(|| self.find("_nczarr_attr"))
            .or_else(|| self.old(&[".nczattr", ".nczattrs"]));
        found.map(notes).unwrap_or_default()
    }
}

/// The version of NCZarr in a superblock, from 1 on.
fn version(json: &Json) -> Option<String> {
    let version = json.as_object()?.get("version")?.as_str()?;
    let major = version.strip_suffix(".0.0")?;
    (major.parse::<u64>().ok()? > 0).then(|| version.to_owned())
}

/// `{"types": {…}}`, `{"attribute_types": {…}}`, or the list that the document describes.
fn notes(json: &Json) -> Vec<(String, String)> {
    match json {
        Json::Array(items) => items
            .iter()
            .filter_map(|item| {
                let item = item.as_object()?;
                let note = item.get("configuration")?.as_object()?.get("type")?;
                Some((item.get("name")?.as_str()?.to_owned(), note.as_str()?.to_owned()))
            })
            .collect(),
        Json::Object(object) => {
            let types = object.get("types").or_else(|| object.get("attribute_types"));
            let Some(types) = types.and_then(Json::as_object) else { return Vec::new() };
            let notes = types.iter().filter_map(|(name, note)| Some((name, note.as_str()?)));
            notes.map(|(name, note)| (name.to_owned(), note.to_owned())).collect()
        }
        _ => Vec::new(),
    }
}

/// What a group declares (N-032).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupDocument {
    pub dimensions: Vec<Dimension>,
    pub arrays: Vec<String>,
    pub groups: Vec<String>,
}

/// The member that holds what a group declares.
pub(crate) const GROUP: &str = "_nczarr_group";

impl GroupDocument {
    pub fn parse(json: &Json) -> Result<GroupDocument, MetadataError> {
        let object = json.as_object().ok_or_else(|| wrong(GROUP, json, "an object"))?;
        let either = |names: [&str; 2]| names.into_iter().find_map(|name| object.get(name));
        Ok(GroupDocument {
            dimensions: match either(["dimensions", "dims"]) {
                None => Vec::new(),
                Some(json) => dimensions(json)?,
            },
            arrays: names(either(["arrays", "vars"]))?,
            groups: names(either(["groups", "subgroups"]))?,
        })
    }

    pub fn to_json(&self, dialect: Dialect) -> Json {
        let dimensions: Object = self
            .dimensions
            .iter()
            .map(|dimension| (dimension.name.clone(), dimension_json(dimension, dialect)))
            .collect();
        let names =
            |names: &[String]| -> Json { names.iter().map(|n| n.as_str().into()).collect() };
        Object::new()
            .with("dimensions", dimensions)
            .with("arrays", names(&self.arrays))
            .with("groups", names(&self.groups))
            .into()
    }
}

/// A dimension as it is written: its length, or an object with `size` and `unlimited` (N-011).
fn dimension_json(dimension: &Dimension, dialect: Dialect) -> Json {
    if dimension.unlimited || dialect == Dialect::V3 {
        Object::new()
            .with("size", dimension.len)
            .with("unlimited", u64::from(dimension.unlimited))
            .into()
    } else {
        dimension.len.into()
    }
}

fn dimensions(json: &Json) -> Result<Vec<Dimension>, MetadataError> {
    match json {
        Json::Object(object) => object.iter().map(|(name, json)| dimension(name, json)).collect(),
        Json::Array(items) => items
            .iter()
            .map(|item| {
                let name =
                    item.as_object().and_then(|item| item.get("name")).and_then(Json::as_str);
                dimension(name.ok_or_else(|| wrong(GROUP, item, "a dimension with a name"))?, item)
            })
            .collect(),
        other => Err(wrong(GROUP, other, "an object of dimensions")),
    }
}

fn dimension(name: &str, json: &Json) -> Result<Dimension, MetadataError> {
    let (len, unlimited) = match json {
        Json::Object(object) => {
            let unlimited = match object.get("unlimited") {
                None => false,
                Some(json) if json.as_u64() == Some(0) => false,
                Some(json) if json.as_u64() == Some(1) => true,
                Some(Json::Bool(unlimited)) => *unlimited,
                Some(other) => return Err(wrong(GROUP, other, "`unlimited`, which is 0 or 1")),
            };
            (object.get("size").and_then(Json::as_u64), unlimited)
        }
        other => (other.as_u64(), false),
    };
    let len = len.ok_or_else(|| {
        wrong(
            GROUP,
            json,
            &format!("the length of dimension `{name}`, or an object with its `size`"),
        )
    })?;
    Ok(Dimension { name: name.to_owned(), len, unlimited })
}

fn names(json: Option<&Json>) -> Result<Vec<String>, MetadataError> {
    let Some(json) = json else { return Ok(Vec::new()) };
    let items = json.as_array().ok_or_else(|| wrong(GROUP, json, "a list of names"))?;
    items
        .iter()
        .map(|item| item.as_str().map(str::to_owned).ok_or_else(|| wrong(GROUP, item, "a name")))
        .collect()
}

fn wrong(member: &str, json: &Json, due: &str) -> MetadataError {
    MetadataError::invalid(member, format!("expected {due}, found {}", json.brief()))
}

/// The document of an array (N-033).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArrayDocument {
    /// The full names of its dimensions.
    pub references: Vec<String>,
    pub scalar: bool,
    /// What its elements are, where the data type does not tell: `char`, `string`.
    pub alias: Option<Type>,
}

impl ArrayDocument {
    fn parse(json: &Json) -> Result<ArrayDocument, MetadataError> {
        let member = "_nczarr_array";
        let object = json.as_object().ok_or_else(|| wrong(member, json, "an object"))?;
        let references =
            ["dimension_references", "dimrefs"].into_iter().find_map(|n| object.get(n));
        let references = match references {
            None => Vec::new(),
            Some(json) => {
                let items =
                    json.as_array().ok_or_else(|| wrong(member, json, "a list of names"))?;
                items
                    .iter()
                    .map(|item| {
                        let name = item.as_str().map(str::to_owned);
                        name.ok_or_else(|| wrong(member, item, "the full name of a dimension"))
                    })
                    .collect::<Result<_, _>>()?
            }
        };
        let is_said_scalar = object
            .get("scalar")
            .is_some_and(|json| json.as_u64() != Some(0) && json.as_bool() != Some(false));
        let storage = object.get("storage").and_then(Json::as_str);
        let alias = object.get("nczarr_type").or_else(|| object.get("type_alias"));
        Ok(ArrayDocument {
            references,
            scalar: is_said_scalar || storage == Some("scalar"),
            alias: alias.and_then(Json::as_str).and_then(Type::from_name),
        })
    }

    pub fn to_json(&self) -> Json {
        let references: Json = self.references.iter().map(|name| name.as_str().into()).collect();
        let mut object = Object::new().with("dimension_references", references);
        if self.scalar {
            object.insert("scalar", 1u64);
        }
        object.insert("storage", "chunked");
        if let Some(alias) = self.alias {
            object.insert("nczarr_type", alias.name());
        }
        object.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        Json::parse(text.as_bytes()).unwrap().as_object().unwrap().clone()
    }

    fn group(text: &str) -> Result<GroupDocument, MetadataError> {
        GroupDocument::parse(&Json::parse(text.as_bytes()).unwrap())
    }

    /// N-011, N-032, N-080: what a group declares, in every spelling.
    #[test]
    fn groups_are_read_in_every_spelling() {
        let due = GroupDocument {
            dimensions: vec![
                Dimension { name: "t".into(), len: 3, unlimited: true },
                Dimension::new("x", 2),
            ],
            arrays: vec!["a".into()],
            groups: vec!["g".into()],
        };
        for text in [
            r#"{"dimensions":{"t":{"size":3,"unlimited":1},"x":2},"arrays":["a"],"groups":["g"]}"#,
            r#"{"dims":{"t":{"size":3,"unlimited":true},"x":{"size":2}},"vars":["a"],"groups":["g"]}"#,
            r#"{"dimensions":[{"name":"t","size":3,"unlimited":1},{"name":"x","size":2,"unlimited":0}],"arrays":["a"],"subgroups":["g"]}"#,
        ] {
            assert_eq!(group(text).unwrap(), due, "{text}");
        }
        for dialect in [Dialect::V2, Dialect::V3] {
            assert_eq!(GroupDocument::parse(&due.to_json(dialect)).unwrap(), due);
        }
        for bad in [
            r#"{"dimensions":{"t":{"unlimited":1}}}"#,
            r#"{"dimensions":{"t":"3"}}"#,
            r#"{"dimensions":{"t":-1}}"#,
            r#"{"dimensions":{"t":{"size":1,"unlimited":2}}}"#,
            r#"{"dimensions":7}"#,
            r#"{"arrays":"a"}"#,
            r#"{"arrays":[7]}"#,
            "[]",
        ] {
            assert!(group(bad).is_err(), "{bad}");
        }
    }

    /// N-023, N-031, N-033, N-034, N-080, N-081.
    #[test]
    fn documents_are_found_where_any_era_put_them() {
        let sources = |attributes: &str, members: &str| {
            let (attributes, members) = (object(attributes), object(members));
            let sources = Sources { attributes: &attributes, members: &members, old: &[] };
            (sources.superblock(), sources.array().unwrap(), sources.notes())
        };
        let (superblock, ..) = sources(r#"{"_nczarr_superblock":{"version":"2.0.0"}}"#, "{}");
        assert_eq!(superblock, Some(("2.0.0".into(), true)));
        let (superblock, ..) = sources("{}", r#"{"_NCZARR_SUPERBLOCK":{"version":"2.0.0"}}"#);
        assert_eq!(superblock, Some(("2.0.0".into(), false)));
        for none in ["2.0.0", "\"2.1.0\"", "\"0.0.0\"", "\"x\"", "2"] {
            let text = format!(r#"{{"_nczarr_superblock":{{"version":{none}}}}}"#);
            let Ok(json) = Json::parse(text.as_bytes()) else { continue };
            let attributes = json.as_object().unwrap();
            let members = &Object::new();
            assert_eq!(Sources { attributes, members, old: &[] }.superblock(), None, "{none}");
        }
        for (text, scalar) in [
            (r#"{"dimrefs":[],"storage":"scalar"}"#, true),
            (r#"{"dimension_references":[],"scalar":1}"#, true),
            (r#"{"dimension_references":[],"scalar":0}"#, false),
        ] {
            let (_, array, _) = sources("{}", &format!(r#"{{"_NCZARR_ARRAY":{text}}}"#));
            assert_eq!(array.unwrap().scalar, scalar, "{text}");
        }
        for text in [
            r#"{"_NCZARR_ATTR":{"types":{"u":"<U1"}}}"#,
            r#"{"_nczarr_attr":{"types":{"u":"<U1"}}}"#,
            r#"{"_nczarr_attrs":{"attribute_types":{"u":"<U1"}}}"#,
            r#"{"_nczarr_attrs":[{"name":"u","configuration":{"type":"<U1"}}]}"#,
        ] {
            assert_eq!(sources(text, "{}").2, [("u".to_owned(), "<U1".to_owned())], "{text}");
        }
    }
}
