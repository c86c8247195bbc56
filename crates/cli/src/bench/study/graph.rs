//! Graphs of numbers, simple enough to write any strategy for them.
//!
//! A node has up to three inputs, all with smaller ids. The same graph also becomes a document, so
//! that the evaluators of the engine compute the same thing as the strategies.

use serde_json::{Map, Value as Json, json};

/// The number of a node or source.
pub(super) type Id = u32;

/// The operation of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// An input of the graph.
    Source,
    /// An input that selects the arm of switches: 0 or 1.
    Selector,
    Add,
    Subtract,
    Max,
    Min,
    /// Selector, then the arms for 0 and 1.
    Switch,
}

impl Op {
    fn arity(self) -> usize {
        match self {
            Self::Source | Self::Selector => 0,
            Self::Add | Self::Subtract | Self::Max | Self::Min => 2,
            Self::Switch => 3,
        }
    }
}

/// A graph with one output, the last node.
#[derive(Clone, Default)]
pub(super) struct Graph {
    ops: Vec<Op>,
    inputs: Vec<[Id; 3]>,
    /// The initial values of sources; zero for other nodes.
    initial: Vec<f64>,
}

impl Graph {
    pub(super) fn source(&mut self, value: f64) -> Id {
        self.push(Op::Source, [0; 3], value)
    }

    pub(super) fn selector(&mut self, is_second: bool) -> Id {
        self.push(Op::Selector, [0; 3], f64::from(u8::from(is_second)))
    }

    pub(super) fn binary(&mut self, op: Op, a: Id, b: Id) -> Id {
        self.push(op, [a, b, 0], 0.0)
    }

    pub(super) fn switch(&mut self, selector: Id, arms: [Id; 2]) -> Id {
        self.push(Op::Switch, [selector, arms[0], arms[1]], 0.0)
    }

    fn push(&mut self, op: Op, inputs: [Id; 3], initial: f64) -> Id {
        let id = self.ops.len() as Id;
        debug_assert!(inputs[..op.arity()].iter().all(|input| *input < id), "inputs come first");
        self.ops.push(op);
        self.inputs.push(inputs);
        self.initial.push(initial);
        id
    }

    /// The number of nodes, including sources.
    pub(super) fn len(&self) -> usize {
        self.ops.len()
    }

    /// The number of nodes other than sources.
    pub(super) fn n_computing(&self) -> usize {
        self.ops.iter().filter(|op| op.arity() > 0).count()
    }

    pub(super) fn output(&self) -> Id {
        self.ops.len() as Id - 1
    }

    pub(super) fn op(&self, id: Id) -> Op {
        self.ops[id as usize]
    }

    pub(super) fn is_source(&self, id: Id) -> bool {
        self.op(id).arity() == 0
    }

    pub(super) fn ids(&self) -> impl DoubleEndedIterator<Item = Id> + use<> {
        0..self.ops.len() as Id
    }

    pub(super) fn inputs(&self, id: Id) -> &[Id] {
        &self.inputs[id as usize][..self.op(id).arity()]
    }

    pub(super) fn initial(&self) -> &[f64] {
        &self.initial
    }

    /// The arm that a switch takes, given the values of all nodes.
    pub(super) fn taken(&self, switch: Id, values: &[f64]) -> Id {
        let [selector, first, second] = self.inputs[switch as usize];
        if values[selector as usize] == 0.0 { first } else { second }
    }

    /// The value of a node, given the values of all nodes; a source keeps its value.
    pub(super) fn compute(&self, id: Id, values: &[f64]) -> f64 {
        let [a, b, _] = self.inputs[id as usize];
        let of = |id: Id| values[id as usize];
        match self.op(id) {
            Op::Source | Op::Selector => of(id),
            Op::Add => of(a) + of(b),
            Op::Subtract => of(a) - of(b),
            Op::Max => of(a).max(of(b)),
            Op::Min => of(a).min(of(b)),
            Op::Switch => of(self.taken(id, values)),
        }
    }

    /// The nodes that read each node.
    pub(super) fn users(&self) -> Vec<Vec<Id>> {
        let mut users = vec![Vec::new(); self.len()];
        for id in self.ids() {
            let inputs = self.inputs(id);
            for (k, input) in inputs.iter().enumerate() {
                // A node that reads another one twice is one reader.
                if !inputs[..k].contains(input) {
                    users[*input as usize].push(id);
                }
            }
        }
        users
    }

    /// The graph as the text of a document. Node 7 is called `x7` if it is an input, else `n7`.
    pub(super) fn document(&self) -> String {
        let source = |id: Id| {
            if self.is_source(id) {
                json!({ "input": format!("x{id}") })
            } else {
                json!({ "from": format!("n{id}.value") })
            }
        };
        let (mut inputs, mut nodes) = (Map::new(), Map::new());
        for id in self.ids() {
            let operands: Vec<Json> = self.inputs(id).iter().map(|input| source(*input)).collect();
            let initial = self.initial[id as usize];
            let ty = match self.op(id) {
                Op::Source => {
                    inputs.insert(format!("x{id}"), json!({ "type": "f64", "default": initial }));
                    continue;
                }
                Op::Selector => {
                    let input = json!({ "type": "bool", "default": initial != 0.0 });
                    inputs.insert(format!("x{id}"), input);
                    continue;
                }
                Op::Add => "math.add",
                Op::Subtract => "math.subtract",
                Op::Max => "math.maximum",
                Op::Min => "math.minimum",
                Op::Switch => "control.switch",
            };
            let links = match &operands[..] {
                [condition, first, second] => {
                    json!({ "condition": condition, "false": first, "true": second })
                }
                operands => json!({ "a": operands[0], "b": operands[1] }),
            };
            nodes.insert(format!("n{id}"), json!({ "type": ty, "in": links }));
        }
        let from = format!("n{}.value", self.output());
        let outputs = json!({ "y": { "type": "f64", "from": from } });
        json!({ "millstream": 2, "inputs": inputs, "outputs": outputs, "nodes": nodes }).to_string()
    }
}
