//! Lists the keys of a store. A key that no [`StoreKey`] can say is left out and named, and never ends a listing.

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use object_store::{Error, ObjectMeta};
use zarr_core::StoreError;
use zarr_core::store::{Listing, StorePrefix};

use super::{Backend, Shared, answer, key_of};

impl Shared {
    /// What the server keeps below a prefix, page after page.
    pub fn below(
        &self,
        backend: &Backend,
        prefix: &StorePrefix,
    ) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        let whole = format!("{}{prefix}", self.place.prefix);
        let path = match object_store::path::Path::parse(&whole) {
            Ok(path) => (!whole.is_empty()).then_some(path),
            Err(source) => {
                return stream::once(async move { Err(Error::InvalidPath { source }) }).boxed();
            }
        };
        // A folder's own marker is no key below it.
        let inside = move |object: &ObjectMeta| object.location.as_ref().starts_with(&whole);
        let inside = move |object: &ObjectMeta| std::future::ready(inside(object));
        backend.list(path.as_ref()).try_filter(inside).boxed()
    }

    pub async fn list_below(
        &self,
        backend: &Backend,
        prefix: &StorePrefix,
    ) -> Result<Listing, StoreError> {
        let mut listing = Listing::default();
        let mut objects = self.below(backend, prefix);
        while let Some(object) = objects.next().await {
            let object = object.map_err(|e| self.failure("list", prefix.as_str(), &e))?;
            match key_of(&self.place.prefix, &object.location) {
                Some(Ok(key)) => listing.keys.push(key),
                Some(Err(_)) => listing.left_out.push(object.location.to_string()),
                None => {}
            }
        }
        listing.keys.sort();
        listing.left_out.extend(answer::left_out());
        Ok(listing)
    }

    pub async fn list_dir(
        &self,
        backend: &Backend,
        prefix: &StorePrefix,
    ) -> Result<Listing, StoreError> {
        let whole = format!("{}{prefix}", self.place.prefix);
        let path = object_store::path::Path::parse(&whole);
        let path = path.map_err(|source| {
            self.failure("list", prefix.as_str(), &Error::InvalidPath { source })
        })?;
        let path = (!whole.is_empty()).then_some(&path);
        let found = backend.list_with_delimiter(path).await;
        let found = found.map_err(|e| self.failure("list", prefix.as_str(), &e))?;
        let mut listing = Listing { left_out: answer::left_out(), ..Listing::default() };
        for object in &found.objects {
            if object.location.as_ref().starts_with(&whole) {
                match key_of(&self.place.prefix, &object.location) {
                    Some(Ok(key)) => listing.keys.push(key),
                    Some(Err(_)) => listing.left_out.push(object.location.to_string()),
                    None => {}
                }
            }
        }
        for folder in &found.common_prefixes {
            let prefix = key_of(&self.place.prefix, folder)
                .map(|key| key.and_then(|key| StorePrefix::new(format!("{key}/"))));
            match prefix {
                Some(Ok(prefix)) => listing.prefixes.push(prefix),
                Some(Err(_)) => listing.left_out.push(format!("{folder}/")),
                None => {}
            }
        }
        listing.keys.sort();
        listing.prefixes.sort();
        Ok(listing)
    }
}
