//! The checks find each broken codec by the promise that it breaks.

mod arrays;
mod flat;

use super::{check_codec, check_codec_on, check_lossy_codec};
use crate::shared;
use zarr_core::codec::{ChunkContext, CodecSpec, Names};
use zarr_core::data_type::{CoreType, DataType};
use zarr_core::registry::BuildCodec;
use zarr_core::{Dialect, Object, Registry};

/// A registry with a codec that is named after its flaw, in every dialect.
fn knowing(name: &str, build: BuildCodec) -> Registry {
    let name: &'static str = name.to_owned().leak();
    let names: &'static [&'static str] = vec![name].leak();
    let names = Names { v3: names, v2: names, draft: names };
    Registry::new().with(|registry| registry.codec(&names, build))
}

/// The message of the check that fails; `None` if the codec passes.
fn verdict(spec: &CodecSpec, build: BuildCodec) -> Option<String> {
    let registry = knowing(&spec.name, build);
    let (types, shape) = (DataType::from(CoreType::Int32), vec![4, 3]);
    let context = ChunkContext::new(types, shape);
    shared::verdict(|| check_codec_on(&registry, spec, &context))
}

/// Checks that each flaw is found, and that the message names the promise.
fn each_is_found(build: BuildCodec, configuration: &Object, cases: &[(String, &str)]) {
    for (flaw, expected) in cases {
        let spec = CodecSpec::new(Dialect::V3, flaw.as_str(), configuration.clone());
        match verdict(&spec, build) {
            None => panic!("a codec passes that is broken by {flaw}"),
            Some(said) => assert!(said.contains(expected), "{flaw}: {said}"),
        }
    }
}
