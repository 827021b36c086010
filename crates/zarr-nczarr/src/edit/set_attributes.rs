//! Sets, deletes and renames attributes (N-055).

use zarr_core::metadata::NodeKind;
use zarr_core::{AccessError, Error, Result};

use crate::handles::dataset::Dataset;
use crate::handles::group::Group;
use crate::handles::variable::Variable;
use crate::model::name::{NameIndex, check_name, composed, is_reserved, is_virtual, position};
use crate::model::schema::Attribute;
use crate::model::values::Values;

impl Group {
    /// Sets an attribute; one that is there keeps its place.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for a name that is none or is reserved, and for values that no attribute can hold;
    /// [`AccessError::ReadOnly`].
    pub fn set_attribute(&self, name: &str, value: impl Into<Values>) -> Result<()> {
        self.set_attributes(&[Attribute::new(name, value)])
    }

    /// Sets several attributes at once.
    ///
    /// # Errors
    /// As [`Group::set_attribute`].
    pub fn set_attributes(&self, attributes: &[Attribute]) -> Result<()> {
        attributes.iter().try_for_each(|attribute| {
            check_attribute_name(&attribute.name).map_err(|e| self.at(e))
        })?;
        Place::Group(self.clone()).set(attributes)
    }

    /// Refuses the names of attributes of a definition that not even plain Zarr has.
    pub(crate) fn check_attributes(&self, attributes: &[Attribute]) -> Result<()> {
        attributes
            .iter()
            .try_for_each(|attribute| check_defined_attribute(&attribute.name))
            .map_err(|e| self.at(e))
    }

    /// Writes attributes into the group's document, without a word to the handles.
    pub(crate) fn store_attributes(&self, attributes: &[Attribute]) -> Result<()> {
        Place::Group(self.clone()).store(attributes)
    }

    /// Makes the handles know attributes.
    pub(crate) fn know_attributes(&self, attributes: &[Attribute]) {
        Place::Group(self.clone()).know(attributes);
    }

    /// Deletes an attribute.
    ///
    /// # Errors
    /// [`AccessError::NotFound`]; [`AccessError::ReadOnly`].
    pub fn delete_attribute(&self, name: &str) -> Result<()> {
        Place::Group(self.clone()).delete(name)
    }

    /// Gives an attribute another name; it keeps its place.
    ///
    /// # Errors
    /// [`AccessError::NotFound`]; [`AccessError::Exists`]; as [`Group::set_attribute`].
    pub fn rename_attribute(&self, name: &str, to: &str) -> Result<()> {
        Place::Group(self.clone()).rename(name, to)
    }
}

impl Variable {
    /// Sets an attribute; one that is there keeps its place.
    ///
    /// `_FillValue` is one value of the variable's type, and what elements hold that were never written; `_nczarr_maxstrlen`
    /// says how many bytes strings of a fixed width have. Both are given when the variable is defined, or here as long
    /// as no element was written and no other writer writes (N-054, N-060).
    ///
    /// # Errors
    /// As [`Group::set_attribute`]; [`AccessError::Argument`] for those two, if they cannot be or come too late.
    pub fn set_attribute(&self, name: &str, value: impl Into<Values>) -> Result<()> {
        if self.shapes_elements(name) {
            return self.redefine(name, Some(value.into()));
        }
        let place = Place::Variable(self.clone());
        place.check(name)?;
        place.set(&[Attribute::new(name, value)])
    }

    /// Deletes an attribute; without `_FillValue` the type's own fill value holds.
    ///
    /// # Errors
    /// As [`Group::delete_attribute`]; [`AccessError::Argument`] as [`Variable::set_attribute`].
    pub fn delete_attribute(&self, name: &str) -> Result<()> {
        if self.shapes_elements(name) {
            return self.redefine(name, None);
        }
        Place::Variable(self.clone()).delete(name)
    }

    /// Gives an attribute another name; it keeps its place.
    ///
    /// # Errors
    /// As [`Group::rename_attribute`]; [`AccessError::Argument`] for `_FillValue`.
    pub fn rename_attribute(&self, name: &str, to: &str) -> Result<()> {
        Place::Variable(self.clone()).rename(name, to)
    }
}

/// What has attributes.
enum Place {
    Group(Group),
    Variable(Variable),
}

impl Place {
    fn parts(&self) -> (&Dataset, &str, NodeKind) {
        match self {
            Place::Group(group) => (&group.dataset, &group.path, NodeKind::Group),
            Place::Variable(variable) => (&variable.dataset, &variable.path, NodeKind::Array),
        }
    }

    fn at(&self, error: impl Into<Error>) -> Error {
        match self {
            Place::Group(group) => group.at(error),
            Place::Variable(variable) => variable.at(error),
        }
    }

    fn check(&self, name: &str) -> Result<()> {
        check_attribute_name(name).map_err(|e| self.at(e))?;
        match self {
            Place::Variable(_) if name == "_FillValue" => {
                let why = "the fill value has this name and no other";
                Err(self.at(AccessError::Argument(why.into())))
            }
            _ => Ok(()),
        }
    }

    fn patch(&self, change: impl FnOnce(&mut Vec<Attribute>)) {
        let (dataset, path, kind) = self.parts();
        dataset.patch(|root, _| {
            let (group, name) = match kind {
                NodeKind::Group => (path, ""),
                NodeKind::Array => path.rsplit_once('/').unwrap_or(("", path)),
            };
            let Some(group) = root.group_mut(group) else { return };
            match kind {
                NodeKind::Group => change(&mut group.attributes),
                NodeKind::Array => {
                    if let Some(variable) = group.variables.iter_mut().find(|v| v.name == name) {
                        change(&mut variable.attributes);
                    }
                }
            }
        });
    }

    fn set(&self, attributes: &[Attribute]) -> Result<()> {
        let _changing = self.parts().0.changing();
        self.store(attributes)?;
        self.know(attributes);
        Ok(())
    }

    fn store(&self, attributes: &[Attribute]) -> Result<()> {
        let (dataset, path, kind) = self.parts();
        let dialect = dataset.dialect();
        dataset.change_attributes(path, kind, |node_attributes| {
            let mut all = attributes.iter();
            all.try_for_each(|attribute| {
                node_attributes.set(&attribute.name, &attribute.value, dialect)
            })
            .map_err(|e| self.at(e))
        })
    }

    fn know(&self, attributes: &[Attribute]) {
        self.patch(|known| {
            let mut names: NameIndex = known.iter().map(|it| it.name.as_str()).collect();
            for attribute in attributes {
                match names.position(&attribute.name) {
                    Some(at) => known[at].value = attribute.value.clone(),
                    None => {
                        let name = composed(&attribute.name);
                        names.add(&name, known.len());
                        known.push(Attribute::new(name, attribute.value.clone()));
                    }
                }
            }
        });
    }

    fn delete(&self, name: &str) -> Result<()> {
        let (dataset, path, kind) = self.parts();
        let _changing = dataset.changing();
        self.check(name)?;
        dataset.change_attributes(path, kind, |node_attributes| {
            if node_attributes.remove(name) {
                Ok(())
            } else {
                Err(dataset.absent("attribute", name))
            }
        })?;
        self.patch(|known| {
            if let Some(at) = found(known, name) {
                known.remove(at);
            }
        });
        Ok(())
    }

    fn rename(&self, name: &str, to: &str) -> Result<()> {
        let (dataset, path, kind) = self.parts();
        let _changing = dataset.changing();
        self.check(name)?;
        self.check(to)?;
        dataset.change_attributes(path, kind, |node_attributes| {
            if node_attributes.contains(to) {
                return Err(self.at(AccessError::Exists("an attribute of this name")));
            }
            if node_attributes.rename(name, to) {
                Ok(())
            } else {
                Err(dataset.absent("attribute", name))
            }
        })?;
        self.patch(|known| {
            if let Some(at) = found(known, name) {
                known[at].name = composed(to).into_owned();
            }
        });
        Ok(())
    }
}

/// Which of the attributes is called so.
fn found(known: &[Attribute], name: &str) -> Option<usize> {
    position(known.iter().map(|attribute| attribute.name.as_str()), name)
}

/// Refuses names that no attribute may have, and reserved ones (N-001, N-055).
pub(crate) fn check_attribute_name(name: &str) -> Result<(), AccessError> {
    let name = &*composed(name);
    check_name(name)?;
    if is_virtual(name) { Err(own(name)) } else { check_defined_attribute(name) }
}

/// N-055: what a definition may name an attribute. Plain Zarr has names that netCDF refuses or computes, and CDL has words
/// for them.
pub(crate) fn check_defined_attribute(name: &str) -> Result<(), AccessError> {
    let name = &*composed(name);
    if is_reserved(name) { Err(own(name)) } else { Ok(()) }
}

fn own(name: &str) -> AccessError {
    AccessError::Argument(format!("attribute `{name}` is netCDF's own; choose another name"))
}
