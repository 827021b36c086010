//! How does one HTTP request get its answer, or give up in time?

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};

/// Bytes of a body beyond which sending it may take longer than an answer's next bytes.
const LARGE: usize = 1 << 20;
/// Bytes in a second that a connection must send at least.
const SLOWEST: usize = 64 << 10;

/// How often a request was sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent(pub Arc<AtomicU64>);

/// What went over the wire.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub requests: AtomicU64,
    pub received: AtomicU64,
    pub wasted: AtomicU64,
}

/// Makes clients whose requests end when nothing moves for so long.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    pub stall: Duration,
    pub counts: Arc<Counts>,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let connect = |options: &ClientOptions| ReqwestConnector::default().connect(options);
        Ok(HttpClient::new(Client {
            small: connect(&options.clone().with_read_timeout(self.stall))?,
            // Until a large body is sent nothing is read.
            large: connect(options)?,
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

#[async_trait]
impl HttpService for Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let Connector { stall, counts } = &self.connector;
        counts.requests.fetch_add(1, Ordering::Relaxed);
        if let Some(sent) = request.extensions().get::<Sent>() {
            sent.0.fetch_add(1, Ordering::Relaxed);
        }
        let size = request.body().content_length();
        let answered = match size <= LARGE {
            true => self.small.execute(request).await,
            false => {
                let limit = *stall + Duration::from_secs((size / SLOWEST) as u64);
                let answer = tokio::time::timeout(limit, self.large.execute(request)).await;
                answer.unwrap_or_else(|late| Err(HttpError::new(HttpErrorKind::Timeout, late)))
            }
        };
        // Whatever broke on the way is tried again, also a conditional PUT: a refusal after that is looked into.
        answered.map_err(|e| match e.kind() {
            HttpErrorKind::Timeout | HttpErrorKind::Interrupted | HttpErrorKind::Unknown => {
                HttpError::new(HttpErrorKind::Request, e)
            }
            _ => e,
        })
    }
}
