//! A web server of the tests' own, which does what a test tells it to, good or bad.
//!
//! A web server of this process: keys and values in memory, a delay before each answer, and faults. It also keeps
//! what is PUT, with the conditions of S3 on it, so that a bucket lies under `/bucket/`. Nothing is signed or listed.

#![allow(dead_code, reason = "each test needs some of it")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What a request meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing bad.
    None,
    /// An answer with this status.
    Status(u16),
    /// The connection ends without an answer.
    Drop,
    /// The connection ends after half the value.
    Truncate,
    /// Half the value, and the rest this much later.
    Stall(Duration),
    /// What is asked for is done, and the connection ends without an answer.
    LoseAnswer,
}

/// How the server answers.
#[derive(Clone)]
pub struct Manners {
    pub delay: Duration,
    /// Whether it gives parts of values.
    pub ranges: bool,
    /// What an ETag begins with; none without.
    pub etag: Option<&'static str>,
    /// Whether a condition on reading is heeded.
    pub conditions: bool,
    /// What it answers for an absent key.
    pub absent: &'static str,
    /// What the n-th request meets.
    pub fault: Arc<dyn Fn(usize) -> Fault + Send + Sync>,
    /// Answers in the server's place, where it answers at all; `false` ends the connection.
    pub instead: Option<Instead>,
}

/// Answers a request in the server's place: `None` leaves it to the server, `Some(false)` ends the connection.
pub type Instead = Arc<dyn Fn(&Request, &mut TcpStream) -> Option<bool> + Send + Sync>;

impl Default for Manners {
    fn default() -> Self {
        let fault = Arc::new(|_| Fault::None);
        let etag = Some("");
        let absent = "404 Not Found";
        Manners {
            delay: Duration::ZERO,
            ranges: true,
            etag,
            conditions: true,
            absent,
            fault,
            instead: None,
        }
    }
}

#[derive(Default)]
struct Held {
    values: BTreeMap<String, (Vec<u8>, usize)>,
    /// `METHOD PATH RANGE`, in the order of arrival.
    asked: Vec<String>,
    sets: usize,
}

#[derive(Clone)]
pub struct Server {
    port: u16,
    held: Arc<Mutex<Held>>,
    manners: Arc<Mutex<Manners>>,
    requests: Arc<AtomicUsize>,
    in_flight: Arc<AtomicUsize>,
    most_in_flight: Arc<AtomicUsize>,
    awaited: Arc<AtomicUsize>,
}

impl Server {
    pub fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it has one").port();
        let server = Server {
            port,
            held: Arc::default(),
            manners: Arc::default(),
            requests: Arc::default(),
            in_flight: Arc::default(),
            most_in_flight: Arc::default(),
            awaited: Arc::default(),
        };
        let here = server.clone();
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let here = here.clone();
                thread::spawn(move || here.serve(connection));
            }
        });
        server
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    pub fn manners(&self, change: impl FnOnce(&mut Manners)) {
        change(&mut self.manners.lock().unwrap());
    }

    pub fn set(&self, key: &str, value: &[u8]) {
        let mut held = self.held.lock().unwrap();
        held.sets += 1;
        let set = held.sets;
        held.values.insert(key.to_owned(), (value.to_vec(), set));
    }

    /// Lets nobody be answered before so many ask at once; after a while it is given up.
    pub fn wait_for(&self, requests: usize) {
        self.awaited.store(requests, SeqCst);
    }

    fn waits(&self) {
        for _ in 0..20_000 {
            let awaited = self.awaited.load(SeqCst);
            if self.in_flight.load(SeqCst) >= awaited {
                self.awaited.store(0, SeqCst);
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn forget(&self, key: &str) {
        self.held.lock().unwrap().values.remove(key);
    }

    pub fn keys(&self) -> Vec<String> {
        self.held.lock().unwrap().values.keys().cloned().collect()
    }

    pub fn value(&self, key: &str) -> Option<Vec<u8>> {
        self.held.lock().unwrap().values.get(key).map(|(value, _)| value.clone())
    }

    /// What was asked for since the last look, and how many requests were in flight at most.
    pub fn asked(&self) -> (Vec<String>, usize) {
        let asked = std::mem::take(&mut self.held.lock().unwrap().asked);
        (asked, self.most_in_flight.swap(0, SeqCst))
    }

    fn serve(&self, mut stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let Ok(reading) = stream.try_clone() else { return };
        let mut reading = BufReader::new(reading);
        while let Some(request) = Request::read(&mut reading) {
            let manners = self.manners.lock().unwrap().clone();
            let now = self.in_flight.fetch_add(1, SeqCst) + 1;
            self.most_in_flight.fetch_max(now, SeqCst);
            self.waits();
            thread::sleep(manners.delay);
            let fault = (manners.fault)(self.requests.fetch_add(1, SeqCst));
            let going_on = self.answer(&request, &manners, fault, &mut stream);
            self.in_flight.fetch_sub(1, SeqCst);
            if !going_on {
                return;
            }
        }
    }

    fn answer(
        &self,
        request: &Request,
        manners: &Manners,
        fault: Fault,
        stream: &mut TcpStream,
    ) -> bool {
        let range = request.header("range").unwrap_or("");
        let asked = format!("{} {} {range}", request.method, request.path);
        self.held.lock().unwrap().asked.push(asked.trim_end().to_owned());
        match fault {
            Fault::Drop => return false,
            Fault::Status(status) => {
                let head = format!("HTTP/1.1 {status} Bad\r\nContent-Length: 0\r\n\r\n");
                return stream.write_all(head.as_bytes()).is_ok();
            }
            _ => {}
        }
        if let Some(goes_on) = manners.instead.as_ref().and_then(|instead| instead(request, stream))
        {
            return goes_on;
        }
        let (status, headers, body) = self.done(request, manners);
        if fault == Fault::LoseAnswer {
            return false;
        }
        let mut head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n", body.len());
        headers.iter().for_each(|header| head.push_str(&format!("{header}\r\n")));
        head.push_str("\r\n");
        let body = if request.method == "HEAD" { &[][..] } else { &body[..] };
        if stream.write_all(head.as_bytes()).is_err() {
            return false;
        }
        let half = body.len() / 2;
        match fault {
            Fault::Truncate if !body.is_empty() => {
                let _ = stream.write_all(&body[..half]);
                false
            }
            Fault::Stall(pause) => {
                let _ = stream.write_all(&body[..half]);
                thread::sleep(pause);
                stream.write_all(&body[half..]).is_ok()
            }
            _ => stream.write_all(body).is_ok(),
        }
    }

    /// The status, the headers and the body of an answer.
    fn done(&self, request: &Request, manners: &Manners) -> (&'static str, Vec<String>, Vec<u8>) {
        let mut held = self.held.lock().unwrap();
        let found = held.values.get(&request.path).cloned();
        let tag = |set: usize| manners.etag.map(|weak| format!("{weak}\"{set}\""));
        let nothing = |status| (status, Vec::new(), Vec::new());
        match request.method.as_str() {
            "PUT" => {
                let is = found.as_ref().and_then(|(_, set)| tag(*set));
                let refused = request.header("if-none-match").is_some() && found.is_some()
                    || request.header("if-match").is_some_and(|tag| is.as_deref() != Some(tag));
                if refused {
                    return nothing("412 Precondition Failed");
                }
                held.sets += 1;
                let set = held.sets;
                held.values.insert(request.path.clone(), (request.body.clone(), set));
                let etag = tag(set).map(|tag| format!("ETag: {tag}"));
                ("200 OK", etag.into_iter().collect(), Vec::new())
            }
            "DELETE" => {
                held.values.remove(&request.path);
                nothing("204 No Content")
            }
            _ => {
                let Some((value, set)) = found else { return nothing(manners.absent) };
                let is = tag(set);
                // A weak tag never matches (RFC 9110, 13.1.1).
                let strong = is.as_deref().filter(|tag| !tag.starts_with("W/"));
                if manners.conditions
                    && request.header("if-match").is_some_and(|tag| strong != Some(tag))
                {
                    return nothing("412 Precondition Failed");
                }
                let mut headers = vec![format!("Last-Modified: {}", date(set))];
                headers.extend(is.map(|tag| format!("ETag: {tag}")));
                let size = value.len();
                let Some(range) = request.header("range").filter(|_| manners.ranges) else {
                    return ("200 OK", headers, value);
                };
                let (start, end) =
                    range.trim_start_matches("bytes=").split_once('-').expect("a range");
                let (start, end) = match (start.parse::<usize>(), end.parse::<usize>()) {
                    (Ok(start), Ok(last)) => (start, (last + 1).min(size)),
                    (Ok(start), Err(_)) => (start, size),
                    (Err(_), Ok(len)) => (size.saturating_sub(len), size),
                    _ => panic!("what range is `{range}`?"),
                };
                if start >= end {
                    return nothing("416 Range Not Satisfiable");
                }
                headers.push(format!("Content-Range: bytes {start}-{}/{size}", end - 1));
                ("206 Partial Content", headers, value[start..end].to_vec())
            }
        }
    }
}

/// A different second for each value that was set.
fn date(set: usize) -> String {
    format!("Mon, 05 Jan 2026 {:02}:{:02}:{:02} GMT", set / 3600 % 24, set / 60 % 60, set % 60)
}

pub struct Request {
    pub method: String,
    /// Without its first `/`, decoded.
    pub path: String,
    /// What follows the `?`, as it came.
    pub query: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    fn read(stream: &mut impl BufRead) -> Option<Request> {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|&read| read > 0)?;
        let mut words = line.split_whitespace();
        let (method, target) = (words.next()?.to_owned(), words.next()?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (path, query) = (decode(path.trim_start_matches('/')), query.to_owned());
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).ok().filter(|&read| read > 0)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut request = Request { method, path, query, headers, body: Vec::new() };
        let size = request.header("content-length").and_then(|size| size.parse().ok());
        request.body = vec![0; size.unwrap_or(0)];
        stream.read_exact(&mut request.body).ok()?;
        Some(request)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        match first {
            b'%' => {
                let digits = std::str::from_utf8(&after[..2]).expect("two digits");
                bytes.push(u8::from_str_radix(digits, 16).expect("two digits"));
                rest = &after[2..];
            }
            byte => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).expect("paths are UTF-8")
}
