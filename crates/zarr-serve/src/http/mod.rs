//! The server: connections, their limits, and how it stops.

mod access;
mod connection;
mod cors;
mod host;
mod keys;
mod metrics;
mod path;
mod range;
mod raw;
mod reply;
mod route;
mod stop;
mod validator;

pub(crate) use self::keys::blocking;
pub(crate) use self::metrics::Metrics;
pub(crate) use self::raw::{Asking, value as raw_value};
pub(crate) use self::reply::{Content, Value};
pub(crate) use self::route::Cancels;
pub(crate) use self::validator::{of_bytes as tag_of_bytes, of_version as tag_of_version};

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use hyper::body::Incoming;
use hyper::header::CONTENT_LENGTH;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::sync::Semaphore;
use zarr::runtime::{available_threads, spawn_thread};

use self::access::Watched;
pub use self::access::{Access, Log};
use self::connection::Connection;
use self::cors::Cors;
pub use self::cors::Origins;
use self::host::Hosts;
use crate::Targets;
use crate::budget::Budget;
use crate::view::View;
use crate::workers::Workers;

/// How long a client may take for the headers of a request, and be silent between two.
const FOR_HEADERS: Duration = Duration::from_secs(10);
/// How long a client may take nothing of its answer.
const FOR_READING: Duration = Duration::from_secs(30);
/// Bytes of headers.
const HEADER_BYTES: usize = 16 << 10;
/// How many headers.
const MAX_HEADERS: usize = 100;
/// How long answers may take once the server stops.
const FOR_STOPPING: Duration = Duration::from_secs(5);
/// The port that is tried first.
const PORT: u16 = 8000;

/// Receives each log line meant for the user.
pub type Logger = Arc<dyn Fn(&str) + Send + Sync>;

/// How the server serves.
#[derive(Clone)]
pub struct ServeOptions {
    /// The address that it listens at.
    pub address: IpAddr,
    /// The port; 0 for a free one; `None` for 8000, or a free one if that is taken.
    pub port: Option<u16>,
    /// Further names that it may be called by in the header `Host`.
    pub hosts: Vec<String>,
    /// Whose pages may read.
    pub cors: Origins,
    /// How many connections at a time.
    pub connections: usize,
    /// Whether `/NAME/` is the hierarchy as v3, and not its keys as they are stored.
    pub to_v3: bool,
    /// About how many bytes of memory answers, decoding, and what is kept of both, may take.
    pub memory: u64,
    /// How many questions below `/-/`, and chunks that are recoded, at a time; 0 for as many as the machine has threads.
    pub threads: usize,
    /// Told of each request.
    pub log: Option<Log>,
    /// Told what a person should know.
    pub tell: Option<Logger>,
}

impl Default for ServeOptions {
    fn default() -> Self {
        ServeOptions {
            address: Ipv4Addr::LOCALHOST.into(),
            port: None,
            hosts: Vec::new(),
            cors: Origins::None,
            to_v3: false,
            memory: 1 << 30,
            connections: 256,
            threads: 0,
            log: None,
            tell: None,
        }
    }
}

/// What all connections share.
pub(crate) struct Shared {
    pub targets: Targets,
    pub hosts: Hosts,
    pub cors: Cors,
    pub metrics: Arc<Metrics>,
    pub view: Arc<View>,
    /// The memory in which answers are made.
    pub memory: Budget,
    /// Whether the view is below the names themselves, too.
    pub to_v3: bool,
    /// Threads for what blocks.
    pub workers: Workers,
    /// One store is listed at a time.
    pub listing: Arc<Semaphore>,
    log: Option<Log>,
    tell: Option<Logger>,
}

impl Shared {
    pub fn tell(&self, what: &str) {
        if let Some(tell) = &self.tell {
            tell(what);
        }
    }
}

/// A server that listens, and is to run.
pub struct Server {
    listener: TcpListener,
    connections: usize,
    shared: Arc<Shared>,
}

/// How a server came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All answers were finished.
    Cleanly,
    /// Some were broken off.
    BrokenOff,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// If the port that was asked for is taken, or the address is not this machine's.
    pub fn new(targets: Targets, options: ServeOptions) -> io::Result<Server> {
        let listener = match options.port {
            Some(port) => TcpListener::bind(SocketAddr::new(options.address, port))?,
            None => {
                let first = TcpListener::bind(SocketAddr::new(options.address, PORT));
                first.or_else(|_| TcpListener::bind(SocketAddr::new(options.address, 0)))?
            }
        };
        listener.set_nonblocking(true)?;
        let names = options.hosts.iter().map(|name| name.to_ascii_lowercase()).collect();
        let threads = available_threads(options.threads);
        let metrics: Arc<Metrics> = Arc::default();
        // A quarter is for chunks that are being decoded, an eighth for what is kept of the view, and one for
        // `TargetsOptions::kept`.
        let memory = Budget::new(options.memory / 2);
        let shared = Shared {
            targets,
            hosts: Hosts { names, any_address: !options.address.is_loopback() },
            cors: Cors::new(options.cors),
            view: Arc::new(View::new(memory.clone(), options.memory / 8, threads, metrics.clone())),
            memory,
            to_v3: options.to_v3,
            metrics,
            workers: Workers::new(threads),
            listing: Arc::new(Semaphore::new(1)),
            log: options.log,
            tell: options.tell,
        };
        Ok(Server { listener, connections: options.connections, shared: Arc::new(shared) })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system reports.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Its URL, with a `/` at the end: of this machine, if it listens at every address.
    ///
    /// # Errors
    /// What the system reports.
    pub fn url(&self) -> io::Result<String> {
        let mut address = self.address()?;
        if address.ip().is_unspecified() {
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        Ok(format!("http://{address}/"))
    }

    /// The names of what is served.
    pub fn targets(&self) -> &Targets {
        &self.shared.targets
    }

    /// Serves until the process gets Ctrl-C or SIGTERM; a second signal stops it at once. See [`Server::run`].
    ///
    /// # Errors
    /// As [`Server::run`].
    pub fn run_until_interrupted(self) -> io::Result<Ended> {
        let shared = self.shared.clone();
        let stop = async move {
            stop::signalled().await;
            let under_way = shared.metrics.under_way.load(Ordering::Relaxed);
            let seconds = FOR_STOPPING.as_secs();
            shared.tell(&match under_way {
                0 => "stopping".into(),
                n => format!("stopping: waiting up to {seconds} s for open requests: {n}; interrupt again to stop at once"),
            });
        };
        self.run(stop, stop::signalled())
    }

    /// Serves until `stop` is ready: then no connection is accepted, and answers have five seconds to end, or until `stop_now` is
    /// ready.
    ///
    /// # Errors
    /// If the runtime cannot be made.
    pub fn run(
        self,
        stop: impl Future<Output = ()>,
        stop_now: impl Future<Output = ()>,
    ) -> io::Result<Ended> {
        // Where the system refuses threads, tokio would panic.
        spawn_thread("zarr-serve", || ())
            .map_err(|e| io::Error::new(e.kind(), format!("cannot start a thread: {e}")))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let ended = runtime.block_on(self.serve(stop, stop_now));
        // Threads that block are left behind.
        runtime.shutdown_background();
        ended
    }

    async fn serve(
        self,
        stop: impl Future<Output = ()>,
        stop_now: impl Future<Output = ()>,
    ) -> io::Result<Ended> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let places = Arc::new(Semaphore::new(self.connections));
        let graceful = GracefulShutdown::new();
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(FOR_HEADERS)
            .max_buf_size(HEADER_BYTES)
            .max_headers(MAX_HEADERS);
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = async {
                // Others wait in the system's queue.
                let place = places.clone().acquire_owned().await;
                (listener.accept().await, place)
            };
            let (accepted, place) = tokio::select! {
                accepted = accepted => accepted,
                () = &mut stop => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(e) => {
                    if e.kind() != io::ErrorKind::ConnectionAborted {
                        // Out of files, for example: others have to end first.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                    continue;
                }
            };
            let _ = stream.set_nodelay(true);
            let shared = self.shared.clone();
            shared.metrics.connections.fetch_add(1, Ordering::Relaxed);
            let stream = Connection::new(stream, FOR_READING, shared.metrics.sent.clone());
            let of_requests = shared.clone();
            let service = service_fn(move |request| answer(of_requests.clone(), peer, request));
            let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
            tokio::spawn(async move {
                // What goes wrong with a connection is its client's to notice.
                let _ = connection.await;
                shared.metrics.connections.fetch_sub(1, Ordering::Relaxed);
                drop(place);
            });
        }
        drop(listener);
        tokio::select! {
            () = graceful.shutdown() => Ok(Ended::Cleanly),
            () = tokio::time::sleep(FOR_STOPPING) => Ok(Ended::BrokenOff),
            () = stop_now => Ok(Ended::BrokenOff),
        }
    }
}

/// The answer to a request, watched until its end.
async fn answer(
    shared: Arc<Shared>,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response<Watched>, Infallible> {
    let (began, time) = (Instant::now(), SystemTime::now());
    shared.metrics.under_way.fetch_add(1, Ordering::Relaxed);
    let reply = route::answer(&shared, &request).await;
    let (mut parts, body) = reply.into_parts();
    let held = parts.extensions.remove();
    let access = Access {
        time,
        peer,
        method: request.method().as_str().to_owned(),
        target: request.uri().to_string(),
        status: parts.status.as_u16(),
        bytes: 0,
        duration: Duration::ZERO,
        is_cut_off: false,
    };
    let length = parts.headers.get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
    let (log, metrics) = (shared.log.clone(), shared.metrics.clone());
    let body = Watched::new((body, length), access, began, log, metrics, held);
    Ok(Response::from_parts(parts, body))
}
