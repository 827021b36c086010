//! An open dataset with the numbers by which netCDF calls groups, dimensions, variables and types.
//!
//! Dimensions are numbered through the file, groups and all below them in the order of definition; variables within their
//! group. The number of a group is that of the file and, in the lower 16 bits, which group it is; the root is 0.

use std::collections::HashMap;
use std::ffi::c_int;
use std::ops::Range;
use std::sync::Arc;

use zarr::nczarr::schema::{self, Endian, Storage};
use zarr::nczarr::{
    Attribute, Dataset, DatasetOptions, Filter, NameIndex, NcUrl, Type, Values, check_name,
};
use zarr::{ErrorKind, OpenOptions, Registry};

use crate::codes::{EBADDIM, EBADID, ENOMEM, ENOTATT, ENOTNC, ENOTVAR, Failure, Result};
use crate::location::locate;
use crate::report;
use crate::settings;
use crate::types::{BOOL_ATTRIBUTE, COMPLEX_DIMENSION, told};

/// The most groups of a file, which have 16 bits of its number.
const MAX_GROUPS: usize = 1 << 16;

/// The number that stands for a group's own attributes in place of a variable's.
pub const NC_GLOBAL: c_int = -1;

const NC_ENDIAN_NATIVE: c_int = 0;
const NC_ENDIAN_LITTLE: c_int = 1;
const NC_ENDIAN_BIG: c_int = 2;

/// HDF5's numbers of filters.
pub const FILTER_DEFLATE: u32 = 1;
const FILTER_BZIP2: u32 = 307;
const FILTER_BLOSC: u32 = 32001;
const FILTER_ZSTD: u32 = 32015;
/// Blosc's compressors, in the order of its own numbers.
const BLOSC_COMPRESSORS: [&str; 6] = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];

/// An open dataset.
#[derive(Debug)]
pub struct File {
    /// The groups, each before those below it; the first is the root.
    pub groups: Vec<Group>,
    /// The dimensions of all groups, by their numbers.
    pub dimensions: Vec<Dimension>,
    /// Which format netcdf-c takes it for: that of the slot in which it was opened.
    pub model: c_int,
    /// The most bytes of decoded chunks that it keeps.
    pub cache_bytes: u64,
}

/// A group.
#[derive(Debug)]
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
    pub dimensions: Range<usize>,
    /// Its variables, by their numbers.
    pub variables: Vec<Variable>,
    /// Its own attributes.
    pub attributes: Attributes,
    child_names: NameIndex,
    dimension_names: NameIndex,
    variable_names: NameIndex,
}

/// A dimension.
#[derive(Debug)]
pub struct Dimension {
    pub name: String,
    pub len: usize,
    pub is_unlimited: bool,
}

/// A variable.
#[derive(Debug)]
pub struct Variable {
    pub name: String,
    /// An atomic type.
    pub ty: Type,
    /// Whether the last dimension has the two parts of complex numbers, which are elements to Zarr.
    pub is_complex: bool,
    /// The numbers of its dimensions; none for a scalar.
    pub dimensions: Vec<usize>,
    /// Their lengths.
    pub shape: Vec<u64>,
    pub attributes: Attributes,
    /// The lengths of a chunk, of a shard the inner one's; none for a scalar.
    pub chunks: Option<Vec<usize>>,
    pub is_shuffled: bool,
    pub deflate_level: Option<u8>,
    pub has_checksum: bool,
    /// Filters as HDF5 calls them, with their parameters, that are told as such; deflate is one.
    pub filters: Vec<(u32, Vec<u32>)>,
    /// Whether no value means "never written".
    pub is_without_fill: bool,
    /// One value: what elements hold that were never written.
    pub fill: Values,
    pub endian: c_int,
    /// By it elements are read.
    pub handle: zarr::nczarr::Variable,
}

/// Attributes by number and name.
#[derive(Debug, Default)]
pub struct Attributes {
    pub list: Vec<Attribute>,
    names: NameIndex,
}

impl Attributes {
    /// Adds a text, unless there is an attribute of the name.
    fn add(&mut self, (name, text): (&str, &str)) {
        if self.names.position(name).is_none() {
            self.names.add(name, self.list.len());
            self.list.push(Attribute::new(name, text));
        }
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
    /// Opens what a program's path or URL means, for reading.
    ///
    /// # Errors
    /// [`ENOTNC`] for a file that is not Zarr's; what [`Failure::at_open`] says.
    pub fn open(typed: &str, model: c_int, registry: Arc<Registry>) -> Result<File> {
        let location = locate(typed)?;
        let cache_bytes = settings::cache_bytes();
        let mut zarr = OpenOptions::new(registry);
        zarr.options.chunk_cache = cache_bytes;
        let url = NcUrl::parse(&location.url).map_err(|e| Failure::at_open(&e.into()))?;
        let dataset = url.open(&DatasetOptions::of(zarr)).map_err(|e| match e.kind() {
            ErrorKind::NotFound if location.may_be_foreign => ENOTNC.into(),
            _ => Failure::at_open(&e),
        })?;
        let mut file = Builder::new(&dataset).build(typed)?;
        (file.model, file.cache_bytes) = (model, cache_bytes);
        Ok(file)
    }

    /// The group of this place.
    pub fn group(&self, place: usize) -> Result<&Group> {
        self.groups.get(place).ok_or_else(|| EBADID.into())
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
            .find_map(|group| Some(group.dimensions.start + group.dimension_names.position(name)?));
        found.ok_or_else(|| EBADDIM.into())
    }

    /// The numbers of the unlimited dimensions that a group itself declares.
    pub fn own_unlimited(&self, group: &Group) -> impl Iterator<Item = usize> {
        group.dimensions.clone().filter(move |&id| self.dimensions[id].is_unlimited)
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
}

impl Group {
    /// The variable of this number.
    pub fn variable(&self, id: c_int) -> Result<&Variable> {
        let found = usize::try_from(id).ok().and_then(|id| self.variables.get(id));
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

/// Gives numbers to what a dataset defines.
struct Builder<'a> {
    dataset: &'a Dataset,
    tells_all_filters: bool,
    groups: Vec<Group>,
    dimensions: Vec<Dimension>,
    /// The numbers of dimensions by their full names.
    numbers: HashMap<String, usize>,
    /// For each group the number of its dimension of the parts of complex numbers, if it has any. Groups have one each, since
    /// nc-complex, which netCDF4-python has, looks for it in the variable's own group alone.
    complex: Vec<Option<usize>>,
    /// What cannot be shown, and why.
    hidden: Vec<String>,
}

impl<'a> Builder<'a> {
    fn new(dataset: &'a Dataset) -> Builder<'a> {
        Builder {
            dataset,
            tells_all_filters: settings::tells_all_filters(),
            groups: Vec::new(),
            dimensions: Vec::new(),
            numbers: HashMap::new(),
            complex: Vec::new(),
            hidden: Vec::new(),
        }
    }

    fn build(mut self, typed: &str) -> Result<File> {
        let root = self.dataset.schema();
        // Variables may use dimensions of any group, so all of those have their numbers first.
        let mut schemas = Vec::new();
        self.add_group(&root, None, &mut schemas)?;
        for (place, schema) in schemas.into_iter().enumerate() {
            self.add_variables(place, schema);
        }
        for sentence in &self.hidden {
            report::print_once(&format!("{typed}: {sentence}"));
        }
        Ok(File { groups: self.groups, dimensions: self.dimensions, model: 0, cache_bytes: 0 })
    }

    /// Whether a name is one of netCDF's; else it is hidden, since programs have memory for 256 bytes, and no copy could have it.
    fn is_shown(&mut self, what: &str, place: &str, name: &str) -> bool {
        match check_name(name) {
            Ok(()) => true,
            Err(error) => {
                self.hidden.push(format!("{what} of `{place}` is not shown: {error}"));
                false
            }
        }
    }

    fn attributes(&mut self, place: &str, all: &[Attribute]) -> Attributes {
        let mut list = Vec::new();
        for attribute in all {
            if !attribute.value.ty().is_atomic() {
                let why = format!("its value is of type {}", attribute.value.ty());
                self.hidden.push(format!("`{}` of `{place}` is not shown: {why}", attribute.name));
            } else if self.is_shown("an attribute", place, &attribute.name) {
                list.push(attribute.clone());
            }
        }
        let names = list.iter().map(|attribute| attribute.name.as_str()).collect();
        Attributes { list, names }
    }

    /// Adds a group with all below it, but for variables; `schemas` has what defines each. nczarr bounds how deep they are.
    fn add_group<'s>(
        &mut self,
        schema: &'s schema::Group,
        parent: Option<usize>,
        schemas: &mut Vec<&'s schema::Group>,
    ) -> Result<usize> {
        let place = self.groups.len();
        if place >= MAX_GROUPS {
            let why = format!(
                "the dataset has more than {MAX_GROUPS} groups, which netCDF's numbers cannot tell apart"
            );
            return Err(Failure::new(ENOMEM, why));
        }
        let (name, full_name) = match parent {
            None => ("/".to_owned(), "/".to_owned()),
            Some(parent) => {
                let above = self.groups[parent].full_name.trim_end_matches('/');
                (schema.name.clone(), format!("{above}/{}", schema.name))
            }
        };
        let first = self.dimensions.len();
        let prefix = full_name.trim_end_matches('/');
        let mut dimension_names = NameIndex::default();
        for dimension in &schema.dimensions {
            if !self.is_shown("a dimension", &full_name, &dimension.name) {
                continue;
            }
            let Ok(len) = usize::try_from(dimension.len) else {
                let why = format!(
                    "dimension `{}` is longer than this machine can address",
                    dimension.name
                );
                return Err(Failure::new(ENOMEM, why));
            };
            self.numbers.insert(format!("{prefix}/{}", dimension.name), self.dimensions.len());
            dimension_names.add(&dimension.name, self.dimensions.len() - first);
            let (name, is_unlimited) = (dimension.name.clone(), dimension.unlimited);
            self.dimensions.push(Dimension { name, len, is_unlimited });
        }
        let mut complex = None;
        if schema.variables.iter().any(|variable| told(variable.ty).1) {
            let found = dimension_names.position(COMPLEX_DIMENSION).map(|at| first + at);
            let number = found.unwrap_or(self.dimensions.len());
            if found.is_none() {
                dimension_names.add(COMPLEX_DIMENSION, number - first);
                let name = COMPLEX_DIMENSION.to_owned();
                self.dimensions.push(Dimension { name, len: 2, is_unlimited: false });
            }
            // A dimension of that name that is the data's own may be another one.
            complex = Some(number).filter(|&number| self.dimensions[number].len == 2);
        }
        self.complex.push(complex);
        for opaque in &schema.opaque {
            self.hidden.push(format!("`{prefix}/{}` is not shown: {}", opaque.name, opaque.why));
        }
        let attributes = self.attributes(&full_name, &schema.attributes);
        let dimensions = first..self.dimensions.len();
        self.groups.push(Group {
            name,
            full_name: full_name.clone(),
            parent,
            children: Vec::new(),
            dimensions,
            variables: Vec::new(),
            attributes,
            child_names: NameIndex::default(),
            dimension_names,
            variable_names: NameIndex::default(),
        });
        schemas.push(schema);
        for child in &schema.groups {
            if self.is_shown("a group", &full_name, &child.name) {
                let below = self.add_group(child, Some(place), schemas)?;
                let group = &mut self.groups[place];
                group.child_names.add(&child.name, group.children.len());
                group.children.push(below);
            }
        }
        Ok(place)
    }

    fn add_variables(&mut self, place: usize, schema: &schema::Group) {
        let full_name = self.groups[place].full_name.clone();
        for variable in &schema.variables {
            if !self.is_shown("a variable", &full_name, &variable.name) {
                continue;
            }
            let path = format!("{}/{}", full_name.trim_end_matches('/'), variable.name);
            match self.variable(place, &path, variable) {
                Ok(built) => {
                    let group = &mut self.groups[place];
                    group.variable_names.add(&built.name, group.variables.len());
                    group.variables.push(built);
                }
                Err(why) => self.hidden.push(format!("`{path}` is not shown: {why}")),
            }
        }
    }

    fn variable(
        &mut self,
        place: usize,
        path: &str,
        schema: &schema::Variable,
    ) -> Result<Variable, String> {
        let mut dimensions: Vec<usize> = schema
            .dimensions
            .iter()
            .map(|name| {
                let found = self.numbers.get(name).copied();
                found.ok_or_else(|| format!("its dimension `{name}` is not shown"))
            })
            .collect::<Result<_, _>>()?;
        let mut chunks = self.chunks(&schema.storage, &dimensions);
        let (ty, is_complex) = told(schema.ty);
        if is_complex {
            let number = self.complex[place].ok_or_else(|| {
                format!("the group has a dimension `{COMPLEX_DIMENSION}` of its own")
            })?;
            dimensions.push(number);
            if let Some(lens) = &mut chunks {
                lens.push(2);
            }
        }
        let mut attributes = self.attributes(path, &schema.attributes);
        if schema.ty == Type::Bool {
            attributes.add(BOOL_ATTRIBUTE);
        }
        let shape: Vec<u64> = dimensions.iter().map(|&id| self.dimensions[id].len as u64).collect();
        let handle = self.dataset.variable(path).map_err(|e| e.to_string())?;
        let storage = &schema.storage;
        let has = |filter: Filter| storage.filters.contains(&filter);
        let deflate_level = storage.filters.iter().find_map(|filter| match filter {
            Filter::Deflate { level } => Some(*level),
            _ => None,
        });
        let tells_all = self.tells_all_filters;
        let filters = storage.filters.iter().filter_map(|filter| hdf5_filter(filter, schema.ty));
        let is_wide = ty.size().is_some_and(|size| size > 1);
        Ok(Variable {
            name: schema.name.clone(),
            ty,
            is_complex,
            chunks,
            dimensions,
            shape,
            attributes,
            is_shuffled: has(Filter::Shuffle),
            deflate_level,
            has_checksum: has(Filter::Fletcher32),
            filters: filters.filter(|(id, _)| *id == FILTER_DEFLATE || tells_all).collect(),
            is_without_fill: is_without_fill(schema),
            fill: if ty == schema.ty { schema.fill() } else { ty.default_fill() },
            endian: match storage.endian {
                _ if !is_wide => NC_ENDIAN_NATIVE,
                Some(Endian::Big) => NC_ENDIAN_BIG,
                _ => NC_ENDIAN_LITTLE,
            },
            handle,
        })
    }

    /// The lengths of a chunk as netCDF allows them: not longer than a dimension that does not grow.
    fn chunks(&self, storage: &Storage, dimensions: &[usize]) -> Option<Vec<usize>> {
        if dimensions.is_empty() || storage.chunks.len() != dimensions.len() {
            return None;
        }
        let lens = storage.chunks.iter().zip(dimensions).map(|(&len, &id)| {
            let dimension = &self.dimensions[id];
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            if dimension.is_unlimited { len } else { len.min(dimension.len.max(1)) }
        });
        Some(lens.collect())
    }
}

/// Whether netCDF's default fill value is no sign of elements that were never written: none are filled, or with a value that
/// is another one and not declared missing. netCDF4-python would mask a pixel of 255 otherwise.
fn is_without_fill(schema: &schema::Variable) -> bool {
    let storage = &schema.storage;
    let filled_otherwise =
        storage.unwritten.as_ref().is_some_and(|fill| *fill != schema.ty.default_fill());
    // Of bools and complex numbers no value is missing.
    !schema.ty.is_atomic()
        || storage.no_fill
        || (filled_otherwise && schema.attribute("_FillValue").is_none())
}

/// A filter by HDF5's number, with the parameters of its plug-in.
fn hdf5_filter(filter: &Filter, ty: Type) -> Option<(u32, Vec<u32>)> {
    match filter {
        Filter::Deflate { level } => Some((FILTER_DEFLATE, vec![u32::from(*level)])),
        Filter::Bzip2 { level } => Some((FILTER_BZIP2, vec![u32::from(*level)])),
        // The parameter is the level's bits.
        Filter::Zstd { level } => Some((FILTER_ZSTD, vec![level.cast_unsigned()])),
        Filter::Blosc { compressor, level, shuffle, block_size } => {
            let code = BLOSC_COMPRESSORS.iter().position(|name| name == compressor)?;
            let block_size = u32::try_from(*block_size).ok()?;
            let element = u32::try_from(ty.size().unwrap_or(1)).ok()?;
            let (level, shuffle) = (u32::from(*level), u32::from(*shuffle));
            // The first two are versions, which the plug-in sets itself, then the size of elements.
            Some((FILTER_BLOSC, vec![0, 0, element, block_size, level, shuffle, code as u32]))
        }
        _ => None,
    }
}
