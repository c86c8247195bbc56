//! `millstream man`: the manual pages of the command line, one per verb, for packages.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use crate::Cli;
use crate::outcome::{Exit, Stop};
use crate::save::write_complete;
use crate::terminal::print;

const EXAMPLES: &str = "\
Examples:
  millstream man target/man
  millstream man /usr/local/share/man/man1

The pages are called millstream.1, millstream-run.1 and so on. Their paths are printed.";

/// Write the manual pages to a directory
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The directory, created if it does not exist
    folder: PathBuf,
}

/// Writes a page for the program and one for each verb.
pub(crate) fn man(args: &Args) -> Result<Exit, Stop> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).map_err(|error| {
        let text = format!("cannot create the directory `{}`: {error}", folder.display());
        Stop::new(Exit::Failed, text, Some("name a writable directory".into()))
    })?;
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let verbs = program.get_subcommands().filter(|verb| !verb.is_hide_set());
    for command in std::iter::once(&program).chain(verbs) {
        write(folder, command)?;
    }
    Ok(Exit::Done)
}

fn write(folder: &Path, command: &Command) -> Result<(), Stop> {
    let source = concat!("millstream ", env!("CARGO_PKG_VERSION"));
    let page = Man::new(command.clone()).source(source).manual("Millstream");
    let path = folder.join(page.get_filename());
    write_complete(&path, &text_of(&page, command)?)?;
    print(&path.display().to_string())?;
    Ok(())
}

fn text_of(page: &Man, command: &Command) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    page.render_title(&mut out)?;
    page.render_name_section(&mut out)?;
    page.render_synopsis_section(&mut out)?;
    page.render_description_section(&mut out)?;
    page.render_options_section(&mut out)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut out)?;
    }
    if let Some(text) = command.get_after_help() {
        out.extend(examples(&text.to_string()).bytes());
    }
    Ok(out)
}

/// The text after the options: indented lines verbatim, others as paragraphs.
fn examples(text: &str) -> String {
    let text = text.strip_prefix("Examples:\n").unwrap_or(text);
    let mut out = String::from(".SH EXAMPLES\n");
    let mut is_plain = true;
    for line in text.lines() {
        let is_indented = line.starts_with(' ');
        if is_indented == is_plain {
            out += if is_indented { ".nf\n" } else { ".fi\n" };
            is_plain = !is_indented;
        }
        out += &match line {
            "" => ".PP\n".to_owned(),
            _ => format!("\\&{}\n", line.replace('\\', "\\e").replace('-', "\\-")),
        };
    }
    if !is_plain {
        out += ".fi\n";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_examples_stay_lines_and_are_escaped() {
        let text = "Examples:\n  run a \\\n      --b\n\n.Prose\nover lines.";
        let page = ".SH EXAMPLES\n.nf\n\\&  run a \\e\n\\&      \\-\\-b\n.fi\n.PP\n\\&.Prose\n\\&over lines.\n";
        assert_eq!(examples(text), page);
    }
}
