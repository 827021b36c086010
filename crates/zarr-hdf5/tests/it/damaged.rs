//! Damaged files: errors, and neither panics nor endless work nor unbounded memory.

use std::time::{Duration, Instant};

use zarr_hdf5::walk::{Walk, join};
use zarr_hdf5::zarr_view::{EntryKind, Tree};
use zarr_hdf5::{Blocks, Failure, File, ObjectKind, Storage};

use crate::common::{Opened, files};

/// Variants of each file that are tried. `ZARR_HDF5_VARIANTS` changes it.
const VARIANTS: u64 = 150;
/// The longest time that reading all of one variant may take.
const MAX_TIME: Duration = Duration::from_secs(5);

#[test]
fn changed_bytes_are_errors_at_most() {
    let variants = std::env::var("ZARR_HDF5_VARIANTS");
    let variants = variants.map_or(VARIANTS, |text| text.parse().expect("it is a number"));
    let (mut opened_variants, mut failures, mut total) = (0, 0, 0);
    for (path, bytes, _) in files() {
        let mut random = 0x9e37_79b9_7f4a_7c15 ^ bytes.len() as u64;
        for variant in 0..variants {
            let mut changed = bytes.clone();
            let count = [1, 2, 5, 20, 200][(variant % 5) as usize];
            for _ in 0..count {
                let place = (next(&mut random) % changed.len() as u64) as usize;
                // Bytes that are lengths and addresses are most often extreme or off by one.
                changed[place] = match next(&mut random) % 4 {
                    0 => 0xff,
                    1 => 0,
                    2 => changed[place].wrapping_add(1),
                    _ => next(&mut random) as u8,
                };
            }
            if variant % 7 == 0 {
                changed.truncate((next(&mut random) % changed.len() as u64) as usize);
            }
            let start = Instant::now();
            total += 1;
            if let Ok(mut opened) = Opened::new(changed.clone(), 4096) {
                opened_variants += 1;
                failures += read_all(&mut opened);
                failures += view_all(changed);
            }
            assert!(start.elapsed() < MAX_TIME, "{}, variant {variant}", path.display());
        }
    }
    println!("{opened_variants} of {total} variants opened, with {failures} errors in them");
    assert!(failures > 0, "no change was noticed");
}

/// xorshift64.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Reads all that can be read, and counts the errors.
fn read_all(opened: &mut Opened) -> usize {
    let mut walk = Walk::new(&opened.file);
    let mut errors = 0;
    loop {
        match opened.run(|file, blocks| walk.next(file, blocks)) {
            Ok(Some(found)) => {
                errors += usize::from(found.kind.is_err());
                errors += read_object(opened, found.address).map_or(1, |errors| errors);
            }
            Ok(None) => return errors,
            Err(_) => return errors + 1,
        }
    }
}

/// Looks at a file as Zarr, and counts the errors.
fn view_all(bytes: Vec<u8>) -> usize {
    /// Links may be changed so that groups are found under many names.
    const MAX_PATHS: usize = 1000;
    let blocks = Blocks::whole(bytes);
    let Ok(file) = File::parse(&blocks) else { return 1 };
    let mut tree = Tree::new(file);
    let mut errors = 0;
    let mut waiting = vec!["/".to_owned()];
    for _ in 0..MAX_PATHS {
        let Some(path) = waiting.pop() else { break };
        match tree.kind(&blocks, &path) {
            Ok(Some(EntryKind::Group)) => {
                errors += usize::from(tree.group(&blocks, &path).is_err());
                match tree.children(&blocks, &path) {
                    Ok(entries) => waiting.extend(
                        entries.unwrap_or_default().iter().map(|entry| join(&path, &entry.name)),
                    ),
                    Err(_) => errors += 1,
                }
            }
            Ok(Some(EntryKind::Array)) => match tree.array(&blocks, &path) {
                Ok(array) => {
                    assert!(array.document().len() < 10 << 20);
                    let first = vec![0; array.grid.shape.len()];
                    errors += usize::from(array.locate(tree.file(), &blocks, &first).is_err());
                }
                Err(_) => errors += 1,
            },
            Ok(_) => {}
            Err(_) => errors += 1,
        }
    }
    errors
}

fn read_object(opened: &mut Opened, address: u64) -> Result<usize, Failure> {
    let object = opened.run(|file, blocks| file.object(blocks, address))?;
    let mut errors = 0;
    for attribute in opened.run(|file, blocks| file.attributes(blocks, &object))? {
        let Ok(attribute) = attribute else {
            errors += 1;
            continue;
        };
        let values =
            opened.run(|file, blocks| file.values(blocks, &attribute.datatype, &attribute.raw));
        errors += usize::from(values.is_err());
    }
    if object.kind != ObjectKind::Dataset {
        return Ok(errors);
    }
    let dataset = opened.run(|file, blocks| file.dataset(blocks, &object))?;
    if let Storage::Chunked(storage) = &dataset.storage {
        let mut cursor = storage.cursor();
        while let Some(chunks) =
            opened.run(|file, blocks| file.next_chunks(blocks, storage, &mut cursor))?
        {
            for chunk in chunks.iter().take(3) {
                opened.run(|file, blocks| file.chunk(blocks, storage, &chunk.coordinates))?;
            }
        }
    }
    Ok(errors)
}
