//! Remembers what servers answered, so that errors are distinguished by status and code, never by their text.
//!
//! `object_store` has no public type for a failed answer. The connector sees each answer, and keeps the last one for
//! the task that asked.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};

use object_store::client::HttpResponse;
use zarr_core::sync;

/// The bytes of a failed answer that are read.
pub(super) const MOST_OF_AN_ERROR: usize = 64 << 10;

/// Pages of a listing in a row that may have no entry: servers give some while they skip what was erased.
const MOST_EMPTY_PAGES: usize = 1000;

tokio::task_local! {
    static EXCHANGE: Exchange;
}

/// The requests of one operation of the store, and the answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Exchange(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    failed: Option<Failed>,
    /// The pages of a listing that were answered.
    pages: HashSet<String>,
    /// The hashes of what was on them.
    entries: HashSet<u64>,
    hashes: RandomState,
    /// How many bytes they had.
    listed: u64,
    /// How many pages in a row had no entry.
    empty_pages: usize,
    /// The names in a listing that are no store keys.
    left_out: Vec<String>,
}

/// The last request, if it failed.
#[derive(Clone, Debug, Default)]
pub(super) struct Failed {
    /// The server's answer, if there was one.
    pub answer: Option<Answer>,
    /// Whether it was a request for credentials, not for a value or a listing.
    pub for_credentials: bool,
}

/// A failed answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub status: u16,
    /// The server's name for the error, such as `NoSuchBucket`.
    pub code: Option<String>,
    pub message: Option<String>,
    /// The region of a bucket of S3.
    pub region: Option<String>,
    /// Where a redirect points to.
    pub location: Option<String>,
}

/// Why an answer is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Wrong {
    /// `ignored` if that is more than was requested.
    #[error("the server sent all of the value, not the part that was asked for")]
    Whole { ignored: bool },
    #[error("the server sent a part of the value (status 206), although all of it was asked for")]
    Part,
    #[error(
        "the server sent more than {most} bytes, which is more than was asked for or is allowed"
    )]
    TooLong { most: u64 },
    /// More than the limit of its reader.
    #[error("the value has {size} bytes")]
    TooLarge { size: u64 },
    #[error("the server repeats a page of its listing, which would never end")]
    RepeatedPage,
    #[error(
        "the server gives more than {MOST_EMPTY_PAGES} empty pages of its listing in a row, which need not end"
    )]
    EmptyPages,
    #[error(
        "the listing has more than {most} bytes of keys; list a part of it, or raise the store's option `max_listed`"
    )]
    TooManyKeys { most: u64 },
    #[error("the server points to an address that is no http or https")]
    BadRedirect,
    #[error("the server points from address to address without an end")]
    EndlessRedirects,
}

impl Exchange {
    /// Does some work whose answers are remembered here.
    pub async fn scope<T>(self, work: impl Future<Output = T>) -> T {
        EXCHANGE.scope(self, work).await
    }

    #[cfg(test)]
    pub fn with(failed: Failed) -> Exchange {
        Exchange(Arc::new(Mutex::new(State { failed: Some(failed), ..State::default() })))
    }

    #[cfg(test)]
    pub fn sync_scope<T>(self, work: impl FnOnce() -> T) -> T {
        EXCHANGE.sync_scope(self, work)
    }
}

fn with<T>(change: impl FnOnce(&mut State) -> T) -> Option<T> {
    let change = |exchange: &Exchange| change(&mut sync::lock(&exchange.0));
    EXCHANGE.try_with(change).ok()
}

/// Remembers the outcome of a request of this task.
pub(super) fn remember(failed: Option<Failed>) {
    with(|state| state.failed = failed);
}

/// The last request of this task, if it failed.
pub(super) fn last_failed() -> Option<Failed> {
    with(|state| state.failed.clone()).flatten()
}

/// The last answer of this task, if it was a failure.
pub(super) fn last_answer() -> Option<Answer> {
    last_failed()?.answer
}

/// Returns why a page of this task's listing is refused: the page or all of its entries are repeated, too many pages in a
/// row have no entry, or the keys of all pages have more than `most` bytes. A listing of such pages may never end
/// (decision 0142).
pub(super) fn wrong_page(uri: &str, entries: Vec<&str>, most: u64) -> Option<Wrong> {
    with(|state| {
        if !state.pages.insert(uri.to_owned()) {
            return Some(Wrong::RepeatedPage);
        }
        if entries.is_empty() {
            state.empty_pages += 1;
            return (state.empty_pages > MOST_EMPTY_PAGES).then_some(Wrong::EmptyPages);
        }
        state.empty_pages = 0;
        let mut is_new = false;
        for entry in entries {
            state.listed = state.listed.saturating_add(entry.len() as u64);
            is_new |= state.entries.insert(state.hashes.hash_one(entry));
        }
        match (is_new, state.listed > most) {
            (false, _) => Some(Wrong::RepeatedPage),
            (true, true) => Some(Wrong::TooManyKeys { most }),
            (true, false) => None,
        }
    })
    .flatten()
}

/// Remembers a name in a listing that is no store key.
pub(super) fn leave_out(key: String) {
    with(|state| state.left_out.push(key));
}

/// The names in this task's listing that are no store keys.
pub(super) fn left_out() -> Vec<String> {
    with(|state| std::mem::take(&mut state.left_out)).unwrap_or_default()
}

impl Answer {
    /// Reads the headers of an answer, and the XML or JSON of its body.
    pub fn of(response: &HttpResponse, body: &[u8]) -> Answer {
        let header = |name: &str| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
        let body = String::from_utf8_lossy(body);
        let xml = |name: &str| element(&body, name).filter(|text| !text.is_empty());
        let code = xml("Code").or_else(|| header("x-ms-error-code"));
        Answer {
            status: response.status().as_u16(),
            code,
            message: xml("Message"),
            region: xml("Region").or_else(|| header("x-amz-bucket-region")),
            location: header("location"),
        }
    }

    /// Whether there is no such bucket, so that the answer is not about a key.
    pub fn is_missing_bucket(&self) -> bool {
        matches!(self.code.as_deref(), Some("NoSuchBucket" | "ContainerNotFound"))
    }

    /// Whether the bucket is in another region than the request was signed for.
    pub fn is_elsewhere(&self) -> bool {
        let code = self.code.as_deref();
        let redirected = matches!(self.status, 301 | 307 | 308) && self.location.is_none();
        redirected
            || code == Some("PermanentRedirect")
            || (code == Some("AuthorizationHeaderMalformed") && self.region.is_some())
    }
}

/// The text of the first element of this name in some XML.
fn element(xml: &str, name: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    Some(unescaped(text))
}

/// Text of XML, unescaped.
pub(super) fn unescaped(text: &str) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text.trim().to_owned(), |text, (from, to)| text.replace(from, to))
}
