//! Runs fuzz targets with mutated inputs; see `docs/fuzzing.md`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use zarr_fuzz::driver::{self, Plan};
use zarr_fuzz::{TARGETS, target_of};

const USAGE: &str = "\
zarr-fuzz run SECONDS [--seed N] [--failures FOLDER] [TARGET...]   runs targets, all if none is named
zarr-fuzz replay TARGET FILE...                                    runs a target over files
zarr-fuzz smallest TARGET FILE                                     makes a file that fails smaller
zarr-fuzz seeds TARGET FOLDER                                      writes the seeds of a target as files
zarr-fuzz targets                                                  lists the targets";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match command(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn command(words: &[&str]) -> Result<bool, Box<dyn std::error::Error>> {
    match words {
        ["run", seconds, rest @ ..] => run(seconds.parse()?, rest),
        ["worker", target, seconds, seed, current, folder] => {
            let plan = Plan { seconds: seconds.parse()?, seed: seed.parse()? };
            driver::worker(target_of(target), plan, Path::new(current), Path::new(folder))?;
            Ok(true)
        }
        ["replay", target, files @ ..] => {
            driver::keep_panics();
            let mut is_fine = true;
            for file in files {
                if let Err(failure) = driver::check(target_of(target), &std::fs::read(file)?) {
                    println!("{file}: {failure}");
                    is_fine = false;
                }
            }
            Ok(is_fine)
        }
        ["smallest", target, file] => {
            driver::keep_panics();
            std::fs::write(file, driver::smallest(target_of(target), &std::fs::read(file)?))?;
            Ok(true)
        }
        ["seeds", target, folder] => {
            std::fs::create_dir_all(folder)?;
            for (number, seed) in target_of(target).seeds().iter().enumerate() {
                std::fs::write(Path::new(folder).join(format!("seed-{number:04}")), seed)?;
            }
            Ok(true)
        }
        ["targets"] => {
            TARGETS.iter().for_each(|target| println!("{}", target.name));
            Ok(true)
        }
        _ => Err(USAGE.into()),
    }
}

fn run(seconds: u64, rest: &[&str]) -> Result<bool, Box<dyn std::error::Error>> {
    let (mut seed, mut folder, mut names) = (1, PathBuf::from("scratch/fuzz"), Vec::new());
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--seed" => seed = rest.next().ok_or(USAGE)?.parse()?,
            "--failures" => folder = PathBuf::from(rest.next().ok_or(USAGE)?),
            name => names.push(name),
        }
    }
    let mut is_fine = true;
    for target in TARGETS {
        if names.is_empty() || names.contains(&target.name) {
            is_fine &= driver::run(target, Plan { seconds, seed }, &folder)?;
        }
    }
    Ok(is_fine)
}
