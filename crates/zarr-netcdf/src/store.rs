//! Writes what was defined and is not stored yet, and what was written where others see it.

use zarr::nczarr::{Attribute, Profile, Type, Values, schema};

use crate::codes::{EINTERNAL, Failure, Result};
use crate::index::{File, Origin, Variable};
use crate::types::{self, BOOL_ATTRIBUTE};

impl File {
    /// Writes all definitions that are pending. After an error those are pending still that could not be written.
    pub fn store(&mut self) -> Result<()> {
        if !self.has_pending {
            return Ok(());
        }
        self.is_new = false;
        for place in 0..self.groups.len() {
            self.store_group(place)?;
        }
        self.has_pending = false;
        Ok(())
    }

    fn store_group(&mut self, place: usize) -> Result<()> {
        let pending = self.pending_in(place);
        let nothing = schema::Group::new("");
        if pending == nothing {
            return Ok(());
        }
        let path = self.groups[place].full_name.clone();
        let defined = self.dataset.group(&path).and_then(|group| group.define(&pending));
        // Part of it may be there after an error, too.
        self.note_stored(place)?;
        defined.map_err(|e| Failure::in_definition(&e))?;
        self.groups[place].pending_attributes.clear();
        Ok(())
    }

    /// What of a group is not stored, without the groups in it.
    fn pending_in(&self, place: usize) -> schema::Group {
        let group = &self.groups[place];
        let mut pending = schema::Group::new("");
        for name in &group.pending_attributes {
            if let Ok(value) = group.attributes.get(name) {
                pending.attributes.push(Attribute::new(name, value.clone()));
            }
        }
        for &id in &group.dimensions {
            let dimension = &self.dimensions[id];
            if dimension.origin == Origin::Pending {
                let (name, len) = (dimension.name.clone(), dimension.len as u64);
                let unlimited = dimension.is_unlimited;
                pending.dimensions.push(schema::Dimension { name, len, unlimited });
            }
        }
        let variables = group.variables.iter().filter(|variable| variable.handle.is_none());
        pending.variables = variables.map(|variable| self.definition(variable)).collect();
        pending
    }

    fn definition(&self, variable: &Variable) -> schema::Variable {
        let names = variable.dimensions.iter().map(|&id| self.full_dimension_name(id));
        let mut defined = schema::Variable::new(&variable.name, variable.zarr_type, names);
        defined.attributes.clone_from(&variable.attributes.list);
        defined.storage = variable.storage.clone();
        defined.storage.shard_bytes = self.shard_bytes;
        if defined.storage.no_fill && defined.attribute("_FillValue").is_none() {
            // Final v3 has no other word for it: a fill value that is not declared missing.
            defined.storage.unwritten = zero(variable);
        }
        if self.dataset.profile() == Profile::Pure && is_told_bool(variable) {
            // As a bool is told to a program, so a program may tell it. In NCZarr netcdf-c itself is to read it.
            defined.ty = Type::Bool;
            defined.storage.unwritten = None;
            defined.attributes.retain(|attribute| attribute.name != BOOL_ATTRIBUTE.0);
        }
        defined
    }

    /// Notes what of a group's definitions the dataset has now.
    fn note_stored(&mut self, place: usize) -> Result<()> {
        let dimensions = self.groups[place].dimensions.clone();
        for id in dimensions {
            let is_stored = self.dataset.dimension(&self.full_dimension_name(id)).is_ok();
            if is_stored && self.dimensions[id].origin == Origin::Pending {
                self.dimensions[id].origin = Origin::Stored;
            }
        }
        let group = &mut self.groups[place];
        for at in 0..group.variables.len() {
            let path = group.path_of(&group.variables[at].name);
            let variable = &mut group.variables[at];
            if variable.handle.is_some() {
                continue;
            }
            let Ok(handle) = self.dataset.variable(&path) else { continue };
            let defined = handle.schema().map_err(|e| Failure::in_definition(&e))?;
            let no_fill = variable.storage.no_fill;
            variable.zarr_type = defined.ty;
            variable.storage = defined.storage;
            variable.storage.no_fill |= no_fill;
            variable.handle = Some(handle);
        }
        Ok(())
    }

    /// Writes what is pending, and has the store put all that was written where others see it.
    pub fn flush(&mut self) -> Result<()> {
        self.store()?;
        self.dataset.flush().map_err(|e| Failure::in_write(&e))
    }

    /// Reads the lengths of unlimited dimensions again: others may have appended.
    pub fn refresh_lengths(&mut self) -> Result<()> {
        self.dataset.refresh().map_err(|e| Failure::in_read(&e))?;
        for id in 0..self.dimensions.len() {
            if !self.dimensions[id].is_unlimited || self.dimensions[id].origin != Origin::Stored {
                continue;
            }
            // What was erased meanwhile keeps the length by which programs know it.
            let Ok(found) = self.dataset.dimension(&self.full_dimension_name(id)) else { continue };
            self.dimensions[id].len = usize::try_from(found.len).unwrap_or(usize::MAX);
        }
        Ok(())
    }

    /// Notes that elements were written up to `end` along the dimensions of a variable.
    pub fn lengthen(&mut self, place: usize, variable: i32, end: &[u64]) -> Result<()> {
        let ids = self.group(place)?.variable(variable)?.dimensions.clone();
        for (id, &end) in ids.into_iter().zip(end) {
            let dimension = self.dimensions.get_mut(id).ok_or(EINTERNAL)?;
            if dimension.is_unlimited {
                dimension.len = dimension.len.max(usize::try_from(end).unwrap_or(usize::MAX));
            }
        }
        Ok(())
    }
}

/// Whether a variable is of bytes that xarray takes for bools.
fn is_told_bool(variable: &Variable) -> bool {
    let (name, value) = BOOL_ATTRIBUTE;
    let said = variable.attributes.get(name).ok();
    matches!(variable.ty, Type::Byte | Type::Ubyte)
        && said.is_some_and(|said| *said == Values::text(value))
        && variable.attributes.get("_FillValue").is_err()
}

/// One element of a variable's type that is zero; of a text, which has none, nothing.
fn zero(variable: &Variable) -> Option<Values> {
    let size = variable.ty.size()?;
    types::values(variable.ty, &vec![0; size])
}
