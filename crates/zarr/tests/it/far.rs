//! Remote stores get as few round trips as possible, and many requests at once.

#![cfg(all(feature = "http", feature = "s3", feature = "memory", feature = "sharding"))]

use std::sync::Arc;

use crate::server::{Fault, Server};
use zarr::store::{Store, StoreKey, from_sync};
use zarr::stores::{MemoryStore, ObjectStore};
use zarr::tools::CopyOptions;
use zarr::{
    Access, Array, Dialect, Hierarchy, Node, NodePath, OpenOptions, Result, Selection, steps,
};

const LEN: u64 = 4000;

fn elements() -> Vec<u16> {
    (0..LEN as u16).map(|i| i.wrapping_mul(77)).collect()
}

/// An array of 400 chunks, in shards of so many, on a server below `data/`.
fn served(dialect: Dialect, shards: Option<u64>) -> Result<Server> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let options = OpenOptions::new(zarr::standard()).read_write();
    let hierarchy = Hierarchy::begin(store.clone(), options.format(dialect), &options)?;
    let array = hierarchy.create_array(NodePath::root()).shape(&[LEN]).chunks(&[10]);
    let array = match shards {
        Some(chunks) => array.shards(&[10 * chunks]),
        None => array,
    };
    let array = array.data_type_named("uint16").create()?;
    array.write(.., &elements())?;
    let server = Server::start();
    let readable = store.to_sync();
    for key in store.to_sync().list()? {
        let value = readable.value(&key)?.expect("it was listed");
        server.set(&format!("data/{key}"), &value);
    }
    Ok(server)
}

fn open(server: &Server) -> Result<Array> {
    zarr::open(&server.url("data"))?.into_array()
}

/// All documents that may describe a hierarchy are requested at once, and once.
#[test]
fn an_array_opens_with_one_round_trip() -> Result<()> {
    for dialect in [Dialect::V3, Dialect::V2] {
        let server = served(dialect, None)?;
        server.wait_for(5);
        open(&server)?;
        let (asked, at_once) = server.asked();
        assert_eq!((asked.len(), at_once), (5, 5), "{asked:?}");
        server.wait_for(5);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(zarr::aio::open(&server.url("data")))?;
        let (asked, at_once) = server.asked();
        assert_eq!((asked.len(), at_once), (5, 5), "{asked:?}");
    }
    let server = served(Dialect::Draft, None)?;
    open(&server)?;
    assert_eq!(server.asked().0.len(), 7, "five, and then the two documents of a draft's root");
    Ok(())
}

/// As many requests are in flight as the store says, whatever the number of threads; in callers that
/// block and in those that wait, within runtimes and without.
#[test]
fn many_requests_are_in_flight() -> Result<()> {
    let server = served(Dialect::V3, None)?;
    let read = |threads: usize, in_flight: usize| -> Result<usize> {
        let options = [("in_flight", in_flight.to_string())];
        let store = ObjectStore::open(&server.url("data"), Access::ReadOnly, options)?;
        let options = OpenOptions::new(zarr::standard()).threads(threads);
        let array = Hierarchy::open(store.into_store(), &options)?.array(NodePath::root())?;
        server.asked();
        // Nobody is answered before so many have asked.
        server.wait_for(in_flight);
        assert!(array.read::<u16>(..)? == elements());
        let (asked, at_once) = server.asked();
        assert_eq!(asked.len(), 400);
        Ok(at_once)
    };
    for threads in [1, 2] {
        assert_eq!(read(threads, 64)?, 64);
        assert_eq!(read(threads, 7)?, 7);
    }
    Ok(())
}

#[test]
fn callers_that_block_may_be_in_any_runtime() -> Result<()> {
    let server = served(Dialect::V3, None)?;
    let read = async || -> Result<()> {
        assert!(open(&server)?.read::<u16>(..)? == elements());
        Ok(())
    };
    let current = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    current.block_on(read())?;
    let many = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let many = many.unwrap();
    many.block_on(read())?;
    let server = server.clone();
    let within = many.spawn(async move {
        let array = open(&server)?;
        array.read::<u16>(..)
    });
    assert!(many.block_on(within).unwrap()? == elements());
    Ok(())
}

/// The index is requested along with the size and the version, then what is next to each other with one
/// request; nothing but the new inner chunks while the index is remembered.
#[test]
fn a_shard_takes_two_requests() -> Result<()> {
    let server = served(Dialect::V3, Some(100))?;
    let array = open(&server)?;
    server.asked();
    assert_eq!(array.read::<u16>(1000..1100)?, elements()[1000..1100]);
    let (asked, _) = server.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].starts_with("GET data/c/1 bytes=-"), "{asked:?}");
    assert_eq!(array.read::<u16>(1900..1901)?, elements()[1900..1901]);
    assert_eq!(server.asked().0.len(), 1);
    let value = server.value("data/c/0").expect("there is another shard");
    server.set("data/c/1", &value);
    assert_eq!(array.read::<u16>(1900..1901)?, elements()[900..901]);
    Ok(())
}

/// A server without ranges sends all of a large shard once for each read, though the shard is read some MiB at a time.
#[test]
fn a_large_shard_comes_once_from_a_server_without_ranges() -> Result<()> {
    const SHARD_BYTES: u64 = 12 << 20;
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let options = OpenOptions::new(zarr::standard()).read_write();
    let hierarchy = Hierarchy::begin(store.clone(), options.format(Dialect::V3), &options)?;
    let array = hierarchy.create_array(NodePath::root()).shape(&[SHARD_BYTES]).chunks(&[1 << 20]);
    let array = array.shards(&[SHARD_BYTES]).data_type_named("uint8").create()?;
    let elements: Vec<u8> = (0..SHARD_BYTES).map(|i| (i >> 12) as u8).collect();
    array.write(.., &elements)?;
    let server = Server::start();
    for key in store.to_sync().list()? {
        let value = store.to_sync().value(&key)?.expect("it was listed");
        server.set(&format!("data/{key}"), &value);
    }
    server.manners(|manners| manners.ranges = false);
    let array = open(&server)?;
    array.read::<u8>(..)?;
    server.asked();
    for _ in 0..2 {
        assert!(array.read::<u8>(..)? == elements);
        assert_eq!(server.asked().0, ["GET data/c/0"]);
    }
    Ok(())
}

/// What is read, and with how many requests, from chunks and from shards.
type Case = (&'static str, fn() -> Selection, usize, usize);

/// The requests of each way to read, for chunks and for shards of ten: all, some neighbours, every hundredth element, single elements.
#[test]
fn each_way_to_read_has_its_number_of_requests() -> Result<()> {
    let points = || Selection::points([[5, 7, 1234, 3999, 1238, 6]]);
    let cases: [Case; 5] = [
        ("all", || (..).into(), 400, 40),
        ("neighbours", || (95..115).into(), 3, 4),
        ("two shards, one of them whole", || (95..200).into(), 11, 3),
        ("an element", || (95..96).into(), 1, 2),
        ("every hundredth", || steps(.., 100).into(), 40, 80),
    ];
    for (shards, column) in [(None, 0), (Some(10), 1)] {
        let server = served(Dialect::V3, shards)?;
        for (what, selection, chunks, in_shards) in cases {
            // A new handle knows no index.
            let array = open(&server)?;
            server.asked();
            array.read::<u16>(selection())?;
            let (asked, _) = server.asked();
            assert_eq!(asked.len(), [chunks, in_shards][column], "{what}: {asked:?}");
        }
        let array = open(&server)?;
        server.asked();
        assert_eq!(array.read::<u16>(points())?.len(), 6);
        // Each chunk once; in shards its index, too.
        let (asked, _) = server.asked();
        assert_eq!(asked.len(), [3, 6][column], "points: {asked:?}");
    }
    Ok(())
}

/// The version is checked also where the remembered index says that there is nothing to fetch.
#[test]
fn an_index_is_not_remembered_longer_than_its_shard() -> Result<()> {
    let server = served(Dialect::V3, Some(100))?;
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let options = OpenOptions::new(zarr::standard()).read_write();
    let hierarchy = Hierarchy::begin(store.clone(), options.format(Dialect::V3), &options)?;
    let array = hierarchy.create_array(NodePath::root()).shape(&[LEN]).chunks(&[10]);
    let array = array.shards(&[1000]).data_type_named("uint16").create()?;
    array.write(500..1000, &[3u16; 500])?;
    let value = store.to_sync().value(&StoreKey::new("c/0")?)?;
    let array = open(&server)?;
    let full = server.value("data/c/0").expect("the shard is there");
    server.set("data/c/0", &value.expect("the shard was written"));
    assert_eq!(array.read::<u16>(0..2)?, [0; 2]);
    server.asked();
    assert_eq!(array.read::<u16>(0..2)?, [0; 2]);
    assert_eq!(server.asked().0, ["HEAD data/c/0"]);
    server.set("data/c/0", &full);
    assert_eq!(array.read::<u16>(0..2)?, elements()[..2]);
    Ok(())
}

/// A bucket of S3 on the server.
fn bucket(server: &Server, options: &[(&str, &str)]) -> Arc<dyn Store> {
    let endpoint = server.url("");
    let reached = [
        ("endpoint", endpoint.trim_end_matches('/')),
        ("access_key_id", "id"),
        ("secret_access_key", "key"),
        ("region", "us-east-1"),
    ];
    let options = reached.iter().chain(options).copied();
    let store = ObjectStore::open("s3://bucket/data", Access::ReadWrite, options).unwrap();
    store.into_store()
}

/// Partial writes to the same chunks by several threads, while every fifth request fails, also
/// after it was done; nothing is lost.
#[test]
fn guarded_parts_survive_lost_answers() -> Result<()> {
    for fault in [Fault::Status(503), Fault::Drop, Fault::LoseAnswer] {
        let server = Server::start();
        let options = OpenOptions::new(zarr::standard()).read_write();
        let store = bucket(&server, &[]);
        let hierarchy = Hierarchy::begin(store, options.format(Dialect::V3), &options)?;
        let array = hierarchy.create_array(NodePath::root()).shape(&[64]).chunks(&[32]);
        let array = array.data_type_named("uint16").purge(false).create()?;
        server.manners(|manners| {
            manners.fault = Arc::new(move |n| if n % 5 == 3 { fault } else { Fault::None });
        });
        std::thread::scope(|scope| {
            let write = |thread: u64| {
                let array = &array;
                move || (0..16).try_for_each(|i| array.write(i * 4 + thread, &[i as u16 + 1]))
            };
            let threads: Vec<_> = (0..4).map(|thread| scope.spawn(write(thread))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
        })?;
        let due: Vec<u16> = (0..64).map(|i| i / 4 + 1).collect();
        assert_eq!(array.read::<u16>(..)?, due, "{fault:?}");
    }
    Ok(())
}

/// What a part made all fill is stored where nothing can be erased with care; a whole chunk goes.
#[test]
fn a_chunk_that_became_fill_is_stored_in_a_bucket() -> Result<()> {
    let server = Server::start();
    let options = OpenOptions::new(zarr::standard()).read_write();
    let store = bucket(&server, &[("disable_bulk_delete", "true")]);
    let hierarchy = Hierarchy::begin(store, options.format(Dialect::V3), &options)?;
    let array = hierarchy.create_array(NodePath::root()).shape(&[20]).chunks(&[10]);
    let array = array.data_type_named("uint16").purge(false).create()?;
    array.write(.., &[7u16; 20])?;
    array.write(0..10, &[0u16; 10])?;
    assert_eq!(server.keys(), ["bucket/data/c/1", "bucket/data/zarr.json"]);
    array.write(10..15, &[0u16; 5])?;
    array.write(15..20, &[0u16; 5])?;
    assert_eq!(server.keys(), ["bucket/data/c/1", "bucket/data/zarr.json"]);
    assert_eq!(array.read::<u16>(..)?, [0; 20]);
    Ok(())
}

/// A bucket that lets nobody list its keys answers 403 for absent ones.
#[test]
fn forbidden_keys_are_absent_where_that_is_safe_or_said() -> Result<()> {
    let server = served(Dialect::V3, None)?;
    server.manners(|manners| manners.absent = "403 Forbidden");
    let array = open(&server)?;
    assert!(array.read::<u16>(..)? == elements());
    server.forget("data/c/7");
    let error = array.read::<u16>(70..80).unwrap_err().to_string();
    assert!(error.contains("403"), "{error}");
    let options = [("forbidden_is_absent", "true")];
    let store = ObjectStore::open(&server.url("data"), Access::ReadOnly, options)?;
    let options = OpenOptions::new(zarr::standard());
    let array = Hierarchy::open(store.into_store(), &options)?.array(NodePath::root())?;
    assert_eq!(array.read::<u16>(70..80)?, [0; 10]);
    Ok(())
}

/// A copy asks for as much of a value as it holds, which is all of a small one; the rest of a large one comes in pieces. Nothing is
/// asked for twice, and no answer is broken off.
#[test]
fn a_copy_takes_one_request_for_a_small_value_and_pieces_of_a_large_one() -> Result<()> {
    const MIB: u64 = 1 << 20;
    let first = "bytes=0-4194303";
    let cases: [(u64, &[&str]); 3] = [
        (100, &[first]),
        (4 * MIB, &[first]),
        (
            21 * MIB,
            &[
                first,
                "bytes=4194304-12582911",
                "bytes=12582912-20971519",
                "bytes=20971520-22020095",
            ],
        ),
    ];
    for (size, expected) in cases {
        let store: Arc<dyn Store> = from_sync(MemoryStore::new());
        let options = OpenOptions::new(zarr::standard()).read_write();
        let hierarchy = Hierarchy::begin(store.clone(), options.format(Dialect::V3), &options)?;
        let builder = hierarchy.create_array(NodePath::root()).shape(&[2 * size]).chunks(&[size]);
        let array = builder.data_type_named("uint8").create()?;
        let bytes: Vec<u8> = (0..2 * size).map(|i| (i % 251) as u8).collect();
        array.write(.., &bytes)?;
        let server = Server::start();
        let readable = store.to_sync();
        for key in readable.list()? {
            server.set(&format!("data/{key}"), &readable.value(&key)?.expect("it was listed"));
        }

        let source = open(&server)?;
        server.asked();
        let options = OpenOptions::new(zarr::standard()).read_write();
        let target =
            Hierarchy::begin(from_sync(MemoryStore::new()), options.format(Dialect::V3), &options)?;
        zarr::tools::copy(&Node::Array(source), &target, "/", &CopyOptions::default())?;
        let (asked, _) = server.asked();
        for chunk in ["data/c/0", "data/c/1"] {
            let of_chunk = asked.iter().filter(|request| request.split(' ').nth(1) == Some(chunk));
            let ranges: Vec<&str> =
                of_chunk.map(|request| request.rsplit(' ').next().unwrap_or_default()).collect();
            assert_eq!(ranges, expected, "{asked:?}");
        }
        assert!(target.array("/")?.read::<u8>(..)? == bytes);
    }
    Ok(())
}
