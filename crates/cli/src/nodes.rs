//! `millstream nodes`: the node library and its manual.

mod from;

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
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  millstream nodes
  millstream nodes math
  millstream nodes math.sqrt
  millstream nodes --format json
  millstream nodes --from examples/lib
  millstream nodes --from examples/lib water/ring";

/// List the node types, or show the manual entry of one
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A node type, or a family of them
    name: Option<String>,
    /// List the groups of the documents in a folder instead, which documents may use
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// The format of results
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// Lists node types, or shows one.
pub(crate) fn nodes(args: &Args) -> Result<Exit, Stop> {
    if let Some(folder) = &args.from {
        return from::from(folder, args.name.as_deref(), args.format);
    }
    let engine = engine(Limits::default());
    let registry = engine.registry();
    let mut out = std::io::stdout().lock();
    if let Some(def) = args.name.as_deref().and_then(|name| registry.get(name)) {
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
    let defs: Vec<&Arc<NodeDef>> = registry.iter().filter(is_meant).collect();
    if let (Some(name), true) = (&args.name, defs.is_empty()) {
        return Err(unknown(registry, name));
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

fn unknown(registry: &Registry, name: &str) -> Stop {
    let mut families: Vec<&str> = registry.iter().map(|def| def.family()).collect();
    families.dedup();
    let family = did_you_mean(name.trim_end_matches('.'), families.iter().copied());
    let help = match family.or_else(|| registry.nearest(name)) {
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

/// A node type for other programs; sockets are those of the default settings.
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
