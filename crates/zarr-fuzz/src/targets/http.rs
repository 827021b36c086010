//! Answers of servers: whatever one sends, a call ends with a value or an error, and holds no more than was asked for.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use zarr::store::{
    ByteRange, GetOptions, ListOptions, SnapshotOptions, Store, StoreKey, StorePrefix,
};
use zarr::stores::ObjectStore;
use zarr::sync::lock;
use zarr::{Access, Hierarchy, NodePath};

use crate::driver::noted;
use crate::input;

/// Bytes of a value that are read.
const MAX_READ_BYTES: u64 = 1 << 20;

/// A server that gives the same bytes to every request, and then ends the connection.
struct Server {
    port: u16,
    answer: Arc<Mutex<Vec<u8>>>,
}

impl Server {
    fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it has one").port();
        let answer = Arc::<Mutex<Vec<u8>>>::default();
        let said = answer.clone();
        let (send, connections) = channel();
        thread::spawn(move || {
            listener.incoming().flatten().try_for_each(|stream| Sender::send(&send, stream))
        });
        thread::spawn(move || {
            for stream in connections {
                let said = lock(&said).clone();
                // A client that went away is no fault.
                let _ = serve(stream, &said);
            }
        });
        Server { port, answer }
    }
}

fn serve(mut stream: TcpStream, answer: &[u8]) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let (mut asked, mut buffer) = (Vec::new(), [0; 4096]);
    while !asked.windows(4).any(|end| end == b"\r\n\r\n") {
        let len = stream.read(&mut buffer)?;
        if len == 0 {
            return Ok(());
        }
        asked.extend_from_slice(&buffer[..len]);
    }
    stream.write_all(answer)?;
    stream.flush()
}

struct Reached {
    server: Server,
    stores: Vec<Arc<dyn Store>>,
}

impl Reached {
    fn new() -> Reached {
        let server = Server::start();
        let endpoint = format!("http://127.0.0.1:{}", server.port);
        let few = [
            ("max_retries", "0"),
            ("retry_timeout", "1"),
            ("read_timeout", "1"),
            ("in_flight", "1"),
        ];
        let open = |url: &str, more: &[(&str, &str)]| {
            let options = few.iter().chain(more).copied();
            ObjectStore::open(url, Access::ReadOnly, options).expect("it opens").into_store()
        };
        let s3 = [
            ("endpoint", endpoint.as_str()),
            ("region", "us-east-1"),
            ("skip_signature", "true"),
            ("allow_http", "true"),
            ("max_listed", "65536"),
        ];
        let account = format!(
            r#"{{"gcs_base_url":"{endpoint}","disable_oauth":true,"client_email":"","private_key":"","private_key_id":""}}"#
        );
        let gcs = [("google_service_account_key", account.as_str()), ("allow_http", "true")];
        let azure = [
            ("azure_storage_account_name", "account"),
            ("azure_storage_endpoint", endpoint.as_str()),
            ("azure_storage_account_key", "c2VjcmV0"),
            ("allow_http", "true"),
        ];
        let stores = vec![
            open(&format!("{endpoint}/data"), &[]),
            open("s3://bucket", &s3),
            open("gs://bucket", &gcs),
            open("az://container", &azure),
        ];
        Reached { server, stores }
    }
}

/// A byte for the server and the call, and the answer as it goes over the wire.
pub fn http(data: &[u8]) {
    thread_local! {
        static REACHED: RefCell<Option<Reached>> = const { RefCell::new(None) };
    }
    let Some((&first, answer)) = data.split_first() else { return };
    REACHED.with(|reached| {
        let mut reached = reached.borrow_mut();
        let reached = reached.get_or_insert_with(Reached::new);
        *lock(&reached.server.answer) = answer.to_vec();
        call(&reached.stores[usize::from(first) % reached.stores.len()], first / 4);
    });
}

fn call(store: &Arc<dyn Store>, which: u8) {
    let blocking = store.to_sync();
    let key = StoreKey::new("k").expect("a good key");
    match which % 5 {
        0 => {
            if let Some(Some(got)) = noted(blocking.get(&key, GetOptions::at_most(MAX_READ_BYTES)))
            {
                assert!(got.bytes.unwrap_or_default().len() as u64 <= MAX_READ_BYTES);
            }
        }
        1 => {
            let ranges = [ByteRange::Bounded { start: 2, len: 3 }, ByteRange::Suffix(4)];
            for (range, most) in ranges.chunks(1).zip([3, 4]) {
                let opened = blocking.open(&key, SnapshotOptions::first(range));
                if let Some(Some(snapshot)) = noted(opened)
                    && let Some(parts) = noted(snapshot.read(range))
                {
                    assert!(parts.len() == 1 && parts[0].len() <= most, "{parts:?}");
                }
            }
        }
        2 => {
            for key in noted(blocking.list()).unwrap_or_default() {
                assert!(
                    !key.as_str().split('/').any(|part| matches!(part, "" | "." | "..")),
                    "{key}"
                );
            }
        }
        3 => drop(noted(blocking.list_dir(&StorePrefix::root(), ListOptions::default()))),
        _ => {
            let Ok(hierarchy) = Hierarchy::open(store.clone(), &input::options()) else { return };
            let _ = hierarchy.node(NodePath::root());
        }
    }
}
