//! Questions to a hierarchy in a folder, right ones and wrong ones.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use zarr::{Dialect, Json};
use zarr_testkit::Records;

use super::answer;
use crate::{Answer, Question, Targets, TargetsOptions};

/// `x.zarr` with a packed array `/a` of 4 × 5 × 6, coordinates of its last axis, and an array of texts.
fn targets(folder: &Path) -> Targets {
    let path = folder.join("x.zarr");
    let path = path.to_str().unwrap();
    let hierarchy = zarr::create(path, Dialect::V3).unwrap();
    let array = hierarchy
        .create_array("/a")
        .shape(&[4, 5, 6])
        .chunks(&[2, 5, 3])
        .data_type_named("int16")
        .dimension_names(["t", "y", "x"])
        .create()
        .unwrap();
    let values: Vec<i16> = (0..120).collect();
    array.write((0..2, .., ..), &values[..60]).unwrap();
    array
        .update_attributes(|attributes| {
            attributes.insert("scale_factor", Json::from(0.5));
            attributes.insert("_FillValue", Json::from(7u64));
            attributes.insert("units", "m");
        })
        .unwrap();
    let x = hierarchy.create_array("/x").shape(&[6]).chunks(&[6]).data_type_named("float64");
    let x = x.dimension_names(["x"]).create().unwrap();
    x.write(.., &[0.0, 10.0, 20.0, 30.0, 40.0, 50.0]).unwrap();
    let texts =
        hierarchy.create_array("/g/texts").shape(&[2]).chunks(&[2]).data_type_named("string");
    let texts = texts.create().unwrap();
    texts.write(.., &["one".to_owned(), "<b>".to_owned()]).unwrap();
    let huge =
        hierarchy.create_array("/huge").shape(&[u64::MAX / 4, 1 << 40]).chunks(&[1000, 1000]);
    huge.data_type_named("float64").create().unwrap();
    let open = zarr::OpenOptions::new(zarr::standard());
    Targets::open(&[path.to_owned()], &TargetsOptions { open, ..TargetsOptions::default() })
        .unwrap()
}

fn asked(targets: &Targets, text: &str) -> Answer {
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name.to_owned(), value.to_owned())
    };
    let question =
        Question { path: path.into(), query: pairs.map(pair).collect(), ..Question::default() };
    answer(&question, targets)
}

fn json(targets: &Targets, text: &str) -> String {
    let answer = asked(targets, text);
    let body = String::from_utf8(answer.bytes.to_vec()).unwrap();
    assert_eq!(answer.status, 200, "{text}: {body}");
    body
}

#[test]
fn planes_are_decoded_and_in_the_order_of_their_axes() {
    let folder = tempfile::tempdir().unwrap();
    let targets = targets(folder.path());
    let plane = |query: &str| {
        let answer = asked(&targets, &format!("slice?path=x.zarr/a&{query}"));
        assert_eq!(answer.status, 200, "{query}");
        let header =
            |name| answer.headers.iter().find(|(known, _)| *known == name).unwrap().1.clone();
        assert_eq!(header("zarr-type"), "float64");
        let values =
            answer.bytes.chunks_exact(8).map(|value| f64::from_le_bytes(value.try_into().unwrap()));
        (header("zarr-shape"), values.collect::<Vec<_>>())
    };
    // 7 is missing, and all are halved.
    let (shape, values) = plane("at=0,0,0&down=1:2");
    assert_eq!(shape, "1,6");
    assert_eq!((values[0], values[2]), (3.0, 4.0));
    assert!(values[1].is_nan());
    let (shape, values) = plane("x=1&y=2&at=1,0,0&across=0:5:2&down=4:6");
    assert_eq!((shape.as_str(), values), ("2,3", vec![17.0, 23.0, 29.0, 17.5, 23.5, 29.5]));
    // Blocks: their first element, their middle, the mean of those that are not missing.
    assert_eq!(plane("down=1:2&across=0:6:3").1, [3.0, 4.5]);
    let nearest = plane("down=1:2&across=0:6:3&reduce=nearest").1;
    assert!(nearest[0].is_nan() && nearest[1] == 5.0, "{nearest:?}");
    assert_eq!(plane("down=1:2&across=0:6:3&reduce=mean").1, [3.5, 5.0]);
    let (shape, values) = plane("x=2&y=0&at=0,4,0&across=5:6");
    assert_eq!((shape.as_str(), values), ("4,1", vec![14.5, 29.5, 0.0, 0.0]));
}

#[test]
fn lines_elements_tables_and_coordinates() {
    let folder = tempfile::tempdir().unwrap();
    let targets = targets(folder.path());
    assert_eq!(
        json(&targets, "line?path=x.zarr/a&axis=2&at=0,1,0&from=0&to=3"),
        r#"{"from":0,"step":1,"low":[3.0,null,4.0],"high":[3.0,null,4.0]}"#
    );
    assert_eq!(
        json(&targets, "value?path=x.zarr/a&at=0,1,3"),
        r#"{"text":"4.5","stored":"9","missing":false,"coordinates":[null,null,"30"]}"#
    );
    assert_eq!(
        json(&targets, "value?path=x.zarr/a&at=0,1,1"),
        r#"{"text":"missing","stored":"7","missing":true,"coordinates":[null,null,"10"]}"#
    );
    assert_eq!(json(&targets, "table?path=x.zarr/g/texts"), r#"{"texts":[["one"],["<b>"]]}"#);
    assert_eq!(
        json(&targets, "axis?path=x.zarr/a&axis=2&from=4"),
        r#"{"texts":["40","50"],"values":[40.0,50.0]}"#
    );
    assert_eq!(json(&targets, "axis?path=x.zarr/a&axis=0"), r#"{"texts":null}"#);
    let chunks = json(&targets, "chunks?path=x.zarr/a");
    // The first two of four, along the last axis.
    assert!(chunks.contains(r#""grid":[2,1,2]"#) && chunks.contains(r#""map":"Aw==""#), "{chunks}");
    let statistics = json(&targets, "stats?path=x.zarr/a&percentile=50&histogram=2");
    assert!(statistics.contains(r#""count":119,"missing":1"#), "{statistics}");
    assert!(
        json(&targets, "find?text=TEX").contains(r#"{"path":"x.zarr/g/texts","kind":"array"}"#)
    );
    let node = json(&targets, "node?path=x.zarr/a");
    for part in [
        r#""units":"m""#,
        r#""chunk_shape":[2,5,3]"#,
        r#""a/zarr.json":{"#,
        r#""kind":"picture","x":2,"y":1"#,
    ] {
        assert!(node.contains(part), "{part} in {node}");
    }
}

#[test]
fn what_is_too_much_or_wrong_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let targets = targets(folder.path());
    for (status, question) in [
        (404, "nothing"),
        (404, "page/../mod.rs"),
        (404, "page/nothing.js"),
        (400, "node"),
        (404, "node?path=y.zarr"),
        (404, "node?path=x.zarr/b"),
        (400, "find?text= "),
        (400, "slice?path=x.zarr"),
        (400, "slice?path=x.zarr/a&at=0,0"),
        (400, "slice?path=x.zarr/a&at=0,5,0"),
        (400, "slice?path=x.zarr/a&at=0,-1,0"),
        (400, "slice?path=x.zarr/a&x=3"),
        (400, "slice?path=x.zarr/a&x=1&y=1"),
        (400, "slice?path=x.zarr/a&across=0:7"),
        (400, "slice?path=x.zarr/a&across=3:3"),
        (400, "slice?path=x.zarr/a&across=0:6:0"),
        (400, "slice?path=x.zarr/a&across=0:6:18446744073709551615"),
        (400, "slice?path=x.zarr/g/texts"),
        (400, "slice?path=x.zarr/a&reduce=median"),
        (413, "slice?path=x.zarr/huge"),
        (413, "slice?path=x.zarr/huge&across=0:1099511627776:1099511&down=0:1000000000:1000000"),
        (413, "line?path=x.zarr/huge&axis=0"),
        (400, "line?path=x.zarr/a"),
        (400, "line?path=x.zarr/a&axis=0&from=3&to=2"),
        (413, "table?path=x.zarr/huge&down=0:1000&across=0:1000"),
        (400, "stats?path=x.zarr/a&percentile=101"),
        (400, "stats?path=x.zarr/a&percentile=a"),
        (400, "stats?path=x.zarr/a&histogram=1000000"),
        (400, "axis?path=x.zarr/a&axis=99999999999999999999"),
        (400, "plot.png?path=x.zarr/a&window=0"),
        (400, "plot.png?path=x.zarr/a&color=0=red"),
        (400, "plot.png?path=x.zarr/a&coast=1"),
        (400, "plot.png?path=x.zarr/a&overlay=x.zarr/a&opacity=2"),
        (400, "plot.png?path=x.zarr/a&overlay=x.zarr/x"),
        (404, "plot.png?path=x.zarr/a&overlay=x.zarr/b"),
        (413, "plot.png?path=x.zarr/huge&bare=1&overlay=x.zarr/huge"),
    ] {
        let answer = asked(&targets, question);
        let body = String::from_utf8_lossy(&answer.bytes).into_owned();
        assert_eq!(answer.status, status, "{question}: {body}");
        assert!(body.starts_with(r#"{"error":{"kind":"#), "{question}: {body}");
    }
}

/// Any parameters have an answer, and none panics.
#[test]
fn odd_parameters_have_answers() {
    let folder = tempfile::tempdir().unwrap();
    let targets = targets(folder.path());
    let odd = [
        "",
        "0",
        "-1",
        "1:2:3:4",
        "::",
        "0:0:0",
        "NaN",
        "99999999999999999999999",
        "0,0,0,",
        ",,",
        "%",
        "é",
        "a:b",
        "1e3",
        "../..",
        "\0",
    ];
    let names = [
        "reduce",
        "path",
        "at",
        "x",
        "y",
        "axis",
        "across",
        "down",
        "from",
        "to",
        "count",
        "text",
        "percentile",
        "histogram",
        "map",
        "range",
        "size",
        "window",
        "color",
        "channels",
        "overlay",
        "opacity",
        "coast",
    ];
    for (question, _) in super::QUESTIONS {
        for name in names {
            for value in odd {
                let mut all = vec![(name.to_owned(), value.to_owned())];
                all.extend(
                    [("path", "x.zarr/a"), ("axis", "1"), ("size", "100x100")]
                        .map(|(name, value)| (name.to_owned(), value.to_owned())),
                );
                let question =
                    Question { path: question.into(), query: all, ..Question::default() };
                let answer = answer(&question, &targets);
                assert!(
                    [200, 400, 404, 413, 422].contains(&answer.status),
                    "{question:?}: {}",
                    answer.status
                );
            }
        }
    }
}

/// An image of OME-Zarr with labels: what the page is told of it.
#[test]
fn an_image_has_channels_labels_and_a_first_position() {
    let url = "memory://image-of-the-page";
    let hierarchy = zarr::create(url, Dialect::V3).unwrap();
    let attributes = |text: &str| match Json::parse(text.as_bytes()).unwrap() {
        Json::Object(object) => object,
        other => panic!("{other}"),
    };
    let multiscales = |axes: &str, scale: &str| {
        let axes: Vec<String> = axes
            .chars()
            .map(|name| match name {
                'c' => r#"{"name": "c", "type": "channel"}"#.to_owned(),
                name => {
                    format!(r#"{{"name": "{name}", "type": "space", "unit": "micrometer"}}"#)
                }
            })
            .collect();
        format!(
            r#""version": "0.5", "multiscales": [{{"axes": [{}], "datasets": [{{"path": "0",
            "coordinateTransformations": [{{"type": "scale", "scale": {scale}}}]}}]}}]"#,
            axes.join(",")
        )
    };
    let image = multiscales("czyx", "[1, 2, 0.5, 0.5]");
    let omero = r#""omero": {"rdefs": {"defaultZ": 2}, "channels": [{"label": "DAPI", "color": "0000FF"}, {}]}"#;
    let group = |path: &str, text: String| {
        hierarchy.create_group(path, attributes(&text)).unwrap();
    };
    group("/", "{}".to_owned());
    hierarchy
        .root()
        .unwrap()
        .update_attributes(|own| {
            own.insert("ome", attributes(&format!("{{{image}, {omero}}}")));
        })
        .unwrap();
    group("/labels", r#"{"ome": {"labels": ["cells"]}}"#.into());
    let labels = multiscales("zyx", "[2, 0.5, 0.5]");
    let colors = r#""image-label": {"colors": [{"label-value": 3, "rgba": [1, 2, 255, 128]}]}"#;
    group("/labels/cells", format!(r#"{{"ome": {{{labels}, {colors}}}}}"#));
    for (path, shape) in [("/0", &[2, 4, 8, 8][..]), ("/labels/cells/0", &[4, 8, 8])] {
        let array = hierarchy.create_array(path).shape(shape).chunks(shape);
        array.data_type_named("uint16").create().unwrap();
    }
    let open = zarr::OpenOptions::new(zarr::standard());
    let options = TargetsOptions { open, ..TargetsOptions::default() };
    let targets = Targets::open(&[url.to_owned()], &options).unwrap();
    let name = targets.roots().next().unwrap().0.to_owned();
    let node = json(&targets, &format!("node?path={name}/0"));
    for part in [
        r#""at":[0,2,0,0]"#,
        r#""channel_axis":0"#,
        r#"{"color":"0000ff","window":null,"active":true,"inverted":false,"label":"DAPI"},{"color":"00ff00""#,
        r#""overlays":[{"name":"cells","axes":[1,2,3],"levels":[{"path":"#,
        r#""label_colors":[[3.0,"0102ff80"]]"#,
        r#""step":2.0,"metres":1e-6"#,
    ] {
        assert!(node.contains(part), "{part} in {node}");
    }
    let figure = format!(
        "plot.png?path={name}/0&at=0,2,0,0&window=0=1:5&color=1=ff00ff&channels=0,1&overlay={name}/labels/cells/0&bare=1"
    );
    assert_eq!(asked(&targets, &figure).status, 200);
}

#[test]
fn coasts_are_those_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let answer = asked(&targets(folder.path()), "coast");
    assert_eq!((answer.status, &answer.bytes[..]), (200, zarr_plot::picture::COAST_BYTES));
}

/// A hierarchy in memory whose requests are counted: an array of 64 × 128 × 128 in chunks of 64³.
fn counted(name: &str, kept: u64) -> (Targets, Records<String>) {
    let url = format!("memory://{name}");
    let hierarchy = zarr::create(&url, Dialect::V3).unwrap();
    let array = hierarchy.create_array("/a").shape(&[64, 128, 128]).chunks(&[64, 64, 64]);
    let array = array.data_type_named("float32").codec(zarr::tools::codec("zstd:1").unwrap());
    let values: Vec<f32> = (0..64 * 128 * 128).map(|n| n as f32).collect();
    array.create().unwrap().write(.., &values).unwrap();
    let records: Arc<Mutex<Option<Records<String>>>> = Arc::default();
    let of_wrap = records.clone();
    let open = zarr::OpenOptions::new(zarr::standard()).wrap(move |store| {
        let is_chunk = |key: &str| key.starts_with("a/c/");
        let (store, records) = zarr_testkit::record(store, move |call| {
            (is_chunk(call.key) && call.bytes > 0).then(|| call.key.to_string())
        });
        *of_wrap.lock().unwrap() = Some(records);
        store
    });
    let options = TargetsOptions { open, kept, ..TargetsOptions::default() };
    let targets = Targets::open(&[url], &options).unwrap();
    let records = records.lock().unwrap().clone().unwrap();
    (targets, records)
}

#[test]
fn a_slider_reads_and_decodes_each_chunk_once() {
    let slide = |targets: &Targets| {
        for z in 0..64 {
            let name = targets.roots().next().unwrap().0.to_owned();
            let answer = asked(targets, &format!("slice?path={name}/a&at={z},0,0"));
            let first = f32::from_le_bytes(answer.bytes[..4].try_into().unwrap());
            assert_eq!((answer.status, first), (200, (z * 128 * 128) as f32));
        }
    };
    let (targets, records) = counted("slider-kept", 64 << 20);
    slide(&targets);
    let mut read = records.take();
    read.sort();
    assert_eq!(read, ["a/c/0/0/0", "a/c/0/0/1", "a/c/0/1/0", "a/c/0/1/1"]);
    // Statistics find the chunks there, too.
    assert!(json(&targets, "stats?path=slider-kept/a").contains(r#""max":1048575"#));
    assert_eq!(records.take(), [""; 0]);
    let (targets, records) = counted("slider-bare", 0);
    slide(&targets);
    assert_eq!(records.take().len(), 4 * 64);
}

/// What a search lists is used by the next ones; one that is broken off is continued.
#[test]
fn a_search_lists_a_hierarchy_once() {
    let url = "memory://searched";
    let hierarchy = zarr::create(url, Dialect::V3).unwrap();
    for n in 0..20 {
        hierarchy.create_group(format!("/g{n}/needle-{n}"), zarr::Object::new()).unwrap();
    }
    let count = Arc::new(AtomicUsize::new(0));
    let of_wrap = count.clone();
    let open = zarr::OpenOptions::new(zarr::standard()).wrap(move |store| {
        let count = of_wrap.clone();
        let note = move |call: &zarr::store::Call<'_>| {
            count.fetch_add(usize::from(call.operation.starts_with("list")), Ordering::Relaxed);
            None::<()>
        };
        zarr_testkit::record(store, note).0
    });
    let options = TargetsOptions { open, ..TargetsOptions::default() };
    let targets = Targets::open(&[url.to_owned()], &options).unwrap();
    count.store(0, Ordering::Relaxed);
    // The client has gone.
    let gone = Question {
        path: "find".into(),
        query: vec![("text".into(), "needle".into())],
        ..Question::default()
    };
    gone.cancel.cancel();
    assert!(
        String::from_utf8_lossy(&answer(&gone, &targets).bytes).contains(r#""complete":false"#)
    );
    assert_eq!(count.load(Ordering::Relaxed), 0);
    let found = json(&targets, "find?text=needle");
    assert_eq!(found.matches("needle-").count(), 20, "{found}");
    assert!(found.ends_with(r#""complete":true}"#), "{found}");
    let listed = count.load(Ordering::Relaxed);
    assert!((41..=60).contains(&listed), "{listed}");
    json(&targets, "find?text=NEEDLE-7");
    assert_eq!(count.load(Ordering::Relaxed), listed);
}

/// A child that cannot be opened is listed with the reason, whether or not a listing tells its kind.
#[test]
fn broken_children_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let targets = targets(folder.path());
    let put = |name: &str, text: &str| {
        let place = folder.path().join("x.zarr").join(name);
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("zarr.json"), text).unwrap();
    };
    put("broken", "{");
    put("g/broken", r#"{"zarr_format": 3, "node_type": "array", "shape": [1]}"#);
    for (question, others) in [("children?path=x.zarr", 4), ("children?path=x.zarr/g", 1)] {
        let found = Json::parse(json(&targets, question).as_bytes()).unwrap();
        let all = found.as_object().unwrap().get("children").unwrap().as_array().unwrap();
        let error = |child: &Json| child.as_object().unwrap().get("error").cloned();
        let name = |child: &Json| child.as_object().unwrap().get("name").cloned();
        let broken: Vec<&Json> = all.iter().filter(|child| error(child).is_some()).collect();
        assert_eq!((all.len(), broken.len()), (others + 1, 1), "{found}");
        assert_eq!(name(broken[0]), Some("broken".into()));
    }
}

/// A plate of one row and two columns, whose only well has a field of two levels.
fn plates(folder: &Path) -> Targets {
    let path = folder.join("p.zarr");
    let path = path.to_str().unwrap();
    let hierarchy = zarr::create(path, Dialect::V3).unwrap();
    let group = |path: &str, ome: &str| {
        let Json::Object(attributes) = Json::parse(ome.as_bytes()).unwrap() else { panic!() };
        hierarchy.create_group(path, attributes).unwrap();
    };
    group(
        "/",
        r#"{"ome": {"version": "0.5", "plate": {"version": "0.5", "rows": [{"name": "A"}], "columns": [{"name": "1"}, {"name": "2"}],
        "wells": [{"path": "A/1", "rowIndex": 0, "columnIndex": 0}, {"path": "A/2", "rowIndex": 0, "columnIndex": 1}], "acquisitions": [{"id": 4}]}}}"#,
    );
    group("/A/1", r#"{"ome": {"well": {"images": [{"path": "0", "acquisition": 4}]}}}"#);
    group(
        "/A/1/0",
        r#"{"ome": {"multiscales": [{"axes": [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}],
        "datasets": [{"path": "0"}, {"path": "1"}]}], "omero": {"channels": [{"color": "FF0000", "window": {"start": 10, "end": 30}}, {"color": "0000FF"}]}}}"#,
    );
    for (level, side) in [("0", 200_u64), ("1", 100)] {
        let array = hierarchy.create_array(format!("/A/1/0/{level}")).shape(&[2, side, side]);
        let array = array.chunks(&[1, side, side]).data_type_named("uint16").create().unwrap();
        let values: Vec<u16> = (0..2 * side * side).map(|n| (n % side) as u16).collect();
        array.write(.., &values).unwrap();
    }
    let open = zarr::OpenOptions::new(zarr::standard());
    Targets::open(&[path.to_owned()], &TargetsOptions { open, ..TargetsOptions::default() })
        .unwrap()
}

#[test]
fn a_plate_has_wells_fields_and_windows_for_all() {
    let folder = tempfile::tempdir().unwrap();
    let targets = plates(folder.path());
    // The second channel declares no window: it has that of its values as they are shown, 2 by 2 elements of the smaller level a pixel. A well
    // without a group has no field.
    assert_eq!(
        json(&targets, "plate?path=p.zarr"),
        r#"{"name":null,"rows":["A"],"columns":["1","2"],"acquisitions":[{"id":4,"name":null}],"wells":[{"path":"A/1","row":0,"column":0,"fields":[{"path":"0","acquisition":4}]},{"path":"A/2","row":0,"column":1,"fields":[]}],"windows":"0:10:30,1:0.5:98.5"}"#
    );
    let node = json(&targets, "node?path=p.zarr");
    assert!(
        node.contains(r#""plate":{"rows":1,"columns":2,"wells":2,"fields":null,"acquisitions":1}"#),
        "{node}"
    );
    let well = json(&targets, "node?path=p.zarr/A/1");
    assert!(well.contains(r#""fields":[{"path":"0","acquisition":4}]"#), "{well}");
    assert_eq!(asked(&targets, "plate?path=p.zarr/A/1").status, 400);
}

#[test]
fn thumbnails_are_of_the_level_that_fits_and_in_the_windows_that_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let targets = plates(folder.path());
    let pixels = |query: &str| {
        let answer = asked(&targets, &format!("thumbnail.png?{query}"));
        assert_eq!(answer.status, 200, "{query}: {:?}", answer.bytes);
        let mut reader =
            png::Decoder::new(std::io::Cursor::new(&answer.bytes[..])).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        (info.width, info.height, bytes)
    };
    let (width, height, bytes) = pixels("path=p.zarr/A/1/0&size=100&windows=1:50:51");
    assert_eq!((width, height), (100, 100));
    // The column 20 is half way in the declared window of the first channel; 49 is below that of the second, 51 at its end.
    assert_eq!(bytes[4 * 20..4 * 20 + 4], [128, 0, 0, 255]);
    assert_eq!((bytes[4 * 49 + 2], bytes[4 * 51 + 2]), (0, 255));
    assert_eq!(pixels("path=p.zarr/A/1/0/1&size=100&windows=1:50:51").2, bytes);
    assert_eq!(pixels("path=p.zarr/A/1/0&size=50").0, 50);
    for query in [
        "path=p.zarr/A/1/0&size=9",
        "path=p.zarr/A/1/0&windows=0:5",
        "path=p.zarr/A/1/0&windows=0:5:5",
        "path=p.zarr/A/1",
    ] {
        assert_eq!(asked(&targets, &format!("thumbnail.png?{query}")).status, 400, "{query}");
    }
}
