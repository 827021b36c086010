//! Asks the terminal which pictures it shows, and how large its letters are.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr,
};

use crate::interrupt::STOPPED;

/// How long an answer may take, from a terminal that may be far away.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// An answer has no more bytes.
const MAX_ANSWER_BYTES: usize = 256;

/// The terminal's answer to "primary device attributes"; nothing, where there is no terminal, another program has it, or it is silent.
/// It is asked once.
pub(crate) fn primary() -> &'static [u8] {
    static ANSWER: OnceLock<Vec<u8>> = OnceLock::new();
    ANSWER.get_or_init(asked)
}

fn asked() -> Vec<u8> {
    let Ok(tty) = OpenOptions::new().read(true).write(true).open("/dev/tty") else {
        return Vec::new();
    };
    // In the background, a program that changes the terminal is stopped.
    if tcgetpgrp(&tty).ok() != Some(getpgrp()) {
        return Vec::new();
    }
    let Ok(usual) = tcgetattr(&tty) else { return Vec::new() };
    let mut raw = usual.clone();
    raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
    // Reading waits for a tenth of a second; `poll` knows no terminals on macOS.
    raw.special_codes[SpecialCodeIndex::VMIN] = 0;
    raw.special_codes[SpecialCodeIndex::VTIME] = 1;
    if tcsetattr(&tty, OptionalActions::Now, &raw).is_err() {
        return Vec::new();
    }
    let restored = Restored { tty: &tty, usual };
    let answer = ask(&tty);
    drop(restored);
    // Ctrl-C is a byte as long as it is no signal.
    if answer.contains(&3) {
        std::process::exit(STOPPED.into());
    }
    answer
}

/// Gives the terminal its usual modes back.
struct Restored<'a> {
    tty: &'a File,
    usual: Termios,
}

impl Drop for Restored<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.tty, OptionalActions::Now, &self.usual);
    }
}

fn ask(mut tty: &File) -> Vec<u8> {
    let mut answer = Vec::new();
    if tty.write_all(b"\x1b[c").is_err() {
        return answer;
    }
    let end = Instant::now() + ANSWER_TIMEOUT;
    while Instant::now() < end {
        if answer.contains(&3) || answer.len() > MAX_ANSWER_BYTES || is_whole(&answer) {
            break;
        }
        let mut bytes = [0; 64];
        match tty.read(&mut bytes) {
            Ok(count) => answer.extend(&bytes[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    answer
}

/// Whether all of `ESC [ ? … c` is there.
fn is_whole(answer: &[u8]) -> bool {
    let begin = answer.windows(3).position(|bytes| bytes == b"\x1b[?");
    begin.is_some_and(|begin| answer[begin..].contains(&b'c'))
}

/// The pixels of a letter, across and down, if the terminal on standard output tells.
pub(crate) fn letter() -> Option<(u64, u64)> {
    let size = tcgetwinsize(std::io::stdout()).ok()?;
    Some((pixels_each(size.ws_xpixel, size.ws_col)?, pixels_each(size.ws_ypixel, size.ws_row)?))
}

/// How many pixels a letter has, if the number can be true.
fn pixels_each(pixels: u16, letters: u16) -> Option<u64> {
    pixels.checked_div(letters).filter(|each| (4..=64).contains(each)).map(u64::from)
}
