//! Evaluates the plan of a body, round by round or for all items at once.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::time::Duration;

use millstream_base::{Column, Mask};
use millstream_ir::answer::{Answer, EvalError, NodeFailure, Partial};
use millstream_ir::repeat::may_be_unsettled;
use millstream_ir::request::{Bound, BoundData, RequestAxis};
use millstream_ir::unsettled::Mark;
use millstream_ir::{Request, ZoneBody};
use millstream_node::unsettled::Unsettled;
use millstream_node::{Call, Data, Failure};

use crate::chunked::Chunked;
use crate::walk;

/// The result of a round.
pub(super) enum Round {
    /// The values of the requested outputs, and the positions of entries that are left out because
    /// they fail.
    Values(Vec<Data>, Vec<u32>),
    /// The position of the lowest active element that failed, and how.
    Failed(usize, Failure),
}

/// The evaluations of a body in one call. Buffers are reused from round to round.
pub(super) struct Evaluation<'b> {
    body: &'b ZoneBody,
    request: Request,
    /// Whether the body can have a column although its inputs are single values.
    makes_columns: bool,
    may_be_unsettled: bool,
    chunked: Chunked,
}

impl<'b> Evaluation<'b> {
    pub(super) fn new(body: &'b ZoneBody, call: &Call<'_>) -> Self {
        let threads = NonZeroUsize::new(call.threads()).unwrap_or(NonZeroUsize::MIN);
        Self {
            body,
            request: Request::new().with_limits(call.limits().clone()),
            makes_columns: body.plan.instances.iter().any(|(_, of)| of.has_scopes()),
            may_be_unsettled: may_be_unsettled(&body.plan),
            chunked: Chunked::new().threads(threads),
        }
    }

    /// Evaluates the outputs once for `n` entries with these inputs of the plan; `first` is the first
    /// entry that belongs to an element of the call or to a later one.
    pub(super) fn run(
        &mut self,
        inputs: &[Data],
        n: usize,
        outputs: &[usize],
        call: &Call<'_>,
        first: impl Fn(usize) -> usize,
    ) -> Result<Round, Failure> {
        let mut bound = self.bound(inputs, n, outputs);
        if self.may_be_unsettled {
            bound.moments = call.moments().iter().map(|element| first(*element)).collect();
        }
        let (plan, is_over) = (&self.body.plan, call.is_over());
        let answer = if bound.count.is_some() || self.makes_columns {
            self.chunked.evaluate_within(plan, &self.request, &bound, is_over)
        } else {
            walk::evaluate_within(plan, &self.request, &bound, is_over)
        };
        let answer = answer.map_err(|error| failed(&error))?;
        let Answer { outputs: values, failures, unsettled, .. } = answer;
        note(unsettled, (&bound.moments, n), call.unsettled());
        // A failure in an arm that is not taken does not count.
        let lacks = values.iter().any(|value| value.value.is_none());
        if lacks && call.leaves_out() {
            return self.good_entries(&bound, n, is_over);
        }
        if lacks && let Some(failed) = self.lowest_failed(&bound, failures, is_over)? {
            return Ok(failed);
        }
        let mut all = Vec::with_capacity(values.len());
        for value in values {
            let series = value.value.ok_or_else(|| Failure::whole("a round gave no value"))?;
            all.push(series.data);
        }
        Ok(Round::Values(all, Vec::new()))
    }

    /// The values of the entries that do not fail, and the positions of the others. The results of
    /// many entries may take more memory than allowed; then fewer are evaluated at a time.
    fn good_entries(
        &self,
        bound: &Bound,
        n: usize,
        is_over: Option<&(dyn Fn() -> bool + Sync)>,
    ) -> Result<Round, Failure> {
        let plan = &self.body.plan;
        let type_of = |k: &usize| plan.outputs[*k].ty;
        if bound.count.is_none() {
            // All entries have the same inputs.
            let fillers = bound.outputs.iter().map(|k| Data::One(Partial::filler(type_of(k))));
            return Ok(Round::Values(fillers.collect(), (0..n as u32).collect()));
        }
        let mut outputs: Vec<Vec<Column>> = vec![Vec::new(); bound.outputs.len()];
        let mut bad = Vec::new();
        let (mut at, mut n_next) = (0, n);
        while at < n {
            let next = at..n.min(at + n_next);
            let part = entries_of(bound, next.clone());
            let found = walk::evaluate_good(plan, (&self.request, &part), is_over);
            let found = found.map_err(|error| failed(&error))?;
            if found.ran_out && next.len() > 1 {
                n_next = next.len().div_ceil(4);
                continue;
            }
            for (columns, data) in outputs.iter_mut().zip(found.outputs) {
                columns.push(match data {
                    Data::One(value) => Column::filled(&value, next.len()),
                    Data::Many(column) => column,
                });
            }
            let found_bad = Mask::full(next.len()).difference(&found.good);
            bad.extend(found_bad.iter().map(|entry| (at + entry) as u32));
            at = next.end;
        }
        let joined = |(k, columns): (&usize, Vec<Column>)| match &columns[..] {
            [column] => Data::Many(column.clone()),
            several => Data::Many(
                Column::concat(type_of(k), several).expect("an output has one type in all parts"),
            ),
        };
        Ok(Round::Values(bound.outputs.iter().zip(outputs).map(joined).collect(), bad))
    }

    /// The failure of the lowest entry; `None` if there is none. A node that is the same for all
    /// entries fails as a whole, though entries that do not need it have a value.
    fn lowest_failed(
        &self,
        bound: &Bound,
        mut failures: Vec<NodeFailure>,
        is_over: Option<&(dyn Fn() -> bool + Sync)>,
    ) -> Result<Option<Round>, Failure> {
        let mut first = 0;
        if bound.count.is_some_and(|n| n > 1) {
            let (plan, of) = (&self.body.plan, (&self.request, bound));
            let found =
                walk::evaluate_up_to_lowest(plan, of, is_over).map_err(|error| failed(&error))?;
            let missing = found.outputs.iter().map(|output| match output {
                None => Some(0),
                Some(partial) => partial.missing.iter().next(),
            });
            match missing.flatten().min() {
                Some(lowest) => first = lowest,
                None => return Ok(None),
            }
            failures = found.failures;
        }
        let lowest = failures.iter().map(|failure| {
            let axis = RequestAxis::Index.name();
            let cell = failure.cell.iter().find(|(of, _)| *of == axis);
            let position = cell.map_or(first, |(_, cell)| *cell);
            let message = format!("`{}`: {}", failure.path, failure.message);
            let items = failure.cell.iter().filter(|(of, _)| *of != axis).map(|(_, item)| *item);
            let (help, items) = (failure.help.clone(), items.collect());
            (position, Failure { element: None, message, help, items })
        });
        let lowest = lowest.min_by_key(|(position, _)| position.abs_diff(first));
        Ok(lowest.map(|(_, failure)| Round::Failed(first, failure)))
    }

    fn bound(&self, inputs: &[Data], n: usize, outputs: &[usize]) -> Bound {
        let is_one = inputs.iter().all(|data| matches!(data, Data::One(_)));
        let bound_data = |data: &Data| BoundData {
            data: data.clone(),
            axis: match data {
                Data::One(_) => None,
                Data::Many(_) => Some(RequestAxis::Index),
            },
        };
        Bound {
            outputs: outputs.to_vec(),
            optional: Vec::new(),
            inputs: inputs.iter().map(bound_data).collect(),
            features: vec![None; self.body.plan.needs.len()],
            times: None,
            views: None,
            count: (!is_one).then_some(n),
            moments: Vec::new(),
            chosen: None,
            numbering: Duration::ZERO,
        }
    }

    /// Takes data that the next round does not read, to reuse its buffer for a result.
    pub(super) fn give_back(&mut self, data: Data) {
        self.chunked.give(data);
    }
}

/// A request that was bound for some entries, restricted to a part of them.
fn entries_of(bound: &Bound, part: Range<usize>) -> Bound {
    let of = |input: &BoundData| match &input.data {
        Data::Many(column) if column.len() > part.len() => {
            BoundData { data: Data::Many(column.slice(part.clone())), axis: input.axis }
        }
        Data::Many(_) | Data::One(_) => input.clone(),
    };
    let inputs = bound.inputs.iter().map(of).collect();
    Bound { inputs, count: Some(part.len()), moments: Vec::new(), ..bound.clone() }
}

/// Passes on the marks of repeats inside. A mark of all entries is that of all moments with entries.
fn note(marks: Vec<Mark>, (moments, n): (&[usize], usize), unsettled: &Unsettled) {
    for Mark { unsettled: one, moment, .. } in marks {
        if moment.is_some() || moments.is_empty() {
            unsettled.inside(one.path, moment, one.rounds);
            continue;
        }
        for (moment, first) in moments.iter().enumerate() {
            if *first < moments.get(moment + 1).copied().unwrap_or(n) {
                unsettled.inside(one.path.clone(), Some(moment), one.rounds);
            }
        }
    }
}

fn failed(error: &EvalError) -> Failure {
    match error {
        EvalError::Bytes { .. } => {
            Failure::whole(error.to_string()).with_help("raise `bytes` in the limits")
        }
        error => Failure::whole(error.to_string()),
    }
}
