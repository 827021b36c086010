//! Reads and writes the special attributes of CDL.

use zarr_core::Json;

use super::document::Provenance;
use super::escape::{self, Script};
use crate::documents::filter;
use crate::model::schema::{Attribute, Endian, Filter, Variable};
use crate::{Type, Values};

/// What HDF5 calls netCDF's filters by.
const SHUFFLE: u64 = 2;
const FLETCHER32: u64 = 3;
const DEFLATE: u64 = 1;
const BZIP2: u64 = 307;
const ZSTD: u64 = 32015;
const BLOSC: u64 = 32001;

/// The special attributes of a variable that say, or leave out, what it is filtered by.
const FILTER_ATTRIBUTES: [&str; 6] =
    ["_Storage", "_Shuffle", "_Fletcher32", "_DeflateLevel", "_Filter", "_Codecs"];

/// The compressors of Blosc, in the order of their numbers.
const COMPRESSORS: [&str; 6] = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];

/// Takes a special attribute of a variable to what it says. `false`: it is not special.
///
/// `_FillValue` is an attribute like others (N-054).
pub(super) fn of_variable(variable: &mut Variable, attribute: &Attribute) -> Result<bool, String> {
    let value = &attribute.value;
    let storage = &mut variable.storage;
    // What says how a variable is stored says it all: `ncdump -s` prints no filters of one that has none. Lengths of chunks alone
    // say nothing of filters.
    if FILTER_ATTRIBUTES.contains(&attribute.name.as_str()) {
        storage.default_filters = false;
    }
    match attribute.name.as_str() {
        "_Storage" => match value.as_text() {
            // Zarr has but chunks (N-008).
            Some("chunked") => {}
            Some("contiguous" | "compact") => storage.contiguous = true,
            _ => return Err("`_Storage` is \"chunked\", \"contiguous\" or \"compact\"".into()),
        },
        "_ChunkSizes" => {
            let lens = integers(value).ok_or("`_ChunkSizes` is a list of lengths")?;
            let rank = variable.dimensions.len();
            if lens.len() != rank || lens.contains(&0) {
                return Err(format!(
                    "`_ChunkSizes` needs {rank} lengths of at least 1, one for each dimension"
                ));
            }
            storage.chunks = lens;
        }
        "_Shuffle" => set(&mut storage.filters, Filter::Shuffle, truth(attribute)?),
        "_Fletcher32" => set(&mut storage.filters, Filter::Fletcher32, truth(attribute)?),
        "_DeflateLevel" => match integers(value).as_deref() {
            Some([level @ 0..=9]) => {
                set(&mut storage.filters, Filter::Deflate { level: *level as u8 }, true)
            }
            _ => return Err("`_DeflateLevel` is a number from 0 to 9".into()),
        },
        "_Endianness" => match value.as_text() {
            Some("little") => storage.endian = Some(Endian::Little),
            Some("big") => storage.endian = Some(Endian::Big),
            _ => return Err("`_Endianness` is \"little\" or \"big\"".into()),
        },
        "_NoFill" => storage.no_fill = truth(attribute)?,
        "_Filter" => {
            let text = value.as_text().ok_or("`_Filter` is a text such as \"307,9\"")?;
            for one in text.split('|').filter(|one| !one.trim().is_empty()) {
                set(&mut storage.filters, filter_of(one)?, true);
            }
        }
        "_Codecs" => {
            let json = value.as_text().and_then(|text| Json::parse(text.as_bytes()).ok());
            let codecs = json.as_ref().and_then(Json::as_array);
            let codecs = codecs.filter(|codecs| {
                codecs.iter().all(|codec| codec.as_object().is_some() || codec.as_str().is_some())
            });
            let codecs = codecs.ok_or(
                "`_Codecs` is a list of codecs in JSON, such as \"[{\\\"id\\\": \\\"zlib\\\", \\\"level\\\": 1}]\"",
            )?;
            let ty = variable.ty;
            storage.filters = codecs
                .iter()
                .map(|codec| filter::of_codec(&filter::codec(&Filter::Other(codec.clone()), ty)))
                .collect();
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Puts a filter behind the others, or only takes it away.
fn set(filters: &mut Vec<Filter>, filter: Filter, on: bool) {
    filters.retain(|other| std::mem::discriminant(other) != std::mem::discriminant(&filter));
    if on {
        filters.push(filter);
    }
}

/// Takes a special attribute of a dataset to what it says. `false`: it is not special.
pub(super) fn of_dataset(
    provenance: &mut Provenance,
    attribute: &Attribute,
) -> Result<bool, String> {
    let value = &attribute.value;
    match attribute.name.as_str() {
        "_NCProperties" => provenance.properties = Some(text_of(value)?),
        "_Format" => provenance.format = Some(text_of(value)?),
        "_IsNetcdf4" => provenance.netcdf4 = Some(truth(attribute)?),
        "_SuperblockVersion" => match integers(value).as_deref() {
            Some(&[version]) => provenance.superblock = i64::try_from(version).ok(),
            _ => return Err("`_SuperblockVersion` is a number".into()),
        },
        _ => return Ok(false),
    }
    Ok(true)
}

/// The text of an attribute.
fn text_of(value: &Values) -> Result<String, &'static str> {
    value.as_text().map(str::to_owned).ok_or("expected text")
}

/// The special attributes of a variable, in the order in which `ncdump` writes them, as CDL writes their values.
pub(super) fn to_cdl(variable: &Variable, chunks: &[u64]) -> Vec<(&'static str, String)> {
    let mut specials = vec![("_Storage", quoted("chunked"))];
    if !chunks.is_empty() {
        let lens: Vec<String> = chunks.iter().map(u64::to_string).collect();
        specials.push(("_ChunkSizes", lens.join(", ")));
    }
    let filters = &variable.storage.filters;
    if filters.contains(&Filter::Fletcher32) {
        specials.push(("_Fletcher32", quoted("true")));
    }
    if filters.contains(&Filter::Shuffle) {
        specials.push(("_Shuffle", quoted("true")));
    }
    let levels = filters.iter().filter_map(|filter| match filter {
        Filter::Deflate { level } => Some(level.to_string()),
        _ => None,
    });
    specials.extend(levels.map(|level| ("_DeflateLevel", level)).next());
    let others: Vec<String> = filters.iter().filter_map(filter_text).collect();
    if !others.is_empty() {
        specials.push(("_Filter", quoted(&others.join("|"))));
    }
    if filters.iter().any(|filter| matches!(filter, Filter::Other(_))) {
        let mut value = String::new();
        let codecs: Json = filters
            .iter()
            .map(|filter| filter::to_json(&filter::codec(filter, variable.ty)))
            .collect();
        escape::push_text(&mut value, codecs.to_string().as_bytes(), Script::Unicode);
        specials.push(("_Codecs", quoted(&value)));
    }
    let size = variable.ty.size().unwrap_or(1);
    if size > 1 {
        let big = variable.storage.endian == Some(Endian::Big);
        specials.push(("_Endianness", quoted(if big { "big" } else { "little" })));
    }
    if variable.storage.no_fill {
        specials.push(("_NoFill", quoted("true")));
    }
    specials
}

/// A text in quotes.
fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// What `_` stands for among a variable's data: its fill value, in its own type.
pub(super) fn fill_of(variable: &Variable) -> Result<Values, String> {
    match variable.attribute("_FillValue") {
        Some(fill) => fill_as(fill, variable.ty),
        None => Ok(variable.ty.default_fill()),
    }
}

/// A declared fill value in the type of its variable, as which it is kept (N-054).
pub(super) fn fill_as(fill: &Values, ty: Type) -> Result<Values, String> {
    if fill.ty() == ty {
        return match fill.len() {
            1 => Ok(fill.clone()),
            found => Err(format!("`_FillValue` is one value, and there are {found}")),
        };
    }
    let text = match fill {
        Values::Byte(fill) => one(fill),
        Values::Ubyte(fill) => one(fill),
        Values::Short(fill) => one(fill),
        Values::Ushort(fill) => one(fill),
        Values::Int(fill) => one(fill),
        Values::Uint(fill) => one(fill),
        Values::Int64(fill) => one(fill),
        Values::Uint64(fill) => one(fill),
        Values::Float(fill) => one(fill),
        Values::Double(fill) => one(fill),
        Values::Char(_) if ty == Type::String => {
            let why = "`_FillValue` of a string is UTF-8";
            return fill
                .as_text()
                .map(|text| Values::String(vec![text.to_owned()]))
                .ok_or(why.into());
        }
        _ => None,
    };
    let wrong = || format!("`_FillValue` is one value of type {ty}, as the variable is");
    let text = text.ok_or_else(wrong)?;
    let mut value = Values::none(ty);
    if ty == Type::Char || ty == Type::String {
        return Err(wrong());
    }
    super::constant::Constant::Number(&text)
        .push(&mut value, &Values::none(ty))
        .map_err(|_| wrong())?;
    Ok(value)
}

/// One number as CDL writes it, without its suffix.
fn one<T: std::fmt::Debug>(values: &[T]) -> Option<String> {
    match values {
        [value] => match format!("{value:?}").as_str() {
            "inf" => Some("Infinity".into()),
            "-inf" => Some("-Infinity".into()),
            number => Some(number.to_owned()),
        },
        _ => None,
    }
}

/// A filter as HDF5 numbers it: the filter, then its parameters.
fn filter_of(text: &str) -> Result<Filter, String> {
    let wrong = || {
        format!(
            "invalid filter `{}`: write its number and parameters, such as \"307,9\"",
            text.escape_debug()
        )
    };
    let numbers: Option<Vec<u64>> = text
        .split(',')
        .map(|number| number.trim().trim_end_matches(['u', 'U']).parse().ok())
        .collect();
    let numbers = numbers.ok_or_else(wrong)?;
    let level =
        |at: usize| numbers.get(at).and_then(|&level| u8::try_from(level).ok()).ok_or_else(wrong);
    Ok(match numbers.first() {
        Some(&SHUFFLE) => Filter::Shuffle,
        Some(&FLETCHER32) => Filter::Fletcher32,
        Some(&DEFLATE) => Filter::Deflate { level: level(1)? },
        Some(&BZIP2) => Filter::Bzip2 { level: level(1)? },
        Some(&ZSTD) => {
            // Negative levels are written as unsigned numbers of 32 bits.
            let level =
                numbers.get(1).and_then(|&level| u32::try_from(level).ok()).ok_or_else(wrong)?;
            Filter::Zstd { level: level as i32 }
        }
        // After three numbers that the filter sets itself: block size, level, shuffle, compressor.
        Some(&BLOSC) => Filter::Blosc {
            block_size: numbers.get(4).copied().unwrap_or(0),
            level: level(5)?,
            shuffle: numbers.get(6).map_or(Ok(1), |_| level(6))?,
            compressor: match numbers.get(7) {
                None => COMPRESSORS[0].into(),
                Some(&at) => {
                    let name = usize::try_from(at).ok().and_then(|at| COMPRESSORS.get(at));
                    name.copied().ok_or_else(wrong)?.into()
                }
            },
        },
        Some(number) => {
            let why = "is not known; expected one of 1 (deflate), 2 (shuffle), 3 (fletcher32), 307 (bzip2), 32001 (blosc) \
                       and 32015 (zstd)";
            return Err(format!("the filter {number} {why}"));
        }
        None => return Err(wrong()),
    })
}

/// A filter without a special attribute for it, as HDF5 numbers it.
fn filter_text(filter: &Filter) -> Option<String> {
    Some(match filter {
        Filter::Bzip2 { level } => format!("{BZIP2},{level}"),
        Filter::Zstd { level } => format!("{ZSTD},{}", *level as u32),
        Filter::Blosc { compressor, level, shuffle, block_size } => {
            let compressor = COMPRESSORS.iter().position(|name| name == compressor)?;
            format!("{BLOSC},0,0,0,{block_size},{level},{shuffle},{compressor}")
        }
        _ => return None,
    })
}

fn truth(attribute: &Attribute) -> Result<bool, String> {
    match (attribute.value.as_text(), integers(&attribute.value).as_deref()) {
        (Some("true" | "1"), _) | (_, Some([1])) => Ok(true),
        (Some("false" | "0"), _) | (_, Some([0])) => Ok(false),
        _ => Err(format!("`{}` is \"true\" or \"false\"", attribute.name)),
    }
}

/// The values, if they are integers and none is negative.
fn integers(value: &Values) -> Option<Vec<u64>> {
    fn all<T: Copy + TryInto<u64>>(values: &[T]) -> Option<Vec<u64>> {
        values.iter().map(|&value| value.try_into().ok()).collect()
    }
    match value {
        Values::Byte(values) => all(values),
        Values::Ubyte(values) => all(values),
        Values::Short(values) => all(values),
        Values::Ushort(values) => all(values),
        Values::Int(values) => all(values),
        Values::Uint(values) => all(values),
        Values::Int64(values) => all(values),
        Values::Uint64(values) => all(values),
        _ => None,
    }
}
