//! Keeps layers and their ranges of colours for the next tiles: a map asks for many at once.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use zarr::sync::lock;
use zarr_plot::map::{Layer, MapError};
use zarr_plot::picture::Stretch;

/// How long a layer is used before the documents and coordinates of its array are read anew.
const LAYER_LIFETIME: Duration = Duration::from_secs(10);
/// How long a range is the same for all tiles.
const RANGE_LIFETIME: Duration = Duration::from_secs(60);
/// How many layers and ranges are kept.
const MAX_LAYERS: usize = 64;
const MAX_RANGES: usize = 1_024;

/// Layers by the path of their array, and ranges by that and by the positions on its axes.
#[derive(Debug, Default)]
pub(crate) struct KnownLayers {
    layers: Mutex<Known<String, Arc<Layer>>>,
    ranges: Mutex<Known<Plane, Option<Stretch>>>,
}

/// The path of an array, and a position on each of its axes.
type Plane = (String, Vec<u64>);

type Known<K, V> = HashMap<K, (Instant, V)>;

impl KnownLayers {
    /// The layer of an array, which is opened if it is not known, or not for some time.
    pub fn layer(
        &self,
        path: &str,
        open: impl FnOnce() -> Result<Layer, MapError>,
    ) -> Result<Arc<Layer>, MapError> {
        if let Some(layer) = known(&self.layers, &path.to_owned(), LAYER_LIFETIME) {
            return Ok(layer);
        }
        let layer = Arc::new(open()?);
        keep(&self.layers, path.to_owned(), layer.clone(), MAX_LAYERS);
        Ok(layer)
    }

    /// The range of a plane, which is computed if it is not known, or not for some time.
    pub fn range(
        &self,
        path: &str,
        positions: &[u64],
        compute: impl FnOnce() -> Result<Option<Stretch>, MapError>,
    ) -> Result<Option<Stretch>, MapError> {
        let key = (path.to_owned(), positions.to_vec());
        if let Some(range) = known(&self.ranges, &key, RANGE_LIFETIME) {
            return Ok(range);
        }
        let range = compute()?;
        keep(&self.ranges, key, range, MAX_RANGES);
        Ok(range)
    }
}

fn known<K: Hash + Eq, V: Clone>(
    all: &Mutex<Known<K, V>>,
    key: &K,
    lifetime: Duration,
) -> Option<V> {
    let all = lock(all);
    let (at, value) = all.get(key)?;
    (at.elapsed() < lifetime).then(|| value.clone())
}

fn keep<K: Hash + Eq, V>(all: &Mutex<Known<K, V>>, key: K, value: V, most: usize) {
    let mut all = lock(all);
    if all.len() >= most {
        all.clear();
    }
    all.insert(key, (Instant::now(), value));
}
