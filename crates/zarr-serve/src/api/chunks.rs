//! Tells which chunks of an array are stored.

use zarr::data_type::base64_encode;
use zarr::grid::chunk_count;
use zarr::{Json, Object};

use super::{Answered, Refusal, parameters};
use crate::{Answer, Question, Targets};

/// The most chunks of a map.
const MAX_MAPPED_CHUNKS: u64 = 4 << 20;
/// Bytes for the names of the chunks, unless that is much of all there is.
const FOR_NAMES: u64 = 64 << 20;
/// Up to this number of stored chunks their bytes are counted, too.
const MOST_SIZED: u64 = 20_000;

/// `{"grid", "shape", "are_shards", "stored", "bytes", "ratio", "map"}`: how many chunks there are along each axis, their shape,
/// how many are stored in how many bytes, and a bit for each in C order, the lowest of a byte first, in base64. The bytes are
/// `null` if there are very many chunks, so is the map.
///
/// Parameter: `path`.
pub(crate) fn chunks(question: &Question, targets: &Targets) -> Answered {
    let array = parameters::array(question, targets)?;
    let metadata = array.metadata();
    let shape = &metadata.shape;
    let chunk = metadata.shard_shape().or_else(|| metadata.chunk_shape());
    let Some(chunk) = chunk.filter(|_| metadata.grid.is_some()) else {
        return Err(Refusal::wrong("chunks of different shapes are not drawn"));
    };
    let grid: Vec<u64> =
        shape.iter().zip(&chunk).map(|(&len, &chunk)| len.div_ceil(chunk.max(1))).collect();
    let all = grid.iter().try_fold(1, |all: u64, &n| all.checked_mul(n));
    let is_plain = metadata.grid.as_ref().and_then(|grid| chunk_count(&**grid, shape)) == all;
    question.reserve(question.share(FOR_NAMES, 8))?;
    let keys = array.hierarchy().chunk_keys(array.path(), &metadata)?;
    let stored = array.stored_chunks()?;
    let map = all.filter(|&all| all <= MAX_MAPPED_CHUNKS && is_plain).and_then(|all| {
        let mut bits = vec![0u8; (all as usize).div_ceil(8)];
        let first = vec![0i64; shape.len()];
        // The keys of chunks follow the array's own.
        let prefix = array.chunk(&vec![0; shape.len()]).ok()?.key().ok()?;
        let prefix = prefix.as_str().strip_suffix(&metadata.chunk_keys.key(&first))?.to_owned();
        for key in &keys {
            let rest = key.as_str().strip_prefix(&prefix);
            let Some(indices) = rest.and_then(|rest| metadata.chunk_keys.parse(rest, shape.len()))
            else {
                continue;
            };
            let place = indices.iter().zip(&grid).try_fold(0u64, |place, (&index, &len)| {
                let index = u64::try_from(index).ok().filter(|&index| index < len)?;
                Some(place * len + index)
            });
            if let Some(place) = place {
                bits[place as usize / 8] |= 1 << (place % 8);
            }
        }
        Some(base64_encode(&bits))
    });
    let bytes = if stored <= MOST_SIZED { Some(array.stored_size()?.bytes) } else { None };
    let size = metadata
        .data_type
        .repr()
        .filter(|_| !metadata.data_type.is_variable())
        .map(|repr| repr.size() as u64);
    let elements = zarr::region::element_count(shape);
    let ratio = bytes
        .filter(|&bytes| bytes > 0)
        .zip(elements.zip(size))
        .map(|(bytes, (elements, size))| elements as f64 * size as f64 / bytes as f64);
    let object = Object::new()
        .with("grid", &grid[..])
        .with("shape", &chunk[..])
        .with("are_shards", metadata.has_shards())
        .with("stored", stored)
        .with("bytes", bytes.map_or(Json::Null, Json::from))
        .with("ratio", ratio.map_or(Json::Null, Json::from))
        .with("map", map.map_or(Json::Null, Json::from));
    Ok(Answer::json(object))
}
