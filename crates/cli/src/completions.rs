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

The script completes verbs, flags, their values and file names. A running shell reads it when it \
is restarted.";

/// Write a completion script for a shell
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn completions(args: &Args) -> Result<Exit, Stop> {
    use std::io::Write as _;

    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "millstream", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(Exit::Done)
}
