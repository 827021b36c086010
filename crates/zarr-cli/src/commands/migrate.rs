//! `zarr migrate`: gives a hierarchy documents of another format, and leaves its chunks alone.

use clap::Args;
use zarr::tools::{
    CopyOptions, MigrateOptions, plan_migration, plan_migration_into, plan_rest_of_removal,
};
use zarr::{CancelToken, Dialect, Json, Object};

use super::{Out, copy};
use crate::failure::Failure;
use crate::human;
use crate::interrupt;
use crate::parse::{self, Written};
use crate::progress::Progress;
use crate::session::{Session, Target, WriteOptions};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr migrate old-v2.zarr --to v3 --dry-run
  zarr migrate old-v2.zarr --to v3 --into moved.zarr     leaves old-v2.zarr as it is
  zarr migrate old-v2.zarr --to v3
  zarr migrate old-v2.zarr --to v3 --finish     erases the documents of v2",
    after_long_help = crate::details("\
The new documents are written next to the old ones, the root's last: programs that support both formats then open the new
one, others still find the old one. --finish erases the old documents, the root's first. If a migration is killed, run the same
command again to continue it. If the chunks of an array would have to be encoded again, or would need other keys, the command
names the array and fails before anything is written; use `zarr copy --to v3` for it.

--into writes the new hierarchy to another place, and leaves TARGET as it is. The chunks are those of TARGET, byte for byte,
under the keys of the new format; if those of an array would have to be encoded again, the command fails. Within a file system,
the operating system copies them, and shares blocks if it can. If the command is killed, run it again to continue."))]
pub(crate) struct Migrate {
    /// Path or URL of the hierarchy
    #[arg(value_name = "TARGET")]
    target: String,
    /// The new format: v3 or v2
    #[arg(long, value_name = "FORMAT", value_parser = parse::migrated)]
    to: Dialect,
    /// Write the new hierarchy to this place, and leave TARGET as it is
    ///
    /// Chunks are copied as they are stored
    #[arg(long, value_name = "PLACE", conflicts_with_all = ["finish", "keep_fill"])]
    into: Option<String>,
    /// Keep fill values, even if readers of the new format take them for missing values
    ///
    /// The arrays concerned are listed
    #[arg(long)]
    keep_fill: bool,
    /// Keep the metadata of OME-Zarr images as they are
    ///
    /// Without this option they are converted between 0.4 (v2) and 0.5 (v3)
    #[arg(long)]
    keep_attributes: bool,
    /// Erase the old documents, once the new ones are there
    #[arg(long, visible_alias = "remove-old")]
    finish: bool,
    /// With --finish: keep new documents that were changed since the migration
    ///
    /// Without this option, a new document that differs from what the old one becomes is an error, which names the difference
    #[arg(long, requires = "finish")]
    keep_changes: bool,
    /// Only print what would be written or erased
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    care: WriteOptions,
}

impl Migrate {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        if let Some(into) = &self.into {
            return self.write_into(into, session, out);
        }
        interrupt::leaves(
            session,
            "the old or the new documents are complete; run the same command again to continue",
        );
        let options = session.writing(&self.care)?;
        let hierarchy = zarr::tools::open_for_migration(&self.target, self.to, &options)?;
        session.written(&hierarchy);
        let options = MigrateOptions {
            keep_fill: self.keep_fill,
            keep_attributes: self.keep_attributes,
            keep_changes: self.keep_changes,
        };
        // A removal of the old documents that was killed has erased the root's first.
        let migration = if self.finish && hierarchy.dialect() == self.to {
            plan_rest_of_removal(&hierarchy)?
        } else {
            plan_migration(&hierarchy, self.to, &options)?
        };
        session.warn(&hierarchy);
        session.tell_notes(migration.notes());
        session.tell_lost(migration.not_kept());
        if session.is_strict() && !migration.not_kept().is_empty() {
            return Err(Failure::No("not everything can be kept; nothing was written".into()));
        }
        let written: Vec<String> = if self.finish {
            migration.old_documents().iter().map(ToString::to_string).collect()
        } else {
            migration.new_documents().map(ToString::to_string).collect()
        };
        if self.dry_run {
            if session.is_json() {
                let name = if self.finish { "erase" } else { "write" };
                let keys: Json = written.iter().map(|key| key.as_str().into()).collect();
                let object = Object::new().with("nodes", migration.nodes()).with(name, keys);
                writeln!(out, "{}", Json::from(object))?;
                return Ok(());
            }
            let verb = if self.finish { "erase" } else { "write" };
            for key in &written {
                writeln!(out, "{verb} {key}")?;
            }
            return Ok(());
        }
        let nodes = human::plural(migration.nodes(), "node");
        if self.finish {
            migration.remove_old()?;
            session.talk(&format!("erased the old documents of {nodes}"));
        } else {
            let written = migration.write()?;
            let (old, new) = (hierarchy.format_name(), self.to.name());
            if written == 0 && self.to == Dialect::V2 {
                // Readers that know both take v3: on the way back nothing has changed for them.
                session.remark(&format!(
                    "wrote nothing: documents in {new} from an earlier migration already exist; `--finish` erases those in {old}"
                ));
                return Ok(());
            }
            session.talk(&format!(
                "wrote documents in {} for {nodes}; those in {old} are still there: `--finish` erases them",
                new,
            ));
        }
        Ok(())
    }

    /// Writes the new hierarchy to another place.
    fn write_into(&self, into: &str, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let source = session.open_to_copy(&Target::new(&self.target, "/"))?;
        if source.hierarchy().dialect() == self.to {
            let name = source.hierarchy().format_name();
            let why = format!("{} is already in {name}; copy it with `zarr copy`", self.target);
            return Err(Failure::Usage(why));
        }
        let written = Some(Written::from(self.to));
        let place = session.copy_place(&Target::new(into, "/"), written, self.to, &self.care)?;
        if !place.begun && place.hierarchy.node(&place.path).is_ok() {
            let (store, path) = (place.hierarchy.store().name(), &place.path);
            return Err(Failure::Usage(format!(
                "{path} of {store} already exists; choose another place"
            )));
        }
        let bar = Progress::of_bytes(0, false);
        let cancel = CancelToken::new();
        let options = CopyOptions {
            strict: session.is_strict(),
            resume: true,
            cancel: Some(cancel.clone()),
            progress: Some(&|progress: &zarr::tools::Progress| {
                bar.at(progress.bytes_done, progress.bytes_total, progress.path.as_ref());
            }),
            ..CopyOptions::default()
        };
        let migrate =
            MigrateOptions { keep_attributes: self.keep_attributes, ..MigrateOptions::default() };
        let plan = plan_migration_into(&source, &place.hierarchy, &place.path, &migrate, &options)?;
        if self.dry_run {
            session.warn(source.hierarchy());
            return copy::tell(session, &plan, out);
        }
        copy::stop_on_signal(cancel);
        let copied = plan.copy(source.hierarchy(), &place.hierarchy, &options);
        drop(bar);
        session.warn(source.hierarchy());
        let copied = copied.map_err(|e| copy::stopped(e, &place))?;
        session.tell_notes(&copied.notes);
        session.tell_lost(&copied.not_kept);
        session.talk(&format!(
            "wrote {} in {} to {}; its chunks are those of {}",
            human::plural(copied.nodes_done, "node"),
            self.to.name(),
            zarr::tools::absolute_url(into),
            zarr::tools::absolute_url(&self.target),
        ));
        Ok(())
    }
}
