//! The words and answers that other programs rely on stay the same.

use crate::common::{FORMATS, Folder};
use zarr::Json;

#[test]
fn tree_lists_nodes() {
    let folder = Folder::new();
    for format in FORMATS {
        folder.table(format, format);
        folder.good(&format!("create {format} --path /g --group"));
        let json = folder.good(&format!("tree {format} --json")).json();
        let nodes = json.as_object().unwrap().get("nodes").unwrap().as_array().unwrap().to_vec();
        let brief: Vec<(String, String)> = nodes
            .iter()
            .map(|node| {
                let member = |name| {
                    node.as_object().unwrap().get(name).unwrap().as_str().unwrap().to_owned()
                };
                (member("path"), member("node_type"))
            })
            .collect();
        let expected = [("/", "group"), ("/a", "array"), ("/g", "group")];
        assert_eq!(brief, expected.map(|(p, t)| (p.to_owned(), t.to_owned())), "{format}");
        assert_eq!(nodes[1].as_object().unwrap().get("shape").unwrap().to_string(), "[4,5]");
    }
}

#[test]
fn info_has_its_members() {
    let folder = Folder::new();
    for (format, data_type, codec) in [
        ("v3", "int32", "gzip"),
        ("v2", "<i4", "gzip"),
        ("draft-2020", "<i4", "https://purl.org/zarr/spec/codec/gzip/1.0"),
    ] {
        folder.good(&format!(
            "create {format} --path /a --format {format} --shape 100,200 --chunks 10,20 --dtype int32 \
             --fill -7 --codec gzip:3 --dims y,x --attr units=K --attr big=12345678901234567890123"
        ));
        let json = folder.good(&format!("info {format} --path /a --json")).json();
        let member = |name: &str| json.as_object().unwrap().get(name).unwrap().to_string();
        let text = |text: &str| Json::from(text).to_string();
        assert_eq!(member("format"), text(format));
        assert_eq!(member("node_type"), text("array"));
        assert_eq!(member("path"), text("/a"));
        assert_eq!(member("shape"), "[100,200]");
        assert_eq!(member("chunk_shape"), "[10,20]");
        assert_eq!(member("chunk_count"), "100");
        assert_eq!(member("data_type"), text(data_type));
        assert_eq!(member("fill_value"), "-7");
        assert_eq!(member("dimension_names"), r#"["y","x"]"#);
        assert_eq!(member("unsupported"), "[]");
        assert_eq!(member("warnings"), "[]");
        let gzip = format!("{{\"name\":\"{codec}\",\"configuration\":{{\"level\":3}}}}");
        assert!(member("codecs").ends_with(&format!("{gzip}]")), "{}", member("codecs"));
        let attributes = json.as_object().unwrap().get("attributes").unwrap();
        let attributes = attributes.as_object().unwrap();
        assert_eq!(attributes.get("units").unwrap().to_string(), "\"K\"");
        assert_eq!(attributes.get("big").unwrap().to_string(), "12345678901234567890123");

        let group = folder.good(&format!("info {format} --json")).json();
        let group = group.as_object().unwrap();
        assert_eq!(group.get("node_type").unwrap().to_string(), "\"group\"");
        assert_eq!(group.get("format").unwrap().to_string(), text(format));
        assert_eq!(group.get("attributes").unwrap().to_string(), "{}");
    }
}

#[test]
fn get_has_four_formats() {
    let folder = Folder::new();
    for format in FORMATS {
        folder.table(format, format);
        let raw = folder.good(&format!("get {format} --path /a --region 0:2,3:5 --format raw"));
        let expected: Vec<u8> = [4i32, 5, 9, 10].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(raw.out, expected);
        let json = folder.good(&format!("get {format} --path /a --region 0:2,3:5 --format json"));
        assert_eq!(json.text(), "[[4,5],[9,10]]\n");
        let csv = folder.good(&format!("get {format} --path /a --region 0:2,3:5 --format csv"));
        assert_eq!(csv.text(), "4,5\n9,10\n");
        let npy = folder.good(&format!("get {format} --path /a --region 0:2,3:5 --format npy"));
        assert_eq!(npy.out.len(), 128 + 16);
        assert!(npy.out.starts_with(
            b"\x93NUMPY\x01\x00v\x00{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }"
        ));
        assert_eq!(npy.out[128..], expected);
    }
}

#[test]
fn target_may_be_a_node_inside() {
    let folder = Folder::new();
    for format in FORMATS {
        folder.table(&format!("{format}/"), format);
        folder.good(&format!("create {format}/g/h --path b --shape 2 --dtype '|S3'"));
        let tree = folder.good(&format!("tree {format}"));
        assert_eq!(
            tree.text(),
            "/\n├── a  int32 (4, 5)\n└── g\n    └── h\n        └── b  |S3 (2,)\n"
        );
        assert_eq!(
            folder.good(&format!("tree {format}/g")).text(),
            "/\n└── h\n    └── b  |S3 (2,)\n"
        );
        assert_eq!(folder.good(&format!("get {format}/g --path /h/b")).text(), "[\"\",\"\"]\n");
        assert_eq!(folder.good(&format!("get {format}/a --region 3,:2")).text(), "[[16,17]]\n");
        let url = format!("file://{}", folder.path(format).display());
        assert_eq!(folder.good(&format!("get {url}/a --region 0,0")).text(), "[[1]]\n");
    }
}

#[test]
fn copies_are_equal_in_every_format() {
    let folder = Folder::new();
    for from in FORMATS {
        folder.table(from, from);
        folder.good(&format!("attrs {from} --path a --set 'text=\u{e9}' --set n=1e400"));
        let elements = folder.good(&format!("get {from}/a --format raw")).out;
        for to in FORMATS {
            let copy = format!("{from}-to-{to}");
            folder.good(&format!("copy {from} {copy} --to {to} --chunks 4,2 --codec zlib:1"));
            assert_eq!(folder.good(&format!("get {copy}/a --format raw")).out, elements);
            assert_eq!(folder.good(&format!("attrs {copy}/a")).text(), "text: é\nn: 1e400\n");
            let info = folder.good(&format!("info {copy}/a --json")).json();
            let info = info.as_object().unwrap();
            assert_eq!(info.get("format").unwrap().as_str(), Some(to));
            assert_eq!(info.get("chunk_shape").unwrap().to_string(), "[4,2]");
        }
    }
}
