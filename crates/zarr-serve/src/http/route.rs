//! Finds what a request is for, and answers it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Collected};
use hyper::body::{Body as _, Incoming};
use hyper::header::{
    ALLOW, CONNECTION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, StatusCode, Version};
use zarr::CancelToken;

use super::raw::{self, Asking, accepts};
use super::reply::{Held, Reply, full, of_answer, text};
use super::{Shared, keys, path};
use crate::answer::Memory;
use crate::{Answer, Question, api, listing, page, tiles};

/// How long an answer below `/-/` may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of memory that each of them has at least, while it is made.
const MIN_SHARE_BYTES: u64 = 4 << 20;

/// Cancels what was begun for a client that has gone.
pub(crate) struct Cancels(pub CancelToken);

impl Drop for Cancels {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The answer to a request, with the headers that every answer has.
pub(crate) async fn answer(shared: &Arc<Shared>, request: &Request<Incoming>) -> Reply {
    let is_preflight = request.method() == Method::OPTIONS;
    let mut reply = match check(shared, request) {
        Err(refusal) => *refusal,
        Ok(path) => {
            let mut reply = hidden(shared, request, routed(shared, request, &path).await).await;
            if request.method() == Method::HEAD {
                head(&mut reply);
            }
            reply
        }
    };
    let headers = reply.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    const POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
    let is_open = shared.cors.origins != super::Origins::None;
    let policy = if is_open { "cross-origin" } else { "same-origin" };
    headers.insert(POLICY, HeaderValue::from_static(policy));
    if let Some(origin) = shared.cors.add(request.headers(), is_preflight, headers) {
        let origin = origin.escape_debug();
        shared.tell(&format!(
            "a page of {origin} requested data, which its browser withholds; `--cors {origin}` lets it read, `--cors` lets every page"
        ));
    }
    reply
}

/// An answer that tells of no path on this machine. Standard error gets what failed, with the paths.
async fn hidden(shared: &Shared, request: &Request<Incoming>, reply: Reply) -> Reply {
    let status = reply.status();
    if !status.is_client_error() && !status.is_server_error() {
        return reply;
    }
    let (parts, body) = reply.into_parts();
    let bytes = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    let told = String::from_utf8_lossy(&bytes);
    if status == StatusCode::INTERNAL_SERVER_ERROR {
        shared.targets.doubt();
    }
    if status.is_server_error() || status == StatusCode::FORBIDDEN {
        shared.tell(&format!(
            "{} {} {}: {}",
            request.method(),
            request.uri(),
            status.as_u16(),
            told.trim_end()
        ));
    }
    let body = shared.targets.hidden.text(&told).map_or(bytes, |text| text.into_bytes().into());
    Reply::from_parts(parts, full(body))
}

/// Takes the body from an answer, and leaves its length.
fn head(reply: &mut Reply) {
    if !reply.headers().contains_key(hyper::header::CONTENT_LENGTH)
        && let Some(length) = reply.body().size_hint().exact()
        && reply.status() != StatusCode::NOT_MODIFIED
    {
        reply.headers_mut().insert(hyper::header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    *reply.body_mut() = full("");
}

/// The path of a request that is answered at all.
fn check(shared: &Shared, request: &Request<Incoming>) -> Result<String, Box<Reply>> {
    if request.version() > Version::HTTP_11 {
        return Err(refusal(StatusCode::HTTP_VERSION_NOT_SUPPORTED, "this server speaks HTTP/1.1"));
    }
    let mut hosts = request.headers().get_all(HOST).iter();
    let (host, other) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next());
    let Some(host) = host.filter(|_| other.is_none()) else {
        return Err(refusal(StatusCode::BAD_REQUEST, "expected exactly one `Host` header"));
    };
    // An absolute URI's host counts, too; both must be ours.
    let authority = request.uri().authority().map(hyper::http::uri::Authority::as_str);
    let is_http = request.uri().scheme_str().is_none_or(|scheme| scheme == "http");
    if !is_http
        || ![Some(host), authority].into_iter().flatten().all(|host| shared.hosts.accepts(host))
    {
        let shown = host.escape_debug();
        let why = format!("unknown host name `{shown}`; `--host NAME` adds a name");
        return Err(refusal(StatusCode::MISDIRECTED_REQUEST, &why));
    }
    if ![Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method()) {
        let mut refusal = refusal(StatusCode::METHOD_NOT_ALLOWED, "this server is read-only");
        refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, OPTIONS"));
        return Err(refusal);
    }
    if !request.body().is_end_stream() {
        return Err(refusal(StatusCode::PAYLOAD_TOO_LARGE, "requests cannot have a body"));
    }
    if request.method() == Method::OPTIONS && request.uri().path() == "*" {
        return Ok(String::new());
    }
    path::decoded(request.uri().path()).map_err(|why| {
        let why = format!("the path cannot be served: {why}");
        Box::new(text(StatusCode::BAD_REQUEST, &why))
    })
}

/// A refusal that closes the connection: what follows on it may be the body that was not read.
fn refusal(status: StatusCode, why: &str) -> Box<Reply> {
    let mut refusal = text(status, why);
    refusal.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    Box::new(refusal)
}

/// The answer for a path, which is decoded and begins without a `/`.
async fn routed(shared: &Arc<Shared>, request: &Request<Incoming>, path: &str) -> Reply {
    if request.method() == Method::OPTIONS {
        let mut reply = text(StatusCode::NO_CONTENT, "");
        *reply.body_mut() = full("");
        reply.headers_mut().remove(CONTENT_TYPE);
        reply.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, OPTIONS"));
        return reply;
    }
    let asking = Asking {
        method: request.method(),
        headers: request.headers(),
        raw_path: request.uri().path(),
        query: request.uri().query().unwrap_or_default(),
        listing: &shared.listing,
        memory: &shared.memory,
    };
    match path.split_once('/').unwrap_or((path, "")) {
        ("", _) => root(shared, request).await,
        ("-", rest) => question(shared, request, rest).await,
        ("tiles", rest) => {
            blocking(shared, request, rest, |question: &Question, shared: &Shared| {
                tiles::answer(question, &shared.targets)
            })
            .await
        }
        ("metrics", "") => of_answer(Answer::new(
            "text/plain; version=0.0.4; charset=utf-8",
            shared.metrics.text().into_bytes(),
        )),
        ("v3", rest) if !rest.is_empty() => keys::answer(shared, rest, true, &asking).await,
        ("v3", _) => names(shared, path, &asking),
        _ => keys::answer(shared, path, shared.to_v3, &asking).await,
    }
}

/// The names of what is served as v3.
fn names(shared: &Shared, path: &str, asking: &Asking<'_>) -> Reply {
    if !path.ends_with('/') {
        return raw::moved(asking);
    }
    let names = shared.targets.roots().map(|(name, _)| listing::Entry::folder(name));
    raw::listed(path, names.collect(), asking)
}

/// The page, or a list of names as JSON.
async fn root(shared: &Arc<Shared>, request: &Request<Incoming>) -> Reply {
    let headers = request.headers();
    if accepts(headers, "application/json") && !accepts(headers, "text/html") {
        let entries: Vec<_> =
            shared.targets.roots().map(|(name, _)| listing::Entry::folder(name)).collect();
        return of_answer(listing::json("", &entries));
    }
    blocking(shared, request, "", |question, shared| page::page(question, &shared.targets)).await
}

/// The answer below `/-/`.
async fn question(shared: &Arc<Shared>, request: &Request<Incoming>, path: &str) -> Reply {
    blocking(shared, request, path, |question, shared| api::answer(question, &shared.targets)).await
}

/// The URL of this server as a client calls it, which [`check`] has accepted. A proxy that has encryption says so.
fn base_of(request: &Request<Incoming>) -> String {
    let scheme = match header(request, "x-forwarded-proto") {
        Some("https") => "https",
        _ => "http",
    };
    format!("{scheme}://{}/", header(request, HOST.as_str()).unwrap_or("localhost"))
}

/// A header that is a text.
fn header<'a>(request: &'a Request<Incoming>, name: &str) -> Option<&'a str> {
    request.headers().get(name).and_then(|value| value.to_str().ok())
}

/// The answer of a function that may block, on a thread for that; a limited number at a time.
async fn blocking(
    shared: &Arc<Shared>,
    request: &Request<Incoming>,
    path: &str,
    call: impl FnOnce(&Question, &Shared) -> Answer + Send + 'static,
) -> Reply {
    let query = path::pairs(request.uri().query().unwrap_or_default());
    let memory = Memory::new(shared.memory.clone());
    let cancel = CancelToken::new();
    let _cancels = Cancels(cancel.clone());
    let question = Question {
        path: path.to_owned(),
        query,
        base: base_of(request),
        cancel: cancel.clone(),
        memory: Some(memory.clone()),
    };
    let of_call = shared.clone();
    let called = shared.workers.run(
        async || Ok::<_, Infallible>(()),
        move |()| {
            if question.cancel.is_cancelled() {
                return Answer::of_error(&zarr::AccessError::Cancelled.into());
            }
            match question.reserve(question.share(MIN_SHARE_BYTES, 16)) {
                Ok(()) => call(&question, &of_call),
                Err(e) => Answer::of_error(&e),
            }
        },
    );
    match tokio::time::timeout(ANSWER_TIMEOUT, called).await {
        Ok(Ok(Some(answer))) => {
            let size = answer.bytes.len() as u64;
            let mut reply = of_answer(answer);
            if let Some(mut held) = memory.taken() {
                if let Err(e) = shared.memory.adjust(&mut held, size, "the answer").await {
                    return of_answer(Answer::of_error(&e.into()));
                }
                reply.extensions_mut().insert(Held::new(held));
            }
            reply
        }
        Ok(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "cannot produce the response"),
        Err(_) => {
            cancel.cancel();
            let why =
                "the response took more than 30 seconds; request a smaller part, or try again";
            let mut reply = text(StatusCode::SERVICE_UNAVAILABLE, why);
            reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("30"));
            reply
        }
    }
}
