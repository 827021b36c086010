//! A source of copies.

use super::Folder;

/// Makes `a.zarr`: an array `big` of so many chunks, and a small one beside it, all elements different. What `get` prints of `big`.
pub fn source(folder: &Folder, chunks: usize) -> String {
    let shape = format!("--shape {chunks},40 --chunks 1,40");
    folder.good(&format!("create a.zarr --path big {shape} --dtype int32 --codec gzip:1"));
    folder.good("create a.zarr --path g/small --shape 9 --chunks 2 --dtype int32");
    let numbers = |count: u64| {
        let list: Vec<String> = (1..=count).map(|n| n.to_string()).collect();
        format!("[{}]", list.join(","))
    };
    for (path, count) in [("big", 40 * chunks as u64), ("g/small", 9)] {
        let put = folder.feed(&format!("put a.zarr --path {path}"), numbers(count).as_bytes());
        assert_eq!(put.code, 0, "{}", put.err);
    }
    folder.good("get a.zarr --path big").text().to_owned()
}
