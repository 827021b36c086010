//! `zarr copy`: copies a node into another hierarchy, whatever their formats.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::Arc;

use clap::Args;
use zarr::nczarr::{CopyTarget, Dataset, Profile};
use zarr::tools::{CodecRule, CopyOptions, LayoutChange, NewPlace, Plan, Verify};
use zarr::{
    AccessError, Array, CancelToken, ErrorKind, Hierarchy, Json, MissingChunks, Node, NodeKind,
    NodePath, Object,
};

#[cfg(feature = "plot")]
use super::cut;
use super::{checksum, netcdf, resize};
use crate::by_name::{self, ShapeRules};
use crate::failure::Failure;
use crate::foreign;
use crate::human;
use crate::interrupt::STOPPED;
use crate::parse::{self, CopyTo};
use crate::progress::Progress;
use crate::region::Elements;
#[cfg(feature = "plot")]
use crate::region::Near;
use crate::session::{self, NoMissing, Session, Target, WriteOptions};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr copy old-v2.zarr new.zarr --to v3
  zarr copy new.zarr for-2020.zarr --to draft-2020 --codec gzip:5
  zarr copy data.zarr small.zarr --path ocean/temperature --chunks 1,180,360 \\
      --codec blosc-zstd:7
  zarr copy slabs.zarr cubes.zarr --chunks 64,64,64 --memory 512MiB
  zarr copy model.zarr series.zarr --chunks time=720,lat=30,lon=30 \\
      --chunks t2m=16MiB --codec pr:zstd:9
  zarr copy extra.zarr data.zarr/extra
  zarr copy model.zarr 'model.zip#mode=nczarr,zip' --to nczarr-v2
  zarr copy big.zarr s3://bucket/big.zarr --verify     after a kill: --resume
  zarr copy big.zarr far.zarr --part 3/8     one of 8 jobs; after all: --finish
  zarr copy data.zarr week.zarr --path temperature --region 0:7,...
  zarr copy data.zarr week.zarr --region temperature=0:7,... --region time=0:7
  zarr copy data.zarr europe.zarr --sel time=2020-02:2020-03,lat=35:70 \\
      --select temperature
  zarr copy data.zarr some.zarr --select temperature,time --exclude 'old/**' \\
      --dry-run",
    after_long_help = crate::details("\
DST is a new hierarchy, or a new node in an existing one. Nothing is overwritten without --overwrite. Where the copy
has the same element type, chunks and codecs, stored bytes are copied as they are and nothing is decoded; --dry-run says for
each array whether that is so. All chunks are written before the first document: a killed copy is never mistaken for a complete one. --resume
continues it; the options of the first run need not be repeated. If the other format cannot represent something, the copy is
refused before anything is written; --skip-unsupported skips those nodes. Arrays whose axes have names keep their missing
values. What cannot be kept is printed, or refused with --strict. A netCDF dataset (--to nczarr-v2, nczarr-v3, zarr-v2 or
zarr-v3) keeps dimensions, types and typed attributes. Arrays whose type or name netCDF does not support are copied unchanged
to plain Zarr."))]
pub(crate) struct Copy {
    /// Path or URL of the hierarchy, or of the node inside, to copy
    #[arg(value_name = "SRC")]
    source: String,
    /// Path or URL of the copy
    #[arg(value_name = "DST")]
    target: String,
    /// Path of the node to copy, relative to the one that SRC names
    #[arg(long, value_name = "PATH", default_value = "/", hide_default_value = true)]
    path: String,
    /// Path of the copy, relative to the node that DST names
    #[arg(long, value_name = "PATH", default_value = "/", hide_default_value = true)]
    at: String,
    /// v3, v2, draft-2020; netCDF: zarr-v3, zarr-v2, nczarr-v3, nczarr-v2 [default: that of SRC]
    ///
    /// Zarr: v3, v2, draft-2020 (as zarr-python 2.18 opens it) or draft-2020-text (without regard for that). A netCDF
    /// dataset: nczarr-v2, nczarr-v3, or plain Zarr, zarr-v2, zarr-v3
    #[arg(long, value_name = "FORMAT", value_parser = parse::copy_to)]
    to: Option<CopyTo>,
    /// New chunks: 100,10,10, or time=100, t2m=100,10,10, t2m:time=100, or a size such as 16MiB
    ///
    /// Lengths apply to all arrays with as many axes; or give them by name: along a dimension (time=100,lat=50), of an array
    /// (t2m=100,10,10), along one dimension of an array (t2m:time=100); or a size (16MiB, t2m=16MiB), in the proportions of
    /// the present chunks. The length -1 is the whole axis. Can be repeated; the most specific applies
    #[arg(long, value_name = "SHAPE", value_parser = by_name::shape_rules, allow_hyphen_values = true)]
    chunks: Vec<ShapeRules>,
    /// Shards, whose chunks share one stored object (v3), as --chunks; or `none`
    ///
    /// `t2m=none` removes the shards of one array
    #[arg(long, value_name = "SHAPE", value_parser = by_name::shard_rules, allow_hyphen_values = true)]
    shards: Vec<ShapeRules>,
    /// New codecs, in order, for all arrays or for one (t2m:zstd:3); `none` for none
    ///
    /// Can be repeated. What is before a colon is an array only if one has that name or path, and a codec follows
    #[arg(long, value_name = "[ARRAY:]NAME[:LEVEL]")]
    codec: Vec<String>,
    /// Decode and encode every chunk again, even where its bytes could be copied
    #[arg(long, hide_short_help = true)]
    recode: bool,
    /// Keep the chunk keys of v2 in a copy to v3; not every reader of v3 supports them
    #[arg(long, hide_short_help = true)]
    keep_keys: bool,
    /// Keep the metadata of OME-Zarr images as they are
    ///
    /// Without this option they are converted between 0.4 (v2) and 0.5 (v3)
    #[arg(long)]
    keep_attributes: bool,
    /// Skip files that are not Zarr's, and list them
    #[arg(long, hide_short_help = true)]
    no_extra_files: bool,
    /// Skip nodes that the copy's format cannot represent, and list them
    ///
    /// Nodes whose document is broken are skipped, too
    #[arg(long)]
    skip_unsupported: bool,
    /// How much memory may be used, as in 256MiB [default: a quarter of the machine's]
    ///
    /// If changing chunks needs more, the rest goes to a temporary file in the folder that TMPDIR names
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    memory: Option<u64>,
    /// Continue the unfinished copy at DST, if there is one
    ///
    /// Options that are not repeated are those of the first run
    #[arg(long)]
    resume: bool,
    /// Read every chunk back, and compare it with SRC
    ///
    /// Chunks that are copied as they are stored are compared byte by byte, others by elements; with `--verify=data` all by
    /// elements, which also finds chunks that cannot be decoded in SRC
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "stored", value_parser = verify)]
    verify: Option<Verify>,
    /// Replace what is at DST; if the copy would be refused, nothing is erased
    #[arg(long, conflicts_with_all = ["resume", "part", "finish"])]
    overwrite: bool,
    /// Copy the chunks of one of N parts, I from 1 to N
    ///
    /// Other processes copy the others, at any time
    #[arg(long, value_name = "I/N", value_parser = part, conflicts_with = "finish")]
    part: Option<(u64, u64)>,
    /// Write the documents after all parts are done
    #[arg(long)]
    finish: bool,
    /// Copy only nodes whose path below SRC matches, and nodes below them
    ///
    /// `*` stands for any part of a name, `**` for any path, `?` for one character
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// Skip nodes whose path below SRC matches, and nodes below them
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Copy only the arrays of these names or paths
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    select: Vec<String>,
    /// Copy a part of one array, axis by axis, as in 0:4,::2,-1 or ...,-1
    ///
    /// All axes stay. For several arrays: NAME=REGION, repeated; NAME is an array name or, taking precedence, a path such as
    /// g/a or /a. Other arrays are copied whole
    #[arg(long, value_name = "[NAME=]REGION", allow_hyphen_values = true)]
    region: Vec<String>,
    /// Copy a part of each array by coordinates, as in time=2023-01:2023-07,lat=40:60
    ///
    /// This cuts all arrays with such a dimension; a point keeps its axis. With --select also the coordinates, bounds, grid
    /// mappings and ancillary variables of the selected arrays are copied
    #[cfg(feature = "plot")]
    #[arg(long, value_name = "COORDINATES", allow_hyphen_values = true, conflicts_with = "region")]
    sel: Option<String>,
    /// As --sel, by positions, as in c=0:2,t=-10:; a dimension must have the same length in all arrays
    #[cfg(feature = "plot")]
    #[arg(long, value_name = "REGION", allow_hyphen_values = true, conflicts_with_all = ["region", "sel"])]
    by_name: Option<String>,
    #[cfg(feature = "plot")]
    #[command(flatten)]
    near: Near,
    /// Check each chunk of SRC that is read against the lines of FILE
    ///
    /// `zarr checksum --manifest --chunks` prints them for SRC
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    manifest: Option<String>,
    /// Only print what would be copied
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    missing_chunks: NoMissing,
    #[command(flatten)]
    care: WriteOptions,
}

impl Copy {
    /// A netCDF dataset is copied as a whole, its elements kept as they are.
    fn check_plain(&self) -> Result<(), Failure> {
        let said = [
            ("--path", self.path != "/"),
            ("--at", self.at != "/"),
            ("--shards", !self.shards.is_empty()),
            ("--include", !self.include.is_empty()),
            ("--exclude", !self.exclude.is_empty()),
            ("--select", !self.select.is_empty()),
            ("--region", !self.region.is_empty()),
            #[cfg(feature = "plot")]
            ("--sel", self.sel.is_some()),
            #[cfg(feature = "plot")]
            ("--by-name", self.by_name.is_some()),
        ];
        match said.into_iter().find(|(_, said)| *said) {
            Some((option, _)) => {
                let why = "cannot be used with netCDF datasets; name the group in SRC, or copy to v2 or v3";
                Err(Failure::usage(format!("{option} {why}")))
            }
            None => Ok(()),
        }
    }

    pub fn run(&self, session: &Session, out: &mut dyn Write) -> Result<(), Failure> {
        let (source, place) = self.open(session)?;
        let under_way = Plan::under_way(&place.hierarchy, &place.path)?;
        if self.finish {
            return self.close(session, &place, under_way);
        }
        if under_way.is_none() && !self.overwrite {
            self.check_absent(&place)?;
            foreign::warn(session, &place, &zarr::tools::absolute_url(&self.target), &[]);
        }
        let has_chunk_like = self.overwrite
            && !self.dry_run
            && !place.begun
            && !foreign::chunk_like_keys(&place.hierarchy, &place.path).is_empty();
        let bar = Progress::of_bytes(0, false);
        let told = |progress: &zarr::tools::Progress| {
            bar.at(progress.bytes_done, progress.bytes_total, progress.path.as_ref());
        };
        let cancel = CancelToken::new();
        let options = self.options(session, &source, cancel.clone(), &told)?;
        let plan = source.plan(&place, &options)?;
        let regions = options.regions.clone();
        if self.dry_run {
            source.warn(session, &plan);
            return tell(session, &plan, out);
        }
        stop_on_signal(cancel);
        let (from, to) = (source.hierarchy(), &place.hierarchy);
        let copied = match self.part {
            None => plan.copy(&from, to, &options),
            Some((part, _)) => copy_part(part, &plan, &from, to, &options),
        };
        drop(bar);
        source.warn(session, &plan);
        let copied = copied.map_err(|e| stopped(e, &place))?;
        if has_chunk_like {
            let kept = foreign::chunk_like_keys(&place.hierarchy, &place.path);
            foreign::tell_kept_by_copy(session, &place.path, &kept);
        }
        session.tell_notes(&copied.notes);
        session.tell_lost(&copied.not_kept);
        session.tell_skipped(&copied.skipped);
        if let Some((part, parts)) = self.part {
            session.talk(&format!("part {part}/{parts} is done"));
            return Ok(());
        }
        if let (Source::Node(source), false) = (&source, self.region.is_empty()) {
            self.tell_other_parts(session, source, &regions)?;
            let copies = regions.keys().map(|path| {
                zarr::tools::path_below(&place.path, &session::from(source.path(), path))
            });
            let copies = copies.collect::<zarr::Result<BTreeSet<NodePath>>>()?;
            for to in &copies {
                let Ok(array) = place.hierarchy.array(to) else { continue };
                // Of an image that is cut in all its levels, none shows another extent.
                let levels = resize::levels_beside(&array);
                if !levels.is_empty() && levels.iter().all(|level| copies.contains(level)) {
                    continue;
                }
                let axes: Vec<usize> = (0..array.rank()).collect();
                let advice =
                    "cut the others, too, with a `--region` for each, or all of them with `--sel`";
                resize::tell_others(session, &array, &array.shape(), &axes, advice);
            }
        }
        let (as_nczarr, as_netcdf) = match plan.new_dataset() {
            Some(new) if new.profile != Profile::Pure => ("NCZarr in ", ""),
            // Easily taken for another name of plain v2 and v3.
            Some(_) if !Dataset::is_nczarr(&from) => {
                ("", ", as a netCDF dataset, in which every dimension has a name")
            }
            _ => ("", ""),
        };
        let files = match copied.files {
            0 => String::new(),
            files => format!(", {} that are not Zarr's", human::plural(files, "file")),
        };
        session.talk(&format!(
            "copied {}, {}{files}, to {} in {as_nczarr}{}{as_netcdf}",
            human::plural(copied.nodes_done, "node"),
            human::size(copied.bytes_done),
            zarr::tools::absolute_url(&self.target),
            place.hierarchy.format_name(),
        ));
        Ok(())
    }

    /// What is copied, and the place of the copy.
    fn open(&self, session: &Session) -> Result<(Source, NewPlace), Failure> {
        let goes_on = self.resume || self.part.is_some() || self.finish;
        let new = match &self.to {
            Some(CopyTo::NetCdf(new)) => Some(new.clone()),
            // What the URL says.
            None if zarr::tools::netcdf_url(&self.target)?.is_some() => {
                Some(netcdf::new_dataset(&self.target, None)?)
            }
            // A copy that was begun as a netCDF dataset.
            None if goes_on => netcdf::under_way(session, &self.target),
            _ => None,
        };
        if let Some(new) = new {
            self.check_plain()?;
            let target = netcdf::copy_target(session, &self.target, &new, &self.care)?;
            let hierarchy = target.hierarchy().clone();
            let place = NewPlace { hierarchy, path: NodePath::root(), begun: true };
            let manifest = match &self.manifest {
                Some(file) => Some(file.clone()),
                None if goes_on => noted_manifest(&place)?,
                None => None,
            };
            let manifest = manifest.as_deref().map(checksum::read_chunks).transpose()?;
            let manifest = manifest.map(Arc::new);
            session.check_against(manifest.clone());
            let source = netcdf::source(session, &self.source, &new)?;
            if let Some(manifest) = manifest {
                manifest.check_keys(&source.hierarchy().node(source.root_path())?)?;
            }
            return Ok((Source::Dataset(source, Box::new(target)), place));
        }
        let to = match &self.to {
            Some(CopyTo::Zarr(written)) => Some(*written),
            _ => None,
        };
        let from = Target::new(&self.source, &self.path);
        let mut source = checked_source(session, &from, self.manifest.as_deref())?;
        let target = Target::new(&self.target, &self.at);
        let place = session.copy_place(&target, to, source.hierarchy().dialect(), &self.care)?;
        if goes_on
            && self.manifest.is_none()
            && let Some(file) = noted_manifest(&place)?
        {
            source = checked_source(session, &from, Some(&file))?;
        }
        Ok((Source::Node(source), place))
    }

    /// Refuses a place that is taken.
    fn check_absent(&self, place: &NewPlace) -> Result<(), Failure> {
        match place.hierarchy.node(&place.path) {
            Ok(_) if !place.begun => {
                let (store, path) = (place.hierarchy.store().name(), &place.path);
                // A copy that was killed after its last step is complete.
                let what = if self.resume || self.part.is_some() {
                    "no copy to it is under way, so it may be complete: compare them with `zarr diff`"
                } else {
                    "choose another DST or --at, or pass --overwrite"
                };
                Err(Failure::Usage(format!("{path} of {store} already exists; {what}")))
            }
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e.into()),
            _ => Ok(()),
        }
    }

    fn options<'a>(
        &self,
        session: &Session,
        source: &Source,
        cancel: CancelToken,
        told: &'a (dyn Fn(&zarr::tools::Progress) + Sync),
    ) -> Result<CopyOptions<'a>, Failure> {
        let (chunks, chunk_rules) = by_name::split(&self.chunks);
        let (shards, shard_rules) = by_name::split(&self.shards);
        let (codecs, codec_rules) = self.codecs(session, source)?;
        let mut options = CopyOptions {
            chunks,
            shards,
            codecs,
            chunk_rules,
            shard_rules,
            codec_rules,
            strict: session.is_strict(),
            skip_unsupported: self.skip_unsupported,
            recode: self.recode,
            keep_keys: self.keep_keys,
            keep_attributes: self.keep_attributes,
            missing: if self.missing_chunks.no_missing {
                MissingChunks::Error
            } else {
                MissingChunks::Fill
            },
            no_extra_files: self.no_extra_files,
            manifest: self.manifest.as_deref().map(zarr::tools::absolute_url),
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            select: self.select.clone(),
            overwrite: self.overwrite,
            resume: self.resume,
            verify: self.verify.unwrap_or_default(),
            memory: self.memory,
            parts: self.part.map(|(_, parts)| parts),
            cancel: Some(cancel),
            progress: Some(told),
            ..CopyOptions::default()
        };
        let Source::Node(source) = source else { return Ok(options) };
        #[cfg(feature = "plot")]
        match (&self.sel, &self.by_name) {
            (Some(text), _) => {
                let by = cut::By::Coordinates(self.near.reach());
                self.cut(session, source, (text, by), &mut options)?;
            }
            (None, Some(text)) => {
                self.cut(session, source, (text, cut::By::Positions), &mut options)?;
            }
            (None, None) => self.tell_coordinates(session, source)?,
        }
        // Whether an array's region was given for its path: that counts, and not the one for its name.
        let mut given = BTreeMap::new();
        for text in &self.region {
            let (arrays, text, of_path) = match text.split_once('=') {
                Some((_, rest)) if rest.contains('=') => {
                    let sel =
                        if cfg!(feature = "plot") { "; `--sel` takes coordinates" } else { "" };
                    return Err(Failure::Usage(format!(
                        "--region {text}: it takes the region of one array, as in `--region temperature=0:7,...`; `--by-name {text}` takes \
                         positions by the names of dimensions{sel}"
                    )));
                }
                Some((name, text)) => {
                    let mut arrays = arrays_called(source, name)?;
                    arrays.retain(|array| self.copies(source, array));
                    if arrays.is_empty() {
                        return Err(Failure::Usage(format!(
                            "--region {name}: other options leave this array out"
                        )));
                    }
                    (arrays, text, name.contains('/'))
                }
                None => (vec![self.only_array(source)?], &text[..], false),
            };
            for array in arrays {
                let path = array.path();
                let before = given.get(path).copied();
                if before == Some(of_path) {
                    let place = human::place(array.hierarchy(), path);
                    let why = "two regions are given for it; give one, or one for its whole path";
                    return Err(Failure::Usage(format!("{place}: --region: {why}")));
                }
                if before.is_none() || of_path {
                    given.insert(path.clone(), of_path);
                    options.regions.insert(path.clone(), steps(&array, text)?);
                }
            }
        }
        Ok(options)
    }

    /// Says where arrays of a group have different parts of the same dimension that are equally long: nothing shows afterwards that they
    /// do not belong together.
    fn tell_other_parts(
        &self,
        session: &Session,
        source: &Node,
        regions: &BTreeMap<NodePath, Vec<zarr::tools::Steps>>,
    ) -> Result<(), Failure> {
        let mut known: BTreeMap<(Option<NodePath>, String), (NodePath, zarr::tools::Steps)> =
            BTreeMap::new();
        for array in arrays(source)?.iter().filter(|array| self.copies(source, array)) {
            let names = array.metadata().dimension_names.clone().unwrap_or_default();
            let cut = regions.get(array.path());
            for (n, (name, len)) in names.into_iter().zip(array.shape()).enumerate() {
                let Some(name) = name else { continue };
                let whole = zarr::tools::Steps { start: 0, step: 1, len };
                let steps = cut.and_then(|cut| cut.get(n).copied()).unwrap_or(whole);
                let key = (array.path().parent(), name.clone());
                let (first, of_first) =
                    known.entry(key).or_insert_with(|| (array.path().clone(), steps));
                if *of_first != steps && of_first.len == steps.len {
                    session.warn_about(
                        array,
                        &[format!(
                            "its copy has other positions of the dimension `{name}` than the copy of {first}: give both the same --region, or cut all \
                             with --sel"
                        )],
                    );
                }
            }
        }
        Ok(())
    }

    /// Whether an array is copied, by the options that choose arrays.
    fn copies(&self, source: &Node, array: &Array) -> bool {
        let patterns = CopyOptions {
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            ..CopyOptions::default()
        };
        zarr::tools::is_included(&patterns, source.path(), array.path())
            && (self.select.is_empty()
                || self.select.iter().any(|name| is_called(source, array.path(), name)))
    }

    /// Says which coordinates and other variables the chosen arrays need that are not copied. With `--sel` they are.
    #[cfg(feature = "plot")]
    fn tell_coordinates(&self, session: &Session, source: &Node) -> Result<(), Failure> {
        if self.select.is_empty() && self.include.is_empty() {
            return Ok(());
        }
        // Each document of a store far away is a request, unless one has all of them.
        let hierarchy = source.hierarchy();
        if !hierarchy.store().capabilities().local && !hierarchy.is_consolidated()? {
            return Ok(());
        }
        let arrays = arrays(source)?;
        let (chosen, others): (Vec<_>, Vec<_>) =
            arrays.iter().partition(|array| self.copies(source, array));
        let chosen: BTreeSet<NodePath> = chosen.iter().map(|array| array.path().clone()).collect();
        let needed = cut::with_coordinates(&arrays, chosen);
        let excluded = |path: &NodePath| {
            let only_excluded =
                CopyOptions { exclude: self.exclude.clone(), ..CopyOptions::default() };
            !zarr::tools::is_included(&only_excluded, source.path(), path)
        };
        let left_out: Vec<String> = others
            .iter()
            .filter(|array| needed.contains(array.path()) && !excluded(array.path()))
            .map(|array| session::from(source.path(), array.path()))
            .collect();
        if !left_out.is_empty() {
            let option = if self.select.is_empty() { "--include " } else { "--select " };
            let options = left_out.iter().map(|name| format!("{option}{}", name.trim_matches('/')));
            session.tell_notes(&[format!(
                "coordinates of what is copied are left out: `{}` copies them, too",
                options.collect::<Vec<_>>().join(" ")
            )]);
        }
        Ok(())
    }

    /// Has the options copy a part of a dataset by coordinates or positions, with all that the selected arrays need.
    #[cfg(feature = "plot")]
    fn cut(
        &self,
        session: &Session,
        source: &Node,
        (text, by): (&str, cut::By),
        options: &mut CopyOptions<'_>,
    ) -> Result<(), Failure> {
        let mut arrays = arrays(source)?;
        arrays.retain(|array| zarr::tools::is_included(options, source.path(), array.path()));
        if !self.select.is_empty() {
            let chosen = arrays
                .iter()
                .filter(|array| {
                    self.select.iter().any(|name| is_called(source, array.path(), name))
                })
                .map(|array| array.path().clone());
            let needed = cut::with_coordinates(&arrays, chosen.collect());
            arrays.retain(|array| needed.contains(array.path()));
            // Names that no array has stay: the plan refuses them.
            if needed.is_empty() {
                return Ok(());
            }
            let needed = needed.iter().map(|path| session::from(source.path(), path));
            options.select.extend(needed);
        }
        let target = Target::new(&self.source, &self.path);
        options.regions = cut::regions(session, (&target, source), &arrays, text, by)?;
        Ok(())
    }

    /// The codecs for all arrays, and those of single ones.
    fn codecs(
        &self,
        session: &Session,
        source: &Source,
    ) -> Result<(Option<Vec<String>>, Vec<CodecRule>), Failure> {
        let base = match source {
            Source::Node(node) => node.clone(),
            Source::Dataset(dataset, _) => dataset.hierarchy().node(dataset.root_path())?,
        };
        // Listing takes time, and most codecs cannot be taken for those of one array.
        let mut nodes = Vec::new();
        if self.codec.iter().any(|text| by_name::may_name_array(text)) {
            nodes = zarr::tools::tree_and_broken(&base)?.nodes;
        }
        nodes.retain(|child| child.kind == Some(NodeKind::Array));
        let codecs = by_name::codecs(&self.codec, &|name: &str| {
            nodes.iter().any(|child| is_called(&base, &child.path, name))
        });
        let (all, rules) = codecs.map_err(Failure::Usage)?;
        let of_arrays = rules.iter().flat_map(|rule| &rule.codecs);
        for codec in all.iter().flatten().chain(of_arrays) {
            by_name::check_codec(codec, session.registry())?;
        }
        Ok((all, rules))
    }

    /// The array of which a region is copied.
    fn only_array(&self, source: &Node) -> Result<Array, Failure> {
        let mut arrays = arrays(source)?;
        if !self.select.is_empty() {
            arrays.retain(|array| {
                self.select.iter().any(|name| is_called(source, array.path(), name))
            });
        }
        match (arrays.pop(), arrays.is_empty()) {
            (Some(array), true) => Ok(array),
            _ => Err(Failure::usage(
                "--region applies to a single array, but SRC is a group; choose one with --path or --select, or name the array: --region NAME=REGION",
            )),
        }
    }

    /// Closes a copy whose parts are done.
    fn close(
        &self,
        session: &Session,
        place: &NewPlace,
        plan: Option<Plan>,
    ) -> Result<(), Failure> {
        let Some(plan) = plan else {
            let (store, path) = (place.hierarchy.store().name(), &place.path);
            let why =
                format!("no copy to {path} of {store} is under way; begin one without --finish");
            return Err(Failure::Usage(why));
        };
        let copied = plan.finish(&place.hierarchy)?;
        session.tell_lost(&copied.not_kept);
        session.talk(&format!("finished {}", human::plural(copied.nodes_done, "node")));
        Ok(())
    }
}

/// The manifest with which the copy under way at a place was begun.
fn noted_manifest(place: &NewPlace) -> Result<Option<String>, Failure> {
    let plan = Plan::under_way(&place.hierarchy, &place.path)?;
    Ok(plan.and_then(|plan| plan.manifest().map(str::to_owned)))
}

/// The source of a copy, whose chunks are checked against a manifest when they are read.
fn checked_source(
    session: &Session,
    source: &Target,
    manifest: Option<&str>,
) -> Result<Node, Failure> {
    let manifest = manifest.map(checksum::read_chunks).transpose()?.map(Arc::new);
    session.check_against(manifest.clone());
    let source = session.open_to_copy(source)?;
    if let Some(manifest) = manifest {
        manifest.check_keys(&source)?;
    }
    // The copy may have other bytes at the same keys.
    session.check_against(None);
    Ok(source)
}

/// Says what would be copied.
pub(super) fn tell(session: &Session, plan: &Plan, out: &mut dyn Write) -> Result<(), Failure> {
    session.tell_notes(plan.notes());
    session.tell_lost(plan.not_kept());
    session.tell_skipped(plan.skipped());
    if session.is_json() {
        let paths = plan.paths();
        let recoded = plan.recoded().map(|(path, why)| (path.to_string(), why.into()));
        let layouts = plan.layout_changes().iter();
        let layouts = layouts.map(|change| (change.path.to_string(), change.to_json()));
        let object = Object::new()
            .with("nodes", plan.nodes())
            .with("chunks", plan.chunks())
            .with("bytes", plan.bytes())
            .with("parts", plan.parts().len() as u64)
            .with("files", plan.files())
            .with("temporary_file", plan.spool())
            .with("arrays", plan.array_count() as u64)
            .with("recoded", recoded.collect::<Object>())
            .with("layouts", layouts.collect::<Object>())
            .with("paths", paths.iter().map(|path| path.as_str().into()).collect::<Json>());
        writeln!(out, "{}", Json::from(object))?;
        return Ok(());
    }
    let recoded: BTreeMap<&NodePath, &str> = plan.recoded().collect();
    for path in plan.paths() {
        match recoded.get(&path) {
            Some(why) => writeln!(out, "{path}  (encoded again: {why})")?,
            None => writeln!(out, "{path}")?,
        }
        for change in plan.layout_changes().iter().filter(|change| change.path == path) {
            write_layout(change, out)?;
        }
    }
    let as_stored = plan.array_count() - recoded.len();
    if plan.array_count() > 0 {
        writeln!(
            out,
            "{} copied as stored, {} encoded again",
            human::plural(as_stored as u64, "array"),
            recoded.len()
        )?;
    }
    writeln!(
        out,
        "{}, {}, {} of elements, in {}",
        human::plural(plan.nodes(), "node"),
        human::plural(plan.chunks(), "chunk"),
        human::size(plan.bytes()),
        human::plural(plan.parts().len() as u64, "part"),
    )?;
    if plan.files() > 0 {
        writeln!(out, "{} that are not Zarr's", human::plural(plan.files(), "file"))?;
    }
    if plan.spool() > 0 {
        writeln!(
            out,
            "a temporary file of at most {} in {}",
            human::size(plan.spool()),
            std::env::temp_dir().display()
        )?;
    }
    Ok(())
}

/// The arrays at a node and below it.
fn arrays(source: &Node) -> Result<Vec<Array>, Failure> {
    let nodes = source.hierarchy().nodes(source.path())?;
    Ok(nodes.into_iter().filter_map(|node| node.into_array().ok()).collect())
}

/// Whether an array has this name, or this path from `source` on; with a slash it is a path.
fn is_called(source: &Node, array: &NodePath, name: &str) -> bool {
    let below = session::from(source.path(), array);
    let (below, path) = (below.trim_matches('/'), name.trim_matches('/'));
    below == path || !name.contains('/') && array.name() == Some(path)
}

/// The arrays of this name or path.
fn arrays_called(source: &Node, name: &str) -> Result<Vec<Array>, Failure> {
    let mut arrays = arrays(source)?;
    arrays.retain(|array| is_called(source, array.path(), name));
    if arrays.is_empty() {
        let place = human::place(source.hierarchy(), source.path());
        return Err(Failure::Usage(format!(
            "{place}: --region: `{name}` names no array; --sel selects by dimension"
        )));
    }
    Ok(arrays)
}

/// The steps of a region.
fn steps(array: &Array, text: &str) -> Result<Vec<zarr::tools::Steps>, Failure> {
    let elements = Elements::of_region(Some(text), &array.shape());
    let elements = elements.map_err(|why| {
        Failure::Usage(format!("{}: {why}", human::place(array.hierarchy(), array.path())))
    })?;
    elements.steps().ok_or_else(|| {
        let why = "a list of coordinates cannot be copied; use start:stop:step";
        Failure::Usage(format!(
            "{}: region `{text}`: {why}",
            human::place(array.hierarchy(), array.path())
        ))
    })
}

/// Says how the chunks of an array change, and how many of them readers need before and after.
fn write_layout(change: &LayoutChange, out: &mut dyn Write) -> io::Result<()> {
    let (before, after) = (&change.before, &change.after);
    let several = "of several lengths";
    let chunks = [shape_or(&before.chunks, several), shape_or(&after.chunks, several)];
    writeln!(out, "    chunks {} → {}", chunks[0], chunks[1])?;
    if before.shards.is_some() || after.shards.is_some() {
        let shards = [shape_or(&before.shards, "none"), shape_or(&after.shards, "none")];
        writeln!(out, "    shards {} → {}", shards[0], shards[1])?;
    }
    let reads = change.patterns().into_iter().filter_map(|axes| {
        let old = before.chunks_along(&change.shape, &axes)?;
        let new = after.chunks_along(&change.shape, &axes)?;
        Some(format!("{} {old} → {new}", change.pattern_name(&axes)))
    });
    let reads: Vec<String> = reads.collect();
    if !reads.is_empty() {
        writeln!(out, "    chunks to read: {}", reads.join(", "))?;
    }
    Ok(())
}

/// The lengths of a shape, or a word where there is none.
fn shape_or(shape: &Option<Vec<u64>>, none: &str) -> String {
    match shape {
        Some(shape) => human::shape(shape),
        None => none.to_owned(),
    }
}

/// What is copied.
enum Source {
    Node(Node),
    /// A netCDF dataset, and what the copy is to be.
    Dataset(Dataset, Box<CopyTarget>),
}

impl Source {
    fn hierarchy(&self) -> Hierarchy {
        match self {
            Source::Node(node) => node.hierarchy().clone(),
            Source::Dataset(dataset, _) => dataset.hierarchy(),
        }
    }

    fn plan(&self, place: &NewPlace, options: &CopyOptions<'_>) -> zarr::Result<Plan> {
        match self {
            Source::Node(node) => {
                zarr::tools::plan_copy(node, &place.hierarchy, &place.path, options)
            }
            Source::Dataset(dataset, target) => zarr::tools::plan_dataset(dataset, target, options),
        }
    }

    /// Says what a tolerant reader overlooked.
    fn warn(&self, session: &Session, plan: &Plan) {
        match self {
            Source::Node(node) => session.warn(node.hierarchy()),
            Source::Dataset(dataset, _) => netcdf::warn(session, dataset, plan),
        }
    }
}

/// Copies the chunks of one part.
fn copy_part(
    part: u64,
    plan: &Plan,
    from: &Hierarchy,
    to: &Hierarchy,
    options: &CopyOptions<'_>,
) -> zarr::Result<zarr::tools::Progress> {
    let plan = plan.begin(to, options)?;
    let done = plan.run(&[part as usize - 1], from, to, options)?;
    to.flush()?;
    Ok(done)
}

/// `3/8`: the third of eight parts.
pub(super) fn part(text: &str) -> Result<(u64, u64), String> {
    let numbers = text.split_once('/').and_then(|(part, parts)| {
        Some((part.trim().parse::<u64>().ok()?, parts.trim().parse::<u64>().ok()?))
    });
    match numbers {
        Some((part, parts)) if (1..=parts).contains(&part) && parts <= MOST_PARTS => {
            Ok((part, parts))
        }
        _ => {
            Err(format!("expected I/N, as in 3/8, with I from 1 to N, and N at most {MOST_PARTS}"))
        }
    }
}

/// What `--verify` compares.
fn verify(text: &str) -> Result<Verify, String> {
    match text {
        "stored" => Ok(Verify::Stored),
        "data" => Ok(Verify::Elements),
        _ => Err("expected `stored` or `data`".into()),
    }
}

/// The most parts of a copy.
const MOST_PARTS: u64 = 100_000;

/// Lets the first signal to end the program stop the copy between two chunks; the second one ends the program.
pub(super) fn stop_on_signal(cancel: CancelToken) {
    // Without a handler a signal ends the program at once, and the copy can be resumed as well.
    let _ = ctrlc::set_handler(move || {
        if cancel.is_cancelled() {
            std::process::exit(STOPPED.into());
        }
        cancel.cancel();
    });
}

/// The failure of a copy; one that was stopped says how it is resumed.
pub(super) fn stopped(error: zarr::Error, place: &NewPlace) -> Failure {
    if error.kind() != ErrorKind::Cancelled {
        return error.into();
    }
    let under_way = match place.hierarchy.node(&place.path) {
        Err(e) if e.hint_id() == Some("resume_copy") => Some(e),
        // In the drafts a group needs no document, and the root is there from the first chunk on.
        _ => {
            let copies =
                zarr::tools::copies_under_way(&place.hierarchy, &place.path).unwrap_or_default();
            copies.into_iter().find(|copy| copy.path == place.path).map(|copy| {
                let (percent, resume) = (copy.percent, copy.resume);
                zarr::Error::from(AccessError::CopyUnderWay { percent, resume })
                    .at_store(place.hierarchy.store().name())
                    .at_path(&copy.path)
            })
        }
    };
    match under_way {
        Some(e) => {
            let _ = writeln!(io::stderr(), "stopped: {e}");
            Failure::AlreadyReported(STOPPED)
        }
        None => error.into(),
    }
}
