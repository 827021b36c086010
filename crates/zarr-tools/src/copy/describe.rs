//! Describes the copy of an array as metadata of the target.

use std::sync::Arc;

use zarr_core::codec::{ChunkContext, Codec, CodecSpec};
use zarr_core::data_type::CoreType;
use zarr_core::format::Documents;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::store::GetOptions;
use zarr_core::{
    AccessError, Array, Dialect, Error, Hierarchy, Json, MetadataError, NodePath, Object, Result,
    missing_value,
};

use super::check::{WAYS_OUT, with_way_out};
use super::elements::{Holes, holes};
use super::node_copy::without_netcdf;
use super::{CopyOptions, Steps, as_stored, attributes_for};
use crate::ome::{Levels, Naming};

/// The copy of an array.
pub(super) struct Described {
    /// Its metadata, as the target writes it.
    pub metadata: ArrayMetadata,
    /// Whether chunks of nothing but the source's fill value stay unstored, though the copy's is undefined.
    pub leaves_holes: bool,
    /// What is lost.
    pub not_kept: Option<String>,
    /// What the target writes otherwise, with nothing lost.
    pub note: Option<String>,
    /// What became of the names of its axes, if it is a level of an OME-Zarr image.
    pub naming: Option<Naming>,
    /// The selected elements of the source, axis by axis, if not all.
    pub region: Option<Vec<Steps>>,
    /// Bytes of the temporary file that the copy makes at most.
    pub spool: u64,
    /// The source's own documents, if this build does not understand all that they say.
    pub verbatim: Option<Documents>,
}

/// Bytes of elements in all.
pub(super) fn size(metadata: &ArrayMetadata) -> u64 {
    let element = metadata.data_type.repr().map_or(1, |repr| repr.size() as u64);
    zarr_core::region::element_count(&metadata.shape).unwrap_or(u64::MAX).saturating_mul(element)
}

/// The codec that makes bytes of elements where nothing else does: `bytes`, or what objects have in its place.
fn serializer(metadata: &ArrayMetadata) -> Option<CodecSpec> {
    let is_variable = metadata.data_type.is_variable();
    let mut codecs = metadata.codecs.iter();
    let found = codecs
        .find(|spec| spec.name == "bytes" || is_variable && spec.name != "transpose")
        .cloned();
    if is_variable {
        return found;
    }
    let mut bytes = found.unwrap_or_else(|| CodecSpec::v3("bytes", Object::new()));
    // The codecs before it may have made single bytes of elements.
    if metadata.data_type.has_byte_order() && !bytes.configuration.contains("endian") {
        bytes.configuration.insert("endian", "little");
    }
    Some(bytes)
}

/// The metadata of an array in `target` that is like another one, with other chunks, shards and codecs if the options ask for
/// them; the other options are not looked at. An array whose axes have names keeps its missing value.
///
/// # Errors
/// [`MetadataError::CannotRepresent`](zarr_core::MetadataError::CannotRepresent) for what the target's dialect cannot represent;
/// [`AccessError::Argument`] for chunks of another rank.
pub fn metadata_like(
    array: &Array,
    target: &Hierarchy,
    options: &CopyOptions<'_>,
) -> Result<ArrayMetadata> {
    let (from, to) = (array.hierarchy().dialect(), target.dialect());
    let mut metadata = (*array.metadata()).clone();
    for given in [&options.chunks, &options.shards].into_iter().flatten() {
        if given.len() != metadata.rank() {
            let (given, rank) = (given.len(), metadata.rank());
            let why = format!("a chunk has {given} lengths, the array {rank} axes");
            return Err(AccessError::Argument(why).into());
        }
    }
    if metadata.dimension_names.is_some() {
        missing_value::convert(&mut metadata, from, to);
        if from != Dialect::V3 && to == Dialect::V3 {
            metadata.attributes.remove("_ARRAY_DIMENSIONS");
        }
    }
    metadata.attributes = attributes_for(metadata.attributes, from, target);
    in_words_of(target, array, metadata, options)
}

/// The copy of an array, `is_variable` if netCDF and xarray take the array for one. `levels` name the axes of those of images.
pub(super) fn describe(
    array: &Array,
    target: &Hierarchy,
    is_variable: bool,
    levels: &Levels,
    options: &CopyOptions<'_>,
) -> Result<Described> {
    let (from, to) = (array.hierarchy().dialect(), target.dialect());
    let mut described = Described {
        metadata: (*array.metadata()).clone(),
        leaves_holes: false,
        not_kept: None,
        note: None,
        naming: None,
        region: options.regions.get(array.path()).cloned(),
        spool: 0,
        verbatim: None,
    };
    if let Some(region) = &described.region {
        cut(&mut described.metadata, region, options)?;
    }
    if is_variable {
        keep_missing_value(array, to, &mut described)?;
        // xarray opens no dataset of v2 with a scalar that does not say that it has no axes.
        if described.metadata.rank() == 0 && to != Dialect::V3 {
            described.metadata.dimension_names.get_or_insert_default();
        }
    }
    if from != Dialect::V3 && to == Dialect::V3 && described.metadata.dimension_names.is_some() {
        // The document of final v3 has a member for them.
        described.metadata.attributes.remove("_ARRAY_DIMENSIONS");
    }
    if to == Dialect::V3 {
        let metadata = &mut described.metadata;
        described.naming = levels.name_axes(array.path(), metadata);
    }
    described.metadata.attributes = attributes_for(described.metadata.attributes, from, target);
    described.metadata = in_words_of(target, array, described.metadata, options)?;
    if from == Dialect::V2 && to == Dialect::V2 {
        described.metadata.unknown = without_netcdf(&array.metadata().unknown);
    }
    if from == Dialect::V2 && to == Dialect::V3 && !options.keep_keys {
        described.metadata.use_default_keys();
    }
    Ok(described)
}

/// The copy of an array of which this build does not understand all, such as one with an unknown codec: its documents and its
/// stored objects as they are. `None` if all is understood, or if the copy has to differ.
pub(super) fn describe_verbatim(
    array: &Array,
    target: &Hierarchy,
    to: &NodePath,
    options: &CopyOptions<'_>,
) -> Result<Option<Described>> {
    let (metadata, from) = (array.metadata(), array.hierarchy());
    let mut unknown = metadata.unsupported.clone();
    if unknown.is_empty()
        && let Err(MetadataError::Unsupported(lack)) =
            metadata.chain(from.registry(), from.dialect())
    {
        unknown.push(lack);
    }
    let rank = metadata.rank();
    let differs = options.recode
        || options.codecs.is_some()
        || has_rank(&options.chunks, rank)
        || has_rank(&options.shards, rank)
        || options.regions.contains_key(array.path());
    let is_same_format = from.format_name() == target.format_name() && from.era() == target.era();
    if unknown.is_empty() || differs || !is_same_format {
        return Ok(None);
    }
    let store = from.store().to_sync();
    // Then all keys below the array are copied.
    if as_stored::has_unknown_keys(&metadata) && !store.capabilities().list {
        return Ok(None);
    }
    let keys = from.format().document_keys(array.path())?;
    let new_keys = target.format().document_keys(to)?;
    let mut documents = Documents::new();
    for (key, new_key) in keys.iter().zip(new_keys) {
        let got = store.get(key, GetOptions::at_most(from.options().limits.document));
        let got = got.map_err(|e| Error::from(e).at_store(store.name()).at_key(key))?;
        if let Some(bytes) = got.and_then(|got| got.bytes) {
            documents.push((new_key, bytes));
        }
    }
    if documents.is_empty() {
        // It is described in consolidated metadata only.
        return Ok(None);
    }
    let unknown = unknown.iter().map(|lack| format!("{} `{}`", lack.what, lack.name));
    let unknown: Vec<_> = unknown.collect();
    Ok(Some(Described {
        metadata: (*metadata).clone(),
        leaves_holes: true,
        not_kept: None,
        note: Some(format!("unknown {}; copied as it is stored", unknown.join(", "))),
        naming: None,
        region: None,
        spool: 0,
        verbatim: Some(documents),
    }))
}

/// Whether a shape is given, of as many axes.
fn has_rank(shape: &Option<Vec<u64>>, rank: usize) -> bool {
    shape.as_ref().is_some_and(|shape| shape.len() == rank)
}

/// Gives the copy the fill value and the attribute that keep the missing value (docs/internals/design/missing-data.md).
/// Chunks that were never stored and would change their value are written, up to a quarter of all; where there are more of
/// them, the fill value stays.
fn keep_missing_value(array: &Array, to: Dialect, described: &mut Described) -> Result<()> {
    let from = array.hierarchy().dialect();
    let source = array.metadata();
    let metadata = &mut described.metadata;
    described.not_kept = missing_value::convert(metadata, from, to);
    let old = source.fill_bytes();
    let is_same = match &metadata.fill_value {
        Some(fill) => fill.as_bytes() == old,
        None => source.fill_value.is_none() || to == Dialect::V3,
    };
    if is_same {
        return Ok(());
    }
    let Holes { count, total, few } = holes(array)?;
    if few {
        return Ok(());
    }
    let so_many = format!("{count} of {total} chunks were never stored");
    if metadata.fill_value.is_none() && metadata.fill_bytes() == old {
        // What has no value reads as zeros in xarray, in tensorstore and here, and times as NaT.
        let why = "zarr-python 2 reads undefined elements there, because the copy in v2 has no fill value";
        described.note = Some(format!("{so_many}; {why}"));
        described.leaves_holes = true;
        return Ok(());
    }
    let masked = source.declared_fill.brief();
    let what = match source.attributes.get(missing_value::FILL_VALUE) {
        Some(missing) => format!("the missing value {}", missing.brief()),
        None => format!("that {masked} is a value, not a missing one"),
    };
    let why = format!("{so_many}, and readers of {to} mask their fill value {masked}");
    described.not_kept = Some(format!("{what}; {why}"));
    metadata.fill_value = source.fill_value.clone();
    if let Some(missing) = source.attributes.get(missing_value::FILL_VALUE) {
        metadata.attributes.insert(missing_value::FILL_VALUE, missing.clone());
    }
    Ok(())
}

/// Codecs that only the formats have which are read in place: no other reader of Zarr would open a copy with them.
const CODECS_OF_OTHER_FORMATS: [&str; 5] =
    ["hdf5.bitshuffle", "hdf5.lz4", "imagecodecs_lzf", "n5_default", "n5:lz4"];

/// Whether an array is in another format that is read in place, and its chunks are encoded as only that format has them.
fn has_codecs_of_another_format(array: &Array) -> bool {
    let store = array.hierarchy().store().name();
    let is_in_place = ["n5:", "hdf5:"].iter().any(|chain| store.starts_with(chain));
    is_in_place
        && array
            .metadata()
            .codecs
            .iter()
            .any(|spec| CODECS_OF_OTHER_FORMATS.contains(&spec.name.as_str()))
}

/// The metadata as the target writes it, with other chunks, shards and codecs if they are asked for.
fn in_words_of(
    target: &Hierarchy,
    array: &Array,
    mut metadata: ArrayMetadata,
    options: &CopyOptions<'_>,
) -> Result<ArrayMetadata, Error> {
    let registry = target.registry();
    if options.codecs.is_none() && has_codecs_of_another_format(array) {
        let turns = metadata.codecs.iter().filter(|spec| spec.name == "transpose").cloned();
        let default = crate::shorthand::default_codecs(target, metadata.rank());
        metadata.codecs = turns.chain(serializer(&metadata)).chain(default).collect();
    }
    let rechunked = options.chunks.is_some() || options.shards.is_some();
    if rechunked || options.codecs.is_some() || target.dialect() != Dialect::V3 {
        metadata = metadata.unsharded();
    }
    if let Some(chunks) = options.chunks.as_ref().filter(|chunks| chunks.len() == metadata.rank()) {
        let grid = zarr_core::grid::RegularGrid::new(chunks, &metadata.shape)?;
        metadata.grid = Some(Arc::new(grid));
    }
    if let Some(codecs) = &options.codecs {
        let bytes = serializer(&metadata);
        // The order of axes stays; everything else is what was asked for.
        let turns = metadata.codecs.iter().filter(|spec| spec.name == "transpose").cloned();
        let mut chain: Vec<_> = turns.chain(bytes).collect();
        let data_type = metadata.data_type.clone();
        let data_type = if data_type.is_variable() { CoreType::Uint8.into() } else { data_type };
        let context = ChunkContext::new(data_type, metadata.chunk_extent());
        for text in codecs {
            let spec = crate::codec(text)?;
            // With every parameter said, as in what a builder creates.
            let codec = registry.build_codec(&spec, &context).map_err(|e| match e {
                // What the caller asked for is no fault of a document.
                MetadataError::Invalid { .. } => AccessError::Argument(e.to_string()).into(),
                e => Error::from(e),
            })?;
            if let Codec::ArrayToBytes(_) = codec {
                chain.retain(|spec| spec.name != "bytes");
            }
            chain.push(codec.to_metadata(Dialect::V3).unwrap_or(spec));
        }
        metadata.codecs = chain;
        if metadata.attributes.get("filters").is_some_and(|f| matches!(f, Json::Array(_)))
            && array.hierarchy().dialect() == Dialect::Draft
        {
            metadata.attributes.remove("filters");
        }
    }
    if target.dialect() == Dialect::Draft && metadata.rank() == 0 {
        // zarr-python 2.18 reads no compressed scalars; an element needs no codec.
        metadata.codecs = serializer(&metadata).into_iter().collect();
    }
    let metadata = metadata.converted_to(target.dialect(), registry);
    let metadata = metadata.map_err(|e| with_way_out(e.into()))?;
    if let Ok(chain) = metadata.chain(registry, target.dialect()) {
        chain.check_encodes().map_err(|e| Error::from(e).with_hint(WAYS_OUT))?;
    }
    match options.shards.as_ref().filter(|shards| shards.len() == metadata.rank()) {
        Some(shards) if target.dialect() == Dialect::V3 => {
            metadata.sharded(shards).map_err(|e| AccessError::Argument(e.to_string()).into())
        }
        Some(_) => {
            let why = format!("{} has no shards; copy into v3", target.format_name());
            Err(AccessError::Argument(why).into())
        }
        None => Ok(metadata),
    }
}

/// The selected part of an array's metadata.
///
/// # Errors
/// [`AccessError::Argument`] for a region of another rank, outside the array, or of an array whose chunks have no one shape.
fn cut(metadata: &mut ArrayMetadata, region: &[Steps], options: &CopyOptions<'_>) -> Result<()> {
    if region.len() != metadata.rank() {
        return Err(argument("the region has another number of axes than the array"));
    }
    if region.iter().zip(&metadata.shape).any(|(steps, len)| !steps.is_within(*len)) {
        return Err(argument("the region leaves the array"));
    }
    let lacks_keys =
        metadata.unsupported.iter().find(|lack| !matches!(lack.what, "codec" | "data type"));
    if let Some(lack) = lacks_keys {
        return Err(MetadataError::Unsupported(lack.clone()).into());
    }
    let chunks = metadata.grid.as_ref().and_then(|grid| grid.chunk_shape());
    let chunks = chunks.or_else(|| options.chunks.clone());
    let chunks = chunks.ok_or_else(|| {
        argument(
            "a region of an array whose chunks differ in shape cannot be copied; give --chunks",
        )
    })?;
    metadata.shape = region.iter().map(|steps| steps.len).collect();
    metadata.grid = Some(Arc::new(zarr_core::grid::RegularGrid::new(&chunks, &metadata.shape)?));
    Ok(())
}

/// The error of a region that cannot be cut out.
fn argument(why: &str) -> Error {
    AccessError::Argument(why.into()).into()
}
