//! How are dimensions, variables, groups and attributes defined? (N-001, N-002, N-054, N-055)

use std::sync::Arc;

use zarr_core::data_type::{
    CoreType, DataType, Endian, FixedBytes, Variable as AnyLength, base64_encode,
};
use zarr_core::metadata::NodeKind;
use zarr_core::{
    AccessError, Array, Cause, Dialect, Error, Json, MetadataError, NodePath, Object, Result,
    Unsupported,
};

use crate::attribute;
use crate::chunks;
use crate::dataset::{Dataset, Profile};
use crate::documents::{ArrayDocument, GroupDocument, Sheet};
use crate::elements;
use crate::filter;
use crate::group::Group;
use crate::infer::full_name;
use crate::load::{Entry, Snapshot};
use crate::name::{check_name, is_reserved, is_virtual};
use crate::schema::{self, Attribute, Dimension};
use crate::text_type::{CharType, TextType};
use crate::types::Type;
use crate::values::Values;
use crate::variable::Variable;

/// The width of strings if nothing says one, in bytes (N-060).
const DEFAULT_WIDTH: usize = 128;
/// The largest width, in bytes.
const MAX_WIDTH: i128 = 1 << 24;

impl Dataset {
    /// Where the node is that is called so here.
    pub(crate) fn node_path(&self, path: &str) -> Result<NodePath> {
        Ok(self.inner.base.join(path.trim_start_matches('/'))?)
    }

    /// Refuses to write what is only read.
    pub(crate) fn check_writeable(&self, snapshot: &Snapshot) -> Result<()> {
        match snapshot.profile {
            Profile::Legacy => {
                let why =
                    "netcdf-c wrote this dataset before 4.9.3; it is read and not written; copy it";
                Err(self.at(AccessError::Frozen(why.into()).into()))
            }
            _ => Ok(()),
        }
    }

    /// Changes a node's attributes in its newest document, and again if another writer was faster. A change that
    /// fails leaves the document as it is.
    pub(crate) fn change_sheet<T>(
        &self,
        path: &str,
        kind: NodeKind,
        mut change: impl FnMut(&mut Sheet) -> Result<T>,
    ) -> Result<T> {
        let snapshot = self.snapshot();
        self.check_writeable(&snapshot)?;
        let dialect = snapshot.hierarchy.dialect();
        let noted = snapshot.profile == Profile::Nczarr;
        let mut outcome = None;
        let edit = |attributes: &mut Object| {
            let mut sheet = Sheet::of(attributes);
            let done = change(&mut sheet);
            if done.is_ok() {
                *attributes = sheet.into_object(dialect, noted);
            }
            outcome = Some(done);
        };
        let entry = snapshot.arrays.get(path).filter(|_| kind == NodeKind::Array);
        match entry {
            Some(entry) => entry.array.update_attributes(edit)?,
            None => snapshot.hierarchy.group(&self.node_path(path)?)?.update_attributes(edit)?,
        };
        outcome.unwrap_or_else(|| Err(self.absent(kind.name(), path)))
    }

    /// Changes what a group declares, where the dataset says so at all.
    pub(crate) fn change_group(
        &self,
        path: &str,
        mut change: impl FnMut(&mut GroupDocument) -> Result<()>,
    ) -> Result<()> {
        let snapshot = self.snapshot();
        if snapshot.profile != Profile::Nczarr {
            return self.check_writeable(&snapshot);
        }
        let dialect = snapshot.hierarchy.dialect();
        self.change_sheet(path, NodeKind::Group, |sheet| sheet.change_group(dialect, &mut change))
    }

    /// Makes the handles know what has been written.
    pub(crate) fn patch(&self, change: impl FnOnce(&mut schema::Group, &mut Arrays)) {
        let old = self.snapshot();
        let (mut root, mut arrays) = (schema::Group::clone(&old.root), old.arrays.clone());
        change(&mut root, &mut arrays);
        let (hierarchy, warnings) = (old.hierarchy.clone(), old.warnings.clone());
        let root = Arc::new(root);
        self.replace(Snapshot { hierarchy, profile: old.profile, root, arrays, warnings });
    }

    /// Defines all that `schema` has: its dimensions, attributes, variables and groups, below this dataset's root.
    ///
    /// # Errors
    /// As those of [`Group`]'s methods; what was defined before an error stays.
    pub fn define(&self, schema: &schema::Group) -> Result<()> {
        self.root().define(schema)
    }
}

/// The arrays of a dataset's variables.
pub(crate) type Arrays = std::collections::HashMap<String, Entry>;

impl Group {
    fn here<'s>(&self, snapshot: &'s Snapshot) -> Result<&'s schema::Group> {
        snapshot.root.group(&self.path).ok_or_else(|| self.dataset.absent("group", &self.path))
    }

    pub(crate) fn at(&self, error: impl Into<Error>) -> Error {
        match self.dataset.node_path(&self.path) {
            Ok(path) => self.dataset.at(error.into()).at_path(&path),
            Err(_) => self.dataset.at(error.into()),
        }
    }

    /// Refuses a name for a variable or a group that is no name, or is taken (N-001).
    pub(crate) fn check_free(&self, here: &schema::Group, name: &str) -> Result<()> {
        check_name(name).map_err(|e| self.at(e))?;
        let taken = here.variables.iter().any(|variable| variable.name == name)
            || here.groups.iter().any(|group| group.name == name)
            || here.opaque.iter().any(|opaque| opaque.name == name);
        match taken {
            true => Err(self.at(AccessError::Exists("a variable or group of this name"))),
            false => Ok(()),
        }
    }

    /// Defines all that `schema` has, in this group: dimensions, attributes, variables, groups.
    ///
    /// # Errors
    /// As those of the methods below; what was defined before an error stays.
    pub fn define(&self, schema: &schema::Group) -> Result<()> {
        if !schema.attributes.is_empty() {
            self.set_attributes(&schema.attributes)?;
        }
        for dimension in &schema.dimensions {
            self.define_dimension(dimension.clone())?;
        }
        for variable in &schema.variables {
            self.define_variable(variable)?;
        }
        for group in &schema.groups {
            self.create_group(&group.name)?.define(group)?;
        }
        Ok(())
    }

    /// Declares a dimension. A dataset of the pure profile knows it once a variable has it, and no longer that it
    /// grows when it is opened again.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for its name; [`AccessError::Exists`]; [`AccessError::ReadOnly`].
    pub fn define_dimension(&self, dimension: Dimension) -> Result<()> {
        let _changing = self.dataset.changing();
        check_name(&dimension.name).map_err(|e| self.at(e))?;
        let exists = || self.at(AccessError::Exists("a dimension of this name"));
        let snapshot = self.dataset.snapshot();
        if self.here(&snapshot)?.dimensions.iter().any(|d| d.name == dimension.name) {
            return Err(exists());
        }
        self.dataset.change_group(&self.path, |document| {
            if document.dimensions.iter().any(|other| other.name == dimension.name) {
                return Err(exists());
            }
            document.dimensions.push(dimension.clone());
            Ok(())
        })?;
        self.dataset.patch(|root, _| {
            if let Some(here) = root.group_mut(&self.path) {
                here.dimensions.push(dimension);
            }
        });
        Ok(())
    }

    /// Creates a group in this one.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for its name; [`AccessError::Exists`]; [`AccessError::ReadOnly`].
    pub fn create_group(&self, name: &str) -> Result<Group> {
        let _changing = self.dataset.changing();
        let snapshot = self.dataset.snapshot();
        self.dataset.check_writeable(&snapshot)?;
        self.check_free(self.here(&snapshot)?, name)?;
        let path = full_name(&self.path, name);
        let nczarr = snapshot.profile == Profile::Nczarr;
        let dialect = snapshot.hierarchy.dialect();
        let mut own = Object::new();
        if nczarr {
            own.insert("_nczarr_group", GroupDocument::default().to_json(dialect));
        }
        let attributes = Sheet::with_own(own).into_object(dialect, nczarr);
        snapshot.hierarchy.create_group(&self.dataset.node_path(&path)?, attributes)?;
        self.dataset.change_group(&self.path, |document| {
            if !document.groups.iter().any(|other| other == name) {
                document.groups.push(name.to_owned());
            }
            Ok(())
        })?;
        self.dataset.patch(|root, _| {
            if let Some(here) = root.group_mut(&self.path) {
                here.groups.push(schema::Group::new(name));
            }
        });
        Ok(Group::new(self.dataset.clone(), path))
    }

    /// The full name of the dimension that is meant by `name` here: a full name, or that of the nearest group
    /// that declares it.
    fn dimension(&self, root: &schema::Group, name: &str) -> Result<(String, Dimension)> {
        let mut group = self.path.as_str();
        let found = match name.starts_with('/') {
            true => root.dimension(name).map(|dimension| (name.to_owned(), dimension)),
            false => loop {
                let full = full_name(group, name);
                match root.dimension(&full) {
                    Some(dimension) => break Some((full, dimension)),
                    None if group == "/" => break None,
                    None => {
                        let above = group.rsplit_once('/').map_or("", |(above, _)| above);
                        group = if above.is_empty() { "/" } else { above };
                    }
                }
            },
        };
        let found = found.map(|(full, dimension)| (full, dimension.clone()));
        found.ok_or_else(|| self.dataset.absent("dimension", name))
    }

    /// Defines a variable. Its dimensions are called by their full names, or by their own, looked for from this
    /// group upwards. `_FillValue` is one value of the variable's type, among the attributes.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] for a dimension that is not declared; [`AccessError::Argument`] for names, chunks, a fill
    /// value or attributes that cannot be; [`zarr_core::MetadataError::Unsupported`] for a type that is only read;
    /// [`AccessError::Exists`]; [`AccessError::ReadOnly`].
    pub fn define_variable(&self, new: &schema::Variable) -> Result<Variable> {
        let _changing = self.dataset.changing();
        let snapshot = self.dataset.snapshot();
        self.dataset.check_writeable(&snapshot)?;
        self.check_free(self.here(&snapshot)?, &new.name)?;
        let path = full_name(&self.path, &new.name);
        let mut variable = new.clone();
        let mut dimensions = Vec::new();
        for name in &mut variable.dimensions {
            let (full, dimension) = self.dimension(&snapshot.root, name)?;
            *name = full;
            dimensions.push(dimension);
        }
        let at = |e: Error| self.at(e);
        let array = Making { dataset: &self.dataset, snapshot: &snapshot, dimensions: &dimensions };
        let (array, storage) = array.make(&path, &mut variable).map_err(at)?;
        variable.storage = storage;
        self.dataset.change_group(&self.path, |document| {
            if !document.arrays.contains(&variable.name) {
                document.arrays.push(variable.name.clone());
            }
            Ok(())
        })?;
        let fill = elements::fill(&array.metadata(), variable.ty);
        self.dataset.patch(|root, arrays| {
            arrays.insert(path.clone(), Entry { array, fill });
            if let Some(here) = root.group_mut(&self.path) {
                here.variables.push(variable);
            }
        });
        Ok(Variable::new(self.dataset.clone(), path))
    }

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
        let place = Place::Group(self.clone());
        place.set(attributes)
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
    /// Sets an attribute; one that is there keeps its place. `_FillValue` is said when the variable is defined.
    ///
    /// # Errors
    /// As [`Group::set_attribute`]; [`AccessError::Argument`] for `_FillValue`.
    pub fn set_attribute(&self, name: &str, value: impl Into<Values>) -> Result<()> {
        Place::Variable(self.clone()).set(&[Attribute::new(name, value)])
    }

    /// Deletes an attribute.
    ///
    /// # Errors
    /// As [`Group::delete_attribute`]; [`AccessError::Argument`] for `_FillValue`.
    pub fn delete_attribute(&self, name: &str) -> Result<()> {
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
                let why = "the fill value is said when the variable is defined, before there are elements";
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
        let (dataset, path, kind) = self.parts();
        let _changing = dataset.changing();
        attributes.iter().try_for_each(|attribute| self.check(&attribute.name))?;
        let dialect = dataset.dialect();
        dataset.change_sheet(path, kind, |sheet| {
            let mut all = attributes.iter();
            all.try_for_each(|attribute| sheet.set(&attribute.name, &attribute.value, dialect))
                .map_err(|e| self.at(e))
        })?;
        self.patch(|known| {
            for attribute in attributes {
                match known.iter_mut().find(|other| other.name == attribute.name) {
                    Some(found) => found.value = attribute.value.clone(),
                    None => known.push(attribute.clone()),
                }
            }
        });
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<()> {
        let (dataset, path, kind) = self.parts();
        let _changing = dataset.changing();
        self.check(name)?;
        dataset.change_sheet(path, kind, |sheet| match sheet.remove(name) {
            true => Ok(()),
            false => Err(dataset.absent("attribute", name)),
        })?;
        self.patch(|known| known.retain(|attribute| attribute.name != name));
        Ok(())
    }

    fn rename(&self, name: &str, to: &str) -> Result<()> {
        let (dataset, path, kind) = self.parts();
        let _changing = dataset.changing();
        self.check(name)?;
        self.check(to)?;
        dataset.change_sheet(path, kind, |sheet| {
            if sheet.contains(to) {
                return Err(self.at(AccessError::Exists("an attribute of this name")));
            }
            match sheet.rename(name, to) {
                true => Ok(()),
                false => Err(dataset.absent("attribute", name)),
            }
        })?;
        self.patch(|known| {
            if let Some(found) = known.iter_mut().find(|attribute| attribute.name == name) {
                found.name = to.to_owned();
            }
        });
        Ok(())
    }
}

/// N-055.
fn check_attribute_name(name: &str) -> Result<(), AccessError> {
    check_name(name)?;
    match is_reserved(name) || is_virtual(name) {
        true => Err(AccessError::Argument(format!(
            "attribute `{name}` is netCDF's own; choose another name"
        ))),
        false => Ok(()),
    }
}

/// An array that is made for a variable.
struct Making<'a> {
    dataset: &'a Dataset,
    snapshot: &'a Snapshot,
    dimensions: &'a [Dimension],
}

impl Making<'_> {
    fn dialect(&self) -> Dialect {
        self.snapshot.hierarchy.dialect()
    }

    fn nczarr(&self) -> bool {
        self.snapshot.profile == Profile::Nczarr
    }

    /// Creates the array, and tells how its elements are kept.
    fn make(
        &self,
        path: &str,
        variable: &mut schema::Variable,
    ) -> Result<(Array, schema::Storage)> {
        let ty = variable.ty;
        if !ty.is_atomic() {
            let hint = "it is read and not created".into();
            let unsupported = Unsupported { what: "type", name: ty.name().into(), hint };
            return Err(MetadataError::from(unsupported).into());
        }
        let names = variable.attributes.iter().map(|attribute| &attribute.name);
        names.into_iter().try_for_each(|name| check_attribute_name(name))?;
        let fill = self.fill(variable)?;
        let data_type = self.data_type(variable)?;
        let chunks = self.chunks(variable, &data_type)?;
        // In v2 netcdf-c wants an axis even of a scalar (N-020 … N-022).
        let is_scalar = variable.dimensions.is_empty();
        let axis = is_scalar && self.nczarr() && self.dialect() == Dialect::V2;
        let shape: Vec<u64> = self.dimensions.iter().map(|dimension| dimension.len).collect();
        let (shape, stored) = if axis { (vec![1], vec![1]) } else { (shape, chunks.clone()) };
        let big = variable.storage.endian == Some(Endian::Big);
        let mut builder = self
            .snapshot
            .hierarchy
            .create_array(&self.dataset.node_path(path)?)
            .shape(&shape)
            .chunks(&stored)
            .data_type(data_type)
            .big_endian(big)
            .attributes(self.attributes(variable)?);
        builder = match variable.storage.no_fill && self.dialect() != Dialect::V3 {
            true => builder.undefined_fill(),
            false => builder.fill_value(fill),
        };
        if self.dialect() == Dialect::V3 {
            builder = builder.dimension_names(
                self.dimensions.iter().map(|dimension| Some(dimension.name.clone())).collect(),
            );
        }
        if self.dialect() == Dialect::V2 {
            builder = builder.separator('.');
        }
        for filter in &variable.storage.filters {
            builder = builder.codec(filter::codec(filter, ty));
        }
        let array = builder.create().map_err(|e| match e.cause() {
            Cause::Access(AccessError::Exists(_)) => e.with_hint(
                "an array that the dataset does not list lies there; erase it, or choose another name",
            ),
            _ => e,
        })?;
        let has_order = array.metadata().data_type.has_byte_order();
        let endian = has_order.then_some(if big { Endian::Big } else { Endian::Little });
        let storage = schema::Storage { chunks, endian, ..variable.storage.clone() };
        Ok((array, storage))
    }

    /// The fill value, told as JSON; the declared one becomes one value of the variable's type (N-054).
    fn fill(&self, variable: &mut schema::Variable) -> Result<Json, AccessError> {
        let ty = variable.ty;
        let declared = variable.attributes.iter_mut().find(|a| a.name == "_FillValue");
        let value = match declared {
            None => ty.default_fill(),
            Some(attribute) => {
                if attribute.value.ty() != ty {
                    let (json, _) = attribute::to_json(&attribute.value, Dialect::V3)?;
                    let converted = match ty {
                        Type::Char | Type::String => Err(format!("{} is no {ty}", json.brief())),
                        _ => attribute::typed(&json, ty),
                    };
                    let refuse = |why| AccessError::Argument(format!("`_FillValue`: {why}"));
                    attribute.value = converted.map_err(refuse)?;
                }
                if attribute.value.len() != 1 {
                    let found = attribute.value.len();
                    let why = format!("`_FillValue` is one value of type {ty}, not {found}");
                    return Err(AccessError::Argument(why));
                }
                attribute.value.clone()
            }
        };
        match &value {
            Values::Char(bytes) if self.dialect() == Dialect::V3 && self.nczarr() => {
                Ok(u64::from(bytes[0]).into())
            }
            Values::Char(bytes) => match bytes[0] {
                0 => Ok("".into()),
                byte if !self.nczarr() => Ok(base64_encode(&[byte]).into()),
                byte if byte.is_ascii() => Ok(char::from(byte).to_string().into()),
                byte => {
                    let why = format!("`_FillValue`: byte {byte:#x} is no text");
                    Err(AccessError::Argument(why))
                }
            },
            _ => Ok(attribute::to_json(&value, Dialect::V3)?.0),
        }
    }

    fn data_type(&self, variable: &schema::Variable) -> Result<DataType, AccessError> {
        let core = match variable.ty {
            Type::Byte => CoreType::Int8,
            Type::Ubyte => CoreType::Uint8,
            Type::Short => CoreType::Int16,
            Type::Ushort => CoreType::Uint16,
            Type::Int => CoreType::Int32,
            Type::Uint => CoreType::Uint32,
            Type::Int64 => CoreType::Int64,
            Type::Uint64 => CoreType::Uint64,
            Type::Float => CoreType::Float32,
            Type::Bool | Type::Complex64 | Type::Complex128 | Type::Double => CoreType::Float64,
            Type::Char => {
                return Ok(match self.dialect() {
                    Dialect::V3 if self.nczarr() => CoreType::Uint8.into(),
                    Dialect::V2 if self.nczarr() => DataType::extension(CharType),
                    _ => DataType::extension(FixedBytes { len: 1 }),
                });
            }
            Type::String => {
                let any_length = DataType::extension(AnyLength::Text);
                let fixed = self.dataset.inner.options.fixed_strings;
                return Ok(match self.dialect() {
                    Dialect::V3 if !fixed => any_length,
                    Dialect::Draft => any_length,
                    _ => DataType::extension(TextType { width: self.width(variable)? }),
                });
            }
        };
        Ok(core.into())
    }

    /// How many bytes strings have (N-060).
    fn width(&self, variable: &schema::Variable) -> Result<usize, AccessError> {
        let own = variable.attribute("_nczarr_maxstrlen");
        let Some(said) = own.or(self.snapshot.root.attribute("_nczarr_default_maxstrlen")) else {
            return Ok(DEFAULT_WIDTH);
        };
        let (json, _) = attribute::to_json(said, Dialect::V3)?;
        let width = json.as_number().and_then(|text| text.parse::<i128>().ok());
        let width = width.filter(|width| (1..=MAX_WIDTH).contains(width));
        width.and_then(|width| usize::try_from(width).ok()).ok_or_else(|| {
            let why =
                format!("{} is no width for strings; it is 1 to {MAX_WIDTH} bytes", json.brief());
            AccessError::Argument(why)
        })
    }

    fn chunks(
        &self,
        variable: &schema::Variable,
        data_type: &DataType,
    ) -> Result<Vec<u64>, AccessError> {
        let said = &variable.storage.chunks;
        if said.is_empty() {
            let element = data_type.repr().map_or(1, |repr| repr.size() as u64);
            return Ok(chunks::default(self.dimensions, element));
        }
        if said.len() != self.dimensions.len() {
            let (said, due) = (said.len(), self.dimensions.len());
            let why = format!("{said} chunk lengths for {due} dimensions");
            return Err(AccessError::Argument(why));
        }
        for (&length, dimension) in said.iter().zip(self.dimensions) {
            // Plain Zarr lets a chunk reach beyond the array.
            let any = dimension.unlimited || !self.nczarr();
            let most = if any { u64::MAX } else { dimension.len.max(1) };
            if !(1..=most).contains(&length) {
                let why = format!(
                    "a chunk of length {length} along dimension `{}`, which has length {}",
                    dimension.name, dimension.len
                );
                return Err(AccessError::Argument(why));
            }
        }
        Ok(said.clone())
    }

    /// The array's attributes, the model's own behind the user's (N-020 … N-022, N-033, N-036).
    fn attributes(&self, variable: &schema::Variable) -> Result<Object, AccessError> {
        let (dialect, nczarr) = (self.dialect(), self.nczarr());
        let mut own = Object::new();
        let is_scalar = variable.dimensions.is_empty();
        if self.dataset.inner.options.xarray && dialect != Dialect::V3 {
            let names: Json = match is_scalar && nczarr {
                true => vec![Json::from("_scalar_")].into(),
                false => self.dimensions.iter().map(|d| Json::from(d.name.as_str())).collect(),
            };
            own.insert("_ARRAY_DIMENSIONS", names);
        }
        if nczarr {
            let is_text = matches!(variable.ty, Type::Char | Type::String);
            let document = ArrayDocument {
                references: variable.dimensions.clone(),
                scalar: is_scalar,
                alias: (is_text && dialect == Dialect::V3).then_some(variable.ty),
            };
            own.insert("_nczarr_array", document.to_json());
        }
        Ok(Sheet::new(&variable.attributes, own, dialect)?.into_object(dialect, nczarr))
    }
}
