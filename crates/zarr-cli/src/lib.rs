//! The program `zarr`: look into, read, write and convert Zarr data.
//!
//! It is a library, too, so that a site with its own codecs, data types or stores has them in its
//! own `zarr`:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     let registry = zarr::standard().with(|registry| {
//!         // registry.codec(&MyCodec::NAMES, MyCodec::build);
//!         let _ = registry;
//!     });
//!     zarr_cli::run(registry, std::env::args_os())
//! }
//! ```
//!
//! Standard output is data, standard error is talk; with `--json`, it is one JSON object on each line, with the
//! member `error` or `warning`. Exit codes: 0 success, 1 negative result, 2 usage
//! error, 3 not found, 4 valid, but not supported by this build, 5 corrupt data, or an I/O error.

#![forbid(unsafe_code)]

mod absent;
mod by_name;
mod calls;
mod commands;
mod csv;
#[cfg_attr(not(feature = "plot"), path = "undecoded.rs")]
mod decoded;
#[cfg_attr(not(feature = "plot"), allow(dead_code, reason = "numbers are unpacked by the feature"))]
mod digits;
mod element;
mod failure;
mod foreign;
#[doc(hidden)]
pub mod fuzzing;
mod headers;
mod human;
mod image;
mod interrupt;
mod json;
mod ncrc;
mod nested;
mod npy;
mod parse;
#[cfg(feature = "plot")]
mod png_image;
mod progress;
mod record;
mod region;
mod rows;
mod session;
mod summary;
mod terminal;
mod tiff;
#[cfg(feature = "plot")]
#[cfg_attr(not(unix), path = "no_tty.rs")]
mod tty;
mod whole_file;
mod words;

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};
use zarr::{ErrorKind, Registry};

use self::commands::Command;
use self::failure::Failure;
use self::session::{Global, Session};
use self::terminal::{After, Color, Escaping, Plain, plain_json};

/// Inspect, read, write and convert Zarr data: v2, v3 and the v3 draft of 2020; older drafts are read-only.
///
/// TARGET is a path or URL of a hierarchy's root, or of a node inside. Paths given with --path begin
/// at the node that TARGET means.
#[derive(Debug, Parser)]
#[command(name = "zarr", version, arg_required_else_help = true, after_help = AFTER_HELP)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Exit codes: 0 success; 1 negative result; 2 usage error; 3 not found;
            4 valid, but not supported by this build; 5 corrupt data, or an I/O error.

Examples:
  zarr demo                                     a tour, with an image that comes with the program
  zarr tree data.zarr
  zarr info data.zarr --path temperature
  zarr get data.zarr/temperature --region 0:4,2:7 --format csv
  zarr copy old-v2.zarr new.zarr --to v3 --codec zstd:3

`zarr COMMAND --help` has examples for each command.";

/// The program with the names of its commands. Their options are made when they are needed: when the program runs one of them, or by
/// [`clap::Command::build`]. Making those of every command takes as long as all the rest of a start.
fn command() -> clap::Command {
    let program = Cli::command().max_term_width(MAX_WIDTH);
    let program = program.mut_subcommands(|command| command.help_template(HELP_TEMPLATE));
    if io::stdout().is_terminal() { program } else { program.term_width(MAX_WIDTH) }
}

/// The first command that one of these words names, with its options.
fn first_command<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<clap::Command> {
    let mut program = command();
    let name = words
        .into_iter()
        .find_map(|word| Some(program.find_subcommand(word)?.get_name().to_owned()))?;
    let command = program.find_subcommand_mut(name)?;
    command.build();
    Some(command.clone())
}

/// The name of the first command that the words of a command line name, with none of its options made.
fn first_command_name(args: &[OsString]) -> Option<String> {
    let program = command();
    let mut words = args.iter().skip(1).filter_map(|arg| arg.to_str());
    words.find_map(|word| Some(program.find_subcommand(word)?.get_name().to_owned()))
}

/// What `--help` of a command says behind its options; `-h`, which fits a screen, leaves it out.
fn details(own: &str) -> String {
    unfolded(own)
}

/// Longer lines of help are hard to read, however wide the terminal is.
const MAX_WIDTH: usize = 120;

/// A text whose paragraphs are one line each, which the terminal's width folds. Indented lines stay as they are.
fn unfolded(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        match lines.last_mut() {
            Some(last) if is_prose(last) && is_prose(line) && !last.ends_with(':') => {
                last.push(' ');
                last.push_str(line);
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

/// Whether a line of help is part of a paragraph.
fn is_prose(line: &str) -> bool {
    !line.is_empty() && !line.starts_with(' ')
}

/// The help of a command: what it does, how it is called, examples (`before_help`), options, details (`after_long_help`).
const HELP_TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{before-help}{all-args}{after-help}

Options of every command (--json, --as, --threads, --quiet, …): zarr --help";

/// `zarr TARGET` is a command of its own: puts its name before a first argument that is no command and looks like a path.
fn with_command(program: &clap::Command, mut args: Vec<OsString>) -> Vec<OsString> {
    // Options of every command may stand before it, some with a value behind them.
    let mut at = 1;
    while let Some(option) = args.get(at).and_then(|arg| arg.to_str()) {
        let name = option.split('=').next().unwrap_or_default();
        let Some(known) = program.get_arguments().find(|arg| is_called(arg, name)) else { break };
        let takes_value = known.get_action().takes_values() && !known.is_require_equals_set();
        at += if takes_value && name == option { 2 } else { 1 };
    }
    let Some(first) = args.get(at).and_then(|first| first.to_str()) else { return args };
    let is_command = program.find_subcommand(first).is_some() || first == "help";
    let looks_like_path = first.contains(['/', '.']) || std::path::Path::new(first).exists();
    if !first.starts_with('-') && !is_command && looks_like_path {
        args.insert(at, "__show".into());
    }
    args
}

/// Whether an option is written so.
fn is_called(option: &clap::Arg, written: &str) -> bool {
    match written.strip_prefix("--") {
        Some(long) => option.get_long() == Some(long),
        None => option.get_short().is_some_and(|short| written == format!("-{short}")),
    }
}

/// Which arguments are no texts.
fn not_utf8(args: &[OsString]) -> String {
    let wrong: Vec<String> = args
        .iter()
        .enumerate()
        .filter(|(_, arg)| arg.to_str().is_none())
        .map(|(n, arg)| format!("argument {n}, {arg:?}"))
        .collect();
    let is = if wrong.len() == 1 { "is" } else { "are" };
    format!("{} {is} not UTF-8; create a symbolic link with a UTF-8 name", wrong.join(", "))
}

/// What arguments are called that are paths or URLs of data.
const PLACES: [&str; 6] = ["TARGET", "SRC", "DST", "SOURCE", "A", "B"];

/// The paths and URLs of data that a command names.
fn places(program: &clap::Command, matches: &clap::ArgMatches) -> Vec<String> {
    let Some((name, matches)) = matches.subcommand() else { return Vec::new() };
    let Some(command) = program.find_subcommand(name) else { return Vec::new() };
    let places = command
        .get_arguments()
        .filter(|arg| {
            let names = arg.get_value_names().unwrap_or_default();
            names.iter().any(|name| PLACES.contains(&name.as_str()))
        })
        .filter_map(|arg| matches.try_get_raw(arg.get_id().as_str()).ok().flatten())
        .flatten();
    places.filter_map(|place| place.to_str().map(str::to_owned)).collect()
}

/// Runs the program with `args`, the first of which is its own name, knowing what `registry` knows.
///
/// Says what went wrong on standard error; the exit code tells the kind. It never panics on what it
/// was given, and ends quietly when the reader of its output goes away.
pub fn run(registry: Registry, args: impl Iterator<Item = OsString>) -> ExitCode {
    exit_code(registry, args).into()
}

/// As [`run`], for callers that end the process themselves.
pub fn exit_code(registry: Registry, args: impl Iterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.collect();
    let color = Color::of_args(&args);
    let mut parser = command().color(color.of_clap());
    let args = with_command(&parser, args);
    let program = args.first().map_or("zarr".into(), |name| name.to_string_lossy().into_owned());
    let wants_json = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    let parsed = parser.try_get_matches_from_mut(&args);
    let parsed = parsed.map_err(|error| match error.kind() {
        clap::error::ErrorKind::InvalidUtf8 => parser.error(error.kind(), not_utf8(&args)),
        clap::error::ErrorKind::InvalidSubcommand => words::suggest(error, &args),
        clap::error::ErrorKind::UnknownArgument => words::suggest_option(error, &args),
        clap::error::ErrorKind::MissingRequiredArgument => words::suggest_shape(error, &args),
        clap::error::ErrorKind::ArgumentConflict => words::suggest_one_option(error),
        _ => error,
    });
    let places = parsed.as_ref().map_or_else(|_| Vec::new(), |matches| places(&parser, matches));
    let cli = match parsed.and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches)) {
        Ok(cli) => cli,
        Err(error) if wants_json && error.use_stderr() => {
            let message = error.to_string();
            let message = message.trim().trim_start_matches("error: ");
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            let _ =
                writeln!(io::stderr(), "{}", failure::error_json("argument", code, message, None));
            return code;
        }
        Err(error) => {
            // Help goes to standard output; a reader that closed that does not need it.
            if let Err(e) = error.print()
                && !error.use_stderr()
                && e.kind() != io::ErrorKind::BrokenPipe
            {
                let _ = writeln!(io::stderr(), "error: cannot write standard output: {e}");
                return 5;
            }
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let mut session = Session::new(registry, cli.global, program);
    let bound = session.bind_headers(&places);
    let is_terminal = io::stdout().is_terminal();
    let after_calls = After {
        first: || {
            if is_terminal {
                session.hide_calls();
            }
        },
        out: io::stdout().lock(),
    };
    let out = BufWriter::with_capacity(1 << 16, after_calls);
    let escaping = match (is_terminal, session.is_json()) {
        (false, _) => Escaping::None,
        (true, false) => Escaping::Text,
        (true, true) => Escaping::Json,
    };
    let mut out = Plain { escaping, out };
    let result = bound.and_then(|()| commands::run(&cli.command, &session, &mut out));
    let result = result.and_then(|()| session.flush()).and_then(|()| Ok(out.flush()?));
    session.tell_calls();
    match result {
        Ok(()) => 0,
        Err(failure) => {
            // What was found before it failed is still worth having.
            let _ = out.flush();
            let failure = match failure {
                Failure::Zarr(error)
                    if error.kind() == ErrorKind::NotFound
                        && error.hint_id() != Some("resume_copy") =>
                {
                    absent::explain(error, &session, &first_command_name(&args).unwrap_or_default())
                }
                failure => failure,
            };
            let line = if session.is_json() {
                failure.json().map(|json| plain_json(&json.to_string()).into_owned())
            } else {
                failure.line().map(|line| human::printable(&line))
            };
            if let Some(line) = line {
                let line = match line.strip_prefix("error:") {
                    Some(rest) if !session.is_json() => {
                        format!("{}:{rest}", terminal::label("error", terminal::RED, color))
                    }
                    _ => line,
                };
                let _ = writeln!(io::stderr(), "{line}");
            }
            failure.exit_code()
        }
    }
}
