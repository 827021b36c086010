//! `zarr copy`: copies a node into another hierarchy, whatever their formats.

use clap::Args;
use zarr::{CopyOptions, ErrorKind};

use super::netcdf;
use crate::failure::Failure;
use crate::foreign;
use crate::human;
use crate::parse::{self, CopyTo, Shape};
use crate::progress::Progress;
use crate::session::{self, Care, Session, Target};

/// Copy an array, or a group with everything below it, into a new place, in any format
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zarr copy old-v2.zarr new.zarr --to v3
  zarr copy new.zarr for-2020.zarr --to draft-2020 --codec gzip:5
  zarr copy data.zarr small.zarr --path ocean/temperature --chunks 1,180,360 --codec blosc-zstd:7
  zarr copy slabs.zarr cubes.zarr --chunks 64,64,64 --memory 512MiB
  zarr copy extra.zarr data.zarr/extra
  zarr copy model.zarr 'model.zip#mode=nczarr,zip' --to nczarr-v2

DST is a new hierarchy, or a new node in one that is there. Nothing is overwritten. What the other
format has no words for is refused before the first element is written, or left out with --skip-unsupported. Arrays whose
axes have names keep their missing values; what cannot be kept is told, and refused with --strict. A netCDF dataset (--to nczarr-v2,
nczarr-v3, zarr-v2 or zarr-v3) keeps dimensions, types and typed attributes; what of it cannot be kept is
told, and refused with --strict. Arrays that netCDF has no type or no name for are copied as they are into plain Zarr.")]
pub(crate) struct Copy {
    /// Path or URL of the hierarchy, or of the node inside, to copy
    #[arg(value_name = "SRC")]
    source: String,
    /// Path or URL of the copy
    #[arg(value_name = "DST")]
    target: String,
    /// The node to copy, from the one that SRC means
    #[arg(long, value_name = "PATH", default_value = "/", hide_default_value = true)]
    path: String,
    /// The copy's path, from the node that DST means
    #[arg(long, value_name = "PATH", default_value = "/", hide_default_value = true)]
    at: String,
    /// The copy's format: v3, v2, draft-2020 (as zarr-python 2.18 opens it) or draft-2020-text (without
    /// regard for that); that of SRC, if not given. As a netCDF dataset: nczarr-v2, nczarr-v3, or plain Zarr,
    /// zarr-v2, zarr-v3
    #[arg(long, value_name = "FORMAT", value_parser = parse::copy_to)]
    to: Option<CopyTo>,
    /// Another chunk shape
    #[arg(long, value_name = "N,N,…", value_parser = parse::shape)]
    chunks: Option<Shape>,
    /// Shape of a shard, whose chunks share one stored object (v3)
    #[arg(long, value_name = "N,N,…", value_parser = parse::shape)]
    shards: Option<Shape>,
    /// Other codecs, in order; `none` for none; may be given again
    #[arg(long, value_name = "NAME[:LEVEL]")]
    codec: Vec<String>,
    /// Leave out what the copy's format cannot represent, and name each such node
    #[arg(long)]
    skip_unsupported: bool,
    /// How much memory the program may take, as in 256MiB; a quarter of the machine's, if not given. With less than
    /// other chunks need, a temporary file takes the rest: in the folder that TMPDIR names
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    memory: Option<u64>,
    #[command(flatten)]
    care: Care,
}

impl Copy {
    /// A netCDF dataset is copied as a whole, its elements kept as they are.
    fn check_plain(&self) -> Result<(), Failure> {
        let said = [
            ("--path", self.path != "/"),
            ("--at", self.at != "/"),
            ("--chunks", self.chunks.is_some()),
            ("--shards", self.shards.is_some()),
            ("--codec", !self.codec.is_empty()),
            ("--memory", self.memory.is_some()),
        ];
        match said.into_iter().find(|(_, said)| *said) {
            Some((option, _)) => {
                let why = "is not for netCDF datasets; name the group in SRC, or copy to v2 or v3";
                Err(Failure::usage(format!("{option} {why}")))
            }
            None => Ok(()),
        }
    }

    pub fn run(&self, session: &Session) -> Result<(), Failure> {
        let to = match &self.to {
            Some(CopyTo::NetCdf(new)) => {
                self.check_plain()?;
                let places = (self.source.as_str(), self.target.as_str());
                return netcdf::copy(session, places, new, self.skip_unsupported, &self.care);
            }
            Some(CopyTo::Zarr(written)) => Some(*written),
            None => None,
        };
        let source = Target { target: self.source.clone(), path: self.path.clone() };
        let source = session.open(&source)?;
        let target = Target { target: self.target.clone(), path: self.at.clone() };
        let place = session.place(&target, to, source.hierarchy().dialect(), &self.care)?;
        match place.hierarchy.node(&place.path) {
            Ok(_) if !place.begun => {
                let (store, path) = (place.hierarchy.store().name(), &place.path);
                let why = format!(
                    "{path} of {store} is there already, and nothing is overwritten; choose another DST or --at"
                );
                return Err(Failure::Usage(why));
            }
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e.into()),
            _ => {}
        }
        foreign::warn(session, &place, &session::url(&self.target));
        let bar = Progress::of_bytes(0, false);
        let told = |progress: &zarr::Progress| {
            bar.total(progress.bytes_total);
            bar.done(progress.bytes_done);
            if let Some(path) = &progress.path {
                bar.message(path.to_string());
            }
        };
        let codecs = (!self.codec.is_empty())
            .then(|| self.codec.iter().filter(|name| *name != "none").cloned().collect());
        let options = CopyOptions {
            chunks: self.chunks.as_ref().map(|Shape(chunks)| chunks.clone()),
            shards: self.shards.as_ref().map(|Shape(shards)| shards.clone()),
            codecs,
            strict: session.is_strict(),
            skip_unsupported: self.skip_unsupported,
            only: None,
            memory: self.memory,
            cancel: None,
            progress: Some(&told),
        };
        let copied = zarr::copy(&source, &place.hierarchy, &place.path, &options);
        drop(bar);
        session.warn(source.hierarchy());
        let copied = copied.inspect_err(|_| place.take_back())?;
        session.tell_notes(&copied.notes);
        session.tell_lost(&copied.not_kept);
        session.tell_skipped(&copied.skipped);
        session.talk(&format!(
            "copied {}, {}, to {} in {}",
            human::plural(copied.nodes_done, "node"),
            human::size(copied.bytes_done),
            session::url(&self.target),
            place.hierarchy.format_name(),
        ));
        Ok(())
    }
}
