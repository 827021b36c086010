//! Says how an array is shown at first: a picture, a line or a table, along which axes and at which positions of the others, as
//! `zarr plot` draws it.

use zarr::data_type::Scalar;
use zarr::{Json, Object};
use zarr_plot::meaning::AxisKind;
use zarr_plot::picture::{Style, Subject};

/// The first view as members of JSON: `{"kind", "x", "y", "at", "channel_axis", "rgb", "equal", "labels", "label_colors", "names",
/// "range", "map", "signed_map"}`.
pub(crate) fn members(subject: &Subject) -> Object {
    let data_type = subject.array.data_type();
    let view = subject.first();
    let kind = match &view {
        None => "none",
        Some(view) if view.is_line() => "line",
        Some(_) => "picture",
    };
    let (x, y) = view.as_ref().map_or((None, None), |view| (view.x, view.y));
    let channel = view
        .as_ref()
        .filter(|view| !view.is_line() && subject.shows_channels(view, &Style::default()))
        .and_then(|view| subject.channel_axis(view));
    let image = subject.image.as_ref().map(|(image, _)| image);
    let is_rgb = view.as_ref().is_some_and(|view| channel.is_some() && subject.is_rgb(view));
    let rgb_range = matches!(data_type.scalar(), Some(Scalar::Uint(8)))
        .then(|| Json::from(vec![Json::from(0u64), Json::from(255u64)]));
    let at: Json = match &view {
        Some(view) => view.along.iter().map(|along| Json::from(along.start)).collect(),
        None => Json::Null,
    };
    let declared = view.as_ref().filter(|_| channel.is_none());
    let range = declared
        .and_then(|view| subject.declared_window(view))
        .map_or(Json::Null, |ends| Json::from(vec![Json::from(ends.0), Json::from(ends.1)]));
    Object::new()
        .with("at", at)
        .with("range", range)
        .with("label_colors", label_colors(subject))
        .with("names", names(subject))
        .with("kind", kind)
        .with("x", x.unwrap_or(0) as u64)
        .with("y", y.unwrap_or(0) as u64)
        .with("channel_axis", channel.map_or(Json::Null, |axis| Json::from(axis as u64)))
        .with("rgb", is_rgb)
        .with("rgb_range", rgb_range.unwrap_or(Json::Null))
        .with("labels", subject.is_labels())
        .with("equal", image.is_some() || !(is_time(subject, x) || is_time(subject, y)))
        .with("map", subject.color_map(false).name())
        .with("signed_map", subject.color_map(true).name())
}

/// Whether an axis is one of time, or of depth.
fn is_time(subject: &Subject, axis: Option<usize>) -> bool {
    let kind = axis.and_then(|axis| subject.axes.get(axis)).map(|axis| axis.kind);
    matches!(kind, Some(AxisKind::Time | AxisKind::Z))
}

/// Labels with colours of their own: `[[label, "rrggbbaa"]]`.
pub(super) fn label_colors(subject: &Subject) -> Json {
    subject
        .label_colors()
        .own()
        .iter()
        .map(|(value, [r, g, b, a])| {
            let digits = format!("{r:02x}{g:02x}{b:02x}{a:02x}");
            Json::from(vec![Json::from(*value), Json::from(digits)])
        })
        .collect()
}

/// Values with names: `[[value, name]]`.
fn names(subject: &Subject) -> Json {
    let flags = &subject.meaning.flags;
    flags
        .categories()
        .map(|(value, name, _)| {
            let value = subject.meaning.affine.apply(value);
            Json::from(vec![Json::from(value), Json::from(name)])
        })
        .collect()
}
