//! Reads the attributes of a node, the user's apart from the model's own, and writes them with the notes of their types.

use std::collections::HashMap;

use zarr_core::{AccessError, Dialect, Json, Object};

use crate::documents::node_documents::{GROUP, GroupDocument, Sources};
use crate::model::attribute::{self, json_note, noted_type};
use crate::model::name::{NameIndex, composed, is_reserved};
use crate::model::schema::Attribute;
use crate::model::types::Type;
use crate::model::values::Values;

const FILL: &str = "_FillValue";

/// A node's attributes as their document has them, the user's apart from the model's own.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeAttributes {
    /// Name, JSON, type note. A fill value of `null` is only noted: the array's own document says it.
    user: Vec<(String, Json, Option<String>)>,
    /// Where the names of `user` are.
    names: NameIndex,
    /// Those that hold the model itself, but for the notes.
    own: Object,
}

impl NodeAttributes {
    /// The attributes as they are, and the notes of their types.
    pub fn read(attributes: &Object, notes: &[(String, String)]) -> NodeAttributes {
        let mut node_attributes = NodeAttributes::default();
        let mut noted_types = HashMap::new();
        for (name, note) in notes {
            noted_types.entry(name.as_str()).or_insert(note);
        }
        for (name, json) in attributes.iter() {
            let lower = name.to_ascii_lowercase();
            if ["_nczarr_attr", "_nczarr_attrs"].contains(&lower.as_str()) {
                continue;
            }
            if is_reserved(name) || is_reserved(&lower) {
                node_attributes.own.insert(name, json.clone());
                continue;
            }
            let note = noted_types.get(name).map(|note| String::clone(note));
            node_attributes.push(name.to_owned(), json.clone(), note);
        }
        let noted = notes.iter().position(|(name, _)| name == FILL);
        let is_array = node_attributes.own.contains("_nczarr_array");
        if let Some(noted) = noted.filter(|_| is_array && !attributes.contains(FILL)) {
            let before = notes[..noted].iter().rev();
            let at = before.filter_map(|(name, _)| node_attributes.position(name)).next();
            let note = Some(notes[noted].1.clone());
            node_attributes.user.insert(at.map_or(0, |at| at + 1), (FILL.into(), Json::Null, note));
            node_attributes.index();
        }
        node_attributes
    }

    fn push(&mut self, name: String, json: Json, note: Option<String>) {
        self.names.add(&name, self.user.len());
        self.user.push((name, json, note));
    }

    /// Finds all names anew.
    fn index(&mut self) {
        self.names = self.user.iter().map(|(name, ..)| name.as_str()).collect();
    }

    /// The attributes as they are, with the notes that stand among them.
    pub fn of(attributes: &Object) -> NodeAttributes {
        let (members, old) = (&Object::new(), &[][..]);
        NodeAttributes::read(attributes, &Sources { attributes, members, old }.notes())
    }

    /// The JSON of a user's attribute.
    pub fn json(&self, name: &str) -> Option<&Json> {
        self.position(name).map(|at| &self.user[at].1)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.names.position(name)
    }

    /// A new node's, of which the user has set none.
    pub fn with_own(own: Object) -> NodeAttributes {
        NodeAttributes { own, ..NodeAttributes::default() }
    }

    /// The attributes of a new node.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for an attribute that cannot be kept.
    pub fn new(
        attributes: &[Attribute],
        own: Object,
        dialect: Dialect,
    ) -> Result<NodeAttributes, AccessError> {
        let mut node_attributes = NodeAttributes::with_own(own);
        for attribute in attributes {
            node_attributes.set(&attribute.name, &attribute.value, dialect)?;
        }
        Ok(node_attributes)
    }

    /// The user's attributes and their types; the second list names what does not fit its note.
    pub fn attributes(&self, legacy: bool) -> (Vec<Attribute>, Vec<String>) {
        let mut troubles = Vec::new();
        let attributes = self
            .user
            .iter()
            .map(|(name, json, note)| {
                let ty = note.as_deref().and_then(|note| {
                    let ty = noted_type(note, legacy);
                    if ty.is_none() {
                        troubles.push(format!(
                            "attribute `{name}`: type `{note}` is unknown; inferred"
                        ));
                    }
                    ty
                });
                let value = match ty {
                    None => attribute::untyped(json),
                    // The type of its variable gives a fill value its meaning.
                    Some(ty) if name == FILL => attribute::fill_from_json(json, ty)
                        .unwrap_or_else(|_| attribute::untyped(json)),
                    Some(ty) => attribute::typed(json, ty).unwrap_or_else(|why| {
                        troubles.push(format!("attribute `{name}` of type {ty}: {why}; inferred"));
                        attribute::untyped(json)
                    }),
                };
                Attribute { name: name.clone(), value }
            })
            .collect();
        (attributes, troubles)
    }

    /// Sets an attribute; one that was there keeps its place.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for values that no attribute can hold.
    pub fn set(&mut self, name: &str, value: &Values, dialect: Dialect) -> Result<(), AccessError> {
        let said = match (name, value) {
            // xarray 2026.9 refuses one that says it, in v3.
            (FILL, Values::String(_)) if dialect == Dialect::V3 => {
                Ok((Json::Null, attribute::note(Type::String, dialect)))
            }
            (FILL, _) => attribute::fill_to_json(value, dialect),
            _ => attribute::to_json(value, dialect),
        };
        let (json, note) = said.map_err(|e| {
            AccessError::Argument(format!("attribute `{}`: {e}", name.escape_debug()))
        })?;
        match self.position(name) {
            Some(at) => (self.user[at].1, self.user[at].2) = (json, Some(note)),
            None => self.push(composed(name).into_owned(), json, Some(note)),
        }
        Ok(())
    }

    /// Gives an attribute the words of another document: one that is there and means the same to netCDF, or one that netCDF
    /// does not show.
    pub fn keep(&mut self, name: &str, json: &Json) {
        match self.position(name) {
            Some(at) => self.user[at].1 = json.clone(),
            None => self.push(name.to_owned(), json.clone(), None),
        }
    }

    /// Whether there is a user's attribute of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    /// Takes an attribute away; `false` if there was none.
    pub fn remove(&mut self, name: &str) -> bool {
        let removed = self.position(name).map(|at| self.user.remove(at));
        self.index();
        removed.is_some()
    }

    /// Gives an attribute another name; `false` if there was none.
    pub fn rename(&mut self, name: &str, to: &str) -> bool {
        let renamed = self.position(name).map(|at| self.user[at].0 = composed(to).into_owned());
        self.index();
        renamed.is_some()
    }

    /// Names the dimensions of an array, in the documents that are there: by their full names and by their own.
    pub fn refer(&mut self, references: &[String], names: &[String]) {
        if let Some(Json::Object(document)) = self.own.get("_nczarr_array") {
            let document = document.clone().with("dimension_references", names_json(references));
            self.own.insert("_nczarr_array", document);
        }
        if self.own.contains("_ARRAY_DIMENSIONS") {
            self.own.insert("_ARRAY_DIMENSIONS", names_json(names));
        }
    }

    /// The document (N-034, N-036): with notes of types if the dataset has them.
    pub fn into_object(self, dialect: Dialect, noted: bool) -> Object {
        let (name, member) = match dialect {
            Dialect::V3 => ("_nczarr_attrs", "attribute_types"),
            _ => ("_nczarr_attr", "types"),
        };
        let mut notes = Object::new();
        let mut object = Object::new();
        for (name, json, note) in self.user {
            if let Some(note) = note {
                notes.insert(name.as_str(), note);
            }
            if name != FILL || json != Json::Null {
                object.insert(name, json);
            }
        }
        for (name, json) in self.own {
            if name == "_NCProperties" {
                notes.insert(name.as_str(), attribute::note(Type::Char, dialect));
            } else if name != "_ARRAY_DIMENSIONS" {
                notes.insert(name.as_str(), json_note(dialect));
            }
            object.insert(name, json);
        }
        if noted {
            notes.insert(name, json_note(dialect));
            object.insert(name, Object::new().with(member, notes));
        }
        object
    }

    /// Changes what the group declares.
    ///
    /// # Errors
    /// For a document that is broken; those of `change`.
    pub fn change_group<T>(
        &mut self,
        dialect: Dialect,
        change: impl FnOnce(&mut GroupDocument) -> zarr_core::Result<T>,
    ) -> zarr_core::Result<T> {
        let mut document = match self.own.get(GROUP) {
            Some(json) => GroupDocument::parse(json)?,
            None => GroupDocument::default(),
        };
        let done = change(&mut document)?;
        // What others have put beside our members stays.
        let mut members =
            self.own.get(GROUP).and_then(Json::as_object).cloned().unwrap_or_default();
        if let Json::Object(ours) = document.to_json(dialect) {
            for (name, json) in ours {
                members.insert(name, json);
            }
        }
        self.own.insert(GROUP, members);
        Ok(done)
    }
}

/// Names as a list.
fn names_json(names: &[String]) -> Json {
    names.iter().map(|name| name.as_str().into()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N-034, N-036.
    #[test]
    fn attributes_keep_their_order_and_the_models_own_come_last() {
        let own = Object::new().with("_nczarr_group", Object::new());
        let user = [Attribute::new("b", "x"), Attribute::new("a", vec![1i16, 2])];
        let mut node_attributes = NodeAttributes::new(&user, own, Dialect::V2).unwrap();
        node_attributes.set("b", &"y".into(), Dialect::V2).unwrap();
        let object = node_attributes.into_object(Dialect::V2, true);
        let due = r#"{"b":"y","a":[1,2],"_nczarr_group":{},"_nczarr_attr":{"types":{"b":">S1","a":"<i2","_nczarr_group":"|J0","_nczarr_attr":"|J0"}}}"#;
        assert_eq!(Json::from(object.clone()).to_string(), due);
        let (attributes, troubles) = NodeAttributes::of(&object).attributes(false);
        assert_eq!(attributes, [Attribute::new("b", "y"), Attribute::new("a", vec![1i16, 2])]);
        assert!(troubles.is_empty());
    }
}
