//! Steps that change the context of an input: arguments first, then the context, then the body.

use std::sync::Arc;

use millstream_base::feature::{Aspect, Need};
use millstream_base::{Column, Feature, FeatureSet, Mask, Value};
use millstream_form::Form;
use millstream_ir::Plan;
use millstream_ir::graph::InstanceId;
use millstream_ir::need_map::{Fate, NeedMap};
use millstream_ir::request::RequestAxis;
use millstream_node::instance::OutputSlot;
use millstream_node::{Data, Instance, ScopeRule};
use smallvec::SmallVec;

use super::{Body, Demand, Gather, Gathered, Mode, Pending, Place, Progress, Stop, Task, Walk};
use crate::frame::{Feat, FeatId, FrameId};
use crate::kernel::Operand;
use crate::shape::{AxisId, Extent, ShapeId, Shapes};
use crate::store::State;
use crate::uses::arguments;

/// The extent of a loop, by which loops share an axis: the number of cells, or the numbers per
/// parent cell.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LoopKey {
    Even(usize),
    Ragged(ShapeId, Arc<[u32]>),
}

/// The needs map of an input; inputs with a scope have one.
pub(super) fn need_map(plan: &Plan, id: InstanceId, input: usize) -> &NeedMap {
    plan.need_maps[id][input].as_ref().expect("inputs with a scope have a map of needs")
}

impl<'a, M: Mode> Walk<'a, M> {
    /// A step with a scope at some input.
    pub(super) fn advance_scoped(
        &mut self,
        top: usize,
        instance: &'a Instance,
    ) -> Result<Progress, Stop> {
        let plan = self.plan;
        let Task { step, frame, slot, phase, .. } = self.stack[top];
        let id = self.instance_id(step);
        let sources = plan.inputs_of(&plan.steps[step]);
        if phase == 0 {
            self.stack[top].phase = 1;
            let first = self.stack.len();
            for argument in arguments(plan, &plan.steps[step], id) {
                let axes = self.axes_of_argument(top, sources[argument]);
                let demand = self.stack[top].demand.clone();
                let demand = self.demand_along(&demand, &axes)?;
                self.ask(sources[argument], frame, demand);
            }
            self.deepest_on_top(first);
            if self.stack.len() > first {
                return Ok(Progress::Waiting);
            }
        }
        if self.stack[top].phase == 1 {
            self.stack[top].phase = 2;
            for argument in arguments(plan, &plan.steps[step], id) {
                let place = self.place(sources[argument], frame);
                let axes = self.axes_of_argument(top, sources[argument]);
                let demand = self.stack[top].demand.clone();
                let demand = self.demand_along(&demand, &axes)?;
                if self.has_failed(place, &demand)? {
                    self.fail_with_body(top, place, &axes)?;
                    return Ok(Progress::Done);
                }
            }
            let mut bodies = Vec::new();
            let mut asked = false;
            for (i, input) in instance.inputs.iter().enumerate() {
                if input.scope.is_empty() {
                    continue;
                }
                let body = self.enter(top, instance, i)?;
                if let Some(demand) = &body.demand {
                    asked |= self.ask(sources[i], body.frame, demand.clone());
                }
                bodies.push(body);
            }
            self.pending.insert(slot, Pending { bodies, ..Pending::default() });
            if asked {
                return Ok(Progress::Waiting);
            }
        }
        self.run_scoped(top, instance)?;
        Ok(Progress::Done)
    }

    /// The context of input `i` of a step whose arguments exist, and the demand on it.
    fn enter(&mut self, top: usize, instance: &'a Instance, i: usize) -> Result<Body, Stop> {
        let plan = self.plan;
        let Task { step, frame, .. } = self.stack[top];
        let id = self.instance_id(step);
        let rules = &instance.inputs[i].scope;
        let mut gather = None;
        for rule in rules {
            match rule {
                ScopeRule::Each { count, .. } => {
                    gather = Some(self.open_loop(top, *count)?);
                    self.note_idle(top, i, *count);
                }
                ScopeRule::Along { feature, level } => {
                    gather = Some(self.axis_along(frame, feature, *level));
                }
                ScopeRule::Inject { .. } | ScopeRule::Modify { .. } => {}
            }
        }
        let source = plan.inputs_of(&plan.steps[step])[i];
        let inside = plan.needs_of(&plan.steps[source.step]);
        let mut entries = SmallVec::new();
        for bit in inside.bits() {
            let feat = match need_map(plan, id, i).fate(bit) {
                Fate::Same => self.feat_of(frame, bit),
                Fate::Outer(outer) => self.feat_of(frame, outer),
                Fate::Provided(rule) => {
                    let (feat, known) = self.provide(top, &rules[rule as usize], bit, gather);
                    self.frames.feat_in_part(feat, known, &mut self.shapes)
                }
                Fate::Modified(rule, outer) => {
                    let old = self.feat_of(frame, outer);
                    self.modify(top, &rules[rule as usize], old)?
                }
            };
            entries.push((bit, feat));
        }
        let demand = self.demand_on_body(top, gather)?;
        Ok(Body { input: i as u16, frame: self.frames.frame(entries), gather, demand })
    }

    /// The entry of a frame for a need of the step in it.
    pub(crate) fn feat_of(&self, frame: FrameId, bit: u32) -> FeatId {
        self.frames.get(frame, bit).expect("a frame holds all needs of its step")
    }

    /// The axis of a loop with the count that input `count` gives.
    fn open_loop(&mut self, top: usize, count: u16) -> Result<Gather, Stop> {
        let plan = self.plan;
        let Task { step, frame, .. } = self.stack[top];
        let place = self.place(plan.inputs_of(&plan.steps[step])[count as usize], frame);
        let (data, shape) = self.read(place);
        let key = match data {
            Data::One(value) => LoopKey::Even(value.get::<i32>().unwrap_or(0).max(0) as usize),
            Data::Many(column) => {
                let counts = column.as_slice::<i32>().expect("a count is an i32");
                let mut counts: Vec<u32> = counts.iter().map(|n| (*n).max(0) as u32).collect();
                if let Demand::Part(cells) = self.stack[top].demand.clone() {
                    let asked = self.shapes.project(cells.shape, &cells.mask, shape)?;
                    let all = Mask::full(counts.len());
                    all.difference(&asked).for_each(|cell| counts[cell] = 0);
                }
                LoopKey::Ragged(shape, counts.into())
            }
        };
        let empty = match &key {
            LoopKey::Even(n) => *n == 0,
            LoopKey::Ragged(_, counts) => counts.iter().all(|n| *n == 0),
        };
        if empty {
            return Ok(Gather::Nothing);
        }
        let open = self.open_axes(frame);
        // There is one more than are open, so one of them is not.
        let mut axes = (0..=open.len() as u32).map(|ordinal| self.loop_axis(&key, ordinal));
        let axis = axes.find(|axis| !open.contains(axis)).expect("one of the axes is not open");
        let shape = self.shapes.along(axis);
        self.shapes.n_cells(shape)?;
        Ok(Gather::Along(axis))
    }

    fn loop_axis(&mut self, key: &LoopKey, ordinal: u32) -> AxisId {
        if let Some(axis) = self.loop_axes.get(&(key.clone(), ordinal)) {
            return *axis;
        }
        let axis = self.shapes.add_axis(match key {
            LoopKey::Even(n) => Extent::Even(*n),
            LoopKey::Ragged(parents, counts) => {
                Extent::Ragged { parents: *parents, counts: Arc::clone(counts) }
            }
        });
        self.loop_axes.insert((key.clone(), ordinal), axis);
        axis
    }

    /// The axes along which a context varies.
    fn open_axes(&mut self, frame: FrameId) -> SmallVec<[AxisId; 4]> {
        let mut open = SmallVec::new();
        for feat in self.frames.feats_of(frame) {
            match *self.frames.value(feat) {
                Feat::Value(_, shape) | Feat::Symbolic(shape) => {
                    open.extend_from_slice(self.shapes.axes_of(shape));
                }
                Feat::Position(axis) | Feat::Axis(Some(axis)) => {
                    let shape = self.shapes.along(axis);
                    open.extend_from_slice(self.shapes.axes_of(shape));
                }
                Feat::Axis(None) => {}
            }
        }
        open
    }

    /// The axis that the injector of (feature, level) opened.
    fn axis_along(&self, frame: FrameId, feature: &Feature, level: u32) -> Gather {
        let need = Need { feature: feature.clone(), level, aspect: Aspect::Extent };
        let bit = self.plan.needs.find(&need).expect("a reduction needs an extent");
        match self.frames.value(self.feat_of(frame, bit)) {
            Feat::Axis(Some(axis)) => match self.shapes.extent(*axis) {
                Extent::Even(0) => Gather::Nothing,
                Extent::Even(_) | Extent::Ragged { .. } => Gather::Along(*axis),
                Extent::Symbolic { .. } => panic!("values are found along axes of known extent"),
            },
            Feat::Axis(None) => Gather::One,
            Feat::Value(..) | Feat::Position(_) | Feat::Symbolic(_) => {
                panic!("the extent of a feature is an axis")
            }
        }
    }

    /// The entry of the inner context that a rule provides for a need, with its known cells, if not
    /// all.
    fn provide(
        &mut self,
        top: usize,
        rule: &ScopeRule,
        bit: u32,
        gather: Option<Gather>,
    ) -> (Feat, Option<Mask>) {
        let aspect = self.plan.needs.need(bit).aspect;
        let axis = match gather {
            Some(Gather::Along(axis)) => Some(axis),
            Some(Gather::One | Gather::Nothing) | None => None,
        };
        let feat = match (rule, aspect) {
            (ScopeRule::Inject { value, .. }, Aspect::Value) => {
                let plan = self.plan;
                let Task { step, frame, .. } = self.stack[top];
                let source = plan.inputs_of(&plan.steps[step])[*value as usize];
                let place = self.place(source, frame);
                let (data, shape, known) = self.argument(place);
                return (Feat::Value(data, shape), known);
            }
            (ScopeRule::Inject { .. }, Aspect::Extent) => Feat::Axis(None),
            (ScopeRule::Each { .. } | ScopeRule::Along { .. }, Aspect::Value) => match axis {
                Some(axis) => Feat::Position(axis),
                None => Feat::Value(Data::One(Value::I32(0)), Shapes::scalar()),
            },
            (ScopeRule::Each { .. } | ScopeRule::Along { .. }, Aspect::Extent) => Feat::Axis(axis),
            (ScopeRule::Modify { .. }, _) => panic!("a modified feature is not provided"),
        };
        (feat, None)
    }

    /// The new value of a feature under a modify rule.
    fn modify(&mut self, top: usize, rule: &'a ScopeRule, old: FeatId) -> Result<FeatId, Stop> {
        let ScopeRule::Modify { feature, form, args } = rule else {
            panic!("only modify rules change a feature");
        };
        let plan = self.plan;
        let Task { step, frame, .. } = self.stack[top];
        let sources = plan.inputs_of(&plan.steps[step]);
        let (data, of) = self.feat_data(old);
        let mut in_part = SmallVec::<[(ShapeId, Mask); 2]>::new();
        in_part.extend(self.frames.known(old).map(|known| (of, known.clone())));
        let mut operands = vec![(data, of)];
        for arg in args {
            let place = self.place(sources[*arg as usize], frame);
            let (data, of, known) = self.argument(place);
            in_part.extend(known.map(|known| (of, known)));
            operands.push((data, of));
        }
        let (data, shape) = self.changed(form, feature, &operands)?;
        let mut known: Option<Mask> = None;
        for (of, cells) in in_part {
            let cells = self.shapes.project(of, &cells, shape)?;
            known = Some(known.map_or(cells.clone(), |known| known.intersect(&cells)));
        }
        Ok(self.frames.feat_in_part(Feat::Value(data, shape), known, &mut self.shapes))
    }

    /// Data and shape of a value that enters a context. Contexts are distinguished by their bits,
    /// so cells that are not computed, whose contents are arbitrary, are blanked; if results are
    /// stored, the known cells are returned.
    fn argument(&self, place: Place) -> (Data, ShapeId, Option<Mask>) {
        let (data, shape) = self.read(place);
        let mut data = data.clone();
        let mut known = None;
        if let (Place::Slot(slot, _), Data::Many(column)) = (place, &mut data)
            && self.store.state(slot) == State::Partial
        {
            let all = Mask::full(column.len());
            let done = self.store.rest(slot).done.as_deref();
            let rest = done.map_or_else(|| all.clone(), |done| all.difference(done));
            let blank = Column::filled(&column.ty().default_value(), 1);
            column.overwrite(&rest, &blank, |_| 0);
            known = done.filter(|_| M::KEEPS_RESULTS).cloned();
        }
        (data, shape, known)
    }

    fn changed(
        &mut self,
        form: &Form,
        feature: &Feature,
        operands: &[(Data, ShapeId)],
    ) -> Result<(Data, ShapeId), Stop> {
        let shape = operands
            .iter()
            .fold(Shapes::scalar(), |shape, (_, other)| self.shapes.union(shape, *other));
        let n_cells = self.shapes.n_cells(shape)?;
        let mut with_maps = Vec::with_capacity(operands.len());
        for (data, of) in operands {
            with_maps.push(Operand { data, map: self.shapes.map(shape, *of)? });
        }
        let mut column = self.buffers.column(feature.ty(), n_cells);
        let types = [OutputSlot { ty: feature.ty() }];
        let all = Mask::full(n_cells);
        let clock = &self.clock;
        let outputs = (&types[..], &mut [Some(&mut column)][..]);
        self.scratch.form(form, &with_maps, outputs, &all, &|| clock.check().is_err());
        self.clock.ended()?;
        let data =
            if shape == Shapes::scalar() { Data::One(column.get(0)) } else { Data::Many(column) };
        Ok((data, shape))
    }

    /// The data of a feature.
    pub(super) fn feat_data(&mut self, feat: FeatId) -> (Data, ShapeId) {
        match self.frames.value(feat).clone() {
            Feat::Value(data, shape) => (data, shape),
            Feat::Position(axis) => {
                let column = self.frames.positions(axis, &self.shapes);
                (Data::Many(column), self.shapes.along(axis))
            }
            Feat::Axis(_) | Feat::Symbolic(_) => panic!("a value is asked of a value"),
        }
    }

    /// The demand on a body: the demanded cells of the step, and all cells of a gathered axis.
    fn demand_on_body(
        &mut self,
        top: usize,
        gather: Option<Gather>,
    ) -> Result<Option<Demand>, Stop> {
        let demand = self.stack[top].demand.clone();
        let axis = match gather {
            None | Some(Gather::One) => return Ok(Some(demand)),
            Some(Gather::Nothing) => return Ok(None),
            Some(Gather::Along(axis)) => axis,
        };
        let along = self.shapes.along(axis);
        Ok(Some(match demand {
            Demand::Full if matches!(self.shapes.extent(axis), Extent::Even(_)) => Demand::Full,
            Demand::Full => Demand::part(along, Mask::full(self.shapes.n_cells(along)?)),
            Demand::Part(cells) => {
                // A step that another input makes differ along the axis reads all of it too.
                let rest = self.shapes.without(cells.shape, axis);
                let mask = self.shapes.project(cells.shape, &cells.mask, rest)?;
                let both = self.shapes.union(rest, along);
                Demand::part(both, self.shapes.project(rest, &mask, both)?)
            }
        }))
    }

    /// Runs a step with scopes whose bodies exist.
    fn run_scoped(&mut self, top: usize, instance: &'a Instance) -> Result<(), Stop> {
        let plan = self.plan;
        let Task { step, frame, slot, .. } = self.stack[top];
        let sources = plan.inputs_of(&plan.steps[step]);
        let bodies = self.pending.remove(&slot).map(|pending| pending.bodies).unwrap_or_default();
        let mut places: SmallVec<[Place; 4]> = SmallVec::new();
        let arguments = arguments(plan, &plan.steps[step], self.instance_id(step));
        for (i, source) in sources.iter().enumerate() {
            let body = bodies.iter().find(|body| body.input as usize == i);
            let place = match body {
                None if arguments.contains(&i) => self.place(*source, frame),
                // No rule uses it, so it was not evaluated; only steps that pass on have such
                // inputs.
                None => continue,
                Some(body) => {
                    let nothing = matches!(body.gather, Some(Gather::Nothing));
                    let place = (!nothing).then(|| self.place(*source, body.frame));
                    if let (Some(place), Some(demand)) = (place, &body.demand)
                        && self.has_failed(place, demand)?
                    {
                        let axis = body.gather.and_then(Gather::axis);
                        return self.fail_with_body(top, place, axis.as_slice());
                    }
                    match (body.gather, place) {
                        (None, Some(place)) => place,
                        (gather, place) => {
                            let ty = instance.inputs[i].ty;
                            let Some(list) = self.gather(top, gather, place, ty)? else {
                                self.gathered.clear();
                                return Ok(());
                            };
                            let (data, shape) = list;
                            self.gathered.push(Gathered { data, shape, gather, body: place });
                            Place::Gathered(self.gathered.len() - 1)
                        }
                    }
                }
            };
            places.push(place);
        }
        let done = self.run_kernel(top, instance, &places);
        self.gathered.clear();
        done
    }

    /// A step that reads the context.
    pub(super) fn read_feature(
        &mut self,
        top: usize,
        feature: &Feature,
        level: u32,
        aspect: Aspect,
    ) -> Result<(), Stop> {
        let need = Need { feature: feature.clone(), level, aspect };
        let bit =
            self.plan.needs.find(&need).expect("a feature that a step reads is a need of the plan");
        debug_assert!(
            self.plan
                .needs_of(&self.plan.steps[self.stack[top].step])
                .contains(FeatureSet::bit(bit)),
            "a step that reads a feature needs it"
        );
        let feat = self.feat_of(self.stack[top].frame, bit);
        let (data, shape) = match aspect {
            Aspect::Value => self.feat_data(feat),
            Aspect::Extent => self.extent_data(feat),
        };
        self.stack[top].demand = Demand::Full;
        if M::before_feature(self, top, feat, &data, shape)? {
            return Ok(());
        }
        self.store_result(top, vec![Some(data)], shape)
    }

    /// The number of cells of an axis, for each cell of its parents.
    fn extent_data(&mut self, feat: FeatId) -> (Data, ShapeId) {
        let Feat::Axis(axis) = *self.frames.value(feat) else {
            panic!("the extent of a feature is an axis");
        };
        let Some(axis) = axis else { return (Data::One(Value::I32(1)), Shapes::scalar()) };
        let is_index =
            |(known, of): &(AxisId, RequestAxis)| *known == axis && *of == RequestAxis::Index;
        if let Some((_, of)) =
            self.numbers.as_ref().filter(|_| self.request_axes.iter().any(is_index))
        {
            return (Data::One(Value::I32(*of as i32)), Shapes::scalar());
        }
        match self.shapes.extent(axis) {
            Extent::Even(n) => (Data::One(Value::I32(*n as i32)), Shapes::scalar()),
            Extent::Ragged { parents, counts } => {
                (Data::Many(counts.iter().map(|n| *n as i32).collect()), *parents)
            }
            Extent::Symbolic { .. } => panic!("values are found along axes of known extent"),
        }
    }
}
