//! Makes documents of final v3 of the variables of a netCDF-3 file, and tells where their chunks lie.

use zarr_core::data_type::{CoreType, DataType, FillValue};
use zarr_core::missing_value::{self, FILL_VALUE};
use zarr_core::store::Bytes;
use zarr_core::{Json, Object};

use super::header::{Attribute, Dimension, Header, Type, Variable};

/// The bytes of a chunk, of variables that are stored in one piece.
const MAX_CHUNK: u64 = 64 << 20;

/// The most lengths of chunks that are tried.
const MAX_TRIED: usize = 10_000;

/// Where the chunks of an array lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub shape: Vec<u64>,
    /// Of the first chunk; a chunk covers all of the axes behind the divided one, and one element of those before.
    pub chunks: Vec<u64>,
    /// The axis that is divided into chunks.
    axis: usize,
    begin: u64,
    /// From one index of the first axis to the next, where that is the record dimension.
    record: Option<u64>,
    /// Bytes of one index of the divided axis.
    row: u64,
}

/// Where the chunks of a variable lie; `None` if it reaches beyond 2^64 bytes.
pub(super) fn layout(header: &Header, variable: &Variable, records: u64) -> Option<Layout> {
    let (lengths, size) = header.extent(variable)?;
    let begin = variable.begin;
    if !variable.is_record {
        begin.checked_add(size)?;
        return Some(Layout::contiguous(begin, lengths, variable.data_type.size()));
    }
    let record = header.record_size()?;
    begin.checked_add(record.checked_mul(records)?)?.checked_add(size)?;
    let shape: Vec<u64> = [records].into_iter().chain(lengths.iter().copied()).collect();
    if record == size {
        // It is alone: its records follow each other.
        return Some(Layout::contiguous(begin, shape, variable.data_type.size()));
    }
    let chunks = [1].into_iter().chain(lengths).collect();
    Some(Layout { shape, chunks, axis: 0, begin, record: Some(record), row: size })
}

impl Layout {
    /// Values in one piece: one chunk, or chunks of at most 64 MiB.
    fn contiguous(begin: u64, shape: Vec<u64>, element: u64) -> Layout {
        // Bytes of an index of each axis. The product of all is known to be countable.
        let mut rows = vec![element; shape.len()];
        for axis in (1..shape.len()).rev() {
            rows[axis - 1] = rows[axis].saturating_mul(shape[axis]);
        }
        let mut chunks: Vec<u64> = shape.iter().map(|length| (*length).max(1)).collect();
        let mut divided = 0;
        for (axis, row) in rows.iter().enumerate() {
            divided = axis;
            let in_chunk = MAX_CHUNK / row;
            if in_chunk >= chunks[axis] {
                break;
            }
            if in_chunk > 0 {
                // A length that divides the axis, if one near by does: then all chunks are equal.
                let mut near = (in_chunk / 2 + 1..=in_chunk).rev().take(MAX_TRIED);
                let equal = near.find(|length| shape[axis].is_multiple_of(*length));
                chunks[axis] = equal.unwrap_or(in_chunk);
                break;
            }
            chunks[axis] = 1;
        }
        let row = rows.get(divided).copied().unwrap_or(element);
        Layout { shape, chunks, axis: divided, begin, record: None, row }
    }

    /// Whether the last chunk of the divided axis is shorter than the others.
    fn has_short_chunk(&self) -> bool {
        match (self.shape.get(self.axis), self.chunks.get(self.axis)) {
            (Some(length), Some(chunk)) => length % chunk != 0,
            _ => false,
        }
    }

    /// The number of chunks along an axis.
    fn count(&self, axis: usize) -> u64 {
        self.shape[axis].div_ceil(self.chunks[axis])
    }

    /// The offset and the length of the chunk with a key such as `c/0/3`; `None` if there is none.
    pub fn chunk(&self, key: &str) -> Option<(u64, u64)> {
        let mut parts = key.split('/');
        if parts.next() != Some("c") {
            return None;
        }
        let mut indices = Vec::new();
        for (axis, part) in parts.enumerate() {
            let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
            let is_plain = part == "0" || !part.starts_with('0');
            let index: u64 = part.parse().ok().filter(|_| is_number && is_plain)?;
            if axis >= self.shape.len() || index >= self.count(axis) {
                return None;
            }
            indices.push(index);
        }
        if indices.len() != self.shape.len() {
            return None;
        }
        if let Some(record) = self.record {
            return Some((self.begin.checked_add(record.checked_mul(indices[0])?)?, self.row));
        }
        if self.shape.is_empty() {
            return Some((self.begin, self.row));
        }
        // The number of the first row, of all indices up to the divided axis.
        let first = indices[self.axis].checked_mul(self.chunks[self.axis])?;
        let mut number = 0u64;
        for (index, length) in indices[..self.axis].iter().zip(&self.shape) {
            number = number.checked_mul(*length)?.checked_add(*index)?;
        }
        let number = number.checked_mul(self.shape[self.axis])?.checked_add(first)?;
        let rows = self.chunks[self.axis].min(self.shape[self.axis] - first);
        let offset = self.begin.checked_add(number.checked_mul(self.row)?)?;
        Some((offset, rows.checked_mul(self.row)?))
    }

    /// The names directly in a folder of chunk keys, which is empty or ends in `/`; those of folders with a `/`.
    pub fn names_below(&self, folder: &str) -> Vec<String> {
        let rank = self.shape.len();
        if self.shape.contains(&0) {
            return Vec::new();
        }
        let given: Vec<&str> = folder.split_terminator('/').collect();
        let end = |depth: usize| if depth == rank { "" } else { "/x" };
        match given.split_first() {
            None => vec![format!("c{}", end(0))],
            Some((&"c", indices)) if indices.len() < rank => {
                let is_inside = indices.iter().enumerate().all(|(axis, index)| {
                    index.parse().is_ok_and(|index: u64| index < self.count(axis))
                });
                let count = if is_inside { self.count(indices.len()) } else { 0 };
                (0..count).map(|index| format!("{index}{}", end(indices.len() + 1))).collect()
            }
            Some(_) => Vec::new(),
        }
    }
}

/// The document of the file's group.
pub(super) fn group_document(attributes: &[Attribute]) -> Bytes {
    let attributes: Object =
        attributes.iter().map(|attribute| (attribute.name.clone(), value(attribute))).collect();
    let document = Object::new()
        .with("zarr_format", 3)
        .with("node_type", "group")
        .with("attributes", attributes);
    Json::from(document).to_string().into()
}

/// The document of a variable.
pub(super) fn array_document(header: &Header, variable: &Variable, layout: &Layout) -> Bytes {
    let names: Vec<&str> =
        variable.dimensions.iter().map(|index| header.dimensions[*index].name.as_str()).collect();
    let grid = if layout.has_short_chunk() { rectilinear(layout) } else { regular(layout) };
    let mut bytes = Object::new();
    if variable.data_type.size() > 1 {
        bytes.insert("endian", "big");
    }
    let key_encoding = extension("default", Object::new().with("separator", "/"));
    let fill = variable.attributes.iter().find(|attribute| {
        attribute.name == FILL_VALUE && attribute.values.len() as u64 >= attribute.data_type.size()
    });
    let of_user = variable.attributes.iter().map(|attribute| {
        let is_fill = fill.is_some_and(|fill| std::ptr::eq(fill, attribute));
        let value =
            if is_fill { missing_value(variable.data_type, attribute) } else { value(attribute) };
        (attribute.name.clone(), value)
    });
    let document = Object::new()
        .with("zarr_format", 3)
        .with("node_type", "array")
        .with("shape", layout.shape.clone())
        .with("data_type", data_type(variable.data_type))
        .with("chunk_grid", grid)
        .with("chunk_key_encoding", key_encoding)
        .with("fill_value", fill_value(variable.data_type, fill))
        .with("codecs", vec![extension("bytes", bytes)])
        .with("attributes", of_user.collect::<Object>())
        .with("dimension_names", &names[..]);
    Json::from(document).to_string().into()
}

fn extension(name: &str, configuration: Object) -> Json {
    Object::new().with("name", name).with("configuration", configuration).into()
}

fn regular(layout: &Layout) -> Json {
    extension("regular", Object::new().with("chunk_shape", layout.chunks.clone()))
}

/// A grid whose last chunk along the divided axis is shorter: in a regular grid it would be as long as the others.
fn rectilinear(layout: &Layout) -> Json {
    let axes =
        layout.shape.iter().zip(&layout.chunks).enumerate().map(|(axis, (length, chunk))| {
            if axis != layout.axis {
                return Json::from(*chunk);
            }
            let run = Json::from([*chunk, length / chunk]);
            Json::Array(vec![run, Json::from(length % chunk)])
        });
    let shapes: Vec<Json> = axes.collect();
    extension("rectilinear", Object::new().with("kind", "inline").with("chunk_shapes", shapes))
}

/// What netCDF knows of a group or a variable, and its document does not say: the types of its attributes, which axes are
/// unlimited, and the dimensions of a group. The missing value has the type of its variable.
pub(super) fn netcdf_types(
    attributes: &[Attribute],
    unlimited: Vec<bool>,
    dimensions: Option<Json>,
) -> Bytes {
    let typed = attributes.iter().filter(|attribute| attribute.name != FILL_VALUE);
    let types: Object = typed
        .map(|attribute| (attribute.name.clone(), type_name(attribute.data_type).into()))
        .collect();
    let unlimited: Vec<Json> = unlimited.into_iter().map(Json::from).collect();
    let mut document = Object::new().with("attributes", types).with("unlimited", unlimited);
    if let Some(dimensions) = dimensions {
        document.insert("dimensions", dimensions);
    }
    Json::from(document).to_string().into()
}

/// The dimensions of the file. The record dimension is as long as there are records.
pub(super) fn netcdf_dimensions(dimensions: &[Dimension], records: u64) -> Json {
    let dimensions = dimensions.iter().map(|dimension| {
        Object::new()
            .with("name", dimension.name.as_str())
            .with("size", dimension.length.unwrap_or(records))
            .with("unlimited", dimension.length.is_none())
            .into()
    });
    Json::Array(dimensions.collect())
}

/// The data type in final v3. A `char` is a text of one byte.
fn data_type(data_type: Type) -> Json {
    if data_type == Type::Char {
        let one = Object::new().with("length_bytes", 1);
        return extension("null_terminated_bytes", one);
    }
    type_name(data_type).into()
}

/// The name of a type in final v3, but for `char`.
fn type_name(data_type: Type) -> &'static str {
    match data_type {
        Type::Char => "char",
        Type::Byte => "int8",
        Type::Short => "int16",
        Type::Int => "int32",
        Type::Float => "float32",
        Type::Double => "float64",
        Type::UByte => "uint8",
        Type::UShort => "uint16",
        Type::UInt => "uint32",
        Type::Int64 => "int64",
        Type::UInt64 => "uint64",
    }
}

/// The fill value: that of the file, or netCDF's own.
fn fill_value(data_type: Type, attribute: Option<&Attribute>) -> Json {
    if let Some(attribute) = attribute
        && (attribute.data_type == Type::Char) == (data_type == Type::Char)
    {
        return match numbers(attribute).into_iter().next() {
            Some(number) => number.to_fill(),
            None => base64_of(attribute.values[0]),
        };
    }
    match data_type {
        Type::Byte => (-127).into(),
        Type::Char => base64_of(0),
        Type::Short => (-32767).into(),
        Type::Int => (-2_147_483_647i64).into(),
        Type::Float | Type::Double => 9.969_209_968_386_869e36_f64.into(),
        Type::UByte => 255.into(),
        Type::UShort => 65535.into(),
        Type::UInt => 4_294_967_295u32.into(),
        Type::Int64 => (-9_223_372_036_854_775_806i64).into(),
        Type::UInt64 => 18_446_744_073_709_551_614u64.into(),
    }
}

/// The attribute `_FillValue` as readers of final v3 expect it: floats in base64, as xarray writes them.
fn missing_value(data_type: Type, attribute: &Attribute) -> Json {
    match (data_type, numbers(attribute).first()) {
        (Type::Char, None) => base64_of(attribute.values[0]),
        (Type::Float | Type::Double, Some(number)) => {
            let bytes = number.to_f64().to_ne_bytes().to_vec();
            let json =
                missing_value::to_json(&DataType::Core(CoreType::Float64), &FillValue::new(bytes));
            json.unwrap_or(Json::Null)
        }
        (_, Some(number)) => number.to_fill(),
        _ => value(attribute),
    }
}

/// One byte in base64.
fn base64_of(byte: u8) -> Json {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let [first, second] =
        [byte >> 2, (byte & 3) << 4].map(|digit| char::from(DIGITS[usize::from(digit)]));
    format!("{first}{second}==").into()
}

/// A number in an attribute.
#[derive(Clone, Copy, Debug)]
enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

impl Number {
    fn to_f64(self) -> f64 {
        match self {
            Number::Signed(number) => number as f64,
            Number::Unsigned(number) => number as f64,
            Number::Float(number) => number,
        }
    }

    /// As in documents, where what JSON does not have is a text.
    fn to_fill(self) -> Json {
        match self {
            Number::Signed(number) => number.into(),
            Number::Unsigned(number) => number.into(),
            Number::Float(number) => number.into(),
        }
    }

    /// As in attributes, where Python writes bare `NaN`.
    fn to_attribute(self) -> Json {
        match self {
            Number::Float(number) => Json::float(number),
            other => other.to_fill(),
        }
    }
}

/// The numbers of an attribute; none of a text.
fn numbers(attribute: &Attribute) -> Vec<Number> {
    let size = attribute.data_type.size() as usize;
    attribute
        .values
        .chunks_exact(size)
        .filter_map(|bytes: &[u8]| {
            let unsigned = bytes.iter().fold(0u64, |number, byte| (number << 8) | u64::from(*byte));
            // The sign is that of the first of `size` bytes.
            let unused = 64 - 8 * size as u32;
            let signed = ((unsigned << unused) as i64) >> unused;
            match attribute.data_type {
                Type::Char => None,
                Type::Byte | Type::Short | Type::Int | Type::Int64 => Some(Number::Signed(signed)),
                Type::UByte | Type::UShort | Type::UInt | Type::UInt64 => {
                    Some(Number::Unsigned(unsigned))
                }
                Type::Float => Some(Number::Float(f32::from_bits(unsigned as u32).into())),
                Type::Double => Some(Number::Float(f64::from_bits(unsigned))),
            }
        })
        .collect()
}

/// An attribute as JSON: a text, a number, or a list of numbers.
fn value(attribute: &Attribute) -> Json {
    if attribute.data_type == Type::Char {
        let text = String::from_utf8_lossy(&attribute.values);
        return text.trim_end_matches('\0').into();
    }
    let mut numbers: Vec<Json> = numbers(attribute).into_iter().map(Number::to_attribute).collect();
    match (numbers.pop(), numbers.is_empty()) {
        (Some(alone), true) => alone,
        (last, _) => {
            numbers.extend(last);
            Json::Array(numbers)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_variables_are_divided_along_the_first_axes() {
        let layout = |shape: &[u64], element| Layout::contiguous(100, shape.to_vec(), element);
        let whole = layout(&[4, 3], 8);
        assert_eq!((&whole.chunks[..], whole.chunk("c/0/0")), (&[4, 3][..], Some((100, 96))));
        assert_eq!(whole.chunk("c/0/1"), None);
        // 16 MiB a row: four rows a chunk, and the last chunk is shorter.
        let rows = layout(&[7, 1 << 21], 8);
        assert_eq!((&rows.chunks[..], rows.has_short_chunk()), (&[4, 1 << 21][..], true));
        assert_eq!(rows.chunk("c/1/0"), Some((100 + (4 << 24), 3 << 24)));
        assert_eq!(rows.chunk("c/2/0"), None);
        let equal = layout(&[9, 1 << 21], 8);
        assert_eq!((&equal.chunks[..], equal.has_short_chunk()), (&[3, 1 << 21][..], false));
        // Rows above 64 MiB are divided themselves.
        let long = layout(&[2, 3, 1 << 24], 8);
        assert_eq!(long.chunks, [1, 1, 1 << 23]);
        assert_eq!(long.chunk("c/1/2/1"), Some((100 + ((5 << 24) + (1 << 23)) * 8, 1 << 26)));
        let scalar = layout(&[], 4);
        assert_eq!((scalar.chunk("c"), scalar.chunk("c/0")), (Some((100, 4)), None));
        assert_eq!(scalar.names_below(""), ["c"]);
        assert_eq!(layout(&[0, 2], 4).names_below(""), [""; 0]);
        assert_eq!(rows.names_below("c/"), ["0/x", "1/x"]);
        assert_eq!(rows.names_below("c/1/"), ["0"]);
    }
}
