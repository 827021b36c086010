//! Both faces of one hierarchy share what they know of it.
#![cfg(all(feature = "filesystem", feature = "memory"))]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{hierarchy, path};
use zarr::codec::{BytesToBytes, ChunkContext, Codec, CodecSpec, DecodedSize, Names};
use zarr::store::{Payload, Store, StoreKey};
use zarr::{
    CodecError, Consolidated, Dialect, Hierarchy, MetadataError, Object, OpenOptions, Result,
};
use zarr_testkit::Remote;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime")
}

fn reading() -> OpenOptions {
    OpenOptions::new(zarr::standard())
}

/// V07c.
#[test]
fn a_scalar_that_is_stored_under_both_keys_is_warned_of_by_either_face() -> Result<()> {
    let (store, written) = hierarchy(Dialect::Draft);
    let scalar = written.create_array(path("/a")).shape(()).chunks(()).data_type_named("i4");
    scalar.create()?.write(.., &[7])?;
    let keys = [StoreKey::new("data/root/a/c")?, StoreKey::new("data/root/a/c0")?];
    let readable = store.to_sync();
    let values = [readable.value(&keys[0])?, readable.value(&keys[1])?];
    let value = values.iter().flatten().next().expect("it is stored").clone();
    for key in &keys {
        store.to_sync().set(key, Payload::from(value.clone()))?;
    }

    let warned = |store: Arc<dyn Store>, by_async: bool| {
        let hierarchy = Hierarchy::open(store, &reading())?;
        assert_eq!(hierarchy.warnings(), []);
        let read: Vec<i32> = if by_async {
            let hierarchy = hierarchy.as_async();
            runtime().block_on(async { hierarchy.array(&path("/a")).await?.read(..).await })?
        } else {
            hierarchy.array(path("/a"))?.read(..)?
        };
        assert_eq!(read, [7]);
        Ok::<_, zarr::Error>(hierarchy.warnings())
    };
    let due = warned(store.clone(), false)?;
    assert!(due.len() == 1 && due[0].what.contains("`data/root/a/c0`"), "{due:?}");
    assert_eq!(warned(store.clone(), true)?, due);
    for by_async in [false, true] {
        assert_eq!(warned(Arc::new(Remote(store.clone())), by_async)?, due);
    }
    Ok(())
}

/// What the copies say is compared with the documents, however the hierarchy was opened.
#[test]
fn an_async_open_checks_consolidated_copies() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = folder.path().join("x.zarr").to_str().expect("a plain path").to_owned();
    let written = zarr::create(&url, Dialect::V3)?;
    written.create_array(path("/a")).shape(&[4]).data_type_named("i4").create()?;
    written.consolidate()?;
    let document = folder.path().join("x.zarr/a/zarr.json");
    let text = std::fs::read_to_string(&document).expect("a document");
    std::fs::write(&document, text.replace('4', "8")).expect("written");

    let options = reading().consolidated(Consolidated::Check);
    let (found, at) = Hierarchy::locate(&url, &options)?;
    found.node(&at.join("a")?)?;
    let due = found.warnings();
    assert_eq!(due.len(), 1, "{due:?}");
    let found = runtime().block_on(async {
        let (found, at) = zarr::aio::Hierarchy::locate(&url, &options).await?;
        found.node(&at.join("a")?).await?;
        Ok::<_, zarr::Error>(found.warnings())
    });
    assert_eq!(found?, due);
    Ok(())
}

/// How often the codec `counted` was made.
static BUILDS: AtomicUsize = AtomicUsize::new(0);

/// Changes nothing.
#[derive(Debug)]
struct Counted;

const COUNTED: Names = Names { v3: &["test.counted"], v2: &[], draft: &[] };

impl BytesToBytes for Counted {
    fn encode<'a>(
        &self,
        decoded: std::borrow::Cow<'a, [u8]>,
    ) -> Result<std::borrow::Cow<'a, [u8]>, CodecError> {
        Ok(decoded)
    }
    fn decode<'a>(
        &self,
        encoded: std::borrow::Cow<'a, [u8]>,
        _: DecodedSize,
    ) -> Result<std::borrow::Cow<'a, [u8]>, CodecError> {
        Ok(encoded)
    }
    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        COUNTED.to_metadata(dialect, Object::new())
    }
}

fn counted(_: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    BUILDS.fetch_add(1, Ordering::SeqCst);
    Ok(Codec::bytes_to_bytes(Counted))
}

fn knowing() -> OpenOptions {
    OpenOptions::new(zarr::standard().with(|registry| registry.codec(&COUNTED, counted)))
}

#[test]
fn an_open_builds_its_codecs_once() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = folder.path().join("x.zarr").to_str().expect("a plain path").to_owned();
    let written = zarr::create_with(&url, Dialect::V3, &knowing())?;
    let array = written.create_array(path("/a")).shape(&[4]).data_type_named("i4");
    array.codec(CodecSpec::v3("test.counted", Object::new())).create()?;
    let at = format!("{url}/a");
    let builds = |open: &dyn Fn() -> Result<()>| {
        let before = BUILDS.load(Ordering::SeqCst);
        open()?;
        Ok::<_, zarr::Error>(BUILDS.load(Ordering::SeqCst) - before)
    };
    let due = builds(&|| zarr::open_with(&at, &knowing()).map(drop))?;
    let found = builds(&|| {
        let opened = runtime().block_on(zarr::aio::open_with(&at, &knowing()));
        opened?.into_array().map(drop)
    })?;
    assert_eq!(found, due);
    assert_eq!(due, 1);
    Ok(())
}

#[test]
fn a_warning_raised_through_one_face_shows_in_the_other() -> Result<()> {
    let (store, written) = hierarchy(Dialect::V3);
    written.create_array(path("/a")).shape(&[4]).data_type_named("i4").create()?;
    let key = StoreKey::new("a/zarr.json")?;
    store.to_sync().set(&key, Payload::from(&b"{"[..]))?;

    let blocking = Hierarchy::open(store, &reading())?;
    let waiting = blocking.as_async();
    assert_eq!(runtime().block_on(waiting.nodes(&path("/")))?.len(), 1);
    assert_eq!(waiting.warnings().len(), 1, "{:?}", waiting.warnings());
    assert_eq!(blocking.warnings(), waiting.warnings());
    Ok(())
}
