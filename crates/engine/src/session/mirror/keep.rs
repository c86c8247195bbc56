//! Nodes that keep something from tick to tick, taken apart as lowering does it: what they keep comes
//! in from sources, and what they keep from then on is read from the nodes that compute it when a tick
//! is over. So a live graph runs no circles: what counts for later ticks is no link in it.

use std::sync::Arc;

use millstream_base::{Type, Value};
use millstream_document::Editor;
use millstream_node::state::STARTED;
use millstream_node::{Instance, Keeps, Kernel, Registry};
use millstream_run::live::NodeNumber;

use super::{Lost, Mirror, Owner, Want};

/// A node type that keeps something, with what does the work of a tick.
#[derive(Debug)]
pub(super) struct Keeping {
    pub(super) instance: Arc<Instance>,
    work: Work,
    /// The names and types of what is kept, besides whether anything is.
    kept: Vec<(Arc<str>, Type)>,
}

#[derive(Debug)]
enum Work {
    /// A node gives the outputs, then what is kept from then on.
    Tick(Arc<Instance>),
    /// A row of values moves on by one; this takes one of two.
    Past(Arc<Instance>),
    /// What was given is given again, or a value is taken over; this takes one of two.
    Held(Arc<Instance>),
}

/// A node that keeps something, in one use of its body.
#[derive(Debug)]
pub(super) struct Keeper {
    keeping: Arc<Keeping>,
    /// Whether anything is kept.
    pub(super) started: NodeNumber,
    /// Each source of what is kept, with what that is from then on; `None` as long as what it reads
    /// has no node.
    kept: Vec<(NodeNumber, Option<NodeNumber>)>,
    /// The nodes that compute something, the last one the outputs.
    calls: Vec<NodeNumber>,
}

impl Keeping {
    /// What an instance needs that keeps something; `None` for others.
    ///
    /// # Errors
    /// If it has no place in a live graph.
    pub(super) fn of(registry: &Registry, instance: &Arc<Instance>) -> Result<Option<Self>, Lost> {
        let Some(keeps) = &instance.def.keeps else { return Ok(None) };
        // What else counts for later ticks lowering knows no way for.
        let has_other_delay = instance.def.delayed.is_some() && !matches!(keeps, Keeps::Past);
        if instance.has_scopes() || has_other_delay {
            return Err(Lost);
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

    /// Whether what goes into a slot counts for later ticks only, and may depend on the node itself.
    pub(super) fn is_delayed(&self, slot: usize) -> bool {
        slot == 0 && matches!(self.work, Work::Past(_)) && self.instance.def.delayed.is_some()
    }
}

impl Keeper {
    /// The node of the outputs.
    pub(super) fn out(&self) -> NodeNumber {
        *self.calls.last().expect("it computes something")
    }

    /// Whether something that it reads has no node.
    pub(super) fn lacks(&self) -> bool {
        self.kept.iter().any(|(_, next)| next.is_none())
    }

    /// Whether it is of an instance that does the same.
    pub(super) fn is_of(&self, keeping: &Keeping) -> bool {
        self.keeping.instance.does_same(&keeping.instance)
    }

    /// The sources of what is kept, and of whether anything is.
    fn sources(&self) -> impl Iterator<Item = NodeNumber> {
        [self.started].into_iter().chain(self.kept.iter().map(|(source, _)| *source))
    }

    /// Each source of what is kept, with what that is from then on, and the name and type.
    pub(super) fn kept(
        &self,
    ) -> impl Iterator<Item = (NodeNumber, Option<NodeNumber>, &str, Type)> {
        let kept = self.kept.iter().zip(&self.keeping.kept);
        kept.map(|((source, next), (name, ty))| (*source, *next, &**name, *ty))
    }

    /// All its nodes, in an order that is the same for keepers of instances that do the same.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeNumber> {
        let kept = self.kept.iter().flat_map(|(source, next)| [Some(*source), *next]);
        [Some(self.started)].into_iter().chain(kept).flatten().chain(self.calls.iter().copied())
    }
}

impl Mirror {
    /// The nodes of one that keeps something. Those that were there `before` are used again. What is
    /// delayed may be missing.
    pub(super) fn keeper(
        &mut self,
        before: Option<Keeper>,
        keeping: &Arc<Keeping>,
        wants: &[Option<Want>],
    ) -> Result<Keeper, Lost> {
        let mut keeper = before.unwrap_or_else(|| {
            let mut source = |ty: Type| self.graph.source_of_value(&ty.default_value());
            let kept = keeping.kept.iter().map(|(_, ty)| (source(*ty), None)).collect();
            let started = source(Type::BOOL);
            Keeper { keeping: Arc::clone(keeping), started, kept, calls: Vec::new() }
        });
        self.kept_sources.extend(keeper.sources());
        keeper.keeping = Arc::clone(keeping);
        let mut old = std::mem::take(&mut keeper.calls).into_iter();
        let want = |at: usize| wants.get(at).cloned().flatten().ok_or(Lost);
        let started = Want::Node(keeper.started, Type::BOOL);
        match &keeping.work {
            Work::Tick(work) => {
                let n_inputs = keeping.instance.inputs.len();
                let mut all = (0..n_inputs).map(want).collect::<Result<Vec<Want>, Lost>>()?;
                all.extend([started, Want::Node(self.seconds_per_tick(), Type::F64)]);
                all.extend(keeper.kept().map(|(source, _, _, ty)| Want::Node(source, ty)));
                let made = self.call(old.next(), work, &all)?;
                let first = keeping.instance.outputs.len();
                for (at, (_, next)) in (first..).zip(&mut keeper.kept) {
                    *next = Some(self.graph.output(made, at).ok_or(Lost)?);
                }
                keeper.calls.push(made);
            }
            Work::Past(pick) => {
                let ty = keeping.kept[0].1;
                let value = wants.first().cloned().flatten();
                let mut next = self.delayed(keeper.kept[0].1, value.as_ref(), ty)?;
                for (source, known) in &mut keeper.kept {
                    *known = next;
                    let all = [started.clone(), want(1)?, Want::Node(*source, ty)];
                    let made = self.call(old.next(), pick, &all)?;
                    keeper.calls.push(made);
                    next = Some(made);
                }
            }
            Work::Held(pick) => {
                let (held, ty) = (keeper.kept[0].0, keeping.kept[0].1);
                let all = [want(1)?, Want::Node(held, ty), want(0)?];
                let current = self.call(old.next(), pick, &all)?;
                let all = [started, want(0)?, Want::Node(current, ty)];
                let given = self.call(old.next(), pick, &all)?;
                keeper.kept[0].1 = Some(given);
                keeper.calls.extend([current, given]);
            }
        }
        Ok(keeper)
    }

    /// What is delayed, as a `ty`. `old` is what it was before.
    fn delayed(
        &mut self,
        old: Option<NodeNumber>,
        want: Option<&Want>,
        ty: Type,
    ) -> Result<Option<NodeNumber>, Lost> {
        let new = match want {
            Some(want) => Some(self.fitted(Owner::Call, old, want, ty)?),
            None => None,
        };
        if let Some(old) = old.filter(|old| new != Some(*old)) {
            self.doom_owned(Owner::Call, old);
        }
        Ok(new)
    }

    /// Links what is delayed of a node, which was not there when the node was made.
    pub(super) fn link_delayed(&mut self, place: (u32, u32), want: &Want) -> Result<(), Lost> {
        let ty = self.keepers.get(&place).ok_or(Lost)?.keeping.kept[0].1;
        let next = self.delayed(None, Some(want), ty)?;
        self.keepers.get_mut(&place).ok_or(Lost)?.kept[0].1 = next;
        self.variables.changed(place);
        Ok(())
    }

    /// Notes the nodes of one that keeps something.
    pub(super) fn put_keeper(&mut self, place: (u32, u32), keeper: Keeper) {
        self.use_mut(place.0).outs[place.1 as usize] = Some(keeper.out());
        if let Work::Tick(work) = &keeper.keeping.work
            && let Kernel::Function(_) = work.kernel
        {
            self.places.insert(keeper.out(), place);
        }
        self.keepers.insert(place, keeper);
        self.variables.changed(place);
    }

    /// The nodes of one that keeps something are not needed any more.
    pub(super) fn doom_keeper(&mut self, keeper: &Keeper) {
        self.variables.gone(keeper.started);
        for call in &keeper.calls {
            self.doom_call(*call);
        }
        if let Some(next) = keeper.kept.first().and_then(|(_, next)| *next) {
            self.doom_owned(Owner::Call, next);
        }
        for source in keeper.sources() {
            self.kept_sources.remove(&source);
            self.doomed.insert(source);
        }
    }

    /// What a node gave in its place is not needed any more.
    pub(super) fn doom_out(&mut self, place: (u32, u32), out: NodeNumber) {
        match self.keepers.remove(&place) {
            Some(keeper) => self.doom_keeper(&keeper),
            None => self.doom_call(out),
        }
    }

    /// The source of the seconds from tick to tick.
    fn seconds_per_tick(&mut self) -> NodeNumber {
        let seconds = Value::F64(1.0 / self.fps);
        *self.seconds_per_tick.get_or_insert_with(|| self.graph.source_of_value(&seconds))
    }

    /// So many ticks are a second from now on.
    pub(super) fn set_fps(&mut self, fps: f64) {
        self.fps = fps;
        if let Some(source) = self.seconds_per_tick {
            self.graph.set_value(source, &Value::F64(1.0 / fps));
        }
    }

    /// Whether nodes keep something.
    pub(in crate::session) fn keeps(&self) -> bool {
        !self.keepers.is_empty()
    }

    /// Whether the node at a path keeps values of these names, which are sorted.
    pub(in crate::session) fn keeps_at(&self, editor: &Editor, path: &str, names: &[&str]) -> bool {
        let place = self.place_at(editor, path);
        let Some(keeper) = place.and_then(|place| self.keepers.get(&place)) else { return false };
        let mut kept: Vec<&str> = keeper.kept().map(|(_, _, name, _)| name).collect();
        kept.push(STARTED);
        kept.sort_unstable();
        kept == names
    }
}
