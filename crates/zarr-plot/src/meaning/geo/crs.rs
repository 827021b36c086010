//! Coordinate reference systems: what they are called, and how their coordinates follow from longitude and latitude.

use zarr_core::Json;

use super::projection::{Ellipsoid, Projection, TransverseMercator};
use super::wkt;

/// A coordinate reference system, and where it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Crs {
    /// Authority and code, if they are known: `EPSG:32632`.
    pub code: Option<String>,
    /// What it is called, if that is known: `WGS 84 / UTM zone 32N`.
    pub name: Option<String>,
    /// How its coordinates follow from longitude and latitude.
    pub projection: Projection,
    /// Which attribute of which node says it: `proj:code` of /map.
    pub source: String,
}

impl Crs {
    /// `EPSG:32632, WGS 84 / UTM zone 32N`: the code and the name, whatever is known of them.
    pub fn title(&self) -> String {
        match (&self.code, &self.name) {
            (Some(code), Some(name)) => format!("{code}, {name}"),
            (Some(one), None) | (None, Some(one)) => one.clone(),
            (None, None) => "without a name".to_owned(),
        }
    }

    /// The system that a text names or describes: `EPSG:4326`, a URN or URL of the OGC, or WKT.
    pub(super) fn of_text(text: &str, source: String) -> Option<Crs> {
        let text = text.trim();
        if let Some(code) = code_of(text) {
            let projection =
                projection_of(&code).unwrap_or_else(|| Projection::Other(code.clone()));
            return Some(Crs { code: Some(code), name: None, projection, source });
        }
        let found = wkt::parse(text)?;
        let projection = found.code.as_deref().and_then(projection_of);
        let projection = projection.or(found.projection);
        let projection = projection.unwrap_or_else(|| {
            let name = found.method.clone().or(found.name.clone());
            Projection::Other(name.unwrap_or_else(|| "without a name".to_owned()))
        });
        Some(Crs { code: found.code, name: found.name, projection, source })
    }

    /// The system that PROJJSON describes.
    pub(super) fn of_projjson(json: &Json, source: String) -> Option<Crs> {
        let kind = json.get("type").and_then(Json::as_str).unwrap_or_default();
        // The horizontal part of a compound system; the system that a bound one is bound to another by.
        let inner = match kind {
            "CompoundCRS" => json.get("components").and_then(|list| list.as_array()?.first()),
            "BoundCRS" => json.get("source_crs"),
            _ => None,
        };
        let own_code = projjson_code(json);
        let json = inner.unwrap_or(json);
        let kind = json.get("type").and_then(Json::as_str).unwrap_or_default();
        let name = json.get("name").and_then(Json::as_str).map(str::to_owned);
        let code = own_code.or_else(|| projjson_code(json));
        let is_geographic = matches!(kind, "GeographicCRS" | "GeodeticCRS");
        let method = json.get("conversion").and_then(|it| it.get("method")?.get("name")?.as_str());
        let projection = code.as_deref().and_then(projection_of);
        let projection = match (projection, method) {
            (Some(projection), _) => projection,
            (None, _) if is_geographic => Projection::Geographic,
            (None, Some(method)) => Projection::Other(method.to_owned()),
            (None, None) => Projection::Other(name.clone()?),
        };
        (code.is_some() || name.is_some()).then_some(Crs { code, name, projection, source })
    }

    /// Degrees of longitude and latitude, as CF's coordinates have them.
    pub(super) fn of_degrees(source: String) -> Crs {
        Crs {
            code: Some("OGC:CRS84".to_owned()),
            name: None,
            projection: Projection::Geographic,
            source,
        }
    }
}

fn projjson_code(json: &Json) -> Option<String> {
    let id = json.get("id")?;
    let authority = id.get("authority")?.as_str()?;
    let code = id.get("code")?;
    let code = code.as_str().or_else(|| code.as_number())?;
    code_of(&format!("{authority}:{code}"))
}

/// Authority and code in one spelling, `EPSG:4326`; nothing if a text is no code.
fn code_of(text: &str) -> Option<String> {
    const URLS: [&str; 2] = ["http://www.opengis.net/def/crs/", "https://www.opengis.net/def/crs/"];
    // `AUTHORITY/VERSION/CODE` in a URL, `AUTHORITY:VERSION:CODE` in a URN, where the version may be empty.
    let parts: Vec<&str> = if let Some(rest) = URLS.iter().find_map(|url| text.strip_prefix(url)) {
        rest.split('/').collect()
    } else if let Some(rest) = text.strip_prefix("urn:ogc:def:crs:") {
        rest.split(':').collect()
    } else {
        text.split(':').collect()
    };
    let (authority, code) = match parts[..] {
        [authority, code] | [authority, _, code] => (authority, code),
        _ => return None,
    };
    let is_code =
        is_word(authority) && is_word(code) && !authority.starts_with(|c: char| c.is_ascii_digit());
    is_code.then(|| format!("{}:{}", authority.to_ascii_uppercase(), code.to_ascii_uppercase()))
}

/// Whether the text may be the name of an authority, or a code.
fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 16
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// How coordinates of the system with this code follow from longitude and latitude, if that is known here.
///
/// Datums are not told apart: between those that are listed it is at most some 100 m.
fn projection_of(code: &str) -> Option<Projection> {
    let (authority, number) = code.split_once(':')?;
    match (authority, number) {
        ("OGC", "CRS84" | "CRS84H" | "CRS83" | "CRS27") => return Some(Projection::Geographic),
        ("ESRI", "102100" | "102113") => return Some(Projection::WebMercator),
        ("EPSG", _) => {}
        _ => return None,
    }
    match number.parse().ok()? {
        // WGS 84, ETRS89, NAD83, NAD27, GDA94, GDA2020, NAD83(CSRS), NAD83(2011), SIRGAS 2000, ED50, WGS 72.
        4326 | 4979 | 4258 | 4269 | 4267 | 4283 | 7844 | 4617 | 6318 | 4674 | 4230 | 4322 => {
            Some(Projection::Geographic)
        }
        3857 | 3785 | 900_913 => Some(Projection::WebMercator),
        code @ 32601..=32660 => utm(code - 32600, false, Ellipsoid::WGS84),
        code @ 32701..=32760 => utm(code - 32700, true, Ellipsoid::WGS84),
        code @ 25828..=25838 => utm(code - 25800, false, Ellipsoid::GRS80),
        code @ 26901..=26923 => utm(code - 26900, false, Ellipsoid::GRS80),
        code @ 28348..=28358 => utm(code - 28300, true, Ellipsoid::GRS80),
        code @ 7846..=7859 => utm(code - 7800, true, Ellipsoid::GRS80),
        _ => None,
    }
}

/// The projection of a zone of UTM.
fn utm(zone: u32, is_south: bool, ellipsoid: Ellipsoid) -> Option<Projection> {
    let zone = TransverseMercator::utm(zone, is_south, ellipsoid);
    Some(Projection::TransverseMercator(zone))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crs(text: &str) -> Option<Crs> {
        Crs::of_text(text, String::new())
    }

    #[test]
    fn codes_have_one_spelling() {
        for (text, code) in [
            ("EPSG:4326", "EPSG:4326"),
            ("epsg:3857", "EPSG:3857"),
            ("urn:ogc:def:crs:EPSG::32632", "EPSG:32632"),
            ("urn:ogc:def:crs:OGC:1.3:CRS84", "OGC:CRS84"),
            ("http://www.opengis.net/def/crs/EPSG/0/26711", "EPSG:26711"),
            ("https://www.opengis.net/def/crs/OGC/1.3/CRS84", "OGC:CRS84"),
        ] {
            assert_eq!(crs(text).unwrap().code.as_deref(), Some(code), "{text}");
        }
        for text in ["", ":", "4326", "EPSG:", "a b:1", "WGS84", "1:2"] {
            assert_eq!(crs(text), None, "{text}");
        }
    }

    #[test]
    fn known_codes_have_projections_and_others_names() {
        assert_eq!(crs("EPSG:4326").unwrap().projection, Projection::Geographic);
        assert_eq!(crs("EPSG:3857").unwrap().projection, Projection::WebMercator);
        let Projection::TransverseMercator(zone) = crs("EPSG:32733").unwrap().projection else {
            panic!()
        };
        assert_eq!((zone.central_meridian, zone.false_northing), (15.0, 1e7));
        assert_eq!(crs("EPSG:3413").unwrap().projection, Projection::Other("EPSG:3413".into()));
    }

    #[test]
    fn projjson_is_told_by_its_id_and_its_kind() {
        let of =
            |text: &str| Crs::of_projjson(&Json::parse(text.as_bytes()).unwrap(), String::new());
        let utm = of(r#"{"type": "ProjectedCRS", "name": "WGS 84 / UTM zone 32N",
            "id": {"authority": "EPSG", "code": 32632}}"#)
        .unwrap();
        assert_eq!(utm.title(), "EPSG:32632, WGS 84 / UTM zone 32N");
        assert!(matches!(utm.projection, Projection::TransverseMercator(_)));
        let sphere = of(r#"{"type": "GeographicCRS", "name": "a sphere"}"#).unwrap();
        assert_eq!((sphere.projection, sphere.code), (Projection::Geographic, None));
        let compound = of(r#"{"type": "CompoundCRS", "components": [{"type": "GeographicCRS",
            "name": "WGS 84"}, {"type": "VerticalCRS"}]}"#);
        assert_eq!(compound.unwrap().projection, Projection::Geographic);
        let lambert = of(r#"{"type": "ProjectedCRS", "name": "x",
            "conversion": {"method": {"name": "Lambert Azimuthal Equal Area"}}}"#)
        .unwrap();
        assert_eq!(lambert.projection, Projection::Other("Lambert Azimuthal Equal Area".into()));
        assert_eq!(of("{}"), None);
        assert_eq!(of("7"), None);
    }
}
