//! Attaches to each request for one web server what its user gave for it: headers, and the query of the URL.
//!
//! All of it may be secret. It is sent to the scheme, host and port of the store's URL and nowhere else, and what a server
//! repeats of it is not shown.

use std::fmt;
use std::sync::Arc;

use object_store::client::HttpRequest;
use reqwest::Url;
use reqwest::header::HeaderMap;

/// Headers and a query for one server, or nothing.
#[derive(Clone, Default)]
pub(super) struct Attached(Option<Arc<Inner>>);

struct Inner {
    /// An address of the server.
    server: Url,
    /// Each is marked as sensitive, so that nothing prints its value.
    headers: HeaderMap,
    /// Without its `?`.
    query: Option<String>,
}

/// Values may be secrets, and so are not shown.
impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attached").finish_non_exhaustive()
    }
}

/// The server that a request was redirected to without the headers that are for another one. The answer has it as an extension.
#[derive(Clone, Debug)]
pub(super) struct WithoutHeaders(pub String);

impl Attached {
    #[cfg(feature = "http")]
    pub fn new(server: Url, headers: HeaderMap, query: Option<String>) -> Attached {
        if headers.is_empty() && query.is_none() {
            return Attached(None);
        }
        Attached(Some(Arc::new(Inner { server, headers, query })))
    }

    /// Attaches the headers and the query to a request of the store, which is for the server unless something is wrong.
    pub fn attach(&self, request: &mut HttpRequest) {
        let Some(inner) = &self.0 else { return };
        let uri = request.uri().to_string();
        if !Url::parse(&uri).is_ok_and(|url| self.is_for(&url)) {
            return;
        }
        if let Some(query) = &inner.query {
            let separator = if uri.contains('?') { '&' } else { '?' };
            // A server may have named the next part of an index by the whole query.
            let is_there = uri
                .split_once('?')
                .is_some_and(|(_, there)| format!("&{there}&").contains(&format!("&{query}&")));
            if !is_there && let Ok(with_query) = format!("{uri}{separator}{query}").parse() {
                *request.uri_mut() = with_query;
            }
        }
        self.attach_headers(request);
    }

    /// Attaches the headers to a request that is known to be for the server.
    pub fn attach_headers(&self, request: &mut HttpRequest) {
        let Some(inner) = &self.0 else { return };
        for (name, value) in &inner.headers {
            // What the store says itself, such as the kind of index that it reads, stays.
            request.headers_mut().entry(name).or_insert_with(|| value.clone());
        }
    }

    /// Whether an address is on the server: the same scheme, host and port.
    pub fn is_for(&self, address: &Url) -> bool {
        self.0.as_ref().is_some_and(|inner| inner.server.origin() == address.origin())
    }

    pub fn has_headers(&self) -> bool {
        self.0.as_ref().is_some_and(|inner| !inner.headers.is_empty())
    }

    pub fn has_query(&self) -> bool {
        self.0.as_ref().is_some_and(|inner| inner.query.is_some())
    }
}
