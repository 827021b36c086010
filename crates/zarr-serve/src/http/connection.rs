//! A connection that ends when its client stops reading or writing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

/// A connection whose writes fail when the client takes nothing for some time. How long it may be silent before its next
/// request, hyper limits.
pub(crate) struct Connection {
    stream: TcpStream,
    patience: Duration,
    /// Until when the client has to take something, while a write waits for it.
    until: Pin<Box<Sleep>>,
    waits: bool,
    sent: Arc<AtomicU64>,
}

impl Connection {
    /// A connection that counts what it sends.
    pub fn new(stream: TcpStream, patience: Duration, sent: Arc<AtomicU64>) -> Connection {
        let until = Box::pin(tokio::time::sleep(patience));
        Connection { stream, patience, until, waits: false, sent }
    }

    /// The outcome of a write, or an error if it has waited for too long.
    fn watched(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            self.waits = false;
            let written = written?;
            self.sent.fetch_add(written as u64, Ordering::Relaxed);
            return Poll::Ready(Ok(written));
        }
        if !self.waits {
            self.waits = true;
            let until = Instant::now() + self.patience;
            self.until.as_mut().reset(until);
        }
        ready!(self.until.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, buf);
        self.watched(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bufs);
        self.watched(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
