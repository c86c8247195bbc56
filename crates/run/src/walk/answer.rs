//! From a request to an answer: the root context, the outputs, the log.

use millstream_base::feature::Aspect;
use millstream_base::id::{Id, SideTable};
use millstream_base::{Column, Mask, Type};
use millstream_ir::answer::{Answer, EvalError, LogEntry, OutputAnswer, Series};
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_ir::request::{Bound, BoundData, RequestAxis, RequestError, product_in_words};
use millstream_ir::states::is_state;
use millstream_ir::{InputId, LogDetail, Request, is_held};
use millstream_node::{Data, Instance, Kernel};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Clock, Demand, KnownShapes, Mode, Place, StateCalls, Stop, Walk};
use crate::buffers::Buffers;
use crate::frame::{Feat, Frames};
use crate::kernel::Scratch;
use crate::laps::Laps;
use crate::one_op::one_ops;
use crate::shape::{AxisId, Extent, ShapeId, Shapes};
use crate::store::{State, Store};

impl<'a, M: Mode> Walk<'a, M> {
    /// The same as a part of a call; `is_over` says whether that is cancelled.
    pub(crate) fn within(mut self, is_over: Option<&'a (dyn Fn() -> bool + Sync)>) -> Self {
        self.clock = self.clock.within(is_over);
        self
    }

    /// The start of an evaluation: nothing is computed.
    pub(crate) fn new(plan: &'a Plan, request: &'a Request, bound: &Bound, mode: M) -> Self {
        let mut shapes = Shapes::new(request.limits.cells());
        let request_axes: Vec<(AxisId, RequestAxis)> = RequestAxis::ALL
            .iter()
            .filter_map(|axis| {
                let extent = Extent::Even(bound.extent(*axis)?);
                Some((shapes.add_axis(extent), *axis))
            })
            .collect();
        let opened = |axis: RequestAxis| {
            request_axes.iter().find(|(_, known)| *known == axis).map(|(axis, _)| *axis)
        };
        let shape_of = |data: &BoundData, shapes: &mut Shapes| match data.axis {
            None => Shapes::scalar(),
            Some(axis) => shapes.along(opened(axis).expect("bound data opened the axis")),
        };
        let inputs: SideTable<InputId, (Data, ShapeId)> = SideTable::from_vec(
            bound
                .inputs
                .iter()
                .map(|data| (data.data.clone(), shape_of(data, &mut shapes)))
                .collect(),
        );
        let mut frames = Frames::new();
        let mut entries = SmallVec::new();
        for (bit, need) in plan.needs.iter().enumerate() {
            let feat = match need.aspect {
                Aspect::Value => match &bound.features[bit] {
                    Some(data) => Feat::Value(data.data.clone(), shape_of(data, &mut shapes)),
                    None => continue,
                },
                Aspect::Extent => Feat::Axis(RequestAxis::of(need).and_then(opened)),
            };
            entries.push((bit as u32, frames.feat(feat, &mut shapes)));
        }
        let root = frames.frame(entries);
        let scoped = plan.need_maps.iter().map(|(_, maps)| maps.iter().any(Option::is_some));
        Self {
            plan,
            request,
            limits: &request.limits,
            shapes,
            frames,
            root,
            store: Store::new(plan),
            inputs,
            request_axes,
            moments: bound.moments.clone(),
            numbers: bound.kept_of().map(|(elements, of)| (elements.clone(), of)),
            scoped: SideTable::from_vec(scoped.collect()),
            one_ops: match request.log {
                LogDetail::Times => SideTable::new(plan.instances.len(), None),
                LogDetail::Off | LogDetail::Counts => one_ops(plan),
            },
            used_outputs: used_outputs(plan),
            stack: Vec::new(),
            pending: FxHashMap::default(),
            gathered: Vec::new(),
            loop_axes: FxHashMap::default(),
            known_shapes: KnownShapes::default(),
            state_calls: StateCalls::default(),
            failures: Vec::new(),
            unsettled: Vec::new(),
            log: (request.log != LogDetail::Off)
                .then(|| vec![LogEntry::NOT_NEEDED; plan.steps.len()]),
            scratch: Scratch::default(),
            buffers: Buffers::default(),
            bytes: 0,
            clock: Clock::new(plan, request, bound),
            laps: (request.log == LogDetail::Times).then(Laps::start),
            mode,
        }
    }

    /// Evaluates the requested outputs.
    pub(crate) fn answer(&mut self, bound: &Bound) -> Result<Answer, EvalError> {
        let mut outputs = Vec::with_capacity(bound.outputs.len());
        self.clock.check()?;
        self.check_outputs(bound)?;
        M::begin(self, bound)?;
        for position in &bound.outputs {
            let output = &self.plan.outputs[*position];
            let value = self.output(output.source, output.ty, bound)?;
            outputs.push(OutputAnswer {
                name: std::sync::Arc::clone(&output.name),
                ty: output.ty,
                value,
                partial: None,
            });
        }
        if !bound.has_no_cells() {
            self.call_in_request()?;
        }
        let calls = self.next_states()?;
        self.clock.check()?;
        for position in &bound.optional {
            let output = &self.plan.outputs[*position];
            outputs.push(OutputAnswer {
                name: std::sync::Arc::clone(&output.name),
                ty: output.ty,
                value: self.computed(output.source, bound),
                partial: None,
            });
        }
        // The order in which nodes run and fail depends on the evaluator.
        let mut failures = std::mem::take(&mut self.failures);
        failures.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Answer {
            outputs,
            calls,
            failures,
            unsettled: std::mem::take(&mut self.unsettled),
            log: self.told(),
            times: bound.times,
            views: bound.views,
            count: bound.masked().map(Mask::len).or(bound.count),
        })
    }

    /// Refuses outputs that have more cells than allowed, before anything is computed. Other steps
    /// fail when they run.
    fn check_outputs(&mut self, bound: &Bound) -> Result<(), EvalError> {
        let (plan, limit) = (self.plan, self.shapes.max_cells());
        if bound.n_cells() <= limit {
            return Ok(());
        }
        let mut errors = Vec::new();
        let outputs = bound.outputs.iter().map(|position| &plan.outputs[*position]);
        for output in outputs.filter(|output| !is_state(&output.name) && !is_held(&output.name)) {
            if let StepOp::Call(_) = plan.steps[output.source.step].op
                && let Some(shape) = self.shape_in_root(output.source.step)?
                && self.shapes.n_cells(shape).is_err()
                && let Some((cells, product)) = self.product(shape)
            {
                let output = output.name.to_string();
                errors.push(RequestError::TooLargeOutput { output, cells, product, limit });
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(EvalError::Request(errors)) }
    }

    /// The number of cells of a shape, and its extents in words, if its axes are those of the
    /// request.
    pub(super) fn product(&self, shape: ShapeId) -> Option<(usize, String)> {
        let mut extents = Vec::new();
        for axis in self.shapes.axes_of(shape) {
            let (_, of) = self.request_axes.iter().find(|(known, _)| known == axis)?;
            match self.shapes.extent(*axis) {
                Extent::Even(n) => extents.push((*of, *n)),
                Extent::Ragged { .. } | Extent::Symbolic { .. } => return None,
            }
        }
        Some(product_in_words(extents))
    }

    /// The demand on a source: all cells, or if it varies between elements those of the requested
    /// elements.
    pub(super) fn demand(
        &mut self,
        source: StepSource,
        bound: &Bound,
    ) -> Result<Demand, EvalError> {
        let Some(elements) = bound.masked() else { return Ok(Demand::Full) };
        let is_index = |(_, axis): &&(AxisId, RequestAxis)| *axis == RequestAxis::Index;
        let index = self.request_axes.iter().find(is_index).expect("some elements are asked for").0;
        let shape = match self.plan.steps[source.step].op {
            StepOp::Const(_) => Shapes::scalar(),
            StepOp::Input(input) => self.inputs[input].1,
            StepOp::Call(_) => match self.shape_in_root(source.step)? {
                Some(shape) => shape,
                // The step fails in this case.
                None => return Ok(Demand::Full),
            },
        };
        if !self.shapes.axes_of(shape).contains(&index) {
            return Ok(Demand::Full);
        }
        let along = self.shapes.along(index);
        let mask = self.shapes.project(along, elements, shape);
        Ok(mask.map_or(Demand::Full, |mask| Demand::part(shape, mask)))
    }

    /// The shape of a step in the context of the request; `None` if it cannot be found.
    pub(super) fn shape_in_root(&mut self, step: StepId) -> Result<Option<ShapeId>, EvalError> {
        let home = self.home(step, self.root);
        match self.shape_of(step, home) {
            Ok(shape) => Ok(Some(shape)),
            Err(Stop::All(error)) => Err(error),
            Err(Stop::Cells(_) | Stop::Endless) => Ok(None),
        }
    }

    /// The demanded cells of data.
    fn demanded(&mut self, data: Data, shape: ShapeId, demand: &Demand) -> Series {
        let Demand::Part(cells) = demand else {
            return Series { data, axes: self.axes(shape) };
        };
        let Ok(map) = self.shapes.map(cells.shape, shape) else {
            unreachable!("a step has no more cells than its shape");
        };
        let n_cells = cells.mask.len();
        let column = match &data {
            Data::One(value) => Column::filled(value, n_cells),
            Data::Many(column) => {
                let places: Vec<usize> = cells.mask.iter().map(|i| map.as_map().entry(i)).collect();
                column.gather(places.into_iter())
            }
        };
        Series { data: Data::Many(column), axes: self.axes(cells.shape) }
    }

    fn output(
        &mut self,
        source: StepSource,
        ty: Type,
        bound: &Bound,
    ) -> Result<Option<Series>, EvalError> {
        let root = self.root;
        if let (StepOp::Call(_), true) = (self.plan.steps[source.step].op, bound.has_no_cells()) {
            // Nothing runs for an output without cells.
            if let Some(shape) = self.shape_in_root(source.step)?
                && self.shapes.n_cells(shape) == Ok(0)
            {
                let axes = self.axes(shape);
                return Ok(Some(Series { data: Data::Many(Column::empty(ty)), axes }));
            }
        }
        let demand = self.demand(source, bound)?;
        if let Demand::Part(cells) = &demand
            && cells.mask.is_empty()
        {
            let axes = self.axes(cells.shape);
            return Ok(Some(Series { data: Data::Many(Column::empty(ty)), axes }));
        }
        self.ask(source, root, demand.clone());
        self.work()?;
        if self.bytes > self.limits.bytes {
            return Err(EvalError::Bytes { limit: self.limits.bytes });
        }
        let place = self.place(source, root);
        if self.has_failed(place, &demand).unwrap_or(true) {
            return Ok(None);
        }
        let (data, shape) = self.read(place);
        let data = data.clone();
        if demand.is_part() || matches!(place, Place::Input(_) | Place::Const(_)) {
            return Ok(Some(self.demanded(data, shape, &demand)));
        }
        let shape = if matches!(data, Data::One(_)) { Shapes::scalar() } else { shape };
        let (data, shape) = self.along_all_axes(source.step, data, shape)?;
        Ok(Some(Series { data, axes: self.axes(shape) }))
    }

    /// The value of an output along all axes that it may vary along. If all elements took one arm
    /// of a choice, or had equal rounds, evaluation found fewer axes; but the shape of an answer
    /// does not depend on values.
    fn along_all_axes(
        &mut self,
        step: StepId,
        data: Data,
        shape: ShapeId,
    ) -> Result<(Data, ShapeId), EvalError> {
        let may_narrow = |instance: &Instance| {
            let mut scopes = instance.inputs.iter().map(|input| &input.scope);
            matches!(instance.kernel, Kernel::Choose) || scopes.any(|scope| !scope.is_empty())
        };
        let mut instances = self.plan.instances.as_slice().iter();
        if self.request_axes.is_empty() || !instances.any(|instance| may_narrow(instance)) {
            return Ok((data, shape));
        }
        // If it is unknown, the shape that was found is the best available.
        let whole = self.shape_in_root(step)?.unwrap_or(shape);
        if whole == shape {
            return Ok((data, shape));
        }
        // Outputs with more cells than allowed were refused.
        let (Ok(n_cells), Ok(n_known), Ok(map)) =
            (self.shapes.n_cells(whole), self.shapes.n_cells(shape), self.shapes.map(whole, shape))
        else {
            return Ok((data, shape));
        };
        let limit = self.limits.bytes;
        let n_times = n_cells / n_known.max(1);
        self.bytes = self.bytes.saturating_add(data.bytes().saturating_mul(n_times));
        if self.bytes > limit {
            return Err(EvalError::Bytes { limit });
        }
        let column = match &data {
            Data::One(value) => Column::filled(value, n_cells),
            Data::Many(column) => column.gather((0..n_cells).map(|i| map.as_map().entry(i))),
        };
        Ok((Data::Many(column), whole))
    }

    /// The value of a source if all of it was computed in the context of the request, perhaps
    /// without a demand.
    pub(super) fn computed(&mut self, source: StepSource, bound: &Bound) -> Option<Series> {
        let home = self.home(source.step, self.root);
        let slot = self.store.find(source.step, home)?;
        if self.store.state(slot) != State::Full {
            return None;
        }
        let (data, shape) = self.store.output(slot, source.output);
        let data = data.clone();
        if matches!(data, Data::One(_)) {
            return Some(Series { data, axes: Vec::new() });
        }
        let demand = self.demand(source, bound).ok()?;
        Some(self.demanded(data, shape, &demand))
    }

    pub(super) fn axes(&self, shape: ShapeId) -> Vec<RequestAxis> {
        self.shapes.axes_of(shape).iter().map(|axis| self.request_axis(*axis)).collect()
    }

    pub(crate) fn request_axis(&self, axis: AxisId) -> RequestAxis {
        let known = self.request_axes.iter().find(|(known, _)| *known == axis);
        known.expect("outputs vary along axes of the request only").1
    }
}

/// The outputs of each step that are read; bit 63 represents all from there on.
fn used_outputs(plan: &Plan) -> Vec<u64> {
    let mut used = vec![0_u64; plan.steps.len()];
    if plan.instances.as_slice().iter().all(|instance| instance.outputs.len() == 1) {
        used.fill(1);
        return used;
    }
    let outputs = plan.outputs.iter().map(|output| &output.source);
    let kept =
        plan.state_writers.iter().flat_map(|writer| &writer.values).map(|value| &value.source);
    for source in plan.links.iter().chain(outputs).chain(kept) {
        used[source.step.index()] |= 1 << source.output.min(63);
    }
    used
}
