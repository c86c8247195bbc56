//! `millstream nodes`: the node library and its manual.

mod from;
mod search;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use millstream::Limits;
use millstream::diagnostics::did_you_mean;
use millstream::register::{
    Among, Default, NodeDef, Registry, SettingValue, Settings, Signature, Socket, SocketType,
    manual,
};
use millstream::values::to_json;
use serde_json::{Value as Json, json};

use crate::format::Format;
use crate::library::engine;
use crate::outcome::{Exit, Stop};
use crate::terminal::{self, visible};

use search::{MAX_SHOWN, Texts, search};

const EXAMPLES: &str = "\
Examples:
  millstream nodes
  millstream nodes math
  millstream nodes math.sqrt
  millstream nodes --search smooth noise
  millstream nodes math --search root
  millstream nodes --format json
  millstream nodes --from examples/lib
  millstream nodes --from examples/lib water/ring";

/// List the node types, or show the manual entry of one
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A node type, or a family of them
    name: Option<String>,
    /// List the best matches for these words: names count most, then summaries, then the manual
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    search: Option<Vec<String>>,
    /// List the groups of the documents in a directory instead, which other documents may use
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// The format of results
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// Lists node types, or shows one.
pub(crate) fn nodes(args: &Args) -> Result<Exit, Stop> {
    if let Some(folder) = &args.from {
        return from::from(folder, args.name.as_deref(), args.search.as_deref(), args.format);
    }
    let engine = engine(Limits::default());
    let registry = engine.registry();
    let mut out = std::io::stdout().lock();
    let named = args.name.as_deref().and_then(|name| registry.get(name));
    if let Some(def) = named.filter(|_| args.search.is_none()) {
        match args.format {
            Format::Text => out.write_all(manual::entry(def).as_bytes())?,
            Format::Json => {
                serde_json::to_writer_pretty(&mut out, &entry(def))?;
                writeln!(out)?;
            }
        }
        return Ok(Exit::Done);
    }
    let is_meant =
        |def: &&Arc<NodeDef>| args.name.as_deref().is_none_or(|family| def.family() == family);
    let mut defs: Vec<&Arc<NodeDef>> = registry.iter().filter(is_meant).collect();
    if let (Some(name), true) = (&args.name, defs.is_empty()) {
        return Err(unknown(registry, name));
    }
    if let Some(words) = &args.search {
        let texts: Vec<Texts> = defs.iter().map(|def| texts(def)).collect();
        defs = search(words, &texts)?.into_iter().map(|i| defs[i]).collect();
        if args.format == Format::Text {
            let rows = defs.iter().map(|def| (&*def.name, &*def.manual.summary));
            out.write_all(found(rows).as_bytes())?;
            return Ok(Exit::Done);
        }
    }
    match args.format {
        Format::Text => out.write_all(list(&defs).as_bytes())?,
        Format::Json => {
            let list: Vec<Json> = defs.into_iter().map(entry).collect();
            serde_json::to_writer_pretty(&mut out, &list)?;
            writeln!(out)?;
        }
    }
    Ok(Exit::Done)
}

fn texts(def: &Arc<NodeDef>) -> Texts {
    Texts {
        name: def.name.to_string(),
        summary: def.manual.summary.to_string(),
        manual: manual::entry(def),
    }
}

/// Formats the best matches as a list.
fn found<'a>(rows: impl ExactSizeIterator<Item = (&'a str, &'a str)>) -> String {
    let n_more = rows.len().saturating_sub(MAX_SHOWN);
    let rows: Vec<_> = rows.take(MAX_SHOWN).collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, summary): &(&str, &str)| {
        format!("{}\n", visible(format!("{name:width$}  {summary}").trim_end()))
    };
    let mut out: String = rows.iter().map(line).collect();
    if n_more > 0 {
        let rest = format!("... {n_more} more; another word narrows the search");
        out += &format!("{}\n", terminal::of_stdout().faint(&rest));
    }
    out
}

fn unknown(registry: &Registry, name: &str) -> Stop {
    let mut families: Vec<&str> = registry.iter().map(|def| def.family()).collect();
    families.dedup();
    let family = || did_you_mean(name.trim_end_matches('.'), families.iter().copied());
    let help = match registry.namesake(name).or_else(family).or_else(|| registry.nearest(name)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("families: {}", families.join(", ")),
    };
    Stop::new(Exit::Usage, format!("there is no node type or family called `{name}`"), Some(help))
}

fn list(defs: &[&Arc<NodeDef>]) -> String {
    let style = terminal::of_stdout();
    let width = defs.iter().map(|def| def.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    let mut family = "";
    for def in defs {
        if def.family() != family {
            if !family.is_empty() {
                out.push('\n');
            }
            family = def.family();
            out.push_str(&style.strong(family));
            out.push('\n');
        }
        out.push_str(&format!("  {:width$}  {}\n", def.name, def.manual.summary));
    }
    out
}

/// A node type for programs; sockets are those of the default settings.
fn entry(def: &Arc<NodeDef>) -> Json {
    let settings = Settings::read(&def.settings, [], &|_| None).ok();
    let signature = settings.as_ref().and_then(|settings| def.signature(settings).ok());
    let settings = def.settings.iter().map(|setting| {
        json!({
            "name": setting.name,
            "takes": setting.kind.to_string(),
            "default": setting.default.as_ref().map(SettingValue::to_json),
            "about": setting.about,
        })
    });
    json!({
        "name": &*def.name,
        "family": def.family(),
        "version": def.version,
        "class": def.class.name(),
        "summary": &*def.manual.summary,
        "details": &*def.manual.details,
        "source": &*def.manual.source,
        "settings": settings.collect::<Vec<_>>(),
        "sockets_by_settings": def.fixed_signature().is_none(),
        "inputs": signature.as_ref().map(|signature| inputs(signature)),
        "outputs": signature.as_ref().map(|signature| outputs(signature)),
        "types": signature.as_ref().map(|signature| types(signature)),
    })
}

fn inputs(signature: &Signature) -> Vec<Json> {
    let input = |socket: &Socket| {
        let default = match &socket.default {
            Default::Required | Default::Zero => Json::Null,
            Default::Number(x) => Json::from(*x),
            Default::Value(value) => to_json(value),
        };
        json!({
            "name": &*socket.name,
            "type": type_name(signature, socket.ty),
            "required": matches!(socket.default, Default::Required) && !socket.multiple,
            "default": default,
            "several": socket.multiple,
            "about": &*socket.about,
        })
    };
    signature.inputs.iter().map(input).collect()
}

fn outputs(signature: &Signature) -> Vec<Json> {
    let output = signature.outputs.iter().map(|socket| {
        json!({
            "name": &*socket.name,
            "type": type_name(signature, socket.ty),
            "about": &*socket.about,
        })
    });
    output.collect()
}

fn types(signature: &Signature) -> Json {
    let types = signature.generics.iter().map(|generic| {
        let among = match generic.among {
            Among::These(types) => types.iter().map(|ty| ty.name()).collect::<Vec<_>>().into(),
            Among::Any | Among::AnyOr(_) | Among::Own => Json::from("any"),
        };
        (generic.name.to_string(), among)
    });
    Json::Object(types.collect())
}

fn type_name(signature: &Signature, ty: SocketType) -> String {
    let generic = |g: u16| signature.generics[g as usize].name;
    match ty {
        SocketType::Exact(ty) => ty.to_string(),
        SocketType::Generic(g) => generic(g).to_string(),
        SocketType::ListOf(g) => format!("list<{}>", generic(g)),
        SocketType::Made => "made".into(),
    }
}
