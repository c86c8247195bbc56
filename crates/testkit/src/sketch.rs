//! Graphs built in code from nodes of a registry, with conversions inserted.

use std::convert::Infallible;
use std::sync::Arc;

use millstream_base::{Type, Value};
use millstream_ir::{Graph, GraphInput, GraphOutput, PathId, Paths, Source};
use millstream_node::signature::InputFact;
use millstream_node::{Instance, NetworkParts, NodeDef, Part, Registry, Settings, convert};
use serde_json::Value as Json;

/// A graph under construction. All links have equal types at both ends.
#[derive(Clone, Debug)]
pub struct Sketch<'r> {
    registry: &'r Registry,
    /// The graph so far.
    pub graph: Graph,
    n_calls: usize,
    /// The enclosing groups of new nodes.
    parents: Vec<PathId>,
}

impl NetworkParts for Sketch<'_> {
    type Value = Source;
    type Error = Infallible;

    fn constant(&mut self, value: &Value) -> Source {
        Source::first(self.graph.add_const(value.clone()))
    }

    fn call(&mut self, part: &Part, inputs: &[Source]) -> Result<Source, Infallible> {
        let slots = part.instance.inputs.iter();
        let links: Vec<Source> = inputs
            .iter()
            .zip(slots)
            .map(|(source, slot)| self.converted(*source, slot.ty))
            .collect();
        Ok(self.call_instance(&part.instance, &links)[0])
    }

    fn output(&mut self, call: &Source, _: &Part, output: usize) -> Source {
        Source { node: call.node, output: output as u32 }
    }
}

impl<'r> Sketch<'r> {
    /// A graph without nodes.
    pub fn new(registry: &'r Registry) -> Self {
        Self { registry, graph: Graph::new(), n_calls: 0, parents: vec![Paths::root()] }
    }

    /// Adds an input with this default.
    pub fn input(&mut self, name: &str, default: impl Into<Value>) -> Source {
        let default = default.into();
        let input = GraphInput { name: name.into(), ty: default.ty(), default: Some(default) };
        Source::first(self.graph.add_input(input))
    }

    /// Adds a constant.
    pub fn constant(&mut self, value: impl Into<Value>) -> Source {
        Source::first(self.graph.add_const(value.into()))
    }

    /// Adds an output.
    pub fn output(&mut self, name: &str, source: Source) {
        let ty = self.graph.type_of(source).expect("a source of this graph has a type");
        self.graph.outputs.push(GraphOutput { name: name.into(), ty, source });
    }

    /// Puts the following nodes into a group.
    pub fn enter_group(&mut self, name: &str) {
        self.n_calls += 1;
        let name = format!("{name}{}", self.n_calls);
        let path = self.graph.paths.child(self.parent(), name.into());
        self.parents.push(path);
    }

    /// Puts the following nodes outside of the group again.
    pub fn leave_group(&mut self) {
        self.parents.pop();
    }

    fn parent(&self) -> PathId {
        *self.parents.last().expect("no more groups are left than were entered")
    }

    /// The type of a source.
    pub fn type_of(&self, source: Source) -> Type {
        self.graph.type_of(source).expect("a source of this graph has a type")
    }

    /// Adds a node of the registry with sockets linked by name; returns its first output.
    ///
    /// # Panics
    /// If there is no such node, or the links do not fit.
    pub fn node(&mut self, name: &str, args: &[(&str, Source)]) -> Source {
        self.node_with(name, &Json::Null, args)
    }

    /// Adds a node with settings; returns its first output. A socket that takes several sources is
    /// named once for each.
    ///
    /// # Panics
    /// If there is no such node, or the settings or links do not fit.
    pub fn node_with(&mut self, name: &str, set: &Json, args: &[(&str, Source)]) -> Source {
        let def = self.registry.get(name).unwrap_or_else(|| panic!("there is no node `{name}`"));
        self.node_of(&Arc::clone(def), set, args)
            .unwrap_or_else(|problem| panic!("{name}: {problem}"))
    }

    /// Adds a node of a type that need not be registered.
    ///
    /// # Errors
    /// Describes the mistake.
    pub fn node_of(
        &mut self,
        def: &Arc<NodeDef>,
        set: &Json,
        args: &[(&str, Source)],
    ) -> Result<Source, String> {
        let given = set.as_object().into_iter().flatten().map(|(key, json)| (key.as_str(), json));
        let settings = Settings::read(&def.settings, given, &|name| self.registry.type_named(name))
            .map_err(|errors| errors[0].to_string())?;
        let signature = def.signature(&settings).map_err(|error| error.to_string())?;
        let mut sockets = vec![Vec::new(); signature.inputs.len()];
        for (name, source) in args {
            let at = signature.input(name).ok_or_else(|| format!("no socket `{name}`"))?;
            sockets[at].push(*source);
        }
        self.call(def, settings, &sockets).map(|outputs| outputs[0])
    }

    /// Adds a node with the sources of each socket; sockets without sources get their defaults.
    /// Returns all outputs.
    ///
    /// # Errors
    /// Describes the mistake; the graph is unchanged then, apart from constants.
    pub fn call(
        &mut self,
        def: &Arc<NodeDef>,
        settings: Settings,
        sockets: &[Vec<Source>],
    ) -> Result<Vec<Source>, String> {
        let signature = def.signature(&settings).map_err(|error| error.to_string())?.into_owned();
        let mut facts = Vec::new();
        for (i, sources) in sockets.iter().enumerate() {
            facts
                .extend(sources.iter().map(|source| (i, InputFact::Linked(self.type_of(*source)))));
        }
        let generics = signature.resolve(&facts).map_err(|errors| errors[0].to_string())?;
        let mut sockets = sockets.to_vec();
        for (socket, sources) in signature.inputs.iter().zip(&mut sockets) {
            if sources.is_empty() && !socket.multiple {
                let ty = socket.ty.resolve(&generics).map_err(|error| error.to_string())?;
                let default = socket.default.value(ty);
                let default = default.ok_or_else(|| format!("`{}` is missing", socket.name))?;
                sources.push(self.constant(default));
            }
        }
        let arities: Vec<u16> = sockets.iter().map(|sources| sources.len() as u16).collect();
        let instance =
            def.instantiate(settings, generics, &arities).map_err(|error| error.to_string())?;
        let sources: Vec<Source> = sockets.into_iter().flatten().collect();
        for (source, slot) in sources.iter().zip(&instance.inputs) {
            let from = self.type_of(*source);
            if !convert::convertible(from, slot.ty) {
                return Err(format!("{from} does not convert to {}", slot.ty));
            }
        }
        let links: Vec<Source> = sources
            .iter()
            .zip(&instance.inputs)
            .map(|(source, slot)| self.converted(*source, slot.ty))
            .collect();
        let Some(network) = instance.network.clone() else {
            return Ok(self.call_instance(&Arc::new(instance), &links));
        };
        self.enter_group(&instance.name().replace('.', "_"));
        let Ok(outputs) = network.make(&links, self);
        let outputs = outputs.into_iter().zip(&instance.outputs);
        let outputs = outputs.map(|(source, slot)| self.converted(source, slot.ty)).collect();
        self.leave_group();
        Ok(outputs)
    }

    /// Adds a call of an instance whose inputs have the types of the links; returns all outputs.
    pub fn call_instance(&mut self, instance: &Arc<Instance>, links: &[Source]) -> Vec<Source> {
        self.n_calls += 1;
        let name = format!("{}{}", instance.name().replace('.', "_"), self.n_calls);
        let path = self.graph.paths.child(self.parent(), name.into());
        let n_outputs = instance.outputs.len() as u32;
        let id = self.graph.intern_instance(instance);
        let node = self.graph.add_call(id, links, path);
        (0..n_outputs).map(|output| Source { node, output }).collect()
    }

    /// A value converted to another type.
    fn converted(&mut self, source: Source, to: Type) -> Source {
        let from = self.type_of(source);
        if from == to {
            return source;
        }
        let instance: Instance = convert::instance(self.registry.conversion(), from, to)
            .expect("the caller checked that there is a conversion");
        let instance = self.graph.intern_instance(&Arc::new(instance));
        self.n_calls += 1;
        let name = format!("to_{to}{}", self.n_calls).replace(['<', '>'], "_");
        let path = self.graph.paths.child(self.parent(), name.into());
        Source::first(self.graph.add_call(instance, &[source], path))
    }
}
