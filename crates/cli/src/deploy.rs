//! `millstream deploy`: fixes inputs, stores results, and drops the nodes that produced them.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use millstream::Given;
use millstream::deploy::{Deployed, Freeze, Settled, SettledFate, deploy};
use millstream_io::Budget;
use serde_json::{Value as Json, json};

use crate::document::{compile, read, shown};
use crate::format::Format;
use crate::given::{assignment, given};
use crate::library::{LibraryArgs, engine};
use crate::limits::limits;
use crate::number;
use crate::outcome::{Exit, Stop};
use crate::request::unknown;
use crate::save::{write_complete, written};
use crate::terminal::{self, eprint, visible_lines};

const EXAMPLES: &str = "\
Examples:
  millstream deploy examples/triangle_area.mill -o area.mill.json --in c=[0,4,0] --keep a,b
  millstream deploy my.mill.json -o fixed.mill.json --store-limit 100000
  millstream deploy my.mill.json -o fixed.mill.bin

Results that can no longer change are computed once and stored. A result larger than the limit is \
not stored; the nodes that compute it stay and run at the start. The output is a document like any \
other with its groups expanded: in the text form if FILE ends in .mill, else JSON. The compact \
form runs and checks like the document. A result that turns out not to vary by element or moment \
becomes a single value, computed even if a request has no elements.";

/// Fix inputs, store results, and drop the nodes that produced them
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The document, - for standard input
    graph: PathBuf,
    /// The file for the new document, - for standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Inputs to keep, separated by commas
    #[arg(long, value_name = "INPUT", value_delimiter = ',')]
    keep: Vec<String>,
    /// Fix an input to this value instead of its default; for a kept input, the new default
    #[arg(long = "in", value_name = "NAME=VALUE")]
    inputs: Vec<String>,
    /// Store results of at most this many bytes
    #[arg(long, value_name = "BYTES", default_value = "1048576", value_parser = number::count,
          allow_negative_numbers = true)]
    store_limit: usize,
    /// Write the compact form, as for a FILE that ends in .bin
    #[arg(long)]
    binary: bool,
    #[command(flatten)]
    library: LibraryArgs,
    /// Change a limit, such as nodes=1000; a wrong name lists all of them
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
    /// The format of the report; text goes to standard error
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// Deploys the document and reports the result.
pub(crate) fn run(args: &Args) -> Result<Exit, Stop> {
    let limits = limits(&args.limits)?;
    let engine = args.library.with_documents(engine(limits.clone()), &args.graph)?;
    let text = read(&args.graph, limits.document_bytes)?;
    let program = compile(&engine, &text)?;
    let same =
        |a: &Path, b: &Path| a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b));
    if same(&args.output, &args.graph) {
        let help = Some("give another file with -o".to_owned());
        return Err(Stop::new(Exit::Usage, "the output is the document itself", help));
    }
    let mut values = Vec::new();
    let input_called = |name: &str| {
        let input = program.inputs().iter().find(|input| &*input.name == name);
        input.ok_or_else(|| {
            let known = program.inputs().iter().map(|input| &*input.name);
            Stop::all(Exit::Usage, vec![unknown("there is no input", name, known)])
        })
    };
    for name in &args.keep {
        input_called(name)?;
    }
    for text in &args.inputs {
        let at = assignment("--in", text)?;
        let input = input_called(at.name)?;
        if values.iter().any(|(known, _)| *known == at.name) {
            return Err(Stop::new(Exit::Usage, format!("`{}` is given twice", at.name), None));
        }
        match given(at, input.ty, &limits, &Budget::default())? {
            Given::One(value) => values.push((at.name.to_owned(), value)),
            Given::Along(_, _) => {
                let help = Some("keep the input, and give the column to `run`".to_owned());
                let message =
                    format!("`{}` can only be fixed to a single value, not to a column", at.name);
                return Err(Stop::new(Exit::Usage, message, help));
            }
        }
    }
    let is_stdout = args.output.as_os_str() == "-";
    if is_stdout && args.format == Format::Json {
        let text = "-o - and --format json would both write to standard output";
        return Err(Stop::new(Exit::Usage, text, Some("leave out one of them".into())));
    }
    let freeze = Freeze { values, keep: args.keep.clone(), store_limit: args.store_limit };
    let deployed =
        deploy(&engine, program.document(), &freeze).map_err(|error| shown(&text, error))?;
    let is_compact = args.binary || args.output.extension().is_some_and(|ending| ending == "bin");
    let bytes = if is_compact {
        deployed.to_bytes()
    } else {
        written(&args.output, &deployed.document, engine.registry()).into_bytes()
    };
    if is_stdout {
        std::io::stdout().lock().write_all(&bytes)?;
    } else {
        write_complete(&args.output, &bytes)?;
    }
    match args.format {
        Format::Json => terminal::print(&as_json(args, &deployed).to_string())?,
        Format::Text => eprint(&as_text(args, &deployed)),
    }
    Ok(Exit::Done)
}

fn as_text(args: &Args, deployed: &Deployed) -> String {
    let mut out = String::new();
    for Settled { path, ty, bytes, fate } in &deployed.results {
        // Nodes created by the compiler have no path.
        let path =
            if path.as_str().is_empty() { "a node created by the compiler" } else { path.as_str() };
        out += &format!("{path}: {ty}, {bytes} bytes, {}\n", fate.name());
    }
    let (before, after) = deployed.n_nodes;
    let kept = deployed.document.inputs.len();
    let file = args.output.display();
    out +=
        &format!("{file}: {before} nodes and constants have become {after}; inputs kept: {kept}\n");
    visible_lines(&out).into_owned()
}

fn as_json(args: &Args, deployed: &Deployed) -> Json {
    let result = |Settled { path, ty, bytes, fate }: &Settled| {
        let is_stored = *fate == SettledFate::Stored;
        json!({
            "path": path.as_str(),
            "type": ty.name(),
            "bytes": bytes,
            "stored": is_stored,
            "fate": fate.name(),
        })
    };
    json!({
        "output": args.output.display().to_string(),
        "inputs": deployed.document.inputs.keys().map(|name| &**name).collect::<Vec<_>>(),
        "nodes_before": deployed.n_nodes.0,
        "nodes_after": deployed.n_nodes.1,
        "results": deployed.results.iter().map(result).collect::<Vec<_>>(),
    })
}
