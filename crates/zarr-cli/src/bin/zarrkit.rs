//! The program `zarr` by another name, for environments in which `zarr` is a script of zarr-python's.

use std::process::ExitCode;

fn main() -> ExitCode {
    zarr_cli::run(zarr::standard(), std::env::args_os())
}
