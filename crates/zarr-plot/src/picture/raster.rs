//! Makes pixels of values: by a colour map, as labels, as colours, as channels that add up.

use super::{ColorMap, LabelColors, PictureError, Plane, Stretch};
use crate::meaning::Channel;

/// Pixels of red, green, blue and opacity, row after row from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raster {
    /// Pixels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Four bytes a pixel.
    pub rgba: Vec<u8>,
}

const CLEAR: [u8; 4] = [0; 4];

impl Raster {
    /// Of one colour.
    pub fn filled(width: usize, height: usize, color: [u8; 4]) -> Raster {
        Raster { width, height, rgba: color.repeat(width * height) }
    }

    fn from_pixels(like: &Plane, pixels: impl Iterator<Item = [u8; 4]>) -> Raster {
        Raster { width: like.width, height: like.height, rgba: pixels.flatten().collect() }
    }

    /// Values by a colour map; what is missing is transparent, and everything is if there is no stretch.
    pub fn of_values(plane: &Plane, stretch: Option<&Stretch>, map: ColorMap) -> Raster {
        let indices = plane.values.iter().map(|&value| stretch?.index(value));
        let pixels = indices.map(|index| match index {
            Some(index) => opaque(map.color(index)),
            None => CLEAR,
        });
        Raster::from_pixels(plane, pixels)
    }

    /// Labels: each number has a colour unlike that of its neighbours, or the one it is given; what has none is transparent.
    pub fn of_labels(plane: &Plane, colors: &LabelColors) -> Raster {
        Raster::from_pixels(plane, plane.values.iter().map(|&value| colors.color(value)))
    }

    /// Puts labels of the same size over it, opaque ones with this opacity, from 0 to 1.
    ///
    /// # Errors
    /// Labels of another size.
    pub fn overlay(&mut self, labels: &Raster, opacity: f64) -> Result<(), PictureError> {
        if (self.width, self.height) != (labels.width, labels.height) {
            return Err(PictureError::Refused(
                "labels over an image have as many pixels as it has".into(),
            ));
        }
        for (below, over) in self.rgba.chunks_exact_mut(4).zip(labels.rgba.chunks_exact(4)) {
            let over_part = f64::from(over[3]) / 255.0 * opacity;
            if over_part == 0.0 {
                continue;
            }
            let under_part = f64::from(below[3]) / 255.0 * (1.0 - over_part);
            let whole = over_part + under_part;
            for n in 0..3 {
                let sum = f64::from(over[n]) * over_part + f64::from(below[n]) * under_part;
                below[n] = (sum / whole).round() as u8;
            }
            below[3] = (whole * 255.0).round() as u8;
        }
        Ok(())
    }

    /// Three planes of the same size as red, green and blue, a fourth as opacity. What is missing in all three is
    /// transparent; what is missing in one of them adds nothing of its colour. Without a stretch, values are from 0 to 255.
    ///
    /// # Errors
    /// Other counts of planes, or planes that differ in size.
    pub fn of_colors(planes: &[Plane], stretch: Option<&Stretch>) -> Result<Raster, PictureError> {
        let [first, rest @ ..] = planes else { return Err(sizes()) };
        if !matches!(rest.len(), 2 | 3) || rest.iter().any(|plane| !plane.fits(first)) {
            return Err(sizes());
        }
        let pixels = (0..first.values.len()).map(|n| {
            let [red, green, blue] =
                [&planes[0], &planes[1], &planes[2]].map(|it| color_part(it.values[n], stretch));
            if red.or(green).or(blue).is_none() {
                return CLEAR;
            }
            let opacity =
                planes.get(3).map_or(Some(255), |plane| color_part(plane.values[n], stretch));
            [red, green, blue, opacity].map(Option::unwrap_or_default)
        });
        Ok(Raster::from_pixels(first, pixels))
    }

    /// Channels, each in its colour between the ends of its stretch, added up. What is missing adds nothing.
    ///
    /// # Errors
    /// No channels, or planes that differ in size.
    pub fn of_channels(
        channels: &[(Plane, Option<Stretch>, Channel)],
    ) -> Result<Raster, PictureError> {
        let Some((first, ..)) = channels.first() else { return Err(sizes()) };
        if channels.iter().any(|(plane, ..)| !plane.fits(first)) {
            return Err(sizes());
        }
        let pixels = (0..first.values.len()).map(|n| {
            let mut sum = [0.0; 3];
            for (plane, stretch, channel) in channels {
                let place = stretch.and_then(|stretch| stretch.place(plane.values[n]));
                let Some(place) = place else { continue };
                let place = place.clamp(0.0, 1.0);
                let light = if channel.inverted { 1.0 - place } else { place };
                for (sum, color) in sum.iter_mut().zip(channel.color) {
                    *sum += light * f64::from(color);
                }
            }
            opaque(sum.map(|part| part.round().min(255.0) as u8))
        });
        Ok(Raster::from_pixels(first, pixels))
    }

    /// The same picture in another size, by the nearest pixel.
    pub fn resized(&self, width: usize, height: usize) -> Raster {
        let mut rgba = Vec::with_capacity(4 * width * height);
        for row in 0..height {
            let from = row * self.height / height;
            for column in 0..width {
                rgba.extend(self.pixel(column * self.width / width, from));
            }
        }
        Raster { width, height, rgba }
    }

    /// The rows from the last to the first.
    pub fn upside_down(mut self) -> Raster {
        if self.width > 0 {
            let rows: Vec<&[u8]> = self.rgba.chunks_exact(4 * self.width).rev().collect();
            self.rgba = rows.concat();
        }
        self
    }

    /// A pixel, which there is.
    pub fn pixel(&self, column: usize, row: usize) -> [u8; 4] {
        let at = 4 * (row * self.width + column);
        [self.rgba[at], self.rgba[at + 1], self.rgba[at + 2], self.rgba[at + 3]]
    }

    /// Puts a colour over a pixel; nothing where there is none.
    pub fn blend(&mut self, column: i64, row: i64, [r, g, b, alpha]: [u8; 4]) {
        let (Ok(column), Ok(row)) = (usize::try_from(column), usize::try_from(row)) else { return };
        if column >= self.width || row >= self.height || alpha == 0 {
            return;
        }
        let at = 4 * (row * self.width + column);
        let below = &mut self.rgba[at..at + 4];
        let over = f32::from(alpha) / 255.0;
        let under = f32::from(below[3]) / 255.0 * (1.0 - over);
        let whole = over + under;
        for (part, color) in below.iter_mut().zip([r, g, b]) {
            *part = ((f32::from(color) * over + f32::from(*part) * under) / whole).round() as u8;
        }
        below[3] = (whole * 255.0).round() as u8;
    }

    /// As a PNG of 8 bits a part, always with opacity.
    ///
    /// # Errors
    /// A picture without pixels, or one with more along a side than PNG can count.
    pub fn to_png(&self) -> Result<Vec<u8>, PictureError> {
        let (Some(width), Some(height)) = (png_side(self.width), png_side(self.height)) else {
            return Err(self.no_png("a side is too long"));
        };
        if self.rgba.is_empty() {
            return Err(self.no_png("there is nothing to show"));
        }
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, width, height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        let written =
            encoder.write_header().and_then(|mut writer| writer.write_image_data(&self.rgba));
        written.map_err(|why| self.no_png(&why.to_string()))?;
        Ok(out)
    }

    /// The error of a raster that cannot be a PNG.
    fn no_png(&self, why: &str) -> PictureError {
        PictureError::Refused(format!(
            "cannot make a PNG of {} × {} pixels: {why}",
            self.width, self.height
        ))
    }
}

/// A part of a colour from 0 to 255, none if the value is missing.
fn color_part(value: f64, stretch: Option<&Stretch>) -> Option<u8> {
    match stretch {
        None if value.is_nan() => None,
        None => Some(value as u8),
        // 1 is full, as in a float image.
        Some(stretch) => Some((stretch.place(value)?.clamp(0.0, 1.0) * 255.0).round() as u8),
    }
}

/// The length of a side, if a PNG can have it.
fn png_side(len: usize) -> Option<u32> {
    u32::try_from(len).ok().filter(|&len| len <= i32::MAX as u32)
}

fn sizes() -> PictureError {
    PictureError::Refused("colours are three or four planes of the same size".into())
}

fn opaque([r, g, b]: [u8; 3]) -> [u8; 4] {
    [r, g, b, 255]
}

/// The colour of a label: hues a golden angle apart, in three lightnesses.
pub fn label_color(label: f64) -> [u8; 3] {
    let n = label.abs() % 1e9;
    let hue = (n * 0.618_033_988_749_895).fract() * 6.0;
    let value = [1.0, 0.78, 0.9][(n % 3.0) as usize];
    let saturation = [0.62, 0.85, 0.45][(n / 3.0 % 3.0) as usize];
    [5.0, 3.0, 1.0].map(|n: f64| {
        let k = (n + hue) % 6.0;
        let part: f64 = value - value * saturation * k.min(4.0 - k).clamp(0.0, 1.0);
        (part * 255.0).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_are_transparent() {
        let plane = Plane::of(2, vec![0.0, f64::NAN, 1.0, f64::INFINITY]);
        let raster = Raster::of_values(&plane, Some(&Stretch::between(0.0, 1.0)), ColorMap::GRAY);
        assert_eq!((raster.width, raster.height), (2, 2));
        assert_eq!(raster.rgba, [0, 0, 0, 255, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
        let nothing = Raster::of_values(&plane, None, ColorMap::GRAY);
        assert!(nothing.rgba.iter().all(|&part| part == 0));
    }

    #[test]
    fn a_color_is_transparent_where_all_of_it_is_missing() {
        let red = Plane::of(3, vec![f64::NAN, f64::NAN, 7.0]);
        let green = Plane::of(3, vec![f64::NAN, 9.0, 8.0]);
        let raster = Raster::of_colors(&[red, green.clone(), green], None).unwrap();
        assert_eq!(raster.rgba, [0, 0, 0, 0, 0, 9, 9, 255, 7, 8, 8, 255]);
    }

    #[test]
    fn neighbouring_labels_differ_and_none_is_clear() {
        let plane = Plane::of(4, vec![0.0, 1.0, 2.0, 1.0]);
        let raster = Raster::of_labels(&plane, &LabelColors::default());
        assert_eq!(raster.pixel(0, 0), CLEAR);
        assert_eq!(raster.pixel(1, 0), raster.pixel(3, 0));
        let mut colors: Vec<_> = (1..500).map(|n| label_color(f64::from(n))).collect();
        for pair in colors.windows(2) {
            let apart: i32 =
                (0..3).map(|n| (i32::from(pair[0][n]) - i32::from(pair[1][n])).abs()).sum();
            assert!(apart > 60, "{pair:?}");
        }
        colors.sort_unstable();
        colors.dedup();
        assert!(colors.len() > 480, "{}", colors.len());
    }

    #[test]
    fn labels_are_over_an_image_by_their_opacity() {
        let mut raster = Raster { width: 3, height: 1, rgba: vec![100; 12] };
        raster.rgba[3..8].copy_from_slice(&[255, 10, 20, 30, 255]);
        let labels =
            Raster { width: 3, height: 1, rgba: vec![0, 0, 0, 0, 200, 200, 200, 255, 8, 8, 8, 0] };
        raster.overlay(&labels, 0.5).unwrap();
        assert_eq!(raster.rgba, [100, 100, 100, 255, 105, 110, 115, 255, 100, 100, 100, 100]);
        assert!(raster.overlay(&Raster::filled(1, 1, CLEAR), 0.5).is_err());
    }

    #[test]
    fn channels_add_up() {
        let channel =
            |color, inverted| Channel { label: None, color, window: None, active: true, inverted };
        let (red, green) = (channel([255, 0, 0], false), channel([0, 255, 0], true));
        let (a, b) = (Plane::of(2, vec![0.0, 1.0]), Plane::of(2, vec![0.0, 1.0]));
        let unit = Some(Stretch::between(0.0, 1.0));
        let raster =
            Raster::of_channels(&[(a.clone(), unit, red.clone()), (b, unit, green.clone())])
                .unwrap();
        assert_eq!(raster.rgba, [0, 255, 0, 255, 255, 0, 0, 255]);
        let other = Plane::of(1, vec![0.0]);
        assert!(Raster::of_channels(&[(a, unit, red), (other, unit, green)]).is_err());
        assert!(Raster::of_channels(&[]).is_err());
    }

    #[test]
    fn pictures_keep_every_pixel_in_a_png() {
        for color in [[1, 2, 3, 255], [200, 100, 0, 7]] {
            let raster = Raster::filled(3, 2, color);
            let mut reader = png::Decoder::new(std::io::Cursor::new(raster.to_png().unwrap()))
                .read_info()
                .unwrap();
            let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut bytes).unwrap();
            assert_eq!((info.width, info.height), (3, 2));
            assert!(bytes.chunks(4).all(|pixel| pixel == color));
        }
        assert!(Raster::filled(0, 2, CLEAR).to_png().is_err());
    }

    #[test]
    fn pictures_are_resized_by_the_nearest_pixel() {
        let plane = Plane::of(2, vec![0.0, 1.0]);
        let raster = Raster::of_values(&plane, Some(&Stretch::between(0.0, 1.0)), ColorMap::GRAY);
        let large = raster.resized(4, 2);
        assert_eq!([large.pixel(1, 1), large.pixel(2, 0)], [[0, 0, 0, 255], [255; 4]]);
    }
}
