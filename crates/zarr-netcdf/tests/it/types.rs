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
fn bools_and_complex_numbers_have_types_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.zarr");
    make_plain(&path);
    let open = open(&path);
    let (mut count, mut ids) = (0, [0; 3]);
    (table().inq_typeids)(open.id, out(&mut count), out_list(&mut ids));
    assert_eq!((count, ids), (2, [32, 33, 0]));
    let user = |id| {
        let (mut size, mut base, mut fields, mut class) = (0, 9, 0, 0);
        let name = name_of(|name| {
            (table().inq_user_type)(
                open.id,
                id,
                name,
                out(&mut size),
                out(&mut base),
                out(&mut fields),
                out(&mut class),
            )
        });
        name.map(|name| (name, size, base, fields, class))
    };
    assert_eq!(user(32).unwrap(), ("_bool_t".into(), 1, 7, 2, 15));
    assert_eq!(user(33).unwrap(), ("_Complex128_t".into(), 16, 0, 2, 16));
    assert_eq!((user(34), user(4)), (Err(EBADTYPE), Err(EBADTYPE)));
    let (mut offset, mut ty, mut rank) = (0, 0, 9);
    let field = name_of(|name| {
        (table().inq_compound_field)(
            open.id,
            33,
            1,
            name,
            out(&mut offset),
            out(&mut ty),
            out(&mut rank),
            null_out(),
        )
    });
    assert_eq!((field.unwrap(), offset, ty, rank), ("i".into(), 8, 6, 0));
    let mut value = [9u8];
    let member = name_of(|name| (table().inq_enum_member)(open.id, 32, 1, name, data(&mut value)));
    assert_eq!((member.unwrap(), value), ("TRUE".into(), [1]));
    assert_eq!(name_of(|name| (table().inq_enum_ident)(open.id, 32, 0, name)).unwrap(), "FALSE");
    assert_eq!((table().inq_enum_ident)(open.id, 32, 2, null_name()), EINVAL);
    let mut id = 0;
    with_text(Some("/_Complex128_t"), |name| (table().inq_typeid)(open.id, name, out(&mut id)));
    assert_eq!(id, 33);
    assert_eq!(get::<u8>(open.id, "flag", &[0], &[2], 32).unwrap(), [1, 0]);
    assert_eq!(get::<i32>(open.id, "flag", &[0], &[2], 4).unwrap(), [1, 0]);
    assert_eq!(get::<[f64; 2]>(open.id, "z", &[0], &[2], 33).unwrap(), [[1.0, 2.0], [3.0, -4.0]]);
    assert_eq!(get::<f64>(open.id, "z", &[0], &[2], 6), Err(EBADTYPE));
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
