//! Elements are printed and read back unchanged.

use crate::common::{FORMATS, Folder};

#[test]
fn get_says_every_type() {
    let folder = Folder::new();
    for (dtype, json, csv) in [
        ("bool", "[true,false]", "true\nfalse\n"),
        (
            "int64",
            "[-9223372036854775808,9223372036854775807]",
            "-9223372036854775808\n9223372036854775807\n",
        ),
        ("uint64", "[18446744073709551615,0]", "18446744073709551615\n0\n"),
        ("float16", "[0.1,\"-Infinity\"]", "0.1\n-Infinity\n"),
        ("float64", "[0.1,\"NaN\"]", "0.1\nNaN\n"),
        ("complex64", "[[1.0,-2.5],[0.0,\"NaN\"]]", "1.0-2.5j\n0.0+NaNj\n"),
        (
            "|S4",
            "[\"ab\",{\"base64\":\"/wAAAA==\"}]",
            "ab\n\"{\"\"base64\"\":\"\"/wAAAA==\"\"}\"\n",
        ),
        ("<U2", "[\"é\",\"a,\"]", "é\n\"a,\"\n"),
        ("r24", "[\"AQID\",\"AAAA\"]", "AQID\nAAAA\n"),
        (">M8[25s]", "[\"2020-01-01T00:00:00\",\"NaT\"]", "2020-01-01T00:00:00\nNaT\n"),
        ("m8[D]", "[-5,\"NaT\"]", "-5\nNaT\n"),
    ] {
        for format in FORMATS {
            let target = format!("{format}-{}", dtype.trim_matches(['|', '<', '>']));
            folder.good(&format!("create {target} --format {format} --shape 2 --dtype {dtype}"));
            let put = folder.feed(&format!("put {target}"), json.as_bytes());
            assert_eq!((put.code, &*put.err), (0, ""), "{dtype}");
            assert_eq!(folder.good(&format!("get {target}")).text(), format!("{json}\n"));
            assert_eq!(folder.good(&format!("get {target} --json")).text(), format!("{json}\n"));
            assert_eq!(folder.good(&format!("get {target} --format csv")).text(), csv);
            let lines = folder.good(&format!("get {target} --format jsonl"));
            assert_eq!(format!("[{}]", lines.text().trim_end().replace('\n', ",")), json);
            for format in ["raw", "npy"] {
                let bytes = folder.good(&format!("get {target} --format {format}")).out;
                assert_eq!(folder.feed(&format!("put {target} --format {format}"), &bytes).code, 0);
            }
            assert_eq!(folder.good(&format!("get {target}")).text(), format!("{json}\n"));
        }
    }
}

/// F-052 … F-055.
#[test]
fn narrow_numbers_go_in_and_out_by_their_value() {
    let folder = Folder::new();
    for (dtype, json, csv, raw) in [
        ("int4", "[-5,7]", "-5\n7\n", &[0x0b, 0x07][..]),
        ("uint2", "[3,0]", "3\n0\n", &[3, 0]),
        ("bfloat16", "[0.1,\"NaN\"]", "0.1\nNaN\n", &[0xcd, 0x3d, 0xc0, 0x7f]),
        ("float8_e4m3fn", "[1.0,450.0]", "1.0\n450.0\n", &[0x38, 0x7e]),
        ("complex_float4_e2m1fn", "[[1.0,-6.0],[0.0,0.5]]", "1.0-6.0j\n0.0+0.5j\n", &[2, 15, 0, 1]),
    ] {
        let target = format!("{dtype}.zarr");
        folder.good(&format!("create {target} --shape 2 --dtype {dtype} --codec crc32c"));
        let put = folder.feed(&format!("put {target}"), json.as_bytes());
        assert_eq!((put.code, &*put.err), (0, ""), "{dtype}");
        assert_eq!(folder.good(&format!("get {target}")).text(), format!("{json}\n"));
        assert_eq!(folder.good(&format!("get {target} --format csv")).text(), csv);
        let bytes = folder.good(&format!("get {target} --format raw")).out;
        assert_eq!(bytes, raw, "{dtype}");
        assert_eq!(folder.feed(&format!("put {target} --format raw"), &bytes).code, 0);
        assert_eq!(folder.good(&format!("get {target}")).text(), format!("{json}\n"));
        assert!(folder.good(&format!("info {target}")).text().contains(dtype));
        let refused = folder.bad(&format!("get {target} --format npy"), 2);
        let why = format!("the .npy format cannot represent the type `{dtype}`; use --format raw");
        assert!(refused.contains(&why), "{refused}");
        let other = format!("create v2-{dtype} --format v2 --shape 2 --dtype {dtype}");
        assert!(folder.bad(&other, 4).contains("choose another type, or v3"));
    }
    assert!(folder.feed("put int4.zarr", b"[8,0]").err.contains("8 does not fit an int4"));
}

#[test]
fn what_is_missing_is_null() {
    let folder = Folder::new();
    for (name, dtype, json, csv, raw) in [
        ("a", "int4", "[-5,null]", "-5\n\n", &[1, 0x0b, 0, 0][..]),
        ("b", "float32", "[\"NaN\",null]", "NaN\n\n", &[1, 0, 0, 0xc0, 0x7f, 0, 0, 0, 0, 0]),
        ("c", "complex_float4_e2m1fn", "[[1.0,0.5],null]", "1.0+0.5j\n\n", &[1, 2, 1, 0, 0, 0]),
        ("d", "optional(uint8)", "[[null],[7]]", "[null]\n[7]\n", &[1, 0, 0, 1, 1, 7]),
        ("e", "optional(uint8)", "[null,[0]]", "\n[0]\n", &[0, 0, 0, 1, 1, 0]),
    ] {
        folder.good(&format!("create {name}.zarr --shape 2 --dtype optional({dtype})"));
        assert_eq!(folder.good(&format!("get {name}.zarr")).text(), "[null,null]\n");
        let put = folder.feed(&format!("put {name}.zarr"), json.as_bytes());
        assert_eq!((put.code, &*put.err), (0, ""), "{dtype}");
        assert_eq!(folder.good(&format!("get {name}.zarr")).text(), format!("{json}\n"));
        let lines = folder.good(&format!("get {name}.zarr --format jsonl"));
        assert_eq!(format!("[{}]", lines.text().trim_end().replace('\n', ",")), json);
        assert_eq!(folder.good(&format!("get {name}.zarr --format csv")).text(), csv);
        let bytes = folder.good(&format!("get {name}.zarr --format raw")).out;
        assert_eq!(bytes, raw, "{dtype}");
        folder.good(&format!("create {name}2.zarr --shape 2 --dtype optional({dtype})"));
        assert_eq!(folder.feed(&format!("put {name}2.zarr --format raw"), &bytes).code, 0);
        assert_eq!(folder.good(&format!("get {name}2.zarr")).text(), format!("{json}\n"));
        let info = folder.good(&format!("info {name}.zarr"));
        assert!(info.text().contains(&format!("optional({dtype})")), "{}", info.text());
        assert!(info.text().contains("fill value   missing"), "{}", info.text());
        let refused = folder.bad(&format!("get {name}.zarr --format npy"), 2);
        assert!(
            refused.contains("the .npy format cannot represent the type `optional"),
            "{refused}"
        );
        let other = format!("copy {name}.zarr {name}3.zarr --to v2");
        assert!(folder.bad(&other, 4).contains("choose v3"));
    }
    // A flat list of as many is taken for nested ones, but not where elements are lists.
    folder.good("create f.zarr --shape 2,2 --dtype optional(uint8) --fill [9]");
    assert_eq!(folder.feed("put f.zarr --region 0:2,0:1", b"[1,null]").code, 0);
    assert_eq!(folder.good("get f.zarr").text(), "[[1,9],[null,9]]\n");
    let text = folder.good("info f.zarr --json").text().to_owned();
    assert!(text.contains("\"data_type_name\": \"optional(uint8)\""), "{text}");
    assert!(folder.feed("put d.zarr", b"[7,null]").err.contains("null or a list of one value"));
}

#[test]
fn get_takes_odd_shapes() {
    let folder = Folder::new();
    folder.good("create s.zarr --shape '' --dtype float32 --fill 1.5");
    assert_eq!(folder.good("get s.zarr").text(), "1.5\n");
    assert_eq!(folder.good("get s.zarr --region ''").text(), "1.5\n");
    assert_eq!(folder.good("get s.zarr --format csv").text(), "1.5\n");
    folder.good("create e.zarr --shape 2,0 --chunks 1,1 --dtype int8");
    assert_eq!(folder.good("get e.zarr").text(), "[[],[]]\n");
    assert_eq!(folder.good("get e.zarr --format raw").out, b"");
    assert_eq!(folder.good("get e.zarr --format npy").out.len(), 128);
    folder.good("create c.zarr --shape 2,3,4 --dtype uint8 --fill 1");
    assert!(folder.bad("get c.zarr --format csv", 2).contains("3 axes are longer than 1"));
    assert_eq!(folder.good("get c.zarr --format csv --region 0:2,1,1:4").text(), "1,1,1\n1,1,1\n");
    assert_eq!(folder.good("get c.zarr --region '1 , 2 , :2'").text(), "[[[1,1]]]\n");
    assert_eq!(folder.good("get c.zarr --format jsonl").text(), "1\n".repeat(24));
    assert_eq!(folder.good("get s.zarr --format jsonl").text(), "1.5\n");
    assert_eq!(folder.good("get e.zarr --format jsonl").out, b"");
}

#[test]
fn put_replaces_a_region() {
    let folder = Folder::new();
    for format in FORMATS {
        folder.table(format, format);
        let run = folder.feed(&format!("put {format}/a --region 1:3,2:4"), b"[[-1,-2],[-3,-4]]");
        assert_eq!((run.code, &*run.err), (0, ""));
        let text = folder.good(&format!("get {format}/a --format csv"));
        assert_eq!(text.text(), "1,2,3,4,5\n6,7,-1,-2,10\n11,12,-3,-4,15\n16,17,18,19,20\n");
        let off = folder.feed(&format!("put {format}/a --region 0,0 --guard off"), b"[[7]]");
        assert_eq!(off.code, 0, "{}", off.err);
    }
}

#[test]
fn regions_have_steps_lists_and_negative_numbers() {
    let folder = Folder::new();
    for format in FORMATS {
        folder.table(format, format);
        let get = |region: &str| {
            let region = format!("get {format}/a --region {region} --format csv");
            folder.good(&region).text().to_owned()
        };
        assert_eq!(get("::2,-1"), "5\n15\n");
        assert_eq!(get("::-1,::-2"), "20,18,16\n15,13,11\n10,8,6\n5,3,1\n");
        assert_eq!(get("[3,0,0],1:3"), "17,18\n2,3\n2,3\n");
        let run = folder.feed(&format!("put {format}/a --region ::-3,[4,0]"), b"[[-1,-2],[-3,-4]]");
        assert_eq!((run.code, &*run.err), (0, ""));
        let run = folder.feed(&format!("put {format}/a --region 1,[2,2]"), b"[[7,8]]");
        assert_eq!((run.code, &*run.err), (0, ""), "the last one stays");
        assert_eq!(get(":,:"), "-4,2,3,4,-3\n6,7,8,9,10\n11,12,13,14,15\n-2,17,18,19,-1\n");
    }
}

#[test]
fn regions_are_told_by_the_names_of_dimensions() {
    let folder = Folder::new();
    folder.good("create n.zarr --shape 2,3,4 --dtype int8 --dims time,lat,lon");
    let run = folder.feed("put n.zarr --by-name lon=1:3,time=-1", b"[[[1,2],[3,4],[5,6]]]");
    assert_eq!((run.code, &*run.err), (0, ""));
    let get = |names: &str| folder.good(&format!("get n.zarr --by-name {names}")).text().to_owned();
    assert_eq!(get("time=1"), "[[[0,1,2,0],[0,3,4,0],[0,5,6,0]]]\n");
    assert_eq!(get("time=1,lon=[2,1],lat=::-2"), "[[[6,5],[2,1]]]\n");
    let why = folder.bad("get n.zarr --by-name x=1", 2);
    assert!(why.contains("no dimension `x`; the array has `time`, `lat`, `lon`"), "{why}");
}

#[test]
fn put_takes_only_what_is_due() {
    let folder = Folder::new();
    folder.table("t.zarr", "v3");
    let put = |line: &str, input: &[u8]| {
        let run = folder.feed(&format!("put t.zarr/a {line}"), input);
        assert_eq!(run.code, 2, "{}", run.err);
        run.err
    };
    assert!(put("--format raw", &[1; 79]).contains("ends after 79 bytes of elements, expected 80"));
    assert!(put("--format raw", &[1; 81]).contains("continues after the 80 bytes"));
    assert!(put("--format raw", &[1; 10_000_000]).contains("continues after the 80 bytes"));
    assert!(put("--region 0,0:2", b"[[1,2,3]]").contains("expected a list of 2 elements, found 3"));
    assert!(put("--region 0,0:2", b"[1,2").contains("is not JSON"));
    assert!(put("--region 0,0:2", b"[1,2147483648]").contains("does not fit an int32"));
    assert!(put("--region 0,0:2", b"").contains("empty"));
    assert!(put("--format npy", b"\x93NUMPY").contains("a NumPy file, is not a NumPy file"));
    let floats = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }";
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((floats.len() as u16).to_le_bytes());
    npy.extend(floats);
    assert!(put("--format npy", &npy).contains("holds `<f8`, the array `<i4` (int32)"));
    // Nothing of it was written.
    let text = folder.good("get t.zarr/a --format csv");
    assert!(text.text().starts_with("1,2,3,4,5\n"));
}

#[test]
fn put_turns_byte_order_and_axes() {
    let folder = Folder::new();
    folder.good("create t.zarr --shape 2,3 --dtype int16");
    let header = b"{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n";
    let mut npy = b"\x93NUMPY\x02\x00".to_vec();
    npy.extend((header.len() as u32).to_le_bytes());
    npy.extend(header);
    npy.extend([1i16, 4, 2, 5, 3, 6].iter().flat_map(|n| n.to_be_bytes()));
    assert_eq!(folder.feed("put t.zarr --format npy", &npy).err, "");
    assert_eq!(folder.good("get t.zarr").text(), "[[1,2,3],[4,5,6]]\n");
}

#[test]
fn records_go_out_and_come_in() {
    let folder = Folder::new();
    let words = r#"[["a","<i4"],["b",">f8"],["e",[["x","|S2"],["y","|b1"]]]]"#;
    let json =
        r#"[{"a":1,"b":2.5,"e":{"x":"é","y":true}},{"a":-1,"b":"NaN","e":{"x":"","y":false}}]"#;
    for format in FORMATS {
        let target = format!("{format}.zarr");
        folder.good(&format!("create {target} --format {format} --shape 2 --dtype '{words}'"));
        let put = folder.feed(&format!("put {target}"), json.as_bytes());
        assert_eq!((put.code, &*put.err), (0, ""));
        assert_eq!(folder.good(&format!("get {target}")).text(), format!("{json}\n"));
        let csv = folder.good(&format!("get {target} --format csv"));
        assert_eq!(csv.text(), "a,b,e.x,e.y\n1,2.5,é,true\n-1,NaN,,false\n");
        for bytes in ["raw", "npy"] {
            let out = folder.good(&format!("get {target} --format {bytes}")).out;
            folder.feed(&format!("put {target}"), br#"[{"a":0,"b":0,"e":{"x":"","y":true}}]"#);
            assert_eq!(folder.feed(&format!("put {target} --format {bytes}"), &out).code, 0);
            assert_eq!(folder.good(&format!("get {target}")).text(), format!("{json}\n"));
        }
        let info = folder.good(&format!("info {target}"));
        let order = if format == "v3" { "" } else { ", big-endian" };
        assert!(info.text().contains(&format!("b: float64{order}\n")), "{}", info.text());
        let info = folder.good(&format!("info {target} --json"));
        assert!(info.text().contains("\"offset\": 12"), "{}", info.text());
    }
}

/// The file is what `numpy.save` of NumPy 2.4 wrote for `numpy.array([(1, [2, 3])], …)`, the type being
/// `[('a', '>i2'), ('q', '<u2', (2,))]`.
#[test]
fn records_of_numpy_are_turned_field_by_field() {
    let folder = Folder::new();
    folder.good(r#"create a.zarr --format v2 --shape 1 --dtype '[["a","<i2"],["q",">u2",[2]]]'"#);
    let mut file = b"\x93NUMPY\x01\x00v\x00".to_vec();
    file.extend(
        b"{'descr': [('a', '>i2'), ('q', '<u2', (2,))], 'fortran_order': False, 'shape': (1,), }",
    );
    file.resize(127, b' ');
    file.extend(b"\n\x00\x01\x02\x00\x03\x00");
    let put = folder.feed("put a.zarr --format npy", &file);
    assert_eq!((put.code, &*put.err), (0, ""));
    assert_eq!(folder.good("get a.zarr").text(), "[{\"a\":1,\"q\":[2,3]}]\n");
    let saved = folder.good("get a.zarr --format npy").out;
    assert!(
        saved.starts_with(b"\x93NUMPY\x01\x00v\x00{'descr': [('a', '<i2'), ('q', '<u2', (2,))], ")
    );
    assert!(saved.ends_with(b"\n\x01\x00\x02\x00\x03\x00"));
    file[21..28].copy_from_slice(b"('b', '");
    let wrong = folder.feed("put a.zarr --format npy", &file);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("x.astype([('a', '<i2'), ('q', '<u2', (2,))])"), "{}", wrong.err);
    let twice = r#"create x.zarr --shape 1 --dtype '[["a","<i2"],["a","<i2"]]'"#;
    assert!(folder.bad(twice, 2).contains("duplicate field `a`"));
    folder.good(r#"create t.zarr --shape 2,2 --dtype '[["a","<i2"]]'"#);
    let why = folder.bad("get t.zarr --format csv", 2);
    assert!(why.contains("at most one such axis"), "{why}");
    assert_eq!(folder.good("get t.zarr --format csv --region 0,:").text(), "a\n0\n0\n");
}
