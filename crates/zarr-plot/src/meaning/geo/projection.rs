//! Projects longitude and latitude: Web Mercator, and transverse Mercator by Krüger's series.

/// How the coordinates of a system follow from longitude and latitude.
#[derive(Clone, Debug, PartialEq)]
pub enum Projection {
    /// They are degrees of longitude and latitude.
    Geographic,
    /// EPSG:3857, in metres.
    WebMercator,
    /// Such as UTM, in metres.
    TransverseMercator(TransverseMercator),
    /// One that is not computed here, by its name.
    Other(String),
}

/// The radius of the sphere of Web Mercator, in metres.
const MERCATOR_RADIUS: f64 = 6_378_137.0;
/// The latitude where Web Mercator's square ends, in degrees.
pub const MERCATOR_LATITUDE: f64 = 85.051_128_779_806_6;
/// How far from its central meridian a transverse Mercator projection is computed, in degrees. Krüger's series are off by
/// less than a millimetre up to some 40°.
const MAX_MERIDIAN_DISTANCE: f64 = 60.0;

impl Projection {
    /// The coordinates (x, y) of a longitude and a latitude in degrees; nothing where there are none.
    pub fn forward(&self, longitude: f64, latitude: f64) -> Option<(f64, f64)> {
        match self {
            Projection::Geographic => Some((longitude, latitude)),
            Projection::WebMercator => Some((mercator_x(longitude), mercator_y(latitude)?)),
            Projection::TransverseMercator(projection) => projection.forward(longitude, latitude),
            Projection::Other(_) => None,
        }
    }

    /// The longitude and the latitude, in degrees, of coordinates (x, y); nothing where there are none.
    pub fn inverse(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        match self {
            Projection::Geographic => Some((x, y)),
            Projection::WebMercator => Some((mercator_longitude(x), mercator_latitude(y))),
            Projection::TransverseMercator(projection) => projection.inverse(x, y),
            Projection::Other(_) => None,
        }
    }
}

/// Metres east of a longitude in degrees.
pub(crate) fn mercator_x(longitude: f64) -> f64 {
    longitude.to_radians() * MERCATOR_RADIUS
}

/// Metres north of a latitude in degrees; nothing at and beyond a pole.
pub(crate) fn mercator_y(latitude: f64) -> Option<f64> {
    (latitude.abs() < 90.0).then(|| latitude.to_radians().tan().asinh() * MERCATOR_RADIUS)
}

/// Degrees of longitude of metres east.
pub(crate) fn mercator_longitude(x: f64) -> f64 {
    (x / MERCATOR_RADIUS).to_degrees()
}

/// Degrees of latitude of metres north.
pub(crate) fn mercator_latitude(y: f64) -> f64 {
    (y / MERCATOR_RADIUS).sinh().atan().to_degrees()
}

/// An ellipsoid of revolution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ellipsoid {
    /// The greater half axis, in metres.
    pub semi_major: f64,
    /// The flattening: 0 of a sphere.
    pub flattening: f64,
}

impl Ellipsoid {
    /// That of WGS 84.
    pub const WGS84: Ellipsoid =
        Ellipsoid { semi_major: 6_378_137.0, flattening: 1.0 / 298.257_223_563 };
    /// GRS 1980, that of ETRS89 and NAD83.
    pub const GRS80: Ellipsoid =
        Ellipsoid { semi_major: 6_378_137.0, flattening: 1.0 / 298.257_222_101 };

    /// Of half axis and inverse flattening, which is 0 of a sphere; nothing if they are no such numbers.
    pub(super) fn new(semi_major: f64, inverse_flattening: f64) -> Option<Ellipsoid> {
        let flattening = if inverse_flattening == 0.0 { 0.0 } else { 1.0 / inverse_flattening };
        let is_good = (1e3..1e9).contains(&semi_major) && (0.0..0.5).contains(&flattening);
        is_good.then_some(Ellipsoid { semi_major, flattening })
    }
}

/// A transverse Mercator projection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransverseMercator {
    /// The ellipsoid.
    pub ellipsoid: Ellipsoid,
    /// The longitude of the central meridian, in degrees.
    pub central_meridian: f64,
    /// The latitude of the origin, in degrees.
    pub latitude_of_origin: f64,
    /// The scale on the central meridian.
    pub scale: f64,
    /// Metres that are added to x.
    pub false_easting: f64,
    /// Metres that are added to y.
    pub false_northing: f64,
}

impl TransverseMercator {
    /// A zone of UTM, from 1 to 60.
    pub fn utm(zone: u32, is_south: bool, ellipsoid: Ellipsoid) -> TransverseMercator {
        TransverseMercator {
            ellipsoid,
            central_meridian: 6.0 * f64::from(zone) - 183.0,
            latitude_of_origin: 0.0,
            scale: 0.9996,
            false_easting: 500_000.0,
            false_northing: if is_south { 1e7 } else { 0.0 },
        }
    }

    /// The coordinates of a longitude and a latitude in degrees; nothing far from the central meridian.
    pub fn forward(&self, longitude: f64, latitude: f64) -> Option<(f64, f64)> {
        let east = (longitude - self.central_meridian + 180.0).rem_euclid(360.0) - 180.0;
        if !(east.abs() <= MAX_MERIDIAN_DISTANCE && latitude.abs() <= 90.0) {
            return None;
        }
        let series = Series::of(self.ellipsoid);
        let (xi, eta) = series.forward(east.to_radians(), latitude.to_radians());
        let (origin, _) = series.forward(0.0, self.latitude_of_origin.to_radians());
        let by = self.scale * series.radius;
        Some((self.false_easting + by * eta, self.false_northing + by * (xi - origin)))
    }

    /// The longitude and the latitude, in degrees, of coordinates; nothing far from the central meridian.
    pub fn inverse(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let series = Series::of(self.ellipsoid);
        let by = self.scale * series.radius;
        let (origin, _) = series.forward(0.0, self.latitude_of_origin.to_radians());
        let eta = (x - self.false_easting) / by;
        let xi = (y - self.false_northing) / by + origin;
        let (east, latitude) = series.inverse(xi, eta)?;
        (east.to_degrees().abs() <= MAX_MERIDIAN_DISTANCE)
            .then(|| (self.central_meridian + east.to_degrees(), latitude.to_degrees()))
    }
}

/// Krüger's series up to the sixth power of the third flattening (Karney, Transverse Mercator with an accuracy of a few
/// nanometers, 2011, equations 35 and 36).
struct Series {
    /// The radius of the circle that is as long as a meridian, in metres.
    radius: f64,
    /// The first eccentricity.
    eccentricity: f64,
    alpha: [f64; 6],
    beta: [f64; 6],
}

impl Series {
    fn of(ellipsoid: Ellipsoid) -> Series {
        let f = ellipsoid.flattening;
        let n = f / (2.0 - f);
        let (n2, n3, n4, n5, n6) = (n.powi(2), n.powi(3), n.powi(4), n.powi(5), n.powi(6));
        let radius = ellipsoid.semi_major / (1.0 + n) * (1.0 + n2 / 4.0 + n4 / 64.0 + n6 / 256.0);
        let alpha = [
            n / 2.0 - 2.0 / 3.0 * n2 + 5.0 / 16.0 * n3 + 41.0 / 180.0 * n4 - 127.0 / 288.0 * n5
                + 7_891.0 / 37_800.0 * n6,
            13.0 / 48.0 * n2 - 3.0 / 5.0 * n3 + 557.0 / 1_440.0 * n4 + 281.0 / 630.0 * n5
                - 1_983_433.0 / 1_935_360.0 * n6,
            61.0 / 240.0 * n3 - 103.0 / 140.0 * n4
                + 15_061.0 / 26_880.0 * n5
                + 167_603.0 / 181_440.0 * n6,
            49_561.0 / 161_280.0 * n4 - 179.0 / 168.0 * n5 + 6_601_661.0 / 7_257_600.0 * n6,
            34_729.0 / 80_640.0 * n5 - 3_418_889.0 / 1_995_840.0 * n6,
            212_378_941.0 / 319_334_400.0 * n6,
        ];
        let beta = [
            n / 2.0 - 2.0 / 3.0 * n2 + 37.0 / 96.0 * n3 - n4 / 360.0 - 81.0 / 512.0 * n5
                + 96_199.0 / 604_800.0 * n6,
            n2 / 48.0 + n3 / 15.0 - 437.0 / 1_440.0 * n4 + 46.0 / 105.0 * n5
                - 1_118_711.0 / 3_870_720.0 * n6,
            17.0 / 480.0 * n3 - 37.0 / 840.0 * n4 - 209.0 / 4_480.0 * n5 + 5_569.0 / 90_720.0 * n6,
            4_397.0 / 161_280.0 * n4 - 11.0 / 504.0 * n5 - 830_251.0 / 7_257_600.0 * n6,
            4_583.0 / 161_280.0 * n5 - 108_847.0 / 3_991_680.0 * n6,
            20_648_693.0 / 638_668_800.0 * n6,
        ];
        Series { radius, eccentricity: (f * (2.0 - f)).sqrt(), alpha, beta }
    }

    /// Of radians east of the central meridian, and north: places along the meridian, and across it.
    fn forward(&self, east: f64, latitude: f64) -> (f64, f64) {
        let tau = latitude.tan();
        let conformal = self.conformal(tau);
        let xi = conformal.atan2(east.cos());
        let eta = (east.sin() / conformal.hypot(east.cos())).asinh();
        let (mut x, mut y) = (xi, eta);
        for (n, alpha) in self.alpha.iter().enumerate() {
            let by = 2.0 * (n + 1) as f64;
            x += alpha * (by * xi).sin() * (by * eta).cosh();
            y += alpha * (by * xi).cos() * (by * eta).sinh();
        }
        (x, y)
    }

    /// The tangent of the conformal latitude of that of a latitude.
    fn conformal(&self, tau: f64) -> f64 {
        if tau.is_infinite() {
            return tau;
        }
        let e = self.eccentricity;
        let sigma = (e * (e * tau / tau.hypot(1.0)).atanh()).sinh();
        tau * sigma.hypot(1.0) - sigma * tau.hypot(1.0)
    }

    fn inverse(&self, xi: f64, eta: f64) -> Option<(f64, f64)> {
        let (mut x, mut y) = (xi, eta);
        for (n, beta) in self.beta.iter().enumerate() {
            let by = 2.0 * (n + 1) as f64;
            x -= beta * (by * xi).sin() * (by * eta).cosh();
            y -= beta * (by * xi).cos() * (by * eta).sinh();
        }
        let conformal = x.sin() / y.sinh().hypot(x.cos());
        let east = y.sinh().atan2(x.cos());
        // Newton's method finds the latitude whose conformal one this is, mostly in two steps.
        let e2 = self.eccentricity.powi(2);
        let mut tau = conformal / (1.0 - e2);
        for _ in 0..8 {
            let found = self.conformal(tau);
            let step = (conformal - found) / found.hypot(1.0) * (1.0 + (1.0 - e2) * tau * tau)
                / ((1.0 - e2) * tau.hypot(1.0));
            tau += step;
            if step.abs() <= 1e-14 * tau.abs().max(1.0) {
                break;
            }
        }
        (east.is_finite() && tau.is_finite()).then(|| (east, tau.atan()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code, longitude, latitude, x and y by PROJ 9.8.1 (pyproj 3.8.0).
    const PROJ: [(u32, f64, f64, f64, f64); 7] = [
        (32632, 9.0, 0.0, 500000.00000, 0.00000),
        (32632, 11.582, 48.1351, 692095.14520, 5334540.63608),
        (32632, 3.2, 79.9, 386632.20633, 8876078.58608),
        (32733, 17.9, -33.9, 768165.72683, 6245144.63163),
        (32701, -179.9, -10.0, 182044.57231, 8893189.34288),
        (32660, 178.3, 65.5, 560152.03922, 7264801.45642),
        (32631, 25.0, 55.0, 1894733.79799, 6318697.56206),
    ];

    #[test]
    fn utm_is_projs_within_a_tenth_of_a_millimetre() {
        for (code, longitude, latitude, x, y) in PROJ {
            let (zone, is_south) = (code % 100, code / 100 == 327);
            let utm = TransverseMercator::utm(zone, is_south, Ellipsoid::WGS84);
            let found = utm.forward(longitude, latitude).unwrap();
            assert!((found.0 - x).abs() < 1e-4 && (found.1 - y).abs() < 1e-4, "{found:?} {x} {y}");
            let back = utm.inverse(x, y).unwrap();
            assert!(
                (back.0 - longitude).abs() < 1e-9 && (back.1 - latitude).abs() < 1e-9,
                "{back:?}"
            );
        }
    }

    #[test]
    fn mercator_is_a_square() {
        let (x, y) = Projection::WebMercator.forward(180.0, MERCATOR_LATITUDE).unwrap();
        assert!((x - 20_037_508.342_789_244).abs() < 1e-6 && (y - x).abs() < 1e-5, "{x} {y}");
        let back = Projection::WebMercator.inverse(x, y).unwrap();
        assert!((back.1 - MERCATOR_LATITUDE).abs() < 1e-12);
        assert_eq!(Projection::WebMercator.forward(0.0, 90.0), None);
        assert_eq!(Projection::Other("x".into()).forward(0.0, 0.0), None);
    }

    #[test]
    fn far_from_the_meridian_and_beyond_the_poles_is_nothing() {
        let utm = TransverseMercator::utm(32, false, Ellipsoid::WGS84);
        for (longitude, latitude) in [(100.0, 0.0), (9.0, 91.0), (f64::NAN, 0.0), (9.0, f64::NAN)] {
            assert_eq!(utm.forward(longitude, latitude), None);
        }
        assert!(utm.forward(9.0, 90.0).unwrap().1.is_finite());
        assert_eq!(utm.inverse(f64::NAN, 0.0), None);
        // The meridian of zone 1 is reached from both sides of 180°.
        let first = TransverseMercator::utm(1, false, Ellipsoid::WGS84);
        assert!(first.forward(179.0, 10.0).is_some() && first.forward(-179.0, 10.0).is_some());
    }
}
