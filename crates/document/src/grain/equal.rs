//! Equal selectors.
//!
//! Two selectors are equal if the same source gives them, or sources that agree in node type,
//! settings and inputs, all the way up. Switches with equal selectors break a cycle together.

use std::fmt::Write;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Grain;
use crate::model::{Input, InputValue, Link, Named, Node, NodeKind};
use crate::references::{Reference, references};

/// The first of the equal nodes of a body, by name.
pub(super) type Firsts = FxHashMap<Arc<str>, Arc<str>>;

impl Grain<'_> {
    /// For each node that these members read, directly or through others, the first node in `order`
    /// that is equal to it. Members, and nodes that keep state or stand for groups, equal only
    /// themselves. Cost: linear in the nodes that are read.
    pub(super) fn firsts(
        &self,
        nodes: &Named<Node>,
        members: &FxHashSet<u32>,
        order: &[u32],
    ) -> Firsts {
        let mut is_read: FxHashSet<u32> = FxHashSet::default();
        let mut stack: Vec<u32> = members.iter().copied().collect();
        while let Some(at) = stack.pop() {
            let Some((_, node)) = nodes.get_index(at as usize) else { continue };
            for reference in node.inputs.iter().flat_map(|(_, input)| references(input)) {
                if let Reference::Link(link) = reference
                    && let Some(source) = nodes.get_index_of(&link.node)
                    && !members.contains(&(source as u32))
                    && is_read.insert(source as u32)
                {
                    stack.push(source as u32);
                }
            }
        }
        let mut firsts = Firsts::default();
        let mut known: FxHashMap<String, Arc<str>> = FxHashMap::default();
        for at in order.iter().filter(|at| is_read.contains(at)) {
            let (name, node) = nodes.get_index(*at as usize).expect("the order is of nodes");
            let first = match self.signature_text(node, &firsts) {
                Some(text) => Arc::clone(known.entry(text).or_insert_with(|| Arc::clone(name))),
                None => Arc::clone(name),
            };
            firsts.insert(Arc::clone(name), first);
        }
        firsts
    }

    /// A text that equal nodes share; `None` for nodes that equal only themselves.
    fn signature_text(&self, node: &Node, firsts: &Firsts) -> Option<String> {
        let NodeKind::Type(name) = &node.kind else { return None };
        let def = self.registry.get(name)?;
        if node.muted || def.state.is_some() || def.delayed.is_some() {
            return None;
        }
        let mut text = format!("{name}@{}", node.version);
        for (name, setting) in node.set.iter() {
            // Writing to a string does not fail.
            let _ = write!(text, "\0{name}={}", setting.json);
        }
        for (socket, input) in node.inputs.iter() {
            let _ = write!(text, "\0\0{socket}");
            write_source(input, firsts, &mut text)?;
        }
        Some(text)
    }
}

fn write_source(input: &Input, firsts: &Firsts, text: &mut String) -> Option<()> {
    // Writing to a string does not fail.
    let _ = match &input.value {
        InputValue::Literal(json) => write!(text, "\0={json}"),
        InputValue::Input(name) => write!(text, "\0<{name}"),
        // A source that is not known yet lies on a cycle.
        InputValue::Link(link) => {
            write!(text, "\0>{}\0.{}", firsts.get(&link.node)?, link.output)
        }
        InputValue::Several(sources) => {
            return sources.iter().try_for_each(|source| write_source(source, firsts, text));
        }
    };
    Some(())
}

/// Makes a node read the first of equal nodes.
pub(super) fn read_firsts(node: &mut Node, firsts: &Firsts) {
    for input in node.inputs.values_mut() {
        if let InputValue::Link(Link { node, .. }) = &mut input.value
            && let Some(first) = firsts.get(node)
        {
            *node = Arc::clone(first);
        }
    }
}
