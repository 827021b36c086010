//! Says what a command that is interrupted leaves behind.

use std::io::{self, IsTerminal, Write};

use zarr::ErrorKind;

use crate::failure::error_json;
use crate::session::Session;

/// The exit code of a program that a signal has stopped.
pub(crate) const STOPPED: u8 = 130;

/// Lets Ctrl-C and SIGTERM end the program with `what`: what is left behind, and what to do. Without a handler, which the
/// system may refuse, a signal ends the program as well.
pub(crate) fn leaves(session: &Session, what: &str) {
    let line = if session.is_json() {
        error_json(ErrorKind::Cancelled.name(), STOPPED, &format!("stopped: {what}"), None)
            .to_string()
    } else {
        format!("stopped: {what}")
    };
    let _ = ctrlc::set_handler(move || {
        let mut err = io::stderr();
        // After the ^C that a terminal shows, and after a bar.
        let end = if err.is_terminal() { "\n" } else { "" };
        let _ = writeln!(err, "{end}{line}");
        std::process::exit(STOPPED.into());
    });
}
