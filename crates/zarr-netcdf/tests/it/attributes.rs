//! Attributes.

use std::ffi::{CStr, c_char};

use crate::common::*;

#[test]
fn attributes_have_numbers_and_types() {
    let (_folder, open) = example();
    let (mut ty, mut len, mut number) = (0, 0, -1);
    let look = |name: &str, ty: &mut i32, len: &mut usize, number: &mut i32| {
        with_text(Some(name), |name| {
            (table().inq_attid)(open.id, GLOBAL, name, out(number));
            (table().inq_att)(open.id, GLOBAL, name, out(ty), out(len))
        })
    };
    assert_eq!(look("title", &mut ty, &mut len, &mut number), 0);
    assert_eq!((ty, len, number), (2, 7, 0));
    // However its characters are composed.
    assert_eq!(look("cafe\u{301}", &mut ty, &mut len, &mut number), 0);
    assert_eq!((ty, len, number), (7, 1, 1));
    assert_eq!(look("nothing", &mut ty, &mut len, &mut number), ENOTATT);
    assert_eq!(name_of(|name| (table().inq_attname)(open.id, GLOBAL, 3, name)).unwrap(), "words");
    for number in [4, -1] {
        assert_eq!((table().inq_attname)(open.id, GLOBAL, number, null_name()), ENOTATT);
    }
    let t = variable(open.id, "t");
    assert_eq!(name_of(|name| (table().inq_attname)(open.id, t, 0, name)).unwrap(), "units");
    assert_eq!((table().inq_attname)(open.id, 77, 0, null_name()), ENOTVAR);
}

#[test]
fn values_become_what_the_program_asks_for() {
    let (_folder, open) = example();
    fn get<T: Copy + Default>(ncid: i32, name: &str, ty: i32) -> ([T; 8], i32) {
        let mut memory = [T::default(); 8];
        let place = data(&mut memory);
        let status = with_text(Some(name), |name| (table().get_att)(ncid, GLOBAL, name, place, ty));
        (memory, status)
    }
    assert_eq!(get::<u8>(open.id, "title", 0), (*b"a title\0", 0));
    assert_eq!(get::<f64>(open.id, "levels", 6).0[..2], [1.5, 300.0]);
    let (levels, status) = get::<i8>(open.id, "levels", 1);
    assert_eq!((levels[0], status), (1, ERANGE));
    assert_eq!(get::<i64>(open.id, "title", 10).1, ECHAR);
    assert_eq!(get::<u8>(open.id, "levels", 2).1, ECHAR);
    assert_eq!(get::<u8>(open.id, "levels", 12).1, EBADTYPE);
    let null =
        with_text(Some("title"), |name| (table().get_att)(open.id, GLOBAL, name, null_data(), 0));
    assert_eq!(null, EINVAL);
    let nameless = with_text(None, |name| (table().get_att)(open.id, GLOBAL, name, null_data(), 0));
    assert_eq!(nameless, EINVAL);
}

#[test]
fn strings_are_the_callers() {
    let (_folder, open) = example();
    let mut words = [std::ptr::null_mut::<c_char>(); 2];
    let place = data(&mut words);
    let status =
        with_text(Some("words"), |name| (table().get_att)(open.id, GLOBAL, name, place, 12));
    assert_eq!(status, 0);
    // SAFETY: two texts were written, which are freed here as `nc_free_string` does.
    let texts = words.map(|word| unsafe {
        let text = CStr::from_ptr(word).to_str().unwrap().to_owned();
        libc::free(word.cast());
        text
    });
    assert_eq!(texts, ["one", "two"]);
}
