//! Copies of the nodes of conditional cycles, one copy per case, and choices among the copies.
//!
//! Nodes that a selector splits have copies for each of its arms; in an arm, only those that still
//! depend on each other are split again. In the copies for a case, a switch with a known selector
//! passes on the arm that it takes, so the copies form no cycle. The node itself becomes a choice, by
//! the selectors, among its copies; so its readers and its position in the document stay the same.
//! Copies of `n` are called `n/0`, `n/1` and so on, names that no author can write. The copy of a
//! node that uses a group with switches uses another body, in which these switches pass on the arms
//! they take.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_base::id::Id;
use millstream_base::{Type, Value};
use millstream_node::interface::VALUE;
use millstream_node::{Instance, Kernel, Registry};
use rustc_hash::{FxHashMap, FxHashSet};

use super::choices::Choices;
use super::condition::{Read, part_of_formula};
use super::origin::{Origin, origin};
use crate::checked::{
    Body, BodyId, Checked, CheckedKind, CheckedNode, Muted, MutedOutput, Passes, Source,
};
use crate::grain::{MAX_NESTED, arm_of};
use crate::order::{Block, Conditional, Plain, SelectorAt, sorted};

/// An input of a body, and the arm that it selects.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Case {
    input: u32,
    arm: u32,
}

/// The bodies that nodes use in cases, and those that they use in all cases.
type InCases = HashMap<(BodyId, Option<Case>), BodyId>;

/// Replaces all conditional cycles by copies. If one node of a cycle is wrong, all are.
pub(super) fn add_copies(checked: &mut Checked, registry: &Registry) {
    if checked.bodies.iter().all(|(_, body)| body.conditional.is_empty()) {
        return;
    }
    let mut in_cases = InCases::default();
    for id in inside_out(checked) {
        let mut placed: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let mut is_placed: FxHashSet<u32> = FxHashSet::default();
        for cycle in std::mem::take(&mut checked.bodies[id].conditional) {
            let nodes = &mut checked.bodies[id].nodes;
            let is_wrong = |at: &u32| matches!(nodes[*at as usize].kind, CheckedKind::Wrong);
            if cycle.nodes.iter().any(is_wrong) {
                for at in &cycle.nodes {
                    nodes[*at as usize].kind = CheckedKind::Wrong;
                }
                continue;
            }
            let written = cycle.nodes.iter().map(|at| nodes[*at as usize].clone()).collect();
            let outputs = cycle.nodes.iter().map(|at| outputs_of(checked, id, *at)).collect();
            let choices = Choices::new(registry);
            let conditions = vec![None; cycle.conditions.len()];
            let in_cases = &mut in_cases;
            let copying = Copying {
                checked,
                id,
                cycle: &cycle,
                written,
                outputs,
                choices,
                conditions,
                values: FxHashMap::default(),
                copies: Vec::new(),
                n_parts: vec![0; cycle.nodes.len()],
                order: Vec::new(),
                in_cases,
            };
            placed.insert(cycle.nodes[0], copying.run());
            is_placed.extend(cycle.nodes);
        }
        // The nodes of a cycle are adjacent in the order.
        let mut order = Vec::with_capacity(checked.bodies[id].order.len());
        for node in std::mem::take(&mut checked.bodies[id].order) {
            order.extend(placed.remove(&node).unwrap_or_default());
            if !is_placed.contains(&node) {
                order.push(node);
            }
        }
        checked.bodies[id].order = order;
    }
}

/// The bodies, each after those that its nodes use.
fn inside_out(checked: &Checked) -> Vec<BodyId> {
    let used: Vec<Vec<u32>> = (checked.bodies.iter())
        .map(|(_, body)| {
            let inner = body.nodes.iter().filter_map(|node| node.kind.body());
            inner.map(|id| id.index() as u32).collect()
        })
        .collect();
    let count = |body: u32| used[body as usize].len() as u32;
    let order = sorted(used.len(), count, |body, k| Some(used[body as usize][k as usize])).order;
    order.into_iter().map(|body| BodyId::from_index(body as usize)).collect()
}

/// The names and types of the outputs of a valid node.
fn outputs_of(checked: &Checked, id: BodyId, node: u32) -> Vec<(Arc<str>, Type)> {
    let kind = &checked.bodies[id].nodes[node as usize].kind;
    match kind {
        CheckedKind::Call(instance) => {
            let types = instance.outputs.iter().map(|output| output.ty);
            instance.output_names.iter().cloned().zip(types).collect()
        }
        CheckedKind::Group(body) => {
            let outputs = checked.bodies[*body].outputs.iter();
            outputs.map(|output| (Arc::clone(&output.name), output.ty)).collect()
        }
        CheckedKind::Zone(zone) => zone.outputs.clone(),
        CheckedKind::Closure(closure) => vec![(VALUE.into(), closure.ty)],
        CheckedKind::Muted(muted) => {
            muted.outputs.iter().map(|output| (Arc::clone(&output.name), output.ty)).collect()
        }
        CheckedKind::Wrong => Vec::new(),
    }
}

struct Copying<'b, 'c> {
    checked: &'b mut Checked,
    id: BodyId,
    cycle: &'c Conditional,
    /// The original nodes of the cycle.
    written: Vec<CheckedNode>,
    /// The outputs of each of them.
    outputs: Vec<Vec<(Arc<str>, Type)>>,
    choices: Choices<'c>,
    /// The nodes that compute the conditions of formulas.
    conditions: Vec<Option<Source>>,
    /// The values of the outputs of nodes in the present case, as far as they are known.
    values: FxHashMap<(u32, u32), Source>,
    /// The nodes and their copies.
    copies: Vec<(u32, u32)>,
    /// The number of nodes added for each node.
    n_parts: Vec<u32>,
    /// The order of all nodes.
    order: Vec<u32>,
    in_cases: &'b mut InCases,
}

impl Copying<'_, '_> {
    /// Adds all nodes. Returns the order of the cycle's nodes and of the added ones.
    fn run(mut self) -> Vec<u32> {
        let cycle = self.cycle;
        self.add_blocks(&cycle.blocks);
        for (at, node) in cycle.nodes.iter().enumerate() {
            let outputs = self.outputs[at].clone();
            let sources = (0..outputs.len() as u32).map(|output| self.values[&(*node, output)]);
            let sources = sources.collect();
            let (first_source, n_sources) = self.add_sources(sources);
            let written = &mut self.checked.bodies[self.id].nodes[*node as usize];
            written.kind = passing_on(&outputs);
            (written.first_source, written.n_sources) = (first_source, n_sources);
            self.order.push(*node);
        }
        let body = &mut self.checked.bodies[self.id];
        let mut copies = std::mem::take(&mut self.copies);
        copies.retain(|(node, _)| body.wholes.contains(node));
        body.wholes.extend(copies.into_iter().map(|(_, copy)| copy));
        self.order
    }

    /// Adds the copies in some blocks, and the choices among them.
    fn add_blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Plain(plain) => self.add_plain(plain),
                Block::Split { nodes, selector, ty, arms } => {
                    let mut values: Vec<Vec<Source>> = Vec::with_capacity(arms.len());
                    for blocks in arms {
                        self.add_blocks(blocks);
                        values.push(self.values_of(nodes));
                    }
                    // An arm that is never selected may have any value.
                    for (arm, blocks) in arms.iter().enumerate() {
                        if blocks.is_empty()
                            && let Some(other) = arms.iter().position(|it| !it.is_empty())
                        {
                            let other = values[other].clone();
                            values[arm] = other;
                        }
                    }
                    self.choose(nodes, (*selector, ty), &values);
                }
            }
        }
    }

    /// The present values of the outputs of some nodes.
    fn values_of(&self, nodes: &[u32]) -> Vec<Source> {
        let outputs = nodes.iter().flat_map(|node| {
            (0..self.outputs[self.at(*node)].len() as u32).map(|output| (*node, output))
        });
        // Those of a case that never occurs are not used.
        outputs.map(|output| self.values.get(&output).copied().unwrap_or(Source::Wrong)).collect()
    }

    /// Adds copies of nodes that have an order.
    fn add_plain(&mut self, plain: &Plain) {
        let first = self.checked.bodies[self.id].nodes.len() as u32;
        let mut nodes = plain.order.clone();
        nodes.sort_unstable();
        nodes.dedup();
        let copies: FxHashMap<u32, u32> = nodes.iter().copied().zip(first..).collect();
        let taken: FxHashMap<u32, u32> = plain.taken.iter().copied().collect();
        let mut groups: FxHashMap<u32, Vec<(u32, u32)>> = FxHashMap::default();
        for (node, input, arm) in &plain.groups {
            groups.entry(*node).or_default().push((*input, *arm));
        }
        let mut unread: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (node, input) in &plain.unread {
            unread.entry(*node).or_default().push(*input);
        }
        for node in &nodes {
            let in_group = groups.get(node).map_or(&[][..], Vec::as_slice);
            let unread = unread.get(node).map_or(&[][..], Vec::as_slice);
            self.copy(*node, (taken.get(node).copied(), unread, in_group), &copies);
        }
        self.order.extend(plain.order.iter().map(|node| copies[node]));
        for node in nodes {
            let copy = copies[&node];
            for output in 0..self.outputs[self.at(node)].len() as u32 {
                self.values.insert((node, output), Source::Node { node: copy, output });
            }
            self.copies.push((node, copy));
        }
    }

    /// Adds choices among the values of nodes by arm.
    fn choose(
        &mut self,
        nodes: &[u32],
        (selector, ty): (SelectorAt, &Arc<str>),
        values: &[Vec<Source>],
    ) {
        let selector = match selector {
            SelectorAt::Input { node, input } => {
                self.checked.bodies[self.id].sources_of(self.written_of(node))[input as usize]
            }
            SelectorAt::Condition(condition) => self.condition(condition as usize),
        };
        let mut at = 0;
        for node in nodes {
            for (output, (_, value)) in (0..).zip(self.outputs[self.at(*node)].clone()) {
                let arms = values.iter().map(|values| values[at]);
                let sources = std::iter::once(selector).chain(arms).collect();
                let instance = self.choices.of(ty, values.len(), value);
                let place = self.add(*node, CheckedKind::Call(instance), sources);
                self.order.push(place);
                self.values.insert((*node, output), Source::Node { node: place, output: 0 });
                at += 1;
            }
        }
    }

    /// Adds the copy of a node for a case, in which a switch takes this arm, a formula does not read
    /// some inputs, and inputs of a group select arms.
    fn copy(
        &mut self,
        node: u32,
        (taken, unread, in_group): (Option<u32>, &[u32], &[(u32, u32)]),
        copies: &FxHashMap<u32, u32>,
    ) {
        let written = self.written_of(node);
        let body = &self.checked.bodies[self.id];
        let sources = body.sources_of(written).iter().map(|source| match source {
            Source::Node { node, output } => match copies.get(node) {
                Some(copy) => Source::Node { node: *copy, output: *output },
                None => self.values.get(&(*node, *output)).copied().unwrap_or(*source),
            },
            Source::Literal(_) | Source::Input(_) | Source::Wrong => *source,
        });
        let mut sources: Vec<Source> = sources.collect();
        let mut kind = written.kind.clone();
        match &mut kind {
            CheckedKind::Muted(muted) => (*muted, sources) = only_passed(muted, &sources),
            CheckedKind::Group(body) => {
                *body = in_case(self.checked, self.in_cases, (*body, None), 0);
                for (input, arm) in in_group {
                    let case = Some(Case { input: *input, arm: *arm });
                    *body = in_case(self.checked, self.in_cases, (*body, case), 0);
                }
            }
            CheckedKind::Call(instance) if !unread.is_empty() => {
                for input in unread {
                    let ty = instance.inputs[*input as usize].ty;
                    let body = &mut self.checked.bodies[self.id];
                    sources[*input as usize] = literal(body, ty.default_value());
                }
            }
            CheckedKind::Call(_)
            | CheckedKind::Zone(_)
            | CheckedKind::Closure(_)
            | CheckedKind::Wrong => {
                if let Some(arm) = taken {
                    sources = vec![sources[1 + arm as usize]];
                    kind = passing_on(&self.outputs[self.at(node)]);
                }
            }
        }
        self.add(node, kind, sources);
    }

    /// The condition that a formula computes: that part of the formula as a node.
    fn condition(&mut self, at: usize) -> Source {
        if let Some(known) = self.conditions[at] {
            return known;
        }
        let condition = &self.cycle.conditions[at];
        let written = self.written_of(condition.node);
        let CheckedKind::Call(instance) = &written.kind else {
            unreachable!("a formula is a call")
        };
        let all = self.checked.bodies[self.id].sources_of(written).to_vec();
        let (made, read) = part_of_formula(instance, &condition.text);
        let name = format!("{}/if{at}", written.name).into();
        let sources = read.into_iter().map(|input| match input {
            Read::Input(input) => all[input],
            Read::Zero(ty) => literal(&mut self.checked.bodies[self.id], ty.default_value()),
        });
        let sources = sources.collect();
        let place =
            self.add_named(name, condition.node, CheckedKind::Call(Arc::new(made)), sources);
        self.order.push(place);
        let source = Source::Node { node: place, output: 0 };
        self.conditions[at] = Some(source);
        source
    }

    fn at(&self, node: u32) -> usize {
        self.cycle.nodes.binary_search(&node).expect("the node is on the cycle")
    }

    fn written_of(&self, node: u32) -> &CheckedNode {
        &self.written[self.at(node)]
    }

    /// Adds a node for a part of a node of the cycle; returns its position.
    fn add(&mut self, node: u32, kind: CheckedKind, sources: Vec<Source>) -> u32 {
        let at = self.at(node);
        let name = format!("{}/{}", self.written[at].name, self.n_parts[at]).into();
        self.n_parts[at] += 1;
        self.add_named(name, node, kind, sources)
    }

    /// Adds a node that belongs to a node of the cycle; returns its position.
    fn add_named(
        &mut self,
        name: Arc<str>,
        of: u32,
        kind: CheckedKind,
        sources: Vec<Source>,
    ) -> u32 {
        let span = self.written_of(of).span;
        let (first_source, n_sources) = self.add_sources(sources);
        let nodes = &mut self.checked.bodies[self.id].nodes;
        nodes.push(CheckedNode { name, kind, span, first_source, n_sources });
        nodes.len() as u32 - 1
    }

    fn add_sources(&mut self, sources: Vec<Source>) -> (u32, u32) {
        let pool = &mut self.checked.bodies[self.id].sources;
        let first = pool.len() as u32;
        pool.extend(sources);
        (first, pool.len() as u32 - first)
    }
}

/// The body for a case, or for all cases: switches with a known selector pass on the arm they take.
/// The same body if nothing differs.
fn in_case(
    checked: &mut Checked,
    known: &mut InCases,
    (id, case): (BodyId, Option<Case>),
    depth: usize,
) -> BodyId {
    if let Some(known) = known.get(&(id, case)) {
        return *known;
    }
    // A group that contains itself is wrong and is not searched again.
    known.insert((id, case), id);
    if depth >= MAX_NESTED {
        return id;
    }
    let mut body = checked.bodies[id].clone();
    let mut differs = false;
    for at in 0..body.nodes.len() {
        let sources = body.sources_of(&body.nodes[at]).to_vec();
        let arm = |source: &Source| match (origin(checked, &body, *source, 0), case) {
            (Origin::Literal(value), None) => arm_of(&value).map(|arm| arm as u32),
            (Origin::Input(input, is_negated), Some(case)) if input == case.input => {
                Some(if is_negated { u32::from(case.arm == 0) } else { case.arm })
            }
            _ => None,
        };
        let arms: Vec<Option<u32>> = sources.iter().map(arm).collect();
        match body.nodes[at].kind.clone() {
            CheckedKind::Call(instance) if matches!(instance.kernel, Kernel::Choose) => {
                if let Some(arm) = arms[0] {
                    take_arm(&mut body, at, arm as usize);
                    differs = true;
                }
            }
            CheckedKind::Call(instance) => {
                if let Some(sources) = chosen_in(&mut body, &instance, &sources, &arms) {
                    set_sources(&mut body, at, CheckedKind::Call(instance), &sources);
                    differs = true;
                }
            }
            CheckedKind::Muted(muted) if case.is_none() => {
                // It reads no other inputs than those that it passes on.
                let (muted, passed) = only_passed(&muted, &sources);
                differs |= passed.len() < sources.len();
                set_sources(&mut body, at, CheckedKind::Muted(muted), &passed);
            }
            CheckedKind::Group(mut inner) => {
                if case.is_none() {
                    inner = in_case(checked, known, (inner, None), depth + 1);
                }
                for (input, arm) in (0..).zip(arms) {
                    if let Some(arm) = arm {
                        let case = Some(Case { input, arm });
                        inner = in_case(checked, known, (inner, case), depth + 1);
                    }
                }
                differs |= use_body(&mut body, at, inner);
            }
            CheckedKind::Zone(_)
            | CheckedKind::Closure(_)
            | CheckedKind::Muted(_)
            | CheckedKind::Wrong => {}
        }
    }
    let made = if differs { checked.bodies.push(body) } else { id };
    known.insert((id, case), made);
    if case.is_none() {
        known.insert((made, None), made);
    }
    made
}

/// Makes a node that uses a group use another body; returns whether it is another one.
fn use_body(body: &mut Body, node: usize, inner: BodyId) -> bool {
    let made = CheckedKind::Group(inner);
    let CheckedKind::Group(before) = std::mem::replace(&mut body.nodes[node].kind, made) else {
        unreachable!("the node uses a group")
    };
    before != inner
}

/// The sources of a formula that chooses, of which those that it does not read are constants;
/// `None` for other nodes, and if nothing differs.
fn chosen_in(
    body: &mut Body,
    instance: &Instance,
    sources: &[Source],
    arms: &[Option<u32>],
) -> Option<Vec<Source>> {
    instance.def.formula.as_ref()?;
    let formula = instance.def.formula_in(&instance.settings)?;
    let mut made = sources.to_vec();
    for input in formula.conditions() {
        let is_bool = instance.inputs[input as usize].ty == Type::BOOL;
        let Some(arm) = arms[input as usize].filter(|_| is_bool) else { continue };
        // A constant selector is the literal already.
        if !matches!(made[input as usize], Source::Literal(_)) {
            made[input as usize] = literal(body, Value::from(arm > 0));
        }
    }
    let known = |input: u32| match made[input as usize] {
        Source::Literal(literal) => body.literals[literal as usize].get::<bool>(),
        Source::Input(_) | Source::Node { .. } | Source::Wrong => None,
    };
    let needs = formula.needs(sources.len(), &known);
    for (input, _) in needs.iter().enumerate().filter(|(_, is_needed)| !**is_needed) {
        if !matches!(made[input], Source::Literal(_)) {
            made[input] = literal(body, instance.inputs[input].ty.default_value());
        }
    }
    (made != sources).then_some(made)
}

/// A new literal of a body.
fn literal(body: &mut Body, value: Value) -> Source {
    body.literals.push(value);
    Source::Literal(body.literals.len() as u32 - 1)
}

/// Makes a switch pass on this arm.
fn take_arm(body: &mut Body, node: usize, arm: usize) {
    let CheckedKind::Call(instance) = &body.nodes[node].kind else {
        unreachable!("a switch is a call")
    };
    let kind = passing_on(&[(Arc::clone(&instance.output_names[0]), instance.outputs[0].ty)]);
    let sources = body.sources_of(&body.nodes[node]);
    let taken = sources[1 + arm.min(sources.len() - 2)];
    set_sources(body, node, kind, &[taken]);
}

fn set_sources(body: &mut Body, node: usize, kind: CheckedKind, sources: &[Source]) {
    let first_source = body.sources.len() as u32;
    body.sources.extend_from_slice(sources);
    let node = &mut body.nodes[node];
    (node.kind, node.first_source, node.n_sources) = (kind, first_source, sources.len() as u32);
}

/// A muted node with only the inputs that it passes on.
fn only_passed(muted: &Muted, sources: &[Source]) -> (Arc<Muted>, Vec<Source>) {
    let (mut inputs, mut passed) = (Vec::new(), Vec::new());
    let mut outputs = muted.outputs.clone();
    for output in &mut outputs {
        if let Passes::Source(at) = &mut output.passes {
            inputs.push(muted.inputs[*at as usize]);
            passed.push(sources[*at as usize]);
            *at = passed.len() as u32 - 1;
        }
    }
    (Arc::new(Muted { inputs, outputs }), passed)
}

/// A node that passes on one source for each output.
pub(super) fn passing_on(outputs: &[(Arc<str>, Type)]) -> CheckedKind {
    let passed = (0..).zip(outputs).map(|(at, (name, ty))| MutedOutput {
        name: Arc::clone(name),
        ty: *ty,
        passes: Passes::Source(at),
    });
    let (inputs, outputs) = (outputs.iter().map(|(_, ty)| *ty).collect(), passed.collect());
    CheckedKind::Muted(Arc::new(Muted { inputs, outputs }))
}
