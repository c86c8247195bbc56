//! Writes the nodes of a document.

use std::collections::HashSet;
use std::sync::Arc;

use millstream_document::{
    Document, FreeNames, Input, InputDef, InputValue, Link, Node, NodeKind, OutputDef, OutputFrom,
    View, free_name,
};
use serde_json::{Map, Value as Json, json};

use super::dump;
use super::kind::Kind;

/// The source of a socket.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source {
    Literal(Kind, Json),
    Input(Kind, Arc<str>),
    Link(Kind, Link),
}

impl Source {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Literal(kind, _) | Self::Input(kind, _) | Self::Link(kind, _) => *kind,
        }
    }

    pub(super) fn is_literal(&self) -> bool {
        matches!(self, Self::Literal(..))
    }

    /// The name of an input.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Input(_, name) => name.to_string(),
            Self::Literal(_, json) => json.to_string(),
            Self::Link(_, link) => link.to_string(),
        }
    }

    /// The source in the notation for outputs of a document.
    ///
    /// # Panics
    /// If this is a literal.
    pub(super) fn as_output(&self) -> OutputFrom {
        match self {
            Self::Input(_, name) => OutputFrom::Input(Arc::clone(name)),
            Self::Link(_, link) => OutputFrom::Link(link.clone()),
            Self::Literal(..) => panic!("`Writer::linked` has made a link of it"),
        }
    }

    fn value(self) -> InputValue {
        match self {
            Self::Literal(_, json) => InputValue::Literal(json.into()),
            Self::Input(_, name) => InputValue::Input(name),
            Self::Link(_, link) => InputValue::Link(link),
        }
    }
}

/// A document being written.
pub(super) struct Writer {
    document: Document,
    free: FreeNames,
    /// The positions of nodes, for the view.
    places: Map<String, Json>,
    /// The position of the node being translated, and the number of nodes written for it so far.
    place: Option<([f64; 2], u32)>,
    /// The input for the position of elements, if some node reads it.
    position: Option<Source>,
    /// Nodes that depend neither on inputs nor on the element.
    constant: HashSet<Arc<str>>,
}

impl Writer {
    pub(super) fn new(name: &str) -> Self {
        Self {
            document: Document::new(name),
            free: FreeNames::default(),
            places: Map::new(),
            place: None,
            position: None,
            constant: HashSet::new(),
        }
    }

    /// Adds an input; an unnamed input is named after its type.
    pub(super) fn input(&mut self, name: &str, kind: Kind, def: InputDef) -> Source {
        let name = match plain(name) {
            name if name.is_empty() => kind.name().to_owned(),
            name => name,
        };
        let name: Arc<str> =
            free_name(&name, |name| self.document.inputs.contains_key(name)).into();
        self.document.inputs.insert(Arc::clone(&name), def);
        Source::Input(kind, name)
    }

    /// The input for the position of elements, which Blender takes from the geometry.
    pub(super) fn position(&mut self) -> Source {
        if let Some(position) = &self.position {
            return position.clone();
        }
        let mut def = InputDef::new(Kind::Vector.ty().name());
        def.default = Some(Kind::Vector.zero());
        let position = self.input("position", Kind::Vector, def);
        self.position = Some(position.clone());
        position
    }

    /// Starts the translation of a node: the nodes written next belong to it.
    pub(super) fn begin(&mut self, node: &dump::Node) {
        self.place = node.location.map(|at| (at, 0));
    }

    /// Adds a node and returns its name.
    pub(super) fn node(
        &mut self,
        title: &str,
        ty: &str,
        set: &[(&str, Json)],
        inputs: Vec<(&str, Vec<Source>)>,
    ) -> Arc<str> {
        let mut node = Node::new(NodeKind::Type(ty.into()));
        let mut sources = inputs.iter().flat_map(|(_, sources)| sources);
        let is_constant = ty != "context.index" && sources.all(|source| self.is_constant(source));
        for (name, value) in set {
            node.set.insert(*name, value.clone().into());
        }
        for (socket, mut sources) in inputs {
            let several = socket.strip_suffix("[]");
            let value = match several {
                Some(_) => InputValue::Several(
                    sources.into_iter().map(|source| Input::from(source.value())).collect(),
                ),
                None => sources.pop().expect("a socket has one source").value(),
            };
            node.inputs.insert(several.unwrap_or(socket), value.into());
        }
        let name = self.free.find(title, |name| self.document.nodes.contains_key(name));
        if let Some((at, n)) = &mut self.place {
            // Blender's y axis points up; several nodes for the same one are placed below each
            // other.
            let at = [at[0], -at[1] + f64::from(*n) * 30.0];
            self.places.insert(name.to_string(), json!({ "at": at }));
            *n += 1;
        }
        self.document.nodes.insert(Arc::clone(&name), node);
        if is_constant {
            self.constant.insert(Arc::clone(&name));
        }
        name
    }

    /// Whether the source depends neither on inputs nor on the element.
    pub(super) fn is_constant(&self, source: &Source) -> bool {
        match source {
            Source::Literal(..) => true,
            Source::Input(..) => false,
            Source::Link(_, link) => self.constant.contains(&link.node),
        }
    }

    /// A literal as the output of a node; any other source unchanged.
    pub(super) fn linked(&mut self, source: Source) -> Source {
        let Source::Literal(kind, json) = source else { return source };
        let set = [("type", json!(kind.ty().name()))];
        let inputs = vec![("value", vec![Source::Literal(kind, json)])];
        let node = self.node(kind.name(), "blender.value", &set, inputs);
        Source::Link(kind, Link::new(node, "value"))
    }

    pub(super) fn output_name(&self, title: &str, id: &str, n_outputs: usize) -> String {
        let name = if n_outputs > 1 { format!("{title}_{}", plain(id)) } else { title.to_owned() };
        free_name(&name, |name| self.document.outputs.contains_key(name))
    }

    pub(super) fn output(&mut self, name: &str, def: OutputDef) {
        self.document.outputs.insert(name.into(), def);
    }

    pub(super) fn finish(mut self) -> Document {
        if !self.places.is_empty() {
            self.document.view = View::from_json(&json!({ "nodes": self.places }));
        }
        self.document
    }
}

/// The name reduced to letters, digits and underscores.
pub(super) fn plain(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_alphanumeric() {
            out.extend(c.to_lowercase());
        } else if !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
    }
    out.trim_end_matches('_').to_owned()
}
