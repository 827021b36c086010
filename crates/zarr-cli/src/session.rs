//! Shares the global options, and how TARGET becomes a node, among all commands.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use clap::{ArgMatches, Args, FromArgMatches, ValueEnum};
use zarr::store::StoreKey;
use zarr::tools::{ChunkManifest, CopyUnderWay, Mention, NewPlace};
use zarr::{
    Consolidated, Dialect, Error, ErrorKind, Hierarchy, Json, MetadataError, MissingChunks, Node,
    NodePath, Object, OpenOptions, Registry, Warning,
};

use crate::calls::Calls;
use crate::failure::Failure;
use crate::headers::{Headers, Secret};
use crate::human::printable;
use crate::parse::{self, ReadAs, Written};
use crate::progress;
use crate::terminal::{self, Color, plain_json};

const COMMON: &str = "Options of every command";

/// The key of the item of a list which names a node: by the name, which stays right when items before it are deleted, where a key can
/// have it.
fn item_that_names(attribute: &str, name: &str) -> String {
    let (item, member) = match attribute.strip_suffix(".path") {
        Some(item) => (item, "path="),
        None => (attribute, ""),
    };
    let is_number = member.is_empty() && name.parse::<usize>().is_ok();
    match item.rsplit_once('.') {
        Some((list, _)) if !name.contains('.') && !is_number => format!("{list}.{member}{name}"),
        _ => item.to_owned(),
    }
}

/// How many attributes are told that name a node which is gone.
const MAX_MENTIONS: usize = 10;

/// What is told of a node without a document.
const ONLY_COPIED: &str =
    "skipped: it exists only in the consolidated metadata; `--consolidated` reads it from there";

/// Options of every command.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Global {
    /// Print output as JSON, and errors and warnings as JSON on standard error
    #[arg(long, global = true, hide_short_help = true, help_heading = COMMON)]
    pub json: bool,
    /// Print each call to the store on standard error
    #[arg(long, global = true, hide_short_help = true, help_heading = COMMON)]
    pub trace: bool,
    /// Refuse data that deviate from the specification, even if their meaning is clear
    #[arg(long, global = true, hide_short_help = true, help_heading = COMMON)]
    pub strict: bool,
    /// Read TARGET as this format, whatever it looks like: v2, v3, draft-2020, draft-2020-text, draft-2019, or one of the drafts E0 to E4
    #[arg(long = "as", global = true, hide_short_help = true, help_heading = COMMON, value_name = "FORMAT", value_parser = parse::read_as)]
    pub read_as: Option<ReadAs>,
    /// Require consolidated metadata, at KEY or at the usual key
    #[arg(long, global = true, hide_short_help = true, help_heading = COMMON, value_name = "KEY", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub consolidated: Option<String>,
    /// Ignore consolidated metadata, and warn about nodes for which they differ
    #[arg(long, global = true, hide_short_help = true, help_heading = COMMON, conflicts_with = "consolidated")]
    pub no_consolidated: bool,
    /// Treat filters that zarr-python hid in a draft's attributes as plain attributes
    #[arg(long, global = true, hide_short_help = true, help_heading = COMMON)]
    pub ignore_hidden_filters: bool,
    /// Number of threads that read, write and compress [default: as many as the machine has]
    #[arg(long, global = true, hide_short_help = true, help_heading = COMMON, value_name = "N", default_value = "0", hide_default_value = true, value_parser = parse::whole::<usize>)]
    pub threads: usize,
    /// Print only errors and what a copy does not keep: no progress, messages or warnings
    #[arg(short, long, global = true, hide_short_help = true, help_heading = COMMON, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print progress even if standard error is not a terminal, and at the end the number of store calls, bytes and seconds
    #[arg(long, global = true, hide_short_help = true, help_heading = COMMON)]
    pub verbose: bool,
    /// Whether standard error and pictures have colours [default: auto, on terminals unless NO_COLOR is set]
    #[arg(long, global = true, hide_short_help = true, help_heading = COMMON, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    pub color: Color,
    /// Maximum size of a document, as in 256MiB [default: 64MiB]
    #[arg(long, global = true, hide_short_help = true, help_heading = COMMON, value_name = "SIZE", value_parser = parse::size)]
    pub max_document: Option<u64>,
    /// Maximum number of bytes of decoded chunks to hold at once, as in 512MiB [default: 2GiB]
    #[arg(long, global = true, hide_short_help = true, help_heading = COMMON, value_name = "SIZE", value_parser = parse::size)]
    pub max_decoded: Option<u64>,
    /// Send this header to the web server of TARGET, as in 'Name: value'; to one of two servers, as in 'https://host=Name: value'
    ///
    /// It is sent only to the scheme, host and port of TARGET, and never printed. Other users of the machine may see the arguments
    /// of a command, so you can also set headers in ZARR_HTTP_HEADERS, one on each line, and a token in ZARR_HTTP_BEARER_TOKEN.
    #[arg(long, global = true, hide_short_help = true, help_heading = COMMON, value_name = "HEADER")]
    pub http_header: Vec<Secret>,
    /// Allow references to data below this folder or URL, as in s3://bucket/data; `any` allows everything
    ///
    /// A reference file may come from anyone. Without this option, only references into its own folder, or to its own server or
    /// bucket, are read. Targets that only `any` allows are read without credentials, and a remote reference file never leads to
    /// local files.
    #[arg(long, global = true, hide_short_help = true, help_heading = COMMON, value_name = "PREFIX")]
    pub allow_target: Vec<String>,
}

/// What a command works on.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Path or URL of a hierarchy, or of a node inside.
    pub target: String,
    /// Path of the node, relative to the one that `target` names.
    pub path: String,
}

// How a `Target` is given.
#[derive(Debug, Args)]
struct TargetArgs {
    /// Path or URL of a hierarchy, or of a node inside
    #[arg(value_name = "TARGET")]
    target: String,
    /// Path of the node, relative to the one that TARGET names
    #[arg(value_name = "PATH", conflicts_with = "path")]
    node: Option<String>,
    /// The same as PATH
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
}

impl Target {
    pub fn new(target: impl Into<String>, path: impl Into<String>) -> Target {
        Target { target: target.into(), path: path.into() }
    }
}

impl Args for Target {
    fn augment_args(command: clap::Command) -> clap::Command {
        TargetArgs::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        TargetArgs::augment_args_for_update(command)
    }
}

impl FromArgMatches for Target {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Target, clap::Error> {
        let TargetArgs { target, node, path } = TargetArgs::from_arg_matches(matches)?;
        let path = node.or(path).unwrap_or_else(|| "/".into());
        Ok(Target { target, path })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Target::from_arg_matches(matches)?;
        Ok(())
    }
}

// What is done about chunks that are not stored.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct NoMissing {
    /// Fail if a chunk, or an inner chunk of a shard, is missing
    ///
    /// Without this option its elements are the fill value. Use it only for arrays whose chunks were all stored: most writers
    /// omit chunks that contain only the fill value
    #[arg(long, hide_short_help = true)]
    pub no_missing: bool,
}

// How writers look out for each other.
#[derive(Clone, Debug, Args)]
pub(crate) struct WriteOptions {
    /// Whether partial writes of chunks are guarded against other writers
    #[arg(
        long,
        hide_short_help = true,
        value_name = "GUARD",
        default_value = "on",
        hide_default_value = true
    )]
    pub guard: Guard,
    /// The same as --guard off, for file systems without locks
    #[arg(long, hide_short_help = true)]
    pub no_lock: bool,
    /// Wait until each write is on disk, so that a power failure loses nothing
    #[arg(long, hide_short_help = true)]
    pub sync: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Guard {
    /// Other programs can write at the same time, and nothing is lost
    On,
    /// No other program is writing
    Off,
}

/// What the program knows while it runs one command.
pub(crate) struct Session {
    registry: Arc<Registry>,
    global: Global,
    /// For the web servers that the command names.
    headers: Headers,
    /// What was opened for writing, to be flushed at the end.
    written: RefCell<Vec<Hierarchy>>,
    /// What stores were asked, for `--verbose`.
    calls: Arc<Calls>,
    /// What reads do about chunks that are not stored.
    missing: Cell<MissingChunks>,
    /// What the chunks that are read are checked against.
    manifest: RefCell<Option<Arc<ChunkManifest>>>,
    /// What was said already: a hierarchy that is opened twice warns twice of the same.
    said: RefCell<HashSet<String>>,
    /// What a person types to run the program.
    pub program: String,
}

impl Session {
    pub fn new(registry: Registry, global: Global, program: String) -> Session {
        progress::set_quiet(global.quiet);
        let (written, calls, missing, manifest, headers, said) = Default::default();
        let registry = Arc::new(registry);
        Session { registry, global, headers, written, calls, missing, manifest, said, program }
    }

    /// Has chunks of what is opened from now on checked against a manifest when they are read; with `None` not any more.
    pub fn check_against(&self, manifest: Option<Arc<ChunkManifest>>) {
        self.manifest.replace(manifest);
    }

    /// Has reads of what is opened from now on fail where a chunk is not stored, if the command was asked for that.
    pub fn refuse_missing(&self, asked: NoMissing) {
        if asked.no_missing {
            self.missing.set(MissingChunks::Error);
        }
    }

    /// Binds the headers that were given to the servers of these paths and URLs.
    pub fn bind_headers(&mut self, places: &[String]) -> Result<(), Failure> {
        self.headers = Headers::bind(&self.global.http_header, places)?;
        Ok(())
    }

    /// Puts what was written where others find it, for stores that gather it until then.
    pub fn flush(&self) -> Result<(), Failure> {
        self.written.take().iter().try_for_each(|hierarchy| Ok(hierarchy.flush()?))
    }

    pub fn written(&self, hierarchy: &Hierarchy) {
        self.written.borrow_mut().push(hierarchy.clone());
    }

    /// The copies that are under way at, above and below a node. They are not looked for where consolidated documents are asked for, which cost one request.
    pub fn copies_under_way(&self, node: &Node) -> Result<Vec<CopyUnderWay>, Failure> {
        if self.global.consolidated.is_some() {
            return Ok(Vec::new());
        }
        Ok(zarr::tools::copies_under_way(node.hierarchy(), node.path())?)
    }

    pub fn options(&self) -> Result<OpenOptions, Failure> {
        let mut options = OpenOptions::new(self.registry.clone()).threads(self.global.threads);
        options = self.headers.set(options);
        if !self.global.allow_target.is_empty() {
            options = options.store_option("allow_target", self.global.allow_target.join("\n"));
        }
        if let Some(read_as) = self.global.read_as {
            (options.dialect, options.era) = (Some(read_as.dialect), read_as.era);
            options.plain_draft = read_as.plain_draft;
        }
        options.options.ignore_hidden_filters = self.global.ignore_hidden_filters;
        options.options.missing = self.missing.get();
        let limits = &mut options.options.limits;
        limits.document = self.global.max_document.unwrap_or(limits.document);
        limits.decoded = self.global.max_decoded.unwrap_or(limits.decoded);
        options.consolidated = match self.global.consolidated.as_deref() {
            None if self.global.no_consolidated => Consolidated::Check,
            None => Consolidated::IfFound,
            Some("") => Consolidated::Use,
            Some(key) => Consolidated::At(StoreKey::new(key).map_err(Error::from)?),
        };
        if self.global.strict {
            options = options.strict();
        }
        let (traces, counts) = (self.global.trace, self.global.verbose || self.calls.is_shown());
        let manifest = self.manifest.borrow().clone();
        if traces || counts || manifest.is_some() {
            let calls = self.calls.clone();
            options = options.wrap(move |store| {
                let store = match &manifest {
                    Some(manifest) => manifest.checked(&store),
                    None => store,
                };
                if !traces && !counts {
                    return store;
                }
                let calls = calls.clone();
                zarr::stores::log(store, move |call| {
                    if traces {
                        // A reader of standard error who went away is no reason to stop.
                        let _ = writeln!(io::stderr(), "trace: {call}");
                    }
                    calls.count(call);
                })
            });
        }
        Ok(options)
    }

    pub fn writing(&self, care: &WriteOptions) -> Result<OpenOptions, Failure> {
        let off = care.no_lock || care.guard == Guard::Off;
        let guard = if off { zarr::Guard::Off } else { zarr::Guard::On };
        let mut options = self.options()?.read_write().guard(guard);
        if care.no_lock {
            let registry = Registry::clone(&self.registry).with(|registry: &mut Registry| {
                registry.scheme_with_options("file", open_without_locks)
            });
            options.registry = Arc::new(registry);
        }
        if care.sync {
            options = options.store_option("sync", "true");
        }
        Ok(options)
    }

    /// The node, for reading.
    pub fn open(&self, target: &Target) -> Result<Node, Failure> {
        self.find(target, &self.options()?)
    }

    /// The node, for reading all that is there: where the store lists, each document is read where it lies, since
    /// consolidated copies of other programs are often out of date.
    pub fn open_whole(&self, target: &Target) -> Result<Node, Failure> {
        let node = self.open(target)?;
        match self.whole(node.hierarchy(), node.path())? {
            Some(options) => self.find(target, &options),
            None => Ok(node),
        }
    }

    /// The options to open a hierarchy again without its consolidated copies, if it was opened with such, not by the
    /// user's wish, and if the documents are there, too. Names the nodes below `path` that only the copies have.
    pub fn whole(
        &self,
        opened: &Hierarchy,
        path: &NodePath,
    ) -> Result<Option<OpenOptions>, Failure> {
        let Some(found) = zarr::tools::without_copies(opened, path, &self.options()?)? else {
            return Ok(None);
        };
        let warnings = found
            .only_copied
            .iter()
            .map(|path| Warning { place: path.to_string(), what: ONLY_COPIED.into() });
        self.warn_of(&warnings.collect::<Vec<_>>());
        Ok(Some(found.options))
    }

    /// As [`Session::open_whole`], of what is copied: nodes that only the consolidated copies have are a loss, which
    /// `--quiet` does not hide, and which `--strict` refuses.
    pub fn open_to_copy(&self, target: &Target) -> Result<Node, Failure> {
        let node = self.open(target)?;
        match self.whole_to_copy(node.hierarchy(), node.path())? {
            Some(options) => self.find(target, &options),
            None => Ok(node),
        }
    }

    /// As [`Session::whole`], of what is copied.
    pub fn whole_to_copy(
        &self,
        opened: &Hierarchy,
        path: &NodePath,
    ) -> Result<Option<OpenOptions>, Failure> {
        let Some(found) = zarr::tools::without_copies(opened, path, &self.options()?)? else {
            return Ok(None);
        };
        let lost = found.only_copied.iter().map(|path| format!("{path}: {ONLY_COPIED}"));
        let lost: Vec<String> = lost.collect();
        if let (true, Some(what)) = (self.is_strict(), lost.first()) {
            let refused = MetadataError::CannotRepresent {
                format: "the copy",
                what: format!("all of it: {what}"),
                hint: "or copy without `--strict` to leave it behind".into(),
            };
            return Err(Error::from(refused).at_store(opened.store().name()).into());
        }
        self.tell_lost(&lost);
        Ok(Some(found.options))
    }

    /// The node, for reading and writing.
    pub fn open_rw(&self, target: &Target, care: &WriteOptions) -> Result<Node, Failure> {
        let node = self.find(target, &self.writing(care)?)?;
        self.written(node.hierarchy());
        Ok(node)
    }

    /// As [`Session::open_rw`]; arrays that grow or shrink keep what is stored outside them.
    #[cfg(feature = "plot")]
    pub fn open_rw_keeping(&self, target: &Target, care: &WriteOptions) -> Result<Node, Failure> {
        let mut options = self.writing(care)?;
        options.options.keep_cut_off = true;
        let node = self.find(target, &options)?;
        self.written(node.hierarchy());
        Ok(node)
    }

    fn find(&self, target: &Target, options: &OpenOptions) -> Result<Node, Failure> {
        Ok(zarr::tools::find_node(&target.target, &target.path, options)?)
    }

    /// The place of a node to be created: in the hierarchy at TARGET or above it; else in a new
    /// one, in `format` or else in `default`.
    pub fn place(
        &self,
        target: &Target,
        format: Option<Written>,
        default: Dialect,
        care: &WriteOptions,
    ) -> Result<NewPlace, Failure> {
        let options = self.new_place_options(format, care)?;
        let dialect = format.map(|format| format.dialect);
        let place =
            zarr::tools::new_place((&target.target, &target.path), dialect, default, &options)?;
        self.written(&place.hierarchy);
        Ok(place)
    }

    /// The place of a copy, as [`Session::place`]; a new hierarchy is not begun. Of a copy under way it is the place
    /// where its journal is, in the format of the copy if none is given.
    pub fn copy_place(
        &self,
        target: &Target,
        format: Option<Written>,
        default: Dialect,
        care: &WriteOptions,
    ) -> Result<NewPlace, Failure> {
        let options = self.new_place_options(format, care)?;
        let dialect = format.map(|format| format.dialect);
        let place =
            zarr::tools::copy_place((&target.target, &target.path), dialect, default, &options)?;
        self.written(&place.hierarchy);
        Ok(place)
    }

    /// The dialect of a new hierarchy where `--format` names none: that of `--as`, which people give for it, or v3.
    pub fn new_dialect(&self) -> Dialect {
        match &self.global.read_as {
            Some(read_as) if read_as.dialect == Dialect::V2 => Dialect::V2,
            _ => Dialect::V3,
        }
    }

    /// Options to open what a new node is created in.
    fn new_place_options(
        &self,
        format: Option<Written>,
        care: &WriteOptions,
    ) -> Result<OpenOptions, Failure> {
        let mut options = self.writing(care)?.any_dialect();
        // Of a copy, only the source is read.
        options.consolidated = Consolidated::IfFound;
        options.plain_draft = format.map_or(options.plain_draft, |format| format.plain_draft);
        Ok(options)
    }

    /// The node, for erasing: as a child of the hierarchy that contains it, where there is one.
    pub fn find_in_parent(
        &self,
        target: &Target,
        care: &WriteOptions,
    ) -> Result<(Hierarchy, NodePath), Failure> {
        let options = self.writing(care)?;
        let url = zarr::tools::absolute_url(&target.target);
        let (hierarchy, path) = match zarr::locate(&url, &options) {
            // Its own document may be what an interrupted erase has erased.
            Err(e) if e.kind() == ErrorKind::NotFound => {
                match outermost(&url, &options)
                    .or_else(|| zarr::tools::hierarchy_above(&url, &options))
                {
                    Some(above) => above,
                    None => interrupted(&url, &options).ok_or(e)?,
                }
            }
            other => other?,
        };
        let path = zarr::tools::path_below(&path, &target.path)?;
        if path.is_root()
            && let Some((above, path)) = outermost(&url, &options)
            && above.dialect() == hierarchy.dialect()
            && above.node(&path).is_ok()
        {
            self.written(&above);
            return Ok((above, path));
        }
        self.written(&hierarchy);
        Ok((hierarchy, path))
    }

    /// The same array in the hierarchy that TARGET is inside of: there the variables with its coordinates are.
    pub fn in_its_hierarchy(
        &self,
        target: &Target,
        array: &zarr::Array,
        options: &OpenOptions,
    ) -> Result<zarr::Array, Failure> {
        let url = zarr::tools::absolute_url(&target.target);
        if !array.path().is_root() && zarr::tools::split_at_store(&url).1.is_empty() {
            return Ok(array.clone());
        }
        let found = outermost(&url, options).and_then(|(hierarchy, base)| {
            let path = zarr::tools::path_below(&base, array.path().as_str()).ok()?;
            hierarchy.array(&path).ok()
        });
        Ok(found.filter(|found| found.shape() == array.shape()).unwrap_or_else(|| array.clone()))
    }

    /// Says on standard error what a tolerant reader overlooked.
    pub fn warn(&self, hierarchy: &Hierarchy) {
        self.warn_of(&hierarchy.warnings());
    }

    /// Warns of nodes that are there and that the consolidated metadata do not name, in stores where looking costs little.
    pub fn warn_of_unnamed(&self, node: &Node) {
        let is_local = node.hierarchy().store().capabilities().local;
        if is_local && matches!(node.hierarchy().is_consolidated(), Ok(true)) {
            self.warn_of(&zarr::tools::hidden_nodes(node).unwrap_or_default());
        }
    }

    pub fn warn_of(&self, warnings: &[Warning]) {
        if self.global.quiet {
            return;
        }
        for warning in warnings {
            if !self.said.borrow_mut().insert(warning.to_string()) {
                continue;
            }
            if self.global.json {
                let line = Object::new()
                    .with("place", warning.place.as_str())
                    .with("message", warning.what.as_str());
                let line = Json::from(Object::new().with("warning", line)).to_string();
                self.say(&plain_json(&line));
            } else {
                let label = terminal::label("warning", terminal::YELLOW, self.global.color);
                self.say(&format!("{label}: {warning}"));
            }
        }
    }

    /// Writes a line to standard error. A reader that closed it does not need it.
    fn say(&self, line: &str) {
        let _ = self.calls.apart(|| writeln!(io::stderr(), "{line}"));
    }

    /// Says on standard error what of an array's attributes is not applied.
    pub fn warn_about(&self, array: &zarr::Array, warnings: &[String]) {
        let place = crate::human::place(array.hierarchy(), array.path());
        let warnings =
            warnings.iter().map(|what| Warning { place: place.clone(), what: what.clone() });
        self.warn_of(&warnings.collect::<Vec<_>>());
    }

    /// Warns of attributes of other nodes that name a node which is no longer where it was, but at `new`, if it is anywhere.
    pub fn warn_of_mentions(
        &self,
        hierarchy: &Hierarchy,
        mentions: &[Mention],
        (old, new): (&NodePath, Option<&NodePath>),
    ) {
        let mut warnings: Vec<Warning> = Vec::new();
        let mut told: Vec<&Mention> = mentions.iter().take(MAX_MENTIONS).collect();
        if new.is_none() {
            // An item is taken out of a list before those that come before it, whose places do not change by that.
            told.reverse();
        }
        for Mention { by, attribute, is_path, name } in told {
            let store = hierarchy.store().name();
            let node = if by.is_root() { "" } else { by.as_str() };
            let place = format!("{}{node}", store.strip_prefix("file://").unwrap_or(&store));
            let attrs = format!("zarr attrs {}", crate::human::shell_word(&place));
            // The way from the group to where the node is now.
            let to = new.and_then(|new| {
                let named = by.join(name).ok()?;
                let now = format!("{new}{}", named.as_str().strip_prefix(old.as_str())?);
                let prefix = format!("{node}/");
                Some(now.strip_prefix(&prefix)?.to_owned())
            });
            let advice = match to {
                Some(to) if *is_path => {
                    let set = crate::human::shell_word(&format!("{attribute}={to}"));
                    format!("`{attrs} --set {set}` corrects it")
                }
                _ if *is_path => {
                    let item = crate::human::shell_word(&item_that_names(attribute, name));
                    format!("`{attrs} --delete {item}` takes it out")
                }
                _ => format!("correct it with `{attrs} --set {attribute}=...`"),
            };
            warnings.push(Warning {
                place: crate::human::place(hierarchy, by),
                what: format!(
                    "`{attribute}` still names `{name}`, which is no longer there; {advice}"
                ),
            });
        }
        if mentions.len() > MAX_MENTIONS {
            let more = mentions.len() - MAX_MENTIONS;
            let what = format!(
                "{more} more attributes name what is gone from there; `zarr validate` lists them"
            );
            warnings.push(Warning { place: hierarchy.store().name(), what });
        }
        self.warn_of(&warnings);
    }

    /// Says on standard error what failed, where others are still done.
    pub fn tell(&self, failure: &Failure) {
        let line = if self.global.json {
            failure.json().map(|json| json.to_string())
        } else {
            failure.line()
        };
        if let Some(line) = line {
            self.say(&printable(&line));
        }
    }

    /// Says what a tolerant reader overlooked, and what failed where others were done. A broken document among the warnings has its error
    /// among the failures.
    pub fn end(
        &self,
        mut warnings: Vec<Warning>,
        failures: impl Iterator<Item = Failure>,
    ) -> Result<(), Failure> {
        warnings.retain(|warning| !is_left_out(warning));
        self.warn_of(&warnings);
        self.tell_each(failures)
    }

    /// As [`Session::tell`], of several; the exit code is that of the first.
    pub fn tell_each(&self, failures: impl Iterator<Item = Failure>) -> Result<(), Failure> {
        let mut code = None;
        for failure in failures {
            self.tell(&failure);
            code.get_or_insert(failure.exit_code());
        }
        code.map_or(Ok(()), |code| Err(Failure::AlreadyReported(code)))
    }

    /// Says on standard error what a copy leaves behind.
    pub fn tell_lost(&self, lost: &[String]) {
        self.print_lines(("not kept", "not_kept"), lost);
    }

    /// Says on standard error what a sync does not delete.
    pub fn tell_left(&self, left: &[String]) {
        self.print_lines(("not deleted", "not_deleted"), left);
    }

    /// Says on standard error what a copy says otherwise than its source.
    pub fn tell_notes(&self, notes: &[String]) {
        if !self.global.quiet {
            self.print_lines(("warning", "note"), notes);
        }
    }

    /// Says on standard error which nodes a copy leaves out.
    pub fn tell_skipped(&self, skipped: &[String]) {
        self.print_lines(("skipped", "skipped"), skipped);
    }

    /// Prints lines to standard error, with a label before each, or as JSON with one member.
    fn print_lines(&self, (label, member): (&str, &str), lines: &[String]) {
        for what in lines {
            if self.global.json {
                self.say(&Json::from(Object::new().with(member, what.as_str())).to_string());
            } else {
                self.say(&format!("{label}: {}", printable(what)));
            }
        }
    }

    /// Whether only what is exact is wanted.
    pub fn is_strict(&self) -> bool {
        self.global.strict
    }

    /// How many threads compute; 0 for as many as the machine has.
    pub fn threads(&self) -> usize {
        self.global.threads
    }

    /// When colours are used.
    #[cfg(feature = "plot")]
    pub fn color(&self) -> terminal::Color {
        self.global.color
    }

    /// Whether only errors are printed, and what a copy does not keep.
    pub fn is_quiet(&self) -> bool {
        self.global.quiet
    }

    /// Whether what is printed is JSON.
    pub fn is_json(&self) -> bool {
        self.global.json
    }

    /// What is known of codecs, stores and data types.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Shows on a terminal how often the stores that are opened from now on are asked, for work whose end is not known.
    pub fn show_calls(&self) {
        if !self.global.json && !self.global.trace {
            self.calls.show();
        }
    }

    /// Takes that away again.
    pub fn hide_calls(&self) {
        self.calls.hide();
    }

    /// Takes that away again, and prints what stores were asked, with `--verbose`.
    pub fn tell_calls(&self) {
        self.calls.hide();
        if self.global.verbose {
            self.talk(&self.calls.summary());
        }
    }

    /// Says on standard error what changes the meaning of the output, so in a pipe, too.
    pub fn remark(&self, what: &str) {
        if !self.global.quiet && !self.global.json {
            self.say(&printable(what));
        }
    }

    /// Says something on standard error, if a person reads it.
    pub fn talk(&self, what: &str) {
        let is_read = self.global.verbose || io::stderr().is_terminal() && !self.global.quiet;
        if is_read && !self.global.json {
            self.say(&printable(what));
        }
    }
}

/// The whole hierarchy that a URL is inside of, and the path of the URL in it: each group of v2 and v3 can be opened as a hierarchy, too, but
/// the coordinates of its arrays may be in a group above.
fn outermost(url: &str, options: &OpenOptions) -> Option<(Hierarchy, NodePath)> {
    let (store, inside) = zarr::tools::split_at_store(url);
    if !inside.is_empty()
        && let Ok((hierarchy, base)) = zarr::locate(store, options)
        && let Ok(path) = zarr::tools::path_below(&base, inside)
        && hierarchy.node(&path).is_ok()
    {
        return Some((hierarchy, path));
    }
    zarr::tools::hierarchy_above(url, options)
}

/// What an interrupted erase left of a whole hierarchy, as one of v3: erasing needs only names.
fn interrupted(url: &str, options: &OpenOptions) -> Option<(Hierarchy, NodePath)> {
    let store = options.store(url).ok()?;
    let hierarchy = Hierarchy::of_format(store, zarr::format::of_dialect(Dialect::V3), options);
    let left = hierarchy.interrupted_keys(NodePath::root()).ok()?;
    (!left.is_empty()).then_some((hierarchy, NodePath::root()))
}

/// Copies under way as members of JSON.
pub(crate) fn copies(copies: &[CopyUnderWay]) -> Json {
    copies
        .iter()
        .map(|copy| {
            let object = Object::new().with("path", copy.path.as_str());
            Json::from(
                object
                    .with("percent", u64::from(copy.percent))
                    .with("resume", copy.resume.as_str()),
            )
        })
        .collect()
}

/// The path of `node` as --path takes it, from `base`.
pub(crate) fn from(base: &NodePath, node: &NodePath) -> String {
    let rest = node.as_str().strip_prefix(base.as_str()).unwrap_or(node.as_str());
    format!("/{}", rest.trim_start_matches('/'))
}

/// A folder, on a file system that does not lock.
fn open_without_locks(
    url: &str,
    access: zarr::Access,
    options: &[(String, String)],
) -> Result<Arc<dyn zarr::store::Store>, zarr::StoreError> {
    let without = [("locking".to_owned(), "false".to_owned())];
    zarr::stores::open_file(url, access, &[options, &without].concat())
}

/// Whether a warning tells of a node that a listing left out since its document is broken.
pub(crate) fn is_left_out(warning: &Warning) -> bool {
    warning.what.starts_with("its document is broken")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_as_path_takes_them() {
        let path = |text: &str| NodePath::new(text).unwrap();
        let node = path("/a/b");
        assert_eq!(from(&node, &path("/a/b")), "/");
        assert_eq!(from(&node, &path("/a/b/c")), "/c");
        assert_eq!(from(&NodePath::root(), &path("/a")), "/a");
    }
}
