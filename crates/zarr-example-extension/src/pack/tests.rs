use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use zarr_core::store::{Payload, StoreKey};

use super::*;

/// A path of a file that is not there yet, and goes away with the test.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("zarr-pack-{}-{n}", std::process::id());
        Place(std::env::temp_dir().join(name))
    }

    fn open(&self) -> PackStore {
        PackStore::open(&self.0, Access::ReadWrite).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn key(key: &str) -> StoreKey {
    StoreKey::new(key).unwrap()
}

fn set(store: &PackStore, name: &str, value: &[u8]) {
    store.set(&key(name), Payload::new(value)).unwrap();
}

fn get(store: &PackStore, name: &str) -> Option<Vec<u8>> {
    store.value(&key(name)).unwrap().map(Vec::from)
}

#[test]
fn it_keeps_the_promises_of_stores() {
    let places = Mutex::new(Vec::new());
    zarr_testkit::check_store(|| {
        let place = Place::new();
        let store = place.open();
        places.lock().unwrap().push(place);
        from_sync(store)
    });
}

#[test]
fn what_was_set_last_is_found_again() {
    let place = Place::new();
    let store = place.open();
    assert!(!place.0.exists());
    for (name, value) in [("a/b", "1"), ("a/c", "2"), ("a/b", "three"), ("d", ""), ("e", "x")] {
        set(&store, name, value.as_bytes());
    }
    store.erase(&key("e")).unwrap();
    let size = fs::metadata(&place.0).unwrap().len();
    store.erase(&key("e")).unwrap();
    assert_eq!(fs::metadata(&place.0).unwrap().len(), size, "nothing is noted of nothing");
    drop(store);
    let store = PackStore::open(&place.0, Access::ReadOnly).unwrap();
    let keys: Vec<String> = store.list().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(keys, ["a/b", "a/c", "d"]);
    assert_eq!(get(&store, "a/b").as_deref(), Some(&b"three"[..]));
    assert_eq!(get(&store, "d").as_deref(), Some(&b""[..]));
    let refused = store.set(&key("d"), Payload::new(b"y"));
    assert!(matches!(refused, Err(StoreError::ReadOnly)));
}

#[test]
fn a_torn_tail_never_was() {
    let place = Place::new();
    let store = place.open();
    set(&store, "a", b"one");
    set(&store, "a", b"two");
    let whole = fs::metadata(&place.0).unwrap().len() as usize;
    set(&store, "a", b"three");
    drop(store);
    let bytes = fs::read(&place.0).unwrap();
    let zeros = [&bytes[..whole], &[0; 300]].concat();
    let unwritten = [&bytes[..whole + 21], &[0; 5]].concat();
    let torn = (whole..bytes.len()).map(|end| bytes[..end].to_vec());
    for torn in torn.chain([zeros, unwritten]) {
        fs::write(&place.0, &torn).unwrap();
        let reader = PackStore::open(&place.0, Access::ReadOnly).unwrap();
        assert_eq!(get(&reader, "a").as_deref(), Some(&b"two"[..]), "{} bytes", torn.len());
        assert_eq!(fs::read(&place.0).unwrap(), torn, "a reader changes nothing");
        drop(reader);
        let store = place.open();
        set(&store, "b", b"after");
        drop(store);
        let store = place.open();
        assert_eq!(get(&store, "a").as_deref(), Some(&b"two"[..]));
        assert_eq!(get(&store, "b").as_deref(), Some(&b"after"[..]));
    }
}

#[test]
fn damage_before_the_end_is_an_error() {
    let place = Place::new();
    let store = place.open();
    set(&store, "a", b"one");
    set(&store, "b", b"two");
    drop(store);
    let good = fs::read(&place.0).unwrap();
    for at in [12, 15, 20, 21, 23] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&place.0, &bad).unwrap();
        let error = PackStore::open(&place.0, Access::ReadOnly).unwrap_err();
        assert!(error.to_string().contains("the record at byte 0 is damaged"), "{error}");
    }
    for garbage in [&b"x"[..], &[255; 100], &[1; 1000]] {
        fs::write(&place.0, garbage).unwrap();
        let _ = PackStore::open(&place.0, Access::ReadOnly);
    }
}

#[test]
fn stores_of_one_path_share_their_file_and_others_are_locked_out() {
    let place = Place::new();
    let (one, two) = (place.open(), place.open());
    set(&one, "a", b"1");
    let again = place.open();
    set(&two, "a", b"2");
    assert_eq!(get(&one, "a").as_deref(), Some(&b"2"[..]));
    assert_eq!(get(&again, "a").as_deref(), Some(&b"2"[..]));
    let mut stranger = Log::open(&place.0).unwrap();
    let refused = stranger.begin_writing(&place.0).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
    drop((one, two, again));
    stranger.begin_writing(&place.0).unwrap();
}

#[test]
fn a_url_names_a_path() {
    assert!(matches!(open("pack://", Access::ReadWrite), Err(StoreError::InvalidUrl { .. })));
    let place = Place::new();
    let store = open(&format!("pack://{}", place.0.display()), Access::ReadWrite).unwrap();
    store.to_sync().set(&key("k"), Payload::new(b"v")).unwrap();
    // A path that goes on behind the file is that of a node inside: an empty store.
    let inside = format!("pack://{}/node", place.0.display());
    let inside = open(&inside, Access::ReadWrite).unwrap();
    assert_eq!(inside.to_sync().value(&key("k")).unwrap(), None);
}
