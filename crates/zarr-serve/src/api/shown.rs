//! Says how an array is shown at first: a picture, a line or a table, along which axes, as `zarr plot` draws it.

use zarr::data_type::Scalar;
use zarr::{Json, Object};
use zarr_plot::meaning::AxisKind;
use zarr_plot::picture::{Style, Subject};

/// The first view as members of JSON: `{"kind", "x", "y", "channel_axis", "rgb", "equal", "map", "signed_map"}`.
pub(crate) fn members(subject: &Subject) -> Object {
    let data_type = subject.array.data_type();
    let view = subject.first();
    let kind = match &view {
        None => "none",
        Some(view) if view.is_line() => "line",
        Some(_) => "picture",
    };
    let (x, y) = view.as_ref().map_or((None, None), |view| (view.x, view.y));
    let has_channels = |view: &&zarr_plot::picture::View| {
        !view.is_line() && subject.shows_channels(view, &Style::default())
    };
    let channel = view.as_ref().filter(has_channels).and_then(|view| subject.channel_axis(view));
    let image = subject.image.as_ref().map(|(image, _)| image);
    let is_rgb = channel.is_some() && image.is_none_or(|image| image.channels.is_empty());
    let is_time = |axis: Option<usize>| {
        let kind = axis.and_then(|axis| subject.axes.get(axis)).map(|axis| axis.kind);
        matches!(kind, Some(AxisKind::Time | AxisKind::Z))
    };
    let rgb_range = matches!(data_type.scalar(), Some(Scalar::Uint(8)))
        .then(|| Json::from(vec![Json::from(0u64), Json::from(255u64)]));
    Object::new()
        .with("kind", kind)
        .with("x", x.unwrap_or(0) as u64)
        .with("y", y.unwrap_or(0) as u64)
        .with("channel_axis", channel.map_or(Json::Null, |axis| Json::from(axis as u64)))
        .with("rgb", is_rgb)
        .with("rgb_range", rgb_range.unwrap_or(Json::Null))
        .with("labels", image.is_some_and(|image| image.is_label))
        .with("equal", image.is_some() || !(is_time(x) || is_time(y)))
        .with("map", subject.color_map(false).name())
        .with("signed_map", subject.color_map(true).name())
}
