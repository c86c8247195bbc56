//! The command line of Millstream: one file per verb.
//!
//! Results go to standard output, everything else to standard error. The exit code is 0 for
//! success, 1 if a document or data is wrong, 2 for wrong usage, and 3 if an evaluation failed or
//! exceeded its budget.

#![deny(clippy::print_stdout, reason = "`terminal::print` handles closed pipes")]

mod bake;
mod bench;
mod brief;
mod chart;
mod check;
mod completions;
mod deploy;
mod document;
mod dots;
mod edits;
mod evaluators;
mod explain;
mod fmt;
mod format;
mod gaps;
mod given;
#[cfg(feature = "blender")]
mod import;
mod interrupt;
mod library;
mod limits;
mod man;
mod memory;
mod mesh;
mod moments;
mod nodes;
mod number;
mod outcome;
mod percentiles;
mod picture;
mod piped;
mod place;
mod plot;
mod problems;
mod progress;
mod random;
mod range;
mod request;
mod run;
mod save;
mod show;
mod sources;
mod span;
mod stats;
mod stream;
mod summary;
mod tables;
mod terminal;
mod unsettled;
mod views;
mod watch;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use outcome::{report, report_as_json};

/// Run and examine node graphs
#[derive(Parser)]
#[command(name = "millstream", version, about, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Run(Box<run::Args>),
    Check(check::Args),
    Explain(explain::Args),
    Nodes(nodes::Args),
    Bake(Box<bake::Args>),
    Bench(bench::Args),
    Deploy(deploy::Args),
    Fmt(fmt::Args),
    #[cfg(feature = "blender")]
    Import(import::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Verb {
    /// Whether the output is for programs.
    fn is_json(&self) -> bool {
        match self {
            Self::Run(args) => args.format.is_json(),
            Self::Check(args) => args.format.is_json(),
            Self::Explain(args) => args.format.is_json(),
            Self::Nodes(args) => args.format.is_json(),
            Self::Bake(args) => args.format.is_json(),
            Self::Bench(args) => args.format.is_json(),
            Self::Deploy(args) => args.format.is_json(),
            Self::Fmt(args) => args.format.is_json(),
            #[cfg(feature = "blender")]
            Self::Import(args) => args.format.is_json(),
            // These write scripts and manual pages, which have only one format.
            Self::Completions(_) | Self::Man(_) => false,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  millstream run examples/triangle_area.mill
  millstream run examples/triangle_area.mill --in a=@examples/data/triangles.csv --in c=[0,3,0]
  millstream check my.mill.json
  millstream explain my.mill.json --format svg > my.svg
  millstream nodes math.sqrt
  millstream bake examples/echo.mill --frames 0..96 -o baked
  millstream bench examples/triangle_area.mill --count 1000000
  millstream deploy my.mill.json -o fixed.mill.json --keep x
  millstream fmt my.mill.json -o my.mill
  millstream import networks.json.gz -o documents --verify
  millstream completions bash > ~/.local/share/bash-completion/completions/millstream

Every verb has its own help with examples: millstream run --help

Exit codes:
  0  done
  1  a document or data is wrong
  2  wrong usage
  3  an evaluation failed or exceeded its budget";

/// Silences the messages of panics in decoders, which are turned into errors.
fn hush_decoders() {
    let report_panic = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !millstream_io::is_decoding() {
            report_panic(info);
        }
    }));
}

/// Stands for a space in examples, so that lines are not broken there.
const FIXED_SPACE: char = '\u{a0}';

/// The arguments of the program. Commands in a help stay on one line, however narrow the terminal
/// is, so that they can be copied.
fn parsed() -> Cli {
    let command = unbroken(Cli::command()).mut_subcommands(unbroken);
    let parsed = command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.unwrap_or_else(|error| {
        if error.use_stderr() {
            error.exit();
        }
        let text = error.render();
        let is_plain = std::env::var_os("NO_COLOR").is_some() || !std::io::stdout().is_terminal();
        let text = if is_plain { text.to_string() } else { text.ansi().to_string() };
        // Nobody is left to tell if the output is closed.
        let _ = std::io::stdout().write_all(text.replace(FIXED_SPACE, " ").as_bytes());
        std::process::exit(error.exit_code())
    })
}

/// A command whose examples are not broken into lines.
fn unbroken(command: clap::Command) -> clap::Command {
    let Some(text) = command.get_after_help().map(ToString::to_string) else { return command };
    let fixed = |line: &str| match line.strip_prefix("  ") {
        Some(example) => format!("  {}", example.replace(' ', &FIXED_SPACE.to_string())),
        None => line.to_owned(),
    };
    let lines: Vec<String> = text.lines().map(fixed).collect();
    command.after_help(lines.join("\n"))
}

fn main() -> ExitCode {
    hush_decoders();
    let verb = parsed().verb;
    let done = match &verb {
        Verb::Run(args) => run::run(args),
        Verb::Check(args) => check::check(args),
        Verb::Explain(args) => explain::explain(args),
        Verb::Nodes(args) => nodes::nodes(args),
        Verb::Bake(args) => bake::bake(args),
        Verb::Bench(args) => bench::bench(args),
        Verb::Deploy(args) => deploy::run(args),
        Verb::Fmt(args) => fmt::fmt(args),
        #[cfg(feature = "blender")]
        Verb::Import(args) => import::import(args),
        Verb::Completions(args) => completions::completions(args),
        Verb::Man(args) => man::man(args),
    };
    ExitCode::from(match done {
        Ok(exit) => exit.code(),
        Err(stop) if verb.is_json() => report_as_json(&stop).code(),
        Err(stop) => report(&stop).code(),
    })
}
