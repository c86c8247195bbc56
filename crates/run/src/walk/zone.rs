//! Zones in the walk that leaves out cells that fail.
//!
//! A zone runs many elements at once and leaves out those that fail
//! ([`Call::leaving_out`](millstream_node::Call::leaving_out)), so one call computes all others. The
//! message is that of a call for the lowest one alone.

use std::ops::Range;

use millstream_base::id::Id;
use millstream_base::{Limits, Mask};
use millstream_ir::ZoneBody;
use millstream_node::function::Output;
use millstream_node::unsettled::Rounds;
use millstream_node::{Argument, Data, Failure, Function};

use super::good_cells::Called;
use super::{Demand, Mode, Stop, Walk};
use crate::kernel::{Crew, Elements, call, call_leaving_out};
use crate::shape::ShapeId;
use crate::store::Bad;

/// The outputs of a call, without the cells that were left out.
struct Ran {
    outputs: Vec<Output>,
    unsettled: Rounds,
    bad: Mask,
}

/// A function that makes a call, with the elements, the limits, the crew, and the data.
type Caller<T> = for<'c> fn(
    &dyn Function,
    Elements<'c>,
    &'c Limits,
    Crew<'c>,
    &'c mut [Argument<'c>],
    &'c mut [Output],
) -> T;

impl<M: Mode> Walk<'_, M> {
    /// Computes those demanded cells of the zone at `top` that do not fail.
    pub(super) fn run_zone(&mut self, top: usize, zone: &Called<'_>) -> Result<(), Stop> {
        let (shape, n_cells, mask) = self.extent(top, zone.places)?;
        let is_one = zone.places.iter().all(|place| matches!(self.read(*place).0, Data::One(_)));
        let has_marks = ZoneBody::of(zone.instance).is_some_and(|body| body.may_be_unsettled);
        let mut good = Mask::empty();
        let mut ahead = vec![mask];
        while let Some(part) = ahead.pop() {
            let Some(cells) = part.bounds() else { continue };
            self.check_budget().map_err(Stop::All)?;
            let (ran, bad) = match self.call_zone(top, zone, (shape, n_cells), &part)? {
                Ok(ran) => {
                    let bad = ran.bad.clone();
                    let bad = if is_one && !bad.is_empty() { part.clone() } else { bad };
                    // Marks are those of elements that fail, too.
                    ((!has_marks || bad.is_empty()).then_some(ran), bad)
                }
                Err(Failure { element: Some(_), .. }) if is_one => (None, part.clone()),
                Err(Failure { element: Some(at), .. }) if at == cells.start => {
                    (None, Mask::range(at..at + 1))
                }
                // It is the number of elements before this one that makes it fail.
                Err(Failure { element: Some(at), .. }) if cells.contains(&at) => {
                    ahead.extend([part.within(at..cells.end), part.within(cells.start..at)]);
                    continue;
                }
                Err(failure) => return self.fail(top, failure, None),
            };
            if let Some(Range { start: lowest, .. }) = bad.bounds() {
                let failure = self.failure_at(top, zone, (shape, n_cells), lowest)?;
                self.fail(top, failure, Some(shape))?;
                self.remember(self.stack[top].slot, Some(Bad { shape, cells: bad.clone() }))?;
            }
            let rest = part.difference(&bad);
            match ran {
                None => ahead.push(rest),
                Some(_) if rest.is_empty() => {}
                Some(ran) => {
                    good = good.union(&rest);
                    self.note_unsettled(self.stack[top].step, ran.unsettled);
                    self.narrow(top, shape, &rest)?;
                    let done = (Ok(()), ran.outputs);
                    self.finish_function(top, done, &[], &rest, n_cells, shape)?;
                }
            }
        }
        if good.is_empty() { Ok(()) } else { self.narrow(top, shape, &good) }
    }

    /// Calls the zone for some cells; it leaves out those that fail.
    fn call_zone(
        &mut self,
        top: usize,
        zone: &Called<'_>,
        over: (ShapeId, usize),
        cells: &Mask,
    ) -> Result<Result<Ran, Failure>, Stop> {
        let mut outputs = self.wanted_outputs(top, zone);
        let (result, unsettled) =
            self.calling(call_leaving_out, zone, over, cells, &mut outputs)?;
        let ran = |bad| {
            let bad = Mask::from_indices(bad).expect("the cells ascend");
            Ran { outputs, unsettled, bad }
        };
        Ok(result.map(ran))
    }

    /// How the zone fails for one cell alone.
    fn failure_at(
        &mut self,
        top: usize,
        zone: &Called<'_>,
        over: (ShapeId, usize),
        cell: usize,
    ) -> Result<Failure, Stop> {
        let only = Mask::range(cell..cell + 1);
        let mut outputs = self.wanted_outputs(top, zone);
        let (result, ..) = self.calling(call, zone, over, &only, &mut outputs)?;
        Ok(match result {
            Err(failure) => Failure { element: Some(cell), ..failure },
            Ok(()) => Failure::at(cell, "it fails only together with other elements"),
        })
    }

    /// The outputs of the zone at `top`, of which those that are read are to be set.
    fn wanted_outputs(&self, top: usize, zone: &Called<'_>) -> Vec<Output> {
        let used = self.used_outputs[self.stack[top].step.index()];
        let wanted = |k: usize| match used & 1 << k.min(63) {
            0 => Output::Ignored,
            _ => Output::Wanted(None),
        };
        (0..zone.instance.outputs.len()).map(wanted).collect()
    }

    /// Calls the zone for some cells by a function of `kernel`.
    fn calling<T>(
        &mut self,
        by: Caller<T>,
        zone: &Called<'_>,
        (shape, n_cells): (ShapeId, usize),
        cells: &Mask,
        outputs: &mut [Output],
    ) -> Result<T, Stop> {
        let maps = self.maps(shape, zone.places)?;
        let moments = self.moments(zone.instance, shape);
        let done = {
            let read = zone.places.iter().zip(&maps);
            let mut arguments: Vec<Argument<'_>> = read
                .map(|(place, map)| Argument::shared(self.read(*place).0, map.as_map()))
                .collect();
            let clock = &self.clock;
            let is_over = || clock.check().is_err();
            let crew: Crew<'_> = (self.mode.n_threads(), &is_over, clock.flag());
            let elements = (cells, n_cells, &moments[..]);
            by(zone.function, elements, self.limits, crew, &mut arguments, outputs)
        };
        // A zone that was interrupted did not fail.
        self.clock.check().map_err(Stop::All)?;
        self.clock.look_next();
        Ok(done)
    }

    /// Restricts the demand of the task at `top` to these cells.
    fn narrow(&mut self, top: usize, shape: ShapeId, cells: &Mask) -> Result<(), Stop> {
        if cells.len() < self.shapes.n_cells(shape)? {
            self.stack[top].demand = Demand::part(shape, cells.clone());
        }
        Ok(())
    }
}
