//! Makes the definition of a variable from the documents of its array.

use zarr_core::data_type::DataType;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{Dialect, Error, Json, MetadataError, Result, Strictness};

use crate::documents::load::{FoundArray, Loader};
use crate::documents::node_attributes::NodeAttributes;
use crate::documents::node_documents::ArrayDocument;
use crate::documents::{filter, infer};
use crate::model::name::full_name;
use crate::model::options::Profile;
use crate::model::root::Root;
use crate::model::schema::{Attribute, Storage, Variable};
use crate::model::types::Type;
use crate::model::values::{Values, is_identical};
use crate::model::{attribute, elements};

impl Loader<'_> {
    /// The variable that an array is.
    pub(super) fn variable(
        &mut self,
        root: &mut Root,
        group: &str,
        name: &str,
        FoundArray { array, document, notes, .. }: &FoundArray,
        is_file: bool,
    ) -> Result<(Variable, Values)> {
        let metadata = array.metadata();
        let path = array.path();
        let at = |e: MetadataError| Error::from(e).at_path(path);
        let alias = document.as_ref().and_then(|document| document.alias);
        // Bytes one by one are the `char` of a netCDF file.
        let is_char = is_file && metadata.data_type == DataType::FixedBytes { len: 1 };
        let alias = if is_char { Some(Type::Char) } else { alias };
        let ty = elements::type_of(&metadata, alias, self.conventions).map_err(|why| {
            let unsupported = zarr_core::Unsupported {
                what: "data type",
                name: metadata.data_type.to_string(),
                hint: why,
            };
            at(unsupported.into())
        })?;
        let dimensions = match document {
            Some(document) => references(root, document, &metadata).map_err(at)?,
            None => self.inferred(root, group, name, &metadata).map_err(at)?,
        };
        let node_attributes = NodeAttributes::read(&metadata.attributes, notes);
        let (mut attributes, mut troubles) =
            node_attributes.attributes(self.profile == Profile::Legacy);
        // The fill value is read below, in the variable's type.
        troubles.retain(|trouble| !trouble.starts_with("attribute `_FillValue` "));
        self.warn(&full_name(group, name), troubles);
        self.warn_of_hidden(&full_name(group, name), &metadata.attributes);
        let fill = elements::fill(&metadata, ty);
        let declared = node_attributes.json("_FillValue");
        if declared.is_some() && is_char {
            // The attribute of a byte is in base64, or no text.
            set(&mut attributes, "_FillValue", Some(fill.clone()));
        } else if declared.is_some() && !metadata.attributes.contains("_FillValue") {
            set(&mut attributes, "_FillValue", Some(fill.clone()));
        } else if let Some(json) = declared {
            match attribute::fill_from_json(json, ty) {
                Ok(value) => set(&mut attributes, "_FillValue", Some(value)),
                Err(why) if self.profile == Profile::Pure => {
                    self.warn(
                        &full_name(group, name),
                        vec![format!("`_FillValue`: {why}; left out")],
                    );
                    set(&mut attributes, "_FillValue", None);
                }
                Err(why) => return Err(at(MetadataError::invalid("_FillValue", why))),
            }
        }
        // N-054: the fill value is the missing value, but for final v3, which knows it from the attribute.
        let dialect = self.hierarchy.dialect();
        let masks_fill =
            dialect != Dialect::V3 && metadata.fill_value.is_some() && ty != Type::Bool;
        // netCDF has no fill value for complex numbers, which readers would mask without a word.
        let is_default = ty.is_atomic() && is_identical(&fill, &ty.default_fill());
        // netCDF masks its default fill value without an attribute. xarray masks the fill value of plain Zarr, but that of a netCDF
        // file only if the attribute is there: packed numbers, which xarray writes with one, keep it.
        let is_packed = attributes
            .iter()
            .any(|attribute| ["scale_factor", "add_offset"].contains(&&*attribute.name));
        let is_implied = self.profile != Profile::Pure || !is_packed;
        let is_usual = is_default && is_implied;
        if masks_fill && declared.is_none() && !is_usual {
            attributes.push(Attribute { name: "_FillValue".into(), value: fill.clone() });
        } else if masks_fill && declared.is_some() && self.profile == Profile::Pure {
            // As xarray has it.
            set(&mut attributes, "_FillValue", Some(fill.clone()));
        }
        let masked = attributes.iter().find(|attribute| attribute.name == "_FillValue");
        let masked = masked.map_or_else(|| ty.default_fill(), |masked| masked.value.clone());
        // An attribute without a note tells xarray the default fill value; it is none of netCDF's.
        let is_hint = dialect == Dialect::V3
            && self.profile != Profile::Pure
            && declared.is_some()
            && !notes.iter().any(|(noted, _)| noted == "_FillValue")
            && is_identical(&masked, &fill)
            && is_identical(&masked, &ty.default_fill());
        if is_hint {
            set(&mut attributes, "_FillValue", None);
        }
        let differs = is_hint || (dialect == Dialect::V3 && !is_identical(&masked, &fill));
        let is_scalar = dimensions.is_empty();
        // Only Zarr knows shards.
        let flat = ArrayMetadata::clone(&metadata).unsharded();
        let storage = Storage {
            chunks: flat.chunk_shape().filter(|_| !is_scalar).unwrap_or_default(),
            contiguous: false,
            endian: metadata.data_type.has_byte_order().then(|| metadata.endian()),
            filters: filter::of(&flat),
            default_filters: false,
            no_fill: metadata.fill_value.is_none(),
            unwritten: differs.then(|| fill.clone()),
            shard_bytes: None,
            text: None,
        };
        Ok((Variable { name: name.to_owned(), ty, dimensions, attributes, storage }, fill))
    }

    /// The dimensions of an array without a document of netCDF.
    fn inferred(
        &mut self,
        root: &mut Root,
        group: &str,
        name: &str,
        metadata: &ArrayMetadata,
    ) -> Result<Vec<String>, MetadataError> {
        let xarray = self.options.xarray;
        let names = metadata.attributes.get("_ARRAY_DIMENSIONS").and_then(Json::as_array);
        if metadata.rank() == 0 {
            // A scalar has no dimensions; names other than `_scalar_` contradict its shape (N-023).
            return match names.filter(|names| !names.is_empty() && xarray) {
                None => Ok(Vec::new()),
                Some([Json::String(name)]) if name == "_scalar_" => Ok(Vec::new()),
                Some(_) => {
                    let why = "is empty, and `_ARRAY_DIMENSIONS` names dimensions";
                    Err(MetadataError::invalid("shape", why))
                }
            };
        }
        if xarray && infer::is_scalar_of_length_1(metadata) {
            return Ok(Vec::new());
        }
        let mut troubles = Vec::new();
        let names = infer::names(metadata, self.hierarchy.dialect(), xarray, &mut troubles);
        let share = self.options.share_dimensions || self.profile != Profile::Pure;
        let dimensions =
            infer::dimensions(root, group, &names, &metadata.shape, share, &mut troubles);
        let strict = self.options.zarr.options.strictness == Strictness::Strict;
        if let (true, Some(what)) = (strict, troubles.first()) {
            return Err(MetadataError::invalid("_ARRAY_DIMENSIONS", what.clone()));
        }
        self.warn(&full_name(group, name), troubles);
        Ok(dimensions)
    }
}

/// N-014: every reference names a dimension of the axis' length.
fn references(
    root: &Root,
    document: &ArrayDocument,
    metadata: &ArrayMetadata,
) -> Result<Vec<String>, MetadataError> {
    let wrong = |why: String| MetadataError::invalid("_nczarr_array", why);
    if document.scalar {
        return if metadata.shape.contains(&0) {
            Err(wrong(format!("a scalar has one element; the shape is {:?}", metadata.shape)))
        } else {
            Ok(Vec::new())
        };
    }
    let (named, rank) = (document.references.len(), metadata.rank());
    if named != rank {
        return Err(wrong(format!("{named} dimensions are named for {rank} axes")));
    }
    for (axis, reference) in document.references.iter().enumerate() {
        let group = reference.rsplit_once('/').map_or("", |(group, _)| group);
        if !reference.starts_with('/') || root.group(group).is_none() {
            return Err(wrong(format!("dimension `{reference}` is in no group")));
        }
        let Some(dimension) = root.dimension(reference) else {
            return Err(wrong(format!("dimension `{reference}` is not declared")));
        };
        let len = metadata.shape[axis];
        if !dimension.unlimited && dimension.len != len {
            let due = dimension.len;
            return Err(wrong(format!(
                "dimension `{reference}` has length {due}, axis {axis} of the array {len}"
            )));
        }
    }
    // As the groups write them.
    Ok(document
        .references
        .iter()
        .map(|name| root.dimension_path(name).unwrap_or_else(|| name.clone()))
        .collect())
}

/// Sets or takes away an attribute.
fn set(attributes: &mut Vec<Attribute>, name: &str, value: Option<Values>) {
    match value {
        None => attributes.retain(|attribute| attribute.name != name),
        Some(value) => {
            if let Some(found) = attributes.iter_mut().find(|attribute| attribute.name == name) {
                found.value = value;
            }
        }
    }
}
