//! Nodes with state, taken apart as in plans: their state comes from sources, and at the end of a
//! tick their next state is read from the nodes that compute it.

use std::sync::Arc;

use millstream_base::{Type, Value};
use millstream_compile::lower::{StatefulParts, StatefulType};
use millstream_document::Editor;
use millstream_ir::ZoneBody;
use millstream_node::state::STARTED;
use millstream_node::{Instance, Kernel};
use millstream_run::live::NodeNumber;

use super::{Mirror, NotLive, Operand, Owner};

/// A node with state, in one use of its body.
#[derive(Debug)]
pub(super) struct StatefulNode {
    of_type: Arc<StatefulType>,
    /// The source that tells whether there is state.
    pub(super) started: NodeNumber,
    /// Each source of state with the node of its next value; `None` while that is missing.
    kept: Vec<(NodeNumber, Option<NodeNumber>)>,
    /// The nodes that compute, the last one the outputs.
    calls: Vec<NodeNumber>,
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

    /// Whether its instance does the same as that of a type.
    pub(super) fn is_of(&self, of_type: &StatefulType) -> bool {
        self.of_type.instance.does_same(&of_type.instance)
    }

    /// The sources of its state, and the one that tells whether there is any.
    fn sources(&self) -> impl Iterator<Item = NodeNumber> {
        [self.started].into_iter().chain(self.kept.iter().map(|(source, _)| *source))
    }

    /// Each source of state, with the node of its next value, its name and its type.
    pub(super) fn kept(
        &self,
    ) -> impl Iterator<Item = (NodeNumber, Option<NodeNumber>, &str, Type)> {
        let kept = self.kept.iter().zip(&self.of_type.variables);
        kept.map(|((source, next), (name, ty))| (*source, *next, &**name, *ty))
    }

    /// All its nodes, in an order that is the same for instances that do the same.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeNumber> {
        let kept = self.kept.iter().flat_map(|(source, next)| [Some(*source), *next]);
        [Some(self.started)].into_iter().chain(kept).flatten().chain(self.calls.iter().copied())
    }
}

/// The parts of a node that is made, or linked again.
struct LiveParts<'m> {
    mirror: &'m mut Mirror,
    stateful: StatefulNode,
    /// The calls that existed before.
    old: std::vec::IntoIter<NodeNumber>,
}

impl StatefulParts for LiveParts<'_> {
    type Value = Operand;
    type Error = NotLive;

    fn started(&mut self) -> Operand {
        Operand::Node(self.stateful.started, Type::BOOL)
    }

    fn state(&mut self, at: usize) -> Operand {
        Operand::Node(self.stateful.kept[at].0, self.stateful.of_type.variables[at].1)
    }

    fn seconds_per_tick(&mut self) -> Operand {
        Operand::Node(self.mirror.seconds_per_tick(), Type::F64)
    }

    fn constant(&mut self, value: &Value) -> Operand {
        Operand::Literal(value.clone())
    }

    fn call(&mut self, instance: &Arc<Instance>, inputs: &[Operand]) -> Result<Operand, NotLive> {
        let made = self.mirror.call(self.old.next(), instance, inputs)?;
        self.stateful.calls.push(made);
        Ok(Operand::Node(made, instance.outputs[0].ty))
    }

    fn output(&mut self, call: &Operand, output: usize, ty: Type) -> Operand {
        let Operand::Node(call, _) = call else { unreachable!("a call is a node") };
        let node = self.mirror.graph.output(*call, output).expect("it has this output");
        Operand::Node(node, ty)
    }

    fn keep(&mut self, at: usize, next: Option<Operand>) -> Result<(), NotLive> {
        let (mirror, ty) = (&mut *self.mirror, self.stateful.of_type.variables[at].1);
        let old = self.stateful.kept[at].1;
        let new = match next {
            Some(operand) => Some(mirror.fitted(Owner::Call, old, &operand, ty)?),
            None => None,
        };
        if let Some(old) = old.filter(|old| new != Some(*old)) {
            mirror.doom_owned(Owner::Call, old);
        }
        self.stateful.kept[at].1 = new;
        Ok(())
    }
}

impl Mirror {
    /// The live nodes of a node with state. Nodes of `before` are reused. The delayed input may be
    /// missing.
    pub(super) fn stateful_node(
        &mut self,
        before: Option<StatefulNode>,
        of_type: &Arc<StatefulType>,
        operands: &[Option<Operand>],
    ) -> Result<StatefulNode, NotLive> {
        let mut stateful = before.unwrap_or_else(|| {
            let mut source = |ty: Type| self.graph.source_of_value(&ty.default_value());
            let kept = of_type.variables.iter().map(|(_, ty)| (source(*ty), None)).collect();
            let started = source(Type::BOOL);
            StatefulNode { of_type: Arc::clone(of_type), started, kept, calls: Vec::new() }
        });
        self.kept_sources.extend(stateful.sources());
        stateful.of_type = Arc::clone(of_type);
        let old = std::mem::take(&mut stateful.calls).into_iter();
        let mut parts = LiveParts { mirror: self, stateful, old };
        of_type.take_apart(operands, &mut parts)?;
        Ok(parts.stateful)
    }

    /// Records the live nodes of a node with state.
    pub(super) fn put_stateful(&mut self, place: (u32, u32), stateful: StatefulNode) {
        self.use_mut(place.0).outs[place.1 as usize] = Some(stateful.out());
        let work = stateful.of_type.work().map(|work| &work.kernel);
        let is_zone = ZoneBody::of(&stateful.of_type.instance).is_some();
        if is_zone || matches!(work, Some(Kernel::Function(_))) {
            self.places.insert(stateful.out(), (place, None));
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

    /// The source of the seconds between ticks.
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

    /// Whether the node at a path has state with these names, which are sorted.
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
