//! The marks of repeats that did not settle, of an answer of which some cells failed.

use millstream_base::id::SideTable;
use millstream_ir::answer::{Answer, OutputAnswer};
use millstream_ir::plan::{Plan, StepId};
use millstream_ir::request::RequestAxis;
use millstream_ir::unsettled::{Mark, Via};

/// Drops the marks that concern no known cell: those of moments in which all outputs failed that
/// read the repeat.
pub(crate) fn keep_known(plan: &Plan, answer: &mut Answer) {
    let lacks = |output: &OutputAnswer| output.value.is_none();
    if answer.unsettled.is_empty() || !answer.outputs.iter().any(lacks) {
        return;
    }
    let readers = answer.outputs.iter().filter_map(|output| Reader::of(plan, answer, output));
    let readers: Vec<Reader> = readers.collect();
    answer.unsettled.retain(|mark| readers.iter().any(|reader| reader.has(mark)));
}

/// An output of which some cells are known.
struct Reader {
    above: SideTable<StepId, bool>,
    /// Whether cells of each moment are known; `None` if the output is the same in all of them.
    known: Option<Vec<bool>>,
}

impl Reader {
    fn of(plan: &Plan, answer: &Answer, output: &OutputAnswer) -> Option<Self> {
        let series = output.known()?;
        let source = plan.outputs[plan.output_named(&output.name)?].source;
        // State inside scopes advances where it is read.
        let kept = plan.state_writers.iter().flat_map(|writer| &writer.values);
        let kept = kept.map(|value| value.source.step);
        let above = plan.steps_upstream_of(kept.chain(std::iter::once(source.step)));
        let missing = output.missing();
        let n_moments = answer.extent(RequestAxis::Time);
        let n_inner = answer.cells_of(&series.axes) / n_moments.max(1);
        let is_known = |at: usize| missing.within(at * n_inner..(at + 1) * n_inner).len() < n_inner;
        let varies = series.axes.contains(&RequestAxis::Time);
        Some(Self { above, known: varies.then(|| (0..n_moments).map(is_known).collect()) })
    }

    fn has(&self, mark: &Mark) -> bool {
        let is_above = match mark.via {
            Via::Step(step) => self.above[step],
            Via::State(_) => true,
        };
        let is_known = match (&self.known, mark.moment) {
            (Some(known), Some(moment)) => known.get(moment).copied().unwrap_or(false),
            (Some(_), None) | (None, _) => true,
        };
        is_above && is_known
    }
}
