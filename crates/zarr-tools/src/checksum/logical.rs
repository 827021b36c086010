//! Tells what an array is, whatever its dialect: the data type, the axes, the missing value and the attributes that
//! every dialect's readers see.

use zarr_core::data_type::{DataType, Endian, FillValue, Scalar, ScalarValue};
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{Array, Dialect, Json, Object, missing_value};

use super::canonical_json;

/// How the bytes of an element are made of what a store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elements {
    /// Little-endian bytes, all of one size.
    Fixed,
    /// Bytes after their length.
    Variable,
    /// As variable ones, in canonical JSON.
    Json,
    /// Bytes of one size that stand for a text of any: NULs at their end are padding (NCZarr in v2).
    PaddedBytes,
    /// The same in UTF-32.
    PaddedUtf32,
}

/// An array as every dialect's readers see it.
#[derive(Clone, Debug)]
pub(crate) struct Logical {
    pub shape: Vec<u64>,
    /// The data type in its canonical form.
    pub data_type: Json,
    /// The type of an element, as it is read.
    pub stored_type: DataType,
    pub elements: Elements,
    /// The names of the axes; `None` if no axis has one.
    pub names: Option<Vec<Option<String>>>,
    /// The value that readers take for missing, as hexadecimal bytes.
    pub missing: Option<String>,
    pub attributes: Object,
}

impl Logical {
    /// What of an array counts. `is_level` says that it is a level of an image, whose fill value is an element like any other.
    pub fn of(array: &Array, is_level: bool) -> Logical {
        let metadata = array.metadata();
        let dialect = array.hierarchy().dialect();
        let netcdf = NetCdf::of(&metadata);
        let is_scalar = metadata.shape == [1]
            && (netcdf.as_ref().is_some_and(|n| n.is_scalar) || is_scalar_of_netcdf(&metadata));
        let shape = if is_scalar { Vec::new() } else { metadata.shape.clone() };
        let stored_type = match &metadata.data_type {
            // It is read as that.
            unknown @ DataType::Unknown { .. } => {
                unknown.resolved().unwrap_or_else(|| unknown.clone())
            }
            known => known.clone(),
        };
        let (data_type, elements) = match netcdf.as_ref().and_then(|n| n.text(&stored_type)) {
            Some(text) => text,
            None => (type_json(&stored_type), plain_elements(&stored_type)),
        };
        let (declared, is_from_attribute) = names(&metadata);
        let referred = netcdf.as_ref().and_then(|n| n.names.clone());
        let declared = referred.filter(|names| names.len() == shape.len()).or(declared);
        let names = declared.map(|names| without_anonymous(names, &shape));
        let names = names.filter(|names| names.iter().any(Option::is_some));
        let is_text_of_netcdf = netcdf.is_some() && data_type != type_json(&stored_type);
        let missing = if is_text_of_netcdf {
            None
        } else {
            let masks_fill =
                !is_level && (missing_value::is_fill_value(dialect) || is_from_attribute);
            missing(&metadata, &stored_type, masks_fill, names.as_deref(), &shape)
        };
        let mut attributes = node_attributes(&metadata.attributes);
        // What says nothing but the missing value is compared as that.
        let said = attributes.get(missing_value::FILL_VALUE);
        let said = said.and_then(|json| missing_value::from_json(&metadata.data_type, json));
        let is_missing = said.is_some_and(|said| {
            let said_hex = missing_hex(&stored_type, &said);
            said.as_bytes() == metadata.fill_bytes() || said_hex == missing
        });
        if is_missing || netcdf.is_some() {
            attributes.remove(missing_value::FILL_VALUE);
        }
        let has_names = metadata.dimension_names.is_some() && dialect != Dialect::V3
            || repeats_names(&metadata, &attributes);
        if is_from_attribute || has_names || netcdf.is_some() || is_scalar {
            attributes.remove(ARRAY_DIMENSIONS);
        }
        Logical { shape, data_type, stored_type, elements, names, missing, attributes }
    }

    /// Whether elements are texts of one size, and are not taken for texts of any.
    #[cfg(feature = "nczarr")]
    pub fn has_fixed_text(&self) -> bool {
        let is_text = match self.stored_type {
            DataType::FixedBytes { len } | DataType::FixedUtf32 { len } => len > 1,
            _ => false,
        };
        is_text && self.elements == Elements::Fixed
    }

    /// The same array with elements that are texts of any size, so that they can be compared with those of another size, in
    /// UTF-32 or of variable length; `None` if elements are no texts.
    pub fn with_texts(&self) -> Option<Logical> {
        let elements = match self.stored_type {
            DataType::FixedBytes { .. } => Elements::PaddedBytes,
            DataType::FixedUtf32 { .. } => Elements::PaddedUtf32,
            DataType::String => Elements::Variable,
            _ => return None,
        };
        Some(Logical { data_type: type_json(&DataType::String), elements, ..self.clone() })
    }

    /// The canonical form of all but the elements.
    pub fn header(&self) -> String {
        let names = self.names.as_ref().map_or(Json::Null, |names| {
            names.iter().map(|name| name.as_deref().map_or(Json::Null, Json::from)).collect()
        });
        let header = Object::new()
            .with("attributes", self.attributes.clone())
            .with("data_type", self.data_type.clone())
            .with("dimension_names", names)
            .with("missing_value", self.missing.as_deref().map_or(Json::Null, Json::from))
            .with("shape", Json::from(&self.shape[..]));
        canonical_json::text_of(&header.into())
    }

    /// The missing value for people: a number, or its bytes.
    pub fn missing_text(&self) -> Option<String> {
        let hex = self.missing.as_deref()?;
        let bytes: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map_while(|at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok())
            .collect();
        match self.stored_type.scalar() {
            Some(scalar) if bytes.len() == scalar.size() => {
                Some(scalar.to_text(&scalar.to_native(&bytes, Endian::Little)))
            }
            _ => Some(String::from_utf8(bytes).unwrap_or_else(|_| format!("0x{hex}"))),
        }
    }

    /// How many bytes an element counts for where blocks and pieces are measured.
    pub fn element_size(&self) -> u64 {
        match self.elements {
            Elements::Fixed => self.stored_type.repr().map_or(1, |repr| repr.size() as u64),
            _ => VARIABLE,
        }
    }

    /// How many bytes the elements count for in all.
    pub fn size(&self) -> u64 {
        let count = zarr_core::region::element_count(&self.shape).unwrap_or(u64::MAX);
        count.saturating_mul(self.element_size())
    }
}

/// How many bytes an element of variable length counts for.
const VARIABLE: u64 = 64;

const ARRAY_DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

/// Whether `_ARRAY_DIMENSIONS` says what the names in the array's own metadata say.
fn repeats_names(metadata: &ArrayMetadata, attributes: &Object) -> bool {
    let attribute = attributes.get(ARRAY_DIMENSIONS).and_then(Json::as_array);
    let named = metadata.dimension_names.as_deref().zip(attribute);
    named.is_some_and(|(names, attribute)| {
        names.iter().map(Option::as_deref).eq(attribute.iter().map(Json::as_str))
    })
}

/// The attributes of a node without those that only netCDF's library writes for itself.
pub(crate) fn node_attributes(attributes: &Object) -> Object {
    let kept = attributes.iter().filter(|(name, _)| {
        let is_internal =
            *name == "_NCProperties" || name.starts_with("_nczarr") || name.starts_with("_NCZARR");
        !is_internal
    });
    kept.map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

fn plain_elements(data_type: &DataType) -> Elements {
    match data_type {
        DataType::Json => Elements::Json,
        other if other.is_variable() => Elements::Variable,
        _ => Elements::Fixed,
    }
}

/// Whether the attribute for the names of axes says that an array of one element has none.
fn is_scalar_of_netcdf(metadata: &ArrayMetadata) -> bool {
    let attribute = metadata.attributes.get(ARRAY_DIMENSIONS).and_then(Json::as_array);
    let names = metadata.dimension_names.as_deref();
    attribute.is_some_and(<[Json]>::is_empty)
        || names.is_some_and(|names| names == [Some("_scalar_".to_owned())])
}

/// A data type as JSON, one form for all dialects: a name, or a list that begins with one.
fn type_json(data_type: &DataType) -> Json {
    match data_type {
        DataType::Time(time) => {
            let kind = match time.kind {
                zarr_core::data_type::TimeKind::Datetime => "datetime64",
                zarr_core::data_type::TimeKind::Timedelta => "timedelta64",
            };
            named_list(kind, vec![time.unit.name().into(), u64::from(time.scale_factor).into()])
        }
        DataType::FixedBytes { len } => named_list("bytes", vec![(*len as u64).into()]),
        DataType::FixedUtf32 { len } => named_list("utf32", vec![(*len as u64).into()]),
        DataType::Raw { size } => named_list("raw", vec![(*size as u64).into()]),
        DataType::String => "string".into(),
        DataType::Bytes => "bytes".into(),
        DataType::Json => "json".into(),
        DataType::List(items) => named_list("list", vec![type_json(items)]),
        DataType::Record(record) => {
            let fields = record.fields().iter().map(|field| {
                let shape = Json::from(field.shape());
                Json::Array(vec![field.name().into(), type_json(field.data_type()), shape])
            });
            named_list("record", vec![fields.collect()])
        }
        DataType::Optional(optional) => named_list("optional", vec![type_json(optional.inner())]),
        DataType::Extension(extension) => {
            match extension.to_metadata(Dialect::V3, Endian::Little) {
                Some(metadata) => named_list("extension", vec![metadata]),
                None => named_list("extension", vec![extension.to_string().into()]),
            }
        }
        // The names of final v3: `int32`, `int4`, `bfloat16`, `complex_float8_e5m2`.
        named => named.to_string().into(),
    }
}

/// A list in JSON that begins with the name of a data type.
fn named_list(name: &str, more: Vec<Json>) -> Json {
    let mut items = vec![Json::from(name)];
    items.extend(more);
    Json::Array(items)
}

/// The names of the axes, and whether they come from the attribute that v2 and the drafts have for them.
fn names(metadata: &ArrayMetadata) -> (Option<Vec<Option<String>>>, bool) {
    if metadata.dimension_names.is_some() {
        return (metadata.dimension_names.clone(), false);
    }
    let list = metadata.attributes.get(ARRAY_DIMENSIONS).and_then(Json::as_array);
    let names: Option<Vec<_>> =
        list.filter(|list| list.len() == metadata.rank()).and_then(|list| {
            list.iter()
                .map(|json| match json {
                    Json::String(name) => Some(Some(name.clone())),
                    Json::Null => Some(None),
                    _ => None,
                })
                .collect()
        });
    let is_there = names.is_some();
    (names, is_there)
}

/// The names, without those that NCZarr gives to axes that have none. A scalar has no axes.
fn without_anonymous(names: Vec<Option<String>>, shape: &[u64]) -> Vec<Option<String>> {
    names
        .into_iter()
        .zip(shape)
        .map(|(name, len)| {
            let anonymous = format!("_Anonymous_Dim_{len}");
            name.filter(|name| *name != anonymous)
        })
        .collect()
}

/// The missing value (docs/internals/design/missing-data.md), if the type can have one in every dialect.
fn missing(
    metadata: &ArrayMetadata,
    data_type: &DataType,
    masks_fill: bool,
    names: Option<&[Option<String>]>,
    shape: &[u64],
) -> Option<String> {
    // Of a scalar no document of final v3 tells whether readers take it for a variable.
    if shape.is_empty() {
        return None;
    }
    let is_named = names.is_some_and(|names| names.iter().all(Option::is_some));
    let of_attribute = || {
        let json = metadata.attributes.get(missing_value::FILL_VALUE)?;
        missing_value::from_json(&metadata.data_type, json)
    };
    let value = match &metadata.fill_value {
        Some(fill) if is_named && masks_fill => Some(fill.clone()),
        _ if is_named => of_attribute(),
        // NCZarr repeats the fill value there, which readers of arrays without names do not mask.
        _ => of_attribute().filter(|value| value.as_bytes() != metadata.fill_bytes()),
    }?;
    missing_hex(data_type, &value)
}

/// A missing value as hexadecimal little-endian bytes. All NaNs are one; a text has no NULs at its end, and an empty one is
/// none.
fn missing_hex(data_type: &DataType, value: &FillValue) -> Option<String> {
    let bytes = value.as_bytes();
    let bytes = match data_type {
        DataType::Core(core) if is_usual_fill(core.scalar(), bytes) => return None,
        DataType::Core(core) => match core.scalar() {
            Scalar::Int(_) | Scalar::Uint(_) => little_endian(bytes, bytes.len()),
            Scalar::Float(format) | Scalar::Complex(format) => {
                let nan = format.from_f64(f64::NAN, zarr_core::data_type::Rounding::NearestEven)?;
                let scalar = Scalar::Float(format);
                bytes
                    .chunks_exact(format.size())
                    .flat_map(|part| {
                        if scalar.load(part).is_nan() {
                            nan.to_le_bytes()[..format.size()].to_vec()
                        } else {
                            little_endian(part, format.size())
                        }
                    })
                    .collect()
            }
            _ => return None,
        },
        DataType::FixedUtf32 { .. } => without_nuls(&little_endian(bytes, 4))?,
        DataType::FixedBytes { .. } | DataType::String | DataType::Bytes => without_nuls(bytes)?,
        _ => return None,
    };
    Some(hex(&bytes))
}

/// Whether a value is what netCDF fills variables with that say nothing of it: its documents say it in v2, and not in v3.
fn is_usual_fill(scalar: Scalar, bytes: &[u8]) -> bool {
    let usual: i128 = match scalar {
        Scalar::Int(8) => -127,
        Scalar::Int(16) => -32767,
        Scalar::Int(32) => -2_147_483_647,
        Scalar::Int(64) => -9_223_372_036_854_775_806,
        Scalar::Uint(bits @ (8 | 16 | 32)) => (1 << bits) - 1,
        Scalar::Uint(64) => 18_446_744_073_709_551_614,
        // Some writers cut its digits.
        Scalar::Float(format) => {
            let ScalarValue::Float(value) = scalar.load(bytes) else { return false };
            return format.size() >= 4 && value as f32 == 9.969_21e36;
        }
        _ => return false,
    };
    scalar.load(bytes) == ScalarValue::Integer(usual)
}

fn without_nuls(bytes: &[u8]) -> Option<Vec<u8>> {
    bytes.iter().rposition(|&byte| byte != 0).map(|last| bytes[..=last].to_vec())
}

/// Native elements of `unit` bytes, little-endian.
fn little_endian(bytes: &[u8], unit: usize) -> Vec<u8> {
    if cfg!(target_endian = "little") || unit < 2 {
        return bytes.to_vec();
    }
    bytes.chunks(unit).flat_map(|unit| unit.iter().rev().copied()).collect()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What NCZarr says of an array besides what Zarr does.
struct NetCdf {
    /// A scalar is stored as an array of one element in v2.
    is_scalar: bool,
    is_char: bool,
    /// The names of its dimensions, without the groups in which they are.
    names: Option<Vec<Option<String>>>,
}

impl NetCdf {
    /// What a document of an array of NCZarr says; `None` for any other array. It is an attribute since netcdf-c 4.9.1, a
    /// member of the document before.
    fn of(metadata: &ArrayMetadata) -> Option<NetCdf> {
        let said =
            nczarr_array(&metadata.attributes).or_else(|| nczarr_array(&metadata.unknown))?;
        let text = |name: &str| said.get(name).and_then(Json::as_str);
        let references = ["dimension_references", "dimrefs"];
        let references = references.iter().find_map(|name| said.get(name)?.as_array());
        let is_scalar = said.get("scalar").and_then(Json::as_u64) == Some(1)
            || text("storage") == Some("scalar")
            || references.is_some_and(<[Json]>::is_empty);
        let names = references.map(|references| {
            references
                .iter()
                .map(|reference| reference.as_str()?.rsplit('/').next().map(str::to_owned))
                .collect()
        });
        Some(NetCdf { is_scalar, is_char: text("nczarr_type") == Some("char"), names })
    }

    /// The type that netCDF sees, where that is a character or a text: NCZarr stores texts in elements of one size.
    fn text(&self, stored: &DataType) -> Option<(Json, Elements)> {
        match stored {
            DataType::Core(zarr_core::CoreType::Uint8) if self.is_char => {
                Some((type_json(&DataType::FixedBytes { len: 1 }), Elements::Fixed))
            }
            DataType::FixedBytes { len } if *len > 1 => {
                Some((type_json(&DataType::String), Elements::PaddedBytes))
            }
            DataType::FixedUtf32 { len } if *len > 1 => {
                Some((type_json(&DataType::String), Elements::PaddedUtf32))
            }
            _ => None,
        }
    }
}

/// What NCZarr says of an array, in its attributes or its document.
fn nczarr_array(object: &Object) -> Option<Object> {
    let names = ["_nczarr_array", "_NCZARR_ARRAY"];
    names.iter().find_map(|name| object.get(name)?.as_object().cloned())
}
