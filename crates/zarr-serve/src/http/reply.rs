//! Makes answers of values: with their tags, whole or in part, sent piece by piece.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use futures::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName,
    HeaderValue, RANGE,
};
use hyper::{HeaderMap, Response, StatusCode};
use zarr::store::{ByteRange, Snapshot};

use super::range::{Asked, asked};
use super::validator::{Outcome, outcome};
use crate::Answer;
use crate::budget::Reserved;

/// The body of an answer.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;
/// An answer.
pub(crate) type Reply = Response<Body>;

/// A value that is to be sent.
pub(crate) struct Value {
    pub content: Content,
    /// How many bytes it has.
    pub size: u64,
    /// Its entity tag, if its store can tell versions apart.
    pub tag: Option<String>,
    pub content_type: &'static str,
    /// How many bytes are read at once.
    pub piece: u64,
    /// Further headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The memory of its content, until it is sent.
    pub held: Reserved,
}

/// Memory that an answer has until it is sent.
#[derive(Clone)]
pub(crate) struct Held {
    _memory: Arc<Reserved>,
}

impl Held {
    pub fn new(memory: Reserved) -> Held {
        Held { _memory: Arc::new(memory) }
    }

    /// The same bytes, which keep the memory until they are dropped.
    pub fn with(&self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Sent { bytes, _held: self.clone() })
    }
}

/// Bytes that are being sent.
struct Sent {
    bytes: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for Sent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Where the bytes of a value are.
pub(crate) enum Content {
    Memory(Bytes),
    Stored(Box<dyn Snapshot>),
}

/// A body of these bytes.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A short answer in words.
pub(crate) fn text(status: StatusCode, text: &str) -> Reply {
    let mut reply = Response::new(full(format!("{text}\n")));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    reply
}

/// An answer that is whole.
pub(crate) fn of_answer(answer: Answer) -> Reply {
    let mut reply = Response::new(full(answer.bytes));
    *reply.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    for (name, value) in answer.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.append(name, value);
        }
    }
    reply
}

impl Value {
    /// The answer to a request with these headers.
    pub fn reply(self, request: &HeaderMap) -> Reply {
        let mut reply = Response::new(full(Bytes::new()));
        let headers = reply.headers_mut();
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        let tag = self.tag.as_deref().and_then(|tag| HeaderValue::from_str(tag).ok());
        headers.extend(tag.map(|tag| (ETAG, tag)));
        headers.extend(self.headers.clone());
        let range = request.get(RANGE).and_then(|range| range.to_str().ok());
        let range = match outcome(request, self.tag.as_deref()) {
            Outcome::Failed => {
                *reply.status_mut() = StatusCode::PRECONDITION_FAILED;
                return reply;
            }
            Outcome::NotModified => {
                *reply.status_mut() = StatusCode::NOT_MODIFIED;
                return reply;
            }
            Outcome::SendWhole => None,
            Outcome::Send => range,
        };
        let size = self.size;
        let part = match range.map_or(Asked::Whole, |range| asked(range, size)) {
            Asked::Whole => 0..size,
            Asked::Part(part) => {
                *reply.status_mut() = StatusCode::PARTIAL_CONTENT;
                let text = format!("bytes {}-{}/{size}", part.start, part.end - 1);
                reply
                    .headers_mut()
                    .extend(HeaderValue::try_from(text).map(|text| (CONTENT_RANGE, text)));
                part
            }
            Asked::Outside => {
                *reply.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
                let text = format!("bytes */{size}");
                reply
                    .headers_mut()
                    .extend(HeaderValue::try_from(text).map(|text| (CONTENT_RANGE, text)));
                return reply;
            }
        };
        reply.extensions_mut().insert(Held::new(self.held));
        let headers = reply.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(part.end - part.start));
        *reply.body_mut() = match self.content {
            Content::Memory(bytes) => full(bytes.slice(part.start as usize..part.end as usize)),
            Content::Stored(snapshot) => pieces(snapshot, part, self.piece),
        };
        reply
    }
}

/// The bytes of a part, read piece by piece while they are sent. A failed reading breaks the connection: what was promised
/// cannot be taken back otherwise.
fn pieces(snapshot: Box<dyn Snapshot>, part: Range<u64>, piece: u64) -> Body {
    let (first, end) = (part.start, part.end);
    let frames = stream::try_unfold((snapshot, first), move |(snapshot, at)| async move {
        if at >= end {
            return Ok(None);
        }
        let len = piece.min(end - at);
        let range = ByteRange::Bounded { start: at, len };
        let read = snapshot.read(&[range]).await.map_err(io::Error::other)?;
        let bytes: Bytes = match <[_; 1]>::try_from(read) {
            Ok([bytes]) => bytes,
            Err(more) => more.concat().into(),
        };
        if bytes.len() as u64 != len {
            return Err(io::Error::other("the store gave another number of bytes"));
        }
        Ok(Some((Frame::data(bytes), (snapshot, at + len))))
    });
    StreamBody::new(frames).boxed_unsync()
}
