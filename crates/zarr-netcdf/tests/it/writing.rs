//! What is written, and what is refused. How other programs read it is in `tests/test_programs.py`.

use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};

use crate::common::*;

const EEXIST: i32 = -35;
const ENAMEINUSE: i32 = -42;
const EMAXNAME: i32 = -53;
const EBADNAME: i32 = -59;
const ENOTNC4: i32 = -111;
const ELATEFILL: i32 = -122;
const ELATEDEF: i32 = -123;
const EBADCHUNK: i32 = -127;
const EDISKLESS: i32 = -129;
const NOCLOBBER: i32 = 0x4;
const WRITE: i32 = 0x1;

/// A new dataset with dimensions `n`, which grows, and `x` of length 4; their numbers are 0 and 1.
fn new() -> (tempfile::TempDir, PathBuf, Open) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.zarr");
    let open = try_create(path.to_str().unwrap(), 0).unwrap();
    assert_eq!(define_dimension(open.id, "n", 0), 0);
    assert_eq!(define_dimension(open.id, "x", 4), 1);
    (folder, path, open)
}

fn close(open: Open) -> i32 {
    let status = (table().close)(open.id, zarr_netcdf::ffi::Unused::new(std::ptr::null()));
    // The second close, by its drop, finds nothing.
    drop(open);
    status
}

fn document(path: &Path) -> String {
    path.join("zarr.json").to_str().unwrap().to_owned()
}

fn len_of(ncid: i32, id: i32) -> usize {
    let mut len = 0;
    assert_eq!((table().inq_dim)(ncid, id, null_name(), out(&mut len)), 0);
    len
}

#[test]
fn elements_come_back_after_close() {
    let (_folder, path, open) = new();
    let t = define_variable(open.id, "t", 5, &[0, 1]);
    assert_eq!(t, 0);
    assert_eq!((table().def_var_deflate)(open.id, t, 1, 1, 4), 0);
    assert_eq!((table().def_var_chunking)(open.id, t, 0, lengths(&[2, 4])), 0);
    assert_eq!(put_attribute(open.id, t, "units", 2, b"K"), 0);
    let rows: Vec<f32> = (0..12).map(|n| n as f32).collect();
    assert_eq!(put(open.id, "t", &[0, 0], &[3, 4], &rows, 5), 0);
    // Beyond the end: what is between is fill.
    assert_eq!(put(open.id, "t", &[4, 1], &[1, 2], &[7i16, 8], 3), 0);
    assert_eq!(len_of(open.id, 0), 5);
    assert_eq!(close(open), 0);
    let again = crate::common::open(&path);
    assert_eq!(get::<f32>(again.id, "t", &[0, 0], &[3, 4], 5).unwrap(), rows);
    let fill = 9.969_21e36_f32;
    let last = get::<f32>(again.id, "t", &[3, 1], &[2, 2], 5).unwrap();
    assert_eq!((last[0].to_bits() == fill.to_bits(), &last[2..]), (true, &[7.0, 8.0][..]));
    let status = with_text(Some("units"), |name| {
        (table().inq_att)(again.id, t, name, null_out(), null_out())
    });
    assert_eq!(status, 0);
}

#[test]
fn numbers_are_converted_and_written_though_out_of_range() {
    let (_folder, _, open) = new();
    define_variable(open.id, "b", 1, &[1]);
    assert_eq!(put(open.id, "b", &[0], &[4], &[1i32, 300, -1, 127], 4), ERANGE);
    assert_eq!(get::<i8>(open.id, "b", &[0], &[4], 1).unwrap(), [1, 44, -1, 127]);
    assert_eq!(put(open.id, "b", &[0], &[1], b"a", 2), ECHAR);
    assert_eq!(put(open.id, "b", &[0], &[1], &[1i8], 99), EBADTYPE);
    assert_eq!(put_attribute(open.id, GLOBAL, "a", 12, &[c"text".as_ptr()]), 0);
    let mut short = 0i16;
    let (from, place) = ([70_000i32], data(std::slice::from_mut(&mut short)));
    let status = with_text(Some("short"), |name| {
        (table().put_att)(open.id, GLOBAL, name, 3, 1, input(&from), 4)
    });
    assert_eq!(status, ERANGE);
    with_text(Some("short"), |name| (table().get_att)(open.id, GLOBAL, name, place, 0));
    assert_eq!(short, 4464);
}

#[test]
fn strides_and_maps_lead_to_the_right_elements() {
    let (_folder, _, open) = new();
    let v = define_variable(open.id, "v", 4, &[0, 1]);
    let zeros = [0i32; 12];
    assert_eq!(put(open.id, "v", &[0, 0], &[3, 4], &zeros, 4), 0);
    let (start, count, stride) = ([0, 1], [2, 2], [2, 2]);
    let status = (table().put_vars)(
        open.id,
        v,
        lengths(&start),
        lengths(&count),
        strides(&stride),
        input(&[1i32, 2, 3, 4]),
        4,
    );
    assert_eq!(status, 0);
    let all = get::<i32>(open.id, "v", &[0, 0], &[3, 4], 4).unwrap();
    assert_eq!(all, [0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4]);
    // Transposed, out of doubles.
    let columns = [1.0f64, 5.0, 2.0, 6.0, 3.0, 7.0, 4.0, 8.0];
    let status = (table().put_varm)(
        open.id,
        v,
        lengths(&[3, 0]),
        lengths(&[2, 4]),
        null_strides(),
        strides(&[1, 2]),
        input(&columns),
        6,
    );
    assert_eq!(status, 0);
    let rows = get::<i32>(open.id, "v", &[3, 0], &[2, 4], 4).unwrap();
    assert_eq!((rows, len_of(open.id, 0)), ((1..9).collect(), 5));
    let words = define_variable(open.id, "w", 12, &[1]);
    let texts = [c"a", c"b", c"c"].map(|text| text.as_ptr());
    let texts = [texts[2], texts[1], texts[0], std::ptr::null()];
    let status = (table().put_varm)(
        open.id,
        words,
        lengths(&[0]),
        lengths(&[3]),
        null_strides(),
        strides(&[-1]),
        // From the last backwards.
        input(&texts[2..]),
        12,
    );
    assert_eq!(status, 0);
    assert_eq!(put(open.id, "w", &[3], &[1], &texts[3..], 12), 0);
    assert_eq!(put(open.id, "w", &[0], &[1], &[c"\xff".as_ptr()], 12), EINVAL);
}

#[test]
fn slabs_beyond_the_edge_write_nothing() {
    let (_folder, path, open) = new();
    let v = define_variable(open.id, "v", 4, &[0, 1]);
    let row = [1i32; 8];
    assert_eq!(put(open.id, "v", &[0, 1], &[1, 4], &row, 4), EEDGE);
    assert_eq!(put(open.id, "v", &[0, 5], &[1, 1], &row, 4), EINVALCOORDS);
    assert_eq!(put(open.id, "v", &[usize::MAX, 0], &[1, 1], &row, 4), EINVALCOORDS);
    assert_eq!(put(open.id, "v", &[9, 0], &[0, 4], &row, 4), 0);
    let (start, count) = (lengths(&[0, 0]), lengths(&[1, 1]));
    let status = (table().put_vars)(open.id, v, start, count, strides(&[0, 1]), input(&row), 4);
    assert_eq!(status, ESTRIDE);
    assert_eq!((table().put_vara)(open.id, v, start, count, null_input(), 4), EINVAL);
    assert_eq!((table().put_vara)(open.id, 9, start, count, input(&row), 4), ENOTVAR);
    assert_eq!(len_of(open.id, 0), 0);
    assert!(!path.join("v/c").exists());
}

#[test]
fn what_is_stored_is_not_chosen_again() {
    let (_folder, _, open) = new();
    let v = define_variable(open.id, "v", 4, &[0, 1]);
    assert_eq!((table().def_var_chunking)(open.id, v, 0, lengths(&[1, 5])), EBADCHUNK);
    assert_eq!((table().def_var_chunking)(open.id, v, 0, lengths(&[0, 1])), EINVAL);
    assert_eq!((table().def_var_chunking)(open.id, v, 1, null_lengths()), EINVAL);
    assert_eq!((table().def_var_deflate)(open.id, v, 0, 1, 10), EINVAL);
    assert_eq!((table().def_var_filter)(open.id, v, 4, 2, list(&[32u32, 4])), ENOFILTER);
    assert_eq!((table().def_var_quantize)(open.id, v, 1, 3), EINVAL);
    assert_eq!((table().def_var_endian)(open.id, v, 3), EINVAL);
    assert_eq!(put(open.id, "v", &[0, 0], &[1, 4], &[1i32, 2, 3, 4], 4), 0);
    assert_eq!((table().def_var_chunking)(open.id, v, 0, lengths(&[1, 4])), ELATEDEF);
    assert_eq!((table().def_var_deflate)(open.id, v, 0, 1, 1), ELATEDEF);
    assert_eq!((table().def_var_fletcher32)(open.id, v, 1), ELATEDEF);
    assert_eq!((table().def_var_endian)(open.id, v, 2), ELATEDEF);
    assert_eq!((table().def_var_fill)(open.id, v, 0, input(&[5i32])), ELATEFILL);
    assert_eq!(put_attribute(open.id, v, "_FillValue", 4, &[5i32]), ELATEFILL);
    // A new one may follow, and is chosen freely.
    let w = define_variable(open.id, "w", 3, &[1]);
    assert_eq!((table().def_var_fill)(open.id, w, 0, input(&[5i16])), 0);
    assert_eq!(put_attribute(open.id, w, "_FillValue", 4, &[5i32]), EBADTYPE);
    assert_eq!(put_attribute(open.id, w, "_FillValue", 3, &[5i16, 6]), EINVAL);
    assert_eq!(get::<i16>(open.id, "w", &[0], &[2], 3).unwrap(), [5, 5]);
}

#[test]
fn names_and_types_are_checked() {
    let (_folder, _, open) = new();
    assert_eq!(define_variable(open.id, "v", 4, &[1]), 0);
    for (name, code) in
        [("v", ENAMEINUSE), ("a/b", EBADNAME), ("", EBADNAME), (&"n".repeat(257), EMAXNAME)]
    {
        assert_eq!(define_variable(open.id, name, 4, &[1]), code, "{name}");
        let group = with_text(Some(name), |name| (table().def_grp)(open.id, name, null_out()));
        assert_eq!(group, code, "{name}");
    }
    for (ty, dimensions, code) in
        [(13, &[1][..], EBADTYPE), (32, &[1], EBADTYPE), (4, &[7], EBADDIM), (4, &[-1], EBADDIM)]
    {
        assert_eq!(define_variable(open.id, "w", ty, dimensions), code);
    }
    for (name, code) in [("x", ENAMEINUSE), ("a/b", EBADNAME)] {
        let status = with_text(Some(name), |name| (table().def_dim)(open.id, name, 3, null_out()));
        assert_eq!(status, code);
    }
    assert_eq!(put_attribute(open.id, GLOBAL, "_NCProperties", 2, b"x"), ENAMEINUSE);
    assert_eq!(put_attribute(open.id, GLOBAL, "empty", 4, &[0i32; 0]), EINVAL);
    assert_eq!(put_attribute(open.id, GLOBAL, "latin1", 2, b"\xe9"), EINVAL);
    let ty = with_text(Some("t"), |name| (table().def_compound)(open.id, 12, name, null_out()));
    assert_eq!(ty, ENOTNC4);
    // A dimension of another group's is not seen.
    let mut group = 0;
    with_text(Some("g"), |name| (table().def_grp)(open.id, name, out(&mut group)));
    let own = define_dimension(group, "own", 2);
    assert_eq!(define_variable(open.id, "w", 4, &[own]), EBADDIM);
    assert_eq!(define_variable(group, "w", 4, &[own, 0]), 0);
}

#[test]
fn only_zarr_data_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.zarr");
    make(&path);
    let create = |path: &Path, mode| try_create(path.to_str().unwrap(), mode).map(|open| open.id);
    assert_eq!(create(&path, NOCLOBBER), Err(EEXIST));
    assert!(path.join("packed/zarr.json").exists());
    // netCDF4-python creates a document's URL where it is to continue the data.
    let url = format!("file://{}#mode=netcdf-4,udf2", document(&path));
    assert_eq!(try_create(&url, 0).map(|open| open.id), Err(EEXIST));
    assert!(path.join("packed/zarr.json").exists());
    std::fs::write(path.join("notes.txt"), "mine").unwrap();
    create(&path, 0).unwrap();
    assert!(path.join("zarr.json").exists() && !path.join("packed").exists());
    assert_eq!(std::fs::read_to_string(path.join("notes.txt")).unwrap(), "mine");
    for (name, text) in [("other.nc", "CDF\u{1}..."), ("other.zip", "PK\u{3}\u{4}")] {
        let other = folder.path().join(name);
        std::fs::write(&other, text).unwrap();
        let code = create(&other, 0).unwrap_err();
        assert!(code < 0 && code != -92, "{code}");
        assert_eq!(std::fs::read_to_string(&other).unwrap(), text);
    }
    assert_eq!(create(&folder.path().join("new"), 0x2000), Err(-114));
    assert_eq!(create(&folder.path().join("new"), 0x8), Err(EDISKLESS));
    let url = format!("{}#format=hdf5", folder.path().join("new").display());
    assert_eq!(try_create(&url, 0).map(|open| open.id), Err(EINVAL));
    assert!(!folder.path().join("new").exists());
}

#[test]
fn formats_are_chosen_in_the_fragment() {
    let folder = tempfile::tempdir().unwrap();
    for (fragment, document, is_nczarr) in [
        ("mode=netcdf-4,udf2", "zarr.json", true),
        ("mode=netcdf-4,udf2,v2", ".zgroup", true),
        ("mode=netcdf-4,udf2&format=nczarr-v2", ".zgroup", true),
        ("mode=netcdf-4,udf2&format=zarr-v2", ".zgroup", false),
        ("mode=netcdf-4,udf2&format=zarr-v3", "zarr.json", false),
    ] {
        let path = folder.path().join("new.zarr");
        let open = try_create(&format!("file://{}#{fragment}", path.display()), 0).unwrap();
        let x = define_dimension(open.id, "x", 2);
        define_variable(open.id, "v", 6, &[x]);
        assert_eq!(put(open.id, "v", &[0], &[2], &[1.5f64, 2.5], 6), 0);
        assert_eq!(close(open), 0);
        let documents = [path.join(document), path.join(".zattrs")];
        let text = documents.iter().filter_map(|path| std::fs::read_to_string(path).ok());
        let text: String = text.collect();
        assert_eq!(text.contains("_nczarr_group"), is_nczarr, "{fragment}: {text}");
        let open = try_open(path.join(document).to_str().unwrap(), 0).unwrap();
        assert_eq!(get::<f64>(open.id, "v", &[0], &[2], 6).unwrap(), [1.5, 2.5], "{fragment}");
    }
}

#[test]
fn aborted_files_are_gone_until_something_is_stored() {
    let (_folder, path, open) = new();
    define_variable(open.id, "v", 4, &[1]);
    assert_eq!((table().abort)(open.id), 0);
    assert!(try_open(&document(&path), 0).is_err());
    assert!(!path.join("zarr.json").exists() && !path.join("v").exists());
    // What another writer has stored meanwhile stays.
    let (_folder, path, open) = new();
    let other = try_open(&document(&path), WRITE).unwrap();
    define_variable(other.id, "other", 4, &[]);
    assert_eq!(close(other), 0);
    assert_eq!((table().abort)(open.id), 0);
    variable(crate::common::open(&path).id, "other");
    let (_folder, path, open) = new();
    define_variable(open.id, "v", 4, &[1]);
    assert_eq!((table()._enddef)(open.id, 0, 1, 0, 1), 0);
    define_variable(open.id, "w", 4, &[1]);
    assert_eq!((table().abort)(open.id), 0);
    let open = crate::common::open(&path);
    assert_eq!(get::<i32>(open.id, "v", &[0], &[1], 4).unwrap(), [-2147483647]);
    assert_eq!(
        with_text(Some("w"), |name| (table().inq_varid)(open.id, name, null_out())),
        ENOTVAR
    );
}

/// Rows of a chunk are stored together, and what is read is what was written last.
#[test]
fn rows_are_gathered_until_chunks_are_whole() {
    let (_folder, path, open) = new();
    let v = define_variable(open.id, "v", 4, &[0, 1]);
    assert_eq!((table().def_var_chunking)(open.id, v, 0, lengths(&[4, 4])), 0);
    let chunk = |row: usize| path.join(format!("v/c/{row}/0")).exists();
    for row in 0..6 {
        assert_eq!(put(open.id, "v", &[row, 0], &[1, 4], &[row as i16; 4], 3), 0);
        assert_eq!((chunk(0), len_of(open.id, 0)), (row >= 3, row + 1));
    }
    assert!(!chunk(1));
    // Not the next row: what was gathered is older, and does not replace it.
    assert_eq!(put(open.id, "v", &[5, 0], &[1, 2], &[-1i32, -2], 4), 0);
    let last = get::<i32>(open.id, "v", &[4, 0], &[2, 4], 4).unwrap();
    assert_eq!((last, chunk(1)), (vec![4, 4, 4, 4, -1, -2, 5, 5], true));
    assert_eq!(put(open.id, "v", &[6, 0], &[1, 4], &[6i32; 4], 4), 0);
    let reader = crate::common::open(&path);
    assert_eq!(get::<i32>(reader.id, "v", &[6, 0], &[1, 4], 4), Err(EINVALCOORDS));
    assert_eq!((table().sync)(open.id), 0);
    assert_eq!((table().sync)(reader.id), 0);
    assert_eq!(get::<i32>(reader.id, "v", &[6, 0], &[1, 4], 4).unwrap(), [6; 4]);
    assert_eq!(put(open.id, "v", &[7, 1], &[1, 1], &[7i32], 4), 0);
    assert_eq!(close(open), 0);
    let reader = crate::common::open(&path);
    assert_eq!(get::<i32>(reader.id, "v", &[7, 1], &[1, 1], 4).unwrap(), [7]);
}

/// Columns, elements and slabs that leave elements out: no chunk is stored before the file is closed.
#[test]
fn chunks_are_stored_once_whatever_the_order_of_elements_is() {
    let (_folder, path, open) = new();
    let y = define_dimension(open.id, "y", 10);
    let x = define_dimension(open.id, "long", 9);
    let mut expected = Vec::new();
    for (name, ty) in [("columns", 5), ("scattered", 5), ("spaced", 5), ("texts", 12)] {
        let v = define_variable(open.id, name, ty, &[y, x]);
        assert_eq!((table().def_var_chunking)(open.id, v, 0, lengths(&[4, 5])), 0);
    }
    for row in 0..10 {
        for column in 0..9 {
            expected.push((10 * row + column) as f32);
        }
    }
    for column in [0, 1, 2, 3, 8, 7, 6, 4, 5] {
        let values: Vec<f32> = (0..10).map(|row| expected[9 * row + column]).collect();
        assert_eq!(put(open.id, "columns", &[0, column], &[10, 1], &values, 5), 0);
    }
    // Each element but one, and some twice.
    for step in 0..90 {
        let at = step * 37 % 90;
        let (row, column) = (at / 9, at % 9);
        if at == 40 {
            continue;
        }
        if at % 7 == 0 {
            assert_eq!(put(open.id, "scattered", &[row, column], &[1, 1], &[-1f32], 5), 0);
        }
        assert_eq!(put(open.id, "scattered", &[row, column], &[1, 1], &expected[at..], 5), 0);
        let text = std::ffi::CString::new(format!("text {at}")).unwrap();
        assert_eq!(put(open.id, "texts", &[row, column], &[1, 1], &[text.as_ptr()], 12), 0);
    }
    let spaced = variable(open.id, "spaced");
    for first in 0..3 {
        let values: Vec<f32> = (0..30).map(|n| expected[9 * (n / 3) + first + n % 3 * 3]).collect();
        let (start, count) = (lengths(&[0, first]), lengths(&[10, 3]));
        let steps = strides(&[1, 3]);
        let status = (table().put_vars)(open.id, spaced, start, count, steps, input(&values), 5);
        assert_eq!(status, 0);
    }
    for name in ["columns", "scattered", "spaced", "texts"] {
        assert!(!path.join(name).join("c").exists(), "{name}");
    }
    assert_eq!(close(open), 0);
    let open = crate::common::open(&path);
    let all = |name| get::<f32>(open.id, name, &[0, 0], &[10, 9], 5).unwrap();
    assert_eq!(all("columns"), expected);
    assert_eq!(all("spaced"), expected);
    let mut scattered = all("scattered");
    assert!(scattered[40] > 9.9e36, "never written: {}", scattered[40]);
    scattered[40] = 40.0 + 4.0;
    assert_eq!(scattered, expected);
    let texts = get::<usize>(open.id, "texts", &[4, 3], &[1, 3], 12).unwrap();
    // SAFETY: they are texts that the library allocated.
    let texts = texts.into_iter().map(|at| unsafe { CStr::from_ptr(at as *const c_char) });
    let texts: Vec<&str> = texts.map(|text| text.to_str().unwrap()).collect();
    assert_eq!(texts, ["text 39", "", "text 41"]);
}

/// NCO sets a fill value under another name, and renames it while the variable is defined.
#[test]
fn fill_values_are_renamed_to_and_from_attributes() {
    let (_folder, path, open) = new();
    let v = define_variable(open.id, "v", 4, &[1]);
    let rename = |from: &str, to: &str| {
        with_text(Some(from), |from| {
            with_text(Some(to), |to| (table().rename_att)(open.id, v, from, to))
        })
    };
    assert_eq!(put_attribute(open.id, v, "eulaVlliF_", 4, &[-5i32]), 0);
    assert_eq!(put_attribute(open.id, v, "units", 2, b"K"), 0);
    assert_eq!(rename("units", "_FillValue"), EBADTYPE);
    assert_eq!(rename("nothing", "_FillValue"), ENOTATT);
    assert_eq!(rename("eulaVlliF_", "_FillValue"), 0);
    assert_eq!(rename("_FillValue", "old"), 0);
    assert_eq!(rename("old", "_FillValue"), 0);
    assert_eq!(put(open.id, "v", &[1], &[1], &[7i32], 4), 0);
    assert_eq!(rename("_FillValue", "late"), 0);
    assert_eq!(rename("late", "_FillValue"), 0);
    assert_eq!((table().sync)(open.id), 0);
    assert_eq!(rename("_FillValue", "late"), ELATEFILL);
    assert_eq!(close(open), 0);
    let open = crate::common::open(&path);
    assert_eq!(get::<i32>(open.id, "v", &[0], &[3], 4).unwrap(), [-5, 7, -5]);
}

/// A program that computes each record of the one before does not have each stored to read it.
#[test]
fn reads_between_writes_store_nothing_by_themselves() {
    let (_folder, path, open) = new();
    let v = define_variable(open.id, "v", 4, &[0, 1]);
    assert_eq!((table().def_var_chunking)(open.id, v, 0, lengths(&[100, 4])), 0);
    assert_eq!(put(open.id, "v", &[0, 0], &[1, 4], &[1i32, 2, 3, 4], 4), 0);
    for record in 1..20 {
        let before = get::<f64>(open.id, "v", &[record - 1, 0], &[1, 4], 6).unwrap();
        let next = [before[0] + 1.0, before[1], before[2], before[3]];
        assert_eq!(put(open.id, "v", &[record, 0], &[1, 4], &next, 6), 0);
    }
    assert_eq!(get::<i32>(open.id, "v", &[3, 0], &[2, 3], 4).unwrap(), [4, 2, 3, 5, 2, 3]);
    assert!(!path.join("v/c").exists());
    // Newer and older elements, and one that was never written: those are stored first.
    assert_eq!(put(open.id, "v", &[3, 1], &[1, 1], &[-1i32], 4), 0);
    assert_eq!(put(open.id, "v", &[20, 1], &[1, 1], &[-2i32], 4), 0);
    assert_eq!(get::<i32>(open.id, "v", &[3, 0], &[1, 3], 4).unwrap(), [4, -1, 3]);
    assert!(path.join("v/c").exists());
    let last = get::<i32>(open.id, "v", &[20, 0], &[1, 2], 4).unwrap();
    assert_eq!(last, [-2147483647, -2]);
    let mut column = [0i32; 3];
    let (start, count, map) = (lengths(&[3, 1]), lengths(&[1, 3]), strides(&[1, 1]));
    assert_eq!(put(open.id, "v", &[3, 1], &[1, 3], &[7i32, 8, 9], 4), 0);
    (table().get_varm)(open.id, v, start, count, null_strides(), map, data(&mut column), 4);
    assert_eq!(column, [7, 8, 9]);
}

/// What one variable has in memory does not keep another from being read that it made longer.
#[test]
fn elements_of_others_that_are_in_memory_count() {
    let (_folder, _, open) = new();
    for (name, ty) in [("a", 4), ("b", 4)] {
        let v = define_variable(open.id, name, ty, &[0, 1]);
        assert_eq!((table().def_var_chunking)(open.id, v, 0, lengths(&[100, 4])), 0);
    }
    assert_eq!(put(open.id, "a", &[7, 1], &[1, 2], &[5i32, 6], 4), 0);
    assert_eq!(put(open.id, "b", &[2, 0], &[1, 4], &[1i32, 2, 3, 4], 4), 0);
    let fill = -2147483647;
    assert_eq!(get::<i32>(open.id, "b", &[2, 3], &[1, 1], 4).unwrap(), [4]);
    assert_eq!(get::<i32>(open.id, "b", &[7, 0], &[1, 4], 4).unwrap(), [fill; 4]);
    assert_eq!(get::<i32>(open.id, "a", &[7, 0], &[1, 4], 4).unwrap(), [fill, 5, 6, fill]);
}

/// Two handles on the same chunks: each writes its own elements, and those of the other stay.
#[test]
fn a_second_writer_loses_nothing() {
    let (_folder, path, one) = new();
    let v = define_variable(one.id, "v", 4, &[0, 1]);
    assert_eq!((table().def_var_chunking)(one.id, v, 0, lengths(&[64, 4])), 0);
    assert_eq!((table().sync)(one.id), 0);
    let two = try_open(&document(&path), WRITE).unwrap();
    assert_eq!(define_variable(two.id, "of_two", 4, &[1]), 1);
    std::thread::scope(|scope| {
        for (id, first) in [(one.id, 0), (two.id, 1)] {
            scope.spawn(move || {
                for row in (first..40).step_by(2) {
                    let values = [row as i32; 4];
                    assert_eq!(put(id, "v", &[row, 0], &[1, 4], &values, 4), 0);
                }
            });
        }
    });
    assert_eq!(define_variable(one.id, "of_one", 4, &[1]), 1);
    assert_eq!(put_attribute(one.id, GLOBAL, "one", 2, b"1"), 0);
    assert_eq!(put_attribute(two.id, GLOBAL, "two", 2, b"2"), 0);
    assert_eq!((close(one), close(two)), (0, 0));
    let open = crate::common::open(&path);
    let expected: Vec<i32> = (0..160).map(|n| n / 4).collect();
    assert_eq!(get::<i32>(open.id, "v", &[0, 0], &[40, 4], 4).unwrap(), expected);
    let mut counts = [0; 2];
    let [variables, attributes] = &mut counts;
    (table().inq)(open.id, null_out(), out(variables), out(attributes), null_out());
    assert_eq!(counts, [3, 2]);
}

/// A name that another writer has taken meanwhile is refused, and its data stay.
#[test]
fn a_variable_of_another_writer_is_not_replaced() {
    let (_folder, path, one) = new();
    assert_eq!((table().sync)(one.id), 0);
    let two = try_open(&document(&path), WRITE).unwrap();
    define_variable(one.id, "v", 4, &[1]);
    assert_eq!(put(one.id, "v", &[0], &[4], &[1i32, 2, 3, 4], 4), 0);
    define_variable(two.id, "v", 5, &[1]);
    assert_eq!(put(two.id, "v", &[0], &[1], &[9f32], 5), ENAMEINUSE);
    assert_eq!(close(one), 0);
    assert_eq!((table().abort)(two.id), 0);
    let open = crate::common::open(&path);
    assert_eq!(get::<i32>(open.id, "v", &[0], &[4], 4).unwrap(), [1, 2, 3, 4]);
}

#[test]
fn a_reader_sees_what_was_appended_after_sync() {
    let (_folder, path, writer) = new();
    define_variable(writer.id, "v", 4, &[0]);
    assert_eq!(put(writer.id, "v", &[0], &[2], &[1i32, 2], 4), 0);
    assert_eq!((table().sync)(writer.id), 0);
    let reader = crate::common::open(&path);
    assert_eq!(put(writer.id, "v", &[2], &[1], &[3i32], 4), 0);
    assert_eq!((table().sync)(writer.id), 0);
    assert_eq!(get::<i32>(reader.id, "v", &[0], &[3], 4), Err(EEDGE));
    assert_eq!((table().sync)(reader.id), 0);
    assert_eq!(get::<i32>(reader.id, "v", &[0], &[3], 4).unwrap(), [1, 2, 3]);
}

#[test]
fn names_change_with_what_they_name() {
    let (_folder, path, open) = new();
    let mut group = 0;
    with_text(Some("g"), |name| (table().def_grp)(open.id, name, out(&mut group)));
    let own = define_dimension(group, "own", 2);
    let v = define_variable(group, "v", 4, &[0, own]);
    assert_eq!(put(group, "v", &[0, 0], &[1, 2], &[1i32, 2], 4), 0);
    let pending = define_variable(group, "pending", 4, &[own]);
    let rename = |to: &str, call: &dyn Fn(zarr_netcdf::ffi::Text) -> i32| with_text(Some(to), call);
    assert_eq!(rename("vv", &|to| (table().rename_var)(group, v, to)), 0);
    assert_eq!(rename("vv", &|to| (table().rename_var)(group, pending, to)), ENAMEINUSE);
    assert_eq!(rename("late", &|to| (table().rename_var)(group, pending, to)), 0);
    assert_eq!(rename("owned", &|to| (table().rename_dim)(group, own, to)), 0);
    assert_eq!(rename("h", &|to| (table().rename_grp)(group, to)), 0);
    assert_eq!(rename("h", &|to| (table().rename_grp)(open.id, to)), -116);
    assert_eq!(put(group, "vv", &[1, 0], &[1, 2], &[3i32, 4], 4), 0);
    assert_eq!(put(group, "late", &[0], &[2], &[5i32, 6], 4), 0);
    assert_eq!(put_attribute(group, GLOBAL, "a", 4, &[1i32]), 0);
    with_text(Some("a"), |from| {
        assert_eq!(rename("b", &|to| (table().rename_att)(group, GLOBAL, from, to)), 0);
    });
    assert_eq!(close(open), 0);
    let open = crate::common::open(&path);
    let group = crate::common::group(open.id, "h");
    assert_eq!(get::<i32>(group, "vv", &[0, 0], &[2, 2], 4).unwrap(), [1, 2, 3, 4]);
    assert_eq!(get::<i32>(group, "late", &[0], &[2], 4).unwrap(), [5, 6]);
    let mut id = -1;
    with_text(Some("owned"), |name| (table().inq_dimid)(group, name, out(&mut id)));
    assert_eq!(len_of(group, id), 2);
    let status =
        with_text(Some("b"), |name| (table().inq_att)(group, GLOBAL, name, null_out(), null_out()));
    assert_eq!(status, 0);
}

/// Any numbers may be given to what writes, too: no call ends the process, or says that this library has a mistake.
#[test]
fn calls_with_any_numbers_are_answered() {
    let (_folder, path, open) = new();
    define_variable(open.id, "v", 4, &[0, 1]);
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |most: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % most
    };
    const EDGES: [i32; 9] = [0, 1, 2, 3, 12, 32, -1, i32::MIN, i32::MAX];
    // As pointers to texts, none.
    let values = [0u64; 64];
    for round in 0..400 {
        let mut int = || EDGES[next(EDGES.len() as u64) as usize];
        let (a, b, c, d) = (int(), int(), int(), int());
        let ncid = if a == 3 { open.id | (b & 0xffff) } else { open.id };
        let name = ["v", "x", "g", "", "/", "_FillValue", "n\u{301}"][next(7) as usize];
        let mut len = || [0, 1, 2, usize::MAX][next(4) as usize];
        let (start, count) = ([len() % 5, len() % 5], [len() % 5, len() % 5]);
        let size = len();
        let table = table();
        let statuses = [
            with_text(Some(name), |name| (table.def_dim)(ncid, name, size, null_out())),
            with_text(Some(name), |name| {
                (table.def_var)(ncid, name, a, b.clamp(-1, 2), list(&[c, d]), null_out())
            }),
            with_text(Some(name), |name| (table.del_att)(ncid, a, name)),
            with_text(Some(name), |name| (table.rename_dim)(ncid, a, name)),
            with_text(Some(name), |name| {
                (table.put_att)(ncid, a, name, b, size.min(8), input(&values), c.clamp(-1, 11))
            }),
            (table.def_var_fill)(ncid, a, b, input(&values)),
            (table.def_var_chunking)(ncid, a, b, lengths(&[1, 1])),
            (table.def_var_deflate)(ncid, a, b, c, d),
            (table.def_var_filter)(ncid, a, b as u32, size.min(8), list(&[1u32; 8])),
            (table.def_var_endian)(ncid, a, b),
            (table.def_var_fletcher32)(ncid, a, b),
            (table.set_fill)(ncid, a, null_out()),
            (table.put_vara)(ncid, a, lengths(&start), lengths(&count), null_input(), b),
            (table.put_vara)(ncid, 0, lengths(&start), lengths(&count), input(&values), 4),
        ];
        assert!(
            statuses.iter().all(|&status| status <= 0 && status != -92),
            "{round}: {statuses:?}"
        );
    }
    assert_eq!(close(open), 0);
    crate::common::open(&path);
}
