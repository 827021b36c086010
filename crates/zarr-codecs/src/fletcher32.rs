//! Checks a chunk with a Fletcher-32.
//!
//! As HDF5 and netCDF do, and numcodecs' `fletcher32` after them: bytes are taken in pairs, the first the
//! more significant, and the checksum stands after them, least significant byte first (v2.md 7).
//! HDF5 before 1.6.3 swapped the bytes of each half of the checksum; such ones are good, too, as they are
//! to HDF5 and netCDF.

use zarr_core::MetadataError;
use zarr_core::codec::{ChunkContext, Codec, CodecSpec, Parameters};

use crate::util::checksum::{Checksum, ChecksumLocation, guard};

/// The fletcher32 codec.
#[derive(Clone, Copy, Debug)]
struct Fletcher32;

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    Parameters::new(spec).finish()?;
    Ok(guard(Fletcher32, ChecksumLocation::End))
}

/// Pairs after which sums are folded at the latest, lest they overflow.
const RUN: usize = 360;

/// The sum of the halves. It is never 0 for what is not: 0xffff stands for that.
fn folded(sum: u32) -> u32 {
    (sum & 0xffff) + (sum >> 16)
}

fn fletcher32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (0u32, 0u32);
    let (pairs, rest) = bytes.as_chunks::<2>();
    for run in pairs.chunks(RUN) {
        // Each pair counts in `b` as often as pairs follow it up to the run's end, itself included.
        b += a * run.len() as u32;
        let mut sum = 0;
        for (&pair, weight) in run.iter().zip((1..=run.len() as u32).rev()) {
            let pair = u32::from(u16::from_be_bytes(pair));
            sum += pair;
            b += pair * weight;
        }
        a += sum;
        a = folded(a);
        b = folded(b);
    }
    if let [last] = *rest {
        a += u32::from(last) << 8;
        b += a;
        a = folded(a);
        b = folded(b);
    }
    folded(b) << 16 | folded(a)
}

impl Checksum for Fletcher32 {
    const CODEC: &'static str = "fletcher32";
    const USUAL: ChecksumLocation = ChecksumLocation::End;

    fn sum(&self, bytes: &[u8]) -> u32 {
        fletcher32(bytes)
    }

    fn is(&self, expected: u32, found: u32) -> bool {
        let [a, b, c, d] = expected.to_le_bytes();
        found == expected || found == u32::from_le_bytes([b, a, d, c])
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::Dialect;

    use super::*;
    use crate::testing::{build, decode, hex, metadata, noise, refusal};
    use crate::util::checksum::tests::guards;

    /// numcodecs 0.15.2 and 0.16.6, which fail for no bytes at all.
    #[test]
    fn checksums_are_numcodecs() {
        let long: Vec<u8> = (0..1536).map(|i| i as u8).chain([b'x']).collect();
        let sums: [(&[u8], &str); 7] = [
            (b"", "00000000"),
            (b"a", "00610061"),
            (b"abc", "62c4c525"),
            (b"abcd", "c6c42926"),
            (b"123456789", "d509df09"),
            (&long, "7ef960d8"),
            (&[0xff; 100_001], "00ff00ff"),
        ];
        guards("fletcher32", "{}", ChecksumLocation::End, &sums);
    }

    /// Pair by pair, as HDF5 adds them.
    #[test]
    fn runs_change_nothing() {
        for len in [0, 1, 2, 719, 720, 721, 722, 5001] {
            for bytes in [noise(len), vec![0xff; len], vec![0; len]] {
                let (mut a, mut b) = (0u32, 0u32);
                for (i, pair) in bytes.chunks(2).enumerate() {
                    a += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low));
                    b += a;
                    if i % RUN == RUN - 1 || pair.len() == 1 || (i + 1) * 2 == len {
                        (a, b) = (folded(a), folded(b));
                    }
                }
                assert_eq!(fletcher32(&bytes), folded(b) << 16 | folded(a), "{len}");
            }
        }
    }

    #[test]
    fn the_checksum_of_old_hdf5_is_good() {
        let codec = build(Dialect::V2, "fletcher32", "{}");
        for encoded in ["61626364c6c42926", "61626364c4c62629"] {
            assert_eq!(decode(&*codec, &hex(encoded), 4), b"abcd");
        }
    }

    #[test]
    fn words_are_checked_and_spelled() {
        refusal(Dialect::V3, "numcodecs.fletcher32", r#"{"location":"end"}"#);
        assert_eq!(
            metadata(&*build(Dialect::V3, "numcodecs.fletcher32", "{}")),
            [Some("numcodecs.fletcher32".into()), Some("fletcher32".into()), None]
        );
    }
}
