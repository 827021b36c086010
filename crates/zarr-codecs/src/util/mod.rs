//! Holds what several codecs share. Every build compiles all of it, so that no gate repeats which codecs use what.
#![cfg_attr(
    not(feature = "full"),
    allow(dead_code, unused_imports, reason = "a build with few codecs needs few of these")
)]

pub(crate) mod arithmetic;
pub(crate) mod bounded_read;
pub(crate) mod checksum;
pub(crate) mod deflate;
pub(crate) mod elementwise;
pub(crate) mod libdeflate;
pub(crate) mod metadata;
pub(crate) mod number;
pub(crate) mod reshape_common;
pub(crate) mod shuffle_kernel;
#[cfg(target_arch = "x86_64")]
mod simd;
pub(crate) mod v3_adapter;
pub(crate) mod values;
