//! Steps of scripts over documents of the whole library.

use millstream::{Engine, Type};
use millstream_document::check::check;
use millstream_document::{Checked, CheckedKind, Document, InputDef, Named, Node, OutputDef};
use millstream_node::{Default, SettingKind, Settings, SocketType, convert};
use millstream_testkit::generate::values::{FORMULAS, input_types, value};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value as Json, json};

/// One step of a script.
#[derive(Clone, Debug)]
pub(super) struct Deed {
    pub(super) kind: u8,
    pub(super) picks: [Index; 4],
    pub(super) number: u16,
    /// The group that it is about, if there are groups; `None` for the document.
    within: Option<Index>,
}

pub(super) fn deed() -> impl Strategy<Value = Deed> {
    let within = prop::option::weighted(0.3, any::<Index>());
    (0_u8..43, any::<[Index; 4]>(), 0_u16..800, within)
        .prop_map(|(kind, picks, number, within)| Deed { kind, picks, number, within })
}

/// A possible source: the reference and the type, if that is known.
type Linkable = (Json, Option<Type>);

/// A body of a document that is edited.
pub(super) struct Edited<'a> {
    engine: &'a Engine,
    /// Name of the group, if it is one.
    within: Option<&'a str>,
    nodes: &'a Named<Node>,
    outputs: &'a Named<OutputDef>,
    /// The possible sources.
    sources: Vec<Linkable>,
    /// An unused name.
    fresh: String,
    has_columns: bool,
}

/// The inputs of a body and the outputs of its nodes, with their types.
fn sources(
    engine: &Engine,
    document: &Document,
    within: Option<&str>,
    (inputs, nodes): (&Named<InputDef>, &Named<Node>),
) -> Vec<Linkable> {
    let type_named = |name: &str| engine.registry().type_named(name);
    let mut all: Vec<Linkable> = (inputs.iter())
        .map(|(name, def)| (json!({ "input": &**name }), type_named(&def.ty)))
        .collect();
    let (checked, _) = check(document, engine.registry(), engine.limits());
    let name = within.unwrap_or("");
    let mut bodies = checked.iter().flat_map(|it| it.bodies.as_slice());
    let body = bodies.find(|body| *body.name == *name);
    match (&checked, body) {
        (Some(checked), Some(body)) => {
            for node in &body.nodes {
                for (output, ty) in outputs_of(checked, &node.kind) {
                    all.push((json!({ "from": format!("{}.{output}", node.name) }), Some(ty)));
                }
            }
        }
        _ => {
            let names = nodes.keys();
            all.extend(names.map(|name| (json!({ "from": format!("{name}.value") }), None)));
        }
    }
    all
}

fn outputs_of(checked: &Checked, kind: &CheckedKind) -> Vec<(String, Type)> {
    let of_body = |body| {
        let outputs = checked.bodies[body].outputs.iter();
        outputs.map(|output| (output.name.to_string(), output.ty)).collect()
    };
    match kind {
        CheckedKind::Call(instance) => {
            let names = instance.output_names.iter().map(ToString::to_string);
            names.zip(instance.outputs.iter().map(|slot| slot.ty)).collect()
        }
        CheckedKind::Group(body) => of_body(*body),
        CheckedKind::Zone(zone) => {
            zone.outputs.iter().map(|(name, ty)| (name.to_string(), *ty)).collect()
        }
        CheckedKind::Closure(_) | CheckedKind::Wrong => Vec::new(),
        CheckedKind::Muted(muted) => {
            muted.outputs.iter().map(|output| (output.name.to_string(), output.ty)).collect()
        }
    }
}

/// A value as a literal; a number for values that cannot be written, such as images.
fn literal(ty: Type, number: usize) -> Json {
    let text = value(ty, number).to_string();
    let json = serde_json::from_str(&text).unwrap_or_else(|_| json!(number));
    if matches!(json, Json::Object(_)) { json!({ "value": json }) } else { json }
}

impl Deed {
    fn number(&self) -> usize {
        usize::from(self.number)
    }

    fn is(&self, n: u16) -> bool {
        self.number.is_multiple_of(n)
    }

    /// The element that number `k` of the picks selects.
    fn of<T>(&self, k: usize, mut all: impl ExactSizeIterator<Item = T>) -> Option<T> {
        if all.len() == 0 { None } else { all.nth(self.picks[k].index(all.len())) }
    }

    fn type_at(&self, k: usize) -> Type {
        self.of(k, input_types().into_iter()).expect("there are types")
    }
}

impl<'a> Edited<'a> {
    pub(super) fn new(
        engine: &'a Engine,
        document: &'a Document,
        deed: &Deed,
        fresh: String,
        has_columns: bool,
    ) -> Self {
        let groups = &document.groups;
        let group = deed.within.filter(|_| !groups.is_empty());
        let group = group.and_then(|at| groups.iter().nth(at.index(groups.len())));
        let (within, inputs, outputs, nodes) = match group {
            Some((name, def)) => (Some(&**name), &def.inputs, &def.outputs, &def.nodes),
            None => (None, &document.inputs, &document.outputs, &document.nodes),
        };
        let sources = sources(engine, document, within, (inputs, nodes));
        Self { engine, within, nodes, outputs, sources, fresh, has_columns }
    }

    /// The edit that the step makes in the body, if it is one.
    pub(super) fn edit(&self, deed: &Deed) -> Option<Json> {
        let mut edit = match deed.kind {
            0..=11 => self.edit_of_socket(deed),
            12..=24 | 29 => self.edit_of_node(deed),
            25..=28 => self.edit_of_output(deed),
            30 | 31 => self.edit_of_setting(deed),
            _ => None,
        }?;
        if let Some(group) = self.within {
            match edit.get_mut("edits").and_then(Json::as_array_mut) {
                Some(edits) => edits.iter_mut().for_each(|edit| edit["within"] = group.into()),
                None => edit["within"] = group.into(),
            }
        }
        Some(edit)
    }

    /// The node that number `k` of the picks selects.
    fn node(&self, deed: &Deed, k: usize) -> Option<(&str, Json)> {
        let (name, node) = deed.of(k, self.nodes.iter())?;
        Some((&**name, serde_json::to_value(node).expect("it is JSON")))
    }

    fn edit_of_socket(&self, deed: &Deed) -> Option<Json> {
        let (name, node) = self.node(deed, 0)?;
        let (socket, now) = deed.of(2, node["in"].as_object()?.iter())?;
        let same = |(link, ty): &Linkable| if link == now { *ty } else { None };
        let ty = self.sources.iter().find_map(same);
        let to = match deed.kind {
            0..=8 => self.source(deed, 3, ty),
            9 | 10 => literal(ty.unwrap_or_else(|| deed.type_at(3)), deed.number()),
            _ => return Some(json!({ "edit": "set_input", "node": name, "input": socket })),
        };
        Some(json!({ "edit": "set_input", "node": name, "input": socket, "to": to }))
    }

    /// A source, mostly one of this type.
    fn source(&self, deed: &Deed, k: usize, ty: Option<Type>) -> Json {
        let same = |other: &&Linkable| ty.is_some() && other.1 == ty;
        let same: Vec<&Linkable> = self.sources.iter().filter(same).collect();
        let any = || deed.of(k, self.sources.iter()).filter(|_| !deed.is(3));
        let one = if deed.is(8) { None } else { deed.of(k, same.into_iter()) };
        match one.or_else(any) {
            Some((link, _)) => link.clone(),
            None => literal(deed.type_at(k), deed.number()),
        }
    }

    fn edit_of_node(&self, deed: &Deed) -> Option<Json> {
        let (node, written) = self.node(deed, 0)?;
        let fresh = &self.fresh;
        Some(match deed.kind {
            12 => json!({ "edit": "remove_nodes", "nodes": [node] }),
            13..=17 => {
                let made = self.new_node(deed);
                let add =
                    json!({ "edit": "add_nodes", "nodes": [{ "name": fresh, "node": made }] });
                let def = json!({ "type": "f32", "from": format!("{fresh}.value") });
                let out =
                    json!({ "edit": "add_output", "name": format!("of {fresh}"), "def": def });
                if deed.is(3) { add } else { json!({ "edit": "batch", "edits": [add, out] }) }
            }
            18 => {
                let ty = &self.new_node(deed)["type"];
                json!({ "edit": "replace_type", "node": node, "kind": { "type": ty } })
            }
            19 | 20 => json!({ "edit": "mute", "node": node, "muted": !deed.is(3) }),
            21 => json!({ "edit": "rename_node", "node": node, "to": fresh }),
            22 | 23 => {
                let other = self.node(deed, 1)?.0;
                json!({ "edit": "group", "nodes": [node, other], "name": fresh })
            }
            24 => json!({ "edit": "ungroup", "node": node }),
            // From now on a group runs round by round, or once.
            _ => {
                let group = written["group"].as_str()?;
                let ty = if written["type"] == "group" { "repeat" } else { "group" };
                let kind = json!({ "type": ty, "group": group });
                json!({ "edit": "replace_type", "node": node, "kind": kind })
            }
        })
    }

    fn edit_of_output(&self, deed: &Deed) -> Option<Json> {
        let (link, ty) = deed.of(3, self.sources.iter())?;
        let mut def = link.clone();
        def["type"] = ty.unwrap_or(Type::F32).name().into();
        Some(match deed.of(2, self.outputs.keys()).filter(|_| !deed.is(4)) {
            Some(name) => json!({ "edit": "change_output", "name": &**name, "def": def }),
            None => json!({ "edit": "add_output", "name": self.fresh, "def": def }),
        })
    }

    fn edit_of_setting(&self, deed: &Deed) -> Option<Json> {
        let (node, written) = self.node(deed, 0)?;
        let def = self.engine.registry().get(written["type"].as_str()?)?;
        let setting = deed.of(2, def.settings.iter())?;
        let to = match &setting.kind {
            SettingKind::Choice(choices) => choices[deed.number() % choices.len()].0.into(),
            SettingKind::Flag => json!(deed.is(2)),
            SettingKind::Type => deed.type_at(3).name().into(),
            SettingKind::Integer(min, max) => (min + i64::from(deed.number % 5)).min(*max).into(),
            _ => FORMULAS[deed.number() % FORMULAS.len()].into(),
        };
        Some(json!({ "edit": "set_setting", "node": node, "setting": setting.name, "to": to }))
    }

    /// A node of any type, with links to existing sources.
    fn new_node(&self, deed: &Deed) -> Json {
        let registry = self.engine.registry();
        // Live graphs have only single values, and of the moment only the time.
        let others =
            ["context.", "reduce.", "scan.", "custom.place", "custom.earlier", "custom.total"];
        let lives = |name: &str| !others.iter().any(|start| name.starts_with(start));
        let defs: Vec<_> =
            registry.iter().filter(|def| self.has_columns || lives(&def.name)).collect();
        let def = *deed.of(0, defs.iter()).expect("there are node types");
        let mut set = Map::new();
        for (i, setting) in def.settings.iter().enumerate() {
            let pick = deed.number() / (i + 1);
            let json: Json = match &setting.kind {
                SettingKind::Choice(choices) => choices[pick % choices.len()].0.into(),
                SettingKind::Flag => (pick % 2 == 1).into(),
                SettingKind::Text if *def.name == *"math.expression" => {
                    FORMULAS[pick % FORMULAS.len()].into()
                }
                SettingKind::Text if setting.default.is_none() => "wind".into(),
                _ => continue,
            };
            set.insert(setting.name.into(), json);
        }
        let given = set.iter().map(|(name, json)| (&**name, json));
        let settings = Settings::read(&def.settings, given, &|name| registry.type_named(name));
        let signature = settings.ok().and_then(|set| Some(def.signature(&set).ok()?.into_owned()));
        let sockets = signature.map(|signature| signature.inputs).unwrap_or_default();
        let mut links = Map::new();
        for (i, socket) in sockets.iter().enumerate() {
            let pick = deed.picks[1 + i % 3].index(997) + 31 * i + deed.number();
            let wanted = match socket.ty {
                SocketType::Exact(ty) => Some(ty),
                SocketType::Generic(_) | SocketType::ListOf(_) | SocketType::Made => None,
            };
            let fits = |(_, ty): &&Linkable| match (*ty, wanted) {
                (Some(ty), Some(wanted)) => convert::convertible(ty, wanted),
                (Some(_), None) | (None, _) => true,
            };
            let fitting: Vec<&Linkable> = self.sources.iter().filter(fits).collect();
            let json = if !fitting.is_empty() && (pick % 5 < 3 || !socket.scope.is_empty()) {
                // Later sources are more frequent.
                let among = fitting.len().min(if pick.is_multiple_of(2) { 4 } else { 100 });
                fitting[fitting.len() - 1 - pick / 5 % among].0.clone()
            } else if pick % 5 == 3 || matches!(socket.default, Default::Required) {
                match &*socket.name {
                    "count" | "width" | "decimals" => json!(pick % 4),
                    _ => literal(wanted.unwrap_or_else(|| deed.type_at(1)), pick),
                }
            } else {
                continue;
            };
            links.insert(socket.name.to_string(), json);
        }
        json!({ "type": &*def.name, "set": set, "in": links })
    }
}
