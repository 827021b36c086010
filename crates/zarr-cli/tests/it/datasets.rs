//! Datasets as xarray sees them: described, cut by coordinates, and made longer.
#![cfg(feature = "plot")]

use std::fs;

use zarr::Json;

use crate::common::Folder;

fn put(folder: &Folder, place: &str, json: &str) {
    let put = folder.feed(&format!("put {place}"), json.as_bytes());
    assert_eq!((put.code, &*put.err), (0, ""), "{place}");
}

/// Temperatures of some months of 2023, packed, with coordinates, bounds, a mask and a grid mapping; and rain.
fn dataset(folder: &Folder, name: &str, format: &str, units: &str, days: &[i64]) {
    let create =
        |rest: &str| folder.good(&format!("create {name}/{rest} --format {format} --fill=-99"));
    let n = days.len();
    let cf = "--attr scale_factor=0.5 --attr add_offset=270 --attr _FillValue=-1 --attr units=K";
    let names = "--attr grid_mapping=crs --attr ancillary_variables=flag";
    create(&format!(
        "t2m --shape {n},4 --chunks 2,4 --dtype int16 --dims time,lat {cf} {names} --attr \
         'long_name=2 metre temperature'"
    ));
    create(&format!("rain --shape {n},4 --chunks 2,4 --dtype float32 --dims time,lat"));
    create(&format!("flag --shape {n},4 --dtype int8 --dims time,lat"));
    create(&format!(
        "time --shape {n} --chunks 2 --dtype int64 --dims time --attr 'units={units}' --attr bounds=time_bnds"
    ));
    create(&format!("time_bnds --shape {n},2 --chunks 2,2 --dtype float64 --dims time,bnds"));
    create("lat --shape 4 --dtype float64 --dims lat --attr units=degrees_north");
    create("crs --shape '' --dtype int32 --attr grid_mapping_name=latitude_longitude");
    let list =
        |of: &dyn Fn(i64) -> String| days.iter().map(|&day| of(day)).collect::<Vec<_>>().join(",");
    let row = |day: i64| format!("[{day},{},{},-1]", day + 1, day + 2);
    put(folder, &format!("{name}/t2m"), &format!("[{}]", list(&row)));
    put(folder, &format!("{name}/rain"), &format!("[{}]", list(&row)));
    put(folder, &format!("{name}/flag"), &format!("[{}]", list(&|_| "[1,1,2,2]".into())));
    put(folder, &format!("{name}/time"), &format!("[{}]", list(&|day| day.to_string())));
    put(
        folder,
        &format!("{name}/time_bnds"),
        &format!("[{}]", list(&|day| format!("[{day},{}]", day + 1))),
    );
    put(folder, &format!("{name}/lat"), "[60,40,20,0]");
}

const MONTHS: [i64; 7] = [0, 31, 59, 90, 120, 151, 181];
const SINCE_2023: &str = "days since 2023-01-01";

#[test]
fn info_of_a_group_is_that_of_a_dataset() {
    let folder = Folder::new();
    dataset(&folder, "d.zarr", "v3", SINCE_2023, &MONTHS);
    let text = folder.good("info d.zarr").text().to_owned();
    let (_, text) = text.split_once('\n').unwrap();
    assert_eq!(
        text,
        "\
dimensions   time: 7, lat: 4, bnds: 2
coordinates  time       (time)        int64    days since 2023-01-01, 2023-01-01 … 2023-07-01
             lat        (lat)         float64  degrees_north, 60 … 0
variables    crs                      int32
             flag       (time, lat)   int8
             rain       (time, lat)   float32
             t2m        (time, lat)   int16    2 metre temperature, K
             time_bnds  (time, bnds)  float64
"
    );
    let json = folder.good("info d.zarr --json").json();
    let members = json.as_object().unwrap();
    assert_eq!(members.get("dimensions").unwrap().to_string(), r#"{"time":7,"lat":4,"bnds":2}"#);
    let names = |member: &str| {
        let list = members.get(member).unwrap().as_array().unwrap().iter();
        list.map(|one| one.as_object().unwrap().get("name").unwrap().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(names("coordinates"), ["\"time\"", "\"lat\""]);
    assert_eq!(names("variables").len(), 5);
    folder.run("resize d.zarr/flag --shape 6,4");
    let text = folder.good("info d.zarr").text().to_owned();
    assert!(text.contains("dimensions   time: several lengths, lat: 4, bnds: 2\n"), "{text}");
}

#[test]
fn info_of_an_image_has_axes_channels_and_levels() {
    let folder = Folder::new();
    folder.good("create i.zarr/0 --shape 2,8,8 --dtype uint16");
    folder.good("create i.zarr/1 --shape 2,4,4 --dtype uint16");
    let ome = r#"ome={"version":"0.5","multiscales":[{"name":"cells","axes":[{"name":"c","type":"channel"},
        {"name":"y","type":"space","unit":"micrometer"},{"name":"x","type":"space","unit":"micrometer"}],
        "datasets":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[1,0.35999999999999999,0.5]}]},
        {"path":"1","coordinateTransformations":[{"type":"scale","scale":[1,0.7,1]}]},{"path":"2"}]}],
        "omero":{"channels":[{"label":"DAPI","color":"0000FF","window":{"start":5,"end":900.5}},
        {"color":"00FF00","active":false}]}}"#;
    let set = folder.command("attrs i.zarr --set").arg(ome).output().unwrap();
    assert!(set.status.success());
    let text = folder.good("info i.zarr").text().to_owned();
    let expected = "\
image        cells, OME-Zarr 0.5
axes         c, y (micrometer), x (micrometer)
channels     DAPI  #0000FF  5 … 900.5
             1  #00FF00  hidden
levels       0  uint16 (2, 8, 8)  pixel 1 × 0.36 × 0.5
             1  uint16 (2, 4, 4)  pixel 1 × 0.7 × 1
             2  missing           pixel 1 × 1 × 1
children     0  1
attributes   ome: described above; `zarr attrs` prints it
";
    assert!(text.ends_with(expected), "{text}");
    let json = folder.good("info i.zarr --json").json();
    let images = json.as_object().unwrap().get("images").unwrap().as_array().unwrap();
    let levels = images[0].as_object().unwrap().get("levels").unwrap().as_array().unwrap();
    assert_eq!(levels[1].as_object().unwrap().get("shape").unwrap().to_string(), "[2,4,4]");
}

#[test]
fn info_of_an_image_has_labels_and_no_dimensions_of_many_lengths() {
    let folder = Folder::new();
    crate::common::image::image(&folder, "i.zarr", &[2, 8, 8], &[1, 8, 8]);
    folder.good("create i.zarr/smaller --shape 2,4,4 --dtype uint16 --dims z,y,x");
    folder.good("create i.zarr/labels/nuclei --group");
    let listed = r#"attrs i.zarr/labels --set 'ome={"version":"0.5","labels":["nuclei"]}'"#;
    folder.good(listed);
    let text = folder.good("info i.zarr").text().to_owned();
    assert!(text.contains("labels       nuclei\nchildren     0  labels/  smaller\n"), "{text}");
    assert!(!text.contains("several lengths"), "{text}");
}

/// A plate as bioformats2raw writes it in 0.4.
#[test]
fn info_of_a_plate_has_wells_fields_and_acquisitions() {
    let folder = Folder::new();
    let attrs = |target: &str, text: &str| {
        folder.good(&format!("create {target} --group --format v2"));
        let set = folder.command(&format!("attrs {target} --set")).arg(text).output().unwrap();
        assert!(set.status.success());
    };
    attrs(
        "p.zarr",
        r#"plate={"columns":[{"name":"1"},{"name":"2"}],"name":"Plate Name 0","wells":[{"path":"A/1","rowIndex":0,"columnIndex":0},
        {"path":"B/2","rowIndex":1,"columnIndex":1}],"field_count":2,"rows":[{"name":"A"},{"name":"B"}],"acquisitions":[{"id":0}],"version":"0.4"}"#,
    );
    let well = r#"well={"images":[{"path":"0","acquisition":0},{"path":"1","acquisition":0}]}"#;
    attrs("p.zarr/A/1", well);
    attrs("p.zarr/B/2", r#"well={"images":[{"path":"0"}]}"#);
    let text = folder.good("info p.zarr").text().to_owned();
    let expected = "\
plate        Plate Name 0, OME-Zarr 0.4
wells        2 of 4: rows A … B, columns 1 … 2
fields       3, 1 to 2 a well
acquisitions 0
";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("plate: described above"), "{text}");
    let text = folder.good("info p.zarr/A/1").text().to_owned();
    let expected = "\
well         2 fields, OME-Zarr
fields       0 (acquisition 0), 1 (acquisition 0)
";
    assert!(text.contains(expected), "{text}");
    let json = folder.good("info p.zarr --json").json();
    let plate = json.as_object().unwrap().get("plate").unwrap();
    let expected = r#"{
        "name": "Plate Name 0", "rows": ["A", "B"], "columns": ["1", "2"],
        "acquisitions": [{"id": 0, "name": null}], "version": "0.4", "fields": 3,
        "wells": [{"path": "A/1", "row": 0, "column": 0}, {"path": "B/2", "row": 1, "column": 1}]
    }"#;
    assert_eq!(plate, &Json::parse(expected.as_bytes()).unwrap());
    // A word that others use for something else.
    folder.good("create other.zarr --group --attr plate=AB12");
    let text = folder.good("info other.zarr").text().to_owned();
    assert!(text.contains("plate: AB12") && !text.contains("wells"), "{text}");
}

#[test]
fn channels_are_selected_by_their_labels() {
    let folder = Folder::new();
    folder.good("create i.zarr/0 --shape 2,2,3 --dtype uint8 --format v2");
    assert_eq!(folder.feed("put i.zarr/0", b"[1,2,3,4,5,6,7,8,9,10,11,12]").code, 0);
    let image = |labels: [&str; 2]| {
        let [one, other] = labels;
        folder.good(&format!(
            r#"attrs i.zarr --set 'multiscales=[{{"version":"0.4","axes":[{{"name":"c","type":"channel"}},{{"name":"y","type":"space"}},{{"name":"x","type":"space"}}],"datasets":[{{"path":"0","coordinateTransformations":[{{"type":"scale","scale":[1,1,1]}}]}}]}}]' --set 'omero={{"channels":[{{"label":"{one}"}},{{"label":"{other}"}}]}}'"#
        ));
    };
    image(["DAPI", "GFP"]);
    assert_eq!(folder.good("get i.zarr/0 --sel c=GFP").text(), "[[[7,8,9],[10,11,12]]]\n");
    assert_eq!(
        folder.good("get i.zarr/0 --sel c=DAPI:GFP").text(),
        "[[[1,2,3],[4,5,6]],[[7,8,9],[10,11,12]]]\n"
    );
    let error = folder.bad("get i.zarr/0 --sel c=gfp", 2);
    assert!(error.contains("the coordinates are `DAPI`, `GFP`; did you mean `GFP`?"), "{error}");
    let error = folder.bad("plot i.zarr --channels dapi -o a.png", 2);
    assert!(error.contains("did you mean `DAPI`?"), "{error}");
    let error = folder.bad("plot i.zarr/0 --by-name c=1,y=0 --channels GFP -o a.png", 2);
    assert!(error.contains("--channels is for pictures") && error.contains("a line"), "{error}");
    // The image names the axes of its levels, and its new levels have the separator of OME-Zarr.
    folder.good("copy i.zarr o.zarr --chunks x=1");
    assert!(folder.good("info o.zarr/0 --json").text().contains(r#""chunk_shape": [2, 2, 1]"#));
    let error = folder.bad("copy i.zarr other.zarr --chunks t=1", 2);
    assert!(error.contains("`t`"), "{error}");
    folder.good("create i.zarr/1 --shape 2,1,2 --dtype uint8");
    assert!(
        fs::read_to_string(folder.path("i.zarr/1/.zarray"))
            .unwrap()
            .contains(r#""dimension_separator": "/""#)
    );
    folder.good("create i.zarr/else/1 --shape 2,1,2 --dtype uint8");
    assert!(
        fs::read_to_string(folder.path("i.zarr/else/1/.zarray"))
            .unwrap()
            .contains(r#""dimension_separator": ".""#)
    );
    // By positions, where labels are not unique: the list of channels is cut, too.
    image(["GFP", "GFP"]);
    folder.good("copy i.zarr second.zarr --by-name c=1");
    assert_eq!(folder.good("get second.zarr/0").text(), "[[[7,8,9],[10,11,12]]]\n");
    assert_eq!(
        folder.good("attrs second.zarr omero.channels --json").text().matches("GFP").count(),
        1
    );
    let error = folder.bad("copy i.zarr no.zarr --by-name c=[0,1]", 2);
    assert!(error.contains("one range of positions"), "{error}");
    let error = folder.bad("copy i.zarr no.zarr --by-name z=0", 2);
    assert!(error.contains("no dimension `z`"), "{error}");
    // Neither of two equal labels is meant.
    image(["GFP", "GFP"]);
    let error = folder.bad("get i.zarr/0 --sel c=GFP", 2);
    assert!(error.contains("select by position"), "{error}");
}

#[test]
fn info_of_an_array_says_the_missing_value_of_floats() {
    let folder = Folder::new();
    folder.good("create a.zarr --shape 3 --dtype float32 --attr _FillValue=AAAAAAAA+H8=");
    folder.good("create b.zarr --shape 3 --dtype int16 --attr _FillValue=-9");
    let text = folder.good("info a.zarr").text().to_owned();
    assert!(text.contains(r#"_FillValue: NaN, spelled "AAAAAAAA+H8=""#), "{text}");
    let text = folder.good("info b.zarr").text().to_owned();
    assert!(text.contains("_FillValue: -9\n"), "{text}");
}

#[test]
fn a_numpy_file_that_is_read_as_another_format_is_recognized() {
    let folder = Folder::new();
    folder.good("create a.zarr --shape 3 --dtype float64");
    let file = folder.good("get a.zarr --format npy").out.clone();
    for line in ["put a.zarr", "put a.zarr --format csv", "append a.zarr"] {
        let ended = folder.feed(line, &file);
        assert_eq!(ended.code, 2, "{line}");
        assert!(
            ended.err.contains("is a NumPy file; pass `--format npy`"),
            "{line}: {}",
            ended.err
        );
    }
    assert_eq!(folder.feed("put a.zarr --format npy", &file).code, 0);
    assert_eq!(folder.feed("put a.zarr", b"[1,2,3]").code, 0);
    assert_eq!(folder.feed("put a.zarr --format csv", b"1\n2\n3\n").code, 0);
}

#[test]
fn a_tree_shows_the_names_of_dimensions_in_columns() {
    let folder = Folder::new();
    dataset(&folder, "d.zarr", "v2", SINCE_2023, &[0, 31]);
    folder.good("create d.zarr/deep/a --shape 3 --dtype int8 --format v2");
    let expected = "\
/
├── crs        int32   ()
├── deep
│   └── a  int8 (3,)
├── flag       int8    (2, 4) (time, lat)
├── lat        float64 (4,)   (lat)
├── rain       float32 (2, 4) (time, lat)
├── t2m        int16   (2, 4) (time, lat)
├── time       int64   (2,)   (time)
└── time_bnds  float64 (2, 2) (time, bnds)
";
    assert_eq!(folder.good("tree d.zarr").text(), expected);
    let json = folder.good("tree d.zarr --json").text().to_owned();
    assert!(json.contains("\"dimension_names\": [\"time\", \"bnds\"]"), "{json}");
}

#[test]
fn a_copy_cuts_a_dataset_with_what_the_selected_arrays_need() {
    for format in ["v2", "v3"] {
        let folder = Folder::new();
        dataset(&folder, "d.zarr", format, SINCE_2023, &MONTHS);
        folder.good("copy d.zarr cut.zarr --sel time=2023-02:2023-04,lat=15:45 --select t2m");
        let tree = folder.good("tree cut.zarr").text().to_owned();
        for name in ["crs", "flag", "lat", "t2m", "time", "time_bnds"] {
            assert!(tree.contains(&format!("── {name} ")), "{name} in {tree}");
        }
        assert!(!tree.contains("rain"), "{tree}");
        let get = |place: &str| folder.good(&format!("get cut.zarr/{place}")).text().to_owned();
        assert_eq!(get("t2m"), "[[32,33],[60,61],[91,92]]\n");
        assert_eq!(get("time"), "[31,59,90]\n");
        assert_eq!(get("time_bnds"), "[[31.0,32.0],[59.0,60.0],[90.0,91.0]]\n");
        assert_eq!(get("lat"), "[40.0,20.0]\n");
        // All arrays, of which those without the dimension are whole.
        folder.good("copy d.zarr all.zarr --sel time=2023-07-01");
        assert_eq!(folder.good("get all.zarr/rain").text(), "[[181.0,182.0,183.0,-1.0]]\n");
        assert_eq!(folder.good("get all.zarr/lat").text(), "[60.0,40.0,20.0,0.0]\n");
        for (sel, why) in [
            ("depth=1", "no dimension `depth`; dimensions: bnds, lat, time"),
            ("lat", "expected name=coordinates, as in lat=40:60, found `lat`"),
            ("lat=1,lat=2", "duplicate dimension `lat`"),
            (
                "time=2030",
                "no coordinate is in `2030`; coordinates go from 2023-01-01 to 2023-07-01",
            ),
            ("bnds=1", "no array has its coordinates"),
        ] {
            let told = folder.bad(&format!("copy d.zarr no.zarr --sel {sel}"), 2);
            assert!(told.contains(why), "{told}");
        }
        assert!(folder.bad("copy d.zarr no.zarr --sel lat=20 --select tm2", 2).contains("`tm2`"));
        assert!(!folder.path("no.zarr").exists());
    }
}

#[test]
fn a_dataset_is_appended_to_another_in_its_units() {
    for format in ["v2", "v3"] {
        let folder = Folder::new();
        dataset(&folder, "d.zarr", format, SINCE_2023, &MONTHS[..3]);
        dataset(&folder, "e.zarr", format, "days since 2023-04-01", &[0, 30, 61]);
        folder.good("append d.zarr e.zarr --axis time");
        let get = |place: &str| folder.good(&format!("get d.zarr/{place}")).text().to_owned();
        assert_eq!(get("time"), "[0,31,59,90,120,151]\n");
        assert_eq!(
            get("time_bnds"),
            "[[0.0,1.0],[31.0,32.0],[59.0,60.0],[90.0,91.0],[120.0,121.0],[151.0,152.0]]\n"
        );
        assert_eq!(
            get("t2m"),
            "[[0,1,2,-1],[31,32,33,-1],[59,60,61,-1],[0,1,2,-1],[30,31,32,-1],[61,62,63,-1]]\n"
        );
        assert_eq!(get("lat"), "[60.0,40.0,20.0,0.0]\n");
        folder.good("validate d.zarr");
    }
}

#[test]
fn packed_numbers_are_appended_by_the_scale_of_the_other_dataset() {
    let folder = Folder::new();
    dataset(&folder, "d.zarr", "v3", SINCE_2023, &[0]);
    dataset(&folder, "e.zarr", "v3", SINCE_2023, &[31]);
    folder.good("attrs e.zarr/t2m --set scale_factor=0.25 --set _FillValue=33");
    let told = folder.run("append d.zarr --from e.zarr --axis time");
    assert_eq!(told.code, 0, "{}", told.err);
    // 31 and 32 by 0.25 are 15.5 and 16 by 0.5, and 33 is missing.
    let warning = "t2m: 2 numbers are rounded by up to 0.25 K: the array that grows stores int16 with a `scale_factor`";
    assert!(told.err.contains(warning), "{}", told.err);
    assert_eq!(folder.good("get d.zarr/t2m").text(), "[[0,1,2,-1],[16,16,-1,0]]\n");
}

/// What a geometry is made of is named by attributes of its container (CF 7.5).
#[test]
fn the_nodes_of_a_geometry_are_named_where_a_copy_leaves_them_out() {
    let folder = Folder::new();
    for create in [
        "flow --shape 2 --dims river --attr geometry=lines",
        "lines --shape '' --attr geometry_type=line --attr node_count=count --attr 'node_coordinates=x y'",
        "count --shape 2 --dims river",
        "x --shape 5 --dims node --attr axis=X",
        "y --shape 5 --dims node --attr axis=Y",
        "other --shape 2 --dims river",
    ] {
        folder.good(&format!("create d.zarr/{create} --dtype int32"));
    }
    let told = folder.run("copy d.zarr e.zarr --select flow");
    let advice = "--select count --select lines --select x --select y";
    assert!(told.code == 0 && told.err.contains(advice), "{}", told.err);
}

/// What a range excludes is a number all the same, and is not lost behind a dataset without the range.
#[test]
fn values_out_of_a_valid_range_are_appended() {
    let folder = Folder::new();
    for (name, data_type) in [("d", "float32"), ("e", "float32"), ("f", "float64")] {
        folder.good(&format!("create {name}.zarr/x --shape 2 --dtype {data_type} --dims t"));
        put(&folder, &format!("{name}.zarr/x"), "[285,299]");
    }
    for source in ["e", "f"] {
        folder.good(&format!("attrs {source}.zarr/x --set valid_range=[280,290]"));
        folder.good(&format!("append d.zarr {source}.zarr --axis t"));
    }
    let all = folder.good("get d.zarr/x").text().to_owned();
    assert_eq!(all, "[285.0,299.0,285.0,299.0,285.0,299.0]\n");
}

/// Counts of nanoseconds are whole numbers, which 64-bit floats do not hold.
#[test]
fn times_in_nanoseconds_are_exact_in_other_units() {
    let folder = Folder::new();
    let create = "--shape 2 --dtype int64 --dims time --attr";
    folder.good(&format!("create d.zarr/v {create} 'units=nanoseconds since 1970-01-01'"));
    folder.good(&format!("create e.zarr/v {create} 'units=nanoseconds since 2000-01-01'"));
    put(&folder, "e.zarr/v", "[1000000000000000001,1000000000000000077]");
    folder.good("append d.zarr e.zarr --axis time");
    let expected = "[0,0,1946684800000000001,1946684800000000077]\n";
    assert_eq!(folder.good("get d.zarr/v").text(), expected);
}

/// A kill between the document of an array and its consolidated copy.
#[test]
fn an_append_that_was_killed_before_a_copy_was_written_is_completed() {
    for format in ["v2", "v3"] {
        let folder = Folder::new();
        dataset(&folder, "d.zarr", format, SINCE_2023, &[0, 1, 2]);
        dataset(&folder, "e.zarr", format, SINCE_2023, &[3, 4]);
        folder.good("consolidate d.zarr");
        folder.good("copy d.zarr old.zarr");
        folder.good("consolidate old.zarr");
        folder.good("append d.zarr e.zarr --axis time");
        let copies = if format == "v2" { ".zmetadata" } else { "zarr.json" };
        let document = if format == "v2" { ".zarray" } else { "zarr.json" };
        let restore = |key: &str| {
            std::fs::copy(
                folder.path(&format!("old.zarr/{key}")),
                folder.path(&format!("d.zarr/{key}")),
            )
            .unwrap();
        };
        // Of all arrays only `rain` has its new length, and no copy has it.
        for array in ["t2m", "flag", "time", "time_bnds"] {
            restore(&format!("{array}/{document}"));
        }
        restore(copies);
        folder.good("append d.zarr e.zarr --axis time");
        folder.good("validate d.zarr");
        // All arrays have it, and no copy.
        restore(copies);
        folder.bad("append d.zarr e.zarr --axis time", 2);
        folder.good("validate d.zarr");
    }
}

/// Two appends at once are one after the other: the second one finds that its rows do not follow.
#[test]
fn appends_of_datasets_at_the_same_time_do_not_mix() {
    let folder = Folder::new();
    dataset(&folder, "d.zarr", "v3", SINCE_2023, &[0, 1, 2]);
    dataset(&folder, "e.zarr", "v3", SINCE_2023, &[3, 4, 5]);
    dataset(&folder, "f.zarr", "v3", SINCE_2023, &[4, 5, 6]);
    let both = ["e", "f"].map(|name| {
        folder.command(&format!("append d.zarr {name}.zarr --axis time")).spawn().unwrap()
    });
    let done = both.map(|mut child| child.wait().unwrap().success());
    assert_eq!(done.iter().filter(|done| **done).count(), 1);
    let days = if done[0] { "[3,4,5]" } else { "[4,5,6]" };
    assert_eq!(folder.good("get d.zarr/time --region 3:").text().trim(), days);
    let rain = folder.good("get d.zarr/rain --region 3:,0").text().trim().replace(".0", "");
    let rain = rain.replace("],[", ",").replace("[[", "[").replace("]]", "]");
    assert_eq!(rain, days);
}

/// netCDF's library reads the lists of nodes that the groups of a dataset have.
#[test]
fn lists_of_netcdf_follow_nodes_that_are_renamed_and_erased() {
    for format in ["nczarr-v2", "nczarr-v3"] {
        let folder = Folder::new();
        folder.write(
            "d.cdl",
            "netcdf d { dimensions: x = 2 ; variables: int a(x) ; int b(x) ; group: g { variables: int c ; } }",
        );
        folder.good(&format!("gen d.cdl -o d.zarr --format {format}"));
        folder.good("rename d.zarr/a aa");
        folder.good("rename d.zarr --path /b /g/b");
        folder.good("rm d.zarr/g/c");
        folder.good("validate d.zarr");
        let dump = folder.good("dump -h d.zarr").text().to_owned();
        assert!(dump.contains("int aa(x)") && dump.contains("int b(x)"), "{format}: {dump}");
        assert!(!dump.contains("int a(x)") && !dump.contains("int c"), "{format}: {dump}");
        for (name, to) in [("e", "zarr-v3"), ("f", "nczarr-v2")] {
            let told = folder.run(&format!("copy d.zarr {name}.zarr --to {to}"));
            assert_eq!(told.code, 0, "{format}: {}", told.err);
        }
    }
}

#[test]
fn times_that_are_rounded_are_told() {
    let folder = Folder::new();
    let create = "--shape 1 --dims time --attr";
    folder.good(&format!(
        "create d.zarr/time --dtype float32 {create} 'units=days since 1900-01-01'"
    ));
    folder
        .good(&format!("create e.zarr/time --dtype int64 {create} 'units=hours since 1900-01-01'"));
    put(&folder, "d.zarr/time", "[45000]");
    // An hour is 0.0417 days; the floats there are 0.0039 apart.
    put(&folder, "e.zarr/time", "[1080001]");
    let told = folder.run("append d.zarr e.zarr --axis time");
    assert_eq!(told.code, 0, "{}", told.err);
    let warning =
        "time: 1 number is rounded by up to 0.0013 days: the array that grows stores float32";
    assert!(told.err.contains(warning), "{}", told.err);
    // Half a day is stored as it is.
    put(&folder, "e.zarr/time", "[1080036]");
    let told = folder.run("append d.zarr e.zarr --axis time");
    assert_eq!((told.code, told.err.contains("rounded")), (0, false), "{}", told.err);
}

#[test]
fn numbers_of_another_type_are_appended_as_those_of_the_dataset() {
    let folder = Folder::new();
    for (name, data_type) in
        [("f4", "float32"), ("f8", "float64"), ("i2", "int16"), ("i8", "int64"), ("s", "string")]
    {
        folder.good(&format!("create {name}.zarr/x --shape 2 --dtype {data_type} --dims t"));
    }
    put(&folder, "f8.zarr/x", "[0.1,0.5]");
    put(&folder, "i2.zarr/x", "[7,-7]");
    put(&folder, "i8.zarr/x", "[9007199254740993,40000]");
    let told = folder.run("append f4.zarr f8.zarr --axis t");
    let warning = "/x: 1 number is rounded by up to 1.5e-9: the array that grows stores float32";
    assert!(told.code == 0 && told.err.contains(warning), "{}", told.err);
    assert_eq!(folder.good("append f4.zarr i2.zarr --axis t").text(), "");
    assert_eq!(folder.good("get f4.zarr/x").text(), "[0.0,0.0,0.1,0.5,7.0,-7.0]\n");
    let told = folder.run("append f8.zarr i8.zarr --axis t");
    let warning = "/x: 1 number is rounded by up to 1: the array that grows stores float64";
    assert!(told.code == 0 && told.err.contains(warning), "{}", told.err);
    for (line, expected) in [
        ("append i2.zarr i8.zarr --axis t", "9007199254740992 does not fit in int16"),
        ("append i2.zarr f4.zarr --axis t", "0.10000000149011612 is not an integer, and int16 is"),
        ("append s.zarr i2.zarr --axis t", "expected the type string, found int16"),
    ] {
        let get = format!("get {}/x", line.split(' ').nth(1).unwrap());
        let before = folder.good(&get).text().to_owned();
        let told = folder.bad(line, 2);
        assert!(told.contains(expected), "{line}: {told}");
        assert_eq!(folder.good(&get).text(), before);
    }
}

/// Two datasets `d` and `e` of v2 with one array `x(t)` each, of which the fill value is missing.
fn two_of_one_array(
    folder: &Folder,
    (dtype, attributes): (&str, [&str; 2]),
    (fills, elements): ([&str; 2], [&[u8]; 2]),
) {
    for (n, name) in ["d", "e"].into_iter().enumerate() {
        let (fill, count) = (fills[n], elements[n].len() / 8);
        let document = format!(
            r#"{{"zarr_format":2,"shape":[{count}],"chunks":[{count}],"dtype":"{dtype}","fill_value":{fill},
                "order":"C","compressor":null,"filters":null}}"#
        );
        let attributes = attributes[n];
        let own = format!(r#"{{"_ARRAY_DIMENSIONS":["t"]{attributes}}}"#);
        std::fs::create_dir_all(folder.path(&format!("{name}/x"))).unwrap();
        folder.write(&format!("{name}/.zgroup"), r#"{"zarr_format":2}"#);
        folder.write(&format!("{name}/x/.zarray"), &document);
        folder.write(&format!("{name}/x/.zattrs"), &own);
        std::fs::write(folder.path(&format!("{name}/x/0")), elements[n]).unwrap();
    }
}

/// xarray writes NaT as -2^63 and declares nothing.
#[test]
fn a_time_that_is_none_is_missing_and_is_appended_as_none() {
    let folder = Folder::new();
    let units = [r#","units":"days since 2000-01-01""#, r#","units":"hours since 2000-01-01""#];
    let bytes = |numbers: [i64; 2]| numbers.map(i64::to_le_bytes).concat();
    let elements = [bytes([0, i64::MIN]), bytes([48, i64::MIN])];
    let elements = [&elements[0][..], &elements[1][..]];
    two_of_one_array(&folder, ("<i8", units), (["null", "null"], elements));
    let decoded = folder.good("get e/x --cf").text().to_owned();
    assert_eq!(decoded, "[\"2000-01-03T00:00:00\",null]\n");
    assert_eq!(folder.good("get e/x --cf --format csv").text(), "2000-01-03T00:00:00\n\n");
    let raw = folder.good("get e/x --cf --format raw").out.clone();
    assert_eq!(raw, elements[1], "they stay integers");
    let stats = folder.good("stats e/x --json").json();
    let count = |name: &str| stats.as_object().unwrap().get(name).unwrap().to_string();
    assert_eq!((count("count"), count("missing")), ("1".into(), "1".into()));
    folder.good("append d e --axis t");
    let both = format!("[0,{},2,{}]\n", i64::MIN, i64::MIN);
    assert_eq!(folder.good("get d/x").text(), both);
    // Other missing values of the target come first.
    two_of_one_array(&folder, ("<i8", units), (["-1", "null"], elements));
    folder.good("append d e --axis t");
    assert_eq!(folder.good("get d/x").text(), format!("[0,{},2,-1]\n", i64::MIN));
    // Of an array that is no time it is a number.
    let none = [r#","units":"m""#, r#","units":"m""#];
    two_of_one_array(&folder, ("<i8", none), (["null", "null"], elements));
    assert_eq!(folder.good("get e/x --cf").text(), format!("[48,{}]\n", i64::MIN));
}

#[test]
fn a_value_that_would_be_missing_behind_a_dataset_is_refused() {
    let folder = Folder::new();
    let bytes = |numbers: [f64; 2]| numbers.map(f64::to_le_bytes).concat();
    let elements = [bytes([1.0, 2.0]), bytes([-99.0, -98.0])];
    let elements = [&elements[0][..], &elements[1][..]];
    for (attributes, fills, why) in [
        (["", ""], ["-99.0", "-98.0"], "/x: the value -99 would be missing"),
        (["", ""], ["-99.0", "null"], "is a missing value there; replace it with `zarr put`"),
        (["", r#","scale_factor":2"#], ["-196.0", "-1.0"], "the value -196 would be missing"),
        ([r#","valid_min":-98"#, ""], ["null", "null"], "out of its valid range; widen"),
    ] {
        two_of_one_array(&folder, ("<f8", attributes), (fills, elements));
        let told = folder.bad("append d e --axis t", 2);
        assert!(told.contains(why), "{attributes:?} {fills:?}: {told}");
        assert_eq!(folder.good("get d/x").text(), "[1.0,2.0]\n");
    }
    // What is missing becomes the target's missing value, and NaN stays NaN.
    let elements = [elements[0], &bytes([f64::NAN, -98.0])[..]];
    two_of_one_array(&folder, ("<f8", ["", ""]), (["-99.0", "-98.0"], elements));
    folder.good("append d e --axis t");
    assert_eq!(folder.good("get d/x").text(), "[1.0,2.0,\"NaN\",-99.0]\n");
}

#[test]
fn what_does_not_fit_behind_a_dataset_is_refused_by_name() {
    let folder = Folder::new();
    dataset(&folder, "d.zarr", "v3", SINCE_2023, &MONTHS[..3]);
    let before = folder.good("checksum d.zarr").text().to_owned();
    let refused = |change: &str, why: &str| {
        let _ = std::fs::remove_dir_all(folder.path("e.zarr"));
        dataset(&folder, "e.zarr", "v3", "hours since 2023-01-01", &[24 * 90]);
        assert_eq!(folder.run(change).code, 0, "{change}");
        let told = folder.bad("append d.zarr e.zarr --axis time", 2);
        assert!(told.contains(why), "{change}: {told}");
        assert_eq!(folder.good("checksum d.zarr").text(), before, "{change}");
    };
    refused("rm e.zarr/rain", "/rain has the dimension `time`, and e.zarr has no such array");
    refused(
        "create e.zarr/new --shape 1 --dims time --dtype int8",
        "/new of e.zarr is missing in TARGET",
    );
    refused("resize e.zarr/rain --shape 1,5", "/rain: expected a length of 4 along `lat`, found 5");
    refused("resize e.zarr/lat --shape 3", "/lat differs from that of e.zarr");
    refused("resize e.zarr/rain --shape 2,4", "`time` is 1 long in /flag, but 2 in /rain");
    refused("attrs e.zarr/t2m --set units=degC", "/t2m: expected the units `K`, found `degC`");
    refused(
        "attrs e.zarr/time --set calendar=noleap",
        "/time: expected the calendar `standard`, found `noleap`",
    );
    refused(
        "attrs e.zarr/time --set 'units=minutes since 2023-01-01'",
        "is not an integer in `days since 2023-01-01`",
    );
    let told = folder.bad("append d.zarr e.zarr --axis tine", 2);
    assert!(told.contains("did you mean `time`?"), "{told}");
    let told = folder.bad("append d.zarr nothing.zarr --axis time", 3);
    assert!(told.contains("nothing.zarr"), "{told}");
}

/// The two calendars agree from 1582 on; since an earlier day they count two days more or less.
#[test]
fn times_of_the_proleptic_calendar_are_appended_to_those_of_the_standard_one() {
    let folder = Folder::new();
    dataset(&folder, "d.zarr", "v3", SINCE_2023, &MONTHS[..3]);
    dataset(&folder, "e.zarr", "v3", "days since 0001-01-01", &[0, 30]);
    put(&folder, "e.zarr/time", "[738610,738640]");
    put(&folder, "e.zarr/time_bnds", "[[738610,738640],[738640,738671]]");
    dataset(&folder, "early.zarr", "v3", "days since 1500-01-01", &[0]);
    for name in ["e", "early"] {
        folder.good(&format!("attrs {name}.zarr/time --set calendar=proleptic_gregorian"));
    }
    folder.good("append d.zarr e.zarr --axis time");
    assert_eq!(folder.good("get d.zarr/time").text(), "[0,31,59,90,120]\n");
    let told = folder.bad("append d.zarr early.zarr --axis time", 2);
    assert!(told.contains("they agree from 1582-10-15 on"), "{told}");
}

#[test]
fn an_append_of_a_dataset_says_what_it_does_not_append() {
    let folder = Folder::new();
    dataset(&folder, "d.zarr", "v3", SINCE_2023, &MONTHS[..3]);
    dataset(&folder, "e.zarr", "v3", "days since 2023-04-01", &[0]);
    folder.good("create e.zarr/mask --shape 4 --dims lat --dtype int8");
    let told = folder.run("append d.zarr e.zarr --axis time");
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(
        told.err.contains("/mask: it is not appended: TARGET has no such array"),
        "{}",
        told.err
    );
    // Without SRC.
    let told = folder.bad("append d.zarr --axis time", 2);
    assert!(told.contains("is a group: name the array to append to"), "{told}");
}

/// A script that runs twice must not store a month twice.
#[test]
fn a_dataset_that_was_appended_already_is_refused() {
    let folder = Folder::new();
    dataset(&folder, "d.zarr", "v3", SINCE_2023, &MONTHS[..3]);
    dataset(&folder, "e.zarr", "v3", "days since 2023-04-01", &[0, 30]);
    folder.good("append d.zarr e.zarr --axis time");
    let told = folder.bad("append d.zarr e.zarr --axis time", 2);
    assert!(
        told.contains("/time: it ends at 2023-05-01, but the new values begin at 2023-04-01"),
        "{told}"
    );
    assert_eq!(folder.good("get d.zarr/time").text(), "[0,31,59,90,120]\n");
    folder.good("append d.zarr e.zarr --axis time --allow-overlap");
    assert_eq!(folder.good("get d.zarr/time").text(), "[0,31,59,90,120,90,120]\n");
}

#[test]
fn a_coordinate_that_falls_goes_on_falling() {
    let folder = Folder::new();
    dataset(&folder, "d.zarr", "v3", SINCE_2023, &[59, 31]);
    dataset(&folder, "e.zarr", "v3", SINCE_2023, &[90, 0]);
    let told = folder.bad("append d.zarr e.zarr --axis time", 2);
    assert!(told.contains("--allow-overlap"), "{told}");
    dataset(&folder, "f.zarr", "v3", SINCE_2023, &[0]);
    folder.good("append d.zarr f.zarr --axis time");
    // One value has no direction: another one may lie on either side of it.
    dataset(&folder, "g.zarr", "v3", SINCE_2023, &[31]);
    folder.good("append g.zarr f.zarr --axis time");
    folder.bad("append f.zarr f.zarr --axis time", 2);
}

#[test]
fn a_dataset_grows_along_a_dimension_by_its_name() {
    let folder = Folder::new();
    dataset(&folder, "d.zarr", "v3", SINCE_2023, &MONTHS[..3]);
    dataset(&folder, "e.zarr", "v3", SINCE_2023, &MONTHS[3..]);
    let told = folder.bad("append d.zarr e.zarr", 2);
    assert!(told.contains("as in `--axis time`; dimensions: bnds, lat, time"), "{told}");
}

/// What a kill between two documents leaves: some arrays are longer than the coordinate says.
#[test]
fn an_append_that_was_killed_is_completed_by_the_same_command() {
    let folder = Folder::new();
    dataset(&folder, "d.zarr", "v3", SINCE_2023, &MONTHS[..3]);
    dataset(&folder, "e.zarr", "v3", SINCE_2023, &MONTHS[3..5]);
    for name in ["flag", "rain"] {
        folder.run(&format!("resize d.zarr/{name} --shape 5,4"));
    }
    folder.good("append d.zarr e.zarr --axis time");
    assert_eq!(folder.good("get d.zarr/time").text(), "[0,31,59,90,120]\n");
    let rain = folder.good("get d.zarr/rain --region 3:,0").text().to_owned();
    assert_eq!(rain, "[[90.0],[120.0]]\n");
    // Lengths that no append left are not guessed at.
    folder.run("resize d.zarr/rain --shape 6,4");
    let told = folder.bad("append d.zarr e.zarr --axis time", 2);
    assert!(told.contains("`time` is 5 long, but 6 in /rain"), "{told}");
}

/// At any moment of an append the coordinate and what is read by its length are the old ones or the new ones.
#[test]
fn a_kill_during_an_append_leaves_the_old_extent() {
    let folder = Folder::new();
    let mut killed = 0;
    for delay in [0, 2, 5, 10, 20, 40, 80] {
        let (name, more) = (format!("d{delay}.zarr"), format!("e{delay}.zarr"));
        dataset(&folder, &name, "v3", SINCE_2023, &MONTHS[..3]);
        dataset(&folder, &more, "v3", SINCE_2023, &MONTHS[3..]);
        let mut child =
            folder.command(&format!("append {name} {more} --axis time")).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(delay));
        child.kill().unwrap();
        killed += u32::from(!child.wait().unwrap().success());
        let time = folder.good(&format!("get {name}/time --json")).json();
        let len = time.as_array().map_or(0, <[Json]>::len);
        assert!(len == 3 || len == 7, "{len}");
        let rows = folder.good(&format!("get {name}/rain --region :{len},0")).text().to_owned();
        let rows_of_all = "[[0.0],[31.0],[59.0],[90.0],[120.0],[151.0],[181.0]]\n";
        let expected = if len == 3 { "[[0.0],[31.0],[59.0]]\n" } else { rows_of_all };
        assert_eq!(rows, expected);
        if len == 3 {
            folder.good(&format!("append {name} {more} --axis time"));
        }
        assert_eq!(folder.good(&format!("get {name}/rain --region :,0")).text(), rows_of_all);
    }
    assert!(killed > 0, "no append was killed");
}

/// A stored chunk at the old end has elements of both, which another program may change: it is written when the array has its new
/// shape, and only if it is still the chunk that was read.
#[test]
fn the_chunk_at_the_old_end_is_written_under_the_guard() {
    let folder = Folder::new();
    dataset(&folder, "d.zarr", "v3", SINCE_2023, &MONTHS[..3]);
    dataset(&folder, "e.zarr", "v3", SINCE_2023, &MONTHS[3..]);
    let trace = folder.run("append d.zarr e.zarr --axis time --trace").err;
    let written: Vec<&str> = trace
        .lines()
        .filter_map(|line| line.strip_prefix("trace: put"))
        .filter(|call| call.contains(" rain/"))
        .filter_map(|call| call.split(':').next())
        .collect();
    let last = ["_if rain/zarr.json", "_if rain/c/1/0"];
    assert!(written.ends_with(&last), "{written:?}");
    assert_eq!(written.iter().filter(|call| call.ends_with("rain/c/1/0")).count(), 1);
}

#[test]
fn rows_have_names_and_coordinates() {
    let folder = Folder::new();
    dataset(&folder, "d.zarr", "v3", SINCE_2023, &MONTHS);
    let get = |rest: &str| folder.good(&format!("get d.zarr/{rest}")).text().to_owned();
    assert_eq!(
        get("t2m --cf --format csv --header --sel time=2023-02:2023-03"),
        "time,60,40,20,0\n2023-02-01,285.5,286.0,286.5,\n2023-03-01,299.5,300.0,300.5,\n"
    );
    assert_eq!(get("lat --format csv --header"), "lat,lat\n60,60.0\n40,40.0\n20,20.0\n0,0.0\n");
    assert_eq!(get("crs --format csv --header"), "crs\n-99\n");
    let table = get("t2m --cf --format table --sel time=2023-02:2023-03");
    let expected = [
        "      time     60     40     20  0",
        "2023-02-01  285.5  286.0  286.5",
        "2023-03-01  299.5  300.0  300.5",
    ];
    assert_eq!(table.lines().collect::<Vec<_>>(), expected);
    // Three long axes: rows have the coordinates of two.
    folder.good("create c.zarr --shape 2,2,2 --dtype int8 --dims z,y,x");
    put(&folder, "c.zarr", "[1,2,3,4,5,6,7,8]");
    let csv = folder.good("get c.zarr --format csv --header").text().to_owned();
    assert_eq!(csv, "z,y,0,1\n0,0,1,2\n0,1,3,4\n1,0,5,6\n1,1,7,8\n");
    assert!(folder.bad("get c.zarr --header", 2).contains("--header is for --format csv"));
}

#[test]
fn head_prints_the_first_rows_of_each_array() {
    let folder = Folder::new();
    dataset(&folder, "d.zarr", "v3", SINCE_2023, &MONTHS);
    let text = folder.good("head d.zarr t2m -n 2").text().to_owned();
    assert!(text.starts_with("t2m  int16 (time: 7, lat: 4)\n"), "{text}");
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.contains("2023-02-01  285.5"), "{text}");
    let all = folder.good("head d.zarr").text().to_owned();
    for name in ["crs  int32 ()", "rain  float32 (time: 7, lat: 4)", "lat  float64 (lat: 4)"] {
        assert!(all.contains(name), "{all}");
    }
    assert_eq!(
        folder.good("head d.zarr rain -n 1 --json").text(),
        "{\"rain\":[[0.0,1.0,2.0,-1.0]]}\n"
    );
}

/// OME-Zarr 0.4 and 0.5, "multiscales": the translation of each level says where its first element is.
#[test]
fn a_part_of_an_image_is_where_it_was_in_every_level() {
    for (format, levels) in [("v2", "multiscales"), ("v3", "ome.multiscales")] {
        let folder = Folder::new();
        folder.good(&format!("create i.zarr --group --format {format}"));
        let axes = r#""axes":[{"name":"y","type":"space"},{"name":"x","type":"space"}]"#;
        let datasets = r#""datasets":[
            {"path":"0","coordinateTransformations":[{"type":"scale","scale":[0.5,0.25]}]},
            {"path":"1","coordinateTransformations":[{"type":"scale","scale":[1,0.5]},{"type":"translation","translation":[0.25,0.125]}]}]"#;
        let images = format!(r#"[{{"version":"0.4",{axes},{datasets}}}]"#);
        let ome = match format {
            "v2" => format!("multiscales={images}"),
            _ => format!(r#"ome={{"version":"0.5","multiscales":{images}}}"#),
        };
        let set = folder.command("attrs i.zarr --set").arg(ome).output().unwrap();
        assert!(set.status.success());
        for (level, side) in [(0, 40), (1, 20)] {
            let names = if format == "v3" { "--dims y,x" } else { "" };
            folder.good(&format!(
                "create i.zarr/{level} --shape {side},{side} --dtype uint8 {names}"
            ));
        }
        let cut = folder.run("copy i.zarr c.zarr --sel y=10:14.5,x=6:8");
        assert_eq!(cut.code, 0, "{}", cut.err);
        let json = folder.good("attrs c.zarr --json").json();
        let mut found = &json;
        for name in levels.split('.') {
            found = found.as_object().unwrap().get(name).unwrap();
        }
        let datasets = found.as_array().unwrap()[0].as_object().unwrap().get("datasets").unwrap();
        let transformations = |level: usize| {
            let dataset = datasets.as_array().unwrap()[level].as_object().unwrap();
            dataset.get("coordinateTransformations").unwrap().to_string()
        };
        assert_eq!(
            transformations(0),
            r#"[{"type":"scale","scale":[0.5,0.25]},{"type":"translation","translation":[10,6]}]"#
        );
        assert_eq!(
            transformations(1),
            r#"[{"type":"scale","scale":[1,0.5]},{"type":"translation","translation":[10.25,6.125]}]"#
        );
        assert!(!cut.err.contains("not kept"), "{}", cut.err);
    }
}

/// Readers look for every level, label and well that a copy lists.
#[test]
fn a_copy_of_some_levels_and_labels_lists_those_alone() {
    let folder = Folder::new();
    for (format, is_nested) in [("v2", false), ("v3", true)] {
        let name = format!("{format}.zarr");
        let version = if is_nested { "" } else { r#""version":"0.4","# };
        let level = |path: &str, scale: u32| {
            format!(
                r#"{{"path":"{path}","coordinateTransformations":[{{"type":"scale","scale":[{scale},{scale}]}}]}}"#
            )
        };
        let image = |levels: &str| {
            let axes = r#""axes":[{"name":"y","type":"space"},{"name":"x","type":"space"}]"#;
            let images = format!(r#"[{{{version}{axes},"datasets":[{levels}]}}]"#);
            if is_nested {
                format!(r#"ome={{"version":"0.5","multiscales":{images}}}"#)
            } else {
                format!("multiscales={images}")
            }
        };
        let set = |target: &str, attribute: String| {
            let status = folder.command(&format!("attrs {target} --set")).arg(attribute).status();
            assert!(status.unwrap().success());
        };
        folder.good(&format!("create {name} --group --format {format}"));
        set(&name, image(&format!("{},{}", level("0", 1), level("1", 2))));
        for label in ["cells", "nuclei"] {
            folder.good(&format!("create {name}/labels/{label} --group --format {format}"));
        }
        let listed = r#"["cells","nuclei"]"#;
        let lists = if is_nested {
            format!(r#"ome={{"version":"0.5","labels":{listed}}}"#)
        } else {
            format!("labels={listed}")
        };
        set(&format!("{name}/labels"), lists);
        for label in ["cells", "nuclei"] {
            set(&format!("{name}/labels/{label}"), image(&level("0", 1)));
        }
        for (path, len) in [("0", 8), ("1", 4), ("labels/cells/0", 8), ("labels/nuclei/0", 8)] {
            let dims = if is_nested { "--dims y,x" } else { "" };
            folder.good(&format!(
                "create {name}/{path} --format {format} --shape {len},{len} --dtype uint8 {dims}"
            ));
        }
        let (copy, prefix) = (format!("copy-{name}"), if is_nested { "ome." } else { "" });
        folder.good(&format!("copy {name} {copy} --exclude 1 --exclude labels/nuclei"));
        let levels = folder.good(&format!("attrs {copy} {prefix}multiscales.0.datasets --json"));
        assert_eq!(Json::parse(levels.text().as_bytes()).unwrap().as_array().unwrap().len(), 1);
        let labels = folder.good(&format!("attrs {copy}/labels {prefix}labels --json"));
        assert_eq!(labels.text().split_whitespace().collect::<String>(), r#"["cells"]"#);
        folder.good(&format!("validate {copy}"));
        // As they are.
        folder.good(&format!("copy {name} kept-{name} --exclude 1 --keep-attributes"));
        let levels =
            folder.good(&format!("attrs kept-{name} {prefix}multiscales.0.datasets --json"));
        assert_eq!(Json::parse(levels.text().as_bytes()).unwrap().as_array().unwrap().len(), 2);
        // A selection by name, too.
        folder.good(&format!("copy {name} one-{name} --select /0"));
        let levels =
            folder.good(&format!("attrs one-{name} {prefix}multiscales.0.datasets --json"));
        assert_eq!(Json::parse(levels.text().as_bytes()).unwrap().as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_range_around_the_end_of_the_longitudes_is_answered_by_its_two_parts() {
    let folder = Folder::new();
    folder.good("create m.zarr --group");
    folder.good("create m.zarr/t --shape 36 --dtype int16 --dims lon");
    folder
        .good("create m.zarr/lon --shape 36 --dtype float64 --dims lon --attr units=degrees_east");
    let degrees: Vec<String> = (0..36).map(|n| (10 * n).to_string()).collect();
    put(&folder, "m.zarr/lon", &format!("[{}]", degrees.join(",")));
    put(&folder, "m.zarr/t", &format!("[{}]", degrees.join(",")));
    let said = folder.bad("copy m.zarr c.zarr --sel lon=-20:30", 2);
    let advice = "copy `--sel lon=340:350` and `--sel lon=0:30` to two places, and join them with `zarr append --axis lon --allow-overlap`";
    assert!(said.contains(advice), "{said}");
    let said = folder.bad("plot m.zarr/t --sel lon=-20:30 -o m.png", 2);
    assert!(said.contains("draw `--sel lon=340:350` or `--sel lon=0:30`"), "{said}");
    folder.good("copy m.zarr c.zarr --sel lon=340:350");
    folder.good("copy m.zarr d.zarr --sel lon=0:30");
    let appended = folder.run("append c.zarr d.zarr --axis lon --allow-overlap");
    assert_eq!(appended.code, 0, "{}", appended.err);
    let joined = folder.good("get c.zarr/t --json").text().to_owned();
    assert!(joined.contains("340") && joined.contains("30"), "{joined}");
}

#[test]
fn a_part_of_an_image_lists_the_channels_that_it_has() {
    let folder = Folder::new();
    folder.good("create i.zarr/0 --shape 3,4,4 --dtype uint8 --dims c,y,x");
    let ome = r#"ome={"version":"0.5","multiscales":[{"axes":[{"name":"c","type":"channel"},{"name":"y","type":"space"},{"name":"x","type":"space"}],
        "datasets":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[1,2,2]}]}]}],
        "omero":{"channels":[{"label":"DAPI"},{"label":"GFP"},{"label":"RFP"}]}}"#;
    let set = folder.command("attrs i.zarr --set").arg(ome).output().unwrap();
    assert!(set.status.success());
    folder.good("copy i.zarr one.zarr --sel c=GFP");
    let text = folder.good("info one.zarr").text().to_owned();
    assert!(text.contains("GFP") && !text.contains("DAPI") && !text.contains("RFP"), "{text}");
    // Channels have no position.
    let ome = folder.good("attrs one.zarr ome").text().replace([' ', '\n'], "");
    assert!(ome.contains(r#""translation":[0,0,0]"#), "{ome}");
    folder.good("copy i.zarr all.zarr --sel y=0:2");
    let text = folder.good("info all.zarr").text().to_owned();
    assert!(text.contains("DAPI") && text.contains("RFP"), "{text}");
}

/// N-030: the metadata of NCZarr have the lengths of the dimensions.
#[test]
fn the_arrays_of_an_nczarr_dataset_are_cut_after_a_copy_to_plain_zarr() {
    let folder = Folder::new();
    let cdl = "netcdf d {\ndimensions:\n lat = 4 ;\nvariables:\n double lat(lat) ;\n float t(lat) ;\ndata:\n lat = 0, 10, 20, 30 ;\n t = 1, 2, 3, 4 ;\n}\n";
    folder.write("d.cdl", cdl);
    for format in ["nczarr-v2", "nczarr-v3"] {
        folder.good(&format!("gen d.cdl -o {format}.zarr --format {format}"));
        for part in ["--sel lat=10:20 --select t", "--region t=1:3"] {
            let said = folder.bad(&format!("copy {format}.zarr c.zarr {part}"), 2);
            assert!(said.contains("--to zarr-v3"), "{said}");
        }
        folder.good(&format!("copy {format}.zarr {format}-plain.zarr --to zarr-v3"));
        folder.good(&format!("copy {format}-plain.zarr {format}-cut.zarr --sel lat=10:20"));
        assert_eq!(folder.good(&format!("get {format}-cut.zarr/t")).text().trim(), "[2.0,3.0]");
    }
}

/// The two spellings of a node mean the same, wherever its coordinates are; a part of one array is cut by them, too.
#[test]
fn coordinates_in_a_group_above_are_found_from_the_array_itself() {
    let folder = Folder::new();
    folder.good("create a.zarr/g/h/t --shape 3 --dims lat --dtype float32");
    folder.good("create a.zarr/lat --shape 3 --dims lat --dtype float64");
    for (array, values) in [("lat", &b"[40,50,60]"[..]), ("g/h/t", b"[1,2,3]")] {
        let put = folder.feed(&format!("put a.zarr/{array}"), values);
        assert_eq!(put.code, 0, "{}", put.err);
    }
    for place in ["a.zarr g/h/t", "a.zarr/g/h/t", "a.zarr/g h/t"] {
        assert_eq!(
            folder.good(&format!("get {place} --sel lat=50")).text().trim(),
            "[2.0]",
            "{place}"
        );
    }
    folder.good("copy a.zarr/g/h/t t.zarr --sel lat=50:60");
    assert_eq!(folder.good("get t.zarr").text().trim(), "[2.0,3.0]");
}

/// What a part of one array leaves behind is told: a dataset with two lengths, an image with levels of another extent.
#[test]
fn a_part_of_one_array_that_no_longer_fits_the_others_is_told() {
    let folder = Folder::new();
    for array in ["t", "lat"] {
        folder.good(&format!("create a.zarr/{array} --shape 3 --dims lat --dtype float32"));
    }
    let cut = folder.run("copy a.zarr b.zarr --region t=0:2");
    assert_eq!(cut.code, 0);
    assert!(cut.err.contains("dimension `lat` is 2 long here, but 3 in /lat"), "{}", cut.err);
    assert!(cut.err.contains("cut the others, too"), "{}", cut.err);
}

/// A URL of netCDF asks for a dataset of netCDF, and is no name of a folder.
#[test]
fn a_copy_to_a_netcdf_url_is_a_netcdf_dataset() {
    let folder = Folder::new();
    folder.good("create a.zarr/t --shape 3 --dims lat --dtype float32");
    folder.good("copy a.zarr 'y.nc#mode=nczarr,file'");
    assert!(
        folder.path("y.nc/t/.zarray").exists() && !folder.path("y.nc#mode=nczarr,file").exists()
    );
    assert!(folder.good("dump -h y.nc").text().contains("float t(lat)"));
}

/// Text of a fixed length is a string of netCDF: the copy says so, and its elements are compared as texts.
#[test]
fn fixed_text_and_strings_are_compared_as_texts() {
    let folder = Folder::new();
    folder.good("create a.zarr/n --shape 3 --dtype <U3 --dims x");
    assert_eq!(folder.feed("put a.zarr n", br#"["a","bcd",""]"#).code, 0);
    let told = folder.run("copy a.zarr b.zarr --to nczarr-v3");
    assert!(
        told.err.contains("/n: text of a fixed length is of the type `string`"),
        "{}",
        told.err
    );
    let found = folder.run("diff a.zarr b.zarr");
    assert_eq!(found.code, 1);
    assert!(
        found.text().contains("data type") && !found.text().contains("not compared"),
        "{}",
        found.text()
    );
    assert!(!found.text().contains("elements"), "{}", found.text());
    assert_eq!(folder.feed("put b.zarr n", br#"["a","bcx",""]"#).code, 0);
    let found = folder.run("diff a.zarr b.zarr");
    assert!(
        found.text().contains("1 of 3 elements") && found.text().contains("bcx"),
        "{}",
        found.text()
    );
    // Of other lengths, and of variable length.
    folder.good("create c.zarr/n --shape 3 --dtype <U5 --dims x");
    assert_eq!(folder.feed("put c.zarr n", br#"["a","bcd",""]"#).code, 0);
    folder.good("create d.zarr/n --shape 3 --dtype string --dims x");
    assert_eq!(folder.feed("put d.zarr n", br#"["a","bcd",""]"#).code, 0);
    for (one, other) in [("a", "c"), ("a", "d"), ("d", "c")] {
        let found = folder.run(&format!("diff {one}.zarr {other}.zarr"));
        assert!(!found.text().contains("elements"), "{}", found.text());
    }
}

/// What a copy leaves out or cuts otherwise than the rest, so that coordinates do not fit, is told.
#[test]
fn coordinates_that_are_left_out_or_do_not_fit_are_told() {
    let folder = Folder::new();
    folder.good("create d.zarr/lon --shape 4 --dtype float64 --dims lon");
    folder.good("create d.zarr/v --shape 4 --dtype float32 --dims lon");
    folder.good("put d.zarr/lon --value 3");
    folder.good("put d.zarr/v --value 3");
    let told = folder.run("copy d.zarr a.zarr --select v");
    assert!(told.err.contains("`--select lon` copies them, too"), "{}", told.err);
    folder.good("copy d.zarr b.zarr --select v,lon");
    let told = folder.run("copy d.zarr c.zarr --include v");
    assert!(told.err.contains("`--include lon`"), "{}", told.err);
    folder.good("copy d.zarr e.zarr --include v --exclude lon");
    let told = folder.run("copy d.zarr f.zarr --region v=::-1");
    assert!(told.err.contains("other positions of the dimension `lon`"), "{}", told.err);
    folder.good("copy d.zarr g.zarr --region v=::-1 --region lon=::-1");
    // What is left out need not fit.
    folder.good("create d.zarr/b/v --shape 1 --dtype float32 --dims lon");
    folder.run("copy d.zarr h.zarr --region v=2:3 --exclude b");
    assert!(folder.good("info h.zarr/v").text().contains("shape        1\n"));
    let refused = folder.bad("copy d.zarr i.zarr --region v=2:3 --exclude **/v --exclude v", 2);
    assert!(refused.contains("other options leave this array out"), "{refused}");
}

/// A selection of channels leaves labels, which have one of their own, whole.
#[test]
fn labels_are_kept_where_a_channel_is_selected() {
    let folder = Folder::new();
    let image = |name: &str| {
        format!(
            r#""multiscales":[{{"axes":[{{"name":"c","type":"channel"}},{{"name":"y","type":"space"}},{{"name":"x","type":"space"}}],"datasets":[{{"path":"{name}","coordinateTransformations":[{{"type":"scale","scale":[1,1,1]}}]}}]}}]"#
        )
    };
    folder.good(&format!("create i.zarr --group --attr ome={{\"version\":\"0.5\",{},\"omero\":{{\"channels\":[{{\"label\":\"DAPI\"}},{{\"label\":\"GFP\"}}]}}}}", image("0")));
    folder.good("create i.zarr/0 --shape 2,4,4 --dtype uint8 --dims c,y,x");
    folder.good("create i.zarr/labels --group --attr ome={\"version\":\"0.5\",\"labels\":[\"n\"]}");
    folder.good(&format!(
        "create i.zarr/labels/n --group --attr ome={{\"version\":\"0.5\",\"image-label\":{{}},{}}}",
        image("0")
    ));
    folder.good("create i.zarr/labels/n/0 --shape 1,4,4 --dtype uint32 --dims c,y,x");
    let copied = folder.run("copy i.zarr g.zarr --sel c=GFP");
    assert_eq!(copied.code, 0, "{}", copied.err);
    for array in ["0", "labels/n/0"] {
        assert!(folder.good(&format!("info g.zarr/{array}")).text().contains("1 × 4 × 4"));
    }
    // Where there are only labels, no channel is found.
    let refused = folder.bad("copy i.zarr/labels l.zarr --sel c=GFP", 2);
    assert!(refused.contains("no array has its coordinates"), "{refused}");
}

/// A coordinate whose chunks are lost, or of another length, is not said to be missing.
#[test]
fn why_coordinates_cannot_be_selected_is_told() {
    let folder = Folder::new();
    folder.good("create c.zarr/lat --shape 3 --dtype float64 --dims lat --fill NaN");
    folder.good("create c.zarr/t --shape 3 --dtype float32 --dims lat");
    let refused = folder.bad("get c.zarr/t --sel lat=59", 2);
    assert!(refused.contains("all of its coordinates are missing"), "{refused}");
    folder.run("resize c.zarr/t --shape 5");
    let refused = folder.bad("get c.zarr/t --sel lat=59", 2);
    assert!(
        refused.contains(
            "its length is 5, but /lat, which should have its coordinates, has the shape [3]"
        ),
        "{refused}"
    );
}

/// Nodes that were created after the metadata were consolidated are not passed over without a word.
#[test]
fn what_consolidated_metadata_do_not_name_is_told() {
    let folder = Folder::new();
    folder.good("create s.zarr/a --shape 4 --dtype int32");
    folder.good("consolidate s.zarr");
    let root = std::fs::read(folder.path("s.zarr/zarr.json")).unwrap();
    folder.good("create s.zarr/b --shape 4 --dtype int32");
    folder.good("resize s.zarr/a --shape 6");
    // As another program leaves it.
    folder.write("s.zarr/zarr.json", root);
    for verb in ["ls", "info", "dump", "tree"] {
        let told = folder.run(&format!("{verb} s.zarr"));
        assert!(told.code == 0 && told.err.contains("/b: "), "{verb}: {}", told.err);
    }
    assert!(folder.run("dump s.zarr").err.contains("/a: its copy"));
}

/// Not only the first new coordinate goes on in the direction of the old ones.
#[test]
fn all_new_coordinates_go_on_in_the_direction_of_the_old() {
    let folder = Folder::new();
    for (n, new) in ["[3,0,1]", "[9,8,7]", "[5,5,6]"].iter().enumerate() {
        for (name, values) in [("m", "[0,1,2]"), ("n", *new)] {
            folder.good(&format!("create {name}{n}.zarr/t --shape 3 --dtype int64 --dims t"));
            assert_eq!(folder.feed(&format!("put {name}{n}.zarr/t"), values.as_bytes()).code, 0);
        }
        let refused = folder.bad(&format!("append m{n}.zarr n{n}.zarr --axis t"), 2);
        assert!(refused.contains("do not continue in the same direction"), "{refused}");
        assert_eq!(folder.good(&format!("get m{n}.zarr/t")).text(), "[0,1,2]\n");
        folder.good(&format!("append m{n}.zarr n{n}.zarr --axis t --allow-overlap"));
    }
}

/// OME-Zarr's metadata describe each channel and place: only frames along time continue an image, of the same channels and pixels.
#[test]
fn images_are_appended_along_time_alone() {
    let folder = Folder::new();
    let image = |name: &str, scale: &str, label: &str| {
        folder.good(&format!("create {name} --group"));
        let axes = r#"[{"name":"t","type":"time"},{"name":"c","type":"channel"},{"name":"y","type":"space"},{"name":"x","type":"space"}]"#;
        let ome = format!(
            r#"ome={{"version":"0.5","multiscales":[{{"axes":{axes},"datasets":[{{"path":"0","coordinateTransformations":[{{"type":"scale","scale":[1,1,{scale},{scale}]}}]}}]}}],"omero":{{"channels":[{{"label":"{label}"}}]}}}}"#
        );
        let status = folder.command(&format!("attrs {name} --set")).arg(ome).status();
        assert!(status.unwrap().success());
        folder.good(&format!("create {name}/0 --shape 1,1,4,4 --dtype uint8 --dims t,c,y,x"));
    };
    image("a.zarr", "0.5", "DAPI");
    image("b.zarr", "0.5", "DAPI");
    image("gfp.zarr", "0.5", "GFP");
    image("small.zarr", "0.1", "DAPI");
    for (source, axis, expected) in [
        ("b.zarr", "c", "only frames along time are appended"),
        ("b.zarr", "y", "only frames along time are appended"),
        ("gfp.zarr", "t", "the channels (`omero`) of SRC are others"),
        ("small.zarr", "t", "the scales and translations of its levels"),
    ] {
        let why = folder.bad(&format!("append a.zarr {source} --axis {axis}"), 2);
        assert!(why.contains(expected), "{source} along {axis}: {why}");
    }
    folder.good("append a.zarr b.zarr --axis t");
    assert!(folder.good("info a.zarr/0").text().contains("2 × 1 × 4 × 4"));
}

/// The names, paths and versions of OME-Zarr's metadata are texts, also those that look like numbers.
#[test]
fn advice_on_renamed_levels_and_wells_works_as_it_is_written() {
    let folder = Folder::new();
    folder.good("create i.zarr --group");
    let ome = r#"ome={"version":"0.5","multiscales":[{"axes":[{"name":"y","type":"space"},{"name":"x","type":"space"}],"datasets":[{"path":"s0","coordinateTransformations":[{"type":"scale","scale":[1,1]}]},{"path":"s1","coordinateTransformations":[{"type":"scale","scale":[2,2]}]}]}]}"#;
    let status = folder.command("attrs i.zarr --set").arg(ome).status();
    assert!(status.unwrap().success());
    folder.good("create i.zarr/s0 --shape 4,4 --dtype uint8 --dims y,x");
    folder.good("create i.zarr/s1 --shape 2,2 --dtype uint8 --dims y,x");
    let put = folder.run("put i.zarr/s0 --value 1");
    assert!(put.code == 0 && put.err.contains("the smaller levels still show"), "{}", put.err);
    folder.run("rename i.zarr/s0 0");
    folder.good("attrs i.zarr --set ome.multiscales.0.datasets.0.path=0");
    folder.good("attrs i.zarr --set ome.version=0.5");
    folder.good("validate i.zarr");
    let why = folder.bad("attrs i.zarr --set multiscale.0.name=x", 1);
    assert!(why.contains("did you mean `ome.multiscales.0.name`?"), "{why}");
    folder.run("rm i.zarr/s1");
    let why = folder.bad("pyramid i.zarr", 2);
    assert!(why.contains("--delete ome.multiscales.0.datasets.path=s1"), "{why}");
    folder.good("attrs i.zarr --delete ome.multiscales.0.datasets.path=s1");
    folder.good("validate i.zarr");

    // NEW is counted from the group of the node.
    folder.good("create p.zarr/B/1 --group");
    let why = folder.bad("rename p.zarr/B/1 B/3", 2);
    assert!(why.contains("did you mean `3`, or `/B/3` from the root?"), "{why}");
    folder.good("rename p.zarr/B/1 3");
}

/// bioformats2raw lists its images in a group beside them.
#[test]
fn series_of_bioformats2raw_follow_copies_and_are_named_by_rm() {
    let folder = Folder::new();
    folder.good("create b.zarr --group --format v2 --attr bioformats2raw.layout=3");
    folder.good("create b.zarr/OME --group --format v2");
    let series = r#"series=["0","1"]"#;
    assert!(folder.command("attrs b.zarr/OME --set").arg(series).status().unwrap().success());
    for image in ["0", "1"] {
        folder.good(&format!("create b.zarr/{image}/0 --shape 4,4 --dtype uint8 --format v2"));
    }
    folder.good("copy b.zarr one.zarr --exclude 1");
    let listed = folder.good("attrs one.zarr/OME series --json");
    assert_eq!(listed.text().split_whitespace().collect::<String>(), r#"["0"]"#);
    let run = folder.run("rm b.zarr/1");
    assert!(run.code == 0 && run.err.contains("`series.1` still names `1`"), "{}", run.err);
    folder.good("attrs b.zarr/OME --delete series.1");
}
