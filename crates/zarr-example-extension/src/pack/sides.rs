//! Implements each side of the store on the log.

use zarr_core::StoreError;
use zarr_core::store::{
    Bytes, ConditionalStore, ListableStore, Payload, ReadableStore, StoreKey, StorePrefix, Version,
    WriteableStore, check_size,
};

use super::{PackStore, failed};

impl ReadableStore for PackStore {
    fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError> {
        Ok(self.get_versioned(key, u64::MAX)?.map(|(value, _)| value))
    }
}

impl WriteableStore for PackStore {
    fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        let value = value.into_bytes()?;
        let set = self.log_to_write()?.append(&[(key.as_str(), Some(value))]);
        set.map_err(|e| failed("set", key.as_str(), e))
    }

    fn erase(&self, key: &StoreKey) -> Result<(), StoreError> {
        let mut log = self.log_to_write()?;
        match log.value(key.as_str()) {
            Some(_) => {
                log.append(&[(key.as_str(), None)]).map_err(|e| failed("erase", key.as_str(), e))
            }
            None => Ok(()),
        }
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        let mut log = self.log_to_write()?;
        let keys = log.below(prefix.as_str());
        let records: Vec<_> = keys.iter().map(|key| (key.as_str(), None)).collect();
        log.append(&records).map_err(|e| failed("erase", prefix.as_str(), e))
    }
}

impl ListableStore for PackStore {
    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError> {
        self.log().below(prefix.as_str()).into_iter().map(StoreKey::new).collect()
    }
}

impl ConditionalStore for PackStore {
    fn get_versioned(
        &self,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<(Bytes, Version)>, StoreError> {
        let mut log = self.log();
        let Some(value) = log.value(key.as_str()) else { return Ok(None) };
        let bytes = log.read(value).map_err(|e| failed("get", key.as_str(), e))?;
        check_size(key, bytes.len() as u64, limit)?;
        Ok(Some((bytes.into(), value.version())))
    }

    fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError> {
        let value = value.map(Payload::into_bytes).transpose()?;
        let mut log = self.log_to_write()?;
        let is = log.value(key.as_str()).map(|value| value.version());
        if is.as_ref() != was {
            return Ok(false);
        }
        let records = [(key.as_str(), value)];
        let changes = is.is_some() || records[0].1.is_some();
        let set = if changes { log.append(&records) } else { Ok(()) };
        set.map(|()| true).map_err(|e| failed("set", key.as_str(), e))
    }
}
