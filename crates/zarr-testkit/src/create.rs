//! Checks that a store creates a value only where nothing is, in one step.

use std::sync::Barrier;
use std::thread;

use zarr_core::store::{Payload, StoreKey, SyncStore};

use super::store::{key, ok};
use super::swap::pass_on;

const THREADS: usize = 8;
const ROUNDS: usize = 40;

/// Checks `create`, if the store has it.
pub(super) fn check_creating(store: &dyn SyncStore) {
    if store.capabilities().create {
        meaning(store);
        racing(store);
    }
}

fn value(store: &dyn SyncStore, key: &StoreKey) -> Option<Vec<u8>> {
    ok(store.value(key), "get").map(|value| value.to_vec())
}

fn meaning(store: &dyn SyncStore) {
    let [created, other, third] =
        ["created/zarr.json", "created/.zarray", "created/.zgroup"].map(key);
    let [left, also_left, not_named] = ["created/c/0", "created/c/1", "created/c/2"].map(key);
    let set = |key: &StoreKey, value: &'static [u8]| ok(store.set(key, Payload::new(value)), "set");
    let create = |value: &'static [u8]| {
        let (absent, leftovers) =
            ([other.clone(), third.clone()], [left.clone(), also_left.clone()]);
        ok(store.create(&created, Payload::new(value), &absent, &leftovers), "create")
    };
    for key in [&left, &also_left, &not_named] {
        set(key, b"old");
    }

    assert_eq!(create(b"one"), None, "create of what is absent returns no key");
    let found = value(store, &created);
    assert_eq!(found.as_deref(), Some(&b"one"[..]), "create sets the value");
    for key in [&left, &also_left] {
        assert_eq!(value(store, key), None, "create erases the leftovers");
    }
    let found = value(store, &not_named);
    assert_eq!(found.as_deref(), Some(&b"old"[..]), "create erases nothing else");

    set(&left, b"new");
    for old in [&b"one"[..], b""] {
        set(&created, old);
        let there = create(b"two");
        assert_eq!(there, Some(created.clone()), "create returns the key that is there");
        let found = value(store, &created);
        assert_eq!(found.as_deref(), Some(old), "create must not replace what is there");
    }
    ok(store.erase(&created), "erase");
    for beside in [&other, &third] {
        set(beside, b"beside");
        assert_eq!(
            create(b"two"),
            Some(beside.clone()),
            "create returns the other key that is there"
        );
        assert_eq!(value(store, &created), None, "create must not set beside another document");
        ok(store.erase(beside), "erase");
    }
    let found = value(store, &left);
    assert_eq!(found.as_deref(), Some(&b"new"[..]), "create that is refused erases nothing");
    assert_eq!(create(b"two"), None, "create of what is absent again returns no key");
}

/// Of several threads that create one of two keys, where the other must be absent, one succeeds.
fn racing(store: &dyn SyncStore) {
    for round in 0..ROUNDS {
        let keys = ["zarr.json", ".zarray"].map(|name| key(&format!("raced/{round}/{name}")));
        let begin = Barrier::new(THREADS);
        let create = |thread: usize| {
            let (mine, other) = (&keys[thread % 2], &keys[1 - thread % 2]);
            let value = Payload::new(vec![thread as u8; 100]);
            begin.wait();
            ok(store.create(mine, value, std::slice::from_ref(other), &[]), "create").is_none()
        };
        let mut creators = Vec::new();
        thread::scope(|scope| {
            let create = &create;
            let threads: [_; THREADS] =
                std::array::from_fn(|thread| scope.spawn(move || (thread, create(thread))));
            for thread in threads {
                match thread.join() {
                    Ok((thread, true)) => creators.push(thread),
                    Ok(_) => {}
                    Err(panic) => pass_on(Err(panic)),
                }
            }
        });
        let [creator] = creators[..] else {
            panic!(
                "of {THREADS} threads that create one value one must succeed, not {}",
                creators.len()
            );
        };
        let found = keys.each_ref().map(|key| value(store, key));
        let mut expected = [None, None];
        expected[creator % 2] = Some(vec![creator as u8; 100]);
        assert!(found == expected, "what the other threads create must not be there");
    }
}
