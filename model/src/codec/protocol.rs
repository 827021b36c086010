//! The budget of decoded bytes.

use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::thread;

use super::budget::{limited, take};

const SIZE: u64 = 60 << 20;
const LIMIT: u64 = 150 << 20;

/// Three threads take bytes of which there are enough for two; what a thread takes while it has some is not waited for.
pub fn budget() {
    let held = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let held = held.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    limited(LIMIT, || {
                        let taken = take(SIZE).expect("less than the limit");
                        let now = held.fetch_add(SIZE, Ordering::SeqCst) + SIZE;
                        assert!(now <= LIMIT, "{now} bytes are held");
                        drop(take(2 << 20).expect("less than the limit"));
                        held.fetch_sub(SIZE, Ordering::SeqCst);
                        drop(taken);
                    });
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
}
