//! The document as it is written: names and JSON literals, in the author's order.
//!
//! Nothing here is resolved; `check` determines the meaning of names. Names are shared strings, and
//! the inputs of a node are one short list, so that a document of a million nodes stays small.

use std::sync::Arc;

use millstream_base::{Span, UsedFile};
use millstream_node::Zone;
use millstream_node::interface::CALL;
use millstream_node::signature::Widths;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use crate::fields::Fields;
pub use crate::name_table::{NameTable, is_same};
pub use crate::named::{NameHasher, Named};
use crate::spot::Spot;
use crate::view::View;

mod made;
mod places;
#[cfg(test)]
mod schema;
mod unread;
mod used;

pub use made::{Made, Part, WrongArgument};
pub use unread::{Entry, Unread};
pub(crate) use used::{Find, UsedDocument, UsedDocuments};
pub use used::{Used, node_body};

/// The newest format version.
pub const FORMAT_VERSION: u32 = 2;

/// A document: a graph with its groups, as an author wrote it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(deny_unknown_fields, transform = crate::model::schema::with_format_version)
)]
pub struct Document {
    /// The format version whose rules give the document its meaning. A loaded document has version
    /// 1 until [`upgrade_widths`](crate::upgrade_widths) raises it.
    #[cfg_attr(test, schemars(skip))]
    pub format: u32,
    /// Address of a JSON Schema for text editors.
    #[cfg_attr(test, schemars(rename = "$schema"))]
    pub schema: Option<Arc<str>>,
    /// Title.
    #[cfg_attr(test, schemars(default))]
    pub name: Arc<str>,
    /// Frames per second; frame n is tick n at n / fps seconds.
    #[cfg_attr(test, schemars(default = "crate::model::schema::default_fps", extend("exclusiveMinimum" = 0)))]
    pub fps: f64,
    /// The frame at which state starts.
    #[cfg_attr(test, schemars(default))]
    pub start_frame: i64,
    /// The inputs, which a caller sets.
    #[cfg_attr(test, schemars(default))]
    pub inputs: Named<InputDef>,
    /// The outputs, which a caller requests.
    #[cfg_attr(test, schemars(default))]
    pub outputs: Named<OutputDef>,
    /// The nodes outside of groups.
    #[cfg_attr(test, schemars(default))]
    pub nodes: Named<Node>,
    /// The groups that nodes may use, including those that only other groups use. They include
    /// groups of used documents, whose names contain a `/` and which are not saved.
    #[cfg_attr(test, schemars(default))]
    pub groups: Named<GroupDef>,
    /// The documents whose groups nodes may use as `name/group`, or as a whole as `name`.
    #[cfg_attr(test, schemars(default, rename = "use"))]
    pub uses: Named<UseDef>,
    /// The required content of the used documents.
    #[cfg_attr(test, schemars(default))]
    pub lock: Named<Lock>,
    /// The view data of editors.
    #[cfg_attr(test, schemars(with = "Option<serde_json::Value>"))]
    pub view: View,
    /// The used documents, once they have been read.
    #[cfg_attr(test, schemars(skip))]
    pub used: Used,
    /// The form in which the document was written.
    #[cfg_attr(test, schemars(skip))]
    pub form: Form,
    /// The entries that loading could not read.
    #[cfg_attr(test, schemars(skip))]
    pub unread: Unread,
}

/// The form in which a document was written, so that messages show its syntax.
///
/// All values are equal, as with [spots](Spot).
#[derive(Clone, Copy, Debug, Default)]
pub enum Form {
    /// JSON, `FILE.mill.json`.
    #[default]
    Json,
    /// The text form, `FILE.mill`.
    Text,
}

impl PartialEq for Form {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Form {}

impl Form {
    /// Chooses between the JSON notation and that of the text form.
    pub fn of<T>(self, json: T, text: T) -> T {
        match self {
            Self::Json => json,
            Self::Text => text,
        }
    }
}

/// A document that is used, by its path relative to the document that uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UseDef {
    /// The path, with `/` between its parts.
    pub path: Arc<str>,
    /// The position of the use in the text.
    pub spot: Spot,
}

/// The required content of a used document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Lock {
    /// Version of the format of the used document.
    pub format: u32,
    /// A hash of its content and of the documents that it uses, without layout and view data.
    pub hash: Arc<str>,
    /// The position of the lock in the text.
    #[serde(skip)]
    pub spot: Spot,
}

/// A group: a graph that nodes of type `group` use by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct GroupDef {
    /// The input sockets of nodes that use the group.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub inputs: Named<InputDef>,
    /// The output sockets of nodes that use the group.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub outputs: Named<OutputDef>,
    /// The nodes of the group.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub nodes: Named<Node>,
    /// The purpose of the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<Arc<str>>,
    /// The position of the group in the text.
    #[serde(skip)]
    pub spot: Spot,
    /// The used document that the group comes from; edits cannot change such a group.
    #[serde(skip)]
    pub file: Option<Arc<UsedFile>>,
    /// Whether that document is of format 1, in which generics may narrow linked values.
    #[serde(skip)]
    pub is_of_format_1: bool,
}

/// An input of a document or a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct InputDef {
    /// Name of the type.
    #[serde(rename = "type")]
    pub ty: Arc<str>,
    /// The value if none is given; without a default a value is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Json>,
    /// Smallest sensible value, for each lane.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub min: Option<f64>,
    /// Largest sensible value, for each lane.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub max: Option<f64>,
    /// Step of a control that changes the value.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short")]
    pub step: Option<f64>,
    /// The meaning of the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<Arc<str>>,
    /// Unit of measure, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Arc<str>>,
    /// The position of the input in the text.
    #[serde(skip)]
    pub spot: Spot,
    /// The position of the default in the text.
    #[serde(skip)]
    pub default_spot: Spot,
}

/// An output of a document or a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct OutputDef {
    /// Name of the type.
    #[serde(rename = "type")]
    pub ty: Arc<str>,
    /// The source of the value.
    #[serde(flatten)]
    pub from: OutputFrom,
    /// The meaning of the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<Arc<str>>,
    /// Unit of measure, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Arc<str>>,
    /// The position of the output in the text.
    #[serde(skip)]
    pub spot: Spot,
    /// The position of its source in the text; empty if it is not known separately.
    #[serde(skip)]
    pub source_spot: Spot,
}

/// The source of an output.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputFrom {
    /// An output of a node.
    Link(Link),
    /// An input of the same document or group.
    Input(Arc<str>),
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Node {
    /// The kind of the node.
    #[serde(flatten)]
    pub kind: NodeKind,
    /// Its settings, fixed when the document is compiled.
    #[serde(default, skip_serializing_if = "Fields::is_empty")]
    pub set: Fields<Setting>,
    /// Its sources, by socket.
    #[serde(rename = "in", default, skip_serializing_if = "Fields::is_empty")]
    pub inputs: Fields<Input>,
    /// Whether the node is muted: each output passes on the first input of its type.
    #[serde(default, skip_serializing_if = "is_false")]
    pub muted: bool,
    /// Version of the node type for which the node was written; 1 unless stated.
    #[cfg_attr(test, schemars(default = "crate::model::schema::first_version", range(min = 1)))]
    #[serde(skip_serializing_if = "is_first_version")]
    pub version: u32,
    /// The position of the node in the text.
    #[serde(skip)]
    pub spot: Spot,
    /// How the node comes from a formula that calls groups, in a document that is checked.
    #[serde(skip)]
    pub made: Option<Box<Made>>,
}

/// The kind of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A node of the type of this name.
    Type(Arc<str>),
    /// A use of the group of this name.
    Group(Arc<str>),
    /// A node that runs the group of this name many times.
    Zone(Zone, Arc<str>),
    /// A node that makes a closure of the group of this name.
    Closure(Arc<str>),
}

impl NodeKind {
    /// Whether such nodes take or give closures: they make one, or call one.
    pub fn is_of_closures(&self) -> bool {
        match self {
            Self::Type(name) => **name == *CALL,
            Self::Closure(_) => true,
            Self::Group(_) | Self::Zone(..) => false,
        }
    }

    /// The group that the node uses, if any.
    pub fn group(&self) -> Option<&Arc<str>> {
        match self {
            Self::Type(_) => None,
            Self::Group(group) | Self::Zone(_, group) | Self::Closure(group) => Some(group),
        }
    }

    /// The kind with another name of the node type or group.
    #[must_use]
    pub fn renamed(&self, name: Arc<str>) -> Self {
        match self {
            Self::Type(_) => Self::Type(name),
            Self::Group(_) => Self::Group(name),
            Self::Zone(zone, _) => Self::Zone(*zone, name),
            Self::Closure(_) => Self::Closure(name),
        }
    }
}

/// A setting of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The value.
    pub json: Json,
    /// The position of the setting in the text.
    pub spot: Spot,
    /// The positions of the parts of its string, if they differ from those in the document.
    pub places: Places,
}

/// The positions of the parts of a string.
///
/// All values are equal, as with [spots](Spot).
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Pairs of byte offsets in the string and in the document, in order; `None` for a string that
    /// the document contains verbatim.
    pub parts: Option<Box<[(u32, u32)]>>,
    /// Whether the document contains the string in quotes, with escapes.
    pub is_quoted: bool,
}

impl PartialEq for Places {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The source of a socket.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The source, or several.
    pub value: InputValue,
    /// The position of the source in the text.
    pub spot: Spot,
}

/// The source of a socket, without its position.
#[derive(Clone, Debug, PartialEq)]
pub enum InputValue {
    /// A value as JSON, which is read once the type of the socket is known.
    Literal(Box<Json>),
    /// An output of a node.
    Link(Link),
    /// An input of the enclosing document or group.
    Input(Arc<str>),
    /// Several sources, for a socket that takes several; none of them is itself such a list.
    Several(Vec<Input>),
}

/// An output of a node, by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// The node.
    pub node: Arc<str>,
    /// Its output.
    pub output: Arc<str>,
}

impl Default for Document {
    fn default() -> Self {
        Self::new("")
    }
}

impl Document {
    /// Frames per second if the document does not state them.
    pub const DEFAULT_FPS: f64 = 24.0;

    /// An empty document.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            format: FORMAT_VERSION,
            schema: None,
            name: name.into(),
            fps: Self::DEFAULT_FPS,
            start_frame: 0,
            inputs: Named::new(),
            outputs: Named::new(),
            nodes: Named::new(),
            groups: Named::new(),
            uses: Named::new(),
            lock: Named::new(),
            view: View::default(),
            used: Used::default(),
            form: Form::default(),
            unread: Unread::default(),
        }
    }

    /// Number of nodes in the document, including those of its groups.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len() + self.groups.values().map(|group| group.nodes.len()).sum::<usize>()
    }
}

impl Document {
    /// The rule by which generics outside used documents get their types.
    pub(crate) fn widths(&self) -> Widths {
        if self.format == 1 { Widths::First } else { Widths::Kept }
    }
}

impl GroupDef {
    /// The rule by which generics in a group of a used document get their types.
    pub(crate) fn widths(&self) -> Widths {
        if self.is_of_format_1 { Widths::First } else { Widths::Kept }
    }
}

impl UseDef {
    /// The use of the document at this path.
    pub fn new(path: impl Into<Arc<str>>) -> Self {
        Self { path: path.into(), spot: Spot::default() }
    }
}

impl InputDef {
    /// An input of this type without a default.
    pub fn new(ty: impl Into<Arc<str>>) -> Self {
        Self { ty: ty.into(), ..Self::default() }
    }

    /// The bytes of the default; those of the input if the default was not read from a text.
    pub(crate) fn span_of_default(&self) -> Span {
        self.default_spot.or(self.spot).span()
    }
}

impl OutputDef {
    /// An output of this type.
    pub fn new(ty: impl Into<Arc<str>>, from: OutputFrom) -> Self {
        let (spot, source_spot) = (Spot::default(), Spot::default());
        Self { ty: ty.into(), from, unit: None, about: None, spot, source_spot }
    }

    /// Where its source is written.
    pub(crate) fn spot_of_source(&self) -> Spot {
        self.source_spot.or(self.spot)
    }
}

impl Node {
    /// The group that the node uses, if any.
    pub(crate) fn group(&self) -> Option<&Arc<str>> {
        self.kind.group()
    }

    /// The part of a formula for which the node stands, if any.
    pub(crate) fn part(&self) -> Option<&Part> {
        match self.made.as_deref() {
            Some(Made::Part(part)) => Some(part),
            Some(Made::Rest { .. } | Made::Passing { .. }) | None => None,
        }
    }

    /// A node without inputs and settings.
    pub fn new(kind: NodeKind) -> Self {
        Self {
            kind,
            inputs: Fields::new(),
            set: Fields::new(),
            muted: false,
            version: 1,
            spot: Spot::default(),
            made: None,
        }
    }
}

impl Link {
    /// The output called `output` of the node called `node`.
    pub fn new(node: impl Into<Arc<str>>, output: impl Into<Arc<str>>) -> Self {
        Self { node: node.into(), output: output.into() }
    }
}

impl std::fmt::Display for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.node, self.output)
    }
}

impl Input {
    /// The sources of the socket, one by one.
    pub fn sources(&self) -> &[Self] {
        match &self.value {
            InputValue::Several(sources) => sources,
            InputValue::Literal(_) | InputValue::Link(_) | InputValue::Input(_) => {
                std::slice::from_ref(self)
            }
        }
    }
}

impl From<InputValue> for Input {
    fn from(value: InputValue) -> Self {
        Self { value, spot: Spot::default() }
    }
}

impl From<Json> for Setting {
    fn from(json: Json) -> Self {
        Self { json, spot: Spot::default(), places: Places::default() }
    }
}

/// A number that is written without a decimal point if it is whole.
pub(crate) struct Short(pub(crate) f64);

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = self.0 as i64;
        let is_whole = whole as f64 == self.0 && whole.unsigned_abs() < 1 << 53;
        if is_whole && self.0.to_bits() != (-0.0_f64).to_bits() {
            return serializer.serialize_i64(whole);
        }
        serializer.serialize_f64(self.0)
    }
}

/// Writes a bound of an input.
#[expect(clippy::ref_option, reason = "serde hands over references")]
fn short<S: Serializer>(bound: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    bound.map(Short).serialize(serializer)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_first_version(version: &u32) -> bool {
    *version == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_small() {
        assert!(size_of::<Node>() <= 96, "{}", size_of::<Node>());
        assert!(size_of::<Input>() <= 48, "{}", size_of::<Input>());
    }
}
