//! Reading and writing whole arrays, beside plain reading and writing of the same files.
//!
//! 64 MiB of u16 in 128 chunks of 64 × 64 × 64; each benchmark says its bytes, so that criterion
//! prints throughput. The line to compare with is `plain`: the same files, without Zarr.
#![allow(missing_docs)]

use std::path::{Path, PathBuf};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use zarr::Dialect;

const SHAPE: [u64; 3] = [512, 256, 256];
const CHUNKS: [u64; 3] = [64, 64, 64];
const CODECS: [(&str, &[&str]); 3] =
    [("raw", &[]), ("zstd", &["zstd:1"]), ("blosc", &["blosc-lz4:5"])];

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path if path.file_name().is_some_and(|n| n.as_encoded_bytes()[0].is_ascii_digit()) => {
                found.push(path)
            }
            _ => {}
        }
    }
    found
}

fn create(path: &Path, codecs: &[&str]) -> zarr::Array {
    let hierarchy =
        zarr::create(path.to_str().expect("a plain path"), Dialect::V3).expect("created");
    let mut builder = hierarchy
        .create_array("/a")
        .shape(&SHAPE)
        .chunks(&CHUNKS)
        .data_type_named("uint16")
        .overwrite(true);
    for codec in codecs {
        builder = builder.codec(zarr::tools::codec(codec).expect("a codec"));
    }
    builder.create().expect("created")
}

fn arrays(c: &mut Criterion) {
    let data = zarr_benches::field(SHAPE.iter().product::<u64>() as usize);
    let bytes = Throughput::Bytes(2 * data.len() as u64);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut group = c.benchmark_group("read_all");
    group.sample_size(10).throughput(bytes.clone());
    for (name, codecs) in CODECS {
        let path = folder.path().join(name);
        create(&path, codecs).write(.., &data).expect("written");
        let array = zarr::open(path.to_str().expect("a plain path"))
            .and_then(|n| n.into_group()?.array("a"));
        let array = array.expect("opened");
        let files = files(&path);
        let mut out = vec![0u16; data.len()];
        group.bench_function(format!("{name}/zarr"), |b| {
            b.iter(|| array.read_into(.., &mut out).expect("read"));
        });
        assert_eq!(out, data);
        let mut buffer = Vec::new();
        group.bench_function(format!("{name}/plain"), |b| {
            b.iter(|| {
                for file in &files {
                    buffer.clear();
                    let mut file = std::fs::File::open(file).expect("a file");
                    std::io::Read::read_to_end(&mut file, &mut buffer).expect("read");
                }
            });
        });
    }
    group.finish();
    let mut group = c.benchmark_group("write_all");
    group.sample_size(10).throughput(bytes);
    for (name, codecs) in CODECS {
        let path = folder.path().join(format!("{name}-written"));
        let array = create(&path, codecs);
        group.bench_function(format!("{name}/zarr"), |b| {
            b.iter(|| array.write(.., &data).expect("written"))
        });
        let contents: Vec<_> = files(&path)
            .into_iter()
            .map(|f| (f.with_extension("plain"), std::fs::read(&f).expect("read")))
            .collect();
        group.bench_function(format!("{name}/plain"), |b| {
            b.iter(|| {
                contents
                    .iter()
                    .for_each(|(file, bytes)| std::fs::write(file, bytes).expect("written"))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, arrays);
criterion_main!(benches);
