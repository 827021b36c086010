//! Zip archives: a folder's archive and one in another store show the same keys and values.

use std::cell::RefCell;
use std::io::{Seek, SeekFrom, Write};
use std::sync::Arc;

use zarr::runtime::block_on;
use zarr::store::{ByteRange, GetOptions, SnapshotOptions, Store, StoreKey, SyncStore};
use zarr::stores::{RemoteZipStore, ZipStore};
use zarr::{Access, Hierarchy};

use super::documents;
use crate::driver::note;
use crate::input;

/// Bytes of a value that are read.
const MAX_READ_BYTES: u64 = 1 << 20;

thread_local! {
    static FILE: RefCell<Option<tempfile::NamedTempFile>> = const { RefCell::new(None) };
}

/// The bytes of an archive.
pub fn zip(data: &[u8]) {
    let key = StoreKey::new("x.zip").expect("a good key");
    let remote = block_on(RemoteZipStore::open(input::store(&[("x.zip", data)]), &key, ""));
    let local = FILE.with(|file| {
        let mut file = file.borrow_mut();
        let file = file.get_or_insert_with(|| tempfile::NamedTempFile::new().expect("a file"));
        let inner = file.as_file_mut();
        inner.set_len(0).expect("a file is cut");
        inner.seek(SeekFrom::Start(0)).expect("a file has a beginning");
        inner.write_all(data).expect("a file is written");
        ZipStore::open_inside(file.path(), "", Access::ReadOnly).and_then(|store| {
            let keys = store.list()?;
            Ok((store, keys))
        })
    });
    let remote =
        remote.inspect_err(|error| note(error)).map(|store| Arc::new(store) as Arc<dyn Store>);
    let (Ok(remote), Ok((local, keys))) = (&remote, &local) else {
        if let (Err(_), Ok((_, keys))) = (&remote, &local) {
            assert!(keys.is_empty(), "only one of two readers has {keys:?}: {remote:?}");
        }
        return;
    };
    let others = remote.to_sync();
    assert_eq!(&others.list().expect("a list"), keys);
    for key in keys.iter().take(16) {
        let near = local.get(key, GetOptions::at_most(MAX_READ_BYTES));
        let far = others.get(key, GetOptions::at_most(MAX_READ_BYTES));
        let value = match (near, far) {
            (Ok(Some(near)), Ok(Some(far))) => {
                assert_eq!(near.bytes, far.bytes, "{key}");
                near.bytes.unwrap_or_default()
            }
            (Err(_), Err(_)) => continue,
            (near, far) => panic!("{key}: {near:?} in a folder, {far:?} in a store"),
        };
        assert!(value.len() as u64 <= MAX_READ_BYTES);
        let len = value.len().saturating_sub(1) / 2;
        let range = [ByteRange::Bounded { start: 1, len: len as u64 }];
        for store in [local as &dyn SyncStore, &*others] {
            if len > 0
                && let Ok(Some(snapshot)) = store.open(key, SnapshotOptions::default())
                && let Ok(parts) = snapshot.read(&range)
            {
                assert_eq!(parts[0], value.slice(1..1 + len), "{key}");
            }
        }
    }
    let options = input::options();
    if let Ok(hierarchy) = Hierarchy::open(remote.clone(), &options) {
        documents::look_at(&hierarchy, &options);
    }
}
