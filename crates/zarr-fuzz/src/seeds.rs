//! The inputs that fuzzers begin with, out of what others wrote and of what this library writes.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use crate::input::joined;
use crate::targets::chunk;
use crate::targets::codecs::{CODECS, SHARDS};

/// The most cases of one family that are taken.
const MOST_CASES: usize = 60;
/// The most bytes of one file.
const MOST_BYTES: usize = 1 << 13;

fn conformance() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs-conformance")
}

/// The stores of a family: the files of each, by key.
fn family(name: &str) -> Vec<BTreeMap<String, Vec<u8>>> {
    let path = conformance().join("families").join(format!("{name}.tar.gz"));
    let file = std::fs::File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    let mut stores: BTreeMap<String, BTreeMap<String, Vec<u8>>> = BTreeMap::new();
    for entry in archive.entries().expect("an archive of this repository") {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("a path").to_string_lossy().into_owned();
        let Some((case, key)) = path.trim_start_matches("./").split_once('/') else { continue };
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("a file");
        if entry.header().entry_type().is_file() && bytes.len() <= MOST_BYTES {
            stores.entry(case.to_owned()).or_default().insert(key.to_owned(), bytes);
        }
    }
    // Some of each kind: their names are sorted.
    let step = stores.len().div_ceil(MOST_CASES).max(1);
    stores.into_values().step_by(step).collect()
}

fn stores(families: &[&str]) -> Vec<Vec<u8>> {
    let stores = families.iter().flat_map(|name| family(name));
    stores
        .map(|files| {
            // Documents come first, so that the few chunks that follow do not push them out.
            let (documents, chunks): (Vec<_>, Vec<_>) =
                files.iter().partition(|(key, _)| is_document(key));
            let files = documents.into_iter().take(8).chain(chunks.into_iter().take(2));
            joined(files.map(|(key, value)| (key.as_str(), value.as_slice())))
        })
        .collect()
}

fn is_document(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or_default();
    name.ends_with(".json") || name.starts_with(".z") || name.starts_with(".nc")
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// The files of every family, one by one, whose key ends so.
fn files(families: &[&str], end: &str) -> Vec<Vec<u8>> {
    let stores = families.iter().flat_map(|name| family(name));
    stores.flatten().filter(|(key, _)| key.ends_with(end)).map(|(_, value)| value).collect()
}

const V3: &[&str] = &["v3-zarr-python", "v3-tensorstore", "v3-zarrs", "v3-zarrita-js", "malformed"];
const V2: &[&str] =
    &["v2-zarr-python-2", "v2-zarr-python-3", "v2-tensorstore", "v2-z5py", "malformed"];

/// The seeds of the target of this name.
pub fn of(name: &str) -> Vec<Vec<u8>> {
    match name {
        "v3" => stores(V3),
        "v2" => stores(V2),
        "draft" => stores(&["draft2020-gdal", "draft2020-zarr-python"]),
        "consolidated" => consolidated(),
        "nczarr" => stores(&["nczarr-v2", "v2-zarr-python-2"]),
        "json" => {
            [files(&["v3-zarrs", "malformed"], ".json"), files(&["nczarr-v2"], ".zattrs")].concat()
        }
        "data_type" => data_types(),
        "codec" => chunk::seeds(CODECS),
        "shard" => chunk::seeds(SHARDS),
        "chain" => chains(),
        "zip" => archives(),
        "cdl" => cdl(),
        "url" => texts(URLS),
        "selection" => (0..64u8)
            .map(|n| (0..24u8).map(|m| n.wrapping_mul(37).wrapping_add(m * 11)).collect())
            .collect(),
        "region" => {
            texts(&["0:4,2:7", "::-1,[0,5,1]", "...,-1", "1,1", "4:0:-3,:", "[],0", "0:0,::2"])
        }
        "elements" => elements(),
        "listing" => listings(),
        "http" => answers(),
        other => panic!("`{other}` has no seeds"),
    }
}

fn consolidated() -> Vec<Vec<u8>> {
    let families = ["v2-zarr-python-2", "v2-zarr-python-3", "nczarr-v2", "v3-zarr-python"];
    let mut seeds = files(&families[..3], ".zmetadata");
    let group = r#"{"zarr_format":3,"node_type":"group","attributes":{},"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{"a":DOCUMENT,"g/b":{"zarr_format":3,"node_type":"group"}}}}"#;
    for document in files(&families[3..], "arr/zarr.json").into_iter().take(20) {
        let copies = group.replace("DOCUMENT", &String::from_utf8_lossy(&document));
        let files = [("zarr.json", copies.as_bytes()), ("a/zarr.json", document.as_slice())];
        seeds.extend([copies.clone().into_bytes(), joined(files)]);
    }
    seeds
}

fn data_types() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (number, families) in [(0u8, V3), (1, V2)] {
        let member = if number == 0 { "data_type" } else { "dtype" };
        let documents = [files(families, "zarr.json"), files(families, ".zarray")].concat();
        for document in documents {
            let Ok(zarr::Json::Object(object)) = zarr::Json::parse(&document) else { continue };
            if let Some(value) = object.get(member) {
                seeds.push([&[number][..], value.to_string().as_bytes()].concat());
                seeds.push([&[2][..], value.to_string().as_bytes()].concat());
            }
        }
    }
    seeds
}

fn chains() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (case, chunk) in CODECS.iter().chain(SHARDS).zip(chunk::seeds(CODECS)) {
        seeds.push([case.codecs.as_bytes(), b"\n\"uint8\"\n", &chunk[1..]].concat());
        seeds.push([case.codecs.as_bytes(), b"\n\"int32\"\n", &chunk[1..]].concat());
    }
    seeds
}

fn archives() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut seeds = Vec::new();
    let document = CODECS[1].document();
    for (number, files) in [&[][..], &["zarr.json"], &["a/zarr.json", "a/c/0/0", "zarr.json", "b"]]
        .into_iter()
        .enumerate()
    {
        let path = folder.path().join(format!("{number}.zip"));
        let store = zarr::stores::ZipStore::open(&path).expect("a new archive");
        for file in files {
            let key = zarr::store::StoreKey::new(*file).expect("a key");
            zarr::store::SyncStore::set(&store, &key, document.clone().into_bytes().into())
                .expect("it is set");
        }
        zarr::store::SyncStore::flush(&store).expect("it is flushed");
        seeds.extend(std::fs::read(&path));
    }
    // What others wrote.
    let zips = ["v2-zarr-python-2", "v3-zarr-python", "malformed", "nczarr-v2"]
        .into_iter()
        .flat_map(family);
    seeds.extend(
        zips.flatten()
            .filter(|(key, value)| key.ends_with(".zip") || value.starts_with(b"PK"))
            .map(|(_, value)| value),
    );
    seeds
}

fn cdl() -> Vec<Vec<u8>> {
    let files = std::fs::read_dir(conformance().join("cdl")).expect("texts of this repository");
    let mut paths: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
    paths.sort();
    let texts = paths.iter().filter(|path| path.extension().is_some_and(|end| end == "cdl"));
    texts
        .filter_map(|path| std::fs::read(path).ok())
        .filter(|text| text.len() <= MOST_BYTES)
        .collect()
}

const URLS: &[&str] = &[
    "s3://bucket/prefix\nregion=us-east-1\nsecret_access_key=\nskip_signature=true",
    "https://host/data.zarr?sig=x#mode=nczarr,zip",
    "abfss://container@account.dfs.core.windows.net/x\nazure_storage_account_key=\nazure_storage_account_name=a",
    "gs://bucket/x\ngoogle_service_account_key=",
    "http://[::1]:80/x\nallow_http=true\nproxy_url=http://user:x@h\nread_timeout=1e400",
    "file:///a%20b/x.zip#mode=zarr,zip",
    "a/b/../c",
    "/a/b",
    "https://bucket.s3.us-west-2.amazonaws.com/x\ntoken=",
    "s3://bucket\nendpoint=http://u:p@h/?x\nmax_listed=-1",
];

fn elements() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    let json = [
        "[[1,2],[3,4],[5,6]]",
        "[1.5,\"NaN\",\"Infinity\",-0.0,1e-310,3]",
        "[true,false,true,true,false,1]",
        "[[[1,2],[3,4]],[[5,6],[7,8]],[[1,1],[\"NaN\",2]]]",
        "[\"a\",\"é\",\"\",\"x,\\\"y\\\"\",\"\\n\",\"6\"]",
        "[\"YQ==\",\"\",\"AAAA\",\"\",\"\",\"\"]",
        "[\"a\",\"bc\",\"\",\"\",\"\",\"é\"]",
        "[\"2020-12-31T23:59:59\",\"NaT\",5,-1,\"1970-01-01\",\"-0001-01-01\"]",
        "[1,\"NaT\",-5,0,7,9]",
        "[{\"a\":1.5,\"b\":2},{\"a\":0,\"b\":-1},{\"a\":\"NaN\",\"b\":1},{\"a\":1,\"b\":1},{\"a\":1,\"b\":1},{\"a\":1,\"b\":1}]",
        "[1,null,3,null,5,6]",
        "[18446744073709551615,0,1,2,3,4]",
    ];
    let csv = [
        "1,2\n3,4\n5,6\n",
        "1.5,NaN\ninf,-0.0\n1e-310,3\n",
        "True,False\n1,0\ntrue,false\n",
        "1.0-2.0j,3j\n1,2\nnan,0j\n",
        "a,é\n\"\",\"x,\"\"y\"\"\"\n\"\n\",6\n",
    ];
    let descrs =
        ["'<i2'", "'>f8'", "'|b1'", "'<c8'", "'<U2'", "'<M8[s]'", "[('a', '<f4'), ('b', '|i1')]"];
    for (kind, text) in json.iter().enumerate() {
        seeds.push([&[kind as u8, 0][..], b"\n", text.as_bytes()].concat());
        seeds.push([&[kind as u8, 3][..], b"\n", &[1; 12]].concat());
    }
    for (kind, text) in csv.iter().enumerate() {
        seeds.push([&[kind as u8, 1][..], b"\n", text.as_bytes()].concat());
        seeds.push([&[kind as u8, 1][..], b"0:2,1\n", text.as_bytes()].concat());
    }
    for (descr, kind) in descrs.iter().zip([0, 1, 2, 3, 6, 7, 9]) {
        seeds.push([&[kind as u8, 2][..], b"\n", &npy(descr)].concat());
    }
    seeds
}

/// A NumPy file of six elements, whose bytes are sevens.
fn npy(descr: &str) -> Vec<u8> {
    let mut header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (3, 2), }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.bytes());
    file.extend([7; 48]);
    file
}

fn listings() -> Vec<Vec<u8>> {
    let stores = ["v3-zarrs", "v2-z5py", "draft2020-gdal", "nczarr-v2"]
        .into_iter()
        .flat_map(|name| family(name).into_iter().take(10));
    let mut seeds: Vec<Vec<u8>> = stores
        .map(|files| files.into_keys().take(40).collect::<Vec<_>>().join("\n").into_bytes())
        .collect();
    seeds.extend(texts(&[
        "a/zarr.json\na/b/zarr.json\na/c/0",
        "meta/root/a.array.json\nmeta/root/a.group.json\ndata/root/a/c0",
        "a/.zarray\na/.zgroup\na/0.0\n__x/zarr.json\n.../.zgroup",
    ]));
    seeds
}

fn answers() -> Vec<Vec<u8>> {
    let head = "ETag: \"1\"\r\nLast-Modified: Mon, 05 Jan 2026 00:00:00 GMT\r\n";
    let group = r#"{"zarr_format":3,"node_type":"group"}"#;
    let page = "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken><Contents><Key>a</Key><Size>1</Size><LastModified>2026-01-05T00:00:00.000Z</LastModified></Contents><CommonPrefixes><Prefix>g/</Prefix></CommonPrefixes></ListBucketResult>";
    let objects = r#"{"nextPageToken":"t","items":[{"name":"a","size":"1","updated":"2026-01-05T00:00:00.000Z","etag":"x"}],"prefixes":["g/"]}"#;
    let blobs = "<EnumerationResults><Blobs><Blob><Name>a</Name><Properties><Content-Length>1</Content-Length><Last-Modified>Mon, 05 Jan 2026 00:00:00 GMT</Last-Modified><Etag>1</Etag></Properties></Blob><BlobPrefix><Name>g/</Name></BlobPrefix></Blobs><NextMarker>m</NextMarker></EnumerationResults>";
    let answers = [
        format!("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n{head}\r\n0123456789"),
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{head}\r\na\r\n0123456789\r\n0\r\n\r\n"),
        format!("HTTP/1.1 206 Partial Content\r\nContent-Length: 3\r\nContent-Range: bytes 2-4/10\r\n{head}\r\n234"),
        format!("HTTP/1.1 206 Partial Content\r\nContent-Length: 4\r\nContent-Range: bytes 6-9/10\r\n{head}\r\n6789"),
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{head}\r\n{group}", group.len()),
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{page}", page.len()),
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{objects}", objects.len()),
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{blobs}", blobs.len()),
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */3\r\nContent-Length: 0\r\n\r\n".to_owned(),
    ];
    let calls = (0..20u8).flat_map(|call| {
        answers.iter().map(move |answer| [&[call][..], answer.as_bytes()].concat())
    });
    calls.collect()
}
