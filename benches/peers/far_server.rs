//! A file server on the loopback that is as far away as one says: a fixed time before each answer, and a bandwidth that all
//! connections share. It counts requests, and how many are under way at the same time.
//!
//! `far_server ROOT LATENCY_MS MBIT_PER_SECOND`; 0 Mbit/s is no limit. It prints its port. GET and HEAD, ranges, suffixes, HTTP/1.1
//! with connections that stay. `GET /__stats` answers what was counted since the last one, as JSON. Only the standard library:
//! `rustc -O --edition 2024 far_server.rs`.
//!
//! A request is under way from its last byte to the last byte of its answer. A thread serves a connection; it sleeps for the
//! latency, so that the machine's load adds to it, and a few threads' work does not.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that are sent as one piece; a thread that is ahead of the bandwidth by less than `AHEAD` does not sleep.
const PIECE: usize = 64 << 10;
const AHEAD: Duration = Duration::from_millis(1);

#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    under_way: AtomicU64,
    max_in_flight: AtomicU64,
    connections: AtomicU64,
    head: AtomicU64,
    ranged: AtomicU64,
    not_found: AtomicU64,
    bytes: AtomicU64,
}

struct Server {
    root: PathBuf,
    latency: Duration,
    /// Seconds that a byte takes.
    of_a_byte: f64,
    /// When the line is free again.
    free: Mutex<Instant>,
    counts: Counts,
}

impl Server {
    /// Waits until as many bytes have gone over the line.
    fn send(&self, bytes: usize) {
        let until = {
            let mut free = self.free.lock().unwrap();
            *free = (*free).max(Instant::now()) + Duration::from_secs_f64(bytes as f64 * self.of_a_byte);
            *free
        };
        let wait = until.saturating_duration_since(Instant::now());
        if wait > AHEAD {
            thread::sleep(wait);
        }
    }

    fn file(&self, path: &str) -> Option<(File, u64)> {
        let path = Path::new(path.trim_start_matches('/'));
        let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        let file = File::open(self.root.join(path)).ok().filter(|_| inside)?;
        let meta = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((file, meta.len()))
    }

    fn stats(&self) -> String {
        let c = &self.counts;
        let taken = [
            ("requests", &c.requests),
            ("max_in_flight", &c.max_in_flight),
            ("connections", &c.connections),
            ("head", &c.head),
            ("ranged", &c.ranged),
            ("not_found", &c.not_found),
            ("bytes", &c.bytes),
        ];
        let taken = taken.map(|(name, count)| format!("\"{name}\": {}", count.swap(0, SeqCst)));
        format!("{{{}}}", taken.join(", "))
    }

    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reading = BufReader::new(stream.try_clone()?);
        let mut first = true;
        loop {
            let (mut line, mut range) = (String::new(), None);
            if reading.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let mut words = line.split_whitespace();
            let (method, path) = (words.next().unwrap_or("").to_owned(), words.next().unwrap_or("").to_owned());
            loop {
                let mut header = String::new();
                if reading.read_line(&mut header)? <= 2 {
                    break;
                }
                let header = header.trim().to_ascii_lowercase();
                range = header.strip_prefix("range: bytes=").map(str::to_owned).or(range);
            }
            if path == "/__stats" {
                let body = self.stats();
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())?;
                continue;
            }
            let c = &self.counts;
            c.connections.fetch_add(u64::from(std::mem::take(&mut first)), SeqCst);
            c.requests.fetch_add(1, SeqCst);
            c.max_in_flight.fetch_max(c.under_way.fetch_add(1, SeqCst) + 1, SeqCst);
            thread::sleep(self.latency);
            let sent = self.answer(&mut stream, &method, &path, range.as_deref());
            c.under_way.fetch_sub(1, SeqCst);
            sent?;
        }
    }

    fn answer(&self, stream: &mut TcpStream, method: &str, path: &str, range: Option<&str>) -> std::io::Result<()> {
        let c = &self.counts;
        let path = path.split('?').next().unwrap_or("").replace("//", "/").replace("%20", " ");
        let Some((file, size)) = self.file(&path) else {
            c.not_found.fetch_add(1, SeqCst);
            return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        };
        let (mut start, mut end, mut status, mut extra) = (0, size, "200 OK", String::new());
        if let Some((first, last)) = range.and_then(|range| range.split_once('-')) {
            (start, end) = match (first.parse::<u64>(), last.parse::<u64>()) {
                (Ok(first), Ok(last)) => (first, (last + 1).min(size)),
                (Ok(first), Err(_)) => (first, size),
                (_, Ok(len)) => (size.saturating_sub(len), size),
                _ => (0, size),
            };
            if start >= end {
                return stream.write_all(b"HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n");
            }
            c.ranged.fetch_add(1, SeqCst);
            status = "206 Partial Content";
            extra = format!("Content-Range: bytes {start}-{}/{size}\r\n", end - 1);
        }
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nAccept-Ranges: bytes\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n\
             ETag: \"x\"\r\nContent-Type: application/octet-stream\r\n{extra}\r\n",
            end - start
        );
        // Head and body in one piece: a small answer is one packet.
        let mut piece = head.into_bytes();
        if method == "HEAD" {
            c.head.fetch_add(1, SeqCst);
            return stream.write_all(&piece);
        }
        loop {
            let (len, before) = (((end - start) as usize).min(PIECE), piece.len());
            piece.resize(before + len, 0);
            file.read_exact_at(&mut piece[before..], start)?;
            self.send(len);
            stream.write_all(&piece)?;
            c.bytes.fetch_add(len as u64, SeqCst);
            start += len as u64;
            if start == end {
                return Ok(());
            }
            piece.clear();
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, root, latency, bandwidth] = &args[..] else {
        eprintln!("far_server ROOT LATENCY_MS MBIT_PER_SECOND");
        std::process::exit(2);
    };
    let bandwidth: f64 = bandwidth.parse().expect("Mbit/s are a number");
    let server = Arc::new(Server {
        root: root.into(),
        latency: Duration::from_secs_f64(latency.parse::<f64>().expect("milliseconds are a number") / 1000.0),
        of_a_byte: if bandwidth > 0.0 { 8e-6 / bandwidth } else { 0.0 },
        free: Mutex::new(Instant::now()),
        counts: Counts::default(),
    });
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    println!("{}", listener.local_addr().expect("it is bound").port());
    for stream in listener.incoming().flatten() {
        let server = server.clone();
        thread::spawn(move || server.serve(stream));
    }
}
