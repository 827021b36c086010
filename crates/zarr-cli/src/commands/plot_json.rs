//! Says as JSON what a picture would show.

use zarr::{Json, Object};
use zarr_plot::picture::{PictureError, Reduce, Subject, View, slice};

/// An array that could be shown.
pub(super) fn subject(subject: &Subject) -> Object {
    let units = subject.meaning.units.as_deref();
    Object::new()
        .with("path", subject.array.path().as_str())
        .with("title", subject.title())
        .with("units", units.map_or(Json::Null, Json::from))
        .with("shape", &subject.array.shape()[..])
}

/// The decoded values of a picture, in rows, or of a line, in one row: the mean or the middle element of each block.
pub(super) fn values(
    of: &Subject,
    view: &View,
    at_most: Option<(u64, u64)>,
    reduce: Option<Reduce>,
) -> Result<Json, PictureError> {
    let plane = slice(&of.array, &of.meaning, view, at_most, reduce)?;
    let rows = plane.values.chunks(plane.width.max(1));
    let rows = rows.map(|row| row.iter().copied().map(Json::from).collect::<Json>());
    let object = subject(of)
        .with("x", axis(of, view, view.x, plane.block.0))
        .with("y", axis(of, view, view.y, plane.block.1))
        .with("is_mean", plane.is_mean)
        .with("values", rows.collect::<Json>());
    Ok(object.into())
}

/// What is shown along an axis, in blocks of so many elements.
fn axis(of: &Subject, view: &View, axis: Option<usize>, block: u64) -> Json {
    let Some(axis) = axis else { return Json::Null };
    let (name, along) = (of.axes[axis].name.as_deref(), &view.along[axis]);
    let object = Object::new()
        .with("axis", axis as u64)
        .with("name", name.map_or(Json::Null, Json::from))
        .with("start", along.start)
        .with("step", along.step)
        .with("len", along.len)
        .with("block", block);
    Json::from(object)
}
