//! The calls of a store, as steps on the log.

use zarr_core::StoreError;
use zarr_core::store::{
    Capabilities, GetOptions, Got, Listing, Payload, Precondition, StoreKey, StorePrefix, SyncStore,
};

use super::PackStore;

impl SyncStore for PackStore {
    fn name(&self) -> String {
        format!("pack://{}", self.path.display())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { local: true, ..Capabilities::FULL }
    }

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        let mut log = self.log();
        let Some(value) = log.value(key.as_str()) else { return Ok(None) };
        let bytes = log.read(value).map_err(StoreError::io("get", key))?;
        how.answer(key, bytes, Some(value.version()))
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        let value = value.map(Payload::into_bytes).transpose()?;
        let mut log = self.log_to_write()?;
        let is = log.value(key.as_str()).map(|value| value.version());
        if !only_if.holds(is.as_ref()) {
            return Ok(false);
        }
        let changes = is.is_some() || value.is_some();
        let put = if changes { log.append(&[(key.as_str(), value)]) } else { Ok(()) };
        put.map(|()| true).map_err(StoreError::io("put", key))
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        let mut log = self.log_to_write()?;
        let keys = log.below(prefix.as_str());
        let records: Vec<_> = keys.iter().map(|key| (key.as_str(), None)).collect();
        log.append(&records).map_err(StoreError::io("erase", prefix))
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let keys = self.log().below(prefix.as_str()).into_iter().map(StoreKey::new);
        Ok(keys.collect::<Result<Vec<_>, _>>()?.into())
    }
}
