//! Writes manual pages, one a verb.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;

use crate::failure::Failure;
use crate::human;
use crate::session::Session;

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr man ~/.local/share/man/man1")]
pub(crate) struct Manual {
    /// The folder, which is created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Manual {
    pub fn run(&self, session: &Session) -> Result<(), Failure> {
        let failed = |e| Failure::Stream("cannot write the manual pages", e);
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        let mut program = crate::command();
        program.build();
        let verbs: Vec<Command> = program
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set() && verb.get_name() != "help")
            .cloned()
            .collect();
        write_page(&self.folder, program).map_err(failed)?;
        let pages = 1 + verbs.len() as u64;
        for verb in verbs {
            write_page(&self.folder, verb).map_err(failed)?;
        }
        let folder = self.folder.display();
        session.talk(&format!("wrote {} into {folder}", human::plural(pages, "page")));
        Ok(())
    }
}

fn write_page(folder: &Path, command: Command) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let examples = command.get_before_help().map(ToString::to_string);
    // The program's own help has its examples there.
    let details =
        command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    let after = examples.into_iter().chain(details).collect::<Vec<_>>().join("\n\n");
    let man = Man::new(command);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if name == "zarr" {
        man.render_subcommands_section(&mut page)?;
    }
    render_end(&after, &mut page)?;
    std::fs::write(folder.join(format!("{name}.1")), page)
}

/// The examples and remarks, line by line as they are: paragraphs would run examples together.
fn render_end(text: &str, page: &mut Vec<u8>) -> io::Result<()> {
    let mut is_open = false;
    for line in text.lines() {
        if line == "Examples:" {
            writeln!(page, "{}.SH EXAMPLES\n.nf", if is_open { ".fi\n" } else { "" })?;
        } else if !is_open {
            writeln!(page, ".SH NOTES\n.nf\n{}", escaped(line))?;
        } else {
            writeln!(page, "{}", escaped(line))?;
        }
        is_open = true;
    }
    if is_open {
        writeln!(page, ".fi")?;
    }
    Ok(())
}

/// A line as roff shows it letter by letter.
fn escaped(line: &str) -> String {
    let line =
        line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga");
    if line.starts_with('.') { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_shown_and_not_obeyed() {
        assert_eq!(escaped(r".so '--x \n'"), r"\&.so \(aq\-\-x \en\(aq");
    }
}
