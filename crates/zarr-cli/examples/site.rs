//! A site builds its own `zarr`: all that the program can do, and what the site's extensions bring.

use std::process::ExitCode;

fn main() -> ExitCode {
    let registry = zarr::standard().with(zarr_example_extension::register);
    zarr_cli::run(registry, std::env::args_os())
}
