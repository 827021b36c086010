//! Tells from the bytes of an encoded inner chunk where it ends, where its codec lets one find that.

mod deflate;

use zarr_core::Json;
use zarr_core::codec::CodecSpec;

/// The codec that encodes an inner chunk last, and by whose format its end is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    /// One frame, whose blocks say how long they are (RFC 8878, 3.1.1).
    Zstd,
    /// A buffer, whose length is at byte 12.
    Blosc,
    /// One member: a header, a deflated stream, which says where it ends, and eight bytes (RFC 1952).
    Gzip,
    /// Two bytes, a deflated stream, and four bytes (RFC 1950).
    Zlib,
    /// The number of decoded bytes, and a block of sequences, which ends when they are complete.
    Lz4,
    /// A stream whose end is marked, at any bit.
    Bz2,
    /// A stream of xz, with a footer.
    Xz,
    /// The number of elements, then each with its length.
    VarLength,
}

/// How long an encoded inner chunk is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    frame: Frame,
    /// Bytes of checksums before and behind the frame.
    before: u64,
    behind: u64,
}

impl Lengths {
    /// The lengths of inner chunks with these codecs; `None` if the end of what the last of them writes cannot be found.
    pub fn of(codecs: &[CodecSpec]) -> Option<Lengths> {
        let (mut before, mut behind) = (0, 0);
        for spec in codecs.iter().rev() {
            let member = |name: &str| spec.configuration.get(name);
            let name = spec.name.strip_prefix("numcodecs.").unwrap_or(&spec.name);
            let frame = match name {
                "crc32c" | "fletcher32" | "jenkins_lookup3" | "crc32" | "adler32" => {
                    let is_first = matches!(name, "crc32" | "adler32");
                    let place = member("location").and_then(Json::as_str);
                    let sum = match place.unwrap_or(if is_first { "start" } else { "end" }) {
                        "start" => &mut before,
                        _ => &mut behind,
                    };
                    *sum += 4;
                    continue;
                }
                "zstd" => Frame::Zstd,
                "blosc" => Frame::Blosc,
                "gzip" => Frame::Gzip,
                "zlib" => Frame::Zlib,
                "lz4" => Frame::Lz4,
                "bz2" => Frame::Bz2,
                "lzma" if member("format").and_then(Json::as_u64).unwrap_or(1) == 1 => Frame::Xz,
                "vlen-utf8" | "vlen-bytes" => Frame::VarLength,
                _ => return None,
            };
            return Some(Lengths { frame, before, behind });
        }
        None
    }

    /// The length of the inner chunk with which these bytes begin; `None` if they begin with none, or end before it does.
    pub fn at(&self, bytes: &[u8]) -> Option<u64> {
        let bytes = bytes.get(self.before as usize..)?;
        let frame = match self.frame {
            Frame::Zstd => zstd(bytes)?,
            Frame::Blosc => u64::from(u32::from_le_bytes(*bytes.get(12..)?.first_chunk()?)),
            Frame::Gzip => gzip(bytes)?,
            Frame::Zlib => zlib(bytes)?,
            Frame::Lz4 => lz4(bytes)?,
            Frame::Bz2 => bz2(bytes)?,
            Frame::Xz => xz(bytes)?,
            Frame::VarLength => variable(bytes)?,
        };
        let length = frame.checked_add(self.behind)?;
        (frame > 0 && length <= bytes.len() as u64).then_some(length + self.before)
    }
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize)
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

/// The bytes of a member of gzip.
fn gzip(bytes: &[u8]) -> Option<u64> {
    let [0x1f, 0x8b, 8, flags, ..] = *bytes else { return None };
    let mut at = 10;
    if flags & 4 != 0 {
        at += 2 + usize::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    }
    // A name, and a comment, each with a zero behind it.
    for flag in [8, 16] {
        if flags & flag != 0 {
            at += 1 + bytes.get(at..)?.iter().position(|&byte| byte == 0)?;
        }
    }
    at += if flags & 2 != 0 { 2 } else { 0 };
    Some((at + deflate::length(bytes.get(at..)?)? + 8) as u64)
}

/// The bytes of a stream of zlib.
fn zlib(bytes: &[u8]) -> Option<u64> {
    let [method, flags, ..] = *bytes else { return None };
    let is_header = method & 15 == 8 && (u16::from(method) << 8 | u16::from(flags)) % 31 == 0;
    let has_dictionary = flags & 0x20 != 0;
    (is_header && !has_dictionary).then_some(())?;
    Some((2 + deflate::length(&bytes[2..])? + 4) as u64)
}

/// The bytes of numcodecs' lz4: the number of decoded bytes, and a block.
fn lz4(bytes: &[u8]) -> Option<u64> {
    let (size, mut made, mut at) = (number(bytes, 0)?, 0usize, 4);
    loop {
        let token = usize::from(*bytes.get(at)?);
        at += 1;
        let literals = lz4_length(bytes, &mut at, token >> 4)?;
        at = at.checked_add(literals)?;
        made = made.checked_add(literals)?;
        // The last sequence has no match.
        if made >= size {
            return (made == size).then_some(at as u64);
        }
        at = at.checked_add(2)?;
        made = made.checked_add(lz4_length(bytes, &mut at, token & 15)?.checked_add(4)?)?;
    }
}

/// A length in LZ4: one of 15 and more goes on in further bytes.
fn lz4_length(bytes: &[u8], at: &mut usize, mut length: usize) -> Option<usize> {
    let mut more = if length == 15 { 255 } else { 0 };
    while more == 255 {
        more = *bytes.get(*at)?;
        *at += 1;
        length = length.checked_add(usize::from(more))?;
    }
    Some(length)
}

/// The bytes of a stream of bzip2: its end is marked by 48 bits, behind which is a checksum of 32.
fn bz2(bytes: &[u8]) -> Option<u64> {
    const END: u64 = 0x1772_4538_5090;
    if bytes.get(..3)? != b"BZh" {
        return None;
    }
    let (mut seen, mut bits) = (0u64, 0usize);
    for &byte in bytes.get(4..)? {
        for bit in (0..8).rev() {
            seen = seen << 1 | u64::from(byte >> bit & 1);
            bits += 1;
            if bits >= 48 && seen & 0xffff_ffff_ffff == END {
                return Some(4 + (bits + 32).div_ceil(8) as u64);
            }
        }
    }
    None
}

/// The bytes of a stream of xz: its footer has the flags of its header, and is a multiple of four bytes behind it.
fn xz(bytes: &[u8]) -> Option<u64> {
    let flags = bytes.strip_prefix(b"\xfd7zXZ\0")?.get(..2)?;
    (20..bytes.len())
        .step_by(4)
        .find(|at| {
            let footer = bytes.get(*at..*at + 4);
            // The size of the index in front, in multiples of four.
            let size = number(bytes, at - 4).and_then(|size| size.checked_add(1)?.checked_mul(4));
            let index = size.and_then(|size| at.checked_sub(8)?.checked_sub(size));
            let begins = index.filter(|&index| index >= 12).and_then(|index| bytes.get(index));
            footer == Some(&[flags[0], flags[1], b'Y', b'Z'][..]) && begins == Some(&0)
        })
        .map(|at| at as u64 + 4)
}

/// The bytes of elements of variable length.
fn variable(bytes: &[u8]) -> Option<u64> {
    let (count, mut at) = (number(bytes, 0)?, 4usize);
    for _ in 0..count {
        at = at.checked_add(4)?.checked_add(number(bytes, at)?)?;
    }
    Some(at as u64)
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

    fn hex(text: &str) -> Vec<u8> {
        let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(byte).collect()
    }

    /// The length is found whatever follows, and not if a byte is missing.
    fn check(name: &str, sound: &[u8]) {
        let lengths = lengths(&[name]).unwrap();
        let length = Some(sound.len() as u64);
        assert_eq!(lengths.at(sound), length, "{name}");
        for behind in [&b"others"[..], sound, &[0; 40], &[0xff; 40]] {
            assert_eq!(lengths.at(&[sound, behind].concat()), length, "{name}");
        }
        for cut in 0..sound.len() {
            assert_eq!(lengths.at(&sound[..cut]), None, "{name}: {cut}");
        }
        assert_eq!(lengths.at(&[b"others", sound].concat()), None, "{name}");
    }

    #[test]
    fn frames_say_how_long_they_are() {
        // `zstd -c` of "abc", with its checksum.
        let short = b"\x28\xb5\x2f\xfd\x24\x03\x19\x00\x00abc\x4d\xbe\x71\x26";
        check("zstd", short);
        let checked = lengths(&["zstd", "crc32c"]).unwrap();
        assert_eq!(checked.at(&[&short[..], b"others"].concat()), Some(20));
        assert_eq!(
            lengths(&["zstd", "numcodecs.crc32"]).unwrap().at(&[b"1234", &short[..]].concat()),
            Some(20)
        );
        assert!(lengths(&["bytes", "pcodec"]).is_none() && lengths(&["bytes", "crc32c"]).is_none());
        let mut blosc = [2, 1, 0, 4, 8, 0, 0, 0, 8, 0, 0, 0, 17, 0, 0, 0].to_vec();
        assert_eq!(lengths(&["blosc"]).unwrap().at(&blosc), None);
        blosc.push(7);
        assert_eq!(lengths(&["blosc"]).unwrap().at(&[&blosc[..], b"abc"].concat()), Some(17));
        check("vlen-utf8", b"\x02\0\0\0\x01\0\0\0a\0\0\0\0");
    }

    /// What Python's modules and numcodecs 0.16 made of texts, squares and zeros.
    #[test]
    fn streams_end_where_others_end_them() {
        check(
            "gzip",
            &hex(
                "1f8b0800000000000203636064e11490543174084ca99cb0f2c8435635cfbca9fb5e4a7b55af7b2c1f31f98248e88cbb9a457bf9e3d6b3c76c16cc39a9dbf731fa90c16cde9a\
             b7a9b7c2cefb9f09b818792feb73b3e812abb3e9cc736c6ed62a1f2b90395aaa7eadc7e5e7d662e30f5baa9c782e2f2c74167f716056598889d8d7db87d7ce6c2fcf8c0df676\
             75b4b77774f50e8ecd2c6f9fb9f6f0edaf62262165b30ebc10772e5c7899c7a96acb07e3e2ad3f5d7aaea9971e952938a65c7bd3660e73fa59ab25a2cd9fb3ee455e0c38e37f\
             3eec56eadb1aded90687a23ff6e99ecc11dc1cc3be3e8e7f6f91e6dd19a122172647c83f5e57ed25fd72dfd43c4f35d68747564ea84c097430549114e064616418f5faa8d747\
             8ad7012b71355ee8030000",
            ),
        );
        check(
            "numcodecs.gzip",
            &hex("1f8b08080000000004ff61206e616d65004b4c4a4e84a21418032882c20600b97946dc24000000"),
        );
        check("gzip", &hex("1f8b080000000000020303000000000000000000"));
        check(
            "gzip",
            &hex(
                "1f8b0800000000000403012800d7ff00010409101924314051647990a9c4e10526496e95bee91b4a7baee31f5893d0145598dd2972bd0f01139ad328000000",
            ),
        );
        check("numcodecs.zlib", &hex("78014b4c4a4e84a21418032882c20600ff270dcc"));
        check("numcodecs.zlib", &hex("789cedc13101000000c2a0f54f6d0d0fa000008077030bb80001"));
        check(
            "numcodecs.lz4",
            &hex("7c0200001f000100ffff4634616263030014640900070c00506263616264"),
        );
        check("numcodecs.lz4", &hex("0300000030616263"));
        check(
            "numcodecs.bz2",
            &hex(
                "425a6831314159265359fdc10a8a00000101003c00200030cd341147a4c87830385dc914e14243f7042a28",
            ),
        );
        check(
            "numcodecs.bz2",
            &hex(
                "425a6831314159265359b5391e880000007fffeea6e62c8da268145430e36d06955a3e08054a4c04218e031726e13328226820200074380000001a0000000003401a0326353d\
             4f53d4f287034d341a06834d1a000d32064032190341a01903d2680368636f5a83999b6bdd6ae584be05d2221e302bce7a2a285e84caa7dfb1d540679f8516830062d202c3ec\
             5cc26e2193f6af472076ed668123cf21402487d7b051413fa045308fe148520ca52ff177245385090b5391e880",
            ),
        );
        check(
            "numcodecs.lzma",
            &hex(
                "fd377a585a000004e6d6b4460200210116000000742fe5a3e00023000c5d00309888a750d1fbe4339e94000090e559e7163b65650001282450ffd8411fb6f37d010000000004\
             595a",
            ),
        );
        check(
            "numcodecs.lzma",
            &hex(
                "fd377a585a0000016922de360200210116000000742fe5a301005900010409101924314051647990a9c4e10526496e95bee91b4a7baee31f5893d0145598dd2972bd0f5eaf07\
             5cb3116cc92d8ef15bc2309b0d7ced65da56cf4fcc50d159de6af38315a43acd67039c3cd97d23c6701cc57527d68c000000dc56421600016e5ae84b46509042990d01000000\
             0001595a",
            ),
        );
    }
}
