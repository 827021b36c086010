//! Remembers what servers answered, so that errors are distinguished by status and code, never by their text.
//!
//! `object_store` has no public type for a failed answer. The connector sees each answer, and keeps the last one for
//! the task that asked.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};

use object_store::client::HttpResponse;
use percent_encoding::percent_decode_str;
use reqwest::header::HeaderValue;
use zarr_core::sync;

use super::attached::WithoutHeaders;

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
    /// The server that was asked after a redirect, without the headers that are for another one.
    pub without_headers: Option<String>,
}

/// Why an answer is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Wrong {
    /// `ignored` if that is more than was requested.
    #[error("the server sent the whole value instead of the requested part")]
    Whole { ignored: bool },
    #[error("the server sent a part of the value (status 206) instead of the whole value")]
    Part,
    #[error(
        "the server sent more than {most} bytes, which is more than was requested or is allowed"
    )]
    TooLong { most: u64 },
    /// More than the limit of its reader.
    #[error("the value has {size} bytes")]
    TooLarge { size: u64 },
    #[error("the server repeats a page of its listing, which would never end")]
    RepeatedPage,
    #[error("the server sent more than {MOST_EMPTY_PAGES} empty pages of its listing in a row")]
    EmptyPages,
    #[error(
        "the listing has more than {most} bytes of keys; list a part of it, or raise the store's option `max_listed`"
    )]
    TooManyKeys { most: u64 },
    #[cfg(feature = "http")]
    #[error(
        "the server has too many folders, or one is too deep, as where a link leads back; list a part of it"
    )]
    EndlessFolders,
    #[error("the server redirects to an address that is not http or https")]
    BadRedirect,
    #[error(
        "the server sends the document compressed (the header `Content-Encoding`), and so probably all other objects; store them \
         without that header, uncompressed"
    )]
    Encoded,
    #[error("the server redirects too many times")]
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
    EXCHANGE.try_with(|exchange: &Exchange| change(&mut sync::lock(&exchange.0))).ok()
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
/// row have no entry, or the keys of all pages have more than `most` bytes. A listing of such pages may never end.
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
            without_headers: response.extensions().get().map(|WithoutHeaders(it)| it.clone()),
        }
    }

    /// The same, its texts without what was sent: some servers repeat it, and messages end up in logs.
    pub fn without(mut self, secrets: &[String]) -> Answer {
        let texts =
            [&mut self.code, &mut self.message, &mut self.region, &mut self.without_headers];
        for text in texts.into_iter().flatten() {
            for secret in secrets {
                if text.contains(secret.as_str()) {
                    *text = text.replace(secret.as_str(), "…");
                }
            }
        }
        self
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

/// The fewest characters of a text that is taken for a secret.
const LEAST_SECRET: usize = 4;

/// What of a request may be a secret, longer ones first: the user in its URL, signatures and tokens in its query, or all values there if
/// `has_secret_query`, and the values of these headers.
pub(super) fn secrets(uri: &str, headers: &[HeaderValue], has_secret_query: bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |text: &str| {
        let decoded = percent_decode_str(text).decode_utf8_lossy().into_owned();
        found.extend([text.to_owned(), decoded]);
    };
    let (before, query) = uri.split_once('?').unwrap_or((uri, ""));
    if has_secret_query {
        add(query);
        for pair in query.split('&') {
            add(pair.split_once('=').map_or(pair, |(_, value)| value));
        }
    }
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        let name = name.to_ascii_lowercase();
        let is_secret = ["sig", "token", "credential", "key", "password", "secret"];
        if is_secret.iter().any(|part| name.contains(part)) {
            add(value);
        }
    }
    let authority =
        before.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default());
    if let Some((user, _)) = authority.rsplit_once('@') {
        add(user);
        if let Some((_, password)) = user.split_once(':') {
            add(password);
        }
        // So the client sends it.
        add(&base64(&percent_decode_str(user).collect::<Vec<u8>>()));
    }
    for header in headers.iter().filter_map(|header| header.to_str().ok()) {
        add(header);
        // `Bearer TOKEN`; `AWS4-HMAC-SHA256 Credential=ID/…, SignedHeaders=…, Signature=…`.
        let (_, rest) = header.split_once(' ').unwrap_or(("", header));
        add(rest);
        for part in rest.split([',', ' ']) {
            match part.split_once('=') {
                Some(("SignedHeaders", _)) | None => {}
                Some((_, value)) => {
                    add(value);
                    add(value.split('/').next().unwrap_or_default());
                }
            }
        }
    }
    found.retain(|text| text.chars().count() >= LEAST_SECRET);
    found.sort_by_key(|text| std::cmp::Reverse(text.len()));
    found.dedup();
    found
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let mut padded = [0; 4];
        padded[1..=three.len()].copy_from_slice(three);
        let bits = u32::from_be_bytes(padded);
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= three.len() { letter.into() } else { '=' });
        }
    }
    text
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_repeats_of_a_request_is_not_shown() {
        assert_eq!(base64(b"user:pass"), "dXNlcjpwYXNz");
        assert_eq!([base64(b"a"), base64(b"ab"), base64(b"abc")], ["YQ==", "YWI=", "YWJj"]);
        let header = |text: &str| HeaderValue::from_str(text).unwrap();
        let sent = secrets(
            "https://user:pa%2Fss@host/c/k?sig=ab%2Bcd%3D&sv=2020&X-Amz-Security-Token=tok12345",
            &[
                header("Bearer ey.secret.token"),
                header(
                    "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/20261128/eu/s3/aws4_request, SignedHeaders=host;range, Signature=0123abcd",
                ),
            ],
            false,
        );
        for (said, shown) in [
            ("token ey.secret.token expired", "token … expired"),
            ("Bearer ey.secret.token", "…"),
            ("AKIAEXAMPLE is not known, 0123abcd neither", "… is not known, … neither"),
            ("sig=ab%2Bcd%3D, ab+cd=", "sig=…, …"),
            ("tok12345", "…"),
            ("user:pa/ss, pa%2Fss, dXNlcjpwYS9zcw==", "…, …, …"),
            ("host;range, sv=2020", "host;range, sv=2020"),
        ] {
            let message = Some(said.to_owned());
            let answer = Answer { message, ..Answer::default() }.without(&sent);
            assert_eq!(answer.message.as_deref(), Some(shown));
        }
    }
}
