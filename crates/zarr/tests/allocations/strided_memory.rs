//! Chunks are decoded straight into strided memory and encoded straight from it: nothing is allocated for the selection, and
//! no more than for plain memory.

use zarr::{CoreType, Dialect, Hierarchy, NodePath, OpenOptions, View, ViewMut, standard};

use crate::{allocated_by, turn};

#[test]
fn nothing_as_large_as_the_selection_is_allocated() {
    let _turn = turn();
    const SIDE: u64 = 1024;
    let size = (SIDE * SIDE * 4) as usize;
    let folder = tempfile::tempdir().unwrap();
    let url = folder.path().join("x.zarr").display().to_string();
    let options = OpenOptions::new(standard()).read_write().threads(1);
    let store = options.store(&url).unwrap();
    let hierarchy = Hierarchy::create(store, options.format(Dialect::V3), &options).unwrap();
    for (name, codec, shards) in [
        ("/plain", None, None),
        ("/gzip", Some("gzip:1"), None),
        ("/shards", Some("gzip:1"), Some([256, 256])),
    ] {
        let path = NodePath::new(name).unwrap();
        let mut builder = hierarchy.create_array(&path).shape(&[SIDE, SIDE]).chunks(&[64, 64]);
        builder = builder.data_type(CoreType::Uint32);
        if let Some(shards) = shards {
            builder = builder.shards(&shards);
        }
        if let Some(codec) = codec {
            builder = builder.codec(zarr::tools::codec(codec).unwrap());
        }
        let array = builder.create().unwrap();
        // Transposed, every other element, each row from its end.
        let strides = [8, -(SIDE as isize) * 8];
        let start = (SIDE as usize - 1) * SIDE as usize * 8;
        let mut memory: Vec<u8> = (0..2 * size).map(|n| (n / 4 % 251) as u8).collect();
        let from = View::strided(&memory, start, &[SIDE, SIDE], &strides, 4).unwrap();
        let expected = from.to_bytes().into_owned();
        // The first call brings what stays: memory that codecs keep.
        array.write_view(.., from.clone()).unwrap();
        let (written, plain) = allocated_by(|| array.write_bytes(.., &expected));
        written.unwrap();
        let (written, bytes) = allocated_by(|| array.write_view(.., from));
        written.unwrap();
        assert!(array.read_bytes(..).unwrap() == expected, "{name}");
        assert!(
            bytes < plain + size / 4,
            "{name}: a write allocates {bytes}, from plain memory {plain}"
        );

        memory.fill(0);
        let out = ViewMut::strided(&mut memory, start, &[SIDE, SIDE], &strides, 4).unwrap();
        let (read, bytes) = allocated_by(|| array.read_view(.., out));
        read.unwrap();
        let found = View::strided(&memory, start, &[SIDE, SIDE], &strides, 4).unwrap();
        assert!(found.to_bytes()[..] == expected, "{name}");
        let mut out = vec![0u32; size / 4];
        let (read, plain) = allocated_by(|| array.read_into(.., &mut out));
        read.unwrap();
        assert!(
            bytes < plain + size / 4,
            "{name}: a read allocates {bytes}, into plain memory {plain}"
        );
        assert!(bytes < size, "{name}: a read allocates {bytes} of {size}");
    }
}
