//! What a copy changes in the chunks of an array, and how many chunks readers need before and after.

use zarr_core::metadata::ArrayMetadata;
use zarr_core::{Json, NodePath, Object};

/// How the chunks or shards of an array change in a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutChange {
    /// The array in the copy.
    pub path: NodePath,
    /// The shape of the array in the copy.
    pub shape: Vec<u64>,
    /// The names of its axes; an axis may have none.
    pub dimensions: Vec<Option<String>>,
    /// The array as it is in the source.
    pub before: ChunkLayout,
    /// The array as it is in the copy.
    pub after: ChunkLayout,
}

/// The shapes of the chunks and shards of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkLayout {
    /// Of the chunks that are decoded, in shards the inner ones; `None` if they have several lengths.
    pub chunks: Option<Vec<u64>>,
    /// Of the shards; `None` if there are none.
    pub shards: Option<Vec<u64>>,
}

impl ChunkLayout {
    fn of(metadata: &ArrayMetadata) -> ChunkLayout {
        ChunkLayout { chunks: metadata.inner_chunk_shape(), shards: metadata.shard_shape() }
    }

    /// How many chunks of an array of this shape are decoded to read all elements along some axes, at the first coordinate
    /// of the others: none of the axes for one element, one for a line, two for a plane. `None` if chunks have several
    /// lengths.
    pub fn chunks_along(&self, shape: &[u64], axes: &[usize]) -> Option<u64> {
        let chunks = self.chunks.as_ref()?;
        axes.iter().try_fold(1u64, |all, &axis| {
            let chunk = (*chunks.get(axis)?).max(1);
            let count = shape.get(axis)?.div_ceil(chunk);
            Some(all.saturating_mul(count))
        })
    }
}

impl LayoutChange {
    /// The change from an array to its copy; `None` if chunks and shards stay as they are.
    pub(super) fn between(
        path: &NodePath,
        source: &ArrayMetadata,
        copy: &ArrayMetadata,
    ) -> Option<LayoutChange> {
        let (before, after) = (ChunkLayout::of(source), ChunkLayout::of(copy));
        let names = copy.dimension_names.clone().or_else(|| source.dimension_names.clone());
        (before != after).then(|| LayoutChange {
            path: path.clone(),
            shape: copy.shape.clone(),
            dimensions: names.unwrap_or_else(|| vec![None; copy.rank()]),
            before,
            after,
        })
    }

    /// The axes of what people read: of one element none, of a line along each axis one, of a plane two.
    pub fn patterns(&self) -> Vec<Vec<usize>> {
        let rank = self.shape.len();
        let lines = (0..rank).map(|axis| vec![axis]);
        let planes = (0..rank).flat_map(|one| (one + 1..rank).map(move |other| vec![one, other]));
        std::iter::once(Vec::new()).chain(lines).chain(planes).collect()
    }

    /// The name of one of [`LayoutChange::patterns`]: `element`, `time`, `lat × lon`. An axis without a name is `axis 0`.
    pub fn pattern_name(&self, axes: &[usize]) -> String {
        if axes.is_empty() {
            return "element".to_owned();
        }
        let names: Vec<String> = axes
            .iter()
            .map(|axis| match self.dimensions.get(*axis) {
                Some(Some(name)) => name.clone(),
                _ => format!("axis {axis}"),
            })
            .collect();
        names.join(" × ")
    }

    /// `chunks`, `shards` and, by pattern, `reads` (the number of chunks to be decoded), each with the old and the new value.
    pub fn to_json(&self) -> Json {
        let (before, after) = (&self.before, &self.after);
        let mut reads = Object::new();
        for axes in self.patterns() {
            let old = before.chunks_along(&self.shape, &axes);
            let new = after.chunks_along(&self.shape, &axes);
            if let (Some(old), Some(new)) = (old, new) {
                reads.insert(self.pattern_name(&axes), pair(old.into(), new.into()));
            }
        }
        Object::new()
            .with("chunks", pair(shape_json(&before.chunks), shape_json(&after.chunks)))
            .with("shards", pair(shape_json(&before.shards), shape_json(&after.shards)))
            .with("reads", reads)
            .into()
    }
}

/// A shape in JSON, null if there is none.
fn shape_json(shape: &Option<Vec<u64>>) -> Json {
    match shape {
        Some(shape) => Json::from(&shape[..]),
        None => Json::Null,
    }
}

/// What was and what will be, as a list in JSON.
fn pair(old: Json, new: Json) -> Json {
    Json::from(vec![old, new])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_counted_along_lines_and_planes() {
        let layout = ChunkLayout { chunks: Some(vec![10, 7, 30]), shards: None };
        let shape = [40, 20, 30];
        assert_eq!(layout.chunks_along(&shape, &[]), Some(1));
        assert_eq!(layout.chunks_along(&shape, &[0]), Some(4));
        assert_eq!(layout.chunks_along(&shape, &[1]), Some(3));
        assert_eq!(layout.chunks_along(&shape, &[0, 1]), Some(12));
        assert_eq!(layout.chunks_along(&shape, &[1, 2]), Some(3));
        assert_eq!(layout.chunks_along(&shape, &[3]), None);
        let several = ChunkLayout { chunks: None, shards: None };
        assert_eq!(several.chunks_along(&shape, &[0]), None);
    }
}
