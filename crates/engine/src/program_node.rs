//! Programs as node types.

use std::borrow::Cow;

use millstream_document::node_body;
use millstream_node::signature::Default;
use millstream_node::{Class, NodeDef};

use crate::program::Program;

/// A node type from a program.
pub trait FromProgram {
    /// A node type whose nodes are replaced by the program: the program's inputs and outputs become
    /// the sockets, its needs and state those of the node. Lowering expands such a node like a
    /// group, so constants fold through it, and only the outputs that are read are computed.
    ///
    /// ```
    /// use millstream::register::FromProgram;
    /// use millstream::{Engine, NodeDef, Request};
    ///
    /// let mut engine = Engine::new();
    /// let double = engine.load(
    ///     br#"{"millstream": 2, "inputs": {"x": {"type": "f32", "default": 1}},
    ///         "outputs": {"value": {"type": "f32", "from": "sum.value"}},
    ///         "nodes": {"sum": {"type": "math.add", "in": {"a": {"input": "x"}, "b": {"input": "x"}}}}}"#,
    /// )?;
    /// engine.register(NodeDef::from_program("my.double", &double));
    /// let program = engine.load(
    ///     br#"{"millstream": 2, "outputs": {"y": {"type": "f32", "from": "twice.value"}},
    ///         "nodes": {"once": {"type": "my.double", "in": {"x": 3}},
    ///                   "twice": {"type": "my.double", "in": {"x": {"from": "once.value"}}}}}"#,
    /// )?;
    /// assert_eq!(program.run(&Request::new())?.value::<f32>("y"), Some(12.0));
    /// # Ok::<(), millstream::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the name is not of the form `family.name`.
    fn from_program(name: impl Into<Cow<'static, str>>, program: &Program) -> Self;
}

impl FromProgram for NodeDef {
    fn from_program(name: impl Into<Cow<'static, str>>, program: &Program) -> Self {
        let name = name.into();
        assert!(
            name.contains('.') && !name.contains('/'),
            "`{name}` cannot be the name of a node type: write `family.name`"
        );
        let document = program.document();
        let body = node_body(&name, document.clone());
        let mut def = Self::new(name, document.name.to_string());
        for input in program.inputs() {
            let about = document.inputs.get(&input.name).and_then(|def| def.about.clone());
            let default = input.default.clone().map_or(Default::Required, Default::Value);
            let about = about.unwrap_or_default().to_string();
            def = def.input_or(input.name.to_string(), input.ty, default, about);
        }
        for output in program.outputs() {
            let about = document.outputs.get(&output.name).and_then(|def| def.about.clone());
            let about = about.unwrap_or_default().to_string();
            def = def.output(output.name.to_string(), output.ty, about);
        }
        def = def.body(body);
        def.class = if program.plan().has_states() {
            Class::Stateful
        } else if program.needs().next().is_some() {
            Class::Contextual
        } else {
            Class::Static
        };
        def
    }
}
