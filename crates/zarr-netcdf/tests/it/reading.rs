//! Elements of variables.

use std::ffi::{CStr, c_char};

use crate::common::*;

#[test]
fn slabs_are_read_in_the_types_that_are_asked_for() {
    let (_folder, open) = example();
    let id = open.id;
    assert_eq!(get::<f32>(id, "t", &[1, 1], &[2, 2], 0).unwrap(), [5.5, 6.5, 9.5, 10.5]);
    assert_eq!(get::<f64>(id, "t", &[0, 0], &[1, 2], 6).unwrap(), [0.5, 1.5]);
    assert_eq!(get::<i16>(id, "packed", &[0], &[4], 3).unwrap(), [-300, -1, 1, 300]);
    assert_eq!(get::<u8>(id, "packed", &[0], &[4], 7), Err(ERANGE));
    assert_eq!(get::<u8>(id, "code", &[1], &[2], 2).unwrap(), *b"bc");
    assert_eq!(get::<i32>(id, "code", &[1], &[2], 4), Err(ECHAR));
    assert_eq!(get::<f64>(id, "scalar", &[], &[], 6).unwrap(), [2.5]);
    assert_eq!(get::<i32>(id, "scalar", &[], &[], 4).unwrap(), [2]);
    // What was never written along the unlimited dimension is netCDF's fill value.
    let fill = -9223372036854775806i64;
    assert_eq!(get::<i64>(id, "late", &[0], &[3], 10).unwrap(), [10, fill, fill]);
    assert_eq!(get::<i32>(id, "late", &[0], &[3], 4), Err(ERANGE));
}

#[test]
fn all_is_converted_before_the_error() {
    let (_folder, open) = example();
    let mut memory = [9u8; 4];
    let id = variable(open.id, "packed");
    let status =
        (table().get_vara)(open.id, id, null_lengths(), null_lengths(), data(&mut memory), 7);
    assert_eq!((status, memory), (ERANGE, [212, 255, 1, 44]));
}

#[test]
fn slabs_outside_are_refused() {
    let (_folder, open) = example();
    let read = |start: &[usize], count: &[usize]| get::<f32>(open.id, "t", start, count, 5);
    assert_eq!(read(&[4, 0], &[1, 1]), Err(EINVALCOORDS));
    assert_eq!(read(&[3, 0], &[1, 1]), Err(EINVALCOORDS));
    assert_eq!(read(&[3, 0], &[0, 1]).unwrap(), [0f32; 0]);
    assert_eq!(read(&[2, 0], &[2, 1]), Err(EEDGE));
    let t = variable(open.id, "t");
    let (start, count) = (lengths(&[0, 0]), lengths(&[1, 1]));
    let read = |steps: &[isize]| {
        (table().get_vars)(open.id, t, start, count, strides(steps), null_data(), 5)
    };
    assert_eq!((read(&[0, 1]), read(&[1, -1]), read(&[1, 1])), (ESTRIDE, ESTRIDE, EINVAL));
    assert_eq!((table().get_vara)(open.id, 99, start, count, null_data(), 5), ENOTVAR);
    assert_eq!((table().get_vara)(open.id, t, start, count, null_data(), 99), EBADTYPE);
    assert_eq!((table().get_vara)(open.id + 5, t, start, count, null_data(), 5), EBADID);
}

#[test]
fn strides_and_maps() {
    let (_folder, open) = example();
    let t = variable(open.id, "t");
    let mut memory = [0f32; 4];
    let (start, count) = (lengths(&[0, 1]), lengths(&[2, 2]));
    let steps = strides(&[2, 2]);
    assert_eq!((table().get_vars)(open.id, t, start, count, steps, data(&mut memory), 5), 0);
    assert_eq!(memory, [1.5, 3.5, 9.5, 11.5]);
    // Transposed, as doubles.
    let mut memory = [0f64; 4];
    let map = strides(&[1, 2]);
    let status = (table().get_varm)(open.id, t, start, count, steps, map, data(&mut memory), 6);
    assert_eq!((status, memory), (0, [1.5, 9.5, 3.5, 11.5]));
    let status =
        (table().get_varm)(open.id, t, start, count, steps, null_strides(), data(&mut memory), 6);
    assert_eq!((status, memory), (0, [1.5, 3.5, 9.5, 11.5]));
    // Backwards in memory.
    let mut memory = [0f32; 4];
    let (start, count, steps, map) = ([0usize, 0], [1usize, 4], [1isize, 1], [0isize, -1]);
    // SAFETY: the map leads to the four places up to this one.
    let last = unsafe { zarr_netcdf::ffi::Data::new(memory.as_mut_ptr().add(3).cast()) };
    let (start, count) = (lengths(&start), lengths(&count));
    let status =
        (table().get_varm)(open.id, t, start, count, strides(&steps), strides(&map), last, 5);
    assert_eq!((status, memory), (0, [3.5, 2.5, 1.5, 0.5]));
}

#[test]
fn texts_are_allocated_one_by_one() {
    let (_folder, open) = example();
    let id = variable(open.id, "name");
    let mut memory = [std::ptr::null_mut::<c_char>(); 4];
    let status =
        (table().get_vara)(open.id, id, lengths(&[0]), lengths(&[4]), data(&mut memory), 12);
    assert_eq!(status, 0);
    // SAFETY: four texts were written, which are freed here as `nc_free_string` does.
    let texts = memory.map(|word| unsafe {
        let text = CStr::from_ptr(word).to_str().unwrap().to_owned();
        libc::free(word.cast());
        text
    });
    assert_eq!(texts, ["north", "", "Zürich", "s"]);
    assert_eq!(get::<u8>(open.id, "name", &[0], &[4], 2), Err(ECHAR));
    assert_eq!(get::<i32>(open.id, "name", &[0], &[4], 4), Err(EBADTYPE));
}

/// A damaged chunk is an error of this library's, and its sentence names the place.
#[test]
fn damage_is_named() {
    let (folder, open) = example();
    let chunk = folder.path().join("example.zarr/t/c/0/0");
    std::fs::write(&chunk, b"not zlib").unwrap();
    assert_eq!(get::<f32>(open.id, "t", &[0, 0], &[1, 4], 5), Err(ENCZARR));
    // SAFETY: no other call of the library comes between.
    let sentence = unsafe { CStr::from_ptr(zarr_netcdf::ffi::zarr_netcdf_last_error()) };
    assert!(sentence.to_str().unwrap().contains("chunk (0, 0)"), "{sentence:?}");
}
