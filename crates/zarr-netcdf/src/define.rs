//! Adds to an open dataset, and changes what it defines: dimensions, variables, groups, attributes.
//!
//! New dimensions, variables and attributes of groups are pending until `store` writes them, since a program chooses chunks,
//! filters and fill values after it has defined a variable. What is stored is changed at once.

use std::ffi::c_int;

use zarr::nczarr::schema::{Endian, Storage};
use zarr::nczarr::{
    Filter, NameIndex, Type, Values, check_name, composed, is_reserved, is_virtual,
};
use zarr::{Dialect, ErrorKind};

use crate::codes::{
    EBADCHUNK, EBADDIM, EBADGRPID, EBADNAME, EBADTYPE, EDIMSIZE, EINVAL, ELATEDEF, ELATEFILL,
    EMAXDIMS, EMAXNAME, ENAMEINUSE, ENOFILTER, ENOMEM, ENOTATT, ENOTNC4, Failure, Result,
};
use crate::filters;
use crate::index::{Attributes, Dimension, File, Group, MAX_GROUPS, NC_GLOBAL, Origin, Variable};
use crate::types;

/// The most bytes of a name (`NC_MAX_NAME`).
const MAX_NAME: usize = 256;
/// The most dimensions of a variable (`NC_MAX_VAR_DIMS`).
pub const MAX_RANK: usize = 1024;

/// The attribute that is a variable's fill value.
const FILL_VALUE: &str = "_FillValue";

/// A name as it is kept.
///
/// # Errors
/// [`EBADNAME`], [`EMAXNAME`].
pub fn new_name(name: &str) -> Result<String> {
    let name = composed(name);
    if name.len() > MAX_NAME {
        return Err(EMAXNAME.into());
    }
    check_name(&name).map_err(|e| Failure::new(EBADNAME, e.to_string()))?;
    Ok(name.into_owned())
}

/// Refuses what is no attribute of Zarr's: netCDF's own names, and values that JSON does not have.
fn check_attribute(name: &str, value: &Values) -> Result<()> {
    if is_reserved(name) || is_virtual(name) {
        let why = format!("attribute `{name}` is netCDF's own; choose another name");
        return Err(Failure::new(ENAMEINUSE, why));
    }
    if value.to_json().is_some() {
        return Ok(());
    }
    let why = if value.is_empty() { "has no values" } else { "is not UTF-8" };
    Err(Failure::new(EINVAL, format!("attribute `{name}` {why}, which Zarr cannot hold")))
}

/// A value as attributes have it: bools are ubytes there, as those of variables are told.
fn as_attribute(name: &str, value: Values) -> Result<Values> {
    match value {
        Values::Bool(list) => Ok(Values::Ubyte(list.into_iter().map(u8::from).collect())),
        Values::Complex64(_) | Values::Complex128(_) => {
            let why = "is of complex numbers, which Zarr's attributes cannot hold; write both parts as an attribute of numbers";
            Err(Failure::new(ENOTNC4, format!("attribute `{name}` {why}")))
        }
        other => Ok(other),
    }
}

/// Has elements of bools or complex numbers that are never written hold a value. No such value is missing, so there is no
/// attribute of it.
fn choose_own_fill(variable: &mut Variable, value: Values, tells_fill: bool) -> Result<()> {
    if value.len() != 1 {
        return Err(EINVAL.into());
    }
    if value == variable.ty.default_fill() {
        variable.storage.unwritten = None;
        return Ok(());
    }
    if !tells_fill {
        let why = "in v2, bools and complex numbers that were never written are 0; choose v3, or write all elements";
        return Err(Failure::new(EINVAL, format!("variable `{}`: {why}", variable.name)));
    }
    variable.storage.unwritten = Some(value);
    Ok(())
}

/// How elements that were never written are filled.
pub enum FillMode {
    None,
    /// With what is there: the declared value, or the type's own.
    Default,
    With(Values),
}

impl File {
    /// Declares a dimension; its number. A length of 0 is that of one that grows.
    pub fn define_dimension(&mut self, place: usize, name: &str, len: usize) -> Result<usize> {
        let name = new_name(name)?;
        if isize::try_from(len).is_err() {
            return Err(EDIMSIZE.into());
        }
        let number = self.dimensions.len();
        if c_int::try_from(number).is_err() {
            return Err(EMAXDIMS.into());
        }
        let group = self.group_mut(place)?;
        if group.dimension_names.position(&name).is_some() {
            return Err(ENAMEINUSE.into());
        }
        group.dimension_names.add(&name, group.dimensions.len());
        group.dimensions.push(number);
        let (is_unlimited, origin) = (len == 0, Origin::Pending);
        self.dimensions.push(Dimension { name, len, is_unlimited, group: place, origin });
        self.has_pending = true;
        Ok(number)
    }

    /// Whether a variable or group may have this name: neither what is shown has it nor what is hidden.
    fn check_free(&self, place: usize, name: &str) -> Result<()> {
        let group = self.group(place)?;
        let path = group.path_of(name);
        let is_taken = group.variable_names.position(name).is_some()
            || group.child(name).is_some()
            || self.dataset.group(&path).is_ok()
            || self
                .dataset
                .variable(&path)
                .map_or_else(|e| e.kind() != ErrorKind::NotFound, |_| true);
        if is_taken { Err(ENAMEINUSE.into()) } else { Ok(()) }
    }

    /// Defines a variable; its number.
    pub fn define_variable(
        &mut self,
        place: usize,
        name: &str,
        ty: c_int,
        dimensions: &[c_int],
    ) -> Result<usize> {
        let name = new_name(name)?;
        let (ty, own_type) = match types::atomic(ty) {
            Some(atomic) => (atomic, None),
            None => (self.zarr_type(ty)?, Some(ty)),
        };
        self.check_holds(ty)?;
        let mut numbers = Vec::new();
        for &id in dimensions {
            let dimension = self.dimension(id)?;
            let declares = &self.groups[dimension.group];
            if !self.and_above(place).any(|group| std::ptr::eq(group, declares)) {
                return Err(EBADDIM.into());
            }
            if dimension.origin == Origin::Shown {
                let name = &dimension.name;
                let why = format!(
                    "dimension `{name}` is not stored: it shows the parts of complex numbers; define another one"
                );
                return Err(Failure::new(EBADDIM, why));
            }
            numbers.push(id as usize);
        }
        self.check_free(place, &name)?;
        let storage = Storage { no_fill: !self.fills, ..Storage::default() };
        let group = self.group_mut(place)?;
        let number = group.variables.len();
        group.variable_names.add(&name, number);
        group.variables.push(Variable {
            name,
            ty,
            own_type,
            zarr_type: ty,
            is_complex: false,
            dimensions: numbers,
            attributes: Attributes::default(),
            storage,
            handle: None,
        });
        self.has_pending = true;
        Ok(number)
    }

    /// A variable of which all may still be chosen.
    fn pending_variable(&mut self, place: usize, id: c_int) -> Result<&mut Variable> {
        let variable = self.group_mut(place)?.variable_mut(id)?;
        if variable.handle.is_some() { Err(ELATEDEF.into()) } else { Ok(variable) }
    }

    /// Chooses chunks; without lengths they are chosen by the shape. So are those of contiguous variables, which Zarr does not
    /// have: one chunk for all of a large variable would be read and written as a whole for each of its elements.
    pub fn choose_chunks(&mut self, place: usize, id: c_int, lens: Option<&[u64]>) -> Result<()> {
        let found = self.pending_variable(place, id)?.dimensions.clone();
        let grows = found.iter().any(|&dimension| self.dimensions[dimension].is_unlimited);
        let Some(lens) = lens else {
            if grows {
                let why = "a variable with an unlimited dimension is not contiguous";
                return Err(Failure::new(EINVAL, why));
            }
            self.pending_variable(place, id)?.storage.chunks.clear();
            return Ok(());
        };
        for (&len, &dimension) in lens.iter().zip(&found) {
            let dimension = &self.dimensions[dimension];
            if len == 0 {
                return Err(EINVAL.into());
            }
            if !dimension.is_unlimited && len > dimension.len as u64 {
                return Err(EBADCHUNK.into());
            }
        }
        self.pending_variable(place, id)?.storage.chunks = lens.to_vec();
        Ok(())
    }

    /// Has chunks go through a filter, behind those that were chosen before; a filter of the same name takes its place.
    pub fn choose_filter(&mut self, place: usize, id: c_int, filter: Filter) -> Result<()> {
        let variable = self.pending_variable(place, id)?;
        // netCDF's library ignores filters of scalars, which are one element. Texts have no bytes of equal weight.
        let is_ignored = variable.dimensions.is_empty()
            || (filter == Filter::Shuffle && variable.ty == Type::String);
        if is_ignored {
            return Ok(());
        }
        let all = &mut variable.storage.filters;
        let same =
            |other: &Filter| std::mem::discriminant(other) == std::mem::discriminant(&filter);
        match all.iter().position(same) {
            Some(at) => all[at] = filter,
            // As netCDF's library has them, whatever the order of the calls: shuffled first, the checksum last.
            None if filter == Filter::Shuffle => all.insert(0, filter),
            None if all.last() == Some(&Filter::Fletcher32) => all.insert(all.len() - 1, filter),
            None => all.push(filter),
        }
        Ok(())
    }

    /// Takes a filter away that was chosen before.
    pub fn drop_filter(&mut self, place: usize, id: c_int, filter: &Filter) -> Result<()> {
        self.pending_variable(place, id)?.storage.filters.retain(|other| other != filter);
        Ok(())
    }

    /// The same by HDF5's number and parameters.
    pub fn choose_hdf5_filter(
        &mut self,
        place: usize,
        id: c_int,
        filter: u32,
        parameters: &[u32],
    ) -> Result<()> {
        let name = &self.pending_variable(place, id)?.name;
        let known = filters::WRITTEN.contains(&filter);
        let chosen = filters::from_hdf5(filter, parameters).map_err(|why| {
            Failure::new(
                if known { EINVAL } else { ENOFILTER },
                format!("variable `{name}`: {why}"),
            )
        })?;
        self.choose_filter(place, id, chosen)
    }

    /// Chooses the byte order.
    pub fn choose_endian(&mut self, place: usize, id: c_int, endian: Option<Endian>) -> Result<()> {
        self.pending_variable(place, id)?.storage.endian = endian;
        Ok(())
    }

    /// Chooses what elements hold that are never written.
    pub fn choose_fill(&mut self, place: usize, id: c_int, fill: FillMode) -> Result<()> {
        let tells_fill = self.dataset.dialect() == Dialect::V3;
        let variable = self.group_mut(place)?.variable_mut(id)?;
        if variable.handle.is_some() {
            return Err(ELATEFILL.into());
        }
        variable.storage.no_fill = matches!(fill, FillMode::None);
        if let FillMode::With(value) = fill {
            if !variable.ty.is_atomic() {
                return choose_own_fill(variable, value, tells_fill);
            }
            check_attribute(FILL_VALUE, &value)?;
            variable.attributes.set(FILL_VALUE, value);
        }
        Ok(())
    }

    /// Creates a group, at once; its place.
    pub fn define_group(&mut self, place: usize, name: &str) -> Result<usize> {
        let name = new_name(name)?;
        self.check_free(place, &name)?;
        let below = self.groups.len();
        if below >= MAX_GROUPS {
            let why = format!("a file has at most {MAX_GROUPS} groups");
            return Err(Failure::new(ENOMEM, why));
        }
        let parent = self.group(place)?;
        let full_name = parent.path_of(&name);
        let created = self.dataset.group(&parent.full_name).and_then(|it| it.create_group(&name));
        created.map_err(|e| Failure::in_definition(&e))?;
        let group = self.group_mut(place)?;
        group.child_names.add(&name, group.children.len());
        group.children.push(below);
        self.groups.push(Group {
            name,
            full_name,
            parent: Some(place),
            children: Vec::new(),
            dimensions: Vec::new(),
            variables: Vec::new(),
            attributes: Attributes::default(),
            pending_attributes: Vec::new(),
            child_names: NameIndex::default(),
            dimension_names: NameIndex::default(),
            variable_names: NameIndex::default(),
        });
        Ok(below)
    }

    /// Sets an attribute of a variable, or of the group for [`NC_GLOBAL`].
    pub fn put_attribute(
        &mut self,
        place: usize,
        variable: c_int,
        name: &str,
        value: Values,
    ) -> Result<()> {
        let name = new_name(name)?;
        let is_fill = name == FILL_VALUE;
        if is_fill
            && variable != NC_GLOBAL
            && !self.group(place)?.variable(variable)?.ty.is_atomic()
        {
            if self.group(place)?.variable(variable)?.ty != value.ty() {
                return Err(EBADTYPE.into());
            }
            return self.choose_fill(place, variable, FillMode::With(value));
        }
        let value = as_attribute(&name, value)?;
        check_attribute(&name, &value)?;
        if variable == NC_GLOBAL {
            let group = self.group_mut(place)?;
            let kept = group.attributes.set(&name, value);
            if !group.pending_attributes.contains(&kept) {
                group.pending_attributes.push(kept);
            }
            self.has_pending = true;
            return Ok(());
        }
        let found = self.group_mut(place)?.variable_mut(variable)?;
        if is_fill && value.ty() != found.ty {
            return Err(EBADTYPE.into());
        }
        if is_fill && value.len() != 1 {
            return Err(EINVAL.into());
        }
        if let Some(handle) = &found.handle {
            handle.set_attribute(&name, value.clone()).map_err(|e| match e.kind() {
                ErrorKind::Argument if is_fill => Failure::new(ELATEFILL, e.to_string()),
                _ => Failure::in_definition(&e),
            })?;
        }
        if is_fill {
            (found.storage.no_fill, found.storage.unwritten) = (false, None);
        }
        found.attributes.set(&name, value);
        Ok(())
    }

    /// Deletes an attribute.
    pub fn delete_attribute(&mut self, place: usize, variable: c_int, name: &str) -> Result<()> {
        let at = self.attributes(place, variable)?.position(name)?;
        let failed = |e: zarr::Error| match e.kind() {
            ErrorKind::NotFound => ENOTATT.into(),
            _ => Failure::in_definition(&e),
        };
        if variable == NC_GLOBAL {
            let (dataset, schema) = (self.dataset.clone(), self.dataset.schema());
            let group = self.group_mut(place)?;
            let stored = schema.group(&group.full_name);
            if stored.is_some_and(|stored| stored.attribute(name).is_some()) {
                let group = dataset.group(&group.full_name).map_err(failed)?;
                group.delete_attribute(name).map_err(failed)?;
            }
            let kept = group.attributes.list[at].name.clone();
            group.pending_attributes.retain(|pending| *pending != kept);
            group.attributes.remove(at);
            return Ok(());
        }
        let found = self.group_mut(place)?.variable_mut(variable)?;
        if let Some(handle) = &found.handle {
            handle.delete_attribute(name).map_err(|e| match e.kind() {
                ErrorKind::Argument if name == FILL_VALUE => Failure::new(ELATEFILL, e.to_string()),
                _ => failed(e),
            })?;
        }
        found.attributes.remove(at);
        Ok(())
    }

    /// Gives an attribute another name.
    pub fn rename_attribute(
        &mut self,
        place: usize,
        variable: c_int,
        name: &str,
        to: &str,
    ) -> Result<()> {
        let to = new_name(to)?;
        let all = self.attributes(place, variable)?;
        let at = all.position(name)?;
        if all.position(&to).is_ok() || is_reserved(&to) || is_virtual(&to) {
            return Err(ENAMEINUSE.into());
        }
        if variable == NC_GLOBAL {
            // By its old name, if it is pending.
            self.store()?;
            let group = self.dataset.group(&self.group(place)?.full_name);
            let renamed = group.and_then(|group| group.rename_attribute(name, &to));
            renamed.map_err(|e| Failure::in_definition(&e))?;
            self.group_mut(place)?.attributes.rename(at, &to);
            return Ok(());
        }
        if name == FILL_VALUE || to == FILL_VALUE {
            // NCO sets the fill value under another name, and renames it. It is not only an attribute.
            let value = self.attributes(place, variable)?.get(name)?.clone();
            self.put_attribute(place, variable, &to, value)?;
            return self.delete_attribute(place, variable, name);
        }
        let found = self.group_mut(place)?.variable_mut(variable)?;
        if let Some(handle) = &found.handle {
            let renamed = handle.rename_attribute(name, &to);
            renamed.map_err(|e| Failure::in_definition(&e))?;
        }
        found.attributes.rename(at, &to);
        Ok(())
    }

    /// Gives a dimension another name, in all variables that have it.
    pub fn rename_dimension(&mut self, id: c_int, to: &str) -> Result<()> {
        let to = new_name(to)?;
        let dimension = self.dimension(id)?.clone();
        let group = self.group(dimension.group)?;
        if group.dimension_names.position(&to).is_some() {
            return Err(ENAMEINUSE.into());
        }
        match dimension.origin {
            Origin::Pending => {}
            Origin::Shown => return Err(EBADDIM.into()),
            Origin::Stored => {
                let group = self.dataset.group(&group.full_name);
                let renamed = group.and_then(|group| group.rename_dimension(&dimension.name, &to));
                renamed.map_err(|e| Failure::in_definition(&e))?;
            }
        }
        self.dimensions[id as usize].name = to;
        let names = self.groups[dimension.group].dimensions.iter();
        let names = names.map(|&id| self.dimensions[id].name.as_str()).collect();
        self.groups[dimension.group].dimension_names = names;
        Ok(())
    }

    /// Gives a variable another name.
    pub fn rename_variable(&mut self, place: usize, id: c_int, to: &str) -> Result<()> {
        let to = new_name(to)?;
        let group = self.group(place)?;
        let variable = group.variable(id)?;
        self.check_free(place, &to)?;
        let mut handle = None;
        if variable.handle.is_some() {
            let renamed = self.dataset.group(&group.full_name).and_then(|it| {
                it.rename(&variable.name, &to)?;
                it.variable(&to)
            });
            handle = Some(renamed.map_err(|e| Failure::in_definition(&e))?);
        }
        let group = self.group_mut(place)?;
        let variable = group.variable_mut(id)?;
        (variable.name, variable.handle) = (to, handle);
        group.variable_names = group.variables.iter().map(|it| it.name.as_str()).collect();
        Ok(())
    }

    /// Gives a group another name, which is part of the full names of all that is in it.
    pub fn rename_group(&mut self, place: usize, to: &str) -> Result<()> {
        let to = new_name(to)?;
        let group = self.group(place)?;
        let Some(parent) = group.parent else { return Err(EBADGRPID.into()) };
        self.check_free(parent, &to)?;
        // What is pending below has the old name in its full name.
        self.store()?;
        let (old, above) = (&self.groups[place].name, &self.groups[parent].full_name);
        let renamed = self.dataset.group(above).and_then(|above| above.rename(old, &to));
        renamed.map_err(|e| Failure::in_definition(&e))?;
        self.groups[place].name = to;
        let children = self.groups[parent].children.clone();
        let names = children.iter().map(|&child| self.groups[child].name.as_str());
        self.groups[parent].child_names = names.collect();
        // Groups are behind those that they are in.
        for below in place..self.groups.len() {
            let Some(parent) = self.groups[below].parent else { continue };
            self.groups[below].full_name = self.groups[parent].path_of(&self.groups[below].name);
            for at in 0..self.groups[below].variables.len() {
                let path = self.groups[below].path_of(&self.groups[below].variables[at].name);
                let handle = self.dataset.variable(&path);
                let handle = handle.map_err(|e| Failure::in_definition(&e))?;
                self.groups[below].variables[at].handle = Some(handle);
            }
        }
        Ok(())
    }
}
