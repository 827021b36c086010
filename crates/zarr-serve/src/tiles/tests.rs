//! Tiles and their documents, of a map in a folder.

use std::path::Path;

use zarr::{Dialect, Json, Object};

use super::answer;
use crate::{Answer, Question, Targets, TargetsOptions};

/// `x.zarr` with `/t2m`, 4 times of a map of the world in steps of 5 degrees, whose elements are 1,000 times the time and the
/// column; `/plain` is no map, and `/rgb` has colours.
fn targets(folder: &Path) -> Targets {
    let path = folder.join("x.zarr");
    let path = path.to_str().unwrap();
    let hierarchy = zarr::create(path, Dialect::V3).unwrap();
    let coordinate = |name: &str, units: &str, values: Vec<f64>| {
        let len = values.len() as u64;
        let array = hierarchy.create_array(format!("/{name}")).shape(&[len]).chunks(&[len]);
        let array = array.data_type_named("float64").dimension_names([name]);
        let array = array.attributes(Object::new().with("units", units)).create().unwrap();
        array.write(.., &values).unwrap();
    };
    coordinate("lon", "degrees_east", (0..72).map(|n| 2.5 + 5.0 * f64::from(n)).collect());
    coordinate("lat", "degrees_north", (0..36).map(|n| 87.5 - 5.0 * f64::from(n)).collect());
    coordinate("time", "days since 2020-01-01", vec![0.0, 31.0, 60.0, 91.0]);
    let array = hierarchy.create_array("/t2m").shape(&[4, 36, 72]).chunks(&[1, 36, 72]);
    let array = array.data_type_named("float32").dimension_names(["time", "lat", "lon"]);
    let attributes = Object::new().with("units", "K").with("_FillValue", Json::from(-1.0));
    let array = array.attributes(attributes).create().unwrap();
    let values: Vec<f32> =
        (0..4 * 36 * 72).map(|n| (1_000 * (n / (36 * 72)) + n % 72) as f32).collect();
    array.write(.., &values).unwrap();
    let plain = hierarchy.create_array("/plain").shape(&[4, 4]).chunks(&[4, 4]);
    plain.data_type_named("uint8").create().unwrap();
    let colors = hierarchy.create_array("/rgb").shape(&[36, 72, 3]).chunks(&[36, 72, 3]);
    let colors = colors.data_type_named("uint8").dimension_names(["lat", "lon", "band"]);
    let colors = colors.fill_value(0u64).create().unwrap();
    colors.write(.., &[10_u8, 20, 30].repeat(36 * 72)).unwrap();
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
    let base = "http://localhost:8000/".to_owned();
    let query = pairs.map(pair).collect();
    answer(&Question { path: path.into(), query, base, ..Question::default() }, targets)
}

fn json(targets: &Targets, text: &str) -> Json {
    let answer = asked(targets, text);
    let body = String::from_utf8(answer.bytes.to_vec()).unwrap();
    assert_eq!(answer.status, 200, "{text}: {body}");
    Json::parse(body.as_bytes()).unwrap()
}

/// The pixels of a PNG, four bytes each, and how many there are across and down.
fn pixels(answer: &Answer) -> (u32, u32, Vec<u8>) {
    assert_eq!((answer.status, answer.content_type), (200, "image/png"), "{:?}", answer.bytes);
    let mut reader =
        png::Decoder::new(std::io::Cursor::new(&answer.bytes[..])).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    bytes.truncate(info.buffer_size());
    (info.width, info.height, bytes)
}

/// The grey of each pixel of a row.
fn greys(targets: &Targets, text: &str, row: usize) -> Vec<u8> {
    let (width, _, bytes) = pixels(&asked(targets, text));
    let row = &bytes[4 * row * width as usize..4 * (row + 1) * width as usize];
    row.chunks_exact(4).map(|pixel| pixel[0]).collect()
}

#[test]
fn tiles_are_found_by_both_orders_and_have_the_values_of_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let targets = targets(folder.path());
    // From -180 on: the columns from 180 degrees east on come first. A colour for each column.
    let query = "colormap_name=gray&rescale=0,256&width=72&height=36";
    let expected: Vec<u8> = (36..72).chain(0..36).collect();
    assert_eq!(greys(&targets, &format!("x.zarr/t2m/0/0/0.png?{query}"), 17), expected);
    assert_eq!(greys(&targets, &format!("x.zarr/t2m/WebMercatorQuad/0/0/0?{query}"), 17), expected);
    // Column 1, row 0 of a matrix of four.
    let (xyz, ogc) = ("x.zarr/t2m/1/1/0.png", "x.zarr/t2m/WebMercatorQuad/1/0/1.png");
    assert_eq!(asked(&targets, xyz).bytes, asked(&targets, ogc).bytes);
    let query = "colormap_name=gray&rescale=0,256&tilesize=36";
    let degrees = greys(&targets, &format!("x.zarr/t2m/WorldCRS84Quad/0/0/1?{query}"), 0);
    assert_eq!(degrees, (0..36).collect::<Vec<u8>>());
    let (width, height, _) = pixels(&asked(&targets, "x.zarr/t2m/0/0/0.png"));
    assert_eq!((width, height), (256, 256));
}

#[test]
fn both_peers_words_select_a_plane_and_colours() {
    let folder = tempfile::tempdir().unwrap();
    let targets = targets(folder.path());
    let titiler =
        "colormap_name=gray&rescale=2000,2256&width=72&height=36&sel=time=nearest::2020-03-02";
    let xpublish = "style=raster/gray&colorscalerange=2000,2256&width=72&height=36&time=2020-03-01&variables=t2m";
    let expected: Vec<u8> = (36..72).chain(0..36).collect();
    assert_eq!(greys(&targets, &format!("x.zarr/t2m/0/0/0.png?{titiler}"), 17), expected);
    assert_eq!(greys(&targets, &format!("x.zarr/0/0/0.png?{xpublish}&f=image/png"), 17), expected);
    let (.., colors) = pixels(&asked(&targets, "x.zarr/rgb/0/0/0.png"));
    assert!(colors.chunks_exact(4).all(|pixel| pixel == [10, 20, 30, 255]));
}

#[test]
fn one_range_is_for_all_tiles_and_is_in_the_tilejson() {
    let folder = tempfile::tempdir().unwrap();
    let targets = targets(folder.path());
    let found = json(&targets, "x.zarr/t2m/tilejson.json?sel=time=nearest::2020-02-01&tilesize=64");
    let url = found["tiles"].as_array().unwrap()[0].as_str().unwrap();
    assert_eq!(
        url,
        "http://localhost:8000/tiles/x.zarr/t2m/{z}/{x}/{y}.png?sel=time%3Dnearest::2020-02-01&tilesize=64&rescale=1001,1070"
    );
    assert_eq!(found["tilejson"].as_str(), Some("3.0.0"));
    assert_eq!(found["bounds"].to_string(), "[-180.0,-85.0511287798066,180.0,85.0511287798066]");
    assert_eq!((found["minzoom"].as_u64(), found["maxzoom"].as_u64()), (Some(0), Some(0)));
    // The tile of the URL, and that without a range.
    let (_, query) = url.split_once('?').unwrap();
    let query = query.replace("%3D", "=");
    let explicit = asked(&targets, &format!("x.zarr/t2m/0/0/0.png?{query}"));
    let query = query.split("&rescale").next().unwrap();
    let automatic = asked(&targets, &format!("x.zarr/t2m/0/0/0.png?{query}"));
    assert_eq!(pixels(&explicit), pixels(&automatic));
    assert_eq!(pixels(&asked(&targets, "x.zarr/t2m/legend")).0, 120);
}

#[test]
fn documents_of_the_ogc_lead_to_tiles() {
    let folder = tempfile::tempdir().unwrap();
    let targets = targets(folder.path());
    let links = json(&targets, "x.zarr/t2m/");
    let links = links["links"].as_array().unwrap();
    for link in links {
        let url =
            link["href"].as_str().unwrap().strip_prefix("http://localhost:8000/tiles/").unwrap();
        assert_eq!(asked(&targets, url).status, 200, "{url}");
    }
    let tileset = json(&targets, "x.zarr/t2m/WorldCRS84Quad?rescale=0,1");
    let template = tileset["links"].as_array().unwrap().last().unwrap()["href"].as_str().unwrap();
    let tile =
        template.replace("{tileMatrix}", "1").replace("{tileRow}", "0").replace("{tileCol}", "3");
    let tile = tile.strip_prefix("http://localhost:8000/tiles/").unwrap();
    assert_eq!(asked(&targets, tile).status, 200, "{tile}");
    let set = json(&targets, "x.zarr/t2m/tileMatrixSets/WebMercatorQuad");
    assert_eq!(set["tileMatrices"].as_array().unwrap().len(), 25);
    assert_eq!(
        set["tileMatrices"].as_array().unwrap()[0]["cellSize"].as_f64(),
        Some(156_543.033_928_040_97)
    );
}

#[test]
fn what_is_wrong_or_absent_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let targets = targets(folder.path());
    for (status, question) in [
        (404, ""),
        (404, "y.zarr/0/0/0.png"),
        (404, "x.zarr/nothing/0/0/0.png"),
        (404, "x.zarr/t2m/1/2/0.png"),
        (404, "x.zarr/t2m/30/0/0.png"),
        (404, "x.zarr/t2m/WorldCRS84Quad/0/1/0"),
        (404, "x.zarr/t2m/tileMatrixSets/GoogleMaps"),
        (400, "x.zarr/0/0/0.png"),
        (422, "x.zarr/plain/0/0/0.png"),
        (400, "x.zarr/t2m/0/0/0.png?rescale=2"),
        (400, "x.zarr/t2m/0/0/0.png?rescale=2,1"),
        (400, "x.zarr/t2m/0/0/0.png?rescale=a,b"),
        (400, "x.zarr/t2m/0/0/0.png?tilesize=1"),
        (400, "x.zarr/t2m/0/0/0.png?width=100000"),
        (400, "x.zarr/t2m/0/0/0.png?colormap_name=virids"),
        (400, "x.zarr/t2m/0/0/0.png?style=vector/viridis"),
        (400, "x.zarr/t2m/0/0/0.png?resampling=cubic"),
        (400, "x.zarr/t2m/0/0/0.png?f=jpeg"),
        (400, "x.zarr/t2m/0/0/0.png?sel=time"),
        (400, "x.zarr/t2m/0/0/0.png?sel=level=1"),
        (400, "x.zarr/t2m/0/0/0.png?sel=lat=1"),
        (400, "x.zarr/t2m/0/0/0.png?sel=time=pad::2020-01-01"),
        (400, "x.zarr/t2m/0/0/0.png?time=2020-01-10"),
        (400, "x.zarr/t2m/0/0/0.png?time=2030-01-10"),
    ] {
        let answer = asked(&targets, question);
        let body = String::from_utf8_lossy(&answer.bytes).into_owned();
        assert_eq!(answer.status, status, "{question}: {body}");
        assert!(body.starts_with(r#"{"error":{"kind":"#), "{question}: {body}");
    }
    let body = asked(&targets, "x.zarr/0/0/0.png").bytes;
    assert!(String::from_utf8_lossy(&body).contains("variable="), "{body:?}");
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
        "::",
        "nearest::",
        "nearest::x",
        "NaN",
        "NaN,1",
        "1e999,2",
        ",",
        "é",
        "a=b",
        "\0",
        "%",
    ];
    let names = [
        "variable",
        "sel",
        "time",
        "lat",
        "rescale",
        "colorscalerange",
        "colormap_name",
        "style",
        "tilesize",
        "width",
        "height",
        "resampling",
        "f",
    ];
    for path in [
        "x.zarr/t2m/0/0/0.png",
        "x.zarr/t2m/tilejson.json",
        "x.zarr/t2m/legend",
        "x.zarr/rgb/0/0/0.png",
    ] {
        for name in names {
            for value in odd {
                let query =
                    vec![(name.to_owned(), value.to_owned()), ("height".into(), "16".into())];
                let question = Question { path: path.into(), query, ..Question::default() };
                let answer = answer(&question, &targets);
                assert!([200, 400, 404, 422].contains(&answer.status), "{path} {name} {value:?}");
            }
        }
    }
    for path in [
        "/",
        "////",
        "a//b",
        "x.zarr/t2m/-1/0/0.png",
        "x.zarr/t2m/18446744073709551616/0/0.png",
        "x.zarr/t2m/0/0/.png",
    ] {
        let question = Question { path: path.into(), ..Question::default() };
        assert!([200, 400, 404, 422].contains(&answer(&question, &targets).status), "{path}");
    }
}
