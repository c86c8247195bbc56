//! Bakes of documents, frame by frame.

use std::ops::Range;
use std::time::{Duration, Instant};

use millstream_base::Type;
use millstream_ir::answer::{Answer, EvalError, Evaluator, OutputAnswer, RunLog, Series};
use millstream_ir::element_states::Calls;
use millstream_ir::plan::{Plan, StepId, StepSource};
use millstream_ir::request::{OneByOne, Request, RequestAxis, RequestError};
use millstream_ir::unsettled::{Mark, Unsettled, merge, of_results};
use millstream_node::Data;
use millstream_run::partial;

use crate::cache::Cache;
use crate::cheap::{Cheap, is_small};
use crate::cuts::GAIN;
use crate::key::{Key, KeyHasher};
use crate::keys::Keys;
use crate::stored::{self, Stored};

mod between;
mod failed;
mod frames;
mod ticked;

use frames::Frames;

/// Frames that are computed together if all outputs are cheap.
const BLOCK: usize = 1 << 16;

/// A bake: a request for frames of a plan.
pub struct Bake<'p> {
    plan: &'p Plan,
    request: Request,
    frames: Vec<i64>,
    outputs: Vec<Wanted>,
    count: Option<usize>,
    cheap: Cheap,
    /// Whether the outputs depend on state, so that ticks are played.
    has_ticks: bool,
    /// How many times longer than storing it a result must take to compute.
    gain: u32,
}

/// A requested output.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) name: std::sync::Arc<str>,
    pub(crate) ty: Type,
    pub(crate) source: StepSource,
}

/// The origin of a part's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Something had to be computed.
    Ran,
    /// All values were stored, or are cheaper to compute than to look up.
    Reused,
}

/// The answer for one frame, or for several that were computed together.
#[derive(Debug)]
pub struct Part {
    /// The positions of the frames.
    pub positions: Range<usize>,
    /// The values; several frames are its time axis.
    pub answer: Answer,
    /// The key of all values; `None` if they may differ next time.
    pub key: Option<Key>,
    /// The origin of the values.
    pub fate: Fate,
    /// The computing time.
    pub took: Duration,
    /// The repeats that the values depend on and that did not become stable, also if the values are
    /// reused. A repeat is named as it was when they were computed.
    pub unsettled: Vec<Unsettled>,
}

/// Why a bake stopped.
#[derive(Debug, thiserror::Error)]
pub enum BakeError<E> {
    /// An evaluation was refused or cancelled.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// The caller could not accept a part.
    #[error("{0}")]
    Caller(E),
}

/// Receives the parts in the order of their frames.
pub(crate) type Each<'e, E> = &'e mut dyn FnMut(Part) -> Result<(), E>;

/// Returns whether a frame is wanted, given its position and the key of its values.
pub(crate) type IsWanted<'w> = &'w mut dyn FnMut(usize, Option<Key>) -> bool;

impl<'p> Bake<'p> {
    /// A bake of the outputs of a request in these frames, which must ascend. The request must not
    /// name moments. Outputs of which some elements fail have the others.
    ///
    /// # Errors
    /// If the request does not fit the plan, or if something reads along several frames.
    pub fn new(plan: &'p Plan, request: Request, frames: Vec<i64>) -> Result<Self, EvalError> {
        let refused = |what: &str, hint| {
            let error = RequestError::Ticks { what: what.into(), hint };
            EvalError::Request(vec![error])
        };
        if frames.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(refused("the frames of the bake are not in ascending order", "sort them"));
        }
        if request.varies_in_time() || request.has_own_times() {
            let what = "the request of the bake has values per moment";
            return Err(refused(what, "use values that are the same in all frames"));
        }
        let request = request.with_partial();
        let Some(first) = frames.first() else {
            return Err(refused("the bake has no frames", "request at least one"));
        };
        let one = request.clone().frame(*first);
        let bound = one.bind(plan).map_err(EvalError::Request)?;
        if bound.views.is_some() {
            return Err(refused("the bake has several views", "bake one view after another"));
        }
        if frames.len() > 1 {
            let refused = request.refuse_along(plan, OneByOne::Frames);
            refused.map_err(|error| EvalError::Request(vec![error]))?;
        }
        let has_ticks = request.reads_state(plan);
        if has_ticks {
            let (reads, depends) = request.state_reads(plan);
            let kept = reads.outputs_of(&depends);
            one.and_outputs(plan, &kept).bind(plan).map_err(EvalError::Request)?;
            for frame in [*first, frames[frames.len() - 1]] {
                millstream_run::ticks::reach(plan.start_frame, frame, &request.limits)
                    .map_err(|error| EvalError::Request(vec![error]))?;
            }
        }
        let wanted = |output: &usize| {
            let output = &plan.outputs[*output];
            Wanted {
                name: std::sync::Arc::clone(&output.name),
                ty: output.ty,
                source: output.source,
            }
        };
        let outputs = bound.outputs.iter().map(wanted).collect();
        let cheap = Cheap::new(plan, &request, false);
        let count = bound.count;
        Ok(Self { plan, request, frames, outputs, count, cheap, has_ticks, gain: GAIN })
    }

    /// The frames.
    pub fn frames(&self) -> &[i64] {
        &self.frames
    }

    pub(crate) fn request(&self) -> &Request {
        &self.request
    }

    /// Whether computing the outputs is faster than looking them up, so that
    /// [`run_blocks`](Self::run_blocks) applies. It does not if there are only lists and tables,
    /// which are constants or inputs: each frame may have a row for each of their items.
    pub fn is_cheap(&self) -> bool {
        let is_cheap = |output: &Wanted| self.cheap.is_cheap[output.source.step];
        let has_cells =
            self.count.is_some() || self.outputs.iter().any(|output| is_small(output.ty));
        !self.has_ticks && has_cells && self.outputs.iter().all(is_cheap)
    }

    /// Computes all frames of cheap outputs, many at a time; nothing is stored. `each` receives the
    /// parts in the order of their frames.
    ///
    /// # Errors
    /// If an evaluation is refused or cancelled, and errors of `each`.
    ///
    /// # Panics
    /// If the outputs are not cheap.
    pub fn run_blocks<E>(
        &self,
        evaluator: &mut dyn Evaluator,
        each: Each<'_, E>,
    ) -> Result<(), BakeError<E>> {
        assert!(self.is_cheap(), "only cheap outputs are computed in blocks");
        let n = self.frames.len();
        let mut blocks: Vec<Range<usize>> =
            (0..n).step_by(BLOCK).rev().map(|start| start..n.min(start + BLOCK)).collect();
        while let Some(positions) = blocks.pop() {
            let started = Instant::now();
            let request = self.request.clone().frames(self.frames[positions.clone()].to_vec());
            let answer = match positions.len() {
                1 => partial::evaluate(evaluator, self.plan, &request)?,
                _ => evaluator.evaluate(self.plan, &request)?,
            };
            let took = started.elapsed();
            if !answer.failures.is_empty() && positions.len() > 1 {
                // Only the frames that fail are lost.
                let middle = positions.start + positions.len() / 2;
                blocks.extend([middle..positions.end, positions.start..middle]);
                continue;
            }
            let key = key_of_values(&answer);
            // Repeats are not cheap.
            let unsettled = Vec::new();
            each(Part { positions, answer, key, fate: Fate::Ran, took, unsettled })
                .map_err(BakeError::Caller)?;
        }
        Ok(())
    }

    /// Computes the wanted frames that are not in the cache, and stores results that took long.
    /// `is_wanted` receives the position of a frame and the key of its values; a caller that
    /// already has these values returns false. It may be called more than once per frame. `each`
    /// receives the parts in the order of their frames; a node that fails is reported in the answer
    /// of its frame.
    ///
    /// # Errors
    /// If an evaluation is refused or cancelled, and errors of `each`.
    pub fn run<E>(
        &self,
        cache: &mut Cache,
        evaluator: &mut dyn Evaluator,
        is_wanted: IsWanted<'_>,
        each: Each<'_, E>,
    ) -> Result<(), BakeError<E>> {
        self.run_frames(cache, evaluator, None, (is_wanted, each))
    }

    /// As [`run`](Self::run). But if some frames are in the cache, it first computes and stores the
    /// frames that are not: what a bake that was stopped left to do. `ahead` receives these frames,
    /// without reading the others.
    ///
    /// # Errors
    /// As [`run`](Self::run), and errors of `ahead`.
    pub fn run_resumed<E>(
        &self,
        cache: &mut Cache,
        evaluator: &mut dyn Evaluator,
        ahead: Each<'_, E>,
        (is_wanted, each): (IsWanted<'_>, Each<'_, E>),
    ) -> Result<(), BakeError<E>> {
        self.run_frames(cache, evaluator, Some(ahead), (is_wanted, each))
    }

    fn run_frames<E>(
        &self,
        cache: &mut Cache,
        evaluator: &mut dyn Evaluator,
        ahead: Option<Each<'_, E>>,
        (is_wanted, each): (IsWanted<'_>, Each<'_, E>),
    ) -> Result<(), BakeError<E>> {
        let keyed: Vec<i64> = if self.has_ticks {
            (self.plan.start_frame..=self.frames[self.frames.len() - 1]).collect()
        } else {
            self.frames.clone()
        };
        let named = |output: &Wanted| self.plan.output_named(&output.name);
        let asked: Vec<usize> = self.outputs.iter().filter_map(named).collect();
        let parts = (&self.cheap, &asked[..]);
        let keys = Keys::new(evaluator, self.plan, &self.request, keyed.clone(), parts)?;
        let reads;
        let (keys, cheap) = match keys {
            Some(keys) => (keys, &self.cheap),
            None => {
                reads = Cheap::new(self.plan, &self.request, true);
                let parts = (&reads, &asked[..]);
                let keys = Keys::new(evaluator, self.plan, &self.request, keyed, parts)?;
                (keys.expect("reading the context does not fail"), &reads)
            }
        };
        let mut look_up = LookUp {
            bake: self,
            keys,
            cache,
            last: vec![None; self.outputs.len()],
            first: if self.has_ticks { self.plan.start_frame } else { 0 },
            asked: Asked::Every,
        };
        if let Some(ahead) = ahead
            && look_up.has_stored()
        {
            look_up.asked = Asked::Rest;
            look_up.run(evaluator, cheap, &mut |_, _| true, ahead)?;
            look_up.asked = Asked::Every;
        }
        look_up.run(evaluator, cheap, is_wanted, each)
    }
}

/// The key of the values of an answer.
fn key_of_values(answer: &Answer) -> Option<Key> {
    let mut hash = KeyHasher::new("values");
    for output in &answer.outputs {
        if !hash.data(&output.value.as_ref()?.data) {
            return None;
        }
    }
    Some(hash.key())
}

/// Looks up outputs by frame.
pub(crate) struct LookUp<'r, 'p> {
    pub(crate) bake: &'r Bake<'p>,
    pub(crate) keys: Keys<'r>,
    pub(crate) cache: &'r mut Cache,
    /// The last value of each output, for outputs that stay the same over several frames.
    last: Vec<Option<(Key, Stored)>>,
    /// The first tick, if there is state.
    first: i64,
    asked: Asked,
}

/// The frames that a run answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Every,
    /// Those that are not stored.
    Rest,
}

impl<'r, 'p> LookUp<'r, 'p> {
    /// Answers the wanted frames, as far as they are asked for.
    fn run<E>(
        &mut self,
        evaluator: &mut dyn Evaluator,
        cheap: &Cheap,
        is_wanted: IsWanted<'_>,
        each: Each<'_, E>,
    ) -> Result<(), BakeError<E>> {
        if self.bake.has_ticks {
            ticked::run(self, evaluator, is_wanted, each)
        } else {
            Frames::new(self, cheap).run(evaluator, is_wanted, each)
        }
    }

    pub(crate) fn plan(&self) -> &'p Plan {
        self.bake.plan
    }

    pub(crate) fn outputs(&self) -> &'r [Wanted] {
        &self.bake.outputs
    }

    /// The position of a frame among those with keys.
    pub(crate) fn keyed(&self, position: usize) -> usize {
        if self.bake.has_ticks {
            self.bake.frames[position].abs_diff(self.first) as usize
        } else {
            position
        }
    }

    /// The key of an output in a frame.
    fn output_key(&mut self, output: usize, position: usize) -> Option<Key> {
        let at = self.keyed(position);
        self.keys.key(self.bake.outputs[output].source, at)
    }

    /// The key of all outputs in a frame.
    pub(crate) fn frame_key(&mut self, position: usize) -> Option<Key> {
        let mut hash = KeyHasher::new("frame");
        for output in 0..self.bake.outputs.len() {
            hash.add(self.output_key(output, position)?);
        }
        Some(hash.key())
    }

    fn is_cheap(&self, output: usize, position: usize) -> bool {
        let at = self.keyed(position);
        self.keys.cheap_value(self.bake.outputs[output].source, at).is_some()
    }

    /// Whether the values of some frame are stored.
    fn has_stored(&mut self) -> bool {
        (0..self.bake.frames.len()).any(|position| self.missing(position).is_empty())
    }

    /// The outputs that are not stored.
    pub(crate) fn missing(&mut self, position: usize) -> Vec<usize> {
        let mut missing = Vec::new();
        for output in 0..self.bake.outputs.len() {
            if self.is_cheap(output, position) {
                continue;
            }
            let key = self.output_key(output, position);
            let is_last = |key: &Key| {
                self.last[output].as_ref().is_some_and(|(last, _)| last == key)
                    || self.cache.contains(*key)
            };
            if !key.as_ref().is_some_and(is_last) {
                missing.push(output);
            }
        }
        missing
    }

    /// A stored output, or a cheap one.
    fn recall(&mut self, output: usize, position: usize) -> Option<Stored> {
        let at = self.keyed(position);
        if let Some(value) = self.keys.cheap_value(self.bake.outputs[output].source, at) {
            let series = Series { data: Data::One(value), axes: Vec::new() };
            return Some(Stored { series, unsettled: Vec::new() });
        }
        let key = self.output_key(output, position)?;
        if let Some((last, stored)) = &self.last[output]
            && *last == key
        {
            return Some(stored.clone());
        }
        let stored = stored::read(self.cache, key)?;
        self.last[output] = Some((key, stored.clone()));
        Some(stored)
    }

    /// A computed output with the marks that concern it.
    pub(crate) fn marked(
        &mut self,
        output: usize,
        position: usize,
        series: Series,
        marks: &[Mark],
    ) -> Stored {
        let step = self.bake.outputs[output].source.step;
        Stored { series, unsettled: self.marks_of(step, position, marks) }
    }

    /// The marks that concern the result of a step in a frame.
    pub(crate) fn marks_of(
        &mut self,
        step: StepId,
        position: usize,
        marks: &[Mark],
    ) -> Vec<Unsettled> {
        let at = self.keyed(position);
        self.marks_in(step, at, marks)
    }

    /// The same in a frame by its position among those with keys.
    pub(crate) fn marks_in(&mut self, step: StepId, at: usize, marks: &[Mark]) -> Vec<Unsettled> {
        let depends = self.keys.depends(step);
        let arms = self.keys.arms(at);
        let reads = (&self.keys.reads, &depends[..]);
        let arm = |step| arms.get(&step).copied();
        of_results(self.bake.plan, (&[step], &arm), reads, marks)
    }

    /// Stores a computed output, and returns it with the marks that concern it.
    pub(crate) fn store(
        &mut self,
        output: usize,
        position: usize,
        series: Series,
        marks: &[Mark],
    ) -> Stored {
        let stored = self.marked(output, position, series, marks);
        if let Some(key) = self.output_key(output, position) {
            stored::write(self.cache, key, &stored);
            self.last[output] = Some((key, stored.clone()));
        }
        stored
    }

    /// The part of a frame, given the computed outputs; `None` if one of the others cannot be read.
    pub(crate) fn part(&mut self, position: usize, computed: Computed) -> Option<Part> {
        let started = Instant::now();
        let Computed { values, mut answer, took, is_new } = computed;
        let is_stored = values.is_empty();
        let is_found = !is_new && (0..answer.outputs.len()).any(|it| !self.is_cheap(it, position));
        let fate = if is_found { Fate::Reused } else { Fate::Ran };
        let mut unsettled = Vec::new();
        let mut value_of = |stored: Stored| {
            merge(&mut unsettled, stored.unsettled);
            stored.series
        };
        for (output, stored) in values {
            answer.outputs[output].value = stored.map(&mut value_of);
        }
        for output in 0..answer.outputs.len() {
            if answer.outputs[output].value.is_none() && is_stored
                || self.is_cheap(output, position)
            {
                answer.outputs[output].value = Some(value_of(self.recall(output, position)?));
            }
        }
        let key = self.frame_key(position);
        let took = took + started.elapsed();
        Some(Part { positions: position..position + 1, answer, key, fate, took, unsettled })
    }

    /// An answer without values.
    pub(crate) fn blank(&self) -> Answer {
        let blank = |output: &Wanted| OutputAnswer {
            name: std::sync::Arc::clone(&output.name),
            ty: output.ty,
            value: None,
            partial: None,
        };
        Answer {
            outputs: self.bake.outputs.iter().map(blank).collect(),
            failures: Vec::new(),
            unsettled: Vec::new(),
            log: RunLog::default(),
            calls: Calls::default(),
            times: None,
            views: None,
            count: self.bake.count,
        }
    }

    /// The part of a frame whose outputs are all stored; `None` if one cannot be read.
    pub(crate) fn reused(&mut self, position: usize) -> Option<Part> {
        let answer = self.blank();
        self.part(
            position,
            Computed { values: Vec::new(), answer, took: Duration::ZERO, is_new: false },
        )
    }

    /// A stored output in addition to the computed ones; `None` if it cannot be read.
    pub(crate) fn besides(
        &mut self,
        position: usize,
        missing: &[usize],
    ) -> Option<Vec<(usize, Option<Stored>)>> {
        let others = (0..self.bake.outputs.len()).filter(|output| !missing.contains(output));
        let others: Vec<usize> = others.collect();
        others
            .into_iter()
            .map(|output| Some((output, Some(self.recall(output, position)?))))
            .collect()
    }
}

/// The result of evaluating a frame.
pub(crate) struct Computed {
    /// The values of outputs by position; `None` if a node failed.
    pub(crate) values: Vec<(usize, Option<Stored>)>,
    /// The answer that receives them.
    pub(crate) answer: Answer,
    pub(crate) took: Duration,
    /// Whether something was computed for this frame itself, rather than for another one with the
    /// same key.
    pub(crate) is_new: bool,
}

/// Takes the marks out of an answer to a plan that is [spliced](Plan::spliced) with `n_given` inputs.
pub(crate) fn marks_of(answer: &mut Answer, n_given: usize) -> Vec<Mark> {
    std::mem::take(&mut answer.unsettled).into_iter().map(|mark| mark.unspliced(n_given)).collect()
}

/// The values of one frame in the answer for several.
pub(crate) fn of_frame(series: &Series, frame: usize, count: Option<usize>) -> Series {
    let axes: Vec<RequestAxis> =
        series.axes.iter().copied().filter(|axis| *axis != RequestAxis::Time).collect();
    if axes.len() == series.axes.len() {
        return series.clone();
    }
    let Data::Many(column) = &series.data else { return series.clone() };
    let data = if axes.is_empty() {
        Data::One(column.get(frame))
    } else {
        let n = count.unwrap_or(1);
        Data::Many(column.slice(frame * n..(frame + 1) * n))
    };
    Series { data, axes }
}

#[cfg(test)]
mod tests;
