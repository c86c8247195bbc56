//! Builds documents in Rust code, with typed handles.
//!
//! A [`Builder`] makes the same [`Document`]s that people write as JSON. The sources of links are
//! [`In<T>`](In) and [`Out<T>`](Out), where `T` is the Rust type of the value, or [`Any`]. Only the
//! registry knows the sockets of a node type, so [`NodeBuilder::arg`] takes a source of any type,
//! and `check` decides. A function that states its types takes `impl Source<f32>`; passing a source
//! of another type then does not compile.

mod source;

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use millstream_base::{Value, ValueType, literal};
use serde_json::Value as Json;

pub use source::{Linked, Source};

use crate::free_name::FreeNames;
use crate::model::{Document, GroupDef, Input, InputDef, InputValue, Node, NodeKind, OutputDef};

/// Builds a document or a group.
///
/// ```
/// use millstream_document::builder::{Builder, In};
/// let mut b = Builder::new("Twice and a half");
/// let x: In<f32> = b.input("x", 1.0_f32);
/// let sum = b.node("math.add").arg("a", x).arg("b", x).value::<f32>();
/// let y = b.node("math.add").named("more").arg("a", sum).arg("b", 0.5).value::<f32>();
/// b.output("y", y);
/// let document = b.finish();
/// let names: Vec<&str> = document.nodes.keys().map(|name| &**name).collect();
/// assert_eq!(names, ["add", "more"]);
/// let line = r#""more": { "type": "math.add", "in": { "a": { "from": "add.value" }, "b": 0.5 } }"#;
/// assert!(millstream_document::save(&document).contains(line));
/// ```
///
/// Stated types are checked at compile time:
///
/// ```
/// use millstream_document::builder::{Builder, Out, Source};
/// fn sqrt(b: &mut Builder, x: impl Source<f32>) -> Out<f32> {
///     b.node("math.sqrt").arg("x", x).value()
/// }
/// let mut b = Builder::new("Roots");
/// let root = sqrt(&mut b, 2.0);
/// sqrt(&mut b, root);
/// ```
///
/// ```compile_fail,E0277
/// # use millstream_document::builder::{Builder, Out, Source};
/// # fn sqrt(b: &mut Builder, x: impl Source<f32>) -> Out<f32> {
/// #     b.node("math.sqrt").arg("x", x).value()
/// # }
/// # let mut b = Builder::new("Roots");
/// let title = b.node("text.join").value::<std::sync::Arc<str>>();
/// sqrt(&mut b, title);
/// ```
#[derive(Debug)]
pub struct Builder {
    document: Document,
    /// Distinguishes the handles of this body from those of other bodies.
    body: u32,
    /// The free names.
    free: FreeNames,
}

/// The type of a handle without a stated type.
#[derive(Clone, Copy, Debug)]
pub enum Any {}

/// An input of a document or group, of type `T`.
#[derive(Debug)]
pub struct In<T = Any> {
    body: u32,
    index: u32,
    ty: PhantomData<fn() -> T>,
}

/// An output of a node, of type `T`.
#[derive(Debug)]
pub struct Out<T = Any> {
    node: NodeHandle,
    output: &'static str,
    ty: PhantomData<fn() -> T>,
}

/// An added node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeHandle {
    body: u32,
    index: u32,
}

/// An added group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupHandle(Arc<str>);

/// Describes a node, which [`value`](Self::value) or [`add`](Self::add) adds.
#[must_use = "a node is added by `value` or `add`"]
#[derive(Debug)]
pub struct NodeBuilder<'b> {
    builder: &'b mut Builder,
    name: Arc<str>,
    node: Node,
}

impl Builder {
    /// An empty document.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        // Handles are compared only within their own body, so it does not matter in which order
        // threads take the numbers.
        static N_BODIES: AtomicU32 = AtomicU32::new(0);
        Self {
            document: Document::new(name),
            body: N_BODIES.fetch_add(1, Ordering::Relaxed),
            free: FreeNames::default(),
        }
    }

    /// Adds an input with a default, replacing one of the same name.
    pub fn input<T: ValueType>(&mut self, name: impl Into<Arc<str>>, default: T) -> In<T> {
        let default = literal::to_json(&default.into_value());
        self.any_input(name, T::ty().name(), Some(default)).typed()
    }

    /// Adds a required input, replacing one of the same name.
    pub fn required_input<T: ValueType>(&mut self, name: impl Into<Arc<str>>) -> In<T> {
        self.any_input(name, T::ty().name(), None).typed()
    }

    /// Adds an input of a type without a Rust type, such as `list<f32>`.
    pub fn any_input(
        &mut self,
        name: impl Into<Arc<str>>,
        ty: &str,
        default: Option<Json>,
    ) -> In<Any> {
        let def = InputDef { default, ..InputDef::new(ty) };
        let (index, _) = self.document.inputs.insert_full(name.into(), def);
        In { body: self.body, index: index as u32, ty: PhantomData }
    }

    /// The definition of an input, for setting its range, unit and description.
    ///
    /// # Panics
    /// If the handle belongs to another document or group.
    pub fn input_def<T>(&mut self, input: In<T>) -> &mut InputDef {
        assert_eq!(input.body, self.body, "{FOREIGN}");
        &mut self.document.inputs[input.index as usize]
    }

    /// Adds an output, replacing one of the same name.
    pub fn output<T: ValueType>(&mut self, name: impl Into<Arc<str>>, from: impl Linked<T>) {
        self.any_output(name, T::ty().name(), from);
    }

    /// Adds an output whose type is given by name, replacing one of the same name.
    pub fn any_output<T>(
        &mut self,
        name: impl Into<Arc<str>>,
        ty: &str,
        from: impl Linked<T>,
    ) -> &mut OutputDef {
        let name = name.into();
        let def = OutputDef::new(ty, from.linked(self));
        let (index, _) = self.document.outputs.insert_full(name, def);
        &mut self.document.outputs[index]
    }

    /// Describes a node of this type; the name is derived from the type.
    pub fn node(&mut self, node_type: impl Into<Arc<str>>) -> NodeBuilder<'_> {
        let node_type = node_type.into();
        let name = node_type.rsplit('.').next().unwrap_or_default().into();
        NodeBuilder { builder: self, name, node: Node::new(NodeKind::Type(node_type)) }
    }

    /// Describes a node that uses a group; the name is derived from the group.
    ///
    /// ```
    /// use millstream_document::builder::Builder;
    /// let mut b = Builder::new("Four times");
    /// let twice = b.group("twice", |g| {
    ///     let x = g.required_input::<f32>("x");
    ///     let sum = g.node("math.add").arg("a", x).arg("b", x).value::<f32>();
    ///     g.output("value", sum);
    /// });
    /// let x = b.input("x", 1.0_f32);
    /// let two = b.group_node(&twice).arg("x", x).value::<f32>();
    /// let four = b.group_node(&twice).arg("x", two).value::<f32>();
    /// b.output("y", four);
    /// let document = b.finish();
    /// assert_eq!((document.nodes.len(), document.groups.len()), (2, 1));
    /// ```
    pub fn group_node(&mut self, group: &GroupHandle) -> NodeBuilder<'_> {
        let name = Arc::clone(&group.0);
        let kind = NodeKind::Group(Arc::clone(&name));
        NodeBuilder { builder: self, name, node: Node::new(kind) }
    }

    /// Adds a group, whose content is described with its own builder. If the name is taken, a
    /// number is appended.
    pub fn group(
        &mut self,
        name: impl Into<Arc<str>>,
        content: impl FnOnce(&mut Self),
    ) -> GroupHandle {
        let mut inner = Self::new("");
        // All groups are listed in the document, even if only this group uses them.
        inner.document.groups = std::mem::take(&mut self.document.groups);
        content(&mut inner);
        let Document { inputs, outputs, nodes, groups, .. } = inner.document;
        self.document.groups = groups;
        let name = name.into();
        let mut free = Arc::clone(&name);
        let mut number = 1_u32;
        while self.document.groups.contains_key(&free) {
            number += 1;
            free = format!("{name}_{number}").into();
        }
        let group = GroupDef { inputs, outputs, nodes, ..GroupDef::default() };
        self.document.groups.insert(Arc::clone(&free), group);
        GroupHandle(free)
    }

    /// The document, for parts that have no builder method.
    pub fn document_mut(&mut self) -> &mut Document {
        &mut self.document
    }

    /// The document.
    pub fn finish(self) -> Document {
        self.document
    }
}

const FOREIGN: &str = "a handle is used in the document or group that it was made in";

impl NodeBuilder<'_> {
    /// Sets the name of the node. If it is taken, a number is appended.
    pub fn named(self, name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Sets the source of a socket, replacing the previous one.
    pub fn arg<T>(mut self, socket: impl Into<Arc<str>>, source: impl Source<T>) -> Self {
        let value = source.input_value(self.builder);
        self.node.inputs.insert(socket, Input::from(value));
        self
    }

    /// Adds a source to a socket that takes several, after its other sources.
    pub fn push<T>(mut self, socket: impl Into<Arc<str>>, source: impl Source<T>) -> Self {
        let socket = socket.into();
        let value = Input::from(source.input_value(self.builder));
        let sources = match self.node.inputs.remove(&socket) {
            None => vec![value],
            Some(Input { value: InputValue::Several(mut sources), .. }) => {
                sources.push(value);
                sources
            }
            Some(one) => vec![one, value],
        };
        self.node.inputs.insert(socket, Input::from(InputValue::Several(sources)));
        self
    }

    /// Sets a setting.
    pub fn set(mut self, name: impl Into<Arc<str>>, value: impl Into<Json>) -> Self {
        self.node.set.insert(name, value.into().into());
        self
    }

    /// Mutes the node, so that it passes its inputs through.
    pub fn muted(mut self) -> Self {
        self.node.muted = true;
        self
    }

    /// Sets the version of the node type, which is 1 by default.
    pub fn version(mut self, version: u32) -> Self {
        self.node.version = version;
        self
    }

    /// Adds the node and returns its output called `value`.
    pub fn value<T>(self) -> Out<T> {
        self.add().out("value")
    }

    /// Adds the node.
    pub fn add(self) -> NodeHandle {
        let Self { builder, name, node } = self;
        let name = builder.free.find(&name, |name| builder.document.nodes.contains_key(name));
        let (index, _) = builder.document.nodes.insert_full(name, node);
        NodeHandle { body: builder.body, index: index as u32 }
    }
}

impl NodeHandle {
    /// The output of this name. `check` finds out whether it exists and has this type.
    pub fn out<T>(self, output: &'static str) -> Out<T> {
        Out { node: self, output, ty: PhantomData }
    }
}

impl<T> In<T> {
    /// The same input, assumed to be of type `U`.
    pub fn typed<U>(self) -> In<U> {
        In { body: self.body, index: self.index, ty: PhantomData }
    }
}

impl<T> Out<T> {
    /// The same output, assumed to be of type `U`.
    pub fn typed<U>(self) -> Out<U> {
        Out { node: self.node, output: self.output, ty: PhantomData }
    }

    /// The node.
    pub fn node(self) -> NodeHandle {
        self.node
    }
}

// Derived implementations would require `T: Clone`.
impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for In<T> {}
impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}

/// A value as a literal of a document.
fn literal_of(value: impl Into<Value>) -> InputValue {
    InputValue::Literal(literal::to_json(&value.into()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::test_registry::registry;
    use millstream_base::{Limits, Vec3};
    use serde_json::json;

    #[test]
    fn built_documents_equal_those_from_json() {
        let mut b = Builder::new("Sums");
        let size = b.input("size", 2.0_f32);
        b.input_def(size).max = Some(9.0);
        let items = b.any_input("items", "list<f32>", Some(json!([1, 2])));
        let first = b.node("list.first").arg("list", items).value::<f32>();
        let two = b.node("data.two").arg("x", [1.0, 2.0, 3.0]).add();
        let all = b
            .node("math.sum")
            .push("values", first)
            .push("values", size)
            .push("values", 4)
            .value::<f32>();
        let formula = b
            .node("math.expression")
            .named("sum")
            .set("text", "a + b")
            .arg("a", all)
            .arg("b", two.out::<f64>("number"))
            .value::<f32>();
        let muted = b.node("math.sqrt").arg("x", formula).muted().value::<f32>();
        b.output("y", muted);
        b.output("p", two.out::<Vec3>("point"));
        b.output("x", size);
        let document = b.finish();
        let (checked, problems) = check(&document, &registry(), &Limits::default());
        // The sum is an f64, which `root` and `y` narrow.
        assert!(checked.is_some(), "{problems}");
        assert!(problems.iter().all(|problem| problem.code == "check::narrowed"), "{problems}");
        let (again, _) = crate::load(crate::save(&document).as_bytes(), &Limits::default());
        assert_eq!(again, Some(document));
    }

    #[test]
    fn taken_names_get_numbers() {
        let mut b = Builder::new("");
        let _ = b.node("math.add").value::<f32>();
        let _ = b.node("math.add").named("add_2").value::<f32>();
        let _ = b.node("math.add").value::<f32>();
        b.group("g", |_| ());
        assert_eq!(b.group("g", |_| ()).0.as_ref(), "g_2");
        let names: Vec<String> = b.finish().nodes.keys().map(ToString::to_string).collect();
        assert_eq!(names, ["add", "add_2", "add_3"]);
    }

    #[test]
    #[should_panic(expected = "a handle is used in the document or group that it was made in")]
    fn handles_are_refused_outside_their_body() {
        let mut b = Builder::new("");
        let x = b.input("x", 1.0_f32);
        b.group("g", |g| {
            let _ = g.node("math.sqrt").arg("x", x).value::<f32>();
        });
    }
}
