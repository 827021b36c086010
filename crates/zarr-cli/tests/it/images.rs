//! Elements are written as images, as they are. Others' software reads them in `specs-conformance/interop/pictures.py`.
#![cfg(feature = "plot")]

use crate::common::Folder;

fn array(folder: &Folder, name: &str, shape: &str, kind: &str, bytes: &[u8]) {
    folder.good(&format!("create d.zarr --path {name} --shape {shape} --dtype {kind}"));
    let put = folder.feed(&format!("put d.zarr --path {name} --format raw"), bytes);
    assert_eq!((put.code, &*put.err), (0, ""));
}

/// Colours, bits and bytes.
fn decoded(bytes: &[u8]) -> (png::ColorType, png::BitDepth, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    pixels.truncate(info.buffer_size());
    (info.color_type, info.bit_depth, pixels)
}

#[test]
fn a_png_has_the_elements() {
    let folder = Folder::new();
    array(&folder, "u1", "2,3", "uint8", &[1, 2, 3, 4, 5, 255]);
    array(&folder, "u2", "1,2", "uint16", &[1, 2, 3, 4]);
    array(&folder, "bool", "2,9", "bool", &[1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0]);
    array(&folder, "rgb", "1,2,3", "uint8", &[9, 8, 7, 6, 5, 4]);
    let png = |name: &str| decoded(&folder.good(&format!("get d.zarr/{name} --format png")).out);
    use png::{BitDepth, ColorType};
    assert_eq!(png("u1"), (ColorType::Grayscale, BitDepth::Eight, vec![1, 2, 3, 4, 5, 255]));
    assert_eq!(png("u2"), (ColorType::Grayscale, BitDepth::Sixteen, vec![2, 1, 4, 3]));
    assert_eq!(png("bool"), (ColorType::Grayscale, BitDepth::One, vec![0x80, 0x80, 0x7f, 0]));
    assert_eq!(png("rgb"), (ColorType::Rgb, BitDepth::Eight, vec![9, 8, 7, 6, 5, 4]));
    let part = folder.good("get d.zarr/u1 --format png --region ::-1,1:").out.clone();
    assert_eq!(decoded(&part).2, [5, 255, 2, 3]);
}

#[test]
fn a_tiff_has_a_directory_and_the_elements_for_each_page() {
    let folder = Folder::new();
    let elements: Vec<u8> = (0..36).collect();
    array(&folder, "f4", "3,1,3", "float32", &elements);
    let tiff = folder.good("get d.zarr/f4 --format tiff").out.clone();
    let number = |at: usize, len: usize| {
        tiff[at..at + len].iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte))
    };
    assert_eq!(tiff[..4], *b"II*\0");
    // Length 1 does not count: a page of 3 × 3.
    let (at, count) = (number(4, 4), number(number(4, 4), 2));
    let tag = |id: usize| {
        let entry = (0..count).map(|n| at + 2 + 12 * n).find(|&at| number(at, 2) == id).unwrap();
        number(entry + 8, 4)
    };
    assert_eq!([tag(256), tag(257), tag(258), tag(339), tag(279)], [3, 3, 32, 3, 36]);
    assert_eq!(tiff[tag(273)..][..36], elements);
    assert_eq!(number(at + 2 + 12 * count, 4), 0);
}

#[test]
fn what_is_no_image_is_refused_with_what_is_to_be_done() {
    let folder = Folder::new();
    array(&folder, "f8", "1,1", "float64", &[0; 8]);
    array(&folder, "line", "3", "uint8", &[0; 3]);
    array(&folder, "cube", "2,2,2", "uint8", &[0; 8]);
    for (name, shape, kind) in [
        ("empty", "0,4", "uint8"),
        ("scalar", "", "uint8"),
        ("long", "1,4294967296", "uint8"),
        ("endless", "4294967296,4294967296,2,2,2", "uint8"),
        ("text", "2,2", "string"),
        ("day", "2,2", "datetime64[D]"),
        ("odd", "2,2", "uint4"),
    ] {
        let mut command = folder.command("create d.zarr --dtype");
        let chunks = shape.replace("4294967296", "64").replace('0', "1");
        command.args([kind, "--path", name, "--chunks", &chunks]);
        let made = command.args(["--shape", shape]).output().unwrap();
        assert!(made.status.success(), "{name}: {}", String::from_utf8_lossy(&made.stderr));
    }
    for (name, form, why) in [
        ("f8", "png", "zarr plot --bare"),
        ("text", "png", "not elements of type `string`"),
        ("cube", "png", "select one with --region"),
        ("line", "png", "two axes"),
        ("line", "tiff", "two axes"),
        ("scalar", "tiff", "two axes"),
        ("empty", "png", "an image needs at least one"),
        ("empty", "tiff", "an image needs at least one"),
        ("long", "tiff", "too many for an image"),
        ("endless", "tiff", "--region"),
        ("day", "png", "not elements of type `datetime64[D]`"),
        ("text", "tiff", "`string`"),
        ("day", "tiff", "datetime64"),
        ("odd", "tiff", "uint4"),
    ] {
        let run = folder.run(&format!("get d.zarr/{name} --format {form}"));
        assert_eq!((run.code, run.out.len()), (2, 0), "{name} {form}: {}", run.err);
        assert!(run.err.contains(why), "{name} {form}: {}", run.err);
    }
}
