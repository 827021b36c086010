//! Keeps decoded chunks of the hierarchies that are looked at, so that a slider decodes each chunk once.

use std::sync::{Arc, Mutex};

use zarr::sync::lock;
use zarr::{Array, ArrayMetadata, Hierarchy};

use crate::Served;

/// Of how many hierarchies decoded chunks are kept.
const MAX_HIERARCHIES: usize = 2;

/// The hierarchies whose decoded chunks are kept, the last used one last.
#[derive(Debug, Default)]
pub(crate) struct Warm {
    /// Bytes of decoded chunks, of all hierarchies together.
    bytes: u64,
    hierarchies: Mutex<Vec<Hierarchy>>,
}

impl Warm {
    /// Keeps at most `bytes` of decoded chunks; 0 keeps none.
    pub fn new(bytes: u64) -> Warm {
        Warm { bytes, hierarchies: Mutex::default() }
    }

    /// Bytes of decoded chunks that are kept of one hierarchy.
    pub fn each(&self) -> u64 {
        self.bytes / MAX_HIERARCHIES as u64
    }

    /// The same array, whose decoded chunks are kept. An entry belongs to one version of its object and to the way in which the
    /// array is stored (docs/internals/design/reading.md): what others change is seen as without it.
    pub fn array(&self, served: &Served, array: &Array) -> Array {
        if self.each() == 0 {
            return array.clone();
        }
        let own = array.hierarchy();
        let hierarchy = {
            let mut all = lock(&self.hierarchies);
            let known = all.iter().position(|known| {
                Arc::ptr_eq(known.store(), &served.store())
                    && known.format_name() == own.format_name()
            });
            let hierarchy = match known {
                Some(at) => all.remove(at),
                None => {
                    let options = served.options().clone().chunk_cache(self.each());
                    Hierarchy::of_format(served.store(), own.format().clone(), &options)
                }
            };
            if all.len() >= MAX_HIERARCHIES {
                all.remove(0);
            }
            all.push(hierarchy.clone());
            hierarchy
        };
        let metadata = ArrayMetadata::clone(&array.metadata());
        hierarchy.array_of_metadata(array.path(), metadata).unwrap_or_else(|_| array.clone())
    }
}
