//! What is opened, and what is not.

use std::ffi::CStr;
use std::path::Path;

use crate::common::*;

fn open_code(path: &Path, mode: i32) -> i32 {
    try_open(path.to_str().unwrap(), mode).map_or_else(|code| code, |_| 0)
}

#[test]
fn documents_links_and_archives_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("example.zarr");
    make(&path);
    let shown = path.display();
    std::fs::write(folder.path().join("link"), r#"{"zarr_link": "example.zarr"}"#).unwrap();
    let archive = folder.path().join("example.zip");
    let files = files_in(&path, "");
    let entries: Vec<(&str, &[u8])> =
        files.iter().map(|(name, content)| (&name[..], &content[..])).collect();
    std::fs::write(&archive, zip_of(&entries)).unwrap();
    for typed in [
        format!("{shown}/zarr.json"),
        format!("file://{shown}/zarr.json#mode=netcdf-4,udf2"),
        format!("file://{shown}/zarr.json#mode=nczarr,udf0"),
        format!("{shown}"),
        format!("{}", folder.path().join("link").display()),
        archive.display().to_string(),
        format!("file://{}#mode=nczarr,zip,udf0", archive.display()),
    ] {
        let open = try_open(&typed, 0).unwrap_or_else(|code| panic!("{typed}: {code}"));
        let values = get::<f32>(open.id, "t", &[2, 0], &[1, 4], 5).unwrap();
        assert_eq!(values, [8.5, 9.5, 10.5, 11.5], "{typed}");
    }
}

#[test]
fn what_is_not_zarr_is_left_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.json");
    std::fs::write(&path, r#"{"type": "FeatureCollection", "features": []}"#).unwrap();
    assert_eq!(open_code(&path, 0), ENOTNC);
    let mut archive = zip_of(&[("word/document.xml", b"<xml/>")]);
    let path = folder.path().join("other.docx");
    std::fs::write(&path, &archive).unwrap();
    assert_eq!(open_code(&path, 0), ENOTNC);
    archive.truncate(20);
    std::fs::write(&path, &archive).unwrap();
    assert!(open_code(&path, 0) < 0);
    assert_eq!(open_code(&folder.path().join("nothing.zarr/zarr.json"), 0), 2);
}

/// The files below a folder, with their paths from there.
fn files_in(folder: &Path, prefix: &str) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            found.extend(files_in(&path, &format!("{name}/")));
        } else {
            found.push((name, std::fs::read(&path).unwrap()));
        }
    }
    found
}

/// An archive of entries that are stored as they are.
fn zip_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for (name, content) in entries {
        let offset = bytes.len() as u32;
        let mut header = Vec::new();
        header.extend([20u8, 0, 0, 0, 0, 0, 0, 0, 0x21, 0]);
        header.extend(crc32(content).to_le_bytes());
        header.extend((content.len() as u32).to_le_bytes());
        header.extend((content.len() as u32).to_le_bytes());
        header.extend((name.len() as u16).to_le_bytes());
        header.extend([0, 0]);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&header);
        bytes.extend(name.as_bytes());
        bytes.extend(*content);
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&header);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend((entries.len() as u16).to_le_bytes());
    bytes.extend((entries.len() as u16).to_le_bytes());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

#[test]
fn files_that_are_read_are_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("example.zarr");
    make(&path);
    let document = path.join("zarr.json");
    assert_eq!(open_code(&document, 0x2000), -114);
    // NC_INMEMORY.
    assert_eq!(open_code(&document, 0x8000), 0);
    let (_folder, open) = example();
    let x = variable(open.id, "packed");
    let redefined = (table().redef)(open.id);
    let dimension = with_text(Some("d"), |name| (table().def_dim)(open.id, name, 1, null_out()));
    let written = put(open.id, "packed", &[0], &[1], &[1i16], 3);
    let filled = (table().def_var_fill)(open.id, x, 1, input::<u8>(&[]));
    assert_eq!([redefined, dimension, written, filled], [EPERM; 4]);
    assert_eq!(((table()._enddef)(open.id, 0, 1, 0, 1), (table().sync)(open.id)), (EPERM, 0));
}

#[test]
fn errors_are_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken.zarr");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("zarr.json"), r#"{"zarr_format": 3, "node_type": "tree"}"#).unwrap();
    assert_eq!(open_code(&path.join("zarr.json"), 0), ENCZARR);
    // SAFETY: no other call of the library comes between.
    let sentence = unsafe { CStr::from_ptr(zarr_netcdf::ffi::zarr_netcdf_last_error()) };
    assert!(sentence.to_str().unwrap().contains("node_type"), "{sentence:?}");
}

#[test]
fn closed_files_are_gone() {
    let (_folder, open) = example();
    let id = open.id;
    let mut format = 0;
    assert_eq!((table().inq_format)(id, out(&mut format)), 0);
    let (mut model, mut mode) = (0, 0);
    (table().inq_format_extended)(id, out(&mut model), out(&mut mode));
    assert_eq!((format, model, mode), (3, 11, 0x1000));
    drop(open);
    assert_eq!((table().inq_format)(id, null_out()), EBADID);
    assert_eq!((table().abort)(id), EBADID);
}
