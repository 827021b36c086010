//! `zarr pyramid` adds levels to images and maps: whole or in parts, and after kills as if there had been none.

use zarr::Json;

use crate::common::Folder;
use crate::common::image::image;

/// How many levels the image lists, if it has metadata.
fn levels(folder: &Folder, target: &str) -> usize {
    let attributes = folder.good(&format!("attrs {target} --json")).json();
    let image = &attributes["attributes"]["ome"]["multiscales"][0];
    let image = if image.is_null() { &attributes["ome"]["multiscales"][0] } else { image };
    image["datasets"].as_array().map_or(0, <[Json]>::len)
}

#[test]
fn a_pyramid_is_told_and_made() {
    let folder = Folder::new();
    image(&folder, "a.zarr", &[2, 40, 50], &[1, 8, 8]);
    let told = folder.good("pyramid a.zarr --dry-run");
    assert_eq!(
        told.text(),
        "/1  (2, 20, 25), chunks (1, 8, 8), mean of (1, 2, 2)\n\
         /2  (1, 10, 13), chunks (1, 8, 8), mean of (2, 4, 4)\n\
         /3  (1, 5, 7), chunks (1, 5, 7), mean of (2, 8, 8)\n"
    );
    let json = folder.good("pyramid a.zarr --dry-run --json").json();
    assert_eq!(json["levels"][2]["factors"], Json::from(&[2u64, 8, 8][..]));
    assert_eq!(levels(&folder, "a.zarr"), 1);
    folder.good("pyramid a.zarr");
    assert_eq!(levels(&folder, "a.zarr"), 4);
    folder.good("validate a.zarr");
    let first = folder.good("get a.zarr/0 --region 0,0:2,0:2 --format csv").text().to_owned();
    let first: Vec<i64> = first.split([',', '\n']).filter_map(|it| it.parse().ok()).collect();
    assert_eq!(first.len(), 4);
    let sum: i64 = first.iter().sum();
    let made = folder.good("get a.zarr/1 --region 0,0,0 --format csv");
    let made = made.text().trim().parse::<i64>().unwrap();
    assert!((4 * made - sum).abs() <= 2, "{made} of {first:?}");
    folder.good("pyramid a.zarr");
    assert_eq!(levels(&folder, "a.zarr"), 4);
}

#[test]
fn parts_are_finished_together() {
    let folder = Folder::new();
    image(&folder, "whole.zarr", &[70, 90], &[8, 8]);
    image(&folder, "parts.zarr", &[70, 90], &[8, 8]);
    folder.good("pyramid whole.zarr");
    for part in [3, 1] {
        folder.good(&format!("pyramid parts.zarr --part {part}/3"));
    }
    let why = folder.bad("pyramid parts.zarr", 2);
    assert!(why.contains("under way") && why.contains("--resume"), "{why}");
    let why = folder.bad("pyramid parts.zarr --finish", 2);
    assert!(why.contains("unfinished levels") && why.contains("--part"), "{why}");
    let told = folder.run("validate parts.zarr");
    assert!(told.text().contains("levels are still being added to this image"), "{}", told.text());
    assert_eq!(levels(&folder, "parts.zarr"), 1);
    folder.bad("get parts.zarr/1", 3);
    folder.good("pyramid parts.zarr --part 2/3");
    folder.good("pyramid parts.zarr --finish");
    folder.good("diff whole.zarr parts.zarr");
    folder.good("validate parts.zarr");
}

#[test]
fn a_pyramid_begins_anew_if_that_is_asked_for() {
    let folder = Folder::new();
    image(&folder, "a.zarr", &[70, 90], &[8, 8]);
    folder.good("pyramid a.zarr --part 1/2 --method max");
    folder.good("pyramid a.zarr --restart --method min --chunks 16,16");
    image(&folder, "b.zarr", &[70, 90], &[8, 8]);
    folder.good("pyramid b.zarr --method min --chunks 16,16");
    folder.good("diff a.zarr b.zarr");
    folder.good("validate a.zarr");
}

/// The journal of a pyramid stays where its image is erased, renamed, or repaired as a hierarchy of its own: what is there in its
/// place gets levels of its own.
#[test]
fn a_pyramid_of_an_image_that_is_gone_is_not_believed() {
    let folder = Folder::new();
    image(&folder, "whole.zarr", &[70, 90], &[8, 8]);
    folder.good("pyramid whole.zarr");
    for line in ["rm a.zarr --path cells --force", "rename a.zarr --path cells other", ""] {
        folder.good("create a.zarr --group");
        image(&folder, "a.zarr/cells", &[70, 90], &[8, 8]);
        folder.good("pyramid a.zarr --path cells --part 1/2");
        if line.is_empty() {
            let run = folder.run("repair a.zarr/cells --orphans --apply");
            assert!(run.text().contains("1/c/0/0"), "{run:?}");
        } else {
            folder.good(line);
            image(&folder, "a.zarr/cells", &[70, 90], &[8, 8]);
        }
        let why = folder.bad("pyramid a.zarr --path cells", 2);
        assert!(why.contains("under way") && why.contains("--resume"), "{line}: {why}");
        folder.good("pyramid a.zarr --path cells --resume");
        folder.good("diff whole.zarr a.zarr/cells");
        std::fs::remove_dir_all(folder.path("a.zarr")).unwrap();
    }
}

/// A dataset of two variables on latitudes and longitudes.
fn map(folder: &Folder, target: &str) {
    let (rows, columns) = (70, 90);
    let count = rows * columns;
    let bytes: Vec<u8> = (0..count as u32).flat_map(|n| (n as f32 / 8.0).to_le_bytes()).collect();
    let latitudes: Vec<u8> = (0..rows).flat_map(|n| (35.0 - n as f64).to_le_bytes()).collect();
    let longitudes: Vec<u8> = (0..columns).flat_map(|n| (n as f64).to_le_bytes()).collect();
    for (name, layout, bytes) in [
        ("t2m", "--shape 70,90 --chunks 8,8 --dims lat,lon --dtype float32", &bytes),
        ("wind", "--shape 70,90 --chunks 16,8 --dims lat,lon --dtype float32", &bytes),
        ("lat", "--shape 70 --dims lat --dtype float64", &latitudes),
        ("lon", "--shape 90 --dims lon --dtype float64", &longitudes),
    ] {
        folder.good(&format!("create {target} --path {name} {layout}"));
        let put = folder.feed(&format!("put {target} --path {name} --format raw"), bytes);
        assert_eq!(put.code, 0, "{}", put.err);
    }
    folder.good(&format!("attrs {target} --path lat --set units=degrees_north"));
    folder.good(&format!("attrs {target} --path lon --set units=degrees_east"));
}

/// How many levels the map lists.
fn layout(folder: &Folder, target: &str) -> usize {
    let attributes = folder.good(&format!("attrs {target} --json")).json();
    let attributes = attributes.get("attributes").cloned().unwrap_or(attributes);
    attributes["multiscales"]["layout"].as_array().map_or(0, <[Json]>::len)
}

#[test]
fn levels_of_a_map_are_told_and_made() {
    let folder = Folder::new();
    map(&folder, "m.zarr");
    let why = folder.bad("pyramid m.zarr", 2);
    assert!(why.contains("`--convention geo`"), "{why}");
    let told = folder.good("pyramid m.zarr --convention geo --levels 2 --dry-run");
    assert_eq!(
        told.text(),
        "/ovr_2x/t2m  (35, 45), chunks (8, 8), mean of (2, 2)\n\
         /ovr_2x/wind  (35, 45), chunks (16, 8), mean of (2, 2)\n"
    );
    folder.good("pyramid m.zarr --convention geo");
    assert_eq!(layout(&folder, "m.zarr"), 5);
    folder.good("validate m.zarr");
    let made = folder.good("get m.zarr/ovr_2x/t2m --region 0,0 --format csv");
    assert_eq!(made.text().trim(), "5.6875");
    let made = folder.good("get m.zarr/ovr_16x/lat --region 0 --format csv");
    assert_eq!(made.text().trim(), "27.5");
    // The group lists its levels now.
    let told = folder.good("pyramid m.zarr --dry-run");
    assert!(told.text().contains("nothing to do"), "{}", told.text());
}

/// As the page of pyramids advises for readers that open all groups together.
#[test]
fn a_dataset_is_copied_to_be_the_first_of_its_levels() {
    let folder = Folder::new();
    map(&folder, "m.zarr");
    folder.good("copy m.zarr levels.zarr --at 0");
    folder.good("pyramid levels.zarr --convention geo");
    assert_eq!(layout(&folder, "levels.zarr"), 5);
    folder.good("get levels.zarr/4/wind");
    folder.good("validate levels.zarr");
}

#[test]
#[cfg(unix)]
fn killed_pyramids_of_maps_go_on() {
    use crate::common::killed::kill_all;
    for (name, options) in [("maps", ""), ("maps by the journal", "--part 1/1")] {
        let folder = Folder::new();
        map(&folder, "whole.zarr");
        folder.good("pyramid whole.zarr --convention geo");
        let prepare = |target: &str| map(&folder, target);
        let line = |target: &str| format!("pyramid {target} --convention geo {options}");
        kill_all(&folder, name, line, prepare, |target, place| {
            // What is listed is whole.
            let count = layout(&folder, target);
            assert!([0, 5].contains(&count), "{place}: {count} levels");
            if count == 5 {
                folder.good(&format!("diff whole.zarr {target}"));
            }
            let run = folder.run(&format!("pyramid {target} --convention geo --resume"));
            assert_eq!(run.code, 0, "{place}: {}", run.err);
            folder.good(&format!("diff whole.zarr {target}"));
        });
    }
}

#[test]
#[cfg(unix)]
fn killed_pyramids_go_on() {
    use crate::common::killed::kill_all;
    for (name, options) in [("pyramids", ""), ("pyramids by the journal", "--part 1/1")] {
        let folder = Folder::new();
        image(&folder, "whole.zarr", &[2, 70, 90], &[1, 8, 8]);
        folder.good("pyramid whole.zarr");
        let prepare = |target: &str| image(&folder, target, &[2, 70, 90], &[1, 8, 8]);
        let line = |target: &str| format!("pyramid {target} {options}");
        kill_all(&folder, name, line, prepare, |target, place| {
            // What is listed is whole.
            let count = levels(&folder, target);
            assert!([1, 5].contains(&count), "{place}: {count} levels");
            if count == 5 {
                folder.good(&format!("diff whole.zarr {target}"));
            }
            let run = folder.run(&format!("pyramid {target} --resume"));
            assert_eq!(run.code, 0, "{place}: {}", run.err);
            folder.good(&format!("diff whole.zarr {target}"));
        });
    }
}

/// The elements of labels are names of objects: levels of them invent none.
#[test]
fn levels_of_labels_have_no_new_labels() {
    let folder = Folder::new();
    let image = r#"{"axes":[{"name":"y","type":"space"},{"name":"x","type":"space"}],"datasets":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[1,1]}]}]}"#;
    for (place, labels, is_marked) in
        [("a.zarr/n", None, true), ("b.zarr/labels/n", Some("b.zarr/labels"), false)]
    {
        if let Some(labels) = labels {
            folder.good(&format!(
                "create {labels} --group --attr ome={{\"version\":\"0.5\",\"labels\":[\"n\"]}}"
            ));
        }
        let label = if is_marked { r#","image-label":{}"# } else { "" };
        folder.good(&format!("create {place} --group --attr ome={{\"version\":\"0.5\"{label},\"multiscales\":[{image}]}}"));
        folder
            .good(&format!("create {place}/0 --shape 2,4 --chunks 1,2 --dtype uint32 --dims y,x"));
        assert_eq!(
            folder.feed(&format!("put {place}/0"), b"[[10,20,20,30],[10,20,40,30]]").code,
            0
        );
        let refused = folder.bad(&format!("pyramid {place} --levels 2 --method mean"), 2);
        assert!(refused.contains("labels that do not exist"), "{refused}");
        folder.good(&format!("pyramid {place} --levels 2"));
        assert_eq!(folder.good(&format!("get {place}/1 --format csv")).text(), "10,30\n");
    }
}

/// An image of OME-Zarr 0.4 whose arrays name their axes, as xarray does: xarray takes the fill value 0 for a missing one, and programs for
/// images take it for black.
#[test]
fn black_is_no_missing_value_of_an_image() {
    let folder = Folder::new();
    folder.good("create a.zarr/0 --as v2 --shape 2,2 --dtype uint16 --dims y,x --fill 0");
    folder.feed("put a.zarr/0", b"[[100,0],[0,8]]");
    let image = r#"multiscales=[{"version":"0.4","axes":[{"name":"y","type":"space"},{"name":"x","type":"space"}],"datasets":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[1,1]}]}]}]"#;
    let set = folder.command("attrs a.zarr --set").arg(image).output().unwrap();
    assert!(set.status.success());
    for target in ["a.zarr/0", "a.zarr --path 0"] {
        let stats = folder.good(&format!("stats {target}")).text().to_owned();
        assert!(stats.contains("count          4"), "{target}: {stats}");
    }
    folder.good("copy a.zarr b.zarr --to v3 --quiet");
    folder.good("copy a.zarr/0 c.zarr --to v3");
    for name in ["b.zarr/0", "c.zarr"] {
        let attributes = folder.good(&format!("attrs {name}")).text().to_owned();
        assert!(!attributes.contains("_FillValue"), "{name}: {attributes}");
        let of = |target: &str| folder.good(&format!("checksum {target}")).text().to_owned();
        assert_eq!(of("a.zarr/0"), of(name), "{name}");
    }
    folder.good("diff a.zarr b.zarr");
    folder.good("copy b.zarr d.zarr --to v2 --quiet");
    let document = std::fs::read_to_string(folder.path("d.zarr/0/.zarray")).unwrap();
    assert!(document.contains("\"fill_value\": 0"), "{document}");
    // Of other arrays the rule is that of xarray.
    folder.good("create e.zarr/x --as v2 --shape 2,2 --dtype uint16 --dims y,x --fill 0");
    folder.good("copy e.zarr f.zarr --to v3");
    assert!(folder.good("attrs f.zarr/x").text().contains("_FillValue"));
    // One factor for each axis, in the order of the axes.
    assert!(folder.bad("pyramid b.zarr --factor 1,2,2", 2).contains("has the axes y, x"));
    folder.good("pyramid b.zarr --levels 2 --factor 1,2");
    assert_eq!(folder.good("get b.zarr/1").text(), "[[50],[4]]\n");
}
