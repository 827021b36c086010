//! Gives the tables of colours that the program and the page share.

use zarr::Object;
use zarr_plot::picture::ColorMap;

use super::Answered;
use crate::{Answer, Question, Targets};

/// `{"maps": {NAME: 256 × 3 bytes in hexadecimal digits}}`.
pub(crate) fn colormaps(_: &Question, _: &Targets) -> Answered {
    Ok(Answer::json(Object::new().with("maps", ColorMap::json())))
}
