//! Plans a copy of a dataset in another profile or dialect: what it defines, and what it cannot keep.

use std::collections::{HashMap, HashSet};

use zarr_core::codec::{ChunkContext, Codec, CodecSpec};
use zarr_core::data_type::DataType;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::region::element_count;
use zarr_core::{Dialect, Json, Node, NodeKind, NodePath, Object, Result};

use crate::documents::filter;
use crate::edit::create::NewDataset;
use crate::handles::dataset::Dataset;
use crate::model::attribute;
use crate::model::name::{check_name, composed, full_name, is_hidden, is_virtual};
use crate::model::options::Profile;
use crate::model::schema::{Attribute, Filter, Group, Variable};
use crate::model::types::Type;
use crate::model::values::{Values, is_identical};

/// About how many bytes are held at once.
pub(crate) const BLOCK: u64 = 64 << 20;
/// How many bytes a string is taken to have.
pub(crate) const TEXT: u64 = 256;

/// A node that is no part of a copy: netCDF has no type or no name for it, the dataset does not list it, or its document is
/// broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The node, in the source's hierarchy.
    pub path: NodePath,
    /// Why it is no part of the copy.
    pub why: String,
}

/// What a copy is to define, and what it cannot keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The definitions of the copy.
    pub schema: Group,
    /// What is not kept, each with its place.
    pub lost: Vec<String>,
    /// Nodes that a netCDF dataset does not have. If the copy is plain Zarr, it can have them as the arrays and groups that
    /// they are.
    pub others: Vec<Other>,
    /// Bytes of elements in all.
    pub bytes: u64,
    /// Variables of which chunks are not stored, and need not be in the copy: they read as zeros there, too.
    pub(crate) sparse: HashSet<String>,
    /// Attributes that the copy has as the source's documents have them, whatever netCDF makes of them.
    pub(crate) verbatim: Vec<Verbatim>,
}

/// Attributes of a group or a variable, in the words of the source's document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verbatim {
    pub path: String,
    pub kind: NodeKind,
    pub attributes: Vec<(String, Json)>,
}

impl Dataset {
    /// What a copy of this dataset as `new` would be, and what it could not keep. Strings of variable length are looked
    /// through if they are to become strings of one width.
    ///
    /// # Errors
    /// What reading them meets.
    pub fn plan_copy(&self, new: &NewDataset) -> Result<Plan> {
        let root = self.schema();
        let mut planning = Planning {
            from: self,
            new,
            lost: Vec::new(),
            left: HashMap::new(),
            bytes: 0,
            sparse: HashSet::new(),
            verbatim: Vec::new(),
        };
        let schema = planning.group(&root, "/")?;
        if new.profile == Profile::Pure {
            let mut used = HashSet::new();
            used_dimensions(&root, &mut used);
            planning.unused(&used, &root, "/");
        }
        let others = planning.others(&schema)?;
        let Planning { lost, bytes, sparse, verbatim, .. } = planning;
        Ok(Plan { schema, lost, others, bytes, sparse, verbatim })
    }
}

impl Plan {
    /// Gives a variable of the copy other chunks, one length for each of its dimensions. In NCZarr none reaches beyond the
    /// end of a dimension that is not unlimited.
    pub fn set_chunks(&mut self, path: &str, chunks: Vec<u64>) {
        if let Some(variable) = variable_mut(&mut self.schema, path) {
            variable.storage.chunks = chunks;
            variable.storage.contiguous = false;
        }
    }

    /// Gives a variable of the copy other codecs, in place of all that its source has. In NCZarr of v2 they are those that
    /// netcdf-c has as filters, where zlib is in place of gzip.
    ///
    /// # Errors
    /// [`MetadataError::CannotRepresent`](zarr_core::MetadataError::CannotRepresent) for a codec that is none of these filters.
    pub fn set_codecs(&mut self, path: &str, codecs: &[CodecSpec], new: &NewDataset) -> Result<()> {
        let filters = filter::of_codecs(path, codecs, is_netcdf_c(new))?;
        // What was said of the source's codecs is true no more.
        let of_codecs = [format!("{path}: codec "), format!("{path}: the checksums of zstd")];
        self.lost.retain(|what| !of_codecs.iter().any(|start| what.starts_with(start)));
        if let Some(variable) = variable_mut(&mut self.schema, path) {
            variable.storage.filters = filters;
        }
        Ok(())
    }
}

/// The variable of a full name, in `group` or below.
fn variable_mut<'a>(group: &'a mut Group, path: &str) -> Option<&'a mut Variable> {
    match path.trim_start_matches('/').split_once('/') {
        Some((name, rest)) => {
            let below = group.groups.iter_mut().find(|below| below.name == name)?;
            variable_mut(below, rest)
        }
        None => {
            let name = path.trim_start_matches('/');
            group.variables.iter_mut().find(|variable| variable.name == name)
        }
    }
}

/// The full names of the dimensions that variables have, in `group` and below.
fn used_dimensions<'a>(group: &'a Group, used: &mut HashSet<&'a str>) {
    used.extend(group.variables.iter().flat_map(|it| &it.dimensions).map(String::as_str));
    group.groups.iter().for_each(|below| used_dimensions(below, used));
}

/// Whether the copy is for netCDF's own library.
pub(crate) fn is_netcdf_c(new: &NewDataset) -> bool {
    new.profile == Profile::Nczarr && new.dialect == Dialect::V2
}

/// Values of the type of the copy.
pub(crate) fn kept(values: Values, ty: Type) -> Values {
    match values {
        Values::Bool(list) if ty == Type::Ubyte => {
            Values::Ubyte(list.into_iter().map(u8::from).collect())
        }
        other => other,
    }
}

pub(crate) struct Planning<'a> {
    pub from: &'a Dataset,
    pub new: &'a NewDataset,
    pub lost: Vec<String>,
    /// Why nodes are no part of the copy, by their names in the dataset.
    pub left: HashMap<String, String>,
    bytes: u64,
    pub sparse: HashSet<String>,
    verbatim: Vec<Verbatim>,
}

impl Planning<'_> {
    fn group(&mut self, group: &Group, path: &str) -> Result<Group> {
        let mut copy = Group::new(group.name.as_str());
        let stored = match self.from.hierarchy().node(&self.from.node_path(path)?)? {
            Node::Group(node) => node.attributes().clone(),
            // An array that is taken for a group of one.
            Node::Array(_) => Object::new(),
        };
        copy.attributes = self.attributes(path, NodeKind::Group, &group.attributes, &stored);
        copy.dimensions = group.dimensions.clone();
        copy.dimensions.retain(|dimension| self.obstacle(&dimension.name).is_none());
        for dimension in &mut copy.dimensions {
            if dimension.unlimited && self.new.profile == Profile::Pure {
                let name = full_name(path, &dimension.name);
                self.lost.push(format!("{name}: plain Zarr cannot record that it is unlimited"));
            }
        }
        let mut taken = HashSet::new();
        let mut is_free = |planning: &mut Self, name: &str| {
            let why = match planning.obstacle(name) {
                None if taken.insert(composed(name).into_owned()) => None,
                None => Some("another name there is the same, its characters composed".to_owned()),
                why => why,
            };
            let is_free = why.is_none();
            why.into_iter().for_each(|why| planning.leave(&full_name(path, name), why));
            let composed = composed(name);
            if is_free && composed != name {
                let path = full_name(path, name);
                planning.lost.push(format!(
                    "{path}: its name becomes `{composed}`, its characters composed"
                ));
            }
            is_free
        };
        for variable in &group.variables {
            if is_free(self, &variable.name) {
                copy.variables.extend(self.variable(variable, &full_name(path, &variable.name))?);
            }
        }
        for below in &group.groups {
            if is_free(self, &below.name) {
                copy.groups.push(self.group(below, &full_name(path, &below.name))?);
            }
        }
        let names = copy.variables.iter().map(|variable| &variable.name);
        let groups = copy.groups.iter().map(|group| &group.name);
        if self.new.profile == Profile::Pure && !(names.is_sorted() && groups.is_sorted()) {
            self.lost.push(format!(
                "{path}: the order of its variables and groups: plain Zarr lists them by name"
            ));
        }
        Ok(copy)
    }

    /// Dimensions that no variable has are nowhere in plain Zarr.
    fn unused(&mut self, used: &HashSet<&str>, group: &Group, path: &str) {
        for dimension in &group.dimensions {
            let name = full_name(path, &dimension.name);
            if !used.contains(name.as_str()) {
                self.lost.push(format!(
                    "{name}: no variable has this dimension, and plain Zarr cannot record it"
                ));
            }
        }
        for below in &group.groups {
            self.unused(used, below, &full_name(path, &below.name));
        }
    }

    /// The attributes of the copy; `stored` are the node's, as its document has them.
    fn attributes(
        &mut self,
        path: &str,
        kind: NodeKind,
        attributes: &[Attribute],
        stored: &Object,
    ) -> Vec<Attribute> {
        let (mut kept, mut verbatim) = (Vec::new(), Vec::new());
        let plain = self.from.profile() == Profile::Pure;
        // Those that hold the model itself are in the plan in other words.
        let is_pure = self.new.profile == Profile::Pure;
        // Of a group they are no names of dimensions.
        let is_hidden =
            |name: &str| is_hidden(name) || kind == NodeKind::Group && name == "_ARRAY_DIMENSIONS";
        for (name, json) in stored.iter().filter(|_| plain) {
            if is_pure && (is_hidden(name) || name == "_NCProperties") {
                verbatim.push((name.to_owned(), json.clone()));
            } else if is_hidden(name) {
                self.lost
                    .push(format!("{path}: attribute `{name}`: netCDF has another use for it"));
            }
        }
        for attribute in attributes {
            let place = format!("{path}: attribute `{}`", attribute.name);
            let has_name = check_name(&attribute.name).is_ok() && !is_virtual(&attribute.name);
            if !has_name && self.new.profile != Profile::Pure {
                self.lost.push(format!("{place}: netCDF has no attributes of this name"));
                continue;
            }
            let old = stored.get(&attribute.name).filter(|_| attribute.name != "_FillValue");
            let said = match attribute.name.as_str() {
                "_FillValue" => attribute::fill_to_json(&attribute.value, self.new.dialect),
                _ => attribute::to_json(&attribute.value, self.new.dialect),
            };
            match said {
                Err(e) => {
                    self.lost.push(format!("{place}: {e}"));
                    continue;
                }
                Ok((json, _)) if let Some(old) = old.filter(|old| self.is_verbatim(old, &json)) => {
                    verbatim.push((attribute.name.clone(), old.clone()));
                }
                // A netCDF file says the type that its document does not: 0.1 of 32 bits, where that has more digits.
                Ok(_) if plain && old.is_some_and(|old| is_typed(old, &attribute.value)) => {}
                Ok((json, _))
                    if let Some(old) = old.filter(|old| plain && !is_same(old, &json)) =>
                {
                    self.lost.push(format!("{place}: {} becomes {}", old.brief(), json.brief()));
                }
                Ok((json, _))
                    if self.new.profile == Profile::Pure && attribute.name != "_FillValue" =>
                {
                    let seen = attribute::untyped(&json);
                    if seen.ty() != attribute.value.ty() {
                        let (ty, seen) = (attribute.value.ty(), seen.ty());
                        self.lost.push(format!(
                            "{place}: its type {ty} is read as {seen} in plain Zarr"
                        ));
                    }
                }
                Ok(_) => {}
            }
            kept.push(attribute.clone());
        }
        if !verbatim.is_empty() {
            self.verbatim.push(Verbatim { path: path.to_owned(), kind, attributes: verbatim });
        }
        kept
    }

    /// Whether the copy has an attribute in the words of the source's document, which netCDF's would change. From plain
    /// Zarr to plain Zarr all stay, bare `NaN` and `Infinity` among them, which zarr-python and xarray read as numbers. In NCZarr
    /// those stay in the same dialect, as netcdf-c reads them (docs/internals/design/documents.md).
    fn is_verbatim(&self, old: &Json, json: &Json) -> bool {
        let is_plain = [self.from.profile(), self.new.profile] == [Profile::Pure; 2];
        let is_same_dialect = self.from.dialect() == self.new.dialect;
        !is_same(old, json) && (is_plain || is_same_dialect && old.has_bare_floats())
    }

    fn variable(&mut self, variable: &Variable, path: &str) -> Result<Option<Variable>> {
        let mut copy = variable.clone();
        let obstacle = variable
            .dimensions
            .iter()
            .find_map(|name| self.obstacle(name.rsplit('/').next().unwrap_or_default()));
        if let Some(why) = obstacle {
            self.leave(path, format!("its dimension: {why}"));
            return Ok(None);
        }
        let is_netcdf_c = is_netcdf_c(self.new);
        match variable.ty {
            // netcdf-c opens no dataset that has them.
            Type::Bool if is_netcdf_c => {
                copy.ty = Type::Ubyte;
                self.lost.push(format!("{path}: bools become ubytes, 0 and 1"));
                // So xarray writes bools, and reads them again.
                if copy.attribute("dtype").is_none() {
                    copy.attributes.push(Attribute::new("dtype", "bool"));
                }
            }
            Type::Complex64 | Type::Complex128 if is_netcdf_c => {
                self.leave(path, "netcdf-c has no complex numbers");
                return Ok(None);
            }
            Type::Char if self.new.profile == Profile::Pure => {
                self.lost.push(format!("{path}: characters are strings of one byte in plain Zarr"));
            }
            _ => {}
        }
        let metadata = self.from.variable(path)?.array()?.metadata();
        let stored = &metadata.attributes;
        copy.attributes = self.attributes(path, NodeKind::Array, &copy.attributes, stored);
        copy.storage.filters = self.filters(path, variable);
        self.layout(path, &metadata);
        self.references(path, variable);
        self.missing_value(&mut copy, variable, path)?;
        if copy.ty == Type::String {
            self.texts(&mut copy, path)?;
            self.missing_text(&mut copy, path);
        }
        let dimensions = self.from.variable(path)?.dimensions()?;
        for (chunk, dimension) in copy.storage.chunks.iter_mut().zip(&dimensions) {
            let most = dimension.len.max(1);
            if self.new.profile == Profile::Nczarr && !dimension.unlimited && *chunk > most {
                let name = &dimension.name;
                let why = format!("chunks along `{name}` become {most} long, not {chunk}");
                self.lost.push(format!("{path}: {why}; netCDF has none beyond an end"));
                *chunk = most;
            }
        }
        let shape: Vec<u64> = dimensions.iter().map(|dimension| dimension.len).collect();
        let element = variable.ty.size().map_or(TEXT, |size| size as u64);
        let count = element_count(&shape).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(count.saturating_mul(element));
        Ok(Some(copy))
    }

    /// Names what netCDF cannot represent in the way in which elements are stored.
    fn layout(&mut self, path: &str, metadata: &ArrayMetadata) {
        let flat = metadata.clone().unsharded();
        let mut lose = |what: String| self.lost.push(format!("{path}: {what}"));
        if metadata.shards.is_some() || metadata.codecs != flat.codecs {
            lose("its chunks are not put together in shards".into());
        }
        if metadata.rank() > 0 && flat.chunk_shape().is_none() {
            lose("its chunks of several lengths become chunks of one".into());
        }
        if flat.codecs.iter().any(|codec| codec.name == "transpose") {
            lose("elements of a chunk are in C order".into());
        }
    }

    /// Names dimensions that plain Zarr cannot find in the groups above (N-092).
    fn references(&mut self, path: &str, variable: &Variable) {
        let group = path.rsplit_once('/').map_or("", |(group, _)| group);
        for name in &variable.dimensions {
            let of = name.rsplit_once('/').map_or("", |(of, _)| of);
            // An axis that the source gives no name.
            let is_anonymous =
                self.from.profile() == Profile::Pure && name.starts_with("/_Anonymous_Dim_");
            if self.new.profile == Profile::Pure && of != group && !is_anonymous {
                let why = "plain Zarr takes it for one of the variable's own group";
                self.lost.push(format!("{path}: dimension {name}: {why}"));
            }
        }
    }

    /// The filters of the copy. In NCZarr of v2 they are those that netcdf-c has, zlib in place of gzip; elsewhere
    /// all that the dialect has words for.
    fn filters(&mut self, path: &str, variable: &Variable) -> Vec<Filter> {
        let netcdf = *self.new == NewDataset::nczarr_v2();
        let same = self.from.dialect() == self.new.dialect;
        let mut kept = Vec::new();
        for filter in &variable.storage.filters {
            let Filter::Other(json) = filter else {
                kept.push(filter.clone());
                continue;
            };
            let spec = filter::codec(filter, variable.ty);
            let level = spec.configuration.get("level").and_then(Json::as_i64);
            let level = level.and_then(|level| i32::try_from(level).ok()).filter(|_| netcdf);
            let chain = [spec.clone()];
            let is_dropped = self.new.dialect == Dialect::V3
                && zarr_core::codec::dropped_in_v3(&chain).next().is_some();
            match (level, spec.name.as_str()) {
                // No other reader has it there; elements are the same without it.
                _ if is_dropped => {}
                (Some(level @ 0..=9), "gzip") => {
                    kept.push(Filter::Deflate { level: level as u8 });
                }
                (Some(level), "zstd") => {
                    kept.push(Filter::Zstd { level });
                    self.lost.push(format!("{path}: the checksums of zstd"));
                }
                _ if !netcdf && (same || self.is_spelled(&spec, variable)) => {
                    kept.push(filter.clone());
                }
                _ => {
                    let why = format!("codec {} is not a filter there", json.brief());
                    self.lost.push(format!("{path}: {why}"));
                }
            }
        }
        kept
    }

    /// Whether a codec on bytes has words in the copy's dialect.
    fn is_spelled(&self, spec: &CodecSpec, variable: &Variable) -> bool {
        let element = DataType::Raw { size: variable.ty.size().unwrap_or(1) };
        let context = ChunkContext::new(element, variable.storage.chunks.clone());
        match self.from.hierarchy().registry().build_codec(spec, &context) {
            Ok(Codec::BytesToBytes(codec)) => codec.to_metadata(self.new.dialect).is_some(),
            _ => false,
        }
    }
}

/// Whether a value is what a document has, read as a type that the document does not say.
fn is_typed(old: &Json, value: &Values) -> bool {
    attribute::untyped(old).ty() != value.ty()
        && attribute::typed(old, value.ty()).is_ok_and(|typed| is_identical(&typed, value))
}

/// Whether two values are one in JSON, numbers by what they are worth.
fn is_same(old: &Json, new: &Json) -> bool {
    match (old, new) {
        (Json::Array(old), Json::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| is_same(old, new))
        }
        (Json::Object(old), Json::Object(new)) => {
            old.len() == new.len()
                && old.iter().all(|(name, old)| new.get(name).is_some_and(|new| is_same(old, new)))
        }
        (Json::Number(old), Json::Number(new)) => {
            let is_whole = old.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
            if old == new {
                return true;
            }
            match (is_whole, whole(old)) {
                (true, None) => false,
                (_, Some(old)) => whole(new) == Some(old),
                (false, None) => old.parse::<f64>() == new.parse::<f64>(),
            }
        }
        _ => old == new,
    }
}

/// The integer that a number is, if 128 bits hold it: not what a float rounds it to.
fn whole(number: &str) -> Option<i128> {
    let exact = number.parse().ok();
    exact.or_else(|| {
        let float: f64 = number.parse().ok()?;
        (float.fract() == 0.0 && float.abs() < 1e38).then_some(float as i128)
    })
}
