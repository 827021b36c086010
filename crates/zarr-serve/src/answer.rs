//! What `api` and `page` get and give: a parsed request, and an answer that fits into memory.

use std::sync::{Arc, Mutex};
use zarr::store::Bytes;

use zarr::sync::lock;
use zarr::{CancelToken, Error, ErrorKind, Json, Object, Result};

use crate::budget::{Budget, Refused, Reserved};

/// Seconds after which a client whose answer found no memory may ask again.
pub(crate) const RETRY_AFTER: &str = "5";

/// A request for a path below `/-/` or `/tiles/`, or for the page.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// What follows `/-/` or `/tiles/`, percent-decoded: `node`, `plot.png`; empty for the page.
    pub path: String,
    /// The query's names and values in their order, percent-decoded; `+` is a space.
    pub query: Vec<(String, String)>,
    /// The URL of the server as the client calls it, with a `/` at its end: `http://localhost:8000/`.
    pub base: String,
    /// Cancelled when the client has gone or the time for an answer is over: hand it to the arrays that are read.
    pub cancel: CancelToken,
    /// The memory for the answer; unbounded if there is none.
    pub(crate) memory: Option<Memory>,
}

/// What an answer has of the memory that all share, until it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub budget: Budget,
    held: Arc<Mutex<Option<Reserved>>>,
}

impl Memory {
    /// No bytes yet.
    pub fn new(budget: Budget) -> Memory {
        Memory { budget, held: Arc::default() }
    }

    /// What is held, which is no longer.
    pub fn taken(&self) -> Option<Reserved> {
        lock(&self.held).take()
    }
}

impl Question {
    /// The first value of a query's name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.iter();
        pairs.find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// `most` bytes, or one of `parts` of all the memory there is if that is less.
    pub(crate) fn share(&self, most: u64, parts: u64) -> u64 {
        self.memory.as_ref().map_or(most, |memory| most.min(memory.budget.size() / parts))
    }

    /// Adds to the answer's memory.
    ///
    /// # Errors
    /// As [`Budget::reserve`].
    pub(crate) fn reserve(&self, bytes: u64) -> Result<()> {
        let Some(memory) = &self.memory else { return Ok(()) };
        let more = memory.budget.reserve_here(bytes, "the answer", &self.cancel)?;
        match &mut *lock(&memory.held) {
            Some(held) => held.merge(more),
            held => *held = Some(more),
        }
        Ok(())
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
    /// build or the format cannot do, 413 for what takes more memory than there is and 503 for what others have, 500 for what
    /// could not be read.
    pub fn of_error(error: &Error) -> Answer {
        let (status, kind) = match (error.kind(), Refused::of_any(error)) {
            (_, Some(refused)) => {
                let (status, kind) =
                    if refused.is_busy { (503, "busy") } else { (413, "too_large") };
                let mut answer = Answer::refusal(status, kind, &refused.to_string());
                if refused.is_busy {
                    answer.headers.push(("retry-after", RETRY_AFTER.into()));
                }
                return answer;
            }
            (ErrorKind::NotFound, _) => (404, "not_found"),
            (ErrorKind::Argument, _) => (400, "argument"),
            (ErrorKind::Unsupported, _) => (422, "unsupported"),
            (ErrorKind::Limit, _) => (413, "too_large"),
            _ => (500, "failed"),
        };
        Answer::refusal(status, kind, &error.to_string())
    }
}
