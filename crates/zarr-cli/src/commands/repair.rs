//! Repairs what `zarr validate` finds.

use clap::Args;
use zarr::tools::UndoneCopy;
use zarr::tools::repair::{RepairOptions, RepairReport, RepairStep, Restored, StepState};
use zarr::tools::validate::{Level, ProblemKind, ValidateProgress};
use zarr::{Json, Object};

use super::Out;
use super::validate::Orphans;
use crate::failure::Failure;
use crate::human::{self, printable};
use crate::interrupt;
use crate::progress::Progress;
use crate::session::{Session, Target, WriteOptions};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr repair data.zarr     what would be done; nothing is written
  zarr repair data.zarr --apply
  zarr repair data.zarr --path ocean --level keys --apply
  zarr repair data.zarr --skip stray_key --apply
  zarr repair data.zarr --restore --apply     moves everything back from quarantine
  zarr repair data.zarr --undo-copies     lists interrupted copies",
    after_long_help = crate::details("\
Damaged values move to .zarr-quarantine/KEY, with a record in .zarr-quarantine/.records; no byte is destroyed. Moved
chunks read as the fill value. Shards are rewritten from their intact inner chunks. Documents that exist only in consolidated
metadata are written, and documents whose correct content is certain are corrected. Consolidated metadata are written again, and
what killed writers left is removed. Each value is checked again before it is changed, and left alone if another program has
changed it. A bucket cannot erase on that condition: there, stray keys, chunks outside the grid and broken documents without a
copy are moved only with --guard off; use that only if no other program is writing. For details, see docs/validating.md in the
repository.

Exit codes: 0 nothing left to do; 1 steps left to do; 3 no Zarr data; 5 the store failed."))]
pub(crate) struct Repair {
    #[command(flatten)]
    target: Target,
    /// Perform the repair
    #[arg(long)]
    apply: bool,
    /// How deep to look for damage: meta, keys, index or data
    #[arg(long, value_name = "LEVEL", default_value = "data")]
    level: Level,
    /// Kinds of problems to skip, as validate prints them
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', value_parser = kind, conflicts_with = "restore")]
    skip: Vec<ProblemKind>,
    /// Also move chunks and attributes without a node to the quarantine
    ///
    /// Otherwise they are kept in case the node's document returns
    #[arg(long, conflicts_with = "restore")]
    orphans: bool,
    /// Move values back from the quarantine instead, where their keys are free
    #[arg(long, conflicts_with = "level")]
    restore: bool,
    /// Instead, erase what unfinished copies have written, and their journals
    ///
    /// `zarr copy SRC DST --resume` would continue them. No process may still be copying
    #[arg(long, conflicts_with_all = ["level", "restore", "skip", "orphans"])]
    undo_copies: bool,
    #[command(flatten)]
    care: WriteOptions,
}

impl Repair {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let options = if self.apply { session.writing(&self.care)? } else { session.options()? };
        let (url, options) = match zarr::tools::netcdf_url(&self.target.target)? {
            Some(url) => url.hierarchy(&options)?,
            None => (zarr::tools::absolute_url(&self.target.target), options),
        };
        if self.apply {
            let left = "each step was made completely or not at all, and no byte is lost: what was moved is in .zarr-quarantine; \
                        run the same command again for the rest";
            interrupt::leaves(session, left);
        }
        // Characters may be narrower than their documents say.
        let node = zarr::open_with(&url, &options).ok();
        let narrow = node.and_then(|node| zarr::nczarr::narrow_characters(&node, &options));
        let options = narrow.unwrap_or(options);
        let path = &self.target.path;
        if self.undo_copies {
            return self.undo(&url, &options, session, out);
        }
        if self.restore {
            return self.restore(&url, &options, session, out);
        }
        let bar = Progress::of_values(session.is_json());
        let show = |progress: &ValidateProgress| {
            bar.total(progress.total);
            bar.done(progress.done);
        };
        let how = RepairOptions::new()
            .level(self.level)
            .apply(self.apply)
            .orphans(self.orphans)
            .skip(self.skip.iter().copied())
            .progress(&show);
        let mut steps = Vec::new();
        let mut planned = 0;
        let mut written = Ok(());
        let mut orphans = Orphans::default();
        let report = zarr::tools::repair::repair(&url, path, &options, &how, &mut |step| {
            planned += u64::from(step.state == StepState::Planned);
            if !session.is_json()
                && step.problem == ProblemKind::OrphanedChunk
                && step.state == StepState::ByHand
                && !orphans.is_shown()
            {
                return;
            }
            if session.is_json() {
                steps.push(step.to_json());
            } else if written.is_ok() {
                written = writeln!(out, "{}", line(step));
            }
        })?;
        written?;
        drop(bar);
        orphans.tell_rest(out)?;
        if session.is_json() {
            let object = Object::new()
                .with("steps", Json::Array(steps))
                .with("applied", self.apply)
                .with("report", report.to_json());
            writeln!(out, "{}", Json::from(object))?;
            return if report.is_sound() { Ok(()) } else { Err(Failure::AlreadyReported(1)) };
        }
        if report.steps == 0 {
            writeln!(out, "nothing to repair at level {}", self.level.name())?;
        }
        self.end(&report, planned, &url)
    }

    /// Says what is left to do.
    fn end(&self, report: &RepairReport, planned: u64, url: &str) -> Result<(), Failure> {
        let done = report.done + report.overtaken;
        if report.is_sound() {
            return Ok(());
        }
        let mut parts = Vec::new();
        if done > 0 {
            parts.push(format!("{} done", human::plural(done, "step")));
        }
        if report.left > 0 {
            let what = match (self.apply, planned) {
                (true, _) => "not done, see above".to_owned(),
                (false, 0) => "to do by hand".to_owned(),
                (false, planned) if planned == report.left => {
                    "planned; nothing was changed: run again with --apply".to_owned()
                }
                (false, planned) => {
                    format!("to do, of which --apply carries out {planned}")
                }
            };
            parts.push(format!("{} {what}", human::plural(report.left, "step")));
        }
        if report.found_after > 0 {
            let problems = human::plural(report.found_after, "problem");
            parts.push(format!(
                "{problems} that appeared after these steps; check them, then run the repair again"
            ));
        }
        Err(Failure::No(format!("{url}: {}", parts.join("; "))))
    }

    fn undo(
        &self,
        url: &str,
        options: &zarr::OpenOptions,
        session: &Session,
        out: Out<'_>,
    ) -> Result<(), Failure> {
        let mut copies = Vec::new();
        let mut written = Ok(());
        let mut count = 0;
        let left = zarr::tools::undo_copies(
            url,
            &self.target.path,
            options,
            self.apply,
            &mut |copy: &UndoneCopy| {
                count += 1;
                if session.is_json() {
                    let object = Object::new()
                        .with("path", copy.path.as_str())
                        .with("source", copy.source.as_str())
                        .with("documents", copy.documents)
                        .with("chunks", copy.chunks)
                        .with("files", copy.files)
                        .with("is_undone", copy.is_undone)
                        .with("what", copy.what.as_str());
                    copies.push(Json::from(object));
                } else if written.is_ok() {
                    let chunks = human::plural(copy.chunks, "chunk");
                    let documents = human::plural(copy.documents, "document");
                    let files = match copy.files {
                        0 => String::new(),
                        files => format!(" and {}", human::plural(files, "file")),
                    };
                    let line = format!(
                        "{}, a copy of {} with {chunks} and {documents}{files}, {}",
                        copy.path, copy.source, copy.what
                    );
                    written = writeln!(out, "{}", printable(&line));
                }
            },
        )?;
        written?;
        if session.is_json() {
            let object = Object::new()
                .with("copies", Json::Array(copies))
                .with("applied", self.apply)
                .with("left", left);
            writeln!(out, "{}", Json::from(object))?;
            return if left == 0 { Ok(()) } else { Err(Failure::AlreadyReported(1)) };
        }
        if count == 0 {
            writeln!(out, "no copy is under way")?;
        }
        match (left, self.apply) {
            (0, _) => Ok(()),
            (left, true) => Err(Failure::No(format!("{url}: {} left", plural_copies(left)))),
            (left, false) => {
                let copies = plural_copies(left);
                Err(Failure::No(format!(
                    "{url}: {copies} under way; --apply undoes what can be undone"
                )))
            }
        }
    }

    fn restore(
        &self,
        url: &str,
        options: &zarr::OpenOptions,
        session: &Session,
        out: Out<'_>,
    ) -> Result<(), Failure> {
        let mut values = Vec::new();
        let mut written = Ok(());
        let mut count = 0;
        let path = &self.target.path;
        let left = zarr::tools::repair::restore(
            url,
            path,
            options,
            self.apply,
            &mut |value: &Restored| {
                count += 1;
                if session.is_json() {
                    let object = Object::new()
                        .with("key", value.key.as_str())
                        .with("moved_to", value.moved_to.as_str())
                        .with("is_back", value.is_back)
                        .with("what", value.what.as_str());
                    values.push(Json::from(object));
                } else if written.is_ok() {
                    written =
                        writeln!(out, "`{}` {}", printable(&value.key), printable(&value.what));
                }
            },
        )?;
        written?;
        if session.is_json() {
            let object = Object::new()
                .with("values", Json::Array(values))
                .with("applied", self.apply)
                .with("left", left);
            writeln!(out, "{}", Json::from(object))?;
        } else if count == 0 {
            writeln!(out, "the quarantine is empty")?;
        }
        match (left, session.is_json(), self.apply) {
            (0, ..) => Ok(()),
            (_, true, _) => Err(Failure::AlreadyReported(1)),
            (left, false, true) => {
                Err(Failure::No(format!("{url}: {} stayed", human::plural(left, "value"))))
            }
            (left, false, false) => {
                let values = human::plural(left, "value");
                Err(Failure::No(format!(
                    "{url}: {values} in the quarantine; --apply moves them back"
                )))
            }
        }
    }
}

fn plural_copies(count: u64) -> String {
    if count == 1 { "1 copy is".into() } else { format!("{count} copies are") }
}

fn kind(name: &str) -> Result<ProblemKind, String> {
    let known = ProblemKind::ALL.iter().find(|kind| kind.name() == name);
    known.copied().ok_or_else(|| {
        let known = zarr::did_you_mean(name, ProblemKind::ALL.iter().map(|kind| kind.name()));
        let hint = known.map_or(String::new(), |known| format!("; did you mean `{known}`?"));
        format!("unknown kind of problem{hint}")
    })
}

/// A step on two lines: what is wrong, and what is done about it.
fn line(step: &RepairStep) -> String {
    let key = step.key.as_ref().filter(|key| !key.is_empty());
    let key = key.map_or(String::new(), |key| format!(", `{key}`"));
    let wrong = format!("{}{key}: {}: {}", step.path, step.problem, step.message);
    let state = match step.state {
        StepState::Planned => "planned",
        StepState::Done => "done",
        StepState::Overtaken => "not needed",
        StepState::ByHand => "by hand",
        _ => "failed",
    };
    format!("{}\n    {state}: {}", printable(&wrong), printable(&step.what))
}
