//! Many threads on one file and on many.

use crate::common::*;

#[test]
fn threads_share_a_file() {
    let (folder, open) = example();
    let path = folder.path().join("example.zarr");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (id, path) = (open.id, &path);
            scope.spawn(move || {
                for turn in 0..50 {
                    let row = (thread + turn) % 3;
                    let expected = [0.5, 1.5, 2.5, 3.5].map(|value| value + 4.0 * row as f32);
                    assert_eq!(get::<f32>(id, "t", &[row, 0], &[1, 4], 5).unwrap(), expected);
                    let own = crate::common::open(path);
                    assert_eq!(get::<f32>(own.id, "t", &[row, 0], &[1, 4], 5).unwrap(), expected);
                }
            });
        }
    });
}

/// A file that one thread closes while another reads is an error to the other, or is read.
#[test]
fn a_file_may_be_closed_meanwhile() {
    let (folder, open) = example();
    let path = folder.path().join("example.zarr");
    drop(open);
    for _ in 0..20 {
        let open = crate::common::open(&path);
        let id = open.id;
        let t = variable(id, "t");
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for _ in 0..20 {
                    let mut memory = [0f32; 12];
                    let read = (table().get_vara)(
                        id,
                        t,
                        null_lengths(),
                        null_lengths(),
                        data(&mut memory),
                        5,
                    );
                    assert!(read == EBADID || (read == 0 && memory[11] == 11.5), "{read}");
                }
            });
            scope.spawn(move || drop(open));
        });
    }
}
