//! Says what one kind of server can do, where a store is on it, and how it is reached.

use std::sync::Arc;

use zarr_core::store::Result;
use zarr_core::without_secrets;

use super::attached::Attached;
use super::connector::Connector;
use super::settings::Settings;

pub(super) type Backend = Arc<dyn object_store::ObjectStore>;

/// What one kind of server can do, and its terms in messages.
#[derive(Debug)]
pub(crate) struct ServiceInfo {
    /// What holds the keys: a bucket, a container.
    pub(super) bucket: &'static str,
    /// Whether it gives the last bytes of a value without knowing its size.
    pub(super) suffixes: bool,
    /// Whether keys can be set, erased and listed.
    pub(super) writes: bool,
    /// Whether its redirects are followed (docs/internals/design/remote-stores.md).
    pub(super) redirects: bool,
    /// Whether one request erases many keys, without an error for those that are absent.
    pub(super) erases_many: bool,
    /// The longest key in bytes.
    pub(super) longest_key: usize,
    /// The largest value that one request can carry.
    pub(super) one_request: u64,
    /// What to do about credentials that are refused.
    pub(super) credentials: &'static str,
}

/// Where a store is, and how its server is reached.
pub(crate) struct Location {
    /// Its URL, without secrets.
    pub(super) name: String,
    /// What comes before each key: nothing, or a path with its `/`.
    pub(super) prefix: String,
    pub(super) service: &'static ServiceInfo,
    pub(super) connect: Box<Connect>,
    /// What is known of a web server, which may list by its indices.
    #[cfg(feature = "http")]
    pub(super) indices: Option<super::index::Indices>,
    #[cfg(feature = "http")]
    pub(super) web: Option<super::http::WebAddress>,
}

type Connect = dyn Fn(&Settings, Connector) -> object_store::Result<Backend> + Send + Sync;

impl Location {
    pub(super) fn new(
        name: &str,
        prefix: String,
        service: &'static ServiceInfo,
        connect: impl Fn(&Settings, Connector) -> object_store::Result<Backend> + Send + Sync + 'static,
    ) -> Location {
        let name = without_secrets(name).trim_end_matches('/').to_owned();
        Location {
            name,
            prefix,
            service,
            connect: Box::new(connect),
            #[cfg(feature = "http")]
            indices: None,
            #[cfg(feature = "http")]
            web: None,
        }
    }

    /// What is attached to each request, of a web server; it is taken out of the settings.
    #[cfg_attr(
        not(feature = "http"),
        expect(unused_variables, reason = "only web servers have some")
    )]
    pub(super) fn attached(&self, url: &str, settings: &mut Settings) -> Result<Attached> {
        #[cfg(feature = "http")]
        if let Some(address) = &self.web {
            return super::http::attached(url, address, settings);
        }
        Ok(Attached::default())
    }
}
