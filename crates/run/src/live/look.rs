//! Visits of a wave to switches and dynamic nodes.
//!
//! When a wave reaches such a node, everything that the node always reads is settled. Arms that are
//! taken and asleep are then woken. If nodes before this one must run for them, the wave goes back
//! to those, and visits this node again once they are settled.

use millstream_base::same::Same;
use millstream_node::{Data, Failure};

use super::LiveGraph;
use super::node::{Flags, NONE};
use super::special::Special;

/// The result of a quick visit to a node.
pub(super) enum Quick {
    /// The node needs a full visit.
    No,
    /// The node does not have to run.
    Same,
    /// The node ran.
    Value(u64),
    /// The node ran and failed.
    Failed(Box<Failure>),
}

impl LiveGraph {
    /// Visits a dirty node if it is a live choice of numbers, nothing failed, and no arm must be
    /// woken. This is a shortcut for [`look_at_choice`](Self::look_at_choice).
    #[inline(always)]
    pub(super) fn quick_choice(&mut self, at: usize) -> Quick {
        let node = &self.nodes[at];
        if !node.flags.is_special_and_plainly_live() || node.inputs[2] != 0 {
            return Quick::No;
        }
        let Some(Special::Choice(choice)) = self.specials.get_mut(node.inputs[0] as usize) else {
            return Quick::No;
        };
        let selector = self.nodes[choice.inputs[0] as usize].value;
        if !self.failed.is_empty() {
            return Quick::No;
        }
        if choice.take_for(selector, false).is_err() {
            choice.take_nothing();
            return Quick::No;
        }
        for block in choice.blocks_taken() {
            if *block != NONE && self.demands.is_asleep(*block) {
                return Quick::No;
            }
        }
        if let Some(guards) = &mut choice.guards {
            if !guards.waiting.is_empty() {
                return Quick::No;
            }
            guards.settled = self.wave + 1;
        }
        match choice.compute(&self.nodes, at, false) {
            None => Quick::Same,
            Some(Ok(value)) => Quick::Value(value),
            Some(Err(failure)) => Quick::Failed(failure),
        }
    }

    /// Records that a choice ran and failed.
    #[cold]
    pub(super) fn choice_failed(&mut self, at: usize, failure: Box<Failure>) {
        self.run_telling(at, |graph| {
            graph.ran(at);
            graph.fail(at, *failure);
        });
    }

    /// Visits a dirty choice that is demanded: wakes the arms that it takes, and runs it if these
    /// are settled and differ from those of its last run.
    pub(super) fn look_at_choice(&mut self, at: usize, index: usize) {
        let node = &self.nodes[at];
        let (flags, is_boxed) = (node.flags, node.inputs[2] != 0);
        let is_new = flags.has(Flags::NEW);
        let Special::Choice(choice) = &mut self.specials[index] else { return };
        let selector = choice.inputs[0];
        let has_failures = !self.failed.is_empty();
        let lacks_selector = has_failures && self.failed.contains_key(&selector);
        let taken = if lacks_selector {
            choice.take_nothing();
            Ok(())
        } else if choice.is_select() {
            let node = &self.nodes[selector as usize];
            choice.take_columns(node.value, self.boxes.of(node));
            Ok(())
        } else {
            choice.take_for(self.nodes[selector as usize].value, is_new)
        };
        if choice.guards.is_some() {
            self.settle_choice(index);
            if self.is_rewound {
                return self.mark(at as u32);
            }
        }
        if lacks_selector {
            return self.fail_by_input(at);
        }
        match taken {
            Ok(()) => {}
            Err(Some(failure)) => return self.run_telling(at, |graph| graph.fail(at, *failure)),
            Err(None) => return self.go_on(at as u32),
        }
        if flags.has(Flags::CAREFUL) && self.lacks_taken_arm(at as u32) {
            return self.fail_by_input(at);
        }
        let Special::Choice(choice) = &mut self.specials[index] else { return };
        if choice.is_select() {
            let places = (&self.boxes, &mut self.buffers);
            return match choice.selected(&self.nodes, places, is_new) {
                Some(data) => self.run_telling(at, |graph| {
                    graph
                        .ran_for(at, if let Data::Many(column) = &data { column.len() } else { 1 });
                    graph.change_data(at, data);
                }),
                None => self.go_on(at as u32),
            };
        }
        if is_boxed {
            let toggled = choice.has_toggled();
            let arm = choice.arm_taken();
            return self.pass_arm_on(at, arm, toggled | is_new);
        }
        match choice.compute(&self.nodes, at, is_new) {
            Some(Ok(value)) => self.run_telling(at, |graph| {
                graph.ran(at);
                graph.change(at, value);
            }),
            Some(Err(failure)) => self.choice_failed(at, failure),
            None if has_failures => self.go_on(at as u32),
            None => {}
        }
    }

    /// Whether an arm that a careful choice takes has no value. The choice remains careful while
    /// any arm has none, because it may take that arm later.
    fn lacks_taken_arm(&mut self, at: u32) -> bool {
        // A choice compares the arms with those of its last run, so it needs nothing else.
        self.forget_held(at);
        let reads_failed = self.reads_any_failed(at);
        if !reads_failed {
            self.nodes[at as usize].flags.clear(Flags::CAREFUL);
        }
        reads_failed && self.failed_input(at).is_some()
    }

    /// Passes on an arm whose value is not a number.
    #[inline(never)]
    fn pass_arm_on(&mut self, at: usize, arm: Option<u32>, is_other: bool) {
        let value = arm.and_then(|arm| self.boxes.of(&self.nodes[arm as usize]));
        let Some(value) = value else { return };
        let now = self.boxes.of(&self.nodes[at]);
        if !is_other && now.is_some_and(|now| now.same(value)) {
            return self.go_on(at as u32);
        }
        let value = value.clone();
        self.run_telling(at, |graph| {
            graph.ran(at);
            graph.change_data(at, value);
        });
    }
}
