//! Tells from the first bytes of an encoded inner chunk how long it is, where its codec says so.

use zarr_core::codec::CodecSpec;

/// The codec that encodes an inner chunk last, and says how long its result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    /// One frame, whose blocks say how long they are (RFC 8878, 3.1.1).
    Zstd,
    /// A buffer, whose length is at byte 12.
    Blosc,
}

/// How long an encoded inner chunk is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    frame: Frame,
    /// Bytes of checksums behind the frame.
    behind: u64,
}

impl Lengths {
    /// The lengths of inner chunks with these codecs; `None` if none of them says how long its result is.
    pub fn of(codecs: &[CodecSpec]) -> Option<Lengths> {
        let mut behind = 0;
        for spec in codecs.iter().rev() {
            let frame = match spec.name.as_str() {
                "crc32c" => {
                    behind += 4;
                    continue;
                }
                "zstd" | "numcodecs.zstd" => Frame::Zstd,
                "blosc" | "numcodecs.blosc" => Frame::Blosc,
                _ => return None,
            };
            return Some(Lengths { frame, behind });
        }
        None
    }

    /// The length of the inner chunk with which these bytes begin; `None` if they begin with none, or end before it does.
    pub fn at(&self, bytes: &[u8]) -> Option<u64> {
        let frame = match self.frame {
            Frame::Zstd => zstd(bytes)?,
            Frame::Blosc => u64::from(u32::from_le_bytes(*bytes.get(12..)?.first_chunk()?)),
        };
        let length = frame.checked_add(self.behind)?;
        (frame > 0 && length <= bytes.len() as u64).then_some(length)
    }
}

/// The bytes of a frame of zstd.
fn zstd(bytes: &[u8]) -> Option<u64> {
    if bytes.get(..4)? != [0x28, 0xb5, 0x2f, 0xfd] {
        return None;
    }
    let descriptor = *bytes.get(4)?;
    let (is_single, has_checksum) = (descriptor >> 5 & 1 == 1, descriptor >> 2 & 1 == 1);
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content = match descriptor >> 6 {
        0 => usize::from(is_single),
        flag => 1 << flag,
    };
    let mut at = 5 + usize::from(!is_single) + dictionary + content;
    loop {
        let [a, b, c] = *bytes.get(at..)?.first_chunk()?;
        let header = u32::from_le_bytes([a, b, c, 0]);
        let size = match header >> 1 & 3 {
            0 | 2 => (header >> 3) as usize,
            1 => 1,
            _ => return None,
        };
        at = at.checked_add(3)?.checked_add(size)?;
        if header & 1 == 1 {
            return Some((at + if has_checksum { 4 } else { 0 }) as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::{Dialect, Object};

    use super::*;

    fn lengths(names: &[&str]) -> Option<Lengths> {
        Lengths::of(
            &names
                .iter()
                .map(|name| CodecSpec::new(Dialect::V3, *name, Object::new()))
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn frames_say_how_long_they_are() {
        // `zstd -c` of "abc", with its checksum, and of 100,000 zeros.
        let short = b"\x28\xb5\x2f\xfd\x24\x03\x19\x00\x00abc\x4d\xbe\x71\x26";
        let zstd = lengths(&["bytes", "zstd"]).unwrap();
        let mut bytes = short.to_vec();
        assert_eq!(zstd.at(&bytes), Some(16));
        bytes.extend(b"others");
        assert_eq!(zstd.at(&bytes), Some(16));
        assert_eq!(lengths(&["zstd", "crc32c"]).unwrap().at(&bytes), Some(20));
        assert_eq!(zstd.at(&bytes[..15]), None);
        assert_eq!(zstd.at(b"others"), None);
        assert!(lengths(&["bytes", "gzip"]).is_none() && lengths(&["bytes", "crc32c"]).is_none());
        let blosc = lengths(&["blosc"]).unwrap();
        let mut header = [2, 1, 0, 4, 8, 0, 0, 0, 8, 0, 0, 0, 17, 0, 0, 0].to_vec();
        assert_eq!(blosc.at(&header), None);
        header.extend([7; 5]);
        assert_eq!(blosc.at(&header), Some(17));
    }
}
