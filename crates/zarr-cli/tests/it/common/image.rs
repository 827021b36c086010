//! An OME-Zarr image of one level.

use super::Folder;

/// Makes an OME-Zarr image 0.5 at `target`, with one axis for each length of the shape, whose elements are all different.
pub fn image(folder: &Folder, target: &str, shape: &[u64], chunks: &[u64]) {
    let names = &["t", "c", "z", "y", "x"][5 - shape.len()..];
    let list = |lens: &[u64]| lens.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let (dims, lens, chunks) = (names.join(","), list(shape), list(chunks));
    let layout = format!("--shape {lens} --chunks {chunks} --dims {dims}");
    folder.good(&format!("create {target} --path 0 {layout} --dtype uint16 --codec gzip:1"));
    let count = shape.iter().product::<u64>();
    let bytes: Vec<u8> =
        (0..count).flat_map(|n| (n.wrapping_mul(40_503) as u16).to_le_bytes()).collect();
    let put = folder.feed(&format!("put {target} --path 0 --format raw"), &bytes);
    assert_eq!(put.code, 0, "{}", put.err);
    let axis = |name: &&str| match *name {
        "t" => r#"{"name":"t","type":"time"}"#.to_owned(),
        "c" => r#"{"name":"c","type":"channel"}"#.to_owned(),
        name => format!(r#"{{"name":"{name}","type":"space","unit":"micrometer"}}"#),
    };
    let axes = names.iter().map(axis).collect::<Vec<_>>().join(",");
    let scale = names.iter().map(|name| if *name == "z" { "2.0" } else { "1.0" });
    let scale = scale.collect::<Vec<_>>().join(",");
    let transformations = format!(r#"[{{"type":"scale","scale":[{scale}]}}]"#);
    let dataset = format!(r#"{{"path":"0","coordinateTransformations":{transformations}}}"#);
    let ome = format!(
        r#"{{"version":"0.5","multiscales":[{{"axes":[{axes}],"datasets":[{dataset}]}}]}}"#
    );
    folder.good(&format!("attrs {target} --set 'ome={ome}' --set operator=me"));
}
