//! Frames that do not depend on each other.
//!
//! Consecutive frames that compute the same outputs, and read the same stored results, form a
//! segment: one plan answers it, and results that are equal in all of its frames are computed once.
//! The first computed frame shows how long steps take. These times determine which intermediate
//! results are stored, and how many short frames are computed together.

use std::time::{Duration, Instant};

use millstream_ir::answer::{Answer, EvalError, Evaluator, OutputAnswer, Series};
use millstream_ir::plan::{Plan, StepSource};
use millstream_ir::request::{LogDetail, Request};
use millstream_ir::unsettled::{Mark, Via};
use millstream_run::{Parts, Varying, partial};

use super::{Asked, BakeError, Computed, Each, IsWanted, LookUp, Part, marks_of, of_frame};
use crate::cheap::Cheap;
use crate::cuts::{self, COMPUTED, Cuts, GIVEN, Way, cut_of};
use crate::stored::{self, Stored};

/// The maximum number of frames in a segment.
const MAX_FRAMES: usize = 4096;

/// The target time of one evaluation of several frames.
const BATCH_TIME: Duration = Duration::from_millis(50);

/// The maximum size of outputs computed together.
const BATCH_BYTES: usize = 64 << 20;

/// The interval at which entries of other processes are looked for.
const REFRESH: Duration = Duration::from_millis(500);

pub(super) struct Frames<'f, 'r, 'p> {
    look_up: &'f mut LookUp<'r, 'p>,
    cuts: Cuts,
    /// Whether each candidate is stored; known once a frame has been measured.
    is_stored: Option<Vec<bool>>,
    /// The maximum number of frames computed together.
    n_at_once: usize,
    /// The number of frames that are computed together next: fewer after a node failed, until it is
    /// known in which frame.
    n_next: usize,
    refreshed: Instant,
}

/// Consecutive frames.
struct Segment {
    end: usize,
    missing: Vec<usize>,
    way: Way,
}

impl<'f, 'r, 'p> Frames<'f, 'r, 'p> {
    pub(super) fn new(look_up: &'f mut LookUp<'r, 'p>, cheap: &Cheap) -> Self {
        let cuts = if look_up.cache.limit() == 0 && look_up.cache.is_empty() {
            Cuts::none(look_up.plan())
        } else {
            Cuts::new(look_up.plan(), cheap)
        };
        let is_stored = if cuts.sources.is_empty() { Some(Vec::new()) } else { None };
        Self { look_up, cuts, is_stored, n_at_once: 1, n_next: 1, refreshed: Instant::now() }
    }

    pub(super) fn run<E>(
        mut self,
        evaluator: &mut dyn Evaluator,
        is_wanted: IsWanted<'_>,
        each: Each<'_, E>,
    ) -> Result<(), BakeError<E>> {
        let n = self.look_up.bake.frames.len();
        let mut position = 0;
        while position < n {
            self.look_up.bake.request.budget.check().map_err(EvalError::from)?;
            self.refresh();
            let key = self.look_up.frame_key(position);
            if !is_wanted(position, key) {
                position += 1;
                continue;
            }
            let missing = self.look_up.missing(position);
            if missing.is_empty() && self.look_up.asked == Asked::Rest {
                position += 1;
                continue;
            }
            if missing.is_empty()
                && let Some(part) = self.look_up.reused(position)
            {
                each(part).map_err(BakeError::Caller)?;
                position += 1;
                continue;
            }
            let segment = self.segment(position, missing, is_wanted);
            self.run_segment(position, &segment, evaluator, each)?;
            position = segment.end;
        }
        Ok(())
    }

    /// Looks for results stored by other processes, from time to time.
    fn refresh(&mut self) {
        if self.refreshed.elapsed() > REFRESH {
            self.look_up.cache.refresh();
            self.refreshed = Instant::now();
        }
    }

    /// The results to look up and to compute for the missing outputs of a frame.
    fn way(&mut self, position: usize, missing: &[usize]) -> Way {
        let mut is_known = Vec::with_capacity(self.cuts.sources.len());
        for source in &self.cuts.sources {
            let key = self.look_up.keys.key(*source, position);
            is_known.push(key.is_some_and(|key| self.look_up.cache.contains(key)));
        }
        let outputs = self.look_up.outputs();
        let wanted: Vec<StepSource> = missing.iter().map(|it| outputs[*it].source).collect();
        let arms = self.look_up.keys.arms(position);
        let mut way = self.cuts.way(self.look_up.plan(), &wanted, arms, &is_known);
        if let Some(is_stored) = &self.is_stored {
            way.computed.retain(|cut| is_stored[*cut]);
        }
        way
    }

    fn segment(&mut self, first: usize, missing: Vec<usize>, is_wanted: IsWanted<'_>) -> Segment {
        let way = self.way(first, &missing);
        let n = self.look_up.bake.frames.len();
        let mut end = first + 1;
        // The first computed frame is measured.
        let most = if self.is_stored.is_none() { first + 1 } else { n.min(first + MAX_FRAMES) };
        while end < most {
            let key = self.look_up.frame_key(end);
            if !is_wanted(end, key)
                || self.look_up.missing(end) != missing
                || self.way(end, &missing) != way
            {
                break;
            }
            end += 1;
        }
        Segment { end, missing, way }
    }

    fn run_segment<E>(
        &mut self,
        first: usize,
        segment: &Segment,
        evaluator: &mut dyn Evaluator,
        each: Each<'_, E>,
    ) -> Result<(), BakeError<E>> {
        let is_measured = self.is_stored.is_some();
        let given = self.cuts.named(GIVEN, segment.way.given.iter().copied());
        let computed = self.cuts.named(COMPUTED, segment.way.computed.iter().copied());
        let plan = self.look_up.plan().spliced(&given, &computed);
        let outputs = self.look_up.outputs();
        let mut request = self.look_up.bake.request.clone().all_outputs();
        for output in &segment.missing {
            request = request.output(outputs[*output].name.to_string());
        }
        for cut in &segment.way.computed {
            let name = cuts::name(COMPUTED, *cut);
            request =
                if is_measured { request.output(name) } else { request.optional_output(name) };
        }
        let log = if is_measured { LogDetail::Off } else { LogDetail::Times };
        let request = request.with_log(log);
        let mut parts = Parts::new(evaluator, &plan, &request, Varying::Ticks);
        let mut position = first;
        while position < segment.end {
            self.refresh();
            if position > first
                && self.look_up.missing(position).is_empty()
                && let Some(part) = self.look_up.reused(position)
            {
                each(part).map_err(BakeError::Caller)?;
                position += 1;
                continue;
            }
            let is_alone = !segment.way.given.is_empty() || !segment.way.computed.is_empty();
            let n = if is_alone { 1 } else { self.n_next.min(segment.end - position) };
            let computed = if n > 1 {
                let several =
                    self.several(position, n, segment, &mut parts, evaluator, &request)?;
                let Some(several) = several else {
                    self.n_next = n / 2;
                    continue;
                };
                several
            } else {
                vec![self.one(position, segment, &mut parts, evaluator, &request)?]
            };
            for computed in computed {
                let part = self.finish(position, segment, computed);
                let part = match part {
                    Some(part) => part,
                    None => self.computed_whole(position, evaluator)?,
                };
                each(part).map_err(BakeError::Caller)?;
                position += 1;
            }
        }
        Ok(())
    }

    /// Adds the outputs that were not computed; `None` if one cannot be read.
    fn finish(&mut self, position: usize, segment: &Segment, computed: Computed) -> Option<Part> {
        let mut computed = computed;
        let besides = self.look_up.besides(position, &segment.missing)?;
        computed.values.extend(besides);
        self.look_up.part(position, computed)
    }

    /// Computes one frame.
    fn one(
        &mut self,
        position: usize,
        segment: &Segment,
        parts: &mut Parts<'_>,
        evaluator: &mut dyn Evaluator,
        request: &Request,
    ) -> Result<Computed, EvalError> {
        let started = Instant::now();
        let mut request = request.clone().frame(self.look_up.bake.frames[position]);
        let mut marks: Vec<Mark> = Vec::new();
        for cut in &segment.way.given {
            let source = self.cuts.sources[*cut];
            let key = self.look_up.keys.key(source, position);
            let stored = key.and_then(|key| stored::read(self.look_up.cache, key));
            let Some(stored) = stored else {
                // Without it, nothing is saved.
                return self.apart(position, &segment.missing, evaluator);
            };
            let via = Via::Step(source.step);
            let of_cut = |unsettled| Mark { unsettled, via, moment: None };
            marks.extend(stored.unsettled.into_iter().map(of_cut));
            let given = stored::given(stored.series.data);
            request = request.given(cuts::name(GIVEN, *cut), given);
        }
        let mut answer = parts.evaluate(evaluator, request)?;
        let took = started.elapsed();
        marks.extend(marks_of(&mut answer, segment.way.given.len()));
        let n = segment.missing.len();
        let results = answer.outputs.split_off(n.min(answer.outputs.len()));
        if self.is_stored.is_none() {
            self.measured(segment, &answer, &results, took);
        } else if answer.failures.is_empty() {
            self.n_next = (self.n_next * 2).min(self.n_at_once);
        }
        let is_stored = self.is_stored.clone().unwrap_or_default();
        for result in results {
            let (Some(cut), Some(series)) = (cut_of(&result.name), result.value) else { continue };
            if is_stored[cut] && stored::is_by_element(&series) {
                let source = self.cuts.sources[cut];
                if let Some(key) = self.look_up.keys.key(source, position) {
                    let unsettled = self.look_up.marks_of(source.step, position, &marks);
                    stored::write(self.look_up.cache, key, &Stored { series, unsettled });
                }
            }
        }
        Ok(self.taken(position, (&segment.missing, answer), &marks, took))
    }

    /// Stores the outputs of an answer, and takes them out.
    fn taken(
        &mut self,
        position: usize,
        (missing, answer): (&[usize], Answer),
        marks: &[Mark],
        took: Duration,
    ) -> Computed {
        let mut blank = self.look_up.blank();
        blank.failures = answer.failures;
        let mut values = Vec::new();
        for (output, found) in missing.iter().zip(answer.outputs) {
            let store = |series| self.look_up.store(*output, position, series, marks);
            values.push((*output, found.value.map(store)));
            blank.outputs[*output].partial = found.partial;
        }
        Computed { values, answer: blank, took, is_new: true }
    }

    /// Computes several frames together; `None` if in some of them, but maybe not in all, a node fails
    /// or a repeat does not settle, and it is not known in which.
    fn several(
        &mut self,
        first: usize,
        n: usize,
        segment: &Segment,
        parts: &mut Parts<'_>,
        evaluator: &mut dyn Evaluator,
        request: &Request,
    ) -> Result<Option<Vec<Computed>>, EvalError> {
        let started = Instant::now();
        // Frames with equal keys are computed once.
        let mut frames: Vec<i64> = Vec::with_capacity(n);
        let mut of_position = Vec::with_capacity(n);
        let mut last = None;
        for position in first..first + n {
            let key = self.look_up.frame_key(position);
            if key.is_none() || key != last || frames.is_empty() {
                frames.push(self.look_up.bake.frames[position]);
            }
            (last, of_position) = (key, pushed(of_position, frames.len() - 1));
        }
        let mut answer = parts.evaluate(evaluator, request.clone().frames(frames))?;
        let marks = marks_of(&mut answer, 0);
        let is_of_all = |mark: &Mark| matches!(mark.via, Via::Step(step) if parts.is_same(step));
        let is_known = |mark: &Mark| mark.moment.is_some() || is_of_all(mark);
        let has_failed = answer.outputs.iter().any(|output| output.value.is_none());
        if !marks.iter().all(is_known) || has_failed || !answer.failures.is_empty() {
            return Ok(None);
        }
        self.n_next = (self.n_next * 2).min(self.n_at_once);
        let took = started.elapsed() / n as u32;
        let mut all = Vec::with_capacity(n);
        let mut before = None;
        for (at, frame) in of_position.into_iter().enumerate() {
            let mut one = self.look_up.blank();
            one.outputs.clear();
            for output in &answer.outputs {
                let series: Option<&Series> = output.value.as_ref();
                let value = series.map(|series| of_frame(series, frame, answer.count));
                one.outputs.push(OutputAnswer {
                    value,
                    name: std::sync::Arc::clone(&output.name),
                    ty: output.ty,
                    partial: None,
                });
            }
            let concerns = |mark: &&Mark| mark.moment.is_none_or(|moment| moment == frame);
            let marks: Vec<Mark> = marks.iter().filter(concerns).cloned().collect();
            let computed = self.taken(first + at, (&segment.missing, one), &marks, took);
            all.push(Computed { is_new: before != Some(frame), ..computed });
            before = Some(frame);
        }
        Ok(Some(all))
    }

    /// Uses the times of the first frame to choose the results to store and the number of frames to
    /// compute together.
    fn measured(
        &mut self,
        segment: &Segment,
        answer: &Answer,
        results: &[OutputAnswer],
        took: Duration,
    ) {
        let n = self.look_up.bake.frames.len() as u64;
        let most = self.look_up.cache.limit() / 2 / n;
        let plan: &Plan = self.look_up.plan();
        let gain = self.look_up.bake.gain;
        let measured = (answer, results, segment.way.given.len());
        let is_stored = self.cuts.measured(plan, &segment.way, measured, (gain, most));
        self.is_stored = Some(is_stored);
        let bytes = answer.outputs.iter().filter_map(|it| it.value.as_ref());
        let bytes: usize = bytes.map(|series| series.data.bytes()).sum();
        let by_time = (BATCH_TIME.as_nanos() / took.as_nanos().max(1)) as usize;
        self.n_at_once = by_time.min(BATCH_BYTES / bytes.max(1)).clamp(1, MAX_FRAMES);
        self.n_next = self.n_at_once;
    }

    /// Computes outputs of a frame without using stored results.
    fn apart(
        &mut self,
        position: usize,
        missing: &[usize],
        evaluator: &mut dyn Evaluator,
    ) -> Result<Computed, EvalError> {
        let started = Instant::now();
        let outputs = self.look_up.outputs();
        let bake = self.look_up.bake;
        let request = bake.request.clone().all_outputs().frame(bake.frames[position]);
        let request = missing
            .iter()
            .fold(request, |request, output| request.output(outputs[*output].name.to_string()));
        let mut answer = partial::evaluate(evaluator, self.look_up.plan(), &request)?;
        let marks = marks_of(&mut answer, 0);
        Ok(self.taken(position, (missing, answer), &marks, started.elapsed()))
    }

    /// Computes all outputs of a frame because some stored ones cannot be read.
    fn computed_whole(
        &mut self,
        position: usize,
        evaluator: &mut dyn Evaluator,
    ) -> Result<Part, EvalError> {
        let all: Vec<usize> = (0..self.look_up.outputs().len()).collect();
        let computed = self.apart(position, &all, evaluator)?;
        let part = self.look_up.part(position, computed);
        Ok(part.expect("cheap outputs are known, and all others were computed"))
    }
}

fn pushed(mut all: Vec<usize>, one: usize) -> Vec<usize> {
    all.push(one);
    all
}
