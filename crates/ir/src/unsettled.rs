//! Repeats that ended before they were stable, as marks on results.
//!
//! An evaluation reports a mark for each step with such a repeat ([`Answer::unsettled`]). A result has
//! the marks of the steps above it, and those of the state that it reads. The next state of a node
//! has marks too, so that they pass from tick to tick.
//!
//! [`Answer::unsettled`]: crate::answer::Answer::unsettled

use millstream_base::NodePath;
use millstream_base::id::{Id, SideTable};
use millstream_node::unsettled::Rounds;

use crate::plan::{Plan, StepId};
use crate::state_reads::StateReads;

/// A repeat that ends when it is stable, but did not become stable within its number of rounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("`{path}` {}", self.message())]
#[diagnostic(severity(warning), code(twice::unsettled), help("{}", Self::HELP))]
pub struct Unsettled {
    /// The repeat.
    pub path: NodePath,
    /// The maximum.
    pub rounds: u32,
}

impl Unsettled {
    /// The next step for the author.
    pub const HELP: &str = "raise `count` or `tolerance`; the output `settled` tells where it did";

    /// What happened, without the path.
    pub fn message(&self) -> String {
        format!("did not become stable within its maximum of rounds, {}", self.rounds)
    }
}

/// A repeat that did not settle, and how results depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The repeat.
    pub unsettled: Unsettled,
    /// How results depend on it.
    pub via: Via,
    /// The position of the moment in the request; `None` if it is that of all moments.
    pub moment: Option<usize>,
}

/// How results depend on a repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Via {
    /// Through this step.
    Step(StepId),
    /// Through the state of a node before the tick.
    State(usize),
}

impl Mark {
    /// The marks of a step, given the report of its call.
    pub fn of_step(plan: &Plan, step: StepId, rounds: Rounds) -> impl Iterator<Item = Self> {
        rounds.into_iter().map(move |((inside, moment), rounds)| {
            let own = plan.paths.get(plan.steps[step].path);
            let is_own = inside.as_str().is_empty();
            let path = if is_own { own.clone() } else { own.child(inside.as_str()) };
            Self { unsettled: Unsettled { path, rounds }, via: Via::Step(step), moment }
        })
    }

    /// The mark in the plan from which its own was [spliced](Plan::spliced) with `n_given` inputs.
    pub fn unspliced(self, n_given: usize) -> Self {
        let via = match self.via {
            Via::Step(step) => Via::Step(StepId::from_index(step.index() - n_given)),
            Via::State(node) => Via::State(node),
        };
        Self { via, ..self }
    }

    /// The marks of the state of nodes before the next tick, given those of each node.
    pub fn of_state(nodes: &[Vec<Unsettled>]) -> impl Iterator<Item = Self> {
        nodes.iter().enumerate().flat_map(|(node, of_node)| {
            let mark = move |unsettled: &Unsettled| {
                let (unsettled, via) = (unsettled.clone(), Via::State(node));
                Self { unsettled, via, moment: None }
            };
            of_node.iter().map(mark)
        })
    }
}

/// The marks that concern results of steps that depend on the state of these nodes; `arm` is the arm
/// that a choice takes, if it is known.
pub fn of_results(
    plan: &Plan,
    (steps, arm): (&[StepId], &dyn Fn(StepId) -> Option<usize>),
    (reads, depends): (&StateReads<'_>, &[bool]),
    marks: &[Mark],
) -> Vec<Unsettled> {
    if marks.is_empty() {
        return Vec::new();
    }
    // State inside scopes advances where it is read.
    let is_inside = |node: &usize| depends[*node] && reads.nodes[*node].writer.is_some();
    let nodes = (0..depends.len()).filter(is_inside);
    let mut ahead: Vec<StepId> = nodes.flat_map(|node| reads.steps_of(node)).collect();
    ahead.extend_from_slice(steps);
    let mut is_above = SideTable::for_arena(&plan.steps, false);
    while let Some(step) = ahead.pop() {
        if std::mem::replace(&mut is_above[step], true) {
            continue;
        }
        let links = plan.inputs_of(&plan.steps[step]);
        match arm(step) {
            Some(arm) => ahead.push(links[arm].step),
            None => ahead.extend(links.iter().map(|link| link.step)),
        }
    }
    let concerns = |mark: &&Mark| match mark.via {
        Via::Step(step) => is_above[step],
        Via::State(node) => depends[node],
    };
    let mut all = Vec::new();
    merge(&mut all, marks.iter().filter(concerns).map(|mark| mark.unsettled.clone()));
    all
}

/// How far the next state of a node failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextState {
    /// It did not.
    Known,
    /// Some elements, or contexts inside scopes, keep the old state.
    KnownInPart,
    /// The node keeps the old state.
    Failed,
}

impl NextState {
    /// The marks of the state after a tick, given those of the old and of the next state.
    pub fn marks(self, old: &[Unsettled], next: Vec<Unsettled>) -> Vec<Unsettled> {
        match self {
            Self::Known => next,
            Self::Failed => old.to_vec(),
            Self::KnownInPart => {
                let mut all = old.to_vec();
                merge(&mut all, next);
                all
            }
        }
    }
}

/// Adds repeats, each once, with the greatest number of rounds.
pub fn merge(all: &mut Vec<Unsettled>, more: impl IntoIterator<Item = Unsettled>) {
    for one in more {
        match all.iter_mut().find(|known| known.path == one.path) {
            Some(known) => known.rounds = known.rounds.max(one.rounds),
            None => all.push(one),
        }
    }
}

/// Adds marks, each once, with the greatest number of rounds.
pub fn merge_marks(all: &mut Vec<Mark>, mut more: Vec<Mark>) {
    fn key(mark: &Mark) -> (&NodePath, Via, Option<usize>) {
        (&mark.unsettled.path, mark.via, mark.moment)
    }
    if more.is_empty() {
        return;
    }
    all.append(&mut more);
    all.sort_by(|a, b| key(a).cmp(&key(b)));
    all.dedup_by(|again, first| {
        let is_same = key(again) == key(first);
        if is_same {
            first.unsettled.rounds = first.unsettled.rounds.max(again.unsettled.rounds);
        }
        is_same
    });
}
