//! The types of nodes on conditional cycles.
//!
//! In each case the nodes have an order in which they can be visited; an arm of unknown type is one
//! that its switch does not take in that case, and does not affect the result; in a formula it
//! counts as a truth value, which is narrower than all numbers. A type found in one case may become
//! wider in the next, so the cases are repeated until no type changes. Nothing is
//! reported meanwhile, because the nodes are visited once more afterwards.

use millstream_base::Type;

use super::error::CheckError;
use super::instances::Pattern;
use super::links::Given;
use super::shapes::Shape;
use super::types::{Typed, Typing};
use crate::at::Part;
use crate::order::Conditional;
use crate::problems::Problems;

/// Types become wider at most a few times. With node types whose types depend on each other in a
/// cycle, they may never settle.
const MAX_ROUNDS: usize = 32;

/// The sources that decide the types of switches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Settling {
    /// Links only: a switch that has only literals waits for another arm.
    ByLinks,
    /// Literals too, where no link decides.
    ByLiterals,
}

impl Typing<'_, '_> {
    /// Determines the types of the nodes of a cycle.
    pub(super) fn settle(&mut self, cycle: &Conditional, pattern: &mut Pattern) {
        let told = std::mem::replace(self.problems, Problems::silent());
        let n_conversions = self.conversions.len();
        self.settling = Some(Settling::ByLinks);
        let mut before = self.entries_of(cycle);
        let places = cycle.places();
        for round in 0..MAX_ROUNDS {
            for node in &places {
                self.visit_node(*node, pattern);
            }
            let now = self.entries_of(cycle);
            let is_settled = now == before;
            if is_settled && (self.settling == Some(Settling::ByLiterals) || !now.contains(&None)) {
                break;
            }
            // Each node then has a type in the order of a case, unless there is an error.
            if is_settled || round == MAX_ROUNDS / 2 {
                self.settling = Some(Settling::ByLiterals);
            }
            before = now;
        }
        self.settling = None;
        self.conversions.truncate(n_conversions);
        *self.problems = told;
    }

    /// Reports cycles whose nodes have no types, unless another error is the cause.
    pub(super) fn report_unsettled(&mut self, cycles: &[Conditional]) {
        for cycle in cycles {
            let mut entries = cycle.nodes.iter().zip(self.entries_of(cycle));
            let unknown = entries.find(|(_, entry)| entry.is_none());
            let Some((node, _)) = unknown.filter(|_| !self.problems.has_wrong_parts()) else {
                continue;
            };
            let (name, def) = self.named_node(*node);
            let error = CheckError::Unsettled { node: name.into() };
            self.problems.report(self.at.part(Part::Node(name)), def.spot.span(), &error);
        }
    }

    /// The known instances of a cycle's nodes.
    fn entries_of(&self, cycle: &Conditional) -> Vec<Option<u32>> {
        let entry = |node: &u32| match self.nodes[*node as usize] {
            Typed::Call(entry) => Some(entry),
            Typed::Group(_) | Typed::Zone(_) | Typed::Closure { .. } | Typed::Outside(_) => Some(0),
            Typed::Unknown | Typed::Partly => None,
        };
        cycle.nodes.iter().map(entry).collect()
    }

    /// Whether a source may be of unknown type.
    pub(super) fn is_open(&self, shape: &Shape, given: Given<'_>) -> bool {
        self.settling.is_some()
            && matches!(given, Given::Node { .. })
            && (shape.def.chooses || shape.chooses_in_formula())
    }

    /// The type as which an arm of unknown type counts in a formula.
    pub(super) fn stand_in(&self, shape: &Shape, given: Given<'_>) -> Option<Type> {
        (!shape.def.chooses && self.is_open(shape, given)).then_some(Type::BOOL)
    }

    /// Whether the type of a switch has to wait for that of an arm.
    pub(super) fn waits(&self, node: u32, shape: &Shape, linked: &[bool]) -> bool {
        let slots = self.links.of_node(node);
        self.settling == Some(Settling::ByLinks)
            && linked.contains(&false)
            && slots
                .map(|slot| self.links.slots[slot])
                .any(|given| self.is_open(shape, given) && self.is_unknown(given))
    }
}
