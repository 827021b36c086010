//! What the codecs of an array make of its metadata: its chain, its shards, and the same array in another dialect.

use std::sync::Arc;

use super::convert::{
    BYTES, N5_KEYS, SHARDING, bytes_codec, check_chunk_keys, convert_codecs, first_on_bytes,
    holds_n5_blocks, stored_endian,
};
use super::{ChunkContext, CodecChain, CodecSpec};
use crate::data_type::{CoreType, DataType, Endian, FillValue, record_json};
use crate::dialect::Dialect;
use crate::error::MetadataError;
use crate::grid::{ChunkKeys, RegularGrid};
use crate::json::{Json, Object};
use crate::metadata::ArrayMetadata;
use crate::registry::Registry;

/// The most lengths of chunks that are checked with the codecs when the array is opened; others are checked as they are
/// read.
const MAX_LENGTHS_CHECKED: usize = 4096;

impl ArrayMetadata {
    /// Plain metadata of an array that is to be created, with chunks of one shape, stored in C order by `bytes` without
    /// other codecs, filled with zeros.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] for a chunk shape that does not fit.
    pub fn new(
        shape: &[u64],
        data_type: DataType,
        chunk_shape: &[u64],
    ) -> Result<ArrayMetadata, MetadataError> {
        let grid = RegularGrid::new(chunk_shape, shape)?;
        let fill_value = data_type.repr().map(FillValue::zero_of);
        Ok(ArrayMetadata {
            shape: shape.to_vec(),
            codecs: vec![bytes_codec(&data_type, Endian::Little)],
            data_type,
            declared_type: Json::Null,
            grid: Some(Arc::new(grid)),
            chunk_keys: ChunkKeys::Default { separator: '/' },
            fill_value,
            declared_fill: Json::Null,
            attributes: Object::new(),
            dimension_names: None,
            unknown: Object::new(),
            shards: None,
            unsupported: Vec::new(),
        })
    }

    /// The grid, the chain and the representation: all that reading and writing need.
    ///
    /// # Errors
    /// [`MetadataError::Unsupported`] naming what this build lacks.
    pub fn chain(
        &self,
        registry: &Registry,
        dialect: Dialect,
    ) -> Result<CodecChain, MetadataError> {
        if let Some(obstacle) = self.unsupported.first() {
            return Err(obstacle.clone().into());
        }
        check_chunk_keys(self)?;
        let first = self.chunk_extent();
        let mut left = MAX_LENGTHS_CHECKED;
        for axis in 0..first.len() {
            let lengths = self.grid.as_ref().map(|grid| grid.stored_lengths(axis));
            let others = lengths.unwrap_or_default().into_iter().filter(|&len| len != first[axis]);
            for length in others.take(left) {
                let mut shape = first.clone();
                shape[axis] = length;
                self.chain_for(shape, registry)?;
                left -= 1;
            }
        }
        Ok(self.chain_for(first, registry)?.accept_nonzero_bools(dialect != Dialect::V3))
    }

    /// The chain for chunks of this shape.
    fn chain_for(&self, shape: Vec<u64>, registry: &Registry) -> Result<CodecChain, MetadataError> {
        let context = ChunkContext::new(self.data_type.clone(), shape).with_fill(Some(self.fill()));
        CodecChain::build(&self.codecs, &context, registry)
    }

    /// The byte order in which elements are stored, where the chain says one.
    pub fn endian(&self) -> Endian {
        stored_endian(&self.codecs)
    }

    /// Gives the array the default chunk keys of final v3 with `/`, unless its codecs need others (F-065, F-102).
    pub fn use_default_keys(&mut self) {
        if !holds_n5_blocks(&self.codecs) {
            self.chunk_keys = ChunkKeys::Default { separator: '/' };
        }
    }

    /// The same array as metadata of another dialect: its codecs converted, with the chunk keys of the dialect. What the
    /// dialect cannot represent, such as unknown members, is dropped.
    ///
    /// # Errors
    /// [`MetadataError::CannotRepresent`] naming what the dialect cannot represent.
    pub fn converted_to(
        mut self,
        dialect: Dialect,
        registry: &Registry,
    ) -> Result<Self, MetadataError> {
        if let Some(obstacle) = self.unsupported.first() {
            return Err(obstacle.clone().into());
        }
        if dialect == Dialect::V3 {
            // There one byte order holds for all fields of a record (F-050).
            self.data_type = self.data_type.stored_in(None);
        }
        self.codecs = self.converted_codecs(dialect, registry)?;
        self.shards = None;
        self.chunk_keys = self.converted_keys(dialect);
        // An alias is kept where it means the same in the new dialect (T-39).
        let means = registry.parse_data_type(&self.declared_type, dialect);
        let legacy = record_json::is_legacy(&self.declared_type);
        if dialect != Dialect::V3
            || legacy
            || !means.is_ok_and(|parsed| parsed.data_type == self.data_type)
        {
            self.declared_type = Json::Null;
        }
        if dialect == Dialect::V3 && self.fill_value.is_none() {
            // What undefined reads as here final v3 must say (Z2-090).
            self.fill_value = self.data_type.repr().map(|_| self.fill());
        }
        self.declared_fill = Json::Null;
        let unknown = std::mem::take(&mut self.unknown);
        if dialect == Dialect::V3 {
            // A member that need not be understood means nothing for the elements.
            self.unknown = unknown
                .into_iter()
                .filter(|(_, value)| {
                    value.as_object().is_some_and(|object| object.contains("must_understand"))
                })
                .collect();
        }
        Ok(self)
    }

    /// The codecs as metadata of another dialect.
    fn converted_codecs(
        &self,
        dialect: Dialect,
        registry: &Registry,
    ) -> Result<Vec<CodecSpec>, MetadataError> {
        let mut codecs = self.codecs.clone();
        for codec in &mut codecs {
            // Its name before final v3.
            if codec.name == "endian" && codec.dialect == Dialect::V3 {
                codec.name = BYTES.into();
            }
        }
        // The filters that a draft hides stay as they are in another draft (Q5).
        let from_draft =
            matches!(self.chunk_keys, ChunkKeys::Draft { .. } | ChunkKeys::Draft2019 { .. });
        let mut hidden = Vec::new();
        if from_draft && dialect == Dialect::Draft {
            (hidden, codecs) = codecs.into_iter().partition(|spec| spec.dialect == Dialect::V2);
        }
        let context = ChunkContext::new(self.data_type.clone(), self.chunk_extent());
        codecs = convert_codecs(&codecs, &context, dialect, registry)?;
        let first = first_on_bytes(&codecs);
        codecs.splice(first..first, hidden);
        Ok(codecs)
    }

    /// The chunk keys in another dialect, for codecs that are already those of the dialect.
    fn converted_keys(&self, dialect: Dialect) -> ChunkKeys {
        let own = matches!(
            (&self.chunk_keys, dialect),
            (
                ChunkKeys::V2 { .. } | ChunkKeys::Default { .. } | ChunkKeys::Registered(_),
                Dialect::V3
            ) | (ChunkKeys::V2 { .. }, Dialect::V2)
                | (ChunkKeys::Draft { .. }, Dialect::Draft)
        );
        let separator = match self.chunk_keys.separator() {
            '.' => '.',
            _ => '/',
        };
        let keys = match dialect {
            _ if holds_n5_blocks(&self.codecs) => N5_KEYS,
            _ if own => self.chunk_keys.clone(),
            Dialect::V3 => ChunkKeys::Default { separator },
            Dialect::V2 => ChunkKeys::V2 { separator },
            Dialect::Draft => ChunkKeys::Draft { separator, scalar_at_c0: true },
        };
        if self.rank() == 0 && dialect != Dialect::V3 {
            // It separates nothing, and GDAL 3.6 dies of `/`.
            return keys.with_separator('.');
        }
        keys
    }

    /// The same array, its chunks put together in shards of this shape, each one stored object (F-086). The codecs, as in
    /// final v3, become those of the inner chunks.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] for shards that are not made of whole chunks.
    pub fn sharded(mut self, shards: &[u64]) -> Result<Self, MetadataError> {
        let Some(chunks) = self.chunk_shape().filter(|chunks| chunks.len() == shards.len()) else {
            return Err(MetadataError::invalid("shards", format!("{shards:?} has another rank")));
        };
        if shards.iter().zip(&chunks).any(|(shard, chunk)| *shard == 0 || shard % chunk != 0) {
            let why = format!(
                "the shard shape {shards:?} is not a multiple of the chunk shape {chunks:?}"
            );
            return Err(MetadataError::invalid("shards", why));
        }
        let index = [
            bytes_codec(&DataType::from(CoreType::Uint64), Endian::Little),
            CodecSpec::v3("crc32c", Object::new()),
        ];
        let configuration = Object::new()
            .with("chunk_shape", &chunks[..])
            .with("codecs", codecs_to_json(&self.codecs))
            .with("index_codecs", codecs_to_json(&index))
            .with("index_location", "end");
        self.codecs = vec![CodecSpec::v3(SHARDING, configuration)];
        self.grid = Some(Arc::new(RegularGrid::new(shards, &self.shape)?));
        Ok(self)
    }

    /// Whether chunks are put together in shards, by final v3's codec or the drafts' transformer.
    pub fn has_shards(&self) -> bool {
        self.shards.is_some() || self.codecs.iter().any(|spec| spec.name == SHARDING)
    }

    /// The shape of a shard, if there are shards and all have one.
    pub fn shard_shape(&self) -> Option<Vec<u64>> {
        if !self.has_shards() {
            return None;
        }
        let stored = self.chunk_shape()?;
        let per_shard = self.shards.clone().unwrap_or_else(|| vec![1; stored.len()]);
        stored.iter().zip(per_shard).map(|(len, count)| len.checked_mul(count)).collect()
    }

    /// The shape of the chunks that are read, if all have one: in a shard, of its inner chunks.
    pub fn inner_chunk_shape(&self) -> Option<Vec<u64>> {
        if self.codecs.iter().any(|spec| spec.name == SHARDING) {
            self.clone().unsharded().chunk_shape()
        } else {
            self.chunk_shape()
        }
    }

    /// The same array without shards: each inner chunk is stored as a chunk. An array without shards is returned
    /// unchanged. Codecs that follow the sharding codec are dropped.
    pub fn unsharded(mut self) -> Self {
        while let Some(at) = self.codecs.iter().position(|spec| spec.name == SHARDING) {
            let configuration = &self.codecs[at].configuration;
            let (Some(inner), Some(lengths)) =
                (inner_codecs(configuration), inner_lengths(configuration, &self.codecs[..at]))
            else {
                return self;
            };
            let Ok(grid) = RegularGrid::new(&lengths, &self.shape) else {
                return self;
            };
            self.grid = Some(Arc::new(grid));
            self.codecs.truncate(at);
            self.codecs.extend(inner);
        }
        self
    }
}

/// A chain as the configuration of a codec of final v3 has it.
fn codecs_to_json(codecs: &[CodecSpec]) -> Json {
    codecs
        .iter()
        .map(|spec| Json::from(Object::named(&spec.name, spec.configuration.clone())))
        .collect()
}

/// The codecs of inner chunks, in the configuration of the sharding codec.
fn inner_codecs(sharding: &Object) -> Option<Vec<CodecSpec>> {
    sharding.get("codecs").and_then(Json::as_array)?.iter().map(CodecSpec::from_v3).collect()
}

/// The shape of inner chunks, in the configuration of the sharding codec. There it is that of the transposed axes: it is
/// turned back through the codecs before (F-087).
fn inner_lengths(sharding: &Object, codecs_before: &[CodecSpec]) -> Option<Vec<u64>> {
    let lengths = sharding.get("chunk_shape").and_then(Json::as_array)?;
    let mut lengths: Vec<u64> = lengths.iter().map(Json::as_u64).collect::<Option<_>>()?;
    for spec in codecs_before.iter().rev() {
        let order = spec.configuration.get("order").and_then(Json::as_array)?;
        let mut turned = lengths.clone();
        for (axis, &length) in order.iter().zip(&lengths) {
            let axis = usize::try_from(axis.as_u64()?).ok()?;
            *turned.get_mut(axis)? = length;
        }
        lengths = turned;
    }
    Some(lengths)
}
