//! Writes a figure as SVG 1.1.

use std::fmt::Write;

use zarr_core::data_type::base64_encode;

use super::PictureError;
use super::scene::{Anchor, Color, Item, PAPER, Scene};

impl Scene {
    /// The figure as a document of SVG. Texts stay texts, pictures are PNGs inside.
    ///
    /// # Errors
    /// As [`super::Raster::to_png`].
    pub fn to_svg(&self) -> Result<String, PictureError> {
        let (width, height) = (self.width, self.height);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"'DejaVu Sans', Verdana, sans-serif\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n",
            hex(PAPER)
        );
        for item in &self.items {
            write_item(&mut out, item)?;
        }
        out.push_str("</svg>\n");
        Ok(out)
    }
}

fn write_item(out: &mut String, item: &Item) -> Result<(), PictureError> {
    // Writing to a text does not fail.
    let _ = match item {
        Item::Box { x, y, width, height, color } => {
            writeln!(out, "<rect {} fill=\"{}\"/>", place(*x, *y, *width, *height), hex(*color))
        }
        Item::Line { points, color, width } => {
            let points: Vec<String> =
                points.iter().map(|&(x, y)| format!("{},{}", short(x), short(y))).collect();
            writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"/>",
                points.join(" "),
                hex(*color),
                short(*width)
            )
        }
        Item::Text(text) => {
            let anchor = match text.anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let (x, y) = (short(text.x), short(text.y));
            let transform = if text.is_upright {
                format!(" transform=\"rotate(-90 {x} {y})\"")
            } else {
                String::new()
            };
            writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" text-anchor=\"{anchor}\" fill=\"{}\"{transform}>{}</text>",
                short(text.size),
                hex(text.color),
                escaped(&text.text)
            )
        }
        Item::Picture { x, y, width, height, raster } => writeln!(
            out,
            "<image {} preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" xlink:href=\"data:image/png;base64,{}\"/>",
            place(*x, *y, *width, *height),
            base64_encode(&raster.to_png()?)
        ),
    };
    Ok(())
}

/// The attributes of a rectangle.
fn place(x: f64, y: f64, width: f64, height: f64) -> String {
    format!(
        "x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
        short(x),
        short(y),
        short(width),
        short(height)
    )
}

fn hex([r, g, b]: Color) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// To a hundredth of a pixel, without zeros at the end.
fn short(value: f64) -> String {
    let value = (value * 100.0).round() / 100.0;
    if value.is_finite() { format!("{}", value + 0.0) } else { "0".into() }
}

/// The text for a document of XML, without the characters that XML cannot have.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => {}
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Raster;
    use crate::picture::scene::INK;

    #[test]
    fn hostile_texts_stay_texts() {
        let mut scene = Scene::new(10, 10);
        scene.text((1.0, 2.0), "</text><script>&\"\u{0}\u{ffff}", 12.0, Anchor::Start, INK);
        let svg = scene.to_svg().unwrap();
        assert!(svg.contains(">&lt;/text&gt;&lt;script&gt;&amp;&quot; </text>"), "{svg}");
        let raster = Raster::filled(1, 1, [1, 2, 3, 4]);
        scene.add(Item::Picture { x: 0.0, y: 1.005, width: 2.0, height: f64::NAN, raster });
        assert!(scene.to_svg().unwrap().contains("href=\"data:image/png;base64,iVBORw0"));
    }
}
