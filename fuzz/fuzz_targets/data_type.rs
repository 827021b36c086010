#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zarr_fuzz::run("data_type", data));
