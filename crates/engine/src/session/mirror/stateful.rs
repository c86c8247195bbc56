//! Nodes with state, taken apart as lowering does it: their state comes in from sources, and their
//! next state is read when a tick is over, from the nodes that compute it. So a live graph has no
//! cycles: a delayed input is no link in it.

use std::sync::Arc;

use millstream_base::{Type, Value};
use millstream_document::Editor;
use millstream_node::state::STARTED;
use millstream_node::{Instance, Keeps, Kernel, Registry};
use millstream_run::live::NodeNumber;

use super::{Mirror, NotLive, Operand, Owner};

/// An instance with state, and the instances that do the work of a tick.
#[derive(Debug)]
pub(super) struct StatefulType {
    pub(super) instance: Arc<Instance>,
    work: Work,
    /// The names and types of the state, besides whether there is any.
    kept: Vec<(Arc<str>, Type)>,
}

#[derive(Debug)]
enum Work {
    /// A node gives the outputs, then the next state.
    Tick(Arc<Instance>),
    /// A row of values moves on by one; this takes one of two.
    Past(Arc<Instance>),
    /// What was given is given again, or a value is taken over; this takes one of two.
    Held(Arc<Instance>),
}

/// A node with state, in one use of its body.
#[derive(Debug)]
pub(super) struct StatefulNode {
    of_type: Arc<StatefulType>,
    /// The source of whether there is any state.
    pub(super) started: NodeNumber,
    /// Each source of state with the node of its next value; `None` as long as that is missing.
    kept: Vec<(NodeNumber, Option<NodeNumber>)>,
    /// The nodes that compute something, the last one the outputs.
    calls: Vec<NodeNumber>,
}

impl StatefulType {
    /// The type of an instance with state; `None` for other instances.
    ///
    /// # Errors
    /// If it has no place in a live graph.
    pub(super) fn of(
        registry: &Registry,
        instance: &Arc<Instance>,
    ) -> Result<Option<Self>, NotLive> {
        let Some(keeps) = &instance.def.keeps else { return Ok(None) };
        // Lowering takes no other delayed inputs apart either.
        let has_other_delay = instance.def.delayed.is_some() && !matches!(keeps, Keeps::Past);
        if instance.has_scopes() || has_other_delay {
            return Err(NotLive);
        }
        let work = keeps.work_of(instance);
        let kept = keeps.variables(instance, work.as_ref());
        let pick = || Arc::new(registry.pick(kept[0].1));
        let work = match (keeps, work) {
            (Keeps::Held, _) => Work::Held(pick()),
            (_, Some(work)) => Work::Tick(Arc::new(work)),
            (_, None) => Work::Past(pick()),
        };
        Ok(Some(Self { instance: Arc::clone(instance), work, kept }))
    }

    /// Whether a slot is delayed: it counts for later ticks only, and may depend on the node
    /// itself.
    pub(super) fn is_delayed(&self, slot: usize) -> bool {
        slot == 0 && matches!(self.work, Work::Past(_)) && self.instance.def.delayed.is_some()
    }
}

impl StatefulNode {
    /// The node of the outputs.
    pub(super) fn out(&self) -> NodeNumber {
        *self.calls.last().expect("it computes something")
    }

    /// Whether its delayed input is missing.
    pub(super) fn lacks(&self) -> bool {
        self.kept.iter().any(|(_, next)| next.is_none())
    }

    /// Whether it is of an instance that does the same.
    pub(super) fn is_of(&self, of_type: &StatefulType) -> bool {
        self.of_type.instance.does_same(&of_type.instance)
    }

    /// The sources of its state, and of whether there is any.
    fn sources(&self) -> impl Iterator<Item = NodeNumber> {
        [self.started].into_iter().chain(self.kept.iter().map(|(source, _)| *source))
    }

    /// Each source of state, with the node of its next value, its name and its type.
    pub(super) fn kept(
        &self,
    ) -> impl Iterator<Item = (NodeNumber, Option<NodeNumber>, &str, Type)> {
        let kept = self.kept.iter().zip(&self.of_type.kept);
        kept.map(|((source, next), (name, ty))| (*source, *next, &**name, *ty))
    }

    /// All its nodes, in an order that is the same for instances that do the same.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeNumber> {
        let kept = self.kept.iter().flat_map(|(source, next)| [Some(*source), *next]);
        [Some(self.started)].into_iter().chain(kept).flatten().chain(self.calls.iter().copied())
    }
}

impl Mirror {
    /// The live nodes of a node with state. Those that were there `before` are used again. The
    /// delayed input may be missing.
    pub(super) fn stateful_node(
        &mut self,
        before: Option<StatefulNode>,
        of_type: &Arc<StatefulType>,
        operands: &[Option<Operand>],
    ) -> Result<StatefulNode, NotLive> {
        let mut stateful = before.unwrap_or_else(|| {
            let mut source = |ty: Type| self.graph.source_of_value(&ty.default_value());
            let kept = of_type.kept.iter().map(|(_, ty)| (source(*ty), None)).collect();
            let started = source(Type::BOOL);
            StatefulNode { of_type: Arc::clone(of_type), started, kept, calls: Vec::new() }
        });
        self.kept_sources.extend(stateful.sources());
        stateful.of_type = Arc::clone(of_type);
        let mut old = std::mem::take(&mut stateful.calls).into_iter();
        let operand = |at: usize| operands.get(at).cloned().flatten().ok_or(NotLive);
        let started = Operand::Node(stateful.started, Type::BOOL);
        match &of_type.work {
            Work::Tick(work) => {
                let n_inputs = of_type.instance.inputs.len();
                let mut all =
                    (0..n_inputs).map(operand).collect::<Result<Vec<Operand>, NotLive>>()?;
                all.extend([started, Operand::Node(self.seconds_per_tick(), Type::F64)]);
                all.extend(stateful.kept().map(|(source, _, _, ty)| Operand::Node(source, ty)));
                let made = self.call(old.next(), work, &all)?;
                let first = of_type.instance.outputs.len();
                for (at, (_, next)) in (first..).zip(&mut stateful.kept) {
                    *next = Some(self.graph.output(made, at).ok_or(NotLive)?);
                }
                stateful.calls.push(made);
            }
            Work::Past(pick) => {
                let ty = of_type.kept[0].1;
                let value = operands.first().cloned().flatten();
                let mut next = self.delayed(stateful.kept[0].1, value.as_ref(), ty)?;
                for (source, known) in &mut stateful.kept {
                    *known = next;
                    let all = [started.clone(), operand(1)?, Operand::Node(*source, ty)];
                    let made = self.call(old.next(), pick, &all)?;
                    stateful.calls.push(made);
                    next = Some(made);
                }
            }
            Work::Held(pick) => {
                let (held, ty) = (stateful.kept[0].0, of_type.kept[0].1);
                let all = [operand(1)?, Operand::Node(held, ty), operand(0)?];
                let current = self.call(old.next(), pick, &all)?;
                let all = [started, operand(0)?, Operand::Node(current, ty)];
                let given = self.call(old.next(), pick, &all)?;
                stateful.kept[0].1 = Some(given);
                stateful.calls.extend([current, given]);
            }
        }
        Ok(stateful)
    }

    /// The delayed input as a `ty`; `old` is its node before.
    fn delayed(
        &mut self,
        old: Option<NodeNumber>,
        operand: Option<&Operand>,
        ty: Type,
    ) -> Result<Option<NodeNumber>, NotLive> {
        let new = match operand {
            Some(operand) => Some(self.fitted(Owner::Call, old, operand, ty)?),
            None => None,
        };
        if let Some(old) = old.filter(|old| new != Some(*old)) {
            self.doom_owned(Owner::Call, old);
        }
        Ok(new)
    }

    /// Links the delayed input of a node, which was not there when the node was made.
    pub(super) fn link_delayed(
        &mut self,
        place: (u32, u32),
        operand: &Operand,
    ) -> Result<(), NotLive> {
        let ty = self.stateful.get(&place).ok_or(NotLive)?.of_type.kept[0].1;
        let next = self.delayed(None, Some(operand), ty)?;
        self.stateful.get_mut(&place).ok_or(NotLive)?.kept[0].1 = next;
        self.variables.changed(place);
        Ok(())
    }

    /// Notes the live nodes of a node with state.
    pub(super) fn put_stateful(&mut self, place: (u32, u32), stateful: StatefulNode) {
        self.use_mut(place.0).outs[place.1 as usize] = Some(stateful.out());
        if let Work::Tick(work) = &stateful.of_type.work
            && let Kernel::Function(_) = work.kernel
        {
            self.places.insert(stateful.out(), place);
        }
        self.stateful.insert(place, stateful);
        self.variables.changed(place);
    }

    /// Drops the live nodes of a node with state.
    pub(super) fn doom_stateful(&mut self, stateful: &StatefulNode) {
        self.variables.gone(stateful.started);
        for call in &stateful.calls {
            self.doom_call(*call);
        }
        if let Some(next) = stateful.kept.first().and_then(|(_, next)| *next) {
            self.doom_owned(Owner::Call, next);
        }
        for source in stateful.sources() {
            self.kept_sources.remove(&source);
            self.doomed.insert(source);
        }
    }

    /// Drops the live nodes of the call in a place.
    pub(super) fn doom_out(&mut self, place: (u32, u32), out: NodeNumber) {
        match self.stateful.remove(&place) {
            Some(stateful) => self.doom_stateful(&stateful),
            None => self.doom_call(out),
        }
    }

    /// The source of the seconds from tick to tick.
    fn seconds_per_tick(&mut self) -> NodeNumber {
        let seconds = Value::F64(1.0 / self.fps);
        *self.seconds_per_tick.get_or_insert_with(|| self.graph.source_of_value(&seconds))
    }

    /// Sets the ticks per second.
    pub(super) fn set_fps(&mut self, fps: f64) {
        self.fps = fps;
        if let Some(source) = self.seconds_per_tick {
            self.graph.set_value(source, &Value::F64(1.0 / fps));
        }
    }

    /// Whether there are nodes with state.
    pub(in crate::session) fn keeps(&self) -> bool {
        !self.stateful.is_empty()
    }

    /// Whether the node at a path has state of these names, which are sorted.
    pub(in crate::session) fn keeps_at(&self, editor: &Editor, path: &str, names: &[&str]) -> bool {
        let place = self.place_at(editor, path);
        let Some(stateful) = place.and_then(|place| self.stateful.get(&place)) else {
            return false;
        };
        let mut kept: Vec<&str> = stateful.kept().map(|(_, _, name, _)| name).collect();
        kept.push(STARTED);
        kept.sort_unstable();
        kept == names
    }
}
