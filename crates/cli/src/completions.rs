//! `millstream completions`: a script for a shell that completes verbs, flags and their values.

use clap::CommandFactory as _;
use clap_complete::{Shell, generate};

use crate::Cli;
use crate::outcome::{Exit, Stop};

const EXAMPLES: &str = "\
Examples:
  millstream completions bash > ~/.local/share/bash-completion/completions/millstream
  millstream completions zsh > ~/.zfunc/_millstream
  millstream completions fish > ~/.config/fish/completions/millstream.fish
  millstream completions powershell >> $PROFILE

The script completes verbs, flags, values of flags and names of files. A shell that runs reads it when it
starts anew.";

/// Write a script that completes the command line in a shell
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub(crate) fn completions(args: &Args) -> Result<Exit, Stop> {
    use std::io::Write as _;

    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "millstream", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(Exit::Done)
}
