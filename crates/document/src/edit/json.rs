//! Parts of documents inside edits, in the notation of documents, read with `serde`.
//!
//! Documents themselves are read by `load`, which tracks positions and reports all problems.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use millstream_node::Zone;
use millstream_node::interface::CLOSURE;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value as Json};

use crate::fields::Fields;
use crate::model::{
    GroupDef, Input, InputDef, InputValue, Link, Named, Node, NodeKind, OutputDef, OutputFrom,
    Setting,
};
use crate::save::{SOURCE_KEYS, marks_sources};

/// Reads an entry that is present, even if it is `null`.
pub(super) fn given<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Json::deserialize(deserializer).map(Self::from)
    }
}

impl<'de> Deserialize<'de> for Link {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        link(&text).map_err(Error::custom)
    }
}

fn link(text: &str) -> Result<Link, String> {
    match text.split_once('.') {
        Some((node, output)) if !node.is_empty() && !output.is_empty() => {
            Ok(Link::new(node, output))
        }
        Some(_) | None => Err(format!("`{text}` is not a link; links are written \"node.output\"")),
    }
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        input(Json::deserialize(deserializer)?).map(Self::from).map_err(Error::custom)
    }
}

fn input(json: Json) -> Result<InputValue, String> {
    match json {
        Json::Object(object) => source(object),
        Json::Array(items) if items.iter().any(marks_sources) => {
            let sources = items.into_iter().map(|item| match item {
                Json::Object(object) => source(object).map(Input::from),
                _ => Err("a literal in a list of sources is written { \"value\": ... }".into()),
            });
            Ok(InputValue::Several(sources.collect::<Result<_, String>>()?))
        }
        json => Ok(InputValue::Literal(json.into())),
    }
}

fn source(object: Map<String, Json>) -> Result<InputValue, String> {
    let mut entries = object.into_iter();
    let (Some((key, value)), None) = (entries.next(), entries.next()) else {
        return Err(WHICH.into());
    };
    match (key.as_str(), value) {
        ("from", Json::String(text)) => link(&text).map(InputValue::Link),
        ("input", Json::String(name)) => Ok(InputValue::Input(name.into())),
        ("value", json) => Ok(InputValue::Literal(json.into())),
        (known, _) if SOURCE_KEYS.contains(&known) => Err(format!("`{known}` must be a string")),
        _ => Err(WHICH.into()),
    }
}

const WHICH: &str = "a source has one of the keys `from`, `input` and `value`";

/// The entries of a node.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeText {
    #[serde(rename = "type")]
    ty: Arc<str>,
    group: Option<Arc<str>>,
    #[serde(default)]
    set: Fields<Setting>,
    #[serde(rename = "in", default)]
    inputs: Fields<Input>,
    #[serde(default)]
    muted: bool,
    #[serde(default = "first_version")]
    version: u32,
}

fn first_version() -> u32 {
    1
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let NodeText { ty, group, set, inputs, muted, version } =
            NodeText::deserialize(deserializer)?;
        let kind = kind(ty, group).map_err(Error::custom)?;
        Ok(Self { set, inputs, muted, version, ..Self::new(kind) })
    }
}

/// The entries that define the kind of a node.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct KindText {
    #[serde(rename = "type")]
    ty: Arc<str>,
    group: Option<Arc<str>>,
}

impl<'de> Deserialize<'de> for NodeKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let KindText { ty, group } = KindText::deserialize(deserializer)?;
        kind(ty, group).map_err(Error::custom)
    }
}

fn kind(ty: Arc<str>, group: Option<Arc<str>>) -> Result<NodeKind, &'static str> {
    match (&*ty, Zone::named(&ty), group) {
        ("group", _, Some(group)) => Ok(NodeKind::Group(group)),
        (CLOSURE, _, Some(group)) => Ok(NodeKind::Closure(group)),
        (_, Some(zone), Some(group)) => Ok(NodeKind::Zone(zone, group)),
        ("group" | CLOSURE, _, None) | (_, Some(_), None) => {
            Err("a node of type `group` or `closure`, or of a zone, names its `group`")
        }
        (_, None, Some(_)) => {
            Err("only nodes of type `group` or `closure`, and zones, have a `group`")
        }
        (_, None, None) => Ok(NodeKind::Type(ty)),
    }
}

/// The entries of an output.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputText {
    #[serde(rename = "type")]
    ty: Arc<str>,
    from: Option<Link>,
    input: Option<Arc<str>>,
    about: Option<Arc<str>>,
    unit: Option<Arc<str>>,
}

impl<'de> Deserialize<'de> for OutputDef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let OutputText { ty, from, input, about, unit } = OutputText::deserialize(deserializer)?;
        let from = match (from, input) {
            (Some(link), None) => OutputFrom::Link(link),
            (None, Some(name)) => OutputFrom::Input(name),
            _ => return Err(Error::custom("an output has one of the keys `from` and `input`")),
        };
        Ok(Self { about, unit, ..Self::new(ty, from) })
    }
}

/// The entries of an input; spots are not among them, and none may be `null`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct InputText {
    #[serde(rename = "type")]
    ty: Arc<str>,
    #[serde(default, deserialize_with = "given")]
    default: Option<Json>,
    min: Option<f64>,
    max: Option<f64>,
    step: Option<f64>,
    about: Option<Arc<str>>,
    unit: Option<Arc<str>>,
}

impl<'de> Deserialize<'de> for InputDef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let InputText { ty, default, min, max, step, about, unit } =
            InputText::deserialize(deserializer)?;
        let new = Self::new(ty);
        Ok(Self { default, min, max, step, about, unit, ..new })
    }
}

/// The entries of a group.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupText {
    #[serde(default)]
    inputs: Named<InputDef>,
    #[serde(default)]
    outputs: Named<OutputDef>,
    #[serde(default)]
    nodes: Named<Node>,
    about: Option<Arc<str>>,
}

impl<'de> Deserialize<'de> for GroupDef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let GroupText { inputs, outputs, nodes, about } = GroupText::deserialize(deserializer)?;
        Ok(Self { inputs, outputs, nodes, about, ..Self::default() })
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut named = Self::new();
        let add = |name, thing| named.insert(name, thing).is_none();
        deserializer.deserialize_map(Entries { add, thing: PhantomData })?;
        Ok(named)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Fields<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Self::new();
        let add = |name: Arc<str>, thing| fields.insert(name, thing).is_none();
        deserializer.deserialize_map(Entries { add, thing: PhantomData })?;
        Ok(fields)
    }
}

/// Reads the entries of an object in order; `add` returns whether a name is new.
struct Entries<T, F> {
    add: F,
    thing: PhantomData<T>,
}

impl<'de, T, F> Visitor<'de> for Entries<T, F>
where
    T: Deserialize<'de>,
    F: FnMut(Arc<str>, T) -> bool,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some((name, thing)) = map.next_entry::<Arc<str>, T>()? {
            if !(self.add)(Arc::clone(&name), thing) {
                return Err(Error::custom(format!("`{name}` is written twice")));
            }
        }
        Ok(())
    }
}
