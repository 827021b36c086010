//! Sends each HTTP request with a time limit, and checks the answer.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderValue, RANGE};
use reqwest::{Method, StatusCode};

use super::answer::{self, Answer, Failed, MOST_OF_AN_ERROR, Wrong};
use super::attached::Attached;
use super::limiter::Limiter;
use super::{pages, redirect, transport};

/// Bytes of a body beyond which sending it may take longer than the time limit between two bytes of an answer.
const MIN_SLOW_BODY_BYTES: usize = 1 << 20;
/// The fewest bytes that a connection must send in a second.
const SLOWEST: usize = 64 << 10;
/// The most bytes of an answer that is no value, such as a page of a listing.
const MOST_OF_AN_ANSWER: u64 = 64 << 20;

/// Marks a request that changes a value, and notes whether the server may have made the change although it answered
/// nothing of the kind: the connection broke, or the server failed.
#[derive(Clone, Debug, Default)]
pub(super) struct Unsure(pub Arc<AtomicBool>);

/// Marks a request for a value, whose reader limits its size.
#[derive(Clone, Debug)]
pub(super) struct ForValue;

/// Counts requests and bytes.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub requests: AtomicU64,
    pub received: AtomicU64,
    pub wasted: AtomicU64,
}

/// Makes clients whose requests end when no byte arrives for the time `stall`.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    pub stall: Duration,
    pub counts: Arc<Counts>,
    pub limiter: Arc<Limiter>,
    /// Whether redirects are followed (docs/internals/design/remote-stores.md).
    pub redirects: bool,
    /// What goes with each request to a web server.
    pub attached: Attached,
    /// Bytes of keys that a listing may have.
    pub max_listed: u64,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Client {
            small: transport::client(options, Some(self.stall))?,
            // Until a large body is sent nothing is read.
            large: transport::client(options, None)?,
            connector: self.clone(),
        }))
    }
}

#[derive(Debug)]
struct Client {
    small: HttpClient,
    large: HttpClient,
    connector: Connector,
}

/// What the check of an answer needs to know of the request.
struct Asked {
    uri: String,
    /// The values of headers that may be secrets.
    secrets: Vec<HeaderValue>,
    /// Whether each value of the query may be one.
    has_secret_query: bool,
    /// How many bytes of a value it requests; `None` for all of them.
    range: Option<u64>,
    reads: bool,
    for_value: bool,
    for_credentials: bool,
}

#[async_trait]
impl HttpService for Client {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        self.connector.counts.requests.fetch_add(1, Ordering::Relaxed);
        let unsure = request.extensions().get::<Unsure>().cloned();
        self.connector.attached.attach(&mut request);
        let asked = Asked::of(&request, self.connector.attached.has_query());
        let limiter = &self.connector.limiter;
        // The connection broke, or the server has too much to do: the same request may succeed later.
        let is_passing = answer::last_failed().is_some_and(|failed| {
            failed.answer.is_none_or(|answer| matches!(answer.status, 408 | 429 | 500..))
        });
        if is_passing {
            limiter.retry().await;
        }
        let begun = Instant::now();
        let answered = self.send(request).await;
        match &answered {
            Ok(response) if matches!(response.status().as_u16(), 429 | 503) => limiter.refused(),
            Ok(response) if response.status().is_server_error() => {}
            Ok(_) => limiter.answered(asked.for_value.then(|| begun.elapsed())),
            Err(e) if e.kind() == HttpErrorKind::Timeout => limiter.refused(),
            Err(_) => {}
        }
        let answered = match answered {
            Ok(response) => asked.check(response, self.connector.max_listed).await,
            Err(e) => Err(e),
        };
        if let Some(unsure) = unsure
            && answered.as_ref().map_or(true, |response| response.status().is_server_error())
        {
            unsure.0.store(true, Ordering::Relaxed);
        }
        if answered.is_err() {
            let for_credentials = asked.for_credentials;
            answer::remember(Some(Failed { answer: None, for_credentials }));
        }
        // A request that broke on the way is sent again, also a conditional PUT: `set_if` checks a refusal after that.
        answered.map_err(|e| match e.kind() {
            HttpErrorKind::Timeout | HttpErrorKind::Interrupted | HttpErrorKind::Unknown => {
                HttpError::new(HttpErrorKind::Request, e)
            }
            _ => e,
        })
    }
}

impl Client {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let size = request.body().content_length();
        if size > MIN_SLOW_BODY_BYTES {
            let limit = self.connector.stall + Duration::from_secs((size / SLOWEST) as u64);
            let answer = tokio::time::timeout(limit, self.large.execute(request)).await;
            return answer.unwrap_or_else(|late| Err(HttpError::new(HttpErrorKind::Timeout, late)));
        }
        if self.connector.redirects {
            return redirect::follow(&self.small, request, &self.connector.attached).await;
        }
        self.small.execute(request).await
    }
}

impl Asked {
    fn of(request: &HttpRequest, has_secret_query: bool) -> Asked {
        let range = request.headers().get(RANGE).map(|range| {
            let range = range.to_str().unwrap_or_default().trim_start_matches("bytes=");
            let (first, last) = range.split_once('-').unwrap_or_default();
            match (first.parse::<u64>(), last.parse::<u64>()) {
                (Ok(first), Ok(last)) => last.saturating_sub(first).saturating_add(1),
                (Err(_), Ok(last)) => last,
                _ => u64::MAX,
            }
        });
        let secret_parts = ["authorization", "token", "cookie", "key", "signature", "secret"];
        let headers = request.headers().iter().filter(|(name, value)| {
            value.is_sensitive() || secret_parts.iter().any(|part| name.as_str().contains(part))
        });
        Asked {
            uri: request.uri().to_string(),
            secrets: headers.map(|(_, value)| value.clone()).collect(),
            has_secret_query,
            range,
            reads: request.method() == Method::GET,
            for_value: request.extensions().get::<ForValue>().is_some(),
            for_credentials: request.uri().host().is_some_and(gives_credentials),
        }
    }

    /// Returns the answer if it fits the request. Bodies that are no values are read here, up to a limit.
    async fn check(
        &self,
        response: HttpResponse,
        max_listed: u64,
    ) -> Result<HttpResponse, HttpError> {
        let status = response.status();
        if !status.is_success() {
            let (parts, body) = response.into_parts();
            let body = match status {
                StatusCode::NOT_MODIFIED => Bytes::new(),
                _ => beginning(body).await,
            };
            let response = HttpResponse::from_parts(parts, body.clone().into());
            let sent = answer::secrets(&self.uri, &self.secrets, self.has_secret_query);
            let answer = Some(Answer::of(&response, &body).without(&sent));
            answer::remember(Some(Failed { answer, for_credentials: self.for_credentials }));
            return Ok(response);
        }
        answer::remember(None);
        if self.reads
            && let Some(wrong) = self.wrong_part(&response)
        {
            return Err(HttpError::new(HttpErrorKind::Decode, wrong));
        }
        if self.reads && self.is_encoded_document(&response) {
            return Err(HttpError::new(HttpErrorKind::Decode, Wrong::Encoded));
        }
        if self.for_value {
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        let mut body = whole(body).await?;
        if self.reads && pages::is_page(&self.uri) {
            if let Some(wrong) = answer::wrong_page(&self.uri, pages::entries(&body), max_listed) {
                return Err(HttpError::new(HttpErrorKind::Decode, wrong));
            }
            body = pages::without_unusable_keys(body);
        }
        Ok(HttpResponse::from_parts(parts, body.into()))
    }

    /// Whether the answer is a document that is not as it was before it was stored. Of a chunk the header says nothing: that may be compressed
    /// by its array's codec, which some programs give as its encoding.
    fn is_encoded_document(&self, response: &HttpResponse) -> bool {
        const DOCUMENTS: [&str; 5] = ["zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"];
        let path = self.uri.split(['?', '#']).next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let encoding = response.headers().get(CONTENT_ENCODING);
        DOCUMENTS.contains(&name) && encoding.is_some_and(|encoding| encoding != "identity")
    }

    /// The error if the server sent a part for the whole, or the whole for a part.
    fn wrong_part(&self, response: &HttpResponse) -> Option<Wrong> {
        let is_part = response.status() == StatusCode::PARTIAL_CONTENT;
        match self.range {
            None => is_part.then_some(Wrong::Part),
            Some(_) if is_part => None,
            Some(asked) => {
                let size = response.headers().get(CONTENT_LENGTH)?.to_str().ok()?;
                let ignored = size.parse::<u64>().is_ok_and(|size| size > asked);
                Some(Wrong::Whole { ignored })
            }
        }
    }
}

/// Whether a host only gives machines in a cloud their credentials.
fn gives_credentials(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    match address.parse() {
        Ok(IpAddr::V4(address)) => address.is_link_local(),
        Ok(IpAddr::V6(address)) => address.segments()[..2] == [0xfd00, 0x0ec2],
        Err(_) => address.eq_ignore_ascii_case("metadata.google.internal"),
    }
}

/// The beginning of the body of a failed answer; less if the body breaks off.
async fn beginning(body: HttpResponseBody) -> Bytes {
    let mut parts = body.bytes_stream();
    let mut bytes = BytesMut::new();
    while let Some(Ok(part)) = parts.next().await {
        bytes.extend_from_slice(&part[..part.len().min(MOST_OF_AN_ERROR - bytes.len())]);
        if bytes.len() == MOST_OF_AN_ERROR {
            break;
        }
    }
    bytes.freeze()
}

/// A whole body that is no value.
async fn whole(body: HttpResponseBody) -> Result<Bytes, HttpError> {
    let mut parts = body.bytes_stream();
    let mut bytes = BytesMut::new();
    while let Some(part) = parts.next().await {
        bytes.extend_from_slice(&part?);
        if bytes.len() as u64 > MOST_OF_AN_ANSWER {
            let wrong = Wrong::TooLong { most: MOST_OF_AN_ANSWER };
            return Err(HttpError::new(HttpErrorKind::Decode, wrong));
        }
    }
    Ok(bytes.freeze())
}
