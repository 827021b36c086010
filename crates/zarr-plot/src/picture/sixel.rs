//! Writes pictures as sixels: six rows at a time, in at most 256 colours.

use std::collections::HashMap;
use std::fmt::Write;

use super::Raster;

/// The most colours that terminals have for sixels.
const COLORS: usize = 256;

/// The picture as sixels, in squares of one pixel. Pixels that are more than half transparent are left out.
pub(super) fn sixels(raster: &Raster) -> String {
    let (of_pixel, palette) = palette(raster);
    // The background stays where there is no sixel.
    let mut out = format!("\u{1b}P0;1;0q\"1;1;{};{}", raster.width, raster.height);
    for (n, color) in palette.iter().enumerate() {
        // Terminals count parts of colours to 100. Writing to a text does not fail.
        let [r, g, b] = color.map(|part| (u32::from(part) * 100 + 127) / 255);
        let _ = write!(out, "#{n};2;{r};{g};{b}");
    }
    let mut band: Vec<Vec<u8>> = vec![Vec::new(); palette.len()];
    for top in (0..raster.height).step_by(6) {
        band.iter_mut().for_each(Vec::clear);
        for row in top..(top + 6).min(raster.height) {
            for column in 0..raster.width {
                let Some(color) = of_pixel[row * raster.width + column] else { continue };
                let sixels = &mut band[usize::from(color)];
                sixels.resize(raster.width, 0);
                sixels[column] |= 1 << (row - top);
            }
        }
        let mut is_first = true;
        for (n, sixels) in band.iter().enumerate().filter(|(_, sixels)| !sixels.is_empty()) {
            let back = if is_first { "" } else { "$" };
            let _ = write!(out, "{back}#{n}");
            is_first = false;
            for run in sixels.chunk_by(|a, b| a == b) {
                let letter = char::from(b'?' + run[0]);
                let _ = match run.len() {
                    count @ 4.. => write!(out, "!{count}{letter}"),
                    count => write!(out, "{}", letter.to_string().repeat(count)),
                };
            }
        }
        out.push('-');
    }
    out.push_str("\u{1b}\\\n");
    out
}

/// The number of each pixel's colour, nothing where it is transparent, and the colours: those of the picture, if they are few; else the
/// means of boxes that hold about as many pixels each.
fn palette(raster: &Raster) -> (Vec<Option<u8>>, Vec<[u8; 3]>) {
    let mut counts: HashMap<[u8; 3], u64> = HashMap::new();
    for color in opaque_pixels(raster).flatten() {
        *counts.entry(color).or_default() += 1;
    }
    let mut colors: Vec<([u8; 3], u64)> = counts.into_iter().collect();
    colors.sort_unstable();
    let mut boxes = vec![(gain(&colors), colors)];
    while boxes.len() < COLORS {
        let best = boxes.iter().enumerate().map(|(n, (gain, _))| (*gain, n)).max();
        let Some(((1.., part), n)) = best else { break };
        let (_, mut colors) = boxes.swap_remove(n);
        colors.sort_unstable_by_key(|(color, _)| color[part]);
        let half = colors.iter().map(|(_, count)| count).sum::<u64>() / 2;
        let mut sum = 0;
        let cut = colors.iter().position(|(_, count)| {
            sum += count;
            sum > half
        });
        let rest = colors.split_off(cut.unwrap_or(0).clamp(1, colors.len() - 1));
        boxes.extend([(gain(&colors), colors), (gain(&rest), rest)]);
    }
    let mut numbers = HashMap::new();
    let mut palette = Vec::new();
    for (_, colors) in boxes.iter().filter(|(_, colors)| !colors.is_empty()) {
        let count: u64 = colors.iter().map(|(_, count)| count).sum();
        numbers.extend(colors.iter().map(|(color, _)| (*color, palette.len() as u8)));
        palette.push([0, 1, 2].map(|part| {
            let sum: u64 = colors.iter().map(|(color, count)| u64::from(color[part]) * count).sum();
            ((sum + count / 2) / count) as u8
        }));
    }
    (opaque_pixels(raster).map(|color| numbers.get(&color?).copied()).collect(), palette)
}

/// The colours of all pixels, none where a pixel is transparent.
fn opaque_pixels(raster: &Raster) -> impl Iterator<Item = Option<[u8; 3]>> {
    let pixels = raster.rgba.chunks_exact(4);
    pixels.map(|rgba| (rgba[3] >= 128).then(|| [rgba[0], rgba[1], rgba[2]]))
}

/// How much is gained by cutting a box of colours, and along which part of the colour.
fn gain(colors: &[([u8; 3], u64)]) -> (u64, usize) {
    let count: u64 = colors.iter().map(|(_, count)| count).sum();
    let gains = (0..3).map(|part| {
        let least = colors.iter().map(|(color, _)| color[part]).min().unwrap_or(0);
        let most = colors.iter().map(|(color, _)| color[part]).max().unwrap_or(0);
        (u64::from(most - least) * count, part)
    });
    gains.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_rows_are_a_band_and_runs_are_counted() {
        let mut raster = Raster::filled(5, 7, [255, 0, 0, 255]);
        raster.rgba[..4].copy_from_slice(&[0, 0, 255, 255]);
        raster.rgba[4..8].copy_from_slice(&[0; 4]);
        let text = sixels(&raster);
        let red = if text.contains("#0;2;100;0;0") { 0 } else { 1 };
        let body = text.split_once(";0;0;100").unwrap().1;
        for part in [format!("#{red}}}}}~~~"), format!("#{}@????", 1 - red), format!("#{red}!5@-")]
        {
            assert!(body.replace("!4?", "????").contains(&part), "{part}: {text}");
        }
    }

    #[test]
    fn of_many_colours_each_pixel_has_a_near_one() {
        let color = |n: usize| [(n % 64 * 4) as u8, (n / 64 * 4) as u8, 128, 255];
        let mut raster = Raster::filled(64, 64, [0; 4]);
        raster.rgba = (0..64 * 64).flat_map(color).collect();
        raster.rgba[3] = 0;
        let (of_pixel, palette) = palette(&raster);
        assert_eq!((palette.len(), of_pixel[0]), (COLORS, None));
        for n in 1..64 * 64 {
            let found = palette[usize::from(of_pixel[n].unwrap())];
            assert!(
                (0..3).all(|part| found[part].abs_diff(color(n)[part]) <= 12),
                "{n}: {found:?}"
            );
        }
    }
}
