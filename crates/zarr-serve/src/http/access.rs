//! Tells of each request once its answer has ended.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant, SystemTime};

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};

use super::metrics::Metrics;
use super::reply::{Body, Held};

/// A request and its answer, for the access log.
#[derive(Clone, Debug)]
pub struct Access {
    /// When the request came.
    pub time: SystemTime,
    /// From where.
    pub peer: SocketAddr,
    /// `GET`.
    pub method: String,
    /// Its path and query as they were sent: ASCII without spaces and control characters.
    pub target: String,
    /// The status of the answer.
    pub status: u16,
    /// Bytes of the body that were handed to the connection.
    pub bytes: u64,
    /// From the request to the end of the answer.
    pub duration: Duration,
    /// Whether the client went away, or the reading failed, before the end.
    pub is_cut_off: bool,
}

/// What is called with each [`Access`].
pub type Log = Arc<dyn Fn(&Access) + Send + Sync>;

/// An answer's body that tells of its end.
pub(crate) struct Watched {
    body: Body,
    access: Access,
    began: Instant,
    /// How many bytes the answer has, if that is known, and whether they have all been handed over.
    length: Option<u64>,
    has_ended: bool,
    log: Option<Log>,
    metrics: Arc<Metrics>,
    /// The answer's memory.
    held: Option<Held>,
}

impl Watched {
    /// The body of an answer to a request that came when `began` was now.
    pub fn new(
        (body, length): (Body, Option<u64>),
        access: Access,
        began: Instant,
        log: Option<Log>,
        metrics: Arc<Metrics>,
        held: Option<Held>,
    ) -> Watched {
        let has_ended = body.is_end_stream();
        Watched { body, access, began, length, has_ended, log, metrics, held }
    }
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        // The connection has the bytes for longer than the body: until its client has taken them.
        let frame = frame.map(|frame| {
            frame.map(|frame| match &self.held {
                Some(held) => frame.map_data(|data| held.with(data)),
                None => frame,
            })
        });
        match &frame {
            Some(Ok(frame)) => {
                self.access.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
                // Nothing is asked of a body that has given all that was announced.
                self.has_ended =
                    self.body.is_end_stream() || self.length == Some(self.access.bytes);
            }
            Some(Err(_)) => {}
            None => self.has_ended = true,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.access.duration = self.began.elapsed();
        self.access.is_cut_off = !self.has_ended;
        self.metrics.under_way.fetch_sub(1, Ordering::Relaxed);
        let nanoseconds = u64::try_from(self.access.duration.as_nanos()).unwrap_or(u64::MAX);
        self.metrics.answered(self.access.status, nanoseconds);
        if let Some(log) = &self.log {
            log(&self.access);
        }
    }
}
