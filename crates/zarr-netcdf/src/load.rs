//! Opens a dataset, and gives numbers to what it defines.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::Arc;

use zarr::nczarr::{
    Attribute, Dataset, DatasetOptions, NameIndex, NcUrl, Profile, check_name, schema,
};
use zarr::{ErrorKind, OpenOptions, Registry};

use crate::codes::{ENOMEM, ENOTNC, EPERM, Failure, Result};
use crate::index::{Attributes, Dimension, File, Group, MAX_GROUPS, Origin, Variable};
use crate::location::{locate, shard_bytes};
use crate::report;
use crate::settings;
use crate::types::{BOOL_ATTRIBUTE, COMPLEX_DIMENSION, told};
use zarr::nczarr::Type;

impl File {
    /// Opens what a program's path or URL means.
    ///
    /// # Errors
    /// [`ENOTNC`] for a file that is not Zarr's; [`EPERM`] for data that are only read; what [`Failure::at_open`] says.
    pub fn open(
        typed: &str,
        is_writable: bool,
        model: c_int,
        registry: Arc<Registry>,
    ) -> Result<File> {
        let location = locate(typed)?;
        let mut options = DatasetOptions::of(open_options(registry));
        if is_writable {
            options = options.read_write();
        }
        let url = NcUrl::parse(&location.url).map_err(|e| Failure::at_open(&e.into()))?;
        let dataset = url.open(&options).map_err(|e| match e.kind() {
            ErrorKind::NotFound if location.may_be_foreign => ENOTNC.into(),
            _ => Failure::at_open(&e),
        })?;
        if is_writable && dataset.profile() == Profile::Legacy {
            let why = "netcdf-c wrote this dataset before 4.9.3; it is read-only; copy it";
            return Err(Failure::new(EPERM, format!("{typed}: {why}")));
        }
        let mut file = File::of(dataset, typed, model)?;
        file.is_writable = is_writable;
        if is_writable {
            file.shard_bytes = shard_bytes(typed, &location.url, file.dataset.dialect())?;
        }
        Ok(file)
    }

    /// A dataset as it is, for reading.
    pub fn of(dataset: Dataset, typed: &str, model: c_int) -> Result<File> {
        Builder::new(&dataset).build(typed, model)
    }
}

/// How data are opened; as much as `ZARR_NETCDF_CACHE` says is kept of their chunks.
pub fn open_options(registry: Arc<Registry>) -> OpenOptions {
    let mut zarr = OpenOptions::new(registry);
    zarr.options.chunk_cache = settings::cache_bytes();
    zarr
}

/// Gives numbers to what a dataset defines.
struct Builder<'a> {
    dataset: &'a Dataset,
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
            groups: Vec::new(),
            dimensions: Vec::new(),
            numbers: HashMap::new(),
            complex: Vec::new(),
            hidden: Vec::new(),
        }
    }

    fn build(mut self, typed: &str, model: c_int) -> Result<File> {
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
        Ok(File {
            dataset: self.dataset.clone(),
            typed: typed.to_owned(),
            groups: self.groups,
            dimensions: self.dimensions,
            own_types: Vec::new(),
            model,
            cache_bytes: settings::cache_bytes(),
            tells_all_filters: settings::tells_all_filters(),
            is_writable: false,
            is_new: false,
            has_pending: false,
            shard_bytes: None,
            fills: true,
        })
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
        list.into_iter().collect()
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
            self.dimensions.push(Dimension {
                name: dimension.name.clone(),
                len,
                is_unlimited: dimension.unlimited,
                group: place,
                origin: Origin::Stored,
            });
        }
        let mut complex = None;
        if schema.variables.iter().any(|variable| told(variable.ty).1) {
            let found = dimension_names.position(COMPLEX_DIMENSION).map(|at| first + at);
            let number = found.unwrap_or(self.dimensions.len());
            if found.is_none() {
                dimension_names.add(COMPLEX_DIMENSION, number - first);
                self.dimensions.push(Dimension {
                    name: COMPLEX_DIMENSION.to_owned(),
                    len: 2,
                    is_unlimited: false,
                    group: place,
                    origin: Origin::Shown,
                });
            }
            // A dimension of that name that is the data's own may be another one.
            complex = Some(number).filter(|&number| self.dimensions[number].len == 2);
        }
        self.complex.push(complex);
        for opaque in &schema.opaque {
            self.hidden.push(format!("`{prefix}/{}` is not shown: {}", opaque.name, opaque.why));
        }
        let attributes = self.attributes(&full_name, &schema.attributes);
        let dimensions = (first..self.dimensions.len()).collect();
        self.groups.push(Group {
            name,
            full_name: full_name.clone(),
            parent,
            children: Vec::new(),
            dimensions,
            variables: Vec::new(),
            attributes,
            pending_attributes: Vec::new(),
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
        let (ty, is_complex) = told(schema.ty);
        if is_complex {
            let number = self.complex[place].ok_or_else(|| {
                format!("the group has a dimension `{COMPLEX_DIMENSION}` of its own")
            })?;
            dimensions.push(number);
        }
        let mut attributes = self.attributes(path, &schema.attributes);
        if schema.ty == Type::Bool {
            attributes.add(BOOL_ATTRIBUTE.0, BOOL_ATTRIBUTE.1);
        }
        let handle = self.dataset.variable(path).map_err(|e| e.to_string())?;
        Ok(Variable {
            name: schema.name.clone(),
            ty,
            own_type: None,
            zarr_type: schema.ty,
            is_complex,
            dimensions,
            attributes,
            storage: schema.storage.clone(),
            handle: Some(handle),
        })
    }
}
