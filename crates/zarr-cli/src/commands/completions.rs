//! Prints what shells need to complete command lines, and the nodes that they complete.

use clap::{Args, Command, ValueEnum};
use clap_complete::{Shell, generate};
use zarr::{NodeKind, NodePath};

use super::Out;
use crate::failure::Failure;
use crate::session::{Session, Target};

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr completions bash > ~/.local/share/bash-completion/completions/zarr
  zarr completions zsh > ~/.zfunc/_zarr     with fpath=(~/.zfunc $fpath) in ~/.zshrc
  zarr completions fish > ~/.config/fish/completions/zarr.fish
  zarr completions powershell >> $PROFILE",
    after_long_help = crate::details("\
The values of --path are nodes of TARGET, where TARGET is a path: completion never accesses the network."))]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    Bash,
    Zsh,
    Fish,
    #[value(name = "powershell")]
    PowerShell,
}

/// What bash does before it asks the function that `clap` made.
const BASH: &str = r#"
_zarr_or_nodes() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"
    if [[ $prev != --path && ! ( $prev == = && ${COMP_WORDS[COMP_CWORD-2]} == --path ) ]]; then
        _zarr "$@"
        return
    fi
    [[ $cur == = ]] && cur=
    local node
    COMPREPLY=()
    while IFS= read -r node; do
        printf -v node %q "$node"
        COMPREPLY+=("$node")
    done < <("${COMP_WORDS[0]}" __nodes --begin="$cur" -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
    [[ ${COMPREPLY[0]-} == */ ]] && compopt -o nospace 2>/dev/null
}

complete -F _zarr_or_nodes -o bashdefault -o default zarr
"#;

/// The function that gives zsh the nodes.
const ZSH: &str = r#"
_zarr_nodes() {
    local -a nodes
    nodes=("${(@f)$(zarr __nodes --begin="$PREFIX" -- "${(@Q)words[1,CURRENT-1]}" 2>/dev/null)}")
    nodes=(${nodes:#})
    (( $#nodes )) && compadd -S '' -- "${nodes[@]}"
}
"#;

const FISH: &str = r#"
complete -c zarr -l path -x -a '(zarr __nodes --begin=(commandline -ct) -- (commandline -opc)[2..-1] 2>/dev/null)'
"#;

/// What PowerShell does before what `clap` made.
const POWERSHELL: &str = r#"
    $before = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { if ($_ -is [StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text } })
    if ($before.Count -and $before[-1] -eq '--path') {
        $program = $commandAst.GetCommandName()
        $begin = $wordToComplete.Trim("'", '"')
        foreach ($node in @(& $program __nodes "--begin=$begin" '--' @before 2>$null)) {
            $word = if ($node -match '^[\w./-]+$') { $node } else { "'" + $node.Replace("'", "''") + "'" }
            [CompletionResult]::new($word, $node, [CompletionResultType]::ParameterValue, $node)
        }
        return
    }
"#;

impl Completions {
    pub fn run(&self, out: Out<'_>) -> Result<(), Failure> {
        let script = match self.shell {
            Name::Bash => generated(Shell::Bash) + BASH,
            Name::Zsh => {
                let script = generated(Shell::Zsh);
                let script = script.replace(":PATH:_default", ":PATH:_zarr_nodes");
                let (first, rest) = script.split_once('\n').unwrap_or_default();
                format!("{first}\n{ZSH}{rest}")
            }
            Name::Fish => generated(Shell::Fish) + FISH,
            Name::PowerShell => {
                let script = generated(Shell::PowerShell);
                let begin = "param($wordToComplete, $commandAst, $cursorPosition)\n";
                script.replace(begin, &format!("{begin}{POWERSHELL}"))
            }
        };
        Ok(out.write_all(script.as_bytes())?)
    }
}

/// The script of options and commands, as clap generates it.
fn generated(shell: Shell) -> String {
    let mut script = Vec::new();
    generate(shell, &mut visible(), "zarr", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[derive(Debug, Args)]
pub(crate) struct Nodes {
    /// What is there of the path
    #[arg(long, default_value = "")]
    begin: String,
    /// The words of the command line before it, without the program's name
    #[arg(last = true)]
    words: Vec<String>,
}

/// The most nodes that a shell is given.
const MAX_COMPLETIONS: usize = 1000;

impl Nodes {
    /// Prints one node a line; groups end with a slash. A command line without a target has none, and a wrong one is no
    /// matter for a shell.
    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let Some(target) = target(&self.words).filter(|target| !target.contains("://")) else {
            return Ok(());
        };
        let (above, begin) = self.begin.rsplit_once('/').map_or(("", &*self.begin), |parts| parts);
        let path = format!("/{}", above.trim_start_matches('/'));
        let Ok(path) = NodePath::new(&path) else { return Ok(()) };
        let target = Target::new(target, path.as_str());
        let Ok(group) = session.open(&target).and_then(|node| Ok(node.into_group()?)) else {
            return Ok(());
        };
        let before = if self.begin.contains('/') { format!("{above}/") } else { String::new() };
        let mut printed = 0;
        for child in group.children()? {
            let name = child.path.name().unwrap_or_default();
            if name.starts_with(begin)
                && name.chars().all(zarr::is_printable)
                && printed < MAX_COMPLETIONS
            {
                let kind = child
                    .kind
                    .or_else(|| group.hierarchy().node(&child.path).ok().map(|node| node.kind()));
                let is_group = kind == Some(NodeKind::Group);
                let end = if is_group { "/" } else { "" };
                writeln!(out, "{before}{name}{end}")?;
                printed += 1;
            }
        }
        Ok(())
    }
}

/// The command line of the program without what people do not type.
fn visible() -> Command {
    let program = crate::command();
    let verbs = program.get_subcommands().filter(|verb| !verb.is_hide_set());
    Command::new("zarr").args(program.get_arguments()).subcommands(verbs)
}

/// The target among the words of a command line, which need not be complete.
fn target(words: &[String]) -> Option<String> {
    let program = crate::command();
    let mut words = words.iter().map(String::as_str);
    let name = words.find(|word| program.find_subcommand(word).is_some())?;
    let verb = crate::first_command([name])?;
    let mut skip = false;
    words
        .find(|word| {
            if skip || word.starts_with('-') || *word == "=" {
                let mut arguments = verb.get_arguments().chain(program.get_arguments());
                let takes_value = !skip && arguments.any(|argument| takes_value(argument, word));
                skip = takes_value || *word == "=";
                return false;
            }
            true
        })
        .map(str::to_owned)
}

/// Whether a word of the command line is this option, and the next word its value.
fn takes_value(argument: &clap::Arg, word: &str) -> bool {
    let long = argument.get_long().is_some_and(|long| word.strip_prefix("--") == Some(long));
    let mut letters = word.chars();
    let short = letters.next() == Some('-')
        && argument.get_short().is_some_and(|short| letters.as_str() == short.to_string());
    (long || short) && argument.get_action().takes_values() && !optional(argument)
}

/// Whether the value of an option may be left out, and so is part of its word.
fn optional(argument: &clap::Arg) -> bool {
    argument.get_num_args().is_some_and(|count| count.min_values() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_found_behind_options_and_their_values() {
        let of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            target(&words)
        };
        for line in [
            "get a.zarr --path",
            "get --format npy a.zarr --path",
            "get --format=npy a.zarr --path",
            "--trace get --threads 3 a.zarr --region 0 --path",
            "zarr get --consolidated a.zarr --path",
            "copy a.zarr b.zarr --path",
        ] {
            assert_eq!(of(line).as_deref(), Some("a.zarr"), "{line}");
        }
        assert_eq!(of("get --path"), None);
        assert_eq!(of("bogus a.zarr"), None);
    }
}
