//! How much memory hostile documents and chunks take.
//!
//! The peak of a process never falls, so each case opens its store in a child process: this test program again.
#![cfg(all(target_os = "linux", feature = "filesystem"))]

use std::env;
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use tempfile::tempdir;
use zarr_testkit::{peak_memory, sample, test_command};

const STORE: &str = "ZARR_TEST_HOSTILE_STORE";

const DECODED: &str = "ZARR_TEST_HOSTILE_DECODED";

/// Opens a store and reads its first element.
fn open_and_read(url: &str, options: &zarr::OpenOptions) -> zarr::Result<()> {
    match zarr::open_with(url, options)? {
        zarr::Node::Array(array) => {
            // Of chunks in a row the first element of each, of others that of the first chunk.
            let step = array.metadata().chunk_shape().filter(|shape| shape.len() == 1);
            match step {
                Some(step) => array.read_bytes(zarr::steps(.., step[0] as i64)).map(|_| ()),
                None => {
                    let shape = array.shape();
                    let first = zarr::Region::new(shape.iter().map(|&len| 0..len.min(1)));
                    array.read_bytes(&first).map(|_| ())
                }
            }
        }
        zarr::Node::Group(group) => group.children().map(|_| ()),
    }
}

/// The child's part: opens the store that the parent names, reads its first element and tells the growth.
#[test]
fn child() {
    let Some(url) = env::var_os(STORE) else { return };
    let mut options = zarr::OpenOptions::new(zarr::standard()).threads(8);
    if let Ok(decoded) = env::var(DECODED) {
        options.options.limits.decoded = decoded.parse().unwrap();
    }
    // The peak counts the program's own code, which is read from its file when it first runs: it runs before the peak is noted.
    let small = tempdir().unwrap();
    fs::write(small.path().join("zarr.json"), array(r#"[{"name":"bytes"}]"#, "{}")).unwrap();
    open_and_read(small.path().to_str().unwrap(), &options).unwrap();
    let before = peak_memory().expect("Linux tells");
    let outcome = open_and_read(url.to_str().unwrap(), &options);
    let text = outcome.map_or_else(|error| error.to_string(), |()| "opened".into());
    println!("grown {} {}", peak_memory().expect("Linux tells") - before, text.replace('\n', " "));
}

/// By how many bytes the peak grew when a store of these documents was opened, and what came of it.
fn opened(documents: &[(&str, &str)]) -> (usize, String) {
    let folder = tempdir().unwrap();
    for (name, text) in documents {
        fs::write(folder.path().join(name), text).unwrap();
    }
    grown(folder.path(), None)
}

fn grown(store: &Path, decoded: Option<usize>) -> (usize, String) {
    let mut child = test_command(module_path!(), "child");
    child.env(STORE, store);
    decoded.map(|decoded| child.env(DECODED, decoded.to_string()));
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = text.lines().find_map(|line| line.split_once("grown ")).map(|(_, told)| told);
    let (grown, outcome) = told.and_then(|told| told.split_once(' ')).unwrap_or_else(|| {
        panic!("the child ended with {}: {text}", output.status);
    });
    (grown.parse().unwrap(), outcome.into())
}

const ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint8","chunk_grid":{"name":"regular",
    "configuration":{"chunk_shape":[4]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":CODECS,
    "attributes":ATTRIBUTES}"#;

fn array(codecs: &str, attributes: &str) -> String {
    ARRAY.replace("CODECS", codecs).replace("ATTRIBUTES", attributes)
}

/// A list of values that together have about four million bytes.
fn list(value: &str) -> String {
    let count = (4 << 20) / (value.len() + 1);
    format!("[{}]", vec![value; count].join(","))
}

/// Whatever its shape, JSON takes at most so many times its size, and that once.
const TIMES: usize = 28;

/// A document of 40 MB took 4 GB.
#[test]
fn documents_take_a_small_multiple_of_their_size() {
    let members: Vec<String> = (0..400_000).map(|n| format!("\"{n}\":0")).collect();
    let shapes = [
        ("zeros", format!(r#"{{"a":{}}}"#, list("0"))),
        ("floats", format!(r#"{{"a":{}}}"#, list("0.123456789"))),
        ("texts", format!(r#"{{"a":{}}}"#, list("\"\""))),
        ("one text", format!(r#"{{"a":"{}"}}"#, "x".repeat(4 << 20))),
        ("lists", format!(r#"{{"a":{}}}"#, list("[]"))),
        ("lists of one", format!(r#"{{"a":{}}}"#, list("[0]"))),
        ("objects", format!(r#"{{"a":{}}}"#, list(r#"{"":0}"#))),
        ("members", format!("{{{}}}", members.join(","))),
        ("a deep list", format!("{}{}{}", r#"{"a":"#.repeat(100), list("0"), "}".repeat(100))),
        ("NaNs", format!(r#"{{"a":{}}}"#, list("NaN"))),
    ];
    let group = |attributes: &str| {
        format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{attributes}}}"#)
    };
    let bytes = r#"[{"name":"bytes"}]"#;
    for (n, (what, attributes)) in shapes.iter().enumerate() {
        let v2 = r#"{"zarr_format":2,"shape":[4],"chunks":[4],"dtype":"|u1","compressor":null,"fill_value":0,
            "order":"C","filters":null}"#;
        let stores = [
            vec![("zarr.json", array(bytes, attributes))],
            vec![("zarr.json", group(attributes))],
            vec![(".zarray", v2.to_owned()), (".zattrs", attributes.clone())],
        ];
        // One kind of document for each shape, or all.
        for documents in stores.into_iter().skip(sample(n % 3, 0)).step_by(sample(3, 1)) {
            let documents: Vec<_> = documents.iter().map(|(n, text)| (*n, text.as_str())).collect();
            let (grown, outcome) = opened(&documents);
            assert_eq!(outcome, "opened", "{what}");
            let size = attributes.len();
            assert!(grown < TIMES * size + (8 << 20), "{what}: {} MiB of {size}", grown >> 20);
        }
    }
}

/// Rank times codecs, rank times rank, and lists that are no attributes. Each is refused, or opens, at a small
/// multiple of its size, and is told in few words.
#[test]
fn hostile_members_take_a_small_multiple_of_their_size() {
    let axes = |rank: usize| format!("[{}]", vec!["1"; rank].join(","));
    let of_rank = |rank: usize, codecs: &str| {
        array(codecs, "{}")
            .replace("\"shape\":[4]", &format!("\"shape\":{}", axes(rank)))
            .replace("\"chunk_shape\":[4]", &format!("\"chunk_shape\":{}", axes(rank)))
    };
    let bytes = r#"[{"name":"bytes"}]"#;
    let plain = array(bytes, "{}");
    let many = |codec: &str| {
        let count = (4 << 20) / codec.len();
        format!("[{}{bytes}]", format!("{codec},").repeat(count))
            .replace(",[{", ",{")
            .replace("}]]", "}]")
    };
    let scale = r#"{"name":"scale_offset","configuration":{"scale":1,"offset":0}}"#;
    let reshape = format!(
        r#"[{{"name":"reshape","configuration":{{"shape":[{}4]}}}},{}{{"name":"bytes"}}]"#,
        "1,".repeat(1 << 20),
        format!("{scale},").repeat(100)
    );
    let runs: Vec<String> = (1..600_000).map(|n| n.to_string()).collect();
    let runs = format!(
        r#"{{"name":"rectilinear","configuration":{{"kind":"inline","chunk_shapes":[[{}]]}}}}"#,
        runs.join(",")
    );
    let regular = "{\"name\":\"regular\",\n    \"configuration\":{\"chunk_shape\":[4]}}";
    let configured = format!(r#"[{{"name":"bytes","configuration":{{"x":{}}}}}]"#, list("0"));
    let fields: Vec<String> =
        (0..100_000).map(|n| format!(r#"{{"name":"f{n}","data_type":"uint8"}}"#)).collect();
    let record =
        format!(r#"{{"name":"struct","configuration":{{"fields":[{}]}}}}"#, fields.join(","));
    let documents = [
        ("a rank of 120,000", of_rank(120_000, bytes)),
        ("many codecs", array(&many(r#"{"name":"crc32c"}"#), "{}")),
        ("many codecs of a high rank", of_rank(1024, &many(scale))),
        ("many axes made of few", array(&reshape, "{}")),
        ("many runs of chunks", plain.replace(regular, &runs)),
        ("a codec's parameter", array(&configured, "{}")),
        (
            "a fill value",
            plain.replace("\"fill_value\":0", &format!("\"fill_value\":{}", list("0"))),
        ),
        ("a type", plain.replace("\"uint8\"", &format!(r#"{{"name":"{}"}}"#, "x".repeat(4 << 20)))),
        ("many fields", plain.replace("\"uint8\"", &record)),
        (
            "a member that must be understood",
            plain.replacen('{', &format!("{{\"x\":{},", list("0")), 1),
        ),
        (
            "names of dimensions",
            plain.replacen('{', &format!("{{\"dimension_names\":{},", list("null")), 1),
        ),
        (
            "a name that stands twice",
            plain.replacen('{', &format!("{{\"{0}\":1,\"{0}\":2,", "x".repeat(1 << 20)), 1),
        ),
    ];
    // Every other document, or all.
    for (what, document) in documents.iter().step_by(sample(2, 1)) {
        let (grown, outcome) = opened(&[("zarr.json", document)]);
        let size = document.len();
        // What a codec's parameters hold, it reads from a copy.
        assert!(grown < 2 * TIMES * size + (8 << 20), "{what}: {} MiB of {size}", grown >> 20);
        assert!(outcome.len() < 2200, "{what}: {outcome}");
    }
}

/// The bound holds for the process, not for each thread. One element of each of eight chunks is read, which
/// takes whole chunks, by eight threads.
#[test]
#[cfg(all(feature = "gzip", feature = "rayon"))]
fn decoded_chunks_share_one_limit() {
    const CHUNK: usize = 72 << 20;
    let folder = tempdir().unwrap();
    let hierarchy = zarr::create(folder.path().to_str().unwrap(), zarr::Dialect::V3).unwrap();
    let builder = hierarchy.create_array("/a").shape(&[8 * CHUNK as u64]);
    let builder = builder.chunks(&[CHUNK as u64]).data_type_named("uint8");
    let array = builder.codec(zarr::tools::codec("gzip:1").unwrap()).create().unwrap();
    array.write(0..CHUNK as u64, &vec![1u8; CHUNK]).unwrap();
    let chunks = folder.path().join("a/c");
    for n in 1..8 {
        fs::copy(chunks.join("0"), chunks.join(n.to_string())).unwrap();
    }
    let store = folder.path().join("a");
    let (limited, outcome) = grown(&store, Some(CHUNK * 3 / 2));
    assert_eq!(outcome, "opened");
    assert!(limited < 3 * CHUNK, "{} MiB", limited >> 20);
    let (free, _) = grown(&store, Some(usize::MAX));
    assert!(free > 3 * CHUNK, "{} MiB: nothing was to be limited", free >> 20);
    let (_, outcome) = grown(&store, Some(CHUNK - 1));
    assert!(
        outcome.contains("more than the limit of") && outcome.contains("Limits::decoded"),
        "{outcome}"
    );
}

/// An inner chunk takes no more memory than its elements justify, and neither does an index, whatever the
/// index or the document says and however large the file is. The files have holes and take no room.
#[test]
fn hostile_shards_take_no_more_than_their_elements_justify() {
    const GIB: u64 = 1 << 30;
    let sharding = |shape: &str, codec: &str| {
        format!(
            r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":{shape},"codecs":{codec},"index_codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}]}}}}]"#
        )
    };
    let bytes = r#"[{"name":"bytes"}]"#;
    let shard = sharding("[1]", bytes);
    let inner_chunk =
        "inner chunk [0] is said to have 1073741824 bytes, more than the limit of 67108864";
    let cases = [
        ("inner chunks", sharding("[1]", bytes), 4, inner_chunk),
        ("shards in shards", sharding("[1]", &shard), 4, inner_chunk),
        (
            "an index",
            sharding("[1]", bytes),
            GIB,
            "sharding_indexed: decodes to more than the limit",
        ),
        (
            "an index of shards",
            sharding("[1]", &shard),
            GIB,
            "sharding_indexed: decodes to more than the limit",
        ),
    ];
    for (what, codecs, length, says) in cases {
        let folder = tempdir().unwrap();
        let document = array(&codecs, "{}").replace("[4]", &format!("[{length}]"));
        fs::write(folder.path().join("zarr.json"), document).unwrap();
        fs::create_dir(folder.path().join("c")).unwrap();
        let path = folder.path().join("c/0");
        let mut index: Vec<u8> = [0, GIB].iter().flat_map(|n: &u64| n.to_le_bytes()).collect();
        index.resize(64, 255);
        let mut file = fs::File::create(&path).unwrap();
        // As long as the index of many inner chunks is.
        file.set_len(16 * GIB).unwrap();
        file.seek(SeekFrom::End(-64)).unwrap();
        file.write_all(&index).unwrap();
        let (grown, outcome) = grown(folder.path(), Some(512 << 20));
        assert!(outcome.contains(says), "{what}: {outcome}");
        assert!(grown < 80 << 20, "{what}: {} MiB", grown >> 20);
        if length == 4 {
            let url = folder.path().to_str().unwrap();
            let zarr::Node::Array(array) = zarr::open_rw(url).unwrap() else { panic!("an array") };
            // A write that keeps the inner chunk would copy it.
            let error = array.write(1..2, &[1u8]).unwrap_err().to_string();
            assert!(error.contains("more than the limit of 67108864"), "{what}: {error}");
        }
    }
}
