//! Goes on in the region that a bucket of S3 is in, if a server says that it is another one than was set.
//!
//! Only the name of the region is taken from the answer: the address is built from it here, so that no answer chooses whom a signed request is sent to.

use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use zarr_core::sync;

use super::Backend;
use super::answer::{self, Answer};

/// The longest name of a region.
const MAX_REGION: usize = 32;

type Connect = dyn Fn(&str) -> Result<Backend> + Send + Sync;

/// A bucket, which is reached in another region once a server has named that.
#[derive(Clone)]
pub(super) struct BucketInRegion(Arc<Inner>);

struct Inner {
    /// In the region that was set.
    first: Backend,
    /// That region, if it is known.
    region: Option<String>,
    connect: Box<Connect>,
    /// In the region that a server named. There is no third one: an answer could lead in circles.
    named: Mutex<Option<Backend>>,
}

impl fmt::Debug for BucketInRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BucketInRegion").field(&self.0.first).finish()
    }
}

impl fmt::Display for BucketInRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.first.fmt(f)
    }
}

impl BucketInRegion {
    /// A bucket in the region that was set, and how it is reached in another one.
    pub fn new(
        first: Backend,
        region: Option<String>,
        connect: impl Fn(&str) -> Result<Backend> + Send + Sync + 'static,
    ) -> BucketInRegion {
        let (connect, named) = (Box::new(connect), Mutex::default());
        BucketInRegion(Arc::new(Inner { first, region, connect, named }))
    }

    fn current(&self) -> Backend {
        sync::lock(&self.0.named).clone().unwrap_or_else(|| self.0.first.clone())
    }

    /// Where to send a request again that `asked` has answered so, if it refused it and named a region.
    fn elsewhere<T>(&self, asked: &Backend, answered: &Result<T>) -> Option<Backend> {
        if answered.is_ok() || !Arc::ptr_eq(asked, &self.0.first) {
            return None;
        }
        let region = named_region(&answer::last_answer()?, self.0.region.as_deref())?;
        let mut named = sync::lock(&self.0.named);
        if named.is_none() {
            *named = Some((self.0.connect)(&region).ok()?);
        }
        named.clone()
    }
}

/// The region that an answer names for the bucket, where another one than `set` may help.
fn named_region(answer: &Answer, set: Option<&str>) -> Option<String> {
    let region = answer.region.as_ref()?;
    // It becomes part of the name of a host.
    let is_name = (1..=MAX_REGION).contains(&region.len())
        && region
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    let is_other = match answer.status {
        301 | 307 | 308 | 400 => set != Some(region),
        // Most refusals name the region that was right.
        403 => set.is_some_and(|set| set != region),
        _ => false,
    };
    (is_name && is_other).then(|| region.clone())
}

#[async_trait]
impl ObjectStore for BucketInRegion {
    async fn put_opts(
        &self,
        path: &Path,
        value: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let asked = self.current();
        let answered = asked.put_opts(path, value.clone(), options.clone()).await;
        match self.elsewhere(&asked, &answered) {
            Some(named) => named.put_opts(path, value, options).await,
            None => answered,
        }
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let asked = self.current();
        let answered = asked.put_multipart_opts(path, options.clone()).await;
        match self.elsewhere(&asked, &answered) {
            Some(named) => named.put_multipart_opts(path, options).await,
            None => answered,
        }
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let asked = self.current();
        let answered = asked.get_opts(path, options.clone()).await;
        match self.elsewhere(&asked, &answered) {
            Some(named) => named.get_opts(path, options).await,
            None => answered,
        }
    }

    /// What is to be deleted cannot be said twice. Before that something was read or listed, as a rule.
    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.current().delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (this, prefix) = (self.clone(), prefix.cloned());
        let listed = async move {
            let asked = this.current();
            let mut listed = asked.list(prefix.as_ref());
            // A stream that has ended must not be asked again.
            let Some(first) = listed.next().await else { return stream::empty().boxed() };
            if let Some(named) = this.elsewhere(&asked, &first) {
                return named.list(prefix.as_ref());
            }
            stream::iter([first]).chain(listed).boxed()
        };
        stream::once(listed).flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let asked = self.current();
        let answered = asked.list_with_delimiter(prefix).await;
        match self.elsewhere(&asked, &answered) {
            Some(named) => named.list_with_delimiter(prefix).await,
            None => answered,
        }
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let asked = self.current();
        let answered = asked.copy_opts(from, to, options.clone()).await;
        match self.elsewhere(&asked, &answered) {
            Some(named) => named.copy_opts(from, to, options).await,
            None => answered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_a_name_and_another_one() {
        let named = |status, region: &str, set| {
            let region = Some(region.to_owned());
            named_region(&Answer { status, region, ..Answer::default() }, set)
        };
        for status in [301, 307, 400, 403] {
            assert_eq!(named(status, "eu-west-1", Some("us-east-1")).as_deref(), Some("eu-west-1"));
            assert_eq!(named(status, "eu-west-1", Some("eu-west-1")), None);
        }
        assert_eq!(named(301, "eu-west-1", None).as_deref(), Some("eu-west-1"));
        assert_eq!(named(403, "eu-west-1", None), None);
        assert_eq!(named(404, "eu-west-1", Some("us-east-1")), None);
        for wrong in ["", "evil.example/", "a.b", "a@b", "EU", "a\nb", &"a".repeat(33)] {
            assert_eq!(named(301, wrong, Some("us-east-1")), None, "{wrong}");
        }
    }
}
