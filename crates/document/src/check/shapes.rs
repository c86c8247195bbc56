//! The shapes of nodes, before types are known: node types with their settings.

use std::borrow::Cow;
use std::hash::{Hash, Hasher, RandomState};
use std::sync::Arc;

use hashbrown::{Equivalent, HashMap};
use millstream_base::Type;
use millstream_node::interface::{CALL, settings_of_call};
use millstream_node::node_def::formula::FormulaTerm;
use millstream_node::settings::SettingError;
use millstream_node::zone::Course;
use millstream_node::{NodeDef, Registry, Settings, Signature};
use millstream_node::{Zone, group};
use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use super::error::CheckError;
use super::face::BodyDef;
use crate::at::At;
use crate::fields::Fields;
use crate::model::{
    Document, Entry, Find, Form, InputDef, Named, Node, NodeKind, OutputDef, Places, Setting,
};
use crate::problems::{Problems, listed, shortened};

/// The hint for a name with `/` that leads to no used document.
fn unknown_use(form: Form) -> String {
    let use_line = form
        .of("\"use\": { \"noise\": \"lib/noise.mill.json\" }", "`use noise = \"lib/noise.mill\"`");
    format!("name the document that holds it: {use_line}")
}

/// A node type with settings.
pub(super) struct Shape {
    pub(super) def: Arc<NodeDef>,
    pub(super) settings: Settings,
    pub(super) signature: Signature,
}

impl Shape {
    /// Whether it is a formula that chooses by an input or a constant.
    pub(super) fn chooses_in_formula(&self) -> bool {
        let formula = self.def.formula.as_ref().and_then(|_| self.def.formula_in(&self.settings));
        formula.is_some_and(|it| {
            it.terms.iter().any(|term| matches!(term, FormulaTerm::Choose { .. }))
        })
    }
}

/// A group that runs many times.
pub(super) struct ZoneShape {
    pub(super) group: u32,
    pub(super) course: Course,
}

/// A group as a value.
pub(super) struct ClosureShape {
    pub(super) group: u32,
    /// The inputs of the group that are captures, ascending.
    pub(super) captures: Vec<u32>,
}

/// The shape of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeShape {
    /// The node type at this position.
    Def(u32),
    /// The body at this position.
    Group(u32),
    /// The zone at this position.
    Zone(u32),
    /// The closure at this position.
    Closure(u32),
    /// A call of a closure whose interface is not known yet.
    Call,
    /// Unknown; the reason has been reported.
    Broken,
}

/// Determines the shapes of nodes.
pub(super) struct Shapes<'d> {
    pub(super) document: &'d Document,
    registry: &'d Registry,
    known: KnownShapes,
}

/// The shapes found with one registry, without duplicates.
#[derive(Default)]
pub(super) struct KnownShapes {
    shapes: Vec<Shape>,
    zones: Vec<ZoneShape>,
    closures: Vec<ClosureShape>,
    /// The shapes of calls, by the type of the closure.
    calls: FxHashMap<Type, u32>,
    /// Node types by name, each with its shape without settings.
    plain: FxHashMap<Arc<str>, (Arc<NodeDef>, Option<u32>)>,
    /// Hashed with a seed, because the settings come from untrusted documents.
    with_settings: HashMap<SettingsKey, u32, RandomState>,
}

impl KnownShapes {
    pub(super) fn len(&self) -> usize {
        self.shapes.len() + self.zones.len() + self.closures.len()
    }
}

struct SettingsKey {
    node_type: Arc<str>,
    set: Fields<Setting>,
}

impl PartialEq for SettingsKey {
    fn eq(&self, other: &Self) -> bool {
        SettingsOf(&self.node_type, &self.set).equivalent(other)
    }
}
impl Eq for SettingsKey {}

/// A key that borrows its parts.
struct SettingsOf<'n>(&'n Arc<str>, &'n Fields<Setting>);

impl Hash for SettingsKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        SettingsOf(&self.node_type, &self.set).hash(state);
    }
}

impl Hash for SettingsOf<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
        for (name, setting) in self.1.iter() {
            name.hash(state);
            setting.json.hash(state);
        }
    }
}

impl Equivalent<SettingsKey> for SettingsOf<'_> {
    fn equivalent(&self, key: &SettingsKey) -> bool {
        let mut pairs = self.1.iter().zip(key.set.iter());
        *self.0 == key.node_type
            && self.1.len() == key.set.len()
            && pairs.all(|((a, x), (b, y))| a == b && same_json(&x.json, &y.json))
    }
}

/// Equality to the bit: zeros of opposite sign differ.
fn same_json(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(x), Json::Number(y)) => {
            let bits = |number: &serde_json::Number| number.as_f64().map(f64::to_bits);
            x == y && bits(x) == bits(y)
        }
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_json(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            let same = |(name, a): (&String, &Json)| b.get(name).is_some_and(|b| same_json(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        (a, b) => a == b,
    }
}

impl<'d> Shapes<'d> {
    /// Prepares for the nodes of a document, reusing shapes that are already known.
    pub(super) fn new(document: &'d Document, registry: &'d Registry, known: KnownShapes) -> Self {
        Self { document, registry, known }
    }

    pub(super) fn into_known(self) -> KnownShapes {
        self.known
    }

    pub(super) fn registry(&self) -> &'d Registry {
        self.registry
    }

    /// The form of the document, for messages.
    pub(super) fn form(&self) -> Form {
        self.document.form
    }

    pub(super) fn get(&self, shape: u32) -> &Shape {
        &self.known.shapes[shape as usize]
    }

    pub(super) fn zone(&self, zone: u32) -> &ZoneShape {
        &self.known.zones[zone as usize]
    }

    pub(super) fn closure(&self, closure: u32) -> &ClosureShape {
        &self.known.closures[closure as usize]
    }

    /// The shape of a call of closures of this type.
    pub(super) fn of_call(&mut self, ty: Type) -> NodeShape {
        let def = self.registry.typed_call();
        let shapes = &mut self.known.shapes;
        let shape = self.known.calls.entry(ty).or_insert_with(|| {
            let settings = settings_of_call(ty);
            let signature = def.signature(&settings).map(Cow::into_owned);
            let signature = signature.expect("the type is that of a closure");
            shapes.push(Shape { def: Arc::clone(def), settings, signature });
            shapes.len() as u32 - 1
        });
        NodeShape::Def(*shape)
    }

    /// The shape of a node; reports why it has none.
    pub(super) fn of(&mut self, node: &Node, at: At<'_>, problems: &mut Problems) -> NodeShape {
        if node.spot.is_unreadable() {
            return NodeShape::Broken;
        }
        match &node.kind {
            NodeKind::Type(name) if **name == *CALL => {
                let has_settings = self.settings_of(node, &[], at, problems).is_some();
                if has_settings { NodeShape::Call } else { NodeShape::Broken }
            }
            NodeKind::Type(name) => self.of_type(node, name, at, problems),
            NodeKind::Group(name) => match self.group(name, node, at, problems) {
                Some(group) if self.has_group_settings(node, at, problems) => {
                    NodeShape::Group(group)
                }
                Some(_) | None => NodeShape::Broken,
            },
            NodeKind::Zone(zone, name) => {
                let group = self.group(name, node, at, problems).and_then(|group| {
                    let (_, def) = self.document.groups.get_index(group as usize)?;
                    Some((group, &def.inputs, &def.outputs))
                });
                let zone = *zone;
                let shape = group.and_then(|group| self.of_zone(node, zone, group, at, problems));
                shape.map_or(NodeShape::Broken, |shape| self.add_zone(shape))
            }
            NodeKind::Closure(name) => match self.group(name, node, at, problems) {
                Some(group) if self.settings_of(node, &[], at, problems).is_some() => {
                    self.add_closure(node, group)
                }
                Some(_) | None => NodeShape::Broken,
            },
        }
    }

    /// A closure of a group: the inputs that are written are captures.
    fn add_closure(&mut self, node: &Node, group: u32) -> NodeShape {
        let (_, def) = self.document.groups.get_index(group as usize).expect("it was found");
        let written = (0..).zip(def.inputs.keys());
        let written = written.filter(|(_, name)| node.inputs.get(name).is_some());
        let captures = written.map(|(at, _)| at).collect();
        self.known.closures.push(ClosureShape { group, captures });
        NodeShape::Closure(self.known.closures.len() as u32 - 1)
    }

    /// The position of the group of this name, which the node uses.
    fn group(&self, name: &str, node: &Node, at: At<'_>, problems: &mut Problems) -> Option<u32> {
        let group = self.document.groups.get_index_of(name);
        match group.and_then(|group| self.document.groups.get_index(group).zip(Some(group))) {
            // The problem with its first line, or with an entry of it, was already reported.
            Some(((_, def), _)) if def.spot.is_unreadable() => {
                problems.note_wrong(at);
                None
            }
            Some((_, group)) => Some(group as u32),
            None => {
                let elsewhere = self.document.elsewhere(self.registry);
                let unread = self.document.unread;
                if matches!(elsewhere.find(name), Find::Unusable)
                    || unread.has(Entry::Groups)
                    || unread.has(Entry::Uses)
                {
                    // A problem with the place that holds the group was already reported.
                    problems.note_wrong(at);
                    return None;
                }
                let groups = self.document.group_names(name, self.registry);
                let groups = groups.iter().map(|name| &**name);
                let none = || match groups.len() {
                    0 if name.contains('/') => unknown_use(self.form()),
                    0 => "the document has no groups".into(),
                    _ => format!("groups: {}", listed(groups.clone())),
                };
                let hint = problems.suggest(name, groups.clone(), none);
                let error = CheckError::UnknownGroup { name: shortened(name), hint };
                problems.report(at, node.spot.span(), &error);
                None
            }
        }
    }

    /// The shape of a node that runs this group, as if it were the first in its document.
    pub(super) fn zone_of_first(
        &mut self,
        node: &Node,
        zone: Zone,
        group: BodyDef<'_>,
        at: At<'_>,
        problems: &mut Problems,
    ) -> NodeShape {
        let shape = self.of_zone(node, zone, (0, group.inputs, group.outputs), at, problems);
        shape.map_or(NodeShape::Broken, |shape| self.add_zone(shape))
    }

    fn add_zone(&mut self, shape: ZoneShape) -> NodeShape {
        self.known.zones.push(shape);
        NodeShape::Zone(self.known.zones.len() as u32 - 1)
    }

    /// Whether the settings of a node that uses a group are valid; problems are reported.
    pub(super) fn has_group_settings(
        &self,
        node: &Node,
        at: At<'_>,
        problems: &mut Problems,
    ) -> bool {
        node.set.is_empty() || self.settings_of(node, &group::settings(), at, problems).is_some()
    }

    /// The settings of a node; problems are reported.
    fn settings_of(
        &self,
        node: &Node,
        known: &[millstream_node::settings::Setting],
        at: At<'_>,
        problems: &mut Problems,
    ) -> Option<Settings> {
        let given = node.set.iter().map(|(name, setting)| (&**name, &setting.json));
        let type_named = |name: &str| self.registry.type_named(name);
        let read = Settings::read(known, given, &type_named).map_err(|errors| {
            for error in &errors {
                report_setting(node, error, at, problems);
            }
        });
        read.ok()
    }

    /// The shape of a zone, by its settings.
    fn of_zone(
        &self,
        node: &Node,
        zone: Zone,
        (group, inputs, outputs): (u32, &Named<InputDef>, &Named<OutputDef>),
        at: At<'_>,
        problems: &mut Problems,
    ) -> Option<ZoneShape> {
        let settings = self.settings_of(node, &zone.settings(), at, problems)?;
        let inputs: Vec<&str> = inputs.keys().map(|name| &**name).collect();
        let outputs: Vec<&str> = outputs.keys().map(|name| &**name).collect();
        match zone.course(&settings, &inputs, &outputs) {
            Ok(course) => Some(ZoneShape { group, course }),
            Err(error) => {
                report_setting(node, &error, at, problems);
                None
            }
        }
    }

    fn of_type(
        &mut self,
        node: &Node,
        name: &Arc<str>,
        at: At<'_>,
        problems: &mut Problems,
    ) -> NodeShape {
        let def = match self.known.plain.get(name) {
            Some((def, Some(shape))) if node.set.is_empty() && node.version == def.version => {
                return NodeShape::Def(*shape);
            }
            Some((def, _)) => Arc::clone(def),
            None => match self.registry.get(name) {
                Some(def) => {
                    self.known.plain.insert(Arc::clone(name), (Arc::clone(def), None));
                    Arc::clone(def)
                }
                None => {
                    self.report_unknown_type(node, name, at, problems);
                    return NodeShape::Broken;
                }
            },
        };
        if node.version != def.version {
            let hint = if node.version > def.version {
                "open it with a newer release of the node library"
            } else {
                "there is no upgrade; create the node again"
            };
            let name = name.to_string();
            let (version, known) = (node.version, def.version);
            let error = CheckError::NodeVersion { name, version, known, hint };
            problems.report(at, node.spot.span(), &error);
            return NodeShape::Broken;
        }
        if !node.set.is_empty()
            && let Some(shape) = self.known.with_settings.get(&SettingsOf(name, &node.set))
        {
            return NodeShape::Def(*shape);
        }
        let Some(shape) = self.made(node, &def, at, problems) else { return NodeShape::Broken };
        let id = self.known.shapes.len() as u32;
        self.known.shapes.push(shape);
        if node.set.is_empty() {
            self.known.plain.insert(Arc::clone(name), (def, Some(id)));
        } else {
            let key = SettingsKey { node_type: Arc::clone(name), set: node.set.clone() };
            self.known.with_settings.insert(key, id);
        }
        NodeShape::Def(id)
    }

    fn made(
        &self,
        node: &Node,
        def: &Arc<NodeDef>,
        at: At<'_>,
        problems: &mut Problems,
    ) -> Option<Shape> {
        let given = node.set.iter().map(|(name, setting)| (&**name, &setting.json));
        let type_named = |name: &str| self.registry.type_named(name);
        let settings = match Settings::read(&def.settings, given, &type_named) {
            Ok(settings) => settings,
            Err(errors) => {
                for error in errors {
                    report_setting(node, &self.with_hint((node, at), def, error), at, problems);
                }
                return None;
            }
        };
        match def.signature(&settings).map(Cow::into_owned) {
            Ok(signature) => Some(Shape { def: Arc::clone(def), settings, signature }),
            Err(error) => {
                report_setting(node, &self.with_hint((node, at), def, error), at, problems);
                None
            }
        }
    }

    fn report_unknown_type(&self, node: &Node, name: &str, at: At<'_>, problems: &mut Problems) {
        let hint = if problems.is_full() {
            String::new()
        } else if self.document.groups.contains_key(name) {
            let name = shortened(name);
            let json = format!("\"type\": \"group\", \"group\": \"{name}\"");
            let written = self.form().of(json, format!("`group {name}(...)`"));
            format!("write the use of a group as {written}")
        } else {
            let near = || (name.len() <= 256).then(|| self.registry.nearest(name)).flatten();
            let near = || near().map(|near| format!("did you mean `{near}`?"));
            let hint = self.hint_of_function(name).or_else(near);
            hint.unwrap_or_else(|| "`millstream nodes` lists all node types".into())
        };
        let error = CheckError::UnknownNodeType { name: shortened(name), hint };
        problems.report(at, node.spot.span(), &error);
    }
}

/// Reports a problem with a setting at its position.
pub(super) fn report_setting(
    node: &Node,
    error: &SettingError,
    at: At<'_>,
    problems: &mut Problems,
) {
    let setting = node.set.get(error.name());
    let span = setting.map_or(node.spot.span(), |setting| match error {
        SettingError::Refused { range: Some((start, end)), .. } => {
            setting.part(*start, *end).unwrap_or(setting.spot.span())
        }
        SettingError::Refused { range: None, .. }
        | SettingError::Unknown { .. }
        | SettingError::WrongValue { .. }
        | SettingError::Missing { .. } => setting.spot.span(),
        // The enum belongs to another crate and may grow.
        _ => setting.spot.span(),
    });
    if let SettingError::Refused { message, hint, .. } = error
        && setting.is_some_and(is_formula)
    {
        let (message, hint) = (message.clone(), hint.clone());
        problems.report(at, span, &CheckError::Formula { message, hint });
    } else {
        problems.report(at, span, error);
    }
}

/// Whether the text of a setting stands in the document as a formula, without quotes.
fn is_formula(setting: &Setting) -> bool {
    let is_bare = |text: &String| !text.is_empty() && setting.spot.span().len() == text.len();
    let Places { parts, is_quoted } = &setting.places;
    match parts {
        Some(_) => !is_quoted,
        None => matches!(&setting.json, Json::String(text) if is_bare(text)),
    }
}
