//! Finds what is wrong with a hierarchy.

use std::io::{self, Write};
use std::sync::Arc;

use clap::Args;
use zarr::tools::validate::{
    Level, Problem, ProblemKind, Report, ValidateOptions, ValidateProgress,
};
use zarr::{Json, Object, OpenOptions};

use super::{Out, checksum};
use crate::failure::Failure;
use crate::human;
use crate::progress::Progress;
use crate::session::{Session, Target};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr validate data.zarr
  zarr validate data.zarr --level keys
  zarr validate data.zarr --path ocean --expect-complete
  zarr validate s3://bucket/data.zarr --json > report.json",
    after_long_help = crate::details("\
Levels, each with those before: meta reads the documents, keys lists the store, index reads the indices of shards,
data decodes every chunk. Notes are not problems; -q omits them.

With --json, one document is printed: {\"problems\": [{\"path\", \"key\", \"kind\", \"message\", ...}], \"notes\": [...],
\"checked\": {...}}. The repository's docs/validating.md lists the kinds.

Exit codes: 0 no problems; 1 problems were found; 3 no Zarr data; 5 some or all of the data could not be read."))]
pub(crate) struct Validate {
    #[command(flatten)]
    target: Target,
    /// How deep to look: meta, keys, index or data
    #[arg(long, value_name = "LEVEL", default_value = "data")]
    level: Level,
    /// Report missing chunks as problems
    #[arg(long)]
    expect_complete: bool,
    /// Check each chunk that is read against the lines of FILE
    ///
    /// `zarr checksum --manifest --chunks` prints them for the same TARGET
    #[arg(long, value_name = "FILE")]
    manifest: Option<String>,
}

impl Validate {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        if let Some(file) = &self.manifest {
            let manifest = checksum::read_chunks(file)?;
            manifest.check_keys(&session.open_whole(&self.target)?)?;
            session.check_against(Some(Arc::new(manifest)));
        }
        let (url, options) = self.place(session)?;
        let bar = Progress::of_values(session.is_json());
        let show = |progress: &ValidateProgress| {
            bar.total(progress.total);
            bar.done(progress.done);
        };
        let how =
            ValidateOptions::new(self.level).expect_complete(self.expect_complete).progress(&show);
        // Notes follow the problems in the document.
        let mut notes = Vec::new();
        let mut written = Ok(());
        let mut unchecked = 0u64;
        if session.is_json() {
            // Nothing is printed before the target is known to be there.
            let mut begun = false;
            let report = zarr::tools::validate::validate(
                &url,
                &self.target.path,
                &options,
                &how,
                &mut |p| {
                    if p.kind.is_note() {
                        if !session.is_quiet() {
                            notes.push(p.to_json());
                        }
                    } else if written.is_ok() {
                        let before = if begun { ",\n" } else { "{\"problems\": [\n" };
                        begun = true;
                        written = write!(out, "{before}{}", p.to_json());
                    }
                },
            )?;
            written?;
            write!(out, "{}", if begun { "\n]" } else { "{\"problems\": []" })?;
            let rest = Object::new()
                .with("notes", Json::Array(notes))
                .with("level", self.level.name())
                .with("checked", report.to_json());
            let rest = Json::from(rest).to_string();
            writeln!(out, ", {}", rest.trim_start_matches('{'))?;
            return match (report.is_sound(), report.unreadable) {
                (true, _) => Ok(()),
                (false, 0) => Err(Failure::AlreadyReported(1)),
                (false, _) => Err(Failure::AlreadyReported(5)),
            };
        }
        let mut orphans = Orphans::default();
        let report =
            zarr::tools::validate::validate(&url, &self.target.path, &options, &how, &mut |p| {
                unchecked += u64::from(p.kind == ProblemKind::NotChecked);
                if p.kind == ProblemKind::OrphanedChunk && !orphans.is_shown() {
                    return;
                }
                if written.is_ok() && !(session.is_quiet() && p.kind.is_note()) {
                    written = writeln!(out, "{}", line(p));
                }
            })?;
        written?;
        drop(bar);
        orphans.tell_rest(out)?;
        if report.is_sound() {
            let checked = checked(&report, self.level);
            match unchecked {
                0 => writeln!(out, "no problems found: {checked}")?,
                _ => writeln!(out, "no problems found in what could be checked: {checked}")?,
            }
            return Ok(());
        }
        let problems = human::plural(report.problems, "problem");
        let summary = format!("{problems} in {url}; {}", checked(&report, self.level));
        if report.unreadable > 0 {
            return Err(Failure::Unread(format!(
                "{summary}; {} could not be read",
                report.unreadable
            )));
        }
        Err(Failure::No(summary))
    }

    /// The URL and the options of the target.
    fn place(&self, session: &Session) -> Result<(String, OpenOptions), Failure> {
        let options = session.options()?;
        let (url, options) = match zarr::tools::netcdf_url(&self.target.target)? {
            Some(url) => url.hierarchy(&options)?,
            None => (zarr::tools::absolute_url(&self.target.target), options),
        };
        Ok((url, options))
    }
}

/// How many chunks without an array are listed: a lost document leaves all chunks of its array so.
const MAX_ORPHANS_SHOWN: u64 = 3;

/// Counts chunks without an array, of which only the first are listed.
#[derive(Debug, Default)]
pub(super) struct Orphans(u64);

impl Orphans {
    /// Counts one more; whether it is listed.
    pub fn is_shown(&mut self) -> bool {
        self.0 += 1;
        self.0 <= MAX_ORPHANS_SHOWN
    }

    /// Says how many were not listed.
    pub fn tell_rest(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.0.saturating_sub(MAX_ORPHANS_SHOWN) {
            0 => Ok(()),
            rest => writeln!(
                out,
                "{}: {} {} like chunks without an array; --json lists them",
                ProblemKind::OrphanedChunk,
                human::plural(rest, "more key"),
                if rest == 1 { "looks" } else { "look" }
            ),
        }
    }
}

/// A problem as a line: where, what, clause, what to do.
fn line(problem: &Problem) -> String {
    let severity = if problem.kind.is_note() { "note: " } else { "" };
    let key = problem.key.as_ref().filter(|key| !key.is_empty());
    let key = key.map_or(String::new(), |key| format!(", `{key}`"));
    let clause = problem.clause.map_or(String::new(), |clause| format!(" [{clause}]"));
    let (path, kind, message) = (&problem.path, problem.kind, &problem.message);
    let text = format!("{severity}{path}{key}: {kind}: {message}{clause}; {}", problem.remedy());
    // A name may have any character; a problem has one line.
    human::printable(&text)
}

/// What was looked at.
fn checked(report: &Report, level: Level) -> String {
    let mut parts = vec![human::plural(report.nodes, "node"), human::plural(report.keys, "key")];
    if report.chunks > 0 {
        parts.push(human::plural(report.chunks, "chunk"));
    }
    if report.inner_chunks > 0 {
        parts.push(human::plural(report.inner_chunks, "inner chunk"));
    }
    // These are the bytes as they are stored; what they decode to is not counted.
    let read = match report.bytes {
        0 => String::new(),
        bytes => format!(" ({} read)", human::size(bytes)),
    };
    format!("checked {}{read} at level {}", parts.join(", "), level.name())
}
