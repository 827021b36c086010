//! Measures and draws text with the font that comes with the program.

use std::sync::OnceLock;

use ab_glyph::{Font, FontRef, Glyph, PxScale, ScaleFont, point};

use super::Raster;
use super::scene::{Anchor, Text};

fn font() -> &'static FontRef<'static> {
    static FONT: OnceLock<FontRef<'static>> = OnceLock::new();
    FONT.get_or_init(|| {
        let font = FontRef::try_from_slice(include_bytes!("font.ttf"));
        font.expect("the font in the program is whole: a test reads it")
    })
}

/// The scale at which the font's em is `size` pixels.
fn scale(size: f64) -> PxScale {
    let font = font();
    let em = font.units_per_em().unwrap_or(2048.0);
    PxScale::from(size as f32 * font.height_unscaled() / em)
}

/// How many pixels a text is wide.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let font = font().as_scaled(scale(size));
    text.chars().map(|letter| f64::from(font.h_advance(font.glyph_id(known(letter))))).sum()
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

/// The letter, or `?` where the font has none; of control characters nothing is shown.
fn known(letter: char) -> char {
    match font().glyph_id(letter).0 {
        _ if letter.is_control() => ' ',
        0 => '?',
        _ => letter,
    }
}

/// Draws a text over a picture.
pub(crate) fn draw(text: &Text, raster: &mut Raster) {
    let scaled = font().as_scaled(scale(text.size));
    let length = width(&text.text, text.size);
    let before = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => length / 2.0,
        Anchor::End => length,
    };
    let [r, g, b] = text.color;
    let mut along = -before;
    for letter in text.text.chars() {
        let id = scaled.glyph_id(known(letter));
        // Upright text is drawn lying, and each pixel put where it belongs.
        let (x, y) = if text.is_upright { (along, 0.0) } else { (text.x + along, text.y) };
        let glyph = Glyph { id, scale: scaled.scale(), position: point(x as f32, y as f32) };
        if let Some(outline) = scaled.outline_glyph(glyph) {
            let bounds = outline.px_bounds();
            let (left, top) = (bounds.min.x as i64, bounds.min.y as i64);
            outline.draw(|x, y, cover| {
                let (x, y) = (left + i64::from(x), top + i64::from(y));
                let color = [r, g, b, (cover.clamp(0.0, 1.0) * 255.0).round() as u8];
                if text.is_upright {
                    raster.blend(text.x.round() as i64 + y, text.y.round() as i64 - x, color);
                } else {
                    raster.blend(x, y, color);
                }
            });
        }
        along += f64::from(scaled.h_advance(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_the_letters_that_figures_need() {
        for letter in "aZ09 °µ²³·×–−≤≥…éßñÅ⁻¹".chars() {
            assert_eq!(known(letter), letter);
        }
        assert_eq!(known('漢'), '?');
        assert!(width("mmm", 12.0) > 2.0 * width("iii", 12.0));
        assert_eq!(cut("abc", 12.0, 1000.0), "abc");
        let short = cut(&"long ".repeat(50), 12.0, 60.0);
        assert!(short.ends_with('…') && width(&short, 12.0) <= 60.0);
        assert_eq!(cut("abc", 12.0, 0.0), "…");
    }
}
