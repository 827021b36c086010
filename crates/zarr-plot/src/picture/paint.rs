//! Makes pixels of a figure.

use super::scene::{Color, Item, PAPER, Scene};
use super::{PictureError, Raster, text};

impl Scene {
    /// The figure as pixels on white.
    pub fn paint(&self) -> Raster {
        let [r, g, b] = PAPER;
        let mut raster = Raster::filled(self.width as usize, self.height as usize, [r, g, b, 255]);
        for item in &self.items {
            match item {
                Item::Box { x, y, width, height, color } => {
                    let corners =
                        [(*x, *y), (x + width, *y), (x + width, y + height), (*x, y + height)];
                    polygon(&mut raster, &corners, *color);
                }
                Item::Line { points, color, width } => line(&mut raster, points, *color, *width),
                Item::Text(text) => text::draw(text, &mut raster),
                Item::Picture { x, y, width, height, raster: picture } => {
                    let (left, top) = (x.round() as i64, y.round() as i64);
                    let resized = picture.resized(width.round() as usize, height.round() as usize);
                    for row in 0..resized.height {
                        for column in 0..resized.width {
                            let color = resized.pixel(column, row);
                            raster.blend(left + column as i64, top + row as i64, color);
                        }
                    }
                }
            }
        }
        raster
    }

    /// The figure as a PNG.
    ///
    /// # Errors
    /// As [`Raster::to_png`].
    pub fn to_png(&self) -> Result<Vec<u8>, PictureError> {
        self.paint().to_png()
    }
}

/// How many parts of a pixel are looked at across and down.
const FINE: i64 = 4;

/// Fills a polygon by the even-odd rule; pixels at its edge in part.
fn polygon(raster: &mut Raster, points: &[(f64, f64)], [r, g, b]: Color) {
    if points.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
        return;
    }
    let (width, height) = (raster.width as f64, raster.height as f64);
    let (left, right) = bounds(points.iter().map(|point| point.0), width);
    let (top, bottom) = bounds(points.iter().map(|point| point.1), height);
    let mut covers = vec![0_u8; (right - left).max(0) as usize];
    for row in top..bottom {
        covers.fill(0);
        for part in 0..FINE {
            let y = row as f64 + (part as f64 + 0.5) / FINE as f64;
            let mut edges: Vec<f64> = Vec::new();
            for (n, &(x0, y0)) in points.iter().enumerate() {
                let (x1, y1) = points[(n + 1) % points.len()];
                if (y0 <= y) != (y1 <= y) {
                    edges.push(x0 + (y - y0) / (y1 - y0) * (x1 - x0));
                }
            }
            edges.sort_by(f64::total_cmp);
            for pair in edges.chunks_exact(2) {
                // Which of the points in the middle of the parts are between.
                let place = |x: f64| {
                    ((x.clamp(left as f64, right as f64) - left as f64) * FINE as f64 - 0.5)
                        .ceil()
                        .max(0.0) as i64
                };
                for at in place(pair[0])..place(pair[1]) {
                    covers[(at / FINE) as usize] += 1;
                }
            }
        }
        for (column, &cover) in covers.iter().enumerate() {
            let alpha = (u32::from(cover) * 255 / (FINE * FINE) as u32) as u8;
            raster.blend(left + column as i64, row, [r, g, b, alpha]);
        }
    }
}

/// The whole numbers around all values, from 0 to the length of a side.
fn bounds(values: impl Iterator<Item = f64>, most: f64) -> (i64, i64) {
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), n| (low.min(n), high.max(n)));
    (low.clamp(0.0, most).floor() as i64, high.clamp(0.0, most).ceil() as i64)
}

/// A line: each piece a narrow box.
fn line(raster: &mut Raster, points: &[(f64, f64)], color: Color, width: f64) {
    for pair in points.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        let length = (x1 - x0).hypot(y1 - y0);
        let (dx, dy) =
            if length > 0.0 { ((x1 - x0) / length, (y1 - y0) / length) } else { (1.0, 0.0) };
        let half = width / 2.0;
        let (ax, ay) = (dx * half, dy * half);
        let corners = [
            (x0 - ax - ay, y0 - ay + ax),
            (x1 + ax - ay, y1 + ay + ax),
            (x1 + ax + ay, y1 + ay - ax),
            (x0 - ax + ay, y0 - ay - ax),
        ];
        polygon(raster, &corners, color);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_fill_their_pixels_and_halves_of_pixels_by_half() {
        let mut scene = Scene::new(4, 3);
        scene.rectangle((1.0, 1.0), (1.5, 1.0), [0; 3]);
        let raster = scene.paint();
        let grey = |column, row| raster.pixel(column, row)[0];
        assert_eq!(
            [grey(0, 1), grey(1, 1), grey(2, 1), grey(3, 1), grey(1, 0), grey(1, 2)],
            [255, 0, 128, 255, 255, 255]
        );
    }

    #[test]
    fn what_is_outside_is_left_out() {
        let mut scene = Scene::new(2, 2);
        scene.rectangle((-1e9, -1e9), (2e9, 1e9 + 1.0), [9; 3]);
        scene.rectangle((f64::NAN, 0.0), (1.0, 1.0), [7; 3]);
        scene.add(Item::Line {
            points: vec![(-1e300, 5.0), (1e300, 5.0)],
            color: [1; 3],
            width: 1.0,
        });
        let raster = scene.paint();
        assert_eq!([raster.pixel(0, 0)[0], raster.pixel(1, 1)[0]], [9, 255]);
    }
}
