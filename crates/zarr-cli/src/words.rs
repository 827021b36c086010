//! What to type for words that are no commands or options here, but in other programs, or in everyday speech.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

/// Words, and the command that does what they say.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["rechunk", "reshard"], "zarr copy SOURCE TARGET --chunks time=100,lat=50"),
    (&["compress", "recompress", "transcode"], "zarr copy SOURCE TARGET --codec zstd:3"),
    (
        &["crop", "cut", "subset", "slice", "select", "extract", "sel"],
        "zarr copy SOURCE TARGET --sel time=2023-01:2023-07,lat=40:60",
    ),
    (&["upgrade"], "zarr migrate TARGET --to v3"),
    (&["clone", "download", "upload", "unzip", "unpack"], "zarr copy SOURCE TARGET"),
    (&["zip", "pack", "archive"], "zarr copy data.zarr data.zip"),
    (&["mirror", "rsync", "backup", "update"], "zarr sync SOURCE TARGET"),
    (&["check", "verify", "lint", "fsck", "test"], "zarr validate TARGET"),
    (&["fix", "recover", "heal"], "zarr repair TARGET"),
    (&["compare", "cmp"], "zarr diff A B"),
    (&["hash", "sum", "md5", "md5sum", "digest"], "zarr checksum TARGET"),
    (&["view", "open", "browse", "server", "web", "publish"], "zarr serve TARGET"),
    (&["draw", "image", "picture", "display", "render"], "zarr plot TARGET"),
    (&["describe", "show", "meta", "metadata", "du", "size", "stat"], "zarr info TARGET"),
    (&["summary", "min", "max", "mean", "histogram", "statistics"], "zarr stats TARGET"),
    (&["tail"], "zarr get TARGET --region -10:,..."),
    (&["read", "print", "export"], "zarr get TARGET --region 0:10"),
    (&["write", "import"], "zarr put TARGET --format npy < values.npy"),
    (&["set", "attr", "attribute", "attributes", "setattr"], "zarr attrs TARGET --set units=K"),
    (
        &["new", "init", "mkdir", "make"],
        "zarr create data.zarr/temperature --shape 100,200 --dtype float32",
    ),
    (&["mkgroup", "group", "create-group"], "zarr create data.zarr/ocean --group"),
    (&["delete", "remove", "del", "erase"], "zarr rm TARGET --path PATH"),
    (&["move"], "zarr rename TARGET NEW"),
    (
        &["extend", "concat", "concatenate", "merge", "join", "grow"],
        "zarr append TARGET SOURCE --axis time",
    ),
    (&["reshape", "truncate", "shrink"], "zarr resize TARGET --shape 100,200"),
    (&["downsample", "coarsen", "multiscale", "multiscales", "overviews"], "zarr pyramid TARGET"),
    (&["find", "search", "nodes", "dir"], "zarr tree TARGET"),
    (&["ncdump", "cdl"], "zarr dump TARGET"),
    (&["ncgen"], "zarr gen TARGET < text.cdl"),
    (&["version"], "zarr --version"),
];

/// Options of other programs, the commands that are meant, or all, and what does here what they say.
const OPTIONS: &[(&[&str], &[&str], &str)] = &[
    (
        &["--bbox", "--extent", "--projwin", "--where", "--point", "--coords"],
        &["get", "stats", "plot", "copy"],
        "--sel lon=0:10,lat=40:50",
    ),
    (
        &["--time", "--date", "--lat", "--lon", "--latitude", "--longitude", "--depth", "--band"],
        &["get", "stats", "plot", "copy"],
        "--sel time=2023-01,lat=50",
    ),
    (&["--slice", "--index", "--isel"], &["get", "stats", "plot"], "--by-name c=1,z=0"),
    (
        &["--start", "--stop", "--offset", "--count", "--limit", "-r"],
        &["get", "stats", "plot"],
        "--region 0:10,:",
    ),
    (&["--listen", "--address", "--interface"], &["serve"], "--bind 0.0.0.0 --port 8080"),
    (&["-p"], &["serve"], "--port 8080"),
    (&["-t", "--v2", "--v3"], &["copy", "migrate"], "--to v3"),
    (&["--vmin", "--vmax", "--clim", "--min", "--max"], &["plot"], "--range 240,310"),
    (&["--dim", "--dimension", "--append-dim", "--along"], &["append", "stats"], "--axis time"),
    (&["--over"], &["stats"], "--axis time"),
    (
        &["--zarr-version", "--zarr-format", "--format", "--dialect"],
        &["copy", "migrate"],
        "--to v3",
    ),
    (&["--zarr-version", "--zarr-format", "--to", "--dialect"], &["create"], "--format v2"),
    (&["--overwrite", "--force"], &["pyramid"], "--restart"),
    (
        &["--array", "--arrays", "--variable", "--variables", "--var", "--vars"],
        &["copy"],
        "--select NAME",
    ),
    (
        &["--array", "--variable", "--var", "--node", "--group"],
        &["info", "get", "stats", "plot", "put", "append", "pyramid", "attrs"],
        "--path NAME",
    ),
    (
        &["--compressor", "--compression", "--compress", "--clevel", "--complevel"],
        &["create", "copy"],
        "--codec zstd:3",
    ),
    (&["--level"], &["create"], "--codec zstd:3"),
    (&["--data-type", "--type"], &["create"], "--dtype float32"),
    (&["--add", "--update", "--write"], &["attrs"], "--set units=K"),
    (&["--dim", "--dimension", "--concat-dim", "--along"], &["refs"], "--axis time"),
    (&["--scale", "--scales", "--downsample"], &["pyramid"], "--factor y=2,x=2"),
    (&["--vars", "--var", "--variable"], &["dump"], "--variables air,time"),
    (&["--axis", "--dim", "--length"], &["resize"], "--shape 100,200"),
    (&["--deep", "--full", "--data"], &["validate"], "--level data"),
    (&["--quick", "--fast", "--shallow", "--metadata-only"], &["validate"], "--level meta"),
    (&["--colormap", "--colourmap", "--palette", "--color-map"], &["plot"], "--cmap viridis"),
    (&["--csv"], &["get"], "--format csv"),
    (&["--npy", "--numpy"], &["get"], "--output values.npy"),
    (&["--name"], &["create"], "--path NAME"),
    (&["--attribute", "--attrs", "--set"], &["create"], "--attr units=K"),
    (
        &["--chunk", "--chunk-size", "--chunksize", "--chunk-shape"],
        &["create", "copy"],
        "--chunks 100,100",
    ),
    (&["--shard", "--shard-size", "--shard-shape"], &["create", "copy"], "--shards 1000,1000"),
    (&["--dimensions", "--dimension-names", "--axes"], &["create"], "--dims time,lat,lon"),
    (&["--fill-value", "--nodata"], &["create"], "--fill NaN"),
    (&["--atol", "--abs-tol", "--absolute"], &["diff"], "--tolerance 1e-6"),
    (&["--output-format", "--out-format", "-f"], &["copy"], "--to v3"),
    (&["-v"], &["copy"], "--select NAME"),
    (&["--deflate", "--gzip", "--zstd", "-d"], &["copy"], "--codec zlib:4"),
    (&["--fix", "--write", "--yes"], &["repair"], "--apply"),
    (&["--rm", "--del"], &["attrs"], "--delete KEY"),
    (
        &["--workers", "--jobs", "-j", "--num-workers"],
        &["copy", "sync", "stats", "pyramid", "validate"],
        "--threads 8",
    ),
];

/// Options whose values are written as those of the options that other programs have in their place.
const SAME_VALUES: &[&str] = &[
    "--axis",
    "--chunks",
    "--cmap",
    "--dims",
    "--dtype",
    "--fill",
    "--path",
    "--select",
    "--shards",
    "--threads",
    "--to",
    "--tolerance",
    "--variables",
];

/// Options of every command that the table above names.
const COMMON_OPTIONS: &[&str] = &["threads"];

/// Options for a file of elements, which `zarr put` and `zarr append` read from standard input.
const INPUT: &[&str] = &["--input", "-i", "--file", "--from", "--data"];

/// Options of `zarr repair` for what `zarr sync` does.
const REPAIR_FROM: &[&str] = &["--from", "--source", "--backup"];

/// What is grouped by in other programs, and is no axis: parts of dates.
const PARTS_OF_DATES: &[&str] = &["month", "season", "year", "day", "hour", "dayofyear"];

/// What was typed with an option that a command does not have.
struct Typed<'a> {
    command: &'a str,
    option: &'a str,
    /// The option's value, if there is one that can be repeated in a shell as it is.
    value: Option<&'a str>,
    /// The first place, or what help calls it.
    target: &'a str,
    /// What follows it, if it can be repeated as it is.
    second: Option<&'a str>,
}

impl<'a> Typed<'a> {
    /// Finds the option and what belongs to it in a command line.
    fn new(command: &'a str, option: &'a str, args: &'a [OsString]) -> Typed<'a> {
        let words: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
        let at = words.iter().position(|word| {
            word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        });
        let joined = at.and_then(|at| words[at].split_once('=')).map(|(_, value)| value);
        let next = at.map(|at| at + 1).filter(|_| joined.is_none());
        let behind = next.and_then(|next| words.get(next).copied());
        let value = joined.or(behind.filter(|word| !word.starts_with('-')));
        let name_at = words.iter().position(|word| !word.starts_with('-')).unwrap_or(0);
        let target = words.iter().enumerate().skip(name_at + 1).find(|(n, word)| {
            !word.starts_with('-') && (Some(*n) != next || words.len() == *n + 1)
        });
        let is_repeatable = |text: &&str| is_plain(text);
        let behind_target = target.and_then(|(n, _)| words.get(n + 1).copied());
        let second = behind_target.filter(is_repeatable).filter(|word| !word.starts_with('-'));
        let target = target.map(|(_, word)| *word).filter(is_repeatable).unwrap_or("TARGET");
        let is_value = |value: &&str| is_plain(value) && *value != target;
        Typed { command, option, value: value.filter(is_value), target, second }
    }

    /// An example of an option, with the value that was typed where that means the same.
    fn in_place_of(&self, example: &str) -> String {
        let name = example.split(' ').next().unwrap_or(example);
        match self.value {
            Some(version @ ("2" | "3")) if name == "--to" => format!("--to v{version}"),
            Some(value) if SAME_VALUES.contains(&name) => format!("{name} {value}"),
            _ => example.to_owned(),
        }
    }

    fn value_or(&self, example: &'a str) -> &'a str {
        self.value.unwrap_or(example)
    }

    /// What to write, in the words that were typed.
    fn answer(&self, has_sel: bool) -> Option<String> {
        let Typed { command, option, target, .. } = *self;
        Some(match (command, option) {
            ("plot", "--channel") => meant(&format!("--channels {}", self.value_or("DAPI,2"))),
            (
                "get" | "stats" | "put" | "plot",
                "--channel" | "--channels" | "--c" | "--z" | "--t",
            ) => {
                let axis = if option.starts_with("--c") { "c" } else { &option[2..] };
                let is_label = self.value_or("GFP").parse::<i64>().is_err() && axis == "c";
                match (is_label && has_sel, self.value) {
                    (true, _) => meant(&format!("--sel c={}", self.value_or("GFP"))),
                    (false, value) => meant(&format!("--by-name {axis}={}", value.unwrap_or("0"))),
                }
            }
            ("get" | "stats" | "plot" | "info" | "head", "--level" | "--resolution") => {
                let level = self.value_or("1");
                format!(
                    "a level has a path of its own; did you mean `zarr {command} {target}/{level}`?"
                )
            }
            ("copy", "--level" | "--levels" | "--resolution") => format!(
                "a level of an image has a path of its own: `zarr copy {target}/{} {}`; a level of compression is part of `--codec zstd:3`",
                self.value.filter(|level| level.parse::<u8>().is_ok()).unwrap_or("1"),
                self.second.unwrap_or("DST")
            ),
            ("validate", "--version" | "--ome-version" | "--spec") => {
                format!("the metadata say which version they follow: `zarr validate {target}`")
            }
            ("get" | "put", "--decode" | "--unpack" | "--scale" | "--mask-and-scale") => {
                if command == "get" {
                    meant("--cf")
                } else {
                    "`zarr put` writes elements as they are stored: pack them first, or use xarray"
                        .into()
                }
            }
            ("put", "--cf") => {
                "`zarr put` writes elements as they are stored: pack them first, or use xarray"
                    .into()
            }
            ("plot" | "get" | "info", "--well") => {
                let well = self.value.filter(|well| well.contains('/')).unwrap_or("A/1");
                format!(
                    "a field of a well has a path of its own; did you mean `zarr {command} {target}/{well}/0`?"
                )
            }
            ("stats", "--mean" | "--min" | "--max" | "--std" | "--sum" | "--count") => {
                let what = &option[2..];
                let path = self.second.map_or_else(String::new, |path| format!(" {path}"));
                format!("{what} is always printed: `zarr stats {target}{path}`")
            }
            ("stats", "--median") => meant("--percentile 50"),
            ("stats", "--group-by" | "--groupby" | "--by") => {
                let by = self.value_or("time");
                let part = by.strip_prefix("time.").unwrap_or(by);
                if PARTS_OF_DATES.contains(&part) {
                    format!(
                        "did you mean `--axis time`, a line for each time? One month is `--sel time=2020-03`; xarray groups: `groupby(\"time.{part}\")`"
                    )
                } else {
                    meant(&format!("--axis {by}"))
                }
            }
            ("attrs", "--get" | "--key" | "--show") => {
                meant(&format!("zarr attrs {target} {}", self.value_or("units")))
            }
            ("info", "--chunks" | "--shape" | "--dtype" | "--codecs" | "--shards") => format!(
                "`zarr info {target}` prints the {} of an array, `zarr ls -lR {target}` those of all",
                &option[2..]
            ),
            ("copy", "--output" | "-o" | "--out" | "--target" | "--dest") => {
                format!(
                    "the copy's place follows its source: `zarr copy {target} {}`",
                    self.value_or("DST")
                )
            }
            ("stats", "--cf" | "--decode" | "--unpack") => {
                format!(
                    "statistics are of decoded values unless you pass `--raw`: `zarr stats {target}`"
                )
            }
            ("ls", "-a" | "--all") => {
                format!("`zarr ls` hides nothing; `zarr ls -R {target}` lists all levels")
            }
            ("rename", new) if !new.starts_with('-') => {
                let old = self.second.unwrap_or("OLD");
                meant(&format!("zarr rename {target} --path {old} {new}"))
            }
            ("head", count) if count.trim_start_matches('-').parse::<u64>().is_ok() => {
                meant(&format!("-n {}", count.trim_start_matches('-')))
            }
            ("head", "--sel" | "--by-name" | "--region") => {
                format!("`zarr get {target}` has `{option}`; `zarr head` prints first rows")
            }
            // `zarr resize a.zarr 5 5`: the first length was taken for a path.
            ("resize", lens) if is_lengths(lens) && self.second.is_some_and(is_lengths) => {
                let first = self.second.unwrap_or_default();
                meant(&format!("zarr resize {target} --shape {first},{lens}"))
            }
            ("resize", lens) if is_lengths(lens) => {
                let path = self.second.map_or_else(String::new, |path| format!(" {path}"));
                meant(&format!("zarr resize {target}{path} --shape {lens}"))
            }
            ("get" | "stats" | "plot" | "put", region) if is_region(region) => {
                meant(&format!("--region {region}"))
            }
            ("get" | "plot", file) if is_file(file) => meant(&format!("-o {file}")),
            ("gen" | "refs", place) if !place.starts_with('-') => meant(&format!("-o {place}")),
            ("dump", "-o" | "--output") => {
                format!(
                    "`zarr dump` prints the text: `zarr dump {target} > {}`",
                    self.value_or("x.cdl")
                )
            }
            ("append", axis) if !axis.starts_with('-') => meant(&format!("--axis {axis}")),
            ("attrs", value) if !value.starts_with('-') => {
                let path = self.second.map_or_else(String::new, |path| format!(" {path}"));
                meant(&format!("zarr attrs {target}{path} --set KEY={value}"))
            }
            ("copy", "--in-place" | "--inplace") => {
                format!("`zarr migrate {target} --to v3` converts a hierarchy where it is")
            }
            ("rm", "--dry-run" | "-n") => {
                format!("`zarr tree {target}` shows what it would erase")
            }
            ("create", lens) if is_lengths(lens) => {
                format!("separate lengths by commas, as in `--shape 10,{lens}`")
            }
            ("create", "--like") => format!(
                "`zarr info {}` prints the shape, chunks, type and codecs to give; `zarr copy` copies elements, too",
                self.value_or("OTHER")
            ),
            ("rm", "-r" | "-R" | "-f" | "-y" | "--recursive" | "--yes" | "--no-confirm") => {
                format!(
                    "{option} is not needed: `zarr rm` erases everything below the node, and does not prompt"
                )
            }
            ("tree", "--depth" | "-L" | "--max-depth" | "--level") => format!(
                "`zarr ls {target}` lists one level, `zarr tree {target}/GROUP` draws one group"
            ),
            ("plot", "--title") => format!(
                "the title is the attribute `long_name`: `zarr attrs {target} --set long_name={}`",
                self.value_or("TITLE")
            ),
            ("get", "--mean" | "--max")
            | ("plot", "--mean")
            | ("get" | "plot", "--mip" | "--project" | "--projection") => {
                let how = if option == "--mean" { "mean" } else { "max" };
                format!("in Python: `zarrkit.open(TARGET)[0, 1].{how}(axis=0)`")
            }
            ("migrate", "v2" | "v3" | "2" | "3") => meant(&format!("--to {option}")),
            ("repair", option) if REPAIR_FROM.contains(&option) => {
                "`zarr sync COPY TARGET` restores what is damaged from a copy".into()
            }
            ("put" | "append", option) if INPUT.contains(&option) => {
                "elements come from standard input: `--format npy < values.npy`".into()
            }
            ("validate", "--fix" | "--repair") => {
                "`zarr repair TARGET` says what it would do, `--apply` does it".into()
            }
            ("repair", "--dry-run" | "-n") => "nothing is written without `--apply`".into(),
            (_, option) if !option.starts_with('-') && option.contains('=') && has_sel => {
                "join coordinates with commas, as in `--sel lat=50,lon=10`".into()
            }
            _ => return None,
        })
    }
}

/// Whether a text is one length or more, as in `100,200`.
fn is_lengths(text: &str) -> bool {
    !text.is_empty() && text.split(',').all(|len| len.parse::<u64>().is_ok())
}

/// Whether a text is a region, as in `0:4,:`.
fn is_region(text: &str) -> bool {
    text.contains(':') && text.chars().all(|c| c.is_ascii_digit() || ":,.-".contains(c))
}

/// Whether a text is the name of a file that elements are written to.
fn is_file(text: &str) -> bool {
    let ends = [".npy", ".csv", ".json", ".jsonl", ".png", ".svg", ".tif", ".tiff", ".raw", ".txt"];
    !text.starts_with('-') && ends.iter().any(|end| text.ends_with(end))
}

/// Whether a text can stand in a shell, and in a message, as it is.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-./:,=+@%".contains(c))
}

fn meant(what: &str) -> String {
    format!("did you mean `{what}`?")
}

/// Names the option that does what an unknown one says, in place of those that are merely spelled alike.
pub(crate) fn suggest_option(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let words = args.iter().skip(1).filter_map(|arg| arg.to_str());
    let Some(mut command) = crate::first_command(words) else { return error };
    let has = |option: &str| {
        let name = option.split(' ').next().and_then(|long| long.strip_prefix("--"));
        let is_common = name.is_some_and(|name| COMMON_OPTIONS.contains(&name));
        is_common
            || command.get_arguments().any(|arg| arg.get_long().is_some() && arg.get_long() == name)
    };
    let typed = Typed::new(command.get_name(), option, args);
    let suggestion = typed.answer(has("--sel")).or_else(|| {
        let found = OPTIONS.iter().find(|(options, commands, example)| {
            options.contains(&option.as_str())
                && commands.contains(&command.get_name())
                && has(example)
        });
        found.map(|(_, _, example)| meant(&typed.in_place_of(example)))
    });
    let Some(suggestion) = suggestion else {
        // Clap's own advice is to write `-- --word`, which makes a path of an option. It is right for negative numbers only.
        if !option.starts_with('-') || !option[1..].starts_with(|next: char| next.is_ascii_digit())
        {
            error.remove(ContextKind::Suggested);
        }
        return error;
    };
    error.remove(ContextKind::SuggestedArg);
    let suggestion = ContextValue::StyledStrs(vec![StyledStr::from(suggestion)]);
    error.insert(ContextKind::Suggested, suggestion);
    // Clap's usage has the option that is spelled alike, which is not the one that is meant.
    command.set_bin_name(format!("zarr {}", command.get_name()));
    error.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
    error
}

/// Says which option a length stands for that was typed without it: `zarr resize TARGET 100,200`.
pub(crate) fn suggest_shape(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    let words: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
    if let ["resize", target, .., lens] = words[..]
        && is_lengths(lens)
        && is_plain(target)
    {
        let suggestion = StyledStr::from(meant(&format!("zarr resize {target} --shape {lens}")));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![suggestion]));
    }
    error
}

/// Says how to write several coordinates in the one option that takes them.
pub(crate) fn suggest_one_option(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let is_before_key = match error.get(ContextKind::PriorArg) {
        Some(ContextValue::String(prior)) => prior == "[KEY]",
        Some(ContextValue::Strings(prior)) => prior.iter().any(|prior| prior == "[KEY]"),
        _ => false,
    };
    if is_before_key && option.starts_with("--set") {
        let advice = "repeat the option for each attribute: `--set units=K --set long_name=air`";
        let advice = ContextValue::StyledStrs(vec![StyledStr::from(advice)]);
        error.insert(ContextKind::Suggested, advice);
        return error;
    }
    // An option that conflicts with itself is one that is given twice.
    let is_twice = matches!(error.get(ContextKind::PriorArg), Some(ContextValue::String(prior)) if prior == option);
    let example = match option.split(' ').next() {
        Some("--sel") => "--sel lat=50,lon=10",
        Some("--by-name") => "--by-name time=0,lat=3:5",
        Some("--region") => "--region 0,3:5,:",
        _ => return error,
    };
    if is_twice {
        let suggestion = StyledStr::from(format!("join them with commas, as in `{example}`"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![suggestion]));
    }
    error
}

/// Names the command that does what an unknown one says, in place of those that are merely spelled alike.
pub(crate) fn suggest(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let word = word.to_lowercase();
    let suggestion = if let Some(advice) = netcdf_file(&word, args) {
        advice
    } else if let Some(advice) = left_out(&word) {
        advice
    } else if let Some((_, command)) = COMMANDS.iter().find(|(words, _)| words.contains(&&*word)) {
        meant(command)
    } else {
        // `zarr help` looks for nothing alike itself.
        let is_help = args.get(1).is_some_and(|first| first == "help");
        let program = crate::command();
        let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
        match zarr::did_you_mean(&word, shown.map(clap::Command::get_name)) {
            Some(near) if is_help => meant(&format!("zarr help {near}")),
            _ => return error,
        }
    };
    error.remove(ContextKind::SuggestedSubcommand);
    let suggestion = StyledStr::from(suggestion);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![suggestion]));
    error
}

/// Where a command is that this build of the program is without, as the one in the Python package is.
fn left_out(word: &str) -> Option<String> {
    let command = if word == "preview" { "plot" } else { word };
    let is_left_out = ["plot", "stats", "serve"].contains(&command)
        && crate::command().find_subcommand(command).is_none();
    is_left_out.then(|| {
        format!(
            "this build of the program is without `{command}`: `cargo install --path crates/zarr-cli` installs all of it, and \
             `maturin build --features plot,serve` makes a Python package that has it"
        )
    })
}

/// What writes a netCDF file, if one is asked for: no command of this program does.
fn netcdf_file(word: &str, args: &[OsString]) -> Option<String> {
    if !["export", "save", "to-netcdf", "to_netcdf", "write"].contains(&word) {
        return None;
    }
    let places: Vec<&str> = args.iter().skip(2).filter_map(|arg| arg.to_str()).collect();
    let file = places.iter().find(|place| place.ends_with(".nc")).filter(|file| is_plain(file))?;
    let source = places.iter().find(|place| !place.starts_with('-') && *place != file);
    let source = source.filter(|source| is_plain(source)).map_or("TARGET", |source| *source);
    let has_v2 = std::path::Path::new(source).join(".zgroup").exists();
    let document = if has_v2 { ".zgroup" } else { "zarr.json" };
    Some(format!(
        "netCDF's own programs write it: `zarr netcdf-plugin --exec nccopy {}/{document} {file}`; or xarray: `open_zarr` reads, `to_netcdf` writes",
        source.trim_end_matches('/')
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suggested_option_exists_and_no_word_is_one() {
        for (words, commands, meant) in OPTIONS {
            let option = meant.split(' ').next().unwrap().trim_start_matches("--");
            for name in *commands {
                // Without the features `plot` and `serve` these are not compiled in.
                let Some(command) = crate::first_command([*name]) else {
                    assert!(["plot", "serve", "stats"].contains(name), "{name}");
                    continue;
                };
                let has = |long: &str| {
                    command.get_arguments().any(|arg| arg.get_long() == Some(long))
                        || cfg!(not(feature = "plot")) && long == "sel"
                };
                let is_common = COMMON_OPTIONS.contains(&option);
                assert!(has(option) || is_common, "{name} has no --{option}");
                for word in *words {
                    assert!(!has(word.trim_start_matches("--")), "{name} has {word}");
                }
            }
        }
    }

    #[test]
    fn every_suggested_command_exists_and_no_word_is_one() {
        let program = crate::command();
        for (words, command) in COMMANDS {
            let name = command.split(' ').nth(1).unwrap();
            let is_option = name.starts_with("--");
            // Without the features `plot` and `serve` these three are not compiled in.
            let is_absent = ["plot", "serve", "stats"].contains(&name);
            assert!(is_option || is_absent || program.find_subcommand(name).is_some(), "{command}");
            for word in *words {
                assert!(program.find_subcommand(word).is_none(), "{word} is a command");
            }
        }
    }
}
