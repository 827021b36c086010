//! Lists the keys of a store. A name that is no [`StoreKey`] is left out and reported, and never ends a listing.

use std::time::SystemTime;

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error, ObjectMeta};
use zarr_core::store::{ListOptions, Listing, Result, StoreKey, StorePrefix};

use super::{Session, answer};

impl Session {
    /// What the server keeps below a prefix, page after page.
    pub fn below(
        &self,
        prefix: &StorePrefix,
    ) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        let (whole, path) = match self.folder(prefix) {
            Ok(folder) => folder,
            Err(e) => return stream::once(async move { Err(e) }).boxed(),
        };
        // A folder's own marker is no key below it.
        let objects = self.backend.list(path.as_ref());
        let inside = objects.try_filter(move |object: &ObjectMeta| {
            std::future::ready(object.location.as_ref().starts_with(&whole))
        });
        inside.boxed()
    }

    pub async fn list_below(&self, prefix: &StorePrefix) -> Result<Listing> {
        let mut listing = Listing::default();
        let (mut objects, mut found) = (self.below(prefix), Vec::new());
        while let Some(object) = objects.next().await {
            let object = object.map_err(|e| self.failure("list", prefix.as_str(), &e))?;
            self.add(&mut listing, &object.location);
            let version = object.e_tag.unwrap_or_else(|| object.last_modified.to_string());
            let time = SystemTime::from(object.last_modified);
            found.extend(listing.keys.pop().map(|key| (key, object.size, version, time)));
        }
        found.sort();
        for (key, size, version, time) in found {
            listing.keys.push(key);
            listing.sizes.push(size);
            listing.versions.push(version);
            listing.times.push(time);
        }
        listing.left_out.extend(answer::left_out());
        Ok(listing)
    }

    pub async fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing> {
        let failed = |e: Error| self.failure("list", prefix.as_str(), &e);
        if how.limit == Some(1) {
            // One page has a key, or there is none.
            let mut listing = Listing::default();
            let first = self.below(prefix).try_next().await.map_err(failed)?;
            first.iter().for_each(|object| self.add(&mut listing, &object.location));
            return Ok(listing.folded(prefix));
        }
        let (whole, path) = self.folder(prefix).map_err(failed)?;
        let found = self.backend.list_with_delimiter(path.as_ref()).await.map_err(failed)?;
        let mut listing = Listing { left_out: answer::left_out(), ..Listing::default() };
        for object in found.objects.iter().filter(|it| it.location.as_ref().starts_with(&whole)) {
            self.add(&mut listing, &object.location);
        }
        for folder in &found.common_prefixes {
            let below = folder.as_ref().strip_prefix(&*self.location.prefix);
            match below.map(|below| StorePrefix::new(format!("{below}/"))) {
                Some(Ok(prefix)) => listing.prefixes.push(prefix),
                Some(Err(_)) => listing.left_out.push(format!("{folder}/")),
                None => {}
            }
        }
        listing.keys.sort();
        listing.prefixes.sort();
        Ok(listing)
    }

    /// A prefix as the server has it, and as a path; `None` is the bucket.
    fn folder(&self, prefix: &StorePrefix) -> object_store::Result<(String, Option<Path>)> {
        let whole = format!("{}{prefix}", self.location.prefix);
        let path = Path::parse(&whole).map_err(|source| Error::InvalidPath { source })?;
        let path = (!whole.is_empty()).then_some(path);
        Ok((whole, path))
    }

    /// Adds an object to a listing, under its key.
    fn add(&self, listing: &mut Listing, object: &Path) {
        match object.as_ref().strip_prefix(&*self.location.prefix).map(StoreKey::new) {
            Some(Ok(key)) => listing.keys.push(key),
            Some(Err(_)) => listing.left_out.push(object.to_string()),
            None => {}
        }
    }
}
