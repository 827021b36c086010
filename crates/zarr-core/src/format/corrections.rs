//! Corrects what other writers are known to have written wrong, where it can mean one thing only
//! (docs/internals/design/strictness.md).
//!
//! A document is corrected before it is parsed, each time with a warning; `zarr repair` stores it as it is corrected here.
//! So it means the same before and after the repair.

use super::encoding::JsonEncoding;
use super::interface::Correction;
use super::members::{INLINE, document};
use super::reading::Reading;
use crate::data_type::{CoreType, NumpyTime, Scalar};
use crate::dialect::Strictness;
use crate::error::MetadataError;
use crate::json::{Json, Object};
use crate::registry::Registry;

type Corrected = Result<(), MetadataError>;

/// Takes `"zarr_format": "2"`, as webknossos-libs wrote it, and `2.0` for the number (Z2-004, F-003).
pub(super) fn version(object: &mut Object, version: &str, reading: &mut Reading<'_>) -> Corrected {
    let is_meant = match object.get("zarr_format") {
        Some(Json::String(text)) => text == version,
        Some(Json::Number(number)) => {
            &**number != version && number.parse::<f64>().ok() == version.parse().ok()
        }
        _ => false,
    };
    if is_meant {
        let found = object.get("zarr_format").map_or(String::new(), Json::brief);
        let what = format!("{found} is not the integer {version}");
        reading.tolerate_member("zarr_format", &what)?;
        object.insert("zarr_format", Json::Number(version.into()));
    }
    Ok(())
}

/// Corrects a `.zarray`.
pub(super) fn v2_array(object: &mut Object, reading: &mut Reading<'_>) -> Corrected {
    version(object, "2", reading)?;
    for member in ["shape", "chunks"] {
        one_length(object, member, member, reading)?;
    }
    // Z2-010: some writers leave these out.
    for member in ["compressor", "fill_value", "filters"] {
        if !object.contains(member) {
            reading
                .tolerate(format!("`{member}` is missing; taken as null"))
                .map_err(|_| MetadataError::Missing(member))?;
            object.insert(member, Json::Null);
        }
    }
    padding_fields(object, reading)?;
    texts_of_any_length(object, reading)?;
    fill_of_any_length(object, reading)?;
    let typestr = object.get("dtype").and_then(Json::as_str).unwrap_or_default().to_owned();
    let core = CoreType::from_typestr(&typestr).map(|(core, _)| core.scalar());
    let time = NumpyTime::from_typestr(&typestr);
    let kind = typestr.trim_start_matches(['<', '>', '|', '=']).chars().next();
    if core.is_some() || time.is_some() || kind.is_some_and(|kind| "SU".contains(kind)) {
        fill_in_list(object, core, reading)?;
    }
    if let Some(core) = core {
        fill_of_number(object, core, reading)?;
    }
    if let (Some(time), Some(Json::String(text))) = (time, object.get("fill_value"))
        && let Ok(count) = time.count_of(text)
        && text != "NaT"
    {
        // zarr-python 3.0 wrote dates (Z2-053).
        let what = format!("the date `{text}` is read as a count of time");
        reading.tolerate_member("fill_value", &what)?;
        object.insert("fill_value", count);
    }
    Ok(())
}

/// Corrects a `zarr.json` but for its consolidated metadata.
pub(super) fn v3_node(object: &mut Object, reading: &mut Reading<'_>) -> Corrected {
    version(object, "3", reading)?;
    if object.get("node_type").and_then(Json::as_str) != Some("array") {
        return Ok(());
    }
    one_length(object, "shape", "shape", reading)?;
    if let Some(Json::Object(grid)) = object.get("chunk_grid")
        && grid.get("name").and_then(Json::as_str) == Some("regular")
        && let Some(Json::Object(configuration)) = grid.get("configuration")
    {
        let mut grid = grid.clone();
        let mut configuration = configuration.clone();
        one_length(&mut configuration, "chunk_shape", "chunk_grid: chunk_shape", reading)?;
        grid.insert("configuration", configuration);
        object.insert("chunk_grid", grid);
    }
    let name = object.get("data_type").and_then(Json::as_str);
    let Some(core) = name.and_then(CoreType::from_name).map(CoreType::scalar) else {
        return Ok(());
    };
    v3_codecs(object, reading)?;
    if object.get("fill_value") == Some(&Json::Null) {
        // GDAL 3.8 to 3.10 write it where there is no missing value, and read zeros.
        reading.tolerate_member("fill_value", "null is read as zero")?;
        object.insert("fill_value", zero(core));
    }
    fill_in_list(object, Some(core), reading)?;
    fill_of_number(object, core, reading)
}

fn zero(scalar: Scalar) -> Json {
    match scalar {
        Scalar::Bool => Json::Bool(false),
        Scalar::Float(_) => Json::from(0.0),
        Scalar::Complex(_) => Json::Array(vec![Json::from(0.0), Json::from(0.0)]),
        _ => Json::from(0u64),
    }
}

/// A number where a list of one axis is due, as Rarr wrote it: jsonlite takes the brackets off.
fn one_length(
    object: &mut Object,
    member: &str,
    named: &str,
    reading: &mut Reading<'_>,
) -> Corrected {
    if let Some(length @ Json::Number(_)) = object.get(member) {
        let length = length.clone();
        reading.tolerate_member(named, "a number is read as a list of one axis")?;
        object.insert(member, Json::Array(vec![length]));
    }
    Ok(())
}

/// Gives names to the fields that NumPy's records have for their padding, as NumPy does where it reads them.
fn padding_fields(object: &mut Object, reading: &mut Reading<'_>) -> Corrected {
    let Some(Json::Array(fields)) = object.get("dtype") else { return Ok(()) };
    let mut named = Vec::new();
    let mut fields = fields.clone();
    name_fields(&mut fields, 0, &mut named);
    if named.is_empty() {
        return Ok(());
    }
    let what = format!(
        "a record's padding is a field without a name; taken as `{}`, as NumPy names it",
        named.join("`, `")
    );
    reading.tolerate_member("dtype", &what)?;
    object.insert("dtype", Json::Array(fields));
    Ok(())
}

fn name_fields(fields: &mut [Json], depth: usize, named: &mut Vec<String>) {
    // Deeper ones are refused (Z2-035).
    if depth > crate::data_type::MAX_RECORD_DEPTH {
        return;
    }
    let mut names: std::collections::HashSet<String> = fields
        .iter()
        .filter_map(|field| field.as_array()?.first()?.as_str().map(str::to_owned))
        .collect();
    for (at, field) in fields.iter_mut().enumerate() {
        let Json::Array(items) = field else { continue };
        if let Some(Json::Array(inner)) = items.get_mut(1) {
            name_fields(inner, depth + 1, named);
        }
        let is_void = items
            .get(1)
            .and_then(Json::as_str)
            .is_some_and(|kind| kind.trim_start_matches(['<', '>', '|', '=']).starts_with('V'));
        if is_void && items[0].as_str() == Some("") {
            let mut name = format!("f{at}");
            while !names.insert(name.clone()) {
                name.push('_');
            }
            items[0] = Json::from(name.as_str());
            named.push(name);
        }
    }
}

/// Texts and bytes that zarr-python 3.0.0 to 3.0.10 stored by `vlen-utf8` and `vlen-bytes`, as objects are, and called
/// `<U4`, `|S4` and `|V4`, which no other reader opens (Z2-040).
fn texts_of_any_length(object: &mut Object, reading: &mut Reading<'_>) -> Corrected {
    let Some(typestr) = object.get("dtype").and_then(Json::as_str) else { return Ok(()) };
    let kind = typestr.trim_start_matches(['<', '>', '|', '=']).chars().next();
    let filter = match (kind, first_filter(object)) {
        (Some('U'), Some("vlen-utf8")) => "vlen-utf8",
        (Some('S' | 'V'), Some("vlen-bytes")) => "vlen-bytes",
        _ => return Ok(()),
    };
    let what = format!("`{typestr}` is read as the objects (`|O`) that `{filter}` stores");
    reading.tolerate_member("dtype", &what)?;
    object.insert("dtype", "|O");
    Ok(())
}

/// A fill value of texts or bytes of any length that is neither: zarr-python 2 took any object, and used it where no chunk is stored.
fn fill_of_any_length(object: &mut Object, reading: &mut Reading<'_>) -> Corrected {
    if object.get("dtype").and_then(Json::as_str) != Some("|O") {
        return Ok(());
    }
    let Some(fill) = object.get("fill_value") else { return Ok(()) };
    let is_of_another_type = match (first_filter(object), fill) {
        (Some("vlen-utf8" | "vlen-bytes"), Json::Number(number)) => &**number != "0",
        (Some("vlen-utf8" | "vlen-bytes"), Json::Bool(_)) => true,
        // Three letters are no base64.
        (Some("vlen-bytes"), Json::String(text)) => text == "NaN",
        _ => {
            fill.has_bare_floats() && first_filter(object).is_some_and(|id| id.starts_with("vlen-"))
        }
    };
    if !is_of_another_type {
        return Ok(());
    }
    let what = format!("{} is not of the array's type; taken as null", fill.brief());
    reading.tolerate_member("fill_value", &what)?;
    object.insert("fill_value", Json::Null);
    Ok(())
}

/// The `id` of the first filter of a `.zarray`.
fn first_filter(object: &Object) -> Option<&str> {
    let filters = object.get("filters")?.as_array()?;
    filters.first()?.as_object()?.get("id")?.as_str()
}

/// A list of one where an element is due, as netcdf-c 4.8 wrote fill values.
fn fill_in_list(object: &mut Object, core: Option<Scalar>, reading: &mut Reading<'_>) -> Corrected {
    if matches!(core, Some(Scalar::Complex(_))) {
        return Ok(());
    }
    let Some(Json::Array(items)) = object.get("fill_value") else { return Ok(()) };
    let [element @ (Json::Number(_) | Json::String(_) | Json::Bool(_))] = &items[..] else {
        return Ok(());
    };
    let element = element.clone();
    reading.tolerate_member("fill_value", "a list of one is read as the element in it")?;
    object.insert("fill_value", element);
    Ok(())
}

/// A number that is written as text, as `false`, or as a bare `NaN`; a bool that is written as a number.
fn fill_of_number(object: &mut Object, core: Scalar, reading: &mut Reading<'_>) -> Corrected {
    let Some(fill) = object.get("fill_value") else { return Ok(()) };
    let is_number = matches!(core, Scalar::Int(_) | Scalar::Uint(_) | Scalar::Float(_));
    let (what, corrected) = match fill {
        Json::String(text) if is_number => match Json::parse(text.as_bytes()) {
            Ok(number @ Json::Number(_)) => ("a number is written as a string", number),
            _ => return Ok(()),
        },
        Json::Bool(false) if is_number => ("`false` is read as zero", zero(core)),
        Json::Number(number) if core == Scalar::Bool && (&**number == "0" || &**number == "1") => {
            ("a bool is `true` or `false`, not a number", Json::Bool(&**number == "1"))
        }
        bare if bare.has_bare_floats() => {
            let what = "bare `NaN` or `Infinity` is not JSON; it is read as a string";
            (what, bare.clone().into_standard())
        }
        _ => return Ok(()),
    };
    reading.tolerate_member("fill_value", what)?;
    object.insert("fill_value", corrected);
    Ok(())
}

/// The name of a codec, which may be all that the document has of it.
fn codec_name(codec: &Json) -> &str {
    codec.get("name").unwrap_or(codec).as_str().unwrap_or_default()
}

/// The codecs of GDAL 3.8 to 3.10, which left out `bytes` and wrote the order of a `transpose` as v2 does.
fn v3_codecs(object: &mut Object, reading: &mut Reading<'_>) -> Corrected {
    const ON_BYTES: [&str; 5] = ["blosc", "crc32c", "gzip", "zlib", "zstd"];
    let mut codecs = match object.get("codecs") {
        None => Vec::new(),
        Some(Json::Array(codecs)) => codecs.clone(),
        Some(_) => return Ok(()),
    };
    let rank = object.get("shape").and_then(Json::as_array).map_or(0, <[Json]>::len) as u64;
    let mut is_changed = false;
    for codec in &mut codecs {
        let Json::Object(members) = codec else { continue };
        let is_transpose = members.get("name").and_then(Json::as_str) == Some("transpose");
        let Some(Json::Object(configuration)) = members.get("configuration") else { continue };
        let order: Json = match configuration.get("order").and_then(Json::as_str) {
            Some("C") if is_transpose => (0..rank).map(Json::from).collect(),
            Some("F") if is_transpose => (0..rank).rev().map(Json::from).collect(),
            _ => continue,
        };
        let what = "transpose: a letter is read as the list of axes in their order";
        reading.tolerate_member("codecs", what)?;
        let configuration = configuration.clone().with("order", order);
        members.insert("configuration", configuration);
        is_changed = true;
    }
    let on_arrays = codecs.iter().take_while(|codec| codec_name(codec) == "transpose").count();
    // An empty list is no writer's.
    let is_empty_list = codecs.is_empty() && object.contains("codecs");
    let are_on_bytes =
        codecs[on_arrays..].iter().all(|codec| ON_BYTES.contains(&codec_name(codec)));
    if are_on_bytes && !is_empty_list {
        let what = "no codec makes bytes of the elements; they are taken as little-endian `bytes`";
        reading.tolerate_member("codecs", what)?;
        let configuration = Object::new().with("endian", "little");
        codecs.insert(on_arrays, Object::extension("bytes", configuration).into());
        is_changed = true;
    }
    if is_changed {
        object.insert("codecs", codecs);
    }
    Ok(())
}

/// A document of v2 as it is corrected, its name being the last segment of its key; `None` if there is nothing to correct.
pub(super) fn corrected_v2(name: &str, bytes: &[u8], registry: &Registry) -> Option<Correction> {
    corrected(bytes, registry, |object, own, copies| {
        if name != ".zmetadata" {
            return v2_document(name, object, own);
        }
        let Some(Json::Object(metadata)) = object.get("metadata") else { return Ok(()) };
        let corrected = each(metadata, "", copies, |key, copy, reading| {
            v2_document(key.rsplit('/').next().unwrap_or_default(), copy, reading)
        })?;
        object.insert("metadata", corrected);
        Ok(())
    })
}

/// Corrects a document of this name.
fn v2_document(name: &str, object: &mut Object, reading: &mut Reading<'_>) -> Corrected {
    match name {
        ".zarray" => v2_array(object, reading),
        ".zgroup" => version(object, "2", reading),
        _ => Ok(()),
    }
}

/// A `zarr.json` of final v3 as it is corrected, the copies of other documents in it as well; `None` if there is nothing
/// to correct.
pub(super) fn corrected_v3(bytes: &[u8], registry: &Registry) -> Option<Correction> {
    corrected(bytes, registry, |object, own, copies| {
        v3_node(object, own)?;
        v3_copies(object, "", copies)
    })
}

/// Corrects the consolidated metadata of a group, those in its copies of groups as well.
fn v3_copies(object: &mut Object, folder: &str, reading: &mut Reading<'_>) -> Corrected {
    let Some(Json::Object(inline)) = object.get(INLINE) else { return Ok(()) };
    let Some(Json::Object(metadata)) = inline.get("metadata") else { return Ok(()) };
    let corrected = each(metadata, folder, reading, |path, copy, reading| {
        v3_node(copy, reading)?;
        v3_copies(copy, &format!("{folder}{path}/"), reading)
    })?;
    let inline = inline.clone().with("metadata", corrected);
    object.insert(INLINE, inline);
    Ok(())
}

/// Corrects each of the copies of documents. The warnings name the copy.
fn each(
    copies: &Object,
    folder: &str,
    reading: &mut Reading<'_>,
    mut correct: impl FnMut(&str, &mut Object, &mut Reading<'_>) -> Corrected,
) -> Result<Object, MetadataError> {
    let mut corrected = Vec::with_capacity(copies.len());
    for (name, copy) in copies.iter() {
        let mut copy = copy.clone();
        if let Json::Object(members) = &mut copy {
            let before = reading.warnings.len();
            correct(name, members, reading)?;
            for warning in &mut reading.warnings[before..] {
                if !warning.starts_with("the copy of ") {
                    *warning = format!("the copy of `{folder}{name}`: {warning}");
                }
            }
        }
        corrected.push((name.to_owned(), copy));
    }
    Ok(corrected.into_iter().collect())
}

fn corrected(
    bytes: &[u8],
    registry: &Registry,
    correct: impl FnOnce(&mut Object, &mut Reading<'_>, &mut Reading<'_>) -> Corrected,
) -> Option<Correction> {
    let (json, odd) = Json::parse_tolerant(bytes).ok()?;
    let Json::Object(mut object) = json else { return None };
    // Which of two members with one name was meant, nobody knows.
    if !odd.duplicates.is_empty() {
        return None;
    }
    let mut own = Reading::new(registry, Strictness::Tolerant);
    let mut copies = Reading::new(registry, Strictness::Tolerant);
    correct(&mut object, &mut own, &mut copies).ok()?;
    let is_odd = odd.byte_order_mark || odd.lone_surrogates;
    if own.warnings.is_empty() && copies.warnings.is_empty() && !is_odd {
        return None;
    }
    let document = document(object, &JsonEncoding).ok()?;
    Some(Correction { document, in_copies: copies.warnings })
}
