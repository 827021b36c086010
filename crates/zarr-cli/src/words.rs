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
    (&["--channel"], &["plot"], "--channels DAPI,2"),
    (
        &["--channel", "--c", "--z", "--t", "--slice", "--index", "--level", "--isel"],
        &["get", "stats", "plot"],
        "--by-name c=1,z=0",
    ),
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
    (&["--by", "--groupby", "--over"], &["stats"], "--axis time"),
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
        &["--compressor", "--compression", "--compress", "--level", "--clevel", "--complevel"],
        &["create", "copy"],
        "--codec zstd:3",
    ),
    (&["--data-type", "--type"], &["create"], "--dtype float32"),
    (&["--add", "--update", "--write"], &["attrs"], "--set units=K"),
    (&["--dim", "--dimension", "--concat-dim", "--along"], &["refs"], "--axis time"),
    (&["--scale", "--scales", "--downsample"], &["pyramid"], "--factor y=2,x=2"),
    (&["--vars", "--var", "--variable"], &["dump"], "--variables air,time"),
    (&["--axis", "--dim", "--length"], &["resize"], "--shape 100,200"),
    (&["--deep", "--full", "--data"], &["validate"], "--level data"),
];

/// Options for a file of elements, which `zarr put` and `zarr append` read from standard input.
const INPUT: &[&str] = &["--input", "-i", "--file", "--from", "--data"];

/// Options for one element of several along an axis, as the brightest along z.
const PROJECTION: &[&str] = &["--mip", "--project", "--projection"];

/// Options of `zarr repair` for what `zarr sync` does.
const REPAIR_FROM: &[&str] = &["--from", "--source", "--backup"];

/// Names the option that does what an unknown one says, in place of those that are merely spelled alike.
pub(crate) fn suggest_option(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let words = args.iter().skip(1).filter_map(|arg| arg.to_str());
    let Some(command) = crate::first_command(words) else { return error };
    let has = |option: &str| {
        let name = option.split(' ').next().and_then(|long| long.strip_prefix("--"));
        command.get_arguments().any(|arg| arg.get_long().is_some() && arg.get_long() == name)
    };
    let suggestion = if !option.starts_with('-') && option.contains('=') {
        has("--sel").then(|| "join coordinates with commas, as in `--sel lat=50,lon=10`".to_owned())
    } else if command.get_name() == "repair" && REPAIR_FROM.contains(&option.as_str()) {
        Some("`zarr sync COPY TARGET` restores what is damaged from a copy".to_owned())
    } else if ["put", "append"].contains(&command.get_name()) && INPUT.contains(&option.as_str()) {
        Some("elements come from standard input: `--format npy < values.npy`".to_owned())
    } else if command.get_name() == "validate" && ["--fix", "--repair"].contains(&option.as_str()) {
        Some("`zarr repair TARGET` says what it would do, `--apply` does it".to_owned())
    } else if command.get_name() == "repair" && ["--dry-run", "-n"].contains(&option.as_str()) {
        Some("nothing is written without `--apply`".to_owned())
    } else if ["get", "plot"].contains(&command.get_name()) && PROJECTION.contains(&option.as_str())
        || command.get_name() == "get" && option == "--max"
    {
        Some("in Python: `zarrkit.open(TARGET)[0, 1].max(axis=0)`".to_owned())
    } else {
        let found = OPTIONS.iter().find(|(options, commands, meant)| {
            options.contains(&option.as_str())
                && commands.contains(&command.get_name())
                && has(meant)
        });
        found.map(|(_, _, meant)| format!("did you mean `{meant}`?"))
    };
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
    error
}

/// Says how to write several coordinates in the one option that takes them.
pub(crate) fn suggest_one_option(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
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
pub(crate) fn suggest(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let word = word.to_lowercase();
    let Some((_, command)) = COMMANDS.iter().find(|(words, _)| words.contains(&&*word)) else {
        return error;
    };
    error.remove(ContextKind::SuggestedSubcommand);
    let suggestion = StyledStr::from(format!("did you mean `{command}`?"));
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![suggestion]));
    error
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
                assert!(has(option), "{name} has no --{option}");
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
