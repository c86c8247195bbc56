//! The meaning of graphs in the plainest form, to test that passes preserve it bit for bit.

use std::collections::HashMap;

use millstream_base::{Feature, Value};
use millstream_ir::graph::InputId;
use millstream_ir::{Graph, Op, Source};
use millstream_node::{Kernel, ScopeRule};

/// All NaNs have the same bits.
fn same_bits(value: &Value) -> Vec<u64> {
    let (_, n) = value.ty().lanes().expect("the graphs of these tests are made of lanes");
    let canonical = |i| match value {
        Value::F32(x) if x.is_nan() => u64::from(f32::NAN.to_bits()),
        Value::F64(x) if x.is_nan() => f64::NAN.to_bits(),
        _ => value.lane(i).expect("the value has the lane"),
    };
    (0..n as usize).map(canonical).collect()
}

/// Evaluates a graph of forms, switches, `context.time` and nodes that change it.
pub(super) struct Meaning<'a> {
    graph: &'a Graph,
    inputs: &'a dyn Fn(InputId) -> Value,
    /// Results of nodes at a time, by the bits of the time.
    known: HashMap<(Source, u64), Value>,
}

impl<'a> Meaning<'a> {
    pub(super) fn new(graph: &'a Graph, inputs: &'a dyn Fn(InputId) -> Value) -> Self {
        Self { graph, inputs, known: HashMap::new() }
    }

    /// The bits of all outputs at a time.
    pub(super) fn outputs(&mut self, time: f64) -> Vec<Vec<u64>> {
        let outputs = &self.graph.outputs;
        outputs.iter().map(|output| same_bits(&self.value(output.source, time))).collect()
    }

    fn value(&mut self, source: Source, time: f64) -> Value {
        let key = (source, time.to_bits());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let value = self.computed(source, time);
        self.known.insert(key, value.clone());
        value
    }

    fn computed(&mut self, source: Source, time: f64) -> Value {
        let graph = self.graph;
        let instance = match graph.op(source.node) {
            Op::Gone => panic!("links lead to existing nodes"),
            Op::Const(id) => return graph.constants().values()[id].clone(),
            Op::Input(id) => return (self.inputs)(id),
            Op::Call(id) => &graph.instances()[id],
        };
        let links = graph.inputs_of(source.node);
        match &instance.kernel {
            Kernel::Read { feature: Feature::Time, .. } => Value::F64(time),
            Kernel::Choose => match self.value(links[0], time) {
                Value::Bool(taken) => self.value(links[1 + usize::from(taken)], time),
                other => panic!("a switch of these tests takes a bool, not {other}"),
            },
            Kernel::Pass => {
                let inner = match instance.inputs[0].scope.first() {
                    None => time,
                    Some(ScopeRule::Inject { value, .. }) => self.seconds(links, *value, time),
                    Some(ScopeRule::Modify { form, args, .. }) => {
                        let by = self.seconds(links, args[0], time);
                        let mut result = [0];
                        let params = [time.to_bits(), by.to_bits()];
                        form.run_scalar(&params, &mut result, &mut Vec::new());
                        f64::from_bits(result[0])
                    }
                    Some(ScopeRule::Each { .. } | ScopeRule::Along { .. }) => {
                        panic!("the graphs of these tests gather nothing")
                    }
                };
                self.value(links[0], inner)
            }
            Kernel::Form(form) => {
                let mut params = Vec::new();
                for link in links {
                    let value = self.value(*link, time);
                    let (_, n) = value.ty().lanes().expect("forms take lanes");
                    params.extend((0..n as usize).filter_map(|i| value.lane(i)));
                }
                let mut results = vec![0; form.results.len()];
                form.run_scalar(&params, &mut results, &mut Vec::new());
                let lanes = instance
                    .outputs
                    .iter()
                    .map(|slot| slot.ty.lanes().map_or(0, |(_, n)| n as usize));
                let lanes: Vec<usize> = lanes.collect();
                let start: usize = lanes[..source.output as usize].iter().sum();
                let ty = instance.outputs[source.output as usize].ty;
                let end = start + lanes[source.output as usize];
                Value::from_lanes(ty, &results[start..end]).expect("forms give lanes")
            }
            Kernel::Read { .. } | Kernel::Function(_) | Kernel::ReadState(_) => {
                panic!("the graphs of these tests have no {:?}", instance.kernel)
            }
        }
    }

    fn seconds(&mut self, links: &[Source], input: u16, time: f64) -> f64 {
        match self.value(links[input as usize], time) {
            Value::F64(x) => x,
            other => panic!("a time is an f64, not {other}"),
        }
    }
}
