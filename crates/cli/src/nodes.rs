//! `millstream nodes`: the node library and its manual.

mod from;
mod language;
mod search;
mod synonyms;

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

use language::{CONSTRUCTS, Construct, FAMILY, construct, page_of, see};
use search::{MAX_SHOWN, Texts, names_for, search};

const EXAMPLES: &str = "\
Examples:
  millstream nodes
  millstream nodes math
  millstream nodes math.sqrt
  millstream nodes language
  millstream nodes --search smooth noise
  millstream nodes math --search root
  millstream nodes --format json
  millstream nodes --from examples/lib
  millstream nodes --from examples/lib water/ring";

/// List the node types and the constructs of documents, or show the manual entry of one
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A node type, a family of them, or a construct such as repeat or group
    name: Option<String>,
    /// List the best matches for these words: names count most, then summaries, then the manual;
    /// words of other programs, such as lerp or argsort, find the corresponding nodes
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    search: Option<Vec<String>>,
    /// List the groups of the documents in a directory instead, which other documents may use
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// The format of results
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// A part of the manual.
#[derive(Clone, Copy)]
enum Entry<'a> {
    Node(&'a Arc<NodeDef>),
    Construct(&'static Construct),
}

impl<'a> Entry<'a> {
    fn named(registry: &'a Registry, name: &str) -> Option<Self> {
        let node = || registry.get(name).map(Self::Node);
        node().or_else(|| construct(name).map(Self::Construct))
    }

    /// All entries, by name; those with a notation of their own come last.
    fn all(registry: &'a Registry) -> Vec<Self> {
        let named = language::node_types().filter_map(|name| registry.get(name)).map(Self::Node);
        let mut language: Vec<Self> = named.chain(CONSTRUCTS.iter().map(Self::Construct)).collect();
        language.sort_by_key(|entry| entry.name());
        registry.iter().map(Self::Node).chain(language).collect()
    }

    fn name(self) -> &'a str {
        match self {
            Self::Node(def) => &def.name,
            Self::Construct(construct) => construct.name,
        }
    }

    fn summary(self) -> &'a str {
        match self {
            Self::Node(def) => &def.manual.summary,
            Self::Construct(construct) => construct.summary,
        }
    }

    fn family(self) -> &'a str {
        match self {
            Self::Node(def) if page_of(&def.name).is_none() => def.family(),
            Self::Node(_) | Self::Construct(_) => FAMILY,
        }
    }

    /// The page on its notation, if it has one of its own.
    fn page(self) -> Option<&'static str> {
        match self {
            Self::Node(def) => page_of(&def.name),
            Self::Construct(construct) => Some(construct.page),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Node(def) => match page_of(&def.name) {
                Some(page) => format!("{}\n  {}\n", manual::entry(def), see(page)),
                None => manual::entry(def),
            },
            Self::Construct(construct) => construct.entry(),
        }
    }

    fn json(self) -> Json {
        let mut json = match self {
            Self::Node(def) => node_json(def),
            Self::Construct(construct) => construct.json(),
        };
        json["family"] = self.family().into();
        if let Some(page) = self.page() {
            json["page"] = page.into();
        }
        json
    }
}

/// Lists node types, or shows one.
pub(crate) fn nodes(args: &Args) -> Result<Exit, Stop> {
    if let Some(folder) = &args.from {
        return from::from(folder, args.name.as_deref(), args.search.as_deref(), args.format);
    }
    let engine = engine(Limits::default());
    let registry = engine.registry();
    let mut out = std::io::stdout().lock();
    let named = args.name.as_deref().and_then(|name| Entry::named(registry, name));
    if let Some(entry) = named.filter(|_| args.search.is_none()) {
        match args.format {
            Format::Text => out.write_all(entry.text().as_bytes())?,
            Format::Json => writeln!(out, "{:#}", entry.json())?,
        }
        return Ok(Exit::Done);
    }
    let name = args.name.as_deref();
    let mut entries = Entry::all(registry);
    entries.retain(|entry| name.is_none_or(|family| entry.family() == family));
    if let (Some(name), true) = (name, entries.is_empty()) {
        let Some(entry) = named else { return Err(unknown(registry, name)) };
        let text = format!("--search has nothing to find in the node type `{name}`");
        let help = format!("search in its family, `{}`, or leave out --search", entry.family());
        return Err(Stop::new(Exit::Usage, text, Some(help)));
    }
    if let Some(words) = &args.search {
        // Among equal matches, the nodes of the library precede those that imitate other programs.
        entries.sort_by_key(|entry| registry.rank_of_family(entry.family()));
        let texts: Vec<Texts> = entries.iter().map(|entry| texts(*entry)).collect();
        entries = search(words, &texts)?.into_iter().map(|i| entries[i]).collect();
    }
    match args.format {
        Format::Text if args.search.is_some() => {
            let summaries: Vec<(&str, String)> =
                entries.iter().map(|entry| (entry.name(), shown_summary(*entry))).collect();
            let rows = summaries.iter().map(|(name, summary)| (*name, &**summary));
            out.write_all(found(rows).as_bytes())?;
        }
        Format::Text => out.write_all(list(&entries).as_bytes())?,
        Format::Json => {
            // Without a family or a search it is the list of node types.
            let is_listed = |entry: &&Entry<'_>| {
                name.is_some() || args.search.is_some() || matches!(entry, Entry::Node(_))
            };
            let list: Vec<Json> = entries.iter().filter(is_listed).map(|it| it.json()).collect();
            writeln!(out, "{:#}", Json::from(list))?;
        }
    }
    Ok(Exit::Done)
}

fn texts(entry: Entry<'_>) -> Texts {
    Texts {
        name: entry.name().to_owned(),
        summary: entry.summary().to_owned(),
        manual: entry.text(),
    }
}

/// The summary, with the page on the notation.
fn shown_summary(entry: Entry<'_>) -> String {
    match entry.page() {
        Some(page) => format!("{} ({page})", entry.summary()),
        None => entry.summary().to_owned(),
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
    families.push(FAMILY);
    families.sort_unstable();
    families.dedup();
    let synonym = || names_for(name).first().copied();
    let family = || did_you_mean(name.trim_end_matches('.'), families.iter().copied());
    let near = registry.namesake(name).or_else(synonym).or_else(family);
    let help = match near.or_else(|| registry.nearest(name)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("families: {}", families.join(", ")),
    };
    Stop::new(Exit::Usage, format!("there is no node type or family called `{name}`"), Some(help))
}

fn list(entries: &[Entry<'_>]) -> String {
    let style = terminal::of_stdout();
    let width = entries.iter().map(|entry| entry.name().len()).max().unwrap_or(0);
    let mut out = String::new();
    let mut family = "";
    for entry in entries {
        if entry.family() != family {
            if !family.is_empty() {
                out.push('\n');
            }
            family = entry.family();
            out.push_str(&style.strong(family));
            out.push('\n');
        }
        let summary = shown_summary(*entry);
        out.push_str(&format!("  {:width$}  {summary}\n", entry.name()));
    }
    out
}

/// A node type for programs; sockets are those of the default settings.
fn node_json(def: &Arc<NodeDef>) -> Json {
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
