//! Creates the converting nodes, one for each source and target type.

use std::sync::Arc;

use millstream_base::Type;
use millstream_ir::graph::InstanceId;
use millstream_ir::{Graph, PathId, Source};
use millstream_node::{NodeDef, convert};
use rustc_hash::FxHashMap;

/// The conversions of one graph.
pub(crate) struct Converter<'a> {
    def: &'a Arc<NodeDef>,
    instances: FxHashMap<(Type, Type), Option<InstanceId>>,
    nodes: FxHashMap<(Source, Type), Source>,
}

impl<'a> Converter<'a> {
    /// An empty converter; `def` is the registry's conversion.
    pub(crate) fn new(def: &'a Arc<NodeDef>) -> Self {
        Self { def, instances: FxHashMap::default(), nodes: FxHashMap::default() }
    }

    /// `source`, of type `from`, converted to type `to`: a constant stays a constant, anything else
    /// becomes a node for the reader at `path`. `None` if there is no such conversion.
    #[inline]
    pub(crate) fn convert(
        &mut self,
        graph: &mut Graph,
        source: Source,
        from: Type,
        to: Type,
        path: PathId,
    ) -> Option<Source> {
        if from == to {
            return Some(source);
        }
        if let Some(known) = self.nodes.get(&(source, to)) {
            return Some(*known);
        }
        let made = self.make(graph, source, from, to, path)?;
        self.nodes.insert((source, to), made);
        Some(made)
    }

    fn make(
        &mut self,
        graph: &mut Graph,
        source: Source,
        from: Type,
        to: Type,
        path: PathId,
    ) -> Option<Source> {
        if let Some(value) = graph.constant_of(source.node) {
            let value = convert::convert_value(value, to)?;
            return Some(Source::first(graph.add_const(value)));
        }
        let def = self.def;
        let instance = *self.instances.entry((from, to)).or_insert_with(|| {
            let instance = convert::instance(def, from, to)?;
            Some(graph.intern_instance(&Arc::new(instance)))
        });
        let path = graph.paths.conversion(path);
        Some(Source::first(graph.add_call(instance?, &[source], path)))
    }
}
