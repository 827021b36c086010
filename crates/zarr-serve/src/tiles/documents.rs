//! Writes the documents by which programs find tiles: TileJSON 3.0, and those of OGC API - Tiles 1.0.

use zarr::{Json, Object};
use zarr_plot::map::{TILE_SIZE, TileMatrixSet};
use zarr_plot::meaning::geo::MERCATOR_LATITUDE;

use super::{Refusal, Request, at, parameters};
use crate::Answer;

/// What of the standards is there, and no more.
const CONFORMS_TO: [&str; 6] = [
    "http://www.opengis.net/spec/ogcapi-common-1/1.0/conf/core",
    "http://www.opengis.net/spec/ogcapi-common-1/1.0/conf/json",
    "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/core",
    "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/tileset",
    "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/png",
    "http://www.opengis.net/spec/tms/2.0/conf/json-tilematrixset",
];

fn link(rel: &str, kind: &str, href: String) -> Json {
    Object::new().with("rel", rel).with("type", kind).with("href", href).into()
}

fn numbers(numbers: &[f64]) -> Json {
    numbers.iter().map(|&number| Json::float(number)).collect()
}

/// `{"conformsTo": […]}`.
pub(super) fn conformance() -> Answer {
    let list: Json = CONFORMS_TO.into_iter().map(Json::from).collect();
    Answer::json(Object::new().with("conformsTo", list))
}

/// `{"tileMatrixSets": [{"id", "title", "uri", "links"}]}`.
pub(super) fn sets(url: &str) -> Answer {
    let list: Json = TileMatrixSet::ALL
        .into_iter()
        .map(|set: TileMatrixSet| -> Json {
            let href = format!("{url}/tileMatrixSets/{}", set.id());
            let links = vec![link("self", "application/json", href)];
            Object::new()
                .with("id", set.id())
                .with("title", set.title())
                .with("uri", set.uri())
                .with("links", links)
                .into()
        })
        .collect();
    Answer::json(Object::new().with("tileMatrixSets", list))
}

/// The definition of a tile matrix set, as OGC 17-083r4 has it in JSON.
pub(super) fn set(set: TileMatrixSet) -> Answer {
    let (west, north) = set.origin();
    let matrices: Json = (0..=set.max_zoom())
        .map(|zoom: u8| -> Json {
            let (columns, rows) = set.size(zoom);
            Object::new()
                .with("id", zoom.to_string())
                .with("scaleDenominator", Json::float(set.scale_denominator(zoom)))
                .with("cellSize", Json::float(set.cell_size(zoom)))
                .with("cornerOfOrigin", "topLeft")
                .with("pointOfOrigin", numbers(&[west, north]))
                .with("tileWidth", u64::from(TILE_SIZE))
                .with("tileHeight", u64::from(TILE_SIZE))
                .with("matrixWidth", columns)
                .with("matrixHeight", rows)
                .into()
        })
        .collect();
    let axes: Json = set.axes().into_iter().map(Json::from).collect();
    Answer::json(
        Object::new()
            .with("id", set.id())
            .with("title", set.title())
            .with("uri", set.uri())
            .with("crs", set.crs())
            .with("orderedAxes", axes)
            .with("wellKnownScaleSet", set.scale_set())
            .with("tileMatrices", matrices),
    )
}

/// TileJSON 3.0, in whose URL is the range of colours, so that all tiles have the same.
pub(super) fn tilejson(request: &Request<'_>) -> Result<Answer, Refusal> {
    let query = parameters::handed_on(request.question, request.range()?);
    // The first wrong parameter is said here, and not by each tile.
    parameters::size(request.question)?;
    parameters::resampling(request.question)?;
    let url = at(request.question, request.node);
    let tiles: Json =
        [Json::from(format!("{url}/{{z}}/{{x}}/{{y}}.png{query}"))].into_iter().collect();
    let (first, last) = request.layer.zooms(TileMatrixSet::WebMercatorQuad);
    let [west, south, east, north] = request.layer.bounds();
    let (south, north) = (south.max(-MERCATOR_LATITUDE), north.min(MERCATOR_LATITUDE));
    let centre = [f64::midpoint(west, east), f64::midpoint(south, north), f64::from(first)];
    let subject = request.layer.subject();
    let object = Object::new()
        .with("tilejson", "3.0.0")
        .with("name", subject.title())
        .with("version", "1.0.0")
        .with("scheme", "xyz")
        .with("tiles", tiles)
        .with("minzoom", u64::from(first))
        .with("maxzoom", u64::from(last))
        .with("bounds", numbers(&[west, south, east, north]))
        .with("center", numbers(&centre))
        .with("legend", format!("{url}/legend{query}"));
    Ok(Answer::json(object))
}

/// The tiles of one tile matrix set.
pub(super) fn tileset(request: &Request<'_>, set: TileMatrixSet) -> Result<Answer, Refusal> {
    let query = parameters::handed_on(request.question, request.range()?);
    let url = at(request.question, request.node);
    let template = format!("{url}/{}/{{tileMatrix}}/{{tileRow}}/{{tileCol}}{query}", set.id());
    let item = Object::new()
        .with("rel", "item")
        .with("type", "image/png")
        .with("templated", true)
        .with("href", template);
    let links = vec![
        link("self", "application/json", format!("{url}/{}{query}", set.id())),
        link(
            "http://www.opengis.net/def/rel/ogc/1.0/tiling-scheme",
            "application/json",
            format!("{url}/tileMatrixSets/{}", set.id()),
        ),
        item.into(),
    ];
    let [west, south, east, north] = request.layer.bounds();
    let bounds = Object::new()
        .with("lowerLeft", numbers(&[west, south]))
        .with("upperRight", numbers(&[east, north]))
        .with("crs", TileMatrixSet::WorldCrs84Quad.crs());
    let object = Object::new()
        .with("title", request.layer.subject().title())
        .with("dataType", "map")
        .with("crs", set.crs())
        .with("tileMatrixSetURI", set.uri())
        .with("boundingBox", bounds)
        .with("links", links);
    Ok(Answer::json(object))
}

/// Links to all that there is of a layer.
pub(super) fn landing(request: &Request<'_>) -> Result<Answer, Refusal> {
    let query = parameters::handed_on(request.question, parameters::range(request.question)?);
    let url = at(request.question, request.node);
    let json = "application/json";
    let mut links = vec![
        link("self", json, format!("{url}/{query}")),
        link("conformance", json, format!("{url}/conformance")),
        link(
            "http://www.opengis.net/def/rel/ogc/1.0/tiling-schemes",
            json,
            format!("{url}/tileMatrixSets"),
        ),
        link("tilejson", json, format!("{url}/tilejson.json{query}")),
        link("legend", "image/png", format!("{url}/legend{query}")),
    ];
    for set in TileMatrixSet::ALL {
        let rel = "http://www.opengis.net/def/rel/ogc/1.0/tilesets-map";
        links.push(link(rel, json, format!("{url}/{}{query}", set.id())));
    }
    let notes: Json = request.layer.notes.iter().map(|note| Json::from(note.as_str())).collect();
    let object = Object::new()
        .with("title", request.layer.subject().title())
        .with("levels", request.layer.level_count() as u64)
        .with("notes", notes)
        .with("links", links);
    Ok(Answer::json(object))
}
