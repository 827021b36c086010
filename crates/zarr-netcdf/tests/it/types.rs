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

const ENAMEINUSE: i32 = -42;
const EBADFIELD: i32 = -119;
const ENOTNC4: i32 = -111;

fn create(folder: &Path, format: &str) -> Open {
    try_create(&format!("file://{}#mode=netcdf-4,udf2&format={format}", folder.display()), 0)
        .unwrap()
}

fn define_enum(ncid: i32, name: &str, base: i32) -> Result<i32, i32> {
    let mut id = 0;
    match with_text(Some(name), |name| (table().def_enum)(ncid, base, name, out(&mut id))) {
        0 => Ok(id),
        code => Err(code),
    }
}

fn insert_member(ncid: i32, id: i32, name: &str, value: u8) -> i32 {
    with_text(Some(name), |name| (table().insert_enum)(ncid, id, name, input(&[value])))
}

fn define_compound(ncid: i32, name: &str, size: usize) -> Result<i32, i32> {
    let mut id = 0;
    match with_text(Some(name), |name| (table().def_compound)(ncid, size, name, out(&mut id))) {
        0 => Ok(id),
        code => Err(code),
    }
}

fn insert_field(ncid: i32, id: i32, name: &str, offset: usize, ty: i32) -> i32 {
    with_text(Some(name), |name| (table().insert_compound)(ncid, id, name, offset, ty))
}

/// A program's enumeration of `false` and `true` is Zarr's bool, its compound of two parts Zarr's complex number.
#[test]
fn bools_and_complex_numbers_are_created_by_a_programs_own_types() {
    for format in ["nczarr-v3", "zarr-v3", "zarr-v2"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new.zarr");
        let open = create(&path, format);
        let x = define_dimension(open.id, "x", 3);
        let bool_id = define_enum(open.id, "bool", 1).unwrap();
        assert_eq!(insert_member(open.id, bool_id, "FALSE", 0), 0);
        assert_eq!(insert_member(open.id, bool_id, "TRUE", 1), 0);
        let complex_id = define_compound(open.id, "complex", 16).unwrap();
        assert_eq!(insert_field(open.id, complex_id, "i", 8, 6), 0);
        assert_eq!(insert_field(open.id, complex_id, "r", 0, 6), 0);
        assert_eq!((bool_id, complex_id), (32, 33));
        let flag = define_variable(open.id, "flag", bool_id, &[x]);
        let z = define_variable(open.id, "z", complex_id, &[x]);
        assert_eq!((flag, z), (0, 1));
        assert_eq!(put(open.id, "flag", &[0], &[3], &[1u8, 0, 7], 0), 0);
        assert_eq!(put(open.id, "flag", &[0], &[1], &[1i32], 4), EBADTYPE);
        let numbers = [1.0f64, -2.0, 3.0, 4.0];
        assert_eq!(put(open.id, "z", &[0], &[2], &numbers, complex_id), 0);
        assert_eq!(put_attribute(open.id, flag, "range", bool_id, &[0u8, 1]), 0);
        assert_eq!(put_attribute(open.id, z, "unit", complex_id, &numbers), ENOTNC4);
        // It is of its own type as long as the file is open.
        let mut found = 0;
        assert_eq!(get::<[f64; 2]>(open.id, "z", &[0], &[1], 0).unwrap(), [[1.0, -2.0]]);
        assert_eq!((table().inq_typeids)(open.id, out(&mut found), null_out()), 0);
        assert_eq!(found, 2);
        drop(open);
        let array = |name: &str| zarr::open(path.join(name)).unwrap().into_array().unwrap();
        assert_eq!(array("flag").read::<bool>(..).unwrap(), [true, false, true], "{format}");
        let z = array("z");
        assert_eq!(z.data_type(), DataType::Complex128);
        let bytes: Vec<u8> =
            [1.0f64, -2.0, 3.0, 4.0, 0.0, 0.0].iter().flat_map(|n| n.to_ne_bytes()).collect();
        assert_eq!(z.read_bytes(..).unwrap(), bytes, "{format}");
    }
}

#[test]
fn other_types_of_a_programs_own_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let open = create(&folder.path().join("new.zarr"), "nczarr-v3");
    assert_eq!(define_enum(open.id, "wide", 4), Err(ENOTNC4));
    assert_eq!(define_enum(open.id, "wide", 99), Err(EBADTYPE));
    let id = define_enum(open.id, "bool", 7).unwrap();
    assert_eq!(define_enum(open.id, "bool", 7), Err(ENAMEINUSE));
    assert_eq!(define_variable(open.id, "v", id, &[]), ENOTNC4);
    for (name, value, status) in
        [("maybe", 2, ENOTNC4), ("false", 1, ENOTNC4), ("true", 1, 0), ("True", 1, ENAMEINUSE)]
    {
        assert_eq!(insert_member(open.id, id, name, value), status, "{name}");
    }
    assert_eq!(insert_field(open.id, id, "r", 0, 5), EBADTYPE);
    assert_eq!(define_compound(open.id, "record", 24), Err(ENOTNC4));
    let id = define_compound(open.id, "pair", 8).unwrap();
    for (name, offset, ty, status) in [
        ("r", 0, 6, ENOTNC4),
        ("r", 2, 5, ENOTNC4),
        ("x", 0, 5, ENOTNC4),
        ("real", 0, 5, 0),
        ("i", 4, 5, ENOTNC4),
        ("imag", 4, 5, 0),
        ("imag", 4, 5, ENAMEINUSE),
    ] {
        assert_eq!(insert_field(open.id, id, name, offset, ty), status, "{name}");
    }
    assert_eq!(insert_member(open.id, id, "true", 1), EBADTYPE);
    let v2 = create(&folder.path().join("v2.zarr"), "nczarr-v2");
    let id = define_compound(v2.id, "pair", 8).unwrap();
    assert_eq!((insert_field(v2.id, id, "r", 0, 5), insert_field(v2.id, id, "i", 4, 5)), (0, 0));
    assert_eq!(define_variable(v2.id, "z", id, &[]), ENOTNC4);
}

/// The questions that netcdf-c and nc-complex ask of a type.
#[test]
fn types_of_a_programs_own_are_told_while_the_file_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let open = create(&folder.path().join("new.zarr"), "nczarr-v3");
    let id = define_compound(open.id, "_PFNC_FLOAT_COMPLEX_TYPE", 8).unwrap();
    assert_eq!(
        (insert_field(open.id, id, "r", 0, 5), insert_field(open.id, id, "i", 4, 5)),
        (0, 0)
    );
    let bool_id = define_enum(open.id, "bool", 7).unwrap();
    assert_eq!(insert_member(open.id, bool_id, "true", 1), 0);
    let (mut size, mut base, mut count, mut class) = (0, 9, 0, 0);
    let name = name_of(|name| {
        let (size, base) = (out(&mut size), out(&mut base));
        (table().inq_user_type)(open.id, id, name, size, base, out(&mut count), out(&mut class))
    });
    assert_eq!(
        (name.unwrap().as_str(), size, base, count, class),
        ("_PFNC_FLOAT_COMPLEX_TYPE", 8, 0, 2, 16)
    );
    let (mut offset, mut ty, mut rank) = (0, 0, 9);
    let name = name_of(|name| {
        let (offset, ty, rank) = (out(&mut offset), out(&mut ty), out(&mut rank));
        (table().inq_compound_field)(open.id, id, 1, name, offset, ty, rank, null_out())
    });
    assert_eq!((name.unwrap().as_str(), offset, ty, rank), ("i", 4, 5, 0));
    let mut field = 9;
    let index = |name, field: &mut i32| {
        with_text(Some(name), |name| {
            (table().inq_compound_fieldindex)(open.id, id, name, out(field))
        })
    };
    assert_eq!((index("i", &mut field), field), (0, 1));
    assert_eq!(index("j", &mut field), EBADFIELD);
    let mut value = [9u8];
    let name =
        name_of(|name| (table().inq_enum_member)(open.id, bool_id, 0, name, data(&mut value)));
    assert_eq!((name.unwrap().as_str(), value), ("true", [1]));
    let name = name_of(|name| (table().inq_enum_ident)(open.id, bool_id, 1, name));
    assert_eq!(name.unwrap(), "true");
    assert_eq!(name_of(|name| (table().inq_enum_ident)(open.id, bool_id, 0, name)), Err(EINVAL));
    assert_eq!(
        name_of(|name| (table().inq_enum_member)(open.id, bool_id, 1, name, null_data())),
        Err(EINVAL)
    );
    // From a group below, by its name alone.
    let mut group = 0;
    with_text(Some("g"), |name| (table().def_grp)(open.id, name, out(&mut group)));
    let mut found = 0;
    let status = with_text(Some("bool"), |name| (table().inq_typeid)(group, name, out(&mut found)));
    assert_eq!((status, found), (0, bool_id));
    let mut equal = 9;
    (table().inq_type_equal)(open.id, id, group, id, out(&mut equal));
    assert_eq!(equal, 1);
    (table().inq_type_equal)(open.id, id, group, bool_id, out(&mut equal));
    assert_eq!(equal, 0);
}

/// In plain Zarr, bytes with xarray's attribute of bools are bools, as bools are told to programs.
#[test]
fn bytes_that_are_called_bools_are_bools_in_plain_zarr() {
    let folder = tempfile::tempdir().unwrap();
    for (format, expected) in [("zarr-v3", DataType::Bool), ("nczarr-v3", DataType::Int8)] {
        let path = folder.path().join(format);
        let open = create(&path, format);
        let x = define_dimension(open.id, "x", 2);
        let v = define_variable(open.id, "v", 1, &[x]);
        assert_eq!(put_attribute(open.id, v, "dtype", 2, b"bool"), 0);
        assert_eq!(put(open.id, "v", &[0], &[2], &[1i8, 0], 1), 0);
        drop(open);
        let array = zarr::open(path.join("v")).unwrap().into_array().unwrap();
        assert_eq!(array.data_type(), expected);
        let open = crate::common::open(&path);
        assert_eq!(get::<i8>(open.id, "v", &[0], &[2], 1).unwrap(), [1, 0]);
        let v = variable(open.id, "v");
        let found = with_text(Some("dtype"), |name| {
            (table().inq_att)(open.id, v, name, null_out(), null_out())
        });
        assert_eq!(found, 0);
    }
}

/// Bools and complex numbers that were never written: as chosen in v3, where no value of them is missing.
#[test]
fn own_types_have_fill_values() {
    let folder = tempfile::tempdir().unwrap();
    for (format, status) in [("nczarr-v3", 0), ("zarr-v2", EINVAL)] {
        let path = folder.path().join(format);
        let open = create(&path, format);
        let x = define_dimension(open.id, "x", 2);
        let bool_id = define_enum(open.id, "bool", 7).unwrap();
        insert_member(open.id, bool_id, "false", 0);
        insert_member(open.id, bool_id, "true", 1);
        let flag = define_variable(open.id, "flag", bool_id, &[x]);
        assert_eq!((table().def_var_fill)(open.id, flag, 0, input(&[0u8])), 0);
        assert_eq!(put_attribute(open.id, flag, "_FillValue", bool_id, &[1u8]), status);
        assert_eq!(put_attribute(open.id, flag, "_FillValue", 7, &[1u8]), EBADTYPE);
        assert_eq!(put(open.id, "flag", &[0], &[1], &[0u8], 0), 0);
        drop(open);
        let array = zarr::open(path.join("flag")).unwrap().into_array().unwrap();
        assert_eq!(array.read::<bool>(..).unwrap(), [false, status == 0]);
    }
}
