//! Converts codecs to filters of netCDF and back (N-070 … N-073).

use zarr_core::codec::CodecSpec;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{Dialect, Json, MetadataError, Object};

use crate::model::schema::Filter;
use crate::model::types::Type;

/// The filters that an array's chunks go through, the first first.
pub(crate) fn of(metadata: &ArrayMetadata) -> Vec<Filter> {
    let own = ["bytes", "transpose", "vlen-utf8"];
    metadata.codecs.iter().filter(|spec| !own.contains(&spec.name.as_str())).map(of_codec).collect()
}

/// The filter that a codec is.
pub(crate) fn of_codec(spec: &CodecSpec) -> Filter {
    let name = spec.name.strip_prefix("numcodecs.").unwrap_or(&spec.name);
    let known = match name {
        "shuffle" => Some(Filter::Shuffle),
        "fletcher32" => Some(Filter::Fletcher32),
        "zlib" => level(spec, "level").map(|level| Filter::Deflate { level }),
        "bz2" => level(spec, "level").map(|level| Filter::Bzip2 { level }),
        // netCDF's has no checksums.
        "zstd" if spec.configuration.get("checksum").and_then(Json::as_bool) == Some(true) => None,
        "zstd" => number(spec, "level")
            .and_then(|level| i32::try_from(level).ok())
            .map(|level| Filter::Zstd { level }),
        "blosc" => blosc(&spec.configuration),
        _ => None,
    };
    known.unwrap_or_else(|| Filter::Other(to_json(spec)))
}

/// The filters that codecs are. For NCZarr of v2, `is_netcdf_c`, they are those that netcdf-c has, where zlib is in place of gzip.
///
/// # Errors
/// [`MetadataError::CannotRepresent`] for a codec that is none of these; `variable` names whose it is.
pub(crate) fn of_codecs(
    variable: &str,
    codecs: &[CodecSpec],
    is_netcdf_c: bool,
) -> Result<Vec<Filter>, MetadataError> {
    let mut filters = Vec::new();
    for spec in codecs {
        let filter = of_codec(spec);
        if !is_netcdf_c || !matches!(filter, Filter::Other(_)) {
            filters.push(filter);
            continue;
        }
        let level = level(spec, "level");
        match (spec.name.as_str(), level) {
            ("gzip", Some(level @ 0..=9)) => filters.push(Filter::Deflate { level }),
            _ => {
                return Err(MetadataError::CannotRepresent {
                    format: "NCZarr in v2",
                    what: format!("codec `{}` of {variable}", spec.name),
                    hint: "netCDF's filters are `shuffle`, `zlib`, `bz2`, `zstd`, `blosc`".into(),
                });
            }
        }
    }
    Ok(filters)
}

/// A member of a codec's configuration that is an integer.
fn number(spec: &CodecSpec, member: &str) -> Option<i64> {
    spec.configuration.get(member).and_then(Json::as_i64)
}

/// A member of a codec's configuration that is a level.
fn level(spec: &CodecSpec, member: &str) -> Option<u8> {
    number(spec, member).and_then(|level| u8::try_from(level).ok())
}

/// A codec in the JSON of its dialect.
pub(crate) fn to_json(spec: &CodecSpec) -> Json {
    let member = if spec.dialect == Dialect::V2 { "id" } else { "name" };
    let object = Object::new().with(member, spec.name.as_str());
    match spec.dialect {
        Dialect::V2 => object.into_iter().chain(spec.configuration.clone()).collect::<Object>(),
        _ if spec.configuration.is_empty() => object,
        _ => object.with("configuration", spec.configuration.clone()),
    }
    .into()
}

const SHUFFLES: [&str; 3] = ["noshuffle", "shuffle", "bitshuffle"];

fn blosc(configuration: &Object) -> Option<Filter> {
    let shuffle = match configuration.get("shuffle")? {
        Json::String(word) => SHUFFLES.iter().position(|known| known == word)? as u8,
        json => u8::try_from(json.as_u64()?).ok().filter(|shuffle| *shuffle <= 2)?,
    };
    Some(Filter::Blosc {
        compressor: configuration.get("cname")?.as_str()?.to_owned(),
        level: u8::try_from(configuration.get("clevel")?.as_u64()?).ok()?,
        shuffle,
        block_size: configuration.get("blocksize").and_then(Json::as_u64).unwrap_or(0),
    })
}

/// The codec that a filter of a variable of this type is, as final v3 writes it, or as v2 does for one that is not
/// known here.
pub(crate) fn codec(filter: &Filter, ty: Type) -> CodecSpec {
    match filter {
        Filter::Shuffle => {
            // N-072: the true size, since others take 0 for none at all. netcdf-c shuffles texts, `char*` to it, as
            // elements of 8 bytes, whatever is written here.
            let size = ty.size().unwrap_or(8) as u64;
            CodecSpec::v3("numcodecs.shuffle", Object::new().with("elementsize", size))
        }
        Filter::Fletcher32 => CodecSpec::v3("numcodecs.fletcher32", Object::new()),
        Filter::Deflate { level: n } => CodecSpec::v3("numcodecs.zlib", with_level((*n).into())),
        Filter::Bzip2 { level: n } => CodecSpec::v3("numcodecs.bz2", with_level((*n).into())),
        Filter::Zstd { level: n } => {
            CodecSpec::v3("zstd", with_level((*n).into()).with("checksum", false))
        }
        Filter::Blosc { compressor, level, shuffle, block_size } => {
            let word = SHUFFLES[usize::from(*shuffle).min(2)];
            let configuration = Object::new()
                .with("cname", compressor.as_str())
                .with("clevel", u64::from(*level))
                .with("shuffle", word)
                .with("typesize", ty.size().unwrap_or(1) as u64)
                .with("blocksize", *block_size);
            CodecSpec::v3("blosc", configuration)
        }
        Filter::Other(json) => {
            let member = |name: &str| json.as_object().and_then(|object| object.get(name));
            if let Some(id) = member("id").and_then(Json::as_str) {
                let mut configuration = json.as_object().cloned().unwrap_or_default();
                configuration.remove("id");
                return CodecSpec::new(Dialect::V2, id, configuration);
            }
            let name = json.as_str().or_else(|| member("name").and_then(Json::as_str));
            let configuration = member("configuration").and_then(Json::as_object).cloned();
            CodecSpec::v3(name.unwrap_or_default(), configuration.unwrap_or_default())
        }
    }
}

/// A codec's configuration with a level.
fn with_level(level: i64) -> Object {
    Object::new().with("level", level)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// netcdf-c 4.10.1 shuffles strings of any width as elements of 8 bytes; characters it leaves.
    #[test]
    fn shuffled_strings_have_elements_of_eight_bytes() {
        for (ty, size) in [(Type::String, 8), (Type::Char, 1), (Type::Short, 2), (Type::Double, 8)]
        {
            let spec = codec(&Filter::Shuffle, ty);
            let due = format!("numcodecs.shuffle {{\"elementsize\":{size}}}");
            assert_eq!(spec.to_string(), due, "{ty:?}");
        }
    }
}
