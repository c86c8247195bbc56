//! Traces: what the result of a step depends on.
//!
//! A trace consists of the structure of all steps above a result, as one key, and its *holes*,
//! which differ from frame to frame. A hole is the result of a cheap step, or a feature of the
//! request. The structure and the values in the holes together are the key of the result in a
//! frame.
//!
//! Below a scope, a step is evaluated in a changed context. There, the *affected* needs are part of
//! the structure. A step without affected needs has the same value as in the context of the
//! request, and is treated as if it were read there.

use millstream_base::feature::Aspect;
use millstream_base::id::SideTable;
use millstream_base::{Feature, FeatureSet, Need, Value};
use millstream_ir::graph::InstanceId;
use millstream_ir::need_map::{Fate, NeedMap};
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_ir::request::{Given, Request, RequestAxis};
use millstream_ir::states::is_state;
use millstream_node::{Class, Data, Kernel};
use rustc_hash::FxHashMap;

use crate::cheap::Cheap;
use crate::contexts::contexts;
use crate::identity::{Identity, Named};
use crate::key::{Key, KeyHasher};
use crate::operands::Operands;

/// A value that differs from frame to frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Hole {
    /// The result of a cheap step, by its number in the boundary.
    Boundary(u32),
    /// A feature that the request provides, by its bit among the needs of the plan.
    Feature(u32),
}

/// The dependencies of a result.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    /// The key of the steps above, with numbered holes.
    pub(crate) structure: Key,
    pub(crate) holes: Vec<Hole>,
    /// The names of the inputs that are state.
    pub(crate) states: Vec<std::sync::Arc<str>>,
    /// The steps that read the state of elements.
    pub(crate) readers: Vec<StepId>,
    /// Whether it may be stored: nothing above it is volatile or lacks an encoding.
    pub(crate) has_key: bool,
}

/// The arms that choices take, by step; `None` if the selector is unknown.
pub(crate) type Arms = FxHashMap<StepId, usize>;

/// Traces results of one plan and request.
pub(crate) struct Tracer<'a> {
    plan: &'a Plan,
    cheap: &'a Cheap,
    /// The number of each cheap result that something else reads.
    pub(crate) boundary: FxHashMap<StepSource, u32>,
    identities: SideTable<InstanceId, Identity>,
    operands: Operands,
    /// The content of constants and inputs; `None` if it has no encoding.
    leaves: FxHashMap<StepId, Option<Key>>,
    /// The content of features with a value per element.
    columns: FxHashMap<u32, Option<Key>>,
}

/// A step in a context in which these needs are affected.
type At = (StepId, u64);

/// The hash of a step, and the needs that it takes from the context around the scopes.
#[derive(Clone, Copy)]
struct Hashed {
    key: Key,
    open: FeatureSet,
}

/// A trace under construction.
struct Tracing<'t> {
    arms: &'t Arms,
    known: FxHashMap<At, Hashed>,
    numbers: FxHashMap<Hole, u64>,
    /// The features with names, in the order in which the trace reaches them.
    named: Named,
    trace: Trace,
}

impl<'a> Tracer<'a> {
    /// A tracer. Large constants and inputs are read only once, here.
    pub(crate) fn new(plan: &'a Plan, request: &Request, cheap: &'a Cheap) -> Self {
        let mut leaves = FxHashMap::default();
        for (id, step) in plan.steps.iter() {
            let key = match step.op {
                StepOp::Const(constant) => key_of_data(&plan.constants[constant]),
                StepOp::Input(input) => {
                    let input = &plan.inputs[input];
                    match request.of_input(&input.name) {
                        _ if is_state(&input.name) => continue,
                        Some(given) => key_of_given(given),
                        None => {
                            let value = input.default.clone();
                            key_of_value(&value.unwrap_or_else(|| input.ty.default_value()))
                        }
                    }
                }
                StepOp::Call(_) => continue,
            };
            leaves.insert(id, key);
        }
        let mut columns = FxHashMap::default();
        for (bit, need) in plan.needs.iter().enumerate() {
            if let Some(given @ Given::Along(RequestAxis::Index, _)) =
                request.of_feature(&need.feature)
            {
                columns.insert(bit as u32, key_of_given(given));
            }
        }
        let all = plan.instances.as_slice().iter().map(|instance| Identity::of(instance));
        let identities = SideTable::from_vec(all.collect());
        let boundary = boundary(plan, cheap);
        let operands = {
            let identity_of = |instance: InstanceId| {
                let identities: &SideTable<InstanceId, Identity> = &identities;
                identities[instance].key
            };
            let leaf_of = |step: StepId| leaves.get(&step).copied().flatten();
            Operands::new(plan, &identity_of, &leaf_of, Some(cheap))
        };
        Self { plan, cheap, boundary, identities, operands, leaves, columns }
    }

    /// The dependencies of a result in the context of the request, if choices take these arms.
    pub(crate) fn trace(&self, source: StepSource, arms: &Arms) -> Trace {
        let trace = Trace {
            structure: Key([0; 16]),
            holes: Vec::new(),
            states: Vec::new(),
            readers: Vec::new(),
            has_key: true,
        };
        let (known, numbers) = (FxHashMap::default(), FxHashMap::default());
        let mut tracing = Tracing { arms, known, numbers, named: Named::default(), trace };
        let root = if self.is_leaf(source, FeatureSet::NONE) {
            self.leaf(source, &mut tracing)
        } else {
            let root = self.of_steps((source.step, 0), &mut tracing);
            let mut hash = KeyHasher::new("output");
            hash.add(root.key);
            hash.number(source.output.into());
            hash.key()
        };
        Trace { structure: root, ..tracing.trace }
    }

    /// Hashes a step after everything it reads, without recursion.
    fn of_steps(&self, root: At, tracing: &mut Tracing<'_>) -> Hashed {
        let mut ahead = vec![(root, false)];
        while let Some((at, is_ready)) = ahead.pop() {
            if tracing.known.contains_key(&at) {
                continue;
            }
            let links = self.links(at, tracing.arms);
            if is_ready {
                let hashed = self.of_call(at, &links, tracing);
                tracing.known.insert(at, hashed);
                continue;
            }
            ahead.push((at, true));
            let inner = links.iter().filter(|link| !self.is_leaf(link.source, link.affected));
            ahead.extend(inner.rev().map(|link| ((link.source.step, link.affected.0), false)));
        }
        tracing.known[&root]
    }

    /// The links of a step, each with the needs that are affected there.
    fn links(&self, (id, affected): At, arms: &Arms) -> Vec<Link<'a>> {
        let (plan, affected) = (self.plan, FeatureSet(affected));
        let step = &plan.steps[id];
        let StepOp::Call(call) = step.op else { return Vec::new() };
        let inputs = plan.inputs_of(step);
        let only = if affected.is_empty() { arms.get(&id) } else { None };
        let link = |at: usize| {
            let i = self.operands.place(id, at);
            let source = inputs[i];
            let map = plan.need_maps[call].get(i).and_then(Option::as_ref);
            let inside = plan.needs_of(&plan.steps[source.step]);
            let mut changed = affected.intersect(inside);
            if let Some(map) = map {
                let differs = |bit: &u32| map.fate(*bit) != Fate::Same;
                for bit in inside.bits().filter(differs) {
                    changed = changed.union(FeatureSet::bit(bit));
                }
            }
            Link { source, affected: changed, map }
        };
        let links = (0..inputs.len()).map(link);
        match only {
            Some(arm) => links.skip(*arm).take(1).collect(),
            None => links.collect(),
        }
    }

    fn is_leaf(&self, source: StepSource, affected: FeatureSet) -> bool {
        match self.plan.steps[source.step].op {
            StepOp::Const(_) | StepOp::Input(_) => true,
            StepOp::Call(_) => affected.is_empty() && self.cheap.is_cheap[source.step],
        }
    }

    fn leaf(&self, source: StepSource, tracing: &mut Tracing<'_>) -> Key {
        let plan = self.plan;
        match (plan.steps[source.step].op, self.leaves.get(&source.step)) {
            (_, Some(Some(key))) => *key,
            (_, Some(None)) => {
                tracing.trace.has_key = false;
                Key([0; 16])
            }
            (StepOp::Input(input), None) => {
                let name = &plan.inputs[input].name;
                let at = position(&mut tracing.trace.states, name);
                let mut hash = KeyHasher::new("state");
                hash.number(at as u64);
                hash.text(plan.inputs[input].ty.name());
                hash.key()
            }
            (StepOp::Const(_) | StepOp::Call(_), None) => {
                // A clock has another value next time.
                tracing.trace.has_key &= plan.steps[source.step].class != Class::Volatile;
                let number = self.boundary.get(&source);
                let number = number.expect("cheap steps with readers are in the boundary");
                let mut hash = KeyHasher::new("value");
                hash.add(tracing.hole(Hole::Boundary(*number)));
                hash.text(plan.type_of(source).name());
                hash.key()
            }
        }
    }

    /// The work of an instance.
    pub(crate) fn identity_of(&self, instance: InstanceId) -> &Identity {
        &self.identities[instance]
    }

    /// Adds the content of a constant or an input, or the type of state; `false` if it has no
    /// encoding.
    pub(crate) fn add_leaf(&self, step: StepId, hash: &mut KeyHasher) -> bool {
        match self.leaves.get(&step) {
            Some(Some(key)) => hash.add(*key),
            Some(None) => return false,
            None => hash.text(self.plan.type_of(StepSource { step, output: 0 }).name()),
        }
        true
    }

    /// The hash of a call whose inputs are hashed.
    fn of_call(&self, (id, affected): At, links: &[Link<'a>], tracing: &mut Tracing<'_>) -> Hashed {
        let (plan, affected) = (self.plan, FeatureSet(affected));
        let step = &plan.steps[id];
        let StepOp::Call(call) = step.op else { unreachable!("leaves are not calls") };
        let instance = &plan.instances[call];
        let mut hash = KeyHasher::new("call");
        let mut open = FeatureSet::NONE;
        let is_arm = affected.is_empty() && tracing.arms.contains_key(&id);
        if is_arm {
            // The shape does not depend on the arm.
            hash.text("arm");
            hash.number(self.cheap.is_wide[id].into());
        } else {
            let identity = &self.identities[call];
            hash.add(identity.key);
            identity.named.iter().for_each(|feature| tracing.named.add(feature, &mut hash));
        }
        match &instance.kernel {
            Kernel::Read { feature, level, aspect } => {
                let need = Need { feature: feature.clone(), level: *level, aspect: *aspect };
                let bit = plan.needs.find(&need).expect("a step needs what it reads");
                if affected.contains(FeatureSet::bit(bit)) {
                    open = FeatureSet::bit(bit);
                } else {
                    self.of_request(bit, &mut hash, tracing);
                }
            }
            Kernel::ReadState(_) => {
                let at = position(&mut tracing.trace.readers, &id);
                hash.number(at as u64);
            }
            Kernel::Form(_) | Kernel::Function(_) | Kernel::Pass | Kernel::Choose => {
                tracing.trace.has_key &= instance.class != Class::Volatile;
            }
        }
        for link in links {
            if self.is_leaf(link.source, link.affected) {
                hash.add(self.leaf(link.source, tracing));
                hash.number(u64::MAX);
            } else {
                let inner = tracing.known[&(link.source.step, link.affected.0)];
                hash.add(inner.key);
                hash.number(link.source.output.into());
                let outside = link.map.map_or(inner.open, |map| map.outside(inner.open));
                open = open.union(outside);
            }
        }
        if affected.is_empty() {
            // Bits are numbered in the order of the document, and names are free to choose.
            let mut bits: Vec<u32> = open.bits().collect();
            bits.sort_unstable_by_key(|bit| {
                let need = plan.needs.need(*bit);
                let name = tracing.named.at(&need.feature).is_none().then_some(&need.feature);
                (name, tracing.named.at(&need.feature), need.level, need.aspect)
            });
            for bit in bits {
                self.of_request(bit, &mut hash, tracing);
            }
            open = FeatureSet::NONE;
        }
        Hashed { key: hash.key(), open }
    }

    /// Adds a feature that the request provides.
    fn of_request(&self, bit: u32, hash: &mut KeyHasher, tracing: &mut Tracing<'_>) {
        let need = self.plan.needs.need(bit);
        if let Some(key) = self.columns.get(&bit) {
            tracing.trace.has_key &= key.is_some();
            hash.add(key.unwrap_or(Key([0; 16])));
        } else if need.feature == Feature::Index || need.aspect == Aspect::Extent || need.level > 0
        {
            // The number of elements is part of every key.
            tracing.named.add_need(need, hash);
        } else {
            tracing.trace.has_key &= need.feature != Feature::RealTime;
            hash.add(tracing.hole(Hole::Feature(bit)));
        }
    }
}

/// The position of an entry in a list, to which it is added if it is missing.
fn position<T: Clone + PartialEq>(all: &mut Vec<T>, entry: &T) -> usize {
    all.iter().position(|known| known == entry).unwrap_or_else(|| {
        all.push(entry.clone());
        all.len() - 1
    })
}

/// A link, with the affected needs of its source and the map of needs across it.
struct Link<'a> {
    source: StepSource,
    affected: FeatureSet,
    map: Option<&'a NeedMap>,
}

impl Tracing<'_> {
    /// The key of a hole: its number in the order in which the trace reaches holes.
    fn hole(&mut self, hole: Hole) -> Key {
        let next = self.numbers.len() as u64;
        let number = *self.numbers.entry(hole).or_insert_with(|| {
            self.trace.holes.push(hole);
            next
        });
        let mut hash = KeyHasher::new("hole");
        hash.number(number);
        hash.key()
    }
}

/// The cheap results read by outputs, by steps that are not cheap, or by cheap steps in a changed
/// context.
fn boundary(plan: &Plan, cheap: &Cheap) -> FxHashMap<StepSource, u32> {
    let mut boundary = FxHashMap::default();
    let mut read = |source: StepSource| {
        let is_call = matches!(plan.steps[source.step].op, StepOp::Call(_));
        if is_call && cheap.is_cheap[source.step] {
            let next = boundary.len() as u32;
            boundary.entry(source).or_insert(next);
        }
    };
    let (_, is_affected) = contexts(plan);
    let is_reader = |id: StepId| !cheap.is_cheap[id] || is_affected[id];
    for (_, step) in plan.steps.iter().filter(|(id, _)| is_reader(*id)) {
        plan.inputs_of(step).iter().copied().for_each(&mut read);
    }
    plan.outputs.iter().for_each(|output| read(output.source));
    for writer in &plan.state_writers {
        writer.values.iter().for_each(|value| read(value.source));
    }
    boundary
}

fn key_of_data(data: &Data) -> Option<Key> {
    let mut hash = KeyHasher::new("data");
    hash.data(data).then(|| hash.key())
}

fn key_of_value(value: &Value) -> Option<Key> {
    key_of_data(&Data::One(value.clone()))
}

/// The key of what a request gives; `None` if it has no encoding.
pub(crate) fn key_of_given(given: &Given) -> Option<Key> {
    match given {
        Given::One(value) => key_of_value(value),
        Given::Along(_, column) => key_of_data(&Data::Many(column.clone())),
    }
}
