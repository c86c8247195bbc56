//! Answers for successive parts of an axis, joined to one.

use millstream_base::{Column, Mask};
use millstream_ir::answer::{Answer, OutputAnswer, Partial, Series};
use millstream_ir::request::RequestAxis;
use millstream_node::Data;

/// The output at a position of several answers to the same request, one for each part of an axis. It
/// has a value if all answers have one; if some cells are missing, it has the others, if they are
/// asked for.
pub(crate) fn joined_output(
    answers: &[Answer],
    at: usize,
    axis: RequestAxis,
    wants_partial: bool,
) -> OutputAnswer {
    let outputs = || answers.iter().map(|answer| &answer.outputs[at]);
    let first = &answers[0].outputs[at];
    let mut joined = OutputAnswer { value: None, partial: None, ..first.clone() };
    let is_whole = outputs().all(|output| output.value.is_some());
    if !is_whole && !wants_partial {
        return joined;
    }
    let known = || outputs().filter_map(OutputAnswer::known);
    let varies = |of: &RequestAxis| known().any(|series| series.axes.contains(of));
    // An output that is the same for all elements is the same in each block of elements.
    if axis == RequestAxis::Index && !varies(&axis) {
        joined.value.clone_from(&first.value);
        joined.partial.clone_from(&first.partial);
        return joined;
    }
    if known().next().is_none() {
        return joined;
    }
    let is_axis = |of: &RequestAxis| *of == axis || varies(of);
    let axes: Vec<RequestAxis> = RequestAxis::ALL.into_iter().filter(is_axis).collect();
    let parts: Vec<Part> = answers.iter().map(|answer| Part::of(answer, at, &axes)).collect();
    let n_outer: usize =
        axes.iter().take_while(|of| **of != axis).map(|of| answers[0].extent(*of)).product();
    let n_untried = parts.iter().map(|part| part.n_untried).sum();
    let (column, missing) = side_by_side(&parts, n_outer);
    let series = Series { data: Data::Many(column), axes };
    if is_whole {
        joined.value = Some(series);
    } else {
        joined.partial = Some(Box::new(Partial { series, missing, n_untried }));
    }
    joined
}

/// The cells of one part.
struct Part {
    column: Column,
    missing: Mask,
    n_untried: usize,
}

impl Part {
    /// Those of an output along these axes; the answer may lack the axis of the parts.
    fn of(answer: &Answer, at: usize, axes: &[RequestAxis]) -> Self {
        let OutputAnswer { ty, value, partial, .. } = &answer.outputs[at];
        match (value, partial) {
            (Some(series), _) => {
                let column = answer.column_over(series, axes);
                Self { column, missing: Mask::empty(), n_untried: 0 }
            }
            (None, Some(partial)) => {
                let column = answer.column_over(&partial.series, axes);
                let missing = answer.missing_over(partial, axes);
                Self { column, missing, n_untried: partial.n_untried }
            }
            (None, None) => {
                let n_cells = answer.cells_of(axes);
                let column = Column::filled(&Partial::filler(*ty), n_cells);
                Self { column, missing: Mask::full(n_cells), n_untried: 0 }
            }
        }
    }
}

/// The cells of all parts, in each of the `n_outer` cells of the axes around the one of the parts.
fn side_by_side(parts: &[Part], n_outer: usize) -> (Column, Mask) {
    let columns: Vec<Column> = parts.iter().map(|part| part.column.clone()).collect();
    let ty = columns[0].ty();
    let all = Column::concat(ty, &columns).expect("an output has one type in all parts");
    let mut missing = Vec::new();
    let mut start = 0;
    let mut starts = Vec::with_capacity(parts.len());
    for part in parts {
        missing.extend(part.missing.iter().map(|cell| (start + cell) as u32));
        starts.push(start);
        start += part.column.len();
    }
    let missing = Mask::from_indices(missing).expect("the cells of parts ascend");
    if n_outer <= 1 {
        return (all, missing);
    }
    let mut places = Vec::with_capacity(all.len());
    for outer in 0..n_outer {
        for (part, start) in parts.iter().zip(&starts) {
            let n = part.column.len() / n_outer;
            places.extend(start + outer * n..start + (outer + 1) * n);
        }
    }
    let is_missing = |cell: usize| missing.contains(places[cell]);
    let missing = Mask::from_predicate(&Mask::full(places.len()), is_missing);
    (all.gather(places.into_iter()), missing)
}
