//! How many requests a far server gets when it is fast, refuses them, or is slow and the caller no longer waits.

#![cfg(all(feature = "http", feature = "memory"))]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::server::{Fault, Server};
use zarr::store::{Store, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Array, CancelToken, Dialect, ErrorKind, Hierarchy, NodePath, OpenOptions, Result};

const CHUNKS: u16 = 600;

fn elements() -> Vec<u16> {
    (0..CHUNKS * 10).map(|i| i.wrapping_mul(77)).collect()
}

/// An array of 600 chunks on a server, opened.
fn served() -> Result<(Server, Array)> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let options = OpenOptions::new(zarr::standard()).read_write();
    let hierarchy = Hierarchy::begin(store.clone(), options.format(Dialect::V3), &options)?;
    let array = hierarchy.create_array(NodePath::root()).shape(&[u64::from(CHUNKS) * 10]);
    array.chunks(&[10]).data_type_named("uint16").create()?.write(.., &elements())?;
    let (server, readable) = (Server::start(), store.to_sync());
    for key in readable.list()? {
        server.set(&format!("data/{key}"), &readable.value(&key)?.expect("it was listed"));
    }
    let array = zarr::open(&server.url("data"))?.into_array()?;
    server.asked();
    Ok((server, array))
}

/// 64 requests are under way at first, more while more of them bring more bytes.
#[test]
fn a_fast_server_gets_more_requests() -> Result<()> {
    let (server, array) = served()?;
    server.manners(|manners| manners.delay = Duration::from_millis(300));
    assert!(array.read::<u16>(..)? == elements());
    let (asked, at_once) = server.asked();
    assert_eq!(asked.len(), usize::from(CHUNKS));
    assert!(at_once > 100, "{at_once}");
    Ok(())
}

/// While a server refuses everything, all handles together send a few requests again each second, and one for
/// each that succeeds after that.
#[test]
fn a_server_that_refuses_is_not_asked_more() -> Result<()> {
    const OUTAGE: Duration = Duration::from_secs(2);
    let (server, array) = served()?;
    let (refused, late) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let begun: Arc<Mutex<Option<Instant>>> = Arc::default();
    server.manners(|manners| {
        let (refused, late) = (refused.clone(), late.clone());
        manners.fault = Arc::new(move |_| {
            let since = begun.lock().unwrap().get_or_insert_with(Instant::now).elapsed();
            if since > OUTAGE {
                return Fault::None;
            }
            refused.fetch_add(1, SeqCst);
            if since > OUTAGE / 2 {
                late.fetch_add(1, SeqCst);
            }
            Fault::Status(503)
        });
    });
    thread::scope(|scope| {
        let other = array.clone();
        let reading = scope.spawn(move || other.read::<u16>(..));
        assert!(array.read::<u16>(..)? == elements());
        assert!(reading.join().expect("it does not panic")? == elements());
        Ok::<_, zarr::Error>(())
    })?;
    let (refused, late, all) = (refused.load(SeqCst), late.load(SeqCst), server.asked().0.len());
    // Those under way, 32, and ten a second; each chunk once for each handle.
    assert!(refused <= 64 + 32 + 21, "{refused} requests were refused");
    assert!(late <= 11, "{late} in the second half");
    assert_eq!(all, 2 * usize::from(CHUNKS) + refused);
    Ok(())
}

/// A read that its caller cancels makes no request after that, though the server is slow.
#[test]
fn a_cancelled_read_asks_a_slow_server_for_nothing_more() -> Result<()> {
    const DELAY: Duration = Duration::from_millis(400);
    let (server, array) = served()?;
    let (token, arrived) = (CancelToken::new(), Arc::new(AtomicUsize::new(0)));
    // No request is answered before the read is cancelled.
    server.manners(|manners| {
        let (token, arrived) = (token.clone(), arrived.clone());
        manners.fault = Arc::new(move |_| {
            arrived.fetch_add(1, SeqCst);
            while !token.is_cancelled() {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(DELAY);
            Fault::None
        });
    });
    let reading = array.with_options(|options| options.cancel = Some(token.clone()));
    let error = thread::scope(|scope| {
        let reading = scope.spawn(|| reading.read::<u16>(..));
        let begun = Instant::now();
        while arrived.load(SeqCst) < 64 && begun.elapsed() < Duration::from_secs(30) {
            thread::sleep(Duration::from_millis(1));
        }
        token.cancel();
        reading.join().expect("it does not panic").expect_err("it was cancelled")
    });
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    // Those that were on their way arrive before any is answered. A busy machine may have let a few more begin than the 64 of
    // the start.
    thread::sleep(DELAY / 2);
    let sent = arrived.load(SeqCst);
    assert!((64..128).contains(&sent), "{sent}");
    thread::sleep(3 * DELAY);
    assert_eq!((arrived.load(SeqCst), server.asked().1), (sent, sent));
    // The places of the requests that ended are free.
    server.manners(|manners| manners.fault = Arc::new(|_| Fault::None));
    assert!(array.read::<u16>(..)? == elements());
    Ok(())
}
