//! Keys of state inside scopes, apart from frames.
//!
//! The state of an element depends on the steps above its next value. It also depends on whether
//! the step that reads the state is called for that element. The steps between the requested outputs
//! and that step decide this: those that change the context, and those that choose among their
//! inputs. Any other step evaluates all of its inputs in its own context, whatever their values. The
//! *ways* to a step are the changes and choices that lead to it.
//!
//! Names and the order of nodes are no part of keys. Instead each node has a *label*: a hash of the
//! steps above its next state and of the ways to the step that reads it, in which other states have
//! labels too. Labels are found in rounds: each uses the labels of the round before. They are
//! complete once a round distinguishes no more nodes than the one before. Nodes that still share a
//! label have the same state. The labels of all nodes that state depends on are its key.

use millstream_base::Feature;
use millstream_base::id::SideTable;
use millstream_ir::graph::InstanceId;
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_ir::request::Request;
use millstream_ir::state_reads::{StateNode, StateReads};
use millstream_node::{Class, Instance, Kernel};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::key::{Key, KeyHasher};
use crate::operands::sorted;
use crate::trace::{Tracer, key_of_given};

/// The maximum number of rounds in which labels are found. State that needs more is not stored.
const ROUNDS: usize = 256;

/// If more ways lead to a step, the ways that go on from there treat them as one.
const MAX_WAYS: usize = 32;

/// Finds the keys of state of one plan and request.
pub(crate) struct Cones<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) request: &'a Request,
    pub(crate) tracer: &'a Tracer<'a>,
    pub(crate) reads: &'a StateReads<'a>,
    /// The steps of the outputs that are requested in each tick.
    pub(crate) asked: &'a [StepId],
}

/// The keys of all that is above each step, at any frame; `None` if it is not the same next time.
type Above = SideTable<StepId, Option<Key>>;

/// The labels of features with names.
type Features = FxHashMap<Feature, Key>;

/// The ways to a step, in ascending order.
#[derive(Clone, Debug, Default)]
struct Ways {
    known: Vec<Key>,
    /// Whether some way may be another next time.
    is_unknown: bool,
}

impl Ways {
    /// The way to all that is evaluated in the context of the request.
    fn of_request() -> Self {
        Self { known: vec![KeyHasher::new("request").key()], is_unknown: false }
    }

    fn is_empty(&self) -> bool {
        self.known.is_empty() && !self.is_unknown
    }

    fn extend(&mut self, others: &Self) {
        self.is_unknown |= others.is_unknown;
        for key in &others.known {
            if let Err(at) = self.known.binary_search(key) {
                self.known.insert(at, *key);
            }
        }
    }

    /// The same ways, as one if they are many.
    fn shortened(self) -> Self {
        if self.known.len() > MAX_WAYS { Self { known: vec![self.key()], ..self } } else { self }
    }

    fn key(&self) -> Key {
        let mut hash = KeyHasher::new("ways");
        self.known.iter().for_each(|key| hash.add(*key));
        hash.key()
    }

    /// The ways that go on through input `input` of a step that changes the context or chooses, given
    /// the key of what decides there.
    fn through(&self, decided: Option<Key>, input: usize) -> Self {
        let Some(decided) = decided else { return Self { known: Vec::new(), is_unknown: true } };
        let through = |key: &Key| {
            let mut hash = KeyHasher::new("way");
            hash.add(*key);
            hash.add(decided);
            hash.number(input as u64);
            hash.key()
        };
        let mut known: Vec<Key> = self.known.iter().map(through).collect();
        known.sort_unstable();
        Self { known, is_unknown: self.is_unknown }
    }
}

impl Cones<'_> {
    /// The key of the state of these nodes, of which some are inside scopes, and the labels of the
    /// nodes that it depends on; the others have none that means anything.
    pub(crate) fn key(&self, depends: &[bool]) -> Option<(Key, Vec<Key>)> {
        let mut depends = depends.to_vec();
        let deciding = loop {
            // State that decides where other state is called.
            let deciding = self.deciding(&depends);
            let more = self.reads.read_by(deciding.iter().copied());
            if more.iter().zip(&depends).all(|(more, known)| *known || !more) {
                break deciding;
            }
            depends.iter_mut().zip(more).for_each(|(depends, more)| *depends |= more);
        };
        let labels = self.labels(&depends, &self.features(&depends, deciding))?;
        let mut all: Vec<Key> = nodes_of(&depends).map(|node| labels[node]).collect();
        all.sort_unstable();
        all.dedup();
        let mut hash = KeyHasher::new("cone");
        for label in all {
            hash.add(label);
        }
        Some((hash.key(), labels))
    }

    /// The labels of the features with names that the state of these nodes depends on. A name is free
    /// to choose, so it is left out where the type tells the feature from the others.
    fn features(&self, depends: &[bool], deciding: Vec<StepId>) -> Features {
        let plan = self.plan;
        let next = nodes_of(depends).flat_map(|node| self.reads.steps_of(node));
        let is_read = plan.steps_upstream_of(next.chain(deciding));
        let mut all: Vec<&Feature> = Vec::new();
        for (_, step) in plan.steps.iter().filter(|(id, _)| is_read[*id]) {
            let StepOp::Call(call) = step.op else { continue };
            for feature in &self.tracer.identity_of(call).named {
                if !all.contains(&feature) {
                    all.push(feature);
                }
            }
        }
        let is_alike = |a: &Feature, b: &Feature| {
            a.ty() == b.ty() && std::mem::discriminant(a) == std::mem::discriminant(b)
        };
        let label = |feature: &&Feature| {
            let mut hash = KeyHasher::new("feature");
            if all.iter().filter(|other| is_alike(feature, other)).count() > 1 {
                hash.text(feature.name());
            }
            ((*feature).clone(), hash.key())
        };
        all.iter().map(label).collect()
    }

    /// The steps that decide where the state of these nodes is called.
    fn deciding(&self, depends: &[bool]) -> Vec<StepId> {
        let plan = self.plan;
        let roots = nodes_of(depends).flat_map(|node| self.reads.steps_of(node));
        let is_read = plan.steps_upstream_of(roots.chain(self.asked.iter().copied()));
        let mut leads = SideTable::for_arena(&plan.steps, false);
        self.readers(depends).into_iter().flatten().for_each(|reader| leads[reader] = true);
        let mut deciding = Vec::new();
        // A step comes after all steps that it reads from.
        for (id, step) in plan.steps.iter().filter(|(id, _)| is_read[*id]) {
            for (input, link) in plan.inputs_of(step).iter().enumerate() {
                if leads[link.step] {
                    leads[id] = true;
                    deciding.extend(self.decides(id, input).map(|source| source.step));
                }
            }
        }
        deciding
    }

    /// What decides in which contexts a step evaluates one of its inputs; `None` if the contexts are
    /// those of the step.
    fn decides(&self, id: StepId, input: usize) -> Option<StepSource> {
        let step = &self.plan.steps[id];
        let StepOp::Call(call) = step.op else { return None };
        let instance = &self.plan.instances[call];
        if instance.inputs.get(input).is_some_and(|slot| !slot.scope.is_empty()) {
            return Some(StepSource { step: id, output: 0 });
        }
        let selector = self.plan.inputs_of(step).first().filter(|_| input > 0);
        selector.copied().filter(|_| matches!(instance.kernel, Kernel::Choose))
    }

    /// The steps that read the state of these nodes in the contexts of its elements, by node.
    fn readers(&self, depends: &[bool]) -> Vec<Option<StepId>> {
        let called = self.reads.called(depends);
        let nodes = self.reads.nodes.iter().zip(depends);
        let reader = |(node, depends): (&StateNode, &bool)| {
            let writer = node.writer.filter(|writer| *depends && !called.contains(writer))?;
            Some(self.plan.state_writers[writer].reader)
        };
        nodes.map(reader).collect()
    }

    /// The labels of these nodes; `None` if something about them may be different next time.
    fn labels(&self, depends: &[bool], features: &Features) -> Option<Vec<Key>> {
        let mut labels = vec![KeyHasher::new("node").key(); depends.len()];
        let mut n_different = 1;
        let readers = self.readers(depends);
        for _ in 0..ROUNDS {
            let above = self.above(&labels, features);
            let ways = self.ways(&above, (&labels, depends, &readers));
            let mut next = labels.clone();
            for node in nodes_of(depends) {
                next[node] = self.label(node, &above, readers[node].map(|reader| &ways[reader]))?;
            }
            labels = next;
            let of_set = nodes_of(depends).map(|node| labels[node]);
            let n_next = of_set.collect::<FxHashSet<Key>>().len();
            if n_next == n_different {
                return Some(labels);
            }
            n_different = n_next;
        }
        None
    }

    /// The label of a node, given the ways to the step that reads its state if it is inside scopes.
    fn label(&self, node: usize, above: &Above, ways: Option<&Ways>) -> Option<Key> {
        let mut hash = KeyHasher::new("label");
        for (_, source) in self.reads.values_of(&self.reads.nodes[node]) {
            if !add_source(above, source, &mut hash) {
                return None;
            }
        }
        match ways {
            Some(ways) if ways.is_unknown => return None,
            Some(ways) => hash.add(ways.key()),
            None => hash.text("request"),
        }
        Some(hash.key())
    }

    /// The keys of everything above each step, which contain these labels of nodes and of features.
    fn above(&self, labels: &[Key], features: &Features) -> Above {
        let plan = self.plan;
        let commutes = plan.instances.as_slice().iter().map(|instance| instance.commutes());
        let commutes: SideTable<InstanceId, bool> = SideTable::from_vec(commutes.collect());
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
                    let identity = self.tracer.identity_of(call);
                    hash.add(identity.key);
                    let named = identity.named.iter().filter_map(|it| features.get(it));
                    named.for_each(|label| hash.add(*label));
                    has_key &= self.add_given(&plan.instances[call], &mut hash);
                }
            }
            if let Some((node, variable)) = self.reads.read_at(id) {
                hash.add(labels[node]);
                hash.number(variable as u64);
            }
            let links = plan.inputs_of(step).iter().map(|link| (above[link.step], link.output));
            let commutes = matches!(step.op, StepOp::Call(call) if commutes[call]);
            for (key, output) in sorted(links.collect(), commutes) {
                hash.number(output.into());
                match key {
                    Some(key) => hash.add(key),
                    None => has_key = false,
                }
            }
            above[id] = has_key.then(|| hash.key());
        }
        above
    }

    /// The ways to each step from the requested outputs, and from the next state of these nodes: that
    /// of a node inside scopes is evaluated wherever its reader is, and any other in each tick.
    fn ways(
        &self,
        above: &Above,
        (labels, depends, readers): (&[Key], &[bool], &[Option<StepId>]),
    ) -> SideTable<StepId, Ways> {
        let plan = self.plan;
        let mut ways = SideTable::for_arena(&plan.steps, Ways::default());
        let of_request = Ways::of_request();
        for step in self.asked {
            ways[*step].extend(&of_request);
        }
        for node in nodes_of(depends) {
            let of_node = match readers[node] {
                Some(_) => Ways { known: vec![labels[node]], is_unknown: false },
                None => of_request.clone(),
            };
            self.reads.steps_of(node).for_each(|step| ways[step].extend(&of_node));
        }
        // A step comes after all steps that it reads from.
        for (id, step) in plan.steps.iter().rev() {
            let of_step = std::mem::take(&mut ways[id]).shortened();
            if !of_step.is_empty() {
                for (input, link) in plan.inputs_of(step).iter().enumerate() {
                    match self.decides(id, input) {
                        Some(source) => {
                            let decided = above[source.step].map(|above| key_of(source, above));
                            ways[link.step].extend(&of_step.through(decided, input));
                        }
                        None => ways[link.step].extend(&of_step),
                    }
                }
            }
            ways[id] = of_step;
        }
        ways
    }

    /// Adds what the request gives for a feature that an instance reads; `false` if it is not the same
    /// next time.
    fn add_given(&self, instance: &Instance, hash: &mut KeyHasher) -> bool {
        match &instance.kernel {
            Kernel::Read { feature: Feature::RealTime, .. } => false,
            Kernel::Read { feature, .. } => {
                match self.request.of_feature(feature).map(key_of_given) {
                    Some(Some(key)) => {
                        hash.add(key);
                        true
                    }
                    Some(None) => false,
                    None => {
                        // The time of a tick depends on the rate.
                        let is_time = *feature == Feature::Time;
                        hash.number(if is_time { self.plan.fps.to_bits() } else { 0 });
                        true
                    }
                }
            }
            Kernel::Form(_)
            | Kernel::Function(_)
            | Kernel::Pass
            | Kernel::Choose
            | Kernel::ReadState(_) => true,
        }
    }
}

/// The nodes in a set.
fn nodes_of(depends: &[bool]) -> impl Iterator<Item = usize> {
    (0..depends.len()).filter(|node| depends[*node])
}

/// The key of a result of a step, given that of everything above the step.
fn key_of(source: StepSource, above: Key) -> Key {
    let mut hash = KeyHasher::new("result");
    hash.number(source.output.into());
    hash.add(above);
    hash.key()
}

/// Adds everything above a result; `false` if it is not the same next time.
fn add_source(above: &Above, source: StepSource, hash: &mut KeyHasher) -> bool {
    hash.number(source.output.into());
    above[source.step].inspect(|key| hash.add(*key)).is_some()
}
