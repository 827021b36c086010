//! Calls that no well-behaved program makes, and documents that no writer writes.

use std::path::Path;

use crate::common::*;

#[test]
fn any_numbers_may_be_given() {
    let (_folder, open) = example();
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let table = table();
    for _ in 0..20_000 {
        let ncid = match numbers.next() % 3 {
            0 => numbers.int(),
            1 => open.id,
            _ => open.id | (numbers.int() & 0xffff),
        };
        let (a, b) = (numbers.int(), numbers.int());
        let name = ["t", "x", "g", "title", "", "/", "no\u{301}"][(numbers.next() % 7) as usize];
        let statuses = [
            (table.inq_dim)(ncid, a, null_name(), null_out()),
            (table.inq_attname)(ncid, a, b, null_name()),
            (table.inq_type)(ncid, a, null_name(), null_out()),
            (table.inq_user_type)(
                ncid,
                a,
                null_name(),
                null_out(),
                null_out(),
                null_out(),
                null_out(),
            ),
            (table.inq_compound_field)(
                ncid,
                a,
                b,
                null_name(),
                null_out(),
                null_out(),
                null_out(),
                null_out(),
            ),
            (table.inq_enum_member)(ncid, a, b, null_name(), null_data()),
            (table.inq_type_equal)(ncid, a, b, a, null_out()),
            (table.inq_var_filter_ids)(ncid, a, null_out(), null_out()),
            (table.inq_dimids)(ncid, null_out(), null_out(), a),
            with_text(Some(name), |name| (table.inq_att)(ncid, a, name, null_out(), null_out())),
            with_text(Some(name), |name| (table.inq_varid)(ncid, name, null_out())),
            with_text(Some(name), |name| (table.inq_grp_full_ncid)(ncid, name, null_out())),
        ];
        assert!(statuses.iter().all(|&status| status <= 0 && status != -92), "{statuses:?}");
        // Without memory nothing is written, wherever the slab is.
        let (start, count) = ([numbers.len(), numbers.len()], [numbers.len(), numbers.len()]);
        let steps = [numbers.int() as isize, numbers.int() as isize];
        let (start, count) = (lengths(&start), lengths(&count));
        let status = (table.get_vars)(ncid, a, start, count, strides(&steps), null_data(), b);
        assert!(status <= 0 && status != -92, "{status}");
    }
}

fn open_text(folder: &Path, name: &str, text: &[u8]) -> i32 {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    match try_open(path.to_str().unwrap(), 0) {
        Ok(_) => 0,
        Err(code) => code,
    }
}

#[test]
fn broken_documents_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let deep = "[".repeat(100_000);
    for (at, text) in [
        "{",
        "{}",
        "[]",
        "",
        "\0\0\0\0\0\0\0\0\0",
        r#"{"zarr_format": 3}"#,
        r#"{"zarr_format": 9, "node_type": "group"}"#,
        r#"{"zarr_format": 3, "node_type": "array", "shape": [-1]}"#,
        &format!(r#"{{"zarr_format": 3, "node_type": "group", "attributes": {{"a": {deep}"#),
    ]
    .iter()
    .enumerate()
    {
        for name in ["zarr.json", ".zgroup", ".zmetadata", "link"] {
            let status =
                open_text(folder.path(), &format!("{at}{name}.zarr/{name}"), text.as_bytes());
            assert!(status != 0 && status != -92, "{name}: {text:.60}: {status}");
        }
    }
}

/// Names that netCDF's programs have no memory for are hidden, with what is below them.
#[test]
fn names_that_do_not_fit_are_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.zarr");
    let hierarchy = zarr::create(&path, zarr::Dialect::V3).unwrap();
    let long = "n".repeat(200) + &"é".repeat(27);
    assert_eq!(long.len(), 254);
    let array = |name: &str| {
        hierarchy.create_array(name).shape([2]).data_type(zarr::DataType::Int8).create().unwrap()
    };
    let shown = array("/shown");
    shown
        .update_attributes(|attributes| {
            attributes.insert("@type", "hidden");
            attributes.insert("a".repeat(300), "hidden");
            attributes.insert("shown", 1u64);
        })
        .unwrap();
    array(&format!("/{long}"));
    array("/-odd");
    let open = open(&path);
    let mut counts = [0; 2];
    let [variables, attributes] = &mut counts;
    (table().inq)(open.id, null_out(), out(variables), null_out(), null_out());
    let id = variable(open.id, "shown");
    (table().inq_var_all)(
        open.id,
        id,
        null_name(),
        null_out(),
        null_out(),
        null_out(),
        out(attributes),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
        null_data(),
        null_out(),
        null_out(),
        null_out(),
        null_out(),
    );
    assert_eq!(counts, [2, 1]);
    variable(open.id, &long);
}
