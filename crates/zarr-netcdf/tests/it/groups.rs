//! Groups and dimensions.

use crate::common::*;

#[test]
fn the_root_tells_what_is_in_it() {
    let (_folder, open) = example();
    let mut counts = [0; 4];
    let [dimensions, variables, attributes, unlimited] = &mut counts;
    let status =
        (table().inq)(open.id, out(dimensions), out(variables), out(attributes), out(unlimited));
    assert_eq!((status, counts), (0, [2, 6, 4, 0]));
    assert_eq!((table().inq)(open.id, null_out(), null_out(), null_out(), null_out()), 0);
    assert_eq!(name_of(|name| (table().inq_grpname)(open.id, name)).unwrap(), "/");
    assert_eq!((table().inq_grp_parent)(open.id, null_out()), ENOGRP);
}

#[test]
fn groups_are_found_by_their_names() {
    let (_folder, open) = example();
    let g = group(open.id, "g");
    assert_eq!(g, open.id | 1);
    let mut len = 0;
    let full = name_of(|name| (table().inq_grpname_full)(g, out(&mut len), name));
    assert_eq!((full.unwrap(), len), ("/g".to_owned(), 2));
    let (mut parent, mut by_path, mut root) = (0, 0, 0);
    (table().inq_grp_parent)(g, out(&mut parent));
    with_text(Some("/g"), |path| (table().inq_grp_full_ncid)(g, path, out(&mut by_path)));
    // ncdump asks for a group of no name.
    with_text(None, |name| (table().inq_ncid)(g, name, out(&mut root)));
    assert_eq!((parent, by_path, root), (open.id, g, open.id));
    for name in ["h", "", "g/h", "t"] {
        let status = with_text(Some(name), |name| (table().inq_ncid)(open.id, name, null_out()));
        assert_eq!(status, ENOGRP, "{name}");
    }
    let (mut count, mut ids) = (0, [0; 2]);
    (table().inq_grps)(open.id, out(&mut count), out_list(&mut ids));
    assert_eq!((count, ids), (1, [g, 0]));
}

#[test]
fn dimensions_are_numbered_through_the_file() {
    let (_folder, open) = example();
    let g = group(open.id, "g");
    let id = |ncid, name| {
        let mut id = -1;
        let status = with_text(Some(name), |name| (table().inq_dimid)(ncid, name, out(&mut id)));
        if status == 0 { id } else { status }
    };
    assert_eq!([id(open.id, "time"), id(open.id, "x"), id(g, "station")], [0, 1, 2]);
    assert_eq!((id(g, "time"), id(open.id, "station")), (0, EBADDIM));
    let mut len = 0;
    let name = name_of(|name| (table().inq_dim)(g, 0, name, out(&mut len)));
    assert_eq!((name.unwrap(), len), ("time".to_owned(), 3));
    assert_eq!((table().inq_dim)(g, 3, null_name(), null_out()), EBADDIM);
    assert_eq!((table().inq_dim)(g, -1, null_name(), null_out()), EBADDIM);
    let ids = |ncid, with_parents| {
        let (mut count, mut ids) = (0, [-1; 3]);
        (table().inq_dimids)(ncid, out(&mut count), out_list(&mut ids), with_parents);
        ids[..count as usize].to_vec()
    };
    assert_eq!((ids(g, 0), ids(g, 1), ids(open.id, 1)), (vec![2], vec![0, 1, 2], vec![0, 1]));
}

#[test]
fn unlimited_dimensions_are_the_groups_own() {
    let (_folder, open) = example();
    let g = group(open.id, "g");
    let of = |ncid| {
        let (mut count, mut ids, mut first) = (9, [-1; 2], 9);
        (table().inq_unlimdims)(ncid, out(&mut count), out_list(&mut ids));
        (table().inq_unlimdim)(ncid, out(&mut first));
        (count, ids[0], first)
    };
    assert_eq!((of(open.id), of(g)), ((1, 0, 0), (0, -1, 0)));
}
