//! The effect of scopes on the context, and the values of features in a context.

use std::rc::Rc;

use millstream_base::feature::Aspect;
use millstream_base::id::Id;
use millstream_base::{Feature, Need, Type, Value};
use millstream_node::{Instance, ScopeRule};

use super::bounds::Seen;
use super::context::{
    Axis, AxisId, Bits, Cell, CtxId, Entry, Known, KnownId, is_active, levels, levels_mut, rules,
};
use super::program::Link;
use super::{Found, INDEX, Model, Refusal};

/// The axis along which a socket gathers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gather {
    /// The socket does not gather.
    Nothing,
    /// The only cell, without an axis.
    One,
    /// The cells of an axis.
    Along(AxisId),
}

impl Model<'_> {
    /// The context of a socket's source, and the axis along which it gathers.
    pub(super) fn enter(
        &mut self,
        node: usize,
        slot: usize,
        ctx: CtxId,
    ) -> Result<(CtxId, Gather), Refusal> {
        let program = self.program;
        let links = &program.nodes[node].links;
        let instance = program.instance(node).expect("only calls have sockets");
        let scope = &instance.inputs[slot].scope;
        let outer = self.contexts.get(ctx.index());
        let mut stacks = (*outer).clone();
        let mut gather = Gather::Nothing;
        for (r, rule) in rules(scope) {
            let feature = rule.feature();
            match rule {
                ScopeRule::Inject { value, .. } => {
                    let active = is_active(r, scope, &self.needs[links[slot].node]);
                    let known = self.linked(links[*value as usize], ctx, active)?;
                    levels_mut(&mut stacks, feature).insert(0, Entry { known, axis: None });
                }
                ScopeRule::Each { .. } => {
                    let axis = self.axis(Axis::Loop { node, slot, ctx });
                    let known = self.known(Known::At(axis));
                    let entry = Entry { known, axis: Some(axis) };
                    levels_mut(&mut stacks, feature).insert(0, entry);
                    gather = Gather::Along(axis);
                }
                ScopeRule::Modify { .. } => {
                    let Some(entry) = levels(&stacks, feature).first().copied() else { continue };
                    let old = entry.known;
                    let mut known = self.known(Known::Changed { old, node, slot, rule: r, ctx });
                    if is_active(r, scope, &self.needs[links[slot].node]) {
                        known = self.settled(known)?;
                    }
                    levels_mut(&mut stacks, feature)[0].known = known;
                }
                ScopeRule::Along { level, .. } => {
                    let level = *level as usize;
                    let axis = levels(&stacks, feature).get(level).and_then(|entry| entry.axis);
                    gather = axis.map_or(Gather::One, Gather::Along);
                    if feature.ty() == Type::I32 {
                        let known = match axis {
                            Some(axis) => Known::At(axis),
                            None => Known::Same(Bits(Value::I32(0))),
                        };
                        let (known, missing) = (self.known(known), self.known(Known::Missing));
                        let levels = levels_mut(&mut stacks, feature);
                        while levels.len() <= level {
                            levels.push(Entry { known: missing, axis: None });
                        }
                        levels[level].known = known;
                    }
                }
            }
        }
        Ok((self.context(stacks), gather))
    }

    /// The value of a feature that is set to a source.
    fn linked(&mut self, link: Link, ctx: CtxId, active: bool) -> Result<KnownId, Refusal> {
        let known = self.known(Known::Linked(link, ctx));
        if active { self.settled(known) } else { Ok(known) }
    }

    /// The value itself if it is the same in all cells, so that contexts with equal values are one.
    /// Without the memo that does not matter.
    fn settled(&mut self, known: KnownId) -> Result<KnownId, Refusal> {
        if !self.has_memo || !self.axes_of_known(known)?.is_empty() {
            return Ok(known);
        }
        // This finds equal contexts; it demands nothing, so it does not count.
        let outer = std::mem::replace(&mut self.is_asked, false);
        let found = self.value_of(known, &Cell::new());
        self.is_asked = outer;
        match found?.value {
            Ok(value) => Ok(self.known(Known::Same(Bits(value)))),
            Err(_) => Ok(known),
        }
    }

    /// The value of a feature at a cell. The axes along which it varies are not noted: two features
    /// with equal values are one for their readers.
    pub(super) fn value_of(&mut self, known: KnownId, cell: &Cell) -> Result<Found, Refusal> {
        let known = self.knowns.get(known.index());
        match &*known {
            Known::Same(value) => Ok(Found { value: Ok(value.0.clone()), seen: Rc::default() }),
            Known::Given(i) => {
                let data = &self.world.features[*i].1;
                let axis = data.axis.map(|axis| AxisId::from_index(axis as usize));
                let position = axis.map_or(0, |axis| position(cell, axis));
                Ok(Found { value: Ok(data.data.get(position)), seen: Rc::default() })
            }
            Known::At(axis) => {
                let value = Value::I32(position(cell, *axis) as i32);
                Ok(Found { value: Ok(value), seen: Rc::default() })
            }
            Known::Linked(link, ctx) => {
                let found = self.eval(*link, *ctx, cell)?;
                Ok(Found { value: found.value, seen: Rc::new(Seen::behind(*ctx, found.seen)) })
            }
            Known::Changed { old, node, slot, rule, ctx } => {
                self.changed(*old, (*node, *slot, *rule), *ctx, cell)
            }
            Known::Missing => panic!("missing levels are refused where they are read"),
        }
    }

    /// The value that a rule of a socket derives from a feature.
    fn changed(
        &mut self,
        old: KnownId,
        (node, slot, rule): (usize, usize, usize),
        ctx: CtxId,
        cell: &Cell,
    ) -> Result<Found, Refusal> {
        let program = self.program;
        let instance = program.instance(node).expect("only calls have sockets");
        let ScopeRule::Modify { feature, form, args } = &instance.inputs[slot].scope[rule] else {
            panic!("only modifiers change a feature");
        };
        let old = self.value_of(old, cell)?;
        let mut outer = Seen::default();
        let mut failed = super::Failed::new();
        let mut operands = Vec::new();
        let need = Need { feature: feature.clone(), level: 0, aspect: Aspect::Value };
        match old.value {
            Ok(value) => {
                outer.read(need, &value);
                operands.push(value);
            }
            Err(nodes) => failed.extend(nodes.iter()),
        }
        for arg in args {
            let found = self.eval(program.nodes[node].links[*arg as usize], ctx, cell)?;
            outer.merge(&found.seen);
            match found.value {
                Ok(value) => operands.push(value),
                Err(nodes) => failed.extend(nodes.iter()),
            }
        }
        let value = if failed.is_empty() {
            Ok(super::evaluate::run_form(form, &operands, &[feature.ty()]).remove(0))
        } else {
            Err(Rc::new(failed))
        };
        outer.merge(&old.seen);
        Ok(Found { value, seen: Rc::new(Seen::behind(ctx, Rc::new(outer))) })
    }

    /// The value that a node reads from its context.
    pub(super) fn read(
        &mut self,
        node: usize,
        need: &Need,
        ctx: CtxId,
        cell: &Cell,
    ) -> Result<Found, Refusal> {
        let stacks = self.contexts.get(ctx.index());
        let entry = levels(&stacks, &need.feature).get(need.level as usize).copied();
        let found = match need.aspect {
            Aspect::Extent => self.extent(entry.and_then(|entry| entry.axis), cell)?,
            Aspect::Value => match entry {
                Some(entry) if *self.knowns.get(entry.known.index()) != Known::Missing => {
                    self.value_of(entry.known, cell)?
                }
                Some(_) | None => {
                    let path = self.program.nodes[node].path.clone();
                    return Err(Refusal::Missing(path, need.to_string()));
                }
            },
        };
        let mut seen = (*found.seen).clone();
        if let Ok(value) = &found.value {
            seen.read(need.clone(), value);
        }
        Ok(Found { seen: Rc::new(seen), ..found })
    }

    /// The extent of an axis at a cell of the outer axes, as an `i32`.
    pub(super) fn extent(&mut self, axis: Option<AxisId>, cell: &Cell) -> Result<Found, Refusal> {
        let n = match axis {
            None => 1,
            Some(axis) if axis.index() <= INDEX => self.world.extents()[axis.index()],
            Some(axis) => {
                let (count, ctx) = self.count_of(axis);
                let found = self.eval(count, ctx, cell)?;
                let rounds = |value: Value| Value::I32(value.get::<i32>().unwrap_or(0).max(0));
                let seen = Rc::new(Seen::behind(ctx, found.seen));
                return Ok(Found { value: found.value.map(rounds), seen });
            }
        };
        Ok(Found { value: Ok(Value::I32(n as i32)), seen: Rc::default() })
    }

    /// The source of the number of rounds of a loop, and its context.
    pub(super) fn count_of(&self, axis: AxisId) -> (Link, CtxId) {
        let Axis::Loop { node, slot, ctx } = *self.axes.get(axis.index()) else {
            panic!("only loops count their rounds");
        };
        let instance = self.program.instance(node).expect("only calls have sockets");
        (self.program.nodes[node].links[count_slot(instance, slot)], ctx)
    }

    /// The entry of a feature in a context.
    pub(super) fn entry(&self, ctx: CtxId, feature: &Feature, level: u32) -> Option<Entry> {
        levels(&self.contexts.get(ctx.index()), feature).get(level as usize).copied()
    }
}

/// The input with the number of rounds of the loop at a socket.
fn count_slot(instance: &Instance, slot: usize) -> usize {
    rules(&instance.inputs[slot].scope)
        .find_map(|(_, rule)| match rule {
            ScopeRule::Each { count, .. } => Some(*count as usize),
            ScopeRule::Inject { .. } | ScopeRule::Modify { .. } | ScopeRule::Along { .. } => None,
        })
        .expect("an axis is opened by the rule for it")
}

/// The position of a cell along an axis.
pub(super) fn position(cell: &Cell, axis: AxisId) -> usize {
    let at = cell.iter().find(|(known, _)| *known == axis);
    at.map(|(_, i)| *i as usize).expect("a cell has a position along every open axis")
}

/// The cell at a position along an axis.
pub(super) fn at(cell: &Cell, axis: AxisId, position: u32) -> Cell {
    let mut cell: Cell = cell.iter().copied().filter(|(known, _)| *known != axis).collect();
    cell.push((axis, position));
    cell.sort_unstable();
    cell
}
