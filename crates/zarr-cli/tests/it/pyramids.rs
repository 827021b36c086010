//! `zarr pyramid` adds levels to images: whole or in parts, and after kills as if there had been none.

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
    assert!(why.contains("not all is made") && why.contains("--part"), "{why}");
    let told = folder.run("validate parts.zarr");
    assert!(told.text().contains("levels are being added to this image"), "{}", told.text());
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
