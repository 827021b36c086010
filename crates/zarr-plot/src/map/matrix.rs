//! Tile matrix sets of the OGC: how the world is cut into tiles at each zoom.

use crate::meaning::geo::{mercator_latitude, mercator_longitude};

/// How the world is cut into tiles (OGC 17-083r4, annex D).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TileMatrixSet {
    /// A square in Web Mercator, which most maps on the web are made of.
    WebMercatorQuad,
    /// Two squares side by side, in degrees of longitude and latitude.
    WorldCrs84Quad,
}

/// Half the side of Web Mercator's square, in metres.
const MERCATOR_HALF: f64 = 20_037_508.342_789_244;
/// Metres of a degree, as the OGC takes it for scale denominators.
const METRES_PER_DEGREE: f64 = 111_319.490_793_273_58;
/// The pixel of a scale denominator, in metres.
const STANDARD_PIXEL: f64 = 0.000_28;
/// Pixels of a tile across and down, unless others are asked for.
pub const TILE_SIZE: u32 = 256;

impl TileMatrixSet {
    /// Both.
    pub const ALL: [TileMatrixSet; 2] =
        [TileMatrixSet::WebMercatorQuad, TileMatrixSet::WorldCrs84Quad];

    /// The set that is called so.
    pub fn of_id(id: &str) -> Option<TileMatrixSet> {
        TileMatrixSet::ALL.into_iter().find(|set| set.id() == id)
    }

    /// Its name in URLs.
    pub fn id(self) -> &'static str {
        match self {
            TileMatrixSet::WebMercatorQuad => "WebMercatorQuad",
            TileMatrixSet::WorldCrs84Quad => "WorldCRS84Quad",
        }
    }

    /// What it is.
    pub fn title(self) -> &'static str {
        match self {
            TileMatrixSet::WebMercatorQuad => "Google Maps Compatible for the World",
            TileMatrixSet::WorldCrs84Quad => "CRS84 for the World",
        }
    }

    /// Its definition at the OGC.
    pub fn uri(self) -> String {
        format!("http://www.opengis.net/def/tilematrixset/OGC/1.0/{}", self.id())
    }

    /// The scales that it has at the OGC.
    pub fn scale_set(self) -> &'static str {
        match self {
            TileMatrixSet::WebMercatorQuad => {
                "http://www.opengis.net/def/wkss/OGC/1.0/GoogleMapsCompatible"
            }
            TileMatrixSet::WorldCrs84Quad => {
                "http://www.opengis.net/def/wkss/OGC/1.0/GoogleCRS84Quad"
            }
        }
    }

    /// Its coordinate reference system, as a URI of the OGC.
    pub fn crs(self) -> &'static str {
        match self {
            TileMatrixSet::WebMercatorQuad => "http://www.opengis.net/def/crs/EPSG/0/3857",
            TileMatrixSet::WorldCrs84Quad => "http://www.opengis.net/def/crs/OGC/1.3/CRS84",
        }
    }

    /// The names of its axes, in their order.
    pub fn axes(self) -> [&'static str; 2] {
        match self {
            TileMatrixSet::WebMercatorQuad => ["X", "Y"],
            TileMatrixSet::WorldCrs84Quad => ["Lon", "Lat"],
        }
    }

    /// The last zoom.
    pub fn max_zoom(self) -> u8 {
        match self {
            TileMatrixSet::WebMercatorQuad => 24,
            TileMatrixSet::WorldCrs84Quad => 23,
        }
    }

    /// The upper left corner of the world, in its coordinates.
    pub fn origin(self) -> (f64, f64) {
        match self {
            TileMatrixSet::WebMercatorQuad => (-MERCATOR_HALF, MERCATOR_HALF),
            TileMatrixSet::WorldCrs84Quad => (-180.0, 90.0),
        }
    }

    /// How many tiles there are across and down at a zoom.
    pub fn size(self, zoom: u8) -> (u64, u64) {
        let down = 1_u64 << zoom.min(self.max_zoom());
        match self {
            TileMatrixSet::WebMercatorQuad => (down, down),
            TileMatrixSet::WorldCrs84Quad => (2 * down, down),
        }
    }

    /// The side of a tile in its coordinates.
    fn side(self, zoom: u8) -> f64 {
        // Powers of two: exact.
        let (_, down) = self.size(zoom);
        match self {
            TileMatrixSet::WebMercatorQuad => 2.0 * MERCATOR_HALF / down as f64,
            TileMatrixSet::WorldCrs84Quad => 180.0 / down as f64,
        }
    }

    /// The side of a pixel at a zoom, in its coordinates.
    pub fn cell_size(self, zoom: u8) -> f64 {
        self.side(zoom) / f64::from(TILE_SIZE)
    }

    /// The denominator of the scale at a zoom, for pixels of 0.28 mm.
    pub fn scale_denominator(self, zoom: u8) -> f64 {
        let metres = match self {
            TileMatrixSet::WebMercatorQuad => 1.0,
            TileMatrixSet::WorldCrs84Quad => METRES_PER_DEGREE,
        };
        self.cell_size(zoom) * metres / STANDARD_PIXEL
    }

    /// The longitude and latitude of a place, in degrees.
    pub(super) fn degrees(self, (x, y): (f64, f64)) -> (f64, f64) {
        match self {
            TileMatrixSet::WebMercatorQuad => (mercator_longitude(x), mercator_latitude(y)),
            TileMatrixSet::WorldCrs84Quad => (x, y),
        }
    }
}

/// A tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    set: TileMatrixSet,
    zoom: u8,
    column: u64,
    row: u64,
}

impl Tile {
    /// The tile in this column from the west and this row from the north; nothing if the set has no such tile.
    pub fn new(set: TileMatrixSet, zoom: u64, column: u64, row: u64) -> Option<Tile> {
        let zoom = u8::try_from(zoom).ok().filter(|&zoom| zoom <= set.max_zoom())?;
        let (columns, rows) = set.size(zoom);
        (column < columns && row < rows).then_some(Tile { set, zoom, column, row })
    }

    /// The set that it is of.
    pub fn set(&self) -> TileMatrixSet {
        self.set
    }

    /// The x of the middles of so many pixels across.
    pub(super) fn across(&self, pixels: u32) -> Vec<f64> {
        self.places(pixels, self.column, self.set.origin().0, 1.0, 0.5, pixels)
    }

    /// The y of the middles of so many pixels down.
    pub(super) fn down(&self, pixels: u32) -> Vec<f64> {
        self.places(pixels, self.row, self.set.origin().1, -1.0, 0.5, pixels)
    }

    /// The x of the edges of so many pixels across, one more than there are pixels.
    pub(super) fn edges_across(&self, pixels: u32) -> Vec<f64> {
        self.places(pixels, self.column, self.set.origin().0, 1.0, 0.0, pixels + 1)
    }

    /// The y of the edges of so many pixels down.
    pub(super) fn edges_down(&self, pixels: u32) -> Vec<f64> {
        self.places(pixels, self.row, self.set.origin().1, -1.0, 0.0, pixels + 1)
    }

    fn places(
        &self,
        pixels: u32,
        tile: u64,
        origin: f64,
        sign: f64,
        offset: f64,
        count: u32,
    ) -> Vec<f64> {
        let cell = self.set.side(self.zoom) / f64::from(pixels);
        let first = tile as f64 * f64::from(pixels) + offset;
        (0..count).map(|n| origin + sign * (first + f64::from(n)) * cell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As morecantile 7.0 has them.
    #[test]
    fn sets_are_the_ogcs() {
        let web = TileMatrixSet::WebMercatorQuad;
        assert_eq!(web.cell_size(0), 156_543.033_928_040_97);
        assert!((web.scale_denominator(0) - 559_082_264.028_717_8).abs() < 1e-3);
        assert_eq!(web.size(3), (8, 8));
        let degrees = TileMatrixSet::WorldCrs84Quad;
        assert_eq!((degrees.cell_size(0), degrees.cell_size(1)), (0.703_125, 0.351_562_5));
        assert!((degrees.scale_denominator(0) - 279_541_132.014_358_9).abs() < 1e-3);
        assert_eq!(degrees.size(2), (8, 4));
        for set in TileMatrixSet::ALL {
            assert_eq!(TileMatrixSet::of_id(set.id()), Some(set));
        }
        assert_eq!(TileMatrixSet::of_id("webmercatorquad"), None);
    }

    #[test]
    fn tiles_outside_of_the_world_are_none() {
        let web = TileMatrixSet::WebMercatorQuad;
        assert!(
            Tile::new(web, 0, 0, 0).is_some() && Tile::new(web, 24, (1 << 24) - 1, 0).is_some()
        );
        for (zoom, column, row) in [(0, 1, 0), (0, 0, 1), (25, 0, 0), (u64::MAX, 0, 0), (3, 8, 0)] {
            assert_eq!(Tile::new(web, zoom, column, row), None);
        }
    }

    #[test]
    fn pixels_are_where_their_middles_are() {
        let tile = Tile::new(TileMatrixSet::WorldCrs84Quad, 1, 2, 1).unwrap();
        assert_eq!(tile.across(2), [22.5, 67.5]);
        assert_eq!(tile.down(2), [-22.5, -67.5]);
        assert_eq!(tile.edges_across(2), [0.0, 45.0, 90.0]);
        let web = Tile::new(TileMatrixSet::WebMercatorQuad, 1, 0, 0).unwrap();
        assert_eq!(web.edges_down(1), [MERCATOR_HALF, 0.0]);
    }
}
