//! Runs each protocol with many schedules: random ones, and those of PCT, which few changes of threads tell apart; those of two
//! processes with every schedule. `ZARR_MODEL` says how many (`.ci/full model`, which prints the figures of docs/reliability.md).

use std::env;
use std::sync::Mutex;

use zarr_model::{PROTOCOLS, SMALL_PROTOCOLS};

/// How many schedules of each kind.
fn schedules() -> usize {
    env::var("ZARR_MODEL").ok().and_then(|n| n.parse().ok()).unwrap_or(100)
}

/// One at a time: what the library keeps in statics is of one execution.
static ONE: Mutex<()> = Mutex::new(());

#[test]
fn every_protocol_keeps_its_promise() {
    let _one = ONE.lock();
    let only = env::var("ZARR_MODEL_ONLY").unwrap_or_default();
    for (name, protocol) in PROTOCOLS.iter().filter(|(name, _)| name.contains(&only)) {
        shuttle::check_random(protocol, schedules());
        shuttle::check_pct(protocol, schedules(), 3);
        println!("model: {name}: {} schedules", 2 * schedules());
    }
}

#[test]
fn two_processes_keep_their_promise_in_every_schedule() {
    let _one = ONE.lock();
    let only = env::var("ZARR_MODEL_ONLY").unwrap_or_default();
    // 0: no limit.
    let most = env::var("ZARR_MODEL_MOST").ok().and_then(|n| n.parse().ok()).unwrap_or(5_000);
    for (name, protocol) in SMALL_PROTOCOLS.iter().filter(|(name, _)| name.contains(&only)) {
        let runner = shuttle::Runner::new(
            shuttle::scheduler::DfsScheduler::new((most > 0).then_some(most), false),
            shuttle::Config::new(),
        );
        let ran = runner.run(protocol);
        let all = if most > 0 && ran >= most { "of more" } else { "all there are" };
        println!("model: {name}: {ran} schedules, {all}");
    }
}
