//! Makes new inputs of old ones: bits, bytes, lengths, splices, words, and values of JSON.

use crate::Kind;

/// Bytes of an input; longer ones are not made.
pub const LONGEST: usize = 1 << 15;

/// Words that decide something in one of the formats, and values at the edges of what is allowed.
const WORDS: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "1.5",
    "1e400",
    "-0.0",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999999999999999999999",
    "\"\"",
    "\"x\"",
    "\"\\u0000\"",
    "\"/\"",
    "\"../..\"",
    "\"NaN\"",
    "\"Infinity\"",
    "\"-Infinity\"",
    "NaN",
    "Infinity",
    "\"0x7fc00001\"",
    "[]",
    "[0]",
    "[1,1]",
    "[0,0]",
    "[4294967296,4294967296]",
    "[18446744073709551615,18446744073709551615]",
    "[[[[[]]]]]",
    "{}",
    "\"r0\"",
    "\"r24\"",
    "\"|V99999999999\"",
    "\"<U4294967295\"",
    "\"<M8[18446744073709551615s]\"",
    "\"bool\"",
    "\"int4\"",
    "\"uint8\"",
    "\"int64\"",
    "\"float16\"",
    "\"complex128\"",
    "\"string\"",
    "\"variable_length_bytes\"",
    "\"|O\"",
    "\"|b1\"",
    "\"<f8\"",
    "\">i2\"",
    "\"|S3\"",
    "\"<U2\"",
    "[[\"a\",\"<f4\",[2]],[\"b\",\"|S3\"]]",
    "{\"name\":\"struct\",\"configuration\":{\"fields\":[{\"name\":\"a\",\"data_type\":\"float32\"}]}}",
    "{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":4294967292}}",
    "{\"name\":\"null_terminated_bytes\",\"configuration\":{\"length_bytes\":3}}",
    "{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"ns\",\"scale_factor\":7}}",
    "{\"name\":\"zarrs.optional\",\"configuration\":{\"name\":\"uint8\",\"configuration\":{}}}",
    "{\"name\":\"rectilinear\",\"configuration\":{\"kind\":\"inline\",\"chunk_shapes\":[[1,[2,2]],[3]]}}",
    "{\"name\":\"rectilinear\",\"configuration\":{\"kind\":\"inline\",\"chunk_shapes\":[[[1,18446744073709551615]],1]}}",
    "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[18446744073709551615,2]}}",
    "[\"bytes\"]",
    "[\"bytes\",\"crc32c\"]",
    "[\"vlen-utf8\"]",
    "[\"packbits\"]",
    "[{\"name\":\"reshape\",\"configuration\":{\"shape\":[-1]}},\"bytes\"]",
    "[{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0]}},{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}]",
    "[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[1,1],\"codecs\":[\"bytes\"],\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}},\"crc32c\"]}}]",
    "{\"id\":\"blosc\",\"blocksize\":18446744073709551615}",
    "{\"id\":\"zlib\",\"level\":-9223372036854775808}",
    "\"must_understand\":false",
    "\"storage_transformers\":[]",
    "\"dimension_names\":[\"a\",null]",
    "\"order\":\"F\"",
    "\"dimension_separator\":\"/\"",
    "\"_ARRAY_DIMENSIONS\":[\"x\"]",
    "\"_nczarr_array\":{\"dimension_references\":[\"/x\"]}",
    "\"_nczarr_group\":{\"dimensions\":{\"x\":2},\"arrays\":[\"a\"],\"groups\":[\"g\"]}",
    "\"_nczarr_superblock\":{\"version\":\"2.0.0\"}",
    "\"consolidated_metadata\":{\"kind\":\"inline\",\"must_understand\":false,\"metadata\":{}}",
    "\"_FillValue\":7",
    "=== a/zarr.json\n",
    "=== a/.zarray\n",
    "=== .zattrs\n",
    "=== c/0/0\n",
    "=== 0.0\n",
    "zarr.json",
    ".zgroup",
    ".zarray",
    ".zmetadata",
    "meta/root/a.array.json",
    "meta/root/a.group",
    "data/root/a/c0",
    "c/0/0",
    "..",
    ".",
    "//",
    "__x",
    ".zarr-copy/",
    ".zarr-quarantine/",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ";",
    ",",
    ":",
    "=",
    "\"",
    "'",
    "\\",
    "/",
    "/*",
    "*/",
    "\n",
    "\r\n",
    "\u{feff}",
    "\u{0}",
    "é",
    "😀",
    "UNLIMITED",
    "group: g {",
    "data:",
    "types:",
    "variables:",
    "dimensions:",
    "netcdf x {",
    "x = 9223372036854775807 ;",
    "\\%0",
    "\\x",
    "\\777",
    "0x",
    "string",
    "char",
    "1e999",
    "_",
    "...",
    "::-1",
    "[1,5,9]",
    "-1:",
    "0:4",
    "PK\u{3}\u{4}",
    "PK\u{1}\u{2}",
    "PK\u{5}\u{6}",
    "PK\u{6}\u{6}",
    "PK\u{6}\u{7}",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 206 Partial Content\r\n",
    "HTTP/1.1 302 Found\r\n",
    "HTTP/1.1 404 Not Found\r\n",
    "HTTP/1.1 500 Broken\r\n",
    "Content-Length: 3\r\n",
    "Content-Length: 18446744073709551615\r\n",
    "Content-Range: bytes 2-4/10\r\n",
    "Content-Range: bytes 6-9/10\r\n",
    "Content-Range: bytes 2-18446744073709551615/*\r\n",
    "Transfer-Encoding: chunked\r\n",
    "ETag: \"1\"\r\n",
    "Last-Modified: Mon, 05 Jan 2026 00:00:00 GMT\r\n",
    "Location: file:///etc/passwd\r\n",
    "<IsTruncated>true</IsTruncated>",
    "<Contents><Key>a</Key><Size>1</Size><LastModified>2026-01-05T00:00:00.000Z</LastModified></Contents>",
    "<ListBucketResult>",
    "s3://",
    "gs://",
    "az://",
    "abfss://",
    "https://",
    "http://",
    "file:///",
    "zip::",
    "%2e%2e",
    "%00",
    "#mode=nczarr,zip",
    "?x=",
    "user:pw@",
    "aws_secret_access_key=",
    "token=",
    "endpoint=",
    "region=",
    "allow_http=true",
    "NaT",
    "2020-12-31T23:59:59",
    "1.0-2.0j",
    "\u{93}NUMPY",
    "{'descr': '<i2', 'fortran_order': True, 'shape': (3, 2), }",
];

/// Numbers at the edges of what fits into bytes.
const EDGES: &[u64] = &[
    0,
    1,
    2,
    7,
    8,
    127,
    128,
    255,
    256,
    1000,
    32767,
    32768,
    65535,
    65536,
    1 << 24,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    1 << 40,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// Numbers that look random and are the same in every run with the same seed (xorshift64*).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of this seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.number();
        random
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`; 0 if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.number() >> 16) as usize % end }
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// A new input, of one of `others`.
pub fn mutated(kind: Kind, others: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = if others.is_empty() { Vec::new() } else { random.pick(others).clone() };
    // Few changes find most: the rest of the input is still what it was.
    let changes = 1 + [0, 0, 1, 2, 4, 8][random.below(6)];
    for _ in 0..changes {
        change(kind, &mut input, others, random);
    }
    input.truncate(LONGEST);
    input
}

fn change(kind: Kind, input: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    let structured = if kind == Kind::Json { 6 } else { 0 };
    let worded = if kind == Kind::Binary { 1 } else { 4 };
    let choice = random.below(10 + structured + worded);
    let at = random.below(input.len() + 1);
    match choice {
        0 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << (random.number() % 8);
            }
        }
        1 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = random.number() as u8;
            }
        }
        2 => input.insert(at, random.number() as u8),
        3 => input.truncate(at),
        4 => {
            let end = (at + 1 + random.below(16)).min(input.len());
            drop(input.drain(at.min(end)..end));
        }
        5 => field(input, at, random),
        6 => splice(input, others, random),
        7 => {
            // A piece twice.
            let end = (at + 1 + random.below(32)).min(input.len());
            let piece = input[at.min(end)..end].to_vec();
            let to = random.below(input.len() + 1);
            drop(input.splice(to..to, piece));
        }
        8 => digits(input, random),
        9 => {
            // A run of one byte.
            let byte = *random.pick(&[0, 255, b' ', b'[', b'9', b'(', b'\n']);
            let count = 1 << random.below(9);
            drop(input.splice(at..at, std::iter::repeat_n(byte, count)));
        }
        choice if choice < 10 + worded => {
            let word = random.pick(WORDS).bytes();
            let len = if random.below(2) == 0 { 0 } else { random.below(12) };
            let end = (at + len).min(input.len());
            drop(input.splice(at..end, word));
        }
        _ => json(input, random),
    }
}

/// Another number where a field of one, two, four or eight bytes may be.
fn field(input: &mut [u8], at: usize, random: &mut Random) {
    let size = *random.pick(&[1, 2, 4, 8]);
    let Some(field) = input.get_mut(at..at + size) else { return };
    let edge = *random.pick(EDGES);
    let near = random.below(5) as u64;
    let number = match random.below(3) {
        0 => edge,
        1 => edge.wrapping_add(near),
        _ => {
            let mut bytes = [0; 8];
            bytes[..size].copy_from_slice(field);
            u64::from_le_bytes(bytes).wrapping_add(near).wrapping_sub(2)
        }
    };
    let bytes = number.to_le_bytes();
    field.copy_from_slice(&bytes[..size]);
    if random.below(4) == 0 {
        field.reverse();
    }
}

/// The beginning of one input, and the end of another.
fn splice(input: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    if others.is_empty() {
        return;
    }
    let other = random.pick(others);
    let (at, from) = (random.below(input.len() + 1), random.below(other.len() + 1));
    if random.below(2) == 0 {
        input.truncate(at);
        input.extend_from_slice(&other[from..]);
    } else {
        let end = (from + random.below(64)).min(other.len());
        drop(input.splice(at..at, other[from..end].iter().copied()));
    }
}

/// Another number in place of one in decimal digits.
fn digits(input: &mut Vec<u8>, random: &mut Random) {
    let starts: Vec<usize> = (0..input.len())
        .filter(|&at| input[at].is_ascii_digit() && (at == 0 || !input[at - 1].is_ascii_digit()))
        .collect();
    if starts.is_empty() {
        return;
    }
    let start = *random.pick(&starts);
    let len = input[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = match random.below(3) {
        0 => random.pick(EDGES).to_string(),
        1 => random.below(10).to_string(),
        _ => format!("-{}", random.below(1000)),
    };
    drop(input.splice(start..start + len, number.bytes()));
}

/// Another value in place of one, a value twice, or one less.
fn json(input: &mut Vec<u8>, random: &mut Random) {
    let spans = values(input);
    if spans.is_empty() {
        return;
    }
    let (start, end) = *random.pick(&spans);
    let value: Vec<u8> = match random.below(8) {
        0..4 => random.pick(WORDS).bytes().collect(),
        4 => {
            let (start, end) = *random.pick(&spans);
            input[start..end].to_vec()
        }
        5 => [&input[start..end], b",", &input[start..end]].concat(),
        6 => Vec::new(),
        _ => {
            let depth = 1 << random.below(9);
            [&b"[".repeat(depth), &input[start..end], &b"]".repeat(depth)].concat()
        }
    };
    drop(input.splice(start..end, value));
}

/// Where values of JSON are, names of members among them.
fn values(text: &[u8]) -> Vec<(usize, usize)> {
    let (mut spans, mut open, mut at) = (Vec::new(), Vec::new(), 0);
    while at < text.len() {
        let start = at;
        match text[at] {
            b'{' | b'[' => open.push(at),
            b'}' | b']' => spans.extend(open.pop().map(|start| (start, at + 1))),
            b'"' => {
                at += 1;
                while text.get(at).is_some_and(|&byte| byte != b'"') {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                spans.push((start, (at + 1).min(text.len())));
            }
            byte if byte.is_ascii_alphanumeric() || byte == b'-' => {
                while text.get(at + 1).is_some_and(|byte| !b",]} \n\t\r:".contains(byte)) {
                    at += 1;
                }
                spans.push((start, at + 1));
            }
            _ => {}
        }
        at += 1;
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_makes_the_same_inputs() {
        let seeds = [br#"{"a":[1,2,"x"]}"#.to_vec(), b"=== b\n{}".to_vec()];
        let inputs = |seed| {
            let mut random = Random::new(seed);
            (0..2000).map(|_| mutated(Kind::Json, &seeds, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
        let found = inputs(1).into_iter().collect::<std::collections::BTreeSet<_>>();
        assert!(found.len() > 1500, "{} of 2000 differ", found.len());
    }

    #[test]
    fn values_of_json_are_found() {
        let text = br#"{"a":[1,"x\""],"b":{}}"#;
        let found: Vec<&[u8]> =
            values(text).into_iter().map(|(start, end)| &text[start..end]).collect();
        for value in ["1", r#""x\"""#, r#"[1,"x\""]"#, "{}", r#""a""#] {
            assert!(found.contains(&value.as_bytes()), "{value}");
        }
    }
}
