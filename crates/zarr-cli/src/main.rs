//! The program `zarr`.

use std::process::ExitCode;

fn main() -> ExitCode {
    zarr_cli::run(zarr::standard(), std::env::args_os())
}
