//! Says which axes are longitude and latitude.

use crate::meaning::{Axis, AxisKind};

/// Whether an axis has degrees of longitude: by CF's units, or by its name where it has none.
pub(crate) fn is_longitude(axis: &Axis) -> bool {
    // The names that CF 4.2 gives the unit.
    const UNITS: [&str; 6] =
        ["degrees_east", "degree_east", "degree_E", "degrees_E", "degreeE", "degreesE"];
    is_of(axis, AxisKind::X, &UNITS, ["lon", "longitude"])
}

/// Whether an axis has degrees of latitude.
pub(crate) fn is_latitude(axis: &Axis) -> bool {
    // The names that CF 4.1 gives the unit.
    const UNITS: [&str; 6] =
        ["degrees_north", "degree_north", "degree_N", "degrees_N", "degreeN", "degreesN"];
    is_of(axis, AxisKind::Y, &UNITS, ["lat", "latitude"])
}

fn is_of(axis: &Axis, kind: AxisKind, units: &[&str], names: [&str; 2]) -> bool {
    // Those of a rotated pole have the unit `degrees`, and other names.
    axis.kind == kind
        && match &axis.units {
            Some(found) => {
                let is_standard = axis.array().is_some_and(|array| {
                    let attributes = array.attributes();
                    crate::meaning::text(&attributes, "standard_name")
                        .is_some_and(|it| it == names[1])
                });
                units.contains(&found.as_str()) || (is_standard && found.starts_with("degree"))
            }
            None => {
                axis.has_coordinates()
                    && axis
                        .name
                        .as_deref()
                        .is_some_and(|name| names.contains(&name.to_lowercase().as_str()))
            }
        }
}
