//! Creates the array of a variable (N-003, N-005, N-008, N-015, N-020 … N-022, N-060).

use zarr_core::data_type::{CoreType, DataType, Endian, base64_encode};
use zarr_core::{
    AccessError, Array, Cause, Dialect, Json, MetadataError, Object, Result, Unsupported,
};

use crate::documents::filter;
use crate::documents::load::Snapshot;
use crate::documents::node_attributes::NodeAttributes;
use crate::documents::node_documents::ArrayDocument;
use crate::documents::text_type::{CharType, TextType};
use crate::edit::set_attributes::check_defined_attribute;
use crate::handles::dataset::Dataset;
use crate::model::attribute;
use crate::model::chunks;
use crate::model::options::Profile;
use crate::model::schema::{self, Dimension, Filter};
use crate::model::types::Type;
use crate::model::values::{Values, is_identical};

/// The levels of the usual filters: netCDF's programs take 4 or 5 for zlib, and 3 is zstd's own default.
const DEFAULT_DEFLATE_LEVEL: u8 = 4;
const DEFAULT_ZSTD_LEVEL: u8 = 3;
/// The width of strings if nothing says one, in bytes (N-060).
const DEFAULT_WIDTH: usize = 128;
/// The attributes that say it, of a variable and of the root.
const WIDTH: &str = "_nczarr_maxstrlen";
const DEFAULT_WIDTH_NAME: &str = "_nczarr_default_maxstrlen";
/// The largest width, in bytes.
const MAX_WIDTH: i128 = 1 << 24;

/// Where a variable is created, and its dimensions.
pub(crate) struct VariableContext<'a> {
    pub dataset: &'a Dataset,
    pub snapshot: &'a Snapshot,
    pub dimensions: &'a [Dimension],
}

impl VariableContext<'_> {
    fn dialect(&self) -> Dialect {
        self.snapshot.hierarchy.dialect()
    }

    fn nczarr(&self) -> bool {
        self.snapshot.profile == Profile::Nczarr
    }

    /// Creates the array of a variable; returns it, and how its elements are stored.
    pub fn create_variable(
        &self,
        path: &str,
        variable: &mut schema::Variable,
    ) -> Result<(Array, schema::Storage)> {
        let ty = variable.ty;
        if !ty.is_atomic() && self.nczarr() && self.dialect() == Dialect::V2 {
            let hint =
                "netcdf-c cannot open a dataset that has it; use NCZarr in v3, or plain Zarr";
            let hint = hint.into();
            let unsupported = Unsupported { what: "type", name: ty.name().into(), hint };
            return Err(MetadataError::from(unsupported).into());
        }
        let names = variable.attributes.iter().map(|attribute| &attribute.name);
        names.into_iter().try_for_each(|name| check_defined_attribute(name))?;
        let mut fill = self.fill(variable)?;
        match &variable.storage.unwritten {
            Some(value) if self.dialect() == Dialect::V3 => {
                fill = self.fill_json(variable, value)?
            }
            _ => variable.storage.unwritten = None,
        }
        let data_type = self.data_type(variable)?;
        let chunks = self.chunks(variable, &data_type)?;
        let shards = self.shards(variable, &data_type, &chunks)?;
        // In v2 netcdf-c needs an axis even of a scalar (N-020 … N-022).
        let is_scalar = variable.dimensions.is_empty();
        if variable.storage.default_filters && variable.storage.filters.is_empty() {
            variable.storage.filters = self.default_filters(variable);
        }
        variable.storage.default_filters = false;
        let axis = is_scalar && self.nczarr() && self.dialect() == Dialect::V2;
        if axis {
            // netcdf-c opens no dataset that has a filter on a scalar (N-023).
            variable.storage.filters.clear();
        }
        let shape: Vec<u64> = self.dimensions.iter().map(|dimension| dimension.len).collect();
        let (shape, stored) = if axis { (vec![1], vec![1]) } else { (shape, chunks.clone()) };
        let big = variable.storage.endian == Some(Endian::Big);
        // Readers of v2 mask the fill value; no bool is missing, and no complex number unless an attribute says one
        // (docs/internals/design/missing-data.md).
        let is_missing =
            ty.is_atomic() || ty != Type::Bool && variable.attribute("_FillValue").is_some();
        if !is_missing && self.dialect() == Dialect::V2 {
            variable.storage.no_fill = true;
        }
        let mut builder = self
            .snapshot
            .hierarchy
            .create_array(&self.dataset.node_path(path)?)
            .shape(&shape)
            .chunks(&stored)
            .data_type(data_type)
            .big_endian(big)
            .attributes(self.attributes(variable)?);
        builder = if variable.storage.no_fill && self.dialect() != Dialect::V3 {
            builder.undefined_fill()
        } else {
            builder.fill_value(fill)
        };
        if self.dialect() == Dialect::V3 {
            builder = builder
                .dimension_names(self.dimensions.iter().map(|dimension| dimension.name.clone()));
        }
        if self.dialect() == Dialect::V2 {
            builder = builder.separator('.');
        }
        if let Some(shards) = shards {
            builder = builder.shards(&shards);
        }
        for filter in &variable.storage.filters {
            builder = builder.codec(filter::codec(filter, ty));
        }
        let array = builder.create().map_err(|e| match e.cause() {
            Cause::Access(AccessError::Exists(_)) => e.with_hint(
                "there is an array that the dataset does not list; erase it, or choose another name",
            ),
            _ => e,
        })?;
        let has_order = array.metadata().data_type.has_byte_order();
        let endian = has_order.then_some(if big { Endian::Big } else { Endian::Little });
        let storage = schema::Storage {
            chunks,
            endian,
            contiguous: false,
            shard_bytes: None,
            ..variable.storage.clone()
        };
        Ok((array, storage))
    }

    /// The fill value, unwritten as JSON; the declared one becomes one value of the variable's type (N-054).
    pub fn fill(&self, variable: &mut schema::Variable) -> Result<Json, AccessError> {
        let ty = variable.ty;
        let declared = variable.attributes.iter_mut().find(|a| a.name == "_FillValue");
        let value = match declared {
            None => ty.default_fill(),
            Some(attribute) => {
                if attribute.value.ty() != ty {
                    let (json, _) = attribute::to_json(&attribute.value, Dialect::V3)?;
                    let converted = match ty {
                        Type::Char | Type::String => {
                            Err(format!("{} is not of type {ty}", json.brief()))
                        }
                        _ => attribute::typed(&json, ty),
                    };
                    attribute.value = converted
                        .map_err(|why| AccessError::Argument(format!("`_FillValue`: {why}")))?;
                }
                if attribute.value.len() != 1 {
                    let found = attribute.value.len();
                    let why = format!("`_FillValue` is one value of type {ty}, not {found}");
                    return Err(AccessError::Argument(why));
                }
                attribute.value.clone()
            }
        };
        self.fill_json(variable, &value)
    }

    /// One value of the variable's type, as an array's fill value.
    fn fill_json(&self, variable: &schema::Variable, value: &Values) -> Result<Json, AccessError> {
        match value {
            Values::Char(bytes) if self.dialect() == Dialect::V3 && self.nczarr() => {
                Ok(u64::from(bytes[0]).into())
            }
            Values::Char(bytes) => match bytes[0] {
                0 => Ok("".into()),
                byte if !self.nczarr() => Ok(base64_encode(&[byte]).into()),
                byte if byte.is_ascii() => Ok(char::from(byte).to_string().into()),
                byte => {
                    let why = format!("`_FillValue`: byte {byte:#x} is not text");
                    Err(AccessError::Argument(why))
                }
            },
            Values::String(list) => match self.own_text(variable) {
                Some(text) => Ok(text.fill.clone()),
                None if self.dialect() == Dialect::V2
                    && !self.nczarr()
                    && self.has_width(variable) =>
                {
                    Ok(base64_encode(list[0].as_bytes()).into())
                }
                None => Ok(attribute::to_json(value, Dialect::V3)?.0),
            },
            Values::Bool(list) => Ok(list[0].into()),
            Values::Complex64(list) => {
                Ok(attribute::to_json(&list[0].to_vec().into(), Dialect::V3)?.0)
            }
            Values::Complex128(list) => {
                Ok(attribute::to_json(&list[0].to_vec().into(), Dialect::V3)?.0)
            }
            _ => Ok(attribute::to_json(value, Dialect::V3)?.0),
        }
    }

    /// Whether the fill value is among the attributes, too: not where xarray refuses it, of bytes in v3 and of complex
    /// numbers in v2.
    pub fn tells_fill(&self, variable: &schema::Variable) -> bool {
        match variable.ty {
            Type::Char => self.dialect() != Dialect::V3 || self.nczarr(),
            Type::Complex64 | Type::Complex128 => self.dialect() == Dialect::V3,
            _ => true,
        }
    }

    pub fn data_type(&self, variable: &schema::Variable) -> Result<DataType, AccessError> {
        Ok(match (variable.ty, variable.ty.core()) {
            (_, Some(core)) => core.into(),
            (Type::Char, _) => match self.dialect() {
                Dialect::V3 if self.nczarr() => CoreType::Uint8.into(),
                Dialect::V2 if self.nczarr() => DataType::extension(CharType),
                _ => DataType::FixedBytes { len: 1 },
            },
            _ => match self.own_text(variable) {
                Some(text) => text.data_type.clone(),
                None if self.has_width(variable) => self.texts(self.width(variable)?),
                None => DataType::String,
            },
        })
    }

    /// What strings of one width are to be, where the profile can have another type than its own.
    fn own_text<'v>(&self, variable: &'v schema::Variable) -> Option<&'v schema::FixedText> {
        let is_fixed = self.has_width(variable) && self.nczarr();
        variable.storage.text.as_ref().filter(|_| !is_fixed)
    }

    /// Whether strings are of a fixed width: in NCZarr of v2, in plain v2 where a width is given, and in v3 if asked.
    fn has_width(&self, variable: &schema::Variable) -> bool {
        match self.dialect() {
            Dialect::V2 => {
                self.nczarr()
                    || variable.attribute(WIDTH).is_some()
                    || self.snapshot.root.attribute(DEFAULT_WIDTH_NAME).is_some()
            }
            Dialect::V3 => self.dataset.inner.options.fixed_strings,
            _ => false,
        }
    }

    /// Strings of `width` bytes. Plain Zarr of v2 needs their fill value in base64 (N-064).
    pub fn texts(&self, width: usize) -> DataType {
        match self.dialect() {
            Dialect::V2 if !self.nczarr() => DataType::FixedBytes { len: width },
            _ => DataType::extension(TextType { width }),
        }
    }

    /// How many bytes strings have (N-060).
    pub fn width(&self, variable: &schema::Variable) -> Result<usize, AccessError> {
        let own = variable.attribute(WIDTH);
        let Some(given) = own.or(self.snapshot.root.attribute(DEFAULT_WIDTH_NAME)) else {
            return Ok(DEFAULT_WIDTH);
        };
        let (json, _) = attribute::to_json(given, Dialect::V3)?;
        let width = json.as_number().and_then(|text| text.parse::<i128>().ok());
        let width = width.filter(|width| (1..=MAX_WIDTH).contains(width));
        width.and_then(|width| usize::try_from(width).ok()).ok_or_else(|| {
            let why =
                format!("invalid string width {}: expected 1 to {MAX_WIDTH} bytes", json.brief());
            AccessError::Argument(why)
        })
    }

    /// The usual filters of a variable: none of a scalar, which is one element.
    fn default_filters(&self, variable: &schema::Variable) -> Vec<Filter> {
        let ty = variable.ty;
        let usual = match self.dialect() {
            _ if variable.dimensions.is_empty() => Vec::new(),
            // Texts and single bytes have no bytes of equal weight.
            _ if self.nczarr() && ty.size().is_some_and(|size| size > 1) => {
                vec![Filter::Shuffle, Filter::Deflate { level: DEFAULT_DEFLATE_LEVEL }]
            }
            _ if self.nczarr() => vec![Filter::Deflate { level: DEFAULT_DEFLATE_LEVEL }],
            Dialect::V2 => vec![Filter::Blosc {
                compressor: "zstd".to_owned(),
                level: DEFAULT_ZSTD_LEVEL,
                shuffle: 1,
                block_size: 0,
            }],
            _ => vec![Filter::Zstd { level: DEFAULT_ZSTD_LEVEL.into() }],
        };
        let registry = self.snapshot.hierarchy.registry();
        let is_known = |filter: &Filter| registry.knows_codec(&filter::codec(filter, ty));
        if usual.iter().all(is_known) { usual } else { Vec::new() }
    }

    fn chunks(
        &self,
        variable: &schema::Variable,
        data_type: &DataType,
    ) -> Result<Vec<u64>, AccessError> {
        let given = &variable.storage.chunks;
        if variable.storage.contiguous && given.is_empty() {
            if let Some(grows) = self.dimensions.iter().find(|dimension| dimension.unlimited) {
                let name = &grows.name;
                let why = format!("contiguous storage along `{name}`, which is unlimited");
                return Err(AccessError::Argument(why));
            }
            return Ok(self.dimensions.iter().map(|dimension| dimension.len.max(1)).collect());
        }
        if given.is_empty() {
            let element = data_type.repr().map_or(1, |repr| repr.size() as u64);
            return Ok(chunks::default(self.dimensions, element));
        }
        if given.len() != self.dimensions.len() {
            let (given, expected) = (given.len(), self.dimensions.len());
            let why = format!("{given} chunk lengths for {expected} dimensions");
            return Err(AccessError::Argument(why));
        }
        for (&length, dimension) in given.iter().zip(self.dimensions) {
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
        Ok(given.clone())
    }

    /// The lengths of shards, if they are asked for.
    fn shards(
        &self,
        variable: &schema::Variable,
        data_type: &DataType,
        chunks: &[u64],
    ) -> Result<Option<Vec<u64>>, AccessError> {
        let Some(bytes) = variable.storage.shard_bytes else { return Ok(None) };
        if self.dialect() != Dialect::V3 {
            let why = "only final v3 has shards; store chunks by themselves, or choose v3";
            return Err(AccessError::Argument(why.into()));
        }
        let element = data_type.repr().map_or(1, |repr| repr.size() as u64);
        Ok(chunks::shard(self.dimensions, chunks, element, bytes))
    }

    /// The array's attributes, the model's own behind the user's (N-020 … N-022, N-033, N-036).
    fn attributes(&self, variable: &schema::Variable) -> Result<Object, AccessError> {
        let (dialect, nczarr) = (self.dialect(), self.nczarr());
        let mut own = Object::new();
        let is_scalar = variable.dimensions.is_empty();
        if self.dataset.inner.options.xarray && dialect != Dialect::V3 {
            let names: Json = if is_scalar && nczarr {
                vec![Json::from("_scalar_")].into()
            } else {
                self.dimensions.iter().map(|d| Json::from(d.name.as_str())).collect()
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
        let mut attributes = variable.attributes.clone();
        attributes.retain(|attribute| attribute.name != "_FillValue" || self.tells_fill(variable));
        let mut object =
            NodeAttributes::new(&attributes, own, dialect)?.into_object(dialect, nczarr);
        let default = variable.ty.default_fill();
        let unwritten = variable.storage.unwritten.as_ref();
        if nczarr
            && dialect == Dialect::V3
            && variable.attribute("_FillValue").is_none()
            && unwritten.is_some_and(|unwritten| is_identical(unwritten, &default))
        {
            // Without a note of its type it is only xarray's.
            object.insert("_FillValue", attribute::fill_to_json(&default, dialect)?.0);
        }
        Ok(object)
    }
}
