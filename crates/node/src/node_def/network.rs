//! Networks: node types whose work is done by nodes of other types.
//!
//! Lowering replaces each node by the parts of its network, so passes and evaluators see only
//! ordinary nodes. A network is flat: a part that is itself a network is replaced by its parts.

use std::sync::Arc;

use millstream_base::{Type, Value};
use smallvec::SmallVec;

use crate::node_def::instance::{InputSlot, Instance};

/// The nodes that replace a node of an instance.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// The nodes, each after those that it reads.
    pub parts: Vec<Part>,
    /// The constants that parts and outputs read.
    pub constants: Vec<Value>,
    /// The sources of the outputs, in order of the sockets.
    pub outputs: Vec<PartSource>,
    /// Whether an output is available as soon as the inputs that lead to it are.
    pub is_divided: bool,
    /// The values that a text narrows without saying so, in order of the text.
    pub narrowed: Vec<NarrowedText>,
}

/// A part of the text in a setting whose value is narrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NarrowedText {
    /// The setting with the text.
    pub setting: &'static str,
    /// The first byte of the text.
    pub start: u32,
    /// The end of the text in bytes.
    pub end: u32,
    /// The type of the value.
    pub from: Type,
    /// The type that it becomes.
    pub to: Type,
}

/// One node of a network.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name within the node: the last part of its path. A part without a name has the path of
    /// the node.
    pub name: Arc<str>,
    /// The node type with its settings and types.
    pub instance: Arc<Instance>,
    /// The source of each input; types that differ are converted as along links.
    pub sources: SmallVec<[PartSource; 3]>,
}

/// The source of a value in a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartSource {
    /// An input of the instance.
    Input(u32),
    /// A constant.
    Constant(u32),
    /// An output of a part.
    Output {
        /// The position of the part.
        part: u32,
        /// The position of its output.
        output: u32,
    },
}

/// A target in which the parts of a network are made.
pub trait NetworkParts {
    /// A value that parts read.
    type Value: Clone;
    /// Why a part cannot be made.
    type Error;

    /// A constant.
    fn constant(&mut self, value: &Value) -> Self::Value;

    /// Makes the node of a part. The result is the node's output if it has only one.
    ///
    /// # Errors
    /// If it cannot be made.
    fn call(&mut self, part: &Part, inputs: &[Self::Value]) -> Result<Self::Value, Self::Error>;

    /// An output of the node of a part.
    fn output(&mut self, call: &Self::Value, part: &Part, output: usize) -> Self::Value;
}

impl Network {
    /// Makes the parts and returns the outputs.
    ///
    /// # Errors
    /// If a part cannot be made.
    pub fn make<P: NetworkParts>(
        &self,
        inputs: &[P::Value],
        parts: &mut P,
    ) -> Result<Vec<P::Value>, P::Error> {
        let constants: Vec<P::Value> =
            self.constants.iter().map(|value| parts.constant(value)).collect();
        let mut calls: Vec<P::Value> = Vec::with_capacity(self.parts.len());
        let source = |parts: &mut P, calls: &[P::Value], source: PartSource| match source {
            PartSource::Input(i) => inputs[i as usize].clone(),
            PartSource::Constant(i) => constants[i as usize].clone(),
            PartSource::Output { part, output } => {
                let (of, call) = (&self.parts[part as usize], &calls[part as usize]);
                match of.instance.outputs.len() {
                    1 => call.clone(),
                    _ => parts.output(call, of, output as usize),
                }
            }
        };
        for part in &self.parts {
            let read: SmallVec<[P::Value; 3]> =
                part.sources.iter().map(|it| source(parts, &calls, *it)).collect();
            calls.push(parts.call(part, &read)?);
        }
        Ok(self.outputs.iter().map(|it| source(parts, &calls, *it)).collect())
    }

    /// The type of a source in the network of an instance with these inputs.
    pub fn type_of(&self, source: PartSource, inputs: &[InputSlot]) -> Type {
        match source {
            PartSource::Input(i) => inputs[i as usize].ty,
            PartSource::Constant(i) => self.constants[i as usize].ty(),
            PartSource::Output { part, output } => {
                self.parts[part as usize].instance.outputs[output as usize].ty
            }
        }
    }

    /// Number of links of the parts.
    pub fn n_links(&self) -> usize {
        self.parts.iter().map(|part| part.sources.len()).sum()
    }

    /// The network in which parts that are networks are replaced by their parts.
    pub(crate) fn flat(network: Arc<Self>) -> Arc<Self> {
        if network.parts.iter().all(|part| part.instance.network.is_none()) {
            return network;
        }
        Arc::new(Arc::unwrap_or_clone(network).flattened())
    }

    fn flattened(self) -> Self {
        let mut flat = Self {
            constants: self.constants,
            is_divided: self.is_divided,
            narrowed: self.narrowed,
            ..Self::default()
        };
        // The sources that replace the outputs of each part.
        let mut became: Vec<SmallVec<[PartSource; 1]>> = Vec::with_capacity(self.parts.len());
        let moved = |became: &[SmallVec<[PartSource; 1]>], source| match source {
            PartSource::Output { part, output } => became[part as usize][output as usize],
            PartSource::Input(_) | PartSource::Constant(_) => source,
        };
        for part in self.parts {
            let sources: SmallVec<[PartSource; 3]> =
                part.sources.iter().map(|source| moved(&became, *source)).collect();
            let Some(inner) = part.instance.network.clone() else {
                let at = flat.parts.len() as u32;
                let outputs = 0..part.instance.outputs.len() as u32;
                became
                    .push(outputs.map(|output| PartSource::Output { part: at, output }).collect());
                flat.parts.push(Part { sources, ..part });
                continue;
            };
            let (n_parts, n_constants) = (flat.parts.len() as u32, flat.constants.len() as u32);
            let within = |source| match source {
                PartSource::Input(i) => sources[i as usize],
                PartSource::Constant(i) => PartSource::Constant(n_constants + i),
                PartSource::Output { part, output } => {
                    PartSource::Output { part: n_parts + part, output }
                }
            };
            flat.constants.extend(inner.constants.iter().cloned());
            flat.parts.extend(inner.parts.iter().map(|it| Part {
                name: format!("{}.{}", part.name, it.name).into(),
                instance: Arc::clone(&it.instance),
                sources: it.sources.iter().map(|source| within(*source)).collect(),
            }));
            became.push(inner.outputs.iter().map(|source| within(*source)).collect());
        }
        flat.outputs = self.outputs.iter().map(|source| moved(&became, *source)).collect();
        flat
    }
}
