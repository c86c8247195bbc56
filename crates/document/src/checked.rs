//! A checked document: every name resolved, every type known, nothing expanded.
//!
//! Each group body is resolved once, however often it is used. Parts refer to each other by
//! position: nodes in the order of the document, sources and literals in pools of their body.
//!
//! A *partial* document had errors. The parts with errors keep their positions and are marked as
//! wrong. Parts that depend on them are not marked, because that differs between the uses of a
//! group.

use std::sync::Arc;

use millstream_base::id::Arena;
use millstream_base::{Span, Type, UsedFile, Value, define_id};
use millstream_node::zone::{Course, Sockets};
use millstream_node::{Instance, Zone};

use crate::order::Conditional;

define_id!(BodyId, "b", "One body of a checked document, the root or a group; prints as `b7`.");

/// A document that can be compiled, apart from its wrong parts.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The root and all groups, used or not, then the copies of groups for cases of conditional
    /// cycles.
    pub bodies: Arena<BodyId, Body>,
    /// The body outside groups.
    pub root: BodyId,
    /// The title.
    pub name: Arc<str>,
    /// Frames per second.
    pub fps: f64,
    /// The frame at which state starts.
    pub start_frame: i64,
    /// Whether parts may be marked as wrong.
    pub is_partial: bool,
    /// Whether the document makes closures, which groups have taken the place of.
    pub has_closures: bool,
}

/// The root of a document, or the content of a group.
#[derive(Clone, Debug)]
pub struct Body {
    /// The name of the group; empty for the root.
    pub name: Arc<str>,
    /// The inputs.
    pub inputs: Vec<BodyInput>,
    /// The outputs.
    pub outputs: Vec<BodyOutput>,
    /// The nodes in document order, then those that checking added.
    pub nodes: Vec<CheckedNode>,
    /// The sources of all nodes; see [`Body::sources_of`].
    pub sources: Vec<Source>,
    /// The literals of all sources, without duplicates.
    pub literals: Vec<Value>,
    /// All nodes, each after the nodes that it reads; in a partial document cycles may remain. A
    /// node that uses a group occurs several times if its inputs depend on nodes that read its
    /// outputs. At each occurrence, the outputs that can be computed by then are needed.
    pub order: Vec<u32>,
    /// The cycles that switches break, until copies replace them.
    pub(crate) conditional: Vec<Conditional>,
    /// The number of nodes in the document itself. The nodes after them are copies for cases of
    /// conditional cycles, and choices among copies.
    pub n_written: usize,
    /// The nodes that store the results of their group as one entry of the memo.
    pub wholes: Vec<u32>,
    /// Whether the group as a whole is wrong, and with it every use.
    pub is_wrong: bool,
    /// The used document that the group comes from.
    pub file: Option<Arc<UsedFile>>,
}

/// An input of a body.
#[derive(Clone, Debug)]
pub struct BodyInput {
    /// The name.
    pub name: Arc<str>,
    /// The type of the given value.
    pub ty: Type,
    /// The value if none is given; without a default, one must be given.
    pub default: Option<Value>,
    /// The smallest sensible value of each lane.
    pub min: Option<f64>,
    /// The largest sensible value of each lane.
    pub max: Option<f64>,
    /// The step of a control that changes the value.
    pub step: Option<f64>,
    /// The unit of measure, for people.
    pub unit: Option<Arc<str>>,
    /// The description.
    pub about: Option<Arc<str>>,
    /// The position in the text.
    pub span: Span,
    /// Whether it has no value, and perhaps another type.
    pub is_wrong: bool,
}

/// An output of a body.
#[derive(Clone, Debug)]
pub struct BodyOutput {
    /// The name.
    pub name: Arc<str>,
    /// The type of the output value; the source converts to it.
    pub ty: Type,
    /// The source of the value.
    pub source: Source,
    /// The unit of measure, for people.
    pub unit: Option<Arc<str>>,
    /// The description.
    pub about: Option<Arc<str>>,
    /// The position in the text.
    pub span: Span,
}

/// A node of a body.
#[derive(Clone, Debug)]
pub struct CheckedNode {
    /// The name.
    pub name: Arc<str>,
    /// The kind of node.
    pub kind: CheckedKind,
    /// The position in the text.
    pub span: Span,
    pub(crate) first_source: u32,
    pub(crate) n_sources: u32,
}

/// The kind of a node.
#[derive(Clone, Debug)]
pub enum CheckedKind {
    /// Runs a node type; nodes that agree in type, settings and types share the instance.
    Call(Arc<Instance>),
    /// Stands for the nodes of a body; its sources are those of the body's inputs.
    Group(BodyId),
    /// Runs a body many times; its sources are those of the body's inputs, then its own.
    Zone(Arc<CheckedZone>),
    /// Makes a closure; its sources are those of the captures. A document that can be compiled has
    /// such nodes only in groups that it does not use.
    Closure(Arc<CheckedClosure>),
    /// Passes inputs through.
    Muted(Arc<Muted>),
    /// Has no values; the reason has been reported.
    Wrong,
}

/// How a node runs a body many times.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CheckedZone {
    /// The body.
    pub body: BodyId,
    /// The values that pass from one run to the next.
    pub course: Course,
    /// The names and types of the node's inputs.
    pub inputs: Sockets,
    /// The names and types of its outputs.
    pub outputs: Sockets,
}

/// A closure that a node makes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CheckedClosure {
    /// The body.
    pub body: BodyId,
    /// The inputs of the body that are captures, ascending.
    pub captures: Vec<u32>,
    /// The type, that of closures with the other inputs and the outputs.
    pub ty: Type,
}

/// The behavior of a muted node.
#[derive(Clone, Debug)]
pub struct Muted {
    /// The type of each source's slot.
    pub inputs: Vec<Type>,
    /// The outputs.
    pub outputs: Vec<MutedOutput>,
}

/// One output of a muted node.
#[derive(Clone, Debug)]
pub struct MutedOutput {
    /// The name.
    pub name: Arc<str>,
    /// The type.
    pub ty: Type,
    /// The value that it passes on.
    pub passes: Passes,
}

/// The value of an output of a muted node.
#[derive(Clone, Debug)]
pub enum Passes {
    /// The source at this position among the node's sources; its slot has the output's type.
    Source(u32),
    /// The default of the type, because no input has this type.
    Default(Value),
}

/// The source of a value, within one body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A literal of the body, already of the type of the slot.
    Literal(u32),
    /// An input of the body; its type converts to that of the slot.
    Input(u32),
    /// An output of a node of the body; its type converts to that of the slot.
    Node {
        /// Position of the node in the body.
        node: u32,
        /// Position of the output.
        output: u32,
    },
    /// No source; the reason has been reported.
    Wrong,
}

impl Checked {
    /// The body outside groups.
    pub fn root(&self) -> &Body {
        &self.bodies[self.root]
    }

    /// The type of a source of `body`, before it is converted to the type of its slot; `None` if
    /// the source is wrong.
    pub fn source_type(&self, body: BodyId, source: Source) -> Option<Type> {
        let body = &self.bodies[body];
        match source {
            Source::Literal(literal) => Some(body.literals[literal as usize].ty()),
            Source::Input(input) => Some(body.inputs[input as usize].ty),
            Source::Node { node, output } => {
                self.output_type(&body.nodes[node as usize].kind, output)
            }
            Source::Wrong => None,
        }
    }

    /// The type of an output of a node; `None` if the node is wrong.
    pub fn output_type(&self, kind: &CheckedKind, output: u32) -> Option<Type> {
        match kind {
            CheckedKind::Call(instance) => Some(instance.outputs[output as usize].ty),
            CheckedKind::Group(body) => Some(self.bodies[*body].outputs[output as usize].ty),
            CheckedKind::Zone(zone) => Some(zone.outputs[output as usize].1),
            CheckedKind::Closure(closure) => Some(closure.ty),
            CheckedKind::Muted(muted) => Some(muted.outputs[output as usize].ty),
            CheckedKind::Wrong => None,
        }
    }

    /// Whether some nodes were copied because switches break cycles through them.
    pub fn has_copies(&self) -> bool {
        self.bodies.iter().any(|(_, body)| body.nodes.len() > body.n_written)
    }

    /// Marks the node at a path, which leads through the nodes that use groups, as wrong in every
    /// use of its group. False if there is no such node.
    pub fn mark_wrong(&mut self, path: &str) -> bool {
        let mut body = self.root;
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            let nodes = &self.bodies[body].nodes;
            let place = |name: &str| nodes.iter().position(|node| *node.name == *name);
            let Some(mut at) = place(name) else { return false };
            // The name of a copy has two parts.
            if let Some(part) = names.peek()
                && nodes[at].kind.body().is_none()
                && let Some(copy) = place(&format!("{name}/{part}"))
            {
                at = copy;
                names.next();
            }
            if names.peek().is_none() {
                self.bodies[body].nodes[at].kind = CheckedKind::Wrong;
                self.is_partial = true;
                return true;
            }
            let Some(inner) = nodes[at].kind.body() else { return false };
            body = inner;
        }
        false
    }
}

impl CheckedKind {
    /// The body that the node uses, if any.
    pub fn body(&self) -> Option<BodyId> {
        match self {
            Self::Group(body) => Some(*body),
            Self::Zone(zone) => Some(zone.body),
            Self::Call(_) | Self::Closure(_) | Self::Muted(_) | Self::Wrong => None,
        }
    }

    /// Whether the node itself keeps state.
    pub fn keeps_state(&self) -> bool {
        match self {
            Self::Call(instance) => instance.def.state.is_some(),
            Self::Zone(zone) => zone.course.mode.zone() == Zone::Simulate,
            Self::Group(_) | Self::Closure(_) | Self::Muted(_) | Self::Wrong => false,
        }
    }
}

impl Body {
    /// The sources of a node, one for each input of its instance or of its group's body.
    #[inline]
    pub fn sources_of(&self, node: &CheckedNode) -> &[Source] {
        let first = node.first_source as usize;
        &self.sources[first..first + node.n_sources as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checked_node_is_small() {
        assert_eq!(size_of::<CheckedNode>(), 48);
        assert_eq!(size_of::<Source>(), 12);
    }
}
