//! Checks that a store keeps its promises while several threads use one key.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::store::{key, ok};
use crate::error::StoreError;
use crate::store::{ConditionalStore, Payload, Store, StoreKey, Version};

/// A key holds the old value or the new one, never a mixture; and is never absent in between.
pub(super) fn check_replacing(store: &dyn Store) {
    let key = key("raced/value");
    let readable = store.readable().expect("the store is readable");
    let writeable = store.writeable().expect("the store is writeable");
    let value = |letter: u8| vec![letter; 1000 + usize::from(letter) * 700];
    let set = |letter| ok(writeable.set(&key, Payload::new(value(letter))), "set");
    set(b'a');
    let done = AtomicBool::new(false);
    let check = &|read: &[u8]| {
        let letter = *read.first().expect("a raced value is never empty");
        assert!(read == value(letter), "a reader found a mixture of two values of a raced key");
    };
    let reader = |into: bool| {
        let mut buf = Vec::new();
        while !done.load(Ordering::Relaxed) {
            if into {
                let is_there = ok(readable.get_into(&key, u64::MAX, &mut buf), "get_into");
                assert!(is_there, "{ABSENT}");
                check(&buf);
            } else {
                check(&ok(readable.get(&key), "get").expect(ABSENT));
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

const ABSENT: &str = "a reader found a key absent while it was replaced";

/// Panics as the thread did, so that its message is what the check's caller sees.
fn pass_on(ended: thread::Result<()>) {
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

/// Compare-and-swap, if the store has it.
pub(super) fn check_conditional(make: &dyn Fn() -> Arc<dyn Store>) {
    let store = make();
    let Some(conditional) = store.conditional() else {
        return;
    };
    meaning(&*store, conditional);
    counting(&*store, conditional);
    with_other_writers(&*store, conditional);
}

/// What a key holds now, and its version.
#[track_caller]
fn now(store: &dyn ConditionalStore, key: &StoreKey) -> (Option<Vec<u8>>, Option<Version>) {
    match ok(store.get_versioned(key, u64::MAX), "get_versioned") {
        None => (None, None),
        Some((value, version)) => (Some(value.to_vec()), Some(version)),
    }
}

#[track_caller]
fn set_if(
    store: &dyn ConditionalStore,
    key: &StoreKey,
    value: Option<&'static [u8]>,
    was: Option<&Version>,
) -> bool {
    ok(store.set_if(key, value.map(Payload::new), was), "set_if")
}

fn meaning(store: &dyn Store, conditional: &dyn ConditionalStore) {
    let key = key("swap/value");
    let writeable = store.writeable().expect("the store is writeable");
    let set_to = |value: &'static [u8]| ok(writeable.set(&key, Payload::new(value)), "set");
    let value = || now(conditional, &key).0;
    let version = || now(conditional, &key).1;

    let erases = conditional.erases();

    assert_eq!(now(conditional, &key), (None, None), "get_versioned of an absent key");
    assert!(set_if(conditional, &key, None, None), "set_if: an absent key can be left so");
    assert!(set_if(conditional, &key, Some(b"one"), None), "set_if creates what is absent");
    assert_eq!(value().as_deref(), Some(&b"one"[..]), "set_if sets the value");
    let get = ok(store.readable().expect("the store is readable").get(&key), "get");
    assert_eq!(get.as_deref(), Some(&b"one"[..]), "what set_if set is got");
    assert!(!set_if(conditional, &key, Some(b"two"), None), "set_if must not create what is there");
    assert!(
        !set_if(conditional, &key, None, None),
        "set_if must not erase what was thought absent"
    );
    assert_eq!(value().as_deref(), Some(&b"one"[..]), "set_if that lost changes nothing");
    for (limit, fits) in [(2, false), (3, true)] {
        let got = conditional.get_versioned(&key, limit).map(|_| ());
        let pinned = conditional.pin_versioned(&key, limit).map(|_| ());
        for (call, found) in [("get_versioned", got), ("pin_versioned", pinned)] {
            let promise = "refuses a value that is larger than its limit, and no other";
            let refused = matches!(found, Err(StoreError::TooLarge { .. }));
            assert!(refused != fits && (refused || found.is_ok()), "{call} {promise}");
        }
    }
    let one = version();
    assert_eq!(version(), one, "the version stays while the value does");

    assert!(set_if(conditional, &key, Some(b"two"), one.as_ref()), "set_if sets what is unchanged");
    let two = version();
    assert_ne!(one, two, "another value of the same length has another version");
    assert!(
        !set_if(conditional, &key, Some(b"six"), one.as_ref()),
        "set_if must not set what changed",
    );
    assert!(
        !erases || !set_if(conditional, &key, None, one.as_ref()),
        "set_if must not erase what changed"
    );
    assert_eq!(value().as_deref(), Some(&b"two"[..]), "set_if that lost changes nothing");
    set_to(b"three");
    assert!(
        !set_if(conditional, &key, Some(b"four"), two.as_ref()),
        "set_if must notice a plain set",
    );

    let three = version();
    match erases {
        true => assert!(
            set_if(conditional, &key, None, three.as_ref()),
            "set_if erases what is unchanged"
        ),
        false => ok(writeable.erase(&key), "erase"),
    }
    assert_eq!(now(conditional, &key), (None, None), "what set_if erased is absent");
    assert!(
        !set_if(conditional, &key, Some(b"four"), three.as_ref()),
        "set_if must notice that the key was erased",
    );
    assert!(set_if(conditional, &key, Some(b""), None), "set_if creates an empty value");
    let empty = version();
    assert!(empty.is_some(), "an empty value has a version, other than an absent one");
    assert!(!set_if(conditional, &key, Some(b"x"), None), "an empty value is not an absent one");
    ok(writeable.erase(&key), "erase");
    assert!(
        !set_if(conditional, &key, Some(b"x"), empty.as_ref()),
        "set_if must notice a plain erase",
    );
}

const THREADS: usize = 8;
const ROUNDS: usize = 40;

/// Adds one to the number that a key holds.
fn increment(store: &dyn ConditionalStore, key: &StoreKey) {
    loop {
        let (value, version) = now(store, key);
        let count: u64 = value.as_deref().map_or(0, |value| {
            let text = std::str::from_utf8(value).ok();
            text.and_then(|text| text.parse().ok()).expect("a number was stored")
        });
        let next = Payload::new((count + 1).to_string().into_bytes());
        if ok(store.set_if(key, Some(next), version.as_ref()), "set_if") {
            return;
        }
    }
}

/// Counters of 8 threads lose nothing, not even while other keys beside them are written.
fn counting(store: &dyn Store, conditional: &dyn ConditionalStore) {
    let counter = key("swap/counter");
    let writeable = store.writeable().expect("the store is writeable");
    let count = |thread: usize| {
        let other = key(&format!("swap/beside{thread}"));
        for round in 0..ROUNDS {
            increment(conditional, &counter);
            if round % 8 == 0 {
                ok(writeable.set(&other, Payload::new(b"v")), "set");
            }
        }
    };
    thread::scope(|scope| {
        let count = &count;
        let threads: [_; THREADS] = std::array::from_fn(|i| scope.spawn(move || count(i)));
        threads.map(|thread| thread.join()).into_iter().for_each(pass_on);
    });
    let count = now(conditional, &counter).0.expect("the counter is there");
    assert_eq!(
        String::from_utf8_lossy(&count),
        (THREADS * ROUNDS).to_string(),
        "{THREADS} threads incremented a key {ROUNDS} times each; fewer means that updates were lost",
    );
}

type Call<'a> = dyn Fn() -> Result<(), StoreError> + Sync + 'a;

/// What others do meanwhile is never undone by a `set_if` that compared before it.
fn with_other_writers(store: &dyn Store, conditional: &dyn ConditionalStore) {
    let writeable = store.writeable().expect("the store is writeable");
    let key = key("swap/both/c");
    let others: [(&str, Option<&[u8]>, &Call<'_>); 3] = [
        ("set", Some(b"plain"), &|| writeable.set(&key, Payload::new(b"plain"))),
        ("erase", None, &|| writeable.erase(&key)),
        ("erase_prefix", None, &|| writeable.erase_prefix(&key.parent())),
    ];
    for (other, result, call) in others {
        for round in 0..ROUNDS {
            let old = format!("old {round}").into_bytes();
            ok(writeable.set(&key, Payload::new(old)), "set");
            let (_, version) = now(conditional, &key);
            thread::scope(|scope| {
                let other = scope.spawn(|| ok(call(), other));
                set_if(conditional, &key, Some(b"swapped"), version.as_ref());
                pass_on(other.join());
            });
            assert_eq!(
                now(conditional, &key).0.as_deref(),
                result,
                "a `set_if` undid the `{other}` that came between its comparing and its setting",
            );
        }
    }
}
