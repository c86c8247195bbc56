//! A body of forms alone as one fused form, and its rounds for one element.

use std::convert::Infallible;
use std::sync::OnceLock;

use millstream_base::id::Id;
use millstream_base::{Lane, Mask, Value};
use millstream_form::{Form, Program, ProgramWriter};
use millstream_ir::ZoneBody;
use millstream_ir::plan::StepOp;
use millstream_node::zone::Told;
use millstream_node::{Call, Failure};
use smallvec::SmallVec;

use super::near::is_lane_near;
use super::{Counts, beyond_limit, over};
use crate::fuse::{fuse_outputs, width};

/// A body as one form.
#[derive(Debug)]
pub(super) struct Fused {
    pub(super) form: Form,
    /// The lane of each parameter; `None` for the number of the round.
    pub(super) params: Vec<Option<usize>>,
    pub(super) lanes: Vec<InputLane>,
    /// The result that says whether to continue.
    pub(super) go: Option<usize>,
    /// The outputs of the plan that are computed, each with its first result.
    pub(super) outputs: Vec<(usize, usize)>,
    /// The form over registers, made when a single element runs.
    straight: OnceLock<Straight>,
}

/// A body over registers.
#[derive(Debug)]
pub(super) struct Straight {
    pub(super) program: Program,
    /// The first registers of the lanes and of the results, and that of the number of the round.
    pub(super) lanes: u32,
    pub(super) results: u32,
    pub(super) round: u32,
}

/// One lane of an input that is read or carried.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputLane {
    pub(super) input: usize,
    pub(super) offset: usize,
    pub(super) lane: Lane,
    /// The result that it becomes in the next round.
    pub(super) next: Option<usize>,
}

impl Fused {
    /// The body for these outputs; `None` if it is more than forms.
    pub(super) fn of(body: &ZoneBody, outputs: &[usize]) -> Option<Self> {
        let plan = &body.plan;
        let behind = plan.steps_upstream(outputs);
        let mut steps = Vec::new();
        for (id, step) in plan.steps.iter().filter(|(id, _)| behind[*id]) {
            match step.op {
                StepOp::Call(instance) => {
                    let instance = &plan.instances[instance];
                    if instance.plain_form().is_none() && !instance.is_lane_choice() {
                        return None;
                    }
                    steps.push(id);
                }
                StepOp::Input(input) => {
                    plan.inputs[input].ty.lanes()?;
                }
                StepOp::Const(_) => {}
            }
        }
        let mut sources = Vec::new();
        let (mut first_results, mut n_results) = (Vec::new(), 0);
        for k in outputs {
            let output = &plan.outputs[*k];
            output.ty.lanes()?;
            sources.push((output.source, output.ty));
            first_results.push((*k, n_results));
            n_results += width(output.ty);
        }
        let result_of = |k: usize| first_results.iter().find(|(of, _)| *of == k).map(|(_, at)| *at);
        let (form, read) = fuse_outputs(plan, &steps, &sources);
        let mut fused = Self {
            form,
            params: Vec::new(),
            lanes: Vec::new(),
            go: body.go().and_then(result_of),
            outputs: first_results.clone(),
            straight: OnceLock::new(),
        };
        for source in read {
            let StepOp::Input(input) = plan.steps[source.step].op else { return None };
            let first = fused.input(body, input.index(), &result_of);
            let n = width(plan.inputs[input].ty);
            match first {
                Some(first) => fused.params.extend((first..first + n).map(Some)),
                None => fused.params.push(None),
            }
        }
        for k in outputs {
            if let Some(input) = body.carry(*k) {
                fused.input(body, input, &result_of);
            }
        }
        Some(fused)
    }

    /// The place of the first lane of an input; `None` for the number of the round.
    fn input(
        &mut self,
        body: &ZoneBody,
        input: usize,
        result_of: &impl Fn(usize) -> Option<usize>,
    ) -> Option<usize> {
        if input == body.round() {
            return None;
        }
        if let Some(known) = self.lanes.iter().position(|lane| lane.input == input) {
            return Some(known);
        }
        let carrier =
            body.course.carries.iter().position(|to| *to == Some(input)).and_then(result_of);
        let (lane, n) = body.plan.inputs.as_slice()[input].ty.lanes()?;
        let first = self.lanes.len();
        for offset in 0..n as usize {
            let next = carrier.map(|result| result + offset);
            self.lanes.push(InputLane { input, offset, lane, next });
        }
        Some(first)
    }

    pub(super) fn straight(&self) -> &Straight {
        self.straight.get_or_init(|| {
            let mut writer = ProgramWriter::default();
            let lanes = writer.registers(self.lanes.len());
            let results = writer.registers(self.form.results.len());
            let round = writer.registers(1);
            let param = |lane: &Option<usize>| lane.map_or(round, |lane| lanes + lane as u32);
            let params: Vec<u32> = self.params.iter().map(param).collect();
            let all_results: Vec<u32> = (results..round).collect();
            writer.begin();
            writer.form(&self.form, &params, &all_results);
            writer.end();
            Straight { program: writer.finish(), lanes, results, round }
        })
    }

    /// The first result of an output of the plan.
    pub(super) fn first_of(&self, output: usize) -> usize {
        self.outputs.iter().find(|(of, _)| *of == output).map_or(0, |(_, first)| *first)
    }

    /// The lane that holds a result between rounds.
    pub(super) fn lane_of_result(&self, result: usize) -> Option<usize> {
        self.lanes.iter().position(|lane| lane.next == Some(result))
    }
}

/// Runs one element whose inputs are single values.
pub(super) fn run_one(
    body: &ZoneBody,
    fused: &Fused,
    call: &mut Call<'_>,
    mask: &Mask,
    wanted: &[usize],
) -> Result<(), Failure> {
    let limits = call.limits();
    let counts = Counts::read(body, call, mask);
    if let Some((element, n)) = counts.too_many {
        return Err(beyond_limit(element, n, limits.repeat_count));
    }
    let value = |lane: &InputLane| {
        let given = body.given_by(lane.input).expect("the number of the round is no lane");
        call.argument(given).data().get(0).lane(lane.offset).expect("the input has its lanes")
    };
    let straight = fused.straight();
    let mut registers = straight.program.registers();
    for (now, lane) in registers.from_mut(straight.lanes).iter_mut().zip(&fused.lanes) {
        *now = value(lane);
    }
    let mut goes = match fused.go.and_then(|go| fused.lane_of_result(go)) {
        Some(lane) => registers.get(straight.lanes + lane as u32) != 0,
        None => true,
    };
    let (mut round, mut settled) = (0_u32, false);
    while goes && round < counts.most {
        if round as usize >= limits.repeat_count {
            let element = mask.bounds().map_or(0, |bounds| bounds.start);
            return Err(beyond_limit(element, counts.most, limits.repeat_count));
        }
        if round.is_multiple_of(1 << 12) && call.is_over().is_some_and(|is_over| is_over()) {
            return Err(over());
        }
        registers.from_mut(straight.round)[0] = u64::from(round);
        let Ok(()) = straight.program.run(&mut registers, |_| Ok::<_, Infallible>(()));
        let mut is_stable = body.stable().is_some();
        let tolerance = body.stable().unwrap_or(0.0);
        let (now, results) = registers.from_mut(straight.lanes).split_at_mut(fused.lanes.len());
        for (lane, now) in fused.lanes.iter().zip(now) {
            if let Some(next) = lane.next {
                let next = results[next];
                is_stable &= is_lane_near(lane.lane, *now, next, tolerance);
                *now = next;
            }
        }
        round += 1;
        settled = is_stable;
        goes = !is_stable && fused.go.is_none_or(|go| results[go] != 0);
    }
    if goes && round > 0 && body.stable().is_some() {
        let element = mask.bounds().map_or(0, |bounds| bounds.start);
        call.unsettled().after(round, call.moments(), element);
    }
    let (now, results) = (registers.from(straight.lanes), registers.from(straight.results));
    for k in wanted {
        match body.told.get(k.wrapping_sub(body.n_outputs())) {
            Some(Told::Rounds) => {
                call.set_one(*k, round as i32);
                continue;
            }
            Some(Told::Settled) => {
                call.set_one(*k, settled);
                continue;
            }
            None => {}
        }
        let ty = body.plan.outputs[*k].ty;
        let first = fused.first_of(*k);
        let lanes = (first..first + width(ty)).map(|result| match fused.lane_of_result(result) {
            Some(lane) => now[lane],
            None if round == 0 => 1,
            None => results[result],
        });
        let lanes: SmallVec<[u64; 16]> = lanes.collect();
        let value = Value::from_lanes(ty, &lanes).expect("a form gives the lanes of its outputs");
        call.set_one(*k, value);
    }
    Ok(())
}
