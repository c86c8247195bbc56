//! Bounds of the number of elements that an evaluator has to compute of each node.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use millstream_base::feature::Aspect;
use millstream_base::id::Id;
use millstream_base::{Need, Value, define_id};
use millstream_node::{Kernel, ScopeRule};

use super::context::{Axis, AxisId, Bits, Cell, CtxId, Known, KnownId, Outside, outside};
use super::evaluate::own_need;
use super::program::{Link, ProgramOp};
use super::scope::Gather;
use super::{Model, Refusal};

/// Stands for the axes of all loops; the axes of the request come before it.
const LOOPS: usize = 2;

define_id!(PlainAxisId, "b", "An axis identified by its origin, in a restricted context.");

/// Bounds of the number of elements of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elements {
    /// The number of cells that differ in anything read for them.
    pub least: usize,
    /// The number of demanded cells of the node's axes, for each restricted context.
    pub most: usize,
}

/// The dependencies of a value.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The context that was read, with its values.
    reads: BTreeMap<Need, Bits>,
    /// The axes along which inputs were read.
    pub(super) axes: BTreeSet<AxisId>,
    /// The arms that were taken, by node.
    arms: BTreeSet<(usize, usize)>,
    /// Dependencies in outer contexts, to which they are relative.
    behind: Vec<(CtxId, Rc<Self>)>,
}

/// The minimal distinction of elements: context read, arms taken, and positions along axes. All
/// loops count as one axis, since an evaluator may share the axis of loops of one length.
pub(super) type Least = (Vec<(Need, Bits)>, Vec<(usize, usize)>, Vec<(usize, u32)>);

/// The maximal distinction of elements: the restricted context, and the positions along its axes.
pub(super) type Most = (usize, Vec<(PlainAxisId, u32)>);

/// An axis identified by its origin; for a loop, in a restricted context.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum PlainAxis {
    Request(usize),
    Loop { node: usize, slot: usize, restricted: usize },
}

/// An entry of a restricted context.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Restricted {
    Same(Bits),
    Given(usize),
    At(PlainAxisId),
    Linked(Link, usize),
    Changed { old: Box<Restricted>, rule: (usize, usize, usize), args: Vec<usize> },
    Extent(Option<PlainAxisId>),
    Missing,
}

impl Seen {
    /// Only the position along an axis, if there is one.
    pub(super) fn along(axis: Option<AxisId>) -> Self {
        Self { axes: axis.into_iter().collect(), ..Self::default() }
    }

    /// Dependencies in an outer context. The origin of a feature's value matters only outside of
    /// the socket that changes the feature, not to its readers.
    pub(super) fn behind(ctx: CtxId, seen: Rc<Self>) -> Self {
        Self { behind: vec![(ctx, seen)], ..Self::default() }
    }

    pub(super) fn read(&mut self, need: Need, value: &Value) {
        self.reads.insert(need, Bits(value.clone()));
    }

    /// Notes that a choice took an arm.
    pub(super) fn took(&mut self, node: usize, arm: usize) {
        self.arms.insert((node, arm));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.reads.extend(other.reads.iter().map(|(need, value)| (need.clone(), value.clone())));
        self.axes.extend(&other.axes);
        self.arms.extend(&other.arms);
        for (ctx, seen) in &other.behind {
            if !self.behind.iter().any(|(_, known)| Rc::ptr_eq(known, seen)) {
                self.behind.push((*ctx, Rc::clone(seen)));
            }
        }
    }

    /// Keeps the reads that gave the same in both; dropping others only lowers the lower bound.
    pub(super) fn keep_common(&mut self, other: &Self) {
        self.reads.retain(|need, value| other.reads.get(need) == Some(value));
        self.axes.extend(&other.axes);
        self.arms.retain(|arm| other.arms.contains(arm));
        self.behind.clear();
    }

    /// The same dependencies as seen outside of a socket, in the context `ctx`.
    pub(super) fn outside(&self, scope: &[ScopeRule], ctx: CtxId) -> Self {
        let mut all = Self { axes: self.axes.clone(), arms: self.arms.clone(), ..Self::default() };
        for (need, value) in &self.reads {
            if let Outside::Need(need) = outside(need, scope) {
                all.reads.insert(need, value.clone());
            }
        }
        for (home, seen) in &self.behind {
            if *home == ctx {
                all.merge(seen);
            } else {
                all.behind.push((*home, Rc::clone(seen)));
            }
        }
        all
    }
}

impl Model<'_> {
    /// Counts one element of a node.
    pub(super) fn count(
        &mut self,
        node: usize,
        ctx: CtxId,
        cell: &Cell,
        seen: &Seen,
    ) -> Result<(), Refusal> {
        let reads = seen.reads.iter().map(|(need, value)| (need.clone(), value.clone()));
        let mut positions: Vec<(usize, u32)> = cell
            .iter()
            .filter(|(axis, _)| seen.axes.contains(axis))
            .map(|(axis, position)| (axis.index().min(LOOPS), *position))
            .collect();
        positions.sort_unstable();
        let arms = seen.arms.iter().copied().collect();
        self.least[node].insert((reads.collect(), arms, positions));
        let axes = self.axes_of(node, ctx)?;
        let mut positions = Vec::new();
        for (axis, position) in cell {
            if axes.contains(axis) {
                positions.push((self.plain_axis(*axis)?, *position));
            }
        }
        positions.sort_unstable();
        let restricted = self.restrict(node, ctx)?;
        self.most[node].insert((restricted, positions));
        Ok(())
    }

    pub(super) fn elements(&self) -> Vec<Elements> {
        let both = self.least.iter().zip(&self.most);
        both.map(|(least, most)| Elements { least: least.len(), most: most.len() }).collect()
    }

    /// The axes of a node in a context, whatever its switches take.
    pub(super) fn axes_of(
        &mut self,
        node: usize,
        ctx: CtxId,
    ) -> Result<Rc<BTreeSet<AxisId>>, Refusal> {
        if let Some(axes) = self.axes_of.get(&(node, ctx)) {
            return Ok(Rc::clone(axes));
        }
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
                    match (need.aspect, entry) {
                        (_, None) => {}
                        (Aspect::Value, Some(entry)) => axes = self.axes_of_known(entry.known)?,
                        (Aspect::Extent, Some(entry)) => {
                            if let Some(axis) = entry.axis {
                                axes = self.parents(axis)?;
                            }
                        }
                    }
                }
                if let Kernel::ReadState(_) = &instance.kernel {
                    return self.axes_of_kept(node, ctx);
                }
                // A node that only passes its input on has the axes of that input.
                let passes = matches!(instance.kernel, Kernel::Pass);
                let n_slots = if passes { 1 } else { instance.inputs.len() };
                for (slot, link) in program.nodes[node].links.iter().enumerate().take(n_slots) {
                    if instance.inputs[slot].scope.is_empty() {
                        axes.extend(self.axes_of(link.node, ctx)?.iter());
                        continue;
                    }
                    let (inner, gather) = self.enter(node, slot, ctx)?;
                    let mut inside = (*self.axes_of(link.node, inner)?).clone();
                    if let Gather::Along(axis) = gather {
                        inside.remove(&axis);
                        inside.extend(self.parents(axis)?);
                    }
                    axes.extend(inside);
                }
            }
        }
        let axes = Rc::new(axes);
        self.axes_of.insert((node, ctx), Rc::clone(&axes));
        Ok(axes)
    }

    pub(super) fn axes_of_known(&mut self, known: KnownId) -> Result<BTreeSet<AxisId>, Refusal> {
        let known = self.knowns.get(known.index());
        Ok(match &*known {
            Known::Same(_) | Known::Missing => BTreeSet::new(),
            Known::Given(i) => {
                let axis = self.world.features[*i].1.axis;
                axis.map(|axis| AxisId::from_index(axis as usize)).into_iter().collect()
            }
            Known::At(axis) => {
                let mut axes = self.parents(*axis)?;
                axes.insert(*axis);
                axes
            }
            Known::Linked(link, ctx) => (*self.axes_of(link.node, *ctx)?).clone(),
            Known::Changed { old, node, slot, rule, ctx } => {
                let mut axes = self.axes_of_known(*old)?;
                for link in self.rule_args(*node, *slot, *rule) {
                    axes.extend(self.axes_of(link.node, *ctx)?.iter());
                }
                axes
            }
        })
    }

    /// The axes along which the extent of an axis differs.
    pub(super) fn parents(&mut self, axis: AxisId) -> Result<BTreeSet<AxisId>, Refusal> {
        match *self.axes.get(axis.index()) {
            Axis::Time | Axis::View | Axis::Index => Ok(BTreeSet::new()),
            Axis::Loop { .. } => {
                let (count, ctx) = self.count_of(axis);
                Ok((*self.axes_of(count.node, ctx)?).clone())
            }
        }
    }

    /// Refuses to gather along an axis if the extent of another axis differs along it.
    pub(super) fn check_gather(
        &mut self,
        node: usize,
        link: Link,
        inner: CtxId,
        axis: AxisId,
    ) -> Result<(), Refusal> {
        let axes = self.axes_of(link.node, inner)?;
        for other in axes.iter().filter(|other| **other != axis) {
            if self.parents(*other)?.contains(&axis) {
                return Err(Refusal::NoMeaning(self.program.nodes[node].path.clone()));
            }
        }
        Ok(())
    }

    /// The arguments of a modifier.
    pub(super) fn rule_args(&self, node: usize, slot: usize, rule: usize) -> Vec<Link> {
        let instance = self.program.instance(node).expect("only calls have sockets");
        match &instance.inputs[slot].scope[rule] {
            ScopeRule::Modify { args, .. } => {
                args.iter().map(|arg| self.program.nodes[node].links[*arg as usize]).collect()
            }
            ScopeRule::Inject { .. } | ScopeRule::Each { .. } | ScopeRule::Along { .. } => {
                Vec::new()
            }
        }
    }

    /// The context restricted to the needs of a node.
    fn restrict(&mut self, node: usize, ctx: CtxId) -> Result<usize, Refusal> {
        if let Some(restricted) = self.restricted.get(&(node, ctx)) {
            return Ok(*restricted);
        }
        let mut entries = Vec::new();
        for need in self.needs[node].clone() {
            let entry = self.entry(ctx, &need.feature, need.level);
            entries.push(match (need.aspect, entry) {
                (Aspect::Value, Some(entry)) => self.restrict_known(entry.known)?,
                (Aspect::Value, None) => Restricted::Missing,
                (Aspect::Extent, entry) => {
                    let axis = match entry.and_then(|entry| entry.axis) {
                        Some(axis) => Some(self.plain_axis(axis)?),
                        None => None,
                    };
                    Restricted::Extent(axis)
                }
            });
        }
        let restricted = self.restrictions.number(entries);
        self.restricted.insert((node, ctx), restricted);
        Ok(restricted)
    }

    fn restrict_known(&mut self, known: KnownId) -> Result<Restricted, Refusal> {
        let known = self.knowns.get(known.index());
        Ok(match &*known {
            Known::Missing => Restricted::Missing,
            Known::Same(value) => Restricted::Same(value.clone()),
            Known::Given(i) => {
                let (feature, data) = &self.world.features[*i];
                match (&data.data, data.axis) {
                    (millstream_node::Data::One(value), _) => Restricted::Same(Bits(value.clone())),
                    // The positions of the request's elements are the feature `index` itself.
                    (millstream_node::Data::Many(column), Some(axis))
                        if *feature == millstream_base::Feature::Index
                            && column.as_slice::<i32>().is_some_and(|all| {
                                all.iter().enumerate().all(|(i, x)| *x == i as i32)
                            }) =>
                    {
                        Restricted::At(self.plain_axis(AxisId::from_index(axis as usize))?)
                    }
                    (millstream_node::Data::Many(_), _) => Restricted::Given(*i),
                }
            }
            Known::At(axis) => Restricted::At(self.plain_axis(*axis)?),
            Known::Linked(link, ctx) => Restricted::Linked(*link, self.restrict(link.node, *ctx)?),
            Known::Changed { old, node, slot, rule, ctx } => {
                let old = Box::new(self.restrict_known(*old)?);
                let mut args = Vec::new();
                for link in self.rule_args(*node, *slot, *rule) {
                    args.push(self.restrict(link.node, *ctx)?);
                }
                Restricted::Changed { old, rule: (*node, *slot, *rule), args }
            }
        })
    }

    fn plain_axis(&mut self, axis: AxisId) -> Result<PlainAxisId, Refusal> {
        let plain = match *self.axes.get(axis.index()) {
            Axis::Time | Axis::View | Axis::Index => PlainAxis::Request(axis.index()),
            Axis::Loop { node, slot, ctx } => {
                PlainAxis::Loop { node, slot, restricted: self.restrict(node, ctx)? }
            }
        };
        Ok(PlainAxisId::from_index(self.plain_axes.number(plain)))
    }
}
