//! Random graphs of values of many types, whose nodes may fail, with random changes, compared with
//! a model that computes everything from scratch and determines by itself which nodes must run.

#![expect(clippy::unnecessary_wraps, reason = "functions of nodes may fail")]

use std::collections::HashMap;
use std::sync::Arc;

use millstream_base::same::Same;
use millstream_base::{Limits, Type, Value, Vec3};
use millstream_node::settings::Settings;
use millstream_node::{Call, Failure, Instance, Kernel, NodeDef};

use super::tests::cases;
use super::{LiveError, LiveGraph, NodeNumber, Within};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Source,
    /// The larger of two vectors, lane by lane.
    Larger,
    /// The sum of the lanes.
    Sum,
    /// Three times a number.
    Repeated,
    /// A number as text; fails for [`DISLIKED`].
    Text,
    /// A list of two texts.
    List,
    /// The number of items of the list that equal the first.
    Count,
    /// Two outputs: the lowest lane, and the others as text.
    Split,
    Output(usize),
    /// An operation on plain numbers.
    Plain,
    Choose,
    Removed,
}

/// The instances that nodes run.
pub(super) struct Types(pub(super) HashMap<&'static str, Arc<Instance>>);

fn instance(def: NodeDef, generics: Vec<Type>, arities: &[u16]) -> Arc<Instance> {
    let def = Arc::new(def);
    Arc::new(def.instantiate(Settings::default(), generics, arities).expect("it has an instance"))
}

/// The number whose conversion to text fails while nodes may fail.
const DISLIKED: f32 = 2.0;

fn text(call: &mut Call<'_>) -> Result<(), Failure> {
    let x = call.input::<f32>(0).get(0);
    if x == DISLIKED && call.limits().image_pixels != 1 {
        return Err(Failure::at(0, "it is disliked"));
    }
    call.set_one(0, Value::from(format!("{x}").as_str()));
    Ok(())
}

fn list(call: &mut Call<'_>) -> Result<(), Failure> {
    let items: Vec<Arc<str>> = (0..2).map(|i| call.input::<Arc<str>>(i).get(0)).collect();
    call.set_one(0, Value::List(items.into_iter().collect()));
    Ok(())
}

fn count(call: &mut Call<'_>) -> Result<(), Failure> {
    let list = call.lists(0).list(0);
    let first = list.get(0);
    let n = list.iter().filter(|item| item.same(&first)).count();
    call.set_one(0, n as f32);
    Ok(())
}

fn split(call: &mut Call<'_>) -> Result<(), Failure> {
    let v = call.input::<Vec3>(0).get(0);
    let wants = [call.wants(0), call.wants(1)];
    assert!(wants[0] || wants[1], "what nobody reads is not demanded");
    if wants[0] {
        call.set_one(0, v.0[0].min(v.0[1]).min(v.0[2]));
    }
    if wants[1] {
        call.set_one(1, Value::from(format!("{} {}", v.0[1], v.0[2]).as_str()));
    }
    Ok(())
}

pub(super) fn types() -> Types {
    let texts = Type::STRING.list().expect("one level");
    let larger = NodeDef::new("larger", "")
        .input("a", Type::VEC3, "")
        .input("b", Type::VEC3, "")
        .output("value", Type::VEC3, "")
        .form(|_, inputs| {
            let lanes = inputs[0].iter().zip(&inputs[1]);
            vec![lanes.map(|(a, b)| a.max(*b)).collect()]
        });
    let sum = NodeDef::new("sum", "")
        .input("v", Type::VEC3, "")
        .output("value", Type::F32, "")
        .form(|_, inputs| vec![vec![inputs[0][0] + inputs[0][1] + inputs[0][2]]]);
    let repeated = NodeDef::new("repeated", "")
        .input("x", Type::F32, "")
        .output("value", Type::VEC3, "")
        .form(|_, inputs| vec![vec![inputs[0][0]; 3]]);
    let plain = NodeDef::new("plain", "")
        .input("a", Type::F32, "")
        .input("b", Type::F32, "")
        .output("value", Type::F32, "")
        .form(|_, inputs| vec![vec![inputs[0][0].max(inputs[1][0])]]);
    let text = NodeDef::new("text", "")
        .input("x", Type::F32, "")
        .output("value", Type::STRING, "")
        .function(text);
    let list = NodeDef::new("list", "")
        .input("a", Type::STRING, "")
        .input("b", Type::STRING, "")
        .output("value", texts, "")
        .function(list);
    let count = NodeDef::new("count", "")
        .input("list", texts, "")
        .output("value", Type::F32, "")
        .function(count);
    let split = NodeDef::new("split", "")
        .input("v", Type::VEC3, "")
        .output("lowest", Type::F32, "")
        .output("others", Type::STRING, "")
        .function(split);
    let choose = |name: &'static str, ty: Type| {
        NodeDef::new(name, "")
            .input("which", Type::BOOL, "")
            .input("a", ty, "")
            .input("b", ty, "")
            .output("value", ty, "")
            .kernel(|_| Ok(Kernel::Choose))
    };
    let defs = [
        ("larger", larger, 2),
        ("sum", sum, 1),
        ("repeated", repeated, 1),
        ("plain", plain, 2),
        ("text", text, 1),
        ("list", list, 2),
        ("count", count, 1),
        ("split", split, 1),
        ("choose vec3", choose("choose vec3", Type::VEC3), 3),
        ("choose f32", choose("choose f32", Type::F32), 3),
        ("choose string", choose("choose string", Type::STRING), 3),
    ];
    let made =
        defs.into_iter().map(|(name, def, n)| (name, instance(def, Vec::new(), &vec![1; n])));
    Types(made.collect())
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

/// The value of a node; `None` if it has failed.
type Given = Option<Value>;

#[derive(Clone, Debug)]
struct ModelNode {
    kind: Kind,
    ty: Type,
    inputs: Vec<usize>,
    number: NodeNumber,
    /// The value of a source.
    value: Value,
    /// The values that the node read at its last run, and which outputs were wanted.
    last: Option<(Vec<Value>, [bool; 2])>,
}

struct Model {
    types: Types,
    graph: LiveGraph,
    nodes: Vec<ModelNode>,
    observed: Vec<usize>,
    /// Whether nodes may fail.
    may_fail: bool,
}

/// The values of an evaluation, and the nodes that must run for them, or failed.
#[derive(Default)]
struct Asked {
    values: HashMap<usize, Given>,
    runs: Vec<usize>,
    failed: Vec<usize>,
}

impl Model {
    fn new(may_fail: bool) -> Self {
        let (nodes, observed) = (Vec::new(), Vec::new());
        Self { types: types(), graph: LiveGraph::new(), nodes, observed, may_fail }
    }

    fn within(&self) -> Within {
        // The limit tells the function whether it may fail.
        let image_pixels = if self.may_fail { 2 } else { 1 };
        Within { limits: Limits { image_pixels, ..Limits::default() }, ..Within::default() }
    }

    fn push(&mut self, kind: Kind, ty: Type, inputs: Vec<usize>, number: NodeNumber) {
        let value = Value::Bool(false);
        self.nodes.push(ModelNode { kind, ty, inputs, number, value, last: None });
    }

    fn source(&mut self, value: Value) {
        let number = self.graph.source_of_value(&value);
        self.push(Kind::Source, value.ty(), Vec::new(), number);
        self.nodes.last_mut().expect("it was pushed").value = value;
    }

    /// A node of a type, near the end if there is one.
    fn of_type(&self, rng: &mut Rng, ty: Type) -> usize {
        let all: Vec<usize> = (0..self.nodes.len())
            .filter(|at| {
                let node = &self.nodes[*at];
                node.ty == ty && !matches!(node.kind, Kind::Removed | Kind::Split)
            })
            .collect();
        all[all.len() - 1 - rng.below(all.len().min(6))]
    }

    fn random_node(&mut self, rng: &mut Rng) {
        let texts = Type::STRING.list().expect("one level");
        let (kind, name, takes, gives): (Kind, &str, Vec<Type>, Type) = match rng.below(11) {
            0 | 1 => (Kind::Larger, "larger", vec![Type::VEC3; 2], Type::VEC3),
            2 => (Kind::Sum, "sum", vec![Type::VEC3], Type::F32),
            3 => (Kind::Repeated, "repeated", vec![Type::F32], Type::VEC3),
            4 => (Kind::Text, "text", vec![Type::F32], Type::STRING),
            5 => (Kind::List, "list", vec![Type::STRING; 2], texts),
            6 if self.nodes.iter().any(|node| node.ty == texts && node.kind != Kind::Removed) => {
                (Kind::Count, "count", vec![texts], Type::F32)
            }
            7 => (Kind::Split, "split", vec![Type::VEC3], Type::F32),
            8 => (Kind::Plain, "plain", vec![Type::F32; 2], Type::F32),
            _ => {
                let ty = [Type::VEC3, Type::F32, Type::STRING][rng.below(3)];
                let name = ["choose vec3", "choose f32", "choose string"];
                let at = [Type::VEC3, Type::F32, Type::STRING].iter().position(|t| *t == ty);
                (Kind::Choose, name[at.expect("one of them")], vec![Type::BOOL, ty, ty], ty)
            }
        };
        let inputs: Vec<usize> = takes.iter().map(|ty| self.of_type(rng, *ty)).collect();
        let numbers: Vec<NodeNumber> = inputs.iter().map(|at| self.nodes[*at].number).collect();
        let instance = Arc::clone(&self.types.0[name]);
        let number = self.graph.call(&instance, &numbers).expect("it can be live");
        self.push(kind, gives, inputs, number);
        if kind == Kind::Split {
            let of = self.nodes.len() - 1;
            for (k, ty) in [Type::F32, Type::STRING].into_iter().enumerate() {
                let output = self.graph.output(number, k).expect("it has two outputs");
                self.push(Kind::Output(k), ty, vec![of], output);
            }
        }
    }

    /// The outputs that are read of a node that has two.
    fn wants(&self, at: usize, more: Option<usize>) -> [bool; 2] {
        [at + 1, at + 2].map(|at| {
            self.observed.contains(&at)
                || more == Some(at)
                || self.nodes.iter().any(|node| node.inputs.contains(&at))
        })
    }

    /// The value of a node; `more` is observed as well.
    fn value(&mut self, at: usize, more: Option<usize>, asked: &mut Asked) -> Given {
        if let Some(value) = asked.values.get(&at) {
            return value.clone();
        }
        let ModelNode { kind, inputs, value, .. } = self.nodes[at].clone();
        let mut given = self.computed(at, (kind, &inputs, value), more, asked);
        if let (Kind::Text, Some(Value::String(text))) = (kind, &given)
            && self.may_fail
            && **text == *format!("{DISLIKED}")
        {
            asked.failed.push(at);
            given = None;
        }
        asked.values.insert(at, given.clone());
        given
    }

    fn computed(
        &mut self,
        at: usize,
        (kind, inputs, value): (Kind, &[usize], Value),
        more: Option<usize>,
        asked: &mut Asked,
    ) -> Given {
        let mut read: Vec<Given> = Vec::new();
        match kind {
            Kind::Source => return Some(value),
            Kind::Removed => unreachable!("nobody reads what was removed"),
            Kind::Choose => {
                let which = self.value(inputs[0], more, asked)?;
                let arm = usize::from(which.same(&Value::Bool(true)));
                read.extend([Some(which), self.value(inputs[arm + 1], more, asked)]);
            }
            Kind::Output(k) => {
                self.value(inputs[0], more, asked)?;
                let (read, had) = self.nodes[inputs[0]].last.clone().expect("it ran");
                if !had[k] {
                    asked.runs.push(inputs[0]);
                    let wants = self.wants(inputs[0], more);
                    self.nodes[inputs[0]].last = Some((read.clone(), wants));
                }
                let v = read[0].get::<Vec3>().expect("it reads a vector").0;
                return Some(match k {
                    0 => v[0].min(v[1]).min(v[2]).into(),
                    _ => Value::from(format!("{} {}", v[1], v[2]).as_str()),
                });
            }
            _ => {
                for input in inputs {
                    read.push(self.value(*input, more, asked));
                }
            }
        }
        let read: Vec<Value> = read.into_iter().collect::<Option<_>>()?;
        let is_last = self.nodes[at].last.as_ref().is_some_and(|(last, _)| {
            last.len() == read.len() && last.iter().zip(&read).all(|(a, b)| a.same(b))
        });
        if !is_last {
            asked.runs.push(at);
            let wants = if kind == Kind::Split { self.wants(at, more) } else { [true; 2] };
            self.nodes[at].last = Some((read.clone(), wants));
        }
        let v = |i: usize| read[i].get::<Vec3>().expect("a vector").0;
        let x = |i: usize| read[i].get::<f32>().expect("a number");
        Some(match kind {
            Kind::Larger => Value::Vec3(Vec3(std::array::from_fn(|i| v(0)[i].max(v(1)[i])))),
            Kind::Sum => (v(0)[0] + v(0)[1] + v(0)[2]).into(),
            Kind::Repeated => Value::Vec3(Vec3([x(0); 3])),
            Kind::Text => Value::from(format!("{}", x(0)).as_str()),
            Kind::List => {
                let items = read.iter().map(|item| item.get::<Arc<str>>().expect("a text"));
                Value::List(items.collect())
            }
            Kind::Count => match &read[0] {
                Value::List(items) => (1.0 + f32::from(items.get(0).same(&items.get(1)))).into(),
                other => panic!("{other} is no list"),
            },
            Kind::Split => read[0].clone(),
            Kind::Plain => x(0).max(x(1)).into(),
            Kind::Choose => read[1].clone(),
            Kind::Source | Kind::Removed | Kind::Output(_) => unreachable!("they went before"),
        })
    }

    /// Updates the graph, perhaps for one more node, and compares values, failures and runs.
    fn compare(&mut self, more: Option<usize>) {
        let more = more.filter(|at| !self.observed.contains(at));
        let mut asked = Asked::default();
        let all: Vec<usize> = self.observed.iter().copied().chain(more).collect();
        for at in &all {
            self.value(*at, more, &mut asked);
        }
        if let Some(at) = more {
            self.graph.observe_number(self.nodes[at].number, true);
        }
        self.graph.start_journal(false);
        self.graph.settle_within(self.within()).expect("nobody ends it");
        for at in &all {
            let node = &self.nodes[*at];
            let (found, wanted) = (self.graph.value(node.number, node.ty), &asked.values[at]);
            let is_same = match (&found, wanted) {
                (Some(found), Some(wanted)) => found.same(wanted),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            assert!(is_same, "{found:?}, not {wanted:?}");
        }
        let failed: Vec<NodeNumber> =
            self.graph.failures().into_iter().map(|(node, _)| node).collect();
        let mut wanted: Vec<NodeNumber> =
            asked.failed.iter().map(|at| self.nodes[*at].number).collect();
        wanted.sort_unstable();
        assert_eq!(failed, wanted);
        let mut ran: Vec<NodeNumber> = self.graph.journal_numbers().collect();
        let mut runs: Vec<NodeNumber> =
            asked.runs.iter().map(|at| self.nodes[*at].number).collect();
        ran.sort_unstable();
        runs.sort_unstable();
        if self.may_fail {
            // Nodes that were dirty when one of their sources failed have lost the values that they
            // read.
            assert!(runs.iter().all(|node| ran.contains(node)), "{ran:?} lack some of {runs:?}");
            let mut once = ran.clone();
            once.dedup();
            assert_eq!(ran, once);
        } else {
            assert_eq!(ran, runs);
        }
        if let Some(at) = more {
            self.graph.observe_number(self.nodes[at].number, false);
        }
    }

    fn leads_to(&self, from: usize, to: usize) -> bool {
        from == to || self.nodes[to].inputs.iter().any(|input| self.leads_to(from, *input))
    }

    fn any(&self, rng: &mut Rng) -> usize {
        loop {
            let at = rng.below(self.nodes.len());
            if !matches!(self.nodes[at].kind, Kind::Removed | Kind::Split) {
                return at;
            }
        }
    }

    fn relink(&mut self, rng: &mut Rng) {
        let node = rng.below(self.nodes.len());
        let ModelNode { kind, inputs, number, .. } = self.nodes[node].clone();
        if matches!(kind, Kind::Source | Kind::Removed | Kind::Output(_)) {
            return;
        }
        let input = rng.below(inputs.len());
        let ty = self.nodes[inputs[input]].ty;
        let source = self.of_type(rng, ty);
        let would_close = self.leads_to(node, source);
        match self.graph.relink_number(number, input, self.nodes[source].number) {
            Ok(_) => {
                assert!(!would_close);
                self.nodes[node].inputs[input] = source;
            }
            Err(LiveError::Cycle { .. }) => assert!(would_close),
            Err(other) => panic!("{other}"),
        }
    }

    fn remove(&mut self, rng: &mut Rng) {
        let at = rng.below(self.nodes.len());
        let kind = self.nodes[at].kind;
        if matches!(kind, Kind::Source | Kind::Removed | Kind::Output(_)) {
            return;
        }
        let outputs = if kind == Kind::Split { vec![at + 1, at + 2] } else { Vec::new() };
        let is_used = |at: usize| {
            let reads =
                |(k, node): (usize, &ModelNode)| node.inputs.contains(&at) && !outputs.contains(&k);
            self.observed.contains(&at) || self.nodes.iter().enumerate().any(reads)
        };
        let stays = is_used(at) || outputs.iter().any(|output| is_used(*output));
        assert_eq!(self.graph.remove(self.nodes[at].number), !stays);
        if !stays {
            for at in std::iter::once(at).chain(outputs) {
                self.nodes[at].kind = Kind::Removed;
                self.nodes[at].inputs.clear();
            }
        }
    }

    fn step(&mut self, rng: &mut Rng) {
        match rng.below(12) {
            0..5 => {
                let at = rng.below(SOURCES);
                let small = |rng: &mut Rng| rng.below(3) as f32;
                let value = match &self.nodes[at].value {
                    Value::Vec3(_) => {
                        Value::Vec3(Vec3([small(rng), small(rng), rng.below(2) as f32]))
                    }
                    Value::F32(_) => small(rng).into(),
                    Value::Bool(_) => (rng.below(2) == 0).into(),
                    _ => Value::from(["a", "b", "0"][rng.below(3)]),
                };
                self.graph.set_value(self.nodes[at].number, &value);
                self.nodes[at].value = value;
            }
            5 => {
                let at = self.any(rng);
                self.compare(Some(at));
            }
            6 => {
                if let Some(i) = self.observed.len().checked_sub(1) {
                    let at = self.observed.swap_remove(rng.below(i + 1));
                    self.graph.observe_number(self.nodes[at].number, false);
                }
            }
            7 => {
                let at = self.any(rng);
                if !self.observed.contains(&at) {
                    self.observed.push(at);
                    self.graph.observe_number(self.nodes[at].number, true);
                }
            }
            8 => self.relink(rng),
            9 => self.remove(rng),
            10 => self.random_node(rng),
            _ => self.compare(None),
        }
    }
}

const SOURCES: usize = 8;

fn play(may_fail: bool, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut rng = Rng(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let mut model = Model::new(may_fail);
        for i in 0..2 {
            model.source(Value::Vec3(Vec3([i as f32; 3])));
            model.source((i as f32).into());
            model.source((i == 0).into());
            model.source(Value::from("a"));
        }
        for _ in 0..rng.below(30) + 3 {
            model.random_node(&mut rng);
        }
        for _ in 0..70 {
            model.step(&mut rng);
        }
        model.compare(None);
    }
}

#[test]
fn exactly_the_nodes_run_that_have_to_whatever_their_types() {
    play(false, 1..cases(1500));
}

#[test]
fn where_nodes_fail_all_others_have_their_values() {
    play(true, 1..cases(1500));
}
