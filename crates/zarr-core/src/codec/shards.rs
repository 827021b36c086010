//! Puts chunks together in shards, and takes them apart again (F-086).

use std::sync::Arc;

use super::CodecSpec;
use super::convert::{SHARDING, bytes_codec};
use crate::data_type::{CoreType, DataType, Endian};
use crate::error::MetadataError;
use crate::grid::RegularGrid;
use crate::json::{Json, Object};
use crate::metadata::ArrayMetadata;

impl ArrayMetadata {
    /// The same array, its chunks put together in shards of this shape, each one stored object (F-086). The codecs, as in
    /// final v3, become those of the inner chunks.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] for shards that are not made of whole chunks.
    pub fn sharded(mut self, shards: &[u64]) -> Result<Self, MetadataError> {
        let invalid = |why: String| MetadataError::invalid("shards", why);
        let chunks = self.chunk_shape().filter(|chunks| chunks.len() == shards.len());
        let chunks = chunks.ok_or_else(|| invalid(format!("{shards:?} has another rank")))?;
        if shards.iter().zip(&chunks).any(|(shard, chunk)| *shard == 0 || shard % chunk != 0) {
            return Err(invalid(format!("{shards:?} is not made of whole chunks of {chunks:?}")));
        }
        let word =
            |spec: &CodecSpec| Json::from(Object::named(&spec.name, spec.configuration.clone()));
        let index = [bytes_codec(&DataType::from(CoreType::Uint64), Endian::Little)];
        let index = index.into_iter().chain([CodecSpec::v3("crc32c", Object::new())]);
        let configuration = Object::new()
            .with("chunk_shape", &chunks[..])
            .with("codecs", self.codecs.iter().map(word).collect::<Json>())
            .with("index_codecs", index.map(|spec| word(&spec)).collect::<Json>())
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
        let stored = self.chunk_shape().filter(|_| self.has_shards())?;
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
        let sharding = |spec: &CodecSpec| spec.name == SHARDING;
        while let Some(at) = self.codecs.iter().position(sharding) {
            let configuration = &self.codecs[at].configuration;
            let list = |name: &str| configuration.get(name).and_then(Json::as_array);
            let inner: Option<Vec<CodecSpec>> =
                list("codecs").and_then(|codecs| codecs.iter().map(CodecSpec::from_v3).collect());
            let lengths = list("chunk_shape");
            let lengths: Option<Vec<u64>> =
                lengths.and_then(|lengths| lengths.iter().map(Json::as_u64).collect());
            let orders = self.codecs[..at].iter().map(|spec| {
                let order = spec.configuration.get("order").and_then(Json::as_array)?;
                order.iter().map(|axis| usize::try_from(axis.as_u64()?).ok()).collect()
            });
            let orders: Option<Vec<Vec<usize>>> = orders.collect();
            let (Some(inner), Some(mut lengths), Some(orders)) = (inner, lengths, orders) else {
                return self;
            };
            // The inner shape is that of the transposed axes (F-087).
            for order in orders.iter().rev() {
                let mut turned = lengths.clone();
                for (axis, &length) in order.iter().zip(&lengths) {
                    match turned.get_mut(*axis) {
                        Some(place) => *place = length,
                        None => return self,
                    }
                }
                lengths = turned;
            }
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
