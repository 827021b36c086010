//! Reads of WKT 1 and 2 what a coordinate reference system is called, and what kind it is.

use super::projection::{Ellipsoid, Projection, TransverseMercator};

/// Longer texts are no descriptions of a coordinate reference system.
const MAX_BYTES: usize = 1 << 16;
/// How deep brackets are within each other. Those of compound, bound and projected systems are up to 8 deep.
const MAX_DEPTH: usize = 24;

/// What is known of a described system.
#[derive(Debug, PartialEq)]
pub(super) struct Described {
    pub name: Option<String>,
    /// Authority and code: `EPSG:32632`.
    pub code: Option<String>,
    /// What the method of the projection is called.
    pub method: Option<String>,
    /// The projection, if it is one that is known here.
    pub projection: Option<Projection>,
}

/// `KEYWORD[value, value, …]`.
#[derive(Debug, Default)]
struct Element {
    keyword: String,
    /// Texts without their quotes, numbers and words as they are.
    values: Vec<String>,
    elements: Vec<Element>,
}

impl Element {
    fn child(&self, keywords: &[&str]) -> Option<&Element> {
        self.elements.iter().find(|child| keywords.contains(&child.keyword.as_str()))
    }

    /// The number of the parameter with one of these names, which are compared by their letters.
    fn parameter(&self, names: &[&str]) -> Option<f64> {
        let parameter = self.elements.iter().find(|child| {
            if child.keyword != "PARAMETER" {
                return false;
            }
            let Some(name) = child.values.first() else { return false };
            let letters: String = name.chars().filter(char::is_ascii_alphabetic).collect();
            names.contains(&letters.to_ascii_lowercase().as_str())
        })?;
        parameter.values.get(1)?.parse().ok()
    }

    /// `EPSG:4326` of `AUTHORITY["EPSG","4326"]` or `ID["EPSG",4326]`.
    fn code(&self) -> Option<String> {
        let id = self.child(&["AUTHORITY", "ID"])?;
        let [authority, code, ..] = &id.values[..] else { return None };
        Some(format!("{}:{code}", authority.to_ascii_uppercase()))
    }
}

/// What a text describes; nothing if it is no WKT of a coordinate reference system.
pub(super) fn parse(text: &str) -> Option<Described> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let mut reader = Reader { rest: text };
    let root = reader.element(0)?;
    let mut system = &root;
    let mut code = root.code();
    // The horizontal part of a compound system comes first; a bound one has its own as its source.
    loop {
        let inner = match system.keyword.as_str() {
            "COMPD_CS" | "COMPOUNDCRS" => system.elements.first()?,
            "BOUNDCRS" => system.child(&["SOURCECRS"])?.elements.first()?,
            _ => break,
        };
        code = code.or_else(|| inner.code());
        system = inner;
    }
    let name = system.values.first().filter(|name| !name.is_empty()).cloned();
    match system.keyword.as_str() {
        "GEOGCS" | "GEOGCRS" | "GEOGRAPHICCRS" | "GEODCRS" | "GEODETICCRS" => {
            let projection = Some(Projection::Geographic);
            Some(Described { name, code, method: None, projection })
        }
        "PROJCS" | "PROJCRS" | "PROJECTEDCRS" => {
            let (method, projection) = projected(system);
            Some(Described { name, code, method, projection })
        }
        // Derived, engineering and vertical systems are known by their names only.
        keyword if keyword.ends_with("CRS") || keyword.ends_with("_CS") => {
            Some(Described { name, code, method: None, projection: None })
        }
        _ => None,
    }
}

/// The method of a projected system, and the projection if it is a transverse Mercator one in metres or Web Mercator.
fn projected(system: &Element) -> (Option<String>, Option<Projection>) {
    // WKT 2 has the method and the parameters in the conversion, WKT 1 in the system itself.
    let conversion = system.child(&["CONVERSION"]).unwrap_or(system);
    let method = conversion.child(&["METHOD", "PROJECTION"]);
    let Some(method) = method.and_then(|method| method.values.first()) else { return (None, None) };
    let is = |name: &str| method.replace('_', " ").eq_ignore_ascii_case(name);
    if is("Popular Visualisation Pseudo Mercator") || is("Mercator Auxiliary Sphere") {
        return (Some(method.clone()), Some(Projection::WebMercator));
    }
    if !is("Transverse Mercator") || !is_in_metres(system) {
        return (Some(method.clone()), None);
    }
    let base = system.child(&["GEOGCS", "BASEGEOGCRS", "BASEGEODCRS"]);
    let datum = base.and_then(|base| base.child(&["DATUM", "ENSEMBLE"]));
    let spheroid = datum.and_then(|datum| datum.child(&["SPHEROID", "ELLIPSOID"]));
    let ellipsoid = spheroid
        .and_then(|spheroid| Ellipsoid::new(value_at(spheroid, 1)?, value_at(spheroid, 2)?));
    let projection = TransverseMercator {
        ellipsoid: ellipsoid.unwrap_or(Ellipsoid::WGS84),
        central_meridian: conversion
            .parameter(&["centralmeridian", "longitudeofnaturalorigin"])
            .unwrap_or(0.0),
        latitude_of_origin: conversion
            .parameter(&["latitudeoforigin", "latitudeofnaturalorigin"])
            .unwrap_or(0.0),
        scale: conversion.parameter(&["scalefactor", "scalefactoratnaturalorigin"]).unwrap_or(1.0),
        false_easting: conversion.parameter(&["falseeasting"]).unwrap_or(0.0),
        false_northing: conversion.parameter(&["falsenorthing"]).unwrap_or(0.0),
    };
    (Some(method.clone()), Some(Projection::TransverseMercator(projection)))
}

/// A value of an element that is a number.
fn value_at(element: &Element, position: usize) -> Option<f64> {
    element.values.get(position)?.parse().ok()
}

/// Whether the unit of a projected system is the metre, which it is where nothing else is said.
fn is_in_metres(system: &Element) -> bool {
    let unit = system.child(&["UNIT", "LENGTHUNIT"]);
    let factor = unit
        .or_else(|| system.child(&["AXIS"])?.child(&["UNIT", "LENGTHUNIT"]))
        .or_else(|| system.child(&["CS"])?.child(&["UNIT", "LENGTHUNIT"]))
        .and_then(|unit| unit.values.get(1));
    factor.and_then(|factor| factor.parse::<f64>().ok()).is_none_or(|factor| factor == 1.0)
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn takes(&mut self, letters: &[char]) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(letters) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Letters, digits and signs: a keyword, or a number.
    fn word(&mut self) -> &str {
        self.skip_space();
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || "_+-.:".contains(c)))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// What is between quotes, in which two stand for one.
    fn quoted(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            let end = self.rest.find('"')?;
            text.push_str(&self.rest[..end]);
            self.rest = &self.rest[end + 1..];
            match self.rest.strip_prefix('"') {
                Some(rest) => {
                    text.push('"');
                    self.rest = rest;
                }
                None => return Some(text),
            }
        }
    }

    fn element(&mut self, depth: usize) -> Option<Element> {
        let keyword = self.word().to_ascii_uppercase();
        if keyword.is_empty() || depth > MAX_DEPTH || !self.takes(&['[', '(']) {
            return None;
        }
        let mut element = Element { keyword, ..Element::default() };
        loop {
            if self.takes(&['"']) {
                element.values.push(self.quoted()?);
            } else {
                let before = self.rest;
                let word = self.word().to_owned();
                if word.is_empty() {
                    return None;
                }
                if self.rest.trim_start().starts_with(['[', '(']) {
                    self.rest = before;
                    element.elements.push(self.element(depth + 1)?);
                } else {
                    element.values.push(word);
                }
            }
            if self.takes(&[']', ')']) {
                return Some(element);
            }
            if !self.takes(&[',']) {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As GDAL 3.10 writes it for `EPSG:32632`, shortened.
    const UTM: &str = r#"PROJCS["WGS 84 / UTM zone 32N",GEOGCS["WGS 84",DATUM["WGS_1984",
        SPHEROID["WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]],AUTHORITY["EPSG","6326"]],
        PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433],AUTHORITY["EPSG","4326"]],
        PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",0],PARAMETER["central_meridian",9],
        PARAMETER["scale_factor",0.9996],PARAMETER["false_easting",500000],PARAMETER["false_northing",0],
        UNIT["metre",1,AUTHORITY["EPSG","9001"]],AXIS["Easting",EAST],AXIS["Northing",NORTH]"#;

    #[test]
    fn projected_systems_have_their_own_code_and_parameters() {
        let text = format!("{UTM},AUTHORITY[\"EPSG\",\"32632\"]]");
        let found = parse(&text).unwrap();
        assert_eq!(found.name.as_deref(), Some("WGS 84 / UTM zone 32N"));
        assert_eq!(found.code.as_deref(), Some("EPSG:32632"));
        let utm = TransverseMercator::utm(32, false, Ellipsoid::WGS84);
        assert_eq!(found.projection, Some(Projection::TransverseMercator(utm)));
        // Without a code it is known by its parameters; in feet it is another one.
        let text = format!("{UTM}]");
        assert_eq!(parse(&text).unwrap().code, None);
        assert!(parse(&text).unwrap().projection.is_some());
        assert_eq!(
            parse(&text.replace("[\"metre\",1,", "[\"foot\",0.3048,")).unwrap().projection,
            None
        );
    }

    /// As pyproj 3.7 writes WKT 2, shortened.
    #[test]
    fn wkt_2_is_read_too() {
        let text = r#"PROJCRS["WGS 84 / UTM zone 33S",BASEGEOGCRS["WGS 84",ENSEMBLE["World Geodetic System 1984 ensemble",
            MEMBER["World Geodetic System 1984 (Transit)"],ELLIPSOID["WGS 84",6378137,298.257223563,LENGTHUNIT["metre",1]],
            ENSEMBLEACCURACY[2.0]],PRIMEM["Greenwich",0],ID["EPSG",4326]],CONVERSION["UTM zone 33S",
            METHOD["Transverse Mercator",ID["EPSG",9807]],PARAMETER["Latitude of natural origin",0],
            PARAMETER["Longitude of natural origin",15],PARAMETER["Scale factor at natural origin",0.9996],
            PARAMETER["False easting",500000],PARAMETER["False northing",10000000]],CS[Cartesian,2],
            AXIS["(E)",east,ORDER[1],LENGTHUNIT["metre",1]],USAGE[SCOPE["a ""scope"""],AREA["x"],BBOX[-80,12,0,18]],
            ID["EPSG",32733]]"#;
        let found = parse(text).unwrap();
        assert_eq!(found.code.as_deref(), Some("EPSG:32733"));
        let utm = TransverseMercator::utm(33, true, Ellipsoid::WGS84);
        assert_eq!(found.projection, Some(Projection::TransverseMercator(utm)));
        let geographic =
            parse(r#"GEOGCRS["a sphere",DATUM["x",ELLIPSOID["x",6371229,0]],CS[ellipsoidal,2]]"#);
        assert_eq!(geographic.unwrap().projection, Some(Projection::Geographic));
        let compound =
            parse(r#"COMPOUNDCRS["both",GEOGCRS["WGS 84",ID["EPSG",4326]],VERTCRS["height"]]"#);
        assert_eq!(compound.unwrap().code.as_deref(), Some("EPSG:4326"));
        let lambert = parse(r#"PROJCS["x",PROJECTION["Lambert_Conformal_Conic_2SP"]]"#).unwrap();
        assert_eq!(lambert.method.as_deref(), Some("Lambert_Conformal_Conic_2SP"));
        assert_eq!(lambert.projection, None);
    }

    #[test]
    fn what_is_no_wkt_is_nothing() {
        let deep = "A[".repeat(100_000);
        let many = format!("GEOGCS[{}", "\"a\",".repeat(10_000));
        for text in [
            "",
            "GEOGCS",
            "GEOGCS[",
            "GEOGCS[]",
            "GEOGCS[\"",
            "+proj=utm +zone=32",
            "x[1]",
            &deep,
            &many,
        ] {
            assert_eq!(parse(text), None, "{}", &text[..text.len().min(40)]);
        }
    }
}
