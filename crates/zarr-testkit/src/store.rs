//! Checks that a store keeps what the traits of [`zarr_core::store`] promise (D-130 … D-137, F-110, F-111).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use zarr_core::StoreError;
use zarr_core::store::{
    ByteRange, Capabilities, GetOptions, ListOptions, Listing, Payload, Precondition,
    SnapshotOptions, Store, StoreKey, StorePrefix, SyncStore, Target,
};

use super::reading::{
    check_absent, check_async_snapshots, check_open_ahead, check_open_ahead_absent, check_ranges,
    check_snapshots,
};

/// How long a check waits for a call that the store must not keep waiting. The kit's own tests have a store that does.
const CALL_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 5 } else { 20 });

/// Checks every promise of a store that can be written and read, and of its other capabilities.
///
/// `make` returns a new, empty store each time.
///
/// # Panics
/// At the first broken promise, naming it.
pub fn check_store(make: impl Fn() -> Arc<dyn Store>) {
    check_store_folding_case(&make);
    let store = make();
    let case = Checked::new(&store);
    case.set("case/foo", b"lower");
    case.set("case/FOO", b"upper");
    case.is("case/foo", Some(b"lower"), "keys tell upper from lower case (D-131)");
    case.is("case/FOO", Some(b"upper"), "keys tell upper from lower case (D-131)");
}

/// As [`check_store`], for a store on a disk on which `foo` and `FOO` are one name.
///
/// # Panics
/// As [`check_store`].
pub fn check_store_folding_case(make: impl Fn() -> Arc<dyn Store>) {
    let checks = [values, keys, buffers, ranges, prefixes, erasing, many_keys];
    for check in checks {
        check(&Checked::new(&make()));
    }
    super::swap::check_replacing(&*make().to_sync());
    super::swap::check_conditional(&|| make().to_sync());
    super::create::check_creating(&*make().to_sync());
    check_snapshots(&*make().to_sync());
    check_async_snapshots(&*make());
}

/// Checks all readings of a store that has exactly `contents`; for stores that cannot be written.
///
/// # Panics
/// At the first broken promise, naming it; and if the store is not readable.
pub fn check_contents(store: &Arc<dyn Store>, contents: &BTreeMap<String, Vec<u8>>) {
    assert!(store.capabilities().read, "the store is readable");
    let sync = &*store.to_sync();
    // Copies, for one, go by what the blocking store says.
    let is_local = store.capabilities().local;
    assert_eq!(sync.capabilities().local, is_local, "both faces say the same of `local`");
    for (name, value) in contents {
        let key = key(name);
        is(sync, &key, Some(value), "a value is read as it was stored");
        check_ranges(sync, &key, value);
        check_open_ahead(&**store, &key, value);
    }
    let absent = key("no such key");
    if !contents.contains_key(absent.as_str()) {
        is(sync, &absent, None, "an absent key has no value (D-134)");
        check_absent(sync, &absent);
        check_open_ahead_absent(&**store, &absent);
    }
    if store.capabilities().list {
        listings(sync, &contents.keys().cloned().collect());
    }
}

pub(super) fn key(key: &str) -> StoreKey {
    StoreKey::new(key).expect("the kit's keys are valid")
}

fn prefix(prefix: &str) -> StorePrefix {
    StorePrefix::new(prefix).expect("the kit's prefixes are valid")
}

/// The value of a call that must not fail.
#[track_caller]
pub(super) fn ok<T>(result: Result<T, StoreError>, what: &str) -> T {
    result.unwrap_or_else(|e| panic!("{what} must not fail, but: {e}"))
}

/// A store, and its expected contents.
struct Checked {
    store: Arc<dyn SyncStore>,
}

impl Checked {
    #[track_caller]
    fn new(store: &Arc<dyn Store>) -> Self {
        let Capabilities { read, write, .. } = store.capabilities();
        assert!(
            read && write,
            "the store is not readable and writeable; `check_contents` is for such stores",
        );
        Checked { store: store.to_sync() }
    }

    fn put(&self, key: &StoreKey, value: Option<Payload<'_>>, only_if: Precondition<'_>) -> bool {
        let what = if value.is_some() { "put" } else { "put of no value" };
        ok(self.store.put(key, value, only_if), what)
    }

    #[track_caller]
    fn set(&self, name: &str, value: &[u8]) {
        let set = self.store.set(&key(name), Payload::new(value));
        ok(set, &format!("set of `{name}`"));
    }

    #[track_caller]
    fn erase_prefix(&self, name: &str) {
        let erased = self.store.erase_prefix(&prefix(name));
        ok(erased, &format!("erase_prefix of `{name}`"));
    }

    #[track_caller]
    fn is(&self, name: &str, expected: Option<&[u8]>, promise: &str) {
        is(&*self.store, &key(name), expected, promise);
    }

    /// Checks that the store has these keys and no others.
    #[track_caller]
    fn holds(&self, names: &[&str], promise: &str) {
        if !self.store.capabilities().list {
            return;
        }
        let found = ok(self.store.list_prefix(&StorePrefix::root()), "list_prefix").keys;
        let found: BTreeSet<String> = found.iter().map(text).collect();
        let expected = names.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{promise}: list");
        listings(&*self.store, &expected);
    }
}

fn text(key: &StoreKey) -> String {
    key.to_string()
}

/// Checks that all ways of reading agree on the value of a key.
#[track_caller]
fn is(store: &dyn SyncStore, key: &StoreKey, expected: Option<&[u8]>, promise: &str) {
    let checked = Reading { key, expected, promise };
    checked.gives(ok(store.value(key), "get").as_deref(), "get");
    let opened = ok(store.open(key, SnapshotOptions::default()), "open");
    let parts = opened.map(|value| ok(value.read(&[ByteRange::ALL]), "read").concat());
    checked.gives(parts.as_deref(), "open");
    for limit in [u64::MAX, expected.map_or(0, <[u8]>::len) as u64] {
        let got = ok(store.get(key, GetOptions::at_most(limit)), "get at most");
        checked.gives(got.and_then(|got| got.bytes).as_deref(), "get at most");
    }
    if let Some(less) = expected.and_then(|value| (value.len() as u64).checked_sub(1)) {
        for version in [false, true] {
            let refused = store.get(key, GetOptions { version, ..GetOptions::at_most(less) });
            assert!(
                matches!(refused, Err(StoreError::TooLarge { .. })),
                "get at most of `{key}` refuses a value that is larger than its limit, and cuts none",
            );
        }
    }
    let mut buf = b"what an earlier value left behind".to_vec();
    let got = ok(store.get(key, GetOptions::into(Target::Vec(&mut buf))), "get into a buffer");
    checked.gives(got.as_ref().map(|_| &buf[..]), "get into a buffer");
    let mut out = vec![0xa5; if got.is_some() { buf.len() } else { 3 }];
    let got = ok(store.get(key, GetOptions::into(Target::Exact(&mut out))), "get into memory");
    let size = got.map(|got| got.size);
    checked.gives(size.map(|_| &out[..]), "get into memory");
    assert!(
        size.is_none_or(|size| size == out.len() as u64),
        "get into memory tells the value's size",
    );
    let mut longer = vec![0; out.len() + 1];
    let other = ok(store.get(key, GetOptions::into(Target::Exact(&mut longer))), "get into memory");
    assert_eq!(
        other.map(|got| got.size),
        size,
        "get into memory tells the value's size, whatever it is"
    );
}

/// What a read of a key must give.
struct Reading<'a> {
    key: &'a StoreKey,
    expected: Option<&'a [u8]>,
    promise: &'a str,
}

impl Reading<'_> {
    /// Checks what a call gave.
    #[track_caller]
    fn gives(&self, found: Option<&[u8]>, call: &str) {
        let Reading { key, expected, promise } = *self;
        let found_words = BriefValue(found, expected);
        let expected_words = BriefValue(expected, found);
        assert!(
            found == expected,
            "{promise}: {call} of `{key}` gives {found_words}, not {expected_words}",
        );
    }
}

/// A short description of a value, from the byte at which it differs from another.
struct BriefValue<'a>(Option<&'a [u8]>, Option<&'a [u8]>);

impl fmt::Display for BriefValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(value) = self.0 else {
            return f.write_str("no value");
        };
        let other = self.1.unwrap_or_default();
        let same = value.iter().zip(other).take_while(|(a, b)| a == b).count();
        write!(f, "{} bytes", value.len())?;
        match &value[same..] {
            [] => Ok(()),
            rest => write!(f, " with {:?} at {same}", &rest[..rest.len().min(8)]),
        }
    }
}

fn values(store: &Checked) {
    store.is("a/absent", None, "an absent key has no value, and is no error (D-134)");
    store.set("a/empty", b"");
    store.is("a/empty", Some(b""), "an empty value is not an absent one (D-131, D-134)");
    let every_byte: Vec<u8> = (0..=255).collect();
    store.set("a/bytes", &every_byte);
    store.is("a/bytes", Some(&every_byte), "a value is any bytes (D-131)");
    store.set("a/bytes", b"short");
    store.is("a/bytes", Some(b"short"), "a short value replaces all of a long one (D-131)");
    store.set("a/bytes", &every_byte);
    store.is("a/bytes", Some(&every_byte), "a long value replaces a short one (D-131)");
    store.set("a/bytes", b"");
    store.is("a/bytes", Some(b""), "an empty value replaces another (D-131)");

    let large: Vec<u8> = (0..3_000_000u32).map(|i| (i / 7) as u8).collect();
    let parts = large.chunks(999_999).fold(Payload::default(), |value, part| value.and(part));
    ok(store.store.set(&key("a/parts"), parts.and(&b""[..])), "set of several parts");
    store.is("a/parts", Some(&large), "the parts of a payload follow each other");
    let value = || {
        let parts = || large.chunks(999_999).map(|part| Ok(Cow::Borrowed(part)));
        Payload::new(b"before").and_made(parts).and(&b"after"[..])
    };
    let whole = [&b"before"[..], &large, b"after"].concat();
    ok(store.store.set(&key("a/parts"), value()), "set of parts made meanwhile");
    store.is("a/parts", Some(&whole), "what is made while it is written is written");
    let stopped = Payload::default()
        .and_made(|| [Ok(Cow::Borrowed(&large[..])), Err(StoreError::ReadOnly)].into_iter());
    let stopped = store.store.set(&key("a/parts"), stopped);
    assert!(stopped.is_err(), "set of a value that cannot be made must be an error");
    store.is("a/parts", Some(&whole), "a value that cannot be made leaves the old one");
    if store.store.capabilities().swap {
        assert!(
            store.put(&key("a/made"), Some(value()), Precondition::Absent),
            "put of parts made meanwhile where the key is absent",
        );
        store.is("a/made", Some(&whole), "what is made while it is written is written by a swap");
        ok(store.store.erase(&key("a/made")), "erase");
    }
    others_can_write(store);
    ok(store.store.set(&key("a/no"), Payload::default()), "set of no parts");
    store.is("a/no", Some(b""), "a payload without parts is an empty value");

    let loose = key("a/loose");
    let done = store.put(&loose, Some(Payload::new(b"v")), Precondition::Unchecked);
    assert!(done, "an unchecked put is always done");
    store.is("a/loose", Some(b"v"), "an unchecked put sets");
    let done = store.put(&loose, None, Precondition::Unchecked);
    assert!(done, "an unchecked put is always done");
    store.is("a/loose", None, "an unchecked put erases");
    store.holds(&["a/bytes", "a/empty", "a/no", "a/parts"], "every key set is listed");
    several_values(store);
}

/// Values that are set in one call, in several folders and over others.
fn several_values(store: &Checked) {
    for guarded in [true, false] {
        let values: Vec<Vec<u8>> = (0..8).map(|n| vec![n as u8; n * 40]).collect();
        let named = |n: usize| (key(&name_of_several(n)), &values[n][..]);
        let set = store.store.set_all(&(0..8).map(named).collect::<Vec<_>>(), guarded);
        ok(set.map_err(|not_set| not_set.error), "set_all");
        for (n, value) in values.iter().enumerate() {
            store.is(&name_of_several(n), Some(value), "set_all sets all values");
        }
        let set = store.store.set_all(&[named(1), (key(&name_of_several(1)), b"last")], guarded);
        ok(set.map_err(|not_set| not_set.error), "set_all");
        store.is(&name_of_several(1), Some(b"last"), "set_all sets one value after the other");
    }
    store.erase_prefix("s/");
}

/// The key of one of several values, of which each folder has three.
fn name_of_several(n: usize) -> String {
    format!("s/{}/{n}", n / 3)
}

/// While the parts of a payload are made, others write: the threads that make them may wait for those.
fn others_can_write(store: &Checked) {
    let other = key("a/other");
    let made = || {
        let (inner, other) = (store.store.clone(), other.clone());
        let (send, receive) = mpsc::channel();
        thread::spawn(move || _ = send.send(inner.set(&other, Payload::new(b"v"))));
        let done = receive.recv_timeout(CALL_TIMEOUT);
        assert!(done.is_ok(), "other keys can be set while parts of a payload are made");
        [Ok(Cow::Borrowed(&b"made"[..]))].into_iter()
    };
    let value = || Payload::default().and_made(made);
    ok(store.store.set(&key("a/made"), value()), "set of parts made meanwhile");
    store.is("a/other", Some(b"v"), "what others set while parts are made is set");
    ok(store.store.erase(&key("a/made")), "erase");
    if store.store.capabilities().swap {
        store.put(&key("a/made"), Some(value()), Precondition::Absent);
        ok(store.store.erase(&key("a/made")), "erase");
    }
    ok(store.store.erase(&other), "erase");
}

/// F-110, D-130; and the store does not split or join keys.
fn keys(store: &Checked) {
    let names = [
        "zarr.json",
        ".zarray",
        "meta/root/foo.array.json",
        "data/root/foo/c0/1/2",
        "c/0/0",
        "c/0/1",
        "c.0.0",
        "with space",
        "with%20space",
        "ünï/códe/日本",
        "100%/%2f",
        "q?a=b&c#d+e",
        "...",
    ];
    for name in names {
        store.set(name, name.as_bytes());
    }
    for name in names {
        store.is(name, Some(name.as_bytes()), "each key has a value of its own (F-110)");
    }
    store.is("c/0", None, "the beginning of a key is not a key");
    store.is("c", None, "the beginning of a key is not a key");
    store.holds(&names, "keys are listed in full, as they were set (D-137)");
}

/// Checks that a store shares no memory with its callers (T-62).
fn buffers(store: &Checked) {
    let mut buffer = b"first".to_vec();
    store.set("k", &buffer);
    buffer.fill(b'?');
    store.is("k", Some(b"first"), "a value is not the caller's buffer (T-62)");
    let held = ok(store.store.value(&key("k")), "get").expect("it was set");
    store.set("k", b"second");
    assert_eq!(
        held[..],
        *b"first",
        "a value that was got does not change when the key is set (T-62)"
    );
}

/// Checks that a range of a value gives its bytes and no others (F-111).
fn ranges(store: &Checked) {
    let value: Vec<u8> = (0..100).collect();
    store.set("k", &value);
    check_ranges(&*store.store, &key("k"), &value);
    store.set("empty", b"");
    check_ranges(&*store.store, &key("empty"), b"");
    store.set("one", b"x");
    check_ranges(&*store.store, &key("one"), b"x");
    check_absent(&*store.store, &key("absent"));
}

/// Checks that a listing has the keys below its prefix, and no others (D-132, D-136, T-58).
fn prefixes(store: &Checked) {
    let names = ["a/b", "a/c", "a/d/e", "a/f/g", "a/f/h/i", "ab/x", "a.b/x", "a-b", "a0", "e/f/g"];
    store.holds(&[], "an empty store has no keys");
    for name in names {
        store.set(name, b"v");
    }
    store.holds(&names, "a prefix ends at a `/`, and a listing does not lose or make up keys");
}

/// Checks every listing of a store with these keys.
#[track_caller]
fn listings(store: &dyn SyncStore, names: &BTreeSet<String>) {
    let keys: Vec<StoreKey> = names.iter().map(|name| key(name)).collect();
    let mut asked: BTreeSet<String> = keys.iter().map(|key| key.parent().to_string()).collect();
    for name in names {
        asked.extend(name.match_indices('/').map(|(at, _)| name[..=at].to_owned()));
        asked.insert(format!("{name}/"));
    }
    asked.insert(String::new());
    asked.insert("no/such/".into());
    for asked in &asked {
        let prefix = prefix(asked);
        let Listing { keys: found, sizes, versions, .. } =
            ok(store.list_prefix(&prefix), "list_prefix");
        for (len, what) in [(sizes.len(), "size"), (versions.len(), "version")] {
            assert!(
                [0, found.len()].contains(&len),
                "list_prefix of `{asked}` has a {what} for each key, or none"
            );
        }
        for (key, size) in found.iter().zip(sizes) {
            let value = ok(store.get(key, GetOptions::default()), "get of a key that was listed");
            let value = value.map(|got| got.size);
            assert_eq!(value, Some(size), "list_prefix of `{asked}`: the size of `{key}`");
        }
        let unique: BTreeSet<String> = found.iter().map(text).collect();
        assert_eq!(
            unique.len(),
            found.len(),
            "list_prefix of `{asked}` names keys twice: {found:?}"
        );
        let expected = keys.iter().filter(|key| prefix.strip(key).is_some()).map(text).collect();
        assert_eq!(unique, expected, "list_prefix of `{asked}` (D-136, D-137)");
        assert!(found.is_sorted(), "list_prefix of `{asked}` is sorted: {found:?}");

        let found = ok(store.list_dir(&prefix, ListOptions::default()), "list_dir");
        let expected = Listing::fold(&prefix, keys.iter().cloned());
        assert_eq!(found, expected, "list_dir of `{asked}`: full, sorted, each once (D-137)");
    }
    let found = ok(store.list_prefix(&StorePrefix::root()), "list").keys;
    assert_eq!(found, keys, "list: full, sorted, each once (D-137)");
}

/// Checks that keys and prefixes are erased, and no others, also when they are absent (D-135, F-111).
fn erasing(store: &Checked) {
    let writeable = &*store.store;
    ok(writeable.erase(&key("no/such")), "erase of an absent key (D-135)");
    store.erase_prefix("no/such/");
    store.erase_prefix("");

    store.set("k", b"v");
    ok(writeable.erase(&key("k")), "erase");
    store.is("k", None, "an erased key is absent");
    ok(writeable.erase(&key("k")), "erase of an erased key (F-111)");
    store.set("k", b"again");
    store.is("k", Some(b"again"), "an erased key can be set again");

    for name in ["data/x/c0", "data/x/c/0/1", "data/xy/c0", "data/x.y", "x/1"] {
        store.set(name, b"v");
    }
    ok(writeable.erase(&key("data/x")), "erase of what is only the beginning of keys");
    store.is("data/x/c0", Some(b"v"), "erase takes one key, not those below it");
    store.erase_prefix("data/x/");
    store.is("data/x/c0", None, "erase_prefix erases what begins with it (D-135)");
    store.is("data/x/c/0/1", None, "erase_prefix erases at every depth (D-135)");
    store.is(
        "data/xy/c0",
        Some(b"v"),
        "`data/x/` is not the beginning of `data/xy/` (D-135, T-58)",
    );
    store.is("data/x.y", Some(b"v"), "`data/x/` is not the beginning of `data/x.y` (T-58)");
    let left = ["data/x.y", "data/xy/c0", "k", "x/1"];
    store.holds(&left, "erase_prefix erases no other keys");
    store.erase_prefix("k/");
    store.is("k", Some(b"again"), "the key `k` does not begin with `k/`");
    store.set("data/x/c0", b"new");
    store.is("data/x/c0", Some(b"new"), "an erased prefix can be filled again");
    store.erase_prefix("");
    store.holds(&[], "erase_prefix of the root erases everything");
    store.set("data/x/c0", b"newer");
    store.is("data/x/c0", Some(b"newer"), "an emptied store can be filled again");
}

/// V24; and threads may write different keys at the same time.
fn many_keys(store: &Checked) {
    let names: Vec<String> = (0..1000).map(|i| format!("many/c/{}/{}", i / 40, i % 40)).collect();
    thread::scope(|scope| {
        for part in names.chunks(250) {
            scope.spawn(move || part.iter().for_each(|name| store.set(name, name.as_bytes())));
        }
    });
    for name in &names {
        let value = ok(store.store.value(&key(name)), "get");
        assert_eq!(value.as_deref(), Some(name.as_bytes()), "one of 1000 keys: `{name}`");
    }
    if store.store.capabilities().list {
        let listable = &*store.store;
        let expected: BTreeSet<StoreKey> = names.iter().map(|name| key(name)).collect();
        let found = ok(listable.list_prefix(&prefix("many/")), "list_prefix").keys;
        assert!(found.iter().eq(&expected), "list_prefix finds 1000 keys, sorted");
        let found = ok(listable.list_dir(&prefix("many/c/"), ListOptions::default()), "list_dir");
        let expected = Listing::fold(&prefix("many/c/"), expected);
        assert_eq!(found, expected, "list_dir above 1000 keys");
    }
    store.erase_prefix("many/c/3/");
    store.is("many/c/3/7", None, "erase_prefix among 1000 keys");
    store.is("many/c/4/7", Some(b"many/c/4/7"), "erase_prefix among 1000 keys");
}
