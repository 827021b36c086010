//! However many threads encode a shard, its bytes are the same: of whole shards, and of those that a part is merged into.
#![cfg(all(
    feature = "memory",
    feature = "filesystem",
    feature = "zstd",
    feature = "sharding",
    feature = "vlen-utf8"
))]

use std::sync::Arc;

use zarr::store::{Store, from_sync};
use zarr::stores::{FilesystemStore, MemoryStore};
use zarr::tools::codec;
use zarr::{Array, Dialect, Hierarchy, OpenOptions, Region};
use zarr_testkit::{Remote, sample};

/// Stored values and their keys.
type Values = Vec<(String, Vec<u8>)>;

fn values(store: &Arc<dyn Store>) -> Values {
    let store = store.to_sync();
    let keys = store.list().expect("listed");
    let value = |key| store.value(key).expect("read").expect("there").to_vec();
    let mut values: Values = keys.iter().map(|key| (key.to_string(), value(key))).collect();
    values.sort();
    values
}

fn create(store: &Arc<dyn Store>, threads: usize, how: &Layout) -> Array {
    let options = OpenOptions::new(zarr::standard()).read_write().threads(threads);
    let format = options.format(Dialect::V3);
    let hierarchy = Hierarchy::create(store.clone(), format, &options).expect("created");
    let array = hierarchy.create_array("/a").shape(&how.shape).chunks(&how.chunks);
    let array = array.shards(&how.shards).data_type_named(how.data_type);
    array.codec(codec("zstd:1").expect("a codec")).create().expect("created")
}

struct Layout {
    shape: [u64; 3],
    shards: [u64; 3],
    chunks: [u64; 3],
    data_type: &'static str,
}

/// Elements that do not become nothing when they are compressed, with a hole in them.
fn elements(count: u64, seed: u64) -> Vec<u32> {
    let mix = |n: u64| (n.wrapping_add(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32;
    (0..count).map(|n| if n % 4096 < 2048 { mix(n) } else { 0 }).collect()
}

fn stores(folder: &std::path::Path) -> [Arc<dyn Store>; 3] {
    let memory = || from_sync(MemoryStore::new());
    [from_sync(FilesystemStore::new(folder)), memory(), Arc::new(Remote(memory()))]
}

#[test]
fn shards_have_the_same_bytes() {
    let one =
        |shape| Layout { shape, shards: [64, 128, 128], chunks: [16; 3], data_type: "uint32" };
    let layouts = [
        // One shard, of which all threads encode parts; one at the edge; fewer than threads, and more; small inner chunks.
        one([64, 128, 128]),
        one([50, 100, 128]),
        Layout { shards: [128, 128, 128], ..one([256, 128, 128]) },
        one([192, 128, 256]),
        Layout { chunks: [4, 4, 2], ..one([64, 128, 128]) },
    ];
    for (n, how) in layouts.iter().enumerate() {
        let count = how.shape.iter().product();
        let all = elements(count, 1);
        let part = Region::new([3..how.shape[0] - 1, 1..90, 0..how.shape[2] - 7]);
        let changed = elements(part.element_count().expect("counted"), 2);
        let mut found: Vec<[Values; 2]> = Vec::new();
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        for (threads, folder) in [1, 3].into_iter().zip(&folders) {
            // One kind of store for each layout, or all.
            for store in
                stores(folder.path()).into_iter().skip(sample(n % 3, 0)).step_by(sample(3, 1))
            {
                let array = create(&store, threads, how);
                array.write(.., &all).expect("written");
                let whole = values(&store);
                array.write(&part, &changed).expect("written");
                let read: Vec<u32> = array.read(&part).expect("read");
                assert!(read == changed, "{:?} by {threads} threads", how.shape);
                found.push([whole, values(&store)]);
            }
        }
        assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{:?}", how.shape);
    }
}

#[test]
fn texts_have_the_same_bytes() {
    let how = Layout {
        shape: [4, 64, 512],
        shards: [4, 64, 512],
        chunks: [2, 16, 64],
        data_type: "string",
    };
    let texts: Vec<String> = (0..4 * 64 * 512u64).map(|n| format!("{}", n * n % 9973)).collect();
    let found = [1, 3].map(|threads| {
        let folder = tempfile::tempdir().expect("a folder");
        stores(folder.path()).map(|store| {
            let array = create(&store, threads, &how);
            array.write(.., &texts).expect("written");
            array.write((0..3, 1..60, 5..500), &texts[..3 * 59 * 495]).expect("written");
            assert_eq!(array.read::<String>((0, 1, 5..8)).expect("read"), texts[..3]);
            values(&store)
        })
    });
    assert!(found.as_flattened().windows(2).all(|pair| pair[0] == pair[1]));
}
