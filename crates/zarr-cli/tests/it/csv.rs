//! `zarr put --format csv` reads what `zarr get --format csv` writes, and what others write (issue 13, point 26).

use crate::common::Folder;

#[test]
fn csv_of_every_type_reads_back() {
    let folder = Folder::new();
    let record = r#"[["a","<i2"],["e",[["x","|S2"],["y, z","<f4"]]],["q","|u1",2]]"#;
    for (n, (dtype, shape, json)) in [
        ("int32", "2,3", "[[1,-2,3],[4,5,2147483647]]"),
        ("uint64", "2", "[18446744073709551615,0]"),
        ("float64", "2,2", "[[0.1,\"NaN\"],[\"-Infinity\",1e300]]"),
        ("float16", "1,3", "[[0.5,\"Infinity\",-0.0]]"),
        ("complex64", "2,2", "[[[1.5,-2.0],[-1e-20,1e20]],[[\"NaN\",\"-Infinity\"],[0.0,0.0]]]"),
        ("bool", "3", "[true,false,true]"),
        ("|S3", "3", "[\"a,b\",\"\",\"é\"]"),
        ("<U4", "2,2", "[[\"a\\\"b\",\"a\\nb\"],[\"\",\"x\\r\\n\"]]"),
        ("string", "4", "[\"a, b\",\"\",\"\\\"\",\"two\\nlines\"]"),
        ("<M8[s]", "2", "[\"2020-12-31T23:59:59\",\"NaT\"]"),
        ("<m8[s]", "3", "[-5,\"NaT\",7]"),
        ("optional(int32)", "3", "[1,null,-3]"),
        ("optional(<U4)", "3", "[\"\",null,\"a,\"]"),
        (record, "2", r#"[{"a":-2,"e":{"x":"é","y, z":"NaN"},"q":[7,8]},{"a":1,"e":{"x":"","y, z":2.5},"q":[1,2]}]"#),
        ("int8", "", "7"),
        ("int8", "0", "[]"),
        ("int8", "1,3,1,2", "[[[[1,2]],[[3,4]],[[5,6]]]]"),
    ]
    .into_iter()
    .enumerate()
    {
        let format = if dtype == record { "v2" } else { "v3" };
        for array in ["a", "b"] {
            folder.good(&format!(
                "create {format} --path {array}{n} --format {format} --shape '{shape}' --dtype '{dtype}'"
            ));
        }
        let put = folder.feed(&format!("put {format}/a{n}"), json.as_bytes());
        assert_eq!((put.code, &*put.err), (0, ""), "{dtype}");
        let csv = folder.good(&format!("get {format}/a{n} --format csv"));
        let put = folder.feed(&format!("put {format}/b{n} --format csv"), &csv.out);
        assert_eq!((put.code, &*put.err), (0, ""), "{dtype}: {}", csv.text());
        let back = folder.good(&format!("get {format}/b{n}"));
        assert_eq!(back.text(), folder.good(&format!("get {format}/a{n}")).text(), "{dtype}");
    }
}

/// Bytes that are no text are said in base64, and so is a text that could be taken for that.
#[test]
fn bytes_that_are_no_text_read_back_from_csv() {
    let folder = Folder::new();
    let json = r#"[{"base64":"/w=="},"x","{\"base64\":\"eA==\"}","{\"base64\":\"?\"}","{\"base64\": \"eA==\"}",""]"#;
    let csv = r#""{""base64"":""/w==""}"
x
"{""base64"":""eyJiYXNlNjQiOiJlQT09In0=""}"
"{""base64"":""?""}"
"{""base64"": ""eA==""}"

"#;
    for (dtype, csv) in [("variable_length_bytes", Some(csv)), ("|S20", None)] {
        for array in ["a", "b"] {
            folder.good(&format!("create {array} --shape 6 --dtype '{dtype}' --overwrite"));
        }
        assert_eq!(folder.feed("put a", json.as_bytes()).code, 0, "{dtype}");
        let found = folder.good("get a --format csv");
        assert!(csv.is_none_or(|csv| found.text() == csv), "{dtype}: {}", found.text());
        let put = folder.feed("put b --format csv", &found.out);
        assert_eq!((put.code, &*put.err), (0, ""), "{dtype}");
        assert_eq!(folder.good("get b").text(), folder.good("get a").text(), "{dtype}");
        assert_eq!(folder.good("get b --format json").out, folder.good("get a --format json").out);
    }
    // Text is text.
    folder.good("create s --shape 1 --dtype string");
    let put = folder.feed("put s --format csv", br#""{""base64"":""eA==""}""#);
    assert_eq!((put.code, &*put.err), (0, ""));
    assert_eq!(folder.good("get s").text(), "[\"{\\\"base64\\\":\\\"eA==\\\"}\"]\n");
}

/// A double in between would round them.
#[test]
fn whole_numbers_with_a_fraction_or_an_exponent_are_exact() {
    let folder = Folder::new();
    folder.good("create i.zarr --path a --shape 2 --dtype int64");
    for (format, input) in
        [("json", "[9007199254740993.0,1e18]"), ("csv", "9007199254740993.0\n1e18\n")]
    {
        let put = folder.feed(&format!("put i.zarr/a --format {format}"), input.as_bytes());
        assert_eq!((put.code, &*put.err), (0, ""), "{format}");
        assert_eq!(folder.good("get i.zarr/a").text(), "[9007199254740993,1000000000000000000]\n");
    }
    for (input, why) in [
        ("[9007199254740993.5,1]", "expected an integer, found 9007199254740993.5"),
        ("[1e19,1]", "1e19 does not fit an int64"),
    ] {
        let put = folder.feed("put i.zarr/a", input.as_bytes());
        assert!(put.code == 2 && put.err.contains(why), "{}", put.err);
    }
}

#[test]
fn csv_of_others_is_read() {
    let folder = Folder::new();
    folder.good("create t.zarr --path f --shape 2,3 --dtype float32");
    // As numpy.savetxt and spreadsheets have it: a byte order mark, CRLF, quotes, NaN in lower case.
    let csv = b"\xef\xbb\xbf1.000e+00,nan,\"-3\"\r\n+4, 5 ,-inf\r\n";
    let put = folder.feed("put t.zarr/f --format csv", csv);
    assert_eq!((put.code, &*put.err), (0, ""));
    assert_eq!(
        folder.good("get t.zarr/f").text(),
        "[[1.0,\"NaN\",-3.0],[4.0,5.0,\"-Infinity\"]]\n"
    );
    // Into a part.
    let put = folder.feed("put t.zarr/f --region 1,1:3 --format csv", b"8,9");
    assert_eq!((put.code, &*put.err), (0, ""));
    assert_eq!(folder.good("get t.zarr/f --region 1,:").text(), "[[4.0,8.0,9.0]]\n");
    for (csv, why) in [
        (&b"1,2,3\n4,5\n"[..], "line 2 has 2 values, expected 3"),
        (b"1,2,3\n4,x,6\n", "line 2, value 2"),
        (b"1,2,3\n", "it ends after 1 line, expected 2"),
        (b"1,2,3\n4,5,6\n7,8,9\n", "line 3 is one too many"),
        (b"\xff", "not text in UTF-8"),
    ] {
        let put = folder.feed("put t.zarr --path f --format csv", csv);
        assert_eq!(put.code, 2, "{}", put.err);
        assert!(put.err.contains(why), "{}", put.err);
        assert!(put.err.contains("t.zarr: /f: standard input, read as CSV"), "{}", put.err);
    }
    folder.good("create t.zarr --path cube --shape 2,3,4 --dtype float32");
    let put = folder.feed("put t.zarr/cube --format csv", b"1");
    assert!(put.code == 2 && put.err.contains("at most two axes"), "{}", put.err);
}
