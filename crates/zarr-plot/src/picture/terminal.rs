//! Draws pictures and lines in a terminal: two pixels a letter, or points of Braille, or plain letters.

use std::fmt::Write;

use zarr_core::data_type::base64_encode;

use super::line::Line;
use super::sixel::sixels;
use super::{PictureError, Raster, Stretch};

/// What a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// Letters.
    Plain,
    /// Half blocks in 256 colours.
    Colors256,
    /// Half blocks in all colours.
    Colors,
    /// Pictures, by the protocol of kitty.
    Kitty,
    /// Pictures, by the protocol of iTerm2.
    Iterm,
    /// Pictures in 256 colours, as sixels.
    Sixel,
}

impl Terminal {
    /// What the environment says of the terminal. Pictures only where it names a program that has them, and never inside tmux or
    /// screen, which do not pass them on. `with_color`: whether colours are asked for, or asked not to be.
    pub fn of(variable: impl Fn(&str) -> Option<String>, with_color: Option<bool>) -> Terminal {
        let found = |name: &str| variable(name).filter(|text| !text.is_empty());
        let term = found("TERM").unwrap_or_default();
        let no_color = found("NO_COLOR").is_some() || matches!(&*term, "" | "dumb");
        if with_color == Some(false) || with_color.is_none() && no_color {
            return Terminal::Plain;
        }
        let is_inside = found("TMUX").is_some()
            || found("STY").is_some()
            || term.starts_with("tmux")
            || term.starts_with("screen");
        let program = found("TERM_PROGRAM").unwrap_or_default();
        let depth = found("COLORTERM").unwrap_or_default();
        match () {
            () if !is_inside && (found("KITTY_WINDOW_ID").is_some() || term == "xterm-kitty") => {
                Terminal::Kitty
            }
            () if !is_inside && matches!(&*program, "iTerm.app" | "WezTerm") => Terminal::Iterm,
            () if ["foot", "mlterm", "contour", "yaft"]
                .iter()
                .any(|known| term.starts_with(known)) =>
            {
                Terminal::Sixel
            }
            () if matches!(&*depth, "truecolor" | "24bit") || term.ends_with("-direct") => {
                Terminal::Colors
            }
            () if term.contains("256") || with_color == Some(true) => Terminal::Colors256,
            () => Terminal::Plain,
        }
    }

    /// What the terminal shows, by its answer to "primary device attributes", `ESC [ c`: `ESC [ ? 62 ; 4 ; … c` with a 4 if it
    /// shows sixels.
    pub fn told(self, answer: &[u8]) -> Terminal {
        let answer = String::from_utf8_lossy(answer);
        let numbers = answer.rsplit_once("\u{1b}[?").and_then(|(_, text)| text.split_once('c'));
        // The first number is the kind of terminal.
        let shows =
            numbers.is_some_and(|(text, _)| text.split(';').skip(1).any(|part| part == "4"));
        if shows { Terminal::Sixel } else { self }
    }

    /// Whether a letter is made of many pixels.
    pub fn has_pictures(self) -> bool {
        matches!(self, Terminal::Kitty | Terminal::Iterm | Terminal::Sixel)
    }

    /// How many pixels a letter has, across and down.
    pub fn pixels(self) -> (u64, u64) {
        match self {
            Terminal::Plain => (1, 1),
            Terminal::Colors256 | Terminal::Colors => (1, 2),
            Terminal::Kitty | Terminal::Iterm | Terminal::Sixel => (8, 16),
        }
    }

    /// The picture as text, with the line ends. Where it is transparent the terminal's background is seen.
    ///
    /// # Errors
    /// As [`Raster::to_png`], where the terminal takes that.
    pub fn draw(self, raster: &Raster) -> Result<String, PictureError> {
        Ok(match self {
            Terminal::Plain => letters(raster),
            Terminal::Colors256 => half_blocks(raster, true),
            Terminal::Colors => half_blocks(raster, false),
            Terminal::Sixel => sixels(raster),
            Terminal::Kitty => kitty(&raster.to_png()?),
            Terminal::Iterm => {
                let png = raster.to_png()?;
                format!(
                    "\u{1b}]1337;File=inline=1;size={};width={}px:{}\u{7}\n",
                    png.len(),
                    raster.width,
                    base64_encode(&png)
                )
            }
        })
    }
}

/// From dark to bright.
const LETTERS: &[u8] = b".:-=+*#%@";

fn letters(raster: &Raster) -> String {
    let mut out = String::new();
    for row in 0..raster.height {
        for column in 0..raster.width {
            let [r, g, b, alpha] = raster.pixel(column, row).map(u32::from);
            let light = (r * 54 + g * 183 + b * 19) >> 8;
            let at = light as usize * LETTERS.len() / 256;
            out.push(if alpha < 128 { ' ' } else { char::from(LETTERS[at]) });
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    out
}

fn half_blocks(raster: &Raster, is_256: bool) -> String {
    let mut out = String::new();
    let clear = [0; 4];
    for top in (0..raster.height).step_by(2) {
        let (mut over, mut under) = (None, None);
        for column in 0..raster.width {
            let upper = raster.pixel(column, top);
            let lower = if top + 1 < raster.height { raster.pixel(column, top + 1) } else { clear };
            // The half that has a colour is the ink, where only one has.
            let (letter, ink, ground) = match (is_clear(upper), is_clear(lower)) {
                (true, true) => (' ', clear, clear),
                (true, false) => ('▄', lower, clear),
                _ => ('▀', upper, lower),
            };
            if letter != ' ' && over != Some(ink) {
                write_color(38, ink, is_256, &mut out);
                over = Some(ink);
            }
            if under != Some(ground) {
                write_color(48, ground, is_256, &mut out);
                under = Some(ground);
            }
            out.push(letter);
        }
        out.push_str("\u{1b}[0m\n");
    }
    out
}

/// Whether a pixel is more transparent than not.
fn is_clear(pixel: [u8; 4]) -> bool {
    pixel[3] < 128
}

/// Writes the sequence that sets the colour of the ink (38) or of the ground (48).
fn write_color(ground: u8, pixel: [u8; 4], is_256: bool, out: &mut String) {
    let [r, g, b, _] = pixel;
    // Writing to a text does not fail.
    let _ = if is_clear(pixel) {
        write!(out, "\u{1b}[{}m", ground + 1)
    } else if is_256 {
        write!(out, "\u{1b}[{ground};5;{}m", nearest([r, g, b]))
    } else {
        write!(out, "\u{1b}[{ground};2;{r};{g};{b}m")
    };
}

/// The nearest of the 6 × 6 × 6 colours and 24 greys of 256.
fn nearest([r, g, b]: [u8; 3]) -> u8 {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let at = [r, g, b].map(|part| (0..6).min_by_key(|&n| STEPS[n].abs_diff(part)).unwrap_or(0));
    let cube = at.map(|n| STEPS[n]);
    let mean = (u32::from(r) + u32::from(g) + u32::from(b)) / 3;
    let grey = (mean.saturating_sub(3) / 10).min(23) as u8;
    if distance([8 + 10 * grey; 3], [r, g, b]) < distance(cube, [r, g, b]) {
        232 + grey
    } else {
        (16 + 36 * at[0] + 6 * at[1] + at[2]) as u8
    }
}

/// The square of the distance of two colours.
fn distance(a: [u8; 3], b: [u8; 3]) -> i32 {
    a.iter().zip(b).map(|(&a, b)| (i32::from(a) - i32::from(b)).pow(2)).sum()
}

/// In pieces of 4,096 letters, as kitty asks for.
fn kitty(png: &[u8]) -> String {
    let text = base64_encode(png);
    let pieces: Vec<&[u8]> = text.as_bytes().chunks(4096).collect();
    let mut out = String::new();
    for (n, piece) in pieces.iter().enumerate() {
        let first = if n == 0 { "a=T,f=100," } else { "" };
        let more = u8::from(n + 1 < pieces.len());
        let _ = write!(out, "\u{1b}_G{first}m={more};{}\u{1b}\\", String::from_utf8_lossy(piece));
    }
    out.push('\n');
    out
}

/// The line in points of Braille, two across and four down a letter; with `is_plain`, in letters `*`.
pub fn draw_line(
    line: &Line,
    stretch: &Stretch,
    (columns, rows): (usize, usize),
    is_plain: bool,
) -> String {
    let (wide, high) = if is_plain { (1, 1) } else { (2, 4) };
    let (width, height) = (columns * wide, rows * high);
    let mut cells = vec![0_u8; columns * rows];
    // The points of a letter of Braille, row after row.
    const POINTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
    let count = line.low.len();
    let row = |value: f64| {
        let place = stretch.place(value)?.clamp(0.0, 1.0);
        Some(((1.0 - place) * height.saturating_sub(1) as f64).round() as usize)
    };
    for column in 0..width {
        let from = column * count / width.max(1);
        let until = ((column + 1) * count / width.max(1)).max(from + 1).min(count);
        let ends = (from..until).filter_map(|n| Some((row(line.high[n])?, row(line.low[n])?)));
        let Some((top, bottom)) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else {
            continue;
        };
        for at in top..=bottom {
            cells[at / high * columns + column / wide] |=
                if is_plain { 1 } else { POINTS[at % 4][column % 2] };
        }
    }
    let mut out = String::new();
    for cells in cells.chunks(columns.max(1)) {
        let row: String = cells
            .iter()
            .map(|&cell| match cell {
                0 => ' ',
                _ if is_plain => '*',
                points => char::from_u32(0x2800 + u32::from(points)).unwrap_or(' '),
            })
            .collect();
        out.push_str(row.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Plane;

    fn of(variables: &[(&str, &str)]) -> Terminal {
        let found = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        };
        Terminal::of(found, None)
    }

    #[test]
    fn terminals_get_what_they_say_they_show() {
        assert_eq!(of(&[]), Terminal::Plain);
        assert_eq!(of(&[("TERM", "xterm")]), Terminal::Plain);
        assert_eq!(of(&[("TERM", "xterm-256color")]), Terminal::Colors256);
        assert_eq!(of(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]), Terminal::Colors);
        assert_eq!(
            of(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor"), ("NO_COLOR", "1")]),
            Terminal::Plain
        );
        assert_eq!(of(&[("TERM", "xterm-kitty")]), Terminal::Kitty);
        assert_eq!(
            of(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")]),
            Terminal::Iterm
        );
        let inside =
            [("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1"), ("TERM_PROGRAM", "iTerm.app")];
        assert_eq!(of(&inside), Terminal::Colors256);
        assert_eq!(of(&[("TERM", "xterm-kitty"), ("TMUX", "/tmp/x")]), Terminal::Plain);
        assert_eq!(of(&[("TERM", "foot-extra"), ("COLORTERM", "truecolor")]), Terminal::Sixel);
        for (answer, is_sixel) in [
            ("\u{1b}[?62;4;22c", true),
            ("x\u{1b}[?1;2;4cy", true),
            ("\u{1b}[?4c", false),
            ("\u{1b}[?62;14;22c", false),
            ("\u{1b}[?62;4", false),
            ("", false),
        ] {
            let shown = if is_sixel { Terminal::Sixel } else { Terminal::Colors };
            assert_eq!(Terminal::Colors.told(answer.as_bytes()), shown, "{answer}");
        }
    }

    #[test]
    fn two_pixels_are_one_letter() {
        let mut raster = Raster::filled(2, 3, [255, 0, 0, 255]);
        raster.rgba[..4].copy_from_slice(&[0; 4]);
        let text = half_blocks(&raster, false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "\u{1b}[38;2;255;0;0m\u{1b}[49m▄\u{1b}[48;2;255;0;0m▀\u{1b}[0m");
        assert_eq!(lines[1], "\u{1b}[38;2;255;0;0m\u{1b}[49m▀▀\u{1b}[0m");
        assert!(half_blocks(&raster, true).contains("38;5;196m"));
        assert_eq!([nearest([0, 0, 0]), nearest([255; 3]), nearest([128; 3])], [16, 231, 244]);
    }

    #[test]
    fn letters_are_darker_where_the_picture_is() {
        let mut raster = Raster::filled(3, 1, [255; 4]);
        raster.rgba[..4].copy_from_slice(&[0, 0, 0, 255]);
        raster.rgba[4..8].copy_from_slice(&[0; 4]);
        assert_eq!(letters(&raster), ". @\n");
        assert_eq!(kitty(&[0; 4000]).matches("\u{1b}_G").count(), 2);
    }

    #[test]
    fn lines_are_points_of_braille() {
        let values = vec![0.0, 1.0, f64::NAN, 0.0];
        let line = Line { low: values.clone(), high: values.clone(), block: 1 };
        let stretch = Stretch::of(&Plane::of(4, values), crate::picture::Ends::Full, false, None)
            .unwrap()
            .unwrap();
        assert_eq!(draw_line(&line, &stretch, (2, 1), false), "⡈⢀\n");
        assert_eq!(draw_line(&line, &stretch, (4, 2), true), " *\n*  *\n");
        assert_eq!(
            draw_line(&Line { low: vec![], high: vec![], block: 1 }, &stretch, (4, 1), false),
            "\n"
        );
    }
}
