//! Runs the simulator of docs/scale.md for some seconds, and checks what it found.

use std::collections::HashMap;
use std::time::Duration;

use zarr_benches::scale::clock;
use zarr_benches::scale::hierarchy::{Task, Tree};
use zarr_benches::scale::petabyte::Rechunk;
use zarr_benches::scale::service::{Service, sample};
use zarr_benches::scale::writers::{Found, Regions, Writers};

const ALL: [Regions; 5] =
    [Regions::Aligned, Regions::Misaligned, Regions::OneShard, Regions::OneChunk, Regions::Append];

fn write(count: u64, writes: u64, regions: Regions, one_process: bool) -> Found {
    let writers = Writers { count, writes, regions, one_process, service: Service::S3, chunk: 512 };
    writers.run(11).unwrap()
}

#[test]
fn no_element_of_many_writers_is_lost() {
    for regions in ALL {
        for one_process in [false, true] {
            let found = write(12, 2, regions, one_process);
            assert_eq!((found.wrong, found.errors), (0, 0), "{regions:?}: {found:?}");
            assert_eq!(found.waits.len(), 24);
            let price = found.bill.gets as f64 * 0.4e-6 + found.bill.puts as f64 * 5e-6;
            assert!((found.bill.price - price).abs() < 1e-9);
        }
    }
}

/// A store that fails all the time, and one that refuses most requests.
#[test]
fn no_element_is_lost_where_requests_fail() {
    let service = Service { failures: 0.2, writes: 20, ..Service::S3 };
    let writers = Writers {
        count: 12,
        writes: 2,
        regions: Regions::Misaligned,
        one_process: false,
        service,
        chunk: 64,
    };
    let found = writers.run(5).unwrap();
    assert_eq!((found.wrong, found.errors), (0, 0), "{found:?}");
    assert!(found.bill.failed > 10 && found.bill.refused > 10, "{found:?}");
}

#[test]
fn a_run_gives_the_same_figures_again() {
    let figures = |found: Found| (found.time, found.waits, found.bill);
    let run = || figures(write(10, 2, Regions::OneChunk, false));
    assert_eq!(run(), run());
}

/// Without a random pause after a lost attempt, each of a hundred writers loses about as many as there are writers.
#[test]
fn many_machines_at_one_chunk_lose_few_attempts_each() {
    let found = write(100, 1, Regions::OneChunk, false);
    assert!(found.bill.lost < 10 * 100, "{:?}", found.bill);
    // A change takes a GET and a PUT, 84 ms on average.
    assert!(found.time < Duration::from_secs(15), "{:?}", found.time);
}

/// A document whose answer takes long does not keep others from being requested.
#[test]
fn opening_keeps_all_requests_under_way() {
    let tree = Tree { groups: 0, arrays: 6400, warns: false };
    let found = Task::Open.run(tree, Service::S3, 3).unwrap();
    assert_eq!((found.nodes, found.bill.lists), (6401, 7));
    // The mean of the times is 28 ms, and that of a page 87 ms.
    let least = Duration::from_millis(6400 / 64 * 28 + 7 * 87);
    assert!(found.time < least.mul_f64(1.2), "{found:?}");
}

#[test]
fn consolidating_reads_each_document_twice() {
    let tree = Tree { groups: 0, arrays: 1500, warns: false };
    let found = Task::Consolidate.run(tree, Service::S3, 3).unwrap();
    assert_eq!((found.nodes, found.bill.puts, found.bill.lists), (1501, 1, 4));
    assert!(found.bill.gets < 2 * 1501 + 20, "{found:?}");
    let found = Task::OpenConsolidated.run(tree, Service::S3, 3).unwrap();
    assert!(found.nodes == 1501 && found.bill.requests() < 10, "{found:?}");
}

/// Each warning was compared with all before it.
#[test]
fn many_warnings_take_no_longer_each_than_few() {
    let seconds = |arrays| {
        let begun = processor_time();
        let found = Task::Open.run(Tree { groups: 0, arrays, warns: true }, Service::S3, 3);
        assert_eq!(found.unwrap().warnings as u64, arrays);
        processor_time() - begun
    };
    let few = seconds(2_000);
    assert!(seconds(16_000) <= 24.0 * few);
}

/// Seconds that this thread has computed, whatever else the machine does; 0 where the system does not say.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

#[test]
fn times_have_their_median() {
    let (mut times, _) =
        clock::run(1, async { (0..10_001).map(|_| sample(Service::S3.get)).collect::<Vec<_>>() });
    times.sort();
    let (median, most) = (times[5_000].as_secs_f64(), times[9_900].as_secs_f64());
    assert!((0.024..0.026).contains(&median) && (0.07..0.09).contains(&most), "{median} {most}");
    let ((), waited) = clock::run(1, clock::sleep(Duration::from_secs(86_400)));
    assert_eq!(waited, Duration::from_secs(86_400));
    let mut counts = HashMap::new();
    clock::run(2, async {
        (0..1000).for_each(|_| *counts.entry(clock::random() % 4).or_insert(0) += 1)
    });
    assert!(counts.values().all(|&count| (200..300).contains(&count)), "{counts:?}");
}

/// 2²⁰ chunks of a tebibyte: planned with few requests, in no more memory than the parts take; a part that is a row of objects
/// reads each chunk that it touches once.
#[test]
fn a_part_of_a_large_copy_reads_each_chunk_once() {
    let copy = Rechunk {
        shape: vec![1 << 14, 1 << 12, 1 << 12],
        from: vec![1, 512, 512],
        to: vec![256, 32, 32],
        parts: Some(1 << 13),
        memory: 256 << 20,
        runs: false,
    };
    let found = copy.run(Service::S3, 1).unwrap();
    assert_eq!((found.chunks, found.parts, found.part), (1 << 20, 1 << 13, 128));
    assert!(found.planning.requests() < 20, "{found:?}");
    let small = Rechunk {
        shape: vec![512, 256, 256],
        from: vec![1, 64, 64],
        to: vec![64, 8, 8],
        // A row has 32 objects, and touches four chunks of each of 64 slabs.
        parts: Some(8 * 32),
        runs: true,
        ..copy
    };
    let found = small.run(Service::S3, 1).unwrap();
    let (read, written) = found.bills;
    assert_eq!((found.chunks, found.part), (8 * 32 * 32, 32));
    assert!((64 * 4..64 * 4 + 10).contains(&read.gets), "{read:?}");
    assert!((32..32 + 10).contains(&written.puts), "{written:?}");
}
