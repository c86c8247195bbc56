//! Saving: a document as JSON, with names in their order.

use millstream_node::interface::CLOSURE;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::fields::Fields;
use crate::layout::laid_out;
use crate::model::{
    Document, GroupDef, Input, InputValue, Link, Named, NodeKind, OutputFrom, Setting, Short,
    UseDef,
};
use crate::view::View;

/// The text of a document, formatted so that a changed node is a changed line.
///
/// `load` returns an equal document of the same format, with names in the same order.
pub fn save(document: &Document) -> String {
    let compact =
        serde_json::to_string(document).expect("keys are strings, and nothing else can fail");
    laid_out(&compact)
}

/// The keys that mark a source written as an object.
pub(crate) const SOURCE_KEYS: [&str; 3] = ["from", "input", "value"];

/// Whether a list with this item is read as a list of sources.
pub(crate) fn marks_sources(item: &Json) -> bool {
    item.as_object().is_some_and(|object| object.keys().any(|k| SOURCE_KEYS.contains(&k.as_str())))
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(schema) = &self.schema {
            map.serialize_entry("$schema", schema)?;
        }
        map.serialize_entry("millstream", &self.format)?;
        if !self.name.is_empty() {
            map.serialize_entry("name", &self.name)?;
        }
        if self.fps != Self::DEFAULT_FPS {
            map.serialize_entry("fps", &Short(self.fps))?;
        }
        if self.start_frame != 0 {
            map.serialize_entry("start_frame", &self.start_frame)?;
        }
        if !self.inputs.is_empty() {
            map.serialize_entry("inputs", &self.inputs)?;
        }
        if !self.outputs.is_empty() {
            map.serialize_entry("outputs", &self.outputs)?;
        }
        if !self.nodes.is_empty() {
            map.serialize_entry("nodes", &self.nodes)?;
        }
        if self.groups.values().any(|group| group.file.is_none()) {
            map.serialize_entry("groups", &OwnGroups(&self.groups))?;
        }
        if !self.uses.is_empty() {
            map.serialize_entry("use", &self.uses)?;
        }
        if !self.lock.is_empty() {
            map.serialize_entry("lock", &self.lock)?;
        }
        if !self.view.is_empty() {
            map.serialize_entry("view", &self.view)?;
        }
        map.end()
    }
}

/// The groups, without those of used documents.
struct OwnGroups<'a>(&'a Named<GroupDef>);

impl Serialize for OwnGroups<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().filter(|(_, group)| group.file.is_none()))
    }
}

impl Serialize for UseDef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.path.serialize(serializer)
    }
}

impl Serialize for NodeKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Type(name) => map.serialize_entry("type", name)?,
            // A document defines this node type.
            Self::Group(name) if name.contains('.') && !name.contains('/') => {
                map.serialize_entry("type", name)?;
            }
            Self::Group(name) => {
                map.serialize_entry("type", "group")?;
                map.serialize_entry("group", name)?;
            }
            Self::Zone(zone, name) => {
                map.serialize_entry("type", zone.name())?;
                map.serialize_entry("group", name)?;
            }
            Self::Closure(name) => {
                map.serialize_entry("type", CLOSURE)?;
                map.serialize_entry("group", name)?;
            }
        }
        map.end()
    }
}

impl Serialize for OutputFrom {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Link(link) => entry(serializer, "from", link),
            Self::Input(name) => entry(serializer, "input", name),
        }
    }
}

impl Serialize for Link {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

impl Serialize for Input {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            InputValue::Link(link) => entry(serializer, "from", link),
            InputValue::Input(name) => entry(serializer, "input", name),
            InputValue::Literal(json) => match &**json {
                Json::Object(_) => entry(serializer, "value", json),
                Json::Array(items) if items.iter().any(marks_sources) => {
                    entry(serializer, "value", json)
                }
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                    json.serialize(serializer)
                }
            },
            InputValue::Several(sources) => {
                serializer.collect_seq(sources.iter().map(OneOfSeveral))
            }
        }
    }
}

/// One source in a list, where literals are marked.
struct OneOfSeveral<'a>(&'a Input);

impl Serialize for OneOfSeveral<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.value {
            InputValue::Literal(json) => entry(serializer, "value", json),
            InputValue::Link(_) | InputValue::Input(_) | InputValue::Several(_) => {
                self.0.serialize(serializer)
            }
        }
    }
}

fn entry<S: Serializer>(
    serializer: S,
    key: &str,
    value: &(impl Serialize + ?Sized),
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(key, value)?;
    map.end()
}

impl<T: Serialize> Serialize for Fields<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl Serialize for View {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.text() {
            Some(text) => serde_json::from_str::<&RawValue>(text)
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
            None => serializer.serialize_none(),
        }
    }
}
