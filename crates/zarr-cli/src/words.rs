//! What to type for words that are no commands here, but in other programs, or in everyday speech.

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
    (&["clone", "download", "upload"], "zarr copy SOURCE TARGET"),
    (&["mirror", "rsync", "backup", "update"], "zarr sync SOURCE TARGET"),
    (&["check", "verify", "lint", "fsck", "test"], "zarr validate TARGET"),
    (&["fix", "recover", "heal"], "zarr repair TARGET"),
    (&["compare", "cmp"], "zarr diff A B"),
    (&["hash", "sum", "md5", "md5sum", "digest"], "zarr checksum TARGET"),
    (&["view", "open", "browse", "server", "web"], "zarr serve TARGET"),
    (&["draw", "image", "picture", "display", "render"], "zarr plot TARGET"),
    (&["describe", "meta", "metadata", "du", "size", "stat"], "zarr info TARGET"),
    (&["summary", "min", "max", "mean", "histogram", "statistics"], "zarr stats TARGET"),
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
