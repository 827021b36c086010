//! Reads and writes nodes with zarrs, for `zarrs_rs.py`.
//!
//! - `zarrs-peer create STORE PATH DOCUMENT` stores the document of an array or a group, as zarrs writes it.
//! - `zarrs-peer write STORE PATH` stores all elements of an array, which come from standard input.
//! - `zarrs-peer read STORE PATH` writes all elements of an array to standard output.
//!
//! Elements are little-endian and in C order; those of any length stand after their length in four bytes.

#![forbid(unsafe_code)]

use std::error::Error;
use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use zarrs::array::{Array, ArrayBytes, ArrayBytesOffsets};
use zarrs::filesystem::FilesystemStore;
use zarrs::group::Group;

type Answer = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let answer = match arguments[..] {
        ["create", store, path, document] => create(store, path, document),
        ["write", store, path] => write(store, path),
        ["read", store, path] => read(store, path),
        _ => Err("create STORE PATH DOCUMENT, write STORE PATH, or read STORE PATH".into()),
    };
    match answer {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn create(store: &str, path: &str, document: &str) -> Answer {
    let store = Arc::new(FilesystemStore::new(store)?);
    let json: serde_json::Value = serde_json::from_str(document)?;
    if json.get("shape").is_some() {
        Array::new_with_metadata(store, path, serde_json::from_str(document)?)?.store_metadata()?;
    } else {
        Group::new_with_metadata(store, path, serde_json::from_str(document)?)?.store_metadata()?;
    }
    Ok(())
}

fn write(store: &str, path: &str) -> Answer {
    let array = Array::open(Arc::new(FilesystemStore::new(store)?), path)?;
    let mut stream = Vec::new();
    std::io::stdin().read_to_end(&mut stream)?;
    let elements = if array.data_type().is_fixed() {
        ArrayBytes::new_flen(stream)
    } else {
        let (mut bytes, mut offsets) = (Vec::new(), vec![0]);
        let mut rest = &stream[..];
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let length = u32::from_le_bytes(*length) as usize;
            let (element, after) = after.split_at_checked(length).ok_or("the last element is cut off")?;
            bytes.extend_from_slice(element);
            offsets.push(bytes.len());
            rest = after;
        }
        ArrayBytes::new_vlen(bytes, ArrayBytesOffsets::new(offsets)?)?
    };
    array.store_array_subset(&array.subset_all(), elements)?;
    Ok(())
}

fn read(store: &str, path: &str) -> Answer {
    let array = Array::open(Arc::new(FilesystemStore::new(store)?), path)?;
    let elements: ArrayBytes = array.retrieve_array_subset(&array.subset_all())?;
    let mut out = std::io::stdout().lock();
    match elements {
        ArrayBytes::Fixed(bytes) => out.write_all(&bytes)?,
        ArrayBytes::Variable(elements) => {
            let (bytes, offsets) = elements.into_parts();
            for ends in offsets.windows(2) {
                let element = &bytes[ends[0]..ends[1]];
                out.write_all(&u32::try_from(element.len())?.to_le_bytes())?;
                out.write_all(element)?;
            }
        }
        ArrayBytes::Optional(_) => return Err("elements that may be missing are not asked for".into()),
    }
    Ok(())
}
