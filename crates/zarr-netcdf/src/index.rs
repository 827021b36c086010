//! An open dataset with the numbers by which netCDF calls groups, dimensions, variables and types.
//!
//! Dimensions are numbered through the file, in the order of definition, when it is opened groups and all below them first;
//! variables within their group. The number of a group is that of the file and, in the lower 16 bits, which group it is; the
//! root is 0.
//!
//! `load` makes the index of a dataset that is there; `define` adds to it, and `store` writes what was added.

use std::ffi::c_int;

use zarr::nczarr::schema::{Endian, Storage};
use zarr::nczarr::{Attribute, Dataset, Filter, NameIndex, Type, Values, composed};

use crate::codes::{EBADDIM, EBADID, EINTERNAL, ENOTATT, ENOTVAR, EPERM, Failure, Result};
use crate::filters::{FILTER_DEFLATE, hdf5_filter};
use crate::own_types::OwnType;
use crate::types;

/// The most groups of a file, which have 16 bits of its number.
pub const MAX_GROUPS: usize = 1 << 16;

/// The number that stands for a group's own attributes in place of a variable's.
pub const NC_GLOBAL: c_int = -1;

const NC_ENDIAN_NATIVE: c_int = 0;
const NC_ENDIAN_LITTLE: c_int = 1;
const NC_ENDIAN_BIG: c_int = 2;

/// An open dataset.
#[derive(Clone, Debug)]
pub struct File {
    pub dataset: Dataset,
    /// What the program opened it by.
    pub typed: String,
    /// The groups, each before those below it; the first is the root.
    pub groups: Vec<Group>,
    /// The dimensions of all groups, by their numbers.
    pub dimensions: Vec<Dimension>,
    /// The types that the program has defined since it opened the file.
    pub own_types: Vec<OwnType>,
    /// Which format netcdf-c takes it for: that of the slot in which it was opened.
    pub model: c_int,
    /// The most bytes of decoded chunks that it keeps.
    pub cache_bytes: u64,
    pub tells_all_filters: bool,
    /// Whether it may be changed.
    pub is_writable: bool,
    /// Whether it was created by this handle, and no variable was stored in it since: then `abort` erases it.
    pub is_new: bool,
    /// Whether there is something that `store` has to write.
    pub has_pending: bool,
    /// The most bytes of a shard of new variables, if their chunks are put together in shards.
    pub shard_bytes: Option<u64>,
    /// Whether elements of new variables are filled that are never written.
    pub fills: bool,
}

/// A group. It is always stored; of what is in it some may be pending.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its own name; `/` for the root.
    pub name: String,
    /// Its name with those of all groups above.
    pub full_name: String,
    /// The group that it is in; none for the root.
    pub parent: Option<usize>,
    /// The groups in it, by their places in the file.
    pub children: Vec<usize>,
    /// Its own dimensions, by their numbers.
    pub dimensions: Vec<usize>,
    /// Its variables, by their numbers.
    pub variables: Vec<Variable>,
    /// Its own attributes.
    pub attributes: Attributes,
    /// The names of those that `store` has to write.
    pub pending_attributes: Vec<String>,
    pub child_names: NameIndex,
    pub dimension_names: NameIndex,
    pub variable_names: NameIndex,
}

/// A dimension.
#[derive(Clone, Debug)]
pub struct Dimension {
    pub name: String,
    pub len: usize,
    pub is_unlimited: bool,
    /// The group that declares it.
    pub group: usize,
    pub origin: Origin,
}

/// Where a dimension is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Stored,
    /// Here, until `store` writes it.
    Pending,
    /// Here only: the parts of complex numbers.
    Shown,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Variable {
    pub name: String,
    /// An atomic type, or the one of Zarr that a program's own type is.
    pub ty: Type,
    /// The number of the program's own type, if the variable was defined of one.
    pub own_type: Option<c_int>,
    /// The type that `ty` stands for.
    pub zarr_type: Type,
    /// Whether the last dimension has the two parts of complex numbers, which are elements to Zarr.
    pub is_complex: bool,
    /// The numbers of its dimensions; none for a scalar.
    pub dimensions: Vec<usize>,
    pub attributes: Attributes,
    /// How it is stored, or is to be.
    pub storage: Storage,
    /// By it elements are read and written. A variable that has none is pending: all of it may still be chosen.
    pub handle: Option<zarr::nczarr::Variable>,
}

/// Attributes by number and name.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    pub list: Vec<Attribute>,
    names: NameIndex,
}

impl FromIterator<Attribute> for Attributes {
    fn from_iter<I: IntoIterator<Item = Attribute>>(attributes: I) -> Attributes {
        let mut all =
            Attributes { list: attributes.into_iter().collect(), ..Attributes::default() };
        all.number();
        all
    }
}

impl Attributes {
    fn number(&mut self) {
        self.names = self.list.iter().map(|attribute| attribute.name.as_str()).collect();
    }

    /// Adds an attribute, unless there is one of the name.
    pub fn add(&mut self, name: &str, value: impl Into<Values>) {
        if self.names.position(name).is_none() {
            self.names.add(name, self.list.len());
            self.list.push(Attribute::new(name, value));
        }
    }

    /// Sets an attribute; one that is there keeps its name and its place. The name that it has.
    pub fn set(&mut self, name: &str, value: Values) -> String {
        if let Some(at) = self.names.position(name) {
            self.list[at].value = value;
            return self.list[at].name.clone();
        }
        let name = composed(name).into_owned();
        self.add(&name, value);
        name
    }

    /// Removes the attribute of this place.
    pub fn remove(&mut self, at: usize) {
        self.list.remove(at);
        self.number();
    }

    /// Gives the attribute of this place another name.
    pub fn rename(&mut self, at: usize, name: &str) {
        self.list[at].name = composed(name).into_owned();
        self.number();
    }

    /// The number of the attribute of this name.
    pub fn position(&self, name: &str) -> Result<usize> {
        self.names.position(name).ok_or_else(|| ENOTATT.into())
    }

    /// The attribute of this number.
    pub fn at(&self, number: c_int) -> Result<&Attribute> {
        let found = usize::try_from(number).ok().and_then(|number| self.list.get(number));
        found.ok_or_else(|| ENOTATT.into())
    }

    /// The values of the attribute of this name.
    pub fn get(&self, name: &str) -> Result<&Values> {
        Ok(&self.list[self.position(name)?].value)
    }
}

impl File {
    /// Refuses to change a file that was opened for reading.
    pub fn check_writable(&self) -> Result<()> {
        if self.is_writable { Ok(()) } else { Err(EPERM.into()) }
    }

    /// The group of this place.
    pub fn group(&self, place: usize) -> Result<&Group> {
        self.groups.get(place).ok_or_else(|| EBADID.into())
    }

    /// The group of this place, to be changed.
    pub fn group_mut(&mut self, place: usize) -> Result<&mut Group> {
        self.groups.get_mut(place).ok_or_else(|| EBADID.into())
    }

    /// A group and all above it, itself first.
    pub fn and_above(&self, place: usize) -> impl Iterator<Item = &Group> {
        std::iter::successors(self.groups.get(place), move |group| {
            group.parent.and_then(|parent| self.groups.get(parent))
        })
    }

    /// The dimension of this number.
    pub fn dimension(&self, id: c_int) -> Result<&Dimension> {
        let found = usize::try_from(id).ok().and_then(|id| self.dimensions.get(id));
        found.ok_or_else(|| EBADDIM.into())
    }

    /// The number of the dimension of this name that a group sees.
    pub fn dimension_named(&self, place: usize, name: &str) -> Result<usize> {
        let mut groups = self.and_above(place);
        let found = groups
            .find_map(|group| group.dimensions.get(group.dimension_names.position(name)?).copied());
        found.ok_or_else(|| EBADDIM.into())
    }

    /// The name of a dimension with those of the groups that it is in.
    pub fn full_dimension_name(&self, id: usize) -> String {
        let dimension = &self.dimensions[id];
        self.groups[dimension.group].path_of(&dimension.name)
    }

    /// The numbers of the unlimited dimensions that a group itself declares.
    pub fn own_unlimited(&self, group: &Group) -> impl Iterator<Item = usize> {
        group.dimensions.iter().copied().filter(move |&id| self.dimensions[id].is_unlimited)
    }

    /// The first unlimited dimension that a group sees.
    pub fn unlimited(&self, place: usize) -> Option<usize> {
        self.and_above(place).find_map(|group| self.own_unlimited(group).next())
    }

    /// The place of the group of this full name, or of this name counted from `place`.
    pub fn group_at(&self, place: usize, path: &str) -> Option<usize> {
        let start = if path.starts_with('/') { 0 } else { place };
        let mut names = path.split('/').filter(|name| !name.is_empty());
        names.try_fold(start, |place, name| self.groups.get(place)?.child(name))
    }

    /// The attributes of a variable, or of the group for [`NC_GLOBAL`].
    pub fn attributes(&self, place: usize, variable: c_int) -> Result<&Attributes> {
        let group = self.group(place)?;
        if variable == NC_GLOBAL {
            return Ok(&group.attributes);
        }
        Ok(&group.variable(variable)?.attributes)
    }

    /// The lengths of a variable's dimensions; none for a scalar.
    pub fn shape(&self, variable: &Variable) -> Vec<u64> {
        variable.dimensions.iter().map(|&id| self.dimensions[id].len as u64).collect()
    }

    /// The lengths of a variable's chunks as netCDF allows them: not longer than a dimension that does not grow; of a shard
    /// those of the inner chunks. None for a scalar, and where they are not chosen yet.
    pub fn chunks(&self, variable: &Variable) -> Option<Vec<usize>> {
        let stored = &variable.storage.chunks;
        let expected = variable.dimensions.len() - usize::from(variable.is_complex);
        if expected == 0 || stored.len() != expected {
            return None;
        }
        let lens = stored.iter().zip(&variable.dimensions).map(|(&len, &id)| {
            let dimension = &self.dimensions[id];
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            if dimension.is_unlimited { len } else { len.min(dimension.len.max(1)) }
        });
        Some(lens.chain(variable.is_complex.then_some(2)).collect())
    }

    /// A variable's filters as HDF5 calls them, with their parameters, that are told as such; deflate is one.
    pub fn filters(&self, variable: &Variable) -> Vec<(u32, Vec<u32>)> {
        let filters = variable.storage.filters.iter();
        let numbered = filters.filter_map(|filter| hdf5_filter(filter, variable.zarr_type));
        // What the program has chosen itself, it knows.
        let tells_all = self.tells_all_filters || variable.handle.is_none();
        numbered.filter(|(id, _)| *id == FILTER_DEFLATE || tells_all).collect()
    }
}

impl Group {
    /// The full name of what is called so in it.
    pub fn path_of(&self, name: &str) -> String {
        format!("{}/{name}", self.full_name.trim_end_matches('/'))
    }

    /// The variable of this number.
    pub fn variable(&self, id: c_int) -> Result<&Variable> {
        let found = usize::try_from(id).ok().and_then(|id| self.variables.get(id));
        found.ok_or_else(|| ENOTVAR.into())
    }

    /// The variable of this number, to be changed.
    pub fn variable_mut(&mut self, id: c_int) -> Result<&mut Variable> {
        let found = usize::try_from(id).ok().and_then(|id| self.variables.get_mut(id));
        found.ok_or_else(|| ENOTVAR.into())
    }

    /// The number of the variable of this name.
    pub fn variable_named(&self, name: &str) -> Result<usize> {
        self.variable_names.position(name).ok_or_else(|| ENOTVAR.into())
    }

    /// The place of the group of this name that lies in this one.
    pub fn child(&self, name: &str) -> Option<usize> {
        self.children.get(self.child_names.position(name)?).copied()
    }
}

impl Variable {
    /// By which elements are read and written.
    ///
    /// # Errors
    /// `EINTERNAL` while the variable is pending: who asks for elements has it stored before.
    pub fn handle(&self) -> Result<&zarr::nczarr::Variable> {
        let missing = || Failure::new(EINTERNAL, format!("`{}` is not stored yet", self.name));
        self.handle.as_ref().ok_or_else(missing)
    }

    /// netCDF's number of its type.
    pub fn type_id(&self) -> c_int {
        self.own_type.unwrap_or_else(|| types::id(self.ty))
    }

    pub fn has_filter(&self, filter: &Filter) -> bool {
        self.storage.filters.contains(filter)
    }

    pub fn deflate_level(&self) -> Option<u8> {
        self.storage.filters.iter().find_map(|filter| match filter {
            Filter::Deflate { level } => Some(*level),
            _ => None,
        })
    }

    pub fn endian(&self) -> c_int {
        match self.storage.endian {
            _ if !self.ty.is_atomic() || self.ty.size().is_none_or(|size| size == 1) => {
                NC_ENDIAN_NATIVE
            }
            Some(Endian::Big) => NC_ENDIAN_BIG,
            _ => NC_ENDIAN_LITTLE,
        }
    }

    /// One value: what elements hold that were never written.
    pub fn fill(&self) -> Values {
        if let (false, Some(unwritten)) = (self.ty.is_atomic(), &self.storage.unwritten) {
            return unwritten.clone();
        }
        let declared = self.attributes.get("_FillValue").ok();
        let declared = declared.filter(|value| value.ty() == self.ty && value.len() == 1);
        declared.cloned().unwrap_or_else(|| self.ty.default_fill())
    }

    /// Whether netCDF's default fill value is no sign of elements that were never written: none are filled, or with a value
    /// that is another one and not declared missing. netCDF4-python would mask a pixel of 255 otherwise.
    pub fn is_without_fill(&self) -> bool {
        let unwritten = self.storage.unwritten.as_ref();
        let filled_otherwise = unwritten.is_some_and(|fill| *fill != self.zarr_type.default_fill());
        // Of bools and complex numbers no value is missing.
        !self.zarr_type.is_atomic()
            || self.storage.no_fill
            || (filled_otherwise && self.attributes.get("_FillValue").is_err())
    }
}
