//! Compares N5 containers with what zarr-python 2.18 and z5py read. Both show axes in the other order.

use zarr_core::{ErrorKind, Json, Node, NodePath};

use crate::common::{check_array, data, expected, open, options};

fn reversed(container: &str) -> String {
    format!("n5://axes=reversed::{}", data(container).display())
}

#[test]
fn elements_are_as_others_read_them() {
    for (container, described) in [("zarr2.n5", "zarr2.json"), ("z5.n5", "z5.json")] {
        let hierarchy = open(&reversed(container), &options()).unwrap();
        let described = expected(described);
        for (path, described) in described.as_object().unwrap().iter() {
            check_array(&hierarchy.array(path).unwrap(), described);
        }
    }
}

/// Axes as N5 has them: the first is the fastest in a block.
#[test]
fn axes_are_in_n5s_order_by_default() {
    let turned = open(&reversed("z5.n5"), &options()).unwrap().array("g/raw").unwrap();
    let plain = open(&data("z5.n5").display().to_string(), &options()).unwrap();
    let plain = plain.array("g/raw").unwrap();
    assert_eq!((turned.shape(), plain.shape()), (vec![2, 3, 5], vec![5, 3, 2]));
    let (turned, plain) = (turned.read::<i32>(..).unwrap(), plain.read::<i32>(..).unwrap());
    for (z, y, x) in (0..2).flat_map(|z| (0..3).flat_map(move |y| (0..5).map(move |x| (z, y, x)))) {
        assert_eq!(turned[(z * 3 + y) * 5 + x], plain[(x * 3 + y) * 2 + z]);
    }
}

#[test]
fn nodes_are_listed_and_blocks_are_none() {
    for url in [data("zarr2.n5").display().to_string(), reversed("zarr2.n5")] {
        let hierarchy = open(&url, &options()).unwrap();
        let root = hierarchy.root().unwrap();
        assert_eq!(root.attributes()["title"], "N5");
        let names = |group: &zarr_core::Group| -> Vec<String> {
            group
                .members()
                .unwrap()
                .iter()
                .map(|node| node.path().name().unwrap().to_owned())
                .collect()
        };
        assert_eq!(names(&root), ["f4", "f8", "group", "i1", "i4", "i8", "u1", "u2", "u4", "u8"]);
        let numeric = root.group("group/0").unwrap();
        assert_eq!(numeric.attributes()["numeric"], Json::Bool(true));
        let below = names(&numeric);
        assert_eq!(below, ["blosc", "bzip2", "gzip", "raw", "xz", "zlib", "zstd"]);
        let array = hierarchy.array("group/0/gzip").unwrap();
        assert_eq!(array.attributes()["units"], "nm");
        assert!(hierarchy.node(&NodePath::new("/group/0/gzip/0").unwrap()).is_err());
        assert!(array.stored_chunks().unwrap() >= 7);
    }
}

#[test]
fn a_node_inside_a_container_is_found() {
    let url = data("z5.n5").join("g/gzip").display().to_string();
    let (hierarchy, path) = zarr_core::Hierarchy::locate(&url, &options()).unwrap();
    assert_eq!(hierarchy.array(path).unwrap().shape(), [5, 3, 2]);
    let url = data("z5.n5").join("g").display().to_string();
    let node = zarr_core::Hierarchy::open_node(&url, &options()).unwrap();
    let Node::Group(group) = node else { panic!("a group") };
    assert_eq!(group.members().unwrap().len(), 7);
}

#[test]
fn what_is_not_known_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let write =
        |attributes: &str| std::fs::write(dir.path().join("attributes.json"), attributes).unwrap();
    let url = dir.path().display().to_string();
    write(
        r#"{"n5":"2.0.0","dimensions":[4],"blockSize":[2],"dataType":"int8","compression":{"type":"jpeg"}}"#,
    );
    let array = open(&url, &options()).unwrap().array("/").unwrap();
    let error = array.read::<i8>(..).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("n5:jpeg"), "{error}");
    write(r#"{"n5":"2.0.0","dimensions":[4],"blockSize":[2,2],"dataType":"int8"}"#);
    let error = open(&url, &options()).unwrap_err();
    assert!(error.to_string().contains("`blockSize` has 2"), "{error}");
}

/// Levels of n5-viewer become an image of OME-Zarr (V-072), whose arrays have the names of its axes.
#[test]
fn levels_are_an_image() {
    let dir = tempfile::tempdir().unwrap();
    let write = |folder: &str, attributes: &str| {
        let folder = dir.path().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("attributes.json"), attributes).unwrap();
    };
    write(".", r#"{"n5":"2.0.0","pixelResolution":{"unit":"um","dimensions":[0.5,0.5,2]}}"#);
    for (folder, shape, more) in [
        ("c0/s0", "[8,6,4]", ""),
        ("c0/s1", "[4,3,4]", r#","downsamplingFactors":[2,2,1]"#),
        ("c1/s0", "[8,6,4]", ""),
        ("lone/s3", "[8]", ""),
    ] {
        let more = format!(
            r#","blockSize":[4,4,4],"dataType":"uint8","compression":{{"type":"raw"}}{more}}}"#
        );
        let more = if shape == "[8]" { more.replace("[4,4,4]", "[4]") } else { more };
        write(folder, &format!(r#"{{"dimensions":{shape}{more}"#));
    }
    std::fs::write(dir.path().join("c1/s1"), "no folder").unwrap();
    for (axes, scale) in [("as-stored", "[1.0,1.0,2.0]"), ("reversed", "[2.0,1.0,1.0]")] {
        let url = match axes {
            "reversed" => format!("n5://axes=reversed::{}", dir.path().display()),
            _ => dir.path().display().to_string(),
        };
        let hierarchy = open(&url, &options()).unwrap();
        let image = hierarchy.group("c0").unwrap().attributes()["ome"]["multiscales"][0].clone();
        let second = &image["datasets"][1];
        assert_eq!(second["path"].as_str(), Some("s1"));
        assert_eq!(second["coordinateTransformations"][0]["scale"].to_string(), scale);
        let names = hierarchy.array("c0/s1").unwrap().dimension_names().unwrap();
        let names: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
        let expected = if axes == "reversed" { ["z", "y", "x"] } else { ["x", "y", "z"] };
        assert_eq!(names, expected);
        let one = hierarchy.group("c1").unwrap().attributes()["ome"]["multiscales"][0].clone();
        assert_eq!(one["datasets"].as_array().map(<[Json]>::len), Some(1));
        assert!(hierarchy.group("lone").unwrap().attributes().get("ome").is_none());
        assert!(hierarchy.array("lone/s3").unwrap().dimension_names().is_none());
    }
    // What is wrong with a level is its own error.
    write("c0/s1", "{}}");
    let hierarchy = open(&dir.path().display().to_string(), &options()).unwrap();
    let image = hierarchy.group("c0").unwrap().attributes()["ome"]["multiscales"][0].clone();
    assert_eq!(image["datasets"].as_array().map(<[Json]>::len), Some(1));
    assert!(hierarchy.array("c0/s1").is_err());
}
