//! Gives the tables of colours and the coasts that the program and the page share.

use zarr::Object;
use zarr_plot::picture::{COAST_BYTES, ColorMap};

use super::Answered;
use crate::{Answer, Question, Targets};

/// `{"maps": {NAME: 256 × 3 bytes in hexadecimal digits}}`.
pub(crate) fn colormaps(_: &Question, _: &Targets) -> Answered {
    Ok(Answer::json(Object::new().with("maps", ColorMap::json())))
}

/// The coasts of the world, as `scripts/coast.mjs` of the crate zarr-plot describes them.
pub(crate) fn coast(_: &Question, _: &Targets) -> Answered {
    Ok(Answer::new("application/octet-stream", COAST_BYTES))
}
