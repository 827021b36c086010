//! Terminals that show pictures get them, once they said so.
#![cfg(all(target_os = "linux", feature = "plot"))]

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use crate::common::Folder;

/// What a terminal got that gives `answer` when it is asked for its primary device attributes; `None`: it was not asked.
fn on_terminal(folder: &Folder, line: &str, term: &str, answer: &str) -> (Vec<u8>, bool, i32) {
    let line = format!("{} {line}", env!("CARGO_BIN_EXE_zarr"));
    let mut typed = Command::new("script");
    typed.args(["-qec", &line, "/dev/null"]).current_dir(folder.path("")).env("TERM", term);
    for name in ["COLORTERM", "TERM_PROGRAM", "TMUX", "STY", "KITTY_WINDOW_ID", "NO_COLOR"] {
        typed.env_remove(name);
    }
    let mut run = typed.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (run.stdin.take(), run.stdout.take().unwrap());
    let (mut shown, mut was_asked, mut some) = (Vec::new(), false, [0; 4096]);
    while let Ok(count @ 1..) = output.read(&mut some) {
        shown.extend(&some[..count]);
        if !was_asked && shown.windows(3).any(|bytes| bytes == b"\x1b[c") {
            was_asked = true;
            input.as_mut().unwrap().write_all(answer.as_bytes()).unwrap();
        }
    }
    drop(input);
    (shown, was_asked, run.wait().unwrap().code().unwrap())
}

/// The pixels of a PNG, as colours of four bytes.
fn pixels(png: &[u8]) -> (usize, usize, Vec<[u8; 4]>) {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::ALPHA);
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgba);
    let pixels = bytes.chunks_exact(4).map(|rgba| rgba.try_into().unwrap()).collect();
    (info.width as usize, info.height as usize, pixels)
}

#[test]
fn a_terminal_that_shows_sixels_gets_them() {
    let folder = Folder::new();
    folder.good("create t.zarr --shape 40,50 --dtype int16 --attr _FillValue=0");
    let list: Vec<String> = (0..2000).map(|n| n.to_string()).collect();
    assert_eq!(folder.feed("put t.zarr", format!("[{}]", list.join(",")).as_bytes()).code, 0);
    let (shown, was_asked, code) =
        on_terminal(&folder, "plot t.zarr", "xterm-256color", "\u{1b}[?62;4;22c");
    assert_eq!((was_asked, code), (true, 0));
    let begin = shown.windows(3).position(|bytes| bytes == b"\x1bP0").expect("sixels begin");
    let len = shown[begin..].windows(2).position(|bytes| bytes == b"\x1b\\").expect("they end");
    folder.write("picture.six", &shown[begin..begin + len + 2]);
    // By libsixel, whose program is not everywhere.
    let decoded = Command::new("sixel2png")
        .args(["-i", "picture.six", "-o", "picture.png"])
        .current_dir(folder.path(""))
        .status();
    match decoded {
        Ok(status) => assert!(status.success()),
        Err(_) => {
            zarr_testkit::skipped("pictures", "sixel2png is not installed");
            return;
        }
    }
    let (width, height, found) = pixels(&std::fs::read(folder.path("picture.png")).unwrap());
    // 21 lines of 16 pixels.
    assert_eq!((width, height), (420, 336));
    let (across, down, elements) = pixels(&folder.good("plot t.zarr --bare -o -").out);
    for y in 0..height {
        for x in 0..width {
            let element = elements[y * down / height * across + x * across / width];
            let pixel = found[y * width + x];
            let far = |n: usize| element[n].abs_diff(pixel[n]);
            // Parts of colours are percents. The first element is missing, and no sixel.
            let is_near = element[3] == 0 || (0..3).all(|n| far(n) <= 2);
            assert!(is_near, "({x}, {y}): {element:?}, {pixel:?}");
        }
    }
}

#[test]
fn others_are_asked_only_for_pictures() {
    let folder = Folder::new();
    folder.table("t.zarr", "v3");
    folder.good("create l.zarr --shape 9 --dtype int8");
    let half_blocks = |shown: &[u8]| String::from_utf8_lossy(shown).contains('▀');
    let no = "\u{1b}[?62;22c";
    let (shown, was_asked, _) = on_terminal(&folder, "plot t.zarr/a", "xterm-256color", no);
    assert!(was_asked && half_blocks(&shown));
    // One that does not answer.
    let (shown, was_asked, code) = on_terminal(&folder, "plot t.zarr/a", "xterm-256color", "x");
    assert!(was_asked && code == 0 && half_blocks(&shown));
    // Ctrl-C while the program waits.
    let (_, was_asked, code) = on_terminal(&folder, "plot t.zarr/a", "xterm-256color", "\u{3}");
    assert_eq!((was_asked, code), (true, 130));
    for (line, term) in [
        ("plot t.zarr/a", "dumb"),
        ("plot t.zarr/a", "xterm-kitty"),
        ("plot t.zarr/a --color never", "xterm-256color"),
        ("plot l.zarr", "xterm-256color"),
        ("plot t.zarr/a --histogram", "xterm-256color"),
        ("plot t.zarr/a -o a.png", "xterm-256color"),
        ("tree t.zarr", "xterm-256color"),
    ] {
        let (_, was_asked, code) = on_terminal(&folder, line, term, no);
        assert_eq!((was_asked, code), (false, 0), "{line} in {term}");
    }
    // In a pipe nothing is asked of the terminal there may be.
    assert!(!folder.good("plot t.zarr/a").text().contains('\u{1b}'));
    let line = "plot t.zarr/a --color always";
    let asked = folder.good(line);
    assert!(half_blocks(&asked.out) && !asked.text().contains("\u{1b}[c"));
}
