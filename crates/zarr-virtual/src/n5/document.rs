//! Makes documents of final v3 of N5's attributes.

use zarr_core::store::Bytes;
use zarr_core::{Json, Object};

use super::Axes;

/// The members of a dataset's attributes that describe how it is stored; the others are the user's.
const OWN: [&str; 6] =
    ["dimensions", "blockSize", "dataType", "compression", "compressionType", "n5"];

/// The types of elements that N5 and Zarr call the same.
const TYPES: [&str; 10] = [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
];

/// The document of a group, which is an image if it has the attribute `ome`.
pub(super) fn group_document(attributes: &Object, ome: Option<Object>) -> Bytes {
    let mut attributes = of_user(attributes);
    if let (Some(ome), false) = (ome, attributes.contains("ome")) {
        attributes.insert("ome", ome);
    }
    let document = Object::new()
        .with("zarr_format", 3)
        .with("node_type", "group")
        .with("attributes", attributes);
    Json::from(document).to_string().into()
}

/// Whether a dataset of this name is a level of an image, if it is one: `s0`, `s1`, …
pub(super) fn is_level_name(name: &str) -> bool {
    name.strip_prefix('s').is_some_and(|number| number.parse::<u16>().is_ok())
}

/// The number of axes.
pub(super) fn rank(attributes: &Object) -> Option<usize> {
    Some(attributes.get("dimensions")?.as_array()?.len())
}

/// The document of an array with these names of axes.
///
/// # Errors
/// A sentence that says what is wrong with the attributes.
pub(super) fn array_document(
    attributes: &Object,
    axes: Axes,
    names: Option<Vec<String>>,
) -> Result<Bytes, String> {
    let dimensions = lengths(attributes, "dimensions")?;
    let blocks = lengths(attributes, "blockSize")?;
    if dimensions.is_empty() || blocks.len() != dimensions.len() {
        let (found, expected) = (blocks.len(), dimensions.len());
        return Err(format!("`blockSize` has {found} lengths, `dimensions` {expected}"));
    }
    if let Some(wrong) = blocks.iter().find(|length| !(1..=i32::MAX as u64).contains(*length)) {
        return Err(format!("`blockSize` has the length {wrong}"));
    }
    let data_type = attributes.get("dataType").and_then(Json::as_str);
    let data_type = data_type.ok_or("`dataType` is not a text")?.to_ascii_lowercase();
    // What N5 stores in another way is an unknown type: its metadata are shown, and reading it says so.
    let is_known = TYPES.contains(&data_type.as_str());
    let written_type = if is_known { data_type.clone() } else { format!("n5:{data_type}") };
    let order: Vec<usize> = (0..dimensions.len()).rev().collect();
    let transpose = extension("transpose", Object::new().with("order", order));
    let mut bytes = Object::new();
    if !data_type.ends_with("int8") {
        bytes.insert("endian", "big");
    }
    let mut inner = vec![transpose.clone(), extension("bytes", bytes)];
    inner.extend(compression(attributes, &data_type)?);
    let block = extension("n5_default", Object::new().with("codecs", inner));
    let codecs = match axes {
        Axes::AsStored => vec![block],
        Axes::Reversed => vec![transpose, block],
    };
    let chunk_shape = Object::new().with("chunk_shape", in_order(blocks, axes));
    let mut document = Object::new()
        .with("zarr_format", 3)
        .with("node_type", "array")
        .with("shape", in_order(dimensions, axes))
        .with("data_type", written_type)
        .with("chunk_grid", extension("regular", chunk_shape))
        .with("chunk_key_encoding", extension("v2", Object::new().with("separator", "/")))
        .with("fill_value", 0)
        .with("codecs", codecs)
        .with("attributes", of_user(attributes));
    if let Some(names) = names {
        document.insert("dimension_names", names);
    }
    Ok(Json::from(document).to_string().into())
}

/// Lengths in the order of the array's axes.
fn in_order(lengths: Vec<u64>, axes: Axes) -> Vec<u64> {
    match axes {
        Axes::AsStored => lengths,
        Axes::Reversed => lengths.into_iter().rev().collect(),
    }
}

/// The attributes without those that describe how a dataset is stored.
fn of_user(attributes: &Object) -> Object {
    attributes
        .iter()
        .filter(|(name, _)| !OWN.contains(name))
        .map(|(n, v)| (n.to_owned(), v.clone()))
        .collect()
}

/// The texts of the attribute `axes`, if it names each axis once.
pub(super) fn dimension_names(attributes: &Object, rank: usize, axes: Axes) -> Option<Vec<String>> {
    let names = attributes.get("axes")?.as_array()?;
    let names: Option<Vec<String>> =
        names.iter().map(|name| name.as_str().map(str::to_owned)).collect();
    let mut names = names.filter(|names| names.len() == rank)?;
    if axes == Axes::Reversed {
        names.reverse();
    }
    Some(names)
}

pub(super) fn lengths(attributes: &Object, name: &str) -> Result<Vec<u64>, String> {
    let list = attributes.get(name).and_then(Json::as_array);
    let lengths = list.and_then(|list| list.iter().map(Json::as_u64).collect());
    lengths.ok_or_else(|| format!("`{name}` is not a list of lengths"))
}

fn extension(name: &str, configuration: Object) -> Json {
    Object::new().with("name", name).with("configuration", configuration).into()
}

/// The codec of N5's compression; `None` for blocks that are not compressed.
fn compression(attributes: &Object, data_type: &str) -> Result<Option<Json>, String> {
    let empty = Object::new();
    let (name, parameters) =
        match (attributes.get("compression"), attributes.get("compressionType")) {
            (Some(Json::Object(object)), _) => {
                let name = object.get("type").and_then(Json::as_str);
                (name.ok_or("`compression` has no `type`")?, object)
            }
            // The first versions of N5 had a name alone.
            (Some(Json::String(name)), _) | (None, Some(Json::String(name))) => {
                (name.as_str(), &empty)
            }
            (None, None) => ("raw", &empty),
            _ => return Err("`compression` is neither an object nor a text".into()),
        };
    let integer = |name: &str, range: std::ops::RangeInclusive<i64>, default: i64| {
        let given = parameters.get(name).and_then(Json::as_i64);
        given.filter(|given| range.contains(given)).unwrap_or(default)
    };
    // Parameters are for encoders; decoders need none of them.
    Ok(Some(match name {
        "raw" => return Ok(None),
        "gzip" if parameters.get("useZlib").and_then(Json::as_bool) == Some(true) => {
            extension("numcodecs.zlib", Object::new().with("level", integer("level", 0..=9, 6)))
        }
        "gzip" => extension("gzip", Object::new().with("level", integer("level", 0..=9, 6))),
        "bzip2" => {
            let level = integer("level", 1..=9, integer("blockSize", 1..=9, 9));
            extension("numcodecs.bz2", Object::new().with("level", level))
        }
        "xz" => {
            let preset = integer("preset", 0..=9, 6);
            extension("numcodecs.lzma", Object::new().with("preset", preset))
        }
        "zstd" => {
            let level = integer("level", -131_072..=22, 3);
            extension("zstd", Object::new().with("level", level).with("checksum", false))
        }
        "blosc" => {
            let shuffle = match integer("shuffle", 0..=2, 0) {
                1 => "shuffle",
                2 => "bitshuffle",
                _ => "noshuffle",
            };
            let size = match data_type.trim_start_matches(|c: char| c.is_alphabetic()) {
                "8" => 1,
                "16" => 2,
                "32" => 4,
                _ => 8,
            };
            let cname = parameters.get("cname").and_then(Json::as_str).unwrap_or("lz4");
            let configuration = Object::new()
                .with("cname", cname)
                .with("clevel", integer("clevel", 0..=9, 5))
                .with("shuffle", shuffle)
                .with("typesize", size)
                .with("blocksize", integer("blocksize", 0..=i32::MAX.into(), 0));
            extension("blosc", configuration)
        }
        "lz4" => extension(super::lz4_block::NAME, Object::new()),
        other => extension(&format!("n5:{other}"), Object::new()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(attributes: &str, axes: Axes) -> Result<Json, String> {
        let attributes = Json::parse(attributes.as_bytes()).unwrap();
        let document = {
            let attributes = attributes.as_object().unwrap();
            let names = rank(attributes).and_then(|rank| dimension_names(attributes, rank, axes));
            array_document(attributes, axes, names)?
        };
        Json::parse(&document)
    }

    #[test]
    fn members_of_n5_become_metadata_and_the_others_attributes() {
        let text = r#"{"dimensions":[4,3,2],"blockSize":[2,3,1],"dataType":"uint16","axes":["x","y","z"],
            "compression":{"type":"gzip","level":-1,"useZlib":true},"units":"nm"}"#;
        let stored = document(text, Axes::AsStored).unwrap();
        assert_eq!(stored["shape"].to_string(), "[4,3,2]");
        assert_eq!(stored["dimension_names"].to_string(), r#"["x","y","z"]"#);
        assert_eq!(stored["attributes"].to_string(), r#"{"axes":["x","y","z"],"units":"nm"}"#);
        let codecs = r#"[{"name":"n5_default","configuration":{"codecs":[{"name":"transpose","configuration":{"order":[2,1,0]}},{"name":"bytes","configuration":{"endian":"big"}},{"name":"numcodecs.zlib","configuration":{"level":6}}]}}]"#;
        assert_eq!(stored["codecs"].to_string(), codecs);
        let reversed = document(text, Axes::Reversed).unwrap();
        assert_eq!(reversed["shape"].to_string(), "[2,3,4]");
        assert_eq!(reversed["dimension_names"].to_string(), r#"["z","y","x"]"#);
        assert_eq!(reversed["codecs"][0]["name"].as_str(), Some("transpose"));
        let oldest =
            r#"{"dimensions":[4],"blockSize":[2],"dataType":"uint8","compressionType":"gzip"}"#;
        assert!(document(oldest, Axes::AsStored).unwrap().to_string().contains(r#""gzip""#));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (attributes, why) in [
            (r#"{"dimensions":[4,3],"blockSize":[2],"dataType":"int8"}"#, "`blockSize` has 1"),
            (r#"{"dimensions":[4],"blockSize":[0],"dataType":"int8"}"#, "the length 0"),
            (r#"{"dimensions":[-4],"blockSize":[1],"dataType":"int8"}"#, "`dimensions`"),
            (r#"{"dimensions":[4],"blockSize":[1],"dataType":8}"#, "`dataType`"),
            (r#"{"dimensions":[4],"blockSize":[1],"dataType":"int8","compression":{}}"#, "`type`"),
        ] {
            assert!(
                document(attributes, Axes::AsStored).unwrap_err().contains(why),
                "{attributes}"
            );
        }
    }
}
