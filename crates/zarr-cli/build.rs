//! Links the program of a debug build at a fixed address.
//!
//! The tests start the program thousands of times. At an address that is chosen by each start, the linker's 240,000 relocations of an
//! unoptimized program are applied, and their pages copied, before `main`: half of the time of a start.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let is_gnu_linux =
        variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    if is_gnu_linux && variable("PROFILE") == "debug" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
