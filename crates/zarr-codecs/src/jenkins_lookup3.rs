//! Checks a chunk with Bob Jenkins' lookup3.
//!
//! numcodecs' `jenkins_lookup3`: HDF5's checksum of metadata, in four bytes after the chunk's (v2.md 7).
//! `prefix` precedes the chunk when the checksum is made, and is not stored.

use zarr_core::codec::{ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::{Dialect, Json, MetadataError, Object};

use crate::util::checksum::{Checksum, ChecksumLocation, guard};
use crate::util::metadata::numcodecs;

/// The jenkins_lookup3 codec.
#[derive(Clone, Debug)]
struct JenkinsLookup3 {
    initval: u32,
    prefix: Vec<u8>,
    /// The prefix as the document writes it.
    prefix_json: Json,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let initval = parameters.integer("initval", 0..=u32::MAX.into(), Some(0))? as u32;
    let prefix_json = parameters.get("prefix").cloned().unwrap_or(Json::Null);
    let prefix = match &prefix_json {
        Json::Null => Some(Vec::new()),
        Json::String(text) => Some(text.clone().into_bytes()),
        Json::Array(list) => {
            list.iter().map(|json| json.as_u64().and_then(|n| u8::try_from(n).ok())).collect()
        }
        _ => None,
    };
    let Some(prefix) = prefix else {
        return Err(parameters.invalid("prefix", "is null, text, or a list of bytes"));
    };
    parameters.finish()?;
    Ok(guard(JenkinsLookup3 { initval, prefix, prefix_json }, ChecksumLocation::End))
}

/// Bytes mixed in together.
const BLOCK: usize = 12;

/// Three numbers and how far lookup3 has come.
struct State([u32; 3]);

impl State {
    fn add(&mut self, block: &[u8; BLOCK]) {
        let (parts, _) = block.as_chunks::<4>();
        for (number, word) in self.0.iter_mut().zip(parts) {
            *number = number.wrapping_add(u32::from_le_bytes(*word));
        }
    }

    fn mix(&mut self) {
        let [mut a, mut b, mut c] = self.0;
        mix_step(&mut a, &mut b, &mut c, 4);
        mix_step(&mut b, &mut c, &mut a, 6);
        mix_step(&mut c, &mut a, &mut b, 8);
        mix_step(&mut a, &mut b, &mut c, 16);
        mix_step(&mut b, &mut c, &mut a, 19);
        mix_step(&mut c, &mut a, &mut b, 4);
        self.0 = [a, b, c];
    }

    fn finish(self) -> u32 {
        let [mut a, mut b, mut c] = self.0;
        final_step(&mut c, b, 14);
        final_step(&mut a, c, 11);
        final_step(&mut b, a, 25);
        final_step(&mut c, b, 16);
        final_step(&mut a, c, 4);
        final_step(&mut b, a, 14);
        final_step(&mut c, b, 24);
        c
    }
}

fn mix_step(x: &mut u32, y: &mut u32, z: &mut u32, turn: u32) {
    *x = x.wrapping_sub(*z) ^ z.rotate_left(turn);
    *z = z.wrapping_add(*y);
}

fn final_step(x: &mut u32, y: u32, turn: u32) {
    *x = (*x ^ y).wrapping_sub(y.rotate_left(turn));
}

/// The checksum of both parts, one after the other.
fn lookup3(initval: u32, prefix: &[u8], bytes: &[u8]) -> u32 {
    let len = prefix.len() + bytes.len();
    // The length is counted in 32 bits.
    let start = 0xdead_beef_u32.wrapping_add(len as u32).wrapping_add(initval);
    let mut state = State([start; 3]);
    if len == 0 {
        return start;
    }
    // The last block, which may be a whole one, is mixed in otherwise.
    let mut open = [0; BLOCK];
    let mut filled = 0;
    let mut take = |mut part: &[u8]| {
        while !part.is_empty() {
            if filled == BLOCK {
                state.add(&open);
                state.mix();
                (open, filled) = ([0; BLOCK], 0);
            }
            if filled == 0 {
                let blocks = (part.len() - 1) / BLOCK;
                let (whole, rest) = part.split_at(blocks * BLOCK);
                for block in whole.as_chunks::<BLOCK>().0 {
                    state.add(block);
                    state.mix();
                }
                part = rest;
            }
            let (now, rest) = part.split_at(part.len().min(BLOCK - filled));
            open[filled..filled + now.len()].copy_from_slice(now);
            filled += now.len();
            part = rest;
        }
    };
    take(prefix);
    take(bytes);
    state.add(&open);
    state.finish()
}

impl Checksum for JenkinsLookup3 {
    const CODEC: &'static str = "jenkins_lookup3";
    const USUAL: ChecksumLocation = ChecksumLocation::End;

    fn sum(&self, bytes: &[u8]) -> u32 {
        lookup3(self.initval, &self.prefix, bytes)
    }

    fn to_metadata(&self, _: ChecksumLocation, dialect: Dialect) -> Option<CodecSpec> {
        let configuration = Object::new()
            .with("initval", u64::from(self.initval))
            .with("prefix", self.prefix_json.clone());
        numcodecs(dialect, Self::CODEC, configuration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{build, metadata, noise, refusal};
    use crate::util::checksum::tests::guards;

    /// numcodecs 0.15.2 and 0.16.6.
    #[test]
    fn checksums_are_numcodecs() {
        let long: Vec<u8> = (0..1536).map(|i| i as u8).chain([b'x']).collect();
        let bytes: [&[u8]; 7] = [b"", b"a", b"abc", b"abcd", b"123456789", &long, &[0xff; 100_001]];
        let plain =
            ["efbeadde", "0887d658", "3176390e", "9c88f4b5", "969a5d84", "34208b53", "0246ddc6"];
        let one =
            ["f0beadde", "7176b142", "9e8ef0f9", "24f96996", "74e76c47", "79a811cd", "f2a09cc1"];
        let prefixed =
            ["7f41f8bc", "b163099d", "a808fe21", "1cd9dec1", "aff39357", "203b6e59", "24087310"];
        for (configuration, sums) in [
            ("{}", plain),
            (r#"{"initval":0,"prefix":null}"#, plain),
            (r#"{"initval":1}"#, one),
            (r#"{"initval":3735928559,"prefix":"hdf5"}"#, prefixed),
            (r#"{"initval":3735928559,"prefix":[104,100,102,53]}"#, prefixed),
        ] {
            let sums: Vec<_> = bytes.into_iter().zip(sums).collect();
            guards("jenkins_lookup3", configuration, ChecksumLocation::End, &sums);
        }
        // Of no byte, of byte 0, of bytes 0 and 1, and so on.
        let sums = [
            0xdead_beef_u32,
            0x8ba9_414b,
            0xdf0d_39c9,
            0x6b12_f277,
            0xe4cf_1d42,
            0x1d48_33cc,
            0x5229_ee9e,
            0x5895_11d8,
            0xd4cc_b93c,
            0xeca5_1474,
            0x610f_c1e3,
            0x2ca6_817a,
            0x5e4a_a593,
            0xbc9d_6816,
        ];
        for (len, sum) in sums.into_iter().enumerate() {
            let bytes: Vec<u8> = (0..len as u8).collect();
            assert_eq!(lookup3(0, &[], &bytes), sum, "{len}");
        }
    }

    #[test]
    fn where_the_prefix_ends_changes_nothing() {
        let bytes = noise(61);
        let whole = lookup3(7, &[], &bytes);
        for at in 0..=bytes.len() {
            assert_eq!(lookup3(7, &bytes[..at], &bytes[at..]), whole, "{at}");
        }
    }

    #[test]
    fn words_are_checked_and_spelled() {
        let id = "jenkins_lookup3";
        refusal(Dialect::V2, id, r#"{"initval":-1}"#);
        refusal(Dialect::V2, id, r#"{"initval":4294967296}"#);
        refusal(Dialect::V2, id, r#"{"prefix":1}"#);
        refusal(Dialect::V2, id, r#"{"prefix":[256]}"#);
        refusal(Dialect::V3, "numcodecs.jenkins_lookup3", r#"{"location":"end"}"#);
        let plain = r#"{"initval":0,"prefix":null}"#;
        assert_eq!(
            metadata(&*build(Dialect::V3, "numcodecs.jenkins_lookup3", "{}")),
            [Some(format!("numcodecs.{id} {plain}")), Some(format!("{id} {plain}")), None]
        );
    }
}
