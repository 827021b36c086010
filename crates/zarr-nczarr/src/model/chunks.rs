//! Chooses a chunk shape for a variable that was given none (N-015).

use crate::model::schema::Dimension;

/// About how large a chunk may become, in bytes.
const MAX_CHUNK_BYTES: u64 = 16 << 20;
/// The size of a chunk of a variable with one dimension that grows, in bytes.
const RECORD_CHUNK_BYTES: u64 = 4096;

/// The chunk lengths that netCDF's library chooses for elements of this size.
pub(crate) fn default(dimensions: &[Dimension], element: u64) -> Vec<u64> {
    let element = element.max(1);
    let growing = dimensions.iter().filter(|dimension| dimension.unlimited).count();
    match (dimensions, growing) {
        ([_], 1) => vec![(RECORD_CHUNK_BYTES / element).max(1)],
        (all, growing) if growing == all.len() && growing > 0 => {
            let elements = (MAX_CHUNK_BYTES / element).max(1) as f64;
            let length = elements.powf(1.0 / growing as f64).floor().max(1.0) as u64;
            vec![length; growing]
        }
        (all, _) => {
            let shape: Vec<u64> =
                all.iter().map(|d| if d.unlimited { 1 } else { d.len.max(1) }).collect();
            scaled(&shape, (MAX_CHUNK_BYTES / element).max(1))
        }
    }
}

/// The lengths of a shard: whole chunks of `chunks` up to `bytes`, first along the last dimension, so that records that are written one
/// after the other are whole shards. `None` where a shard would be one chunk.
pub(crate) fn shard(
    dimensions: &[Dimension],
    chunks: &[u64],
    element: u64,
    bytes: u64,
) -> Option<Vec<u64>> {
    let chunk = chunks.iter().fold(element.max(1), |size, &len| size.saturating_mul(len));
    let mut room = bytes / chunk.max(1);
    let mut lengths = chunks.to_vec();
    for (axis, dimension) in dimensions.iter().enumerate().rev() {
        let there = dimension.len.div_ceil(chunks[axis]).max(1);
        let most = if dimension.unlimited { u64::MAX } else { there };
        let count = room.clamp(1, most);
        lengths[axis] = chunks[axis].saturating_mul(count);
        room /= count;
    }
    (lengths != chunks).then_some(lengths)
}

/// The shape made smaller in all directions until it has at most `most` elements, and then so that its last
/// chunk is about as long as the others.
fn scaled(shape: &[u64], most: u64) -> Vec<u64> {
    let total: f64 = shape.iter().map(|&len| len as f64).product();
    if total <= most as f64 {
        return shape.to_vec();
    }
    let wide = shape.iter().filter(|&&len| len > 1).count().max(1);
    let factor = (most as f64 / total).powf(1.0 / wide as f64);
    shape
        .iter()
        .map(|&len| {
            let suggested = ((len as f64 * factor) as u64).clamp(1, len);
            len.div_ceil(len.div_ceil(suggested))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(len: u64) -> Dimension {
        Dimension::new("x", len)
    }

    #[test]
    fn shards_are_whole_chunks() {
        let dimensions = [Dimension::unlimited("t"), fixed(100), fixed(60)];
        let shard = |bytes| shard(&dimensions, &[2, 30, 30], 4, bytes);
        let chunk = 2 * 30 * 30 * 4;
        assert_eq!(shard(chunk), None);
        assert_eq!(shard(2 * chunk - 1), None);
        assert_eq!(shard(2 * chunk), Some(vec![2, 30, 60]));
        assert_eq!(shard(5 * chunk), Some(vec![2, 60, 60]));
        assert_eq!(shard(17 * chunk), Some(vec![4, 120, 60]));
        assert_eq!(shard(0), None);
        assert_eq!(super::shard(&[], &[], 4, 1 << 30), None);
    }

    /// N-015.
    #[test]
    fn chunks_are_of_a_sensible_size() {
        let t = Dimension::unlimited("t");
        assert_eq!(default(std::slice::from_ref(&t), 8), [512]);
        assert_eq!(default(std::slice::from_ref(&t), 4), [1024]);
        assert_eq!(default(&[t.clone(), t.clone()], 4), [2048, 2048]);
        assert_eq!(default(&[t.clone(), fixed(180), fixed(360)], 4), [1, 180, 360]);
        assert_eq!(default(&[fixed(2), fixed(3)], 4), [2, 3]);
        assert_eq!(default(&[fixed(0)], 4), [1]);
        assert_eq!(default(&[], 4), [0; 0]);
        let large = default(&[fixed(100_000), fixed(100_000)], 8);
        assert!(large.iter().product::<u64>() * 8 <= 16 << 20, "{large:?}");
        assert!(large.iter().all(|&len| len > 1000), "{large:?}");
        assert_eq!(default(&[fixed(1 << 60), t, fixed(u64::MAX)], 1).len(), 3);
    }
}
