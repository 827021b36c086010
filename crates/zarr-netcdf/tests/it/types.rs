//! Types: atomic ones, and those of bools and complex numbers.

use std::path::Path;

use zarr::DataType;

use crate::common::*;

/// A dataset of plain Zarr with a bool and a complex array.
fn make_plain(folder: &Path) {
    let hierarchy = zarr::create(folder, zarr::Dialect::V3).unwrap();
    let array = |name: &str, ty: DataType| {
        hierarchy.create_array(name).shape([2]).data_type(ty).create().unwrap()
    };
    array("/flag", DataType::Bool).write(.., &[true, false]).unwrap();
    let bytes: Vec<u8> = [1.0f64, 2.0, 3.0, -4.0].iter().flat_map(|n| n.to_ne_bytes()).collect();
    array("/z", DataType::Complex128).write_bytes(.., &bytes).unwrap();
    let image = hierarchy.create_array("/image").shape([3]).data_type(DataType::Uint8);
    image.create().unwrap().write(.., &[0u8, 7, 255]).unwrap();
}

#[test]
fn bools_are_ubytes_and_complex_numbers_have_a_dimension_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.zarr");
    make_plain(&path);
    let open = open(&path);
    let read = |name, start: &[usize], count: &[usize]| get::<f64>(open.id, name, start, count, 6);
    assert_eq!(get::<u8>(open.id, "flag", &[0], &[2], 7).unwrap(), [1, 0]);
    assert_eq!(read("flag", &[0], &[2]).unwrap(), [1.0, 0.0]);
    let mut len = 0;
    let flag = variable(open.id, "flag");
    with_text(Some("dtype"), |name| {
        (table().inq_att)(open.id, flag, name, null_out(), out(&mut len))
    });
    assert_eq!(len, 4, "xarray makes bools of what has this attribute");
    assert_eq!(read("z", &[0, 0], &[2, 2]).unwrap(), [1.0, 2.0, 3.0, -4.0]);
    assert_eq!(read("z", &[0, 1], &[2, 1]).unwrap(), [2.0, -4.0]);
    assert_eq!(read("z", &[1, 0], &[1, 1]).unwrap(), [3.0]);
    assert_eq!(get::<f32>(open.id, "z", &[1, 0], &[1, 2], 5).unwrap(), [3.0, -4.0]);
    assert_eq!(read("z", &[0, 1], &[2, 2]), Err(EEDGE));
    let mut reversed = [0f64; 4];
    let z = variable(open.id, "z");
    let (start, count) = (lengths(&[0, 0]), lengths(&[2, 2]));
    let map = strides(&[1, 2]);
    (table().get_varm)(open.id, z, start, count, null_strides(), map, data(&mut reversed), 6);
    assert_eq!(reversed, [1.0, 3.0, 2.0, -4.0]);
    // No type is declared: netcdf-c would look for it where only its own formats have it.
    let mut count = 9;
    (table().inq_typeids)(open.id, out(&mut count), null_out());
    assert_eq!(count, 0);
}

/// A pixel of 255 is no missing value, which the default fill value of bytes would make of it.
#[test]
fn plain_zarr_has_no_default_fill_value() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.zarr");
    make_plain(&path);
    let open = open(&path);
    let mut is_without_fill = 0;
    let id = variable(open.id, "image");
    (table().inq_var_all)(
        open.id,
        id,
        null_name(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        out(&mut is_without_fill),
        null_data(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
    );
    assert_eq!(is_without_fill, 1);
}

#[test]
fn atomic_types_are_known_and_compared() {
    let (_folder, open) = example();
    let mut size = 0;
    let name = name_of(|name| (table().inq_type)(open.id, 12, name, out(&mut size)));
    assert_eq!((name.unwrap(), size), ("string".into(), size_of::<usize>()));
    assert_eq!((table().inq_type)(open.id, 13, null_name(), null_out()), EBADTYPE);
    let mut equal = 9;
    (table().inq_type_equal)(open.id, 4, open.id, 4, out(&mut equal));
    assert_eq!(equal, 1);
    (table().inq_type_equal)(open.id, 4, 0, 32, out(&mut equal));
    assert_eq!(equal, 0);
    let mut count = 9;
    (table().inq_typeids)(open.id, out(&mut count), null_out());
    assert_eq!(count, 0);
}
