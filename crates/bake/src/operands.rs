//! The order in which keys have the operands of operations that commute.
//!
//! Merging keeps the first form of `a * b` and `b * a`, so the order of operands in a plan depends on
//! the order of the document. In keys, operands are in an order that depends only on the steps that
//! compute them: first with any results of cheap steps, whose values are part of keys frame by
//! frame, and only then with all nodes. Operands that are still equal are in the order of the plan.
//!
//! Each node with state has a label: a hash of the steps that compute its next value, which contains
//! the labels of the states that these steps read. Labels are found in rounds, until a round
//! distinguishes no more nodes than the one before.

use millstream_base::id::SideTable;
use millstream_ir::graph::InstanceId;
use millstream_ir::plan::{Plan, Step, StepId, StepOp, StepSource};
use millstream_ir::state_reads::StateReads;
use rustc_hash::FxHashSet;

use crate::cheap::Cheap;
use crate::key::{Key, KeyHasher};

/// The maximum number of rounds in which labels are found.
const ROUNDS: usize = 64;

/// Which steps have their first two operands in the other order.
pub(crate) struct Operands(SideTable<StepId, bool>);

/// A plan with the keys of its instances, constants and inputs.
struct Parts<'a> {
    plan: &'a Plan,
    commutes: SideTable<InstanceId, bool>,
    identity_of: &'a dyn Fn(InstanceId) -> Key,
    leaf_of: &'a dyn Fn(StepId) -> Option<Key>,
}

impl Operands {
    /// The order for a plan, given the work of each instance, and the content of constants and inputs as
    /// far as it is known.
    pub(crate) fn new(
        plan: &Plan,
        identity_of: &dyn Fn(InstanceId) -> Key,
        leaf_of: &dyn Fn(StepId) -> Option<Key>,
        cheap: Option<&Cheap>,
    ) -> Self {
        let all = plan.instances.as_slice().iter().map(|instance| instance.commutes());
        let parts =
            Parts { plan, commutes: SideTable::from_vec(all.collect()), identity_of, leaf_of };
        let mut is_swapped = SideTable::for_arena(&plan.steps, false);
        let commuting = |(id, step): (StepId, &Step)| Some((id, parts.operands(step)?));
        let commuting: Vec<(StepId, [StepSource; 2])> =
            plan.steps.iter().filter_map(commuting).collect();
        if !commuting.is_empty() {
            let shape = parts.above(cheap);
            let whole = cheap.map(|_| parts.above(None));
            let key = |source: StepSource| {
                let whole = whole.as_ref().map(|whole| whole[source.step]);
                (shape[source.step], source.output, whole)
            };
            for (id, [a, b]) in commuting {
                is_swapped[id] = key(b) < key(a);
            }
        }
        Self(is_swapped)
    }

    /// The position of an operand of a step in the order of keys, and back.
    pub(crate) fn place(&self, step: StepId, operand: usize) -> usize {
        if operand < 2 && self.0[step] { 1 - operand } else { operand }
    }

    /// The operands of a step in the order of keys.
    pub(crate) fn of<'p>(
        &'p self,
        plan: &'p Plan,
        step: StepId,
    ) -> impl DoubleEndedIterator<Item = StepSource> + 'p {
        let links = plan.inputs_of(&plan.steps[step]);
        (0..links.len()).map(move |i| links[self.place(step, i)])
    }
}

/// Sorts the first two operands of an operation that commutes.
pub(crate) fn sorted<T: Ord>(mut operands: Vec<T>, commutes: bool) -> Vec<T> {
    if commutes && operands.len() > 1 && operands[1] < operands[0] {
        operands.swap(0, 1);
    }
    operands
}

impl Parts<'_> {
    /// The first two operands of a step that commutes, if they differ.
    fn operands(&self, step: &Step) -> Option<[StepSource; 2]> {
        let StepOp::Call(call) = step.op else { return None };
        match self.plan.inputs_of(step) {
            [a, b, ..] if self.commutes[call] && a != b => Some([*a, *b]),
            _ => None,
        }
    }

    /// The keys of everything above each step, with any results of cheap steps if they are given.
    fn above(&self, cheap: Option<&Cheap>) -> SideTable<StepId, Key> {
        let plan = self.plan;
        let reads = StateReads::new(plan, &[]);
        let mut labels = vec![KeyHasher::new("node").key(); reads.nodes.len()];
        let mut n_different = 1;
        let mut above = SideTable::for_arena(&plan.steps, Key([0; 16]));
        for _ in 0..ROUNDS {
            // A step comes after all steps that it reads from.
            for (id, _) in plan.steps.iter() {
                above[id] = self.of_step(id, cheap, (&above, &reads, &labels));
            }
            for (label, node) in labels.iter_mut().zip(&reads.nodes) {
                let mut hash = KeyHasher::new("label");
                for (_, source) in reads.values_of(node) {
                    hash.add(above[source.step]);
                    hash.number(source.output.into());
                }
                *label = hash.key();
            }
            let n_next = labels.iter().collect::<FxHashSet<_>>().len();
            if n_next <= n_different {
                break;
            }
            n_different = n_next;
        }
        above
    }

    fn of_step(
        &self,
        id: StepId,
        cheap: Option<&Cheap>,
        (above, reads, labels): (&SideTable<StepId, Key>, &StateReads<'_>, &[Key]),
    ) -> Key {
        let plan = self.plan;
        let mut hash = KeyHasher::new("above");
        let StepOp::Call(call) = plan.steps[id].op else {
            hash.text(plan.type_of(StepSource { step: id, output: 0 }).name());
            match ((self.leaf_of)(id), reads.read_at(id)) {
                (Some(key), _) => hash.add(key),
                (None, Some((node, variable))) => {
                    hash.add(labels[node]);
                    hash.number(variable as u64);
                }
                (None, None) => {}
            }
            return hash.key();
        };
        if cheap.is_some_and(|cheap| cheap.is_cheap[id]) {
            plan.instances[call].outputs.iter().for_each(|output| hash.text(output.ty.name()));
            return hash.key();
        }
        hash.add((self.identity_of)(call));
        if let Some((node, _)) = reads.read_at(id) {
            hash.add(labels[node]);
        }
        let links = plan.inputs_of(&plan.steps[id]).iter();
        let links = links.map(|link| (above[link.step], link.output)).collect();
        for (key, output) in sorted(links, self.commutes[call]) {
            hash.add(key);
            hash.number(output.into());
        }
        hash.key()
    }
}
