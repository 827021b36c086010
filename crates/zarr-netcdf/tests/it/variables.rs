//! How variables are described.

use std::ffi::c_int;

use crate::common::*;

/// What is asked of a variable in one call.
#[derive(Debug, Default, PartialEq)]
struct Facts {
    name: String,
    ty: c_int,
    dimensions: Vec<c_int>,
    attributes: c_int,
    deflate: [c_int; 3],
    has_checksum: c_int,
    is_contiguous: c_int,
    chunks: [usize; 2],
    is_without_fill: c_int,
    endian: c_int,
}

fn facts(ncid: c_int, name: &str) -> Facts {
    let mut facts = Facts::default();
    let id = variable(ncid, name);
    let (mut rank, mut dimensions) = (0, [0; 4]);
    let [shuffle, deflate, level] = &mut facts.deflate;
    let found = name_of(|name| {
        (table().inq_var_all)(
            ncid,
            id,
            name,
            out(&mut facts.ty),
            out(&mut rank),
            out_list(&mut dimensions),
            out(&mut facts.attributes),
            out(shuffle),
            out(deflate),
            out(level),
            out(&mut facts.has_checksum),
            out(&mut facts.is_contiguous),
            out_list(&mut facts.chunks),
            out(&mut facts.is_without_fill),
            null_data(),
            out(&mut facts.endian),
            null_out(),
            null_out(),
            null_out(),
        )
    });
    facts.name = found.unwrap();
    facts.dimensions = dimensions[..rank as usize].to_vec();
    facts
}

#[test]
fn a_variable_tells_how_it_is_stored() {
    let (_folder, open) = example();
    let expected = Facts {
        name: "t".into(),
        ty: 5,
        dimensions: vec![0, 1],
        attributes: 1,
        deflate: [1, 1, 4],
        chunks: [2, 4],
        endian: 1,
        ..Facts::default()
    };
    assert_eq!(facts(open.id, "t"), expected);
    let scalar = facts(open.id, "scalar");
    assert_eq!((scalar.is_contiguous, scalar.dimensions, scalar.ty), (1, vec![], 6));
    assert_eq!((facts(open.id, "code").endian, facts(open.id, "name").ty), (0, 12));
    let g = group(open.id, "g");
    assert_eq!(facts(g, "n").dimensions, [2, 0]);
}

#[test]
fn filters_have_the_numbers_of_hdf5() {
    let (_folder, open) = example();
    let (t, x) = (variable(open.id, "t"), variable(open.id, "packed"));
    let (mut count, mut ids) = (9, [0; 2]);
    (table().inq_var_filter_ids)(open.id, t, out(&mut count), out_list(&mut ids));
    assert_eq!((count, ids), (1, [1, 0]));
    let mut level = 0;
    (table().inq_var_filter_info)(open.id, t, 1, out(&mut count), out(&mut level));
    assert_eq!((count, level), (1, 4));
    assert_eq!((table().inq_var_filter_info)(open.id, t, 2, null_out(), null_out()), ENOFILTER);
    assert_eq!((table().inq_var_filter_info)(open.id, x, 1, null_out(), null_out()), ENOFILTER);
    // Deflate, zstd, szip.
    let available = [1, 32015, 4].map(|filter| (table().inq_filter_avail)(open.id, filter));
    assert_eq!(available, [0, 0, ENOFILTER]);
}

#[test]
fn every_result_may_be_left_out() {
    let (_folder, open) = example();
    for name in ["t", "name", "scalar"] {
        let id = variable(open.id, name);
        let status = (table().inq_var_all)(
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
            null_out(),
            null_data(),
            null_out(),
            null_out(),
            null_out(),
            null_out(),
        );
        assert_eq!(status, 0, "{name}");
        let status = (table().get_var_chunk_cache)(open.id, id, null_out(), null_out(), null_out());
        assert_eq!(status, 0);
    }
    let mut size = 0;
    (table().get_var_chunk_cache)(open.id, 0, out(&mut size), null_out(), null_out());
    assert_eq!(size, 64 << 20);
}
