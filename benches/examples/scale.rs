//! Prints the tables of which docs/scale.md has a selection.
//!
//! `cargo run --release -p zarr-benches --example scale [NAME]` runs all cases, or those whose name contains NAME, each in a
//! separate process, whose peak of memory (Linux only) is in the last column.

use std::env;
use std::error::Error;
use std::fs;
use std::process::Command;
use std::time::Duration;

use zarr_benches::scale::hierarchy::{Task, Tree};
use zarr_benches::scale::petabyte::Rechunk;
use zarr_benches::scale::service::Service;
use zarr_benches::scale::writers::{Regions, Writers};

const SEED: u64 = 20_261_123;

/// A table: its name, its columns, and its cases.
struct Table {
    name: &'static str,
    columns: &'static str,
    cases: Vec<(String, Case)>,
}

type Case = Box<dyn Fn() -> zarr::Result<String>>;

fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 10.0 { format!("{seconds:.2}") } else { format!("{seconds:.0}") }
}

/// A number with commas.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn dollars(price: f64) -> String {
    if price < 0.01 { format!("{price:.5}") } else { format!("{price:.2}") }
}

fn hierarchies() -> Table {
    let mut cases: Vec<(String, Case)> = Vec::new();
    let trees = [
        ("1,000 × 1,000", Tree { groups: 1000, arrays: 1000, warns: false }),
        ("1,000,000 in one group", Tree { groups: 0, arrays: 1_000_000, warns: false }),
        ("1,000 × 1,000, each with a warning", Tree { groups: 1000, arrays: 1000, warns: true }),
        ("50 × 1,000", Tree { groups: 50, arrays: 1000, warns: false }),
    ];
    let tasks = [
        ("listed", Task::List),
        ("opened", Task::Open),
        ("consolidated", Task::Consolidate),
        ("opened, consolidated", Task::OpenConsolidated),
    ];
    for (tree_name, tree) in trees {
        for (task_name, task) in tasks {
            if tree.warns && task != Task::Open {
                continue;
            }
            let run = move || {
                let found = match task.run(tree, Service::S3, SEED) {
                    Err(e) => return Ok(format!("refused: {}", e.cause())),
                    found => found?,
                };
                Ok(format!(
                    "{} | {} | {} | {} | {}",
                    grouped(found.bill.gets),
                    grouped(found.bill.lists),
                    seconds(found.time),
                    grouped(found.bill.received >> 20),
                    dollars(found.bill.price)
                ))
            };
            cases.push((format!("{tree_name} | {task_name}"), Box::new(run)));
        }
    }
    Table {
        name: "hierarchy",
        columns: "arrays | what | GET | LIST | time, s | received, MiB | price, $",
        cases,
    }
}

fn writers() -> Table {
    let mut cases: Vec<(String, Case)> = Vec::new();
    let kinds = [
        ("aligned to chunks", Regions::Aligned),
        ("half a chunk off", Regions::Misaligned),
        ("inner chunks of one shard", Regions::OneShard),
        ("parts of one chunk", Regions::OneChunk),
        ("appended", Regions::Append),
    ];
    for (name, regions) in kinds {
        for count in [1, 10, 100, 1000] {
            for (who, one_process) in [("machines", false), ("threads of one process", true)] {
                if one_process && !(count >= 100 && regions as u8 >= Regions::OneShard as u8) {
                    continue;
                }
                let run = move || {
                    let service = Service::S3;
                    let writers =
                        Writers { count, writes: 1, regions, one_process, service, chunk: 1024 };
                    let found = writers.run(SEED)?;
                    if found.wrong + found.errors > 0 {
                        let (wrong, errors) = (found.wrong, found.errors);
                        return Ok(format!("{wrong} regions are wrong, {errors} writers failed"));
                    }
                    let bill = found.bill;
                    let useful = bill.puts - bill.lost - bill.refused - bill.failed;
                    Ok(format!(
                        "{} | {} | {} | {} | {} | {} | {}",
                        seconds(found.time),
                        seconds(found.longest()),
                        grouped(bill.gets),
                        grouped(useful),
                        grouped(bill.lost),
                        grouped(bill.refused),
                        dollars(bill.price)
                    ))
                };
                cases.push((format!("{name} | {count} {who}"), Box::new(run)));
            }
        }
    }
    Table {
        name: "writers",
        columns: "regions | writers | time, s | longest, s | GET | useful PUT | lost PUT | refused | price, $",
        cases,
    }
}

fn petabytes() -> Table {
    let shape = vec![1 << 20, 1 << 14, 1 << 14];
    let (slabs, columns) = (vec![1, 512, 512], vec![256, 32, 32]);
    let copy =
        Rechunk { shape, from: slabs, to: columns, parts: None, memory: 1 << 30, runs: false };
    let shifted = vec![1, 480, 480];
    let kinds = [
        ("planned only, parts chosen by the library", copy.clone()),
        ("planned, a million parts", Rechunk { parts: Some(1_000_000), ..copy.clone() }),
        (
            "a part is a row of objects",
            Rechunk { parts: Some(1 << 21), runs: true, ..copy.clone() },
        ),
        ("a part is 16 rows", Rechunk { parts: Some(1 << 17), runs: true, ..copy.clone() }),
        (
            "16 rows, source not aligned",
            Rechunk { parts: Some(1 << 17), from: shifted, runs: true, ..copy },
        ),
    ];
    let case = |(name, copy): (&str, Rechunk)| {
        let run = move || {
            let found = copy.run(Service::S3, SEED)?;
            let (read, written) = found.bills;
            let all = found.chunks as f64 / found.part.max(1) as f64;
            let of_all = |number: u64| format!("{:.2}", number as f64 * all / 1e9);
            let pib = |bytes: u64| format!("{:.2}", bytes as f64 * all / (1u64 << 50) as f64);
            let price = (read.price + written.price) * all;
            let mut columns = vec![
                grouped(found.parts),
                found.planning.requests().to_string(),
                format!("{:.2}", found.planned.as_secs_f64()),
            ];
            if copy.runs {
                columns.extend([of_all(read.gets), pib(read.received), of_all(written.puts)]);
                columns.extend([pib(written.sent), grouped(price as u64), seconds(found.time)]);
            } else {
                columns.extend(std::iter::repeat_n("–".to_owned(), 6));
            }
            Ok(columns.join(" | "))
        };
        (name.to_owned(), Box::new(run) as Case)
    };
    Table {
        name: "petabyte",
        columns: "copy | parts | requests to plan | s to plan | GET, 10⁹ | read, PiB | PUT, 10⁹ | written, PiB | price, $ | s per part",
        cases: kinds.into_iter().map(case).collect(),
    }
}

/// The most memory that this process ever held, in MiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) >> 10
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let tables = [hierarchies(), writers(), petabytes()];
    if let [_, name] = &args[..] {
        let mut cases = tables.iter().flat_map(|table| &table.cases);
        let (_, run) = cases.find(|(case, _)| case == name).ok_or("there is no such case")?;
        println!("{} | {}", run()?, grouped(peak()));
        return Ok(());
    }
    let chosen = args.first().map_or("", String::as_str);
    for table in &tables {
        let name = |case: &str| format!("{}: {case}", table.name);
        let cases: Vec<_> =
            table.cases.iter().filter(|(case, _)| name(case).contains(chosen)).collect();
        if cases.is_empty() {
            continue;
        }
        println!("\n{}\n\n| {} | peak, MiB |", table.name, table.columns);
        println!("|{}", " --- |".repeat(table.columns.split(" | ").count() + 1));
        for (case, _) in cases {
            let child = Command::new(env::current_exe()?).args(["case", case]).output()?;
            if !child.status.success() {
                return Err(String::from_utf8_lossy(&child.stderr).into());
            }
            println!("| {case} | {} |", String::from_utf8(child.stdout)?.trim());
        }
    }
    Ok(())
}
