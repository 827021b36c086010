//! What `api` and `page` get and give: a parsed request, and an answer that fits into memory.

use zarr::store::Bytes;
use zarr::{CancelToken, Error, ErrorKind, Json, Object, Result};

use crate::budget::{Budget, Reserved};

/// A request for a path below `/-/`, or for the page.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// What follows `/-/`, percent-decoded: `node`, `plot.png`; empty for the page.
    pub path: String,
    /// The query's names and values in their order, percent-decoded; `+` is a space.
    pub query: Vec<(String, String)>,
    /// Cancelled when the client has gone or the time for an answer is over: hand it to the arrays that are read.
    pub cancel: CancelToken,
    /// The memory that all answers share; unbounded if there is none.
    pub(crate) memory: Option<Budget>,
}

impl Question {
    /// The first value of a query's name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.iter();
        pairs.find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Memory for an answer, while this is kept.
    pub(crate) fn reserve(&self, bytes: u64) -> Result<Option<Reserved>> {
        let memory = self.memory.as_ref();
        memory.map(|memory| memory.reserve_here(bytes, "the answer", &self.cancel)).transpose()
    }
}

/// A whole answer. The server adds its own headers to it: CORS, `nosniff`, the length.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub bytes: Bytes,
    /// Further headers.
    pub headers: Vec<(&'static str, String)>,
}

impl Answer {
    /// An answer with status 200.
    pub fn new(content_type: &'static str, bytes: impl Into<Bytes>) -> Answer {
        Answer { status: 200, content_type, bytes: bytes.into(), headers: Vec::new() }
    }

    /// JSON with status 200.
    pub fn json(json: impl Into<Json>) -> Answer {
        let text = json.into().to_string();
        Answer::new("application/json", text.into_bytes())
    }

    /// `{"error": {"kind", "message"}}` with this status.
    pub fn refusal(status: u16, kind: &str, message: &str) -> Answer {
        let error = Object::new().with("kind", kind).with("message", message);
        Answer { status, ..Answer::json(Object::new().with("error", error)) }
    }

    /// The answer to a question that failed: 404 only for what is absent, 400 for what cannot be asked, 422 for what this
    /// build or the format cannot do, 500 for what could not be read.
    pub fn of_error(error: &Error) -> Answer {
        let (status, kind) = match error.kind() {
            ErrorKind::NotFound => (404, "not_found"),
            ErrorKind::Argument => (400, "argument"),
            ErrorKind::Unsupported => (422, "unsupported"),
            _ => (500, "failed"),
        };
        Answer::refusal(status, kind, &error.to_string())
    }
}
