//! Cycles through nodes that use groups, and through switches.
//!
//! Ranks treat a node that uses a group as an atom, and count all arms of a switch. If nodes form a
//! cycle in that sense, their ranks contradict some of the links. At the end of each edit that
//! changes links, the outputs of the groups and the cases of the switches then decide whether there
//! is a real cycle.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::Name;
use super::editor::{Done, Editor, Refusal};
use super::index::BodyKey;
use crate::check::has_cycles;
use crate::grain::{BodyParts, FineOrder, Firsts, Grain};
use crate::order::{Cycle, last_places};

/// The cycles of a body in which nodes form some, if nodes that use groups are treated as atoms and
/// all arms of switches count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looped {
    /// The nodes inside the groups form none.
    Finely,
    /// Switches break them.
    Conditionally,
    /// Some are real, from a document that had errors.
    Cyclic,
}

impl Editor {
    /// Whether there are cycles that switches break.
    pub fn has_conditional_cycles(&self) -> bool {
        self.looped.values().any(|looped| *looped == Looped::Conditionally)
    }

    /// What stands for the nodes that these nodes read, if cycles in the body may be broken by equal
    /// selectors.
    pub(super) fn equal_sources(&self, body: BodyKey, members: &HashSet<Name>) -> Firsts {
        if self.looped.get(&body) != Some(&Looped::Conditionally) {
            return Firsts::default();
        }
        let nodes = self.nodes(body);
        let places = members.iter().filter_map(|name| nodes.get_index_of(name));
        let places = places.map(|place| place as u32).collect();
        let mut grain = Grain::new(&self.document, &self.registry);
        let order = grain.plain_order(nodes).order;
        grain.firsts(self.parts(body), &places, &order)
    }

    fn parts(&self, body: BodyKey) -> BodyParts<'_> {
        let view = self.view(body);
        BodyParts { nodes: view.nodes, inputs: view.inputs }
    }

    /// Refuses an edit that closed a cycle.
    pub(super) fn check_cycles(&mut self, done: &Done) -> Result<(), Refusal> {
        if done.looped.is_empty() && (self.looped.is_empty() || !done.is_relinked) {
            return Ok(());
        }
        let bodies = done.looped.iter().chain(self.looped.keys()).copied();
        let bodies: BTreeSet<BodyKey> = bodies.filter(|body| self.has_body(*body)).collect();
        let (looped, cycles) = self.look_for_cycles(bodies);
        let was_cyclic = |body: BodyKey| self.looped.get(&body) == Some(&Looped::Cyclic);
        let closed = cycles.iter().find(|(body, _)| !was_cyclic(**body));
        if let Some((body, Cycle { nodes, why, .. })) = closed.filter(|_| !done.trusted) {
            return Err(self.cycle(*body, nodes, why));
        }
        self.looped = looped;
        Ok(())
    }

    /// Whether checking finds no cycle, because switches in groups break those between groups.
    fn switches_in_groups_break_cycles(&self) -> bool {
        if self.document.groups.is_empty() {
            return false;
        }
        let without_calls = self.without_calls();
        let document = without_calls.as_ref().unwrap_or(&self.document);
        !has_cycles(document, &self.registry, &self.limits)
    }

    /// The state of the cycles in each body, and one real cycle of each body that has any, in the
    /// direction of the values. Assigns new ranks to the nodes. Cost: linear in the bodies and the
    /// groups that they use.
    pub(super) fn look_for_cycles(
        &mut self,
        bodies: BTreeSet<BodyKey>,
    ) -> (BTreeMap<BodyKey, Looped>, BTreeMap<BodyKey, Cycle>) {
        let (mut looped, mut closed) = (BTreeMap::new(), BTreeMap::new());
        let mut orders = Vec::with_capacity(bodies.len());
        let mut grain = Grain::new(&self.document, &self.registry);
        let mut in_groups: Option<bool> = None;
        for body in bodies {
            let nodes = self.nodes(body);
            let slots: Vec<u32> = nodes.iter_slots().map(|(slot, ..)| slot).collect();
            let FineOrder { order, cycles, conditional } = grain.order(self.parts(body));
            let is_broken = || self.switches_in_groups_break_cycles();
            if !cycles.is_empty() && *in_groups.get_or_insert_with(is_broken) {
                looped.insert(body, Looped::Conditionally);
            } else if let Some(Cycle { nodes: cycle, why, hint }) = cycles.first() {
                looped.insert(body, Looped::Cyclic);
                let nodes = cycle.iter().rev().map(|node| slots[*node as usize]).collect();
                closed.insert(body, Cycle { nodes, why: why.clone(), hint: *hint });
            } else if !conditional.is_empty() {
                looped.insert(body, Looped::Conditionally);
            } else if order.len() > nodes.len() {
                looped.insert(body, Looped::Finely);
            }
            // The last occurrence of a node is after all of its sources.
            let ranked = last_places(&order, slots.len()).into_iter();
            orders.push((body, ranked.map(|node| slots[node as usize]).collect::<Vec<u32>>()));
        }
        for (body, order) in orders {
            self.index_mut(body).order.rank_all(&order);
        }
        (looped, closed)
    }
}
