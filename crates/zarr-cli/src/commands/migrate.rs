//! `zarr migrate`: gives a hierarchy documents of another format, and leaves its chunks alone.

use clap::Args;
use zarr::{Dialect, Json, MigrateOptions, Object, plan_migration};

use super::Out;
use crate::failure::Failure;
use crate::human;
use crate::interrupt;
use crate::parse;
use crate::session::{Care, Session};

/// Give a hierarchy documents of another format (v2 to v3, v3 to v2) without touching its chunks
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zarr migrate old-v2.zarr --to v3 --dry-run
  zarr migrate old-v2.zarr --to v3
  zarr migrate old-v2.zarr --to v3 --finish        erases the documents of v2

The new documents are written beside the old ones, the root's last: programs that know both formats then open the new one,
others still find the old one. --finish erases the old documents, the root's first. A migration that was killed goes on when
the same command is given again. An array whose chunks would have to be encoded again, or would need other keys, is refused
by name before anything is written; `zarr copy --to v3` copies those.")]
pub(crate) struct Migrate {
    /// Path or URL of the hierarchy
    #[arg(value_name = "TARGET")]
    target: String,
    /// The new format: v3 or v2
    #[arg(long, value_name = "FORMAT", value_parser = parse::migrated)]
    to: Dialect,
    /// Keep the fill value of arrays whose missing values could only be kept by writing chunks, and name them
    #[arg(long)]
    keep_fill: bool,
    /// Leave the metadata of OME-Zarr images as they are; else those of 0.4 (v2) become 0.5 (v3), and back
    #[arg(long)]
    keep_attributes: bool,
    /// Erase the old documents, once the new ones are there
    #[arg(long, visible_alias = "remove-old")]
    finish: bool,
    /// Only say what would be written or erased
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    care: Care,
}

impl Migrate {
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        interrupt::leaves(
            session,
            "the old documents or the new ones are complete; the same command goes on",
        );
        let options = session.writing(&self.care)?;
        let hierarchy = zarr::open_for_migration(&self.target, self.to, &options)?;
        session.written(&hierarchy);
        let options =
            MigrateOptions { keep_fill: self.keep_fill, keep_attributes: self.keep_attributes };
        let migration = plan_migration(&hierarchy, self.to, &options)?;
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
            migration.write()?;
            let old = hierarchy.format_name();
            session.talk(&format!(
                "wrote documents in {} for {nodes}; those in {old} are still there: `--finish` erases them",
                self.to.name(),
            ));
        }
        Ok(())
    }
}
