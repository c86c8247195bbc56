//! Running a step whose inputs exist, and storing its result.

use std::time::Instant;

use millstream_base::id::Id;
use millstream_base::{Column, Mask, Type, Value};
use millstream_form::Form;
use millstream_ir::ZoneBody;
use millstream_ir::answer::EvalError;
use millstream_ir::plan::StepId;
use millstream_ir::request::RequestAxis;
use millstream_ir::unsettled::Mark;
use millstream_node::function::Output;
use millstream_node::unsettled::Rounds;
use millstream_node::{Argument, Data, Failure, Function, Instance, Kernel};
use smallvec::SmallVec;

use super::choose::overwrite;
use super::good_cells::{Called, lacks_output};
use super::{Cells, Demand, Mode, Place, Run, Stop, Task, Walk};
use crate::kernel::{Crew, Operand, call};
use crate::lanes::push_lanes;
use crate::shape::{AxisId, CellMap, ShapeId, Shapes};
use crate::store::{Outputs, State};

impl<'a, M: Mode> Walk<'a, M> {
    /// Runs a step whose inputs are all read in its own context.
    pub(crate) fn run_strict(&mut self, top: usize, instance: &'a Instance) -> Result<(), Stop> {
        let plan = self.plan;
        let Task { step, frame, .. } = self.stack[top];
        let mut places: SmallVec<[Place; 4]> = SmallVec::new();
        for source in plan.inputs_of(&plan.steps[step]) {
            let place = self.place(*source, frame);
            let demand = self.stack[top].demand.clone();
            if self.has_failed(place, &demand)? {
                return self.fail_with_input(top, place);
            }
            places.push(place);
        }
        self.run_kernel(top, instance, &places)
    }

    /// Runs a kernel on operands that all exist.
    pub(crate) fn run_kernel(
        &mut self,
        top: usize,
        instance: &'a Instance,
        places: &[Place],
    ) -> Result<(), Stop> {
        let timed = match M::before_run(self, top, instance, places)? {
            Run::Here => None,
            Run::Timed(elements) => Some(elements),
            Run::Elsewhere => return Ok(()),
        };
        let started = timed.map(|elements| (Instant::now(), elements));
        match &instance.kernel {
            Kernel::Form(form) => {
                if !self.run_scalar_form(top, instance, form, places)? {
                    self.run_column_form(top, instance, form, places)?;
                }
            }
            Kernel::Function(function) => {
                self.run_function(top, instance, &**function, places)?;
            }
            Kernel::Pass => self.run_pass(top, instance, places[0])?,
            Kernel::Read { .. } | Kernel::Choose | Kernel::ReadState(_) => {
                panic!("these kernels have no strict run")
            }
        }
        self.release_all(top, places);
        if let Some((started, elements)) = started {
            M::timed(self, self.stack[top].step, elements, started.elapsed());
        }
        Ok(())
    }

    /// The form on one element, if all operands are single values.
    #[inline]
    fn run_scalar_form(
        &mut self,
        top: usize,
        instance: &Instance,
        form: &Form,
        places: &[Place],
    ) -> Result<bool, Stop> {
        let mut params: SmallVec<[u64; 16]> = SmallVec::new();
        for place in places {
            match self.read(*place).0 {
                Data::One(value) => push_lanes(value, &mut params),
                Data::Many(_) => return Ok(false),
            }
        }
        if let [output] = &instance.outputs[..] {
            self.run_on_lanes(top, form, output.ty, &params);
            return Ok(true);
        }
        let mut results: SmallVec<[u64; 8]> = SmallVec::from_elem(0, form.results.len());
        form.run_scalar(&params, &mut results, &mut self.scratch.registers);
        let value = |ty: Type, lanes: &[u64]| {
            Data::One(Value::from_lanes(ty, lanes).expect("a form gives the lanes of its outputs"))
        };
        let mut rest = &results[..];
        let mut outputs = Vec::with_capacity(instance.outputs.len());
        for output in &instance.outputs {
            let width = output.ty.lanes().map_or(0, |(_, n)| n as usize);
            let (lanes, others) = rest.split_at(width);
            outputs.push(Some(value(output.ty, lanes)));
            rest = others;
        }
        self.store_result(top, outputs, Shapes::scalar())?;
        Ok(true)
    }

    /// The form of a step with one output on the lanes of its inputs.
    #[inline]
    pub(crate) fn run_on_lanes(&mut self, top: usize, form: &Form, ty: Type, params: &[u64]) {
        let mut results = [0; 16];
        let results = &mut results[..form.results.len()];
        form.run_scalar(params, results, &mut self.scratch.registers);
        let value = Value::from_lanes(ty, results).expect("a form gives the lanes of its outputs");
        self.store_one(top, Data::One(value));
    }

    /// The shape of a step's result, its cells, and those to compute.
    pub(crate) fn extent(
        &mut self,
        top: usize,
        places: &[Place],
    ) -> Result<(ShapeId, usize, Mask), Stop> {
        let (shape, mask) = match &self.stack[top].demand {
            Demand::Part(cells) => (cells.shape, Some(cells.mask.clone())),
            Demand::Full => {
                let mut shape = Shapes::scalar();
                for place in places {
                    let (_, other) = self.read(*place);
                    shape = self.shapes.union(shape, other);
                }
                (shape, None)
            }
        };
        let n_cells = self.shapes.n_cells(shape)?;
        Ok((shape, n_cells, mask.unwrap_or_else(|| Mask::full(n_cells))))
    }

    pub(crate) fn maps(&mut self, shape: ShapeId, places: &[Place]) -> Result<Vec<CellMap>, Stop> {
        let mut maps = Vec::with_capacity(places.len());
        for place in places {
            let (_, of) = self.read(*place);
            maps.push(self.shapes.map(shape, of)?);
        }
        Ok(maps)
    }

    fn run_column_form(
        &mut self,
        top: usize,
        instance: &Instance,
        form: &Form,
        places: &[Place],
    ) -> Result<(), Stop> {
        let (shape, n_cells, mask) = self.extent(top, places)?;
        let maps = self.maps(shape, places)?;
        let used = self.used_outputs[self.stack[top].step.index()];
        let mut columns: Vec<Option<Column>> = Vec::with_capacity(instance.outputs.len());
        for (k, output) in instance.outputs.iter().enumerate() {
            let wanted = used & 1 << k.min(63) != 0;
            let column = wanted.then(|| self.output_column(top, k, output.ty, n_cells));
            columns.push(column.transpose()?);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let operands: Vec<Operand<'_>> = places
            .iter()
            .zip(maps)
            .map(|(place, map)| Operand { data: self.read(*place).0, map })
            .collect();
        let mut outputs: Vec<Option<&mut Column>> =
            columns.iter_mut().map(Option::as_mut).collect();
        let clock = &self.clock;
        let outputs = (&instance.outputs[..], &mut outputs[..]);
        scratch.form(form, &operands, outputs, &mask, &|| clock.check().is_err());
        drop(operands);
        self.scratch = scratch;
        self.clock.ended()?;
        let outputs = columns.into_iter().map(|column| column.map(Data::Many)).collect();
        self.store_result(top, outputs, shape)
    }

    fn run_function(
        &mut self,
        top: usize,
        instance: &Instance,
        function: &dyn Function,
        places: &[Place],
    ) -> Result<(), Stop> {
        if self.mode.leaves_out() && ZoneBody::of(instance).is_some() {
            return self.run_zone(top, &Called { instance, function, places });
        }
        let (shape, n_cells, mask) = self.extent(top, places)?;
        let maps = self.maps(shape, places)?;
        let used = self.used_outputs[self.stack[top].step.index()];
        let mut outputs = Vec::with_capacity(instance.outputs.len());
        for (k, output) in instance.outputs.iter().enumerate() {
            outputs.push(if used & 1 << k.min(63) == 0 {
                Output::Ignored
            } else {
                Output::Wanted(self.buffers.take_for(output.ty))
            });
        }
        let mut owned: SmallVec<[Option<Data>; 4]> = SmallVec::new();
        let mut taken: SmallVec<[Place; 4]> = SmallVec::new();
        for (place, input) in places.iter().zip(&instance.inputs) {
            let data = if input.mutable { self.take_last(top, *place) } else { None };
            taken.extend(data.is_some().then_some(*place));
            owned.push(data);
        }
        let moments = self.moments(instance, shape);
        let (result, unused, unsettled) = {
            let mut arguments: Vec<Argument<'_>> = Vec::with_capacity(places.len());
            for ((place, map), owned) in places.iter().zip(&maps).zip(owned) {
                arguments.push(match owned {
                    Some(data) => Argument::owned(data, map.as_map()),
                    None => Argument::shared(self.read(*place).0, map.as_map()),
                });
            }
            let clock = &self.clock;
            let is_over = || clock.check().is_err();
            let threads = self.mode.n_threads();
            let crew: Crew<'_> = (threads, &is_over, clock.flag());
            let elements = (&mask, n_cells, &moments[..]);
            call(function, elements, self.limits, crew, &mut arguments, &mut outputs)
        };
        for column in unused {
            self.buffers.give(column);
        }
        if let Err(failure) = &result {
            // A function that was interrupted did not fail.
            self.clock.check().map_err(Stop::All)?;
            if self.mode.leaves_out() && failure.element.is_some() {
                self.fail(top, failure.clone(), Some(shape))?;
                return self.run_on_good_cells(top, &Called { instance, function, places });
            }
        }
        self.note_unsettled(self.stack[top].step, unsettled);
        self.clock.look_next();
        self.finish_function(top, (result, outputs), &taken, &mask, n_cells, shape)
    }

    /// Takes the report of a function that has run.
    pub(crate) fn note_unsettled(&mut self, step: StepId, rounds: Rounds) {
        M::unsettled(self, &rounds);
        self.mark(step, rounds);
    }

    /// Adds the marks of a step, whose result may be an earlier one.
    pub(crate) fn mark(&mut self, step: StepId, rounds: Rounds) {
        self.unsettled.extend(Mark::of_step(self.plan, step, rounds));
    }

    /// The first cell of each moment, if the instance is a zone that reports where repeats did not
    /// settle.
    pub(crate) fn moments(&mut self, instance: &Instance, shape: ShapeId) -> Vec<usize> {
        if !ZoneBody::of(instance).is_some_and(|body| body.may_be_unsettled) {
            return Vec::new();
        }
        if self.moments.is_empty() {
            return self
                .axis_of(RequestAxis::Time)
                .map_or_else(Vec::new, |time| self.shapes.starts(shape, time));
        }
        let Some(index) = self.axis_of(RequestAxis::Index) else { return Vec::new() };
        let starts = self.shapes.starts(shape, index);
        let n_cells = self.shapes.n_cells(shape).unwrap_or(0);
        let first = |element: &usize| starts.get(*element).copied().unwrap_or(n_cells);
        if starts.is_empty() { starts } else { self.moments.iter().map(first).collect() }
    }

    fn axis_of(&self, axis: RequestAxis) -> Option<AxisId> {
        self.request_axes.iter().find(|(_, known)| *known == axis).map(|(axis, _)| *axis)
    }

    /// Stores the outputs of a function, or its failure; `taken` are the inputs that it owned.
    pub(crate) fn finish_function(
        &mut self,
        top: usize,
        (result, outputs): (Result<(), Failure>, Vec<Output>),
        taken: &[Place],
        mask: &Mask,
        n_cells: usize,
        shape: ShapeId,
    ) -> Result<(), Stop> {
        if let Err(failure) = result {
            // The inputs that it owned are gone; a later demand for other cells computes them
            // again.
            for place in taken {
                if let Place::Slot(slot, _) = place {
                    self.store.set_state(*slot, State::Empty);
                }
            }
            self.fail(top, failure.clone(), Some(shape))?;
            M::failed(self, top, failure, shape);
            return Ok(());
        }
        let mut results = Vec::with_capacity(outputs.len());
        for (k, output) in outputs.into_iter().enumerate() {
            results.push(match output {
                Output::Ignored => None,
                Output::Wanted(_) => {
                    return self.fail(top, lacks_output(k), None);
                }
                Output::Done(data) => Some(self.merged(top, k, data, mask, n_cells, shape)),
            });
        }
        self.store_result(top, results, shape)
    }

    /// A step that passes its input on.
    fn run_pass(&mut self, top: usize, instance: &Instance, place: Place) -> Result<(), Stop> {
        let (data, from) = self.read(place);
        let data = data.clone();
        let Demand::Part(cells) = self.stack[top].demand.clone() else {
            return self.store_result(top, vec![Some(data)], from);
        };
        let Cells { shape, ref mask } = *cells;
        let n_cells = self.shapes.n_cells(shape)?;
        let map = self.shapes.map(shape, from)?;
        let mut column = self.output_column(top, 0, instance.outputs[0].ty, n_cells)?;
        match &data {
            Data::One(value) => column.overwrite(mask, &Column::filled(value, 1), |_| 0),
            Data::Many(from) => overwrite(&mut column, mask, from, map.as_map()),
        }
        self.store_result(top, vec![Some(Data::Many(column))], shape)
    }

    /// The data of an input without readers after this run, taken out of the store.
    pub(crate) fn take_last(&mut self, top: usize, place: Place) -> Option<Data> {
        let Place::Slot(slot, 0) = place else { return None };
        if !matches!(self.stack[top].demand, Demand::Full) || M::KEEPS_RESULTS {
            return None;
        }
        if self.store.rest(slot).uses_left != 1 || self.store.state(slot) != State::Full {
            return None;
        }
        match self.store.take_outputs(slot) {
            Outputs::One(data) => {
                self.bytes = self.bytes.saturating_sub(data.bytes());
                Some(data)
            }
            others => {
                *self.store.outputs_mut(slot) = others;
                None
            }
        }
    }

    /// A column for output `k`: the one that was partly computed, or a new one.
    ///
    /// # Errors
    /// If it exceeds the limit for all values together, or the memory that is left.
    pub(crate) fn output_column(
        &mut self,
        top: usize,
        k: usize,
        ty: Type,
        n: usize,
    ) -> Result<Column, Stop> {
        let (limit, bytes) = (self.limits.bytes, ty.size().saturating_mul(n));
        if bytes > limit {
            return Err(Stop::All(EvalError::Bytes { limit }));
        }
        let column = self.take_partial(top, k).or_else(|| self.buffers.try_column(ty, n));
        column.ok_or(Stop::All(EvalError::Memory { bytes }))
    }

    /// The column of output `k` as far as it was computed before.
    fn take_partial(&mut self, top: usize, k: usize) -> Option<Column> {
        let slot = self.stack[top].slot;
        if self.store.state(slot) != State::Partial {
            return None;
        }
        let data = match self.store.take_outputs(slot) {
            Outputs::None => None,
            Outputs::One(data) => Some(data),
            Outputs::Several(mut all) => {
                let data = all[k].take();
                *self.store.outputs_mut(slot) = Outputs::Several(all);
                data
            }
        };
        match data {
            Some(Data::Many(column)) => {
                self.bytes = self.bytes.saturating_sub(column.bytes());
                Some(column)
            }
            Some(Data::One(_)) | None => None,
        }
    }

    /// Output `k` of a function, together with the cells that were computed before.
    fn merged(
        &mut self,
        top: usize,
        k: usize,
        data: Data,
        mask: &Mask,
        n_cells: usize,
        shape: ShapeId,
    ) -> Data {
        if shape == Shapes::scalar() {
            return Data::One(data.get(0));
        }
        if matches!(self.stack[top].demand, Demand::Full) {
            return data;
        }
        let new = match data {
            Data::One(value) => Column::filled(&value, n_cells),
            Data::Many(column) => column,
        };
        Data::Many(match self.take_partial(top, k) {
            Some(mut old) => {
                old.overwrite(mask, &new, |cell| cell);
                old
            }
            None => new,
        })
    }

    /// Stores the one output of a step that was computed in full for one cell.
    #[inline]
    fn store_one(&mut self, top: usize, data: Data) {
        if M::KEEPS_RESULTS {
            self.stack[top].demand = Demand::Full;
            let stored = self.store_result(top, vec![Some(data)], Shapes::scalar());
            debug_assert!(stored.is_ok(), "one cell is never too many");
            return;
        }
        let Task { step, slot, .. } = self.stack[top];
        self.bytes += data.bytes();
        self.log_run(step, 1, data.bytes());
        self.store.set_state(slot, State::Full);
        *self.store.outputs_mut(slot) = Outputs::One(data);
    }

    /// Stores the result of a step for the cells of its demand.
    pub(crate) fn store_result(
        &mut self,
        top: usize,
        outputs: Vec<Option<Data>>,
        shape: ShapeId,
    ) -> Result<(), Stop> {
        let Task { step, slot, .. } = self.stack[top];
        let n_cells = self.shapes.n_cells(shape)?;
        let bytes: usize = outputs.iter().flatten().map(Data::bytes).sum();
        let part = match &self.stack[top].demand {
            Demand::Full => None,
            Demand::Part(cells) => Some(cells.mask.clone()),
        };
        let elements = part.as_ref().map_or(n_cells, Mask::len);
        self.log_run(step, elements, bytes);
        self.bytes += bytes;
        let mut state = State::Full;
        let rest = self.store.rest_mut(slot);
        rest.shape = shape;
        let before = rest.done.take();
        if let Some(mask) = part {
            let done = before.map_or(mask.clone(), |before| before.union(&mask));
            if done.len() < n_cells {
                state = State::Partial;
                rest.done = Some(Box::new(done));
            }
        }
        self.store.set_state(slot, state);
        *self.store.outputs_mut(slot) = Outputs::new(outputs);
        M::stored(self, top);
        Ok(())
    }

    /// Records that a step in full demand has read its inputs for the last time. A step that failed
    /// may be demanded for other cells and then reads them again.
    pub(crate) fn release_all(&mut self, top: usize, places: &[Place]) {
        let Task { slot, ref demand, .. } = self.stack[top];
        if matches!(demand, Demand::Full) && self.store.state(slot) != State::Empty {
            for place in places {
                self.release(*place);
            }
        }
    }

    pub(crate) fn recycle(&mut self, data: Data) {
        self.bytes = self.bytes.saturating_sub(data.bytes());
        if !M::KEEPS_RESULTS {
            self.buffers.give_data(data);
        }
    }
}
