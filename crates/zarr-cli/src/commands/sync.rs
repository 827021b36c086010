//! `zarr sync`: makes an existing copy equal to its source by stored bytes.

use std::io::{self, Write};

use clap::Args;
use zarr::tools::{SyncCompare, SyncOptions, SyncPlan, SyncProgress, absolute_url, plan_sync};
use zarr::{CancelToken, ErrorKind, Json, Object};

use super::Out;
use super::copy::stop_on_signal;
use crate::failure::Failure;
use crate::human;
use crate::interrupt::STOPPED;
use crate::progress::Progress;
use crate::session::{Session, Target, WriteOptions};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr sync data.zarr s3://bucket/data.zarr --dry-run
  zarr sync data.zarr s3://bucket/data.zarr
  zarr sync s3://bucket/data.zarr data.zarr --delete
  zarr sync data.zarr backup.zarr --checksum",
    after_long_help = crate::details("\
Chunks, shards, documents and files that are not Zarr's are copied as they are stored, into the same format; nothing is
decoded. An object is copied if its size differs, or if it is not newer in TARGET than in SOURCE, unless ETags or checksums
in both listings are equal. Documents are compared byte for byte, and so are all objects if a store has no modification times.
Chunks that were changed in TARGET afterwards are therefore not detected if their size stayed the same: --checksum reads both
sides and compares all bytes, --size-only compares only sizes.

TARGET need not exist. SOURCE can be on a web server with directory indices. A TARGET that is not a copy of SOURCE is refused.
Documents are written after all chunks. Objects that SOURCE does not have are deleted last, and only with --delete, which prints
the list first. If a sync is killed, run the same command again to continue it. Exit code 1: another program changed SOURCE in the
meantime; the changes are listed."))]
pub(crate) struct Sync {
    /// Path or URL of the hierarchy, or of the node inside, to copy from
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Path or URL of the copy
    #[arg(value_name = "TARGET")]
    target: String,
    /// Compare the bytes of all objects that have the same size
    #[arg(long, conflicts_with = "size_only")]
    checksum: bool,
    /// Treat objects of the same size as equal
    #[arg(long)]
    size_only: bool,
    /// Delete what SOURCE does not have; what is deleted is listed first
    #[arg(long)]
    delete: bool,
    /// Neither copy nor delete files that are not Zarr's, and list them
    #[arg(long)]
    no_extra_files: bool,
    /// Read each copied object back, and compare it with SOURCE
    #[arg(long)]
    verify: bool,
    /// How much memory large objects may take, as in 256MiB
    ///
    /// A store that does not take a value in pieces needs it whole in memory. The default is an eighth of the machine's memory
    #[arg(long, value_name = "SIZE", value_parser = crate::parse::size)]
    memory: Option<u64>,
    /// Only print what would be copied and deleted: counts, bytes, and with --delete the list
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    care: WriteOptions,
}

impl Sync {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        session.show_calls();
        let source = session.open(&Target::new(&self.source, "/"))?;
        let dialect = source.hierarchy().dialect();
        let place =
            session.copy_place(&Target::new(&self.target, "/"), None, dialect, &self.care)?;
        let bar = Progress::of_bytes(0, false);
        let cancel = CancelToken::new();
        let options = SyncOptions {
            compare: match (self.checksum, self.size_only) {
                (true, _) => SyncCompare::Content,
                (false, true) => SyncCompare::Sizes,
                (false, false) => SyncCompare::Times,
            },
            delete: self.delete,
            no_extra_files: self.no_extra_files,
            verify: self.verify,
            memory: self.memory,
            cancel: Some(cancel.clone()),
            progress: Some(&|progress: &SyncProgress| {
                bar.at(progress.bytes_done, progress.bytes_total, None);
            }),
        };
        stop_on_signal(cancel);
        let plan = plan_sync(&source, &place.hierarchy, &place.path, &options).map_err(stopped)?;
        session.hide_calls();
        session.warn(source.hierarchy());
        session.tell_notes(plan.notes());
        session.tell_lost(plan.not_kept());
        if session.is_strict() && !plan.not_kept().is_empty() {
            return Err(Failure::No("not everything can be kept; nothing was written".into()));
        }
        self.tell_left(session, &plan);
        if self.dry_run {
            return self.tell(session, &plan, out);
        }
        if session.is_json() && self.delete {
            self.tell(session, &plan, out)?;
        } else {
            for name in plan.deleted_names() {
                writeln!(out, "delete {}", human::printable(name))?;
            }
            out.flush()?;
        }
        let synced = plan.run(&options);
        drop(bar);
        let synced = synced.map_err(stopped)?;
        let deleted = match synced.deleted {
            0 => String::new(),
            deleted => format!(", {deleted} deleted"),
        };
        session.talk(&format!(
            "copied {}, {}, to {}; {} unchanged{deleted}",
            human::plural(synced.copied, "object"),
            human::size(synced.bytes),
            absolute_url(&self.target),
            human::count(plan.unchanged()),
        ));
        if let Some(first) = synced.changed.first() {
            let more = match synced.changed.len() - 1 {
                0 => String::new(),
                more => format!(" and {}", human::plural(more as u64, "other object")),
            };
            return Err(Failure::No(format!(
                "SOURCE was changed while it was read: `{first}`{more}; run the same command again"
            )));
        }
        Ok(())
    }

    /// Says what only the target has, and keeps.
    fn tell_left(&self, session: &Session, plan: &SyncPlan) {
        let count = plan.left_names().count() as u64;
        if let (false, Some(example)) = (self.delete, plan.left_names().next()) {
            let which = match count {
                1 => format!("`{example}`, which SOURCE lacks"),
                _ => format!("{count} objects that SOURCE lacks, such as `{example}`"),
            };
            session.tell_left(&[format!("{which}; --delete deletes")]);
        }
    }

    /// Says what would be done.
    fn tell(&self, session: &Session, plan: &SyncPlan, out: Out<'_>) -> Result<(), Failure> {
        if session.is_json() {
            let names = plan.deleted_names().map(Into::into).collect::<Json>();
            let object = Object::new()
                .with("copy", plan.objects())
                .with("new", plan.new_objects())
                .with("documents", plan.documents())
                .with("bytes", plan.bytes())
                .with("unknown_sizes", plan.unknown_sizes())
                .with("unchanged", plan.unchanged())
                .with("delete", names)
                .with("delete_bytes", plan.deleted_bytes())
                .with("only_in_target", plan.left_names().count() as u64);
            writeln!(out, "{}", Json::from(object))?;
            return Ok(());
        }
        for name in plan.deleted_names() {
            writeln!(out, "delete {}", human::printable(name))?;
        }
        let unknown = match plan.unknown_sizes() {
            0 => String::new(),
            count => format!(" and {} of unknown size", human::plural(count, "object")),
        };
        writeln!(
            out,
            "{} to copy, {}{unknown}: {} new, {} changed, {} of them",
            human::plural(plan.objects(), "object"),
            human::size(plan.bytes()),
            human::count(plan.new_objects()),
            human::count(plan.objects() - plan.new_objects()),
            human::plural(plan.documents(), "document"),
        )?;
        let deleted = plan.deleted_names().count() as u64;
        if deleted > 0 {
            let bytes = human::size(plan.deleted_bytes());
            writeln!(out, "{} to delete, {bytes}", human::plural(deleted, "object"))?;
        }
        writeln!(out, "{} unchanged", human::plural(plan.unchanged(), "object"))?;
        Ok(())
    }
}

/// The failure of a sync; one that was stopped says how it goes on.
fn stopped(error: zarr::Error) -> Failure {
    if error.kind() != ErrorKind::Cancelled {
        return error.into();
    }
    let _ = writeln!(io::stderr(), "stopped; run the same command again to continue");
    Failure::AlreadyReported(STOPPED)
}
