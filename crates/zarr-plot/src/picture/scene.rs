//! What figures consist of, before it is pixels or SVG: boxes, lines, texts, pictures.

use super::Raster;

/// A figure. Lengths are in pixels, from the left and the top.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    pub(crate) items: Vec<Item>,
}

pub(crate) type Color = [u8; 3];

#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// A filled box.
    Box {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        color: Color,
    },
    /// A line through points.
    Line {
        points: Vec<(f64, f64)>,
        color: Color,
        width: f64,
    },
    Text(Text),
    /// A picture, stretched to a box.
    Picture {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        raster: Raster,
    },
}

/// A text on one line, its base line at `y`.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub x: f64,
    pub y: f64,
    pub text: String,
    pub size: f64,
    pub anchor: Anchor,
    pub color: Color,
    /// Whether it runs upwards.
    pub is_upright: bool,
}

/// Which end of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

pub(crate) const INK: Color = [34, 34, 34];
pub(crate) const FAINT: Color = [110, 110, 110];
pub(crate) const PAPER: Color = [255, 255, 255];
/// Behind pictures, where elements are missing.
pub(crate) const MISSING: Color = [222, 222, 222];

impl Scene {
    pub(crate) fn new(width: u32, height: u32) -> Scene {
        Scene { width, height, items: Vec::new() }
    }

    pub(crate) fn add(&mut self, item: Item) {
        self.items.push(item);
    }

    pub(crate) fn rectangle(
        &mut self,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        color: Color,
    ) {
        self.add(Item::Box { x, y, width, height, color });
    }

    /// A thin frame around a box, outside of it.
    pub(crate) fn frame(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), color: Color) {
        self.rectangle((x - 1.0, y - 1.0), (width + 2.0, 1.0), color);
        self.rectangle((x - 1.0, y + height), (width + 2.0, 1.0), color);
        self.rectangle((x - 1.0, y), (1.0, height), color);
        self.rectangle((x + width, y), (1.0, height), color);
    }

    pub(crate) fn text(
        &mut self,
        (x, y): (f64, f64),
        text: &str,
        size: f64,
        anchor: Anchor,
        color: Color,
    ) {
        self.add(Item::Text(Text {
            x,
            y,
            text: text.to_owned(),
            size,
            anchor,
            color,
            is_upright: false,
        }));
    }
}
