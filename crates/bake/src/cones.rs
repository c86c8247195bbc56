//! Keys of state inside scopes, apart from frames.
//!
//! The state of an element depends on the steps above its next value. It also depends on whether
//! the step that reads the state is called for that element. The steps between the requested outputs
//! and that step decide this: those that change the context, and those that choose among their
//! inputs. Any other step evaluates all of its inputs in its own context, whatever their values.
//!
//! Names are not part of keys. Instead each node has a *label*: a hash of the steps above its next
//! state, in which the states that these steps read have labels too. Labels are found in rounds:
//! each uses the labels of the round before, and so includes state that is read one step further up.
//! The labels of nodes that look the same also contain their order in the plan, so no two nodes of a
//! set share one.

use millstream_base::Feature;
use millstream_base::id::SideTable;
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_ir::request::Request;
use millstream_ir::state_reads::StateReads;
use millstream_node::{Class, Instance, Kernel};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::key::{Key, KeyHasher};
use crate::trace::{Tracer, key_of_given};

/// Rounds in which labels are found. Nodes that look the same after them are told apart by order.
const ROUNDS: usize = 16;

/// Finds the keys of state of one plan and request.
pub(crate) struct Cones<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) request: &'a Request,
    pub(crate) tracer: &'a Tracer<'a>,
    pub(crate) reads: &'a StateReads<'a>,
}

/// The keys of all that is above each step, at any frame; `None` if it is not the same next time.
type Above = SideTable<StepId, Option<Key>>;

/// How a step leads to steps that read certain state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// It does not.
    None,
    /// In a way that may be another next time.
    Unknown,
    /// In the way with this key.
    Known(Key),
}

impl Way {
    fn of(key: Option<Key>) -> Self {
        key.map_or(Self::Unknown, Self::Known)
    }
}

impl Cones<'_> {
    /// The key of the state of these nodes, of which some are inside scopes, and the labels of the
    /// nodes. The outputs of the steps `asked` are requested in each tick.
    pub(crate) fn key(&self, depends: &[bool], asked: &[StepId]) -> Option<(Key, Vec<Key>)> {
        let mut depends = depends.to_vec();
        loop {
            let labels = self.labels(&depends);
            let above = self.above(&labels);
            let called = self.reads.called(&depends);
            let nodes = self.reads.nodes.iter().zip(&depends).filter(|(_, depends)| **depends);
            let writers = nodes.filter_map(|(node, _)| node.writer);
            let writers = writers.filter(|writer| !called.contains(writer));
            let (ways, deciding) = self.ways(&above, writers);
            // State that decides where other state is called.
            let more = self.reads.read_by(deciding);
            if more.iter().zip(&depends).any(|(more, known)| *more && !known) {
                depends.iter_mut().zip(more).for_each(|(depends, more)| *depends |= more);
                continue;
            }
            let key = self.key_with(&depends, (&labels, &above), asked.iter().map(|it| ways[*it]));
            return key.map(|key| (key, labels));
        }
    }

    /// The key of the state of these nodes, to which the requested outputs lead in these ways.
    fn key_with(
        &self,
        depends: &[bool],
        (labels, above): (&[Key], &Above),
        ways: impl Iterator<Item = Way>,
    ) -> Option<Key> {
        let mut hash = KeyHasher::new("cone");
        let mut nodes: Vec<usize> = (0..depends.len()).filter(|node| depends[*node]).collect();
        nodes.sort_unstable_by_key(|node| labels[*node]);
        for node in nodes {
            hash.add(labels[node]);
            for (_, source) in self.reads.values_of(&self.reads.nodes[node]) {
                if !add_source(above, source, &mut hash) {
                    return None;
                }
            }
        }
        let mut ways: Vec<Way> = ways.filter(|way| *way != Way::None).collect();
        if ways.contains(&Way::Unknown) {
            return None;
        }
        add_ways(&mut ways, &mut hash);
        Some(hash.key())
    }

    /// The label of each of these nodes; the others have none that means anything.
    fn labels(&self, depends: &[bool]) -> Vec<Key> {
        let n = depends.len();
        let mut labels = vec![KeyHasher::new("node").key(); n];
        let mut n_different = 1;
        for _ in 0..ROUNDS {
            let above = self.above(&labels);
            let next: Vec<Key> = (0..n).map(|node| self.looks(node, &above)).collect();
            let of_set = (0..n).filter(|node| depends[*node]).map(|node| next[node]);
            let n_next = of_set.collect::<FxHashSet<Key>>().len();
            labels = next;
            if n_next == n_different {
                break;
            }
            n_different = n_next;
        }
        let mut n_alike: FxHashMap<Key, u64> = FxHashMap::default();
        for node in (0..n).filter(|node| depends[*node]) {
            let n_before = n_alike.entry(labels[node]).or_default();
            let mut hash = KeyHasher::new("label");
            hash.add(labels[node]);
            hash.number(*n_before);
            *n_before += 1;
            labels[node] = hash.key();
        }
        labels
    }

    /// What the next state of a node looks like.
    fn looks(&self, node: usize, above: &Above) -> Key {
        let mut hash = KeyHasher::new("node");
        let node = &self.reads.nodes[node];
        hash.number(node.writer.is_some().into());
        for (_, source) in self.reads.values_of(node) {
            add_source(above, source, &mut hash);
        }
        hash.key()
    }

    /// The keys of everything above each step, which contain these labels of nodes.
    fn above(&self, labels: &[Key]) -> Above {
        let plan = self.plan;
        let mut above: Above = SideTable::for_arena(&plan.steps, None);
        // A step comes after all steps that it reads from.
        for (id, step) in plan.steps.iter() {
            let mut hash = KeyHasher::new("above");
            let mut has_key = step.class != Class::Volatile;
            match step.op {
                StepOp::Const(_) | StepOp::Input(_) => {
                    has_key &= self.tracer.add_leaf(id, &mut hash);
                }
                StepOp::Call(call) => {
                    hash.add(self.tracer.identity_of(call));
                    has_key &= add_given(&plan.instances[call], self.request, &mut hash);
                }
            }
            if let Some((node, variable)) = self.reads.read_at(id) {
                hash.add(labels[node]);
                hash.number(variable as u64);
            }
            for link in plan.inputs_of(step) {
                has_key &= add_source(&above, *link, &mut hash);
            }
            above[id] = has_key.then(|| hash.key());
        }
        above
    }

    /// How each step leads to those that read the state of these state writers, and the steps that
    /// decide where the state is called.
    fn ways(
        &self,
        above: &Above,
        writers: impl Iterator<Item = usize>,
    ) -> (SideTable<StepId, Way>, Vec<StepId>) {
        let plan = self.plan;
        let mut ways = SideTable::for_arena(&plan.steps, Way::None);
        let mut deciding = Vec::new();
        for writer in writers {
            let writer = &plan.state_writers[writer];
            ways[writer.reader] = Way::of(above[writer.reader]);
        }
        for (id, step) in plan.steps.iter() {
            let StepOp::Call(call) = step.op else { continue };
            let links = plan.inputs_of(step);
            let inner: Vec<Way> = links.iter().map(|link| ways[link.step]).collect();
            if ways[id] != Way::None || inner.iter().all(|way| *way == Way::None) {
                continue;
            }
            let instance = &plan.instances[call];
            ways[id] = if instance.has_scopes() {
                deciding.push(id);
                Way::of(above[id])
            } else if let (Kernel::Choose, Some(selector)) = (&instance.kernel, links.first()) {
                deciding.push(selector.step);
                choice(above, *selector, &inner)
            } else {
                joined(inner)
            };
        }
        (ways, deciding)
    }
}

/// The way through a choice: which arm leads where counts.
fn choice(above: &Above, selector: StepSource, inner: &[Way]) -> Way {
    let mut hash = KeyHasher::new("choice");
    if !add_source(above, selector, &mut hash) {
        return Way::Unknown;
    }
    for way in inner {
        match way {
            Way::None => hash.text("none"),
            Way::Known(key) => hash.add(*key),
            Way::Unknown => return Way::Unknown,
        }
    }
    Way::Known(hash.key())
}

/// The way through a call that evaluates all of its inputs.
fn joined(mut inner: Vec<Way>) -> Way {
    inner.retain(|way| *way != Way::None);
    if inner.contains(&Way::Unknown) {
        return Way::Unknown;
    }
    if let [only] = inner[..] {
        return only;
    }
    let mut hash = KeyHasher::new("ways");
    add_ways(&mut inner, &mut hash);
    Way::Known(hash.key())
}

/// Adds known ways, each once, in an order that does not depend on the document.
fn add_ways(ways: &mut Vec<Way>, hash: &mut KeyHasher) {
    let known = |way: &Way| match way {
        Way::Known(key) => Some(*key),
        Way::None | Way::Unknown => None,
    };
    ways.sort_unstable_by_key(known);
    ways.dedup();
    ways.iter().filter_map(known).for_each(|key| hash.add(key));
}

/// Adds everything above a result; `false` if it is not the same next time.
fn add_source(above: &Above, source: StepSource, hash: &mut KeyHasher) -> bool {
    hash.number(source.output.into());
    above[source.step].inspect(|key| hash.add(*key)).is_some()
}

/// Adds the value that the request gives for a feature that an instance reads; `false` if it is not
/// the same next time.
fn add_given(instance: &Instance, request: &Request, hash: &mut KeyHasher) -> bool {
    match &instance.kernel {
        Kernel::Read { feature: Feature::RealTime, .. } => false,
        Kernel::Read { feature, .. } => match request.of_feature(feature).map(key_of_given) {
            Some(Some(key)) => {
                hash.add(key);
                true
            }
            Some(None) => false,
            None => true,
        },
        Kernel::Form(_)
        | Kernel::Function(_)
        | Kernel::Pass
        | Kernel::Choose
        | Kernel::ReadState(_) => true,
    }
}
