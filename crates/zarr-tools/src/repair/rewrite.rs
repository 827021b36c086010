//! Writes a chunk without the zeros that another writer left behind what its codec wrote.

use zarr_core::store::{ByteRange, Bytes, StoreKey};
use zarr_core::{Array, Result};

use super::apply::Repair;
use super::quarantine::Held;
use crate::validate::Problem;

impl Repair<'_> {
    /// A chunk without the zeros behind what its codec wrote; `None` if there are none.
    pub fn without_padding(
        &self,
        problem: &Problem,
        key: &StoreKey,
        held: &Held,
    ) -> Result<Option<Bytes>> {
        let keys = self.format.document_keys(&problem.path)?;
        let Some(document) = keys.first() else { return Ok(None) };
        let Some(document) = self.sync.value(document)? else { return Ok(None) };
        let array = Array::from_document(self.store.clone(), &problem.path, &document, self.open)?;
        let metadata = array.metadata();
        let prefix = self.format.chunk_prefix(&problem.path)?;
        let indices =
            prefix.strip(key).and_then(|name| metadata.chunk_keys.parse(name, metadata.rank()));
        let (Some(indices), Some(grid)) = (indices, &metadata.grid) else { return Ok(None) };
        let Some(shape) = indices
            .iter()
            .enumerate()
            .map(|(axis, &index)| Some(grid.span(axis, u64::try_from(index).ok()?).stored))
            .collect::<Option<Vec<u64>>>()
        else {
            return Ok(None);
        };
        let chain = metadata.chain(&self.open.registry, self.format.dialect())?;
        let bytes = held.value.read(&[ByteRange::ALL])?.pop().unwrap_or_default();
        let padding = chain.padding(&bytes, &shape);
        Ok((padding > 0).then(|| bytes.slice(..bytes.len() - padding)))
    }
}
