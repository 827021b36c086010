//! Reads the attributes of the conventions `proj:` and `spatial:`, of CF grid mappings, GDAL's and EOPF's.

use zarr_core::{Json, Object};

use super::crs::Crs;
use super::place::Transform;
use super::projection::{Ellipsoid, Projection, TransverseMercator};
use crate::meaning::text;

/// Numbers of a list of this length, all finite.
pub(super) fn numbers<const N: usize>(json: Option<&Json>) -> Option<[f64; N]> {
    let list: Option<Vec<f64>> = json?.as_array()?.iter().map(Json::as_f64).collect();
    let list = list.filter(|list| list.iter().all(|number| number.is_finite()))?;
    list.try_into().ok()
}

/// `proj:code`, else `proj:wkt2`, else `proj:projjson` of a node; `node` says which one it is.
pub(super) fn proj(attributes: &Object, node: &str) -> Option<Crs> {
    for name in ["proj:code", "proj:wkt2"] {
        let found = text(attributes, name);
        if let Some(crs) = found.and_then(|text| Crs::of_text(&text, format!("`{name}` of {node}")))
        {
            return Some(crs);
        }
    }
    let json = attributes.get("proj:projjson")?;
    Crs::of_projjson(json, format!("`proj:projjson` of {node}"))
}

/// GDAL's attribute `_CRS`: `url`, else `wkt`, else `projjson`.
pub(super) fn gdal(attributes: &Object, node: &str) -> Option<Crs> {
    let members = attributes.get("_CRS")?.as_object()?;
    let source = format!("`_CRS` of {node}");
    let of_text = |name: &str| Crs::of_text(&text(members, name)?, source.clone());
    of_text("url")
        .or_else(|| of_text("wkt"))
        .or_else(|| Crs::of_projjson(members.get("projjson")?, source.clone()))
}

/// `other_metadata.horizontal_CRS_code` in the root of an EOPF product.
pub(super) fn eopf(attributes: &Object) -> Option<Crs> {
    let members = attributes.get("other_metadata")?.as_object()?;
    let source = "`other_metadata.horizontal_CRS_code` of /".to_owned();
    Crs::of_text(&text(members, "horizontal_CRS_code")?, source)
}

/// What a CF grid mapping variable describes: by `crs_wkt`, `spatial_ref`, or by parameters (CF 1.11, appendix F).
pub(super) fn grid_mapping(attributes: &Object, node: &str) -> Option<Crs> {
    for name in ["crs_wkt", "spatial_ref"] {
        let found = text(attributes, name);
        if let Some(crs) = found.and_then(|text| Crs::of_text(&text, format!("`{name}` of {node}")))
        {
            return Some(crs);
        }
    }
    let mapping = text(attributes, "grid_mapping_name")?;
    let projection = match mapping.as_str() {
        "latitude_longitude" => Projection::Geographic,
        "transverse_mercator" => {
            let semi_major = number(attributes, "semi_major_axis")
                .or_else(|| number(attributes, "earth_radius"));
            let inverse = number(attributes, "inverse_flattening").or_else(|| {
                let (major, minor) = (
                    number(attributes, "semi_major_axis")?,
                    number(attributes, "semi_minor_axis")?,
                );
                Some(if major == minor { 0.0 } else { major / (major - minor) })
            });
            let is_sphere = number(attributes, "earth_radius").is_some();
            let ellipsoid = semi_major.zip(inverse.or(is_sphere.then_some(0.0)));
            let ellipsoid = ellipsoid.and_then(|(major, inverse)| Ellipsoid::new(major, inverse));
            Projection::TransverseMercator(TransverseMercator {
                ellipsoid: ellipsoid.unwrap_or(Ellipsoid::WGS84),
                central_meridian: number(attributes, "longitude_of_central_meridian")
                    .unwrap_or(0.0),
                latitude_of_origin: number(attributes, "latitude_of_projection_origin")
                    .unwrap_or(0.0),
                scale: number(attributes, "scale_factor_at_central_meridian").unwrap_or(1.0),
                false_easting: number(attributes, "false_easting").unwrap_or(0.0),
                false_northing: number(attributes, "false_northing").unwrap_or(0.0),
            })
        }
        other => Projection::Other(other.to_owned()),
    };
    let name =
        text(attributes, "projected_crs_name").or_else(|| text(attributes, "geographic_crs_name"));
    let name = name.unwrap_or_else(|| mapping.clone());
    let source = format!("`grid_mapping_name` of {node}");
    Some(Crs { code: None, name: Some(name), projection, source })
}

/// An attribute that is a number.
fn number(attributes: &Object, name: &str) -> Option<f64> {
    attributes.get(name).and_then(Json::as_f64)
}

/// The names of grid mappings: `crs`, or `crs: x y other: lat lon`, each with the coordinates that it is of.
pub(super) fn mappings(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    let is_extended = text.contains(':');
    for word in text.split_whitespace() {
        match word.strip_suffix(':') {
            Some(name) => found.push((name, Vec::new())),
            None if !is_extended => found.push((word, Vec::new())),
            None => {
                if let Some((_, coordinates)) = found.last_mut() {
                    coordinates.push(word);
                }
            }
        }
    }
    found.truncate(16);
    found
}

/// What `spatial:` says of the place of elements of a plane of this many rows and columns.
pub(super) fn spatial(attributes: &Object, (rows, columns): (u64, u64)) -> Option<Transform> {
    let is_node = match text(attributes, "spatial:registration").as_deref() {
        None | Some("pixel") => false,
        Some("node") => true,
        Some(_) => return None,
    };
    if text(attributes, "spatial:transform_type").is_some_and(|kind| kind != "affine") {
        return None;
    }
    // Of another level, or of another array of the group.
    if let Some(shape) = attributes.get("spatial:shape") {
        let [.., declared_rows, declared_columns] = shape.as_array()? else { return None };
        if (declared_rows.as_u64(), declared_columns.as_u64()) != (Some(rows), Some(columns)) {
            return None;
        }
    }
    let transform =
        attributes.get("spatial:transform").or_else(|| attributes.get("proj:transform"));
    if let Some(transform) = numbers::<6>(transform).map(Transform::of_corner) {
        return Some(if is_node { transform.moved(-0.5, -0.5) } else { transform });
    }
    let bbox = attributes.get("spatial:bbox").or_else(|| attributes.get("proj:bbox"));
    let [west, south, east, north] = numbers::<4>(bbox)?;
    if !(west < east && south < north) || rows == 0 || columns == 0 {
        return None;
    }
    let (a, e) = ((east - west) / steps(columns, is_node), (south - north) / steps(rows, is_node));
    let transform = Transform { a, b: 0.0, c: west, d: 0.0, e, f: north };
    Some(if is_node { transform.moved(-0.5, -0.5) } else { transform })
}

/// How many elements a bounding box is wide: it ends in the middles of elements, or at their edges.
fn steps(len: u64, is_node: bool) -> f64 {
    if is_node { len.saturating_sub(1).max(1) as f64 } else { len as f64 }
}

/// GDAL's `GeoTransform` of a grid mapping variable: six numbers in a text, `c a b f d e`.
pub(super) fn geo_transform(attributes: &Object) -> Option<Transform> {
    let json = attributes.get("GeoTransform")?;
    let list: [f64; 6] = match json.as_str() {
        Some(text) => {
            let list: Option<Vec<f64>> =
                text.split_whitespace().take(7).map(|word| word.parse().ok()).collect();
            list.filter(|list| list.iter().all(|it| it.is_finite()))?.try_into().ok()?
        }
        None => numbers(Some(json))?,
    };
    let [c, a, b, f, d, e] = list;
    Some(Transform { a, b, c, d, e, f })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        match Json::parse(text.as_bytes()).unwrap() {
            Json::Object(object) => object,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn mappings_are_one_name_or_several_with_coordinates() {
        assert_eq!(mappings("crs"), [("crs", vec![])]);
        let both = mappings("crsOSGB: x y crsWGS84: lat lon");
        assert_eq!(both, [("crsOSGB", vec!["x", "y"]), ("crsWGS84", vec!["lat", "lon"])]);
        assert_eq!(mappings(""), []);
    }

    #[test]
    fn transforms_have_gdals_order_and_rasterios() {
        let gdal =
            geo_transform(&object(r#"{"GeoTransform": "399960.0 10.0 0.0 4700040.0 0.0 -10.0 "}"#));
        let expected =
            Transform { a: 10.0, b: 0.0, c: 399_960.0, d: 0.0, e: -10.0, f: 4_700_040.0 };
        assert_eq!(gdal, Some(expected));
        let affine =
            object(r#"{"spatial:transform": [10.0, 0.0, 399960.0, 0.0, -10.0, 4700040.0]}"#);
        assert_eq!(spatial(&affine, (2, 2)), Some(expected));
        for text in ["1 2 3 4 5", "1 2 3 4 5 6 7", "a b c d e f", "1 2 3 4 5 nan"] {
            assert_eq!(geo_transform(&Object::new().with("GeoTransform", text)), None, "{text}");
        }
    }

    /// The example of the convention: 3,601 nodes from -180 to 180 are 3,600 steps.
    #[test]
    fn nodes_are_centres_and_boxes_edges() {
        let nodes = object(
            r#"{"spatial:registration": "node", "spatial:bbox": [-180, -90, 180, 90], "spatial:shape": [1801, 3601]}"#,
        );
        let found = spatial(&nodes, (1801, 3601)).unwrap();
        assert!((found.a - 0.1).abs() < 1e-12 && (found.c + 180.05).abs() < 1e-9, "{found:?}");
        assert!((found.f - 90.05).abs() < 1e-9, "{found:?}");
        assert_eq!(spatial(&nodes, (10, 10)), None, "of another shape");
        let boxed = spatial(&object(r#"{"spatial:bbox": [0, 0, 4, 2]}"#), (2, 4)).unwrap();
        assert_eq!(boxed, Transform { a: 1.0, b: 0.0, c: 0.0, d: 0.0, e: -1.0, f: 2.0 });
        for text in [
            r#"{"spatial:bbox": [4, 0, 0, 2]}"#,
            r#"{"spatial:transform": [1, 2, 3]}"#,
            r#"{"spatial:transform": [1, 0, 0, 0, 1, 0], "spatial:transform_type": "rpc"}"#,
            r#"{"spatial:transform": [1, 0, 0, 0, 1, 0], "spatial:registration": "x"}"#,
        ] {
            assert_eq!(spatial(&object(text), (2, 4)), None, "{text}");
        }
    }

    #[test]
    fn parameters_of_cf_are_a_projection() {
        let utm = object(
            r#"{"grid_mapping_name": "transverse_mercator", "longitude_of_central_meridian": 9,
            "latitude_of_projection_origin": 0, "scale_factor_at_central_meridian": 0.9996, "false_easting": 500000,
            "false_northing": 0, "semi_major_axis": 6378137, "inverse_flattening": 298.257223563}"#,
        );
        let found = grid_mapping(&utm, "/crs").unwrap();
        let zone = TransverseMercator::utm(32, false, Ellipsoid::WGS84);
        assert_eq!(found.projection, Projection::TransverseMercator(zone));
        let rotated = object(r#"{"grid_mapping_name": "rotated_latitude_longitude"}"#);
        let found = grid_mapping(&rotated, "/crs").unwrap();
        assert_eq!(found.projection, Projection::Other("rotated_latitude_longitude".into()));
        assert_eq!(grid_mapping(&Object::new(), "/crs"), None);
    }
}
