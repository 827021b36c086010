//! Measures and draws text with the font that comes with the program.

use std::sync::OnceLock;

use ab_glyph_rasterizer::{Point, Rasterizer, point};
use skrifa::instance::{LocationRef, Size};
use skrifa::outline::{DrawSettings, OutlinePen};
use skrifa::{FontRef, GlyphId, MetadataProvider};

use super::Raster;
use super::scene::{Anchor, Text};

fn font() -> &'static FontRef<'static> {
    static FONT: OnceLock<FontRef<'static>> = OnceLock::new();
    FONT.get_or_init(|| {
        let font = FontRef::new(include_bytes!("font.ttf"));
        font.expect("the font in the program is whole: a test reads it")
    })
}

/// The glyph of a letter, `?` where the font has none; of control characters nothing is shown.
fn glyph(letter: char) -> GlyphId {
    let charmap = font().charmap();
    let letter = if letter.is_control() { ' ' } else { letter };
    let found = charmap.map(letter).filter(|&glyph| glyph != GlyphId::NOTDEF);
    found.or_else(|| charmap.map('?')).unwrap_or_default()
}

/// How many pixels a text is wide.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let metrics = font().glyph_metrics(Size::new(size as f32), LocationRef::default());
    text.chars()
        .map(|letter| f64::from(metrics.advance_width(glyph(letter)).unwrap_or_default()))
        .sum()
}

/// The text, cut to a width, with `…` where something is left out.
pub(crate) fn cut(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let mut short: Vec<char> = text.chars().take(1000).collect();
    loop {
        short.pop();
        let text: String = short.iter().chain(&['…']).collect();
        if short.is_empty() || width(&text, size) <= most {
            return text;
        }
    }
}

/// A piece of a glyph's outline.
enum Piece {
    Line([Point; 2]),
    Quadratic([Point; 3]),
    Cubic([Point; 4]),
}

/// The outline of a glyph, with its origin at `origin` and y from the top down, as pixels are.
struct Outline {
    origin: Point,
    pieces: Vec<Piece>,
    begin: Point,
    last: Point,
    /// The least and the greatest of all coordinates, control points among them.
    bounds: Option<[Point; 2]>,
}

impl Outline {
    /// The outline of a glyph whose em is `size` pixels; it has no pieces where nothing is to be drawn.
    fn of(glyph: GlyphId, size: f64, origin: Point) -> Outline {
        let (pieces, zero) = (Vec::new(), Point::default());
        let mut outline = Outline { origin, pieces, begin: zero, last: zero, bounds: None };
        let settings = DrawSettings::unhinted(Size::new(size as f32), LocationRef::default());
        if let Some(found) = font().outline_glyphs().get(glyph) {
            found
                .draw(settings, &mut outline)
                .expect("the font in the program is whole: a test draws all of it");
        }
        outline
    }

    fn to(&mut self, x: f32, y: f32) -> Point {
        let to = point(self.origin.x + x, self.origin.y - y);
        let [least, most] = self.bounds.unwrap_or([to, to]);
        let least = point(least.x.min(to.x), least.y.min(to.y));
        let most = point(most.x.max(to.x), most.y.max(to.y));
        self.bounds = Some([least, most]);
        to
    }

    /// Calls for each pixel that the glyph touches, with how much of it is covered, from 0 to 1.
    fn draw(&self, mut call: impl FnMut(i64, i64, f32)) {
        let Some([least, most]) = self.bounds else { return };
        let (left, top) = (least.x.floor(), least.y.floor());
        let mut rasterizer = Rasterizer::new(pixel_count(left, most.x), pixel_count(top, most.y));
        for piece in &self.pieces {
            match piece.map(|at| point(at.x - left, at.y - top)) {
                Piece::Line([a, b]) => rasterizer.draw_line(a, b),
                Piece::Quadratic([a, b, c]) => rasterizer.draw_quad(a, b, c),
                Piece::Cubic([a, b, c, d]) => rasterizer.draw_cubic(a, b, c, d),
            }
        }
        rasterizer.for_each_pixel_2d(|x, y, cover| {
            if cover > 0.0 {
                call(left as i64 + i64::from(x), top as i64 + i64::from(y), cover.min(1.0));
            }
        });
    }
}

/// How many pixels there are from one place to another.
fn pixel_count(from: f32, to: f32) -> usize {
    (to.ceil() - from) as usize + 1
}

impl Piece {
    fn map(&self, to: impl Fn(Point) -> Point) -> Piece {
        match self {
            Piece::Line(points) => Piece::Line(points.map(to)),
            Piece::Quadratic(points) => Piece::Quadratic(points.map(to)),
            Piece::Cubic(points) => Piece::Cubic(points.map(to)),
        }
    }
}

impl OutlinePen for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.begin = self.to(x, y);
        self.last = self.begin;
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let to = self.to(x, y);
        self.pieces.push(Piece::Line([self.last, to]));
        self.last = to;
    }

    fn quad_to(&mut self, cx: f32, cy: f32, x: f32, y: f32) {
        let (control, to) = (self.to(cx, cy), self.to(x, y));
        self.pieces.push(Piece::Quadratic([self.last, control, to]));
        self.last = to;
    }

    fn curve_to(&mut self, ax: f32, ay: f32, bx: f32, by: f32, x: f32, y: f32) {
        let (a, b, to) = (self.to(ax, ay), self.to(bx, by), self.to(x, y));
        self.pieces.push(Piece::Cubic([self.last, a, b, to]));
        self.last = to;
    }

    fn close(&mut self) {
        self.pieces.push(Piece::Line([self.last, self.begin]));
        self.last = self.begin;
    }
}

/// Draws a text over a picture.
pub(crate) fn draw(text: &Text, raster: &mut Raster) {
    let metrics = font().glyph_metrics(Size::new(text.size as f32), LocationRef::default());
    let length = width(&text.text, text.size);
    let before = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => length / 2.0,
        Anchor::End => length,
    };
    let [r, g, b] = text.color;
    let mut along = -before;
    for letter in text.text.chars() {
        let glyph = glyph(letter);
        // Upright text is drawn lying, and each pixel put where it belongs.
        let (x, y) = if text.is_upright { (along, 0.0) } else { (text.x + along, text.y) };
        let outline = Outline::of(glyph, text.size, point(x as f32, y as f32));
        outline.draw(|x, y, cover| {
            let color = [r, g, b, (cover * 255.0).round() as u8];
            if text.is_upright {
                raster.blend(text.x.round() as i64 + y, text.y.round() as i64 - x, color);
            } else {
                raster.blend(x, y, color);
            }
        });
        along += f64::from(metrics.advance_width(glyph).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters that the font has.
    const LETTERS: &str = "aZ09 °µ²³·×–−≤≥…éßñÅ⁻¹";

    #[test]
    fn the_font_has_the_letters_that_figures_need() {
        for letter in LETTERS.chars() {
            assert!(letter == '?' || glyph(letter) != glyph('?'), "{letter}");
        }
        assert_eq!((glyph('漢'), glyph('\n')), (glyph('?'), glyph(' ')));
        assert!(width("mmm", 12.0) > 2.0 * width("iii", 12.0));
        assert_eq!(cut("abc", 12.0, 1000.0), "abc");
        let short = cut(&"long ".repeat(50), 12.0, 60.0);
        assert!(short.ends_with('…') && width(&short, 12.0) <= 60.0);
        assert_eq!(cut("abc", 12.0, 0.0), "…");
    }

    #[test]
    fn every_glyph_of_the_font_is_drawn() {
        let mappings: Vec<_> = font().charmap().mappings().collect();
        assert!(mappings.len() > 100, "{}", mappings.len());
        for (code, glyph) in mappings {
            let mut covered = 0.0;
            Outline::of(glyph, 20.0, point(0.0, 0.0)).draw(|_, _, cover| covered += cover);
            let is_blank = char::from_u32(code).is_some_and(char::is_whitespace);
            // Within its em, but for accents.
            assert!((covered > 0.0) != is_blank && covered < 800.0, "{code:x}: {covered}");
        }
    }

    /// A horizontal bar fills whole pixels; one between two rows of pixels half of each.
    #[test]
    fn a_glyph_covers_the_pixels_that_it_is_over() {
        let rows = |y: f32| {
            let mut rows = std::collections::BTreeMap::<i64, f32>::new();
            let outline = Outline::of(glyph('–'), 100.0, point(0.0, y));
            outline.draw(|_, y, cover| *rows.entry(y).or_default() += cover);
            rows
        };
        let (whole, moved) = (rows(0.0), rows(0.5));
        let sum = |rows: &std::collections::BTreeMap<i64, f32>| rows.values().sum::<f32>();
        assert!((sum(&whole) - sum(&moved)).abs() < 0.1, "{whole:?} {moved:?}");
        // Above the base line, about a third of an em.
        assert!(whole.keys().all(|&y| (-40..-20).contains(&y)), "{whole:?}");
    }
}
