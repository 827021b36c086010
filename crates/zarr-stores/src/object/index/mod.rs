//! Lists the keys of a web server by the indices that it gives for its folders (docs/internals/design/remote-stores.md).
//!
//! The server of a store is asked for the first index when somebody lists, never before. One that gives none for the root of the store is
//! not asked again.

mod page;

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use futures::future::join_all;
use futures::stream::{FuturesUnordered, StreamExt};
use object_store::client::{
    HttpClient, HttpConnector, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
};
use reqwest::Url;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue, LINK};
use zarr_core::StoreError;
use zarr_core::store::{Listing, Result, StoreKey, StorePrefix};

use self::page::Page;
use super::read::{FIRST_PAUSE, LONGEST_PAUSE};
use super::{Connector, Session, Settings, answer, http};

/// What is asked for. `zarr serve` and Caddy have a page for people where HTML is accepted.
const ACCEPTED: &str = "application/json, */*;q=0.1";
/// How many folders are asked for at a time.
const FOLDERS_AT_ONCE: usize = 32;
/// Folders of one listing, and how deep one may be below another: a link of the server's may lead back to where it is.
const MAX_FOLDERS: usize = 1_000_000;
const MAX_DEPTH: usize = 128;
/// Names in a part of an index, from servers that give long ones in parts.
const NAMES_IN_PART: usize = 10_000;
/// What v2 has in a folder under names that begin with a dot, which servers may hide.
const HIDDEN_DOCUMENTS: [&str; 4] = [".zgroup", ".zarray", ".zattrs", ".zmetadata"];

/// What is known of a web server.
pub(super) struct Indices {
    /// Scheme and host, with what precedes an `@`.
    base: String,
    /// Whether it gives an index of the store's root, or of a folder below.
    are_given: OnceLock<bool>,
}

impl Indices {
    pub fn new(base: &str) -> Indices {
        Indices { base: base.to_owned(), are_given: OnceLock::new() }
    }
}

/// The client that indices are fetched with, made when it is first needed.
#[derive(Clone)]
pub(super) struct IndexClient {
    connector: Connector,
    client: Arc<OnceLock<HttpClient>>,
}

impl IndexClient {
    pub fn new(connector: Connector) -> IndexClient {
        IndexClient { connector, client: Arc::default() }
    }

    fn get(&self, settings: &Settings) -> object_store::Result<HttpClient> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let client = self.connector.connect(&http::client_options(settings)?)?;
        Ok(self.client.get_or_init(|| client).clone())
    }
}

/// What a server says of a folder.
enum Answered {
    Page(Page),
    /// It says that there is none.
    Absent,
    /// It refuses.
    Refused(StoreError),
    /// It sends something else.
    Other,
}

impl Session {
    /// All keys below a prefix.
    pub async fn list_below_by_index(&self, prefix: &StorePrefix) -> Result<Listing> {
        let mut listing = Listing::default();
        let (mut folders, mut under_way) = (vec![prefix.clone()], FuturesUnordered::new());
        let mut asked = 0;
        loop {
            while under_way.len() < FOLDERS_AT_ONCE
                && let Some(folder) = folders.pop()
            {
                asked += 1;
                under_way.push(self.folder_by_index(folder));
            }
            let Some(found) = under_way.next().await else { break };
            let found = found?;
            let is_too_deep =
                found.prefixes.iter().any(|folder| depth(folder) > depth(prefix) + MAX_DEPTH);
            if asked + folders.len() > MAX_FOLDERS || is_too_deep {
                return Err(endless(prefix, answer::Wrong::EndlessFolders));
            }
            folders.extend(found.prefixes);
            listing.keys.extend(found.keys);
            listing.left_out.extend(found.left_out);
        }
        listing.keys.sort();
        Ok(listing)
    }

    /// The keys and folders directly below a prefix. A folder may have no key below it.
    pub async fn list_dir_by_index(&self, prefix: &StorePrefix) -> Result<Listing> {
        self.folder_by_index(prefix.clone()).await
    }

    async fn folder_by_index(&self, prefix: StorePrefix) -> Result<Listing> {
        let Some(indices) = &self.location.indices else { return Err(unlistable()) };
        if indices.are_given.get() == Some(&false) {
            return Err(unlistable());
        }
        let answered = self.index_of(indices, &prefix).await?;
        if let Answered::Page(page) = answered {
            let _ = indices.are_given.set(true);
            return self.listing_of(&prefix, page).await;
        }
        let are_given = match indices.are_given.get() {
            Some(given) => *given,
            None => {
                let root = StorePrefix::root();
                let is_page = !prefix.as_str().is_empty()
                    && matches!(self.index_of(indices, &root).await?, Answered::Page(_));
                *indices.are_given.get_or_init(|| is_page)
            }
        };
        match answered {
            _ if !are_given => Err(unlistable()),
            Answered::Absent => Ok(Listing::default()),
            Answered::Refused(error) => Err(error),
            _ => {
                let why = "the server sends a page of its own for this folder, not an index";
                let source = std::io::Error::new(std::io::ErrorKind::Unsupported, why);
                Err(StoreError::io("list", &prefix)(source))
            }
        }
    }

    /// What an index says, as keys.
    async fn listing_of(&self, prefix: &StorePrefix, mut page: Page) -> Result<Listing> {
        if page.hides && may_be_node(prefix) && !page.files.iter().any(|name| name == "zarr.json") {
            let asked = HIDDEN_DOCUMENTS.iter().map(|name| self.is_there(prefix, name));
            for (name, is_there) in HIDDEN_DOCUMENTS.iter().zip(join_all(asked).await) {
                page.files.extend(is_there?.then(|| (*name).to_owned()));
            }
        }
        let mut listing = Listing::default();
        for name in page.files {
            match StoreKey::new(format!("{prefix}{name}")) {
                Ok(key) => listing.keys.push(key),
                Err(_) => listing.left_out.push(format!("{prefix}{name}")),
            }
        }
        for name in page.folders {
            match StorePrefix::new(format!("{prefix}{name}/")) {
                Ok(folder) => listing.prefixes.push(folder),
                Err(_) => listing.left_out.push(format!("{prefix}{name}/")),
            }
        }
        listing.left_out.extend(page.unusable.iter().map(|name| format!("{prefix}{name}")));
        listing.keys.sort();
        listing.prefixes.sort();
        Ok(listing)
    }

    /// Whether a document is in a folder whose index may hide it.
    async fn is_there(&self, prefix: &StorePrefix, name: &str) -> Result<bool> {
        let key = format!("{prefix}{name}");
        let path = self.path(&key)?;
        let _place = self.limiter.place().await;
        match self.head(&path, None).await {
            Ok(_) => Ok(true),
            Err(e) if self.is_absence(&e) => Ok(false),
            // Some servers refuse every name that begins with a dot.
            Err(object_store::Error::PermissionDenied { .. }) => Ok(false),
            Err(e) => Err(self.failure("list", &key, &e)),
        }
    }

    /// The index of a folder, of all its parts.
    async fn index_of(&self, indices: &Indices, prefix: &StorePrefix) -> Result<Answered> {
        let failed = |e: object_store::Error| self.failure("list", prefix.as_str(), &e);
        let url = self.folder_url(indices, prefix)?;
        let mut whole: Option<Page> = None;
        let mut query = String::new();
        loop {
            let response = self.ask(&format!("{url}{query}")).await.map_err(failed)?;
            let status = response.status().as_u16();
            match status {
                200..300 => {}
                // `zarr serve` gives long listings in parts only.
                413 if query.is_empty() => {
                    query = format!("?limit={NAMES_IN_PART}");
                    continue;
                }
                404 | 410 if whole.is_none() => return Ok(Answered::Absent),
                _ => {
                    let source = format!("the server answers {status}").into();
                    let error = object_store::Error::Generic { store: "HTTP", source };
                    let error = failed(error);
                    let is_refusal = whole.is_none() && matches!(status, 300..500);
                    return if is_refusal { Ok(Answered::Refused(error)) } else { Err(error) };
                }
            }
            let next = next_part(response.headers());
            let (folder, body) = (decoded_path(&url), body(response).await.map_err(failed)?);
            let Some(page) = page::parse(&body, &folder) else { return Ok(Answered::Other) };
            let names = page.folders.iter().chain(&page.files);
            let names: Vec<String> = names.map(|name| format!("{prefix}{name}")).collect();
            // A folder may be empty; a part of an index that goes on may not.
            if !names.is_empty() || whole.is_some() || next.is_some() {
                let uri = format!("{url}{query}");
                let entries = names.iter().map(String::as_str).collect();
                if let Some(wrong) = answer::wrong_page(&uri, entries, self.settings.max_listed) {
                    return Err(endless(prefix, wrong));
                }
            }
            let all = whole.get_or_insert_default();
            all.folders.extend(page.folders);
            all.files.extend(page.files);
            all.unusable.extend(page.unusable);
            all.hides |= page.hides;
            match next {
                Some(next) => query = next,
                None => break,
            }
        }
        Ok(whole.map_or(Answered::Other, Answered::Page))
    }

    /// Sends a request for an index, and again if that may help.
    async fn ask(&self, url: &str) -> object_store::Result<HttpResponse> {
        let client = self.index_client.get(&self.settings)?;
        let (mut pause, mut retries) = (FIRST_PAUSE, self.settings.max_retries);
        let begun = Instant::now();
        loop {
            let mut request = HttpRequest::new(HttpRequestBody::empty());
            *request.uri_mut() = url.parse().map_err(generic)?;
            request.headers_mut().insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
            let answered = {
                let _place = self.limiter.place().await;
                client.execute(request).await
            };
            let is_passing = match &answered {
                Ok(response) => matches!(response.status().as_u16(), 408 | 429 | 500..),
                Err(e) => matches!(e.kind(), HttpErrorKind::Connect | HttpErrorKind::Request),
            };
            if !is_passing || retries == 0 || begun.elapsed() > self.settings.retry_timeout {
                return answered.map_err(generic);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            retries -= 1;
        }
    }

    /// The URL of a folder, with a `/` at its end: without it, servers send readers there.
    fn folder_url(&self, indices: &Indices, prefix: &StorePrefix) -> Result<Url> {
        // Checks the length, and what a path may have.
        self.path(prefix.as_str().trim_end_matches('/'))?;
        let mut url = Url::parse(&indices.base)
            .map_err(|e| StoreError::invalid_url(&self.location.name, e.to_string()))?;
        let whole = format!("{}{prefix}", self.location.prefix);
        let mut segments = url
            .path_segments_mut()
            .map_err(|()| StoreError::invalid_url(&self.location.name, "it has no path"))?;
        segments.pop_if_empty().extend(whole.split_terminator('/')).push("");
        drop(segments);
        Ok(url)
    }
}

/// How many folders are named in a prefix.
fn depth(folder: &StorePrefix) -> usize {
    folder.as_str().matches('/').count()
}

/// An error of object_store's for a cause of HTTP's.
fn generic(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> object_store::Error {
    object_store::Error::Generic { store: "HTTP", source: source.into() }
}

fn unlistable() -> StoreError {
    StoreError::not_capable("list", "listable")
}

fn endless(prefix: &StorePrefix, wrong: answer::Wrong) -> StoreError {
    let source = std::io::Error::new(std::io::ErrorKind::InvalidData, wrong);
    StoreError::io("list", prefix)(source)
}

/// Whether a folder may be a node's: chunks are below `c`, or in folders whose names are numbers.
fn may_be_node(prefix: &StorePrefix) -> bool {
    let name = prefix.as_str().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    name.is_empty() || (name != "c" && !name.bytes().all(|byte| byte.is_ascii_digit()))
}

fn decoded_path(url: &Url) -> String {
    let decoded = crate::percent::decoded_text(url.path());
    decoded.unwrap_or_else(|| url.path().to_owned())
}

async fn body(response: HttpResponse) -> object_store::Result<Bytes> {
    let read = response.into_body().bytes().await;
    read.map_err(|e| object_store::Error::Generic { store: "HTTP", source: Box::new(e) })
}

/// The query of the next part of an index (RFC 8288), if it is one of the same folder.
fn next_part(headers: &HeaderMap) -> Option<String> {
    let links = headers.get_all(LINK).iter().filter_map(|link| link.to_str().ok());
    let next = links.flat_map(|links| links.split(',')).find_map(|link| {
        let (target, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
        let is_next = parameters.split(';').any(|parameter| {
            let (name, value) = parameter.trim().split_once('=').unwrap_or_default();
            name.eq_ignore_ascii_case("rel") && value.trim_matches('"') == "next"
        });
        is_next.then_some(target)
    });
    next.filter(|target| target.starts_with('?')).map(str::to_owned)
}
