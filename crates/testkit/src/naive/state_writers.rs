//! The state of nodes inside of scopes, in the model.
//!
//! An element is identified by the values of `index` and `iteration` that its node needs, and by
//! its position along the other axes of the node. After the outputs, the new state is evaluated for
//! each context and cell in which a node was called, until no further node is called.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use millstream_base::feature::Aspect;
use millstream_base::id::Id;
use millstream_base::same::Same;
use millstream_base::{Feature, Need, Value};
use millstream_node::{Instance, Kernel, ScopeRule};

use super::bounds::Seen;
use super::context::{AxisId, Cell, CtxId, Known, KnownId, Stacks};
use super::evaluate::own_need;
use super::program::{Link, ProgramOp};
use super::scope::{Gather, position};
use super::{Found, INDEX, Model, Refusal};

/// The state of one node by element, in order of coordinates.
pub type Elements = BTreeMap<Vec<i32>, Vec<Value>>;

/// The state of one node.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// The meaning of each coordinate.
    pub coordinates: Vec<String>,
    /// The state, by coordinates.
    pub elements: Elements,
    /// The extents of axes, by the coordinates outside of them.
    pub reach: BTreeMap<Vec<i32>, i32>,
}

/// Maximal number of readers, each in its context, that are examined together.
const MOST_ASSUMED: usize = 256;

impl Kept {
    /// The state after a tick, given the calls of the node in it.
    pub fn committed(&self, called: &Self) -> Self {
        if called.elements.is_empty() && called.reach.is_empty() {
            return self.clone();
        }
        let mut elements = called.elements.clone();
        if self.coordinates == called.coordinates || called.elements.is_empty() {
            for (key, values) in &self.elements {
                let is_within = (0..key.len())
                    .all(|c| called.reach.get(&key[..c]).is_none_or(|extent| key[c] < *extent));
                if is_within {
                    elements.entry(key.clone()).or_insert_with(|| values.clone());
                }
            }
        }
        let is_for_all = called.coordinates.first().is_some_and(|name| name == "element");
        if is_for_all && self.coordinates == called.coordinates[1..] {
            let n = called.reach.get(&[][..]).copied().unwrap_or(0);
            for (key, values) in &self.elements {
                for element in 0..n {
                    let key = [&[element], &key[..]].concat();
                    let is_within = (0..key.len())
                        .all(|c| called.reach.get(&key[..c]).is_none_or(|extent| key[c] < *extent));
                    if is_within {
                        elements.entry(key).or_insert_with(|| values.clone());
                    }
                }
            }
        }
        let last = if called.elements.is_empty() { self } else { called };
        Self { coordinates: last.coordinates.clone(), elements, reach: BTreeMap::new() }
    }
}

/// The values of a context, and its axes.
struct Outer {
    knowns: BTreeSet<KnownId>,
    axes: BTreeSet<AxisId>,
}

impl Outer {
    fn of(stacks: &Stacks) -> Self {
        let entries = || stacks.iter().flat_map(|(_, levels)| levels);
        Self {
            knowns: entries().map(|entry| entry.known).collect(),
            axes: entries().filter_map(|entry| entry.axis).collect(),
        }
    }
}

/// A coordinate of a cell: its name, its value, and its axis if it counts along one.
type Coordinate = (String, i32, Option<AxisId>);

fn is_coordinate(need: &Need) -> bool {
    matches!(need.feature, Feature::Index | Feature::Iteration) && need.aspect == Aspect::Value
}

impl Model<'_> {
    /// Evaluates one output of a reader.
    pub(super) fn read_kept(
        &mut self,
        link: Link,
        ctx: CtxId,
        cell: &Cell,
    ) -> Result<Found, Refusal> {
        let program = self.program;
        let writer = program.state_writers.iter().position(|(reader, _)| *reader == link.node);
        let coordinates = self.coordinates(link.node, ctx, cell)?;
        let mut seen = Seen::default();
        for need in self.needs[link.node].clone() {
            if need.aspect == Aspect::Value {
                seen.merge(&self.read(link.node, &need, ctx, cell)?.seen);
            }
        }
        seen.axes.extend(self.axes_of_kept(link.node, ctx)?.iter());
        if let Some(writer) = writer
            && self.is_asked
        {
            let axes = self.axes_of_kept(link.node, ctx)?;
            let cell = cell.iter().copied().filter(|(axis, _)| axes.contains(axis)).collect();
            self.calls[writer].insert((ctx, cell));
        }
        let world = self.world;
        let names = coordinates.iter().map(|(name, ..)| name.clone());
        let key: Vec<i32> = coordinates.iter().map(|(_, value, _)| *value).collect();
        let kept = writer.map(|writer| &world.kept[writer]);
        let names: Vec<String> = names.collect();
        let values = kept.and_then(|kept| {
            let is_for_all = names.first().is_some_and(|name| name == "element");
            if kept.coordinates == names {
                kept.elements.get(&key)
            } else if is_for_all && kept.coordinates == names[1..] {
                kept.elements.get(&key[1..])
            } else {
                None
            }
        });
        let instance = program.instance(link.node).expect("a reader is a call");
        let value = match (link.output, values) {
            (0, values) => Value::Bool(values.is_some()),
            (output, Some(values)) => values[output - 1].clone(),
            (output, None) => instance.outputs[output].ty.default_value(),
        };
        Ok(Found { value: Ok(value), seen: Rc::new(seen) })
    }

    fn coordinates(
        &mut self,
        node: usize,
        ctx: CtxId,
        cell: &Cell,
    ) -> Result<Vec<Coordinate>, Refusal> {
        let mut counts: Vec<Need> =
            self.needs[node].iter().filter(|need| is_coordinate(need)).cloned().collect();
        counts.sort_by(|a, b| (b.level, &a.feature).cmp(&(a.level, &b.feature)));
        let mut inner = Vec::new();
        let mut told = BTreeSet::new();
        for need in counts {
            let found = self.read(node, &need, ctx, cell)?;
            let Ok(Value::I32(value)) = found.value else {
                return Err(Refusal::Missing(
                    self.program.nodes[node].path.clone(),
                    need.to_string(),
                ));
            };
            let entry = self.entry(ctx, &need.feature, need.level).expect("it was read");
            told.extend(self.axes_of_known(entry.known)?);
            let axis = match &*self.knowns.get(entry.known.index()) {
                Known::At(axis) => Some(*axis),
                Known::Given(_) => None,
                Known::Same(_) | Known::Linked(..) | Known::Changed { .. } | Known::Missing => None,
            };
            let axis = axis.or_else(|| self.counted_by_request(&need, ctx));
            inner.push((need.to_string(), value, axis));
        }
        let mut coordinates = Vec::new();
        let outer = Outer::of(&self.contexts.get(ctx.index()));
        let given = self.given_axes((node, ctx), &outer, &mut BTreeMap::new())?;
        for axis in self.axes_of_kept(node, ctx)?.iter() {
            if told.contains(axis) && !given.contains(axis) {
                continue;
            }
            let name = if axis.index() <= INDEX { "element" } else { "item" };
            coordinates.push((name.to_owned(), position(cell, *axis) as i32, Some(*axis)));
        }
        coordinates.extend(inner);
        Ok(coordinates)
    }

    /// Whether the state of a node is distinguished by elements of the request.
    fn is_kept_by_element(&self, reader: usize) -> bool {
        let writer = self.program.state_writers.iter().position(|(known, _)| *known == reader);
        let kept = writer.map(|writer| &self.world.kept[writer]);
        let is_told =
            kept.is_some_and(|kept| kept.coordinates.iter().any(|name| name == "element"));
        is_told && self.world.count.is_some()
    }

    /// The axes of a node if the context `outer` is the same everywhere: those of inputs, and those
    /// along which extents vary.
    fn given_axes(
        &mut self,
        (node, ctx): (usize, CtxId),
        outer: &Outer,
        found: &mut BTreeMap<(usize, CtxId), BTreeSet<AxisId>>,
    ) -> Result<BTreeSet<AxisId>, Refusal> {
        if let Some(axes) = found.get(&(node, ctx)) {
            return Ok(axes.clone());
        }
        found.insert((node, ctx), BTreeSet::new());
        let program = self.program;
        let mut axes = BTreeSet::new();
        match &program.nodes[node].op {
            ProgramOp::Gone | ProgramOp::Const(_) => {}
            ProgramOp::Input(i) => {
                axes.extend(
                    self.world.inputs[*i].axis.map(|axis| AxisId::from_index(axis as usize)),
                );
            }
            ProgramOp::Call(instance) => {
                if let Some(need) = own_need(instance) {
                    let entry = self.entry(ctx, &need.feature, need.level);
                    axes = match (need.aspect, entry, entry.and_then(|entry| entry.axis)) {
                        (Aspect::Value, Some(entry), _) => {
                            self.given_axes_of_known(entry.known, outer, found)?
                        }
                        (Aspect::Extent, _, Some(axis)) => {
                            self.given_parents(axis, outer, found)?
                        }
                        (Aspect::Value, None, _) | (Aspect::Extent, _, None) => axes,
                    };
                } else if let Kernel::ReadState(needs) = &instance.kernel {
                    axes.extend(self.is_kept_by_element(node).then(|| AxisId::from_index(INDEX)));
                    for need in needs.iter().filter(|need| need.aspect == Aspect::Value) {
                        if let Some(entry) = self.entry(ctx, &need.feature, need.level) {
                            axes.extend(self.given_axes_of_known(entry.known, outer, found)?);
                        }
                    }
                    let values = program.state_writers.iter().filter(|(reader, _)| *reader == node);
                    for value in values.flat_map(|(_, values)| values) {
                        axes.extend(self.given_axes((value.link.node, ctx), outer, found)?);
                    }
                } else {
                    axes = self.given_axes_of_inputs(instance, (node, ctx), outer, found)?;
                }
            }
        }
        found.insert((node, ctx), axes.clone());
        Ok(axes)
    }

    fn given_axes_of_inputs(
        &mut self,
        instance: &Instance,
        (node, ctx): (usize, CtxId),
        outer: &Outer,
        found: &mut BTreeMap<(usize, CtxId), BTreeSet<AxisId>>,
    ) -> Result<BTreeSet<AxisId>, Refusal> {
        let program = self.program;
        let passes = matches!(instance.kernel, Kernel::Pass);
        let n_slots = if passes { 1 } else { instance.inputs.len() };
        let mut axes = BTreeSet::new();
        for (slot, link) in program.nodes[node].links.iter().enumerate().take(n_slots) {
            if instance.inputs[slot].scope.is_empty() {
                axes.extend(self.given_axes((link.node, ctx), outer, found)?);
                continue;
            }
            let (inner, gather) = self.enter(node, slot, ctx)?;
            let mut inside = self.given_axes((link.node, inner), outer, found)?;
            if let Gather::Along(axis) = gather {
                inside.remove(&axis);
                inside.extend(self.given_parents(axis, outer, found)?);
            }
            axes.extend(inside);
        }
        Ok(axes)
    }

    /// The axes along which an extent varies, which are known for axes of the context `outer`.
    fn given_parents(
        &mut self,
        axis: AxisId,
        outer: &Outer,
        found: &mut BTreeMap<(usize, CtxId), BTreeSet<AxisId>>,
    ) -> Result<BTreeSet<AxisId>, Refusal> {
        if axis.index() <= INDEX || outer.axes.contains(&axis) {
            return self.parents(axis);
        }
        let (count, ctx) = self.count_of(axis);
        self.given_axes((count.node, ctx), outer, found)
    }

    fn given_axes_of_known(
        &mut self,
        known: KnownId,
        outer: &Outer,
        found: &mut BTreeMap<(usize, CtxId), BTreeSet<AxisId>>,
    ) -> Result<BTreeSet<AxisId>, Refusal> {
        if outer.knowns.contains(&known) {
            return Ok(BTreeSet::new());
        }
        Ok(match &*self.knowns.get(known.index()) {
            Known::Same(_) | Known::Missing => BTreeSet::new(),
            Known::At(axis) => {
                let mut axes = self.given_parents(*axis, outer, found)?;
                axes.insert(*axis);
                axes
            }
            Known::Given(i) => {
                let axis = self.world.features[*i].1.axis;
                axis.map(|axis| AxisId::from_index(axis as usize)).into_iter().collect()
            }
            Known::Linked(link, ctx) => self.given_axes((link.node, *ctx), outer, found)?,
            Known::Changed { old, node, slot, rule, ctx } => {
                let mut axes = self.given_axes_of_known(*old, outer, found)?;
                for link in self.rule_args(*node, *slot, *rule) {
                    axes.extend(self.given_axes((link.node, *ctx), outer, found)?);
                }
                axes
            }
        })
    }

    /// The axis of the request's elements, if `index` counts them.
    fn counted_by_request(&self, need: &Need, ctx: CtxId) -> Option<AxisId> {
        let entry = self.entry(ctx, &need.feature, need.level)?;
        let known = self.knowns.get(entry.known.index());
        let Known::Given(i) = &*known else { return None };
        let (feature, data) = &self.world.features[*i];
        let counts = *feature == Feature::Index && data.axis.is_some();
        counts.then(|| AxisId::from_index(INDEX))
    }

    /// The axes of a reader: those of all its needs, and those of the new state.
    pub(super) fn axes_of_kept(
        &mut self,
        node: usize,
        ctx: CtxId,
    ) -> Result<Rc<BTreeSet<AxisId>>, Refusal> {
        if let Some(axes) = self.axes_of.get(&(node, ctx)) {
            return Ok(Rc::clone(axes));
        }
        if let Some(axes) = self.assumed_axes.get(&(node, ctx)) {
            return Ok(Rc::new(axes.clone()));
        }
        let mut axes = BTreeSet::new();
        for need in self.needs[node].clone() {
            if let (Aspect::Value, Some(entry)) =
                (need.aspect, self.entry(ctx, &need.feature, need.level))
            {
                axes.extend(self.axes_of_known(entry.known)?);
            }
        }
        if self.is_kept_by_element(node) {
            axes.insert(AxisId::from_index(INDEX));
        }
        let is_outermost = self.assumed_axes.is_empty();
        self.assumed_axes.insert((node, ctx), axes);
        if !is_outermost {
            return Ok(Rc::new(self.assumed_axes[&(node, ctx)].clone()));
        }
        // Results that depend on assumptions are dropped until no further assumption is needed.
        let before = self.axes_of.clone();
        while self.grow_assumed_axes()? {
            self.axes_of.clone_from(&before);
        }
        self.axes_of = before;
        for (at, axes) in std::mem::take(&mut self.assumed_axes) {
            self.axes_of.insert(at, Rc::new(axes));
        }
        Ok(Rc::clone(&self.axes_of[&(node, ctx)]))
    }

    /// Extends the axes of readers by those of their state, as far as these follow from the
    /// assumptions; returns whether any were added.
    fn grow_assumed_axes(&mut self) -> Result<bool, Refusal> {
        let (mut grew, mut done) = (false, BTreeSet::new());
        loop {
            let met = self.assumed_axes.keys().filter(|at| !done.contains(*at));
            let met: Vec<(usize, CtxId)> = met.copied().collect();
            if met.is_empty() {
                return Ok(grew);
            }
            // A node that reads itself through a scope is reached in another context each time.
            if self.assumed_axes.len() > MOST_ASSUMED {
                return Err(Refusal::TooLong(MOST_ASSUMED));
            }
            for (reader, at) in met {
                let state_writers = self.program.state_writers.iter();
                let values =
                    state_writers.filter(|(known, _)| *known == reader).flat_map(|(_, all)| all);
                let mut axes = self.assumed_axes[&(reader, at)].clone();
                let n_before = axes.len();
                for link in values.map(|value| value.link).collect::<Vec<_>>() {
                    axes.extend(self.axes_of(link.node, at)?.iter());
                }
                grew |= axes.len() > n_before;
                self.assumed_axes.insert((reader, at), axes);
                done.insert((reader, at));
            }
        }
    }

    /// The new state of the nodes that were called.
    pub(super) fn keep_on(&mut self) -> Result<Vec<Option<Kept>>, Refusal> {
        let program = self.program;
        let mut n_before = usize::MAX;
        loop {
            let calls: Vec<(usize, CtxId, Cell)> = self.all_calls();
            if calls.len() == n_before {
                break;
            }
            n_before = calls.len();
            for (writer, ctx, cell) in calls {
                for value in &program.state_writers[writer].1 {
                    self.eval(value.link, ctx, &cell)?;
                }
            }
        }
        let mut kept: Vec<Option<Kept>> = vec![Some(Kept::default()); program.state_writers.len()];
        let mut contexts: BTreeMap<(usize, Vec<i32>), Vec<Value>> = BTreeMap::new();
        for (writer, ctx, cell) in self.all_calls() {
            let reader = program.state_writers[writer].0;
            let coordinates = self.coordinates(reader, ctx, &cell)?;
            let key: Vec<i32> = coordinates.iter().map(|(_, value, _)| *value).collect();
            let mut values = Vec::new();
            let mut has_failed = false;
            for value in &program.state_writers[writer].1 {
                match self.eval(value.link, ctx, &cell)?.value {
                    Ok(value) => values.push(value),
                    Err(_) => has_failed = true,
                }
            }
            let mut context = values.clone();
            for need in self.needs[reader].clone() {
                if need.aspect == Aspect::Value && !is_coordinate(&need) {
                    context.extend(self.read(reader, &need, ctx, &cell)?.value.ok());
                }
            }
            let known = contexts.entry((writer, key.clone())).or_insert_with(|| context.clone());
            let is_same =
                known.len() == context.len() && known.iter().zip(&context).all(|(a, b)| a.same(b));
            if !is_same && !has_failed {
                self.failed.insert(reader);
            }
            let mut extents = Vec::new();
            for (c, (.., axis)) in coordinates.iter().enumerate() {
                if let Some(axis) = axis
                    && let Ok(Value::I32(n)) = self.extent(Some(*axis), &cell)?.value
                {
                    extents.push((key[..c].to_vec(), n));
                }
            }
            let names: Vec<String> = coordinates.into_iter().map(|(name, ..)| name).collect();
            let at = &mut kept[writer];
            let differs = |at: &Kept| !at.elements.is_empty() && at.coordinates != names;
            if at.as_ref().is_some_and(differs) {
                self.failed.insert(reader);
                *at = None;
            }
            if has_failed || !is_same {
                *at = None;
            }
            let Some(at) = at else { continue };
            at.coordinates = names;
            at.elements.insert(key, values);
            for (outer, n) in extents {
                let most = at.reach.entry(outer).or_insert(n);
                *most = (*most).max(n);
            }
        }
        for (i, (reader, _)) in program.state_writers.iter().enumerate() {
            let before = &self.world.kept[i];
            let mut idle: Vec<_> = self.idle_loops.iter().cloned().collect();
            idle.sort();
            for (node, slot, inner, cell) in idle {
                for level in self.levels_inside(program.nodes[node].links[slot].node, *reader) {
                    let key = self.outside_of(level, &before.coordinates, inner, &cell)?;
                    if let (Some(key), Some(kept)) = (key, &mut kept[i]) {
                        kept.reach.entry(key).or_insert(0);
                    }
                }
            }
        }
        Ok(kept)
    }

    /// The levels of `index` at which a reader sees the surroundings of this node.
    fn levels_inside(&self, body: usize, reader: usize) -> BTreeSet<u32> {
        let (mut seen, mut found) = (BTreeSet::from([(body, 0)]), BTreeSet::new());
        let mut stack = vec![(body, 0_u32)];
        while let Some((at, level)) = stack.pop() {
            if at == reader {
                found.insert(level);
            }
            let mut further: Vec<(usize, u32)> = Vec::new();
            for (_, values) in self.program.state_writers.iter().filter(|(known, _)| *known == at) {
                further.extend(values.iter().map(|value| (value.link.node, level)));
            }
            if let Some(instance) = self.program.instance(at) {
                for (link, slot) in self.program.nodes[at].links.iter().zip(&instance.inputs) {
                    let mut rules = slot.scope.iter();
                    match rules.find(|rule| *rule.feature() == Feature::Index) {
                        Some(ScopeRule::Inject { .. } | ScopeRule::Each { .. }) => {
                            further.push((link.node, level + 1));
                        }
                        Some(ScopeRule::Modify { .. }) => {}
                        Some(ScopeRule::Along { .. }) | None => further.push((link.node, level)),
                    }
                }
            }
            stack.extend(further.into_iter().filter(|at| at.1 < 64 && seen.insert(*at)));
        }
        found
    }

    /// The coordinates outside of a loop whose items are at this level; `None` if they are not
    /// known there.
    fn outside_of(
        &mut self,
        level: u32,
        names: &[String],
        inner: CtxId,
        cell: &Cell,
    ) -> Result<Option<Vec<i32>>, Refusal> {
        let index = |level| Need { feature: Feature::Index, level, aspect: Aspect::Value };
        let Some(c) = names.iter().position(|name| *name == index(level).to_string()) else {
            return Ok(None);
        };
        let mut key = Vec::new();
        for name in &names[..c] {
            let outer = (level + 1..64).find(|outer| *name == index(*outer).to_string());
            let element = cell.iter().find(|(axis, _)| axis.index() == INDEX);
            match (outer, element) {
                (Some(outer), _) => {
                    let Some(entry) = self.entry(inner, &Feature::Index, outer - level) else {
                        return Ok(None);
                    };
                    match self.value_of(entry.known, cell)?.value {
                        Ok(Value::I32(value)) => key.push(value),
                        Ok(_) | Err(_) => return Ok(None),
                    }
                }
                (None, Some((_, position))) if name == "element" => key.push(*position as i32),
                (None, _) => return Ok(None),
            }
        }
        Ok(Some(key))
    }

    fn all_calls(&self) -> Vec<(usize, CtxId, Cell)> {
        let of = |(writer, calls): (usize, &rustc_hash::FxHashSet<(CtxId, Cell)>)| {
            calls.iter().map(move |(ctx, cell)| (writer, *ctx, cell.clone())).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = self.calls.iter().enumerate().flat_map(of).collect();
        all.sort();
        all
    }
}
