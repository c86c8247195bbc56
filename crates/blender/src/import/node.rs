//! A node being translated: its sockets by role, and the nodes written for it.

use std::cell::RefCell;
use std::sync::Arc;

use millstream_document::Link;
use serde_json::{Value as Json, json};

use super::convert::converted;
use super::dump::{Feed, Node, Release, Socket};
use super::error::ImportError;
use super::kind::{Kind, shown};
use super::writer::{Source, Writer, plain};

/// One node, with its sources and the writer of the document.
pub(super) struct NodeContext<'a> {
    pub(super) node: &'a Node,
    pub(super) release: Release,
    at: usize,
    /// The source of each socket; `None` if the type of the socket is unknown.
    sources: Vec<Option<Source>>,
    writer: &'a mut Writer,
    outputs: Vec<(String, Source)>,
    /// The first output that was set, whatever its role.
    first: Option<Source>,
    /// The first property with a value of an unexpected kind.
    wrong: RefCell<Option<ImportError>>,
}

impl<'a> NodeContext<'a> {
    pub(super) fn new(
        node: &'a Node,
        release: Release,
        at: usize,
        sources: Vec<Option<Source>>,
        writer: &'a mut Writer,
    ) -> Self {
        Self {
            node,
            release,
            at,
            sources,
            writer,
            outputs: Vec::new(),
            first: None,
            wrong: RefCell::default(),
        }
    }

    pub(super) fn into_outputs(self) -> Vec<(String, Source)> {
        match (&*self.node.outputs, self.first) {
            ([only], Some(first)) if self.outputs.is_empty() => vec![(only.id.clone(), first)],
            _ => self.outputs,
        }
    }

    /// The name of the node in messages.
    pub(super) fn label(&self) -> String {
        self.node.label(self.at)
    }

    /// The sockets with their sources.
    pub(super) fn sockets(&self) -> impl Iterator<Item = (&'a Socket, Option<&Source>)> {
        self.node.inputs.iter().zip(self.sources.iter().map(Option::as_ref))
    }

    /// The source of the socket with this role, as this type.
    ///
    /// Identifiers differ between versions of Blender: `A`, `A_INT` and `A_Float` all have the role
    /// `A`; the one of the right type is used.
    pub(super) fn input(&mut self, role: &str, kind: Kind) -> Result<Source, ImportError> {
        match self.find(role, kind) {
            Some(source) => self.as_kind(source, kind),
            None => Err(ImportError::MissingSocket { node: self.label(), socket: role.into() }),
        }
    }

    /// Like [`input`](Self::input), with this literal as the default if there is no such socket.
    pub(super) fn input_or(
        &mut self,
        role: &str,
        kind: Kind,
        default: Json,
    ) -> Result<Source, ImportError> {
        match self.find(role, kind) {
            Some(source) => self.as_kind(source, kind),
            None => Ok(Source::Literal(kind, default)),
        }
    }

    fn find(&self, role: &str, kind: Kind) -> Option<Source> {
        let role = plain(role);
        let prefix = format!("{role}_");
        let of_kind = |socket: &Socket| Kind::of_socket(&socket.kind) == Some(kind);
        let is_numbered =
            |id: &str| id.strip_prefix(&prefix).is_some_and(|rest| rest.parse::<u32>().is_ok());
        let find = |wanted: &dyn Fn(&Socket, &str) -> bool| {
            let at = self.node.inputs.iter().position(|s| wanted(s, &plain(&s.id)));
            at.and_then(|at| self.sources[at].clone())
        };
        find(&|socket, id| id == role && of_kind(socket))
            .or_else(|| {
                find(&|socket, id| id.starts_with(&prefix) && !is_numbered(id) && of_kind(socket))
            })
            .or_else(|| find(&|_, id| id == role))
    }

    /// Whether the node has an input with this role.
    pub(super) fn has_input(&self, role: &str) -> bool {
        self.find(role, Kind::Value).is_some()
    }

    /// Whether nothing is linked to the input of this name.
    pub(super) fn is_unlinked(&self, id: &str) -> bool {
        let socket = self.node.inputs.iter().find(|socket| socket.id == id);
        socket.is_none_or(|socket| matches!(socket.feed, Feed::Value(_)))
    }

    /// The position of the element: an additional input of the document.
    pub(super) fn position(&mut self) -> Source {
        self.writer.position()
    }

    /// The source as another type.
    pub(super) fn as_kind(&mut self, source: Source, kind: Kind) -> Result<Source, ImportError> {
        let from = source.kind();
        converted(self.writer, source, kind).ok_or_else(|| ImportError::Conversion {
            node: self.label(),
            from: from.name().into(),
            to: kind.name().into(),
        })
    }

    /// A string property, with this default if it is missing.
    pub(super) fn text<'t>(&self, property: &str, default: &'t str) -> &'t str
    where
        'a: 't,
    {
        self.property(property, Json::as_str).unwrap_or(default)
    }

    /// A property that is true or false.
    pub(super) fn flag(&self, property: &str, default: bool) -> bool {
        self.property(property, Json::as_bool).unwrap_or(default)
    }

    /// A property of the expected kind; any other kind is recorded as [`wrong`](Self::wrong).
    fn property<T>(&self, property: &str, read: impl Fn(&'a Json) -> Option<T>) -> Option<T> {
        let json = self.node.props.get(property).filter(|json| !json.is_null())?;
        let value = read(json);
        if value.is_none() {
            self.wrong.borrow_mut().get_or_insert_with(|| self.unknown(property));
        }
        value
    }

    /// The error for the first property of an unexpected kind.
    pub(super) fn wrong(&self) -> Option<ImportError> {
        self.wrong.take()
    }

    /// The error for an unsupported property.
    pub(super) fn unknown(&self, property: &str) -> ImportError {
        let value = self.node.props.get(property).map_or("missing".into(), shown);
        ImportError::UnknownSetting { node: self.label(), property: property.into(), value }
    }

    /// The error for an operation that had another meaning in the exporting release.
    pub(super) fn changed(&self, what: &str, since: &str) -> ImportError {
        let Release(major, minor) = self.release;
        ImportError::Changed {
            node: self.label(),
            what: what.into(),
            release: format!("{major}.{minor}"),
            since: since.into(),
        }
    }

    /// The type of the outputs, if all have the same.
    pub(super) fn output_kind(&self) -> Result<Kind, ImportError> {
        let first = self.node.outputs.first();
        first.and_then(|output| Kind::of_socket(&output.kind)).ok_or_else(|| {
            let kind = first.map_or("none", |output| &output.kind);
            ImportError::Conversion { node: self.label(), from: kind.into(), to: "ours".into() }
        })
    }

    /// Whether the node has an output with this role.
    pub(super) fn has_output(&self, role: &str) -> bool {
        self.node.outputs.iter().any(|output| is_role(&output.id, role))
    }

    /// Writes a node whose output is called `value` and has this type.
    pub(super) fn write(
        &mut self,
        ty: &str,
        set: &[(&str, Json)],
        inputs: Vec<(&str, Source)>,
        kind: Kind,
    ) -> Source {
        let name = self.write_many(ty, set, inputs);
        Source::Link(kind, Link::new(name, "value"))
    }

    /// Writes a node and returns its name.
    pub(super) fn write_many(
        &mut self,
        ty: &str,
        set: &[(&str, Json)],
        inputs: Vec<(&str, Source)>,
    ) -> Arc<str> {
        let inputs = inputs.into_iter().map(|(socket, source)| (socket, vec![source])).collect();
        self.writer.node(&self.node.title(), ty, set, inputs)
    }

    /// Like [`write`](Self::write), for a node whose type is decided by its inputs of type `kind`.
    pub(super) fn write_generic(
        &mut self,
        ty: &str,
        set: &[(&str, Json)],
        mut inputs: Vec<(&str, Source)>,
        (generic, result): (Kind, Kind),
    ) -> Source {
        self.state_type(&mut inputs, generic);
        self.write(ty, set, inputs, result)
    }

    /// Literals by themselves leave the type open, so one of them becomes a node of that type.
    fn state_type(&mut self, inputs: &mut [(&str, Source)], generic: Kind) {
        let of_kind = |source: &Source| source.kind() == generic;
        let is_open = inputs.iter().all(|(_, source)| source.is_literal() || !of_kind(source));
        if is_open
            && generic != Kind::Value
            && let Some((_, source)) = inputs.iter_mut().find(|(_, source)| of_kind(source))
        {
            *source = self.writer.linked(source.clone());
        }
    }

    /// Writes a node with one socket that takes several sources.
    pub(super) fn write_several(
        &mut self,
        ty: &str,
        (socket, sources): (&str, Vec<Source>),
        kind: Kind,
    ) -> Source {
        let name = self.writer.node(&self.node.title(), ty, &[], vec![(socket, sources)]);
        Source::Link(kind, Link::new(name, "value"))
    }

    /// Whether the source depends neither on inputs nor on the element.
    pub(super) fn is_constant(&self, source: &Source) -> bool {
        self.writer.is_constant(source)
    }

    /// A literal as the output of a node, so that its type is known.
    pub(super) fn linked(&mut self, source: Source) -> Source {
        self.writer.linked(source)
    }

    /// One of several sources, selected by index.
    pub(super) fn choose(&mut self, index: Source, items: Vec<Source>, kind: Kind) -> Source {
        let mut items = items;
        if items.iter().all(Source::is_literal) {
            items[0] = self.writer.linked(items[0].clone());
        }
        let inputs = vec![("index", vec![index]), ("items[]", items)];
        let name = self.writer.node(&self.node.title(), "control.choose", &[], inputs);
        Source::Link(kind, Link::new(name, "value"))
    }

    /// A number or other value as a literal.
    pub(super) fn literal(kind: Kind, json: impl Into<Json>) -> Source {
        Source::Literal(kind, json.into())
    }

    /// Sets the source of the output with this role. If the node has only one output, of an unknown
    /// role, that output gets the first source that is set.
    pub(super) fn give(&mut self, role: &str, source: &Source) {
        for output in self.node.outputs.iter().filter(|output| is_role(&output.id, role)) {
            self.outputs.push((output.id.clone(), source.clone()));
        }
        self.first.get_or_insert_with(|| source.clone());
    }

    /// Sets the output with this role to the output `ours` of the node just written.
    pub(super) fn give_part(&mut self, role: &str, kind: Kind, node: &Arc<str>, ours: &str) {
        self.give(role, &Self::part(kind, node, ours));
    }

    /// The output `ours` of the node just written.
    pub(super) fn part(kind: Kind, node: &Arc<str>, ours: &str) -> Source {
        Source::Link(kind, Link::new(Arc::clone(node), ours))
    }

    /// Sets the source of the output with this exact identifier.
    pub(super) fn give_exactly(&mut self, id: &str, source: Source) {
        self.outputs.push((id.to_owned(), source));
    }

    /// A source clamped to 0 to 1.
    pub(super) fn clamped(&mut self, source: Source) -> Source {
        let kind = source.kind();
        let inputs = vec![("x", source), ("minimum", zero()), ("maximum", one())];
        self.write("blender.clamp", &[], inputs, kind)
    }
}

fn zero() -> Source {
    Source::Literal(Kind::Value, json!(0))
}

fn one() -> Source {
    Source::Literal(Kind::Value, json!(1))
}

/// Whether an identifier has a role: `Result_Float` has `Result`, `Item_1` does not have `Item`.
fn is_role(id: &str, role: &str) -> bool {
    let (id, role) = (plain(id), plain(role));
    id == role
        || id.strip_prefix(&role).is_some_and(|rest| {
            rest.strip_prefix('_').is_some_and(|rest| rest.parse::<u32>().is_err())
        })
}
