//! The inner chunks of one shard are decoded by several threads, wherever the shard is stored.
#![cfg(all(feature = "memory", feature = "sharding", feature = "rayon"))]

use std::borrow::Cow;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::common::path;
use zarr::codec::{BytesToBytes, ChunkContext, Codec, CodecSpec, DecodedSize, Names};
use zarr::store::{Store, from_sync};
use zarr::stores::MemoryStore;
use zarr::{CodecError, Dialect, Hierarchy, MetadataError, Object, OpenOptions, Result};
use zarr_testkit::Remote;

/// Decodes a chunk once another one is being decoded, too.
#[derive(Debug)]
struct Meeting;

const NAMES: Names = Names { v3: &["test.meeting"], v2: &[], draft: &[] };

/// How many chunks are being decoded, and the most that there were.
static MET: (Mutex<(usize, usize)>, Condvar) = (Mutex::new((0, 0)), Condvar::new());

impl BytesToBytes for Meeting {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, CodecError> {
        Ok(decoded)
    }
    fn decode<'a>(
        &self,
        encoded: Cow<'a, [u8]>,
        _: DecodedSize,
    ) -> Result<Cow<'a, [u8]>, CodecError> {
        let (met, changed) = &MET;
        let mut here = met.lock().expect("no panic");
        *here = (here.0 + 1, here.1.max(here.0 + 1));
        changed.notify_all();
        let alone = |&mut (_, most): &mut (usize, usize)| most < 2;
        let patience = Duration::from_secs(60);
        let (mut here, waited) =
            changed.wait_timeout_while(here, patience, alone).expect("no panic");
        here.0 -= 1;
        if waited.timed_out() {
            return Err(CodecError::corrupt("test.meeting", "no other thread decodes"));
        }
        Ok(encoded)
    }
    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        NAMES.to_metadata(dialect, Object::new())
    }
}

fn build(_: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    Ok(Codec::bytes_to_bytes(Meeting))
}

#[test]
fn two_threads_decode_one_shard() -> Result<()> {
    let registry = zarr::standard().with(|registry| registry.codec(&NAMES, build));
    let options = OpenOptions::new(registry).read_write().threads(2);
    let local: Arc<dyn Store> = from_sync(MemoryStore::new());
    let format = zarr::format::of_dialect(Dialect::V3);
    let written = Hierarchy::create(local.clone(), format, &options)?;
    let inner = 1u64 << 16;
    let array = written.create_array(path("/a")).shape(&[inner * 4]).chunks(&[inner]);
    let array = array.shards(&[inner * 4]).data_type_named("uint8");
    let array = array.codec(CodecSpec::v3("test.meeting", Object::new())).create()?;
    let elements: Vec<u8> = (0..inner * 4).map(|n| (n % 251) as u8).collect();
    array.write(.., &elements)?;

    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    for store in [local.clone(), Arc::new(Remote(local))] {
        let hierarchy = Hierarchy::open(store, &options)?;
        let (array, waiting) = (
            hierarchy.array(path("/a"))?,
            runtime.block_on(hierarchy.as_async().array(&path("/a")))?,
        );
        // All of the shard, and a part of it.
        for range in [0..inner * 4, 5..inner * 3] {
            let due = &elements[range.start as usize..range.end as usize];
            *MET.0.lock().expect("no panic") = (0, 0);
            assert_eq!(array.read::<u8>(range.clone())?, due);
            *MET.0.lock().expect("no panic") = (0, 0);
            assert_eq!(runtime.block_on(waiting.read::<u8>(range.clone()))?, due);
        }
    }
    Ok(())
}
