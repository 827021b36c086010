//! Reads a path below `/tiles/`: the node, and what is asked of it.

use zarr_plot::map::TileMatrixSet;

/// What is asked of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Links to the others.
    Landing,
    /// What of OGC API - Tiles is there.
    Conformance,
    /// The names of tile matrix sets.
    Sets,
    /// The definition of one.
    Set(TileMatrixSet),
    /// The colour bar.
    Legend,
    /// TileJSON.
    TileJson,
    /// The tiles of one tile matrix set.
    Tileset(TileMatrixSet),
    /// A tile, which may be outside of its set.
    Tile { set: TileMatrixSet, zoom: u64, column: u64, row: u64 },
}

/// The path of the node, without a `/` at either end, and what is asked of it.
///
/// # Errors
/// Why nothing is at the path: a sentence.
pub(super) fn parse(path: &str) -> Result<(&str, Asked), String> {
    let path = path.trim_end_matches('/');
    // The last segments and what is before them.
    let mut parts: [&str; 4] = [""; 4];
    let mut before: [&str; 5] = [path; 5];
    for n in 0..4 {
        let (rest, last) = before[n].rsplit_once('/').unwrap_or(("", before[n]));
        (parts[n], before[n + 1]) = (last, rest);
    }
    let found = match parts[0] {
        "conformance" => (before[1], Asked::Conformance),
        "legend" | "legend.png" => (before[1], Asked::Legend),
        "tileMatrixSets" => (before[1], Asked::Sets),
        "tilejson.json" => match TileMatrixSet::of_id(parts[1]) {
            Some(TileMatrixSet::WebMercatorQuad) => (before[2], Asked::TileJson),
            Some(other) => {
                return Err(format!("TileJSON is for WebMercatorQuad, and not for {}", other.id()));
            }
            None => (before[1], Asked::TileJson),
        },
        id if parts[1] == "tileMatrixSets" => match TileMatrixSet::of_id(id) {
            Some(set) => (before[2], Asked::Set(set)),
            None => return Err(unknown(id)),
        },
        last => {
            match (
                TileMatrixSet::of_id(parts[3]),
                number(parts[2]),
                number(parts[1]),
                number(last).or(image(last)),
            ) {
                // The order of the OGC: row, column.
                (Some(set), Some(zoom), Some(row), Some(column)) => {
                    (before[4], Asked::Tile { set, zoom, column, row })
                }
                // The order of XYZ: column, row.
                (None, Some(zoom), Some(column), Some(row)) if image(last).is_some() => (
                    before[3],
                    Asked::Tile { set: TileMatrixSet::WebMercatorQuad, zoom, column, row },
                ),
                _ => match TileMatrixSet::of_id(last) {
                    Some(set) => (before[1], Asked::Tileset(set)),
                    None => (path, Asked::Landing),
                },
            }
        }
    };
    if found.0.is_empty() {
        return Err("the path of an array is missing: /tiles/NAME/PATH/{z}/{x}/{y}.png".into());
    }
    Ok(found)
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok()
}

/// The number of an image's name.
fn image(name: &str) -> Option<u64> {
    number(name.strip_suffix(".png")?)
}

fn unknown(id: &str) -> String {
    let names = TileMatrixSet::ALL.map(TileMatrixSet::id).join(", ");
    format!("there is no tile matrix set `{id}`; expected one of {names}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_from_their_end() {
        let web = TileMatrixSet::WebMercatorQuad;
        let degrees = TileMatrixSet::WorldCrs84Quad;
        let tile = |set, zoom, column, row| Asked::Tile { set, zoom, column, row };
        for (path, node, asked) in [
            ("x.zarr/a/3/1/2.png", "x.zarr/a", tile(web, 3, 1, 2)),
            ("x.zarr/3/1/2.png", "x.zarr", tile(web, 3, 1, 2)),
            ("x.zarr/a/WebMercatorQuad/3/1/2", "x.zarr/a", tile(web, 3, 2, 1)),
            ("x.zarr/a/WorldCRS84Quad/3/1/2.png", "x.zarr/a", tile(degrees, 3, 2, 1)),
            ("x.zarr/a/WorldCRS84Quad/", "x.zarr/a", Asked::Tileset(degrees)),
            ("x.zarr/a/tilejson.json", "x.zarr/a", Asked::TileJson),
            ("x.zarr/WebMercatorQuad/tilejson.json", "x.zarr", Asked::TileJson),
            ("x.zarr/a/tileMatrixSets", "x.zarr/a", Asked::Sets),
            ("x.zarr/a/tileMatrixSets/WorldCRS84Quad", "x.zarr/a", Asked::Set(degrees)),
            ("x.zarr/a/conformance", "x.zarr/a", Asked::Conformance),
            ("x.zarr/a/legend.png", "x.zarr/a", Asked::Legend),
            ("x.zarr/a", "x.zarr/a", Asked::Landing),
            // Arrays may have such names.
            ("x.zarr/1/2/3", "x.zarr/1/2/3", Asked::Landing),
        ] {
            assert_eq!(parse(path), Ok((node, asked)), "{path}");
        }
        for path in
            ["", "/", "1/2/3.png", "legend", "x/WorldCRS84Quad/tilejson.json", "x/tileMatrixSets/y"]
        {
            assert!(parse(path).is_err(), "{path}");
        }
    }
}
