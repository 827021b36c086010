//! Checks that a store keeps its promises while several threads use one key.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::store::{key, ok};
use zarr_core::StoreError;
use zarr_core::store::{
    GetOptions, Payload, Precondition, SnapshotOptions, StoreKey, SyncStore, Target, Version,
};

/// A key has the old value or the new one, never a mixture, and is never absent in between.
pub(super) fn check_replacing(store: &dyn SyncStore) {
    let key = key("raced/value");
    let set = |letter| ok(store.set(&key, Payload::new(raced_value(letter))), "set");
    set(b'a');
    let done = AtomicBool::new(false);
    let check = &|read: &[u8]| {
        let letter = *read.first().expect("a raced value is never empty");
        assert!(
            read == raced_value(letter),
            "a reader found a mixture of two values of a raced key"
        );
    };
    let reader = |into: bool| {
        let mut buf = Vec::new();
        while !done.load(Ordering::Relaxed) {
            if into {
                let into = GetOptions::into(Target::Vec(&mut buf));
                assert!(ok(store.get(&key, into), "get into a buffer").is_some(), "{ABSENT}");
                check(&buf);
            } else {
                check(&ok(store.value(&key), "get").expect(ABSENT));
            }
        }
    };
    thread::scope(|scope| {
        let readers = [true, false].map(|into| scope.spawn(move || reader(into)));
        let writers = [b'a', b'k']
            .map(|first| scope.spawn(move || (0..150u8).for_each(|i| set(first + i % 10))));
        let written = writers.map(|writer| writer.join());
        done.store(true, Ordering::Relaxed);
        let read = readers.map(|reader| reader.join());
        written.into_iter().chain(read).for_each(pass_on);
    });
}

/// A value of a length that no other letter has.
fn raced_value(letter: u8) -> Vec<u8> {
    vec![letter; 1000 + usize::from(letter) * 700]
}

const ABSENT: &str = "a reader found a key absent while it was replaced";

/// Panics with the message of the thread, so that the caller of the check gets it.
pub(super) fn pass_on(ended: thread::Result<()>) {
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

/// Checks compare-and-swap, if the store has it.
pub(super) fn check_conditional(make: &dyn Fn() -> Arc<dyn SyncStore>) {
    let store = make();
    if store.capabilities().swap {
        meaning(&*store);
        counting(&*store);
        with_other_writers(&*store);
    }
}

/// The value of a key, and its version.
#[track_caller]
fn now(store: &dyn SyncStore, key: &StoreKey) -> (Option<Vec<u8>>, Option<Version>) {
    match ok(store.get(key, GetOptions::versioned()), "get with the version") {
        None => (None, None),
        Some(got) => {
            let version = got.version.expect("a store that compares and swaps tells the version");
            (Some(got.bytes.unwrap_or_default().to_vec()), Some(version))
        }
    }
}

#[track_caller]
fn set_if(
    store: &dyn SyncStore,
    key: &StoreKey,
    value: Option<&'static [u8]>,
    was: Option<&Version>,
) -> bool {
    ok(store.put(key, value.map(Payload::new), Precondition::unchanged(was)), "set_if")
}

fn meaning(store: &dyn SyncStore) {
    let key = key("swap/value");

    let erases = store.capabilities().swap_erase;

    assert_eq!(now(store, &key), (None, None), "get_versioned of an absent key");
    assert!(set_if(store, &key, None, None), "set_if: an absent key can be left so");
    assert!(set_if(store, &key, Some(b"one"), None), "set_if creates what is absent");
    assert_eq!(now(store, &key).0.as_deref(), Some(&b"one"[..]), "set_if sets the value");
    let get = ok(store.value(&key), "get");
    assert_eq!(get.as_deref(), Some(&b"one"[..]), "what set_if set is got");
    assert!(!set_if(store, &key, Some(b"two"), None), "set_if must not create what is there");
    assert!(!set_if(store, &key, None, None), "set_if must not erase what was thought absent");
    assert_eq!(
        now(store, &key).0.as_deref(),
        Some(&b"one"[..]),
        "set_if that lost changes nothing"
    );
    for (limit, fits) in [(2, false), (3, true)] {
        let got = store.get(&key, GetOptions { limit, ..GetOptions::versioned() }).map(|_| ());
        let update = SnapshotOptions { limit, ..SnapshotOptions::for_update() };
        let opened = store.open(&key, update).map(|_| ());
        for (call, found) in [("get with the version", got), ("open for an update", opened)] {
            let promise = "refuses a value that is larger than its limit, and no other";
            let refused = matches!(found, Err(StoreError::TooLarge { .. }));
            assert!(refused != fits && (refused || found.is_ok()), "{call} {promise}");
        }
    }
    let one = now(store, &key).1;
    assert_eq!(now(store, &key).1, one, "the version stays while the value does");

    assert!(set_if(store, &key, Some(b"two"), one.as_ref()), "set_if sets what is unchanged");
    let two = now(store, &key).1;
    assert_ne!(one, two, "another value of the same length has another version");
    assert!(!set_if(store, &key, Some(b"six"), one.as_ref()), "set_if must not set what changed",);
    assert!(
        !erases || !set_if(store, &key, None, one.as_ref()),
        "set_if must not erase what changed"
    );
    assert_eq!(
        now(store, &key).0.as_deref(),
        Some(&b"two"[..]),
        "set_if that lost changes nothing"
    );
    ok(store.set(&key, Payload::new(b"three")), "set");
    assert!(!set_if(store, &key, Some(b"four"), two.as_ref()), "set_if must notice a plain set",);

    let three = now(store, &key).1;
    if erases {
        assert!(set_if(store, &key, None, three.as_ref()), "set_if erases what is unchanged")
    } else {
        ok(store.erase(&key), "erase")
    }
    assert_eq!(now(store, &key), (None, None), "what set_if erased is absent");
    assert!(
        !set_if(store, &key, Some(b"four"), three.as_ref()),
        "set_if must notice that the key was erased",
    );
    assert!(set_if(store, &key, Some(b""), None), "set_if creates an empty value");
    let empty = now(store, &key).1;
    assert!(empty.is_some(), "an empty value has a version, other than an absent one");
    assert!(!set_if(store, &key, Some(b"x"), None), "an empty value is not an absent one");
    ok(store.erase(&key), "erase");
    assert!(!set_if(store, &key, Some(b"x"), empty.as_ref()), "set_if must notice a plain erase",);
}

const THREADS: usize = 8;
const ROUNDS: usize = 40;

/// Adds one to the number at a key.
fn increment(store: &dyn SyncStore, key: &StoreKey) {
    loop {
        let (value, version) = now(store, key);
        let count: u64 = value.as_deref().map_or(0, |value| {
            let text = std::str::from_utf8(value).ok();
            text.and_then(|text| text.parse().ok()).expect("a number was stored")
        });
        let next = Payload::new((count + 1).to_string().into_bytes());
        if ok(store.put(key, Some(next), Precondition::unchanged(version.as_ref())), "set_if") {
            return;
        }
    }
}

/// Counters of 8 threads lose no update, also while neighbouring keys are written.
fn counting(store: &dyn SyncStore) {
    let counter = key("swap/counter");
    let shared = &counter;
    thread::scope(|scope| {
        let threads: [_; THREADS] =
            std::array::from_fn(|i| scope.spawn(move || increment_often(store, shared, i)));
        threads.map(|thread| thread.join()).into_iter().for_each(pass_on);
    });
    let count = now(store, &counter).0.expect("the counter is there");
    assert_eq!(
        String::from_utf8_lossy(&count),
        (THREADS * ROUNDS).to_string(),
        "{THREADS} threads incremented a key {ROUNDS} times each; fewer means that updates were lost",
    );
}

/// Increments the counter, and sets values beside it.
fn increment_often(store: &dyn SyncStore, counter: &StoreKey, thread: usize) {
    let other = key(&format!("swap/beside{thread}"));
    for round in 0..ROUNDS {
        increment(store, counter);
        if round % 8 == 0 {
            ok(store.set(&other, Payload::new(b"v")), "set");
        }
    }
}

type Call<'a> = dyn Fn() -> Result<(), StoreError> + Sync + 'a;

/// A `set_if` never undoes a change by another thread after its comparison.
fn with_other_writers(store: &dyn SyncStore) {
    let key = key("swap/both/c");
    let together = [(super::store::key("swap/both/a"), &b"v"[..]), (key.clone(), b"plain")];
    let set_all = || store.set_all(&together, true).map_err(|not_set| not_set.error);
    let others: [(&str, Option<&[u8]>, &Call<'_>); 4] = [
        ("set_all", Some(b"plain"), &set_all),
        ("set", Some(b"plain"), &|| store.set(&key, Payload::new(b"plain"))),
        ("erase", None, &|| store.erase(&key)),
        ("erase_prefix", None, &|| store.erase_prefix(&key.parent())),
    ];
    for (other, result, call) in others {
        for round in 0..ROUNDS {
            let old = format!("old {round}").into_bytes();
            ok(store.set(&key, Payload::new(old)), "set");
            let (_, version) = now(store, &key);
            thread::scope(|scope| {
                let other = scope.spawn(|| ok(call(), other));
                set_if(store, &key, Some(b"swapped"), version.as_ref());
                pass_on(other.join());
            });
            assert_eq!(
                now(store, &key).0.as_deref(),
                result,
                "a `set_if` undid the `{other}` that came between its comparing and its setting",
            );
        }
    }
}
