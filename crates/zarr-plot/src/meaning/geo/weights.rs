//! How large the area of a row of latitude is beside that of others.

use zarr_core::{AccessError, Array, ErrorKind, NodePath, Result};

use super::degrees::is_latitude;
use crate::meaning::{Axis, text};

/// Weights of the elements along the axis of latitude.
#[derive(Clone, Debug, PartialEq)]
pub struct AreaWeights {
    /// The axis of latitude.
    pub axis: usize,
    /// For each position along it the area of a cell, in a unit of its own; NaN where the latitude is missing, or beyond
    /// a pole.
    pub weights: Vec<f64>,
    /// The variable with the bounds of the cells, if the weights are of these: they are the areas of zones between two
    /// latitudes. Else they are cosines of latitudes.
    pub bounds: Option<NodePath>,
}

/// The weights of an array whose cells are between meridians and parallels: by the bounds of its coordinates of latitude
/// (CF 7.1) where there are any, else by the cosine of the latitude. `axes` are those of the array.
///
/// # Errors
/// [`AccessError::Argument`] if no axis is latitude; what reading the coordinates fails with.
pub fn area_weights(axes: &[Axis]) -> Result<AreaWeights> {
    let Some(axis) = axes.iter().position(is_latitude) else {
        let why = "no latitude axis found: no axis has coordinates of its own with the unit degrees_north; cells of curvilinear grids are not weighted";
        return Err(AccessError::Argument(why.into()).into());
    };
    let latitude = &axes[axis];
    if let Some((path, edges)) = latitude.array().map_or(Ok(None), bounds)? {
        let weights = edges
            .chunks_exact(2)
            .map(|pair| {
                // Bounds half a cell beyond a pole occur, and mean the pole.
                let [from, to] = [pair[0], pair[1]].map(|degrees| {
                    if degrees.abs() <= 180.0 { degrees.clamp(-90.0, 90.0) } else { f64::NAN }
                });
                (to.to_radians().sin() - from.to_radians().sin()).abs()
            })
            .collect();
        return Ok(AreaWeights { axis, weights, bounds: Some(path) });
    }
    let found = latitude.read(0..latitude.len)?.unwrap_or_default();
    let weights = found
        .numbers
        .iter()
        .map(|degrees| {
            // Poles that were stored as float32 may be a little beyond 90.
            if degrees.is_nan() || degrees.abs() > 90.001 {
                return f64::NAN;
            }
            // Rounding makes the cosine of a pole a little less than 0.
            degrees.to_radians().cos().max(0.0)
        })
        .collect();
    Ok(AreaWeights { axis, weights, bounds: None })
}

/// The variable that a coordinate's attribute `bounds` names, and its two numbers for each coordinate.
fn bounds(latitude: &Array) -> Result<Option<(NodePath, Vec<f64>)>> {
    let Some(name) = text(&latitude.attributes(), "bounds") else { return Ok(None) };
    let place = latitude.path().parent().and_then(|group| group.join(&name).ok());
    let Some(place) = place else { return Ok(None) };
    let array = match latitude.hierarchy().array(&place) {
        Ok(array) => array,
        Err(error) if error.kind() == ErrorKind::Store => return Err(error),
        // `zarr validate` says that it is missing.
        Err(_) => return Ok(None),
    };
    if latitude.rank() != 1 || array.shape() != [latitude.shape()[0], 2] {
        return Ok(None);
    }
    // Bounds have the meaning of their coordinates (CF 7.1): of latitude nothing is missing, and few are packed.
    let meaning = crate::meaning::Meaning::of(&array, crate::meaning::MissingRule::Declared);
    let Some(scalar) = meaning.scalar(&array.data_type()) else { return Ok(None) };
    let bytes = array.read_bytes((.., ..))?;
    let numbers = bytes
        .chunks_exact(scalar.size())
        .map(|element| meaning.decode(scalar.load(element)).unwrap_or(f64::NAN));
    Ok(Some((place, numbers.collect())))
}
