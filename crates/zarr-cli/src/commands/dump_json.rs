//! Prints a dataset as JSON: what CDL says, in members.

use zarr::nczarr::schema::{Attribute, Group, Variable};
use zarr::nczarr::{Dataset, Values};
use zarr::{Json, Object};

use super::Out;
use super::get::write_all;
use crate::failure::Failure;

/// What of a dataset is printed.
pub(super) struct JsonDump<'a> {
    pub dataset: &'a Dataset,
    /// Whether the elements of a variable are printed.
    pub has_data: &'a dyn Fn(&Variable, &str) -> bool,
}

impl JsonDump<'_> {
    /// Prints the dataset under a name.
    pub fn print(&self, name: &str, out: Out<'_>) -> Result<(), Failure> {
        write!(out, "{{\"name\":{},", Json::from(name))?;
        self.members(&self.dataset.schema(), "", out)?;
        Ok(writeln!(out, "}}")?)
    }

    /// The members of the group at `path`, which is empty for the root.
    fn members(&self, group: &Group, path: &str, out: Out<'_>) -> Result<(), Failure> {
        let dimensions = group.dimensions.iter().map(|dimension| {
            let object =
                Object::new().with("length", dimension.len).with("unlimited", dimension.unlimited);
            (dimension.name.clone(), Json::from(object))
        });
        write!(out, "\"dimensions\":{},", Json::from(dimensions.collect::<Object>()))?;
        write!(out, "\"attributes\":{},\"variables\":{{", attributes(&group.attributes))?;
        for (n, variable) in group.variables.iter().enumerate() {
            let full = format!("{path}/{}", variable.name);
            let names = variable.dimensions.iter().map(|name| Json::from(name.as_str()));
            let object = Object::new()
                .with("type", variable.ty.name())
                .with("dimensions", names.collect::<Json>())
                .with("attributes", attributes(&variable.attributes));
            let comma = if n > 0 { "," } else { "" };
            let name = Json::from(variable.name.as_str());
            // The object stays open for its elements.
            let mut text = Json::from(object).to_string();
            text.pop();
            write!(out, "{comma}{name}:{text}")?;
            if (self.has_data)(variable, &full) {
                out.write_all(b",\"data\":")?;
                write_all(&self.dataset.variable(&full)?.array()?, out)?;
            }
            out.write_all(b"}")?;
        }
        out.write_all(b"},\"groups\":{")?;
        for (n, below) in group.groups.iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            write!(out, "{comma}{}:{{", Json::from(below.name.as_str()))?;
            self.members(below, &format!("{path}/{}", below.name), out)?;
            out.write_all(b"}")?;
        }
        Ok(out.write_all(b"}")?)
    }
}

fn attributes(all: &[Attribute]) -> Json {
    let members = all.iter().map(|attribute| {
        let object = Object::new()
            .with("type", attribute.value.ty().name())
            .with("value", value(&attribute.value));
        (attribute.name.clone(), Json::from(object))
    });
    Json::from(members.collect::<Object>())
}

/// The values of an attribute: one, or a list; numbers that JSON does not have are strings.
fn value(values: &Values) -> Json {
    values.to_json().unwrap_or(Json::Null).into_standard()
}
